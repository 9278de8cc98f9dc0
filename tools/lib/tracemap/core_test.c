// SPDX-License-Identifier: LGPL-2.1
/*
 * Test the core without a kernel: sub-buffers from files and pipes, whole, truncated and
 * damaged; waiting for an instance that is made of pipes; and an observer of the simulated
 * buffer of live_sim.h.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include "cpu.h"
#include "live_sim.h"
#include "read_file.h"

#define MAKE_MAX	65536
#include "subbuf_make.h"

#define HOST_FORMAT	((struct subbuf_format){ 4096, 8, 8, 16, subbuf__host_big })

static int failures;

static bool check_at(bool ok, const char *what, const char *func, int line)
{
	if (!ok && ++failures <= 10)
		printf("# %s:%d: not so: %s\n", func, line, what);
	return ok;
}

/* ---- Files of sub-buffers ---- */

static int new_file(void)
{
	return memfd_create("core_test", MFD_CLOEXEC);
}

/* @words of payload, each of them @value; 28 words or less. */
static void put_event(struct subbuf_make *m, uint64_t delta, uint32_t value, uint32_t words)
{
	uint32_t data[SUBBUF_TYPE_DATA_MAX];

	if (m->f.big_endian != subbuf__host_big)
		value = __builtin_bswap32(value);
	for (uint32_t i = 0; i < words; i++)
		data[i] = value;
	check(make_event(m, m->ts + delta, data, 4 * words));
}

static void put_page(int fd, const struct subbuf_make *m)
{
	check(write(fd, m->bytes, m->f.subbuf_size) == (ssize_t)m->f.subbuf_size);
}

/* Events of the values @from to @to, each 1 later, the first at @ts. */
static void put_events(int fd, const struct subbuf_format *f, uint64_t ts,
		       uint32_t from, uint32_t to, int64_t missed)
{
	struct subbuf_make m;

	make_begin(&m, f, ts - 1);
	for (; from <= to; from++)
		put_event(&m, 1, from, 1 + from % 28);
	make_finish(&m, missed);
	put_page(fd, &m);
}

static struct tracemap_cpu *open_file(int fd, const struct subbuf_format *f)
{
	struct tracemap_cpu *cpu = NULL;

	lseek(fd, 0, SEEK_SET);
	check(tracemap_cpu_open_file(&cpu, fd, 7, f) == 0);
	return cpu;
}

static uint32_t value_of(const struct tracemap_record *rec, bool big_endian)
{
	uint32_t value;

	if (!rec->data)
		return 0;
	memcpy(&value, rec->data, 4);
	return big_endian == subbuf__host_big ? value : __builtin_bswap32(value);
}

/* The next record is @value at @ts, after @missed. */
#define check_next(cpu, ts, value, missed) \
	check(next_is(cpu, ts, value, missed))

static bool next_is(struct tracemap_cpu *cpu, uint64_t ts, uint32_t value,
		    uint64_t missed)
{
	struct tracemap_record rec = { 0 };
	bool big = cpu->format.big_endian;

	return tracemap_cpu_next(cpu, &rec) == 1 && rec.ts == ts &&
	       value_of(&rec, big) == value && rec.missed == missed &&
	       rec.cpu == 7 && (!value || rec.size == 4 * (1 + value % 28));
}

static int next_error(struct tracemap_cpu *cpu)
{
	struct tracemap_record rec;

	return tracemap_cpu_next(cpu, &rec);
}

static void test_formats(void)
{
	static const struct subbuf_format formats[] = {
		{ 4096, 8, 8, 16, false }, { 4096, 8, 4, 12, false },
		{ 4096, 8, 8, 16, true }, { 4096, 8, 4, 12, true },
		{ 65536, 8, 8, 16, false },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(formats); i++) {
		struct tracemap_cpu *cpu;
		int fd = new_file();

		put_events(fd, &formats[i], 1000, 1, 50, 0);
		put_events(fd, &formats[i], 2000, 51, 60, 5);
		put_events(fd, &formats[i], 3000, 61, 61, -1);
		cpu = open_file(fd, &formats[i]);
		check(tracemap_cpu_number(cpu) == 7);
		check(tracemap_cpu_way(cpu) == TRACEMAP_READ);
		for (uint32_t v = 1; v <= 50; v++)
			check_next(cpu, 999 + v, v, 0);
		for (uint32_t v = 51; v <= 60; v++)
			check_next(cpu, 1949 + v, v, v == 51 ? 5 : 0);
		check_next(cpu, 3000, 61, TRACEMAP_MISSED_UNKNOWN);
		check(next_error(cpu) == -ENODATA);
		check(next_error(cpu) == -ENODATA);
		tracemap_cpu_close(cpu);
		close(fd);
	}
}

/* Also before a time stamp, before padding, and before nothing at all. */
static void test_loss(void)
{
	struct subbuf_format f = HOST_FORMAT;
	struct tracemap_cpu *cpu;
	int fd = new_file();
	struct subbuf_make m;

	make_begin(&m, &f, 50);
	make_time(&m, SUBBUF_TYPE_TIME_STAMP, 1000);
	put_event(&m, 5, 1, 2);
	make_finish(&m, 3);
	put_page(fd, &m);
	make_begin(&m, &f, 2000);
	make_discarded(&m, 1, 4);
	make_finish(&m, 4);
	put_page(fd, &m);
	make_begin(&m, &f, 3000);
	make_finish(&m, -1);
	put_page(fd, &m);
	put_events(fd, &f, 4000, 2, 2, 0);

	cpu = open_file(fd, &f);
	check_next(cpu, 1005, 1, 3);
	check_next(cpu, 2001, 0, 4);
	check_next(cpu, 3000, 0, TRACEMAP_MISSED_UNKNOWN);
	check_next(cpu, 4000, 2, 0);
	check(next_error(cpu) == -ENODATA);
	tracemap_cpu_close(cpu);
	close(fd);
}

/* Where the records end, and where each of the first three begins. */
static void test_cut_off(void)
{
	struct subbuf_format f = HOST_FORMAT;
	static const struct { uint32_t size, events, errors; } cuts[] = {
		{ 4, 0, 1 }, { 15, 0, 1 }, { 16, 0, 1 }, { 20, 0, 1 },
		{ 28, 1, 1 }, { 30, 1, 1 }, { 44, 2, 1 }, { 64, 3, 0 }, { 100, 3, 0 },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cuts); i++) {
		struct tracemap_cpu *cpu;
		int fd = new_file();

		put_events(fd, &f, 1000, 1, 1, 0);
		put_events(fd, &f, 2000, 1, 3, 0);
		check(ftruncate(fd, 4096 + cuts[i].size) == 0);
		cpu = open_file(fd, &f);
		check_next(cpu, 1000, 1, 0);
		for (uint32_t v = 1; v <= cuts[i].events; v++)
			check_next(cpu, 1999 + v, v, 0);
		if (cuts[i].errors)
			check(next_error(cpu) == -EBADMSG);
		check(next_error(cpu) == -ENODATA);
		check(next_error(cpu) == -ENODATA);
		tracemap_cpu_close(cpu);
		close(fd);
	}
}

/* A number of lost events that is behind the end of the file is not known. */
static void test_cut_off_loss(void)
{
	struct subbuf_format f = HOST_FORMAT;
	int fd = new_file();
	struct tracemap_cpu *cpu;

	put_events(fd, &f, 500, 1, 1, 0);
	put_events(fd, &f, 1000, 1, 1, 9);
	check(ftruncate(fd, 4096 + 16 + 12 + 4) == 0);
	cpu = open_file(fd, &f);
	check_next(cpu, 500, 1, 0);
	check_next(cpu, 1000, 1, TRACEMAP_MISSED_UNKNOWN);
	check(next_error(cpu) == -ENODATA);
	tracemap_cpu_close(cpu);
	close(fd);
}

/*
 * trace_pipe_raw with sub-buffers that are full, but for those behind the last loss: a read()
 * of fewer bytes gets all events but the last, and the number of those lost before.
 */
static struct raw {
	int fd;
	uint32_t pages, losses;		/* to come; a loss is before each of the first ones */
	uint32_t value;			/* of the next event */
	uint32_t reads;
	bool leaves;			/* the last event of a sub-buffer is yet to be read */
	bool large;			/* each event is a sub-buffer */
	bool exact;			/* a read() of fewer bytes leaves no zeroes to the next */
	uint32_t there, end;		/* bytes up to @end of @page that are yet to be read */
	struct subbuf_make page;
} raw = { .fd = -1 };

__typeof__(fstatfs) __real_fstatfs64;
__typeof__(read) __real_read;

int __wrap_fstatfs64(int fd, struct statfs *fs)
{
	int ret = __real_fstatfs64(fd, fs);

	if (fd == raw.fd)
		fs->f_type = TRACEFS_MAGIC;
	return ret;
}

static int raw_put_large(void)
{
	uint32_t data[1018] = { raw.value++ };

	check(make_event(&raw.page, raw.page.ts + 1, data, sizeof(data)));
	return 0;
}

/* 50 events of 80 bytes and one of 76 leave no room for a number. */
static void raw_make(size_t size)
{
	struct subbuf_format f = HOST_FORMAT;
	bool full = raw.losses > 0, whole = size >= f.subbuf_size;
	int n = raw.leaves ? 1 : full ? 50 + whole : 20;

	make_begin(&raw.page, &f, 1000 * raw.value);
	if (raw.large)
		n = raw_put_large();
	while (n--)
		put_event(&raw.page, 1, raw.value++, n ? 19 : 18);
	make_finish(&raw.page, raw.leaves || !full ? 0 : whole ? -1 : 7);
	raw.leaves = full && !whole && !raw.leaves;
	raw.pages -= !raw.leaves;
	raw.losses -= full && !raw.leaves;
	raw.there = raw.exact && !whole ? size : f.subbuf_size;
	raw.end = raw.there;
}

ssize_t __wrap_read(int fd, void *to, size_t size)
{
	if (fd != raw.fd)
		return __real_read(fd, to, size);
	raw.reads++;
	if (!raw.there && !raw.pages) {
		errno = EAGAIN;
		return -1;
	}
	if (!raw.there && (raw.large ? size < 4096 : size < 100))
		return 0;
	if (!raw.there)
		raw_make(size);
	size = size < raw.there ? size : raw.there;
	memcpy(to, raw.page.bytes + raw.end - raw.there, size);
	raw.there -= size;
	return size;
}

/* Returns how many events were lost, of which there is no number, and adds up the others. */
static uint32_t read_raw(struct tracemap_cpu *cpu, uint32_t pages, uint32_t losses, uint64_t *lost)
{
	struct tracemap_record rec;
	uint32_t unknown = 0, value = raw.value;

	raw.pages = pages;
	raw.losses = losses;
	while (tracemap_cpu_next(cpu, &rec) == 1) {
		check(value_of(&rec, subbuf__host_big) == value++);
		if (rec.missed == TRACEMAP_MISSED_UNKNOWN)
			unknown++;
		else
			*lost += rec.missed;
	}
	check(value == raw.value && !raw.pages);
	return unknown;
}

/* At the beginning, and from the second loss in a row on, each is told with its number. */
static void test_full_subbufs(void)
{
	struct subbuf_format f = HOST_FORMAT;
	struct tracemap_cpu *cpu;
	uint64_t lost = 0;

	raw.fd = new_file();
	check(!fcntl(raw.fd, F_SETFL, O_NONBLOCK));
	cpu = open_file(raw.fd, &f);
	check(read_raw(cpu, 10, 5, &lost) == 0 && lost == 35);
	/* Far from a loss, a sub-buffer is one read(). */
	raw.reads = 0;
	check(read_raw(cpu, 100, 0, &lost) == 0 && raw.reads == 101);
	check(read_raw(cpu, 10, 5, &lost) == 1 && lost == 35 + 28);
	raw.large = true;
	check(read_raw(cpu, 10, 5, &lost) == 5);
	raw.large = false;
	raw.exact = true;
	lost = 0;
	check(read_raw(cpu, 10, 5, &lost) == 1 && lost == 28);
	tracemap_cpu_close(cpu);
	close(raw.fd);
	raw.fd = -1;
}

static void test_damage(void)
{
	struct subbuf_format f = HOST_FORMAT;
	struct tracemap_batch *b = NULL;
	struct subbuf_record r;
	struct tracemap_cpu *cpu;
	int fd = new_file();
	struct subbuf_make m;

	make_begin(&m, &f, 999);
	put_event(&m, 1, 1, 2);
	make_head(&m, 0, 1);
	make_word(&m, 100000);
	make_finish(&m, 0);
	put_page(fd, &m);
	put_events(fd, &f, 2000, 2, 2, 0);
	make_begin(&m, &f, 3000);
	make_put(&m, f.commit_offset, 5000, f.commit_size);
	put_page(fd, &m);
	put_events(fd, &f, 4000, 3, 3, 0);

	cpu = open_file(fd, &f);
	check_next(cpu, 1000, 1, 0);
	check(next_error(cpu) == -EBADMSG);
	check_next(cpu, 2000, 2, 0);
	check(next_error(cpu) == -EBADMSG);
	check_next(cpu, 4000, 3, 0);
	check(next_error(cpu) == -ENODATA);
	tracemap_cpu_close(cpu);

	/* The same by batches. */
	cpu = open_file(fd, &f);
	check(tracemap_cpu_fetch(cpu, &b) == 1);
	check(tracemap_batch_next(b, &r) && !tracemap_batch_next(b, &r));
	check(b->it.corrupt && b->events == 1 && b->cpu == 7);
	for (unsigned int i = 0; i < ARRAY_SIZE(b->reserved); i++)
		check(!b->reserved[i]);
	check(tracemap_cpu_fetch(cpu, &b) == -EBADMSG);
	check(tracemap_cpu_fetch(cpu, &b) == 1);
	check(tracemap_batch_next(b, &r) && r.ts == 2000);
	tracemap_cpu_close(cpu);
	close(fd);
}

/* What was not taken of a batch comes again, a loss only once. */
static void test_one_place(void)
{
	struct subbuf_format f = HOST_FORMAT;
	struct tracemap_batch *b, copy;
	struct subbuf_record r;
	struct tracemap_cpu *cpu;
	int fd = new_file();

	put_events(fd, &f, 1000, 1, 9, 6);
	put_events(fd, &f, 2000, 10, 11, 2);
	cpu = open_file(fd, &f);
	check(tracemap_cpu_fetch(cpu, &b) == 1 && b->missed == 6);
	check(tracemap_cpu_fetch(cpu, &b) == 1 && b->missed == 6);
	check(tracemap_batch_next(b, &r) && r.ts == 1000);
	check(tracemap_cpu_fetch(cpu, &b) == 1 && b->missed == 0);
	check_next(cpu, 1001, 2, 0);
	check(tracemap_cpu_fetch(cpu, &b) == 1);
	copy = *b;
	while (tracemap_batch_next(&copy, &r))
		;
	check(r.ts == 1008);
	*b = copy;
	check(b->events == 9);
	check_next(cpu, 2000, 10, 2);
	check_next(cpu, 2001, 11, 0);
	check(tracemap_cpu_fetch(cpu, &b) == -ENODATA);
	tracemap_cpu_close(cpu);
	close(fd);
}

/* A pipe: what is there of a sub-buffer waits for the rest. */
static void test_pipe(void)
{
	struct subbuf_format f = HOST_FORMAT;
	struct tracemap_figures figures;
	struct tracemap_raw raw;
	struct tracemap_cpu *cpu = NULL;
	struct subbuf_make m;
	int ends[2];

	check(pipe2(ends, O_NONBLOCK) == 0);
	make_begin(&m, &f, 999);
	put_event(&m, 1, 1, 2);
	make_finish(&m, 0);
	check(tracemap_cpu_open_file(&cpu, ends[0], 7, &f) == 0);
	check(next_error(cpu) == 0);
	check(write(ends[1], m.bytes, 1000) == 1000);
	check(next_error(cpu) == 0);
	check(write(ends[1], m.bytes + 1000, 3096) == 3096);
	check_next(cpu, 1000, 1, 0);
	check(next_error(cpu) == 0);
	close(ends[1]);
	check(next_error(cpu) == -ENODATA);
	check(tracemap_cpu_figures(cpu, &figures) == -EOPNOTSUPP);
	check(tracemap_cpu_until_now(cpu) == -EOPNOTSUPP);
	check(tracemap_cpu_raw(cpu, &raw) == 0 && raw.fd == ends[0] && !raw.meta);
	tracemap_cpu_close(cpu);
	close(ends[0]);
	check(tracemap_cpu_open_file(&cpu, ends[0], 7, &f) == -EBADF);
}

static void test_bad_formats(void)
{
	static const struct subbuf_format formats[] = {
		{ 0, 8, 8, 16, false }, { 4096, 8, 7, 16, false },
		{ 4096, 0, 8, 16, false }, { 4096, 9, 4, 16, false },
		{ 4096, 12, 8, 16, false }, { 4096, 8, 8, 4096, false },
		{ 4096, 8, 8, 18, false }, { 4095, 8, 8, 16, false },
		{ 0xfffffffc, 8, 8, 16, false }, { 4096, 0xfffffff8, 8, 16, false },
		{ 4096, 8, 4, 4, false }, { 4096, 8, 8, 4, false },
	};
	struct tracemap_cpu *cpu = NULL;

	for (unsigned int i = 0; i < ARRAY_SIZE(formats); i++)
		check(tracemap_cpu_open_file(&cpu, 0, 0, &formats[i]) == -EINVAL);
	check(tracemap_cpu_open_file(&cpu, 0, 0, NULL) == -EINVAL);
	check(!cpu);
}

/* ---- An instance made of pipes ---- */

static char dir[128];

static void put_file(const char *name, const char *text)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	check(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void make_dir(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	check(mkdir(path, 0700) == 0);
}

/* Returns the end to write to. */
static int make_cpu(int number)
{
	char path[192];

	snprintf(path, sizeof(path), "per_cpu/cpu%d", number);
	make_dir(path);
	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/trace_pipe_raw", dir, number);
	check(mkfifo(path, 0600) == 0);
	return open(path, O_RDWR);
}

static void make_instance(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/core_test.XXXXXX", tmp ? tmp : "/tmp");
	check(mkdtemp(dir));
	make_dir("per_cpu");
	make_dir("events");
	put_file("events/header_page",
		 "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		 "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		 "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
		 "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n");
	put_file("buffer_percent", "0\n");
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* Where this runs, there may be no shell. */
static void remove_instance(void)
{
	check(nftw(dir, remove_entry, 4, FTW_DEPTH | FTW_PHYS) == 0);
}

static int64_t ms_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void check_waits(struct tracemap *t, int expected)
{
	int64_t start = ms_now();

	check(tracemap_wait(t, 60) == expected);
	check(expected || ms_now() - start >= 59);
}

static void test_instance(void)
{
	struct tracemap_options o = tracemap_default_options();
	struct subbuf_format f = HOST_FORMAT;
	struct tracemap_record rec;
	struct tracemap *t = NULL;
	int one, two;

	make_instance();
	check(tracemap_open(&t, dir, NULL) == -ENXIO);
	check(tracemap_open(&t, "/nowhere", NULL) == -ENOENT);
	check(!t);
	two = make_cpu(12);
	one = make_cpu(3);
	check(tracemap_open(&t, dir, &o) == 0);
	check(tracemap_nr_cpus(t) == 2);
	check(tracemap_cpu_number(tracemap_get_cpu(t, 0)) == 3);
	check(tracemap_cpu_number(tracemap_get_cpu(t, 1)) == 12);
	check_waits(t, 0);
	put_events(two, &f, 1000, 1, 2, 4);
	check_waits(t, 1);
	check_waits(t, 0);	/* it is in hand */
	check(tracemap_cpu_next(tracemap_get_cpu(t, 0), &rec) == 0);
	put_events(one, &f, 900, 1, 1, 0);
	check_waits(t, 1);
	check(tracemap_wait(t, -1) == 1);	/* all have something */
	check(tracemap_arm(t) == 1);
	check(tracemap_cpu_next(tracemap_get_cpu(t, 1), &rec) == 1 && rec.missed == 4);
	check(tracemap_cpu_next(tracemap_get_cpu(t, 0), &rec) == 1 && rec.ts == 900);
	check(tracemap_cpu_next(tracemap_get_cpu(t, 1), &rec) == 1 && rec.ts == 1001);
	check_waits(t, 0);
	check(tracemap_rescan(t) == 0);
	close(make_cpu(100));
	check(tracemap_rescan(t) == 1 && tracemap_nr_cpus(t) == 3);
	check(!tracemap_get_cpu(t, 3));
	tracemap_close(t);
	close(one);
	close(two);
	remove_instance();
}

/* One that was never up has files as well, and they cannot be opened. */
static void test_no_buffer(void)
{
	static const int cpus[] = { 4 }, negative = -1;
	struct tracemap_options o = tracemap_default_options();
	struct tracemap *t = NULL;
	char path[192];
	int fd;

	make_instance();
	fd = make_cpu(1);
	make_dir("per_cpu/cpu4");
	snprintf(path, sizeof(path), "%s/per_cpu/cpu4/trace_pipe_raw", dir);
	check(mknod(path, S_IFSOCK | 0600, 0) == 0);
	check(tracemap_open(&t, dir, NULL) == 0 && tracemap_nr_cpus(t) == 1);
	check(tracemap_cpu_number(tracemap_get_cpu(t, 0)) == 1);
	check(tracemap_rescan(t) == 0);
	tracemap_close(t);
	o.nr_cpus = 1;
	o.cpus = cpus;
	check(tracemap_open(&t, dir, &o) == -ENXIO);
	o.cpus = &negative;
	check(tracemap_open(&t, dir, &o) == -EINVAL);
	close(fd);
	remove_instance();
}

/* What the files of an instance say of its buffers. */
static void test_figures(void)
{
	struct tracemap_figures f;
	struct tracemap_cpu *cpu = NULL;
	struct tracemap_raw raw;
	int fd;

	make_instance();
	put_file("buffer_subbuf_size_kb", "8\n");
	fd = make_cpu(2);
	put_file("per_cpu/cpu2/buffer_size_kb", "100\n");
	put_file("per_cpu/cpu2/stats",
		 "entries: 10\noverrun: 200\ncommit overrun: 3000\nbytes: 8177\n"
		 "oldest event ts:     1.000000\nnow ts:     2.000000\n"
		 "dropped events: 40000\nread events: 500000\n");
	check(tracemap_cpu_open(&cpu, dir, 2, NULL) == 0);
	check(tracemap_cpu_raw(cpu, &raw) == 0 && raw.format.subbuf_size == 8192);
	check(tracemap_cpu_figures(cpu, &f) == 0 && f.subbuf_size == 8192);
	check(f.committed == 500210 && f.overwritten == 200 && f.consumed == 500000);
	check(f.dropped == 43000 && f.used == 2 && f.nr_subbufs == 14 && f.epoch == 0);
	tracemap_cpu_close(cpu);
	put_file("buffer_subbuf_size_kb", "0\n");
	check(tracemap_cpu_open(&cpu, dir, 2, NULL) == -EPROTO);
	close(fd);
	remove_instance();
}

static void put_stats(unsigned int entries, unsigned int overrun, unsigned int read)
{
	char text[128];

	snprintf(text, sizeof(text), "entries: %u\noverrun: %u\nread events: %u\n", entries,
		 overrun, read);
	put_file("per_cpu/cpu7/stats", text);
}

/* A consumer ends behind what was there, and leaves what came since to others. */
static void test_consume_until_now(void)
{
	struct tracemap_options o = tracemap_default_options();
	struct subbuf_format f = HOST_FORMAT;
	struct tracemap_merge *m = NULL;
	struct tracemap_cpu *cpu = NULL;
	struct tracemap_record rec;
	int fd;

	make_instance();
	fd = make_cpu(7);
	o.way = TRACEMAP_READ;
	check(tracemap_cpu_open(&cpu, dir, 7, &o) == 0);
	check(tracemap_cpu_until_now(cpu) == -ENOENT);
	put_events(fd, &f, 1000, 1, 3, 0);
	put_events(fd, &f, 2000, 4, 5, 0);
	put_stats(5, 10, 0);
	check_next(cpu, 1000, 1, 0);
	put_stats(2, 10, 3);
	/* What it has in hand is copied, too. */
	check(tracemap_cpu_until_now(cpu) == 0 && cpu->read_ahead.events == 2);
	put_events(fd, &f, 3000, 6, 7, 0);
	put_stats(2, 10, 5);
	check(tracemap_merge_new(&m, NULL) == 0 && tracemap_merge_add_cpu(m, cpu) == 0);
	check(tracemap_merge_next(m, &rec) == 1 && rec.ts == 1001);
	check(tracemap_merge_next(m, &rec) == 1 && rec.ts == 1002);
	check(tracemap_merge_next(m, &rec) == 1 && rec.ts == 2000);
	check(tracemap_merge_next(m, &rec) == 1 && rec.ts == 2001);
	check(tracemap_merge_next(m, &rec) == -ENODATA);
	tracemap_merge_free(m);
	check(next_error(cpu) == -ENODATA);
	/* The end moves. Without memory the counts keep it: what consumers have taken is passed. */
	cpu->read_ahead.room->limit = 0;
	check(tracemap_cpu_until_now(cpu) == 0 && cpu->read_ahead.events == 0);
	put_stats(9, 12, 7);
	check(next_error(cpu) == -ENODATA);
	/* The buffer was emptied: what is there came since. */
	check(tracemap_cpu_until_now(cpu) == 0);
	put_stats(9, 0, 0);
	check(next_error(cpu) == -ENODATA);
	check(tracemap_cpu_until_now(cpu) == 0);
	check_next(cpu, 3000, 6, 0);
	tracemap_cpu_close(cpu);
	close(fd);
	remove_instance();
}

/* What was overwritten before it was copied is told by one more batch, and that is the end. */
static void test_consume_overwritten(void)
{
	struct tracemap_options o = tracemap_default_options();
	struct subbuf_format f = HOST_FORMAT;
	struct tracemap_cpu *cpu = NULL;
	int fd;

	make_instance();
	fd = make_cpu(7);
	o.way = TRACEMAP_READ;
	check(tracemap_cpu_open(&cpu, dir, 7, &o) == 0);
	cpu->read_ahead.room->limit = 0;
	put_stats(5, 10, 0);
	check(tracemap_cpu_until_now(cpu) == 0);
	put_stats(5, 20, 0);
	/* The rest of a sub-buffer comes first: what is behind that is still to be told. */
	put_events(fd, &f, 1000, 1, 1, 0);
	put_events(fd, &f, 2000, 2, 3, 20);
	put_events(fd, &f, 3000, 4, 5, 6);
	check_next(cpu, 1000, 1, 0);
	put_stats(5, 21, 1);
	check_next(cpu, 2000, 2, 20);
	put_stats(5, 27, 3);
	check_next(cpu, 2001, 3, 0);
	check(next_error(cpu) == -ENODATA);
	tracemap_cpu_close(cpu);
	close(fd);
	remove_instance();
}

static int open_by(const struct tracemap_options *o)
{
	struct tracemap_cpu *cpu = NULL;
	int ret = tracemap_cpu_open(&cpu, dir, 1, o);

	tracemap_cpu_close(cpu);
	return ret;
}

static int open_with(uint32_t flags, enum tracemap_way way, unsigned int nr_cpus)
{
	struct tracemap_options o = tracemap_default_options();

	o.flags = flags;
	o.way = way;
	o.nr_cpus = nr_cpus;
	return open_by(&o);
}

static void test_options(void)
{
	int fd;

	make_instance();
	fd = make_cpu(1);
	check(open_with(0, TRACEMAP_READ, 0) == 0);
	check(open_with(1U << 31, TRACEMAP_READ, 0) == -EINVAL);
	check(open_with(0, TRACEMAP_OBSERVE + 1, 0) == -EINVAL);
	check(open_with(0, TRACEMAP_READ, 1) == -EINVAL);
	check(open_with(0, TRACEMAP_OBSERVE, 0) == -EOPNOTSUPP);
	close(fd);
	remove_instance();
}

/* Of a program that is older than the library, and of one that is newer. */
static void test_options_of_other_versions(void)
{
	struct { struct tracemap_options o; uint64_t more; } larger;
	struct tracemap_options o = tracemap_default_options();
	int fd;

	make_instance();
	fd = make_cpu(1);
	o.size = offsetof(struct tracemap_options, flags);
	check(open_by(&o) == 0);
	o.size = 4;
	check(open_by(&o) == -EINVAL);
	memset(&larger, 0, sizeof(larger));
	larger.o = tracemap_default_options();
	larger.o.size = sizeof(larger);
	check(open_by(&larger.o) == 0);
	larger.more = 1;
	check(open_by(&larger.o) == -E2BIG);
	close(fd);
	remove_instance();
}

/* By buffer_percent, and by poll() that says there is something: half a page. */
static void test_no_trust(void)
{
	struct tracemap_options o = tracemap_default_options();
	static const int cpus[] = { 1, 1 };
	struct subbuf_format f = HOST_FORMAT;
	struct tracemap_record rec;
	struct tracemap *t = NULL;
	struct pollfd p;
	int fd, i, ms;

	make_instance();
	put_file("buffer_percent", "50\n");
	fd = make_cpu(1);
	o.nr_cpus = 2;
	o.cpus = cpus;
	check(tracemap_open(&t, dir, &o) == 0 && tracemap_nr_cpus(t) == 1);
	check(tracemap_rescan(t) == 0);
	for (i = 0, ms = 0; i < 10; i++) {
		ms = tracemap_arm(t);
		check(ms == (i < 6 ? 1 << i : 64));
		check(tracemap_cpu_next(tracemap_get_cpu(t, 0), &rec) == 0);
	}
	put_file("buffer_percent", "0\n");
	check(tracemap_arm(t) == 0);
	p.fd = tracemap_fd(t);
	p.events = POLLIN;
	check(poll(&p, 1, 0) == 0);
	put_events(fd, &f, 1000, 1, 1, 0);
	check(poll(&p, 1, 0) == 1);
	check(tracemap_cpu_next(tracemap_get_cpu(t, 0), &rec) == 1);
	check(tracemap_arm(t) == 0);
	put_file("buffer_percent", "50\n");
	check(tracemap_arm(t) == 1 && poll(&p, 1, 0) == 0);
	put_events(fd, &f, 2000, 1, 1, 0);
	check(poll(&p, 1, 0) == 1);
	check(tracemap_cpu_next(tracemap_get_cpu(t, 0), &rec) == 1 && rec.ts == 2000);
	tracemap_close(t);
	close(fd);
	remove_instance();
}

static int readable(const struct tracemap *t)
{
	struct pollfd p = { .fd = tracemap_fd(t), .events = POLLIN };

	return poll(&p, 1, 0);
}

static int percent_now(void)
{
	char path[200], text[16] = "";
	int f;

	snprintf(path, sizeof(path), "%s/buffer_percent", dir);
	f = open(path, O_RDONLY);
	check(f >= 0 && read(f, text, sizeof(text) - 1) > 0);
	close(f);
	return atoi(text);
}

/* In an instance of its own it waits for any event once that is idle, and looks no more. */
static void test_own_percent(void)
{
	struct tracemap_options o = tracemap_default_options();
	struct subbuf_format f = HOST_FORMAT;
	struct tracemap_record rec;
	struct tracemap *t = NULL;
	int fd, i;

	make_instance();
	put_file("buffer_percent", "25\n");
	fd = make_cpu(1);
	o.flags = TRACEMAP_OWN;
	check(tracemap_open(&t, dir, &o) == 0);
	for (i = 0; i < 5; i++) {
		check(tracemap_arm(t) == 1 << i && percent_now() == 25);
		check(tracemap_cpu_next(tracemap_get_cpu(t, 0), &rec) == 0);
	}
	check(tracemap_arm(t) == 0 && percent_now() == 0);
	check_waits(t, 0);
	check(percent_now() == 0);
	put_events(fd, &f, 1000, 1, 1, 0);
	check(tracemap_wait(t, 10000) == 1);
	check(tracemap_cpu_next(tracemap_get_cpu(t, 0), &rec) == 1);
	check(tracemap_arm(t) == 1 && percent_now() == 25);
	/* On a loaded machine the looks are late. */
	for (i = 0; i < 50 && percent_now(); i++)
		check_waits(t, 0);
	check(percent_now() == 0);
	tracemap_set_wake_bytes(t, 0);
	check(tracemap_arm(t) == 0 && percent_now() == 25);
	tracemap_close(t);
	close(fd);
	remove_instance();
}

/* The descriptors of the caller end a wait, and what was found of them before is forgotten. */
static void test_wait_with(void)
{
	struct subbuf_format f = HOST_FORMAT;
	struct pollfd fds[TRACEMAP_WAIT_FDS + 1];
	struct tracemap_record rec;
	struct tracemap *t = NULL;
	int fd, ends[2], i;

	make_instance();
	fd = make_cpu(1);
	check(pipe(ends) == 0 && tracemap_open(&t, dir, NULL) == 0);
	for (i = 0; i <= TRACEMAP_WAIT_FDS; i++)
		fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN, .revents = POLLIN };
	check(tracemap_wait_with(t, fds, TRACEMAP_WAIT_FDS + 1, 0) == -EINVAL);
	fds[TRACEMAP_WAIT_FDS - 1].fd = ends[0];
	check(tracemap_wait_with(t, fds, TRACEMAP_WAIT_FDS, 20) == 0);
	check(!fds[TRACEMAP_WAIT_FDS - 1].revents);
	check(write(ends[1], "", 1) == 1);
	check(tracemap_wait_with(t, fds, TRACEMAP_WAIT_FDS, -1) == 0);
	check(fds[TRACEMAP_WAIT_FDS - 1].revents == POLLIN && !fds[0].revents);
	put_events(fd, &f, 1000, 1, 1, 0);
	check(tracemap_wait_with(t, fds, TRACEMAP_WAIT_FDS, -1) == 1);
	check(fds[TRACEMAP_WAIT_FDS - 1].revents == POLLIN);
	check(tracemap_cpu_next(tracemap_get_cpu(t, 0), &rec) == 1 && rec.ts == 1000);
	close(ends[0]);
	close(ends[1]);
	tracemap_close(t);
	close(fd);
	remove_instance();
}

/* Part of a sub-buffer can be read, and yet there is nothing. */
static void test_misled(void)
{
	struct subbuf_format f = HOST_FORMAT;
	struct tracemap_record rec;
	struct tracemap *t = NULL;
	struct subbuf_make m;
	int fd;

	make_instance();
	fd = make_cpu(1);
	check(tracemap_open(&t, dir, NULL) == 0);
	make_begin(&m, &f, 1000);
	put_event(&m, 1, 5, 1);
	make_finish(&m, 0);
	check(tracemap_arm(t) == 0 && !readable(t));
	check(write(fd, m.bytes, 100) == 100 && readable(t));
	check_waits(t, 0);
	check(tracemap_arm(t) > 0);
	check(write(fd, m.bytes + 100, 3996) == 3996 && !readable(t));
	check(tracemap_arm(t) > 0 && !readable(t));
	check(tracemap_wait(t, 10000) == 1);
	check(tracemap_cpu_next(tracemap_get_cpu(t, 0), &rec) == 1 && rec.ts == 1001);
	check(tracemap_arm(t) == 0);
	put_events(fd, &f, 2000, 1, 1, 0);
	check(readable(t) && tracemap_wait(t, 10000) == 1);
	check(tracemap_cpu_next(tracemap_get_cpu(t, 0), &rec) == 1 && rec.ts == 2000);
	check(tracemap_arm(t) == 0);
	tracemap_close(t);
	close(fd);
	remove_instance();
}

/* A source that has nothing. */
static int no_record(void *arg, struct tracemap_record *rec)
{
	(void)arg;
	(void)rec;
	return 0;
}

/*
 * A merge of a CPU that has a record, and of a source that is waited for. What comes
 * to that CPU wakes if poll() goes by how full the buffer is, and else not.
 */
static void check_merge_waits(const char *percent, int wakes)
{
	struct tracemap_merge_options o = { .size = sizeof(o), .delay_ns = UINT64_MAX };
	struct tracemap_source source = {
		.size = sizeof(source), .cpu = 9, .next = no_record,
	};
	struct subbuf_format f = HOST_FORMAT;
	struct tracemap_record rec;
	struct tracemap_merge *m;
	struct tracemap *t;
	int fd, i;

	make_instance();
	put_file("buffer_percent", percent);
	fd = make_cpu(1);
	check(tracemap_open(&t, dir, NULL) == 0 && tracemap_merge_new(&m, &o) == 0);
	check(tracemap_merge_add_all(m, t) == 0 && tracemap_merge_add_source(m, &source) == 0);
	put_events(fd, &f, 1000, 1, 1, 0);
	check(tracemap_wait(t, 10000) == 1);
	for (i = 0; i < 3; i++) {
		check(tracemap_merge_next(m, &rec) == 0);
		check_waits(t, 0);
		check(tracemap_arm(t) == 0 && !readable(t));
		put_events(fd, &f, 2000 + i, 1, 1, 0);
		check_waits(t, wakes);
	}
	tracemap_merge_flush(m);
	for (i = 0; i < 4; i++)
		check(tracemap_merge_next(m, &rec) == 1);
	tracemap_merge_free(m);
	tracemap_close(t);
	close(fd);
	remove_instance();
}

static void test_merge_waits(void)
{
	check_merge_waits("0\n", 0);
}

static void test_merge_waits_by_fill(void)
{
	check_merge_waits("50\n", 1);
}

/* ---- An observer ---- */

/* A handle as tracemap_cpu_open() would make it, but for the mappings. */
static struct tracemap_cpu *observe(struct sim *s)
{
	struct tracemap_cpu *cpu = calloc(1, sizeof(*cpu));

	cpu->fd = -1;
	cpu->live_fd = -1;
	cpu->dir = -1;
	cpu->number = 7;
	cpu->batch.cpu = 7;
	cpu->format = s->f;
	cpu->read_ahead.room = &cpu->read_ahead.own_room;	/* there is none */
	cpu->backend = &tracemap__backend_observe;
	cpu->observe.copy = malloc(s->f.subbuf_size);
	check(live_attach(&cpu->observe.observer, &s->map, LIVE_FROM_OLDEST) == 0);
	return cpu;
}

static void add_some(struct sim *s, int nr)
{
	while (nr--) {
		add(s, 3, true);
		while (s->commit != s->tail)
			leave(s, s->commit);
		set_commit(s, s->commit, s->write[s->commit]);
	}
}

static uint64_t take_all(struct tracemap_cpu *cpu, uint64_t *missed, int *resets)
{
	struct tracemap_record rec;
	uint64_t seen = 0;

	while (tracemap_cpu_next(cpu, &rec) > 0) {
		seen += !!rec.data;
		*missed += rec.missed;
		*resets += !!(rec.flags & TRACEMAP_RESET);
	}
	return seen;
}

static void test_observe(void)
{
	struct sim *s = sim_new(4, 256, true, 1);
	struct tracemap_cpu *cpu = observe(s);
	struct tracemap_record rec;
	uint64_t missed = 0, seen;
	int resets = 0;

	s->quiet = true;
	check(tracemap_cpu_next(cpu, &rec) == 0);
	add_some(s, 5);
	consume(s);	/* that is nothing to an observer */
	check(tracemap_cpu_next(cpu, &rec) == 1);
	/* A copy is good, whatever is written meanwhile. */
	add_some(s, 500);
	check(tracemap_cpu_next(cpu, &rec) == 1 && !rec.missed);
	seen = 2 + take_all(cpu, &missed, &resets);
	check(seen + missed == 505 && missed > 400 && !resets);
	check(cpu->observe.observer.count == 505);
	reset(s);
	add_some(s, 3);
	check(take_all(cpu, &missed, &resets) == 3 && resets == 1);
	check(seen + missed == 505);
	tracemap_cpu_close(cpu);
	sim_free(s);
}

/* A snapshot without a copy: up to its end, and a loss in it is told to the event. */
static void test_until_now(void)
{
	struct sim *s = sim_new(4, 256, true, 1);
	struct tracemap_cpu *cpu = observe(s);
	uint64_t missed = 0;
	int resets = 0;

	s->quiet = true;
	add_some(s, 5);
	check(tracemap_cpu_until_now(cpu) == 0);
	add_some(s, 5);
	check(take_all(cpu, &missed, &resets) == 5 && next_error(cpu) == -ENODATA);
	check(next_error(cpu) == -ENODATA && !missed);
	check(tracemap_cpu_until_now(cpu) == 0);
	add_some(s, 500);
	check(take_all(cpu, &missed, &resets) == 0 && missed == 5 && !resets);
	check(next_error(cpu) == -ENODATA);
	missed = 0;
	check(tracemap_cpu_until_now(cpu) == 0);
	reset(s);
	add_some(s, 2);
	check(take_all(cpu, &missed, &resets) == 0 && missed == 500 && resets == 1);
	check(next_error(cpu) == -ENODATA);
	check(tracemap_cpu_until_now(cpu) == 0);
	check(take_all(cpu, &missed, &resets) == 2 && missed == 500 && resets == 1);
	store64(&s->index->first, s->index->commit_generation + 1);
	check(tracemap_cpu_until_now(cpu) == -EAGAIN);
	tracemap_cpu_close(cpu);
	sim_free(s);
}

/* What is copied stays; the end comes behind it, and moves when it is asked to. */
static void test_until_now_merged(void)
{
	struct sim *s = sim_new(8, 256, true, 1);
	struct tracemap_cpu *cpu = observe(s);
	struct tracemap_merge *m = NULL;
	struct tracemap_record rec;
	int seen = 0, ret;

	s->quiet = true;
	cpu->read_ahead.own_room.limit = 1 << 20;
	add_some(s, 60);
	check(tracemap_cpu_until_now(cpu) == 0 && cpu->read_ahead.events == 60);
	add_some(s, 500);
	check(tracemap_merge_new(&m, NULL) == 0 && tracemap_merge_add_cpu(m, cpu) == 0);
	while ((ret = tracemap_merge_next(m, &rec)) > 0)
		seen += rec.data && !rec.missed;
	check(seen == 60 && ret == -ENODATA);
	tracemap_merge_free(m);
	/* An end that was read ahead. */
	check(tracemap_cpu_until_now(cpu) == 0 && tracemap_merge_new(&m, NULL) == 0);
	check(tracemap_merge_add_cpu(m, cpu) == 0 && tracemap_merge_next(m, &rec) == 1);
	check(rec.missed > 300 && cpu->read_ahead.error == -ENODATA);
	tracemap_merge_free(m);
	add_some(s, 3);
	check(tracemap_cpu_until_now(cpu) == 0 && tracemap__in_hand(cpu));
	for (seen = 0; (ret = tracemap_cpu_next(cpu, &rec)) > 0; seen++)
		check(!rec.missed);
	check(ret == -ENODATA && cpu->observe.observer.count == 563);
	tracemap_cpu_close(cpu);
	sim_free(s);
}

/* ---- A mapping, of which there is the index ---- */

/* In the place of the C library's: what a handle has said to trace_live. */
static struct trace_live_position told;

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;

	(void)fd;
	va_start(args, request);
	if (request == TRACE_LIVE_IOCTL_SET_POSITION)
		told = *va_arg(args, struct trace_live_position *);
	va_end(args);
	return 0;
}

/* Does a consumer wait there that has taken so many events, and so much of a sub-buffer? */
static bool waits_at(struct tracemap_cpu *cpu, uint64_t taken, uint32_t reader_read,
		     uint64_t generation, uint32_t read)
{
	struct trace_live_index *index = (void *)cpu->map.live.index;
	struct trace_buffer_meta meta = { .reader.read = reader_read };

	store64(&index->read, taken);
	cpu->map.meta = &meta;
	return cpu->backend->arm(cpu, 7) == 0 && told.size == sizeof(told) && told.bytes == 7 &&
	       told.generation == generation && told.read == read;
}

/* A consumer is waited for where it has stopped reading. */
static void test_map_position(void)
{
	struct sim *s = sim_new(4, 256, true, 1);
	struct tracemap_cpu cpu = { .backend = &tracemap__backend_map, .format = s->f };

	cpu.map.live = s->map;
	check(live__open(&cpu.map.observer, &s->map) == 0);
	s->quiet = true;
	/* 16 events of 16 bytes fill a sub-buffer. */
	check(waits_at(&cpu, 0, 0, 1, 0));
	add_some(s, 5);
	check(waits_at(&cpu, 0, 0, 1, 0) && !cpu.backend->is_filling(&cpu));
	check(waits_at(&cpu, 5, 80, 1, 80));
	/* The rest of it is unread. */
	add_some(s, 30);
	check(waits_at(&cpu, 5, 80, 1, 0) && cpu.backend->is_filling(&cpu));
	/* All of one that the writer has left: the next one is next. */
	check(waits_at(&cpu, 16, 256, 2, 0) && cpu.backend->is_filling(&cpu));
	check(waits_at(&cpu, 32, 256, 3, 0) && !cpu.backend->is_filling(&cpu));
	check(waits_at(&cpu, 35, 48, 3, 48));
	/* If that was overwritten, the oldest that is left is next. */
	add_some(s, 100);
	check(waits_at(&cpu, 0, 0, 7, 0) && cpu.backend->is_filling(&cpu));
	check(cpu.backend->arm(&cpu, 0) == -EOPNOTSUPP);
	sim_free(s);
}

/* ---- Small files ---- */

static void check_reading(size_t size)
{
	char path[32], part[100], *whole, *byte = malloc(size + 1);
	int fd = new_file(), fits = size < sizeof(part) ? size : sizeof(part) - 1;
	size_t got = 0;

	for (size_t i = 0; i < size; i++)
		byte[i] = 'a' + i % 23;
	check(write(fd, byte, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	whole = read_file_whole(AT_FDCWD, path, &got);
	check(whole && got == size && !memcmp(whole, byte, size) && !whole[size]);
	check(read_file(AT_FDCWD, path, part, sizeof(part)) == fits);
	check(!memcmp(part, byte, fits) && !part[fits]);
	free(whole);
	free(byte);
	close(fd);
}

static void test_small_files(void)
{
	static const size_t sizes[] = { 0, 1, 98, 99, 100, 8190, 8191, 8192, 16383, 100000 };
	char text[4];

	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++)
		check_reading(sizes[i]);
	check(read_file(AT_FDCWD, "/dev/null/none", text, sizeof(text)) == -ENOTDIR);
	check(read_file(AT_FDCWD, "/", text, sizeof(text)) == -EISDIR);
	check(!read_file_whole(AT_FDCWD, "/dev/null/none", NULL) && errno == ENOTDIR);
	check(!read_file_whole(AT_FDCWD, "/", NULL) && errno == EISDIR);
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "sub-buffers of every layout", test_formats },
	{ "loss, whatever comes behind it", test_loss },
	{ "a file that is cut off", test_cut_off },
	{ "a loss whose number is cut off", test_cut_off_loss },
	{ "damage, and what comes behind it", test_damage },
	{ "batches and records have one place", test_one_place },
	{ "a pipe", test_pipe },
	{ "layouts that cannot be", test_bad_formats },
	{ "full sub-buffers have no room for losses", test_full_subbufs },
	{ "an instance made of pipes", test_instance },
	{ "a CPU without a buffer", test_no_buffer },
	{ "figures of the buffers", test_figures },
	{ "options that make no sense", test_options },
	{ "options of other versions", test_options_of_other_versions },
	{ "poll() that is not enough", test_no_trust },
	{ "poll() that misleads", test_misled },
	{ "buffer_percent of its own instance", test_own_percent },
	{ "descriptors of the caller", test_wait_with },
	{ "what waits in a merge is not what one wakes for", test_merge_waits },
	{ "a buffer that fills meanwhile is", test_merge_waits_by_fill },
	{ "an observer's copies", test_observe },
	{ "a consumer that ends where the writer is now", test_consume_until_now },
	{ "such a consumer whose events are overwritten", test_consume_overwritten },
	{ "an observer that ends where the writer is now", test_until_now },
	{ "such an observer with memory, in a merge", test_until_now_merged },
	{ "the position of a mapping", test_map_position },
	{ "small files of any size", test_small_files },
};

/*
 * What inline functions look at is compiled into programs. Of libraries with the same
 * soname it has the same place.
 */
#if __SIZEOF_POINTER__ == 8
_Static_assert(offsetof(struct subbuf_iter, next) == 8, "subbuf_iter.next has moved");
_Static_assert(offsetof(struct subbuf_iter, fast_end) == 16, "subbuf_iter.fast_end has moved");
_Static_assert(offsetof(struct subbuf_iter, end) == 24, "subbuf_iter.end has moved");
_Static_assert(offsetof(struct subbuf_iter, ts) == 40, "subbuf_iter.ts has moved");
_Static_assert(offsetof(struct subbuf_iter, corrupt) == 49, "subbuf_iter.corrupt has moved");
_Static_assert(offsetof(struct tracemap_batch, missed) == 88, "tracemap_batch.missed has moved");
_Static_assert(offsetof(struct tracemap_batch, cpu) == 100, "tracemap_batch.cpu has moved");
_Static_assert(offsetof(struct tracemap_batch, events) == 104, "tracemap_batch.events has moved");
_Static_assert(offsetof(struct tracemap_merge_head, run_end) == 8, "run_end has moved");
_Static_assert(offsetof(struct tracemap_record, missed) == 32, "tracemap_record.missed has moved");
_Static_assert(sizeof(struct tracemap_record) == 64, "tracemap_record has another size");
_Static_assert(offsetof(struct tracemap_source, release) == 32, "tracemap_source.release has moved");
#endif

static int open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

int main(void)
{
	bool failed = false;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%zu\n", ARRAY_SIZE(tests));
	for (unsigned int i = 0; i < ARRAY_SIZE(tests); i++) {
		int files = open_files();

		failures = 0;
		tests[i].run();
		check(open_files() == files);
		printf("%s %u - %s\n", failures ? "not ok" : "ok", i + 1, tests[i].name);
		failed |= failures;
	}
	return failed;
}

// SPDX-License-Identifier: LGPL-2.1
/*
 * Test trace_dat.h on the file systems of the given folders: wherever the recorder is
 * killed, the table of the file has to point to data that are there, the parts have to have
 * the rest, and both together may take no more space than what was written and one step of
 * moving.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "new_file.h"
#include "subbuf_make.h"
#include "trace_dat_send.h"

enum { PAGE = 4096, CPUS = 4, PAGES = 60 };

static const struct subbuf_format format = {
	.subbuf_size = PAGE, .commit_offset = 8, .commit_size = 8, .data_offset = 16,
};

static const unsigned char zeros[PAGE];

/* What is read of a tracing folder, and no more. */
static void make_tracing(const char *dir)
{
	CHECK(!mkdir(dir, 0700));
	make_file(dir, "events/header_page", "header page\n");
	make_file(dir, "events/header_event", "header event\n");
	make_file(dir, "events/ftrace/print/format", "name: print\nID: 5\nprint fmt: \"%ps\"\n");
	make_file(dir, "events/b/two/format", "name: two\nID: 12\n");
	make_file(dir, "events/a/one/format", "name: one\nID: 11\n");
	make_file(dir, "events/a/three/format", "name: three\nID: 13\n");
	make_file(dir, "set_event", "b:two\na:one\nno:such\n");
	make_file(dir, "current_tracer", "nop\n");
	make_file(dir, "trace_clock", "[local] global\n");
	make_file(dir, "printk_formats", "");
	make_file(dir, "saved_cmdlines", "1 init\n");
	make_file(dir, "saved_cmdlines_size", "128\n");
}

/* A page that tells which one it is. */
static void write_page(struct trace_dat *dat, unsigned int cpu, unsigned int n)
{
	uint64_t subbuf[PAGE / 8] = { [0] = n, [2] = cpu, [3] = n };
	struct dat_piece piece = { &format, subbuf, 0, 16, n, 0 };
	struct dat_page page;

	CHECK(dat_pages(&piece, zeros, &page) == 1);
	CHECK(!trace_dat_write(dat, cpu, (uint64_t)n * PAGE, &page, 1));
}

static size_t head_size(const struct trace_head *head)
{
	struct bytes b = { .error = 0 };
	size_t size;

	CHECK(!trace_head_write(head, &b));
	size = b.size;
	bytes_free(&b);
	return size;
}

/* CPU 1 has nothing, the others different numbers of pages. */
static unsigned int pages_of(unsigned int cpu)
{
	return cpu * (cpu - 1) * PAGES / 2 + !cpu;
}

/*
 * What is behind the head: a table, the size of the clock's name and the name, a mark, and a
 * byte for each CPU.
 */
enum { TABLE_SIZE = CPUS * 16 + 8 + 32 + 8 + CPUS };

/* The file begins with this head and has so many bytes of data, all where they belong. */
static void check_data(const char *path, const struct trace_head *head, uint64_t wanted)
{
	uint64_t region[CPUS][2], clock[5], page[PAGE / 8], size = 0;
	size_t table = head_size(head);
	uint64_t to = (table + TABLE_SIZE + PAGE - 1) / PAGE * PAGE;
	int fd = open(path, O_RDONLY);
	struct stat st;

	CHECK(fd >= 0 && pread(fd, region, sizeof(region), table) == sizeof(region));
	CHECK(pread(fd, clock, sizeof(clock), table + sizeof(region)) == sizeof(clock));
	CHECK(clock[0] == 32 && !strcmp((char *)(clock + 1), "[local]"));
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		CHECK(!region[cpu][1] || region[cpu][0] == to);
		for (unsigned int n = 0; n < region[cpu][1] / PAGE; n++) {
			CHECK(pread(fd, page, PAGE, to + n * PAGE) == PAGE);
			CHECK(page[0] == n && page[1] == 16 && page[2] == cpu && page[3] == n);
		}
		to += pages_of(cpu) * PAGE;
		size += region[cpu][1];
	}
	CHECK(size == wanted && !fstat(fd, &st) && (uint64_t)st.st_size <= to);
	close(fd);
}

static bool contains(const char *path, const char *what)
{
	struct bytes b = { .error = 0 };
	bool found;

	CHECK(!bytes_add_file(&b, path));
	found = memmem(b.data, b.size, what, strlen(what));
	bytes_free(&b);
	return found;
}

/* A recording in a folder of its own. */
struct recorded {
	char dir[256], path[300], top[300];
	struct trace_head *head;
	struct trace_dat *dat;
};

/* As trace_dat_create(), of which this is what is in the way. */
static char in_the_way[320];

static int create(struct recorded *r, const char *path)
{
	char *file;
	int ret = trace_dat_create(&r->dat, path, r->head, CPUS, PAGE, &file);

	snprintf(in_the_way, sizeof(in_the_way), "%s", file ? file : "");
	free(file);
	return ret;
}

/* As trace_dat_restore(), of which this is the file that the error is about. */
static char restore_file[320];

static int try_restore(const char *path, uint64_t *size)
{
	struct trace_dat_restored restored;
	int ret = trace_dat_restore(path, false, NULL, &restored);

	snprintf(restore_file, sizeof(restore_file), "%s", restored.file ? restored.file : "");
	free(restored.file);
	if (size)
		*size = restored.size;
	return ret;
}

/* All bytes of data. */
static uint64_t all_data(void)
{
	uint64_t pages = 0;

	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		pages += pages_of(cpu);
	return pages * PAGE;
}

static void begin(struct recorded *r, const char *folder)
{
	snprintf(r->dir, sizeof(r->dir), "%s/trace_dat_test.%d", folder, getpid());
	make_tracing(r->dir);
	snprintf(r->path, sizeof(r->path), "%s/trace.dat", r->dir);
	snprintf(r->top, sizeof(r->top), "%s/.", r->dir);
	CHECK(!trace_head_new(&r->head, r->top, r->dir, CPUS, PAGE));
	CHECK(!create(r, r->path));
	for (unsigned int cpu = CPUS; cpu--; ) {
		for (unsigned int n = 0; n < pages_of(cpu); n++)
			write_page(r->dat, cpu, n);
	}
	CHECK(trace_dat_size(r->dat) == all_data());
}

static void end(struct recorded *r)
{
	char command[300];

	trace_dat_close(r->dat);
	trace_head_free(r->head);
	snprintf(command, sizeof(command), "rm -rf %s", r->dir);
	CHECK(!system(command));
}

/* What trace.dat and what belongs to it take: bytes, and bytes of the disk. */
struct taken {
	unsigned int files;
	uint64_t size, blocks;
};

static struct taken taken(const struct recorded *r)
{
	struct taken sum = { 0 };
	struct stat st;
	char path[320];

	for (int cpu = -1; cpu < CPUS; cpu++) {
		snprintf(path, sizeof(path), cpu < 0 ? "%s" : "%s.cpu%d", r->path, cpu);
		if (stat(path, &st))
			continue;
		sum.files++;
		sum.size += st.st_size;
		sum.blocks += st.st_blocks * 512;
	}
	snprintf(path, sizeof(path), "%s.new", r->path);
	CHECK(stat(path, &st) && errno == ENOENT);
	return sum;
}

/* The whole file, and nothing else is left. */
static void check_whole(const struct recorded *r)
{
	uint64_t front = head_size(r->head) + TABLE_SIZE;

	check_data(r->path, r->head, all_data());
	CHECK(taken(r).files == 1 && taken(r).size < all_data() + front + PAGE);
	CHECK(taken(r).blocks < all_data() + front + (1 << 20));
}

static void test_in(const char *folder)
{
	struct recorded r;
	struct stat st;

	begin(&r, folder);
	/* While it is recorded: nothing looks larger than it is. */
	check_data(r.path, r.head, 0);
	CHECK(taken(&r).files == 1 + CPUS && trace_dat_is_unfinished(r.path));
	CHECK(taken(&r).size == all_data() + head_size(r.head) + TABLE_SIZE);
	CHECK(!chmod(r.path, 0640));

	make_file(r.dir, "set_event", "a:three\n");
	/* A name may have a newline. */
	make_file(r.dir, "saved_cmdlines", "1 in\nit\n77 late\n");
	make_file(r.dir, "per_cpu/cpu0/stats", "overrun: 99\n");
	make_file(r.dir, "per_cpu/cpu2/stats", "overrun: 77\n");
	CHECK(!trace_head_refresh(r.head) && !trace_dat_replace_head(r.dat));
	check_data(r.path, r.head, 0);
	CHECK(!trace_dat_finish(r.dat, NULL));
	check_whole(&r);
	CHECK(!trace_dat_is_unfinished(r.path));
	CHECK(!stat(r.path, &st) && (st.st_mode & 0777) == 0640);
	CHECK(contains(r.path, "1 in it\n77 late\n") && contains(r.path, "name: three") &&
	      contains(r.path, "name: one") && contains(r.path, "CPU: 0\noverrun: 99") &&
	      contains(r.path, "CPU: 2\noverrun: 77"));
	end(&r);
}

static off_t most_reserved;	/* bytes that the disk has for it; 0: it is not asked */
static uint64_t pretended_free;	/* bytes of the disk; 0: what is free */
__typeof__(fstatvfs) __real_fstatvfs64;

int __wrap_fstatvfs64(int fd, struct statvfs *fs)
{
	int ret = __real_fstatvfs64(fd, fs);

	if (pretended_free)
		fs->f_bavail = pretended_free / fs->f_frsize;
	return ret;
}

/* What is kept free is a part of what is free, and no more than that. */
static void test_reserve(const char *folder)
{
	static const uint64_t mib[][2] = { { 4, 1 }, { 20, 2 }, { 64, 8 }, { 1 << 20, 16 } };

	for (unsigned int i = 0; i < sizeof(mib) / sizeof(mib[0]); i++) {
		struct recorded r;
		struct stat st;

		pretended_free = mib[i][0] << 20;
		begin(&r, folder);
		CHECK(!stat(r.path, &st));
		CHECK(st.st_blocks * 512ULL >= mib[i][1] << 20);
		CHECK(st.st_blocks * 512ULL < (mib[i][1] + 1) << 20);
		end(&r);
	}
	pretended_free = 0;
}

/* An eighth is not there, as the second head is large: less will do, down to 1 MiB. */
static void test_reserve_less(const char *folder)
{
	struct recorded r;
	struct stat st;

	pretended_free = 12 << 20;
	most_reserved = 1400 << 10;
	begin(&r, folder);
	most_reserved = 0;
	pretended_free = 0;
	CHECK(!stat(r.path, &st));
	CHECK(st.st_blocks * 512ULL >= 1 << 20 && st.st_blocks * 512ULL < 1500 << 10);
	end(&r);
}

/* The process is killed after so many of the calls that change files; 0: it is not. */
static unsigned int steps;

static ssize_t step(ssize_t ret)
{
	if (steps && !--steps)
		raise(SIGKILL);
	return ret;
}

/* A part of what is to be written only, unless it is in one place. */
static bool writes_little;

/* These are linked in the place of the C library's functions. */
__typeof__(pwritev) __real_pwritev64;
__typeof__(fallocate) __real_fallocate64;
__typeof__(rename) __real_rename;
__typeof__(unlink) __real_unlink;
__typeof__(fdatasync) __real_fdatasync;

ssize_t __wrap_pwritev64(int fd, const struct iovec *parts, int nr, off_t at)
{
	struct iovec little = { parts->iov_base, 12 };

	if (writes_little && nr > 1 && parts->iov_len > 12)
		return step(__real_pwritev64(fd, &little, 1, at));
	return step(__real_pwritev64(fd, parts, nr, at));
}

int __wrap_fallocate64(int fd, int mode, off_t at, off_t size)
{
	if (most_reserved && size > most_reserved) {
		errno = ENOSPC;
		return -1;
	}
	return step(__real_fallocate64(fd, mode, at, size));
}

int __wrap_rename(const char *from, const char *to)
{
	return step(__real_rename(from, to));
}

/* Of so many files, none is removed on the disk when the machine crashes; 0: all are. */
static unsigned int lost_unlinks;

int __wrap_unlink(const char *path)
{
	if (lost_unlinks && !--lost_unlinks)
		_exit(1);
	if (lost_unlinks)
		return 0;
	return step(__real_unlink(path));
}

/* The kernel tells of what it could not write once, and then all seems well. */
static bool sync_fails;

int __wrap_fdatasync(int fd)
{
	if (!sync_fails)
		return __real_fdatasync(fd);
	sync_fails = false;
	errno = EIO;
	return -1;
}

/* A file system such as NFS: without files that have no name, and RENAME_NOREPLACE. */
static bool names_all;
__typeof__(open) __real_open64;
__typeof__(renameat2) __real_renameat2;

int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
	if (names_all && flags) {
		errno = EINVAL;
		return -1;
	}
	return __real_renameat2(from_dir, from, to_dir, to, flags);
}

int __wrap_open64(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	if (names_all && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return __real_open64(path, flags, mode);
}

/* Do it in another process. Returns whether it came to the end, and well. */
static bool elsewhere(struct recorded *r, int (*what)(struct recorded *r))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(what(r) != 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	return !status;
}

/* A full disk takes what it has room for. */
static void test_little_by_little(const char *folder)
{
	struct recorded r;

	writes_little = true;
	begin(&r, folder);
	CHECK(!trace_dat_finish(r.dat, NULL));
	writes_little = false;
	check_whole(&r);
	end(&r);
}

static mode_t mode_of(const char *path, const char *end)
{
	char whole[340];
	struct stat st;

	snprintf(whole, sizeof(whole), "%s%s", path, end);
	CHECK(!stat(whole, &st));
	return st.st_mode & 0777;
}

/* A file that others may not read has parts that they may not read. */
static void test_modes(const char *folder)
{
	struct recorded r, other;
	char path[320];

	begin(&r, folder);
	snprintf(path, sizeof(path), "%s/private", r.dir);
	make_file(r.dir, "private", "");
	/* Neither is this a part of it. */
	make_file(r.dir, "private.cpu1-notes", "");
	other = r;
	CHECK(!chmod(path, 0600) && !create(&other, path));
	write_page(other.dat, 0, 0);
	CHECK(mode_of(path, "") == 0600 && mode_of(path, ".cpu0") == 0600);
	trace_dat_close(other.dat);
	end(&r);
}

/* With ulimit -f the file at the end may have three pages of all CPUs together. */
static int write_limited(struct recorded *r)
{
	uint64_t front = (head_size(r->head) + TABLE_SIZE + PAGE - 1) / PAGE * PAGE;
	uint64_t limit = front + (1 << 20) + 3 * PAGE;
	struct recorded limited = *r;
	struct dat_page page;
	char path[320];
	uint64_t subbuf[PAGE / 8] = { 0 };
	struct dat_piece piece = { &format, subbuf, 0, 16, 0, 0 };

	signal(SIGXFSZ, SIG_IGN);
	snprintf(path, sizeof(path), "%s/limited", r->dir);
	CHECK(!setrlimit(RLIMIT_FSIZE, &(struct rlimit){ limit, limit }));
	CHECK(!create(&limited, path));
	write_page(limited.dat, 0, 0);
	write_page(limited.dat, 0, 1);
	write_page(limited.dat, 1, 0);
	CHECK(dat_pages(&piece, zeros, &page) == 1);
	CHECK(trace_dat_write(limited.dat, 1, PAGE, &page, 1) == -EFBIG);
	CHECK(trace_dat_size(limited.dat) == 3 * PAGE);
	/* Not so the last pages, which have half of what is kept free. */
	for (int n = (1 << 19) / PAGE; n--; )
		CHECK(!trace_dat_write_last(limited.dat, n % 2, &page));
	CHECK(trace_dat_write_last(limited.dat, 1, &page) == -ENOSPC);
	CHECK(!trace_dat_finish(limited.dat, NULL));
	trace_dat_close(limited.dat);
	return 0;
}

static void test_elsewhere(const char *folder, int (*what)(struct recorded *r))
{
	struct recorded r;

	begin(&r, folder);
	CHECK(elsewhere(&r, what));
	end(&r);
}

/*
 * A page that cannot get its next one has all that it had, and so the number of lost events.
 * ulimit -f stands for a full disk: the first page of CPU 1 is there, the next does not fit.
 */
static int write_again_without_room(struct recorded *r)
{
	static struct subbuf_make m;
	struct dat_piece piece = { &format, m.bytes, 0, 0, 1, 3 };
	struct dat_page pages[DAT_PAGES_MAX];
	unsigned char before[PAGE], after[PAGE];

	signal(SIGXFSZ, SIG_IGN);
	make_begin(&m, &format, 1);
	CHECK(make_event(&m, 2, zeros, 4));
	piece.end = m.end;
	CHECK(dat_pages(&piece, zeros, pages) == 1);
	CHECK(!trace_dat_write(r->dat, 1, 0, pages, 1));
	CHECK(!trace_dat_read(r->dat, 1, 0, before, PAGE));
	CHECK(subbuf_missed(&format, before) == 3);

	CHECK(make_event(&m, 3, zeros, 4) && make_event(&m, 4, zeros, make_room(&m) - 8));
	piece.end = m.end;
	CHECK(dat_pages(&piece, zeros, pages) == 2);
	CHECK(!setrlimit(RLIMIT_FSIZE, &(struct rlimit){ PAGE, PAGE }));
	CHECK(trace_dat_write(r->dat, 1, 0, pages, 2) == -EFBIG);
	CHECK(!trace_dat_read(r->dat, 1, 0, after, PAGE) && !memcmp(before, after, PAGE));
	CHECK(trace_dat_cpu_size(r->dat, 1) == PAGE);
	return 0;
}

static int write_again(struct recorded *r)
{
	uint64_t subbuf[PAGE / 8] = { [0] = 9, [3] = 9 };
	struct dat_piece piece = { &format, subbuf, 0, 16, 9, 0 };
	struct dat_page page;

	CHECK(dat_pages(&piece, zeros, &page) == 1);
	return trace_dat_write(r->dat, 0, PAGE, &page, 1);
}

static void check_page(const struct recorded *r, uint64_t n, uint64_t value, uint64_t pages)
{
	uint64_t page[PAGE / 8];
	char path[320];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s.cpu0", r->path);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && pread(fd, page, PAGE, n * PAGE) == PAGE && page[0] == value);
	CHECK(!fstat(fd, &st) && (uint64_t)st.st_size == pages * PAGE);
	close(fd);
}

/* Where pages are already: the header, which says how much there is, comes last. */
static void test_again(const char *folder)
{
	struct recorded r;

	begin(&r, folder);
	write_page(r.dat, 0, 1);
	write_page(r.dat, 0, 2);
	steps = 1;
	CHECK(!elsewhere(&r, write_again));
	check_page(&r, 1, 1, 3);
	steps = 0;
	CHECK(!write_again(&r) && trace_dat_size(r.dat) == all_data() + PAGE);
	check_page(&r, 0, 0, 2);
	check_page(&r, 1, 9, 2);
	end(&r);
}

/* It stops at a page of the last CPU that is not the last, nor as a whole. */
static int finish_limited(struct recorded *r)
{
	uint64_t size = head_size(r->head) + all_data() - PAGE * PAGES + 100;

	signal(SIGXFSZ, SIG_IGN);
	CHECK(!setrlimit(RLIMIT_FSIZE, &(struct rlimit){ size, size }));
	return trace_dat_finish(r->dat, NULL);
}

static int finish(struct recorded *r)
{
	return trace_dat_replace_head(r->dat) ?: trace_dat_finish(r->dat, NULL);
}

/* The recorder is no more, and neither is its lock. */
static void die(struct recorded *r)
{
	trace_dat_close(r->dat);
	r->dat = NULL;
}

static void restore(struct recorded *r)
{
	uint64_t size = 0;

	CHECK(!try_restore(r->path, &size) && size == all_data());
	check_whole(r);
	/* Again it changes nothing. */
	CHECK(!try_restore(r->path, &size) && size == all_data());
	check_whole(r);
}

static uint64_t data_in_file(const struct recorded *r)
{
	uint64_t region[CPUS][2], size = 0;
	int fd = open(r->path, O_RDONLY);

	CHECK(fd >= 0 && pread(fd, region, sizeof(region), head_size(r->head)) == sizeof(region));
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		size += region[cpu][1];
	close(fd);
	return size;
}

/* A step of moving is in both. Some file systems allocate more than they need. */
static void test_restore(const char *folder)
{
	struct recorded r;
	uint64_t moved;

	begin(&r, folder);
	CHECK(!elsewhere(&r, finish_limited));
	moved = data_in_file(&r);
	CHECK(moved > all_data() - PAGE * (PAGES + 2) && moved < all_data());
	check_data(r.path, r.head, moved);
	CHECK(taken(&r).blocks < all_data() + 4 * CHUNK);
	die(&r);
	restore(&r);
	end(&r);
}

/* How many calls of the watch were answered with "go on" before one was not. */
static unsigned int calls_left;

static bool go_on(void *arg, uint64_t moved, uint64_t size)
{
	uint64_t *last = arg;

	CHECK(size == all_data() && moved < size && moved >= *last && moved <= *last + CHUNK);
	*last = moved;
	return calls_left--;
}

/* Stopped between any two chunks: what was moved is there, and the rest comes later. */
static void test_stopped(const char *folder)
{
	struct recorded r;
	int ret = -EINTR;

	for (unsigned int calls = 0; ret; calls++) {
		uint64_t last = 0;
		struct trace_dat_watch watch = { .go_on = go_on, .arg = &last };

		begin(&r, folder);
		calls_left = calls;
		ret = trace_dat_finish(r.dat, &watch);
		CHECK(ret ? ret == -EINTR && data_in_file(&r) >= last - last % PAGE :
			    calls > all_data() / CHUNK / 2);
		check_data(r.path, r.head, data_in_file(&r));
		die(&r);
		restore(&r);
		end(&r);
	}
}

static int finish_on_a_bad_disk(struct recorded *r)
{
	sync_fails = true;
	return trace_dat_finish(r->dat, NULL);
}

/* What may not be on the disk stays in the parts. */
static void test_failed_sync(const char *folder)
{
	struct recorded r;

	begin(&r, folder);
	CHECK(!elsewhere(&r, finish_on_a_bad_disk));
	CHECK(taken(&r).files == 1 + CPUS && !data_in_file(&r));
	die(&r);
	restore(&r);
	end(&r);
}

static int finish_and_crash(struct recorded *r)
{
	lost_unlinks = CPUS;
	return trace_dat_finish(r->dat, NULL);
}

/* The machine crashed: what was moved as a whole has its name again, and not all of it. */
static void test_part_is_back(const char *folder)
{
	struct recorded r;
	char path[320];

	begin(&r, folder);
	CHECK(!elsewhere(&r, finish_and_crash));
	die(&r);
	snprintf(path, sizeof(path), "%s.cpu%d", r.path, CPUS - 1);
	CHECK(data_in_file(&r) == all_data() && !truncate(path, PAGE));
	make_file(r.dir, "trace.dat.cpu0", "");
	/* It has more than was moved: that is another file. */
	snprintf(path, sizeof(path), "%s.cpu%d", r.path, CPUS - 2);
	CHECK(!truncate(path, 1 << 20) && try_restore(r.path, NULL) == -EINVAL);
	CHECK(!strcmp(restore_file, path) && !truncate(path, 0));
	restore(&r);
	end(&r);
}

/* What is in @name is what it was. */
static void check_file(const struct recorded *r, const char *name, const char *text)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", r->dir, name);
	CHECK(contains(path, text));
}

/* Refused for a file beside it, and both are as they were. */
static void check_not_of_it(const struct recorded *r, const char *name)
{
	struct bytes before = { .error = 0 }, after = { .error = 0 };
	char path[600];
	uint64_t size;

	make_file(r->dir, name, "mine");
	CHECK(!bytes_add_file(&before, r->path));
	CHECK(try_restore(r->path, &size) == -EEXIST && size == all_data());
	snprintf(path, sizeof(path), "%s/%s", r->dir, name);
	CHECK(!strcmp(restore_file, path));
	check_file(r, name, "mine");
	CHECK(!truncate(path, 200000) && try_restore(r->path, NULL) == -EEXIST);
	CHECK(!bytes_add_file(&after, r->path) && before.size == after.size &&
	      !memcmp(before.data, after.data, before.size) && !unlink(path));
	bytes_free(&before);
	bytes_free(&after);
}

/* A whole file stays as it is, whatever lies beside it; so does what lies there. */
static void test_beside_whole(const char *folder)
{
	struct recorded r;

	begin(&r, folder);
	CHECK(!trace_dat_finish(r.dat, NULL));
	die(&r);
	check_not_of_it(&r, "trace.dat.cpu0");
	check_not_of_it(&r, "trace.dat.cpu7");
	check_not_of_it(&r, "trace.dat.new");
	restore(&r);
	CHECK(!truncate(r.path, taken(&r).size - PAGE));
	CHECK(try_restore(r.path, NULL) == -ENOTRECOVERABLE);
	end(&r);
}

/* A part that is missing is told before anything is moved; an empty file can be in its place. */
static void test_missing_part(const char *folder)
{
	char path[320], away[330];
	struct recorded r;
	uint64_t size;

	begin(&r, folder);
	die(&r);
	snprintf(path, sizeof(path), "%s.cpu%d", r.path, CPUS - 1);
	snprintf(away, sizeof(away), "%s.away", path);
	CHECK(!__real_rename(path, away));
	CHECK(try_restore(r.path, NULL) == -ENODATA && !strcmp(restore_file, path));
	CHECK(taken(&r).files == CPUS && !data_in_file(&r));
	CHECK(!__real_rename(away, path));
	restore(&r);
	end(&r);

	begin(&r, folder);
	die(&r);
	make_file(r.dir, strrchr(path, '/') + 1, "");
	CHECK(!try_restore(r.path, &size));
	CHECK(size == all_data() - (uint64_t)pages_of(CPUS - 1) * PAGE);
	check_data(r.path, r.head, size);
	end(&r);
}

/* A file with the name of the next head is removed only if it is one, or begins as one. */
static void test_new(const char *folder)
{
	struct recorded r;
	char path[640];
	int fd;

	begin(&r, folder);
	die(&r);
	make_file(r.dir, "trace.dat.new", "my thesis");
	CHECK(!try_restore(r.path, NULL));
	check_file(&r, "trace.dat.new", "my thesis");
	end(&r);

	begin(&r, folder);
	die(&r);
	snprintf(path, sizeof(path), "cp %s %s.new", r.path, r.path);
	CHECK(!system(path));
	snprintf(path, sizeof(path), "%s.new", r.path);
	fd = open(path, O_RDWR);
	CHECK(fd >= 0 && !ftruncate(fd, head_size(r.head) / 2) && !close(fd));
	restore(&r);
	end(&r);
}

/* After each step. */
static void test_killed(const char *folder)
{
	char path[320];
	struct recorded r;
	bool whole = false;
	FILE *file;

	for (unsigned int when = 1; !whole; when++) {
		begin(&r, folder);
		/* Half a page is no page. */
		snprintf(path, sizeof(path), "%s.cpu%d", r.path, CPUS - 1);
		file = fopen(path, "a");
		CHECK(file && fputs("half", file) >= 0 && !fclose(file));
		steps = when;
		whole = elsewhere(&r, finish);
		steps = 0;
		check_data(r.path, r.head, data_in_file(&r));
		die(&r);
		restore(&r);
		end(&r);
	}
}

/* Of the first CPU half a page is where its data begins. */
static void test_damaged_table(const char *folder)
{
	uint64_t region[2] = { 0, 100 };
	char path[320];
	struct recorded r;
	size_t table;
	int fd;

	begin(&r, folder);
	die(&r);
	table = head_size(r.head);
	region[0] = (table + TABLE_SIZE + PAGE - 1) / PAGE * PAGE;
	fd = open(r.path, O_WRONLY);
	CHECK(fd >= 0 && pwrite(fd, region, sizeof(region), table) == sizeof(region));
	snprintf(path, sizeof(path), "%s.cpu0", r.path);
	CHECK(!close(fd) && try_restore(r.path, NULL) == -EINVAL && !strcmp(restore_file, path));
	end(&r);
}

static void test_refusals_in(const char *folder)
{
	struct recorded r, other;
	char path[320], name[600];

	begin(&r, folder);
	other = r;
	CHECK(create(&other, r.path) == -EBUSY && try_restore(r.path, NULL) == -EBUSY);
	die(&r);
	/* What is not in the file would be lost. */
	CHECK(create(&other, r.path) == -EEXIST && trace_dat_is_unfinished(r.path));
	CHECK(!strncmp(in_the_way, r.path, strlen(r.path)) && !access(in_the_way, F_OK));
	snprintf(path, sizeof(path), "%s/other", r.dir);
	make_file(r.dir, "other.cpu7", "");
	CHECK(create(&other, path) == -EEXIST && strstr(in_the_way, "/other.cpu7"));
	CHECK(access(path, F_OK) && try_restore(path, NULL) == -ENOENT);
	/* Another file under the name of a part is not read. */
	snprintf(path, sizeof(path), "%s.cpu0", r.path);
	snprintf(name, sizeof(name), "%s.away", path);
	CHECK(!__real_rename(path, name) && !symlink("../set_event", path));
	CHECK(try_restore(r.path, NULL) == -EINVAL && !strcmp(restore_file, path));
	snprintf(in_the_way, sizeof(in_the_way), "%s/set_event", r.dir);
	CHECK(!__real_unlink(path) && !link(in_the_way, path));
	CHECK(try_restore(r.path, NULL) == -EINVAL && !strcmp(restore_file, path));
	CHECK(!__real_rename(name, path));
	restore(&r);
	/* Nor is a file lost that has the name of the next head. */
	make_file(r.dir, "trace.dat.new", "mine");
	CHECK(create(&other, r.path) == -EEXIST && strstr(in_the_way, "/trace.dat.new"));
	check_file(&r, "trace.dat.new", "mine");
	CHECK(!unlink(in_the_way));
	/* More CPUs had been there. */
	make_file(r.dir, "trace.dat.cpu99", "");
	CHECK(create(&other, r.path) == -EEXIST && strstr(in_the_way, "/trace.dat.cpu99"));
	CHECK(!unlink(in_the_way));
	/* Too late to find out when the first data come. */
	snprintf(name, sizeof(name), "%s/%0252d", r.dir, 0);
	CHECK(create(&other, name) == -ENAMETOOLONG && access(name, F_OK));
	check_whole(&r);
	make_file(r.dir, "trace.dat", "1234567890123456789012345678901234567890");
	CHECK(try_restore(r.path, NULL) == -EINVAL);
	/* Notes are not overwritten, an empty file is. */
	CHECK(create(&other, r.path) == -EMEDIUMTYPE && taken(&r).files == 1);
	check_file(&r, "trace.dat", "1234567890");
	make_file(r.dir, "trace.dat", "");
	CHECK(!create(&r, r.path) && !trace_dat_finish(r.dat, NULL) && taken(&r).files == 1);
	end(&r);
}

/* By a link: one that is removed by mistake shall not be the machine's. */
static void test_refusals(const char *folder)
{
	struct recorded none = { .head = NULL };
	char null[320];

	snprintf(null, sizeof(null), "%s/null.%d", folder, getpid());
	CHECK(!symlink("/dev/null", null));
	CHECK(create(&none, null) == -EINVAL);
	CHECK(create(&none, "/") == -EISDIR);
	CHECK(create(&none, "/no/such/file") == -ENOENT);
	CHECK(try_restore(null, NULL) == -EINVAL && !unlink(null));
	/* Reading a pipe would wait for ever. */
	CHECK(!mkfifo(null, 0600));
	alarm(60);
	CHECK(create(&none, null) == -EINVAL && try_restore(null, NULL) == -EINVAL);
	alarm(0);
	CHECK(!unlink(null));
	CHECK(trace_head_new(&none.head, "/no", "/such", 1, PAGE) == -ENOENT);
}

static bool no_streams;
__typeof__(fdopen) __real_fdopen;

FILE *__wrap_fdopen(int fd, const char *mode)
{
	return no_streams ? NULL : __real_fdopen(fd, mode);
}

/* The second of the lowest descriptors that are free */
static int second_free(void)
{
	int first = dup(0), second = dup(0);

	CHECK(first >= 0 && second >= 0 && !close(first) && !close(second));
	return second;
}

/* A look at a file closes its copy of the descriptor even without memory for a stream. */
static void test_no_stream(const char *folder)
{
	struct recorded r;
	int before;

	begin(&r, folder);
	before = second_free();
	no_streams = true;
	CHECK(!trace_dat_is_unfinished(r.path));
	no_streams = false;
	CHECK(second_free() == before);
	end(&r);
}

static const char *kallsyms;
static unsigned int kallsyms_opened;

__typeof__(fopen) __real_fopen64;

FILE *__wrap_fopen64(const char *path, const char *mode)
{
	if (kallsyms && !strcmp(path, "/proc/kallsyms") && ++kallsyms_opened)
		return fmemopen((char *)kallsyms, strlen(kallsyms), "r");
	return __real_fopen64(path, mode);
}

static bool head_has(const struct trace_head *head, const char *text)
{
	struct bytes b = { .error = 0 };
	bool has;

	CHECK(!trace_head_write(head, &b));
	has = memmem(b.data, b.size, text, strlen(text));
	bytes_free(&b);
	return has;
}

/* See an event of this id, which tells this address if it is one of trace_marker. */
static void see(struct trace_seen *seen, uint16_t id, unsigned long mark)
{
	struct {
		uint16_t id;
		unsigned char rest[6];
		unsigned long mark;
	} event = { .id = id, .mark = mark };

	trace_seen_add(seen, &event, sizeof(event));
}

static bool completed_has(const struct recorded *r, const struct trace_seen *seen,
			  const char *text)
{
	CHECK(!trace_head_complete(r->head, seen));
	return head_has(r->head, text);
}

static const char functions[] =
	"ffffffff81000300 T behind\nffffffff81000000 T before\n"
	"ffffffff81000100 t tracing_mark_write\nffffffff81000200 d data\n"
	"ffffffff81000400 T later\n0000000000000000 T hidden\n";

/* Marks tell an address in a function: the file has its name, and where it ends. */
static void test_names_of_marks(const char *folder)
{
	static const char wanted[] = "ffffffff81000100 t tracing_mark_write\n"
		"ffffffff81000300 T behind\n";
	const uint32_t size = strlen(wanted);
	struct trace_seen seen = { .mark = 0 };
	char sized[200];
	struct recorded r;

	memcpy(sized, &size, sizeof(size));
	begin(&r, folder);
	kallsyms = functions;
	kallsyms_opened = 0;
	see(&seen, 11, 0);
	CHECK(!completed_has(&r, &seen, "behind") && !kallsyms_opened);
	for (int i = 0; i < 2; i++) {
		struct bytes b = { .error = 0 };
		const char *at;

		see(&seen, TRACE_SEEN_MARK, 0xffffffff81000123);
		CHECK(completed_has(&r, &seen, wanted) && kallsyms_opened == 1);
		CHECK(!trace_head_write(r.head, &b));
		at = memmem(b.data, b.size, wanted, size);
		CHECK(!memcmp(at - sizeof(size), sized, sizeof(size)));
		bytes_free(&b);
	}
	see(&seen, TRACE_SEEN_MARK, 0xffffffff81000405);
	CHECK(completed_has(&r, &seen, "before") && head_has(r.head, "later"));
	CHECK(!head_has(r.head, "data") && !head_has(r.head, "hidden"));
	kallsyms = NULL;
	end(&r);
}

/* Where an event has come that prints a name the file has all, and else kallsyms is not read. */
static void test_names_of_events(const char *folder)
{
	static const char * const prints[] = {
		"name: one\nID: 11\nprint fmt: \"at %pS\", REC->at\n",
		"name: one\nID: 11\n\tfield:unsigned long __probe_ip;\n",
	};

	kallsyms = functions;
	for (unsigned int i = 0; i < 2; i++) {
		struct trace_seen seen = { .mark = 0 };
		struct recorded r;

		kallsyms_opened = 0;
		begin(&r, folder);
		make_file(r.dir, "events/a/one/format", prints[i]);
		CHECK(!trace_head_renew(r.head, CPUS, PAGE));
		see(&seen, 12, 0);
		CHECK(!completed_has(&r, &seen, "behind") && !kallsyms_opened);
		see(&seen, 11, 0);
		CHECK(completed_has(&r, &seen, "behind") && head_has(r.head, "before"));
		CHECK(completed_has(&r, &seen, "before") && kallsyms_opened == 1);
		end(&r);
	}
	kallsyms = NULL;
}

/* An event may have been enabled before. What is of no known event adds nothing. */
static void test_formats_of_events(const char *folder)
{
	struct trace_seen seen = { .mark = 0 };
	struct recorded r;

	begin(&r, folder);
	make_file(r.dir, "events/a/enable", "0\n");
	make_file(r.dir, "events/a/three/id", "13\n");
	make_file(r.dir, "events/a/four/id", "14\n");
	make_file(r.dir, "events/a/four/format", "name: four\nID: 14\n");
	see(&seen, 12, 0);
	see(&seen, 777, 0);
	CHECK(!completed_has(&r, &seen, "name: three"));
	see(&seen, 13, 0);
	CHECK(completed_has(&r, &seen, "name: three") && !head_has(r.head, "name: four"));
	/* Renewed, the head has forgotten it. */
	CHECK(!trace_head_renew(r.head, CPUS, PAGE) && !head_has(r.head, "name: three"));
	CHECK(completed_has(&r, &seen, "name: three"));
	end(&r);
}

/* A recorder that is killed reads no names: where they are sure to be needed they are there. */
static void test_names_expected(const char *folder)
{
	struct recorded r;

	kallsyms = functions;
	begin(&r, folder);
	CHECK(!trace_head_expect(r.head) && !head_has(r.head, "before"));
	make_file(r.dir, "options/stacktrace", "1\n");
	CHECK(!trace_head_expect(r.head) && head_has(r.head, "before"));
	CHECK(!trace_head_renew(r.head, CPUS, PAGE) && !head_has(r.head, "before"));
	make_file(r.dir, "options/stacktrace", "0\n");
	CHECK(!trace_head_expect(r.head) && !head_has(r.head, "before"));
	make_file(r.dir, "current_tracer", "function\n");
	CHECK(!trace_head_expect(r.head) && head_has(r.head, "before"));
	kallsyms = NULL;
	end(&r);
}

/*
 * A renewed head has read neither the formats of tracers nor, if marks alone need it, a name once
 * more, but everything else.
 */
static void test_renew(const char *folder)
{
	struct trace_seen seen = { .mark = 0 }, all = { .mark = 0 };
	struct recorded r;

	kallsyms = functions;
	kallsyms_opened = 0;
	begin(&r, folder);
	see(&seen, TRACE_SEEN_MARK, 0xffffffff81000123);
	CHECK(completed_has(&r, &seen, "tracing_mark_write"));
	make_file(r.dir, "events/ftrace/print/format", "name: another\n");
	make_file(r.dir, "events/b/two/format", "name: new_two\nID: 12\nprint fmt: \"%ps\", 1\n");
	make_file(r.dir, "events/header_page", "new page\n");
	make_file(r.dir, "trace_clock", "local [global]\n");
	make_file(r.dir, "saved_cmdlines", "2 new_comm\n");
	make_file(r.dir, "set_event", "b:two\na:three\n");
	CHECK(!trace_head_renew(r.head, CPUS + 1, PAGE));
	CHECK(completed_has(&r, &seen, "tracing_mark_write") && kallsyms_opened == 1);
	CHECK(head_has(r.head, "name: print") && !head_has(r.head, "another"));
	CHECK(head_has(r.head, "new_two") && head_has(r.head, "new page"));
	CHECK(head_has(r.head, "[global]") && head_has(r.head, "2 new_comm"));
	CHECK(head_has(r.head, "three") && !head_has(r.head, "name: one"));
	CHECK(!head_has(r.head, "later"));
	CHECK(trace_head_nr_cpus(r.head) == CPUS + 1);
	see(&all, 12, 0);
	for (unsigned int n = 2; n <= 3; n++) {
		CHECK(!trace_head_renew(r.head, CPUS, PAGE));
		CHECK(completed_has(&r, &all, "later") && kallsyms_opened == n);
	}
	CHECK(!trace_head_renew(r.head, CPUS, PAGE));
	CHECK(completed_has(&r, &seen, "tracing_mark_write") && kallsyms_opened == 4);
	CHECK(!head_has(r.head, "later"));
	kallsyms = NULL;
	end(&r);
}

/* What was sent, and how many bytes more may be. */
struct sent {
	struct bytes bytes;
	uint64_t room;
};

static int receive(void *arg, const void *data, size_t size)
{
	struct sent *sent = arg;

	if (size > sent->room)
		return -EPIPE;
	sent->room -= size;
	bytes_add(&sent->bytes, data, size);
	return sent->bytes.error;
}

/* Byte by byte what is sent is the file that has a name. */
static void check_sent(const struct recorded *r, struct trace_dat *unnamed)
{
	struct bytes file = { .error = 0 };
	struct sent sent = { .room = UINT64_MAX };

	CHECK(!trace_dat_send(unnamed, receive, &sent));
	CHECK(!bytes_add_file(&file, r->path) && sent.bytes.size == file.size);
	CHECK(!memcmp(sent.bytes.data, file.data, file.size));
	bytes_free(&sent.bytes);
	sent = (struct sent){ .room = file.size - 1 };
	CHECK(trace_dat_send(unnamed, receive, &sent) == -EPIPE);
	bytes_free(&sent.bytes);
	bytes_free(&file);
}

static void test_send(const char *folder)
{
	struct trace_dat *unnamed;
	struct recorded r;
	char command[300];

	begin(&r, folder);
	CHECK(!trace_dat_finish(r.dat, NULL));
	snprintf(command, sizeof(command), "%s/tmp", r.dir);
	CHECK(!setenv("TMPDIR", command, 1));
	CHECK(trace_dat_create_unnamed(&unnamed, r.head, CPUS, PAGE) == -ENOENT);
	CHECK(!mkdir(command, 0700));
	CHECK(!trace_dat_create_unnamed(&unnamed, r.head, CPUS, PAGE));
	for (unsigned int cpu = CPUS; cpu--; ) {
		for (unsigned int n = 0; n < pages_of(cpu); n++)
			write_page(unnamed, cpu, n);
	}
	CHECK(!rmdir(command) && trace_dat_size(unnamed) == all_data());
	check_sent(&r, unnamed);
	trace_dat_close(unnamed);
	end(&r);
}

static int write_other(void *arg, int fd)
{
	const int *error = arg;

	CHECK(write(fd, "\x17\x08\x44tracing7", 12) == 12);
	return *error;
}

static void check_no_new(const struct recorded *r)
{
	char command[320];

	snprintf(command, sizeof(command), "test -z \"$(find %s -name '*.new*')\"", r->dir);
	CHECK(!system(command));
}

/* Another file in its place, or it and its parts as they are. */
static void test_replace(const char *folder)
{
	int error = -ENOSPC;
	struct recorded r;
	struct stat st;
	uint64_t size;

	begin(&r, folder);
	CHECK(!chmod(r.path, 0640));
	CHECK(trace_dat_replace(r.dat, write_other, &error) == -ENOSPC);
	CHECK(taken(&r).files == 1 + CPUS);
	check_no_new(&r);
	CHECK(!trace_dat_finish(r.dat, NULL));
	check_whole(&r);
	end(&r);

	begin(&r, folder);
	error = 0;
	CHECK(!chmod(r.path, 0640) && !trace_dat_replace(r.dat, write_other, &error));
	CHECK(taken(&r).files == 1 && taken(&r).size == 12);
	CHECK(!stat(r.path, &st) && (st.st_mode & 0777) == 0640);
	check_no_new(&r);
	/* A machine that crashes then may leave a part. */
	CHECK(!try_restore(r.path, &size) && size == 12);
	make_file(r.dir, "trace.dat.cpu0", "");
	CHECK(try_restore(r.path, NULL) == -EEXIST && strstr(restore_file, "trace.dat.cpu0"));
	end(&r);
}

/* A file that must not exist yet, written as snap does. */
static int name_new(const char *path, const char *text)
{
	struct new_file f;
	int ret;

	CHECK(!new_file_begin(&f, path) && write(f.fd, text, strlen(text)) > 0);
	ret = new_file_name(&f, true);
	new_file_end(&f);
	return ret;
}

static void test_name_new(const char *folder)
{
	char path[320];
	struct recorded r;

	begin(&r, folder);
	snprintf(path, sizeof(path), "%s/snap.dat", r.dir);
	CHECK(!name_new(path, "first") && name_new(path, "second") == -EEXIST);
	check_file(&r, "snap.dat", "first");
	check_no_new(&r);
	end(&r);
}

static void test_all(const char *folder)
{
	test_send(folder);
	test_replace(folder);
	test_name_new(folder);
	names_all = true;
	test_send(folder);
	test_replace(folder);
	test_name_new(folder);
	names_all = false;
	test_names_of_marks(folder);
	test_names_of_events(folder);
	test_formats_of_events(folder);
	test_names_expected(folder);
	test_renew(folder);
	test_in(folder);
	test_reserve(folder);
	test_reserve_less(folder);
	test_little_by_little(folder);
	test_modes(folder);
	test_elsewhere(folder, write_limited);
	test_elsewhere(folder, write_again_without_room);
	test_again(folder);
	test_restore(folder);
	test_stopped(folder);
	test_failed_sync(folder);
	test_part_is_back(folder);
	test_beside_whole(folder);
	test_missing_part(folder);
	test_new(folder);
	test_killed(folder);
	test_damaged_table(folder);
	test_refusals_in(folder);
	test_refusals(folder);
	test_no_stream(folder);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		/* The files that errors are about are told by their full names. */
		char *folder = realpath(argv[i], NULL);

		CHECK(folder);
		test_all(folder);
		free(folder);
	}
	printf("ok - trace_dat, in %d folders\n", argc - 1);
	return argc < 2;
}

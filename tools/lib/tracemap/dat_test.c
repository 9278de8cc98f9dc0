// SPDX-License-Identifier: LGPL-2.1
/*
 * Test tracemap-dat.h with sub-buffers that come through a pipe as those of trace_pipe_raw
 * do: the file has to have the events that came, with their times, and the losses.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "dat.h"
#include "subbuf_make.h"
#include "tracefs_make.h"
#include "trace_dat_zstd.h"

static const struct subbuf_format format = {
	.subbuf_size = 4096, .commit_offset = 8, .commit_size = 8, .data_offset = 16,
	.big_endian = subbuf__host_big,
};

enum { CAPACITY = 4096 - 16 };

static char top[200], dir[240], path[220];
static int to;			/* the end of the pipe to write to */

/* ---- What came, and what is in the file ---- */

#define EVENTS_MAX	20000

static struct event {
	uint64_t ts;
	uint32_t value, size;
} sent[EVENTS_MAX];
static unsigned int nr_sent;
static uint64_t clock_now;

static void add_event(struct subbuf_make *m, uint64_t later, uint32_t size)
{
	struct event *event = &sent[nr_sent];
	unsigned char data[4096];

	CHECK(nr_sent < EVENTS_MAX);
	clock_now += later;
	*event = (struct event){ .ts = clock_now, .value = nr_sent++, .size = size };
	memset(data, 0x55, size);
	memcpy(data, &event->value, sizeof(event->value));
	CHECK(make_event(m, clock_now, data, size));
}

static void begin(struct subbuf_make *m)
{
	make_begin(m, &format, clock_now);
}

static void send(struct subbuf_make *m, int64_t missed)
{
	make_finish(m, missed);
	CHECK(write(to, m->bytes, format.subbuf_size) == format.subbuf_size);
}

static void check_event(const struct event *event, const struct subbuf_record *rec)
{
	CHECK(rec->ts == event->ts && rec->size == event->size);
	CHECK(!memcmp(rec->data, &event->value, sizeof(event->value)));
}

/* All events that came, in order; returns the pages, and what each says of losses. */
static unsigned int check_from(int fd, int64_t *missed, unsigned int room)
{
	unsigned char page[4096] __attribute__((aligned(8)));
	unsigned int pages = 0, n = 0;
	struct subbuf_record rec;
	struct subbuf_iter it;

	while (read(fd, page, sizeof(page)) == sizeof(page)) {
		CHECK(pages < room);
		missed[pages++] = subbuf_missed(&format, page);
		it = subbuf_begin(&format, page);
		while (subbuf_next(&it, &rec)) {
			CHECK(n < nr_sent);
			check_event(&sent[n++], &rec);
		}
		CHECK(!it.corrupt);
	}
	CHECK(n == nr_sent);
	return pages;
}

/* The same of a file that is not finished. */
static unsigned int check_file(int64_t *missed, unsigned int room)
{
	unsigned int pages;
	char part[240];
	int fd;

	snprintf(part, sizeof(part), "%s.cpu0", path);
	fd = open(part, O_RDONLY);
	CHECK(fd >= 0);
	pages = check_from(fd, missed, room);
	close(fd);
	return pages;
}

/* And of one that is whole: the data of the only CPU are the last of it. */
static unsigned int whole_file(const char *name, int64_t *missed)
{
	struct trace_head_found found;
	FILE *file = fopen(name, "re");
	struct trace_region region;
	unsigned int pages;
	char part[240];

	CHECK(file && trace_head_find(file, &found));
	CHECK(found.nr_cpus == 1 && found.page_size == 4096);
	CHECK(pread(fileno(file), &region, sizeof(region), found.table) == sizeof(region));
	CHECK(lseek(fileno(file), region.offset, SEEK_SET) == (off_t)region.offset);
	pages = check_from(fileno(file), missed, 100);
	CHECK(region.size == pages * 4096ULL);
	fclose(file);
	snprintf(part, sizeof(part), "%s.cpu0", name);
	CHECK(access(part, F_OK) && errno == ENOENT);
	return pages;
}

static unsigned int check_whole(const char *name)
{
	int64_t missed[100];

	return whole_file(name, missed);
}

/* ---- Recording ---- */

static struct tracemap *t;
static struct tracemap_dat *dat;

static void open_buffers(void)
{
	struct tracemap_options options = tracemap_default_options();

	nr_sent = 0;
	clock_now = 1000;
	options.way = TRACEMAP_READ;
	CHECK(!tracemap_open(&t, dir, &options));
}

static void open_recording(void)
{
	open_buffers();
	CHECK(!tracemap_dat_open(&dat, path, t, dir, 0));
}

static void close_all(void)
{
	tracemap_dat_close(dat);
	dat = NULL;
	tracemap_close(t);
	CHECK(!unlink(path));
}

static void close_recording(void)
{
	CHECK(!tracemap_dat_finish(dat));
	close_all();
}

/* So many sub-buffers, and then what is no sub-buffer. */
static void pull(int wanted, int end)
{
	int n = 0, ret;

	while ((ret = dat_pull(dat, 0)) > 0)
		n++;
	CHECK(n == wanted && ret == end);
}

/* What read(2) hands out bit by bit is few pages, whatever the sizes and the pauses. */
static void test_small_parts(void)
{
	static int64_t missed[1000];
	struct subbuf_make m;
	unsigned int bytes = 0, pages;

	open_recording();
	srand(1);
	for (int i = 0; i < 1500; i++) {
		begin(&m);
		for (int n = rand() % 8 + 1; n--; ) {
			uint32_t size = rand() % 28 * 4 + 4;

			add_event(&m, rand() % 1000, size);
			bytes += size + 4;
		}
		send(&m, 0);
		pull(1, 0);
		/* Up to 34 seconds, of which the first word of an event has 134 ms. */
		clock_now += 1ULL << rand() % 36;
	}
	pages = check_file(missed, 1000);
	CHECK(pages < bytes / (CAPACITY - 1024) && pages > bytes / CAPACITY);
	for (unsigned int i = 0; i < pages; i++)
		CHECK(!missed[i]);
	close_recording();
}

/* More than half a sub-buffer has a page of its own. */
static void test_large_parts(void)
{
	int64_t missed[10];
	struct subbuf_make m;

	open_recording();
	for (int i = 0; i < 6; i++) {
		begin(&m);
		add_event(&m, 5, i % 2 ? 3000 : 40);
		send(&m, 0);
	}
	pull(6, 0);
	CHECK(check_file(missed, 10) == 6);
	close_recording();
}

/* Also where nothing came behind it yet: the next page tells of it. */
static void test_losses(void)
{
	int64_t missed[10];
	struct tracemap_dat_figures sums;
	struct subbuf_make m;

	open_recording();
	begin(&m);
	send(&m, 5);
	begin(&m);
	add_event(&m, 5, 8);
	send(&m, 2);
	begin(&m);
	add_event(&m, 5, 8);
	send(&m, 3);
	begin(&m);
	send(&m, -1);
	begin(&m);
	add_event(&m, 5, 8);
	send(&m, 1);
	pull(5, 0);
	CHECK(check_file(missed, 10) == 3);
	CHECK(missed[0] == 7 && missed[1] == 3 && missed[2] == SUBBUF_MISSED_UNKNOWN);
	tracemap_dat_figures(dat, &sums);
	CHECK(sums.lost == 11 && sums.at_least && sums.bytes == 3 * 4096);
	close_recording();
}

/* The kernel's count of what was overwritten. */
static void kernel_tells_overrun(unsigned int n)
{
	char text[100];

	snprintf(text, sizeof(text), "entries: 0\noverrun: %u\nread events: 0\n", n);
	make_file(dir, "per_cpu/cpu0/stats", text);
}

/* Most of a sub-buffer, and so full that it has no room for a number if @full. */
static void send_much(bool full, int64_t missed)
{
	struct subbuf_make m;

	begin(&m);
	for (int n = 0; n < 40; n++)
		add_event(&m, 5, 96);
	if (full)
		add_event(&m, 5, 72);
	send(&m, missed);
	pull(1, 0);
}

/* How many were lost before a page, the last of which is @last, as the file has it. */
static int64_t number_in_file(unsigned int page, unsigned int last)
{
	int64_t missed[20];

	CHECK(check_file(missed, 20) == last + 1);
	return missed[page];
}

static void check_lost(uint64_t lost, bool at_least)
{
	struct tracemap_dat_figures sums;

	tracemap_dat_figures(dat, &sums);
	CHECK(sums.lost == lost && sums.at_least == at_least);
}

/* The recorder counts at the end; the counter is @overrun, and all of these are lost. */
static void count_at_end(unsigned int overrun)
{
	kernel_tells_overrun(overrun);
	dat_count_losses(dat);
	check_lost(overrun, false);
}

static void close_counted(void)
{
	kernel_tells_overrun(0);
	close_recording();
}

/* What a page does not tell is put into it when the counter has told, and not before. */
static void test_late_number(void)
{
	open_recording();
	kernel_tells_overrun(9);
	send_much(true, -1);
	/* The counter may have what was overwritten since: the next one tells. */
	kernel_tells_overrun(13);
	send_much(false, 4);
	kernel_tells_overrun(20);
	send_much(false, 7);
	send_much(false, 0);
	CHECK(number_in_file(0, 4) == SUBBUF_MISSED_UNKNOWN);
	check_lost(11, true);
	send_much(false, 0);
	kernel_tells_overrun(50);
	send_much(false, 0);
	CHECK(number_in_file(0, 6) == 9);
	check_lost(20, false);
	close_counted();
}

/* All was taken: it is the end that tells. */
static void test_number_at_the_end(void)
{
	open_recording();
	send_much(true, -1);
	count_at_end(9);
	CHECK(number_in_file(0, 1) == 9);
	close_counted();
}

/* Of two losses the counter tells the sum, and not which is which. */
static void test_two_numbers(void)
{
	open_recording();
	send_much(true, -1);
	send_much(true, -1);
	count_at_end(9);
	CHECK(number_in_file(0, 3) == SUBBUF_MISSED_UNKNOWN);
	CHECK(number_in_file(2, 3) == SUBBUF_MISSED_UNKNOWN);
	close_counted();
}

/* Nor that of a loss that the file has from one behind the last event, which it has not. */
static void test_number_before_the_end(void)
{
	struct subbuf_make m;

	open_recording();
	send_much(true, -1);
	begin(&m);
	send(&m, -1);
	pull(1, 0);
	count_at_end(9);
	CHECK(number_in_file(0, 1) == SUBBUF_MISSED_UNKNOWN);
	close_counted();
}

/* Losses that come together, and of which each was told, do not count as one that was not. */
static void test_number_behind_others(void)
{
	struct subbuf_make m;

	open_recording();
	begin(&m);
	send(&m, 5);
	pull(1, 0);
	send_much(false, 2);
	send_much(true, -1);
	count_at_end(16);
	CHECK(number_in_file(1, 2) == 9);
	close_counted();
}

/* A sub-buffer that cannot be: what is before and behind it is in the file. */
static void test_damage(void)
{
	struct tracemap_dat_figures sums;
	struct subbuf_make m;
	int64_t missed[10];

	open_recording();
	begin(&m);
	add_event(&m, 5, 8);
	send(&m, 0);
	begin(&m);
	make_put(&m, format.commit_offset, 5000, format.commit_size);
	CHECK(write(to, m.bytes, format.subbuf_size) == format.subbuf_size);
	begin(&m);
	add_event(&m, 5, 8);
	send(&m, 0);
	pull(1, -EBADMSG);
	pull(1, 0);
	check_file(missed, 10);
	tracemap_dat_figures(dat, &sums);
	CHECK(sums.at_least && !sums.lost);
	close_recording();
}

/* The sub-buffer being written; its time stamp is the first word. */
static unsigned char *subbuf_now(void)
{
	return (unsigned char *)dat->tracks[0]->batch->it.data - format.data_offset;
}

static bool disk_is_full;
static bool is_overwritten;	/* what is written to the file, meanwhile */

__typeof__(pwritev) __real_pwritev64;

ssize_t __wrap_pwritev64(int fd, const struct iovec *part, int nr, off_t at)
{
	if (is_overwritten)
		subbuf_now()[0] ^= 1;
	if (!disk_is_full)
		return __real_pwritev64(fd, part, nr, at);
	errno = ENOSPC;
	return -1;
}

/* A buffer that is read looks like one that is mapped, whose reader is the last sub-buffer. */
static bool is_mapped, reader_moved;

__typeof__(tracemap_cpu_way) __real_tracemap_cpu_way;

enum tracemap_way __wrap_tracemap_cpu_way(const struct tracemap_cpu *cpu)
{
	return is_mapped ? TRACEMAP_MAP : __real_tracemap_cpu_way(cpu);
}

static bool as_big_endian;
__typeof__(tracemap_cpu_raw) __real_tracemap_cpu_raw;

int __wrap_tracemap_cpu_raw(const struct tracemap_cpu *cpu, struct tracemap_raw *raw)
{
	int ret = __real_tracemap_cpu_raw(cpu, raw);

	if (as_big_endian)
		raw->format.big_endian = true;
	if (is_mapped && dat && dat->nr_tracks) {
		raw->subbufs = subbuf_now();
		raw->subbufs_size = format.subbuf_size;
	}
	raw->reader = reader_moved;
	return ret;
}

static void send_events(unsigned int n)
{
	struct subbuf_make m;

	begin(&m);
	while (n--)
		add_event(&m, 5, 8);
	send(&m, 0);
}

static void send_lossy(unsigned int n, uint32_t size, int64_t missed)
{
	struct subbuf_make m;

	begin(&m);
	while (n--)
		add_event(&m, 5, size);
	send(&m, missed);
}

/* The kernel's count of what was read. */
static void kernel_tells_read(unsigned int n)
{
	char text[100];

	snprintf(text, sizeof(text), "entries: 0\noverrun: 0\nread events: %u\n", n);
	make_file(dir, "per_cpu/cpu0/stats", text);
}

static void check_figures(uint64_t events, uint64_t lost, uint64_t unwritten)
{
	struct tracemap_dat_figures sums;

	tracemap_dat_figures(dat, &sums);
	CHECK(sums.error == -ENOSPC && tracemap_dat_take(dat) == -ENOSPC);
	CHECK(sums.events == events && sums.lost == lost && sums.unwritten == unwritten);
	CHECK(!sums.at_least);
}

/* What was read and cannot be written, then and later, is told: in the file is the rest. */
static void test_full_disk(void)
{
	int64_t missed[10];

	open_recording();
	send_events(3);
	pull(1, 0);
	disk_is_full = true;
	send_events(4);
	pull(0, -ENOSPC);
	send_events(200);
	dat_give_up(dat);
	kernel_tells_read(3 + 4 + 200);
	check_figures(3, 204, 204);
	/* Not even for one event there is room. */
	dat_write_tails(dat);
	disk_is_full = false;
	check_figures(3, 204, 204);
	nr_sent = 3;
	CHECK(check_file(missed, 10) == 1);
	kernel_tells_read(0);
	close_recording();
}

static uint64_t events(void)
{
	struct tracemap_dat_figures sums;

	tracemap_dat_figures(dat, &sums);
	return sums.events;
}

/* The kernel counts what another consumer takes, which is not in the file, be it one event. */
static void test_other_consumer(void)
{
	open_recording();
	send_events(5);
	pull(1, 0);
	kernel_tells_read(5);
	CHECK(events() == 5 && !losses_others(&dat->losses) && !dat_emptied(dat));
	send_events(4);
	pull(1, 0);
	kernel_tells_read(10);
	CHECK(events() == 9 && losses_others(&dat->losses) == 1);
	send_events(6);
	pull(1, 0);
	kernel_tells_read(605);
	CHECK(events() == 15 && losses_others(&dat->losses) == 590 && !dat_emptied(dat));
	kernel_tells_read(0);
	close_recording();
}

/* What was taken before the buffer was emptied stays counted, though the kernel begins anew. */
static void test_emptied(void)
{
	open_recording();
	send_events(50);
	pull(1, 0);
	kernel_tells_read(50);
	CHECK(events() == 50 && !dat_emptied(dat));
	send_events(30);
	pull(1, 0);
	send_events(20);
	pull(1, 0);
	kernel_tells_read(20);
	CHECK(events() == 100 && dat_emptied(dat) == 1 && !losses_others(&dat->losses));
	send_events(5);
	pull(1, 0);
	kernel_tells_read(2);
	CHECK(events() == 105 && dat_emptied(dat) == 2 && !losses_others(&dat->losses));
	kernel_tells_read(0);
	close_recording();
}

static void check_two_pages(void)
{
	int64_t missed[10];

	CHECK(check_file(missed, 10) == 2 && !missed[0] && missed[1] == SUBBUF_MISSED_UNKNOWN);
}

/*
 * Beside another consumer the writer may overwrite what is mapped: the file does not get it,
 * the next page says that something is missing, and the counters do not tell how much.
 */
static void test_overwritten(bool *how)
{
	struct tracemap_dat_figures sums;

	is_mapped = true;
	open_recording();
	send_events(3);
	pull(1, 0);
	*how = true;
	send_lossy(4, 8, -1);
	pull(1, 0);
	*how = false;
	nr_sent = 3;
	CHECK(events() == 3);
	send_events(5);
	pull(1, 0);
	CHECK(events() == 8);
	check_two_pages();
	kernel_tells_overrun(10);
	dat_count_losses(dat);
	check_two_pages();
	tracemap_dat_figures(dat, &sums);
	CHECK(sums.at_least);
	*how = true;
	send_events(4);
	pull(1, 0);
	*how = false;
	nr_sent = 8;
	CHECK(events() == 8);
	check_two_pages();
	kernel_tells_overrun(0);
	close_recording();
	is_mapped = false;
}

/* So many, and the disk is full. */
static void fill_disk(unsigned int n)
{
	open_recording();
	send_events(n);
	pull(1, 0);
	disk_is_full = true;
}

/*
 * Of those behind the first @n the file has but the last, in the room that was kept free, and
 * how many it does not have. @lost and @unwritten are the sums.
 */
static void check_tail(unsigned int n, int64_t wanted, uint64_t lost, uint64_t unwritten)
{
	int64_t missed[10];

	disk_is_full = false;
	kernel_tells_read(nr_sent);
	dat_write_tails(dat);
	check_figures(n + 1, lost, unwritten);
	sent[n] = sent[nr_sent - 1];
	nr_sent = n + 1;
	CHECK(check_file(missed, 10) == 2 && !missed[0] && missed[1] == wanted);
	CHECK(!tracemap_dat_finish(dat) && check_whole(path) == 2);
	kernel_tells_read(0);
	close_all();
}

static void test_tail(void)
{
	fill_disk(3);
	send_events(4);
	pull(0, -ENOSPC);
	send_events(200);
	dat_give_up(dat);
	check_tail(3, 203, 203, 203);
}

/* It takes the place of itself: nothing is lost. */
static void test_tail_of_one(void)
{
	fill_disk(3);
	send_events(1);
	pull(0, -ENOSPC);
	check_tail(3, 0, 0, 0);
}

/* Losses before, between and behind what is not written are all told with it. */
static void test_tail_behind_losses(void)
{
	fill_disk(3);
	send_lossy(0, 0, 5);
	pull(1, 0);
	send_lossy(4, 8, 1);
	pull(0, -ENOSPC);
	send_lossy(0, 0, 2);
	send_lossy(6, 8, 0);
	send_lossy(1, 3000, 7);
	dat_give_up(dat);
	check_tail(3, 5 + 1 + 2 + 7 + 10, 5 + 1 + 2 + 7 + 10, 10);
}

/* When all was read, the counter tells the sum of what sub-buffers have not told. */
static void test_tail_behind_unknown_losses(void)
{
	fill_disk(3);
	send_lossy(4, 8, -1);
	pull(0, -ENOSPC);
	send_lossy(1, 8, 4);
	send_lossy(1, 8, -1);
	kernel_tells_overrun(25);
	dat_give_up(dat);
	check_tail(3, 25 + 5, 25 + 5, 5);
}

/* The last event that was sent is in a third page then, behind a loss without a number. */
static void write_tail_of_unknown(void)
{
	dat_give_up(dat);
	disk_is_full = false;
	dat_write_tails(dat);
	sent[41] = sent[nr_sent - 1];
	nr_sent = 42;
	CHECK(number_in_file(2, 2) == SUBBUF_MISSED_UNKNOWN);
	dat_count_losses(dat);
}

/* Of a loss that the file has already without its number, it is not known which is which. */
static void test_tail_behind_another_unknown_loss(void)
{
	struct tracemap_dat_figures sums;

	open_recording();
	send_much(true, -1);
	disk_is_full = true;
	send_lossy(4, 8, -1);
	pull(0, -ENOSPC);
	kernel_tells_overrun(25);
	write_tail_of_unknown();
	tracemap_dat_figures(dat, &sums);
	CHECK(sums.lost == 25 + 3 && !sums.at_least);
	CHECK(number_in_file(0, 2) == SUBBUF_MISSED_UNKNOWN);
	close_counted();
}

/* A sub-buffer without an event. */
static void send_none(int64_t missed)
{
	struct subbuf_make m;

	begin(&m);
	CHECK(make_discarded(&m, 0, 4000));
	send(&m, missed);
	pull(1, 0);
}

/* A loss that no page has yet waits for one, however much comes without an event. */
static void test_tail_behind_no_events(void)
{
	open_recording();
	send_much(true, -1);
	kernel_tells_overrun(25);
	send_none(-1);
	send_none(0);
	send_none(0);
	disk_is_full = true;
	send_lossy(2, 8, 0);
	pull(0, -ENOSPC);
	write_tail_of_unknown();
	check_lost(25 + 1, false);
	close_counted();
}

/* ---- What is taken ---- */

static void send_full(unsigned int n)
{
	struct subbuf_make m;

	while (n--) {
		begin(&m);
		for (int i = 0; i < 30; i++)
			add_event(&m, 5, 96);
		send(&m, 0);
	}
}

static void send_damaged(void)
{
	struct subbuf_make m;

	begin(&m);
	make_put(&m, format.commit_offset, 5000, format.commit_size);
	CHECK(write(to, m.bytes, format.subbuf_size) == format.subbuf_size);
}

/* A turn is no more than it may be, and goes on behind damage. */
static void test_take(void)
{
	struct tracemap_dat_figures figures;
	int64_t missed[100];

	open_recording();
	CHECK(!tracemap_dat_take(dat));
	send_full(2);
	send_damaged();
	send_full(DAT_TURN_MAX);
	CHECK(tracemap_dat_take(dat) == 1);
	tracemap_dat_figures(dat, &figures);
	CHECK(figures.bytes == (DAT_TURN_MAX - 1) * 4096ULL && figures.at_least && !figures.error);
	CHECK(tracemap_dat_take(dat) == 1 && !tracemap_dat_take(dat));
	CHECK(check_file(missed, 100) == DAT_TURN_MAX + 2);
	close_recording();
}

static unsigned int looks;	/* at the counters of the kernel, which are files */
__typeof__(tracemap_cpu_figures) __real_tracemap_cpu_figures;

int __wrap_tracemap_cpu_figures(const struct tracemap_cpu *cpu, struct tracemap_figures *figures)
{
	looks++;
	return __real_tracemap_cpu_figures(cpu, figures);
}

/* Once per CPU: what was taken and what was dropped is in the same file. */
static void test_looks(void)
{
	struct tracemap_dat_figures figures;

	open_recording();
	looks = 0;
	tracemap_dat_figures(dat, &figures);
	CHECK(looks == 1);
	close_recording();
}

/* On a big-endian machine the pause between two small parts has its bits in another place. */
static void test_big_endian_pause(void)
{
	const uint32_t type = SUBBUF_TYPE_TIME_EXTEND;
	uint32_t words[2];
	char part[240];
	int fd;

	as_big_endian = true;
	open_recording();
	send_events(1);
	pull(1, 0);
	clock_now += 5ULL << SUBBUF_TIME_SHIFT | 7;
	send_events(1);
	pull(1, 0);
	snprintf(part, sizeof(part), "%s.cpu0", path);
	fd = open(part, O_RDONLY);
	/* Behind the first event, of a header and 8 bytes. */
	CHECK(fd >= 0 && pread(fd, words, sizeof(words), format.data_offset + 12) == sizeof(words));
	CHECK(words[0] >> SUBBUF_TIME_SHIFT == type && words[1] == 5);
	CHECK((words[0] & ((1U << SUBBUF_TIME_SHIFT) - 1)) == 7);
	close(fd);
	close_recording();
	as_big_endian = false;
}

/* ---- What becomes of it ---- */

static void record_some(void)
{
	send_full(20);
	CHECK(tracemap_dat_take(dat) == 1);
	send_events(7);
	CHECK(tracemap_dat_take(dat) == 1 && !tracemap_dat_take(dat));
}

/* Finished once, it is whole. */
static void test_finish(void)
{
	open_recording();
	record_some();
	CHECK(!tracemap_dat_finish(dat) && check_whole(path) == 21);
	CHECK(tracemap_dat_finish(dat) == -EALREADY && tracemap_dat_take(dat) == -EALREADY);
	CHECK(check_whole(path) == 21);
	close_all();
}

/* The file has the format of an event that was enabled before, and came. */
static void test_format(void)
{
	static const char late[] = "name: late\nID: 0\n";
	struct bytes b = { .error = 0 };

	make_file(dir, "events/a/late/id", "0\n");
	make_file(dir, "events/a/late/format", late);
	for (int n = 0; n < 2; n++) {
		open_recording();
		if (n)
			send_events(1);
		CHECK(tracemap_dat_take(dat) == n);
		CHECK(!tracemap_dat_finish(dat) && !bytes_add_file(&b, path));
		CHECK(!memmem(b.data, b.size, late, strlen(late)) == !n);
		bytes_free(&b);
		close_all();
	}
}

static char version_of(const char *name)
{
	struct bytes b = { .error = 0 };
	char version;

	CHECK(!bytes_add_file(&b, name) && b.size > TRACE_HEAD_MAGIC_SIZE);
	CHECK(trace_head_magic(b.data));
	version = b.data[TRACE_HEAD_MAGIC_SIZE];
	bytes_free(&b);
	return version;
}

static void test_version(uint32_t flags, char version)
{
	open_buffers();
	CHECK(!tracemap_dat_open(&dat, path, t, dir, flags));
	record_some();
	CHECK(!tracemap_dat_finish(dat) && version_of(path) == version);
	close_all();
}

static void test_compress(void)
{
	struct tracemap_dat *none = NULL;

	if (TRACE_DAT_HAS_ZSTD) {
		test_version(TRACEMAP_DAT_COMPRESS, '7');
		return;
	}
	open_buffers();
	CHECK(tracemap_dat_open(&none, path, t, dir, TRACEMAP_DAT_COMPRESS) == -EOPNOTSUPP);
	CHECK(!none && access(path, F_OK));
	tracemap_close(t);
}

/*
 * Each event is in one of two files. A loss that the first one does not tell yet is told by the
 * second; a number that it lacks only by the sums.
 */
static void test_next_file(void)
{
	char next[240], *in_the_way;
	struct trace_dat *old;
	struct subbuf_make m;
	int64_t missed[100];

	open_recording();
	kernel_tells_overrun(9);
	send_much(true, -1);
	send_events(3);
	pull(1, 0);
	begin(&m);
	send(&m, 4);
	pull(1, 0);
	CHECK(dat_next_file(dat, path, &in_the_way, &old) == -EBUSY && !in_the_way);
	snprintf(next, sizeof(next), "%s.2", path);
	CHECK(!dat_next_file(dat, next, &in_the_way, &old));
	CHECK(!trace_dat_finish(old, NULL));
	trace_dat_close(old);
	CHECK(whole_file(path, missed) == 3 && missed[0] == SUBBUF_MISSED_UNKNOWN);
	nr_sent = 0;
	send_events(3);
	pull(1, 0);
	send_much(false, 0);
	count_at_end(13);
	CHECK(dat_size(dat) == 5 * 4096 && !tracemap_dat_finish(dat));
	CHECK(whole_file(next, missed) == 2 && missed[0] == 4 && !missed[1]);
	kernel_tells_overrun(0);
	CHECK(!unlink(next));
	close_all();
}

/* What was there stays. */
static void test_refused(void)
{
	struct tracemap_dat *none = NULL;

	open_buffers();
	CHECK(tracemap_dat_open(&none, path, t, dir, 1 << 7) == -EINVAL);
	CHECK(tracemap_dat_open(&none, path, t, top, 0) == -EINVAL);
	CHECK(access(path, F_OK));
	make_file(top, "trace.dat", "no trace");
	CHECK(tracemap_dat_open(&none, path, t, dir, 0) == -EMEDIUMTYPE && !none);
	CHECK(!unlink(path));
	tracemap_dat_close(none);
	tracemap_close(t);
}

/* What instances share is in the folder of the top level, which may be recorded itself. */
static void test_top_level(const char *folder)
{
	struct bytes b = { .error = 0 };

	open_buffers();
	CHECK(!tracemap_dat_open(&dat, path, t, folder, 0) && !tracemap_dat_finish(dat));
	CHECK(!bytes_add_file(&b, path) && memmem(b.data, b.size, "77 of-the-top", 13));
	bytes_free(&b);
	close_all();
}

int main(int argc, char **argv)
{
	int files;

	CHECK(argc > 1);
	snprintf(top, sizeof(top), "%.150s/dat_test.%d", argv[1], getpid());
	snprintf(dir, sizeof(dir), "%s/instances/one", top);
	snprintf(path, sizeof(path), "%s/trace.dat", top);
	to = tracefs_make(top, dir);
	files = open_files();
	test_small_parts();
	test_large_parts();
	test_losses();
	test_late_number();
	test_number_at_the_end();
	test_two_numbers();
	test_number_before_the_end();
	test_number_behind_others();
	test_damage();
	test_full_disk();
	test_other_consumer();
	test_emptied();
	test_overwritten(&is_overwritten);
	test_overwritten(&reader_moved);
	test_tail();
	test_tail_of_one();
	test_tail_behind_losses();
	test_tail_behind_unknown_losses();
	test_tail_behind_another_unknown_loss();
	test_tail_behind_no_events();
	test_take();
	test_looks();
	test_big_endian_pause();
	test_finish();
	test_format();
	test_version(0, '6');
	test_compress();
	test_next_file();
	test_refused();
	test_top_level(dir);
	tracefs_make_folder(top);
	test_top_level(top);
	CHECK(open_files() == files);
	tracefs_remove(top, to);
	printf("ok - dat\n");
	return 0;
}

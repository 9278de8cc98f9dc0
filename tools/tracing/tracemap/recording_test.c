// SPDX-License-Identifier: GPL-2.0
/*
 * recording.h, of sub-buffers that come through a pipe as those of trace_pipe_raw do: the
 * events that are in the file are those that came, at their times, and losses are told.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"
#include "recording.h"
#include "subbuf_make.h"

static const struct subbuf_format format = {
	.subbuf_size = 4096, .commit_offset = 8, .commit_size = 8, .data_offset = 16,
	.big_endian = subbuf__host_big,
};

enum { CAPACITY = 4096 - 16 };

static char top[200], dat[220];
static int to;			/* the end of the pipe to write to */

static void make_tracing(void)
{
	char path[300];

	CHECK(!mkdir(top, 0700));
	make_file(top, "events/header_page",
		  "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		  "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n");
	make_file(top, "events/header_event", "header event\n");
	make_file(top, "events/ftrace/print/format", "name: print\nID: 5\n");
	make_file(top, "set_event", "");
	make_file(top, "current_tracer", "nop\n");
	make_file(top, "trace_clock", "[local] global\n");
	make_file(top, "saved_cmdlines", "");
	make_file(top, "printk_formats", "");
	make_file(top, "per_cpu/cpu0/stats", "entries: 0\noverrun: 0\n");
	make_file(top, "per_cpu/cpu0/buffer_size_kb", "8\n");
	snprintf(path, sizeof(path), "%s/per_cpu/cpu0/trace_pipe_raw", top);
	CHECK(!mkfifo(path, 0600));
	to = open(path, O_RDWR | O_CLOEXEC);
	CHECK(to >= 0);
}

static void remove_tracing(void)
{
	char command[300];

	close(to);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	CHECK(!system(command));
}

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
static unsigned int check_file(int64_t *missed, unsigned int room)
{
	unsigned char page[4096] __attribute__((aligned(8)));
	unsigned int pages = 0, n = 0;
	struct subbuf_record rec;
	struct subbuf_iter it;
	char path[240];
	int fd;

	snprintf(path, sizeof(path), "%s.cpu0", dat);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
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
	close(fd);
	return pages;
}

/* ---- Recording ---- */

static struct tracemap *t;
static struct recording r;

static void open_recording(void)
{
	struct tracemap_options options = tracemap_default_options();
	char other[220];

	nr_sent = 0;
	clock_now = 1000;
	options.way = TRACEMAP_READ;
	CHECK(!tracemap_open(&t, top, &options));
	/* By another name: of the top level itself all symbols are told. */
	snprintf(other, sizeof(other), "%s/.", top);
	CHECK(!recording_open(&r, t, other, top, dat) && r.nr_tracks == 1);
}

static void close_recording(void)
{
	CHECK(!trace_dat_finish(r.dat, NULL));
	recording_close(&r);
	tracemap_close(t);
	CHECK(!unlink(dat));
}

static void pull(int wanted)
{
	CHECK(recording_pull(r.tracks[0], RECORDING_TURN) == wanted);
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
		pull(1);
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
	pull(6);
	CHECK(check_file(missed, 10) == 6);
	close_recording();
}

/* Also where nothing came behind it yet: the next page tells of it. */
static void test_losses(void)
{
	int64_t missed[10];
	struct recording_sums sums;
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
	pull(5);
	CHECK(check_file(missed, 10) == 3);
	CHECK(missed[0] == 7 && missed[1] == 3 && missed[2] == SUBBUF_MISSED_UNKNOWN);
	recording_sum_up(&r, &sums);
	CHECK(sums.lost == 11 && sums.at_least && sums.bytes == 3 * 4096);
	close_recording();
}

/* The kernel's count of what was overwritten. */
static void kernel_tells_overrun(unsigned int n)
{
	char text[100];

	snprintf(text, sizeof(text), "entries: 0\noverrun: %u\nread events: 0\n", n);
	make_file(top, "per_cpu/cpu0/stats", text);
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
	pull(1);
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
	struct recording_sums sums;

	recording_sum_up(&r, &sums);
	CHECK(sums.lost == lost && sums.at_least == at_least);
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
	kernel_tells_overrun(0);
	close_recording();
}

/* All was taken: it is the end that tells. */
static void test_number_at_the_end(void)
{
	open_recording();
	send_much(true, -1);
	kernel_tells_overrun(9);
	recording_count_losses(&r);
	CHECK(number_in_file(0, 1) == 9);
	check_lost(9, false);
	kernel_tells_overrun(0);
	close_recording();
}

/* Of two losses the counter tells the sum, and not which is which. */
static void test_two_numbers(void)
{
	open_recording();
	send_much(true, -1);
	send_much(true, -1);
	kernel_tells_overrun(9);
	recording_count_losses(&r);
	CHECK(number_in_file(0, 3) == SUBBUF_MISSED_UNKNOWN);
	CHECK(number_in_file(2, 3) == SUBBUF_MISSED_UNKNOWN);
	check_lost(9, false);
	kernel_tells_overrun(0);
	close_recording();
}

/* A sub-buffer that cannot be: what is before and behind it is in the file. */
static void test_damage(void)
{
	struct recording_sums sums;
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
	pull(-EBADMSG);
	pull(1);
	check_file(missed, 10);
	recording_sum_up(&r, &sums);
	CHECK(sums.at_least && !sums.lost);
	close_recording();
}

static bool disk_is_full;

__typeof__(pwritev) __real_pwritev64;

ssize_t __wrap_pwritev64(int fd, const struct iovec *part, int nr, off_t at)
{
	if (!disk_is_full)
		return __real_pwritev64(fd, part, nr, at);
	errno = ENOSPC;
	return -1;
}

static void send_events(unsigned int n)
{
	struct subbuf_make m;

	begin(&m);
	while (n--)
		add_event(&m, 5, 8);
	send(&m, 0);
}

/* The kernel's count of what was read. */
static void kernel_tells_read(unsigned int n)
{
	char text[100];

	snprintf(text, sizeof(text), "entries: 0\noverrun: 0\nread events: %u\n", n);
	make_file(top, "per_cpu/cpu0/stats", text);
}

/* What was read and cannot be written, then and later, is told: in the file is the rest. */
static void test_full_disk(void)
{
	struct recording_sums sums;
	int64_t missed[10];

	open_recording();
	send_events(3);
	pull(1);
	disk_is_full = true;
	send_events(4);
	pull(-ENOSPC);
	send_events(200);
	recording_give_up(&r);
	disk_is_full = false;
	kernel_tells_read(3 + 4 + 200);
	recording_sum_up(&r, &sums);
	CHECK(sums.events == 3 && sums.lost == 204 && sums.unwritten == 204 && !sums.at_least);
	nr_sent = 3;
	CHECK(check_file(missed, 10) == 1);
	kernel_tells_read(0);
	close_recording();
}

static int open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

int main(int argc, char **argv)
{
	int files;

	CHECK(argc > 1);
	snprintf(top, sizeof(top), "%.150s/recording_test.%d", argv[1], getpid());
	snprintf(dat, sizeof(dat), "%s/trace.dat", top);
	make_tracing();
	files = open_files();
	test_small_parts();
	test_large_parts();
	test_losses();
	test_late_number();
	test_number_at_the_end();
	test_two_numbers();
	test_damage();
	test_full_disk();
	CHECK(open_files() == files);
	remove_tracing();
	printf("ok - recording\n");
	return 0;
}

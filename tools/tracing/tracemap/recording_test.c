// SPDX-License-Identifier: GPL-2.0
/*
 * recording.h: how much is taken of a buffer. What is in the file is for dat_test.c of the
 * library to tell.
 */
#include "recording.h"
#include "subbuf_make.h"
#include "tracefs_make.h"

static const struct subbuf_format format = {
	.subbuf_size = 4096, .commit_offset = 8, .commit_size = 8, .data_offset = 16,
	.big_endian = subbuf__host_big,
};

static char top[200], dir[240], path[220];
static int to;			/* the end of the pipe to write to */
static struct tracemap *t;
static struct recording r;

static void open_recording(void)
{
	struct tracemap_options options = tracemap_default_options();

	options.way = TRACEMAP_READ;
	CHECK(!tracemap_open(&t, dir, &options));
	CHECK(!recording_open(&r, t, dir, path) && r.nr_tracks == 1);
}

static void close_recording(void)
{
	CHECK(!tracemap_dat_finish(r.dat));
	recording_close(&r);
	tracemap_close(t);
	CHECK(!unlink(path));
}

/* So many sub-buffers of an event each. */
static void send(unsigned int n, uint64_t missed)
{
	struct subbuf_make m;

	while (n--) {
		make_begin(&m, &format, 1000);
		CHECK(make_event(&m, 1000, &n, sizeof(n)));
		make_finish(&m, missed);
		CHECK(write(to, m.bytes, format.subbuf_size) == format.subbuf_size);
	}
}

static void kernel_tells_bytes(unsigned int n)
{
	char text[100];

	snprintf(text, sizeof(text), "entries: 0\noverrun: 0\nbytes: %u\n", n);
	make_file(dir, "per_cpu/cpu0/stats", text);
}

static void kernel_tells_events(unsigned int unread, unsigned int overwritten, unsigned int read)
{
	char text[100];

	snprintf(text, sizeof(text), "entries: %u\noverrun: %u\nbytes: 100\nread events: %u\n",
		 unread, overwritten, read);
	make_file(dir, "per_cpu/cpu0/stats", text);
}

/* Without the sub-buffer that is written to; and no more than a turn. */
static void test_shares(void)
{
	const unsigned int capacity = 4096 - 16;

	open_recording();
	CHECK(!recording_pull(r.tracks[0], RECORDING_TURN));
	send(DAT_TURN_MAX + 30, 0);
	kernel_tells_bytes(2 * capacity + 100);
	CHECK(recording_fill(r.tracks[0]) == 2 * capacity + 100);
	CHECK(recording_pull(r.tracks[0], RECORDING_WHOLE) == 2);
	CHECK(recording_pull(r.tracks[0], RECORDING_TURN) == DAT_TURN_MAX);
	kernel_tells_bytes(200 * capacity);
	CHECK(recording_pull(r.tracks[0], RECORDING_WHOLE) == 28);
	kernel_tells_bytes(0);
	CHECK(!recording_error(&r));
	close_recording();
}

/*
 * What had come by then is taken though it comes in smaller parts than its bytes fill, as long
 * as the kernel says that it is there; and what has come since is not.
 */
static void test_present(void)
{
	open_recording();
	send(10, 0);
	kernel_tells_events(5, 7, 20);
	recording_until_now(r.tracks[0]);
	CHECK(recording_pull(r.tracks[0], RECORDING_PRESENT) == 2);
	kernel_tells_events(53, 7, 22);
	CHECK(recording_pull(r.tracks[0], RECORDING_PRESENT) == 2);
	kernel_tells_events(52, 8, 23);
	CHECK(recording_pull(r.tracks[0], RECORDING_PRESENT) == 1);
	kernel_tells_events(51, 8, 24);
	CHECK(!recording_pull(r.tracks[0], RECORDING_PRESENT));
	CHECK(recording_pull(r.tracks[0], RECORDING_TURN) == 5);
	close_recording();
}

/* A buffer that was emptied has nothing of what was in it, and it ends if there is nothing. */
static void test_present_emptied(void)
{
	open_recording();
	send(3, 0);
	kernel_tells_events(50, 0, 10);
	recording_until_now(r.tracks[0]);
	CHECK(recording_pull(r.tracks[0], RECORDING_PRESENT) == 2);
	kernel_tells_events(3, 0, 2);
	CHECK(!recording_pull(r.tracks[0], RECORDING_PRESENT));
	recording_until_now(r.tracks[0]);
	CHECK(recording_pull(r.tracks[0], RECORDING_PRESENT) == 1);
	CHECK(!recording_pull(r.tracks[0], RECORDING_PRESENT));
	close_recording();
}

int main(int argc, char **argv)
{
	int files;

	CHECK(argc > 1);
	snprintf(top, sizeof(top), "%.150s/recording_test.%d", argv[1], getpid());
	snprintf(dir, sizeof(dir), "%s/instances/one", top);
	snprintf(path, sizeof(path), "%s/trace.dat", top);
	to = tracefs_make(top, dir);
	files = open_files();
	test_shares();
	test_present();
	test_present_emptied();
	CHECK(open_files() == files);
	tracefs_remove(top, to);
	printf("ok - recording\n");
	return 0;
}

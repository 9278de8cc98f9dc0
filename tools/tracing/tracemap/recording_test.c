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

/* Without the sub-buffer that is written to; and no more than a turn. */
static void test_shares(void)
{
	const unsigned int capacity = 4096 - 16;

	open_recording();
	CHECK(!recording_pull(r.tracks[0], false));
	send(DAT_TURN_MAX + 30, 0);
	kernel_tells_bytes(2 * capacity + 100);
	CHECK(recording_pull(r.tracks[0], true) == 2);
	CHECK(recording_pull(r.tracks[0], false) == DAT_TURN_MAX);
	kernel_tells_bytes(200 * capacity);
	CHECK(recording_pull(r.tracks[0], true) == 28);
	kernel_tells_bytes(0);
	CHECK(!recording_error(&r));
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
	CHECK(open_files() == files);
	tracefs_remove(top, to);
	printf("ok - recording\n");
	return 0;
}

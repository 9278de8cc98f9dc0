// SPDX-License-Identifier: GPL-2.0
/*
 * recording.h: how much is taken of a buffer. What is in the file is for dat_test.c of the
 * library to tell. split.h: the names of several files, and when another one begins.
 */
#include "recording.h"
#include "split.h"
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

static bool takes(const char *text, double seconds, unsigned long long size)
{
	struct split split = { .keep = 3 };

	return !split_take(&split, text) && split.seconds == seconds && split.size == size &&
	       split.keep == 3 && split_is_asked(&split);
}

/* The unit says which of both it is. */
static void test_split_values(void)
{
	static const char * const wrong[] = { "", "5", "m", "M", "5x", "0s", "0M", "-1M", "5 M" };
	struct split split = { .keep = 0 };

	CHECK(takes("5m", 300, 0) && takes("1m30s", 90, 0) && takes("500ms", 0.5, 0));
	CHECK(takes("5M", 0, 5 << 20) && takes("5k", 0, 5 << 10) && takes("1GiB", 0, 1 << 30));
	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK(split_take(&split, wrong[i]) == -EINVAL);
}

static void test_split_names(void)
{
	static const char * const others[] = {
		"trace.dat", "trace.dat.1.cpu0", "trace.dat.x7", "trace.dat.", "trace.data.9",
		"trace.dat.20261130235959",
	};
	char *next = split_path(path, 12);

	CHECK(split_first(path) == 1 && split_first("/no/such") == 1);
	for (unsigned int i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		make_file(top, others[i], "");
	CHECK(split_first(path) == 1);
	make_file(top, "trace.dat.2", "");
	make_file(top, strrchr(next, '/') + 1, "");
	CHECK(split_first(path) == 13 && !unlink(next));
	CHECK(split_first(path) == 3);
	free(next);
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
	test_split_values();
	test_split_names();
	CHECK(open_files() == files);
	tracefs_remove(top, to);
	printf("ok - recording\n");
	return 0;
}

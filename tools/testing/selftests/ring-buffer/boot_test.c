// SPDX-License-Identifier: GPL-2.0
/*
 * What can be seen once after a boot: a buffer nobody has used yet, and a CPU
 * that never came up. Boot with more CPUs than are brought up: maxcpus=.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/ioctl.h>

#include "buffer_fixture.h"
#include "user.h"
#include "watcher.h"

#define SOME_EVENT	"events/sched/sched_switch/enable"

/* Expects the size that was read before anything was done, and whether it says so. */
static void expect_size(struct __test_metadata *_metadata, struct trace_instance *ti,
			const char *want)
{
	char text[64] = "";

	EXPECT_LT(0, instance_read(ti, "buffer_size_kb", text, sizeof(text)));
	EXPECT_STREQ(want, text);
}

/* Opening and reading the file leave the buffer as it was. */
static void expect_reading_leaves_it(struct __test_metadata *_metadata,
				     struct trace_instance *ti, const char *size)
{
	int fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	struct tally tally = { 0 };

	ASSERT_LE(0, fd);
	expect_size(_metadata, ti, size);
	ASSERT_EQ(0, write_events(ti, 3, EVENT_SMALL));
	ASSERT_LT(0, tally_read(&tally, fd, getpagesize()));
	EXPECT_EQ(3, tally.seen);
	expect_size(_metadata, ti, size);
	close(fd);
}

/* An observer opens a buffer that is mapped at its minimum, and leaves it at that. */
static void expect_observed_as_it_is(struct __test_metadata *_metadata,
				     struct trace_instance *ti, struct mapped_buffer *mb)
{
	struct watcher w;

	ASSERT_EQ(0, watcher_open(&w, ti, ti->cpu, LIVE_FROM_NOW));
	w.tally.next = ti->seq;
	EXPECT_EQ(mb->meta->nr_subbufs, w.map.index->nr_subbufs);
	ASSERT_EQ(0, write_events(ti, 3, EVENT_SMALL));
	EXPECT_LT(0, watch(&w));
	EXPECT_EQ(3, w.tally.seen);
	EXPECT_TRUE(watcher_exact(&w));
	watcher_close(&w);
}

/* A mapping of a buffer at its minimum works. */
static void expect_minimum_works(struct __test_metadata *_metadata,
				 struct trace_instance *ti, const char *size)
{
	struct tally tally = { .next = ti->seq };
	struct mapped_buffer mb;

	ASSERT_EQ(0, buffer_map(&mb, ti, ti->cpu, O_NONBLOCK));
	EXPECT_LT(1, mb.meta->nr_subbufs);
	EXPECT_GE(16, mb.meta->nr_subbufs);
	expect_observed_as_it_is(_metadata, ti, &mb);
	ASSERT_LT(0, write_bytes(ti, 20 * getpagesize(), EVENT_LARGE));
	ASSERT_LT(0, tally_drain(&tally, &mb));
	EXPECT_EQ(ti->seq, tally.next);
	EXPECT_LT(0, tally.lost);
	EXPECT_TRUE(tally_exact(&tally));
	EXPECT_EQ(-EBUSY, instance_write(ti, "buffer_size_kb", "1000"));
	expect_size(_metadata, ti, size);
	buffer_unmap(&mb);
	expect_size(_metadata, ti, size);
}

/* MAP-28, MAP-29, LIVE-15: A later test shows that it is not stuck at that. */
TEST(buffer_at_its_boot_time_minimum_is_mapped_as_it_is)
{
	struct trace_instance top = { .dir = TRACEFS_DIR, .top = true };
	char size[64];
	int i;

	ASSERT_LT(0, instance_read(&top, "buffer_size_kb", size, sizeof(size)))
		TH_LOG("needs root and tracefs at " TRACEFS_DIR);
	if (!strstr(size, "expanded: "))
		SKIP(return, "the buffer was used since boot");
	top.marker = instance_file(&top, "trace_marker_raw", O_WRONLY);
	ASSERT_LE(0, top.marker);
	ASSERT_EQ(0, run_on_cpu(0));
	expect_reading_leaves_it(_metadata, &top, size);
	for (i = 0; i < 3; i++) {
		top.cpu = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? i % 2 : 0;
		ASSERT_EQ(0, run_on_cpu(top.cpu));
		expect_minimum_works(_metadata, &top, size);
	}
	close(top.marker);
}

/* An ordinary user opens a file, maps it if that can be mapped, and keeps it. */
static pid_t fork_keeper(const struct trace_instance *ti, const char *file, int ready)
{
	pid_t pid = fork_user(TRACE_GROUP);
	int fd;

	if (pid)
		return pid;
	fd = instance_file(ti, file, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		_exit(-fd);
	if (strstr(file, "per_cpu") &&
	    mmap(NULL, getpagesize(), PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
		_exit(1);
	if (write(ready, "r", 1) != 1)
		_exit(2);
	for (;;)
		pause();
}

/* Root traces an event, which would expand the buffer if no reader held it. */
static void expect_traced_at_minimum(struct __test_metadata *_metadata,
				     struct trace_instance *ti, const char *size)
{
	ASSERT_EQ(0, run_on_cpu(0));
	EXPECT_EQ(0, instance_write(ti, SOME_EVENT, "1"));
	sleep_ms(10);
	EXPECT_LT(0, cpu_stat(ti, 0, "entries"));
	EXPECT_EQ(0, instance_write(ti, SOME_EVENT, "0"));
	expect_size(_metadata, ti, size);
}

/* LIVE-15, LIVE-40: Whoever may read does not resize a buffer, nor keep root from tracing. */
TEST(events_are_traced_although_a_reader_keeps_the_boot_time_minimum)
{
	static const char * const files[] = {
		"per_cpu/cpu0/trace_live", "per_cpu/cpu0/trace_pipe_raw", "trace",
	};
	struct trace_instance top = { .dir = TRACEFS_DIR, .top = true };
	char size[64], c;
	int ready[2];
	size_t i;
	pid_t pid;

	ASSERT_LT(0, instance_read(&top, "buffer_size_kb", size, sizeof(size)));
	if (!strstr(size, "expanded: "))
		SKIP(return, "the buffer was used since boot");
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, grant_by_mount(true));
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		pid = fork_keeper(&top, files[i], ready[1]);
		ASSERT_LT(0, pid);
		ASSERT_EQ(1, read(ready[0], &c, 1));
		expect_size(_metadata, &top, size);
		expect_traced_at_minimum(_metadata, &top, size);
		EXPECT_EQ(0, kill_child(pid)) TH_LOG("%s", files[i]);
	}
	EXPECT_EQ(0, grant_by_mount(false));
	EXPECT_EQ(0, instance_write(&top, "trace", ""));
}

/*
 * MAP-28: An expansion that is put off is not taken for done. By the meta page alone, so
 * that a kernel without observers can show the fault.
 */
TEST(an_expansion_refused_for_a_mapping_works_later)
{
	struct trace_instance top = { .dir = TRACEFS_DIR, .top = true };
	struct mapped_buffer mb;
	char text[64];

	ASSERT_LT(0, instance_read(&top, "buffer_size_kb", text, sizeof(text)));
	if (!strstr(text, "expanded: "))
		SKIP(return, "the buffer was used since boot");
	ASSERT_EQ(0, buffer_map(&mb, &top, 0, O_NONBLOCK));
	expect_traced_at_minimum(_metadata, &top, text);
	buffer_unmap(&mb);
	expect_size(_metadata, &top, text);
}

/* LIVE-15: An observer of an instance is not one of the top level. */
TEST(the_minimum_is_not_expanded_for_an_observer_of_an_instance)
{
	struct trace_instance top = { .dir = TRACEFS_DIR, .top = true };
	struct trace_instance other = { .dir = TRACEFS_DIR "/instances/rbtest-boot" };
	char size[64];
	int fd;

	ASSERT_LT(0, instance_read(&top, "buffer_size_kb", size, sizeof(size)));
	if (!strstr(size, "expanded: "))
		SKIP(return, "the buffer was used since boot");
	ASSERT_EQ(0, mkdir(other.dir, 0700));
	fd = live_file(&other, 0);
	EXPECT_LE(0, fd);
	expect_size(_metadata, &top, size);
	close(fd);
	ASSERT_EQ(0, rmdir(other.dir));
	expect_size(_metadata, &top, size);
}

/* LIVE-40, MAP-28: ... and the next event that is enabled expands it. */
TEST(a_buffer_that_was_kept_at_its_minimum_expands_later)
{
	struct trace_instance top = { .dir = TRACEFS_DIR, .top = true };
	char text[64], *p;
	struct watcher w;
	long long kb;

	ASSERT_LT(0, instance_read(&top, "buffer_size_kb", text, sizeof(text)));
	p = strstr(text, "expanded: ");
	if (!p)
		SKIP(return, "the buffer was used since boot");
	kb = atoll(p + strlen("expanded: "));
	ASSERT_EQ(0, instance_write(&top, SOME_EVENT, "1"));
	ASSERT_EQ(0, instance_write(&top, SOME_EVENT, "0"));
	ASSERT_LT(0, instance_read(&top, "buffer_size_kb", text, sizeof(text)));
	EXPECT_EQ(NULL, strstr(text, "expanded"));
	EXPECT_LE(kb, strtoll(text, NULL, 10));
	ASSERT_EQ(0, watcher_open(&w, &top, 0, LIVE_FROM_OLDEST));
	EXPECT_LE(kb * 1024, (long long)w.map.index->nr_subbufs * w.map.index->subbuf_size);
	watcher_close(&w);
	ASSERT_EQ(0, instance_write(&top, "buffer_size_kb", "100"));
	EXPECT_LE(100, instance_number(&top, "buffer_size_kb"));
	ASSERT_EQ(0, instance_write(&top, "trace", ""));
}

static bool cpu_is_online(int cpu)
{
	char path[64], text[8];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online",
		 cpu);
	/* The first CPU may have no such file. */
	return read_file(path, text, sizeof(text)) < 1 || text[0] == '1';
}

/* A CPU that has files in tracefs, and has not been up. */
static int cpu_never_up(struct trace_instance *ti)
{
	int cpu, fd;

	for (cpu = 0; cpu < 1024; cpu++) {
		fd = cpu_file(ti, cpu, "trace_pipe_raw", O_RDONLY);
		if (fd < 0)
			break;
		close(fd);
		if (!cpu_is_online(cpu))
			return cpu;
	}
	return -1;
}

/* After it came up once it is no longer what these tests are about. */
FIXTURE(late_cpu) {
	struct trace_instance	ti;
	int			cpu;
};

FIXTURE_VARIANT(late_cpu) {
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(late_cpu, instance_large) {
	.subbuf_kb = LARGE_SUBBUF_KB,
};

FIXTURE_SETUP(late_cpu)
{
	ASSERT_EQ(0, instance_open(&self->ti, false, variant->subbuf_kb));
	self->cpu = cpu_never_up(&self->ti);
}

/* The CPU goes again: other tests count on the CPUs there were. */
FIXTURE_TEARDOWN(late_cpu)
{
	if (self->cpu >= 0 && cpu_is_online(self->cpu)) {
		EXPECT_EQ(0, run_on_cpu(self->ti.other_cpu));
		EXPECT_EQ(0, switch_cpu_online(self->cpu, false));
	}
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* MAP-30 */
TEST_F(late_cpu, mmap_answers_EINVAL_for_a_cpu_that_never_came_up)
{
	int fd;

	if (self->cpu < 0)
		SKIP(return, "no CPU was left down: boot with maxcpus=");
	fd = cpu_file(&self->ti, self->cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(EINVAL, map_error(fd, getpagesize(), PROT_READ, MAP_SHARED, 0));
	/* It does not count, or there would be no snapshots. */
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	close(fd);
}

/* LIVE-15 */
TEST_F(late_cpu, an_observer_gets_EINVAL_for_a_cpu_that_never_came_up)
{
	if (self->cpu < 0)
		SKIP(return, "no CPU was left down: boot with maxcpus=");
	EXPECT_EQ(-EINVAL, live_file(&self->ti, self->cpu));
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
}

/* READ-26: whether or not it would wait */
TEST_F(late_cpu, get_reader_answers_ENODEV_for_a_cpu_that_never_came_up)
{
	static const int flags[] = { O_RDONLY, O_RDONLY | O_NONBLOCK };
	unsigned int i;
	int fd;

	if (self->cpu < 0)
		SKIP(return, "no CPU was left down: boot with maxcpus=");
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		fd = cpu_file(&self->ti, self->cpu, "trace_pipe_raw", flags[i]);
		ASSERT_LE(0, fd);
		EXPECT_EQ(-1, ioctl(fd, TRACE_MMAP_IOCTL_GET_READER));
		EXPECT_EQ(ENODEV, errno);
		close(fd);
	}
}

/* HOLD-15: It has no buffer, and no snapshot either. */
TEST_F(late_cpu, a_resize_of_a_cpu_that_never_came_up_changes_nothing)
{
	struct trace_instance *ti = &self->ti;
	long long kb = cpu_number(ti, ti->cpu, "buffer_size_kb");

	if (self->cpu < 0)
		SKIP(return, "no CPU was left down: boot with maxcpus=");
	EXPECT_EQ(0, cpu_write_number(ti, self->cpu, "buffer_size_kb", 2 * kb));
	ASSERT_EQ(0, instance_write(ti, "snapshot", "1"));
	EXPECT_EQ(0, cpu_write_number(ti, self->cpu, "buffer_size_kb", 3 * kb));
	EXPECT_EQ(kb, cpu_number(ti, ti->cpu, "buffer_size_kb"));
	ASSERT_EQ(0, write_events(ti, 3, EVENT_SMALL));
	EXPECT_EQ(3, count_trace_lines(ti, "trace"));
}

/* SUBBUF-2: for those that come up later as well */
TEST_F(late_cpu, a_cpu_that_comes_up_has_the_sub_buffer_size)
{
	struct mapped_buffer mb;
	struct tally tally = { 0 };

	if (self->cpu < 0)
		SKIP(return, "no CPU was left down: boot with maxcpus=");
	ASSERT_EQ(0, switch_cpu_online(self->cpu, true));
	ASSERT_EQ(0, run_on_cpu(self->cpu));
	ASSERT_EQ(0, write_events(&self->ti, 10, EVENT_LARGE));
	ASSERT_EQ(0, buffer_map(&mb, &self->ti, self->cpu, O_NONBLOCK));
	EXPECT_EQ(self->ti.subbuf_kb * 1024, mb.meta->subbuf_size);
	ASSERT_LT(0, tally_drain(&tally, &mb));
	EXPECT_EQ(10, tally.seen);
	buffer_unmap(&mb);
}

/* The lines of an open "trace" that have @text, or a negative number if there is no end. */
static int lines_with(int fd, const char *text)
{
	char page[4096 + 1], *at;
	int lines = 0, reads;
	ssize_t len;

	for (reads = 0; reads < 100; reads++) {
		len = read(fd, page, sizeof(page) - 1);
		if (len <= 0)
			return len < 0 ? -errno : lines;
		page[len] = '\0';
		for (at = page; (at = strstr(at, text)); at++)
			lines++;
	}
	return -EOVERFLOW;
}

/* READ-27: The instance was made without that CPU. */
TEST_F(late_cpu, a_trace_has_an_end_although_a_cpu_comes_up)
{
	struct trace_instance *ti = &self->ti;
	int trace;

	if (self->cpu < 0)
		SKIP(return, "no CPU was left down: boot with maxcpus=");
	ASSERT_EQ(0, instance_write(ti, "trace_marker", "before"));
	trace = instance_file(ti, "trace", O_RDONLY);
	ASSERT_LE(0, trace);
	ASSERT_EQ(0, switch_cpu_online(self->cpu, true));
	ASSERT_EQ(0, run_on_cpu(self->cpu));
	ASSERT_EQ(0, instance_write(ti, "trace_marker", "after"));
	EXPECT_EQ(1, lines_with(trace, "before"));
	close(trace);
	trace = instance_file(ti, "trace", O_RDONLY);
	ASSERT_LE(0, trace);
	EXPECT_EQ(1, lines_with(trace, "after"));
	close(trace);
}

#define OTHER_KB	3000

static void expect_snapshot_of_late_cpu(struct __test_metadata *_metadata,
					FIXTURE_DATA(late_cpu) * self)
{
	struct trace_instance *ti = &self->ti;

	ASSERT_EQ(0, cpu_write_number(ti, ti->other_cpu, "buffer_size_kb", OTHER_KB));
	ASSERT_EQ(0, switch_cpu_online(self->cpu, true));
	ASSERT_EQ(0, run_on_cpu(self->cpu));
	ASSERT_EQ(0, write_events(ti, 3, EVENT_SMALL));
	EXPECT_EQ(0, cpu_write_number(ti, self->cpu, "snapshot", 1));
	EXPECT_EQ(3, count_trace_lines(ti, "snapshot"));
}

/* SNAP-14 */
TEST_F(late_cpu, a_cpu_that_comes_up_with_another_size_has_snapshots)
{
	if (self->cpu < 0)
		SKIP(return, "no CPU was left down: boot with maxcpus=");
	expect_snapshot_of_late_cpu(_metadata, self);
}

/* SNAP-14: Here there is a snapshot before it comes up. */
TEST_F(late_cpu, a_cpu_that_comes_up_beside_a_snapshot_has_snapshots)
{
	if (self->cpu < 0)
		SKIP(return, "no CPU was left down: boot with maxcpus=");
	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	expect_snapshot_of_late_cpu(_metadata, self);
}

/* HOLD-14: What swaps the two, and does not look at sizes first, is a snapshot of a trigger. */
TEST_F(late_cpu, a_refused_resize_leaves_the_snapshot_of_a_cpu_that_came_up)
{
	struct trace_instance *ti = &self->ti;
	long long late_kb;
	int snapshot;

	if (self->cpu < 0)
		SKIP(return, "no CPU was left down: boot with maxcpus=");
	ASSERT_EQ(0, instance_write(ti, "snapshot", "1"));
	ASSERT_EQ(0, cpu_write_number(ti, ti->other_cpu, "buffer_size_kb", OTHER_KB));
	ASSERT_EQ(0, switch_cpu_online(self->cpu, true));
	late_kb = cpu_number(ti, self->cpu, "buffer_size_kb");
	EXPECT_EQ(-ENOMEM, instance_write_number(ti, "buffer_size_kb", memory_kb("MemTotal")));
	EXPECT_EQ(late_kb, cpu_number(ti, self->cpu, "buffer_size_kb"));
	ASSERT_EQ(0, instance_write(ti, PRINT_TRIGGER, "snapshot"));
	ASSERT_EQ(0, instance_write(ti, "trace_marker", "taken"));
	snapshot = instance_file(ti, "snapshot", O_RDONLY);
	ASSERT_LE(0, snapshot);
	EXPECT_EQ(1, lines_with(snapshot, "taken"));
	close(snapshot);
	EXPECT_EQ(late_kb, cpu_number(ti, self->cpu, "buffer_size_kb"));
	EXPECT_EQ(0, instance_write(ti, PRINT_TRIGGER, "!snapshot"));
}

/* SNAP-14: The others have one size again when it is shown. */
TEST_F(late_cpu, a_cpu_that_comes_up_with_another_size_shows_it)
{
	struct trace_instance *ti = &self->ti;
	long long kb = cpu_number(ti, ti->other_cpu, "buffer_size_kb"), late_kb;
	char all[32];

	if (self->cpu < 0)
		SKIP(return, "no CPU was left down: boot with maxcpus=");
	ASSERT_EQ(0, cpu_write_number(ti, ti->other_cpu, "buffer_size_kb", OTHER_KB));
	ASSERT_EQ(0, switch_cpu_online(self->cpu, true));
	ASSERT_EQ(0, cpu_write_number(ti, ti->other_cpu, "buffer_size_kb", kb));
	ASSERT_LT(0, instance_read(ti, "buffer_size_kb", all, sizeof(all)));
	EXPECT_STREQ("X\n", all);
	late_kb = cpu_number(ti, self->cpu, "buffer_size_kb");
	EXPECT_LT(0, late_kb);
	EXPECT_GT(kb, late_kb);
}

TEST_HARNESS_MAIN

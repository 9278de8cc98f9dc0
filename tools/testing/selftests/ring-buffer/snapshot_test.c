// SPDX-License-Identifier: GPL-2.0
/*
 * What counts on the snapshot buffer keeps it: it is not freed while a trigger
 * may take a snapshot at any time. (Function probes are in
 * ftrace_exclusion_test.c.)
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/wait.h>

#include "buffer_fixture.h"

FIXTURE(snapshot) {
	struct trace_instance	ti;
};

FIXTURE_VARIANT(snapshot) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(snapshot, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(snapshot, instance_large) INSTANCE_LARGE;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(snapshot, top_level_large) TOP_LEVEL_LARGE;
FIXTURE_VARIANT_ADD(snapshot, instance) INSTANCE;
#endif

FIXTURE_SETUP(snapshot)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
}

FIXTURE_TEARDOWN(snapshot)
{
	instance_write(&self->ti, PRINT_TRIGGER, "!snapshot");
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "0"));
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* The file says so as long as the buffer holds no event. */
static bool snapshot_is_allocated(struct trace_instance *ti)
{
	char text[4096];

	return instance_read(ti, "snapshot", text, sizeof(text)) > 0 &&
	       !strstr(text, "* Snapshot is freed *");
}

/*
 * The trigger of the print event works: what was in the buffer when a marker
 * is written goes into the snapshot, and tracing goes on.
 */
static void expect_trigger_works(struct __test_metadata *_metadata,
				 struct trace_instance *ti)
{
	int trace = instance_file(ti, "trace", O_WRONLY | O_TRUNC);

	ASSERT_LE(0, trace);
	close(trace);
	ASSERT_EQ(0, instance_write(ti, "snapshot", "2"));
	EXPECT_EQ(0, count_trace_lines(ti, "snapshot"));
	ASSERT_EQ(0, write_events(ti, 3, EVENT_LARGE));
	ASSERT_EQ(0, instance_write(ti, "trace_marker", "now"));
	EXPECT_EQ(1, instance_number(ti, "tracing_on"));
	EXPECT_EQ(3, count_trace_lines(ti, "snapshot"));
}

/* A child that waits beside a snapshot, and exits with 0 when it has read some bytes */
static pid_t fork_waiting_reader(struct __test_metadata *_metadata, struct trace_instance *ti,
				 int fd)
{
	static char bytes[64 * 1024];
	pid_t pid;

	EXPECT_EQ(0, instance_write(ti, "snapshot", "1"));
	pid = fork();
	if (!pid)
		_exit(read(fd, bytes, sizeof(bytes)) <= 0);
	EXPECT_TRUE(pid > 0 && child_sleeps(pid, WOKEN_MS));
	return pid;
}

/* READ-29 */
TEST_F(snapshot, a_reader_of_trace_pipe_waits_for_what_comes_after_it)
{
	int fd = instance_file(&self->ti, "trace_pipe", O_RDONLY);
	pid_t pid;

	ASSERT_LE(0, fd);
	pid = fork_waiting_reader(_metadata, &self->ti, fd);
	ASSERT_LE(0, pid);
	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	EXPECT_EQ(-EAGAIN, child_status(pid, STILL_WAITING_MS));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	EXPECT_EQ(0, ended_child(pid));
	close(fd);
}

/* READ-29 */
TEST_F(snapshot, a_reader_of_snapshot_raw_waits_for_it)
{
	int fd = cpu_file(&self->ti, self->ti.cpu, "snapshot_raw", O_RDONLY);
	pid_t pid;

	ASSERT_LE(0, fd);
	pid = fork_waiting_reader(_metadata, &self->ti, fd);
	ASSERT_LE(0, pid);
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	EXPECT_EQ(-EAGAIN, child_status(pid, STILL_WAITING_MS));
	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	EXPECT_EQ(0, ended_child(pid));
	close(fd);
}

/* READ-29: It does not wait for these events, so few of them wake it, if any. */
TEST_F(snapshot, a_reader_of_snapshot_raw_is_not_woken_by_each_event)
{
	int fd = cpu_file(&self->ti, self->ti.cpu, "snapshot_raw", O_RDONLY);
	long long before, after;
	unsigned int i;
	pid_t pid;

	ASSERT_LE(0, fd);
	pid = fork_waiting_reader(_metadata, &self->ti, fd);
	ASSERT_LE(0, pid);
	ASSERT_EQ(-EAGAIN, child_status(pid, STILL_WAITING_MS));
	before = sleeps_of(pid);
	for (i = 0; i < 200; i++) {
		EXPECT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
		sleep_ms(1);
	}
	after = sleeps_of(pid);
	EXPECT_LE(0, before);
	EXPECT_GT(20, after - before);
	EXPECT_EQ(0, kill_child(pid));
	close(fd);
}

/*
 * Writes 0 to tracing_on, and swaps the buffers meanwhile. The size of another instance's buffer
 * is changed on the CPU of that buffer, which is kept busy: what waits for that holds
 * trace_types_lock, which tracing_on needs. Returns whether the swap came in between.
 */
static bool swap_in_tracing_off(struct trace_instance *ti, struct trace_instance *other,
				int tracing_on, int marker, unsigned int kb)
{
	pid_t hog, resizer, switcher;
	bool between = false;
	int ready[2];
	char c;

	if (pipe(ready))
		return false;
	hog = fork_cpu_hog(ti->cpu, ready[1]);
	if (read(ready[0], &c, 1) != 1)
		return false;
	resizer = fork();
	if (!resizer)
		_exit(cpu_write_number(other, ti->cpu, "buffer_size_kb", kb) != 0);
	child_waits(resizer, 500);
	switcher = fork();
	if (!switcher)
		_exit(write(tracing_on, "0", 1) != 1);
	child_waits(switcher, 500);
	if (child_waits(resizer, 0) && write(marker, "now", 3) == 3) {
		/* A waiter has the time to see the swap, and to wait again. */
		sleep_ms(50);
		between = child_waits(switcher, 0) && child_waits(resizer, 0);
	}
	kill_child(hog);
	between = !ended_child(resizer) && between;
	between = !ended_child(switcher) && between;
	close(ready[0]);
	close(ready[1]);
	return between;
}

/* Exits with 0 at the end of the trace. No other child has its file, and closes that. */
static pid_t fork_splice(struct trace_instance *ti, int pipe)
{
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY);
	_exit(fd < 0 || splice(fd, NULL, pipe, NULL, LARGE_SUBBUF_KB << 10, 0) != 0);
}

/* READ-17: A trigger swaps the buffers while tracing_on waits for its lock. */
TEST_F(snapshot, turning_tracing_off_beside_it_ends_a_splice_of_trace_pipe_raw)
{
	struct trace_instance *ti = &self->ti, other;
	int tracing_on, marker, pipes[2], round;
	bool between = false;
	pid_t pid;

	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(0, instance_open(&other, false, 0));
	ASSERT_EQ(0, instance_write(ti, PRINT_TRIGGER, "snapshot"));
	/* To open these takes the lock, too. */
	tracing_on = instance_file(ti, "tracing_on", O_WRONLY);
	marker = instance_file(ti, "trace_marker", O_WRONLY);
	ASSERT_LE(0, tracing_on);
	ASSERT_LE(0, marker);
	ASSERT_EQ(0, run_on_cpu(ti->other_cpu));
	for (round = 0; round < 10 && !between; round++) {
		pid = fork_splice(ti, pipes[1]);
		ASSERT_LE(0, pid);
		EXPECT_TRUE(child_sleeps(pid, WOKEN_MS));
		EXPECT_EQ(-EAGAIN, child_status(pid, STILL_WAITING_MS));
		between = swap_in_tracing_off(ti, &other, tracing_on, marker,
					      other.subbuf_kb * (TEST_SUBBUFS + 1 + round));
		EXPECT_EQ(0, instance_number(ti, "tracing_on"));
		EXPECT_EQ(0, ended_child(pid))
			TH_LOG("round %d: the swap was %sin between", round, between ? "" : "not ");
		ASSERT_EQ(0, instance_write(ti, "tracing_on", "1"));
	}
	EXPECT_TRUE(between);
	close(tracing_on);
	close(marker);
	close(pipes[0]);
	close(pipes[1]);
	ASSERT_EQ(0, run_on_cpu(ti->cpu));
	EXPECT_EQ(0, instance_close(&other));
}

/* SNAP-7: The first CPU gets its memory, the second does not: all is given back. */
TEST_F(snapshot, a_snapshot_without_memory_for_each_cpu_keeps_none)
{
	struct trace_instance *ti = &self->ti;
	long long kb = memory_kb("MemAvailable") / 20, before, after;
	int first = ti->cpu < ti->other_cpu ? ti->cpu : ti->other_cpu;

	ASSERT_LT(0, kb);
	ASSERT_EQ(0, cpu_write_number(ti, first, "buffer_size_kb", 3 * kb));
	ASSERT_EQ(0, cpu_write_number(ti, ti->cpu + ti->other_cpu - first, "buffer_size_kb",
				      8 * kb));
	before = memory_kb("MemAvailable");
	EXPECT_EQ(-ENOMEM, instance_write(ti, "snapshot", "1"));
	after = memory_kb("MemAvailable");
	EXPECT_GT(kb, before - after)
		TH_LOG("%lld KiB before, %lld after", before, after);
	EXPECT_FALSE(snapshot_is_allocated(ti));
	ASSERT_EQ(0, cpu_write(ti, ti->cpu, "buffer_size_kb", "8"));
	ASSERT_EQ(0, cpu_write(ti, ti->other_cpu, "buffer_size_kb", "8"));
}

/* How many sub-buffers this CPU's buffer has. */
static unsigned int count_subbufs(struct trace_instance *ti)
{
	struct mapped_buffer mb;
	unsigned int nr;

	if (map_it(&mb, ti))
		return 0;
	nr = mb.meta->nr_subbufs;
	buffer_unmap(&mb);
	return nr;
}

/* A snapshot that a trigger takes swaps the two buffers as they are. */
static int swap_buffers(struct trace_instance *ti)
{
	int err = instance_write(ti, "trace_marker", "now");

	/* Beside the trigger nothing is mapped. */
	return err ? err : instance_write(ti, PRINT_TRIGGER, "!snapshot");
}

/* READ-35: Only the reader of "trace" ends the pause. */
TEST_F(snapshot, reading_it_does_not_end_a_pause_of_the_trace)
{
	int fd;

	ASSERT_EQ(0, instance_write(&self->ti, "options/pause-on-trace", "1"));
	fd = instance_file(&self->ti, "trace", O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, count_trace_lines(&self->ti, "snapshot"));
	EXPECT_NE(0, write_events(&self->ti, 1, EVENT_LARGE));
	close(fd);
	EXPECT_EQ(0, write_events(&self->ti, 1, EVENT_LARGE));
	EXPECT_EQ(1, count_trace_lines(&self->ti, "trace"));
	ASSERT_EQ(0, instance_write(&self->ti, "options/pause-on-trace", "0"));
}

/* SNAP-15: The size of the snapshot buffer is seen once it is the other one. */
TEST_F(snapshot, it_shrinks_with_the_buffer)
{
	struct trace_instance *ti = &self->ti;
	unsigned int nr = count_subbufs(ti);

	ASSERT_EQ(0, instance_write(ti, PRINT_TRIGGER, "snapshot"));
	ASSERT_EQ(0, instance_write_number(ti, "buffer_size_kb", TEST_SUBBUFS / 2 * ti->subbuf_kb));
	ASSERT_EQ(0, swap_buffers(ti));
	EXPECT_EQ(nr - TEST_SUBBUFS / 2, count_subbufs(ti));
	/* The buffer of this CPU alone. */
	ASSERT_EQ(0, instance_write(ti, PRINT_TRIGGER, "snapshot"));
	ASSERT_EQ(0, cpu_write_number(ti, ti->cpu, "buffer_size_kb",
				      (TEST_SUBBUFS / 2 - 1) * ti->subbuf_kb));
	ASSERT_EQ(0, swap_buffers(ti));
	EXPECT_EQ(nr - TEST_SUBBUFS / 2 - 1, count_subbufs(ti));
}

/* SNAP-10 */
TEST_F(snapshot, freeing_it_is_refused_with_EBUSY_beside_a_trigger)
{
	ASSERT_EQ(0, instance_write(&self->ti, PRINT_TRIGGER, "snapshot"));
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, "snapshot", "0"));
	EXPECT_TRUE(snapshot_is_allocated(&self->ti));
	expect_trigger_works(_metadata, &self->ti);
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, "snapshot", "0"));
	EXPECT_EQ(3, count_trace_lines(&self->ti, "snapshot"));
}

/* SNAP-10: A trigger that has fired as often as it was to is still set. */
TEST_F(snapshot, freeing_it_is_refused_until_the_trigger_is_removed)
{
	ASSERT_EQ(0, instance_write(&self->ti, PRINT_TRIGGER, "snapshot:1"));
	expect_trigger_works(_metadata, &self->ti);
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, "snapshot", "0"));
	ASSERT_EQ(0, instance_write(&self->ti, PRINT_TRIGGER, "!snapshot"));
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "0"));
	EXPECT_FALSE(snapshot_is_allocated(&self->ti));
}

/* SNAP-10: Taking and clearing one takes nothing from the trigger. */
TEST_F(snapshot, taking_and_clearing_it_go_on_beside_a_trigger)
{
	ASSERT_EQ(0, instance_write(&self->ti, PRINT_TRIGGER, "snapshot"));
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	EXPECT_EQ(5, count_trace_lines(&self->ti, "snapshot"));
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "2"));
	EXPECT_EQ(0, count_trace_lines(&self->ti, "snapshot"));
	expect_trigger_works(_metadata, &self->ti);
}

#ifndef NO_HIST_TRIGGERS
#define FORK_TRIGGER	"events/sched/sched_process_fork/trigger"
#define FORK_HIST	"hist:keys=parent_pid:child=child_pid:onchange($child).snapshot()"
#define KFREE_TRIGGER	"events/kmem/kfree/trigger"

/* One that takes a snapshot whenever this process forks, behind the "!" to remove it. */
static const char *histogram(void)
{
	static const char format[] =
		"!hist:keys=parent_pid:c=child_pid:onchange($c).snapshot() if parent_pid == %d";
	static char hist[128];

	snprintf(hist, sizeof(hist), format, getpid());
	return hist;
}

/* SNAP-12: One that a trigger would take, when a marker is written. */
TEST_F(snapshot, a_histograms_snapshot_is_kept_beside_a_plain_one)
{
	int pid;

	ASSERT_EQ(0, instance_write(&self->ti, FORK_TRIGGER, histogram() + 1));
	ASSERT_EQ(0, instance_write(&self->ti, PRINT_TRIGGER, "snapshot"));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	pid = fork();
	if (!pid)
		_exit(0);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_EQ(3, count_trace_lines(&self->ti, "snapshot"));
	ASSERT_EQ(0, write_events(&self->ti, 2, EVENT_LARGE));
	ASSERT_EQ(0, instance_write(&self->ti, "trace_marker", "now"));
	EXPECT_EQ(3, count_trace_lines(&self->ti, "snapshot"));
	EXPECT_EQ(2, count_trace_lines(&self->ti, "trace"));
	EXPECT_EQ(0, instance_write(&self->ti, FORK_TRIGGER, histogram()));
}

/* SNAP-12: What the histogram had is freed, which is the event of the trigger. */
TEST_F(snapshot, a_histograms_snapshot_goes_beside_a_trigger_of_kfree)
{
	char trigger[64];

	snprintf(trigger, sizeof(trigger), "!snapshot if common_pid == %d", getpid());
	ASSERT_EQ(0, instance_write(&self->ti, FORK_TRIGGER, histogram() + 1));
	ASSERT_EQ(0, instance_write(&self->ti, KFREE_TRIGGER, trigger + 1));
	EXPECT_EQ(0, instance_write(&self->ti, FORK_TRIGGER, histogram()));
	EXPECT_EQ(0, instance_write(&self->ti, KFREE_TRIGGER, trigger));
	EXPECT_EQ(1, instance_number(&self->ti, "tracing_on"));
}
#endif

/* Only the top level can have a latency tracer. */
FIXTURE(latency) {
	struct trace_instance	ti;
};

FIXTURE_SETUP(latency)
{
	ASSERT_EQ(0, instance_open(&self->ti, true, 0));
	/* No function of the kernel is to be patched. */
	ASSERT_EQ(0, instance_write(&self->ti, "options/function-trace", "0"));
}

FIXTURE_TEARDOWN(latency)
{
	instance_write(&self->ti, "current_tracer", "nop");
	instance_write(&self->ti, PRINT_TRIGGER, "!snapshot");
	instance_write(&self->ti, "options/function-trace", "1");
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* SNAP-11: The tracer was there first, or the trigger. */
TEST_F(latency, a_latency_tracer_that_goes_leaves_it_to_a_trigger)
{
	ASSERT_EQ(0, instance_write(&self->ti, "current_tracer", "wakeup"));
	ASSERT_EQ(0, instance_write(&self->ti, PRINT_TRIGGER, "snapshot"));
	ASSERT_EQ(0, instance_write(&self->ti, "current_tracer", "nop"));
	expect_trigger_works(_metadata, &self->ti);
	ASSERT_EQ(0, instance_write(&self->ti, "current_tracer", "wakeup"));
	ASSERT_EQ(0, instance_write(&self->ti, "current_tracer", "nop"));
	expect_trigger_works(_metadata, &self->ti);
}

#ifndef NO_HIST_TRIGGERS
/* SNAP-7: A histogram's snapshot, refused because of the tracer. */
TEST_F(latency, a_histogram_refused_for_a_latency_tracer_does_not_count)
{
	int fd;

	ASSERT_EQ(0, instance_write(&self->ti, "current_tracer", "wakeup"));
	EXPECT_NE(0, instance_write(&self->ti, FORK_TRIGGER, FORK_HIST));
	ASSERT_EQ(0, instance_write(&self->ti, "current_tracer", "nop"));
	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, map_error(fd, getpagesize(), PROT_READ, MAP_SHARED, 0));
	close(fd);
}
#endif

/* SNAP-11 */
TEST_F(latency, a_latency_tracer_that_goes_frees_it_where_nothing_else_needs_it)
{
	ASSERT_EQ(0, instance_write(&self->ti, "current_tracer", "wakeup"));
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, "snapshot", "0"));
	ASSERT_EQ(0, instance_write(&self->ti, "current_tracer", "nop"));
	EXPECT_FALSE(snapshot_is_allocated(&self->ti));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots taken by function probes, and mappings. These tests patch kernel
 * functions, which is why they have a program of their own: some emulators do
 * that well only with one thread for all CPUs.
 */
#define _GNU_SOURCE
#include <fcntl.h>

#include "buffer_fixture.h"

/* A function that is not called meanwhile. */
#define FUNCTION	"free_uid"
#define PROBE		FUNCTION ":snapshot"

FIXTURE(probe) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;
	int			fd;
};

FIXTURE_VARIANT(probe) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(probe, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(probe, instance_large) INSTANCE_LARGE;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(probe, top_level_large) TOP_LEVEL_LARGE;
FIXTURE_VARIANT_ADD(probe, instance) INSTANCE;
#endif

FIXTURE_SETUP(probe)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	self->mb.fd = -1;
	self->fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(probe)
{
	buffer_unmap(&self->mb);
	close(self->fd);
	instance_write(&self->ti, "set_ftrace_filter", "!" PROBE "\n");
	instance_write(&self->ti, "current_tracer", "nop");
	instance_write(&self->ti, "set_ftrace_filter", "");
	EXPECT_EQ(0, instance_close(&self->ti));
}

static int mmap_errno(int fd)
{
	return map_error(fd, getpagesize(), PROT_READ, MAP_SHARED, 0);
}

static bool probe_is_set(struct trace_instance *ti)
{
	char text[4096];

	return instance_read(ti, "set_ftrace_filter", text, sizeof(text)) > 0 &&
	       strstr(text, PROBE);
}

/* SNAP-4 */
TEST_F(probe, a_snapshot_probe_makes_mmap_answer_EBUSY)
{
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", PROBE "\n"));
	EXPECT_TRUE(probe_is_set(&self->ti));
	EXPECT_EQ(EBUSY, mmap_errno(self->fd));
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", "!" PROBE "\n"));
	EXPECT_FALSE(probe_is_set(&self->ti));
	EXPECT_EQ(0, mmap_errno(self->fd));
}

/* SNAP-4 */
TEST_F(probe, a_counted_snapshot_probe_makes_mmap_answer_EBUSY)
{
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", PROBE ":3\n"));
	EXPECT_EQ(EBUSY, mmap_errno(self->fd));
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter",
				    "!" PROBE ":3\n"));
	EXPECT_EQ(0, mmap_errno(self->fd));
}

/* SNAP-7: A probe that could not be set leaves no user. */
TEST_F(probe, a_snapshot_probe_that_failed_does_not_count)
{
	EXPECT_NE(0, instance_write(&self->ti, "set_ftrace_filter",
				    "no_such_function_here:snapshot\n"));
	EXPECT_EQ(0, mmap_errno(self->fd));
	EXPECT_NE(0, instance_write(&self->ti, "set_ftrace_filter",
				    FUNCTION ":snapshot:x\n"));
	EXPECT_EQ(0, mmap_errno(self->fd));
	EXPECT_NE(0, instance_write(&self->ti, "set_ftrace_filter",
				    "!" PROBE "\n"));
	EXPECT_EQ(0, mmap_errno(self->fd));
}

/* SNAP-4: Of two, each has to go; the same one again is no second user. */
TEST_F(probe, each_snapshot_probe_counts)
{
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", PROBE "\n"));
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter",
				    "free_task:snapshot:1\n"));
	EXPECT_EQ(EBUSY, mmap_errno(self->fd));
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", "!" PROBE "\n"));
	EXPECT_EQ(EBUSY, mmap_errno(self->fd));
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter",
				    "!free_task:snapshot:1\n"));
	EXPECT_EQ(0, mmap_errno(self->fd));
}

/* SNAP-4: What is removed from one function leaves nothing there that keeps it from coming back. */
TEST_F(probe, a_counted_snapshot_probe_can_be_set_again_beside_another)
{
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", PROBE ":1\n"));
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", "free_task:snapshot:1\n"));
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", "!" PROBE ":1\n"));
	EXPECT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", PROBE ":1\n"));
	EXPECT_TRUE(probe_is_set(&self->ti));
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", "!free_task:snapshot:1\n"));
	EXPECT_EQ(EBUSY, mmap_errno(self->fd));
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", "!" PROBE ":1\n"));
	EXPECT_EQ(0, mmap_errno(self->fd));
}

/* SNAP-4: One write may remove what several have set. */
TEST_F(probe, probes_that_are_removed_at_once_leave_no_user)
{
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", PROBE "\n"));
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", "free_task:snapshot\n"));
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", "!*:snapshot\n"));
	EXPECT_FALSE(probe_is_set(&self->ti));
	EXPECT_EQ(0, mmap_errno(self->fd));
}

/* SNAP-4: And several what one has set, of free_task() and free_uid(). */
TEST_F(probe, probes_that_are_removed_one_by_one_count_to_the_last)
{
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter",
				    "free_[tu][ai][sd]*:snapshot\n"));
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", "!" PROBE "\n"));
	EXPECT_EQ(EBUSY, mmap_errno(self->fd));
	EXPECT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", "!*:snapshot\n"));
	EXPECT_EQ(0, mmap_errno(self->fd));
}

/* SNAP-10: Freeing the snapshot buffer is refused while a probe counts on it. */
TEST_F(probe, freeing_the_snapshot_is_refused_with_EBUSY_beside_a_probe)
{
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", PROBE "\n"));
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, "snapshot", "0"));
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", "!" PROBE "\n"));
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "0"));
}

/* Once there is no other process of this user: what was in the buffer goes into the snapshot. */
static void call_the_function(struct __test_metadata *_metadata)
{
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(setuid(54321));
	EXPECT_EQ(0, child_status(pid, WOKEN_MS));
	/* The user goes when RCU lets the process go. */
	sleep_ms(STILL_WAITING_MS);
}

/* SNAP-13 */
TEST_F(probe, a_counted_snapshot_probe_takes_as_many_as_it_was_told)
{
	struct trace_instance *ti = &self->ti;

	ASSERT_EQ(0, instance_write(ti, "set_ftrace_filter", PROBE ":1\n"));
	ASSERT_EQ(0, write_events(ti, 3, EVENT_LARGE));
	call_the_function(_metadata);
	EXPECT_EQ(3, count_trace_lines(ti, "snapshot"));
	ASSERT_EQ(0, write_events(ti, 5, EVENT_LARGE));
	call_the_function(_metadata);
	EXPECT_EQ(3, count_trace_lines(ti, "snapshot"));
	ASSERT_EQ(0, instance_write(ti, "set_ftrace_filter", "!" PROBE ":1\n"));
}

/* SNAP-2 */
TEST_F(probe, setting_a_snapshot_probe_while_mapped_is_refused_with_EBUSY)
{
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, "set_ftrace_filter", PROBE "\n"));
	EXPECT_FALSE(probe_is_set(&self->ti));
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", PROBE "\n"));
	EXPECT_TRUE(probe_is_set(&self->ti));
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", "!" PROBE "\n"));
	EXPECT_EQ(0, mmap_errno(self->fd));
}

static ssize_t set_function_tracer(struct trace_instance *ti)
{
	ssize_t ret = instance_write(ti, "set_ftrace_filter", FUNCTION "\n");

	return ret ? ret : instance_write(ti, "current_tracer", "function");
}

static bool has_function_tracer(struct trace_instance *ti)
{
	char text[64];

	return instance_read(ti, "current_tracer", text, sizeof(text)) > 0 &&
	       !strcmp(text, "function\n");
}

/* SNAP-7: A mapping keeps every other tracer out, trace_live those that swap buffers. */
TEST_F(probe, a_latency_tracer_refused_beside_an_observer_leaves_the_one_that_is_set)
{
	close(self->fd);
	ASSERT_EQ(0, set_function_tracer(&self->ti));
	self->fd = cpu_file(&self->ti, self->ti.cpu, "trace_live", O_RDONLY);
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, "current_tracer", "wakeup"));
	EXPECT_TRUE(has_function_tracer(&self->ti));
}

/* SNAP-7: There is no memory for a second buffer of that size. */
TEST_F(probe, a_latency_tracer_without_memory_leaves_the_one_that_is_set)
{
	long long kb = memory_kb("MemAvailable") / 10 * 6;

	close(self->fd);
	self->fd = -1;
	ASSERT_EQ(0, set_function_tracer(&self->ti));
	ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb", kb));
	EXPECT_EQ(-ENOMEM, instance_write(&self->ti, "current_tracer", "wakeup"));
	EXPECT_TRUE(has_function_tracer(&self->ti));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshot users, and memory that is not there: each allocation fails once, in
 * everything that takes a snapshot or is set to take one. Who could not be set
 * does not count, nor who is gone: the buffer can be mapped.
 *
 * Probes of functions are in ftrace_fault_test. See fault_test for what it needs.
 */
#define _GNU_SOURCE
#include "fault_fixture.h"

/* An event that does not occur while a trigger of it is set. */
#define TRIGGER		"events/sched/sched_process_free/trigger"

/*
 * Names of processes are recorded from the first event on. Where there is no
 * memory to begin that, Linux 6.1 warns at its end.
 */
static int record_names(FIXTURE_DATA(map) * self, bool record)
{
	return instance_write(&self->ti, "events/module/module_free/enable", record ? "1" : "0");
}

static int take_snapshot_of_cpu(FIXTURE_DATA(map) * self)
{
	return cpu_write(&self->ti, self->ti.cpu, "snapshot", "1");
}

static int set_trigger(FIXTURE_DATA(map) * self)
{
	return instance_write(&self->ti, TRIGGER, "snapshot");
}

static int remove_trigger(FIXTURE_DATA(map) * self)
{
	return instance_write(&self->ti, TRIGGER, "!snapshot");
}

static int after_setting(FIXTURE_DATA(map) * self, int err)
{
	return err ? 0 : remove_trigger(self);
}

static int after_removal(FIXTURE_DATA(map) * self, int err)
{
	return err ? remove_trigger(self) : 0;
}

/* MEM-7 */
TEST_F_TIMEOUT(map, snapshot_without_memory_leaves_no_user, FAULT_TIMEOUT)
{
	static const struct operation ops[] = {
		{ "snapshot", .call = take_snapshot },
		{ "snapshot of a CPU", .call = take_snapshot_of_cpu },
		{ "snapshot trigger", .call = set_trigger, .after = after_setting },
		{ "!snapshot trigger", set_trigger, remove_trigger, after_removal },
	};
	size_t i;

	ASSERT_EQ(0, prepare(self));
	ASSERT_EQ(0, record_names(self, true));
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		fail_each(_metadata, self, &ops[i], expect_mappable);
	ASSERT_EQ(0, record_names(self, false));
}

/*
 * Of the latency tracers it is this one: without memory for their tracepoints the
 * others of Linux 6.1 do not start, say nothing, and warn when they are stopped.
 */
static int set_tracer(FIXTURE_DATA(map) * self)
{
	return instance_write(&self->ti, "current_tracer", "irqsoff");
}

static int set_nop(FIXTURE_DATA(map) * self)
{
	return instance_write(&self->ti, "current_tracer", "nop");
}

static int after_tracer(FIXTURE_DATA(map) * self, int err)
{
	return err ? 0 : set_nop(self);
}

static int after_nop(FIXTURE_DATA(map) * self, int err)
{
	return err ? set_nop(self) : 0;
}

/* No tracer is set while a trace_pipe_raw is open. */
static void expect_mappable_anew(struct __test_metadata *_metadata, FIXTURE_DATA(map) * self)
{
	char text[64];

	ASSERT_LT(0, instance_read(&self->ti, "current_tracer", text, sizeof(text)));
	EXPECT_STREQ("nop\n", text);
	self->fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	/* What it has traced is of no interest. */
	ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
	expect_mappable(_metadata, self);
	close(self->fd);
	self->fd = -1;
}

/* MEM-7 */
TEST_F_TIMEOUT(map, latency_tracer_without_memory_leaves_no_user, FAULT_TIMEOUT)
{
	static const struct operation ops[] = {
		{ "latency tracer", .call = set_tracer, .after = after_tracer },
		{ "no latency tracer", set_tracer, set_nop, after_nop },
	};
	size_t i;

	ASSERT_EQ(0, prepare(self));
	close(self->fd);
	close(self->rw_fd);
	self->fd = -1;
	self->rw_fd = -1;
	/* No function of the kernel is to be patched. */
	ASSERT_EQ(0, instance_write(&self->ti, "options/function-trace", "0"));
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		fail_each(_metadata, self, &ops[i], expect_mappable_anew);
	ASSERT_EQ(0, instance_write(&self->ti, "options/function-trace", "1"));
}

TEST_HARNESS_MAIN

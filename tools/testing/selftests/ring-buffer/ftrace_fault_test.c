// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots taken by function probes, and memory that is not there: each
 * allocation fails once when a probe is set. As ftrace_exclusion_test, these
 * tests patch kernel functions, and have a program of their own.
 *
 * See fault_test for what they need.
 */
#define _GNU_SOURCE
#include "fault_fixture.h"

/* Functions that are not called meanwhile. */
#define PROBE		"free_uid:snapshot"
#define OTHER_PROBE	"orderly_poweroff:snapshot"

static int set_probe(FIXTURE_DATA(map) * self)
{
	return instance_write(&self->ti, "set_ftrace_filter", PROBE "\n");
}

static int remove_probe(FIXTURE_DATA(map) * self)
{
	return instance_write(&self->ti, "set_ftrace_filter", "!" PROBE "\n");
}

static int after_probe(FIXTURE_DATA(map) * self, int err)
{
	return err ? 0 : remove_probe(self);
}

static int set_counted_probe(FIXTURE_DATA(map) * self)
{
	return instance_write(&self->ti, "set_ftrace_filter", PROBE ":3\n");
}

static int after_counted_probe(FIXTURE_DATA(map) * self, int err)
{
	return err ? 0 : instance_write(&self->ti, "set_ftrace_filter", "!" PROBE ":3\n");
}

static int set_other_probe(FIXTURE_DATA(map) * self)
{
	return instance_write(&self->ti, "set_ftrace_filter", OTHER_PROBE "\n");
}

/* The first one counts until it is removed, whatever became of the second. */
static int after_other_probe(FIXTURE_DATA(map) * self, int err)
{
	if (!err)
		err = instance_write(&self->ti, "set_ftrace_filter", "!" OTHER_PROBE "\n");
	else
		err = 0;
	if (map_error(self->fd, self->page, PROT_READ, MAP_SHARED, 0) != EBUSY)
		err = -EIO;
	return remove_probe(self) ?: err;
}

/*
 * MEM-7: Not here, as Linux 6.1 loses what it has allocated: a second function of a
 * counted probe (see ftrace_count_snapshot_init()), and the removal of a probe.
 */
TEST_F_TIMEOUT(map, snapshot_probe_without_memory_leaves_no_user, FAULT_TIMEOUT)
{
	static const struct operation ops[] = {
		{ "snapshot probe", .call = set_probe, .after = after_probe },
		{ "counted snapshot probe",
		  .call = set_counted_probe, .after = after_counted_probe },
		{ "another function of a snapshot probe",
		  set_probe, set_other_probe, after_other_probe },
	};
	size_t i;

	ASSERT_EQ(0, prepare(self));
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		fail_each(_metadata, self, &ops[i], expect_mappable);
}

TEST_HARNESS_MAIN

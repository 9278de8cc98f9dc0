/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fixtures of these tests share: each test runs in the top level and
 * in an instance, with sub-buffers of one page and larger ones. And what is
 * checked of a buffer: that a mapping is there and works, or that nothing holds
 * it.
 */
#ifndef SELFTEST_RING_BUFFER_FIXTURE_H
#define SELFTEST_RING_BUFFER_FIXTURE_H

#include <fcntl.h>
#include <limits.h>

#include "../kselftest_harness.h"

#include "poller.h"
#include "subbuf.h"
#include "tracefs.h"

/* Emulated machines with a debug kernel are slow. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 120

#define LARGE_SUBBUF_KB	64

/* Long enough for a waiter to have returned, had it been woken. */
#define STILL_WAITING_MS	300
/* Long enough for a waiter that was woken, on the slowest machine. */
#define WOKEN_MS		20000

/*
 * Some architectures have no histograms in 6.1: -DNO_HIST_TRIGGERS leaves out
 * what is tested by them.
 */

/*
 * The variants of a fixture: struct { bool top; unsigned int subbuf_kb; }.
 * The first and the last have both levels and both sizes between them: with
 * -DTWO_BUFFERS, where a kernel is very slow, the others are left out.
 */
#define TOP_LEVEL	{ .top = true, .subbuf_kb = 0 }
#define TOP_LEVEL_LARGE	{ .top = true, .subbuf_kb = LARGE_SUBBUF_KB }
#define INSTANCE	{ .top = false, .subbuf_kb = 0 }
#define INSTANCE_LARGE	{ .top = false, .subbuf_kb = LARGE_SUBBUF_KB }

/* poll(), select() and epoll agree whether the file is readable. */
static inline void expect_readable(struct __test_metadata *_metadata, int fd,
				   int readable)
{
	size_t i;

	for (i = 0; i < NR_POLLERS; i++) {
		EXPECT_EQ(readable, pollers[i].readable(fd, 0))
			TH_LOG("%s", pollers[i].name);
	}
}

/*
 * A child that sleeps until @fd is readable, and says by its status that it was; on
 * the other CPU than the writer's. An errno, if it does not sleep.
 */
static inline pid_t fork_sleeper(const struct trace_instance *ti, int fd, size_t poller)
{
	pid_t pid = fork();

	if (!pid) {
		run_on_cpu(ti->other_cpu);
		_exit(pollers[poller].readable(fd, WOKEN_MS) != 1);
	}
	if (pid < 0 || child_sleeps(pid, WOKEN_MS))
		return pid;
	kill_child(pid);
	return -EAGAIN;
}

/* The sleeper @pid goes on sleeping, until @nr events are written: they wake it. */
static inline void expect_woken_by_events(struct __test_metadata *_metadata,
					  struct trace_instance *ti, pid_t pid, size_t poller,
					  unsigned int nr, size_t size)
{
	ASSERT_LT(0, pid);
	ASSERT_EQ(-EAGAIN, child_status(pid, STILL_WAITING_MS))
		TH_LOG("%s", pollers[poller].name);
	ASSERT_EQ(0, write_events(ti, nr, size));
	EXPECT_EQ(0, child_status(pid, WOKEN_MS / 2))
		TH_LOG("%s", pollers[poller].name);
}

/* The status of a child that is to end now. -EAGAIN, if it goes on: then it is killed. */
static inline int ended_child(pid_t pid)
{
	int status = child_status(pid, WOKEN_MS);

	if (status == -EAGAIN)
		kill_child(pid);
	return status;
}

/* Map this CPU's buffer, and begin to write on the other CPU without an end, as a child. */
static inline pid_t fork_writer_beside(struct mapped_buffer *mb, struct trace_instance *ti)
{
	int err = run_on_cpu(ti->other_cpu);

	if (!err)
		err = buffer_map(mb, ti, ti->cpu, 0);
	return err ? err : fork_writer(ti, UINT_MAX, EVENT_SMALL);
}

static inline int map_it(struct mapped_buffer *mb, struct trace_instance *ti)
{
	return buffer_map(mb, ti, ti->cpu, O_NONBLOCK);
}

/* Nothing holds this CPU's buffer: what a mapping excludes, works. */
static inline void expect_unmapped(struct __test_metadata *_metadata,
				   struct trace_instance *ti)
{
	EXPECT_EQ(0, cpu_write_number(ti, ti->cpu, "buffer_size_kb",
				      4 * ti->subbuf_kb));
	EXPECT_EQ(0, instance_write_number(ti, "buffer_size_kb",
					   TEST_SUBBUFS * ti->subbuf_kb));
	EXPECT_EQ(0, instance_write(ti, "snapshot", "1"));
	EXPECT_EQ(0, instance_write(ti, "snapshot", "0"));
}

/* Something maps this CPU's buffer: both kinds of exclusion hold. */
static inline void expect_mapped(struct __test_metadata *_metadata,
				 struct trace_instance *ti)
{
	EXPECT_EQ(-EBUSY, cpu_write_number(ti, ti->cpu, "buffer_size_kb",
					   4 * ti->subbuf_kb));
	EXPECT_EQ(-EBUSY, instance_write(ti, "snapshot", "1"));
}

/* The bytes at @addr are those of the mapping, and so is what comes later. */
static inline void expect_intact(struct __test_metadata *_metadata,
				 struct trace_instance *ti, struct mapped_buffer *mb,
				 struct tally *tally)
{
	buffer_touch(mb);
	ASSERT_EQ(0, write_events(ti, 10, EVENT_LARGE));
	ASSERT_LT(0, tally_drain(tally, mb));
	EXPECT_TRUE(tally_exact(tally));
	EXPECT_EQ(ti->seq, tally->next);
}

#endif /* SELFTEST_RING_BUFFER_FIXTURE_H */

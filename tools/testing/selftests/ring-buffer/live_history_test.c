// SPDX-License-Identifier: GPL-2.0
/*
 * Observers that come and go: what they find that was there before them, that they
 * wait for no other task when they come, and what becomes of the index with the buffer.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "buffer_fixture.h"
#include "user.h"
#include "watcher.h"

FIXTURE(live_history) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;	/* of a consumer */
	struct tally		tally;
	struct watcher		w;
	pid_t			pid;
};

FIXTURE_VARIANT(live_history) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(live_history, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(live_history, instance_large) INSTANCE_LARGE;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(live_history, top_level_large) TOP_LEVEL_LARGE;
FIXTURE_VARIANT_ADD(live_history, instance) INSTANCE;
#endif

FIXTURE_SETUP(live_history)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	self->mb.fd = -1;
	self->w.fd = -1;
}

FIXTURE_TEARDOWN(live_history)
{
	if (self->pid > 0 && !kill(self->pid, 0))
		kill_child(self->pid);
	watcher_close(&self->w);
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, instance_close(&self->ti));
}

static int observe(FIXTURE_DATA(live_history) * self, enum live_start from)
{
	return watcher_open(&self->w, &self->ti, self->ti.cpu, from);
}

/* The buffer is a new one, of about @subbufs, and has a new index. */
static int make_anew(FIXTURE_DATA(live_history) * self, unsigned int subbufs)
{
	static unsigned int turn;

	return cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
				(subbufs + ++turn % 2) * self->ti.subbuf_kb);
}

static void expect_accounted(struct __test_metadata *_metadata,
			     struct trace_instance *ti, struct watcher *w)
{
	ASSERT_LE(0, watch(w));
	EXPECT_TRUE(watcher_exact(w));
	EXPECT_EQ(ti->seq, w->o.count);
	EXPECT_EQ(committed_events(ti, ti->cpu), w->o.count);
}

/* LIVE-23 */
TEST_F(live_history, an_observer_sees_what_came_before_it)
{
	ASSERT_EQ(0, make_anew(self, TEST_SUBBUFS));
	ASSERT_EQ(0, write_events(&self->ti, 5 * self->ti.subbuf_kb, EVENT_LARGE));
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	expect_accounted(_metadata, &self->ti, &self->w);
	EXPECT_EQ(0, self->w.o.before);
	EXPECT_EQ(self->ti.seq, self->w.o.seen);
}

/* LIVE-23: What a resize leaves is consumed, though no slot of the new index describes it. */
TEST_F(live_history, what_a_much_larger_ring_held_is_consumed)
{
	static char page[LARGE_SUBBUF_KB * 1024];
	unsigned int kb = self->ti.subbuf_kb;
	long long before;
	int fd;

	ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb", 400 * kb));
	/* Most of the ring: the last slots are in use. */
	ASSERT_EQ(0, write_events(&self->ti, 350 * kb * 1024 / 420, EVENT_LARGE));
	ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb", 2 * kb));
	before = committed_events(&self->ti, self->ti.cpu);
	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, fd);
	/* A sub-buffer that the writer has left is given away. */
	EXPECT_LT(0, read(fd, page, kb * 1024));
	while (read(fd, page, kb * 1024) > 0)
		;
	EXPECT_EQ(EAGAIN, errno);
	close(fd);

	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	ASSERT_EQ(0, write_events(&self->ti, 20, EVENT_LARGE));
	ASSERT_LE(0, watch(&self->w));
	EXPECT_TRUE(watcher_exact(&self->w));
	EXPECT_EQ(before + 20, committed_events(&self->ti, self->ti.cpu));
}

/* LIVE-23: ... consumed or not: what counts is whether it was overwritten. */
TEST_F(live_history, an_observer_sees_what_was_consumed)
{
	ASSERT_EQ(0, make_anew(self, TEST_SUBBUFS));
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	ASSERT_EQ(0, write_events(&self->ti, 5 * self->ti.subbuf_kb, EVENT_LARGE));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(self->ti.seq, self->tally.seen);
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	expect_accounted(_metadata, &self->ti, &self->w);
	EXPECT_EQ(0, self->w.o.before);
	EXPECT_EQ(self->ti.seq, self->w.o.seen);
}

/* LIVE-23: In any state of ring, reader and writer: what is seen is all there can be. */
TEST_F(live_history, each_observer_is_exact)
{
	struct watcher late;
	int round;

	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	for (round = 0; round < 40; round++) {
		ASSERT_EQ(0, write_events(&self->ti, round * self->ti.subbuf_kb,
					  EVENT_SMALL + 36 * (round % 11)));
		if (round % 3)
			ASSERT_LE(0, tally_get_reader(&self->tally, &self->mb));
		ASSERT_EQ(0, watcher_open(&late, &self->ti, self->ti.cpu,
					  LIVE_FROM_OLDEST));
		expect_accounted(_metadata, &self->ti, &late);
		expect_accounted(_metadata, &self->ti, &self->w);
		watcher_close(&late);
	}
}

/* LIVE-25: Generations of one observer are those of the next. */
TEST_F(live_history, generations_go_on_when_nobody_observes)
{
	uint64_t first, generation;

	ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
	ASSERT_EQ(0, observe(self, LIVE_FROM_NOW));
	first = self->w.map.index->first;
	generation = self->w.map.index->commit_generation;
	watcher_close(&self->w);
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(0, observe(self, LIVE_FROM_NOW));
	EXPECT_EQ(first, self->w.map.index->first);
	EXPECT_LT(generation + TEST_SUBBUFS, self->w.map.index->commit_generation);
}

/* LIVE-25: A position that was told to an observer that is gone may be told to another. */
TEST_F(live_history, a_position_is_good_for_the_next_observer)
{
	struct trace_live_position p;
	int fd;

	ASSERT_EQ(0, observe(self, LIVE_FROM_NOW));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	ASSERT_LT(0, watch(&self->w));
	p = live_position(&self->w.o, 1);
	watcher_close(&self->w);
	fd = live_file(&self->ti, self->ti.cpu);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ioctl(fd, TRACE_LIVE_IOCTL_SET_POSITION, &p));
	EXPECT_EQ(0, poll_readable(fd, 0));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_LARGE));
	EXPECT_EQ(1, poll_readable(fd, 0));
	close(fd);
}

/* LIVE-22: However fast it is written meanwhile */
TEST_F(live_history, an_observer_comes_beside_a_busy_writer)
{
	int round, looks;

	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	self->pid = fork_stubborn_writer(&self->ti, EVENT_SMALL);
	ASSERT_LT(0, self->pid);
	for (round = 0; round < 25; round++) {
		ASSERT_EQ(0, make_anew(self, round % 5 ? 3 : TEST_SUBBUFS));
		sleep_ms(round % 4 * 30);
		ASSERT_EQ(0, observe(self, round % 2 ? LIVE_FROM_OLDEST : LIVE_FROM_NOW))
			TH_LOG("round %d", round);
		for (looks = 0; looks < 200; looks++)
			ASSERT_LE(0, watch_once(&self->w));
		EXPECT_TRUE(watcher_exact(&self->w));
		EXPECT_EQ(0, self->w.resets);
		watcher_close(&self->w);
	}
	sleep_ms(STILL_WAITING_MS);
	EXPECT_EQ(0, kill_child(self->pid));
	self->pid = 0;
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	ASSERT_LE(0, watch(&self->w));
	EXPECT_TRUE(watcher_exact(&self->w));
	EXPECT_LT(0, self->w.o.seen);
	EXPECT_EQ(committed_events(&self->ti, self->ti.cpu), self->w.o.count);
}

#define RT_RUNTIME	"/proc/sys/kernel/sched_rt_runtime_us"

/* A CPU that is not one of the test's: it is brought up, if it has to be. -1: there is none. */
static int third_cpu(const struct trace_instance *ti)
{
	int cpu = 0;

	while (cpu == ti->cpu || cpu == ti->other_cpu)
		cpu++;
	return switch_cpu_online(cpu, true) ? -1 : cpu;
}

static int user_observes(struct trace_instance *ti)
{
	return live_file(ti, ti->cpu) < 0;
}

#define BESIDE		TRACEFS_DIR "/instances/rbtest-beside"

/* What waits for none of a CPU's tasks: hotplug of another CPU, tracefs. */
static int do_much(const struct trace_instance *ti, int cpu)
{
	char tracer[64];
	int err = switch_cpu_online(cpu, false);

	if (!err && instance_read(ti, "current_tracer", tracer, sizeof(tracer)) < 0)
		err = -EIO;
	if (!err && mkdir(BESIDE, 0755))
		err = -errno;
	/* On Linux 6.1 a new size waits for each CPU: RCU does not know all its writers */
	if (!err && has_mainlines_mapping())
		err = write_file(BESIDE "/buffer_subbuf_size_kb", "8");
	return err;
}

/*
 * Whether root's work was done while a task of real time had the CPU. Where that was taken
 * while its ksoftirqd had work, RCU waits for it, and so does hotplug: on every kernel.
 */
static bool works_beside_hog(struct __test_metadata *_metadata, FIXTURE_DATA(live_history) * self,
			     int cpu)
{
	int ready[2], status, i;
	pid_t worker;
	char c;

	ASSERT_EQ(0, pipe(ready));
	self->pid = fork_cpu_hog(self->ti.cpu, ready[1]);
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, user_does(&self->ti, TRACE_GROUP, user_observes));
	worker = fork();
	if (!worker)
		_exit(-do_much(&self->ti, cpu));
	status = child_status(worker, WOKEN_MS);
	EXPECT_EQ(0, kill_child(self->pid));
	self->pid = 0;
	if (status == -EAGAIN)
		EXPECT_EQ(0, child_status(worker, WOKEN_MS));
	EXPECT_EQ(0, rmdir(BESIDE));
	EXPECT_EQ(0, switch_cpu_online(cpu, true));
	return !status;
}

/*
 * LIVE-15: A task of real time has the watched CPU, for ever. Whoever may read opens the file
 * all the same, and root does what it did before.
 */
TEST_F(live_history, an_observer_waits_for_no_task_of_the_watched_cpu)
{
	bool were_two = sysconf(_SC_NPROCESSORS_ONLN) == 2;
	struct trace_instance *ti = &self->ti;
	int other = third_cpu(ti), try = 0;
	char runtime[32];

	if (other < 0)
		SKIP(return, "needs a third CPU");
	ASSERT_LT(0, read_file(RT_RUNTIME, runtime, sizeof(runtime)));
	ASSERT_EQ(0, run_on_cpu(ti->other_cpu));
	ASSERT_EQ(0, make_anew(self, TEST_SUBBUFS));
	ASSERT_EQ(0, grant_by_chgrp(ti, true));
	ASSERT_EQ(0, write_file(RT_RUNTIME, "-1"));
	while (!works_beside_hog(_metadata, self, other) && ++try < 3)
		;
	EXPECT_GT(3, try);
	EXPECT_EQ(0, write_file(RT_RUNTIME, runtime));
	EXPECT_EQ(0, grant_by_chgrp(ti, false));
	EXPECT_EQ(0, switch_cpu_online(other, !were_two));
	expect_unmapped(_metadata, ti);
}

/* LIVE-25: The index goes with the size of its buffer. */
TEST_F(live_history, indexes_that_come_and_go_leak_no_memory)
{
	const unsigned int rounds = 100, kb = 8192;
	long long before = 0, after;
	unsigned int i;

	for (i = 0; i <= rounds; i++) {
		ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
					      kb + i % 2 * self->ti.subbuf_kb));
		if (!i)
			before = memory_kb("VmallocUsed");
	}
	after = memory_kb("VmallocUsed");
	ASSERT_LT(0, before);
	/* An index is a page or more. */
	EXPECT_GT(rounds * getpagesize() / 1024 / 2, after - before)
		TH_LOG("%lld KiB before, %lld after", before, after);
}

/* LIVE-25: Sub-buffers of another size are others, and have another index. */
TEST_F(live_history, the_index_of_another_sub_buffer_size_is_another)
{
	unsigned int kb = 2 * self->ti.subbuf_kb;
	uint64_t generation;

	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	generation = self->w.map.index->commit_generation;
	watcher_close(&self->w);
	ASSERT_EQ(0, instance_write_number(&self->ti, "buffer_subbuf_size_kb", kb));
	self->ti.seq = 0;
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	EXPECT_LT(generation + TEST_SUBBUFS, self->w.map.index->first);
	EXPECT_EQ(self->w.map.index->first, self->w.map.index->commit_generation);
	EXPECT_EQ(kb * 1024, self->w.map.index->subbuf_size);
	ASSERT_EQ(0, write_events(&self->ti, kb, EVENT_LARGE));
	expect_accounted(_metadata, &self->ti, &self->w);
}

/* LIVE-25: The state after the tenth time is that after the first. */
TEST_F(live_history, observers_and_sizes_in_turn)
{
	static const unsigned int subbufs[] = { 3, 40, 8, 200, 2 };
	unsigned int round;
	struct watcher again;

	for (round = 0; round < 20; round++) {
		ASSERT_EQ(0, make_anew(self, subbufs[round % ARRAY_SIZE(subbufs)]));
		ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
		self->ti.seq = 0;
		ASSERT_EQ(0, write_events(&self->ti, round * self->ti.subbuf_kb, EVENT_LARGE));
		ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
		expect_accounted(_metadata, &self->ti, &self->w);
		watcher_close(&self->w);
		ASSERT_EQ(0, write_events(&self->ti, round * self->ti.subbuf_kb, EVENT_LARGE));
		ASSERT_EQ(0, watcher_open(&again, &self->ti, self->ti.cpu,
					  LIVE_FROM_OLDEST));
		expect_accounted(_metadata, &self->ti, &again);
		watcher_close(&again);
	}
}

/* LIVE-25: Memory that was the index of one buffer is that of another one, or is free. */
TEST_F(live_history, a_removed_instance_takes_its_index_along)
{
	struct trace_instance other;
	struct watcher w;
	int i;

	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, instance_open(&other, false, i & 1 ? LARGE_SUBBUF_KB : 0));
		ASSERT_EQ(0, write_events(&other, 30, EVENT_LARGE));
		ASSERT_EQ(0, watcher_open(&w, &other, other.cpu, LIVE_FROM_OLDEST));
		ASSERT_LT(0, watch(&w));
		EXPECT_EQ(30, w.o.seen);
		watcher_close(&w);
		ASSERT_EQ(0, write_events(&other, 30, EVENT_LARGE));
		EXPECT_EQ(0, instance_close(&other));
	}
}

TEST_HARNESS_MAIN

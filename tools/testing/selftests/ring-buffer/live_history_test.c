// SPDX-License-Identifier: GPL-2.0
/*
 * Observers that come and go: the first one of a buffer, however large and busy it
 * is, those that come later and find what was there before them, and what becomes
 * of the index when there is no observer any more.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "buffer_fixture.h"
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

/* An observer that goes at once. */
static int observe_shortly(FIXTURE_DATA(live_history) * self)
{
	int fd = live_file(&self->ti, self->ti.cpu);

	return fd < 0 ? fd : close(fd);
}

/* The next observer is the first one of a new buffer, of about @subbufs. */
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

/* LIVE-24 */
TEST_F(live_history, a_later_observer_sees_what_came_before_it)
{
	ASSERT_EQ(0, make_anew(self, TEST_SUBBUFS));
	ASSERT_EQ(0, observe_shortly(self));
	ASSERT_EQ(0, write_events(&self->ti, 5 * self->ti.subbuf_kb, EVENT_LARGE));
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	expect_accounted(_metadata, &self->ti, &self->w);
	EXPECT_EQ(0, self->w.o.first);
	EXPECT_EQ(self->ti.seq, self->w.o.seen);
}

/* LIVE-24: ... consumed or not: what counts is whether it was overwritten. */
TEST_F(live_history, a_later_observer_sees_what_was_consumed)
{
	ASSERT_EQ(0, make_anew(self, TEST_SUBBUFS));
	ASSERT_EQ(0, observe_shortly(self));
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	ASSERT_EQ(0, write_events(&self->ti, 5 * self->ti.subbuf_kb, EVENT_LARGE));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(self->ti.seq, self->tally.seen);
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	expect_accounted(_metadata, &self->ti, &self->w);
	EXPECT_EQ(0, self->w.o.first);
	EXPECT_EQ(self->ti.seq, self->w.o.seen);
}

/* LIVE-24: In any state of ring, reader and writer: what is seen is all there can be. */
TEST_F(live_history, each_later_observer_is_exact)
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

/* LIVE-23: a new ring has a new index, and all its events. */
TEST_F(live_history, the_first_observer_sees_what_is_unread)
{
	ASSERT_EQ(0, make_anew(self, TEST_SUBBUFS));
	ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	ASSERT_LE(0, watch(&self->w));
	EXPECT_EQ(cpu_stat(&self->ti, self->ti.cpu, "overrun"), self->w.o.first);
	EXPECT_EQ(cpu_stat(&self->ti, self->ti.cpu, "entries"), self->w.o.seen);
	expect_accounted(_metadata, &self->ti, &self->w);
}

/* LIVE-23: ... and what is behind a sub-buffer whose memory read() took along. */
TEST_F(live_history, the_first_observer_sees_what_read_has_left)
{
	size_t subbuf = self->ti.subbuf_kb * 1024;
	unsigned char *page = malloc(subbuf);
	int raw = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);

	ASSERT_NE(NULL, page);
	ASSERT_LE(0, raw);
	ASSERT_EQ(0, make_anew(self, TEST_SUBBUFS));
	ASSERT_LT(0, write_bytes(&self->ti, 3 * subbuf, EVENT_LARGE));
	ASSERT_LT(0, read(raw, page, subbuf));
	free(page);
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	ASSERT_LE(0, watch(&self->w));
	EXPECT_EQ(cpu_stat(&self->ti, self->ti.cpu, "read events"), self->w.o.first);
	EXPECT_EQ(cpu_stat(&self->ti, self->ti.cpu, "entries"), self->w.o.seen);
	expect_accounted(_metadata, &self->ti, &self->w);
	close(raw);
}

/* LIVE-25: An epoch, and generations, of one observer are those of the next. */
TEST_F(live_history, the_index_stays_when_nobody_observes)
{
	uint64_t epoch, generation;

	ASSERT_EQ(0, observe(self, LIVE_FROM_NOW));
	epoch = self->w.map.index->epoch;
	generation = self->w.map.index->commit_generation;
	watcher_close(&self->w);
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(0, observe(self, LIVE_FROM_NOW));
	EXPECT_EQ(epoch, self->w.map.index->epoch);
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

/* WAKE-3: A position in another index is of another epoch, however many there were. */
TEST_F(live_history, epochs_go_on_when_the_buffer_is_resized)
{
	struct trace_live_position p;
	int i, round;

	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, observe(self, LIVE_FROM_NOW));
		for (i = 0; i < 3; i++)
			ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
		ASSERT_EQ(LIVE_RESET, watch_once(&self->w));
		p = live_position(&self->w.o, 1);
		watcher_close(&self->w);
		ASSERT_EQ(0, make_anew(self, TEST_SUBBUFS));
		ASSERT_EQ(0, observe(self, LIVE_FROM_NOW));
		EXPECT_LT(p.epoch, self->w.map.index->epoch);
		/* The buffer is another one: there is news. */
		ASSERT_EQ(0, ioctl(self->w.fd, TRACE_LIVE_IOCTL_SET_POSITION, &p));
		EXPECT_EQ(1, poll_readable(self->w.fd, WOKEN_MS));
		watcher_close(&self->w);
	}
}

/* LIVE-23: A large one, written as fast as it goes: there is no error, and it is all there. */
TEST_F(live_history, the_first_observer_comes_beside_a_busy_writer)
{
	const unsigned int subbufs = self->ti.subbuf_kb * 1024 > getpagesize() ? 100 : 2000;
	int round, looks;

	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	self->pid = fork_stubborn_writer(&self->ti, EVENT_SMALL);
	ASSERT_LT(0, self->pid);
	for (round = 0; round < 25; round++) {
		ASSERT_EQ(0, make_anew(self, round % 5 ? subbufs : TEST_SUBBUFS));
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

/* A real-time writer that sleeps for 100 us after each @burst of large events. */
static pid_t fork_quick_writer(struct trace_instance *ti, unsigned int burst)
{
	struct sched_param param = { .sched_priority = 1 };
	pid_t pid = fork();

	if (pid)
		return pid;
	if (run_on_cpu(ti->cpu) || sched_setscheduler(0, SCHED_FIFO, &param))
		_exit(1);
	for (;;) {
		write_events(ti, burst, 2000);
		usleep(100);
	}
}

/*
 * LIVE-23: Whenever a part of the sub-buffers is described, the writer overwrites as many
 * and more before the next part.
 */
TEST_F(live_history, the_first_observer_comes_beside_a_writer_that_is_quicker)
{
	const unsigned int subbufs = 10000 / self->ti.subbuf_kb;
	int round;

	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	for (round = 0; round < 5; round++) {
		ASSERT_EQ(0, make_anew(self, subbufs));
		ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
		self->pid = fork_quick_writer(&self->ti, subbufs * self->ti.subbuf_kb / 4);
		ASSERT_LT(0, self->pid);
		while (!cpu_stat(&self->ti, self->ti.cpu, "overrun"))
			ASSERT_EQ(-EAGAIN, child_status(self->pid, 10));
		ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST))
			TH_LOG("round %d", round);
		EXPECT_EQ(0, kill_child(self->pid));
		self->pid = 0;
		ASSERT_LE(0, watch(&self->w));
		EXPECT_TRUE(watcher_exact(&self->w));
		EXPECT_LT(0, self->w.o.seen);
		EXPECT_EQ(committed_events(&self->ti, self->ti.cpu), self->w.o.count);
		watcher_close(&self->w);
	}
}

/*
 * LIVE-23: A reader holds a lock while it waits for the writer to finish. An observer
 * that begins must not wait for both. It takes three CPUs to see it.
 */
TEST_F(live_history, it_begins_beside_a_busy_writer_and_a_busy_reader)
{
	long long until = monotonic_ns() + 2000000000;
	pid_t reader;
	long opened = 0;

	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	self->pid = fork_writer(&self->ti, ~0U, EVENT_LARGE);
	ASSERT_LT(0, self->pid);
	reader = fork();
	ASSERT_LE(0, reader);
	if (!reader) {
		run_on_cpu(self->ti.other_cpu);
		while (!ioctl(self->mb.fd, TRACE_MMAP_IOCTL_GET_READER))
			;
		_exit(1);
	}
	do {
		ASSERT_EQ(0, observe_shortly(self));
		opened++;
	} while (monotonic_ns() < until);
	EXPECT_LT(1, opened);
	EXPECT_EQ(-EAGAIN, child_status(self->pid, 0));
	EXPECT_EQ(-EAGAIN, child_status(reader, 0));
	kill_child(reader);
	kill_child(self->pid);
	self->pid = 0;
	ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_SMALL));
	ASSERT_LE(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(5, self->tally.seen);
}

#define RT_RUNTIME	"/proc/sys/kernel/sched_rt_runtime_us"

/* LIVE-28: The first observer waits for the CPU, here for ever, and can be killed. */
TEST_F(live_history, the_first_observer_can_be_killed_while_it_waits_for_the_cpu)
{
	char runtime[32], c;
	int ready[2];
	pid_t opener;

	ASSERT_EQ(0, pipe(ready));
	ASSERT_LT(0, read_file(RT_RUNTIME, runtime, sizeof(runtime)));
	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	ASSERT_EQ(0, make_anew(self, TEST_SUBBUFS));
	ASSERT_EQ(0, write_file(RT_RUNTIME, "-1"));
	self->pid = fork_cpu_hog(self->ti.cpu, ready[1]);
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	opener = fork();
	ASSERT_LE(0, opener);
	if (!opener)
		_exit(live_file(&self->ti, self->ti.cpu) < 0);
	EXPECT_TRUE(child_waits(opener, WOKEN_MS));
	kill(opener, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, child_status(opener, WOKEN_MS));
	EXPECT_EQ(0, kill_child(self->pid));
	self->pid = 0;
	EXPECT_EQ(0, write_file(RT_RUNTIME, runtime));
	expect_unmapped(_metadata, &self->ti);
	ASSERT_EQ(0, run_on_cpu(self->ti.cpu));
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	expect_accounted(_metadata, &self->ti, &self->w);
}

/* So often were interrupts turned off, as @watcher traced, while the index was made. */
static long times_off(const struct trace_instance *watcher)
{
	int fd = cpu_file(watcher, watcher->cpu, "trace", O_RDONLY);
	FILE *trace = fd < 0 ? NULL : fdopen(fd, "r");
	bool making = false;
	char line[512];
	long times = 0;

	if (!trace)
		return -EIO;
	while (fgets(line, sizeof(line), trace)) {
		if (strstr(line, "function rb_live_begin_work"))
			making = strstr(line, "workqueue_execute_start");
		times += making && strstr(line, "irq_disable");
	}
	fclose(trace);
	return times;
}

/* LIVE-25: So is that of an instance that is removed. */
TEST_F(live_history, indexes_of_removed_instances_leak_no_memory)
{
	const unsigned int rounds = 20;
	struct trace_instance other;
	long long before, after;
	unsigned int i;
	int fd;

	/* That is 64 KiB for an index, and less where pages are larger. */
	before = memory_kb("VmallocUsed");
	for (i = 0; i < rounds; i++) {
		ASSERT_EQ(0, instance_open(&other, false, 0));
		ASSERT_EQ(0, cpu_write(&other, other.cpu, "buffer_size_kb", "8192"));
		fd = live_file(&other, other.cpu);
		ASSERT_LE(0, fd);
		close(fd);
		ASSERT_EQ(0, instance_close(&other));
	}
	after = memory_kb("VmallocUsed");
	ASSERT_LT(0, before);
	EXPECT_GT(rounds * 32, after - before)
		TH_LOG("%lld KiB before, %lld after", before, after);
}

/* LIVE-25: The kernel's own list of the sub-buffers goes with the index. */
TEST_F(live_history, the_lists_of_indexes_that_go_leak_no_memory)
{
	const unsigned int rounds = 20, kb = 32 << 10;
	struct trace_instance other;
	long long before = 0, after;
	unsigned int i;
	int fd;

	ASSERT_EQ(0, instance_open(&other, false, 0));
	for (i = 0; i <= rounds; i++) {
		ASSERT_EQ(0, cpu_write_number(&other, other.cpu, "buffer_size_kb",
					      kb + i % 2 * other.subbuf_kb));
		if (!i)
			before = memory_kb("SUnreclaim");
		fd = live_file(&other, other.cpu);
		ASSERT_LE(0, fd);
		close(fd);
	}
	ASSERT_EQ(0, cpu_write_number(&other, other.cpu, "buffer_size_kb", kb));
	after = memory_kb("SUnreclaim");
	ASSERT_EQ(0, instance_close(&other));
	ASSERT_LT(0, before);
	/* A list is a pointer for each sub-buffer: 64 KiB, and less where pages are larger. */
	EXPECT_GT(rounds * 32, after - before)
		TH_LOG("%lld KiB before, %lld after", before, after);
}

/* LIVE-25: Sub-buffers of another size are others, and have another index. */
TEST_F(live_history, the_index_of_another_sub_buffer_size_is_another)
{
	unsigned int kb = 2 * self->ti.subbuf_kb;
	uint64_t epoch;

	ASSERT_EQ(0, observe(self, LIVE_FROM_NOW));
	epoch = self->w.map.index->epoch;
	watcher_close(&self->w);
	ASSERT_EQ(0, instance_write_number(&self->ti, "buffer_subbuf_size_kb", kb));
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	EXPECT_LT(epoch, self->w.map.index->epoch);
	EXPECT_EQ(kb * 1024, self->w.map.index->subbuf_size);
	ASSERT_EQ(0, write_events(&self->ti, kb, EVENT_LARGE));
	expect_accounted(_metadata, &self->ti, &self->w);
}

/* COST-6: 64 sub-buffers at a time. */
TEST_F(live_history, a_large_buffer_is_described_in_parts)
{
	unsigned int subbufs = self->ti.subbuf_kb * 1024 > getpagesize() ? 130 : 2000;
	static const char * const events[] = {
		"events/workqueue/workqueue_execute_start/enable",
		"events/workqueue/workqueue_execute_end/enable",
		"events/preemptirq/irq_disable/enable",
	};
	struct trace_instance other;
	unsigned int i;

	ASSERT_EQ(0, make_anew(self, subbufs + 1));
	ASSERT_LT(0, write_bytes(&self->ti, subbufs * self->ti.subbuf_kb * 1024, EVENT_LARGE));
	ASSERT_EQ(0, instance_open(&other, false, 0));
	EXPECT_EQ(0, instance_write(&other, "buffer_size_kb", "8192"));
	for (i = 0; i < ARRAY_SIZE(events); i++)
		EXPECT_EQ(0, instance_write(&other, events[i], "1"));
	EXPECT_EQ(0, observe_shortly(self));
	for (i = 0; i < ARRAY_SIZE(events); i++)
		EXPECT_EQ(0, instance_write(&other, events[i], "0"));
	EXPECT_LE(subbufs / 64, times_off(&other));
	EXPECT_EQ(0, instance_close(&other));
}

/* LIVE-25: The index of a buffer that is resized is freed. */
TEST_F(live_history, indexes_that_come_and_go_leak_no_memory)
{
	const unsigned int rounds = 300;
	long long before, after;
	unsigned int i;

	/* An index is two pages, at least. */
	ASSERT_EQ(0, make_anew(self, 150));
	before = memory_kb("VmallocUsed");
	for (i = 0; i < rounds; i++) {
		ASSERT_EQ(0, observe_shortly(self));
		ASSERT_EQ(0, make_anew(self, 150));
	}
	after = memory_kb("VmallocUsed");
	ASSERT_LT(0, before);
	EXPECT_GT(rounds * getpagesize() / 1024, after - before)
		TH_LOG("%lld KiB before, %lld after", before, after);
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

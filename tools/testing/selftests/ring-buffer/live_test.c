// SPDX-License-Identifier: GPL-2.0
/*
 * Following a CPU's events by trace_live: what an observer sees, what it is told
 * that it missed, and that no other observer notices.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "buffer_fixture.h"
#include "watcher.h"

FIXTURE(live) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;	/* of a consumer */
	struct tally		tally;
	struct watcher		w;
};

FIXTURE_VARIANT(live) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(live, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(live, instance_large) INSTANCE_LARGE;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(live, top_level_large) TOP_LEVEL_LARGE;
FIXTURE_VARIANT_ADD(live, instance) INSTANCE;
#endif

FIXTURE_SETUP(live)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	self->mb.fd = -1;
	self->w.fd = -1;
}

FIXTURE_TEARDOWN(live)
{
	watcher_close(&self->w);
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, instance_close(&self->ti));
}

static int observe(FIXTURE_DATA(live) * self, enum live_start from)
{
	return watcher_open(&self->w, &self->ti, self->ti.cpu, from);
}

/* The file that read(2) and splice(2) are for. */
static int raw_file(FIXTURE_DATA(live) * self)
{
	return cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
			O_RDONLY | O_NONBLOCK);
}

static int consume(FIXTURE_DATA(live) * self)
{
	return buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK);
}

/* All that was written up to now is seen or missed, to the last event. */
static void expect_all_accounted(struct __test_metadata *_metadata,
				 struct trace_instance *ti, struct watcher *w)
{
	ASSERT_LE(0, watch(w));
	EXPECT_TRUE(watcher_exact(w));
	EXPECT_EQ(ti->seq, w->o.count);
	EXPECT_EQ(ti->seq, w->o.before + w->o.seen + w->o.missed);
	EXPECT_EQ(committed_events(ti, ti->cpu), w->o.count);
}

/* LIVE-19 */
TEST_F(live, events_are_seen_as_soon_as_they_are_committed)
{
	unsigned int i;

	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_LARGE));
		ASSERT_EQ(1, watch(&self->w) > 0);
		ASSERT_EQ(self->ti.seq, self->w.o.seen);
	}
	EXPECT_EQ(0, self->w.o.missed);
	expect_all_accounted(_metadata, &self->ti, &self->w);
}

/* LIVE-19: events of all sizes, so sub-buffers end in all ways. */
TEST_F(live, events_of_any_size_are_seen_in_order)
{
	size_t size;

	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	for (size = sizeof(struct event_payload); size <= 1020; size += 4) {
		self->w.copies = size / 4 % 2;
		ASSERT_EQ(0, write_events(&self->ti, 3, size));
		ASSERT_LE(0, watch(&self->w));
		ASSERT_EQ(self->ti.seq, self->w.o.seen);
	}
	expect_all_accounted(_metadata, &self->ti, &self->w);
}

/* Stops before and after it watches, or does nothing instead. */
static pid_t fork_traced(struct trace_instance *ti, bool watches)
{
	pid_t pid = fork();
	struct watcher w;

	if (pid)
		return pid;
	if (watcher_open(&w, ti, ti->cpu, LIVE_FROM_OLDEST) ||
	    ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	kill(getpid(), SIGSTOP);
	if (watches)
		watch(&w);
	kill(getpid(), SIGSTOP);
	_exit(w.o.seen != (watches ? ti->seq : 0));
}

/* Entries to system calls and exits from them, from one stop to the next. */
static int count_syscall_stops(pid_t pid)
{
	int status, count = 0;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD))
		return -1;
	do {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) ||
		    waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return -1;
		count += WSTOPSIG(status) == (SIGTRAP | 0x80);
	} while (WSTOPSIG(status) != SIGSTOP);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return child_status(pid, WOKEN_MS) ? -1 : count;
}

/* LIVE-20: as many as without watching. */
TEST_F(live, watching_makes_no_system_call)
{
	int without, with;

	ASSERT_EQ(0, write_events(&self->ti, 20 * self->ti.subbuf_kb, EVENT_SMALL));
	without = count_syscall_stops(fork_traced(&self->ti, false));
	with = count_syscall_stops(fork_traced(&self->ti, true));
	EXPECT_LT(0, without);
	EXPECT_EQ(without, with);
}

/* LIVE-19 */
TEST_F(live, an_empty_buffer_shows_nothing)
{
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	EXPECT_EQ(LIVE_NOTHING, watch_once(&self->w));
	EXPECT_EQ(0, self->w.o.count);
	watcher_close(&self->w);
	ASSERT_EQ(0, observe(self, LIVE_FROM_NOW));
	EXPECT_EQ(LIVE_NOTHING, watch_once(&self->w));
	EXPECT_EQ(0, self->w.o.count);
}

/* LIVE-22: all that a consumer could get as well. */
TEST_F(live, it_begins_with_the_oldest)
{
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	ASSERT_LE(0, watch(&self->w));
	EXPECT_LT(0, self->w.o.before);
	EXPECT_EQ(cpu_stat(&self->ti, self->ti.cpu, "overrun"), self->w.o.before);
	EXPECT_EQ(cpu_stat(&self->ti, self->ti.cpu, "entries"), self->w.o.seen);
	EXPECT_EQ(0, self->w.o.missed);
	expect_all_accounted(_metadata, &self->ti, &self->w);
}

/* LIVE-22 */
TEST_F(live, it_begins_with_now)
{
	uint32_t before;

	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_SMALL));
	before = self->ti.seq;
	ASSERT_EQ(0, observe(self, LIVE_FROM_NOW));
	EXPECT_EQ(before, self->w.o.before);
	EXPECT_EQ(LIVE_NOTHING, watch_once(&self->w));
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	ASSERT_LE(0, watch(&self->w));
	EXPECT_EQ(5, self->w.o.seen);
	EXPECT_EQ(0, self->w.o.missed);
	expect_all_accounted(_metadata, &self->ti, &self->w);
}

/* LIVE-29 */
TEST_F(live, a_slow_observer_is_told_exactly_what_it_missed)
{
	unsigned int round;

	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	for (round = 0; round < 30; round++) {
		self->w.copies = round & 1;
		ASSERT_EQ(0, write_events(&self->ti, 9 * round * self->ti.subbuf_kb,
					  EVENT_SMALL + 28 * (round % 11)));
		expect_all_accounted(_metadata, &self->ti, &self->w);
	}
	EXPECT_LT(0, self->w.o.missed);
}

/* LIVE-30: What is still there is not missed: no less is seen than there is. */
TEST_F(live, an_overrun_observer_goes_on_with_the_oldest)
{
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	ASSERT_LE(0, watch(&self->w));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	expect_all_accounted(_metadata, &self->ti, &self->w);
	/* Nobody consumed: the unread events are those that are there. */
	EXPECT_EQ(cpu_stat(&self->ti, self->ti.cpu, "entries") + 3,
		  self->w.o.seen);
}

/* LIVE-35: what is dropped was never committed, but is shown. */
TEST_F(live, dropped_events_are_shown_without_overwrite)
{
	struct live_figures f;
	long written;

	ASSERT_EQ(0, instance_write(&self->ti, "options/overwrite", "0"));
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	written = overflow_buffer(&self->ti);
	/* trace_marker_raw says nothing of events that are dropped. */
	if (written < 0) {
		written = 0;
		while (write_events(&self->ti, 1, EVENT_LARGE) == 0)
			;
	}
	ASSERT_LE(0, watch(&self->w));
	EXPECT_TRUE(watcher_exact(&self->w));
	EXPECT_EQ(0, self->w.o.missed);
	EXPECT_EQ(committed_events(&self->ti, self->ti.cpu), self->w.o.seen);
	ASSERT_EQ(0, live_figures(&self->w.o, &f));
	EXPECT_LT(0, f.dropped);
	EXPECT_EQ(cpu_stat(&self->ti, self->ti.cpu, "dropped events") +
		  cpu_stat(&self->ti, self->ti.cpu, "commit overrun"), f.dropped);
	EXPECT_EQ(0, f.overwritten);
}

/* LIVE-29: A slow observer beside a consumer, in that mode: recycled means missed. */
TEST_F(live, missed_events_are_exact_without_overwrite)
{
	struct live_figures f;
	unsigned int round;

	ASSERT_EQ(0, instance_write(&self->ti, "options/overwrite", "0"));
	ASSERT_EQ(0, consume(self));
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	for (round = 0; round < 40; round++) {
		ASSERT_EQ(0, write_events(&self->ti, 4 * self->ti.subbuf_kb,
					  EVENT_LARGE));
		ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	}
	expect_all_accounted(_metadata, &self->ti, &self->w);
	EXPECT_LT(0, self->w.o.missed);
	EXPECT_EQ(self->ti.seq, self->tally.seen);
	ASSERT_EQ(0, live_figures(&self->w.o, &f));
	EXPECT_EQ(0, f.dropped);
}

/* LIVE-22 */
TEST_F(live, it_may_be_mapped_before_tracing_starts)
{
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "0"));
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	EXPECT_EQ(LIVE_NOTHING, watch_once(&self->w));
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "1"));
	ASSERT_EQ(0, write_events(&self->ti, 20, EVENT_LARGE));
	ASSERT_LE(0, watch(&self->w));
	EXPECT_EQ(20, self->w.o.seen);
	expect_all_accounted(_metadata, &self->ti, &self->w);
}

/* LIVE-34 */
TEST_F(live, tracing_on_can_be_switched_while_observed)
{
	unsigned int i;

	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, write_events(&self->ti, 3 + i, EVENT_LARGE));
		ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "0"));
		expect_all_accounted(_metadata, &self->ti, &self->w);
		ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "1"));
	}
	EXPECT_EQ(0, self->w.o.missed);
}

/* LIVE-29, LIVE-35 */
TEST_F(live, overwrite_can_be_switched_while_observed)
{
	unsigned int i;

	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, instance_write(&self->ti, "options/overwrite",
					    i & 1 ? "0" : "1"));
		ASSERT_EQ(0, write_events(&self->ti, 2 * self->ti.subbuf_kb,
					  EVENT_SMALL));
		expect_all_accounted(_metadata, &self->ti, &self->w);
	}
	ASSERT_EQ(0, instance_write(&self->ti, "options/overwrite", "1"));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	expect_all_accounted(_metadata, &self->ti, &self->w);
}

/* LIVE-29: The first mapping finds the reader behind a gap: both counts are right. */
TEST_F(live, a_loss_before_the_mapping_is_in_its_place)
{
	uint32_t seen;

	ASSERT_EQ(0, consume(self));
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	seen = self->tally.seen;
	ASSERT_EQ(5, seen);
	/* The reader stays on the sub-buffer it is on, the others are lapped. */
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	expect_all_accounted(_metadata, &self->ti, &self->w);
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(self->ti.seq, self->tally.seen + self->tally.lost);
	EXPECT_EQ(self->ti.seq, self->w.o.before + self->w.o.seen + self->w.o.missed);
}

/* Maps, observes and unmaps until the writer is done; returns the rounds. */
static int map_again_and_again(struct __test_metadata *_metadata,
			       struct trace_instance *ti, pid_t writer)
{
	struct watcher w;
	int rounds = 0, status, i;

	while ((status = child_status(writer, 0)) == -EAGAIN) {
		ASSERT_EQ(0, watcher_open(&w, ti, ti->cpu, rounds & 1 ?
					  LIVE_FROM_NOW : LIVE_FROM_OLDEST));
		for (i = 0; i < 20; i++)
			ASSERT_LE(0, watch_once(&w));
		EXPECT_TRUE(watcher_exact(&w));
		watcher_close(&w);
		rounds++;
	}
	EXPECT_EQ(0, status);
	return rounds;
}

/* LIVE-22 */
TEST_F(live, it_may_be_mapped_in_the_middle_of_heavy_writing)
{
	const unsigned int count = 30000;
	int rounds = 0, writers;
	pid_t writer;

	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	/* A writer may have a CPU while this process has none. */
	for (writers = 0; rounds <= 3 && writers < 20; writers++) {
		writer = fork_writer(&self->ti, count, 100);
		ASSERT_LT(0, writer);
		rounds += map_again_and_again(_metadata, &self->ti, writer);
		self->ti.seq += count;
	}
	EXPECT_LT(3, rounds);
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	expect_all_accounted(_metadata, &self->ti, &self->w);
}

/* With another CPU observing, and in all ways: in place, copied, slow. */
static void observe_writer(struct __test_metadata *_metadata,
			   struct trace_instance *ti, struct watcher *w,
			   unsigned int count, size_t size, unsigned int ms)
{
	int status, i;
	pid_t pid;

	ASSERT_EQ(0, run_on_cpu(ti->other_cpu));
	pid = fork_writer(ti, count, size);
	ASSERT_LT(0, pid);
	while ((status = child_status(pid, ms)) == -EAGAIN) {
		/* However slow the writer is: an observer that waits is lapped. */
		if (ms && !cpu_stat(ti, ti->cpu, "overrun"))
			continue;
		for (i = 0; i < (ms ? 1 : 500); i++)
			ASSERT_LE(0, watch_once(w));
		ASSERT_EQ(0, w->torn);
	}
	EXPECT_EQ(0, status);
	ti->seq += count;
	expect_all_accounted(_metadata, ti, w);
}

/* LIVE-29 */
TEST_F(live, a_running_writer_is_followed_in_place)
{
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	observe_writer(_metadata, &self->ti, &self->w, 20000, 100, 0);
}

/* LIVE-29 */
TEST_F(live, a_running_writer_is_followed_by_copies)
{
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	self->w.copies = true;
	observe_writer(_metadata, &self->ti, &self->w, 20000, 100, 0);
}

/* LIVE-29 */
TEST_F(live, a_running_writer_that_laps_the_observer_is_accounted)
{
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	observe_writer(_metadata, &self->ti, &self->w, 20000, EVENT_LARGE, 20);
	EXPECT_LT(0, self->w.o.missed);
}

/* Each of them at its own pace; ends well if it has the whole account. */
static pid_t fork_observer(struct trace_instance *ti, unsigned int nr,
			   unsigned int count, int ready)
{
	pid_t pid = fork();
	struct watcher w;

	if (pid)
		return pid;
	run_on_cpu(nr & 1 ? ti->other_cpu : ti->cpu);
	if (watcher_open(&w, ti, ti->cpu, LIVE_FROM_OLDEST) ||
	    write(ready, "r", 1) != 1)
		_exit(1);
	w.copies = nr & 2;
	while (w.o.count < count) {
		if (watch(&w) < 0)
			_exit(2);
		sleep_ms(nr & 4 ? 10 : 1);
	}
	_exit(!watcher_exact(&w) || w.o.count != count ||
	      w.o.seen + w.o.missed != count ? 3 : 0);
}

/* LIVE-28 */
TEST_F(live, eight_observers_account_for_all_each)
{
	const unsigned int count = 10000;
	pid_t pids[8];
	int ready[2], i;
	char c;

	ASSERT_EQ(0, pipe(ready));
	for (i = 0; i < 8; i++) {
		pids[i] = fork_observer(&self->ti, i, count, ready[1]);
		ASSERT_LT(0, pids[i]);
	}
	for (i = 0; i < 8; i++)
		ASSERT_EQ(1, read(ready[0], &c, 1));
	ASSERT_EQ(0, write_events(&self->ti, count, 100));
	for (i = 0; i < 8; i++)
		EXPECT_EQ(0, child_status(pids[i], WOKEN_MS))
			TH_LOG("observer %d", i);
	EXPECT_EQ(count, cpu_stat(&self->ti, self->ti.cpu, "entries") +
			 cpu_stat(&self->ti, self->ti.cpu, "overrun"));
}

/* LIVE-27: consumers see all while it is observed. */
TEST_F(live, get_reader_sees_all_while_observed)
{
	unsigned int i;

	ASSERT_EQ(0, consume(self));
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	for (i = 0; i < 60; i++) {
		ASSERT_EQ(0, write_events(&self->ti, 1 + i % 5 * self->ti.subbuf_kb,
					  EVENT_LARGE));
		ASSERT_LE(0, watch(&self->w));
		ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	}
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.seen);
	EXPECT_EQ(self->ti.seq, self->w.o.seen);
	expect_all_accounted(_metadata, &self->ti, &self->w);
}

/* LIVE-27 */
TEST_F(live, read_sees_all_while_observed)
{
	size_t size = self->ti.subbuf_kb * 1024;
	int raw = raw_file(self);
	unsigned int i;

	ASSERT_LE(0, raw);
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	for (i = 0; i < 30; i++) {
		ASSERT_EQ(0, write_events(&self->ti, 1 + i % 5 * self->ti.subbuf_kb,
					  EVENT_LARGE));
		ASSERT_LT(0, tally_read(&self->tally, raw, size));
		ASSERT_LE(0, watch(&self->w));
	}
	close(raw);
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.seen);
	EXPECT_EQ(self->ti.seq, self->w.o.seen);
	expect_all_accounted(_metadata, &self->ti, &self->w);
}

/* Splices all full sub-buffers there are. */
static void splice_all(struct __test_metadata *_metadata, struct tally *t,
		       int fd, size_t size)
{
	unsigned char *page = malloc(size);
	int pipes[2];
	ssize_t len;

	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, pipe(pipes));
	fcntl(pipes[1], F_SETPIPE_SZ, 4 * size);
	while ((len = splice(fd, NULL, pipes[1], NULL, size, SPLICE_F_NONBLOCK)) > 0) {
		ASSERT_EQ(len, read(pipes[0], page, size));
		tally_page(t, page, len);
	}
	close(pipes[0]);
	close(pipes[1]);
	free(page);
}

/* LIVE-27 */
TEST_F(live, splice_sees_all_while_observed)
{
	size_t size = self->ti.subbuf_kb * 1024;
	int raw = raw_file(self);
	unsigned int i;

	ASSERT_LE(0, raw);
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	for (i = 0; i < 12; i++) {
		ASSERT_LT(0, write_bytes(&self->ti, 3 * size, EVENT_LARGE));
		splice_all(_metadata, &self->tally, raw, size);
		ASSERT_LE(0, watch(&self->w));
	}
	/* What is not full yet is left to read(). */
	ASSERT_LE(0, tally_read(&self->tally, raw, size));
	close(raw);
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.seen);
	EXPECT_EQ(self->ti.seq, self->w.o.seen);
	expect_all_accounted(_metadata, &self->ti, &self->w);
}

/* Lines of trace_pipe with an event of ours; it is opened without waiting. */
static long count_piped(struct trace_instance *ti)
{
	static char text[65536];
	int fd = cpu_file(ti, ti->cpu, "trace_pipe", O_RDONLY | O_NONBLOCK);
	char tag[32], *p;
	long count = 0;
	ssize_t len;

	if (fd < 0)
		return fd;
	snprintf(tag, sizeof(tag), "# %x buf:", EVENT_TAG);
	while ((len = read(fd, text, sizeof(text) - 1)) > 0) {
		text[len] = '\0';
		for (p = text; (p = strstr(p, tag)); p++)
			count++;
	}
	close(fd);
	return count;
}

/* LIVE-27 */
TEST_F(live, trace_pipe_sees_all_while_observed)
{
	long piped = 0, count;
	unsigned int i;

	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, write_events(&self->ti, 20, EVENT_SMALL));
		count = count_piped(&self->ti);
		ASSERT_LT(0, count);
		piped += count;
		ASSERT_LE(0, watch(&self->w));
	}
	EXPECT_EQ(self->ti.seq, piped);
	EXPECT_EQ(self->ti.seq, self->w.o.seen);
	expect_all_accounted(_metadata, &self->ti, &self->w);
}

/* LIVE-27 */
TEST_F(live, trace_shows_all_while_observed)
{
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	ASSERT_EQ(0, write_events(&self->ti, 50, EVENT_SMALL));
	EXPECT_EQ(50, count_trace_lines(&self->ti, "trace"));
	expect_all_accounted(_metadata, &self->ti, &self->w);
	EXPECT_EQ(50, count_trace_lines(&self->ti, "trace"));
	EXPECT_EQ(50, self->w.o.seen);
}

/* LIVE-32: with marks of losses, too. */
TEST_F(live, sub_buffers_that_a_consumer_recycles_are_followed)
{
	unsigned int round, calls;

	ASSERT_EQ(0, consume(self));
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	for (round = 0; round < 40; round++) {
		ASSERT_LT(0, write_bytes(&self->ti,
					 (round % 13) * 1024 * self->ti.subbuf_kb + 1,
					 300 + 4 * (round % 25)));
		for (calls = 0; calls < 1 + round % 7; calls++)
			ASSERT_LE(0, tally_get_reader(&self->tally, &self->mb));
		expect_all_accounted(_metadata, &self->ti, &self->w);
	}
	ASSERT_LE(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(self->ti.seq, self->tally.seen + self->tally.lost);
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_LT(0, self->tally.lost);
}

/* LIVE-23: Consumed is not gone: an observer still sees it until it is overwritten. */
TEST_F(live, consumed_events_are_still_seen)
{
	ASSERT_EQ(0, consume(self));
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	ASSERT_EQ(0, write_events(&self->ti, 3 * self->ti.subbuf_kb, EVENT_LARGE));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	ASSERT_LE(0, watch(&self->w));
	EXPECT_EQ(self->ti.seq, self->w.o.seen);
	EXPECT_EQ(0, self->w.o.missed);
}

static pid_t fork_consumer(struct trace_instance *ti)
{
	struct mapped_buffer own;
	pid_t pid = fork();

	if (pid)
		return pid;
	run_on_cpu(ti->other_cpu);
	if (buffer_map(&own, ti, ti->cpu, O_NONBLOCK))
		_exit(1);
	for (;;) {
		if (ioctl(own.fd, TRACE_MMAP_IOCTL_GET_READER))
			_exit(2);
	}
}

/* LIVE-32: A writer, a consumer and an observer, all at once. */
TEST_F(live, it_is_exact_beside_a_writer_and_a_consumer)
{
	pid_t consumer = fork_consumer(&self->ti);

	ASSERT_LT(0, consumer);
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	observe_writer(_metadata, &self->ti, &self->w, 30000, 60, 0);
	EXPECT_EQ(0, kill_child(consumer));
}

/* The index says that the observer has to start over after a reset. */
static void expect_start_over(struct __test_metadata *_metadata,
			      struct trace_instance *ti, struct watcher *w,
			      int (*reset)(const struct trace_instance *ti))
{
	uint64_t first = w->map.index->first;
	int i;

	for (i = 0; i < 4; i++) {
		/* Read to the end, in the middle, overrun, not begun. */
		if (i != 3)
			ASSERT_EQ(0, write_events(ti, 20 * ti->subbuf_kb,
						  EVENT_LARGE));
		if (i == 0)
			ASSERT_LE(0, watch(w));
		if (i == 1)
			ASSERT_LE(0, watch_once(w));
		if (i == 2)
			ASSERT_LT(0, overflow_buffer(ti));
		ASSERT_EQ(0, reset(ti));
		ti->seq = 0;
		EXPECT_EQ(LIVE_RESET, watch_once(w));
		EXPECT_EQ(i + 1, w->resets);
		EXPECT_EQ(LIVE_NOTHING, watch_once(w));
		EXPECT_LT(first, w->map.index->first);
		first = w->map.index->first;
		EXPECT_EQ(0, w->o.count);
		ASSERT_EQ(0, write_events(ti, 3, EVENT_LARGE));
		expect_all_accounted(_metadata, ti, w);
		EXPECT_EQ(3, w->o.seen);
	}
}

static int reset_all(const struct trace_instance *ti)
{
	return instance_write(ti, "trace", "");
}

static int reset_cpu(const struct trace_instance *ti)
{
	return cpu_write(ti, ti->cpu, "trace", "");
}

/* LIVE-33 */
TEST_F(live, a_reset_makes_it_start_over)
{
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	expect_start_over(_metadata, &self->ti, &self->w, reset_all);
}

/* LIVE-33 */
TEST_F(live, a_reset_of_the_cpu_makes_it_start_over)
{
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	expect_start_over(_metadata, &self->ti, &self->w, reset_cpu);
}

/* LIVE-33: Right in a buffer that was emptied in the middle of writing. */
TEST_F(live, it_is_exact_after_resets_of_a_running_writer)
{
	int round, i;
	pid_t pid;

	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	pid = fork_stubborn_writer(&self->ti, 60);
	ASSERT_LT(0, pid);
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 200; i++)
			ASSERT_LE(0, watch_once(&self->w));
		sleep_ms(round % 4 * 10);
		ASSERT_EQ(0, reset_cpu(&self->ti));
	}
	/* Something is to be seen after the last one. */
	for (i = 0; i < WOKEN_MS / 50 &&
	     committed_events(&self->ti, self->ti.cpu) <= 0; i++)
		sleep_ms(50);
	EXPECT_EQ(0, kill_child(pid));
	ASSERT_LE(0, watch(&self->w));
	EXPECT_TRUE(watcher_exact(&self->w));
	EXPECT_LE(10, self->w.resets);
	EXPECT_LT(0, self->w.o.seen);
	EXPECT_EQ(committed_events(&self->ti, self->ti.cpu), self->w.o.count);
	EXPECT_EQ(self->w.o.count, self->w.o.seen + self->w.o.missed);
}

#ifndef NO_HIST_TRIGGERS
/*
 * LIVE-36: a histogram that wants time stamps makes the kernel reserve room for an
 * event first and drop it by the filter afterwards.
 */
TEST_F(live, discarded_events_are_not_counted)
{
	static const char histogram[] = "hist:keys=pid:ts0=common_timestamp.usecs";
	static const char off[] = "!hist:keys=pid:ts0=common_timestamp.usecs";
	const char *trigger = "events/sched/sched_waking/trigger";
	unsigned int i;

	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	ASSERT_EQ(0, instance_write(&self->ti, trigger, histogram));
	ASSERT_EQ(0, instance_write(&self->ti, "events/sched/filter",
				    "common_pid == -5"));
	ASSERT_EQ(0, instance_write(&self->ti, "events/sched/enable", "1"));
	for (i = 0; i < 30; i++) {
		sleep_ms(5);
		ASSERT_EQ(0, write_events(&self->ti, 5 * self->ti.subbuf_kb,
					  EVENT_SMALL));
		ASSERT_LE(0, watch(&self->w));
	}
	ASSERT_EQ(0, instance_write(&self->ti, "events/sched/enable", "0"));
	ASSERT_EQ(0, instance_write(&self->ti, "events/sched/filter", "0"));
	ASSERT_EQ(0, instance_write(&self->ti, trigger, off));
	/* The trigger changed the clock's stamps, nothing else. */
	ASSERT_LE(0, watch(&self->w));
	EXPECT_TRUE(watcher_exact(&self->w));
	EXPECT_EQ(self->ti.seq, self->w.o.seen + self->w.o.missed);
	EXPECT_EQ(committed_events(&self->ti, self->ti.cpu), self->w.o.count);
}
#endif

/* LIVE-37: the kernel's own events come at any time. */
TEST_F(live, events_of_interrupts_are_followed)
{
	static const char * const files[] = {
		"events/irq/enable", "events/timer/enable", "events/sched/enable",
		"events/raw_syscalls/enable",
	};
	struct watcher *w = &self->w;
	unsigned int i;

	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	for (i = 0; i < ARRAY_SIZE(files); i++)
		instance_write(&self->ti, files[i], "1");
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, write_events(&self->ti, 10, EVENT_SMALL));
		ASSERT_LE(0, watch(w));
		if (i % 10 == 0)
			sleep_ms(5);
	}
	for (i = 0; i < ARRAY_SIZE(files); i++)
		instance_write(&self->ti, files[i], "0");
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "0"));
	ASSERT_LE(0, watch(w));
	EXPECT_EQ(0, w->tally.malformed);
	EXPECT_EQ(0, w->torn);
	EXPECT_LT(0, w->tally.others);
	EXPECT_EQ(w->o.seen, w->tally.seen + w->tally.others);
	EXPECT_EQ(committed_events(&self->ti, self->ti.cpu), w->o.count);
	EXPECT_EQ(w->o.count, w->o.before + w->o.seen + w->o.missed);
}

/* LIVE-39 */
TEST_F(live, figures_are_right_without_a_call)
{
	struct live_figures f;
	unsigned int i;

	ASSERT_EQ(0, consume(self));
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	for (i = 0; i < 25; i++) {
		ASSERT_EQ(0, write_events(&self->ti, (3 + i) * self->ti.subbuf_kb,
					  EVENT_LARGE));
		if (i % 3)
			ASSERT_LE(0, tally_get_reader(&self->tally, &self->mb));
		ASSERT_LE(0, watch(&self->w));
		ASSERT_EQ(0, live_figures(&self->w.o, &f));
		/* as of the last finished sub-buffer */
		EXPECT_LE(f.committed, self->ti.seq);
		EXPECT_GT(f.committed + self->ti.subbuf_kb * 1024 / EVENT_LARGE + 1,
			  self->ti.seq);
		EXPECT_EQ(self->tally.seen, f.consumed);
		EXPECT_EQ(0, f.dropped);
		EXPECT_EQ(cpu_stat(&self->ti, self->ti.cpu, "overrun"),
			  f.overwritten);
		EXPECT_GE(f.nr_subbufs, f.used);
	}
	EXPECT_LT(0, f.overwritten);
	EXPECT_LT(0, f.committed);
}

/* LIVE-39 */
TEST_F(live, figures_show_how_full_the_buffer_is)
{
	struct live_figures f;
	uint64_t first;

	ASSERT_EQ(0, consume(self));
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	ASSERT_EQ(0, live_figures(&self->w.o, &f));
	EXPECT_EQ(1, f.used);
	first = f.generation;
	ASSERT_LT(0, write_bytes(&self->ti, part_of_buffer(&self->mb, 50), EVENT_LARGE));
	ASSERT_EQ(0, live_figures(&self->w.o, &f));
	EXPECT_LE(f.nr_subbufs / 2 - 1, f.used);
	EXPECT_EQ(f.generation - first + 1, f.used);
	/* All but the reader's, then two less, then none but the writer's. */
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(0, live_figures(&self->w.o, &f));
	EXPECT_EQ(f.nr_subbufs - 1, f.used);
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_EQ(0, live_figures(&self->w.o, &f));
	EXPECT_EQ(f.nr_subbufs - 3, f.used);
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	ASSERT_EQ(0, live_figures(&self->w.o, &f));
	EXPECT_EQ(1, f.used);
}

/* META-17: it stands still between calls, as ever. */
TEST_F(live, the_meta_page_stands_still)
{
	struct trace_buffer_meta before;

	ASSERT_EQ(0, consume(self));
	before = *self->mb.meta;
	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, watch(&self->w));
	EXPECT_EQ(0, watcher_wait(&self->w, 1));
	EXPECT_EQ(0, memcmp(&before, self->mb.meta, sizeof(before)));
}

/* LIVE-31: stopped for long, as by a debugger, it has the right account. */
TEST_F(live, an_observer_stopped_for_long_is_told_what_it_missed)
{
	const unsigned int count = 40000;
	int ready[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(ready));
	pid = fork_observer(&self->ti, 1, count, ready[1]);
	ASSERT_LT(0, pid);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	ASSERT_EQ(0, write_events(&self->ti, 100, 100));
	sleep_ms(20);
	ASSERT_EQ(0, kill(pid, SIGSTOP));
	ASSERT_EQ(0, write_events(&self->ti, count - 100, 100));
	ASSERT_EQ(0, kill(pid, SIGCONT));
	EXPECT_EQ(0, child_status(pid, WOKEN_MS));
}

/* LIVE-28: killed while it reads, it holds nothing off any more. */
TEST_F(live, an_observer_killed_leaves_nothing_behind)
{
	int ready[2], i;
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(ready));
	for (i = 0; i < 10; i++) {
		pid = fork_observer(&self->ti, i, ~0U, ready[1]);
		ASSERT_LT(0, pid);
		ASSERT_EQ(1, read(ready[0], &c, 1));
		ASSERT_EQ(0, write_events(&self->ti, 100 * (i + 1), EVENT_LARGE));
		EXPECT_EQ(0, kill_child(pid));
	}
	EXPECT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
				      4 * self->ti.subbuf_kb));
	ASSERT_EQ(0, observe(self, LIVE_FROM_NOW));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_SMALL));
	ASSERT_LE(0, watch(&self->w));
	EXPECT_EQ(3, self->w.o.seen);
}

/* LIVE-21: The index of a CPU tells of that CPU. */
TEST_F(live, each_cpu_has_an_index_of_its_own)
{
	struct watcher other;

	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	ASSERT_EQ(0, watcher_open(&other, &self->ti, self->ti.other_cpu,
				  LIVE_FROM_OLDEST));
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_SMALL));
	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	ASSERT_EQ(0, write_events(&self->ti, 7, EVENT_SMALL));
	ASSERT_LE(0, watch(&self->w));
	other.tally.next = 5;
	ASSERT_LE(0, watch(&other));
	EXPECT_EQ(5, self->w.o.seen);
	EXPECT_EQ(7, other.o.seen);
	watcher_close(&other);
}

/* LIVE-38: what was written is there, and what comes later is found. */
TEST_F(live, the_observed_cpu_can_go_and_come_back)
{
	struct watcher late;

	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	ASSERT_EQ(0, switch_cpu_online(self->ti.cpu, false));
	EXPECT_LT(0, watch(&self->w));
	EXPECT_EQ(0, watcher_wait(&self->w, 1));
	ASSERT_EQ(0, watcher_open(&late, &self->ti, self->ti.cpu, LIVE_FROM_OLDEST));
	EXPECT_LT(0, watch(&late));
	ASSERT_EQ(0, switch_cpu_online(self->ti.cpu, true));
	ASSERT_EQ(0, run_on_cpu(self->ti.cpu));
	overflow_buffer(&self->ti);
	expect_all_accounted(_metadata, &self->ti, &self->w);
	expect_all_accounted(_metadata, &self->ti, &late);
	watcher_close(&late);
}

/* LIVE-38: The kernel itself writes until the CPU is gone, and from when it comes back. */
TEST_F(live, it_is_exact_while_the_cpu_goes_and_comes_back)
{
	struct live_observer *o = &self->w.o;
	int i;

	ASSERT_EQ(0, observe(self, LIVE_FROM_OLDEST));
	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	ASSERT_EQ(0, instance_write(&self->ti, "events/sched/enable", "1"));
	for (i = 0; i < 3; i++) {
		sleep_ms(20);
		EXPECT_EQ(0, switch_cpu_online(self->ti.cpu, false));
		ASSERT_LE(0, watch(&self->w));
		EXPECT_EQ(0, switch_cpu_online(self->ti.cpu, true));
		ASSERT_LE(0, watch_once(&self->w));
	}
	ASSERT_EQ(0, instance_write(&self->ti, "events/sched/enable", "0"));
	ASSERT_LE(0, watch(&self->w));
	EXPECT_LT(0, o->seen);
	EXPECT_EQ(0, self->w.resets);
	EXPECT_EQ(o->count, o->seen + o->missed);
	EXPECT_EQ(committed_events(&self->ti, self->ti.cpu), o->count);
	EXPECT_EQ(0, self->w.tally.malformed);
}

TEST_HARNESS_MAIN

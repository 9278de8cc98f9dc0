// SPDX-License-Identifier: GPL-2.0
/*
 * Watching does not disturb the watched: the interrupts that a CPU takes, and the
 * events that it writes by itself, beside observers that sleep, one or a thousand,
 * and beside a program that does its worst.
 */
#define _GNU_SOURCE
#include <sys/epoll.h>
#include <sys/resource.h>

#include "buffer_fixture.h"
#include "disturbance.h"
#include "user.h"

/* A mark that is not reached in these tests. */
#define FAR_MARK	(~0ULL)

#define MANY_OBSERVERS	1000
#define SOME_OBSERVERS	100

/* Interrupts that an idle machine causes or not. */
#define BY_CHANCE	40
/* ... and one whose other CPU is busy for a second, with thousands of calls. */
#define BESIDE_A_BUSY	500

FIXTURE(quiet) {
	struct trace_instance	ti;
	uint64_t		*wakeups;
	int			ready[2];
	int			follow_on;
	unsigned int		files;		/* of a child that follows by many */
	bool			as_user;	/* the children are an ordinary user's */
	pid_t			pids[17];
	size_t			nr_pids;
};

FIXTURE_VARIANT(quiet) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(quiet, top_level) TOP_LEVEL;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(quiet, instance_large) INSTANCE_LARGE;
#endif

/* Everything but the events of a test is done by the other CPU. */
FIXTURE_SETUP(quiet)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	ASSERT_EQ(0, pipe(self->ready));
	self->wakeups = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->wakeups);
	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	self->follow_on = self->ti.other_cpu;
}

static void end_children(FIXTURE_DATA(quiet) * self)
{
	while (self->nr_pids)
		kill_child(self->pids[--self->nr_pids]);
}

FIXTURE_TEARDOWN(quiet)
{
	end_children(self);
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* What the watched CPU takes in @ms. */
static struct disturbance measure(struct __test_metadata *_metadata,
				  const struct trace_instance *ti, unsigned int ms,
				  const char *what)
{
	struct disturbance d = { 0 };

	EXPECT_EQ(0, disturbance_in(&d, ti, ti->cpu, ms, what));
	return d;
}

static uint64_t wakeups_of(const FIXTURE_DATA(quiet) * self)
{
	return __atomic_load_n(self->wakeups, __ATOMIC_RELAXED);
}

static void wait_until_ready(struct __test_metadata *_metadata,
			     FIXTURE_DATA(quiet) * self)
{
	char c;

	ASSERT_EQ(1, read(self->ready[0], &c, 1));
}

/* Mark 1: it is woken by any event. */
static void follow(FIXTURE_DATA(quiet) * self)
{
	_exit(watch_for_ever(&self->ti, self->ti.cpu, self->follow_on, self->ready[1],
			     self->wakeups));
}

static void sleep_at_far_mark(FIXTURE_DATA(quiet) * self)
{
	struct watcher w;

	if (watcher_open(&w, &self->ti, self->ti.cpu, LIVE_FROM_NOW) ||
	    watch_and_wait(&w, FAR_MARK) || write(self->ready[1], "r", 1) != 1)
		_exit(1);
	_exit(poll_readable(w.fd, -1));
}

static void consume(FIXTURE_DATA(quiet) * self)
{
	int fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
			  O_RDONLY | O_NONBLOCK);
	static char page[LARGE_SUBBUF_KB * 1024];

	if (fd < 0 || write(self->ready[1], "r", 1) != 1)
		_exit(1);
	while (poll_readable(fd, -1) == 1) {
		while (read(fd, page, sizeof(page)) > 0)
			;
	}
	_exit(2);
}

/* A child that does @deed for ever, and has begun. */
static pid_t fork_begun(struct __test_metadata *_metadata, FIXTURE_DATA(quiet) * self,
			void (*deed)(FIXTURE_DATA(quiet) * self))
{
	pid_t pid = self->as_user ? fork_user(TRACE_GROUP) : fork();

	ASSERT_LE(0, pid);
	if (!pid)
		deed(self);
	self->pids[self->nr_pids++] = pid;
	wait_until_ready(_metadata, self);
	return pid;
}

/*
 * Does an observer that woke up @wakeups times leave the CPU as it was @without? The CPU
 * interrupts itself to wake the observer, at most once or twice for what it writes by itself.
 */
static bool as_quiet(const struct disturbance *with, const struct disturbance *without,
		     unsigned int seconds, long long wakeups)
{
	return with->sent <= 2 * without->sent + 10 * seconds &&
	       with->interrupts <= 4 * without->interrupts + 20 * seconds &&
	       with->events <= 5 * without->events + 100 * seconds &&
	       /* The events of one interrupt may wake it more than once. */
	       wakeups <= 4 * with->interrupts + 10 * seconds;
}

/* An idle CPU writes @events whenever it is woken, and by each the observer is. */
static void expect_sleeping(struct __test_metadata *_metadata,
			    FIXTURE_DATA(quiet) * self, const char *events)
{
	const unsigned int seconds = 3;
	struct trace_instance *ti = &self->ti;
	struct disturbance without, with;
	unsigned int i = 0;
	uint64_t wakeups;

	ASSERT_EQ(0, instance_write(ti, events, "1"));
	without = measure(_metadata, ti, seconds * 1000, "no observer");
	fork_begun(_metadata, self, follow);
	sleep_ms(100);
	do {
		wakeups = wakeups_of(self);
		with = measure(_metadata, ti, seconds * 1000, "an observer");
		wakeups = wakeups_of(self) - wakeups;
		TH_LOG("%llu wake-ups", (unsigned long long)wakeups);
	} while (!as_quiet(&with, &without, seconds, wakeups) && ++i < MEASURED_AGAIN);
	EXPECT_GT(MEASURED_AGAIN, i);
	/* It is awake when there is something: this process comes by. */
	wakeups = wakeups_of(self);
	ASSERT_EQ(0, run_on_cpu(ti->cpu));
	sleep_ms(10);
	ASSERT_EQ(0, run_on_cpu(ti->other_cpu));
	sleep_ms(STILL_WAITING_MS);
	EXPECT_LT(wakeups, wakeups_of(self));
	ASSERT_EQ(0, instance_write(ti, events, "0"));
}

/* WAKE-18 */
TEST_F(quiet, an_observer_of_an_idle_cpu_sleeps_with_power_events)
{
	expect_sleeping(_metadata, self, "events/power/enable");
}

#ifdef __x86_64__
/* WAKE-18 */
TEST_F(quiet, an_observer_of_an_idle_cpu_sleeps_with_irq_vectors_events)
{
	expect_sleeping(_metadata, self, "events/irq_vectors/enable");
}
#endif

/* What is traced is caused by the very waking of an observer on the watched CPU. */
static void expect_few_wakeups(struct __test_metadata *_metadata, FIXTURE_DATA(quiet) * self,
			       const char *events)
{
	struct trace_instance *ti = &self->ti;
	struct disturbance d;
	long long sleeps, began;
	uint64_t wakeups;
	pid_t pid;

	self->follow_on = ti->cpu;
	ASSERT_EQ(0, instance_write(ti, events, "1"));
	began = monotonic_ns();
	pid = fork_begun(_metadata, self, follow);
	sleeps = sleeps_of(pid);
	d = measure(_metadata, ti, 3000, "an observer on the watched CPU");
	sleeps = sleeps_of(pid) - sleeps;
	wakeups = wakeups_of(self);
	TH_LOG("%llu wake-ups, %lld sleeps", (unsigned long long)wakeups, sleeps);
	EXPECT_GE(rounds_allowed(monotonic_ns() - began), wakeups);
	EXPECT_GE(rounds_allowed(d.ns) + BY_CHANCE, sleeps);
	EXPECT_LT(8, wakeups);
	ASSERT_EQ(0, instance_write(ti, events, "0"));
	/* It has not been forgotten: it wakes by the next event, a while later. */
	sleep_ms(STILL_WAITING_MS);
	wakeups = wakeups_of(self);
	ASSERT_EQ(0, run_on_cpu(ti->cpu));
	ASSERT_EQ(0, write_events(ti, 1, EVENT_SMALL));
	ASSERT_EQ(0, run_on_cpu(ti->other_cpu));
	sleep_ms(1000);
	EXPECT_EQ(wakeups + 1, wakeups_of(self));
}

/* WAKE-19 */
TEST_F(quiet, an_observer_on_the_watched_cpu_sleeps_with_power_events)
{
	expect_few_wakeups(_metadata, self, "events/power/enable");
}

/* WAKE-19 */
TEST_F(quiet, an_observer_on_the_watched_cpu_sleeps_with_sched_events)
{
	expect_few_wakeups(_metadata, self, "events/sched/enable");
}

/* WAKE-19: To start a timer writes events as well, which are there before poll() looks. */
TEST_F(quiet, an_observer_on_the_watched_cpu_sleeps_with_timer_events)
{
	expect_few_wakeups(_metadata, self, "events/timer/enable");
}

static void follow_the_other_way(FIXTURE_DATA(quiet) * self)
{
	_exit(watch_for_ever(&self->ti, self->ti.other_cpu, self->ti.cpu, self->ready[1],
			     self->wakeups));
}

/* WAKE-19: Each wakes up by what the other one's waking writes. */
TEST_F(quiet, observers_of_each_others_cpu_wake_a_hundred_times_a_second)
{
	struct trace_instance *ti = &self->ti;
	struct disturbance d;
	long long sleeps[2];
	uint64_t wakeups;
	int i;

	ASSERT_EQ(0, instance_write(ti, "events/power/enable", "1"));
	ASSERT_EQ(0, instance_write(ti, "events/sched/enable", "1"));
	fork_begun(_metadata, self, follow);
	fork_begun(_metadata, self, follow_the_other_way);
	wakeups = wakeups_of(self);
	for (i = 0; i < 2; i++)
		sleeps[i] = sleeps_of(self->pids[i]);
	d = measure(_metadata, ti, 3000, "two observers");
	wakeups = wakeups_of(self) - wakeups;
	TH_LOG("%llu wake-ups of both", (unsigned long long)wakeups);
	EXPECT_GE(2 * rounds_allowed(d.ns), wakeups);
	/* One may sleep for something else than events: a page of its own, a lock. */
	for (i = 0; i < 2; i++)
		EXPECT_GE(rounds_allowed(d.ns) + BY_CHANCE, sleeps_of(self->pids[i]) - sleeps[i]);
	ASSERT_EQ(0, instance_write(ti, "events/sched/enable", "0"));
	ASSERT_EQ(0, instance_write(ti, "events/power/enable", "0"));
}

/* WAKE-19: What is there already is told late too, but not the later the more often. */
TEST_F(quiet, what_is_there_already_is_told_a_hundred_times_a_second)
{
	struct trace_instance *ti = &self->ti;
	const int rounds = 50;
	struct watcher w;
	long long ms;
	int round;

	ASSERT_EQ(0, run_on_cpu(ti->cpu));
	ASSERT_EQ(0, watcher_open(&w, ti, ti->cpu, LIVE_FROM_NOW));
	ms = monotonic_ns() / 1000000;
	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, write_events(ti, 1, EVENT_SMALL));
		ASSERT_EQ(0, watcher_wait(&w, 1));
		ASSERT_EQ(1, poll_readable(w.fd, 1000));
		ASSERT_LT(0, watch(&w));
	}
	ms = monotonic_ns() / 1000000 - ms;
	TH_LOG("%d times in %lld ms", rounds, ms);
	EXPECT_LE((rounds - 3) * 10, ms);
	EXPECT_GT(rounds * 10 * 4, ms);
	watcher_close(&w);
}

/* Interrupts sent to @cpu while the watched one writes @count events, one at a time. */
static long long sent_by_events(struct __test_metadata *_metadata,
				FIXTURE_DATA(quiet) * self, int cpu, unsigned int count)
{
	struct trace_instance *ti = &self->ti;
	struct disturbance before, after;
	long long until;

	EXPECT_EQ(0, run_on_cpu(ti->cpu));
	EXPECT_EQ(0, disturbance_now(&before, ti, cpu));
	while (count--) {
		EXPECT_EQ(0, write_events(ti, 1, EVENT_SMALL));
		/* Long enough for the consumer to sleep again. */
		until = monotonic_ns() + 300000;
		while (monotonic_ns() < until)
			;
	}
	EXPECT_EQ(0, disturbance_now(&after, ti, cpu));
	EXPECT_EQ(0, run_on_cpu(ti->other_cpu));
	return after.sent - before.sent;
}

/* WAKE-14: An event far from its mark is nothing to the CPU of an observer, either. */
TEST_F(quiet, events_before_its_mark_send_no_interrupt_to_an_observers_cpu)
{
	long long alone = sent_by_events(_metadata, self, self->ti.other_cpu, 300);
	unsigned int i = 0;
	long long sent;

	do {
		fork_begun(_metadata, self, sleep_at_far_mark);
		sleep_ms(STILL_WAITING_MS);
		sent = sent_by_events(_metadata, self, self->ti.other_cpu, 300);
		TH_LOG("%lld interrupts, %lld without an observer", sent, alone);
		end_children(self);
	} while (sent > alone + BY_CHANCE && ++i < MEASURED_AGAIN);
	EXPECT_GT(MEASURED_AGAIN, i);
}

/*
 * WAKE-23: Whichever CPU the observer is on, 0 or another: it interrupts no other. The writer's
 * interrupts itself to wake it. Another observer, which sleeps there, makes no difference.
 */
TEST_F(quiet, waking_an_observer_interrupts_its_own_cpu_only)
{
	struct trace_instance *ti = &self->ti;
	struct disturbance d[2];
	struct watcher w;
	unsigned int i, n;

	for (n = 0; n < 2; n++) {
		self->follow_on = ti->other_cpu;
		fork_begun(_metadata, self, follow);
		ASSERT_EQ(0, run_on_cpu(ti->cpu));
		ASSERT_EQ(0, watcher_open(&w, ti, ti->cpu, LIVE_FROM_NOW));
		ASSERT_EQ(0, disturbance_now(&d[0], ti, ti->cpu));
		for (i = 0; i < 300; i++) {
			ASSERT_EQ(0, watcher_wait(&w, FAR_MARK));
			ASSERT_EQ(0, write_events(ti, 1, EVENT_SMALL));
			sleep_ms(10);
		}
		ASSERT_EQ(0, disturbance_now(&d[1], ti, ti->cpu));
		d[1] = disturbance_since(d[0], &d[1]);
		disturbance_tell(&d[1], n ? "the other CPU writes" : "the CPU writes");
		EXPECT_GT(150, d[1].sent);
		EXPECT_GE(rounds_allowed(d[1].ns) + BY_CHANCE, d[1].irq_works);
		watcher_close(&w);
		end_children(self);
		/* The CPUs change places, and twice makes it as it was. */
		ti->other_cpu = ti->cpu;
		ti->cpu = self->follow_on;
	}
}

static long long sleeps_of_all(const FIXTURE_DATA(quiet) * self)
{
	long long sleeps = 0;
	size_t i;

	for (i = 1; i < self->nr_pids; i++)
		sleeps += sleeps_of(self->pids[i]);
	return sleeps;
}

/* WAKE-22: A consumer is woken by each event: that is nothing to observers that sleep. */
TEST_F(quiet, a_consumers_wake_ups_are_nothing_to_sleeping_observers)
{
	static const size_t observers[] = { 0, 1, 16 };
	long long alone = 0, sent, sleeps;
	size_t i;

	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	fork_begun(_metadata, self, consume);
	for (i = 0; i < ARRAY_SIZE(observers); i++) {
		while (self->nr_pids < 1 + observers[i])
			fork_begun(_metadata, self, sleep_at_far_mark);
		sleep_ms(STILL_WAITING_MS);
		sleeps = sleeps_of_all(self);
		sent = sent_by_events(_metadata, self, self->ti.cpu, 1000);
		sleeps = sleeps_of_all(self) - sleeps;
		fprintf(stderr, "# %zu observers: %lld interrupts sent, %lld sleeps\n",
			observers[i], sent, sleeps);
		if (!i)
			alone = sent;
		/* Whether the consumer still sleeps when it is woken is chance. */
		EXPECT_LE(sent, alone + 1000);
		/* One that was just about to sleep is counted. */
		EXPECT_GE(observers[i], sleeps);
	}
}

/* Descriptors of so many observers, which epoll waits for, at a far mark. */
static int sleep_many(const struct trace_instance *ti, unsigned int count)
{
	struct rlimit limit = { count + 100, count + 100 };
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(0), err = 0, fd;
	struct watcher w;

	if (ep < 0 || setrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	err = watcher_open(&w, ti, ti->cpu, LIVE_FROM_NOW);
	if (err)
		return err;
	while (!err && count--) {
		fd = live_file(ti, ti->cpu);
		err = fd < 0 ? fd : watcher_tell(&w, fd, FAR_MARK);
		if (!err && epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event))
			err = -errno;
	}
	watcher_close(&w);
	return err ? err : ep;
}

/* Every other one of some sleeps until anything comes, the rest at a far mark; of many all do. */
static uint64_t mark_of(const FIXTURE_DATA(quiet) * self, int i)
{
	return self->files == SOME_OBSERVERS && i % 2 ? FAR_MARK : 1;
}

/* Each file is told where its observer is, whenever it is readable. */
static void follow_by_many(FIXTURE_DATA(quiet) * self)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(0);
	struct watcher w;
	unsigned int i;

	if (watcher_open(&w, &self->ti, self->ti.cpu, LIVE_FROM_NOW))
		_exit(1);
	for (i = 0; i < self->files; i++) {
		event.data.fd = live_file(&self->ti, self->ti.cpu);
		if (watcher_tell(&w, event.data.fd, mark_of(self, event.data.fd)) ||
		    epoll_ctl(ep, EPOLL_CTL_ADD, event.data.fd, &event))
			_exit(2);
	}
	if (write(self->ready[1], "r", 1) != 1)
		_exit(3);
	while (epoll_wait(ep, &event, 1, -1) == 1) {
		__atomic_fetch_add(self->wakeups, 1, __ATOMIC_RELAXED);
		if (watch(&w) < 0 ||
		    watcher_tell(&w, event.data.fd, mark_of(self, event.data.fd)))
			_exit(4);
	}
	_exit(5);
}

/* What a CPU of the pair has taken while the watched one wrote as fast as it can. */
static void write_for_3_s(struct __test_metadata *_metadata, FIXTURE_DATA(quiet) * self,
			  struct disturbance *watched, struct disturbance *other)
{
	struct trace_instance *ti = &self->ti;
	long long until = monotonic_ns() + 3000000000;
	struct disturbance before, other_before;

	ASSERT_EQ(0, disturbance_now(&before, ti, ti->cpu));
	ASSERT_EQ(0, disturbance_now(&other_before, ti, ti->other_cpu));
	while (monotonic_ns() < until)
		ASSERT_EQ(0, write_events(ti, 100, EVENT_SMALL));
	ASSERT_EQ(0, disturbance_now(watched, ti, ti->cpu));
	ASSERT_EQ(0, disturbance_now(other, ti, ti->other_cpu));
	*watched = disturbance_since(before, watched);
	*other = disturbance_since(other_before, other);
	disturbance_tell(watched, "the busy CPU");
	disturbance_tell(other, "the CPU of the observers");
}

/*
 * WAKE-19, WAKE-23: The watched CPU's rounds are few, and what it sends in them as well. The
 * test has two CPUs, so that what is sent to the other one is sent by the watched one.
 */
TEST_F(quiet, a_thousand_files_one_byte_ahead_of_a_busy_writer_are_woken_in_few_rounds)
{
	static const struct rlimit limit = { MANY_OBSERVERS + 100, MANY_OBSERVERS + 100 };
	struct trace_instance *ti = &self->ti;
	struct disturbance watched, other;
	unsigned int try = 0;
	uint64_t wakeups, rounds;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	ASSERT_EQ(0, grant_by_chgrp(ti, true));
	self->files = MANY_OBSERVERS;
	self->as_user = true;
	fork_begun(_metadata, self, follow_by_many);
	ASSERT_EQ(0, run_on_cpu(ti->cpu));
	do {
		wakeups = wakeups_of(self);
		write_for_3_s(_metadata, self, &watched, &other);
		wakeups = wakeups_of(self) - wakeups;
		rounds = rounds_allowed(watched.ns) * 11 / 10;
		TH_LOG("%llu wake-ups", (unsigned long long)wakeups);
		EXPECT_LT(100, wakeups);
		EXPECT_GE(rounds * ROUND_OBSERVERS, wakeups);
	} while ((watched.irq_works > rounds || watched.sent > rounds ||
		  other.sent > rounds * ROUND_OBSERVERS) && ++try < MEASURED_AGAIN);
	EXPECT_GT(MEASURED_AGAIN, try);
	EXPECT_EQ(0, grant_by_chgrp(ti, false));
}

/* How often observers were woken since @before: as soon as each could be, and a bit later. */
static uint64_t woken_since(FIXTURE_DATA(quiet) * self, uint64_t before)
{
	unsigned int ms;

	for (ms = 0; ms < WOKEN_MS && wakeups_of(self) - before < SOME_OBSERVERS; ms += 10)
		sleep_ms(10);
	sleep_ms(STILL_WAITING_MS);
	return wakeups_of(self) - before;
}

/* WAKE-15: They are more than the kernel wakes at a time. It wakes no observer twice. */
TEST_F(quiet, a_reset_wakes_each_of_many_observers_once)
{
	struct trace_instance *ti = &self->ti;
	uint64_t before = 0, wakeups;
	int resets;

	self->files = SOME_OBSERVERS;
	fork_begun(_metadata, self, follow_by_many);
	sleep_ms(STILL_WAITING_MS);
	EXPECT_EQ(0, wakeups_of(self));
	for (resets = 0; resets < 4; resets++) {
		ASSERT_EQ(0, instance_write(ti, "trace", ""));
		wakeups = woken_since(self, before);
		before += wakeups;
		TH_LOG("%llu wake-ups", (unsigned long long)wakeups);
		EXPECT_LE(SOME_OBSERVERS, wakeups);
		EXPECT_GE(SOME_OBSERVERS * 5 / 4, wakeups);
	}
}

/* Counts those that wake up soon after the first one, none of which sleeps again. */
static void sleep_once(FIXTURE_DATA(quiet) * self)
{
	static struct epoll_event events[SOME_OBSERVERS];
	int ep = sleep_many(&self->ti, SOME_OBSERVERS);

	if (ep < 0 || write(self->ready[1], "r", 1) != 1 ||
	    epoll_wait(ep, events, 1, -1) != 1)
		_exit(255);
	sleep_ms(STILL_WAITING_MS);
	_exit(epoll_wait(ep, events, SOME_OBSERVERS, 0));
}

/* WAKE-15: They are more than the kernel wakes at a time, and none is left asleep. */
TEST_F(quiet, a_reset_wakes_all_of_many_observers_that_come_no_more)
{
	pid_t pid = fork_begun(_metadata, self, sleep_once);

	EXPECT_EQ(-EAGAIN, child_status(pid, STILL_WAITING_MS));
	ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
	EXPECT_EQ(SOME_OBSERVERS, child_status(pid, WOKEN_MS));
	self->nr_pids = 0;
}

static void sleep_a_thousand_times(FIXTURE_DATA(quiet) * self)
{
	struct epoll_event event;
	int ep = sleep_many(&self->ti, MANY_OBSERVERS);

	if (ep < 0 || write(self->ready[1], "r", 1) != 1)
		_exit(1);
	_exit(epoll_wait(ep, &event, 1, -1));
}

/* WAKE-23 */
TEST_F(quiet, a_thousand_sleeping_observers_send_no_interrupt)
{
	struct trace_instance *ti = &self->ti;
	struct disturbance before, idle, beginning, d;
	struct watcher first;
	unsigned int i = 0;

	ASSERT_EQ(0, watcher_open(&first, ti, ti->cpu, LIVE_FROM_NOW));
	idle = measure(_metadata, ti, 3000, "one observer");
	ASSERT_EQ(0, disturbance_now(&before, ti, ti->cpu));
	fork_begun(_metadata, self, sleep_a_thousand_times);
	ASSERT_EQ(0, disturbance_now(&beginning, ti, ti->cpu));
	d = disturbance_since(before, &beginning);
	disturbance_tell(&d, "a thousand begin");
	/* They take their time, in which something may happen. */
	EXPECT_LE(d.sent, BESIDE_A_BUSY + idle.sent * (1 + d.ns / idle.ns) * 2);
	do {
		d = measure(_metadata, ti, 3000, "a thousand sleep");
	} while (d.sent > BY_CHANCE + 2 * idle.sent && ++i < MEASURED_AGAIN);
	EXPECT_GT(MEASURED_AGAIN, i);
	watcher_close(&first);
}

/* What a user who may read does to a CPU: 0 or a negative errno. */

static int call_wait(struct watcher *w)
{
	return watcher_wait(w, 1);
}

static int call_wait_far(struct watcher *w)
{
	return watcher_wait(w, FAR_MARK);
}

static int call_poll(struct watcher *w)
{
	return poll_readable(w->fd, 0);
}

static int call_poll_1ms(struct watcher *w)
{
	return poll_readable(w->fd, 1);
}

static int call_mmap(struct watcher *w)
{
	return -map_error(w->fd, w->map.index->mapping_size, PROT_READ, MAP_SHARED, 0);
}

static const struct {
	const char	*name;
	int		(*call)(struct watcher *w);
	const char	*file;		/* if not: open() and close() of this one */
	bool		frees;		/* memory, when RCU says so */
} deeds[] = {
	/* What it costs that files come and go: RCU wakes its threads, anywhere. */
	{ "open() and close() of trace_pipe_raw", NULL, "trace_pipe_raw", true },
	{ "SET_POSITION", call_wait, NULL, false },
	{ "SET_POSITION at a far mark", call_wait_far, NULL, false },
	{ "poll(0)", call_poll, NULL, false },
	{ "poll(1)", call_poll_1ms, NULL, false },
	{ "mmap() and munmap()", call_mmap, NULL, true },
	{ "open() and close()", NULL, "trace_live", true },
};

static int do_worst(const struct trace_instance *ti, size_t deed)
{
	long long until = monotonic_ns() + 1000000000;
	struct watcher w;
	int err = watcher_open(&w, ti, ti->cpu, LIVE_FROM_NOW), fd, times;

	if (!err)
		err = watch_and_wait(&w, 1);
	for (times = 0; !err && monotonic_ns() < until; times++) {
		if (deeds[deed].call) {
			err = deeds[deed].call(&w);
			continue;
		}
		fd = cpu_file(ti, ti->cpu, deeds[deed].file, O_RDONLY);
		err = fd < 0 ? fd : close(fd);
	}
	return err ? -err : times < 10 ? EAGAIN : 0;
}

/* The interrupts that the CPU was sent in about a second. */
static long long sent_by_worst(struct __test_metadata *_metadata,
			       FIXTURE_DATA(quiet) * self, size_t deed)
{
	struct trace_instance *ti = &self->ti;
	struct disturbance before, after;
	pid_t pid;

	EXPECT_EQ(0, disturbance_now(&before, ti, ti->cpu));
	pid = fork_user(TRACE_GROUP);
	EXPECT_LE(0, pid);
	if (!pid)
		_exit(do_worst(ti, deed));
	EXPECT_EQ(0, child_status(pid, WOKEN_MS))
		TH_LOG("%s", deeds[deed].name);
	EXPECT_EQ(0, disturbance_now(&after, ti, ti->cpu));
	after = disturbance_since(before, &after);
	disturbance_tell(&after, deeds[deed].name);
	return after.sent;
}

/* WAKE-23: opening and closing in a loop sends as many as with trace_pipe_raw, the rest none. */
TEST_F(quiet, the_worst_a_user_does_sends_no_interrupt_of_its_own)
{
	struct disturbance idle;
	unsigned int try;
	long long by_raw, most;
	size_t i;

	ASSERT_EQ(0, grant_by_chgrp(&self->ti, true));
	idle = measure(_metadata, &self->ti, 1500, "no user");
	by_raw = sent_by_worst(_metadata, self, 0);
	for (i = 1; i < ARRAY_SIZE(deeds); i++) {
		most = deeds[i].frees && by_raw > idle.sent ? by_raw : idle.sent;
		for (try = 0; try < MEASURED_AGAIN; try++) {
			if (sent_by_worst(_metadata, self, i) <= BESIDE_A_BUSY + 2 * most)
				break;
		}
		EXPECT_GT(MEASURED_AGAIN, try)
			TH_LOG("%s", deeds[i].name);
	}
	EXPECT_EQ(0, grant_by_chgrp(&self->ti, false));
}

TEST_HARNESS_MAIN

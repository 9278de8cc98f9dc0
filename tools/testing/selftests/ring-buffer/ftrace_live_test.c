// SPDX-License-Identifier: GPL-2.0
/*
 * Observers of a CPU whose functions are traced, those of its idle loop as well,
 * which RCU does not watch. These tests patch kernel functions, which is why they
 * have a program of their own: some emulators do that well only with one thread
 * for all CPUs.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/ioctl.h>

#include "buffer_fixture.h"
#include "disturbance.h"

/* Some of these are called where RCU does not watch. */
#define IDLE_FUNCTIONS	"*idle*"

FIXTURE(traced) {
	struct trace_instance	ti;
	struct watcher		w;
	pid_t			pid;
	uint64_t		*wakeups;
};

FIXTURE_VARIANT(traced) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(traced, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(traced, instance_large) INSTANCE_LARGE;

FIXTURE_SETUP(traced)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	self->w.fd = -1;
	self->wakeups = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->wakeups);
	/* The watched CPU is idle. */
	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
}

FIXTURE_TEARDOWN(traced)
{
	if (self->pid > 0 && !kill(self->pid, 0))
		kill_child(self->pid);
	EXPECT_EQ(0, switch_cpu_online(self->ti.cpu, true));
	watcher_close(&self->w);
	instance_write(&self->ti, "current_tracer", "nop");
	instance_write(&self->ti, "set_ftrace_filter", "");
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* LIVE-13: that empties the buffer, and it goes on. */
TEST_F(traced, current_tracer_can_change_while_observed)
{
	ASSERT_EQ(0, watcher_open(&self->w, &self->ti, self->ti.cpu, LIVE_FROM_OLDEST));
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", IDLE_FUNCTIONS));
	EXPECT_EQ(0, instance_write(&self->ti, "current_tracer", "function"));
	/* Wake the CPU: it may be idle for longer than any test has time for. */
	ASSERT_EQ(0, run_on_cpu(self->ti.cpu));
	sleep_ms(STILL_WAITING_MS);
	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	EXPECT_EQ(0, instance_write(&self->ti, "tracing_on", "0"));
	ASSERT_LE(0, watch(&self->w));
	EXPECT_LT(0, self->w.tally.others);
	EXPECT_EQ(0, self->w.tally.malformed);
	EXPECT_EQ(committed_events(&self->ti, self->ti.cpu), self->w.o.count);
	EXPECT_EQ(self->w.o.count,
		  self->w.o.before + self->w.o.seen + self->w.o.missed);
	EXPECT_EQ(0, instance_write(&self->ti, "current_tracer", "nop"));
}

static void fork_follower(struct __test_metadata *_metadata,
			  FIXTURE_DATA(traced) * self, int run_on)
{
	self->pid = fork();
	ASSERT_LE(0, self->pid);
	if (!self->pid)
		_exit(watch_for_ever(&self->ti, self->ti.cpu, run_on, -1,
				     self->wakeups));
	sleep_ms(STILL_WAITING_MS);
}

static bool quiet(const struct disturbance *with, const struct disturbance *without)
{
	return with->sent <= 2 * without->sent + 30 &&
	       with->interrupts <= 4 * without->interrupts + 60 &&
	       with->events <= 5 * without->events + 30 * 1000;
}

/*
 * Each interrupt of the idle CPU writes functions by the hundred, of which the
 * observer sees some before it sleeps again. Of such interrupts the CPU has one or two
 * more, by which it wakes the observer.
 */
static void expect_sleeping(struct __test_metadata *_metadata,
			    FIXTURE_DATA(traced) * self)
{
	struct disturbance without, with;
	unsigned int i = 0;

	ASSERT_EQ(0, instance_write(&self->ti, "current_tracer", "function"));
	sleep_ms(STILL_WAITING_MS);
	ASSERT_EQ(0, disturbance_in(&without, &self->ti, self->ti.cpu, 3000, "no observer"));
	fork_follower(_metadata, self, self->ti.other_cpu);
	do {
		ASSERT_EQ(0, disturbance_in(&with, &self->ti, self->ti.cpu, 3000,
					    "an observer"));
	} while (!quiet(&with, &without) && ++i < MEASURED_AGAIN);
	EXPECT_GT(MEASURED_AGAIN, i);
	EXPECT_LT(0, __atomic_load_n(self->wakeups, __ATOMIC_RELAXED));
}

/* WAKE-18 */
TEST_F(traced, an_observer_of_an_idle_cpu_sleeps_with_its_idle_loop_traced)
{
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", IDLE_FUNCTIONS));
	expect_sleeping(_metadata, self);
}

/* WAKE-18 */
TEST_F(traced, an_observer_of_an_idle_cpu_sleeps_with_all_functions_traced)
{
	expect_sleeping(_metadata, self);
}

/*
 * WAKE-19: Each of its calls writes functions by the thousand on the CPU that it watches, where
 * two sub-buffers are written by one wake-up.
 */
TEST_F(traced, an_observer_on_the_watched_cpu_sleeps_with_all_functions_traced)
{
	static const unsigned int subbufs[] = { 2, TEST_SUBBUFS };
	struct trace_instance *ti = &self->ti;
	struct disturbance d;
	uint64_t wakeups;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(subbufs); i++) {
		ASSERT_EQ(0, cpu_write_number(ti, ti->cpu, "buffer_size_kb",
					      subbufs[i] * ti->subbuf_kb));
		ASSERT_EQ(0, instance_write(ti, "current_tracer", "function"));
		fork_follower(_metadata, self, ti->cpu);
		wakeups = __atomic_load_n(self->wakeups, __ATOMIC_RELAXED);
		ASSERT_EQ(0, disturbance_in(&d, ti, ti->cpu, 3000,
					    "an observer on the watched CPU"));
		wakeups = __atomic_load_n(self->wakeups, __ATOMIC_RELAXED) - wakeups;
		TH_LOG("%llu wake-ups", (unsigned long long)wakeups);
		EXPECT_LT(8, wakeups);
		EXPECT_GE(rounds_allowed(d.ns) * 11 / 10, wakeups);
		EXPECT_EQ(0, kill_child(self->pid));
		ASSERT_EQ(0, instance_write(ti, "current_tracer", "nop"));
	}
}

/* The first or the last event of the CPU, as it comes or goes, makes the file readable. */
static void expect_woken(struct __test_metadata *_metadata, FIXTURE_DATA(traced) * self,
			 int fd, bool online)
{
	struct trace_instance *ti = &self->ti;

	ASSERT_LE(0, fd);
	self->pid = fork_sleeper(ti, fd, 0);
	ASSERT_LT(0, self->pid);
	EXPECT_EQ(-EAGAIN, child_status(self->pid, STILL_WAITING_MS));
	ASSERT_EQ(0, switch_cpu_online(ti->cpu, online));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2));
}

static void trace_function(struct __test_metadata *_metadata, FIXTURE_DATA(traced) * self,
			   const char *name)
{
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", name));
	ASSERT_EQ(0, instance_write(&self->ti, "current_tracer", "function"));
}

/* An observer that has told its position. */
static int observer_fd(struct __test_metadata *_metadata, FIXTURE_DATA(traced) * self)
{
	EXPECT_EQ(0, watcher_open(&self->w, &self->ti, self->ti.cpu, LIVE_FROM_NOW));
	EXPECT_EQ(0, watcher_wait(&self->w, 1));
	return self->w.fd;
}

/*
 * WAKE-11: A CPU that is not online any more writes this function's event, and cannot send
 * what wakes an observer to another one.
 */
TEST_F(traced, an_observer_is_woken_by_the_last_event_of_a_cpu_that_goes_down)
{
	trace_function(_metadata, self, "rcutree_dying_cpu");
	expect_woken(_metadata, self, observer_fd(_metadata, self), false);
}

/*
 * WAKE-24: A CPU that is not online yet writes this function's event. It takes no interrupt
 * then, but will.
 */
TEST_F(traced, an_observer_is_woken_by_the_first_event_of_a_cpu_that_comes_up)
{
	ASSERT_EQ(0, switch_cpu_online(self->ti.cpu, false));
	trace_function(_metadata, self, "notify_cpu_starting");
	expect_woken(_metadata, self, observer_fd(_metadata, self), true);
	EXPECT_EQ(1, cpu_stat(&self->ti, self->ti.cpu, "entries"));
}

/* POLL-5: An open file keeps the tracer as it is, so that comes first. */
TEST_F(traced, a_consumer_is_woken_by_the_last_event_of_its_cpu_that_goes_down)
{
	int fd;

	trace_function(_metadata, self, "rcutree_dying_cpu");
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	expect_woken(_metadata, self, fd, false);
	close(fd);
}

/* POLL-5 */
TEST_F(traced, a_consumer_of_all_cpus_is_woken_by_the_last_event_of_a_cpu_that_goes_down)
{
	int fd;

	trace_function(_metadata, self, "rcutree_dying_cpu");
	fd = instance_file(&self->ti, "trace_pipe", O_RDONLY | O_NONBLOCK);
	expect_woken(_metadata, self, fd, false);
	close(fd);
}

/* The step of hotplug that follows workqueue_offline_cpu() when a CPU goes down */
static int number_of_threads_step(void)
{
	FILE *states = fopen("/sys/devices/system/cpu/hotplug/states", "r");
	int number = -1;
	char line[80];

	while (states && fgets(line, sizeof(line), states)) {
		if (strstr(line, "smpboot/threads:online"))
			number = atoi(line);
	}
	if (states)
		fclose(states);
	return number;
}

/* The CPU begins to go down, writes an event, fails at a later step, and stays up. */
static int stay_online(int cpu)
{
	char path[64], number[16];
	int err;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/hotplug/fail", cpu);
	snprintf(number, sizeof(number), "%d", number_of_threads_step());
	err = write_file(path, number);
	if (err)
		return err;
	err = switch_cpu_online(cpu, false);
	write_file(path, "-1");
	return err;
}

/* POLL-5 */
TEST_F(traced, readers_are_woken_by_an_event_of_a_cpu_that_stays_up_after_all)
{
	struct trace_instance *ti = &self->ti;
	int fds[3], i;

	trace_function(_metadata, self, "workqueue_offline_cpu");
	ASSERT_EQ(0, instance_write(ti, "buffer_percent", "0"));
	fds[0] = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	fds[1] = instance_file(ti, "trace_pipe", O_RDONLY | O_NONBLOCK);
	for (i = 0; i < 3; i++) {
		if (i == 2)
			fds[i] = observer_fd(_metadata, self);
		ASSERT_LE(0, fds[i]);
		self->pid = fork_sleeper(ti, fds[i], 0);
		ASSERT_LT(0, self->pid);
		ASSERT_EQ(-EAGAIN, stay_online(ti->cpu));
		EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2)) TH_LOG("file %d", i);
		ASSERT_EQ(0, instance_write(ti, "trace", ""));
	}
	close(fds[0]);
	close(fds[1]);
}

/*
 * HOLD-13: The kernel takes the snapshot on a CPU that takes no more interrupts, so it must not
 * queue there what wakes the waiters. The instance is removed while the CPU is down.
 */
TEST_F(traced, a_snapshot_of_a_cpu_that_goes_down_keeps_no_instance)
{
	int cpu = self->ti.cpu;

	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", "rcutree_dying_cpu:snapshot"));
	ASSERT_EQ(0, switch_cpu_online(self->ti.cpu, false));
	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter",
				    "!rcutree_dying_cpu:snapshot"));
	EXPECT_EQ(0, instance_close(&self->ti));
	ASSERT_EQ(0, switch_cpu_online(cpu, true));
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
}

/* The index is another, as the ring is: a writer that RCU does not see may be in it. */
static int change_what_is_observed(struct trace_instance *ti, unsigned int round)
{
	unsigned int kb = ti->subbuf_kb;

	switch (round % 4) {
	case 0:
		return cpu_write_number(ti, ti->cpu, "buffer_size_kb",
					(4 + round % 5) * kb);
	case 1:
		return instance_write_number(ti, "buffer_size_kb", (5 + round % 7) * kb);
	case 2:
		return instance_write_number(ti, "buffer_subbuf_size_kb", 2 * kb);
	default:
		return instance_write_number(ti, "buffer_subbuf_size_kb", kb);
	}
}

/* LIVE-26: KASAN tells of what is stored to memory that is freed. */
TEST_F(traced, the_index_goes_beside_a_traced_idle_loop)
{
	unsigned int round;

	ASSERT_EQ(0, instance_write(&self->ti, "set_ftrace_filter", IDLE_FUNCTIONS));
	ASSERT_EQ(0, instance_write(&self->ti, "current_tracer", "function"));
	for (round = 0; round < 40; round++) {
		ASSERT_EQ(0, watcher_open(&self->w, &self->ti, self->ti.cpu,
					  LIVE_FROM_OLDEST));
		ASSERT_LE(0, watch(&self->w));
		ASSERT_EQ(0, watcher_wait(&self->w, 1));
		poll_readable(self->w.fd, round % 3 * 10);
		watcher_close(&self->w);
		ASSERT_EQ(0, change_what_is_observed(&self->ti, round));
	}
	while (round++ % 4)
		ASSERT_EQ(0, change_what_is_observed(&self->ti, 3));
}

/* LIVE-26 */
TEST_F(traced, an_observed_instance_goes_beside_a_traced_idle_loop)
{
	struct trace_instance other;
	struct watcher w;
	int round;

	for (round = 0; round < 8; round++) {
		ASSERT_EQ(0, instance_open(&other, false, 0));
		ASSERT_EQ(0, run_on_cpu(other.other_cpu));
		ASSERT_EQ(0, instance_write(&other, "set_ftrace_filter", IDLE_FUNCTIONS));
		ASSERT_EQ(0, instance_write(&other, "current_tracer", "function"));
		ASSERT_EQ(0, watcher_open(&w, &other, other.cpu, LIVE_FROM_NOW));
		ASSERT_EQ(0, watcher_wait(&w, 1));
		poll_readable(w.fd, 20);
		watcher_close(&w);
		close(other.marker);
		other.marker = -1;
		ASSERT_EQ(0, rmdir(other.dir));
		instance_forget(&other);
	}
}

TEST_HARNESS_MAIN

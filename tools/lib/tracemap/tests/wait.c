// SPDX-License-Identifier: GPL-2.0
/*
 * Test waiting: until there is something, and no longer; without spinning; and
 * for CPUs that come up.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib_guest.h"

static struct tracemap *open_all(const struct way_to_read *w, uint64_t wake_bytes)
{
	struct tracemap_options o = options_of(w);
	struct tracemap *t = NULL;

	o.wake_bytes = wake_bytes;
	expect_eq(tracemap_open(&t, INSTANCE, &o), 0);
	return t;
}

static int drain_all(struct tracemap *t, struct account *a)
{
	int ret = 0;

	for (unsigned int i = 0; i < tracemap_nr_cpus(t) && !ret; i++)
		ret = drain(tracemap_get_cpu(t, i), a);
	return ret;
}

struct writer {
	pthread_t thread;
	unsigned int delay_ms;
	unsigned int pause_us;
	uint32_t from, to;
	int cpu;
};

static void *write_later(void *arg)
{
	struct writer *w = arg;

	usleep(w->delay_ms * 1000);
	for (uint32_t i = w->from; i <= w->to; i++) {
		write_marks(w->cpu, i, i);
		usleep(w->pause_us);
	}
	return NULL;
}

static void start(struct writer *w)
{
	pthread_create(&w->thread, NULL, write_later, w);
}

/* With buffer_percent at 50 and at 0: any event ends the wait. */
static void wait_for_events(const struct way_to_read *w, const char *percent)
{
	struct writer writer = { .delay_ms = 100, .from = 1, .to = 1, .cpu = 1 };
	struct account a = { 0 };
	struct tracemap *t;
	double start_s, took;
	int ret;

	new_instance("256");
	set("buffer_percent", percent);
	t = open_all(w, 1);
	expect_eq(tracemap_wait(t, 0), 0);
	start_s = seconds();
	expect_eq(tracemap_wait(t, 300), 0);
	took = seconds() - start_s;
	expect(took >= 0.299 && took < 15);

	start(&writer);
	start_s = seconds();
	ret = tracemap_wait(t, 20000);
	took = seconds() - start_s;
	if (!expect_eq(ret, 1) || !expect(took < 15))
		printf("# by %s at %s percent: %f s\n", w->name, percent, took);
	expect_eq(drain_all(t, &a), 0);
	expect_eq(a.seen, 1);
	expect_eq(a.wrong, 0);
	expect_eq(tracemap_wait(t, 50), 0);
	pthread_join(writer.thread, NULL);
	tracemap_close(t);
	end_instance();
}

static void test_wait(void)
{
	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		wait_for_events(w, "50");
		wait_for_events(w, "0");
	}
}

/* A stream of single events, slept for: each is seen, and few calls are made. */
static void stream_events(const struct way_to_read *w, const char *percent)
{
	struct writer writer = { .from = 1, .to = 50, .pause_us = 5000, .cpu = 0 };
	struct account a = { 0 };
	unsigned int waits = 0;
	struct tracemap *t;
	double before;

	new_instance("256");
	set("buffer_percent", percent);
	t = open_all(w, 1);
	start(&writer);
	before = seconds();
	while (a.seen < 50 && seconds() < before + 60) {
		int ret = tracemap_wait(t, 20000);

		waits++;
		if (!expect_eq(ret, 1))
			break;
		expect_eq(drain_all(t, &a), 0);
	}
	pthread_join(writer.thread, NULL);
	expect_eq(a.seen, 50);
	expect_eq(a.wrong, 0);
	if (!expect(waits < 500))
		printf("# by %s at %s percent: %u waits\n", w->name, percent, waits);
	tracemap_close(t);
	end_instance();
}

static void test_stream(void)
{
	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		stream_events(w, "50");
		stream_events(w, "0");
	}
}

/*
 * What the processor was used in 0.3 seconds in which nothing comes: the least of
 * three times, for an emulated processor is said to be used when it is away.
 */
static double used_idly(struct tracemap *t)
{
	double least = 1, used;

	for (int i = 0; i < 3; i++) {
		used = cpu_seconds();
		expect_eq(tracemap_wait(t, 300), 0);
		used = cpu_seconds() - used;
		if (used < least)
			least = used;
	}
	return least;
}

/* Nothing comes: to wait for that takes no time of the processor's. */
static void test_idle(void)
{
	static const char * const sizes[] = { "12", "1024" };
	static const char * const percents[] = { "0", "1", "50" };

	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		for (unsigned int i = 0; i < ARRAY_SIZE(sizes) * ARRAY_SIZE(percents); i++) {
			struct account a = { 0 };
			struct tracemap *t;
			double used;

			new_instance(sizes[i % ARRAY_SIZE(sizes)]);
			set("buffer_percent", percents[i / ARRAY_SIZE(sizes)]);
			write_marks(0, 1, 3);
			t = open_all(w, i % 2);
			expect_eq(drain_all(t, &a), 0);
			expect_eq(a.seen, 3);
			used = used_idly(t);
			if (!expect(used < 0.1))
				printf("# by %s, %s KiB, %s percent: %f s\n", w->name,
				       sizes[i % ARRAY_SIZE(sizes)],
				       percents[i / ARRAY_SIZE(sizes)], used);
			tracemap_close(t);
			end_instance();
		}
	}
}

/* tracemap_fd() in an epoll of the caller's, idle first and then not. */
static unsigned int own_loop(struct tracemap *t, struct account *a, int ep,
			     uint64_t events, double limit)
{
	double end = seconds() + limit;
	unsigned int turns = 0;

	while (a->seen < events && seconds() < end) {
		struct epoll_event event;
		int left = (end - seconds()) * 1000 + 1;
		int ms = tracemap_arm(t);

		if (!expect(ms >= 0))
			break;
		turns++;
		epoll_wait(ep, &event, 1, ms && ms < left ? ms : left);
		expect_eq(drain_all(t, a), 0);
	}
	return turns;
}

static void own_epoll(const struct way_to_read *w, const char *percent)
{
	struct writer writer = { .from = 1, .to = 50, .pause_us = 5000, .cpu = 1 };
	struct epoll_event event = { .events = EPOLLIN };
	struct account a = { 0 };
	struct tracemap *t;
	unsigned int turns;
	int ep = epoll_create1(0);

	new_instance("256");
	set("buffer_percent", percent);
	t = open_all(w, 1);
	expect_eq(epoll_ctl(ep, EPOLL_CTL_ADD, tracemap_fd(t), &event), 0);
	turns = own_loop(t, &a, ep, 1, 0.5);
	if (!expect(turns < 40))
		printf("# by %s at %s percent: %u turns for nothing\n", w->name,
		       percent, turns);
	start(&writer);
	turns = own_loop(t, &a, ep, 50, 60);
	pthread_join(writer.thread, NULL);
	expect_eq(a.seen, 50);
	expect_eq(a.wrong, 0);
	if (!expect(turns < 500))
		printf("# by %s at %s percent: %u turns\n", w->name, percent, turns);
	close(ep);
	tracemap_close(t);
	end_instance();
}

static void test_own_epoll(void)
{
	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		own_epoll(w, "50");
		own_epoll(w, "0");
	}
}

/* A mark of many bytes, where the kernel can tell. */
static void test_wake_bytes(void)
{
	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		struct account a = { 0 };
		struct tracemap *t;

		if (w->way == TRACEMAP_READ)
			continue;
		new_instance("256");
		t = open_all(w, 20000);
		write_marks(0, 1, 100);		/* 2 KiB */
		expect_eq(tracemap_wait(t, 200), 0);
		write_marks(0, 101, 1000);
		expect_eq(tracemap_wait(t, 20000), 1);
		expect_eq(drain_all(t, &a), 0);
		expect_eq(a.seen, 1000);
		expect_eq(tracemap_wait(t, 100), 0);
		tracemap_close(t);
		end_instance();
	}
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void test_signal(void)
{
	/* Again and again: the first may come before it waits. */
	const struct itimerval soon = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	const struct itimerval never = { 0 };
	struct sigaction sa = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &sa, NULL);
	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		struct tracemap *t;

		new_instance("256");
		set("buffer_percent", "0");
		t = open_all(w, 1);
		setitimer(ITIMER_REAL, &soon, NULL);
		expect_eq(tracemap_wait(t, 20000), -EINTR);
		setitimer(ITIMER_REAL, &never, NULL);
		tracemap_close(t);
		end_instance();
	}
}

/* Two CPUs, of which one is not up yet: this wants a guest of its own. */
void test_hotplug(void)
{
	static const char online[] = "/sys/devices/system/cpu/cpu1/online";
	bool first = true;

	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		struct account a = { 0 };
		struct tracemap *t;

		new_instance("256");
		set("buffer_percent", "0");
		t = open_all(w, 1);
		if (first) {
			expect_eq(tracemap_nr_cpus(t), 1);
			expect_eq(tracemap_wait(t, 100), 0);
			expect_eq(tracemap_rescan(t), 0);
			set_global(online, "1");
			expect_eq(tracemap_rescan(t), 1);
			first = false;
		}
		if (!expect_eq(tracemap_nr_cpus(t), 2))
			return;
		expect_eq(tracemap_cpu_number(tracemap_get_cpu(t, 1)), 1);
		write_marks(1, 1, 100);
		expect_eq(tracemap_wait(t, 20000), 1);
		expect_eq(drain_all(t, &a), 0);
		write_marks(1, 101, 200);
		set_global(online, "0");
		expect_eq(drain_all(t, &a), 0);
		expect_eq(a.seen, 200);
		expect_eq(tracemap_wait(t, 100), 0);
		set_global(online, "1");
		write_marks(1, 201, 300);
		expect_eq(tracemap_wait(t, 20000), 1);
		expect_eq(drain_all(t, &a), 0);
		expect_eq(a.seen, 300);
		expect_eq(a.wrong, 0);
		tracemap_close(t);
		end_instance();
	}
}

const struct test wait_tests[] = {
	{ "a wait ends with an event, or with the time", test_wait, NULL },
	{ "single events are slept for", test_stream, NULL },
	{ "a wait for nothing does not spin", test_idle, NULL },
	{ "an epoll of the caller's", test_own_epoll, NULL },
	{ "a wait for many bytes", test_wake_bytes, "live" },
	{ "a signal ends a wait", test_signal, NULL },
};

const unsigned int nr_wait_tests = ARRAY_SIZE(wait_tests);

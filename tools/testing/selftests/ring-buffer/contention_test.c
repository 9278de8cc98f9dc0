// SPDX-License-Identifier: GPL-2.0
/*
 * All that takes a lock which a mapping takes, in loops beside each other:
 * mappings of both kinds, every way to change the size, snapshots, resets, CPU
 * hotplug. It is for lockdep: on a kernel with it, one order of locks in one
 * loop and another in another is a report.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>

#include "buffer_fixture.h"
#include "watcher.h"

/* At least so long, and until each of them has had its way. */
#define CONTEND_MS	4000

/* Whoever maps leaves the buffer as long to those who cannot beside him. */
static void rest_since(long long start)
{
	sleep_ms(1 + (monotonic_ns() - start) / 1000000);
}

static int map_and_read(struct trace_instance *ti)
{
	struct tally tally = { .unknown_loss = true };
	long long start = monotonic_ns();
	struct mapped_buffer mb;
	int err, i;

	err = map_it(&mb, ti);
	if (err)
		return err;
	for (i = 0; i < 10; i++)
		tally_get_reader(&tally, &mb);
	buffer_unmap(&mb);
	rest_since(start);
	return tally.malformed ? -EBADMSG : 0;
}

static int map_and_watch(struct trace_instance *ti)
{
	long long start = monotonic_ns();
	struct watcher w;
	int err;

	err = watcher_open(&w, ti, ti->cpu, LIVE_FROM_OLDEST);
	if (err)
		return err;
	watch(&w);
	err = w.torn || w.tally.malformed ? -EBADMSG : 0;
	watcher_close(&w);
	rest_since(start);
	return err;
}

/* One size and another, in turn. */
static unsigned int alternate(unsigned int a, unsigned int b)
{
	static unsigned int turn;

	return turn++ & 1 ? a : b;
}

static int resize_all(struct trace_instance *ti)
{
	return instance_write_number(ti, "buffer_size_kb", alternate(256, 700));
}

static int resize_one(struct trace_instance *ti)
{
	return cpu_write_number(ti, ti->cpu, "buffer_size_kb",
				alternate(300, 500));
}

static int resize_subbufs(struct trace_instance *ti)
{
	return instance_write_number(ti, "buffer_subbuf_size_kb",
				     alternate(LARGE_SUBBUF_KB, 8));
}

static int take_snapshot(struct trace_instance *ti)
{
	int err = instance_write(ti, "snapshot", "1");

	instance_write(ti, "snapshot", "0");
	sleep_ms(1);
	return err;
}

static int reset(struct trace_instance *ti)
{
	sleep_ms(5);
	return instance_write(ti, "trace", "");
}

static int plug(struct trace_instance *ti)
{
	int err = switch_cpu_online(ti->cpu, false);

	if (!err)
		err = switch_cpu_online(ti->cpu, true);
	/*
	 * The kernel's own work for the CPU that came is to run before it goes
	 * again: hwlat_hotplug_workfn() takes the CPU it is on for that one.
	 */
	write_file("/proc/sys/vm/stat_refresh", "1");
	sleep_ms(100);
	return err;
}

static int write_some(struct trace_instance *ti)
{
	int err = write_events(ti, 20, EVENT_LARGE);

	sleep_ms(1);
	return err ? err : write_events(ti, 20, EVENT_SMALL);
}

/* @allowed: what it may answer besides 0 and EBUSY, as the others go on. */
static const struct contender {
	const char	*name;
	int		(*act)(struct trace_instance *ti);
	int		allowed;
} contenders[] = {
	{ "map_and_read",	map_and_read,		0 },
	{ "map_and_watch",	map_and_watch,		-EAGAIN },
	{ "resize_all",		resize_all,		0 },
	{ "resize_one",		resize_one,		0 },
	{ "resize_subbufs",	resize_subbufs,		0 },
	{ "take_snapshot",	take_snapshot,		0 },
	{ "reset",		reset,			0 },
	{ "plug",		plug,			0 },
	{ "write_some",		write_some,		-EBADF },
};

#define CONTENDERS	(sizeof(contenders) / sizeof(*contenders))

/* Shared with the children. */
struct account {
	unsigned int	done;
	unsigned int	refused;
	int		wrong;		/* an answer it should not give */
};

static pid_t fork_contender(struct trace_instance *ti,
			    const struct contender *c, struct account *a)
{
	pid_t pid = fork();
	int err;

	if (pid)
		return pid;
	while (!a->wrong) {
		err = c->act(ti);
		if (!err)
			a->done++;
		else if (err == -EBUSY || err == c->allowed)
			a->refused++;
		else
			a->wrong = err;
	}
	for (;;)
		pause();
}

/* Sleeps until each has had a turn, or one of them has failed. */
static void wait_for_all(const struct account *accounts)
{
	long long start = monotonic_ns();
	long long least = start + CONTEND_MS * 1000000LL;
	long long end = start + 10 * WOKEN_MS * 1000000LL;
	unsigned int ready;
	size_t i;

	do {
		sleep_ms(50);
		for (ready = 0, i = 0; i < CONTENDERS; i++) {
			ready += accounts[i].done > 0;
			if (accounts[i].wrong)
				return;
		}
	} while (monotonic_ns() < (ready < CONTENDERS ? end : least));
}

/*
 * Lockdep turns itself off when it has found something, and also when it has
 * seen more than it has room for: then nothing was proved. A kernel without it
 * has no such file.
 */
static bool lockdep_is_off(void)
{
	char text[8192], *line;

	if (read_file("/proc/lockdep_stats", text, sizeof(text)) < 0)
		return false;
	line = strstr(text, "debug_locks:");
	return !line || !strtol(line + strlen("debug_locks:"), NULL, 10);
}

FIXTURE(contention) {
	struct trace_instance	ti;
	struct account		*accounts;
};

FIXTURE_VARIANT(contention) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(contention, top_level_large) TOP_LEVEL_LARGE;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(contention, instance) INSTANCE;
#endif

FIXTURE_SETUP(contention)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	self->accounts = mmap(NULL, CONTENDERS * sizeof(*self->accounts),
			      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			      -1, 0);
	ASSERT_NE(MAP_FAILED, self->accounts);
}

FIXTURE_TEARDOWN(contention)
{
	EXPECT_EQ(0, instance_close(&self->ti));
}

static void expect_usable(struct __test_metadata *_metadata,
			  struct trace_instance *ti)
{
	struct mapped_buffer mb;
	struct tally tally = { .next = ti->seq };

	ASSERT_EQ(0, run_on_cpu(ti->cpu));
	ASSERT_EQ(0, instance_write(ti, "trace", ""));
	ASSERT_EQ(0, map_it(&mb, ti));
	expect_intact(_metadata, ti, &mb, &tally);
	buffer_unmap(&mb);
	ASSERT_EQ(0, instance_write_number(ti, "buffer_subbuf_size_kb",
					   ti->subbuf_kb));
	expect_unmapped(_metadata, ti);
}

/*
 * HOLD-13: Each comes to its turn, no answer is wrong, and all works afterwards. It
 * gets more time than others: cut short, it would leave a CPU away.
 */
TEST_F_TIMEOUT(contention, mappings_sizes_snapshots_and_hotplug_beside_each_other,
	       4 * TEST_TIMEOUT_DEFAULT)
{
	pid_t pids[CONTENDERS];
	size_t i;

	EXPECT_FALSE(lockdep_is_off());
	/* The CPU of the events is going to be away. */
	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	for (i = 0; i < CONTENDERS; i++) {
		pids[i] = fork_contender(&self->ti, &contenders[i],
					 &self->accounts[i]);
		ASSERT_LT(0, pids[i]);
	}
	wait_for_all(self->accounts);
	for (i = 0; i < CONTENDERS; i++)
		kill(pids[i], SIGKILL);
	for (i = 0; i < CONTENDERS; i++) {
		struct account *a = &self->accounts[i];

		EXPECT_EQ(0, kill_child(pids[i]));
		EXPECT_LT(0, a->done);
		EXPECT_EQ(0, a->wrong)
			TH_LOG("%s: %s", contenders[i].name, strerror(-a->wrong));
		TH_LOG("%s: %u done, %u refused", contenders[i].name, a->done,
		       a->refused);
	}
	/* It may have been killed in the middle. */
	ASSERT_EQ(0, switch_cpu_online(self->ti.cpu, true));
	expect_usable(_metadata, &self->ti);
	EXPECT_FALSE(lockdep_is_off());
}

TEST_HARNESS_MAIN

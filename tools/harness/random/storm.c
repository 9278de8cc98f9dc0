// SPDX-License-Identifier: GPL-2.0
/*
 * The storm: all workers at once, each with choices of its own. What is shared
 * may be in any state; what is a worker's own is known.
 */
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <sys/wait.h>

#include "random.h"

#define STUCK_MS	120000

static void complain_in_storm(const char *bad)
{
	if (!__atomic_exchange_n(&shared->failed, 1, __ATOMIC_ACQ_REL))
		log_show(bad);
	fflush(stdout);
	_exit(1);
}

static void storm_work(int worker)
{
	struct order o;
	struct answer a;
	const char *bad;

	while (!__atomic_load_n(&shared->stop, __ATOMIC_ACQUIRE)) {
		choose_operation(&o, worker);
		perform(&o, &a);
		log_order(&o, &a);
		bad = judge(&o, &a);
		if (bad)
			complain_in_storm(bad);
		__atomic_fetch_add(&shared->storm_ops, 1, __ATOMIC_RELAXED);
	}
	_exit(0);
}

static pid_t storm_start(uint64_t seed, unsigned int round, int worker)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	prng_seed(seed, round * 100ull + 1 + worker);
	storm = true;
	log_begin(seed, round);
	storm_work(worker);
	return 0;
}

static void sleep_or_fail(unsigned int ms)
{
	while (ms && !__atomic_load_n(&shared->failed, __ATOMIC_ACQUIRE)) {
		sleep_ms(ms < 50 ? ms : 50);
		ms -= ms < 50 ? ms : 50;
	}
}

/* A process that is killed may leave a child, and what that one has mapped. */
static const char *reap_orphans(void)
{
	long long end = monotonic_ns() + STUCK_MS * 1000000LL;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0) {
		if (monotonic_ns() > end)
			return complain("a child of a process of the storm is stuck");
		if (!pid)
			sleep_ms(5);
	}
	return NULL;
}

/* One of them is killed in the middle. */
const char *storm_play(uint64_t seed, unsigned int round, unsigned int ms)
{
	pid_t pids[WORKERS];
	const char *bad = NULL;
	int i, status;

	shared->stop = 0;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (i = 0; i < WORKERS; i++)
		pids[i] = storm_start(seed, round, i);
	sleep_or_fail(ms);
	kill(pids[0], SIGKILL);
	__atomic_store_n(&shared->stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < WORKERS; i++) {
		status = child_status(pids[i], STUCK_MS);
		if (status == -EAGAIN)
			bad = complain("process %d of the storm is stuck", i);
		else if (status && !(i == 0 && status == 128 + SIGKILL))
			bad = complain("process %d of the storm ended with %d", i, status);
	}
	if (!bad)
		bad = reap_orphans();
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	return bad;
}

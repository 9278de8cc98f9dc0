// SPDX-License-Identifier: GPL-2.0
/* The workers in lockstep: one is asked, all others wait. */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/wait.h>

#include "random.h"

#define ANSWERS_FD	(ANSWER_FD + 1)
#define STUCK_MS	200000

static int pipe_at(int from, int to)
{
	int ends[2];

	if (pipe(ends) || dup2(ends[0], from) < 0 || dup2(ends[1], to) < 0)
		return -errno;
	close(ends[0]);
	close(ends[1]);
	return 0;
}

void crew_make(void)
{
	int i;

	pipe_at(ANSWERS_FD, ANSWER_FD);
	for (i = 0; i < WORKERS; i++)
		pipe_at(ORDER_FD + i, ORDER_FD + WORKERS + i);
}

int crew_start(int worker)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		work(worker);
	crew_forked(worker, pid);
	return pid < 0 ? -errno : 0;
}

void crew_forked(int worker, pid_t pid)
{
	workers[worker].alive = pid > 0;
	workers[worker].pid = pid;
}

const char *crew_begin(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		worker_begin(&workers[i]);
		if (crew_start(i))
			return "no workers";
	}
	return NULL;
}

int crew_reap(int worker)
{
	int status = child_status(workers[worker].pid, STUCK_MS);

	return status == 128 + SIGKILL ? 0 : -1;
}

void crew_end(void)
{
	int i;

	for (i = 0; i < WORKERS; i++) {
		if (!workers[i].alive)
			continue;
		kill(workers[i].pid, SIGKILL);
		crew_reap(i);
		worker_gone(&workers[i], true);
	}
}

static const char *wait_for_answer(int worker)
{
	struct pollfd pfd = { .fd = ANSWERS_FD, .events = POLLIN };
	int waited, status;
	char c;

	for (waited = 0; waited < STUCK_MS; waited += 500) {
		if (poll(&pfd, 1, 500) > 0)
			return read(ANSWERS_FD, &c, 1) == 1 ? NULL : "no answer";
		if (waitpid(workers[worker].pid, &status, WNOHANG) > 0) {
			workers[worker].alive = false;
			return complain("the worker died, status %#x", status);
		}
	}
	return "the worker is stuck";
}

const char *crew_ask(const struct order *o, struct answer *a)
{
	struct seat *seat = &shared->seats[o->worker];
	const char *bad;
	char c = o->worker;

	memset(a, 0, sizeof(*a));
	seat->order = *o;
	if (write(ORDER_FD + WORKERS + o->worker, &c, 1) != 1)
		return "the worker cannot be asked";
	bad = wait_for_answer(o->worker);
	if (!bad)
		*a = seat->answer;
	return bad;
}

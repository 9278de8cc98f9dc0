// SPDX-License-Identifier: GPL-2.0
/* Operations on processes. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "random.h"

static int a_worker(bool alive, int but)
{
	int w = below(WORKERS), i;

	for (i = 0; i < WORKERS; i++, w = (w + 1) % WORKERS) {
		if (w != but && workers[w].alive == alive)
			return w;
	}
	return -1;
}

/* ---- fork: another worker, of what this one has ---- */

static bool choose_fork(struct order *o)
{
	o->other = a_worker(false, o->worker);
	return o->other >= 0;
}

/* Its parent is who asks, and sees its end. */
static void perform_fork(const struct order *o, struct answer *a)
{
	long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);

	if (!pid)
		work(o->other);
	note(a, pid);
}

/* MAP-18, MAP-19 */
static const char *judge_fork(const struct order *o, const struct answer *a)
{
	const char *bad;

	judge_begin();
	bad = judged(a);
	if (bad)
		return bad;
	worker_copy(&workers[o->other], worker_of(o));
	crew_forked(o->other, a->ret);
	return NULL;
}

/* ---- a worker with nothing ---- */

static const char *judge_start(const struct order *o, const struct answer *a)
{
	int err;

	(void)a;
	worker_begin(&workers[o->other]);
	err = crew_start(o->other);
	return err ? "no new worker" : NULL;
}

static void perform_nothing(const struct order *o, struct answer *a)
{
	(void)o;
	(void)a;
}

/* ---- exec ---- */

static bool choose_always(struct order *o)
{
	(void)o;
	return true;
}

/* The new program answers. */
static void perform_exec(const struct order *o, struct answer *a)
{
	char number[8];

	snprintf(number, sizeof(number), "%d", o->worker);
	note(a, execl("/proc/self/exe", "random", "worker", number, NULL));
}

static const char *judge_exec(const struct order *o, const struct answer *a)
{
	const char *bad;

	judge_begin();
	bad = judged(a);
	if (!bad)
		worker_gone(worker_of(o), false);
	return bad;
}

/* The child shares all until it is gone. */
static void perform_vfork(const struct order *o, struct answer *a)
{
	int status = -1;
	pid_t pid = vfork();

	if (!pid) {
		if (o->value)
			execl("/proc/self/exe", "random", "nothing", NULL);
		_exit(0);
	}
	note(a, pid);
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (status)
		snprintf(a->complaint, sizeof(a->complaint), "vfork()'s child ended with %#x",
			 status);
}

static bool choose_vfork(struct order *o)
{
	o->value = below(2);
	return true;
}

static const char *judge_answer(const struct order *o, const struct answer *a)
{
	(void)o;
	judge_begin();
	why(unless_storm(NO), ENOMEM);
	why(unless_storm(NO), EAGAIN);
	return judged(a);
}

/* ---- a child that is soon gone ---- */

static bool choose_brief(struct order *o)
{
	const struct worker *w = worker_of(o);
	int i;

	o->value = 0;
	for (i = 0; i < w->nr_areas; i++)
		o->value += !!(w->areas[i].bits & BIT_DOFORK);
	o->flags = below(4);
	return true;
}

/* It has what was asked for and no more, can read it and may unmap some. */
static int brief(const struct order *o)
{
	static struct seat seat;
	int i, prot;

	look_at_maps(&seat);
	if (seat.nr_spans != o->value)
		return 1;
	for (i = 0; i < seat.nr_spans; i++) {
		prot = seat.spans[i].prot;
		if (touch(arena(seat.spans[i].start),
			  (seat.spans[i].end - seat.spans[i].start) * PAGE) !=
		    (prot & PROT_READ ? 0 : SIGSEGV))
			return 2;
	}
	if (o->flags == 1 && seat.nr_spans)
		munmap(arena(seat.spans[0].start),
		       (seat.spans[0].end - seat.spans[0].start) * PAGE);
	if (o->flags == 2)
		execl("/proc/self/exe", "random", "nothing", NULL);
	return 0;
}

static void perform_brief(const struct order *o, struct answer *a)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(brief(o));
	note(a, pid);
	if (pid < 0)
		return;
	if (o->flags == 3)
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (status && !(o->flags == 3 && WIFSIGNALED(status)))
		snprintf(a->complaint, sizeof(a->complaint),
			 "a child with %ld mappings ended with %#x", o->value, status);
}

/* ---- kill ---- */

static bool choose_kill(struct order *o)
{
	o->other = a_worker(true, o->worker);
	return o->other >= 0;
}

static void perform_kill(const struct order *o, struct answer *a)
{
	note(a, kill(o->value, SIGKILL));
}

static const char *judge_kill(const struct order *o, const struct answer *a)
{
	const char *bad;

	judge_begin();
	bad = judged(a);
	if (bad)
		return bad;
	if (crew_reap(o->other))
		return "a worker that was killed does not go";
	worker_gone(&workers[o->other], true);
	return NULL;
}

static bool choose_victim(struct order *o)
{
	if (!choose_kill(o))
		return false;
	o->value = workers[o->other].pid;
	return true;
}

/* ---- debuggers ---- */

/* Another worker; in a storm itself, for it knows no other one's mappings. */
static bool choose_debug(struct order *o)
{
	struct area *area;

	if (storm) {
		o->other = o->worker;
		o->value = getpid();
	} else if (!choose_victim(o)) {
		return false;
	}
	area = any_area(&workers[o->other]);
	o->at = below(ARENA_PAGES);
	if (area && !one_in(6))
		o->at = area->start + below(area->end - area->start);
	return true;
}

static void perform_ptrace(const struct order *o, struct answer *a)
{
	pid_t pid = o->value;
	long word;
	int status;

	if (ptrace(PTRACE_SEIZE, pid, 0, 0) || ptrace(PTRACE_INTERRUPT, pid, 0, 0) ||
	    waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status)) {
		strcpy(a->complaint, "a worker cannot be debugged");
		return;
	}
	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, pid, arena(o->at), 0);
	note(a, errno ? -1 : 0);
	if (!ptrace(PTRACE_POKEDATA, pid, arena(o->at), word))
		strcpy(a->complaint, "a debugger wrote to the mapping");
	ptrace(PTRACE_DETACH, pid, 0, 0);
}

/* MAP-10, MAP-24 */
static const char *judge_ptrace(const struct order *o, const struct answer *a)
{
	const struct area *area = area_of(&workers[o->other], o->at);

	judge_begin();
	why(is(!area), EIO);
	why(is(!area), EFAULT);
	if (area && !(area->prot & PROT_READ))
		why(MAYBE, EIO);
	return judged(a);
}

static bool mem_writes(const struct order *o)
{
	char path[32];
	bool wrote;
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/mem", o->value);
	fd = open(path, O_RDWR);
	if (fd < 0)
		return false;
	wrote = pwrite(fd, "1234", 4, (off_t)(uintptr_t)arena(o->at)) > 0;
	close(fd);
	return wrote;
}

static void perform_vm_readv(const struct order *o, struct answer *a)
{
	char bytes[64] = { 0 };
	struct iovec local = { bytes, sizeof(bytes) };
	struct iovec remote = { arena(o->at), sizeof(bytes) };

	if (process_vm_writev(o->value, &local, 1, &remote, 1, 0) > 0 || mem_writes(o))
		strcpy(a->complaint, "another process wrote to the mapping");
	note(a, process_vm_readv(o->value, &local, 1, &remote, 1, 0));
}

/* MAP-24 */
static const char *judge_vm_readv(const struct order *o, const struct answer *a)
{
	const struct area *area = area_of(&workers[o->other], o->at);

	judge_begin();
	why(is(!area || !(area->prot & PROT_READ)), EFAULT);
	return judged(a);
}

const struct operation process_operations[] = {
	{ "fork", 8, true, false, choose_fork, perform_fork, judge_fork },
	{ "start", 3, true, false, choose_fork, perform_nothing, judge_start },
	{ "exec", 2, true, true, choose_always, perform_exec, judge_exec },
	{ "vfork", 3, false, false, choose_vfork, perform_vfork, judge_answer },
	{ "fork, brief", 8, false, false, choose_brief, perform_brief, judge_answer },
	{ "kill", 5, true, false, choose_victim, perform_kill, judge_kill },
	{ "ptrace", 4, true, false, choose_debug, perform_ptrace, judge_ptrace },
	{ "process_vm_readv", 4, false, false, choose_debug, perform_vm_readv, judge_vm_readv },
	{ NULL, 0, false, false, NULL, NULL, NULL },
};

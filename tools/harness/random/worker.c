// SPDX-License-Identifier: GPL-2.0
/* A worker: does what it is told, and says what came of it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <sys/time.h>

#include "random.h"

void note(struct answer *a, long ret)
{
	a->ret = ret;
	a->err = ret < 0 ? errno : 0;
}

void note_result(struct answer *a, long ret)
{
	errno = ret < 0 ? -ret : 0;
	note(a, ret < 0 ? -1 : ret);
}

/* ---- signals ---- */

static sigjmp_buf after_fault;

static void on_fault(int sig)
{
	siglongjmp(after_fault, sig);
}

static void on_alarm(int sig)
{
	(void)sig;
}

void catch_signals(void)
{
	struct sigaction alarm = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &alarm, NULL);
}

void may_block(bool begin)
{
	struct itimerval often = { { 0, 20000 }, { 0, 20000 } };

	if (!begin)
		memset(&often, 0, sizeof(often));
	if (storm)
		setitimer(ITIMER_REAL, &often, NULL);
}

/* Elsewhere such a signal is a fault of the driver. */
static void catch_faults(bool begin)
{
	struct sigaction fault = { .sa_handler = begin ? on_fault : SIG_DFL };

	sigaction(SIGBUS, &fault, NULL);
	sigaction(SIGSEGV, &fault, NULL);
}

int touch(const void *from, size_t len)
{
	const volatile unsigned char *byte = from;
	size_t i;
	int sig;

	catch_faults(true);
	sig = sigsetjmp(after_fault, 1);
	if (!sig) {
		for (i = 0; i < len; i += PAGE)
			(void)byte[i];
	}
	catch_faults(false);
	return sig;
}

/* ---- the address space ---- */

static bool parse_line(const char *line, struct span *span)
{
	unsigned long start, end;
	unsigned long long off;
	char prot[8];

	if (sscanf(line, "%lx-%lx %7s %llx", &start, &end, prot, &off) != 4 ||
	    start < ARENA || start >= ARENA + ARENA_PAGES * PAGE)
		return false;
	span->start = (start - ARENA) / PAGE;
	span->end = (end - ARENA) / PAGE;
	span->off = off;
	span->prot = (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0) |
		     (prot[2] == 'x' ? PROT_EXEC : 0);
	return true;
}

void look_at_maps(struct seat *seat)
{
	static char text[32768];
	char *line, *rest = text;

	seat->nr_spans = 0;
	if (read_file("/proc/self/maps", text, sizeof(text)) <= 0)
		return;
	while ((line = strsep(&rest, "\n"))) {
		if (seat->nr_spans < AREAS)
			seat->nr_spans += parse_line(line, &seat->spans[seat->nr_spans]);
	}
}

/* ---- orders ---- */

void perform(const struct order *o, struct answer *a)
{
	const struct operation *op = operation(o->op);

	memset(a, 0, sizeof(*a));
	op->perform(o, a);
	if (op->maps)
		look_at_maps(&shared->seats[o->worker]);
}

void work(int worker)
{
	struct seat *seat = &shared->seats[worker];
	struct order order;
	ssize_t len;
	char c;

	for (;;) {
		len = read(ORDER_FD + worker, &c, 1);
		if (len < 0 && errno == EINTR)
			continue;
		if (len != 1)
			_exit(1);
		/* A child it makes may look at it when there is another order. */
		order = seat->order;
		perform(&order, &seat->answer);
		if (write(ANSWER_FD, &c, 1) != 1)
			_exit(1);
	}
}

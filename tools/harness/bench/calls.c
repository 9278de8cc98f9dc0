// SPDX-License-Identifier: GPL-2.0
/*
 * The system calls of this thread, as the kernel counts them: a perf event on
 * the tracepoint that each of them passes.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

#define EVENT_ID	"/sys/kernel/tracing/events/raw_syscalls/sys_enter/id"

/* So far, the call that asks included. */
static int64_t count(int fd)
{
	uint64_t n;

	return read(fd, &n, sizeof(n)) == sizeof(n) ? (int64_t)n : -errno;
}

int calls_begin(struct calls *calls)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
	};
	int64_t id = file_number(EVENT_ID, "");

	if (id < 0)
		return id;
	attr.config = id;
	calls->fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (calls->fd < 0)
		return -errno;
	calls->before = count(calls->fd);
	return calls->before < 0 ? (int)calls->before : 0;
}

/* Returns how many there were between the beginning and this. */
int64_t calls_end(struct calls *calls)
{
	int64_t after = count(calls->fd);

	close(calls->fd);
	return after < 0 ? after : after - calls->before - 1;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots that the kernel takes, of the top level by tracing_snapshot() and of an instance,
 * called by the module: while a buffer is mapped, the trace of that buffer says so and nothing
 * else is done.
 */
#include <sys/mman.h>

#include "torture.h"

/* How often @text is in a file; -1 if that cannot be read. */
static int count_in(const struct trace_instance *ti, const char *file, const char *text)
{
	static char content[65536];
	int count = 0;

	if (instance_read(ti, file, content, sizeof(content)) < 0)
		return -1;
	for (const char *p = content; (p = strstr(p, text)); p++)
		count++;
	return count;
}

static int refusals(const struct trace_instance *ti)
{
	return count_in(ti, "trace", has_mainlines_mapping() ? "*** BUFFER MEMORY MAPPED ***\n" :
							       "*** THE BUFFER IS MAPPED ***\n");
}

static void expect(bool good, const char *what)
{
	if (!good)
		fail(NOT_REFUSED, "%s", what);
}

static bool ask(const struct trace_instance *ti)
{
	return !writers_snapshot(ti->top ? "" : strrchr(ti->dir, '/') + 1);
}

/* The other instance is to tell nothing. */
static void refused(const struct trace_instance *ti, const struct trace_instance *other)
{
	int fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY);
	int before = refusals(ti);
	void *meta = mmap(NULL, getpagesize(), PROT_READ, MAP_SHARED, fd, 0);

	expect(meta != MAP_FAILED, "the buffer is not mapped");
	expect(ask(ti), "no snapshot is asked for");
	munmap(meta, getpagesize());
	close(fd);
	expect(refusals(ti) == before + 1, "the trace does not tell of the mapping");
	expect(count_in(ti, "trace", "*** Can not use snapshot (sorry) ***\n") == before + 1,
	       "the trace does not tell that there is no snapshot");
	expect(count_in(other, "trace", "***") == 0, "another instance's trace tells of it");
	expect(count_in(ti, "error_log", "error") == 0, "the error log tells of it");
	expect(instance_number(ti, "tracing_on") == 1, "the trace was stopped");
}

static void stopped(const struct trace_instance *ti)
{
	expect(ask(ti), "no snapshot is asked for");
	expect(instance_number(ti, "tracing_on") == 0, "the trace goes on without a snapshot");
	expect(!instance_write(ti, "tracing_on", "1"), "the trace is not switched on again");
}

/* SNAP-3 */
static void take_snapshots(struct trace_instance *ti, const struct trace_instance *other)
{
	/* Mainline looks for a snapshot first, and stops the trace where there is none. */
	if (has_mainlines_mapping())
		stopped(ti);
	else
		refused(ti, other);
	expect(!instance_write(ti, "snapshot", "1"), "there is no snapshot after a mapping");
	expect(!write_events(ti, 1, EVENT_SMALL), "no event is written");
	expect(ask(ti), "no snapshot is asked for");
	expect(count_trace_lines(ti, "snapshot") == 1, "the kernel's snapshot is not taken");
	expect(count_trace_lines(ti, "trace") == 0, "the kernel's snapshot is a copy");
	expect(!write_events(ti, 2, EVENT_SMALL), "no event is written");
	refused(ti, other);
	expect(count_trace_lines(ti, "snapshot") == 1, "a snapshot is taken while mapped");
	expect(count_trace_lines(ti, "trace") == 2, "a refused snapshot takes events");
	expect(!instance_write(ti, "snapshot", "0"), "the snapshot is not freed");
	expect(!instance_write(ti, "trace", ""), "the trace is not emptied");
}

void check_snapshots(void)
{
	struct trace_instance top, instance;

	if (instance_open(&top, true, 0) || instance_open(&instance, false, 0)) {
		fail(NOT_REFUSED, "the top level or an instance cannot be used");
		return;
	}
	take_snapshots(&instance, &top);
	take_snapshots(&top, &instance);
	expect(!instance_close(&instance), "something is left of the instance");
	expect(!instance_close(&top), "something is left of the top level");
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots of the top level that the kernel takes, tracing_snapshot() called by the
 * module: while a buffer is mapped, the trace says so and nothing else is done.
 */
#include <sys/mman.h>

#include "torture.h"

/* With mainline's mapping the line has other words in front. */
static const char refusal[] = " MAPPED ***";

static int refusals(const struct trace_instance *top)
{
	static char text[65536];
	int count = 0;

	if (instance_read(top, "trace", text, sizeof(text)) <= 0)
		return -1;
	for (const char *p = text; (p = strstr(p, refusal)); p++)
		count++;
	return count;
}

static void expect(bool good, const char *what)
{
	if (!good)
		fail(NOT_REFUSED, "%s", what);
}

static void refused(struct trace_instance *top)
{
	int fd = cpu_file(top, top->cpu, "trace_pipe_raw", O_RDONLY);
	int before = refusals(top);
	void *meta = mmap(NULL, getpagesize(), PROT_READ, MAP_SHARED, fd, 0);

	expect(meta != MAP_FAILED, "the buffer is not mapped");
	expect(!writers_snapshot(), "no snapshot is asked for");
	munmap(meta, getpagesize());
	close(fd);
	expect(refusals(top) == before + 1, "the trace does not tell of the mapping");
	expect(instance_number(top, "tracing_on") == 1, "the trace was stopped");
}

static void stopped(struct trace_instance *top)
{
	expect(!writers_snapshot(), "no snapshot is asked for");
	expect(instance_number(top, "tracing_on") == 0, "the trace goes on without a snapshot");
	expect(!instance_write(top, "tracing_on", "1"), "the trace is not switched on again");
}

/* SNAP-3 */
static void take_snapshots(struct trace_instance *top)
{
	/* Mainline looks for a snapshot first, and stops the trace where there is none. */
	if (has_mainlines_mapping())
		stopped(top);
	else
		refused(top);
	expect(!instance_write(top, "snapshot", "1"), "there is no snapshot after a mapping");
	expect(!write_events(top, 1, EVENT_SMALL), "no event is written");
	expect(!writers_snapshot(), "no snapshot is asked for");
	expect(count_trace_lines(top, "snapshot") == 1, "the kernel's snapshot is not taken");
	expect(count_trace_lines(top, "trace") == 0, "the kernel's snapshot is a copy");
	expect(!write_events(top, 2, EVENT_SMALL), "no event is written");
	refused(top);
	expect(count_trace_lines(top, "snapshot") == 1, "a snapshot is taken while mapped");
	expect(count_trace_lines(top, "trace") == 2, "a refused snapshot takes events");
	expect(!instance_write(top, "snapshot", "0"), "the snapshot is not freed");
}

void check_snapshots(void)
{
	struct trace_instance top;

	if (instance_open(&top, true, 0)) {
		fail(NOT_REFUSED, "the top level cannot be used");
		return;
	}
	take_snapshots(&top);
	expect(!instance_close(&top), "something is left of the top level");
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The tables get_reader and irqs_off: what it costs to get a finished sub-buffer,
 * by the number of events in it. With the mapping that is one GET_READER, with
 * the live view a look at it and the check afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bench.h"
#include "live.h"

#define SUBBUFS		16
#define SUBBUF_HEADER	16

struct call {
	uint64_t start, end;	/* of the clock */
	uint64_t cost;
};

/* Which sub-buffers are taken. */
struct point {
	unsigned int subbuf_kib;
	unsigned int events;
	bool by_marker;		/* written through trace_marker_raw, else fired */
};

static int write_events(const struct trace *trace, const struct point *point,
			unsigned int count, unsigned int record)
{
	if (point->by_marker)
		return trace_mark(trace, count, mark_payload(record));
	return event_fire(count, event_payload(record));
}

/*
 * Fill a sub-buffer to the last byte with so many events: all alike, but for
 * the last, which takes the rest.
 */
static int fill_subbuf(const struct trace *trace, const struct point *point)
{
	unsigned int room = point->subbuf_kib * KIB - SUBBUF_HEADER;
	unsigned int record = room / point->events / 4 * 4;
	unsigned int rest = room - (point->events - 1) * record;
	int ret = write_events(trace, point, point->events - 1, record);

	return ret < 0 ? ret : write_events(trace, point, 1, rest);
}

static int fill_subbufs(const struct trace *trace, const struct point *point)
{
	int ret = 0;

	for (int i = 0; i < SUBBUFS && ret >= 0; i++)
		ret = fill_subbuf(trace, point);
	/* This one finishes the last. */
	return ret < 0 ? ret : write_events(trace, point, 1, 64);
}

static int get_reader(const struct trace *trace, const struct mapping *mapping, int fd,
		      unsigned int events, struct call *call)
{
	struct tally tally = { 0 };
	int ret;

	call->start = clock_now();
	ret = ioctl(fd, TRACE_MMAP_IOCTL_GET_READER);
	call->cost = clock_since(call->start);
	call->end = clock_now();
	if (ret < 0)
		return -errno;

	ret = mapping_parse(mapping, &trace->format, 0, &tally);
	if (ret < 0)
		return ret;
	if (tally.events == events)
		return 0;
	fprintf(stderr, "GET_READER: %lu events where there should be %u\n",
		(unsigned long)tally.events, events);
	return -ENODATA;
}

static int get_all(const struct trace *trace, const struct point *point, struct call *calls)
{
	struct mapping mapping;
	int ret, fd = trace_open_raw(trace, 0);

	if (fd < 0)
		return fd;
	ret = mapping_open(&mapping, fd);
	if (ret < 0)
		goto close;
	ret = fill_subbufs(trace, point);
	for (int i = 0; i < SUBBUFS && ret >= 0; i++)
		ret = get_reader(trace, &mapping, fd, point->events, &calls[i]);
	mapping_close(&mapping);
close:
	close(fd);
	return ret;
}

static int look(struct live_observer *o, unsigned int events, struct call *call)
{
	struct subbuf_record record;
	struct subbuf_iter it;
	uint32_t seen = 0;
	uint64_t start;
	int ret;

	call->start = clock_now();
	ret = live_look(o, &it);
	call->cost = clock_since(call->start);
	if (ret != LIVE_EVENTS)
		return ret < 0 ? ret : -ENODATA;
	while (subbuf_next(&it, &record))
		seen++;
	start = clock_now();
	ret = live_accept(o, &it, seen);
	call->cost += clock_since(start);
	call->end = clock_now();
	if (ret == 1 && seen == events)
		return 0;
	fprintf(stderr, "live view: %u events where there should be %u\n", seen, events);
	return ret < 0 ? ret : -ENODATA;
}

static int look_all(const struct trace *trace, const struct point *point, struct call *calls)
{
	struct live_mapping mapping;
	struct live_observer o;
	int ret = trace_map_live(trace, 0, &mapping);

	if (ret < 0)
		return ret;
	ret = live_attach(&o, &mapping, LIVE_FROM_NOW);
	if (ret >= 0)
		ret = fill_subbufs(trace, point);
	for (int i = 0; i < SUBBUFS && ret >= 0; i++)
		ret = look(&o, point->events, &calls[i]);
	live_unmap(&mapping);
	return ret;
}

static int make_calls(const struct way *way, const struct point *point, struct call *calls)
{
	struct trace trace;
	int ret, closed;

	ret = trace_open(&trace, point->subbuf_kib, (SUBBUFS + 4) * point->subbuf_kib);
	if (ret < 0)
		return ret;
	if (!point->by_marker)
		ret = trace_enable_event(&trace);
	if (ret >= 0)
		ret = way == &way_live ? look_all(&trace, point, calls) :
					 get_all(&trace, point, calls);
	closed = trace_close(&trace);
	return ret < 0 ? ret : closed;
}

static int get_reader_point(const struct way *way, const struct point *point)
{
	struct call calls[SUBBUFS];
	uint64_t sum = 0, most = 0, least = UINT64_MAX;
	int ret = make_calls(way, point, calls);

	if (ret < 0)
		return ret;
	for (int i = 0; i < SUBBUFS; i++) {
		sum += calls[i].cost;
		most = calls[i].cost > most ? calls[i].cost : most;
		least = calls[i].cost < least ? calls[i].cost : least;
	}
	result("get_reader", "way=%s events=%u subbuf=%u min=%lu max=%lu value=%.1f",
	       way->name, point->events, point->subbuf_kib, (unsigned long)least,
	       (unsigned long)most, (double)sum / SUBBUFS);
	return 0;
}

/* Mainline 6.12 drops every event that is larger than a page. */
static bool fits_kernel(const struct point *point)
{
	return kernel_lives || point->subbuf_kib * KIB / point->events <= 4 * KIB;
}

static int get_reader_points(const struct way *way)
{
	/* 255 events are all that 4 KiB have room for. */
	static const struct point points[] = {
		{ 4, 10, false }, { 4, 100, false }, { 4, 255, false },
		{ 64, 10, false }, { 64, 20, false }, { 64, 100, false },
		{ 64, 400, false }, { 64, 4000, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		int ret = fits_kernel(&points[i]) ? get_reader_point(way, &points[i]) : 0;

		if (ret < 0)
			return ret;
	}
	return 0;
}

static int each_way(int (*points)(const struct way *way))
{
	static const struct way *ways[] = { &way_mapping, &way_live };
	int ret = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ways) && ret >= 0; i++)
		ret = way_possible(ways[i]) ? points(ways[i]) : 0;
	return ret;
}

int table_get_reader(void)
{
	return each_way(get_reader_points);
}

/* irqs_off: a second instance traces the events irq_disable and irq_enable. */

static int watch_irqs(const struct trace *watch)
{
	char pid[16];
	int ret;

	snprintf(pid, sizeof(pid), "%d", getpid());
	ret = trace_set(watch, "trace_clock", "x86-tsc");
	if (!ret)
		ret = trace_set(watch, "set_event_pid", pid);
	if (!ret)
		ret = trace_set(watch, "events/preemptirq/irq_disable/enable", "1");
	if (!ret)
		ret = trace_set(watch, "events/preemptirq/irq_enable/enable", "1");
	return ret;
}

/* "... 123456: irq_disable: ...": the number, 0 if the line is another's. */
static uint64_t stamp_of(const char *line, const char *event)
{
	const char *p = strstr(line, event);

	if (!p)
		return 0;
	while (p > line && p[-1] >= '0' && p[-1] <= '9')
		p--;
	return strtoull(p, NULL, 10);
}

/* The longest stretch with interrupts off in each call. */
static void longest_off(FILE *file, const struct call *calls, uint64_t *longest)
{
	uint64_t off = 0;
	char line[512];
	int i = 0;

	while (i < SUBBUFS && fgets(line, sizeof(line), file)) {
		uint64_t disabled = stamp_of(line, ": irq_disable:");
		uint64_t enabled = stamp_of(line, ": irq_enable:");
		uint64_t now = disabled + enabled;

		while (i < SUBBUFS && now > calls[i].end)
			i++;
		if (i == SUBBUFS || now < calls[i].start)
			off = 0;
		else if (disabled)
			off = disabled;
		else if (off && now - off > longest[i])
			longest[i] = now - off;
	}
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * The median of the calls: into one of them a timer interrupt may fall, or the
 * work of the watching buffer when its sub-buffer is full.
 */
static int read_longest(const struct trace *watch, const struct call *calls,
			uint64_t *median)
{
	uint64_t longest[SUBBUFS] = { 0 };
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/trace", watch->dir);
	file = fopen(path, "r");
	if (!file)
		return -errno;
	longest_off(file, calls, longest);
	fclose(file);
	qsort(longest, SUBBUFS, sizeof(*longest), compare);
	*median = longest[SUBBUFS / 2];
	return 0;
}

static int irqs_off_point(const struct way *way, const struct point *point)
{
	struct call calls[SUBBUFS];
	struct trace watch;
	uint64_t longest = 0;
	int ret, closed;

	ret = trace_open(&watch, 4, 16 * KIB);
	if (ret < 0)
		return ret;
	ret = watch_irqs(&watch);
	if (!ret)
		ret = make_calls(way, point, calls);
	if (!ret)
		ret = trace_stop(&watch);
	if (!ret)
		ret = read_longest(&watch, calls, &longest);
	closed = trace_close(&watch);
	/* Who makes no call keeps no interrupt off. */
	if (!ret && !longest && way != &way_live)
		ret = -ENODATA;
	if (ret < 0)
		return ret;
	result("irqs_off", "way=%s events=%u subbuf=%u value=%lu", way->name, point->events,
	       point->subbuf_kib, (unsigned long)longest);
	return closed;
}

/* A mark may have 3 KiB, so ten of them fill no more than 16 KiB. */
static int irqs_off_points(const struct way *way)
{
	static const struct point points[] = { { 16, 10, true }, { 16, 400, true } };

	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		int ret = irqs_off_point(way, &points[i]);

		if (ret < 0)
			return ret;
	}
	return 0;
}

int table_irqs_off(void)
{
	return each_way(irqs_off_points);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The table writer: an event written into a buffer that is mapped n times, or
 * that is observed, and followed by n processes, or where an observer sleeps.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bench.h"
#include "live.h"

#define RUNS		8
#define EVENTS		5000
#define PAYLOAD		32
#define MAPPINGS_MAX	8

/* Of several runs the cheapest. After each of them the observers look. */
static int write_cost(const struct observers *observers, double *cost)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < RUNS; i++) {
		uint64_t passed, start;
		int ret;

		clock_settle();
		start = clock_now();
		ret = event_fire(EVENTS, PAYLOAD);
		passed = clock_since(start);
		if (ret >= 0)
			ret = observers_look(observers, (i + 1) * EVENTS);
		if (ret < 0)
			return ret;
		if (passed < least)
			least = passed;
	}
	*cost = (double)least / EVENTS;
	return 0;
}

static int with_mappings(int fd, int mappings, double *cost)
{
	const struct observers none = { 0 };
	struct mapping mapping[MAPPINGS_MAX];
	int n, ret = 0;

	for (n = 0; n < mappings; n++) {
		ret = mapping_open(&mapping[n], fd);
		if (ret < 0)
			break;
	}
	if (ret >= 0)
		ret = write_cost(&none, cost);
	while (n-- > 0)
		mapping_close(&mapping[n]);
	return ret;
}

static int point(const struct trace *trace, int mappings)
{
	double cost = 0;
	int ret, fd = trace_open_raw(trace, 0);

	if (fd < 0)
		return fd;
	ret = with_mappings(fd, mappings, &cost);
	close(fd);
	if (ret < 0)
		return ret;
	result("writer", "bench=bench_event mappings=%d payload=%d value=%.3f",
	       mappings, PAYLOAD, cost);
	return 0;
}

/* The index is mapped by this process, and by each observer. */
static int observed_point(const struct trace *trace, int nr)
{
	struct observers observers = { 0 };
	struct reader reader;
	double cost = 0;
	int ret = reader_open(&reader, &way_live, trace, 0);

	if (ret < 0)
		return ret;
	ret = observers_start(&observers, trace, nr);
	if (ret >= 0)
		ret = write_cost(&observers, &cost);
	observers_stop(&observers);
	reader_close(&reader);
	if (ret < 0)
		return ret;
	result("writer", "bench=observed observers=%d payload=%d value=%.3f", nr, PAYLOAD, cost);
	return 0;
}

/* An observer, that sleeps at a mark a whole buffer away, or only has the mapping. */
static int asleep_point(const struct live_mapping *mapping, int fd, bool sleeps)
{
	const struct observers none = { 0 };
	struct trace_live_position position;
	struct live_observer o;
	double cost = 0;
	int ret = live_attach(&o, mapping, LIVE_FROM_NOW);

	position = live_position(&o, UINT64_MAX);
	if (ret >= 0 && sleeps && ioctl(fd, TRACE_LIVE_IOCTL_SET_POSITION, &position) < 0)
		ret = -errno;
	if (ret >= 0)
		ret = write_cost(&none, &cost);
	if (ret >= 0)
		result("writer", "bench=asleep sleepers=%d payload=%d value=%.3f", sleeps,
		       PAYLOAD, cost);
	return ret;
}

/* In a buffer that all runs together do not fill: the mark is not reached. */
static int asleep_points(void)
{
	struct live_mapping mapping;
	struct trace trace;
	int ret, closed, fd;

	ret = trace_open(&trace, 4, 8 * KIB);
	if (ret < 0)
		return ret;
	fd = trace_open_live(&trace, 0);
	ret = fd < 0 ? fd : live_map(&mapping, fd);
	if (ret >= 0) {
		ret = trace_enable_event(&trace);
		for (int sleeps = 0; sleeps <= 1 && ret >= 0; sleeps++)
			ret = asleep_point(&mapping, fd, sleeps);
		live_unmap(&mapping);
	}
	if (fd >= 0)
		close(fd);
	closed = trace_close(&trace);
	return ret < 0 ? ret : closed;
}

static int points(const struct trace *trace)
{
	static const int counts[] = { 0, 1, 2, 4, 8 };
	static const int observers[] = { 0, 1, 4, OBSERVERS_MAX };
	int ret = trace_set(trace, "options/overwrite", "1");

	if (!ret)
		ret = trace_enable_event(trace);
	for (size_t i = 0; !ret && i < ARRAY_SIZE(counts); i++) {
		if (!counts[i] || kernel_maps)
			ret = point(trace, counts[i]);
	}
	for (size_t i = 0; !ret && kernel_lives && i < ARRAY_SIZE(observers); i++)
		ret = observed_point(trace, observers[i]);
	return ret;
}

int table_writer(void)
{
	struct trace trace;
	int ret, closed;

	ret = trace_open(&trace, 4, KIB);
	if (ret < 0)
		return ret;
	ret = points(&trace);
	closed = trace_close(&trace);
	if (ret >= 0 && kernel_lives)
		ret = asleep_points();
	return ret < 0 ? ret : closed;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The table loss: events come at a fixed rate from a timer interrupt, a reader
 * on the same CPU takes what it can, in a buffer of the same size for all.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "bench.h"

#define BUFFER_KIB	512
#define PAYLOAD		128
#define TICK_US		1000
#define TICKS		100

/*
 * Where the writer takes all of the CPU the kernel finds its timers hanging, and
 * puts the next ones off: not those of the point that comes after.
 */
#define SETTLE_US	500000

/* Until the last tick has been, and what it left. */
static int read_on(struct reader *reader, struct tally *tally)
{
	uint64_t until = clock_ns() + TICKS * TICK_US * 1000ULL;
	int64_t left;
	int ret;

	do {
		ret = reader->way->drain(reader, tally);
	} while (ret >= 0 && clock_ns() < until);
	do {
		if (ret >= 0)
			ret = reader->way->drain(reader, tally);
		left = file_number(EVENT_DIR "rate", "");
	} while (ret >= 0 && left > 0);
	if (ret >= 0)
		ret = left < 0 ? left : reader->way->drain(reader, tally);
	return ret;
}

static int64_t lost_in_tracefs(const struct trace *trace)
{
	char path[128];
	int64_t dropped;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu0/stats", trace->dir);
	dropped = file_number(path, "dropped events: ");
	return dropped < 0 ? dropped : dropped + file_number(path, "overrun: ");
}

/*
 * How many events were lost: by the buffer, for those who take them out of it,
 * or to the reader. Who counts what he missed must have it right.
 */
static int64_t lost(const struct reader *reader, const struct tally *tally,
		    unsigned int written)
{
	const struct way *way = reader->way;

	if (way->takes_nothing && tally->events + tally->missed != written)
		return -EBADMSG;
	if (way->takes_nothing || way->outside_tracefs)
		return (int64_t)written - tally->events;
	return lost_in_tracefs(reader->trace);
}

static int64_t race(const struct way *way, const struct trace *trace, unsigned int rate)
{
	struct tally tally = { 0 };
	struct reader reader;
	int64_t ret = reader_open(&reader, way, trace, 0);

	if (ret < 0)
		return ret;
	/* Where nothing is taken, what is full must not stay as it is. */
	if (way->takes_nothing)
		ret = trace_set(trace, "options/overwrite", "1");
	if (ret >= 0 && !way->outside_tracefs)
		ret = trace_enable_event(trace);
	if (ret >= 0)
		ret = file_write(EVENT_DIR "rate", "%u %u %u %u", rate, TICK_US, TICKS, PAYLOAD);
	if (ret >= 0)
		ret = read_on(&reader, &tally);
	if (ret >= 0)
		ret = lost(&reader, &tally, rate * TICKS);
	reader_close(&reader);
	return ret;
}

static int point(const struct way *way, unsigned int rate)
{
	struct trace trace;
	int64_t events;
	int ret;

	usleep(SETTLE_US);
	outside_size = BUFFER_KIB * KIB;
	bpf_payload = PAYLOAD;
	ret = trace_open(&trace, 4, BUFFER_KIB);
	if (ret < 0)
		return ret;
	events = race(way, &trace, rate);
	ret = trace_close(&trace);
	if (events < 0 || ret < 0)
		return events < 0 ? events : ret;
	result("loss", "way=%s rate=%u payload=%u value=%.3f", way->name, rate, PAYLOAD,
	       100.0 * events / ((double)rate * TICKS));
	return 0;
}

int table_loss(void)
{
	static const struct way *ways[] = {
		&way_read, &way_mapping, &way_live, &way_splice_file,
		&way_splice_null, &way_perf, &way_bpf,
	};
	static const unsigned int rates[] = {
		800, 1000, 1200, 1600, 2000, 2100, 2200, 2300, 2400, 2800,
	};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		if (!way_possible(ways[i]))
			continue;
		for (size_t j = 0; j < ARRAY_SIZE(rates); j++) {
			int ret = point(ways[i], rates[j]);

			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

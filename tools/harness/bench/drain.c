// SPDX-License-Identifier: GPL-2.0
/*
 * The tables drain, growth and peers: fill a buffer, then let a reader drain
 * it. Of several runs the cheapest counts.
 */
#include <errno.h>
#include <stdio.h>

#include "bench.h"

#define RUNS		3
#define SUBBUFS		32

/* What is drained. */
struct fill {
	unsigned int subbuf_kib;
	size_t buffer_kib;
	unsigned int payload;
	unsigned int count;
	bool by_event;		/* from the tracepoint, else through trace_marker_raw */
};

struct cost {
	double event;		/* the reader's, for one */
	double write;		/* the writer's, for one */
	struct tally tally;
};

static int write_events(const struct trace *trace, const struct fill *fill, struct cost *cost)
{
	uint64_t start;
	int ret;

	clock_settle();
	start = clock_now();
	if (fill->by_event)
		ret = event_fire(fill->count, fill->payload);
	else
		ret = trace_mark(trace, fill->count, fill->payload);
	cost->write = (double)clock_since(start) / fill->count;
	return ret;
}

/* To count calls makes them dear: not while the clock runs. */
static int drain_counted(struct reader *reader, struct tally *tally)
{
	struct calls calls;
	int64_t made;
	int ret = calls_begin(&calls);

	if (ret < 0)
		return ret;
	ret = reader->way->drain(reader, tally);
	made = calls_end(&calls);
	tally->calls = made;
	return made < 0 ? made : ret;
}

static int drain(struct reader *reader, struct cost *cost)
{
	uint64_t start;
	int ret = 0;

	if (reader->way->prepare)
		ret = reader->way->prepare(reader);
	if (ret < 0)
		return ret;
	if (parse_counts)
		return drain_counted(reader, &cost->tally);
	clock_settle();
	start = clock_now();
	ret = reader->way->drain(reader, &cost->tally);
	cost->event = clock_since(start);
	return ret;
}

/*
 * Every event written came, or, where nobody looked, has left the buffer. Where
 * they were not counted, there are as many bytes as when they were.
 */
static int check_events(const struct reader *reader, const struct fill *fill,
			const struct tally *counted, struct cost *cost)
{
	struct tally *tally = &cost->tally;

	if (!parse_counts)
		tally->calls = counted->calls;
	if (!parse_counts && !tally->events && tally->bytes == counted->bytes)
		tally->events = counted->events;
	if (reader->way == &way_splice_file || reader->way == &way_splice_null) {
		int64_t left = trace_entries(reader->trace, reader->cpu);

		if (left < 0)
			return left;
		tally->events = fill->count - left;
	} else if (tally->events != fill->count) {
		fprintf(stderr, "%s: %u events written, %lu read\n", reader->way->name,
			fill->count, (unsigned long)tally->events);
		return -ENODATA;
	}
	if (!tally->events)
		return -ENODATA;
	cost->event /= tally->events;
	return 0;
}

static int fill_and_drain(const struct way *way, const struct trace *trace,
			  const struct fill *fill, const struct tally *counted,
			  struct cost *cost)
{
	struct reader reader;
	int ret = reader_open(&reader, way, trace, 0);

	if (ret < 0)
		return ret;
	if (fill->by_event && !way->outside_tracefs)
		ret = trace_enable_event(trace);
	if (ret >= 0)
		ret = write_events(trace, fill, cost);
	if (ret >= 0)
		ret = trace_stop(trace);
	if (ret >= 0)
		ret = drain(&reader, cost);
	if (ret >= 0)
		ret = check_events(&reader, fill, counted, cost);
	reader_close(&reader);
	return ret;
}

static int run_once(const struct way *way, const struct fill *fill,
		    const struct tally *counted, struct cost *cost)
{
	struct trace trace;
	int ret, closed;

	*cost = (struct cost){ 0 };
	ret = trace_open(&trace, fill->subbuf_kib, fill->buffer_kib);
	if (ret < 0)
		return ret;
	ret = fill_and_drain(way, &trace, fill, counted, cost);
	closed = trace_close(&trace);
	return ret < 0 ? ret : closed;
}

/* The cheapest of @runs, after one that counts the events and is not timed. */
static int measure(const struct way *way, const struct fill *fill, int runs,
		   struct cost *best)
{
	struct tally counted = { 0 };
	struct cost cost;
	int ret = 0;

	for (int i = -1; i < runs && ret >= 0; i++) {
		double write = best->write;

		parse_counts = i < 0;
		ret = run_once(way, fill, &counted, &cost);
		if (i < 0)
			counted = cost.tally;
		if (ret < 0 || i < 0)
			continue;
		if (!i || cost.event < best->event)
			*best = cost;
		if (i)
			best->write = write < cost.write ? write : cost.write;
	}
	parse_counts = true;
	if (ret < 0)
		fprintf(stderr, "way %s, payload %u, sub-buffers of %u KiB\n",
			way->name, fill->payload, fill->subbuf_kib);
	return ret;
}

static double per_kib(uint64_t n, const struct tally *tally)
{
	return tally->bytes ? (double)n * KIB / tally->bytes : 0;
}

/* drain */

/*
 * Events that a sub-buffer has room for, written through trace_marker_raw. It
 * keeps room for the tag twice, and for the word "<faulted>".
 */
static unsigned int marks_per_subbuf(unsigned int subbuf_kib, unsigned int payload)
{
	unsigned int data = 12 + (payload > 16 ? payload : 16);
	unsigned int record = data + (data > 112 ? 8 : 4);

	return (subbuf_kib * KIB - 16) / record;
}

int drain_point(const char *table, const struct way *way, unsigned int subbuf_kib,
		unsigned int payload)
{
	struct fill fill = {
		.subbuf_kib = subbuf_kib,
		.buffer_kib = (SUBBUFS + 2) * subbuf_kib,
		.payload = payload,
		/* With one more, the writer has left the last of them. */
		.count = SUBBUFS * marks_per_subbuf(subbuf_kib, payload) + 1,
	};
	struct cost cost = { 0 };
	int ret = measure(way, &fill, RUNS, &cost);

	if (ret < 0)
		return ret;
	result(table, "way=%s payload=%u subbuf=%u calls=%.3f copied=%.1f value=%.2f",
	       way->name, payload, subbuf_kib,
	       per_kib(cost.tally.calls, &cost.tally),
	       per_kib(cost.tally.copied, &cost.tally), cost.event);
	return 0;
}

static int drain_payloads(const struct way *way, unsigned int subbuf_kib)
{
	for (unsigned int payload = 8; payload <= 1024; payload *= 2) {
		int ret = drain_point("drain", way, subbuf_kib, payload);

		if (ret < 0)
			return ret;
	}
	return 0;
}

int table_drain(void)
{
	static const struct way *ways[] = {
		&way_parse, &way_read, &way_mapping, &way_live,
	};
	unsigned int largest = kernel_maps ? 64 : 4;

	for (unsigned int kib = 4; kib <= largest; kib *= 2) {
		for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
			int ret = way_possible(ways[i]) ? drain_payloads(ways[i], kib) : 0;

			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

/* growth */

static int growth_point(const struct way *way, unsigned int mib)
{
	struct fill fill = {
		.subbuf_kib = 4,
		.buffer_kib = mib * KIB,
		.payload = 32,
		.by_event = true,
		.count = mib * MIB / 50,	/* a record is 48 bytes */
	};
	struct cost cost = { 0 };
	int ret = measure(way, &fill, mib > 16 ? 1 : RUNS, &cost);

	if (ret < 0)
		return ret;
	result("growth", "way=%s buffer_mib=%u value=%.2f", way->name, mib, cost.event);
	return 0;
}

int table_growth(void)
{
	static const struct way *ways[] = { &way_read, &way_mapping, &way_live };

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		if (!way_possible(ways[i]))
			continue;
		for (unsigned int mib = 1; mib <= 256; mib *= 4) {
			int ret = growth_point(ways[i], mib);

			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

/* peers */

static int peers_point(const struct way *way, unsigned int payload)
{
	struct fill fill = {
		.subbuf_kib = 4,
		.buffer_kib = 2 * KIB,
		.payload = payload,
		.count = 6000,
		.by_event = true,
	};
	struct cost cost = { 0 };
	int ret;

	outside_size = fill.buffer_kib * KIB;
	bpf_payload = payload;
	ret = measure(way, &fill, RUNS, &cost);
	if (ret < 0)
		return ret;
	result("peers", "way=%s payload=%u calls=%.3f copied=%.1f write=%.2f value=%.2f",
	       way->name, payload, per_kib(cost.tally.calls, &cost.tally),
	       per_kib(cost.tally.copied, &cost.tally), cost.write, cost.event);
	return 0;
}

static int peers_payloads(const struct way *way)
{
	for (unsigned int payload = 8; payload <= 128; payload *= 4) {
		int ret = peers_point(way, payload);

		if (ret < 0)
			return ret;
	}
	return 0;
}

int table_peers(void)
{
	static const struct way *ways[] = {
		&way_parse, &way_read, &way_mapping, &way_live, &way_splice_file,
		&way_splice_null, &way_perf, &way_bpf,
	};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		int ret = way_possible(ways[i]) ? peers_payloads(ways[i]) : 0;

		if (ret < 0)
			return ret;
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The table library: what it costs to go through events with libtracemap, by
 * the ways our kernel has, beside bare loops that read in the same way.
 */
#include <errno.h>
#include <stdlib.h>

#include "bench.h"
#include "live.h"
#include "tracemap.h"

/* The bare loop of an observer that copies, then looks. */

struct copy_state {
	struct live_mapping mapping;
	struct live_observer observer;
	void *copy;
};

static int copy_open(struct reader *reader)
{
	struct copy_state *state = calloc(1, sizeof(*state));
	int ret = -ENOMEM;

	if (!state)
		return ret;
	state->copy = malloc(reader->trace->subbuf_size);
	if (state->copy)
		ret = trace_map_live(reader->trace, reader->cpu, &state->mapping);
	if (ret < 0) {
		free(state->copy);
		free(state);
	}
	reader->state = state;
	return ret;
}

static int copy_prepare(struct reader *reader)
{
	struct copy_state *state = reader->state;

	return live_attach(&state->observer, &state->mapping, LIVE_FROM_OLDEST);
}

static int copy_drain(struct reader *reader, struct tally *tally)
{
	struct copy_state *state = reader->state;
	struct live_observer o = state->observer;
	struct subbuf_record record;
	struct subbuf_iter it;
	uint64_t sink = 0;
	int ret;

	while ((ret = live_look(&o, &it)) == LIVE_EVENTS) {
		uint32_t events = 0;

		if (!live_copy(&o, &it, state->copy, reader->trace->subbuf_size))
			continue;
		while (subbuf_next(&it, &record)) {
			events++;
			sink += record.ts;
		}
		ret = live_accept(&o, &it, events);
		if (ret < 0)
			return ret;
		tally->bytes += subbuf_pos(&it);
	}
	tally->sink += sink;
	tally->events += o.seen;
	return ret == LIVE_NOTHING ? 0 : ret < 0 ? ret : -ESTALE;
}

static void copy_close(struct reader *reader)
{
	struct copy_state *state = reader->state;

	live_unmap(&state->mapping);
	free(state->copy);
	free(state);
}

/* The library. */

static int open_library(struct reader *reader, enum tracemap_way way)
{
	struct tracemap_options options = tracemap_default_options();
	struct tracemap_cpu *cpu = NULL;
	int ret;

	options.way = way;
	ret = tracemap_cpu_open(&cpu, reader->trace->dir, reader->cpu, &options);
	reader->state = cpu;
	return ret;
}

static int consume_open(struct reader *reader)
{
	return open_library(reader, TRACEMAP_CONSUME);
}

static int observe_open(struct reader *reader)
{
	return open_library(reader, TRACEMAP_OBSERVE);
}

static void library_close(struct reader *reader)
{
	tracemap_cpu_close(reader->state);
}

/* Batch by batch, as tracemap.h says it is quickest. An observer counts. */
static int batches_drain(struct reader *reader, struct tally *tally)
{
	struct tracemap_cpu *cpu = reader->state;
	struct subbuf_record record;
	struct tracemap_batch *b;
	uint64_t sink = 0, events = 0;
	int ret;

	while ((ret = tracemap_cpu_fetch(cpu, &b)) > 0) {
		struct subbuf_iter it = b->it;
		uint32_t nr = 0;

		while (subbuf_next(&it, &record)) {
			nr++;
			sink += record.ts;
		}
		tally->bytes += subbuf_pos(&it) - subbuf_pos(&b->it);
		b->it = it;
		b->events += nr;
		events += nr;
	}
	tally->sink += sink;
	tally->events += events;
	return ret;
}

/* Record by record: a call for each. */
static int records_drain(struct reader *reader, struct tally *tally)
{
	struct tracemap_cpu *cpu = reader->state;
	struct tracemap_record record;
	uint64_t sink = 0, events = 0;
	int ret;

	while ((ret = tracemap_cpu_next(cpu, &record)) > 0) {
		events += !!record.data;
		sink += record.ts;
	}
	tally->sink += sink;
	tally->events += events;
	return ret;
}

static const struct way way_copy = {
	.name		= "copy",
	.needs_mapping	= true,
	.open		= copy_open,
	.prepare	= copy_prepare,
	.drain		= copy_drain,
	.close		= copy_close,
}, way_consume = {
	.name		= "consume",
	.needs_mapping	= true,
	.open		= consume_open,
	.drain		= batches_drain,
	.close		= library_close,
}, way_observe = {
	.name		= "observe",
	.needs_mapping	= true,
	.open		= observe_open,
	.drain		= batches_drain,
	.close		= library_close,
}, way_records = {
	.name		= "records",
	.needs_mapping	= true,
	.open		= consume_open,
	.drain		= records_drain,
	.close		= library_close,
};

int table_library(void)
{
	static const struct way *ways[] = {
		&way_mapping, &way_copy, &way_consume, &way_observe, &way_records,
	};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		for (unsigned int payload = 8; payload <= 128; payload *= 4) {
			int ret = drain_point("library", ways[i], 4, payload);

			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

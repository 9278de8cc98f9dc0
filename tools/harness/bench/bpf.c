// SPDX-License-Identifier: GPL-2.0
/* A BPF ring buffer filled from the tracepoint, read with libbpf. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.bpf.h"
#include "bench.h"

enum { RECORD_HEADER = 8 };

struct bpf_state {
	struct bpf_object *object;
	struct bpf_program *program;
	struct bpf_link *link;
	struct ring_buffer *ring;
	struct tally *tally;
};

unsigned int bpf_payload;

static int take_record(void *arg, void *data, size_t size)
{
	struct tally *tally = ((struct bpf_state *)arg)->tally;
	const struct bpf_record *record = data;

	tally->events++;
	tally->bytes += RECORD_HEADER + size;
	tally->sink += record->ts + record->size + (uintptr_t)(record + 1);
	return 0;
}

/* Of the programs only the one for the payload is loaded. */
static int choose_program(struct bpf_state *state)
{
	struct bpf_program *program;
	char name[16];

	snprintf(name, sizeof(name), "copy_%u", bpf_payload);
	state->program = bpf_object__find_program_by_name(state->object, name);
	if (!state->program)
		return -ENOENT;
	bpf_object__for_each_program(program, state->object)
		bpf_program__set_autoload(program, program == state->program);
	return 0;
}

static int load_object(struct bpf_state *state)
{
	struct bpf_map *map;
	int ret;

	state->object = bpf_object__open_file("bench.bpf.o", NULL);
	if (!state->object)
		return -errno;
	map = bpf_object__find_map_by_name(state->object, "records");
	ret = map ? bpf_map__set_max_entries(map, outside_size) : -ENOENT;
	if (!ret)
		ret = choose_program(state);
	if (!ret)
		ret = bpf_object__load(state->object);
	if (ret)
		return ret;
	state->ring = ring_buffer__new(bpf_map__fd(map), take_record, state, NULL);
	return state->ring ? 0 : -errno;
}

static int attach(struct bpf_state *state)
{
	state->link = bpf_program__attach_raw_tracepoint(state->program, "bench_event");
	return state->link ? 0 : -errno;
}

static void free_state(struct bpf_state *state)
{
	bpf_link__destroy(state->link);
	ring_buffer__free(state->ring);
	bpf_object__close(state->object);
	free(state);
}

static int bpf_open(struct reader *reader)
{
	struct bpf_state *state = calloc(1, sizeof(*state));
	int ret;

	if (!state)
		return -ENOMEM;
	reader->state = state;
	ret = load_object(state);
	if (!ret)
		ret = attach(state);
	if (ret)
		free_state(state);
	return ret;
}

static int bpf_prepare(struct reader *reader)
{
	struct bpf_state *state = reader->state;

	bpf_link__destroy(state->link);
	state->link = NULL;
	return 0;
}

static int bpf_drain(struct reader *reader, struct tally *tally)
{
	struct bpf_state *state = reader->state;
	int ret;

	state->tally = tally;
	ret = ring_buffer__consume(state->ring);
	return ret < 0 ? ret : 0;
}

static void bpf_close(struct reader *reader)
{
	free_state(reader->state);
}

const struct way way_bpf = {
	.name			= "bpf",
	.outside_tracefs	= true,
	.open			= bpf_open,
	.prepare		= bpf_prepare,
	.drain			= bpf_drain,
	.close			= bpf_close,
};

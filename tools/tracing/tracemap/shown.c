// SPDX-License-Identifier: GPL-2.0
/*
 * Keep what "record --live" is going to print.
 */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "losses.h"
#include "shown.h"

/* How long the merge by default lets a record wait for other CPUs */
#define MERGE_WAIT_NS	(10 * 1000 * 1000)

/**
 * struct shown_batch - a copy
 * @next: the next copy
 * @batch: the batch, whose iterator is on @bytes
 * @arrived: when it was copied, ns
 * @skipped: events not shown right before it
 * @begun: its first record has been looked for
 * @size: bytes of memory that it takes
 */
struct shown_batch {
	struct shown_batch *next;
	struct tracemap_batch batch;
	uint64_t arrived;
	uint64_t skipped;
	bool begun;
	size_t size;
	unsigned char bytes[] __attribute__((aligned(8)));
};

static struct shown_batch *copy(struct shown_room *room, const struct tracemap_batch *batch)
{
	size_t length = batch->it.end - batch->it.next;
	size_t size = sizeof(struct shown_batch) + length;
	struct shown_batch *b = NULL;
	struct subbuf_iter *it;

	if (size <= SHOWN_BYTES - room->used)
		b = malloc(size);
	if (!b)
		return NULL;
	if (length)
		memcpy(b->bytes, batch->it.next, length);
	b->next = NULL;
	b->begun = false;
	b->batch = *batch;
	b->size = size;
	it = &b->batch.it;
	it->data = b->bytes;
	it->next = b->bytes;
	it->capacity = length;
	subbuf_extend(it, length);
	room->used += size;
	return b;
}

static uint64_t pass(struct tracemap_batch *batch)
{
	struct subbuf_record record;
	uint64_t events = 0;

	while (tracemap_batch_next(batch, &record))
		events++;
	return events;
}

void shown_add(struct shown *shown, struct tracemap_batch *batch)
{
	struct shown_batch *b = copy(shown->room, batch);
	uint64_t events = pass(batch);

	shown->lost = losses_add(shown->lost, batch->missed);
	shown->reset |= batch->flags & TRACEMAP_RESET;
	if (!b) {
		shown->gap += events;
		shown->room->skipped += events;
		shown->room->untold += events;
		return;
	}
	b->batch.missed = shown->lost;
	b->batch.flags |= shown->reset;
	b->skipped = shown->gap;
	b->arrived = now_ns();
	shown->lost = 0;
	shown->reset = 0;
	shown->gap = 0;
	if (shown->last)
		shown->last->next = b;
	else
		shown->first = b;
	shown->last = b;
}

static void free_first(struct shown *shown)
{
	struct shown_batch *b = shown->first;

	shown->first = b->next;
	if (!shown->first)
		shown->last = NULL;
	shown->room->used -= b->size;
	free(b);
}

/*
 * Set what the first record of the batch is to report. The merge counts the time
 * that a record waits from when it asks for it; a record that has been here for
 * longer need not wait again.
 */
static void begin_batch(struct shown *shown, struct shown_batch *b)
{
	b->begun = true;
	shown->flags |= b->batch.flags;
	if (now_ns() - b->arrived < MERGE_WAIT_NS)
		shown->flags |= TRACEMAP_FRESH;
	shown->missed = losses_add(shown->missed, b->batch.missed);
	shown->skipped += b->skipped;
}

int shown_next(void *arg, struct tracemap_record *rec)
{
	struct shown *shown = arg;
	struct subbuf_record record;
	struct shown_batch *b;

	for (; (b = shown->first); free_first(shown)) {
		if (!b->begun)
			begin_batch(shown, b);
		shown->cursor = b->batch.it;
		if (!subbuf_next(&shown->cursor, &record))
			continue;
		*rec = (struct tracemap_record){
			.ts = record.ts,
			.data = record.data,
			.size = record.size,
			.cpu = b->batch.cpu,
			.flags = shown->flags,
			.missed = shown->missed,
		};
		shown->flags = 0;
		shown->missed = 0;
		return 1;
	}
	return 0;
}

void shown_release(void *arg)
{
	struct shown *shown = arg;

	shown->first->batch.it = shown->cursor;
}

uint64_t shown_skipped(struct shown *shown)
{
	uint64_t skipped = shown->skipped;

	shown->skipped = 0;
	shown->room->untold -= skipped;
	return skipped;
}

static void skip_first(struct shown *shown)
{
	struct shown_batch *b = shown->first;
	uint64_t events = pass(&b->batch);

	if (!b->begun)
		begin_batch(shown, b);
	shown->skipped += events;
	shown->room->skipped += events;
	shown->room->untold += events;
	free_first(shown);
}

uint64_t shown_end(struct shown *shown)
{
	while (shown->first)
		skip_first(shown);
	shown->skipped += shown->gap;
	shown->gap = 0;
	return losses_add(shown->missed, shown->lost);
}

void shown_free(struct shown *shown)
{
	while (shown->first)
		free_first(shown);
}

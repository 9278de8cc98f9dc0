// SPDX-License-Identifier: LGPL-2.1
/*
 * Reading ahead: copy batches of a CPU out of its buffer before the caller asks for
 * their records, so that the writer does not overwrite them.
 *
 * The merge does so for a CPU whose next record has to wait for another CPU, and
 * for one whose buffer fills. A handle then has, in the order of time:
 *
 *	the batch in hand	cpu->batch, of which records are being handed out
 *	the queue		first to last, each a copy with the time it arrived at
 *	what the backend has not fetched yet
 *
 * While there is a queue the batch in hand is a copy as well, @out, because a backend
 * has one batch at a time. A copy is freed when the caller is done with its
 * batch.
 *
 * The memory is limited: the CPUs of a struct tracemap share one limit, and a CPU
 * opened alone has its own. A CPU may have up to READ_AHEAD_SHARE times what is left free:
 * a busy CPU gets most of it, and the others still find some.
 */
#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "cpu.h"

/* How many bytes of a CPU are copied before the next CPU has its turn */
#define READ_AHEAD_TURN	(1 << 20)
#define READ_AHEAD_SHARE	8

/**
 * struct read_ahead_batch - a batch that was read ahead
 * @next: the next one in the queue
 * @batch: the batch, whose iterator is on @bytes
 * @arrived: when it was fetched, by CLOCK_MONOTONIC, ns
 * @events: how many events are in it
 * @size: bytes of memory that it takes
 */
struct read_ahead_batch {
	struct read_ahead_batch *next;
	struct tracemap_batch batch;
	uint64_t arrived;
	uint32_t events;
	size_t size;
	unsigned char bytes[] __attribute__((aligned(8)));
};

static bool has_room(const struct read_ahead *a)
{
	const struct read_ahead_room *room = a->room;

	return room->used < room->limit && a->used / READ_AHEAD_SHARE <= room->limit - room->used;
}

static void free_batch(struct read_ahead *a, struct read_ahead_batch *b)
{
	a->used -= b->size;
	a->room->used -= b->size;
	free(b);
}

static struct read_ahead_batch *new_batch(size_t length)
{
	return malloc(sizeof(struct read_ahead_batch) + length);
}

/*
 * Copy the batch from @from on, which is at or before its iterator, to @b, which has
 * room for it. Memory of @b that is not needed is freed. Returns where @b is now.
 */
static struct read_ahead_batch *copy_batch(struct read_ahead *a, struct read_ahead_batch *b,
					   const struct tracemap_batch *batch,
					   const unsigned char *from)
{
	size_t length = batch->it.end - from;
	struct read_ahead_batch *less = realloc(b, sizeof(*b) + length);
	struct subbuf_iter *it;

	if (less)
		b = less;
	if (length)
		memcpy(b->bytes, from, length);
	b->next = NULL;
	b->batch = *batch;
	b->events = 0;
	b->size = sizeof(*b) + length;
	it = &b->batch.it;
	it->data = b->bytes;
	it->next = b->bytes + (batch->it.next - from);
	it->fast_end = it->fast_end > from ? b->bytes + (it->fast_end - from) : b->bytes;
	it->end = b->bytes + length;
	it->capacity = length;
	a->used += b->size;
	a->room->used += b->size;
	return b;
}

/*
 * Settle the batch of the backend, of which there is a copy. Go through it, as the
 * backend has to know the clock at its end, where the sub-buffer may go on. The copy
 * reports any damage. Returns the number of events.
 */
static uint32_t settle(struct tracemap_cpu *cpu)
{
	struct tracemap_batch *b = &cpu->batch;
	uint32_t before = b->events;
	struct subbuf_record r;

	while (tracemap_batch_next(b, &r))
		;
	cpu->damaged |= cpu->backend->settle(cpu) < 0;
	return b->events - before;
}

/* Copy the batch in hand from @from on, unless it is a copy. Sets how far it has @moved. */
static int move_in(struct tracemap_cpu *cpu, const unsigned char *from, ptrdiff_t *moved)
{
	struct read_ahead *a = &cpu->read_ahead;
	struct read_ahead_batch *b;

	if (cpu->in_hand == BATCH_NONE || a->out)
		return 0;
	b = new_batch(cpu->batch.it.end - from);
	if (!b)
		return -ENOBUFS;
	b = copy_batch(a, b, &cpu->batch, from);
	settle(cpu);
	*moved = (uintptr_t)b->bytes - (uintptr_t)from;
	cpu->batch = b->batch;
	if (cpu->in_hand == BATCH_GIVEN)
		cpu->given_at = b->bytes + (cpu->given_at - from);
	a->out = b;
	return 0;
}

static void add_to_queue(struct read_ahead *a, struct read_ahead_batch *b)
{
	if (a->last)
		a->last->next = b;
	else
		a->first = b;
	a->last = b;
	a->events += b->events;
}

/* Append what the backend has fetched to the queue. Returns its size. */
static int queue_batch(struct tracemap_cpu *cpu, struct read_ahead_batch *b)
{
	struct read_ahead *a = &cpu->read_ahead;

	b = copy_batch(a, b, &cpu->batch, cpu->batch.it.next);
	b->arrived = now_ns();
	b->events = settle(cpu);
	add_to_queue(a, b);
	return b->size;
}

/*
 * Fetch a batch and append it to the queue. What was fetched is no longer in the
 * kernel's buffer, so memory is allocated before. Returns the bytes it takes, or what
 * fetching returns.
 */
static int fetch_to_queue(struct tracemap_cpu *cpu)
{
	struct read_ahead_batch *b = NULL;
	int ret;

	if (has_room(&cpu->read_ahead))
		b = new_batch(cpu->format.subbuf_size);
	if (!b)
		return -ENOBUFS;
	ret = tracemap__fetch_now(cpu);
	if (ret > 0)
		return queue_batch(cpu, b);
	free(b);
	return ret;
}

/* Fetch and copy for a turn. Returns 1 if there may be more, 0 if there is not. */
static int fill_queue(struct tracemap_cpu *cpu)
{
	size_t copied = 0;

	while (copied < READ_AHEAD_TURN) {
		int ret = fetch_to_queue(cpu);

		if (ret == -ENOBUFS)
			return ret;
		if (ret < 0 && ret != -EINTR)
			cpu->read_ahead.error = ret;
		if (ret <= 0)
			return 0;
		copied += ret;
	}
	return 1;
}

int tracemap__read_ahead(struct tracemap_cpu *cpu, const unsigned char *from, ptrdiff_t *moved)
{
	struct read_ahead *a = &cpu->read_ahead;
	struct tracemap_batch in_hand;
	int ret;

	*moved = 0;
	if (a->error || cpu->error)
		return 0;
	if (!has_room(a))
		return -ENOBUFS;
	ret = move_in(cpu, from, moved);
	if (ret)
		return ret;
	in_hand = cpu->batch;
	ret = fill_queue(cpu);
	cpu->batch = in_hand;
	return ret;
}

int tracemap__read_ahead_take(struct tracemap_cpu *cpu)
{
	struct read_ahead *a = &cpu->read_ahead;
	struct read_ahead_batch *b = a->first;
	int error = a->error;

	if (!b) {
		a->error = 0;
		return error;
	}
	a->first = b->next;
	if (!a->first)
		a->last = NULL;
	a->events -= b->events;
	a->out = b;
	cpu->batch = b->batch;
	cpu->arrived = b->arrived;
	return 1;
}

int tracemap__read_ahead_done(struct tracemap_cpu *cpu)
{
	int ret = cpu->batch.it.corrupt ? -EBADMSG : 0;

	free_batch(&cpu->read_ahead, cpu->read_ahead.out);
	cpu->read_ahead.out = NULL;
	/* The copy is freed, so the iterator must not point into it, wherever it stands. */
	memset(&cpu->batch.it, 0, sizeof(cpu->batch.it));
	return ret;
}

void tracemap__read_ahead_free(struct tracemap_cpu *cpu)
{
	struct read_ahead *a = &cpu->read_ahead;

	while (a->first) {
		struct read_ahead_batch *b = a->first;

		a->first = b->next;
		free_batch(a, b);
	}
	if (a->out)
		free_batch(a, a->out);
}

/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * A queue of records, the oldest first.
 *
 * A heap, the first few of which are kept as a sorted ring. While there are no
 * more than QUEUE_SORTED, which is as many CPUs as most machines have, the heap
 * is empty, and the first becomes the last by turning the ring. Nothing in the
 * ring is younger than anything in the heap. The ring has two at least unless
 * the heap is empty: who is second is known.
 */
#ifndef _TRACEMAP_QUEUE_H
#define _TRACEMAP_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "tracemap.h"

#define QUEUE_SORTED	16

/* @behind: the next in the ring, of its last the first */
struct queue_item {
	struct tracemap_record rec;
	struct queue_item *behind;
};

/**
 * struct queue - items by their time stamps
 * @first: the oldest, NULL if there is none
 * @last: the last of the ring
 * @sorted: how many the ring has
 * @in_heap: how many others there are
 * @heap: these; those at twice the place of one (from 1) are not older
 * @room: how many there may be
 */
struct queue {
	struct queue_item *first;
	struct queue_item *last;
	unsigned int sorted;
	unsigned int in_heap;
	struct queue_item **heap;
	unsigned int room;
};

/* Have room for so many in all. False: no memory. */
static inline bool queue_reserve(struct queue *q, unsigned int room)
{
	struct queue_item **heap;

	if (room <= q->room)
		return true;
	heap = (struct queue_item **)realloc(q->heap, (room + 1) * sizeof(*heap));
	if (!heap)
		return false;
	q->heap = heap;
	q->room = room;
	return true;
}

static inline void queue__push(struct queue *q, struct queue_item *item)
{
	unsigned int i = ++q->in_heap;

	for (; i > 1 && q->heap[i / 2]->rec.ts > item->rec.ts; i /= 2)
		q->heap[i] = q->heap[i / 2];
	q->heap[i] = item;
}

static inline struct queue_item *queue__pop(struct queue *q)
{
	struct queue_item *top = q->heap[1], *item = q->heap[q->in_heap--];
	unsigned int i = 1, child;

	for (; (child = 2 * i) <= q->in_heap; i = child) {
		if (child < q->in_heap &&
		    q->heap[child + 1]->rec.ts < q->heap[child]->rec.ts)
			child++;
		if (q->heap[child]->rec.ts >= item->rec.ts)
			break;
		q->heap[i] = q->heap[child];
	}
	q->heap[i] = item;
	return top;
}

/* Put it between the last and the first. */
static inline void queue__close_ring(struct queue *q, struct queue_item *item)
{
	if (!q->sorted++) {
		q->first = item;
		q->last = item;
	}
	item->behind = q->first;
	q->last->behind = item;
}

static inline void queue__append(struct queue *q, struct queue_item *item)
{
	queue__close_ring(q, item);
	q->last = item;
}

static inline void queue__prepend(struct queue *q, struct queue_item *item)
{
	queue__close_ring(q, item);
	q->first = item;
}

/* Put it somewhere between the first and the last, which is younger. */
static inline void queue__sort_in(struct queue *q, struct queue_item *item)
{
	struct queue_item *before = q->first;

	while (before->behind->rec.ts <= item->rec.ts)
		before = before->behind;
	item->behind = before->behind;
	before->behind = item;
}

static inline void queue__last_to_heap(struct queue *q)
{
	struct queue_item *last = q->first;

	while (last->behind != q->last)
		last = last->behind;
	queue__push(q, q->last);
	last->behind = q->first;
	q->last = last;
	q->sorted--;
}

/* Put one in. */
static inline void queue_add(struct queue *q, struct queue_item *item)
{
	if (q->in_heap && item->rec.ts >= q->heap[1]->rec.ts) {
		queue__push(q, item);
		return;
	}
	if (!q->sorted || item->rec.ts >= q->last->rec.ts) {
		queue__append(q, item);
	} else if (item->rec.ts < q->first->rec.ts) {
		queue__prepend(q, item);
	} else {
		queue__sort_in(q, item);
		q->sorted++;
	}
	if (q->sorted > QUEUE_SORTED)
		queue__last_to_heap(q);
}

/* Take the first out. */
static inline void queue_remove_first(struct queue *q)
{
	q->first = --q->sorted ? q->first->behind : NULL;
	q->last->behind = q->first;
	while (q->sorted < 2 && q->in_heap)
		queue__append(q, queue__pop(q));
}

/* Up to when the first is the oldest: the time stamp of the second. */
static inline uint64_t queue_second_ts(const struct queue *q)
{
	return q->sorted > 1 ? q->first->behind->rec.ts : UINT64_MAX;
}

/* The first has become younger than the second. The heap is empty. */
static inline __attribute__((always_inline)) void queue_move_first(struct queue *q)
{
	struct queue_item *item = q->first;

	q->first = item->behind;
	if (item->rec.ts >= q->last->rec.ts) {
		q->last = item;
		return;
	}
	q->last->behind = q->first;
	queue__sort_in(q, item);
}

/* The first has another time stamp. */
static inline void queue_move_any_first(struct queue *q)
{
	struct queue_item *item = q->first;

	queue_remove_first(q);
	queue_add(q, item);
}

#endif /* _TRACEMAP_QUEUE_H */

/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * A queue of records, the oldest first.
 *
 * Up to QUEUE_RING items are sorted in a ring. If the items take turns, turning the ring
 * makes the first the last. A processor that predicts this does not wait for the
 * comparison.
 *
 * More items are in a tournament: an array of slots, each with a time stamp and an item.
 * Each item has its place in the upper half. Below that, slot i has the older of slots 2i
 * and 2i + 1, so that slot 1 has the oldest of all. An item that has changed is compared
 * once at each level. No branch depends on which one is older, since a processor cannot
 * predict that among many sources.
 *
 * When the ring is full, the next item moves all of them to the tournament. They move back
 * only when QUEUE_RING / 2 are left, so that an item that comes and goes does not move all
 * others each time.
 *
 * The slot of an item that is not in the tournament has NULL as its item and UINT64_MAX as
 * its time. A record may have that time, too: it counts as older than NULL.
 */
#ifndef _TRACEMAP_QUEUE_H
#define _TRACEMAP_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tracemap.h"

#define QUEUE_RING	8

/*
 * @behind: the next item in the ring; behind the last is the first
 * @place: the item's place in the tournament, from 0; no two items have the same
 */
struct queue_item {
	struct tracemap_record rec;
	struct queue_item *behind;
	unsigned int place;
};

struct queue_slot {
	uint64_t ts;
	struct queue_item *item;
};

/**
 * struct queue - items by their time stamps
 * @first: the oldest item, or one of the oldest; NULL if the queue is empty
 * @last: the last item of the ring
 * @nr: how many items there are
 * @in_tree: whether they are in the tournament instead of the ring
 * @slots: the slots of the tournament, twice as many as @places
 * @places: the places of the tournament, a power of 2; 0 if there is only a ring
 */
struct queue {
	struct queue_item *first;
	struct queue_item *last;
	unsigned int nr;
	bool in_tree;
	struct queue_slot *slots;
	size_t places;
};

/* ---- The ring ---- */

/* Put an item between the first and the last, which is younger than the item. */
static inline void queue__ring_sort_in(struct queue *q, struct queue_item *item)
{
	struct queue_item *before = q->first;

	while (before->behind->rec.ts <= item->rec.ts)
		before = before->behind;
	item->behind = before->behind;
	before->behind = item;
}

static inline void queue__ring_add(struct queue *q, struct queue_item *item)
{
	if (!q->first) {
		q->first = item;
		q->last = item;
	} else if (item->rec.ts < q->first->rec.ts) {
		item->behind = q->first;
		q->first = item;
	} else if (item->rec.ts >= q->last->rec.ts) {
		q->last->behind = item;
		q->last = item;
	} else {
		queue__ring_sort_in(q, item);
	}
	q->last->behind = q->first;
}

static inline void queue__ring_remove_first(struct queue *q)
{
	q->first = q->first == q->last ? NULL : q->first->behind;
	q->last->behind = q->first;
}

/* Sort a ring in which the first has become younger than the second. */
static __always_inline void queue_ring_move_first(struct queue *q)
{
	struct queue_item *item = q->first;

	q->first = item->behind;
	if (item->rec.ts >= q->last->rec.ts) {
		q->last = item;
		return;
	}
	q->last->behind = q->first;
	queue__ring_sort_in(q, item);
}

/* ---- The tournament ---- */

/* Make a tournament without an item. Returns false if there is no memory. */
static inline bool queue__tree_new(struct queue *q, size_t places)
{
	size_t i;

	memset(q, 0, sizeof(*q));
	q->places = places;
	q->slots = (struct queue_slot *)malloc(2 * places * sizeof(*q->slots));
	for (i = 0; q->slots && i < 2 * places; i++) {
		q->slots[i].ts = UINT64_MAX;
		q->slots[i].item = NULL;
	}
	return q->slots;
}

/* Update the slots below slot @i, which has changed. */
static inline void queue__tree_play(struct queue *q, size_t i)
{
	struct queue_slot now = q->slots[i];

	for (; i > 1; i /= 2) {
		struct queue_slot other = q->slots[i ^ 1];

		if (!now.item || other.ts < now.ts)
			now = other;
		q->slots[i / 2] = now;
	}
	q->first = q->slots[1].item;
}

static inline void queue__tree_set(struct queue *q, unsigned int place, uint64_t ts,
				   struct queue_item *item)
{
	q->slots[q->places + place].ts = ts;
	q->slots[q->places + place].item = item;
	queue__tree_play(q, q->places + place);
}

/*
 * Update a tournament in which the first has become younger. The choice between two items
 * is a mask, of which compilers make no branch. Comparing time stamps is enough, since a
 * NULL is never older than an item.
 */
static __always_inline void queue_tree_move_first(struct queue *q)
{
	uintptr_t item = (uintptr_t)q->first;
	struct queue_slot *slots = q->slots;
	size_t i = q->places + q->first->place;
	uint64_t ts = q->first->rec.ts;

	slots[i].ts = ts;
	for (; i > 1; i /= 2) {
		struct queue_slot other = slots[i ^ 1];

		item ^= (item ^ (uintptr_t)other.item) & -(uintptr_t)(other.ts < ts);
		ts = other.ts < ts ? other.ts : ts;
		slots[i / 2].ts = ts;
		slots[i / 2].item = (struct queue_item *)item;
	}
	q->first = (struct queue_item *)item;
}

/* The time stamp of the second in a tournament: the oldest of those that the first beat. */
static __always_inline uint64_t queue_tree_second(const struct queue *q)
{
	size_t i = q->places + q->first->place;
	uint64_t oldest = UINT64_MAX;

	for (; i > 1; i /= 2) {
		uint64_t ts = q->slots[i ^ 1].ts;

		oldest = ts < oldest ? ts : oldest;
	}
	return oldest;
}

static inline void queue__tree_add(struct queue *q, struct queue_item *item)
{
	queue__tree_set(q, item->place, item->rec.ts, item);
}

static inline void queue__tree_remove_first(struct queue *q)
{
	queue__tree_set(q, q->first->place, UINT64_MAX, NULL);
}

/* ---- Either ---- */

/* Move all items to the tournament, which is empty. */
static inline void queue__to_tree(struct queue *q)
{
	struct queue ring = *q;

	while (ring.first) {
		struct queue_item *item = ring.first;

		queue__ring_remove_first(&ring);
		queue__tree_add(q, item);
	}
	q->in_tree = true;
}

static inline void queue__to_ring(struct queue *q)
{
	struct queue ring = *q;

	ring.first = NULL;
	ring.in_tree = false;
	while (q->first) {
		struct queue_item *item = q->first;

		queue__tree_remove_first(q);
		queue__ring_add(&ring, item);
	}
	*q = ring;
}

/* Add an item. */
static inline void queue_add(struct queue *q, struct queue_item *item)
{
	if (!q->in_tree && q->nr == QUEUE_RING)
		queue__to_tree(q);
	q->nr++;
	if (q->in_tree)
		queue__tree_add(q, item);
	else
		queue__ring_add(q, item);
}

/* Remove the first item. */
static inline void queue_remove_first(struct queue *q)
{
	q->nr--;
	if (!q->in_tree) {
		queue__ring_remove_first(q);
		return;
	}
	queue__tree_remove_first(q);
	if (q->nr == QUEUE_RING / 2)
		queue__to_ring(q);
}

/* Update the queue after the first has got any other time stamp. */
static inline void queue_move_any_first(struct queue *q)
{
	struct queue_item *item = q->first;

	queue_remove_first(q);
	queue_add(q, item);
}

/* The time stamp of the second, up to which the first is the oldest. */
static __always_inline uint64_t queue_second_ts(const struct queue *q)
{
	if (q->in_tree)
		return queue_tree_second(q);
	return q->first == q->last ? UINT64_MAX : q->first->behind->rec.ts;
}

/*
 * Make room for @nr items. The first item stays the first, also among several of the same
 * time, because its record may have been handed out. Returns false if there is no memory.
 */
static inline bool queue_reserve(struct queue *q, unsigned int nr)
{
	struct queue_item *first = q->first;
	struct queue to;

	if (nr <= QUEUE_RING || nr <= q->places)
		return true;
	if (!queue__tree_new(&to, q->places ? 2 * q->places : 2 * QUEUE_RING))
		return false;
	while (q->first) {
		struct queue_item *item = q->first;

		queue_remove_first(q);
		queue_add(&to, item);
	}
	to.first = first;
	free(q->slots);
	*q = to;
	return true;
}

#endif /* _TRACEMAP_QUEUE_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Match starts and ends, and count the time between them.
 */
#include <stdlib.h>
#include <string.h>

#include "latency.h"

/* ---- A histogram: 64 buckets for each power of two ---- */

static unsigned int bucket_of(uint64_t value)
{
	unsigned int shift = value < 64 ? 0 : 63 - __builtin_clzll(value) - 6;

	return shift * 64 + (value >> shift);
}

/* The largest value of a bucket. */
static uint64_t bucket_end(unsigned int bucket)
{
	unsigned int shift = bucket < 128 ? 0 : bucket / 64 - 1;

	return (((uint64_t)bucket - shift * 64 + 1) << shift) - 1;
}

void histogram_add(struct histogram *h, uint64_t value)
{
	h->buckets[bucket_of(value)]++;
	h->nr++;
	if (value > h->max)
		h->max = value;
}

uint64_t histogram_quantile(const struct histogram *h, double percent)
{
	double exact = percent * h->nr / 100;
	uint64_t rank = exact, seen = 0;

	if (rank < exact || !rank)
		rank++;
	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen >= rank)
			return bucket_end(i) < h->max ? bucket_end(i) : h->max;
	}
	return h->max;
}

static void merge(struct histogram *to, const struct histogram *from)
{
	to->nr += from->nr;
	if (from->max > to->max)
		to->max = from->max;
	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++)
		to->buckets[i] += from->buckets[i];
}

/* ---- Ranges ---- */

uint64_t latency_row_begin(unsigned int row)
{
	static const uint64_t steps[] = { 1, 2, 5 };
	uint64_t begin = steps[row % 3];

	for (unsigned int i = row / 3; i; i--)
		begin *= 10;
	return begin;
}

unsigned int latency_row(uint64_t value)
{
	unsigned int row = 0;

	while (row + 1 < LATENCY_ROWS && latency_row_begin(row + 1) <= value)
		row++;
	return row;
}

/* ---- Starts that wait: an open hash table, with linear probing ---- */

static unsigned int slot_of(const struct latency *l, uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15) >> 32 & (l->nr_starts - 1);
}

/* The slot of the key, or the free one where it belongs. There is always a free one. */
static struct latency_start *find(struct latency *l, uint64_t key)
{
	unsigned int i = slot_of(l, key);

	while (l->starts[i].used && l->starts[i].key != key)
		i = (i + 1) & (l->nr_starts - 1);
	return &l->starts[i];
}

/* At least half of the slots are free. Returns whether there is room for one more. */
static bool make_room(struct latency *l)
{
	struct latency_start *before = l->starts;
	unsigned int nr = l->nr_starts;

	if (2 * (l->nr + 1) <= nr)
		return true;
	if (l->nr >= LATENCY_PENDING)
		return false;
	l->starts = calloc(nr ? 2 * nr : 256, sizeof(*l->starts));
	if (!l->starts) {
		l->starts = before;
		return false;
	}
	l->nr_starts = nr ? 2 * nr : 256;
	for (unsigned int i = 0; i < nr; i++) {
		if (before[i].used)
			*find(l, before[i].key) = before[i];
	}
	free(before);
	return true;
}

/* Entries behind a slot that becomes free have to move up, or they would not be found. */
static void remove_start(struct latency *l, struct latency_start *start)
{
	unsigned int mask = l->nr_starts - 1, hole = start - l->starts, i = hole;

	l->nr--;
	for (;;) {
		i = (i + 1) & mask;
		if (!l->starts[i].used)
			break;
		if (((i - slot_of(l, l->starts[i].key)) & mask) < ((i - hole) & mask))
			continue;
		l->starts[hole] = l->starts[i];
		hole = i;
	}
	l->starts[hole].used = false;
}

/* Without room, a start can still replace an earlier one of its key, whose end it gets. */
void latency_start(struct latency *l, uint64_t key, uint64_t ts)
{
	bool room = make_room(l);
	struct latency_start *start = l->nr_starts ? find(l, key) : NULL;

	if (!start || (!room && !start->used)) {
		l->forgotten++;
		return;
	}
	if (start->used)
		l->replaced++;
	else
		l->nr++;
	*start = (struct latency_start){ .key = key, .ts = ts, .used = true };
}

/* An end that is older than the start came late, and belongs to an earlier start. */
void latency_end(struct latency *l, uint64_t key, uint64_t ts)
{
	struct latency_start *start = l->nr ? find(l, key) : NULL;
	uint64_t value;

	if (!start || !start->used || ts < start->ts) {
		l->unstarted++;
		return;
	}
	value = ts - start->ts;
	remove_start(l, start);
	histogram_add(&l->fresh, value);
	l->fresh_rows[latency_row(value)]++;
}

void latency_forget(struct latency *l)
{
	if (!l->nr)
		return;
	l->forgotten += l->nr;
	l->nr = 0;
	memset(l->starts, 0, l->nr_starts * sizeof(*l->starts));
}

void latency_tick(struct latency *l)
{
	merge(&l->all, &l->fresh);
	l->last = l->fresh;
	memset(&l->fresh, 0, sizeof(l->fresh));
	memcpy(l->rows, l->fresh_rows, sizeof(l->rows));
	memset(l->fresh_rows, 0, sizeof(l->fresh_rows));
}

void latency_free(struct latency *l)
{
	free(l->starts);
	l->starts = NULL;
	l->nr = 0;
}

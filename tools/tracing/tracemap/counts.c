// SPDX-License-Identifier: GPL-2.0
/*
 * Count events by a key: an open hash table, with linear probing.
 */
#include <stdlib.h>
#include <string.h>

#include "counts.h"

uint64_t counts_hash(const char *text, uint32_t length)
{
	uint64_t hash = 0xcbf29ce484222325;	/* FNV-1a */

	for (uint32_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3;
	return hash;
}

static unsigned int slot_of(const struct counts *c, uint64_t number)
{
	return (number * 0x9e3779b97f4a7c15) >> 32 & (c->nr_slots - 1);
}

static bool is_key(const struct count *count, uint64_t number, const char *text, uint32_t length)
{
	if (count->number != number || !count->text != !text)
		return false;
	return !text || (count->length == length && !memcmp(count->text, text, length));
}

static void put(struct counts *c, struct count *count)
{
	unsigned int i = slot_of(c, count->number);

	while (c->slots[i])
		i = (i + 1) & (c->nr_slots - 1);
	c->slots[i] = count;
}

/* At least half of the slots are free. Returns whether there is room for one more. */
static bool make_room(struct counts *c)
{
	unsigned int nr = c->nr_slots ? 2 * c->nr_slots : 256;
	struct count **slots, **list;

	if (c->nr >= COUNTS_LIMIT)
		return false;
	if (2 * (c->nr + 1) <= c->nr_slots)
		return true;
	list = realloc(c->list, nr / 2 * sizeof(*list));
	if (!list)
		return false;
	c->list = list;
	slots = calloc(nr, sizeof(*slots));
	if (!slots)
		return false;
	free(c->slots);
	c->slots = slots;
	c->nr_slots = nr;
	for (unsigned int i = 0; i < c->nr; i++)
		put(c, c->list[i]);
	return true;
}

static struct count *add(struct counts *c, uint64_t number, const char *text, uint32_t length)
{
	struct count *count = make_room(c) ? calloc(1, sizeof(*count)) : NULL;

	if (!count)
		return &c->others;
	if (text) {
		count->text = malloc(length + 1);
		if (!count->text) {
			free(count);
			return &c->others;
		}
		memcpy(count->text, text, length);
		count->text[length] = '\0';
	}
	count->number = number;
	count->length = length;
	put(c, count);
	c->list[c->nr++] = count;
	return count;
}

static struct count *find(struct counts *c, uint64_t number, const char *text, uint32_t length)
{
	unsigned int i = slot_of(c, number);

	while (c->nr_slots && c->slots[i]) {
		if (is_key(c->slots[i], number, text, length))
			return c->slots[i];
		i = (i + 1) & (c->nr_slots - 1);
	}
	return add(c, number, text, length);
}

/* Events with the same key often follow each other. */
struct count *counts_number(struct counts *c, uint64_t number)
{
	struct count *count = c->latest;

	if (count && count->number == number)
		return count;
	count = find(c, number, NULL, 0);
	c->latest = count == &c->others ? NULL : count;
	return count;
}

struct count *counts_text(struct counts *c, const char *text, uint32_t length)
{
	return find(c, counts_hash(text, length), text, length);
}

static void tick(struct count *count)
{
	count->last = count->fresh;
	count->total += count->fresh;
	count->fresh = 0;
	spark_add(&count->history, count->last);
}

void counts_tick(struct counts *c)
{
	c->all.fresh = c->others.fresh + c->keyless.fresh;
	for (unsigned int i = 0; i < c->nr; i++) {
		c->all.fresh += c->list[i]->fresh;
		tick(c->list[i]);
	}
	tick(&c->others);
	tick(&c->keyless);
	tick(&c->all);
}

static int by_name(const void *a, const void *b)
{
	const struct count *x = *(struct count **)a, *y = *(struct count **)b;

	return strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

static int by_total(const void *a, const void *b)
{
	const struct count *x = *(struct count **)a, *y = *(struct count **)b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return by_name(a, b);
}

static int by_rate(const void *a, const void *b)
{
	const struct count *x = *(struct count **)a, *y = *(struct count **)b;

	if (x->last != y->last)
		return x->last > y->last ? -1 : 1;
	return by_total(a, b);
}

void counts_sort(struct counts *c, enum counts_order order)
{
	static int (* const orders[])(const void *, const void *) = {
		[COUNTS_BY_RATE] = by_rate,
		[COUNTS_BY_TOTAL] = by_total,
		[COUNTS_BY_NAME] = by_name,
	};

	if (c->nr)
		qsort(c->list, c->nr, sizeof(*c->list), orders[order]);
}

void counts_free(struct counts *c)
{
	for (unsigned int i = 0; i < c->nr; i++) {
		free(c->list[i]->text);
		free(c->list[i]->name);
		free(c->list[i]);
	}
	free(c->list);
	free(c->slots);
	memset(c, 0, sizeof(*c));
}

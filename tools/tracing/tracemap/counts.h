/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The number of events for each key, which is a number or a text, and how many of them came
 * in each of the last intervals.
 */
#ifndef _TRACEMAP_COUNTS_H
#define _TRACEMAP_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spark.h"

/* Further keys are counted together, so that a field of addresses does not take all memory. */
#define COUNTS_LIMIT	65536

/**
 * struct count - the events of one key
 * @number: the key, or the hash of @text
 * @text: the key, with a 0 byte behind it; NULL if it is a number
 * @length: bytes of @text
 * @is_signed: whether a number is printed as a signed one
 * @is_address: whether a number is printed as an address
 * @total: events up to the last counts_tick()
 * @last: events of the interval that this call has ended
 * @fresh: events since then
 * @history: events of the last intervals
 * @name: what the key is called, which the owner of the counts sets and counts_free() frees
 */
struct count {
	uint64_t number;
	char *text;
	uint32_t length;
	bool is_signed, is_address;
	uint64_t total;
	uint64_t last;
	uint64_t fresh;
	struct spark history;
	char *name;
};

/**
 * struct counts - the counts of all keys; all zeros is an empty one
 * @list: the counts, in the order of counts_sort()
 * @nr: how many there are
 * @all: the events of all keys, and those that have none
 * @others: those for whose key there was no room
 * @keyless: those that have no key, which the caller counts
 */
struct counts {
	struct count **list;
	unsigned int nr;
	struct count all, others, keyless;

	/* private: */
	struct count **slots;
	unsigned int nr_slots;		/* a power of two */
	struct count *latest;
};

/* Returns the counts of this key, to whose @fresh the caller adds; @others without room. */
struct count *counts_number(struct counts *c, uint64_t number);
struct count *counts_text(struct counts *c, const char *text, uint32_t length);

/* The hash by which a text is found */
uint64_t counts_hash(const char *text, uint32_t length);

/* End an interval. */
void counts_tick(struct counts *c);

enum counts_order {
	COUNTS_BY_RATE,		/* of the last interval */
	COUNTS_BY_TOTAL,
	COUNTS_BY_NAME,
};

/* Sort @list. Equal ones are sorted by the larger total, then by name. */
void counts_sort(struct counts *c, enum counts_order order);
void counts_free(struct counts *c);

#endif /* _TRACEMAP_COUNTS_H */

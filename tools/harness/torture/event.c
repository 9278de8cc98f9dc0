// SPDX-License-Identifier: GPL-2.0
/*
 * The events of the module torture_event: is one whole, and do they come once
 * and in order?
 */
#include "torture.h"

/* Ahead of what torture_event_trace.h lists, in every event */
#define EVENT_HEADER	8

static uint32_t mix(uint32_t sum, uint32_t word)
{
	return ((sum << 5 | sum >> 27) ^ word) * 0x9e3779b1;
}

static uint32_t sum_of(const unsigned char *payload, const struct event *e)
{
	uint32_t sum, word;
	unsigned int i;

	sum = mix(e->seq, (uint32_t)e->cpu << 16 | (uint32_t)e->ctx << 24 | e->len / 4);
	for (i = 0; i < e->len; i += 4) {
		memcpy(&word, payload + i, 4);
		sum = mix(sum, word);
	}
	return sum;
}

bool event_whole(const unsigned char *data, size_t size, int cpu, struct event *e)
{
	if (size < EVENT_HEADER + sizeof(*e))
		return false;
	memcpy(e, data + EVENT_HEADER, sizeof(*e));
	return e->cpu == cpu && e->ctx < NR_CONTEXTS &&
	       e->offset == EVENT_HEADER + sizeof(*e) && e->len % 4 == 0 &&
	       e->offset + e->len <= size && sum_of(data + e->offset, e) == e->sum;
}

/* The writers begin with number 0. */
void order_begin(struct order *o, bool strict)
{
	int ctx;

	memset(o, 0, sizeof(*o));
	/* Numbers of events that are discarded in the end are gaps too. */
	o->strict = strict && !this_round.discard;
	for (ctx = 0; ctx < NR_CONTEXTS; ctx++)
		o->known[ctx] = true;
}

void order_take(struct order *o, const struct event *e)
{
	int32_t gap = e->seq - o->next[e->ctx];

	if (this_round.discard && !e->keep)
		o->bad++;
	if (!o->known[e->ctx])
		gap = 0;
	if (gap < 0 || (o->strict && (uint64_t)gap > o->budget))
		o->bad++;
	else if (o->strict)
		o->budget -= gap;
	o->next[e->ctx] = e->seq + 1;
	o->known[e->ctx] = true;
	o->from[e->ctx]++;
}

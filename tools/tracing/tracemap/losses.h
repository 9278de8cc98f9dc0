/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events that were lost, to the last one.
 *
 * Sub-buffers tell of events that were overwritten before they were read, where
 * these are missing. They do not always tell how many: the number stands behind the
 * records, where there may be no room (read(2) on kernels before ours, the mapping
 * on mainline's). The kernel's counters know the sum, and what the sub-buffers have
 * not told of it can be told in the end.
 *
 * Of events for which there was no room no sub-buffer tells, where new events are
 * dropped rather than old ones overwritten (the option "overwrite" is off). These
 * are in the counters alone.
 */
#ifndef _TRACEMAP_LOSSES_H
#define _TRACEMAP_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include <tracemap.h>

/**
 * struct cpu_losses - of one CPU
 * @told: events that sub-buffers told to be lost, and how many
 * @unknown: they told of more, without a number
 * @overwritten: what the kernel had counted in the beginning and is not told here
 * @dropped: what was dropped, as told so far
 * @at_least: what the sum does not have cannot be known
 */
struct cpu_losses {
	uint64_t told;
	bool unknown;
	uint64_t overwritten;
	uint64_t dropped;
	bool at_least;
};

/* By index of the CPU in @t. */
struct losses {
	struct tracemap *t;
	struct cpu_losses *cpus;
	unsigned int nr;
};

/* The sum of two numbers of missed events, each of which may be unknown. */
static inline uint64_t losses_add(uint64_t a, uint64_t b)
{
	if (a == TRACEMAP_MISSED_UNKNOWN || b == TRACEMAP_MISSED_UNKNOWN)
		return TRACEMAP_MISSED_UNKNOWN;
	return a + b;
}

/*
 * Before the first event is read. What was lost before another consumer took events is
 * not counted.
 */
void losses_begin(struct losses *l, struct tracemap *t);

/* Count what a record or a batch of the CPU with this number tells. */
void losses_told(struct losses *l, int cpu, uint64_t missed);

/* How many the CPU of index @i dropped since it was last asked for. */
uint64_t losses_dropped(struct losses *l, unsigned int i);

/*
 * All was read: how many more the CPU of index @i has overwritten than was told.
 * They count as told then.
 */
uint64_t losses_untold(struct losses *l, unsigned int i);

/* Whether there were more than have been counted so far. */
bool losses_at_least(const struct losses *l);
void losses_end(struct losses *l);

#endif /* _TRACEMAP_LOSSES_H */

/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Count every event that was lost.
 *
 * A sub-buffer says that events before it were overwritten unread, but not always how many:
 * the number is stored behind the records, where there may be no room (read(2) on kernels
 * without this series, the mapping on mainline kernels). The kernel's counters have the
 * sum, so that at the end the number of events that no sub-buffer has reported is known.
 *
 * If the option "overwrite" is off, new events are dropped when there is no room. No
 * sub-buffer reports these: only the counters include them.
 */
#ifndef _TRACEMAP_LOSSES_H
#define _TRACEMAP_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "tracemap.h"

/**
 * struct cpu_losses - the losses of one CPU
 * @told: how many lost events sub-buffers have told with their number
 * @unknown: whether sub-buffers have told more losses, without a number
 * @overwritten: what the kernel had counted at the beginning, and does not count here
 * @dropped: how many dropped events were told so far
 * @at_least: whether more were lost than can be known
 */
struct cpu_losses {
	uint64_t told;
	bool unknown;
	uint64_t overwritten;
	uint64_t dropped;
	bool at_least;
};

struct losses {
	struct tracemap *t;
	struct cpu_losses *cpus;	/* in the order of the CPUs of @t */
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
 * Call it before the first event is read. It does not count what was lost before another
 * consumer took events.
 */
void losses_begin(struct losses *l, struct tracemap *t);

/* Count the loss that a record or a batch of the CPU with this number tells. */
void losses_told(struct losses *l, int cpu, uint64_t missed);

/* How many events the CPU with index @i has dropped since the last call. */
uint64_t losses_dropped(struct losses *l, unsigned int i);

/*
 * When all was read: how many more events the CPU with index @i has overwritten than was
 * told. They count as told afterwards.
 */
uint64_t losses_untold(struct losses *l, unsigned int i);

/*
 * The same, of the moment when the counter of overwritten events was @overwritten: of all
 * losses until then sub-buffers had told.
 */
uint64_t losses_untold_of(struct losses *l, unsigned int i, uint64_t overwritten);

/* Whether more events of the CPU with index @i were lost than were counted so far. */
bool losses_of_cpu_at_least(const struct losses *l, unsigned int i);

/* Whether more events were lost than were counted so far. */
bool losses_at_least(const struct losses *l);
void losses_end(struct losses *l);

#endif /* _TRACEMAP_LOSSES_H */

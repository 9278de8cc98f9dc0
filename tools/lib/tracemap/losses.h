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
 *
 * Events that another program consumes are not lost, but this reader does not get them either. The
 * kernel counts what all have consumed. That counter restarts when the buffer is emptied, so that
 * what exceeds the events that were taken here is how many others consumed, or less, but not more.
 */
#ifndef _TRACEMAP_LOSSES_H
#define _TRACEMAP_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "tracemap.h"

/**
 * struct cpu_losses - the losses of one CPU
 * @told: how many lost events sub-buffers have reported with their number
 * @unknown: whether sub-buffers have reported more losses, without a number
 * @overwritten: the kernel's count at the beginning, which is not included; UINT64_MAX if it
 *	could not be read
 * @dropped: the kernel's count of dropped events at the last look
 * @at_least: whether the counters cannot tell the number of those without one, as some of these
 *	may be from the time before
 * @ends: whether later losses do not count, see losses_until_now()
 * @elsewhere: by how much the kernel's count of consumed events exceeded those taken here at
 *	the beginning; INT64_MAX if that is not known
 * @others: how many others have consumed since, at the look that found most
 * @others_at_least: whether there may be more, as that count has restarted
 * @overwritten_by_end: the kernel's count of overwritten events then
 * @dropped_by_end: the kernel's count of dropped events then
 */
struct cpu_losses {
	uint64_t told;
	bool unknown;
	uint64_t overwritten;
	uint64_t dropped;
	bool at_least;
	bool ends;
	int64_t elsewhere;
	uint64_t others;
	bool others_at_least;
	uint64_t overwritten_by_end;
	uint64_t dropped_by_end;
};

struct losses {
	struct tracemap *t;
	bool swapped;			/* snapshots may swap the counters: others are not known */
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
 * How many events to call lost at least, if @lost were counted and there may be more: what is
 * told without a number may be counted already.
 */
static inline uint64_t losses_least(uint64_t lost, bool may_be_more)
{
	return lost ? lost : may_be_more;
}

/*
 * Call it before the first event is read. It does not count what was lost before another
 * consumer took events.
 */
void losses_begin(struct losses *l, struct tracemap *t);

/* Count the loss that a record or a batch of the CPU with this number reports. */
void losses_told(struct losses *l, int cpu, uint64_t missed);

/* A record or a batch of the CPU with this number says that the buffer was emptied before it. */
void losses_emptied(struct losses *l, int cpu);

/*
 * Before tracemap_until_now(): events that come later and are dropped do not count. Of what is
 * overwritten, counts what sub-buffers report to this reader; another is told of the rest.
 */
void losses_until_now(struct losses *l);

/*
 * Find out how many events of the CPU with index @i other programs have consumed up to now, or
 * up to losses_until_now(), where its figures are @f.
 */
void losses_look_for_others(struct losses *l, unsigned int i, const struct tracemap_figures *f);

/*
 * How many events of all CPUs others have consumed, which this reader did not get, by what was
 * looked at so far; and whether there may be more, as a buffer was emptied.
 */
uint64_t losses_others(const struct losses *l);
bool losses_others_at_least(const struct losses *l);

/* How many events the CPU with index @i has dropped since the last call. */
uint64_t losses_dropped(struct losses *l, unsigned int i);

/* The same, where the counter of dropped events is @dropped. */
uint64_t losses_dropped_of(struct losses *l, unsigned int i, uint64_t dropped);

/*
 * After everything was read: how many more events of the CPU with index @i were overwritten
 * than sub-buffers have reported. They count as reported afterwards.
 */
uint64_t losses_untold(struct losses *l, unsigned int i);

/*
 * The same for the moment when the counter of overwritten events was @overwritten;
 * sub-buffers must have reported all losses up to then.
 */
uint64_t losses_untold_of(struct losses *l, unsigned int i, uint64_t overwritten);

/* Whether more events of the CPU with index @i may have been lost than were counted so far. */
bool losses_of_cpu_at_least(const struct losses *l, unsigned int i);

/* Whether more events may have been lost than were counted so far. */
bool losses_at_least(const struct losses *l);
void losses_end(struct losses *l);

#endif /* _TRACEMAP_LOSSES_H */

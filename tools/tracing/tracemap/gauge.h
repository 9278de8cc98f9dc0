/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A gauge tells how one CPU's buffer does, a panel has those of an instance.
 *
 * Where the kernel has the live index the figures come from memory that is
 * mapped: no system call, no event taken. Elsewhere they come from the files
 * per_cpu/cpuN/stats.
 */
#ifndef _TRACEMAP_GAUGE_H
#define _TRACEMAP_GAUGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "live.h"
#include "tracemap.h"

/**
 * struct reading - one look at a buffer
 * @events: committed since it was last emptied
 * @overwritten: of these, overwritten unread
 * @consumed: of these, taken by consumers
 * @dropped: events for which there was no room
 * @bytes: observed: written since the first observer came; else: unread
 * @size: bytes of the buffer
 * @epoch: observed: changes when the buffer is emptied
 * @fill: how much of it holds unread events, 0 to 1
 */
struct reading {
	uint64_t events;
	uint64_t overwritten;
	uint64_t consumed;
	uint64_t dropped;
	uint64_t bytes;
	uint64_t size;
	uint64_t epoch;
	double fill;
};

/* What nobody can tell yet, or from these figures. */
#define RATE_UNKNOWN	(-1.0)

/**
 * struct rates - what happened between two readings, by the second
 * @events: committed
 * @bytes: of the buffer, written
 * @lost: see reading_lost()
 * @reset: the buffer was emptied in between: nothing is known
 */
struct rates {
	double events;
	double bytes;
	double lost;
	bool reset;
};

/**
 * struct gauge - of one CPU's buffer
 * @cpu: which
 * @looks: how often it was read
 * @now: the present reading
 * @rate: what happened since the one before
 */
struct gauge {
	int cpu;
	unsigned int looks;
	struct reading now;
	struct rates rate;

	/* private: */
	struct tracemap_cpu *handle;	/* NULL: read from the file */
	struct live_observer observer;
	uint64_t at;
};

/**
 * struct panel - the gauges of an instance
 * @name: of the instance, "/" for the top level
 * @dir: its folder
 * @observes: figures come from the live index, and the buffers are observed
 * @why: an errno: why not
 * @expanded: from its boot-time minimum, by being observed
 * @nr: how many gauges there are
 * @gauges: by CPU number
 * @seconds: between the last two readings
 */
struct panel {
	char *name;
	char *dir;
	bool observes;
	int why;
	bool expanded;
	unsigned int nr;
	struct gauge *gauges;
	double seconds;

	/* private: */
	struct tracemap *t;
	uint64_t at;
};

/* @observe: false if the files are wanted. Negative errno, said. */
int panel_open(struct panel *panel, const char *dir, const char *name, bool observe);
void panel_close(struct panel *panel);

/* Read all gauges. Negative errno: the instance is gone. */
int panel_read(struct panel *panel);

/* CPUs that came online since. Negative errno. */
int panel_rescan(struct panel *panel);

/* The sum of all gauges; its fill is the fullest one's. */
struct gauge panel_total(const struct panel *panel);

/*
 * Of a buffer that no consumer takes events from, a flight recorder's, the oldest are
 * overwritten as they should be, and are not lost.
 */
static inline uint64_t reading_lost(const struct reading *r)
{
	return r->dropped + (r->consumed ? r->overwritten : 0);
}

#endif /* _TRACEMAP_GAUGE_H */

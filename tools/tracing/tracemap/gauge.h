/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A gauge has the figures of one CPU's buffer, and a panel has the gauges of an instance.
 *
 * Where the kernel has the live index, the figures come from mapped memory, without a
 * system call and without taking an event. Elsewhere they come from the files
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
 * @events: events committed since the buffer was last emptied
 * @overwritten: how many of these were overwritten before a consumer read them
 * @consumed: how many of these consumers have taken
 * @dropped: events for which there was no room
 * @bytes: if the buffer is observed, bytes written since its size was set, and a bit
 *	more for each time that it was emptied; else bytes of the unread events
 * @size: bytes of the buffer
 * @epoch: if the buffer is observed, a number that changes when it is emptied
 * @oldest: if it is not observed, when the oldest event came, 0 if that is not known
 * @fill: which part of the buffer holds unread events, from 0 to 1
 */
struct reading {
	uint64_t events;
	uint64_t overwritten;
	uint64_t consumed;
	uint64_t dropped;
	uint64_t bytes;
	uint64_t size;
	uint64_t epoch;
	uint64_t oldest;
	double fill;
};

/* A figure that is not known yet, or cannot be known from the others. */
#define RATE_UNKNOWN	(-1.0)

/**
 * struct rates - what happened between two readings, per second
 * @events: events committed
 * @bytes: bytes of the buffer that were written
 * @lost: events that were overwritten, or for which there was no room
 * @reset: the buffer was emptied in between, or a snapshot has put another one in its place,
 *	so that the others are not known
 */
struct rates {
	double events;
	double bytes;
	double lost;
	bool reset;
};

/**
 * struct gauge - the figures of one CPU's buffer
 * @cpu: the number of the CPU
 * @looks: how often the gauge was read
 * @now: the last reading
 * @rate: what happened between the last two readings
 */
struct gauge {
	int cpu;
	unsigned int looks;
	struct reading now;
	struct rates rate;

	/* private: */
	struct tracemap_cpu *handle;	/* NULL: the figures are read from the file */
	struct live_observer observer;
	uint64_t at;
};

/**
 * struct panel - the gauges of an instance
 * @name: the name of the instance, "/" for the top level
 * @dir: the folder of the instance
 * @observes: whether the buffers are observed, and the figures come from the live index
 * @why: if not, the errno that says why
 * @expanded: whether observing has made the buffer larger than its boot-time minimum
 * @nr: how many gauges there are
 * @gauges: the gauges, in the order of CPU numbers
 * @seconds: the time between the last two readings
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

/* Reads the files if @observe is false. A negative errno was reported to the user. */
int panel_open(struct panel *panel, const char *dir, const char *name, bool observe);
void panel_close(struct panel *panel);

/* Read all gauges. Returns a negative errno if the instance is gone. */
int panel_read(struct panel *panel);

/* Add gauges for CPUs that came online since. Returns a negative errno on failure. */
int panel_rescan(struct panel *panel);

/* The sum of all gauges, with the fill of the fullest one. */
struct gauge panel_total(const struct panel *panel);

#endif /* _TRACEMAP_GAUGE_H */

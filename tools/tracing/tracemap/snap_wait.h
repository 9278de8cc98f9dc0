/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decide when "snap" takes snapshots: at once, or each time something happens, until a
 * signal ends it.
 */
#ifndef _TRACEMAP_SNAP_WAIT_H
#define _TRACEMAP_SNAP_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct snap_cause - what to take a snapshot for
 * @when: an event, and behind a second colon its filter; NULL: no event
 * @signal: a signal; 0: none
 * @every: so often, seconds; 0: not by the time
 * @after: so long after one of them, seconds
 */
struct snap_cause {
	const char *when;
	int signal;
	double every;
	double after;
};

struct snap_wait;

/* Whether there is any, so that the snapshot is not taken at once. */
bool snap_waits(const struct snap_cause *cause);

/*
 * Begin to wait. The event is switched on in an instance of its own, so that the traced one
 * is not changed. Call it before there are mappings. A negative errno was told.
 */
int snap_wait_begin(struct snap_wait **w, const struct snap_cause *cause);

/* Returns 1 when a snapshot is due, 0 when a signal has asked to end, or an errno, told. */
int snap_wait_next(struct snap_wait *w);

/* Returns 0, or another number if something failed, told. */
int snap_wait_end(struct snap_wait *w);

/* The argument of --signal: USR1, USR2. Returns 0, or -EINVAL and a message. */
int snap_wait_signal(const char *name, int *signal);

/* Check the argument of --when: SYSTEM:EVENT[:FILTER]. Returns 0, or -EINVAL and a message. */
int snap_wait_event(const char *when);

#endif /* _TRACEMAP_SNAP_WAIT_H */

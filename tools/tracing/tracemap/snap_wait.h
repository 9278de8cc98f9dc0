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
 * struct snap_trigger - what to take a snapshot for
 * @when: an event, and behind a second colon its filter; NULL: no event
 * @signal: a signal; 0: none
 * @every: the interval in seconds; 0: no interval
 * @after: how long to wait after one of these, in seconds
 */
struct snap_trigger {
	const char *when;
	int signal;
	double every;
	double after;
};

struct snap_wait;

/* Whether there is any, so that the snapshot is not taken at once. */
bool snap_waits(const struct snap_trigger *trigger);

/*
 * Begin to wait. The event is enabled in an instance of its own, so that the traced one is
 * not changed. Call it after stop_on_signals(), and before there are mappings. A negative errno
 * was reported.
 */
int snap_wait_begin(struct snap_wait **w, const struct snap_trigger *trigger);

/* Returns 1 when a snapshot is due, 0 after a signal to end, or a reported errno. */
int snap_wait_next(struct snap_wait *w);

/* Returns 0, or another number if something failed, which was reported. */
int snap_wait_end(struct snap_wait *w);

/* Take the argument of --signal, USR1 or USR2. Returns 0, or -EINVAL and a message. */
int snap_wait_signal(const char *name, int *signal);

/* Check the argument of --when: SYSTEM:EVENT[:FILTER]. Returns 0, or -EINVAL and a message. */
int snap_wait_event(const char *when);

#endif /* _TRACEMAP_SNAP_WAIT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An ordinary user, and what gives a group access to the trace.
 */
#ifndef SELFTEST_RING_BUFFER_USER_H
#define SELFTEST_RING_BUFFER_USER_H

#include "tracefs.h"

#define ORDINARY_USER	1000
#define ORDINARY_GROUP	1000
#define TRACE_GROUP	2000

/*
 * A child that is an ordinary user, and of @group besides: as fork(), and -1
 * with an errno too if it could not be made.
 */
pid_t fork_user(gid_t group);

/* What @deed, 0 or a negative errno, answers to such a user. */
int user_does(struct trace_instance *ti, gid_t group,
	      int (*deed)(struct trace_instance *ti));

/* Gives TRACE_GROUP access, or takes it back, as a mount option of tracefs. */
int grant_by_mount(bool granted);

/*
 * The same by chgrp and chmod, of what is needed to reach trace_pipe_raw and
 * trace_live of the instance's CPU and to know the format.
 */
int grant_by_chgrp(const struct trace_instance *ti, bool granted);

/*
 * Lets everyone pass through the directories to the instance's CPU, and TRACE_GROUP read
 * trace_live there, or takes that back.
 */
int grant_watching(const struct trace_instance *ti, bool granted);

/*
 * The process, other than this one, that maps files below the instance's
 * directory; 0 if there is none. This is what root does to find it.
 */
pid_t find_mapper(const struct trace_instance *ti);

#endif /* SELFTEST_RING_BUFFER_USER_H */

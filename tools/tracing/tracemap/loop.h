/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading until a signal, the end of the command or of the time: what "stream" and
 * "record" do, each in its way, with CPUs that may come meanwhile.
 */
#ifndef _TRACEMAP_LOOP_H
#define _TRACEMAP_LOOP_H

#include <stdint.h>
#include <tracemap.h>

#include "child.h"

/* CPUs are looked for so often, in milliseconds. */
#define LOOP_CPUS_MS	1000

/**
 * struct loop - what it ends by, and which CPUs are there
 * @child: the command behind "--", prepared by the caller
 * @deadline: ns, 0: none
 * @online: the list of those online, as last seen
 * @look: when to look again, ns
 */
struct loop {
	struct child child;
	uint64_t deadline;
	char *online;
	uint64_t look;
};

#define LOOP_INIT	{ .child = CHILD_NONE }

/**
 * struct loop_verb - how to read
 * @is_over: a limit of its own is reached
 * @take: read what there is, for a while. Returns above 0 if there may be more, 0 if
 *	there is not, below 0 to end
 * @sleep: until there is more, or loop_timeout(). Below 0 to end
 * @add_cpus: read CPUs that were opened. 0 or more, or a negative errno
 */
struct loop_verb {
	bool (*is_over)(void *arg);
	int (*take)(void *arg);
	int (*sleep)(void *arg);
	int (*add_cpus)(void *arg);
};

/* Before the buffers are opened: a CPU that comes meanwhile is to be looked for. */
void loop_begin(struct loop *loop);

/* Start the command, if there is one; @seconds: 0: no limit. As child_start() */
int loop_start(struct loop *loop, double seconds, const char *command);

/* Returns false if a CPU that came could not be opened; that was said. */
bool loop_run(struct loop *loop, struct tracemap *t, const struct loop_verb *verb, void *arg);

/* @ms, or less: until the time is over. */
int loop_timeout(const struct loop *loop, int ms);
void loop_end(struct loop *loop);

#endif /* _TRACEMAP_LOOP_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read until a signal comes, or the command or the time ends. "stream" and "record" do this,
 * each in its way. CPUs may come up meanwhile.
 */
#ifndef _TRACEMAP_LOOP_H
#define _TRACEMAP_LOOP_H

#include <stdint.h>
#include <tracemap.h>

#include "child.h"

/* How often the loop looks for new CPUs, in milliseconds. */
#define LOOP_CPUS_MS	1000

/**
 * struct loop - what ends the loop, and which CPUs there are
 * @child: the command behind "--", which the caller has prepared
 * @deadline: when the time ends, in ns; 0 for no limit
 * @online: the list of CPUs online at the last look
 * @look: when to look again, in ns
 */
struct loop {
	struct child child;
	uint64_t deadline;
	char *online;
	uint64_t look;
};

#define LOOP_INIT	{ .child = CHILD_NONE }

/**
 * struct loop_verb - how the verb reads
 * @is_over: returns whether a limit of the verb is reached
 * @take: reads what there is, for a while. Returns a positive number if there may be more,
 *	0 if there is nothing, a negative number to end the loop
 * @sleep: waits until there is more, or for loop_timeout(). Returns a negative number to
 *	end the loop
 * @add_cpus: begins to read CPUs that were opened. Returns a negative errno on failure
 */
struct loop_verb {
	bool (*is_over)(void *arg);
	int (*take)(void *arg);
	int (*sleep)(void *arg);
	int (*add_cpus)(void *arg);
};

/* Call it before the buffers are opened, so that no CPU that comes up meanwhile is missed. */
void loop_begin(struct loop *loop);

/* Start the command, if there is one. @seconds is 0 for no limit. Returns as child_start(). */
int loop_start(struct loop *loop, double seconds, const char *command);

/* Returns false if a CPU that came up could not be opened, which the user was told. */
bool loop_run(struct loop *loop, struct tracemap *t, const struct loop_verb *verb, void *arg);

/* Returns @ms, or less if the time ends earlier. */
int loop_timeout(const struct loop *loop, int ms);
void loop_end(struct loop *loop);

#endif /* _TRACEMAP_LOOP_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read until a signal comes, the command ends, or the time is over, as "stream", "record" and
 * "top" do. CPUs may come up meanwhile.
 */
#ifndef _TRACEMAP_LOOP_H
#define _TRACEMAP_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <tracemap.h>

#include "child.h"

/* How often the loop looks for new CPUs, in milliseconds, where the kernel reports none */
#define LOOP_CPUS_MS	1000

/**
 * struct online - which CPUs there are
 * @cpus: the list of those online at the last look
 * @look: when to look again, in ns
 * @told: a socket that is readable when the kernel has reported any device; -1: there is none
 */
struct online {
	char *cpus;
	uint64_t look;
	int told;
};

#define ONLINE_INIT	{ .told = -1 }

/* Call it before the buffers are opened, so that no CPU that comes up meanwhile is missed. */
void online_begin(struct online *online);

/*
 * Whether other CPUs are online than before. It looks when the kernel has reported a CPU, and
 * every LOOP_CPUS_MS, however often it is called.
 */
bool online_changed(struct online *online);
void online_end(struct online *online);

/**
 * struct loop - what ends the loop, and which CPUs there are
 * @child: the command behind "--", which the caller has prepared
 * @deadline: when the time ends, in ns; 0 for no limit
 * @online: the CPUs
 */
struct loop {
	struct child child;
	uint64_t deadline;
	struct online online;
};

#define LOOP_INIT	{ .child = CHILD_NONE, .online = ONLINE_INIT }

/* How many descriptors loop_wait() has, and how many the verb may have */
enum { LOOP_FDS = 3, LOOP_OWN_FDS = 4 };

/**
 * struct loop_verb - how the verb reads
 * @is_over: returns whether a limit of the verb is reached
 * @take: reads what there is, for a while. Returns a positive number if there may be more,
 *	0 if there is nothing, a negative number to end the loop
 * @sleep: waits until there is more, by loop_wait(). Returns a negative number to end the
 *	loop
 * @add_cpus: begins to read CPUs that were opened. Returns a negative errno on failure
 */
struct loop_verb {
	bool (*is_over)(void *arg);
	int (*take)(void *arg);
	int (*sleep)(void *arg);
	int (*add_cpus)(void *arg);
};

/* Calls online_begin(). */
void loop_begin(struct loop *loop);

/* Start the command, if there is one. @seconds: 0 for no limit. Returns what child_start() does. */
int loop_start(struct loop *loop, double seconds, const char *command);

/* Returns false if a CPU that came up could not be opened, which was reported. */
bool loop_run(struct loop *loop, struct tracemap *t, const struct loop_verb *verb, void *arg);

/* Nothing is read any more: wait until the command has ended, or something else ends it. */
void loop_wait_for_child(struct loop *loop);

/**
 * loop_wait - sleep until there is something to do
 * @loop: what ends the loop. A signal, the end of the command or of the time ends the wait, and so
 *	does a CPU that comes up
 * @t: the buffers, see tracemap_wait_with(); NULL: they do not end the wait
 * @own: descriptors of the verb, as poll(2) takes them
 * @nr: how many, up to LOOP_OWN_FDS
 * @ms: how many milliseconds at most; a negative number: as long as it takes
 *
 * Return: 1 if a buffer has something; 0 if anything else has ended the wait; or a negative errno
 */
int loop_wait(struct loop *loop, struct tracemap *t, struct pollfd *own, unsigned int nr, int ms);
void loop_end(struct loop *loop);

#endif /* _TRACEMAP_LOOP_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A snapshot: what the buffers of an instance hold when it is asked for. It is read by the
 * live view: no event is taken from consumers, and what the writers do meanwhile does not
 * matter.
 */
#ifndef _TRACEMAP_SNAPSHOT_H
#define _TRACEMAP_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include <tracemap.h>

/**
 * struct snapshot_request - what the user wants
 * @dir: the folder of the instance
 * @name: its name, for messages
 * @cpus: the CPUs, as in struct tracemap_options
 * @nr_cpus: how many; 0: all
 * @last: how many seconds of events; 0: all events
 */
struct snapshot_request {
	const char *dir;
	const char *name;
	const int *cpus;
	unsigned int nr_cpus;
	double last;
};

/**
 * struct snapshot_cpu - what one CPU has to give
 * @lost: how many overwritten events the kernel has told of
 * @unknown: there were more, and the kernel does not say how many
 * @begins_late: its next event is the first that it has, as older ones were overwritten
 */
struct snapshot_cpu {
	uint64_t lost;
	bool unknown;
	bool begins_late;
};

/**
 * struct snapshot - a snapshot that was asked for
 * @t: the buffers
 * @now: when it was asked for, by the trace clock; 0 if that does not count time
 * @from: no event before this time stamp is wanted
 * @cpus: by the index of the CPU in @t
 * @nr_cpus: how many CPUs there are
 * @events: how many wanted events there were
 * @cut: not all of these came out, and @last is of none that did
 * @first: the time stamp of the first of them, if there was one
 * @last: that of the last one
 */
struct snapshot {
	struct tracemap *t;
	uint64_t now;
	uint64_t from;
	struct snapshot_cpu *cpus;
	unsigned int nr_cpus;
	unsigned long long events;
	bool cut;
	uint64_t first;
	uint64_t last;
};

/*
 * Take a snapshot: copy the events. Returns 0, or a negative errno that was reported. Call
 * snapshot_close() in any case.
 */
int snapshot_open(struct snapshot *s, const struct snapshot_request *r);
void snapshot_close(struct snapshot *s);

/*
 * Whether such a snapshot could be taken now: 0, or a negative errno that was reported, as
 * snapshot_open() does. Nothing is taken.
 */
int snapshot_check(const struct snapshot_request *r);

/* Count an event that is wanted. */
void snapshot_count(struct snapshot *s, uint64_t ts);

/* Only the first @nr of the events that were counted came out: tell of these. */
void snapshot_cut(struct snapshot *s, unsigned long long nr);

/* Count the loss of the CPU with this index. */
void snapshot_lost(struct snapshot *s, unsigned int i, uint64_t missed);

/* The index of the CPU with this number. */
unsigned int snapshot_index(const struct snapshot *s, int number);

/* Whether events were lost; tells the user what is in it, and each CPU's loss. */
bool snapshot_has_lost(const struct snapshot *s);
void snapshot_say(const struct snapshot *s, const char *what);

/* Handle an error of reading. Returns it, or 0 if reading can go on. */
int snapshot_error(int error, int cpu);

#endif /* _TRACEMAP_SNAPSHOT_H */

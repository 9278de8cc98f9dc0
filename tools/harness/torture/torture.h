/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The torture run: what its processes share.
 *
 * A round has settings of its own, and four observers of each CPU. In each act
 * of it there are writers; at its end they stop, all sums have to be exact, and
 * the buffer is emptied before the next act.
 */
#ifndef HARNESS_TORTURE_H
#define HARNESS_TORTURE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <live.h>

#include "../../testing/selftests/ring-buffer/subbuf.h"

#define MAX_CPUS	8

/* Nobody needs so long, however slow the machine is. */
#define STUCK_MS	60000
#define WOKEN_MS	10000

enum { TASK, SOFTIRQ, HARDIRQ, NMI, NR_CONTEXTS };
enum { GREEDY, WAITER, COPIER, SLOW, NR_SPEEDS };
enum { BY_IOCTL, BY_READ, BY_SPLICE, BY_PIPE, NR_WAYS };

/* CALM: no resets, so that every number can be accounted for. */
enum act { CALM, WILD, SINGLE, NR_ACTS };

extern const char *const contexts[NR_CONTEXTS];
extern const char *const speeds[NR_SPEEDS];
extern const char *const ways[NR_WAYS];

/* What can go wrong: a test each. */
enum fault { NOT_WHOLE, NOT_IN_ORDER, NOT_EXACT, NOT_ONCE, WRONG_FIGURES,
	     NOT_WOKEN, NOT_REFUSED, STUCK, NR_FAULTS };

/* What has to happen, lest the run prove little. */
enum deed { EVENTS_MISSED, LOOKS_REFUSED, RESETS_SEEN, CALM_RESETS_SEEN, OBSERVERS_ATTACHED,
	    OBSERVERS_SLEPT, FLIPS_OF_OVERWRITE, MAPPINGS_MADE, VISITS, CPUS_AWAY, EVENTS_DISCARDED,
	    NR_DEEDS };

/* Between the processes. The first three count acts of this round. */
struct shared {
	int		begun, quiet, settled;
	int		disturbed;	/* acts whose disturbances are over */
	int		accounted;	/* observers that are done with this act */
	uint64_t	live_resets;	/* of this act, begun while it was on */
	uint64_t	faults[NR_FAULTS], deeds[NR_DEEDS];
	uint64_t	seen[NR_SPEEDS], consumed[NR_WAYS], from[NR_CONTEXTS];
	uint64_t	woken_by[NR_CONTEXTS];
	/* of the waiting observer of a CPU */
	int		asleep[MAX_CPUS];
	uint64_t	at[MAX_CPUS];	/* events before its position */
};

extern struct shared *shared;

#define add(what, n)	__atomic_fetch_add(&(what), n, __ATOMIC_RELAXED)
#define now(what)	__atomic_load_n(&(what), __ATOMIC_ACQUIRE)
#define set(what, n)	__atomic_store_n(&(what), n, __ATOMIC_RELEASE)

/* The present round. */
struct round {
	unsigned int		number;
	struct trace_instance	ti;
	struct subbuf_format	format;
	unsigned int		words, discard;
};

extern struct round this_round;
extern unsigned int seed, nr_cpus;
extern bool stock;	/* a kernel without the series: no mappings */

/* main.c */
unsigned int below(unsigned int n);
void __attribute__((format(printf, 2, 3))) fail(enum fault fault, const char *fmt, ...);
void wait_for(const int *count, int n);

/* writers.c: the module torture_event */
int writers_start(void);
int writers_single(void);
int writers_fire(unsigned int ctx);
int writers_stop(void);
/* One of that instance, or of the top level for "", taken in the kernel. */
int writers_snapshot(const char *instance);
/* How many numbers each context of a CPU has given out. */
bool writers_counts(int cpu, uint32_t counts[NR_CONTEXTS]);
/* Events committed since the last reset, as the kernel's files say. */
long long committed(int cpu);

/* event.c */
struct event {
	uint32_t	seq, sum;
	uint8_t		cpu, ctx;
	uint16_t	keep;
	uint16_t	offset, len;
};

/* A stream of events, and how far it is. */
struct order {
	uint32_t	next[NR_CONTEXTS];
	bool		known[NR_CONTEXTS];	/* no smaller number may come */
	bool		strict;		/* gaps are only where losses were told */
	uint64_t	budget;		/* events that may lie in gaps */
	uint64_t	bad, torn;
	uint64_t	from[NR_CONTEXTS];
};

bool event_whole(const unsigned char *data, size_t size, int cpu, struct event *e);
void order_begin(struct order *o, bool strict);
void order_take(struct order *o, const struct event *e);

/* observer.c, consumer.c, disturber.c: a process each */
void observe(int cpu, int speed);
uint64_t any_mark(void);
void consume(int cpu, int act);
void disturb(enum act act);
void fire_single(int cpu, int act);

/* snapshot.c */
void check_snapshots(void);

#endif /* HARNESS_TORTURE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a CPU is disturbed by: the interrupts it takes, and the wake-ups that an
 * observer may have. The machine adds to these by chance: what is to be few is
 * measured up to MEASURED_AGAIN times, until it is.
 */
#ifndef SELFTEST_RING_BUFFER_DISTURBANCE_H
#define SELFTEST_RING_BUFFER_DISTURBANCE_H

#include "watcher.h"

#define MEASURED_AGAIN	3

struct disturbance {
	long long	sent;		/* by other CPUs: IPIs of any kind */
	long long	irq_works;	/* interrupts that it sent to itself, to do an irq_work */
	long long	interrupts;	/* all, those included */
	long long	events;		/* committed to the CPU's buffer */
	long long	ns;		/* over so long */
};

/* What @cpu has taken since it came up, and its buffer since the last reset. */
int disturbance_now(struct disturbance *d, const struct trace_instance *ti, int cpu);

/* What was taken since @before, by @now. */
struct disturbance disturbance_since(struct disturbance before,
				     const struct disturbance *now);

/* What @cpu takes in @ms from now on, told on standard error as @what. */
int disturbance_in(struct disturbance *d, const struct trace_instance *ti, int cpu,
		   unsigned int ms, const char *what);

void disturbance_tell(const struct disturbance *d, const char *what);

/* So many observers a round may be woken in so long, in which there may be two at once. */
#define ROUND_OBSERVERS	16
uint64_t rounds_allowed(long long ns);

#endif /* SELFTEST_RING_BUFFER_DISTURBANCE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The time from one event, the start, to another event with the same key, the
 * end.
 */
#ifndef _TRACEMAP_LATENCY_H
#define _TRACEMAP_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

/* A bucket is as wide as a 64th of the values in it, or less: quantiles are that exact. */
#define LATENCY_BUCKETS		(58 * 64 + 64)

/* The largest number of starts that wait for an end: further ones are dropped */
#define LATENCY_PENDING		(1 << 20)

/* The ranges of the histogram begin at 1, 2, 5, 10, 20 and so on, up to 5e12 ns. */
#define LATENCY_ROWS		39

/**
 * struct histogram - how often which latencies were
 * @nr: how many there are
 * @max: the longest
 */
struct histogram {
	uint64_t nr;
	uint64_t max;

	/* private: */
	uint64_t buckets[LATENCY_BUCKETS];
};

/* A start without its end. */
struct latency_start {
	uint64_t key;
	uint64_t ts;
	bool used;
};

/**
 * struct latency - starts and ends
 * @all: latencies up to the last latency_tick()
 * @last: those of the interval that this call has ended
 * @fresh: those since then
 * @rows: of @last, how many are in each range of the histogram
 * @fresh_rows: the same of @fresh
 * @replaced: starts that were followed by another start of their key
 * @unstarted: ends without a start
 * @forgotten: starts whose end may have been lost, or for which there was no room
 * @nr: starts that wait for their end
 */
struct latency {
	struct histogram all, last, fresh;
	uint32_t rows[LATENCY_ROWS], fresh_rows[LATENCY_ROWS];
	uint64_t replaced, unstarted, forgotten;
	unsigned int nr;

	/* private: */
	struct latency_start *starts;
	unsigned int nr_starts;		/* a power of two */
};

/* Of equal keys, the last start counts. Keys that are texts are given by their hash. */
void latency_start(struct latency *l, uint64_t key, uint64_t ts);
void latency_end(struct latency *l, uint64_t key, uint64_t ts);

/* Forget all starts that wait: events were lost, which may include their ends. */
void latency_forget(struct latency *l);

/* End an interval. */
void latency_tick(struct latency *l);
void latency_free(struct latency *l);

void histogram_add(struct histogram *h, uint64_t value);

/* The value that @percent of all do not exceed, at most a 64th too large; 0 without values */
uint64_t histogram_quantile(const struct histogram *h, double percent);

/* The range that has @value, and where a range begins. */
unsigned int latency_row(uint64_t value);
uint64_t latency_row_begin(unsigned int row);

#endif /* _TRACEMAP_LATENCY_H */

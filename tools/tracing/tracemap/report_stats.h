/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What "report --stats" prints: how many events of which kind, task and CPU a file has.
 */
#ifndef _TRACEMAP_REPORT_STATS_H
#define _TRACEMAP_REPORT_STATS_H

#include <tracemap-event.h>

#include "output.h"

/* How many there are of something with a number: an event id, a process, a CPU. */
struct tally {
	int number;
	uint64_t events;
	uint64_t lost;
};

/* A set of these, found by their number; all zeros is an empty one. */
struct tallies {
	void *tree;		/* of tsearch(3) */
	struct tally **list;
	unsigned int nr;
};

struct report_stats {
	struct tallies events, tasks, cpus;
	uint64_t first, last;	/* time stamps */
};

/* Count a record, which may have a loss, an event, or both. Returns 0 or -ENOMEM. */
int report_stats_add(struct report_stats *stats, const struct tracemap_decoder *decoder,
		     const struct tracemap_record *rec);

/* Append the tables, or with @json an object on a line. */
void report_stats_print(struct report_stats *stats, struct tracemap_decoder *decoder,
			bool json, struct tracemap_line *line);

void report_stats_free(struct report_stats *stats);

#endif /* _TRACEMAP_REPORT_STATS_H */

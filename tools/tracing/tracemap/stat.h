/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What "tracemap stat" watches, and what it prints of that.
 */
#ifndef _TRACEMAP_STAT_H
#define _TRACEMAP_STAT_H

#include <stdio.h>

#include "gauge.h"
#include "mappers.h"

/**
 * struct watch - what is watched
 * @panels: a panel for each instance
 * @first_cpu: for each panel, the index in @mappers of the CPU of its first gauge
 * @nr: how many instances there are
 * @mappers: the processes that had mapped the buffers at the last look
 * @looks_for_mappers: whether to look for them; if not, @first_cpu and @mappers are empty
 */
struct watch {
	struct panel *panels;
	unsigned int *first_cpu;
	unsigned int nr;
	struct mappers mappers;
	bool looks_for_mappers;
};

/*
 * Print how the instances are read, and what that means to other programs. A line that does not
 * hold for all instances begins with the names of those it holds for.
 */
void stat_print_notes(FILE *to, const struct watch *w);

/* Print the table, which people and awk can read. */
void stat_print_table(FILE *to, const struct watch *w);

/* Print a line of JSON for each instance. */
void stat_print_json(FILE *to, const struct watch *w);

#endif /* _TRACEMAP_STAT_H */

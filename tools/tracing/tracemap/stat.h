/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What "tracemap stat" watches, and what it prints of that.
 */
#ifndef _TRACEMAP_STAT_H
#define _TRACEMAP_STAT_H

#include <stdio.h>

#include "gauge.h"

/**
 * struct watch - what is watched
 * @panels: a panel for each instance
 * @nr: how many instances there are
 */
struct watch {
	struct panel *panels;
	unsigned int nr;
};

/* Print how each instance is read, and what that means to other programs. */
void stat_print_notes(FILE *to, const struct watch *w);

/* Print the table, which people and awk can read. */
void stat_print_table(FILE *to, const struct watch *w);

/* Print a line of JSON for each instance. */
void stat_print_json(FILE *to, const struct watch *w);

#endif /* _TRACEMAP_STAT_H */

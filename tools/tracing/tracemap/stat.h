/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What "tracemap stat" watches, and the three forms in which it prints that.
 */
#ifndef _TRACEMAP_STAT_H
#define _TRACEMAP_STAT_H

#include "gauge.h"
#include "mappers.h"
#include "screen.h"

/**
 * struct watch - what is watched
 * @panels: a panel for each instance
 * @first_cpu: for each panel, the index in @mappers of the CPU of its first gauge
 * @nr: how many instances there are
 * @mappers: the processes that had mapped the buffers at the last look
 * @looks_for_mappers: whether to look for them
 */
struct watch {
	struct panel *panels;
	unsigned int *first_cpu;
	unsigned int nr;
	struct mappers mappers;
	bool looks_for_mappers;
};

/*
 * A line, from 0 on, of the note how an instance is read and what that means to other
 * programs; NULL behind the last line.
 */
const char *stat_note(const struct watch *w, const struct panel *p, unsigned int line);

/* The processes as "name[pid] name[pid]+live", cut to @size; "-" if there is none. */
void stat_mapped_by(const struct watch *w, unsigned int panel, unsigned int gauge,
		    char *text, size_t size);

/* Print rows, which people and awk can read. */
void stat_print_header(FILE *to);
void stat_print_rows(FILE *to, const struct watch *w);

/* Print a line of JSON for each instance. */
void stat_print_json(FILE *to, const struct watch *w);

/*
 * Draw the table. @from is how many rows are scrolled away; if it is too large, it is
 * reduced. Returns 0 or a negative errno.
 */
int stat_draw(struct screen *s, const struct watch *w, int *from);

#endif /* _TRACEMAP_STAT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tracemap stat: what is watched, and the three forms it is shown in.
 */
#ifndef _TRACEMAP_STAT_H
#define _TRACEMAP_STAT_H

#include "gauge.h"
#include "mappers.h"
#include "screen.h"

/**
 * struct watch - what is watched
 * @panels: of the instances
 * @first_cpu: for each, which of the CPUs of @mappers its first gauge is
 * @nr: instances there are
 * @mappers: who maps the buffers, as of the last look
 * @looks_for_mappers: whether anybody looks
 */
struct watch {
	struct panel *panels;
	unsigned int *first_cpu;
	unsigned int nr;
	struct mappers mappers;
	bool looks_for_mappers;
};

/* How an instance is read, and what that means to others; @line from 0, NULL behind the last. */
const char *stat_note(const struct watch *w, const struct panel *p, unsigned int line);

/* "name[pid] name[pid]+live", cut to fit; "-": nobody else. */
void stat_mapped_by(const struct watch *w, unsigned int panel, unsigned int gauge,
		    char *text, size_t size);

/* Rows for people and for awk. */
void stat_print_header(FILE *to);
void stat_print_rows(FILE *to, const struct watch *w);

/* A line of JSON for each instance. */
void stat_print_json(FILE *to, const struct watch *w);

/* The table; @from is how many rows are scrolled away, and is mended. 0 or a negative errno. */
int stat_draw(struct screen *s, const struct watch *w, int *from);

#endif /* _TRACEMAP_STAT_H */

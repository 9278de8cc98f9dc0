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
 * Write a line, from 0 on, of the note on how the instances are read and what that means to
 * other programs, cut to @size. A line that does not hold for all of them begins with the
 * names of those it holds for. Returns false after the last line.
 */
bool stat_note(const struct watch *w, unsigned int line, char *text, size_t size);

/* The processes as "name[pid] name[pid]+live", cut to @size; "-" if there is none. */
void stat_mapped_by(const struct watch *w, unsigned int panel, unsigned int gauge,
		    char *text, size_t size);

/* Print rows, which people and awk can read. */
void stat_print_header(FILE *to);
void stat_print_rows(FILE *to, const struct watch *w);

/* Print a line of JSON for each instance. */
void stat_print_json(FILE *to, const struct watch *w);

enum stat_sort {
	STAT_BY_CPU,
	STAT_BY_EVENTS,		/* the CPU with most per second first, and so on */
	STAT_BY_FILL,
	STAT_BY_LOST,
};

/**
 * struct stat_look - what the user has done to the screen
 * @from: how many rows are scrolled away
 * @sort: how the CPUs of an instance are sorted
 * @help: whether the help is shown
 * @utf8: whether the terminal shows UTF-8
 */
struct stat_look {
	int from;
	enum stat_sort sort;
	bool help;
	bool utf8;
};

/* Draw the table. If @from is too large, it is reduced. Returns 0 or a negative errno. */
int stat_draw(struct screen *s, const struct watch *w, struct stat_look *look);

/* Handle a key. Returns false if it is the key to quit. */
bool stat_key(struct screen *s, struct stat_look *look, int key);

#endif /* _TRACEMAP_STAT_H */

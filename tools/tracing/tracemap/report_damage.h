/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace.dat whose pages are not all as they were written. At a page whose head cannot be true
 * libtracecmd ends the CPU, or crashes: it gets a copy in which such pages are empty. Of other
 * damage it says nothing.
 */
#ifndef _TRACEMAP_REPORT_DAMAGE_H
#define _TRACEMAP_REPORT_DAMAGE_H

#include <stdio.h>

#include "output.h"
#include "trace_head.h"

/**
 * struct report_head - what is found before the data
 * @file: the file; NULL: it cannot be opened
 * @found: what describes the table
 * @table: where the data of the CPUs are; NULL: tracemap did not write the file, or compressed it
 */
struct report_head {
	FILE *file;
	struct trace_head_found found;
	struct trace_region *table;
};

/*
 * Look for damage before the data, behind which no event can be told from garbage: a page size
 * that no file has; if there is a table also one that the head does not describe, and data of the
 * CPUs that do not follow each other. @name: what to call the file. Returns 0, or a negative
 * errno, said; in either case the caller closes @head.
 */
int report_head_open(struct report_head *head, const char *path, const char *name);
void report_head_close(struct report_head *head);

/*
 * Say of each CPU where its data are damaged; @name: what to call the file. @copy: the descriptor
 * of a copy of the file, or -1, which is replaced if a copy is needed. Returns whether there is
 * damage, or a negative errno, said. Of a file without a table it is not known.
 */
int report_damage(const struct report_head *head, const char *name, int *copy);

/*
 * libtracecmd and libtraceevent believe a file. Where that would end the process by a signal,
 * print the whole lines of @out, say behind which event that was, and exit by EXIT_DAMAGED.
 */
void report_survive(const struct output *out, const unsigned long long *events);

#endif /* _TRACEMAP_REPORT_DAMAGE_H */

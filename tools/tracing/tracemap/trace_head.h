/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a trace.dat file, version 6, tells in front of the data: how to decode
 * them. The format is described in trace-cmd.dat.v6(5).
 */
#ifndef _TRACEMAP_TRACE_HEAD_H
#define _TRACEMAP_TRACE_HEAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bytes.h"

struct trace_head;

/**
 * trace_head_new - gather what is needed to decode the events of an instance
 * @head: to set
 * @top: the folder of the top level: what instances share is there
 * @dir: the folder of the instance. The formats of those of its events are
 *	taken that are enabled now, and of the tracers' own
 * @nr_cpus: for how many CPUs there is data, none of them left out
 * @page_size: bytes of a page of data
 *
 * Return: 0 or a negative errno.
 */
int trace_head_new(struct trace_head **head, const char *top, const char *dir,
		   unsigned int nr_cpus, unsigned int page_size);
void trace_head_free(struct trace_head *head);

/*
 * Look again at what changes during a recording: events that were enabled since,
 * names of processes, statistics of the CPUs. What is gone by now stays.
 */
int trace_head_refresh(struct trace_head *head);

/*
 * The bytes themselves. After them comes a table: for each CPU two 64-bit words,
 * the offset of its data in the file and their size.
 */
int trace_head_write(const struct trace_head *head, struct bytes *to);

struct trace_head_found {
	uint64_t table;		/* where it is in the file */
	unsigned int nr_cpus;
	unsigned int page_size;
};

/* Look for the table in a file. Returns false if no tracemap of this machine wrote it. */
bool trace_head_find(FILE *file, struct trace_head_found *found);

#endif /* _TRACEMAP_TRACE_HEAD_H */

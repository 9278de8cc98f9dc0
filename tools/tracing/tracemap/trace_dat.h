/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace.dat file, version 6, being recorded. (libtracecmd 3.1 has functions
 * that write such files, but its header declares only those that read them.)
 *
 * The format wants the data of each CPU in one piece, and nobody knows how long
 * that will be. While it is recorded, each CPU has a region of its own in a file
 * with large holes between them. So nothing is written twice, and the file can be
 * read at any time, also if the recorder was killed: the table in front tells
 * what was there when trace_dat_sync() was called last. trace_dat_compact() takes
 * the holes out, and so does trace_dat_rescue() for a recorder that was killed:
 * a program that copies such a file would read terabytes of zeros.
 */
#ifndef _TRACEMAP_TRACE_DAT_H
#define _TRACEMAP_TRACE_DAT_H

#include <stdbool.h>
#include <stdint.h>

#include "dat_page.h"
#include "trace_head.h"

struct trace_dat;

/**
 * trace_dat_create - begin a file
 * @dat: to set
 * @path: its name; what is there is replaced
 * @head: what to tell in front; it must stay as long as the file is written
 * @nr_cpus: for how many CPUs there will be data
 * @page_size: bytes of a page
 *
 * Return: 0; -EINVAL if @path is no regular file, -EOPNOTSUPP if the file system
 * has no holes, or another negative errno. A file that could not be begun is not
 * there, or empty if it was there before.
 */
int trace_dat_create(struct trace_dat **dat, const char *path, const struct trace_head *head,
		     unsigned int nr_cpus, unsigned int page_size);

/**
 * trace_dat_write - write pages
 * @dat: the file
 * @cpu: whose they are
 * @at: where in the data of that CPU; what is behind is no longer there
 * @pages: the pages
 * @nr: how many
 *
 * Return: 0; -ENOSPC and the like, and what was there before @at stays;
 * -EFBIG when the region of the CPU is full.
 */
int trace_dat_write(struct trace_dat *dat, unsigned int cpu, uint64_t at,
		    const struct dat_page *pages, int nr);

/* Have the file tell of what was written so far. */
int trace_dat_sync(struct trace_dat *dat);

uint64_t trace_dat_size(const struct trace_dat *dat);	/* bytes of data so far */

/**
 * trace_dat_finish - have the file tell of all there is
 * @dat: the file, and its head refreshed
 *
 * The table is elsewhere then: what trace_dat_how() tells is new.
 *
 * Return: 0; -E2BIG if the head has become too large for the room it has, and the
 * file is as it was: trace_head_forget_late() makes it smaller; or another
 * negative errno.
 */
int trace_dat_finish(struct trace_dat *dat);

/**
 * trace_dat_compact - take the holes out
 * @dat: the file, finished
 * @compact: to set: whether they are. If not, the file can be read all the same,
 *	but looks larger than it is
 *
 * Return: 0 or a negative errno: some of the file may not be on the disk.
 */
int trace_dat_compact(struct trace_dat *dat, bool *compact);

void trace_dat_close(struct trace_dat *dat);

/**
 * trace_dat_rescue - take the holes out of a file that is not written any more
 * @path: its name
 * @how: what trace_dat_how() has told of it. If it is another file, or was finished,
 *	nothing is done
 *
 * Return: 0 or a negative errno; it can be read in any case.
 */
int trace_dat_rescue(const char *path, const char *how);

/* To be freed; NULL: no memory. */
char *trace_dat_how(const struct trace_dat *dat);

#endif /* _TRACEMAP_TRACE_DAT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace.dat file, version 6, being recorded. (libtracecmd 3.1 has functions
 * that write such files, but its header declares only those that read them.)
 *
 * The format wants the data of each CPU in one piece, and how long that will be is
 * not known before the end. So while it is recorded, the data of CPU N go to a
 * file of their own, FILE.cpuN, and FILE has only what stands in front of them. At the
 * end they are moved into FILE. Where the file system can share blocks between files,
 * moving copies nothing; elsewhere what was copied is freed step by step.
 *
 * FILE can be read at any time. Its table tells what it has of each CPU, and FILE.cpuN
 * has the rest. trace_dat_restore() moves that if the recorder was killed, whenever
 * that was.
 */
#ifndef _TRACEMAP_TRACE_DAT_H
#define _TRACEMAP_TRACE_DAT_H

#include <stdbool.h>
#include <stdint.h>

#include "dat_page.h"
#include "trace_head.h"

struct trace_dat;

/**
 * struct trace_dat_watch - what looks on while data are moved
 * @go_on: called first, and whenever the disk has what was moved, at most 64 MiB since the
 *	last call; false: leave the rest where it is
 * @arg: what @go_on gets
 */
struct trace_dat_watch {
	bool (*go_on)(void *arg, uint64_t moved, uint64_t size);
	void *arg;
};

/**
 * trace_dat_create - begin a file
 * @dat: to set
 * @path: its name; what is there is replaced
 * @head: what to tell in front; it must stay as long as the file is written
 * @nr_cpus: for how many CPUs there will be data
 * @page_size: bytes of a page
 *
 * Return: 0; -EINVAL if @path is no regular file, -EBUSY if it is being recorded,
 * -EEXIST if there is a @path.cpuN, or another negative errno. A file that could not
 * be begun is not there, or empty if it was there before; in these three cases it is
 * as it was.
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
 * Return: 0; -ENOSPC and the like, -EFBIG if the file would be larger than it may be,
 * and what was there before stays.
 */
int trace_dat_write(struct trace_dat *dat, unsigned int cpu, uint64_t at,
		    const struct dat_page *pages, int nr);

uint64_t trace_dat_size(const struct trace_dat *dat);	/* bytes of data so far */

/**
 * trace_dat_replace_head - put another file with the head refreshed in the place of this one
 * @dat: the file, not finished yet
 *
 * Return: 0 or a negative errno: then it has the head that it had.
 */
int trace_dat_replace_head(struct trace_dat *dat);

/**
 * trace_dat_finish - move all data into the file
 * @dat: the file; nothing is written to it any more
 * @watch: what looks on, or NULL
 *
 * Return: 0, -EINTR if @watch did not go on, or another negative errno: if not 0, @path.cpuN
 * have what is not in the file.
 */
int trace_dat_finish(struct trace_dat *dat, const struct trace_dat_watch *watch);
void trace_dat_close(struct trace_dat *dat);

/**
 * trace_dat_restore - finish a file whose recorder was killed
 * @path: its name
 * @wait: wait until it is not recorded any more
 * @watch: what looks on, or NULL
 * @size: to set: bytes of data it has then
 *
 * Return: 0; -EBUSY if it is being recorded, -EINVAL if no tracemap began it, or the
 * @path.cpuN do not belong to it, or as trace_dat_finish().
 */
int trace_dat_restore(const char *path, bool wait, const struct trace_dat_watch *watch,
		      uint64_t *size);

#endif /* _TRACEMAP_TRACE_DAT_H */

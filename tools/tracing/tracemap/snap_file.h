/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A snapshot as a trace.dat file, which is gathered in memory and written when it is
 * whole.
 */
#ifndef _TRACEMAP_SNAP_FILE_H
#define _TRACEMAP_SNAP_FILE_H

#include "bytes.h"
#include "snapshot.h"
#include "trace_head.h"

/**
 * struct snap_data - the pages of a file
 * @format: the layout of a page
 * @nr_cpus: for how many CPUs the file has data, whose numbers are below this
 * @pages: of each of these CPUs
 * @seen: which events these have
 * @head: how to decode them; the caller's, from one snapshot to the next; NULL: there is none yet
 * @front: everything that comes before them
 * @signals: how many signals do not end the writing
 */
struct snap_data {
	struct subbuf_format format;
	unsigned int nr_cpus;
	struct bytes *pages;
	struct trace_seen seen;
	struct trace_head *head;
	struct bytes front;
	int signals;
};

/*
 * Check that there can be a file of this name. Returns 0, or a negative errno that was
 * reported.
 */
int snap_data_check(const char *path);

/* Take all of the snapshot, and what decoding needs. A negative errno was reported. */
int snap_data_take(struct snap_data *d, struct snapshot *s, const char *dir);
void snap_data_free(struct snap_data *d);

/*
 * Write the file, to standard output if @path is "-". A regular file of that name then has
 * all of it or is as it was before, whatever ends the program. Returns 0, or a negative errno,
 * which was reported except for -EPIPE: the reader of a pipe has ended.
 */
int snap_data_write(const struct snap_data *d, const char *path);

/* Write a file that must not exist yet. Returns 0, or a negative errno that was not reported. */
int snap_data_write_new(const struct snap_data *d, const char *path);

/* Report that it failed. Returns @error. */
int snap_data_not_written(const char *path, int error);

#endif /* _TRACEMAP_SNAP_FILE_H */

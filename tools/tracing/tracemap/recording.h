/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A recording: the buffers of an instance on their way into a trace.dat file, by
 * libtracemap-dat.
 */
#ifndef _TRACEMAP_RECORDING_H
#define _TRACEMAP_RECORDING_H

#include <stdbool.h>

#include "dat.h"

/* A CPU's buffer. */
struct track {
	struct recording *recording;
	struct tracemap_cpu *cpu;
	unsigned int index;		/* of it */
	int stats;			/* its per_cpu/cpuN/stats */
};

struct recording {
	struct tracemap *t;
	struct tracemap_dat *dat;
	struct track **tracks;
	unsigned int nr_tracks;
};

/**
 * recording_open - record the buffers that are open into a file
 * @r: to fill
 * @t: the buffers
 * @dir: the folder of the instance. What is to be traced is enabled already
 * @path: of the file; NULL: it has no name, and is for trace_dat_send()
 *
 * Return: 0 or a negative errno, said.
 */
int recording_open(struct recording *r, struct tracemap *t, const char *dir, const char *path);
void recording_close(struct recording *r);

/* Go on in another file, see dat_next_file(). Returns 0 or a negative errno, said. */
int recording_next(struct recording *r, const char *path, struct trace_dat **old);

/*
 * Whether a whole file could be written by this name, or replaced. Leaves it as it is. Returns 0,
 * or a negative errno that was reported.
 */
int recording_check(const char *path);

/*
 * Say why there can be no recording of this name, and what to do. @in_the_way: for -EEXIST, the
 * file that is there, or NULL. Returns @error.
 */
int recording_refused(int error, const char *path, const char *in_the_way);

/* There may be CPUs that were not there before. */
int recording_add_cpus(struct recording *r, const char *dir);

/**
 * recording_pull - write what a CPU has, but no more than what is one CPU's turn
 * @track: of that CPU
 * @whole: without the sub-buffer that is written to
 *
 * Return: how many sub-buffers there were, or a negative errno: -ENODATA at the end of
 * tracemap_until_now(). If it is that of the file, recording_error() has it, too.
 */
int recording_pull(struct track *track, bool whole);

/* Why the file takes no more, for good; 0: it does. */
static inline int recording_error(const struct recording *r)
{
	return r->dat->error;
}

#endif /* _TRACEMAP_RECORDING_H */

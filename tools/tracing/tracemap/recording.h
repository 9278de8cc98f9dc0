/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A recording: the buffers of an instance on their way into a trace.dat file.
 *
 * Sub-buffers go from where they are to the file, whole; no event is looked at,
 * but where some were lost. A sub-buffer that the writer is still on is written
 * as far as it was consumed, and again at the same place when it has more; where
 * it comes in small copies, as from read(2) and to an observer, these are put together
 * in a page.
 */
#ifndef _TRACEMAP_RECORDING_H
#define _TRACEMAP_RECORDING_H

#include <stdbool.h>

#include "losses.h"
#include "shown.h"
#include "trace_dat.h"
#include "tracemap.h"

/*
 * Pages in the file that do not have the number of the events lost before them. When no
 * further loss comes, the kernel's counter says which it is.
 */
struct owed {
	unsigned int losses;		/* so many. The number of one is put into the file, */
	uint64_t at;			/* and its page is there */
	uint64_t overwritten;		/* the kernel's counter at the last look, */
	uint32_t quiet;			/* and bytes that came since without a loss */
	bool looked;
};

/* What a CPU's buffer has given so far. */
struct track {
	struct tracemap_cpu *cpu;
	unsigned int index;		/* of it */
	struct recording *recording;
	struct tracemap_batch *batch;	/* being written */
	struct owed owed;
	struct dat_piece piece;		/* what is at the end of the file */
	uint64_t at;			/* where that is */
	int nr_pages;			/* in so many pages; 0: it is not there yet */
	bool has_piece;
	uint64_t stamp;			/* of the sub-buffer it is of */
	unsigned char *copy;		/* a page of small parts, see gather() */
	uint64_t copy_ts;		/* time stamp of its last record */
	struct shown shown;		/* copies of what was written, to be printed */
	int stats;			/* its per_cpu/cpuN/stats */
	uint64_t lost;			/* events that were counted as lost so far */
	uint64_t unwritten;		/* events that were taken and not written */
	uint64_t told;			/* how many of both "record --live" has printed as lost */
	uint64_t events;		/* taken while we were there, or observed */
	uint64_t consumed;		/* as the kernel said last */
	uint32_t epoch;
};

struct recording {
	struct tracemap *t;
	struct trace_head *head;
	struct trace_dat *dat;
	unsigned int nr_cpus;		/* in the file */
	unsigned int page_size;
	struct subbuf_format format;
	void *zeros;
	bool observes;			/* nothing is taken out of the buffers */
	bool shows;			/* what is written is to be printed, too */
	struct shown_room room;
	struct track **tracks;
	unsigned int nr_tracks;
	struct losses losses;
	bool damaged;			/* and what was behind the damage of a sub-buffer */
	int write_error;		/* the file takes no more, for good */
};

/**
 * recording_open - record the buffers that are open into a file
 * @r: to fill
 * @t: the buffers
 * @top: folder of the top level of tracefs
 * @dir: that of the instance. What is to be traced is enabled already
 * @path: of the file; NULL: it has no name, and is for trace_dat_send()
 *
 * Return: 0 or a negative errno, said.
 */
int recording_open(struct recording *r, struct tracemap *t, const char *top,
		   const char *dir, const char *path);
void recording_close(struct recording *r);

/* There may be CPUs that were not there before. */
int recording_add_cpus(struct recording *r, const char *dir);

/*
 * Bytes of events that a CPU's buffer holds, as the kernel says in a file. Who
 * reads by read(2) gets a page of its own for what is there of a sub-buffer, be it
 * ever so little, and better asks first.
 */
uint64_t recording_fill(const struct track *track);

/* Sub-buffers that are one CPU's turn. */
#define RECORDING_TURN_MAX	64

/**
 * enum recording_share - how much to take of a CPU's buffer
 * @RECORDING_TURN: what there is, but no more than what is one CPU's turn
 * @RECORDING_WHOLE: the same, without the sub-buffer that is written to
 * @RECORDING_PRESENT: what is there now, not what comes meanwhile. An observer calls
 *	tracemap_until_now() before that, and until this returns 0
 */
enum recording_share {
	RECORDING_TURN,
	RECORDING_WHOLE,
	RECORDING_PRESENT,
};

/**
 * recording_pull - write what a CPU has
 * @track: of that CPU
 * @share: how much of it
 *
 * Return: how many sub-buffers there were, or a negative errno. If it is that of
 * the file, write_error has it, too.
 */
int recording_pull(struct track *track, enum recording_share share);

struct recording_sums {
	uint64_t events;	/* in the file */
	uint64_t lost;		/* overwritten, dropped, or not written */
	uint64_t unwritten;	/* of these, read out of the buffers when the file took no more */
	bool at_least;		/* more were lost: it is not known, or not yet, how many */
	uint64_t bytes;		/* in the file */
};

/* Read the rest of the buffers, and write none of it: its events count as lost. */
void recording_give_up(struct recording *r);
void recording_sum_up(struct recording *r, struct recording_sums *sums);

/*
 * All was taken: count what was lost and no sub-buffer has told of, and put it into the file,
 * unless that is finished.
 */
void recording_count_losses(struct recording *r);

#endif /* _TRACEMAP_RECORDING_H */

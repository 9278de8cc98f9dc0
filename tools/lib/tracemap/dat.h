/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * A recording: the buffers of an instance on their way into a trace.dat file.
 *
 * A sub-buffer that the writer is still in is written to the file as far as it was consumed,
 * and again at the same place when there is more. Where it comes in small copies, as by read(2)
 * and to an observer, these are put together in a page.
 *
 * tracemap-dat.h has the public part. By this header the command can say more about what has
 * failed.
 */
#ifndef _TRACEMAP_DAT_INTERNAL_H
#define _TRACEMAP_DAT_INTERNAL_H

#include "losses.h"
#include "trace_dat.h"
#include "tracemap-dat.h"

/*
 * Pages in the file that do not have the number of the events lost before them. When no
 * further loss comes, the kernel's counter says which it is.
 */
struct dat_owed {
	unsigned int losses;		/* so many. The number of one is put into the file, */
	uint64_t at;			/* and its page is there */
	uint64_t overwritten;		/* the kernel's counter at the last look, */
	uint32_t quiet;			/* and bytes that came since without a loss */
	bool looked;
};

/* What a CPU's buffer has given so far. */
struct dat_track {
	struct tracemap_cpu *cpu;
	unsigned int index;		/* of it */
	struct tracemap_dat *dat;
	struct tracemap_batch *batch;	/* being written */
	struct dat_owed owed;
	struct dat_piece piece;		/* what is at the end of the file */
	uint64_t at;			/* where that is */
	int nr_pages;			/* in so many pages; 0: it is not there yet */
	bool has_piece;
	uint64_t stamp;			/* of the sub-buffer it is of */
	unsigned char *copy;		/* a page of small parts, see gather() */
	uint64_t copy_ts;		/* time stamp of its last record */
	uint64_t lost;			/* events that were counted as lost so far */
	uint64_t unwritten;		/* events that were taken and not written */
	uint64_t events;		/* taken while we were there, or observed */
	uint64_t consumed;		/* as the kernel said last */
	uint32_t epoch;
	bool blind;			/* the time of the last record is not known any more */
};

struct tracemap_dat {
	struct tracemap *t;
	struct trace_head *head;
	struct trace_dat *file;
	int fd;				/* where it goes to; -1: it has a name */
	bool compress;
	unsigned int nr_cpus;		/* in the file */
	unsigned int page_size;
	struct subbuf_format format;
	void *zeros;
	bool observes;			/* nothing is taken out of the buffers */
	struct dat_track **tracks;	/* in the order of the CPUs of @t */
	unsigned int nr_tracks;
	struct losses losses;
	bool damaged;			/* and what was behind the damage of a sub-buffer */
	int error;			/* the file takes no more, for good */
	bool finished;			/* or was to be, by tracemap_dat_finish() */
};

/* Sub-buffers that are one CPU's turn. */
#define DAT_TURN_MAX	64

/*
 * tracemap_dat_open() and tracemap_dat_open_fd() step by step, each of which returns 0 or a
 * negative errno. @dat is to be closed in any case, and @in_the_way to be freed, see
 * trace_dat_create().
 */
int dat_new(struct tracemap_dat **dat, struct tracemap *t, const char *dir);
int dat_take_head(struct tracemap_dat *dat, const char *dir);
int dat_create(struct tracemap_dat *dat, const char *path, char **in_the_way);
int dat_create_unnamed(struct tracemap_dat *dat, int fd);

/* What tracemap_rescan() has opened takes part. Returns 0 or a negative errno. */
int dat_add_cpus(struct tracemap_dat *dat);

/* Read the rest of the buffers, and write none of it: its events count as lost. */
void dat_give_up(struct tracemap_dat *dat);

/*
 * All was taken: count what was lost and no sub-buffer has told of, and put it into the file,
 * unless that is finished.
 */
void dat_count_losses(struct tracemap_dat *dat);

/* dat_track.c: Write the batch of a track. Returns 0 or a negative errno. */
int dat_track_write(struct dat_track *track);

/* Its events were taken, or observed, and there is nowhere to put them. */
void dat_track_unwritten(struct dat_track *track);

/* Count the loss that it tells. */
void dat_track_missed(struct dat_track *track);

/*
 * Done with it: its events went with it. If the next one is to be looked at, this one has to be
 * as well: what comes to the same sub-buffer has its time after the last of this one.
 */
void dat_track_pass(struct dat_track *track, bool looked_at);

/* All was taken: what it has lost that only the counter tells. See dat_count_losses(). */
void dat_track_settle(struct dat_track *track);

#endif /* _TRACEMAP_DAT_INTERNAL_H */

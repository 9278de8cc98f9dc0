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
 * Pages in the file without the number of the events that were lost before them. When no
 * further loss comes, that number follows from the kernel's counter.
 */
struct dat_owed {
	unsigned int losses;		/* how many; if only one, it gets its number */
	uint64_t at;			/* where the latest of these pages is in the file */
	uint64_t overwritten;		/* the kernel's counter at the last look */
	uint32_t quiet;			/* bytes that came since that look, without a loss */
	bool looked;
};

/*
 * The events of a CPU that were taken, or observed, and are not written. The file gets only the
 * last of them, and says before it how many are missing.
 */
struct dat_tail {
	bool begun;
	uint64_t events;		/* how many */
	uint64_t lost;			/* events lost since the last one in the file, */
	bool unknown;			/* or more */
	struct dat_piece last;		/* the last event; subbuf: a copy, NULL: there is none */
};

/* What was recorded of a CPU's buffer so far */
struct dat_track {
	struct tracemap_cpu *cpu;
	unsigned int index;		/* of the CPU in the instance */
	struct tracemap_dat *dat;
	struct tracemap_batch *batch;	/* being written */
	struct dat_owed owed;
	struct dat_piece piece;		/* the piece at the end of the CPU's data */
	uint64_t at;			/* where that piece is in the data */
	int nr_pages;			/* pages of the piece; 0: it is not written yet */
	bool has_piece;
	uint64_t stamp;			/* time stamp of the sub-buffer of the piece */
	uint64_t fetched;		/* time stamp of the sub-buffer of the batch */
	bool mapped;			/* that sub-buffer is where the writer may come back to, */
	bool doubtful;			/* and may be another one than was fetched already; */
	bool stale;			/* so may that of the piece */
	uint64_t piece_events;		/* events of the piece that are in the file */
	struct subbuf_iter passed;	/* the batch's iterator, at its end */
	uint64_t fresh;			/* events of the batch */
	unsigned char *copy;		/* a page of small parts, see gather() */
	uint64_t copy_ts;		/* time stamp of its last record */
	uint64_t lost;			/* events that were counted as lost so far */
	uint64_t unwritten;		/* events that were taken and not written */
	struct dat_tail tail;
	uint64_t events;		/* events taken since the recording began, or observed */
	uint64_t consumed;		/* the kernel's counter at the last look */
	uint32_t epoch;
	unsigned int emptied;		/* how often the buffer was, as far as that was noticed */
};

struct tracemap_dat {
	struct tracemap *t;
	struct trace_head *head;
	struct trace_dat *file;
	bool compress;
	uint64_t before;		/* bytes of data in the files before this one */
	unsigned int nr_cpus;		/* in the file */
	unsigned int page_size;
	struct subbuf_format format;
	void *zeros;
	bool observes;			/* the buffers are observed: nothing is consumed */
	bool starts;			/* the caller starts tracing, which may empty the buffers */
	struct dat_track **tracks;	/* in the order of the CPUs of @t */
	unsigned int nr_tracks;
	struct losses losses;
	struct trace_seen seen;
	bool damaged;			/* events after damage in a sub-buffer were lost, too */
	int error;			/* why the file takes no more data */
	bool finished;			/* tracemap_dat_finish() was called */
};

/* How many sub-buffers of a CPU are written before the next CPU has its turn */
#define DAT_TURN_MAX	64

/*
 * The steps of tracemap_dat_open(), each of which returns 0 or a negative errno. The caller
 * closes @dat in any case, and frees @in_the_way, see trace_dat_create(). Without a name the
 * data are for trace_dat_send().
 */
int dat_new(struct tracemap_dat **dat, struct tracemap *t, const char *dir);
int dat_take_head(struct tracemap_dat *dat, const char *dir);
int dat_create(struct tracemap_dat *dat, const char *path, char **in_the_way);
int dat_create_unnamed(struct tracemap_dat *dat);

/**
 * dat_next_file - go on in another file
 * @dat: the recording, of which what was taken is written
 * @path: the name of the other file
 * @in_the_way: see trace_dat_create()
 * @old: set to the file so far, which the caller finishes and closes. A loss that no page in it
 *	has told is told by the next page. A page in it that lacks the number of lost events goes
 *	without: only the sums have that number
 *
 * Return: 0; or a negative errno, and the file stays
 */
int dat_next_file(struct tracemap_dat *dat, const char *path, char **in_the_way,
		  struct trace_dat **old);

/* Bytes of data in all files */
uint64_t dat_size(const struct tracemap_dat *dat);

/*
 * After everything was taken, read what the head lacks: what became known meanwhile, and what
 * the events need that came. Returns 0 or a negative errno.
 */
int dat_complete_head(struct tracemap_dat *dat);

/*
 * Fetch the next batch of the CPU with index @i, write it and take it. Returns 1 if there was
 * something, else 0 or a negative errno, see tracemap_dat_take(); -EBADMSG: call again.
 */
int dat_pull(struct tracemap_dat *dat, unsigned int i);

/* Add the CPUs that tracemap_rescan() has opened. Returns 0 or a negative errno. */
int dat_add_cpus(struct tracemap_dat *dat);

/*
 * Read the rest of the buffers, to which nothing comes any more, but do not write it: its
 * events count as lost.
 */
void dat_give_up(struct tracemap_dat *dat);

/*
 * After the last write, let the file say for each CPU how many events are missing, before the
 * last event that was taken. If the disk has no room even for that, the file does not say it.
 */
void dat_write_tails(struct tracemap_dat *dat);

/*
 * After everything was taken, count the lost events that no sub-buffer has reported, and put
 * their numbers into the file, unless it is finished.
 */
void dat_count_losses(struct tracemap_dat *dat);

/* How often a buffer was emptied, at least, up to the last tracemap_dat_figures(). */
unsigned int dat_emptied(const struct tracemap_dat *dat);

/* dat_track.c: Write the batch of a track. Returns 0 or a negative errno. */
int dat_track_write(struct dat_track *track);

/* Count the events of the batch, which were taken or observed but are not written, as lost. */
void dat_track_give_up(struct dat_track *track);

/* After everything was given up, count its lost events that no sub-buffer has reported. */
void dat_track_gave_up(struct dat_track *track);

/* See dat_write_tails(). */
void dat_track_write_tail(struct dat_track *track);

/* Pass the batch, which was written. */
void dat_track_pass(struct dat_track *track);

/* What comes goes to another file, see dat_next_file(). */
void dat_track_next_file(struct dat_track *track);

/* The same for one CPU, see dat_count_losses(). */
void dat_track_settle(struct dat_track *track);

#endif /* _TRACEMAP_DAT_INTERNAL_H */

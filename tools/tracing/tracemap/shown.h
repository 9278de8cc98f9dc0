/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What "record --live" is going to show: copies of the batches that are in the
 * file already. Recording does not wait for showing: where there is no memory for
 * more copies, the batches that come are not shown, and their events are counted.
 */
#ifndef _TRACEMAP_SHOWN_H
#define _TRACEMAP_SHOWN_H

#include <stddef.h>
#include <stdint.h>

#include "tracemap.h"

/* Memory for the copies of all CPUs. */
#define SHOWN_BYTES	(64 << 20)

/**
 * struct shown_room - what the copies of all CPUs take
 * @used: bytes
 * @skipped: events that are not shown, all told
 * @untold: of these, those that no line has told of yet
 */
struct shown_room {
	size_t used;
	uint64_t skipped;
	uint64_t untold;
};

/**
 * struct shown - the copies of a CPU
 * @room: shared by all CPUs
 * @first: the batch whose records are handed out
 * @last: the newest
 * @cursor: behind the record that is out
 * @missed: lost events that the next record is to tell of, and
 * @flags: what else
 * @skipped: events that are not shown, right before the record that is out
 * @gap: the same, behind @last
 * @lost: events lost there, as in struct tracemap_batch
 * @reset: TRACEMAP_RESET if the buffer was emptied there
 */
struct shown {
	struct shown_room *room;
	struct shown_batch *first, *last;
	struct subbuf_iter cursor;
	uint64_t missed;
	uint32_t flags;
	uint64_t skipped;
	uint64_t gap;
	uint64_t lost;
	uint32_t reset;
};

/* Copy a batch, if there is memory. Its iterator is at its end then in any case. */
void shown_add(struct shown *shown, struct tracemap_batch *batch);

/* For a struct tracemap_source. @arg is a struct shown. */
int shown_next(void *arg, struct tracemap_record *rec);
void shown_release(void *arg);

/* The number of events that are not shown before the record that is out, once. */
uint64_t shown_skipped(struct shown *shown);

void shown_free(struct shown *shown);

#endif /* _TRACEMAP_SHOWN_H */

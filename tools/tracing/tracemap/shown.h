/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What "record --live" is going to print: copies of batches that are in the file already.
 * Recording does not wait for printing: if there is no memory for another copy, the batch is
 * not shown, and its events are counted.
 */
#ifndef _TRACEMAP_SHOWN_H
#define _TRACEMAP_SHOWN_H

#include <stddef.h>
#include <stdint.h>

#include "tracemap.h"

/* How much memory the copies of all CPUs may take */
#define SHOWN_BYTES	(64 << 20)

/**
 * struct shown_room - what the copies of all CPUs take
 * @used: bytes in use
 * @skipped: how many events are not shown
 * @untold: how many of these no line has counted yet
 */
struct shown_room {
	size_t used;
	uint64_t skipped;
	uint64_t untold;
};

/**
 * struct shown - the copies of a CPU
 * @room: the memory, which all CPUs share
 * @first: the batch whose records are handed out
 * @last: the newest batch
 * @cursor: an iterator that is after the record that was handed out
 * @missed: how many lost events the next record has to report
 * @flags: the flags that the next record has to have
 * @skipped: how many events right before the record that was handed out are not shown
 * @gap: how many events after @last are not shown
 * @lost: how many events were lost after @last, as in struct tracemap_batch
 * @reset: TRACEMAP_RESET if the buffer was emptied after @last
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

/* Copy a batch, if there is memory. The iterator of the batch is at its end afterwards. */
void shown_add(struct shown *shown, struct tracemap_batch *batch);

/* The functions of a struct tracemap_source, where @arg is a struct shown. */
int shown_next(void *arg, struct tracemap_record *rec);
void shown_release(void *arg);

/*
 * How many events right before the record that was handed out are not shown. The next call
 * returns 0.
 */
uint64_t shown_skipped(struct shown *shown);

/*
 * End: the records that are left count as not shown. Returns how many lost events no record
 * has reported, as in struct tracemap_batch. shown_skipped() then returns how many events
 * after the last record handed out are not shown.
 */
uint64_t shown_end(struct shown *shown);

void shown_free(struct shown *shown);

#endif /* _TRACEMAP_SHOWN_H */

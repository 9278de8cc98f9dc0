// SPDX-License-Identifier: LGPL-2.1
/*
 * Write what a CPU's buffer returns to a trace.dat file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dat.h"

/* ---- Pieces ---- */

static const unsigned char *subbuf_of(const struct dat_track *track)
{
	/* A batch may have no bytes, a copy no header: compute no pointer outside of them. */
	return (const unsigned char *)((uintptr_t)track->batch->it.data -
				       track->piece.format->data_offset);
}

static uint64_t subbuf_stamp(const struct dat_track *track)
{
	return subbuf_time_stamp(track->piece.format, subbuf_of(track));
}

/*
 * Look at the sub-buffer before anything of the batch is used, so that was_overwritten() finds
 * out what becomes of it. An observer has copies of records, without a header.
 */
static void look_at_subbuf(struct dat_track *track)
{
	const struct subbuf_iter *it = &track->batch->it;
	const struct dat_piece *piece = &track->piece;
	struct tracemap_raw raw;
	uintptr_t at;

	track->mapped = false;
	track->fetched = 0;
	if (track->dat->observes)
		return;
	track->fetched = subbuf_stamp(track);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	tracemap_cpu_raw(track->cpu, &raw);
	at = (uintptr_t)subbuf_of(track) - (uintptr_t)raw.subbufs;
	track->mapped = at < raw.subbufs_size;
	/* Another consumer may have moved on from it before. */
	track->doubtful = at != (uintptr_t)raw.reader * raw.format.subbuf_size ||
			  subbuf_committed(piece->format, subbuf_of(track)) < it->end - it->data;
}

/* Does the batch continue the sub-buffer that was written last? */
static bool goes_on(const struct dat_track *track, uint32_t start)
{
	const struct dat_piece *piece = &track->piece;

	return !track->dat->observes && track->has_piece && start && start == piece->end &&
	       subbuf_of(track) == piece->subbuf && track->fetched == track->stamp &&
	       !track->batch->missed && !(track->batch->flags & TRACEMAP_RESET);
}

static uint32_t capacity(const struct dat_track *track)
{
	return track->piece.format->subbuf_size - track->piece.format->data_offset;
}

/* The loss of a piece of which no page is in the file: the next piece reports it. */
static uint64_t untold(const struct dat_track *track)
{
	return track->has_piece && !track->nr_pages ? track->piece.missed : 0;
}

static void begin_piece(struct dat_track *track, uint32_t start)
{
	struct dat_piece *piece = &track->piece;
	uint64_t missed = track->batch->missed;
	bool several = missed && untold(track);

	if (!track->tail.begun) {
		missed = losses_add(missed, untold(track));
		track->owed.losses += several && missed == TRACEMAP_MISSED_UNKNOWN;
	}
	track->at += (uint64_t)track->nr_pages * track->dat->page_size;
	track->nr_pages = 0;
	track->has_piece = true;
	track->piece_events = 0;
	track->stamp = track->fetched;
	track->stale = track->doubtful || (!start && track->batch->it.ts != track->stamp);
	piece->subbuf = subbuf_of(track);
	piece->start = start;
	piece->ts = track->batch->it.ts;
	piece->missed = missed;
}

/* ---- Small parts ---- */

/* Add the records of the batch to the copy, and pass them. */
static void append(struct dat_track *track)
{
	struct dat_piece *piece = &track->piece;
	unsigned char *to = track->copy + piece->format->data_offset + piece->end;
	const struct subbuf_iter *it = &track->batch->it;

	if (it->end > it->next)
		memcpy(to, it->next, it->end - it->next);
	piece->end += it->end - it->next;
	track->copy_ts = track->passed.ts;
}

/* Add a record that moves the clock from the last record of the copy to the batch. */
static void append_time(struct dat_track *track)
{
	struct dat_piece *piece = &track->piece;
	uint64_t delta = track->batch->it.ts - track->copy_ts;
	uint32_t low = delta & ((1U << SUBBUF_TIME_SHIFT) - 1);
	uint32_t words[2] = { low << 5 | SUBBUF_TYPE_TIME_EXTEND, delta >> SUBBUF_TIME_SHIFT };

	if (piece->format->big_endian)
		words[0] = (uint32_t)SUBBUF_TYPE_TIME_EXTEND << SUBBUF_TIME_SHIFT | low;
	memcpy(track->copy + piece->format->data_offset + piece->end, words, sizeof(words));
	piece->end += sizeof(words);
}

/*
 * read(2) returns what a sub-buffer has by now, and the next time what was added to it, each
 * as a page of its own. As long as these are small, one page of the file takes several.
 */
static bool gather(struct dat_track *track)
{
	const struct subbuf_iter *it = &track->batch->it;
	struct dat_piece *piece = &track->piece;
	uint32_t size = it->end - it->next;

	if (!track->copy || size > capacity(track) / 2 || track->passed.corrupt)
		return false;
	if (track->has_piece && piece->subbuf == track->copy && !track->batch->missed &&
	    it->ts >= track->copy_ts && size + 8 <= capacity(track) - piece->end) {
		append_time(track);
	} else {
		begin_piece(track, 0);
		piece->subbuf = track->copy;
		piece->end = 0;
	}
	append(track);
	return true;
}

/* ---- Numbers of lost events that come late ---- */

/* A page without the number of lost events was written: note that. */
static void owe(struct dat_track *track)
{
	track->owed.losses++;
	track->owed.at = track->at;
	track->owed.looked = false;
}

/* Recording does not write that page again, see settle_when_quiet(). */
static int put_missed(struct dat_track *track, uint64_t missed)
{
	struct tracemap_dat *dat = track->dat;
	int number = tracemap_cpu_number(track->cpu), ret;
	void *page = malloc(dat->page_size);

	if (!page)
		return -ENOMEM;
	ret = trace_dat_read(dat->file, number, track->owed.at, page, dat->page_size);
	if (!ret && dat_page_put_missed(&dat->format, page, missed))
		ret = trace_dat_write_at(trace_dat_cpu_fd(dat->file, number), page, dat->page_size,
					 track->owed.at);
	free(page);
	return ret;
}

/*
 * Sub-buffers have reported all losses up to the moment when the kernel's counter was
 * @overwritten. If there are several without a number, only their sum is known.
 */
static void settle(struct dat_track *track, uint64_t overwritten)
{
	struct losses *l = &track->dat->losses;
	uint64_t missed = losses_untold_of(l, track->index, overwritten);

	track->lost += missed;
	if (track->owed.losses == 1 && !track->tail.unknown &&
	    untold(track) != TRACEMAP_MISSED_UNKNOWN &&
	    !losses_of_cpu_at_least(l, track->index))
		put_missed(track, missed);
	track->owed.losses = 0;
}

static void look_at_counter(struct dat_track *track)
{
	struct dat_owed *owed = &track->owed;
	struct tracemap_figures figures;

	owed->quiet = 0;
	owed->looked = !tracemap_cpu_figures(track->cpu, &figures);
	owed->overwritten = figures.overwritten;
}

/*
 * If more than a sub-buffer has come without a loss since the look at the counter, the kernel
 * has handed out another sub-buffer since, which would have reported what was lost before the
 * look. So the counter has the number that the page lacks, and that page is not written
 * again, as the new sub-buffer is in a later one. Nothing is settled while a loss is in no
 * page yet: if the disk becomes full then, the last page reports that loss, by a number that
 * would lack what was settled.
 */
static void settle_when_quiet(struct dat_track *track, uint32_t bytes)
{
	struct dat_owed *owed = &track->owed;

	if (!owed->losses || untold(track) == TRACEMAP_MISSED_UNKNOWN)
		return;
	owed->quiet += bytes;
	if (!owed->looked)
		look_at_counter(track);
	else if (owed->quiet > capacity(track))
		settle(track, owed->overwritten);
}

void dat_track_settle(struct dat_track *track)
{
	if (!track->owed.losses) {
		track->lost += losses_untold(&track->dat->losses, track->index);
		return;
	}
	look_at_counter(track);
	if (track->owed.looked)
		settle(track, track->owed.overwritten);
}

void dat_track_next_file(struct dat_track *track)
{
	track->piece.missed = untold(track);
	track->piece.subbuf = NULL;
	track->nr_pages = 0;
	track->piece_events = 0;
	track->at = 0;
	/* The page that a number would be for is in the other file. */
	track->owed.losses += track->owed.losses > 0;
}

/* ---- Batches ---- */

/*
 * Count the loss that the batch tells, and that the buffer was emptied: where the caller starts
 * tracing, not before anything was taken, as some tracers do that when they start.
 */
static void count_missed(struct dat_track *track)
{
	const struct tracemap_batch *batch = track->batch;

	track->emptied += batch->flags & TRACEMAP_RESET &&
			  (!track->dat->starts || track->events);
	losses_told(&track->dat->losses, batch->cpu, batch->missed);
	track->owed.looked &= !batch->missed;
	if (batch->missed != TRACEMAP_MISSED_UNKNOWN)
		track->lost += batch->missed;
}

/*
 * Go through a copy of the batch, count its events, and note which there are. The kernel's count
 * of what was taken would save counting, but it includes what other consumers take, and restarts
 * when the buffer is emptied.
 */
static void count_events(struct dat_track *track)
{
	struct subbuf_iter it = track->batch->it;
	struct subbuf_record record;
	uint64_t n = 0;

	while (subbuf_next(&it, &record)) {
		/* Waiting for memory that another CPU wrote would take longer than all else. */
		__builtin_prefetch(it.next + 1024);
		trace_seen_add(&track->dat->seen, record.data, record.size);
		n++;
	}
	track->passed = it;
	track->fresh = n;
}

/* An observer has not seen events that the batch does not count. */
void dat_track_pass(struct dat_track *track)
{
	track->batch->it = track->passed;
	track->batch->it.next = track->passed.end;
	track->batch->events += track->fresh;
}

/* Add the batch to the piece, or begin another one with it. */
static void add_batch(struct dat_track *track)
{
	const struct subbuf_iter *it = &track->batch->it;
	uint32_t start = subbuf_pos(it);

	count_missed(track);
	look_at_subbuf(track);
	count_events(track);
	if (gather(track))
		return;
	if (!goes_on(track, start))
		begin_piece(track, start);
	/* What cannot be a record is left out. */
	track->piece.end = track->passed.end - it->data;
}

/* ---- What is not written ---- */

static void lose(struct dat_tail *tail, uint64_t missed)
{
	if (missed == TRACEMAP_MISSED_UNKNOWN)
		tail->unknown = true;
	else
		tail->lost += missed;
}

static void begin_tail(struct dat_track *track)
{
	if (!track->tail.begun)
		lose(&track->tail, untold(track));
	track->tail.begun = true;
}

/* Copy the last event, as @last is where it will be overwritten. */
static void keep(struct dat_track *track, const struct dat_piece *last)
{
	uint32_t front = last->format->data_offset, size = last->end - last->start;
	unsigned char *copy = (void *)track->tail.last.subbuf;

	if (!copy)
		copy = malloc(track->dat->page_size);
	if (!copy)
		return;
	memcpy(copy + front, (const char *)last->subbuf + front + last->start, size);
	track->tail.last = *last;
	track->tail.last.subbuf = copy;
	track->tail.last.start = 0;
	track->tail.last.end = size;
}

/* Add the events of the batch, which is at the end of the piece. */
static void add_to_tail(struct dat_track *track)
{
	struct dat_piece last = track->piece;
	bool any = dat_piece_last(&last);

	if (any && track->fresh)
		keep(track, &last);
	track->tail.events += track->fresh;
	track->unwritten += track->fresh;
	track->events += track->fresh;
	dat_track_pass(track);
}

void dat_track_give_up(struct dat_track *track)
{
	begin_tail(track);
	lose(&track->tail, track->batch->missed);
	add_batch(track);
	add_to_tail(track);
}

void dat_track_gave_up(struct dat_track *track)
{
	struct losses *l = &track->dat->losses;
	uint64_t missed;

	/* The counter also has the events of an earlier loss that is not settled. */
	if (!track->tail.unknown || track->owed.losses)
		return;
	missed = losses_untold(l, track->index);
	track->lost += missed;
	track->tail.lost += missed;
	track->tail.unknown = losses_of_cpu_at_least(l, track->index);
}

void dat_track_write_tail(struct dat_track *track)
{
	struct tracemap_dat *dat = track->dat;
	struct dat_tail *tail = &track->tail;
	struct dat_page pages[DAT_PAGES_MAX];

	if (!tail->events || !tail->last.subbuf)
		return;
	tail->last.missed = tail->unknown ? TRACEMAP_MISSED_UNKNOWN :
					    tail->lost + tail->events - 1;
	if (dat_pages(&tail->last, dat->zeros, pages) != 1 ||
	    trace_dat_write_last(dat->file, tracemap_cpu_number(track->cpu), pages))
		return;
	track->unwritten--;
	tail->events = 0;
}

/* ---- Sub-buffers into pages ---- */

/*
 * When another consumer moves on from the mapped sub-buffer that was fetched, the writer may
 * be in it again, which restarts its header before anything else. So does emptying the buffer.
 */
static bool was_overwritten(const struct dat_track *track)
{
	const struct subbuf_format *f = track->piece.format;

	if (!track->mapped)
		return false;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return track->stale || subbuf_committed(f, subbuf_of(track)) < track->piece.end ||
	       subbuf_stamp(track) != track->stamp;
}

/* Take the piece out of the file. What is behind it reports that events are missing. */
static int take_back(struct dat_track *track)
{
	struct tracemap_dat *dat = track->dat;

	track->events -= track->piece_events;
	track->fresh = 0;
	track->passed.corrupt = false;
	track->nr_pages = 0;
	track->piece.subbuf = NULL;
	track->piece.missed = TRACEMAP_MISSED_UNKNOWN;
	track->batch->missed = TRACEMAP_MISSED_UNKNOWN;
	track->batch->it.next = track->batch->it.end;
	/* The counters do not tell this loss: no page gets a number that lacks it. */
	dat->damaged = true;
	track->owed.losses += 2;
	dat->error = trace_dat_write(dat->file, tracemap_cpu_number(track->cpu), track->at,
				     NULL, 0);
	return dat->error;
}

int dat_track_write(struct dat_track *track)
{
	struct tracemap_dat *dat = track->dat;
	const struct subbuf_iter *it = &track->batch->it;
	struct dat_page pages[DAT_PAGES_MAX];
	uint32_t bytes = it->end - it->next;
	int nr, ret;

	add_batch(track);
	/* There is only a loss: the next batch reports it. */
	if (track->piece.end == track->piece.start)
		return 0;
	nr = dat_pages(&track->piece, dat->zeros, pages);
	ret = trace_dat_write(dat->file, tracemap_cpu_number(track->cpu), track->at, pages, nr);
	if (!ret && was_overwritten(track))
		return take_back(track);
	if (!ret) {
		if (nr && !track->nr_pages && track->piece.missed == TRACEMAP_MISSED_UNKNOWN)
			owe(track);
		track->nr_pages = nr;
		track->piece_events += track->fresh;
		track->events += track->fresh;
		settle_when_quiet(track, bytes);
		return 0;
	}
	dat->error = ret;
	begin_tail(track);
	add_to_tail(track);
	return ret;
}

/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Follow a CPU's trace buffer by its file trace_live: all its events, in order,
 * in place, without system calls, and without taking an event from a consumer.
 *
 *	struct live_mapping map;
 *	struct live_observer o;
 *	struct subbuf_iter it;
 *
 *	live_map(&map, fd);
 *	live_attach(&o, &map, LIVE_FROM_OLDEST);
 *	while (live_look(&o, &it) == LIVE_EVENTS) {
 *		unsigned int nr = 0;
 *
 *		while (subbuf_next(&it, &rec))
 *			nr++, sum += ...;
 *		if (live_accept(&o, &it, nr))
 *			keep sum;
 *		else
 *			forget sum, it never was;
 *	}
 *
 * What live_look() shows may be overwritten while the caller reads it.
 * live_accept() tells: only when it says so was all of it what the writer wrote.
 * Until then the caller must do nothing that it cannot undo. A caller that prints
 * events, or jumps to where they say, calls live_copy() in between and has a copy
 * that is already known to be good.
 *
 * Events that were overwritten before the observer saw them are counted exactly:
 * they are added to o.missed when the observer finds that out, and live_gap() is
 * the number of them that belong right before the events of the present look. In
 * one epoch, from where the observer started,
 *
 *	o.first + o.seen + o.missed = o.count
 *
 * and when no event is in flight and live_look() says LIVE_NOTHING, o.count is
 * the number of events committed.
 *
 * An observer belongs to one thread; there may be any number of observers.
 * No value of the index or of a sub-buffer is believed where it would lead
 * outside the mapping.
 *
 * This is the algorithm of linux/trace_live.h, function by function: LOOK is
 * live__look_once(), CHECK is live__check(), NEXT, JUMP and START are live__next(),
 * live__jump() and live__start().
 *
 * Ordering. Each barrier has a partner in kernel/trace/ring_buffer_live.c,
 * known by the same label:
 *
 *	here				the kernel
 *
 *	load-acquire commit_generation	[LEAVE] store-release of it, after the
 *					size, next_id of the sub-buffer left,
 *					before of the one entered
 *	load-acquire commit word	[COMMIT] store-release of it, after the
 *					records
 *	[CHECK] read barrier, then	[ENTER] write barrier, after the new
 *	generation, epoch,		generation, before the first change of
 *	commit_generation		the sub-buffer
 *					[RESET] write barriers, after epoch
 *					became odd, and before it becomes even
 *	load-acquire epoch		[RESET]
 */
#ifndef _TRACEMAP_LIVE_H
#define _TRACEMAP_LIVE_H

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/trace_live.h>

#include "subbuf.h"

/* What live_look() found. */
enum {
	LIVE_NOTHING	= 0,	/* no more for now */
	LIVE_EVENTS	= 1,	/* the iterator has bytes to go through */
	LIVE_RESET	= 2,	/* the buffer was emptied: all counts start anew */
	LIVE__MOVED	= 3,	/* internal: look again from here */
};

enum live_start {
	LIVE_FROM_OLDEST,	/* all that is still there */
	LIVE_FROM_NOW,		/* what comes */
};

/* So often a moving target is tried to be hit before it is left for later. */
#define LIVE_TRIES	64

/* So many jumps that led to nothing make the next one aim at the newest sub-buffer. */
#define LIVE_RUSH	16

/**
 * struct live_mapping - a mapping of trace_live
 * @index: how it begins
 * @size: bytes of it
 */
struct live_mapping {
	const struct trace_live_index *index;
	size_t size;
};

/**
 * struct live_observer - an observer of one CPU's events
 * @first: events of the epoch before the observer started
 * @seen: events it accepted since
 * @missed: events overwritten since that it has not seen; may grow before the gap
 *	is told
 * @count: events of the epoch before the present position
 * @resets: epochs that ended under the observer
 * @epoch: the present one
 * @generation: the sub-buffer it is at, counted from the first ever written; 0
 *	after a reset, until one of the new epoch is found
 * @id: where that is
 * @pos: bytes of it that were accepted
 * @nr_subbufs: sub-buffers there are
 * @format: their layout
 *
 * Read these; the rest is the observer's own.
 */
struct live_observer {
	uint64_t first;
	uint64_t seen;
	uint64_t missed;
	uint64_t count;
	uint64_t resets;
	uint64_t epoch;
	uint64_t generation;
	uint32_t id;
	uint32_t pos;
	uint32_t nr_subbufs;
	struct subbuf_format format;

	/* private: */
	const struct trace_live_index *index;
	const unsigned char *entries;
	const unsigned char *subbufs;
	const struct trace_live_subbuf *entry;	/* of @id */
	const unsigned char *subbuf;		/* @id's */
	uint32_t entry_size;
	uint64_t commit_generation;	/* as of this look */
	uint32_t base;			/* where in the sub-buffer the iterator counts from */
	uint32_t end;			/* of this look */
	uint32_t rushed;		/* jumps that led to nothing */
	uint64_t ts;			/* time stamp at @pos */
	uint64_t told;			/* of @missed */
	bool final;			/* the writer has left the sub-buffer */
	bool copied;			/* the iterator is on a copy, which is good */
};

/**
 * struct live_figures - what the index tells without any event being looked at
 * @epoch: counts are of this epoch
 * @committed: events committed, as of the last finished sub-buffer
 * @overwritten: of these, overwritten unread, as of the last finished one
 * @dropped: events for which there was no room; exact at any time
 * @consumed: events taken by consumers, as of the last of their calls
 * @used: sub-buffers that hold unread events; what the writer or a consumer
 *	did since the last one was finished may be missing
 * @nr_subbufs: sub-buffers there are
 */
struct live_figures {
	uint64_t epoch;
	uint64_t committed;
	uint64_t overwritten;
	uint64_t dropped;
	uint64_t consumed;
	uint32_t used;
	uint32_t nr_subbufs;
};

static __always_inline void live__read_barrier(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

static __always_inline uint32_t live__load(const __u32 *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

#define live__wide	(__SIZEOF_POINTER__ >= 8)	/* one load has 64 bits */

/* Not torn: the upper half is the same before the lower one is loaded and after. */
static inline uint64_t live__load_halves(const unsigned char *p)
{
	const unsigned char *upper = p + (subbuf__host_big ? 0 : 4);
	const unsigned char *lower = p + (subbuf__host_big ? 4 : 0);
	uint32_t high, low, again = subbuf__load_host(upper);

	do {
		high = again;
		live__read_barrier();
		low = subbuf__load_host(lower);
		live__read_barrier();
		again = subbuf__load_host(upper);
	} while (high != again);
	return (uint64_t)high << 32 | low;
}

static __always_inline uint64_t live__load64(const __u64 *p)
{
	if (live__wide)
		return __atomic_load_n(p, __ATOMIC_RELAXED);
	return live__load_halves((const unsigned char *)p);
}

/* What has 0xffffffff for its lower half may have the upper one of the next. */
static __always_inline uint64_t live__load_generation(const __u64 *p)
{
	uint64_t generation = live__load64(p);
	int tries;

	for (tries = LIVE_TRIES; !live__wide && (uint32_t)generation == ~0U && tries; tries--)
		generation = live__load64(p);
	return generation;
}

/* pairs with [RESET] */
static __always_inline uint64_t live__load_epoch(const struct live_observer *o)
{
	uint64_t epoch = live__load64(&o->index->epoch);

	live__read_barrier();
	return epoch;
}

/* pairs with [LEAVE] */
static __always_inline uint64_t live__load_newest(const struct live_observer *o)
{
	uint64_t generation = live__load_generation(&o->index->commit_generation);

	live__read_barrier();
	return generation;
}

static __always_inline const struct trace_live_subbuf *
live__entry(const struct live_observer *o, uint32_t id)
{
	return (const struct trace_live_subbuf *)(o->entries + (size_t)id * o->entry_size);
}

static __always_inline const unsigned char *
live__subbuf(const struct live_observer *o, uint32_t id)
{
	return o->subbufs + (size_t)id * o->format.subbuf_size;
}

static __always_inline uint64_t live__generation(const struct live_observer *o,
						 uint32_t id)
{
	return live__load_generation(&live__entry(o, id)->generation);
}

static __always_inline uint32_t live__capacity(const struct live_observer *o)
{
	return o->format.subbuf_size - o->format.data_offset;
}

/* Was all that was read since the last barrier of @generation, at @entry? */
static __always_inline bool live__holds(const struct live_observer *o,
					const struct trace_live_subbuf *entry,
					uint64_t generation)
{
	live__read_barrier();	/* [CHECK] pairs with [ENTER], [RESET] */
	return live__load_generation(&entry->generation) == generation &&
	       live__load64(&o->index->epoch) == o->epoch;
}

/*
 * Stand before the first event of a sub-buffer. The events between the old
 * position and that one are missed.
 */
static __always_inline void live__stand_at(struct live_observer *o, uint32_t id,
					   uint64_t generation, uint64_t before)
{
	o->missed += before - o->count;
	o->count = before;
	o->id = id;
	o->entry = live__entry(o, id);
	o->subbuf = live__subbuf(o, id);
	o->generation = generation;
	o->pos = 0;
}

/*
 * Of the generations above @after, up to @newest, the smallest there is. Returns
 * where it is, nr_subbufs if there is none.
 */
static inline uint32_t live__find_above(const struct live_observer *o, uint64_t after,
					uint64_t newest, uint64_t *generation)
{
	uint32_t id, found = o->nr_subbufs;

	for (id = 0; id < o->nr_subbufs; id++) {
		uint64_t g = live__generation(o, id);

		if (g > after && g <= newest) {
			newest = g;
			found = id;
		}
	}
	*generation = newest;
	return found;
}

/* The newest one is told: no search for it, which the writer may be quicker than. */
static inline uint32_t live__find_newest(const struct live_observer *o, uint64_t newest)
{
	uint32_t id = live__load(&o->index->commit_id);

	return id < o->nr_subbufs && live__generation(o, id) == newest ? id : o->nr_subbufs;
}

/*
 * Go to the oldest sub-buffer that is still there. While the observer searches
 * for it a quick writer overwrites it: after each jump that led to nothing the
 * next one leaves out the older half of those that may be there.
 */
static inline void live__jump(struct live_observer *o)
{
	uint64_t newest = live__load_newest(o), generation = newest, after = o->generation;
	uint32_t id, keep = o->nr_subbufs >> o->rushed | 1;
	uint64_t before;

	if (o->rushed && newest > keep && newest - keep > after)
		after = newest - keep;
	if (o->rushed < LIVE_RUSH)
		id = live__find_above(o, after, newest, &generation);
	else
		id = live__find_newest(o, newest);
	if (o->rushed < LIVE_RUSH)
		o->rushed++;
	if (id == o->nr_subbufs)
		return;
	before = live__load64(&live__entry(o, id)->before);
	if (live__holds(o, live__entry(o, id), generation))
		live__stand_at(o, id, generation, before);
}

/* All of a finished sub-buffer was seen: go to the one that follows. */
static __always_inline int live__next(struct live_observer *o)
{
	uint32_t id = live__load(&o->entry->next_id);
	uint64_t generation = o->generation + 1;
	const struct trace_live_subbuf *entry;
	uint64_t before;

	if (!subbuf__likely(live__holds(o, o->entry, o->generation)))
		goto overwritten;
	if (!subbuf__likely(id < o->nr_subbufs))
		return -EPROTO;
	entry = live__entry(o, id);
	before = live__load64(&entry->before);
	if (!subbuf__likely(live__holds(o, entry, generation)))
		goto overwritten;
	live__stand_at(o, id, generation, before);
	return LIVE__MOVED;

overwritten:
	live__jump(o);
	return LIVE__MOVED;
}

/* Is what this look read what the writer wrote, and nothing else? */
static __always_inline bool live__check(const struct live_observer *o)
{
	if (!live__holds(o, o->entry, o->generation))
		return false;
	/* Once the writer has left, a consumer may change the commit word. */
	return o->final ||
	       live__load_generation(&o->index->commit_generation) == o->commit_generation;
}

/* A new epoch: its first event is the first one that the observer wants. */
static inline void live__restart(struct live_observer *o, uint64_t epoch)
{
	o->epoch = epoch;
	o->first = 0;
	o->seen = 0;
	o->missed = 0;
	o->told = 0;
	o->count = 0;
	o->rushed = 0;
	o->resets++;
	o->generation = 0;
	o->pos = 0;
	live__jump(o);
}

/* Let the iterator go from @pos to @end. */
static __always_inline int live__show(struct live_observer *o,
				      struct subbuf_iter *it, uint32_t end)
{
	o->base = 0;
	o->end = end;
	o->copied = false;
	if (!o->pos)
		o->ts = subbuf_time_stamp(&o->format, o->subbuf);
	*it = subbuf__between(&o->format, o->subbuf, o->pos, end, o->ts);
	return LIVE_EVENTS;
}

static __always_inline int live__look_once(struct live_observer *o,
					   struct subbuf_iter *it)
{
	uint64_t epoch = live__load_epoch(o);
	uint32_t end;

	if (!subbuf__likely(epoch == o->epoch)) {
		if (epoch & 1)
			return LIVE_NOTHING;	/* it is still being emptied */
		live__restart(o, epoch);
		return LIVE_RESET;
	}

	o->commit_generation = live__load_newest(o);
	if (!subbuf__likely(o->generation &&
			    live__load_generation(&o->entry->generation) == o->generation)) {
		live__jump(o);
		return LIVE__MOVED;
	}

	o->final = o->commit_generation != o->generation;
	if (o->final) {
		end = live__load(&o->entry->size) & ~3U;
		if (end <= o->pos)
			return live__next(o);
	} else {
		/* pairs with [COMMIT] */
		end = subbuf_committed(&o->format, o->subbuf) & ~3U;
		if (end <= o->pos)
			return LIVE_NOTHING;
	}
	if (!subbuf__likely(end <= live__capacity(o)))
		return live__check(o) ? -EPROTO : LIVE__MOVED;
	return live__show(o, it, end);
}

/**
 * live_look - show what lies beyond the position
 * @o: the observer
 * @it: to be set, if there is something
 *
 * A look that was not accepted never was: the next one starts from the same
 * position, or, if that is gone, behind it, and @o->missed says how far.
 *
 * Return: LIVE_EVENTS if @it has bytes to go through (they may turn out to
 * be padding only), LIVE_NOTHING, LIVE_RESET, or -EPROTO if the index cannot
 * be one.
 */
static __always_inline int live_look(struct live_observer *o,
				     struct subbuf_iter *it)
{
	uint32_t tries = o->nr_subbufs + LIVE_TRIES;
	int ret;

	/* As many empty sub-buffers as there are may lie on the way. */
	do {
		ret = live__look_once(o, it);
	} while (ret == LIVE__MOVED && --tries);
	return ret == LIVE__MOVED ? LIVE_NOTHING : ret;
}

/**
 * live_gap - events missed right before what live_look() shows
 * @o: the observer
 */
static inline uint64_t live_gap(const struct live_observer *o)
{
	return o->missed - o->told;
}

/**
 * live_check - is what was read so far good?
 * @o: the observer, after live_look() said LIVE_EVENTS
 *
 * live_accept() asks the same. This is for callers that want to know earlier.
 */
static inline bool live_check(const struct live_observer *o)
{
	return o->copied || live__check(o);
}

/*
 * The bytes may change while they are copied; then the copy is thrown away. The
 * thread sanitizer wants to see atomic loads all the same.
 */
static inline void live__copy_bytes(unsigned char *to, const unsigned char *from,
				    uint32_t len)
{
#ifdef __SANITIZE_THREAD__
	uint32_t i;

	for (i = 0; i < len; i += 4) {
		uint32_t word = subbuf__load_host(from + i);

		memcpy(to + i, &word, 4);
	}
#else
	memcpy(to, from, len);
#endif
}

/**
 * live_copy - have the bytes of this look where no writer overwrites them
 * @o: the observer, after live_look() said LIVE_EVENTS
 * @it: what it showed
 * @buf: where to, aligned to 8
 * @size: bytes there are; those of a sub-buffer are always enough
 *
 * Return: 1 if @it is on the copy now, and it is good; 0 if it was
 * overwritten meanwhile: look again; -ENOSPC.
 */
static inline int live_copy(struct live_observer *o, struct subbuf_iter *it,
			    void *buf, size_t size)
{
	const unsigned char *from = it->next;
	uint32_t len = it->end - it->next;

	if (len > size)
		return -ENOSPC;
	live__copy_bytes((unsigned char *)buf, from, len);
	if (!live__check(o))
		return 0;
	it->data = (const unsigned char *)buf;
	it->capacity = len;
	it->next = it->data;
	o->base = o->pos;
	o->copied = true;
	subbuf_extend(it, len);
	return 1;
}

/**
 * live_accept - go on from where the iterator is
 * @o: the observer, after live_look() said LIVE_EVENTS
 * @it: what it showed, gone through
 * @events: how many came out of @it
 *
 * The iterator need not be at its end; the next look shows the rest then.
 *
 * Return: 1 if the events are good, and the position is behind them; 0 if none
 * of them can be relied on: look again; -EBADMSG if those before the damage
 * are good (the others of this look will be counted as missed).
 */
static __always_inline int live_accept(struct live_observer *o,
				       const struct subbuf_iter *it,
				       uint32_t events)
{
	if (!o->copied && !subbuf__likely(live__check(o)))
		return 0;

	o->count += events;
	o->seen += events;
	o->pos = o->base + subbuf_pos(it);
	o->ts = it->ts;
	o->told = o->missed;
	o->rushed = 0;
	if (subbuf__likely(!it->corrupt))
		return 1;
	o->pos = o->end;
	return -EBADMSG;
}

/**
 * live_position - the position, as TRACE_LIVE_IOCTL_WAIT wants it
 * @o: the observer
 * @bytes: how much has to lie beyond it, 1: any event, 0: buffer_percent
 */
static inline struct trace_live_position
live_position(const struct live_observer *o, uint64_t bytes)
{
	struct trace_live_position p;

	memset(&p, 0, sizeof(p));
	p.size = sizeof(p);
	p.epoch = o->epoch;
	p.generation = o->generation;
	p.read = o->pos;
	p.bytes = bytes;
	return p;
}

/* Bytes of records of a sub-buffer, also while the writer is in it. */
static inline uint32_t live__written(const struct live_observer *o, uint32_t id,
				     uint64_t newest)
{
	uint64_t generation = live__generation(o, id);

	if (!generation)
		return 0;
	if (generation != newest)
		return live__load(&live__entry(o, id)->size);
	return o->subbufs ? subbuf_committed(&o->format, live__subbuf(o, id)) : 0;
}

/*
 * When the writer enters a sub-buffer it says how many are unread, the reader's
 * not counted. Since then consumers may have read some: there cannot be more than
 * from the reader's to the writer's.
 */
static inline uint32_t live__used(const struct live_observer *o, uint64_t newest)
{
	uint32_t used = live__load(&o->index->used);
	uint32_t id = live__load(&o->index->reader_id);
	uint32_t read = live__load(&o->index->reader_read);
	uint64_t behind;

	if (id >= o->nr_subbufs)
		return used;
	behind = newest - live__generation(o, id);
	if (behind < used)
		used = behind;
	return used + (live__written(o, id, newest) > read);
}

static inline bool live__figures_once(const struct live_observer *o,
				      struct live_figures *f)
{
	const struct trace_live_index *index = o->index;
	const struct trace_live_subbuf *entry;
	uint64_t newest;
	uint32_t id;

	f->epoch = live__load_epoch(o);
	newest = live__load_newest(o);
	id = live__find_newest(o, newest);
	if (f->epoch & 1 || id == o->nr_subbufs)
		return false;
	live__read_barrier();
	entry = live__entry(o, id);
	f->committed = live__load64(&entry->before);
	f->overwritten = live__load64(&entry->overwritten);
	f->dropped = live__load64(&index->dropped) + live__load64(&index->commit_overrun);
	f->used = live__used(o, newest);
	f->consumed = live__load64(&index->read);
	live__read_barrier();	/* [CHECK] pairs with [ENTER], [RESET] */
	return live__load_generation(&entry->generation) == newest &&
	       live__load64(&index->epoch) == f->epoch;
}

/**
 * live_figures - read the figures of the buffer
 * @o: an observer of it
 * @f: to fill
 *
 * The position does not matter, and does not move.
 *
 * Return: 0, or -EAGAIN while the buffer is being emptied or the writer is too quick.
 */
static inline int live_figures(const struct live_observer *o, struct live_figures *f)
{
	int tries;

	f->nr_subbufs = o->nr_subbufs;
	for (tries = 0; tries < LIVE_TRIES; tries++) {
		if (live__figures_once(o, f))
			return 0;
	}
	return -EAGAIN;
}

/**
 * struct live_newest - where the writer is
 * @epoch: the others are of this epoch
 * @generation: the sub-buffer it is writing
 * @bytes: of that one, committed
 * @events: committed in this epoch, all of them
 */
struct live_newest {
	uint64_t epoch;
	uint64_t generation;
	uint32_t bytes;
	uint64_t events;
};

static inline bool live__newest_once(const struct live_observer *o,
				     struct live_newest *n)
{
	const struct trace_live_subbuf *entry;
	struct subbuf_record rec;
	struct subbuf_iter it;
	uint32_t id;

	n->epoch = live__load_epoch(o);
	n->generation = live__load_newest(o);
	id = live__find_newest(o, n->generation);
	if (n->epoch & 1 || id == o->nr_subbufs)
		return false;
	live__read_barrier();
	entry = live__entry(o, id);
	n->events = live__load64(&entry->before);
	it = subbuf_begin(&o->format, live__subbuf(o, id));	/* pairs with [COMMIT] */
	n->bytes = it.end - it.data;
	while (subbuf_next(&it, &rec))
		n->events++;
	live__read_barrier();	/* [CHECK] pairs with [ENTER], [RESET] */
	return live__load_generation(&entry->generation) == n->generation &&
	       live__load64(&o->index->epoch) == n->epoch &&
	       live__load_newest(o) == n->generation;
}

/**
 * live_newest - where the writer is, and how many events that makes
 * @o: an observer of the buffer
 * @n: to fill
 *
 * live_figures() counts up to the last finished sub-buffer. This goes through
 * the one that is being written as well. The position does not matter, and
 * does not move.
 *
 * Return: 0, or -EAGAIN while the buffer is being emptied or the writer is too quick.
 */
static inline int live_newest(const struct live_observer *o, struct live_newest *n)
{
	int tries;

	for (tries = 0; tries < LIVE_TRIES; tries++) {
		if (live__newest_once(o, n))
			return 0;
	}
	return -EAGAIN;
}

/* Pass over what is there of the newest sub-buffer, for the sake of its deltas. */
static inline int live__pass(struct live_observer *o)
{
	struct subbuf_record rec;
	struct subbuf_iter it;
	uint32_t events = 0;
	int ret = live__look_once(o, &it);

	if (ret == LIVE_NOTHING)
		return 1;
	if (ret != LIVE_EVENTS)
		return ret < 0 ? ret : 0;
	while (subbuf_next(&it, &rec))
		events++;
	return live_accept(o, &it, events);
}

static inline int live__start(struct live_observer *o, enum live_start from)
{
	int ret;

	o->epoch = live__load_epoch(o);
	if (o->epoch & 1)
		return 0;
	o->generation = 0;
	o->count = 0;
	if (from == LIVE_FROM_NOW)
		o->rushed = LIVE_RUSH;	/* the newest, in live__jump() */
	live__jump(o);
	if (!o->generation)
		return 0;
	ret = from == LIVE_FROM_NOW ? live__pass(o) : 1;
	o->first = o->count;
	o->seen = 0;
	o->missed = 0;
	o->resets = 0;
	o->told = 0;
	o->rushed = 0;
	return ret;
}

/* Read once: these never change. */
static inline bool live__take_layout(struct live_observer *o)
{
	const struct trace_live_index *index = o->index;
	struct subbuf_format *f = &o->format;

	f->subbuf_size = live__load(&index->subbuf_size);
	f->data_offset = live__load(&index->data_offset);
	f->commit_offset = live__load(&index->commit_offset);
	f->commit_size = live__load(&index->commit_size);
	f->big_endian = subbuf__host_big;
	return (f->commit_size == 4 || f->commit_size == 8) &&
	       f->subbuf_size > f->data_offset && f->data_offset >= f->commit_size &&
	       f->commit_offset >= 8 &&
	       f->commit_offset <= f->data_offset - f->commit_size &&
	       !((f->subbuf_size | f->data_offset | f->commit_offset) & 3) &&
	       f->subbuf_size - f->data_offset <= SUBBUF_COMMIT_MASK;
}

/* Does an array of @nr lie in the @size bytes of the mapping, and where a u64 may? */
static inline bool live__fits(uint64_t offset, uint32_t each, uint32_t nr, size_t size)
{
	return offset >= sizeof(struct trace_live_index) && offset <= size &&
	       !(offset % 8) && nr <= (size - offset) / each;
}

/* The index alone, for figures: live_look() and live_newest() want the sub-buffers. */
static inline int live__open(struct live_observer *o, const struct live_mapping *m)
{
	const struct trace_live_index *index = m->index;
	uint64_t offset;

	memset(o, 0, sizeof(*o));
	o->index = index;
	if (m->size < sizeof(*index) || live__load(&index->struct_len) < sizeof(*index) ||
	    !live__take_layout(o))
		return -EINVAL;
	offset = live__load64(&index->entries_offset);
	o->entry_size = live__load(&index->entry_size);
	o->nr_subbufs = live__load(&index->nr_subbufs);
	if (!o->nr_subbufs || o->entry_size < sizeof(struct trace_live_subbuf) ||
	    o->entry_size % 8 || !live__fits(offset, o->entry_size, o->nr_subbufs, m->size))
		return -EINVAL;
	o->entries = (const unsigned char *)index + offset;
	return 0;
}

/**
 * live_attach - begin to follow a buffer
 * @o: the observer
 * @m: the mapping of its trace_live, which live_map() has made
 * @from: with what to begin
 *
 * Return: 0, -EINVAL if the mapping cannot be one of trace_live, -EAGAIN while the
 * buffer is being emptied, or -EBADMSG or -EPROTO if what is in it cannot be.
 */
static inline int live_attach(struct live_observer *o, const struct live_mapping *m,
			      enum live_start from)
{
	int tries, ret = live__open(o, m);
	uint64_t offset;

	if (ret)
		return ret;
	offset = live__load64(&m->index->subbufs_offset);
	if (!live__fits(offset, o->format.subbuf_size, o->nr_subbufs, m->size))
		return -EINVAL;
	o->subbufs = (const unsigned char *)m->index + offset;
	for (tries = 0; tries < LIVE_TRIES && !ret; tries++)
		ret = live__start(o, from);
	return ret > 0 ? 0 : ret ? ret : -EAGAIN;
}

/* Map up to where the first page says at @offset_of: the whole or the index. */
static inline int live__map(struct live_mapping *m, int fd, size_t offset_of)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *whole, *start = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	uint64_t size;

	m->index = NULL;
	m->size = 0;
	if (start == MAP_FAILED)
		return -errno;
	size = live__load64((const __u64 *)((const char *)start + offset_of));
	munmap(start, page);
	if (size > SIZE_MAX)
		return -EOVERFLOW;
	whole = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (whole == MAP_FAILED)
		return -errno;
	m->index = (const struct trace_live_index *)whole;
	m->size = size;
	return 0;
}

/**
 * live_map - map the live index of a CPU's buffer, and the sub-buffers
 * @m: to fill
 * @fd: the CPU's trace_live; it may be closed afterwards, unless it is waited for
 *
 * Return: 0, -EOVERFLOW if a 32-bit program cannot map so much, or what mmap()
 * said
 */
static inline int live_map(struct live_mapping *m, int fd)
{
	return live__map(m, fd, offsetof(struct trace_live_index, mapping_size));
}

static inline void live_unmap(struct live_mapping *m)
{
	munmap((void *)m->index, m->size);
}

#endif /* _TRACEMAP_LIVE_H */

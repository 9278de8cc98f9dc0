/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Follow a mapped trace buffer by its live index: all its events, in order,
 * in place, without system calls, and taking nothing from anybody.
 *
 *	struct live_observer o;
 *	struct subbuf_iter it;
 *
 *	live_attach(&o, index, index_size, subbufs, subbufs_size, &format,
 *		    LIVE_FROM_OLDEST);
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
 * What live_look() shows may be overwritten while it is read. live_accept()
 * tells: only when it says so was all of it what the writer wrote. Until then
 * nothing may be done that cannot be undone. Whoever prints events, or jumps
 * to where they say, calls live_copy() in between and has a copy that is
 * already known to be good.
 *
 * Events that went by unseen are counted, exactly: they are added to o.missed
 * when that is found out, and live_gap() is the number of them that belong
 * right before the events of the present look. In one epoch, from where the
 * observer started,
 *
 *	o.first + o.seen + o.missed = o.count
 *
 * and when nothing is in flight and live_look() says LIVE_NOTHING, o.count is
 * the number of events committed.
 *
 * An observer belongs to one thread; there may be any number of observers.
 * No value of the index or of a sub-buffer is believed where it would lead
 * outside the mappings.
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
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <linux/trace_live.h>
#include <linux/trace_mmap.h>

#include "subbuf.h"

/* What live_look() found. */
enum {
	LIVE_NOTHING	= 0,	/* no more for now */
	LIVE_EVENTS	= 1,	/* the iterator has bytes to go through */
	LIVE_RESET	= 2,	/* the buffer was reset: all counts start anew */
	LIVE__MOVED	= 3,	/* internal: look again from here */
};

enum live_start {
	LIVE_FROM_OLDEST,	/* all that is still there */
	LIVE_FROM_NOW,		/* what comes */
};

/* So often a moving target is tried to be hit before it is left for later. */
#define LIVE_TRIES	64

/* The scan for missing generations divides the range by so many. */
#define LIVE_BUCKETS	256

/**
 * struct live_observer - somebody who follows one CPU's events
 * @first: events of the epoch before the observer started
 * @seen: events it accepted since
 * @missed: events that went by since; may grow before the gap is told
 * @count: events of the epoch before the present position
 * @resets: epochs that ended under the observer
 * @epoch: the present one
 * @generation: the sub-buffer it is at, counted from the first ever written
 * @id: where that is
 * @pos: bytes of it that were accepted
 *
 * Read these; the rest is the observer's own.
 */
struct live_observer {
	uint64_t first;
	uint64_t seen;
	uint64_t missed;
	uint64_t count;
	uint64_t resets;
	uint32_t epoch;
	uint32_t generation;
	uint32_t id;
	uint32_t pos;

	/* private: */
	const struct trace_live_index *index;
	const struct trace_live_subbuf *entry;	/* of @id */
	const unsigned char *subbuf;		/* @id's */
	const unsigned char *subbufs;
	struct subbuf_format format;
	uint32_t entries_offset;
	uint32_t entry_size;
	uint32_t nr_subbufs;
	uint32_t commit_generation;	/* as of this look */
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
 * @dropped: events for which there was no room; exact at any time (32-bit
 *	kernels count modulo 2^32)
 * @consumed: events taken by consumers, as of the last of their calls
 * @used: sub-buffers that hold unread events; what the writer or a consumer
 *	did since the last one was finished may be missing
 * @nr_subbufs: sub-buffers there are
 */
struct live_figures {
	uint32_t epoch;
	uint64_t committed;
	uint64_t overwritten;
	uint64_t dropped;
	uint64_t consumed;
	uint32_t used;
	uint32_t nr_subbufs;
};

static __always_inline uint32_t live__load(const __u32 *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static __always_inline uint32_t live__load_acquire(const __u32 *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static __always_inline void live__read_barrier(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* May be torn where a word has 32 bits: to be believed after a check only. */
static __always_inline uint64_t live__load64(const __u64 *p)
{
#if __SIZEOF_POINTER__ >= 8
	return __atomic_load_n(p, __ATOMIC_RELAXED);
#else
	return subbuf__load64((const unsigned char *)p, subbuf__host_big);
#endif
}

/* A count that only grows: not torn if the high half stands still. */
static inline uint64_t live__load_count(const __u64 *p)
{
	uint64_t count, again = live__load64(p);

	do {
		count = again;
		live__read_barrier();
		again = live__load64(p);
	} while (count >> 32 != again >> 32);
	return again;
}

static __always_inline const struct trace_live_subbuf *
live__entry(const struct live_observer *o, uint32_t id)
{
	const char *entries = (const char *)o->index + o->entries_offset;

	return (const struct trace_live_subbuf *)(entries + (size_t)id * o->entry_size);
}

static __always_inline uint32_t live__generation(const struct live_observer *o,
						 uint32_t id)
{
	return live__load(&live__entry(o, id)->generation);
}

static __always_inline uint32_t live__capacity(const struct live_observer *o)
{
	return o->format.subbuf_size - o->format.data_offset;
}

/* Was all that was read since live_look() of @generation, at @entry? */
static __always_inline bool live__holds(const struct live_observer *o,
					const struct trace_live_subbuf *entry,
					uint32_t generation)
{
	live__read_barrier();	/* [CHECK] pairs with [ENTER], [RESET] */
	return live__load(&entry->generation) == generation &&
	       live__load(&o->index->epoch) == o->epoch;
}

static __always_inline void live__set_id(struct live_observer *o, uint32_t id)
{
	o->id = id;
	o->entry = live__entry(o, id);
	o->subbuf = o->subbufs + (size_t)id * o->format.subbuf_size;
}

/*
 * Stand before the first event of a sub-buffer. The events between where we
 * were and there are missed.
 */
static __always_inline void live__stand_at(struct live_observer *o, uint32_t id,
					   uint32_t generation, uint64_t before)
{
	o->missed += before - o->count;
	o->count = before;
	live__set_id(o, id);
	o->generation = generation;
	o->pos = 0;
}

/*
 * Of the generations @newest, @newest - 1, ... how many are there without a
 * gap? They are counted by @width of them at a time; the first bucket that is
 * not full has the gap and is divided further. While the writer goes on the
 * answer is a guess.
 */
static inline uint32_t live__run_length(const struct live_observer *o,
					uint32_t newest)
{
	uint32_t start = 0, width = o->nr_subbufs;

	for (;;) {
		uint32_t count[LIVE_BUCKETS] = { 0 };
		uint32_t each = (width - 1) / LIVE_BUCKETS + 1;
		uint32_t id, i;

		for (id = 0; id < o->nr_subbufs; id++) {
			uint32_t age = newest - live__generation(o, id) - start;

			if (age < width)
				count[age / each]++;
		}
		for (i = 0; i < (width - 1) / each && count[i] == each; i++)
			;
		start += i * each;
		if (each == 1)
			return start + (count[i] == 1);
		width -= i * each;
		if (width > each)
			width = each;
	}
}

/*
 * Is @generation at @id? A sub-buffer the writer has not come to for 2^31 others
 * or more may have the same number, but is not where the others lead to.
 */
static inline bool live__is_at(const struct live_observer *o, uint32_t newest,
			       uint32_t generation, uint32_t id)
{
	uint32_t next;

	if (live__generation(o, id) != generation)
		return false;
	if (generation == newest)
		return live__load(&o->index->commit_id) == id;
	next = live__load(&live__entry(o, id)->next_id);
	return next < o->nr_subbufs && live__generation(o, next) == generation + 1;
}

static inline bool live__find(const struct live_observer *o, uint32_t newest,
			      uint32_t generation, uint32_t *id)
{
	for (*id = 0; *id < o->nr_subbufs; ++*id) {
		if (live__is_at(o, newest, generation, *id))
			return true;
	}
	return false;
}

/* The newest one is told: a writer may be quicker than who looks for it. */
static inline bool live__find_newest(const struct live_observer *o, uint32_t newest,
				     uint32_t *id)
{
	*id = live__load(&o->index->commit_id);
	return *id < o->nr_subbufs && live__generation(o, *id) == newest;
}

/* The oldest that can be reached, or a newer one each time that led to nothing. */
static inline uint32_t live__goal(const struct live_observer *o, uint32_t newest)
{
	uint32_t run = live__run_length(o, newest);

	return run ? newest - ((run - 1) >> o->rushed) : newest;
}

/*
 * Where we were is overwritten: go to the oldest sub-buffer that can be
 * reached, or, if that led to nothing the last time, to a newer one.
 */
static inline void live__jump(struct live_observer *o)
{
	const struct trace_live_subbuf *entry;
	uint32_t newest, generation, id;
	uint64_t before;
	bool found;

	/* pairs with [LEAVE] */
	newest = live__load_acquire(&o->index->commit_generation);
	if (o->rushed < 32) {
		generation = live__goal(o, newest);
		found = live__find(o, newest, generation, &id);
	} else {
		generation = newest;
		found = live__find_newest(o, newest, &id);
	}
	o->rushed++;
	if (!found)
		return;
	entry = live__entry(o, id);
	before = live__load64(&entry->before);
	if (live__holds(o, entry, generation))
		live__stand_at(o, id, generation, before);
}

/* All of a finished sub-buffer was seen: go to the one that follows. */
static __always_inline int live__next(struct live_observer *o)
{
	uint32_t id = live__load(&o->entry->next_id);
	uint32_t generation = o->generation + 1;
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
	       live__load(&o->index->commit_generation) == o->commit_generation;
}

/* A new epoch: the first event of it is the first we want. */
static inline void live__restart(struct live_observer *o, uint32_t epoch)
{
	o->epoch = epoch;
	o->first = 0;
	o->seen = 0;
	o->missed = 0;
	o->told = 0;
	o->count = 0;
	o->rushed = 0;
	o->resets++;
	/* Until a sub-buffer of the new epoch is found: */
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
	uint32_t end, epoch = live__load_acquire(&o->index->epoch);	/* [RESET] */

	if (!subbuf__likely(epoch == o->epoch)) {
		if (epoch & 1)
			return LIVE_NOTHING;	/* the reset is not over yet */
		live__restart(o, epoch);
		return LIVE_RESET;
	}

	/* pairs with [LEAVE] */
	o->commit_generation = live__load_acquire(&o->index->commit_generation);
	if (!subbuf__likely(live__load(&o->entry->generation) == o->generation)) {
		live__jump(o);
		return LIVE__MOVED;
	}

	/* Modulo 2^32, and we may have slept for long: not "less than". */
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
 * live_accept() asks the same. This is for who wants to know earlier.
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
 * live_copy - have the bytes of this look where nobody overwrites them
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
 * live_position - the position, as TRACE_MMAP_IOCTL_LIVE_WAIT wants it
 * @o: the observer
 * @bytes: how much has to lie beyond it, 0: buffer_percent of the buffer
 */
static inline struct trace_live_position
live_position(const struct live_observer *o, uint64_t bytes)
{
	struct trace_live_position p;

	p.epoch = o->epoch;
	p.generation = o->generation;
	p.read = o->pos;
	p.flags = 0;
	p.bytes = bytes;
	return p;
}

/*
 * When the writer enters a sub-buffer it says how many nobody has read, the
 * reader's not counted. Since then consumers may have read some: there cannot
 * be more than from the reader's to the writer's.
 */
static inline uint32_t live__used(const struct live_observer *o,
				  const struct trace_buffer_meta *meta,
				  uint32_t newest)
{
	uint32_t used = live__load(&o->index->used);
	uint32_t id = live__load(&meta->reader.id);
	uint32_t behind, size;

	if (id >= o->nr_subbufs)
		return used;
	behind = newest - live__generation(o, id);
	size = live__load(&live__entry(o, id)->size);
	if (!behind)
		size = subbuf_committed(&o->format, o->subbufs +
					(size_t)id * o->format.subbuf_size);
	if (behind < used)
		used = behind;
	return used + (size > live__load(&meta->reader.read));
}

static inline bool live__figures_once(const struct live_observer *o,
				      const struct trace_buffer_meta *meta,
				      struct live_figures *f)
{
	const struct trace_live_index *index = o->index;
	const struct trace_live_subbuf *entry;
	uint32_t generation, id;

	f->epoch = live__load_acquire(&index->epoch);	/* [RESET] */
	/* pairs with [LEAVE] */
	generation = live__load_acquire(&index->commit_generation);
	id = live__load(&index->commit_id);
	if (f->epoch & 1 || id >= o->nr_subbufs)
		return false;
	entry = live__entry(o, id);
	if (live__load_acquire(&entry->generation) != generation)
		return false;
	f->committed = live__load64(&entry->before);
	f->overwritten = live__load64(&entry->overwritten);
	f->dropped = live__load_count(&index->dropped) +
		     live__load_count(&index->commit_overrun);
	f->used = live__used(o, meta, generation);
	f->consumed = live__load_count(&meta->read);
	live__read_barrier();	/* [CHECK] pairs with [ENTER], [RESET] */
	return live__load(&entry->generation) == generation &&
	       live__load(&index->epoch) == f->epoch;
}

/**
 * live_figures - read the figures of the buffer
 * @o: an observer of it
 * @meta: the meta page, which has those of the consumers
 * @f: to fill
 *
 * The position does not matter, and does not move.
 *
 * Return: 0, or -EAGAIN while a reset goes on or the writer is too quick.
 */
static inline int live_figures(const struct live_observer *o,
			       const struct trace_buffer_meta *meta,
			       struct live_figures *f)
{
	int tries;

	f->nr_subbufs = o->nr_subbufs;
	for (tries = 0; tries < LIVE_TRIES; tries++) {
		if (live__figures_once(o, meta, f))
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
	uint32_t epoch;
	uint32_t generation;
	uint32_t bytes;
	uint64_t events;
};

static inline bool live__newest_once(const struct live_observer *o,
				     struct live_newest *n)
{
	const struct trace_live_index *index = o->index;
	const struct trace_live_subbuf *entry;
	struct subbuf_record rec;
	struct subbuf_iter it;
	uint32_t id;

	n->epoch = live__load_acquire(&index->epoch);	/* [RESET] */
	/* pairs with [LEAVE] */
	n->generation = live__load_acquire(&index->commit_generation);
	id = live__load(&index->commit_id);
	if (n->epoch & 1 || id >= o->nr_subbufs)
		return false;
	entry = live__entry(o, id);
	if (live__load_acquire(&entry->generation) != n->generation)
		return false;
	n->events = live__load64(&entry->before);
	it = subbuf_begin(&o->format, o->subbufs +	/* pairs with [COMMIT] */
			  (size_t)id * o->format.subbuf_size);
	n->bytes = it.end - it.data;
	while (subbuf_next(&it, &rec))
		n->events++;
	live__read_barrier();	/* [CHECK] pairs with [ENTER], [RESET] */
	return live__load(&entry->generation) == n->generation &&
	       live__load(&index->epoch) == n->epoch &&
	       live__load(&index->commit_generation) == n->generation;
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
 * Return: 0, or -EAGAIN while a reset goes on or the writer is too quick.
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
	uint32_t generation;
	int ret;

	o->epoch = live__load_acquire(&o->index->epoch);	/* [RESET] */
	if (o->epoch & 1)
		return 0;
	/* Nobody is anywhere yet: what live__jump() must leave. */
	generation = live__load(&o->index->commit_generation) + 1;
	o->generation = generation;
	o->rushed = from == LIVE_FROM_NOW ? 32 : 0;
	live__jump(o);
	if (o->generation == generation)
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

static inline bool live__fits(const struct live_observer *o, size_t index_size,
			      size_t subbufs_size)
{
	size_t entries = index_size - o->entries_offset;

	return o->nr_subbufs && o->entries_offset <= index_size &&
	       o->entries_offset >= sizeof(struct trace_live_index) &&
	       o->entry_size >= sizeof(struct trace_live_subbuf) &&
	       !(o->entries_offset % 8) && !(o->entry_size % 8) &&
	       o->nr_subbufs <= entries / o->entry_size &&
	       o->nr_subbufs <= subbufs_size / o->format.subbuf_size;
}

/**
 * live_attach - begin to follow a buffer
 * @o: the observer
 * @index: the live index, mapped whole
 * @index_size: bytes of that
 * @subbufs: sub-buffer 0, the others behind it
 * @subbufs_size: bytes of all of them
 * @format: their layout
 * @from: with what to begin
 *
 * Return: 0, -EINVAL if these do not belong together, -EAGAIN while a reset
 * goes on, or -EBADMSG or -EPROTO if what is there cannot be.
 */
static inline int live_attach(struct live_observer *o,
			      const struct trace_live_index *index, size_t index_size,
			      const void *subbufs, size_t subbufs_size,
			      const struct subbuf_format *format,
			      enum live_start from)
{
	int tries, ret = 0;

	memset(o, 0, sizeof(*o));
	o->index = index;
	o->subbufs = (const unsigned char *)subbufs;
	o->format = *format;
	if (index_size < sizeof(*index) || format->subbuf_size <= format->data_offset)
		return -EINVAL;
	/* Read once: these never change. */
	o->entries_offset = live__load(&index->entries_offset);
	o->entry_size = live__load(&index->entry_size);
	o->nr_subbufs = live__load(&index->nr_subbufs);
	if (!live__fits(o, index_size, subbufs_size))
		return -EINVAL;
	live__set_id(o, 0);
	for (tries = 0; tries < LIVE_TRIES && !ret; tries++)
		ret = live__start(o, from);
	if (ret <= 0)
		return ret ? ret : -EAGAIN;
	return 0;
}

/**
 * struct live_mapping - the two mappings an observer needs
 * @meta: meta page and sub-buffers
 * @size: bytes of that
 * @index: the live index
 * @index_size: bytes of that
 */
struct live_mapping {
	const struct trace_buffer_meta *meta;
	size_t size;
	const struct trace_live_index *index;
	size_t index_size;
};

/* Map the first page to learn the size, then the whole, then let go of the page. */
static inline int live__map_whole(int fd, off_t offset, size_t (*size_of)(const void *),
				  const void **whole, size_t *size)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *start = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, offset);
	int ret = 0;

	/* For the compiler: it does not know that errno is not 0. */
	*whole = NULL;
	*size = 0;
	if (start == MAP_FAILED)
		return -errno;
	*size = size_of(start);
	*whole = mmap(NULL, *size, PROT_READ, MAP_SHARED, fd, offset);
	if (*whole == MAP_FAILED) {
		ret = -errno;
		*whole = NULL;
		*size = 0;
	}
	munmap(start, page);
	return ret;
}

static inline size_t live__meta_size(const void *start)
{
	const struct trace_buffer_meta *meta = (const struct trace_buffer_meta *)start;

	return meta->meta_page_size + (size_t)meta->nr_subbufs * meta->subbuf_size;
}

static inline size_t live__index_size(const void *start)
{
	return ((const struct trace_live_index *)start)->index_size;
}

/**
 * live_map - map the sub-buffers and the live index of a CPU's buffer
 * @m: to fill
 * @fd: the CPU's trace_pipe_raw
 *
 * Whether the kernel has a live index is asked of the ioctl(): some kernels
 * without it mishandle offsets past the end.
 *
 * Return: 0, -ENOTTY if the kernel has no live index, -EOVERFLOW if the
 * program was compiled without -D_FILE_OFFSET_BITS=64, or what mmap() said.
 */
static inline int live_map(struct live_mapping *m, int fd)
{
	const void *whole;
	int ret;

	if (sizeof(off_t) < 8)
		return -EOVERFLOW;
	if (ioctl(fd, TRACE_MMAP_IOCTL_LIVE_WAIT, NULL) < 0 && errno == ENOTTY)
		return -ENOTTY;
	ret = live__map_whole(fd, 0, live__meta_size, &whole, &m->size);
	if (ret)
		return ret;
	m->meta = (const struct trace_buffer_meta *)whole;
	ret = live__map_whole(fd, (off_t)TRACE_MMAP_LIVE_OFFSET, live__index_size,
			      &whole, &m->index_size);
	if (ret) {
		munmap((void *)m->meta, m->size);
		return ret;
	}
	m->index = (const struct trace_live_index *)whole;
	return 0;
}

static inline void live_unmap(struct live_mapping *m)
{
	munmap((void *)m->index, m->index_size);
	munmap((void *)m->meta, m->size);
}

/**
 * live_attach_mapping - begin to follow a buffer that live_map() has mapped
 * @o: the observer
 * @m: the mapping
 * @format: as events/header_page tells it; its @subbuf_size becomes the
 *	mapping's
 * @from: with what to begin
 *
 * Return: as live_attach()
 */
static inline int live_attach_mapping(struct live_observer *o,
				      const struct live_mapping *m,
				      struct subbuf_format *format,
				      enum live_start from)
{
	uint32_t before = m->meta->meta_page_size;

	format->subbuf_size = m->meta->subbuf_size;
	if (before > m->size)
		return -EINVAL;
	return live_attach(o, m->index, m->index_size,
			   (const char *)m->meta + before, m->size - before,
			   format, from);
}

#endif /* _TRACEMAP_LIVE_H */

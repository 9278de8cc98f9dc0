/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Follow a CPU's trace buffer by its file trace_live: an observer sees all events in
 * order and in place, without system calls, and takes none from a consumer.
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
 *			forget sum: the writer overwrote these events;
 *	}
 *
 * The writer may overwrite what live_look() shows while the caller reads it. The events
 * are valid only if live_accept() returns 1 afterwards. Until then the caller must do
 * nothing that it cannot undo. A caller that prints events, or follows pointers in them,
 * calls live_copy() in between, and reads a copy that is already known to be good.
 *
 * Events that were overwritten before the observer saw them are counted exactly. They are
 * added to o.missed when the observer finds out, and live_gap() is the number of events
 * that were lost right before those of the present look. Within an epoch, from where the
 * observer started,
 *
 *	o.first + o.seen + o.missed = o.count
 *
 * When no event is in flight and live_look() returns LIVE_NOTHING, o.count is the number
 * of events committed.
 *
 * The writer may never pause: live_until() and live_look_until() show what there is by now.
 *
 * Only one thread may use an observer. There may be any number of observers. The
 * functions check values of the index and of a sub-buffer wherever these could lead
 * outside the mapping.
 *
 * The functions are the steps of the algorithm in linux/trace_live.h: LOOK is
 * live__look_once(), CHECK is live__check(), NEXT is live__next(), JUMP is live__jump(),
 * and START is live__start().
 *
 * Ordering. Each barrier here has a partner in kernel/trace/ring_buffer_live.c, which has
 * the same label:
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

/* What live_look() returns. */
enum {
	LIVE_NOTHING	= 0,	/* there is nothing more for now */
	LIVE_EVENTS	= 1,	/* the iterator has bytes to go through */
	LIVE_RESET	= 2,	/* the buffer was emptied, and all counts restart */
	LIVE__MOVED	= 3,	/* internal: the position has changed, look again */
	LIVE_END	= 4,	/* of live_look_until(): all before the end was shown, or is gone */
};

enum live_start {
	LIVE_FROM_OLDEST,	/* begin with the oldest event that is still there */
	LIVE_FROM_NOW,		/* begin with the next event that is written */
};

/* How often to repeat a read that the writer has disturbed, before the caller has to */
#define LIVE_TRIES	64

/* After this many failed jumps the next one aims at the newest sub-buffer. */
#define LIVE_RUSH	16

/**
 * struct live_mapping - a mapping of trace_live
 * @index: the live index, with which the mapping begins
 * @size: bytes mapped
 */
struct live_mapping {
	const struct trace_live_index *index;
	size_t size;
};

/**
 * struct live_observer - an observer of one CPU's events
 * @first: events of the epoch that were written before the observer started
 * @seen: events that the observer has accepted since
 * @missed: events that were overwritten since and that the observer has not seen; it may
 *	grow before live_gap() reports them
 * @count: events of the epoch before the present position
 * @resets: epochs that ended since the observer started
 * @epoch: the present epoch
 * @generation: the number of the sub-buffer that the observer is at, counted from the
 *	first one ever written; 0 after a reset, until the observer has found a
 *	sub-buffer of the new epoch
 * @id: the id of that sub-buffer
 * @pos: bytes of that sub-buffer that were accepted
 * @nr_subbufs: sub-buffers of the buffer
 * @format: the layout of a sub-buffer
 *
 * Programs may read these. The other members belong to the observer.
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
	const struct trace_live_subbuf *entry;	/* the entry of @id in the index */
	const unsigned char *subbuf;		/* the sub-buffer @id */
	uint32_t entry_size;
	uint64_t commit_generation;	/* as this look has loaded it */
	uint32_t base;			/* where in the sub-buffer the iterator counts from */
	uint32_t end;			/* where in the sub-buffer this look ends */
	uint32_t rushed;		/* failed jumps since the last success */
	uint64_t ts;			/* time stamp at @pos */
	uint64_t told;			/* how much of @missed was reported */
	bool final;			/* the writer has left the sub-buffer */
	bool copied;			/* the iterator is on a copy, which is good */
};

/**
 * struct live_figures - the counts of the index, which can be read without the events
 * @epoch: the epoch of these counts
 * @committed: events committed, up to the last finished sub-buffer
 * @overwritten: how many of these were overwritten before a consumer read them
 * @dropped: events for which there was no room; exact at any time
 * @consumed: events that consumers have taken, as of the last call of one
 * @used: sub-buffers that hold unread events; what the writer or a consumer did since
 *	the last sub-buffer was finished may be missing
 * @nr_subbufs: sub-buffers of the buffer
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

/*
 * Load 64 bits by two loads. The value is not torn: the upper half was the same before and
 * after the lower one was loaded.
 */
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

/*
 * A 32-bit kernel stores the halves one by one. While they do not belong together, the
 * lower half is 0xffffffff: load the generation again then.
 */
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

/* Does all that was read since the last barrier belong to @generation, at @entry? */
static __always_inline bool live__holds(const struct live_observer *o,
					const struct trace_live_subbuf *entry,
					uint64_t generation)
{
	live__read_barrier();	/* [CHECK] pairs with [ENTER], [RESET] */
	return live__load_generation(&entry->generation) == generation &&
	       live__load64(&o->index->epoch) == o->epoch;
}

/*
 * Move to the first event of a sub-buffer, before which there were @before events. The
 * events between the old position and the new one are missed.
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
 * Find the smallest generation above @after and up to @newest. Returns the id of its
 * sub-buffer, nr_subbufs if there is none.
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

/* The index has the id of the newest sub-buffer. A search might be slower than the writer. */
static inline uint32_t live__find_newest(const struct live_observer *o, uint64_t newest)
{
	uint32_t id = live__load(&o->index->commit_id);

	return id < o->nr_subbufs && live__generation(o, id) == newest ? id : o->nr_subbufs;
}

/*
 * Go to the oldest sub-buffer that is still there. A quick writer may overwrite it while
 * the observer searches for it. Therefore, after a failed jump, the next one leaves out
 * the older half of the sub-buffers, after two failed jumps three quarters, and so on.
 * Pairs with [LEAVE] by live__load_newest().
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
	/* [CHECK] the count is that of this generation */
	if (live__holds(o, live__entry(o, id), generation))
		live__stand_at(o, id, generation, before);
}

/* The observer has seen all of a finished sub-buffer: go to the one that follows. */
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
	/* [CHECK] the count is that of this generation */
	if (!subbuf__likely(live__holds(o, entry, generation)))
		goto overwritten;
	live__stand_at(o, id, generation, before);
	return LIVE__MOVED;

overwritten:
	live__jump(o);
	return LIVE__MOVED;
}

/* Is all that this look has read what the writer wrote? */
static __always_inline bool live__check(const struct live_observer *o)
{
	if (!live__holds(o, o->entry, o->generation))
		return false;
	/*
	 * Once the writer has left the sub-buffer, a consumer may change its commit word:
	 * if the writer was in it when this look began, it must still be in it.
	 */
	return o->final ||
	       live__load_generation(&o->index->commit_generation) == o->commit_generation;
}

/* Begin a new epoch, at its first event. */
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
			return LIVE_NOTHING;	/* the buffer is still being emptied */
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
 * live_look - show the events beyond the position
 * @o: the observer
 * @it: set if there are some
 *
 * If a look is not accepted, the next one begins at the same position, or, if that was
 * overwritten, at a later one, and @o->missed counts the events between them.
 *
 * Return: LIVE_EVENTS if @it has bytes to go through, which may be padding only;
 * LIVE_NOTHING; LIVE_RESET; or -EPROTO if what is mapped cannot be an index
 */
static __always_inline int live_look(struct live_observer *o,
				     struct subbuf_iter *it)
{
	uint32_t tries = o->nr_subbufs + LIVE_TRIES;
	int ret;

	/* All sub-buffers on the way may be empty, and each one takes a try. */
	do {
		ret = live__look_once(o, it);
	} while (ret == LIVE__MOVED && --tries);
	return ret == LIVE__MOVED ? LIVE_NOTHING : ret;
}

/**
 * live_gap - how many events are missed right before those that live_look() shows
 * @o: the observer
 *
 * Return: their number
 */
static inline uint64_t live_gap(const struct live_observer *o)
{
	return o->missed - o->told;
}

/**
 * live_check - ask whether what was read so far is what the writer wrote
 * @o: the observer, after live_look() returned LIVE_EVENTS
 *
 * live_accept() checks the same. This is for callers that want to know earlier.
 *
 * Return: whether it is
 */
static inline bool live_check(const struct live_observer *o)
{
	return o->copied || live__check(o);
}

/*
 * The writer may change the bytes while they are copied: then the caller throws the copy
 * away. The thread sanitizer reports such a race unless the loads are atomic.
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
 * live_copy - copy the bytes of this look to where no writer overwrites them
 * @o: the observer, after live_look() returned LIVE_EVENTS
 * @it: what live_look() has set
 * @buf: where to copy them, aligned to 8
 * @size: bytes of @buf; the size of a sub-buffer is always enough
 *
 * Return: 1 if the copy is good: @it then goes through the copy; 0 if the bytes were
 * overwritten meanwhile: look again; -ENOSPC if @buf is too small
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
 * live_accept - ask whether the events are good, and move the position behind them
 * @o: the observer, after live_look() returned LIVE_EVENTS
 * @it: what live_look() has set, gone through
 * @events: how many events came out of @it
 *
 * The iterator need not be at its end: the next look shows the rest.
 *
 * Return: 1 if the events are what the writer wrote: the position is then behind them; 0
 * if none of them can be relied on: look again; -EBADMSG if they are good up to damage at
 * which the iterator stopped: the others of this look will be counted as missed
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
 * live_position - the position as TRACE_LIVE_IOCTL_SET_POSITION takes it
 * @o: the observer
 * @bytes: how many bytes beyond the position end a wait: 1 for any event, 0 for what
 *	buffer_percent says
 *
 * Return: the argument of the ioctl
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

/* Bytes of records in a sub-buffer, which may be the one that the writer is in */
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
 * When the writer enters a sub-buffer, it stores how many sub-buffers are unread, without
 * the reader's. Consumers may have read some since: there cannot be more unread ones than
 * lie between the reader's sub-buffer and the writer's.
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
 * live_figures - read the counts of the index
 * @o: an observer of the buffer, whose position does not matter and does not change
 * @f: filled
 *
 * Return: 0, or -EAGAIN while the buffer is being emptied or the writer is too quick
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
 * @epoch: the epoch of the other members
 * @generation: the generation of the sub-buffer that it is writing
 * @bytes: bytes committed in that sub-buffer
 * @events: all events committed in this epoch
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
 * live_newest - find where the writer is, and how many events it has committed
 * @o: an observer of the buffer, whose position does not matter and does not change
 * @n: filled
 *
 * live_figures() counts up to the last finished sub-buffer. This counts the events of the
 * sub-buffer that is being written, too.
 *
 * Return: 0, or -EAGAIN while the buffer is being emptied or the writer is too quick
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

/**
 * struct live_until - where an observer ends, although the writer goes on
 * @end: the end, which is where the writer was when live_until() was called
 * @missed: set with LIVE_END: how many events right before the end are missed
 * @reset: set with LIVE_END: the buffer was emptied before the observer reached the end
 */
struct live_until {
	struct live_newest end;
	uint64_t missed;
	bool reset;
};

/**
 * live_until - end where the writer is now
 * @o: the observer
 * @u: filled
 *
 * Return: 0, or -EAGAIN while the buffer is being emptied or the writer is too quick
 */
static inline int live_until(const struct live_observer *o, struct live_until *u)
{
	memset(u, 0, sizeof(*u));
	return live_newest(o, &u->end);
}

/*
 * Consumers keep the sub-buffer that they read last, however far the writer goes on. If the
 * observer would begin with it, and what followed it is overwritten, begin with the oldest of
 * the ring instead: the gap is from before.
 */
static inline void live__leave_old_reader(struct live_observer *o)
{
	uint64_t start = o->generation, next;
	int tries;

	if (!start || o->seen || o->pos || o->id != live__load(&o->index->reader_id) ||
	    live__find_above(o, start, live__load_newest(o), &next) == o->nr_subbufs ||
	    next == start + 1)
		return;
	for (tries = 0; tries <= LIVE_RUSH && o->generation == start; tries++)
		live__jump(o);
	o->first = o->count;
	o->missed = 0;
	o->rushed = 0;
}

/* Has the observer shown all before the end, or is it past it? */
static inline bool live__is_past(const struct live_observer *o, const struct live_newest *end)
{
	if (o->epoch != end->epoch)
		return o->epoch > end->epoch;
	if (o->generation != end->generation)
		return o->generation > end->generation;
	return o->pos >= end->bytes;
}

/* The events of the end's epoch that the observer has seen or has reported as missed */
static inline uint64_t live__told(const struct live_observer *o, const struct live_newest *end)
{
	if (o->epoch != end->epoch)
		return o->epoch < end->epoch ? 0 : end->events;
	return o->first + o->seen + o->told;
}

/**
 * live_look_until - show the events beyond the position, up to an end
 * @o: the observer
 * @it: set if there are some
 * @u: the end
 *
 * Use it in place of live_look(). Events that the writer overwrites beyond the end do not
 * count as missed: in each epoch, from where the observer started, the events seen and
 * missed add up to those that were committed before the end, whether the observer reached
 * the end or was overtaken. live_look() goes on after the end, and so does another
 * live_until().
 *
 * Return: LIVE_END if there is nothing more before the end, with the number of events
 * missed there in @u; otherwise what live_look() returns, where LIVE_NOTHING means to
 * look again
 */
static inline int live_look_until(struct live_observer *o, struct subbuf_iter *it,
				  struct live_until *u)
{
	const struct live_newest *end = &u->end;
	uint64_t told = live__told(o, end), epoch = o->epoch;
	int ret = LIVE_NOTHING;

	if (!live__is_past(o, end)) {
		ret = live_look(o, it);
		if (ret == LIVE_RESET && o->epoch <= end->epoch)
			return ret;
	}
	if (live__is_past(o, end)) {
		u->missed = told < end->events ? end->events - told : 0;
		u->reset = epoch <= end->epoch && o->epoch > end->epoch;
		if (o->epoch == end->epoch)
			o->told += u->missed;
		return LIVE_END;
	}
	if (ret == LIVE_EVENTS && o->generation == end->generation && o->end > end->bytes)
		return live__show(o, it, end->bytes);
	return ret;
}

/*
 * Pass over the events that the newest sub-buffer has already. Returns 1, 0 to try again,
 * or a negative errno. The observer needs their deltas to know the time.
 */
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
		o->rushed = LIVE_RUSH;	/* live__jump() goes to the newest */
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

/* Read the layout, once: it never changes. */
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

/* Does an array of @nr lie within the @size bytes of the mapping, aligned to a u64? */
static inline bool live__fits(uint64_t offset, uint32_t each, uint32_t nr, size_t size)
{
	return offset >= sizeof(struct trace_live_index) && offset <= size &&
	       !(offset % 8) && nr <= (size - offset) / each;
}

/* Open the index alone, for figures: live_look() and live_newest() need the sub-buffers. */
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
 * @from: where to begin
 *
 * Return: 0; -EINVAL if the mapping cannot be one of trace_live; -EAGAIN while the
 * buffer is being emptied; or -EBADMSG or -EPROTO if the buffer's contents make no sense
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

/* Map as many bytes as the index says in its member at @offset_of. */
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
 * @m: filled
 * @fd: trace_live of the CPU; it may be closed afterwards, unless the caller is to wait
 *	for it
 *
 * Return: 0; -EOVERFLOW if a 32-bit program cannot map so much; or the negative errno of
 * mmap(2)
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

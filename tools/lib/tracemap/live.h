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
 * that were lost right before those of the present look. From where the observer started,
 * or the buffer was emptied since,
 *
 *	o.before + o.seen + o.missed = o.count
 *
 * When no event is in flight and live_look() returns LIVE_NOTHING, o.count is the number
 * of events committed.
 *
 * Only one thread may use an observer. There may be any number of observers. The
 * functions check values of the index and of a sub-buffer wherever these could lead
 * outside the mapping.
 *
 * The functions are the steps of the algorithm in Documentation/trace/ring-buffer-live.rst:
 * START is live__start(), ADVANCE is live__advance(), LOOK is live__look_once(), and CHECK
 * is live__check().
 *
 * Ordering. Each barrier here has a partner in kernel/trace/ring_buffer_live.c, which has
 * the same label:
 *
 *	here				the kernel
 *
 *	load-acquire commit_generation	[LEAVE] store-release of it, after the size of
 *					the sub-buffer left, before and id of the one
 *					entered; [RESET] store-release of it, after
 *					what the buffer begins with
 *	load-acquire commit word	[COMMIT] store-release of it, after the
 *					records
 *	[CHECK] read barrier, then	[ENTER] write barrier, after the new
 *	generation, first,		generation, before the first change of
 *	commit_generation		the sub-buffer
 *					[RESET] write barrier, after the new first,
 *					before the first sub-buffer is cleared
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
};

enum live_start {
	LIVE_FROM_OLDEST,	/* begin with the oldest event that is still there */
	LIVE_FROM_NOW,		/* begin with the next event that is written */
};

/* How often to repeat a read that the writer has disturbed, before the caller has to */
#define LIVE_TRIES	64

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
 * @before: events since @first that were written before the observer started
 * @seen: events that the observer has accepted since
 * @missed: events that were overwritten since and that the observer has not seen; it may
 *	grow before live_gap() reports them
 * @count: events since @first that are before the present position
 * @resets: how often the buffer was emptied since the observer started
 * @first: the generation with which the buffer began: another one after it was emptied
 * @generation: the generation that the observer is at; below @first until it has found one
 *	after a reset
 * @pos: bytes of that sub-buffer that were accepted
 * @nr_subbufs: sub-buffers of the buffer
 * @format: the layout of a sub-buffer
 *
 * Programs may read these. The other members belong to the observer.
 */
struct live_observer {
	uint64_t before;
	uint64_t seen;
	uint64_t missed;
	uint64_t count;
	uint64_t resets;
	uint64_t first;
	uint64_t generation;
	uint32_t pos;
	uint32_t nr_subbufs;
	struct subbuf_format format;

	/* private: */
	const struct trace_live_index *index;
	const unsigned char *entries;
	const unsigned char *subbufs;
	const struct trace_live_subbuf *entry;	/* of @generation; NULL: none was found yet */
	const unsigned char *subbuf;		/* the sub-buffer that holds @generation */
	uint32_t entry_size;
	uint32_t nr_slots;
	uint64_t commit_generation;	/* as this look has loaded it */
	uint32_t base;			/* where in the sub-buffer the iterator counts from */
	uint32_t end;			/* where in the sub-buffer this look ends */
	uint64_t ts;			/* time stamp at @pos */
	uint64_t told;			/* how much of @missed was reported */
	bool final;			/* the writer has left the sub-buffer */
	bool copied;			/* the iterator is on a copy, which is good */
};

static __always_inline void live__read_barrier(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

static __always_inline uint32_t live__load(const __u32 *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/* The alignment tells a compiler for 32 bits that one load does it. */
typedef __u64 __attribute__((aligned(8))) live__u64;

static __always_inline uint64_t live__load64(const __u64 *p)
{
	return __atomic_load_n((const live__u64 *)p, __ATOMIC_RELAXED);
}

/* pairs with [LEAVE] and [RESET] */
static __always_inline uint64_t live__load_newest(const struct live_observer *o)
{
	uint64_t generation = live__load64(&o->index->commit_generation);

	live__read_barrier();
	return generation;
}

/* The entry that describes a generation, as long as its own generation is the same */
static __always_inline const struct trace_live_subbuf *
live__entry(const struct live_observer *o, uint64_t generation)
{
	size_t slot = generation % o->nr_slots;

	return (const struct trace_live_subbuf *)(o->entries + slot * o->entry_size);
}

static __always_inline const unsigned char *
live__subbuf(const struct live_observer *o, uint32_t id)
{
	return o->subbufs + (size_t)id * o->format.subbuf_size;
}

static __always_inline uint32_t live__capacity(const struct live_observer *o)
{
	return o->format.subbuf_size - o->format.data_offset;
}

/*
 * Does all that was read since the last barrier belong to @generation, of a buffer that
 * began with @first?
 */
static __always_inline bool live__holds(const struct live_observer *o,
					const struct trace_live_subbuf *entry,
					uint64_t generation, uint64_t first)
{
	live__read_barrier();	/* [CHECK] pairs with [ENTER], [RESET] */
	return live__load64(&entry->generation) == generation &&
	       live__load64(&o->index->first) == first;
}

/* Is all that this look has read what the writer wrote? */
static __always_inline bool live__check(const struct live_observer *o)
{
	if (!live__holds(o, o->entry, o->generation, o->first))
		return false;
	/*
	 * Once the writer has left the sub-buffer, a consumer may change its commit word:
	 * if the writer was in it when this look began, it must still be in it.
	 */
	return o->final ||
	       live__load64(&o->index->commit_generation) == o->commit_generation;
}

/*
 * Move to the first event of a generation, before which there were @before events. The
 * events between the old position and the new one are missed.
 */
static __always_inline void live__stand_at(struct live_observer *o, uint64_t generation,
					   uint32_t id, uint64_t before)
{
	o->missed += before - o->count;
	o->count = before;
	o->entry = live__entry(o, generation);
	o->subbuf = live__subbuf(o, id);
	o->generation = generation;
	o->pos = 0;
}

/*
 * Go to the next generation or, where the writer has overwritten that, to the oldest that is
 * still there. Interrupts may have overwritten more of them while an event is being written:
 * each try leaves out one. A try that fails says that the writer has gone on, which a load of
 * commit_generation need not show yet: then the observer stays, and looks again. Returns
 * false if what the index says cannot be true.
 */
static inline bool live__advance(struct live_observer *o)
{
	uint64_t generation = o->generation, now, before;
	const struct trace_live_subbuf *entry;
	uint32_t id, tries;

	for (tries = o->nr_slots + LIVE_TRIES; tries; tries--) {
		now = live__load_newest(o);
		generation++;
		if (now >= o->nr_slots && generation <= now - o->nr_slots)
			generation = now - o->nr_slots + 1;
		if (generation > now)
			break;
		entry = live__entry(o, generation);
		before = live__load64(&entry->before);
		id = live__load(&entry->id);
		/* [CHECK] they are those of this generation */
		if (!subbuf__likely(live__holds(o, entry, generation, o->first)))
			continue;
		if (!subbuf__likely(id < o->nr_subbufs))
			return false;
		live__stand_at(o, generation, id, before);
		break;
	}
	return true;
}

/* Stand before a generation, with all counts 0. */
static inline void live__begin_at(struct live_observer *o, uint64_t first, uint64_t generation)
{
	o->first = first;
	o->before = 0;
	o->seen = 0;
	o->missed = 0;
	o->told = 0;
	o->count = 0;
	o->generation = generation - 1;
	o->pos = 0;
	o->entry = NULL;
}

/* The buffer was emptied, or is being emptied: its first event is next. */
static __always_inline int live__restart(struct live_observer *o)
{
	uint64_t first = live__load64(&o->index->first);

	if (live__load_newest(o) < first)
		return LIVE_NOTHING;
	live__begin_at(o, first, first);
	o->resets++;
	return live__advance(o) ? LIVE_RESET : -EPROTO;
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
	uint32_t end;

	o->commit_generation = live__load_newest(o);
	if (!subbuf__likely(live__load64(&o->index->first) == o->first))
		return live__restart(o);
	if (!subbuf__likely(o->entry &&
			    live__load64(&o->entry->generation) == o->generation))
		return live__advance(o) ? LIVE__MOVED : -EPROTO;

	o->final = o->commit_generation != o->generation;
	if (o->final) {
		end = live__load(&o->entry->size) & ~3U;
		if (end <= o->pos)
			return live__advance(o) ? LIVE__MOVED : -EPROTO;
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
	p.generation = o->generation;
	p.read = o->pos;
	p.bytes = bytes;
	return p;
}

/**
 * struct live_figures - where the writer is, and the counts of the index
 * @first: the generation with which the buffer began: another one after it was emptied
 * @generation: the generation that the writer commits events to
 * @bytes: bytes committed in that sub-buffer
 * @events: events committed
 * @committed: those of them that are not in that sub-buffer
 * @overwritten: events overwritten before a consumer read them, up to the same
 * @dropped: events for which there was no room; exact at any time
 * @consumed: events that consumers have taken, as of the last call of one
 * @used: sub-buffers with unread events that were committed since the buffer was resized
 *	last, and the one that is being written
 * @nr_subbufs: sub-buffers of the buffer
 */
struct live_figures {
	uint64_t first;
	uint64_t generation;
	uint64_t events;
	uint64_t committed;
	uint64_t overwritten;
	uint64_t dropped;
	uint64_t consumed;
	uint32_t bytes;
	uint32_t used;
	uint32_t nr_subbufs;
};

/* Events that consumers need not read any more: they have, or the writer overwrote them. */
static inline uint64_t live__passed(const struct live_observer *o)
{
	return live__load64(&o->index->read) + live__load64(&o->index->overwritten);
}

/*
 * Find the generation in which the first @passed events end: it is up to @now, and the
 * oldest in the index if they end before that one.
 */
static inline uint64_t live__end_of(const struct live_observer *o, uint64_t passed,
				    uint64_t now)
{
	uint64_t low = live__load64(&o->index->first), high = now, middle;

	if (now >= o->nr_slots && low <= now - o->nr_slots)
		low = now - o->nr_slots + 1;
	while (low < high) {
		middle = high - (high - low) / 2;
		if (live__load64(&live__entry(o, middle)->before) <= passed)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Count what is in the writer's sub-buffer; without the sub-buffers that is left out. */
static inline void live__count_newest(const struct live_observer *o, uint32_t id,
				      struct live_figures *f)
{
	struct subbuf_record rec;
	struct subbuf_iter it;

	f->events = f->committed;
	f->bytes = 0;
	if (!o->subbufs || id >= o->nr_subbufs)
		return;
	it = subbuf_begin(&o->format, live__subbuf(o, id));	/* pairs with [COMMIT] */
	f->bytes = it.end - it.data;
	while (subbuf_next(&it, &rec))
		f->events++;
}

static inline bool live__figures_once(const struct live_observer *o,
				      struct live_figures *f)
{
	const struct trace_live_index *index = o->index;
	const struct trace_live_subbuf *entry;

	f->generation = live__load_newest(o);
	f->first = live__load64(&index->first);
	if (f->generation < f->first)
		return false;
	entry = live__entry(o, f->generation);
	f->committed = live__load64(&entry->before);
	f->overwritten = live__load64(&index->overwritten);
	f->dropped = live__load64(&index->dropped);
	f->consumed = live__load64(&index->read);
	f->used = f->generation - live__end_of(o, live__passed(o), f->generation) + 1;
	live__count_newest(o, live__load(&entry->id), f);
	return live__holds(o, entry, f->generation, f->first) &&
	       live__load64(&index->commit_generation) == f->generation;
}

/**
 * live_figures - find where the writer is, and read the counts of the index
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

/* Returns 1, 0 to try again, or a negative errno. */
static inline int live__start(struct live_observer *o, enum live_start from)
{
	uint64_t now = live__load_newest(o), first = live__load64(&o->index->first);
	int ret;

	if (now < first)
		return 0;
	live__begin_at(o, first, from == LIVE_FROM_NOW ? now : first);
	if (!live__advance(o))
		return -EPROTO;
	if (!o->entry)
		return 0;
	ret = from == LIVE_FROM_NOW ? live__pass(o) : 1;
	o->before = o->count;
	o->seen = 0;
	o->missed = 0;
	o->told = 0;
	o->resets = 0;
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
	f->commit_size = 8;
	f->big_endian = subbuf__host_big;
	return f->subbuf_size > f->data_offset && f->data_offset >= f->commit_size &&
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

/* Open the index alone, for figures: live_look() needs the sub-buffers. */
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
	o->nr_slots = live__load(&index->nr_slots);
	o->nr_subbufs = live__load(&index->nr_subbufs);
	if (!o->nr_slots || !o->nr_subbufs ||
	    o->entry_size < sizeof(struct trace_live_subbuf) || o->entry_size % 8 ||
	    !live__fits(offset, o->entry_size, o->nr_slots, m->size))
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

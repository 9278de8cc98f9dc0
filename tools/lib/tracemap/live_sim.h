/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * A ring buffer in plain memory, for live_test.c. Its writer, consumer and resets change
 * it as the kernel changes the ring buffer and its live index.
 *
 * The writer nests as interrupts do: at each point where an interrupt could come, the same
 * thread may reserve inside another reservation. Events are numbered, and each word of an
 * event is computed from its number and the generation that the buffer began with, so that
 * the test notices an event that is a mixture of two.
 *
 * Once the index and the sub-buffers are shared, every access to them is atomic, so that
 * the test runs under the thread sanitizer, too.
 */
#ifndef _TRACEMAP_LIVE_SIM_H
#define _TRACEMAP_LIVE_SIM_H

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "live.h"

#define HEADER		16
#define MAX_SUBBUFS	64

/* Count a failure of the test if the condition does not hold. */
static bool check_at(bool ok, const char *what, const char *func, int line);

#define check(cond) check_at(cond, #cond, __func__, __LINE__)

/* A buffer. All threads share the mapping, which has the index and the sub-buffers. */
struct sim {
	struct live_mapping map;
	struct trace_live_index *index;
	unsigned char *subbufs;
	struct subbuf_format f;
	uint32_t nr, slots, data_size;
	bool overwrite;

	pthread_mutex_t writers;	/* held by a thread that excludes the writer */
	pthread_mutex_t reader;		/* the kernel's reader_lock; the head moves under it, too */
	uint32_t head, tail, commit, reader_id;
	uint32_t next[MAX_SUBBUFS];
	uint32_t slot[MAX_SUBBUFS];	/* where the entry is, of a sub-buffer that was entered */
	uint32_t write[MAX_SUBBUFS];	/* the write index */
	uint32_t end[MAX_SUBBUFS];	/* where the records end, without padding */
	uint32_t entries[MAX_SUBBUFS];	/* events that were not discarded */

	uint32_t seq;			/* number of the next event, since the buffer was emptied */
	uint32_t clock;
	uint32_t last_ts;
	uint64_t overwritten, dropped, consumed;
	uint32_t read;			/* bytes consumed of the reader's sub-buffer */
	unsigned int rand;
	int nested;
	bool quiet;			/* nothing nests, nothing is delayed */
	bool stop;
};

static void store(__u32 *p, uint32_t value)
{
	__atomic_store_n(p, value, __ATOMIC_RELAXED);
}

static void store64(__u64 *p, uint64_t value)
{
	__atomic_store_n(p, value, __ATOMIC_RELAXED);
}

static struct trace_live_subbuf *entries_of(struct sim *s)
{
	return (struct trace_live_subbuf *)(s->index + 1);
}

static struct trace_live_subbuf *entry_of(struct sim *s, uint32_t id)
{
	return entries_of(s) + s->slot[id];
}

static unsigned char *subbuf_of(struct sim *s, uint32_t id)
{
	return s->subbufs + (size_t)id * s->f.subbuf_size;
}

static void put(struct sim *s, uint32_t id, uint32_t offset, uint32_t word)
{
	store((__u32 *)(subbuf_of(s, id) + HEADER + offset), word);
}

/* The first word of a record, with its bit fields in the order of the machine. */
static uint32_t header(uint32_t type, uint32_t delta)
{
	return subbuf__host_big ? type << SUBBUF_TIME_SHIFT | delta : type | delta << 5;
}

static void set_commit(struct sim *s, uint32_t id, uint32_t value)
{
	__atomic_store_n((__u64 *)(subbuf_of(s, id) + 8), value, __ATOMIC_RELEASE);
}

static unsigned int chance(unsigned int *state, unsigned int one_in)
{
	*state = *state * 1664525 + 1013904223;
	return !((*state >> 8) % one_in);
}

static void delay(unsigned int *state)
{
	struct timespec ts = { 0, 20000 };

	if (chance(state, 400))
		nanosleep(&ts, NULL);
	else if (chance(state, 40))
		sched_yield();
}

/* A word of an event. */
static uint32_t word_of(uint32_t seq, uint32_t first, uint32_t i)
{
	uint32_t x = (seq ^ first << 20) * 2654435761U + i * 40503U;

	return x ^ x >> 15;
}

/* The writer. */

static void interrupt(struct sim *s);

/*
 * If the commit is on the reader's sub-buffer, interrupts may have entered all of the ring
 * meanwhile: then the slot of the tail describes another generation already, so this one
 * has been loaded before the tail was looked at.
 */
static void enter(struct sim *s, uint32_t tail, uint32_t next)
{
	uint32_t slot = (s->slot[tail] + 1) % s->slots;
	struct trace_live_subbuf *entry = entries_of(s) + slot;
	uint64_t generation = entry_of(s, tail)->generation + 1;

	if (s->tail != tail)
		return;		/* an interrupt has stored all of it */
	interrupt(s);
	store64(&entry->generation, generation);
	__atomic_thread_fence(__ATOMIC_RELEASE);	/* [ENTER] */
	store(&entry->id, next);
	s->slot[next] = slot;
}

static void leave(struct sim *s, uint32_t id)
{
	uint32_t next = s->next[id];
	struct trace_live_subbuf *from = entry_of(s, id), *to = entry_of(s, next);

	set_commit(s, id, s->write[id]);
	delay(&s->rand);
	store(&from->size, s->end[id]);
	store64(&to->before, from->before + s->entries[id]);
	store64(&s->index->overwritten, s->overwritten);
	delay(&s->rand);
	__atomic_store_n(&s->index->commit_generation, to->generation,
			 __ATOMIC_RELEASE);	/* [LEAVE] */
	__atomic_store_n(&s->commit, next, __ATOMIC_RELEASE);	/* [LEFT] */
}

/* May the tail go on to the next sub-buffer, @to? The head moves to make room if needed. */
static bool tail_may_move(struct sim *s, uint32_t *to)
{
	bool room = true;
	uint32_t next;

	pthread_mutex_lock(&s->reader);
	next = *to = s->next[s->tail];
	if (next == s->commit) {
		room = false;
	} else if (next == s->head) {
		if (s->commit == s->reader_id) {
			room = s->commit == s->tail;
		} else if (!s->overwrite) {
			room = false;
		} else {
			s->overwritten += s->entries[next];
			s->head = s->next[next];
		}
	}
	pthread_mutex_unlock(&s->reader);
	return room;
}

/* Fill the rest of the sub-buffer with padding, of one kind or the other. */
static void pad(struct sim *s, uint32_t id)
{
	uint32_t at = s->write[id], rest = s->data_size - at;

	if (!rest)
		return;
	if (rest >= 8 && at & 4) {
		put(s, id, at + 4, rest - 4);
		put(s, id, at, header(SUBBUF_TYPE_PADDING, 1));
	} else {
		put(s, id, at, header(SUBBUF_TYPE_PADDING, 0));
	}
	s->write[id] = s->data_size;
}

/* Move the tail. Two writers may do this at once, one inside the other. */
static bool cross(struct sim *s, uint32_t tail)
{
	uint32_t next;

	if (!tail_may_move(s, &next)) {
		pad(s, tail);
		return false;
	}
	interrupt(s);
	enter(s, tail, next);
	if (s->tail != tail)
		return true;	/* an interrupt has moved it */
	pad(s, tail);
	set_commit(s, next, 0);
	s->write[next] = 0;
	s->end[next] = 0;
	s->entries[next] = 0;
	s->tail = next;
	return true;
}

/* Reserve room for a record of @size bytes in the sub-buffer where the tail is. */
static bool reserve(struct sim *s, uint32_t size, uint32_t *id, uint32_t *at)
{
	for (;;) {
		*id = s->tail;
		*at = s->write[*id];
		if (s->data_size - *at >= size)
			break;
		if (!cross(s, *id))
			return false;
	}
	s->write[*id] += size;
	s->end[*id] = s->write[*id];
	return true;
}

static void stamp(struct sim *s, uint32_t id)
{
	store64((__u64 *)subbuf_of(s, id), s->clock);
}

/* Write a record of @words words, which is an event if @keep, else discarded. */
static void add(struct sim *s, uint32_t words, bool keep)
{
	uint32_t delta, id, at, i, seq, first = s->index->first;
	uint32_t large = words > SUBBUF_TYPE_DATA_MAX;

	if (!reserve(s, 4 * (1 + large + words), &id, &at)) {
		s->dropped += keep;
		store64(&s->index->dropped, s->dropped);
		return;
	}
	s->clock += 3;
	if (!at) {
		stamp(s, id);
		s->last_ts = s->clock;
	}
	delta = s->clock - s->last_ts;
	s->last_ts = s->clock;
	seq = s->seq;
	if (keep) {
		s->entries[id]++;
		s->seq++;
	}
	put(s, id, at, header(keep ? large ? 0 : words : SUBBUF_TYPE_PADDING,
			      delta ? delta : !keep));
	if (!keep && !delta)	/* a discarded record has a delta of 1 at least */
		s->last_ts = ++s->clock;
	at += 4;
	if (large || !keep) {
		put(s, id, at, 4 * (words + large));
		at += 4 * large;
	}
	interrupt(s);
	put(s, id, at, keep ? seq : 4 * words);
	for (i = 1; i < words; i++)
		put(s, id, at + 4 * i, word_of(seq, first, i));
}

static void write_some(struct sim *s)
{
	uint32_t words = 2 + (s->rand >> 9) % 6;

	if (chance(&s->rand, 40))
		words = 30;
	add(s, words, !chance(&s->rand, 6));
	if (s->nested)
		return;
	/* Only the outermost writer moves the commit. */
	while (s->commit != s->tail) {
		leave(s, s->commit);
		interrupt(s);
	}
	set_commit(s, s->commit, s->write[s->commit]);
}

static void interrupt(struct sim *s)
{
	if (s->quiet || s->nested > 2)
		return;
	s->nested++;
	while (chance(&s->rand, 8))
		write_some(s);
	s->nested--;
	delay(&s->rand);
}

/* Consume the reader's sub-buffer, then swap it for the one at the head. */
static void consume(struct sim *s)
{
	uint32_t old = s->reader_id, new, prev;

	pthread_mutex_lock(&s->reader);
	if (__atomic_load_n(&s->commit, __ATOMIC_ACQUIRE) == old)	/* [LEFT] */
		goto out;
	s->consumed += s->entries[old];
	/* As the kernel does, mark a loss in the header, and store behind the records. */
	set_commit(s, old, s->write[old] | 1U << SUBBUF_MISSED_EVENTS);
	if (s->data_size - s->end[old] >= 8)
		put(s, old, s->end[old] & ~3U, 0xdeadbeef);
	sched_yield();
	new = s->head;
	for (prev = new; s->next[prev] != new; prev = s->next[prev])
		;
	s->next[old] = s->next[new];
	s->next[prev] = old;
	s->head = s->next[new];
	s->reader_id = new;
	store64(&s->index->read, s->consumed);
	s->write[old] = 0;
	s->entries[old] = 0;
	set_commit(s, old, 0);
out:
	pthread_mutex_unlock(&s->reader);
}

/* The buffer is empty, and begins at the commit. */
static void begin_at(struct sim *s, uint64_t generation)
{
	struct trace_live_subbuf *entry;

	store64(&s->index->overwritten, 0);
	store64(&s->index->dropped, 0);
	store64(&s->index->read, 0);
	s->slot[s->commit] = generation % s->slots;
	entry = entry_of(s, s->commit);
	store64(&entry->generation, generation);
	store(&entry->id, s->commit);
	store64(&entry->before, 0);
	__atomic_store_n(&s->index->commit_generation, generation, __ATOMIC_RELEASE);
}

static void reset(struct sim *s)
{
	uint64_t first;
	uint32_t id;

	pthread_mutex_lock(&s->writers);
	pthread_mutex_lock(&s->reader);
	first = s->index->commit_generation + s->slots + 1;
	store64(&s->index->first, first);
	__atomic_thread_fence(__ATOMIC_RELEASE);	/* [RESET] */
	sched_yield();
	for (id = 0; id < s->nr; id++) {
		set_commit(s, id, 0);
		s->write[id] = 0;
		s->end[id] = 0;
		s->entries[id] = 0;
	}
	s->tail = s->head;
	s->commit = s->head;
	s->seq = 0;
	s->overwritten = 0;
	s->dropped = 0;
	s->consumed = 0;
	sched_yield();
	begin_at(s, first);
	pthread_mutex_unlock(&s->reader);
	pthread_mutex_unlock(&s->writers);
}

/* Allocate exactly what is used, so that the address sanitizer sees a byte too many. */
static void map_sim(struct sim *s)
{
	size_t entries = s->slots * sizeof(struct trace_live_subbuf);
	struct trace_live_index *index;

	s->map.size = sizeof(*index) + entries + (size_t)s->nr * s->f.subbuf_size;
	index = calloc(1, s->map.size);
	s->map.index = index;
	s->index = index;
	s->subbufs = (unsigned char *)(index + 1) + entries;
	index->struct_len = sizeof(*index);
	index->entry_size = sizeof(struct trace_live_subbuf);
	index->entries_offset = sizeof(*index);
	index->subbufs_offset = sizeof(*index) + entries;
	index->mapping_size = s->map.size;
	index->nr_slots = s->slots;
	index->nr_subbufs = s->nr;
	index->subbuf_size = s->f.subbuf_size;
	index->data_offset = s->f.data_offset;
	index->commit_offset = s->f.commit_offset;
}

static struct sim *sim_new(uint32_t nr, uint32_t data_size, bool overwrite,
			   uint64_t generation)
{
	struct sim *s = calloc(1, sizeof(*s));
	uint32_t id;

	s->nr = nr;
	s->slots = nr - 1;
	s->data_size = data_size;
	s->overwrite = overwrite;
	s->rand = 42;
	s->f = (struct subbuf_format){ HEADER + data_size, 8, 8, HEADER,
				       subbuf__host_big };
	map_sim(s);
	/* Sub-buffer 0 is the reader's; 1 is the head, the tail and the commit. */
	for (id = 1; id < nr; id++)
		s->next[id] = id + 1 < nr ? id + 1 : 1;
	s->next[0] = 1;
	s->head = 1;
	s->tail = 1;
	s->commit = 1;
	s->index->first = generation;
	begin_at(s, generation);
	pthread_mutex_init(&s->writers, NULL);
	pthread_mutex_init(&s->reader, NULL);
	return s;
}

static void sim_free(struct sim *s)
{
	free(s->index);
	free(s);
}

#endif /* _TRACEMAP_LIVE_SIM_H */

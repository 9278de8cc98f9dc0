// SPDX-License-Identifier: LGPL-2.1
/*
 * Merge the records of many sources in the order of time.
 *
 * A source is in one of these states. The queue has the sources that are READY, by the
 * time stamps of the records they hold.
 *
 *	state	 what it means			next state	 when
 *
 *	EMPTY	 it had nothing when it was	READY		 a look finds a record
 *		 asked last			FAILING		 a look finds an error
 *						GONE		 a look finds its end
 *	READY	 it holds its next record	READY, EMPTY,	 the record was handed
 *						FAILING, GONE	 out, it is asked again
 *	FAILING	 it returned an error, which	EMPTY, GONE	 the caller got it;
 *		 the caller does not have yet			 EMPTY if it can go on
 *	GONE	 it is at its end, or failed
 *
 * The source with the oldest record is next. While another source is EMPTY, an older
 * record of that source may still come, since a writer takes the time before it commits
 * the event. Therefore a record waits until a look at all EMPTY sources, which began
 * delay_ns after the record arrived, has found nothing. An older record that comes after
 * that is handed out at once, and marked TRACEMAP_LATE.
 *
 * No event is lost for the sake of that order. While a source is EMPTY, each look reads
 * ahead what all CPUs have (read_ahead.c). The time that a batch waits then counts from when it
 * was read, and does not restart when it is the next. While no source is EMPTY, the merge
 * reads ahead from a CPU whose buffer fills; for that it looks every LOOK_NS. When there
 * is no memory to read ahead into, no record waits.
 *
 * Each wait that ends wakes the caller, which writes events where idling, timers or
 * scheduling are traced, and these have to wait as well. By default, two waits in a row
 * are as long as delay_ns, and from then on one wait ends in each REST_NS.
 *
 * The merge asks a source for more only when the next record is wanted, since that may
 * free the memory of the record that was handed out.
 *
 * tracemap_merge_next() and tracemap_merge_turn() handle nearly all records by themselves:
 * they go through a batch in place as long as its records are older than the second source
 * in the queue.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "clock.h"
#include "cpu.h"
#include "queue.h"
#include "tracemap.h"

#define NSEC_PER_MSEC		1000000

/*
 * How long a record waits unless the options say otherwise. Where every CPU has a live
 * index, a look costs no system call, and 1 ms is enough for a writer to commit its event.
 */
#define DELAY_NS		(10 * NSEC_PER_MSEC)
#define DELAY_WITH_INDEX_NS	NSEC_PER_MSEC

/* From the third wait in a row on, only one wait ends in this time. */
#define REST_NS			(10 * NSEC_PER_MSEC)

/* How often the merge looks at all CPUs, while records go out and while they wait. */
#define LOOK_NS			NSEC_PER_MSEC
#define LOOK_WAITING_NS		(10 * NSEC_PER_MSEC)

#define likely(x)		__builtin_expect(!!(x), 1)
#define noinline		__attribute__((noinline))
#define always_inline		__attribute__((always_inline))

enum state { EMPTY, READY, FAILING, GONE };

/**
 * struct source - a source that is merged
 * @item: the record that it holds, and its place in the queue; the first member
 * @run: @batch if its records can be handed out by time stamps alone, else @none of the
 *	merge
 * @batch: the batch of the record; @none of the merge if the source is no tracemap_cpu
 * @before: where the iterator of @batch was before the record
 * @looks: how many looks there had been when the record was found
 * @arrived: when the record was found, or the batch that it is of
 * @state: see above
 * @error: the error to be returned to the caller, while it is FAILING
 * @says_fresh: whether it has set TRACEMAP_FRESH
 * @cpu: the handle of a CPU, or NULL
 * @plugged: the source, if @cpu is NULL
 */
struct source {
	struct queue_item item;
	struct tracemap_batch *run;
	struct tracemap_batch *batch;
	const unsigned char *before;
	uint64_t looks;
	uint64_t arrived;
	enum state state;
	int error;
	bool says_fresh;
	struct tracemap_cpu *cpu;
	struct tracemap_source plugged;
};

/**
 * struct tracemap_merge - the sources that are merged
 * @head: what the inline part uses; the first member. @head.run is the batch of the
 *	source whose record was handed out last, while time stamps alone decide which
 *	record is next; else @none
 * @none: an empty batch
 * @sources: all sources
 * @nr_sources: how many there are
 * @used: whether the record of the first in the queue was handed out
 * @nr_empty: how many sources are EMPTY
 * @queue: the sources that are READY
 * @last: the latest time stamp that was handed out before the first in the queue had its
 *	turn
 * @looks: how many looks at all sources there were
 * @look_began: when the last look began
 * @look_due: when the next look is due even if no record waits for it
 * @now: when the last batch or record arrived
 * @no_room: the buffer of a CPU fills, and there is no memory to read ahead into
 * @waits: there was a look, and no record may be handed out
 * @flushing: records do not wait, see tracemap_merge_flush()
 * @due: when to look again: 0 for now, UINT64_MAX for when a source has something
 * @delay_ns: how long a record waits
 * @own_delay: the caller gave no delay: it depends on whether every CPU has a live index
 * @wait_ends: when the last such wait is over
 * @rested: when the rests after all these waits are over, REST_NS each
 * @failed_cpu: see tracemap_merge_failed_cpu()
 * @nr_failing: how many sources are FAILING
 * @ask_all: ask all EMPTY sources before anything else
 */
struct tracemap_merge {
	struct tracemap_merge_head head;
	bool used;
	unsigned int nr_empty;
	struct queue queue;
	uint64_t last;
	uint64_t looks;
	uint64_t look_began;
	uint64_t look_due;
	uint64_t now;
	bool no_room;
	bool waits;
	uint64_t due;
	uint64_t delay_ns;
	bool own_delay;
	uint64_t wait_ends;
	uint64_t rested;
	unsigned int nr_failing;
	int failed_cpu;
	bool flushing;
	bool ask_all;
	struct source **sources;
	unsigned int nr_sources;
	struct tracemap_batch none;
};

static inline always_inline struct source *first_source(const struct tracemap_merge *m)
{
	return (struct source *)m->queue.first;
}

/* ---- Asking a source ---- */

static inline always_inline void source_hold(struct source *s, const struct subbuf_record *r,
					     const unsigned char *before)
{
	s->item.rec.ts = r->ts;
	s->item.rec.data = r->data;
	s->item.rec.size = r->size;
	s->before = before;
}

/* How much time passes, by the sub-buffer, from @before to the record that is held. */
static uint64_t time_since(const struct source *s, const unsigned char *before)
{
	struct subbuf_iter it = s->batch->it;
	struct subbuf_record r;

	it.next = before;
	it.ts = 0;
	subbuf_next(&it, &r);
	return it.ts;
}

static void source_found(struct tracemap_merge *m, struct source *s)
{
	m->now = now_ns();
	s->looks = m->looks;
	s->arrived = m->now;
}

/* A batch that was read ahead arrived when it was read, and need not wait for another look. */
static void batch_found(struct tracemap_merge *m, struct source *s)
{
	source_found(m, s);
	if (!s->cpu->arrived)
		return;
	s->looks--;
	s->arrived = s->cpu->arrived;
}

/* Hold the next record of the batch, or, at its end, a loss that no record has reported. */
static int next_in_batch(struct source *s)
{
	struct subbuf_iter *it = &s->batch->it;
	const unsigned char *before = it->next;
	struct subbuf_record r;

	if (!tracemap_batch_next(s->batch, &r)) {
		if (!s->item.rec.missed && !s->item.rec.flags)
			return 0;
		r.ts = it->ts;
		r.data = NULL;
		r.size = 0;
	}
	source_hold(s, &r, before);
	return 1;
}

/* Time stamps of a sub-buffer could go on from here to past UINT64_MAX, and be late then. */
static bool far(uint64_t ts)
{
	return ts >> 63;
}

static int ask_cpu(struct tracemap_merge *m, struct source *s)
{
	int ret;

	while (!next_in_batch(s)) {
		s->batch = &m->none;
		s->cpu->merge_waits = NULL;
		ret = tracemap_cpu_fetch(s->cpu, &s->batch);
		if (ret <= 0)
			return ret;
		s->item.rec.missed = s->batch->missed;
		s->item.rec.flags = s->batch->flags;
		batch_found(m, s);
	}
	s->cpu->merge_waits = &m->waits;
	/* Only the first record has this loss and these flags: it is no part of the run. */
	s->run = s->item.rec.missed || s->item.rec.flags || far(s->item.rec.ts) ?
		&m->none : s->batch;
	return 1;
}

static int ask_plugged(struct tracemap_merge *m, struct source *s)
{
	int ret = s->plugged.next(s->plugged.arg, &s->item.rec);
	bool fresh = s->item.rec.flags & TRACEMAP_FRESH;

	if (ret <= 0)
		return ret;
	s->says_fresh |= fresh;
	if (fresh || s->state == EMPTY)
		source_found(m, s);
	else if (!s->says_fresh)
		s->looks = m->looks;	/* the record may have come since the last look */
	s->item.rec.flags &= ~(TRACEMAP_FRESH | TRACEMAP_LATE);
	s->item.rec.cpu = s->plugged.cpu;
	return 1;
}

/* Ask a source that is not in the queue, and put it there if it has a record. */
static void source_ask(struct tracemap_merge *m, struct source *s)
{
	int ret;

	m->nr_empty -= s->state == EMPTY;
	ret = s->cpu ? ask_cpu(m, s) : ask_plugged(m, s);
	if (ret > 0) {
		s->state = READY;
		queue_add(&m->queue, &s->item);
	} else if (!ret) {
		s->state = EMPTY;
		m->nr_empty++;
	} else if (ret == -ENODATA) {
		s->state = GONE;
	} else {
		s->state = FAILING;
		s->error = ret;
		m->nr_failing++;
	}
}

/* Ask a source for its next record; the caller does not use the last one any more. */
static void source_go_on(struct tracemap_merge *m, struct source *s)
{
	queue_remove_first(&m->queue);
	s->item.rec.missed = 0;
	s->item.rec.flags = 0;
	if (!s->cpu && s->plugged.release)
		s->plugged.release(s->plugged.arg);
	source_ask(m, s);
}

/* ---- Looking at all of them ---- */

/* The batch of the record that the source holds was copied, and has @moved. */
static void source_moved(struct source *s, ptrdiff_t moved)
{
	s->before += moved;
	if (s->item.rec.data)
		s->item.rec.data = (const unsigned char *)s->item.rec.data + moved;
}

/* Read ahead of a source that is READY. Returns whether there is more. */
static bool source_read_ahead(struct tracemap_merge *m, struct source *s)
{
	bool fills = tracemap__is_filling(s->cpu);
	ptrdiff_t moved;
	int ret;

	if (!fills && !m->nr_empty)
		return false;
	ret = tracemap__read_ahead(s->cpu, s->before, &moved);
	if (moved)
		source_moved(s, moved);
	if (ret == -ENOBUFS)
		m->no_room |= fills;
	return ret > 0;
}

/*
 * Ask all sources that are EMPTY, then read ahead. Returns whether another look may find
 * more at once, because a source was EMPTY and is not any more, or has more to read ahead.
 */
static bool look_at_all(struct tracemap_merge *m)
{
	unsigned int i, nr_empty = m->nr_empty;
	bool more = false;

	m->looks++;
	m->look_began = now_ns();
	m->ask_all = false;
	m->no_room = false;
	for (i = 0; i < m->nr_sources; i++) {
		if (m->sources[i]->state == EMPTY)
			source_ask(m, m->sources[i]);
	}
	more = m->nr_empty != nr_empty;
	for (i = 0; i < m->nr_sources; i++) {
		struct source *s = m->sources[i];

		if (s->state == READY && s->cpu)
			more |= source_read_ahead(m, s);
	}
	m->now = now_ns();
	m->look_due = m->now + LOOK_NS;
	return more;
}

/* ---- May the oldest record go? ---- */

/* Has the record of @s waited long enough for older ones of the EMPTY sources? */
static inline always_inline bool waited(const struct tracemap_merge *m, const struct source *s)
{
	if (!m->nr_empty || m->no_room)
		return true;
	if (m->looks == s->looks || m->look_began < s->arrived)
		return false;
	return m->flushing || (m->look_began >= m->wait_ends &&
			       m->look_began - s->arrived >= m->delay_ns);
}

static int tell_failure(struct tracemap_merge *m)
{
	struct source *s = m->sources[0];
	unsigned int i;

	for (i = 1; s->state != FAILING; i++)
		s = m->sources[i];
	m->nr_failing--;
	m->failed_cpu = s->item.rec.cpu;
	s->state = GONE;
	/* After a signal, and after a damaged sub-buffer, the source can go on. */
	if (s->error == -EINTR || (s->cpu && s->error == -EBADMSG)) {
		s->state = EMPTY;
		m->nr_empty++;
		m->ask_all = true;
	}
	return s->error;
}

static bool has_buffers(const struct tracemap_merge *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_sources; i++) {
		if (m->sources[i]->state == READY && m->sources[i]->cpu)
			return true;
	}
	return false;
}

/* When the first record may go. Begins a wait, unless one is going on. */
static uint64_t begin_to_wait(struct tracemap_merge *m, uint64_t end)
{
	if (m->own_delay && m->delay_ns < REST_NS && m->look_began >= m->wait_ends) {
		m->wait_ends = end;
		if (m->rested > end + REST_NS)
			m->wait_ends = m->rested - REST_NS;
		if (m->rested < m->wait_ends)
			m->rested = m->wait_ends;
		m->rested += REST_NS;
	}
	return end > m->wait_ends ? end : m->wait_ends;
}

/*
 * No record may go: set when to look again. While a record of a CPU waits, poll() wakes the
 * caller when the buffer of that CPU fills, see arm_waiting() in instance.c. Since poll()
 * cannot always report that, there is a look after LOOK_WAITING_NS.
 */
static int nothing_yet(struct tracemap_merge *m)
{
	const struct source *s = first_source(m);

	m->waits = true;
	m->flushing = false;
	m->due = UINT64_MAX;
	if (!s)
		return 0;
	if (m->delay_ns < UINT64_MAX - s->arrived)
		m->due = begin_to_wait(m, s->arrived + m->delay_ns);
	if (m->due > m->now + LOOK_WAITING_NS && has_buffers(m))
		m->due = m->now + LOOK_WAITING_NS;
	return 0;
}

/* Returns 1 if the first in the queue may go, which a late record may at once. */
static int choose(struct tracemap_merge *m)
{
	bool more = true;

	m->waits = false;
	if (m->ask_all || m->now >= m->look_due)
		look_at_all(m);
	for (;;) {
		const struct source *s;

		if (m->nr_failing)
			return tell_failure(m);
		s = first_source(m);
		if (s && (waited(m, s) || s->item.rec.ts < m->last))
			return 1;
		if (!m->nr_empty)
			return -ENODATA;
		if (!more)
			return nothing_yet(m);
		more = look_at_all(m);
	}
}

/* ---- Handing out ---- */

/* Hand out the record of the first source, whose turn begins. */
static void hand_out(struct tracemap_merge *m, struct tracemap_record *rec)
{
	struct source *s = first_source(m);

	m->used = true;
	*rec = s->item.rec;
	if (rec->ts < m->last)
		rec->flags |= TRACEMAP_LATE;
	else
		m->head.run = s->run;
	m->head.run_end = queue_second_ts(&m->queue);
}

/*
 * End the turn of the first in the queue, or the part of it that time stamps alone decide.
 * @last is the time of its batch when the last record was handed out.
 */
static void end_turn(struct tracemap_merge *m, uint64_t last)
{
	if (m->used && first_source(m)->item.rec.ts > last)
		last = first_source(m)->item.rec.ts;
	if (last > m->last)
		m->last = last;
	m->head.run = &m->none;
}

/* Look until the first in the queue may go, and hand out its record. */
static int merge_go_on(struct tracemap_merge *m, struct tracemap_record *rec)
{
	int ret;

	m->used = false;
	ret = choose(m);
	if (ret > 0)
		hand_out(m, rec);
	return ret;
}

static noinline int merge_slow(struct tracemap_merge *m, struct tracemap_record *rec,
			       uint64_t last)
{
	end_turn(m, last);
	m->due = 0;
	if (m->used)
		source_go_on(m, first_source(m));
	return merge_go_on(m, rec);
}

/* The first holds its next record, which may be older or younger than any other. */
static int merge_requeue(struct tracemap_merge *m, struct tracemap_record *rec, uint64_t last)
{
	m->used = false;
	end_turn(m, last);
	queue_move_any_first(&m->queue);
	return merge_go_on(m, rec);
}

/*
 * The turn of @before ends, and the source that is next has to wait. The time of the last
 * record that went out is computed only here, where more than time stamps decides.
 */
static noinline int turn_waits(struct tracemap_merge *m, struct tracemap_record *rec,
			       const struct source *before)
{
	m->used = false;
	end_turn(m, before->item.rec.ts - time_since(before, before->before));
	return merge_go_on(m, rec);
}

/* The turn of @before ends, and that of the first in the queue begins, which lasts to @end. */
static inline always_inline int begin_turn(struct tracemap_merge *m, struct tracemap_record *rec,
					   const struct source *before, uint64_t end)
{
	const struct source *s = first_source(m);

	if (!likely(waited(m, s)))
		return turn_waits(m, rec, before);
	m->head.run = s->run;
	m->head.run_end = end;
	*rec = s->item.rec;
	return 1;
}

/* Not inline, so that a turn among few sources need not save registers for it. */
static noinline int next_turn_of_many(struct tracemap_merge *m, struct tracemap_record *rec)
{
	const struct source *before = first_source(m);

	queue_tree_move_first(&m->queue);
	return begin_turn(m, rec, before, queue_tree_second(&m->queue));
}

/*
 * The first holds a record that is not the oldest: begin the turn of another source. The
 * record of that one is not late, since it has waited in the queue while older ones went
 * out.
 */
static inline always_inline int next_turn(struct tracemap_merge *m, struct tracemap_record *rec)
{
	const struct source *before = first_source(m);

	if (m->queue.in_tree)
		return next_turn_of_many(m, rec);
	queue_ring_move_first(&m->queue);
	return begin_turn(m, rec, before, m->queue.first->behind->rec.ts);
}

int tracemap_merge_turn(struct tracemap_merge *m, struct tracemap_record *rec, uint64_t ts,
			const void *data, uint32_t size, const void *before)
{
	struct source *s = first_source(m);

	s->item.rec.ts = ts;
	s->item.rec.data = data;
	s->item.rec.size = size;
	s->before = before;
	return next_turn(m, rec);
}

int tracemap_merge_take(struct tracemap_merge *m, struct tracemap_record *rec)
{
	struct tracemap_batch *run = m->head.run;
	const unsigned char *before = run->it.next;
	uint64_t last = run->it.ts;
	struct subbuf_record r;

	if (!tracemap_batch_next(run, &r))
		return merge_slow(m, rec, last);
	if (far(r.ts))
		first_source(m)->run = &m->none;
	/* Absolute time stamps may go back within a sub-buffer. */
	if (r.ts < last || r.ts > m->head.run_end || far(r.ts)) {
		source_hold(first_source(m), &r, before);
		if (r.ts > m->head.run_end)
			return next_turn(m, rec);
		return merge_requeue(m, rec, last);
	}
	rec->ts = r.ts;
	rec->data = r.data;
	rec->size = r.size;
	rec->cpu = run->cpu;
	rec->flags = 0;
	rec->missed = 0;
	return 1;
}

int tracemap_merge_timeout(const struct tracemap_merge *m, int timeout_ms)
{
	uint64_t now, ms;

	if (m->due == UINT64_MAX)
		return timeout_ms;
	now = m->due ? now_ns() : 0;
	if (m->due <= now)
		return 0;
	ms = (m->due - now - 1) / NSEC_PER_MSEC + 1;
	if (timeout_ms >= 0 && (uint64_t)timeout_ms < ms)
		return timeout_ms;
	return ms < INT_MAX ? ms : INT_MAX;
}

void tracemap_merge_flush(struct tracemap_merge *m)
{
	m->flushing = true;
	m->ask_all = true;
	end_turn(m, m->head.run->it.ts);
}

int tracemap_merge_failed_cpu(const struct tracemap_merge *m)
{
	return m->failed_cpu;
}

/* ---- The list of sources ---- */

int tracemap_merge_new(struct tracemap_merge **m,
		       const struct tracemap_merge_options *options)
{
	/* The size of the structure in the first version of the library. */
	const size_t least = offsetof(struct tracemap_merge_options, delay_ns) + sizeof(uint64_t);
	struct tracemap_merge *new;
	int ret = 0;

	if (options)
		ret = tracemap__check_size(options, options->size, least, sizeof(*options));
	if (ret)
		return ret;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->head.run = &new->none;
	new->failed_cpu = -1;
	new->own_delay = !options;
	new->delay_ns = options ? options->delay_ns : DELAY_NS;
	*m = new;
	return 0;
}

/* Move the iterator back to before the record. */
static void step_back(struct source *s)
{
	struct subbuf_iter *it = &s->batch->it;
	uint64_t time = time_since(s, s->before);

	if (s->item.rec.data)
		s->batch->events--;
	it->next = s->before;
	it->ts = s->item.rec.ts - time;
}

/* Let the CPU go on after the last record that was handed out. */
static void put_back(const struct tracemap_merge *m, struct source *s)
{
	struct tracemap_batch *b = s->batch;
	bool used = m->used && s == first_source(m);

	if (!used)
		step_back(s);
	b->missed = used ? 0 : s->item.rec.missed;
	b->flags = used ? 0 : s->item.rec.flags;
	s->cpu->in_hand = BATCH_HELD;
	s->cpu->merge_waits = NULL;
}

void tracemap_merge_free(struct tracemap_merge *m)
{
	unsigned int i;

	if (!m)
		return;
	for (i = 0; i < m->nr_sources; i++) {
		struct source *s = m->sources[i];

		if (s->state == READY && s->cpu)
			put_back(m, s);
		free(s);
	}
	free(m->sources);
	free(m->queue.slots);
	free(m);
}

static struct source *source_new(struct tracemap_merge *m, int cpu)
{
	unsigned int nr = m->nr_sources + 1;
	struct source **sources = realloc(m->sources, nr * sizeof(*sources));
	struct source *s;

	if (!sources)
		return NULL;
	m->sources = sources;
	if (!queue_reserve(&m->queue, nr))
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->run = &m->none;
	s->batch = &m->none;
	s->item.rec.cpu = cpu;
	s->item.place = m->nr_sources;
	s->state = EMPTY;
	sources[m->nr_sources++] = s;
	m->nr_empty++;
	m->ask_all = true;
	end_turn(m, m->head.run->it.ts);
	return s;
}

/* Choose the delay after a source was added, if the caller gave none. */
static void set_delay(struct tracemap_merge *m)
{
	unsigned int i;

	if (!m->own_delay)
		return;
	m->delay_ns = DELAY_WITH_INDEX_NS;
	for (i = 0; i < m->nr_sources; i++) {
		if (!m->sources[i]->cpu || !tracemap__has_index(m->sources[i]->cpu))
			m->delay_ns = DELAY_NS;
	}
}

static bool has_cpu(const struct tracemap_merge *m, const struct tracemap_cpu *cpu)
{
	unsigned int i;

	for (i = 0; i < m->nr_sources; i++) {
		if (m->sources[i]->cpu == cpu)
			return true;
	}
	return false;
}

int tracemap_merge_add_cpu(struct tracemap_merge *m, struct tracemap_cpu *cpu)
{
	struct source *s;

	if (has_cpu(m, cpu))
		return -EEXIST;
	s = source_new(m, tracemap_cpu_number(cpu));
	if (!s)
		return -ENOMEM;
	s->cpu = cpu;
	set_delay(m);
	return 0;
}

int tracemap_merge_add_all(struct tracemap_merge *m, struct tracemap *t)
{
	unsigned int i;

	for (i = 0; i < tracemap_nr_cpus(t); i++) {
		int ret = tracemap_merge_add_cpu(m, tracemap_get_cpu(t, i));

		if (ret && ret != -EEXIST)
			return ret;
	}
	return 0;
}

int tracemap_merge_add_source(struct tracemap_merge *m,
			      const struct tracemap_source *source)
{
	const size_t least = offsetof(struct tracemap_source, release) + sizeof(source->release);
	const size_t known = sizeof(*source);
	int ret = tracemap__check_size(source, source->size, least, known);
	struct source *s;

	if (ret)
		return ret;
	if (!source->next)
		return -EINVAL;
	s = source_new(m, source->cpu);
	if (!s)
		return -ENOMEM;
	memcpy(&s->plugged, source, source->size < known ? source->size : known);
	set_delay(m);
	return 0;
}

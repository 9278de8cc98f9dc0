/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * What the parts of libtracemap know of a tracemap_cpu and its users do not.
 *
 * A way to read brings one batch at a time into @batch, and calls it back into
 * question at most once, when it is done with. All that is above - records,
 * peeking, a batch left half gone through - is in cpu.c and the same for all.
 */
#ifndef _TRACEMAP_CPU_H
#define _TRACEMAP_CPU_H

#include <linux/trace_mmap.h>

#include "live.h"
#include "tracemap.h"

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define tracemap__unlikely(x)	__builtin_expect(!!(x), 0)

/* What may be read ahead where nothing else was said. */
#define TRACEMAP__AHEAD_BYTES	(64 << 20)

/**
 * struct way - one way to read a CPU's buffer
 * @name: for people
 * @fetch: put what is new into cpu->batch and return 1, or return 0 or a negative
 *	errno and leave it empty
 * @settle: the batch is done with; a negative errno tells what was wrong with
 *	it. It is cleared afterwards
 * @arm: make poll() tell of what comes after what was fetched; 0, or a negative
 *	errno if that is not possible now. NULL: poll() is what it is
 * @is_filling: more than a quarter of the buffer is yet to be fetched. NULL: to know
 *	that costs more than to fetch
 * @figures: see tracemap_cpu_figures()
 * @raw: add what it has mapped
 * @close: let go of what open of the way has taken
 */
struct way {
	const char *name;
	int (*fetch)(struct tracemap_cpu *cpu);
	int (*settle)(struct tracemap_cpu *cpu);
	int (*arm)(struct tracemap_cpu *cpu, uint64_t bytes);
	bool (*is_filling)(const struct tracemap_cpu *cpu);
	int (*figures)(const struct tracemap_cpu *cpu, struct tracemap_figures *f);
	void (*raw)(const struct tracemap_cpu *cpu, struct tracemap_raw *raw);
	void (*close)(struct tracemap_cpu *cpu);
};

/* read(2): @buffer holds one sub-buffer, @got bytes of the next are there. */
struct read_state {
	unsigned char *buffer;
	uint32_t got;
	bool endless;		/* a trace buffer: to have nothing is not the end */
	bool cut;		/* the last one was, and that is yet to be told */
};

/*
 * The mapping. @it stands where the reading stopped in the sub-buffer @id;
 * @subbuf_ts tells whether that is still what it was. Of trace_live the index
 * alone is mapped: it tells figures, and what to wait for.
 */
struct map_state {
	const struct trace_buffer_meta *meta;
	size_t size;
	struct live_mapping live;	/* index NULL: there is none */
	const unsigned char *subbufs;
	uint32_t nr_subbufs;
	struct subbuf_iter it;
	uint64_t subbuf_ts;
	uint64_t entries;
	uint64_t epoch;
	uint32_t id;
	bool emptied;		/* and that is yet to be told */
	struct live_observer observer;	/* of @live: it follows no event */
};

struct observe_state {
	struct live_mapping mapping;
	struct live_observer observer;
	void *copy;		/* NULL: in place */
};

/* Memory to read ahead, and how much of it is in use, in bytes. */
struct ahead_room {
	size_t limit;
	size_t used;
};

/**
 * struct ahead - what was read ahead, see ahead.c
 * @first: the oldest batch of the queue
 * @last: the newest
 * @out: the copy that the batch in hand is on, NULL: that is where the way to read
 *	has put it
 * @events: in the queue
 * @used: bytes of the copies, @out included
 * @error: of fetching, to be told behind the queue
 * @room: what the copies may take
 * @own_room: of a CPU that was opened alone
 */
struct ahead {
	struct ahead_batch *first;
	struct ahead_batch *last;
	struct ahead_batch *out;
	uint64_t events;
	size_t used;
	int error;
	struct ahead_room *room;
	struct ahead_room own_room;
};

/*
 * What has become of the batch that was fetched last:
 *
 *	state		what it is			next
 *
 *	BATCH_NONE	settled, or there was none	BATCH_HELD: another was fetched
 *	BATCH_HELD	its records are taken one	BATCH_GIVEN: tracemap_cpu_fetch() hands
 *			by one, and its loss with	out all that is left; BATCH_NONE: it
 *			the first			was gone through
 *	BATCH_GIVEN	the caller goes through it,	BATCH_HELD: a merge puts it back;
 *			and knows of its loss		BATCH_NONE: it was gone through
 */
enum cpu_batch { BATCH_NONE, BATCH_HELD, BATCH_GIVEN };

/*
 * How a CPU is waited for. Each time it is armed, cpu->told_by becomes one of the
 * last two: BY_POSITION where the kernel takes a position, else BY_POLL. Nothing
 * changes while a record of it is in hand, but that the file is not waited for.
 */
enum cpu_told_by {
	BY_NOTHING,		/* not armed yet, or epoll_ctl() has failed */
	BY_POSITION,		/* told to @live_fd: readable as soon as there is more */
	BY_POLL,		/* @fd, or @live_fd if there is no other */
};

/*
 * What poll() is worth, where it is all there is:
 *
 *	state		waited for	looked at	next, when armed
 *
 *	POLL_EXACT	yes		no		POLL_EXACT or POLL_LATE
 *	POLL_LATE	yes		after a while	POLL_EXACT or POLL_LATE
 *	POLL_CLAIMS	-		at once		POLL_MISLEADS if fetching found
 *							nothing, else as above
 *	POLL_MISLEADS	no		after a while	POLL_MISLEADS until fetching
 *							found something, then as above
 *
 * It is POLL_LATE that is next where poll() may wait for more than any event. The
 * first two become POLL_CLAIMS when the epoll descriptor says that there is more.
 */
enum cpu_poll { POLL_EXACT, POLL_LATE, POLL_CLAIMS, POLL_MISLEADS };

/* FETCHED_MORE stays, whatever comes after it. */
enum cpu_fetched { FETCHED_NOT, FETCHED_NOTHING, FETCHED_MORE };

/**
 * struct tracemap_cpu - the buffer of a CPU, or a file that has sub-buffers
 * @batch: what was fetched last; empty if that is done with
 * @in_hand: what is to be done with it; BATCH_GIVEN: it was to begin at @given_at
 * @merge_waits: a merge has taken the next record out of @batch: does it wait, for other
 *	CPUs? NULL: no merge has
 * @error: of a batch that is gone, to be told by the next call that looks
 * @arrived: when @batch was read ahead, by CLOCK_MONOTONIC, ns; 0: it was not
 * @ahead: batches behind it
 * @number: of the CPU
 * @flags: from the options
 * @owns_fd: it is to be closed
 * @dir: per_cpu/cpuN, or -1
 * @live_fd: trace_live there, which tells when there is more, or -1
 * @told_by: the file of it that the instance's epoll descriptor has
 * @events: what that waits for: EPOLLIN, or 0 while it would tell nothing new
 * @poll: what poll() of the buffer is worth
 * @fetched: since it was armed by poll() last
 * @idle: times it was armed by poll() since something was found
 *
 * Who goes through @batch with an iterator of its own stores it back before a
 * call that fetches or waits: what seems to be left is not waited for.
 */
struct tracemap_cpu {
	struct tracemap_batch batch;
	const unsigned char *given_at;
	enum cpu_batch in_hand;
	const bool *merge_waits;
	int error;
	uint64_t arrived;
	struct ahead ahead;

	const struct way *way;
	struct subbuf_format format;
	int fd;
	int live_fd;
	int number;
	uint32_t flags;
	bool owns_fd;
	int dir;

	enum cpu_told_by told_by;
	uint32_t events;
	enum cpu_poll poll;
	enum cpu_fetched fetched;
	unsigned int idle;

	union {
		struct read_state read;
		struct map_state map;
		struct observe_state observe;
	};
};

extern const struct way tracemap__way_read, tracemap__way_map, tracemap__way_observe;

/*
 * Begin to read in a way; @cpu has all but what belongs to the way, and that is
 * zero. On success cpu->way is set.
 */
int tracemap__open_read(struct tracemap_cpu *cpu);
int tracemap__open_map(struct tracemap_cpu *cpu);
int tracemap__open_observe(struct tracemap_cpu *cpu);

/*
 * May a struct of an application, which begins with its own @size, be taken as one of
 * @known bytes? 0; -EINVAL: it has less than @least; -E2BIG: there is something behind.
 */
int tracemap__check_size(const void *given, size_t size, size_t least, size_t known);

/* As an application's options say, with the fields filled in that it does not know. */
int tracemap__options(struct tracemap_options *options,
		      const struct tracemap_options *given);

/* Be done with a batch, and fetch what comes behind it. */
int tracemap__refill(struct tracemap_cpu *cpu);

/* Be done with a batch that was gone through to its end; its error is kept. */
void tracemap__finish(struct tracemap_cpu *cpu);

/* What comes next of the way to read. */
int tracemap__fetch_now(struct tracemap_cpu *cpu);

/*
 * Read ahead what there is. @from is in the batch in hand, at or before its
 * iterator: what is there from it on stays good, but may move by @moved bytes.
 * Returns 1 if there may be more, 0 if not, -ENOBUFS: there is, but no room.
 */
int tracemap__read_ahead(struct tracemap_cpu *cpu, const unsigned char *from, ptrdiff_t *moved);

/* The next batch of the queue, or the error behind it, becomes that of @cpu. 0: neither */
int tracemap__ahead_take(struct tracemap_cpu *cpu);

/* The batch in hand, which is ahead.out, is done with; -EBADMSG: it was damaged. */
int tracemap__ahead_done(struct tracemap_cpu *cpu);
void tracemap__ahead_free(struct tracemap_cpu *cpu);

/* Will the writer overwrite soon what was not fetched yet? */
static inline bool tracemap__is_filling(const struct tracemap_cpu *cpu)
{
	if (cpu->dir < 0)	/* a file */
		return false;
	return !cpu->way->is_filling || cpu->way->is_filling(cpu);
}

/* Has it an index that tells of new events at no cost? */
static inline bool tracemap__has_index(const struct tracemap_cpu *cpu)
{
	return cpu->way == &tracemap__way_observe ||
	       (cpu->way == &tracemap__way_map && cpu->map.live.index);
}

/* Bytes of records in a quarter of its buffer, which has an index. */
static inline uint64_t tracemap__quarter(const struct tracemap_cpu *cpu)
{
	const struct live_observer *o = cpu->way == &tracemap__way_map ? &cpu->map.observer :
									 &cpu->observe.observer;

	return (uint64_t)o->nr_subbufs * (cpu->format.subbuf_size - cpu->format.data_offset) / 4;
}

/* Figures out of per_cpu/cpuN/stats, for ways that have no others. */
int tracemap__stats(const struct tracemap_cpu *cpu, struct tracemap_figures *f);

/* The same as an observer sees them. */
int tracemap__live_figures(const struct live_observer *o, struct tracemap_figures *f);

int tracemap__open_at(int dir, const char *name, int flags);

/* Has the batch records, or a loss, that the caller has not taken yet? */
static inline bool tracemap__batch_in_hand(const struct tracemap_cpu *cpu)
{
	const struct tracemap_batch *b = &cpu->batch;

	if (cpu->in_hand == BATCH_NONE || cpu->flags & TRACEMAP_IN_PLACE)
		return false;
	return b->it.next < b->it.end || (cpu->in_hand == BATCH_HELD && (b->missed || b->flags));
}

/* Has it, or what was read ahead, or the merge? */
static inline bool tracemap__in_hand(const struct tracemap_cpu *cpu)
{
	return cpu->merge_waits || cpu->ahead.first || cpu->ahead.error ||
	       tracemap__batch_in_hand(cpu);
}

/* Has a merge looked for more, and does a record of this CPU wait all the same? */
static inline bool tracemap__waits_in_merge(const struct tracemap_cpu *cpu)
{
	return cpu->merge_waits && *cpu->merge_waits;
}

/* The batch of @it, which stands before its first record. */
static inline void tracemap__set_batch(struct tracemap_cpu *cpu,
				       const struct subbuf_iter *it, uint64_t missed,
				       uint32_t flags)
{
	cpu->batch.it = *it;
	cpu->batch.missed = missed;
	cpu->batch.flags = flags;
	cpu->batch.events = 0;
}

#endif /* _TRACEMAP_CPU_H */

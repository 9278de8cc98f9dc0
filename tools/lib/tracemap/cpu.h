/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * The internals of a tracemap_cpu, for the files of libtracemap.
 *
 * A backend fetches one batch at a time into @batch. It checks the batch once more
 * when it is settled, and may report an error only then. Everything else, such as taking
 * records, and a batch that was gone through in part, is in cpu.c and the same for
 * all backends.
 */
#ifndef _TRACEMAP_CPU_H
#define _TRACEMAP_CPU_H

#include <linux/trace_mmap.h>

#include "live.h"
#include "live_until.h"
#include "tracemap.h"

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define tracemap__unlikely(x)	__builtin_expect(!!(x), 0)

/* How much memory a merge may read ahead into, unless the options say otherwise. */
#define TRACEMAP__READ_AHEAD_BYTES	(64 << 20)

/**
 * struct backend - how a CPU's buffer is read
 * @name: what tracemap_way_name() returns
 * @fetch: put what is new into cpu->batch and return 1; or return 0 or a negative errno,
 *	and leave the batch empty
 * @settle: called when the caller has gone through the batch, which is cleared
 *	afterwards; returns a negative errno if something was wrong with it
 * @arm: let poll() report what comes after the events that were fetched; returns a negative
 *	errno if that is not possible now. NULL if the backend cannot choose what poll() reports
 * @is_filling: returns whether more than a quarter of the buffer is yet to be fetched.
 *	NULL if asking costs more than fetching
 * @until_now: see tracemap_cpu_until_now(); NULL for what is the same for all that consume
 * @figures: see tracemap_cpu_figures()
 * @raw: add the memory that the backend has mapped
 * @close: free what opening the backend has taken
 */
struct backend {
	const char *name;
	int (*fetch)(struct tracemap_cpu *cpu);
	int (*settle)(struct tracemap_cpu *cpu);
	int (*arm)(struct tracemap_cpu *cpu, uint64_t bytes);
	bool (*is_filling)(const struct tracemap_cpu *cpu);
	int (*until_now)(struct tracemap_cpu *cpu);
	int (*figures)(const struct tracemap_cpu *cpu, struct tracemap_figures *f);
	void (*raw)(const struct tracemap_cpu *cpu, struct tracemap_raw *raw);
	void (*close)(struct tracemap_cpu *cpu);
};

/* Reading by read(2): @buffer is for one sub-buffer; @got bytes of the next one are there. */
struct read_state {
	unsigned char *buffer;
	uint32_t got;
	unsigned int near_loss;	/* results until losses are no longer near */
	bool careful;		/* while losses are near, fewer bytes may be asked for */
	bool endless;		/* a trace buffer, where reading nothing does not mean the end */
	bool cut;		/* the file ended within a sub-buffer; still to be reported */
};

/*
 * Reading by the mapping. @it is where reading stopped in the sub-buffer @id, if
 * @subbuf_ts is still the time stamp of that sub-buffer. The index of trace_live is mapped
 * without the sub-buffers, for figures and waits.
 */
struct map_state {
	const struct trace_buffer_meta *meta;
	size_t size;
	struct live_mapping live;	/* its index is NULL if there is none */
	const unsigned char *subbufs;
	uint32_t nr_subbufs;
	struct subbuf_iter it;
	uint64_t subbuf_ts;
	uint64_t entries;
	uint64_t consumed;
	uint64_t first;
	uint32_t id;
	bool emptied;		/* the buffer was emptied, which is still to be reported */
	struct live_observer observer;	/* of @live, for figures; it follows no event */
};

struct observe_state {
	struct live_mapping mapping;
	struct live_observer observer;
	struct live_until until;	/* the end, if @ends */
	void *copy;		/* of the sub-buffer that the batch is of */
	bool ends;
};

/* Memory to read ahead, and how much of it is in use, in bytes. */
struct read_ahead_room {
	size_t limit;
	size_t used;
};

/**
 * struct read_ahead - what was read ahead, see read_ahead.c
 * @first: the oldest batch of the queue
 * @last: the newest batch of the queue
 * @out: the copy in which the batch in hand is; NULL if that is where the backend
 *	has put it
 * @events: events in the queue
 * @used: bytes of all copies, with @out
 * @error: an error of fetching, which is reported when the queue is empty
 * @room: the memory that the copies may take
 * @own_room: this memory, of a CPU that was opened without an instance
 */
struct read_ahead {
	struct read_ahead_batch *first;
	struct read_ahead_batch *last;
	struct read_ahead_batch *out;
	uint64_t events;
	size_t used;
	int error;
	struct read_ahead_room *room;
	struct read_ahead_room own_room;
};

/*
 * The state of the batch that was fetched last:
 *
 *	state		what it means			next state
 *
 *	BATCH_NONE	it is settled, or there was	BATCH_HELD: another was fetched
 *			none
 *	BATCH_HELD	its records are taken one	BATCH_GIVEN: tracemap_cpu_fetch() hands
 *			by one, and its loss with	out all that is left; BATCH_NONE: it
 *			the first			was gone through
 *	BATCH_GIVEN	the caller goes through it,	BATCH_HELD: a merge puts it back;
 *			and has got its loss		BATCH_NONE: it was gone through
 */
enum cpu_batch { BATCH_NONE, BATCH_HELD, BATCH_GIVEN };

/*
 * How the library waits for a CPU. Each time it arms the CPU, cpu->told_by becomes one of
 * the last two: BY_POSITION where the kernel takes a position, else BY_POLL. While a record
 * of the CPU is in hand this does not change, and the library does not wait for the file.
 */
enum cpu_told_by {
	BY_NOTHING,		/* not armed yet, or epoll_ctl() has failed */
	BY_POSITION,		/* @live_fd knows the position: readable if there is more */
	BY_POLL,		/* poll() of @fd, or of @live_fd if there is no other */
};

/*
 * How reliable poll() is, for a CPU that is BY_POLL:
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
 * POLL_LATE is next where poll() may wait for more than one event, else POLL_EXACT.
 * Both become POLL_CLAIMS when the epoll descriptor says that there is more.
 */
enum cpu_poll { POLL_EXACT, POLL_LATE, POLL_CLAIMS, POLL_MISLEADS };

/* What was fetched since the CPU was armed: once it is FETCHED_MORE, it stays so. */
enum cpu_fetched { FETCHED_NOT, FETCHED_NOTHING, FETCHED_MORE };

/**
 * struct tracemap_cpu - the buffer of a CPU, or a file that has sub-buffers
 * @batch: what was fetched last; empty if that was settled
 * @given_at: where @batch began when tracemap_cpu_fetch() handed it out
 * @in_hand: the state of @batch
 * @merge_waits: whether the merge that has taken the next record out of @batch waits for
 *	other CPUs; NULL if no merge has
 * @error: an error of a batch that is gone, which the next call that fetches returns
 * @until: of a consumer with an end: how many events the kernel had counted at that end;
 *	0: the buffer was emptied since
 * @told: how many of these were overwritten, of which batches up to the last one have told
 * @consumed: how many of these were consumed at the last look
 * @ends: whether a consumer has an end
 * @taken: how many events were in the batches that are settled
 * @damaged: whether there were more, which cannot be counted
 * @arrived: when @batch was read ahead, in ns of CLOCK_MONOTONIC; 0 if it was not
 * @read_ahead: the batches after @batch
 * @backend: how the buffer is read
 * @format: the layout of a sub-buffer
 * @fd: trace_pipe_raw, or the file, or -1
 * @live_fd: trace_live, which reports when there is more, or -1
 * @number: the number of the CPU
 * @flags: those of the options
 * @owns_fd: whether to close @fd
 * @dir: the folder per_cpu/cpuN, or -1
 * @told_by: which file the epoll descriptor of the instance has
 * @events: what it waits for: EPOLLIN, or 0 while it would report nothing new
 * @poll: how reliable poll() is
 * @full: whether buffer_percent was above 0 when epoll got the file: the kernel has a queue
 *	of waiters for that, and another for any event
 * @fetched: what was fetched since it was armed by poll() last
 * @idle: how often it was armed by poll() since something was found
 * @read: the state of reading by read(2)
 * @map: the state of reading by the mapping
 * @observe: the state of reading by the live view
 *
 * A caller that goes through @batch with an iterator of its own stores the iterator back
 * before it fetches or waits: the library does not wait for what seems to be left.
 */
struct tracemap_cpu {
	struct tracemap_batch batch;
	const unsigned char *given_at;
	enum cpu_batch in_hand;
	const bool *merge_waits;
	int error;
	uint64_t until;
	uint64_t told;
	uint64_t consumed;
	bool ends;
	uint64_t taken;
	bool damaged;
	uint64_t arrived;
	struct read_ahead read_ahead;

	const struct backend *backend;
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
	bool full;
	enum cpu_fetched fetched;
	unsigned int idle;

	union {
		struct read_state read;
		struct map_state map;
		struct observe_state observe;
	};
};

extern const struct backend tracemap__backend_read, tracemap__backend_map;
extern const struct backend tracemap__backend_observe;

/*
 * Begin to read by this backend. All members of @cpu are set but those of the backend, which are
 * zero. On success cpu->backend is set.
 */
int tracemap__open_read(struct tracemap_cpu *cpu);
int tracemap__open_map(struct tracemap_cpu *cpu);
int tracemap__open_observe(struct tracemap_cpu *cpu);

/*
 * Check a structure of an application, of which the library knows @known bytes. Returns
 * -EINVAL if its @size is below @least, -E2BIG if a byte behind those known is not 0.
 */
int tracemap__check_size(const void *given, size_t size, size_t least, size_t known);

/* Copy the options of an application, and fill in the members that it does not know. */
int tracemap__options(struct tracemap_options *options,
		      const struct tracemap_options *given);

/* Settle the batch, and fetch the next one. */
int tracemap__refill(struct tracemap_cpu *cpu);

/* Settle a batch that was gone through to its end, and keep its error for later. */
void tracemap__finish(struct tracemap_cpu *cpu);

/* Fetch from the backend, past what was read ahead. */
int tracemap__fetch_now(struct tracemap_cpu *cpu);

/*
 * Read ahead what there is. @from is in the batch in hand, at or before its iterator: the
 * bytes from there on stay valid, but may move by @moved bytes. Returns 1 if there may be
 * more, 0 if there is none, -ENOBUFS if there is more, but no room.
 */
int tracemap__read_ahead(struct tracemap_cpu *cpu, const unsigned char *from, ptrdiff_t *moved);

/* Set the end of the handle to where the writer is. */
int tracemap__until_now(struct tracemap_cpu *cpu);

/*
 * Read ahead, for a turn, what the writer would otherwise overwrite, unless the caller or a
 * merge goes through a batch. Returns whether there is more, and room for it.
 */
bool tracemap__secure(struct tracemap_cpu *cpu);

/*
 * Take the next batch of the queue: returns 1, or the error behind the queue, or 0 if
 * there is neither.
 */
int tracemap__read_ahead_take(struct tracemap_cpu *cpu);

/* Free the copy read_ahead.out, in which the batch in hand was; -EBADMSG if it was damaged. */
int tracemap__read_ahead_done(struct tracemap_cpu *cpu);
void tracemap__read_ahead_free(struct tracemap_cpu *cpu);

/* Will the writer soon overwrite what was not fetched yet? */
static inline bool tracemap__is_filling(const struct tracemap_cpu *cpu)
{
	if (cpu->dir < 0)	/* a file */
		return false;
	return !cpu->backend->is_filling || cpu->backend->is_filling(cpu);
}

/* Is there an index, which shows new events without a system call? */
static inline bool tracemap__has_index(const struct tracemap_cpu *cpu)
{
	return cpu->backend == &tracemap__backend_observe ||
	       (cpu->backend == &tracemap__backend_map && cpu->map.live.index);
}

/* Bytes of records in a quarter of the buffer, for a CPU that has an index. */
static inline uint64_t tracemap__quarter(const struct tracemap_cpu *cpu)
{
	bool is_mapped = cpu->backend == &tracemap__backend_map;
	const struct live_observer *o = is_mapped ? &cpu->map.observer : &cpu->observe.observer;

	return (uint64_t)o->nr_subbufs * (cpu->format.subbuf_size - cpu->format.data_offset) / 4;
}

/* Read the figures out of per_cpu/cpuN/stats, for backends that have no others. */
int tracemap__stats(const struct tracemap_cpu *cpu, struct tracemap_figures *f);

/* Read the figures out of the index. */
int tracemap__live_figures(const struct live_observer *o, struct tracemap_figures *f);

int tracemap__open_at(int dir, const char *name, int flags);

/* Has the batch records, or a loss, that the caller has not taken yet? */
static inline bool tracemap__batch_in_hand(const struct tracemap_cpu *cpu)
{
	const struct tracemap_batch *b = &cpu->batch;

	if (cpu->in_hand == BATCH_NONE)
		return false;
	return b->it.next < b->it.end || (cpu->in_hand == BATCH_HELD && (b->missed || b->flags));
}

/* Are there records not taken yet in the batch, in what was read ahead, or in a merge? */
static inline bool tracemap__in_hand(const struct tracemap_cpu *cpu)
{
	return cpu->merge_waits || cpu->read_ahead.first || cpu->read_ahead.error ||
	       tracemap__batch_in_hand(cpu);
}

/* Does a record of this CPU wait in a merge, which has looked for older ones? */
static inline bool tracemap__waits_in_merge(const struct tracemap_cpu *cpu)
{
	return cpu->merge_waits && *cpu->merge_waits;
}

/* Make a batch of the records of @it. */
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

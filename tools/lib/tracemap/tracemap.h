/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * libtracemap: read the trace buffers of the kernel, the cheapest way it has.
 *
 *	struct tracemap *t;
 *	struct tracemap_merge *m;
 *	struct tracemap_record rec;
 *
 *	ret = tracemap_open(&t, "/sys/kernel/tracing/instances/mine", NULL);
 *	ret = tracemap_merge_new(&m, NULL);
 *	ret = tracemap_merge_add_all(m, t);
 *	for (;;) {
 *		while ((ret = tracemap_merge_next(m, &rec)) > 0)
 *			use(rec.cpu, rec.ts, rec.data, rec.size, rec.missed);
 *		if (ret < 0)
 *			break;
 *		ret = tracemap_wait(t, tracemap_merge_timeout(m, -1));
 *		if (ret < 0)
 *			break;
 *	}
 *
 * There are three layers, and each can be used without those above it:
 *
 *	tracemap_cpu	one CPU's buffer: sub-buffers, or records
 *	tracemap	those of an instance, and waiting for them
 *	tracemap_merge	records of many sources in the order of time
 *
 * Answers. Calls that look for something return 1 when there is something, 0
 * when there is nothing yet, -ENODATA at the end (a file has one, a trace
 * buffer has none), and another negative errno when something went wrong. The
 * library starts no thread, has no global state, prints nothing and never
 * ends the program.
 *
 * Threads. Handles are not locked: a tracemap_cpu, and whatever it was added
 * to, is used by one thread at a time. Different handles are independent.
 */
#ifndef _TRACEMAP_H
#define _TRACEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "subbuf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From linux/trace_mmap.h and linux/trace_live.h */
struct trace_buffer_meta;
struct trace_live_index;

/**
 * enum tracemap_way - how a buffer is read
 * @TRACEMAP_CONSUME: the cheapest way to consume that this kernel has:
 *	@TRACEMAP_MAP where the mapping is cheap, else @TRACEMAP_READ
 * @TRACEMAP_READ: read(2): a copy, on any kernel
 * @TRACEMAP_MAP: mmap() and TRACE_MMAP_IOCTL_GET_READER. Mainline's kernels, from
 *	6.10 on, have it too, but there read(2) is cheaper
 * @TRACEMAP_OBSERVE: the live view: takes no event from a consumer, no system call
 */
enum tracemap_way {
	TRACEMAP_CONSUME,
	TRACEMAP_READ,
	TRACEMAP_MAP,
	TRACEMAP_OBSERVE,
};

enum {
	/* In struct tracemap_options. */
	TRACEMAP_FROM_NOW	= 1 << 0, /* not from the oldest event there is */
	TRACEMAP_IN_PLACE	= 1 << 1, /* observe without a copy, see tracemap_cpu_accept() */

	/* In struct tracemap_record and struct tracemap_batch. */
	TRACEMAP_RESET		= 1 << 8, /* the buffer was emptied right before */
	TRACEMAP_LATE		= 1 << 9, /* merged, and older than one already told */
	TRACEMAP_FRESH		= 1 << 10, /* from a source: see struct tracemap_source */
};

/* Of lost events whose number nobody knows. */
#define TRACEMAP_MISSED_UNKNOWN		UINT64_MAX

/**
 * struct tracemap_options - how to open buffers
 * @size: sizeof(struct tracemap_options): it may grow
 * @way: how to read them
 * @flags: TRACEMAP_FROM_NOW, TRACEMAP_IN_PLACE (with TRACEMAP_OBSERVE only)
 * @nr_cpus: how many numbers @cpus has; 0: all CPUs that have a buffer
 * @cpus: which CPUs to open, by number
 * @wake_bytes: waits end when so many bytes are unread, where the kernel can
 *	tell; 0: by the instance's buffer_percent
 * @ahead_bytes: memory for what a merge reads ahead, for all these CPUs together;
 *	0: 64 MiB
 */
struct tracemap_options {
	size_t size;
	enum tracemap_way way;
	uint32_t flags;
	uint32_t nr_cpus;
	const int *cpus;
	uint64_t wake_bytes;
	uint64_t ahead_bytes;
};

/* The options that NULL stands for: consume, from the oldest, any event wakes. */
static inline struct tracemap_options tracemap_default_options(void)
{
	struct tracemap_options options;

	memset(&options, 0, sizeof(options));
	options.size = sizeof(options);
	options.wake_bytes = 1;
	return options;
}

/**
 * struct tracemap_record - one event, or the loss of some
 * @ts: time stamp, in units of the trace clock
 * @data: the event, in place; NULL: there is none, but @missed or @flags tell
 *	of something that happened at @ts, which is 0 if the time is not known
 * @size: bytes of it, rounded up to 4 by the kernel
 * @cpu: whose buffer it comes from
 * @flags: TRACEMAP_RESET, TRACEMAP_LATE
 * @missed: events of that CPU that were lost right before this one, or
 *	TRACEMAP_MISSED_UNKNOWN
 *
 * @data is valid until the next call that moves on in the same source.
 *
 * Programs have its size compiled in, and fill it themselves by tracemap_merge_next().
 * What a later version adds takes the room behind it, and counts where a flag in @flags
 * says so.
 */
struct tracemap_record {
	uint64_t ts;
	const void *data;
	uint32_t size;
	int32_t cpu;
	uint32_t flags;
	uint64_t missed;

	/* private: room to grow */
	uint64_t reserved[3];
};

/**
 * tracemap_record_id - the id of an event, as events/.../id tells it
 * @rec: a record of the running kernel's
 *
 * Return: the id, or -1 if the record is too short to have one.
 */
static inline int tracemap_record_id(const struct tracemap_record *rec)
{
	uint16_t id;

	if (!rec->data || rec->size < sizeof(id))
		return -1;
	memcpy(&id, rec->data, sizeof(id));
	return id;
}

/* ---- One CPU's buffer ---- */

struct tracemap_cpu;

/**
 * struct tracemap_batch - the records of a sub-buffer that are new
 * @it: where they are
 * @missed: events lost right before the first, or TRACEMAP_MISSED_UNKNOWN
 * @flags: TRACEMAP_RESET
 * @cpu: whose they are
 * @events: how many of them were gone through; tracemap_batch_next() counts
 *
 * To be as quick as parsing alone, copy @it, go through the copy with
 * subbuf_next(), then store it back and add to @events.
 *
 * Programs have the layout of @it compiled in, by this and by tracemap_merge_next().
 * What a later version adds to it takes the room behind it, so that all else stays
 * where it is. What a program copies of @it, and does not know, it leaves alone.
 */
struct tracemap_batch {
	struct subbuf_iter it;

	/* private: room for @it to grow, 0 */
	uint64_t reserved[4];

	/* public: */
	uint64_t missed;
	uint32_t flags;
	int32_t cpu;
	uint32_t events;
};

/* The next record of a batch; false: that was all. */
static inline bool tracemap_batch_next(struct tracemap_batch *b,
				       struct subbuf_record *rec)
{
	if (!subbuf_next(&b->it, rec))
		return false;
	b->events++;
	return true;
}

int tracemap_cpu_open(struct tracemap_cpu **cpu, const char *dir, int number,
		      const struct tracemap_options *options);
int tracemap_cpu_open_file(struct tracemap_cpu **cpu, int fd, int number,
			   const struct subbuf_format *format);
void tracemap_cpu_close(struct tracemap_cpu *cpu);

int tracemap_cpu_fetch(struct tracemap_cpu *cpu, struct tracemap_batch **batch);
int tracemap_cpu_accept(struct tracemap_cpu *cpu);
int tracemap_cpu_peek(struct tracemap_cpu *cpu, struct tracemap_record *rec);
int tracemap_cpu_next(struct tracemap_cpu *cpu, struct tracemap_record *rec);

int tracemap_cpu_number(const struct tracemap_cpu *cpu);
enum tracemap_way tracemap_cpu_way(const struct tracemap_cpu *cpu);
const char *tracemap_way_name(enum tracemap_way way);

/**
 * struct tracemap_figures - what a CPU's buffer tells of itself
 * @committed: events committed
 * @overwritten: of these, overwritten unread
 * @consumed: of these, taken by consumers
 * @dropped: events for which there was no room
 * @used: sub-buffers that hold unread events
 * @nr_subbufs: sub-buffers there are
 * @subbuf_size: bytes of one
 * @epoch: changes when the buffer is emptied: all counts restart
 * @ahead: events that a merge has read ahead into this handle and not handed out
 *
 * @committed and @overwritten are exact as of the last finished sub-buffer when
 * observed, and as of the last GET_READER or read when mapped.
 */
struct tracemap_figures {
	uint64_t committed;
	uint64_t overwritten;
	uint64_t consumed;
	uint64_t dropped;
	uint32_t used;
	uint32_t nr_subbufs;
	uint32_t subbuf_size;
	uint32_t epoch;
	uint64_t ahead;

	/* private: room to grow, 0 */
	uint64_t reserved[7];
};

/*
 * How many events are there to be read, about. Who has caught up has consumed of
 * the sub-buffer that is being written, of which @committed knows nothing yet.
 */
static inline uint64_t tracemap_figures_unread(const struct tracemap_figures *f)
{
	uint64_t passed = f->overwritten + f->consumed;

	return f->ahead + (f->committed > passed ? f->committed - passed : 0);
}

int tracemap_cpu_figures(const struct tracemap_cpu *cpu,
			 struct tracemap_figures *figures);

/**
 * struct tracemap_raw - the memory of a CPU's buffer, for one's own reader
 * @fd: trace_pipe_raw; trace_live where the buffer is observed
 * @meta: the meta page, NULL where trace_pipe_raw is not mapped
 * @meta_size: bytes of it
 * @subbufs: sub-buffer 0, the others behind it
 * @subbufs_size: bytes of all of them
 * @index: the live index, NULL where there is none
 * @index_size: bytes of it that are mapped: with the sub-buffers where the buffer is
 *	observed, else those before them
 * @format: layout of a sub-buffer
 * @reader: id of the reader sub-buffer in @subbufs, as of the last time a consumer
 *	read
 */
struct tracemap_raw {
	int fd;
	const struct trace_buffer_meta *meta;
	size_t meta_size;
	const void *subbufs;
	size_t subbufs_size;
	const struct trace_live_index *index;
	size_t index_size;
	struct subbuf_format format;
	uint32_t reader;

	/* private: room to grow, 0 */
	uint64_t reserved[8];
};

int tracemap_cpu_raw(const struct tracemap_cpu *cpu, struct tracemap_raw *raw);

/* ---- All CPUs of an instance ---- */

struct tracemap;

int tracemap_open(struct tracemap **t, const char *dir,
		  const struct tracemap_options *options);
void tracemap_close(struct tracemap *t);
int tracemap_rescan(struct tracemap *t);

unsigned int tracemap_nr_cpus(const struct tracemap *t);
struct tracemap_cpu *tracemap_get_cpu(const struct tracemap *t, unsigned int i);

int tracemap_wait(struct tracemap *t, int timeout_ms);
int tracemap_fd(const struct tracemap *t);
int tracemap_arm(struct tracemap *t);

/* ---- The order of time ---- */

struct tracemap_merge;

/**
 * struct tracemap_source - anything that has records in the order of time
 * @size: sizeof(struct tracemap_source): it may grow
 * @cpu: what to put into records
 * @arg: handed to the calls
 * @next: fill @rec and return 1; or 0, -ENODATA or another negative errno. The
 *	record stays valid until @release, which comes before the next @next
 * @release: the record is done with; may be NULL
 *
 * While other sources have nothing, a record waits for as long as the merge is
 * told to, counted from when it was found. A source that finds several at once
 * sets TRACEMAP_FRESH in @rec->flags of the first, and does so every time it
 * finds more: the others were found with it. For a source that never does, time
 * is counted from the first record after it had nothing.
 */
struct tracemap_source {
	size_t size;
	int32_t cpu;
	void *arg;
	int (*next)(void *arg, struct tracemap_record *rec);
	void (*release)(void *arg);
};

/**
 * struct tracemap_merge_options - how to merge
 * @size: sizeof(struct tracemap_merge_options): it may grow
 * @delay_ns: how long a record waits for older ones of CPUs that have
 *	nothing, in real time, nanoseconds
 */
struct tracemap_merge_options {
	size_t size;
	uint64_t delay_ns;
};

int tracemap_merge_new(struct tracemap_merge **m,
		       const struct tracemap_merge_options *options);
void tracemap_merge_free(struct tracemap_merge *m);
int tracemap_merge_add_all(struct tracemap_merge *m, struct tracemap *t);
int tracemap_merge_add_cpu(struct tracemap_merge *m, struct tracemap_cpu *cpu);
int tracemap_merge_add_source(struct tracemap_merge *m,
			      const struct tracemap_source *source);
int tracemap_merge_take(struct tracemap_merge *m, struct tracemap_record *rec);
int tracemap_merge_turn(struct tracemap_merge *m, struct tracemap_record *rec, uint64_t ts,
			const void *data, uint32_t size, const void *before);
int tracemap_merge_timeout(const struct tracemap_merge *m, int timeout_ms);
void tracemap_merge_flush(struct tracemap_merge *m);
int tracemap_merge_failed_cpu(const struct tracemap_merge *m);

/*
 * How a struct tracemap_merge begins: whose turn it is, and until when. It may grow: what
 * is behind belongs to the library.
 */
struct tracemap_merge_head {
	struct tracemap_batch *run;
	uint64_t run_end;
};

/**
 * tracemap_merge_next - the next record in the order of time
 * @m: the merge
 * @rec: where to put it; valid until the next call
 *
 * Most records are one of several that follow each other on the same CPU. For
 * these the library need not be called. All else: see tracemap_merge_take().
 *
 * Return: 1; 0 if there is nothing yet, or what there is has to wait;
 * -ENODATA at the end of all sources; another negative errno if one has failed
 */
static inline int tracemap_merge_next(struct tracemap_merge *m, struct tracemap_record *rec)
{
	const struct tracemap_merge_head *head = (const struct tracemap_merge_head *)m;
	struct tracemap_batch *run = head->run;
	const unsigned char *before = run->it.next;
	struct subbuf_record r;

	if (!subbuf__likely(before < run->it.fast_end) || !subbuf__next_fast(&run->it, &r))
		return tracemap_merge_take(m, rec);
	run->events++;
	if (!subbuf__likely(r.ts <= head->run_end))
		return tracemap_merge_turn(m, rec, r.ts, r.data, r.size, before);
	rec->ts = r.ts;
	rec->data = r.data;
	rec->size = r.size;
	rec->cpu = run->cpu;
	rec->flags = 0;
	rec->missed = 0;
	return 1;
}

#ifdef __cplusplus
}
#endif

#endif /* _TRACEMAP_H */

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

#include "live.h"
#include "tracemap.h"

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define tracemap__unlikely(x)	__builtin_expect(!!(x), 0)

/**
 * struct way - one way to read a CPU's buffer
 * @name: for people
 * @fetch: put what is new into cpu->batch and return 1, or return 0 or a negative
 *	errno and leave it empty
 * @settle: the batch is done with; a negative errno tells what was wrong with
 *	it. It is cleared afterwards
 * @arm: make poll() tell of what comes after what was fetched; 0, or a negative
 *	errno if that is not possible now. NULL: poll() is what it is
 * @figures: see tracemap_cpu_figures()
 * @raw: add what it has mapped
 * @close: let go of what open of the way has taken
 */
struct way {
	const char *name;
	int (*fetch)(struct tracemap_cpu *cpu);
	int (*settle)(struct tracemap_cpu *cpu);
	int (*arm)(struct tracemap_cpu *cpu, uint64_t bytes);
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
 * The mapping. @it stands where we stopped in the sub-buffer @id; @subbuf_ts
 * tells whether that is still what it was.
 */
struct map_state {
	struct live_mapping mapping;	/* index NULL: the kernel has none */
	const unsigned char *subbufs;
	uint32_t nr_subbufs;
	struct subbuf_iter it;
	uint64_t subbuf_ts;
	uint64_t entries;
	uint32_t epoch;
	uint32_t id;
	bool emptied;		/* and that is yet to be told */
	bool positioned;	/* the kernel was told where we are */
	struct live_observer observer;	/* for figures, and where the reader is */
};

struct observe_state {
	struct live_mapping mapping;
	struct live_observer observer;
	void *copy;		/* NULL: in place */
};

/**
 * struct tracemap_cpu - the buffer of a CPU, or a file that has sub-buffers
 * @batch: what was fetched last; empty if that is done with
 * @given: tracemap_cpu_fetch() has handed it out, to begin at @given_at
 * @held: @batch has something that is not settled
 * @merging: a merge has taken the next record out of @batch
 * @error: of a batch that is gone, to be told by the next call that looks
 * @number: of the CPU
 * @flags: from the options
 * @owns_fd: it is to be closed
 * @dir: per_cpu/cpuN, or -1
 * @found: since it was armed last, fetching brought something;
 * @looked: or did not
 * @added: the instance's epoll descriptor has it,
 * @watched: and tells of it
 * @by_poll: by what poll() says of its own, not by where we are
 * @woken: that said there is something
 * @distrusted: but there was not
 * @look_again: it has to be looked at after a while
 * @idle: times it was armed since something was found
 *
 * Who goes through @batch with an iterator of its own stores it back before a
 * call that fetches or waits: what seems to be left is not waited for.
 */
struct tracemap_cpu {
	struct tracemap_batch batch;
	const unsigned char *given_at;
	bool given;
	bool held;
	bool merging;
	int error;

	const struct way *way;
	struct subbuf_format format;
	int fd;
	int number;
	uint32_t flags;
	bool owns_fd;
	int dir;

	bool found;
	bool looked;
	bool added;
	bool watched;
	bool by_poll;
	bool woken;
	bool distrusted;
	bool look_again;
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

/* As an application's options say, with the fields filled in that it does not know. */
int tracemap__options(struct tracemap_options *options,
		      const struct tracemap_options *given);

/* Be done with a batch, and fetch what comes behind it. */
int tracemap__refill(struct tracemap_cpu *cpu);

/* Be done with a batch that was gone through to its end; its error is kept. */
void tracemap__finish(struct tracemap_cpu *cpu);

/* Figures out of per_cpu/cpuN/stats, for ways that have no others. */
int tracemap__stats(const struct tracemap_cpu *cpu, struct tracemap_figures *f);

/* The same as an observer sees them. */
int tracemap__live_figures(const struct live_observer *o, const struct trace_buffer_meta *meta,
			   struct tracemap_figures *f);

/* Is the kernel ours? It has the live index then, and its mapping is cheap. */
bool tracemap__kernel_lives(int fd);

/* Read @name below @dir; the text ends with a 0 byte. Returns its length. */
int tracemap__read_file(int dir, const char *name, char *text, size_t size);
int tracemap__open_at(int dir, const char *name, int flags);

/* Were there records, or a loss, that nobody has taken yet? */
static inline bool tracemap__in_hand(const struct tracemap_cpu *cpu)
{
	const struct tracemap_batch *b = &cpu->batch;

	if (!cpu->held || cpu->flags & TRACEMAP_IN_PLACE)
		return false;
	if (cpu->merging)
		return true;
	return b->it.next < b->it.end || (!cpu->given && (b->missed || b->flags));
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

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The random-operation driver: what its parts share. main.c says what it is.
 */
#ifndef RANDOM_RANDOM_H
#define RANDOM_RANDOM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <live.h>

#include "../../testing/selftests/ring-buffer/subbuf.h"
#include "prng.h"

#define PAGE		4096ul
#define MAX_CPUS	8
#define WORKERS		5
#define INSTANCES	4	/* 0 is the top level */
#define FDS		8	/* of a worker, for files of instances */
#define PIPES		2	/* of a worker */
#define AREAS		32	/* of a worker */
#define FILES		128
#define SIZES		1024	/* of events, kept */

/* Where workers map: pages of a region that nothing else is in. */
#define ARENA		0x200000000000ul
#define ARENA_PAGES	4096l

/* What is asked of a worker. Each operation uses some of this. */
struct order {
	int		op, worker;
	int		inst, cpu;
	int		fd, pipe;	/* slots */
	int		other;		/* another worker, or pipe */
	long		at, len;	/* in pages of the arena */
	long		to, to_len;
	uint64_t	off;
	int		prot, flags;
	long		value;
	char		text[80];
};

struct answer {
	long		ret;
	int		err;
	long		value;
	uint64_t	amount;
	char		complaint[160];	/* data was wrong, whatever the answer */
};

/* What /proc/self/maps says of the arena. */
struct span {
	long		start, end;
	int		prot;
	uint64_t	off;
};

/*
 * The events of a CPU's buffer, live or snapshot. All that is written gets a
 * number; the tally compares what comes out.
 */
struct account {
	uint32_t	seq;		/* of the next event */
	uint16_t	sizes[SIZES];	/* of the last ones */
	uint64_t	others;		/* events without number */
	bool		vague;		/* how many there are is not known */
	bool		loose;		/* nor in which order they come out */
	bool		mixed;		/* a latency tracer takes snapshots as it likes */
	struct tally	tally;
};

struct seat {
	struct order	order;
	struct answer	answer;
	int		nr_spans;
	struct span	spans[AREAS];
};

struct shared {
	struct seat	seats[WORKERS];
	struct account	live[INSTANCES][MAX_CPUS];
	struct account	snap[INSTANCES][MAX_CPUS];
	uint64_t	done[64], refused[64];	/* of each operation */
	uint64_t	storm_ops;
	int		stop;		/* the storm shall end */
	int		failed;
};

extern struct shared *shared;
extern unsigned int nr_cpus;
extern unsigned int nr_nodes;	/* of memory */
extern bool storm;	/* without lockstep: others change what is shared */
extern unsigned int piped;	/* whether workers keep spliced pages in pipes */
extern int wrong;	/* where the oracle shall lie, to show that it can fail */
extern struct subbuf_format format;
/*
 * Linux 6.12: mainline's mapping, which does otherwise what is promised on 6.1 only,
 * each named where the model asks for this.
 */
extern bool mainline;

/* ---- log.c: the last orders and their answers ---- */
void log_begin(uint64_t seed, unsigned int round);
void log_order(const struct order *o, const struct answer *a);
uint64_t log_digest(void);
unsigned long log_count(void);
void log_show(const char *complaint);

/* ---- operation tables ---- */
struct operation {
	const char	*name;
	unsigned int	weight;
	bool		alone;	/* makes sense in lockstep only */
	bool		maps;	/* may change the address space */
	/* Fills the order; false: not now. */
	bool		(*choose)(struct order *o);
	/* In the worker. */
	void		(*perform)(const struct order *o, struct answer *a);
	/* Was that right? Brings the model up to date; NULL, or what is wrong. */
	const char	*(*judge)(const struct order *o, const struct answer *a);
};

extern const struct operation map_operations[], file_operations[], live_operations[],
			      data_operations[],
			      process_operations[], setting_operations[],
			      snapshot_operations[], numa_operations[];
const struct operation *operation(int op);
void operations_begin(void);
void choose_operation(struct order *o, int worker);
/* Seldom one that is not there. */
bool any_instance(struct order *o);
/* A range of which no area is outside: what is done to it is done to one. */
bool choose_inside(struct order *o);
const char *judge(const struct order *o, const struct answer *a);
bool all_operations_done(bool tell);

/* ---- judge.c: what an answer may be ---- */
enum tri { NO, YES, MAYBE };

static inline enum tri is(bool known)
{
	return known ? YES : NO;
}

static inline enum tri either(enum tri a, enum tri b)
{
	return a == YES || b == YES ? YES : a == MAYBE || b == MAYBE ? MAYBE : NO;
}

/* Others may have changed it meanwhile. */
static inline enum tri unless_storm(enum tri t)
{
	return storm ? MAYBE : t;
}

void judge_begin(void);
/* There is a reason (or may be one) to refuse it with @err. */
void why(enum tri t, int err);
/* The order's instance is not there. */
void why_gone(const struct order *o);
/* NULL, or what is wrong with success or with this error. */
const char *judged(const struct answer *a);
const char *complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- model.c: instances and open files ---- */
enum kind { RAW, TRACE, PIPE, LIVE, NR_KINDS };

struct file {
	int		refs;		/* descriptors and mappings */
	enum kind	kind;
	int		inst, cpu;	/* -1: all CPUs */
	int		flags;
	bool		swapped;	/* a snapshot was taken since it was opened */
	bool		spare;		/* a read left part of a sub-buffer behind */
	bool		watches;	/* of an observer: it has told a position */
};

struct instance {
	bool		exists;
	unsigned int	order;
	unsigned long	nr_pages[MAX_CPUS];
	bool		allocated;	/* the snapshot buffer */
	bool		trigger;
	int		hist;		/* which, or 0 */
	pid_t		hist_pid;	/* of the snapshot that it took last */
	int		tracer;
	bool		on, was_off, overwrite;
	int		percent;
};

/* Snapshots of histograms, on an event that does not happen here, and on that of texts */
enum { HIST_NEVER = 1, HIST_CHANGE, HIST_MAX, NR_HISTS };

#define QUIET_TRIGGER	"events/module/module_load/trigger"
#define NEVER_TEXT	"hist:keys=name:t=taints:onchange($t).snapshot()"
#define CHANGE_TEXT	"hist:keys=ip:p=common_pid:onchange($p).snapshot()"
#define MAX_TEXT	"hist:keys=ip:m=common_pid:onmax($m).snapshot()"

extern struct instance instances[INSTANCES];
extern struct file files[FILES];
extern bool online[MAX_CPUS];
extern const char *const tracers[];
extern unsigned int nr_tracers;
#define TRACER_NOP	0
#define TRACER_LATENCY	1	/* this and those after it take snapshots */

const struct trace_instance *dir_of(int inst);
int new_file(void);
void drop_file(int file);
enum tri snapshot_users(int inst);
int open_files(int inst, int kind);
enum tri readers_of_trace(int inst, int cpu);
/* The events of the instance are not only ours, or are somewhere else. */
void blur(int inst);
/* A text was written to trace_marker by this worker: it may set off a snapshot. */
void text_written(int inst, int worker);
void clear_accounts(struct account *accounts, bool all);
void clear_live(int inst, bool all);
/* Sub-buffers of a buffer of so many KiB. */
unsigned long pages_of(unsigned long kb, unsigned int order);
void model_begin(void);
void model_show(void);
void model_instance(int inst);

/* ---- space.c: what workers have mapped, and which descriptors they have ---- */
enum { BIT_DOFORK = 1, BIT_RANDOM = 2, BIT_SEQUENTIAL = 4, BIT_DONTDUMP = 8 };

struct area {
	long		start, end;	/* in pages of the arena */
	uint64_t	off;
	int		file;
	int		prot;
	int		bits;
	bool		vague;		/* bits nobody knows */
};

struct worker {
	bool		alive;
	pid_t		pid;
	int		fds[FDS];	/* file, or -1 */
	bool		pipes[PIPES];
	int		nr_areas;
	struct area	areas[AREAS];
};

extern struct worker workers[WORKERS];

static inline void *arena(long page)
{
	return (void *)(ARENA + page * PAGE);
}

void worker_begin(struct worker *w);
void worker_gone(struct worker *w, bool descriptors);
void worker_copy(struct worker *to, const struct worker *from);
struct file *file_at(const struct order *o);
int count_mappings(int inst, int cpu);
/* Mapped or observed: that holds off sizes and snapshots. */
enum tri held(int inst, int cpu);
/* Mapped, as far as GET_READER is concerned. */
enum tri served(int inst, int cpu);

struct area *area_of(struct worker *w, long at);
struct area *any_area(struct worker *w);
/* Does the range cut one of the areas? Is there one in it? */
bool range_cuts(const struct worker *w, long at, long len);
bool range_has(const struct worker *w, long at, long len);
bool range_full(const struct worker *w, long at, long len);
void remove_areas(struct worker *w, long at, long len);
struct area *add_area(struct worker *w, long at, long len, uint64_t off, int file, int prot);
/* Some call failed that may have unmapped what was in its way. */
void forgive_removed(struct worker *w, long at, long len);
const char *compare_areas(const struct worker *w);
/* Pages of the mapping. */
unsigned long map_pages(int inst, int cpu);

static inline struct worker *worker_of(const struct order *o)
{
	return &workers[o->worker];
}

/* ---- data.c: events, in workers ---- */
long stat_entries(int inst, int cpu);
long stat_sum(int inst, int cpu);
/* Numbered events of @size bytes; how many were taken, or an error. */
long write_numbered(int inst, int cpu, unsigned int count, size_t size);
/* Do the last @nr events fit in one sub-buffer of @size bytes? MAYBE: not known. */
enum tri fit_one_subbuf(int inst, int cpu, long nr, size_t size);
/* Something is about to be consumed; what it was is noted, if it was wrong. */
struct tally *tally_begin(struct account *acc);
void tally_check(struct account *acc, struct answer *a);
/* Are these records, and whole events? */
bool subbuf_sane(const void *subbuf, size_t size);

/* ---- worker.c ---- */
#define FD_BASE		20	/* + slot */
#define PIPE_BASE	40	/* + 2 * slot: read, write */
#define SHARED_FD	60
#define ANSWER_FD	61
#define ORDER_FD	70	/* + worker: read; + WORKERS: write */

static inline int fd_of(const struct order *o)
{
	return FD_BASE + o->fd;
}

static inline int pipe_end(int slot, int end)
{
	return PIPE_BASE + 2 * slot + end;
}

/* Of a system call; and of a function that returns a negative errno. */
void note(struct answer *a, long ret);
void note_result(struct answer *a, long ret);
void perform(const struct order *o, struct answer *a);
void work(int worker) __attribute__((noreturn));
void look_at_maps(struct seat *seat);
/* Reads a byte of each page; 0, or the signal that came of it. */
int touch(const void *from, size_t len);
void catch_signals(void);
/* In a storm, what blocks in between is interrupted. */
void may_block(bool begin);

/* ---- crew.c: workers in lockstep ---- */
void crew_make(void);
const char *crew_begin(void);
void crew_end(void);
int crew_start(int worker);
void crew_forked(int worker, pid_t pid);
int crew_reap(int worker);
const char *crew_ask(const struct order *o, struct answer *a);

/* ---- storm.c ---- */
const char *storm_play(uint64_t seed, unsigned int round, unsigned int ms);

/* ---- quiet.c: nobody has anything open ---- */
int make_instance(int inst);
/* All as it was in the beginning: refused by nobody. */
const char *settle_all(void);
const char *check_quiet(void);

#endif /* RANDOM_RANDOM_H */

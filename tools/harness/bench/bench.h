/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of the benchmark share. Functions return 0 or more, or a
 * negative errno.
 */
#ifndef _BENCH_H
#define _BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/trace_mmap.h>

#include "subbuf.h"

#define KIB		1024UL
#define MIB		(1024 * KIB)
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* clock.c: instructions where the guest's clock counts them, else nanoseconds. */
int clock_setup(void);
uint64_t clock_now(void);
uint64_t clock_since(uint64_t start);	/* without what reading the clock costs */
uint64_t clock_ns(void);
const char *clock_of_trace(void);	/* the trace_clock that tells the same */
void clock_settle(void);		/* start far from the next timer interrupt */

/* files.c */
int file_write(const char *path, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int file_read(const char *path, char *text, size_t size);
int64_t file_number(const char *path, const char *after);

/* main.c */
extern bool kernel_lives;	/* it has the live index */
extern bool kernel_maps;	/* the kernel has the mapping and sizes of sub-buffers */
void result(const char *table, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int pin_to_cpu(int cpu);

/* trace.c: an instance of tracefs, in no-overwrite mode. */
struct trace {
	char dir[64];
	size_t subbuf_size;
	struct subbuf_format format;
	int marker;
};

int trace_open(struct trace *trace, unsigned int subbuf_kib, size_t buffer_kib);
int trace_close(struct trace *trace);
int trace_set(const struct trace *trace, const char *file, const char *value);
int trace_stop(const struct trace *trace);
int trace_enable_event(const struct trace *trace);
int64_t trace_entries(const struct trace *trace, int cpu);
int trace_mark(const struct trace *trace, unsigned int count, unsigned int payload);
int trace_open_raw(const struct trace *trace, int cpu);
int trace_open_live(const struct trace *trace, int cpu);
struct live_mapping;
int trace_map_live(const struct trace *trace, int cpu, struct live_mapping *mapping);

/* calls.c */
struct calls {
	int fd;
	int64_t before;
};

int calls_begin(struct calls *calls);
int64_t calls_end(struct calls *calls);

/* event.c: the module bench_event, and the sizes of records. */
#define EVENT_DIR	"/sys/kernel/debug/bench_event/"
int event_fire(unsigned int count, unsigned int payload);
unsigned int event_payload(unsigned int record);
unsigned int mark_payload(unsigned int record);

/* What a reader did. */
struct tally {
	uint64_t events;
	uint64_t missed;	/* by who takes nothing; the others' are in the buffer */
	uint64_t bytes;		/* of records, or of sub-buffers where nobody looked */
	uint64_t calls;		/* of the reader, as the kernel counts them */
	uint64_t copied;	/* by system calls of the reader */
	uint64_t sink;		/* sum of all that was parsed */
};

/* ways.c: a way to read. The state is the way's own. */
struct reader {
	const struct way *way;
	const struct trace *trace;
	int cpu;
	int fd;
	int pipe[2];
	int target;
	void *memory;
	size_t size;
	size_t filled;
	void *state;
};

struct way {
	const char *name;
	bool needs_mapping;
	bool outside_tracefs;
	bool takes_nothing;	/* the buffer does not become empty */
	int (*open)(struct reader *reader);
	/* Before the clock runs, when all is written. */
	int (*prepare)(struct reader *reader);
	int (*drain)(struct reader *reader, struct tally *tally);
	void (*close)(struct reader *reader);
};

extern const struct way way_parse, way_read, way_mapping, way_splice_file,
	way_splice_null, way_live, way_perf, way_bpf;

bool way_possible(const struct way *way);
int reader_open(struct reader *reader, const struct way *way,
		const struct trace *trace, int cpu);
void reader_close(struct reader *reader);

/* observers.c: processes that follow the buffer of CPU 0. */
#define OBSERVERS_MAX	16

struct observers {
	int nr;
	int ask[OBSERVERS_MAX];
	int answer[OBSERVERS_MAX];
};

int observers_start(struct observers *observers, const struct trace *trace, int nr);
int observers_look(const struct observers *observers, int64_t events);
void observers_stop(struct observers *observers);

/* mapping.c */
struct mapping {
	struct trace_buffer_meta *meta;
	size_t size;
};

int mapping_open(struct mapping *mapping, int fd);
void mapping_close(struct mapping *mapping);
extern bool parse_counts;	/* events, instead of adding up their time stamps */
int parse(const struct subbuf_iter *start, struct tally *tally);
int mapping_parse(const struct mapping *mapping, const struct subbuf_format *format,
		  uint32_t read, struct tally *tally);

/* bpf.c */
extern unsigned int bpf_payload;
/* perf.c and bpf.c */
extern size_t outside_size;	/* bytes of their buffers */

/* drain.c: one result of a table. */
int drain_point(const char *table, const struct way *way, unsigned int subbuf_kib,
		unsigned int payload);

/* One file each: the tables. */
int table_drain(void);
int table_growth(void);
int table_library(void);
int table_get_reader(void);
int table_peers(void);
int table_irqs_off(void);
int table_writer(void);
int table_map(void);
int table_loss(void);
int table_cpus(void);
int table_index(void);
int table_wakeup(void);
int table_quiet(void);

#endif

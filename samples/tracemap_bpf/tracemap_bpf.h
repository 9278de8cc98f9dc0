/* SPDX-License-Identifier: GPL-2.0 */
/* What the three uses share. */
#ifndef _TRACEMAP_BPF_SAMPLE_H
#define _TRACEMAP_BPF_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "numbered.h"
#include "tracemap-bpf.h"

enum { MAX_CPUS = 64 };

struct options {
	const char *object;	/* the compiled BPF program */
	unsigned int count;	/* of events; 0: as many as the use thinks fit */
	bool by_index;		/* fullest: drain in the order of CPUs instead */
	bool unmerged;		/* order: read buffer after buffer instead */
	bool perf_time;		/* perf's time stamps, not the BPF program's */
};

/* Each returns 0 if all was as it has to be. */
int use_wrap(const struct options *options);
int use_order(const struct options *options);
int use_fullest(const struct options *options);

/* program.c: the BPF program, and a perf buffer for each CPU. */
struct bpf_object;
struct bpf_link;

struct program {
	struct bpf_object *object;
	struct bpf_link *link;
	struct perf_buffer *pb;
	unsigned int nr;
	struct tracemap_perf *perf[MAX_CPUS];
	int cpu[MAX_CPUS];
};

int program_start(struct program *program, const struct options *options, size_t pages);
void program_stop(struct program *program);

/* events.c: making numbered events, and checking them. */
int go_to_cpu(int cpu);
void make_event(unsigned int number);
int make_event_on(int cpu, unsigned int number);
int check_event(const struct tracemap_record *rec, bool own_stamp, struct numbered *event);

/* The numbers of one CPU: each seen or told lost, in order. */
struct account {
	unsigned int next;
	unsigned int seen;
	unsigned long long lost;
};

int account_event(struct account *account, const struct tracemap_record *rec,
		  const struct numbered *event);

int complain(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif /* _TRACEMAP_BPF_SAMPLE_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Measure what it costs to merge 2 to 256 CPUs, by the order of their events,
 * compared with a loop that only parses the same sub-buffers in the same run.
 *
 *	merge_cost instructions		in a guest whose clock counts instructions
 *	merge_cost nanoseconds		anywhere: CPU time of the thread
 *
 * The sub-buffers are in memory, and the merge parses them in place, without system
 * calls. Each line "result merge" has the least of several runs, divided by the
 * number of events. Instructions do not vary, and some of them are tested.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#include "cpu.h"
#include "subbuf_make.h"

#define CPUS_MAX	256
#define EVENTS		200000
#define SUBBUF_SIZE	4096
#define ARRAY(a)	(sizeof(a) / sizeof((a)[0]))

static const struct subbuf_format format = { SUBBUF_SIZE, 8, 8, 16, false };

/* @burst: events of one CPU that follow each other, on average; 0: each CPU in its turn */
static const struct order {
	const char *name;
	unsigned int burst;
} orders[] = {
	{ "alternating", 0 }, { "random", 1 }, { "bursts-4", 4 }, { "bursts-16", 16 },
	{ "bursts-64", 64 },
};

struct memory {
	unsigned char *bytes;
	size_t size;
	size_t fetched;
	struct subbuf_make make;
};

static struct memory memories[CPUS_MAX];
static bool by_instructions;
static uint64_t sink;

static uint64_t now(void)
{
	struct timespec t;

	if (by_instructions)
		return __rdtsc();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* ---- Events ---- */

/* Of the high bits: the low ones come again so soon that processors foresee them. */
static unsigned int random_below(unsigned int n)
{
	static uint64_t seed = 1;

	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % n;
}

static void finish_subbuf(struct memory *m)
{
	m->bytes = realloc(m->bytes, m->size + SUBBUF_SIZE);
	if (!m->bytes)
		err(1, "realloc");
	make_finish(&m->make, 0);
	memcpy(m->bytes + m->size, m->make.bytes, SUBBUF_SIZE);
	m->size += SUBBUF_SIZE;
}

static void write_event(struct memory *m, uint64_t ts)
{
	if (make_event(&m->make, ts, &ts, sizeof(ts)))
		return;
	finish_subbuf(m);
	make_begin(&m->make, &format, ts);
	make_event(&m->make, ts, &ts, sizeof(ts));
}

static unsigned int next_cpu(unsigned int cpu, unsigned int nr, unsigned int burst)
{
	if (!burst)
		return (cpu + 1) % nr;
	if (burst == 1)
		return random_below(nr);
	return random_below(burst) ? cpu : (cpu + 1 + random_below(nr - 1)) % nr;
}

static void write_events(unsigned int nr, unsigned int burst)
{
	unsigned int i, cpu = 0;
	uint64_t ts = 1000;

	for (i = 0; i < nr; i++)
		make_begin(&memories[i].make, &format, ts);
	for (i = 0; i < EVENTS; i++, ts += 10) {
		cpu = next_cpu(cpu, nr, burst);
		write_event(&memories[cpu], ts);
	}
	for (i = 0; i < nr; i++)
		finish_subbuf(&memories[i]);
}

static void forget_events(unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		free(memories[i].bytes);
		memories[i].bytes = NULL;
		memories[i].size = 0;
	}
}

/* ---- Going through them ---- */

static uint64_t parse_all(unsigned int nr)
{
	uint64_t start = now(), sum = 0;
	struct subbuf_record r;
	unsigned int i;
	size_t at;

	for (i = 0; i < nr; i++) {
		for (at = 0; at < memories[i].size; at += SUBBUF_SIZE) {
			struct subbuf_iter it = subbuf_begin(&format, memories[i].bytes + at);

			while (subbuf_next(&it, &r))
				sum += r.ts;
		}
	}
	start = now() - start;
	sink += sum;
	return start;
}

static int memory_fetch(struct tracemap_cpu *cpu)
{
	struct memory *m = &memories[cpu->number];

	if (m->fetched == m->size)
		return -ENODATA;
	cpu->batch.it = subbuf_begin(&format, m->bytes + m->fetched);
	cpu->batch.missed = 0;
	cpu->batch.flags = 0;
	cpu->batch.events = 0;
	m->fetched += SUBBUF_SIZE;
	return 1;
}

static int memory_settle(struct tracemap_cpu *cpu)
{
	(void)cpu;
	return 0;
}

/* A handle with a backend of its own, which reads out of memory. */
static struct tracemap_cpu *memory_open(unsigned int i)
{
	static struct backend backend;
	struct tracemap_cpu *cpu;

	if (tracemap_cpu_open_file(&cpu, 0, i, &format))
		errx(1, "tracemap_cpu_open_file");
	backend = *cpu->backend;
	backend.fetch = memory_fetch;
	backend.settle = memory_settle;
	cpu->backend = &backend;
	memories[i].fetched = 0;
	return cpu;
}

static uint64_t take_all(struct tracemap_merge *m)
{
	uint64_t start = now(), sum = 0, events = 0;
	struct tracemap_record rec;

	while (tracemap_merge_next(m, &rec) == 1) {
		sum += rec.ts;
		events++;
	}
	start = now() - start;
	sink += sum;
	if (events != EVENTS)
		errx(1, "%llu events", (unsigned long long)events);
	return start;
}

static uint64_t merge_all(unsigned int nr)
{
	struct tracemap_cpu *cpus[CPUS_MAX];
	struct tracemap_merge *m;
	unsigned int i;
	uint64_t took;

	if (tracemap_merge_new(&m, NULL))
		errx(1, "tracemap_merge_new");
	for (i = 0; i < nr; i++) {
		cpus[i] = memory_open(i);
		if (tracemap_merge_add_cpu(m, cpus[i]))
			errx(1, "tracemap_merge_add_cpu");
	}
	took = take_all(m);
	tracemap_merge_free(m);
	for (i = 0; i < nr; i++)
		tracemap_cpu_close(cpus[i]);
	return took;
}

/* ---- What it costs ---- */

static void keep_least(double *least, uint64_t took)
{
	if (!*least || (double)took / EVENTS < *least)
		*least = (double)took / EVENTS;
}

/* Returns how many times parsing it is. */
static double measure(unsigned int nr, const struct order *order)
{
	double parse = 0, merge = 0;
	int i;

	write_events(nr, order->burst);
	for (i = 0; i < (by_instructions ? 2 : 25); i++) {
		keep_least(&parse, parse_all(nr));
		keep_least(&merge, merge_all(nr));
	}
	forget_events(nr);
	printf("result merge by=%s sources=%u order=%s parse=%.2f value=%.2f\n",
	       by_instructions ? "instructions" : "nanoseconds", nr, order->name, parse, merge);
	fflush(stdout);
	return merge / parse;
}

/* How many times parsing it may be, in instructions; 0: any */
static double limit(unsigned int nr, const struct order *order)
{
	if (nr == 8)
		return order->burst >= 16 ? 3 : 0;
	return nr == CPUS_MAX ? 24 : 0;
}

static bool within(unsigned int nr, const struct order *order, double times)
{
	double most = by_instructions ? limit(nr, order) : 0;
	bool good = times <= most;

	if (!most)
		return true;
	printf("1..1\n%sok - merging %u CPUs, %s, costs at most %.0f times the parsing\n",
	       good ? "" : "not ", nr, order->name, most);
	return good;
}

int main(int argc, char **argv)
{
	bool good = true;
	unsigned int nr;
	size_t i;

	by_instructions = argc == 2 && !strcmp(argv[1], "instructions");
	if (!by_instructions && (argc != 2 || strcmp(argv[1], "nanoseconds")))
		errx(2, "merge_cost instructions|nanoseconds");
	for (nr = 2; nr <= CPUS_MAX; nr *= 2) {
		for (i = 0; i < ARRAY(orders); i++)
			good &= within(nr, &orders[i], measure(nr, &orders[i]));
	}
	return good ? 0 : 1;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What it costs to merge 8 CPUs, in instructions of a guest whose clock counts
 * them: small events, in files, in various orders. The measure is the loop that
 * does no more than parse the same sub-buffers, where they are.
 *
 * What has to hold is that merging bursts costs no more than 3 times that. What
 * it costs if every event is another CPU's is told.
 */
#define _GNU_SOURCE
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#include "subbuf_make.h"
#include "tracemap.h"

#define NR_CPUS		8
#define EVENTS		20000
#define SUBBUF_SIZE	4096
#define RUNS		3

static const struct subbuf_format format = { SUBBUF_SIZE, 8, 8, 16, false };

struct cpu {
	int fd;
	size_t size;
	unsigned char *bytes;
	struct subbuf_make make;
};

static struct cpu cpus[NR_CPUS];
static uint64_t sink;

static unsigned int random_below(unsigned int n)
{
	static unsigned int seed = 1;

	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

static void send_subbuf(struct cpu *cpu)
{
	make_finish(&cpu->make, 0);
	if (write(cpu->fd, cpu->make.bytes, SUBBUF_SIZE) != SUBBUF_SIZE)
		err(1, "write");
	cpu->size += SUBBUF_SIZE;
}

/* Of @burst events on average; 1: each CPU in its turn. */
static void write_events(unsigned int burst)
{
	uint64_t ts = 1000;
	unsigned int i, now = 0;
	uint32_t data = 1;

	for (i = 0; i < NR_CPUS; i++) {
		cpus[i].fd = memfd_create("cpu", 0);
		cpus[i].size = 0;
		make_begin(&cpus[i].make, &format, ts);
	}
	for (i = 0; i < EVENTS; i++, ts += 10) {
		if (burst == 1)
			now = i % NR_CPUS;
		else if (!random_below(burst))
			now = (now + 1 + random_below(NR_CPUS - 1)) % NR_CPUS;
		if (make_event(&cpus[now].make, ts, &data, sizeof(data)))
			continue;
		send_subbuf(&cpus[now]);
		make_begin(&cpus[now].make, &format, ts);
		make_event(&cpus[now].make, ts, &data, sizeof(data));
	}
	for (i = 0; i < NR_CPUS; i++) {
		send_subbuf(&cpus[i]);
		cpus[i].bytes = mmap(NULL, cpus[i].size, PROT_READ, MAP_SHARED | MAP_POPULATE,
				     cpus[i].fd, 0);
		if (cpus[i].bytes == MAP_FAILED)
			err(1, "mmap");
	}
}

static void forget_events(void)
{
	unsigned int i;

	for (i = 0; i < NR_CPUS; i++) {
		munmap(cpus[i].bytes, cpus[i].size);
		close(cpus[i].fd);
	}
}

static uint64_t parse_all(void)
{
	uint64_t start = __rdtsc(), sum = 0;
	struct subbuf_record r;
	unsigned int i;
	size_t at;

	for (i = 0; i < NR_CPUS; i++) {
		for (at = 0; at < cpus[i].size; at += SUBBUF_SIZE) {
			struct subbuf_iter it = subbuf_begin(&format, cpus[i].bytes + at);

			while (subbuf_next(&it, &r))
				sum += r.ts;
		}
	}
	sink += sum;
	return __rdtsc() - start;
}

/* Reading is the kernel's: what it takes is measured, and not counted. */
static uint64_t read_all(void)
{
	static unsigned char buffer[SUBBUF_SIZE];
	uint64_t start = __rdtsc();
	unsigned int i;

	for (i = 0; i < NR_CPUS; i++) {
		lseek(cpus[i].fd, 0, SEEK_SET);
		while (read(cpus[i].fd, buffer, SUBBUF_SIZE) > 0)
			;
	}
	return __rdtsc() - start;
}

static uint64_t merge_all(void)
{
	struct tracemap_cpu *handles[NR_CPUS];
	struct tracemap_record rec;
	struct tracemap_merge *m;
	uint64_t start, sum = 0, events = 0;
	unsigned int i;

	if (tracemap_merge_new(&m, NULL))
		errx(1, "tracemap_merge_new");
	for (i = 0; i < NR_CPUS; i++) {
		lseek(cpus[i].fd, 0, SEEK_SET);
		if (tracemap_cpu_open_file(&handles[i], cpus[i].fd, i, &format) ||
		    tracemap_merge_add_cpu(m, handles[i]))
			errx(1, "tracemap_cpu_open_file");
	}
	start = __rdtsc();
	while (tracemap_merge_next(m, &rec) == 1) {
		sum += rec.ts;
		events++;
	}
	start = __rdtsc() - start;
	if (events != EVENTS)
		errx(1, "%llu events", (unsigned long long)events);
	tracemap_merge_free(m);
	for (i = 0; i < NR_CPUS; i++)
		tracemap_cpu_close(handles[i]);
	sink += sum;
	return start;
}

/* The least of some runs: no interrupt came in between. */
static double least(uint64_t (*run)(void))
{
	uint64_t best = UINT64_MAX, took;
	int i;

	for (i = 0; i < RUNS; i++) {
		took = run();
		if (took < best)
			best = took;
	}
	return (double)best / EVENTS;
}

int main(void)
{
	static const unsigned int bursts[] = { 1, 2, 4, 8, 16, 64 };
	int failed = 0;
	unsigned int i;

	for (i = 0; i < sizeof(bursts) / sizeof(bursts[0]); i++) {
		double parse, merge;
		bool good;

		write_events(bursts[i]);
		parse = least(parse_all);
		merge = least(merge_all) - least(read_all);
		printf("# bursts of %u: parsing %.1f, merging %.1f instructions an event: %.2f times\n",
		       bursts[i], parse, merge, merge / parse);
		forget_events();
		if (bursts[i] < 8)
			continue;
		good = merge <= 3 * parse;
		printf("1..1\n%sok - merging 8 CPUs in bursts of %u costs at most 3 times the parsing\n",
		       good ? "" : "not ", bursts[i]);
		failed |= !good;
	}
	return failed;
}

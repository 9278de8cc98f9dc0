// SPDX-License-Identifier: GPL-2.0
/*
 * The clock. Under QEMU's -icount shift=0 the time stamp counter of the guest
 * counts its instructions; that is put to the test before it is believed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#include "bench.h"

#define LOOPS		1000
#define INTERRUPT	1000		/* it takes more than this */
#define SETTLE_MAX	20000000

static bool counts_instructions;
static uint64_t cost;

uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

uint64_t clock_now(void)
{
	return counts_instructions ? __rdtsc() : clock_ns();
}

uint64_t clock_since(uint64_t start)
{
	uint64_t passed = clock_now() - start;

	return passed > cost ? passed - cost : 0;
}

const char *clock_of_trace(void)
{
	return counts_instructions ? "x86-tsc" : "mono";
}

/*
 * Until a timer interrupt has been: what begins now and takes less than the
 * time between two of them is not disturbed.
 */
void clock_settle(void)
{
	uint64_t last = clock_now(), now, end = last + SETTLE_MAX;

	while (last < end) {
		now = clock_now();
		if (now - last > INTERRUPT)
			return;
		last = now;
	}
}

static uint64_t least(uint64_t (*measure)(void))
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 100; i++) {
		uint64_t value = measure();

		if (value < best)
			best = value;
	}
	return best;
}

static uint64_t nothing(void)
{
	uint64_t start = clock_now();

	return clock_now() - start;
}

/* LOOPS times two instructions. */
static uint64_t loop(void)
{
	unsigned long n = LOOPS;
	uint64_t start = clock_now();

	__asm__ volatile("1: dec %0; jnz 1b" : "+r" (n));
	return clock_since(start);
}

int clock_setup(void)
{
	const char *unit = getenv("BENCH_UNIT");
	uint64_t counted;

	counts_instructions = unit && !strcmp(unit, "instructions");
	cost = least(nothing);
	if (!counts_instructions)
		return 0;

	counted = least(loop);
	if (counted >= 2 * LOOPS && counted <= 2 * LOOPS + 10)
		return 0;
	fprintf(stderr, "%d instructions took %lu of the clock\n",
		2 * LOOPS, (unsigned long)counted);
	return -EINVAL;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of libtracemap in the guest share: an instance of tracefs,
 * events whose payload is a number, results in TAP.
 */
#ifndef _LIB_GUEST_H
#define _LIB_GUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tracemap.h"

#define TRACING		"/sys/kernel/tracing"
#define INSTANCE	TRACING "/instances/libtest"
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* What the kernel can do, in words: read, map, and live, which tests ask for. */
extern const char *abilities;
bool can(const char *ability);

/* Says why, and where; the test that did it has failed. */
#define expect(cond) expect_that(cond, #cond, __func__, __LINE__)
#define expect_eq(a, b) expect_equal(a, b, #a " == " #b, __func__, __LINE__)
bool expect_that(bool cond, const char *text, const char *func, int line);
bool expect_equal(int64_t a, int64_t b, const char *text, const char *func, int line);

struct test {
	const char *name;
	void (*run)(void);
	const char *needs;	/* an ability; NULL: none */
};

void run_test(const struct test *test);
extern int failed_tests;

void set(const char *file, const char *value);		/* below INSTANCE */
void set_global(const char *path, const char *value);
void new_instance(const char *kib);
void end_instance(void);
void remove_instance(void);
/* Events @from to @to, of @payload bytes each (8 or more), on CPU @cpu. */
void write_marks_of(int cpu, uint32_t from, uint32_t to, unsigned int payload);
void write_marks(int cpu, uint32_t from, uint32_t to);

/*
 * A payload whose records, of 128 bytes, leave room in a sub-buffer for the number
 * of events that were lost: without it nobody is told how many.
 */
#define LOSS_SIZE	108

uint32_t mark_of(const void *data, uint32_t size);
uint64_t monotonic_ns(void);
double seconds(void);
double cpu_seconds(void);

/* The ways this kernel has. */
struct way_to_read {
	const char *name;
	enum tracemap_way way;
	const char *needs;
};

extern const struct way_to_read ways[];
extern const unsigned int nr_ways;
const struct way_to_read *next_way(const struct way_to_read *after);

struct tracemap_options options_of(const struct way_to_read *w);
struct tracemap_cpu *open_way(const struct way_to_read *w, int cpu);

/* What a reader of marks has seen. */
struct account {
	uint32_t last;
	uint64_t seen;
	uint64_t missed;
	uint64_t resets;
	uint64_t ts;
	uint64_t hash;
	unsigned int wrong;
};

void account_for(struct account *a, uint64_t ts, const void *data, uint32_t size,
		 uint64_t missed);
int drain(struct tracemap_cpu *cpu, struct account *a);

/* wait.c */
void test_hotplug(void);
extern const struct test wait_tests[];
extern const unsigned int nr_wait_tests;
/* merge.c */
extern const struct test merge_tests[];
extern const unsigned int nr_merge_tests;
/* open.c */
extern const struct test open_tests[];
extern const unsigned int nr_open_tests;

#endif

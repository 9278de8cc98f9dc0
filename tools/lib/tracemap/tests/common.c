// SPDX-License-Identifier: GPL-2.0
/* Functions that the tests of libtracemap in the guest share. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib_guest.h"

const char *abilities = "read,map,live";
int failed_tests;
static int expectations_failed;

bool can(const char *ability)
{
	return strstr(abilities, ability);
}

bool expect_that(bool cond, const char *text, const char *func, int line)
{
	if (!cond) {
		printf("# %s:%d: not so: %s\n", func, line, text);
		expectations_failed++;
	}
	return cond;
}

bool expect_equal(int64_t a, int64_t b, const char *text, const char *func, int line)
{
	if (a != b) {
		printf("# %s:%d: not so: %s: %lld, %lld\n", func, line, text,
		       (long long)a, (long long)b);
		expectations_failed++;
	}
	return a == b;
}

void run_test(const struct test *test)
{
	expectations_failed = 0;
	test->run();
	printf("%s - %s\n", expectations_failed ? "not ok" : "ok", test->name);
	fflush(stdout);
	if (expectations_failed)
		failed_tests++;
}

/* ---- tracefs ---- */

void set_global(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	if (fd < 0 || write(fd, value, strlen(value)) != (ssize_t)strlen(value))
		err(1, "%s: %s", path, value);
	close(fd);
}

void set(const char *file, const char *value)
{
	char path[256];

	snprintf(path, sizeof(path), INSTANCE "/%s", file);
	set_global(path, value);
}

/* To make an instance takes a second here: there is one, made to look new. */
void new_instance(const char *kib)
{
	if (mkdir(INSTANCE, 0700) < 0 && errno != EEXIST)
		err(1, INSTANCE);
	set("buffer_size_kb", kib);
	set("buffer_percent", "50");
	set("trace_clock", "mono");
	set("trace", "\n");
}

/* What is mapped cannot be resized. */
void end_instance(void)
{
	set("buffer_size_kb", "12");
}

void remove_instance(void)
{
	if (rmdir(INSTANCE) < 0 && errno != ENOENT)
		err(1, INSTANCE);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		err(1, "CPU %d", cpu);
}

/* trace_marker_raw: an id, which is the number, then data. */
void write_marks_of(int cpu, uint32_t from, uint32_t to, unsigned int payload)
{
	static __thread uint32_t mark[1024];
	int fd = open(INSTANCE "/trace_marker_raw", O_WRONLY);
	cpu_set_t before;

	if (fd < 0)
		err(1, "trace_marker_raw");
	sched_getaffinity(0, sizeof(before), &before);
	pin(cpu);
	for (uint32_t i = from; i <= to; i++) {
		mark[0] = i;
		mark[1] = ~i;
		if (write(fd, mark, payload) != (ssize_t)payload && errno != EBADF)
			err(1, "mark %u", i);
	}
	sched_setaffinity(0, sizeof(before), &before);
	close(fd);
}

void write_marks(int cpu, uint32_t from, uint32_t to)
{
	write_marks_of(cpu, from, to, 8);
}

/* Behind what every event of the kernel starts with; 0: it is no mark. */
uint32_t mark_of(const void *data, uint32_t size)
{
	uint32_t mark[2];

	if (size < 16)
		return 0;
	memcpy(mark, (const char *)data + 8, sizeof(mark));
	return mark[1] == ~mark[0] ? mark[0] : 0;
}

/* ---- Time ---- */

uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

double seconds(void)
{
	return monotonic_ns() / 1e9;
}

double cpu_seconds(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_utime.tv_sec + r.ru_stime.tv_sec +
	       (r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

/* ---- Reading ---- */

const struct way_to_read ways[] = {
	{ "read", TRACEMAP_READ, "read" },
	{ "map", TRACEMAP_MAP, "map" },
	{ "observe", TRACEMAP_OBSERVE, "live" },
};

const unsigned int nr_ways = ARRAY_SIZE(ways);

const struct way_to_read *next_way(const struct way_to_read *after)
{
	for (after = after ? after + 1 : ways; after < ways + nr_ways; after++) {
		if (can(after->needs))
			return after;
	}
	return NULL;
}

struct tracemap_options options_of(const struct way_to_read *w)
{
	struct tracemap_options o = tracemap_default_options();

	o.way = w->way;
	return o;
}

struct tracemap_cpu *open_way(const struct way_to_read *w, int number)
{
	struct tracemap_options o = options_of(w);
	struct tracemap_cpu *cpu = NULL;
	int ret = tracemap_cpu_open(&cpu, INSTANCE, number, &o);

	if (!expect_eq(ret, 0) || !expect_eq(tracemap_cpu_way(cpu), w->way)) {
		printf("# by %s, CPU %d\n", w->name, number);
		exit(1);
	}
	return cpu;
}

/* Each mark follows the one before, but for those that are said to be missed. */
void account_for(struct account *a, uint64_t ts, const void *data, uint32_t size,
		 uint64_t missed)
{
	uint32_t mark = mark_of(data, size);

	if (!mark || mark != a->last + 1 + missed || ts < a->ts) {
		if (a->wrong++ < 5)
			printf("# mark %u after %u, %lld missed, time %lld after %lld\n",
			       mark, a->last, (long long)missed, (long long)ts,
			       (long long)a->ts);
	}
	a->missed += missed;
	a->last = mark;
	a->ts = ts;
	a->seen++;
	a->hash = (a->hash ^ ts ^ mark ^ (uint64_t)size << 40) * 0x9e3779b97f4a7c15;
}

static void drain_batch(struct tracemap_batch *b, struct account *a)
{
	uint64_t missed = b->missed;
	struct subbuf_record r;

	if (b->flags & TRACEMAP_RESET) {
		a->resets++;
		a->last = 0;
	}
	while (tracemap_batch_next(b, &r)) {
		account_for(a, r.ts, r.data, r.size, missed);
		missed = 0;
	}
	/* A loss that no event follows yet. */
	a->missed += missed;
	a->last += missed;
}

int drain(struct tracemap_cpu *cpu, struct account *a)
{
	struct tracemap_batch *b;
	int ret;

	while ((ret = tracemap_cpu_fetch(cpu, &b)) > 0)
		drain_batch(b, a);
	return ret;
}

// SPDX-License-Identifier: LGPL-2.1
/*
 * Test tracemap-bpf.h with maps that a kernel writes to: an open() of
 * "/bpf/CPU/NUMBER/xxx", of one of seven lengths, makes a sample in the perf buffer of the CPU
 * and one in the ring buffer of all CPUs, see opens.bpf.c.
 */
#define _GNU_SOURCE
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "opens.h"
#include "tracemap-bpf.h"

enum { MAX_CPUS = 64, RING = 1000, PERF_BYTES = 1 << 16, SECONDS = 30 };

enum { READ_PERF = 1, READ_RING = 2, READ_BOTH = 3 };

/* What came of an event of a CPU: @next is the event that is due. */
struct account {
	unsigned int next;
	unsigned int lost;
};

struct test {
	unsigned int reads;
	struct bpf_object *object;
	struct bpf_link *link;
	struct tracemap_merge *m;
	struct tracemap_bpf *bpf;
	struct account perf[MAX_CPUS], ring[MAX_CPUS];
	uint64_t newest;
	unsigned int waits, late, changes;
	int last_cpu;
};

static unsigned int cpus[MAX_CPUS], nr_cpus;

static uint64_t stamp(const void *data, uint32_t size)
{
	uint64_t ts;

	CHECK(size > sizeof(struct open_sample) - 64);
	memcpy(&ts, data, sizeof(ts));
	return ts;
}

static int map_of(const struct test *t, const char *name)
{
	return bpf_object__find_map_fd_by_name(t->object, name);
}

static void begin(struct test *t, unsigned int reads, const struct tracemap_merge_options *options)
{
	memset(t, 0, sizeof(*t));
	t->reads = reads;
	t->object = bpf_object__open_file("opens.bpf.o", NULL);
	CHECK(t->object && !bpf_object__load(t->object));
	CHECK(!tracemap_merge_new(&t->m, options) && !tracemap_bpf_new(&t->bpf, t->m));
	CHECK(!(reads & READ_PERF) ||
	      !tracemap_bpf_add(t->bpf, map_of(t, "buffers"), 0, PERF_BYTES, stamp));
	CHECK(!(reads & READ_RING) || !tracemap_bpf_add(t->bpf, map_of(t, "ring"), RING, 0, stamp));
	t->link = bpf_program__attach(bpf_object__next_program(t->object, NULL));
	CHECK(t->link);
}

static void end(struct test *t)
{
	tracemap_merge_free(t->m);
	tracemap_bpf_close(t->bpf);
	bpf_link__destroy(t->link);
	bpf_object__close(t->object);
}

static void name_of(unsigned int cpu, unsigned int number, char *name)
{
	sprintf(name, "/bpf/%u/%u/%.*s", cpu, number, number % 7 * 4, "xxxxxxxxxxxxxxxxxxxxxxxx");
}

/* Make the events @from up to @to on a CPU. */
static void make_events(unsigned int cpu, unsigned int from, unsigned int to)
{
	cpu_set_t set;
	char name[64];

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CHECK(!sched_setaffinity(0, sizeof(set), &set));
	for (; from < to; from++) {
		name_of(cpu, from, name);
		CHECK(open(name, O_RDONLY) < 0);
	}
}

/* The record is the event that is due, whole. Only that of a perf buffer knows the CPU. */
static void account_for(struct test *t, const struct tracemap_record *rec)
{
	struct open_sample sample = { 0 };
	struct account *a;
	unsigned int cpu;
	char name[64];

	memcpy(&sample, rec->data, rec->size < sizeof(sample) ? rec->size : sizeof(sample));
	CHECK(sscanf(sample.name, "/bpf/%u/", &cpu) == 1 && cpu < MAX_CPUS);
	CHECK(rec->cpu == RING || rec->cpu == (int)cpu);
	a = rec->cpu == RING ? &t->ring[cpu] : &t->perf[cpu];
	a->next += rec->missed;
	a->lost += rec->missed;
	name_of(cpu, a->next++, name);
	CHECK(!strcmp(sample.name, name) && rec->ts == sample.ts);

	CHECK((rec->ts < t->newest) == !!(rec->flags & TRACEMAP_LATE));
	t->late += rec->ts < t->newest;
	t->newest = rec->ts < t->newest ? t->newest : rec->ts;
	t->changes += rec->cpu != RING && rec->cpu != t->last_cpu;
	t->last_cpu = rec->cpu == RING ? t->last_cpu : rec->cpu;
}

static bool all_came(const struct test *t, unsigned int number)
{
	for (unsigned int i = 0; i < nr_cpus; i++) {
		if (t->reads & READ_PERF && t->perf[cpus[i]].next < number)
			return false;
		if (t->reads & READ_RING && t->ring[cpus[i]].next < number)
			return false;
	}
	return true;
}

/* Until event @number - 1 of each CPU came, of each kind that is read. */
static void take(struct test *t, unsigned int number)
{
	struct pollfd fd = { .fd = tracemap_bpf_fd(t->bpf), .events = POLLIN };
	struct tracemap_record rec;
	int ret, ms;

	while (!all_came(t, number)) {
		ret = tracemap_merge_next(t->m, &rec);
		CHECK(ret >= 0);
		if (ret) {
			account_for(t, &rec);
			continue;
		}
		ms = tracemap_merge_timeout(t->m, -1);
		CHECK(poll(&fd, 1, ms < 0 ? SECONDS * 1000 : ms) > 0 || ms >= 0);
		CHECK(tracemap_bpf_wait(t->bpf, 0) >= 0);
		t->waits++;
	}
}

static void finish(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

/* ---- The tests ---- */

/* Each event is on another CPU than the one before. */
static void test_in_turn(struct test *t)
{
	const unsigned int number = 2000;
	pid_t pid = fork();

	for (unsigned int i = 0; !pid && i < number; i++) {
		for (unsigned int c = 0; c < nr_cpus; c++)
			make_events(cpus[c], i, i + 1);
	}
	if (!pid)
		_exit(0);
	take(t, number);
	finish(pid);
	CHECK(t->changes == number * nr_cpus - (cpus[0] == 0));
	for (unsigned int c = 0; c < nr_cpus; c++)
		CHECK(!t->perf[cpus[c]].lost);
	printf("# %u CPUs, %u events, %u late, %u waits\n", nr_cpus, number * nr_cpus, t->late,
	       t->waits);
	CHECK(!t->late);
	/* A record that the merge holds back ends one wait at most. */
	CHECK(t->waits < 3 * number * nr_cpus);
}

static void make_on_all(unsigned int from, unsigned int to)
{
	pid_t pids[MAX_CPUS];

	for (unsigned int c = 0; c < nr_cpus; c++) {
		pids[c] = fork();
		if (!pids[c]) {
			make_events(cpus[c], from, to);
			_exit(0);
		}
	}
	for (unsigned int c = 0; c < nr_cpus; c++)
		finish(pids[c]);
}

/* The perf buffers overflow; the last loss is told with the next event that finds room. */
static void test_flood(struct test *t)
{
	unsigned int lost = 0;

	make_on_all(0, 10000);
	tracemap_merge_flush(t->m);
	for (struct tracemap_record rec; tracemap_merge_next(t->m, &rec) == 1;)
		account_for(t, &rec);
	make_on_all(10000, 10001);
	take(t, 10001);
	for (unsigned int c = 0; c < nr_cpus; c++) {
		lost += t->perf[cpus[c]].lost;
		CHECK(t->perf[cpus[c]].lost > 0 && !t->ring[cpus[c]].lost);
	}
	printf("# %u of %u lost in perf buffers, %u late\n", lost, 10001 * nr_cpus, t->late);
}

/* An event is made as soon as the one before was seen, while the reader goes to sleep. */
static void test_wakes(struct test *t)
{
	const unsigned int number = 20000;
	int ack[2];
	pid_t pid;

	CHECK(!pipe(ack));
	nr_cpus = 1;
	pid = fork();
	/* Else the child waits for ever where the parent has failed. */
	if (!pid)
		close(ack[1]);
	for (unsigned int i = 0; !pid && i < number; i++) {
		char byte;

		make_events(cpus[0], i, i + 1);
		CHECK(read(ack[0], &byte, 1) == 1);
	}
	if (!pid)
		_exit(0);
	for (unsigned int i = 0; i < number; i++) {
		take(t, i + 1);
		CHECK(write(ack[1], "", 1) == 1);
	}
	finish(pid);
}

/* Where one kind is read, with no delay, the reader sleeps until that kind wakes it. */
static void run(void (*test)(struct test *t), unsigned int reads, const char *name)
{
	struct tracemap_merge_options no_delay = { .size = sizeof(no_delay) };
	unsigned int nr = nr_cpus;
	struct test t;

	begin(&t, reads, reads == READ_BOTH ? NULL : &no_delay);
	test(&t);
	end(&t);
	nr_cpus = nr;
	printf("ok - %s\n", name);
}

int main(void)
{
	cpu_set_t set;

	setlinebuf(stdout);
	CHECK(!sched_getaffinity(0, sizeof(set), &set));
	for (unsigned int i = 0; i < MAX_CPUS; i++) {
		if (CPU_ISSET(i, &set))
			cpus[nr_cpus++] = i;
	}
	CHECK(nr_cpus > 1);
	run(test_in_turn, READ_BOTH, "all CPUs and both kinds of map come in the order of time");
	run(test_flood, READ_BOTH,
	    "each event of all CPUs at once comes, or is told lost in its place");
	run(test_wakes, READ_PERF, "no wake-up of a perf buffer is lost");
	run(test_wakes, READ_RING, "no wake-up of a ring buffer is lost");
	return 0;
}

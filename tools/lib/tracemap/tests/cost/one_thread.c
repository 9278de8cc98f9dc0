// SPDX-License-Identifier: GPL-2.0
/*
 * Find out how many CPUs a number of threads keep up with.
 *
 *	one_thread take|merge RATE KIB [THREADS]
 *	one_thread check
 *
 * Each CPU writes RATE events of 32 bytes a second into a buffer of the kernel's default
 * size with sub-buffers of KIB, and overwrites what was not fetched in time. Each thread
 * has its share of the CPUs. It copies each sub-buffer, as read(2) does, and takes its
 * events, or merges the events of its CPUs.
 *
 * Time is the CPU time of that thread, as if it had a processor to itself: whatever else
 * this machine does is not measured. Where the thread has nothing to do, a millisecond is
 * added, as if it slept. The library uses the same clock.
 *
 * Each line "result one-thread" has, for a number of CPUs, the percentage of events that
 * were lost, and by how many percent of the time the thread was behind at the end, in the
 * best of several runs. The number of CPUs grows by a quarter until the thread does not
 * keep up: some events are lost, or would be later because it is behind.
 *
 * "check" says whether what libtracemap(3) promises holds on this machine.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAKE_MAX	65536

#include "cpu.h"
#include "subbuf_make.h"

#define CPUS_MAX	512
#define THREADS_MAX	64
#define BUFFER_KIB	1408
#define RUN_NS		500000000ULL
#define RUNS		5
#define BEHIND_MAX	5	/* percent: a merge waits for a while at the end */
#define LOOKS		16

struct task;

/* One CPU: its buffer, how far it was fetched, in sub-buffers, and by which thread. */
struct writer {
	struct task *task;
	unsigned char *ring;
	unsigned char *copy;
	uint64_t fetched;
	uint64_t lost;
	struct tracemap_cpu *cpu;
};

/*
 * @room: what its CPUs share to read ahead, as those of a struct tracemap do
 * @now: its time, ns, of which @slept were slept
 * @looks: at the clock, which is asked every LOOKS only, as that takes time as well
 */
struct task {
	pthread_t thread;
	struct ahead_room room;
	unsigned int from, to;
	uint64_t events;
	uint64_t now;
	uint64_t slept;
	unsigned int looks;
};

enum what { TAKE, MERGE };

static const char * const names[] = { "take", "merge" };

static enum what what;
static double rate;
static struct subbuf_format format = { 4096, 8, 8, 16, false };
static unsigned int nr_threads = 1;

static struct writer writers[CPUS_MAX];
static unsigned int events_of_subbuf, nr_subbufs;

static __thread struct task *self;

/* ---- The clock; it takes the place of the C library's ---- */

int clock_gettime(clockid_t id, struct timespec *ts)
{
	uint64_t now = self ? self->now : 0;

	(void)id;
	ts->tv_sec = now / 1000000000;
	ts->tv_nsec = now % 1000000000;
	return 0;
}

static void read_clock(struct task *t)
{
	struct timespec ts;

	syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &ts);
	t->now = ts.tv_sec * 1000000000ULL + ts.tv_nsec + t->slept;
	t->looks = 0;
}

static void sleep_ms(struct task *t)
{
	t->slept += 1000000;
	read_clock(t);
}

/* ---- Writing ---- */

/* One sub-buffer stands for all: what differs is the time it begins with. */
static void fill_ring(struct writer *w)
{
	static const unsigned char payload[32];
	static struct subbuf_make make;
	uint64_t ts = 0, step = 1e9 / rate;
	unsigned int i;

	make_begin(&make, &format, ts);
	for (events_of_subbuf = 0; make_event(&make, ts, payload, sizeof(payload)); ts += step)
		events_of_subbuf++;
	make_finish(&make, 0);
	for (i = 0; i < nr_subbufs; i++)
		memcpy(w->ring + (size_t)i * format.subbuf_size, make.bytes, format.subbuf_size);
}

/* Sub-buffers written so far: CPUs do not finish theirs at the same time. */
static uint64_t written(const struct tracemap_cpu *cpu)
{
	struct task *t = writers[cpu->number].task;
	uint64_t now;

	if (++t->looks == LOOKS)
		read_clock(t);
	now = t->now < RUN_NS ? t->now : RUN_NS;
	return (now / 1e9 * rate + cpu->number * 7 % events_of_subbuf) / events_of_subbuf;
}

static int fetch(struct tracemap_cpu *cpu)
{
	struct writer *w = &writers[cpu->number];
	uint64_t all = written(cpu), ts;
	struct subbuf_iter it;

	if (all - w->fetched > nr_subbufs) {
		w->lost += all - nr_subbufs - w->fetched;
		w->fetched = all - nr_subbufs;
	}
	if (w->fetched == all)
		return w->task->now > RUN_NS ? -ENODATA : 0;
	memcpy(w->copy, w->ring + w->fetched % nr_subbufs * format.subbuf_size,
	       format.subbuf_size);
	ts = w->fetched * events_of_subbuf * 1e9 / rate + cpu->number;
	memcpy(w->copy, &ts, sizeof(ts));
	w->fetched++;
	it = subbuf_begin(&format, w->copy);
	tracemap__set_batch(cpu, &it, 0, 0);
	return 1;
}

static int settle(struct tracemap_cpu *cpu)
{
	(void)cpu;
	return 0;
}

static bool is_filling(const struct tracemap_cpu *cpu)
{
	return written(cpu) - writers[cpu->number].fetched > nr_subbufs / 4;
}

static void open_writer(unsigned int number)
{
	struct writer *w = &writers[number];
	static struct way way;

	if (!w->ring) {
		w->ring = malloc((size_t)nr_subbufs * format.subbuf_size);
		w->copy = malloc(format.subbuf_size);
	}
	if (!w->ring || !w->copy || tracemap_cpu_open_file(&w->cpu, 0, number, &format))
		errx(1, "no memory for CPU %u", number);
	fill_ring(w);
	way = *w->cpu->way;
	way.fetch = fetch;
	way.settle = settle;
	way.is_filling = is_filling;
	w->cpu->way = &way;
	w->cpu->dir = dup(0);	/* it is no file, but a buffer */
	w->fetched = 0;
	w->lost = 0;
}

/* ---- Reading ---- */

/* All there is of a CPU now. */
static int take_cpu(struct task *t, struct tracemap_cpu *cpu)
{
	struct tracemap_record rec;
	int ret;

	while ((ret = tracemap_cpu_next(cpu, &rec)) > 0)
		t->events++;
	return ret;
}

static void take_all(struct task *t)
{
	unsigned int i, ended = 0;

	while (ended < t->to - t->from) {
		ended = 0;
		for (i = t->from; i < t->to; i++)
			ended += take_cpu(t, writers[i].cpu) == -ENODATA;
		sleep_ms(t);
	}
}

static void merge_all(struct task *t)
{
	struct tracemap_record rec;
	struct tracemap_merge *m;
	unsigned int i;
	int ret;

	if (tracemap_merge_new(&m, NULL))
		errx(1, "tracemap_merge_new");
	for (i = t->from; i < t->to; i++) {
		if (tracemap_merge_add_cpu(m, writers[i].cpu))
			errx(1, "tracemap_merge_add_cpu");
	}
	do {
		while ((ret = tracemap_merge_next(m, &rec)) > 0)
			t->events++;
		sleep_ms(t);
	} while (ret != -ENODATA);
	tracemap_merge_free(m);
}

static void *work(void *arg)
{
	struct task *t = arg;

	self = t;
	if (what == MERGE)
		merge_all(t);
	else
		take_all(t);
	return NULL;
}

/* ---- Runs ---- */

static void prepare(struct task *t, unsigned int from, unsigned int to)
{
	unsigned int i;

	t->from = from;
	t->to = to;
	t->room.limit = TRACEMAP__AHEAD_BYTES;
	for (i = from; i < to; i++) {
		open_writer(i);
		writers[i].cpu->ahead.room = &t->room;
		writers[i].task = t;
	}
}

/* Run once: how much of all events was lost, and of the time it took too long, in percent. */
static void run(unsigned int nr_cpus, double *lost_of, double *behind)
{
	struct task tasks[THREADS_MAX] = { 0 };
	uint64_t events = 0, lost = 0, end = RUN_NS;
	unsigned int i;

	for (i = 0; i < nr_threads; i++)
		prepare(&tasks[i], nr_cpus * i / nr_threads, nr_cpus * (i + 1) / nr_threads);
	for (i = 0; i < nr_threads; i++) {
		if (pthread_create(&tasks[i].thread, NULL, work, &tasks[i]))
			errx(1, "pthread_create");
	}
	for (i = 0; i < nr_threads; i++) {
		pthread_join(tasks[i].thread, NULL);
		events += tasks[i].events;
		if (tasks[i].now > end)
			end = tasks[i].now;
	}
	for (i = 0; i < nr_cpus; i++) {
		lost += writers[i].lost * events_of_subbuf;
		tracemap_cpu_close(writers[i].cpu);
	}
	*lost_of = 100.0 * lost / (events + lost);
	*behind = 100.0 * (end - RUN_NS) / RUN_NS;
}

/* In one of several runs: others may have had the caches. */
static bool keeps_up(unsigned int nr_cpus)
{
	double lost = 100, behind = 100, now_lost, now_behind;
	int i;

	for (i = 0; i < RUNS && (lost || behind > BEHIND_MAX); i++) {
		run(nr_cpus, &now_lost, &now_behind);
		if (now_lost + now_behind < lost + behind) {
			lost = now_lost;
			behind = now_behind;
		}
	}
	printf("result one-thread what=%s rate=%.0f kib=%u threads=%u cpus=%u lost=%.2f behind=%.1f\n",
	       names[what], rate, format.subbuf_size / 1024, nr_threads, nr_cpus, lost, behind);
	fflush(stdout);
	return !lost && behind <= BEHIND_MAX;
}

static void set(enum what w, double events, unsigned int kib)
{
	what = w;
	rate = events;
	format.subbuf_size = kib * 1024;
	nr_subbufs = BUFFER_KIB / kib;
}

static bool check(enum what w, unsigned int nr_cpus)
{
	bool good;

	set(w, 300000, 4);
	good = keeps_up(nr_cpus);
	printf("%sok - one thread that does \"%s\" keeps up with %u CPUs\n", good ? "" : "not ",
	       names[w], nr_cpus);
	return good;
}

int main(int argc, char **argv)
{
	unsigned int w = 0, nr;

	if (argc == 2 && !strcmp(argv[1], "check"))
		return !(check(TAKE, 32) & check(MERGE, 32));
	while (w < 2 && argc > 1 && strcmp(argv[1], names[w]))
		w++;
	if (argc < 4 || w == 2 || atof(argv[2]) <= 0 || atoi(argv[3]) < 4 || atoi(argv[3]) > 64)
		errx(2, "one_thread take|merge RATE KIB [THREADS], or check");
	set(w, atof(argv[2]), atoi(argv[3]));
	if (argc > 4)
		nr_threads = atoi(argv[4]);
	if (nr_threads < 1 || nr_threads > THREADS_MAX)
		errx(2, "1 to %u threads", THREADS_MAX);
	for (nr = 8; nr <= CPUS_MAX && keeps_up(nr); nr += nr / 4)
		;
	return 0;
}

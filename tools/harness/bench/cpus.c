// SPDX-License-Identifier: GPL-2.0
/*
 * The table cpus: a reader on each CPU drains that CPU's buffer, all at once.
 * The guest has several CPUs here, its clock is that of the wall.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "bench.h"

#define RUNS		3
#define EVENTS		200000
#define PAYLOAD		32
#define BUFFER_KIB	(12 * KIB)
#define CPUS_MAX	64

static pthread_barrier_t barrier;

struct worker {
	pthread_t thread;
	const struct way *way;
	const struct trace *trace;
	int cpu;
	int ret;
	uint64_t start, end;
	struct tally tally;
};

/* Every worker comes to the barrier, whatever failed. */
static int fill_and_drain(struct worker *worker, struct reader *reader, int ret)
{
	if (ret >= 0)
		ret = event_fire(EVENTS, PAYLOAD);
	pthread_barrier_wait(&barrier);
	worker->start = clock_ns();
	if (ret >= 0)
		ret = reader->way->drain(reader, &worker->tally);
	worker->end = clock_ns();
	if (ret >= 0 && worker->tally.events != EVENTS)
		ret = -ENODATA;
	return ret;
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct reader reader;
	int opened, ret = pin_to_cpu(worker->cpu);

	opened = reader_open(&reader, worker->way, worker->trace, worker->cpu);
	worker->ret = fill_and_drain(worker, &reader, ret < 0 ? ret : opened);
	if (opened >= 0)
		reader_close(&reader);
	return NULL;
}

static double events_per_second(const struct worker *workers, int nr)
{
	uint64_t start = workers[0].start, end = workers[0].end;

	for (int i = 1; i < nr; i++) {
		start = workers[i].start < start ? workers[i].start : start;
		end = workers[i].end > end ? workers[i].end : end;
	}
	return 1e9 * EVENTS * nr / (end - start);
}

static int run_workers(const struct way *way, const struct trace *trace, int nr, double *rate)
{
	struct worker workers[CPUS_MAX] = { 0 };
	int ret = 0;

	pthread_barrier_init(&barrier, NULL, nr);
	for (int i = 0; i < nr; i++) {
		workers[i].way = way;
		workers[i].trace = trace;
		workers[i].cpu = i;
		/* The others would wait for it for ever. */
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			_exit(1);
	}
	for (int i = 0; i < nr; i++) {
		pthread_join(workers[i].thread, NULL);
		if (workers[i].ret < 0)
			ret = workers[i].ret;
	}
	pthread_barrier_destroy(&barrier);
	*rate = events_per_second(workers, nr);
	return ret;
}

static int run_once(const struct way *way, int nr, double *rate)
{
	struct trace trace;
	int ret, closed;

	ret = trace_open(&trace, 4, BUFFER_KIB);
	if (ret < 0)
		return ret;
	ret = trace_enable_event(&trace);
	if (ret >= 0)
		ret = run_workers(way, &trace, nr, rate);
	closed = trace_close(&trace);
	return ret < 0 ? ret : closed;
}

static int point(const struct way *way, int nr)
{
	double rate, best = 0;

	for (int i = 0; i < RUNS; i++) {
		int ret = run_once(way, nr, &rate);

		if (ret < 0)
			return ret;
		if (rate > best)
			best = rate;
	}
	result("cpus", "n=%d way=%s clock=wall value=%.0f", nr, way->name, best);
	return 0;
}

int table_cpus(void)
{
	static const struct way *ways[] = { &way_read, &way_mapping, &way_live };
	int nr = sysconf(_SC_NPROCESSORS_ONLN);
	int ret = 0;

	if (nr > CPUS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < ARRAY_SIZE(ways) && ret >= 0; i++) {
		if (way_possible(ways[i]))
			ret = point(ways[i], nr);
	}
	return ret;
}

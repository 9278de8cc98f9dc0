// SPDX-License-Identifier: GPL-2.0
/*
 * Merge the CPUs of an instance while they write: all events have to come in
 * order, without spinning, and without waiting longer than delay_ns for CPUs
 * that have nothing.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib_guest.h"

#define CPUS	2

struct merged {
	struct tracemap *t;
	struct tracemap_merge *m;
	struct account of[CPUS];
	uint64_t last;
	uint64_t seen;
	unsigned int out_of_order;
	unsigned int waits;
};

static void merged_open_late(struct merged *d, const struct way_to_read *w,
			     const struct tracemap_merge_options *late)
{
	struct tracemap_options o = options_of(w);

	*d = (struct merged){ 0 };
	expect_eq(tracemap_open(&d->t, INSTANCE, &o), 0);
	expect_eq(tracemap_merge_new(&d->m, late), 0);
	expect_eq(tracemap_merge_add_all(d->m, d->t), 0);
}

static void merged_open(struct merged *d, const struct way_to_read *w)
{
	merged_open_late(d, w, NULL);
}

static void merged_close(struct merged *d)
{
	for (int i = 0; i < CPUS; i++)
		expect_eq(d->of[i].wrong, 0);
	expect_eq(d->out_of_order, 0);
	tracemap_merge_free(d->m);
	tracemap_close(d->t);
	end_instance();
}

static void merged_tell(struct merged *d, const struct tracemap_record *rec)
{
	struct account *a = &d->of[rec->cpu];

	d->out_of_order += rec->ts < d->last || rec->flags & TRACEMAP_LATE;
	d->last = rec->ts;
	if (!rec->data) {
		a->missed += rec->missed;
		a->last += rec->missed;
		return;
	}
	account_for(a, rec->ts, rec->data, rec->size, rec->missed);
	d->seen++;
}

static int merged_take(struct merged *d)
{
	struct tracemap_record rec;
	int ret;

	while ((ret = tracemap_merge_next(d->m, &rec)) > 0)
		merged_tell(d, &rec);
	return ret;
}

/* Until so many came, or it takes too long. */
static double merged_read(struct merged *d, uint64_t events, double limit)
{
	double start = seconds();

	while (expect_eq(merged_take(d), 0) && d->seen < events &&
	       seconds() < start + limit) {
		expect(tracemap_wait(d->t, tracemap_merge_timeout(d->m, 1000)) >= 0);
		d->waits++;
	}
	expect_eq(d->seen, events);
	return seconds() - start;
}

struct writer {
	pthread_t thread;
	int cpu;
	uint32_t events;
	unsigned int pause_us;
};

static void *write_slowly(void *arg)
{
	const struct writer *w = arg;

	for (uint32_t i = 0; i < w->events; i += 5) {
		write_marks(w->cpu, i + 1, i + 5);
		usleep(w->pause_us);
	}
	return NULL;
}

static void test_live(void)
{
	/* A writer may be away for long between an event's time and its end. */
	const struct tracemap_merge_options late = {
		.size = sizeof(late), .delay_ns = 1000000000,
	};

	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		struct writer writers[CPUS];
		struct merged d;

		new_instance("1024");
		merged_open_late(&d, w, &late);
		for (int i = 0; i < CPUS; i++) {
			writers[i] = (struct writer){ .cpu = i, .events = 500, .pause_us = 30000 };
			pthread_create(&writers[i].thread, NULL, write_slowly, &writers[i]);
		}
		merged_read(&d, 1000, 60);
		for (int i = 0; i < CPUS; i++)
			pthread_join(writers[i].thread, NULL);
		if (!expect(d.waits < 4000))
			printf("# by %s: %u waits\n", w->name, d.waits);
		merged_close(&d);
	}
}

/* A sub-buffer in a delay would take 10 seconds. */
static void test_idle_cpu(void)
{
	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		struct merged d;
		double took;

		new_instance("8192");
		write_marks_of(0, 1, 20000, 200);
		merged_open(&d, w);
		took = merged_read(&d, 20000, 60);
		if (!expect(took < 9) || !expect(d.waits < 200))
			printf("# by %s: %f s, %u waits\n", w->name, took, d.waits);
		merged_close(&d);
	}
}

/* One event, and the other CPU has nothing: it is slept for until it is due. */
static void test_one_event(void)
{
	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		struct merged d;
		double took;

		new_instance("64");
		merged_open(&d, w);
		expect_eq(merged_take(&d), 0);
		write_marks(0, 1, 1);
		took = merged_read(&d, 1, 20);
		/* 10 ms where there is no index to look at. */
		if (!expect(took >= 0.001 && took < 15) || !expect(d.waits < 10))
			printf("# by %s: %f s, %u waits\n", w->name, took, d.waits);
		merged_close(&d);
	}
}

static void test_merged_loss(void)
{
	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		struct merged d;

		new_instance("32");
		merged_open(&d, w);
		write_marks(1, 1, 3);
		for (uint32_t i = 0; i < 5; i++) {
			write_marks_of(0, i * 2000 + 1, i * 2000 + 2000, LOSS_SIZE);
			expect_eq(merged_take(&d), 0);
		}
		tracemap_merge_flush(d.m);
		expect_eq(merged_take(&d), 0);
		expect_eq(d.of[0].seen + d.of[0].missed, 10000);
		expect(d.of[0].missed > 0);
		expect_eq(d.of[1].seen, 3);
		merged_close(&d);
	}
}

/* What comes behind a record that waits is no event to wake for, but it is read in time. */
static void test_filling(void)
{
	const struct tracemap_merge_options late = {
		.size = sizeof(late), .delay_ns = 1000000000000,
	};
	/* Sixteen sub-buffers, and what fills them */
	unsigned int kb = 16 * getpagesize() / 1024, events = 400 * kb / 64;
	char size[16];

	snprintf(size, sizeof(size), "%u", kb);

	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		struct tracemap_figures f;
		struct merged d;
		double start;

		new_instance(size);
		merged_open_late(&d, w, &late);
		write_marks(0, 1, 1);
		expect_eq(merged_take(&d), 0);
		write_marks(0, 2, 2);
		expect_eq(tracemap_wait(d.t, 300), 0);
		expect_eq(merged_take(&d), 0);
		write_marks_of(0, 3, events, LOSS_SIZE);
		start = seconds();
		expect_eq(tracemap_wait(d.t, 20000), 1);
		if (!expect(seconds() < start + 10))
			printf("# by %s\n", w->name);
		expect_eq(merged_take(&d), 0);
		expect_eq(tracemap_cpu_figures(tracemap_get_cpu(d.t, 0), &f), 0);
		expect(f.read_ahead > events * 3 / 4);
		tracemap_merge_flush(d.m);
		expect_eq(merged_take(&d), 0);
		expect_eq(d.of[0].seen, events);
		merged_close(&d);
	}
}

/* ---- Snapshots, while the writers go on ---- */

struct endless_writer {
	pthread_t thread;
	int cpu;
	uint32_t written;	/* by now, at least */
	bool stop;
};

static void *write_endlessly(void *arg)
{
	struct endless_writer *w = arg;
	uint32_t n = 0;

	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED)) {
		write_marks(w->cpu, n + 1, n + 50);
		n += 50;
		__atomic_store_n(&w->written, n, __ATOMIC_RELEASE);
	}
	return NULL;
}

struct snapshot {
	pthread_t thread;
	struct endless_writer *writers;
	uint64_t missed;
	int bad;
};

/* What a snapshot may begin with is known from its first event; then all has to be there. */
static void snapshot_tell(struct snapshot *s, struct account *of, const struct tracemap_record *rec,
			  uint64_t *last)
{
	struct account *a = &of[rec->cpu];

	s->bad += rec->ts < *last || rec->flags;
	*last = rec->ts;
	s->missed += rec->missed;
	if (rec->data && !a->seen)
		a->last = mark_of(rec->data, rec->size) - 1 - rec->missed;
	if (rec->data)
		account_for(a, rec->ts, rec->data, rec->size, rec->missed);
	else
		a->last += rec->missed;
}

static void snapshot_read(struct snapshot *s, struct tracemap *t, const uint32_t *before,
			  const uint32_t *after)
{
	struct account of[CPUS] = { 0 };
	struct tracemap_merge *m = NULL;
	struct tracemap_record rec;
	uint64_t last = 0;
	int ret = tracemap_merge_new(&m, NULL) ?: tracemap_merge_add_all(m, t);

	while (ret >= 0 && (ret = tracemap_merge_next(m, &rec)) > 0)
		snapshot_tell(s, of, &rec, &last);
	s->bad += ret != -ENODATA;
	tracemap_merge_free(m);
	/* All that was there before it was asked for, at most what was there afterwards. */
	for (int i = 0; i < CPUS; i++)
		s->bad += of[i].wrong || (of[i].seen && (of[i].last < before[i] ||
							 of[i].last > after[i] + 50));
}

static void snapshot_take(struct snapshot *s)
{
	struct tracemap_options o = tracemap_default_options();
	uint32_t before[CPUS], after[CPUS];
	struct tracemap *t = NULL;
	int ret;

	o.way = TRACEMAP_OBSERVE;
	ret = tracemap_open(&t, INSTANCE, &o);
	for (int i = 0; i < CPUS; i++)
		before[i] = __atomic_load_n(&s->writers[i].written, __ATOMIC_ACQUIRE);
	if (!ret)
		ret = tracemap_until_now(t);
	for (int i = 0; i < CPUS; i++)
		after[i] = __atomic_load_n(&s->writers[i].written, __ATOMIC_ACQUIRE);
	if (ret)
		s->bad++;
	else
		snapshot_read(s, t, before, after);
	tracemap_close(t);
}

static void *take_snapshots(void *arg)
{
	for (int i = 0; i < 10; i++)
		snapshot_take(arg);
	return NULL;
}

/* Three observers, whose readings end though the writers of a small buffer do not. */
static void test_snapshots(void)
{
	struct endless_writer writers[CPUS];
	struct snapshot snapshots[3];

	new_instance("128");
	for (int i = 0; i < CPUS; i++) {
		writers[i] = (struct endless_writer){ .cpu = i };
		pthread_create(&writers[i].thread, NULL, write_endlessly, &writers[i]);
	}
	for (int i = 0; i < 3; i++) {
		snapshots[i] = (struct snapshot){ .writers = writers };
		pthread_create(&snapshots[i].thread, NULL, take_snapshots, &snapshots[i]);
	}
	for (int i = 0; i < 3; i++) {
		pthread_join(snapshots[i].thread, NULL);
		expect_eq(snapshots[i].bad, 0);
		printf("# 10 snapshots: %llu events overwritten meanwhile\n",
		       (unsigned long long)snapshots[i].missed);
	}
	for (int i = 0; i < CPUS; i++) {
		__atomic_store_n(&writers[i].stop, true, __ATOMIC_RELAXED);
		pthread_join(writers[i].thread, NULL);
	}
	end_instance();
}

const struct test merge_tests[] = {
	{ "merged while they are written, in order, all of them", test_live, NULL },
	{ "an idle CPU slows nobody down", test_idle_cpu, NULL },
	{ "a record that waits for an idle CPU is slept for", test_one_event, NULL },
	{ "merged, a buffer that fills while its records wait is read", test_filling, NULL },
	{ "merged, a loss is told where it was", test_merged_loss, NULL },
	{ "snapshots end, and are whole, though the writers go on", test_snapshots, "live" },
};

const unsigned int nr_merge_tests = sizeof(merge_tests) / sizeof(merge_tests[0]);

// SPDX-License-Identifier: GPL-2.0
/*
 * The third use: to drain the fullest buffer first. The last CPU has twice
 * the events of any other, and who reads has not time enough for all of them:
 * taking them from where room is scarcest, nothing is lost in the meantime. In
 * the order of CPUs (--by-index), the others are drained while it overflows.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracemap_bpf.h"

enum {
	ROUNDS	= 11,
	SHARE	= 10,	/* events of a CPU and a round; the last CPU has twice as many */
};

struct drain {
	struct program program;
	bool by_index;
	struct account accounts[MAX_CPUS];
	unsigned int written[MAX_CPUS];
	unsigned long long highest;	/* fill */
};

/* The buffer with most in it, or the first with anything; -1: all are empty. */
static int choose(struct drain *d)
{
	unsigned long long most = 0;
	int chosen = -1;

	for (unsigned int i = 0; i < d->program.nr; i++) {
		unsigned long long fill = tracemap_perf_fill(d->program.perf[i]);

		if (fill > d->highest)
			d->highest = fill;
		if (fill <= most || (d->by_index && chosen >= 0))
			continue;
		most = fill;
		chosen = i;
	}
	return chosen;
}

/* 1: an event was taken; 0: there was none. */
static int take_one(struct drain *d)
{
	struct tracemap_record rec;
	struct numbered event;
	int i = choose(d), ret;

	if (i < 0)
		return 0;
	ret = tracemap_perf_next(d->program.perf[i], &rec);
	if (ret <= 0)
		return ret;
	ret = check_event(&rec, true, &event);
	if (!ret)
		ret = account_event(&d->accounts[i], &rec, &event);
	tracemap_perf_release(d->program.perf[i]);
	return ret ? ret : 1;
}

static int take(struct drain *d, unsigned int budget)
{
	int ret = 1;

	while (budget-- && ret > 0)
		ret = take_one(d);
	return ret < 0 ? ret : 0;
}

static int make_some(struct drain *d, unsigned int i, unsigned int count)
{
	int ret = go_to_cpu(d->program.cpu[i]);

	while (!ret && count--)
		make_event(d->written[i]++);
	return ret;
}

static int make_all(struct drain *d, unsigned int share, unsigned int share_of_last)
{
	unsigned int last = d->program.nr - 1;
	int ret = 0;

	for (unsigned int i = 0; i <= last && !ret; i++)
		ret = make_some(d, i, i == last ? share_of_last : share);
	return ret;
}

/* In each round, one share more is written than is read. */
static int run_rounds(struct drain *d)
{
	int ret = 0;

	for (int round = 0; round < ROUNDS && !ret; round++) {
		ret = make_all(d, SHARE, 2 * SHARE);
		if (!ret)
			ret = take(d, d->program.nr * SHARE);
	}
	/* The kernel tells of what was lost last with the next event. */
	if (!ret)
		ret = take(d, UINT32_MAX);
	if (!ret)
		ret = make_all(d, 1, 1);
	return ret ? ret : take(d, UINT32_MAX);
}

static int report(const struct drain *d)
{
	unsigned long long written = 0, seen = 0, lost = 0;

	for (unsigned int i = 0; i < d->program.nr; i++) {
		const struct account *a = &d->accounts[i];

		if (a->next != d->written[i])
			return complain(-EBADMSG, "CPU %d: %u events written, %u seen, %llu told lost",
					d->program.cpu[i], d->written[i], a->seen, a->lost);
		written += d->written[i];
		seen += a->seen;
		lost += a->lost;
	}
	printf("fullest: %llu events written on %u CPUs, %llu seen, %llu told lost, at most %llu bytes in a buffer\n",
	       written, d->program.nr, seen, lost, d->highest);
	return lost ? complain(-ENOBUFS, "lost events") : 0;
}

int use_fullest(const struct options *options)
{
	struct drain d;
	int ret;

	memset(&d, 0, sizeof(d));
	d.by_index = options->by_index;
	ret = program_start(&d.program, options, 1);
	if (ret)
		return ret;
	ret = d.program.nr < 2 ? complain(-ENODEV, "it takes two CPUs") : run_rounds(&d);
	if (!ret)
		ret = report(&d);
	program_stop(&d.program);
	return ret;
}

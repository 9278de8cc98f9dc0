// SPDX-License-Identifier: GPL-2.0
/*
 * The second use: the order of time across CPUs. Each buffer is in order, but
 * which of two buffers has the older event is not known while one is empty:
 * who sees t0 and t2 on one CPU has to wait for t1, which may be on another.
 * That is what the merge does. It is shown three times: step by step, with
 * events one after another on any CPU, and with all CPUs writing at once.
 */
#define _GNU_SOURCE
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tracemap_bpf.h"

enum { PAGES = 32, DELAY_MS = 200, BURST = 500 };

static const uint64_t ns_per_ms = 1000000;

static int new_merge(struct tracemap_merge **m, uint64_t delay_ms)
{
	struct tracemap_merge_options options;

	memset(&options, 0, sizeof(options));
	options.size = sizeof(options);
	options.delay_ns = delay_ms * ns_per_ms;
	return tracemap_merge_new(m, &options);
}

static int merge_all(struct tracemap_merge **m, const struct program *program)
{
	struct tracemap_source source;
	int ret = new_merge(m, DELAY_MS);

	for (unsigned int i = 0; i < program->nr && !ret; i++) {
		tracemap_perf_source(program->perf[i], &source);
		ret = tracemap_merge_add_source(*m, &source);
	}
	return ret;
}

/* ---- Step by step ---- */

/* A source that has nothing to show as long as it is closed. */
struct curtain {
	struct tracemap_source behind;
	bool closed;
};

static int next_behind(void *arg, struct tracemap_record *rec)
{
	struct curtain *curtain = arg;

	return curtain->closed ? 0 : curtain->behind.next(curtain->behind.arg, rec);
}

static void release_behind(void *arg)
{
	struct curtain *curtain = arg;

	curtain->behind.release(curtain->behind.arg);
}

static int add_two(struct tracemap_merge *m, const struct program *program, struct curtain *curtain)
{
	struct tracemap_source source;
	int ret;

	tracemap_perf_source(program->perf[0], &source);
	ret = tracemap_merge_add_source(m, &source);
	if (ret)
		return ret;
	tracemap_perf_source(program->perf[1], &curtain->behind);
	curtain->closed = true;
	source.size = sizeof(source);
	source.cpu = curtain->behind.cpu;
	source.arg = curtain;
	source.next = next_behind;
	source.release = release_behind;
	return tracemap_merge_add_source(m, &source);
}

static int make_three(const struct program *program)
{
	int ret = 0;

	for (unsigned int t = 0; t < 3 && !ret; t++)
		ret = make_event_on(program->cpu[t % 2], t);
	return ret;
}

static int expect(struct tracemap_merge *m, int answer, unsigned int t)
{
	struct tracemap_record rec;
	struct numbered event;
	int ret = tracemap_merge_next(m, &rec);

	if (ret != answer)
		return complain(ret < 0 ? ret : -EBADMSG, "t%u: merging answered %d, not %d",
				t, ret, answer);
	if (!ret)
		return 0;
	ret = check_event(&rec, false, &event);
	if (!ret && (event.number != t || rec.flags & TRACEMAP_LATE))
		ret = complain(-EBADMSG, "t%u where t%u should be", event.number, t);
	return ret;
}

static int see_three(struct tracemap_merge *m, const struct program *program,
		     struct curtain *curtain)
{
	uint64_t fill = tracemap_perf_fill(program->perf[0]);
	int ret = 0;

	for (int again = 0; again < 3 && !ret; again++)
		ret = expect(m, 0, 0);
	if (!ret && tracemap_perf_fill(program->perf[0]) != fill)
		ret = complain(-EBADMSG, "what is not handed out is gone");
	if (!ret)
		printf("order: CPU %d has t0 and t2, CPU %d nothing to show: the merge waits\n",
		       program->cpu[0], program->cpu[1]);
	curtain->closed = false;
	for (unsigned int t = 0; t < 3 && !ret; t++) {
		/* The last has nothing younger beside it to show it is the oldest. */
		if (t == 2)
			tracemap_merge_flush(m);
		ret = expect(m, 1, t);
	}
	if (!ret)
		printf("order: CPU %d shows t1: t0, t1, t2 come in order\n", program->cpu[1]);
	return ret;
}

static int step_by_step(const struct program *program)
{
	struct tracemap_merge *m = NULL;
	struct curtain curtain;
	int ret;

	if (program->nr < 2)
		return complain(-ENODEV, "it takes two CPUs");
	/* As long as this takes, no time limit ends the wait. */
	ret = new_merge(&m, 3600 * 1000);
	if (!ret)
		ret = add_two(m, program, &curtain);
	if (!ret)
		ret = make_three(program);
	if (!ret)
		ret = see_three(m, program, &curtain);
	tracemap_merge_free(m);
	return ret;
}

/* ---- While events are written ---- */

struct live {
	struct program program;
	struct tracemap_merge *m;
	bool unmerged;		/* to see that the order is not had for nothing */
	bool own_stamps;
	bool done;		/* all is written */
	unsigned int at;	/* the buffer read last, unmerged */
	unsigned int total;	/* events to write, or of each CPU */
	unsigned long long seen, lost, late, switches;
	int last_cpu;
	/* Looks whether it is in its place. */
	int (*check)(struct live *live, const struct tracemap_record *rec,
		     const struct numbered *event);
	unsigned long long newest;
	struct account accounts[MAX_CPUS];	/* by buffer */
};

static int next_unmerged(struct live *live, struct tracemap_record *rec)
{
	struct program *program = &live->program;
	int ret;

	tracemap_perf_release(program->perf[live->at]);
	for (unsigned int i = 0; i < program->nr; i++) {
		ret = tracemap_perf_next(program->perf[live->at], rec);
		if (ret)
			return ret;
		live->at = (live->at + 1) % program->nr;
	}
	return 0;
}

static int next(struct live *live, struct tracemap_record *rec)
{
	return live->unmerged ? next_unmerged(live, rec) : tracemap_merge_next(live->m, rec);
}

static int take(struct live *live, const struct tracemap_record *rec)
{
	struct numbered event;
	int ret = check_event(rec, live->own_stamps, &event);

	if (ret)
		return ret;
	live->seen++;
	live->late += !!(rec->flags & TRACEMAP_LATE);
	live->switches += rec->cpu != live->last_cpu;
	live->last_cpu = rec->cpu;
	if (rec->missed == TRACEMAP_MISSED_UNKNOWN)
		return complain(-EBADMSG, "the kernel always tells how many were lost");
	live->lost += rec->missed;
	return live->check(live, rec, &event);
}

/* Takes what can be had now. */
static int take_all(struct live *live)
{
	struct tracemap_record rec;
	int ret;

	while ((ret = next(live, &rec)) > 0) {
		ret = take(live, &rec);
		if (ret)
			return ret;
	}
	return ret < 0 ? complain(ret, "reading") : 0;
}

/* Not for ever: that all is done is no event. */
static int wait_for_more(struct live *live)
{
	int timeout_ms = live->unmerged ? 100 : tracemap_merge_timeout(live->m, 100);
	int fd = perf_buffer__epoll_fd(live->program.pb);
	struct epoll_event events[MAX_CPUS];

	if (epoll_wait(fd, events, MAX_CPUS, timeout_ms) < 0 && errno != EINTR)
		return complain(-errno, "waiting");
	return 0;
}

static int take_until_done(struct live *live)
{
	int ret = 0;

	while (!ret && !__atomic_load_n(&live->done, __ATOMIC_ACQUIRE)) {
		ret = take_all(live);
		if (!ret)
			ret = wait_for_more(live);
	}
	/* There will be no older ones to wait for. */
	tracemap_merge_flush(live->m);
	return ret ? ret : take_all(live);
}

/* ---- One after another, on any CPU: they have to come exactly so ---- */

static int check_number(struct live *live, const struct tracemap_record *rec,
			const struct numbered *event)
{
	if (event->number != live->seen - 1 || rec->missed || rec->flags & TRACEMAP_LATE)
		return complain(-EBADMSG, "event %u of CPU %d where %llu should be", event->number,
				rec->cpu, live->seen - 1);
	return 0;
}

/* Bursts of one to four on a CPU, then another. */
static void *hop_and_write(void *arg)
{
	struct live *live = arg;
	unsigned int random = 1, cpu = 0;

	for (unsigned int number = 0; number < live->total; number++) {
		random = random * 1664525 + 1013904223;
		if ((random >> 24) % 3 == 0) {
			cpu = (random >> 16) % live->program.nr;
			if (go_to_cpu(live->program.cpu[cpu]))
				break;
		}
		make_event(number);
	}
	__atomic_store_n(&live->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static int one_after_another(struct live *live)
{
	pthread_t writer;
	int ret;

	live->check = check_number;
	ret = -pthread_create(&writer, NULL, hop_and_write, live);
	if (ret)
		return complain(ret, "starting a thread");
	ret = take_until_done(live);
	pthread_join(writer, NULL);
	if (!ret && live->seen != live->total)
		ret = complain(-EBADMSG, "%llu events of %u", live->seen, live->total);
	if (!ret && live->switches < live->total / 10)
		ret = complain(-ENODATA, "the CPU changed %llu times only", live->switches);
	if (!ret)
		printf("order: %llu events one after another, from CPU to CPU %llu times: as they were made\n",
		       live->seen, live->switches);
	return ret;
}

/* ---- All CPUs at once ---- */

static struct account *account_of(struct live *live, int cpu)
{
	for (unsigned int i = 0; i < live->program.nr; i++) {
		if (live->program.cpu[i] == cpu)
			return &live->accounts[i];
	}
	abort();	/* add_source() was told no other */
}

/* Late is what is older than one that came before it, and nothing else is. */
static int check_stamp(struct live *live, const struct tracemap_record *rec,
		       const struct numbered *event)
{
	bool late = rec->flags & TRACEMAP_LATE;
	bool older = rec->ts < live->newest;

	if (late != older)
		return complain(-EBADMSG, "event %u of CPU %d, of %llu ns, after %llu ns",
				event->number, rec->cpu, (unsigned long long)rec->ts,
				live->newest);
	if (!late)
		live->newest = rec->ts;
	return account_event(account_of(live, rec->cpu), rec, event);
}

struct writer {
	struct live *live;
	unsigned int i;		/* of the buffer */
	pthread_t thread;
};

static void *write_here(void *arg)
{
	struct writer *writer = arg;
	struct live *live = writer->live;

	if (go_to_cpu(live->program.cpu[writer->i]))
		return NULL;
	for (unsigned int number = 0; number < live->total; number++) {
		make_event(number);
		/* Who reads is slower than all who write. */
		if (number % BURST == BURST - 1)
			usleep(2000);
	}
	return NULL;
}

static void *write_everywhere(void *arg)
{
	struct writer writers[MAX_CPUS];
	struct live *live = arg;
	unsigned int nr = 0;

	for (; nr < live->program.nr; nr++) {
		writers[nr].live = live;
		writers[nr].i = nr;
		if (pthread_create(&writers[nr].thread, NULL, write_here, &writers[nr]))
			break;
	}
	while (nr)
		pthread_join(writers[--nr].thread, NULL);
	__atomic_store_n(&live->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* The kernel tells of what was lost last with the next event. */
static int tell_last_loss(struct live *live)
{
	int ret = 0;

	for (unsigned int i = 0; i < live->program.nr && !ret; i++)
		ret = make_event_on(live->program.cpu[i], live->total);
	tracemap_merge_flush(live->m);
	return ret ? ret : take_all(live);
}

static int all_at_once(struct live *live)
{
	pthread_t writers;
	int ret;

	live->check = check_stamp;
	ret = -pthread_create(&writers, NULL, write_everywhere, live);
	if (ret)
		return complain(ret, "starting a thread");
	ret = take_until_done(live);
	pthread_join(writers, NULL);
	if (!ret)
		ret = tell_last_loss(live);
	for (unsigned int i = 0; i < live->program.nr && !ret; i++) {
		if (live->accounts[i].next != live->total + 1)
			ret = complain(-EBADMSG, "CPU %d: the last event is %u",
				       live->program.cpu[i], live->accounts[i].next - 1);
	}
	if (!ret)
		printf("order: %u events on each of %u CPUs at once: "
		       "%llu seen, %llu told lost, %llu late\n",
		       live->total + 1, live->program.nr, live->seen, live->lost, live->late);
	return ret;
}

/* ---- ---- */

static int run(const struct options *options, size_t pages, unsigned int count,
	       int (*use)(struct live *live))
{
	struct live live;
	int ret;

	memset(&live, 0, sizeof(live));
	live.unmerged = options->unmerged;
	live.own_stamps = !options->perf_time;
	live.total = options->count ? options->count : count;
	live.last_cpu = -1;
	ret = program_start(&live.program, options, pages);
	if (ret)
		return ret;
	ret = merge_all(&live.m, &live.program);
	if (!ret)
		ret = use(&live);
	tracemap_merge_free(live.m);
	program_stop(&live.program);
	return ret;
}

static int first_run(const struct options *options)
{
	struct program program;
	int ret = program_start(&program, options, PAGES);

	if (ret)
		return ret;
	ret = step_by_step(&program);
	program_stop(&program);
	return ret;
}

int use_order(const struct options *options)
{
	int ret = first_run(options);

	if (!ret)
		ret = run(options, PAGES, 5000, one_after_another);
	if (!ret)
		ret = run(options, PAGES, 20000, all_at_once);
	return ret;
}

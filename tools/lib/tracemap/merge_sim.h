/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * The sources that merge_test.c merges: CPUs whose sub-buffers come through a pipe,
 * and sources of another kind, with a clock that only the test moves.
 */
#ifndef _TRACEMAP_MERGE_SIM_H
#define _TRACEMAP_MERGE_SIM_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cpu.h"
#include "subbuf_make.h"

#define MSEC		1000000ULL
#define SUBBUF_SIZE	512
#define PIPE_SIZE	(1 << 20)

static int failures;

#define check(cond) check_at(cond, #cond, __func__, __LINE__)

static bool check_at(bool ok, const char *what, const char *func, int line)
{
	if (!ok) {
		printf("# %s:%d: not so: %s\n", func, line, what);
		failures++;
	}
	return ok;
}

/* End the test program if something fails without which nothing can be tested. */
static void need(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

/* ---- The clock, which replaces that of the C library ---- */

static uint64_t sim_ns;
static uint64_t sim_step;	/* how far each call moves it */
static unsigned int clock_calls;

int clock_gettime(clockid_t id, struct timespec *t)
{
	check(id == CLOCK_MONOTONIC);
	t->tv_sec = sim_ns / 1000000000;
	t->tv_nsec = sim_ns % 1000000000;
	sim_ns += sim_step;
	clock_calls++;
	return 0;
}

/* ---- Memory; the linker replaces malloc() by this ---- */

static int mallocs_left = -1;	/* calls until there is no more memory; below 0: no limit */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	if (!mallocs_left)
		return NULL;
	mallocs_left -= mallocs_left > 0;
	return __real_malloc(size);
}

/* ---- Chance ---- */

static unsigned int sim_seed = 1;

static unsigned int sim_rand(unsigned int below)
{
	sim_seed = sim_seed * 1103515245 + 12345;
	return (sim_seed >> 8) % below;
}

/* The data of an event. */
struct body {
	uint32_t cpu;
	uint32_t seq;
};

/* ---- A CPU ---- */

struct pipe {
	struct tracemap_cpu *cpu;
	int number;
	int in, out;
	uint32_t seq;			/* the number of the next event */
	bool reset;			/* the batch that is fetched next reports a reset */
	bool fills;
	struct subbuf_make make;
};

#define PIPES	256
static struct pipe *pipes_by_number[PIPES];
static struct backend pipe_backend;

static const struct subbuf_format pipe_format = { SUBBUF_SIZE, 8, 8, 16, false };

static bool pipe_is_filling(const struct tracemap_cpu *cpu)
{
	return pipes_by_number[cpu->number]->fills;
}

static int pipe_fetch(struct tracemap_cpu *cpu)
{
	struct pipe *t = pipes_by_number[cpu->number];
	int ret = tracemap__backend_read.fetch(cpu);

	if (ret == 1 && t->reset)
		cpu->batch.flags = TRACEMAP_RESET;
	t->reset &= ret != 1;
	return ret;
}

static void pipe_open(struct pipe *t, int number)
{
	int fds[2];

	memset(t, 0, sizeof(*t));

	need(!pipe2(fds, O_NONBLOCK), "pipe2");
	need(fcntl(fds[1], F_SETPIPE_SZ, PIPE_SIZE) >= 0, "F_SETPIPE_SZ");
	t->out = fds[0];
	t->in = fds[1];
	t->number = number;
	need(!tracemap_cpu_open_file(&t->cpu, t->out, number, &pipe_format),
	     "tracemap_cpu_open_file");
	pipe_backend = *t->cpu->backend;
	pipe_backend.is_filling = pipe_is_filling;
	pipe_backend.fetch = pipe_fetch;
	t->cpu->backend = &pipe_backend;
	pipes_by_number[number] = t;
}

static void pipe_end(struct pipe *t)
{
	if (t->in >= 0)
		close(t->in);
	t->in = -1;
}

static void pipe_close(struct pipe *t)
{
	pipe_end(t);
	tracemap_cpu_close(t->cpu);
	close(t->out);
}

/* Let it be a CPU's buffer, which fills, from now on. */
static void pipe_fills(struct pipe *t)
{
	t->cpu->dir = dup(t->out);
	need(t->cpu->dir >= 0, "dup");
	t->fills = true;
}

/* How many sub-buffers were not read yet. */
static unsigned int pipe_unread(const struct pipe *t)
{
	int bytes;

	need(!ioctl(t->out, FIONREAD, &bytes), "FIONREAD");
	return bytes / SUBBUF_SIZE;
}

static void pipe_begin(struct pipe *t, uint64_t ts)
{
	make_begin(&t->make, &pipe_format, ts);
}

/* Write an event at the time @ts. Returns false if the sub-buffer has no room for it. */
static bool pipe_event(struct pipe *t, uint64_t ts, uint32_t size)
{
	unsigned char data[SUBBUF_SIZE] = { 0 };
	struct body body = { t->number, t->seq };

	memcpy(data, &body, sizeof(body));
	if (!make_event(&t->make, ts, data, size))
		return false;
	t->seq++;
	return true;
}

static void pipe_send(struct pipe *t, int64_t missed)
{
	make_finish(&t->make, missed);
	need(write(t->in, t->make.bytes, SUBBUF_SIZE) == SUBBUF_SIZE, "write");
}

/* Send a sub-buffer with events at @from, @from + @step and so on. */
static void pipe_events(struct pipe *t, uint64_t from, uint64_t step, unsigned int nr)
{
	pipe_begin(t, from);
	for (; nr; nr--, from += step)
		check(pipe_event(t, from, sizeof(struct body)));
	pipe_send(t, 0);
}

static void pipe_event_at(struct pipe *t, uint64_t ts)
{
	pipe_events(t, ts, 0, 1);
}

/* ---- Another source ---- */

#define FEED_MAX	4096

struct feed {
	int cpu;
	struct {
		uint64_t ts;
		uint64_t missed;
	} event[FEED_MAX];
	unsigned int nr, next;
	int end;			/* what it returns when there is no more */
	bool marks;			/* it sets TRACEMAP_FRESH */
	unsigned int found;		/* how many events it has reported as found */
	unsigned int asked;
	bool out;
	unsigned int released;
	struct body *body;
};

static int feed_next(void *arg, struct tracemap_record *rec)
{
	struct feed *f = arg;

	f->asked++;
	check(!f->out);
	if (f->next == f->nr)
		return f->end;
	memset(rec, 0, sizeof(*rec));
	if (f->marks && f->next == f->found) {
		rec->flags = TRACEMAP_FRESH;
		f->found = f->nr;
	}
	/* Allocated, so that the sanitizer sees a read after the release. */
	f->body = malloc(sizeof(*f->body));
	f->body->cpu = f->cpu;
	f->body->seq = f->next;
	rec->ts = f->event[f->next].ts;
	rec->missed = f->event[f->next].missed;
	rec->data = f->body;
	rec->size = sizeof(*f->body);
	f->next++;
	f->out = true;
	return 1;
}

static void feed_release(void *arg)
{
	struct feed *f = arg;

	check(f->out);
	f->out = false;
	f->released++;
	free(f->body);
	f->body = NULL;
}

static void feed_event(struct feed *f, uint64_t ts)
{
	need(f->nr < FEED_MAX, "feed");
	f->event[f->nr++].ts = ts;
}

static struct feed *feed_new(int cpu)
{
	struct feed *f = calloc(1, sizeof(*f));

	need(f, "calloc");
	f->cpu = cpu;
	return f;
}

static void feed_free(struct feed *f)
{
	free(f->body);
	free(f);
}

static void feed_add(struct feed *f, struct tracemap_merge *m)
{
	struct tracemap_source source = {
		sizeof(source), f->cpu, f, feed_next, feed_release
	};

	need(!tracemap_merge_add_source(m, &source), "add_source");
}

/* ---- The merge ---- */

static struct tracemap_merge *merge_with_delay(uint64_t delay_ns)
{
	struct tracemap_merge_options options = {
		.size = sizeof(options), .delay_ns = delay_ns,
	};
	struct tracemap_merge *m;

	need(!tracemap_merge_new(&m, &options), "tracemap_merge_new");
	return m;
}

/* Is this the next record, with its data? */
static bool comes(struct tracemap_merge *m, uint64_t ts, int cpu, uint32_t seq)
{
	struct tracemap_record rec;
	struct body body;

	memset(&rec, 0xff, sizeof(rec));
	if (!check(tracemap_merge_next(m, &rec) == 1) || !check(rec.data))
		return false;
	memcpy(&body, rec.data, sizeof(body));
	return check(rec.ts == ts) && check(rec.cpu == cpu) &&
		check((int)body.cpu == cpu) && check(body.seq == seq) &&
		check(!rec.flags) && check(!rec.missed);
}

static bool says(struct tracemap_merge *m, int ret)
{
	struct tracemap_record rec;

	return check(tracemap_merge_next(m, &rec) == ret);
}

#endif /* _TRACEMAP_MERGE_SIM_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Take a snapshot of an instance, without consuming events.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "buffers.h"
#include "snapshot.h"
#include "stats_file.h"
#include "text_file.h"

#define AHEAD_MORE	(64ULL << 20)	/* beyond the size of the buffers */

/* ---- Files of the instance ---- */

/* The size of all buffers once they are used, as in "14 (expanded: 2816)" */
static uint64_t bytes_of_buffers(const char *dir)
{
	char text[128];

	if (text_file_read(dir, "buffer_total_size_kb", text, sizeof(text)) <= 0)
		return 0;
	return text_file_buffer_kib(text) * 1024;
}

/*
 * The present time by the trace clock, ns; 0 if it counts something else: then the kernel
 * prints no fraction.
 */
static uint64_t trace_clock_now(const struct snapshot *s, const char *dir)
{
	char file[64], text[1024];
	const char *now;
	char *dot;
	uint64_t seconds;

	snprintf(file, sizeof(file), "per_cpu/cpu%d/stats",
		 tracemap_cpu_number(tracemap_get_cpu(s->t, 0)));
	if (text_file_read(dir, file, text, sizeof(text)) <= 0)
		return 0;
	now = strstr(text, "\nnow ts: ");
	if (!now)
		return 0;
	seconds = strtoull(now + strlen("\nnow ts: "), &dot, 10);
	if (*dot != '.')
		return 0;
	return seconds * 1000000000 + strtoull(dot + 1, NULL, 10) * 1000;
}

/*
 * The end is set after this, CPU by CPU, so that some events may be later, and have age 0. To cut
 * them off would lose those before it of a CPU whose clock is ahead.
 */
static int set_time(struct snapshot *s, const struct snapshot_request *r)
{
	uint64_t last = r->last * 1e9;

	s->now = trace_clock_now(s, r->dir);
	if (!r->last)
		return 0;
	if (!s->now) {
		say("--last: the trace clock of this instance does not count time: see its trace_clock");
		return -EINVAL;
	}
	s->from = s->now > last ? s->now - last : 0;
	return 0;
}

/* ---- Requests ---- */

/* Something that takes snapshots of its own holds the live view off, or there is none. */
static int open_failed(int error, const struct snapshot_request *r,
		       const struct tracemap_options *o)
{
	if (error == -EOPNOTSUPP)
		say("%s: this kernel has no live view, so what the buffers hold cannot be shown without taking it from others: cat %s/trace prints it, and tracemap record and stream take what comes",
		    r->name, r->dir);
	else if (error == -EBUSY)
		say("%s: a snapshot trigger, a histogram or a latency tracer uses the buffers: remove it, or print what they hold by cat %s/trace",
		    r->name, r->dir);
	else
		buffers_refused(error, r->name, r->dir, o);
	return error;
}

static int open_buffers(struct snapshot *s, const struct snapshot_request *r)
{
	uint64_t size = bytes_of_buffers(r->dir);
	struct tracemap_options o = tracemap_default_options();
	int ret;

	o.way = TRACEMAP_OBSERVE;
	o.nr_cpus = r->nr_cpus;
	o.cpus = r->cpus;
	o.read_ahead_bytes = size + size / 4 + AHEAD_MORE;
	ret = tracemap_open(&s->t, r->dir, &o);
	return ret ? open_failed(ret, r, &o) : 0;
}

static bool has_overwritten(const struct tracemap_cpu *cpu)
{
	struct tracemap_figures f;

	return !tracemap_cpu_figures(cpu, &f) && f.overwritten;
}

static int set_end(struct snapshot *s, const struct snapshot_request *r)
{
	int ret;

	s->nr_cpus = tracemap_nr_cpus(s->t);
	s->cpus = calloc(s->nr_cpus, sizeof(*s->cpus));
	if (!s->cpus)
		return complain(ABOUT_BUFFER, ENOMEM, "%s", r->name);
	for (unsigned int i = 0; i < s->nr_cpus; i++)
		s->cpus[i].begins_late = has_overwritten(tracemap_get_cpu(s->t, i));
	ret = tracemap_until_now(s->t);
	return ret ? complain(ABOUT_BUFFER, ret, "%s", r->name) : 0;
}

int snapshot_open(struct snapshot *s, const struct snapshot_request *r)
{
	int ret;

	memset(s, 0, sizeof(*s));
	ret = open_buffers(s, r);
	if (!ret)
		ret = set_time(s, r);
	return ret ? ret : set_end(s, r);
}

int snapshot_check(const struct snapshot_request *r)
{
	struct snapshot s = { .now = 0 };
	int ret = open_buffers(&s, r);

	if (!ret)
		ret = set_time(&s, r);
	snapshot_close(&s);
	return ret;
}

void snapshot_close(struct snapshot *s)
{
	tracemap_close(s->t);
	free(s->cpus);
	s->t = NULL;
	s->cpus = NULL;
}

/* ---- Contents ---- */

unsigned int snapshot_index(const struct snapshot *s, int number)
{
	unsigned int i = 0;

	while (i + 1 < s->nr_cpus && tracemap_cpu_number(tracemap_get_cpu(s->t, i)) != number)
		i++;
	return i;
}

void snapshot_count(struct snapshot *s, uint64_t ts)
{
	if (!s->events++ || ts < s->first)
		s->first = ts;
	if (ts > s->last)
		s->last = ts;
}

void snapshot_cut(struct snapshot *s, unsigned long long nr)
{
	s->cut = nr < s->events;
	if (s->cut)
		s->events = nr;
}

void snapshot_lost(struct snapshot *s, unsigned int i, uint64_t missed)
{
	if (missed == TRACEMAP_MISSED_UNKNOWN)
		s->cpus[i].unknown = true;
	else
		s->cpus[i].lost += missed;
}

bool snapshot_has_lost(const struct snapshot *s)
{
	for (unsigned int i = 0; i < s->nr_cpus; i++) {
		if (s->cpus[i].lost || s->cpus[i].unknown)
			return true;
	}
	return false;
}

static void say_lost(const struct snapshot *s, unsigned int i)
{
	const struct snapshot_cpu *c = &s->cpus[i];
	int cpu = tracemap_cpu_number(tracemap_get_cpu(s->t, i));
	unsigned long long lost = c->lost + c->unknown;

	if (lost)
		say("CPU %d: %s%llu events were overwritten before they were read", cpu,
		    c->unknown ? "at least " : "", lost);
}

void snapshot_say(const struct snapshot *s, const char *what)
{
	double from = s->now > s->first ? (s->now - s->first) / 1e9 : 0;
	double to = s->now > s->last ? (s->now - s->last) / 1e9 : 0;

	if (s->now && s->events && !s->cut)
		say("%s: %llu event%s of %u CPU%s, from %.6f to %.6f seconds before now", what,
		    s->events, plural(s->events), s->nr_cpus, plural(s->nr_cpus), from, to);
	else
		say("%s: %llu event%s of %u CPU%s", what, s->events, plural(s->events),
		    s->nr_cpus, plural(s->nr_cpus));
	for (unsigned int i = 0; i < s->nr_cpus; i++)
		say_lost(s, i);
}

/* Events after damage count as missed. */
int snapshot_error(int error, int cpu)
{
	if (error == -EINTR || error == -EBADMSG)
		return 0;
	if (cpu < 0)
		return complain(ABOUT_BUFFER, error, "reading");
	return complain(ABOUT_BUFFER, error, "CPU %d", cpu);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Read how full the buffers are, and what happens to them, from the live index of
 * trace_live, or from the files per_cpu/cpuN/stats.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "clock.h"
#include "gauge.h"
#include "stats_file.h"
#include "text_file.h"

/* From memory. */

static bool attach(struct gauge *g)
{
	struct live_mapping mapping;
	struct tracemap_raw raw;

	if (tracemap_cpu_raw(g->handle, &raw) || !raw.index)
		return false;
	mapping.index = raw.index;
	mapping.size = raw.index_size;
	return !live_attach(&g->observer, &mapping, LIVE_FROM_NOW);
}

/*
 * The figures are as of the last finished sub-buffer. Count the sub-buffer that is being
 * written as well, or the figures of a slow trace would stand still and then jump.
 * Returns whether the buffer could be read: it cannot while it is emptied.
 */
static bool observe(struct gauge *g, struct reading *r)
{
	const struct subbuf_format *format = &g->observer.format;
	uint32_t capacity = format->subbuf_size - format->data_offset;
	struct live_figures f;

	if (live_figures(&g->observer, &f))
		return false;
	r->epoch = f.first;
	r->events = f.events;
	r->overwritten = f.overwritten;
	r->consumed = f.consumed;
	r->dropped = f.dropped;
	r->size = (uint64_t)f.nr_subbufs * format->subbuf_size;
	r->bytes = f.generation * capacity + f.bytes;
	if (r->events == r->overwritten + r->consumed)
		r->fill = 0;	/* the writer's sub-buffer counts as used even if it is empty */
	else
		r->fill = f.used >= f.nr_subbufs ? 1 : (double)f.used / f.nr_subbufs;
	return true;
}

/* From files. */

static int read_stats(const struct panel *p, const struct gauge *g, struct reading *r)
{
	char path[PATH_MAX], text[64];
	struct stats_file s;
	int ret;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/stats", p->dir, g->cpu);
	ret = stats_file_read(AT_FDCWD, path, &s);
	if (ret < 0)
		return ret;
	r->overwritten = s.overwritten;
	r->consumed = s.consumed;
	r->dropped = s.dropped;
	r->events = s.committed;
	r->bytes = s.bytes;

	snprintf(path, sizeof(path), "per_cpu/cpu%d/buffer_size_kb", g->cpu);
	ret = text_file_read(p->dir, path, text, sizeof(text));
	if (ret < 0)
		return ret;
	r->size = strtoull(text, NULL, 10) * 1024;
	r->fill = r->size && s.committed > s.overwritten + s.consumed ?
		  (double)r->bytes / r->size : 0;
	if (r->fill > 1)
		r->fill = 1;
	r->epoch = 0;
	r->oldest = s.oldest;
	return 0;
}

/* Rates. */

static bool was_emptied(const struct reading *now, const struct reading *last)
{
	return now->epoch != last->epoch || now->events < last->events ||
	       now->overwritten + now->dropped < last->overwritten + last->dropped;
}

/*
 * A snapshot of the kernel swaps the buffer for another one, which has counts of its own, and
 * holds events from before those of this one: the other holds the later ones.
 */
static bool was_swapped(const struct reading *now, const struct reading *last)
{
	return now->consumed < last->consumed ||
	       (now->oldest && now->oldest < last->oldest);
}

/* From the file: assume the average size of the unread events. */
static double bytes_guess(const struct gauge *g, double events)
{
	uint64_t unread = g->now.events - g->now.overwritten - g->now.consumed;

	if (!events)
		return 0;
	return unread ? events * g->now.bytes / unread : RATE_UNKNOWN;
}

static const struct rates no_rates = { RATE_UNKNOWN, RATE_UNKNOWN, RATE_UNKNOWN, false };

static void rate(struct gauge *g, const struct reading *last, uint64_t at)
{
	double seconds = (at - g->at) / 1e9;
	struct rates *r = &g->rate;

	g->at = at;
	*r = no_rates;
	r->reset = g->looks && (was_emptied(&g->now, last) || was_swapped(&g->now, last));
	if (!g->looks++ || r->reset || seconds <= 0)
		return;
	r->events = (g->now.events - last->events) / seconds;
	r->lost = (g->now.overwritten + g->now.dropped - last->overwritten - last->dropped) /
		  seconds;
	r->bytes = g->handle ? (g->now.bytes - last->bytes) / seconds :
			       bytes_guess(g, r->events);
}

static int gauge_read(struct panel *p, struct gauge *g)
{
	struct reading last = g->now;

	if (!g->handle) {
		int ret = read_stats(p, g, &g->now);

		if (ret < 0)
			return ret;
	} else if (!observe(g, &g->now)) {
		return 0;	/* it is being emptied: read it next time */
	}
	rate(g, &last, now_ns());
	return 0;
}

int panel_read(struct panel *p)
{
	uint64_t at = now_ns();

	for (unsigned int i = 0; i < p->nr; i++) {
		int ret = gauge_read(p, &p->gauges[i]);

		if (ret < 0)
			return ret;
	}
	p->seconds = p->at ? (at - p->at) / 1e9 : 0;
	p->at = at;
	return 0;
}

/*
 * The sum leaves out CPUs whose buffers were emptied. If only the bytes of a CPU are not known,
 * neither is their sum.
 */
static void add_rates(struct rates *all, const struct rates *r)
{
	all->reset |= r->reset;
	if (r->events < 0)
		return;
	if (all->events < 0)
		*all = (struct rates){ .reset = all->reset };
	all->events += r->events;
	all->lost += r->lost;
	all->bytes = all->bytes < 0 || r->bytes < 0 ? RATE_UNKNOWN : all->bytes + r->bytes;
}

struct gauge panel_total(const struct panel *p)
{
	struct gauge all = { .cpu = -1, .rate = no_rates };

	for (unsigned int i = 0; i < p->nr; i++) {
		const struct reading *r = &p->gauges[i].now;

		all.now.events += r->events;
		all.now.overwritten += r->overwritten;
		all.now.consumed += r->consumed;
		all.now.dropped += r->dropped;
		all.now.size += r->size;
		if (r->fill > all.now.fill)
			all.now.fill = r->fill;
		add_rates(&all.rate, &p->gauges[i].rate);
	}
	return all;
}

/* Which CPUs. */

static int compare_cpus(const void *a, const void *b)
{
	return ((const struct gauge *)a)->cpu - ((const struct gauge *)b)->cpu;
}

/* Returns a new gauge for a CPU; NULL if it has one, or there is no memory. */
static struct gauge *add_gauge(struct panel *p, int cpu)
{
	struct gauge *more;

	for (unsigned int i = 0; i < p->nr; i++) {
		if (p->gauges[i].cpu == cpu)
			return NULL;
	}
	more = realloc(p->gauges, (p->nr + 1) * sizeof(*more));
	if (!more)
		return NULL;
	p->gauges = more;
	more += p->nr++;
	memset(more, 0, sizeof(*more));
	more->cpu = cpu;
	return more;
}

static int add_observed(struct panel *p)
{
	for (unsigned int i = 0; i < tracemap_nr_cpus(p->t); i++) {
		struct tracemap_cpu *cpu = tracemap_get_cpu(p->t, i);
		struct gauge *g = add_gauge(p, tracemap_cpu_number(cpu));

		if (!g)
			continue;
		g->handle = cpu;
		if (!attach(g))
			p->nr--;	/* it is being emptied: the next rescan adds it */
	}
	return p->nr ? 0 : -EPROTO;
}

/* "0-3,5": is @cpu one of these? */
static bool in_list(const char *list, int cpu)
{
	const char *p = list;
	char *end;

	while (*p >= '0' && *p <= '9') {
		long from = strtol(p, &end, 10), to = from;

		if (*end == '-')
			to = strtol(end + 1, &end, 10);
		if (cpu >= from && cpu <= to)
			return true;
		p = *end == ',' ? end + 1 : end;
	}
	return false;
}

/* CPUs that may come have files, too: take those that are online or have events. */
static bool is_of_use(const struct panel *p, int cpu, const char *online)
{
	const struct gauge g = { .cpu = cpu };
	struct reading r;

	return in_list(online, cpu) || (!read_stats(p, &g, &r) && r.events);
}

static int add_listed(struct panel *p)
{
	char path[PATH_MAX], online[4096];
	struct dirent *entry;
	DIR *dir;
	int cpu;

	snprintf(path, sizeof(path), "%s/per_cpu", p->dir);
	dir = opendir(path);
	if (!dir)
		return -errno;
	if (text_file_read("/sys/devices/system/cpu", "online", online, sizeof(online)) < 0)
		strcpy(online, "0-2147483647");
	while ((entry = readdir(dir))) {
		if (sscanf(entry->d_name, "cpu%d", &cpu) == 1 && is_of_use(p, cpu, online))
			add_gauge(p, cpu);
	}
	closedir(dir);
	return 0;
}

static int add_gauges(struct panel *p)
{
	int ret = p->observes ? add_observed(p) : add_listed(p);

	if (ret < 0)
		return ret;
	qsort(p->gauges, p->nr, sizeof(*p->gauges), compare_cpus);
	return 0;
}

int panel_rescan(struct panel *p)
{
	if (p->observes)
		tracemap_rescan(p->t);
	return add_gauges(p);
}

/* A buffer that was never used says "7 (expanded: 1408)". */
static bool is_at_minimum(const char *dir)
{
	char text[128];

	return text_file_read(dir, "buffer_size_kb", text, sizeof(text)) >= 0 &&
	       strstr(text, "expanded");
}

/* If buffers cannot be observed, that is no error: there are the files. */
static int open_figures(struct panel *p, bool observe)
{
	struct tracemap_options options = tracemap_default_options();
	bool minimum = is_at_minimum(p->dir);
	int ret;

	if (!observe)
		return 0;
	options.way = TRACEMAP_OBSERVE;
	options.flags = TRACEMAP_FROM_NOW;
	ret = tracemap_open(&p->t, p->dir, &options);
	if (ret == -EACCES || ret == -EPERM || ret == -ENOENT)
		return complain(ABOUT_BUFFER, ret, "instance %s", p->name);
	p->observes = !ret;
	p->why = -ret;
	p->expanded = minimum && !is_at_minimum(p->dir);
	return 0;
}

int panel_open(struct panel *p, const char *dir, const char *name, bool observe)
{
	int ret;

	memset(p, 0, sizeof(*p));
	p->name = strdup(name);
	p->dir = strdup(dir);
	if (!p->name || !p->dir) {
		panel_close(p);
		return complain(ABOUT_INSTANCE, ENOMEM, "instance %s", name);
	}
	ret = open_figures(p, observe);
	if (!ret) {
		ret = add_gauges(p);
		if (ret < 0)
			complain(ABOUT_BUFFER, ret, "instance %s", name);
	}
	if (ret)
		panel_close(p);
	return ret;
}

void panel_close(struct panel *p)
{
	if (p->t)
		tracemap_close(p->t);
	free(p->gauges);
	free(p->dir);
	free(p->name);
	memset(p, 0, sizeof(*p));
}

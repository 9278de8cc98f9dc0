// SPDX-License-Identifier: GPL-2.0
/*
 * The model of workers: what each has mapped where, and which descriptors it
 * has. Nothing is counted beside it: how often a buffer is mapped is looked up.
 */
#include "random.h"

struct worker workers[WORKERS];

void worker_begin(struct worker *w)
{
	int i;

	memset(w, 0, sizeof(*w));
	for (i = 0; i < FDS; i++)
		w->fds[i] = -1;
}

/* Killed (@descriptors too), or another program now. */
void worker_gone(struct worker *w, bool descriptors)
{
	int i;

	for (i = 0; i < w->nr_areas; i++)
		drop_file(w->areas[i].file);
	w->nr_areas = 0;
	if (!descriptors)
		return;
	for (i = 0; i < FDS; i++)
		drop_file(w->fds[i]);
	worker_begin(w);
}

static void copy_area(struct worker *to, const struct area *area)
{
	files[area->file].refs++;
	to->areas[to->nr_areas++] = *area;
}

/* By fork(): only what was asked for is inherited. */
void worker_copy(struct worker *to, const struct worker *from)
{
	int i;

	worker_begin(to);
	memcpy(to->fds, from->fds, sizeof(to->fds));
	memcpy(to->pipes, from->pipes, sizeof(to->pipes));
	for (i = 0; i < FDS; i++) {
		if (to->fds[i] >= 0)
			files[to->fds[i]].refs++;
	}
	for (i = 0; i < from->nr_areas; i++) {
		if (from->areas[i].bits & BIT_DOFORK || wrong == 3)
			copy_area(to, &from->areas[i]);
	}
}

struct file *file_at(const struct order *o)
{
	int file = worker_of(o)->fds[o->fd];

	return file < 0 ? NULL : &files[file];
}

/* Of one CPU, or (-1) of any. */
int count_mappings(int inst, int cpu)
{
	const struct worker *w;
	const struct area *area;
	const struct file *f;
	int n = 0;

	for (w = workers; w < workers + WORKERS; w++) {
		for (area = w->areas; area < w->areas + w->nr_areas; area++) {
			f = &files[area->file];
			n += f->inst == inst && (cpu < 0 || f->cpu == cpu);
		}
	}
	return n;
}

/* Our own mapping is there in a storm too. */
static enum tri at_least(int n)
{
	return n ? YES : unless_storm(NO);
}

static int count_observers(int inst, int cpu)
{
	int i, n = 0;

	for (i = 0; i < FILES; i++)
		n += files[i].refs && files[i].kind == LIVE && files[i].inst == inst &&
		     (cpu < 0 || files[i].cpu == cpu);
	return n;
}

enum tri held(int inst, int cpu)
{
	return at_least(count_mappings(inst, cpu) + count_observers(inst, cpu));
}

/* READ-9: an observer does not stand for a mapping. */
enum tri served(int inst, int cpu)
{
	return at_least(count_mappings(inst, cpu));
}

struct area *area_of(struct worker *w, long at)
{
	int i;

	for (i = 0; i < w->nr_areas; i++) {
		if (at >= w->areas[i].start && at < w->areas[i].end)
			return &w->areas[i];
	}
	return NULL;
}

struct area *any_area(struct worker *w)
{
	return w->nr_areas ? &w->areas[below(w->nr_areas)] : NULL;
}

static bool meets(const struct area *area, long at, long len)
{
	return len && area->start < at + len && at < area->end;
}

static bool within(const struct area *area, long at, long len)
{
	return at <= area->start && area->end <= at + len;
}

bool range_cuts(const struct worker *w, long at, long len)
{
	int i;

	for (i = 0; i < w->nr_areas; i++) {
		if (meets(&w->areas[i], at, len) && !within(&w->areas[i], at, len))
			return true;
	}
	return false;
}

bool range_has(const struct worker *w, long at, long len)
{
	int i;

	for (i = 0; i < w->nr_areas; i++) {
		if (meets(&w->areas[i], at, len))
			return true;
	}
	return false;
}

/* Is there no hole in it? */
bool range_full(const struct worker *w, long at, long len)
{
	long covered = 0, from, to;
	int i;

	for (i = 0; i < w->nr_areas; i++) {
		from = w->areas[i].start > at ? w->areas[i].start : at;
		to = w->areas[i].end < at + len ? w->areas[i].end : at + len;
		if (to > from)
			covered += to - from;
	}
	return covered == len;
}

static void remove_area(struct worker *w, int i)
{
	drop_file(w->areas[i].file);
	w->areas[i] = w->areas[--w->nr_areas];
}

void remove_areas(struct worker *w, long at, long len)
{
	int i;

	for (i = w->nr_areas - 1; i >= 0; i--) {
		if (within(&w->areas[i], at, len))
			remove_area(w, i);
	}
}

struct area *add_area(struct worker *w, long at, long len, uint64_t off, int file, int prot)
{
	struct area *area = &w->areas[w->nr_areas++];

	memset(area, 0, sizeof(*area));
	area->start = at;
	area->end = at + len;
	area->off = off;
	area->file = file;
	area->prot = prot;
	area->bits = BIT_DONTDUMP;
	files[file].refs++;
	return area;
}

static const struct seat *seat_of(const struct worker *w)
{
	return &shared->seats[w - workers];
}

static const struct span *span_of(const struct worker *w, const struct area *area)
{
	const struct seat *seat = seat_of(w);
	int i;

	for (i = 0; i < seat->nr_spans; i++) {
		if (seat->spans[i].start == area->start && seat->spans[i].end == area->end)
			return &seat->spans[i];
	}
	return NULL;
}

void forgive_removed(struct worker *w, long at, long len)
{
	int i;

	for (i = w->nr_areas - 1; i >= 0; i--) {
		if (within(&w->areas[i], at, len) && !span_of(w, &w->areas[i]))
			remove_area(w, i);
	}
}

/* The address space is exactly what the model says. */
const char *compare_areas(const struct worker *w)
{
	const struct seat *seat = seat_of(w);
	int i;

	for (i = 0; i < w->nr_areas; i++) {
		const struct area *area = &w->areas[i];
		const struct span *span = span_of(w, area);

		if (!span)
			return complain("mapping at %ld+%ld is not there or in pieces",
					area->start, area->end - area->start);
		if (span->prot != area->prot || span->off != area->off)
			return complain("mapping at %ld: protection %d offset %#llx, not %d %#llx",
					area->start, span->prot, (unsigned long long)span->off,
					area->prot, (unsigned long long)area->off);
	}
	if (seat->nr_spans != w->nr_areas)
		return complain("%d mappings, not %d", seat->nr_spans, w->nr_areas);
	return NULL;
}

/* The meta area, and one sub-buffer more than the ring has. */
unsigned long map_pages(int inst, int cpu)
{
	return (instances[inst].nr_pages[cpu] + 2) << instances[inst].order;
}

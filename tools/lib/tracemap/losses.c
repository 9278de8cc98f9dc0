// SPDX-License-Identifier: LGPL-2.1
/*
 * Count every event that was lost.
 */
#include <stdlib.h>

#include "losses.h"

/* The losses of the CPU with index @i, or NULL if there is no memory */
static struct cpu_losses *of(struct losses *l, unsigned int i)
{
	struct cpu_losses *cpus;

	if (i < l->nr)
		return &l->cpus[i];
	cpus = realloc(l->cpus, (i + 1) * sizeof(*cpus));
	if (!cpus)
		return NULL;
	l->cpus = cpus;
	while (l->nr <= i)
		cpus[l->nr++] = (struct cpu_losses){ 0 };
	return &cpus[i];
}

/* Is there nothing to read, and was nothing overwritten since @before either? */
static bool is_empty_still(struct tracemap_cpu *cpu, const struct tracemap_figures *before)
{
	struct tracemap_figures f;

	return !tracemap_cpu_figures(cpu, &f) && f.overwritten == before->overwritten &&
	       f.committed == f.overwritten + f.consumed;
}

void losses_begin(struct losses *l, struct tracemap *t)
{
	l->t = t;
	for (unsigned int i = 0; i < tracemap_nr_cpus(t); i++) {
		struct cpu_losses *c = of(l, i);
		struct tracemap_cpu *cpu = tracemap_get_cpu(t, i);
		struct tracemap_figures f;

		if (!c)
			continue;
		if (tracemap_cpu_figures(cpu, &f)) {
			c->overwritten = UINT64_MAX;
			c->elsewhere = INT64_MAX;
			continue;
		}
		c->elsewhere = f.consumed - f.taken;
		if (!f.consumed)
			continue;
		c->overwritten = f.overwritten;
		c->dropped = f.dropped;
		/*
		 * Sub-buffers will also report what was overwritten since the last event that
		 * another consumer has taken. If it has taken all, it was told of all losses.
		 */
		c->at_least = !is_empty_still(cpu, &f);
	}
}

static struct cpu_losses *of_number(struct losses *l, int cpu)
{
	for (unsigned int i = 0; i < tracemap_nr_cpus(l->t); i++) {
		if (tracemap_cpu_number(tracemap_get_cpu(l->t, i)) == cpu)
			return of(l, i);
	}
	return NULL;
}

void losses_told(struct losses *l, int cpu, uint64_t missed)
{
	struct cpu_losses *c;

	if (!missed)
		return;
	c = of_number(l, cpu);
	if (!c)
		return;
	if (missed == TRACEMAP_MISSED_UNKNOWN)
		c->unknown = true;
	else
		c->told += missed;
}

void losses_emptied(struct losses *l, int cpu)
{
	struct cpu_losses *c = of_number(l, cpu);

	if (!c)
		return;
	c->told = 0;
	c->overwritten = 0;
	c->at_least = c->unknown;
	c->others_at_least = true;
}

void losses_look_for_others(struct losses *l, unsigned int i, const struct tracemap_figures *f)
{
	struct cpu_losses *c = of(l, i);
	int64_t elsewhere = f->consumed - f->taken;

	if (!c || c->ends || l->swapped || f->taken == TRACEMAP_TAKEN_UNKNOWN ||
	    tracemap_cpu_way(tracemap_get_cpu(l->t, i)) == TRACEMAP_OBSERVE)
		return;
	if (elsewhere < c->elsewhere)
		c->others_at_least = true;
	else if ((uint64_t)(elsewhere - c->elsewhere) > c->others)
		c->others = elsewhere - c->elsewhere;
}

uint64_t losses_others(const struct losses *l)
{
	uint64_t others = 0;

	for (unsigned int i = 0; i < l->nr; i++)
		others += l->cpus[i].others;
	return others;
}

bool losses_others_at_least(const struct losses *l)
{
	bool at_least = false;

	for (unsigned int i = 0; i < l->nr; i++)
		at_least |= l->cpus[i].others_at_least;
	return at_least;
}

uint64_t losses_dropped_of(struct losses *l, unsigned int i, uint64_t dropped)
{
	struct cpu_losses *c = of(l, i);
	uint64_t before;

	if (!c)
		return 0;
	before = c->dropped;
	c->dropped = dropped;
	/* If the buffer was emptied, its counters have restarted. */
	return dropped < before ? dropped : dropped - before;
}

void losses_until_now(struct losses *l)
{
	for (unsigned int i = 0; i < tracemap_nr_cpus(l->t); i++) {
		struct cpu_losses *c = of(l, i);
		struct tracemap_figures f;

		if (!c || tracemap_cpu_figures(tracemap_get_cpu(l->t, i), &f))
			continue;
		losses_look_for_others(l, i, &f);
		c->ends = true;
		c->overwritten_by_end = f.overwritten;
		c->dropped_by_end = f.dropped;
	}
}

uint64_t losses_dropped(struct losses *l, unsigned int i)
{
	struct tracemap_figures f;

	if (tracemap_cpu_figures(tracemap_get_cpu(l->t, i), &f))
		return 0;
	if (i < l->nr && l->cpus[i].ends && f.dropped > l->cpus[i].dropped_by_end)
		f.dropped = l->cpus[i].dropped_by_end;
	return losses_dropped_of(l, i, f.dropped);
}

uint64_t losses_untold_of(struct losses *l, unsigned int i, uint64_t overwritten)
{
	struct cpu_losses *c = of(l, i);
	uint64_t lost, untold;

	if (!c || !c->unknown)
		return 0;
	lost = overwritten - c->overwritten;
	/* The buffer was emptied meanwhile, and the counters have restarted. */
	if (overwritten < c->overwritten || lost < c->told)
		return 0;
	untold = lost - c->told;
	c->told = lost;
	c->unknown = c->at_least;
	return untold;
}

uint64_t losses_untold(struct losses *l, unsigned int i)
{
	struct tracemap_figures f;
	struct cpu_losses *c;
	uint64_t untold;

	if (!losses_of_cpu_at_least(l, i) || tracemap_cpu_figures(tracemap_get_cpu(l->t, i), &f))
		return 0;
	c = &l->cpus[i];
	if (!c->ends || f.overwritten <= c->overwritten_by_end)
		return losses_untold_of(l, i, f.overwritten);
	/* Of what was overwritten after the end, some is behind the last batch. */
	untold = losses_untold_of(l, i, c->overwritten_by_end);
	c->unknown = true;
	return untold;
}

bool losses_of_cpu_at_least(const struct losses *l, unsigned int i)
{
	return i < l->nr && l->cpus[i].unknown;
}

bool losses_at_least(const struct losses *l)
{
	for (unsigned int i = 0; i < l->nr; i++) {
		if (losses_of_cpu_at_least(l, i))
			return true;
	}
	return false;
}

void losses_end(struct losses *l)
{
	free(l->cpus);
	l->cpus = NULL;
	l->nr = 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Events for which there was no room.
 */
#include <stdlib.h>

#include "drops.h"

static bool make_room(struct drops *d, unsigned int nr)
{
	uint64_t *told;

	if (nr <= d->nr)
		return true;
	told = realloc(d->told, nr * sizeof(*told));
	if (!told)
		return false;
	d->told = told;
	while (d->nr < nr)
		d->told[d->nr++] = 0;
	return true;
}

void drops_begin(struct drops *d, struct tracemap *t)
{
	unsigned int nr = tracemap_nr_cpus(t);

	if (!make_room(d, nr))
		return;
	for (unsigned int i = 0; i < nr; i++) {
		struct tracemap_figures f;

		if (!tracemap_cpu_figures(tracemap_get_cpu(t, i), &f) && f.consumed)
			d->told[i] = f.dropped;
	}
}

uint64_t drops_new(struct drops *d, struct tracemap *t, unsigned int i)
{
	struct tracemap_figures f;
	uint64_t before;

	if (!make_room(d, i + 1) || tracemap_cpu_figures(tracemap_get_cpu(t, i), &f))
		return 0;
	before = d->told[i];
	d->told[i] = f.dropped;
	/* Emptied, its counters began anew. */
	return f.dropped < before ? f.dropped : f.dropped - before;
}

void drops_end(struct drops *d)
{
	free(d->told);
	d->told = NULL;
	d->nr = 0;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events for which there was no room. Where new events are dropped rather than
 * old ones overwritten (the option "overwrite" is off), no sub-buffer tells of
 * it: the counters have to be looked at.
 */
#ifndef _TRACEMAP_DROPS_H
#define _TRACEMAP_DROPS_H

#include <stdint.h>

#include <tracemap.h>

struct drops {
	uint64_t *told;		/* by index of the CPU */
	unsigned int nr;
};

/* What was dropped before somebody else took events is none of ours. */
void drops_begin(struct drops *d, struct tracemap *t);

/* How many the CPU of index @i dropped since it was last asked for. */
uint64_t drops_new(struct drops *d, struct tracemap *t, unsigned int i);
void drops_end(struct drops *d);

#endif /* _TRACEMAP_DROPS_H */

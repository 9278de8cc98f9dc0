/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What "report --perfetto" writes: a trace of Perfetto, which ui.perfetto.dev shows.
 */
#ifndef _TRACEMAP_PERFETTO_H
#define _TRACEMAP_PERFETTO_H

#include "output.h"

struct perfetto;

/*
 * Begin a trace that is written to @out. @uname: "sysname nodename release machine" of the
 * recorded system, or NULL. Returns 0, -ENOMEM or what output_flush() returns; in any case
 * perfetto_free() frees it.
 */
int perfetto_new(struct perfetto **p, struct output *out, struct tracemap_decoder *decoder,
		 int nr_cpus, const char *uname);

/* Add a record, which may have a loss, an event, or both. Returns the same. */
int perfetto_add(struct perfetto *p, const struct tracemap_record *rec);

/* Write what is still in memory, and the names of processes. Returns the same. */
int perfetto_end(struct perfetto *p);

void perfetto_free(struct perfetto *p);

#endif /* _TRACEMAP_PERFETTO_H */

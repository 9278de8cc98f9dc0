/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What "report --folded" prints for programs that draw flame graphs: a line
 * "process;function;...;function count" for each stack.
 */
#ifndef _TRACEMAP_FOLDED_H
#define _TRACEMAP_FOLDED_H

#include "output.h"

struct folded;

/* Returns 0 or -ENOMEM; in any case folded_free() frees it. */
int folded_new(struct folded **f, struct tracemap_decoder *decoder, int nr_cpus);

/* Whether the record is the stack of an event before it */
bool folded_is_stack(struct tracemap_decoder *decoder, const struct tracemap_record *rec);

/*
 * Count a record if it is a stack; or a call or return of function_graph, by the time in ns that
 * the function itself took. Returns 0 or -ENOMEM.
 */
int folded_add(struct folded *f, const struct tracemap_record *rec);

/* Print all lines, in the order of their text. Returns as output_flush(). */
int folded_print(struct folded *f, struct output *out);

void folded_free(struct folded *f);

#endif /* _TRACEMAP_FOLDED_H */

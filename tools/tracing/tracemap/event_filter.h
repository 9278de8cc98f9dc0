/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Filters that this program evaluates where the kernel cannot.
 */
#ifndef _TRACEMAP_EVENT_FILTER_H
#define _TRACEMAP_EVENT_FILTER_H

#include <event-parse.h>

#include "tracemap-event.h"

struct event_filter;

/*
 * Parse @text for @event: comparisons of a field, of CPU, or of COMM, the name of the process
 * that @decoder knows, with a number or a text in quotes, with !, &&, || and parentheses. The
 * operators are those of the kernel's filters, and =~ and !~ for extended regular expressions.
 * @name is "system:event". Sets @filter, which event_filter_free() frees. Returns 0, or a
 * negative errno, with a message unless it is -ENOMEM.
 */
int event_filter_new(struct event_filter **filter, struct tracemap_decoder *decoder,
		     struct tep_event *event, const char *name, const char *text);
void event_filter_free(struct event_filter *filter);

/* An event that is too short to have a field does not match a comparison with it. */
bool event_filter_match(const struct event_filter *filter, const struct tracemap_record *rec);

#endif /* _TRACEMAP_EVENT_FILTER_H */

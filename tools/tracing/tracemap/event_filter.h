/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Filters that this program evaluates where the kernel cannot.
 */
#ifndef _TRACEMAP_EVENT_FILTER_H
#define _TRACEMAP_EVENT_FILTER_H

#include <event-parse.h>

/*
 * Add to @filter, which is made if it is NULL, that an event with this id and @name, which is
 * "system:event", has to match @text. The user gave it by @option. Returns 0, or a negative
 * errno, with a message unless it is -ENOMEM.
 */
int event_filter_add(struct tep_event_filter **filter, struct tep_handle *tep, int id,
		     const char *name, const char *option, const char *text);

#endif /* _TRACEMAP_EVENT_FILTER_H */

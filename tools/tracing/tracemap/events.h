/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Switch on events by name.
 */
#ifndef _TRACEMAP_EVENTS_H
#define _TRACEMAP_EVENTS_H

#include <stdbool.h>

#include "session.h"

/*
 * Whether @pattern, which is "system:event", "system" or "event", with globs in either part,
 * means the event @name, which is "system:event".
 */
bool events_match(const char *name, const char *pattern);

struct events {
	char **name;	/* "system:event" */
	size_t nr;
};

/*
 * Find what @pattern names: "system:event", "system" or "event", with globs in either part.
 * Nothing is changed. Returns 0, or a negative errno that was reported. Call events_free() in
 * either case.
 */
int events_find(struct events *found, struct session *session, const char *pattern);
void events_free(struct events *list);

/*
 * Set @filter for all of these events, if it is not NULL. Returns 0, or a negative errno after
 * telling the user where the filter is wrong.
 */
int events_filter(const struct events *events, struct session *session, const char *filter);

/* Switch all of these events on. Returns 0, or a negative errno and a message. */
int events_enable(const struct events *events, struct session *session);

#endif /* _TRACEMAP_EVENTS_H */

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

/* Add a name that the list has not. Returns 0 or -ENOMEM. */
int events_add(struct events *list, const char *name);

#define NEAR_LENGTH	300

/*
 * Set @text to "; near is: " and the name out of @all that is most like @pattern, or to nothing.
 * The events of a system follow each other.
 */
void events_near(const struct events *all, const char *pattern, char *text, size_t size);

/*
 * Find what @pattern names: "system:event", "system" or "event", with globs in either part.
 * Nothing is changed. Returns 0, or a negative errno after telling the user which names are
 * similar. Call events_free() in either case.
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

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

/*
 * Switch on what @pattern names: "system:event", "system" or "event", with globs in either
 * part. A NULL @filter is for all of these events. Returns 0, or a negative errno after
 * telling the user which names are similar, or where the filter is wrong.
 */
int events_enable(struct session *session, const char *pattern, const char *filter);

#endif /* _TRACEMAP_EVENTS_H */

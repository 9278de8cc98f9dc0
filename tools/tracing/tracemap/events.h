/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events by name.
 */
#ifndef _TRACEMAP_EVENTS_H
#define _TRACEMAP_EVENTS_H

#include "session.h"

/*
 * Switch on what @pattern names: "system:event", "system", "event", with globs
 * in either part. @filter NULL: all of them. What goes wrong has been said,
 * with the names that are near, or where the filter is wrong.
 */
int events_enable(struct session *session, const char *pattern, const char *filter);

#endif /* _TRACEMAP_EVENTS_H */

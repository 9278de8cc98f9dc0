/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CPUs that come and go.
 */
#ifndef _TRACEMAP_HOTPLUG_H
#define _TRACEMAP_HOTPLUG_H

#include <stdbool.h>
#include <stdint.h>

struct hotplug {
	char *online;		/* what it was when it was last looked at */
	uint64_t next;		/* when to look again, ms */
	uint64_t interval;
};

void hotplug_begin(struct hotplug *h, uint64_t interval_ms);

/* Whether other CPUs are online than before; looks only when it is time to. */
bool hotplug_happened(struct hotplug *h, uint64_t now_ms);
void hotplug_end(struct hotplug *h);

#endif /* _TRACEMAP_HOTPLUG_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs that come and go, by the list of those online.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hotplug.h"

static char *read_online(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	char *text = NULL;
	size_t room = 0;

	if (!file)
		return NULL;
	if (getline(&text, &room, file) < 0) {
		free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}

void hotplug_begin(struct hotplug *h, uint64_t interval_ms)
{
	h->online = read_online();
	h->next = 0;
	h->interval = interval_ms;
}

bool hotplug_happened(struct hotplug *h, uint64_t now_ms)
{
	char *online;
	bool changed;

	if (now_ms < h->next)
		return false;
	h->next = now_ms + h->interval;
	online = read_online();
	changed = online && h->online && strcmp(online, h->online);
	if (online) {
		free(h->online);
		h->online = online;
	}
	return changed;
}

void hotplug_end(struct hotplug *h)
{
	free(h->online);
	h->online = NULL;
}

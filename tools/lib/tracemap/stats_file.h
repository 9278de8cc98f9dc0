/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Read the file per_cpu/cpuN/stats, for the library and the command.
 */
#ifndef _TRACEMAP_STATS_FILE_H
#define _TRACEMAP_STATS_FILE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "read_file.h"

/**
 * struct stats_file - what the kernel counts of a CPU's buffer
 * @committed: events committed
 * @overwritten: how many of these were overwritten before a consumer read them
 * @consumed: how many of these consumers have taken
 * @dropped: events for which there was no room
 * @bytes: bytes of the unread events
 * @oldest: when the oldest event came, in units of the trace clock, or us if that counts time
 */
struct stats_file {
	uint64_t committed;
	uint64_t overwritten;
	uint64_t consumed;
	uint64_t dropped;
	uint64_t bytes;
	uint64_t oldest;
};

/* The number behind @name in the text of the file; 0 if the text does not have @name. */
static inline uint64_t stats_file_number(const char *text, const char *name)
{
	const char *p = strstr(text, name);

	return p ? strtoull(p + strlen(name), NULL, 10) : 0;
}

/* The time behind @name, which has a fraction if the trace clock counts time. */
static inline uint64_t stats_file_time(const char *text, const char *name)
{
	const char *p = strstr(text, name);
	uint64_t time;
	char *dot;

	if (!p)
		return 0;
	time = strtoull(p + strlen(name), &dot, 10);
	return *dot == '.' ? time * 1000000 + strtoull(dot + 1, NULL, 10) : time;
}

/*
 * Read the file @path below the folder @dir. Returns 0 or a negative errno. What the file
 * calls "entries" are the unread events.
 */
static inline int stats_file_read(int dir, const char *path, struct stats_file *s)
{
	char text[512];
	int ret = read_file(dir, path, text, sizeof(text));

	if (ret < 0)
		return ret;
	s->overwritten = stats_file_number(text, "\noverrun: ");
	s->consumed = stats_file_number(text, "\nread events: ");
	s->committed = stats_file_number(text, "entries: ") + s->overwritten + s->consumed;
	s->dropped = stats_file_number(text, "\ncommit overrun: ") +
		     stats_file_number(text, "\ndropped events: ");
	s->bytes = stats_file_number(text, "\nbytes: ");
	s->oldest = stats_file_time(text, "\noldest event ts: ");
	return 0;
}

#endif /* _TRACEMAP_STATS_FILE_H */

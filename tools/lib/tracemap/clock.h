/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * The clock by which the library and the command wait and measure, that of the user, and the
 * names of those of time stamps.
 */
#ifndef _TRACEMAP_CLOCK_H
#define _TRACEMAP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/* CLOCK_MONOTONIC, in nanoseconds. */
static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* The local time, as 23:59:59. Unlike localtime(), this looks for the time zone only once. */
static inline void time_of_day(char text[sizeof("23:59:59")])
{
	time_t now = time(NULL);
	struct tm tm;

	strftime(text, sizeof("23:59:59"), "%T", localtime_r(&now, &tm));
}

/* Some clocks do not count nanoseconds. @clock: a name, or a list with brackets around it */
static inline bool clock_counts_ns(const char *clock)
{
	static const char * const counts[] = { "counter", "uptime", "x86-tsc", "ppc-tb" };
	const char *name = strchr(clock, '[') ? strchr(clock, '[') + 1 : clock;
	size_t length = strcspn(name, "]\n");

	for (unsigned int i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		if (strlen(counts[i]) == length && !strncmp(name, counts[i], length))
			return false;
	}
	return true;
}

#endif /* _TRACEMAP_CLOCK_H */

/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * The clock by which the library and the command wait and measure, and that of the user.
 */
#ifndef _TRACEMAP_CLOCK_H
#define _TRACEMAP_CLOCK_H

#include <stdint.h>
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

#endif /* _TRACEMAP_CLOCK_H */

/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * The clock by which the library and the command wait and measure.
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

#endif /* _TRACEMAP_CLOCK_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parse the values of options. Each function returns 0, or -EINVAL and a message.
 */
#ifndef _TRACEMAP_VALUES_H
#define _TRACEMAP_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "tracemap.h"

int value_wrong(const char *option, const char *value, const char *why);

/* A size such as "12", "4k", "10M" or "1G", which is at least 1. */
int value_size(const char *option, const char *text, unsigned long long *size);

/* The same of what is counted: the message names no bytes. */
int value_count(const char *option, const char *text, unsigned long long *count);

/* The argument of -o. */
int value_output(const char *name);

/* The argument of -i. */
int value_instance(const char *name);

/* A time such as "5", "0.5", "500ms", "5s", "5m" or "1h". */
int value_seconds(const char *option, const char *text, double *seconds);

/* The argument of -d, which is from @least seconds to a day. */
int value_interval(const char *text, double least, double *interval);

/*
 * Parse a time stamp as it is printed: seconds such as "81.5", into ns, or, if @counted, the
 * number that a clock has counted to. Sets @digits to the number of digits after the point,
 * or to 9 if @counted. No digit is rounded, however large the number.
 */
int value_time(const char *option, const char *text, bool counted, uint64_t *ts,
	       unsigned int *digits);

int value_way(const char *text, enum tracemap_way *way);

#endif /* _TRACEMAP_VALUES_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parse the values of options. Each function returns 0, or -EINVAL and a message.
 */
#ifndef _TRACEMAP_VALUES_H
#define _TRACEMAP_VALUES_H

#include <stdbool.h>

#include "tracemap.h"

/* Name --help after getopt_long() has said what is wrong. */
int value_no_option(const char *verb);

int value_wrong(const char *option, const char *value, const char *why);

/* A size such as "12", "4k", "10M" or "1G", which is at least 1. */
int value_size(const char *option, const char *text, unsigned long long *size);

/* The argument of -i. */
int value_instance(const char *name);

/* A time such as "5", "0.5", "500ms", "5s", "5m" or "1h". */
int value_seconds(const char *option, const char *text, double *seconds);

int value_way(const char *text, bool may_observe, enum tracemap_way *way);

#endif /* _TRACEMAP_VALUES_H */

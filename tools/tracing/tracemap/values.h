/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Values of options. Each returns 0, or -EINVAL when it has said what is wrong.
 */
#ifndef _TRACEMAP_VALUES_H
#define _TRACEMAP_VALUES_H

#include <stdbool.h>

#include "tracemap.h"

/* getopt_long() has said what is wrong, and not where the right is told. */
int value_no_option(const char *verb);

int value_wrong(const char *option, const char *value, const char *why);

/* "12", "4k", "10M", "1G": from 1 on */
int value_size(const char *option, const char *text, unsigned long long *size);

/* The argument of -i */
int value_instance(const char *name);

/* "5", "0.5", "500ms", "5s", "5m", "1h" */
int value_seconds(const char *option, const char *text, double *seconds);

int value_way(const char *text, bool may_observe, enum tracemap_way *way);

#endif /* _TRACEMAP_VALUES_H */

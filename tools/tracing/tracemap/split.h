/* SPDX-License-Identifier: GPL-2.0 */
/*
 * "record --split": a recording in several files, FILE.1, FILE.2 and so on.
 */
#ifndef _TRACEMAP_SPLIT_H
#define _TRACEMAP_SPLIT_H

#include <stdbool.h>

/**
 * struct split - when another file begins
 * @seconds: since the first data of a file; 0: not by time
 * @size: bytes of data; 0: not by size
 * @keep: how many files are kept; 0: all
 */
struct split {
	double seconds;
	unsigned long long size;
	unsigned long long keep;
};

static inline bool split_is_asked(const struct split *split)
{
	return split->seconds || split->size;
}

/* Take what is behind --split into a struct split. Returns 0, or -EINVAL and a message. */
int split_take(void *to, const char *text);

/* The path of the file with this number, to be freed; NULL: no memory */
char *split_path(const char *file, unsigned long number);

/* The number behind the highest that there is, from 1 on. */
unsigned long split_first(const char *file);

#endif /* _TRACEMAP_SPLIT_H */

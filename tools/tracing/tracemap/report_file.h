/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What libtracecmd does not take as it is: a trace.dat that was cut, which it refuses, pages whose
 * head cannot be true, at which it ends the CPU or crashes, and data that are compressed by zstd.
 * Of these libtracecmd 3.1 would keep all that it has unpacked in memory, and go through it once
 * more for each page that was read. It gets a copy without a name.
 */
#ifndef _TRACEMAP_REPORT_FILE_H
#define _TRACEMAP_REPORT_FILE_H

#include <stdio.h>

#include "output.h"

/**
 * report_file_fix - let libtracecmd read what is there of a file
 * @path: the file, which need not be there
 * @name: what messages call it
 * @piped: whether it came by a pipe
 * @copy: becomes the descriptor of a copy without a name, if one is needed
 *
 * Return: 0; 1: data are missing or damaged, which was said, and the copy has the others; or a
 * negative errno, said
 */
int report_file_fix(const char *path, const char *name, bool piped, int *copy);

/*
 * libtracecmd and libtraceevent believe a file. Where that would end the process by a signal,
 * print the whole lines of @out, say behind which event that was, and exit by EXIT_DAMAGED.
 */
void report_survive(const struct output *out, const unsigned long long *events);

/*
 * Copy a file to one without a name, and write @size bytes of @data there at @at. Returns its
 * descriptor, or a negative errno, said.
 */
int report_copy(int from, const void *data, size_t size, uint64_t at);

/* Say why there can be no copy, and return @error, which may be negative or not, negative. */
int report_cannot_copy(int error);

/* report_unpack.c: the part of report_file_fix() that is for compressed data */
#ifdef HAVE_ZSTD
int report_unpack(FILE *file, const char *name, int *copy);
#else
static inline int report_unpack(FILE *file, const char *name, int *copy)
{
	(void)file;
	(void)name;
	(void)copy;
	return 0;
}
#endif

#endif /* _TRACEMAP_REPORT_FILE_H */

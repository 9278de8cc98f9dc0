/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace.dat whose data are compressed by zstd. libtracecmd 3.1 would keep all that it has
 * unpacked in memory, and go through it once more for each page that was read; and what is
 * damaged it would leave out, or crash. So it gets a copy, unpacked.
 */
#ifndef _TRACEMAP_REPORT_UNPACK_H
#define _TRACEMAP_REPORT_UNPACK_H

#include <stdio.h>

#ifdef HAVE_ZSTD
/**
 * report_unpack - copy a file whose data are compressed
 * @file: the file; NULL: it cannot be opened
 * @name: what messages call it
 * @copy: becomes the descriptor of a copy without a name, if one is needed
 *
 * Return: 0; 1: data are damaged, which was said, and the copy has the others; or a negative
 * errno, said
 */
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

#endif /* _TRACEMAP_REPORT_UNPACK_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace.dat that has less data than its table tells. libtracecmd refuses it: it gets a copy
 * whose table tells what is there.
 */
#ifndef _TRACEMAP_REPORT_CUT_H
#define _TRACEMAP_REPORT_CUT_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct report_cut - how much of the data is there
 * @size: bytes that the table tells
 * @missing: bytes of these that are not in the file, or not whole pages
 */
struct report_cut {
	uint64_t size;
	uint64_t missing;
};

struct report_head;

/*
 * Returns whether the file was cut; then @copy becomes the descriptor of a copy without a name,
 * and @head and that have a table of what is there. Or returns a negative errno, said. Of a file
 * without a table it is not known.
 */
int report_cut(struct report_head *head, struct report_cut *cut, int *copy);

/*
 * Copy a file to one without a name, and write @size bytes of @data there at @at. Returns its
 * descriptor, or a negative errno, said.
 */
int report_copy(int from, const void *data, size_t size, uint64_t at);

/* Say why there can be no copy, and return @error, which may be negative or not, negative. */
int report_cannot_copy(int error);

#endif /* _TRACEMAP_REPORT_CUT_H */

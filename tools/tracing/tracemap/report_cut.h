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

/*
 * Returns a descriptor of the copy, which has no name; -ENOENT if the file was not cut, or if
 * it is of another form than tracemap writes uncompressed; or another negative errno, said.
 */
int report_cut(const char *path, struct report_cut *cut);

/*
 * Copy a file to one without a name, and write @size bytes of @data there at @at. Returns its
 * descriptor, or a negative errno, said.
 */
int report_copy(int from, const void *data, size_t size, uint64_t at);

#endif /* _TRACEMAP_REPORT_CUT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace.dat that has less data than its table tells. libtracecmd refuses it: it gets a copy
 * whose table tells what is there.
 */
#ifndef _TRACEMAP_REPORT_CUT_H
#define _TRACEMAP_REPORT_CUT_H

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

#endif /* _TRACEMAP_REPORT_CUT_H */

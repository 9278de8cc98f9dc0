/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace.dat whose pages are not all as they were written. At a page whose head cannot be true
 * libtracecmd ends the CPU, or crashes: it gets a copy in which such pages are empty. Of other
 * damage it says nothing.
 */
#ifndef _TRACEMAP_REPORT_DAMAGE_H
#define _TRACEMAP_REPORT_DAMAGE_H

#include <stdbool.h>

/*
 * Look for damage before the data, behind which no event can be told from garbage: a page size
 * that no file has; in an uncompressed file of tracemap also one that the head does not describe,
 * and data of the CPUs that do not follow each other. @name: what to call the file. Returns 0,
 * or a negative errno, said.
 */
int report_damaged_head(const char *path, const char *name);

/*
 * Say of each CPU where its data are damaged; @name: what to call the file. @copy: the descriptor
 * of a copy that @path names already, or -1, which is replaced if a copy is needed. Returns
 * whether there is damage, or a negative errno, said. Of a file of another form than tracemap
 * writes uncompressed it is not known.
 */
int report_damage(const char *path, const char *name, int *copy);

#endif /* _TRACEMAP_REPORT_DAMAGE_H */

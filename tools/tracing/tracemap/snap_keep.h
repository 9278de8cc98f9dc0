/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files of a recorder that waits: they are named by time, and their number is limited.
 */
#ifndef _TRACEMAP_SNAP_KEEP_H
#define _TRACEMAP_SNAP_KEEP_H

/*
 * The name for a snapshot of now, to be freed: "trace.dat" becomes
 * "trace-20261125-235959.123.dat", by local time. NULL: no memory.
 */
char *snap_keep_name(const char *path);

/* Whether files can be made and removed in the folder of @path: 0 or a negative errno. */
int snap_keep_check(const char *path);

/*
 * Remove the oldest of the files with such names, until there is room for the file @name beside
 * @keep - 1 others; it may have been written already and is never removed. 0: keep all. Returns how
 * many were removed, or a negative errno.
 */
int snap_keep_make_room(const char *path, unsigned long long keep, const char *name);

#endif /* _TRACEMAP_SNAP_KEEP_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files of a recorder that waits: they are named by time, and their number and size are
 * limited.
 */
#ifndef _TRACEMAP_SNAP_KEEP_H
#define _TRACEMAP_SNAP_KEEP_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct snap_limits - how many files may be there, and how large
 * @keep: files; 0: no limit
 * @size: bytes of all of them; 0: no limit
 */
struct snap_limits {
	unsigned long long keep;
	unsigned long long size;
};

/*
 * The name for a snapshot of now, to be freed: "trace.dat" becomes
 * "trace-20261125-235959.123.dat", by local time. NULL: no memory.
 */
char *snap_keep_name(const char *path);

/* Whether files can be made and removed in the folder of @path: 0 or a negative errno. */
int snap_keep_check(const char *path);

/* Whether a file of @size bytes may be there at all */
bool snap_keep_fits(const struct snap_limits *limits, uint64_t size);

/*
 * Remove the oldest of the files with such names, until there is room for the file @name of
 * @size bytes, which may have been written already and is never removed. Returns how many were
 * removed, or a negative errno.
 */
int snap_keep_make_room(const char *path, const struct snap_limits *limits, const char *name,
			uint64_t size);

#endif /* _TRACEMAP_SNAP_KEEP_H */

/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * write(2), for the library and the command. A file that takes nothing and reports no error
 * would be written to for ever: it fails with -EIO.
 */
#ifndef _TRACEMAP_WRITE_ALL_H
#define _TRACEMAP_WRITE_ALL_H

#include <errno.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

/* Returns how many bytes the file took, 0 if a signal came first, or a negative errno. */
static inline ssize_t write_some(int fd, const void *data, size_t size)
{
	ssize_t n = write(fd, data, size);

	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0)
		return n ? -errno : -EIO;
	return n;
}

/* Returns 0 or a negative errno; then a part may be written. */
static inline int write_all(int fd, const void *data, size_t size)
{
	while (size) {
		ssize_t n = write_some(fd, data, size);

		if (n < 0)
			return n;
		data = (const char *)data + n;
		size -= n;
	}
	return 0;
}

#endif /* _TRACEMAP_WRITE_ALL_H */

/* SPDX-License-Identifier: LGPL-2.1 */
#ifndef _TRACEMAP_TRACE_DAT_SEND_H
#define _TRACEMAP_TRACE_DAT_SEND_H

#include "trace_dat.h"

/**
 * trace_dat_send - hand out all bytes of a file that has no name, in their order
 * @dat: the file, to which nothing is written any more
 * @put: takes the next bytes; returns 0 or a negative errno, which ends it
 * @arg: the first argument of @put
 *
 * Return: 0 or a negative errno
 */
int trace_dat_send(struct trace_dat *dat,
		   int (*put)(void *arg, const void *data, size_t size), void *arg);

/* The same for an existing file. */
int trace_dat_send_file(int fd, uint64_t size,
			int (*put)(void *arg, const void *data, size_t size), void *arg);

#endif /* _TRACEMAP_TRACE_DAT_SEND_H */

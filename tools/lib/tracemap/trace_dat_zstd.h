/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * A trace.dat file, version 7, whose data and head are compressed by zstd.
 * trace-cmd.dat.v7(5) describes the format.
 */
#ifndef _TRACEMAP_TRACE_DAT_ZSTD_H
#define _TRACEMAP_TRACE_DAT_ZSTD_H

#include <errno.h>

#include "trace_dat.h"

/* The numbers of sections and options */
enum {
	SECTION_OPTIONS		= 0,
	SECTION_BUFFER		= 3,
	SECTION_STRINGS		= 15,
	SECTION_COMPRESSED	= 1,	/* a flag */
	OPTION_DONE		= 0,	/* with the place of further options, or 0 */
	OPTION_BUFFER		= 3,
};

#ifdef HAVE_ZSTD
#define TRACE_DAT_HAS_ZSTD	true

/**
 * trace_dat_zstd - write what a file has, compressed
 * @dat: the file, to which nothing is written any more
 * @fd: an empty file to write to
 * @watch: what to call meanwhile, or NULL
 * @size: set to how long it has become
 *
 * Return: 0; -EINTR if @go_on of @watch returned false; or another negative errno
 */
int trace_dat_zstd(const struct trace_dat *dat, int fd, const struct trace_dat_watch *watch,
		   uint64_t *size);
#else
#define TRACE_DAT_HAS_ZSTD	false

static inline int trace_dat_zstd(const struct trace_dat *dat, int fd,
				 const struct trace_dat_watch *watch, uint64_t *size)
{
	(void)dat;
	(void)fd;
	(void)watch;
	(void)size;
	return -EOPNOTSUPP;
}
#endif

#endif /* _TRACEMAP_TRACE_DAT_ZSTD_H */

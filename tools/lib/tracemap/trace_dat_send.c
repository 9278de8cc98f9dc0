// SPDX-License-Identifier: LGPL-2.1
/*
 * Send a trace.dat file, version 6, from its first byte to its last.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include "trace_dat_send.h"

static int send_front(struct trace_dat *dat,
		      int (*put)(void *arg, const void *data, size_t size), void *arg)
{
	struct bytes front = { .error = 0 };
	int ret = trace_dat_own_front(dat, &front) ?: put(arg, front.data, front.size);

	bytes_free(&front);
	return ret;
}

int trace_dat_send(struct trace_dat *dat,
		   int (*put)(void *arg, const void *data, size_t size), void *arg)
{
	int ret = send_front(dat, put, arg);

	for (unsigned int i = 0; i < trace_head_nr_cpus(trace_dat_head(dat)) && !ret; i++)
		ret = trace_dat_send_file(trace_dat_cpu_fd(dat, i), trace_dat_cpu_size(dat, i),
					  put, arg);
	return ret;
}

int trace_dat_send_file(int fd, uint64_t size,
			int (*put)(void *arg, const void *data, size_t size), void *arg)
{
	char buffer[1 << 14];
	int ret = 0;

	for (uint64_t at = 0; at < size && !ret; ) {
		ssize_t n = pread(fd, buffer, sizeof(buffer), at);

		if (n <= 0)
			return n ? -errno : -EIO;
		ret = put(arg, buffer, n);
		at += n;
	}
	return ret;
}

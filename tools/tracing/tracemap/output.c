// SPDX-License-Identifier: GPL-2.0
/*
 * Lines for standard output.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "stop.h"

#define MUCH	(64 * 1024)

void output_begin_line(struct output *out)
{
	out->start = out->line.length;
}

unsigned long long output_size(const struct output *out)
{
	return out->written + out->line.length;
}

int output_end_line(struct output *out)
{
	if (out->line.error)
		return out->line.error;
	return out->line.length < MUCH ? 0 : output_flush(out);
}

/* The first signal asks for an end in order: that is no error yet. */
static int unless_interrupted(void)
{
	return errno == EINTR && stop_signals() < 2 ? 0 : -errno;
}

/* For one who has set O_NONBLOCK on the file we share. */
static int wait_for_room(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, -1) < 0 ? unless_interrupted() : 0;
}

/* Of what a full disk took, a line may be cut: tell how many are whole. */
static int write_some(struct output *out, const char *data, size_t size)
{
	ssize_t n = write(out->fd, data, size);

	if (n >= 0) {
		out->written += n;
		for (const char *end; (end = memchr(data, '\n', n)); ) {
			out->lines++;
			n -= end + 1 - data;
			data = end + 1;
		}
		return 0;
	}
	if (errno == EAGAIN)
		return wait_for_room(out->fd);
	return unless_interrupted();
}

int output_flush(struct output *out)
{
	unsigned long long begin = out->written;
	int ret = out->line.error;

	while (!ret && out->written - begin < out->line.length) {
		size_t at = out->written - begin;

		ret = write_some(out, out->line.text + at, out->line.length - at);
	}
	out->line.length = 0;
	out->start = 0;
	return ret;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Write a whole trace.dat to a pipe.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include "advice.h"
#include "sink.h"
#include "stop.h"
#include "write_all.h"

int sink_check_open(const char *option)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	/* If standard output was closed, main() has opened a file for reading in its place. */
	if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
		return 0;
	say("%sstandard output is not open for writing", option);
	return -EBADF;
}

int sink_failed(int error)
{
	return sink_check_open("") ?: complain(ABOUT_OUTPUT, error, "standard output");
}

int sink_check(void)
{
	int ret = sink_check_open("-o -: ");

	if (ret)
		return ret;
	if (!isatty(STDOUT_FILENO))
		return 0;
	say("-o -: standard output is a terminal, and a trace.dat is no text: add | tracemap report -, or name a file with -o");
	return -EINVAL;
}

int sink_take_stdout(void)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return sink_failed(errno);
	return fd;
}

bool sink_is_gone(int fd)
{
	struct pollfd p = { .fd = fd };

	return poll(&p, 1, 0) > 0;
}

/*
 * Write to a pipe no more than it has room for when poll() reports it as writable, so that
 * write() does not wait.
 */
int sink_put(int fd, const void *from, size_t size, int signals)
{
	const char *data = from;

	while (size) {
		struct pollfd p[] = {
			{ .fd = fd, .events = POLLOUT },
			{ .fd = stop_fd, .events = POLLIN },
		};
		ssize_t n;

		poll(p, 2, -1);
		if (stop_signals() > signals)
			return -EINTR;
		if (p[1].revents)
			stop_clear_fd();
		if (!p[0].revents)
			continue;
		n = write_some(fd, data, size < PIPE_BUF ? size : PIPE_BUF);
		if (n == -EAGAIN)
			continue;
		if (n < 0)
			return n;
		data += n;
		size -= n;
	}
	return 0;
}

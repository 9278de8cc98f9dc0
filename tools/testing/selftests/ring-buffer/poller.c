// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "poller.h"

int poll_readable(int fd, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int ret = poll(&pfd, 1, ms);

	return ret < 0 ? -errno : ret && (pfd.revents & POLLIN);
}

static int select_readable(int fd, int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };
	fd_set set;
	int ret;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	ret = select(fd + 1, &set, NULL, NULL, &tv);
	return ret < 0 ? -errno : ret;
}

static int epoll_readable(int fd, int ms)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(0), ret;

	if (ep < 0)
		return -errno;
	ret = epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event);
	if (!ret)
		ret = epoll_wait(ep, &event, 1, ms);
	ret = ret < 0 ? -errno : ret;
	close(ep);
	return ret;
}

/* IOCB_CMD_POLL takes one wait queue only, and asks no more once it is woken. */
static int aio_readable(int fd, int ms)
{
	struct timespec timeout = { ms / 1000, ms % 1000 * 1000000 };
	struct iocb cb = {
		.aio_lio_opcode = IOCB_CMD_POLL,
		.aio_fildes = fd,
		.aio_buf = POLLIN,
	};
	struct iocb *cbs[] = { &cb };
	struct io_event event;
	aio_context_t ctx = 0;
	int ret;

	if (syscall(SYS_io_setup, 1, &ctx))
		return -errno;
	ret = syscall(SYS_io_submit, ctx, 1, cbs);
	if (ret == 1)
		ret = syscall(SYS_io_getevents, ctx, 1, 1, &event, &timeout);
	ret = ret < 0 ? -errno : ret;
	syscall(SYS_io_destroy, ctx);
	return ret;
}

const struct poller pollers[NR_POLLERS] = {
	{ "poll", poll_readable },
	{ "select", select_readable },
	{ "epoll", epoll_readable },
	{ "aio", aio_readable },
};

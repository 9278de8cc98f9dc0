// SPDX-License-Identifier: GPL-2.0
/*
 * Read until something ends it.
 */
#include <errno.h>
#include <limits.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "advice.h"
#include "clock.h"
#include "loop.h"
#include "read_file.h"
#include "stop.h"

#define NS_PER_MS	1000000

/* ---- CPUs ---- */

static char *read_online(void)
{
	return read_file_whole(AT_FDCWD, "/sys/devices/system/cpu/online", NULL);
}

/* The kernel sends nothing to the network namespace of a container. */
static int open_told(void)
{
	struct sockaddr_nl events = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&events, sizeof(events))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Has the kernel reported a CPU, or more than there was room for? */
static bool was_told(int fd)
{
	char text[256];
	bool told = false;
	ssize_t n;

	while (fd >= 0 && ((n = recv(fd, text, sizeof(text) - 1, 0)) >= 0 || errno == ENOBUFS)) {
		text[n > 0 ? n : 0] = '\0';
		told |= n < 0 || strstr(text, "@/devices/system/cpu/cpu");
	}
	return told;
}

void online_begin(struct online *online)
{
	online->told = open_told();
	online->cpus = read_online();
}

bool online_changed(struct online *online)
{
	char *before = online->cpus;
	bool changed;

	if (!was_told(online->told) && now_ns() < online->look)
		return false;
	online->look = now_ns() + LOOP_CPUS_MS * NS_PER_MS;
	online->cpus = read_online();
	changed = before && online->cpus && strcmp(online->cpus, before);
	if (online->cpus)
		free(before);
	else
		online->cpus = before;
	return changed;
}

void online_end(struct online *online)
{
	free(online->cpus);
	online->cpus = NULL;
	if (online->told >= 0)
		close(online->told);
	online->told = -1;
}

/* ---- The loop ---- */

void loop_begin(struct loop *loop)
{
	online_begin(&loop->online);
}

int loop_start(struct loop *loop, double seconds, const char *command)
{
	if (seconds)
		loop->deadline = now_ns() + (uint64_t)(seconds * 1e9);
	return child_start(&loop->child, command);
}

/* A CPU that was never online has no buffer; now it may have one. */
static bool add_cpus(struct tracemap *t, const struct loop_verb *verb, void *arg)
{
	int ret = tracemap_rescan(t);
	/* Read those that could be opened, even if others could not. */
	int added = verb->add_cpus(arg);

	if (ret >= 0)
		ret = added;
	if (ret < 0)
		complain(ABOUT_BUFFER, ret, "a CPU that came online");
	return ret >= 0;
}

/* A signal, the end of the command or of the time ends the loop. */
static bool is_ended(struct loop *loop)
{
	return stop_signals() || (loop->child.pid && child_ended(&loop->child)) ||
	       (loop->deadline && now_ns() >= loop->deadline);
}

static bool is_over(struct loop *loop, const struct loop_verb *verb, void *arg)
{
	return verb->is_over(arg) || is_ended(loop);
}

bool loop_run(struct loop *loop, struct tracemap *t, const struct loop_verb *verb, void *arg)
{
	bool all = true;
	int ret = 0;

	while (ret >= 0 && !is_over(loop, verb, arg)) {
		ret = verb->take(arg);
		if (ret >= 0 && online_changed(&loop->online))
			all &= add_cpus(t, verb, arg);
		if (!ret && !is_over(loop, verb, arg))
			ret = verb->sleep(arg);
	}
	return all;
}

/* The shorter of two times, where a negative one is for ever. */
static int shorter(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* How long to sleep: until the time ends, or the loop looks for CPUs itself. */
static int timeout(const struct loop *loop, int ms)
{
	uint64_t now = now_ns(), left;

	if (loop->online.told < 0)
		ms = shorter(ms, LOOP_CPUS_MS);
	if (!loop->deadline)
		return ms;
	left = now < loop->deadline ? (loop->deadline - now) / NS_PER_MS + 1 : 0;
	return shorter(ms, left < INT_MAX ? (int)left : INT_MAX);
}

int loop_wait(struct loop *loop, struct tracemap *t, struct pollfd *own, unsigned int nr, int ms)
{
	struct pollfd fds[LOOP_FDS + LOOP_OWN_FDS] = {
		{ .fd = stop_fd, .events = POLLIN },
		{ .fd = loop->child.fd, .events = POLLIN },
		/* Only who reads the CPUs looks which there are. */
		{ .fd = t ? loop->online.told : -1, .events = POLLIN },
	};
	int ret;

	if (nr)
		memcpy(fds + LOOP_FDS, own, nr * sizeof(*own));
	ms = timeout(loop, ms);
	if (t)
		ret = tracemap_wait_with(t, fds, LOOP_FDS + nr, ms);
	else
		ret = poll(fds, LOOP_FDS + nr, ms) < 0 ? -errno : 0;
	if (ret == -EINTR || (ret >= 0 && fds[0].revents))
		stop_clear_fd();
	for (unsigned int i = 0; i < nr; i++)
		own[i].revents = ret < 0 ? 0 : fds[LOOP_FDS + i].revents;
	return ret == -EINTR ? 0 : ret;
}

void loop_wait_for_child(struct loop *loop)
{
	while (loop->child.pid && !is_ended(loop))
		loop_wait(loop, NULL, NULL, 0, -1);
}

void loop_end(struct loop *loop)
{
	child_stop(&loop->child);
	online_end(&loop->online);
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The system calls that tell whether a file is readable.
 */
#ifndef SELFTEST_RING_BUFFER_POLLER_H
#define SELFTEST_RING_BUFFER_POLLER_H

struct poller {
	char name[8];
	/* 1: readable, 0: not within @ms, or a negative errno. */
	int (*readable)(int fd, int ms);
};

#define NR_POLLERS	4

extern const struct poller pollers[NR_POLLERS];

int poll_readable(int fd, int ms);

#endif /* SELFTEST_RING_BUFFER_POLLER_H */

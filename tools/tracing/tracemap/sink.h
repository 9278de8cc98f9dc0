/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pipe, a socket or a device that a whole trace.dat is written to. Its reader may take
 * nothing for ever; a signal ends the wait for it.
 */
#ifndef _TRACEMAP_SINK_H
#define _TRACEMAP_SINK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether standard output is open for writing; @option begins the message if not. A caller that
 * consumes events asks first, as no other reader gets them afterwards. Returns 0, or -EBADF and a
 * message.
 */
int sink_check_open(const char *option);

/* Say that writing to standard output failed. Returns a negative errno. */
int sink_failed(int error);

/*
 * Whether standard output can take a file in this format. Returns 0, or a negative errno that
 * was reported.
 */
int sink_check(void);

/*
 * Keep standard output for the file alone: anything else that is written to it, even by the
 * command behind "--", goes to standard error. Returns its descriptor, or a negative errno
 * that was reported.
 */
int sink_take_stdout(void);

/* Whether the program that reads the pipe has ended */
bool sink_is_gone(int fd);

/*
 * Write all of @data. Returns 0; -EINTR if more than @signals signals have come; -EPIPE if its
 * reader is gone; or another negative errno.
 */
int sink_put(int fd, const void *data, size_t size, int signals);

#endif /* _TRACEMAP_SINK_H */

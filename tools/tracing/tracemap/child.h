/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command behind "--". It is forked early and waits until tracing is on,
 * so that nothing of it is missed.
 */
#ifndef _TRACEMAP_CHILD_H
#define _TRACEMAP_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;	/* 0: there is none */
	int go;		/* pipe it waits at, -1: it runs */
	int fd;		/* pidfd, readable when it has ended; -1: kernel too old */
	int failed;	/* pipe that brings the errno of a failed exec */
	bool ended;
	bool stopped;	/* child_stop() had to end it */
	int status;	/* as of waitpid() */
};

/* Nothing to close, nobody to stop. */
#define CHILD_NONE	{ .go = -1, .fd = -1, .failed = -1 }

/* @argv: NULL-terminated, or NULL: no child. Call it after stop_on_signals(). */
int child_prepare(struct child *child, char **argv);
int child_start(struct child *child, const char *name);

/* Whether it has ended; never waits. */
bool child_ended(struct child *child);

/* SIGTERM, and SIGKILL after two seconds; does nothing to one that has ended. */
void child_stop(struct child *child);

/* Exit status: its own, 0 if we have ended it, 128 + signal, said, if somebody else has. */
int child_exit_status(const struct child *child, const char *name);

#endif /* _TRACEMAP_CHILD_H */

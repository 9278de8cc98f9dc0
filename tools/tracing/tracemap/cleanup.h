/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A second process, which cleans up behind a command that was killed: it removes the
 * instance that the command has made, and finishes its recording.
 */
#ifndef _TRACEMAP_CLEANUP_H
#define _TRACEMAP_CLEANUP_H

#include <stdbool.h>
#include <sys/types.h>

struct cleanup {
	struct cleanup *next;	/* of those that this command has */
	pid_t pid;
	int fd;			/* a pipe to the process; -1: there is none */
	int top;		/* the folder of tracefs, also if that is unmounted meanwhile */
	const char *top_name;
	const char *folder;	/* the command's own instance, from there; NULL: it has none */
};

/*
 * Fork the process. Call it before the folder is made, which SIGKILL may interrupt. Returns 0
 * or a negative errno.
 */
int cleanup_begin(struct cleanup *c);

/*
 * This recording is to be finished, see trace_dat_restore(). So is the one that was added before,
 * at once: the caller closes it, and finishes only the last one itself.
 */
void cleanup_add_recording(struct cleanup *c, const char *path);

/* Remove this recording, unless there is none, or it is not whole. */
void cleanup_drop_recording(const struct cleanup *c, const char *path);

/* The command has cleaned up: end the process. Returns false if a recording is not whole, said. */
bool cleanup_end(struct cleanup *c);

/*
 * Remove the command's instance. If a process has a file of it open, tracing ends there at once,
 * and removing is tried for 2 seconds. Returns 0, or a negative errno and a message.
 */
int cleanup_remove(const struct cleanup *c);

/* Turn tracing, events and tracer off in an instance. Returns whether tracing is off. */
bool cleanup_stop_tracing(int top, const char *folder);

#endif /* _TRACEMAP_CLEANUP_H */

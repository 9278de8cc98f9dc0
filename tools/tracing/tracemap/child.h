/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command behind "--". Its process is forked early and waits until tracing is on, so
 * that the trace has everything it does.
 */
#ifndef _TRACEMAP_CHILD_H
#define _TRACEMAP_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;	/* 0: there is no command */
	int go;		/* the pipe on which it waits to be started; -1: it runs */
	int fd;		/* a pidfd, readable when it has ended; -1: the kernel is too old */
	int failed;	/* a pipe, by which it sends the errno of a failed exec */
	int refused;	/* the negative errno by which child_check() has refused the command */
	bool ended;
	bool stopped;	/* child_stop() has ended it */
	int status;	/* as waitpid() returns it */
};

/* There is no command, and nothing to close. */
#define CHILD_NONE	{ .go = -1, .fd = -1, .failed = -1 }

/*
 * Whether the command @argv can be executed, as far as its file says that. Returns 0, or a
 * negative errno that was reported.
 */
int child_check(struct child *child, char **argv);

/*
 * Fork the process of the command @argv, which ends with NULL; a NULL @argv is for no
 * command. Call it after stop_on_signals().
 */
int child_prepare(struct child *child, char **argv);

/*
 * Start the command. Returns 0, or a negative errno that was reported: -EINTR if a signal
 * that asks to stop has come before. Then it was not started, and child_not_started()
 * returns the exit status.
 */
int child_start(struct child *child, const char *name);
int child_not_started(int error);

/* Returns the exit status where nothing was begun: of child_check(), or EXIT_FAILED. */
int child_not_begun(const struct child *child);

/* Returns whether the command has ended, without waiting. */
bool child_ended(struct child *child);

/*
 * End the command, if it still runs: send SIGTERM, and SIGKILL after two seconds or at
 * another signal, with a message. The command is in the process group of the caller, so that
 * a terminal's Ctrl-C and Ctrl-Z reach the processes that it has started, and these can read
 * the terminal. Therefore the signals go only to the command itself.
 */
void child_stop(struct child *child);

/*
 * Returns the exit status: that of the command; 0 if child_stop() has ended it; 128 +
 * signal, and a message, if another signal has ended it.
 */
int child_exit_status(const struct child *child, const char *name);

#endif /* _TRACEMAP_CHILD_H */

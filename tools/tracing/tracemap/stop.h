/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Signals that ask the program to stop (INT, TERM, HUP, QUIT) are counted, interrupt system
 * calls and make stop_fd readable. SIGCHLD does the same, but is not counted. SIGPIPE is
 * ignored, so that write() returns EPIPE. SIGHUP stays ignored if it was ignored before.
 */
#ifndef _TRACEMAP_STOP_H
#define _TRACEMAP_STOP_H

/* How long after the first signal to go on printing what was read by then */
#define STOP_PATIENCE_MS	3000

extern int stop_fd;		/* a non-blocking eventfd */

int stop_on_signals(void);	/* begin; returns 0, or a negative errno and a message */
int stop_signals(void);		/* how many signals were counted */
unsigned int stop_ms(void);	/* milliseconds since the first signal; 0: none came */
int stop_last_signal(void);	/* the last signal; 0: none came */
void stop_forget(void);		/* the signals that came until now were not for the program */
void stop_clear_fd(void);	/* make stop_fd unreadable again */

/*
 * Wait until @fd, which may be -1, is readable, or a signal has come since stop_fd was
 * last cleared, or @ms milliseconds have passed; -1: no limit. A signal that comes right before
 * the call ends it, too, unlike nanosleep() and the like. Returns what poll() returns, or a
 * negative errno, and clears stop_fd.
 */
int stop_wait(int fd, int ms);

void stop_reset(void);		/* restore all signals, for a child before its exec */

#endif /* _TRACEMAP_STOP_H */

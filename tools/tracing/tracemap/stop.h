/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Signals that ask to stop (INT, TERM, HUP, QUIT) are counted and make stop_fd
 * readable; so does SIGCHLD, without being counted. SIGPIPE is ignored: write()
 * says EPIPE. They interrupt system calls. A SIGHUP that was ignored stays so.
 */
#ifndef _TRACEMAP_STOP_H
#define _TRACEMAP_STOP_H

extern int stop_fd;		/* eventfd, non-blocking */

int stop_on_signals(void);	/* 0 or a negative errno, said */
int stop_signals(void);		/* how many came so far */
int stop_last_signal(void);	/* which was the last, 0: none */
void stop_clear_fd(void);	/* make stop_fd unreadable again */
void stop_reset(void);		/* as before, for a child, before exec */

#endif /* _TRACEMAP_STOP_H */

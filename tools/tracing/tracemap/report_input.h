/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace.dat that comes by standard input. libtracecmd goes to and fro in it: what comes by
 * a pipe is kept in a file without a name.
 */
#ifndef _TRACEMAP_REPORT_INPUT_H
#define _TRACEMAP_REPORT_INPUT_H

#include <stdbool.h>

/*
 * Whether standard input is to be read where no file is named: it is a pipe, or a trace.dat. A
 * terminal, a socket or another file that a loop of the shell reads is not.
 */
bool report_input_is_meant(void);

/*
 * Read standard input to its end. Returns a descriptor of what came, or of standard input, if
 * it is a file; or a negative errno that the user was told: -EINVAL if it is a terminal.
 *
 * Ctrl-C goes to all programs of a pipeline: the first one ends the recording, and what that
 * has recorded still comes.
 */
int report_input(void);

#endif /* _TRACEMAP_REPORT_INPUT_H */

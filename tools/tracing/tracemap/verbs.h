/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verbs of the tracemap command: each has a file with a function
 * cmd_NAME().
 */
#ifndef _TRACEMAP_VERBS_H
#define _TRACEMAP_VERBS_H

#include "version.h"

/* The exit status of the command, if it is not that of a child it ran. */
enum {
	EXIT_OK		= 0,
	EXIT_FAILED	= 1,
	EXIT_USAGE	= 2,
	EXIT_DAMAGED	= 2,	/* of report: what reads the file cannot go on */
	EXIT_LOST	= 3,	/* --strict, and events were lost */
	EXIT_NOT_EXECUTED = 126,	/* the command behind -- */
	EXIT_NO_COMMAND	= 127,
};

/* What stands beside the verb report where libtracecmd does not exist */
#define NO_REPORT "not in this build, which lacks libtracecmd: use trace-cmd report"

/* Each parses its own options, which are behind argv[0], and returns an exit status. */
int cmd_stream(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);	/* where libtracecmd exists */
int cmd_snap(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_info(int argc, char **argv);

#endif /* _TRACEMAP_VERBS_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tracemap command: a verb is a file with a cmd_NAME().
 */
#ifndef _TRACEMAP_VERBS_H
#define _TRACEMAP_VERBS_H

#define TRACEMAP_VERSION	"0.2.0"

/* What the command answers, beside the exit status of a child it ran. */
enum {
	EXIT_OK		= 0,
	EXIT_FAILED	= 1,
	EXIT_USAGE	= 2,
	EXIT_LOST	= 3,	/* --strict, and events were lost */
	EXIT_NOT_EXECUTED = 126,	/* the command behind -- */
	EXIT_NO_COMMAND	= 127,
};

/* Each parses its own options, argv[0] is the verb; returns an exit status. */
int cmd_stream(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_info(int argc, char **argv);

#endif /* _TRACEMAP_VERBS_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What to trace: the options that stream, record, top and snap share.
 *
 * What is selected is traced in an instance of the command's own. An instance that was there is
 * only read, so -i goes with -C alone.
 */
#ifndef _TRACEMAP_SELECTION_H
#define _TRACEMAP_SELECTION_H

#include <stdbool.h>

#include "child.h"
#include "events.h"
#include "follow.h"
#include "options.h"
#include "session.h"

extern const struct verb_option selection_options[];	/* of struct selection */
extern const struct verb_option selection_child_options[];	/* of a verb that takes a command */

struct selection_event {
	char *name;
	const char *filter;	/* NULL: there is none */
	struct events found;	/* by selection_open() */
};

struct selection {
	const char *instance;
	const char *tracer;
	const char *clock;
	struct selection_event *events;
	unsigned int nr_events;
	const char **functions;
	unsigned int nr_functions;
	struct follow follow;
	int *cpus;		/* for struct tracemap_options */
	unsigned int nr_cpus;	/* 0: all CPUs */
	unsigned long long buffer_size;		/* of each CPU, */
	unsigned long long buffer_total;	/* or of all; 0: the option was not given */
	unsigned long long subbuf;	/* bytes of a sub-buffer; 0: the option was not given */
	enum tracemap_way way;	/* that the caller opens the buffers by */
	bool large_subbufs;	/* then make them large */
	bool records;		/* for session_open() */
	bool child_only;
};

/*
 * Take what is behind -e, -f, -C or --subbuf into a struct selection. Returns 0, or a
 * negative errno and a message.
 */
int selection_event(void *to, const char *name);
int selection_filter(void *to, const char *filter);
int selection_cpus(void *sel, const char *list);
int selection_subbuf(void *to, const char *size);

/* Whether the selection has neither events nor a tracer. */
bool selection_is_empty(const struct selection *sel);

/*
 * Set @command to the command behind "--", which begins at @optind of @argv, or to NULL.
 * Returns 0, or -EINVAL and a message if there are other arguments, if --child-only has
 * no command, or if an option does not go with -i.
 */
int selection_command(const struct selection *sel, int argc, char **argv, char ***command);

/*
 * Open a session. Set up the buffers, clock, filters, tracer and events of its instance, with
 * tracing off, if that is its own. Signals are counted afterwards. Fork the process of
 * @command, if there is one, which waits for child_start(). With --child-only only this process
 * and those that it forks are traced. TRACEMAP_INSTANCE in its environment is the folder
 * where it can write marks. Returns 0, or a negative errno and a message; if child->refused is
 * set, it is the command that cannot be executed.
 */
int selection_open(const struct selection *sel, struct session **session, struct child *child,
		   char **command);

void selection_free(struct selection *sel);

#endif /* _TRACEMAP_SELECTION_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What to trace: the options that stream, record, top and snap share.
 *
 *	-e, --event EVENT			-f, --filter EXPR
 *	-p, --tracer NAME			-l, --function GLOB
 *	-C, --cpus LIST				-i, --instance NAME
 *	-b, --buffer SIZE			--clock NAME
 *	-F, --child-only, where there is a command
 *
 * What is selected is traced in an instance of the command's own. An instance that was there is
 * only read, so -i goes with -C alone.
 *
 * A verb begins its struct option array with SELECTION_OPTIONS, has SELECTION_SHORT in its short
 * options, and passes what getopt_long() returns to selection_option() first. One that takes a
 * command adds the same of SELECTION_CHILD.
 */
#ifndef _TRACEMAP_SELECTION_H
#define _TRACEMAP_SELECTION_H

#include <getopt.h>
#include <stdbool.h>

#include "child.h"
#include "events.h"
#include "session.h"

#define SELECTION_SHORT		"e:f:p:l:C:i:b:"
#define SELECTION_OPTIONS						\
	[0] = { "event", required_argument, NULL, 'e' },		\
	{ "filter", required_argument, NULL, 'f' },			\
	{ "tracer", required_argument, NULL, 'p' },			\
	{ "function", required_argument, NULL, 'l' },			\
	{ "cpus", required_argument, NULL, 'C' },			\
	{ "instance", required_argument, NULL, 'i' },			\
	{ "buffer", required_argument, NULL, 'b' },			\
	{ "clock", required_argument, NULL, SELECTION_CLOCK }

#define SELECTION_CHILD_SHORT	"F"
#define SELECTION_CHILD_OPTIONS						\
	{ "child-only", no_argument, NULL, 'F' }

#define SELECTION_CHILD_HELP						\
	"  -F, --child-only      only the command behind -- and its children\n"

#define SELECTION_HELP							\
	"What to trace:\n"						\
	"  -e, --event EVENT     SYSTEM:EVENT, SYSTEM or EVENT, or a glob; repeat for more\n" \
	"  -f, --filter EXPR     of the preceding -e, only such events: e.g. 'prev_prio < 100'\n" \
	"  -p, --tracer NAME     a tracer, e.g. function\n"		\
	"  -l, --function GLOB   only these functions, with -p function; repeat for more\n" \
	"  -C, --cpus LIST       these CPUs, e.g. 0,2-3 (default: all)\n" \
	"  -i, --instance NAME   what this instance traces, / for the top level: it is only\n" \
	"                        read, so of these options -C alone goes with it\n" \
	"  -b, --buffer SIZE     the size of each CPU's buffer, e.g. 512k, 8M\n" \
	"      --clock NAME      the clock of the time stamps, see trace_clock\n"

enum {
	SELECTION_CLOCK = 0x100,	/* a verb's own long options have values from 0x200 on */
};

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
	int *cpus;		/* for struct tracemap_options */
	unsigned int nr_cpus;	/* 0: all CPUs */
	unsigned long long buffer_size;
	unsigned long long subbuf;	/* bytes of a sub-buffer; 0: the option was not given */
	enum tracemap_way way;	/* that the caller opens the buffers by */
	bool large_subbufs;	/* then make them large */
	bool records;		/* for session_open() */
	bool child_only;
};

/* Returns 1 if the option is one of these, 0 if not, -EINVAL and a message if it is wrong. */
int selection_option(struct selection *sel, int option, const char *arg);

/* Take the argument of --subbuf. Returns 0, or -EINVAL and a message. */
int selection_subbuf(struct selection *sel, const char *arg);

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

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What to trace: the options that stream and record share.
 *
 *	-e, --event SYSTEM:EVENT|SYSTEM|GLOB	-f, --filter EXPR
 *	-p, --tracer NAME			-l, --function GLOB
 *	-C, --cpus LIST				-i, --instance NAME
 *	-b, --buffer SIZE			--clock NAME
 *	-F, --child-only
 *
 * SELECTION_OPTIONS begins a struct option array, SELECTION_SHORT goes into the
 * short options, and what getopt_long() returns to selection_option() first.
 */
#ifndef _TRACEMAP_SELECTION_H
#define _TRACEMAP_SELECTION_H

#include <getopt.h>
#include <stdbool.h>

#include "child.h"
#include "session.h"

#define SELECTION_SHORT		"e:f:p:l:C:i:b:F"
#define SELECTION_OPTIONS						\
	[0] = { "event", required_argument, NULL, 'e' },		\
	{ "filter", required_argument, NULL, 'f' },			\
	{ "tracer", required_argument, NULL, 'p' },			\
	{ "function", required_argument, NULL, 'l' },			\
	{ "cpus", required_argument, NULL, 'C' },			\
	{ "instance", required_argument, NULL, 'i' },			\
	{ "buffer", required_argument, NULL, 'b' },			\
	{ "child-only", no_argument, NULL, 'F' },			\
	{ "clock", required_argument, NULL, SELECTION_CLOCK }

#define SELECTION_HELP							\
	"What to trace:\n"						\
	"  -e, --event EVENT     SYSTEM:EVENT, SYSTEM, or a glob of either; repeat for more\n" \
	"  -f, --filter EXPR     only such events of the -e before, e.g. 'prev_prio < 100'\n" \
	"  -p, --tracer NAME     a tracer, e.g. function\n"		\
	"  -l, --function GLOB   only these functions, with -p function; repeat for more\n" \
	"  -C, --cpus LIST       these CPUs, e.g. 0,2-3 (default: all)\n" \
	"  -F, --child-only      only the command behind -- and its children\n" \
	"  -i, --instance NAME   in this instance, / for the top level, and put back\n" \
	"                        what is changed (default: one of its own)\n" \
	"  -b, --buffer SIZE     bytes of buffer for each CPU, k, M, G understood\n" \
	"      --clock NAME      the clock of the time stamps, see trace_clock\n"

enum {
	SELECTION_CLOCK = 0x100,	/* values of long options of one's own: from 0x200 */
};

struct selection_event {
	const char *name;
	const char *filter;	/* NULL: none */
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
	unsigned int nr_cpus;	/* 0: all */
	unsigned long long buffer_size;
	unsigned long long subbuf;	/* bytes, 0: as it is */
	bool large_subbufs;	/* rather than as it is, in an instance of one's own */
	bool child_only;
};

/* Returns 1 if the option is one of these, 0 if not, -EINVAL if it is wrong (said). */
int selection_option(struct selection *sel, int option, const char *arg);

/* Whether the selection asks for events or a tracer. */
bool selection_is_empty(const struct selection *sel);

/*
 * What is left of @argv behind the options, from @optind on: a command behind "--", or
 * nothing. 0 or -EINVAL, said.
 */
int selection_command(const struct selection *sel, int argc, char **argv, char ***command);

/*
 * Open a session, and set its instance up: buffers, clock, filters, tracer, events. Signals
 * are counted and tracing is off then. Fork @command, if there is one, to wait for
 * child_start(): with --child-only it and what it forks are all that is traced. It finds
 * where to write marks of its own. 0 or a negative errno, said.
 */
int selection_open(const struct selection *sel, struct session **session, struct child *child,
		   char **command);

/* Trace. An instance of somebody else's stays as it is, unless it shall have more. */
int selection_switch_on(const struct selection *sel, struct session *session);

void selection_free(struct selection *sel);

#endif /* _TRACEMAP_SELECTION_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What to trace: the options that stream, record and top share.
 *
 *	-e, --event EVENT			-f, --filter EXPR
 *	-p, --tracer NAME			-l, --function GLOB
 *	-C, --cpus LIST				-i, --instance NAME
 *	-b, --buffer SIZE			--clock NAME
 *	-F, --child-only
 *
 * A verb begins its struct option array with SELECTION_OPTIONS, has SELECTION_SHORT in its short
 * options, and passes what getopt_long() returns to selection_option() first.
 */
#ifndef _TRACEMAP_SELECTION_H
#define _TRACEMAP_SELECTION_H

#include <getopt.h>
#include <stdbool.h>

#include "child.h"
#include "events.h"
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
	"  -e, --event EVENT     SYSTEM:EVENT, SYSTEM or EVENT, or a glob; repeat for more\n" \
	"  -f, --filter EXPR     of the preceding -e, only such events: e.g. 'prev_prio < 100'\n" \
	"  -p, --tracer NAME     a tracer, e.g. function\n"		\
	"  -l, --function GLOB   only these functions, with -p function; repeat for more\n" \
	"  -C, --cpus LIST       these CPUs, e.g. 0,2-3 (default: all)\n" \
	"  -F, --child-only      only the command behind -- and its children\n" \
	"  -i, --instance NAME   in this instance, / for the top level, and restore\n" \
	"                        its settings (default: one of its own)\n" \
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
	bool large_subbufs;	/* then make them large in an instance made for the session */
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
 * Returns 0, or -EINVAL and a message if there are other arguments, or if --child-only has
 * no command.
 */
int selection_command(const struct selection *sel, int argc, char **argv, char ***command);

/* Whether the instance @dir has the CPUs. Returns 0, or -ENOENT and a message. */
int selection_check_cpus(const struct selection *sel, const char *dir);

/*
 * Open a session, and set up the buffers, clock, filters, tracer and events of its
 * instance. Signals are counted afterwards, and tracing is off. Fork the process of
 * @command, if there is one, which waits for child_start(). With --child-only only this process
 * and those that it forks are traced. TRACEMAP_INSTANCE in its environment is the folder
 * where it can write marks. Returns 0, or a negative errno and a message; if child->refused is
 * set, it is the command that cannot be executed. What is refused by its name leaves an existing
 * instance untouched.
 */
int selection_open(const struct selection *sel, struct session **session, struct child *child,
		   char **command);

/*
 * Keep out of a tracer of functions that runs in the instance of @session, which is only to be
 * read. Nothing else is changed there. If it cannot be done, that is said.
 */
void selection_hide(struct session *session);

/* Switch tracing on; with an empty selection, an existing instance stays as it is. */
int selection_switch_on(const struct selection *sel, struct session *session);

/*
 * Switch off what selection_switch_on() has switched on, before what is left is read: events
 * that come later would stay in the buffers of an existing instance.
 */
int selection_switch_off(const struct selection *sel, struct session *session);

void selection_free(struct selection *sel);

#endif /* _TRACEMAP_SELECTION_H */

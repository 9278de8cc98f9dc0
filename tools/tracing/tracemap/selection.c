// SPDX-License-Identifier: GPL-2.0
/*
 * What to trace: parse the options, and set up an instance by them.
 */
#include <ctype.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "advice.h"
#include "events.h"
#include "selection.h"
#include "stop.h"
#include "text_file.h"
#include "values.h"

#define SUBBUF_KB	"64"
#define SUBBUF_PAGES	128		/* a sub-buffer has no more on any kernel, */
#define SUBBUF_KB_MAX	1024		/* and is no larger on some */
#define LARGE_ENOUGH	(1024 * 1024)	/* bytes of a buffer, for sub-buffers of SUBBUF_KB */

/* ---- Options ---- */

static int no_memory(void)
{
	say("not enough memory");
	return -ENOMEM;
}

static int add_event(struct selection *sel, const char *name)
{
	struct selection_event *events;
	char *dot;

	/* A comma within brackets belongs to a pattern. */
	if (strchr(name, ',') && !strchr(name, '['))
		return value_wrong("-e", name,
				   "no event has a comma in its name: repeat -e for each event");
	events = realloc(sel->events, (sel->nr_events + 1) * sizeof(*events));
	if (!events)
		return no_memory();
	sel->events = events;
	events += sel->nr_events;
	*events = (struct selection_event){ .name = strdup(name) };
	if (!events->name)
		return no_memory();
	sel->nr_events++;
	/* No name has a dot: it separates the system, as a colon does. */
	dot = strchr(name, ':') ? NULL : strchr(events->name, '.');
	if (dot)
		*dot = ':';
	return 1;
}

static int add_filter(struct selection *sel, const char *filter)
{
	struct selection_event *event = sel->nr_events ? &sel->events[sel->nr_events - 1] : NULL;

	if (!*filter)
		return value_wrong("-f", "''",
				   "an expression is needed, such as 'prev_prio < 100'; without -f all events of the -e are meant");
	if (!event) {
		say("-f '%s' belongs behind an -e: it is the filter of that event", filter);
		return -EINVAL;
	}
	if (event->filter) {
		say("-f '%s': an event takes one filter, and -e %s has one: join them by &&, as in -f '(%s) && (%s)'",
		    filter, event->name, event->filter, filter);
		return -EINVAL;
	}
	event->filter = filter;
	return 1;
}

static int add_function(struct selection *sel, const char *function)
{
	const char **functions;

	functions = realloc(sel->functions, (sel->nr_functions + 1) * sizeof(*functions));
	if (!functions)
		return no_memory();
	sel->functions = functions;
	sel->functions[sel->nr_functions++] = function;
	return 1;
}

static int add_cpu(struct selection *sel, unsigned long number)
{
	int *cpus;

	for (unsigned int i = 0; i < sel->nr_cpus; i++) {
		if (sel->cpus[i] == (int)number)
			return 1;
	}
	cpus = realloc(sel->cpus, (sel->nr_cpus + 1) * sizeof(*cpus));
	if (!cpus)
		return no_memory();
	sel->cpus = cpus;
	sel->cpus[sel->nr_cpus++] = number;
	return 1;
}

#define CPU_LIMIT	65536

/* "0,2-3" */
static int add_cpus(struct selection *sel, const char *list)
{
	const char *at = list;
	int ret = 1;

	do {
		unsigned long from, to;
		char *end;

		if (!isdigit((unsigned char)*at))
			goto wrong;
		from = strtoul(at, &end, 10);
		to = from;
		if (*end == '-') {
			at = end + 1;
			if (!isdigit((unsigned char)*at))
				goto wrong;
			to = strtoul(at, &end, 10);
		}
		if (from > to || to >= CPU_LIMIT)
			goto wrong;
		while (from <= to && ret > 0)
			ret = add_cpu(sel, from++);
		at = end + 1;
		if (!*end)
			return ret;
		if (*end != ',')
			goto wrong;
	} while (ret > 0);
	return ret;
wrong:
	return value_wrong("-C", list,
			   "a list of CPUs is needed: numbers or ranges with commas between them, such as 0 or 0,2-3");
}

int selection_option(struct selection *sel, int option, const char *arg)
{
	switch (option) {
	case 'e':
		return add_event(sel, arg);
	case 'f':
		return add_filter(sel, arg);
	case 'p':
		sel->tracer = arg;
		return 1;
	case 'l':
		return add_function(sel, arg);
	case 'C':
		return add_cpus(sel, arg);
	case 'i':
		sel->instance = arg;
		return value_instance(arg) ? -EINVAL : 1;
	case 'b':
		return value_size("-b", arg, &sel->buffer_size) ? -EINVAL : 1;
	case 'F':
		sel->child_only = true;
		return 1;
	case SELECTION_CLOCK:
		sel->clock = arg;
		return 1;
	}
	return 0;
}

int selection_subbuf(struct selection *sel, const char *arg)
{
	unsigned long long most = SUBBUF_PAGES * (sysconf(_SC_PAGESIZE) / 1024);
	char why[128];

	if (value_size("--subbuf", arg, &sel->subbuf))
		return -EINVAL;
	if (most > SUBBUF_KB_MAX)
		most = SUBBUF_KB_MAX;
	if (sel->subbuf <= most * 1024)
		return 0;
	snprintf(why, sizeof(why), "a sub-buffer has %lluk at most on this machine", most);
	return value_wrong("--subbuf", arg, why);
}

bool selection_is_empty(const struct selection *sel)
{
	return !sel->nr_events && !sel->tracer;
}

/* As in "-e A -e B -f EXPR", where the filter may be meant for A as well. */
static void say_filtered(const struct selection *sel)
{
	for (unsigned int i = 1; i < sel->nr_events; i++) {
		const struct selection_event *before = &sel->events[i - 1], *event = before + 1;

		if (event->filter && !before->filter)
			say("-f '%s' is the filter of -e %s alone: -e %s has none", event->filter,
			    event->name, before->name);
	}
}

int selection_command(const struct selection *sel, int argc, char **argv, char ***command)
{
	*command = NULL;
	if (optind < argc && strcmp(argv[optind - 1], "--")) {
		say("\"%s\" is no option; a command goes behind --", argv[optind]);
		return -EINVAL;
	}
	if (optind < argc)
		*command = argv + optind;
	if (sel->nr_functions && !sel->tracer) {
		say("-l goes with a tracer of functions: -p function");
		return -EINVAL;
	}
	if (sel->child_only && !*command) {
		say("--child-only: there is no command behind --");
		return -EINVAL;
	}
	say_filtered(sel);
	return 0;
}

void selection_free(struct selection *sel)
{
	for (unsigned int i = 0; i < sel->nr_events; i++) {
		events_free(&sel->events[i].found);
		free(sel->events[i].name);
	}
	free(sel->events);
	free(sel->functions);
	free(sel->cpus);
}

/* ---- Setting up ---- */

/*
 * An existing instance may have other users, who lose events while tracing is off, and all that
 * the buffers hold when the clock, the tracer or the size of a sub-buffer is changed. So a
 * command that is refused must not have changed these:
 *
 *	1. check what can be known by reading only
 *	2. write what only the kernel can judge: filters. If it refuses one, an event that is on
 *	   has none for about a millisecond
 *	3. switch tracing off, and set the rest, first what may still be refused
 */

/* ---- 1. Checks, which change nothing ---- */

/* What an existing instance traces already: nothing is changed there, but see selection_hide(). */
static bool only_reads(const struct selection *sel, const struct session *session)
{
	return !session_is_own(session) && selection_is_empty(sel);
}

/* Memory that can be had without swapping, in KiB; 0 if it is not known. */
static unsigned long long available_kib(void)
{
	static const char name[] = "MemAvailable:";
	char text[1024];
	const char *at;

	if (text_file_read("/proc", "meminfo", text, sizeof(text)) < 0)
		return 0;
	at = strstr(text, name);
	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/*
 * The kernel would take the memory of one CPU after the other, and refuse when there is no more:
 * other programs would lack it meanwhile. So this is refused before anything is changed.
 */
static int check_buffer_size(const struct selection *sel, struct session *session)
{
	unsigned long long kib = (sel->buffer_size + 1023) / 1024, there = available_kib();
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	char *now;

	if (!sel->buffer_size || !there || cpus < 1)
		return 0;
	now = session_get(session, "buffer_size_kb");
	there = there / cpus + (now ? text_file_buffer_kib(now) : 0);
	free(now);
	if (kib <= there)
		return 0;
	say("-b: %llu MiB for each of %ld CPUs are more than there is memory for: ask for %lluM at most; nothing was changed",
	    kib >> 10, cpus, there >> 10);
	return -ENOMEM;
}

static int claim(const struct selection *sel, struct session *session)
{
	return only_reads(sel, session) ? 0 : session_claim(session);
}

static void subbuf_kb(const struct selection *sel, char *text, size_t size)
{
	snprintf(text, size, "%llu", (sel->subbuf + 1023) / 1024);
}

/* The CPUs' buffers may have different sizes, which could not be restored. */
static int check_sizes(const struct selection *sel, struct session *session)
{
	char kb[32], *now;
	int ret = 0;

	if (sel->subbuf && !session_has(session, "buffer_subbuf_size_kb")) {
		subbuf_kb(sel, kb, sizeof(kb));
		return complain(ABOUT_SETTING, ENOENT, "--subbuf %sk", kb);
	}
	if (session_is_own(session) || (!sel->subbuf && !sel->buffer_size))
		return 0;
	now = session_get(session, "buffer_size_kb");
	if (now && !strcmp(now, "X"))
		ret = complain(ABOUT_SETTING, ENOTUNIQ, "%s/buffer_size_kb", session_dir(session));
	free(now);
	return ret;
}

int selection_check_cpus(const struct selection *sel, const char *dir)
{
	char path[4096], online[256];

	for (unsigned int i = 0; i < sel->nr_cpus; i++) {
		snprintf(path, sizeof(path), "%s/per_cpu/cpu%d", dir, sel->cpus[i]);
		if (!access(path, F_OK))
			continue;
		if (text_file_read("/sys/devices/system/cpu", "online", online, sizeof(online)) < 0)
			strcpy(online, "listed in /sys/devices/system/cpu/online");
		say("-C: there is no CPU %d here; those online are %s", sel->cpus[i], online);
		return -ENOENT;
	}
	return 0;
}

static int check_cpus(const struct selection *sel, struct session *session)
{
	return selection_check_cpus(sel, session_dir(session));
}

/* A list that cannot be read is no reason: the kernel will judge. */
static int check_clock(const struct selection *sel, struct session *session)
{
	char *clocks;
	int ret = 0;

	if (!sel->clock)
		return 0;
	clocks = session_get(session, "trace_clock");
	if (clocks && !text_file_has_word(clocks, sel->clock)) {
		say("there is no clock \"%s\"; there are: %s", sel->clock, clocks);
		ret = -EINVAL;
	}
	free(clocks);
	return ret;
}

static int check_tracer(const struct selection *sel, struct session *session)
{
	char *here, *known;
	int ret = 0;

	if (!sel->tracer)
		return 0;
	here = session_get(session, "available_tracers");
	known = session_get(session, "../../available_tracers");
	if (here && !text_file_has_word(here, sel->tracer)) {
		ret = -EINVAL;
		if (strcmp(session_name(session), SESSION_TOP) &&
		    text_file_has_word(known, sel->tracer))
			say("the tracer %s works at the top level only, not in an instance: use -i /",
			    sel->tracer);
		else
			say("there is no tracer \"%s\"; there are: %s", sel->tracer, here);
	}
	free(known);
	free(here);
	return ret;
}

static int find_events(const struct selection *sel, struct session *session)
{
	int ret = 0;

	for (unsigned int i = 0; i < sel->nr_events && !ret; i++)
		ret = events_find(&sel->events[i].found, session, sel->events[i].name);
	return ret;
}

/* Opening the buffers takes no event out of them. In an instance of its own it happens later. */
static int check_way(const struct selection *sel, struct session *session)
{
	struct tracemap_options options = tracemap_default_options();
	struct tracemap *t;
	int ret;

	if (sel->way == TRACEMAP_CONSUME || session_is_own(session) || only_reads(sel, session))
		return 0;
	options.way = sel->way;
	options.nr_cpus = sel->nr_cpus;
	options.cpus = sel->cpus;
	ret = tracemap_open(&t, session_dir(session), &options);
	if (ret)
		return complain(ABOUT_BUFFER, ret, "%s", session_dir(session));
	tracemap_close(t);
	return 0;
}

/* ---- 2. What the kernel alone can judge ---- */

static bool runs_functions(struct session *session)
{
	return text_file_runs_functions(session_dir(session));
}

static int add_functions(struct session *session, const char *glob, bool first)
{
	char *line;
	int ret;

	/* Without a newline, the kernel would check the text only when the file is closed. */
	if (asprintf(&line, "%s\n", glob) < 0)
		return -ENOMEM;
	ret = first ? session_try(session, "set_ftrace_filter", line) :
		      session_add(session, "set_ftrace_filter", line);
	free(line);
	return ret;
}

/* Add all of -l to the kernel's list; if @replaces, they are all that it has then. */
static int put_functions(const struct selection *sel, struct session *session, bool replaces)
{
	int ret = 0;

	for (unsigned int i = 0; i < sel->nr_functions && !ret; i++) {
		ret = add_functions(session, sel->functions[i], replaces && !i);
		if (ret == -EINVAL)
			say("no function that can be traced is \"%s\": see available_filter_functions",
			    sel->functions[i]);
		else if (ret)
			complain(ABOUT_SETTING, ret, "set_ftrace_filter");
	}
	return ret;
}

/*
 * The kernel ignores a wrong name that is added to its list; but if the list is emptied before,
 * a tracer that runs traces all functions.
 */
static int try_functions(const struct selection *sel, struct session *session)
{
	/* A tracer of functions that runs would trace these at once. */
	if (session_is_own(session) || runs_functions(session))
		return 0;
	return put_functions(sel, session, false);
}

static int set_filters(const struct selection *sel, struct session *session)
{
	int ret = 0;

	for (unsigned int i = 0; i < sel->nr_events && !ret; i++)
		ret = events_filter(&sel->events[i].found, session, sel->events[i].filter);
	return ret;
}

/* Tracing is switched on again last, when the filters are those that were there. */
static int keep_tracing_on(const struct selection *sel, struct session *session)
{
	return only_reads(sel, session) ? 0 : session_keep(session, "tracing_on");
}

/* ---- 3. Settings ---- */

/* Decide by the tracer that is asked for, or else by that of the instance. */
static bool traces_functions(const struct selection *sel, struct session *session)
{
	return sel->tracer ? text_file_is_of_functions(sel->tracer) : runs_functions(session);
}

/*
 * A tracer of functions that traced how this is done would write more than can be read, and other
 * events would be lost.
 */
void selection_hide(struct session *session)
{
	int ret = runs_functions(session) ? session_hide_from_functions(session) : 0;

	if (ret)
		say("instance %s: its tracer traces tracemap, too, and writes more than can be read: %s/set_ftrace_notrace_pid: %s%s",
		    session_name(session), session_dir(session), strerror(-ret),
		    ret == -EACCES ? ": root may write it" : "");
}

static int switch_off(const struct selection *sel, struct session *session)
{
	int ret;

	if (only_reads(sel, session)) {
		selection_hide(session);
		return 0;
	}
	ret = session_trace(session, false);
	if (!ret)
		ret = session_hide_from_events(session);
	if (ret || !traces_functions(sel, session))
		return ret;
	ret = session_hide_from_functions(session);
	return ret ? complain(ABOUT_SETTING, ret, "%s/set_ftrace_notrace_pid",
			      session_dir(session)) : 0;
}

/* Hexadecimal, the highest first, a comma every eight digits. */
static char *cpu_mask(const struct selection *sel)
{
	unsigned int highest = 0, words;
	char *text, *at;

	for (unsigned int i = 0; i < sel->nr_cpus; i++) {
		if ((unsigned int)sel->cpus[i] > highest)
			highest = sel->cpus[i];
	}
	words = highest / 32 + 1;
	text = malloc(9 * words + 1);
	at = text;
	while (text && words--) {
		unsigned int word = 0;

		for (unsigned int i = 0; i < sel->nr_cpus; i++) {
			if ((unsigned int)sel->cpus[i] / 32 == words)
				word |= 1U << sel->cpus[i] % 32;
		}
		at += sprintf(at, "%08x%s", word, words ? "," : "");
	}
	return text;
}

/* Other CPUs need not trace what is not read, but in an existing instance another reader may. */
static int set_cpus(const struct selection *sel, struct session *session)
{
	char *mask;
	int ret;

	if (!sel->nr_cpus || !session_is_own(session))
		return 0;
	mask = cpu_mask(sel);
	ret = mask ? session_set(session, "tracing_cpumask", mask) : no_memory();
	free(mask);
	return ret;
}

static int set_functions(const struct selection *sel, struct session *session)
{
	return put_functions(sel, session, true);
}

static int set_events(const struct selection *sel, struct session *session)
{
	int ret = 0;

	for (unsigned int i = 0; i < sel->nr_events && !ret; i++)
		ret = events_enable(&sel->events[i].found, session);
	return ret;
}

/* Something keeps the tracer from being changed; the tracer itself is all right. */
static void tracer_is_kept(const struct session *session, const char *tracer)
{
	bool own = session_is_own(session);

	say("the tracer %s cannot be set in instance %s now: %sit is in use in another instance%s",
	    tracer, session_name(session),
	    own ? "" : "another program, such as a stream or a recording, reads or has mapped the buffers, or ",
	    own ? "" : "; end that, or leave out -i, for an instance of its own");
}

static int set_tracer(const struct selection *sel, struct session *session)
{
	int ret;

	if (!sel->tracer)
		return 0;
	ret = session_try(session, "current_tracer", sel->tracer);
	if (ret == -EBUSY)
		tracer_is_kept(session, sel->tracer);
	else if (ret)
		complain(ABOUT_SETTING, ret, "the tracer %s", sel->tracer);
	return ret;
}

/*
 * Set large sub-buffers in an instance of our own: fewer are taken, which makes an
 * event cheaper to record. A buffer smaller than LARGE_ENOUGH keeps the kernel's
 * size, since few large ones would make it larger than was asked for. Failure is not an
 * error: the kernel may not be able to set it, or lack contiguous memory.
 */
static void prefer_large_subbufs(const struct selection *sel, struct session *session)
{
	if (session_is_own(session) && (!sel->buffer_size || sel->buffer_size >= LARGE_ENOUGH))
		session_try(session, "buffer_subbuf_size_kb", SUBBUF_KB);
}

/*
 * The buffer is made of whole sub-buffers, at least two: with larger ones it may grow, and
 * does not shrink again by itself. So its size is restored last.
 */
static int set_subbuf(const struct selection *sel, struct session *session)
{
	char kb[32];
	int ret;

	if (sel->large_subbufs && !sel->subbuf)
		prefer_large_subbufs(sel, session);
	if (!sel->subbuf)
		return 0;
	ret = session_keep(session, "buffer_size_kb");
	if (ret)
		return ret;
	subbuf_kb(sel, kb, sizeof(kb));
	ret = session_try(session, "buffer_subbuf_size_kb", kb);
	if (ret)
		complain(ABOUT_SETTING, ret, "--subbuf %sk", kb);
	return ret;
}

static int set_buffer(const struct selection *sel, struct session *session)
{
	char text[32];

	if (!sel->buffer_size)
		return 0;
	snprintf(text, sizeof(text), "%llu", (sel->buffer_size + 1023) / 1024);
	return session_set(session, "buffer_size_kb", text);
}

static int set_clock(const struct selection *sel, struct session *session)
{
	return sel->clock ? session_set(session, "trace_clock", sel->clock) : 0;
}

typedef int (*step)(const struct selection *, struct session *);

static int take_steps(const step *steps, unsigned int nr, const struct selection *sel,
		      struct session *session)
{
	int ret = 0;

	for (unsigned int i = 0; i < nr && !ret; i++)
		ret = steps[i](sel, session);
	return ret;
}

/* 1 and 2 */
static int try_all(const struct selection *sel, struct session *session)
{
	static const step steps[] = {
		check_buffer_size, check_sizes, check_cpus, check_clock, check_tracer, find_events,
		check_way, claim,
		keep_tracing_on, try_functions, set_filters,
	};

	return take_steps(steps, sizeof(steps) / sizeof(steps[0]), sel, session);
}

/* 3 */
static int set_all(const struct selection *sel, struct session *session)
{
	static const step steps[] = {
		switch_off, set_cpus, set_functions, set_events, set_tracer, set_subbuf, set_buffer,
		set_clock,
	};

	return take_steps(steps, sizeof(steps) / sizeof(steps[0]), sel, session);
}

static int limit_to(const struct selection *sel, struct session *session, int pid)
{
	static const char * const files[][2] = {
		{ "options/event-fork", "1" },
		{ "set_event_pid", NULL },
		{ "options/function-fork", "1" },
		{ "set_ftrace_pid", NULL },
	};
	unsigned int nr = traces_functions(sel, session) ? 4 : 2;
	char text[16];

	if (!sel->child_only || !pid)
		return 0;
	snprintf(text, sizeof(text), "%d", pid);
	for (unsigned int i = 0; i < nr; i++) {
		int ret = session_try(session, files[i][0], files[i][1] ? files[i][1] : text);

		if (ret)
			return complain(ABOUT_SETTING, ret, "%s", files[i][0]);
	}
	return 0;
}

/*
 * The kernel hides what a hidden process forks, with options/event-fork or function-fork: so this
 * comes before tracemap hides.
 */
static int prepare_child(struct session *session, struct child *child, char **command)
{
	setenv("TRACEMAP_INSTANCE", session_dir(session), 1);
	return child_prepare(child, command);
}

/* A CPU takes up to five files. The command keeps the limit that it was given. */
static void allow_many_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int selection_open(const struct selection *sel, struct session **session, struct child *child,
		   char **command)
{
	int ret = child_check(child, command);

	if (!ret)
		ret = session_open(session, sel->instance);
	if (!ret)
		ret = stop_on_signals();
	if (!ret)
		ret = try_all(sel, *session);
	if (!ret)
		ret = prepare_child(*session, child, command);
	if (!ret)
		ret = set_all(sel, *session);
	if (!ret)
		ret = limit_to(sel, *session, child->pid);
	if (!ret && !only_reads(sel, *session))
		ret = session_put_back_while_off(*session);
	allow_many_files();
	return ret;
}

int selection_switch_on(const struct selection *sel, struct session *session)
{
	return only_reads(sel, session) ? 0 : session_trace(session, true);
}

/*
 * A writer that began before tracing was switched off may not have committed its event yet.
 * Writers keep preemption off meanwhile, so an RCU grace period, which this system call
 * waits for, is long enough for them, except for functions that are traced where RCU does
 * not watch. Kernels with nohz_full= refuse the call: 10 ms are ample for a CPU that keeps
 * running.
 */
static void wait_for_writers(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		usleep(10000);
}

int selection_switch_off(const struct selection *sel, struct session *session)
{
	int ret;

	if (only_reads(sel, session))
		return 0;
	ret = session_trace(session, false);
	/* In an instance of its own the rest is removed with the buffers. */
	if (!session_is_own(session))
		wait_for_writers();
	return ret;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What to trace: parse the options, and set up an instance by them.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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
#define DEFAULT_SIZE	(8 << 20)	/* of each CPU's buffer, */
#define DEFAULT_SHARE	16		/* if all are this part of the memory at most */
#define LEAST_SIZE	(8 * 1024)	/* two pages: the kernel makes no smaller one */
#define LARGE_ENOUGH	(1024 * 1024)	/* bytes of a buffer, for sub-buffers of SUBBUF_KB */

/* ---- Options ---- */

int selection_event(void *to, const char *name)
{
	struct selection *sel = to;
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
	return 0;
}

int selection_filter(void *to, const char *filter)
{
	struct selection *sel = to;
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
	return 0;
}

static int add_function(void *to, const char *function)
{
	struct selection *sel = to;
	const char **functions;

	functions = realloc(sel->functions, (sel->nr_functions + 1) * sizeof(*functions));
	if (!functions)
		return no_memory();
	sel->functions = functions;
	sel->functions[sel->nr_functions++] = function;
	return 0;
}

static int add_cpu(struct selection *sel, unsigned long number)
{
	int *cpus;

	for (unsigned int i = 0; i < sel->nr_cpus; i++) {
		if (sel->cpus[i] == (int)number)
			return 0;
	}
	cpus = realloc(sel->cpus, (sel->nr_cpus + 1) * sizeof(*cpus));
	if (!cpus)
		return no_memory();
	sel->cpus = cpus;
	sel->cpus[sel->nr_cpus++] = number;
	return 0;
}

#define CPU_LIMIT	65536

/* "0,2-3" */
int selection_cpus(void *sel, const char *list)
{
	const char *at = list;
	int ret = 0;

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
		while (from <= to && !ret)
			ret = add_cpu(sel, from++);
		at = end + 1;
		if (!*end)
			return ret;
		if (*end != ',')
			goto wrong;
	} while (!ret);
	return ret;
wrong:
	return value_wrong("-C", list,
			   "a list of CPUs is needed: numbers or ranges with commas between them, such as 0 or 0,2-3");
}

static int take_instance(void *to, const char *name)
{
	struct selection *sel = to;

	sel->instance = name;
	return value_instance(name);
}

#define AT(field)	offsetof(struct selection, field)

const struct verb_option selection_options[] = {
	{ .help = "What to trace:" },
	{ 'e', "event", OPTION_CALL, 0, "EVENT",
	  "SYSTEM:EVENT, SYSTEM or EVENT, or a glob; repeat for more", selection_event },
	{ 'f', "filter", OPTION_CALL, 0, "EXPR",
	  "of the preceding -e, only such events: e.g. 'prev_prio < 100'", selection_filter },
	{ 'p', "tracer", OPTION_TEXT, AT(tracer), "NAME", .help = "a tracer, e.g. function" },
	{ 'l', "function", OPTION_CALL, 0, "GLOB",
	  "only these functions, with -p function; repeat for more", add_function },
	{ 'P', "pid", OPTION_CALL, AT(follow), "PID",
	  "only this process and what it forks; repeat for more", follow_pids },
	{ 0, "cgroup", OPTION_TEXT, AT(follow.cgroup), "PATH",
	  .help = "only the processes of this cgroup and what they fork" },
	{ 'C', "cpus", OPTION_CALL, 0, "LIST", "these CPUs, e.g. 0,2-3 (default: all)",
	  selection_cpus },
	{ 'i', "instance", OPTION_CALL, 0, "NAME",
	  "what this instance traces, / for the top level: it is only\n"
	  "read, so of these options -C alone goes with it", take_instance },
	{ 'b', "buffer", OPTION_SIZE, AT(buffer_size), "SIZE",
	  .help = "the size of each CPU's buffer, e.g. 512k (default: 8M)" },
	{ 0, "buffer-total", OPTION_SIZE, AT(buffer_total), "SIZE",
	  .help = "of all CPUs' buffers together, in place of -b" },
	{ 0, "clock", OPTION_TEXT, AT(clock), "NAME",
	  .help = "the clock of the time stamps, see trace_clock" },
	{ }
};

const struct verb_option selection_child_options[] = {
	{ 'F', "child-only", OPTION_FLAG, AT(child_only), NULL,
	  .help = "only the command behind -- and its children" },
	{ }
};

int selection_subbuf(void *to, const char *arg)
{
	struct selection *sel = to;
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

/* The first option that an instance which is only read does not take, or NULL. */
static const char *setting_of(const struct selection *sel)
{
	if (sel->nr_events)
		return "-e";
	if (sel->tracer)
		return "-p";
	if (sel->nr_functions)
		return "-l";
	if (sel->follow.nr)
		return "-P";
	if (sel->follow.cgroup)
		return "--cgroup";
	if (sel->child_only)
		return "-F";
	if (sel->buffer_size)
		return "-b";
	if (sel->buffer_total)
		return "--buffer-total";
	if (sel->subbuf)
		return "--subbuf";
	return sel->clock ? "--clock" : NULL;
}

int selection_command(const struct selection *sel, int argc, char **argv, char ***command)
{
	const char *setting = setting_of(sel);

	*command = NULL;
	if (optind < argc && strcmp(argv[optind - 1], "--")) {
		say("\"%s\" is no option; a command goes behind --", argv[optind]);
		return -EINVAL;
	}
	if (optind < argc)
		*command = argv + optind;
	if (sel->instance && setting) {
		say("instance %s: one that was there is only read, and %s would change it: with -e or -p, and without -i, tracemap traces in an instance of its own",
		    sel->instance, setting);
		return -EINVAL;
	}
	if (sel->buffer_size && sel->buffer_total) {
		say("-b is the size of each CPU's buffer, --buffer-total that of all together: give one of them");
		return -EINVAL;
	}
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
	free(sel->follow.pids);
	free(sel->cpus);
}

/* ---- Checks ---- */

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

static unsigned long long cpus_online(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < 1 ? 1 : cpus;
}

/* Bytes of each CPU's buffer that were asked for; 0: the size is not given. */
static unsigned long long asked_size(const struct selection *sel)
{
	return sel->buffer_total ? sel->buffer_total / cpus_online() : sel->buffer_size;
}

/*
 * A tool that is kept from the CPU for 100 ms should lose nothing of a million events a second. On
 * a machine with little memory for its CPUs, the kernel's size stays.
 */
static unsigned long long default_size(void)
{
	return available_kib() / cpus_online() / DEFAULT_SHARE < DEFAULT_SIZE / 1024 ? 0 :
									       DEFAULT_SIZE;
}

static int check_total(const struct selection *sel)
{
	if (!sel->buffer_total || asked_size(sel) >= LEAST_SIZE)
		return 0;
	say("--buffer-total: each of %llu CPUs needs %dk at least: ask for %lluk or more",
	    cpus_online(), LEAST_SIZE / 1024, cpus_online() * (LEAST_SIZE / 1024));
	return -EINVAL;
}

/*
 * The kernel would take the memory of one CPU after the other, and refuse when there is no more:
 * other programs would lack it meanwhile.
 */
static int check_buffer_size(const struct selection *sel, struct session *session)
{
	unsigned long long kib = (asked_size(sel) + 1023) / 1024, there = available_kib();
	unsigned long long cpus = cpus_online(), most = there / cpus;

	(void)session;
	if (!there || kib <= most)
		return check_total(sel);
	if (sel->buffer_total)
		say("--buffer-total: this is more than there is memory for: ask for %lluM at most",
		    there >> 10);
	else
		say("-b: %llu MiB for each of %llu CPUs are more than there is memory for: ask for %lluM at most",
		    kib >> 10, cpus, most >> 10);
	return -ENOMEM;
}

static void subbuf_kb(const struct selection *sel, char *text, size_t size)
{
	snprintf(text, size, "%llu", (sel->subbuf + 1023) / 1024);
}

static int check_subbuf(const struct selection *sel, struct session *session)
{
	char kb[32];

	if (!sel->subbuf || session_has(session, "buffer_subbuf_size_kb"))
		return 0;
	subbuf_kb(sel, kb, sizeof(kb));
	return complain(ABOUT_SETTING, ENOENT, "--subbuf %sk", kb);
}

static int check_cpus(const struct selection *sel, struct session *session)
{
	char path[64], online[256];

	for (unsigned int i = 0; i < sel->nr_cpus; i++) {
		snprintf(path, sizeof(path), "per_cpu/cpu%d", sel->cpus[i]);
		if (session_has(session, path))
			continue;
		if (text_file_read("/sys/devices/system/cpu", "online", online, sizeof(online)) < 0)
			strcpy(online, "listed in /sys/devices/system/cpu/online");
		say("-C: there is no CPU %d here; those online are %s", sel->cpus[i], online);
		return -ENOENT;
	}
	return 0;
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
		if (text_file_has_word(known, sel->tracer))
			say("the tracer %s works at the top level only, not in an instance: echo %s >%s/current_tracer, and read that by -i /",
			    sel->tracer, sel->tracer, session_top(session));
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

/* ---- Settings ---- */

static bool traces_functions(const struct selection *sel)
{
	return sel->tracer && text_file_is_of_functions(sel->tracer);
}

static int add_function_glob(struct session *session, const char *glob)
{
	char *line;
	int ret;

	/* Without a newline, the kernel would check the text only when the file is closed. */
	if (asprintf(&line, "%s\n", glob) < 0)
		return -ENOMEM;
	ret = session_add(session, "set_ftrace_filter", line);
	free(line);
	return ret;
}

static int set_functions(const struct selection *sel, struct session *session)
{
	int ret = 0;

	for (unsigned int i = 0; i < sel->nr_functions && !ret; i++) {
		ret = add_function_glob(session, sel->functions[i]);
		if (ret == -EINVAL)
			say("no function that can be traced is \"%s\": see available_filter_functions",
			    sel->functions[i]);
		else if (ret)
			complain(ABOUT_SETTING, ret, "set_ftrace_filter");
	}
	return ret;
}

static int set_filters(const struct selection *sel, struct session *session)
{
	int ret = 0;

	for (unsigned int i = 0; i < sel->nr_events && !ret; i++)
		ret = events_filter(&sel->events[i].found, session, sel->events[i].filter);
	return ret;
}

/*
 * A tracer of functions that traced how this is done would write more than can be read, and other
 * events would be lost.
 */
static int switch_off(const struct selection *sel, struct session *session)
{
	int ret = session_trace(session, false);

	if (!ret)
		ret = session_hide_from_events(session);
	if (!ret && traces_functions(sel))
		ret = session_hide_from_functions(session);
	return ret;
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

/* Other CPUs need not trace what is not read. */
static int set_cpus(const struct selection *sel, struct session *session)
{
	char *mask;
	int ret;

	if (!sel->nr_cpus)
		return 0;
	mask = cpu_mask(sel);
	ret = mask ? session_set(session, "tracing_cpumask", mask) : no_memory();
	free(mask);
	return ret;
}

static int set_events(const struct selection *sel, struct session *session)
{
	int ret = 0;

	for (unsigned int i = 0; i < sel->nr_events && !ret; i++)
		ret = events_enable(&sel->events[i].found, session);
	return ret;
}

static int set_tracer(const struct selection *sel, struct session *session)
{
	int ret;

	if (!sel->tracer)
		return 0;
	ret = session_try(session, "current_tracer", sel->tracer);
	if (ret == -EBUSY)
		say("the tracer %s cannot be set now: it is in use in another instance",
		    sel->tracer);
	else if (ret)
		complain(ABOUT_SETTING, ret, "the tracer %s", sel->tracer);
	return ret;
}

/*
 * Set large sub-buffers: fewer are taken, which makes an event cheaper to record. A buffer
 * smaller than LARGE_ENOUGH keeps the kernel's size, since few large ones would make it larger
 * than was asked for. Failure is not an error: the kernel may not be able to set it, or lack
 * contiguous memory.
 */
static void prefer_large_subbufs(const struct selection *sel, struct session *session)
{
	unsigned long long size = asked_size(sel);

	if (!size || size >= LARGE_ENOUGH)
		session_try(session, "buffer_subbuf_size_kb", SUBBUF_KB);
}

static int set_subbuf(const struct selection *sel, struct session *session)
{
	char kb[32];
	int ret;

	if (sel->large_subbufs && !sel->subbuf)
		prefer_large_subbufs(sel, session);
	if (!sel->subbuf)
		return 0;
	subbuf_kb(sel, kb, sizeof(kb));
	ret = session_try(session, "buffer_subbuf_size_kb", kb);
	return ret ? complain(ABOUT_SETTING, ret, "--subbuf %sk", kb) : 0;
}

static int set_buffer(const struct selection *sel, struct session *session)
{
	unsigned long long asked = asked_size(sel), size = asked ? asked : default_size();
	char text[32];

	snprintf(text, sizeof(text), "%llu", (size + 1023) / 1024);
	if (asked)
		return session_set(session, "buffer_size_kb", text);
	if (size)
		session_try(session, "buffer_size_kb", text);
	return 0;
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

static int check_all(const struct selection *sel, struct session *session)
{
	static const step steps[] = {
		check_buffer_size, check_subbuf, check_cpus, check_clock, check_tracer, find_events,
	};

	return take_steps(steps, sizeof(steps) / sizeof(steps[0]), sel, session);
}

static int set_all(const struct selection *sel, struct session *session)
{
	static const step steps[] = {
		switch_off, set_cpus, set_functions, set_filters, set_events, set_tracer,
		set_subbuf, set_buffer, set_clock,
	};

	return take_steps(steps, sizeof(steps) / sizeof(steps[0]), sel, session);
}

/* They are traced from now on, with what they fork. */
static int set_tasks(const struct selection *sel, struct session *session, const char *tasks)
{
	static const char * const files[][2] = {
		{ "options/event-fork", "set_event_pid" },
		{ "options/function-fork", "set_ftrace_pid" },
	};
	unsigned int nr = traces_functions(sel) ? 2 : 1;
	int ret;

	for (unsigned int i = 0; i < nr; i++) {
		ret = session_try(session, files[i][0], "1");
		if (!ret)
			ret = session_add(session, files[i][1], tasks);
		if (ret)
			return complain(ABOUT_SETTING, ret, "%s", files[i][1]);
	}
	return 0;
}

static int limit_to_child(const struct selection *sel, struct session *session, int pid)
{
	char text[16];

	if (!sel->child_only || !pid)
		return 0;
	snprintf(text, sizeof(text), "%d", pid);
	return set_tasks(sel, session, text);
}

/* Again, for those that were forked before the kernel had the first list. */
static int limit_to_followed(const struct selection *sel, struct session *session)
{
	int ret = 0;

	for (int i = 0; i < 2 && !ret && follow_is_asked(&sel->follow); i++) {
		char *tasks = NULL;

		ret = follow_threads(&sel->follow, &tasks);
		if (!ret)
			ret = set_tasks(sel, session, tasks);
		free(tasks);
	}
	return ret;
}

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
		ret = session_open(session, sel->instance, sel->records);
	if (!ret)
		ret = stop_on_signals();
	if (!ret)
		ret = check_all(sel, *session);
	if (!ret)
		ret = prepare_child(*session, child, command);
	if (!ret && session_is_own(*session))
		ret = set_all(sel, *session);
	if (!ret)
		ret = limit_to_child(sel, *session, child->pid);
	if (!ret)
		ret = limit_to_followed(sel, *session);
	allow_many_files();
	return ret;
}

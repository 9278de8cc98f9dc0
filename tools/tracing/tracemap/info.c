// SPDX-License-Identifier: GPL-2.0
/*
 * tracemap info: say what this kernel can do, and how its buffers would be read.
 *
 * It finds out what a mapping can do, and what the other verbs need, by trying, in an
 * instance of its own, so that it touches no buffer that another program uses. Only
 * if the user may not make an instance does it look for the live index of the top
 * level, as stat does.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "advice.h"
#include "json_string.h"
#include "options.h"
#include "read_file.h"
#include "session.h"
#include "subbuf.h"
#include "text_file.h"
#include "tracemap.h"
#include "tracemap-event.h"
#include "values.h"
#include "verbs.h"

/**
 * struct info - what was found out
 * @kernel: name and release
 * @tracefs: where it is, NULL if it is not there
 * @error: an errno: why only this much is known; 0: the rest is true
 * @tried: an errno: what stream and record need beside buffers does not work
 * @functions: 0, or an errno: why functions cannot be traced
 * @consume: the way by which stream and record read
 * @map: 0, or an errno: why buffers cannot be mapped
 * @observe: 0, or an errno: why they cannot be observed; of the top level if @tried
 * @subbuf_size: bytes, header included; 0: not known
 * @subbuf_settable: there is a file to set it by
 * @buffer_kb: of each CPU of the top level; 0: they differ
 * @buffer_minimum: that is the boot-time minimum, as nobody has used it
 * @clock: of the top level
 * @cpus: how many are online
 * @events: there are, of all systems
 * @instances: beside the top level
 */
struct info {
	struct utsname kernel;
	char *tracefs;
	int error;
	int tried;
	int functions;
	enum tracemap_way consume;
	int map;
	int observe;
	uint32_t subbuf_size;
	bool subbuf_settable;
	unsigned long buffer_kb;
	bool buffer_minimum;
	char clock[32];
	long cpus;
	unsigned int events;
	unsigned int instances;
};

/* Finding out. */

static int try_way(const char *dir, enum tracemap_way way, enum tracemap_way *got)
{
	struct tracemap_options options = tracemap_default_options();
	struct tracemap *t;
	int ret;

	options.way = way;
	ret = tracemap_open(&t, dir, &options);
	if (ret)
		return -ret;
	if (got)
		*got = tracemap_cpu_way(tracemap_get_cpu(t, 0));
	tracemap_close(t);
	return 0;
}

/* Try what stream and record do in an instance of their own, except switching it on. */
static int try_session(struct session *session)
{
	struct tracemap_decoder *decoder;
	int ret = session_trace(session, false);

	if (!ret)
		ret = session_hide_from_events(session);
	if (!ret)
		ret = tracemap_decoder_new(&decoder, session_dir(session));
	if (!ret)
		tracemap_decoder_free(decoder);
	return -ret;
}

/* Opening trace_live would expand buffers that have their boot-time minimum. */
static int try_top_index(const struct info *info)
{
	if (!info->buffer_minimum)
		return try_way(info->tracefs, TRACEMAP_OBSERVE, NULL);
	return -session_live_index(info->tracefs);
}

static void try_all(struct info *info)
{
	struct session *session;
	const char *dir;
	int ret = session_open(&session, NULL, false);

	if (ret < 0) {
		info->tried = -ret;
		info->observe = try_top_index(info);
		return;
	}
	dir = session_dir(session);
	info->tried = try_session(session);
	if (!info->tried)
		info->tried = try_way(dir, TRACEMAP_CONSUME, &info->consume);
	info->functions = -session_add(session, "set_ftrace_pid", "1");
	info->map = try_way(dir, TRACEMAP_MAP, NULL);
	info->observe = try_way(dir, TRACEMAP_OBSERVE, NULL);
	session_close(session);
}

static void find_subbuf_size(struct info *info)
{
	struct subbuf_format format;
	char text[1024];

	if (text_file_read(info->tracefs, "events/header_page", text, sizeof(text)) >= 0 &&
	    subbuf_format_parse(&format, text))
		info->subbuf_size = format.subbuf_size;
	info->subbuf_settable =
		text_file_read(info->tracefs, "buffer_subbuf_size_kb", text, sizeof(text)) >= 0;
}

static void find_settings(struct info *info)
{
	char text[512], *end;

	if (text_file_read(info->tracefs, "buffer_size_kb", text, sizeof(text)) >= 0) {
		info->buffer_kb = strtoul(text, NULL, 10);
		info->buffer_minimum = strstr(text, "expanded");
	}
	if (text_file_read(info->tracefs, "trace_clock", text, sizeof(text)) >= 0) {
		char *clock = strchr(text, '[');

		end = clock ? strchr(clock, ']') : NULL;
		if (end)
			snprintf(info->clock, sizeof(info->clock), "%.*s",
				 (int)(end - clock - 1), clock + 1);
	}
}

static unsigned int count_lines(const char *dir, const char *file)
{
	char path[PATH_MAX], *text;
	unsigned int lines = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	text = read_file_whole(AT_FDCWD, path, NULL);
	for (const char *at = text; at && (at = strchr(at, '\n')); at++)
		lines++;
	free(text);
	return lines;
}

static int count_instance(const char *name, void *nr)
{
	(void)name;
	++*(unsigned int *)nr;
	return 0;
}

static void find_out(struct info *info)
{
	memset(info, 0, sizeof(*info));
	uname(&info->kernel);
	info->cpus = sysconf(_SC_NPROCESSORS_ONLN);
	info->error = -tracemap_find_dir(&info->tracefs, NULL);
	if (!info->error && access(info->tracefs, R_OK | X_OK))
		info->error = errno;
	if (info->error)
		return;
	tracemap_find_instances(count_instance, &info->instances);
	info->events = count_lines(info->tracefs, "available_events");
	find_subbuf_size(info);
	find_settings(info);
	try_all(info);
}

/* What the results mean */

static bool knows_ways(const struct info *info)
{
	return !info->error && !info->tried;
}

static bool knows_index(const struct info *info)
{
	return !info->error && (!info->tried || !info->observe || info->observe == EOPNOTSUPP);
}

static bool has_index(const struct info *info)
{
	return knows_index(info) && !info->observe;
}

/* If mapping is the best way to consume, there are a live view and a cheap mapping. */
static const char *mapping(const struct info *info)
{
	if (!knows_ways(info))
		return has_index(info) ? "live" : NULL;
	if (info->map)
		return "none";
	return info->consume == TRACEMAP_MAP ? "live" : "mainline";
}

static const char *reason(const struct info *info)
{
	int error = info->error ? info->error : info->tried;
	bool other = info->error || advice_refused(error);
	const char *text = advice(other ? ABOUT_TRACEFS : ABOUT_NEW, error);

	return text ? text : strerror(error);
}

/* For people. */

static void print_mapping(const struct info *info)
{
	const char *map = mapping(info);

	if (!map)
		printf("Mapping:      not known: %s\n", reason(info));
	else if (!strcmp(map, "none"))
		printf("Mapping:      none: %s\n", strerror(info->map));
	else if (!strcmp(map, "live"))
		printf("Mapping:      yes, and cheaper than read(2)\n");
	else
		printf("Mapping:      yes, as on mainline; used by --way map only, as read(2) is cheaper\n");
	if (knows_index(info))
		printf("Live index:   %s\n", info->observe ?
		       "no: observing without taking events is not possible" :
		       "yes: observing takes no event and no system call");
}

static void print_functions(const struct info *info)
{
	bool refused = advice_refused(info->functions);
	const char *why = advice(refused ? ABOUT_TRACEFS : ABOUT_SETTING, info->functions);

	if (!knows_ways(info))
		return;
	if (!why)
		why = strerror(info->functions);
	if (info->functions)
		printf("Functions:    cannot be traced: %s\n", why);
	else
		printf("Functions:    can be traced\n");
}

static void print_buffers(const struct info *info)
{
	printf("Sub-buffers:  %u bytes%s\n", info->subbuf_size, info->subbuf_settable ?
	       ", buffer_subbuf_size_kb sets it" : ", cannot be set");
	if (!info->buffer_kb)
		printf("Buffers:      of different sizes, %ld CPUs\n", info->cpus);
	else
		printf("Buffers:      %lu KiB each, %ld CPUs%s\n", info->buffer_kb, info->cpus,
		       info->buffer_minimum ? " (the boot-time minimum: nobody has traced yet)" : "");
	printf("Clock:        %s\n", *info->clock ? info->clock : "not known");
	printf("Events:       %u\n", info->events);
	printf("Instances:    %u\n", info->instances);
}

/* How the verbs read here. */
static void print_verbs(const struct info *info)
{
	const char *view = "from the live view: takes no event", *why;
	char consume[512];

	why = info->tried ? advice(ABOUT_NEW, info->tried) ?: strerror(info->tried) : NULL;
	if (why)
		snprintf(consume, sizeof(consume), "does not work: %s", why);
	else
		strcpy(consume, info->consume == TRACEMAP_MAP ? "by mapping: no copy" : "by read(2)");
	printf("stream        %s\nrecord        %s\n", consume, consume);
	printf("top           %s\n", has_index(info) ? view : consume);
	printf("snap          %s\n", has_index(info) ? view : "does not work: there is no live view");
	printf("stat          %s\n", has_index(info) ? "from the live index: no system call" :
	       "from per_cpu/cpuN/stats");
}

static void print_info(const struct info *info)
{
	printf("Kernel:       %s %s %s\n", info->kernel.sysname, info->kernel.release,
	       info->kernel.machine);
	printf("tracefs:      %s%s%s\n", info->tracefs ? info->tracefs : "not found",
	       info->error ? ": " : "", info->error ? reason(info) : "");
	print_mapping(info);
	print_functions(info);
	if (!info->error)
		print_buffers(info);
	if (!info->error)
		print_verbs(info);
}

/* For programs. */

static void json_field(const char *name, const char *value)
{
	printf(",\"%s\":", name);
	if (value)
		json_string(stdout, value);
	else
		fputs("null", stdout);
}

static void json_info(const struct info *info)
{
	bool ways = knows_ways(info);

	fputs("{\"release\":", stdout);
	json_string(stdout, info->kernel.release);
	json_field("machine", info->kernel.machine);
	json_field("tracefs", info->tracefs);
	json_field("why_no_more", info->error || info->tried ? reason(info) : NULL);
	json_field("mapping", mapping(info));
	printf(",\"live_index\":%s", !knows_index(info) ? "null" : has_index(info) ? "true" :
	       "false");
	printf(",\"functions\":%s", !ways ? "null" : info->functions ? "false" : "true");
	json_field("consume_way", ways ? tracemap_way_name(info->consume) : NULL);
	if (!info->error) {
		printf(",\"subbuf_size\":%u,\"subbuf_size_settable\":%s", info->subbuf_size,
		       info->subbuf_settable ? "true" : "false");
		printf(",\"buffer_kb\":%lu,\"buffer_at_minimum\":%s", info->buffer_kb,
		       info->buffer_minimum ? "true" : "false");
		json_field("clock", info->clock);
		printf(",\"events\":%u,\"instances\":%u", info->events, info->instances);
	}
	printf(",\"cpus\":%ld", info->cpus);
	fputs("}\n", stdout);
}

static const struct verb_option own_options[] = {
	{ 0, "json", OPTION_FLAG, 0, NULL, .help = "one line of JSON" },
	{ }
};

static const struct verb_options verb = {
	.verb = "info",
	.usage =
	"usage: tracemap info [OPTION]...\n"
	"Say what this kernel can do, and how the other verbs would read its buffers, by trying\n"
	"in an instance of its own. Without root it says what it can find out.\n\n",
	.end = "",
	.groups = { { own_options } },
};

int cmd_info(int argc, char **argv)
{
	struct info info;
	bool json = false;
	int ret = options_parse(&verb, &json, argc, argv);

	if (ret <= 0)
		return ret ? EXIT_USAGE : EXIT_OK;
	find_out(&info);
	if (json)
		json_info(&info);
	else
		print_info(&info);
	free(info.tracefs);
	return EXIT_OK;
}

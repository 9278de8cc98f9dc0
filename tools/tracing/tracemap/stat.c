// SPDX-License-Identifier: GPL-2.0
/*
 * tracemap stat: show how full the buffers are, what comes in, and what is
 * lost.
 *
 * Reading the figures of a buffer that can be observed takes no system call.
 * Each table takes one call to wait and one to write. Every few seconds there
 * is a search for new CPUs.
 */
#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advice.h"
#include "clock.h"
#include "options.h"
#include "session.h"
#include "sink.h"
#include "stat.h"
#include "stop.h"
#include "tracemap-event.h"
#include "values.h"
#include "verbs.h"

#define CHORES_NS		(5 * 1000000000ULL)
#define INTERVAL_MIN		0.01

struct options {
	const char **instances;
	unsigned int nr_instances;
	bool all;
	bool from_files;
	bool json;
	bool quiet;
	unsigned long long count;	/* 0: until told to stop */
	double interval;
};

struct stat_run {
	struct options opt;
	struct watch w;
	unsigned long shown;
	uint64_t next_chores;
};

/* What is watched. */

static int watch_dir(struct stat_run *run, const char *dir, const char *name)
{
	struct watch *w = &run->w;
	struct panel *more = realloc(w->panels, (w->nr + 1) * sizeof(*more));
	int ret;

	if (!more)
		return complain(ABOUT_INSTANCE, ENOMEM, "instance %s", name);
	w->panels = more;
	ret = panel_open(&w->panels[w->nr], dir, name, !run->opt.from_files);
	if (!ret)
		w->nr++;
	return ret;
}

/* @found: it was not asked for by name, may be another session's, and may go at any time. */
static int watch_instance(struct stat_run *run, const char *name, bool found)
{
	char *dir;
	int ret = found ? tracemap_find_dir(&dir, name) : session_find_dir(&dir, name);

	if (ret)
		return found ? 0 : ret;
	ret = watch_dir(run, dir, name);
	if (ret && found && access(dir, F_OK))
		ret = 0;
	free(dir);
	return ret;
}

static int watch_found(const char *name, void *run)
{
	return watch_instance(run, name, true);
}

static int open_watch(struct stat_run *run)
{
	int ret = 0;

	if (run->opt.all || !run->opt.nr_instances)
		ret = watch_instance(run, SESSION_TOP, false);
	if (!ret && run->opt.all)
		return tracemap_find_instances(watch_found, run);
	for (unsigned int i = 0; !ret && i < run->opt.nr_instances; i++)
		ret = watch_instance(run, run->opt.instances[i], false);
	return ret;
}

static void close_watch(struct watch *w)
{
	for (unsigned int i = 0; i < w->nr; i++)
		panel_close(&w->panels[i]);
	free(w->panels);
}

/* Every few seconds, look for new CPUs. */

static int do_chores(struct stat_run *run)
{
	if (now_ns() < run->next_chores)
		return 0;
	for (unsigned int i = 0; run->next_chores && i < run->w.nr; i++) {
		if (panel_rescan(&run->w.panels[i]) == -ENOMEM)
			return complain(ABOUT_BUFFER, ENOMEM, "CPUs that came online");
	}
	run->next_chores = now_ns() + CHORES_NS;
	return 0;
}

/* Reading and printing. */

static bool rates_are_known(const struct watch *w)
{
	for (unsigned int i = 0; i < w->nr; i++) {
		if (w->panels[i].seconds > 0)
			return true;
	}
	return false;
}

/*
 * A reader that takes nothing keeps write() waiting until a signal comes. What it has not taken by
 * then is dropped: exit() would wait for it once more.
 */
static int flush(void)
{
	int error = 0;

	while (fflush(stdout)) {
		error = errno;
		if (error == EINTR && !stop_signals())
			continue;
		__fpurge(stdout);
		break;
	}
	if (!error || error == EINTR)
		return 0;
	return error == EPIPE ? -EPIPE : sink_failed(error);
}

/* One of several instances may be removed: only mapped ones have to stay. */
static void drop_panel(struct watch *w, unsigned int nr)
{
	panel_close(&w->panels[nr]);
	w->nr--;
	memmove(&w->panels[nr], &w->panels[nr + 1], (w->nr - nr) * sizeof(*w->panels));
}

static int read_panels(struct watch *w)
{
	unsigned int i = 0;

	while (i < w->nr) {
		int ret = panel_read(&w->panels[i]);

		if (ret && w->nr == 1)
			return complain(ABOUT_INSTANCE, ret, "instance %s", w->panels[i].name);
		if (ret)
			drop_panel(w, i);
		else
			i++;
	}
	return 0;
}

static int read_and_show(struct stat_run *run)
{
	int ret = do_chores(run);

	if (!ret)
		ret = read_panels(&run->w);
	if (ret || !rates_are_known(&run->w))
		return ret;
	if (run->opt.json)
		stat_print_json(stdout, &run->w);
	else
		stat_print_table(stdout, &run->w);
	run->shown++;
	return flush();
}

/* Wait until @until, or for a signal that says to stop. */
static void wait_until(uint64_t until)
{
	uint64_t now = now_ns();

	while (now < until && !stop_signals()) {
		stop_wait(-1, (until - now + 999999) / 1000000);
		now = now_ns();
	}
}

static int watch_on(struct stat_run *run)
{
	uint64_t interval = run->opt.interval * 1e9, next = now_ns();
	int ret = read_and_show(run);

	while (!ret && !stop_signals() && (!run->opt.count || run->shown < run->opt.count)) {
		/* After having been stopped, or too slow, do not make up for missed tables. */
		next = next + interval > now_ns() ? next + interval : now_ns() + interval;
		wait_until(next);
		if (!stop_signals())
			ret = read_and_show(run);
	}
	return ret;
}

/* Set-up and end. */

static int add_instance(void *to, const char *name)
{
	struct options *opt = to;
	const char **more;

	if (value_instance(name))
		return -EINVAL;
	for (unsigned int i = 0; i < opt->nr_instances; i++) {
		if (!strcmp(opt->instances[i], name))
			return 0;
	}
	more = realloc(opt->instances, (opt->nr_instances + 1) * sizeof(*more));
	if (!more)
		return complain(ABOUT_INSTANCE, ENOMEM, "instance %s", name);
	opt->instances = more;
	more[opt->nr_instances++] = name;
	return 0;
}

static int take_interval(void *to, const char *interval)
{
	struct options *opt = to;

	return value_interval(interval, INTERVAL_MIN, &opt->interval);
}

#define AT(field)	offsetof(struct options, field)

static const struct verb_option own_options[] = {
	{ 'i', "instance", OPTION_CALL, 0, "NAME",
	  "of this instance, / for the top level (the default); repeat\n"
	  "for more", add_instance },
	{ 'a', "all", OPTION_FLAG, AT(all), NULL, .help = "of the top level and all instances" },
	{ 'd', "interval", OPTION_CALL, 0, "TIME",
	  "the interval: 0.5, 500ms, 5s, 5m (default: 1, a second)", take_interval },
	{ 'n', "count", OPTION_COUNT, AT(count), "N", .help = "stop after this many tables" },
	{ 0, "json", OPTION_FLAG, AT(json), NULL,
	  .help = "a line of JSON for each instance and interval" },
	{ 'q', "quiet", OPTION_FLAG, AT(quiet), NULL,
	  .help = "do not say on standard error how the buffers are read" },
	{ 0, "from-files", OPTION_FLAG, AT(from_files), NULL,
	  .help = "do not observe: read per_cpu/cpuN/stats" },
	{ }
};

static const struct verb_options verb = {
	.verb = "stat",
	.usage =
	"usage: tracemap stat [OPTION]...\n"
	"Watch how full the trace buffers of the CPUs are, what comes in, and what is lost.\n"
	"No event is taken from a consumer. While buffers are observed, the kernel refuses to\n"
	"resize them and to take snapshots (EBUSY).\n\n",
	.end =
	"\n  tracemap stat --all -d 5\n",
	.groups = { { own_options } },
};

/* Returns as options_parse() does. */
static int parse_options(struct options *opt, int argc, char **argv)
{
	int given;

	opt->interval = 1;
	given = options_parse(&verb, opt, argc, argv);
	if (given <= 0)
		return given;
	if (opt->all && opt->nr_instances) {
		say("-a watches the top level and all instances, and -i some of them: choose one");
		return -EINVAL;
	}
	return given;
}

static int run_stat(struct stat_run *run)
{
	int ret = sink_check_open("") ?: open_watch(run);

	if (!ret)
		ret = stop_on_signals();
	if (!ret && !run->opt.quiet)
		stat_print_notes(stderr, &run->w);
	if (!ret)
		ret = watch_on(run);
	close_watch(&run->w);
	return ret == -EPIPE ? 0 : ret;	/* "| head" has had enough */
}

int cmd_stat(int argc, char **argv)
{
	struct stat_run run = { 0 };
	int ret = parse_options(&run.opt, argc, argv);

	if (ret > 0)
		ret = run_stat(&run) ? EXIT_FAILED : EXIT_OK;
	else
		ret = ret ? EXIT_USAGE : EXIT_OK;
	free(run.opt.instances);
	return ret;
}

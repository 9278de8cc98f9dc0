// SPDX-License-Identifier: GPL-2.0
/*
 * tracemap snap: print or write what the buffers hold now, without consuming it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracemap-event.h>

#include "advice.h"
#include "buffers.h"
#include "output.h"
#include "selection.h"
#include "session.h"
#include "sink.h"
#include "snap_file.h"
#include "snap_keep.h"
#include "snap_wait.h"
#include "snapshot.h"
#include "stop.h"
#include "text_file.h"
#include "trace_head.h"
#include "values.h"
#include "verbs.h"

struct options {
	struct selection sel;
	struct snap_trigger trigger;
	unsigned long long keep;	/* files; 0: no limit */
	const char *output;		/* NULL: print */
	double last;
	bool json;
	bool strict;
	bool quiet;
};

struct snap {
	struct options opt;
	struct session *session;
	const char *dir;
	struct snapshot_request request;
	struct snapshot shot;
	struct trace_head *head;	/* of the files */
	struct tracemap_decoder *decoder;
	struct output out;
	bool graph;			/* the text is a tree of calls */
	bool lost;
	bool failed;
};

/* ---- Printing ---- */

static int print_header(struct snap *s)
{
	char tracer[64];

	if (s->opt.json)
		return 0;
	if (text_file_read(s->dir, "current_tracer", tracer, sizeof(tracer)) < 0)
		strcpy(tracer, "nop");
	s->graph = !strncmp(tracer, "function_graph", strlen("function_graph"));
	tracemap_text_header(s->decoder, tracer, &s->out.line);
	return s->out.line.error;
}

/*
 * Whether to print the record of the CPU with index @i. Events older than --last are not printed,
 * nor losses before these. A loss before a printed event is printed, as it may be from the wanted
 * time.
 */
static bool is_wanted(struct snap *s, unsigned int i, const struct tracemap_record *rec)
{
	struct snapshot *shot = &s->shot;

	if (rec->data && rec->ts < shot->from) {
		shot->cpus[i].begins_late = false;
		return false;
	}
	snapshot_lost(shot, i, rec->missed);
	if (rec->data)
		snapshot_count(shot, rec->ts);
	return true;
}

/*
 * As in the kernel's file "trace": before its first event, the CPU had others, which were
 * overwritten. Of the first event of all, that is no news.
 */
static void print_late_start(struct snap *s, unsigned int i, const struct tracemap_record *rec)
{
	struct snapshot_cpu *c = &s->shot.cpus[i];

	if (!c->begins_late || !rec->data)
		return;
	c->begins_late = false;
	if (s->shot.events > 1 && !s->opt.json && !s->graph)
		tracemap_line_printf(&s->out.line, "##### CPU %d buffer started ####\n", rec->cpu);
}

static int print_record(struct snap *s, unsigned int i, const struct tracemap_record *rec)
{
	int ret;

	output_begin_line(&s->out);
	print_late_start(s, i, rec);
	if (s->opt.json)
		ret = tracemap_json(s->decoder, rec, &s->out.line);
	else
		ret = tracemap_text(s->decoder, rec, &s->out.line);
	if (ret)
		return ret;
	return rec->data ? output_end_event(&s->out) : output_end_line(&s->out);
}

static int print_wanted(struct snap *s, unsigned int i, const struct tracemap_record *rec)
{
	return is_wanted(s, i, rec) ? print_record(s, i, rec) : 0;
}

static int reading_failed(struct tracemap_merge *m, int error)
{
	return snapshot_error(error, tracemap_merge_failed_cpu(m));
}

static int stopped(const struct snap *s)
{
	say("%s: a signal came: not everything was printed", s->request.name);
	return -EINTR;
}

/* Returns 0, or a reported negative errno. Sets @error to one of writing, not yet reported. */
static int print_merged(struct snap *s, struct tracemap_merge *m, int *error)
{
	struct tracemap_record rec;
	int ret;

	while (!*error) {
		if (stop_signals())
			return stopped(s);
		ret = tracemap_merge_next(m, &rec);
		if (ret == -ENODATA)
			return 0;
		if (ret < 0)
			ret = reading_failed(m, ret);
		else if (!ret)
			stop_wait(-1, 1);	/* the writer was too quick for once */
		else
			*error = print_wanted(s, snapshot_index(&s->shot, rec.cpu), &rec);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int print_all(struct snap *s, struct tracemap_merge *m)
{
	int error = print_header(s), ret = tracemap_merge_add_all(m, s->shot.t);

	if (ret)
		return complain(ABOUT_BUFFER, ret, "merging");
	ret = print_merged(s, m, &error);
	if (!error && !s->opt.json) {
		output_begin_line(&s->out);
		tracemap_text_end(s->decoder, &s->out.line);
		error = output_end_line(&s->out);
	}
	if (!error)
		error = output_flush(&s->out);
	if (error == -EPIPE)
		snapshot_cut(&s->shot, s->out.events);
	return error && output_failed(&s->out, error) ? error : ret;
}

static int print_snapshot(struct snap *s)
{
	struct tracemap_merge *m = NULL;
	int ret = tracemap_decoder_new(&s->decoder, s->dir);

	output_never_wait(&s->out);
	if (ret)
		return formats_refused(ret, s->dir);
	ret = tracemap_merge_new(&m, NULL);
	ret = ret ? complain(ABOUT_BUFFER, ret, "merging") : print_all(s, m);
	tracemap_merge_free(m);
	tracemap_decoder_free(s->decoder);
	return ret;
}

/* ---- Writing a file ---- */

/* Returns 0, or a negative errno that was reported. */
static int check_folder(const struct snap *s)
{
	const char *slash = strrchr(s->opt.output, '/');
	int length = slash ? slash - s->opt.output + (slash == s->opt.output) : 1;
	int ret = snap_keep_check(s->opt.output);

	if (ret)
		say("%.*s: %s: no file can be made in this folder: make it, or choose another with -o",
		    length, slash ? s->opt.output : ".", strerror(-ret));
	return ret;
}

/* Returns how many files were removed, or a negative errno that was reported. */
static int make_room(const struct snap *s, const char *name)
{
	int ret = snap_keep_make_room(s->opt.output, s->opt.keep, name);

	if (ret < 0)
		complain(ABOUT_OUTPUT, ret, "%s: removing the oldest", s->opt.output);
	return ret;
}

/* If two snapshots come in the same millisecond, the second one waits. */
static int write_new(const struct snap *s, const struct snap_data *d, char **name)
{
	int ret = -EEXIST;

	for (int tries = 0; tries < 1000 && ret == -EEXIST; tries++) {
		if (tries)
			usleep(1000);
		free(*name);
		*name = snap_keep_name(s->opt.output);
		ret = *name ? snap_data_write_new(d, *name) : -ENOMEM;
	}
	return ret;
}

/*
 * The oldest file goes when the new one has its name, or before, where the disk has no room for
 * both; after that, one signal no longer ends the snapshot.
 */
static int write_named(struct snap *s, struct snap_data *d, char **name)
{
	int ret = write_new(s, d, name), removed = 0;

	if (ret == -ENOSPC || ret == -EDQUOT)
		removed = make_room(s, *name);
	if (removed > 0) {
		d->signals = 1;
		ret = write_new(s, d, name);
	}
	if (ret)
		return snap_data_not_written(*name ? *name : s->opt.output, ret);
	if (!s->opt.quiet)
		snapshot_say(&s->shot, *name);
	ret = make_room(s, *name);
	return ret < 0 ? ret : 0;
}

static int write_by_time(struct snap *s, struct snap_data *d)
{
	char *name = NULL;
	int ret = write_named(s, d, &name);

	free(name);
	return ret;
}

static int write_snapshot(struct snap *s)
{
	struct snap_data *d = calloc(1, sizeof(*d));
	int ret;

	if (!d)
		return complain(ABOUT_OUTPUT, ENOMEM, "%s", s->opt.output);
	d->head = s->head;
	ret = snap_data_take(d, &s->shot, s->dir);
	s->head = d->head;
	if (!ret && stop_signals()) {
		say("%s: a signal came: this snapshot was not written", s->dir);
		ret = -EINTR;
	}
	if (!ret && snap_waits(&s->opt.trigger))
		ret = write_by_time(s, d);
	else if (!ret)
		ret = snap_data_write(d, s->opt.output);
	snap_data_free(d);
	free(d);
	return ret;
}

/* ---- All of it ---- */

/* Check before much is copied for an output that cannot be written. */
static int check_output(const struct snap *s)
{
	if (!s->opt.output)
		return sink_check_open("");
	return snap_waits(&s->opt.trigger) ? check_folder(s) : snap_data_check(s->opt.output);
}

static int take(struct snap *s)
{
	bool names = s->opt.output && snap_waits(&s->opt.trigger);
	int ret = check_output(s);

	if (!ret)
		ret = snapshot_open(&s->shot, &s->request);
	if (!ret)
		ret = s->opt.output ? write_snapshot(s) : print_snapshot(s);
	if (!ret && !s->opt.quiet && !names)
		snapshot_say(&s->shot, s->request.name);
	if (!ret && !s->opt.quiet && !s->shot.events)
		session_say_idle(s->session);
	if (ret == -EPIPE)
		ret = 0;
	s->lost |= !ret && snapshot_has_lost(&s->shot);
	/* A signal is the regular end of a recorder that waits. */
	s->failed |= ret && !(ret == -EINTR && names);
	snapshot_close(&s->shot);
	return ret;
}

/* A full disk may have room for the next snapshot; an instance that is gone stays gone. */
static bool may_go_on(int error)
{
	return !error || error == -ENOSPC || error == -EDQUOT || error == -EFBIG ||
	       error == -ENOMEM || error == -EAGAIN || error == -EBUSY;
}

static void take_each(struct snap *s)
{
	struct snap_wait *w = NULL;
	int ret = check_folder(s);

	if (!ret)
		ret = snapshot_check(&s->request);
	if (!ret)
		ret = snap_wait_begin(&w, &s->opt.trigger);
	if (!ret)
		ret = session_trace(s->session, true);
	if (!ret && !s->opt.quiet) {
		session_say_idle(s->session);
		say("%s: waiting; Ctrl-C ends it", s->request.name);
	}
	while (!ret && (ret = snap_wait_next(w)) > 0) {
		ret = take(s);
		if (may_go_on(ret) || ret == -EINTR)
			ret = 0;
	}
	s->failed |= ret < 0;
	s->failed |= !!snap_wait_end(w);
}

static int open_instance(struct snap *s)
{
	struct child none = CHILD_NONE;
	int ret = selection_open(&s->opt.sel, &s->session, &none, NULL);
	const char *name;

	if (ret)
		return ret;
	name = session_name(s->session);
	s->dir = session_dir(s->session);
	s->request = (struct snapshot_request){
		.dir = s->dir,
		.name = strcmp(name, SESSION_TOP) ? name : "top level",
		.cpus = s->opt.sel.cpus,
		.nr_cpus = s->opt.sel.nr_cpus,
		.last = s->opt.last,
	};
	return 0;
}

static int run(struct snap *s)
{
	if (open_instance(s))
		return EXIT_FAILED;
	signal(SIGXFSZ, SIG_IGN);	/* ulimit -f is an error like any other */
	if (snap_waits(&s->opt.trigger))
		take_each(s);
	else
		take(s);
	if (s->failed)
		return EXIT_FAILED;
	return s->opt.strict && s->lost ? EXIT_LOST : EXIT_OK;
}

/* ---- Options ---- */

static int take_output(void *to, const char *file)
{
	struct options *opt = to;

	opt->output = file;
	return value_output(file);
}

static int take_when(void *to, const char *event)
{
	struct options *opt = to;

	opt->trigger.when = event;
	return snap_wait_event(event);
}

static int take_signal(void *to, const char *name)
{
	struct options *opt = to;

	return snap_wait_signal(name, &opt->trigger.signal);
}

#define AT(field)	offsetof(struct options, field)

static const struct verb_option own_options[] = {
	{ .help = "Without these: what the top level has.\nWhat to take:" },
	{ 0, "last", OPTION_SECONDS, AT(last), "TIME",
	  .help = "only events of this last time: seconds, or 500ms, 10s, 5m, 1h" },
	{ .help = "Where to:" },
	{ 'o', "output", OPTION_CALL, 0, "FILE",
	  "a file for trace-cmd report and KernelShark, - for a pipe\n"
	  "(default: print the events)", take_output },
	{ 0, "json", OPTION_FLAG, AT(json), NULL, .help = "print a JSON object for each event" },
	{ 'q', "quiet", OPTION_FLAG, AT(quiet), NULL,
	  .help = "do not print the totals at the end" },
	{ 0, "strict", OPTION_FLAG, AT(strict), NULL,
	  .help = "exit with 3 if events were overwritten before they were read" },
	{ .help = "When, to files named by time (trace.dat: trace-20261125-235959.123.dat), "
		  "until Ctrl-C:" },
	{ 0, "when", OPTION_CALL, 0, "EVENT", "each time SYSTEM:EVENT[:FILTER] happens",
	  take_when },
	{ 0, "signal", OPTION_CALL, 0, "SIGNAL", "each time this signal comes, USR1 or USR2",
	  take_signal },
	{ 0, "every", OPTION_SECONDS, AT(trigger.every), "TIME",
	  .help = "each time this interval has passed" },
	{ 0, "after", OPTION_SECONDS, AT(trigger.after), "TIME",
	  .help = "this long after one of these, to see what came of it" },
	{ 0, "keep", OPTION_COUNT, AT(keep), "N",
	  .help = "keep at most this many files: the oldest are removed" },
	{ }
};

static const struct verb_options verb = {
	.verb = "snap",
	.usage =
	"usage: tracemap snap [OPTION]...\n"
	"Print what the buffers of an instance hold now, all CPUs in the order of time, or write\n"
	"it to a file. Tracing goes on, and nothing is taken from other readers.\n"
	"\n"
	"  tracemap snap -i mine --last 2s | less\n"
	"  tracemap snap -e sched -b 16M --last 5s --when oom:mark_victim --keep 5 -o oom.dat\n"
	"\n",
	.end =
	"\nExit status: 0; 1: it failed; 2: usage; 3: --strict.\n",
	.groups = {
		{ selection_options, AT(sel) },
		{ own_options },
	},
};

static int check_options(struct options *opt)
{
	bool waits = snap_waits(&opt->trigger);

	if (!waits && !opt->sel.instance) {
		say("an instance of its own is empty at first: --when, --signal or --every say when to take a snapshot; or use -i, for an instance that is set up");
		return -EINVAL;
	}
	if (opt->json && opt->output) {
		say("--json prints, and -o writes another format: choose one");
		return -EINVAL;
	}
	if (!waits && (opt->trigger.after || opt->keep)) {
		say("--after and --keep go with --when, --signal or --every");
		return -EINVAL;
	}
	if (waits && opt->output && !strcmp(opt->output, "-")) {
		say("--when, --signal and --every write files: - cannot be used, -o FILE names them");
		return -EINVAL;
	}
	if (opt->output && !strcmp(opt->output, "-") && sink_check())
		return -EINVAL;
	if (waits && !opt->output) {
		say("--when, --signal and --every write files: -o FILE names them");
		return -EINVAL;
	}
	return 0;
}

/* Returns as options_parse() does. */
static int parse_options(struct options *opt, int argc, char **argv)
{
	struct selection *sel = &opt->sel;
	char **command;
	int given, ret;

	/* Larger sub-buffers make an event cheaper to record. */
	sel->large_subbufs = true;
	given = options_parse(&verb, opt, argc, argv);
	if (given <= 0)
		return given;
	if (selection_is_empty(sel) && !sel->instance)
		sel->instance = SESSION_TOP;
	ret = selection_command(sel, argc, argv, &command);
	if (!ret)
		ret = check_options(opt);
	return ret ? ret : given;
}

int cmd_snap(int argc, char **argv)
{
	struct snap s = { .out = { .fd = STDOUT_FILENO } };
	int ret = parse_options(&s.opt, argc, argv), status = EXIT_USAGE;

	if (!ret)
		status = EXIT_OK;
	else if (ret > 0)
		status = run(&s);
	if (session_close(s.session) && status == EXIT_OK)
		status = EXIT_FAILED;
	output_free(&s.out);
	trace_head_free(s.head);
	selection_free(&s.opt.sel);
	return status;
}

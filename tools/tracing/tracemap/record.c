// SPDX-License-Identifier: GPL-2.0
/*
 * tracemap record: write events to a file for trace-cmd report and KernelShark.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "advice.h"
#include "buffers.h"
#include "clock.h"
#include "loop.h"
#include "record_end.h"
#include "recording.h"
#include "selection.h"
#include "session.h"
#include "sink.h"
#include "split.h"
#include "stop.h"
#include "temp_file.h"
#include "trace_dat_zstd.h"
#include "values.h"
#include "verbs.h"

enum {
	TICK_MS		= 250,	/* how far the file of a killed recorder may be behind */
	STALE_MS	= 1000,	/* the same, where all there is should not be read often */
	NAP_MS		= 10,	/* no buffer fills in this time */
};

struct request {
	struct selection selection;
	const char *output;		/* its name */
	bool piped;			/* it is standard output */
	const char *restore;		/* a file: only finish it */
	char **command;
	struct split split;
	double duration;		/* seconds, 0: no limit */
	unsigned long long size;	/* bytes, 0: no limit */
	bool compress;
	bool strict;
	bool quiet;
};

/* All that is open while it runs. */
struct run {
	const struct request *request;
	struct session *session;
	struct tracemap *t;
	struct recording recording;
	struct record_end end;
	struct loop loop;
	char *path;		/* of the file, if there are several; else NULL */
	unsigned long first;	/* the number of the first of these, */
	unsigned long number;	/* and of this one */
	double split_at;	/* when another one begins; 0: that is not known */
	double started;
	double ticked;
	double took_all;
	uint64_t enough;	/* bytes of a CPU that end a wait; 0: as buffer_percent says */
	bool by_copy;		/* read(2), see recording_pull() */
	bool any_event;		/* ends the wait while nothing comes, see how_to_wait() */
	bool naps;		/* buffer_percent is that of another program, and no use */
	bool idle;		/* there was nothing when all was taken last */
	bool more;		/* some CPU had its whole turn when all were asked last */
	bool fresh;		/* something was taken since the last look at the counters */
	bool terminal;		/* progress is shown */
	bool failed;
};

static double now(void)
{
	return now_ns() / 1e9;
}

/* ---- What is asked for ---- */

static int take_output(void *to, const char *file)
{
	struct request *request = to;

	request->piped = !strcmp(file, "-");
	request->output = request->piped ? "standard output" : file;
	return value_output(file);
}

static int take_compress(void *to, const char *none)
{
	struct request *request = to;

	(void)none;
	request->compress = TRACE_DAT_HAS_ZSTD;
	if (TRACE_DAT_HAS_ZSTD)
		return 0;
	say("--compress: it was built without libzstd (Debian: libzstd-dev): trace-cmd convert --compression zstd compresses a file");
	return -EINVAL;
}

#define AT(field)	offsetof(struct request, field)

static const struct verb_option own_options[] = {
	{ .help = "\nHow:" },
	{ 'o', "output", OPTION_CALL, 0, "FILE",
	  "default: trace.dat; - is standard output, which gets the whole\n"
	  "file when the recording has ended, and nothing before", take_output },
	{ 0, "compress", OPTION_CALL, 0, NULL, "by zstd, when the recording has ended",
	  take_compress },
	{ 0, "way", OPTION_WAY, AT(selection.way), "WAY",
	  .help = "read, map or observe, which takes nothing from others\n"
	  "(default: the cheapest that takes)" },
	{ 0, "subbuf", OPTION_CALL, AT(selection), "SIZE",
	  "of the sub-buffers, where this kernel can set it\n"
	  "(default: 64k)", selection_subbuf },
	{ 0, "strict", OPTION_FLAG, AT(strict), NULL,
	  .help = "exit with 3 if events were lost, or taken by others" },
	{ 'q', "quiet", OPTION_FLAG, AT(quiet), NULL,
	  .help = "print neither the progress nor the totals at the end" },
	{ .help = "\nIn several files, FILE.1, FILE.2 and so on:" },
	{ 0, "split", OPTION_CALL, AT(split), "SIZE|TIME",
	  "begin another file after so many bytes, e.g. 100M, or\n"
	  "after a time, e.g. 10m", split_take },
	{ 0, "keep", OPTION_COUNT, AT(split.keep), "N",
	  .help = "remove an old file when there are more than N" },
	{ .help = "\nWhen to stop:" },
	{ 0, "duration", OPTION_SECONDS, AT(duration), "TIME",
	  .help = "seconds, or 500ms, 10s, 5m, 1h" },
	{ 0, "size", OPTION_SIZE, AT(size), "SIZE",
	  .help = "after so many bytes of data, k, M, G, T understood" },
	{ .help = "\nAfter it was killed:" },
	{ 0, "restore", OPTION_TEXT, AT(restore), "FILE",
	  .help = "move its events, which are in FILE.cpu0 and so on, into FILE" },
	{ }
};

static const struct verb_options verb = {
	.verb = "record",
	.usage =
	"usage: tracemap record [-o FILE] [OPTION]... [-- COMMAND [ARGUMENT]...]\n"
	"       tracemap record --restore FILE\n\n"
	"Record events into a file that trace-cmd report and KernelShark open, until\n"
	"Ctrl-C, or until the command has ended.\n\n",
	.end =
	"\nExamples:\n"
	"  ssh HOST tracemap record -e sched -o - --duration 5 | tracemap report -\n"
	"  tracemap record -e sched -o sched.dat --split 1h --keep 24\n"
	"The COMMAND finds the folder of the instance in $TRACEMAP_INSTANCE.\n"
	"With -o - the data are kept in the folder $TMPDIR (default: /var/tmp) meanwhile.\n"
	"Exit status: 0, or the COMMAND's; 1: it failed; 2: usage; 3: --strict.\n",
	.command = true,
	.groups = {
		{ selection_options, AT(selection) },
		{ selection_child_options, AT(selection) },
		{ own_options },
	},
};

/* @given: how many options there are */
static int check_restore(const struct request *request, int given)
{
	if (request->output) {
		say("--restore FILE makes a whole file of FILE itself: it goes with no -o");
		return -EINVAL;
	}
	if (request->compress) {
		say("--restore moves the events as they are: it goes with no --compress; trace-cmd convert --compression zstd compresses a file");
		return -EINVAL;
	}
	if (!request->command && given == 1 + request->quiet)
		return 0;
	say("--restore records nothing: the only other option it goes with is -q");
	return -EINVAL;
}

static int check_split(const struct request *request)
{
	if (!split_is_asked(&request->split) && !request->split.keep)
		return 0;
	if (request->output[strlen(request->output) - 1] == '/')
		return recording_refused(-EISDIR, request->output, NULL);
	if (!split_is_asked(&request->split))
		say("--keep goes with --split SIZE or TIME, which makes several files");
	else if (request->piped)
		say("--split makes several files, and standard output is one: name them by -o FILE");
	else if (request->compress)
		say("--split goes with no --compress: trace-cmd convert --compression zstd compresses each file");
	else
		return 0;
	return -EINVAL;
}

/* 1: go on; 0: help was asked for; or a negative errno, said. */
static int parse(struct request *request, int argc, char **argv)
{
	int given, ret;

	request->selection.large_subbufs = true;
	request->selection.records = true;
	given = options_parse(&verb, request, argc, argv);
	if (given <= 0)
		return given;
	ret = selection_command(&request->selection, argc, argv, &request->command);
	if (!ret && request->restore)
		ret = check_restore(request, given - 1);
	if (ret || request->restore)
		return ret ? ret : 1;
	if (!request->output)
		take_output(request, "trace.dat");
	if (selection_is_empty(&request->selection) && !request->selection.instance) {
		say("nothing to record: -e names events, -p a tracer, -i an instance that is set up");
		return -EINVAL;
	}
	ret = check_split(request);
	if (!ret && request->piped)
		ret = sink_check();
	return ret ? ret : 1;
}

/* ---- Opening ---- */

static bool has_live_index(const struct run *run)
{
	return session_live_index(session_dir(run->session)) != -EOPNOTSUPP;
}

/*
 * While events come, a wait ends when a quarter of a buffer is there, so that there is room for
 * what is written until that was taken. Where no event comes, any event ends it: what is in the
 * buffers of an instance of its own is lost if the recorder is killed. In another program's
 * instance, only buffer_percent ends a wait by read(2) or without a live index: there the recorder
 * looks once a second, and if buffer_percent is 0, or nearly the whole buffer, it naps instead.
 */
static void how_to_wait(struct run *run, uint64_t quarter)
{
	char *percent;
	int part;

	run->by_copy = tracemap_cpu_way(tracemap_get_cpu(run->t, 0)) == TRACEMAP_READ;
	run->any_event = true;
	if (!run->by_copy && has_live_index(run)) {
		run->enough = quarter;
		return;
	}
	if (session_is_own(run->session))
		return;
	percent = session_get(run->session, "buffer_percent");
	part = percent ? atoi(percent) : 0;
	free(percent);
	run->naps = part <= 0 || part > 50;
	run->any_event = run->naps;
}

static int open_buffers(struct run *run)
{
	struct tracemap_options o = tracemap_default_options();
	const char *dir = session_dir(run->session);
	int ret;

	o.way = run->request->selection.way;
	o.nr_cpus = run->request->selection.nr_cpus;
	o.cpus = run->request->selection.cpus;
	o.flags = session_is_own(run->session) ? TRACEMAP_OWN : 0;
	loop_begin(&run->loop);
	/* An instance that was there keeps what it has. */
	session_try(run->session, "buffer_percent", "25");
	ret = tracemap_open(&run->t, dir, &o);
	if (ret)
		return buffers_refused(ret, dir, dir, &o);
	how_to_wait(run, session_quarter_of_buffer(run->session) ?: 65536);
	return 0;
}

/* ---- In several files ---- */

static const char *file_of(const struct run *run)
{
	return run->path ? run->path : run->request->output;
}

/* Behind those of earlier recordings */
static int name_first(struct run *run)
{
	if (!split_is_asked(&run->request->split))
		return 0;
	run->first = split_first(run->request->output);
	run->number = run->first;
	run->path = split_path(run->request->output, run->number);
	return run->path ? 0 : complain(ABOUT_OUTPUT, ENOMEM, "%s", run->request->output);
}

/* The second process has to know of a file, and an old one may go for it. */
static void tell_file(const struct run *run)
{
	unsigned long long keep = run->request->split.keep;
	char *old = NULL;

	session_add_recording(run->session, file_of(run));
	if (keep && run->number > keep)
		old = split_path(run->request->output, run->number - keep);
	if (old)
		session_drop_recording(run->session, old);
	free(old);
}

/* A file without data stays: where nothing comes, nothing is to be done. */
static bool is_split_due(struct run *run)
{
	const struct split *split = &run->request->split;
	uint64_t size = trace_dat_size(run->recording.dat->file);

	if (size && split->seconds && !run->split_at)
		run->split_at = now() + split->seconds;
	return (split->size && size >= split->size) || (run->split_at && now() >= run->split_at);
}

/*
 * All that was taken is written. The second process moves the data into the file so far, which
 * may take longer than the buffers can wait.
 */
static int begin_next(struct run *run)
{
	char *path = split_path(run->request->output, run->number + 1);
	struct trace_dat *old;
	int ret = path ? record_end_next(&run->end, path, &old) :
			 complain(ABOUT_OUTPUT, ENOMEM, "%s", run->request->output);

	run->failed |= run->end.failed || ret;
	if (ret) {
		free(path);
		return ret;
	}
	free(run->path);
	run->path = path;
	run->end.file = path;
	run->number++;
	run->split_at = 0;
	tell_file(run);
	trace_dat_close(old);
	return 0;
}

/* Milliseconds until another file begins; -1: it is not by time, or there is no data. */
static int until_split(const struct run *run)
{
	const double day = 24 * 60 * 60;
	double left = run->split_at - now();

	if (!run->split_at)
		return -1;
	return left > 0 ? (left < day ? left : day) * 1000 + 1 : 0;
}

/* ---- Opening all of it ---- */

static int open_recording(struct run *run)
{
	int ret = recording_open(&run->recording, run->t, session_dir(run->session),
				 run->request->piped ? NULL : file_of(run));

	if (ret)
		return ret;
	run->recording.dat->starts = session_is_own(run->session);
	run->recording.dat->losses.swapped = session_may_swap(run->session, run->t);
	if (!run->request->piped)
		tell_file(run);
	return 0;
}

/* Before there are other processes, which have what is standard output then. */
static int open_pipe(struct run *run)
{
	if (run->request->piped)
		run->end.pipe = sink_take_stdout();
	return run->request->piped && run->end.pipe < 0 ? run->end.pipe : 0;
}

static int open_all(struct run *run)
{
	int ret = open_pipe(run) ?: name_first(run);

	if (!ret)
		ret = selection_open(&run->request->selection, &run->session, &run->loop.child,
				     run->request->command);
	if (!ret)
		ret = open_buffers(run);
	if (!ret)
		ret = open_recording(run);
	return ret ? ret : session_trace(run->session, true);
}

/* ---- While it runs ---- */

static void print_sums(const struct run *run, const struct tracemap_dat_figures *sums, FILE *to)
{
	char bytes[32];

	record_end_bytes(bytes, sizeof(bytes), sums->bytes);
	fprintf(to, "%s: %llu events, %s%llu lost, ", run->request->output,
		(unsigned long long)sums->events, sums->at_least ? "at least " : "",
		(unsigned long long)losses_least(sums->lost, sums->at_least));
	if (sums->unwritten)
		fprintf(to, "%llu of these read and not written, ",
			(unsigned long long)sums->unwritten);
	fputs(bytes, to);
}

static void clear_progress(const struct run *run)
{
	if (run->terminal)
		fputs("\r\33[K", stderr);
}

/* The error is there still at the end, when what is left is taken: it is said once. */
static int write_failed(struct run *run)
{
	int error = recording_error(&run->recording);

	if (run->end.write_failed)
		return error;
	clear_progress(run);
	run->end.write_failed = true;
	run->failed = true;
	complain(ABOUT_OUTPUT, error, "%s",
		 run->request->piped ? temp_folder() : file_of(run));
	return error;
}

static int read_failed(struct run *run, int error, int cpu)
{
	clear_progress(run);
	run->failed = true;
	if (cpu < 0)
		return complain(ABOUT_BUFFER, error, "reading");
	return complain(ABOUT_BUFFER, error, "CPU %d", cpu);
}

/* Returns 0 if it can go on after recording_pull() has returned @ret, or a negative errno, said. */
static int check_pull(struct run *run, const struct track *track, int ret)
{
	if (recording_error(&run->recording))
		return write_failed(run);
	/* What is damaged has been written as it is, and is passed. */
	if (ret < 0 && ret != -EBADMSG && ret != -EINTR && ret != -ENODATA)
		return read_failed(run, ret, tracemap_cpu_number(track->cpu));
	return 0;
}

/* Take of each CPU. Returns how many sub-buffers came, or a negative errno, said. */
static int pull_all(struct run *run, bool whole)
{
	struct recording *r = &run->recording;
	int sum = 0;

	run->more = false;
	for (unsigned int i = 0; i < r->nr_tracks; i++) {
		int ret = recording_pull(r->tracks[i], whole);
		int failed = check_pull(run, r->tracks[i], ret);

		if (failed)
			return failed;
		run->more |= ret >= DAT_TURN_MAX;
		/* After a signal there may be more. */
		sum += ret > 0 ? ret : ret == -EBADMSG || ret == -EINTR;
	}
	run->fresh |= sum > 0;
	return sum;
}

/* ---- Going on ---- */

/*
 * Returns whether there may be more now, or a negative errno, said. A buffer that is filling
 * slowly is left to become fuller.
 */
static int take(struct run *run)
{
	bool whole = run->by_copy && !run->idle && now() - run->took_all < STALE_MS / 1000.0;
	int ret = pull_all(run, whole);

	if (ret >= 0 && !whole) {
		run->took_all = now();
		run->idle = !ret;
	}
	return ret < 0 ? ret : run->more;
}

static void gone(struct run *run)
{
	if (!run->end.pipe_gone)
		clear_progress(run);
	run->failed = true;
	record_end_gone(&run->end);
}

/* The counters are files to read, for each CPU: not if nothing was taken since. */
static void tell_progress(struct run *run)
{
	struct tracemap_dat_figures sums;

	run->fresh = false;
	tracemap_dat_figures(run->recording.dat, &sums);
	if (!run->terminal)
		return;
	fputc('\r', stderr);
	print_sums(run, &sums, stderr);
	fprintf(stderr, ", %.0f s\33[K", run->ticked - run->started);
}

/* Now and then, while there are events. */
static void tick(struct run *run)
{
	double at = now();

	if (!run->fresh || at - run->ticked < TICK_MS / 1000.0)
		return;
	run->ticked = at;
	if (run->end.pipe >= 0 && sink_is_gone(run->end.pipe))
		gone(run);
	tell_progress(run);
}

static int take_turn(void *arg)
{
	struct run *run = arg;
	int ret = take(run);

	if (ret < 0)
		return ret;
	tick(run);
	return is_split_due(run) ? begin_next(run) ?: ret : ret;
}

/* CPUs that came since. */
static int add_cpus(void *arg)
{
	struct run *run = arg;

	return recording_add_cpus(&run->recording, session_dir(run->session));
}

static bool is_over(void *arg)
{
	const struct run *run = arg;

	if (run->end.pipe_gone)
		return true;
	return run->request->size && dat_size(run->recording.dat) >= run->request->size;
}

/* Until what is in the buffers by now has to be in the file; -1: there is nothing. */
static int patience(const struct run *run)
{
	double left = (run->enough ? TICK_MS : STALE_MS) / 1000.0 - (now() - run->took_all);

	if (run->idle && run->any_event)
		return -1;
	return left > 0 ? left * 1000 + 1 : 0;
}

static int sleep_till_more(void *arg)
{
	struct run *run = arg;
	struct pollfd pipe = { .fd = run->end.pipe };	/* its reader may go */
	struct tracemap *t = run->naps && !run->idle ? NULL : run->t;
	int ms = t ? patience(run) : NAP_MS, split = until_split(run), ret;

	tracemap_set_wake_bytes(run->t, run->idle && run->any_event ? 1 : run->enough);
	ret = loop_wait(&run->loop, t, &pipe, 1, split >= 0 && (ms < 0 || split < ms) ? split : ms);
	if (pipe.revents)
		gone(run);
	return ret < 0 ? read_failed(run, ret, -1) : 0;
}

static const struct loop_verb recording = {
	.is_over = is_over,
	.take = take_turn,
	.sleep = sleep_till_more,
	.add_cpus = add_cpus,
};

/* ---- The end ---- */

/* To the end that was set. A writer may be too quick for a copy: then it is tried again. */
static int drain_cpu(struct run *run, struct track *track)
{
	int ret = 1, failed;

	while (ret != -ENODATA && stop_signals() < 2) {
		if (!ret)
			stop_wait(-1, 1);
		ret = recording_pull(track, false);
		failed = check_pull(run, track, ret);
		if (failed)
			return failed;
		run->fresh = true;
		tick(run);
	}
	return 0;
}

/*
 * What is in the buffers by now; a second signal gives that up. Where another program's tracing
 * goes on, the buffers never empty.
 */
static void drain(struct run *run)
{
	int ret;

	session_trace(run->session, false);
	if (!session_is_own(run->session))
		losses_until_now(&run->recording.dat->losses);
	if (recording_error(&run->recording))
		return;
	ret = tracemap_until_now(run->t);
	if (ret)
		read_failed(run, ret, -1);
	for (unsigned int i = 0; !ret && i < run->recording.nr_tracks; i++)
		ret = drain_cpu(run, run->recording.tracks[i]);
}

/* What has become of it. */
static void print_end(const struct record_end *end, FILE *to)
{
	unsigned int emptied = dat_emptied(end->recording->dat);
	char bytes[32];

	if (emptied)
		fprintf(to, "; the buffers were emptied meanwhile, at least %s",
			emptied > 1 ? "" : "once");
	if (emptied > 1)
		fprintf(to, "%u times", emptied);
	record_end_bytes(bytes, sizeof(bytes), end->compressed);
	if (end->compressed)
		fprintf(to, "; the compressed file has %s", bytes);
	if (end->missing)
		fprintf(to, "; %s", end->missing);
}

static void sum_up(struct run *run, const struct tracemap_dat_figures *sums)
{
	const struct losses *losses = &run->recording.dat->losses;

	clear_progress(run);
	if (!run->request->quiet) {
		fputs("tracemap: ", stderr);
		print_sums(run, sums, stderr);
		print_end(&run->end, stderr);
		if (run->path)
			fprintf(stderr, "; the last of %lu file%s is %s",
				run->number - run->first + 1, plural(run->number - run->first + 1),
				run->path);
		fputc('\n', stderr);
		session_say_others(run->session, losses_others(losses),
				   losses_others_at_least(losses) ||
				   dat_emptied(run->recording.dat));
	}
}

static void close_all(struct run *run)
{
	loop_end(&run->loop);
	recording_close(&run->recording);
	tracemap_close(run->t);
	if (session_close(run->session))
		run->failed = true;
	free(run->path);
}

/*
 * The buffers may have more that is not written. What goes with an instance of the command's
 * own is lost, and counted.
 */
static void give_up(struct run *run)
{
	if (session_is_own(run->session))
		dat_give_up(run->recording.dat);
	dat_write_tails(run->recording.dat);
}

/* The recording has ended before its time: the command need not. */
static bool command_goes_on(struct run *run)
{
	struct child *child = &run->loop.child;

	return (recording_error(&run->recording) || run->end.pipe_gone) && child->pid &&
	       child->go < 0 && !stop_signals() && !child_ended(child);
}

/* The command may use the instance until it ends. */
static void wait_for_command(struct run *run, const char *name)
{
	if (!command_goes_on(run))
		return;
	say("%s goes on, without being recorded", name);
	loop_wait_for_child(&run->loop);
}

/* All of it is open: record, to the end. Returns what to exit with. */
static int record(struct run *run)
{
	struct tracemap_dat_figures sums;
	const char *name = run->request->command ? run->request->command[0] : NULL;
	int ret;

	if (!run->request->quiet)
		session_say_how(run->session, run->t, run->request->selection.way);
	run->end.recording = &run->recording;
	run->end.dir = session_dir(run->session);
	run->end.file = file_of(run);
	run->end.compress = run->request->compress;
	run->end.quiet = run->request->quiet;
	run->started = now();
	ret = loop_start(&run->loop, run->request->duration, name);
	if (!ret && !loop_run(&run->loop, run->t, &recording, run))
		run->failed = true;
	drain(run);
	if (!command_goes_on(run))
		child_stop(&run->loop.child);
	if (recording_error(&run->recording) || stop_signals() >= 2)
		give_up(run);
	else
		dat_count_losses(run->recording.dat);
	run->failed |= !record_end_finish(&run->end);
	dat_count_losses(run->recording.dat);
	tracemap_dat_figures(run->recording.dat, &sums);
	sum_up(run, &sums);
	wait_for_command(run, name);
	if (run->failed)
		return EXIT_FAILED;
	if (ret)
		return child_not_started(ret);
	if (run->request->strict &&
	    (sums.lost || sums.at_least || losses_others(&run->recording.dat->losses)))
		return EXIT_LOST;
	return name ? child_exit_status(&run->loop.child, name) : EXIT_OK;
}

/* The file may have been begun. It is whole, without data, if nothing was recorded. */
static int not_begun(struct run *run)
{
	const struct tracemap_dat *dat = run->recording.dat;

	if (dat && dat->file && !run->request->piped)
		trace_dat_finish(dat->file, NULL);
	return child_not_begun(&run->loop.child);
}

static void nothing(int sig)
{
	(void)sig;
}

/* Where ulimit -f says how large a file may be, writing more is an error only. */
static void survive_large_files(void)
{
	struct sigaction sa = { .sa_handler = nothing };

	sigaction(SIGXFSZ, &sa, NULL);
}

int cmd_record(int argc, char **argv)
{
	struct request request = { .selection.way = TRACEMAP_CONSUME };
	struct run run = {
		.request = &request,
		.loop = LOOP_INIT,
		.end.pipe = -1,
	};
	int ret = parse(&request, argc, argv), status = ret ? EXIT_USAGE : EXIT_OK;

	survive_large_files();
	if (ret > 0 && request.restore) {
		status = record_end_restore(request.restore, request.quiet);
	} else if (ret > 0) {
		run.terminal = isatty(STDERR_FILENO) && !request.quiet;
		status = open_all(&run) ? not_begun(&run) : record(&run);
		close_all(&run);
		if (status == EXIT_OK && run.failed)
			status = EXIT_FAILED;
	}
	selection_free(&request.selection);
	return status;
}

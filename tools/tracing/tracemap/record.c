// SPDX-License-Identifier: GPL-2.0
/*
 * tracemap record: write events to a file for trace-cmd report and KernelShark.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tracemap-event.h>

#include "advice.h"
#include "child.h"
#include "hotplug.h"
#include "output.h"
#include "recording.h"
#include "selection.h"
#include "session.h"
#include "stop.h"
#include "values.h"
#include "verbs.h"

enum {
	OPTION_WAY = 0x200,
	OPTION_DURATION,
	OPTION_SIZE,
	OPTION_LIVE,
	OPTION_SUBBUF,
	OPTION_STRICT,
};

enum {
	TICK_MS		= 250,	/* how far a killed recorder's file may be behind */
	STALE_MS	= 1000,	/* the same, where all there is should not be read often */
	LIVE_MS		= 100,	/* the same, and --live */
	HOTPLUG_MS	= 1000,
	TURN		= 4096,	/* events printed, then other things are looked at */
};

struct request {
	struct selection selection;
	const char *output;
	char **command;
	enum tracemap_way way;
	double duration;		/* seconds, 0: no limit */
	unsigned long long size;	/* bytes, 0: no limit */
	unsigned long long subbuf;	/* bytes, 0: as it is */
	bool live;
	bool strict;
	bool quiet;
};

/* All that is open while it runs. */
struct run {
	const struct request *request;
	struct session *session;
	struct child child;
	struct tracemap *t;
	struct recording recording;
	struct tracemap_merge *merge;		/* with --live */
	struct tracemap_decoder *decoder;
	struct output out;
	struct hotplug hotplug;
	double started;
	double ticked;
	double took_all;
	uint64_t quarter;	/* bytes of a CPU's buffer */
	bool by_copy;		/* read(2), see recording_fill() */
	bool terminal;		/* progress is shown */
	bool mute;		/* what --live prints goes nowhere any more */
	bool failed;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* ---- What is asked for ---- */

static const char usage[] =
	"usage: tracemap record [-o FILE] [OPTION]... [-- COMMAND [ARGUMENT]...]\n\n"
	"Record events into a file that trace-cmd report and KernelShark open, until\n"
	"Ctrl-C, or until the command has ended.\n\n"
	SELECTION_HELP
	"\nHow:\n"
	"  -o, --output FILE     default: trace.dat\n"
	"      --live            print the events while they are recorded\n"
	"      --way WAY         read or map, instead of what is cheapest here\n"
	"      --subbuf SIZE     of the sub-buffers, where this kernel can set it\n"
	"      --strict          exit with 3 if events were lost\n"
	"  -q, --quiet           no progress, and no sum at the end\n"
	"\nWhen to stop:\n"
	"      --duration SECONDS\n"
	"      --size SIZE       after so many bytes of data, k, M, G understood\n"
	"\nThe COMMAND finds the folder of the instance in $TRACEMAP_INSTANCE.\n"
	"Exit status: 0, or the COMMAND's; 1: it failed; 2: usage; 3: --strict.\n";

static const struct option options[] = {
	SELECTION_OPTIONS,
	{ "output", required_argument, NULL, 'o' },
	{ "duration", required_argument, NULL, OPTION_DURATION },
	{ "size", required_argument, NULL, OPTION_SIZE },
	{ "live", no_argument, NULL, OPTION_LIVE },
	{ "way", required_argument, NULL, OPTION_WAY },
	{ "subbuf", required_argument, NULL, OPTION_SUBBUF },
	{ "strict", no_argument, NULL, OPTION_STRICT },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static int parse_option(struct request *request, int option, const char *arg)
{
	int ret = selection_option(&request->selection, option, arg);

	if (ret)
		return ret < 0 ? ret : 0;
	switch (option) {
	case 'o':
		request->output = arg;
		return 0;
	case 'q':
		request->quiet = true;
		return 0;
	case OPTION_DURATION:
		return value_seconds("--duration", arg, &request->duration);
	case OPTION_SIZE:
		return value_size("--size", arg, &request->size);
	case OPTION_SUBBUF:
		return value_size("--subbuf", arg, &request->subbuf);
	case OPTION_LIVE:
		request->live = true;
		return 0;
	case OPTION_STRICT:
		request->strict = true;
		return 0;
	case OPTION_WAY:
		return value_way(arg, false, &request->way);
	default:
		return -EINVAL;	/* said by getopt_long() */
	}
}

/* 1: go on; 0: help was asked for; or a negative errno, said. */
static int parse(struct request *request, int argc, char **argv)
{
	int option, ret;

	request->output = "trace.dat";
	while ((option = getopt_long(argc, argv, "+" SELECTION_SHORT "o:qh", options, NULL)) >= 0) {
		if (option == 'h') {
			fputs(usage, stdout);
			return 0;
		}
		ret = parse_option(request, option, optarg);
		if (ret)
			return ret;
	}
	ret = selection_command(&request->selection, argc, argv, &request->command);
	if (ret)
		return ret;
	if (selection_is_empty(&request->selection) && !request->selection.instance) {
		say("nothing to record: -e names events, -p a tracer, -i an instance that is set up");
		return -EINVAL;
	}
	return 1;
}

/* ---- Opening ---- */

/* When it is so full it is time to come, and early enough. */
static uint64_t quarter_of_buffer(const struct session *session)
{
	char *text = session_get(session, "buffer_size_kb");
	unsigned long kb = text ? strtoul(text, NULL, 10) : 0;

	free(text);
	return kb ? kb * 1024 / 4 : 65536;
}

/*
 * The buffer is made of whole sub-buffers, two at least: with larger ones it may
 * grow, and does not shrink again by itself. So its size is put back last.
 */
static int set_subbuf_size(struct run *run)
{
	char kb[32];
	int ret;

	if (!run->request->subbuf)
		return 0;
	ret = session_keep(run->session, "buffer_size_kb");
	if (ret)
		return ret;
	snprintf(kb, sizeof(kb), "%llu", (run->request->subbuf + 1023) / 1024);
	return session_set(run->session, "buffer_subbuf_size_kb", kb);
}

static int open_buffers(struct run *run)
{
	struct tracemap_options o = tracemap_default_options();
	int ret;

	o.way = run->request->way;
	o.nr_cpus = run->request->selection.nr_cpus;
	o.cpus = run->request->selection.cpus;
	/* First: a CPU that comes while they are opened is to be looked for. */
	hotplug_begin(&run->hotplug, HOTPLUG_MS);
	run->quarter = quarter_of_buffer(run->session);
	o.wake_bytes = run->request->live ? 1 : run->quarter;
	ret = tracemap_open(&run->t, session_dir(run->session), &o);
	if (ret)
		return complain(ABOUT_BUFFER, ret, "%s", session_dir(run->session));
	run->by_copy = tracemap_cpu_way(tracemap_get_cpu(run->t, 0)) == TRACEMAP_READ;
	return 0;
}

static int open_recording(struct run *run)
{
	char *top;
	int ret = tracemap_find_dir(&top, NULL);

	if (ret)
		return complain(ABOUT_TRACEFS, ret, "tracing");
	ret = recording_open(&run->recording, run->t, top, session_dir(run->session),
			     run->request->output);
	free(top);
	return ret;
}

/* Each CPU's records come to the merge when they are written. */
static int add_sources(struct run *run, unsigned int from)
{
	int ret = 0;

	for (unsigned int i = from; i < run->recording.nr_tracks && !ret && run->merge; i++) {
		struct tracemap_source source = {
			.cpu = tracemap_cpu_number(run->recording.tracks[i]->cpu),
			.arg = run->recording.tracks[i],
			.next = recording_next,
			.release = recording_release,
		};

		ret = tracemap_merge_add_source(run->merge, &source);
	}
	return ret ? complain(ABOUT_BUFFER, ret, "merge") : 0;
}

static int open_live(struct run *run)
{
	char *tracer;
	int ret;

	if (!run->request->live)
		return 0;
	ret = tracemap_merge_new(&run->merge, NULL);
	if (!ret)
		ret = tracemap_decoder_new(&run->decoder, session_dir(run->session));
	if (ret)
		return complain(ABOUT_TRACEFS, ret, "%s: formats of events",
				session_dir(run->session));
	tracer = session_get(run->session, "current_tracer");
	tracemap_text_header(run->decoder, tracer, &run->out.line);
	free(tracer);
	return add_sources(run, 0);
}

static int open_all(struct run *run)
{
	int ret = session_open(&run->session, run->request->selection.instance);

	if (!ret)
		ret = stop_on_signals();
	if (!ret)
		ret = set_subbuf_size(run);
	if (!ret)
		ret = selection_apply(&run->request->selection, run->session);
	if (!ret)
		ret = selection_prepare_child(&run->request->selection, run->session, &run->child,
					      run->request->command);
	if (!ret)
		ret = open_buffers(run);
	if (!ret)
		ret = open_recording(run);
	if (!ret)
		ret = open_live(run);
	return ret ? ret : selection_switch_on(&run->request->selection, run->session);
}

/* ---- While it runs ---- */

static void print_bytes(char *text, size_t size, uint64_t bytes)
{
	static const char units[] = "KMGT";
	double value = bytes / 1024.0;
	int unit = 0;

	while (value >= 1024 && units[unit + 1]) {
		value /= 1024;
		unit++;
	}
	snprintf(text, size, "%.1f %ciB", value, units[unit]);
}

static void print_sums(const struct run *run, const struct recording_sums *sums, FILE *to)
{
	char bytes[32];

	print_bytes(bytes, sizeof(bytes), sums->bytes);
	fprintf(to, "%s: %llu events, %s%llu lost, %s", run->request->output,
		(unsigned long long)sums->events, sums->at_least ? "at least " : "",
		(unsigned long long)sums->lost + sums->at_least, bytes);
}

static void clear_progress(const struct run *run)
{
	if (run->terminal)
		fputs("\r\33[K", stderr);
}

static int write_failed(struct run *run)
{
	int error = run->recording.write_error;

	clear_progress(run);
	run->failed = true;
	complain(ABOUT_OUTPUT, error, "%s", run->request->output);
	say("the recording ends here; what it says it has can be read");
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

/* Take of each CPU. Returns how many sub-buffers came, or a negative errno, said. */
static int pull_all(struct run *run, enum recording_share share)
{
	struct recording *r = &run->recording;
	int sum = 0;

	for (unsigned int i = 0; i < r->nr_tracks; i++) {
		int ret = recording_pull(r->tracks[i], share);

		if (r->write_error)
			return write_failed(run);
		/* What is damaged has been written as it is, and is passed. */
		if (ret < 0 && ret != -EBADMSG && ret != -EINTR)
			return read_failed(run, ret, tracemap_cpu_number(r->tracks[i]->cpu));
		sum += ret > 0 ? ret : ret == -EBADMSG;
	}
	return sum;
}

static int print_failed(struct run *run, int error)
{
	run->mute = true;
	/* "| head" has had enough. */
	if (error == -EPIPE || error == -EINTR)
		return error;
	run->failed = true;
	return complain(ABOUT_OUTPUT, error, "standard output, after %llu whole lines",
			run->out.lines);
}

/* Once that has failed, what is left is recorded all the same. */
static int print(struct run *run, struct tracemap_record *rec)
{
	if (run->mute)
		return 0;
	output_begin_line(&run->out);
	tracemap_text(run->decoder, rec, &run->out.line);
	return output_end_line(&run->out);
}

/* The same, in the order of time, printed; at most @budget events. 1: there were some. */
static int print_all(struct run *run, uint64_t budget)
{
	struct tracemap_record rec;
	int ret = 0, error = 0;
	uint64_t n = 0;

	while (n < budget && !error && (ret = tracemap_merge_next(run->merge, &rec)) > 0) {
		error = print(run, &rec);
		n++;
	}
	if (!error && !run->mute)
		error = output_flush(&run->out);
	if (error)
		return print_failed(run, error);
	if (run->recording.write_error)
		return write_failed(run);
	if (ret < 0 && ret != -EBADMSG && ret != -EINTR)
		return read_failed(run, ret, tracemap_merge_failed_cpu(run->merge));
	return n || ret < 0;
}

static int take_all(struct run *run)
{
	run->took_all = now();
	return run->merge ? print_all(run, TURN) : pull_all(run, RECORDING_TURN);
}

static int take(struct run *run)
{
	if (run->by_copy && !run->merge && now() - run->took_all < STALE_MS / 1000.0)
		return pull_all(run, RECORDING_WHOLE);
	return take_all(run);
}

static void tick(struct run *run)
{
	struct recording_sums sums;
	double at = now();

	if (at - run->ticked < TICK_MS / 1000.0)
		return;
	run->ticked = at;
	trace_dat_sync(run->recording.dat);
	recording_sum_up(&run->recording, &sums);
	if (!run->terminal)
		return;
	fputc('\r', stderr);
	print_sums(run, &sums, stderr);
	fprintf(stderr, ", %.0f s\33[K", at - run->started);
}

/* CPUs that came since. One that cannot be opened does not keep the others out. */
static int look_for_cpus(struct run *run)
{
	unsigned int before = run->recording.nr_tracks;
	int ret, added;

	if (!hotplug_happened(&run->hotplug, now() * 1000))
		return 0;
	ret = tracemap_rescan(run->t);
	added = recording_add_cpus(&run->recording, session_dir(run->session));
	if (ret >= 0)
		ret = added;
	if (ret < 0) {
		run->failed = true;
		complain(ABOUT_BUFFER, ret, "a CPU that came online");
	}
	return add_sources(run, before);
}

static bool is_over(struct run *run)
{
	const struct request *request = run->request;

	return stop_signals() ||
	       (run->child.pid && child_ended(&run->child)) ||
	       (request->duration && now() - run->started >= request->duration) ||
	       (request->size && trace_dat_size(run->recording.dat) >= request->size);
}

/* Not past the end that was asked for, and not past a tick. */
static int wait_ms(const struct run *run)
{
	double left = run->request->duration - (now() - run->started);
	int ms = TICK_MS;

	if (run->request->duration && left * 1000 < ms)
		ms = left > 0 ? left * 1000 + 1 : 0;
	return run->merge ? tracemap_merge_timeout(run->merge, ms) : ms;
}

static bool any_is_filling(const struct run *run)
{
	for (unsigned int i = 0; i < run->recording.nr_tracks; i++) {
		if (recording_fill(run->recording.tracks[i]) >= run->quarter)
			return true;
	}
	return false;
}

/* Until a buffer fills, looking ever more seldom. */
static int wait_for_filling(struct run *run, int ms)
{
	int step = 1, left = run->merge && ms > LIVE_MS ? LIVE_MS : ms;

	for (; left > 0 && !any_is_filling(run); left -= step) {
		struct timespec ts = { .tv_nsec = step * 1000000L };

		if (nanosleep(&ts, NULL))
			return -errno;
		if (step < 16)
			step *= 2;
	}
	return 0;
}

static int sleep_till_more(struct run *run)
{
	int ms = wait_ms(run);

	return run->by_copy ? wait_for_filling(run, ms) : tracemap_wait(run->t, ms);
}

static void read_on(struct run *run)
{
	int ret = 0;

	while (ret >= 0 && !is_over(run)) {
		ret = take(run);
		if (ret < 0)
			return;
		tick(run);
		if (!ret)
			ret = sleep_till_more(run);
		if (ret == -EINTR)
			ret = 0;
		if (ret < 0)
			read_failed(run, ret, -1);
		else
			ret = look_for_cpus(run);
	}
}

/* ---- The end ---- */

/*
 * What is in the buffers still; a second signal gives that up. In an instance of
 * somebody else's tracing goes on, and the buffers never empty.
 */
static void drain(struct run *run)
{
	bool own = session_is_own(run->session);

	if (run->merge)
		tracemap_merge_flush(run->merge);
	if (own)
		session_trace(run->session, false);
	while (own && !run->recording.write_error && stop_signals() < 2 && take_all(run) > 0)
		tick(run);
	if (own)
		return;
	if (run->merge)
		print_all(run, recording_unread(&run->recording) + 4096);
	else
		pull_all(run, RECORDING_PRESENT);
}

static void finish_file(struct run *run)
{
	bool compact;
	int ret;

	if (!run->recording.dat)
		return;
	ret = trace_head_refresh(run->recording.head);
	if (ret)
		complain(ABOUT_TRACEFS, ret, "%s", session_dir(run->session));
	ret = trace_dat_finish(run->recording.dat, &compact);
	if (ret == -E2BIG) {
		run->failed = true;
		say("%s: no room for the formats of %u events that were enabled meanwhile: theirs are not decoded",
		    run->request->output, trace_head_forget_late(run->recording.head));
		ret = trace_dat_finish(run->recording.dat, &compact);
	}
	if (ret) {
		run->failed = true;
		complain(ABOUT_OUTPUT, ret, "%s", run->request->output);
	} else if (!compact) {
		say("%s has holes, and looks larger than it is: cp --sparse=always makes a copy as small",
		    run->request->output);
	}
}

static void sum_up(struct run *run, const struct recording_sums *sums)
{
	clear_progress(run);
	if (!run->request->quiet) {
		fputs("tracemap: ", stderr);
		print_sums(run, sums, stderr);
		fputc('\n', stderr);
	}
}

static void close_all(struct run *run)
{
	child_stop(&run->child);
	tracemap_merge_free(run->merge);
	tracemap_decoder_free(run->decoder);
	tracemap_line_free(&run->out.line);
	hotplug_end(&run->hotplug);
	recording_close(&run->recording);
	tracemap_close(run->t);
	if (session_close(run->session))
		run->failed = true;
}

/* All of it is open: record, to the end. Returns what to exit with. */
static int record(struct run *run)
{
	struct recording_sums sums;
	const char *name = run->request->command ? run->request->command[0] : NULL;
	bool ran;

	if (!run->request->quiet)
		session_say_how(run->session, run->t);
	run->started = now();
	ran = !child_start(&run->child, name);
	if (ran)
		read_on(run);
	drain(run);
	child_stop(&run->child);
	finish_file(run);
	recording_sum_up(&run->recording, &sums);
	/* What was given up goes with its instance. */
	if (session_is_own(run->session) && (run->recording.write_error || stop_signals() >= 2))
		sums.lost += recording_unread(&run->recording);
	sum_up(run, &sums);
	if (run->failed)
		return EXIT_FAILED;
	if (run->request->strict && (sums.lost || sums.at_least))
		return EXIT_LOST;
	return name ? child_exit_status(&run->child, name) : EXIT_OK;
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
	struct request request = { .way = TRACEMAP_CONSUME };
	struct run run = {
		.request = &request,
		.child = CHILD_NONE,
		.out.fd = STDOUT_FILENO,
	};
	int ret = parse(&request, argc, argv), status = ret ? EXIT_USAGE : EXIT_OK;

	if (ret > 0) {
		survive_large_files();
		run.terminal = isatty(STDERR_FILENO) && !request.live && !request.quiet;
		status = open_all(&run) ? EXIT_FAILED : record(&run);
		close_all(&run);
		if (status == EXIT_OK && run.failed)
			status = EXIT_FAILED;
	}
	selection_free(&request.selection);
	return status;
}

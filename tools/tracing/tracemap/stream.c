// SPDX-License-Identifier: GPL-2.0
/*
 * tracemap stream: print events as they happen, all CPUs in the order of time.
 */
#include <errno.h>
#include <poll.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tracemap-event.h>
#include <tracemap.h>

#include "advice.h"
#include "buffers.h"
#include "clock.h"
#include "loop.h"
#include "losses.h"
#include "output.h"
#include "selection.h"
#include "session.h"
#include "sink.h"
#include "stop.h"
#include "values.h"
#include "verbs.h"

/* Check for signals after this many events, even if there are always more */
#define TURN		4096	/* events */
#define REST_TURN	64	/* events, at the end, which may be some 10 ms away */

/*
 * Output wakes its reader, which may be traced as well. So that the two do not keep each other
 * busy, a little that comes right after other output waits until there is more.
 */
#define LITTLE		256	/* events */
#define LITTLE_WAIT_MS	10

#define NR_BEGUN	65536	/* -C takes no CPU with a larger number */

struct options {
	struct selection sel;
	char **command;		/* NULL: none */
	bool json;
	bool strict;
	bool quiet;
	bool from_now;
	unsigned long long count;	/* 0: no limit */
	double duration;		/* seconds, 0: no limit */
	const char *until;
};

struct stream {
	struct options opt;
	struct session *session;
	struct tracemap *t;
	struct tracemap_merge *m;
	struct tracemap_decoder *decoder;
	struct output out;
	struct loop loop;
	regex_t until;
	unsigned long long taken;	/* events, by the last turn */
	unsigned long long events;
	unsigned long long lost;
	struct losses losses;
	bool drops_new_events;		/* the instance, rather than overwriting old ones */
	uint64_t last_ts;
	bool enough;			/* count or match reached */
	bool given_up;			/* not all was printed that was there at the end */
	bool ended;			/* nothing more is taken out of the buffers */
	bool incomplete;		/* a CPU is not read, which was reported */
	int error;			/* of reading, which was reported */
	int out_error;			/* of writing */
};

static uint64_t now_ms(void)
{
	return now_ns() / 1000000;
}

static int begin_merge(struct stream *s)
{
	int ret = tracemap_merge_new(&s->m, NULL);

	return ret ? ret : tracemap_merge_add_all(s->m, s->t);
}

/* ---- A record ---- */

/* What the CPU with this number tells ahead of the next event of its. */
static void told(struct stream *s, int cpu, uint64_t missed, uint32_t flags)
{
	if (flags & TRACEMAP_RESET)
		losses_emptied(&s->losses, cpu);
	losses_told(&s->losses, cpu, missed);
}

static void count_loss(struct stream *s, const struct tracemap_record *rec)
{
	if (rec->missed != TRACEMAP_MISSED_UNKNOWN)
		s->lost += rec->missed;
}

static int decode(struct stream *s, const struct tracemap_record *rec)
{
	if (s->opt.json)
		return tracemap_json(s->decoder, rec, &s->out.line);
	return tracemap_text(s->decoder, rec, &s->out.line);
}

static bool matches(struct stream *s)
{
	return s->opt.until && s->out.line.text &&
		!regexec(&s->until, s->out.line.text + s->out.start, 0, NULL, 0);
}

static void check_limits(struct stream *s)
{
	const struct options *opt = &s->opt;

	s->enough = (opt->count && s->events >= opt->count) || matches(s);
}

static void print_record(struct stream *s, const struct tracemap_record *rec)
{
	int ret;

	output_begin_line(&s->out);
	ret = decode(s, rec);
	count_loss(s, rec);
	if (rec->data)
		s->events++;
	if (rec->ts)
		s->last_ts = rec->ts;
	if (!ret) {
		check_limits(s);
		ret = rec->data ? output_end_event(&s->out) : output_end_line(&s->out);
	}
	s->out_error = ret;
}

/* After all events were printed, print the losses that only the counters include. */
static void print_losses(struct stream *s, uint64_t (*of)(struct losses *l, unsigned int i))
{
	for (unsigned int i = 0; i < tracemap_nr_cpus(s->t) && !s->out_error; i++) {
		struct tracemap_record rec = {
			.ts = s->last_ts,
			.cpu = tracemap_cpu_number(tracemap_get_cpu(s->t, i)),
			.missed = of(&s->losses, i),
		};

		if (rec.missed)
			print_record(s, &rec);
	}
}

/*
 * Switching tracing on under the tracer function empties the buffers. In an instance of its own
 * that is how the stream starts: the first record of a CPU needs not tell it.
 */
static void drop_own_start(struct stream *s, struct tracemap_record *rec)
{
	static bool begun[NR_BEGUN];
	const char *tracer = s->opt.sel.tracer;

	if (!tracer || strcmp(tracer, "function") || !session_is_own(s->session) ||
	    rec->cpu >= NR_BEGUN || begun[rec->cpu])
		return;
	begun[rec->cpu] = true;
	rec->flags &= ~TRACEMAP_RESET;
}

/* ---- Reading on ---- */

static bool may_go_on(const struct stream *s, int signals)
{
	return !s->error && !s->out_error && !s->enough && stop_signals() <= signals;
}

static void reading_failed(struct stream *s, int error)
{
	int cpu = tracemap_merge_failed_cpu(s->m);

	s->error = error;
	if (cpu >= 0)
		complain(ABOUT_BUFFER, error, "CPU %d", cpu);
	else
		complain(ABOUT_BUFFER, error, "reading");
}

/* Beside a writer that is faster, the merge reads ahead for a while with each event it gives. */
static bool is_time(const struct stream *s)
{
	return s->loop.deadline && now_ns() >= s->loop.deadline;
}

/*
 * Print what there is, at most @budget events; a signal past @signals ends it, and the end of the
 * time if that is 0. Returns whether there may be more.
 */
static bool take(struct stream *s, int signals, unsigned long long budget)
{
	struct tracemap_record rec;
	int ret;

	for (; budget && may_go_on(s, signals) && (signals || !is_time(s)); budget--) {
		ret = tracemap_merge_next(s->m, &rec);
		if (ret == -EINTR)
			continue;
		if (ret < 0 && ret != -ENODATA)
			reading_failed(s, ret);
		if (ret <= 0)
			return false;
		told(s, rec.cpu, rec.missed, rec.flags);
		drop_own_start(s, &rec);
		if (rec.data || rec.missed || rec.flags)
			print_record(s, &rec);
	}
	return true;
}

/* Also print calls that wait for the next event, as there is none now. */
static int flush(struct stream *s)
{
	int ret = 0;

	if (!s->opt.json) {
		output_begin_line(&s->out);
		tracemap_text_end(s->decoder, &s->out.line);
		ret = output_end_line(&s->out);
	}
	return ret ? ret : output_flush(&s->out);
}

static void sleep_till_more(struct stream *s)
{
	struct pollfd out = { .fd = s->out.fd };	/* its reader may go */
	int ret;

	if (!s->out_error)
		s->out_error = flush(s);
	if (!may_go_on(s, 0))
		return;
	ret = loop_wait(&s->loop, s->t, &out, 1, tracemap_merge_timeout(s->m, -1));
	if (ret < 0)
		reading_failed(s, ret);
	if (out.revents)
		s->out_error = -EPIPE;
}

/* Wait until there is more to print; @before: when output was last written, in ms. */
static void let_it_grow(const struct stream *s, uint64_t before)
{
	uint64_t since = now_ms() - before;

	if (!s->taken || s->taken >= LITTLE || since >= LITTLE_WAIT_MS || !may_go_on(s, 0))
		return;
	stop_wait(-1, LITTLE_WAIT_MS - since);
}

static bool limit_is_reached(void *arg)
{
	return !may_go_on(arg, 0);
}

static int take_turn(void *arg)
{
	struct stream *s = arg;
	unsigned long long before = s->events;

	take(s, 0, TURN);
	s->taken = s->events - before;
	return s->taken == TURN;
}

static int wait_for_more(void *arg)
{
	struct stream *s = arg;
	uint64_t written;

	/* If no record waits for its turn, everything before has been printed. */
	if (s->drops_new_events && tracemap_merge_timeout(s->m, -1) < 0)
		print_losses(s, losses_dropped);
	written = now_ms();
	sleep_till_more(s);
	let_it_grow(s, written);
	return 0;
}

static int add_cpus(void *arg)
{
	struct stream *s = arg;

	return s->error ? 0 : tracemap_merge_add_all(s->m, s->t);
}

static const struct loop_verb streaming = {
	.is_over = limit_is_reached,
	.take = take_turn,
	.sleep = wait_for_more,
	.add_cpus = add_cpus,
};

/* ---- The end ---- */

/*
 * Where another program goes on tracing, the buffers never become empty: take what is there now,
 * and leave what comes later to the next consumer. The merge holds a record of each CPU, behind
 * which these copy nothing: begin another. Returns whether that was possible.
 */
static bool end_now(struct stream *s)
{
	int ret, merged;

	s->ended = true;
	tracemap_merge_free(s->m);
	s->m = NULL;
	losses_until_now(&s->losses);
	ret = tracemap_until_now(s->t);
	merged = begin_merge(s);
	if (ret || merged)
		s->error = complain(ABOUT_BUFFER, ret ? ret : merged, "reading");
	return !s->error;
}

/* The end has come while the reader of the output is waited for. */
static void end_while_printing(void *arg)
{
	struct stream *s = arg;

	if (may_go_on(s, 1))
		end_now(s);
}

/*
 * Print what is left. After a signal or the end of the time it takes OUTPUT_PRINT_MS at most:
 * events that were read ahead while the reader of the output was slow would take minutes.
 */
static void print_rest(struct stream *s)
{
	bool more;

	do {
		more = take(s, 1, REST_TURN);
	} while (more && may_go_on(s, 1) && output_end_ms(&s->out) < OUTPUT_PRINT_MS);
	s->given_up = more && !s->enough;
}

/* Print what was there when the stream was asked to end; a second signal stops that. */
static void take_rest(struct stream *s)
{
	/* In an instance of its own nothing comes any more. */
	if (!session_is_own(s->session) && !s->ended && !end_now(s))
		return;
	/* The kernel may have learnt the command's name when that ended. */
	tracemap_decoder_refresh(s->decoder);
	tracemap_merge_flush(s->m);
	print_rest(s);
	if (!may_go_on(s, 1))
		return;
	print_losses(s, losses_dropped);
	/* Where not all was taken, these may lie in front of what was left. */
	if (!s->given_up)
		print_losses(s, losses_untold);
}

static void sum_up(const struct stream *s)
{
	bool at_least = losses_at_least(&s->losses);

	if (s->opt.quiet)
		return;
	say("%llu events, %s%llu lost", s->out.events, at_least ? "at least " : "",
	    (unsigned long long)losses_least(s->lost, at_least));
	session_say_others(s->session, losses_others(&s->losses),
			   losses_others_at_least(&s->losses));
}

/* For --strict. What the reader of the output did not want does not count. */
static bool is_incomplete(const struct stream *s)
{
	return s->lost || (s->given_up && !s->out_error) || losses_at_least(&s->losses) ||
	       losses_others(&s->losses);
}

static int finish(struct stream *s)
{
	if (!s->out_error)
		s->out_error = flush(s);
	/* end_now() has looked already, and others may have gone on since. */
	if (!s->ended)
		losses_until_now(&s->losses);
	sum_up(s);
	if (s->out_error ? output_failed(&s->out, s->out_error) : s->error || s->incomplete)
		return EXIT_FAILED;
	if (s->opt.strict && is_incomplete(s))
		return EXIT_LOST;
	return s->opt.command && !s->out_error ?
		child_exit_status(&s->loop.child, s->opt.command[0]) : EXIT_OK;
}

/* ---- The beginning ---- */

static int open_buffers(struct stream *s)
{
	struct tracemap_options options = tracemap_default_options();
	const char *dir = session_dir(s->session);
	int ret;

	options.way = s->opt.sel.way;
	options.flags = (s->opt.from_now ? TRACEMAP_FROM_NOW : 0) |
			(session_is_own(s->session) ? TRACEMAP_OWN : 0);
	options.nr_cpus = s->opt.sel.nr_cpus;
	options.cpus = s->opt.sel.cpus;
	loop_begin(&s->loop);
	ret = tracemap_open(&s->t, dir, &options);
	if (ret)
		return buffers_refused(ret, dir, dir, &options);
	ret = begin_merge(s);
	return ret < 0 ? complain(ABOUT_BUFFER, ret, "merging") : 0;
}

static void print_header(struct stream *s)
{
	char *tracer;

	if (s->opt.json)
		return;
	tracer = session_get(s->session, "current_tracer");
	tracemap_text_header(s->decoder, tracer, &s->out.line);
	free(tracer);
}

static bool drops_new_events(const struct session *session)
{
	char *overwrite = session_get(session, "options/overwrite");
	bool drops = overwrite && *overwrite == '0';

	free(overwrite);
	return drops;
}

static int start(struct stream *s)
{
	int ret = sink_check_open("");

	if (!ret)
		ret = selection_open(&s->opt.sel, &s->session, &s->loop.child, s->opt.command);
	if (!ret)
		ret = open_buffers(s);
	if (ret)
		return ret;
	ret = tracemap_decoder_new(&s->decoder, session_dir(s->session));
	if (ret)
		return formats_refused(ret, session_dir(s->session));
	tracemap_decoder_prepare(s->decoder);
	output_never_wait(&s->out);
	losses_begin(&s->losses, s->t);
	s->losses.swapped = session_may_swap(s->session, s->t);
	s->drops_new_events = drops_new_events(s->session);
	return session_trace(s->session, true);
}

static int run(struct stream *s)
{
	int ret = start(s);

	if (ret)
		return child_not_begun(&s->loop.child);
	if (!s->opt.quiet)
		session_say_how(s->session, s->t, s->opt.sel.way);
	print_header(s);
	ret = loop_start(&s->loop, s->opt.duration, s->opt.command ? s->opt.command[0] : NULL);
	if (ret)
		return child_not_started(ret);
	s->out.deadline = s->loop.deadline;
	s->out.arg = s;
	/* Where the stream switches tracing off, what comes until then is its own. */
	if (!session_is_own(s->session))
		s->out.at_end = end_while_printing;
	s->incomplete = !loop_run(&s->loop, s->t, &streaming, s);
	s->out.at_end = NULL;
	session_trace(s->session, false);
	if (may_go_on(s, 1))
		take_rest(s);
	s->given_up |= stop_signals() > 1;
	child_stop(&s->loop.child);
	return finish(s);
}

static int clean_up(struct stream *s, int status)
{
	loop_end(&s->loop);
	tracemap_merge_free(s->m);
	tracemap_close(s->t);
	tracemap_decoder_free(s->decoder);
	losses_end(&s->losses);
	output_free(&s->out);
	if (session_close(s->session) && status == EXIT_OK)
		status = EXIT_FAILED;
	return status;
}

/* ---- Options ---- */

#define AT(field)	offsetof(struct options, field)

static const struct verb_option own_options[] = {
	{ .help = "How to read:" },
	{ 0, "way", OPTION_WAY, AT(sel.way), "WAY",
	  .help = "read: a copy, on any kernel; map: consume through mmap();\n"
	  "observe: consume nothing (default: the cheapest way)" },
	{ 0, "from-now", OPTION_FLAG, AT(from_now), NULL,
	  .help = "not the events that are already in the buffers" },
	{ .help = "What to print:" },
	{ 0, "json", OPTION_FLAG, AT(json), NULL, .help = "a JSON object for each event" },
	{ 'q', "quiet", OPTION_FLAG, AT(quiet), NULL,
	  .help = "print neither how the buffers are read nor the totals at the end" },
	{ 0, "strict", OPTION_FLAG, AT(strict), NULL,
	  .help = "exit with 3 if events were lost, or taken by others" },
	{ .help = "When to stop:" },
	{ 0, "duration", OPTION_SECONDS, AT(duration), "TIME",
	  .help = "seconds, or 500ms, 10s, 5m, 1h" },
	{ 0, "count", OPTION_COUNT, AT(count), "N", .help = "after this many events" },
	{ 0, "until", OPTION_TEXT, AT(until), "REGEX",
	  .help = "after the first line that matches" },
	{ }
};

static const struct verb_options verb = {
	.verb = "stream",
	.usage =
	"usage: tracemap stream [OPTION]... [-- COMMAND [ARGUMENT]...]\n"
	"Print events as they happen, all CPUs in the order of time, in the format of the\n"
	"kernel's own file \"trace\". Until the COMMAND ends, or until Ctrl-C.\n\n",
	.end =
	"\nThe COMMAND finds the folder of the instance in $TRACEMAP_INSTANCE.\n"
	"Exit status: 0, or the COMMAND's; 1: it failed; 2: usage; 3: --strict.\n",
	.command = true,
	.groups = {
		{ selection_options, AT(sel) },
		{ selection_child_options, AT(sel) },
		{ own_options },
	},
};

static int check_options(struct stream *s)
{
	struct options *opt = &s->opt;
	const char *until = opt->until;
	char text[256];
	int ret;

	if (selection_is_empty(&opt->sel) && !opt->sel.instance && !opt->command) {
		say("nothing to trace: -e EVENT, -p TRACER, or -i INSTANCE to read what is traced there");
		return -EINVAL;
	}
	if (!opt->until)
		return 0;
	ret = regcomp(&s->until, opt->until, REG_EXTENDED | REG_NOSUB | REG_NEWLINE);
	if (!ret)
		return 0;
	regerror(ret, &s->until, text, sizeof(text));
	opt->until = NULL;
	return value_wrong("--until", until, text);
}

/* Returns as options_parse() does. */
static int parse_options(struct stream *s, int argc, char **argv)
{
	int given = options_parse(&verb, &s->opt, argc, argv);
	int ret = given > 0 ? selection_command(&s->opt.sel, argc, argv, &s->opt.command) : given;

	if (given > 0 && !ret)
		ret = check_options(s);
	return ret ? ret : given;
}

int cmd_stream(int argc, char **argv)
{
	struct stream s = {
		.loop = LOOP_INIT,
		.out = { .fd = STDOUT_FILENO },
	};
	int ret = parse_options(&s, argc, argv);
	int status = EXIT_USAGE;

	if (!ret)
		status = EXIT_OK;
	else if (ret > 0)
		status = clean_up(&s, run(&s));
	if (s.opt.until)
		regfree(&s.until);
	selection_free(&s.opt.sel);
	return status;
}

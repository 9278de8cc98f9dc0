// SPDX-License-Identifier: GPL-2.0
/*
 * tracemap report: print the events of a trace.dat, as stream would have printed them.
 * libtracecmd reads the file.
 */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <trace-cmd.h>

#include "advice.h"
#include "events.h"
#include "output.h"
#include "report_stats.h"
#include "selection.h"
#include "stop.h"
#include "trace_dat.h"
#include "values.h"
#include "verbs.h"

/* libtracecmd has it for trace-cmd report, and its header does not tell. */
const char *tracecmd_get_trace_clock(struct tracecmd_input *file) __attribute__((weak));

#define NR_LOOKED_AT	1000	/* events of a CPU, for those of a tracer */
#define NR_IDS	65536		/* of events: the kernel has 16 bits for them */

struct options {
	struct selection sel;	/* -e, -f, -C, -i */
	const char *file;
	const char **tasks;	/* names or numbers of processes */
	unsigned int nr_tasks;
	uint64_t from, to;	/* time stamps, ns */
	bool json, stats, strict, quiet;
};

struct report {
	struct options opt;
	struct tracecmd_input *file, *buffer;
	struct tracemap_decoder *decoder;
	unsigned char *wanted;	/* by event id; NULL: all */
	struct tep_event_filter *filter;	/* NULL: there is none */
	struct report_stats stats;
	struct output out;
	unsigned long long events, lost;
	bool at_least;		/* more were lost than is known */
	int error;
};

/* ---- Which events ---- */

static bool is_task(struct report *r, const char *task, int pid)
{
	char *end;
	long number = strtol(task, &end, 10);

	if (*task && !*end && number == pid)
		return true;
	return !strcmp(tracemap_decoder_comm(r->decoder, pid), task);
}

static bool is_of_task(struct report *r, const struct tracemap_record *rec)
{
	int pid = tracemap_decoder_pid(r->decoder, rec);

	for (unsigned int i = 0; i < r->opt.nr_tasks; i++) {
		if (is_task(r, r->opt.tasks[i], pid))
			return true;
	}
	return !r->opt.nr_tasks;
}

static bool is_selected(struct report *r, const struct tracemap_record *rec,
			struct tep_record *record)
{
	int id = tracemap_record_id(rec);

	if (rec->ts < r->opt.from || rec->ts > r->opt.to)
		return false;
	if (r->wanted && (id < 0 || !r->wanted[id]))
		return false;
	if (r->filter && rec->size && tep_filter_match(r->filter, record) == TEP_ERRNO__FILTER_MISS)
		return false;
	return is_of_task(r, rec);
}

/* ---- Printing ---- */

static int print_record(struct report *r, const struct tracemap_record *rec)
{
	int ret;

	output_begin_line(&r->out);
	if (r->opt.json)
		ret = tracemap_json(r->decoder, rec, &r->out.line);
	else
		ret = tracemap_text(r->decoder, rec, &r->out.line);
	return ret ? ret : output_end_line(&r->out);
}

static void count(struct report *r, const struct tracemap_record *rec)
{
	if (rec->data)
		r->events++;
	if (rec->missed == TRACEMAP_MISSED_UNKNOWN)
		r->at_least = true;
	else
		r->lost += rec->missed;
}

/* A loss is told even if the event behind it is not selected. */
static int take(struct tracecmd_input *buffer, struct tep_record *record, int cpu, void *arg)
{
	struct report *r = arg;
	struct tracemap_record rec = {
		.ts = record->ts,
		.data = record->data,
		/* Of a damaged page it may be negative. */
		.size = record->size < 0 ? 0 : record->size,
		.cpu = cpu,
		.missed = record->missed_events < 0 ? TRACEMAP_MISSED_UNKNOWN :
						      (uint64_t)record->missed_events,
	};

	(void)buffer;
	if (!is_selected(r, &rec, record)) {
		rec.data = NULL;
		rec.size = 0;
		if (!rec.missed)
			return stop_signals() > 0;
	}
	count(r, &rec);
	if (r->opt.stats)
		r->error = report_stats_add(&r->stats, r->decoder, &rec);
	else
		r->error = print_record(r, &rec);
	return r->error || stop_signals() > 0;
}

static cpu_set_t *cpu_set(const struct selection *sel, size_t *size)
{
	int most = 0;
	cpu_set_t *set;

	for (unsigned int i = 0; i < sel->nr_cpus; i++)
		most = sel->cpus[i] > most ? sel->cpus[i] : most;
	*size = CPU_ALLOC_SIZE(most + 1);
	set = CPU_ALLOC(most + 1);
	if (!set)
		return NULL;
	CPU_ZERO_S(*size, set);
	for (unsigned int i = 0; i < sel->nr_cpus; i++)
		CPU_SET_S(sel->cpus[i], *size, set);
	return set;
}

static int print_all(struct report *r, const char *tracer)
{
	cpu_set_t *cpus = NULL;
	size_t size = 0;

	if (r->opt.sel.nr_cpus) {
		cpus = cpu_set(&r->opt.sel, &size);
		if (!cpus)
			return -ENOMEM;
	}
	if (!r->opt.json && !r->opt.stats)
		tracemap_text_header(r->decoder, tracer, &r->out.line);
	tracecmd_iterate_events(r->buffer, cpus, size, take, r);
	if (cpus)
		CPU_FREE(cpus);
	if (r->error)
		return r->error;
	output_begin_line(&r->out);
	if (r->opt.stats)
		report_stats_print(&r->stats, r->decoder, r->opt.json, &r->out.line);
	else if (!r->opt.json)
		tracemap_text_end(r->decoder, &r->out.line);
	output_escape_line(&r->out);
	return output_flush(&r->out);
}

/* ---- The file ---- */

static void close_file(struct tracecmd_input *file, struct tracecmd_input *buffer)
{
	if (buffer && buffer != file)
		tracecmd_close(buffer);
	if (file)
		tracecmd_close(file);
}

static void cannot_read(const struct report *r)
{
	say("%s: it is no trace.dat, is damaged, or is compressed in a way that libtracecmd does not know; if a recording was cut short, tracemap record --restore %s mends it",
	    r->opt.file, r->opt.file);
}

/* A pipe would be waited for. Returns 0 or a negative errno, said. */
static int check_file(const struct report *r)
{
	struct stat st;

	if (stat(r->opt.file, &st) || access(r->opt.file, R_OK)) {
		say("%s: %s%s", r->opt.file, strerror(errno),
		    errno == ENOENT ? ": tracemap record -o makes one" : "");
		return -errno;
	}
	if (!S_ISREG(st.st_mode)) {
		say("%s: it is no regular file: name a trace.dat", r->opt.file);
		return -EINVAL;
	}
	if (!trace_dat_is_unfinished(r->opt.file))
		return 0;
	say("%s: its recording goes on, or was cut short: then tracemap record --restore %s mends it",
	    r->opt.file, r->opt.file);
	return -EBUSY;
}

/*
 * NULL: it was said why. If the data of a file are cut, tracecmd_open() of libtracecmd 3.1
 * crashes, and so does tracecmd_close() of what it has begun with: that is left open.
 */
static struct tracecmd_input *open_file(const struct report *r)
{
	struct tracecmd_input *file;

	if (check_file(r))
		return NULL;
	file = tracecmd_open_head(r->opt.file, TRACECMD_FL_LOAD_NO_PLUGINS);
	if (file && !tracecmd_init_data(file))
		return file;
	cannot_read(r);
	return NULL;
}

static void say_buffers(const struct report *r, int nr)
{
	for (int i = 0; i < nr; i++)
		say("  -i %s", tracecmd_buffer_instance_name(r->file, i));
}

/* The buffer of -i, or the main one; NULL if there is none such. */
static struct tracecmd_input *find_buffer(const struct report *r, struct tracecmd_input *file)
{
	int nr = tracecmd_buffer_instances(file);
	const char *name = r->opt.sel.instance;

	if (!name || !strcmp(name, SESSION_TOP))
		return file;
	for (int i = 0; i < nr; i++) {
		if (!strcmp(tracecmd_buffer_instance_name(file, i), name))
			return tracecmd_buffer_instance_handle(file, i);
	}
	return NULL;
}

static int choose_buffer(struct report *r)
{
	int nr = tracecmd_buffer_instances(r->file);

	r->buffer = find_buffer(r, r->file);
	if (!r->buffer) {
		say("%s has no buffer of an instance \"%s\"%s", r->opt.file, r->opt.sel.instance,
		    nr ? "; it has:" : ", but the main one alone");
		say_buffers(r, nr);
		return -ENOENT;
	}
	if (nr > 0 && !r->opt.sel.instance && !r->opt.quiet) {
		say("these are the events of the main buffer; %s has others:", r->opt.file);
		say_buffers(r, nr);
	}
	return 0;
}

static const char *tracer_of(struct tep_handle *tep, struct tep_record *record)
{
	struct tep_event *event = tep_find_event_by_record(tep, record);

	if (!event || strcmp(event->system, "ftrace"))
		return NULL;
	if (!strncmp(event->name, "funcgraph_", 10))
		return "function_graph";
	return strcmp(event->name, "function") ? NULL : "function";
}

/*
 * The file does not tell the tracer, but one of the first events of a CPU does. libtracecmd
 * would not read these once more, so this opens the file a second time.
 */
static const char *find_tracer(const struct report *r)
{
	struct tracecmd_input *file = open_file(r), *buffer = file ? find_buffer(r, file) : NULL;
	struct tep_handle *tep = buffer ? tracecmd_get_tep(buffer) : NULL;
	const char *tracer = NULL;

	for (int cpu = 0; tep && cpu < tep_get_cpus(tep) && !tracer; cpu++) {
		struct tep_record *record = tracecmd_read_cpu_first(buffer, cpu);

		for (int n = 0; n < NR_LOOKED_AT && record && !tracer; n++) {
			tracer = tracer_of(tep, record);
			tracecmd_free_record(record);
			record = tracecmd_read_data(buffer, cpu);
		}
		tracecmd_free_record(record);
	}
	close_file(file, buffer);
	return tracer;
}

static void no_decoder(const struct report *r, int error)
{
	const char *why = strerror(-error);

	if (error == -EINVAL)
		why = "it is of a machine with the other byte order: use trace-cmd report";
	else if (error == -ENOENT)
		why = "it has no formats of the events";
	say("%s: %s", r->opt.file, why);
}

/* ---- What is selected ---- */

/* libtraceevent takes the name of a field that the event does not have for FALSE. */
static bool never_matches(struct tep_event_filter *filter, int id)
{
	char *text = tep_filter_make_string(filter, id);
	bool never = text && !strcmp(text, "FALSE");

	free(text);
	return never;
}

/* libtraceevent takes these, and does not know what they mean. */
static const char *wrong_with(const char *filter)
{
	size_t length = strlen(filter);

	while (length && filter[length - 1] == ' ')
		length--;
	if (!length || strchr("<>=!&|~(", filter[length - 1]))
		return "something is missing at its end";
	for (const char *at = filter; (at = strchr(at, '~')); at++) {
		if (at == filter || !strchr("=!", at[-1]))
			return "use =~ and a regular expression";
	}
	return NULL;
}

static int set_filter(struct report *r, struct tep_handle *tep, int id, const char *name,
		      const char *filter)
{
	const char *wrong = wrong_with(filter);
	char text[4096], why[256];
	enum tep_errno ret;

	if (wrong)
		return value_wrong("-f", filter, wrong);
	if (!r->filter)
		r->filter = tep_filter_alloc(tep);
	if (!r->filter)
		return -ENOMEM;
	if ((size_t)snprintf(text, sizeof(text), "%s:%s", name, filter) >= sizeof(text))
		return value_wrong("-f", filter, "it is too long");
	*strchr(text, ':') = '/';
	ret = tep_filter_add_filter_str(r->filter, text);
	if (ret < 0)
		tep_filter_strerror(r->filter, ret, why, sizeof(why));
	else if (never_matches(r->filter, id))
		snprintf(why, sizeof(why), "no event can match it: has it these fields?");
	else
		return 0;
	say("%s does not take the filter '%s': %s", name, filter, why);
	return -EINVAL;
}

static int select_event(struct report *r, struct tep_handle *tep,
			const struct selection_event *wanted)
{
	struct tep_event **list = tep_list_events(tep, TEP_EVENT_SORT_ID);
	unsigned int found = 0;
	int ret = 0;

	for (int i = 0; list && list[i] && !ret; i++) {
		char name[512];

		snprintf(name, sizeof(name), "%s:%s", list[i]->system, list[i]->name);
		if (!events_match(name, wanted->name) || list[i]->id >= NR_IDS)
			continue;
		found++;
		r->wanted[list[i]->id] = 1;
		if (wanted->filter)
			ret = set_filter(r, tep, list[i]->id, name, wanted->filter);
	}
	if (ret || found)
		return ret;
	say("-e %s: %s knows no such event; --stats tells which it has", wanted->name, r->opt.file);
	return -ENOENT;
}

static int select_events(struct report *r)
{
	struct tep_handle *tep = tracecmd_get_tep(r->buffer);
	const struct selection *sel = &r->opt.sel;
	int ret = 0;

	if (!sel->nr_events)
		return 0;
	r->wanted = calloc(NR_IDS, 1);
	if (!r->wanted)
		return -ENOMEM;
	for (unsigned int i = 0; i < sel->nr_events && !ret; i++)
		ret = select_event(r, tep, &sel->events[i]);
	return ret;
}

/* ---- All of it ---- */

static int finish(struct report *r, int ret)
{
	if (!r->opt.quiet)
		say("%llu events, %s%llu lost", r->events, r->at_least ? "at least " : "",
		    r->lost + r->at_least);
	if (ret == -EPIPE)	/* "| head" has had enough */
		return EXIT_OK;
	if (ret) {
		complain(ABOUT_OUTPUT, ret, "standard output, after %llu whole lines",
			 r->out.lines);
		return EXIT_FAILED;
	}
	if (stop_signals())
		return EXIT_FAILED;
	return r->opt.strict && (r->lost || r->at_least) ? EXIT_LOST : EXIT_OK;
}

static int run(struct report *r)
{
	const char *tracer;
	int ret = stop_on_signals();

	if (ret)
		return EXIT_FAILED;
	tracecmd_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	r->file = open_file(r);
	ret = r->file ? choose_buffer(r) : -EINVAL;
	if (!ret)
		ret = select_events(r);
	if (ret)
		return EXIT_FAILED;
	/* It matters to text alone. */
	tracer = r->opt.json || r->opt.stats ? NULL : find_tracer(r);
	ret = tracemap_decoder_new_tep(&r->decoder, tracecmd_get_tep(r->buffer), tracer,
				       tracecmd_get_trace_clock ?
				       tracecmd_get_trace_clock(r->file) : NULL);
	if (ret) {
		no_decoder(r, ret);
		return EXIT_FAILED;
	}
	return finish(r, print_all(r, tracer));
}

static void clean_up(struct report *r)
{
	tracemap_decoder_free(r->decoder);
	if (r->filter)
		tep_filter_free(r->filter);
	close_file(r->file, r->buffer);
	report_stats_free(&r->stats);
	output_free(&r->out);
	free(r->wanted);
}

/* ---- Options ---- */

enum {
	OPT_JSON = 0x200, OPT_STATS, OPT_STRICT, OPT_FROM, OPT_TO,
};

static const struct option names[] = {
	{ "event", required_argument, NULL, 'e' },
	{ "filter", required_argument, NULL, 'f' },
	{ "cpus", required_argument, NULL, 'C' },
	{ "instance", required_argument, NULL, 'i' },
	{ "task", required_argument, NULL, 't' },
	{ "from", required_argument, NULL, OPT_FROM },
	{ "to", required_argument, NULL, OPT_TO },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "stats", no_argument, NULL, OPT_STATS },
	{ "strict", no_argument, NULL, OPT_STRICT },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static void help(FILE *to)
{
	fputs("usage: tracemap report [OPTION]... [FILE]\n"
	      "Print the events of FILE (default: trace.dat), which tracemap record or trace-cmd has\n"
	      "written, all CPUs in the order of time, in the format of the kernel's own file \"trace\".\n"
	      "\n"
	      "Which events:\n"
	      "  -e, --event EVENT     SYSTEM:EVENT, SYSTEM, or a glob of either; repeat for more\n"
	      "  -f, --filter EXPR     only such events of the -e before, e.g. 'prev_prio < 100'\n"
	      "  -C, --cpus LIST       these CPUs, e.g. 0,2-3 (default: all)\n"
	      "  -t, --task TASK       of this process, by name or number; repeat for more\n"
	      "  -i, --instance NAME   of this instance, if the file has several\n"
	      "      --from TIME       since this time, as it is printed, e.g. 81.5\n"
	      "      --to TIME         up to this time\n"
	      "What to print:\n"
	      "      --json            an object a line\n"
	      "      --stats           how many events there are, by event, task and CPU\n"
	      "  -q, --quiet           no sum at the end\n"
	      "      --strict          exit with 3 if events were lost\n"
	      "\n"
	      "Example: tracemap report -e sched:sched_switch -t bash --from 81.5 trace.dat\n"
	      "Exit status: 0; 1: it failed; 2: usage; 3: --strict.\n", to);
}

static int value_time(const char *option, const char *text, uint64_t *ts)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds >= 0) || seconds > 1e10)
		return value_wrong(option, text, "no time such as 81.5 or 12345.678901, in seconds");
	*ts = seconds * 1e9 + 0.5;
	return 0;
}

static int add_task(struct options *opt, const char *task)
{
	const char **tasks = realloc(opt->tasks, (opt->nr_tasks + 1) * sizeof(*tasks));

	if (!tasks)
		return -ENOMEM;
	opt->tasks = tasks;
	tasks[opt->nr_tasks++] = task;
	return 0;
}

static int parse_option(struct options *opt, int option)
{
	int ret;

	switch (option) {
	case 'e': case 'f': case 'C': case 'i':
		ret = selection_option(&opt->sel, option, optarg);
		return ret < 0 ? ret : 0;
	case 't':
		return add_task(opt, optarg);
	case OPT_FROM:
		/* What is printed as 81.500000 may be half a microsecond earlier, or later. */
		ret = value_time("--from", optarg, &opt->from);
		opt->from -= opt->from < 500 ? opt->from : 500;
		return ret;
	case OPT_TO:
		ret = value_time("--to", optarg, &opt->to);
		opt->to += 499;
		return ret;
	case OPT_JSON:
		opt->json = true;
		return 0;
	case OPT_STATS:
		opt->stats = true;
		return 0;
	case OPT_STRICT:
		opt->strict = true;
		return 0;
	case 'q':
		opt->quiet = true;
		return 0;
	default:
		return value_no_option("report");
	}
}

/* Returns 0 to go on, 1 if that was all, or a negative errno, said. */
static int parse_options(struct options *opt, int argc, char **argv)
{
	int option, ret;

	while ((option = getopt_long(argc, argv, "e:f:C:t:i:qh", names, NULL)) >= 0) {
		if (option == 'h') {
			help(stdout);
			return 1;
		}
		ret = parse_option(opt, option);
		if (ret)
			return ret;
	}
	if (optind + 1 < argc) {
		say("one file at a time: \"%s\" is too many", argv[optind + 1]);
		return -EINVAL;
	}
	if (optind < argc)
		opt->file = argv[optind];
	return 0;
}

int cmd_report(int argc, char **argv)
{
	struct report r = {
		.opt = { .file = "trace.dat", .to = UINT64_MAX },
		.out = { .fd = STDOUT_FILENO },
	};
	int ret = parse_options(&r.opt, argc, argv);
	int status = EXIT_USAGE;

	if (ret > 0) {
		status = fflush(stdout) ? EXIT_FAILED : EXIT_OK;
	} else if (!ret) {
		status = run(&r);
		clean_up(&r);
	}
	selection_free(&r.opt.sel);
	free(r.opt.tasks);
	return status;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * tracemap report: print the events of a trace.dat, as stream would have printed them.
 * libtracecmd reads the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <trace-cmd.h>

#include "advice.h"
#include "clock.h"
#include "event_filter.h"
#include "events.h"
#include "fields.h"
#include "folded.h"
#include "losses.h"
#include "new_file.h"
#include "output.h"
#include "perfetto.h"
#include "report_file.h"
#include "report_input.h"
#include "report_stats.h"
#include "selection.h"
#include "sink.h"
#include "stop.h"
#include "trace_dat.h"
#include "values.h"
#include "verbs.h"

/* libtracecmd has them for trace-cmd report and KernelShark, and its header does not tell. */
const char *tracecmd_get_trace_clock(struct tracecmd_input *file) __attribute__((weak));
int tracecmd_set_cursor(struct tracecmd_input *file, int cpu, unsigned long long offset)
	__attribute__((weak));
unsigned int tracecmd_page_size(struct tracecmd_input *file) __attribute__((weak));
const char *tracecmd_get_uname(struct tracecmd_input *file) __attribute__((weak));

#define DEFAULT_FILE	"trace.dat"
#define NR_LOOKED_AT	1000	/* events of a CPU, for those of a tracer */

/* A process that was asked for, by its name or its number. */
struct task {
	const char *name;
	bool found;		/* an event of the file is of it */
};

/* Whether events of a kind are wanted: all of them, or those that match one of the filters */
struct choice {
	bool all;
	unsigned int nr_filters;
	struct event_filter **filters;
};

struct options {
	struct selection sel;	/* -e, -f, -C, -i */
	const char *file;	/* its name */
	struct task *tasks;
	unsigned int nr_tasks;
	const char *from, *to;	/* as they were given, or NULL */
	const char *perfetto;	/* the file that is written, or NULL */
	bool json, stats, folded, strict, quiet;
	bool piped;		/* the file is standard input, */
	bool unnamed;		/* and no name was given */
};

struct report {
	struct options opt;
	const char *path;	/* to open it by */
	int input;		/* what standard input had, or -1 */
	int copy;		/* of a file that was cut, damaged or compressed, or -1 */
	char name[32];		/* of one of these, which libtracecmd wants */
	struct tracecmd_input *file, *buffer;
	struct tracemap_decoder *decoder;
	struct choice *choices;	/* by event id; NULL: all are wanted */
	struct report_stats stats;
	struct perfetto *perfetto;
	struct folded *folded;
	struct new_file written;	/* by --perfetto */
	struct output out;
	uint64_t from, to;	/* time stamps, by the clock of the file */
	uint64_t *last;		/* of each CPU, the time stamp of the last event */
	int nr_cpus;
	unsigned long long events, lost;
	bool at_least;		/* more were lost than is known */
	unsigned long long backwards;	/* how often the time of a CPU went back */
	bool damaged;		/* data are missing or wrong, which was reported */
	bool *chosen;		/* of each CPU: its last event is printed, so is its stack */
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
	bool any = false;

	for (unsigned int i = 0; rec->data && i < r->opt.nr_tasks; i++) {
		struct task *task = &r->opt.tasks[i];

		if (is_task(r, task->name, pid)) {
			task->found = true;
			any = true;
		}
	}
	return any || !r->opt.nr_tasks;
}

static bool matches(const struct report *r, const struct tracemap_record *rec)
{
	int id = tracemap_record_id(rec);
	const struct choice *c;

	if (id < 0)
		return false;
	c = &r->choices[id];
	for (unsigned int i = 0; i < c->nr_filters && !c->all; i++) {
		if (event_filter_match(c->filters[i], rec))
			return true;
	}
	return c->all;
}

/* With --folded, an event that is asked for means its stacks, which follow it. */
static bool is_chosen(struct report *r, const struct tracemap_record *rec)
{
	bool chosen = !r->choices || matches(r, rec);

	if (r->opt.folded && folded_is_stack(r->decoder, rec))
		return chosen || r->chosen[rec->cpu];
	r->chosen[rec->cpu] = chosen;
	return chosen;
}

static bool is_selected(struct report *r, const struct tracemap_record *rec)
{
	/* First, as it notes which tasks there are. */
	if (!is_of_task(r, rec) || rec->ts < r->from || rec->ts > r->to)
		return false;
	return is_chosen(r, rec);
}

/* Events were lost between the last event of the CPU and this one: was it in that time? */
static bool loss_is_selected(const struct report *r, const struct tracemap_record *rec)
{
	uint64_t last = rec->cpu < r->nr_cpus ? r->last[rec->cpu] : 0;

	return rec->missed && rec->ts >= r->from && last <= r->to;
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
	if (ret)
		return ret;
	return rec->data ? output_end_event(&r->out) : output_end_line(&r->out);
}

static int put_record(struct report *r, const struct tracemap_record *rec)
{
	if (r->opt.stats)
		return report_stats_add(&r->stats, r->decoder, rec);
	if (r->perfetto)
		return perfetto_add(r->perfetto, rec);
	if (r->folded)
		return folded_add(r->folded, rec);
	return print_record(r, rec);
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

/* Of a damaged page it may be anything, and libtracecmd does not check it. */
static uint32_t size_of(const struct report *r, const struct tep_record *record)
{
	unsigned int page = tracecmd_page_size ? tracecmd_page_size(r->buffer) : 0;
	unsigned int left = page ? page - record->offset % page : UINT_MAX;

	return record->size > 0 && record->record_size > 0 &&
	       (unsigned int)record->record_size <= left &&
	       record->size < record->record_size ? record->size : 0;
}

/* A loss in the time asked for is told even if the event behind it is not selected. */
static int take(struct report *r, struct tep_record *record, int cpu)
{
	struct tracemap_record rec = {
		.ts = record->ts,
		.data = record->data,
		.size = size_of(r, record),
		.cpu = cpu,
		.missed = record->missed_events < 0 ? TRACEMAP_MISSED_UNKNOWN :
						      (uint64_t)record->missed_events,
	};

	if (rec.ts < r->last[cpu]) {
		rec.flags = TRACEMAP_LATE;
		r->backwards++;
	}
	tracemap_decoder_learn(r->decoder, &rec);
	if (!loss_is_selected(r, &rec))
		rec.missed = 0;
	r->last[cpu] = rec.ts;
	if (!is_selected(r, &rec)) {
		rec.data = NULL;
		rec.size = 0;
		if (!rec.missed)
			return stop_signals() > 0;
	}
	count(r, &rec);
	r->error = put_record(r, &rec);
	return r->error || stop_signals() > 0;
}

static bool is_asked_for(const struct selection *sel, int cpu)
{
	for (unsigned int i = 0; i < sel->nr_cpus; i++) {
		if (sel->cpus[i] == cpu)
			return true;
	}
	return !sel->nr_cpus;
}

static int earliest(struct tep_record **heads, int nr)
{
	int best = -1;

	for (int cpu = 0; cpu < nr; cpu++) {
		if (heads[cpu] && (best < 0 || heads[cpu]->ts < heads[best]->ts))
			best = cpu;
	}
	return best;
}

/*
 * In the order of time. tracecmd_iterate_events() would end where events were lost before one
 * whose format is not in the file.
 */
static int take_all(struct report *r)
{
	struct tep_record **heads = calloc(r->nr_cpus + 1, sizeof(struct tep_record *));
	int cpu, ended = 0;

	if (!heads)
		return -ENOMEM;
	for (cpu = 0; cpu < r->nr_cpus; cpu++) {
		if (is_asked_for(&r->opt.sel, cpu))
			heads[cpu] = tracecmd_read_data(r->buffer, cpu);
	}
	while (!ended && (cpu = earliest(heads, r->nr_cpus)) >= 0) {
		ended = take(r, heads[cpu], cpu);
		tracecmd_free_record(heads[cpu]);
		heads[cpu] = tracecmd_read_data(r->buffer, cpu);
	}
	for (cpu = 0; cpu < r->nr_cpus; cpu++)
		tracecmd_free_record(heads[cpu]);
	free(heads);
	return r->error;
}

static bool is_text(const struct options *opt)
{
	return !opt->json && !opt->stats && !opt->perfetto && !opt->folded;
}

static int print_all(struct report *r, const char *tracer)
{
	int ret;

	if (is_text(&r->opt))
		tracemap_text_header(r->decoder, tracer, &r->out.line);
	ret = take_all(r);
	if (ret)
		return ret;
	if (r->perfetto)
		return perfetto_end(r->perfetto);
	if (r->folded)
		return folded_print(r->folded, &r->out);
	output_begin_line(&r->out);
	if (r->opt.stats)
		report_stats_print(&r->stats, r->decoder, r->opt.json, &r->out.line);
	else if (is_text(&r->opt))
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

/* Whether the file begins as a trace.dat, as far as it goes */
static bool begins(const struct report *r)
{
	char begin[TRACE_HEAD_MAGIC_SIZE];
	FILE *file = fopen(r->path, "re");
	size_t n = file ? fread(begin, 1, sizeof(begin), file) : 0;

	if (file)
		fclose(file);
	return trace_head_magic_cut(begin, n);
}

static void cannot_read(const struct report *r)
{
	if (!begins(r))
		say("%s: it is no trace.dat, as it begins with something else: tracemap record -o makes one",
		    r->opt.file);
	else
		say("%s: it begins as a trace.dat and is not all of one, or is compressed in a way that libtracecmd does not know",
		    r->opt.file);
}

/* A pipe would be waited for. Returns 0 or a negative errno, said. */
static int check_file(const struct report *r)
{
	struct stat st;

	if (stat(r->path, &st) || access(r->path, R_OK)) {
		int error = errno;

		say("%s: %s%s", r->opt.file, strerror(error),
		    error == ENOENT ? ": tracemap record -o makes one" : "");
		return -error;
	}
	if (S_ISREG(st.st_mode) && !st.st_size) {
		say("%s: it is empty, so no recording was begun in it: tracemap record -o makes one",
		    r->opt.file);
		return -ENODATA;
	}
	if (!S_ISREG(st.st_mode)) {
		say("%s: it is no regular file: name a trace.dat, or - if it comes by standard input",
		    r->opt.file);
		return -EINVAL;
	}
	if (!trace_dat_is_unfinished(r->path))
		return 0;
	say("%s: its recording goes on; or its recorder was killed, and its events are still in %s.cpu0 and so on: then tracemap record --restore %s mends it",
	    r->opt.file, r->opt.file, r->opt.file);
	return -EBUSY;
}

/* libtracecmd takes a name, which a file without one has in /proc only. */
static void name_by_number(struct report *r, int fd)
{
	snprintf(r->name, sizeof(r->name), "/proc/self/fd/%d", fd);
	r->path = r->name;
}

/* Let libtracecmd read what is there. Returns 0; or a negative errno, said. */
static int fix(struct report *r)
{
	int ret = report_file_fix(r->path, r->opt.file, r->opt.piped, &r->copy);

	r->damaged = ret > 0;
	if (r->copy >= 0)
		name_by_number(r, r->copy);
	return ret < 0 ? ret : 0;
}

/*
 * NULL: it was said why. If the data of a file are cut, tracecmd_open() of libtracecmd 3.1
 * crashes, and so does tracecmd_close() of what it has begun with: that is left open.
 */
static struct tracecmd_input *open_file(struct report *r)
{
	struct tracecmd_input *file;

	if (check_file(r) || fix(r))
		return NULL;
	file = tracecmd_open_head(r->path, TRACECMD_FL_LOAD_NO_PLUGINS);
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
static struct tracecmd_input *find_buffer(const struct report *r)
{
	struct tracecmd_input *file = r->file;
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

	r->buffer = find_buffer(r);
	if (!r->buffer) {
		say("%s has no buffer of an instance \"%s\"%s", r->opt.file, r->opt.sel.instance,
		    nr ? "; it has:" : ", but the main one alone");
		say_buffers(r, nr);
		return -ENOENT;
	}
	if (nr > 0 && !r->opt.sel.instance) {
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

/* Read the CPU from its beginning again. */
static void rewind_cpu(struct tracecmd_input *buffer, int cpu)
{
	struct tep_record *record = tracecmd_read_cpu_first(buffer, cpu);

	if (record)
		tracecmd_set_cursor(buffer, cpu, record->offset);
	tracecmd_free_record(record);
}

/* The file does not tell the tracer, but one of the first events of a CPU does. */
static const char *find_tracer(const struct report *r)
{
	struct tep_handle *tep = tracecmd_get_tep(r->buffer);
	const char *tracer = NULL;

	for (int cpu = 0; cpu < r->nr_cpus && !tracer && tracecmd_set_cursor; cpu++) {
		struct tep_record *record = tracecmd_read_cpu_first(r->buffer, cpu);

		for (int n = 0; n < NR_LOOKED_AT && record && !tracer; n++) {
			tracer = tracer_of(tep, record);
			tracecmd_free_record(record);
			record = tracecmd_read_data(r->buffer, cpu);
		}
		tracecmd_free_record(record);
		rewind_cpu(r->buffer, cpu);
	}
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

static int choose(struct report *r, struct tep_event *event, const char *name, const char *filter)
{
	struct choice *c = &r->choices[event->id];
	struct event_filter **more;
	int ret;

	if (!filter) {
		c->all = true;
		return 0;
	}
	more = realloc(c->filters, (c->nr_filters + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	c->filters = more;
	ret = event_filter_new(&c->filters[c->nr_filters], r->decoder, event, name, filter);
	c->nr_filters += !ret;
	return ret;
}

static int select_event(struct report *r, struct tep_handle *tep,
			const struct selection_event *wanted)
{
	struct tep_event **list = tep_list_events(tep, TEP_EVENT_SORT_SYSTEM);
	unsigned int found = 0;
	int ret = 0;

	for (int i = 0; list && list[i] && !ret; i++) {
		char name[512];

		snprintf(name, sizeof(name), "%s:%s", list[i]->system, list[i]->name);
		if (!events_match(name, wanted->name) || list[i]->id >= NR_IDS)
			continue;
		found++;
		ret = choose(r, list[i], name, wanted->filter);
	}
	if (ret || found)
		return ret;
	say("-e %s: %s knows no such event; --stats lists what it has", wanted->name, r->opt.file);
	return -ENOENT;
}

static int select_events(struct report *r)
{
	struct tep_handle *tep = tracecmd_get_tep(r->buffer);
	const struct selection *sel = &r->opt.sel;
	int ret = 0;

	if (!sel->nr_events)
		return 0;
	r->choices = calloc(NR_IDS, sizeof(*r->choices));
	if (!r->choices)
		return -ENOMEM;
	for (unsigned int i = 0; i < sel->nr_events && !ret; i++)
		ret = select_event(r, tep, &sel->events[i]);
	return ret;
}

static int select_cpus(struct report *r)
{
	const struct selection *sel = &r->opt.sel;

	r->nr_cpus = tep_get_cpus(tracecmd_get_tep(r->buffer));
	r->last = calloc(r->nr_cpus + 1, sizeof(*r->last));
	r->chosen = calloc(r->nr_cpus + 1, sizeof(*r->chosen));
	if (!r->last || !r->chosen)
		return no_memory();
	for (unsigned int i = 0; i < sel->nr_cpus; i++) {
		if (sel->cpus[i] < r->nr_cpus)
			continue;
		say("-C %d: %s has the CPUs 0 to %d", sel->cpus[i], r->opt.file, r->nr_cpus - 1);
		return -ENOENT;
	}
	return 0;
}

static uint64_t after(uint64_t ts, uint64_t more)
{
	return ts < UINT64_MAX - more ? ts + more : UINT64_MAX;
}

/*
 * What is printed as 81.500000 may be half a microsecond earlier or later. A time in
 * nanoseconds is exact, and so is what a clock counts.
 */
static int select_times(struct report *r, const char *clock)
{
	bool counted = clock && !clock_counts_ns(clock);
	unsigned int digits = 9;

	if (r->opt.from && value_time("--from", r->opt.from, counted, &r->from, &digits))
		return -EINVAL;
	if (r->opt.from && digits <= 6)
		r->from -= r->from < 500 ? r->from : 500;
	if (!r->opt.to)
		return 0;
	if (value_time("--to", r->opt.to, counted, &r->to, &digits))
		return -EINVAL;
	if (digits <= 6)
		r->to = after(r->to, 499);
	if (r->to >= r->from)
		return 0;
	say("--from %s --to %s: it ends before it begins", r->opt.from, r->opt.to);
	return -EINVAL;
}

/* ---- What is written ---- */

static int open_written(struct report *r)
{
	const char *path = r->opt.perfetto;
	int ret;

	if (!faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW)) {
		say("%s is there already, and is not overwritten: name the file that is to be written, and then the recording",
		    path);
		return -EEXIST;
	}
	ret = new_file_begin(&r->written, path);
	if (ret)
		return complain(ABOUT_OUTPUT, ret, "%s", path);
	close(r->out.fd);
	r->out.fd = r->written.fd;
	return 0;
}

/* Prepare what gathers the events, if they are not just printed. */
static int prepare_output(struct report *r, const char *clock)
{
	int ret;

	if (r->opt.folded && folded_new(&r->folded, r->decoder, r->nr_cpus))
		return no_memory();
	if (!r->opt.perfetto)
		return 0;
	if (clock && !clock_counts_ns(clock))
		say("Perfetto takes what the clock %s counts for ns", clock);
	ret = open_written(r);
	if (ret)
		return ret;
	ret = perfetto_new(&r->perfetto, &r->out, r->decoder, r->nr_cpus,
			   tracecmd_get_uname ? tracecmd_get_uname(r->file) : NULL);
	if (ret)
		complain(ABOUT_OUTPUT, ret, "%s", r->opt.perfetto);
	return ret;
}

/* The file gets its name when it has everything. Returns whether that failed. */
static bool output_is_lost(struct report *r, int ret)
{
	if (!r->perfetto)
		return ret && output_failed(&r->out, ret);
	if (!ret && stop_signals())
		ret = -EINTR;
	if (!ret && fdatasync(r->written.fd))
		ret = -errno;
	if (!ret)
		ret = new_file_name(&r->written, true);
	if (ret == -EINTR)
		say("%s: nothing was written, as a signal came", r->opt.perfetto);
	else if (ret)
		complain(ABOUT_OUTPUT, ret, "%s: nothing was written", r->opt.perfetto);
	return ret;
}

/* ---- All of it ---- */

/* Returns whether each task that was asked for has an event. */
static bool all_tasks_found(const struct report *r)
{
	bool all = true;

	for (unsigned int i = 0; i < r->opt.nr_tasks; i++) {
		if (r->opt.tasks[i].found)
			continue;
		all = false;
		say("-t %s: %s has no event of such a task%s; --stats lists what it has",
		    r->opt.tasks[i].name, r->opt.file, r->opt.sel.nr_cpus ? " on these CPUs" : "");
	}
	return all;
}

static int finish(struct report *r, int ret)
{
	if (!r->opt.quiet)
		say("%llu events, %s%llu lost%s", ret ? r->out.events : r->events,
		    r->at_least ? "at least " : "",
		    (unsigned long long)losses_least(r->lost, r->at_least),
		    r->at_least ? ": the file does not have the number of every loss" : "");
	if (r->backwards)
		say("the time of a CPU goes back %llu time%s, behind lines with [LATE]: a clock was set, or the file has several recordings",
		    r->backwards, plural(r->backwards));
	if (output_is_lost(r, ret) || stop_signals() || r->damaged || !all_tasks_found(r))
		return EXIT_FAILED;
	return r->opt.strict && (r->lost || r->at_least) ? EXIT_LOST : EXIT_OK;
}

/* Each function of it has said what is wrong, and returns -EINVAL if the options are. */
static int select_all(struct report *r, const char *clock)
{
	int ret = select_times(r, clock);

	if (!ret)
		ret = select_events(r);
	return ret == -ENOMEM ? no_memory() : ret;
}

static int find_file(struct report *r)
{
	r->path = r->opt.file;
	if (!r->opt.piped)
		return 0;
	if (r->opt.unnamed && !access(DEFAULT_FILE, F_OK))
		say("standard input is read, and not " DEFAULT_FILE ": name that if it is meant");
	r->input = report_input();
	if (r->input < 0)
		return r->input;
	name_by_number(r, r->input);
	return 0;
}

static int prepare(struct report *r, const char **tracer)
{
	const char *clock;
	int ret = find_file(r);

	if (ret)
		return ret == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	r->file = open_file(r);
	if (!r->file || choose_buffer(r) || select_cpus(r))
		return EXIT_FAILED;
	clock = tracecmd_get_trace_clock ? tracecmd_get_trace_clock(r->file) : NULL;
	/* Only text depends on the tracer. */
	*tracer = is_text(&r->opt) ? find_tracer(r) : NULL;
	ret = tracemap_decoder_new_tep(&r->decoder, tracecmd_get_tep(r->buffer), *tracer, clock);
	if (ret) {
		no_decoder(r, ret);
		return EXIT_FAILED;
	}
	ret = select_all(r, clock);
	if (ret)
		return ret == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	return prepare_output(r, clock) ? EXIT_FAILED : EXIT_OK;
}

/*
 * libtracecmd prints by printf() why it does not take a file, and among the events this would
 * not be one.
 */
static int take_stdout(struct report *r)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	r->out.fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (null < 0 || r->out.fd < 0 || dup2(null, STDOUT_FILENO) < 0)
		return sink_failed(errno);
	close(null);
	return 0;
}

static int run(struct report *r)
{
	const char *tracer = NULL;
	int status;

	if (sink_check_open("") || stop_on_signals() || take_stdout(r))
		return EXIT_FAILED;
	report_survive(&r->out, &r->events);
	tracecmd_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	status = prepare(r, &tracer);
	return status == EXIT_OK ? finish(r, print_all(r, tracer)) : status;
}

static void free_choices(struct report *r)
{
	for (unsigned int id = 0; r->choices && id < NR_IDS; id++) {
		for (unsigned int i = 0; i < r->choices[id].nr_filters; i++)
			event_filter_free(r->choices[id].filters[i]);
		free(r->choices[id].filters);
	}
	free(r->choices);
}

static void clean_up(struct report *r)
{
	tracemap_decoder_free(r->decoder);
	close_file(r->file, r->buffer);
	if (r->input > STDERR_FILENO)
		close(r->input);
	if (r->copy >= 0)
		close(r->copy);
	report_stats_free(&r->stats);
	perfetto_free(r->perfetto);
	folded_free(r->folded);
	new_file_end(&r->written);
	output_free(&r->out);
	free_choices(r);
	free(r->last);
	free(r->chosen);
}

/* ---- Options ---- */

static int add_task(void *to, const char *task)
{
	struct options *opt = to;
	struct task *tasks = realloc(opt->tasks, (opt->nr_tasks + 1) * sizeof(*tasks));

	if (!tasks)
		return no_memory();
	opt->tasks = tasks;
	tasks[opt->nr_tasks++] = (struct task){ .name = task };
	return 0;
}

#define AT(field)	offsetof(struct options, field)

static const struct verb_option own_options[] = {
	{ .help = "Which events:" },
	{ 'e', "event", OPTION_CALL, AT(sel), "EVENT",
	  "SYSTEM:EVENT, SYSTEM or EVENT, or a glob; repeat for more", selection_event },
	{ 'f', "filter", OPTION_CALL, AT(sel), "EXPR",
	  "only such events of the -e before, e.g. 'prev_prio < 100'", selection_filter },
	{ 'C', "cpus", OPTION_CALL, AT(sel), "LIST",
	  "these CPUs, e.g. 0,2-3 (default: all)", selection_cpus },
	{ 't', "task", OPTION_CALL, 0, "TASK",
	  "of this process, by name or number; repeat for more", add_task },
	{ 'i', "instance", OPTION_TEXT, AT(sel.instance), "NAME",
	  .help = "of this instance, if the file has several" },
	{ 0, "from", OPTION_TEXT, AT(from), "TIME",
	  .help = "since this time, as it is printed, e.g. 81.5; of a clock that\n"
	  "counts, such as counter, the number" },
	{ 0, "to", OPTION_TEXT, AT(to), "TIME", .help = "up to this time" },
	{ .help = "What to print:" },
	{ 0, "json", OPTION_FLAG, AT(json), NULL, .help = "an object a line" },
	{ 0, "stats", OPTION_FLAG, AT(stats), NULL,
	  .help = "how many events there are, by event, task and CPU" },
	{ 0, "perfetto", OPTION_TEXT, AT(perfetto), "FILE",
	  .help = "write a trace for ui.perfetto.dev" },
	{ 0, "folded", OPTION_FLAG, AT(folded), NULL,
	  .help = "a line for each stack, or each chain of calls of function_graph\n"
	  "with the ns of its last function, for flame graphs" },
	{ 'q', "quiet", OPTION_FLAG, AT(quiet), NULL,
	  .help = "do not print the totals at the end" },
	{ 0, "strict", OPTION_FLAG, AT(strict), NULL, .help = "exit with 3 if events were lost" },
	{ }
};

static const struct verb_options verb = {
	.verb = "report",
	.usage =
	"usage: tracemap report [OPTION]... [FILE]\n"
	"Print the events of FILE, which tracemap record or trace-cmd has written, all CPUs in the\n"
	"order of time, in the format of the kernel's own file \"trace\". - is standard input.\n"
	"Without FILE that is read if it is a pipe or a trace.dat, and else the file trace.dat.\n"
	"\n",
	.end =
	"\nWhat comes by a pipe is kept in the folder $TMPDIR (default: /var/tmp), and is printed\n"
	"when all of it has come.\n"
	"Example: tracemap report -e sched:sched_switch -t bash --from 81.5 trace.dat\n"
	"Exit status: 0; 1: it failed; 2: usage; 3: --strict.\n",
	.words = 1,
	.groups = { { own_options } },
};

/* A file behind -i is meant as the file, as of trace-cmd report, where no other is named. */
static int take_file(struct options *opt, const char *file)
{
	const char *instance = opt->sel.instance;

	if (!file && instance && strcmp(instance, SESSION_TOP) && !access(instance, F_OK)) {
		file = instance;
		opt->sel.instance = NULL;
	}
	if (file)
		opt->file = file;
	else
		opt->unnamed = report_input_is_meant();
	return opt->sel.instance ? value_instance(opt->sel.instance) : 0;
}

/* Returns as options_parse() does. */
static int parse_options(struct options *opt, int argc, char **argv)
{
	int given = options_parse(&verb, opt, argc, argv), ret;

	if (given <= 0)
		return given;
	ret = take_file(opt, argv[optind]);
	if (ret)
		return ret;
	if (!opt->perfetto + !opt->folded + !(opt->json || opt->stats) < 2) {
		say("--perfetto and --folded go with no other form");
		return -EINVAL;
	}
	opt->piped = opt->unnamed || !strcmp(opt->file, "-");
	if (opt->piped)
		opt->file = "standard input";
	return given;
}

int cmd_report(int argc, char **argv)
{
	struct report r = {
		.opt.file = DEFAULT_FILE,
		.input = -1,
		.copy = -1,
		.written.fd = -1,
		.to = UINT64_MAX,
	};
	int ret = parse_options(&r.opt, argc, argv);
	int status = EXIT_USAGE;

	if (!ret) {
		status = EXIT_OK;
	} else if (ret > 0) {
		status = run(&r);
		clean_up(&r);
	}
	selection_free(&r.opt.sel);
	free(r.opt.tasks);
	return status;
}

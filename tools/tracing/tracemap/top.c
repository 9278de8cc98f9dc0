// SPDX-License-Identifier: GPL-2.0
/*
 * tracemap top: count the events of an instance, by their kind, task or a field, or measure
 * the time from one event to another.
 *
 * A buffer wakes the program when a quarter of it is new, and the clock does for the next
 * table: not each event.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event-parse.h>

#include "advice.h"
#include "buffers.h"
#include "clock.h"
#include "event_filter.h"
#include "fields.h"
#include "loop.h"
#include "losses.h"
#include "output.h"
#include "selection.h"
#include "sink.h"
#include "stop.h"
#include "top.h"
#include "values.h"
#include "verbs.h"

#define TURN		64	/* batches of a CPU, so that stopping is looked at */
#define TURN_EVENTS	16384
#define HEADER_EVERY	20	/* tables of rows */
#define ROWS		20	/* of a table that is neither a screen nor JSON */
#define INTERVAL_MIN	0.05

struct options {
	struct selection sel;
	const char *by;
	const char *between[2];	/* NULL: count */
	const char *key;
	double interval, duration;	/* seconds; duration 0: no limit */
	unsigned long long count;	/* tables; 0: until told to stop */
	unsigned long long limit;	/* rows; 0: the usual */
	bool rows, json, quiet;
	char **command;
};

enum form {
	FORM_SCREEN,
	FORM_ROWS,
	FORM_JSON,
};

/* One of the two events of --between. */
struct side {
	char name[512];			/* "system:event" */
	const char *condition;		/* NULL: there is none */
	int id;
	struct event_filter *filter;	/* NULL: the kernel has filtered, or nothing does */
	struct fields key;
};

struct top {
	struct options opt;
	char **argv;
	struct session *session;
	struct tracemap *t;
	struct tracemap_merge *m;	/* of --between; else the order does not matter */
	struct loop loop;
	struct losses losses;
	struct fields field;
	struct side sides[2];
	struct latency *latency;
	struct top_view view;
	struct top_screen screen;
	struct output out;		/* of what is no screen */
	enum form form;
	bool keys, quit, enough, incomplete, ending;
	unsigned long long tables;
	uint64_t events, lost;
	uint64_t began, until;		/* what the interval has counted, ns */
	uint64_t next;			/* when its table is due */
	int damaged;
	int error, out_error;
};

/* ---- Counting ---- */

static void count_field(struct top *top, const struct tracemap_record *rec)
{
	struct counts *c = &top->view.counts;
	struct field_value value;
	struct count *count;

	if (!fields_get(&top->field, rec, &value)) {
		c->keyless.fresh++;
		return;
	}
	count = value.text ? counts_text(c, value.text, value.length) :
			     counts_number(c, value.number);
	count->fresh++;
	count->is_signed = value.is_signed;
	count->is_address = value.is_address;
}

static uint32_t event_id(const void *data, uint32_t size)
{
	uint16_t id = 0;

	if (size >= sizeof(id))
		memcpy(&id, data, sizeof(id));
	return id;
}

static void count_record(struct top *top, const void *data, uint32_t size)
{
	const struct tracemap_record rec = { .data = data, .size = size };

	switch (top->view.by) {
	case TOP_BY_EVENT:
		counts_number(&top->view.counts, event_id(data, size))->fresh++;
		break;
	case TOP_BY_TASK:
		counts_number(&top->view.counts,
			      tracemap_decoder_pid(top->view.decoder, &rec))->fresh++;
		break;
	default:
		count_field(top, &rec);
	}
}

static void told_loss(struct top *top, int cpu, uint64_t missed)
{
	if (!missed)
		return;
	losses_told(&top->losses, cpu, missed);
	if (missed != TRACEMAP_MISSED_UNKNOWN)
		top->lost += missed;
	if (top->latency)
		latency_forget(top->latency);
}

/* Count @most events. If the batch has more, it is fetched again. Returns how many it had. */
static uint64_t count_batch(struct top *top, struct tracemap_batch *batch, uint64_t most)
{
	struct subbuf_iter it = batch->it;
	struct subbuf_record r;
	uint64_t events = 0;

	told_loss(top, batch->cpu, batch->missed);
	while (events < most && subbuf_next(&it, &r)) {
		count_record(top, r.data, r.size);
		events++;
	}
	batch->it = it;
	batch->events += events;
	top->events += events;
	return events;
}

/* Returns whether it is worth going on. @cpu is -1 if the error is of no single CPU. */
static bool reading_failed(struct top *top, int cpu, int error)
{
	bool goes_on = error == -EINTR || error == -EBADMSG;

	if (error == -EINTR || (error == -EBADMSG && top->damaged++))
		return true;
	if (!goes_on)
		top->error = error;
	if (cpu < 0)
		complain(ABOUT_BUFFER, error, "reading");
	else
		complain(ABOUT_BUFFER, error, "CPU %d", cpu);
	return goes_on;
}

/*
 * By read(2), each look at the sub-buffer that a writer is in is a system call for the few events
 * since the last one, and beside a quick writer there is no end of them. What comes after a
 * sub-buffer that is not half full waits until the kernel wakes the program, or the next table.
 */
static bool may_wait(const struct top *top, struct tracemap_cpu *cpu,
		     const struct tracemap_batch *batch)
{
	struct tracemap_raw raw;

	if (top->ending || tracemap_cpu_way(cpu) != TRACEMAP_READ || tracemap_cpu_raw(cpu, &raw))
		return false;
	return subbuf_pos(&batch->it) < raw.format.subbuf_size / 2;
}

/* 1: there may be more; 0: there is nothing, or it may wait; -1: it failed, said. */
static int take_cpu(struct top *top, struct tracemap_cpu *cpu)
{
	struct tracemap_batch *batch;
	int brief = 0;

	for (int i = 0; i < TURN; i++) {
		int ret = tracemap_cpu_fetch(cpu, &batch);

		if (!ret)
			return 0;
		if (ret > 0)
			count_batch(top, batch, UINT64_MAX);
		else if (!reading_failed(top, tracemap_cpu_number(cpu), ret))
			return -1;
		/* One may be the rest of a sub-buffer, which the read(2) before it has left. */
		brief = ret > 0 && may_wait(top, cpu, batch) ? brief + 1 : 0;
		if (brief == 2)
			return 0;
	}
	return 1;
}

static int take_batches(struct top *top)
{
	int more = 0;

	for (unsigned int i = 0; i < tracemap_nr_cpus(top->t); i++) {
		int ret = take_cpu(top, tracemap_get_cpu(top->t, i));

		if (ret < 0)
			return ret;
		more |= ret;
	}
	return more;
}

/* ---- From one event to another ---- */

static bool is_side(const struct side *side, const struct tracemap_record *rec)
{
	return tracemap_record_id(rec) == side->id &&
		(!side->filter || event_filter_match(side->filter, rec));
}

/* A text is known by its hash, of 64 bits. */
static bool key_of(struct side *side, const struct tracemap_record *rec, uint64_t *key)
{
	struct field_value value;

	if (!fields_get(&side->key, rec, &value))
		return false;
	*key = value.text ? counts_hash(value.text, value.length) : value.number;
	return true;
}

/* An event that is both ends one latency, and starts the next. */
static void match(struct top *top, const struct tracemap_record *rec)
{
	uint64_t key;

	if (is_side(&top->sides[1], rec) && key_of(&top->sides[1], rec, &key))
		latency_end(top->latency, key, rec->ts);
	if (is_side(&top->sides[0], rec) && key_of(&top->sides[0], rec, &key))
		latency_start(top->latency, key, rec->ts);
}

static int take_merged(struct top *top)
{
	struct tracemap_record rec;

	for (int i = 0; i < TURN_EVENTS; i++) {
		int ret = tracemap_merge_next(top->m, &rec);

		if (!ret || ret == -ENODATA)
			return 0;
		if (ret < 0) {
			if (!reading_failed(top, tracemap_merge_failed_cpu(top->m), ret))
				return -1;
			continue;
		}
		told_loss(top, rec.cpu, rec.missed);
		if (rec.flags & TRACEMAP_RESET)
			latency_forget(top->latency);
		if (!rec.data)
			continue;
		top->events++;
		match(top, &rec);
	}
	return 1;
}

static int take(struct top *top)
{
	return top->latency ? take_merged(top) : take_batches(top);
}

/* ---- Up to now, for a table ---- */

/*
 * What was dropped, because the instance does not overwrite, only counters tell. They also tell
 * how many events there are to read: but with a live index, only up to the sub-buffer that is
 * being written, and not how far an observer is. Then reading goes on until there is none.
 */
static uint64_t look_at_counters(struct top *top, unsigned int i)
{
	struct tracemap_cpu *cpu = tracemap_get_cpu(top->t, i);
	struct tracemap_figures f;
	struct tracemap_raw raw;

	if (tracemap_cpu_figures(cpu, &f))
		return UINT64_MAX;
	top->lost += losses_dropped_of(&top->losses, i, f.dropped);
	return tracemap_cpu_raw(cpu, &raw) || raw.index ? UINT64_MAX : tracemap_figures_unread(&f);
}

/* Count @left events, or stop at @end. Returns what take_cpu() does. */
static int catch_up_cpu(struct top *top, struct tracemap_cpu *cpu, uint64_t left, uint64_t end)
{
	struct tracemap_batch *batch;
	int more = 0;

	while (left && now_ns() < end) {
		int ret = tracemap_cpu_fetch(cpu, &batch);

		if (!ret)
			return 0;
		if (ret > 0)
			left -= count_batch(top, batch, left);
		else if (!reading_failed(top, tracemap_cpu_number(cpu), ret))
			return -1;
		more = 1;
	}
	return more;
}

static int catch_up_batches(struct top *top, const uint64_t *left, unsigned int nr, uint64_t end)
{
	int more = 0;

	for (unsigned int i = 0; i < nr; i++) {
		int ret = catch_up_cpu(top, tracemap_get_cpu(top->t, i), left[i], end);

		if (ret < 0)
			return ret;
		more |= ret;
	}
	return more;
}

static int catch_up_merged(struct top *top, uint64_t end)
{
	int ret = 1;

	while (ret > 0 && now_ns() < end)
		ret = take_merged(top);
	return ret;
}

/*
 * Read what there is now, for a table. A writer that is as quick as this would keep it for ever:
 * it takes no longer than these seconds. Returns what take() does.
 */
static int catch_up(struct top *top, double seconds)
{
	unsigned int nr = tracemap_nr_cpus(top->t);
	uint64_t *left = calloc(nr, sizeof(*left)), end;
	int ret;

	top->until = now_ns();
	end = top->until + (uint64_t)(seconds * 1e9);
	if (!left)
		return 0;
	for (unsigned int i = 0; i < nr; i++)
		left[i] = look_at_counters(top, i);
	ret = top->latency ? catch_up_merged(top, end) : catch_up_batches(top, left, nr, end);
	free(left);
	return ret;
}

/* ---- Tables ---- */

static int print(struct top *top)
{
	size_t size;
	char *text = NULL;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return -ENOMEM;
	if (top->form == FORM_JSON)
		top_print_json(to, &top->view);
	else
		top_print_rows(to, &top->view, top->tables % HEADER_EVERY == 0);
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
	output_begin_line(&top->out);
	tracemap_line_put(&top->out.line, text, size);
	free(text);
	output_escape_line(&top->out);
	return output_flush(&top->out);
}

static int show(struct top *top)
{
	if (top->form != FORM_SCREEN)
		return print(top);
	screen_measure(&top->screen.screen);
	return top_draw(&top->screen, &top->view);
}

static void end_interval(struct top *top)
{
	uint64_t now = now_ns(), interval = top->opt.interval * 1e9;
	struct top_view *v = &top->view;

	v->seconds = (top->until - top->began) / 1e9;
	v->events = top->events;
	v->lost = top->lost;
	v->lost_more = losses_at_least(&top->losses);
	if (top->latency)
		latency_tick(top->latency);
	else
		counts_tick(&v->counts);
	top_prepare(v);
	top->began = top->until;
	/* A program that was stopped, or is too slow, does not hurry afterwards. */
	top->next = top->next + interval > now ? top->next + interval : now + interval;
	if (!top->out_error)
		top->out_error = show(top);
	top->tables++;
}

/* ---- Reading on ---- */

static bool is_over(void *arg)
{
	const struct top *top = arg;

	return top->quit || top->enough || top->error || top->out_error;
}

static void take_key(struct top *top)
{
	int key = screen_key();

	if (key == -ENODATA)
		top->keys = false;
	else
		top->quit = !top_key(&top->screen, &top->view, key);
	if (!top->quit)
		top->out_error = show(top);
}

/*
 * Wait for @ms at most, and do what the user and the reader of the output ask for. A buffer ends
 * the wait unless @t is NULL.
 */
static void look_around(struct top *top, struct tracemap *t, int ms)
{
	struct pollfd fds[] = {
		{ .fd = top->keys ? STDIN_FILENO : -1, .events = POLLIN },
		{ .fd = STDOUT_FILENO, .events = 0 },	/* its reader may go */
	};
	int ret = loop_wait(&top->loop, t, fds, 2, ms);

	if (ret < 0)
		reading_failed(top, -1, ret);
	if (fds[1].revents & (POLLERR | POLLHUP))
		top->out_error = -EPIPE;
	else if (fds[0].revents)
		take_key(top);
}

/* Beside a writer that never pauses there is no wait in which keys would be looked at. */
static int take_turn(void *arg)
{
	struct top *top = arg;
	bool due = now_ns() >= top->next;
	double half = top->opt.interval < 1 ? top->opt.interval / 2 : 0.5;
	int ret;

	/* The last table is that of the end, which take_rest() shows. */
	top->enough = due && top->tables + 1 == top->opt.count;
	if (top->enough)
		return 0;
	ret = due ? catch_up(top, half) : take(top);
	if (due)
		end_interval(top);
	if (ret > 0 && !is_over(top))
		look_around(top, NULL, 0);
	return ret;
}

/* Until the next table is due, or the merge is. */
static int patience(const struct top *top)
{
	uint64_t now = now_ns(), left = top->next > now ? (top->next - now + 999999) / 1000000 : 0;
	int ms = left < INT_MAX ? (int)left : INT_MAX;

	return top->m ? tracemap_merge_timeout(top->m, ms) : ms;
}

static int wait_for_more(void *arg)
{
	struct top *top = arg;

	if (!stop_signals())
		look_around(top, top->t, patience(top));
	return 0;
}

static int add_cpus(void *arg)
{
	struct top *top = arg;

	return top->m ? tracemap_merge_add_all(top->m, top->t) : 0;
}

static const struct loop_verb counting = {
	.is_over = is_over,
	.take = take_turn,
	.sleep = wait_for_more,
	.add_cpus = add_cpus,
};

/*
 * What was there when it was asked to end. Where another program's tracing goes on, the buffers
 * may never be empty.
 */
static void take_rest(struct top *top)
{
	session_trace(top->session, false);
	top->ending = session_is_own(top->session);
	if (top->m)
		tracemap_merge_flush(top->m);
	while (!top->error && stop_signals() < 2 && take(top) > 0 && top->ending)
		;
	catch_up(top, top->error || stop_signals() > 1 ? 0 : 1);
	for (unsigned int i = 0; i < tracemap_nr_cpus(top->t); i++)
		top->lost += losses_untold(&top->losses, i);
	end_interval(top);
}

static int finish(struct top *top)
{
	bool at_least = losses_at_least(&top->losses);

	screen_close();
	if (!top->opt.quiet)
		say("%llu events, %s%llu lost", (unsigned long long)top->events,
		    at_least ? "at least " : "",
		    (unsigned long long)losses_least(top->lost, at_least));
	if (top->out_error && output_failed(&top->out, top->out_error))
		return EXIT_FAILED;
	if (top->error || top->incomplete)
		return EXIT_FAILED;
	return top->opt.command ? child_exit_status(&top->loop.child, top->opt.command[0]) :
				  EXIT_OK;
}

/* ---- The beginning ---- */

static int refuse_to_take(const char *instance)
{
	say("this kernel has no live index to observe instance %s by: counting its events would take them from its other readers. To do that, use --way read; or trace in an instance of its own, by -e and without -i",
	    instance);
	return -EOPNOTSUPP;
}

/*
 * An observer takes no event from the consumers. What only this program reads may be taken as well,
 * and has to be where a latency tracer keeps the buffers from being observed.
 */
static int open_instance(struct top *top)
{
	struct tracemap_options options = tracemap_default_options();
	bool own = session_is_own(top->session), any = top->opt.sel.way == TRACEMAP_CONSUME;
	const char *dir = session_dir(top->session);
	int ret;

	options.way = any ? TRACEMAP_OBSERVE : top->opt.sel.way;
	options.flags = own ? TRACEMAP_OWN : TRACEMAP_FROM_NOW;
	options.nr_cpus = top->opt.sel.nr_cpus;
	options.cpus = top->opt.sel.cpus;
	/* 0, as buffer_percent says: so, too, where the CPUs' buffers differ */
	options.wake_bytes = options.way == TRACEMAP_OBSERVE ?
			     session_quarter_of_buffer(top->session) : 0;
	ret = tracemap_open(&top->t, dir, &options);
	if (ret == -EOPNOTSUPP && any && !own)
		return refuse_to_take(session_name(top->session));
	if ((ret == -EOPNOTSUPP || ret == -EBUSY) && any && own) {
		options.way = TRACEMAP_CONSUME;
		options.wake_bytes = 0;
		ret = tracemap_open(&top->t, dir, &options);
	}
	return ret ? buffers_refused(ret, dir, dir, &options) : 0;
}

static int open_buffers(struct top *top)
{
	int ret;

	loop_begin(&top->loop);
	ret = open_instance(top);
	if (ret || !top->opt.between[0])
		return ret;
	ret = tracemap_merge_new(&top->m, NULL);
	if (!ret)
		ret = tracemap_merge_add_all(top->m, top->t);
	return ret < 0 ? complain(ABOUT_BUFFER, ret, "merging") : 0;
}

/* ---- Fields ---- */

static void list_fields(const struct tep_event *event, char *text, size_t size)
{
	size_t length = 0;

	*text = '\0';
	for (struct tep_format_field *f = event->format.fields; f && length < size; f = f->next)
		length += snprintf(text + length, size - length, "%s%s", length ? ", " : "",
				   f->name);
}

static struct tep_event *find_event(struct top *top, const char *name)
{
	struct tep_handle *tep = tracemap_decoder_tep(top->view.decoder);
	char system[512], *event;

	snprintf(system, sizeof(system), "%s", name);
	event = strchr(system, ':');
	if (!event)
		return NULL;
	*event++ = '\0';
	return tep_find_event_by_name(tep, system, event);
}

/*
 * Whether the field is in one of the events that are switched on. A tracer may write others,
 * and events may be switched on later: then it is not known.
 */
static int check_field(struct top *top)
{
	char *list = session_get(top->session, "set_event"), *rest = list, *line;
	char *tracer = session_get(top->session, "current_tracer");
	struct tep_event *event = NULL;
	char has[1024];
	bool found = tracer && strcmp(tracer, "nop");

	while (!found && rest && (line = strsep(&rest, "\n"))) {
		struct tep_event *next = find_event(top, line);

		event = next ? next : event;
		found = next && fields_has(&top->field, next->id);
	}
	free(list);
	free(tracer);
	if (found || !event)
		return 0;
	/* The name of a task, where no event has a field of that name. */
	if (!strcmp(top->opt.by, "comm")) {
		top->view.by = TOP_BY_TASK;
		top->view.key = "task";
		return 0;
	}
	list_fields(event, has, sizeof(has));
	say("--by %s: no event that is switched on has a field of that name that is a number or a text; %s:%s has %s",
	    top->opt.by, event->system, event->name, has);
	return -ENOENT;
}

static int open_by(struct top *top)
{
	const char *by = top->opt.by ? top->opt.by : "event";

	top->view.key = by;
	if (!strcmp(by, "event")) {
		top->view.by = TOP_BY_EVENT;
		return 0;
	}
	if (!strcmp(by, "task")) {
		top->view.by = TOP_BY_TASK;
		return 0;
	}
	top->view.by = TOP_BY_FIELD;
	top->field.name = by;
	top->field.decoder = top->view.decoder;
	return check_field(top);
}

/* ---- --between ---- */

/* "SYSTEM:EVENT[:FILTER]" */
static int parse_side(struct side *side, const char *text)
{
	const char *event = strchr(text, ':'), *filter = event ? strchr(event + 1, ':') : NULL;
	size_t length = filter ? (size_t)(filter - text) : strlen(text);

	if (!event || event == text || length >= sizeof(side->name) || length < 3 ||
	    event + 1 == text + length || strcspn(text, "*?[") < length || (filter && !filter[1]))
		return value_wrong("--between", text,
				   "an event is needed as SYSTEM:EVENT, with or without a :FILTER behind it");
	memcpy(side->name, text, length);
	side->condition = filter ? filter + 1 : NULL;
	return 0;
}

static bool same_event(const struct top *top)
{
	return !strcmp(top->sides[0].name, top->sides[1].name);
}

/* @condition: NULL for none */
static int select_side(struct top *top, const struct side *side, const char *condition)
{
	int ret = selection_event(&top->opt.sel, side->name);

	return ret || !condition ? ret : selection_filter(&top->opt.sel, condition);
}

/* The kernel has one filter for an event: of two, this program does the rest. */
static int select_sides(struct top *top)
{
	static char either[4096];
	const struct side *s = top->sides;
	bool both = s[0].condition && s[1].condition;
	int length;

	if (!same_event(top))
		return select_side(top, &s[0], s[0].condition) ?:
		       select_side(top, &s[1], s[1].condition);
	length = both ? snprintf(either, sizeof(either), "(%s) || (%s)", s[0].condition,
				 s[1].condition) : 0;
	if (length >= (int)sizeof(either)) {
		say("--between: the kernel takes a filter of up to %zu bytes, and the two of %s have %d, joined by ||: shorten them",
		    sizeof(either) - 1, s[0].name, length);
		return -EINVAL;
	}
	return select_side(top, &s[0], both ? either : NULL);
}

/* In an instance that is only looked at, the events have to be on. */
static int is_switched_on(struct top *top, const char *name)
{
	char file[600], *enable, *colon;

	snprintf(file, sizeof(file), "events/%s/enable", name);
	colon = strchr(file, ':');
	*colon = '/';
	enable = session_get(top->session, file);
	if (enable && *enable == '0') {
		free(enable);
		say("--between: %s is not switched on in instance %s: echo 1 >%s/%s, or leave out -i, for an instance of its own",
		    name, session_name(top->session), session_dir(top->session), file);
		return -ENOENT;
	}
	free(enable);
	return 0;
}

static int open_side(struct top *top, struct side *side, bool filtered)
{
	struct tep_event *event;
	char has[1024];
	int ret = is_switched_on(top, side->name);

	if (ret)
		return ret;
	/* The decoder has read the formats of the events that are on. */
	event = find_event(top, side->name);
	if (!event) {
		say("--between %s: this kernel has no such event: see %s/available_events",
		    side->name, session_top(top->session));
		return -ENOENT;
	}
	side->id = event->id;
	side->key.decoder = top->view.decoder;
	if (!fields_has(&side->key, event->id)) {
		list_fields(event, has, sizeof(has));
		say("--key %s: %s has no such field that is a number or a text; it has %s",
		    side->key.name, side->name, has);
		return -ENOENT;
	}
	if (!side->condition || filtered)
		return 0;
	ret = event_filter_new(&side->filter, top->view.decoder, event, side->name,
			       side->condition);
	return ret == -ENOMEM ? complain(ABOUT_BUFFER, ret, "the filter") : ret;
}

/* "FIELD", or "FIELD=FIELD" where the two events call it otherwise. */
static int parse_key(struct top *top)
{
	static char first[256];
	const char *key = top->opt.key ? top->opt.key : "common_pid";
	const char *second = strchr(key, '=');
	size_t length = second ? (size_t)(second - key) : strlen(key);

	if (!length || length >= sizeof(first) || (second && !second[1]))
		return value_wrong("--key", key,
				   "a field is needed, or FIELD=FIELD where the second event calls it otherwise");
	memcpy(first, key, length);
	first[length] = '\0';
	top->sides[0].key.name = first;
	top->sides[1].key.name = second ? second + 1 : first;
	top->view.key = key;
	return 0;
}

static int open_between(struct top *top)
{
	/* In an instance of its own, and with two events, the kernel has done it. */
	bool filtered = session_is_own(top->session) && !same_event(top);
	int ret = 0;

	top->latency = calloc(1, sizeof(*top->latency));
	if (!top->latency)
		return complain(ABOUT_BUFFER, ENOMEM, "latencies");
	top->view.latency = top->latency;
	for (int i = 0; i < 2 && !ret; i++) {
		ret = open_side(top, &top->sides[i], filtered);
		top->view.between[i] = top->opt.between[i];
	}
	return ret;
}

/* ---- Start and end ---- */

static int open_form(struct top *top)
{
	int ret;

	top->form = top->opt.json ? FORM_JSON : FORM_ROWS;
	/*
	 * What the user's command prints would be in the picture. And with a number of tables
	 * this one leaves the screen with the last table, before its user can read that.
	 */
	if (top->opt.json || top->opt.rows || top->opt.count || top->opt.command ||
	    !screen_is_there()) {
		output_never_wait(&top->out);
		return 0;
	}
	ret = screen_open(&top->screen.screen);
	if (ret)
		return complain(ABOUT_OUTPUT, ret, "the screen");
	top->form = FORM_SCREEN;
	top->keys = true;
	return 0;
}

static unsigned int limit_of(const struct top *top)
{
	if (top->opt.limit)
		return top->opt.limit;
	return top->form == FORM_ROWS ? ROWS : COUNTS_LIMIT;
}

static int start(struct top *top)
{
	int ret = sink_check_open("");

	if (!ret)
		ret = selection_open(&top->opt.sel, &top->session, &top->loop.child,
				     top->opt.command);
	if (!ret)
		ret = open_buffers(top);
	if (ret)
		return ret;
	top->began = now_ns();
	ret = tracemap_decoder_new(&top->view.decoder, session_dir(top->session));
	if (ret)
		return formats_refused(ret, session_dir(top->session));
	ret = top->opt.between[0] ? open_between(top) : open_by(top);
	if (ret)
		return ret;
	top->view.instance = session_name(top->session);
	top->view.way = tracemap_way_name(tracemap_cpu_way(tracemap_get_cpu(top->t, 0)));
	losses_begin(&top->losses, top->t);
	ret = session_trace(top->session, true);
	if (session_is_own(top->session))
		top->began = now_ns();
	return ret;
}

static int run(struct top *top)
{
	int ret = start(top);

	if (ret)
		return child_not_begun(&top->loop.child);
	if (!top->opt.quiet)
		session_say_how(top->session, top->t, top->opt.sel.way);
	ret = open_form(top);
	if (ret)
		return EXIT_FAILED;
	top->view.limit = limit_of(top);
	ret = loop_start(&top->loop, top->opt.duration,
			 top->opt.command ? top->opt.command[0] : NULL);
	top->out.deadline = top->loop.deadline;
	if (ret)
		return child_not_started(ret);
	top->next = now_ns() + (uint64_t)(top->opt.interval * 1e9);
	top->incomplete = !loop_run(&top->loop, top->t, &counting, top);
	take_rest(top);
	child_stop(&top->loop.child);
	return finish(top);
}

static int clean_up(struct top *top, int status)
{
	screen_close();
	loop_end(&top->loop);
	tracemap_merge_free(top->m);
	tracemap_close(top->t);
	for (int i = 0; i < 2; i++) {
		event_filter_free(top->sides[i].filter);
		fields_free(&top->sides[i].key);
	}
	fields_free(&top->field);
	if (top->latency)
		latency_free(top->latency);
	free(top->latency);
	counts_free(&top->view.counts);
	tracemap_decoder_free(top->view.decoder);
	losses_end(&top->losses);
	output_free(&top->out);
	if (session_close(top->session) && status == EXIT_OK)
		status = EXIT_FAILED;
	return status;
}

/* ---- Options ---- */

/* The second event is the next word. */
static int take_between(void *to, const char *first)
{
	struct top *top = to;
	char *second = top->argv[optind];

	if (!second || *second == '-')
		return value_wrong("--between", first, "a second event is needed behind it");
	optind++;
	top->opt.between[0] = first;
	top->opt.between[1] = second;
	return parse_side(&top->sides[0], first) ?: parse_side(&top->sides[1], second);
}

static int take_by(void *to, const char *by)
{
	struct top *top = to;

	top->opt.by = by;
	return *by ? 0 : value_wrong("--by", by, "event, task or a field is needed");
}

static int take_interval(void *to, const char *interval)
{
	struct top *top = to;

	return value_interval(interval, INTERVAL_MIN, &top->opt.interval);
}

#define AT(field)	offsetof(struct top, field)

static const struct verb_option own_options[] = {
	{ .help = "What to count:" },
	{ 0, "by", OPTION_CALL, 0, "WHAT", "event, task, or the name of a field (default: event)",
	  take_by },
	{ 0, "between", OPTION_CALL, 0, "A[:FILTER] B[:FILTER]",
	  "the time from event A to event B, each\n"
	  "SYSTEM:EVENT, the filter as of -f", take_between },
	{ 0, "key", OPTION_TEXT, AT(opt.key), "FIELD",
	  .help = "of events in which it is equal; FIELD=FIELD if B calls it\n"
	  "otherwise (default: common_pid, the same task)" },
	{ .help = "How to read:" },
	{ 0, "way", OPTION_WAY, AT(opt.sel.way), "WAY",
	  .help = "read, map, observe, as of tracemap stream" },
	{ .help = "What to print:" },
	{ 'd', "interval", OPTION_CALL, 0, "TIME", "a table every so often (default: 1, a second)",
	  take_interval },
	{ 'n', "count", OPTION_COUNT, AT(opt.count), "N",
	  .help = "stop after this many tables, of rows" },
	{ 0, "max-rows", OPTION_COUNT, AT(opt.limit), "N",
	  .help = "at most so many rows a table (default: 20; screen, JSON: all)" },
	{ 'r', "rows", OPTION_FLAG, AT(opt.rows), NULL, .help = "rows, even on a terminal" },
	{ 0, "json", OPTION_FLAG, AT(opt.json), NULL,
	  .help = "an object a line for each interval" },
	{ 'q', "quiet", OPTION_FLAG, AT(opt.quiet), NULL,
	  .help = "print neither how the buffers are read nor the totals at the end" },
	{ 0, "duration", OPTION_SECONDS, AT(opt.duration), "TIME",
	  .help = "stop after seconds, or 500ms, 10s, 5m, 1h" },
	{ }
};

static const struct verb_options verb = {
	.verb = "top",
	.usage =
	"usage: tracemap top [OPTION]... [-- COMMAND [ARGUMENT]...]\n"
	"Count the events of a running instance, or measure the time from one to another.\n"
	"Where the kernel has the live index, other readers lose nothing by it.\n"
	"\n"
	"  tracemap top -i mine --by task\n"
	"  tracemap top -e irq:irq_handler_entry --by name\n"
	"  tracemap top --between sched:sched_waking sched:sched_switch --key pid=next_pid\n"
	"\n",
	.end =
	"\nOn the screen: ? helps, q quits.\n"
	"Exit status: 0, or the COMMAND's; 1: it failed; 2: usage.\n",
	.command = true,
	.groups = {
		{ selection_options, AT(opt.sel) },
		{ selection_child_options, AT(opt.sel) },
		{ own_options },
	},
};

static int check_between(struct top *top)
{
	struct options *opt = &top->opt;
	const char *which = opt->sel.follow.nr ? "-P" : opt->sel.follow.cgroup ? "--cgroup" : "-F";

	if (opt->by) {
		say("--by counts, --between measures: one of the two");
		return -EINVAL;
	}
	/* It passes a waking by the command, and not the switch that follows in another task. */
	if (opt->sel.child_only || follow_is_asked(&opt->sel.follow)) {
		say("--between with %s would measure pairs that never were: %s keeps events of other tasks out, in the middle of a pair; leave out %s, and use a filter, as in EVENT:'comm == \"make\"'",
		    which, which, which);
		return -EINVAL;
	}
	if (parse_key(top))
		return -EINVAL;
	/* Its time stamps are in order across CPUs. */
	if (!opt->sel.instance && !opt->sel.clock)
		opt->sel.clock = "mono";
	return opt->sel.instance ? 0 : select_sides(top);
}

static int check_options(struct top *top)
{
	struct options *opt = &top->opt;

	opt->limit = opt->limit > COUNTS_LIMIT ? COUNTS_LIMIT : opt->limit;
	/* Larger sub-buffers make an event cheaper to read. */
	opt->sel.large_subbufs = true;
	if (opt->between[0])
		return check_between(top);
	if (opt->key) {
		say("--key is for --between");
		return -EINVAL;
	}
	if (!selection_is_empty(&opt->sel) || opt->sel.instance)
		return 0;
	say("nothing to count: -i INSTANCE for what is traced there, or -e EVENT, -p TRACER, --between");
	return -EINVAL;
}

/* Returns as options_parse() does. */
static int parse_options(struct top *top, int argc, char **argv)
{
	int given, ret;

	top->opt.interval = 1;
	top->argv = argv;
	given = options_parse(&verb, top, argc, argv);
	if (given <= 0)
		return given;
	ret = selection_command(&top->opt.sel, argc, argv, &top->opt.command);
	if (!ret)
		ret = check_options(top);
	return ret ? ret : given;
}

int cmd_top(int argc, char **argv)
{
	struct top top = { .loop = LOOP_INIT, .out = { .fd = STDOUT_FILENO } };
	int ret = parse_options(&top, argc, argv);
	int status = EXIT_USAGE;

	if (!ret)
		status = EXIT_OK;
	else if (ret > 0)
		status = clean_up(&top, run(&top));
	selection_free(&top.opt.sel);
	return status;
}

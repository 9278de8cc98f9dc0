// SPDX-License-Identifier: GPL-2.0
/*
 * tracemap top: names and figures, and lines for people, awk, and readers of JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event-parse.h>

#include "clock.h"
#include "json_string.h"
#include "top.h"

/* ---- Names ---- */

/* A field may have anything in it, even what a terminal takes for a command. */
static char *harmless(char *text)
{
	for (char *at = text; at && *at; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
	return text;
}

static char *event_name(const struct top_view *v, int id)
{
	struct tep_event *event = tracemap_decoder_event(v->decoder, id);
	char *name;

	if (event ? asprintf(&name, "%s:%s", event->system, event->name) < 0 :
		    asprintf(&name, "unknown event %d", id) < 0)
		return NULL;
	return name;
}

static char *task_name(const struct top_view *v, int pid)
{
	char *name;

	if (asprintf(&name, "%s-%d", tracemap_decoder_comm(v->decoder, pid), pid) < 0)
		return NULL;
	return name;
}

/* The decoder tells libtraceevent more than the name, behind a mark. */
static char *address_name(const struct top_view *v, uint64_t address)
{
	struct tep_handle *tep = tracemap_decoder_tep(v->decoder);
	const char *function = address ? tep_find_function(tep, address) : NULL;
	char *name;

	if (function && *function)
		return strndup(function, strcspn(function, "~"));
	if (asprintf(&name, "0x%" PRIx64, address) < 0)
		return NULL;
	return name;
}

static char *field_name(const struct top_view *v, const struct count *count)
{
	char *name;

	if (count->text)
		return strdup(count->text);
	if (count->is_address)
		return address_name(v, count->number);
	if (asprintf(&name, count->is_signed ? "%" PRId64 : "%" PRIu64, count->number) < 0)
		return NULL;
	return name;
}

static char *name_of(const struct top_view *v, const struct count *count)
{
	switch (v->by) {
	case TOP_BY_EVENT:
		return event_name(v, count->number);
	case TOP_BY_TASK:
		return task_name(v, count->number);
	default:
		return field_name(v, count);
	}
}

/* A process may have got another name since. */
static bool is_named(const struct top_view *v, const struct count *count)
{
	return count->name && (v->by != TOP_BY_TASK || !count->last);
}

void top_prepare(struct top_view *v)
{
	struct counts *c = &v->counts;

	for (unsigned int i = 0; i < c->nr; i++) {
		struct count *count = c->list[i];

		if (is_named(v, count))
			continue;
		free(count->name);
		count->name = harmless(name_of(v, count));
	}
	counts_sort(c, v->order);
}

/* ---- Figures ---- */

double top_share(const struct top_view *v, const struct count *count)
{
	return v->counts.all.total ? 100.0 * count->total / v->counts.all.total : 0;
}

double top_rate(const struct top_view *v, uint64_t events)
{
	return v->seconds < TOP_RATE_SECONDS ? -1 : events / v->seconds;
}

struct top_time top_time(uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double value = ns;
	unsigned int unit = 0;
	struct top_time t;

	while (value >= 999.5 && unit < 3) {
		value /= 1000;
		unit++;
	}
	snprintf(t.text, sizeof(t.text), "%.*f%s",
		 !unit ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[unit]);
	return t;
}

/* @none stands for a rate that is not known. */
static void print_rate(FILE *to, const struct top_view *v, int width, uint64_t events,
		       const char *none)
{
	double rate = top_rate(v, events);

	if (rate < 0)
		fprintf(to, "%*s", width, none);
	else
		fprintf(to, "%*.1f", width, rate);
}

/* ---- Rows ---- */

static void print_row(FILE *to, const struct top_view *v, const char *clock,
		      const struct count *count, const char *name)
{
	fprintf(to, "%-8s ", clock);
	print_rate(to, v, 12, count->last, "-");
	fprintf(to, " %14" PRIu64 " %6.2f  %s\n", count->total, top_share(v, count), name);
}

static void print_counts(FILE *to, const struct top_view *v, const char *clock)
{
	const struct counts *c = &v->counts;

	for (unsigned int i = 0; i < c->nr && i < v->limit; i++)
		print_row(to, v, clock, c->list[i], c->list[i]->name ? c->list[i]->name : "?");
	if (c->keyless.total)
		print_row(to, v, clock, &c->keyless, "(without it)");
	if (c->others.total)
		print_row(to, v, clock, &c->others, "(of more than can be counted)");
	print_row(to, v, clock, &c->all, "(all)");
}

struct top_time top_quantile(const struct histogram *h, double percent)
{
	return h->nr ? top_time(histogram_quantile(h, percent)) : (struct top_time){ "-" };
}

static void print_histogram(FILE *to, const char *clock, const char *name,
			    const struct histogram *h)
{
	fprintf(to, "%-8s %-8s %12" PRIu64 " %10s %10s", clock, name, h->nr,
		top_quantile(h, 50).text, top_quantile(h, 90).text);
	fprintf(to, " %10s %10s\n", top_quantile(h, 99).text, top_quantile(h, 100).text);
}

static void print_header(FILE *to, const struct top_view *v)
{
	if (v->latency)
		fprintf(to, "%-8s %-8s %12s %10s %10s %10s %10s\n", "time", "of", "count",
			"p50", "p90", "p99", "max");
	else
		fprintf(to, "%-8s %12s %14s %6s  %s\n", "time", "rate/s", "count", "share%",
			v->key);
}

void top_print_rows(FILE *to, const struct top_view *v, bool header)
{
	char clock[16];

	time_of_day(clock);
	if (header)
		print_header(to, v);
	if (!v->latency) {
		print_counts(to, v, clock);
		return;
	}
	print_histogram(to, clock, "interval", &v->latency->last);
	print_histogram(to, clock, "all", &v->latency->all);
}

/* ---- JSON ---- */

static void json_event(FILE *to, const struct top_view *v, int id)
{
	struct tep_event *event = tracemap_decoder_event(v->decoder, id);

	fprintf(to, "\"id\":%d,\"system\":", id);
	json_string(to, event ? event->system : "");
	fputs(",\"event\":", to);
	json_string(to, event ? event->name : "");
}

static void json_field(FILE *to, const struct count *count)
{
	struct tracemap_line line = TRACEMAP_LINE_INIT;

	fputs("\"value\":", to);
	if (count->text) {
		tracemap_json_string(&line, count->text, count->length);
		fwrite(line.text, 1, line.length, to);
		tracemap_line_free(&line);
	} else if (count->is_signed) {
		fprintf(to, "%" PRId64, count->number);
	} else {
		fprintf(to, "%" PRIu64, count->number);
	}
	if (!count->is_address)
		return;
	fputs(",\"symbol\":", to);
	json_string(to, count->name ? count->name : "");
}

static void json_key(FILE *to, const struct top_view *v, const struct count *count)
{
	switch (v->by) {
	case TOP_BY_EVENT:
		json_event(to, v, count->number);
		break;
	case TOP_BY_TASK:
		fprintf(to, "\"pid\":%d,\"comm\":", (int)count->number);
		json_string(to, tracemap_decoder_comm(v->decoder, count->number));
		break;
	default:
		json_field(to, count);
	}
}

static void json_figures(FILE *to, const struct top_view *v, const struct count *count)
{
	fputs("\"rate\":", to);
	print_rate(to, v, 0, count->last, "null");
	fprintf(to, ",\"count\":%" PRIu64 ",\"share\":%.4f", count->total,
		top_share(v, count) / 100);
}

static void json_counts(FILE *to, const struct top_view *v)
{
	const struct counts *c = &v->counts;
	const char *comma = "";

	fprintf(to, ",\"by\":");
	json_string(to, v->key);
	fputs(",\"rows\":[", to);
	for (unsigned int i = 0; i < c->nr && i < v->limit; i++) {
		fprintf(to, "%s{", comma);
		json_key(to, v, c->list[i]);
		fputc(',', to);
		json_figures(to, v, c->list[i]);
		fputc('}', to);
		comma = ",";
	}
	fprintf(to, "],\"without\":%" PRIu64 ",\"uncounted\":%" PRIu64 ",\"all\":{",
		c->keyless.total, c->others.total);
	json_figures(to, v, &c->all);
	fputc('}', to);
}

static void json_histogram(FILE *to, const char *name, const struct histogram *h)
{
	fprintf(to, ",\"%s\":{\"count\":%" PRIu64, name, h->nr);
	if (h->nr)
		fprintf(to, ",\"p50\":%" PRIu64 ",\"p90\":%" PRIu64 ",\"p99\":%" PRIu64
			",\"max\":%" PRIu64, histogram_quantile(h, 50), histogram_quantile(h, 90),
			histogram_quantile(h, 99), h->max);
	else
		fputs(",\"p50\":null,\"p90\":null,\"p99\":null,\"max\":null", to);
	fputc('}', to);
}

/* What the interval has in each range, by where that begins. */
static void json_rows(FILE *to, const struct latency *l)
{
	const char *comma = "";

	fputs(",\"histogram\":[", to);
	for (unsigned int i = 0; i < LATENCY_ROWS; i++) {
		if (!l->rows[i])
			continue;
		fprintf(to, "%s{\"from\":%" PRIu64 ",\"count\":%u}", comma,
			i ? latency_row_begin(i) : 0, l->rows[i]);
		comma = ",";
	}
	fputc(']', to);
}

static void json_latency(FILE *to, const struct top_view *v)
{
	const struct latency *l = v->latency;

	fputs(",\"from\":", to);
	json_string(to, v->between[0]);
	fputs(",\"to\":", to);
	json_string(to, v->between[1]);
	fputs(",\"key\":", to);
	json_string(to, v->key);
	json_histogram(to, "interval", &l->last);
	json_rows(to, l);
	json_histogram(to, "all", &l->all);
	fprintf(to, ",\"replaced\":%" PRIu64 ",\"unstarted\":%" PRIu64 ",\"forgotten\":%" PRIu64
		",\"waiting\":%u", l->replaced, l->unstarted, l->forgotten, l->nr);
}

void top_print_json(FILE *to, const struct top_view *v)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	fprintf(to, "{\"time\":%lld.%03ld,\"instance\":", (long long)now.tv_sec,
		now.tv_nsec / 1000000);
	json_string(to, v->instance);
	fprintf(to, ",\"way\":\"%s\",\"seconds\":%.3f,\"events\":%" PRIu64 ",\"lost\":%" PRIu64
		",\"lost_more\":%s", v->way, v->seconds, v->events, v->lost,
		v->lost_more ? "true" : "false");
	if (v->latency)
		json_latency(to, v);
	else
		json_counts(to, v);
	fputs("}\n", to);
}

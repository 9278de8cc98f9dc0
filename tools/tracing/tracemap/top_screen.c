// SPDX-License-Identifier: GPL-2.0
/*
 * tracemap top: the table that fills the screen.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "spark.h"
#include "top.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

static const char *const order_names[] = {
	[COUNTS_BY_RATE] = "rate",
	[COUNTS_BY_TOTAL] = "count",
	[COUNTS_BY_NAME] = "name",
};

static const char *const help_lines[] = {
	"r  c  n      sort by rate, count or name",
	"arrows, space, page keys, Home, End    scroll",
	"?            this help; any key leaves it",
	"q, Ctrl-C    quit",
	"",
	"RATE/S is that of the last interval, COUNT and SHARE are of all since the beginning.",
	"The sparkline has the last intervals, the newest on the right.",
	NULL
};

static const char *const latency_help_lines[] = {
	"Replaced are starts that another start of their key followed, unstarted are ends without",
	"a start; forgotten are starts whose end may be lost.",
	NULL
};

static void put_lines(struct screen *s, FILE *out, const char *const *lines)
{
	for (; *lines && screen_rows_left(s) > 0; lines++) {
		fputs(*lines, out);
		screen_line_end(s);
	}
}

static void draw_help(struct screen *s, FILE *out, bool latency)
{
	put_lines(s, out, help_lines);
	if (latency)
		put_lines(s, out, latency_help_lines);
}

static void draw_title(struct screen *s, FILE *out, const struct top_view *v)
{
	char clock[16], title[512];

	time_of_day(clock);
	if (v->latency)
		snprintf(title, sizeof(title), "tracemap top   ?: help, q: quit   %s to %s by %s",
			 v->between[0], v->between[1], v->key);
	else
		snprintf(title, sizeof(title),
			 "tracemap top   ?: help, q: quit   by %s, sorted by %s",
			 v->key, order_names[v->order]);
	fprintf(out, SCREEN_REVERSE "%-*.*s%9s", s->cols - 9, s->cols > 9 ? s->cols - 9 : 0,
		title, clock);
	screen_line_end(s);
}

static void draw_state(struct screen *s, FILE *out, const struct top_view *v)
{
	fprintf(out, "Instance %s, %s: %s events, ", v->instance, v->way,
		spark_number(v->events).text);
	if (v->lost || v->lost_more)
		fputs(SCREEN_REVERSE, out);
	fprintf(out, "%s lost%s", spark_number(v->lost).text, v->lost_more ? " and more" : "");
	screen_line_end(s);
}

/* ---- Counts ---- */

/* What there is room for beside the name. */
static unsigned int spark_columns(const struct screen *s)
{
	return s->cols >= 64 ? SPARK_VALUES : s->cols >= 52 ? SPARK_VALUES / 2 : 0;
}

static void draw_count(struct screen *s, FILE *out, const struct top_view *v,
		       const struct count *count, const char *name)
{
	unsigned int width = spark_columns(s);

	if (screen_rows_left(s) <= 0)
		return;
	fprintf(out, "%7s %7s %5.1f%% ", spark_number(top_rate(v, count->last)).text,
		spark_number(count->total).text, top_share(v, count));
	if (width) {
		spark_print(out, &count->history, width);
		fputc(' ', out);
	}
	fputs(name, out);
	screen_line_end(s);
}

static void draw_counts(struct top_screen *ts, FILE *out, const struct top_view *v)
{
	const struct counts *c = &v->counts;
	struct screen *s = &ts->screen;
	unsigned int width = spark_columns(s);
	int rows = c->nr < v->limit ? c->nr : v->limit, room;

	fprintf(out, SCREEN_BOLD "%7s %7s %6s %-*s%s", "RATE/S", "COUNT", "SHARE",
		width ? width + 1 : 0, width ? "HISTORY" : "", v->key);
	screen_line_end(s);
	draw_count(s, out, v, &c->all, "(all)");
	if (c->keyless.total)
		draw_count(s, out, v, &c->keyless, "(without it)");
	if (c->others.total)
		draw_count(s, out, v, &c->others, "(of more than can be counted)");
	room = screen_rows_left(s);
	if (ts->from > rows - room)
		ts->from = rows - room;
	if (ts->from < 0)
		ts->from = 0;
	for (int i = ts->from; i < rows; i++)
		draw_count(s, out, v, c->list[i], c->list[i]->name ? c->list[i]->name : "?");
}

/* ---- Latencies ---- */

static void draw_histogram(struct screen *s, FILE *out, const char *name,
			   const struct histogram *h)
{
	static const double percents[] = { 50, 90, 99, 100 };

	if (screen_rows_left(s) <= 0)
		return;
	fprintf(out, "%-8s %8s", name, spark_number(h->nr).text);
	for (unsigned int i = 0; i < NR(percents); i++)
		fprintf(out, " %8s", top_quantile(h, percents[i]).text);
	screen_line_end(s);
}

static void draw_latency(struct screen *s, FILE *out, const struct top_view *v)
{
	const struct latency *l = v->latency;

	fprintf(out, SCREEN_BOLD "%-8s %8s %8s %8s %8s %8s", "", "COUNT", "P50", "P90", "P99", "MAX");
	screen_line_end(s);
	draw_histogram(s, out, "interval", &l->last);
	draw_histogram(s, out, "all", &l->all);
	fprintf(out, "%s replaced, ", spark_number(l->replaced).text);
	fprintf(out, "%s unstarted, ", spark_number(l->unstarted).text);
	fprintf(out, "%s forgotten, %u waiting", spark_number(l->forgotten).text, l->nr);
	screen_line_end(s);
}

int top_draw(struct top_screen *ts, struct top_view *v)
{
	FILE *out = screen_begin(&ts->screen);

	if (!out)
		return -ENOMEM;
	draw_title(&ts->screen, out, v);
	draw_state(&ts->screen, out, v);
	if (ts->help)
		draw_help(&ts->screen, out, v->latency);
	else if (v->latency)
		draw_latency(&ts->screen, out, v);
	else
		draw_counts(ts, out, v);
	return screen_show(&ts->screen);
}

/* ---- Keys ---- */

static void sort_by(struct top_view *v, enum counts_order order)
{
	v->order = order;
	counts_sort(&v->counts, order);
}

static void scroll(struct top_screen *ts, int key)
{
	int page = ts->screen.rows - 3;

	switch (key) {
	case KEY_UP:
		ts->from--;
		break;
	case KEY_DOWN:
		ts->from++;
		break;
	case KEY_PAGE_UP:
		ts->from -= page;
		break;
	case ' ':
	case KEY_PAGE_DOWN:
		ts->from += page;
		break;
	case KEY_HOME:
		ts->from = 0;
		break;
	case KEY_END:
		ts->from = INT_MAX / 2;
		break;
	}
}

static bool command(struct top_screen *ts, struct top_view *v, int key)
{
	switch (key) {
	case 'q':
	case 'Q':
		return false;
	case '?':
	case 'h':
		ts->help = true;
		break;
	case 'r':
		sort_by(v, COUNTS_BY_RATE);
		break;
	case 'c':
		sort_by(v, COUNTS_BY_TOTAL);
		break;
	case 'n':
		sort_by(v, COUNTS_BY_NAME);
		break;
	default:
		scroll(ts, key);
	}
	return true;
}

bool top_key(struct top_screen *ts, struct top_view *v, int key)
{
	if (ts->help) {
		ts->help = key == KEY_NONE;
		return true;
	}
	return command(ts, v, key);
}

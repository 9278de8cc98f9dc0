// SPDX-License-Identifier: GPL-2.0
/*
 * tracemap top: the table, or the heat map, that fills the screen.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "spark.h"
#include "top.h"

#define LABEL_COLUMNS	9	/* of the heat map */
#define NR(array)	(sizeof(array) / sizeof((array)[0]))

static const char *const order_names[] = {
	[COUNTS_BY_RATE] = "rate",
	[COUNTS_BY_TOTAL] = "count",
	[COUNTS_BY_NAME] = "name",
};

static const char *const help_keys[] = {
	"r  c  n      sort by rate, count or name",
	"/            type a part of a name: only such rows are shown; Enter ends, Esc clears",
	NULL
};

static const char *const help_notes[] = {
	"RATE/S is that of the last interval, COUNT and SHARE are of all since the beginning.",
	"The sparkline has the last intervals, the newest on the right.",
	NULL
};

static const char *const latency_help_notes[] = {
	"The heat map has the last intervals, the newest on the right: how many latencies began",
	"where the row says, and are below the row above; the darker, the more.",
	"Replaced are starts that another start of their key followed, unstarted are ends without",
	"a start; forgotten are starts whose end may be lost.",
	NULL
};

static void put_line(struct screen *s, FILE *out, enum screen_colour colour, const char *text)
{
	if (screen_rows_left(s) <= 0)
		return;
	screen_colour(s, colour);
	fputs(text, out);
	screen_line_end(s);
}

static void put_lines(struct screen *s, FILE *out, const char *const *lines)
{
	for (; *lines; lines++)
		put_line(s, out, COLOUR_NONE, *lines);
}

static void draw_help(struct screen *s, FILE *out, bool latency)
{
	put_lines(s, out, help_keys);
	put_lines(s, out, screen_help);
	put_lines(s, out, help_notes);
	if (latency)
		put_lines(s, out, latency_help_notes);
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
	screen_colour(s, COLOUR_REVERSE);
	fprintf(out, "%-*.*s%9s", s->cols - 9, s->cols > 9 ? s->cols - 9 : 0, title, clock);
	screen_line_end(s);
}

static void draw_state(const struct top_screen *ts, FILE *out, const struct top_view *v)
{
	struct screen *s = (struct screen *)&ts->screen;

	fprintf(out, "Instance %s, %s: %s events, ", v->instance, v->way,
		spark_number(v->events).text);
	if (v->lost || v->lost_more)
		screen_colour(s, COLOUR_RED);
	fprintf(out, "%s lost%s", spark_number(v->lost).text, v->lost_more ? " and more" : "");
	screen_colour(s, COLOUR_NONE);
	if (ts->typing || *v->filter)
		fprintf(out, "   filter: %s%s", v->filter, ts->typing ? "_" : "");
	screen_line_end(s);
}

/* ---- Counts ---- */

/* What there is room for beside the name. */
static unsigned int spark_columns(const struct screen *s)
{
	return s->cols >= 64 ? SPARK_VALUES : s->cols >= 52 ? SPARK_VALUES / 2 : 0;
}

static void draw_count(struct top_screen *ts, FILE *out, const struct top_view *v,
		       const struct count *count, const char *name)
{
	struct screen *s = &ts->screen;
	unsigned int width = spark_columns(s);

	if (screen_rows_left(s) <= 0)
		return;
	fprintf(out, "%7s %7s %5.1f%% ", spark_number(top_rate(v, count->last)).text,
		spark_number(count->total).text, top_share(v, count));
	if (width) {
		screen_colour(s, COLOUR_GREEN);
		spark_print(out, &count->history, width, ts->utf8);
		screen_colour(s, COLOUR_NONE);
		fputc(' ', out);
	}
	fputs(name, out);
	screen_line_end(s);
}

static int count_rows(const struct top_view *v)
{
	int rows = 0;

	for (unsigned int i = 0; i < v->counts.nr && rows < (int)v->limit; i++)
		rows += top_is_wanted(v, v->counts.list[i]);
	return rows;
}

static void draw_counts(struct top_screen *ts, FILE *out, const struct top_view *v)
{
	const struct counts *c = &v->counts;
	struct screen *s = &ts->screen;
	unsigned int width = spark_columns(s);
	int rows = count_rows(v), room, row = 0;

	screen_colour(s, COLOUR_BOLD);
	fprintf(out, "%7s %7s %6s %-*s%s", "RATE/S", "COUNT", "SHARE", width ? width + 1 : 0,
		width ? "HISTORY" : "", v->key);
	screen_line_end(s);
	draw_count(ts, out, v, &c->all, "(all)");
	if (c->keyless.total)
		draw_count(ts, out, v, &c->keyless, "(without it)");
	if (c->others.total)
		draw_count(ts, out, v, &c->others, "(of more than can be counted)");
	room = screen_rows_left(s);
	if (ts->from > rows - room)
		ts->from = rows - room;
	if (ts->from < 0)
		ts->from = 0;
	for (unsigned int i = 0; i < c->nr && row < rows; i++) {
		const struct count *count = c->list[i];

		if (top_is_wanted(v, count) && row++ >= ts->from)
			draw_count(ts, out, v, count, count->name ? count->name : "?");
	}
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

/* The part of the heat map that there is something in. */
struct heat {
	const struct latency *l;
	unsigned int columns;
	int first, last;	/* rows */
	uint32_t most;
};

static const uint32_t *column_of(const struct heat *h, unsigned int i)
{
	return h->l->columns[(h->l->nr_columns - h->columns + i) % LATENCY_COLUMNS];
}

static struct heat find_heat(const struct latency *l, int width)
{
	struct heat h = { .l = l, .columns = l->nr_columns, .first = LATENCY_ROWS, .last = -1 };

	if (h.columns > LATENCY_COLUMNS - 1)
		h.columns = LATENCY_COLUMNS - 1;
	if ((int)h.columns > width)
		h.columns = width > 0 ? width : 0;
	for (unsigned int i = 0; i < h.columns; i++) {
		for (int row = 0; row < LATENCY_ROWS; row++) {
			uint32_t n = column_of(&h, i)[row];

			if (!n)
				continue;
			h.first = row < h.first ? row : h.first;
			h.last = row > h.last ? row : h.last;
			h.most = n > h.most ? n : h.most;
		}
	}
	return h;
}

/* By the square root, so that few beside many are seen as well. */
static double heat_part(uint32_t n, uint32_t most)
{
	double part = (double)n / most, root = 1;

	if (!n)
		return 0;
	for (int i = 0; i < 20; i++)
		root = (root + part / root) / 2;
	return root;
}

static void draw_heat_row(struct top_screen *ts, FILE *out, const struct heat *h, int row)
{
	struct screen *s = &ts->screen;

	if (screen_rows_left(s) <= 0)
		return;
	fprintf(out, "%*s ", LABEL_COLUMNS - 1, top_time(row ? latency_row_begin(row) : 0).text);
	screen_colour(s, COLOUR_YELLOW);
	for (unsigned int i = 0; i < h->columns; i++)
		fputs(spark_shade(heat_part(column_of(h, i)[row], h->most), ts->utf8), out);
	screen_line_end(s);
}

static void draw_latency(struct top_screen *ts, FILE *out, const struct top_view *v)
{
	const struct latency *l = v->latency;
	struct screen *s = &ts->screen;
	struct heat h = find_heat(l, s->cols - LABEL_COLUMNS);

	screen_colour(s, COLOUR_BOLD);
	fprintf(out, "%-8s %8s %8s %8s %8s %8s", "", "COUNT", "P50", "P90", "P99", "MAX");
	screen_line_end(s);
	draw_histogram(s, out, "interval", &l->last);
	draw_histogram(s, out, "all", &l->all);
	fprintf(out, "%s replaced, ", spark_number(l->replaced).text);
	fprintf(out, "%s unstarted, ", spark_number(l->unstarted).text);
	fprintf(out, "%s forgotten, %u waiting", spark_number(l->forgotten).text, l->nr);
	screen_line_end(s);
	for (int row = h.last; row >= h.first; row--)
		draw_heat_row(ts, out, &h, row);
}

int top_draw(struct top_screen *ts, struct top_view *v)
{
	FILE *out = screen_begin(&ts->screen);

	if (!out)
		return -ENOMEM;
	draw_title(&ts->screen, out, v);
	draw_state(ts, out, v);
	if (ts->help)
		draw_help(&ts->screen, out, v->latency);
	else if (v->latency)
		draw_latency(ts, out, v);
	else
		draw_counts(ts, out, v);
	return screen_show(&ts->screen);
}

/* ---- Keys ---- */

static void type(struct top_screen *ts, struct top_view *v, int key)
{
	size_t length = strlen(v->filter);

	if (key == KEY_ESCAPE)
		*v->filter = '\0';
	if (key == KEY_ESCAPE || key == '\n' || key == '\r')
		ts->typing = false;
	if ((key == 0x7f || key == '\b') && length)
		v->filter[length - 1] = '\0';
	if (key >= ' ' && key <= '~' && length + 1 < sizeof(v->filter)) {
		v->filter[length] = key;
		v->filter[length + 1] = '\0';
	}
}

static void sort_by(struct top_view *v, enum counts_order order)
{
	v->order = order;
	counts_sort(&v->counts, order);
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
	case '/':
		ts->typing = !v->latency;
		break;
	case KEY_ESCAPE:
		*v->filter = '\0';
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
		screen_scroll(&ts->screen, key, &ts->from);
	}
	return true;
}

bool top_key(struct top_screen *ts, struct top_view *v, int key)
{
	if (ts->typing) {
		type(ts, v, key);
		return true;
	}
	if (ts->help) {
		ts->help = key == KEY_NONE;
		return true;
	}
	return command(ts, v, key);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * tracemap stat: the table that fills the screen.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "stat.h"

/* Columns of the row beside bar and mappers; those two share what is left. */
#define FIXED_COLUMNS	62
#define BAR_MIN		10
#define BAR_MAX		40
#define MAPPED_COLUMNS	24

#define FULL		0.9
#define FILLING		0.6

/* The body scrolls: rows above the window are counted, not drawn. */
struct drawing {
	struct screen *s;
	FILE *out;
	int row, from, room;
	int bar;
};

struct number {
	char text[16];
};

/* Four digits and a unit: 987, 12.3k, 4.56M */
static struct number number(double value)
{
	static const char units[] = " kMGTPE";
	struct number n;
	int unit = 0;

	if (value < 0) {
		strcpy(n.text, "-");
		return n;
	}
	while (value >= 999.5 && units[unit + 1]) {
		value /= 1000;
		unit++;
	}
	if (!unit)
		snprintf(n.text, sizeof(n.text), "%.0f", value);
	else
		snprintf(n.text, sizeof(n.text), "%.*f%c",
			 value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[unit]);
	return n;
}

static bool row_is_seen(struct drawing *d)
{
	int row = d->row++;

	return row >= d->from && row < d->from + d->room;
}

static void draw_bar(struct drawing *d, double fill)
{
	int full = fill * d->bar + 0.5;

	if (fill > 0 && !full)
		full = 1;
	fputc('[', d->out);
	screen_colour(d->s, fill >= FULL ? COLOUR_RED :
			    fill >= FILLING ? COLOUR_YELLOW : COLOUR_GREEN);
	for (int i = 0; i < d->bar; i++)
		fputc(i < full ? '#' : ' ', d->out);
	screen_colour(d->s, COLOUR_NONE);
	fprintf(d->out, "] %3.0f%%", 100 * fill);
}

static void draw_lost(struct drawing *d, const struct gauge *g)
{
	if (g->rate.lost > 0)
		screen_colour(d->s, COLOUR_RED);
	fprintf(d->out, "%7s %7s", number(g->rate.lost).text,
		number(reading_lost(&g->now)).text);
	screen_colour(d->s, COLOUR_NONE);
}

static void draw_gauge(struct drawing *d, const struct gauge *g, const char *mapped_by)
{
	if (!row_is_seen(d))
		return;
	if (g->cpu < 0)
		fprintf(d->out, "%4s ", "all");
	else
		fprintf(d->out, "%4d ", g->cpu);
	draw_bar(d, g->now.fill);
	if (g->rate.reset)
		fprintf(d->out, "%18s", "was emptied");
	else
		fprintf(d->out, "%9s%9s", number(g->rate.events).text,
			number(g->rate.bytes).text);
	draw_lost(d, g);
	fprintf(d->out, "%8s%7s  %s", number(g->now.overwritten).text,
		number(g->now.events).text, mapped_by);
	screen_line_end(d->s);
}

static void draw_text(struct drawing *d, enum screen_colour colour, const char *text)
{
	if (!row_is_seen(d))
		return;
	screen_colour(d->s, colour);
	fputs(text, d->out);
	screen_line_end(d->s);
}

static void draw_instance(struct drawing *d, const struct panel *p)
{
	char text[128];

	snprintf(text, sizeof(text), "%s %s, %u CPUs", strcmp(p->name, "/") ?
		 "Instance" : "The top level,", p->name, p->nr);
	draw_text(d, COLOUR_BOLD, text);
}

static void draw_panel(struct drawing *d, const struct watch *w, unsigned int nr)
{
	const struct panel *p = &w->panels[nr];
	struct gauge all = panel_total(p);
	char mapped_by[256];
	const char *note;

	draw_instance(d, p);
	for (unsigned int i = 0; (note = stat_note(w, p, i)); i++)
		draw_text(d, COLOUR_NONE, note);
	for (unsigned int i = 0; i < p->nr; i++) {
		stat_mapped_by(w, nr, i, mapped_by, sizeof(mapped_by));
		draw_gauge(d, &p->gauges[i], mapped_by);
	}
	draw_gauge(d, &all, "");
}

static void draw_head(struct drawing *d, const struct watch *w)
{
	time_t now = time(NULL);
	char clock[16];

	strftime(clock, sizeof(clock), "%T", localtime(&now));
	screen_colour(d->s, COLOUR_REVERSE);
	fprintf(d->out, "%-*s", d->s->cols - 9, "tracemap stat   q: quit, arrows: scroll");
	fprintf(d->out, "%9s", clock);
	screen_line_end(d->s);

	screen_colour(d->s, COLOUR_BOLD);
	fprintf(d->out, "%4s %-*s%9s%9s%7s %7s%8s%7s  %s", "CPU", d->bar + 7, "FILL",
		"EVENTS/S", "BYTES/S", "LOST/S", "LOST", "OVERWR", "EVENTS",
		w->looks_for_mappers ? "ALSO MAPPED BY" : "");
	screen_line_end(d->s);
}

/* How many rows the body has. */
static int count_rows(const struct watch *w)
{
	int rows = 0;

	for (unsigned int i = 0; i < w->nr; i++) {
		const struct panel *p = &w->panels[i];
		unsigned int notes = 0;

		while (stat_note(w, p, notes))
			notes++;
		rows += 1 + notes + p->nr + 1;
	}
	return rows;
}

static int clamp(int value, int low, int high)
{
	return value < low ? low : value > high ? high : value;
}

int stat_draw(struct screen *s, const struct watch *w, int *from)
{
	struct drawing d = { .s = s, .out = screen_begin(s) };
	int rows = count_rows(w);

	if (!d.out)
		return -ENOMEM;
	d.bar = clamp(s->cols - FIXED_COLUMNS - MAPPED_COLUMNS, BAR_MIN, BAR_MAX);
	draw_head(&d, w);
	d.room = screen_rows_left(s);
	*from = clamp(*from, 0, rows > d.room ? rows - d.room : 0);
	d.from = *from;
	for (unsigned int i = 0; i < w->nr; i++)
		draw_panel(&d, w, i);
	return screen_show(s);
}

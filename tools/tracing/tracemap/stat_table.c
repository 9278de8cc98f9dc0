// SPDX-License-Identifier: GPL-2.0
/*
 * tracemap stat: the table that fills the screen.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "clock.h"
#include "stat.h"

/* Columns of the row beside bar and mappers; those two share what is left. */
#define FIXED_COLUMNS	62
#define BAR_MIN		10
#define BAR_MAX		40
#define MAPPED_COLUMNS	24

/* The sparkline and a blank, where there is room: taken from the mappers. */
#define SPARK_COLUMNS	9
#define SPARK_FROM	96

#define FULL		0.9
#define FILLING		0.6

/* The body scrolls: rows above the window are counted, not drawn. */
struct drawing {
	struct screen *s;
	FILE *out;
	const struct stat_look *look;
	int row, from, room;
	int bar, spark;
};

static const char *const sort_names[] = {
	[STAT_BY_CPU] = "CPU",
	[STAT_BY_EVENTS] = "events/s",
	[STAT_BY_FILL] = "fill",
	[STAT_BY_LOST] = "lost",
};

static const char *const help_keys[] = {
	"c  e  f  l   sort the CPUs of an instance by number, events/s, fill or what was lost",
	NULL
};

static const char *const help_notes[] = {
	"LOST are events for which there was no room, and those that were overwritten between",
	"two times that a consumer took some. OVERWR are all that were overwritten unread.",
	"The sparkline has the last rates of events, the newest on the right.",
	NULL
};

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
	fprintf(d->out, "%7s %7s", spark_number(g->rate.lost).text,
		spark_number(g->now.lost).text);
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
	if (d->spark) {
		fputc(' ', d->out);
		spark_print(d->out, &g->history, d->spark - 1, d->look->utf8);
	}
	if (g->rate.reset)
		fprintf(d->out, "%18s", "was emptied");
	else
		fprintf(d->out, "%9s%9s", spark_number(g->rate.events).text,
			spark_number(g->rate.bytes).text);
	draw_lost(d, g);
	fprintf(d->out, "%8s%7s  %s", spark_number(g->now.overwritten).text,
		spark_number(g->now.events).text, mapped_by);
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

	snprintf(text, sizeof(text), "%s %s, %u CPU%s", strcmp(p->name, "/") ?
		 "Instance" : "The top level,", p->name, p->nr, plural(p->nr));
	draw_text(d, COLOUR_BOLD, text);
}

static void draw_notes(struct drawing *d, const struct watch *w)
{
	char note[256];

	for (unsigned int i = 0; stat_note(w, i, note, sizeof(note)); i++)
		draw_text(d, COLOUR_NONE, note);
}

/* Whether @a comes before @b. */
static bool comes_first(enum stat_sort sort, const struct gauge *a, const struct gauge *b)
{
	switch (sort) {
	case STAT_BY_EVENTS:
		return a->rate.events > b->rate.events;
	case STAT_BY_FILL:
		return a->now.fill > b->now.fill;
	case STAT_BY_LOST:
		return a->now.lost > b->now.lost;
	default:
		return false;
	}
}

/* How many gauges are before gauge @i; equal ones are in the order of their CPUs. */
static unsigned int place_of(const struct panel *p, enum stat_sort sort, unsigned int i)
{
	unsigned int before = 0;

	for (unsigned int j = 0; j < p->nr; j++)
		before += comes_first(sort, &p->gauges[j], &p->gauges[i]) ||
			(j < i && !comes_first(sort, &p->gauges[i], &p->gauges[j]));
	return before;
}

static void draw_panel(struct drawing *d, const struct watch *w, unsigned int nr)
{
	const struct panel *p = &w->panels[nr];
	unsigned int *order = calloc(p->nr, sizeof(*order));	/* NULL: that of the CPUs */
	struct gauge all = panel_total(p);
	char mapped_by[256];

	for (unsigned int i = 0; order && i < p->nr; i++)
		order[place_of(p, d->look->sort, i)] = i;
	draw_instance(d, p);
	for (unsigned int i = 0; i < p->nr; i++) {
		unsigned int gauge = order ? order[i] : i;

		stat_mapped_by(w, nr, gauge, mapped_by, sizeof(mapped_by));
		draw_gauge(d, &p->gauges[gauge], mapped_by);
	}
	free(order);
	draw_gauge(d, &all, "");
}

static void draw_title(struct drawing *d)
{
	char clock[16], title[128];

	time_of_day(clock);
	snprintf(title, sizeof(title), "tracemap stat   ?: help, q: quit   sorted by %s",
		 sort_names[d->look->sort]);
	screen_colour(d->s, COLOUR_REVERSE);
	fprintf(d->out, "%-*.*s%9s", d->s->cols - 9, d->s->cols > 9 ? d->s->cols - 9 : 0, title,
		clock);
	screen_line_end(d->s);
}

static void draw_head(struct drawing *d, const struct watch *w)
{
	screen_colour(d->s, COLOUR_BOLD);
	fprintf(d->out, "%4s %-*s%*s%9s%9s%7s %7s%8s%7s  %s", "CPU", d->bar + 7, "FILL",
		d->spark, d->spark ? "HISTORY" : "", "EVENTS/S", "BYTES/S", "LOST/S", "LOST",
		"OVERWR", "EVENTS", w->looks_for_mappers ? "ALSO MAPPED BY" : "");
	screen_line_end(d->s);
}

/* How many rows the body has. */
static int count_rows(const struct watch *w)
{
	int rows = 0;
	char note[2];

	while (stat_note(w, rows, note, sizeof(note)))
		rows++;
	for (unsigned int i = 0; i < w->nr; i++)
		rows += 1 + w->panels[i].nr + 1;
	return rows;
}

static int clamp(int value, int low, int high)
{
	return value < low ? low : value > high ? high : value;
}

static void draw_body(struct drawing *d, const struct watch *w, struct stat_look *look)
{
	int rows = count_rows(w);

	draw_head(d, w);
	d->room = screen_rows_left(d->s);
	look->from = clamp(look->from, 0, rows > d->room ? rows - d->room : 0);
	d->from = look->from;
	draw_notes(d, w);
	for (unsigned int i = 0; i < w->nr; i++)
		draw_panel(d, w, i);
}

static void draw_lines(struct drawing *d, const char *const *lines)
{
	for (; *lines; lines++)
		draw_text(d, COLOUR_NONE, *lines);
}

static void draw_help(struct drawing *d)
{
	d->room = screen_rows_left(d->s);
	draw_lines(d, help_keys);
	draw_lines(d, screen_help);
	draw_lines(d, help_notes);
}

int stat_draw(struct screen *s, const struct watch *w, struct stat_look *look)
{
	struct drawing d = { .s = s, .out = screen_begin(s), .look = look };
	int room = s->cols - FIXED_COLUMNS - MAPPED_COLUMNS;

	if (!d.out)
		return -ENOMEM;
	d.spark = s->cols >= SPARK_FROM ? SPARK_COLUMNS : 0;
	d.bar = clamp(room, BAR_MIN, BAR_MAX);
	draw_title(&d);
	if (look->help)
		draw_help(&d);
	else
		draw_body(&d, w, look);
	return screen_show(s);
}

bool stat_key(struct screen *s, struct stat_look *look, int key)
{
	static const struct {
		char key;
		enum stat_sort sort;
	} sorts[] = {
		{ 'c', STAT_BY_CPU }, { 'e', STAT_BY_EVENTS }, { 'f', STAT_BY_FILL },
		{ 'l', STAT_BY_LOST },
	};

	if (key == 'q' || key == 'Q')
		return false;
	if (look->help || key == '?' || key == 'h') {
		look->help = look->help ? key == KEY_NONE : true;
		return true;
	}
	for (unsigned int i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
		if (key == sorts[i].key)
			look->sort = sorts[i].sort;
	}
	screen_scroll(s, key, &look->from);
	return true;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What "tracemap top" has counted, and the three forms in which it prints that.
 */
#ifndef _TRACEMAP_TOP_H
#define _TRACEMAP_TOP_H

#include "counts.h"
#include "latency.h"
#include "screen.h"
#include "tracemap-event.h"

enum top_by {
	TOP_BY_EVENT,
	TOP_BY_TASK,
	TOP_BY_FIELD,
};

/**
 * struct top_view - what there is to show
 * @instance: the name of the instance, "/" for the top level
 * @way: how its buffers are read
 * @by: what the events are counted by
 * @key: the name of that: "event", "task", or the field
 * @counts: the events, if @latency is NULL
 * @latency: the times from an event to another, if that is asked for
 * @between: what the two are called, as they were given
 * @decoder: what knows the names of events and processes
 * @seconds: the length of the last interval; 0 before its end
 * @events: events read, up to its end
 * @lost: events that were lost up to then
 * @lost_more: whether more were lost, and it is not known how many
 * @order: how the rows are sorted
 * @limit: how many rows are printed at most
 */
struct top_view {
	const char *instance, *way;
	enum top_by by;
	const char *key;
	struct counts counts;
	struct latency *latency;
	const char *between[2];
	struct tracemap_decoder *decoder;
	double seconds;
	uint64_t events, lost;
	bool lost_more;
	enum counts_order order;
	unsigned int limit;
};

/* Name and sort the rows, at the end of an interval. */
void top_prepare(struct top_view *v);

/* Of all events, in percent. */
double top_share(const struct top_view *v, const struct count *count);

/* Of the last interval, in a second; negative if that was shorter than these seconds. */
#define TOP_RATE_SECONDS	0.025
double top_rate(const struct top_view *v, uint64_t events);

/* Nanoseconds as three or four digits and a unit, such as 980ns, 12.3us, 1.50s. */
struct top_time {
	char text[16];
};

struct top_time top_time(uint64_t ns);

/* The same of a quantile, 100 for the longest; "-" if there is none. */
struct top_time top_quantile(const struct histogram *h, double percent);

/* Print a table of rows, or an object on a line. */
void top_print_rows(FILE *to, const struct top_view *v, bool header);
void top_print_json(FILE *to, const struct top_view *v);

/**
 * struct top_screen - the screen, and what the user has done to it
 * @screen: the screen
 * @from: how many rows are scrolled away
 * @help: whether the help is shown
 */
struct top_screen {
	struct screen screen;
	int from;
	bool help;
};

/* Returns 0 or a negative errno. */
int top_draw(struct top_screen *s, struct top_view *v);

/* Do what a key is for, except to quit: then false is returned. */
bool top_key(struct top_screen *s, struct top_view *v, int key);

#endif /* _TRACEMAP_TOP_H */

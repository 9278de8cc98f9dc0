// SPDX-License-Identifier: GPL-2.0
/*
 * Count the events of a file by their kind, their task and their CPU.
 */
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>

#include "report_stats.h"

static int by_number(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static struct tally *add_tally(struct tallies *t, int number)
{
	struct tally **list = realloc(t->list, (t->nr + 1) * sizeof(*list));
	struct tally *tally = list ? calloc(1, sizeof(*tally)) : NULL;

	if (list)
		t->list = list;
	if (!tally)
		return NULL;
	tally->number = number;
	if (!tsearch(tally, &t->tree, by_number)) {
		free(tally);
		return NULL;
	}
	t->list[t->nr++] = tally;
	return tally;
}

/* NULL if there is no memory. */
static struct tally *tally_of(struct tallies *t, int number)
{
	struct tally key = { .number = number };
	struct tally **found = tfind(&key, &t->tree, by_number);

	return found ? *found : add_tally(t, number);
}

static int count_event(struct report_stats *stats, const struct tracemap_decoder *decoder,
		       const struct tracemap_record *rec)
{
	struct tally *event = tally_of(&stats->events, tracemap_record_id(rec));
	struct tally *task = tally_of(&stats->tasks, tracemap_decoder_pid(decoder, rec));

	if (!event || !task)
		return -ENOMEM;
	event->events++;
	task->events++;
	if (!stats->first)
		stats->first = rec->ts;
	stats->last = rec->ts;
	return 0;
}

int report_stats_add(struct report_stats *stats, const struct tracemap_decoder *decoder,
		     const struct tracemap_record *rec)
{
	struct tally *cpu = tally_of(&stats->cpus, rec->cpu);

	if (!cpu)
		return -ENOMEM;
	if (rec->missed == TRACEMAP_MISSED_UNKNOWN)
		cpu->lost = TRACEMAP_MISSED_UNKNOWN;
	else if (cpu->lost != TRACEMAP_MISSED_UNKNOWN)
		cpu->lost += rec->missed;
	if (!rec->data)
		return 0;
	cpu->events++;
	return count_event(stats, decoder, rec);
}

/* ---- Printing ---- */

/* The most frequent first; of equals the one with the smaller number. */
static int by_events(const void *a, const void *b)
{
	const struct tally *x = *(struct tally **)a, *y = *(struct tally **)b;

	if (x->events != y->events)
		return x->events > y->events ? -1 : 1;
	return by_number(x, y);
}

static int in_order(const void *a, const void *b)
{
	return by_number(*(struct tally **)a, *(struct tally **)b);
}

typedef void (*put_name)(struct tracemap_decoder *decoder, const struct tally *tally, bool json,
			 struct tracemap_line *line);

static void put_string(struct tracemap_line *line, const char *text)
{
	tracemap_json_string(line, text, strlen(text));
}

static void put_event(struct tracemap_decoder *decoder, const struct tally *tally, bool json,
		      struct tracemap_line *line)
{
	struct tep_event *event = tracemap_decoder_event(decoder, tally->number);

	if (!json) {
		if (event)
			tracemap_line_printf(line, "%s:%s", event->system, event->name);
		else
			tracemap_line_printf(line, "unknown event %d", tally->number);
		return;
	}
	tracemap_line_printf(line, "\"id\":%d,\"system\":", tally->number);
	put_string(line, event ? event->system : "");
	tracemap_line_printf(line, ",\"event\":");
	put_string(line, event ? event->name : "");
}

static void put_task(struct tracemap_decoder *decoder, const struct tally *tally, bool json,
		     struct tracemap_line *line)
{
	const char *comm = tracemap_decoder_comm(decoder, tally->number);

	if (!json) {
		tracemap_line_printf(line, "%s-%d", comm, tally->number);
		return;
	}
	tracemap_line_printf(line, "\"pid\":%d,\"comm\":", tally->number);
	put_string(line, comm);
}

static void put_cpu(struct tracemap_decoder *decoder, const struct tally *tally, bool json,
		    struct tracemap_line *line)
{
	(void)decoder;
	if (json)
		tracemap_line_printf(line, "\"cpu\":%d,\"lost\":", tally->number);
	else
		tracemap_line_printf(line, "CPU %d, lost: ", tally->number);
	if (tally->lost != TRACEMAP_MISSED_UNKNOWN)
		tracemap_line_printf(line, "%" PRIu64, tally->lost);
	else
		tracemap_line_printf(line, json ? "null" : "some, not known how many");
}

static uint64_t sum_of(const struct tallies *t)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < t->nr; i++)
		sum += t->list[i]->events;
	return sum ? sum : 1;
}

static void put_table(const struct tallies *t, struct tracemap_decoder *decoder, put_name name,
		      const char *title, struct tracemap_line *line)
{
	double sum = sum_of(t);

	tracemap_line_printf(line, "%12s %7s  %s\n", "EVENTS", "SHARE", title);
	for (unsigned int i = 0; i < t->nr; i++) {
		tracemap_line_printf(line, "%12" PRIu64 " %6.2f%%  ", t->list[i]->events,
				     100 * t->list[i]->events / sum);
		name(decoder, t->list[i], false, line);
		tracemap_line_put(line, "\n", 1);
	}
}

static void put_array(const struct tallies *t, struct tracemap_decoder *decoder, put_name name,
		      const char *title, struct tracemap_line *line)
{
	tracemap_line_printf(line, ",\"%s\":[", title);
	for (unsigned int i = 0; i < t->nr; i++) {
		tracemap_line_printf(line, i ? ",{" : "{");
		name(decoder, t->list[i], true, line);
		tracemap_line_printf(line, ",\"events\":%" PRIu64 "}", t->list[i]->events);
	}
	tracemap_line_put(line, "]", 1);
}

static void sort(struct tallies *t, int (*compare)(const void *a, const void *b))
{
	if (t->nr)
		qsort(t->list, t->nr, sizeof(*t->list), compare);
}

void report_stats_print(struct report_stats *stats, struct tracemap_decoder *decoder,
			bool json, struct tracemap_line *line)
{
	sort(&stats->events, by_events);
	sort(&stats->tasks, by_events);
	sort(&stats->cpus, in_order);
	if (!json) {
		put_table(&stats->events, decoder, put_event, "EVENT", line);
		put_table(&stats->tasks, decoder, put_task, "TASK", line);
		put_table(&stats->cpus, decoder, put_cpu, "CPU", line);
		return;
	}
	tracemap_line_printf(line, "{\"first\":%" PRIu64 ",\"last\":%" PRIu64, stats->first,
			     stats->last);
	put_array(&stats->events, decoder, put_event, "events", line);
	put_array(&stats->tasks, decoder, put_task, "tasks", line);
	put_array(&stats->cpus, decoder, put_cpu, "cpus", line);
	tracemap_line_put(line, "}\n", 2);
}

static void free_tallies(struct tallies *t)
{
	tdestroy(t->tree, free);
	free(t->list);
}

void report_stats_free(struct report_stats *stats)
{
	free_tallies(&stats->events);
	free_tallies(&stats->tasks);
	free_tallies(&stats->cpus);
}

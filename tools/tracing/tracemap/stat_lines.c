// SPDX-License-Identifier: GPL-2.0
/*
 * tracemap stat: the table, the lines of JSON, and the notes on how it reads.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "json_string.h"
#include "stat.h"

static const char *files_note(int why)
{
	switch (why) {
	case 0:
		return "read from per_cpu/cpuN/stats, as asked for";
	case EOPNOTSUPP:
		return "read from per_cpu/cpuN/stats: this kernel has no live index";
	case EBUSY:
		return "read from per_cpu/cpuN/stats: a snapshot uses the buffer";
	default:
		return "read from per_cpu/cpuN/stats: the buffers cannot be observed";
	}
}

/* The buffer of an instance that was never used has its boot-time minimum. */
static void print_note(FILE *to, const struct panel *p)
{
	fprintf(to, "tracemap: instance %s: ", p->name);
	if (!p->observes)
		fprintf(to, "%s. Fill and bytes/s are estimates\n", files_note(p->why));
	else
		fprintf(to, "observed: while this runs, resizing the buffer, a snapshot and rmdir answer EBUSY%s\n",
			p->expanded ? ". It was at its boot-time minimum, and is full size now" : "");
}

void stat_print_notes(FILE *to, const struct watch *w)
{
	for (unsigned int i = 0; i < w->nr; i++)
		print_note(to, &w->panels[i]);
}

/* The table. */

/* The time stands above the names. */
static int name_columns(const struct watch *w)
{
	int columns = strlen("23:59:59");

	for (unsigned int i = 0; i < w->nr; i++) {
		int length = strlen(w->panels[i].name);

		if (length > columns)
			columns = length;
	}
	return columns;
}

static void print_header(FILE *to, int columns)
{
	char clock[16];

	time_of_day(clock);
	fprintf(to, "%-*s %3s %5s %9s %9s %7s %9s %11s %10s\n", columns, clock, "cpu", "fill%",
		"events/s", "bytes/s", "lost/s", "dropped", "overwritten", "events");
}

static void print_rate(FILE *to, int width, double rate, bool reset)
{
	if (rate < 0)
		fprintf(to, " %*s", width, reset ? "reset" : "-");
	else
		fprintf(to, " %*.0f", width, rate);
}

static void print_row(FILE *to, int columns, const char *name, const struct gauge *g)
{
	char cpu[16] = "all";

	if (g->cpu >= 0)
		snprintf(cpu, sizeof(cpu), "%d", g->cpu);
	fprintf(to, "%-*s %3s %5.1f", columns, name, cpu, 100 * g->now.fill);
	print_rate(to, 9, g->rate.events, g->rate.reset);
	print_rate(to, 9, g->rate.bytes, g->rate.reset);
	print_rate(to, 7, g->rate.lost, g->rate.reset);
	fprintf(to, " %9llu %11llu %10llu\n", (unsigned long long)g->now.dropped,
		(unsigned long long)g->now.overwritten, (unsigned long long)g->now.events);
}

void stat_print_table(FILE *to, const struct watch *w)
{
	int columns = name_columns(w);

	print_header(to, columns);
	for (unsigned int i = 0; i < w->nr; i++) {
		const struct panel *p = &w->panels[i];
		struct gauge all = panel_total(p);

		for (unsigned int j = 0; j < p->nr; j++)
			print_row(to, columns, p->name, &p->gauges[j]);
		print_row(to, columns, p->name, &all);
	}
	fputc('\n', to);
}

/* JSON. */

static void json_rate(FILE *to, const char *name, double rate)
{
	if (rate < 0)
		fprintf(to, ",\"%s\":null", name);
	else
		fprintf(to, ",\"%s\":%.1f", name, rate);
}

static void json_figures(FILE *to, const struct gauge *g)
{
	const struct reading *r = &g->now;

	fprintf(to, "\"fill\":%.4f", r->fill);
	json_rate(to, "events_per_second", g->rate.events);
	json_rate(to, "bytes_per_second", g->rate.bytes);
	json_rate(to, "lost_per_second", g->rate.lost);
	fprintf(to, ",\"events\":%llu,\"overwritten\":%llu,\"dropped\":%llu",
		(unsigned long long)r->events, (unsigned long long)r->overwritten,
		(unsigned long long)r->dropped);
	fprintf(to, ",\"consumed\":%llu,\"buffer_bytes\":%llu,\"reset\":%s",
		(unsigned long long)r->consumed, (unsigned long long)r->size,
		g->rate.reset ? "true" : "false");
}

static void json_panel(FILE *to, const struct panel *p)
{
	struct gauge all = panel_total(p);
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	fprintf(to, "{\"time\":%lld.%03ld,\"instance\":", (long long)now.tv_sec,
		now.tv_nsec / 1000000);
	json_string(to, p->name);
	fprintf(to, ",\"way\":\"%s\",\"we_map\":%s,\"seconds\":%.3f,\"cpus\":[",
		p->observes ? "observe" : "stats", p->observes ? "true" : "false", p->seconds);
	for (unsigned int i = 0; i < p->nr; i++) {
		fprintf(to, "%s{\"cpu\":%d,", i ? "," : "", p->gauges[i].cpu);
		json_figures(to, &p->gauges[i]);
		fputc('}', to);
	}
	fputs("],\"total\":{", to);
	json_figures(to, &all);
	fputs("}}\n", to);
}

void stat_print_json(FILE *to, const struct watch *w)
{
	for (unsigned int i = 0; i < w->nr; i++)
		json_panel(to, &w->panels[i]);
}

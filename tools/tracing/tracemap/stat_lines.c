// SPDX-License-Identifier: GPL-2.0
/*
 * tracemap stat: the table, the lines of JSON, and the notes on how it reads.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "json_string.h"
#include "stat.h"

static const char *files_note(int why)
{
	switch (why) {
	case 0:
		return "read from per_cpu/cpuN/stats, as asked for.";
	case EOPNOTSUPP:
		return "read from per_cpu/cpuN/stats: this kernel has no live index.";
	case EBUSY:
		return "read from per_cpu/cpuN/stats: a snapshot uses the buffer.";
	default:
		return "read from per_cpu/cpuN/stats: the buffers cannot be observed.";
	}
}

static const char *hidden_note(void)
{
	if (geteuid())
		return "Not every process could be asked what it maps: run as root.";
	return "Not every process could be asked what it maps: a container refuses it to root.";
}

/* A line of the note of one instance; NULL after the last one */
static const char *note_of(const struct watch *w, const struct panel *p, unsigned int line)
{
	const char *notes[6];
	unsigned int n = 0;

	if (p->observes) {
		notes[n++] = "read from the live index: no system call, no event taken.";
		notes[n++] =
			"While this runs, resizing the buffer, a snapshot "
			"and rmdir answer EBUSY.";
		if (p->expanded)
			notes[n++] =
				"The buffer was at its boot-time minimum: "
				"observing it made it full size.";
	} else {
		notes[n++] = files_note(p->why);
		notes[n++] =
			"Fill and bytes/s are estimates: from the length of the unread events.";
	}
	if (w->looks_for_mappers && w->mappers.some_hidden)
		notes[n++] = hidden_note();
	return line < n ? notes[line] : NULL;
}

static bool has_note(const struct watch *w, const struct panel *p, const char *note)
{
	const char *line;

	for (unsigned int i = 0; (line = note_of(w, p, i)); i++) {
		if (!strcmp(line, note))
			return true;
	}
	return false;
}

/* How many instances up to @nr have this line */
static unsigned int count_having(const struct watch *w, unsigned int nr, const char *note)
{
	unsigned int having = 0;

	for (unsigned int i = 0; i < nr; i++)
		having += has_note(w, &w->panels[i], note);
	return having;
}

static void print_note(FILE *to, const struct watch *w, const char *note)
{
	bool holds_for_all = count_having(w, w->nr, note) == w->nr;
	const char *comma = "";

	fputs("tracemap: ", to);
	for (unsigned int i = 0; !holds_for_all && i < w->nr; i++) {
		if (!has_note(w, &w->panels[i], note))
			continue;
		fprintf(to, "%s%s", comma, w->panels[i].name);
		comma = ", ";
	}
	fprintf(to, "%s%s\n", holds_for_all ? "" : ": ", note);
}

/* A note is printed where the first instance has it. */
void stat_print_notes(FILE *to, const struct watch *w)
{
	const char *note;

	for (unsigned int i = 0; i < w->nr; i++) {
		for (unsigned int j = 0; (note = note_of(w, &w->panels[i], j)); j++) {
			if (!count_having(w, i, note))
				print_note(to, w, note);
		}
	}
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

static void print_header(FILE *to, const struct watch *w, int columns)
{
	char clock[16];

	time_of_day(clock);
	fprintf(to, "%-*s %3s %5s %9s %9s %7s %9s %11s %10s%s\n", columns, clock, "cpu", "fill%",
		"events/s", "bytes/s", "lost/s", "lost", "overwritten", "events",
		w->looks_for_mappers ? "  mapped-by" : "");
}

static void print_rate(FILE *to, int width, double rate, bool reset)
{
	if (rate < 0)
		fprintf(to, " %*s", width, reset ? "reset" : "-");
	else
		fprintf(to, " %*.0f", width, rate);
}

/* Print a row but for its last column. */
static void print_figures(FILE *to, int columns, const char *name, const struct gauge *g)
{
	char cpu[16] = "all";

	if (g->cpu >= 0)
		snprintf(cpu, sizeof(cpu), "%d", g->cpu);
	fprintf(to, "%-*s %3s %5.1f", columns, name, cpu, 100 * g->now.fill);
	print_rate(to, 9, g->rate.events, g->rate.reset);
	print_rate(to, 9, g->rate.bytes, g->rate.reset);
	print_rate(to, 7, g->rate.lost, g->rate.reset);
	fprintf(to, " %9llu %11llu %10llu", (unsigned long long)g->now.lost,
		(unsigned long long)g->now.overwritten, (unsigned long long)g->now.events);
}

/* A process may call itself anything, even what a terminal takes for a command. */
static void print_harmless(FILE *to, const char *name)
{
	for (; *name; name++)
		fputc(*name < ' ' || *name > '~' ? '?' : *name, to);
}

/* Print the processes as "  name[pid] name[pid]+live", or "  -" if there is none. */
static void print_mapped_by(FILE *to, const struct watch *w, unsigned int cpu)
{
	bool none = true;

	for (unsigned int i = 0; i < w->mappers.nr; i++) {
		const struct mapper *m = &w->mappers.all[i];

		if (m->cpu != cpu)
			continue;
		fputs(none ? "  " : " ", to);
		print_harmless(to, m->comm);
		fprintf(to, "[%d]%s", m->pid, m->observes ? "+live" : "");
		none = false;
	}
	if (none)
		fputs("  -", to);
}

void stat_print_table(FILE *to, const struct watch *w)
{
	int columns = name_columns(w);

	print_header(to, w, columns);
	for (unsigned int i = 0; i < w->nr; i++) {
		const struct panel *p = &w->panels[i];
		struct gauge all = panel_total(p);

		for (unsigned int j = 0; j < p->nr; j++) {
			print_figures(to, columns, p->name, &p->gauges[j]);
			if (w->looks_for_mappers)
				print_mapped_by(to, w, w->first_cpu[i] + j);
			fputc('\n', to);
		}
		print_figures(to, columns, p->name, &all);
		fputc('\n', to);
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
	fprintf(to, ",\"events\":%llu,\"overwritten\":%llu,\"dropped\":%llu,\"lost\":%llu",
		(unsigned long long)r->events, (unsigned long long)r->overwritten,
		(unsigned long long)r->dropped, (unsigned long long)r->lost);
	fprintf(to, ",\"consumed\":%llu,\"buffer_bytes\":%llu,\"reset\":%s",
		(unsigned long long)r->consumed, (unsigned long long)r->size,
		g->rate.reset ? "true" : "false");
}

static void json_mappers(FILE *to, const struct watch *w, unsigned int cpu)
{
	const char *comma = "";

	fputs(",\"mapped_by\":[", to);
	for (unsigned int i = 0; i < w->mappers.nr; i++) {
		const struct mapper *m = &w->mappers.all[i];

		if (m->cpu != cpu)
			continue;
		fprintf(to, "%s{\"pid\":%d,\"comm\":", comma, m->pid);
		json_string(to, m->comm);
		fprintf(to, ",\"live\":%s}", m->observes ? "true" : "false");
		comma = ",";
	}
	fputc(']', to);
}

static void json_panel(FILE *to, const struct watch *w, unsigned int nr)
{
	const struct panel *p = &w->panels[nr];
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
		if (w->looks_for_mappers)
			json_mappers(to, w, w->first_cpu[nr] + i);
		fputc('}', to);
	}
	fputs("],\"total\":{", to);
	json_figures(to, &all);
	fputs("}}\n", to);
}

void stat_print_json(FILE *to, const struct watch *w)
{
	for (unsigned int i = 0; i < w->nr; i++)
		json_panel(to, w, i);
}

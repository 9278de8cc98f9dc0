// SPDX-License-Identifier: LGPL-2.1
/*
 * Print the calls and returns of the tracer function_graph as a tree, in the columns that
 * the kernel's file "trace" has by default.
 *
 *	 0)               |  vfs_open() {
 *	 0)   0.503 us    |    may_open();
 *	 0)   3.177 us    |  }
 *
 * If a call is followed on its CPU by the return from the same function, both of them are
 * one line. Therefore a call is printed when the next event of its CPU is known.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event.h"

#define DEPTH_MAX	50	/* of calls that are remembered, as in the kernel */
#define INDENT		2
#define NR_CPUS_MAX	8192	/* no kernel is built for more: else a record is damaged */

struct call {
	uint64_t func;
	int64_t depth;
	int pid;
};

/* The state of each CPU */
struct branch {
	int last_pid;		/* -1: none yet */
	int64_t depth;		/* of the last call or return; comments are one deeper */
	bool waits;
	struct call call;	/* the call that waits for the next event */
	uint64_t entered[DEPTH_MAX];
};

struct event_graph {
	struct branch *branch;
	int nr;
	int cpu_width;
	uint64_t irq_start, irq_end;	/* where the entries of interrupts are */
};

static const char blank[] = "              |  ";

static struct branch *branch_of(struct event_graph *g, int cpu)
{
	struct branch *more;

	if (cpu < 0 || cpu >= NR_CPUS_MAX)
		return NULL;
	if (cpu < g->nr)
		return &g->branch[cpu];
	more = realloc(g->branch, (cpu + 1) * sizeof(*more));
	if (!more)
		return NULL;
	memset(more + g->nr, 0, (cpu + 1 - g->nr) * sizeof(*more));
	for (int i = g->nr; i <= cpu; i++)
		more[i].last_pid = -1;
	g->branch = more;
	g->nr = cpu + 1;
	return &more[cpu];
}

/* ---- Columns ---- */

static void put_cpu(const struct event_graph *g, int cpu, struct tracemap_line *line)
{
	tracemap_line_printf(line, " %*d) ", g->cpu_width, cpu);
}

static char mark_of(uint64_t ns)
{
	static const char marks[] = "$@*#!+";
	uint64_t limit = 1000000000;

	for (const char *mark = marks; *mark; mark++, limit /= 10) {
		if (ns > limit)
			return *mark;
	}
	return ' ';
}

/* Append seven digits, and blanks for the rest of the column. */
static void put_duration(uint64_t ns, struct tracemap_line *line)
{
	unsigned long long us = ns / 1000;
	size_t start, length;

	tracemap_line_printf(line, "%c ", mark_of(ns));
	start = line->length;
	tracemap_line_printf(line, "%llu", us);
	length = line->length - start;
	if (length < 7) {
		char digits[8];
		size_t room = 8 - length < 5 ? 8 - length : 5;

		snprintf(digits, room, "%03u", (unsigned int)(ns % 1000));
		tracemap_line_printf(line, ".%s", digits);
		length += strlen(digits) + 1;
	}
	tracemap_line_printf(line, " us %*s|  ", length < 8 ? (int)(8 - length) : 0, "");
}

static void put_indent(int64_t depth, struct tracemap_line *line)
{
	/* A depth beyond that of any stack means a damaged record. */
	if (depth > 0 && depth < 1024)
		tracemap_line_printf(line, "%*s", (int)depth * INDENT, "");
}

/* Append seven bytes of the name, centred in 14 columns. */
static void put_task(struct tracemap_decoder *d, int pid, struct tracemap_line *line)
{
	char text[32];
	int spaces, length;

	length = snprintf(text, sizeof(text), "%.7s-%d", tracemap_decoder_comm(d, pid), pid);
	spaces = length < 14 ? 14 - length : 0;
	tracemap_line_printf(line, "%*s%s%*s", spaces / 2, "", text, spaces - spaces / 2, "");
}

/* Append the lines that say that another process runs now. */
static void put_switch(struct tracemap_decoder *d, struct branch *b, int cpu, int pid,
		       struct tracemap_line *line)
{
	static const char rule[] = " ------------------------------------------\n";
	int before = b->last_pid;

	if (before == pid)
		return;
	b->last_pid = pid;
	if (before == -1)
		return;
	tracemap_line_printf(line, "%s", rule);
	put_cpu(d->graph, cpu, line);
	put_task(d, before, line);
	tracemap_line_put(line, " => ", 4);
	put_task(d, pid, line);
	tracemap_line_printf(line, "\n%s\n", rule);
}

static void put_irq(const struct event_graph *g, int cpu, uint64_t func, const char *arrow,
		    struct tracemap_line *line)
{
	if (func < g->irq_start || func >= g->irq_end)
		return;
	put_cpu(g, cpu, line);
	tracemap_line_printf(line, "  %s |\n", arrow);
}

/* ---- Calls and returns ---- */

static void put_call(struct tracemap_decoder *d, struct branch *b, int cpu,
		     struct tracemap_line *line)
{
	put_switch(d, b, cpu, b->call.pid, line);
	put_irq(d->graph, cpu, b->call.func, "==========>", line);
	put_cpu(d->graph, cpu, line);
}

static bool may_remember(int64_t depth)
{
	return depth >= 0 && depth < DEPTH_MAX;
}

static void put_nested(struct tracemap_decoder *d, struct branch *b, int cpu,
		       struct tracemap_line *line)
{
	if (!b->waits)
		return;
	b->waits = false;
	put_call(d, b, cpu, line);
	b->depth = b->call.depth;
	if (may_remember(b->depth))
		b->entered[b->depth] = b->call.func;
	tracemap_line_printf(line, "%s", blank);
	put_indent(b->depth, line);
	event_symbol_print(d, line, b->call.func, false);
	tracemap_line_put(line, "() {\n", 5);
}

static void put_leaf(struct tracemap_decoder *d, struct branch *b, int cpu, uint64_t ns,
		     struct tracemap_line *line)
{
	b->waits = false;
	put_call(d, b, cpu, line);
	b->depth = b->call.depth - 1;
	if (may_remember(b->call.depth))
		b->entered[b->call.depth] = 0;
	put_duration(ns, line);
	put_indent(b->call.depth, line);
	event_symbol_print(d, line, b->call.func, false);
	tracemap_line_put(line, "();\n", 4);
	put_irq(d->graph, cpu, b->call.func, "<==========", line);
}

static void put_return(struct tracemap_decoder *d, struct branch *b, int cpu,
		       const struct call *call, uint64_t ns, struct tracemap_line *line)
{
	bool known = true;

	b->depth = call->depth - 1;
	if (may_remember(call->depth)) {
		known = b->entered[call->depth] == call->func;
		b->entered[call->depth] = 0;
	}
	put_switch(d, b, cpu, call->pid, line);
	put_cpu(d->graph, cpu, line);
	put_duration(ns, line);
	put_indent(call->depth, line);
	tracemap_line_put(line, "}", 1);
	if (!known) {
		/* The call of this return was lost, or was before the trace. */
		tracemap_line_put(line, " /* ", 4);
		event_symbol_print(d, line, call->func, false);
		tracemap_line_put(line, " */", 3);
	}
	tracemap_line_put(line, "\n", 1);
	put_irq(d->graph, cpu, call->func, "<==========", line);
}

/* Any other event is a comment. */
static void put_comment(struct tracemap_decoder *d, struct branch *b, struct event_format *format,
			const struct tracemap_record *rec, struct tracemap_line *line)
{
	put_switch(d, b, rec->cpu, tracemap_decoder_pid(d, rec), line);
	put_cpu(d->graph, rec->cpu, line);
	tracemap_line_printf(line, "%s", blank);
	if (b->depth > 0)
		put_indent(b->depth + 1, line);
	tracemap_line_put(line, "/* ", 3);
	event_message(d, format, rec, line);
	if (line->length && line->text[line->length - 1] == '\n')
		line->length--;
	tracemap_line_put(line, " */\n", 4);
}

static uint64_t number(const struct event_format *format, const char *name,
		       const struct tracemap_record *rec)
{
	uint64_t value = 0;

	event_field_number(format->event, name, rec, &value);
	return value;
}

void event_graph_flush(struct tracemap_decoder *d, int cpu, struct tracemap_line *line)
{
	struct branch *b = branch_of(d->graph, cpu);

	if (b)
		put_nested(d, b, cpu, line);
}

bool event_graph_text(struct tracemap_decoder *d, struct event_format *format,
		      const struct tracemap_record *rec, struct tracemap_line *line)
{
	struct branch *b = branch_of(d->graph, rec->cpu);
	struct call call;
	uint64_t ns;

	if (!b)
		return false;
	if (format->kind != KIND_CALL && format->kind != KIND_RETURN) {
		put_nested(d, b, rec->cpu, line);
		if (format->kind == KIND_STACK || format->kind == KIND_FUNCTION)
			return false;
		put_comment(d, b, format, rec, line);
		return true;
	}
	call.func = number(format, "func", rec);
	call.depth = (int32_t)number(format, "depth", rec);
	call.pid = tracemap_decoder_pid(d, rec);
	if (format->kind == KIND_CALL) {
		put_nested(d, b, rec->cpu, line);
		b->call = call;
		b->waits = true;
		return true;
	}
	ns = number(format, "rettime", rec) - number(format, "calltime", rec);
	if (b->waits && b->call.func == call.func && b->call.pid == call.pid) {
		put_leaf(d, b, rec->cpu, ns, line);
		return true;
	}
	put_nested(d, b, rec->cpu, line);
	put_return(d, b, rec->cpu, &call, ns, line);
	return true;
}

int tracemap_text_end(struct tracemap_decoder *d, struct tracemap_line *line)
{
	for (int cpu = 0; d->graph && cpu < d->graph->nr; cpu++)
		event_graph_flush(d, cpu, line);
	return line->error;
}

int event_graph_init(struct tracemap_decoder *d, const char *tracer)
{
	long cpus = d->borrowed ? tep_get_cpus(d->tep) : sysconf(_SC_NPROCESSORS_CONF);

	if (strcmp(tracer, "function_graph"))
		return 0;
	d->graph = calloc(1, sizeof(*d->graph));
	if (!d->graph)
		return -ENOMEM;
	d->graph->cpu_width = snprintf(NULL, 0, "%ld", cpus - 1);
	d->graph->irq_start = event_symbol_address(d, "__irqentry_text_start");
	d->graph->irq_end = event_symbol_address(d, "__irqentry_text_end");
	return 0;
}

void event_graph_free(struct tracemap_decoder *d)
{
	if (d->graph)
		free(d->graph->branch);
	free(d->graph);
}

void event_graph_header(const char *tracer, struct tracemap_line *line)
{
	tracemap_line_printf(line, "# tracer: %s\n#\n"
			     "# CPU  DURATION                  FUNCTION CALLS\n"
			     "# |     |   |                     |   |   |   |\n", tracer);
}

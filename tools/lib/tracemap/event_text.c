// SPDX-License-Identifier: LGPL-2.1
/*
 * Print events as text, in the format of the kernel's file "trace".
 */
#include <stdio.h>
#include <string.h>

#include "event.h"

/* common_flags, since Linux 5.16; those it did not have before were 0. */
enum {
	FLAG_IRQS_OFF		= 0x01,
	FLAG_NO_IRQ_STATE	= 0x02,	/* before Linux 6.13, and since then */
	FLAG_RESCHED_LAZY	= 0x02,
	FLAG_NEED_RESCHED	= 0x04,
	FLAG_HARDIRQ		= 0x08,
	FLAG_SOFTIRQ		= 0x10,
	FLAG_PREEMPT_RESCHED	= 0x20,
	FLAG_NMI		= 0x40,
	FLAG_BH_OFF		= 0x80,
};

static unsigned int common_byte(const struct tracemap_record *rec, int offset)
{
	return offset < 0 ? 0 : ((const unsigned char *)rec->data)[offset];
}

static char irqs_char(unsigned int flags, bool has_lazy)
{
	if (flags & FLAG_IRQS_OFF)
		return flags & FLAG_BH_OFF ? 'D' : 'd';
	if (flags & FLAG_BH_OFF)
		return 'b';
	return flags & FLAG_NO_IRQ_STATE && !has_lazy ? 'X' : '.';
}

static char resched_char(unsigned int flags, bool has_lazy)
{
	bool lazy = flags & FLAG_RESCHED_LAZY && has_lazy;

	if (flags & FLAG_NEED_RESCHED && flags & FLAG_PREEMPT_RESCHED)
		return lazy ? 'B' : 'N';
	if (flags & FLAG_NEED_RESCHED)
		return lazy ? 'b' : 'n';
	if (flags & FLAG_PREEMPT_RESCHED)
		return lazy ? 'L' : 'p';
	return lazy ? 'l' : '.';
}

static char context_char(unsigned int flags)
{
	if (flags & FLAG_NMI)
		return flags & FLAG_HARDIRQ ? 'Z' : 'z';
	if (flags & FLAG_HARDIRQ)
		return flags & FLAG_SOFTIRQ ? 'H' : 'h';
	return flags & FLAG_SOFTIRQ ? 's' : '.';
}

static char depth_char(unsigned int depth)
{
	return depth ? "0123456789abcdef"[depth & 0xf] : '.';
}

/* Fill the column with the header's five strokes. */
void event_flags(const struct tracemap_decoder *d, const struct tracemap_record *rec,
		 char text[6])
{
	unsigned int flags = common_byte(rec, d->flags_offset);
	unsigned int preempt = common_byte(rec, d->preempt_offset);

	text[0] = irqs_char(flags, d->has_lazy);
	text[1] = resched_char(flags, d->has_lazy);
	text[2] = context_char(flags);
	text[3] = depth_char(preempt & 0xf);
	text[4] = depth_char(preempt >> 4);
	text[5] = '\0';
}

/* Append " %5llu.%06u", rounded to microseconds; for other clocks " %12llu". */
void event_time(const struct tracemap_decoder *d, uint64_t ts, struct tracemap_line *line)
{
	uint64_t us = ts / 1000 + (ts % 1000 >= 500);
	char text[3 * EVENT_DIGITS] = "", *end = text + 2 * EVENT_DIGITS, *start;

	if (d->in_ns) {
		/* With one digit more, the leading zeros are there. */
		start = event_decimal(end, us % 1000000 + 1000000);
		*start = '.';
		start = event_decimal(start, us / 1000000);
	} else {
		start = event_decimal(end, ts);
	}
	while (end - start < 12)
		*--start = ' ';
	*--start = ' ';
	event_line_put_digits(line, start, end);
}

/* Append what happened right before the event: a reset, a loss. */
static void put_loss(const struct tracemap_record *rec, struct tracemap_line *line)
{
	if (rec->flags & TRACEMAP_RESET)
		tracemap_line_printf(line, "# CPU:%d [BUFFER EMPTIED]\n", rec->cpu);
	if (rec->flags & TRACEMAP_LATE && rec->data)
		tracemap_line_printf(line, "# CPU:%d [LATE]\n", rec->cpu);
	if (rec->missed == TRACEMAP_MISSED_UNKNOWN)
		tracemap_line_printf(line, "CPU:%d [LOST EVENTS]\n", rec->cpu);
	else if (rec->missed)
		tracemap_line_printf(line, "CPU:%d [LOST %llu EVENTS]\n", rec->cpu,
				     (unsigned long long)rec->missed);
}

/* Write "%-7d [%03d] " for a process and a CPU, at most 32 bytes; returns the end. */
static char *put_place(char *at, int pid, int cpu)
{
	char digits[2 * EVENT_DIGITS] = "", *end = digits + EVENT_DIGITS, *start;

	memset(at, ' ', 12);
	start = event_decimal(end, pid);
	memcpy(at, start, end - start);
	at += end - start < 7 ? 8 : end - start + 1;
	*at++ = '[';
	start = event_decimal(end, cpu);
	while (end - start < 3)
		*--start = '0';
	memcpy(at, start, end - start);
	at += end - start;
	memcpy(at, "] ", 2);
	return at + 2;
}

/* Append "%16s-%-7d [%03d] %s" for name, process, CPU and flags. */
static void put_head(struct tracemap_decoder *d, const struct tracemap_record *rec, int pid,
		     struct tracemap_line *line)
{
	const char *comm = tracemap_decoder_comm(d, pid);
	size_t length = strlen(comm);
	char flags[6], *at;

	event_flags(d, rec, flags);
	if (pid < 0 || rec->cpu < 0 || length >= EVENT_COMM_SIZE) {
		tracemap_line_printf(line, "%16s-%-7d [%03d] %s", comm, pid, rec->cpu, flags);
		return;
	}
	if (!event_line_room(line, 64))
		return;
	at = line->text + line->length;
	memset(at, ' ', 16);
	memcpy(at + 16 - length, comm, EVENT_COMM_SIZE);
	at[16] = '-';
	at = put_place(at + 17, pid, rec->cpu);
	memcpy(at, flags, sizeof(flags));
	line->length = at + 5 - line->text;
}

static void put_event(struct tracemap_decoder *d, const struct tracemap_record *rec,
		      struct tracemap_line *line)
{
	int id = tracemap_record_id(rec), pid = tracemap_decoder_pid(d, rec);
	struct event_format *format = event_format(d, id);

	if (format)
		event_comms_learn(d, format, rec);
	if (format && d->graph && event_graph_text(d, format, rec, line))
		return;
	put_head(d, rec, pid, line);
	event_time(d, rec->ts, line);
	event_line_put(line, ": ", 2);
	if (format) {
		event_info(d, format, rec, line);
	} else {
		tracemap_line_printf(line, "unknown_event: ");
		event_put_bytes(rec, line);
		tracemap_line_put(line, "\n", 1);
	}
}

int tracemap_text(struct tracemap_decoder *d, const struct tracemap_record *rec,
		  struct tracemap_line *line)
{
	if (d->graph && (rec->missed || rec->flags & TRACEMAP_RESET))
		event_graph_flush(d, rec->cpu, line);
	if (rec->missed || rec->flags)
		put_loss(rec, line);
	if (!rec->data)
		return line->error;
	if (rec->size >= EVENT_COMMON_SIZE)
		put_event(d, rec, line);
	else
		tracemap_line_printf(line, "# CPU:%d [AN EVENT OF %u BYTES]\n",
				     rec->cpu, rec->size);
	return line->error;
}

int tracemap_text_header(const struct tracemap_decoder *d, const char *tracer,
			 struct tracemap_line *line)
{
	if (d->graph) {
		event_graph_header(tracer ? tracer : "function_graph", line);
		return line->error;
	}
	tracemap_line_printf(line,
			     "# tracer: %s\n"
			     "#\n"
			     "#                                _-----=> irqs-off/BH-disabled\n"
			     "#                               / _----=> need-resched\n"
			     "#                              | / _---=> hardirq/softirq\n"
			     "#                              || / _--=> preempt-depth\n"
			     "#                              ||| / _-=> migrate-disable\n"
			     "#                              |||| /     delay\n"
			     "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
			     "#              | |         |   |||||     |         |\n",
			     tracer ? tracer : "nop");
	return line->error;
}

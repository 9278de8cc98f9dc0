// SPDX-License-Identifier: GPL-2.0
/*
 * Write events as a trace of Perfetto.
 *
 * The file is a row of packets, each with a bundle of events of one CPU, between which nothing is
 * lost. An event that Perfetto makes slices, states or counters of has a message of its own there,
 * see messages[]. Any other one is generic: it has the names of its fields.
 *
 * Perfetto takes the time stamps for those of CLOCK_BOOTTIME. The bundles name no clock: of any
 * other, Perfetto drops all events unless it is told when that was what time by CLOCK_BOOTTIME,
 * which a recording does not tell.
 */
#include <errno.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

#include <event-parse.h>

#include "event.h"
#include "fields.h"
#include "perfetto.h"
#include "utf8.h"

#define NR_PIDS		(1 << 22)	/* the kernel has no greater ones */
#define BUNDLE_SIZE	(16 * 1024)	/* bytes of the events of a CPU that are gathered */

/* The numbers of fields that are more than one event's, or a value's */
#define EVENT_SCHED_SWITCH	4
#define EVENT_GENERIC		327
#define FIELD_STR		3
#define FIELD_INT		4
#define FIELD_UINT		5

/*
 * The message of an event, and its fields, which are numbered from 1 on. That of a system call has
 * none here: the first field of the event is the number of the call, and all others are arguments,
 * or the result.
 */
static const struct message {
	const char *system, *event;	/* may be a glob */
	unsigned int number;
	const char *fields[8];
} messages[] = {
	{ "ftrace", "print", 3, { "ip", "buf" } },
	{ "sched", "sched_switch", EVENT_SCHED_SWITCH, { "prev_comm", "prev_pid", "prev_prio",
	  "prev_state", "next_comm", "next_pid", "next_prio" } },
	{ "sched", "sched_waking", 20, { "comm", "pid", "prio", "success", "target_cpu" } },
	{ "sched", "sched_process_free", 240, { "comm", "pid", "prio" } },
	{ "task", "task_newtask", 235, { "pid", "comm", "clone_flags", "oom_score_adj" } },
	{ "task", "task_rename", 236, { "pid", "oldcomm", "newcomm", "oom_score_adj" } },
	{ "power", "cpu_frequency", 11, { "state", "cpu_id" } },
	{ "power", "cpu_idle", 13, { "state", "cpu_id" } },
	{ "power", "clock_set_rate", 16, { "name", "state", "cpu_id" } },
	{ "kmem", "rss_stat", 313, { "member", "size", "curr", "mm_id" } },
	{ "irq", "softirq_entry", 24, { "vec" } },
	{ "irq", "softirq_exit", 25, { "vec" } },
	{ "irq", "irq_handler_entry", 36, { "irq", "name" } },
	{ "irq", "irq_handler_exit", 37, { "irq", "ret" } },
	{ "irq_vectors", "local_timer_entry", 559, { "vector" } },
	{ "irq_vectors", "local_timer_exit", 560, { "vector" } },
	{ "raw_syscalls", "sys_enter", 329, { "id", "args" } },
	{ "raw_syscalls", "sys_exit", 330, { "id", "ret" } },
	{ "syscalls", "sys_enter_*", 329, { NULL } },
	{ "syscalls", "sys_exit_*", 330, { NULL } },
};

/* The prints that Perfetto makes slices and counters of. It reports any other as an error. */
#define MARKER	"^(E$|E[|]|[BI][|][0-9]+[|]|[SFHN][|][0-9]+[|][^|]*[|]|" \
		"G[|][0-9]+[|][^|]*[|][^|]*[|]|C[|][0-9]+[|][^|]*[|]-?[0-9]+([|]|$))"

struct bundle {
	struct tracemap_line events;
	uint64_t last;			/* time stamp of the last of them */
	bool lost;			/* before the first of them */
};

struct perfetto {
	struct output *out;
	struct tracemap_decoder *decoder;
	const struct message *known[NR_IDS];	/* by event id; &generic: the event has none */
	regex_t marker;
	struct bundle *bundles;		/* by CPU */
	int nr_cpus;
	struct tracemap_line text;	/* of an event */
	bool seen[NR_PIDS];		/* whether the process has an event */
	bool has_switches;		/* events that have the name of each process */
	uint64_t first;			/* time stamp */
};

static const struct message generic;

/* ---- The wire format of protobuf: a number and a type, and then a varint, or a length ---- */

#define TYPE_VARINT	0
#define TYPE_BYTES	2
#define VARINT_MAX	10	/* bytes */

static size_t varint(unsigned char *to, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		to[n++] = value | 0x80;
	to[n++] = value;
	return n;
}

static void put_head(struct tracemap_line *line, unsigned int field, unsigned int type,
		     uint64_t value)
{
	unsigned char bytes[2 * VARINT_MAX];
	size_t n = varint(bytes, field << 3 | type);

	n += varint(bytes + n, value);
	tracemap_line_put(line, bytes, n);
}

static void put_number(struct tracemap_line *line, unsigned int field, uint64_t value)
{
	put_head(line, field, TYPE_VARINT, value);
}

/* Bytes that are not UTF-8, for which a reader may refuse all of the text, become "?". */
static void put_text(struct tracemap_line *line, unsigned int field, const char *text,
		     size_t length)
{
	put_head(line, field, TYPE_BYTES, length);
	tracemap_line_put(line, text, length);
	for (size_t left = line->error ? 0 : length, n; left; left -= n) {
		char *at = line->text + line->length - left;

		n = utf8_length((unsigned char *)at, left);
		if (!n)
			*at = '?';
		n = n ? n : 1;
	}
}

static void put_string(struct tracemap_line *line, unsigned int field, const char *text)
{
	put_text(line, field, text, strlen(text));
}

/* Begin a message within the message. Most are so short that their length has one byte. */
static size_t begin(struct tracemap_line *line, unsigned int field)
{
	put_head(line, field, TYPE_BYTES, 0);
	return line->length;
}

static void end(struct tracemap_line *line, size_t start)
{
	unsigned char bytes[VARINT_MAX];
	size_t length = line->length - start, n = varint(bytes, length);

	tracemap_line_put(line, bytes, n - 1);
	if (line->error)
		return;
	memmove(line->text + start - 1 + n, line->text + start, length);
	memcpy(line->text + start - 1, bytes, n);
}

/* ---- Packets ---- */

static size_t begin_packet(struct perfetto *p)
{
	output_begin_line(p->out);
	return begin(&p->out->line, 1);
}

static int end_packet(struct perfetto *p, size_t packet)
{
	struct tracemap_line *line = &p->out->line;

	end(line, packet);
	if (line->error)
		return line->error;
	return line->length < OUTPUT_MUCH ? 0 : output_flush(p->out);
}

/* Perfetto names system calls by the machine, and states of processes by the release. */
static int put_system(struct perfetto *p, const char *uname)
{
	char sysname[65], release[65], machine[65];
	struct tracemap_line *line = &p->out->line;
	size_t packet = begin_packet(p), info = begin(line, 45), utsname;

	if (uname && sscanf(uname, "%64s %*s %64s %64s", sysname, release, machine) == 3) {
		utsname = begin(line, 1);
		put_string(line, 1, sysname);
		put_string(line, 3, release);
		put_string(line, 4, machine);
		end(line, utsname);
	}
	end(line, info);
	return end_packet(p, packet);
}

static int flush_bundle(struct perfetto *p, int cpu)
{
	struct bundle *b = &p->bundles[cpu];
	struct tracemap_line *line = &p->out->line;
	size_t packet, bundle;

	if (b->events.error || p->text.error)
		return -ENOMEM;
	if (!b->events.length)
		return 0;
	packet = begin_packet(p);
	bundle = begin(line, 1);
	put_number(line, 1, cpu);
	put_number(line, 3, b->lost);
	tracemap_line_put(line, b->events.text, b->events.length);
	end(line, bundle);
	b->events.length = 0;
	b->lost = false;
	return end_packet(p, packet);
}

static int put_process(struct perfetto *p, int pid, const char *comm)
{
	struct tracemap_line *line = &p->out->line;
	size_t packet = begin_packet(p), tree, process;

	put_number(line, 8, p->first);		/* since when it has the name */
	tree = begin(line, 2);
	process = begin(line, 1);
	put_number(line, 1, pid);
	put_string(line, 3, comm);
	put_number(line, 9, true);		/* it is no command line */
	end(line, process);
	end(line, tree);
	return end_packet(p, packet);
}

/* ---- Fields ---- */

/* An array of numbers is a text of all their hexadecimal digits in a generic event: "07 1f". */
static void put_array(struct tracemap_line *line, unsigned int number,
		      const struct field_value *value, uint32_t element)
{
	const unsigned char *data = (const unsigned char *)value->text;
	size_t start = number ? 0 : begin(line, FIELD_STR);

	for (uint32_t at = 0; at + element <= value->length; at += element) {
		uint64_t one = event_load(data + at, element);

		if (number)
			put_number(line, number, one);
		else
			tracemap_line_printf(line, "%s%0*llx", at ? " " : "", 2 * (int)element,
					     (unsigned long long)one);
	}
	if (!number)
		end(line, start);
}

/* @number: of the field in the event's message; 0: the event is generic */
static void put_value(struct tracemap_line *line, unsigned int number, const char *name,
		      const struct field_value *value, uint32_t element)
{
	size_t start = 0;

	if (!number) {
		start = begin(line, 2);
		put_string(line, 1, name);
	}
	if (element)
		put_array(line, number, value, element);
	else if (value->text)
		put_text(line, number ? number : FIELD_STR, value->text, value->length);
	else if (number)
		put_number(line, number, value->number);
	else
		put_number(line, value->is_signed ? FIELD_INT : FIELD_UINT, value->number);
	if (!number)
		end(line, start);
}

/* The number of a field in a message, 0 if it has no place there. @nr: how many came before */
static unsigned int number_in(const struct message *m, const char *name, unsigned int nr)
{
	if (!m->fields[0])
		return nr ? 2 : 1;
	for (unsigned int i = 0; m->fields[i]; i++) {
		if (!strcmp(name, m->fields[i]))
			return i + 1;
	}
	return 0;
}

/* Fields that the event does not have whole, or that have no place in the message, are left out. */
static void put_fields(struct tracemap_line *line, const struct message *m,
		       const struct tep_event *event, const struct tracemap_record *rec)
{
	const struct tep_format_field *field = event->format.fields;

	for (unsigned int nr = 0; field; field = field->next, nr++) {
		unsigned int number = m == &generic ? 0 : number_in(m, field->name, nr);
		struct field_value value = { .text = NULL };
		struct field_place place;
		uint32_t element = 0;

		if (m != &generic && !number)
			continue;
		if (!field_place_set(&place, field))
			element = event_is_number(field->elementsize) ? field->elementsize : 1;
		if (!(element ? field_place_bytes : field_place_get)(&place, rec, &value))
			continue;
		if (element && value.length % element)
			element = 1;
		/* Arguments of system calls are numbers: later kernels have texts behind them. */
		if (m == &generic || m->fields[0] || !value.text)
			put_value(line, number, field->name, &value, element);
	}
}

static void put_own(struct tracemap_line *line, const char *name, uint64_t number)
{
	put_value(line, 0, name, &(struct field_value){ .number = number }, 0);
}

/* ---- Events ---- */

static const struct message *message_of(struct perfetto *p, const struct tep_event *event)
{
	const struct message **known = &p->known[event->id];

	for (unsigned int i = 0; !*known && i < sizeof(messages) / sizeof(messages[0]); i++) {
		if (!strcmp(messages[i].system, event->system) &&
		    !fnmatch(messages[i].event, event->name, 0))
			*known = &messages[i];
	}
	if (!*known)
		*known = &generic;
	return *known;
}

/* Set p->text to the line of text of the event. Returns what is behind the time, or NULL. */
static char *make_text(struct perfetto *p, const struct tracemap_record *rec)
{
	const struct tracemap_record event = { .ts = rec->ts, .data = rec->data,
					       .size = rec->size, .cpu = rec->cpu };
	char *text = NULL;

	p->text.length = 0;
	/* A colon in the name of the process is among the first 16 characters. */
	if (!tracemap_text(p->decoder, &event, &p->text) && p->text.length > 16)
		text = strstr(p->text.text + 16, ": ");
	if (!text)
		return NULL;
	p->text.text[p->text.length - 1] = '\0';	/* the newline */
	return text + 2;
}

/* The fields of a tracer's event do not say all: it has its text, too, if it is no marker. */
static void put_known(struct perfetto *p, struct tracemap_line *line, struct tep_event *event,
		      const struct tracemap_record *rec)
{
	const struct message *m = message_of(p, event);
	const char *text = strcmp(event->system, "ftrace") ? NULL : make_text(p, rec), *mark;
	size_t start;

	if (m == &messages[0]) {
		mark = text ? strstr(text, ": ") : NULL;
		if (!mark || regexec(&p->marker, mark + 2, 0, NULL, 0))
			m = &generic;
	}
	start = begin(line, m == &generic ? EVENT_GENERIC : m->number);
	if (m == &generic)
		put_string(line, 1, event->name);
	put_fields(line, m, event, rec);
	if (m == &generic && text)
		put_value(line, 0, "text", &(struct field_value){ text, strlen(text), 0, 0, 0 }, 0);
	end(line, start);
	p->has_switches |= m->number == EVENT_SCHED_SWITCH;
}

static void put_unknown(struct tracemap_line *line, const struct tracemap_record *rec)
{
	struct field_value data = { .text = rec->data, .length = rec->size };
	size_t start = begin(line, EVENT_GENERIC);

	put_string(line, 1, "unknown_event");
	put_own(line, "id", tracemap_record_id(rec));
	put_value(line, 0, "data", &data, 1);
	end(line, start);
}

static size_t begin_event(struct tracemap_line *line, uint64_t ts, int pid)
{
	size_t start = begin(line, 2);

	put_number(line, 1, ts);
	put_number(line, 2, pid < 0 ? 0 : pid);
	return start;
}

static void put_event(struct perfetto *p, struct tracemap_line *line,
		      const struct tracemap_record *rec)
{
	int id = rec->size >= EVENT_COMMON_SIZE ? tracemap_record_id(rec) : -1;
	struct tep_event *event = id < 0 ? NULL : tracemap_decoder_event(p->decoder, id);
	int pid = tracemap_decoder_pid(p->decoder, rec);
	size_t start = begin_event(line, rec->ts, pid);

	if (event)
		put_known(p, line, event, rec);
	else
		put_unknown(line, rec);
	end(line, start);
	if (pid > 0 && pid < NR_PIDS)
		p->seen[pid] = true;
}

/* A bundle only tells that events were lost: how many is told by an event of ours. */
static void put_loss(struct tracemap_line *line, const struct tracemap_record *rec)
{
	size_t event = begin_event(line, rec->ts, 0), start = begin(line, EVENT_GENERIC);

	put_string(line, 1, "lost_events");
	put_own(line, "cpu", rec->cpu);
	if (rec->missed != TRACEMAP_MISSED_UNKNOWN)
		put_own(line, "count", rec->missed);
	end(line, start);
	end(line, event);
}

int perfetto_add(struct perfetto *p, const struct tracemap_record *rec)
{
	struct bundle *b = &p->bundles[rec->cpu];
	int ret = 0;

	if (!p->first)
		p->first = rec->ts;
	/* Within a bundle nothing is lost, and time does not go back. */
	if (rec->missed || rec->ts < b->last)
		ret = flush_bundle(p, rec->cpu);
	b->last = rec->ts;
	if (rec->missed) {
		b->lost = true;
		put_loss(&b->events, rec);
	}
	if (rec->data)
		put_event(p, &b->events, rec);
	if (!ret && (b->events.error || b->events.length >= BUNDLE_SIZE))
		ret = flush_bundle(p, rec->cpu);
	return ret;
}

/* ---- Begin and end ---- */

int perfetto_new(struct perfetto **to, struct output *out, struct tracemap_decoder *decoder,
		 int nr_cpus, const char *uname)
{
	struct perfetto *p = calloc(1, sizeof(*p));

	*to = p;
	if (!p)
		return -ENOMEM;
	p->out = out;
	p->decoder = decoder;
	p->nr_cpus = nr_cpus;
	p->bundles = calloc(nr_cpus + 1, sizeof(*p->bundles));
	if (!p->bundles || regcomp(&p->marker, MARKER, REG_EXTENDED | REG_NOSUB))
		return -ENOMEM;
	return put_system(p, uname);
}

/*
 * Perfetto has names of processes, and a recording does not tell which threads are of one process.
 * Where switches name them, they are not made processes.
 */
int perfetto_end(struct perfetto *p)
{
	int ret = 0;

	for (int cpu = 0; cpu < p->nr_cpus && !ret; cpu++)
		ret = flush_bundle(p, cpu);
	for (int pid = 1; pid < NR_PIDS && !p->has_switches && !ret; pid++) {
		const char *comm = p->seen[pid] ? tracemap_decoder_comm(p->decoder, pid) : "<...>";

		if (strcmp(comm, "<...>"))
			ret = put_process(p, pid, comm);
	}
	return ret ? ret : output_flush(p->out);
}

void perfetto_free(struct perfetto *p)
{
	for (int cpu = 0; p && p->bundles && cpu < p->nr_cpus; cpu++)
		tracemap_line_free(&p->bundles[cpu].events);
	if (!p)
		return;
	regfree(&p->marker);
	tracemap_line_free(&p->text);
	free(p->bundles);
	free(p);
}

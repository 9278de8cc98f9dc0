// SPDX-License-Identifier: LGPL-2.1
/*
 * Print the name and contents of an event as the kernel's file "trace" has them. Most
 * events have a print format, which is compiled. Those that the kernel prints by a function of
 * their own have such a function here. Of any other the fields are printed as name=value.
 *
 * Where the kernel prints a hash instead of an address (%p), the library prints the
 * address, since only the kernel can compute the hash.
 */
#include <limits.h>
#include <string.h>

#include "event_program.h"

static bool number(const struct event_format *format, const char *name,
		   const struct tracemap_record *rec, uint64_t *value)
{
	*value = 0;
	return event_field_number(format->event, name, rec, value);
}

static struct event_bytes bytes_of(const struct event_format *format, const char *name,
				   const struct tracemap_record *rec)
{
	struct tep_format_field *field = tep_find_field(format->event, name);

	if (!field)
		return (struct event_bytes){ NULL, -1 };
	return event_field_bytes(field, rec);
}

void event_put_bytes(const struct tracemap_record *rec, struct tracemap_line *line)
{
	const unsigned char *data = rec->data;

	tracemap_line_printf(line, "id=%d", tracemap_record_id(rec));
	for (uint32_t i = EVENT_COMMON_SIZE; i < rec->size; i++)
		tracemap_line_printf(line, i > EVENT_COMMON_SIZE ? " %02x" : " data=%02x", data[i]);
}

static void put_integer(const struct tep_format_field *field, const unsigned char *data, int size,
			struct tracemap_line *line)
{
	uint64_t value = event_load(data, size);

	if (field->flags & TEP_FIELD_IS_POINTER)
		tracemap_line_printf(line, "0x%llx", (unsigned long long)value);
	else if (field->flags & TEP_FIELD_IS_SIGNED)
		tracemap_line_printf(line, "%lld", (long long)event_cut(value, size, true));
	else
		event_line_decimal(line, value);
}

/* Append text, a number, or "{1,2}"; what is of no such size as bytes. */
static void put_value(struct tep_format_field *field, struct event_bytes bytes,
		      struct tracemap_line *line)
{
	bool array = field->flags & TEP_FIELD_IS_ARRAY || !event_is_number(bytes.length);
	int size = array ? event_element_size(field) : bytes.length;

	if (event_is_text(field))
		return event_put_string(line, bytes);
	if (!array)
		return put_integer(field, bytes.data, size, line);
	if (!event_is_number(size))
		size = 1;
	event_line_put(line, "{", 1);
	for (int at = 0; at + size <= bytes.length; at += size) {
		if (at)
			event_line_put(line, ",", 1);
		put_integer(field, bytes.data + at, size, line);
	}
	event_line_put(line, "}", 1);
}

/* Returns false if the record does not have every field. */
static bool put_fields(const struct event_format *format, const struct tracemap_record *rec,
		       struct tracemap_line *line)
{
	struct tep_format_field *field;
	bool whole = true;

	for (field = format->event->format.fields; field; field = field->next) {
		struct event_bytes bytes = event_field_bytes(field, rec);

		event_line_puts(line, field == format->event->format.fields ? "" : " ");
		event_line_puts(line, field->name);
		event_line_put(line, "=", 1);
		if (bytes.length < 0)
			whole = false;
		else
			put_value(field, bytes, line);
	}
	return whole;
}

/* Append the contents by the print format, without the event's name. */
static void put_formatted(struct tracemap_decoder *d, const struct event_format *format,
			  const struct tracemap_record *rec, struct tracemap_line *line)
{
	const struct event_program *program = format->program;
	size_t start = line->length;
	bool whole;

	if (format->kind == KIND_BPRINT)
		program = event_printk(d, format, rec);
	whole = program ? event_program_run(program, d, rec, line) :
			  put_fields(format, rec, line);
	if (whole)
		return;
	if (line->length > start)
		event_line_put(line, " ", 1);
	event_line_put(line, "[DAMAGED]", 9);
	/* It is too short to have all fields. */
	if (line->length == start + 9) {
		event_line_put(line, " ", 1);
		event_put_bytes(rec, line);
	}
}

static void put_name(const struct event_format *format, struct tracemap_line *line)
{
	event_line_puts(line, format->event->name);
	event_line_put(line, ": ", 2);
}

static void put_function(struct tracemap_decoder *d, const struct event_format *format,
			 const struct tracemap_record *rec, struct tracemap_line *line)
{
	uint64_t ip = 0, parent = 0;

	event_number(format->ip, rec, &ip);
	event_number(format->parent_ip, rec, &parent);
	event_symbol_print(d, line, ip, false);
	if (parent) {
		event_line_put(line, " <-", 3);
		event_symbol_print(d, line, parent, false);
	}
}

static void put_repeats(struct tracemap_decoder *d, const struct event_format *format,
			const struct tracemap_record *rec, struct tracemap_line *line)
{
	uint64_t count, top, bottom;

	put_function(d, format, rec, line);
	number(format, "count", rec, &count);
	number(format, "top_delta_ts", rec, &top);
	number(format, "bottom_delta_ts", rec, &bottom);
	tracemap_line_printf(line, " (repeats: %u, last_ts:", (unsigned int)count);
	event_time(d, rec->ts - (top << 32 | bottom), line);
	event_line_put(line, ")", 1);
}

static void put_print(struct tracemap_decoder *d, const struct event_format *format,
		      const struct tracemap_record *rec, struct tracemap_line *line)
{
	uint64_t ip = 0;

	event_number(format->ip, rec, &ip);
	event_symbol_print(d, line, ip, false);
	event_line_put(line, ": ", 2);
	event_put_string(line, bytes_of(format, "buf", rec));
}

static void put_raw(const struct event_format *format, const struct tracemap_record *rec,
		    struct tracemap_line *line)
{
	struct event_bytes bytes = bytes_of(format, "buf", rec);
	uint64_t id;

	number(format, "id", rec, &id);
	tracemap_line_printf(line, "# %x buf:", (unsigned int)id);
	for (int i = 0; i < bytes.length; i++)
		tracemap_line_printf(line, " %02x", bytes.data[i]);
}

/* What the kernel records for code that it has made for a tracer */
#define TRAMPOLINE	INT_MAX

static void put_stack(struct tracemap_decoder *d, const struct event_format *format,
		      const struct tracemap_record *rec, struct tracemap_line *line)
{
	struct event_bytes bytes = bytes_of(format, "caller", rec);
	int size = tep_get_long_size(d->tep);
	bool user = format->kind == KIND_USER_STACK;

	tracemap_line_printf(line, user ? "<user stack trace>\n" : "<stack trace>\n");
	for (int at = 0; at + size <= bytes.length; at += size) {
		uint64_t ip = event_load(bytes.data + at, size);

		/* The stack ended. */
		if (user ? !ip : ip == (size == 8 ? ~0ULL : ~0U))
			break;
		event_line_put(line, " => ", 4);
		if (user)
			tracemap_line_printf(line, " <%0*llx>", 2 * size, (unsigned long long)ip);
		else if (ip == TRAMPOLINE)
			event_line_puts(line, "[FTRACE TRAMPOLINE]");
		else
			event_symbol_print(d, line, ip, false);
		event_line_put(line, "\n", 1);
	}
}

/* ---- What other tracers record ---- */

static unsigned long long any(const struct event_format *format, const char *name,
			      const struct tracemap_record *rec)
{
	uint64_t value;

	number(format, name, rec, &value);
	return value;
}

/* How much of its time a CPU had for others, in percent with five digits behind the point. */
static void put_osnoise(const struct event_format *format, const struct tracemap_record *rec,
			struct tracemap_line *line)
{
	static const char * const counts[] = {
		"hw_count", "nmi_count", "irq_count", "softirq_count", "thread_count",
	};
	unsigned long long runtime = any(format, "runtime", rec);
	unsigned long long noise = any(format, "noise", rec);
	unsigned long long ratio = runtime ? (runtime - noise) * 10000000 / runtime : 0;

	tracemap_line_printf(line, "%llu %10llu %3llu.%05llu %7llu", runtime, noise,
			     ratio / 100000, ratio % 100000, any(format, "max_sample", rec));
	for (unsigned int i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		tracemap_line_printf(line, " %6llu", any(format, counts[i], rec));
}

static void put_timerlat(const struct event_format *format, const struct tracemap_record *rec,
			 struct tracemap_line *line)
{
	static const char * const contexts[] = { "irq", "thread", "user-ret" };
	unsigned long long context = any(format, "context", rec);

	tracemap_line_printf(line, "#%-5llu context %6s timer_latency %9llu ns",
			     any(format, "seqnum", rec), context < 3 ? contexts[context] : "?",
			     any(format, "timer_latency", rec));
}

static void put_hwlat(const struct event_format *format, const struct tracemap_record *rec,
		      struct tracemap_line *line)
{
	unsigned long long nmis = any(format, "nmi_count", rec);

	tracemap_line_printf(line,
			     "#%-5llu inner/outer(us): %4llu/%-5llu ts:%lld.%09lld count:%lld",
			     any(format, "seqnum", rec), any(format, "duration", rec),
			     any(format, "outer_duration", rec),
			     (long long)any(format, "tv_sec", rec),
			     (long long)any(format, "tv_nsec", rec),
			     (long long)any(format, "count", rec));
	if (nmis)
		tracemap_line_printf(line, " nmi-total:%llu nmi-count:%llu",
				     any(format, "nmi_total_ts", rec), nmis);
}

/* Of the tracers wakeup and irqsoff: the task that was switched from, and the next one */
static void put_switch(struct tracemap_decoder *d, const struct event_format *format,
		       const struct tracemap_record *rec, struct tracemap_line *line)
{
	static const char states[] = "RSDTtXZPI";
	unsigned long long from = any(format, "prev_state", rec);
	unsigned long long to = any(format, "next_state", rec);
	int next = any(format, "next_pid", rec);

	tracemap_line_printf(line, " %7llu:%3llu:%c %s [%03llu] %7d:%3llu:%c %s",
			     any(format, "prev_pid", rec), any(format, "prev_prio", rec),
			     from < sizeof(states) - 1 ? states[from] : '?',
			     format->kind == KIND_WAKEUP ? "  +" : "==>",
			     any(format, "next_cpu", rec), next, any(format, "next_prio", rec),
			     to < sizeof(states) - 1 ? states[to] : '?',
			     tracemap_decoder_comm(d, next));
}

/* ---- System calls and probes ---- */

/*
 * "sys_openat(dfd: ffffffffffffff9c, ...)": each argument is a long, whatever its type. Since
 * 6.18 the kernel prints 0xffffffffffffff9c, and up to 9 in decimal; the print format shows
 * neither.
 */
static void put_syscall_enter(struct tracemap_decoder *d, const struct event_format *format,
			      const struct tracemap_record *rec, struct tracemap_line *line)
{
	struct tep_format_field *field;
	bool first = true;
	uint64_t value;

	event_line_put(line, "sys_", 4);
	event_line_puts(line, format->event->name + strlen("sys_enter_"));
	event_line_put(line, "(", 1);
	for (field = format->event->format.fields; field; field = field->next) {
		struct event_bytes bytes = event_field_bytes(field, rec);

		/* The first one is the number of the call, which was called nr before 4.16. */
		if (field == format->event->format.fields || !event_is_number(bytes.length))
			continue;
		value = event_load(bytes.data, bytes.length);
		if (!first)
			event_line_put(line, ", ", 2);
		first = false;
		event_line_puts(line, field->name);
		event_line_put(line, ": 0x", d->syscalls_prefixed && value > 9 ? 4 : 2);
		event_line_hex(line, value);
	}
	event_line_put(line, ")", 1);
}

static void put_syscall_exit(const struct event_format *format,
			     const struct tracemap_record *rec, struct tracemap_line *line)
{
	uint64_t ret;

	number(format, "ret", rec, &ret);
	event_line_put(line, "sys_", 4);
	event_line_puts(line, format->event->name + strlen("sys_exit_"));
	event_line_put(line, " -> 0x", 6);
	event_line_hex(line, ret);
}

/* Append a symbol of the kernel; a probe in a program has only the address. */
static void put_probed(struct tracemap_decoder *d, uint64_t ip, bool with_offset,
		       struct tracemap_line *line)
{
	struct event_symbol symbol;

	if (event_symbol_find(d, ip, &symbol))
		event_symbol_print(d, line, ip, with_offset);
	else
		tracemap_line_printf(line, "0x%llx", (unsigned long long)ip);
}

/* "name: (where)" as the kernel has it, then the arguments by the format. */
static void put_probe(struct tracemap_decoder *d, const struct event_format *format,
		      const struct tracemap_record *rec, struct tracemap_line *line)
{
	struct tracemap_line arguments = TRACEMAP_LINE_INIT;
	uint64_t ip, func;
	char *end;

	put_name(format, line);
	event_line_put(line, "(", 1);
	if (format->kind == KIND_PROBE) {
		number(format, "__probe_ip", rec, &ip);
		put_probed(d, ip, true, line);
	} else {
		number(format, "__probe_ret_ip", rec, &ip);
		number(format, "__probe_func", rec, &func);
		put_probed(d, ip, true, line);
		event_line_put(line, " <- ", 4);
		put_probed(d, func, false, line);
	}
	event_line_put(line, ")", 1);
	if (!format->program) {
		event_line_put(line, " ", 1);
		return put_formatted(d, format, rec, line);
	}
	put_formatted(d, format, rec, &arguments);
	end = arguments.text ? memchr(arguments.text, ')', arguments.length) : NULL;
	if (end++)	/* what follows may have a 0 byte, by %c */
		event_line_put(line, end, arguments.text + arguments.length - end);
	tracemap_line_free(&arguments);
}

static void put_kind(struct tracemap_decoder *d, struct event_format *format,
		     const struct tracemap_record *rec, struct tracemap_line *line)
{
	switch (format->kind) {
	case KIND_FUNCTION:
		return put_function(d, format, rec, line);
	case KIND_FUNC_REPEATS:
		return put_repeats(d, format, rec, line);
	case KIND_PRINT:
		return put_print(d, format, rec, line);
	case KIND_BPRINT:
		event_symbol_print(d, line, any(format, "ip", rec), false);
		event_line_put(line, ": ", 2);
		return put_formatted(d, format, rec, line);
	case KIND_BPUTS:
		return put_formatted(d, format, rec, line);
	case KIND_OSNOISE:
		return put_osnoise(format, rec, line);
	case KIND_TIMERLAT:
		return put_timerlat(format, rec, line);
	case KIND_HWLAT:
		return put_hwlat(format, rec, line);
	case KIND_SWITCH:
	case KIND_WAKEUP:
		return put_switch(d, format, rec, line);
	case KIND_RAW:
		return put_raw(format, rec, line);
	case KIND_STACK:
	case KIND_USER_STACK:
		return put_stack(d, format, rec, line);
	case KIND_SYSCALL_ENTER:
		return put_syscall_enter(d, format, rec, line);
	case KIND_SYSCALL_EXIT:
		return put_syscall_exit(format, rec, line);
	case KIND_PROBE:
	case KIND_RETPROBE:
		return put_probe(d, format, rec, line);
	case KIND_CALL:
	case KIND_RETURN:
	case KIND_GENERIC:
	case KIND_UNKNOWN:
		put_name(format, line);
		put_formatted(d, format, rec, line);
	}
}

static bool brings_end(enum event_kind kind)
{
	return kind == KIND_PRINT || kind == KIND_BPRINT || kind == KIND_BPUTS ||
		kind == KIND_STACK || kind == KIND_USER_STACK;
}

void event_message(struct tracemap_decoder *d, struct event_format *format,
		   const struct tracemap_record *rec, struct tracemap_line *line)
{
	struct tracemap_line whole = TRACEMAP_LINE_INIT;
	const char *message;

	if (format->kind == KIND_PRINT) {
		event_put_string(line, bytes_of(format, "buf", rec));
		return;
	}
	if (format->kind != KIND_BPRINT && format->kind != KIND_BPUTS) {
		event_info(d, format, rec, line);
		return;
	}
	event_info(d, format, rec, &whole);
	message = whole.text ? strstr(whole.text, ": ") : NULL;
	if (message)
		event_line_put(line, message + 2, strlen(message + 2));
	tracemap_line_free(&whole);
}

void event_info(struct tracemap_decoder *d, struct event_format *format,
		const struct tracemap_record *rec, struct tracemap_line *line)
{
	put_kind(d, format, rec, line);
	/* Some kinds append a newline themselves; for others it would belong to their text. */
	if (!brings_end(format->kind) || !line->length || line->text[line->length - 1] != '\n')
		event_line_put(line, "\n", 1);
}

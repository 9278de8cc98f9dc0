// SPDX-License-Identifier: LGPL-2.1
/*
 * Print the name and contents of an event as the kernel's file "trace" has them. Most
 * events have a print format. Those that the kernel prints by a function of their own have
 * such a function here.
 *
 * Where the kernel prints a hash instead of an address (%p), the library prints the
 * address, since only the kernel can compute the hash.
 */
#include <string.h>

#include "event_program.h"

static bool number(const struct event_format *format, const char *name,
		   const struct tracemap_record *rec, uint64_t *value)
{
	*value = 0;
	return event_field_number(format->event, name, rec, value);
}

/* A string that ends at a 0 byte, or where the field does. */
static void put_string(struct tracemap_line *line, struct event_bytes bytes)
{
	if (bytes.length > 0)
		event_line_put(line, bytes.data,
			       strnlen((const char *)bytes.data, bytes.length));
}

static struct event_bytes bytes_of(const struct event_format *format, const char *name,
				   const struct tracemap_record *rec)
{
	struct tep_format_field *field = tep_find_field(format->event, name);

	if (!field)
		return (struct event_bytes){ NULL, -1 };
	return event_field_bytes(field, rec);
}

static bool ends(struct event_bytes bytes)
{
	return bytes.length > 0 && memchr(bytes.data, '\0', bytes.length);
}

/*
 * Whether every field is where the format says, and every string that is printed to its end
 * has one: libtraceevent does not check that.
 */
static bool is_sound(const struct event_format *format, const struct tracemap_record *rec)
{
	struct tep_format_field *field;

	for (field = format->event->format.fields; field; field = field->next) {
		struct event_bytes bytes = event_field_bytes(field, rec);

		if (bytes.length < 0)
			return false;
		if (event_is_text(field) && field->flags & TEP_FIELD_IS_DYNAMIC && !ends(bytes))
			return false;
	}
	return true;
}

void event_put_bytes(const struct tracemap_record *rec, struct tracemap_line *line)
{
	const unsigned char *data = rec->data;

	tracemap_line_printf(line, "id=%d", tracemap_record_id(rec));
	for (uint32_t i = EVENT_COMMON_SIZE; i < rec->size; i++)
		tracemap_line_printf(line, i > EVENT_COMMON_SIZE ? " %02x" : " data=%02x", data[i]);
}

/*
 * Append the contents by the format's program. Returns false and appends nothing if it has
 * none, if a user of libtraceevent has a function of its own for the event, or if the record
 * does not fit.
 */
static bool put_compiled(struct tracemap_decoder *d, const struct event_format *format,
			 const struct tracemap_record *rec, struct tracemap_line *line)
{
	size_t length = line->length;

	if (!format->program || format->event->handler ||
	    format->event->flags & TEP_EVENT_FL_PRINTRAW)
		return false;
	if (event_program_run(format->program, d, rec, line))
		return true;
	line->length = length;
	return false;
}

/* Append the contents by the print format, without the event's name. */
static void put_formatted(struct tracemap_decoder *d, const struct event_format *format,
			  const struct tracemap_record *rec, struct tracemap_line *line)
{
	struct tep_record record = {
		.ts = rec->ts,
		.cpu = rec->cpu,
		.size = rec->size,
		.data = (void *)rec->data,
	};

	if (put_compiled(d, format, rec, line))
		return;
	if (!is_sound(format, rec)) {
		event_line_put(line, "[DAMAGED] ", 10);
		event_put_bytes(rec, line);
		return;
	}
	d->has_marks = false;
	trace_seq_reset(&d->seq);
	tep_print_event(d->tep, &d->seq, &record, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&d->seq);
	if (d->has_marks)
		event_unmark(d->seq.buffer, line);
	else
		event_line_put(line, d->seq.buffer, d->seq.len);
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
	put_string(line, bytes_of(format, "buf", rec));
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

static void put_stack(struct tracemap_decoder *d, const struct event_format *format,
		      const struct tracemap_record *rec, struct tracemap_line *line)
{
	struct event_bytes bytes = bytes_of(format, "caller", rec);
	int size = tep_get_long_size(d->tep);
	bool user = format->kind == KIND_USER_STACK;

	tracemap_line_printf(line, user ? "<user stack trace>\n" : "<stack trace>\n");
	for (int at = 0; at + size <= bytes.length; at += size) {
		uint64_t ip = tep_read_number(d->tep, bytes.data + at, size);

		/* The space ran out, or the stack ended. */
		if (ip == (size == 8 ? ~0ULL : ~0U) || (user && !ip))
			break;
		event_line_put(line, " => ", 4);
		if (user)
			tracemap_line_printf(line, " <%0*llx>", 2 * size, (unsigned long long)ip);
		else
			event_symbol_print(d, line, ip, false);
		event_line_put(line, "\n", 1);
	}
}

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

		if (!strcmp(field->name, "__syscall_nr") || !strcmp(field->name, "nr") ||
		    bytes.length > 8 || bytes.length < 1)
			continue;
		value = tep_read_number(d->tep, bytes.data, bytes.length);
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
	case KIND_BPUTS:
		return put_formatted(d, format, rec, line);
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
		put_string(line, bytes_of(format, "buf", rec));
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

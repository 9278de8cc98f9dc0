// SPDX-License-Identifier: LGPL-2.1
/*
 * Print events as JSON, an object on each line:
 *
 *	{"version":1,"ts":81712345678,"cpu":0,"comm":"sh","pid":71,"flags":"d..2.",
 *	 "system":"sched","event":"sched_waking","fields":{"comm":"init","pid":1},
 *	 "text":"comm=init pid=1"}
 *	{"ts":81712349999,"cpu":0,"lost":12}
 *
 * The first object has the version of this form. Numbers are JSON numbers as far as every reader
 * has them exactly, up to 2^53, and else strings, as pointers are. Arrays are JSON arrays. Text
 * is UTF-8: bytes that are not become U+FFFD.
 */
#include <ctype.h>
#include <string.h>

#include "event.h"
#include "utf8.h"

/* ---- Strings ---- */

static void put_char(struct tracemap_line *line, unsigned char c)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *found = c ? strchr(from, c) : NULL;

	if (found)
		tracemap_line_printf(line, "\\%c", to[found - from]);
	else if (c < 0x20 || c == 0x7f)
		tracemap_line_printf(line, "\\u%04x", c);
	else
		event_line_put(line, &c, 1);
}

/* Bytes that stay as they are. */
static size_t plain_length(const unsigned char *s, size_t length)
{
	size_t n = 0;

	while (n < length && s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
		n++;
	return n;
}

void tracemap_json_string(struct tracemap_line *line, const char *text, size_t length)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n;

	event_line_put(line, "\"", 1);
	while (length) {
		n = plain_length(s, length);
		event_line_put(line, s, n);
		s += n;
		length -= n;
		if (!length)
			break;
		n = utf8_length(s, length);
		if (!n)
			event_line_put(line, "\xef\xbf\xbd", 3);
		else if (n == 1)
			put_char(line, *s);
		else
			event_line_put(line, s, n);
		n = n ? n : 1;
		s += n;
		length -= n;
	}
	event_line_put(line, "\"", 1);
}

static void put_key(struct tracemap_line *line, const char *key)
{
	tracemap_json_string(line, key, strlen(key));
	event_line_put(line, ":", 1);
}

/* ---- Fields ---- */

static bool is_bool(const struct tep_format_field *field)
{
	return !strncmp(field->type, "bool", 4) && !isalnum((unsigned char)field->type[4]);
}

#define EXACT_MAX	(1ULL << 53)	/* a double has all integers up to this one */

/* What is larger without a sign is mostly an address, and written as one. */
static void put_unsigned(struct tracemap_line *line, uint64_t value, bool pointer)
{
	if (!pointer && value <= EXACT_MAX)
		return event_line_decimal(line, value);
	event_line_put(line, "\"0x", 3);
	event_line_hex(line, value);
	event_line_put(line, "\"", 1);
}

static void put_signed(struct tracemap_line *line, int64_t value)
{
	uint64_t positive = value < 0 ? -(uint64_t)value : (uint64_t)value;
	const char *quote = positive > EXACT_MAX ? "\"" : "";

	event_line_puts(line, quote);
	if (value < 0)
		event_line_put(line, "-", 1);
	event_line_decimal(line, positive);
	event_line_puts(line, quote);
}

static void put_number(const struct tep_format_field *field, const unsigned char *data, int size,
		       struct tracemap_line *line)
{
	uint64_t value = event_load(data, size);
	bool pointer = field->flags & TEP_FIELD_IS_POINTER;

	if (is_bool(field))
		event_line_puts(line, value ? "true" : "false");
	else if (field->flags & TEP_FIELD_IS_SIGNED && !pointer)
		put_signed(line, event_cut(value, size, true));
	else
		put_unsigned(line, value, pointer);
}

static int element_size(const struct tep_format_field *field, int length)
{
	int size = event_element_size(field);

	/* Dynamic fields have the size of their elements in it, too. */
	return event_is_number(size) && length % size == 0 ? size : 1;
}

static void put_array(const struct tep_format_field *field, struct event_bytes bytes,
		      struct tracemap_line *line)
{
	int size = element_size(field, bytes.length);

	event_line_put(line, "[", 1);
	for (int at = 0; at < bytes.length; at += size) {
		if (at)
			event_line_put(line, ",", 1);
		put_number(field, bytes.data + at, size, line);
	}
	event_line_put(line, "]", 1);
}

static bool is_text(const struct event_format *format, const struct tep_format_field *field)
{
	/* A char[] that is no text. */
	return event_is_text(field) && format->kind != KIND_RAW;
}

static void put_value(const struct event_format *format, struct tep_format_field *field,
		      const struct tracemap_record *rec, struct tracemap_line *line)
{
	struct event_bytes bytes = event_field_bytes(field, rec);

	if (bytes.length < 0)
		event_line_put(line, "null", 4);
	else if (is_text(format, field))
		tracemap_json_string(line, (const char *)bytes.data,
				     strnlen((const char *)bytes.data, bytes.length));
	else if (field->flags & TEP_FIELD_IS_ARRAY || !event_is_number(bytes.length))
		put_array(field, bytes, line);
	else
		put_number(field, bytes.data, bytes.length, line);
}

static void put_fields(const struct event_format *format, const struct tracemap_record *rec,
		       struct tracemap_line *line)
{
	struct tep_format_field *field;

	event_line_put(line, "{", 1);
	for (field = format->event->format.fields; field; field = field->next) {
		if (field != format->event->format.fields)
			event_line_put(line, ",", 1);
		put_key(line, field->name);
		put_value(format, field, rec, line);
	}
	event_line_put(line, "}", 1);
}

/* ---- Events ---- */

static void put_int(struct tracemap_line *line, const char *key, int value)
{
	event_line_puts(line, key);
	put_signed(line, value);
}

/* What comes without an event may have no time: the reset of a buffer without events. */
static void put_start(struct tracemap_decoder *d, const struct tracemap_record *rec,
		      struct tracemap_line *line)
{
	event_line_puts(line, d->has_version ? "{" : "{\"version\":1,");
	d->has_version = true;
	if (rec->data || rec->ts) {
		event_line_puts(line, "\"ts\":");
		event_line_decimal(line, rec->ts);
		event_line_put(line, ",", 1);
	}
	put_int(line, "\"cpu\":", rec->cpu);
}

static void put_loss(struct tracemap_decoder *d, const struct tracemap_record *rec,
		     struct tracemap_line *line)
{
	if (rec->flags & TRACEMAP_RESET) {
		put_start(d, rec, line);
		tracemap_line_printf(line, ",\"reset\":true}\n");
	}
	if (!rec->missed)
		return;
	put_start(d, rec, line);
	if (rec->missed == TRACEMAP_MISSED_UNKNOWN)
		tracemap_line_printf(line, ",\"lost\":null}\n");
	else
		tracemap_line_printf(line, ",\"lost\":%llu}\n", (unsigned long long)rec->missed);
}

static void put_bytes(const struct tracemap_record *rec, struct tracemap_line *line)
{
	const unsigned char *data = rec->data;

	tracemap_line_printf(line, ",\"id\":%d,\"data\":\"", tracemap_record_id(rec));
	for (uint32_t i = 0; i < rec->size; i++)
		tracemap_line_printf(line, "%02x", data[i]);
	event_line_put(line, "\"", 1);
}

static void put_context(struct tracemap_decoder *d, const struct tracemap_record *rec,
			struct tracemap_line *line)
{
	int pid = tracemap_decoder_pid(d, rec);
	const char *comm = tracemap_decoder_comm(d, pid);
	char flags[6];

	event_flags(d, rec, flags);
	event_line_puts(line, ",\"comm\":");
	tracemap_json_string(line, comm, strlen(comm));
	put_int(line, ",\"pid\":", pid);
	event_line_puts(line, ",\"flags\":\"");
	event_line_put(line, flags, 5);
	event_line_put(line, "\"", 1);
}

/* What the line of text says behind the name of the event */
static void put_text(struct tracemap_decoder *d, struct event_format *format,
		     const struct tracemap_record *rec, struct tracemap_line *line)
{
	const char *name = format->event->name;
	struct tracemap_line *text = &d->text;
	size_t skip = strlen(name);

	text->length = 0;
	event_info(d, format, rec, text);
	if (text->error) {
		line->error = text->error;
		return;
	}
	if (strncmp(text->text, name, skip) || strncmp(text->text + skip, ": ", 2))
		skip = 0;
	else
		skip += 2;
	event_line_puts(line, ",\"text\":");
	tracemap_json_string(line, text->text + skip, text->length - 1 - skip);
}

int tracemap_json(struct tracemap_decoder *d, const struct tracemap_record *rec,
		  struct tracemap_line *line)
{
	struct event_format *format;

	if (rec->missed || rec->flags & TRACEMAP_RESET)
		put_loss(d, rec, line);
	if (!rec->data)
		return line->error;
	put_start(d, rec, line);
	if (rec->flags & TRACEMAP_LATE)
		tracemap_line_printf(line, ",\"late\":true");
	format = rec->size >= EVENT_COMMON_SIZE ? event_format(d, tracemap_record_id(rec)) : NULL;
	if (rec->size >= EVENT_COMMON_SIZE) {
		if (format)
			event_comms_learn(d, format, rec);
		put_context(d, rec, line);
	}
	if (format) {
		event_line_puts(line, ",\"system\":");
		tracemap_json_string(line, format->event->system, strlen(format->event->system));
		event_line_puts(line, ",\"event\":");
		tracemap_json_string(line, format->event->name, strlen(format->event->name));
		event_line_puts(line, ",\"fields\":");
		put_fields(format, rec, line);
		put_text(d, format, rec, line);
	} else {
		put_bytes(rec, line);
	}
	event_line_put(line, "}\n", 2);
	return line->error;
}

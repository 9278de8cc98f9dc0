// SPDX-License-Identifier: LGPL-2.1
/*
 * Events as JSON, an object a line:
 *
 *	{"ts":81712345678,"cpu":0,"comm":"sh","pid":71,"flags":"d..2.",
 *	 "system":"sched","event":"sched_waking","fields":{"comm":"init","pid":1}}
 *	{"ts":81712349999,"cpu":0,"lost":12}
 *
 * Numbers are numbers, of up to 64 bits; pointers are strings "0x..."; arrays
 * are arrays; text is UTF-8, and bytes that are none become U+FFFD.
 */
#include <ctype.h>
#include <string.h>

#include "event.h"

/* ---- Strings ---- */

/* Bytes of the UTF-8 sequence at @s, 0 if it is none. */
static size_t utf8_length(const unsigned char *s, size_t room)
{
	uint32_t code;
	size_t length, i;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		length = 2, code = s[0] & 0x1f;
	else if ((s[0] & 0xf0) == 0xe0)
		length = 3, code = s[0] & 0x0f;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		length = 4, code = s[0] & 0x07;
	else
		return 0;
	if (length > room)
		return 0;
	for (i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	/* Too long for what it says, a surrogate, beyond the last one. */
	if ((length == 3 && (code < 0x800 || (code >= 0xd800 && code <= 0xdfff))) ||
	    (length == 4 && (code < 0x10000 || code > 0x10ffff)))
		return 0;
	return length;
}

static void put_char(struct tracemap_line *line, unsigned char c)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *found = c ? strchr(from, c) : NULL;

	if (found)
		tracemap_line_printf(line, "\\%c", to[found - from]);
	else if (c < 0x20 || c == 0x7f)
		tracemap_line_printf(line, "\\u%04x", c);
	else
		tracemap_line_put(line, &c, 1);
}

/**
 * tracemap_json_string - append a JSON string, quotes and all
 * @line: to be appended to
 * @text: the bytes
 * @length: how many
 */
void tracemap_json_string(struct tracemap_line *line, const char *text, size_t length)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n;

	tracemap_line_put(line, "\"", 1);
	while (length) {
		n = utf8_length(s, length);
		if (!n)
			tracemap_line_put(line, "\xef\xbf\xbd", 3);
		else if (n == 1)
			put_char(line, *s);
		else
			tracemap_line_put(line, s, n);
		n = n ? n : 1;
		s += n;
		length -= n;
	}
	tracemap_line_put(line, "\"", 1);
}

static void put_key(struct tracemap_line *line, const char *key)
{
	tracemap_json_string(line, key, strlen(key));
	tracemap_line_put(line, ":", 1);
}

/* ---- Fields ---- */

static bool is_bool(const struct tep_format_field *field)
{
	return !strncmp(field->type, "bool", 4) && !isalnum((unsigned char)field->type[4]);
}

static void put_number(struct tracemap_decoder *d, const struct tep_format_field *field,
		       const unsigned char *data, int size, struct tracemap_line *line)
{
	unsigned long long value = tep_read_number(d->tep, data, size);

	if (field->flags & TEP_FIELD_IS_POINTER) {
		tracemap_line_printf(line, "\"0x%llx\"", value);
	} else if (is_bool(field)) {
		tracemap_line_printf(line, value ? "true" : "false");
	} else if (field->flags & TEP_FIELD_IS_SIGNED) {
		int spare = 64 - 8 * size;

		tracemap_line_printf(line, "%lld", (long long)(value << spare) >> spare);
	} else {
		tracemap_line_printf(line, "%llu", value);
	}
}

static bool is_number_size(int size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static int element_size(const struct tep_format_field *field, int length)
{
	int size = field->elementsize;

	/* Of the dynamic ones it is that of the elements as well. */
	return is_number_size(size) && length % size == 0 ? size : 1;
}

static void put_array(struct tracemap_decoder *d, const struct tep_format_field *field,
		      struct event_bytes bytes, struct tracemap_line *line)
{
	int size = element_size(field, bytes.length);

	tracemap_line_put(line, "[", 1);
	for (int at = 0; at < bytes.length; at += size) {
		if (at)
			tracemap_line_put(line, ",", 1);
		put_number(d, field, bytes.data + at, size, line);
	}
	tracemap_line_put(line, "]", 1);
}

static bool is_text(const struct event_format *format, const struct tep_format_field *field)
{
	/* A char[] that is no text. */
	return event_is_text(field) && format->kind != KIND_RAW;
}

static void put_value(struct tracemap_decoder *d, const struct event_format *format,
		      struct tep_format_field *field, const struct tracemap_record *rec,
		      struct tracemap_line *line)
{
	struct event_bytes bytes = event_field_bytes(field, rec);

	if (bytes.length < 0)
		tracemap_line_put(line, "null", 4);
	else if (is_text(format, field))
		tracemap_json_string(line, (const char *)bytes.data,
				     strnlen((const char *)bytes.data, bytes.length));
	else if (field->flags & TEP_FIELD_IS_ARRAY || !is_number_size(bytes.length))
		put_array(d, field, bytes, line);
	else
		put_number(d, field, bytes.data, bytes.length, line);
}

static void put_fields(struct tracemap_decoder *d, const struct event_format *format,
		       const struct tracemap_record *rec, struct tracemap_line *line)
{
	struct tep_format_field *field;

	tracemap_line_put(line, "{", 1);
	for (field = format->event->format.fields; field; field = field->next) {
		if (field != format->event->format.fields)
			tracemap_line_put(line, ",", 1);
		put_key(line, field->name);
		put_value(d, format, field, rec, line);
	}
	tracemap_line_put(line, "}", 1);
}

/* ---- Events ---- */

static void put_start(const struct tracemap_record *rec, struct tracemap_line *line)
{
	tracemap_line_printf(line, "{\"ts\":%llu,\"cpu\":%d",
			     (unsigned long long)rec->ts, rec->cpu);
}

static void put_loss(const struct tracemap_record *rec, struct tracemap_line *line)
{
	if (rec->flags & TRACEMAP_RESET) {
		put_start(rec, line);
		tracemap_line_printf(line, ",\"reset\":true}\n");
	}
	if (!rec->missed)
		return;
	put_start(rec, line);
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
	tracemap_line_put(line, "\"", 1);
}

static void put_context(struct tracemap_decoder *d, const struct tracemap_record *rec,
			struct tracemap_line *line)
{
	int pid = tracemap_decoder_pid(d, rec);
	const char *comm = tracemap_decoder_comm(d, pid);
	char flags[6];

	event_flags(d, rec, flags);
	tracemap_line_printf(line, ",\"comm\":");
	tracemap_json_string(line, comm, strlen(comm));
	tracemap_line_printf(line, ",\"pid\":%d,\"flags\":\"%s\"", pid, flags);
}

/**
 * tracemap_json - append an event as a line of JSON
 * @d: the decoder
 * @rec: a record; what was lost before it is an object of its own, "lost" the
 *	number, or null where the kernel does not tell it
 * @line: to be appended to
 *
 * An event whose format is gone has "id" and "data", its bytes in hexadecimal.
 *
 * Return: 0, -ENOMEM
 */
int tracemap_json(struct tracemap_decoder *d, const struct tracemap_record *rec,
		  struct tracemap_line *line)
{
	struct event_format *format;

	put_loss(rec, line);
	if (!rec->data)
		return line->error;
	put_start(rec, line);
	format = rec->size >= EVENT_COMMON_SIZE ? event_format(d, tracemap_record_id(rec)) : NULL;
	if (rec->size >= EVENT_COMMON_SIZE) {
		if (format)
			event_comms_learn(d, format, rec);
		put_context(d, rec, line);
	}
	if (format) {
		tracemap_line_printf(line, ",\"system\":");
		tracemap_json_string(line, format->event->system, strlen(format->event->system));
		tracemap_line_printf(line, ",\"event\":");
		tracemap_json_string(line, format->event->name, strlen(format->event->name));
		tracemap_line_printf(line, ",\"fields\":");
		put_fields(d, format, rec, line);
	} else {
		put_bytes(rec, line);
	}
	tracemap_line_put(line, "}\n", 2);
	return line->error;
}

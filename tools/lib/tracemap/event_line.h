/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Append to a line without printf(), which would take too long for each event.
 */
#ifndef _TRACEMAP_EVENT_LINE_H
#define _TRACEMAP_EVENT_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tracemap-event.h"

#define EVENT_DIGITS	24	/* room for the digits of 64 bits, also in octal */
#define EVENT_PAD	16	/* padded text is copied in steps of this many bytes */

/*
 * Make room for @more bytes and a 0 byte behind them. Returns false, and sets line->error,
 * if there is no memory.
 */
bool event_line_grow(struct tracemap_line *line, size_t more);

/*
 * Write @value in decimal so that it ends at @end; returns where it begins. Each division
 * yields two digits, so that half as many divisions wait for one another.
 */
static inline char *event_decimal(char *end, uint64_t value)
{
	while (value >= 100) {
		unsigned int two = value % 100;

		value /= 100;
		*--end = '0' + two % 10;
		*--end = '0' + two / 10;
	}
	if (value >= 10) {
		*--end = '0' + value % 10;
		value /= 10;
	}
	*--end = '0' + value;
	return end;
}

/* The same in hexadecimal. */
static inline char *event_hex(char *end, uint64_t value)
{
	do {
		*--end = "0123456789abcdef"[value & 0xf];
		value >>= 4;
	} while (value);
	return end;
}

static inline bool event_line_room(struct tracemap_line *line, size_t more)
{
	if (!line->error && more < line->room - line->length)
		return true;
	return event_line_grow(line, more);
}

/* Append text for which event_line_room() has made room. */
static inline void event_line_add(struct tracemap_line *line, const void *text, size_t length)
{
	memcpy(line->text + line->length, text, length);
	line->length += length;
	line->text[line->length] = '\0';
}

static inline void event_line_fill(struct tracemap_line *line, char c, size_t length)
{
	memset(line->text + line->length, c, length);
	line->length += length;
	line->text[line->length] = '\0';
}

static inline void event_line_put(struct tracemap_line *line, const void *text, size_t length)
{
	if (event_line_room(line, length))
		event_line_add(line, text, length);
}

static inline void event_line_puts(struct tracemap_line *line, const char *text)
{
	event_line_put(line, text, strlen(text));
}

/*
 * Append text behind which there are bytes up to a multiple of EVENT_PAD: compilers make no
 * call of memcpy() for a copy of a fixed size.
 */
static inline void event_line_put_padded(struct tracemap_line *line, const char *text,
					 size_t length)
{
	char *to;

	if (!event_line_room(line, length + EVENT_PAD))
		return;
	to = line->text + line->length;
	for (size_t at = 0; at < length; at += EVENT_PAD)
		memcpy(to + at, text + at, EVENT_PAD);
	line->length += length;
	to[length] = '\0';
}

/* Append at most EVENT_DIGITS digits; EVENT_DIGITS bytes can be read from @start on. */
static inline void event_line_put_digits(struct tracemap_line *line, const char *start,
					 const char *end)
{
	if (!event_line_room(line, EVENT_DIGITS))
		return;
	memcpy(line->text + line->length, start, EVENT_DIGITS);
	line->length += end - start;
	line->text[line->length] = '\0';
}

/* Append a number as "%llu" does, and below as "%llx" does. */
static inline void event_line_decimal(struct tracemap_line *line, uint64_t value)
{
	char digits[2 * EVENT_DIGITS] = "", *end = digits + EVENT_DIGITS;

	event_line_put_digits(line, event_decimal(end, value), end);
}

static inline void event_line_hex(struct tracemap_line *line, uint64_t value)
{
	char digits[2 * EVENT_DIGITS] = "", *end = digits + EVENT_DIGITS;

	event_line_put_digits(line, event_hex(end, value), end);
}

#endif /* _TRACEMAP_EVENT_LINE_H */

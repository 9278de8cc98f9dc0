// SPDX-License-Identifier: LGPL-2.1
/*
 * A growing line of text.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event_line.h"

bool event_line_grow(struct tracemap_line *line, size_t more)
{
	size_t room = line->room ? line->room : 256;
	char *text;

	if (line->error)
		return false;
	if (more < line->room - line->length)
		return true;
	if (more > SIZE_MAX / 4 - line->length) {
		line->error = -ENOMEM;
		return false;
	}
	while (room - line->length <= more)
		room *= 2;
	text = realloc(line->text, room);
	if (!text) {
		line->error = -ENOMEM;
		return false;
	}
	line->text = text;
	line->room = room;
	return true;
}

void tracemap_line_put(struct tracemap_line *line, const void *text, size_t length)
{
	event_line_put(line, text, length);
}

void tracemap_line_printf(struct tracemap_line *line, const char *format, ...)
{
	va_list args;
	int length;

	if (!event_line_room(line, 128))
		return;
	va_start(args, format);
	length = vsnprintf(line->text + line->length, line->room - line->length, format, args);
	va_end(args);
	if (length < 0)
		return;
	if ((size_t)length >= line->room - line->length) {
		if (!event_line_room(line, length))
			return;
		va_start(args, format);
		vsnprintf(line->text + line->length, line->room - line->length, format, args);
		va_end(args);
	}
	line->length += length;
}

void tracemap_line_free(struct tracemap_line *line)
{
	free(line->text);
	memset(line, 0, sizeof(*line));
}

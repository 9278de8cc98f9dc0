/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TRACEMAP_JSON_STRING_H
#define _TRACEMAP_JSON_STRING_H

#include <stdio.h>
#include <string.h>

#include "tracemap-event.h"

/* Print @text as a JSON string. */
static inline void json_string(FILE *to, const char *text)
{
	struct tracemap_line line = { 0 };

	tracemap_json_string(&line, text, strlen(text));
	fwrite(line.text, 1, line.length, to);
	tracemap_line_free(&line);
}

#endif /* _TRACEMAP_JSON_STRING_H */

// SPDX-License-Identifier: LGPL-2.1
/*
 * Change what libtraceevent cannot parse in a print format:
 *
 *	(void *)		it does not know this cast
 *	(0x1 | 0x2)		it forgets the parentheses behind an &
 *	HRTIMER_MODE_ABS	it does not know the value of a name
 *	sizeof(u64)		nor that of a type
 *	__get_str(array[1])	nor arrays of strings
 *	"#" "GP"		it does not know strings that are one
 *	a tab			it takes a tab as the end of the string
 *	({ ... })		it does not know statements; they may be left out where they
 *				only make an address that would be printed as a hash
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"

/* For kernels without BTF: those of the events that are common, as they always were. */
static const struct {
	const char *name;
	long long value;
} constants[] = {
	{ "HRTIMER_MODE_ABS", 0 },
	{ "HRTIMER_MODE_REL", 1 },
	{ "HRTIMER_MODE_ABS_PINNED", 2 },
	{ "HRTIMER_MODE_REL_PINNED", 3 },
	{ "HRTIMER_MODE_ABS_SOFT", 4 },
	{ "HRTIMER_MODE_REL_SOFT", 5 },
	{ "HRTIMER_MODE_ABS_PINNED_SOFT", 6 },
	{ "HRTIMER_MODE_REL_PINNED_SOFT", 7 },
	{ "HRTIMER_MODE_ABS_HARD", 8 },
	{ "HRTIMER_MODE_REL_HARD", 9 },
	{ "HRTIMER_MODE_ABS_PINNED_HARD", 10 },
	{ "HRTIMER_MODE_REL_PINNED_HARD", 11 },
	{ "PM_QOS_ADD_REQ", 0 },
	{ "PM_QOS_UPDATE_REQ", 1 },
	{ "PM_QOS_REMOVE_REQ", 2 },
};

static void put(struct tracemap_line *line, const char *from, const char *to)
{
	tracemap_line_put(line, from, to - from);
}

/* Append a string with its quotes, and with it those that follow; returns what is behind. */
static const char *put_quoted(struct tracemap_line *line, const char *at)
{
	const char *next;

	tracemap_line_put(line, at++, 1);
	while (*at) {
		if (*at == '"') {
			next = at + 1 + strspn(at + 1, "\n ");
			if (*next != '"')
				break;
			at = next + 1;
			continue;
		}
		if (*at == '\t') {
			tracemap_line_put(line, "\\t", 2);
			at++;
			continue;
		}
		if (at[0] == '\\' && at[1])
			tracemap_line_put(line, at++, 1);
		tracemap_line_put(line, at++, 1);
	}
	if (*at)
		tracemap_line_put(line, at++, 1);
	return at;
}

bool event_constant(struct tracemap_decoder *d, const char *name, long long *value)
{
	/* By the kernel's style, enumerators are upper case; REC is the record. */
	if (!isupper((unsigned char)*name) || !strcmp(name, "REC"))
		return false;
	/* A file may come from another kernel than this one. */
	if (!d->borrowed && event_enum(d, name, value))
		return true;
	for (unsigned int i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
		if (!strcmp(constants[i].name, name)) {
			*value = constants[i].value;
			return true;
		}
	}
	return false;
}

/* Append the size of the type in "sizeof(u64)", of which @at is behind the word. */
static const char *put_size(struct tracemap_line *line, const char *at)
{
	const char *end = *at == '(' ? strchr(at, ')') : NULL;
	char type[32];
	uint32_t size;

	if (!end)
		return NULL;
	snprintf(type, sizeof(type), "%.*s", (int)(end - at - 1), at + 1);
	size = event_type_size(type);
	if (!size)
		return NULL;
	tracemap_line_printf(line, "%u", size);
	return end + 1;
}

/* Append "REC->array[1]" for what is behind the word in "__get_str(array[1])", of a probe. */
static const char *put_string_of(struct tracemap_line *line, const char *at)
{
	const char *end = *at == '(' ? strchr(at, ')') : NULL;

	if (!end || end[-1] != ']')
		return NULL;
	tracemap_line_put(line, "REC->", 5);
	put(line, at + 1, end);
	return end + 1;
}

/* @member: the word is behind "->", and so is the name of a field */
static const char *put_word(struct tracemap_decoder *d, const char *at, bool member,
			    struct tracemap_line *line)
{
	const char *start = at, *behind;
	long long value;
	char name[64];

	while (isalnum((unsigned char)*at) || *at == '_')
		at++;
	snprintf(name, sizeof(name), "%.*s", (int)(at - start), start);
	behind = strcmp(name, "sizeof") ? NULL : put_size(line, at);
	if (!strcmp(name, "__get_str"))
		behind = put_string_of(line, at);
	if (behind)
		return behind;
	if (!member && (size_t)(at - start) < sizeof(name) && event_constant(d, name, &value))
		tracemap_line_printf(line, "%lld", value);
	else
		put(line, start, at);
	return at;
}

static const char *skip_blanks(const char *at)
{
	while (*at == ' ')
		at++;
	return at;
}

/* Compute "(1 | 2 | 4)" as 7; returns NULL for anything else. */
static const char *fold(const char *at, unsigned long long *value)
{
	*value = 0;
	do {
		char *end;

		at = skip_blanks(at + 1);
		if (!isdigit((unsigned char)*at))
			return NULL;
		*value |= strtoull(at, &end, 0);
		at = end;
		while (*at && strchr("uUlL", *at))
			at++;
		at = skip_blanks(at);
	} while (*at == '|');
	return *at == ')' ? at + 1 : NULL;
}

static const char *put_paren(struct tracemap_line *line, const char *at)
{
	static const char cast[] = "(void *)";
	unsigned long long value;
	const char *end;

	if (!strncmp(at, cast, strlen(cast)))
		return at + strlen(cast);
	end = fold(at, &value);
	if (!end) {
		tracemap_line_put(line, at, 1);
		return at + 1;
	}
	tracemap_line_printf(line, "0x%llx", value);
	return end;
}

static void fit(struct tracemap_decoder *d, const char *text, struct tracemap_line *line)
{
	const char *at = text;

	while (*at) {
		const char *start = at;

		if (*at == '"') {
			at = put_quoted(line, at);
		} else if (isalpha((unsigned char)*at) || *at == '_') {
			at = put_word(d, at, at > text && at[-1] == '>', line);
		} else if (*at == '(') {
			at = put_paren(line, at);
		} else {
			do {
				at++;
			} while (isalnum((unsigned char)*start) && isalnum((unsigned char)*at));
			put(line, start, at);
		}
	}
}

/* ---- Statements among the arguments ---- */

/* Find the end of the argument: its comma or the end of the text. */
static const char *argument_end(const char *at)
{
	int depth = 0;
	bool quoted = false;

	for (; *at && *at != '\n'; at++) {
		if (quoted && *at == '\\' && at[1])
			at++;
		else if (*at == '"')
			quoted = !quoted;
		else if (!quoted && strchr("({[", *at))
			depth++;
		else if (!quoted && strchr(")}]", *at))
			depth--;
		else if (!quoted && !depth && *at == ',')
			break;
	}
	return at;
}

/* Find conversion number @nr, from 0, of the string up to @end; NULL if there is none. */
static const char *find_conversion(const char *at, const char *end, int nr)
{
	for (; at < end; at++) {
		if (*at != '%')
			continue;
		if (at[1] != '%' && !nr--)
			return at;
		at += at[1] == '%';
	}
	return NULL;
}

static bool is_statement(const char *at, const char *end)
{
	const char *found = strstr(at, "({");

	return found && found < end;
}

/*
 * Remove the first argument that has statements, and its %p. Put what the kernel prints for
 * an address that it does not want to show in its place.
 */
static bool drop_statement(const char *format, struct tracemap_line *line)
{
	const char *string_end = argument_end(format), *at = string_end, *conversion;

	for (int nr = 0; *at == ','; nr++) {
		const char *end = argument_end(at + 1);

		if (!is_statement(at, end)) {
			at = end;
			continue;
		}
		conversion = find_conversion(format, string_end, nr);
		if (!conversion || conversion[1] != 'p' || isalnum((unsigned char)conversion[2]))
			return false;
		put(line, format, conversion);
		tracemap_line_printf(line, "(____ptrval____)");
		put(line, conversion + 2, at);
		tracemap_line_put(line, end, strlen(end));
		return true;
	}
	return false;
}

/* Append the lines of fields; of "char[][2] name" libtraceevent does not know the number. */
static void put_fields(struct tracemap_line *line, const char *text, const char *end)
{
	const char *arrays = strstr(text, "[]["), *behind;

	while (arrays && arrays < end) {
		put(line, text, arrays + 2);
		behind = strchr(arrays + 2, ']');
		text = behind && behind < end ? behind + 1 : arrays + 2;
		arrays = strstr(text, "[][");
	}
	put(line, text, end);
}

void event_fit_format(struct tracemap_decoder *d, const char *text, struct tracemap_line *line)
{
	struct tracemap_line simple = TRACEMAP_LINE_INIT;
	const char *at = strstr(text, "\nprint fmt: ");

	if (!at) {
		tracemap_line_put(line, text, strlen(text));
		return;
	}
	at += strlen("\nprint fmt: ");
	put_fields(line, text, at);
	if (drop_statement(at, &simple) && !simple.error)
		at = simple.text;
	fit(d, at, line);
	tracemap_line_free(&simple);
}

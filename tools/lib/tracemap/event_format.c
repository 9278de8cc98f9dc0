// SPDX-License-Identifier: LGPL-2.1
/*
 * Change print formats so that libtraceevent prints what the kernel prints:
 *
 *	"%p"			the kernel prints no 0x, and all digits
 *	(void *)		libtraceevent does not know this cast
 *	(0x1 | 0x2)		it forgets the parentheses behind an &
 *	HRTIMER_MODE_ABS	it does not know the value of a name
 *	a tab			it takes a tab as the end of the string
 *	"%pS"			it does not print the size of the function
 *	"%#x"			the kernel prints 0x before a 0 as well
 *	({ ... })		it does not know statements; they may be left out where they
 *				only make an address that would be printed as a hash
 *
 * For %pS the decoder's resolver of addresses returns "name" MARK "+0x1/0x2" MARK.
 * event_unmark() removes what is between the marks where the format has %ps.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"

/* For kernels without BTF: those of the events that are common, as they always were. */
static const struct {
	const char *name;
	const char *value;
} constants[] = {
	{ "HRTIMER_MODE_ABS", "0" },
	{ "HRTIMER_MODE_REL", "1" },
	{ "HRTIMER_MODE_ABS_PINNED", "2" },
	{ "HRTIMER_MODE_REL_PINNED", "3" },
	{ "HRTIMER_MODE_ABS_SOFT", "4" },
	{ "HRTIMER_MODE_REL_SOFT", "5" },
	{ "HRTIMER_MODE_ABS_PINNED_SOFT", "6" },
	{ "HRTIMER_MODE_REL_PINNED_SOFT", "7" },
	{ "HRTIMER_MODE_ABS_HARD", "8" },
	{ "HRTIMER_MODE_REL_HARD", "9" },
	{ "HRTIMER_MODE_ABS_PINNED_HARD", "10" },
	{ "HRTIMER_MODE_REL_PINNED_HARD", "11" },
	{ "PM_QOS_ADD_REQ", "0" },
	{ "PM_QOS_UPDATE_REQ", "1" },
	{ "PM_QOS_REMOVE_REQ", "2" },
};

/* libtraceevent takes no control characters. */
#define MARK		"~@~"
#define MARK_LENGTH	3

static void put(struct tracemap_line *line, const char *from, const char *to)
{
	tracemap_line_put(line, from, to - from);
}

/* Append what a conversion becomes; @at is behind its %. Returns what follows it. */
static const char *put_conversion(struct tracemap_line *line, const char *at, int long_size)
{
	if (at[0] == 'p' && !isalnum((unsigned char)at[1])) {
		tracemap_line_printf(line, "%%0%dllx", 2 * long_size);
		return at + 1;
	}
	if (at[0] == '#' && at[1 + strspn(at + 1, "hlLzZ")] == 'x') {
		tracemap_line_put(line, "0x%", 3);
		return at + 1;
	}
	if (at[0] == 'p' && at[1] == 'S' && !isalnum((unsigned char)at[2])) {
		tracemap_line_printf(line, EVENT_MARK_WHOLE "%%ps");
		return at + 2;
	}
	tracemap_line_put(line, "%", 1);
	if (*at == '%')
		tracemap_line_put(line, at++, 1);
	return at;
}

/* Append a string with its quotes; returns what follows it. */
static const char *put_quoted(struct tracemap_line *line, const char *at, int long_size)
{
	tracemap_line_put(line, at++, 1);
	while (*at && *at != '"') {
		if (*at == '%') {
			at = put_conversion(line, at + 1, long_size);
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

/* Append the value of a name that only C knows; false if it is not such a name. */
static bool put_value(struct tracemap_decoder *d, const char *name, struct tracemap_line *line)
{
	long long value;

	/* By the kernel's style, enumerators are upper case; REC is the record. */
	if (!isupper((unsigned char)*name) || !strcmp(name, "REC"))
		return false;
	if (event_enum(d, name, &value)) {
		tracemap_line_printf(line, "%lld", value);
		return true;
	}
	for (unsigned int i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
		if (!strcmp(constants[i].name, name)) {
			tracemap_line_printf(line, "%s", constants[i].value);
			return true;
		}
	}
	return false;
}

/* @member: the word is behind "->", and so is the name of a field */
static const char *put_word(struct tracemap_decoder *d, const char *at, bool member,
			    struct tracemap_line *line)
{
	const char *start = at;
	char name[64];

	while (isalnum((unsigned char)*at) || *at == '_')
		at++;
	snprintf(name, sizeof(name), "%.*s", (int)(at - start), start);
	if (member || (size_t)(at - start) >= sizeof(name) || !put_value(d, name, line))
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
	int long_size = tep_get_long_size(d->tep);
	const char *at = text;

	while (*at) {
		const char *start = at;

		if (*at == '"') {
			at = put_quoted(line, at, long_size);
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

void event_fit_format(struct tracemap_decoder *d, const char *text, struct tracemap_line *line)
{
	struct tracemap_line simple = TRACEMAP_LINE_INIT;
	const char *at = strstr(text, "\nprint fmt: ");

	if (!at) {
		tracemap_line_put(line, text, strlen(text));
		return;
	}
	at += strlen("\nprint fmt: ");
	put(line, text, at);
	if (drop_statement(at, &simple) && !simple.error)
		at = simple.text;
	fit(d, at, line);
	tracemap_line_free(&simple);
}

/* Change conversions only: @text has no quotes, and no arguments behind it. */
void event_fit_string(const struct tracemap_decoder *d, const char *text,
		      struct tracemap_line *line)
{
	int long_size = tep_get_long_size(d->tep);

	while (*text) {
		const char *next = text + strcspn(text, "%");

		put(line, text, next);
		text = *next ? put_conversion(line, next + 1, long_size) : next;
	}
}

/* ---- Marks in what was printed ---- */

void event_mark_symbol(const struct event_symbol *symbol, uint64_t address, char *text, size_t size)
{
	snprintf(text, size, "%s" MARK "+0x%llx/0x%llx%s%s%s" MARK, symbol->name,
		 (unsigned long long)(address - symbol->address),
		 (unsigned long long)symbol->size, symbol->module ? " [" : "",
		 symbol->module ? symbol->module : "", symbol->module ? "]" : "");
}

static const char *find_mark(const char *text, const char *mark)
{
	const char *found = strstr(text, mark);

	return found ? found : text + strlen(text);
}

/* Append @text without marks; between two of them keep the rest of a symbol for %pS only. */
void event_unmark(const char *text, struct tracemap_line *line)
{
	bool whole = false;

	while (*text) {
		const char *part = find_mark(text, MARK);
		const char *next = find_mark(text, EVENT_MARK_WHOLE);
		const char *end;

		if (part > next || !*part) {
			/* An address that has no name. */
			if (whole && strncmp(text, "0x", 2))
				tracemap_line_put(line, "0x", 2);
			put(line, text, next);
			text = *next ? next + MARK_LENGTH : next;
			/* Before an address that has no name, it would be of the next one. */
			whole = *next && strncmp(text, "0x", 2);
			continue;
		}
		put(line, text, part);
		part += MARK_LENGTH;
		end = find_mark(part, MARK);
		if (whole)
			put(line, part, end);
		whole = false;
		text = *end ? end + MARK_LENGTH : end;
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Filters of events. Those of libtraceevent compare signed numbers as if they had no sign, take
 * "-1" for something that is always true, and find no text in the event print.
 */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "event_filter.h"
#include "fields.h"

#define DEPTH_MAX	100	/* of parentheses and ! */

enum filter_test {
	TEST_ALL, TEST_ANY, TEST_NOT,
	TEST_EQUAL, TEST_UNEQUAL,
	TEST_LESS, TEST_AT_MOST, TEST_MORE, TEST_AT_LEAST, TEST_BITS,
	TEST_LIKE, TEST_REGEX, TEST_NO_REGEX,
};

/* What is compared */
enum filter_of { OF_FIELD, OF_CPU, OF_COMM };

struct event_filter {
	enum filter_test test;
	struct event_filter *left, *right;	/* of TEST_ALL and _ANY; TEST_NOT has @left */
	enum filter_of of;
	struct tracemap_decoder *decoder;	/* which knows the names of processes */
	struct field_place place;
	unsigned int size;			/* bytes of the number */
	bool is_signed;
	bool has_regex;
	uint64_t number;
	char *text;
	regex_t regex;
};

struct parser {
	const char *at;
	struct tracemap_decoder *decoder;
	struct tep_event *event;
	unsigned int depth;
	bool no_memory;
	char why[256];		/* what is wrong; empty: nothing is */
};

/* ---- Matching ---- */

/*
 * Whether the text is like a pattern, as the kernel has it: a ! at its beginning negates it.
 * Without memory no text is.
 */
static bool is_like(const char *pattern, const struct field_value *value)
{
	bool negated = *pattern == '!';
	char *text = strndup(value->text, value->length);
	bool like = text && (fnmatch(pattern + negated, text, 0) == 0) != negated;

	free(text);
	return like;
}

static bool text_matches(const struct event_filter *f, const struct field_value *value)
{
	regmatch_t part = { .rm_eo = value->length };

	if (f->test == TEST_LIKE)
		return is_like(f->text, value);
	if (f->has_regex)
		return !regexec(&f->regex, value->text, 1, &part, REG_STARTEND) !=
			(f->test == TEST_NO_REGEX);
	return (value->length == strlen(f->text) &&
		!memcmp(value->text, f->text, value->length)) == (f->test == TEST_EQUAL);
}

static bool number_matches(const struct event_filter *f, const struct field_value *value)
{
	uint64_t number = value->number, other = f->number;
	bool less = value->is_signed ? (int64_t)number < (int64_t)other : number < other;

	switch (f->test) {
	case TEST_EQUAL:
		return number == other;
	case TEST_UNEQUAL:
		return number != other;
	case TEST_LESS:
		return less;
	case TEST_AT_MOST:
		return less || number == other;
	case TEST_MORE:
		return !less && number != other;
	case TEST_AT_LEAST:
		return !less;
	default:
		return number & other;
	}
}

/* The kernel's filters know the idle process of each CPU by its own name. */
static bool get_comm(const struct event_filter *f, const struct tracemap_record *rec, char *idle,
		     size_t size, struct field_value *value)
{
	int pid = tracemap_decoder_pid(f->decoder, rec);

	if (pid < 0)
		return false;
	if (!pid)
		snprintf(idle, size, "swapper/%d", rec->cpu);
	value->text = pid ? tracemap_decoder_comm(f->decoder, pid) : idle;
	value->length = strlen(value->text);
	return true;
}

static bool get_value(const struct event_filter *f, const struct tracemap_record *rec, char *idle,
		      size_t size, struct field_value *value)
{
	switch (f->of) {
	case OF_CPU:
		*value = (struct field_value){ .number = rec->cpu, .is_signed = true };
		return true;
	case OF_COMM:
		return get_comm(f, rec, idle, size, value);
	default:
		return field_place_get(&f->place, rec, value);
	}
}

bool event_filter_match(const struct event_filter *f, const struct tracemap_record *rec)
{
	struct field_value value = { };
	char idle[24];

	switch (f->test) {
	case TEST_ALL:
		return event_filter_match(f->left, rec) && event_filter_match(f->right, rec);
	case TEST_ANY:
		return event_filter_match(f->left, rec) || event_filter_match(f->right, rec);
	case TEST_NOT:
		return !event_filter_match(f->left, rec);
	default:
		if (!get_value(f, rec, idle, sizeof(idle), &value))
			return false;
		return f->text ? text_matches(f, &value) : number_matches(f, &value);
	}
}

/* ---- Parsing ---- */

void event_filter_free(struct event_filter *f)
{
	if (!f)
		return;
	event_filter_free(f->left);
	event_filter_free(f->right);
	if (f->has_regex)
		regfree(&f->regex);
	free(f->text);
	free(f);
}

/* Note the first thing that is wrong. Returns false. */
static bool wrong(struct parser *p, const char *format, const char *what)
{
	if (!*p->why)
		snprintf(p->why, sizeof(p->why), format, what);
	return false;
}

static bool not_understood(struct parser *p)
{
	if (!*p->at)
		return wrong(p, "something is missing at its %s", "end");
	return wrong(p, "it is not understood from '%s' on", p->at);
}

static bool skip(struct parser *p, const char *token)
{
	p->at += strspn(p->at, " \t\n");
	if (strncmp(p->at, token, strlen(token)))
		return false;
	p->at += strlen(token);
	return true;
}

static struct event_filter *node(struct parser *p, enum filter_test test,
				 struct event_filter *left, struct event_filter *right)
{
	struct event_filter *f = calloc(1, sizeof(*f));

	if (!f) {
		event_filter_free(left);
		event_filter_free(right);
		p->no_memory = true;
		return NULL;
	}
	f->test = test;
	f->left = left;
	f->right = right;
	return f;
}

static bool is_text(const struct event_filter *f)
{
	return f->of == OF_COMM || (f->of == OF_FIELD && f->place.kind == FIELD_TEXT);
}

static bool take_field(struct parser *p, struct event_filter *f, char *name, size_t size)
{
	size_t length = 0;

	skip(p, "");
	while (isalnum((unsigned char)p->at[length]) || p->at[length] == '_')
		length++;
	if (!length || isdigit((unsigned char)*p->at))
		return not_understood(p);
	snprintf(name, size, "%.*s", (int)length, p->at);
	p->at += length;
	if (field_place_find(&f->place, p->event, name)) {
		f->size = f->place.field->size;
		f->is_signed = f->place.field->flags & TEP_FIELD_IS_SIGNED;
		return true;
	}
	if (!strcmp(name, "COMM") || !strcmp(name, "comm")) {
		f->of = OF_COMM;
		f->decoder = p->decoder;
		return true;
	}
	if (strcmp(name, "CPU") && strcmp(name, "cpu"))
		return wrong(p, "it has no field %s that is a number or a text", name);
	f->of = OF_CPU;
	f->size = sizeof(f->number);
	f->is_signed = true;
	return true;
}

static bool take_operator(struct parser *p, struct event_filter *f, const char *name)
{
	static const struct {
		const char *token;
		enum filter_test test;
		bool of_number, of_text;
	} operators[] = {
		{ "==", TEST_EQUAL, true, true }, { "!=", TEST_UNEQUAL, true, true },
		{ "=~", TEST_REGEX, false, true }, { "!~", TEST_NO_REGEX, false, true },
		{ "<=", TEST_AT_MOST, true, false }, { ">=", TEST_AT_LEAST, true, false },
		{ "<", TEST_LESS, true, false }, { ">", TEST_MORE, true, false },
		{ "&", TEST_BITS, true, false }, { "~", TEST_LIKE, false, true },
	};
	bool has_text = is_text(f);

	for (unsigned int i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		if (!skip(p, operators[i].token))
			continue;
		f->test = operators[i].test;
		if (has_text ? operators[i].of_text : operators[i].of_number)
			return true;
		if (has_text)
			return wrong(p, "%s is a text, for ==, !=, ~, =~ or !~", name);
		return wrong(p, "%s is a number, for ==, !=, <, <=, >, >= or &", name);
	}
	if (*p->at != '=')
		return not_understood(p);
	return wrong(p, p->at[1] == '>' ? "it is not understood from '%s' on: use >=" :
		     p->at[1] == '<' ? "it is not understood from '%s' on: use <=" :
		     "it is not understood from '%s' on: use ==", p->at);
}

/* The number as the field has it: 0xffffffff is -1 in a signed one of 32 bits. */
static bool fit(struct event_filter *f, uint64_t number)
{
	unsigned int shift = 64 - 8 * f->size;
	uint64_t u = number << shift >> shift, s = (uint64_t)((int64_t)(number << shift) >> shift);

	f->number = f->is_signed ? s : u;
	return number == u || number == s;
}

static bool take_number(struct parser *p, struct event_filter *f, const char *name)
{
	bool negative;
	uint64_t number;
	char *end;

	skip(p, "");
	negative = *p->at == '-';
	if (*p->at == '"' || *p->at == '\'')
		return wrong(p, "%s is a number, and no text", name);
	if (!isdigit((unsigned char)p->at[negative]))
		return not_understood(p);
	errno = 0;
	number = strtoull(p->at, &end, 0);
	/* strtoull() makes a large number of one that is too far below 0. */
	if (errno || (negative && (int64_t)number > 0) || !fit(f, number))
		return wrong(p, "the number is too large for %s", name);
	if (isalnum((unsigned char)*end) || *end == '_' || *end == '.')
		return not_understood(p);
	p->at = end;
	return true;
}

static bool compile(struct parser *p, struct event_filter *f)
{
	int ret = regcomp(&f->regex, f->text, REG_EXTENDED | REG_NOSUB);
	char why[128];

	f->has_regex = !ret;
	if (!ret)
		return true;
	regerror(ret, &f->regex, why, sizeof(why));
	return wrong(p, "%s", why);
}

static bool take_text(struct parser *p, struct event_filter *f, const char *name)
{
	const char *end;

	skip(p, "");
	if (*p->at != '"' && *p->at != '\'')
		return *p->at ? wrong(p, "%s is a text, which is compared with a text in quotes",
				      name) : not_understood(p);
	end = strchr(p->at + 1, *p->at);
	if (!end)
		return wrong(p, "the text that %s is compared with has no quote at its end", name);
	f->text = strndup(p->at + 1, end - p->at - 1);
	p->at = end + 1;
	if (f->text)
		return (f->test != TEST_REGEX && f->test != TEST_NO_REGEX) || compile(p, f);
	p->no_memory = true;
	return false;
}

static struct event_filter *comparison(struct parser *p)
{
	struct event_filter *f = node(p, TEST_EQUAL, NULL, NULL);
	char name[128];

	if (f && take_field(p, f, name, sizeof(name)) && take_operator(p, f, name) &&
	    (is_text(f) ? take_text(p, f, name) : take_number(p, f, name)))
		return f;
	event_filter_free(f);
	return NULL;
}

static struct event_filter *any(struct parser *p);

static struct event_filter *one(struct parser *p)
{
	struct event_filter *f;

	if (++p->depth > DEPTH_MAX) {
		wrong(p, "%s", "it is nested too deeply");
		return NULL;
	}
	if (skip(p, "!")) {
		f = one(p);
		f = f ? node(p, TEST_NOT, f, NULL) : NULL;
	} else if (skip(p, "(")) {
		f = any(p);
		if (f && !skip(p, ")")) {
			not_understood(p);
			event_filter_free(f);
			f = NULL;
		}
	} else {
		f = comparison(p);
	}
	p->depth--;
	return f;
}

/* One or more of what @take takes, between @token */
static struct event_filter *chain(struct parser *p, const char *token, enum filter_test test,
				  struct event_filter *(*take)(struct parser *p))
{
	struct event_filter *f = take(p), *next;

	while (f && skip(p, token)) {
		next = take(p);
		if (!next) {
			event_filter_free(f);
			return NULL;
		}
		f = node(p, test, f, next);
	}
	return f;
}

static struct event_filter *all(struct parser *p)
{
	return chain(p, "&&", TEST_ALL, one);
}

static struct event_filter *any(struct parser *p)
{
	return chain(p, "||", TEST_ANY, all);
}

int event_filter_new(struct event_filter **filter, struct tracemap_decoder *decoder,
		     struct tep_event *event, const char *name, const char *text)
{
	struct parser p = { .at = text, .decoder = decoder, .event = event };

	*filter = any(&p);
	skip(&p, "");
	if (*filter && !*p.at)
		return 0;
	if (*filter)
		not_understood(&p);
	event_filter_free(*filter);
	*filter = NULL;
	if (p.no_memory)
		return -ENOMEM;
	say("%s does not take the filter '%s': %s", name, text, p.why);
	return -EINVAL;
}

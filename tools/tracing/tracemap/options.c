// SPDX-License-Identifier: GPL-2.0
/*
 * Parse the options of a verb by its table, and print its help.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "advice.h"
#include "options.h"
#include "values.h"

#define HELP_COLUMN	24	/* where what is said of an option begins */
#define NO_LETTER	0x100	/* getopt_long() returns this and the index of such an option */

struct parser {
	const struct verb_option *options[OPTIONS_MAX];
	char *to[OPTIONS_MAX];
	unsigned int nr;
	struct option long_options[OPTIONS_MAX + 2];
	char letters[2 * OPTIONS_MAX + 4];
};

static void add_option(struct parser *p, const struct verb_option *option, char *to)
{
	struct option *next = &p->long_options[p->nr];
	char letter[] = { option->letter, option->value ? ':' : '\0', '\0' };

	next->name = option->name;
	next->has_arg = option->value ? required_argument : no_argument;
	next->val = option->letter ? option->letter : (int)(NO_LETTER + p->nr);
	if (option->letter)
		strcat(p->letters, letter);
	p->options[p->nr] = option;
	p->to[p->nr++] = to + option->at;
}

static void begin(struct parser *p, const struct verb_options *verb, char *to)
{
	static const struct verb_option help = { 'h', "help", .kind = OPTION_FLAG };

	memset(p, 0, sizeof(*p));
	strcpy(p->letters, verb->command ? "+" : "");
	for (int i = 0; verb->groups[i].options; i++) {
		const struct verb_option *option = verb->groups[i].options;

		for (; option->help; option++) {
			if (option->name)
				add_option(p, option, to + verb->groups[i].at);
		}
	}
	add_option(p, &help, to);
}

/* ---- Help ---- */

static void print_option(const struct verb_option *option)
{
	const char *at = option->help, *end;
	int column;

	column = option->letter ? printf("  -%c, --%s", option->letter, option->name) :
				  printf("      --%s", option->name);
	if (option->value)
		column += printf(" %s", option->value);
	column = column < HELP_COLUMN - 2 ? column : HELP_COLUMN - 2;
	for (; *at; at = end + !!*end) {
		end = strchrnul(at, '\n');
		printf("%*s%.*s\n", HELP_COLUMN - column, "", (int)(end - at), at);
		column = 0;
	}
}

static void print_help(const struct verb_options *verb)
{
	fputs(verb->usage, stdout);
	for (int i = 0; verb->groups[i].options; i++) {
		const struct verb_option *option = verb->groups[i].options;

		for (; option->help; option++) {
			if (option->name)
				print_option(option);
			else
				puts(option->help);
		}
	}
	fputs(verb->end, stdout);
}

/* ---- Values ---- */

static int take(const struct verb_option *option, void *to, const char *value)
{
	char name[32];

	if (option->letter)
		snprintf(name, sizeof(name), "-%c", option->letter);
	else
		snprintf(name, sizeof(name), "--%s", option->name);
	switch (option->kind) {
	case OPTION_FLAG:
		*(bool *)to = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)to = value;
		return 0;
	case OPTION_SECONDS:
		return value_seconds(name, value, to);
	case OPTION_SIZE:
		return value_size(name, value, to);
	case OPTION_COUNT:
		return value_count(name, value, to);
	case OPTION_WAY:
		return value_way(value, to);
	case OPTION_CALL:
		break;
	}
	return option->take(to, value);
}

static int take_option(const struct parser *p, int option)
{
	for (unsigned int i = 0; i < p->nr; i++) {
		if (p->long_options[i].val == option)
			return take(p->options[i], p->to[i], optarg);
	}
	return -EINVAL;
}

/* getopt_long() has said what is wrong with an option. */
static int refer_to_help(const struct verb_options *verb)
{
	say("see tracemap %s --help", verb->verb);
	return -EINVAL;
}

int options_parse(const struct verb_options *verb, void *to, int argc, char **argv)
{
	struct parser p;
	int option, ret, nr = 1;

	begin(&p, verb, to);
	optind = 0;	/* also forget what an earlier call had come to */
	while ((option = getopt_long(argc, argv, p.letters, p.long_options, NULL)) >= 0) {
		if (option == 'h') {
			print_help(verb);
			return 0;
		}
		ret = option == '?' ? refer_to_help(verb) : take_option(&p, option);
		if (ret)
			return ret;
		nr++;
	}
	if (verb->command || argc - optind <= verb->words)
		return nr;
	say("\"%s\" is one word too many: see tracemap %s --help", argv[optind + verb->words],
	    verb->verb);
	return -EINVAL;
}

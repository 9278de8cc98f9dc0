/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The options of a verb as one table: it is what is parsed, and what --help prints.
 */
#ifndef _TRACEMAP_OPTIONS_H
#define _TRACEMAP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* What is done with the value, and the type of what it is put into. */
enum option_kind {
	OPTION_FLAG,		/* bool, which becomes true */
	OPTION_TEXT,		/* const char * */
	OPTION_SECONDS,		/* double */
	OPTION_SIZE,		/* unsigned long long */
	OPTION_COUNT,		/* the same */
	OPTION_WAY,		/* enum tracemap_way */
	OPTION_CALL,		/* by take() */
};

/**
 * struct verb_option - an option, or a line of the help
 * @letter: of the short option; 0: there is none
 * @name: of the long option; NULL: this is a line of the help
 * @kind: of the value
 * @at: where in the group's struct it is put
 * @value: what the help calls the value; NULL: it has none
 * @help: what it says of the option, in one line or several
 * @take: for OPTION_CALL: gets the address and the value; optind is the word behind that. Returns
 *	0, or a negative errno that was reported.
 */
struct verb_option {
	char letter;
	const char *name;
	enum option_kind kind;
	size_t at;
	const char *value;
	const char *help;
	int (*take)(void *to, const char *value);
};

#define OPTIONS_MAX	40	/* of a verb */

/**
 * struct verb_options - all options of a verb
 * @verb: its name
 * @usage: what the help says before the options
 * @end: and behind them
 * @command: what is no option begins a command, or ends them
 * @words: how many other words there may be, where there is no command
 * @groups: tables, the last row of which is empty, and where in the verb's struct theirs is
 */
struct verb_options {
	const char *verb;
	const char *usage;
	const char *end;
	bool command;
	int words;
	struct {
		const struct verb_option *options;
		size_t at;
	} groups[4];
};

/*
 * Put the options into the struct @to of the verb; optind is then the first word behind them.
 * Returns 1 and how many there were, 0 if help was printed, or a negative errno that was
 * reported.
 */
int options_parse(const struct verb_options *verb, void *to, int argc, char **argv);

#endif /* _TRACEMAP_OPTIONS_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Filters by libtraceevent. Expressions that it accepts although they make no
 * sense are refused.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "event_filter.h"
#include "values.h"

/* libtraceevent takes the name of a field that the event does not have for FALSE. */
static bool never_matches(struct tep_event_filter *filter, int id)
{
	char *text = tep_filter_make_string(filter, id);
	bool never = text && !strcmp(text, "FALSE");

	free(text);
	return never;
}

/* libtraceevent accepts these, although they have no meaning. */
static const char *wrong_with(const char *filter)
{
	size_t length = strlen(filter);

	while (length && filter[length - 1] == ' ')
		length--;
	if (!length || strchr("<>=!&|~(", filter[length - 1]))
		return "something is missing at its end";
	for (const char *at = filter; (at = strchr(at, '~')); at++) {
		if (at == filter || !strchr("=!", at[-1]))
			return "use =~ and a regular expression";
	}
	return NULL;
}

int event_filter_add(struct tep_event_filter **filter, struct tep_handle *tep, int id,
		     const char *name, const char *option, const char *text)
{
	const char *wrong = wrong_with(text);
	char line[4096], why[256];
	enum tep_errno ret;

	if (wrong)
		return value_wrong(option, text, wrong);
	if (!*filter)
		*filter = tep_filter_alloc(tep);
	if (!*filter)
		return -ENOMEM;
	if ((size_t)snprintf(line, sizeof(line), "%s:%s", name, text) >= sizeof(line))
		return value_wrong(option, text, "it is too long");
	*strchr(line, ':') = '/';
	ret = tep_filter_add_filter_str(*filter, line);
	if (ret < 0)
		tep_filter_strerror(*filter, ret, why, sizeof(why));
	else if (never_matches(*filter, id))
		snprintf(why, sizeof(why), "no event can match it: does it have these fields?");
	else
		return 0;
	say("%s does not take the filter '%s': %s", name, text, why);
	return -EINVAL;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What an answer may be.
 *
 * The promises give reasons to refuse, not the order in which the kernel looks
 * at them. So all reasons are collected: if there is a sure one, success is
 * wrong; and whatever is refused has to be refused for one of them.
 */
#define _GNU_SOURCE
#include <stdarg.h>

#include "random.h"

static struct {
	enum tri	sure;
	int		err;
} reasons[32];
static int nr_reasons;

void judge_begin(void)
{
	nr_reasons = 0;
}

void why(enum tri t, int err)
{
	if (t == NO || nr_reasons == 32)
		return;
	reasons[nr_reasons].sure = t;
	reasons[nr_reasons++].err = err;
}

/* In a storm it may be going. */
void why_gone(const struct order *o)
{
	why(unless_storm(is(!instances[o->inst].exists)), ENOENT);
	if (storm) {
		why(MAYBE, ENODEV);
		why(MAYBE, ENOMEM);
	}
}

const char *complain(const char *fmt, ...)
{
	static char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return text;
}

static const char *allowed(void)
{
	static char text[160];
	int i, len = 0;

	text[0] = '\0';
	for (i = 0; i < nr_reasons && len < 120; i++)
		len += snprintf(text + len, sizeof(text) - len, " %s%s",
				strerrorname_np(reasons[i].err),
				reasons[i].sure == MAYBE ? "?" : "");
	return nr_reasons ? text : " success";
}

const char *judged(const struct answer *a)
{
	int i;

	if (!a->err) {
		for (i = 0; i < nr_reasons; i++) {
			if (reasons[i].sure == YES)
				return complain("success, though it had to be refused:%s",
						allowed());
		}
		return NULL;
	}
	for (i = 0; i < nr_reasons; i++) {
		if (reasons[i].err == a->err)
			return NULL;
	}
	return complain("%s, expected:%s", strerrorname_np(a->err) ?: "?", allowed());
}

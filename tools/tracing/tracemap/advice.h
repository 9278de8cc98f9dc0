/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is said to the person at the keyboard, on standard error: each line
 * begins with "tracemap: ", and an error ends with what to do about it.
 */
#ifndef _TRACEMAP_ADVICE_H
#define _TRACEMAP_ADVICE_H

/* What was tried when an errno came. */
enum advice_about {
	ABOUT_TRACEFS,	/* finding it, looking into it */
	ABOUT_INSTANCE,	/* making, opening, removing one */
	ABOUT_SETTING,	/* writing to a file of tracefs */
	ABOUT_BUFFER,	/* opening, mapping, reading buffers */
	ABOUT_OUTPUT,	/* where the results go */
	ABOUT_COMMAND,	/* running the command behind -- */
};

/* "tracemap: ..." and a line end. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * "tracemap: WHAT: what the errno means here, and what to do". @error may be
 * negative. Returns -|error|.
 */
int complain(enum advice_about about, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* What to do about @error, or NULL if there is nothing better than strerror(). */
const char *advice(enum advice_about about, int error);

#endif /* _TRACEMAP_ADVICE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages to the user, on standard error. Each line begins with "tracemap: ", and an error
 * ends with what to do about it.
 */
#ifndef _TRACEMAP_ADVICE_H
#define _TRACEMAP_ADVICE_H

#include <errno.h>
#include <stdbool.h>

/* What was being done when an errno occurred */
enum advice_about {
	ABOUT_TRACEFS,	/* to find tracefs, or to look into it */
	ABOUT_INSTANCE,	/* to open or remove an instance */
	ABOUT_NEW,	/* to make an instance */
	ABOUT_SETTING,	/* to write to a file of tracefs */
	ABOUT_BUFFER,	/* to open, map or read a buffer */
	ABOUT_OUTPUT,	/* to write the results */
	ABOUT_COMMAND,	/* to run the command behind -- */
};

/* Print a message, as "tracemap: ..." and a newline. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Print "tracemap: WHAT: what the errno means here, and what to do". @error may be negative
 * or positive; the negative one is returned.
 */
int complain(enum advice_about about, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Print that there is not enough memory. */
static inline int no_memory(void)
{
	say("not enough memory");
	return -ENOMEM;
}

/* What @error means and what to do about it; NULL where strerror() says everything. */
const char *advice(enum advice_about about, int error);

/* Whether the errno, negative or positive, says that the user may not do that */
bool advice_refused(int error);

/* What is put behind a noun of which there are @nr */
static inline const char *plural(unsigned long long nr)
{
	return nr == 1 ? "" : "s";
}

#endif /* _TRACEMAP_ADVICE_H */

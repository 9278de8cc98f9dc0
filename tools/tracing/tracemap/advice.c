// SPDX-License-Identifier: GPL-2.0
/*
 * Say what an errno means where it occurred, and what to do about it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advice.h"

struct line {
	enum advice_about about;
	int error;
	const char *text;
};

#define NEVER_ONLINE "a CPU has not been online since the instance was made: bring it online first, " \
	"or leave it out by -C"
#define LET_A_GROUP_READ \
	"run as root, or let a group read it: mount -o remount,gid=GID,mode=750 /sys/kernel/tracing"

static const struct line lines[] = {
	{ ABOUT_TRACEFS, ENOENT,
	  "there is no tracefs: mount -t tracefs nodev /sys/kernel/tracing, as root" },

	/* Where a user who is not root is refused, EACCES stands for EPERM, too. */
	{ ABOUT_INSTANCE, EACCES, LET_A_GROUP_READ },
	{ ABOUT_INSTANCE, ENOENT, "there is no such instance: mkdir makes one" },
	{ ABOUT_INSTANCE, EBUSY, "a process has a file of it open, or has mapped its buffers" },

	{
		ABOUT_NEW, EACCES,
		"only root can make an instance to trace in; others read one that traces already, by -i INSTANCE, as tracemap snap does",
	},
	{ ABOUT_NEW, EEXIST, "there is such an instance already" },
	{ ABOUT_NEW, ENOMEM, "not enough memory for another set of buffers" },

	{ ABOUT_SETTING, ENOENT, "this kernel does not have it" },
	{ ABOUT_SETTING, ENOMEM, "not enough memory: ask for less" },

	{ ABOUT_BUFFER, EACCES, LET_A_GROUP_READ },
	{ ABOUT_BUFFER, EBUSY, "a snapshot uses the buffers: remove snapshot and histogram triggers,"
		" and latency tracers (echo nop >current_tracer); or use --way read" },
	{ ABOUT_BUFFER, ENODEV, "this kernel cannot map trace buffers: use --way read" },
	{ ABOUT_BUFFER, ENOTTY, "this kernel cannot map trace buffers: use --way read" },
	{ ABOUT_BUFFER, EOPNOTSUPP,
	  "this kernel has no live index to observe by: use --way read in place of observing" },
	{ ABOUT_BUFFER, ENOMEM, "not enough memory, or address space (ulimit -v)" },
	{ ABOUT_BUFFER, EINVAL, NEVER_ONLINE },
	{ ABOUT_BUFFER, ENOENT, "there is no such CPU" },
	{ ABOUT_BUFFER, ENXIO, NEVER_ONLINE },
	{ ABOUT_BUFFER, EBADMSG, "a sub-buffer is damaged" },
	{ ABOUT_BUFFER, EMFILE, "too many open files: ulimit -n takes more" },

	{ ABOUT_OUTPUT, ENOSPC, "make room there, or write elsewhere" },
	{ ABOUT_OUTPUT, EDQUOT, "make room there, or write elsewhere" },
	{ ABOUT_OUTPUT, EFBIG, "larger than a file may be (ulimit -f)" },

	{ ABOUT_COMMAND, ENOENT, "there is no such command, or no such interpreter of it" },
	{ ABOUT_COMMAND, EACCES, "it cannot be executed" },
	{ ABOUT_COMMAND, ENOEXEC, "it is no program" },
};

/* What @lines has for exactly this errno, or NULL */
static const char *find_text(enum advice_about about, int error)
{
	for (unsigned int i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (lines[i].about == about && lines[i].error == error)
			return lines[i].text;
	}
	return NULL;
}

bool advice_refused(int error)
{
	return abs(error) == EACCES || abs(error) == EPERM;
}

const char *advice(enum advice_about about, int error)
{
	const char *text;

	if (!advice_refused(error) || about == ABOUT_OUTPUT || about == ABOUT_COMMAND)
		return find_text(about, abs(error));
	if (!geteuid())
		return "a lockdown, a security module or a container forbids it even to root";
	text = find_text(about, EACCES);
	return text ? text : "run as root";
}

void say(const char *format, ...)
{
	va_list args;

	fputs("tracemap: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

int complain(enum advice_about about, int error, const char *format, ...)
{
	const char *what = advice(about, error);
	va_list args;

	fputs("tracemap: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s%s%s\n", strerror(abs(error)), what ? ": " : "", what ? what : "");
	return -abs(error);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * tracemap: stream, record and watch the trace buffers of the kernel, in the cheapest
 * way that the kernel offers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sink.h"
#include "verbs.h"

#ifndef HAVE_LIBTRACECMD
/*
 * Completion and manual offer the verb in every build. So a user who calls it, even for its help,
 * gets this message.
 */
static int no_report(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	fputs("tracemap: this build has no report, as it was made with STATIC=1 or without libtracecmd: install that (Debian: libtracecmd-dev) and build without STATIC=1, or use trace-cmd report\n",
	      stderr);
	return EXIT_FAILED;
}
#endif

struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

static const struct verb verbs[] = {
	{ "stream", cmd_stream, "print events as they happen, all CPUs in the order of time" },
	{ "record", cmd_record, "write events to a file for trace-cmd report and KernelShark" },
#ifdef HAVE_LIBTRACECMD
	{ "report", cmd_report, "print the events of such a file" },
#else
	{ "report", no_report, NO_REPORT },
#endif
	{ "snap", cmd_snap, "print or write what the buffers hold now, and consume nothing" },
	{ "stat", cmd_stat, "watch how full the buffers are, and what is lost" },
	{ "top", cmd_top, "count events, or measure the time between two, live" },
	{ "info", cmd_info, "say what this kernel can do, and how its buffers would be read" },
};

#define NR_VERBS	(sizeof(verbs) / sizeof(verbs[0]))

static void help(FILE *to)
{
	fputs("usage: tracemap VERB [OPTION]...\n"
	      "       tracemap VERB --help\n\n", to);
	for (unsigned int i = 0; i < NR_VERBS; i++)
		fprintf(to, "  %-8s %s\n", verbs[i].name, verbs[i].summary);
	fputs("\n  --help\n  --version\n", to);
}

static const struct verb *find_verb(const char *name)
{
	for (unsigned int i = 0; i < NR_VERBS; i++) {
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	}
	return NULL;
}

/*
 * If one of the first three descriptors is closed, the next file that is opened would
 * get it: the pipe of the second process, the recording. Writing to what is opened here is still an
 * error.
 */
static void open_standard_files(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* A help, the version and what info says are in the buffer of stdout. */
static int flushed(int status)
{
	if (!fflush(stdout))
		return status;
	sink_failed(errno);
	return EXIT_FAILED;
}

int main(int argc, char **argv)
{
	const struct verb *verb;

	open_standard_files();
	if (argc < 2) {
		help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		help(stdout);
		return flushed(EXIT_OK);
	}
	if (!strcmp(argv[1], "--version")) {
		puts("tracemap " TRACEMAP_VERSION);
		return flushed(EXIT_OK);
	}
	verb = find_verb(argv[1]);
	if (!verb) {
		fprintf(stderr, "tracemap: there is no verb \"%s\": see tracemap --help\n",
			argv[1]);
		return EXIT_USAGE;
	}
	/* Messages of getopt_long() begin with this, as those of the command do. */
	argv[1] = "tracemap";
	return flushed(verb->run(argc - 1, argv + 1));
}

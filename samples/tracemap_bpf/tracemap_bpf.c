// SPDX-License-Identifier: GPL-2.0
/*
 * Three uses of libbpf's per-CPU perf buffers through libtracemap-bpf, with a
 * BPF program that numbers what it writes. Each checks itself what it shows.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracemap_bpf.h"

static const struct {
	const char *name;
	int (*run)(const struct options *options);
	const char *about;
} uses[] = {
	{ "wrap",	use_wrap,	"save a buffer to a file, in two pieces where it wraps" },
	{ "order",	use_order,	"see the events of all CPUs in the order of time" },
	{ "fullest",	use_fullest,	"drain the fullest buffer first" },
};

enum { NR_USES = sizeof(uses) / sizeof(uses[0]) };

static const struct option long_options[] = {
	{ "object",	required_argument,	NULL, 'o' },
	{ "count",	required_argument,	NULL, 'n' },
	{ "by-index",	no_argument,		NULL, 'i' },
	{ "unmerged",	no_argument,		NULL, 'u' },
	{ "perf-time",	no_argument,		NULL, 't' },
	{ "help",	no_argument,		NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static void usage(FILE *to)
{
	fputs("usage: tracemap_bpf [OPTION]... USE\n\n", to);
	for (int i = 0; i < NR_USES; i++)
		fprintf(to, "  %-10s %s\n", uses[i].name, uses[i].about);
	fputs("\n"
	      "  --object FILE  the BPF program (numbered.bpf.o)\n"
	      "  --count N      how many events\n"
	      "  --by-index     fullest: drain in the order of CPUs instead, and lose events\n"
	      "  --unmerged     order: read buffer after buffer instead, and be out of order\n"
	      "  --perf-time    order: by perf's time stamps instead of the BPF program's\n"
	      "\n"
	      "It takes root. The status is 0 if everything was as it has to be.\n", to);
}

static int wrong_usage(void)
{
	usage(stderr);
	exit(2);
}

static void parse(int argc, char **argv, struct options *options)
{
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (c) {
		case 'o':
			options->object = optarg;
			break;
		case 'n':
			options->count = strtoul(optarg, NULL, 0);
			break;
		case 'i':
			options->by_index = true;
			break;
		case 'u':
			options->unmerged = true;
			break;
		case 't':
			options->perf_time = true;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			wrong_usage();
		}
	}
}

int main(int argc, char **argv)
{
	struct options options = { .object = "numbered.bpf.o" };

	setlinebuf(stdout);
	parse(argc, argv, &options);
	if (optind != argc - 1)
		return wrong_usage();
	for (int i = 0; i < NR_USES; i++) {
		if (!strcmp(argv[optind], uses[i].name))
			return uses[i].run(&options) ? 1 : 0;
	}
	return wrong_usage();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * bench TABLE...: measure, print lines "result TABLE key=value ... value=NUM".
 *
 * BENCH_KERNEL=stock|ours|mainline|newer says what the kernel can be asked for,
 * BENCH_UNIT=instructions|nanoseconds what its clock counts.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

bool kernel_lives;
bool kernel_maps;

static const struct {
	const char *name;
	int (*run)(void);
} tables[] = {
	{ "drain", table_drain },
	{ "library", table_library },
	{ "growth", table_growth },
	{ "get_reader", table_get_reader },
	{ "peers", table_peers },
	{ "irqs_off", table_irqs_off },
	{ "writer", table_writer },
	{ "map", table_map },
	{ "loss", table_loss },
	{ "cpus", table_cpus },
	{ "index", table_index },
	{ "wakeup", table_wakeup },
	{ "quiet", table_quiet },
};

void result(const char *table, const char *fmt, ...)
{
	va_list args;

	printf("result %s ", table);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

int pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) < 0 ? -errno : 0;
}

static int run_table(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		int ret;

		if (strcmp(tables[i].name, name))
			continue;
		ret = tables[i].run();
		if (ret < 0)
			fprintf(stderr, "bench %s: %s\n", name, strerror(-ret));
		return ret;
	}
	fprintf(stderr, "bench: there is no table %s\n", name);
	return -EINVAL;
}

int main(int argc, char **argv)
{
	const char *kernel = getenv("BENCH_KERNEL");
	int failed = 0;

	kernel_maps = kernel && strcmp(kernel, "stock");
	kernel_lives = kernel && (!strcmp(kernel, "ours") || !strcmp(kernel, "newer"));
	if (pin_to_cpu(0) < 0 || clock_setup() < 0)
		return 1;
	for (int i = 1; i < argc; i++)
		failed += run_table(argv[i]) < 0;
	return failed ? 1 : 0;
}

// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disturbance.h"

/*
 * How /proc/interrupts calls what a CPU sends to another: x86, arm, arm64, riscv
 * and s390 agree on these. An irq_work is sent by a CPU to itself, and has a line of
 * its own, except on s390.
 */
static const char * const sent_by_cpus[] = {
	"unction call", "escheduling", "mergency", "xternal Call",
};

static bool is_sent(const char *line)
{
	size_t i;

	for (i = 0; i < sizeof(sent_by_cpus) / sizeof(*sent_by_cpus); i++) {
		if (strstr(line, sent_by_cpus[i]))
			return true;
	}
	return false;
}

/* Which column of /proc/interrupts is @cpu: offline ones have none. */
static int column_of(const char *heading, int cpu)
{
	char name[16];
	const char *p;
	int column = 0;

	snprintf(name, sizeof(name), "CPU%d ", cpu);
	for (p = strstr(heading, "CPU"); p; p = strstr(p + 3, "CPU")) {
		if (!strncmp(p, name, strlen(name)))
			return column;
		column++;
	}
	return -1;
}

static long long count_in(const char *line, int column)
{
	const char *p = strchr(line, ':');
	long long count = 0;
	char *end;

	if (!p)
		return 0;
	for (p++; column >= 0; column--, p = end) {
		count = strtoll(p, &end, 10);
		/* A line with one count is of the machine, not of a CPU. */
		if (end == p)
			return 0;
	}
	return count;
}

static int count_interrupts(struct disturbance *d, int cpu)
{
	FILE *file = fopen("/proc/interrupts", "r");
	char line[1024];
	int column = -1;

	if (!file)
		return -errno;
	if (fgets(line, sizeof(line), file))
		column = column_of(line, cpu);
	while (column >= 0 && fgets(line, sizeof(line), file)) {
		long long count = count_in(line, column);

		d->interrupts += count;
		if (is_sent(line))
			d->sent += count;
		if (strstr(line, "IRQ work"))
			d->irq_works += count;
	}
	fclose(file);
	return column < 0 ? -ENODEV : 0;
}

int disturbance_now(struct disturbance *d, const struct trace_instance *ti, int cpu)
{
	memset(d, 0, sizeof(*d));
	d->ns = monotonic_ns();
	d->events = committed_events(ti, cpu);
	return d->events < 0 ? (int)d->events : count_interrupts(d, cpu);
}

struct disturbance disturbance_since(struct disturbance before,
				     const struct disturbance *now)
{
	return (struct disturbance) {
		.sent = now->sent - before.sent,
		.irq_works = now->irq_works - before.irq_works,
		.interrupts = now->interrupts - before.interrupts,
		.events = now->events - before.events,
		.ns = now->ns - before.ns,
	};
}

void disturbance_tell(const struct disturbance *d, const char *what)
{
	fprintf(stderr, "# %s: %lld sent, %lld irq_works, %lld interrupts, ",
		what, d->sent, d->irq_works, d->interrupts);
	fprintf(stderr, "%lld events in %lld ms\n", d->events, d->ns / 1000000);
}

int disturbance_in(struct disturbance *d, const struct trace_instance *ti, int cpu,
		   unsigned int ms, const char *what)
{
	struct disturbance before;
	int err = disturbance_now(&before, ti, cpu);

	if (!err) {
		sleep_ms(ms);
		err = disturbance_now(d, ti, cpu);
	}
	if (err)
		return err;
	*d = disturbance_since(before, d);
	disturbance_tell(d, what);
	return 0;
}

uint64_t rounds_allowed(long long ns)
{
	/* Two in a row, and one that was due when the counting began */
	return ns / 10000000 + 3;
}

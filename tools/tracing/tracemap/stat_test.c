// SPDX-License-Identifier: GPL-2.0
/*
 * Test gauge.h and stat.h with files that the test writes in place of the kernel:
 * figures, rates, and what is printed of them.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "advice.h"
#include "check.h"
#include "stat.h"

/* A clock that the test moves, in the place of the C library's. */
static struct timespec now = { 1000, 0 };

int clock_gettime(clockid_t id, struct timespec *time)
{
	(void)id;
	*time = now;
	return 0;
}

static char top[256];
static const char *oldest = "";	/* a line of the file */

static void put_stats(int cpu, unsigned int entries, unsigned int overrun, unsigned int dropped,
		      unsigned int bytes, unsigned int read)
{
	char path[320];
	FILE *file;

	snprintf(path, sizeof(path), "%s/per_cpu", top);
	CHECK(!mkdir(path, 0700) || errno == EEXIST);
	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d", top, cpu);
	CHECK(!mkdir(path, 0700) || errno == EEXIST);
	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/buffer_size_kb", top, cpu);
	file = fopen(path, "w");
	CHECK(file && fputs("100\n", file) >= 0 && !fclose(file));
	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/stats", top, cpu);
	file = fopen(path, "w");
	CHECK(file && fprintf(file, "entries: %u\noverrun: %u\ncommit overrun: 0\nbytes: %u\n"
			      "%sdropped events: %u\nread events: %u\n", entries, overrun, bytes,
			      oldest, dropped, read) > 0 && !fclose(file));
}

static void read_after(struct panel *p, long ms)
{
	now.tv_nsec += ms * 1000000;
	now.tv_sec += now.tv_nsec / 1000000000;
	now.tv_nsec %= 1000000000;
	CHECK(!panel_read(p));
}

static bool near(double value, double wanted)
{
	return value > wanted - 0.001 && value < wanted + 0.001;
}

/* Of those that are not online the ones with events are shown. */
enum { QUIET = 4000, BUSY = 4001, NOTHING = 4002 };

static int last_online(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/online", "r");
	int cpu = -1;

	CHECK(file);
	while (fscanf(file, "%*[-,]"), fscanf(file, "%d", &cpu) == 1)
		;
	fclose(file);
	return cpu;
}

static struct gauge *gauge_of(struct panel *p, int cpu)
{
	for (unsigned int i = 0; i < p->nr; i++) {
		CHECK(!i || p->gauges[i - 1].cpu < p->gauges[i].cpu);
		if (p->gauges[i].cpu == cpu)
			return &p->gauges[i];
	}
	return NULL;
}

static void test_figures(struct panel *p)
{
	struct gauge *g, all;

	put_stats(BUSY, 100, 7, 3, 51200, 0);
	put_stats(QUIET, 1, 0, 0, 1024, 0);
	put_stats(NOTHING, 0, 0, 0, 0, 0);
	put_stats(last_online(), 0, 0, 0, 0, 0);
	CHECK(!panel_open(p, top, "some", false) && p->nr == 3);
	CHECK(gauge_of(p, last_online()) && !gauge_of(p, NOTHING));
	read_after(p, 1000);
	g = gauge_of(p, BUSY);
	CHECK(g && g->now.events == 107 && g->now.overwritten == 7 && g->now.dropped == 3);
	CHECK(near(g->now.fill, 0.5) && g->now.size == 102400);
	CHECK(g->rate.events == RATE_UNKNOWN && g->rate.lost == RATE_UNKNOWN && !g->rate.reset);
	all = panel_total(p);
	CHECK(all.cpu == -1 && all.now.events == 108 && near(all.now.fill, 0.5) &&
	      all.rate.events == RATE_UNKNOWN);
}

/* In half a second, 50 events were overwritten, and 10 dropped. */
static void test_rates(struct panel *p)
{
	struct gauge *g = gauge_of(p, BUSY), all;

	put_stats(BUSY, 200, 57, 13, 133120, 0);
	read_after(p, 500);
	CHECK(near(p->seconds, 0.5) && near(g->rate.events, 300) && near(g->rate.lost, 120));
	CHECK(near(g->rate.bytes, 300 * 665.6) && near(g->now.fill, 1));
	CHECK(gauge_of(p, QUIET)->rate.events == 0);
	all = panel_total(p);
	CHECK(near(all.rate.events, 300) && near(all.rate.lost, 120) && !all.rate.reset);
	CHECK(near(all.rate.bytes, g->rate.bytes));
}

/* Consumers have taken all: how many bytes these were is not known, nor is the sum. */
static void test_bytes(struct panel *p)
{
	struct gauge *g = gauge_of(p, BUSY);

	put_stats(BUSY, 0, 0, 0, 0, 1000);
	read_after(p, 500);
	put_stats(BUSY, 0, 0, 0, 0, 2000);
	read_after(p, 500);
	CHECK(g->rate.events > 0 && g->rate.bytes == RATE_UNKNOWN);
	CHECK(gauge_of(p, QUIET)->rate.bytes == 0 && panel_total(p).rate.bytes == RATE_UNKNOWN);
}

static void test_reset(struct panel *p)
{
	struct gauge *g = gauge_of(p, BUSY);

	put_stats(BUSY, 1000, 0, 0, 1024, 0);
	read_after(p, 1000);
	CHECK(g->rate.reset && g->rate.events == RATE_UNKNOWN && panel_total(p).rate.reset);
	put_stats(BUSY, 10, 0, 0, 1024, 0);
	read_after(p, 1000);
	CHECK(g->rate.reset && g->rate.events == RATE_UNKNOWN);
	put_stats(BUSY, 30, 0, 0, 1024, 0);
	read_after(p, 1000);
	CHECK(!g->rate.reset && near(g->rate.events, 20));
	/* Empty, whatever the file says of bytes. */
	put_stats(BUSY, 0, 0, 0, 1024, 30);
	read_after(p, 1000);
	CHECK(g->now.fill == 0);
}

/* A snapshot of the kernel swaps the buffer for another one, which may have larger counts. */
static void test_swap(struct panel *p)
{
	struct gauge *g = gauge_of(p, BUSY);

	oldest = "oldest event ts:   900.000001\n";
	put_stats(BUSY, 120, 0, 0, 1024, 30);
	read_after(p, 1000);
	put_stats(BUSY, 200, 0, 0, 1024, 30);
	read_after(p, 1000);
	CHECK(!g->rate.reset && near(g->rate.events, 80));
	oldest = "oldest event ts:   899.999999\n";
	put_stats(BUSY, 1000, 900000, 0, 1024, 30);
	read_after(p, 1000);
	CHECK(g->rate.reset && g->rate.events == RATE_UNKNOWN && g->rate.lost == RATE_UNKNOWN);
	oldest = "oldest event ts:   900.000000\n";
	put_stats(BUSY, 1000, 900010, 0, 1024, 30);
	read_after(p, 1000);
	CHECK(!g->rate.reset && near(g->rate.events, 10));
	put_stats(BUSY, 2000, 900010, 0, 1024, 20);
	read_after(p, 1000);
	CHECK(g->rate.reset);
	oldest = "";
}

/* ---- What is printed ---- */

static char *printed;

static const char *print(void (*what)(FILE *to, const struct watch *w), const struct watch *w)
{
	size_t size;
	FILE *to;

	free(printed);
	to = open_memstream(&printed, &size);
	CHECK(to);
	what(to, w);
	CHECK(!fclose(to));
	return printed;
}

static bool says(const char *text)
{
	if (strstr(printed, text))
		return true;
	fprintf(stderr, "no %s in:\n%s", text, printed);
	return false;
}

static void test_output(struct panel *p)
{
	struct panel panels[] = { *p, *p };
	struct watch w = { .panels = p, .nr = 1 };

	put_stats(BUSY, 10, 5, 13, 51200, 0);
	read_after(p, 1000);
	print(stat_print_json, &w);
	CHECK(says("\"instance\":\"some\",\"way\":\"stats\",\"we_map\":false,\"seconds\":1.000"));
	CHECK(says("{\"cpu\":4001,\"fill\":0.5000,\"events_per_second\":null"));
	CHECK(says("\"events\":15,\"overwritten\":5,\"dropped\":13,\"consumed\":0"));
	CHECK(says("\"reset\":true}],\"total\""));
	CHECK(says("{\"cpu\":4000,\"fill\":0.0100,\"events_per_second\":0.0"));
	print(stat_print_table, &w);
	CHECK(says("some     4001  50.0     reset     reset   reset        13           5"
		   "         15\n"));
	CHECK(says("some     4000   1.0         0 ") && says("          1\n"));
	CHECK(says("some     all  50.0         0 ") && says(" 16\n\n"));
	/* Long names have a wide column. */
	w = (struct watch){ .panels = panels, .nr = 2 };
	panels[1].name = "some_long_name";
	print(stat_print_table, &w);
	CHECK(says("       cpu fill%") && says("     events\n") && says("         15\n"));
	CHECK(says("some           4001  50.0 ") && says("some_long_name all  50.0 "));
}

/* How the figures are read, and what that means */
static void test_notes(const struct panel *p)
{
	struct panel panels[] = { *p, *p };
	struct watch w = { .panels = panels, .nr = 2 };

	panels[1].name = "second";
	panels[1].why = EBUSY;
	print(stat_print_notes, &w);
	CHECK(says("tracemap: instance some: read from per_cpu/cpuN/stats, as asked for. Fill "));
	CHECK(says("\ntracemap: instance second: read from per_cpu/cpuN/stats: a snapshot "));
}

int main(int argc, char **argv)
{
	struct panel panel;
	char command[320];

	CHECK(argc > 1);
	snprintf(top, sizeof(top), "%s/stat_test.%d", argv[1], getpid());
	CHECK(!mkdir(top, 0700));
	test_figures(&panel);
	test_rates(&panel);
	test_reset(&panel);
	test_output(&panel);
	test_notes(&panel);
	test_swap(&panel);
	test_bytes(&panel);
	panel_close(&panel);
	free(printed);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	CHECK(!system(command));
	printf("ok - stat\n");
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Test gauge.h and stat.h with files that the test writes in place of the kernel:
 * figures, rates, and what is printed of them.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
	CHECK(near(g->now.fill, 0.5) && g->now.size == 102400 && g->now.lost == 3);
	CHECK(g->rate.events == RATE_UNKNOWN && g->rate.lost == RATE_UNKNOWN && !g->rate.reset);
	all = panel_total(p);
	CHECK(all.cpu == -1 && all.now.events == 108 && near(all.now.fill, 0.5) &&
	      all.rate.events == RATE_UNKNOWN);
}

/* In half a second. While no consumer reads the buffer, an overwritten event is not lost. */
static void test_rates(struct panel *p)
{
	struct gauge *g = gauge_of(p, BUSY), all;

	put_stats(BUSY, 200, 57, 13, 133120, 0);
	read_after(p, 500);
	CHECK(near(p->seconds, 0.5) && near(g->rate.events, 300) && near(g->rate.lost, 20));
	CHECK(near(g->rate.bytes, 300 * 665.6) && near(g->now.fill, 1));
	CHECK(gauge_of(p, QUIET)->rate.events == 0);
	all = panel_total(p);
	CHECK(near(all.rate.events, 300) && near(all.rate.lost, 20) && !all.rate.reset);
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

/* Lost is what is overwritten between two events that consumers take. */
static void test_lost(struct panel *p)
{
	struct gauge *g = gauge_of(p, BUSY);

	put_stats(BUSY, 199, 57, 13, 1024, 1);
	read_after(p, 500);
	CHECK(near(g->rate.lost, 0) && g->now.lost == 13);
	put_stats(BUSY, 199, 67, 13, 1024, 1);
	read_after(p, 500);
	CHECK(near(g->rate.lost, 0) && g->now.lost == 13);
	put_stats(BUSY, 199, 69, 14, 1024, 2);
	read_after(p, 500);
	CHECK(near(g->rate.lost, 26) && g->now.lost == 26 && panel_total(p).now.lost == 26);
	put_stats(BUSY, 199, 1069, 14, 1024, 2);
	read_after(p, 500);
	CHECK(near(g->rate.lost, 0) && g->now.lost == 26 && g->now.overwritten == 1069);
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
	struct mapper mappers[] = {
		{ 6, 12, true, "e\33[2J\177\"x" }, { 6, 13, false, "other" },
		{ 9, 14, false, "else" },
	};
	unsigned int first = 4;
	struct watch w = {
		.panels = p, .first_cpu = &first, .nr = 1, .looks_for_mappers = true,
		.mappers = { .all = mappers, .nr = 3 },
	};

	put_stats(BUSY, 10, 5, 13, 51200, 0);
	read_after(p, 1000);
	print(stat_print_json, &w);
	CHECK(says("\"instance\":\"some\",\"way\":\"stats\",\"we_map\":false,\"seconds\":1.000"));
	CHECK(says("{\"cpu\":4001,\"fill\":0.5000,\"events_per_second\":null"));
	CHECK(says("\"events\":15,\"overwritten\":5,\"dropped\":13,\"lost\":13"));
	CHECK(says("\"reset\":true,\"mapped_by\":[{\"pid\":12,\"comm\":\"e\\u001b[2J\\u007f\\\"x\","
		   "\"live\":true},{\"pid\":13,\"comm\":\"other\",\"live\":false}]}],\"total\""));
	CHECK(says("{\"cpu\":4000,\"fill\":0.0100,\"events_per_second\":0.0"));
	print(stat_print_table, &w);
	CHECK(says("  mapped-by\n"));
	CHECK(says("some     4001  50.0     reset     reset   reset        13           5         15"
		   "  e?[2J?\"x[12]+live other[13]\n"));
	CHECK(says("some     4000   1.0         0 ") && says(" 1  -\n"));
	CHECK(says("some     all  50.0         0 ") && says(" 16\n\n"));
}

/* Processes are not looked for: nothing is said of them. Long names have a wide column. */
static void test_without_mappers(const struct panel *p)
{
	struct panel panels[] = { *p, *p };
	struct watch w = { .panels = panels, .nr = 2 };

	panels[1].name = "some_long_name";
	print(stat_print_table, &w);
	CHECK(says("       cpu fill%") && says("     events\n") && says("         15\n"));
	CHECK(says("some           4001  50.0 ") && says("some_long_name all  50.0 "));
	print(stat_print_json, &w);
	CHECK(says("\"reset\":true}],\"total\"") && !strstr(printed, "mapped_by"));
}

/* How the figures are read, and what that means: each once, whatever the number of instances. */
static void test_notes(const struct panel *p)
{
	struct panel panels[] = { *p, *p, *p };
	struct watch w = { .panels = panels, .nr = 3 };
	static const char estimates[] =
		"tracemap: Fill and bytes/s are estimates: from the length of the unread events.\n";
	char wanted[1024];

	panels[1].name = "second";
	panels[2].name = "third";
	snprintf(wanted, sizeof(wanted), "%s%s",
		 "tracemap: read from per_cpu/cpuN/stats, as asked for.\n", estimates);
	CHECK(!strcmp(print(stat_print_notes, &w), wanted));
	panels[1].why = EBUSY;
	w.looks_for_mappers = true;
	w.mappers.some_hidden = true;
	snprintf(wanted, sizeof(wanted), "%s%s%s%s%s",
		 "tracemap: some, third: read from per_cpu/cpuN/stats, as asked for.\n", estimates,
		 "tracemap: Not every process could be asked what it maps: ",
		 geteuid() ? "run as root.\n" : "a container refuses it to root.\n",
		 "tracemap: second: read from per_cpu/cpuN/stats: a snapshot uses the buffer.\n");
	CHECK(!strcmp(print(stat_print_notes, &w), wanted));
}

#define MANY_PAGES	32768

static unsigned int nr_getpid;
__typeof__(getpid) __real_getpid;

pid_t __wrap_getpid(void)
{
	nr_getpid++;
	return __real_getpid();
}

/* How many bytes this process has read, and by how many system calls */
static void reads(unsigned long long *bytes, unsigned long long *calls)
{
	FILE *io = fopen("/proc/self/io", "re");

	*bytes = 0;
	*calls = 0;
	CHECK(!io || fscanf(io, "rchar: %llu wchar: %*u syscr: %llu", bytes, calls) == 2);
	if (io)
		fclose(io);
}

/*
 * A walk through the processes reads as much at once as the kernel gives, a page. Of a small
 * process that is less.
 */
static void test_mappers(void)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, MANY_PAGES * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char folder[] = "/no/such/cpu0", *folders[] = { folder };
	unsigned long long bytes[2], calls[2];
	struct mappers found = { .nr = 0 };
	pid_t child;

	CHECK(pages != MAP_FAILED);
	for (unsigned int i = 0; i < MANY_PAGES; i += 2)
		CHECK(!mprotect(pages + i * page, page, PROT_READ));
	child = fork();
	while (!child && !prctl(PR_SET_PDEATHSIG, SIGKILL))
		pause();
	reads(&bytes[0], &calls[0]);
	nr_getpid = 0;
	CHECK(child > 0 && !mappers_find(&found, folders, 1) && !found.nr && nr_getpid == 1);
	reads(&bytes[1], &calls[1]);
	CHECK((calls[1] - calls[0]) * 1000 < bytes[1] - bytes[0] || !bytes[1]);
	CHECK(!kill(child, SIGKILL) && waitpid(child, NULL, 0) == child);
	CHECK(!munmap(pages, MANY_PAGES * page));
	mappers_free(&found);
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
	test_lost(&panel);
	test_reset(&panel);
	test_output(&panel);
	test_without_mappers(&panel);
	test_notes(&panel);
	test_swap(&panel);
	test_bytes(&panel);
	test_mappers();
	panel_close(&panel);
	free(printed);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	CHECK(!system(command));
	printf("ok - stat\n");
	return 0;
}

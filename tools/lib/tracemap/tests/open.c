// SPDX-License-Identifier: GPL-2.0
/* Test opening buffers: each failure has an errno of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib_guest.h"

static int try_open(const char *dir, int number, const struct tracemap_options *o)
{
	struct tracemap_cpu *cpu = NULL;
	int ret = tracemap_cpu_open(&cpu, dir, number, o);

	if (!ret)
		tracemap_cpu_close(cpu);
	else
		expect(!cpu);
	return ret;
}

static int try_open_all(const char *dir, const struct tracemap_options *o)
{
	struct tracemap *t = NULL;
	int ret = tracemap_open(&t, dir, o);

	if (!ret)
		tracemap_close(t);
	else
		expect(!t);
	return ret;
}

static void test_default(void)
{
	enum tracemap_way way = can("live") ? TRACEMAP_MAP : TRACEMAP_READ;
	struct tracemap_cpu *cpu = NULL;

	new_instance("64");
	expect_eq(tracemap_cpu_open(&cpu, INSTANCE, 1, NULL), 0);
	expect_eq(tracemap_cpu_way(cpu), way);
	expect_eq(tracemap_cpu_number(cpu), 1);
	tracemap_cpu_close(cpu);
	expect(!strcmp(tracemap_way_name(way), can("live") ? "map" : "read"));
	end_instance();
	/* The top level is an instance as well. */
	expect_eq(try_open(TRACING, 0, NULL), 0);
	expect_eq(try_open_all(TRACING, NULL), 0);
}

static void test_not_there(void)
{
	struct tracemap_options o = tracemap_default_options();
	static const int cpus[] = { 0, 77 };

	expect_eq(try_open("/tmp", 0, NULL), -ENOENT);
	expect_eq(try_open(TRACING "/instances/none", 0, NULL), -ENOENT);
	expect_eq(try_open_all("/tmp", NULL), -ENOENT);
	expect_eq(try_open(TRACING, 77, NULL), -ENXIO);
	expect_eq(try_open(TRACING, -1, NULL), -EINVAL);
	expect_eq(try_open(NULL, 0, NULL), -EINVAL);
	o.nr_cpus = 2;
	o.cpus = cpus;
	expect_eq(try_open_all(TRACING, &o), -ENXIO);
	o.nr_cpus = 1;
	expect_eq(try_open_all(TRACING, &o), 0);
}

static void test_not_root(void)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		if (setgid(1000) < 0 || setuid(1000) < 0)
			_exit(2);
		_exit(try_open(TRACING, 0, NULL) == -EACCES &&
		      try_open_all(TRACING, NULL) == -EACCES ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	expect_eq(status, 0);
}

static void test_missing_ways(void)
{
	struct tracemap_options o = tracemap_default_options();

	o.way = TRACEMAP_OBSERVE;
	expect_eq(try_open(TRACING, 0, &o), can("live") ? 0 : -EOPNOTSUPP);
	o.way = TRACEMAP_MAP;
	expect_eq(try_open(TRACING, 0, &o), can("map") ? 0 : -EOPNOTSUPP);
	o.way = TRACEMAP_READ;
	expect_eq(try_open(TRACING, 0, &o), 0);
}

static void test_snapshot(void)
{
	struct tracemap_options o = tracemap_default_options();
	struct tracemap *t;

	new_instance("64");
	set("events/sched/sched_switch/trigger", "snapshot:1");
	o.way = TRACEMAP_MAP;
	expect_eq(try_open(INSTANCE, 0, &o), -EBUSY);
	expect_eq(try_open_all(INSTANCE, &o), -EBUSY);
	if (can("live")) {
		o.way = TRACEMAP_OBSERVE;
		expect_eq(try_open(INSTANCE, 0, &o), -EBUSY);
	}
	o.way = TRACEMAP_READ;
	expect_eq(try_open(INSTANCE, 0, &o), 0);
	expect_eq(tracemap_open(&t, INSTANCE, NULL), 0);
	expect_eq(tracemap_cpu_way(tracemap_get_cpu(t, 0)), TRACEMAP_READ);
	tracemap_close(t);
	set("events/sched/sched_switch/trigger", "!snapshot:1");
	end_instance();
}

/* Nothing stays open or mapped: the instance can be resized and removed. */
static void test_leaves_nothing(void)
{
	int before = dup(0), after;

	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		struct tracemap_options o = options_of(w);
		struct account a = { 0 };
		struct tracemap *t = NULL;

		new_instance("64");
		write_marks(0, 1, 100);
		expect_eq(tracemap_open(&t, INSTANCE, &o), 0);
		expect_eq(tracemap_nr_cpus(t), sysconf(_SC_NPROCESSORS_ONLN));
		expect(!tracemap_get_cpu(t, tracemap_nr_cpus(t)));
		drain(tracemap_get_cpu(t, 0), &a);
		tracemap_wait(t, 0);
		expect(tracemap_rescan(t) == 0);
		tracemap_close(t);
		set("buffer_size_kb", "128");
		end_instance();
	}
	after = dup(0);
	expect_eq(before + 1, after);
	close(after);
	close(before);
	tracemap_close(NULL);
	tracemap_cpu_close(NULL);
}

const struct test open_tests[] = {
	{ "the default way is the cheapest there is", test_default, NULL },
	{ "no such folder, instance or CPU", test_not_there, NULL },
	{ "without root", test_not_root, NULL },
	{ "ways that the kernel does not have", test_missing_ways, NULL },
	{ "a snapshot keeps buffers from being mapped", test_snapshot, "map" },
	{ "what was opened is closed", test_leaves_nothing, NULL },
};

const unsigned int nr_open_tests = ARRAY_SIZE(open_tests);

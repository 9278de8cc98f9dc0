// SPDX-License-Identifier: GPL-2.0
/*
 * trial record PROGRAM...: run each test of these selftests by itself, without a fault,
 * and print which places of faults it comes by, in lines
 *
 *	PROGRAM NUMBER MILLISECONDS MASK NAME
 *
 * trial try TESTS PLAN: try faults. TESTS has lines "PROGRAM NUMBER LIMIT", LIMIT in
 * milliseconds; a line of PLAN is the number of a fault and those of the lines of TESTS
 * to try it with, in turn, until a test fails. "!" behind the number of a test says that it
 * has found this fault before.
 *
 * A test that fails is tried once more without the fault. If it fails again, a fault has
 * left something behind and this ends with status 1: the guest is to be booted anew. It
 * was this fault if it is the first one since the boot, and else is not known. If it passes,
 * it has to fail with the fault once more, unless it has found that fault before: some tests
 * fail by chance, most of all on a busy machine. After five minutes no other fault is begun
 * with.
 *
 * What is found goes to the kernel's log, line by line, and so to the console: it is
 * there when the kernel panics.
 *
 *	mutant FAULT by TEST		a test is about to run
 *	mutant FAULT found by TEST
 *	mutant FAULT once by TEST	it failed, and then passed with the fault
 *	mutant FAULT survived
 *	mutant FAULT unknown
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PARAMETERS	"/sys/module/ring_buffer/parameters"
#define INSTANCES	"/sys/kernel/tracing/instances"
#define SAID		"/tmp/said"

#define RECORD		-1
#define RECORD_LIMIT	300000
/* How much longer a test may take without a fault, to tell that all is as before. */
#define AGAIN		4
#define ENOUGH		300000
#define MAX_TESTS	4096
#define MAX_LINE	32768

struct test {
	char	program[64];
	int	number;
	int	limit;
};

static struct test tests[MAX_TESTS];
static int nr_tests;

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		err(2, "%s", path);
	close(fd);
}

static void switch_on(int fault)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", fault);
	write_text(PARAMETERS "/mutant", text);
}

/* The line that begins like this among those that the test printed, or NULL. */
static char *line_of(const char *begin, char *line, size_t size)
{
	FILE *said = fopen(SAID, "re");
	char *found = NULL;

	while (said && !found && fgets(line, size, said))
		if (!strncmp(line, begin, strlen(begin)))
			found = line;
	if (said)
		fclose(said);
	if (found)
		found[strcspn(found, "\n")] = '\0';
	return found;
}

static void exec_test(const char *program, int number)
{
	int said = open(SAID, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	char text[16], path[80];

	snprintf(text, sizeof(text), "%d", number);
	snprintf(path, sizeof(path), "./%s", program);
	setsid();
	if (said >= 0 && dup2(said, 1) == 1 && dup2(said, 2) == 2)
		execl(path, program, text, NULL);
	_exit(127);
}

/* The session of a process; 0 if it is gone. */
static pid_t session_of(const char *name)
{
	char path[64], stat[512], *p = NULL;
	pid_t session = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fgets(stat, sizeof(stat), file))
		p = strrchr(stat, ')');
	if (p)
		sscanf(p, ") %*c %*d %*d %d", &session);
	fclose(file);
	return session;
}

/* Whatever a test has started, in groups of their own, is of its session. */
static void kill_session(pid_t session)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc)))
		if (atoi(entry->d_name) > 0 && session_of(entry->d_name) == session)
			kill(atoi(entry->d_name), SIGKILL);
	if (proc)
		closedir(proc);
}

static void remove_instances(void)
{
	DIR *dir = opendir(INSTANCES);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (*entry->d_name != '.')
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	if (dir)
		closedir(dir);
}

/* What a test that failed has not taken back. */
static void clean_up(pid_t session)
{
	kill_session(session);
	usleep(100000);
	remove_instances();
}

static bool ends_within(int pidfd, int limit)
{
	struct pollfd ends = { .fd = pidfd, .events = POLLIN };

	return poll(&ends, 1, limit) == 1;
}

/* Returns the status of wait(), or -1 if the time was over. */
static int wait_test(pid_t pid, int limit)
{
	int pidfd = syscall(SYS_pidfd_open, pid, 0);
	int status = -1;

	if (pidfd < 0)
		err(2, "pidfd_open");
	if (ends_within(pidfd, limit)) {
		waitpid(pid, &status, 0);
	} else {
		kill_session(pid);
		if (!ends_within(pidfd, 5000))
			errx(1, "a test cannot be killed");
		waitpid(pid, NULL, 0);
	}
	close(pidfd);
	return status;
}

/* Returns whether the test passes with this fault, in @limit ms. */
static bool passes(const struct test *test, int fault, int limit)
{
	pid_t pid;
	int status;

	switch_on(fault);
	pid = fork();
	if (!pid)
		exec_test(test->program, test->number);
	if (pid < 0)
		err(2, "fork");
	status = wait_test(pid, limit);
	switch_on(0);
	if (status)
		clean_up(pid);
	return !status;
}

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void read_mask(char *mask, size_t size)
{
	FILE *file = fopen(PARAMETERS "/mutants_reached", "re");

	if (!file || !fgets(mask, size, file))
		err(2, "mutants_reached");
	mask[strcspn(mask, "\n")] = '\0';
	fclose(file);
}

static void record_test(const struct test *test)
{
	char line[256], mask[1024], *name;
	long long begin = now_ms();
	bool passed;

	write_text(PARAMETERS "/mutants_reached", "0");
	passed = passes(test, RECORD, RECORD_LIMIT);
	read_mask(mask, sizeof(mask));
	name = line_of("ok 1 ", line, sizeof(line));
	if (!passed || !name || strstr(name, "# SKIP"))
		printf("failed %s %d %s\n", test->program, test->number,
		       name ?: line_of("not ok 1 ", line, sizeof(line)) ?: "");
	else
		printf("%s %d %lld %s %s\n", test->program, test->number, now_ms() - begin,
		       mask, name + strlen("ok 1 "));
	fflush(stdout);
}

/* Without a test, number 0, a program says how many it has. */
static void record(const char *program)
{
	struct test test = { .number = 0 };
	char line[256], *plan;
	int last;

	snprintf(test.program, sizeof(test.program), "%s", program);
	passes(&test, 0, RECORD_LIMIT);
	plan = line_of("1..", line, sizeof(line));
	if (!plan)
		errx(2, "%s has no plan", program);
	last = atoi(plan + 3);
	for (test.number = 1; test.number <= last; test.number++)
		record_test(&test);
}

static void read_tests(const char *path)
{
	FILE *file = fopen(path, "re");
	struct test *test = tests;

	if (!file)
		err(2, "%s", path);
	while (nr_tests < MAX_TESTS &&
	       fscanf(file, "%63s %d %d", test->program, &test->number, &test->limit) == 3) {
		nr_tests++;
		test++;
	}
	fclose(file);
}

__attribute__((format(printf, 1, 2)))
static void say(const char *format, ...)
{
	char line[128];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	write_text("/dev/kmsg", line);
}

/* Returns whether the guest is as it was: tests pass without a fault. */
static bool try_fault(int fault, char *plan, bool first)
{
	const struct test *test;
	char *number;
	bool again;

	while ((number = strsep(&plan, " \n"))) {
		test = &tests[atoi(number)];
		if (!*number || test >= &tests[nr_tests])
			continue;
		say("mutant %d by %s", fault, number);
		if (passes(test, fault, test->limit))
			continue;
		again = passes(test, 0, AGAIN * test->limit);
		if (again && !strchr(number, '!') && passes(test, fault, 2 * test->limit)) {
			say("mutant %d once by %s", fault, number);
			continue;
		}
		if (again || first)
			say("mutant %d found by %s", fault, number);
		else
			say("mutant %d unknown", fault);
		return again;
	}
	say("mutant %d survived", fault);
	return true;
}

static int try_faults(const char *path)
{
	static char line[MAX_LINE];
	FILE *plan = fopen(path, "re");
	long long end = now_ms() + ENOUGH;
	bool first = true, clean = true;
	char *rest;
	int fault;

	if (!plan)
		err(2, "%s", path);
	while (clean && now_ms() < end && fgets(line, sizeof(line), plan)) {
		rest = line;
		fault = atoi(strsep(&rest, " \n"));
		clean = try_fault(fault, rest, first);
		first = false;
	}
	fclose(plan);
	return !clean;
}

int main(int argc, char **argv)
{
	int i;

	if (argc > 2 && !strcmp(argv[1], "record")) {
		for (i = 2; i < argc; i++)
			record(argv[i]);
		return 0;
	}
	if (argc != 4 || strcmp(argv[1], "try"))
		errx(2, "trial record PROGRAM... | try TESTS PLAN");
	read_tests(argv[2]);
	return try_faults(argv[3]);
}

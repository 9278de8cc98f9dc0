// SPDX-License-Identifier: GPL-2.0
/*
 * What bench-tools.sh runs, see there:
 *
 *	bench-tools number
 *		prints the number of the system call that "work" makes
 *	bench-tools work CPU COUNT FILE
 *		makes it COUNT times on one CPU, as fast as it can, and writes into FILE when
 *		it began and what CPU time it has used
 *	bench-tools run FILE COMMAND [ARGUMENT]...
 *		runs COMMAND, waits for all processes that come of it, and writes into FILE when
 *		it was started, their CPU time, and the memory of the largest of them
 *
 * Times are nanoseconds, memory is KiB.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Cheap, and no tracer makes it: a filter for it has these events and no others. */
#define CALL	SYS_sched_get_priority_max

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static unsigned long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static unsigned long long cpu_time(const struct rusage *usage)
{
	const struct timeval *user = &usage->ru_utime, *system = &usage->ru_stime;

	return (user->tv_sec + system->tv_sec) * 1000000000ULL +
		(user->tv_usec + system->tv_usec) * 1000ULL;
}

static void write_figures(const char *file, unsigned long long start, int who)
{
	struct rusage usage;
	FILE *to = fopen(file, "w");

	getrusage(who, &usage);
	if (!to || fprintf(to, "%llu %llu %ld\n", start, cpu_time(&usage), usage.ru_maxrss) < 0 ||
	    fclose(to))
		die(file);
}

static int work(int cpu, unsigned long count, const char *file)
{
	unsigned long long start = now();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
	while (count--)
		syscall(CALL, SCHED_FIFO);
	write_figures(file, start, RUSAGE_SELF);
	return 0;
}

static int run(const char *file, char **command)
{
	unsigned long long start = now();
	int status, result = 1;
	pid_t pid, child;

	/* What the command leaves running becomes our child, and is waited for as well. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		die("prctl");
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		execvp(command[0], command);
		die(command[0]);
	}
	while ((pid = wait(&status)) > 0 || errno == EINTR) {
		if (pid == child)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	write_figures(file, start, RUSAGE_CHILDREN);
	return result;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "number"))
		return printf("%d\n", (int)CALL) < 0;
	if (argc == 5 && !strcmp(argv[1], "work"))
		return work(atoi(argv[2]), strtoul(argv[3], NULL, 10), argv[4]);
	if (argc >= 4 && !strcmp(argv[1], "run"))
		return run(argv[2], argv + 3);
	fputs("usage: bench-tools number | work CPU COUNT FILE | run FILE COMMAND...\n", stderr);
	return 2;
}

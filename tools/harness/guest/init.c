// SPDX-License-Identifier: GPL-2.0
/*
 * The first process of a guest that has no shell: mounts, runs the programs
 * that /cmd names, one a line with its arguments, in /host, with their output
 * on the port "out", and as the very last thing writes "exit STATUS" on the port
 * "verdict". STATUS is that of the last program that failed, or 0.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORTS		"/sys/class/virtio-ports"
#define PORT_TRIES	600
#define MAX_ARGS	64

static const struct {
	const char *type, *where;
} mounts[] = {
	{ "proc",	"/proc" },
	{ "sysfs",	"/sys" },
	{ "devtmpfs",	"/dev" },
	{ "tmpfs",	"/tmp" },
	{ "debugfs",	"/sys/kernel/debug" },
	{ "tracefs",	"/sys/kernel/tracing" },
};

/* This goes to the console: the harness shows its end where a guest has died. */
static void give_up(const char *what)
{
	perror(what);
	reboot(RB_AUTOBOOT);
}

static void mount_all(void)
{
	size_t i;

	for (i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		mkdir(mounts[i].where, 0755);
		if (mount(mounts[i].type, mounts[i].where, mounts[i].type, 0, NULL))
			give_up(mounts[i].where);
	}
}

static int has_name(const char *port, const char *name)
{
	char path[300], found[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), PORTS "/%s/name", port);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fgets(found, sizeof(found), file))
		found[strcspn(found, "\n")] = '\0';
	fclose(file);
	return !strcmp(found, name);
}

/* Returns whether a port of that name is there; @path is its device then. */
static int find_port(const char *name, char *path, size_t size)
{
	DIR *dir = opendir(PORTS);
	struct dirent *entry;
	int found = 0;

	while (dir && !found && (entry = readdir(dir))) {
		found = has_name(entry->d_name, name);
		snprintf(path, size, "/dev/%s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* The kernel makes a port while this runs already, late on a slow machine. */
static int open_port(const char *name)
{
	char path[300] = "";
	int fd, tries = PORT_TRIES;

	while (!find_port(name, path, sizeof(path)) && --tries)
		usleep(100000);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (!tries || fd < 0)
		give_up(name);
	return fd;
}

static void run(char *line)
{
	char *args[MAX_ARGS + 1] = { NULL };
	int n = 0;

	while (n < MAX_ARGS && (args[n] = strsep(&line, " ")))
		n += *args[n] != '\0';
	if (line) {
		printf("# more than %d arguments\n", MAX_ARGS);
		_exit(127);
	}
	args[n] = NULL;
	setsid();
	if (!chdir("/host") && n)
		execv(args[0], args);
	perror(n ? args[0] : "/cmd");
	_exit(127);
}

/* Waits for @pid, and for whatever it has left behind and has ended. */
static int wait_for(pid_t pid)
{
	int status;
	pid_t ended;

	do
		ended = wait(&status);
	while (ended != pid && ended > 0);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	printf("# killed by signal %d\n", WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static int run_all(void)
{
	FILE *cmd = fopen("/cmd", "re");
	int status = 0, ended;
	char *line = NULL;
	size_t size = 0;

	if (!cmd)
		give_up("/cmd");
	while (getline(&line, &size, cmd) > 0) {
		pid_t pid;

		line[strcspn(line, "\n")] = '\0';
		printf("# %s\n", line);
		pid = fork();
		if (!pid)
			run(line);
		ended = pid < 0 ? 126 : wait_for(pid);
		if (ended)
			status = ended;
	}
	fclose(cmd);
	return status;
}

int main(void)
{
	int out, verdict, status;

	mount_all();
	out = open_port("out");
	verdict = open_port("verdict");
	if (dup2(out, 1) < 0 || dup2(out, 2) < 0)
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	status = run_all();
	dprintf(verdict, "exit %d\n", status);
	reboot(RB_AUTOBOOT);
	return 1;
}

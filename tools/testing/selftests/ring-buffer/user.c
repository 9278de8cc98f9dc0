// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user.h"

/* What a child says that could not become an ordinary user. */
#define NO_USER		120

pid_t fork_user(gid_t group)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (setgroups(1, &group) ||
	    setresgid(ORDINARY_GROUP, ORDINARY_GROUP, ORDINARY_GROUP) ||
	    setresuid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER) ||
	    prctl(PR_SET_DUMPABLE, 1))	/* /proc/self is its own again */
		_exit(NO_USER);
	return 0;
}

int user_does(struct trace_instance *ti, gid_t group,
	      int (*deed)(struct trace_instance *ti))
{
	pid_t pid = fork_user(group);

	if (pid < 0)
		return -errno;
	if (!pid)
		_exit(-deed(ti));
	return -child_status(pid, 20000);
}

int grant_by_mount(bool granted)
{
	char options[64];

	snprintf(options, sizeof(options), "gid=%d,mode=%o",
		 granted ? TRACE_GROUP : 0, granted ? 0750 : 0700);
	return mount(NULL, TRACEFS_DIR, NULL, MS_REMOUNT, options) ? -errno : 0;
}

static int change_group(const char *path, bool granted)
{
	return chown(path, -1, granted ? TRACE_GROUP : 0) ? -errno : 0;
}

/* Each directory on the way to @path below the root of tracefs, and itself. */
static int change_groups(const char *path, bool granted)
{
	char part[256];
	size_t i;
	int err;

	for (i = strlen(TRACEFS_DIR) + 1; path[i]; i++) {
		if (path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		err = change_group(part, granted);
		if (err)
			return err;
	}
	return change_group(path, granted);
}

int grant_by_chgrp(const struct trace_instance *ti, bool granted)
{
	static const char * const files[] = { "trace_pipe_raw", "trace_live" };
	char path[256];
	int err = 0, i;

	for (i = 0; !err && i < 2; i++) {
		snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/%s", ti->dir, ti->cpu,
			 files[i]);
		err = change_groups(path, granted);
	}
	if (!err)
		err = change_groups(TRACEFS_DIR "/events/header_page", granted);
	if (!err)
		err = change_group(TRACEFS_DIR, granted);
	if (!err && chmod(TRACEFS_DIR, granted ? 0750 : 0700))
		err = -errno;
	return err;
}

static int let_pass(const char *dir, bool granted)
{
	struct stat st;

	if (stat(dir, &st))
		return -errno;
	return chmod(dir, granted ? st.st_mode | 0001 : st.st_mode & ~0001) ? -errno : 0;
}

int grant_watching(const struct trace_instance *ti, bool granted)
{
	char path[256];
	int err;
	size_t i;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/trace_live", ti->dir, ti->cpu);
	err = change_group(path, granted);
	for (i = strlen(TRACEFS_DIR); !err && path[i]; i++) {
		if (path[i] != '/')
			continue;
		path[i] = '\0';
		err = let_pass(path, granted);
		path[i] = '/';
	}
	return err;
}

static bool maps_below(pid_t pid, const char *dir)
{
	char path[64], line[512];
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	if (!maps)
		return false;
	while (!found && fgets(line, sizeof(line), maps)) {
		char *file = strchr(line, '/');

		found = file && !strncmp(file, dir, strlen(dir)) &&
			(strstr(file, "trace_pipe_raw") || strstr(file, "trace_live"));
	}
	fclose(maps);
	return found;
}

pid_t find_mapper(const struct trace_instance *ti)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t pid, found = 0;

	if (!proc)
		return 0;
	while (!found && (entry = readdir(proc))) {
		pid = atoi(entry->d_name);
		if (pid > 0 && pid != getpid() && maps_below(pid, ti->dir))
			found = pid;
	}
	closedir(proc);
	return found;
}

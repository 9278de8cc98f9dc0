// SPDX-License-Identifier: LGPL-2.1
/*
 * Find tracefs and its instances.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "event.h"

/* Where tracefs is mounted by convention */
#define IN_SYSFS	"/sys/kernel/tracing"

/* Where debugfs is mounted, the kernel mounts tracefs in it at the first access. */
#define IN_DEBUGFS	"/sys/kernel/debug/tracing"

static bool is_tracefs(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && fs.f_type == TRACEFS_MAGIC;
}

/*
 * The library mounts nothing: it looks, and must not change anything. Where there is
 * no /proc, it cannot find out what is mounted.
 */
static int tracing_dir(char **dir)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	const char *found = NULL;
	struct mntent *mount;

	while (mounts && !found && (mount = getmntent(mounts))) {
		if (!strcmp(mount->mnt_type, "tracefs"))
			found = mount->mnt_dir;
	}
	if (mounts)
		endmntent(mounts);
	if (!found && is_tracefs(IN_SYSFS))
		found = IN_SYSFS;
	if (!found && access(IN_DEBUGFS "/trace", F_OK) == 0)
		found = IN_DEBUGFS;
	*dir = found ? strdup(found) : NULL;
	return *dir ? 0 : found ? -ENOMEM : -ENOENT;
}

static int instance_dir(char **dir, const char *top, const char *instance)
{
	int ret;

	if (!*instance || strchr(instance, '/') || instance[0] == '.')
		return -EINVAL;
	if (asprintf(dir, "%s/instances/%s", top, instance) < 0) {
		*dir = NULL;
		return -ENOMEM;
	}
	if (access(*dir, F_OK) == 0)
		return 0;
	ret = errno == EACCES ? -EACCES : -ENXIO;
	free(*dir);
	*dir = NULL;
	return ret;
}

int tracemap_find_dir(char **dir, const char *instance)
{
	char *top;
	int ret = tracing_dir(&top);

	*dir = top;
	if (ret || !instance)
		return ret;
	*dir = NULL;
	ret = instance_dir(dir, top, instance);
	free(top);
	return ret;
}

static int open_instances(DIR **dir, const char *top)
{
	char *path;

	if (asprintf(&path, "%s/instances", top) < 0)
		return -ENOMEM;
	*dir = opendir(path);
	free(path);
	return *dir ? 0 : -errno;
}

static int each_folder(DIR *dir, int (*each)(const char *name, void *arg), void *arg)
{
	struct dirent *entry;
	int ret = 0;

	while (!ret && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			ret = each(entry->d_name, arg);
	}
	return ret;
}

int tracemap_find_instances(int (*each)(const char *name, void *arg), void *arg)
{
	char *top;
	int ret = tracing_dir(&top);
	DIR *dir;

	if (ret)
		return ret;
	ret = open_instances(&dir, top);
	free(top);
	if (ret)
		return ret;
	ret = each_folder(dir, each, arg);
	closedir(dir);
	return ret;
}

// SPDX-License-Identifier: LGPL-2.1
/*
 * Where tracefs and its instances are.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracefs.h>

#include "event.h"

/* libtracefs would mount it, but a library that looks must change nothing. */
static bool is_mounted(void)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *mount;
	bool found = false;

	while (mounts && !found && (mount = getmntent(mounts)))
		found = !strcmp(mount->mnt_type, "tracefs");
	if (mounts)
		endmntent(mounts);
	/* Looking mounts it, where debugfs is. */
	return found || access("/sys/kernel/debug/tracing/trace", F_OK) == 0;
}

static int tracing_dir(const char **dir)
{
	if (!is_mounted())
		return -ENOENT;
	*dir = tracefs_tracing_dir();
	return *dir ? 0 : -ENOENT;
}

/**
 * tracemap_find_dir - the folder of an instance, or of the top level
 * @dir: to be set, free() it
 * @instance: name of the instance, or NULL for the top level
 *
 * Nothing is mounted for it.
 *
 * Return: 0, -ENOENT if there is no tracefs, -ENXIO if there is no such
 * instance, -EINVAL if that cannot be the name of one, -EACCES, -ENOMEM
 */
int tracemap_find_dir(char **dir, const char *instance)
{
	const char *top;
	int ret = tracing_dir(&top);

	*dir = NULL;
	if (ret)
		return ret;
	if (!instance) {
		*dir = strdup(top);
		return *dir ? 0 : -ENOMEM;
	}
	if (!*instance || strchr(instance, '/') || instance[0] == '.')
		return -EINVAL;
	if (asprintf(dir, "%s/instances/%s", top, instance) < 0)
		return -ENOMEM;
	if (access(*dir, F_OK) < 0) {
		ret = errno == EACCES ? -EACCES : -ENXIO;
		free(*dir);
		*dir = NULL;
	}
	return ret;
}

/**
 * tracemap_find_instances - name every instance there is
 * @each: called with each name; anything but 0 ends it
 * @arg: handed to @each
 *
 * Return: 0, -ENOENT if there is no tracefs, -EACCES, or what @each said
 */
int tracemap_find_instances(int (*each)(const char *name, void *arg), void *arg)
{
	const char *top;
	char **names;
	int ret = tracing_dir(&top);

	if (ret)
		return ret;
	if (access(top, R_OK | X_OK) < 0)
		return -errno;
	names = tracefs_instances(NULL);
	for (char **name = names; name && *name && !ret; name++)
		ret = each(*name, arg);
	tracefs_list_free(names);
	return ret;
}

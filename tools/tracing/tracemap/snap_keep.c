// SPDX-License-Identifier: GPL-2.0
/*
 * Name files by time, and remove the oldest when there are too many.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "snap_keep.h"

/* The pattern of a name: each 0 stands for a digit */
static const char pattern[] = "-00000000-000000.000";

/* The name without the folders */
static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Returns where the suffix of the name begins: ".dat", or the end. */
static size_t stem_of(const char *path)
{
	const char *file = file_of(path);
	const char *dot = strrchr(file, '.');

	return dot && dot != file ? (size_t)(dot - path) : strlen(path);
}

char *snap_keep_name(const char *path)
{
	size_t stem = stem_of(path);
	char time[32], *name;
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	strftime(time, sizeof(time), "%Y%m%d-%H%M%S", &tm);
	if (asprintf(&name, "%.*s-%s.%03ld%s", (int)stem, path, time, now.tv_nsec / 1000000,
		     path + stem) < 0)
		return NULL;
	return name;
}

static int is_time(const char *text)
{
	for (size_t i = 0; i < sizeof(pattern) - 1; i++) {
		if (pattern[i] == '0' ? !isdigit((unsigned char)text[i]) : text[i] != pattern[i])
			return 0;
	}
	return 1;
}

/* Is it a name that snap_keep_name() gives for a file @wanted? */
static int is_ours(const char *name, const char *wanted)
{
	size_t stem = stem_of(wanted), length = strlen(name);

	return length == strlen(wanted) + sizeof(pattern) - 1 && !strncmp(name, wanted, stem) &&
	       is_time(name + stem) &&
	       !strcmp(name + stem + sizeof(pattern) - 1, wanted + stem);
}

/**
 * struct kept - the files that are there
 * @nr: how many
 * @written: when the oldest was written
 * @oldest: its name; empty: there is none
 */
struct kept {
	unsigned long long nr;
	struct timespec written;
	char oldest[256];
};

/* By their names, where that decides: local time goes back by an hour once a year. */
static bool is_older(const struct stat *st, const char *name, const struct kept *k)
{
	if (st->st_mtim.tv_sec != k->written.tv_sec)
		return st->st_mtim.tv_sec < k->written.tv_sec;
	if (st->st_mtim.tv_nsec != k->written.tv_nsec)
		return st->st_mtim.tv_nsec < k->written.tv_nsec;
	return strcmp(name, k->oldest) < 0;
}

static void look_at(struct kept *k, int folder, const char *name)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return;
	k->nr++;
	if (*k->oldest && !is_older(&st, name, k))
		return;
	k->written = st.st_mtim;
	snprintf(k->oldest, sizeof(k->oldest), "%s", name);
}

static void look(struct kept *k, DIR *dir, const char *file, const char *name)
{
	struct dirent *entry;

	*k = (struct kept){ .nr = 0 };
	rewinddir(dir);
	while ((entry = readdir(dir))) {
		if (is_ours(entry->d_name, file) && strcmp(entry->d_name, name))
			look_at(k, dirfd(dir), entry->d_name);
	}
}

/* Another recorder of such files, or the user, may have removed it meanwhile. */
static int remove_oldest(DIR *dir, const char *file, unsigned long long keep, const char *name)
{
	struct kept k;

	for (int removed = 0; ; removed++) {
		look(&k, dir, file, name);
		if (!keep || !k.nr || k.nr < keep)
			return removed;
		if (unlinkat(dirfd(dir), k.oldest, 0) && errno != ENOENT)
			return -errno;
	}
}

int snap_keep_check(const char *path)
{
	char *copy = strdup(path);
	int ret = copy ? 0 : -ENOMEM;

	/* Check for the effective user: access() would check for the real one. */
	if (copy && faccessat(AT_FDCWD, dirname(copy), R_OK | W_OK | X_OK, AT_EACCESS))
		ret = -errno;
	free(copy);
	return ret;
}

int snap_keep_make_room(const char *path, unsigned long long keep, const char *name)
{
	char *copy = strdup(path);
	DIR *dir = copy ? opendir(dirname(copy)) : NULL;
	int ret = copy ? -errno : -ENOMEM;

	if (dir)
		ret = remove_oldest(dir, file_of(path), keep, file_of(name));
	if (dir)
		closedir(dir);
	free(copy);
	return ret;
}

// SPDX-License-Identifier: LGPL-2.1
/*
 * Make a file that gets its name when it is whole.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "new_file.h"
#include "temp_file.h"

int new_file_begin(struct new_file *f, const char *path)
{
	char *copy = strdup(path);

	*f = (struct new_file){ .fd = -1, .path = path };
	if (!copy || asprintf(&f->name, "%s.%d.new", path, getpid()) < 0) {
		f->name = NULL;
		free(copy);
		return -ENOMEM;
	}
	f->fd = temp_file_in(dirname(copy), 0644);
	free(copy);
	if (f->fd != -EOPNOTSUPP)
		return f->fd < 0 ? f->fd : 0;
	f->fd = open(f->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	return f->fd < 0 ? -errno : 0;
}

static bool is_named(const struct new_file *f)
{
	struct stat st;

	return !fstat(f->fd, &st) && st.st_nlink;
}

static int link_to(const struct new_file *f, const char *path)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", f->fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

/* Where rename(2) knows no RENAME_NOREPLACE, as on NFS and 9p: a link replaces nothing, either. */
static int rename_new(const char *from, const char *to)
{
	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL || link(from, to))
		return -errno;
	unlink(from);
	return 0;
}

int new_file_name(struct new_file *f, bool is_new)
{
	bool named = is_named(f);
	int ret = named ? -EEXIST : link_to(f, f->path);

	if (ret != -EEXIST || (!named && is_new))
		goto out;
	ret = named ? 0 : link_to(f, f->name);
	if (!ret && is_new)
		ret = rename_new(f->name, f->path);
	else if (!ret && renameat2(AT_FDCWD, f->name, AT_FDCWD, f->path, 0))
		ret = -errno;
	if (ret)
		return ret;
out:
	if (!ret) {
		free(f->name);
		f->name = NULL;
	}
	return ret;
}

void new_file_end(struct new_file *f)
{
	if (f->fd >= 0 && f->name && is_named(f))
		unlink(f->name);
	if (f->fd >= 0)
		close(f->fd);
	free(f->name);
}

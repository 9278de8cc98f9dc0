// SPDX-License-Identifier: LGPL-2.1
/*
 * Files without a name.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "temp_file.h"

const char *temp_folder(void)
{
	const char *folder = getenv("TMPDIR");

	if (folder && *folder)
		return folder;
	return access("/var/tmp", W_OK) ? "/tmp" : "/var/tmp";
}

static int make_and_unlink(void)
{
	char *path;
	int fd, error;

	if (asprintf(&path, "%s/tracemap-XXXXXX", temp_folder()) < 0)
		return -ENOMEM;
	fd = mkostemp(path, O_CLOEXEC);
	error = errno;
	if (fd >= 0)
		unlink(path);
	free(path);
	return fd < 0 ? -error : fd;
}

int temp_file_in(const char *folder, mode_t mode)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);

	if (fd < 0 && (errno == EISDIR || errno == EINVAL))
		return -EOPNOTSUPP;
	return fd < 0 ? -errno : fd;
}

int temp_file(void)
{
	int fd = temp_file_in(temp_folder(), 0600);

	return fd == -EOPNOTSUPP ? make_and_unlink() : fd;
}

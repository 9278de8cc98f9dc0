// SPDX-License-Identifier: GPL-2.0
/*
 * Files without a name.
 */
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

/* Not every file system makes files without a name. */
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

int temp_file(void)
{
	int fd = open(temp_folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
		return make_and_unlink();
	return fd < 0 ? -errno : fd;
}

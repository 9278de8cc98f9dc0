// SPDX-License-Identifier: GPL-2.0
/*
 * Small files of tracefs, procfs and sysfs.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "text_file.h"

static int read_all(int fd, char *text, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size - 1) {
		n = read(fd, text + len, size - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		len += n;
	}
	if (len && text[len - 1] == '\n')
		len--;
	text[len] = '\0';
	return len;
}

int text_file_read(const char *dir, const char *file, char *text, size_t size)
{
	char path[PATH_MAX];
	int fd, ret;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = read_all(fd, text, size);
	close(fd);
	return ret;
}

const char *text_after(const char *text, const char *key)
{
	size_t len = strlen(key);

	while (text && *text) {
		if (!strncmp(text, key, len))
			return text + len;
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return NULL;
}

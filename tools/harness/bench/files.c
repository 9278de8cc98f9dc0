// SPDX-License-Identifier: GPL-2.0
/* Small files of the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

int file_write(const char *path, const char *fmt, ...)
{
	char text[128];
	va_list args;
	int fd, n, ret = 0;

	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, n) != n)
		ret = errno ? -errno : -EIO;
	close(fd);
	return ret;
}

/* Returns the length; what does not fit is left out. */
int file_read(const char *path, char *text, size_t size)
{
	size_t length = 0;
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, text + length, size - 1 - length);
		if (n > 0)
			length += n;
	} while (n > 0);
	text[length] = '\0';
	close(fd);
	return n < 0 ? -errno : (int)length;
}

/* The number that follows the word @after. */
int64_t file_number(const char *path, const char *after)
{
	char text[8192];
	const char *p;
	int ret;

	ret = file_read(path, text, sizeof(text));
	if (ret < 0)
		return ret;
	p = strstr(text, after);
	return p ? strtoll(p + strlen(after), NULL, 10) : -ENOENT;
}

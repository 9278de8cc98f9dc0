/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Read small files of tracefs, procfs and sysfs, which do not report their size. The
 * functions are inline, since the libraries and the command use them and export none.
 */
#ifndef _TRACEMAP_READ_FILE_H
#define _TRACEMAP_READ_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Read up to the end of the file or of @text. Returns the length, or a negative errno. */
static inline ssize_t read_file__fill(int fd, char *text, size_t size)
{
	size_t length = 0;
	ssize_t n = 1;

	while (length < size && n) {
		n = read(fd, text + length, size - length);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			length += n;
	}
	return length;
}

/*
 * Read @path below the folder @dir, or as much as fits, with a 0 byte behind it.
 * Returns the length, or a negative errno.
 */
static inline int read_file(int dir, const char *path, char *text, size_t size)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = read_file__fill(fd, text, size - 1);
	close(fd);
	if (ret >= 0)
		text[ret] = '\0';
	return ret;
}

/*
 * Read a file of any size. Returns its text, which the caller frees, or NULL and errno if it
 * cannot be read or there is no memory.
 */
static inline char *read_file_whole(int dir, const char *path, size_t *size)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	size_t length = 0, room = 4096;
	char *text = NULL, *more;
	ssize_t n = 0;

	if (fd < 0)
		return NULL;
	do {
		length += n;
		room *= 2;
		more = realloc(text, room);
		if (more)
			text = more;
		n = more ? read_file__fill(fd, text + length, room - 1 - length) : -ENOMEM;
	} while (n > 0 && length + n == room - 1);
	close(fd);
	if (n < 0) {
		free(text);
		errno = -n;
		return NULL;
	}
	length += n;
	text[length] = '\0';
	if (size)
		*size = length;
	return text;
}

#endif /* _TRACEMAP_READ_FILE_H */

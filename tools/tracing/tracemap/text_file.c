// SPDX-License-Identifier: GPL-2.0
/*
 * Read and write small files of tracefs, procfs and sysfs.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read_file.h"
#include "text_file.h"
#include "write_all.h"

int text_file_read(const char *dir, const char *file, char *text, size_t size)
{
	char path[PATH_MAX];
	int ret;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	ret = read_file(AT_FDCWD, path, text, size);
	if (ret > 0 && text[ret - 1] == '\n')
		text[--ret] = '\0';
	return ret;
}

int text_file_write(int dir, const char *path, const char *value, bool truncate)
{
	int fd = openat(dir, path, O_WRONLY | O_CLOEXEC | (truncate ? O_TRUNC : O_APPEND));
	int ret;

	if (fd < 0)
		return -errno;
	ret = write_all(fd, value, strlen(value));
	/* Some lists take effect only when the file is closed. */
	if (close(fd) < 0 && !ret)
		ret = -errno;
	return ret;
}

uint64_t text_file_buffer_kib(const char *text)
{
	static const char mark[] = "expanded: ";
	const char *expanded = strstr(text, mark);

	return strtoull(expanded ? expanded + strlen(mark) : text, NULL, 10);
}

bool text_file_has_word(const char *text, const char *word)
{
	static const char between[] = " \t\n[]";
	size_t length, wanted = strlen(word);

	for (; text && *text; text += length + !length) {
		length = strcspn(text, between);
		if (length && length == wanted && !memcmp(text, word, length))
			return true;
	}
	return false;
}

bool text_file_nothing_traced(const char *dir)
{
	char events[64], tracer[64];

	return !text_file_read(dir, "set_event", events, sizeof(events)) &&
	       text_file_read(dir, "current_tracer", tracer, sizeof(tracer)) > 0 &&
	       !strcmp(tracer, "nop");
}

bool text_file_is_of_functions(const char *tracer)
{
	static const char functions[] = "function";

	return !strncmp(tracer, functions, strlen(functions));
}

bool text_file_runs_functions(const char *dir)
{
	char tracer[64];

	return text_file_read(dir, "current_tracer", tracer, sizeof(tracer)) > 0 &&
	       text_file_is_of_functions(tracer);
}

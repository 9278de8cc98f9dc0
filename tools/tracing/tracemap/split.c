// SPDX-License-Identifier: GPL-2.0
/*
 * The files of a recording that is in several.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "split.h"
#include "values.h"

#define DIGITS_MAX	9	/* a longer number is not one of these files' */

int split_take(void *to, const char *text)
{
	struct split *split = to;
	char unit = *text ? text[strlen(text) - 1] : '\0';

	*split = (struct split){ .keep = split->keep };
	if (unit && strchr("smh", unit))
		return value_seconds("--split", text, &split->seconds);
	if (unit && strchr("kMgGtTB", unit))
		return value_size("--split", text, &split->size);
	return value_wrong("--split", text,
			   "a size such as 100M or 2G is needed, or a time such as 30s, 10m or 1h");
}

char *split_path(const char *file, unsigned long number)
{
	char *path;

	return asprintf(&path, "%s.%lu", file, number) < 0 ? NULL : path;
}

/* The number of "FILE.12"; 0: the name is another one, such as that of a part, "FILE.12.cpu0". */
static unsigned long number_of(const char *name, const char *file)
{
	size_t length = strlen(file);
	unsigned long number;
	char *end;

	if (strncmp(name, file, length) || name[length] != '.' ||
	    !isdigit((unsigned char)name[length + 1]))
		return 0;
	number = strtoul(name + length + 1, &end, 10);
	return *end || end - name > (long)length + DIGITS_MAX + 1 ? 0 : number;
}

unsigned long split_first(const char *file)
{
	const char *slash = strrchr(file, '/');
	char *copy = strdup(file);
	DIR *dir = copy ? opendir(dirname(copy)) : NULL;
	unsigned long highest = 0;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		unsigned long number = number_of(entry->d_name, slash ? slash + 1 : file);

		if (number > highest)
			highest = number;
	}
	if (dir)
		closedir(dir);
	free(copy);
	return highest + 1;
}

/* SPDX-License-Identifier: LGPL-2.1 */
#ifndef _TRACEMAP_CHECK_H
#define _TRACEMAP_CHECK_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* End a test if the condition does not hold. */
#define CHECK(cond) do {							\
	if (!(cond)) {							\
		fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #cond, errno); \
		exit(1);						\
	}								\
} while (0)

/* Make a file below @dir, and the folders it is in. */
static inline void make_file(const char *dir, const char *name, const char *text)
{
	char path[512], *slash;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (slash = path + strlen(dir) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		CHECK(!mkdir(path, 0700) || errno == EEXIST);
		*slash = '/';
	}
	file = fopen(path, "w");
	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

#endif /* _TRACEMAP_CHECK_H */

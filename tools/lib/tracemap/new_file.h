/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * A file that is either whole or not there: it gets its name when it is whole, and until
 * then it disappears with the program. Where the file system cannot make files without a
 * name, it is called PATH.PID.new until then.
 */
#ifndef _TRACEMAP_NEW_FILE_H
#define _TRACEMAP_NEW_FILE_H

#include <stdbool.h>

struct new_file {
	int fd;
	char *name;
	const char *path;
};

/* Begin a file that will be @path, a string to be kept. Returns 0 or a negative errno. */
int new_file_begin(struct new_file *f, const char *path);

/*
 * Give the file its name, replacing a file of that name, unless @is_new says that there
 * must be none. Returns 0 or a negative errno.
 */
int new_file_name(struct new_file *f, bool is_new);

/* Close the file, and remove it if it has not got its name. */
void new_file_end(struct new_file *f);

#endif /* _TRACEMAP_NEW_FILE_H */

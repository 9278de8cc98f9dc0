/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Files without a name, for data that may be larger than memory. They disappear with the
 * program, whatever ends it.
 */
#ifndef _TRACEMAP_TEMP_FILE_H
#define _TRACEMAP_TEMP_FILE_H

#include <sys/types.h>

/* Returns $TMPDIR, /var/tmp, which is on a disk while /tmp may be memory, or /tmp. */
const char *temp_folder(void);

/* Make a new file there. Returns its descriptor or a negative errno. */
int temp_file(void);

/* The same in this folder; -EOPNOTSUPP if its file system cannot make files without a name. */
int temp_file_in(const char *folder, mode_t mode);

#endif /* _TRACEMAP_TEMP_FILE_H */

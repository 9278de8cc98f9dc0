/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files without a name, for what may be larger than memory. They are gone with the program,
 * whatever ends it.
 */
#ifndef _TRACEMAP_TEMP_FILE_H
#define _TRACEMAP_TEMP_FILE_H

/* $TMPDIR, or /var/tmp, which is on a disk where /tmp may be memory, or /tmp. */
const char *temp_folder(void);

/* A new file there. Returns its descriptor or a negative errno. */
int temp_file(void);

#endif /* _TRACEMAP_TEMP_FILE_H */

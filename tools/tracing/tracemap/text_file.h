/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read small files of tracefs, procfs and sysfs.
 */
#ifndef _TRACEMAP_TEXT_FILE_H
#define _TRACEMAP_TEXT_FILE_H

#include <stddef.h>

/*
 * Read @dir/@file, or as much as fits, without its last newline and with a 0 byte behind it.
 * Returns the length, or a negative errno.
 */
int text_file_read(const char *dir, const char *file, char *text, size_t size);

#endif /* _TRACEMAP_TEXT_FILE_H */

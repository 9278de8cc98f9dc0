/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read and write small files of tracefs, procfs and sysfs.
 */
#ifndef _TRACEMAP_TEXT_FILE_H
#define _TRACEMAP_TEXT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Read @dir/@file, or as much as fits, without its last newline and with a 0 byte behind it.
 * Returns the length, or a negative errno.
 */
int text_file_read(const char *dir, const char *file, char *text, size_t size);

/*
 * Write all of @value to the file @path below the folder @dir; with @truncate, which lists need,
 * empty it before. Returns 0 or a negative errno.
 */
int text_file_write(int dir, const char *path, const char *value, bool truncate);

/*
 * The size of buffers in KiB by the text of a file like buffer_size_kb: "1408", or "7
 * (expanded: 1408)", where the second is the size once the buffer is used. 0 if the CPUs
 * have different sizes.
 */
uint64_t text_file_buffer_kib(const char *text);

/* Whether @word is in a list such as "nop function", or "[local] global"; a NULL one has none. */
bool text_file_has_word(const char *text, const char *word);

/* Whether no event is enabled in the instance @dir, and no tracer is set; false if unknown. */
bool text_file_nothing_traced(const char *dir);

/* Whether @tracer, as current_tracer names it, traces functions, as function_graph does. */
bool text_file_is_of_functions(const char *tracer);

/* Whether the instance @dir has such a tracer; false if unknown. */
bool text_file_runs_functions(const char *dir);

#endif /* _TRACEMAP_TEXT_FILE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The end of "record": its data become a whole file, or go to a pipe as one.
 */
#ifndef _TRACEMAP_RECORD_END_H
#define _TRACEMAP_RECORD_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording.h"

/**
 * struct record_end - what becomes of a recording
 * @recording: the recording
 * @dir: the folder of its instance
 * @file: the name of the file
 * @pipe: where the file goes to if it has no name; else -1
 * @compress: whether to compress it
 * @quiet: whether to be silent about what takes a while
 * @write_failed: the error of @recording has been said
 * @pipe_gone: the reader of @pipe has ended, and the user was told so
 * @failed: something failed, and that has been said
 * @missing: what the reader of @pipe has not got, for the sum at the end; NULL: it has all
 * @compressed: set to the bytes of the whole file, if it is compressed
 */
struct record_end {
	struct recording *recording;
	const char *dir;
	const char *file;
	int pipe;
	bool compress;
	bool quiet;
	bool write_failed;
	bool pipe_gone;
	bool failed;
	const char *missing;
	uint64_t compressed;
};

/*
 * Go on in another file. Sets @old to the one so far, which lacks only that its data are moved into
 * it. Returns 0, or a negative errno that the user was told; then the file stays.
 */
int record_end_next(struct record_end *e, const char *path, struct trace_dat **old);

/* The reader of the pipe has ended, and the recording is lost: tell the user once. */
void record_end_gone(struct record_end *e);

/* Make the file of it. Returns false if something failed, which the user was told. */
bool record_end_finish(struct record_end *e);

/* Make a whole file of what a recorder that was killed has left. Returns an exit status. */
int record_end_restore(const char *path, bool quiet);

/* A size with its unit, such as "1.5 MiB". */
void record_end_bytes(char *text, size_t size, uint64_t bytes);

#endif /* _TRACEMAP_RECORD_END_H */

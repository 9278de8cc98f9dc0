/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lines for standard output, gathered, and written whole.
 */
#ifndef _TRACEMAP_OUTPUT_H
#define _TRACEMAP_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include <tracemap-event.h>

/* Bytes of text that are enough to be written. */
#define OUTPUT_MUCH	(64 * 1024)

/* From its end on a stream waits so long for a reader that takes nothing. */
#define OUTPUT_PATIENCE_MS	3000

struct output {
	int fd;
	bool is_socket;			/* set by output_never_wait() */
	uint64_t deadline;		/* the end, ns; 0: a signal, and no time */
	struct tracemap_line line;	/* append here */
	size_t start;			/* of the line begun last, in @line */
	unsigned long long written;	/* bytes that are out */
	unsigned long long lines;	/* of them */
	int terminal;			/* 1: it is one, -1: it is none, 0: not looked yet */
};

/* Remember where the next line begins. */
void output_begin_line(struct output *out);

/*
 * On a terminal, escape the control characters in the line begun last: any program may
 * have chosen the names of processes and the marks in it, and a terminal obeys them.
 */
void output_escape_line(struct output *out);

/* The same, then write if there are OUTPUT_MUCH. */
int output_end_line(struct output *out);

/*
 * Write all. Returns 0; -EPIPE if the reader has ended; -EINTR if a second signal came
 * while the reader would not read; -ETIMEDOUT if it took nothing for OUTPUT_PATIENCE_MS
 * when the end had come; or what write() says.
 */
int output_flush(struct output *out);

/* What it was. */
const char *output_error(int error);

/*
 * Do not let write() wait for the reader of the output: where it is a pipe or a
 * terminal, open it once more, with O_NONBLOCK. On other files writing comes to an end.
 * Then output_flush() waits itself, and sees signals and the deadline.
 */
void output_never_wait(struct output *out);

/* Write as much as is taken at once. Returns as output_flush(). */
int output_flush_some(struct output *out);

/* Bytes written and to be written. */
unsigned long long output_size(const struct output *out);

#endif /* _TRACEMAP_OUTPUT_H */

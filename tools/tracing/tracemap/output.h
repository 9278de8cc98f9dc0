/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lines for standard output, gathered, and written whole.
 */
#ifndef _TRACEMAP_OUTPUT_H
#define _TRACEMAP_OUTPUT_H

#include <stdbool.h>

#include <tracemap-event.h>

struct output {
	int fd;
	struct tracemap_line line;	/* append here */
	size_t start;			/* of the line begun last, in @line */
	unsigned long long written;	/* bytes that are out */
	unsigned long long lines;	/* of them */
};

/* Remember where the next line begins. */
void output_begin_line(struct output *out);

/* Write if there is much. */
int output_end_line(struct output *out);

/*
 * Write all. Returns 0; -EPIPE if nobody reads any more; -EINTR if a second
 * signal came while the reader would not read; or what write() says.
 */
int output_flush(struct output *out);

/* Bytes written and to be written. */
unsigned long long output_size(const struct output *out);

#endif /* _TRACEMAP_OUTPUT_H */

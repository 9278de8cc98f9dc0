/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Gather lines for standard output, and write whole lines.
 */
#ifndef _TRACEMAP_OUTPUT_H
#define _TRACEMAP_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include <tracemap-event.h>

#include "stop.h"

/* Text is written when there are this many bytes. */
#define OUTPUT_MUCH	(64 * 1024)

/* How long a stream waits for a slow reader after a signal or the end of the time. */
#define OUTPUT_PATIENCE_MS	STOP_PATIENCE_MS

/* How much of that it prints for. The rest of the time is for the reader to take it. */
#define OUTPUT_PRINT_MS		(OUTPUT_PATIENCE_MS - 300)

struct output {
	int fd;
	bool is_socket;			/* set by output_never_wait() */
	uint64_t deadline;		/* when the time ends, in ns; 0: there is no limit */
	struct tracemap_line line;	/* where text is appended */
	size_t start;			/* where in @line the last line begins */
	unsigned long long written;	/* bytes written */
	unsigned long long lines;	/* lines written */
	unsigned long long events;	/* events with written lines, see output_end_event() */
	size_t *ends;			/* where in @line the lines of further events end */
	unsigned int nr_ends, room_ends;
	int terminal;			/* 1: it is one, -1: it is none, 0: not known yet */
	void (*at_end)(void *arg);	/* called once, when a signal or the deadline has come */
	void *arg;
};

/* Remember where the next line begins. */
void output_begin_line(struct output *out);

/*
 * On a terminal, escape the control characters of the last line. A terminal obeys them, and
 * any program may have put them into the name of a process or into a mark.
 */
void output_escape_line(struct output *out);

/* The same, and write if there are OUTPUT_MUCH bytes. */
int output_end_line(struct output *out);

/* The same, where an event ends: output_flush() counts it when all of it is written. */
int output_end_event(struct output *out);

void output_free(struct output *out);

/*
 * Write all. Returns 0; -EPIPE if the reader has ended; -EINTR if a second signal came
 * while the reader did not read; -ETIMEDOUT if the reader did not take it within
 * OUTPUT_PATIENCE_MS after a signal or the deadline; or another negative errno of write().
 * It calls @at_end, also while it waits for the reader.
 */
int output_flush(struct output *out);

/* Milliseconds since the first signal or the deadline, whichever came first; 0: neither came. */
unsigned int output_end_ms(const struct output *out);

/*
 * Tell the user that the output ends because of an error of the functions above, or of the
 * decoder. Returns whether it is a failure: the end of the reader is none.
 */
bool output_failed(const struct output *out, int error);

/*
 * Do not let write() wait for the reader: open a pipe or a terminal once more, with
 * O_NONBLOCK. Then output_flush() waits itself, and notices signals and the deadline.
 * Writing to other files does not wait for a reader.
 */
void output_never_wait(struct output *out);

#endif /* _TRACEMAP_OUTPUT_H */

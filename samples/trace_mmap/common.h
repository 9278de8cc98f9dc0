/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the samples that decode events share: stopping, opening the
 * buffers of an instance, printing events. What goes wrong ends the program.
 */
#ifndef _TRACE_MMAP_COMMON_H
#define _TRACE_MMAP_COMMON_H

#include <stdbool.h>

#include <event-parse.h>
#include <tracefs.h>

#include <linux/types.h>

#include "subbuf.h"

/* Signals that ask to stop are counted, and make stop_fd readable. */
extern int stop_fd;

int signals_so_far(void);
void stop_on_signals(unsigned int seconds);

/* The instance of that name; NULL is the top level. */
struct tracefs_instance *open_instance(const char *name);

bool has_buffer(struct tracefs_instance *instance, int cpu);
/* @name: of the file of that CPU; -1 and errno. */
int open_buffer(struct tracefs_instance *instance, int cpu, const char *name);
void read_format(struct subbuf_format *format);

/* What to do about an errno of open_buffer(), or of mmap(). */
const char *buffer_advice(int error);

struct decoder {
	struct tep_handle *tep;		/* NULL: not opened */
	struct trace_seq line;
	const char *time_format;
};

void open_decoder(struct decoder *d, struct tracefs_instance *instance);
void close_decoder(struct decoder *d);
void print_event(struct decoder *d, int cpu, const struct subbuf_record *rec);

__u64 parse_number(const char *text, __u64 max);

#endif /* _TRACE_MMAP_COMMON_H */

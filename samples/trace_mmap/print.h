/* SPDX-License-Identifier: GPL-2.0 */
/* For the samples that print events: a CPU's file, and libtraceevent's text of an event. */
#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include <event-parse.h>
#include <tracefs.h>

#include "subbuf.h"

static inline int open_buffer(const char *tracefs, int cpu, const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/%s", tracefs, cpu, name);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static inline struct tep_handle *read_events(void)
{
	struct tep_handle *tep = tracefs_local_events(NULL);

	if (!tep)
		err(1, "the formats of events");
	tep_set_file_bigendian(tep, tep_is_local_bigendian(tep));
	return tep;
}

static inline void print_event(struct tep_handle *tep, int cpu, const struct subbuf_record *rec)
{
	struct tep_record record = {
		.ts = rec->ts, .cpu = cpu, .size = rec->size, .data = (void *)rec->data,
	};
	struct trace_seq line;

	trace_seq_init(&line);
	tep_print_event(tep, &line, &record, "[%03d] %6.1000d: %s: %s\n",
			TEP_PRINT_CPU, TEP_PRINT_TIME, TEP_PRINT_NAME, TEP_PRINT_INFO);
	trace_seq_do_printf(&line);
	trace_seq_destroy(&line);
}

/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * What the files of libtracemap-event share.
 */
#ifndef _TRACEMAP_EVENT_INTERNAL_H
#define _TRACEMAP_EVENT_INTERNAL_H

#include <event-parse.h>

#include "tracemap-event.h"

/* What the text of an event looks like in the kernel's own file. */
enum event_kind {
	KIND_UNKNOWN,		/* not looked at yet */
	KIND_GENERIC,		/* "name: " and the print format */
	KIND_FUNCTION,
	KIND_FUNC_REPEATS,
	KIND_PRINT,
	KIND_BPRINT,
	KIND_BPUTS,
	KIND_RAW,
	KIND_STACK,
	KIND_USER_STACK,
	KIND_SYSCALL_ENTER,
	KIND_SYSCALL_EXIT,
	KIND_PROBE,
	KIND_RETPROBE,
};

/* One a known id. */
struct event_format {
	struct tep_event *event;	/* NULL: there is none, as of @looked */
	enum event_kind kind;
	uint64_t looked;		/* ms */
	bool makes_names;		/* sched_switch and its like */
};

struct event_comm;
struct event_symbols;

struct tracemap_decoder {
	char *dir;			/* of the instance */
	char *top;			/* of tracefs */
	struct tep_handle *tep;
	struct trace_seq seq;		/* scratch */
	struct event_format *formats;	/* by id */
	unsigned int nr_formats;
	struct event_comm *comms;	/* hash by PID */
	uint64_t comms_read;		/* ms */
	struct event_symbols *symbols;
	char marked[256];		/* symbol told to libtraceevent last */
	bool has_marks;			/* since put_formatted() began */
	bool in_ns;			/* the clock counts nanoseconds */
	int flags_offset, preempt_offset, pid_offset;	/* -1: there is none */
};

#define EVENT_COMMON_SIZE	8	/* every event of the kernel has as much */

uint64_t event_now_ms(void);
char *event_read_file(const char *dir, const char *file, size_t *size);

/* event_comm.c */
int event_comms_init(struct tracemap_decoder *d);
void event_comms_free(struct tracemap_decoder *d);
void event_comm_set(struct tracemap_decoder *d, int pid, const char *comm, size_t length);
void event_comms_learn(struct tracemap_decoder *d, const struct event_format *format,
		       const struct tracemap_record *rec);

/* event_symbol.c */
struct event_symbol {
	uint64_t address;
	uint64_t size;
	const char *name;
	const char *module;	/* NULL: of the kernel itself */
};

bool event_symbol_find(struct tracemap_decoder *d, uint64_t address, struct event_symbol *symbol);
void event_symbol_print(struct tracemap_decoder *d, struct tracemap_line *line,
			uint64_t address, bool with_offset);
char *event_symbol_resolve(void *decoder, unsigned long long *address, char **module);
void event_symbols_free(struct tracemap_decoder *d);

/* event_format.c: the text of a format file, for libtraceevent, and what it makes of it */
void event_fit_format(const char *text, int long_size, struct tracemap_line *line);
void event_mark_symbol(const struct event_symbol *symbol, uint64_t address,
		       char *text, size_t size);
void event_unmark(const char *text, struct tracemap_line *line);

/* event_info.c: name and contents of an event, with the line end */
void event_info(struct tracemap_decoder *d, struct event_format *format,
		const struct tracemap_record *rec, struct tracemap_line *line);

void event_put_bytes(const struct tracemap_record *rec, struct tracemap_line *line);

/* event_text.c */
void event_time(const struct tracemap_decoder *d, uint64_t ts, struct tracemap_line *line);
void event_flags(const struct tracemap_decoder *d, const struct tracemap_record *rec,
		 char flags[6]);

/* event.c */
struct event_format *event_format(struct tracemap_decoder *d, int id);

/* Bytes of a field in a record: length < 0 if the record does not have them. */
struct event_bytes {
	const unsigned char *data;
	int length;
};

struct event_bytes event_field_bytes(struct tep_format_field *field,
				     const struct tracemap_record *rec);
bool event_is_text(const struct tep_format_field *field);
bool event_field_number(struct tep_event *event, const char *name,
			const struct tracemap_record *rec, uint64_t *value);

#endif /* _TRACEMAP_EVENT_INTERNAL_H */

/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * What the files of libtracemap-event share.
 */
#ifndef _TRACEMAP_EVENT_INTERNAL_H
#define _TRACEMAP_EVENT_INTERNAL_H

#include <event-parse.h>

#include "event_line.h"

/* What the text of an event looks like in the kernel's file "trace". */
enum event_kind {
	KIND_UNKNOWN,		/* the format was not looked at yet */
	KIND_GENERIC,		/* "name: ", and what the print format makes */
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
	KIND_OSNOISE,
	KIND_TIMERLAT,
	KIND_HWLAT,
	KIND_SWITCH,		/* this and the next are of the tracers of latencies */
	KIND_WAKEUP,
	KIND_CALL,		/* this and the next are of the tracer function_graph */
	KIND_RETURN,
};

/* Two fields of an event that hold the id and the name of a process */
struct event_naming {
	struct tep_format_field *pid, *comm;
	bool is_path;			/* @comm is the path of what is executed */
};

struct event_program;

/* What the decoder knows about an event id. */
struct event_format {
	struct tep_event *event;	/* NULL: there was no such event at @looked */
	enum event_kind kind;
	uint64_t looked;		/* when the decoder looked for it, in ms */
	struct event_program *program;	/* NULL: the fields are printed as name=value */
	struct tep_format_field *ip, *parent_ip;	/* NULL: the event has no such field */
	struct event_naming namings[2];	/* of sched_switch and other events with names */
	unsigned int nr_namings;
};

struct event_comm;
struct event_graph;
struct event_printk;
struct event_size;
struct event_symbols;

struct tracemap_decoder {
	char *dir;			/* the folder of the instance; NULL: see @borrowed */
	char *top;			/* the folder of tracefs */
	struct tep_handle *tep;
	bool borrowed;			/* @tep is another library's, and has all that is known */
	struct event_printk *printks;	/* formats of printk(), a hash by their address */
	struct event_format *formats;	/* by id */
	unsigned int nr_formats;
	struct event_comm *comms;	/* names of processes, a hash by PID */
	uint64_t comms_read;		/* when they were read, in ms */
	struct event_symbols *symbols;
	struct event_size *sizes;	/* of functions of a borrowed @tep */
	struct event_graph *graph;	/* NULL: the tracer is not function_graph */
	char *btf;			/* the kernel's, read when needed; NULL: it has none */
	size_t btf_size;
	bool looked_for_btf;
	char name[256];			/* the last symbol of a borrowed @tep */
	struct tracemap_line text;	/* of an event in JSON */
	bool has_version;		/* so has the JSON */
	bool has_lazy;			/* common_flags tell of lazy rescheduling */
	bool syscalls_prefixed;		/* arguments of 10 and more are printed with 0x */
	bool in_ns;			/* the clock counts nanoseconds */
	int flags_offset, preempt_offset, pid_offset;	/* -1: there is no such field */
};

#define EVENT_COMMON_SIZE	8	/* every event of the kernel has at least these bytes */

uint64_t event_now_ms(void);
char *event_read_file(const char *dir, const char *file, size_t *size);

/* event_comm.c */
#define EVENT_COMM_SIZE		16	/* bytes that may be read of a tracemap_decoder_comm() */

int event_comms_init(struct tracemap_decoder *d);
void event_comms_free(struct tracemap_decoder *d);
void event_comm_set(struct tracemap_decoder *d, int pid, const char *comm, size_t length);
void event_comms_prepare(struct event_format *format);
void event_comms_learn(struct tracemap_decoder *d, const struct event_format *format,
		       const struct tracemap_record *rec);

/* event_symbol.c */
struct event_symbol {
	uint64_t address;
	uint64_t size;
	const char *name;	/* padded, see event_line_put_padded() */
	const char *module;	/* NULL: the symbol is the kernel's own */
	size_t length;		/* bytes of the name */
};

bool event_symbol_find(struct tracemap_decoder *d, uint64_t address, struct event_symbol *symbol);
void event_symbol_print(struct tracemap_decoder *d, struct tracemap_line *line,
			uint64_t address, bool with_offset);
uint64_t event_symbol_address(struct tracemap_decoder *d, const char *name);
void event_symbols_free(struct tracemap_decoder *d);

/* The symbols are those of @text, as /proc/kallsyms has them, with EVENT_PAD bytes behind. */
void event_symbols_take(struct tracemap_decoder *d, char *text);

/*
 * event_enum.c: the value of the enumerator @name in the running kernel; false if the kernel
 * does not have it, or has several of that name with different values
 */
bool event_enum(struct tracemap_decoder *d, const char *name, long long *value);
bool event_enum_search(const void *btf, size_t size, const char *name, long long *value);

/* event_tep.c: the same of a borrowed libtraceevent handle */
const char *event_tep_comm(const struct tracemap_decoder *d, int pid);
bool event_tep_symbol(struct tracemap_decoder *d, uint64_t address, struct event_symbol *symbol);

/*
 * event_printk.c: the string at an address of the kernel, if the kernel has told it as one that
 * events point to; and the program for a record of trace_printk(), NULL: there is none
 */
#define EVENT_STRING_MAX	1024

bool event_string(struct tracemap_decoder *d, uint64_t address, char text[EVENT_STRING_MAX]);
const struct event_program *event_printk(struct tracemap_decoder *d,
					 const struct event_format *format,
					 const struct tracemap_record *rec);
void event_printk_free(struct tracemap_decoder *d);

/* event_format.c: change the text of a format file so that libtraceevent can parse it. */
void event_fit_format(struct tracemap_decoder *d, const char *text, struct tracemap_line *line);

/* The value of a name in a print format; false: it is not known */
bool event_constant(struct tracemap_decoder *d, const char *name, long long *value);

/* event_compile.c: bytes of a type of C; 0: it is not known */
uint32_t event_type_size(const char *type);

/* event_info.c: append the name and contents of an event, and a newline */
void event_info(struct tracemap_decoder *d, struct event_format *format,
		const struct tracemap_record *rec, struct tracemap_line *line);

/* The same as a comment among calls of functions, where a mark is its message alone. */
void event_message(struct tracemap_decoder *d, struct event_format *format,
		   const struct tracemap_record *rec, struct tracemap_line *line);

/*
 * event_graph.c: event_graph_text() returns false if the event is not part of the tree, but
 * belongs into a line like those of other tracers.
 */
int event_graph_init(struct tracemap_decoder *d, const char *tracer);
void event_graph_free(struct tracemap_decoder *d);
void event_graph_header(const char *tracer, struct tracemap_line *line);
bool event_graph_text(struct tracemap_decoder *d, struct event_format *format,
		      const struct tracemap_record *rec, struct tracemap_line *line);
void event_graph_flush(struct tracemap_decoder *d, int cpu, struct tracemap_line *line);

void event_put_bytes(const struct tracemap_record *rec, struct tracemap_line *line);

/* event_text.c */
void event_time(const struct tracemap_decoder *d, uint64_t ts, struct tracemap_line *line);
void event_flags(const struct tracemap_decoder *d, const struct tracemap_record *rec,
		 char flags[6]);

/* event.c */
int event_find_common(struct tracemap_decoder *d);
struct event_format *event_format(struct tracemap_decoder *d, int id);

/* The bytes of a field in a record; @length is negative if the record is too short. */
struct event_bytes {
	const unsigned char *data;
	int length;
};

/* Append a string, which ends at a 0 byte, or where its field does. */
static inline void event_put_string(struct tracemap_line *line, struct event_bytes bytes)
{
	if (bytes.length > 0)
		event_line_put(line, bytes.data,
			       strnlen((const char *)bytes.data, bytes.length));
}

/* Load a number of 1, 2, 4 or 8 bytes, in the byte order of this machine. */
static inline uint64_t event_load(const unsigned char *data, uint32_t size)
{
	uint64_t value;
	uint32_t word;
	uint16_t half;

	switch (size) {
	case 1:
		return *data;
	case 2:
		memcpy(&half, data, sizeof(half));
		return half;
	case 4:
		memcpy(&word, data, sizeof(word));
		return word;
	default:
		memcpy(&value, data, sizeof(value));
		return value;
	}
}

/* The lower @size bytes of a number, which have a sign or not. */
static inline uint64_t event_cut(uint64_t number, uint32_t size, bool is_signed)
{
	unsigned int spare = 64 - 8 * size;

	number <<= spare;
	return is_signed ? (uint64_t)((int64_t)number >> spare) : number >> spare;
}

/* libtraceevent calls every array of bytes a string. */
static inline bool event_is_text(const struct tep_format_field *field)
{
	return field->flags & TEP_FIELD_IS_STRING && strstr(field->type, "char") &&
		!strstr(field->type, "unsigned");
}

static inline bool event_is_number(int size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/*
 * Find the bytes of a field. For a dynamic field a word says where: its upper half is the
 * length, its lower half the offset, from the start of the record or from the end of the
 * word.
 */
static inline struct event_bytes event_field_bytes(const struct tep_format_field *field,
						   const struct tracemap_record *rec)
{
	struct event_bytes bytes = { rec->data, -1 };
	uint32_t offset = field->offset, length = field->size;

	if (offset > rec->size)
		return bytes;
	/* The last field of some events is as long as the event. */
	if (!length && field->flags & TEP_FIELD_IS_ARRAY)
		length = rec->size - offset;
	if (length > rec->size - offset)
		return bytes;
	if (field->flags & TEP_FIELD_IS_DYNAMIC) {
		uint32_t word, base = 0;

		if (length < sizeof(word))
			return bytes;
		memcpy(&word, bytes.data + offset, sizeof(word));
		if (field->flags & TEP_FIELD_IS_RELATIVE)
			base = offset + length;
		offset = base + (word & 0xffff);
		length = word >> 16;
		if (offset > rec->size || length > rec->size - offset)
			return bytes;
	}
	bytes.data += offset;
	bytes.length = length;
	return bytes;
}

/* Returns false and leaves @value alone if there is no @field, or it is no number. */
static inline bool event_number(const struct tep_format_field *field,
				const struct tracemap_record *rec, uint64_t *value)
{
	struct event_bytes bytes;

	if (field && !(field->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) &&
	    field->size == 8 && rec->size >= (uint32_t)field->offset + 8) {
		*value = event_load((const unsigned char *)rec->data + field->offset, 8);
		return true;
	}
	if (!field || field->flags & TEP_FIELD_IS_ARRAY)
		return false;
	bytes = event_field_bytes(field, rec);
	if (!event_is_number(bytes.length))
		return false;
	*value = event_cut(event_load(bytes.data, bytes.length), bytes.length,
			   field->flags & TEP_FIELD_IS_SIGNED);
	return true;
}

int event_element_size(const struct tep_format_field *field);
bool event_field_number(struct tep_event *event, const char *name,
			const struct tracemap_record *rec, uint64_t *value);

#endif /* _TRACEMAP_EVENT_INTERNAL_H */

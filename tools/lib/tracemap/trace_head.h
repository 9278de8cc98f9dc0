/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * The head of a trace.dat file, version 6: it comes before the data and says how to decode
 * them. trace-cmd.dat.v6(5) describes the format.
 */
#ifndef _TRACEMAP_TRACE_HEAD_H
#define _TRACEMAP_TRACE_HEAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bytes.h"

struct trace_head;

#define TRACE_SEEN_IDS	65536	/* of events: the kernel has 16 bits for them */
#define TRACE_SEEN_MARK	5	/* ftrace:print, of trace_marker, as every kernel numbers it */

/**
 * struct trace_seen - which events there are
 * @ids: whether there is one of each id
 * @mark: the address that the events of trace_marker tell; 0: there is none
 * @marks_differ: they tell several, as trace_printk() makes such events, too
 */
struct trace_seen {
	unsigned char ids[TRACE_SEEN_IDS];
	uint64_t mark;
	bool marks_differ;
};

/* Note an event. The address is behind the 8 bytes that each one begins with. */
static inline void trace_seen_add(struct trace_seen *seen, const void *data, uint32_t size)
{
	unsigned long mark;
	uint16_t id;

	if (size < sizeof(id))
		return;
	memcpy(&id, data, sizeof(id));
	seen->ids[id] = 1;
	if (id != TRACE_SEEN_MARK || size < 8 + sizeof(mark))
		return;
	memcpy(&mark, (const char *)data + 8, sizeof(mark));
	seen->marks_differ |= seen->mark && mark != seen->mark;
	seen->mark = mark;
}

/**
 * trace_head_new - gather what is needed to decode the events of an instance
 * @head: set to a new handle
 * @top: the folder of the top level, which has what instances share
 * @dir: the folder of the instance. The head gets the formats of those events that are
 *	enabled now, and of the events of tracers, but no names of functions
 * @nr_cpus: for how many CPUs there is data, without leaving out a number
 * @page_size: bytes of a page of data
 *
 * Return: 0 or a negative errno
 */
int trace_head_new(struct trace_head **head, const char *top, const char *dir,
		   unsigned int nr_cpus, unsigned int page_size);
void trace_head_free(struct trace_head *head);

/*
 * Gather it anew, for other data of the instance, but for what stays the same until the machine
 * is started again. After an error, the head can only be freed.
 */
int trace_head_renew(struct trace_head *head, unsigned int nr_cpus, unsigned int page_size);

/*
 * Read again what changes during a recording: events that were enabled since, names of
 * processes, statistics of the CPUs. The head keeps what it has of events and processes
 * that are gone.
 */
int trace_head_refresh(struct trace_head *head);

/*
 * Add what these events need: formats, if they were enabled at another time; and the names of
 * functions, if they print one. Returns 0 or a negative errno.
 */
int trace_head_complete(struct trace_head *head, const struct trace_seen *seen);

/*
 * Add the names of functions at once where events are sure to print them: of a tracer, or with a
 * stack each. So a file has them whose recorder is killed. Returns 0 or a negative errno.
 */
int trace_head_expect(struct trace_head *head);

/*
 * Append the bytes of the head to @to. In the file they are followed by a table with two
 * 64-bit words for each CPU: the offset of its data in the file, and their size.
 */
int trace_head_write(const struct trace_head *head, struct bytes *to);

/* Parts that a file of version 7 has, those from 16 on as sections with these numbers. */
enum trace_head_part {
	TRACE_HEAD_BEGIN,		/* up to the description of the compression */
	TRACE_HEAD_OPTIONS,
	TRACE_HEAD_INFO		= 16,
	TRACE_HEAD_TRACERS,
	TRACE_HEAD_EVENTS,
	TRACE_HEAD_KALLSYMS,
	TRACE_HEAD_PRINTK,
	TRACE_HEAD_CMDLINES,
};

/* Append the bytes of a part to @to, whose error is set if there is no memory. */
void trace_head_write_part(const struct trace_head *head, enum trace_head_part part,
			   struct bytes *to);

unsigned int trace_head_nr_cpus(const struct trace_head *head);
unsigned int trace_head_page_size(const struct trace_head *head);

/* The clock of the time stamps, such as "[local]". */
void trace_head_clock(const struct trace_head *head, char *clock, size_t size);

struct trace_head_found {
	uint64_t table;		/* where the table is in the file */
	unsigned int nr_cpus;
	unsigned int page_size;
	bool page_fits;		/* header_page describes pages of this size */
};

/* The table's entry for a CPU: where in the file its data are */
struct trace_region {
	uint64_t offset;
	uint64_t size;
};

/* Find the table in a file. Returns false if tracemap on such a machine did not write it. */
bool trace_head_find(FILE *file, struct trace_head_found *found);

/* Read the table, which the caller frees. NULL: the file ends before it does, or no memory */
struct trace_region *trace_head_table(FILE *file, const struct trace_head_found *found);

/* Whether a file is a head of tracemap with or without data, or the beginning of one. */
bool trace_head_begins(FILE *file);

/* How each trace.dat file begins, whatever its version and machine */
#define TRACE_HEAD_MAGIC_SIZE	10

bool trace_head_magic(const char *begin);

/* The same of a file of which there are only so many bytes. */
bool trace_head_magic_cut(const char *begin, size_t size);

#endif /* _TRACEMAP_TRACE_HEAD_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mapped sub-buffers, and the account of the events found in them.
 */
#ifndef SELFTEST_RING_BUFFER_SUBBUF_H
#define SELFTEST_RING_BUFFER_SUBBUF_H

#include <linux/trace_mmap.h>

#include "tracefs.h"

/* Marks in the commit word; the rest of its low 27 bits is a length. */
#define COMMIT_LOST	0x80000000u
#define COMMIT_STORED	0x40000000u
#define COMMIT_LENGTH	((1u << 27) - 1)

/* Bytes of a kernel's long, and of what is ahead of a sub-buffer's data. */
#define KERNEL_LONG	(subbuf_layout()->kernel_long)
#define SUBBUF_HEADER	(subbuf_layout()->header)

/* Where records begin at multiples of: see RB_FORCE_8BYTE_ALIGNMENT. */
#if __riscv_xlen == 64
#define RECORD_ALIGN	8
#else
#define RECORD_ALIGN	4
#endif

struct subbuf_layout {
	int	kernel_long;
	int	header;
};

/* What events/header_page says; asked for once. */
const struct subbuf_layout *subbuf_layout(void);

/*
 * The whole mapping of one CPU's buffer. The kernel changes it in calls only,
 * so the compiler reads it anew behind each.
 */
struct mapped_buffer {
	int				fd;
	struct trace_buffer_meta	*meta;
	size_t				len;
};

int buffer_map(struct mapped_buffer *mb, const struct trace_instance *ti,
	       int cpu, int flags);
void buffer_unmap(struct mapped_buffer *mb);

/* The bytes of sub-buffer @id, header included. */
unsigned char *buffer_subbuf(const struct mapped_buffer *mb, unsigned int id);
uint32_t subbuf_commit(const void *subbuf);

/* A long as this kernel wrote it. */
uint64_t kernel_long_at(const unsigned char *p);

/* Payload that fills @percent of the buffer. */
size_t part_of_buffer(const struct mapped_buffer *mb, unsigned int percent);

/* Reads from every page of the mapping. */
void buffer_touch(const struct mapped_buffer *mb);

/* mmap() as the tests want it told: the errno, or 0 and unmapped again. */
int map_error(int fd, size_t len, int prot, int flags, unsigned long long off);

/*
 * What came out of a buffer. Events are numbered, so each one tells whether
 * exactly the announced losses lie between it and the one before.
 */
struct tally {
	uint64_t	seen;
	uint64_t	lost;		/* announced */
	uint32_t	next;		/* number of the next event, none lost */
	uint64_t	announced;	/* lost since the last event seen */
	bool		unknown_loss;	/* a loss was announced without number */
	uint64_t	misplaced;	/* gaps that were not announced exactly */
	uint64_t	malformed;	/* records that cannot be */
	uint64_t	padding;	/* records of padding, discarded ones too */
	uint64_t	others;		/* data records of other writers */
};

/* Counts an event that came out of a record of @len bytes. */
void tally_event(struct tally *t, const unsigned char *data, size_t len);

/* Losses between the last event and the next one. */
void announce_loss(struct tally *t, uint64_t lost);

/* Counts the records in bytes @from to @to of a sub-buffer's data. */
void tally_data(struct tally *t, const unsigned char *data, size_t from,
		size_t to);

/* Counts a sub-buffer as read(2) or splice(2) delivers it. */
void tally_page(struct tally *t, const unsigned char *page, size_t len);

/* read(2)s all there is. Returns the number of reads that gave data. */
long tally_read(struct tally *t, int fd, size_t subbuf_size);

/* One GET_READER and what it handed out; returns the bytes, or an errno. */
long tally_get_reader(struct tally *t, const struct mapped_buffer *mb);

/* GET_READER until nothing is new. Returns the calls that gave data. */
long tally_drain(struct tally *t, const struct mapped_buffer *mb);

/* Nothing was malformed, and every loss was told where it happened. */
bool tally_exact(const struct tally *t);

#endif /* SELFTEST_RING_BUFFER_SUBBUF_H */

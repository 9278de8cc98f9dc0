/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of the ring buffer that ring_buffer_live.c and ring_buffer_observer.c
 * use and that differ between versions of Linux.
 *
 * This file is included in ring_buffer.c.
 */
#ifndef _RING_BUFFER_BASE_H
#define _RING_BUFFER_BASE_H

/* Return how many bytes of records a sub-buffer has room for. */
static inline unsigned long rb_subbuf_capacity(struct trace_buffer *buffer)
{
	return buffer->subbuf_size;
}

/*
 * Keep a CPU's sub-buffers, their number and their size as they are until
 * rb_release_subbufs(). Returns what ring_buffer_map() returns.
 */
static inline int rb_hold_subbufs(struct trace_buffer *buffer, int cpu)
{
	return ring_buffer_map(buffer, cpu);
}

static inline void rb_release_subbufs(struct trace_buffer *buffer, int cpu)
{
	ring_buffer_unmap(buffer, cpu);
}

/* Store nothing in @subbufs, because the mapping has a list of the sub-buffers. */
static inline void rb_find_subbufs(struct ring_buffer_per_cpu *cpu_buffer,
				   struct buffer_page **subbufs)
{
}

/* Return sub-buffer @id, 0 to nr_pages. The caller holds the sub-buffers. */
static inline struct buffer_page *
rb_found_subbuf(struct ring_buffer_per_cpu *cpu_buffer,
		struct buffer_page **subbufs, unsigned long id)
{
	return cpu_buffer->subbufs[id];
}

/* Return how many events had been overwritten when the reader page was taken. */
static inline u64 rb_reader_overrun(struct ring_buffer_per_cpu *cpu_buffer)
{
	return cpu_buffer->reader_overrun;
}

#endif /* _RING_BUFFER_BASE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of the ring buffer that ring_buffer_live.c and ring_buffer_observer.c
 * use and that differ between versions of Linux.
 *
 * This file is included in ring_buffer.c.
 */
#ifndef _RING_BUFFER_BASE_H
#define _RING_BUFFER_BASE_H

/* Return whether the buffer is in memory that is kept across a reboot. */
static inline bool rb_is_persistent(struct trace_buffer *buffer)
{
	return buffer->range_addr_start;
}

#endif /* _RING_BUFFER_BASE_H */

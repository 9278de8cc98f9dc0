/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of trace.c that trace_live.c uses and that differ between versions of
 * Linux.
 *
 * This file is included in trace.c.
 */
#ifndef _TRACE_BASE_H
#define _TRACE_BASE_H

/* Expand the buffers of the top level from their boot-time minimum. */
static inline int trace_live_update_buffers(struct trace_array *tr)
{
	return tracing_update_buffers();
}

#endif /* _TRACE_BASE_H */

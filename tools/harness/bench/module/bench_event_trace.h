/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM bench

#if !defined(_BENCH_EVENT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _BENCH_EVENT_TRACE_H

#include <linux/tracepoint.h>

/* The one event that every way of reading is fed with. */
TRACE_EVENT(bench_event,

	TP_PROTO(const u8 *payload, unsigned int size),

	TP_ARGS(payload, size),

	TP_STRUCT__entry(
		__dynamic_array(u8, payload, size)
	),

	TP_fast_assign(
		memcpy(__get_dynamic_array(payload), payload, size);
	),

	TP_printk("%s", __print_hex(__get_dynamic_array(payload),
				    __get_dynamic_array_len(payload)))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE bench_event_trace
#include <trace/define_trace.h>

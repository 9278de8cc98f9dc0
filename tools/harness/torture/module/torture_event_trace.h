/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM torture

#if !defined(_TORTURE_EVENT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TORTURE_EVENT_TRACE_H

#include <linux/tracepoint.h>

/*
 * The number is taken when there is room for the event, so that what is dropped
 * has none. One that is not to be kept has none either: a filter discards it.
 */
TRACE_EVENT(torture_event,

	TP_PROTO(struct torture_writer *writer, unsigned int words, bool keep),

	TP_ARGS(writer, words, keep),

	TP_STRUCT__entry(
		__field(u32, seq)
		__field(u32, sum)
		__field(u8, cpu)
		__field(u8, ctx)
		__field(u16, keep)
		__dynamic_array(u32, payload, words)
	),

	TP_fast_assign(
		__entry->seq = torture_number(writer, keep);
		__entry->cpu = writer->cpu;
		__entry->ctx = writer->ctx;
		__entry->keep = keep;
		__entry->sum = torture_fill(__get_dynamic_array(payload), words,
					    __entry->seq, writer->cpu, writer->ctx);
	),

	TP_printk("cpu=%u ctx=%u seq=%u keep=%u good=%d",
		  __entry->cpu, __entry->ctx, __entry->seq, __entry->keep,
		  __entry->sum == torture_sum(__get_dynamic_array(payload),
					      __get_dynamic_array_len(payload) / 4,
					      __entry->seq, __entry->cpu, __entry->ctx))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE torture_event_trace
#include <trace/define_trace.h>

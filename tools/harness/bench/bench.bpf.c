// SPDX-License-Identifier: GPL-2.0
/* Copies the payload of bench_event, with a time stamp, into a BPF ring buffer. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bench.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);	/* the loader knows better */
} records SEC(".maps");

/*
 * The verifier wants to know the size of a record: a program for each. It is
 * no variable of the program, since those take a kernel with networking.
 */
#define COPY_EVENT(payload)						\
SEC("raw_tp/bench_event")						\
int copy_##payload(struct bpf_raw_tracepoint_args *ctx)			\
{									\
	struct bpf_record *record;					\
									\
	record = bpf_ringbuf_reserve(&records, sizeof(*record) + payload, 0); \
	if (!record)							\
		return 0;						\
	record->ts = bpf_ktime_get_ns();				\
	record->size = payload;						\
	bpf_probe_read_kernel(record + 1, payload, (const void *)ctx->args[0]); \
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);			\
	return 0;							\
}

COPY_EVENT(8)
COPY_EVENT(32)
COPY_EVENT(128)

char licence[] SEC("license") = "GPL";

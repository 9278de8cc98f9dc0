// SPDX-License-Identifier: GPL-2.0
/* For each getpriority(NUMBERED, number), a sample in the perf buffer of its CPU. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stddef.h>

#include "numbered.h"

/* As in events/syscalls/sys_enter_getpriority/format */
struct getpriority_args {
	unsigned long long common;
	long nr;
	unsigned long which;
	unsigned long who;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(int));
	__uint(value_size, sizeof(int));
} buffers SEC(".maps");

SEC("tp/syscalls/sys_enter_getpriority")
int put_numbered(struct getpriority_args *args)
{
	struct numbered sample;

	if (args->which != NUMBERED)
		return 0;
	sample.ts = bpf_ktime_get_ns();
	sample.number = args->who;
	sample.cpu = bpf_get_smp_processor_id();
	sample.words = numbered_words(sample.number);
#pragma unroll
	for (int i = 0; i < NUMBERED_WORDS; i++)
		sample.word[i] = sample.number;
	bpf_perf_event_output(args, &buffers, BPF_F_CURRENT_CPU, &sample,
			      offsetof(struct numbered, word) +
			      sizeof(sample.word[0]) * numbered_words(args->who));
	return 0;
}

char licence[] SEC("license") = "GPL";

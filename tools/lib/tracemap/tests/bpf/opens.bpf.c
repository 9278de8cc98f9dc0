// SPDX-License-Identifier: GPL-2.0
/*
 * For each file in /bpf that is opened, a sample in the perf buffer of the CPU, and the same
 * in a ring buffer of all CPUs.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stddef.h>

#include "opens.h"

/* As in events/syscalls/sys_enter_openat/format */
struct openat_args {
	unsigned long long common;
	long nr;
	long dfd;
	const char *name;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(int));
	__uint(value_size, sizeof(int));
} buffers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} ring SEC(".maps");

SEC("tp/syscalls/sys_enter_openat")
int put_open(struct openat_args *args)
{
	static const char in[] = "/bpf/";
	struct open_sample sample = {};
	long len;

	sample.ts = bpf_ktime_get_ns();
	sample.pid = bpf_get_current_pid_tgid() >> 32;
	len = bpf_probe_read_user_str(sample.name, sizeof(sample.name), args->name);
	if (len < (long)sizeof(in))
		return 0;
#pragma unroll
	for (unsigned int i = 0; i < sizeof(in) - 1; i++) {
		if (sample.name[i] != in[i])
			return 0;
	}
	len += offsetof(struct open_sample, name);
	bpf_perf_event_output(args, &buffers, BPF_F_CURRENT_CPU, &sample, len);
	bpf_ringbuf_output(&ring, &sample, len, 0);
	return 0;
}

char licence[] SEC("license") = "GPL";

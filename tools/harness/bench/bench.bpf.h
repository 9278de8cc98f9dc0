/* SPDX-License-Identifier: GPL-2.0 */
/* What the BPF program puts into its ring buffer, followed by the payload. */
struct bpf_record {
	unsigned long long ts;
	unsigned int size;
	unsigned int unused;
};

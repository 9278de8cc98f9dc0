/* SPDX-License-Identifier: GPL-2.0 */
/* What the BPF program sends of each file in /bpf that is opened, up to the end of its name. */
struct open_sample {
	unsigned long long ts;
	unsigned int pid;
	char name[64];			/* ends with a 0 byte */
};

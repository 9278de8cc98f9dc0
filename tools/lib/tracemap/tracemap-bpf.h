/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * libtracemap-bpf: the per-CPU perf buffers of libbpf as sources of records.
 *
 *	struct perf_buffer *pb = perf_buffer__new(map_fd, 64, NULL, NULL, NULL, NULL);
 *	struct tracemap_perf *p;
 *	struct tracemap_source source;
 *	struct tracemap_merge *m;
 *
 *	ret = tracemap_merge_new(&m, NULL);
 *	for (i = 0; i < perf_buffer__buffer_cnt(pb); i++) {
 *		ret = tracemap_perf_open(&p, pb, i, TRACEMAP_PERF_ONLINE, NULL);
 *		tracemap_perf_source(p, &source);
 *		ret = tracemap_merge_add_source(m, &source);
 *	}
 *
 * A BPF program that calls bpf_perf_event_output() puts its time stamp,
 * bpf_ktime_get_ns(), into the sample, at the start if nothing else is said.
 *
 * Records are handed out in place, one that goes past the end of the ring as
 * a whole copy. The kernel gets the room back when a record is released, not
 * before. Whoever reads a buffer this way reads it alone: calls like
 * perf_buffer__poll() and perf_buffer__consume() take records too.
 *
 * Perf tells of a wakeup once. Take records until there are none before you
 * wait, whether by perf_buffer__epoll_fd() or by perf_buffer__buffer_fd().
 */
#ifndef _TRACEMAP_BPF_H
#define _TRACEMAP_BPF_H

#include "tracemap.h"

#ifdef __cplusplus
extern "C" {
#endif

struct perf_buffer;
struct perf_event_mmap_page;
struct tracemap_perf;

/* The CPU of a buffer: that of this index among those online now. */
#define TRACEMAP_PERF_ONLINE	(-1)

/**
 * struct tracemap_perf_options - how samples are to be understood
 * @size: sizeof(struct tracemap_perf_options): it may grow
 * @flags: TRACEMAP_FROM_NOW
 * @stamp_offset: where in a sample its time stamp is: a u64 in the machine's
 *	byte order, aligned or not
 * @sample_type: that of the struct perf_event_attr for perf_buffer__new_raw();
 *	0: as perf_buffer__new() has it. With PERF_SAMPLE_TIME the time stamp
 *	is perf's, and @stamp_offset is not looked at
 * @stamp: tells the time stamp of a sample, instead of all this; may be NULL
 * @arg: handed to @stamp
 */
struct tracemap_perf_options {
	size_t size;
	uint32_t flags;
	uint32_t stamp_offset;
	uint64_t sample_type;
	uint64_t (*stamp)(void *arg, const void *sample, uint32_t size);
	void *arg;
};

/* The options that NULL stands for: from the oldest, a stamp comes first. */
static inline struct tracemap_perf_options tracemap_perf_default_options(void)
{
	struct tracemap_perf_options options;

	memset(&options, 0, sizeof(options));
	options.size = sizeof(options);
	return options;
}

int tracemap_perf_open(struct tracemap_perf **perf, struct perf_buffer *pb,
		       unsigned int index, int cpu,
		       const struct tracemap_perf_options *options);
int tracemap_perf_open_ring(struct tracemap_perf **perf, void *base, size_t size,
			    int cpu, const struct tracemap_perf_options *options);
void tracemap_perf_close(struct tracemap_perf *perf);

int tracemap_perf_next(struct tracemap_perf *perf, struct tracemap_record *rec);
void tracemap_perf_release(struct tracemap_perf *perf);
int tracemap_perf_discard(struct tracemap_perf *perf);
void tracemap_perf_source(struct tracemap_perf *perf,
			  struct tracemap_source *source);

uint64_t tracemap_perf_fill(const struct tracemap_perf *perf);

/**
 * struct tracemap_perf_raw - the memory of a buffer, for one's own reader
 * @page: where the kernel tells data_head, and the reader data_tail
 * @data: the ring
 * @data_size: bytes of it, a power of two
 * @fd: readable when there is something new, perf_buffer__buffer_fd(); -1 after
 *	tracemap_perf_open_ring()
 */
struct tracemap_perf_raw {
	struct perf_event_mmap_page *page;
	const void *data;
	size_t data_size;
	int fd;
};

void tracemap_perf_raw(const struct tracemap_perf *perf,
		       struct tracemap_perf_raw *raw);

#ifdef __cplusplus
}
#endif

#endif /* _TRACEMAP_BPF_H */

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
 * bpf_ktime_get_ns(), into the sample, at the start unless the options say where.
 *
 * Records are handed out in place; a record that wraps around the end of the ring is
 * handed out as a copy. The kernel gets the room back when the record is released.
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

/* As the CPU of a buffer: the one that has the buffer's index among those online now. */
#define TRACEMAP_PERF_ONLINE	(-1)

/**
 * struct tracemap_perf_options - how to read the samples of a perf buffer
 * @size: sizeof(struct tracemap_perf_options), since a later version may add members
 * @flags: TRACEMAP_FROM_NOW passes over the samples that are there already
 * @stamp_offset: where in a sample its time stamp is: a u64 in the machine's byte order,
 *	aligned or not
 * @sample_type: the member of this name of the struct perf_event_attr that was given to
 *	perf_buffer__new_raw(); 0 for that of perf_buffer__new(). With PERF_SAMPLE_TIME
 *	the time stamp is perf's, and @stamp_offset is ignored
 * @stamp: a function that returns the time stamp of a sample, instead of both; may be
 *	NULL
 * @arg: the first argument of @stamp
 */
struct tracemap_perf_options {
	size_t size;
	uint32_t flags;
	uint32_t stamp_offset;
	uint64_t sample_type;
	uint64_t (*stamp)(void *arg, const void *sample, uint32_t size);
	void *arg;
};

/**
 * tracemap_perf_default_options - the options that NULL stands for
 *
 * Begin with these, and set what is to be different.
 *
 * Return: options to read from the oldest sample on, where each sample begins with a u64
 * that is its time stamp, such as what bpf_ktime_get_ns() returns
 */
static inline struct tracemap_perf_options tracemap_perf_default_options(void)
{
	struct tracemap_perf_options options;

	memset(&options, 0, sizeof(options));
	options.size = sizeof(options);
	return options;
}

/**
 * tracemap_perf_open - open one perf buffer of libbpf
 * @perf: set to a new handle; left alone on failure
 * @pb: what perf_buffer__new() or perf_buffer__new_raw() returned; it has to exist until
 *	the handle is closed
 * @index: which buffer, below perf_buffer__buffer_cnt()
 * @cpu: the number that its records get as their CPU, since libbpf does not tell it.
 *	TRACEMAP_PERF_ONLINE is number @index of the CPUs online, which is right unless
 *	perf_buffer__new_raw() was given CPUs, or one came or went since
 * @options: how to read it; NULL for tracemap_perf_default_options()
 *
 * From then on, do not call perf_buffer__poll() or perf_buffer__consume(): they take
 * samples, too.
 *
 * Return: 0, or a negative errno, also one of those of tracemap_perf_open_ring() and of
 * perf_buffer__buffer()
 * * -EINVAL - There is no such buffer or CPU.
 * * -ENOENT - There are not that many CPUs online: give the number of the CPU.
 */
int tracemap_perf_open(struct tracemap_perf **perf, struct perf_buffer *pb,
		       unsigned int index, int cpu,
		       const struct tracemap_perf_options *options);

/**
 * tracemap_perf_open_ring - open a perf buffer that was mapped without libbpf
 * @perf: set to a new handle; left alone on failure
 * @base: what mmap(2) of the perf event's descriptor returned; it must be mapped
 *	writable, or else the kernel overwrites samples that were not read
 * @size: bytes mapped there
 * @cpu: the number that its records get as their CPU
 * @options: how to read it; NULL for tracemap_perf_default_options()
 *
 * Return: 0, or a negative errno
 * * -EINVAL - The memory is no perf buffer, or the options make no sense: among them a
 *   @sample_type without PERF_SAMPLE_RAW.
 * * -E2BIG - The options have something that this version of the library does not know.
 * * -EOPNOTSUPP - The sample type has PERF_SAMPLE_READ or PERF_SAMPLE_CALLCHAIN, or the
 *   kernel is older than 4.1.
 * * -EBADMSG - The positions in the buffer, data_head and data_tail, are damaged.
 * * -ENOMEM - There is no memory.
 */
int tracemap_perf_open_ring(struct tracemap_perf **perf, void *base, size_t size,
			    int cpu, const struct tracemap_perf_options *options);

/**
 * tracemap_perf_close - close a buffer
 * @perf: the handle, or NULL
 *
 * Samples that were not released stay in the buffer.
 */
void tracemap_perf_close(struct tracemap_perf *perf);

/**
 * tracemap_perf_next - get the oldest sample that was not released
 * @perf: the handle
 * @rec: filled, if there is a sample. Its data are aligned to 4 bytes only, and its @size
 *	may be up to 7 bytes more than what the program sent. It has TRACEMAP_FRESH in its
 *	flags if the call looked for new samples
 *
 * The sample is valid, and takes room in the buffer, until tracemap_perf_release().
 * Before that, the call returns the same sample again. The kernel reports lost samples
 * when the next sample finds room, so the last loss is not known until then.
 *
 * Take samples until there are none before you wait, by perf_buffer__epoll_fd() or by
 * perf_buffer__buffer_fd(): perf reports a wakeup once.
 *
 * Return: 1 if there is a sample, 0 if there is none yet, or a negative errno
 * * -EBADMSG - The buffer is damaged, or a sample has no room for its time stamp. The
 *   error stays until tracemap_perf_discard(), and a merge that got it does not ask this
 *   source again.
 */
int tracemap_perf_next(struct tracemap_perf *perf, struct tracemap_record *rec);

/**
 * tracemap_perf_release - give the room of a sample back to the kernel
 * @perf: the handle
 *
 * The sample is the one that tracemap_perf_next() returned; without one, the call does
 * nothing.
 */
void tracemap_perf_release(struct tracemap_perf *perf);

/**
 * tracemap_perf_discard - throw away all samples in the buffer
 * @perf: the handle
 *
 * If there were any, the next record says that an unknown number was missed.
 *
 * Return: 0, or a negative errno
 * * -EBADMSG - The buffer can no longer be used: close it.
 */
int tracemap_perf_discard(struct tracemap_perf *perf);

/**
 * tracemap_perf_source - fill the source for tracemap_merge_add_source()
 * @perf: the handle, which has to stay open as long as the merge has it
 * @source: filled
 *
 * The merge then calls tracemap_perf_next() and tracemap_perf_release().
 */
void tracemap_perf_source(struct tracemap_perf *perf,
			  struct tracemap_source *source);

/**
 * tracemap_perf_fill - how full a buffer is
 * @perf: the handle
 *
 * Return: how many bytes the kernel cannot write to, because their samples were not
 * released
 */
uint64_t tracemap_perf_fill(const struct tracemap_perf *perf);

/**
 * struct tracemap_perf_raw - the memory of a perf buffer, for a reader of the caller's own
 * @page: the page where the kernel stores data_head, and a reader data_tail
 * @data: the ring
 * @data_size: bytes of the ring, a power of two
 * @fd: a descriptor that is readable when there is something new, as
 *	perf_buffer__buffer_fd() returns it; -1 after tracemap_perf_open_ring()
 */
struct tracemap_perf_raw {
	struct perf_event_mmap_page *page;
	const void *data;
	size_t data_size;
	int fd;
};

/**
 * tracemap_perf_raw - find the memory of a buffer
 * @perf: the handle
 * @raw: filled
 *
 * A reader has to load data_head with acquire semantics, and to store data_tail with
 * release semantics. To go on with the calls of this library afterwards, open a new
 * handle: the old one does not see a data_tail that it did not store.
 */
void tracemap_perf_raw(const struct tracemap_perf *perf,
		       struct tracemap_perf_raw *raw);

#ifdef __cplusplus
}
#endif

#endif /* _TRACEMAP_BPF_H */

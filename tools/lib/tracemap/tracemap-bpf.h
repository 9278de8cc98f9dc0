/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * What BPF programs send, as sources of a merge: by
 * bpf_perf_event_output() into the perf buffer of each CPU, or into BPF ring buffers.
 *
 *	struct tracemap_bpf *bpf;
 *
 *	ret = tracemap_merge_new(&m, NULL);
 *	ret = tracemap_bpf_new(&bpf, m);
 *	ret = tracemap_bpf_add(bpf, bpf_object__find_map_fd_by_name(object, "buffers"),
 *			       0, 1 << 18, stamp);
 *	for (;;) {
 *		while ((ret = tracemap_merge_next(m, &rec)) > 0)
 *			use(rec.cpu, rec.ts, rec.data, rec.size, rec.missed);
 *		if (ret < 0)
 *			break;
 *		ret = tracemap_bpf_wait(bpf, tracemap_merge_timeout(m, -1));
 *		if (ret < 0)
 *			break;
 *	}
 *
 * Records are handed out in place; one that wraps around the end of a perf buffer is handed
 * out as a copy. The kernel gets the room of a record back when the merge goes on to the next
 * of the same ring.
 */
#ifndef _TRACEMAP_BPF_H
#define _TRACEMAP_BPF_H

#include "tracemap.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tracemap_bpf;

/**
 * typedef tracemap_bpf_stamp - find the time stamp of a record
 * @data: the record
 * @size: bytes of it
 *
 * Return: the time stamp, such as what bpf_ktime_get_ns() had returned to the program
 */
typedef uint64_t tracemap_bpf_stamp(const void *data, uint32_t size);

/**
 * tracemap_bpf_new - prepare to read what BPF programs send
 * @bpf: set to a new handle; left alone on failure
 * @m: the merge that is to have the records; other sources may be in it, too
 *
 * Return: 0, or a negative errno
 * * -ENOMEM - There is no memory.
 * * -EMFILE - There are too many descriptors.
 */
int tracemap_bpf_new(struct tracemap_bpf **bpf, struct tracemap_merge *m);

/**
 * tracemap_bpf_add - read a map of the type PERF_EVENT_ARRAY or RINGBUF
 * @bpf: the handle
 * @map_fd: the map, which has to stay open until tracemap_bpf_close(); nothing else may
 *	read it
 * @number: what records have as their CPU: in a perf buffer it is the CPU plus this number,
 *	in a ring buffer it is this number
 * @bytes: of the perf buffer of each CPU: a power of two, and a page at least. A ring buffer
 *	has the size that its program says
 * @stamp: a function that returns the time stamp of a record. The data of a perf buffer are
 *	aligned to 4 bytes only, and their size is up to 7 bytes more than what was sent
 *
 * A perf buffer is opened for each CPU that is online. The kernel reports how many samples it
 * has lost when the next one finds room, and the missed of that record has the number. Of a
 * ring buffer the kernel counts no loss: the program has to, where its call fails.
 *
 * Records of one ring come as they are in the ring. If several CPUs share a ring buffer, they may
 * not be in the order of time there, since a program takes its time stamp before or after its
 * place in the ring: a record that is older than one before it is TRACEMAP_LATE.
 *
 * A call that fails adds nothing, unless it is the merge that has no memory (ENOMEM).
 *
 * Return: 0, or a negative errno, also one of those of bpf(2), perf_event_open(2) and mmap(2)
 * * -EINVAL - The map has another type, or @bytes is no size for a perf buffer.
 * * -EOPNOTSUPP - The ring buffer can be overwritten (BPF_F_RB_OVERWRITE), or longs have
 *   32 bits.
 * * -ENODEV - No CPU of the map is online.
 */
int tracemap_bpf_add(struct tracemap_bpf *bpf, int map_fd, int number, size_t bytes,
		     tracemap_bpf_stamp *stamp);

/**
 * tracemap_bpf_wait - wait until something comes
 * @bpf: the handle
 * @timeout_ms: how long, as tracemap_merge_timeout() returns it; negative for no end
 *
 * Before it, call tracemap_merge_next() until it returns 0: what comes wakes a caller once. That
 * call fails with EBADMSG once for a ring that is damaged, and whose records end there. The
 * kernel wakes no caller for a record with BPF_RB_NO_WAKEUP, nor for those behind it.
 *
 * Return: 1 if something came, 0 if the time is over, or a negative errno
 * * -EINTR - A signal came.
 */
int tracemap_bpf_wait(struct tracemap_bpf *bpf, int timeout_ms);

/**
 * tracemap_bpf_fd - a descriptor to wait for together with others
 * @bpf: the handle
 *
 * When it is readable, call tracemap_bpf_wait() with a time of 0, whose result says nothing
 * then, and take the records: else it stays readable. Do not read, change or close it.
 *
 * Return: the descriptor, for poll(2) or tracemap_wait_with()
 */
int tracemap_bpf_fd(const struct tracemap_bpf *bpf);

/**
 * tracemap_bpf_close - close all rings
 * @bpf: the handle, or NULL
 *
 * Of the merge only tracemap_merge_free() may be called then.
 */
void tracemap_bpf_close(struct tracemap_bpf *bpf);

#ifdef __cplusplus
}
#endif

#endif /* _TRACEMAP_BPF_H */

/* SPDX-License-Identifier: LGPL-2.1 */
/* One ring that BPF programs write to, in memory. The functions are not exported. */
#ifndef _TRACEMAP_BPF_RING_H
#define _TRACEMAP_BPF_RING_H

#include "tracemap-bpf.h"

/**
 * struct bpf_ring - the perf buffer of a CPU, or a BPF ring buffer
 * @read: tracemap__read_perf() or tracemap__read_ringbuf()
 * @head_word: where the kernel stores how far it has written
 * @tail_word: where the reader stores how far it has read
 * @data: the ring; a BPF ring buffer is mapped twice, one behind the other
 * @size: bytes of the ring, a power of two
 * @stamp: the caller's function
 * @scratch: MAX_PERF_RECORD bytes for a record that wraps; NULL for a BPF ring buffer
 * @tail: what was last stored to @tail_word
 * @pos: where the next record is, behind the one handed out
 * @head: what was last loaded from @head_word
 * @told: the tail of which the kernel knows for certain, see settle()
 * @missed: samples lost that the next one has to report
 * @error: what all calls return once the ring was found to be damaged
 * @fresh: no record was handed out since the ring was last looked at for new ones
 *
 * The user sets the members up to @scratch, and the others to 0.
 */
struct bpf_ring {
	int (*read)(struct bpf_ring *ring, struct tracemap_record *rec);
	const uint64_t *head_word;
	uint64_t *tail_word;
	const unsigned char *data;
	uint64_t size;
	tracemap_bpf_stamp *stamp;
	unsigned char *scratch;
	uint64_t tail;
	uint64_t pos;
	uint64_t head;
	uint64_t told;
	uint64_t missed;
	int error;
	bool fresh;
};

/* The size of a perf record is a u16. */
enum { MAX_PERF_RECORD = 1 << 16 };

int tracemap__read_perf(struct bpf_ring *ring, struct tracemap_record *rec);
int tracemap__read_ringbuf(struct bpf_ring *ring, struct tracemap_record *rec);

void tracemap__ring_start(struct bpf_ring *ring);
int tracemap__ring_next(void *ring, struct tracemap_record *rec);
int tracemap__ring_add(struct bpf_ring *ring, struct tracemap_merge *m, int number);

#endif /* _TRACEMAP_BPF_RING_H */

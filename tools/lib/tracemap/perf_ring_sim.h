/* SPDX-License-Identifier: LGPL-2.1 */
/* Simulate a perf buffer in memory, and the kernel that writes to it, for the tests. */
#ifndef _PERF_RING_SIM_H
#define _PERF_RING_SIM_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SIM_PAGE = 4096, SIM_UNKNOWN = 0x7a };

/* The sample of a BPF program: words that are all computed from the same number. */
struct sim_sample {
	uint64_t ts;
	uint32_t number;
	uint32_t words;
	uint32_t word[64];
};

struct sim_ring {
	struct perf_event_mmap_page *page;
	unsigned char *data;
	uint64_t size;
	uint64_t head;		/* where the kernel is; not yet in data_head */
	uint64_t lost;		/* samples lost, which no record has reported yet */
};

static inline size_t sim_bytes(const struct sim_ring *ring)
{
	return SIM_PAGE + ring->size;
}

/* Allocated exactly, so that the sanitizer sees a read past the end. */
static inline void sim_init(struct sim_ring *ring, uint64_t size, uint64_t at)
{
	memset(ring, 0, sizeof(*ring));
	ring->size = size;
	ring->page = aligned_alloc(64, sim_bytes(ring));
	if (!ring->page)
		abort();
	memset(ring->page, 0x5a, sim_bytes(ring));
	memset(ring->page, 0, SIM_PAGE);
	ring->data = (unsigned char *)ring->page + SIM_PAGE;
	ring->page->data_offset = SIM_PAGE;
	ring->page->data_size = size;
	ring->page->data_head = at;
	ring->page->data_tail = at;
	ring->head = at;
}

static inline void sim_free(struct sim_ring *ring)
{
	free(ring->page);
}

static inline uint64_t sim_tail(const struct sim_ring *ring)
{
	return __atomic_load_n(&ring->page->data_tail, __ATOMIC_ACQUIRE);
}

static inline void sim_publish(struct sim_ring *ring)
{
	__atomic_store_n(&ring->page->data_head, ring->head, __ATOMIC_RELEASE);
}

static inline void sim_bytes_in(struct sim_ring *ring, const void *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		ring->data[(ring->head++) & (ring->size - 1)] = ((const unsigned char *)from)[i];
}

/* Write a record of any type, which data_head does not show yet; its header has @size. */
static inline void sim_record(struct sim_ring *ring, uint32_t type, uint16_t size,
			      const void *body, size_t bytes)
{
	struct perf_event_header header = { .type = type, .size = size };

	sim_bytes_in(ring, &header, sizeof(header));
	sim_bytes_in(ring, body, bytes);
}

static inline void sim_lost(struct sim_ring *ring, uint64_t lost)
{
	uint64_t body[2] = { 77, lost };

	sim_record(ring, PERF_RECORD_LOST, 24, body, sizeof(body));
}

static inline struct sim_sample sim_make(uint64_t ts, uint32_t number, uint32_t words)
{
	struct sim_sample sample = { .ts = ts, .number = number, .words = words };

	for (uint32_t i = 0; i < words; i++)
		sample.word[i] = number * 31 + i;
	return sample;
}

/* Bytes of the raw part without its size field, rounded up as the kernel does. */
static inline uint32_t sim_raw_size(uint32_t words)
{
	uint32_t bytes = 16 + words * sizeof(uint32_t);

	return ((bytes + 4 + 7) & ~7u) - 4;
}

static inline uint32_t sim_record_size(uint32_t words)
{
	return 8 + 4 + sim_raw_size(words);
}

static inline void sim_sample(struct sim_ring *ring, uint64_t ts, uint32_t number, uint32_t words)
{
	struct sim_sample sample = sim_make(ts, number, words);
	uint32_t raw = sim_raw_size(words);
	unsigned char body[4 + sizeof(sample) + 8] = { 0 };

	memcpy(body, &raw, 4);
	memcpy(body + 4, &sample, 16 + words * sizeof(uint32_t));
	sim_record(ring, PERF_RECORD_SAMPLE, 12 + raw, body, 4 + raw);
}

/* Like the kernel, count a sample that finds no room, and report the loss with the next one. */
static inline bool sim_write(struct sim_ring *ring, uint64_t ts, uint32_t number, uint32_t words)
{
	uint32_t need = sim_record_size(words) + (ring->lost ? 24 : 0);

	if (ring->head - sim_tail(ring) + need >= ring->size) {
		ring->lost++;
		return false;
	}
	if (ring->lost) {
		sim_lost(ring, ring->lost);
		ring->lost = 0;
	}
	sim_sample(ring, ts, number, words);
	sim_publish(ring);
	return true;
}

#endif /* _PERF_RING_SIM_H */

// SPDX-License-Identifier: LGPL-2.1
/*
 * Read a perf buffer or a BPF ring buffer in place: the kernel writes at the head, the
 * reader reads at the tail.
 *
 *	kernel				here
 *
 *	LOAD tail	(A)		LOAD head or length	(C)
 *	STORE data			LOAD data
 *	STORE head or length	(B)	STORE tail		(D)
 *
 * C is a load-acquire and pairs with B: a reader that has seen a record as written sees its
 * data. In a perf buffer the head says so. In a BPF ring buffer the head moves before the
 * data are written, and then BUSY goes from the length of the record. D is a store-release
 * and pairs with A: the kernel writes over a record only after all loads from it. A record
 * is therefore valid until the next call of tracemap__ring_next(), which moves the tail.
 *
 * Perf reports each wake-up. For a BPF ring buffer the kernel wakes only a reader that has
 * read all before the record:
 *
 *	kernel				here
 *
 *	STORE length			STORE tail
 *	full barrier	(E)		full barrier		(F)
 *	LOAD tail, wake if it		LOAD head and length, sleep if
 *	is at the record		there is no record
 *
 * E pairs with F: either the kernel sees the tail, or the reader the record.
 *
 * No other program moves the tail. This code does not trust the ring: it reads each word
 * once, checks the copy, and then uses the copy.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>

#include "bpf_ring.h"

enum { ALIGNMENT = 8 };		/* of records in both kinds of ring */

static const unsigned char *at_pos(const struct bpf_ring *r)
{
	return r->data + (r->pos & (r->size - 1));
}

/* Pass a record, which has to end before the head. */
static bool pass(struct bpf_ring *r, uint64_t size)
{
	if (size % ALIGNMENT || size > r->head - r->pos)
		return false;
	r->pos += size;
	return true;
}

/* ---- Perf buffers ---- */

/* The record at pos, where it is in the ring, or a copy of it if it wraps. */
static const unsigned char *whole_record(const struct bpf_ring *r, uint32_t size)
{
	uint64_t room = r->size - (r->pos & (r->size - 1));

	if (size <= room)
		return at_pos(r);
	memcpy(r->scratch, at_pos(r), room);
	memcpy(r->scratch + room, r->data, size - room);
	return r->scratch;
}

static int read_sample(const unsigned char *record, uint32_t size, struct tracemap_record *rec)
{
	const uint32_t start = sizeof(struct perf_event_header) + sizeof(rec->size);

	if (size < start)
		return -EBADMSG;
	memcpy(&rec->size, record + start - sizeof(rec->size), sizeof(rec->size));
	if (rec->size > size - start)
		return -EBADMSG;
	rec->data = record + start;
	return 1;
}

/* A number follows the id of the event. */
static int read_lost(struct bpf_ring *r, const unsigned char *record, uint32_t size)
{
	const uint32_t start = sizeof(struct perf_event_header) + sizeof(uint64_t);
	uint64_t lost;

	if (size < start + sizeof(lost))
		return -EBADMSG;
	memcpy(&lost, record + start, sizeof(lost));
	r->missed += lost;
	return 0;
}

/* Read and pass a record. A header does not wrap, since all sizes are multiples of its own. */
int tracemap__read_perf(struct bpf_ring *r, struct tracemap_record *rec)
{
	struct perf_event_header header;
	const unsigned char *record;

	memcpy(&header, at_pos(r), sizeof(header));
	if (header.size < sizeof(header) || header.size > r->head - r->pos)
		return -EBADMSG;
	record = whole_record(r, header.size);
	if (!pass(r, header.size))
		return -EBADMSG;
	switch (header.type) {
	case PERF_RECORD_SAMPLE:
		return read_sample(record, header.size, rec);
	case PERF_RECORD_LOST:
		return read_lost(r, record, header.size);
	}
	return 0;
}

/* ---- BPF ring buffers ---- */

/* Read and pass a record, unless its program still writes it. No record wraps. */
int tracemap__read_ringbuf(struct bpf_ring *r, struct tracemap_record *rec)
{
	const unsigned char *record = at_pos(r);
	/* C, pairs with B */
	uint32_t length = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);
	uint64_t size = length & ~(uint32_t)BPF_RINGBUF_DISCARD_BIT;

	if (length & BPF_RINGBUF_BUSY_BIT)
		return -EAGAIN;
	rec->data = record + BPF_RINGBUF_HDR_SZ;
	rec->size = size;
	size = (BPF_RINGBUF_HDR_SZ + size + ALIGNMENT - 1) & -(uint64_t)ALIGNMENT;
	if (!pass(r, size))
		return -EBADMSG;
	return !(length & BPF_RINGBUF_DISCARD_BIT);
}

/* ---- Both ---- */

/* Load how far the kernel has written. */
static int load_head(struct bpf_ring *r)
{
	/* C, pairs with B */
	uint64_t head = __atomic_load_n(r->head_word, __ATOMIC_ACQUIRE);

	if (head % ALIGNMENT || head - r->pos > r->size - (r->pos - r->tail))
		return -EBADMSG;
	r->fresh |= head != r->head;
	r->head = head;
	return 0;
}

/* Give all before pos back to the kernel. */
static void store_tail(struct bpf_ring *r)
{
	if (r->tail == r->pos)
		return;
	r->tail = r->pos;
	/* D, pairs with A */
	__atomic_store_n(r->tail_word, r->tail, __ATOMIC_RELEASE);
}

/*
 * Nothing was found. Returns whether to look again, since the kernel may not have known how
 * far the reader is, and may therefore have woken no reader.
 */
static bool settle(struct bpf_ring *r)
{
	if (r->told == r->pos)
		return false;
	store_tail(r);
	r->told = r->pos;
	/* F, pairs with E */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return true;
}

/* Read up to the next sample. Returns 1, -EAGAIN if there is none yet, or -EBADMSG. */
static int find(struct bpf_ring *r, struct tracemap_record *rec)
{
	int ret;

	do {
		ret = r->pos == r->head ? load_head(r) : 0;
		if (!ret && r->pos == r->head)
			return -EAGAIN;
		if (!ret)
			ret = r->read(r, rec);
	} while (!ret);
	r->fresh |= ret == -EAGAIN;
	return ret;
}

/* The function of the source, which releases the record before, too. */
int tracemap__ring_next(void *arg, struct tracemap_record *rec)
{
	struct bpf_ring *r = arg;
	int ret = r->error;

	if (ret)
		return ret;
	store_tail(r);
	do {
		ret = find(r, rec);
	} while (ret == -EAGAIN && settle(r));
	if (ret == -EAGAIN)
		return 0;
	r->error = ret < 0 ? ret : 0;
	if (ret < 0)
		return ret;
	rec->ts = r->stamp(rec->data, rec->size);
	rec->missed = r->missed;
	rec->flags = r->fresh ? TRACEMAP_FRESH : 0;
	r->missed = 0;
	r->fresh = false;
	return 1;
}

/* Begin at the tail, which the reader alone moves: it can be loaded without a barrier. */
void tracemap__ring_start(struct bpf_ring *r)
{
	r->tail = __atomic_load_n(r->tail_word, __ATOMIC_RELAXED);
	r->pos = r->tail;
	r->head = r->tail;
	r->told = r->tail;
}

int tracemap__ring_add(struct bpf_ring *ring, struct tracemap_merge *m, int number)
{
	struct tracemap_source source = {
		.size = sizeof(source),
		.cpu = number,
		.arg = ring,
		.next = tracemap__ring_next,
	};

	return tracemap_merge_add_source(m, &source);
}

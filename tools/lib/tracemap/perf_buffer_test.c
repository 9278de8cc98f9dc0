// SPDX-License-Identifier: LGPL-2.1
/*
 * Test perf_buffer.c with perf buffers in memory, perf_ring_sim.h, without a kernel and
 * without libbpf: this file has the functions of libbpf that are called.
 */
#define _GNU_SOURCE
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "perf_ring_sim.h"
#include "tracemap-bpf.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static int failures;

static bool check_at(bool ok, const char *what, const char *func, int line)
{
	if (!ok && __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED) <= 10)
		printf("# %s:%d: not so: %s\n", func, line, what);
	return ok;
}

#define check(cond)	check_at(cond, #cond, __func__, __LINE__)

/* ---- What stands in for libbpf ---- */

struct perf_buffer {
	struct sim_ring *rings;
	size_t nr;
	size_t larger;		/* what it says the ring has, beyond what it has */
	int error;
};

size_t perf_buffer__buffer_cnt(const struct perf_buffer *pb)
{
	return pb->nr;
}

int perf_buffer__buffer(struct perf_buffer *pb, int index, void **base, size_t *size)
{
	if (pb->error)
		return pb->error;
	*base = pb->rings[index % 2].page;
	*size = pb->rings[index % 2].size + pb->larger;
	return 0;
}

int perf_buffer__buffer_fd(const struct perf_buffer *pb, size_t index)
{
	return pb->nr + index;
}

/* ---- Helpers ---- */

static struct tracemap_perf *open_ring(struct sim_ring *ring,
				       const struct tracemap_perf_options *options)
{
	struct tracemap_perf *perf = NULL;

	if (!check(!tracemap_perf_open_ring(&perf, ring->page, sim_bytes(ring), 3, options)))
		abort();
	return perf;
}

static bool is_sample(const struct tracemap_record *rec, uint64_t ts, uint32_t number,
		      uint32_t words)
{
	struct sim_sample want = sim_make(ts, number, words);

	return check(rec->data) && check(rec->size == sim_raw_size(words)) &&
	       check(rec->ts == ts) && check(rec->cpu == 3) &&
	       check(!(rec->flags & ~TRACEMAP_FRESH)) &&
	       check(!memcmp(rec->data, &want, 16 + words * sizeof(uint32_t)));
}

static bool next_is(struct tracemap_perf *perf, uint64_t ts, uint32_t number,
		    uint32_t words, uint64_t missed)
{
	struct tracemap_record rec;

	return check(tracemap_perf_next(perf, &rec) == 1) &&
	       is_sample(&rec, ts, number, words) && check(rec.missed == missed);
}

static int next(struct tracemap_perf *perf)
{
	struct tracemap_record rec;

	return tracemap_perf_next(perf, &rec);
}

/* ---- The tests ---- */

static void wraps_at(uint64_t at, uint64_t size, uint32_t words)
{
	uint64_t in_record = 12, offset, end;
	struct tracemap_record rec;
	struct tracemap_perf *perf;
	struct sim_ring ring;
	bool in_place;

	sim_init(&ring, size, at);
	perf = open_ring(&ring, NULL);
	check(next(perf) == 0);
	sim_sample(&ring, 99, 7, words);
	sim_publish(&ring);
	check(tracemap_perf_next(perf, &rec) == 1);
	is_sample(&rec, 99, 7, words);

	offset = at & (size - 1);
	end = offset + sim_record_size(words);
	in_place = (const unsigned char *)rec.data == ring.data + offset + in_record;
	check(in_place == (end <= size));
	check(sim_tail(&ring) == at);
	tracemap_perf_release(perf);
	check(sim_tail(&ring) == ring.head);
	check(next(perf) == 0);
	tracemap_perf_close(perf);
	sim_free(&ring);
}

/* Sizes that fill the ring to the last byte are among them. */
static void test_wrap_at_each_offset(void)
{
	const uint64_t bases[] = { 0, 1ull << 32, 0 - 256ull, (1ull << 63) - 128 };

	for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
		for (uint64_t at = 0; at < 256; at += 8) {
			for (uint32_t words = 0; words <= 57; words++)
				wraps_at(bases[i] + at, 256, words);
		}
	}
}

static void test_tail_moves_on_release_only(void)
{
	struct tracemap_perf *perf;
	struct sim_ring ring;
	uint64_t end[3];

	sim_init(&ring, 512, 448);
	perf = open_ring(&ring, NULL);
	for (int i = 0; i < 3; i++) {
		sim_sample(&ring, i, i, i);
		end[i] = ring.head;
	}
	sim_publish(&ring);
	for (int i = 0; i < 3; i++) {
		uint64_t before = i ? end[i - 1] : 448;

		check(sim_tail(&ring) == before);
		check(tracemap_perf_fill(perf) == ring.head - before);
		for (int again = 0; again < 3; again++)
			next_is(perf, i, i, i, 0);
		check(sim_tail(&ring) == before);
		check(tracemap_perf_fill(perf) == ring.head - before);
		tracemap_perf_release(perf);
		check(sim_tail(&ring) == end[i]);
		tracemap_perf_release(perf);
		check(sim_tail(&ring) == end[i]);
	}
	check(next(perf) == 0);
	check(tracemap_perf_fill(perf) == 0);
	tracemap_perf_close(perf);
	sim_free(&ring);
}

/* A handle that is closed leaves what it did not release to the next one. */
static void test_close_leaves_the_rest(void)
{
	struct tracemap_perf_options options = tracemap_perf_default_options();
	struct tracemap_perf *perf;
	struct sim_ring ring;

	sim_init(&ring, 512, 0);
	for (int i = 0; i < 3; i++)
		sim_sample(&ring, i, i, i);
	sim_publish(&ring);
	perf = open_ring(&ring, NULL);
	next_is(perf, 0, 0, 0, 0);
	tracemap_perf_release(perf);
	next_is(perf, 1, 1, 1, 0);
	tracemap_perf_close(perf);

	perf = open_ring(&ring, NULL);
	next_is(perf, 1, 1, 1, 0);
	tracemap_perf_close(perf);

	options.flags = TRACEMAP_FROM_NOW;
	perf = open_ring(&ring, &options);
	check(sim_tail(&ring) == ring.head);
	check(next(perf) == 0);
	sim_sample(&ring, 4, 4, 4);
	sim_publish(&ring);
	next_is(perf, 4, 4, 4, 0);
	tracemap_perf_close(perf);
	tracemap_perf_close(NULL);
	sim_free(&ring);
}

static void lost_at(uint64_t at)
{
	struct tracemap_perf *perf;
	struct sim_ring ring;

	sim_init(&ring, 512, at);
	perf = open_ring(&ring, NULL);
	sim_sample(&ring, 1, 1, 2);
	sim_lost(&ring, 5);
	sim_sample(&ring, 2, 2, 3);
	sim_sample(&ring, 3, 3, 4);
	sim_lost(&ring, 6);
	sim_lost(&ring, 7);
	sim_publish(&ring);
	next_is(perf, 1, 1, 2, 0);
	tracemap_perf_release(perf);
	next_is(perf, 2, 2, 3, 5);
	next_is(perf, 2, 2, 3, 5);
	tracemap_perf_release(perf);
	next_is(perf, 3, 3, 4, 0);
	tracemap_perf_release(perf);

	/* Loss with nothing behind it is told with what comes. */
	check(next(perf) == 0);
	check(sim_tail(&ring) == ring.head);
	sim_sample(&ring, 4, 4, 5);
	sim_publish(&ring);
	next_is(perf, 4, 4, 5, 13);
	tracemap_perf_close(perf);
	sim_free(&ring);
}

static void test_loss_in_its_place(void)
{
	for (uint64_t at = 0; at < 512; at += 8)
		lost_at(at);
}

static void test_loss_of_other_kinds(void)
{
	uint64_t with_id[3] = { 1, 3, 42 }, hardware = 4, all = UINT64_MAX;
	struct tracemap_perf *perf;
	struct sim_ring ring;

	sim_init(&ring, 512, 0);
	perf = open_ring(&ring, NULL);
	sim_record(&ring, PERF_RECORD_LOST, 32, with_id, sizeof(with_id));
	sim_record(&ring, PERF_RECORD_LOST_SAMPLES, 16, &hardware, sizeof(hardware));
	sim_sample(&ring, 1, 1, 1);
	sim_lost(&ring, 9);
	sim_record(&ring, PERF_RECORD_LOST_SAMPLES, 16, &all, sizeof(all));
	sim_sample(&ring, 2, 2, 2);
	sim_publish(&ring);
	next_is(perf, 1, 1, 1, 7);
	tracemap_perf_release(perf);
	next_is(perf, 2, 2, 2, TRACEMAP_MISSED_UNKNOWN);
	tracemap_perf_close(perf);
	sim_free(&ring);
}

static void test_unknown_types_are_skipped(void)
{
	struct tracemap_perf *perf;
	char body[80] = { 1 };
	struct sim_ring ring;

	sim_init(&ring, 256, 200);
	perf = open_ring(&ring, NULL);
	sim_record(&ring, SIM_UNKNOWN, 8 + 80, body, 80);
	sim_record(&ring, PERF_RECORD_THROTTLE, 8, body, 0);
	sim_sample(&ring, 1, 1, 1);
	sim_publish(&ring);
	next_is(perf, 1, 1, 1, 0);
	check(sim_tail(&ring) == 200);
	tracemap_perf_release(perf);
	check(sim_tail(&ring) == ring.head);

	/* A buffer full of them is not full for good. */
	sim_record(&ring, SIM_UNKNOWN, 8 + 80, body, 80);
	sim_publish(&ring);
	check(next(perf) == 0);
	check(sim_tail(&ring) == ring.head);
	tracemap_perf_close(perf);
	sim_free(&ring);
}

/* ---- Damage ---- */

/* A good sample, then what @damage puts there: the first is had, then never more. */
static void damaged(void (*damage)(struct sim_ring *ring),
		    const struct tracemap_perf_options *options, bool recovers)
{
	struct tracemap_perf *perf;
	struct sim_ring ring;
	uint64_t end;

	sim_init(&ring, 256, 224);
	perf = open_ring(&ring, options);
	sim_sample(&ring, 1, 1, 1);
	end = ring.head;
	sim_publish(&ring);
	next_is(perf, 1, 1, 1, 0);
	tracemap_perf_release(perf);
	damage(&ring);
	sim_publish(&ring);
	for (int i = 0; i < 3; i++)
		check(next(perf) == -EBADMSG);
	tracemap_perf_release(perf);
	check(sim_tail(&ring) == end);

	check(tracemap_perf_discard(perf) == (recovers ? 0 : -EBADMSG));
	if (recovers) {
		sim_sample(&ring, 2, 2, 2);
		sim_publish(&ring);
		next_is(perf, 2, 2, 2, TRACEMAP_MISSED_UNKNOWN);
	} else {
		check(next(perf) == -EBADMSG);
	}
	tracemap_perf_close(perf);
	sim_free(&ring);
}

static uint16_t torn_size;

static void record_of_torn_size(struct sim_ring *ring)
{
	char body[40] = { 0 };

	sim_record(ring, PERF_RECORD_SAMPLE, torn_size, body, 40);
}

static void unknown_of_torn_size(struct sim_ring *ring)
{
	char body[40] = { 0 };

	sim_record(ring, SIM_UNKNOWN, torn_size, body, 40);
}

static void short_lost(struct sim_ring *ring)
{
	sim_record(ring, PERF_RECORD_LOST, 16, &ring->size, 8);
}

static void short_lost_samples(struct sim_ring *ring)
{
	sim_record(ring, PERF_RECORD_LOST_SAMPLES, 8, &ring->size, 0);
}

static void sample_without_size(struct sim_ring *ring)
{
	sim_record(ring, PERF_RECORD_SAMPLE, 8, &ring->size, 0);
}

static void raw_longer_than_record(struct sim_ring *ring)
{
	uint32_t body[6] = { 21 };

	sim_record(ring, PERF_RECORD_SAMPLE, 32, body, 24);
}

static void raw_huge(struct sim_ring *ring)
{
	uint32_t body[6] = { UINT32_MAX };

	sim_record(ring, PERF_RECORD_SAMPLE, 32, body, 24);
}

static void no_room_for_stamp(struct sim_ring *ring)
{
	uint32_t body[4] = { 7 };

	sim_record(ring, PERF_RECORD_SAMPLE, 24, body, 16);
}

static void a_good_sample(struct sim_ring *ring)
{
	sim_sample(ring, 1, 1, 0);
}

static void head_not_aligned(struct sim_ring *ring)
{
	ring->head += 4;
}

static void head_too_far(struct sim_ring *ring)
{
	ring->head += ring->size + 8;
}

static void head_gone_back(struct sim_ring *ring)
{
	ring->head -= 8;
}

static void test_damage_is_told(void)
{
	const uint16_t torn[] = {
		0, 1, 4, 7, 9, 12, 47, 49, 50, 56, 64, 256, 264, 32768, 65528, 65535,
	};

	for (size_t i = 0; i < ARRAY_SIZE(torn); i++) {
		torn_size = torn[i];
		damaged(record_of_torn_size, NULL, true);
		damaged(unknown_of_torn_size, NULL, true);
	}
	damaged(short_lost, NULL, true);
	damaged(short_lost_samples, NULL, true);
	damaged(sample_without_size, NULL, true);
	damaged(raw_longer_than_record, NULL, true);
	damaged(raw_huge, NULL, true);
	damaged(no_room_for_stamp, NULL, true);
	damaged(head_not_aligned, NULL, false);
	damaged(head_too_far, NULL, false);
	damaged(head_gone_back, NULL, false);
}

/* Where the stamp is to be makes a sample too short that otherwise is not. */
static void test_stamp_past_the_end(void)
{
	const uint32_t offsets[] = { 1u << 31, UINT32_MAX - 3, UINT32_MAX, 13, 100 };

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		struct tracemap_perf_options options = tracemap_perf_default_options();
		struct tracemap_perf *perf;
		struct sim_ring ring;

		options.stamp_offset = offsets[i];
		sim_init(&ring, 256, 224);
		a_good_sample(&ring);
		sim_publish(&ring);
		perf = open_ring(&ring, &options);
		check(next(perf) == -EBADMSG);
		tracemap_perf_close(perf);
		sim_free(&ring);
	}
}

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % n;
}

static void maim(struct sim_ring *ring)
{
	switch (random_below(4)) {
	case 0:
		ring->page->data_head += 8 * random_below(40) - 64;
		break;
	case 1:
		memset(ring->data + random_below(ring->size), random_below(256), 1);
		break;
	default:
		/* sizes and types, rather than what is inside */
		ring->data[8 * random_below(ring->size / 8) + 6] = random_below(80);
		ring->data[8 * random_below(ring->size / 8)] = random_below(16);
		break;
	}
}

static volatile unsigned int sink;

/* Nothing outside of the ring is read, whatever it holds: the sanitizer says. */
static void survives(unsigned int nr)
{
	struct tracemap_record rec;
	struct tracemap_perf *perf;
	struct sim_ring ring;

	sim_init(&ring, 256, 8 * random_below(32));
	perf = open_ring(&ring, NULL);
	for (int i = 0; sim_write(&ring, i, i, random_below(12)); i++)
		;
	for (unsigned int i = 0; i < nr; i++)
		maim(&ring);
	for (int limit = 0; tracemap_perf_next(perf, &rec) == 1; limit++) {
		if (!check(limit < 100))
			break;
		for (uint32_t i = 0; i < rec.size; i++)
			sink += ((const unsigned char *)rec.data)[i];
		tracemap_perf_release(perf);
	}
	tracemap_perf_discard(perf);
	tracemap_perf_close(perf);
	sim_free(&ring);
}

static void test_survives_anything(void)
{
	for (int i = 0; i < 40000; i++)
		survives(random_below(6));
}

/* ---- Time stamps ---- */

static uint64_t stamp_from_number(void *arg, const void *sample, uint32_t size)
{
	uint32_t number;

	check(size == sim_raw_size(2));
	memcpy(&number, (const char *)sample + 8, sizeof(number));
	return number + *(uint64_t *)arg;
}

static uint64_t stamp_with(const struct tracemap_perf_options *options, uint64_t at)
{
	struct tracemap_record rec = { 0 };
	struct tracemap_perf *perf;
	struct sim_ring ring;

	sim_init(&ring, 256, at);
	sim_sample(&ring, 1000, 0x5555, 2);
	sim_publish(&ring);
	perf = open_ring(&ring, options);
	check(tracemap_perf_next(perf, &rec) == 1);
	tracemap_perf_close(perf);
	sim_free(&ring);
	return rec.ts;
}

static void test_stamp_of_the_program(void)
{
	struct tracemap_perf_options options = tracemap_perf_default_options();
	struct sim_sample sample = sim_make(1000, 0x5555, 2);
	uint64_t add = 1ull << 40;

	for (uint64_t at = 0; at < 256; at += 8) {
		options = tracemap_perf_default_options();
		for (options.stamp_offset = 0; options.stamp_offset <= 16; options.stamp_offset++) {
			uint64_t want;

			memcpy(&want, (char *)&sample + options.stamp_offset, sizeof(want));
			check(stamp_with(&options, at) == want);
		}
		options.stamp_offset = 0;
		options.stamp = stamp_from_number;
		options.arg = &add;
		check(stamp_with(&options, at) == 0x5555 + add);
	}
}

/* The fields perf puts before the raw part, in the order of perf_event_open(2). */
static const uint64_t fields[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
	PERF_SAMPLE_ADDR, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
	PERF_SAMPLE_PERIOD,
};

static void stamp_of_type(uint64_t type)
{
	struct tracemap_perf_options options = tracemap_perf_default_options();
	struct sim_sample sample = sim_make(1000, 5, 0);
	uint64_t body[ARRAY_SIZE(fields) + 4] = { 0 };
	struct tracemap_record rec = { 0 };
	struct tracemap_perf *perf;
	uint32_t nr = 0, raw = 20;
	struct sim_ring ring;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (type & fields[i])
			body[nr++] = fields[i] == PERF_SAMPLE_TIME ? 2000 : 1;
	}
	memcpy(&body[nr], &raw, sizeof(raw));
	memcpy((char *)&body[nr] + 4, &sample, 16);
	sim_init(&ring, 256, 216);
	sim_record(&ring, PERF_RECORD_SAMPLE, 8 + 8 * (nr + 3), body, 8 * (nr + 3));
	sim_publish(&ring);
	options.sample_type = type;
	perf = open_ring(&ring, &options);
	check(tracemap_perf_next(perf, &rec) == 1);
	check(rec.ts == (type & PERF_SAMPLE_TIME ? 2000 : 1000));
	check(rec.size == raw && !memcmp(rec.data, &sample, 16));
	tracemap_perf_close(perf);
	sim_free(&ring);
}

static void test_stamp_of_perf(void)
{
	for (uint32_t set = 0; set < 1u << ARRAY_SIZE(fields); set++) {
		uint64_t type = PERF_SAMPLE_RAW;

		for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
			type |= set & (1u << i) ? fields[i] : 0;
		stamp_of_type(type);
	}
}

/* ---- Opening ---- */

static int try_open(struct sim_ring *ring, size_t size, const struct tracemap_perf_options *options)
{
	struct tracemap_perf *perf = NULL;
	int ret = tracemap_perf_open_ring(&perf, ring->page, size, 0, options);

	check(!ret == !!perf);
	tracemap_perf_close(perf);
	return ret;
}

static int try_page(uint64_t data_offset, uint64_t data_size, uint64_t tail)
{
	struct sim_ring ring;
	int ret;

	sim_init(&ring, 256, tail);
	ring.page->data_offset = data_offset;
	ring.page->data_size = data_size;
	ret = try_open(&ring, sim_bytes(&ring), NULL);
	sim_free(&ring);
	return ret;
}

static void test_open_refuses_what_is_no_ring(void)
{
	struct tracemap_perf *perf = NULL;
	struct sim_ring ring;

	check(try_page(SIM_PAGE, 256, 8) == 0);
	check(try_page(0, 256, 0) == -EOPNOTSUPP);
	check(try_page(8, 256, 0) == -EINVAL);
	check(try_page(SIM_PAGE + 1, 128, 0) == -EINVAL);
	check(try_page(SIM_PAGE + 257, 128, 0) == -EINVAL);
	check(try_page(SIM_PAGE + 8, 256, 0) == -EINVAL);
	check(try_page(UINT64_MAX - 7, 256, 0) == -EINVAL);
	check(try_page(SIM_PAGE, 512, 0) == -EINVAL);
	check(try_page(SIM_PAGE, 248, 0) == -EINVAL);
	check(try_page(SIM_PAGE, 4, 0) == -EINVAL);
	check(try_page(SIM_PAGE, 0, 0) == -EINVAL);
	check(try_page(SIM_PAGE, UINT64_MAX, 0) == -EINVAL);
	check(try_page(SIM_PAGE, 256, 4) == -EBADMSG);
	check(tracemap_perf_open_ring(&perf, NULL, 8192, 0, NULL) == -EINVAL);
	sim_init(&ring, 256, 0);
	check(try_open(&ring, 100, NULL) == -EINVAL);
	check(try_open(&ring, SIM_PAGE, NULL) == -EINVAL);
	check(try_open(&ring, sim_bytes(&ring) - 1, NULL) == -EINVAL);
	sim_free(&ring);
}

static int try_options(uint32_t flags, uint64_t sample_type)
{
	struct tracemap_perf_options options = tracemap_perf_default_options();
	struct sim_ring ring;
	int ret;

	options.flags = flags;
	options.sample_type = sample_type;
	sim_init(&ring, 256, 0);
	ret = try_open(&ring, sim_bytes(&ring), &options);
	sim_free(&ring);
	return ret;
}

static void test_open_refuses_options(void)
{
	struct {
		struct tracemap_perf_options known;
		char newer[8];
	} options = { tracemap_perf_default_options(), "" };
	struct sim_ring ring;

	check(try_options(0, PERF_SAMPLE_RAW | PERF_SAMPLE_CPU) == 0);
	check(try_options(0, PERF_SAMPLE_TIME) == -EINVAL);
	check(try_options(0, PERF_SAMPLE_RAW | PERF_SAMPLE_READ) == -EOPNOTSUPP);
	check(try_options(0, PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN) == -EOPNOTSUPP);
	check(try_options(TRACEMAP_IN_PLACE, 0) == -EINVAL);

	sim_init(&ring, 256, 0);
	options.known.size = sizeof(options);
	check(try_open(&ring, sim_bytes(&ring), &options.known) == 0);
	options.newer[7] = 1;
	check(try_open(&ring, sim_bytes(&ring), &options.known) == -E2BIG);
	options.known.size = 0;
	check(try_open(&ring, sim_bytes(&ring), &options.known) == -EINVAL);
	/* An older program's, which ends before the field it has not. */
	options.known.size = offsetof(struct tracemap_perf_options, sample_type);
	options.known.sample_type = PERF_SAMPLE_READ;
	check(try_open(&ring, sim_bytes(&ring), &options.known) == 0);
	sim_free(&ring);
}

static void test_open_through_libbpf(void)
{
	struct tracemap_perf *perf = NULL;
	struct tracemap_perf_raw raw;
	struct sim_ring rings[2];
	struct perf_buffer pb = { .rings = rings, .nr = 2 };

	for (int i = 0; i < 2; i++) {
		sim_init(&rings[i], 256, 0);
		sim_sample(&rings[i], 10 + i, i, 1);
		sim_publish(&rings[i]);
	}
	for (int i = 0; i < 2; i++) {
		/* what it says today, and what its manual says */
		pb.larger = i ? SIM_PAGE : 0;
		check(!tracemap_perf_open(&perf, &pb, i, 3, NULL));
		tracemap_perf_raw(perf, &raw);
		check(raw.fd == 2 + i);
		next_is(perf, 10 + i, i, 1, 0);
		tracemap_perf_close(perf);
	}
	check(!tracemap_perf_open(&perf, &pb, 0, TRACEMAP_PERF_ONLINE, NULL));
	tracemap_perf_close(perf);
	check(tracemap_perf_open(&perf, &pb, 2, 3, NULL) == -EINVAL);
	check(tracemap_perf_open(&perf, &pb, 0, -7, NULL) == -EINVAL);
	pb.nr = 100000;
	check(tracemap_perf_open(&perf, &pb, 99999, TRACEMAP_PERF_ONLINE, NULL) == -ENOENT);
	pb.error = -ENOENT;
	check(tracemap_perf_open(&perf, &pb, 1, 3, NULL) == -ENOENT);
	for (int i = 0; i < 2; i++)
		sim_free(&rings[i]);
}

static uint32_t next_flags(struct tracemap_perf *perf)
{
	struct tracemap_record rec = { .flags = UINT32_MAX };

	check(tracemap_perf_next(perf, &rec) == 1);
	return rec.flags;
}

/* What was found at once is told, so that a merge knows how long ago it was. */
static void test_first_of_those_found(void)
{
	char body[8] = { 0 };
	struct tracemap_perf *perf;
	struct sim_ring ring;

	sim_init(&ring, 512, 0);
	perf = open_ring(&ring, NULL);
	for (uint32_t number = 0; number < 4; number++) {
		if (number % 2 == 0)
			sim_record(&ring, SIM_UNKNOWN, 16, body, 8);
		sim_sample(&ring, number, number, 1);
		if (number < 3)
			sim_publish(&ring);
		if (number == 1) {
			check(next_flags(perf) == TRACEMAP_FRESH);
			check(next_flags(perf) == TRACEMAP_FRESH);
			tracemap_perf_release(perf);
		}
	}
	/* 1 was found with 0; 2 came later; 3 is not told yet. */
	check(next_flags(perf) == 0);
	tracemap_perf_release(perf);
	check(next_flags(perf) == TRACEMAP_FRESH);
	tracemap_perf_release(perf);
	check(next(perf) == 0);
	sim_publish(&ring);
	check(next_flags(perf) == TRACEMAP_FRESH);
	tracemap_perf_close(perf);
	sim_free(&ring);
}

static void test_source_and_raw(void)
{
	struct tracemap_source source;
	struct tracemap_perf_raw raw;
	struct tracemap_record rec;
	struct tracemap_perf *perf;
	struct sim_ring ring;

	sim_init(&ring, 256, 40);
	sim_sample(&ring, 5, 6, 7);
	sim_publish(&ring);
	perf = open_ring(&ring, NULL);
	tracemap_perf_source(perf, &source);
	check(source.size == sizeof(source));
	check(source.cpu == 3);
	check(source.next(source.arg, &rec) == 1);
	is_sample(&rec, 5, 6, 7);
	check(sim_tail(&ring) == 40);
	source.release(source.arg);
	check(sim_tail(&ring) == ring.head);
	check(source.next(source.arg, &rec) == 0);
	tracemap_perf_raw(perf, &raw);
	check(raw.page == ring.page && raw.data == ring.data && raw.data_size == ring.size);
	check(raw.fd == -1);
	tracemap_perf_close(perf);
	sim_free(&ring);
}

/* ---- Both sides at once ---- */

/* Of all that is written this is before anything is read, and more than the ring holds. */
enum { WRITES = 100000, WRITES_AHEAD = 1000 };

static void wait_for_room(struct sim_ring *ring)
{
	while (ring->head - sim_tail(ring) > ring->size / 2)
		sched_yield();
}

/* Loses some in a row now and then, else waits for who reads. */
static void *kernel_side(void *arg)
{
	struct sim_ring *ring = arg;

	for (uint32_t number = WRITES_AHEAD; number < WRITES; number++) {
		if (!sim_write(ring, number, number, number % 40) && number % 8 == 0)
			wait_for_room(ring);
	}
	/* What was lost last is told with the next. */
	wait_for_room(ring);
	sim_write(ring, WRITES, WRITES, 0);
	return NULL;
}

/* Number of those written that were seen or told lost, so far. */
static uint32_t account(struct tracemap_record *rec, uint32_t expected)
{
	uint32_t number = rec->ts;

	if (!check(number == expected + rec->missed))
		return number + 1;
	if (number < WRITES)
		is_sample(rec, number, number, number % 40);
	return number + 1;
}

static void test_kernel_writes_meanwhile(void)
{
	uint32_t expected = 0, seen = 0;
	struct tracemap_record rec;
	struct tracemap_perf *perf;
	struct sim_ring ring;
	pthread_t thread;
	int ret;

	sim_init(&ring, 1024, 0);
	perf = open_ring(&ring, NULL);
	for (uint32_t number = 0; number < WRITES_AHEAD; number++)
		sim_write(&ring, number, number, number % 40);
	if (!check(!pthread_create(&thread, NULL, kernel_side, &ring)))
		return;
	while (expected <= WRITES) {
		ret = tracemap_perf_next(perf, &rec);
		if (ret == 1) {
			expected = account(&rec, expected);
			seen++;
			tracemap_perf_release(perf);
		} else if (!check(ret == 0)) {
			abort();
		} else {
			sched_yield();
		}
	}
	pthread_join(thread, NULL);
	check(expected == WRITES + 1);
	check(seen > WRITES / 4 && seen < WRITES);
	printf("# %u of %u seen, the others told lost\n", seen, WRITES + 1);
	tracemap_perf_close(perf);
	sim_free(&ring);
}

static void run(const char *name, void (*test)(void))
{
	static unsigned int number;
	int before = failures;

	test();
	printf("%sok %u - %s\n", failures == before ? "" : "not ", ++number, name);
}

int main(void)
{
	printf("1..17\n");
	run("a record that wraps is handed out whole, wherever it wraps", test_wrap_at_each_offset);
	run("data_tail moves on release, and only then", test_tail_moves_on_release_only);
	run("who opens it next finds what was not released", test_close_leaves_the_rest);
	run("loss is told in its place, with the count", test_loss_in_its_place);
	run("loss of all kinds is added up", test_loss_of_other_kinds);
	run("records of other types are passed over", test_unknown_types_are_skipped);
	run("damage is told, stays, and discarding ends it", test_damage_is_told);
	run("a stamp past the end of its sample is damage", test_stamp_past_the_end);
	run("whatever the ring holds, nothing outside of it is read", test_survives_anything);
	run("the stamp is where the caller said, or what it said", test_stamp_of_the_program);
	run("perf's own stamp is found in every sample type", test_stamp_of_perf);
	run("what is no ring is refused", test_open_refuses_what_is_no_ring);
	run("options are checked", test_open_refuses_options);
	run("buffers are had from libbpf", test_open_through_libbpf);
	run("the first of those found at once says so", test_first_of_those_found);
	run("as a source, and as memory", test_source_and_raw);
	run("nothing tears while the kernel writes", test_kernel_writes_meanwhile);
	return failures != 0;
}

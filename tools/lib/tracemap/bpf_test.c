// SPDX-License-Identifier: LGPL-2.1
/*
 * Test bpf_ring.c with rings in memory, to which this file writes as the kernel does, and
 * which maps bpf_maps.c refuses. Real maps are in tests/bpf.
 */
#define _GNU_SOURCE
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf_ring.h"
#include "check.h"

enum { PERF, RINGBUF, KINDS, LOST = 24 };

/* A ring, the kernel that writes to it, and the merge that reads it. */
struct sim {
	int kind;
	uint64_t head_word, tail_word;
	uint64_t head;		/* not yet in head_word */
	unsigned char *memory;
	struct bpf_ring ring;
	struct tracemap_merge *m;
};

/* A damaged record may be too short. */
static uint64_t stamp_of(const void *data, uint32_t size)
{
	uint64_t ts = 0;

	memcpy(&ts, data, size < sizeof(ts) ? size : sizeof(ts));
	return ts;
}

/* The memory has no byte behind the ring, so that the sanitizer sees a read past its end. */
static void sim_begin(struct sim *s, int kind, uint64_t size, uint64_t at)
{
	*s = (struct sim){ .kind = kind, .head_word = at, .tail_word = at, .head = at };
	s->memory = malloc(size << kind);
	s->ring.read = kind == PERF ? tracemap__read_perf : tracemap__read_ringbuf;
	s->ring.head_word = &s->head_word;
	s->ring.tail_word = &s->tail_word;
	s->ring.data = s->memory;
	s->ring.size = size;
	s->ring.stamp = stamp_of;
	s->ring.scratch = kind == PERF ? malloc(MAX_PERF_RECORD) : NULL;
	tracemap__ring_start(&s->ring);
	CHECK(!tracemap_merge_new(&s->m, NULL));
	CHECK(!tracemap__ring_add(&s->ring, s->m, 3));
}

static void sim_end(struct sim *s)
{
	tracemap_merge_free(s->m);
	free(s->ring.scratch);
	free(s->memory);
}

/* A BPF ring buffer is there twice. */
static void put(struct sim *s, uint64_t at, const void *from, size_t size)
{
	for (size_t i = 0; i < size; i++, at++) {
		s->memory[at & (s->ring.size - 1)] = ((const unsigned char *)from)[i];
		if (s->kind == RINGBUF)
			s->memory[s->ring.size + (at & (s->ring.size - 1))] =
				((const unsigned char *)from)[i];
	}
}

static void publish(struct sim *s)
{
	__atomic_store_n(&s->head_word, s->head, __ATOMIC_RELEASE);
}

static void put_perf(struct sim *s, uint32_t type, const void *body, uint16_t size)
{
	struct perf_event_header header = { .type = type, .size = sizeof(header) + size };

	put(s, s->head, &header, sizeof(header));
	put(s, s->head + sizeof(header), body, size);
	s->head += header.size;
}

static void put_lost(struct sim *s, uint64_t lost)
{
	uint64_t body[] = { 77, lost };

	put_perf(s, PERF_RECORD_LOST, body, sizeof(body));
}

/* The data of a record: its number, which is its time, and then bytes that depend on it. */
static void fill(unsigned char *data, uint64_t number, uint32_t size)
{
	memcpy(data, &number, sizeof(number));
	for (uint32_t i = sizeof(number); i < size; i++)
		data[i] = number * 31 + i;
}

/*
 * Write a sample of @size bytes, 4 more than a multiple of 8, so that perf adds none. The head
 * of a BPF ring buffer moves before the data are there.
 */
static void send(struct sim *s, uint64_t number, uint32_t size)
{
	static __thread unsigned char body[MAX_PERF_RECORD];
	uint32_t busy = BPF_RINGBUF_BUSY_BIT;
	uint64_t at = s->head;

	fill(body + 4, number, size);
	if (s->kind == PERF) {
		memcpy(body, &size, 4);
		put_perf(s, PERF_RECORD_SAMPLE, body, 4 + size);
		publish(s);
		return;
	}
	put(s, at, &busy, sizeof(busy));
	s->head += 12 + size;
	publish(s);
	put(s, at + 8, body + 4, size);
	__atomic_store_n((uint32_t *)(s->memory + (at & (s->ring.size - 1))), size,
			 __ATOMIC_RELEASE);
}

static struct tracemap_record next(struct sim *s)
{
	struct tracemap_record rec;

	CHECK(tracemap_merge_next(s->m, &rec) == 1);
	return rec;
}

static bool is_whole(const struct tracemap_record *rec, uint64_t number, uint32_t size)
{
	static unsigned char wanted[MAX_PERF_RECORD];

	fill(wanted, number, size);
	return rec->ts == number && rec->size == size && !memcmp(rec->data, wanted, size);
}

static void expect(struct sim *s, uint64_t number, uint32_t size, uint64_t missed)
{
	struct tracemap_record rec = next(s);

	CHECK(is_whole(&rec, number, size) && rec.missed == missed && rec.cpu == 3);
}

static void expect_none(struct sim *s)
{
	struct tracemap_record rec;

	CHECK(tracemap_merge_next(s->m, &rec) == 0);
}

/* ---- One after another ---- */

static void wraps_at(int kind, uint64_t size, uint64_t at, uint32_t length)
{
	uint32_t start = kind == PERF ? 12 : 8;
	struct tracemap_record rec;
	struct sim s;

	sim_begin(&s, kind, size, at);
	send(&s, 99, length);
	rec = next(&s);
	CHECK(is_whole(&rec, 99, length));
	CHECK((rec.data == s.memory + (at & (size - 1)) + start) ==
	      (kind == RINGBUF || (at & (size - 1)) + start + length <= size));
	CHECK(s.tail_word == at);
	expect_none(&s);
	CHECK(s.tail_word == s.head);
	sim_end(&s);
}

/* Also where positions overflow, and with records as large as the ring. */
static void test_wraps_at_each_offset(int kind)
{
	for (uint64_t at = 0; at < 256; at += 8) {
		for (uint32_t length = 12; length <= 244; length += 8)
			wraps_at(kind, 256, at - 128, length);
	}
	for (uint64_t at = 0; at < 16384; at += 512) {
		wraps_at(kind, 16384, at, 5004);
		wraps_at(kind, 16384, at, 16372);
	}
}

/* The room of a record is given back when the next is taken, and not before. */
static void test_room(int kind)
{
	struct sim s;

	sim_begin(&s, kind, 256, 200);
	send(&s, 0, 28);
	send(&s, 1, 28);
	expect(&s, 0, 28, 0);
	CHECK(s.tail_word == 200);
	expect(&s, 1, 28, 0);
	CHECK(s.tail_word == 240);
	expect_none(&s);
	CHECK(s.tail_word == s.head);
	sim_end(&s);
}

static void test_loss_in_its_place(void)
{
	char other[16] = { 0 };
	struct sim s;

	for (uint64_t at = 0; at < 512; at += 8) {
		sim_begin(&s, PERF, 512, at);
		send(&s, 1, 20);
		put_lost(&s, 5);
		put_perf(&s, PERF_RECORD_THROTTLE, other, sizeof(other));
		send(&s, 2, 28);
		send(&s, 3, 12);
		put_lost(&s, 6);
		put_lost(&s, 7);
		publish(&s);
		expect(&s, 1, 20, 0);
		expect(&s, 2, 28, 5);
		expect(&s, 3, 12, 0);
		/* A loss gives its room back though no sample follows. */
		expect_none(&s);
		CHECK(s.tail_word == s.head);
		send(&s, 4, 12);
		expect(&s, 4, 12, 13);
		sim_end(&s);
	}
}

static void set_length(struct sim *s, uint64_t at, uint32_t length)
{
	put(s, at, &length, sizeof(length));
}

/* Records of 32 bytes: one that its program has discarded, one that it still writes, another */
static void begin_busy(struct sim *s)
{
	sim_begin(s, RINGBUF, 256, 192);
	for (int i = 0; i < 3; i++)
		send(s, i, 20);
	set_length(s, 192, BPF_RINGBUF_DISCARD_BIT | 20);
	set_length(s, 224, BPF_RINGBUF_BUSY_BIT | 20);
}

static void test_busy(void)
{
	struct sim s;

	begin_busy(&s);
	expect_none(&s);
	CHECK(s.tail_word == 224);
	set_length(&s, 224, 20);
	expect(&s, 1, 20, 0);
	expect(&s, 2, 20, 0);
	sim_end(&s);
}

/* The program of the busy record ends right after the reader has looked, which woke no reader. */
static int read_too_early(struct bpf_ring *ring, struct tracemap_record *rec)
{
	struct sim *s = (struct sim *)((char *)ring - offsetof(struct sim, ring));
	int ret = tracemap__read_ringbuf(ring, rec);

	if (ret == -EAGAIN) {
		CHECK(s->tail_word != ring->pos);
		set_length(s, ring->pos, 20);
	}
	return ret;
}

static void test_no_wake_up_lost(void)
{
	struct tracemap_record rec;
	struct sim s;

	begin_busy(&s);
	s.ring.read = read_too_early;
	CHECK(tracemap__ring_next(&s.ring, &rec) == 1 && is_whole(&rec, 1, 20));
	sim_end(&s);
}

/* ---- Damage ---- */

static uint32_t random_below(uint32_t n)
{
	static uint32_t state = 1;

	state = state * 1664525 + 1013904223;
	return (state >> 8) % n;
}

/* Lengths and types rather than data */
static void damage(struct sim *s)
{
	uint32_t words[] = { random_below(16), random_below(80) << 16 };

	if (!random_below(4))
		s->head_word += 4 * random_below(80) - 64;
	else
		put(s, 8 * random_below(s->ring.size / 8), words, 4 * (1 + random_below(2)));
}

/* Returns whether the damage was found; nothing outside of the ring is read. */
static bool survives(int kind)
{
	struct tracemap_record rec;
	volatile unsigned int sum = 0;
	struct sim s;
	int ret;

	sim_begin(&s, kind, 256, 8 * random_below(32));
	while (s.head - s.tail_word < 120)
		send(&s, s.head, 12 + 8 * random_below(8));
	for (unsigned int i = random_below(6); i; i--)
		damage(&s);
	while ((ret = tracemap_merge_next(s.m, &rec)) == 1) {
		for (uint32_t i = 0; i < rec.size; i++)
			sum += ((const unsigned char *)rec.data)[i];
	}
	CHECK(ret == 0 || ret == -EBADMSG);
	CHECK(!ret == !s.ring.error);
	sim_end(&s);
	return ret;
}

static void test_damage(int kind)
{
	unsigned int found = 0;

	for (int i = 0; i < 20000; i++)
		found += survives(kind);
	CHECK(found > 5000 && found < 19000);
}

/* ---- Both sides at once ---- */

enum { WRITES = 100000 };

static uint32_t size_of(uint64_t number)
{
	return 12 + number % 7 * 8;
}

static bool has_room(const struct sim *s)
{
	uint64_t tail = __atomic_load_n(&s->tail_word, __ATOMIC_ACQUIRE);

	return s->head - tail + 12 + 60 + LOST <= s->ring.size;
}

/* As perf does, count what finds no room, and report it with the next that does. */
static void *write_all(void *arg)
{
	struct sim *s = arg;
	uint64_t lost = 0;

	for (uint64_t number = 0; number < WRITES; number++) {
		bool waits = s->kind == RINGBUF || number % 8 == 0 || number == WRITES - 1;

		while (waits && !has_room(s))
			sched_yield();
		if (!has_room(s)) {
			lost++;
			continue;
		}
		if (lost)
			put_lost(s, lost);
		lost = 0;
		send(s, number, size_of(number));
	}
	return NULL;
}

static void test_kernel_writes_meanwhile(int kind)
{
	uint64_t expected = 0, seen = 0;
	struct tracemap_record rec;
	pthread_t thread;
	struct sim s;
	int ret;

	sim_begin(&s, kind, 256, 0);
	CHECK(!pthread_create(&thread, NULL, write_all, &s));
	while (expected < WRITES) {
		ret = tracemap_merge_next(s.m, &rec);
		CHECK(ret >= 0);
		if (!ret) {
			sched_yield();
			continue;
		}
		expected += rec.missed;
		CHECK(is_whole(&rec, expected, size_of(expected)));
		expected++;
		seen++;
	}
	pthread_join(thread, NULL);
	CHECK(expected == WRITES && (kind == PERF) == (seen < WRITES));
	sim_end(&s);
}

/* ---- Maps that are refused ---- */

static struct bpf_map_info map;

/* The kernel says what the map is. */
long __wrap_syscall(long number, ...)
{
	union bpf_attr *attr;
	va_list args;

	va_start(args, number);
	CHECK(number == __NR_bpf && va_arg(args, int) == BPF_OBJ_GET_INFO_BY_FD);
	attr = va_arg(args, union bpf_attr *);
	va_end(args);
	memcpy((void *)(uintptr_t)attr->info.info, &map, sizeof(map));
	return 0;
}

static int try_map(uint32_t type, uint32_t flags, size_t bytes)
{
	struct tracemap_merge *m;
	struct tracemap_bpf *bpf;
	int ret;

	map = (struct bpf_map_info){ .type = type, .map_flags = flags, .max_entries = 1 };
	CHECK(!tracemap_merge_new(&m, NULL) && !tracemap_bpf_new(&bpf, m));
	ret = tracemap_bpf_add(bpf, -1, 0, bytes, stamp_of);
	CHECK(!tracemap_bpf_wait(bpf, 0));
	tracemap_bpf_close(bpf);
	tracemap_merge_free(m);
	return ret;
}

static void test_refused(void)
{
	/* BPF_F_RB_OVERWRITE of Linux 6.19 */
	const uint32_t overwrite = 1U << 19;

	CHECK(try_map(BPF_MAP_TYPE_HASH, 0, 4096) == -EINVAL);
	CHECK(try_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 0, 0) == -EINVAL);
	CHECK(try_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 0, 2048) == -EINVAL);
	CHECK(try_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 0, 3 << 16) == -EINVAL);
	CHECK(try_map(BPF_MAP_TYPE_RINGBUF, overwrite, 0) == -EOPNOTSUPP);
	CHECK(try_map(BPF_MAP_TYPE_RINGBUF, BPF_F_NUMA_NODE, 0) ==
	      (sizeof(long) == 8 ? -EBADF : -EOPNOTSUPP));
	tracemap_bpf_close(NULL);
}

int main(void)
{
	for (int kind = 0; kind < KINDS; kind++) {
		test_wraps_at_each_offset(kind);
		test_room(kind);
		test_damage(kind);
		test_kernel_writes_meanwhile(kind);
	}
	test_loss_in_its_place();
	test_busy();
	test_no_wake_up_lost();
	test_refused();
	printf("ok - rings of BPF programs\n");
	return 0;
}

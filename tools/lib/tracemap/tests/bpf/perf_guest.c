// SPDX-License-Identifier: LGPL-2.1
/*
 * Test libtracemap-bpf with perf buffers that a kernel writes: everything that the
 * sample in samples/tracemap_bpf does not do itself. It uses the sample's BPF
 * program: an open() of "/tmp/NUMBER" makes an event whose size depends on the
 * number.
 */
#define _GNU_SOURCE
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "opens.h"
#include "tracemap-bpf.h"

enum { MAX_CPUS = 64 };

static const uint64_t time_and_raw = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;

struct buffers {
	struct bpf_object *object;
	struct bpf_link *link;
	struct perf_buffer *pb;
	struct tracemap_perf *perf[MAX_CPUS];
	unsigned int nr;
};

static bool expect(bool ok, const char *what)
{
	if (!ok)
		printf("# not so: %s\n", what);
	return ok;
}

#define EXPECT(condition) expect(condition, #condition)

/* As perf_buffer__new() does it, with perf's own time stamps in addition. */
static struct perf_buffer *new_with_time(int map)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = time_and_raw,
		.sample_period = 1,
		.wakeup_events = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	return perf_buffer__new_raw(map, 1, &attr, NULL, NULL, NULL);
}

/* A page for each CPU. */
static bool start(struct buffers *b, bool perf_time)
{
	struct tracemap_perf_options options = tracemap_perf_default_options();
	bool ok = true;
	int map;

	memset(b, 0, sizeof(*b));
	b->object = bpf_object__open_file("opens.bpf.o", NULL);
	if (!EXPECT(b->object) || !EXPECT(!bpf_object__load(b->object)))
		return false;
	map = bpf_object__find_map_fd_by_name(b->object, "buffers");
	b->pb = perf_time ? new_with_time(map) : perf_buffer__new(map, 1, NULL, NULL, NULL, NULL);
	b->link = bpf_program__attach(bpf_object__next_program(b->object, NULL));
	if (!EXPECT(b->pb) || !EXPECT(b->link))
		return false;
	options.sample_type = perf_time ? time_and_raw : 0;
	for (; ok && b->nr < perf_buffer__buffer_cnt(b->pb) && b->nr < MAX_CPUS; b->nr++)
		ok = EXPECT(!tracemap_perf_open(&b->perf[b->nr], b->pb, b->nr,
						TRACEMAP_PERF_ONLINE, &options));
	return ok && EXPECT(b->nr > 1);
}

static void end(struct buffers *b)
{
	for (unsigned int i = 0; i < b->nr; i++)
		tracemap_perf_close(b->perf[i]);
	perf_buffer__free(b->pb);
	bpf_link__destroy(b->link);
	bpf_object__close(b->object);
}

static void name_of(unsigned int number, char *name)
{
	sprintf(name, "/tmp/%.*s%u", number % 7 * 4, "aaaabbbbccccddddeeeeffff", number);
}

/* On the CPU of buffer @i, as all are online. */
static void make_events(unsigned int i, unsigned int from, unsigned int to)
{
	char name[sizeof(((struct open_sample *)0)->name)];
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(i, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("# sched_setaffinity");
	for (; from < to; from++) {
		name_of(from, name);
		EXPECT(open(name, O_RDONLY) < 0);
	}
}

/* Is the sample that of event @number, to the last byte of its name? */
static bool is_event(const char *data, size_t size, unsigned int number)
{
	struct open_sample sample = { 0 }, wanted = { 0 };

	memcpy(&sample, data, size < sizeof(sample) ? size : sizeof(sample));
	name_of(number, wanted.name);
	if (!strncmp(sample.name, wanted.name, sizeof(sample.name)) &&
	    sample.pid == (unsigned int)getpid())
		return true;
	printf("# \"%.64s\" where \"%s\" should be\n", sample.name, wanted.name);
	return false;
}

/* ---- A reader of one's own ---- */

/*
 * Take what is there into @to, in one piece or in two where the end of the ring is in
 * the middle, as tracemap_perf_raw() tells of it. Returns how many bytes that is.
 */
static size_t take_raw(const struct tracemap_perf_raw *raw, char *to, bool *in_two)
{
	uint64_t head = __atomic_load_n(&raw->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = raw->page->data_tail, offset = tail & (raw->data_size - 1);
	size_t size = head - tail, first = raw->data_size - offset;

	*in_two = size > first;
	first = *in_two ? first : size;
	memcpy(to, (const char *)raw->data + offset, first);
	memcpy(to + first, raw->data, size - first);
	__atomic_store_n(&raw->page->data_tail, head, __ATOMIC_RELEASE);
	return size;
}

/* Returns whether the offset @cut is inside one of the records. */
static bool check_raw(const char *data, size_t size, size_t cut, unsigned int *number, bool *ok)
{
	struct perf_event_header header;
	bool inside = false;

	for (size_t at = 0; at < size && *ok; at += header.size, ++*number) {
		memcpy(&header, data + at, sizeof(header));
		*ok = EXPECT(header.type == PERF_RECORD_SAMPLE) &&
		      EXPECT(header.size > 12 && header.size <= size - at) &&
		      is_event(data + at + 12, header.size - 12, *number);
		inside |= cut > at && cut < at + header.size;
	}
	return inside;
}

static bool test_raw(void)
{
	unsigned int made = 0, seen = 0, cuts = 0;
	struct tracemap_perf_raw raw;
	char *data = malloc(1 << 16);
	struct buffers b;
	bool ok = start(&b, false), in_two;

	if (ok) {
		tracemap_perf_raw(b.perf[0], &raw);
		ok = EXPECT(raw.data_size == (size_t)sysconf(_SC_PAGESIZE)) &&
		     EXPECT(raw.fd == perf_buffer__buffer_fd(b.pb, 0));
	}
	while (ok && made < 2000) {
		size_t cut = raw.data_size - (raw.page->data_tail & (raw.data_size - 1)), size;

		/* So few that a page has room for them. */
		make_events(0, made, made + 30);
		made += 30;
		size = take_raw(&raw, data, &in_two);
		cuts += check_raw(data, size, in_two ? cut : 0, &seen, &ok);
		ok = ok && EXPECT(seen == made);
	}
	printf("# %u events, %u of them in two pieces\n", seen, cuts);
	ok = ok && EXPECT(cuts > 0);
	end(&b);
	free(data);
	return ok;
}

/* ---- The fullest buffer first ---- */

struct account {
	unsigned int made, seen, next;
	uint64_t lost;
};

/* The buffer with most in it, or the first with anything. */
static int choose(const struct buffers *b, bool by_index)
{
	uint64_t most = 0;
	int chosen = -1;

	for (unsigned int i = 0; i < b->nr; i++) {
		uint64_t fill = tracemap_perf_fill(b->perf[i]);

		if (fill <= most || (by_index && chosen >= 0))
			continue;
		most = fill;
		chosen = i;
	}
	return chosen;
}

static bool drain(struct buffers *b, struct account *accounts, unsigned int events, bool by_index)
{
	struct tracemap_record rec;
	bool ok = true;
	int i;

	while (ok && events-- && (i = choose(b, by_index)) >= 0) {
		struct account *a = &accounts[i];

		ok = EXPECT(tracemap_perf_next(b->perf[i], &rec) == 1) && EXPECT(rec.cpu == i);
		if (!ok)
			break;
		a->next += rec.missed;
		a->lost += rec.missed;
		a->seen++;
		ok = is_event(rec.data, rec.size, a->next++);
		tracemap_perf_release(b->perf[i]);
	}
	return ok;
}

static void make_some(struct account *a, unsigned int i, unsigned int events)
{
	make_events(i, a->made, a->made + events);
	a->made += events;
}

/*
 * The last CPU has twice the events of any other, and in each round as many are
 * read as all but one of those shares.
 */
static bool drained(bool by_index, uint64_t *lost)
{
	struct account accounts[MAX_CPUS] = { { 0 } };
	struct buffers b;
	bool ok = start(&b, false);

	*lost = 0;
	for (int round = 0; ok && round < 16; round++) {
		for (unsigned int i = 0; i < b.nr; i++)
			make_some(&accounts[i], i, i == b.nr - 1 ? 14 : 7);
		ok = drain(&b, accounts, b.nr * 7, by_index);
	}
	/* The kernel tells of what was lost last with the next event. */
	ok = ok && drain(&b, accounts, UINT32_MAX, by_index);
	for (unsigned int i = 0; i < b.nr; i++)
		make_some(&accounts[i], i, 1);
	ok = ok && drain(&b, accounts, UINT32_MAX, by_index);
	for (unsigned int i = 0; i < b.nr; i++) {
		ok = ok && EXPECT(accounts[i].next == accounts[i].made);
		*lost += accounts[i].lost;
	}
	end(&b);
	return ok;
}

static bool test_fullest_first(void)
{
	uint64_t lost;

	return drained(false, &lost) && EXPECT(!lost);
}

static bool test_in_the_order_of_cpus(void)
{
	uint64_t lost;

	return drained(true, &lost) && EXPECT(lost > 0);
}

/* ---- Time stamps ---- */

/* Perf takes its own a moment after the BPF program. */
static bool test_perf_time(void)
{
	uint64_t own, last = 0;
	struct tracemap_record rec;
	struct buffers b;
	bool ok = start(&b, true);

	for (unsigned int i = 0; ok && i < 200; i++) {
		make_events(i % b.nr, i, i + 1);
		ok = EXPECT(tracemap_perf_next(b.perf[i % b.nr], &rec) == 1) &&
		     is_event(rec.data, rec.size, i);
		if (!ok)
			break;
		memcpy(&own, rec.data, sizeof(own));
		ok = EXPECT(own > last) && EXPECT(rec.ts > own);
		last = rec.ts;
		tracemap_perf_release(b.perf[i % b.nr]);
	}
	end(&b);
	return ok;
}

static int failed;

static void run(bool (*test)(void), const char *name)
{
	bool ok = test();

	printf("%sok - %s\n", ok ? "" : "not ", name);
	failed |= !ok;
}

int main(void)
{
	setlinebuf(stdout);
	run(test_raw, "a reader of one's own has all bytes, in two pieces where the ring ends");
	run(test_fullest_first, "drained fullest first, no buffer overflows");
	run(test_in_the_order_of_cpus, "drained in the order of CPUs, one does, and all lost is told");
	run(test_perf_time, "perf's own time stamps are read");
	return failed;
}

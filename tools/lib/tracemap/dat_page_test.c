// SPDX-License-Identifier: LGPL-2.1
/*
 * Test dat_pages() by reading back what it made: the events have to be the
 * same, and each loss has to be where a reader of trace.dat finds it. Test
 * dat_piece_last(), too.
 */
#include <stdio.h>
#include <stdlib.h>

#include "dat_page.h"

enum { SIZE = 256, DATA = 16, CAPACITY = SIZE - DATA };

static const struct subbuf_format format = {
	.subbuf_size = SIZE, .commit_offset = 8, .commit_size = 8, .data_offset = DATA,
};

static const unsigned char zeros[SIZE];
static unsigned int checks;

#define CHECK(cond) do {							\
	checks++;							\
	if (!(cond)) {							\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);	\
		exit(1);						\
	}								\
} while (0)

/* A sub-buffer that grows. */
struct maker {
	uint32_t word[SIZE / 4];
	uint32_t pos;		/* bytes of records */
};

static void start(struct maker *m, uint64_t ts)
{
	memset(m, 0, sizeof(*m));
	memcpy(m->word, &ts, sizeof(ts));
}

static void put(struct maker *m, uint32_t word)
{
	m->word[(DATA + m->pos) / 4] = word;
	m->pos += 4;
}

static void event(struct maker *m, uint32_t delta, uint32_t value)
{
	put(m, delta << 5 | 1);
	put(m, value);
}

static void wide_event(struct maker *m, uint32_t delta, uint32_t value, uint32_t bytes)
{
	put(m, delta << 5);
	put(m, bytes + 4);
	for (uint32_t i = 0; i < bytes; i += 4)
		put(m, value);
}

static void discarded(struct maker *m, uint32_t delta)
{
	put(m, delta << 5 | SUBBUF_TYPE_PADDING);
	put(m, 4);
}

static void extend(struct maker *m, uint64_t delta)
{
	put(m, (uint32_t)(delta & 0x7ffffff) << 5 | SUBBUF_TYPE_TIME_EXTEND);
	put(m, delta >> 27);
}

static struct dat_piece piece(const struct maker *m, uint32_t from, uint64_t ts, uint64_t missed)
{
	return (struct dat_piece){ &format, m->word, from, m->pos, ts, missed };
}

/* What is in the file then. */
static int file_of(const struct dat_piece *p, unsigned char (*file)[SIZE])
{
	struct dat_page pages[DAT_PAGES_MAX];
	int nr = dat_pages(p, zeros, pages);

	for (int i = 0; i < nr; i++) {
		size_t at = 0;

		for (int k = 0; k < pages[i].nr_parts; k++) {
			memcpy(file[i] + at, pages[i].part[k].iov_base, pages[i].part[k].iov_len);
			at += pages[i].part[k].iov_len;
		}
		CHECK(at == SIZE);
	}
	return nr;
}

/* The same events come out, with the same time stamps. */
static void same_events(const struct dat_piece *p, unsigned char (*file)[SIZE], int nr)
{
	struct subbuf_iter want = subbuf_resume(&format, p->subbuf, p->start, p->ts);
	struct subbuf_record a, b;

	subbuf_extend(&want, p->end);
	for (int i = 0; i < nr; i++) {
		struct subbuf_iter it = subbuf_begin(&format, file[i]);

		while (subbuf_next(&it, &b)) {
			CHECK(subbuf_next(&want, &a));
			CHECK(a.ts == b.ts && a.size == b.size && !memcmp(a.data, b.data, a.size));
		}
		CHECK(!it.corrupt);
	}
	CHECK(!subbuf_next(&want, &a));
}

/* Cut to its last event a piece has that one, and tells how many there were. */
static void check_last(const struct dat_piece *whole)
{
	struct subbuf_iter one, all = subbuf_resume(&format, whole->subbuf, whole->start,
						    whole->ts);
	struct subbuf_record rec, last = { .size = 0 };
	struct dat_piece p = *whole;
	unsigned int n = 0;

	subbuf_extend(&all, whole->end);
	while (subbuf_next(&all, &rec)) {
		last = rec;
		n++;
	}
	CHECK(dat_piece_last(&p) == n);
	CHECK(n || !memcmp(&p, whole, sizeof(p)));
	one = subbuf_resume(&format, p.subbuf, p.start, p.ts);
	subbuf_extend(&one, p.end);
	CHECK(!n || (subbuf_next(&one, &rec) && rec.data == last.data && rec.ts == last.ts &&
		     rec.size == last.size && subbuf_pos(&one) == p.end));
}

/* Does the page begin with an event, as readers want it where loss is told? */
static bool begins_with_event(const unsigned char *page)
{
	uint32_t word;

	memcpy(&word, page + DATA, 4);
	return (word & 31) <= SUBBUF_TYPE_DATA_MAX;
}

static unsigned char file[DAT_PAGES_MAX][SIZE] __attribute__((aligned(8)));

static void test_whole(void)
{
	struct maker m;
	struct dat_piece p;

	start(&m, 1000);
	extend(&m, 1ULL << 40);
	event(&m, 3, 1);
	event(&m, 4, 2);
	p = piece(&m, 0, 1000, 0);
	CHECK(file_of(&p, file) == 1);
	same_events(&p, file, 1);
	CHECK(subbuf_missed(&format, file[0]) == 0);
}

static void test_rest(void)
{
	struct maker m;
	struct dat_piece p;
	uint32_t from;

	start(&m, 1000);
	event(&m, 3, 1);
	event(&m, 4, 2);
	from = m.pos;
	extend(&m, 1ULL << 30);
	event(&m, 5, 3);
	p = piece(&m, from, 1007, 0);
	CHECK(file_of(&p, file) == 1);
	same_events(&p, file, 1);
	CHECK(subbuf_time_stamp(&format, file[0]) == 1007);
}

static void test_loss(uint64_t missed, int64_t told)
{
	struct maker m;
	struct dat_piece p;

	start(&m, 1000);
	discarded(&m, 9);
	extend(&m, 1ULL << 40);
	event(&m, 3, 1);
	discarded(&m, 2);
	event(&m, 4, 2);
	p = piece(&m, 0, 1000, missed);
	CHECK(file_of(&p, file) == 1);
	same_events(&p, file, 1);
	CHECK(begins_with_event(file[0]));
	CHECK(subbuf_missed(&format, file[0]) == told);
	check_last(&p);
}

/* Nothing to tell the loss with. */
static void test_no_event(void)
{
	struct maker m;
	struct dat_piece p;

	start(&m, 1000);
	discarded(&m, 9);
	extend(&m, 77);
	p = piece(&m, 0, 1000, 5);
	CHECK(file_of(&p, file) == 0);
	check_last(&p);
}

static void test_full(void)
{
	struct maker m;
	struct dat_piece p;

	start(&m, 1000);
	while (m.pos < CAPACITY - 24)
		event(&m, 3, m.pos);
	discarded(&m, 2);
	extend(&m, 1ULL << 33);
	event(&m, 4, 7);
	CHECK(m.pos == CAPACITY);
	p = piece(&m, 0, 1000, 12345);
	CHECK(file_of(&p, file) == 2);
	same_events(&p, file, 2);
	CHECK(subbuf_missed(&format, file[0]) == 12345);
	CHECK(subbuf_missed(&format, file[1]) == 0);
	check_last(&p);
}

/* It is told later how many were lost: the same page comes out. */
static void test_late_number(void)
{
	static unsigned char later[DAT_PAGES_MAX][SIZE] __attribute__((aligned(8)));
	struct maker m;
	struct dat_piece p;

	start(&m, 1000);
	while (m.pos < CAPACITY)
		event(&m, 3, m.pos);
	p = piece(&m, 0, 1000, 12345);
	CHECK(file_of(&p, file) == 2);
	p.missed = TRACEMAP_MISSED_UNKNOWN;
	CHECK(file_of(&p, later) == 2);
	same_events(&p, later, 2);
	CHECK(subbuf_missed(&format, later[0]) == SUBBUF_MISSED_UNKNOWN);
	CHECK(!dat_page_put_missed(&format, later[0], TRACEMAP_MISSED_UNKNOWN));
	CHECK(dat_page_put_missed(&format, later[0], 12345));
	CHECK(!memcmp(file, later, sizeof(file)));
	CHECK(!dat_page_put_missed(&format, later[0], 12));
	CHECK(!dat_page_put_missed(&format, later[1], 12));
}

/* Full, but only because of what the kernel filled the end with. */
static void test_filled(void)
{
	struct maker m;
	struct dat_piece p;

	start(&m, 1000);
	while (m.pos < CAPACITY - 8)
		event(&m, 3, m.pos);
	put(&m, SUBBUF_TYPE_PADDING);
	put(&m, 0);
	p = piece(&m, 0, 1000, 12345);
	CHECK(file_of(&p, file) == 1);
	same_events(&p, file, 1);
	CHECK(subbuf_missed(&format, file[0]) == 12345);
}

static void test_large_event(void)
{
	struct maker m;
	struct dat_piece p;

	start(&m, 1000);
	wide_event(&m, 3, 4, CAPACITY - 8);
	p = piece(&m, 0, 1000, 12345);
	CHECK(file_of(&p, file) == 1);
	same_events(&p, file, 1);
	CHECK(subbuf_missed(&format, file[0]) == SUBBUF_MISSED_UNKNOWN);
	CHECK(!dat_page_put_missed(&format, file[0], 12345));

	start(&m, 1000);
	event(&m, 3, 4);
	wide_event(&m, 3, 4, CAPACITY - 16);
	p = piece(&m, 0, 1000, 12345);
	CHECK(file_of(&p, file) == 2);
	same_events(&p, file, 2);
	CHECK(subbuf_missed(&format, file[0]) == 12345);
}

/* Any piece of any records: never outside of them. The sanitizers watch. */
static void test_anything(void)
{
	for (unsigned int i = 0; i < 100000; i++) {
		struct dat_piece p;
		struct maker m;

		start(&m, i);
		while (m.pos < CAPACITY)
			put(&m, rand() % 3 ? (uint32_t)rand() & 63 : (uint32_t)rand());
		p = piece(&m, rand() % 16 * 4, i, rand() % 3);
		p.end = p.start + rand() % ((CAPACITY - p.start) / 4 + 1) * 4;
		CHECK(file_of(&p, file) <= DAT_PAGES_MAX);
		check_last(&p);
	}
}

int main(void)
{
	test_whole();
	test_rest();
	test_loss(5, 5);
	test_loss(TRACEMAP_MISSED_UNKNOWN, SUBBUF_MISSED_UNKNOWN);
	test_no_event();
	test_full();
	test_late_number();
	test_filled();
	test_large_event();
	test_anything();
	printf("ok - dat_page: %u checks\n", checks);
	return 0;
}

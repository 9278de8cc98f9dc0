// SPDX-License-Identifier: LGPL-2.1
/*
 * Test subbuf.h with sub-buffers that are made here, in every layout that a kernel writes,
 * with damaged ones, and with random bytes. Each sub-buffer has an allocation of exactly its
 * size, so that the address sanitizer sees a byte too many.
 */
#include <stdlib.h>

#include "subbuf.h"

#define DATA_SIZE	4080
#define BASE_TS		1000000ULL
#define MAX_RECORDS	1024
#define RANDOM_PAGES	20000
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

struct page {
	struct subbuf_format f;
	unsigned char *bytes;
	uint32_t end;			/* offset in the data of the next record */
	uint64_t ts;			/* of the last record */
	unsigned int nr;
	struct subbuf_record want[MAX_RECORDS];
};

static const struct subbuf_format formats[] = {
	{ 16 + DATA_SIZE, 8, 8, 16, false },
	{ 16 + DATA_SIZE, 8, 8, 16, true },
	{ 12 + DATA_SIZE, 8, 4, 12, false },
	{ 12 + DATA_SIZE, 8, 4, 12, true },
};

static int failures;

#define check(cond) check_at(cond, #cond, __func__, __LINE__)

static bool check_at(bool ok, const char *what, const char *func, int line)
{
	if (ok)
		return true;
	printf("# %s:%d: not so: %s\n", func, line, what);
	failures++;
	return false;
}

/* Making sub-buffers. */

static void put32_at(struct page *p, size_t offset, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		p->bytes[offset + i] = value >> 8 * (p->f.big_endian ? 3 - i : i);
}

static void put_long_at(struct page *p, size_t offset, uint64_t value, int size)
{
	for (int i = 0; i < size; i++)
		p->bytes[offset + i] = value >> 8 * (p->f.big_endian ? size - 1 - i : i);
}

static void set_commit(struct page *p, uint64_t value)
{
	put_long_at(p, p->f.commit_offset, value, p->f.commit_size);
}

static struct page *page_new(const struct subbuf_format *f, uint64_t ts)
{
	struct page *p = calloc(1, sizeof(*p));

	p->f = *f;
	p->ts = ts;
	p->bytes = calloc(1, f->subbuf_size);
	put_long_at(p, 0, ts, 8);
	return p;
}

static void page_free(struct page *p)
{
	free(p->bytes);
	free(p);
}

/* End the memory where the records end. */
static void page_cut(struct page *p)
{
	size_t size = p->f.data_offset + p->end;
	unsigned char *exact = malloc(size);

	memcpy(exact, p->bytes, size);
	free(p->bytes);
	p->bytes = exact;
}

static void add_word(struct page *p, uint32_t value)
{
	put32_at(p, p->f.data_offset + p->end, value);
	p->end += 4;
	set_commit(p, p->end);
}

static void add_header(struct page *p, uint32_t type, uint32_t delta)
{
	add_word(p, p->f.big_endian ? type << 27 | delta : type | delta << 5);
}

static void expect(struct page *p, uint32_t size)
{
	struct subbuf_record *rec = &p->want[p->nr++];

	rec->ts = p->ts;
	rec->data = (void *)(uintptr_t)p->end;	/* an offset until it is known */
	rec->size = size;
}

static void add_payload(struct page *p, uint32_t size)
{
	expect(p, size);
	for (uint32_t i = 0; i < size; i += 4)
		add_word(p, p->nr);
}

static void add_small(struct page *p, uint32_t size, uint32_t delta)
{
	p->ts += delta;
	add_header(p, size / 4, delta);
	add_payload(p, size);
}

static void add_large(struct page *p, uint32_t size, uint32_t delta)
{
	p->ts += delta;
	add_header(p, 0, delta);
	add_word(p, size + 4);
	add_payload(p, size);
}

static void add_extend(struct page *p, uint64_t delta)
{
	p->ts += delta;
	add_header(p, SUBBUF_TYPE_TIME_EXTEND, delta & ((1 << 27) - 1));
	add_word(p, delta >> 27);
}

static void add_stamp(struct page *p, uint64_t ts)
{
	p->ts = ts;
	ts &= (1ULL << 59) - 1;
	add_header(p, SUBBUF_TYPE_TIME_STAMP, ts & ((1 << 27) - 1));
	add_word(p, ts >> 27);
}

static void add_discarded(struct page *p, uint32_t size, uint32_t delta)
{
	p->ts += delta;
	add_header(p, SUBBUF_TYPE_PADDING, delta);
	add_word(p, size);
	for (uint32_t i = 4; i < size; i += 4)
		add_word(p, 0xdeadbeef);
}

/* Reading them. */

static bool same(const struct page *p, const struct subbuf_record *got,
		 const struct subbuf_record *want)
{
	const unsigned char *data = p->bytes + p->f.data_offset +
				    (uintptr_t)want->data;

	return check(got->ts == want->ts) &&
	       check(got->size == want->size) &&
	       check(got->data == data);
}

static unsigned int read_on(const struct page *p, struct subbuf_iter *it,
			    unsigned int from)
{
	struct subbuf_record rec;

	while (subbuf_next(it, &rec)) {
		if (!check(from < p->nr) || !same(p, &rec, &p->want[from]))
			break;
		from++;
	}
	return from;
}

static void check_page(const struct page *p)
{
	struct subbuf_iter it = subbuf_begin(&p->f, p->bytes);

	check(read_on(p, &it, 0) == p->nr);
	check(!it.corrupt);
}

/* Stops before the record that was added last, and says that it is damage. */
static void check_corrupt(struct page *p)
{
	struct subbuf_iter it;
	struct subbuf_record rec;

	page_cut(p);
	it = subbuf_begin(&p->f, p->bytes);
	check(read_on(p, &it, 0) == p->nr);
	check(it.corrupt);

	subbuf_extend(&it, DATA_SIZE);
	check(!subbuf_next(&it, &rec));
}

/* The tests: each is run for every format. */

static void small_records(const struct subbuf_format *f)
{
	struct page *p = page_new(f, BASE_TS);

	for (uint32_t size = 4; size <= 112; size += 4)
		add_small(p, size, size * 3);
	while (p->end + 12 <= DATA_SIZE)
		add_small(p, 8, (1 << 27) - 1);
	page_cut(p);
	check_page(p);
	page_free(p);
}

static void large_records(const struct subbuf_format *f)
{
	struct page *p = page_new(f, BASE_TS);

	add_large(p, 116, 0);
	add_large(p, 0, 1);
	add_large(p, 4, 1);
	add_large(p, DATA_SIZE - p->end - 8 - 8, 5);
	add_large(p, 0, 1);
	page_cut(p);
	check_page(p);
	page_free(p);
}

/* No kernel writes these: what is behind them is at the next word all the same. */
static void large_records_of_odd_lengths(const struct subbuf_format *f)
{
	struct page *p = page_new(f, BASE_TS);

	for (uint32_t size = 117; size < 132; size++) {
		add_large(p, size, 1);
		add_small(p, 8, 2);
	}
	page_cut(p);
	check_page(p);
	page_free(p);
}

static void empty_sub_buffer(const struct subbuf_format *f)
{
	struct page *p = page_new(f, BASE_TS);

	page_cut(p);
	check_page(p);
	page_free(p);
}

static void time_extends(const struct subbuf_format *f)
{
	struct page *p = page_new(f, BASE_TS);

	add_small(p, 8, 0);
	add_extend(p, 1ULL << 27);
	add_small(p, 8, 0);
	add_extend(p, (1ULL << 58) + 12345);
	add_large(p, 200, 0);
	add_small(p, 8, 7);
	page_cut(p);
	check_page(p);
	page_free(p);
}

static void absolute_stamps(const struct subbuf_format *f)
{
	struct page *p = page_new(f, BASE_TS);

	add_stamp(p, BASE_TS + 5);
	add_small(p, 8, 0);
	add_stamp(p, (1ULL << 59) - 1);
	add_small(p, 8, 3);
	page_cut(p);
	check_page(p);
	page_free(p);
}

static void absolute_stamps_take_the_top_bits(const struct subbuf_format *f)
{
	uint64_t top = 0xa8ULL << 56;
	struct page *p = page_new(f, top + 100);

	add_stamp(p, top + 200);
	add_small(p, 8, 0);
	/* The 59 bits overflow between one stamp and the next. */
	add_stamp(p, top + (1ULL << 59) - 1);
	add_small(p, 8, 0);
	add_stamp(p, top + (1ULL << 59) + 10);
	add_small(p, 8, 1);
	page_cut(p);
	check_page(p);
	page_free(p);
}

static void discarded_events_take_time(const struct subbuf_format *f)
{
	struct page *p = page_new(f, BASE_TS);

	add_discarded(p, 8, 40);
	add_small(p, 8, 2);
	add_discarded(p, 400, 1);
	add_small(p, 8, 2);
	add_extend(p, 1ULL << 30);
	add_discarded(p, 4, 1);
	add_large(p, 120, 2);
	add_discarded(p, DATA_SIZE - p->end - 4, 1);	/* as a writer that leaves */
	page_cut(p);
	check_page(p);
	page_free(p);
}

static void the_rest_may_be_empty(const struct subbuf_format *f)
{
	struct page *p = page_new(f, BASE_TS);

	add_small(p, 8, 0);
	add_header(p, SUBBUF_TYPE_PADDING, 0);
	add_word(p, 0x41414141);
	add_word(p, 0x41414141);
	page_cut(p);
	check_page(p);
	page_free(p);
}

static void missed_marks(const struct subbuf_format *f)
{
	uint64_t marks[] = { 1U << 31, ~0ULL << 31 };	/* and sign-extended */
	struct page *p = page_new(f, BASE_TS);
	uint64_t end;

	while (p->end < DATA_SIZE - 100)
		add_small(p, 8, 1);
	end = p->end;
	check(subbuf_missed(f, p->bytes) == 0);

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		set_commit(p, end + marks[i]);
		check(subbuf_missed(f, p->bytes) == SUBBUF_MISSED_UNKNOWN);
		check_page(p);

		put_long_at(p, f->data_offset + end, 123456789, f->commit_size);
		set_commit(p, end + marks[i] + (1 << 30));
		check(subbuf_committed(f, p->bytes) == end);
		check(subbuf_missed(f, p->bytes) == 123456789);
		check_page(p);

		put_long_at(p, f->data_offset + end, 0, f->commit_size);
		check(subbuf_missed(f, p->bytes) == SUBBUF_MISSED_UNKNOWN);
	}
	page_free(p);
}

static void missed_count_stays_inside(const struct subbuf_format *f)
{
	struct page *p = page_new(f, BASE_TS);
	uint64_t marks = 3U << 30;

	put_long_at(p, f->subbuf_size - f->commit_size, 77, f->commit_size);
	set_commit(p, marks + DATA_SIZE - f->commit_size);
	check(subbuf_missed(f, p->bytes) == 77);
	set_commit(p, marks + DATA_SIZE - f->commit_size + 4);
	check(subbuf_missed(f, p->bytes) == SUBBUF_MISSED_UNKNOWN);
	set_commit(p, marks + DATA_SIZE);
	check(subbuf_missed(f, p->bytes) == SUBBUF_MISSED_UNKNOWN);
	set_commit(p, marks + (1 << 30) - 1);
	check(subbuf_missed(f, p->bytes) == SUBBUF_MISSED_UNKNOWN);
	set_commit(p, marks + 2);
	check(subbuf_missed(f, p->bytes) == SUBBUF_MISSED_UNKNOWN);
	page_free(p);
}

static void resumes_where_it_stopped(const struct subbuf_format *f)
{
	struct page *p = page_new(f, BASE_TS);
	struct subbuf_iter it = subbuf_resume(f, p->bytes, 0, BASE_TS);
	struct subbuf_record rec;
	unsigned int seen = 0;

	check(!subbuf_next(&it, &rec));
	while (p->end + 136 <= DATA_SIZE) {
		/* The end may fall between an extend and its event. */
		add_extend(p, 1 << 28);
		subbuf_extend(&it, p->end);
		seen = read_on(p, &it, seen);
		add_small(p, 4 + 4 * (p->nr % 28), p->nr);
		subbuf_extend(&it, p->end);
		seen = read_on(p, &it, seen);
		check(seen == p->nr);
		check(subbuf_pos(&it) == p->end);
	}
	subbuf_extend(&it, 0);		/* never back */
	check(subbuf_pos(&it) == p->end && it.next == it.end);
	check(!subbuf_next(&it, &rec));
	check(!it.corrupt);
	page_free(p);
}

static void skips_what_others_consumed(const struct subbuf_format *f)
{
	struct page *p = page_new(f, BASE_TS);
	struct subbuf_iter it;
	uint32_t consumed;

	for (int i = 0; i < 50; i++)
		add_small(p, 16, 1000);
	consumed = p->end;
	add_small(p, 8, 3);
	add_large(p, 200, 3);
	page_cut(p);

	it = subbuf_begin(f, p->bytes);
	subbuf_skip(&it, consumed);
	check(subbuf_pos(&it) == consumed);
	check(read_on(p, &it, 50) == p->nr);

	it = subbuf_resume(f, p->bytes, consumed, BASE_TS + 50000);
	subbuf_extend(&it, p->end);
	check(read_on(p, &it, 50) == p->nr);
	page_free(p);
}

/* Each of these is a first word, and a second one where it has one. */
static void records_that_cannot_be(const struct subbuf_format *f)
{
	static const struct {
		uint32_t type;
		uint32_t delta;
		bool has_second;
		uint32_t second;
	} bad[] = {
		{ 1, 0, false, 0 },
		{ 28, 1, true, 0 },
		{ 0, 1, false, 0 },
		{ 0, 1, true, 0 },
		{ 0, 1, true, 3 },
		{ 0, 1, true, 5 },
		{ 0, 1, true, 8 },
		{ 0, 1, true, 0x7fffffff },
		{ 0, 1, true, 0xfffffffc },
		{ 0, 1, true, 0xffffffff },
		{ SUBBUF_TYPE_PADDING, 1, false, 0 },
		{ SUBBUF_TYPE_PADDING, 1, true, 0 },
		{ SUBBUF_TYPE_PADDING, 1, true, 8 },
		{ SUBBUF_TYPE_PADDING, 1, true, 0xffffffff },
		{ SUBBUF_TYPE_TIME_EXTEND, 1, false, 0 },
		{ SUBBUF_TYPE_TIME_STAMP, 0, false, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct page *p = page_new(f, BASE_TS);

		for (int k = i % 3 * 20; k > 0; k--)
			add_small(p, 4 + 4 * (k % 28), k);
		add_header(p, bad[i].type, bad[i].delta);
		if (bad[i].has_second)
			add_word(p, bad[i].second);
		check_corrupt(p);
		page_free(p);
	}
}

/* The same in the middle, where the lengths are checked another way. */
static void lengths_past_the_end(const struct subbuf_format *f)
{
	static const uint32_t lengths[] = { 0, 3, 405, 408, 412, DATA_SIZE, ~3U, ~2U, ~0U };

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct page *p = page_new(f, BASE_TS);

		add_small(p, 8, 1);
		add_header(p, 0, 1);
		add_word(p, lengths[i]);
		/* With the length itself these are 404 bytes. */
		for (int k = 0; k < 100; k++)
			add_word(p, 1);
		check_corrupt(p);
		page_free(p);
	}
}

static void commits_past_the_sub_buffer(const struct subbuf_format *f)
{
	static const uint32_t commits[] = { DATA_SIZE + 4, SUBBUF_COMMIT_MASK };

	for (size_t i = 0; i < ARRAY_SIZE(commits); i++) {
		struct page *p = page_new(f, BASE_TS);

		while (p->end + 8 <= DATA_SIZE)
			add_small(p, 4, 1);
		set_commit(p, commits[i]);
		check_page(p);
		page_free(p);
	}
}

/* Random, but the same in every run. */
static uint32_t random32(void)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 16;
}

static void add_random(struct page *p)
{
	switch (random32() % 8) {
	case 0:
		add_large(p, random32() % 64 * 4, random32() >> 5);
		break;
	case 1:
		add_discarded(p, 4 + random32() % 32 * 4, 1 + random32() % 1000);
		break;
	case 2:
		add_extend(p, random32());
		break;
	case 3:
		add_stamp(p, p->ts + random32());
		break;
	default:
		add_small(p, 4 + random32() % 28 * 4, random32() >> 5);
	}
}

static void random_records(const struct subbuf_format *f)
{
	for (int i = 0; i < 500; i++) {
		struct page *p = page_new(f, (uint64_t)random32() << 32);
		uint32_t limit = random32() % (DATA_SIZE - 300);

		while (p->end < limit)
			add_random(p);
		page_cut(p);
		check_page(p);
		page_free(p);
	}
}

static void random_bytes(const struct subbuf_format *f)
{
	for (int i = 0; i < RANDOM_PAGES; i++) {
		struct page *p = page_new(f, random32());
		uint32_t words = random32() % 64;
		struct subbuf_iter it;
		struct subbuf_record rec;
		size_t before = 0;

		while (words--)
			add_word(p, random32() & (random32() | 0xff));
		page_cut(p);
		it = subbuf_begin(f, p->bytes);
		while (subbuf_next(&it, &rec)) {
			size_t at = (const unsigned char *)rec.data - it.data;

			check(at > before && at + rec.size <= p->end);
			check(subbuf_pos(&it) >= at && subbuf_pos(&it) <= p->end);
			before = at;
		}
		page_free(p);
	}
}

/* events/header_page as kernels print it. */
static void header_page(const struct subbuf_format *f)
{
	struct subbuf_format got;
	char text[512];

	snprintf(text, sizeof(text),
		 "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		 "\tfield: local_t commit;\toffset:%u;\tsize:%u;\tsigned:1;\n"
		 "\tfield: int overwrite;\toffset:%u;\tsize:1;\tsigned:1;\n"
		 "\tfield: char data;\toffset:%u;\tsize:%u;\tsigned:1;\n",
		 f->commit_offset, f->commit_size, f->commit_offset,
		 f->data_offset, f->subbuf_size - f->data_offset);
	check(subbuf_format_parse(&got, text));
	check(got.subbuf_size == f->subbuf_size);
	check(got.commit_offset == f->commit_offset);
	check(got.commit_size == f->commit_size);
	check(got.data_offset == f->data_offset);
}

static void header_pages_that_cannot_be(const struct subbuf_format *f)
{
	static const char * const bad[] = {
		"",
		" commit; offset:8; size:8;",
		" data; offset:16; size:4080;",
		" commit; offset:8; size:; data; offset:16; size:4080;",
		" commit; offset:8; size:2; data; offset:16; size:4080;",
		" commit; offset:0; size:8; data; offset:16; size:4080;",
		" commit; offset:9; size:4; data; offset:16; size:4080;",
		" commit; offset:8; size:8; data; offset:12; size:4080;",
		" commit; offset:4294967288; size:8; data; offset:16; size:4080;",
		" commit; offset:8; size:8; data; offset:4294967280; size:4080;",
		" commit; offset:8; size:8; data; offset:16; size:4294967295;",
	};
	struct subbuf_format got = *f;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		check(!subbuf_format_parse(&got, bad[i]));
}

#define TEST(name) { #name, name }

static const struct {
	const char *name;
	void (*run)(const struct subbuf_format *f);
} tests[] = {
	TEST(small_records),
	TEST(large_records),
	TEST(large_records_of_odd_lengths),
	TEST(empty_sub_buffer),
	TEST(time_extends),
	TEST(absolute_stamps),
	TEST(absolute_stamps_take_the_top_bits),
	TEST(discarded_events_take_time),
	TEST(the_rest_may_be_empty),
	TEST(missed_marks),
	TEST(missed_count_stays_inside),
	TEST(resumes_where_it_stopped),
	TEST(skips_what_others_consumed),
	TEST(records_that_cannot_be),
	TEST(lengths_past_the_end),
	TEST(commits_past_the_sub_buffer),
	TEST(random_records),
	TEST(random_bytes),
	TEST(header_page),
	TEST(header_pages_that_cannot_be),
};

int main(void)
{
	int nr = 0, failed = 0;

	printf("TAP version 13\n1..%zu\n", ARRAY_SIZE(tests) * ARRAY_SIZE(formats));
	for (size_t t = 0; t < ARRAY_SIZE(tests); t++) {
		for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
			const struct subbuf_format *f = &formats[i];

			failures = 0;
			tests[t].run(f);
			failed += !!failures;
			printf("%sok %d %s, %u-bit %s endian\n",
			       failures ? "not " : "", ++nr, tests[t].name,
			       8 * f->commit_size, f->big_endian ? "big" : "little");
		}
	}
	return failed ? 1 : 0;
}

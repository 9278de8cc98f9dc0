// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the ring buffer: how events are written, discarded, time-stamped,
 * and read in every way the kernel has.
 */
#include <linux/kernel.h>
#include <linux/trace_mmap.h>

#include "ring_buffer_kunit.h"

/* Writing. */

static void events_are_consumed_in_order(struct kunit *test)
{
	struct rbt *rbt = test->priv;

	KUNIT_EXPECT_EQ(test, 1000U, rbt_write_many(rbt, 1000, 8));
	KUNIT_EXPECT_EQ(test, 1000UL, ring_buffer_entries(rbt->buffer));
	KUNIT_EXPECT_FALSE(test, ring_buffer_empty(rbt->buffer));
	KUNIT_EXPECT_EQ(test, 1000ULL, ring_buffer_oldest_event_ts(rbt->buffer, rbt->cpu));
	rbt_expect_consume(test, rbt, 0, 400);
	KUNIT_EXPECT_EQ(test, 600UL, ring_buffer_entries_cpu(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, 400UL, ring_buffer_read_events_cpu(rbt->buffer, rbt->cpu));
	rbt_expect_consume(test, rbt, 400, 1000);
	rbt_expect_empty(test, rbt);
}

static void write_copies_the_data(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	struct ring_buffer_event *event;
	char text[] = "some forty bytes that are found again...";

	KUNIT_EXPECT_EQ(test, 0, ring_buffer_write(rbt->buffer, sizeof(text), text));
	event = ring_buffer_consume(rbt->buffer, rbt->cpu, NULL, NULL);
	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_EXPECT_LE(test, (unsigned int)sizeof(text), ring_buffer_event_length(event));
	KUNIT_EXPECT_STREQ(test, text, (char *)ring_buffer_event_data(event));
}

static void rbt_expect_length(struct kunit *test, struct rbt *rbt,
			      unsigned int size, unsigned int length)
{
	struct ring_buffer_event *event;

	KUNIT_ASSERT_EQ(test, 0, rbt_write(rbt, size));
	event = ring_buffer_consume(rbt->buffer, rbt->cpu, NULL, NULL);
	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_EXPECT_EQ(test, length, ring_buffer_event_length(event));
	KUNIT_EXPECT_EQ(test, rbt->next - 1, rbt_number(event));
}

/*
 * If 64-bit accesses must be aligned, only the long form is used. Otherwise two words
 * of data become three: an event that is too late is replaced by a time stamp, and
 * what is left of its space has to be enough for padding.
 */
static void lengths_are_rounded_up_to_words(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int size, length;

	for (size = 0; size < 130; size++) {
		length = ALIGN(max(size, 1U), 4);
		if (IS_ENABLED(CONFIG_HAVE_64BIT_ALIGNED_ACCESS))
			length = ALIGN(length + 8, 8) - 8;
		else if (length == 8)
			length = 12;
		rbt_expect_length(test, rbt, size, length);
	}
}

static void short_and_long_form_meet_at_112_bytes(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	struct ring_buffer_event *event;

	rbt_write(rbt, 112);
	rbt_write(rbt, 113);
	event = ring_buffer_consume(rbt->buffer, rbt->cpu, NULL, NULL);
	KUNIT_ASSERT_NOT_NULL(test, event);
	if (!IS_ENABLED(CONFIG_HAVE_64BIT_ALIGNED_ACCESS))
		KUNIT_EXPECT_EQ(test, 28, (int)event->type_len);
	event = ring_buffer_consume(rbt->buffer, rbt->cpu, NULL, NULL);
	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_EXPECT_EQ(test, 0, (int)event->type_len);
	KUNIT_EXPECT_PTR_EQ(test, (void *)&event->array[1], ring_buffer_event_data(event));
}

/* SUBBUF-16 */
static void largest_event_fits_and_one_more_byte_does_not(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned long max = ring_buffer_max_event_size(rbt->buffer);
	struct ring_buffer_event *event;
	void *data = kunit_kzalloc(test, max + 1, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, data);
	KUNIT_EXPECT_EQ(test, (unsigned long)rbt->subbuf - RBT_HEADER - RBT_LONG, max);
	KUNIT_EXPECT_NULL(test, ring_buffer_lock_reserve(rbt->buffer, max + 1));
	KUNIT_EXPECT_NULL(test, ring_buffer_lock_reserve(rbt->buffer, ULONG_MAX));
	KUNIT_EXPECT_EQ(test, -EBUSY, ring_buffer_write(rbt->buffer, max + 1, data));
	KUNIT_EXPECT_EQ(test, 0, ring_buffer_write(rbt->buffer, max, data));
	KUNIT_EXPECT_EQ(test, 4U, rbt_write_many(rbt, 4, max));
	for (; (event = ring_buffer_consume(rbt->buffer, rbt->cpu, NULL, NULL)); )
		KUNIT_EXPECT_LE(test, max, (unsigned long)ring_buffer_event_length(event));
	KUNIT_EXPECT_EQ(test, 5UL, ring_buffer_read_events_cpu(rbt->buffer, rbt->cpu));
}

/* The rest of a sub-buffer is padding, which no reader sees. */
static void padding_at_the_end_is_passed_over(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int size, nr;

	for (size = 4; size < 1000; size += 36) {
		nr = 2 * rbt_per_subbuf(rbt, size);
		KUNIT_ASSERT_EQ(test, nr, rbt_write_many(rbt, nr, size));
		rbt_expect_consume(test, rbt, rbt->next - nr, rbt->next);
	}
	rbt_expect_empty(test, rbt);
}

/* READ-14 */
static void bytes_are_those_not_yet_consumed(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned long bytes, before = 0;
	int i;

	for (i = 0; i < 10; i++) {
		rbt_write(rbt, 40);
		bytes = ring_buffer_bytes_cpu(rbt->buffer, rbt->cpu);
		KUNIT_EXPECT_LE(test, before + 44, bytes);
		before = bytes;
	}
	for (i = 0; i < 10; i++) {
		ring_buffer_consume(rbt->buffer, rbt->cpu, NULL, NULL);
		bytes = ring_buffer_bytes_cpu(rbt->buffer, rbt->cpu);
		KUNIT_EXPECT_LT(test, bytes, before);
		before = bytes;
	}
	KUNIT_EXPECT_EQ(test, 0UL, before);
}

/* READ-14: They do not include padding, even on a page where an event was refused. */
static void bytes_do_not_count_padding(struct kunit *test)
{
	unsigned int record = IS_ENABLED(CONFIG_HAVE_64BIT_ALIGNED_ACCESS) ? 72 : 64;
	struct rbt *rbt = test->priv;
	unsigned int nr = 2 * rbt_per_subbuf(rbt, 60) + 1;

	KUNIT_ASSERT_EQ(test, nr, rbt_write_many(rbt, nr, 60));
	KUNIT_EXPECT_EQ(test, (unsigned long)nr * record,
			ring_buffer_bytes_cpu(rbt->buffer, rbt->cpu));
	rbt_write_many(rbt, 2 * RBT_SUBBUFS * rbt_per_subbuf(rbt, 60), 60);
	while (ring_buffer_consume(rbt->buffer, rbt->cpu, NULL, NULL))
		;
	rbt_expect_empty(test, rbt);
	KUNIT_EXPECT_EQ(test, 0UL, ring_buffer_bytes_cpu(rbt->buffer, rbt->cpu));
	rbt_write_many(rbt, nr, 60);
	while (ring_buffer_consume(rbt->buffer, rbt->cpu, NULL, NULL))
		;
	KUNIT_EXPECT_EQ(test, 0UL, ring_buffer_bytes_cpu(rbt->buffer, rbt->cpu));
}

/* READ-14: Sub-buffers are taken as a whole, or copied where the buffer is mapped. */
static void bytes_are_those_that_read_page_has_left(struct kunit *test)
{
	unsigned int record = IS_ENABLED(CONFIG_HAVE_64BIT_ALIGNED_ACCESS) ? 72 : 64;
	struct rbt *rbt = test->priv;
	unsigned int nr = 5 * rbt_per_subbuf(rbt, 60) / 2, pages = 0;
	void *page = rbt_alloc_read_page(rbt);

	KUNIT_ASSERT_FALSE(test, IS_ERR(page));
	KUNIT_EXPECT_EQ(test, nr, rbt_write_many(rbt, nr, 60));
	while (rbt_fill_read_page(rbt, &page, rbt->subbuf, 0) >= 0) {
		KUNIT_EXPECT_EQ(test, ring_buffer_entries_cpu(rbt->buffer, rbt->cpu) * record,
				ring_buffer_bytes_cpu(rbt->buffer, rbt->cpu));
		pages++;
	}
	KUNIT_EXPECT_EQ(test, 3U, pages);
	KUNIT_EXPECT_EQ(test, 0UL, ring_buffer_bytes_cpu(rbt->buffer, rbt->cpu));
	ring_buffer_free_read_page(rbt->buffer, rbt->cpu, page);
}

/* Discarding. */

static void discarded_event_never_was(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	struct ring_buffer_event *event;

	rbt_write(rbt, 8);
	event = ring_buffer_lock_reserve(rbt->buffer, 100);
	KUNIT_ASSERT_NOT_NULL(test, event);
	ring_buffer_discard_commit(rbt->buffer, event);
	rbt_write(rbt, 8);
	KUNIT_EXPECT_EQ(test, 2UL, ring_buffer_entries_cpu(rbt->buffer, rbt->cpu));
	rbt_expect_consume(test, rbt, 0, 2);
	rbt_expect_empty(test, rbt);
}

/* The event is not the first one of its sub-buffer. */
static void discarded_event_takes_no_room(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	struct ring_buffer_event *event;
	unsigned long bytes;

	rbt_write_many(rbt, rbt_per_subbuf(rbt, 100) * 3 / 4, 100);
	bytes = ring_buffer_bytes_cpu(rbt->buffer, rbt->cpu);
	event = ring_buffer_lock_reserve(rbt->buffer, 100);
	KUNIT_ASSERT_NOT_NULL(test, event);
	ring_buffer_discard_commit(rbt->buffer, event);
	KUNIT_EXPECT_EQ(test, bytes, ring_buffer_bytes_cpu(rbt->buffer, rbt->cpu));
}

/* SUBBUF-16: The time stamp takes up some of the room for data. */
static void largest_event_with_an_absolute_stamp_is_written(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int size;

	ring_buffer_set_time_stamp_abs(rbt->buffer, true);
	size = ring_buffer_max_event_size(rbt->buffer);
	KUNIT_EXPECT_EQ(test, 0, rbt_write(rbt, size));
	KUNIT_EXPECT_EQ(test, -EBUSY, rbt_write(rbt, size + 4));
	KUNIT_EXPECT_EQ(test, -EBUSY, rbt_write(rbt, size + 12));
	ring_buffer_set_time_stamp_abs(rbt->buffer, false);
}

/* It cannot be taken back, as another event was written behind it, but no reader sees it. */
static void discarded_event_with_a_successor_is_not_seen(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	struct ring_buffer_event *event;

	event = ring_buffer_lock_reserve(rbt->buffer, 100);
	KUNIT_ASSERT_NOT_NULL(test, event);
	ring_buffer_nest_start(rbt->buffer);
	KUNIT_EXPECT_EQ(test, 1U, rbt_write_many(rbt, 1, 8));
	ring_buffer_nest_end(rbt->buffer);
	ring_buffer_discard_commit(rbt->buffer, event);
	KUNIT_EXPECT_EQ(test, 1UL, ring_buffer_entries_cpu(rbt->buffer, rbt->cpu));
	rbt_expect_consume(test, rbt, 0, 1);
	rbt_expect_empty(test, rbt);
}

static void nested_events_wait_for_the_outermost_commit(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	struct ring_buffer_event *outer;

	outer = ring_buffer_lock_reserve(rbt->buffer, 8);
	KUNIT_ASSERT_NOT_NULL(test, outer);
	*(u32 *)ring_buffer_event_data(outer) = rbt->next++;
	ring_buffer_nest_start(rbt->buffer);
	KUNIT_EXPECT_EQ(test, 3U, rbt_write_many(rbt, 3, 8));
	ring_buffer_nest_end(rbt->buffer);
	KUNIT_EXPECT_NULL(test, ring_buffer_peek(rbt->buffer, rbt->cpu, NULL, NULL));
	rbt_end_write(rbt->buffer, outer);
	rbt_expect_consume(test, rbt, 0, 4);
}

/* A context may nest once, because preempt_count may not show a change of context yet. */
static void nesting_has_a_limit(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	struct ring_buffer_event *first, *second;

	first = ring_buffer_lock_reserve(rbt->buffer, 8);
	second = ring_buffer_lock_reserve(rbt->buffer, 8);
	KUNIT_EXPECT_NOT_NULL(test, first);
	KUNIT_EXPECT_NOT_NULL(test, second);
	KUNIT_EXPECT_NULL(test, ring_buffer_lock_reserve(rbt->buffer, 8));
	if (second)
		rbt_end_write(rbt->buffer, second);
	if (first)
		rbt_end_write(rbt->buffer, first);
	KUNIT_EXPECT_EQ(test, 2UL, ring_buffer_entries_cpu(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, 1U, rbt_write_many(rbt, 1, 8));
}

/* Time. */

/* The layout that events/header_page describes */
struct rbt_page {
	u64	time_stamp;
	long	commit;
	u32	data[];
};

static void rbt_expect_stamp(struct kunit *test, struct rbt *rbt, u64 want)
{
	u64 ts = 0;

	KUNIT_ASSERT_NOT_NULL(test, ring_buffer_consume(rbt->buffer, rbt->cpu, &ts, NULL));
	KUNIT_EXPECT_EQ(test, want, ts);
}

static const u64 deltas[] = {
	0, 1, 2, 1 << 20, (1 << 27) - 1, 1 << 27, (1 << 27) + 1, 1ULL << 40,
	0, 5, 1ULL << 58,
};

static void rbt_write_deltas(struct kunit *test, struct rbt *rbt)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(deltas); i++) {
		rbt_now += deltas[i];
		KUNIT_ASSERT_EQ(test, 0, rbt_write(rbt, 8));
	}
}

static void rbt_expect_stamps(struct kunit *test, struct rbt *rbt)
{
	u64 now = rbt_now;
	int i;

	rbt_write_deltas(test, rbt);
	for (i = 0; i < ARRAY_SIZE(deltas); i++) {
		now += deltas[i];
		rbt_expect_stamp(test, rbt, now);
	}
}

static void stamps_are_the_clocks_within_and_beyond_27_bits(struct kunit *test)
{
	struct rbt *rbt = test->priv;

	KUNIT_EXPECT_FALSE(test, ring_buffer_time_stamp_abs(rbt->buffer));
	rbt_expect_stamps(test, rbt);
}

static void absolute_stamps_are_the_clocks(struct kunit *test)
{
	struct rbt *rbt = test->priv;

	ring_buffer_set_time_stamp_abs(rbt->buffer, true);
	KUNIT_EXPECT_TRUE(test, ring_buffer_time_stamp_abs(rbt->buffer));
	rbt_expect_stamps(test, rbt);
	ring_buffer_set_time_stamp_abs(rbt->buffer, false);
	rbt_now = 1ULL << 59 | 77;
	rbt_expect_stamps(test, rbt);
}

/* Returns the record behind this one. */
static void *rbt_expect_time(struct kunit *test, struct ring_buffer_event *event,
			     int type, u64 time)
{
	KUNIT_ASSERT_EQ(test, type, (int)event->type_len);
	KUNIT_EXPECT_EQ(test, time, (u64)event->array[0] << 27 | event->time_delta);
	return &event->array[1];
}

static void *rbt_expect_data(struct kunit *test, struct ring_buffer_event *event,
			     u64 delta, u32 number)
{
	KUNIT_ASSERT_LE(test, (int)event->type_len, (int)RINGBUF_TYPE_DATA_TYPE_LEN_MAX);
	KUNIT_EXPECT_EQ(test, delta, (u64)event->time_delta);
	KUNIT_EXPECT_EQ(test, number, rbt_number(event));
	return (void *)event->array + (event->type_len * 4 ?: event->array[0]);
}

/* Write the events, and expect the records that they are made of. */
static void rbt_expect_records(struct kunit *test, struct rbt *rbt, bool absolute)
{
	void *read = rbt_alloc_read_page(rbt), *at;
	u64 now = rbt_now;
	struct rbt_page *page;
	int i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(read));
	rbt_write_deltas(test, rbt);
	KUNIT_ASSERT_EQ(test, 0, rbt_fill_read_page(rbt, &read, rbt->subbuf, 0));
	page = rbt_read_page_data(read);
	at = page->data;
	KUNIT_EXPECT_EQ(test, now + deltas[0], page->time_stamp);
	for (i = 0; i < ARRAY_SIZE(deltas); i++) {
		bool extend = !absolute && deltas[i] >> 27;

		now += deltas[i];
		if (absolute)
			at = rbt_expect_time(test, at, RINGBUF_TYPE_TIME_STAMP,
					     now & ((1ULL << 59) - 1));
		if (extend)
			at = rbt_expect_time(test, at, RINGBUF_TYPE_TIME_EXTEND, deltas[i]);
		at = rbt_expect_data(test, at, absolute || extend ? 0 : deltas[i], i);
	}
	KUNIT_EXPECT_PTR_EQ(test, (void *)page->data + page->commit, at);
	ring_buffer_free_read_page(rbt->buffer, rbt->cpu, read);
}

/* A delta of up to 27 bits has none. */
static void delta_beyond_27_bits_has_a_record_of_its_own(struct kunit *test)
{
	rbt_expect_records(test, test->priv, false);
}

/* The record has 59 bits of the stamp; the time stamp of the sub-buffer has the others. */
static void absolute_stamp_has_a_record_of_its_own(struct kunit *test)
{
	struct rbt *rbt = test->priv;

	ring_buffer_set_time_stamp_abs(rbt->buffer, true);
	rbt_now |= 1ULL << 59;
	rbt_expect_records(test, rbt, true);
}

static void oldest_stamp_is_that_of_the_oldest_subbuf(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int nr = rbt_per_subbuf(rbt, 4) - 4;
	u64 first = rbt_now;

	rbt_write_many(rbt, nr, 4);
	rbt_now += 100;
	KUNIT_EXPECT_EQ(test, first, ring_buffer_oldest_event_ts(rbt->buffer, rbt->cpu));
	rbt_write_many(rbt, nr, 4);
	KUNIT_EXPECT_EQ(test, first, ring_buffer_oldest_event_ts(rbt->buffer, rbt->cpu));
	rbt_expect_consume(test, rbt, 0, nr + 5);
	KUNIT_EXPECT_EQ(test, first + 100,
			ring_buffer_oldest_event_ts(rbt->buffer, rbt->cpu));
}

static void stamp_of_a_reserved_event_is_known(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	struct ring_buffer_event *event;

	rbt_write(rbt, 8);
	rbt_now += 1ULL << 30;
	event = ring_buffer_lock_reserve(rbt->buffer, 8);
	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_EXPECT_EQ(test, rbt_now, ring_buffer_event_time_stamp(rbt->buffer, event));
	rbt_end_write(rbt->buffer, event);
}

/* Such an event follows another one on the same sub-buffer, less than 27 bits of time later. */
static void stamp_of_an_event_reserved_straight_is_known(struct kunit *test)
{
	struct ring_buffer_event *outer, *inner;
	struct rbt *rbt = test->priv;
	u64 before;

	rbt_write(rbt, 8);
	before = rbt_now += 5;
	outer = ring_buffer_lock_reserve(rbt->buffer, 8);
	KUNIT_ASSERT_NOT_NULL(test, outer);
	KUNIT_EXPECT_EQ(test, before, ring_buffer_event_time_stamp(rbt->buffer, outer));

	rbt_now += 7;
	ring_buffer_nest_start(rbt->buffer);
	inner = ring_buffer_lock_reserve(rbt->buffer, 8);
	ring_buffer_nest_end(rbt->buffer);
	KUNIT_EXPECT_NOT_NULL(test, inner);
	if (inner) {
		KUNIT_EXPECT_EQ(test, rbt_now, ring_buffer_event_time_stamp(rbt->buffer, inner));
		rbt_end_write(rbt->buffer, inner);
	}
	KUNIT_EXPECT_EQ(test, before, ring_buffer_event_time_stamp(rbt->buffer, outer));
	rbt_end_write(rbt->buffer, outer);
}

/* The next event does not count from the time of the one that was taken back. */
static void discarded_event_leaves_the_time_of_the_next_one_right(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	struct ring_buffer_event *event;
	u64 first = rbt_now;

	rbt_write(rbt, 8);
	rbt_now += 100;
	event = ring_buffer_lock_reserve(rbt->buffer, 100);
	KUNIT_ASSERT_NOT_NULL(test, event);
	ring_buffer_discard_commit(rbt->buffer, event);
	rbt_now += 3;
	rbt_write(rbt, 8);
	rbt_expect_stamp(test, rbt, first);
	rbt_expect_stamp(test, rbt, first + 103);
}

/*
 * It cannot be taken back, as another event was written behind it. That one's delta is from the
 * time of the discarded event, which stays in the ring as padding.
 */
static void discarded_event_with_a_successor_leaves_times_right(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	struct ring_buffer_event *event;
	struct ring_buffer_iter *iter;
	u64 first = rbt_now, ts = 0;

	rbt_write(rbt, 8);
	rbt_now += 100;
	event = ring_buffer_lock_reserve(rbt->buffer, 100);
	KUNIT_ASSERT_NOT_NULL(test, event);
	rbt_now += 50;
	ring_buffer_nest_start(rbt->buffer);
	KUNIT_EXPECT_EQ(test, 0, rbt_write(rbt, 8));
	ring_buffer_nest_end(rbt->buffer);
	ring_buffer_discard_commit(rbt->buffer, event);

	iter = ring_buffer_read_start(rbt->buffer, rbt->cpu, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, iter);
	KUNIT_EXPECT_NOT_NULL(test, ring_buffer_iter_peek(iter, NULL));
	ring_buffer_iter_advance(iter);
	KUNIT_EXPECT_NOT_NULL(test, ring_buffer_iter_peek(iter, &ts));
	KUNIT_EXPECT_EQ(test, first + 150, ts);
	ring_buffer_read_finish(iter);
	rbt_expect_stamp(test, rbt, first);
	rbt_expect_stamp(test, rbt, first + 150);
}

static u64 rbt_later_clock(void)
{
	return rbt_now + 5;
}

/* Whatever a stamp looks like inside the buffer, normalized it is what the clock said. */
static void clock_is_the_one_that_was_set(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	u64 ts;

	rbt_now = 77777;
	ts = ring_buffer_time_stamp(rbt->buffer);
	ring_buffer_normalize_time_stamp(rbt->buffer, rbt->cpu, &ts);
	KUNIT_EXPECT_EQ(test, 77777ULL, ts);

	ring_buffer_set_clock(rbt->buffer, rbt_later_clock);
	ts = ring_buffer_time_stamp(rbt->buffer);
	ring_buffer_normalize_time_stamp(rbt->buffer, rbt->cpu, &ts);
	KUNIT_EXPECT_EQ(test, 77782ULL, ts);
	KUNIT_ASSERT_EQ(test, 0, rbt_write(rbt, 8));
	rbt_expect_stamp(test, rbt, 77782);
}

/* Loss. */

static void full_buffer_keeps_the_newest_or_the_oldest(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int nr = 5 * RBT_SUBBUFS * rbt_per_subbuf(rbt, 60) / 2, written, left;
	bool overwrite = rbt->kind->flags & RB_FL_OVERWRITE;

	written = rbt_write_many(rbt, nr, 60);
	left = ring_buffer_entries_cpu(rbt->buffer, rbt->cpu);
	if (overwrite) {
		KUNIT_EXPECT_EQ(test, nr, written);
		KUNIT_EXPECT_EQ(test, (unsigned long)nr - left,
				ring_buffer_overrun_cpu(rbt->buffer, rbt->cpu));
		KUNIT_EXPECT_EQ(test, (unsigned long)nr - left,
				ring_buffer_overruns(rbt->buffer));
		rbt_expect_consume(test, rbt, nr - left, nr);
	} else {
		KUNIT_EXPECT_EQ(test, written, left);
		KUNIT_EXPECT_EQ(test, (unsigned long)nr - left,
				ring_buffer_dropped_events_cpu(rbt->buffer, rbt->cpu));
		rbt_expect_consume(test, rbt, 0, written);
	}
	rbt_expect_empty(test, rbt);
}

static void overwrite_can_be_switched(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int nr = 2 * RBT_SUBBUFS * rbt_per_subbuf(rbt, 60), written;

	ring_buffer_change_overwrite(rbt->buffer, 0);
	written = rbt_write_many(rbt, nr, 60);
	KUNIT_EXPECT_LT(test, written, nr);
	ring_buffer_change_overwrite(rbt->buffer, 1);
	KUNIT_EXPECT_EQ(test, nr, rbt_write_many(rbt, nr, 60));
	KUNIT_EXPECT_LT(test, 0UL, ring_buffer_overrun_cpu(rbt->buffer, rbt->cpu));
	ring_buffer_change_overwrite(rbt->buffer, !!(rbt->kind->flags & RB_FL_OVERWRITE));
}

/* LOSS-8 */
static void lost_events_are_told_once_and_exactly(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int nr = 2 * RBT_SUBBUFS * rbt_per_subbuf(rbt, 60);
	unsigned long lost = 0, sum = 0, seen = 0;

	ring_buffer_change_overwrite(rbt->buffer, 1);
	rbt_write_many(rbt, nr, 60);
	KUNIT_EXPECT_NOT_NULL(test, ring_buffer_peek(rbt->buffer, rbt->cpu, NULL, &lost));
	while (ring_buffer_consume(rbt->buffer, rbt->cpu, NULL, &lost)) {
		sum += lost;
		seen++;
	}
	KUNIT_EXPECT_LT(test, 0UL, sum);
	KUNIT_EXPECT_EQ(test, (unsigned long)nr, seen + sum);
}

/* LOSS-9: Also for a reader that has looked at the first event behind it already. */
static void reset_forgets_a_loss_that_was_peeked_at(struct kunit *test)
{
	struct ring_buffer_event *event;
	struct rbt *rbt = test->priv;
	unsigned long lost = 0;
	u32 next;

	ring_buffer_change_overwrite(rbt->buffer, 1);
	rbt_write_many(rbt, 2 * RBT_SUBBUFS * rbt_per_subbuf(rbt, 60), 60);
	KUNIT_EXPECT_NOT_NULL(test, ring_buffer_peek(rbt->buffer, rbt->cpu, NULL, &lost));
	KUNIT_EXPECT_LT(test, 0UL, lost);
	ring_buffer_reset_cpu(rbt->buffer, rbt->cpu);
	next = rbt->next;
	KUNIT_EXPECT_EQ(test, 0, rbt_write(rbt, 60));
	event = ring_buffer_consume(rbt->buffer, rbt->cpu, NULL, &lost);
	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_EXPECT_EQ(test, next, rbt_number(event));
	KUNIT_EXPECT_EQ(test, 0UL, lost);
}

/* Reading without consuming. */

static void peek_does_not_consume(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	u64 ts;
	int i;

	rbt_write_many(rbt, 10, 8);
	for (i = 0; i < 3; i++) {
		struct ring_buffer_event *event;

		event = ring_buffer_peek(rbt->buffer, rbt->cpu, &ts, NULL);
		KUNIT_ASSERT_NOT_NULL(test, event);
		KUNIT_EXPECT_EQ(test, 0U, rbt_number(event));
		KUNIT_EXPECT_EQ(test, rbt_now, ts);
	}
	KUNIT_EXPECT_EQ(test, 10UL, ring_buffer_entries_cpu(rbt->buffer, rbt->cpu));
	rbt_expect_consume(test, rbt, 0, 10);
}

static u32 rbt_iterate(struct kunit *test, struct ring_buffer_iter *iter, u32 from)
{
	struct ring_buffer_event *event;
	u64 ts;

	while ((event = ring_buffer_iter_peek(iter, &ts))) {
		KUNIT_ASSERT_EQ(test, from, rbt_number(event));
		from++;
		ring_buffer_iter_advance(iter);
	}
	return from;
}

static void iterator_sees_all_and_consumes_nothing(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int nr = 3 * rbt_per_subbuf(rbt, 60);
	struct ring_buffer_iter *iter;

	rbt_write_many(rbt, nr, 60);
	iter = ring_buffer_read_start(rbt->buffer, rbt->cpu, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, iter);
	KUNIT_EXPECT_FALSE(test, ring_buffer_iter_empty(iter));
	KUNIT_EXPECT_EQ(test, nr, rbt_iterate(test, iter, 0));
	KUNIT_EXPECT_TRUE(test, ring_buffer_iter_empty(iter));
	ring_buffer_iter_reset(iter);
	KUNIT_EXPECT_EQ(test, nr, rbt_iterate(test, iter, 0));
	KUNIT_EXPECT_FALSE(test, ring_buffer_iter_dropped(iter));
	ring_buffer_read_finish(iter);
	rbt_expect_consume(test, rbt, 0, nr);
}

static void iterator_sees_what_is_written_meanwhile(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	struct ring_buffer_iter *iter;
	u32 at = 0;
	int i;

	rbt_write_many(rbt, 10, 60);
	iter = ring_buffer_read_start(rbt->buffer, rbt->cpu, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, iter);
	for (i = 0; i < 10; i++) {
		at = rbt_iterate(test, iter, at);
		KUNIT_EXPECT_EQ(test, rbt->next, at);
		KUNIT_EXPECT_FALSE(test, ring_buffer_iter_dropped(iter));
		rbt_write_many(rbt, 10, 60);
	}
	ring_buffer_read_finish(iter);
}

/* The writer overtakes the iterator, unless the buffer does not overwrite. */
static void iterator_tells_that_it_was_overtaken(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	bool overwrite = rbt->kind->flags & RB_FL_OVERWRITE;
	u32 per = rbt_per_subbuf(rbt, 60);
	struct ring_buffer_event *event;
	struct ring_buffer_iter *iter;

	rbt_write_many(rbt, per, 60);
	iter = ring_buffer_read_start(rbt->buffer, rbt->cpu, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, iter);
	KUNIT_EXPECT_NOT_NULL(test, ring_buffer_iter_peek(iter, NULL));
	KUNIT_EXPECT_FALSE(test, ring_buffer_iter_dropped(iter));
	ring_buffer_iter_advance(iter);

	rbt_now++;	/* the iterator recognizes a sub-buffer by its time stamp */
	rbt_write_many(rbt, RBT_SUBBUFS * per, 60);
	event = ring_buffer_iter_peek(iter, NULL);
	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_EXPECT_EQ(test, overwrite, ring_buffer_iter_dropped(iter));
	if (overwrite)
		KUNIT_EXPECT_LE(test, per, rbt_number(event));
	else
		KUNIT_EXPECT_EQ(test, 1U, rbt_number(event));

	/* The iterator reports it once. */
	ring_buffer_iter_advance(iter);
	KUNIT_EXPECT_NOT_NULL(test, ring_buffer_iter_peek(iter, NULL));
	KUNIT_EXPECT_FALSE(test, ring_buffer_iter_dropped(iter));
	ring_buffer_read_finish(iter);
}

/* HOLD-7 */
static void iterator_holds_off_a_resize(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	struct ring_buffer_iter *iter;

	rbt_unmap(rbt);
	rbt_write_many(rbt, 10, 60);
	iter = ring_buffer_read_start(rbt->buffer, rbt->cpu, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, iter);
	KUNIT_EXPECT_EQ(test, -EBUSY, ring_buffer_resize(rbt->buffer, 20 * rbt->subbuf, rbt->cpu));
	ring_buffer_read_finish(iter);
	KUNIT_EXPECT_LE(test, 0, ring_buffer_resize(rbt->buffer, 20 * rbt->subbuf, rbt->cpu));
	rbt_map(test, rbt);
}

/* Sub-buffers. */

static unsigned long rbt_commit_of(void *read_page)
{
	const struct rbt_page *page = rbt_read_page_data(read_page);

	return page->commit;
}

/* Expect events of 4 bytes that were all written at the same time: two words each. */
static u32 rbt_expect_page(struct kunit *test, void *read_page, int read, u32 from)
{
	const struct rbt_page *page = rbt_read_page_data(read_page);
	unsigned int end = (page->commit & 0xfffff) / 4, i;

	if (IS_ENABLED(CONFIG_HAVE_64BIT_ALIGNED_ACCESS))
		return from + end / 4 - read / 16;
	for (i = read / 4; i < end; i += 2) {
		if ((page->data[i] & 31) == 29)	/* padding to the end */
			break;
		KUNIT_ASSERT_EQ(test, from, page->data[i + 1]);
		from++;
	}
	return from;
}

/*
 * Read to @page. If @swap, expect to get the sub-buffer itself in exchange. Otherwise,
 * or if there was nothing to read, expect to keep the same page.
 */
static int rbt_read_page(struct kunit *test, struct rbt *rbt, void **page, size_t len,
			 int full, bool swap)
{
	void *was = rbt_read_page_data(*page);
	int ret = rbt_fill_read_page(rbt, page, len, full);

	KUNIT_EXPECT_EQ(test, ret >= 0 && swap, rbt_read_page_data(*page) != was);
	return ret;
}

/* A sub-buffer is swapped if the writer has left it and the buffer is not mapped. */
static void read_page_takes_every_event_once(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	u32 per = rbt_per_subbuf(rbt, 4), nr = 5 * per / 2, at = 0;
	void *page = rbt_alloc_read_page(rbt);
	int ret;

	KUNIT_ASSERT_FALSE(test, IS_ERR(page));
	KUNIT_EXPECT_GT(test, 0, rbt_read_page(test, rbt, &page, rbt->subbuf, 0, false));
	rbt_write_many(rbt, nr, 4);
	while (at < nr) {
		ret = rbt_read_page(test, rbt, &page, rbt->subbuf, 0,
				    !rbt->kind->mapped && at < 2 * per);
		KUNIT_ASSERT_LE(test, 0, ret);
		at = rbt_expect_page(test, page, ret, at);
	}
	KUNIT_EXPECT_EQ(test, nr, at);
	ring_buffer_free_read_page(rbt->buffer, rbt->cpu, page);
	rbt_expect_empty(test, rbt);
}

/* Only a sub-buffer that the writer has left is "full". */
static void read_page_full_leaves_the_written_one(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	u32 nr = 5 * rbt_per_subbuf(rbt, 4) / 2, at = 0;
	void *page = rbt_alloc_read_page(rbt);
	int ret;

	KUNIT_ASSERT_FALSE(test, IS_ERR(page));
	rbt_write_many(rbt, nr, 4);
	while ((ret = rbt_read_page(test, rbt, &page, rbt->subbuf, 1, !rbt->kind->mapped)) >= 0)
		at = rbt_expect_page(test, page, ret, at);
	KUNIT_EXPECT_EQ(test, 2 * rbt_per_subbuf(rbt, 4), at);
	KUNIT_EXPECT_EQ(test, (unsigned long)nr - at,
			ring_buffer_entries_cpu(rbt->buffer, rbt->cpu));
	ring_buffer_free_read_page(rbt->buffer, rbt->cpu, page);
}

/* A page from before a change of the size is not swapped, but may take a copy. */
static void read_page_refuses_a_page_of_another_size(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	void *page = rbt_alloc_read_page(rbt);
	int order = ring_buffer_subbuf_order_get(rbt->buffer), ret;
	u32 at = 0;

	KUNIT_ASSERT_FALSE(test, IS_ERR(page));
	rbt_unmap(rbt);
	KUNIT_ASSERT_EQ(test, 0, ring_buffer_subbuf_order_set(rbt->buffer, order + 1));
	rbt_map(test, rbt);
	KUNIT_EXPECT_EQ(test, 10U, rbt_write_many(rbt, 10, 4));
	ret = rbt_read_page(test, rbt, &page, rbt->subbuf, 0, false);
	KUNIT_EXPECT_EQ(test, RBT_COPIES_TO_ANY_SIZE, ret >= 0);
	if (ret >= 0)
		at = rbt_expect_page(test, page, ret, 0);
	KUNIT_EXPECT_EQ(test, RBT_COPIES_TO_ANY_SIZE ? 10U : 0U, at);
	ring_buffer_free_read_page(rbt->buffer, rbt->cpu, page);
	rbt_expect_consume(test, rbt, at, 10);
}

/* Events are copied if the page is too small, or if some of the sub-buffer was consumed. */
static void read_page_copies_what_does_not_fill_it(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	void *page = rbt_alloc_read_page(rbt);
	u32 at = 0;
	int ret;

	KUNIT_ASSERT_FALSE(test, IS_ERR(page));
	rbt_write_many(rbt, rbt_per_subbuf(rbt, 4) + 10, 4);
	rbt_expect_consume(test, rbt, 0, 5);
	at = 5;
	KUNIT_EXPECT_GT(test, 0, rbt_read_page(test, rbt, &page, RBT_HEADER, 0, false));
	while ((ret = rbt_read_page(test, rbt, &page, RBT_HEADER + 160, 0, false)) >= 0) {
		KUNIT_EXPECT_EQ(test, 0, ret);
		KUNIT_EXPECT_LE(test, rbt_commit_of(page), 160UL);
		at = rbt_expect_page(test, page, ret, at);
	}
	KUNIT_EXPECT_EQ(test, rbt->next, at);
	ring_buffer_free_read_page(rbt->buffer, rbt->cpu, page);
	rbt_expect_empty(test, rbt);
}

/* Events of 84 bytes leave room behind them, where the number of lost events is. */
static void rbt_expect_loss(struct kunit *test, const struct rbt_page *page, unsigned long lost)
{
	unsigned long told;

	KUNIT_ASSERT_EQ(test, 3UL, (unsigned long)page->commit >> 30 & 3);
	memcpy(&told, (void *)page->data + (page->commit & 0xfffff), sizeof(told));
	KUNIT_EXPECT_EQ(test, lost, told);
}

static void rbt_lose(struct rbt *rbt)
{
	ring_buffer_change_overwrite(rbt->buffer, 1);
	rbt_write_many(rbt, 2 * RBT_SUBBUFS * rbt_per_subbuf(rbt, 84), 84);
}

/* LOSS-5 */
static void read_page_tells_of_loss(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	void *page = rbt_alloc_read_page(rbt);

	KUNIT_ASSERT_FALSE(test, IS_ERR(page));
	rbt_lose(rbt);
	KUNIT_ASSERT_LE(test, 0, rbt_read_page(test, rbt, &page, rbt->subbuf, 0,
					       !rbt->kind->mapped));
	rbt_expect_loss(test, rbt_read_page_data(page),
			ring_buffer_overrun_cpu(rbt->buffer, rbt->cpu));
	KUNIT_ASSERT_LE(test, 0, rbt_read_page(test, rbt, &page, rbt->subbuf, 0,
					       !rbt->kind->mapped));
	KUNIT_EXPECT_EQ(test, 0UL, rbt_commit_of(page) >> 30);
	ring_buffer_free_read_page(rbt->buffer, rbt->cpu, page);
}

/* LOSS-5: If a page is read in parts, the first part reports the loss. */
static void read_page_tells_of_loss_in_a_part(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	void *page = rbt_alloc_read_page(rbt);

	KUNIT_ASSERT_FALSE(test, IS_ERR(page));
	rbt_lose(rbt);
	KUNIT_ASSERT_LE(test, 0, rbt_read_page(test, rbt, &page, 400, 0, false));
	rbt_expect_loss(test, rbt_read_page_data(page),
			ring_buffer_overrun_cpu(rbt->buffer, rbt->cpu));
	/* Read all of the rest: it is copied, without the padding. */
	KUNIT_ASSERT_LE(test, 0, rbt_read_page(test, rbt, &page, rbt->subbuf, 0, false));
	KUNIT_EXPECT_EQ(test, 0UL, rbt_commit_of(page) >> 30);
	KUNIT_EXPECT_EQ(test, 0UL, rbt_commit_of(page) %
			(IS_ENABLED(CONFIG_HAVE_64BIT_ALIGNED_ACCESS) ? 96UL : 88UL));
	ring_buffer_free_read_page(rbt->buffer, rbt->cpu, page);
}

/* LOSS-3, LOSS-4 */
static void get_reader_tells_of_loss_on_the_subbuf(struct kunit *test)
{
	const struct trace_buffer_meta *meta;
	struct rbt *rbt = test->priv;
	struct page *page;

	KUNIT_ASSERT_EQ(test, 0, rbt_map_once(rbt));
	meta = rbt_meta(test, rbt);
	rbt_lose(rbt);
	KUNIT_ASSERT_EQ(test, 0, ring_buffer_map_get_reader(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, meta->overrun, meta->reader.lost_events);
	page = rbt_map_page(rbt, (meta->reader.id + 1UL) * rbt->subbuf >> PAGE_SHIFT);
	KUNIT_ASSERT_NOT_NULL(test, page);
	rbt_expect_loss(test, page_address(page), meta->reader.lost_events);
	rbt_unmap_once(rbt);
}

static struct kunit_case rbt_event_cases[] = {
	KUNIT_CASE_PARAM(events_are_consumed_in_order, rbt_gen_kind),
	KUNIT_CASE_PARAM(write_copies_the_data, rbt_gen_kind),
	KUNIT_CASE_PARAM(lengths_are_rounded_up_to_words, rbt_gen_kind),
	KUNIT_CASE_PARAM(short_and_long_form_meet_at_112_bytes, rbt_gen_kind),
	KUNIT_CASE_PARAM(largest_event_fits_and_one_more_byte_does_not, rbt_gen_kind),
	KUNIT_CASE_PARAM(padding_at_the_end_is_passed_over, rbt_gen_kind),
	KUNIT_CASE_PARAM(bytes_are_those_not_yet_consumed, rbt_gen_kind),
	KUNIT_CASE_PARAM(bytes_do_not_count_padding, rbt_gen_kind),
	KUNIT_CASE_PARAM(bytes_are_those_that_read_page_has_left, rbt_gen_kind),
	KUNIT_CASE_PARAM(discarded_event_never_was, rbt_gen_kind),
	KUNIT_CASE_PARAM(discarded_event_takes_no_room, rbt_gen_kind),
	KUNIT_CASE_PARAM(largest_event_with_an_absolute_stamp_is_written, rbt_gen_kind),
	KUNIT_CASE_PARAM(discarded_event_with_a_successor_is_not_seen, rbt_gen_kind),
	KUNIT_CASE_PARAM(nested_events_wait_for_the_outermost_commit, rbt_gen_kind),
	KUNIT_CASE_PARAM(nesting_has_a_limit, rbt_gen_kind),
	KUNIT_CASE_PARAM(stamps_are_the_clocks_within_and_beyond_27_bits, rbt_gen_kind),
	KUNIT_CASE_PARAM(absolute_stamps_are_the_clocks, rbt_gen_kind),
	KUNIT_CASE_PARAM(delta_beyond_27_bits_has_a_record_of_its_own, rbt_gen_kind),
	KUNIT_CASE_PARAM(absolute_stamp_has_a_record_of_its_own, rbt_gen_kind),
	KUNIT_CASE_PARAM(oldest_stamp_is_that_of_the_oldest_subbuf, rbt_gen_kind),
	KUNIT_CASE_PARAM(stamp_of_a_reserved_event_is_known, rbt_gen_kind),
	KUNIT_CASE_PARAM(stamp_of_an_event_reserved_straight_is_known, rbt_gen_kind),
	KUNIT_CASE_PARAM(discarded_event_leaves_the_time_of_the_next_one_right, rbt_gen_kind),
	KUNIT_CASE_PARAM(discarded_event_with_a_successor_leaves_times_right, rbt_gen_kind),
	KUNIT_CASE_PARAM(clock_is_the_one_that_was_set, rbt_gen_kind),
	KUNIT_CASE_PARAM(full_buffer_keeps_the_newest_or_the_oldest, rbt_gen_kind),
	KUNIT_CASE_PARAM(overwrite_can_be_switched, rbt_gen_kind),
	KUNIT_CASE_PARAM(lost_events_are_told_once_and_exactly, rbt_gen_kind),
	KUNIT_CASE_PARAM(reset_forgets_a_loss_that_was_peeked_at, rbt_gen_kind),
	KUNIT_CASE_PARAM(peek_does_not_consume, rbt_gen_kind),
	KUNIT_CASE_PARAM(iterator_sees_all_and_consumes_nothing, rbt_gen_kind),
	KUNIT_CASE_PARAM(iterator_sees_what_is_written_meanwhile, rbt_gen_kind),
	KUNIT_CASE_PARAM(iterator_tells_that_it_was_overtaken, rbt_gen_kind),
	KUNIT_CASE_PARAM(iterator_holds_off_a_resize, rbt_gen_kind),
	KUNIT_CASE_PARAM(read_page_takes_every_event_once, rbt_gen_kind),
	KUNIT_CASE_PARAM(read_page_full_leaves_the_written_one, rbt_gen_kind),
	KUNIT_CASE_PARAM(read_page_refuses_a_page_of_another_size, rbt_gen_kind),
	KUNIT_CASE_PARAM(read_page_copies_what_does_not_fill_it, rbt_gen_kind),
	KUNIT_CASE_PARAM(read_page_tells_of_loss, rbt_gen_kind),
	KUNIT_CASE_PARAM(read_page_tells_of_loss_in_a_part, rbt_gen_kind),
	KUNIT_CASE_PARAM(get_reader_tells_of_loss_on_the_subbuf, rbt_gen_kind),
	{ }
};

static struct kunit_suite rbt_event_suite = {
	.name = "ring_buffer_events",
	.init = rbt_init,
	.exit = rbt_exit,
	.test_cases = rbt_event_cases,
};

kunit_test_suite(rbt_event_suite);

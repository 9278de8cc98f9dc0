// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the ring buffer: what mappings and observers refuse, how they are
 * counted, and how waiters are woken.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/trace_live.h>
#include <linux/trace_mmap.h>
#include <linux/vmalloc.h>

#include "ring_buffer_kunit.h"
#include "ring_buffer_observer.h"

/* Waiting. */

static bool rbt_never(void *data)
{
	return false;
}

static bool rbt_always(void *data)
{
	return true;
}

static int rbt_wait(struct rbt *rbt, int full, ring_buffer_cond_fn cond)
{
	return rbt_map_wait(rbt, rbt->cpu, full, cond);
}

/* WAIT-1, WAIT-4 */
static void map_wait_ends_with_data_or_without_a_mapping(struct kunit *test)
{
	struct rbt *rbt = test->priv;

	KUNIT_EXPECT_EQ(test, 0, rbt_wait(rbt, 0, rbt_always));
	rbt_unmap(rbt);
	if (RBT_UNMAP_ENDS_WAIT)
		KUNIT_EXPECT_EQ(test, 0, rbt_wait(rbt, 0, rbt_never));

	KUNIT_ASSERT_EQ(test, 0, rbt_map_once(rbt));
	rbt_write(rbt, 8);
	KUNIT_EXPECT_EQ(test, 0, rbt_wait(rbt, 0, rbt_never));
	rbt_write_many(rbt, RBT_SUBBUFS * rbt_per_subbuf(rbt, 100) / 2, 100);
	KUNIT_EXPECT_EQ(test, 0, rbt_wait(rbt, 50, rbt_never));
	rbt_unmap_once(rbt);
	rbt_map(test, rbt);
}

/* WAIT-2: It is enough to set the flag, because the wait looks at nothing else. */
static void map_wait_is_ended_by_a_signal(struct kunit *test)
{
	struct rbt *rbt = test->priv;

	KUNIT_ASSERT_EQ(test, 0, rbt_map_once(rbt));
	set_thread_flag(TIF_SIGPENDING);
	KUNIT_EXPECT_EQ(test, -ERESTARTSYS, rbt_wait(rbt, 0, rbt_never));
	KUNIT_EXPECT_EQ(test, -ERESTARTSYS, rbt_wait(rbt, 50, rbt_never));
	rbt_write(rbt, 8);
	KUNIT_EXPECT_EQ(test, 0, rbt_wait(rbt, 0, rbt_never));
	KUNIT_EXPECT_EQ(test, -ERESTARTSYS, rbt_wait(rbt, 50, rbt_never));
	clear_thread_flag(TIF_SIGPENDING);
	rbt_unmap_once(rbt);
}

/* The live view. */

static struct ring_buffer_observer *rbt_observe(struct kunit *test, struct rbt *rbt)
{
	struct ring_buffer_observer *observer = ring_buffer_observe(rbt->buffer, rbt->cpu);

	KUNIT_ASSERT_FALSE(test, IS_ERR(observer));
	return observer;
}

/* The index of each test fits one page. */
static const struct trace_live_index *rbt_index(struct ring_buffer_observer *observer)
{
	return page_address(ring_buffer_observer_page(observer, 0));
}

/* Returns the entry of the slot that describes a generation. */
static const struct trace_live_subbuf *rbt_slot(struct ring_buffer_observer *observer,
						u64 generation)
{
	const struct trace_live_index *index = rbt_index(observer);
	const struct trace_live_subbuf *slots = (const void *)index + index->entries_offset;

	return &slots[generation % index->nr_slots];
}

/* Returns the entry of the sub-buffer that the writer commits to. */
static const struct trace_live_subbuf *rbt_newest(struct ring_buffer_observer *observer)
{
	return rbt_slot(observer, rbt_index(observer)->commit_generation);
}

/* Returns the bytes that the writer has committed to the sub-buffer that it is on. */
static u32 rbt_commit(struct ring_buffer_observer *observer)
{
	const struct trace_live_index *index = rbt_index(observer);
	u64 at = index->subbufs_offset + (u64)rbt_newest(observer)->id * index->subbuf_size;
	const void *subbuf = page_address(ring_buffer_observer_page(observer, at >> PAGE_SHIFT));

	return *(const unsigned long *)(subbuf + index->commit_offset);
}

/* LIVE-10: Each observer holds the buffer by itself, as a mapping does. */
static void observers_count_as_mappings(struct kunit *test)
{
	struct ring_buffer_observer *first, *second;
	struct rbt *rbt = test->priv;

	first = rbt_observe(test, rbt);
	second = rbt_observe(test, rbt);
	ring_buffer_observer_free(first);
	KUNIT_EXPECT_EQ(test, rbt->kind->mapped, rbt_mapped(rbt));
	KUNIT_EXPECT_EQ(test, -EBUSY, ring_buffer_resize(rbt->buffer, rbt->subbuf, rbt->cpu));
	ring_buffer_observer_free(second);
	KUNIT_EXPECT_EQ(test, rbt->kind->mapped, rbt_mapped(rbt));
}

/* LIVE-2 */
static void observer_sees_the_index_and_the_sub_buffers(struct kunit *test)
{
	struct ring_buffer_observer *observer;
	const struct trace_live_index *index;
	struct rbt *rbt = test->priv;
	unsigned long pages;

	observer = rbt_observe(test, rbt);
	index = rbt_index(observer);
	pages = ring_buffer_observer_size(observer);
	KUNIT_EXPECT_EQ(test, (u64)pages << PAGE_SHIFT, index->mapping_size);
	KUNIT_EXPECT_EQ(test, (u32)sizeof(*index), index->struct_len);
	KUNIT_EXPECT_EQ(test, (u32)sizeof(struct trace_live_subbuf), index->entry_size);
	KUNIT_EXPECT_EQ(test, (u32)RBT_SUBBUFS, index->nr_slots);
	KUNIT_EXPECT_EQ(test, RBT_SUBBUFS + 1U, index->nr_subbufs);
	KUNIT_EXPECT_EQ(test, rbt->subbuf, index->subbuf_size);
	KUNIT_EXPECT_EQ(test, (u32)RBT_HEADER, index->data_offset);
	KUNIT_EXPECT_EQ(test, index->subbufs_offset +
			      (u64)index->nr_subbufs * index->subbuf_size, index->mapping_size);
	KUNIT_EXPECT_EQ(test, index->first, index->commit_generation);
	KUNIT_EXPECT_EQ(test, index->commit_generation, rbt_newest(observer)->generation);
	KUNIT_EXPECT_NOT_NULL(test, ring_buffer_observer_page(observer, pages - 1));
	ring_buffer_observer_free(observer);
}

/* LIVE-19 */
static void live_index_tells_every_event(struct kunit *test)
{
	unsigned int nr = 2 * RBT_SUBBUFS, each, written;
	struct ring_buffer_observer *observer;
	const struct trace_live_index *index;
	struct rbt *rbt = test->priv;

	each = rbt_per_subbuf(rbt, 100);
	observer = rbt_observe(test, rbt);
	index = rbt_index(observer);
	written = rbt_write_many(rbt, nr * each + 1, 100);
	KUNIT_EXPECT_EQ(test, (u64)written / each * each,
			rbt_newest(observer)->before + (written % each ? 0 : each));
	KUNIT_EXPECT_EQ(test, (u64)nr * each + 1 - written, index->dropped);
	KUNIT_EXPECT_EQ(test, (u64)ring_buffer_overrun_cpu(rbt->buffer, rbt->cpu),
			index->overwritten);
	ring_buffer_observer_free(observer);
}

/* Returns the oldest generation that an observer can reach. */
static u64 rbt_oldest(struct ring_buffer_observer *observer)
{
	const struct trace_live_index *index = rbt_index(observer);
	u64 now = index->commit_generation;

	return now < index->nr_slots ? index->first :
				       max(index->first, now - index->nr_slots + 1);
}

/* Expect each generation that an observer can reach in its slot. */
static void rbt_expect_slots(struct kunit *test, struct ring_buffer_observer *observer)
{
	u64 generation = rbt_oldest(observer);

	for (; generation <= rbt_index(observer)->commit_generation; generation++)
		KUNIT_EXPECT_EQ(test, generation, rbt_slot(observer, generation)->generation);
}

/* Expect all of the index to be right for a buffer with events of 100 bytes. */
static void rbt_expect_index(struct kunit *test, struct rbt *rbt,
			     struct ring_buffer_observer *observer)
{
	u32 record = IS_ENABLED(CONFIG_HAVE_64BIT_ALIGNED_ACCESS) ? 112 : 104;
	const struct trace_live_index *index = rbt_index(observer);
	u64 generation, each = rbt_per_subbuf(rbt, 100);

	KUNIT_EXPECT_EQ(test, (u64)ring_buffer_dropped_events_cpu(rbt->buffer, rbt->cpu),
			index->dropped);
	KUNIT_EXPECT_EQ(test, (u64)ring_buffer_overrun_cpu(rbt->buffer, rbt->cpu),
			index->overwritten);
	for (generation = rbt_oldest(observer); generation < index->commit_generation;
	     generation++) {
		KUNIT_EXPECT_EQ(test, (u32)each * record, rbt_slot(observer, generation)->size);
		KUNIT_EXPECT_EQ(test, rbt_slot(observer, generation)->before + each,
				rbt_slot(observer, generation + 1)->before);
	}
	rbt_expect_slots(test, observer);
}

/* LIVE-23: The observer comes after many events were written, some of them lost. */
static void live_index_is_right_for_an_observer_that_comes_late(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int nr = 2 * RBT_SUBBUFS * rbt_per_subbuf(rbt, 100) + 1;
	struct ring_buffer_observer *observer;
	u64 oldest;

	rbt_write_many(rbt, nr, 100);
	observer = rbt_observe(test, rbt);
	rbt_expect_index(test, rbt, observer);
	oldest = rbt_oldest(observer);
	KUNIT_EXPECT_EQ(test, (u64)ring_buffer_overrun_cpu(rbt->buffer, rbt->cpu),
			rbt_slot(observer, oldest)->before);
	KUNIT_EXPECT_LT(test, 0ULL, rbt_slot(observer, oldest)->before +
				    rbt_index(observer)->dropped);
	rbt_write_many(rbt, nr, 100);
	rbt_expect_index(test, rbt, observer);
	ring_buffer_observer_free(observer);
}

static unsigned int rbt_consume_many(struct rbt *rbt, unsigned int nr)
{
	struct ring_buffer_event *event = NULL;

	while (nr--)
		event = ring_buffer_consume(rbt->buffer, rbt->cpu, NULL, NULL);
	return event ? rbt_number(event) : U32_MAX;
}

/* LIVE-25: What user space takes for a position before all is before all in a new buffer, too. */
static void live_index_begins_with_generation_1(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	struct trace_buffer *buffer = ring_buffer_alloc(rbt->subbuf, 0);
	struct ring_buffer_observer *observer;

	KUNIT_ASSERT_NOT_NULL(test, buffer);
	observer = ring_buffer_observe(buffer, rbt->cpu);
	if (!IS_ERR(observer)) {
		KUNIT_EXPECT_EQ(test, 1ULL, rbt_index(observer)->first);
		ring_buffer_observer_free(observer);
	}
	KUNIT_EXPECT_FALSE(test, IS_ERR(observer));
	ring_buffer_free(buffer);
}

/* LIVE-23: A reader takes a sub-buffer away whose slot describes another one by now. */
static void live_index_is_right_when_a_late_reader_takes_memory(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int each = rbt_per_subbuf(rbt, 100);
	struct ring_buffer_observer *observer;
	void *page = rbt_alloc_read_page(rbt);
	u64 first;

	observer = rbt_observe(test, rbt);
	first = rbt_index(observer)->first;
	ring_buffer_observer_free(observer);
	ring_buffer_change_overwrite(rbt->buffer, 1);
	rbt_write_many(rbt, 2 * each, 100);
	KUNIT_EXPECT_NOT_NULL(test, ring_buffer_peek(rbt->buffer, rbt->cpu, NULL, NULL));
	rbt_write_many(rbt, RBT_SUBBUFS * each, 100);
	KUNIT_EXPECT_EQ(test, 0, rbt_fill_read_page(rbt, &page, rbt->subbuf, 0));
	ring_buffer_free_read_page(rbt->buffer, rbt->cpu, page);
	observer = rbt_observe(test, rbt);
	KUNIT_EXPECT_EQ(test, first, rbt_index(observer)->first);
	ring_buffer_observer_free(observer);
}

/* LIVE-23: What was consumed is still to be seen, and counted. */
static void live_index_is_right_beside_a_consumer(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int each = rbt_per_subbuf(rbt, 100);
	struct ring_buffer_observer *observer;

	KUNIT_ASSERT_EQ(test, 4 * each + 1, rbt_write_many(rbt, 4 * each + 1, 100));
	KUNIT_ASSERT_EQ(test, 2 * each + 2, rbt_consume_many(rbt, 2 * each + 3));
	observer = rbt_observe(test, rbt);
	KUNIT_EXPECT_EQ(test, rbt_index(observer)->first, rbt_oldest(observer));
	KUNIT_EXPECT_EQ(test, 0ULL, rbt_slot(observer, rbt_oldest(observer))->before);
	KUNIT_EXPECT_EQ(test, 2ULL * each + 3, rbt_index(observer)->read);
	KUNIT_EXPECT_EQ(test, 5 * each, rbt_write_many(rbt, 5 * each, 100));
	rbt_expect_index(test, rbt, observer);
	ring_buffer_observer_free(observer);
}

/* LIVE-33: A reset is beyond every mark that an observer at the newest position may have. */
static void live_index_begins_anew_after_a_reset(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	struct ring_buffer_observer *observer;
	const struct trace_live_index *index;
	u64 generation;

	rbt_write_many(rbt, 2 * RBT_SUBBUFS * rbt_per_subbuf(rbt, 100), 100);
	rbt_consume_many(rbt, 1);
	observer = rbt_observe(test, rbt);
	index = rbt_index(observer);
	generation = index->commit_generation;
	ring_buffer_reset_cpu(rbt->buffer, rbt->cpu);
	KUNIT_EXPECT_LT(test, generation + index->nr_slots + 1, index->first);
	KUNIT_EXPECT_EQ(test, index->first, index->commit_generation);
	KUNIT_EXPECT_EQ(test, 0ULL, index->overwritten + index->dropped + index->read);
	KUNIT_EXPECT_EQ(test, 0ULL, rbt_newest(observer)->before);
	rbt_expect_index(test, rbt, observer);
	rbt_write_many(rbt, 2 * RBT_SUBBUFS * rbt_per_subbuf(rbt, 100), 100);
	rbt_expect_index(test, rbt, observer);
	ring_buffer_observer_free(observer);
}

static unsigned long rbt_subbuf_of(const struct rbt *rbt, const void *event)
{
	return (unsigned long)event & ~(rbt->subbuf - 1UL);
}

/*
 * Fill a sub-buffer with discarded events. Each of them stays as padding, because another
 * event was written behind it. That one is discarded, too, and taken back. The last of
 * these is on the next sub-buffer, which is left as it was.
 */
static void rbt_fill_without_events(struct kunit *test, struct rbt *rbt)
{
	struct ring_buffer_event *outer, *inner;
	unsigned long subbuf = 0;

	do {
		outer = ring_buffer_lock_reserve(rbt->buffer, 100);
		KUNIT_ASSERT_NOT_NULL(test, outer);
		if (!subbuf)
			subbuf = rbt_subbuf_of(rbt, outer);
		KUNIT_EXPECT_EQ(test, subbuf, rbt_subbuf_of(rbt, outer));
		ring_buffer_nest_start(rbt->buffer);
		inner = ring_buffer_lock_reserve(rbt->buffer, 100);
		ring_buffer_discard_commit(rbt->buffer, outer);
		ring_buffer_nest_end(rbt->buffer);
		KUNIT_ASSERT_NOT_NULL(test, inner);
		ring_buffer_discard_commit(rbt->buffer, inner);
	} while (rbt_subbuf_of(rbt, inner) == subbuf);
}

/* LIVE-23: A sub-buffer without events is removed, which does not count as a loss. */
static void live_index_is_right_when_an_empty_subbuf_was_removed(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	/* The first event has a whole time stamp, because it follows a discarded one */
	unsigned int nr = (RBT_SUBBUFS - 1) * rbt_per_subbuf(rbt, 100) - 1;
	struct ring_buffer_observer *observer;

	rbt_fill_without_events(test, rbt);
	KUNIT_ASSERT_EQ(test, nr, rbt_write_many(rbt, nr, 100));
	rbt_unmap(rbt);
	KUNIT_ASSERT_LE(test, 0, ring_buffer_resize(rbt->buffer, (RBT_SUBBUFS - 1) *
						    (rbt->subbuf - RBT_HEADER), rbt->cpu));
	rbt_map(test, rbt);
	KUNIT_EXPECT_EQ(test, (unsigned long)nr, ring_buffer_entries_cpu(rbt->buffer, rbt->cpu));
	observer = rbt_observe(test, rbt);
	rbt_expect_index(test, rbt, observer);
	KUNIT_EXPECT_EQ(test, (RBT_SUBBUFS - 2ULL) * rbt_per_subbuf(rbt, 100),
			rbt_newest(observer)->before);
	ring_buffer_observer_free(observer);
}

/* Fill the buffer as interrupts do while an event is written: some of theirs are dropped. */
static u64 rbt_overrun_commit(struct kunit *test, struct rbt *rbt)
{
	unsigned int nr = 2 * RBT_SUBBUFS * rbt_per_subbuf(rbt, 100);
	struct ring_buffer_event *outer = ring_buffer_lock_reserve(rbt->buffer, 8);

	KUNIT_ASSERT_NOT_NULL(test, outer);
	ring_buffer_nest_start(rbt->buffer);
	KUNIT_EXPECT_GT(test, nr, rbt_write_many(rbt, nr, 100));
	ring_buffer_nest_end(rbt->buffer);
	rbt_end_write(rbt->buffer, outer);
	return ring_buffer_commit_overrun_cpu(rbt->buffer, rbt->cpu);
}

/* LIVE-35: Also those for which interrupts had left no room. */
static void live_index_tells_commit_overruns(struct kunit *test)
{
	struct ring_buffer_observer *observer;
	struct rbt *rbt = test->priv;
	u64 overrun;

	overrun = rbt_overrun_commit(test, rbt);
	KUNIT_EXPECT_LT(test, 0ULL, overrun);
	observer = rbt_observe(test, rbt);
	KUNIT_EXPECT_EQ(test, overrun, rbt_index(observer)->dropped);
	ring_buffer_reset_cpu(rbt->buffer, rbt->cpu);
	KUNIT_EXPECT_EQ(test, 0ULL, rbt_index(observer)->dropped);
	overrun = rbt_overrun_commit(test, rbt);
	KUNIT_EXPECT_LT(test, 0ULL, overrun);
	KUNIT_EXPECT_EQ(test, overrun, rbt_index(observer)->dropped);
	/* The writer is on the reader's sub-buffer */
	ring_buffer_reset_cpu(rbt->buffer, rbt->cpu);
	rbt_write(rbt, 8);
	rbt_consume_many(rbt, 1);
	overrun = rbt_overrun_commit(test, rbt);
	KUNIT_EXPECT_LT(test, 0ULL, overrun);
	KUNIT_EXPECT_EQ(test, overrun, rbt_index(observer)->dropped);
	/* Generations go on behind it one by one */
	rbt_expect_slots(test, observer);
	rbt_write_many(rbt, 2 * RBT_SUBBUFS * rbt_per_subbuf(rbt, 100), 100);
	rbt_expect_slots(test, observer);
	ring_buffer_observer_free(observer);
}

/* LIVE-25: The next observer finds the same generations, and larger ones after a resize. */
static void live_index_stays_until_the_size_is_another(struct kunit *test)
{
	unsigned int data, mapped = RBT_SUBBUFS;
	struct ring_buffer_observer *observer;
	struct rbt *rbt = test->priv;
	u64 first, generation;

	observer = rbt_observe(test, rbt);
	ring_buffer_reset_cpu(rbt->buffer, rbt->cpu);
	first = rbt_index(observer)->first;
	generation = rbt_index(observer)->commit_generation;
	ring_buffer_observer_free(observer);

	rbt_write_many(rbt, 2 * rbt_per_subbuf(rbt, 100), 100);
	observer = rbt_observe(test, rbt);
	KUNIT_EXPECT_EQ(test, first, rbt_index(observer)->first);
	KUNIT_EXPECT_LT(test, generation, rbt_index(observer)->commit_generation);
	generation = rbt_index(observer)->commit_generation;
	ring_buffer_observer_free(observer);

	KUNIT_EXPECT_EQ(test, 1U, rbt_consume_many(rbt, 2));
	rbt_unmap(rbt);
	data = rbt->subbuf - RBT_HEADER;
	KUNIT_EXPECT_LE(test, 0, ring_buffer_resize(rbt->buffer, (mapped + 1) * data, rbt->cpu));
	observer = rbt_observe(test, rbt);
	KUNIT_EXPECT_EQ(test, mapped + 2U, rbt_index(observer)->nr_subbufs);
	KUNIT_EXPECT_LT(test, generation + mapped, rbt_index(observer)->first);
	KUNIT_EXPECT_EQ(test, rbt_index(observer)->first,
			rbt_index(observer)->commit_generation);
	/* What was written and read before it counts, and the newest of it is to be seen */
	KUNIT_EXPECT_EQ(test, 2ULL, rbt_index(observer)->read);
	KUNIT_EXPECT_EQ(test, 1ULL * rbt_per_subbuf(rbt, 100), rbt_newest(observer)->before);
	KUNIT_EXPECT_LT(test, 0U, rbt_commit(observer));
	ring_buffer_observer_free(observer);
	rbt_map(test, rbt);
}

/* An index is freed with its sub-buffers. */
static void live_index_goes_with_its_buffer(struct kunit *test)
{
	unsigned long before = vmalloc_nr_pages(), leaks = 64;
	struct rbt *rbt = test->priv;
	unsigned int i;

	for (i = 0; i < leaks; i++) {
		struct trace_buffer *buffer = rbt_alloc(test, rbt->kind, RBT_SUBBUFS);

		ring_buffer_free(buffer);
	}
	/* Others allocate meanwhile, but not a page each time */
	KUNIT_EXPECT_LT(test, vmalloc_nr_pages(), before + leaks / 2);

	rbt_unmap(rbt);
	before = vmalloc_nr_pages();
	for (i = 0; i < leaks; i++)
		KUNIT_EXPECT_LE(test, 0,
				ring_buffer_resize(rbt->buffer, (RBT_SUBBUFS + i % 2) *
						   (rbt->subbuf - RBT_HEADER), rbt->cpu));
	KUNIT_EXPECT_LT(test, vmalloc_nr_pages(), before + leaks / 2);
	rbt_map(test, rbt);
}

/* Returns the position of the writer. */
static struct trace_live_position rbt_position(struct ring_buffer_observer *observer)
{
	const struct trace_live_index *index = rbt_index(observer);

	return (struct trace_live_position) {
		.size = sizeof(struct trace_live_position),
		.generation = index->commit_generation,
		.read = rbt_commit(observer),
		.bytes = 1,
	};
}

/* Positions relative to the writer's, and whether an observer can be there */
static const struct {
	int	generation;
	int	read;
	int	want;
} rbt_positions[] = {
	{  0,	 0, 0 },
	{  0,	-1, 0 },
	{  0,	 1, -EINVAL },
	{ -1,	 0, 0 },
	{ -3,	 0, 0 },
	{  1,	 0, -EINVAL },
};

/* WAKE-2 */
static void wait_refuses_where_no_observer_can_be(struct kunit *test)
{
	struct ring_buffer_observer *observer;
	struct trace_live_position pos, here;
	struct rbt *rbt = test->priv;
	unsigned int i;

	observer = rbt_observe(test, rbt);
	ring_buffer_reset_cpu(rbt->buffer, rbt->cpu);
	rbt_write_many(rbt, 3 * rbt_per_subbuf(rbt, 100) + 10, 100);
	here = rbt_position(observer);
	for (i = 0; i < ARRAY_SIZE(rbt_positions); i++) {
		pos = here;
		pos.generation += rbt_positions[i].generation;
		pos.read += rbt_positions[i].read;
		KUNIT_EXPECT_EQ_MSG(test, rbt_positions[i].want,
				    ring_buffer_observer_seek(observer, &pos, 0),
				    "position %u", i);
	}
	/* In a sub-buffer that the writer has left, up to its end. */
	pos = here;
	pos.generation--;
	pos.read = rbt->subbuf - RBT_HEADER;
	KUNIT_EXPECT_EQ(test, 0, ring_buffer_observer_seek(observer, &pos, 0));
	pos.read++;
	KUNIT_EXPECT_EQ(test, -EINVAL, ring_buffer_observer_seek(observer, &pos, 0));
	ring_buffer_observer_free(observer);
}

/* Returns whether @observer is readable when it asks for so much beyond @pos. */
static bool rbt_finds(struct kunit *test, struct ring_buffer_observer *observer,
		      struct trace_live_position pos, u64 bytes, unsigned int percent)
{
	__poll_t events;

	pos.bytes = bytes;
	KUNIT_EXPECT_EQ(test, 0, ring_buffer_observer_seek(observer, &pos, percent));
	events = ring_buffer_observer_poll(observer, NULL, NULL);
	KUNIT_EXPECT_TRUE(test, !events || events == (EPOLLIN | EPOLLRDNORM));
	return events;
}

/* As rbt_finds(), when the observers of this buffer have not been woken for a while. */
static bool rbt_enough(struct kunit *test, struct rbt *rbt,
		       struct trace_live_position pos, u64 bytes, unsigned int percent)
{
	struct ring_buffer_observer *observer = rbt_observe(test, rbt);
	bool enough;

	msleep(20);
	enough = rbt_finds(test, observer, pos, bytes, percent);
	ring_buffer_observer_free(observer);
	return enough;
}

/* WAKE-6 */
static void poll_says_when_there_is_enough(struct kunit *test)
{
	struct ring_buffer_observer *observer;
	struct trace_live_position here;
	struct rbt *rbt = test->priv;

	observer = rbt_observe(test, rbt);
	KUNIT_EXPECT_TRUE(test, ring_buffer_observer_poll(observer, NULL, NULL) ==
				(EPOLLIN | EPOLLRDNORM));
	here = rbt_position(observer);
	KUNIT_EXPECT_FALSE(test, rbt_enough(test, rbt, here, 1, 0));
	rbt_write_many(rbt, 10, 8);	/* 16 bytes each */
	KUNIT_EXPECT_TRUE(test, rbt_enough(test, rbt, here, 1, 0));
	KUNIT_EXPECT_TRUE(test, rbt_enough(test, rbt, here, 120, 100));
	KUNIT_EXPECT_FALSE(test, rbt_enough(test, rbt, here, 161, 0));
	KUNIT_EXPECT_TRUE(test, rbt_enough(test, rbt, here, 0, 0));
	KUNIT_EXPECT_FALSE(test, rbt_enough(test, rbt, here, 0, 20));
	rbt_write_many(rbt, 2 * rbt_per_subbuf(rbt, 100), 100);
	KUNIT_EXPECT_TRUE(test, rbt_enough(test, rbt, here, 0, 20));
	KUNIT_EXPECT_FALSE(test, rbt_enough(test, rbt, here, 0, 100));
	ring_buffer_reset_cpu(rbt->buffer, rbt->cpu);
	KUNIT_EXPECT_TRUE(test, rbt_enough(test, rbt, here, 0, 100));
	ring_buffer_observer_free(observer);
}

/* WAKE-9 */
static void each_observer_has_a_position_of_its_own(struct kunit *test)
{
	struct ring_buffer_observer *near, *far;
	struct trace_live_position here;
	struct rbt *rbt = test->priv;

	near = rbt_observe(test, rbt);
	far = rbt_observe(test, rbt);
	here = rbt_position(near);
	KUNIT_EXPECT_FALSE(test, rbt_finds(test, near, here, 1, 0));
	KUNIT_EXPECT_FALSE(test, rbt_finds(test, far, here, 1000, 0));
	rbt_write_many(rbt, 10, 8);
	msleep(20);	/* until it is woken */
	KUNIT_EXPECT_TRUE(test, ring_buffer_observer_poll(near, NULL, NULL));
	KUNIT_EXPECT_FALSE(test, ring_buffer_observer_poll(far, NULL, NULL));
	ring_buffer_observer_free(near);
	rbt_write_many(rbt, 10, 100);
	msleep(20);
	KUNIT_EXPECT_TRUE(test, ring_buffer_observer_poll(far, NULL, NULL));
	ring_buffer_observer_free(far);
}

static void a_cpu_there_is_not_is_not_waited_for(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	int none = rbt_no_cpu(test);

	KUNIT_EXPECT_EQ(test, RBT_NO_CPU_WAIT, rbt_map_wait(rbt, none, 0, rbt_always));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			PTR_ERR_OR_ZERO(ring_buffer_observe(rbt->buffer, none)));
}

/* Stands for a task that sleeps on the observer's queue until the observer is woken. */
struct rbt_sleeper {
	poll_table		table;
	wait_queue_entry_t	entry;
	wait_queue_head_t	*queue;
	bool			woken;
};

static int rbt_sleeper_wakes(wait_queue_entry_t *entry, unsigned int mode, int flags,
			     void *key)
{
	struct rbt_sleeper *sleeper = container_of(entry, struct rbt_sleeper, entry);

	WRITE_ONCE(sleeper->woken, true);
	return 1;
}

static void rbt_sleeper_sleeps(struct file *filp, wait_queue_head_t *queue, poll_table *table)
{
	struct rbt_sleeper *sleeper = container_of(table, struct rbt_sleeper, table);

	sleeper->queue = queue;
	init_waitqueue_func_entry(&sleeper->entry, rbt_sleeper_wakes);
	add_wait_queue(queue, &sleeper->entry);
}

/* Begin an event, and write another one inside it, as an interrupt does. */
static struct ring_buffer_event *rbt_begin_and_nest(struct kunit *test, struct rbt *rbt)
{
	struct ring_buffer_event *event = ring_buffer_lock_reserve(rbt->buffer, 100);

	KUNIT_EXPECT_NOT_NULL(test, event);
	if (!event)
		return NULL;
	ring_buffer_nest_start(rbt->buffer);
	KUNIT_EXPECT_EQ(test, 1U, rbt_write_many(rbt, 1, 8));
	ring_buffer_nest_end(rbt->buffer);

	return event;
}

/* WAKE-10: The nested event is committed with the interrupted one, which is discarded. */
static void nested_event_wakes_although_the_outermost_is_discarded(struct kunit *test)
{
	struct rbt_sleeper sleeper = { .table._qproc = rbt_sleeper_sleeps };
	struct ring_buffer_observer *observer;
	struct ring_buffer_event *event;
	struct rbt *rbt = test->priv;

	observer = rbt_observe(test, rbt);
	KUNIT_EXPECT_FALSE(test, rbt_finds(test, observer, rbt_position(observer), 1, 0));
	ring_buffer_observer_poll(observer, NULL, &sleeper.table);
	/* Let the kernel's timer look again now, so that it does not later. */
	msleep(20);
	event = rbt_begin_and_nest(test, rbt);
	if (!event)
		goto out;
	KUNIT_EXPECT_FALSE(test, READ_ONCE(sleeper.woken));
	ring_buffer_discard_commit(rbt->buffer, event);
	msleep(20);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(sleeper.woken));
out:
	remove_wait_queue(sleeper.queue, &sleeper.entry);
	ring_buffer_observer_free(observer);
}

/* POLL-3: The same for a reader, who goes to sleep after the nested event was written. */
static void reader_is_woken_although_the_outermost_event_is_discarded(struct kunit *test)
{
	struct rbt_sleeper sleeper = { .table._qproc = rbt_sleeper_sleeps };
	struct ring_buffer_event *event;
	struct rbt *rbt = test->priv;

	event = rbt_begin_and_nest(test, rbt);
	if (!event)
		return;
	KUNIT_EXPECT_FALSE(test, ring_buffer_poll_wait(rbt->buffer, rbt->cpu, NULL,
						       &sleeper.table, 0));
	/* An event that is not finished keeps preemption disabled. */
	mdelay(20);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(sleeper.woken));
	ring_buffer_discard_commit(rbt->buffer, event);
	msleep(20);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(sleeper.woken));
	remove_wait_queue(sleeper.queue, &sleeper.entry);
}

/* POLL-3: An event that is discarded, as a filter does, is nothing to wake for. */
static void reader_sleeps_on_when_an_event_is_discarded(struct kunit *test)
{
	struct rbt_sleeper sleeper = { .table._qproc = rbt_sleeper_sleeps };
	struct ring_buffer_event *event;
	struct rbt *rbt = test->priv;

	KUNIT_EXPECT_FALSE(test, ring_buffer_poll_wait(rbt->buffer, rbt->cpu, NULL,
						       &sleeper.table, 0));
	event = ring_buffer_lock_reserve(rbt->buffer, 100);
	KUNIT_EXPECT_NOT_NULL(test, event);
	if (event)
		ring_buffer_discard_commit(rbt->buffer, event);
	msleep(20);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(sleeper.woken));
	remove_wait_queue(sleeper.queue, &sleeper.entry);
}

/*
 * READ-4: The sub-buffer after one that was read has an event that is not finished, and one
 * that an interrupt wrote meanwhile. So there is an event, but nothing is committed there.
 */
static void get_reader_takes_no_subbuf_of_begun_events(struct kunit *test)
{
	const struct trace_buffer_meta *meta;
	struct ring_buffer_event *outer;
	struct rbt *rbt = test->priv;
	u32 id;

	KUNIT_ASSERT_EQ(test, 0, rbt_map_once(rbt));
	meta = rbt_meta(test, rbt);
	rbt_write_many(rbt, rbt_per_subbuf(rbt, 100), 100);
	KUNIT_EXPECT_EQ(test, 0, ring_buffer_map_get_reader(rbt->buffer, rbt->cpu));
	id = meta->reader.id;
	outer = rbt_begin_and_nest(test, rbt);
	if (!outer)
		goto out;
	KUNIT_EXPECT_EQ(test, 0, ring_buffer_map_get_reader(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, id, meta->reader.id);
	ring_buffer_discard_commit(rbt->buffer, outer);
	KUNIT_EXPECT_EQ(test, 0, ring_buffer_map_get_reader(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_NE(test, id, meta->reader.id);
	KUNIT_EXPECT_EQ(test, meta->entries, meta->overrun + meta->read);
out:
	rbt_unmap_once(rbt);
}

/* Counters. */

/*
 * A part of struct ring_buffer_per_cpu, which is known to ring_buffer.c alone: to count far
 * takes too long, so a test sets these.
 */
struct rbt_counters {
	unsigned long	entries_bytes;
	unsigned long	entries;
	unsigned long	overrun;
	unsigned long	commit_overrun;
	unsigned long	dropped_events;
	unsigned long	committing;
	unsigned long	commits;
	unsigned long	pages_touched;
	unsigned long	pages_lost;
	unsigned long	pages_read;
	long		last_pages_touch;
	size_t		shortest_full;
	unsigned long	read;
	unsigned long	read_bytes;
};

static bool rbt_are_counters(const struct rbt *rbt, const struct rbt_counters *c)
{
	return c->overrun == ring_buffer_overrun_cpu(rbt->buffer, rbt->cpu) &&
	       c->dropped_events == ring_buffer_dropped_events_cpu(rbt->buffer, rbt->cpu) &&
	       c->read == ring_buffer_read_events_cpu(rbt->buffer, rbt->cpu) &&
	       c->entries - c->overrun - c->read ==
			ring_buffer_entries_cpu(rbt->buffer, rbt->cpu) &&
	       c->entries_bytes - c->read_bytes ==
			ring_buffer_bytes_cpu(rbt->buffer, rbt->cpu);
}

/* Find the counters of a buffer with events, in front of the queue that its readers sleep on. */
static struct rbt_counters *rbt_counters(struct kunit *test, struct rbt *rbt)
{
	struct rbt_sleeper sleeper = { .table._qproc = rbt_sleeper_sleeps };
	struct rbt_counters *c;
	unsigned long *at;

	ring_buffer_poll_wait(rbt->buffer, rbt->cpu, NULL, &sleeper.table, 0);
	remove_wait_queue(sleeper.queue, &sleeper.entry);
	at = PTR_ALIGN_DOWN((unsigned long *)sleeper.queue, sizeof(long));
	for (c = (void *)at; (void *)at - (void *)c < 1024 && !rbt_are_counters(rbt, c); )
		c = (void *)c - sizeof(long);
	KUNIT_ASSERT_TRUE(test, rbt_are_counters(rbt, c));
	return c;
}

/* As if so much had happened more, and all of that was consumed, or overwritten, or dropped. */
static void rbt_count_on(struct rbt_counters *c, unsigned long more)
{
	c->entries += 2 * more;
	c->overrun += more;
	c->read += more;
	c->commit_overrun += more;
	c->dropped_events += more;
	c->entries_bytes += more;
	c->read_bytes += more;
	c->pages_touched += 2 * more;
	c->pages_lost += more;
	c->pages_read += more;
}

static void rbt_expect_counters(struct kunit *test, struct rbt *rbt,
				struct ring_buffer_observer *observer, struct rbt_counters *c)
{
	const struct trace_live_index *index = rbt_index(observer);
	const struct trace_buffer_meta *meta = rbt_meta(test, rbt);

	KUNIT_EXPECT_EQ(test, c->overrun, ring_buffer_overrun_cpu(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, c->read, ring_buffer_read_events_cpu(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, c->dropped_events,
			ring_buffer_dropped_events_cpu(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, (u64)c->entries, meta->entries);
	KUNIT_EXPECT_EQ(test, (u64)c->overrun, meta->overrun);
	KUNIT_EXPECT_EQ(test, (u64)c->read, meta->read);
	KUNIT_EXPECT_EQ(test, (u64)c->pages_touched, meta->pages_touched);
	KUNIT_EXPECT_EQ(test, (u64)c->pages_lost, meta->pages_lost);
	KUNIT_EXPECT_EQ(test, (u64)c->overrun, index->overwritten);
	KUNIT_EXPECT_EQ(test, (u64)c->read, index->read);
	KUNIT_EXPECT_EQ(test, (u64)c->dropped_events + c->commit_overrun, index->dropped);
}

/* Get each counter past @bits bits, by events that are written, lost and read. */
static void rbt_count_past(struct kunit *test, unsigned int bits)
{
	struct rbt *rbt = test->priv;
	unsigned int each = rbt_per_subbuf(rbt, 100);
	struct ring_buffer_observer *observer;
	unsigned long entries, unread, size;
	struct rbt_counters *c;

	rbt_unmap(rbt);
	ring_buffer_reset_cpu(rbt->buffer, rbt->cpu);
	rbt_write_many(rbt, 2 * each + 1, 100);
	c = rbt_counters(test, rbt);
	rbt_count_on(c, (1UL << bits) - 2 * each);
	entries = c->entries;
	/* The index is made anew. */
	size = ring_buffer_size(rbt->buffer, rbt->cpu) + rbt->subbuf;
	KUNIT_ASSERT_LE(test, 0, ring_buffer_resize(rbt->buffer, size, rbt->cpu));
	KUNIT_ASSERT_EQ(test, 0, rbt_map_once(rbt));
	observer = rbt_observe(test, rbt);
	rbt_expect_counters(test, rbt, observer, c);

	ring_buffer_change_overwrite(rbt->buffer, 1);
	rbt_write_many(rbt, 4 * RBT_SUBBUFS * each, 100);
	KUNIT_EXPECT_EQ(test, entries + 4 * RBT_SUBBUFS * each, c->entries);
	for (unread = ring_buffer_entries_cpu(rbt->buffer, rbt->cpu); unread; unread--)
		KUNIT_ASSERT_NOT_NULL(test, ring_buffer_consume(rbt->buffer, rbt->cpu, NULL, NULL));
	rbt_expect_empty(test, rbt);
	KUNIT_EXPECT_EQ(test, 0UL, ring_buffer_bytes_cpu(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, 0, ring_buffer_map_get_reader(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_LT(test, 1UL << bits, c->overrun);
	KUNIT_EXPECT_LT(test, 1UL << bits, c->read);
	rbt_expect_counters(test, rbt, observer, c);
	ring_buffer_change_overwrite(rbt->buffer, !!(rbt->kind->flags & RB_FL_OVERWRITE));
	ring_buffer_observer_free(observer);
	rbt_unmap_once(rbt);
	rbt_map(test, rbt);
}

/* META-10, META-11, META-12, META-13, META-14, LIVE-39 */
static void counters_go_on_past_31_bits(struct kunit *test)
{
	rbt_count_past(test, 31);
}

/* META-10, META-11, META-12, META-13, META-14, LIVE-39: where the kernel counts by 64 bits */
static void counters_go_on_past_32_bits(struct kunit *test)
{
	rbt_count_past(test, BITS_PER_LONG == 64 ? 32 : 30);
}

static struct kunit_case rbt_mapping_cases[] = {
	KUNIT_CASE_PARAM(a_cpu_there_is_not_is_not_waited_for, rbt_gen_kind),
	KUNIT_CASE_PARAM(map_wait_ends_with_data_or_without_a_mapping, rbt_gen_kind),
	KUNIT_CASE_PARAM(map_wait_is_ended_by_a_signal, rbt_gen_kind),
	KUNIT_CASE_PARAM(observers_count_as_mappings, rbt_gen_kind),
	KUNIT_CASE_PARAM(observer_sees_the_index_and_the_sub_buffers, rbt_gen_kind),
	KUNIT_CASE_PARAM(live_index_tells_every_event, rbt_gen_kind),
	KUNIT_CASE_PARAM(live_index_is_right_for_an_observer_that_comes_late, rbt_gen_kind),
	KUNIT_CASE_PARAM(live_index_begins_with_generation_1, rbt_gen_kind),
	KUNIT_CASE_PARAM(live_index_is_right_when_a_late_reader_takes_memory, rbt_gen_kind),
	KUNIT_CASE_PARAM(live_index_is_right_beside_a_consumer, rbt_gen_kind),
	KUNIT_CASE_PARAM(live_index_is_right_when_an_empty_subbuf_was_removed, rbt_gen_kind),
	KUNIT_CASE_PARAM(live_index_begins_anew_after_a_reset, rbt_gen_kind),
	KUNIT_CASE_PARAM(live_index_tells_commit_overruns, rbt_gen_kind),
	KUNIT_CASE_PARAM(live_index_stays_until_the_size_is_another, rbt_gen_kind),
	KUNIT_CASE_PARAM(live_index_goes_with_its_buffer, rbt_gen_kind),
	KUNIT_CASE_PARAM(wait_refuses_where_no_observer_can_be, rbt_gen_kind),
	KUNIT_CASE_PARAM(poll_says_when_there_is_enough, rbt_gen_kind),
	KUNIT_CASE_PARAM(each_observer_has_a_position_of_its_own, rbt_gen_kind),
	KUNIT_CASE_PARAM(nested_event_wakes_although_the_outermost_is_discarded, rbt_gen_kind),
	KUNIT_CASE_PARAM(reader_is_woken_although_the_outermost_event_is_discarded, rbt_gen_kind),
	KUNIT_CASE_PARAM(reader_sleeps_on_when_an_event_is_discarded, rbt_gen_kind),
	KUNIT_CASE_PARAM(get_reader_takes_no_subbuf_of_begun_events, rbt_gen_kind),
	KUNIT_CASE_PARAM(counters_go_on_past_31_bits, rbt_gen_kind),
	KUNIT_CASE_PARAM(counters_go_on_past_32_bits, rbt_gen_kind),
	{ }
};

static struct kunit_suite rbt_mapping_suite = {
	.name = "ring_buffer_mapping",
	.init = rbt_init,
	.exit = rbt_exit,
	.test_cases = rbt_mapping_cases,
};

kunit_test_suite(rbt_mapping_suite);

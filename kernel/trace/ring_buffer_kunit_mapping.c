// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the ring buffer: what its mapping and its live index refuse, how
 * they are counted, and how who waits for them is told.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/trace_live.h>
#include <linux/trace_mmap.h>

#include "ring_buffer_kunit.h"

/* Waiting. */

static bool rbt_never(void *data)
{
	return false;
}

static bool rbt_always(void *data)
{
	return true;
}

static int rbt_wait(const struct rbt *rbt, int full, ring_buffer_cond_fn cond)
{
	return ring_buffer_map_wait(rbt->buffer, rbt->cpu, full, cond, NULL);
}

static void map_wait_ends_with_data_or_without_a_mapping(struct kunit *test)
{
	struct rbt *rbt = test->priv;

	KUNIT_EXPECT_EQ(test, 0, rbt_wait(rbt, 0, rbt_always));
	rbt_unmap(rbt);
	KUNIT_EXPECT_EQ(test, 0, rbt_wait(rbt, 0, rbt_never));

	KUNIT_ASSERT_EQ(test, 0, ring_buffer_map(rbt->buffer, rbt->cpu));
	rbt_write(rbt, 8);
	KUNIT_EXPECT_EQ(test, 0, rbt_wait(rbt, 0, rbt_never));
	rbt_write_many(rbt, RBT_SUBBUFS * rbt_per_subbuf(rbt, 100) / 2, 100);
	KUNIT_EXPECT_EQ(test, 0, rbt_wait(rbt, 50, rbt_never));
	ring_buffer_unmap(rbt->buffer, rbt->cpu);
	rbt_map(test, rbt);
}

/* The flag is all that the wait looks at. */
static void map_wait_is_ended_by_a_signal(struct kunit *test)
{
	struct rbt *rbt = test->priv;

	KUNIT_ASSERT_EQ(test, 0, ring_buffer_map(rbt->buffer, rbt->cpu));
	set_thread_flag(TIF_SIGPENDING);
	KUNIT_EXPECT_EQ(test, -ERESTARTSYS, rbt_wait(rbt, 0, rbt_never));
	KUNIT_EXPECT_EQ(test, -ERESTARTSYS, rbt_wait(rbt, 50, rbt_never));
	rbt_write(rbt, 8);
	KUNIT_EXPECT_EQ(test, 0, rbt_wait(rbt, 0, rbt_never));
	KUNIT_EXPECT_EQ(test, -ERESTARTSYS, rbt_wait(rbt, 50, rbt_never));
	clear_thread_flag(TIF_SIGPENDING);
	ring_buffer_unmap(rbt->buffer, rbt->cpu);
}

/* The live index. */

static void rbt_live_map(struct kunit *test, struct rbt *rbt)
{
	KUNIT_ASSERT_EQ(test, 0, ring_buffer_map(rbt->buffer, rbt->cpu));
	KUNIT_ASSERT_EQ(test, 0, ring_buffer_live_map(rbt->buffer, rbt->cpu));
}

static void rbt_live_unmap(struct rbt *rbt)
{
	ring_buffer_live_unmap(rbt->buffer, rbt->cpu);
	ring_buffer_unmap(rbt->buffer, rbt->cpu);
}

static const struct trace_live_index *rbt_index(const struct rbt *rbt)
{
	return page_address(ring_buffer_live_page(rbt->buffer, rbt->cpu, 0));
}

static int rbt_check(const struct rbt *rbt, const struct trace_live_position *pos)
{
	return ring_buffer_live_check(rbt->buffer, rbt->cpu, pos);
}

static void live_map_counts(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	int more;

	KUNIT_EXPECT_EQ(test, -ENODEV, rbt_check(rbt, NULL));
	rbt_live_map(test, rbt);
	KUNIT_EXPECT_EQ(test, 0, ring_buffer_live_map(rbt->buffer, rbt->cpu));
	ring_buffer_live_dup(rbt->buffer, rbt->cpu);
	for (more = 0; more < 2; more++) {
		ring_buffer_live_unmap(rbt->buffer, rbt->cpu);
		KUNIT_EXPECT_EQ(test, 0, rbt_check(rbt, NULL));
	}
	rbt_live_unmap(rbt);
	KUNIT_EXPECT_EQ(test, -ENODEV, rbt_check(rbt, NULL));
	KUNIT_EXPECT_EQ(test, rbt->kind->mapped, ring_buffer_mapped(rbt->buffer, rbt->cpu));
}

static void live_map_shows_the_index(struct kunit *test)
{
	const struct trace_live_subbuf *subbufs;
	const struct trace_live_index *index;
	struct rbt *rbt = test->priv;
	unsigned long pages;

	rbt_live_map(test, rbt);
	index = rbt_index(rbt);
	subbufs = (const void *)index + index->entries_offset;
	pages = ring_buffer_live_size(rbt->buffer, rbt->cpu);
	KUNIT_EXPECT_EQ(test, (u32)(pages << PAGE_SHIFT), index->index_size);
	KUNIT_EXPECT_EQ(test, (u32)sizeof(*index), index->struct_len);
	KUNIT_EXPECT_EQ(test, (u32)sizeof(*subbufs), index->entry_size);
	KUNIT_EXPECT_EQ(test, RBT_SUBBUFS + 1U, index->nr_subbufs);
	KUNIT_EXPECT_EQ(test, 0U, index->epoch & 1);
	KUNIT_EXPECT_EQ(test, index->commit_generation, subbufs[index->commit_id].generation);
	KUNIT_EXPECT_NOT_NULL(test, ring_buffer_live_page(rbt->buffer, rbt->cpu, pages - 1));
	KUNIT_EXPECT_NULL(test, ring_buffer_live_page(rbt->buffer, rbt->cpu, pages));
	KUNIT_EXPECT_NULL(test, ring_buffer_live_page(rbt->buffer, rbt->cpu, ULONG_MAX));
	rbt_live_unmap(rbt);
}

static void live_index_tells_every_event(struct kunit *test)
{
	unsigned int nr = 2 * RBT_SUBBUFS, each, written;
	const struct trace_live_subbuf *subbufs;
	const struct trace_live_index *index;
	struct rbt *rbt = test->priv;

	each = rbt_per_subbuf(rbt, 100);
	rbt_live_map(test, rbt);
	index = rbt_index(rbt);
	subbufs = (const void *)index + index->entries_offset;
	written = rbt_write_many(rbt, nr * each + 1, 100);
	KUNIT_EXPECT_EQ(test, (u64)written / each * each,
			subbufs[index->commit_id].before +
			(written % each ? 0 : each));
	KUNIT_EXPECT_EQ(test, (u64)nr * each + 1 - written, index->dropped);
	KUNIT_EXPECT_EQ(test, (u64)ring_buffer_overrun_cpu(rbt->buffer, rbt->cpu),
			subbufs[index->commit_id].overwritten);
	rbt_live_unmap(rbt);
}

/* A position of another mapping must not pass for one of the next. */
static void live_epoch_is_another_after_a_reset_and_the_last_unmap(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	u32 first, then;

	rbt_live_map(test, rbt);
	first = rbt_index(rbt)->epoch;
	ring_buffer_reset_cpu(rbt->buffer, rbt->cpu);
	then = rbt_index(rbt)->epoch;
	KUNIT_EXPECT_EQ(test, first + 2, then);
	rbt_live_unmap(rbt);

	rbt_live_map(test, rbt);
	KUNIT_EXPECT_EQ(test, then + 2, rbt_index(rbt)->epoch);
	rbt_live_unmap(rbt);
}

/* Where the writer is. */
static struct trace_live_position rbt_position(const struct rbt *rbt)
{
	const struct trace_live_index *index = rbt_index(rbt);
	struct trace_live_position pos = {
		.epoch = index->epoch, .generation = index->commit_generation,
	};
	const struct rbt_page {
		u64	stamp;
		long	commit;
	} *page;
	unsigned int order;

	ring_buffer_map_size(rbt->buffer, rbt->cpu, &order);
	page = page_address(ring_buffer_map_page(rbt->buffer, rbt->cpu,
						 (unsigned long)(index->commit_id + 1) << order));
	pos.read = page->commit;
	return pos;
}

/* How far from where the writer is, and whether somebody can be there. */
static const struct {
	int	epoch;
	int	generation;
	int	read;
	u32	flags;
	int	want;
} rbt_positions[] = {
	{  0,	    0,	 0, 0, 0 },
	{  0,	    0,	-1, 0, 0 },
	{  0,	    0,	 1, 0, -EINVAL },
	{  0,	   -1,	 0, 0, 0 },
	{  0,	    1,	 0, 0, -EINVAL },
	{  0,	    0,	 0, 1, -EINVAL },
	{  1,	    0,	 0, 0, -EINVAL },
	{  2,	    0,	 0, 0, -EINVAL },
	{ -1,	    0,	 0, 0, -EINVAL },
	{ -2,	 1000,	 0, 0, 0 },
};

static void live_check_refuses_where_nobody_can_be(struct kunit *test)
{
	struct trace_live_position pos, here;
	struct rbt *rbt = test->priv;
	unsigned int i;

	rbt_live_map(test, rbt);
	rbt_write_many(rbt, 10, 8);
	here = rbt_position(rbt);
	for (i = 0; i < ARRAY_SIZE(rbt_positions); i++) {
		pos = here;
		pos.epoch += rbt_positions[i].epoch;
		pos.generation += rbt_positions[i].generation;
		pos.read += rbt_positions[i].read;
		pos.flags = rbt_positions[i].flags;
		KUNIT_EXPECT_EQ_MSG(test, rbt_positions[i].want, rbt_check(rbt, &pos),
				    "position %u", i);
	}
	/* In a sub-buffer that was left, up to its end. */
	pos = here;
	pos.generation--;
	pos.read = rbt->subbuf - RBT_HEADER;
	KUNIT_EXPECT_EQ(test, 0, rbt_check(rbt, &pos));
	pos.read++;
	KUNIT_EXPECT_EQ(test, -EINVAL, rbt_check(rbt, &pos));
	rbt_live_unmap(rbt);
	KUNIT_EXPECT_EQ(test, -ENODEV, rbt_check(rbt, &here));
}

static __poll_t rbt_poll(const struct rbt *rbt, struct trace_live_position pos, u64 bytes,
			 unsigned int percent)
{
	pos.bytes = bytes;
	return ring_buffer_live_poll(rbt->buffer, rbt->cpu, &pos, percent);
}

static void live_poll_says_when_there_is_enough(struct kunit *test)
{
	const __poll_t in = EPOLLIN | EPOLLRDNORM;
	struct trace_live_position here;
	struct rbt *rbt = test->priv;

	rbt_live_map(test, rbt);
	here = rbt_position(rbt);
	KUNIT_EXPECT_EQ(test, 0U, (__force u32)rbt_poll(rbt, here, 1, 0));
	rbt_write_many(rbt, 10, 8);	/* 16 bytes each */
	KUNIT_EXPECT_TRUE(test, rbt_poll(rbt, here, 1, 0) == in);
	KUNIT_EXPECT_TRUE(test, rbt_poll(rbt, here, 120, 100) == in);
	KUNIT_EXPECT_EQ(test, 0U, (__force u32)rbt_poll(rbt, here, 161, 0));
	KUNIT_EXPECT_TRUE(test, rbt_poll(rbt, here, 0, 0) == in);
	KUNIT_EXPECT_EQ(test, 0U, (__force u32)rbt_poll(rbt, here, 0, 20));
	rbt_write_many(rbt, 2 * rbt_per_subbuf(rbt, 100), 100);
	KUNIT_EXPECT_TRUE(test, rbt_poll(rbt, here, 0, 20) == in);
	KUNIT_EXPECT_EQ(test, 0U, (__force u32)rbt_poll(rbt, here, 0, 100));
	ring_buffer_reset_cpu(rbt->buffer, rbt->cpu);
	KUNIT_EXPECT_TRUE(test, rbt_poll(rbt, here, 0, 100) == in);
	rbt_live_unmap(rbt);
}

static void live_poll_and_wait_need_an_index(struct kunit *test)
{
	struct trace_live_position pos = { .bytes = 1 };
	struct rbt *rbt = test->priv;

	KUNIT_EXPECT_EQ(test, -ENODEV, ring_buffer_live_wait(rbt->buffer, rbt->cpu, &pos, 0));
	KUNIT_EXPECT_TRUE(test, rbt_poll(rbt, pos, 1, 0) == EPOLLERR);
	rbt_live_map(test, rbt);
	pos = rbt_position(rbt);
	KUNIT_EXPECT_EQ(test, 0, ring_buffer_live_wait(rbt->buffer, rbt->cpu, &pos, 0));
	rbt_live_unmap(rbt);
	KUNIT_EXPECT_EQ(test, -ENODEV, ring_buffer_live_wait(rbt->buffer, rbt->cpu, &pos, 0));
	KUNIT_EXPECT_TRUE(test, rbt_poll(rbt, pos, 1, 0) == EPOLLERR);
}

static void a_cpu_there_is_not_is_not_waited_for(struct kunit *test)
{
	struct trace_live_position pos = { .bytes = 1 };
	struct rbt *rbt = test->priv;
	int none = rbt_no_cpu(test);

	KUNIT_EXPECT_EQ(test, -EINVAL, ring_buffer_map_wait(rbt->buffer, none, 0,
							    rbt_always, NULL));
	KUNIT_EXPECT_EQ(test, -ENODEV, ring_buffer_live_check(rbt->buffer, none, &pos));
	KUNIT_EXPECT_TRUE(test, ring_buffer_live_poll(rbt->buffer, none, &pos, 0) == EPOLLERR);
}

static struct kunit_case rbt_mapping_cases[] = {
	KUNIT_CASE_PARAM(a_cpu_there_is_not_is_not_waited_for, rbt_gen_kind),
	KUNIT_CASE_PARAM(map_wait_ends_with_data_or_without_a_mapping, rbt_gen_kind),
	KUNIT_CASE_PARAM(map_wait_is_ended_by_a_signal, rbt_gen_kind),
	KUNIT_CASE_PARAM(live_map_counts, rbt_gen_kind),
	KUNIT_CASE_PARAM(live_map_shows_the_index, rbt_gen_kind),
	KUNIT_CASE_PARAM(live_index_tells_every_event, rbt_gen_kind),
	KUNIT_CASE_PARAM(live_epoch_is_another_after_a_reset_and_the_last_unmap, rbt_gen_kind),
	KUNIT_CASE_PARAM(live_check_refuses_where_nobody_can_be, rbt_gen_kind),
	KUNIT_CASE_PARAM(live_poll_says_when_there_is_enough, rbt_gen_kind),
	KUNIT_CASE_PARAM(live_poll_and_wait_need_an_index, rbt_gen_kind),
	{ }
};

static struct kunit_suite rbt_mapping_suite = {
	.name = "ring_buffer_mapping",
	.init = rbt_init,
	.exit = rbt_exit,
	.test_cases = rbt_mapping_cases,
};

kunit_test_suite(rbt_mapping_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the ring buffer: what it does when there is no memory.
 *
 * Each function that allocates is called again and again, and the first, the
 * second, ... of its allocations fails, until there is none left to fail. It
 * says -ENOMEM then, and the buffer is as it was before.
 *
 * Single pages do not fail: fault injection leaves them alone unless debugfs
 * says otherwise. The large sub-buffers are there for what is a page with the
 * small ones.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/trace_live.h>

#include "ring_buffer_kunit.h"

/* No call here allocates as often as this. */
#define RBT_FAULTS_MAX	10000U
/* KASAN allocates for itself now and then. */
#define RBT_TRIES		(IS_ENABLED(CONFIG_KASAN_GENERIC) ? 50 : 1)

#ifdef CONFIG_FAULT_INJECTION
#define rbt_fail_nth	(current->fail_nth)
#else
static unsigned int rbt_fail_nth;
#endif

static gfp_t rbt_allowed;

/*
 * This thread's allocation number @nth from here on fails. Fault injection
 * spares whoever may wait for memory, so nobody may.
 */
static void rbt_faults_begin(unsigned int nth)
{
	rbt_allowed = gfp_allowed_mask;
	gfp_allowed_mask &= ~__GFP_DIRECT_RECLAIM;
	rbt_fail_nth = nth;
}

/* Returns whether there were so many. */
static bool rbt_faults_end(void)
{
	bool failed = !rbt_fail_nth;

	rbt_fail_nth = 0;
	gfp_allowed_mask = rbt_allowed;
	return failed;
}

/**
 * struct rbt_call - a call that allocates
 * @call: makes it, returns 0 or an error
 * @undo: takes back what it did, if it succeeds
 * @unmapped: whether a mapping would keep it from what it does
 * @observed: whether an observer holds the sub-buffers meanwhile
 * @most: of the allocations it cannot do without, how many to let fail, 0: all
 * @last: of all its allocations, the last that may fail, if not all may
 */
struct rbt_call {
	int		(*call)(struct rbt *rbt);
	void		(*undo)(struct rbt *rbt);
	bool		unmapped;
	bool		observed;
	unsigned int	most;
	unsigned int	last;
};

/* A buffer is held while it is mapped or observed. */
static void rbt_expect_as_before(struct kunit *test, struct rbt *rbt, bool mapped, bool held)
{
	struct trace_buffer *buffer = rbt->buffer;
	unsigned long bytes = ring_buffer_size(buffer, rbt->cpu);

	KUNIT_EXPECT_EQ(test, mapped, rbt_mapped(rbt));
	KUNIT_EXPECT_EQ(test, (int)rbt->subbuf, ring_buffer_subbuf_size_get(buffer));
	KUNIT_EXPECT_EQ(test, (unsigned long)RBT_SUBBUFS, rbt_nr_subbufs(buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, 10U, rbt_write_many(rbt, 10, 100));
	rbt_expect_consume(test, rbt, rbt->next - 10, rbt->next);
	rbt_expect_empty(test, rbt);
	KUNIT_EXPECT_EQ(test, held ? -EBUSY : 0,
			min(0, ring_buffer_resize(buffer, bytes - rbt->subbuf, rbt->cpu)));
	KUNIT_EXPECT_LE(test, 0, ring_buffer_resize(buffer, bytes, rbt->cpu));
}

/* Returns whether there was an allocation @nth to fail. */
static bool rbt_fail(struct kunit *test, const struct rbt_call *call, unsigned int nth,
		     unsigned int *needed)
{
	struct rbt *rbt = test->priv;
	bool mapped = rbt_mapped(rbt);
	bool failed;
	int ret;

	rbt_faults_begin(nth);
	ret = call->call(rbt);
	failed = rbt_faults_end();

	KUNIT_EXPECT_EQ(test, ret && failed ? -ENOMEM : 0, ret);
	if (ret)
		(*needed)++;
	else
		call->undo(rbt);
	rbt_expect_as_before(test, rbt, mapped, mapped || call->observed);
	return failed;
}

/*
 * Returns how many allocations the call cannot do without. Where another one
 * could take the place of what failed, it has succeeded.
 */
static unsigned int rbt_fail_each(struct kunit *test, const struct rbt_call *call)
{
	unsigned int most = call->most ?: RBT_FAULTS_MAX;
	unsigned int last = call->last ?: RBT_FAULTS_MAX;
	unsigned int nth, needed = 0;
	struct rbt *rbt = test->priv;
	bool failed = true;

	if (call->unmapped)
		rbt_unmap(rbt);
	for (nth = 1; failed && needed < most && nth <= last; nth++)
		failed = rbt_fail(test, call, nth, &needed);
	KUNIT_EXPECT_EQ(test, !!call->most, failed);
	if (call->unmapped)
		rbt_map(test, rbt);
	return needed;
}

/*
 * KASAN keeps what is freed for a while, so that a cache has to take pages for new
 * objects now and then: such a page may fail as well, or stand in for the object.
 * Often enough it does not have to, and the count is right.
 */
static unsigned int rbt_needed(struct kunit *test, unsigned int least, unsigned int most,
			       const struct rbt_call *call)
{
	int tries = RBT_TRIES;
	unsigned int got;

	do {
		got = rbt_fail_each(test, call);
	} while ((got < least || got > most) && --tries);
	return got;
}

static void rbt_expect_needed(struct kunit *test, unsigned int needed,
			      const struct rbt_call *call)
{
	KUNIT_EXPECT_EQ(test, needed, rbt_needed(test, needed, needed, call));
}

static int rbt_order(const struct rbt *rbt)
{
	return ring_buffer_subbuf_order_get(rbt->buffer);
}

/* 1 if a sub-buffer is large enough to fail. */
static unsigned int rbt_large(const struct rbt *rbt)
{
	return rbt_order(rbt) > 0;
}

static unsigned int rbt_cpus(const struct rbt *rbt)
{
	unsigned int cpu, cpus = 0;

	for_each_possible_cpu(cpu)
		cpus += ring_buffer_size(rbt->buffer, cpu) > 0;
	return cpus;
}

/* Mapping. */

static int rbt_call_map(struct rbt *rbt)
{
	return rbt_map_once(rbt);
}

static void rbt_undo_map(struct rbt *rbt)
{
	rbt_unmap_once(rbt);
}

/* MEM-1: The list of sub-buffers, and the meta area or a list of pages. */
static void first_map_works_or_leaves_nothing(struct kunit *test)
{
	static const struct rbt_call call = { rbt_call_map, rbt_undo_map, .unmapped = true };

	unsigned int needs = rbt_map_needs(rbt_large(test->priv));

	if (RBT_MAPS_INTO_MM)
		KUNIT_EXPECT_LE(test, needs, rbt_needed(test, needs, UINT_MAX, &call));
	else
		rbt_expect_needed(test, needs, &call);
}

/* Returns whether something was allocated. */
static bool rbt_map_further(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	bool failed;
	int ret, got;

	KUNIT_ASSERT_EQ(test, 0, rbt_map_once(rbt));
	rbt_write_many(rbt, 2 * rbt_per_subbuf(rbt, 100), 100);

	rbt_faults_begin(1);
	ret = RBT_MAPS_INTO_MM ? 0 : rbt_map_once(rbt);
	ring_buffer_map_dup(rbt->buffer, rbt->cpu);
	got = ring_buffer_map_get_reader(rbt->buffer, rbt->cpu);
	ring_buffer_reset_cpu(rbt->buffer, rbt->cpu);
	ring_buffer_unmap(rbt->buffer, rbt->cpu);
	if (!RBT_MAPS_INTO_MM) {
		rbt_unmap_once(rbt);
		rbt_unmap_once(rbt);
	}
	failed = rbt_faults_end();
	if (RBT_MAPS_INTO_MM)
		rbt_unmap_once(rbt);

	KUNIT_EXPECT_EQ(test, 0, ret);
	KUNIT_EXPECT_EQ(test, 0, got);
	rbt_expect_as_before(test, rbt, rbt->kind->mapped, rbt->kind->mapped);
	return failed;
}

/*
 * COST-4: Nothing is allocated for a further mapping, nor for what is done with one,
 * until it is gone. KASAN may need a page once, to remember by whom the list was freed.
 */
static void further_map_allocates_nothing(struct kunit *test)
{
	int tries = RBT_TRIES;
	bool failed;

	do {
		failed = rbt_map_further(test);
	} while (failed && --tries);
	KUNIT_EXPECT_FALSE(test, failed);
}

static struct ring_buffer_observer *rbt_observer;

static int rbt_call_observe(struct rbt *rbt)
{
	rbt_observer = ring_buffer_observe(rbt->buffer, rbt->cpu);
	return PTR_ERR_OR_ZERO(rbt_observer);
}

static void rbt_undo_observe(struct rbt *rbt)
{
	ring_buffer_observer_free(rbt_observer);
}

/*
 * MEM-3: The observer, its mapping, and the index: its struct, the list of pages, and
 * what vmalloc() needs. Each time the buffer has had another size before, so that
 * there is no index yet: rbt_expect_as_before() sees to that where it is not mapped.
 */
static void first_observer_comes_or_leaves_nothing(struct kunit *test)
{
	static const struct rbt_call call = { rbt_call_observe, rbt_undo_observe,
					      .unmapped = true };

	KUNIT_EXPECT_LE(test, 5U, rbt_needed(test, 5, UINT_MAX, &call));
}

/* MEM-3: The next one needs itself alone. */
static void further_observer_comes_or_leaves_nothing(struct kunit *test)
{
	static const struct rbt_call call = { rbt_call_observe, rbt_undo_observe,
					      .observed = true };
	struct ring_buffer_observer *first;
	struct rbt *rbt = test->priv;

	first = ring_buffer_observe(rbt->buffer, rbt->cpu);
	KUNIT_ASSERT_FALSE(test, IS_ERR(first));
	rbt_expect_needed(test, 1, &call);
	ring_buffer_observer_free(first);
}

/* Returns whether something was allocated. */
static bool rbt_use_observer(struct kunit *test, struct ring_buffer_observer *observer)
{
	struct trace_live_position pos = { .bytes = 1 };
	struct rbt *rbt = test->priv;
	bool failed;
	int ret;

	rbt_faults_begin(1);
	ret = ring_buffer_observer_wait(observer, &pos, 50);
	ring_buffer_observer_poll(observer, NULL, NULL);
	ring_buffer_observer_page(observer, ring_buffer_observer_size(observer) - 1);
	rbt_write_many(rbt, 2 * rbt_per_subbuf(rbt, 100), 100);
	ring_buffer_observer_poll(observer, NULL, NULL);
	ring_buffer_reset_cpu(rbt->buffer, rbt->cpu);
	ring_buffer_observer_free(observer);
	failed = rbt_faults_end();

	KUNIT_EXPECT_EQ(test, 0, ret);
	return failed;
}

/* MEM-4: KASAN may need a page once, to remember by whom the observer was freed. */
static void an_observer_that_is_there_allocates_nothing(struct kunit *test)
{
	struct ring_buffer_observer *observer;
	struct rbt *rbt = test->priv;
	int tries = RBT_TRIES;
	bool failed;

	do {
		observer = ring_buffer_observe(rbt->buffer, rbt->cpu);
		KUNIT_ASSERT_FALSE(test, IS_ERR(observer));
		failed = rbt_use_observer(test, observer);
	} while (failed && --tries);
	KUNIT_EXPECT_FALSE(test, failed);
	rbt_expect_as_before(test, rbt, rbt->kind->mapped, rbt->kind->mapped);
}

/* Size. */

/* What a test has beside its buffer. */
static struct trace_buffer *rbt_other;

static int rbt_resize(struct rbt *rbt, unsigned int subbufs, int cpu)
{
	unsigned long bytes = (unsigned long)subbufs * (rbt->subbuf - RBT_HEADER);

	return min(0, ring_buffer_resize(rbt->buffer, bytes, cpu));
}

static int rbt_call_resize(struct rbt *rbt)
{
	return rbt_resize(rbt, RBT_SUBBUFS + 3, rbt->cpu);
}

static int rbt_call_resize_all(struct rbt *rbt)
{
	return rbt_resize(rbt, RBT_SUBBUFS + 3, RING_BUFFER_ALL_CPUS);
}

static void rbt_undo_resize(struct rbt *rbt)
{
	rbt_resize(rbt, RBT_SUBBUFS, RING_BUFFER_ALL_CPUS);
}

/* MEM-6 */
static void resize_works_or_leaves_the_size(struct kunit *test)
{
	static const struct rbt_call one = { rbt_call_resize, rbt_undo_resize, .unmapped = true };
	static const struct rbt_call all = { rbt_call_resize_all, rbt_undo_resize,
					     .unmapped = true };
	unsigned int each = 3 * (1 + rbt_large(test->priv));

	rbt_expect_needed(test, each, &one);
	rbt_expect_needed(test, each * rbt_cpus(test->priv), &all);
}

static int rbt_call_order(struct rbt *rbt)
{
	return rbt_set_orders(rbt->buffer, rbt_other, rbt_order(rbt) + 1);
}

/* The number of sub-buffers is rounded up: there may be one more than before. */
static void rbt_undo_order(struct rbt *rbt)
{
	rbt_set_orders(rbt->buffer, rbt_other, rbt_order(rbt) - 1);
	rbt_undo_resize(rbt);
}

/* SUBBUF-10: Half as many, twice as large, and the reader's; all of them or none. */
static void subbuf_order_works_or_leaves_both(struct kunit *test)
{
	static const struct rbt_call call = { rbt_call_order, rbt_undo_order, .unmapped = true };
	struct rbt *rbt = test->priv;
	unsigned int subbufs = rbt_cpus(rbt) * (RBT_SUBBUFS / 2 + 1);

	rbt_other = rbt_alloc(test, rbt->kind, RBT_SUBBUFS);
	rbt_expect_needed(test, rbt_orders_need(subbufs), &call);
	KUNIT_EXPECT_EQ(test, rbt->subbuf, (u32)ring_buffer_subbuf_size_get(rbt_other));
	KUNIT_EXPECT_EQ(test, (unsigned long)RBT_SUBBUFS, rbt_nr_subbufs(rbt_other, rbt->cpu));
	ring_buffer_free(rbt_other);
}

static int rbt_call_alloc(struct rbt *rbt)
{
	rbt_other = ring_buffer_alloc(2 * PAGE_SIZE, rbt->kind->flags);
	return rbt_other ? 0 : -ENOMEM;
}

static void rbt_undo_alloc(struct rbt *rbt)
{
	ring_buffer_free(rbt_other);
}

/*
 * The buffer, its list of CPUs' buffers and their mask; of this CPU, its buffer, the
 * reader's sub-buffer and three more. Another CPU warns if there is no memory for
 * its buffer, as it does when it comes up: no CPU's fails then, nor could what KASAN
 * or kmemleak allocate in between lead as far as the other's.
 */
static void alloc_works_or_leaves_nothing(struct kunit *test)
{
	unsigned int first = 2 + IS_ENABLED(CONFIG_CPUMASK_OFFSTACK), cpu = 1 + 1 + 3;
	bool one = num_online_cpus() == 1;
	const struct rbt_call call = {
		rbt_call_alloc, rbt_undo_alloc,
		.most = one ? 0 : first,
		.last = one ? 0 : first + cpu,
	};

	rbt_expect_needed(test, one ? first + cpu : first, &call);
}

/* Reading. */

static struct ring_buffer_iter *rbt_iter;

static int rbt_call_iterator(struct rbt *rbt)
{
	rbt_iter = ring_buffer_read_start(rbt->buffer, rbt->cpu, GFP_KERNEL);
	return rbt_iter ? 0 : -ENOMEM;
}

static void rbt_undo_iterator(struct rbt *rbt)
{
	ring_buffer_read_finish(rbt_iter);
}

/* MEM-5: Itself, and the copy of an event, which vmalloc() may have if it is large. */
static void iterator_starts_or_leaves_nothing(struct kunit *test)
{
	static const struct rbt_call call = { rbt_call_iterator, rbt_undo_iterator };

	rbt_expect_needed(test, rbt_iterator_needs(rbt_large(test->priv)), &call);
}

static void *rbt_page;

static int rbt_call_read_page(struct rbt *rbt)
{
	rbt_page = rbt_alloc_read_page(rbt);
	return PTR_ERR_OR_ZERO(rbt_page);
}

static void rbt_undo_read_page(struct rbt *rbt)
{
	ring_buffer_free_read_page(rbt->buffer, rbt->cpu, rbt_page);
}

/* MEM-5 */
static void read_page_is_there_or_not(struct kunit *test)
{
	static const struct rbt_call call = { rbt_call_read_page, rbt_undo_read_page };

	rbt_expect_needed(test, rbt_read_page_needs(rbt_large(test->priv)), &call);
}

static int rbt_faults_init(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_FAILSLAB) || !IS_ENABLED(CONFIG_FAIL_PAGE_ALLOC))
		kunit_skip(test, "needs CONFIG_FAILSLAB and CONFIG_FAIL_PAGE_ALLOC");
	return rbt_init(test);
}

static struct kunit_case rbt_faults_cases[] = {
	KUNIT_CASE_PARAM(first_map_works_or_leaves_nothing, rbt_gen_kind),
	KUNIT_CASE_PARAM(further_map_allocates_nothing, rbt_gen_kind),
	KUNIT_CASE_PARAM(first_observer_comes_or_leaves_nothing, rbt_gen_kind),
	KUNIT_CASE_PARAM(further_observer_comes_or_leaves_nothing, rbt_gen_kind),
	KUNIT_CASE_PARAM(an_observer_that_is_there_allocates_nothing, rbt_gen_kind),
	KUNIT_CASE_PARAM(resize_works_or_leaves_the_size, rbt_gen_kind),
	KUNIT_CASE_PARAM(subbuf_order_works_or_leaves_both, rbt_gen_kind),
	KUNIT_CASE_PARAM(alloc_works_or_leaves_nothing, rbt_gen_kind),
	KUNIT_CASE_PARAM(iterator_starts_or_leaves_nothing, rbt_gen_kind),
	KUNIT_CASE_PARAM(read_page_is_there_or_not, rbt_gen_kind),
	{ }
};

static struct kunit_suite rbt_faults_suite = {
	.name = "ring_buffer_faults",
	.init = rbt_faults_init,
	.exit = rbt_exit,
	.test_cases = rbt_faults_cases,
};

kunit_test_suite(rbt_faults_suite);

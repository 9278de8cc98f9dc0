// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the ring buffer: what it does when there is no memory.
 *
 * Each function that allocates is called again and again: first its first
 * allocation fails, then its second, until there is none left to fail. If the
 * function fails, it must return -ENOMEM and leave the buffer as it was before.
 *
 * Single pages do not fail, because fault injection spares them unless debugfs
 * says otherwise. So the large sub-buffers test the allocations that are a single
 * page with small ones.
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
#include "ring_buffer_observer.h"

/* More allocations than any call here makes */
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
 * From here on, this thread's @nth allocation fails. Fault injection spares
 * allocations that may wait for memory, so none of them may.
 */
static void rbt_faults_begin(unsigned int nth)
{
	rbt_allowed = gfp_allowed_mask;
	gfp_allowed_mask &= ~__GFP_DIRECT_RECLAIM;
	rbt_fail_nth = nth;
}

/* Returns whether there was an allocation that failed. */
static bool rbt_faults_end(void)
{
	bool failed = !rbt_fail_nth;

	rbt_fail_nth = 0;
	gfp_allowed_mask = rbt_allowed;
	return failed;
}

/**
 * struct rbt_call - a call that allocates
 * @call: makes the call, returns 0 or an error
 * @undo: undoes the call if it has succeeded
 * @unmapped: whether a mapping would make the call fail
 * @observed: whether an observer holds the sub-buffers meanwhile
 * @most: how many of the allocations that it cannot do without to let fail, or 0 for all
 * @last: the last of all its allocations to let fail, or 0 if all may fail
 */
struct rbt_call {
	int		(*call)(struct rbt *rbt);
	void		(*undo)(struct rbt *rbt);
	bool		unmapped;
	bool		observed;
	unsigned int	most;
	unsigned int	last;
};

/* Expect the buffer to be as before. It is @held while it is mapped or observed. */
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

/* Returns whether there was an @nth allocation to fail. */
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
 * Returns how many allocations the call cannot do without. If another allocation
 * could replace the failed one, the call has succeeded.
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
 * KASAN keeps freed objects for a while, so now and then a cache has to allocate a
 * page for new objects. That page may fail as well, or replace the object that
 * failed. Try until no cache needs a page, and the count is right.
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

/* Returns 1 if a sub-buffer is large enough for its allocation to fail. */
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

/* MEM-1: It allocates the list of sub-buffers, and the meta area or a list of pages. */
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
 * COST-4: Making, using and ending a further mapping allocates nothing. KASAN may need
 * a page once, to record who freed the list.
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
 * MEM-3: An observer allocates nothing but itself, because the index is there with the
 * buffer.
 */
static void observer_comes_or_leaves_nothing(struct kunit *test)
{
	static const struct rbt_call first = { rbt_call_observe, rbt_undo_observe,
					       .unmapped = true };
	static const struct rbt_call further = { rbt_call_observe, rbt_undo_observe,
						 .observed = true };
	struct ring_buffer_observer *observer;
	struct rbt *rbt = test->priv;

	rbt_expect_needed(test, 1, &first);
	observer = ring_buffer_observe(rbt->buffer, rbt->cpu);
	KUNIT_ASSERT_FALSE(test, IS_ERR(observer));
	rbt_expect_needed(test, 1, &further);
	ring_buffer_observer_free(observer);
}

/* Returns whether something was allocated. */
static bool rbt_use_observer(struct kunit *test, struct ring_buffer_observer *observer)
{
	struct trace_live_position pos = { .bytes = 1 };
	struct rbt *rbt = test->priv;
	bool failed;
	int ret;

	rbt_faults_begin(1);
	ret = ring_buffer_observer_seek(observer, &pos, 50);
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

/* MEM-4: KASAN may need a page once, to record who freed the observer. */
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

/* The second buffer of a test */
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

static bool rbt_other_is_as_before(struct rbt *rbt)
{
	return ring_buffer_subbuf_size_get(rbt_other) == rbt->subbuf &&
	       rbt_nr_subbufs(rbt_other, rbt->cpu) == RBT_SUBBUFS;
}

static int rbt_call_order(struct rbt *rbt)
{
	int ret = rbt_set_orders(rbt->buffer, rbt_other, rbt_order(rbt) + 1);

	return ret && !rbt_other_is_as_before(rbt) ? -EUCLEAN : ret;
}

/* The number of sub-buffers is rounded up: there may be one more than before. */
static void rbt_undo_order(struct rbt *rbt)
{
	unsigned long bytes = (unsigned long)RBT_SUBBUFS * (rbt->subbuf - RBT_HEADER);

	rbt_set_orders(rbt->buffer, rbt_other, rbt_order(rbt) - 1);
	rbt_undo_resize(rbt);
	ring_buffer_resize(rbt_other, bytes, RING_BUFFER_ALL_CPUS);
}

/* SUBBUF-10: Half as many sub-buffers, twice as large, and the reader's; all or none. */
static void subbuf_order_works_or_leaves_both(struct kunit *test)
{
	static const struct rbt_call call = { rbt_call_order, rbt_undo_order, .unmapped = true };
	struct rbt *rbt = test->priv;
	unsigned int subbufs = rbt_cpus(rbt) * (RBT_SUBBUFS / 2 + 1);

	rbt_other = rbt_alloc(test, rbt->kind, RBT_SUBBUFS);
	rbt_expect_needed(test, rbt_orders_need(subbufs), &call);
	KUNIT_EXPECT_TRUE(test, rbt_other_is_as_before(rbt));
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
 * It allocates the buffer, its array of CPU buffers and their mask; and for this CPU,
 * its buffer, the reader's sub-buffer and three more. If there is no memory for the
 * buffer of another CPU, the kernel warns, as it does when a CPU comes up. So with
 * several CPUs, the test ends before it comes to the buffer of a CPU, and @last ends
 * it before that of another CPU, whatever KASAN or kmemleak allocate in between.
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

/* MEM-5: It allocates itself, and the copy of an event, by vmalloc() if that is large. */
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

/* The buffer does not keep it for the next reader, who would allocate less. */
static void rbt_undo_read_page(struct rbt *rbt)
{
	ring_buffer_put_read_page(rbt_page);
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
	KUNIT_CASE_PARAM(observer_comes_or_leaves_nothing, rbt_gen_kind),
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

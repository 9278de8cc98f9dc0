// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the ring buffer: code that the tests share, and tests that
 * allocate, resize, reset, swap, switch off and map whole buffers.
 *
 * Every test runs on buffers that overwrite and that do not, with small and large
 * sub-buffers, mapped and not.
 */
#include <linux/cache.h>
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/trace_mmap.h>

#include "ring_buffer_kunit.h"

u64 rbt_now;

static u64 rbt_clock(void)
{
	return rbt_now;
}

const struct rbt_kind rbt_kinds[] = {
	{ "overwrite",			RB_FL_OVERWRITE,	0, false },
	{ "overwrite, mapped",		RB_FL_OVERWRITE,	0, true },
	{ "overwrite, 64k",		RB_FL_OVERWRITE,	64, false },
	{ "overwrite, 64k, mapped",	RB_FL_OVERWRITE,	64, true },
	{ "drop",			0,			0, false },
	{ "drop, mapped",		0,			0, true },
	{ "drop, 64k",			0,			64, false },
	{ "drop, 64k, mapped",		0,			64, true },
};

const void *rbt_gen_kind(const void *prev, char *desc)
{
	const struct rbt_kind *kind = prev ? (const struct rbt_kind *)prev + 1 : rbt_kinds;

	if (kind == rbt_kinds + ARRAY_SIZE(rbt_kinds))
		return NULL;
	strscpy(desc, kind->name, KUNIT_PARAM_DESC_SIZE);
	return kind;
}

static int rbt_order(const struct rbt_kind *kind)
{
	return get_order(max_t(unsigned long, kind->kb * 1024UL, PAGE_SIZE));
}

struct trace_buffer *rbt_alloc(struct kunit *test, const struct rbt_kind *kind,
			       unsigned int subbufs)
{
	struct trace_buffer *buffer;
	unsigned long data;

	buffer = ring_buffer_alloc(2 * PAGE_SIZE, kind->flags);
	KUNIT_ASSERT_NOT_NULL(test, buffer);
	KUNIT_ASSERT_EQ(test, 0, ring_buffer_subbuf_order_set(buffer, rbt_order(kind)));
	data = ring_buffer_subbuf_size_get(buffer) - RBT_HEADER;
	KUNIT_ASSERT_LE(test, 0, ring_buffer_resize(buffer, subbufs * data,
						    RING_BUFFER_ALL_CPUS));
	ring_buffer_set_clock(buffer, rbt_clock);
	return buffer;
}

void rbt_map(struct kunit *test, struct rbt *rbt)
{
	if (rbt->kind->mapped)
		KUNIT_ASSERT_EQ(test, 0, rbt_map_once(rbt));
}

void rbt_unmap(struct rbt *rbt)
{
	if (rbt->kind->mapped)
		rbt_unmap_once(rbt);
}

const struct trace_buffer_meta *rbt_meta(struct kunit *test, struct rbt *rbt)
{
	struct page *page = rbt_map_page(rbt, 0);

	KUNIT_ASSERT_NOT_NULL(test, page);
	return page_address(page);
}

int rbt_init(struct kunit *test)
{
	struct rbt *rbt = kunit_kzalloc(test, sizeof(*rbt), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rbt);
	test->priv = rbt;
	/* Stay on one CPU: events go to the buffer of the CPU that writes them. */
	cpumask_copy(&rbt->was_allowed, current->cpus_ptr);
	rbt->cpu = raw_smp_processor_id();
	KUNIT_ASSERT_EQ(test, 0, set_cpus_allowed_ptr(current, cpumask_of(rbt->cpu)));

	rbt_now = 1000;
	rbt->kind = test->param_value;
	rbt->buffer = rbt_alloc(test, rbt->kind, RBT_SUBBUFS);
	rbt->subbuf = ring_buffer_subbuf_size_get(rbt->buffer);
	KUNIT_ASSERT_EQ(test, 0, rbt_mm_init(rbt));
	rbt_map(test, rbt);
	return 0;
}

void rbt_exit(struct kunit *test)
{
	struct rbt *rbt = test->priv;

	if (!rbt)
		return;
	if (rbt->buffer) {
		while (rbt_mapped(rbt))
			rbt_unmap_once(rbt);
		ring_buffer_free(rbt->buffer);
	}
	rbt_mm_exit(rbt);
	set_cpus_allowed_ptr(current, &rbt->was_allowed);
}

/*
 * Return a CPU that is not present, or the number after the last CPU. The ring
 * buffer looks into its array of CPU buffers and its mask before it refuses that
 * number. The sizes of both are rounded up, that of the array by less.
 */
int rbt_no_cpu(struct kunit *test)
{
	unsigned int none = cpumask_first_zero(cpu_present_mask);

	if (none >= nr_cpu_ids && !(nr_cpu_ids % (cache_line_size() / sizeof(void *))))
		kunit_skip(test, "needs a CPU that is possible, but not present");
	if (none >= nr_cpu_ids && IS_ENABLED(CONFIG_DEBUG_PER_CPU_MAPS))
		kunit_skip(test, "needs a kernel that lets a mask be asked for it");
	return none;
}

/* Write an event of @size bytes that holds its number. Fails if there is no room. */
int rbt_write(struct rbt *rbt, unsigned int size)
{
	struct ring_buffer_event *event;
	u32 *data;

	event = ring_buffer_lock_reserve(rbt->buffer, size);
	if (!event)
		return -EBUSY;
	data = ring_buffer_event_data(event);
	*data = rbt->next++;
	return rbt_end_write(rbt->buffer, event);
}

/* Returns how many events there was room for. */
unsigned int rbt_write_many(struct rbt *rbt, unsigned int nr, unsigned int size)
{
	unsigned int written = 0;

	while (nr--)
		written += !rbt_write(rbt, size);
	return written;
}

/* Returns how many events of @size bytes a sub-buffer holds if the clock stands still. */
unsigned int rbt_per_subbuf(const struct rbt *rbt, unsigned int size)
{
	unsigned int record = ALIGN(size, 4) + (size > 112 ? 8 : 4);

	if (record == 12)
		record = 16;
	if (IS_ENABLED(CONFIG_HAVE_64BIT_ALIGNED_ACCESS))
		record = ALIGN(ALIGN(size, 4) + 8, 8);
	return (rbt->subbuf - RBT_HEADER) / record;
}

u32 rbt_number(struct ring_buffer_event *event)
{
	return *(u32 *)ring_buffer_event_data(event);
}

void rbt_expect_empty(struct kunit *test, struct rbt *rbt)
{
	u64 ts;

	/* Peek first: a buffer with padding counts as empty only once a reader has skipped it. */
	KUNIT_EXPECT_NULL(test, ring_buffer_peek(rbt->buffer, rbt->cpu, &ts, NULL));
	KUNIT_EXPECT_TRUE(test, ring_buffer_empty(rbt->buffer));
	KUNIT_EXPECT_TRUE(test, ring_buffer_empty_cpu(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, 0UL, ring_buffer_entries(rbt->buffer));
	KUNIT_EXPECT_EQ(test, 0UL, ring_buffer_entries_cpu(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_NULL(test, ring_buffer_consume(rbt->buffer, rbt->cpu, &ts, NULL));
}

/* Expect the events from @from up to, but not including, @to to be the next ones. */
void rbt_expect_consume(struct kunit *test, struct rbt *rbt, u32 from, u32 to)
{
	struct ring_buffer_event *event;

	for (; from != to; from++) {
		event = ring_buffer_consume(rbt->buffer, rbt->cpu, NULL, NULL);
		KUNIT_ASSERT_NOT_NULL(test, event);
		KUNIT_ASSERT_EQ(test, from, rbt_number(event));
	}
}

/* Expect each event written to be unread, overwritten, dropped or read. */
static void rbt_expect_sum(struct kunit *test, struct rbt *rbt, unsigned long written)
{
	struct trace_buffer *buffer = rbt->buffer;

	KUNIT_EXPECT_EQ(test, written,
			ring_buffer_entries_cpu(buffer, rbt->cpu) +
			ring_buffer_overrun_cpu(buffer, rbt->cpu) +
			ring_buffer_dropped_events_cpu(buffer, rbt->cpu) +
			ring_buffer_read_events_cpu(buffer, rbt->cpu));
}

/* Allocation. */

static void rbt_expect_new(struct kunit *test, struct rbt *rbt)
{
	struct trace_buffer *buffer = rbt->buffer;

	rbt_expect_empty(test, rbt);
	KUNIT_EXPECT_EQ(test, 0UL, ring_buffer_overruns(buffer));
	KUNIT_EXPECT_EQ(test, 0UL, ring_buffer_overrun_cpu(buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, 0UL, ring_buffer_commit_overrun_cpu(buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, 0UL, ring_buffer_dropped_events_cpu(buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, 0UL, ring_buffer_read_events_cpu(buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, 0UL, ring_buffer_bytes_cpu(buffer, rbt->cpu));
	KUNIT_EXPECT_TRUE(test, ring_buffer_record_is_on(buffer));
}

static void alloc_gives_an_empty_buffer(struct kunit *test)
{
	struct rbt *rbt = test->priv;

	rbt_expect_new(test, rbt);
	KUNIT_EXPECT_EQ(test, 0ULL, ring_buffer_oldest_event_ts(rbt->buffer, rbt->cpu));
}

static void size_is_what_was_asked_for(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int data = rbt->subbuf - RBT_HEADER;

	KUNIT_EXPECT_EQ(test, (unsigned long)RBT_SUBBUFS * data,
			ring_buffer_size(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, (size_t)RBT_SUBBUFS,
			(size_t)rbt_nr_subbufs(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, (size_t)0,
			ring_buffer_nr_dirty_pages(rbt->buffer, rbt->cpu));
}

static void a_cpu_there_is_not_has_nothing(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	int none = rbt_no_cpu(test);

	KUNIT_EXPECT_EQ(test, 0UL, ring_buffer_size(rbt->buffer, none));
	KUNIT_EXPECT_EQ(test, 0UL, ring_buffer_entries_cpu(rbt->buffer, none));
	KUNIT_EXPECT_EQ(test, 0UL, ring_buffer_overrun_cpu(rbt->buffer, none));
	KUNIT_EXPECT_EQ(test, 0UL, ring_buffer_bytes_cpu(rbt->buffer, none));
	KUNIT_EXPECT_TRUE(test, ring_buffer_empty_cpu(rbt->buffer, none));
	KUNIT_EXPECT_NULL(test, ring_buffer_peek(rbt->buffer, none, NULL, NULL));
	KUNIT_EXPECT_NULL(test, ring_buffer_consume(rbt->buffer, none, NULL, NULL));
	KUNIT_EXPECT_NULL(test, ring_buffer_read_start(rbt->buffer, none, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, -EINVAL, rbt_map_no_cpu(rbt, none));
	KUNIT_EXPECT_EQ(test, RBT_NO_CPU_READER, ring_buffer_map_get_reader(rbt->buffer, none));
}

/* Another CPU. */

/* Returns -1 if there is no other CPU. */
static int rbt_other_cpu(const struct rbt *rbt)
{
	int cpu;

	for_each_online_cpu(cpu) {
		if (cpu != rbt->cpu)
			return cpu;
	}
	return -1;
}

#define RBT_ELSEWHERE	50U

static int rbt_write_here(void *rbt)
{
	return rbt_write_many(rbt, RBT_ELSEWHERE, 8);
}

/* Write on another CPU. Returns how many events its buffer has then, 0 without such a CPU. */
static unsigned long rbt_write_elsewhere(struct kunit *test, struct rbt *rbt)
{
	struct rbt elsewhere = *rbt;
	int other = rbt_other_cpu(rbt);

	if (other < 0)
		return 0;
	KUNIT_EXPECT_EQ(test, (int)RBT_ELSEWHERE,
			smp_call_on_cpu(other, rbt_write_here, &elsewhere, false));
	return RBT_ELSEWHERE;
}

static unsigned long rbt_entries_elsewhere(const struct rbt *rbt)
{
	int other = rbt_other_cpu(rbt);

	return other < 0 ? 0 : ring_buffer_entries_cpu(rbt->buffer, other);
}

/* Resizing. */

static unsigned long rbt_bytes(const struct rbt *rbt, unsigned int subbufs)
{
	return (unsigned long)subbufs * (rbt->subbuf - RBT_HEADER);
}

/* HOLD-1 */
static void resize_is_refused_while_mapped(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned long bytes = rbt_bytes(rbt, 2 * RBT_SUBBUFS);
	int want = rbt->kind->mapped ? -EBUSY : 0;

	KUNIT_EXPECT_EQ(test, want, min(0, ring_buffer_resize(rbt->buffer, bytes, rbt->cpu)));
	KUNIT_EXPECT_EQ(test, want, min(0, ring_buffer_resize(rbt->buffer, bytes,
							      RING_BUFFER_ALL_CPUS)));
	/* Setting the size that it has already changes nothing. */
	bytes = ring_buffer_size(rbt->buffer, rbt->cpu);
	KUNIT_EXPECT_LE(test, 0, ring_buffer_resize(rbt->buffer, bytes, rbt->cpu));
}

/* HOLD-5 */
static void resize_works_after_the_last_unmap(struct kunit *test)
{
	struct rbt *rbt = test->priv;

	rbt_unmap(rbt);
	KUNIT_EXPECT_LE(test, 0, ring_buffer_resize(rbt->buffer, rbt_bytes(rbt, 5), rbt->cpu));
	KUNIT_EXPECT_EQ(test, rbt_bytes(rbt, 5), ring_buffer_size(rbt->buffer, rbt->cpu));
	rbt_map(test, rbt);
	KUNIT_EXPECT_EQ(test, 100U, rbt_write_many(rbt, 100, 4));
	rbt_expect_consume(test, rbt, 0, 100);
}

static void growing_keeps_the_events(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int nr = 3 * rbt_per_subbuf(rbt, 100);

	KUNIT_ASSERT_EQ(test, nr, rbt_write_many(rbt, nr, 100));
	rbt_unmap(rbt);
	KUNIT_ASSERT_LE(test, 0, ring_buffer_resize(rbt->buffer, rbt_bytes(rbt, 3 * RBT_SUBBUFS),
						    rbt->cpu));
	rbt_map(test, rbt);
	rbt_write_many(rbt, nr, 100);
	rbt_expect_consume(test, rbt, 0, 2 * nr);
	rbt_expect_empty(test, rbt);
}

/* Write more events than there is room for. Returns how many. */
static unsigned int rbt_overfill(struct rbt *rbt)
{
	unsigned int nr = 5 * RBT_SUBBUFS * rbt_per_subbuf(rbt, 100) / 2;

	rbt_write_many(rbt, nr, 100);
	return nr;
}

static unsigned long rbt_lost(const struct rbt *rbt)
{
	return ring_buffer_overrun_cpu(rbt->buffer, rbt->cpu) +
	       ring_buffer_dropped_events_cpu(rbt->buffer, rbt->cpu);
}

/* New sub-buffers are inserted between the newest and the oldest events. */
static void growing_a_full_buffer_keeps_the_events(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int more = 2 * RBT_SUBBUFS * rbt_per_subbuf(rbt, 100);
	unsigned long left, lost;

	rbt_overfill(rbt);
	left = ring_buffer_entries_cpu(rbt->buffer, rbt->cpu);
	lost = rbt_lost(rbt);
	KUNIT_EXPECT_LT(test, 0UL, lost);
	rbt_unmap(rbt);
	KUNIT_ASSERT_LE(test, 0, ring_buffer_resize(rbt->buffer, rbt_bytes(rbt, 3 * RBT_SUBBUFS),
						    rbt->cpu));
	rbt_map(test, rbt);
	KUNIT_EXPECT_EQ(test, more, rbt_write_many(rbt, more, 100));
	KUNIT_EXPECT_EQ(test, left + more, ring_buffer_entries_cpu(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, lost, rbt_lost(rbt));

	/* Only now is the buffer full again. */
	rbt_write(rbt, 100);
	KUNIT_EXPECT_LT(test, lost, rbt_lost(rbt));
	left = ring_buffer_entries_cpu(rbt->buffer, rbt->cpu);
	rbt_expect_consume(test, rbt, rbt->next - left, rbt->next);
	rbt_expect_empty(test, rbt);
}

/* Shrink the buffer, and expect it to lose the oldest events, which count as overwritten. */
static void rbt_expect_shrink(struct kunit *test, struct rbt *rbt, unsigned int written)
{
	unsigned int left, nr = rbt->next;

	rbt_unmap(rbt);
	KUNIT_ASSERT_LE(test, 0, ring_buffer_resize(rbt->buffer, rbt_bytes(rbt, 3), rbt->cpu));
	rbt_map(test, rbt);
	left = ring_buffer_entries_cpu(rbt->buffer, rbt->cpu);
	KUNIT_EXPECT_EQ(test, 3 * rbt_per_subbuf(rbt, 100), left);
	rbt_expect_sum(test, rbt, written);
	rbt_expect_consume(test, rbt, nr - left, nr);
	rbt_expect_empty(test, rbt);
	KUNIT_EXPECT_EQ(test, 10U, rbt_write_many(rbt, 10, 4));
	rbt_expect_consume(test, rbt, rbt->next - 10, rbt->next);
}

static void shrinking_a_full_buffer_keeps_the_newest(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int nr = RBT_SUBBUFS * rbt_per_subbuf(rbt, 100);

	KUNIT_ASSERT_EQ(test, nr, rbt_write_many(rbt, nr, 100));
	KUNIT_EXPECT_EQ(test, 0UL, rbt_lost(rbt));
	rbt_expect_shrink(test, rbt, nr);
}

/* The oldest event is in the middle of the pages then, or the newest were refused. */
static void shrinking_an_overfull_buffer_keeps_the_newest(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int nr = rbt_overfill(rbt);

	KUNIT_EXPECT_LT(test, 0UL, rbt_lost(rbt));
	rbt_expect_shrink(test, rbt, nr);
}

static __poll_t rbt_poll(const struct rbt *rbt, int full)
{
	return ring_buffer_poll_wait(rbt->buffer, rbt->cpu, NULL, NULL, full);
}

/* POLL-2: Full sub-buffers that a resize has removed do not count as unread any more. */
static void shrinking_leaves_the_full_subbufs_that_there_are(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int per = rbt_per_subbuf(rbt, 100);

	rbt_write_many(rbt, RBT_SUBBUFS * per, 100);
	KUNIT_EXPECT_TRUE(test, rbt_poll(rbt, 100));
	rbt_unmap(rbt);
	KUNIT_ASSERT_LE(test, 0, ring_buffer_resize(rbt->buffer, rbt_bytes(rbt, 4), rbt->cpu));
	rbt_map(test, rbt);
	/* The one that the writer is on does not count, nor does a reader's. */
	KUNIT_EXPECT_EQ(test, (size_t)3, ring_buffer_nr_dirty_pages(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_TRUE(test, rbt_poll(rbt, 100));
	rbt_expect_consume(test, rbt, rbt->next - 4 * per, rbt->next - 3 * per + 1);
	KUNIT_EXPECT_EQ(test, (size_t)1, ring_buffer_nr_dirty_pages(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_FALSE(test, rbt_poll(rbt, 100));
	KUNIT_EXPECT_TRUE(test, rbt_poll(rbt, 50));
}

/* A mapping of this CPU's buffer does not keep another CPU's buffer from being resized. */
static void resize_of_a_cpu_leaves_the_others(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned long elsewhere = rbt_write_elsewhere(test, rbt);
	int other = rbt_other_cpu(rbt);

	rbt_write_many(rbt, 10, 8);
	if (other >= 0)
		KUNIT_EXPECT_LE(test, 0, ring_buffer_resize(rbt->buffer, rbt_bytes(rbt, 5), other));
	KUNIT_EXPECT_EQ(test, rbt_bytes(rbt, RBT_SUBBUFS),
			ring_buffer_size(rbt->buffer, rbt->cpu));
	rbt_unmap(rbt);
	KUNIT_EXPECT_LE(test, 0, ring_buffer_resize(rbt->buffer, rbt_bytes(rbt, 11), rbt->cpu));
	rbt_map(test, rbt);
	KUNIT_EXPECT_EQ(test, rbt_bytes(rbt, 11), ring_buffer_size(rbt->buffer, rbt->cpu));
	if (other >= 0)
		KUNIT_EXPECT_EQ(test, rbt_bytes(rbt, 5), ring_buffer_size(rbt->buffer, other));
	KUNIT_EXPECT_EQ(test, elsewhere, rbt_entries_elsewhere(rbt));
	rbt_expect_consume(test, rbt, 0, 10);
}

/* HOLD-4 */
static void subbuf_order_is_refused_while_mapped(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	int order = ring_buffer_subbuf_order_get(rbt->buffer);

	KUNIT_EXPECT_EQ(test, -EINVAL, ring_buffer_subbuf_order_set(rbt->buffer, -1));
	KUNIT_EXPECT_EQ(test, -EINVAL, ring_buffer_subbuf_order_set(rbt->buffer, 31));
	KUNIT_EXPECT_EQ(test, 0, ring_buffer_subbuf_order_set(rbt->buffer, order));
	KUNIT_EXPECT_EQ(test, rbt->kind->mapped ? -EBUSY : 0,
			ring_buffer_subbuf_order_set(rbt->buffer, order + 1));
	KUNIT_EXPECT_EQ(test, order + !rbt->kind->mapped,
			ring_buffer_subbuf_order_get(rbt->buffer));
}

/* SUBBUF-9 */
static void subbuf_order_discards_the_events(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	int order = ring_buffer_subbuf_order_get(rbt->buffer);

	rbt_write_many(rbt, 100, 8);
	rbt_unmap(rbt);
	KUNIT_ASSERT_EQ(test, 0, ring_buffer_subbuf_order_set(rbt->buffer, order + 1));
	rbt_map(test, rbt);
	rbt_expect_empty(test, rbt);
	KUNIT_EXPECT_EQ(test, (int)PAGE_SIZE << (order + 1),
			ring_buffer_subbuf_size_get(rbt->buffer));
	KUNIT_EXPECT_EQ(test, 100U, rbt_write_many(rbt, 100, 8));
	rbt_expect_consume(test, rbt, 100, 200);
}

/* Resetting. */

static void rbt_expect_reset(struct kunit *test, struct rbt *rbt)
{
	rbt_expect_new(test, rbt);
	KUNIT_EXPECT_EQ(test, 10U, rbt_write_many(rbt, 10, 8));
	rbt_expect_consume(test, rbt, rbt->next - 10, rbt->next);
}

/* HOLD-8 */
static void reset_empties_every_cpu(struct kunit *test)
{
	struct rbt *rbt = test->priv;

	rbt_write_many(rbt, 2 * RBT_SUBBUFS * rbt_per_subbuf(rbt, 100), 100);
	rbt_write_elsewhere(test, rbt);
	ring_buffer_reset(rbt->buffer);
	rbt_expect_reset(test, rbt);
}

static void reset_online_cpus_empties_them(struct kunit *test)
{
	struct rbt *rbt = test->priv;

	rbt_write_many(rbt, 2 * RBT_SUBBUFS * rbt_per_subbuf(rbt, 100), 100);
	rbt_write_elsewhere(test, rbt);
	ring_buffer_reset_online_cpus(rbt->buffer);
	rbt_expect_reset(test, rbt);
}

static void reset_cpu_empties_that_cpu(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned long elsewhere = rbt_write_elsewhere(test, rbt);
	int other = rbt_other_cpu(rbt);

	rbt_write_many(rbt, 100, 8);
	ring_buffer_reset_cpu(rbt->buffer, rbt->cpu);
	KUNIT_EXPECT_EQ(test, 0UL, ring_buffer_entries_cpu(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, elsewhere, rbt_entries_elsewhere(rbt));
	KUNIT_EXPECT_EQ(test, elsewhere, ring_buffer_entries(rbt->buffer));
	if (other >= 0) {
		rbt_write_many(rbt, 100, 8);
		ring_buffer_reset_cpu(rbt->buffer, other);
		KUNIT_EXPECT_EQ(test, 0UL, rbt_entries_elsewhere(rbt));
		KUNIT_EXPECT_EQ(test, 100UL, ring_buffer_entries_cpu(rbt->buffer, rbt->cpu));
		ring_buffer_reset_cpu(rbt->buffer, rbt->cpu);
	}
	rbt_expect_reset(test, rbt);
}

/* Swapping. */

static void swap_cpu_exchanges_the_buffers(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	struct rbt other = *rbt;
	int want = rbt->kind->mapped && RBT_SWAP_LOOKS ? -EBUSY : 0;
	unsigned long elsewhere = rbt_write_elsewhere(test, rbt);

	if (!RBT_SWAP_LOOKS)
		rbt_unmap(rbt);
	if (!IS_ENABLED(CONFIG_RING_BUFFER_ALLOW_SWAP))
		want = -ENODEV;
	other.buffer = rbt_alloc(test, rbt->kind, RBT_SUBBUFS);
	other.next = 1000;
	rbt_write_many(rbt, 10, 8);
	rbt_write_many(&other, 20, 8);

	KUNIT_EXPECT_EQ(test, want, ring_buffer_swap_cpu(rbt->buffer, other.buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, elsewhere, rbt_entries_elsewhere(rbt));
	KUNIT_EXPECT_EQ(test, 0UL, rbt_entries_elsewhere(&other));
	if (want) {
		/* It is refused whichever of the two is mapped */
		KUNIT_EXPECT_EQ(test, want,
				ring_buffer_swap_cpu(other.buffer, rbt->buffer, rbt->cpu));
		rbt_expect_consume(test, rbt, 0, 10);
		rbt_expect_consume(test, &other, 1000, 1020);
	} else {
		rbt_expect_consume(test, rbt, 1000, 1020);
		rbt_expect_consume(test, &other, 0, 10);
	}
	if (!RBT_SWAP_LOOKS)
		rbt_map(test, rbt);
	ring_buffer_free(other.buffer);
}

static void swap_cpu_refuses_what_does_not_fit(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	struct trace_buffer *other = rbt_alloc(test, rbt->kind, RBT_SUBBUFS + 1);
	bool swaps = IS_ENABLED(CONFIG_RING_BUFFER_ALLOW_SWAP);

	rbt_unmap(rbt);
	KUNIT_EXPECT_EQ(test, swaps ? -EINVAL : -ENODEV,
			ring_buffer_swap_cpu(rbt->buffer, other, rbt->cpu));
	KUNIT_ASSERT_LE(test, 0, ring_buffer_resize(other, rbt_bytes(rbt, RBT_SUBBUFS),
						    RING_BUFFER_ALL_CPUS));
	ring_buffer_record_disable(other);
	KUNIT_EXPECT_EQ(test, swaps ? -EAGAIN : -ENODEV,
			ring_buffer_swap_cpu(rbt->buffer, other, rbt->cpu));
	ring_buffer_record_enable(other);
	ring_buffer_record_disable_cpu(rbt->buffer, rbt->cpu);
	KUNIT_EXPECT_EQ(test, swaps ? -EAGAIN : -ENODEV,
			ring_buffer_swap_cpu(rbt->buffer, other, rbt->cpu));
	ring_buffer_record_enable_cpu(rbt->buffer, rbt->cpu);
	rbt_map(test, rbt);
	ring_buffer_free(other);
}

/* The other buffer has as many sub-buffers, twice as large. */
static void swap_cpu_refuses_subbufs_of_another_size(struct kunit *test)
{
	int want = IS_ENABLED(CONFIG_RING_BUFFER_ALLOW_SWAP) ? -EINVAL : -ENODEV;
	struct rbt *rbt = test->priv;
	struct rbt_kind larger = *rbt->kind;
	struct rbt other = *rbt;

	larger.kb = 2 * rbt->subbuf / 1024;
	other.buffer = rbt_alloc(test, &larger, RBT_SUBBUFS);
	other.subbuf = ring_buffer_subbuf_size_get(other.buffer);
	other.next = 1000;
	rbt_write_many(rbt, 10, 8);
	rbt_write_many(&other, 20, 8);

	rbt_unmap(rbt);
	KUNIT_EXPECT_EQ(test, want, ring_buffer_swap_cpu(rbt->buffer, other.buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, want, ring_buffer_swap_cpu(other.buffer, rbt->buffer, rbt->cpu));
	rbt_map(test, rbt);

	KUNIT_EXPECT_EQ(test, 2 * rbt->subbuf, other.subbuf);
	KUNIT_EXPECT_EQ(test, rbt_bytes(rbt, RBT_SUBBUFS),
			ring_buffer_size(rbt->buffer, rbt->cpu));
	KUNIT_EXPECT_EQ(test, rbt_bytes(&other, RBT_SUBBUFS),
			ring_buffer_size(other.buffer, rbt->cpu));
	/* Both buffers still record. */
	KUNIT_EXPECT_EQ(test, 5U, rbt_write_many(rbt, 5, 8));
	KUNIT_EXPECT_EQ(test, 5U, rbt_write_many(&other, 5, 8));
	rbt_expect_consume(test, rbt, 0, 15);
	rbt_expect_consume(test, &other, 1000, 1025);
	ring_buffer_free(other.buffer);
}

static void swap_cpu_refuses_a_writer_under_way(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	struct trace_buffer *other = rbt_alloc(test, rbt->kind, RBT_SUBBUFS);
	struct ring_buffer_event *event;

	rbt_unmap(rbt);
	event = ring_buffer_lock_reserve(rbt->buffer, 8);
	KUNIT_EXPECT_NOT_NULL(test, event);
	KUNIT_EXPECT_EQ(test, IS_ENABLED(CONFIG_RING_BUFFER_ALLOW_SWAP) ? -EBUSY : -ENODEV,
			ring_buffer_swap_cpu(rbt->buffer, other, rbt->cpu));
	if (event)
		rbt_end_write(rbt->buffer, event);
	rbt_map(test, rbt);
	ring_buffer_free(other);
}

/* Switching. */

static void record_disable_nests(struct kunit *test)
{
	struct rbt *rbt = test->priv;

	ring_buffer_record_disable(rbt->buffer);
	ring_buffer_record_disable(rbt->buffer);
	KUNIT_EXPECT_EQ(test, 0U, rbt_write_many(rbt, 1, 8));
	KUNIT_EXPECT_FALSE(test, ring_buffer_record_is_on(rbt->buffer));
	ring_buffer_record_enable(rbt->buffer);
	KUNIT_EXPECT_EQ(test, 0U, rbt_write_many(rbt, 1, 8));
	ring_buffer_record_enable(rbt->buffer);
	KUNIT_EXPECT_TRUE(test, ring_buffer_record_is_on(rbt->buffer));
	KUNIT_EXPECT_EQ(test, 1U, rbt_write_many(rbt, 1, 8));
}

static void record_disable_cpu_nests(struct kunit *test)
{
	struct rbt *rbt = test->priv;

	ring_buffer_record_disable_cpu(rbt->buffer, rbt->cpu);
	ring_buffer_record_disable_cpu(rbt->buffer, rbt->cpu);
	KUNIT_EXPECT_EQ(test, 0U, rbt_write_many(rbt, 1, 8));
	KUNIT_EXPECT_EQ(test, -EBUSY, ring_buffer_write(rbt->buffer, sizeof(*rbt), rbt));
	/* The buffer as a whole still records. */
	KUNIT_EXPECT_TRUE(test, ring_buffer_record_is_on(rbt->buffer));
	ring_buffer_record_enable_cpu(rbt->buffer, rbt->cpu);
	KUNIT_EXPECT_EQ(test, 0U, rbt_write_many(rbt, 1, 8));
	ring_buffer_record_enable_cpu(rbt->buffer, rbt->cpu);
	KUNIT_EXPECT_EQ(test, 1U, rbt_write_many(rbt, 1, 8));
}

static void record_disable_cpu_leaves_the_others(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned long elsewhere;
	int other = rbt_other_cpu(rbt);

	ring_buffer_record_disable_cpu(rbt->buffer, rbt->cpu);
	KUNIT_EXPECT_EQ(test, 0U, rbt_write_many(rbt, 1, 8));
	elsewhere = rbt_write_elsewhere(test, rbt);
	KUNIT_EXPECT_EQ(test, elsewhere, ring_buffer_entries(rbt->buffer));
	ring_buffer_record_enable_cpu(rbt->buffer, rbt->cpu);
	if (other < 0)
		return;

	ring_buffer_record_disable_cpu(rbt->buffer, other);
	KUNIT_EXPECT_EQ(test, 0, smp_call_on_cpu(other, rbt_write_here, rbt, false));
	KUNIT_EXPECT_EQ(test, elsewhere, rbt_entries_elsewhere(rbt));
	KUNIT_EXPECT_EQ(test, 1U, rbt_write_many(rbt, 1, 8));
	ring_buffer_record_enable_cpu(rbt->buffer, other);
}

/* HOLD-10: It is a switch, not a count, and independent of the count. */
static void record_off_is_one_switch(struct kunit *test)
{
	struct rbt *rbt = test->priv;

	ring_buffer_record_off(rbt->buffer);
	ring_buffer_record_off(rbt->buffer);
	KUNIT_EXPECT_FALSE(test, ring_buffer_record_is_set_on(rbt->buffer));
	KUNIT_EXPECT_EQ(test, 0U, rbt_write_many(rbt, 1, 8));
	ring_buffer_record_disable(rbt->buffer);
	ring_buffer_record_on(rbt->buffer);
	KUNIT_EXPECT_TRUE(test, ring_buffer_record_is_set_on(rbt->buffer));
	KUNIT_EXPECT_FALSE(test, ring_buffer_record_is_on(rbt->buffer));
	KUNIT_EXPECT_EQ(test, 0U, rbt_write_many(rbt, 1, 8));
	ring_buffer_record_enable(rbt->buffer);
	KUNIT_EXPECT_EQ(test, 1U, rbt_write_many(rbt, 1, 8));
}

/* HOLD-10: The switch of the top level. Anyone may turn it on again. */
static void tracing_on_is_one_switch(struct kunit *test)
{
	bool was_on = tracing_is_on();

	tracing_off();
	tracing_off();
	KUNIT_EXPECT_FALSE(test, tracing_is_on());
	tracing_on();
	KUNIT_EXPECT_TRUE(test, tracing_is_on());
	tracing_on();
	tracing_off();
	KUNIT_EXPECT_FALSE(test, tracing_is_on());
	if (was_on)
		tracing_on();
}

/* Mapping. */

/* MAP-21 */
static void map_counts(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	int more;

	KUNIT_EXPECT_EQ(test, rbt->kind->mapped, rbt_mapped(rbt));
	for (more = 0; more < 3; more++)
		KUNIT_ASSERT_EQ(test, 0, rbt_map_once(rbt));
	ring_buffer_map_dup(rbt->buffer, rbt->cpu);
	for (more = 0; more < 4; more++) {
		KUNIT_EXPECT_TRUE(test, rbt_mapped(rbt));
		rbt_unmap_once(rbt);
	}
	KUNIT_EXPECT_EQ(test, rbt->kind->mapped, rbt_mapped(rbt));
}

/* MAP-2 */
static void map_shows_meta_page_and_subbufs(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	const struct trace_buffer_meta *meta;
	unsigned long pages, i;

	KUNIT_ASSERT_EQ(test, 0, rbt_map_once(rbt));
	pages = rbt_map_size(rbt);
	meta = rbt_meta(test, rbt);
	KUNIT_EXPECT_EQ(test, rbt->subbuf, meta->subbuf_size);
	KUNIT_EXPECT_EQ(test, rbt->subbuf, meta->meta_page_size);
	KUNIT_EXPECT_EQ(test, (u32)sizeof(*meta), meta->meta_struct_len);
	KUNIT_EXPECT_EQ(test, RBT_SUBBUFS + 1U, meta->nr_subbufs);
	KUNIT_EXPECT_EQ(test, (RBT_SUBBUFS + 2UL) * rbt->subbuf, pages << PAGE_SHIFT);
	for (i = 0; i < pages; i++)
		KUNIT_EXPECT_NOT_NULL(test, rbt_map_page(rbt, i));
	KUNIT_EXPECT_NULL(test, rbt_map_page(rbt, pages));
	KUNIT_EXPECT_NULL(test, rbt_map_page(rbt, ULONG_MAX));
	rbt_unmap_once(rbt);
}

/* READ-9 */
static void get_reader_needs_a_mapping(struct kunit *test)
{
	struct rbt *rbt = test->priv;

	KUNIT_EXPECT_EQ(test, rbt->kind->mapped ? 0 : -ENODEV,
			ring_buffer_map_get_reader(rbt->buffer, rbt->cpu));
}

/* LOSS-2: Over any run, seen + lost = written, and the meta page says the same. */
static void get_reader_accounts_for_every_event(struct kunit *test)
{
	struct rbt *rbt = test->priv;
	unsigned int nr = 3 * RBT_SUBBUFS * rbt_per_subbuf(rbt, 100) / 2;
	const struct trace_buffer_meta *meta;
	unsigned int written, calls = 0;
	u64 lost = 0;
	u32 id;

	KUNIT_ASSERT_EQ(test, 0, rbt_map_once(rbt));
	meta = rbt_meta(test, rbt);
	id = meta->reader.id;
	written = rbt_write_many(rbt, nr, 100);
	do {
		KUNIT_ASSERT_EQ(test, 0, ring_buffer_map_get_reader(rbt->buffer, rbt->cpu));
		if (meta->reader.id != id)
			lost += meta->reader.lost_events;
		id = meta->reader.id;
		KUNIT_ASSERT_LT(test, id, meta->nr_subbufs);
		KUNIT_ASSERT_LE(test, meta->reader.read, rbt->subbuf - (u32)RBT_HEADER);
	} while (!ring_buffer_empty_cpu(rbt->buffer, rbt->cpu) && calls++ < nr);

	KUNIT_EXPECT_EQ(test, (u64)written, meta->entries);
	KUNIT_EXPECT_EQ(test, lost, meta->overrun);
	KUNIT_EXPECT_EQ(test, meta->entries, meta->overrun + meta->read);
	KUNIT_EXPECT_EQ(test, nr, written +
			(u32)ring_buffer_dropped_events_cpu(rbt->buffer, rbt->cpu));
	rbt_expect_empty(test, rbt);
	rbt_unmap_once(rbt);
}

static struct kunit_case rbt_cases[] = {
	KUNIT_CASE_PARAM(alloc_gives_an_empty_buffer, rbt_gen_kind),
	KUNIT_CASE_PARAM(size_is_what_was_asked_for, rbt_gen_kind),
	KUNIT_CASE_PARAM(a_cpu_there_is_not_has_nothing, rbt_gen_kind),
	KUNIT_CASE_PARAM(resize_is_refused_while_mapped, rbt_gen_kind),
	KUNIT_CASE_PARAM(resize_works_after_the_last_unmap, rbt_gen_kind),
	KUNIT_CASE_PARAM(growing_keeps_the_events, rbt_gen_kind),
	KUNIT_CASE_PARAM(growing_a_full_buffer_keeps_the_events, rbt_gen_kind),
	KUNIT_CASE_PARAM(shrinking_a_full_buffer_keeps_the_newest, rbt_gen_kind),
	KUNIT_CASE_PARAM(shrinking_an_overfull_buffer_keeps_the_newest, rbt_gen_kind),
	KUNIT_CASE_PARAM(shrinking_leaves_the_full_subbufs_that_there_are, rbt_gen_kind),
	KUNIT_CASE_PARAM(resize_of_a_cpu_leaves_the_others, rbt_gen_kind),
	KUNIT_CASE_PARAM(subbuf_order_is_refused_while_mapped, rbt_gen_kind),
	KUNIT_CASE_PARAM(subbuf_order_discards_the_events, rbt_gen_kind),
	KUNIT_CASE_PARAM(reset_empties_every_cpu, rbt_gen_kind),
	KUNIT_CASE_PARAM(reset_online_cpus_empties_them, rbt_gen_kind),
	KUNIT_CASE_PARAM(reset_cpu_empties_that_cpu, rbt_gen_kind),
	KUNIT_CASE_PARAM(swap_cpu_exchanges_the_buffers, rbt_gen_kind),
	KUNIT_CASE_PARAM(swap_cpu_refuses_what_does_not_fit, rbt_gen_kind),
	KUNIT_CASE_PARAM(swap_cpu_refuses_subbufs_of_another_size, rbt_gen_kind),
	KUNIT_CASE_PARAM(swap_cpu_refuses_a_writer_under_way, rbt_gen_kind),
	KUNIT_CASE_PARAM(record_disable_nests, rbt_gen_kind),
	KUNIT_CASE_PARAM(record_disable_cpu_nests, rbt_gen_kind),
	KUNIT_CASE_PARAM(record_disable_cpu_leaves_the_others, rbt_gen_kind),
	KUNIT_CASE_PARAM(record_off_is_one_switch, rbt_gen_kind),
	KUNIT_CASE_PARAM(tracing_on_is_one_switch, rbt_gen_kind),
	KUNIT_CASE_PARAM(map_counts, rbt_gen_kind),
	KUNIT_CASE_PARAM(map_shows_meta_page_and_subbufs, rbt_gen_kind),
	KUNIT_CASE_PARAM(get_reader_needs_a_mapping, rbt_gen_kind),
	KUNIT_CASE_PARAM(get_reader_accounts_for_every_event, rbt_gen_kind),
	{ }
};

static struct kunit_suite rbt_suite = {
	.name = "ring_buffer",
	.init = rbt_init,
	.exit = rbt_exit,
	.test_cases = rbt_cases,
};

kunit_test_suite(rbt_suite);

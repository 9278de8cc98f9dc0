/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the KUnit tests of the ring buffer call and expect, where versions of Linux
 * differ.
 *
 * This file is included in ring_buffer_kunit.h.
 */
#ifndef _KERNEL_TRACE_RING_BUFFER_KUNIT_BASE_H
#define _KERNEL_TRACE_RING_BUFFER_KUNIT_BASE_H

/* Whether a mapping is put into an address space, which takes memory of its own */
#define RBT_MAPS_INTO_MM	false

/* Whether the swap of a mapped buffer is refused; if not, no caller may try */
#define RBT_SWAP_LOOKS		true

/* Whether the end of the last mapping ends a wait, whatever its condition says */
#define RBT_UNMAP_ENDS_WAIT	true

/* Whether events are copied to a page whose size is not that of the sub-buffers */
#define RBT_COPIES_TO_ANY_SIZE	false

/* The errors for a CPU that does not exist */
#define RBT_NO_CPU_READER	(-ENODEV)
#define RBT_NO_CPU_WAIT		(-EINVAL)

/*
 * How many allocations each call cannot do without. @large is 1 if the allocation of a
 * sub-buffer may fail, 0 if it is a single page, which does not fail.
 */
static inline unsigned int rbt_map_needs(unsigned int large)
{
	return 1 + large;
}

static inline unsigned int rbt_iterator_needs(unsigned int large)
{
	return 2 - large;
}

static inline unsigned int rbt_read_page_needs(unsigned int large)
{
	return large;
}

/* To change the size of @subbufs sub-buffers, which take two allocations each */
static inline unsigned int rbt_orders_need(unsigned int subbufs)
{
	return 2 * (1 + 2 * subbufs);
}

/* Mappings. */

static inline int rbt_mm_init(struct rbt *rbt)
{
	return 0;
}

static inline void rbt_mm_exit(struct rbt *rbt)
{
}

static inline int rbt_map_once(struct rbt *rbt)
{
	return ring_buffer_map(rbt->buffer, rbt->cpu);
}

static inline void rbt_unmap_once(struct rbt *rbt)
{
	ring_buffer_unmap(rbt->buffer, rbt->cpu);
}

static inline int rbt_map_no_cpu(struct rbt *rbt, int none)
{
	return ring_buffer_map(rbt->buffer, none);
}

static inline bool rbt_mapped(struct rbt *rbt)
{
	return ring_buffer_mapped(rbt->buffer, rbt->cpu);
}

/* Return the pages of a whole mapping. */
static inline unsigned long rbt_map_size(struct rbt *rbt)
{
	unsigned int order;

	return ring_buffer_map_size(rbt->buffer, rbt->cpu, &order);
}

static inline struct page *rbt_map_page(struct rbt *rbt, unsigned long pgoff)
{
	return ring_buffer_map_page(rbt->buffer, rbt->cpu, pgoff);
}

/* Wait as GET_READER does. */
static inline int rbt_map_wait(struct rbt *rbt, int cpu, int full, ring_buffer_cond_fn cond)
{
	return ring_buffer_map_wait(rbt->buffer, cpu, full, cond, NULL);
}

/* Size. */

static inline unsigned long rbt_nr_subbufs(struct trace_buffer *buffer, int cpu)
{
	return ring_buffer_nr_pages(buffer, cpu);
}

static inline int rbt_set_orders(struct trace_buffer *buffer, struct trace_buffer *other,
				 int order)
{
	return ring_buffer_subbuf_order_set_both(buffer, other, order);
}

/* Writing and reading. */

static inline int rbt_end_write(struct trace_buffer *buffer, struct ring_buffer_event *event)
{
	return ring_buffer_unlock_commit(buffer, event);
}

/* Return a page to read into, or an error. */
static inline void *rbt_alloc_read_page(struct rbt *rbt)
{
	return ring_buffer_alloc_read_page(rbt->buffer, rbt->cpu);
}

static inline void *rbt_read_page_data(void *page)
{
	return page;
}

static inline int rbt_fill_read_page(struct rbt *rbt, void **page, size_t len, int full)
{
	return ring_buffer_read_page(rbt->buffer, page, len, rbt->cpu, full);
}

#endif /* _KERNEL_TRACE_RING_BUFFER_KUNIT_BASE_H */

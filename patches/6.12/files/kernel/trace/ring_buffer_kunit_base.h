/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the KUnit tests of the ring buffer call and expect, where versions of Linux
 * differ.
 *
 * This file is included in ring_buffer_kunit.h.
 */
#ifndef _KERNEL_TRACE_RING_BUFFER_KUNIT_BASE_H
#define _KERNEL_TRACE_RING_BUFFER_KUNIT_BASE_H

#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>

/*
 * What the tests expect differently here. They leave out three things that only Linux 6.1
 * has: further mappings that allocate nothing, the refused swap of a mapped buffer, and a
 * wait in the ring buffer that ends with the last mapping.
 */

/* Whether a mapping is put into an address space, which takes memory of its own */
#define RBT_MAPS_INTO_MM	true

/* Whether the swap of a mapped buffer is refused; if not, no caller may try */
#define RBT_SWAP_LOOKS		false

/* Whether the end of the last mapping ends a wait, whatever its condition says */
#define RBT_UNMAP_ENDS_WAIT	false

/* Whether events are copied to a page whose size is not that of the sub-buffers */
#define RBT_COPIES_TO_ANY_SIZE	true

/* The errors for a CPU that does not exist */
#define RBT_NO_CPU_READER	(-EINVAL)
#define RBT_NO_CPU_WAIT		(-ENODEV)

/*
 * How many allocations each call cannot do without. @large is 1 if the allocation of a
 * sub-buffer may fail, 0 if it is a single page, which does not fail.
 */
static inline unsigned int rbt_map_needs(unsigned int large)
{
	return 2;	/* and what the address space needs */
}

static inline unsigned int rbt_iterator_needs(unsigned int large)
{
	return 2;
}

static inline unsigned int rbt_read_page_needs(unsigned int large)
{
	return 1 + large;
}

/* To change the size of @subbufs sub-buffers of two buffers: two allocations each */
static inline unsigned int rbt_orders_need(unsigned int subbufs)
{
	return 2 * 2 * subbufs;
}

/*
 * Mappings: a test has an address space in which no task runs. Each of its mappings
 * has a range of this size there, which is more than any buffer takes.
 */
#define RBT_MM_PLACE	(16UL << 20)

static inline unsigned long rbt_mm_place(unsigned int nr)
{
	return (nr + 1) * RBT_MM_PLACE;
}

static inline int rbt_mm_init(struct rbt *rbt)
{
	rbt->mm = mm_alloc();
	return rbt->mm ? 0 : -ENOMEM;
}

static inline void rbt_mm_exit(struct rbt *rbt)
{
	if (rbt->mm)
		mmput(rbt->mm);
}

static inline unsigned long rbt_nr_subbufs(struct trace_buffer *buffer, int cpu)
{
	return ring_buffer_size(buffer, cpu) / (ring_buffer_subbuf_size_get(buffer) - RBT_HEADER);
}

/* Return the pages of a whole mapping, in which the meta page is as large as a sub-buffer. */
static inline unsigned long rbt_map_size(struct rbt *rbt)
{
	unsigned long subbufs = rbt_nr_subbufs(rbt->buffer, rbt->cpu) + 2;

	return subbufs << ring_buffer_subbuf_order_get(rbt->buffer);
}

static inline int rbt_map_at(struct rbt *rbt, unsigned long start)
{
	static struct page *no_more_pages[1];
	static const struct vm_special_mapping special = {
		.name	= "[ring_buffer_kunit]",
		.pages	= no_more_pages,
	};
	struct vm_area_struct *vma;

	vma = _install_special_mapping(rbt->mm, start, rbt_map_size(rbt) << PAGE_SHIFT,
				       VM_READ | VM_MAYREAD | VM_SHARED | VM_MAYSHARE, &special);
	if (IS_ERR(vma))
		return PTR_ERR(vma);

	return ring_buffer_map(rbt->buffer, rbt->cpu, vma);
}

static inline void rbt_unmap_at(struct rbt *rbt, unsigned long start)
{
	kthread_use_mm(rbt->mm);
	vm_munmap(start, RBT_MM_PLACE);
	kthread_unuse_mm(rbt->mm);
}

static inline int rbt_map_once(struct rbt *rbt)
{
	unsigned long start = rbt_mm_place(rbt->maps);
	int ret;

	mmap_write_lock(rbt->mm);
	ret = rbt_map_at(rbt, start);
	mmap_write_unlock(rbt->mm);
	if (ret)
		rbt_unmap_at(rbt, start);
	else
		rbt->maps++;

	return ret;
}

/* A mapping that was copied by ring_buffer_map_dup() is in no address space. */
static inline void rbt_unmap_once(struct rbt *rbt)
{
	if (rbt->maps)
		rbt_unmap_at(rbt, rbt_mm_place(--rbt->maps));
	ring_buffer_unmap(rbt->buffer, rbt->cpu);
}

static inline int rbt_map_no_cpu(struct rbt *rbt, int none)
{
	return ring_buffer_map(rbt->buffer, none, NULL);
}

static inline bool rbt_mapped(struct rbt *rbt)
{
	return ring_buffer_is_mapped(rbt->buffer, rbt->cpu);
}

/* Return the page that a program finds at @pgoff, or NULL. The mapping keeps the page. */
static inline struct page *rbt_map_page(struct rbt *rbt, unsigned long pgoff)
{
	unsigned long at = rbt_mm_place(rbt->maps - 1) + (pgoff << PAGE_SHIFT);
	struct page *page;
	long got;

	mmap_read_lock(rbt->mm);
	got = get_user_pages_remote(rbt->mm, at, 1, 0, &page, NULL);
	mmap_read_unlock(rbt->mm);
	if (got != 1)
		return NULL;
	put_page(page);

	return page;
}

/* Wait as GET_READER does. */
static inline int rbt_map_wait(struct rbt *rbt, int cpu, int full, ring_buffer_cond_fn cond)
{
	return ring_buffer_wait(rbt->buffer, cpu, full, cond, NULL);
}

static inline int rbt_set_orders(struct trace_buffer *buffer, struct trace_buffer *other,
				 int order)
{
	return ring_buffer_subbuf_order_set_both(buffer, other, order);
}

/* Writing and reading. */

static inline int rbt_end_write(struct trace_buffer *buffer, struct ring_buffer_event *event)
{
	return ring_buffer_unlock_commit(buffer);
}

/* Return a page to read into, or an error. */
static inline void *rbt_alloc_read_page(struct rbt *rbt)
{
	struct buffer_data_read_page *page = NULL;
	int ret = ring_buffer_alloc_read_page(rbt->buffer, rbt->cpu, &page);

	return ret ? ERR_PTR(ret) : page;
}

static inline void *rbt_read_page_data(void *page)
{
	return ring_buffer_read_page_data(page);
}

static inline int rbt_fill_read_page(struct rbt *rbt, void **page, size_t len, int full)
{
	return ring_buffer_read_page(rbt->buffer, *page, len, rbt->cpu, full);
}

#endif /* _KERNEL_TRACE_RING_BUFFER_KUNIT_BASE_H */

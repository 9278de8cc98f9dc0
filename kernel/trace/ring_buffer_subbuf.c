// SPDX-License-Identifier: GPL-2.0
/*
 * Change the size of the sub-buffers of a ring buffer.
 *
 * This file is included at the end of ring_buffer.c.
 *
 * A change replaces every page of a buffer, and may do so for two buffers at
 * once: a trace and its snapshot swap pages, so they need the same size. All
 * memory is allocated before anything is touched, but for the live index, without which
 * the buffer can do. A change has to get along with:
 *
 *  resize, reset,	take buffer->mutex, which a change holds throughout.
 *  another change
 *
 *  CPU hotplug		adds CPUs to the buffer. cpus_read_lock() holds it off.
 *
 *  swap_cpu		runs with interrupts disabled and gives up if
 *			buffer->resizing is set. One grace period after that
 *			was set, the CPU buffers stay where they are.
 *
 *  iterators		remember pages between two reads. They hold
 *			resize_disabled, so a change is refused while there is
 *			an iterator. A change makes resize_disabled negative, so
 *			that no iterator can start.
 *
 *  writers		have preemption off from reserve to commit.
 *			record_disabled keeps new writers out, and the others
 *			are done once a work item has run on their CPU. A grace
 *			period does not guarantee that, because functions are
 *			also traced where RCU is not watching.
 *
 *  consuming readers	hold reader_lock while they look at pages. The CPU
 *			buffers are emptied before the size changes, and get
 *			their new pages afterwards: as long as size and pages
 *			do not match, there is nothing to read. But a reader
 *			goes on using an event that it has found after it has
 *			dropped reader_lock. Callers of
 *			ring_buffer_subbuf_order_set() keep out readers that can
 *			be preempted while they do so. For the others, such as
 *			ftrace_dump(), the old pages are freed only after
 *			another grace period.
 *
 *  read pages		know their size. Pages of the old size are no longer
 *			cached or swapped with the ring.
 */

#include <linux/sizes.h>

/* The write index cannot overflow in sub-buffers up to this size, see RB_WRITE_MASK */
#define RB_SUBBUF_PAGES_MAX	128
#define RB_SUBBUF_SIZE_MAX	SZ_1M

/* Pages of a CPU that are not in its ring: the new ones, and the old ones after the exchange */
struct rb_subbuf_pages {
	struct list_head	list;
	unsigned long		nr_pages;
	struct buffer_data_page	*free_page;
};

struct rb_subbuf_change {
	struct trace_buffer	*buffer;
	unsigned int		order;
	struct rb_subbuf_pages	*pages;		/* of each CPU */
};

static bool rb_subbuf_order_valid(int order)
{
	if (order < 0 || order >= MAX_ORDER)
		return false;

	return (1 << order) <= RB_SUBBUF_PAGES_MAX &&
	       (PAGE_SIZE << order) <= RB_SUBBUF_SIZE_MAX;
}

/* Return how many sub-buffers of @order take about as much memory as @cpu_buffer has now */
static unsigned long
rb_subbuf_nr_pages(struct ring_buffer_per_cpu *cpu_buffer, unsigned int order)
{
	unsigned long nr = cpu_buffer->nr_pages << cpu_buffer->buffer->subbuf_order;

	return max(DIV_ROUND_UP(nr, 1UL << order), 2UL);
}

static void rb_subbuf_free(struct rb_subbuf_change *change)
{
	struct buffer_page *bpage, *tmp;
	int cpu;

	if (!change->pages)
		return;

	for_each_buffer_cpu(change->buffer, cpu) {
		struct rb_subbuf_pages *pages = &change->pages[cpu];

		list_for_each_entry_safe(bpage, tmp, &pages->list, list) {
			list_del_init(&bpage->list);
			free_buffer_page(bpage);
		}
		rb_free_data_page(pages->free_page);
		cond_resched();
	}

	kfree(change->pages);
}

static int rb_subbuf_alloc(struct rb_subbuf_change *change)
{
	struct trace_buffer *buffer = change->buffer;
	int cpu;

	change->pages = kcalloc(nr_cpu_ids, sizeof(*change->pages), GFP_KERNEL);
	if (!change->pages)
		return -ENOMEM;

	for_each_buffer_cpu(buffer, cpu)
		INIT_LIST_HEAD(&change->pages[cpu].list);

	for_each_buffer_cpu(buffer, cpu) {
		struct ring_buffer_per_cpu *cpu_buffer = buffer->buffers[cpu];
		struct rb_subbuf_pages *pages = &change->pages[cpu];

		pages->nr_pages = rb_subbuf_nr_pages(cpu_buffer, change->order);

		/* One more for the reader page */
		if (__rb_allocate_pages(cpu_buffer, pages->nr_pages + 1,
					change->order, &pages->list))
			return -ENOMEM;

		cond_resched();
	}

	return 0;
}

static void rb_subbuf_unclaim(struct trace_buffer *buffer)
{
	int cpu;

	for_each_buffer_cpu(buffer, cpu)
		atomic_cmpxchg(&buffer->buffers[cpu]->resize_disabled, -1, 0);
}

/* Refuse if the pages of @buffer are in use, and keep new users away */
static int rb_subbuf_claim(struct trace_buffer *buffer)
{
	int cpu;

	for_each_buffer_cpu(buffer, cpu) {
		struct ring_buffer_per_cpu *cpu_buffer = buffer->buffers[cpu];

		if (rb_pages_in_use(cpu_buffer) ||
		    atomic_cmpxchg(&cpu_buffer->resize_disabled, 0, -1)) {
			rb_subbuf_unclaim(buffer);
			return -EBUSY;
		}
	}

	return 0;
}

/* Return whether no writer is in the middle of an event. record_disabled keeps new ones out. */
static bool rb_subbuf_writers_gone(struct trace_buffer *buffer)
{
	int cpu;

	for_each_buffer_cpu(buffer, cpu) {
		if (local_read(&buffer->buffers[cpu]->committing))
			return false;
	}

	return true;
}

static void rb_subbuf_empty(struct trace_buffer *buffer)
{
	int cpu;

	for_each_buffer_cpu(buffer, cpu)
		reset_disabled_cpu_buffer(buffer->buffers[cpu]);
}

/* Exchange the pages of @cpu_buffer, which is empty, with those in @pages */
static void rb_subbuf_exchange(struct ring_buffer_per_cpu *cpu_buffer,
			       struct rb_subbuf_pages *pages)
{
	struct buffer_page *reader;
	unsigned long flags;
	LIST_HEAD(old);

	raw_spin_lock_irqsave(&cpu_buffer->reader_lock, flags);
	arch_spin_lock(&cpu_buffer->lock);

	/* Turn the ring into a list: it has no list head, and has flags in its pointers */
	rb_head_page_deactivate(cpu_buffer);
	list_add_tail(&old, cpu_buffer->pages);
	list_add(&cpu_buffer->reader_page->list, &old);

	reader = list_first_entry(&pages->list, struct buffer_page, list);
	list_del_init(&reader->list);
	cpu_buffer->reader_page = reader;
	cpu_buffer->pages = pages->list.next;
	list_del_init(&pages->list);

	swap(cpu_buffer->nr_pages, pages->nr_pages);
	swap(cpu_buffer->free_page, pages->free_page);
	list_splice(&old, &pages->list);

	rb_reset_cpu(cpu_buffer);

	arch_spin_unlock(&cpu_buffer->lock);
	raw_spin_unlock_irqrestore(&cpu_buffer->reader_lock, flags);
}

static void rb_subbuf_apply(struct rb_subbuf_change *change)
{
	struct trace_buffer *buffer = change->buffer;
	int cpu;

	rb_subbuf_empty(buffer);

	rb_set_subbuf_order(buffer, change->order);

	for_each_buffer_cpu(buffer, cpu) {
		rb_subbuf_exchange(buffer->buffers[cpu], &change->pages[cpu]);
		rb_live_renew(buffer->buffers[cpu]);
	}
}

/* Allocate everything up front; change nothing that readers or writers can see */
static int rb_subbuf_prepare(struct rb_subbuf_change *change, int nr)
{
	int i, ret = 0;

	for (i = 0; !ret && i < nr; i++)
		ret = rb_subbuf_claim(change[i].buffer);

	for (i = 0; !ret && i < nr; i++)
		ret = rb_subbuf_alloc(&change[i]);

	return ret;
}

static long rb_subbuf_nothing(void *unused)
{
	return 0;
}

/* Wait until the current writers are done. Later writers see all stores made before this. */
static void rb_subbuf_wait_for_writers(void)
{
	int cpu;

	lockdep_assert_cpus_held();

	for_each_online_cpu(cpu)
		work_on_cpu(cpu, rb_subbuf_nothing, NULL);
}

static int rb_subbuf_replace(struct rb_subbuf_change *change, int nr)
{
	int i, ret = 0;

	for (i = 0; i < nr; i++)
		atomic_inc(&change[i].buffer->record_disabled);

	/* Make sure all commits have finished */
	rb_subbuf_wait_for_writers();

	for (i = 0; i < nr; i++) {
		if (!rb_subbuf_writers_gone(change[i].buffer))
			ret = -EBUSY;
	}

	for (i = 0; !ret && i < nr; i++)
		rb_subbuf_apply(&change[i]);

	/*
	 * A writer that finds record_disabled to be 0 below has begun after this
	 * wait, so it sees the new pages without a barrier.
	 */
	rb_subbuf_wait_for_writers();

	/* ftrace_dump() may still be using an event on the old pages */
	synchronize_rcu();

	for (i = 0; i < nr; i++)
		atomic_dec(&change[i].buffer->record_disabled);

	return ret;
}

static int rb_subbuf_change(struct rb_subbuf_change *change, int nr)
{
	int i, ret;

	for (i = 0; i < nr; i++)
		atomic_inc(&change[i].buffer->resizing);

	/* Wait for each ring_buffer_swap_cpu() that has not seen ->resizing */
	synchronize_rcu();

	ret = rb_subbuf_prepare(change, nr);
	if (!ret)
		ret = rb_subbuf_replace(change, nr);

	for (i = 0; i < nr; i++) {
		rb_subbuf_unclaim(change[i].buffer);
		atomic_dec(&change[i].buffer->resizing);
		rb_subbuf_free(&change[i]);
	}

	return ret;
}

/* Lock the mutexes in the order of their addresses, because the two buffers may swap roles */
static void rb_subbuf_lock(struct trace_buffer *a, struct trace_buffer *b)
{
	cpus_read_lock();
	mutex_lock(b && b < a ? &b->mutex : &a->mutex);
	if (b)
		mutex_lock_nested(b < a ? &a->mutex : &b->mutex,
				  SINGLE_DEPTH_NESTING);
}

static void rb_subbuf_unlock(struct trace_buffer *a, struct trace_buffer *b)
{
	if (b)
		mutex_unlock(&b->mutex);
	mutex_unlock(&a->mutex);
	cpus_read_unlock();
}

/**
 * ring_buffer_subbuf_order_set_both - set the sub-buffer size of two buffers
 * @buffer: The ring buffer
 * @snapshot: The ring buffer that @buffer swaps pages with, or NULL
 * @order: A sub-buffer will have 2^@order pages
 *
 * If either buffer has another order, all events of both are discarded and all
 * counters restart. The memory used stays about the same, but each CPU gets at
 * least two sub-buffers plus the reader's. If the order cannot be changed for
 * both, both stay as they were.
 *
 * The caller keeps out readers that use, in preemptible context, events that
 * ring_buffer_peek(), ring_buffer_consume() and the like have returned.
 *
 * Context: Sleeps, also for grace periods. Takes cpus_read_lock() and the mutexes
 * of both buffers.
 *
 * Return: 0, or
 *   -EINVAL	there is no such size
 *   -ENOMEM	no memory for the new sub-buffers
 *   -EBUSY	an iterator, a mapping or a writer uses the pages
 */
int ring_buffer_subbuf_order_set_both(struct trace_buffer *buffer,
				      struct trace_buffer *snapshot, int order)
{
	struct rb_subbuf_change change[] = {
		{ .buffer = buffer, .order = order },
		{ .buffer = snapshot, .order = order },
	};
	int ret = 0;

	if (!rb_subbuf_order_valid(order))
		return -EINVAL;

	rb_subbuf_lock(buffer, snapshot);

	if (buffer->subbuf_order != order ||
	    (snapshot && snapshot->subbuf_order != order))
		ret = rb_subbuf_change(change, snapshot ? 2 : 1);

	rb_subbuf_unlock(buffer, snapshot);

	return ret;
}

/**
 * ring_buffer_subbuf_order_set - set the sub-buffer size of a ring buffer
 * @buffer: The ring buffer
 * @order: A sub-buffer will have 2^@order pages
 *
 * Context: as ring_buffer_subbuf_order_set_both().
 *
 * Return: as ring_buffer_subbuf_order_set_both().
 */
int ring_buffer_subbuf_order_set(struct trace_buffer *buffer, int order)
{
	return ring_buffer_subbuf_order_set_both(buffer, NULL, order);
}

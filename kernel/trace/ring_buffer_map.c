// SPDX-License-Identifier: GPL-2.0
/*
 * Ring buffer mapping: what user space needs to read a CPU's buffer in place.
 *
 * This file is included in ring_buffer.c. It handles memory only: which pages
 * a mapping consists of, how many mappings there are, and what is in the meta
 * page. trace_mmap.c puts the pages into an address space.
 *
 * ->user_mapped counts the mappings of a CPU's buffer. The first mapping allocates
 * the meta area, numbers the sub-buffers and lists them by number (their id) in
 * ->subbufs; the end of the last mapping frees the meta area and the list. ->mapped
 * counts all the mappings as one, and whoever else needs the sub-buffers as they
 * are. While it is not 0, they keep their memory and their ids: a resize is
 * refused, and a reader copies a sub-buffer that it would otherwise exchange for
 * another page.
 *
 * Locks, outermost first:
 *
 *   mmap_lock			the callers that map, duplicate and unmap hold it
 *   cpu_buffer->mapping_lock	protects ->user_mapped, and lets one caller at a time
 *				make the first mapping
 *   buffer->mutex		excludes resizes while the first mapping is made
 *   cpu_buffer->reader_lock	held by readers of the ring buffer, which write
 *				the meta page under it. It must be held to set or
 *				clear ->subbufs and ->meta_page, and to change
 *				->mapped
 *
 * The writer does not know about mappings, and waits for nothing here.
 *
 * The sub-buffers themselves are not protected: user space sees the writer at
 * work in the reader sub-buffer, and sees sub-buffers in the ring being
 * overwritten. Only the bytes that TRACE_MMAP_IOCTL_GET_READER has handed out
 * stay as they are, until a reader moves on to another sub-buffer.
 */

#include <linux/cacheflush.h>
#include <uapi/linux/trace_mmap.h>

/* User space has a copy of this layout: it must never change */
static_assert(offsetof(struct trace_buffer_meta, subbuf_size) == 8);
static_assert(offsetof(struct trace_buffer_meta, reader.lost_events) == 16);
static_assert(offsetof(struct trace_buffer_meta, reader.id) == 24);
static_assert(offsetof(struct trace_buffer_meta, reader.read) == 28);
static_assert(offsetof(struct trace_buffer_meta, flags) == 32);
static_assert(offsetof(struct trace_buffer_meta, entries) == 40);
static_assert(offsetof(struct trace_buffer_meta, overrun) == 48);
static_assert(offsetof(struct trace_buffer_meta, read) == 56);
static_assert(offsetof(struct trace_buffer_meta, pages_lost) == 64);
static_assert(offsetof(struct trace_buffer_meta, pages_touched) == 72);
static_assert(sizeof(struct trace_buffer_meta) == 80);

static void rb_mapping_init(struct ring_buffer_per_cpu *cpu_buffer)
{
	mutex_init(&cpu_buffer->mapping_lock);
}

/* Without this, user space would see stale lines of @addr where data caches alias. */
static void rb_flush_to_user(void *addr, unsigned int order)
{
	struct page *page = virt_to_page(addr);
	unsigned int i;

	if (!ARCH_IMPLEMENTS_FLUSH_DCACHE_PAGE)
		return;

	for (i = 0; i < 1U << order; i++)
		flush_dcache_page(page + i);
}

/* Every function that reads or resets calls this at its end. */
static void rb_update_meta_page(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct trace_buffer_meta *meta = cpu_buffer->meta_page;
	struct buffer_page *reader = cpu_buffer->reader_page;

	lockdep_assert_held(&cpu_buffer->reader_lock);

	rb_live_reader_moved(cpu_buffer);

	/* It is not mapped, or by observers alone */
	if (!meta)
		return;

	WRITE_ONCE(meta->reader.lost_events, cpu_buffer->reader_lost);
	WRITE_ONCE(meta->reader.id, reader->id);
	WRITE_ONCE(meta->reader.read, reader->read);

	/* Load these in this order, so that overrun + read never exceeds entries */
	WRITE_ONCE(meta->overrun, local_read(&cpu_buffer->overrun));
	WRITE_ONCE(meta->read, cpu_buffer->read);
	WRITE_ONCE(meta->entries, local_read(&cpu_buffer->entries));

	WRITE_ONCE(meta->pages_lost, local_read(&cpu_buffer->pages_lost));
	WRITE_ONCE(meta->pages_touched, local_read(&cpu_buffer->pages_touched));

	rb_flush_to_user(meta, 0);
}

/* A new reader page was just taken out of the ring. */
static void rb_new_reader_page(struct ring_buffer_per_cpu *cpu_buffer)
{
	cpu_buffer->reader_lost = cpu_buffer->lost_events;
	cpu_buffer->reader_first = cpu_buffer->read;
}

/* The memory of the reader page was handed out and replaced by an empty page. */
static void rb_reader_page_given_away(struct ring_buffer_per_cpu *cpu_buffer)
{
	cpu_buffer->reader_lost = 0;
	cpu_buffer->reader_first = cpu_buffer->read;
}

static void rb_mapping_reset(struct ring_buffer_per_cpu *cpu_buffer)
{
	cpu_buffer->reader_lost = 0;
	cpu_buffer->reader_first = 0;
	rb_update_meta_page(cpu_buffer);
}

/* Consume one event of a sub-buffer that is still being written. */
static bool rb_consume_event(struct ring_buffer_per_cpu *cpu_buffer,
			     struct buffer_page *reader, unsigned int commit)
{
	struct ring_buffer_event *event = rb_reader_event(cpu_buffer);
	unsigned int length = rb_event_length(event);

	if (RB_WARN_ON(cpu_buffer, length > commit - reader->read))
		return false;

	if (event->type_len <= RINGBUF_TYPE_DATA_TYPE_LEN_MAX)
		cpu_buffer->read++;

	rb_update_read_stamp(cpu_buffer, event);

	reader->read += length;
	cpu_buffer->read_bytes += length;

	return true;
}

/*
 * Mark a sub-buffer that the writer has left to show that events were lost before
 * it, as ring_buffer_read_page() marks its copy: set a flag in the commit word,
 * and store the number of lost events behind the records. That space holds only
 * padding, which belongs to no record, see rb_commit_full_page(). If the records
 * leave no room for the number, only the flag is set.
 */
static void rb_mark_lost_events(struct ring_buffer_per_cpu *cpu_buffer,
				struct buffer_page *reader, unsigned int commit)
{
	struct buffer_data_page *dpage = reader->page;
	unsigned long missed_events = cpu_buffer->reader_lost;
	unsigned long size = cpu_buffer->buffer->subbuf_size;
	unsigned long marks = (unsigned int)RB_MISSED_EVENTS;

	/*
	 * [GONE] Pairs with the observer's CHECK: an observer that has read the
	 * number or the marks stored below also sees at CHECK that
	 * commit_generation has moved on. rb_get_reader_page() explains why
	 * this is a full barrier.
	 */
	smp_mb();

	if (size - commit >= sizeof(missed_events)) {
		memcpy(&dpage->data[commit], &missed_events,
		       sizeof(missed_events));
		marks |= RB_MISSED_STORED;
	}

	local_set(&dpage->commit, commit | marks);
}

/*
 * Consume what is unread on the reader page.
 *
 * If the writer has left the page, the page's own counter says how many events
 * it holds, so the cost does not depend on that number. On a page that is still
 * being written, the new events have to be counted one by one.
 */
static void rb_consume_reader_page(struct ring_buffer_per_cpu *cpu_buffer,
				   struct buffer_page *reader)
{
	unsigned int commit;
	bool left;

	/*
	 * Pairs with [GONE] in rb_commit_leave_page(): if the writer is seen to
	 * have left the page, the commit index and the counter loaded below are
	 * final, and the reader may mark the commit word.
	 */
	left = smp_load_acquire(&cpu_buffer->commit_page) != reader;
	commit = rb_page_commit(reader);

	if (!left) {
		/* Pairs with [COMMIT]: the bytes that the commit covers are seen below */
		smp_rmb();
		while (reader->read < commit &&
		       rb_consume_event(cpu_buffer, reader, commit))
			;
		return;
	}

	cpu_buffer->read = cpu_buffer->reader_first + rb_page_entries(reader);
	cpu_buffer->read_bytes += commit - reader->read;
	reader->read = commit;

	if (cpu_buffer->reader_lost)
		rb_mark_lost_events(cpu_buffer, reader, commit);
}

/**
 * ring_buffer_map_get_reader - consume what is new in a mapped buffer
 * @buffer: the buffer to read
 * @cpu: the CPU whose buffer to read
 *
 * Unread bytes on the reader sub-buffer count as consumed afterwards. If there
 * are none, the next sub-buffer that has data becomes the reader's, and its
 * bytes count as consumed. The meta page, which is updated in any case, says
 * which sub-buffer that is and how many bytes of it were consumed.
 *
 * Context: Takes cpu_buffer->reader_lock with interrupts off. Does not sleep.
 *
 * Return: 0, also if there was nothing new, or
 *   -ENODEV	the buffer of @cpu is not mapped, or there is none
 */
int ring_buffer_map_get_reader(struct trace_buffer *buffer, int cpu)
{
	struct ring_buffer_per_cpu *cpu_buffer;
	struct buffer_page *reader;
	unsigned long flags;
	int ret = 0;

	if (!cpumask_test_cpu(cpu, buffer->cpumask))
		return -ENODEV;

	cpu_buffer = buffer->buffers[cpu];

	raw_spin_lock_irqsave(&cpu_buffer->reader_lock, flags);

	if (!cpu_buffer->meta_page) {
		ret = -ENODEV;
		goto out;
	}

	/* The reader page if something is unread on it, or the next page that has events */
	reader = rb_get_reader_page(cpu_buffer);
	if (reader) {
		rb_consume_reader_page(cpu_buffer, reader);
		/* The meta page reports the loss: no other reader may report it again */
		cpu_buffer->lost_events = 0;
		rb_flush_to_user(reader->page, reader->order);
	}
	rb_update_meta_page(cpu_buffer);

 out:
	raw_spin_unlock_irqrestore(&cpu_buffer->reader_lock, flags);
	return ret;
}

/**
 * ring_buffer_mapped - tell whether the buffer of a CPU is mapped
 * @buffer: the buffer to look at
 * @cpu: the CPU whose buffer to look at
 *
 * Context: Any. The answer holds for as long as the caller keeps a mapping.
 *
 * Return: true if it is, false if it is not or if there is no buffer for @cpu.
 */
bool ring_buffer_mapped(struct trace_buffer *buffer, int cpu)
{
	return cpumask_test_cpu(cpu, buffer->cpumask) &&
	       READ_ONCE(buffer->buffers[cpu]->user_mapped);
}

struct rb_map_wait {
	struct ring_buffer_per_cpu	*cpu_buffer;
	ring_buffer_cond_fn		cond;
	void				*data;
};

static bool rb_map_wait_cond(void *data)
{
	struct rb_map_wait *wait = data;

	return !READ_ONCE(wait->cpu_buffer->user_mapped) || wait->cond(wait->data);
}

/**
 * ring_buffer_map_wait - wait for data in a mapped buffer
 * @buffer: the buffer to wait for
 * @cpu: the CPU whose buffer to wait for
 * @full: the percentage of sub-buffers that have to be filled, or 0 for any event
 * @cond: what ends the wait besides data; code that makes it true has to call
 *	  ring_buffer_wake_waiters() afterwards
 * @data: what @cond is called with
 *
 * The last ring_buffer_unmap() ends the wait too.
 *
 * Context: Sleeps.
 *
 * Return: 0, or
 *   -EINVAL	    there is no buffer for @cpu
 *   -ERESTARTSYS   a signal ended the wait
 */
int ring_buffer_map_wait(struct trace_buffer *buffer, int cpu, int full,
			 ring_buffer_cond_fn cond, void *data)
{
	struct rb_map_wait wait = { .cond = cond, .data = data };
	struct wait_queue_head *queue;
	struct rb_irq_work *rbwork;

	if (!cpumask_test_cpu(cpu, buffer->cpumask))
		return -EINVAL;

	wait.cpu_buffer = buffer->buffers[cpu];
	rbwork = &wait.cpu_buffer->irq_work;
	queue = full ? &rbwork->full_waiters : &rbwork->waiters;

	return wait_event_interruptible(*queue,
					rb_wait_cond(rbwork, buffer, cpu, full,
						     rb_map_wait_cond, &wait));
}

static struct trace_buffer_meta *
rb_alloc_meta_page(struct ring_buffer_per_cpu *cpu_buffer)
{
	unsigned int order = cpu_buffer->buffer->subbuf_order;
	struct trace_buffer_meta *meta;

	BUILD_BUG_ON(sizeof(*meta) > PAGE_SIZE);

	meta = (void *)rb_alloc_data_page(cpu_buffer->cpu, order,
					  GFP_KERNEL | __GFP_RETRY_MAYFAIL);
	if (!meta)
		return NULL;

	meta->meta_page_size = PAGE_SIZE << order;
	meta->meta_struct_len = sizeof(*meta);
	meta->subbuf_size = PAGE_SIZE << order;
	meta->nr_subbufs = cpu_buffer->nr_pages + 1;

	return meta;
}

/* Number the sub-buffers: the reader's is 0, the others follow in ring order. */
static int rb_number_subbufs(struct ring_buffer_per_cpu *cpu_buffer,
			     struct buffer_page **subbufs)
{
	struct buffer_page *head, *bpage;
	unsigned long id = 0;

	lockdep_assert_held(&cpu_buffer->reader_lock);

	cpu_buffer->reader_page->id = id;
	subbufs[id++] = cpu_buffer->reader_page;

	head = rb_set_head_page(cpu_buffer);
	if (!head)
		return -ENODEV;

	bpage = head;
	do {
		if (RB_WARN_ON(cpu_buffer, id > cpu_buffer->nr_pages))
			return -ENODEV;
		bpage->id = id;
		subbufs[id++] = bpage;
		rb_inc_page(&bpage);
	} while (bpage != head);

	return 0;
}

/* Prepare a buffer that is not mapped yet for its first mapping. */
static int rb_map_first(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct trace_buffer_meta *meta;
	struct buffer_page **subbufs;
	unsigned long flags;
	int ret = -ENOMEM;

	lockdep_assert_held(&cpu_buffer->mapping_lock);

	/* The number and the size of the sub-buffers must not change */
	mutex_lock(&cpu_buffer->buffer->mutex);
	atomic_inc(&cpu_buffer->resize_disabled);

	subbufs = kvcalloc(cpu_buffer->nr_pages + 1, sizeof(*subbufs),
			   GFP_KERNEL);
	if (!subbufs)
		goto out_unlock;

	meta = rb_alloc_meta_page(cpu_buffer);
	if (!meta)
		goto out_free;

	raw_spin_lock_irqsave(&cpu_buffer->reader_lock, flags);
	ret = rb_number_subbufs(cpu_buffer, subbufs);
	if (!ret) {
		cpu_buffer->subbufs = subbufs;
		cpu_buffer->meta_page = meta;
		cpu_buffer->mapped++;
		WRITE_ONCE(cpu_buffer->user_mapped, 1);
		rb_update_meta_page(cpu_buffer);
	}
	raw_spin_unlock_irqrestore(&cpu_buffer->reader_lock, flags);
	if (!ret)
		goto out_unlock;

	free_pages((unsigned long)meta, cpu_buffer->buffer->subbuf_order);
 out_free:
	kvfree(subbufs);
 out_unlock:
	if (ret)
		atomic_dec(&cpu_buffer->resize_disabled);
	mutex_unlock(&cpu_buffer->buffer->mutex);
	return ret;
}

/**
 * ring_buffer_map - count a mapping of a CPU's buffer
 * @buffer: the buffer to map
 * @cpu: the CPU whose buffer to map
 *
 * The first mapping numbers the sub-buffers and makes the meta page. Until
 * ring_buffer_unmap() has ended every mapping, the buffer cannot be resized, and
 * ring_buffer_map_page() may be called.
 *
 * Context: May sleep, and may be called with mmap_lock held. Takes
 * cpu_buffer->mapping_lock, and buffer->mutex for the first mapping. Does not
 * wait for a grace period itself.
 *
 * Return: 0, or
 *   -EINVAL	there is no buffer for @cpu
 *   -ENODEV	the ring buffer is corrupt; the kernel has warned about it
 *   -ENOMEM	no memory for the meta page or the list of sub-buffers
 *   -EBUSY	there are too many mappings to count
 */
int ring_buffer_map(struct trace_buffer *buffer, int cpu)
{
	struct ring_buffer_per_cpu *cpu_buffer;
	int ret = 0;

	if (!cpumask_test_cpu(cpu, buffer->cpumask))
		return -EINVAL;

	cpu_buffer = buffer->buffers[cpu];

	mutex_lock(&cpu_buffer->mapping_lock);
	if (!cpu_buffer->user_mapped)
		ret = rb_map_first(cpu_buffer);
	else if (cpu_buffer->user_mapped == UINT_MAX)
		ret = -EBUSY;
	else
		WRITE_ONCE(cpu_buffer->user_mapped, cpu_buffer->user_mapped + 1);
	mutex_unlock(&cpu_buffer->mapping_lock);

	return ret;
}

/**
 * ring_buffer_map_dup - count a copy of a mapping
 * @buffer: the buffer that is mapped
 * @cpu: the CPU whose buffer is mapped
 *
 * For callers that hold a mapping and copy it where copying must not fail, as
 * fork() does.
 *
 * Context: May sleep, and may be called with mmap_lock held. Takes
 * cpu_buffer->mapping_lock.
 */
void ring_buffer_map_dup(struct trace_buffer *buffer, int cpu)
{
	struct ring_buffer_per_cpu *cpu_buffer = buffer->buffers[cpu];

	mutex_lock(&cpu_buffer->mapping_lock);
	if (!WARN_ON_ONCE(!cpu_buffer->user_mapped))
		WRITE_ONCE(cpu_buffer->user_mapped, cpu_buffer->user_mapped + 1);
	mutex_unlock(&cpu_buffer->mapping_lock);
}

/* End the last mapping of a buffer. */
static void rb_unmap_last(struct ring_buffer_per_cpu *cpu_buffer)
{
	unsigned int order = cpu_buffer->reader_page->order;
	struct trace_buffer_meta *meta = cpu_buffer->meta_page;
	struct buffer_page **subbufs = cpu_buffer->subbufs;
	unsigned long flags;

	lockdep_assert_held(&cpu_buffer->mapping_lock);

	raw_spin_lock_irqsave(&cpu_buffer->reader_lock, flags);
	WRITE_ONCE(cpu_buffer->user_mapped, 0);
	cpu_buffer->mapped--;
	cpu_buffer->meta_page = NULL;
	cpu_buffer->subbufs = NULL;
	raw_spin_unlock_irqrestore(&cpu_buffer->reader_lock, flags);

	/* Wake the waiters in ring_buffer_map_wait(): without a mapping their wait ends */
	irq_work_queue(&cpu_buffer->irq_work.work);

	free_pages((unsigned long)meta, order);
	kvfree(subbufs);
	atomic_dec(&cpu_buffer->resize_disabled);
}

/**
 * ring_buffer_unmap - uncount a mapping of a CPU's buffer
 * @buffer: the buffer that is mapped
 * @cpu: the CPU whose buffer is mapped
 *
 * Context: May sleep, and may be called with mmap_lock held. Takes
 * cpu_buffer->mapping_lock.
 */
void ring_buffer_unmap(struct trace_buffer *buffer, int cpu)
{
	struct ring_buffer_per_cpu *cpu_buffer = buffer->buffers[cpu];

	mutex_lock(&cpu_buffer->mapping_lock);
	if (WARN_ON_ONCE(!cpu_buffer->user_mapped))
		;
	else if (cpu_buffer->user_mapped == 1)
		rb_unmap_last(cpu_buffer);
	else
		WRITE_ONCE(cpu_buffer->user_mapped, cpu_buffer->user_mapped - 1);
	mutex_unlock(&cpu_buffer->mapping_lock);
}

/**
 * ring_buffer_map_size - get the size of a whole mapping
 * @buffer: the buffer that is mapped
 * @cpu: the CPU whose buffer is mapped
 * @subbuf_order: where to store the order of a sub-buffer, in pages
 *
 * Context: Any. The caller holds a mapping.
 *
 * Return: the pages of the meta area and all sub-buffers together.
 */
unsigned long ring_buffer_map_size(struct trace_buffer *buffer, int cpu,
				   unsigned int *subbuf_order)
{
	struct ring_buffer_per_cpu *cpu_buffer = buffer->buffers[cpu];

	*subbuf_order = buffer->subbuf_order;

	/* The ring, the reader page, and the meta area, as large as a sub-buffer */
	return (cpu_buffer->nr_pages + 2) << buffer->subbuf_order;
}

/**
 * ring_buffer_map_page - find a page of a mapping
 * @buffer: the buffer that is mapped
 * @cpu: the CPU whose buffer is mapped
 * @pgoff: the page's number, from the start of the meta area
 *
 * Context: Any. The caller holds a mapping.
 *
 * Return: the page, for as long as the buffer is mapped, or NULL if @pgoff is
 * not below ring_buffer_map_size().
 */
struct page *ring_buffer_map_page(struct trace_buffer *buffer, int cpu,
				  unsigned long pgoff)
{
	struct ring_buffer_per_cpu *cpu_buffer = buffer->buffers[cpu];
	unsigned long nr = pgoff >> buffer->subbuf_order;
	unsigned long rest = pgoff & ((1UL << buffer->subbuf_order) - 1);
	void *addr;

	if (!nr)
		addr = cpu_buffer->meta_page;
	else if (nr <= cpu_buffer->nr_pages + 1)
		addr = cpu_buffer->subbufs[nr - 1]->page;
	else
		return NULL;

	return virt_to_page(addr) + rest;
}

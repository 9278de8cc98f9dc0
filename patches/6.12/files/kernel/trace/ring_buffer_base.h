/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of the ring buffer that ring_buffer_live.c and ring_buffer_observer.c
 * use and that differ between versions of Linux.
 *
 * This file is included in ring_buffer.c.
 */
#ifndef _RING_BUFFER_BASE_H
#define _RING_BUFFER_BASE_H

/* On 32-bit kernels the counters of read and of overrun events wrap at 2^32. */
static inline u64 rb_read64(struct ring_buffer_per_cpu *cpu_buffer)
{
	return READ_ONCE(cpu_buffer->read);
}

static inline u64 rb_overrun64(struct ring_buffer_per_cpu *cpu_buffer,
			       unsigned long overrun)
{
	return overrun;
}

/* Events that are neither read nor overrun are still in memory, and fewer than 2^32. */
static inline u64 rb_entries64(struct ring_buffer_per_cpu *cpu_buffer)
{
	unsigned long overrun = local_read(&cpu_buffer->overrun);
	u64 gone = rb_read64(cpu_buffer) + rb_overrun64(cpu_buffer, overrun);

	return gone + (unsigned long)(local_read(&cpu_buffer->entries) - gone);
}

/* Return how many events had been overwritten when the reader page was taken. */
static inline u64 rb_reader_overrun(struct ring_buffer_per_cpu *cpu_buffer)
{
	return rb_overrun64(cpu_buffer, cpu_buffer->last_overrun);
}

/*
 * Keep a CPU's sub-buffers, their number and their size as they are until
 * rb_release_subbufs(). The buffer counts as mapped, but has no ids and no meta
 * page, unless user space also maps its trace_pipe_raw.
 *
 * Return: 0, or
 *   -EBUSY	there are too many mappings to count
 *   -EINVAL	there is no buffer for @cpu
 *   -ENODEV	the buffer is in memory that is kept across a reboot, which the index
 *		of the buffer would not survive
 */
static inline int rb_hold_subbufs(struct trace_buffer *buffer, int cpu)
{
	struct ring_buffer_per_cpu *cpu_buffer;
	int ret = -EBUSY;

	if (!cpumask_test_cpu(cpu, buffer->cpumask))
		return -EINVAL;

	cpu_buffer = buffer->buffers[cpu];
	if (cpu_buffer->ring_meta)
		return -ENODEV;

	mutex_lock(&buffer->mutex);
	raw_spin_lock_irq(&cpu_buffer->reader_lock);
	if (cpu_buffer->mapped != UINT_MAX) {
		cpu_buffer->mapped++;
		atomic_inc(&cpu_buffer->resize_disabled);
		ret = 0;
	}
	raw_spin_unlock_irq(&cpu_buffer->reader_lock);
	mutex_unlock(&buffer->mutex);

	return ret;
}

static inline void rb_release_subbufs(struct trace_buffer *buffer, int cpu)
{
	struct ring_buffer_per_cpu *cpu_buffer = buffer->buffers[cpu];

	mutex_lock(&buffer->mutex);
	raw_spin_lock_irq(&cpu_buffer->reader_lock);
	cpu_buffer->mapped--;
	atomic_dec(&cpu_buffer->resize_disabled);
	raw_spin_unlock_irq(&cpu_buffer->reader_lock);
	mutex_unlock(&buffer->mutex);
}

/* How many sub-buffers to find at a time while readers are locked out */
#define RB_FIND_CHUNK		1000
/* How often to try that, before readers are locked out until all are found */
#define RB_FIND_TRIES		10

/*
 * Store a CPU's sub-buffers, nr_pages and the reader's, in @subbufs. The caller holds
 * them, so only a reader can exchange two of them. That changes ->cnt, and the search
 * begins again. The writer changes only flags in the list.
 */
static inline void rb_find_subbufs(struct ring_buffer_per_cpu *cpu_buffer,
				   struct buffer_page **subbufs)
{
	struct buffer_page *bpage = NULL;
	unsigned long id = 0, cnt = 0, left;
	int tries = 0;

	while (id <= cpu_buffer->nr_pages) {
		raw_spin_lock_irq(&cpu_buffer->reader_lock);
		if (!id || cnt != cpu_buffer->cnt) {
			cnt = cpu_buffer->cnt;
			tries++;
			subbufs[0] = cpu_buffer->reader_page;
			bpage = list_entry(cpu_buffer->pages, struct buffer_page, list);
			id = 1;
		}
		left = tries < RB_FIND_TRIES ? RB_FIND_CHUNK : ULONG_MAX;
		for (; left && id <= cpu_buffer->nr_pages; left--) {
			subbufs[id++] = bpage;
			rb_inc_page(&bpage);
		}
		raw_spin_unlock_irq(&cpu_buffer->reader_lock);
		cond_resched();
	}
}

/* Return sub-buffer @id, 0 to nr_pages. */
static inline struct buffer_page *
rb_found_subbuf(struct ring_buffer_per_cpu *cpu_buffer,
		struct buffer_page **subbufs, unsigned long id)
{
	return subbufs[id];
}

#endif /* _RING_BUFFER_BASE_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Live index: what user space needs to follow a CPU's buffer while it is
 * written, without a system call and without consuming.
 *
 * This file is included in ring_buffer.c. An index is memory that the writer
 * tells in which sub-buffer it is, and what it left in the others; user space
 * maps it read-only, beside the sub-buffers. Observers are not known here, nor
 * does anything wait for them: an observer looks at bytes first and learns from
 * the index afterwards whether they were what he took them for.
 *
 * The writer tells at two places. They are reached once a sub-buffer, not once
 * an event, and cost a look at cpu_buffer->live where there is no index.
 *
 *   rb_live_enter()	the tail enters a sub-buffer, nothing of it is changed
 *			yet: it holds the next generation from now on
 *   rb_live_leave()	the commit leaves a sub-buffer, so all of it is final:
 *			its size, where the next one is, the count of events
 *
 * Writers nest: one may be interrupted anywhere, by others that run to their
 * end. rb_live_enter() can be called by several for the same crossing. Each
 * stores the same: the first of them has an event to commit on the tail page or
 * before it, so until it has, the tail can not come around to either page.
 * rb_live_leave() is called by the outermost writer alone, when no other has
 * anything left to commit.
 *
 * The stores and loads that order it all, by their labels. The observer's half
 * is in include/uapi/linux/trace_live.h.
 *
 *   [ENTER]	generation, before commit word and bytes of that sub-buffer are
 *		changed. Pairs with the observer's [CHECK]: who has seen a byte
 *		of the new generation sees that generation.
 *   [COMMIT]	bytes, before the commit word that covers them. Pairs with the
 *		observer's load of the commit word.
 *   [LEAVE]	an entry's size, next_id, and the next one's before and
 *		overwritten, before commit_generation that makes them valid.
 *		Pairs with the observer's load of commit_generation.
 *   [LEFT]	commit_generation, before commit_page. Pairs with the readers of
 *		the ring buffer, that must not change a commit word before the
 *		page is final: who has seen their marks, or a cleared word, sees
 *		at [CHECK] that commit_generation has moved. Where the tail goes
 *		around to such a page, the full barrier of the cmpxchg() that moves
 *		the head orders it.
 *   [RESET]	the odd epoch, before generations are renewed; those, before pages
 *		are cleared; all of it, before the epoch is even again. Pairs with
 *		[CHECK], and with the observer's load of the epoch.
 *
 * Waiting. A waiter sets a flag, and the writer looks at it after each commit.
 * Both would need a full barrier between their store and their load, not to
 * miss each other; the writer's would be paid with every event. Instead the
 * waiter interrupts the writer's CPU after it has set the flag: rb_live_arm().
 * The writer clears the flag, then has everybody woken who is on the queue: who
 * wants more than there is now sets it again. A flag set just before the writer
 * clears it belongs to somebody who is on the queue by then.
 *
 * Locks: cpu_buffer->mapping_lock protects the count of mappings. The index
 * itself is written by the writer, and under reader_lock by who has made sure
 * that there is none. The writer looks at cpu_buffer->live with preemption off,
 * so what it sees is freed after a grace period.
 */

#include <linux/cpu.h>
#include <linux/vmalloc.h>
#include <uapi/linux/trace_live.h>

static_assert(sizeof(struct trace_live_subbuf) == 32);
static_assert(offsetof(struct trace_live_subbuf, before) == 16);
static_assert(offsetof(struct trace_live_index, commit_generation) == 64);
static_assert(offsetof(struct trace_live_index, dropped) == 72);
static_assert(offsetof(struct trace_live_index, used) == 88);
static_assert(sizeof(struct trace_live_index) == 128);
static_assert(sizeof(struct trace_live_position) == 24);

/* As far as can be from a generation that is in use */
#define RB_LIVE_UNUSED		0x80000000U

/* How often to come back to a CPU that is busy writing an event */
#define RB_LIVE_TRIES		1000

/**
 * struct rb_live - the live index of a CPU's buffer
 * @index: the mapped memory
 * @subbufs: the entries in it, by id
 * @mappings: how many there are, under cpu_buffer->mapping_lock
 * @wait_lock: protects the two below among waiters; the writer only reads them
 * @wake_generation: where the first waiter wants to be woken
 * @wake_commit: the bytes that have to be committed there
 * @rcu: frees it
 */
struct rb_live {
	struct trace_live_index		*index;
	struct trace_live_subbuf	*subbufs;
	unsigned int			mappings;
	raw_spinlock_t			wait_lock;
	u32				wake_generation;
	u32				wake_commit;
	struct rcu_head			rcu;
};

/* A place in the stream of all bytes that were ever committed */
struct rb_live_place {
	u32	generation;
	u32	commit;
};

/*
 * User space sees what the kernel wrote only where both use the same lines of
 * the data cache. Elsewhere each store of the writer would have to flush some.
 */
static bool rb_live_supported(void)
{
#if defined(CONFIG_X86) || defined(CONFIG_ARM64) || defined(CONFIG_RISCV) || \
	defined(CONFIG_S390) || defined(CONFIG_PPC) || defined(CONFIG_LOONGARCH) || \
	defined(CONFIG_UML)
	return true;
#elif defined(CONFIG_ARM)
	return cache_is_vipt_nonaliasing();
#else
	return false;
#endif
}

static void rb_live_enter(struct ring_buffer_per_cpu *cpu_buffer,
			  struct buffer_page *tail_page,
			  struct buffer_page *next_page)
{
	struct rb_live *live = READ_ONCE(cpu_buffer->live);
	u32 generation;

	if (likely(!live))
		return;

	generation = live->subbufs[tail_page->id].generation + 1;
	WRITE_ONCE(live->subbufs[next_page->id].generation, generation);
	/* [ENTER] Nothing of the next page is changed before */
	smp_wmb();
}

/* Pages in the ring that nobody has read, the one just entered included */
static u32 rb_live_used(struct ring_buffer_per_cpu *cpu_buffer)
{
	return local_read(&cpu_buffer->pages_touched) -
	       local_read(&cpu_buffer->pages_lost) -
	       local_read(&cpu_buffer->pages_read) + 1;
}

/*
 * Bytes of records on a page that the writer leaves. A discard may shorten it
 * after it got its padding: what lies behind is nobody's then, and may become
 * the count of lost events.
 */
static unsigned int rb_live_page_size(struct buffer_page *bpage)
{
	unsigned int write = rb_page_write(bpage);

	return bpage->real_end ? min_t(unsigned long, bpage->real_end, write) : write;
}

static void rb_live_leave(struct ring_buffer_per_cpu *cpu_buffer,
			  struct buffer_page *page, struct buffer_page *next)
{
	struct rb_live *live = READ_ONCE(cpu_buffer->live);
	struct trace_live_subbuf *left, *entered;

	if (likely(!live))
		return;

	left = &live->subbufs[page->id];
	entered = &live->subbufs[next->id];

	WRITE_ONCE(left->size, rb_live_page_size(page));
	WRITE_ONCE(left->next_id, next->id);
	entered->before = left->before + rb_page_entries(page);
	entered->overwritten = rb_overrun64(cpu_buffer,
					    local_read(&cpu_buffer->overrun));
	WRITE_ONCE(live->index->used, rb_live_used(cpu_buffer));
	WRITE_ONCE(live->index->commit_id, next->id);
	/* [LEAVE] The above is there when this is seen */
	smp_store_release(&live->index->commit_generation,
			  left->generation + 1);
}

/* Nested writers may get here in any order: the last one to store agrees. */
static void rb_live_count(u64 *shown, local_t *count)
{
	unsigned long now;

	do {
		now = local_read(count);
		WRITE_ONCE(*shown, now);
		barrier();
	} while (now != local_read(count));
}

static void rb_live_dropped(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live = READ_ONCE(cpu_buffer->live);

	if (likely(!live))
		return;

	rb_live_count(&live->index->dropped, &cpu_buffer->dropped_events);
	rb_live_count(&live->index->commit_overrun, &cpu_buffer->commit_overrun);
}

/* Is the place @a at @b, or past it? */
static bool rb_live_reached(struct rb_live_place a, struct rb_live_place b)
{
	s32 diff = a.generation - b.generation;

	return diff > 0 || (!diff && a.commit >= b.commit);
}

static void rb_live_wake_up(struct irq_work *work)
{
	struct ring_buffer_per_cpu *cpu_buffer =
		container_of(work, struct ring_buffer_per_cpu, live_work);

	wake_up_all(&cpu_buffer->irq_work.poll_waiters);
}

/* Somebody waits, and there may be what he waits for. On the writer's CPU. */
static void rb_live_wakeups(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live = READ_ONCE(cpu_buffer->live);
	struct rb_live_place now, wake;

	if (!live)
		return;

	/* Whoever interrupts here and leaves the page looks himself, later */
	now.generation = READ_ONCE(live->index->commit_generation);
	now.commit = rb_page_commit(READ_ONCE(cpu_buffer->commit_page));
	/* They may change meanwhile: who does it looks again himself */
	wake.generation = READ_ONCE(live->wake_generation);
	wake.commit = READ_ONCE(live->wake_commit);
	if (!rb_live_reached(now, wake))
		return;

	/*
	 * A CPU that goes down takes no more interrupts: the work would stay
	 * queued there. trace_rb_cpu_dead() wakes.
	 */
	if (unlikely(!cpu_online(cpu_buffer->cpu) && cpu_dying(cpu_buffer->cpu)))
		return;

	WRITE_ONCE(cpu_buffer->irq_work.live_pending, false);
	irq_work_queue(&cpu_buffer->live_work);
}

static void rb_live_init(struct ring_buffer_per_cpu *cpu_buffer)
{
	init_irq_work(&cpu_buffer->live_work, rb_live_wake_up);
}

static void rb_live_set(struct rb_live *live, struct buffer_page *bpage,
			u32 generation, u64 before)
{
	struct trace_live_subbuf *subbuf = &live->subbufs[bpage->id];

	WRITE_ONCE(subbuf->generation, generation);
	WRITE_ONCE(subbuf->size, rb_live_page_size(bpage));
	subbuf->before = before;
	subbuf->overwritten = 0;
}

/*
 * Writers are kept away, and the buffer is about to be emptied. The epoch is odd
 * until rb_live_reset_end(). Before anything is cleared, observers have to find
 * that all they know is over.
 */
static void rb_live_reset_begin(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live = cpu_buffer->live;
	u32 id;

	if (!live)
		return;

	WRITE_ONCE(live->index->epoch, live->index->epoch + 1);
	/* [RESET] A renewed generation is not taken for an overwritten one */
	smp_wmb();
	for (id = 0; id < live->index->nr_subbufs; id++)
		WRITE_ONCE(live->subbufs[id].generation,
			   live->index->commit_generation + RB_LIVE_UNUSED);
	/* [RESET] Nothing is cleared before */
	smp_wmb();
}

/* It is empty. The first page of the ring is where writers begin anew. */
static void rb_live_reset_end(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct buffer_page *first = cpu_buffer->commit_page;
	struct rb_live *live = cpu_buffer->live;
	struct trace_live_index *index;
	u32 generation;

	if (!live)
		return;

	index = live->index;
	/* The tail was where the commit was: no event was being written */
	generation = index->commit_generation + 1;
	WRITE_ONCE(live->subbufs[first->id].generation, generation);
	live->subbufs[first->id].before = 0;
	live->subbufs[first->id].overwritten = 0;
	index->dropped = 0;
	index->commit_overrun = 0;
	WRITE_ONCE(index->used, 1);
	WRITE_ONCE(index->commit_id, first->id);
	WRITE_ONCE(index->commit_generation, generation);
	/* [RESET] All that the new epoch begins with is there before it */
	smp_store_release(&index->epoch, index->epoch + 1);

	irq_work_queue(&cpu_buffer->live_work);
}

/*
 * Describe what is in the buffer: the reader page, if there is something on
 * it, then the pages from the head to the one being written.
 */
static bool rb_live_describe(struct ring_buffer_per_cpu *cpu_buffer,
			     struct rb_live *live)
{
	struct buffer_page *commit = cpu_buffer->commit_page;
	struct buffer_page *reader = cpu_buffer->reader_page;
	u64 total = rb_entries64(cpu_buffer);
	struct buffer_page *bpage, *head;
	u64 in_ring = 0, before;
	u32 generation = 1;

	if (reader == commit) {
		before = total - rb_page_entries(reader);
		rb_live_set(live, reader, generation, before);
		goto out;
	}

	head = rb_set_head_page(cpu_buffer);
	if (!head)
		return false;

	for (bpage = head; bpage != commit; rb_inc_page(&bpage))
		in_ring += rb_page_entries(bpage);
	before = total - in_ring - rb_page_entries(commit);

	if (rb_page_write(reader)) {
		u64 first = rb_read64(cpu_buffer) -
			    (cpu_buffer->read - cpu_buffer->reader_first);

		rb_live_set(live, reader, generation++,
			    first + cpu_buffer->reader_overrun);
		WRITE_ONCE(live->subbufs[reader->id].next_id, head->id);
	}

	for (bpage = head; bpage != commit; ) {
		struct buffer_page *here = bpage;

		rb_live_set(live, here, generation++, before);
		before += rb_page_entries(here);
		rb_inc_page(&bpage);
		WRITE_ONCE(live->subbufs[here->id].next_id, bpage->id);
	}
	rb_live_set(live, commit, generation, before);

 out:
	live->subbufs[commit->id].overwritten =
		rb_overrun64(cpu_buffer, local_read(&cpu_buffer->overrun));
	live->index->dropped = local_read(&cpu_buffer->dropped_events);
	live->index->commit_overrun = local_read(&cpu_buffer->commit_overrun);
	live->index->used = rb_live_used(cpu_buffer);
	live->index->commit_id = commit->id;
	live->index->commit_generation = generation;

	return true;
}

/* Nobody has seen it: as if it were just allocated. */
static void rb_live_blank(struct rb_live *live)
{
	u32 id;

	for (id = 0; id < live->index->nr_subbufs; id++)
		live->subbufs[id].generation = RB_LIVE_UNUSED;
}

struct rb_live_start {
	struct ring_buffer_per_cpu	*cpu_buffer;
	struct rb_live			*live;
	int				ret;
};

/*
 * From now on the writer keeps @live up to date. This runs on its CPU, as an
 * interrupt, or that CPU is offline. So only an NMI can write in between: there
 * are more commits then, and what was described is not what there is.
 */
static void rb_live_start(void *data)
{
	struct rb_live_start *start = data;
	struct ring_buffer_per_cpu *cpu_buffer = start->cpu_buffer;
	unsigned long commits, flags;

	start->ret = -EAGAIN;
	/*
	 * Who was interrupted is writing an event. A reader that holds the lock
	 * may be waiting for that very writer: do not wait for the reader.
	 */
	if (local_read(&cpu_buffer->committing))
		return;

	raw_spin_lock_irqsave(&cpu_buffer->reader_lock, flags);

	commits = local_read(&cpu_buffer->commits);
	barrier();
	/* Who was interrupted was about to commit an event */
	if (cpu_buffer->commit_page != cpu_buffer->tail_page ||
	    rb_commit_index(cpu_buffer) != rb_page_write(cpu_buffer->commit_page))
		goto out;

	start->ret = -ENODEV;
	if (!rb_live_describe(cpu_buffer, start->live))
		goto out;

	WRITE_ONCE(cpu_buffer->live, start->live);
	barrier();
	start->ret = 0;
	if (commits != local_read(&cpu_buffer->commits)) {
		WRITE_ONCE(cpu_buffer->live, NULL);
		rb_live_blank(start->live);
		start->ret = -EAGAIN;
	}
 out:
	raw_spin_unlock_irqrestore(&cpu_buffer->reader_lock, flags);
}

static int rb_live_try_start(struct rb_live_start *start)
{
	int cpu = start->cpu_buffer->cpu;

	/* Under mmap_lock it is not allowed to wait for this one */
	if (!cpus_read_trylock())
		return -EAGAIN;

	if (smp_call_function_single(cpu, rb_live_start, start, true))
		rb_live_start(start);

	cpus_read_unlock();

	return start->ret;
}

static void rb_live_free(struct rcu_head *rcu)
{
	struct rb_live *live = container_of(rcu, struct rb_live, rcu);

	vfree(live->index);
	kfree(live);
}

static struct rb_live *rb_live_alloc(struct ring_buffer_per_cpu *cpu_buffer)
{
	unsigned long nr_subbufs = cpu_buffer->nr_pages + 1;
	struct trace_live_index *index;
	struct rb_live *live;
	unsigned long size;

	size = PAGE_ALIGN(sizeof(*index) +
			  nr_subbufs * sizeof(struct trace_live_subbuf));
	if (size > U32_MAX)
		return NULL;

	live = kzalloc(sizeof(*live), GFP_KERNEL);
	if (!live)
		return NULL;

	index = vmalloc_user(size);
	if (!index) {
		kfree(live);
		return NULL;
	}

	index->index_size = size;
	index->struct_len = sizeof(*index);
	index->entries_offset = sizeof(*index);
	index->entry_size = sizeof(struct trace_live_subbuf);
	index->nr_subbufs = nr_subbufs;
	index->epoch = cpu_buffer->live_epoch + 2;

	live->index = index;
	live->subbufs = (void *)(index + 1);
	live->mappings = 1;
	raw_spin_lock_init(&live->wait_lock);
	rb_live_blank(live);

	return live;
}

static int rb_live_first(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live_start start = { .cpu_buffer = cpu_buffer };
	int tries, ret = -EAGAIN;

	lockdep_assert_held(&cpu_buffer->mapping_lock);

	if (!rb_live_supported())
		return -EOPNOTSUPP;

	start.live = rb_live_alloc(cpu_buffer);
	if (!start.live)
		return -ENOMEM;

	for (tries = 0; ret == -EAGAIN && tries < RB_LIVE_TRIES; tries++) {
		if (tries)
			usleep_range(20, 200);
		if (fatal_signal_pending(current))
			ret = -EINTR;
		else
			ret = rb_live_try_start(&start);
	}
	if (ret)
		rb_live_free(&start.live->rcu);

	return ret;
}

/**
 * ring_buffer_live_map - count a mapping of a CPU's live index
 * @buffer: the buffer to watch
 * @cpu: the CPU whose buffer to watch
 *
 * The caller holds a mapping of the buffer, see ring_buffer_map(), for as long
 * as one of the index. The first mapping makes the index; the writer keeps it
 * up to date from then on.
 *
 * Context: May sleep, and may be called with mmap_lock held. Takes
 * cpu_buffer->mapping_lock. The first mapping interrupts @cpu.
 *
 * Return: 0, or
 *   -EAGAIN	    CPUs were coming or going all the time, or @cpu was in the
 *		    middle of an event whenever it was asked
 *   -EBUSY	    there are too many mappings to count
 *   -EINTR	    the caller was killed
 *   -ENODEV	    the buffer is broken, a warning has said so
 *   -ENOMEM	    no memory for the index
 *   -EOPNOTSUPP    user space would not see what the kernel stores, the data
 *		    caches of this machine being what they are
 */
int ring_buffer_live_map(struct trace_buffer *buffer, int cpu)
{
	struct ring_buffer_per_cpu *cpu_buffer = buffer->buffers[cpu];
	int ret = 0;

	mutex_lock(&cpu_buffer->mapping_lock);
	if (!cpu_buffer->live)
		ret = rb_live_first(cpu_buffer);
	else if (cpu_buffer->live->mappings == UINT_MAX)
		ret = -EBUSY;
	else
		cpu_buffer->live->mappings++;
	mutex_unlock(&cpu_buffer->mapping_lock);

	return ret;
}

/**
 * ring_buffer_live_dup - count a copy of a mapping of the live index
 * @buffer: the buffer that is watched
 * @cpu: the CPU whose buffer is watched
 *
 * Context: May sleep, and may be called with mmap_lock held. Takes
 * cpu_buffer->mapping_lock.
 */
void ring_buffer_live_dup(struct trace_buffer *buffer, int cpu)
{
	struct ring_buffer_per_cpu *cpu_buffer = buffer->buffers[cpu];

	mutex_lock(&cpu_buffer->mapping_lock);
	if (!WARN_ON_ONCE(!cpu_buffer->live))
		cpu_buffer->live->mappings++;
	mutex_unlock(&cpu_buffer->mapping_lock);
}

/**
 * ring_buffer_live_unmap - uncount a mapping of the live index
 * @buffer: the buffer that is watched
 * @cpu: the CPU whose buffer is watched
 *
 * Context: May sleep, and may be called with mmap_lock held. Takes
 * cpu_buffer->mapping_lock.
 */
void ring_buffer_live_unmap(struct trace_buffer *buffer, int cpu)
{
	struct ring_buffer_per_cpu *cpu_buffer = buffer->buffers[cpu];
	struct rb_live *live;
	unsigned long flags;

	mutex_lock(&cpu_buffer->mapping_lock);
	live = cpu_buffer->live;
	if (!WARN_ON_ONCE(!live) && !--live->mappings) {
		/* A reset holds it too, and uses the index */
		raw_spin_lock_irqsave(&cpu_buffer->reader_lock, flags);
		/* A position in it shall not pass for one in the next */
		cpu_buffer->live_epoch = live->index->epoch;
		WRITE_ONCE(cpu_buffer->live, NULL);
		raw_spin_unlock_irqrestore(&cpu_buffer->reader_lock, flags);
		WRITE_ONCE(cpu_buffer->irq_work.live_pending, false);
		call_rcu(&live->rcu, rb_live_free);
		/* Who waits will find that there is nothing to wait for */
		irq_work_queue(&cpu_buffer->live_work);
	}
	mutex_unlock(&cpu_buffer->mapping_lock);
}

/**
 * ring_buffer_live_size - how large the live index is
 * @buffer: the buffer that is watched
 * @cpu: the CPU whose buffer is watched
 *
 * Context: Any. The caller holds a mapping of the index.
 *
 * Return: the pages of the index.
 */
unsigned long ring_buffer_live_size(struct trace_buffer *buffer, int cpu)
{
	return buffer->buffers[cpu]->live->index->index_size >> PAGE_SHIFT;
}

/**
 * ring_buffer_live_page - find a page of the live index
 * @buffer: the buffer that is watched
 * @cpu: the CPU whose buffer is watched
 * @pgoff: the page's number, from the start of the index
 *
 * Context: Any. The caller holds a mapping of the index.
 *
 * Return: the page, or NULL if @pgoff is not below ring_buffer_live_size().
 */
struct page *ring_buffer_live_page(struct trace_buffer *buffer, int cpu,
				   unsigned long pgoff)
{
	void *index = buffer->buffers[cpu]->live->index;

	if (pgoff >= ring_buffer_live_size(buffer, cpu))
		return NULL;

	return vmalloc_to_page(index + (pgoff << PAGE_SHIFT));
}

/* Where a reader at @pos has enough to go on. */
static struct rb_live_place
rb_live_mark(struct ring_buffer_per_cpu *cpu_buffer,
	     const struct trace_live_position *pos, unsigned int percent)
{
	u32 subbuf_size = cpu_buffer->buffer->subbuf_size;
	u64 bytes = pos->bytes;
	struct rb_live_place mark;
	u32 rest;

	if (!bytes)
		bytes = div_u64((u64)cpu_buffer->nr_pages * subbuf_size *
				percent, 100);
	/* Not more than there can be, however large the number */
	bytes = clamp_t(u64, bytes, 1, (u64)cpu_buffer->nr_pages * subbuf_size);

	mark.generation = pos->generation +
			  (u32)div_u64_rem(pos->read + bytes, subbuf_size, &rest);
	mark.commit = rest;

	return mark;
}

/* The commit as another CPU sees it. Its page may be left meanwhile: look again. */
static struct rb_live_place
rb_live_commit(struct ring_buffer_per_cpu *cpu_buffer, struct rb_live *live)
{
	struct trace_live_index *index = live->index;
	struct rb_live_place place;
	u32 id, again;

	/* In the middle of a reset there is no such sub-buffer, for a moment */
	for (;;) {
		/* Pairs with [LEAVE] */
		place.generation = smp_load_acquire(&index->commit_generation);
		id = READ_ONCE(index->commit_id);
		place.commit = local_read(&cpu_buffer->subbufs[id]->page->commit) &
			       RB_WRITE_MASK;
		/* [CHECK] As an observer does */
		smp_rmb();
		again = READ_ONCE(index->commit_generation);
		if (again == place.generation &&
		    READ_ONCE(live->subbufs[id].generation) == again)
			return place;
		cpu_relax();
	}
}

/* Has the writer been where the reader says to be, or was there a reset since? */
static bool rb_live_possible(struct ring_buffer_per_cpu *cpu_buffer,
			     struct rb_live *live,
			     const struct trace_live_position *pos)
{
	struct rb_live_place here = { pos->generation, pos->read };
	s32 behind;

	/* [RESET] Pairs with it: what the epoch begins with is seen with it */
	behind = smp_load_acquire(&live->index->epoch) - pos->epoch;
	if (behind)
		return behind > 0;

	return rb_live_reached(rb_live_commit(cpu_buffer, live), here);
}

static bool rb_live_enough(struct ring_buffer_per_cpu *cpu_buffer,
			   struct rb_live *live,
			   const struct trace_live_position *pos,
			   struct rb_live_place mark)
{
	if (READ_ONCE(live->index->epoch) != pos->epoch)
		return true;

	return rb_live_reached(rb_live_commit(cpu_buffer, live), mark);
}

static void rb_live_nothing(void *unused) { }

/*
 * Have the writer wake cpu_buffer->irq_work.poll_waiters when it reaches @mark. On
 * return, either the caller sees what the writer committed already, or the
 * writer sees that it has to tell.
 */
static void rb_live_arm(struct ring_buffer_per_cpu *cpu_buffer,
			struct rb_live *live, struct rb_live_place mark)
{
	struct rb_irq_work *rbwork = &cpu_buffer->irq_work;
	struct rb_live_place first;
	unsigned long flags;

	raw_spin_lock_irqsave(&live->wait_lock, flags);
	first.generation = live->wake_generation;
	first.commit = live->wake_commit;
	if (!READ_ONCE(rbwork->live_pending) || rb_live_reached(first, mark)) {
		WRITE_ONCE(live->wake_generation, mark.generation);
		WRITE_ONCE(live->wake_commit, mark.commit);
	}
	/* Pairs with nothing: the interrupt below orders it for the writer */
	WRITE_ONCE(rbwork->live_pending, true);
	raw_spin_unlock_irqrestore(&live->wait_lock, flags);

	/* When the CPU is dead, trace_rb_cpu_dead() wakes whom it has not */
	smp_call_function_single(cpu_buffer->cpu, rb_live_nothing, NULL, true);
}

/**
 * ring_buffer_live_check - can a reader be at a position?
 * @buffer: the buffer that is watched
 * @cpu: the CPU whose buffer is watched
 * @pos: the position, or NULL: is it watched at all?
 *
 * Context: May sleep. Takes cpu_buffer->mapping_lock.
 *
 * Return: 0, or
 *   -ENODEV	the index is not mapped
 *   -EINVAL	@pos can not be: ahead of the writer, beyond a sub-buffer's end,
 *		in the middle of a reset, or with a flag that is not defined
 */
int ring_buffer_live_check(struct trace_buffer *buffer, int cpu,
			   const struct trace_live_position *pos)
{
	struct ring_buffer_per_cpu *cpu_buffer;
	int ret = 0;

	if (!cpumask_test_cpu(cpu, buffer->cpumask))
		return -ENODEV;
	cpu_buffer = buffer->buffers[cpu];

	mutex_lock(&cpu_buffer->mapping_lock);
	if (!cpu_buffer->live)
		ret = -ENODEV;
	else if (pos && (pos->flags || pos->epoch & 1 ||
			 pos->read > buffer->subbuf_size ||
			 !rb_live_possible(cpu_buffer, cpu_buffer->live, pos)))
		ret = -EINVAL;
	mutex_unlock(&cpu_buffer->mapping_lock);

	return ret;
}

/**
 * ring_buffer_live_wait - have those woken who wait for a place in the stream
 * @buffer: the buffer that is watched
 * @cpu: the CPU whose buffer is watched
 * @pos: the position reached, and the bytes wanted beyond it
 * @percent: of the buffer, to be wanted if @pos does not say how much
 *
 * When there is enough beyond the position, those who wait in
 * ring_buffer_live_poll() are woken, also if that is so already.
 *
 * Context: May sleep. Takes cpu_buffer->mapping_lock, interrupts @cpu.
 *
 * Return: 0, or -ENODEV if the index is not mapped.
 */
int ring_buffer_live_wait(struct trace_buffer *buffer, int cpu,
			  const struct trace_live_position *pos,
			  unsigned int percent)
{
	struct ring_buffer_per_cpu *cpu_buffer = buffer->buffers[cpu];
	struct rb_live_place mark;
	int ret = -ENODEV;

	mutex_lock(&cpu_buffer->mapping_lock);
	if (cpu_buffer->live) {
		ret = 0;
		mark = rb_live_mark(cpu_buffer, pos, percent);
		rb_live_arm(cpu_buffer, cpu_buffer->live, mark);
		if (rb_live_enough(cpu_buffer, cpu_buffer->live, pos, mark))
			wake_up_all(&cpu_buffer->irq_work.poll_waiters);
	}
	mutex_unlock(&cpu_buffer->mapping_lock);

	return ret;
}

/**
 * ring_buffer_live_queue - have a polled file woken at its position
 * @buffer: the buffer that is watched
 * @cpu: the CPU whose buffer is watched
 * @filp: the file that is polled
 * @poll_table: the poll table
 *
 * It is the queue that ring_buffer_poll_wait() has consumers wait on: epoll
 * learns the queue of a file when the file is added, and asks no more, and aio
 * takes one queue only. What the file waits for may change.
 *
 * Context: May sleep.
 */
void ring_buffer_live_queue(struct trace_buffer *buffer, int cpu,
			    struct file *filp, poll_table *poll_table)
{
	struct ring_buffer_per_cpu *cpu_buffer;

	if (!cpumask_test_cpu(cpu, buffer->cpumask))
		return;
	cpu_buffer = buffer->buffers[cpu];

	poll_wait(filp, &cpu_buffer->irq_work.poll_waiters, poll_table);
}

/**
 * ring_buffer_live_wake - have everybody who waits for a position look again
 * @buffer: the buffer they watch
 * @cpu: the CPU whose buffer they watch
 *
 * Context: Any.
 */
void ring_buffer_live_wake(struct trace_buffer *buffer, int cpu)
{
	if (cpumask_test_cpu(cpu, buffer->cpumask))
		wake_up_all(&buffer->buffers[cpu]->irq_work.poll_waiters);
}

/**
 * ring_buffer_live_poll - is there enough beyond a position?
 * @buffer: the buffer that is watched
 * @cpu: the CPU whose buffer is watched
 * @pos: the position reached, and the bytes wanted beyond it
 * @percent: of the buffer, to be wanted if @pos does not say how much
 *
 * The file is on the queue already: ring_buffer_live_queue() comes first.
 *
 * Context: May sleep. Interrupts @cpu if there is not enough.
 *
 * Return: EPOLLIN | EPOLLRDNORM if there is, EPOLLERR if the index is not
 * mapped, else 0.
 */
__poll_t ring_buffer_live_poll(struct trace_buffer *buffer, int cpu,
			       const struct trace_live_position *pos,
			       unsigned int percent)
{
	struct ring_buffer_per_cpu *cpu_buffer;
	struct rb_live_place mark;
	struct rb_live *live;
	__poll_t ret = EPOLLERR;

	if (!cpumask_test_cpu(cpu, buffer->cpumask))
		return ret;
	cpu_buffer = buffer->buffers[cpu];

	mutex_lock(&cpu_buffer->mapping_lock);
	live = cpu_buffer->live;
	if (!live)
		goto out;

	ret = EPOLLIN | EPOLLRDNORM;
	mark = rb_live_mark(cpu_buffer, pos, percent);
	if (rb_live_enough(cpu_buffer, live, pos, mark))
		goto out;

	rb_live_arm(cpu_buffer, live, mark);
	if (!rb_live_enough(cpu_buffer, live, pos, mark))
		ret = 0;
	else
		/* The writer may have seen half of this mark: for the others */
		wake_up_all(&cpu_buffer->irq_work.poll_waiters);
 out:
	mutex_unlock(&cpu_buffer->mapping_lock);
	return ret;
}

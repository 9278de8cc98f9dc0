// SPDX-License-Identifier: GPL-2.0
/*
 * Live index: what user space needs to follow a CPU's buffer while it is
 * written, without a system call and without consuming.
 *
 * This file is included in ring_buffer.c. An index is memory in which the writer
 * says in which sub-buffer it is, and what it left in the others; user space maps
 * it read-only, with the sub-buffers behind it. An observer looks at bytes first
 * and learns from the index afterwards whether they were what it took them for.
 * ring_buffer_observer.c knows the observers; the writer does not.
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
 *		changed. Pairs with the observer's CHECK: an observer that has seen
 *		a byte of the new generation sees that generation.
 *   [COMMIT]	bytes, before the commit word that covers them. Pairs with the
 *		observer's load of the commit word.
 *   [LEAVE]	an entry's size, next_id, and the next one's before and
 *		overwritten, before commit_generation that makes them valid.
 *		Pairs with the observer's load of commit_generation.
 *   [LEFT]	commit_generation, before commit_page. Pairs with the smp_mb() of
 *		the readers of the ring buffer, which change or mark a commit word
 *		only after the page is final: an observer that has seen their
 *		marks, or a cleared word, sees at CHECK that commit_generation has
 *		moved. Where the tail goes around to such a page, the full barrier
 *		of the cmpxchg() that moves the head orders it.
 *   [RESET]	the odd epoch, before generations are taken away; those, before
 *		pages are cleared; all of it, before the epoch is even again. Pairs
 *		with CHECK, and with the observer's load of the epoch.
 *
 * Life of an index. The first observer of a CPU's buffer makes it. It stays with
 * the buffer, and the writer keeps it up to date, until the buffer is resized or
 * freed. So it costs the watched CPU a work item, and one more when it is taken
 * away, however many observers come.
 * The index is taken away by rb_live_drop(), which runs on the writer's CPU in a
 * work item, or after one on each CPU while writers are kept away: a writer has
 * preemption off from its look at cpu_buffer->live to its last store, so no writer
 * of that CPU is in between then. An RCU grace period would not do: functions are
 * traced where RCU does not watch, too.
 *
 * Locks: cpu_buffer->live_lock lets one caller at a time make an index. The
 * index itself is written by the writer, and under reader_lock by those who empty
 * or read the buffer, each in fields of their own.
 */

#include <linux/hrtimer.h>
#include <linux/rbtree.h>
#include <linux/vmalloc.h>
#include <uapi/linux/trace_live.h>

static_assert(sizeof(struct trace_live_subbuf) == 32);
static_assert(offsetof(struct trace_live_subbuf, size) == 24);
static_assert(offsetof(struct trace_live_index, epoch) == 56);
static_assert(offsetof(struct trace_live_index, commit_generation) == 64);
static_assert(offsetof(struct trace_live_index, dropped) == 80);
static_assert(offsetof(struct trace_live_index, read) == 128);
static_assert(sizeof(struct trace_live_index) == 192);

/* Sub-buffers that are described at a time, with interrupts off, but for the last try */
#define RB_LIVE_CHUNK		64

/* How often to begin again when what was described is gone already */
#define RB_LIVE_TRIES		10

/* How often a value that moves is looked at before it is left for later */
#define RB_LIVE_LOOKS		100

/**
 * struct rb_live_wait - the observers that sleep, see ring_buffer_observer.c
 * @lock: protects all of it; the writer reads the mark, @sleepers and @cpu without
 * @sleepers: the observers that wait for a mark, the nearest first
 * @timing: the timer is started
 * @asked: the writer was told something since it was started
 * @cpu: where the last of them was that was not on the watched CPU; that one if all
 *	 of them were
 * @generation: of the nearest mark, its lower bits
 * @commit: of the same, the bytes that have to be committed there
 * @work: wakes sleepers
 * @timer: looks once more whether there is something
 */
struct rb_live_wait {
	spinlock_t		lock;		/* see above */
	struct rb_root_cached	sleepers;
	bool			timing;
	bool			asked;
	int			cpu;
	unsigned long		generation;
	unsigned int		commit;
	struct irq_work		work;
	struct hrtimer		timer;
};

/**
 * struct rb_live - the live index of a CPU's buffer
 * @cpu_buffer: the buffer
 * @index: the mapped memory
 * @subbufs: the entries in it, by id
 * @pages: the sub-buffers, by id
 * @index_pages: how many pages @index has
 * @work: describes what is in the buffer, on its CPU
 * @begun: it has run
 * @error: what came of it
 * @wait: the observers that sleep
 */
struct rb_live {
	struct ring_buffer_per_cpu	*cpu_buffer;
	struct trace_live_index		*index;
	struct trace_live_subbuf	*subbufs;
	struct buffer_page		**pages;
	unsigned long			index_pages;
	struct work_struct		work;
	struct completion		begun;
	int				error;
	struct rb_live_wait		wait;
};

static void rb_live_wait_init(struct rb_live *live);
static void rb_live_wait_end(struct rb_live *live);
static void rb_live_mark_near(struct rb_live *live, unsigned long generation);
static void rb_live_wake_all(struct rb_live *live);

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

/*
 * A generation or an epoch, of which no more than a lower half of 0xffffffff may
 * be seen while its halves are stored one by one: trace_live.h says how it is
 * loaded. The upper half changes once in 2^32.
 */
static void rb_live_store64(__u64 *shown, u64 value)
{
#if BITS_PER_LONG == 64
	WRITE_ONCE(*shown, value);
#else
	u32 *half = (u32 *)shown;
	const int low = IS_ENABLED(CONFIG_CPU_BIG_ENDIAN);

	if (half[!low] != upper_32_bits(value)) {
		WRITE_ONCE(half[low], U32_MAX);
		smp_wmb();	/* Pairs with the observer's loads of both halves */
		WRITE_ONCE(half[!low], upper_32_bits(value));
		smp_wmb();	/* The same */
	}
	WRITE_ONCE(half[low], lower_32_bits(value));
#endif
}

/* As another CPU, or a context that interrupts none of those that store it */
static u64 rb_live_see64(const __u64 *shown)
{
#if BITS_PER_LONG == 64
	return READ_ONCE(*shown);
#else
	const u32 *half = (const u32 *)shown;
	const int low = IS_ENABLED(CONFIG_CPU_BIG_ENDIAN);
	u32 upper, lower;
	int looks = 0;

	do {
		upper = READ_ONCE(half[!low]);
		smp_rmb();	/* Pairs with rb_live_store64() */
		lower = READ_ONCE(half[low]);
		smp_rmb();	/* The same */
	} while ((upper != READ_ONCE(half[!low]) || lower == U32_MAX) &&
		 looks++ < RB_LIVE_LOOKS);

	return (u64)upper << 32 | lower;
#endif
}

/* For the context that stores it, or one that keeps that away */
static u64 rb_live_load64(const __u64 *shown)
{
#if BITS_PER_LONG == 64
	return READ_ONCE(*shown);
#else
	const u32 *half = (const u32 *)shown;
	const int low = IS_ENABLED(CONFIG_CPU_BIG_ENDIAN);

	return (u64)READ_ONCE(half[!low]) << 32 | READ_ONCE(half[low]);
#endif
}

static noinline void __rb_live_enter(struct rb_live *live,
				     struct buffer_page *tail_page,
				     struct buffer_page *next_page)
{
	u64 generation = rb_live_load64(&live->subbufs[tail_page->live_id].generation);

	rb_live_store64(&live->subbufs[next_page->live_id].generation,
			generation + 1);
	/* [ENTER] Nothing of the next page is changed before */
	smp_wmb();
}

static void
rb_live_enter(struct ring_buffer_per_cpu *cpu_buffer,
	      struct buffer_page *tail_page, struct buffer_page *next_page)
{
	struct rb_live *live = READ_ONCE(cpu_buffer->live);

	if (unlikely(live))
		__rb_live_enter(live, tail_page, next_page);
}

/* Pages in the ring that are unread, the one just entered included */
static u32 rb_live_used(struct ring_buffer_per_cpu *cpu_buffer)
{
	long used = local_read(&cpu_buffer->pages_touched) -
		    local_read(&cpu_buffer->pages_lost) -
		    local_read(&cpu_buffer->pages_read) + 1;

	/* The counts drift apart where a full buffer is read without overwrite */
	return clamp_t(long, used, 1, cpu_buffer->nr_pages);
}

/*
 * Bytes of records on a page that the writer leaves. A discard may shorten it
 * after it got its padding: what lies behind belongs to no record then, and may
 * become the count of lost events.
 */
static unsigned int rb_live_page_size(struct buffer_page *bpage)
{
	unsigned int write = rb_page_write(bpage);

	return bpage->real_end ? min_t(unsigned long, bpage->real_end, write) : write;
}

/* @page is final, and @next follows it, with the next generation. */
static void rb_live_describe(struct rb_live *live, struct buffer_page *page,
			     struct buffer_page *next)
{
	struct trace_live_subbuf *left = &live->subbufs[page->live_id];

	WRITE_ONCE(left->size, rb_live_page_size(page));
	WRITE_ONCE(left->next_id, next->live_id);
	live->subbufs[next->live_id].before = left->before + rb_page_entries(page);
}

static noinline void __rb_live_leave(struct rb_live *live,
				     struct buffer_page *page,
				     struct buffer_page *next)
{
	struct ring_buffer_per_cpu *cpu_buffer = live->cpu_buffer;
	struct trace_live_index *index = live->index;
	u64 generation = rb_live_load64(&live->subbufs[page->live_id].generation) + 1;

	rb_live_describe(live, page, next);
	live->subbufs[next->live_id].overwritten =
		rb_overrun64(cpu_buffer, local_read(&cpu_buffer->overrun));
	WRITE_ONCE(index->used, rb_live_used(cpu_buffer));
	WRITE_ONCE(index->commit_id, next->live_id);
	/* [LEAVE] The above is there when the generation is seen */
	smp_wmb();
	rb_live_store64(&index->commit_generation, generation);

	rb_live_mark_near(live, generation);
}

static void
rb_live_leave(struct ring_buffer_per_cpu *cpu_buffer,
	      struct buffer_page *page, struct buffer_page *next)
{
	struct rb_live *live = READ_ONCE(cpu_buffer->live);

	if (unlikely(live))
		__rb_live_leave(live, page, next);
}

/*
 * Bring a 64-bit count up to date with a counter of a machine word. Nested
 * writers may get here in any order: the last one to store agrees.
 */
static void rb_live_count(__u64 *shown, local_t *count)
{
	unsigned long now, was;

	do {
		now = local_read(count);
		was = (unsigned long)rb_live_load64(shown);
		rb_live_store64(shown, rb_live_load64(shown) + (now - was));
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

/* What consumers have taken. Called at the end of whatever reads. */
static void rb_reader_moved(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live = cpu_buffer->live;

	lockdep_assert_held(&cpu_buffer->reader_lock);

	if (!live)
		return;

	rb_live_store64(&live->index->read, rb_read64(cpu_buffer));
	WRITE_ONCE(live->index->reader_id, cpu_buffer->reader_page->live_id);
	WRITE_ONCE(live->index->reader_read, cpu_buffer->reader_page->read);
}

/* The memory of the reader page was given away: there is nothing on it now. */
static void rb_live_given_away(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live = cpu_buffer->live;

	lockdep_assert_held(&cpu_buffer->reader_lock);

	if (live)
		rb_live_store64(&live->subbufs[cpu_buffer->reader_page->live_id].generation, 0);
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

	rb_live_store64(&live->index->epoch, live->index->epoch + 1);
	/* [RESET] A generation taken away is not taken for an overwritten one */
	smp_wmb();
	for (id = 0; id < live->index->nr_subbufs; id++)
		rb_live_store64(&live->subbufs[id].generation, 0);
	/* [RESET] Nothing is cleared before */
	smp_wmb();
}

/* It is empty. The first page of the ring is where writers begin anew. */
static void rb_live_reset_end(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct buffer_page *first = cpu_buffer->commit_page;
	struct rb_live *live = cpu_buffer->live;
	struct trace_live_index *index;
	u64 generation;

	if (!live)
		return;

	index = live->index;
	/* The tail was where the commit was: no event was being written */
	generation = rb_live_load64(&index->commit_generation) + 1;
	rb_live_store64(&live->subbufs[first->live_id].generation, generation);
	live->subbufs[first->live_id].before = 0;
	live->subbufs[first->live_id].overwritten = 0;
	index->dropped = 0;
	index->commit_overrun = 0;
	WRITE_ONCE(index->used, 1);
	WRITE_ONCE(index->commit_id, first->live_id);
	rb_live_store64(&index->commit_generation, generation);
	rb_reader_moved(cpu_buffer);
	/* [RESET] All that the new epoch begins with is there before it */
	smp_wmb();
	rb_live_store64(&index->epoch, index->epoch + 1);

	rb_live_wake_all(live);
}

/**
 * struct rb_live_walk - how far the sub-buffers are described
 * @live: the index
 * @page: the last one that is
 * @described: how many are
 * @gone: how many had been read or lost when it began
 * @limit: how many to describe at a time
 */
struct rb_live_walk {
	struct rb_live		*live;
	struct buffer_page	*page;
	unsigned long		described;
	unsigned long		gone;
	unsigned long		limit;
};

static unsigned long rb_live_gone(struct ring_buffer_per_cpu *cpu_buffer)
{
	return local_read(&cpu_buffer->pages_read) +
	       local_read(&cpu_buffer->pages_lost);
}

/*
 * Begin with the reader page if there is something on it, else with the head. No
 * event is being written, so the counters are exact.
 */
static bool rb_live_walk_begin(struct rb_live_walk *walk)
{
	struct rb_live *live = walk->live;
	struct ring_buffer_per_cpu *cpu_buffer = live->cpu_buffer;
	struct buffer_page *first = cpu_buffer->reader_page;
	struct trace_live_subbuf *subbuf;
	u64 before;

	before = rb_read64(cpu_buffer) -
		 (cpu_buffer->read - cpu_buffer->reader_first);
	if (rb_page_write(first) || first == cpu_buffer->commit_page) {
		before += cpu_buffer->reader_overrun;
	} else {
		before += rb_overrun64(cpu_buffer, local_read(&cpu_buffer->overrun));
		first = rb_set_head_page(cpu_buffer);
		if (!first)
			return false;
	}

	subbuf = &live->subbufs[first->live_id];
	subbuf->generation = live->index->commit_generation + 1;
	subbuf->before = before;
	subbuf->overwritten = 0;

	walk->page = first;
	walk->described = 1;
	walk->gone = rb_live_gone(cpu_buffer);

	return true;
}

/* From the reader page to the head, events may be missing. */
static u64 rb_live_before_head(struct ring_buffer_per_cpu *cpu_buffer)
{
	u64 first = rb_read64(cpu_buffer) -
		    (cpu_buffer->read - cpu_buffer->reader_first);

	return first + rb_page_entries(cpu_buffer->reader_page) +
	       rb_overrun64(cpu_buffer, local_read(&cpu_buffer->overrun));
}

/* Describe the next sub-buffer, with the next generation. */
static bool rb_live_walk_step(struct rb_live_walk *walk)
{
	struct rb_live *live = walk->live;
	struct ring_buffer_per_cpu *cpu_buffer = live->cpu_buffer;
	struct trace_live_subbuf *subbuf = &live->subbufs[walk->page->live_id];
	struct buffer_page *next = walk->page;
	u64 generation = subbuf->generation + 1;

	if (walk->page == cpu_buffer->reader_page) {
		next = rb_set_head_page(cpu_buffer);
		if (!next)
			return false;
	} else {
		rb_inc_page(&next);
	}

	rb_live_describe(live, walk->page, next);
	subbuf = &live->subbufs[next->live_id];
	if (walk->page == cpu_buffer->reader_page)
		subbuf->before = rb_live_before_head(cpu_buffer);
	subbuf->generation = generation;
	subbuf->overwritten = 0;

	walk->page = next;
	walk->described++;

	return true;
}

/*
 * All is described up to the page that is written: let the writer go on from
 * there. No writer is on its way, but for an NMI: if one has written while this
 * was done, begin again.
 */
static bool rb_live_publish(struct rb_live *live, struct buffer_page *commit)
{
	struct ring_buffer_per_cpu *cpu_buffer = live->cpu_buffer;
	struct trace_live_subbuf *subbuf = &live->subbufs[commit->live_id];
	struct trace_live_index *index = live->index;
	unsigned long commits = local_read(&cpu_buffer->commits);

	barrier();
	if (commit != cpu_buffer->tail_page ||
	    subbuf->before != rb_entries64(cpu_buffer) - rb_page_entries(commit))
		return false;

	subbuf->overwritten =
		rb_overrun64(cpu_buffer, local_read(&cpu_buffer->overrun));
	index->dropped = local_read(&cpu_buffer->dropped_events);
	index->commit_overrun = local_read(&cpu_buffer->commit_overrun);
	index->used = rb_live_used(cpu_buffer);
	index->commit_id = commit->live_id;
	index->commit_generation = subbuf->generation;

	WRITE_ONCE(cpu_buffer->live, live);
	barrier();
	if (commits == local_read(&cpu_buffer->commits)) {
		rb_reader_moved(cpu_buffer);
		return true;
	}

	WRITE_ONCE(cpu_buffer->live, NULL);
	return false;
}

/*
 * Describe what comes next, with interrupts off. Returns 1 when all is done, 0
 * if there is more, and -EAGAIN if what was described is gone: consumers or the
 * writer have come as far as the walk.
 */
static int rb_live_walk_on(struct rb_live_walk *walk)
{
	struct ring_buffer_per_cpu *cpu_buffer = walk->live->cpu_buffer;
	unsigned long left = walk->limit;

	lockdep_assert_held(&cpu_buffer->reader_lock);

	if (!walk->described && !rb_live_walk_begin(walk))
		return -EAGAIN;
	if (rb_live_gone(cpu_buffer) - walk->gone >= walk->described)
		return -EAGAIN;

	while (walk->page != cpu_buffer->commit_page) {
		if (!left--)
			return 0;
		if (walk->described > cpu_buffer->nr_pages ||
		    !rb_live_walk_step(walk))
			return -EAGAIN;
	}

	return rb_live_publish(walk->live, walk->page) ? 1 : -EAGAIN;
}

/* As if it were just allocated. The generations of another try are not valid. */
static void rb_live_blank(struct rb_live *live)
{
	u32 id;

	for (id = 0; id < live->index->nr_subbufs; id++) {
		live->subbufs[id].generation = 0;
		cond_resched();
	}
}

/*
 * Describe the sub-buffers that hold something, from the oldest to the one that
 * is written, and let the writer go on. This runs on the writer's CPU in a work
 * item, or that CPU is offline: no writer is interrupted by it. Interrupts come
 * between one chunk and the next.
 */
static int rb_live_begin(struct rb_live *live)
{
	struct rb_live_walk walk = { .live = live, .limit = RB_LIVE_CHUNK };
	unsigned long flags;
	int tries = 0, ret;

	do {
		raw_spin_lock_irqsave(&live->cpu_buffer->reader_lock, flags);
		ret = rb_live_walk_on(&walk);
		raw_spin_unlock_irqrestore(&live->cpu_buffer->reader_lock, flags);

		if (ret == -EAGAIN) {
			rb_live_blank(live);
			walk.described = 0;
			/* The last try is one chunk: nothing but an NMI is quicker */
			if (++tries == RB_LIVE_TRIES - 1)
				walk.limit = ULONG_MAX;
		}
		cond_resched();
	} while (ret <= 0 && tries < RB_LIVE_TRIES);

	return ret < 0 ? ret : 0;
}

static void rb_live_begin_work(struct work_struct *work)
{
	struct rb_live *live = container_of(work, struct rb_live, work);

	live->error = rb_live_begin(live);
	complete(&live->begun);
}

/*
 * A CPU that a real-time task keeps for itself may never come to the work item, so
 * the caller can be killed before it begins.
 */
static int rb_live_begin_on(struct rb_live *live, int cpu)
{
	init_completion(&live->begun);
	INIT_WORK(&live->work, rb_live_begin_work);
	schedule_work_on(cpu, &live->work);
	if (wait_for_completion_killable(&live->begun)) {
		if (cancel_work(&live->work))
			return -EINTR;
		wait_for_completion(&live->begun);
	}
	/* It is done with the memory that it lies in */
	flush_work(&live->work);

	return live->error;
}

/*
 * Give each sub-buffer a number that it keeps as long as the index is there. The
 * caller holds a mapping, which lists them.
 */
static void rb_live_number(struct rb_live *live)
{
	struct ring_buffer_per_cpu *cpu_buffer = live->cpu_buffer;
	unsigned long id;

	for (id = 0; id <= cpu_buffer->nr_pages; id++) {
		live->pages[id] = cpu_buffer->subbufs[id];
		live->pages[id]->live_id = id;
		cond_resched();
	}
}

static void rb_live_free(struct rb_live *live)
{
	kvfree(live->pages);
	vfree(live->index);
	vfree(live);
}

/* What never changes. The others begin as 0. */
static void rb_live_init_index(struct rb_live *live)
{
	struct ring_buffer_per_cpu *cpu_buffer = live->cpu_buffer;
	unsigned int order = cpu_buffer->buffer->subbuf_order;
	struct trace_live_index *index = live->index;

	index->struct_len = sizeof(*index);
	index->entry_size = sizeof(struct trace_live_subbuf);
	index->entries_offset = sizeof(*index);
	index->subbufs_offset = (u64)live->index_pages << PAGE_SHIFT;
	index->nr_subbufs = cpu_buffer->nr_pages + 1;
	index->subbuf_size = PAGE_SIZE << order;
	index->mapping_size = index->subbufs_offset +
			      (u64)index->nr_subbufs * index->subbuf_size;
	index->data_offset = BUF_PAGE_HDR_SIZE;
	index->commit_offset = offsetof(struct buffer_data_page, commit);
	index->commit_size = sizeof_field(struct buffer_data_page, commit);
	/* A position in another index shall not pass for one in this */
	index->epoch = cpu_buffer->live_epoch + 2;
}

static struct rb_live *rb_live_alloc(struct ring_buffer_per_cpu *cpu_buffer)
{
	unsigned long nr_subbufs = cpu_buffer->nr_pages + 1;
	struct rb_live *live;
	size_t size;

	size = size_add(sizeof(*live->index),
			size_mul(nr_subbufs, sizeof(*live->subbufs)));
	if (size > SIZE_MAX - PAGE_SIZE || nr_subbufs > U32_MAX)
		return NULL;

	/* Not from a slab: for that, irq_work_queue_on() has KASAN take a lock */
	live = vzalloc(sizeof(*live));
	if (!live)
		return NULL;

	live->cpu_buffer = cpu_buffer;
	live->index_pages = DIV_ROUND_UP(size, PAGE_SIZE);
	live->pages = kvcalloc(nr_subbufs, sizeof(*live->pages), GFP_KERNEL);
	live->index = vmalloc_user(live->index_pages << PAGE_SHIFT);
	if (!live->pages || !live->index) {
		rb_live_free(live);
		return NULL;
	}

	live->subbufs = (void *)(live->index + 1);
	rb_live_init_index(live);
	rb_live_wait_init(live);

	return live;
}

/* From no index to one. */
static int rb_live_make(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live;
	int ret;

	lockdep_assert_cpus_held();
	lockdep_assert_held(&cpu_buffer->live_lock);

	live = rb_live_alloc(cpu_buffer);
	if (!live)
		return -ENOMEM;

	rb_live_number(live);
	if (cpu_online(cpu_buffer->cpu))
		ret = rb_live_begin_on(live, cpu_buffer->cpu);
	else
		ret = rb_live_begin(live);
	if (ret)
		rb_live_free(live);

	return ret == -EAGAIN ? -EBUSY : ret;
}

/*
 * The sub-buffers are about to change, or to go. There is no observer. This runs
 * on the writer's CPU in a work item, or writers are gone for good: no writer is
 * still at the index afterwards.
 */
static void rb_live_drop(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live;
	unsigned long flags;

	/* A reset and readers hold it, too, and use the index */
	raw_spin_lock_irqsave(&cpu_buffer->reader_lock, flags);
	live = cpu_buffer->live;
	WRITE_ONCE(cpu_buffer->live, NULL);
	if (live)
		cpu_buffer->live_epoch = live->index->epoch;
	WRITE_ONCE(cpu_buffer->irq_work.live_pending, false);
	raw_spin_unlock_irqrestore(&cpu_buffer->reader_lock, flags);

	if (!live)
		return;

	rb_live_wait_end(live);
	rb_live_free(live);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Live index: what user space needs to follow a CPU's buffer while it is
 * written, without a system call and without consuming.
 *
 * This file is included in ring_buffer.c. An index is memory in which the writer
 * stores which sub-buffer it is in, and what it has left in the others. User space
 * maps the index read-only, followed by the sub-buffers. An observer reads bytes of
 * a sub-buffer first, and then checks in the index that they are valid. The writer
 * does not know how many observers there are. How they sleep until there is more is
 * in ring_buffer_observer.c.
 *
 * The writer updates the index at two places, which it reaches once per sub-buffer,
 * not once per event. Without an index, each of them costs a load of
 * cpu_buffer->live and a branch.
 *
 *   rb_live_enter()	the tail enters a sub-buffer, and nothing of it has changed
 *			yet: give it the next generation
 *   rb_live_leave()	the commit leaves a sub-buffer, and all of it is final:
 *			store its size, the next sub-buffer and the count of events
 *
 * Writers nest: a writer may be interrupted anywhere by other writers, which then
 * run to completion. So several of them may call rb_live_enter() for the same pair
 * of pages. They all store the same value: the first of them has an event to commit
 * on the tail page or before it, and until that is committed, the tail cannot come
 * around to either page. Only the outermost writer calls rb_live_leave(), when no
 * other writer has anything left to commit.
 *
 * The ordered stores, by label. The observer's loads are in
 * include/uapi/linux/trace_live.h.
 *
 *   [ENTER]	stores a generation before the commit word and the bytes of that
 *		sub-buffer change. Pairs with the observer's CHECK: an observer that
 *		has read a byte of the new generation also sees its number.
 *   [COMMIT]	stores bytes before the commit word that covers them. Pairs with the
 *		observer's load of the commit word: an observer that sees the commit
 *		word also sees the bytes.
 *   [LEAVE]	stores size and next_id of an entry, and before and overwritten of
 *		the next one, before commit_generation, which makes them valid.
 *		Pairs with the observer's load of commit_generation: an observer
 *		that sees the new commit_generation also sees these fields.
 *   [LEFT]	stores commit_generation before commit_page. Pairs with the smp_mb()
 *		of readers of the ring buffer: they clear or mark the commit word of
 *		a page only after they have seen that commit_page has left it. So an
 *		observer that has read a mark or a cleared commit word sees at CHECK
 *		that commit_generation has moved on. When the tail comes around to
 *		such a page, the cmpxchg() that moves the head is the full barrier.
 *   [RESET]	stores an odd epoch before generations are set to 0, those before
 *		pages are cleared, and everything that the new epoch begins with
 *		before the even epoch. Pairs with CHECK and with the observer's load
 *		of the epoch: an observer that has read anything of the reset also
 *		sees that the epoch has changed, and one that sees the new even
 *		epoch also sees what it begins with.
 *
 * An observer is a reference to the buffer: while there is one, the buffer counts
 * as mapped.
 *
 * Life of an index. The first observer of a CPU's buffer makes the index. It stays
 * with the buffer, and the writer keeps it up to date, until the buffer is resized
 * or freed. So the watched CPU runs one work item when the index is made and one
 * when it is removed, however many observers come in between.
 *
 * rb_live_drop() removes the index. It runs in a task on the writer's CPU, or
 * after writers have been kept out for long enough to free sub-buffers. A writer
 * has preemption off from its load of cpu_buffer->live to its last store to the
 * index, so no writer is between the two when a task runs. A grace period does
 * not guarantee that if functions are also traced while RCU is not watching.
 *
 * Locks: cpu_buffer->live_lock lets one caller at a time make an index. The
 * writer stores to the index without a lock; readers and resets store to fields of
 * their own under reader_lock. wait.lock protects what concerns sleepers.
 */

#include <linux/cpu.h>
#include <linux/hrtimer.h>
#include <linux/rbtree.h>
#include <linux/vmalloc.h>
#include <uapi/linux/trace_live.h>

#include "ring_buffer_base.h"

static_assert(sizeof(struct trace_live_subbuf) == 32);
static_assert(offsetof(struct trace_live_subbuf, size) == 24);
static_assert(offsetof(struct trace_live_index, epoch) == 56);
static_assert(offsetof(struct trace_live_index, commit_generation) == 64);
static_assert(offsetof(struct trace_live_index, dropped) == 80);
static_assert(offsetof(struct trace_live_index, read) == 128);
static_assert(sizeof(struct trace_live_index) == 192);

/* How many sub-buffers to describe at a time with interrupts off, except in the last try */
#define RB_LIVE_CHUNK		64

/* How often to try, because sub-buffers may be consumed or overwritten meanwhile */
#define RB_LIVE_TRIES		10

/**
 * struct rb_live_wait - the observers that sleep, see ring_buffer_observer.c
 * @lock: protects all fields; the writer reads the mark, @sleepers and @cpu without it
 * @sleepers: the observers that wait for a mark, the nearest mark first
 * @timing: the timer is started
 * @asked: the writer was given a mark or a flag since the timer was started
 * @cpu: the CPU of the last sleeper that was not on the watched CPU, or the watched CPU
 *	 if all sleepers were there
 * @generation: the lower bits of the nearest mark's generation
 * @commit: the bytes that have to be committed there
 * @work: wakes sleepers
 * @timer: checks once more whether a mark is reached
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
 * @work: describes the contents of the buffer, on the CPU of the buffer
 * @begun: @work has run
 * @error: the result of @work
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

/* A place in the stream of all bytes ever committed */
struct rb_live_place {
	u64		generation;
	unsigned int	commit;
};

/**
 * struct ring_buffer_observer - an observer of a CPU's buffer
 * @cpu_buffer: the buffer
 * @live: its index
 * @queue: the tasks that sleep until there is more
 * @node: the node in the tree of sleepers, if @sleeps
 * @enough: the place where enough is committed
 * @mark: the place where a sleeper is woken: @enough, or another one while it is held
 * @epoch: the epoch of these places
 * @sleeps: whether it is a sleeper
 * @home: whether it has been on the watched CPU since its position was set
 * @held: whether it is a sleeper that is held, until @timer expires at the latest
 * @rested: the time when it has its whole burst of wake-ups again
 * @timer: ends the hold
 *
 * All but the first three are protected by @live->wait.lock.
 */
struct ring_buffer_observer {
	struct ring_buffer_per_cpu	*cpu_buffer;
	struct rb_live			*live;
	wait_queue_head_t		queue;
	struct rb_node			node;
	struct rb_live_place		enough;
	struct rb_live_place		mark;
	u64				epoch;
	bool				sleeps;
	bool				home;
	bool				held;
	ktime_t				rested;
	struct hrtimer			timer;
};

/* How observers sleep, see ring_buffer_observer.c */
static void rb_live_wait_init(struct rb_live *live);
static void rb_live_wait_end(struct rb_live *live);
static void rb_live_mark_near(struct rb_live *live, unsigned long generation);
static void rb_live_wake_all(struct rb_live *live);
static void rb_live_sleep_init(struct ring_buffer_observer *observer);
static void rb_live_sleep_end(struct ring_buffer_observer *observer);

/*
 * User space sees the kernel's stores only if both use the same lines of the data
 * cache. Otherwise the writer would have to flush lines at each store.
 */
static bool rb_live_supported(void)
{
#ifdef CONFIG_ARM
	return cache_is_vipt_nonaliasing();
#else
	return IS_ENABLED(CONFIG_RING_BUFFER_LIVE);
#endif
}

/*
 * Store a 64-bit field of the index. A 32-bit kernel stores the halves one by one.
 * While they do not belong together, the lower half is 0xffffffff. trace_live.h says
 * how an observer loads such a field. The upper half changes once in 2^32.
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
		/* These pair with the two smp_rmb() of rb_live_see64(), and of user space */
		smp_wmb();	/* If the new upper half is seen, the old lower half is not */
		WRITE_ONCE(half[!low], upper_32_bits(value));
		smp_wmb();	/* If the new lower half is seen, so is the new upper half */
	}
	WRITE_ONCE(half[low], lower_32_bits(value));
#endif
}

/* Load such a field in the context that stores to it, or while that context is kept out. */
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
	/*
	 * [ENTER] Pairs with the observer's CHECK: an observer that has read a byte
	 * of the new generation, which is stored after this, also sees its number.
	 */
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

/* The number of unread pages in the ring, the one just entered included */
static u32 rb_live_used(struct ring_buffer_per_cpu *cpu_buffer)
{
	long used = local_read(&cpu_buffer->pages_touched) -
		    local_read(&cpu_buffer->pages_lost) -
		    local_read(&cpu_buffer->pages_read) + 1;

	/* A resize that removes a page without events does not count it as lost */
	return clamp_t(long, used, 1, cpu_buffer->nr_pages);
}

/*
 * Bytes of records on a page that the writer leaves. A discard may shorten the page
 * after it was padded. Then the bytes behind the records belong to no record, and a
 * reader may store the number of lost events there.
 */
static unsigned int rb_live_page_size(struct buffer_page *bpage)
{
	unsigned int write = rb_page_write(bpage);

	return bpage->real_end ? min_t(unsigned long, bpage->real_end, write) : write;
}

/* Describe @page, which is final, and begin to describe @next, which follows it. */
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
	/*
	 * [LEAVE] Pairs with the observer's load of commit_generation: an observer
	 * that sees the new value also sees everything stored above.
	 */
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
 * Bring a 64-bit count up to date with a counter that is a machine word. Nested
 * writers may interrupt each other here, so loop until the two agree.
 */
static void rb_live_count(__u64 *shown, local_t *count)
{
	unsigned long now;
	u64 was;

	do {
		/* Load it first: a nested writer may store a later count than the one here */
		was = rb_live_load64(shown);
		barrier();
		now = local_read(count);
		rb_live_store64(shown, was + (now - (unsigned long)was));
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

/* Store how much consumers have taken. Every function that reads calls this at its end. */
static void rb_live_reader_moved(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live = cpu_buffer->live;

	lockdep_assert_held(&cpu_buffer->reader_lock);

	if (!live)
		return;

	rb_live_store64(&live->index->read, rb_read64(cpu_buffer));
	WRITE_ONCE(live->index->reader_id, cpu_buffer->reader_page->live_id);
	WRITE_ONCE(live->index->reader_read, cpu_buffer->reader_page->read);
}

/* The memory of the reader page was handed out and replaced by an empty page. */
static void rb_live_given_away(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live = cpu_buffer->live;

	lockdep_assert_held(&cpu_buffer->reader_lock);

	if (live)
		rb_live_store64(&live->subbufs[cpu_buffer->reader_page->live_id].generation, 0);
}

/*
 * Writers are kept out, and the buffer is about to be emptied. The epoch is odd
 * until rb_live_reset_end(). It changes before anything is cleared, so that an
 * observer that has read anything cleared finds the epoch changed and drops it.
 */
static void rb_live_reset_begin(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live = cpu_buffer->live;
	u32 id;

	if (!live)
		return;

	rb_live_store64(&live->index->epoch, live->index->epoch + 1);
	/*
	 * [RESET] Pairs with CHECK: an observer that sees a generation of 0 also sees
	 * the odd epoch, and does not mistake the sub-buffer for an overwritten one.
	 */
	smp_wmb();
	for (id = 0; id < live->index->nr_subbufs; id++)
		rb_live_store64(&live->subbufs[id].generation, 0);
	/*
	 * [RESET] Pairs with CHECK: an observer that has read anything of a page that
	 * is being cleared also sees the generation of 0 and the odd epoch.
	 */
	smp_wmb();
}

/* The buffer is empty. Writers begin again at the first page of the ring. */
static void rb_live_reset_end(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct buffer_page *first = cpu_buffer->commit_page;
	struct rb_live *live = cpu_buffer->live;
	struct trace_live_index *index;
	u64 generation;

	if (!live)
		return;

	index = live->index;
	/* No event was being written, so no generation is beyond this one */
	generation = rb_live_load64(&index->commit_generation) + 1;
	rb_live_store64(&live->subbufs[first->live_id].generation, generation);
	live->subbufs[first->live_id].before = 0;
	live->subbufs[first->live_id].overwritten = 0;
	index->dropped = 0;
	index->commit_overrun = 0;
	WRITE_ONCE(index->used, 1);
	WRITE_ONCE(index->commit_id, first->live_id);
	rb_live_store64(&index->commit_generation, generation);
	/*
	 * [RESET] Pairs with the observer's load of the epoch: an observer that sees
	 * the new epoch also sees everything that it begins with.
	 */
	smp_wmb();
	rb_live_store64(&index->epoch, index->epoch + 1);

	rb_live_wake_all(live);
}

/**
 * struct rb_live_walk - how far the sub-buffers are described
 * @live: the index
 * @page: the last sub-buffer that is described
 * @described: how many sub-buffers are described
 * @gone: how many sub-buffers had been read or lost when the walk began
 * @limit: how many sub-buffers to describe at a time
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
 * Begin with the reader page if there is anything on it, otherwise with the head
 * page. No event is being written, so the counters are exact.
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
		before += rb_reader_overrun(cpu_buffer);
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

/* Count the events before the head page, with those lost between the reader page and it. */
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
 * All sub-buffers up to the commit page are described: let the writer continue from
 * there. Only an NMI can write meanwhile. If one has, return false to begin again.
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
		rb_live_reader_moved(cpu_buffer);
		return true;
	}

	WRITE_ONCE(cpu_buffer->live, NULL);
	return false;
}

/*
 * Describe the next sub-buffers, with interrupts off. Returns 1 when all are
 * described, 0 if there are more, and -EAGAIN if the walk has to begin again because
 * consumers or the writer have caught up with it.
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

/* Clear the generations that a failed try has stored. */
static void rb_live_blank(struct rb_live *live)
{
	u32 id;

	for (id = 0; id < live->index->nr_subbufs; id++) {
		live->subbufs[id].generation = 0;
		cond_resched();
	}
}

/*
 * Describe the sub-buffers that hold events, from the oldest one to the commit page,
 * and let the writer continue. This runs in a work item on the writer's CPU, or while
 * that CPU is offline, so it never interrupts a writer. Interrupts are enabled
 * between two chunks.
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
			/* The last try is one chunk: only an NMI can get in its way */
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
 * A CPU that is busy with a real-time task may never run the work item. So the
 * caller can be killed until the work item begins.
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
	/* The caller may free the memory that holds the work item */
	flush_work(&live->work);

	return live->error;
}

/*
 * Give each sub-buffer a number that it keeps as long as the index exists. The
 * caller holds the sub-buffers.
 */
static void rb_live_number(struct rb_live *live)
{
	struct ring_buffer_per_cpu *cpu_buffer = live->cpu_buffer;
	unsigned long id;

	rb_find_subbufs(cpu_buffer, live->pages);
	for (id = 0; id <= cpu_buffer->nr_pages; id++) {
		live->pages[id] = rb_found_subbuf(cpu_buffer, live->pages, id);
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

/* Set the fields that never change, and the epoch. The others start at 0. */
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
	/* A position in an earlier index must not be valid in this one */
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

	/* Not from a slab: KASAN would take a lock for it in irq_work_queue_on() */
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

/* Make the index of a buffer that has none. */
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
 * Remove the index, because the sub-buffers are about to be replaced or freed. No
 * observer is left. This runs in a task on the writer's CPU, or while writers
 * are kept out, so no writer uses the index afterwards.
 */
static void rb_live_drop(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live;
	unsigned long flags;

	/* Readers and resets use the index under reader_lock */
	raw_spin_lock_irqsave(&cpu_buffer->reader_lock, flags);
	live = cpu_buffer->live;
	WRITE_ONCE(cpu_buffer->live, NULL);
	if (live)
		cpu_buffer->live_epoch = live->index->epoch;
	raw_spin_unlock_irqrestore(&cpu_buffer->reader_lock, flags);

	if (!live)
		return;

	rb_live_wait_end(live);
	rb_live_free(live);
}

/**
 * ring_buffer_observe - begin to observe a CPU's buffer
 * @buffer: the buffer to observe
 * @cpu: the CPU whose buffer to observe
 *
 * Until ring_buffer_observer_free() the buffer counts as mapped, see
 * ring_buffer_map(). The first observer makes the index, which takes a work item
 * on @cpu that disables interrupts for short times only. The index stays for later
 * observers until the buffer is resized.
 *
 * Context: Sleeps, killably while the work item waits for its turn. Takes what
 * rb_hold_subbufs() takes, cpus_read_lock() and cpu_buffer->live_lock.
 *
 * Return: the observer, or an ERR_PTR() of
 *   -EBUSY	    there are too many mappings to count, NMIs wrote to the buffer
 *		    during each try to make the index, or it is corrupt
 *   -EINTR	    the caller was killed
 *   -EINVAL	    there is no buffer for @cpu
 *   -ENODEV	    the ring buffer is in memory reserved at boot, or it was found
 *		    corrupt before the index was begun
 *   -ENOMEM	    no memory for the observer or the index
 *   -EOPNOTSUPP    the data caches of this machine may alias, so that user space
 *		    would not see what the kernel stores
 */
struct ring_buffer_observer *ring_buffer_observe(struct trace_buffer *buffer,
						 int cpu)
{
	struct ring_buffer_per_cpu *cpu_buffer;
	struct ring_buffer_observer *observer;
	int ret;

	if (!rb_live_supported())
		return ERR_PTR(-EOPNOTSUPP);

	observer = kzalloc(sizeof(*observer), GFP_KERNEL_ACCOUNT);
	if (!observer)
		return ERR_PTR(-ENOMEM);

	ret = rb_hold_subbufs(buffer, cpu);
	if (ret)
		goto out_free;

	cpu_buffer = buffer->buffers[cpu];
	cpus_read_lock();
	ret = mutex_lock_killable(&cpu_buffer->live_lock);
	if (!ret) {
		if (!cpu_buffer->live)
			ret = rb_live_make(cpu_buffer);
		mutex_unlock(&cpu_buffer->live_lock);
	}
	cpus_read_unlock();
	if (ret)
		goto out_release;

	observer->cpu_buffer = cpu_buffer;
	observer->live = cpu_buffer->live;
	rb_live_sleep_init(observer);

	return observer;

 out_release:
	rb_release_subbufs(buffer, cpu);
 out_free:
	kfree(observer);
	return ERR_PTR(ret);
}

/**
 * ring_buffer_observer_free - end an observer
 * @observer: the observer; no task sleeps on it
 *
 * Context: May sleep. Takes observer->live->wait.lock and what rb_release_subbufs() takes.
 */
void ring_buffer_observer_free(struct ring_buffer_observer *observer)
{
	struct ring_buffer_per_cpu *cpu_buffer = observer->cpu_buffer;

	rb_live_sleep_end(observer);
	kfree(observer);
	rb_release_subbufs(cpu_buffer->buffer, cpu_buffer->cpu);
}

/**
 * ring_buffer_observer_size - get the size of an observer's whole mapping
 * @observer: the observer
 *
 * Context: Any.
 *
 * Return: the pages of the index and of all sub-buffers together.
 */
unsigned long ring_buffer_observer_size(struct ring_buffer_observer *observer)
{
	struct ring_buffer_per_cpu *cpu_buffer = observer->cpu_buffer;

	return observer->live->index_pages +
	       ((cpu_buffer->nr_pages + 1) << cpu_buffer->buffer->subbuf_order);
}

/**
 * ring_buffer_observer_page - find a page of an observer's mapping
 * @observer: the observer
 * @pgoff: the page's number, from the start of the index, below
 *	   ring_buffer_observer_size()
 *
 * Context: Any.
 *
 * Return: the page.
 */
struct page *ring_buffer_observer_page(struct ring_buffer_observer *observer,
				       unsigned long pgoff)
{
	unsigned int order = observer->cpu_buffer->buffer->subbuf_order;
	struct rb_live *live = observer->live;

	if (pgoff < live->index_pages)
		return vmalloc_to_page((void *)live->index + (pgoff << PAGE_SHIFT));

	pgoff -= live->index_pages;

	return virt_to_page(live->pages[pgoff >> order]->page) +
	       (pgoff & ((1UL << order) - 1));
}

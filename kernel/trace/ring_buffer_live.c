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
 * Each sub-buffer that the writer enters gets the next generation. The generation g
 * is described by slot g % nr_slots, where nr_slots is the number of places in the
 * ring. The writer enters one place after the other. A reader that takes a page out
 * of the ring puts it in again at the place of a page with a later generation. So
 * the page of generation g is entered again at g + nr_slots at the earliest, and its
 * slot is overwritten before any byte of it is.
 *
 * The writer updates the index at two places, which it reaches once per sub-buffer,
 * not once per event.
 *
 *   rb_live_enter()	the tail enters a sub-buffer, and nothing of it has changed
 *			yet: give it the next generation
 *   rb_live_leave()	the commit leaves a sub-buffer, and all of it is final:
 *			store its size, and the count of events before the next one
 *
 * Writers nest: a writer may be interrupted anywhere by other writers, which then
 * run to completion. So several of them may call rb_live_enter() for the same pair
 * of pages. They all store the same values: the first of them has an event to commit
 * on the tail page or before it, and until that is committed, the tail cannot come
 * around to the next page. It can get as far as the slot of the tail page, if the
 * commit is on the reader page, which has no place in the ring. Then that slot
 * describes a generation that is not committed yet, and the observers of the old one
 * wait. Only the outermost writer calls rb_live_leave(), when no other writer has
 * anything left to commit.
 *
 * The ordered stores, by label. The observer's loads are shown in
 * Documentation/trace/ring-buffer-live.rst.
 *
 *   [ENTER]	stores a generation before the id in its entry, and before the commit
 *		word and the bytes of that sub-buffer change. Pairs with the
 *		observer's CHECK: an observer that has read any of these of the new
 *		generation also sees its number.
 *   [COMMIT]	stores bytes before the commit word that covers them. Pairs with the
 *		observer's load of the commit word: an observer that sees the commit
 *		word also sees the bytes.
 *   [LEAVE]	stores the size of an entry, and before and id of the next one, before
 *		commit_generation, which makes them valid. Pairs with the observer's
 *		load of commit_generation: an observer that sees the new
 *		commit_generation also sees these fields.
 *   [GONE]	stores commit_generation before commit_page. Pairs with the smp_mb()
 *		of readers of the ring buffer: they clear the commit word of a page,
 *		or set a flag in it, only after they have seen that commit_page has
 *		left the page. So an observer that has read such a word sees at CHECK
 *		that commit_generation has moved on. When the tail comes around to
 *		such a page, the cmpxchg() that moves the head is the full barrier.
 *   [RESET]	stores the new first before a page is cleared, and everything that
 *		the buffer begins with before commit_generation reaches first. Pairs
 *		with CHECK: an observer that has read anything of the reset also sees
 *		that first has changed. Pairs with the observer's load of
 *		commit_generation, as [LEAVE] does.
 *
 * Life of an index. It is allocated with the sub-buffers and freed with them: by a
 * resize and by another sub-buffer size, too, which an observer holds off. If there
 * is no memory for it, the buffer has none. A writer has preemption off from its load
 * of cpu_buffer->live to its last store to the index. rb_live_renew() is called where
 * the pages themselves are exchanged, so that no writer uses the old index afterwards:
 * in a task on the writer's CPU, while that CPU is offline, or with writers kept out.
 *
 * Locks: the writer stores to the index without a lock. Readers and resets store to
 * fields of their own under reader_lock, and an index is exchanged under it.
 */

#include <linux/hrtimer.h>
#include <linux/rbtree.h>
#include <linux/vmalloc.h>
#include <uapi/linux/trace_live.h>

#include "ring_buffer_base.h"

static_assert(sizeof(struct trace_live_subbuf) == 24);
static_assert(offsetof(struct trace_live_index, first) == 64);
static_assert(offsetof(struct trace_live_index, read) == 128);
static_assert(sizeof(struct trace_live_index) == 192);
static_assert(sizeof(struct trace_live_position) == 24);

/**
 * struct rb_sleepers - the observers that sleep, see ring_buffer_observer.c
 * @lock: protects all fields; the writer reads @mark without it
 * @tree: the observers that wait for a mark, the nearest mark first
 * @mark: the nearest mark, as the writer knows it; U64_MAX if the writer has none,
 *	  because no observer sleeps or the next round has to wait
 * @next: the time when the next round may begin
 * @work: wakes sleepers, on the watched CPU
 * @timer: looks at the commit once more, or ends a rest
 */
struct rb_sleepers {
	spinlock_t		lock;		/* see above */
	struct rb_root_cached	tree;
	u64			mark;
	ktime_t			next;
	struct irq_work		work;
	struct hrtimer		timer;
};

/**
 * struct rb_live - the live index of a CPU's buffer
 * @cpu_buffer: the buffer
 * @index: the mapped memory
 * @entries: the entries in it, by slot
 * @stride: by how much the places of two generations differ, see rb_live_place()
 * @sleepers: the observers that wait, see ring_buffer_observer.c
 * @slots: the slots that describe the sub-buffers, by id
 * @pages: the sub-buffers, by id
 */
struct rb_live {
	struct ring_buffer_per_cpu	*cpu_buffer;
	struct trace_live_index		*index;
	struct trace_live_subbuf	*entries;
	u64				stride;
	struct rb_sleepers		sleepers;
	u32				*slots;
	struct buffer_page		*pages[];
};

/* How observers sleep, see ring_buffer_observer.c */
static void rb_sleepers_init(struct rb_sleepers *sleepers);
static void rb_sleepers_commit_enters(struct rb_live *live, u64 generation);

/* Return the entry that describes @generation. */
static struct trace_live_subbuf *rb_live_slot(struct rb_live *live, u64 generation)
{
	return &live->entries[generation % live->index->nr_slots];
}

/*
 * Return the entry that has described @page since the writer entered it, or any other
 * one if the writer has not entered @page since the index was made.
 */
static struct trace_live_subbuf *rb_live_entry(struct rb_live *live,
					       struct buffer_page *page)
{
	return &live->entries[READ_ONCE(live->slots[page->live_id])];
}

/* The tail is about to enter @next_page. */
static void rb_live_enter(struct ring_buffer_per_cpu *cpu_buffer,
			  struct buffer_page *tail_page,
			  struct buffer_page *next_page)
{
	struct rb_live *live = READ_ONCE(cpu_buffer->live);
	struct trace_live_subbuf *entry;
	u64 generation;

	if (!live)
		return;

	generation = READ_ONCE(rb_live_entry(live, tail_page)->generation) + 1;
	barrier();
	/* An interrupt has done all of this, and may have reached the slot of the tail page */
	if (tail_page != READ_ONCE(cpu_buffer->tail_page))
		return;

	entry = rb_live_slot(live, generation);
	WRITE_ONCE(entry->generation, generation);
	/*
	 * [ENTER] Pairs with the observer's CHECK: an observer that has read the id
	 * or a byte of the new generation, which are stored after this, also sees
	 * its number.
	 */
	smp_wmb();
	WRITE_ONCE(entry->id, next_page->live_id);
	WRITE_ONCE(live->slots[next_page->live_id], entry - live->entries);
}

/* The commit is about to leave @page, which is final and all committed, for @next. */
static void rb_live_leave(struct ring_buffer_per_cpu *cpu_buffer,
			  struct buffer_page *page, struct buffer_page *next)
{
	struct rb_live *live = READ_ONCE(cpu_buffer->live);
	struct trace_live_subbuf *left, *entered;

	if (!live)
		return;

	left = rb_live_entry(live, page);
	entered = rb_live_entry(live, next);
	WRITE_ONCE(left->size, rb_page_commit(page));
	WRITE_ONCE(entered->before, next->before);
	WRITE_ONCE(live->index->overwritten, local_read(&cpu_buffer->overrun));
	/*
	 * [LEAVE] Pairs with the observer's load of commit_generation: an observer
	 * that sees the new value also sees everything stored above.
	 */
	smp_store_release(&live->index->commit_generation, entered->generation);

	rb_sleepers_commit_enters(live, entered->generation);
}

/* The writer has no room for an event. Nested writers do not disturb a local_inc(). */
static void rb_live_dropped(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live = READ_ONCE(cpu_buffer->live);

	if (live)
		local_inc((local_t *)&live->index->dropped);
}

/* Store how much consumers have taken. Every function that reads calls this at its end. */
static void rb_live_reader_moved(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live = cpu_buffer->live;

	lockdep_assert_held(&cpu_buffer->reader_lock);

	if (live)
		WRITE_ONCE(live->index->read, cpu_buffer->read);
}

/*
 * The memory of the reader page, which the writer has left, was handed out and
 * replaced by an empty page. There is no observer. Later ones begin behind it, unless
 * the writer has overwritten its slot since.
 */
static void rb_live_given_away(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct buffer_page *reader = cpu_buffer->reader_page;
	struct rb_live *live = cpu_buffer->live;
	struct trace_live_subbuf *entry;
	u64 generation;

	lockdep_assert_held(&cpu_buffer->reader_lock);

	if (!live)
		return;

	entry = rb_live_entry(live, reader);
	generation = READ_ONCE(entry->generation);
	/*
	 * Pairs with [LEAVE]: if commit_generation is beyond the generation, the id
	 * that was stored with that generation, or a later one, is seen below.
	 */
	if (generation < smp_load_acquire(&live->index->commit_generation) &&
	    READ_ONCE(entry->id) == reader->live_id)
		WRITE_ONCE(live->index->first, generation + 1);
}

/*
 * Return the generation that an empty buffer begins with, and whatever comes after
 * @index. It is beyond all places that an observer may sleep for, the last of which is
 * the end of a whole ring behind the commit.
 */
static u64 rb_live_next_first(const struct trace_live_index *index)
{
	return index->commit_generation + index->nr_slots + 2;
}

/*
 * Writers are kept out, and the buffer is about to be emptied. Until
 * rb_live_reset_end(), first is beyond commit_generation, and every place that an
 * observer sleeps for is due when the buffer is empty.
 */
static void rb_live_reset_begin(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live = cpu_buffer->live;

	if (!live)
		return;

	WRITE_ONCE(live->index->first, rb_live_next_first(live->index));
	/*
	 * [RESET] Pairs with CHECK: an observer that has read anything of a page that
	 * is being cleared also sees the new first.
	 */
	smp_wmb();
}

/*
 * Let the commit page be the first generation, with the counts that the buffer has now.
 * Writers do not use the index, but an NMI may write.
 */
static void rb_live_begin(struct rb_live *live)
{
	struct ring_buffer_per_cpu *cpu_buffer = live->cpu_buffer;
	struct buffer_page *commit = cpu_buffer->commit_page;
	struct trace_live_index *index = live->index;
	struct trace_live_subbuf *entry = rb_live_slot(live, index->first);

	WRITE_ONCE(index->overwritten, local_read(&cpu_buffer->overrun));
	WRITE_ONCE(index->dropped, local_read(&cpu_buffer->dropped_events) +
				   local_read(&cpu_buffer->commit_overrun));
	WRITE_ONCE(index->read, cpu_buffer->read);

	live->slots[commit->live_id] = entry - live->entries;
	WRITE_ONCE(entry->generation, index->first);
	WRITE_ONCE(entry->id, commit->live_id);
	WRITE_ONCE(entry->before, commit->before);
	/* [RESET] An observer that sees this commit_generation sees the rest, too */
	smp_store_release(&index->commit_generation, index->first);
}

/* The buffer is empty. Writers begin again at the first page of the ring. */
static void rb_live_reset_end(struct ring_buffer_per_cpu *cpu_buffer)
{
	if (cpu_buffer->live)
		rb_live_begin(cpu_buffer->live);

	rb_live_look_soon(cpu_buffer);
}

/*
 * Give each sub-buffer the id that it keeps as long as the index exists, and let the
 * writer keep @live, from the commit page on. Only an NMI can write meanwhile. If one
 * has, it may have done so without the index: begin again.
 */
static void rb_live_start(struct rb_live *live)
{
	struct ring_buffer_per_cpu *cpu_buffer = live->cpu_buffer;
	struct buffer_page *bpage = cpu_buffer->reader_page, *next;
	unsigned long commits;
	u32 id;

	next = list_entry(cpu_buffer->pages, struct buffer_page, list);
	for (id = 0; id < live->index->nr_subbufs; id++) {
		live->pages[id] = bpage;
		bpage->live_id = id;
		bpage = next;
		rb_inc_page(&next);
	}

	do {
		commits = local_read(&cpu_buffer->commits);
		barrier();
		rb_live_begin(live);
		WRITE_ONCE(cpu_buffer->live, live);
		barrier();
	} while (commits != local_read(&cpu_buffer->commits));
}

/* Set the fields of an index of @size bytes that never change. The others are 0. */
static void rb_live_init_index(struct rb_live *live, u64 size)
{
	struct ring_buffer_per_cpu *cpu_buffer = live->cpu_buffer;
	struct trace_live_index *index = live->index;

	index->struct_len = sizeof(*index);
	index->entry_size = sizeof(struct trace_live_subbuf);
	index->entries_offset = sizeof(*index);
	index->nr_slots = cpu_buffer->nr_pages;
	index->nr_subbufs = cpu_buffer->nr_pages + 1;
	index->subbuf_size = PAGE_SIZE << cpu_buffer->buffer->subbuf_order;
	index->subbufs_offset = PAGE_ALIGN(size);
	index->mapping_size = index->subbufs_offset +
			      (u64)index->nr_subbufs * index->subbuf_size;
	index->data_offset = BUF_PAGE_HDR_SIZE;
	index->commit_offset = offsetof(struct buffer_data_page, commit);
}

/* Allocate an index. Returns NULL without memory, or if the buffer cannot have one. */
static struct rb_live *rb_live_alloc(struct ring_buffer_per_cpu *cpu_buffer)
{
	unsigned long nr_slots = cpu_buffer->nr_pages, nr_subbufs = nr_slots + 1;
	unsigned long size = sizeof(struct trace_live_index) +
			     nr_slots * sizeof(struct trace_live_subbuf);
	struct trace_live_index *index;
	struct rb_live *live;
	unsigned long live_size = struct_size(live, pages, nr_subbufs) +
				  nr_subbufs * sizeof(*live->slots);

	/* It is no reason to kill a task: as for the sub-buffers, do not try what is not there */
	if (rb_is_persistent(cpu_buffer->buffer) || nr_slots >= U32_MAX ||
	    (size + live_size) >> PAGE_SHIFT >= si_mem_available())
		return NULL;

	/* Not from a slab: KASAN would take a lock for it in irq_work_queue() */
	live = vzalloc_node(live_size, cpu_to_node(cpu_buffer->cpu));
	index = vzalloc_node(size, cpu_to_node(cpu_buffer->cpu));
	if (!live || !index) {
		vfree(index);
		vfree(live);
		return NULL;
	}

	live->cpu_buffer = cpu_buffer;
	live->index = index;
	live->stride = rb_subbuf_capacity(cpu_buffer->buffer) + 1;
	live->entries = (void *)(index + 1);
	live->slots = (void *)&live->pages[nr_subbufs];
	rb_live_init_index(live, size);
	rb_sleepers_init(&live->sleepers);

	return live;
}

/* Free an index, or none. No observer is left, and no writer uses it. */
static void rb_live_free(struct rb_live *live)
{
	if (!live)
		return;

	/* The irq_work may start the timer */
	irq_work_sync(&live->sleepers.work);
	hrtimer_cancel(&live->sleepers.timer);
	vfree(live->index);
	vfree(live);
}

/*
 * Give the buffer, whose sub-buffers are new or were exchanged, an index that fits
 * them. The writer does not use the old index any more, see above.
 */
static void rb_live_renew(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live = rb_live_alloc(cpu_buffer), *old;
	unsigned long flags;

	/* Readers and resets use the index under reader_lock */
	raw_spin_lock_irqsave(&cpu_buffer->reader_lock, flags);
	old = cpu_buffer->live;
	WRITE_ONCE(cpu_buffer->live, NULL);
	/* As a reset does: no position of before is of a generation that comes */
	if (old)
		cpu_buffer->live_gone = rb_live_next_first(old->index) - 1;
	if (live) {
		live->index->first = cpu_buffer->live_gone + 1;
		rb_live_start(live);
	}
	raw_spin_unlock_irqrestore(&cpu_buffer->reader_lock, flags);

	rb_live_free(old);
}

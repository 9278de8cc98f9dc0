// SPDX-License-Identifier: GPL-2.0
/*
 * Observers of a CPU's buffer, and how they sleep until there is more.
 *
 * This file is included in ring_buffer.c, after ring_buffer_live.c, which keeps
 * the index with which observers follow the writer.
 *
 * An observer holds the sub-buffers: while there is one, the buffer counts as
 * mapped. User space sets the position of an observer, and tasks sleep on its queue
 * until enough is committed beyond that position. The observer's mark is the place
 * where that is the case, in the stream of all bytes ever committed. An observer is
 * a sleeper from the moment its position is set until its mark is reached. Then it
 * is readable until its position is set again.
 *
 *   the observer	adds itself to the sleepers, which are sorted by their marks,
 *			and gives the nearest mark to the writer. If that mark is in
 *			the sub-buffer that the writer commits to, it sets
 *			live_pending. Then it looks at the commit once more.
 *   the writer		looks at live_pending after each commit. If the flag is set
 *			and the commit has reached the mark, the writer clears the
 *			flag and queues irq_work on its own CPU. When the writer
 *			leaves a sub-buffer and enters the one of the mark, it sets
 *			the flag. A mark beyond that costs the writer nothing, and the
 *			number of sleepers makes no difference to it.
 *   the irq_work	wakes the sleepers whose mark is reached, the nearest mark
 *			first, and gives the next mark to the writer.
 *   the timer		does the same, on the CPU where it was started: by an observer
 *			to look once more, by whoever ended a round to end the rest.
 *
 * Waking an observer may write the very events that it waits for, and there may be
 * any number of observers. So sleepers are woken in rounds of at most
 * RB_SLEEPERS_BATCH of them. There is one round in each RB_SLEEPERS_REST_NS, whoever
 * the sleepers are, and after a pause, one more at once. The irq_work begins a
 * round, so does the timer, and so does an observer that is due when its position is
 * set. Until the next round may begin, the writer gets no mark, and the timer ends
 * the rest.
 *
 * The end of a reset is beyond all marks, see rb_live_reset_begin(), so that every
 * sleeper is due then.
 *
 * How observer and writer are ordered, by label:
 *
 *	observer, or the irq_work		writer
 *
 *	stores mark, live_pending		stores commit word, or
 *						commit_generation
 *	smp_mb() [ARM]				[B: program order]
 *	loads the commit			loads live_pending, or the mark
 *
 * [ARM] keeps the observer from loading the commit before the writer can see the
 * flag. [B] is no barrier, because every event would have to pay for a full one. So
 * the writer may load an old flag while its commit is still in its store buffer,
 * and the observer may miss that commit. The store buffer is empty long before the
 * timer looks again, RB_SLEEPERS_LOOK_NS later. The timer then finds that commit,
 * and a later commit finds the flag.
 */

#include "ring_buffer_observer.h"

/* When the timer looks: after this time, a store buffer has long been empty */
#define RB_SLEEPERS_LOOK_NS	NSEC_PER_MSEC

/* How many observers to wake in a round */
#define RB_SLEEPERS_BATCH	16

/* After two rounds, there is one in each of these times */
#define RB_SLEEPERS_REST_NS	(NSEC_PER_SEC / 100)

/**
 * struct ring_buffer_observer - an observer of a CPU's buffer
 * @live: the index of the buffer
 * @queue: the tasks that sleep until there is more
 * @node: the node in the tree of sleepers, if @sleeps
 * @mark: the place where a sleeper is woken
 * @sleeps: whether it is a sleeper; protected, as the two before it, by the lock of
 *	    the sleepers
 * @rcu: frees it behind a round that has just taken it
 */
struct ring_buffer_observer {
	struct rb_live		*live;
	wait_queue_head_t	queue;
	struct rb_node		node;
	u64			mark;
	bool			sleeps;
	struct rcu_head		rcu;
};

#define node_to_observer(n)	rb_entry(n, struct ring_buffer_observer, node)

static bool rb_sleepers_less(struct rb_node *a, const struct rb_node *b)
{
	return node_to_observer(a)->mark < node_to_observer(b)->mark;
}

/*
 * Return the place behind @commit bytes of records of @generation, in the stream of all
 * bytes ever committed. The end of a sub-buffer is not the beginning of the next one.
 */
static u64 rb_live_place(struct rb_live *live, u64 generation, u32 commit)
{
	return generation * live->stride + commit;
}

/*
 * Load the place of the commit, on any CPU. Returns 0 if the writer moves on meanwhile,
 * or the buffer is being emptied. The writer looks at the mark then, and the end of a
 * reset wakes the sleepers.
 */
static u64 rb_live_commit(struct rb_live *live)
{
	struct trace_live_subbuf *entry;
	u64 generation;
	u32 commit;

	/* Pairs with [LEAVE]: the id of that generation is seen below */
	generation = smp_load_acquire(&live->index->commit_generation);
	entry = rb_live_slot(live, generation);
	commit = rb_page_commit(live->pages[READ_ONCE(entry->id)]);
	smp_rmb();	/* [CHECK] Pairs with [ENTER], [GONE] and [RESET] */
	if (READ_ONCE(live->index->commit_generation) != generation ||
	    READ_ONCE(entry->generation) != generation ||
	    READ_ONCE(live->index->first) > generation)
		return 0;

	return rb_live_place(live, generation, commit);
}

/*
 * Return the place where the last event ends, if the commit is at @now. As long as
 * nothing is committed to a sub-buffer, that is the end of the one before it: to
 * have left that one wakes no observer.
 */
static u64 rb_live_last(struct rb_live *live, u64 now)
{
	u64 before = now / live->stride - 1;

	if (!now || now % live->stride)
		return now;

	return rb_live_place(live, before, READ_ONCE(rb_live_slot(live, before)->size));
}

/* Return whether the writer is seen to have reached the mark of @observer. */
static bool rb_observer_due(struct ring_buffer_observer *observer)
{
	struct rb_live *live = observer->live;

	return rb_live_last(live, rb_live_commit(live)) >= observer->mark;
}

/*
 * Remove @observer from the sleepers. Without a sleeper, the writer has no mark. So the
 * next observer that sleeps stores a mark, and starts the timer, which looks once more.
 */
static void rb_observer_dismiss(struct ring_buffer_observer *observer)
{
	struct rb_sleepers *sleepers = &observer->live->sleepers;

	if (observer->sleeps)
		rb_erase_cached(&observer->node, &sleepers->tree);
	WRITE_ONCE(observer->sleeps, false);
	if (!RB_EMPTY_ROOT(&sleepers->tree.rb_root))
		return;

	WRITE_ONCE(sleepers->mark, U64_MAX);
	/* If the writer sets it just now, it compares in vain until there is a sleeper */
	WRITE_ONCE(observer->live->cpu_buffer->irq_work.live_pending, false);
}

/*
 * A round begins. After a rest, another one may begin at once. Until the next mark is
 * given to the writer, it has none, however many sub-buffers it enters.
 */
static void rb_sleepers_round(struct rb_sleepers *sleepers)
{
	ktime_t now = ktime_get();

	WRITE_ONCE(sleepers->mark, U64_MAX);
	/* Resets begin rounds, too, however many there are */
	sleepers->next = clamp(ktime_add_ns(sleepers->next, RB_SLEEPERS_REST_NS),
			       now, ktime_add_ns(now, RB_SLEEPERS_REST_NS));
}

/* Return whether the writer has to look at the nearest mark once it is in @generation. */
static bool rb_sleepers_near(struct rb_live *live, u64 generation)
{
	return READ_ONCE(live->sleepers.mark) < rb_live_place(live, generation + 1, 0);
}

/*
 * Give the mark of the first sleeper to the writer, then look at the commit. Returns
 * whether that sleeper is due. If not, the timer has to look once more, because the
 * writer may have missed what was just stored.
 */
static bool rb_sleepers_ask(struct rb_live *live, struct ring_buffer_observer *first)
{
	bool *pending = &live->cpu_buffer->irq_work.live_pending;
	struct rb_sleepers *sleepers = &live->sleepers;
	bool near, asked;

	if (rb_observer_due(first))
		return true;

	asked = sleepers->mark != first->mark;
	WRITE_ONCE(sleepers->mark, first->mark);
	smp_mb();	/* [ARM] A writer whose leave is missed below sees the mark, but see [B] */
	near = rb_sleepers_near(live, READ_ONCE(live->index->commit_generation));
	if (READ_ONCE(*pending) != near) {
		WRITE_ONCE(*pending, near);
		asked = true;
	}
	smp_mb();	/* [ARM] A writer whose commit is missed below sees the flag, but see [B] */
	if (rb_observer_due(first))
		return true;

	/*
	 * On its own CPU, the writer sees what was stored there. Otherwise the timer has
	 * to look that long after the store. If it was to look earlier, for a store
	 * before, the look above has done that.
	 */
	if (asked && raw_smp_processor_id() != live->cpu_buffer->cpu)
		hrtimer_start(&sleepers->timer,
			      ktime_add_ns(ktime_get(), RB_SLEEPERS_LOOK_NS),
			      HRTIMER_MODE_ABS_PINNED_SOFT);
	return false;
}

/*
 * Take the next sleeper to wake. As long as @left is not 0, that belongs to a round that
 * has begun. Returns NULL if no sleeper is due, or the next round has to wait.
 */
static struct ring_buffer_observer *
rb_sleepers_take(struct rb_live *live, int *left)
{
	struct rb_sleepers *sleepers = &live->sleepers;
	bool rests = ktime_before(ktime_get(), sleepers->next);
	struct ring_buffer_observer *observer;
	bool due;

	lockdep_assert_held(&sleepers->lock);

	observer = rb_entry_safe(rb_first_cached(&sleepers->tree),
				 struct ring_buffer_observer, node);
	if (!observer)
		return NULL;
	due = rests ? *left && rb_observer_due(observer)
		    : rb_sleepers_ask(live, observer);
	/* A timer that expires earlier comes here again */
	if (!due && rests && (!hrtimer_is_queued(&sleepers->timer) ||
			      hrtimer_get_expires(&sleepers->timer) > sleepers->next))
		hrtimer_start(&sleepers->timer, sleepers->next,
			      HRTIMER_MODE_ABS_PINNED_SOFT);
	if (!due)
		return NULL;
	if (!*left) {
		rb_sleepers_round(sleepers);
		*left = RB_SLEEPERS_BATCH;
	}
	--*left;
	rb_observer_dismiss(observer);

	return observer;
}

/*
 * Wake the sleepers that are due, or see to it that this happens later. An irq_work is
 * a @round even if those that it was queued for are gone by now. Only the queue's own
 * lock is held while it is woken, as for any other file that many tasks poll.
 */
static void rb_sleepers_wake(struct rb_live *live, bool round)
{
	int left = round ? RB_SLEEPERS_BATCH : 0;
	struct ring_buffer_observer *observer;
	unsigned long flags;

	rcu_read_lock();
	do {
		spin_lock_irqsave(&live->sleepers.lock, flags);
		if (round)
			rb_sleepers_round(&live->sleepers);
		round = false;
		observer = rb_sleepers_take(live, &left);
		spin_unlock_irqrestore(&live->sleepers.lock, flags);

		if (observer)
			wake_up_interruptible_poll(&observer->queue,
						   EPOLLIN | EPOLLRDNORM);
	} while (observer);
	rcu_read_unlock();
}

static void rb_sleepers_work(struct irq_work *work)
{
	rb_sleepers_wake(container_of(work, struct rb_live, sleepers.work), true);
}

static enum hrtimer_restart rb_sleepers_timer(struct hrtimer *timer)
{
	rb_sleepers_wake(container_of(timer, struct rb_live, sleepers.timer), false);

	return HRTIMER_NORESTART;
}

/*
 * The commit is about to enter @generation: set the flag if the nearest mark is there
 * or before it.
 */
static void rb_sleepers_commit_enters(struct rb_live *live, u64 generation)
{
	/* Pairs with [ARM] by program order only, see [B] at the head of this file */
	if (rb_sleepers_near(live, generation))
		WRITE_ONCE(live->cpu_buffer->irq_work.live_pending, true);
}

/* The writer has committed and found the flag: queue the irq_work if the mark is reached. */
static void rb_live_wakeups(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live = READ_ONCE(cpu_buffer->live);
	u32 commit;

	/* The next event tries again, if the CPU stays up after all */
	if (!live || !rb_wake_up_runs())
		return;

	/*
	 * A writer that interrupts this one and leaves the page looks at the mark
	 * itself. If the mark has changed since the flag was set, the irq_work finds
	 * no sleeper that is due, and sets the flag again if it is needed.
	 */
	commit = rb_page_commit(READ_ONCE(cpu_buffer->commit_page));
	if (!commit || rb_live_place(live, live->index->commit_generation, commit) <
		       READ_ONCE(live->sleepers.mark))
		return;

	WRITE_ONCE(cpu_buffer->irq_work.live_pending, false);
	irq_work_queue(&live->sleepers.work);
}

/*
 * The buffer was emptied, or its CPU has written events while it went down. CPU hotplug
 * holds off whatever exchanges the index.
 */
static void rb_live_look_soon(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live = cpu_buffer->live;

	/* A sleeper whose mark is not seen looks again itself, or the timer does for it */
	if (live && READ_ONCE(live->sleepers.mark) != U64_MAX)
		irq_work_queue(&live->sleepers.work);
}

static void rb_sleepers_init(struct rb_sleepers *sleepers)
{
	spin_lock_init(&sleepers->lock);
	sleepers->tree = RB_ROOT_CACHED;
	sleepers->mark = U64_MAX;
	init_irq_work(&sleepers->work, rb_sleepers_work);
	hrtimer_init(&sleepers->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_SOFT);
	sleepers->timer.function = rb_sleepers_timer;
}

/* Return the place where there is enough for an observer at @pos. */
static u64 rb_live_mark(struct rb_live *live, const struct trace_live_position *pos,
			unsigned int percent)
{
	u64 capacity = live->stride - 1;
	u64 all = live->index->nr_slots * capacity;
	/* The observer cannot wait for more than the ring holds */
	u64 bytes = clamp_t(u64, pos->bytes ?: all * percent / 100, 1, all);
	u64 last = pos->read + bytes - 1;

	return rb_live_place(live, pos->generation + last / capacity,
			     last % capacity + 1);
}

/*
 * Count @by observers more, or fewer. As long as there is one, a CPU's sub-buffers, their
 * number and their size stay as they are. The trace array counts its observers, too, and
 * refuses more than can be counted.
 */
static void rb_count_observers(struct ring_buffer_per_cpu *cpu_buffer, int by)
{
	struct mutex *mutex = &cpu_buffer->buffer->mutex;

	/* Resizes hold the mutex, readers the lock */
	mutex_lock(mutex);
	raw_spin_lock_irq(&cpu_buffer->reader_lock);
	cpu_buffer->mapped += by;
	atomic_add(by, &cpu_buffer->resize_disabled);
	raw_spin_unlock_irq(&cpu_buffer->reader_lock);
	mutex_unlock(mutex);
}

/**
 * ring_buffer_observable - tell whether the CPUs of a buffer can be observed
 * @buffer: the buffer
 *
 * Context: Any.
 *
 * Return: false if the buffer is in memory that is kept across a reboot, which a live
 * index would not survive.
 */
bool ring_buffer_observable(struct trace_buffer *buffer)
{
	return !rb_is_persistent(buffer);
}

/**
 * ring_buffer_observe - begin to observe a CPU's buffer
 * @buffer: the buffer to observe
 * @cpu: the CPU whose buffer to observe
 *
 * Until ring_buffer_observer_free() the buffer counts as mapped, but has no ids and no
 * meta page, unless user space also maps its trace_pipe_raw.
 *
 * Context: Sleeps, but waits for no other CPU, unless a resize that is under way does.
 * Takes buffer->mutex and cpu_buffer->reader_lock.
 *
 * Return: the observer, or an ERR_PTR() of
 *   -EINVAL	there is no buffer for @cpu
 *   -ENOMEM	no memory for the observer, or there was none for the index when the
 *		buffer got its size
 */
struct ring_buffer_observer *ring_buffer_observe(struct trace_buffer *buffer,
						 int cpu)
{
	struct ring_buffer_observer *observer = NULL;
	struct ring_buffer_per_cpu *cpu_buffer;

	if (!cpumask_test_cpu(cpu, buffer->cpumask))
		return ERR_PTR(-EINVAL);

	cpu_buffer = buffer->buffers[cpu];
	rb_count_observers(cpu_buffer, 1);

	if (cpu_buffer->live)
		observer = kzalloc(sizeof(*observer), GFP_KERNEL_ACCOUNT);
	if (!observer) {
		rb_count_observers(cpu_buffer, -1);
		return ERR_PTR(-ENOMEM);
	}
	observer->live = cpu_buffer->live;
	init_waitqueue_head(&observer->queue);

	return observer;
}

/**
 * ring_buffer_observer_free - end an observer
 * @observer: the observer; no task sleeps on it
 *
 * Context: May sleep. Takes the lock of the sleepers, buffer->mutex and
 * cpu_buffer->reader_lock.
 */
void ring_buffer_observer_free(struct ring_buffer_observer *observer)
{
	struct ring_buffer_per_cpu *cpu_buffer = observer->live->cpu_buffer;

	spin_lock_irq(&observer->live->sleepers.lock);
	rb_observer_dismiss(observer);
	spin_unlock_irq(&observer->live->sleepers.lock);

	kfree_rcu(observer, rcu);
	rb_count_observers(cpu_buffer, -1);
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
	return observer->live->index->mapping_size >> PAGE_SHIFT;
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
struct page *ring_buffer_observer_page(void *observer, unsigned long pgoff)
{
	struct rb_live *live = ((struct ring_buffer_observer *)observer)->live;
	unsigned long index_pages = live->index->subbufs_offset >> PAGE_SHIFT;
	unsigned int order = live->cpu_buffer->buffer->subbuf_order;

	if (pgoff < index_pages)
		return vmalloc_to_page((void *)live->index + (pgoff << PAGE_SHIFT));

	pgoff -= index_pages;

	return virt_to_page(live->pages[pgoff >> order]->page) +
	       (pgoff & ((1UL << order) - 1));
}

/**
 * ring_buffer_observer_seek - set the position of an observer
 * @observer: the observer
 * @pos: the position reached, and the bytes wanted beyond it
 * @percent: the percentage of the buffer that is wanted if @pos->bytes is 0
 *
 * If there is enough already and a round of waking may begin, its tasks are woken and
 * it is readable. Otherwise it is not readable until it is woken.
 *
 * Context: Process context. Takes the lock of the sleepers. Interrupts no other CPU.
 *
 * Return: 0, or -EINVAL if the position is ahead of the writer or past the end of a
 * sub-buffer.
 */
int ring_buffer_observer_seek(struct ring_buffer_observer *observer,
			      const struct trace_live_position *pos,
			      unsigned int percent)
{
	struct rb_live *live = observer->live;
	u64 now, mark;

	if (pos->read >= live->stride ||
	    pos->generation > READ_ONCE(live->index->commit_generation))
		return -EINVAL;

	/* If the writer is too fast to be seen, it is taken to be ahead of the position */
	now = rb_live_commit(live);
	if (now && rb_live_place(live, pos->generation, pos->read) > now)
		return -EINVAL;

	/* Those that are due at once do not come before others that are due already */
	mark = max(rb_live_mark(live, pos, percent), rb_live_last(live, now));

	spin_lock_irq(&live->sleepers.lock);
	rb_observer_dismiss(observer);
	observer->mark = mark;
	rb_add_cached(&observer->node, &live->sleepers.tree, rb_sleepers_less);
	WRITE_ONCE(observer->sleeps, true);
	spin_unlock_irq(&live->sleepers.lock);

	rb_sleepers_wake(live, false);

	return 0;
}

/**
 * ring_buffer_observer_poll - poll an observer
 * @observer: the observer
 * @filp: the file that is polled
 * @poll_table: the poll table
 *
 * Context: Process context. Interrupts no other CPU.
 *
 * Return: 0 while the observer is a sleeper; EPOLLIN | EPOLLRDNORM when it was woken
 * for its position, or has no position yet.
 */
__poll_t ring_buffer_observer_poll(struct ring_buffer_observer *observer,
				   struct file *filp, poll_table *poll_table)
{
	/* It is woken under the lock of the queue, after the store that this loads */
	poll_wait(filp, &observer->queue, poll_table);

	return READ_ONCE(observer->sleeps) ? 0 : EPOLLIN | EPOLLRDNORM;
}

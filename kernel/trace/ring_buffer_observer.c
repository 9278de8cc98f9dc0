// SPDX-License-Identifier: GPL-2.0
/*
 * Observers of a CPU's buffer: what they map, and how they sleep until there is
 * more.
 *
 * This file is included in ring_buffer.c, after ring_buffer_live.c, which keeps
 * the index that observers follow the writer by.
 *
 * An observer is a reference to the buffer: while there is one, the buffer counts
 * as mapped. It has a position, which it is told, and a queue of tasks that sleep
 * until enough was committed beyond that. This place in the stream of all bytes
 * ever committed is its mark. It is a sleeper from when it is told a position until
 * its mark is reached; then it is readable, until it is told another position.
 *
 * What each of them does, so that nothing is done to the watched CPU for the sake
 * of a sleeper, nor much by it:
 *
 *   the observer	enters itself among the sleepers, which are kept in the order
 *			of their marks, and tells the writer the nearest mark. If that
 *			is in the sub-buffer the writer commits to, it sets
 *			live_pending. Then it looks once more.
 *   the writer		looks at live_pending after each commit. When it is set,
 *			the writer compares the commit with the mark, and if that
 *			is reached clears the flag and queues the work. When it
 *			leaves a sub-buffer and enters that of the mark, it sets the
 *			flag. A mark beyond that costs it nothing. How many sleepers
 *			there are makes no difference to it.
 *   the work		runs on the CPU of the last observer that went to sleep on
 *			another CPU than the writer's, which is not interrupted. It
 *			wakes the sleepers whose mark is reached, and tells the
 *			writer the next mark.
 *   the timer		looks again, 1 ms after the observer did, and wakes too.
 *
 * To be woken writes events itself, on the observer's CPU, where idling, timers or
 * scheduling are traced, and so does each call, where functions or system calls are.
 * These may be what it waits for, if that CPU is the one it watches, or what an
 * observer waits for that it wakes in turn. So an observer has RB_LIVE_BURST wake-ups
 * at once and one more in each RB_LIVE_REST_NS, or, on the watched CPU, where each
 * brings the next one, in each RB_LIVE_HOME_REST_NS. When they are used up, it is
 * held until the next one is due, though there may be enough: its mark is then half
 * the ring from its position, so that it is not late for what would be overwritten.
 * Each position that it is told takes one wake-up, also where there is enough from the
 * beginning.
 *
 * A reset wakes them all, held or not: each whose position is of another epoch is due.
 * These are first among the sleepers, those that were told a position since are not.
 *
 * What orders them, by the labels:
 *
 *	observer, or the work			writer
 *
 *	stores mark, live_pending		stores commit word, or
 *						commit_generation
 *	smp_mb() [ARM]				[B: program order]
 *	loads the commit			loads live_pending, or the mark
 *						and whether there is a sleeper
 *
 * [ARM] keeps the observer from looking before the writer can see the flag. [B] is
 * no barrier: a full one would have to be paid for with every event. So the writer
 * may load an old flag while its commit is still in its store buffer, and then
 * the observer has seen neither. A store buffer is empty a long time before the
 * timer looks again: it finds what was committed by then, and a writer that
 * commits later has seen the flag. The timer also finds a mark of which the writer
 * saw one half only. A flag that the writer clears at the moment the observer sets
 * it is set again by the work, which the writer queues afterwards.
 *
 * An interrupt or NMI of the writer's CPU that commits is a writer as well. From
 * an NMI, which a kprobe's breakpoint is on x86, no other CPU can be reached: the
 * work runs on the writer's own then.
 */

#include <linux/context_tracking_irq.h>
#include <linux/cpu.h>

/* When the timer looks: later than any store buffer takes to become empty */
#define RB_LIVE_LOOK_NS		NSEC_PER_MSEC

/* Observers that are woken at a time, with interrupts off, and all tasks of each */
#define RB_LIVE_WAKE_BATCH	32

/* Wake-ups of an observer at once, then one in each of these times */
#define RB_LIVE_BURST		2
#define RB_LIVE_REST_NS		(NSEC_PER_SEC / 100)
#define RB_LIVE_HOME_REST_NS	(NSEC_PER_SEC / 8)

/* A place in the stream of all bytes that were ever committed */
struct rb_live_place {
	u64		generation;
	unsigned int	commit;
};

/**
 * struct ring_buffer_observer - an observer of a CPU's buffer
 * @cpu_buffer: the buffer
 * @live: its index
 * @queue: tasks that sleep until there is more
 * @node: among the sleepers, if @sleeps
 * @enough: where there is enough
 * @mark: of a sleeper: where it is woken; @enough, or later while it is held
 * @epoch: the epoch of these places
 * @sleeps: whether it is a sleeper
 * @home: whether it was on the watched CPU since it was told its position
 * @held: whether it is a sleeper that is held, until @timer expires at the latest
 * @rested: when it has rested from all its wake-ups
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

#define node_to_observer(n)	rb_entry(n, struct ring_buffer_observer, node)

/* Is the place @a at @b, or past it? */
static bool rb_live_reached(const struct rb_live_place *a,
			    const struct rb_live_place *b)
{
	return a->generation > b->generation ||
	       (a->generation == b->generation && a->commit >= b->commit);
}

/* Those of an earlier epoch come first: a reset wakes them. */
static bool rb_live_less(struct rb_node *a, const struct rb_node *b)
{
	struct ring_buffer_observer *first = node_to_observer(a);
	struct ring_buffer_observer *second = node_to_observer(b);

	if (first->epoch != second->epoch)
		return first->epoch < second->epoch;

	return !rb_live_reached(&first->mark, &second->mark);
}

/*
 * The commit as another CPU sees it. False if it was not to be found: the writer
 * is very quick, or the buffer is being emptied. The caller looks again later.
 */
static bool rb_live_commit(struct rb_live *live, struct rb_live_place *place)
{
	struct trace_live_index *index = live->index;
	int looks;
	u32 id;

	for (looks = 0; looks < RB_LIVE_LOOKS; looks++) {
		place->generation = rb_live_see64(&index->commit_generation);
		smp_rmb();	/* Pairs with [LEAVE] */
		id = READ_ONCE(index->commit_id);
		place->commit = rb_page_commit(live->pages[id]);
		smp_rmb();	/* As an observer's CHECK */
		if (rb_live_see64(&index->commit_generation) == place->generation &&
		    rb_live_see64(&live->subbufs[id].generation) == place->generation)
			return true;
		cpu_relax();
	}

	return false;
}

/* Has the writer come to @place, as far as can be seen? */
static bool rb_live_written(struct rb_live *live, const struct rb_live_place *place)
{
	struct rb_live_place now;

	return rb_live_commit(live, &now) && rb_live_reached(&now, place);
}

/* Is its position of another epoch? Not while the buffer is being emptied. */
static bool rb_live_was_reset(struct ring_buffer_observer *observer)
{
	u64 epoch = rb_live_see64(&observer->live->index->epoch);

	return epoch != observer->epoch && !(epoch & 1);
}

/* Is the sleeper to be woken? */
static bool rb_live_due(struct ring_buffer_observer *observer)
{
	return rb_live_was_reset(observer) ||
	       rb_live_written(observer->live, &observer->mark);
}

static struct ring_buffer_observer *rb_live_first(struct rb_live *live)
{
	struct rb_node *first = rb_first_cached(&live->wait.sleepers);

	return first ? node_to_observer(first) : NULL;
}

/* It is no sleeper any more. Its timer may expire, and finds that it is not held. */
static void rb_live_dismiss(struct ring_buffer_observer *observer)
{
	if (observer->sleeps)
		rb_erase_cached(&observer->node, &observer->live->wait.sleepers);
	observer->sleeps = false;
	observer->held = false;
}

/* It is a sleeper until the writer comes to @mark. */
static void rb_live_sleep_until(struct ring_buffer_observer *observer,
				struct rb_live_place mark)
{
	observer->mark = mark;
	rb_add_cached(&observer->node, &observer->live->wait.sleepers, rb_live_less);
	observer->sleeps = true;
}

static u64 rb_live_rest(const struct ring_buffer_observer *observer)
{
	return observer->home ? RB_LIVE_HOME_REST_NS : RB_LIVE_REST_NS;
}

/* It is readable from now on, and has to rest from being woken. */
static void rb_live_wake(struct ring_buffer_observer *observer)
{
	ktime_t now = ktime_get(), rested = observer->rested, most;
	u64 rest = rb_live_rest(observer);

	rested = ktime_add_ns(ktime_after(rested, now) ? rested : now, rest);
	most = ktime_add_ns(now, RB_LIVE_BURST * rest);
	observer->rested = ktime_before(rested, most) ? rested : most;
	rb_live_dismiss(observer);
	wake_up_interruptible_poll(&observer->queue, EPOLLIN | EPOLLRDNORM);
}

/*
 * When the next wake-up is not due yet, hold the observer: it sleeps until the timer
 * expires, or until half the ring is written past generation @from, where it is.
 * Returns where it is to be woken.
 */
static struct rb_live_place rb_live_hold(struct ring_buffer_observer *observer,
					 u64 from)
{
	struct rb_live_place half = { from + observer->cpu_buffer->nr_pages / 2, 1 };
	struct hrtimer *timer = &observer->timer;
	u64 rest = rb_live_rest(observer);
	ktime_t now = ktime_get(), due;

	due = ktime_sub_ns(observer->rested, (RB_LIVE_BURST - 1) * rest);
	if (!ktime_after(due, now) || rb_live_was_reset(observer) ||
	    rb_live_reached(&observer->enough, &half) ||
	    rb_live_written(observer->live, &half))
		return observer->enough;
	/* One that has left the watched CPU need not rest as if it were there */
	due = min_t(ktime_t, due, ktime_add_ns(now, rest));

	observer->held = true;
	/* To start it again would write another event, where timers are traced */
	if (!hrtimer_is_queued(timer) || ktime_before(due, hrtimer_get_expires(timer)))
		hrtimer_start(timer, due, HRTIMER_MODE_ABS_PINNED_SOFT);

	return half;
}

/* Something was stored that the writer may not have seen with its last commit. */
static void rb_live_look_later(struct rb_live_wait *wait)
{
	wait->asked = wait->timing;
	if (wait->timing)
		return;

	wait->timing = true;
	hrtimer_start(&wait->timer, ns_to_ktime(RB_LIVE_LOOK_NS),
		      HRTIMER_MODE_REL_PINNED_SOFT);
}

/*
 * Set or clear the flag that the writer looks at after each commit. There are
 * sleepers: one that is cleared may have been set by the writer for their mark.
 */
static void rb_live_set_pending(struct rb_live *live, bool pending)
{
	struct rb_irq_work *rbwork = &live->cpu_buffer->irq_work;

	if (READ_ONCE(rbwork->live_pending) == pending)
		return;

	WRITE_ONCE(rbwork->live_pending, pending);
	smp_mb();	/* [ARM] The writer that commits sees the flag */
	rb_live_look_later(&live->wait);
}

/*
 * Tell the writer the nearest mark, then look whether it has come that far.
 * Returns whether it has.
 */
static bool rb_live_ask(struct rb_live *live)
{
	struct ring_buffer_observer *first = rb_live_first(live);
	struct rb_live_wait *wait = &live->wait;

	lockdep_assert_held(&wait->lock);

	if (!first) {
		WRITE_ONCE(live->cpu_buffer->irq_work.live_pending, false);
		return false;
	}
	/* The writer need not be told of what it has done */
	if (rb_live_due(first))
		return true;

	if (wait->generation != (unsigned long)first->mark.generation ||
	    wait->commit != first->mark.commit) {
		WRITE_ONCE(wait->generation, first->mark.generation);
		WRITE_ONCE(wait->commit, first->mark.commit);
		rb_live_look_later(wait);
	}
	smp_mb();	/* [ARM] The writer that leaves a sub-buffer sees the mark */
	rb_live_set_pending(live, first->mark.generation <=
			    rb_live_see64(&live->index->commit_generation));

	return rb_live_due(first);
}

/*
 * Wake the sleepers whose mark is reached, the nearest first, and ask the writer
 * to tell when the next one is. Returns false if there may be more to wake.
 */
static bool rb_live_wake_some(struct rb_live *live)
{
	int batch = RB_LIVE_WAKE_BATCH;

	lockdep_assert_held(&live->wait.lock);

	while (rb_live_ask(live)) {
		if (!batch--)
			return false;
		rb_live_wake(rb_live_first(live));
	}

	return true;
}

static void rb_live_work(struct irq_work *work)
{
	struct rb_live *live = container_of(work, struct rb_live, wait.work);
	unsigned long flags;

	spin_lock_irqsave(&live->wait.lock, flags);
	/* More are woken by the timer; it may be left to this CPU, see there */
	if (!rb_live_wake_some(live) || live->wait.asked)
		rb_live_look_later(&live->wait);
	spin_unlock_irqrestore(&live->wait.lock, flags);
}

/* The CPU of an observer, or -1 if that is this one, or offline. Preemption is off. */
static int rb_live_other_cpu(struct rb_live *live)
{
	int cpu = READ_ONCE(live->wait.cpu);

	if (cpu < 0 || cpu == raw_smp_processor_id() || !cpu_online(cpu))
		return -1;

	return cpu;
}

/*
 * On the way to the other CPU are tracepoints, which need RCU to watch. Where it
 * does not, lockdep may take interrupts for enabled though they are off, as in the
 * idle loop, and ct_irq_enter() would warn of that. ct_nmi_enter() is for any
 * context.
 */
static void rb_live_queue_work_on(struct rb_live *live, int cpu)
{
	unsigned long flags;

	if (rcu_is_watching()) {
		irq_work_queue_on(&live->wait.work, cpu);
		return;
	}

	raw_local_irq_save(flags);
	ct_nmi_enter();
	irq_work_queue_on(&live->wait.work, cpu);
	ct_nmi_exit();
	raw_local_irq_restore(flags);
}

/*
 * Queue the work on the CPU of an observer rather than on this one, which is the
 * watched one. No other CPU goes offline while preemption is off. A CPU that comes
 * or goes sends no interrupt: its work waits until it is up, or rb_live_cpu_dead()
 * wakes.
 */
static void rb_live_queue_work(struct rb_live *live)
{
	bool here = in_nmi() || unlikely(!cpu_online(raw_smp_processor_id()));
	int cpu = here ? -1 : rb_live_other_cpu(live);

	if (cpu >= 0)
		rb_live_queue_work_on(live, cpu);
	else
		rb_queue_wake_up(&live->wait.work);
}

static enum hrtimer_restart rb_live_look_again(struct hrtimer *timer)
{
	struct rb_live *live = container_of(timer, struct rb_live, wait.timer);
	unsigned long flags;
	bool again, moved;

	spin_lock_irqsave(&live->wait.lock, flags);
	again = live->wait.asked;
	live->wait.asked = false;
	again |= !rb_live_wake_some(live) || live->wait.asked;
	/* Without sleepers there is nothing to look for, nor any work to queue */
	again &= !RB_EMPTY_ROOT(&live->wait.sleepers.rb_root);
	preempt_disable();	/* On PREEMPT_RT the lock does not */
	/* The CPU of an observer that has gone elsewhere is not kept busy */
	moved = again && rb_live_other_cpu(live) >= 0;
	live->wait.asked = moved;
	live->wait.timing = again && !moved;
	/* Under the lock, which the last observer takes before the index can go */
	if (moved)
		rb_live_queue_work(live);
	preempt_enable();
	spin_unlock_irqrestore(&live->wait.lock, flags);

	if (!again || moved)
		return HRTIMER_NORESTART;

	hrtimer_forward_now(timer, ns_to_ktime(RB_LIVE_LOOK_NS));

	return HRTIMER_RESTART;
}

/* The writer enters this generation. Is the nearest mark in it, or before? */
static void rb_live_mark_near(struct rb_live *live, unsigned long generation)
{
	if ((long)(generation - READ_ONCE(live->wait.generation)) < 0)
		return;
	/*
	 * [ARM] without the writer's half, see the head of this file. A sleeper that
	 * enters itself or goes meanwhile is a data race that does no harm: the timer
	 * looks again, and a flag that is set for none is cleared by the work.
	 */
	if (!data_race(RB_EMPTY_ROOT(&live->wait.sleepers.rb_root)))
		WRITE_ONCE(live->cpu_buffer->irq_work.live_pending, true);
}

/* The writer has committed, and there is a mark in this sub-buffer. */
static void rb_live_wakeups(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live = READ_ONCE(cpu_buffer->live);
	unsigned long generation;

	if (!live)
		return;

	/*
	 * A writer that interrupts here and leaves the page looks by itself. The
	 * work sorts out a flag that is set though the mark is another one by now.
	 */
	generation = rb_live_load64(&live->index->commit_generation);
	if (generation == READ_ONCE(live->wait.generation) &&
	    rb_page_commit(READ_ONCE(cpu_buffer->commit_page)) <
	    READ_ONCE(live->wait.commit))
		return;

	WRITE_ONCE(cpu_buffer->irq_work.live_pending, false);
	rb_live_queue_work(live);
}

/* The epoch is another one, or events came that were never told of. */
static void rb_live_wake_all(struct rb_live *live)
{
	irq_work_queue(&live->wait.work);
}

/* CPU hotplug holds off those who make an index, or take it away. */
static void rb_live_cpu_dead(struct ring_buffer_per_cpu *cpu_buffer)
{
	if (cpu_buffer->live)
		rb_live_wake_all(cpu_buffer->live);
}

static void rb_live_wait_init(struct rb_live *live)
{
	struct rb_live_wait *wait = &live->wait;

	spin_lock_init(&wait->lock);
	wait->sleepers = RB_ROOT_CACHED;
	wait->cpu = -1;
	init_irq_work(&wait->work, rb_live_work);
	hrtimer_init(&wait->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_SOFT);
	wait->timer.function = rb_live_look_again;
}

/*
 * There is no observer any more, and no writer that knows of the index. The work
 * may start the timer; the timer, without sleepers, queues no work.
 */
static void rb_live_wait_end(struct rb_live *live)
{
	irq_work_sync(&live->wait.work);
	hrtimer_cancel(&live->wait.timer);
}

/*
 * The work is to run where the observer is: it goes to sleep there. An observer that
 * is told its position on the watched CPU rests as if it were there, wherever it calls
 * poll().
 */
static void rb_live_sleep_here(struct ring_buffer_observer *observer)
{
	struct rb_live_wait *wait = &observer->live->wait;
	int cpu = raw_smp_processor_id();

	if (cpu == observer->cpu_buffer->cpu)
		observer->home = true;
	/* The watched CPU is not to be interrupted while there is another */
	if (RB_EMPTY_ROOT(&wait->sleepers.rb_root) || cpu != observer->cpu_buffer->cpu)
		WRITE_ONCE(wait->cpu, cpu);
}

/* Wake the sleeper if there is enough, else have it woken when there is. */
static void rb_live_arm(struct ring_buffer_observer *observer)
{
	struct rb_live *live = observer->live;

	lockdep_assert_held(&live->wait.lock);

	/* Others that are to be woken are so by the timer at the latest */
	if (rb_live_ask(live))
		rb_live_look_later(&live->wait);
	/* The writer sees the mark now: what it has committed is seen here */
	if (rb_live_due(observer))
		rb_live_wake(observer);
}

/* The next wake-up is due: now, or when there is enough. */
static enum hrtimer_restart rb_live_hold_ends(struct hrtimer *timer)
{
	struct ring_buffer_observer *observer =
		container_of(timer, struct ring_buffer_observer, timer);
	struct rb_live *live = observer->live;
	unsigned long flags;

	spin_lock_irqsave(&live->wait.lock, flags);
	/* It may have been held anew while this waited for the lock */
	if (observer->held && !hrtimer_is_queued(timer)) {
		rb_live_dismiss(observer);
		rb_live_sleep_until(observer, observer->enough);
		rb_live_arm(observer);
	}
	spin_unlock_irqrestore(&live->wait.lock, flags);

	return HRTIMER_NORESTART;
}

/**
 * ring_buffer_observe - begin to observe a CPU's buffer
 * @buffer: the buffer to observe
 * @cpu: the CPU whose buffer to observe
 *
 * Until ring_buffer_observer_free() the buffer counts as mapped, see
 * ring_buffer_map(). The first observer makes the index, which takes a work item
 * on @cpu, with interrupts on but for short whiles; it stays for later
 * observers, until the buffer is resized.
 *
 * Context: Sleeps, killably while the work item waits for its turn. Takes
 * buffer->mutex, cpu_buffer->mapping_lock, cpus_read_lock() and
 * cpu_buffer->live_lock.
 *
 * Return: the observer, or an ERR_PTR() of
 *   -EBUSY	    there are too many mappings to count, or NMIs wrote to the
 *		    buffer whenever it was looked at
 *   -EINTR	    the caller was killed
 *   -EINVAL	    there is no buffer for @cpu
 *   -ENODEV	    the buffer is broken, a warning has said so
 *   -ENOMEM	    no memory for the observer or the index
 *   -EOPNOTSUPP    user space would not see what the kernel stores, the data
 *		    caches of this machine being what they are
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

	ret = ring_buffer_map(buffer, cpu);
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
		goto out_unmap;

	observer->cpu_buffer = cpu_buffer;
	observer->live = cpu_buffer->live;
	init_waitqueue_head(&observer->queue);
	hrtimer_init(&observer->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_SOFT);
	observer->timer.function = rb_live_hold_ends;

	return observer;

 out_unmap:
	ring_buffer_unmap(buffer, cpu);
 out_free:
	kfree(observer);
	return ERR_PTR(ret);
}

/**
 * ring_buffer_observer_free - end an observer
 * @observer: the observer; no task sleeps on it
 *
 * Context: May sleep. Takes wait.lock and cpu_buffer->mapping_lock.
 */
void ring_buffer_observer_free(struct ring_buffer_observer *observer)
{
	struct ring_buffer_per_cpu *cpu_buffer = observer->cpu_buffer;
	struct rb_live_wait *wait = &observer->live->wait;
	unsigned long flags;

	spin_lock_irqsave(&wait->lock, flags);
	if (observer->sleeps) {
		rb_live_dismiss(observer);
		if (!rb_live_wake_some(observer->live))
			rb_live_look_later(wait);
	}
	spin_unlock_irqrestore(&wait->lock, flags);

	hrtimer_cancel(&observer->timer);
	kfree(observer);
	ring_buffer_unmap(cpu_buffer->buffer, cpu_buffer->cpu);
}

/**
 * ring_buffer_observer_size - how much there is for an observer to map
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
 * ring_buffer_observer_page - find a page of what an observer maps
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

/* Where there is enough for an observer at @pos. */
static struct rb_live_place
rb_live_mark(struct ring_buffer_per_cpu *cpu_buffer,
	     const struct trace_live_position *pos, unsigned int percent)
{
	u32 subbuf_size = cpu_buffer->buffer->subbuf_size;
	u64 all = (u64)cpu_buffer->nr_pages * subbuf_size;
	u64 bytes = pos->bytes ?: div_u64(all * percent, 100);
	struct rb_live_place mark;
	u32 rest;

	/* Not more than there can be, however large the number */
	bytes = clamp_t(u64, bytes, 1, all);
	/* The last of these bytes is in that sub-buffer, up to its end included */
	mark.generation = pos->generation +
			  div_u64_rem(pos->read + bytes - 1, subbuf_size, &rest);
	mark.commit = rest + 1;

	return mark;
}

/* Has the writer been at @pos, or was there a reset since? */
static bool rb_live_possible(struct rb_live *live,
			     const struct trace_live_position *pos)
{
	struct rb_live_place here = { pos->generation, pos->read }, now;
	u64 epoch = rb_live_see64(&live->index->epoch);

	smp_rmb();	/* Pairs with [RESET]: what an epoch begins with is seen with it */
	if (pos->flags || pos->epoch & 1 || pos->epoch > epoch ||
	    pos->read > live->cpu_buffer->buffer->subbuf_size)
		return false;
	if (pos->epoch != epoch)
		return true;

	/* In doubt it is: the writer was too quick, or a reset came in between */
	return !rb_live_commit(live, &now) || rb_live_reached(&now, &here);
}

/**
 * ring_buffer_observer_wait - tell an observer its position
 * @observer: the observer
 * @pos: the position reached, and the bytes wanted beyond it
 * @percent: of the buffer, to be wanted if @pos does not say how much
 *
 * Tasks that sleep on the observer are woken if there is enough already, and the
 * observer is not to rest before its next wake-up. It is not readable until then.
 *
 * Context: Process context. Takes wait.lock. Interrupts no other CPU.
 *
 * Return: 0, or -EINVAL: there can be no such position, as it is ahead of the
 * writer, beyond a sub-buffer's end, in the middle of a reset, or has a flag
 * that is not defined.
 */
int ring_buffer_observer_wait(struct ring_buffer_observer *observer,
			      const struct trace_live_position *pos,
			      unsigned int percent)
{
	struct rb_live_wait *wait = &observer->live->wait;
	unsigned long flags;

	if (!rb_live_possible(observer->live, pos))
		return -EINVAL;

	spin_lock_irqsave(&wait->lock, flags);
	rb_live_dismiss(observer);
	observer->enough = rb_live_mark(observer->cpu_buffer, pos, percent);
	observer->epoch = pos->epoch;
	observer->home = false;
	rb_live_sleep_here(observer);
	/* A writer that has just left a sub-buffer may have found no sleeper */
	if (RB_EMPTY_ROOT(&wait->sleepers.rb_root))
		rb_live_look_later(wait);
	rb_live_sleep_until(observer, rb_live_hold(observer, pos->generation));
	rb_live_arm(observer);
	spin_unlock_irqrestore(&wait->lock, flags);

	return 0;
}

/**
 * ring_buffer_observer_poll - was an observer woken for its position?
 * @observer: the observer
 * @filp: the file that is polled
 * @poll_table: the poll table
 *
 * Context: Process context. Takes wait.lock. Interrupts no other CPU.
 *
 * Return: EPOLLIN | EPOLLRDNORM if it was, or no position was told; else 0.
 */
__poll_t ring_buffer_observer_poll(struct ring_buffer_observer *observer,
				   struct file *filp, poll_table *poll_table)
{
	struct rb_live_wait *wait = &observer->live->wait;
	unsigned long flags;
	bool sleeps;

	poll_wait(filp, &observer->queue, poll_table);

	spin_lock_irqsave(&wait->lock, flags);
	if (observer->sleeps) {
		rb_live_sleep_here(observer);
		rb_live_arm(observer);
	}
	sleeps = observer->sleeps;
	spin_unlock_irqrestore(&wait->lock, flags);

	return sleeps ? 0 : EPOLLIN | EPOLLRDNORM;
}

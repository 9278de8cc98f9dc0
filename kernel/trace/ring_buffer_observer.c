// SPDX-License-Identifier: GPL-2.0
/*
 * How observers of a CPU's buffer sleep until there is more.
 *
 * This file is included in ring_buffer.c, after ring_buffer_live.c, which keeps
 * the index with which observers follow the writer.
 *
 * User space sets the position of an observer, and tasks sleep on its queue
 * until enough is committed beyond that position. The observer's mark is the place
 * where that is the case, in the stream of all bytes ever committed. An observer is
 * a sleeper from the moment its position is set until its mark is reached. Then it
 * is readable until its position is set again.
 *
 * A sleeper must not disturb the watched CPU, and must cost the writer little. So
 * the work is divided as follows:
 *
 *   the observer	adds itself to the sleepers, which are sorted by their marks,
 *			and gives the nearest mark to the writer. If that mark is in
 *			the sub-buffer that the writer commits to, it sets
 *			live_pending. Then it looks at the commit once more.
 *   the writer		looks at live_pending after each commit. If the flag is set
 *			and the commit has reached the mark, the writer clears the
 *			flag and queues the work. When the writer leaves a sub-buffer
 *			and enters the one of the mark, it sets the flag. A mark
 *			beyond that costs the writer nothing, and the number of
 *			sleepers makes no difference to it.
 *   the work		runs on the CPU of the last observer that went to sleep on a
 *			CPU other than the watched one, so that the watched CPU is
 *			not interrupted. It wakes the sleepers whose mark is reached,
 *			and gives the next mark to the writer.
 *   the timer		looks at the commit again, 1 ms after the observer did, and
 *			wakes sleepers as the work does.
 *
 * Waking an observer itself writes events on the observer's CPU if idling, timers or
 * scheduling are traced, and so does each of its calls if functions or system calls
 * are traced. If the observer watches its own CPU, it may be waiting for these very
 * events. So may another observer, which then wakes the first one in turn. So the
 * wake-ups of an observer are limited: it may have RB_LIVE_BURST of them in a row,
 * and one more in each RB_LIVE_REST_NS, or in each RB_LIVE_HOME_REST_NS if it is on
 * the watched CPU, where each wake-up causes the next one. An observer that has
 * used them up is held until the next one is due, even if there is enough for it.
 * Meanwhile its mark is half the ring away from its position, so that it still wakes
 * before events are overwritten. Each position uses up one wake-up, even if there is
 * enough for it from the beginning.
 *
 * A reset wakes all sleepers, including those that are held: a sleeper is due if its
 * position belongs to another epoch. Such sleepers come first in the order of
 * sleepers.
 *
 * How observer and writer are ordered, by label:
 *
 *	observer, or the work			writer
 *
 *	stores mark, live_pending		stores commit word, or
 *						commit_generation
 *	smp_mb() [ARM]				[B: program order]
 *	loads the commit			loads live_pending, or the mark
 *						and whether there is a sleeper
 *
 * [ARM] keeps the observer from loading the commit before the writer can see the
 * flag. [B] is no barrier, because every event would have to pay for a full one. So
 * the writer may load an old flag while its commit is still in its store buffer,
 * and the observer may miss that commit. The store buffer is empty long before the
 * timer looks again. The timer then finds that commit, and a later commit finds the
 * flag. The timer also covers a writer that has seen only one half of a mark. If
 * the writer clears the flag while the observer sets it, the work, which the writer
 * queues afterwards, sets it again.
 *
 * An interrupt or NMI on the watched CPU that commits is a writer as well. An NMI
 * (on x86, the breakpoint of a kprobe counts as one) cannot queue work on another
 * CPU, so its work runs on the watched CPU.
 */

#include <linux/context_tracking_irq.h>

/* When the timer looks: after this time, a store buffer has long been empty */
#define RB_LIVE_LOOK_NS		NSEC_PER_MSEC

/* How many observers, with all their tasks, to wake at a time with interrupts off */
#define RB_LIVE_WAKE_BATCH	32

/* How often to load a value that keeps changing before giving up */
#define RB_LIVE_LOOKS		100

/* An observer may have a burst of wake-ups, then one in each of these times */
#define RB_LIVE_BURST		2
#define RB_LIVE_REST_NS		(NSEC_PER_SEC / 100)
#define RB_LIVE_HOME_REST_NS	(NSEC_PER_SEC / 8)

#define node_to_observer(n)	rb_entry(n, struct ring_buffer_observer, node)

/*
 * Load a 64-bit field of the index on another CPU, or in a context that has not
 * interrupted a store to it.
 */
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
		smp_rmb();	/* Pairs with the first smp_wmb() in rb_live_store64() */
		lower = READ_ONCE(half[low]);
		smp_rmb();	/* Pairs with the second one */
	} while ((upper != READ_ONCE(half[!low]) || lower == U32_MAX) &&
		 looks++ < RB_LIVE_LOOKS);

	return (u64)upper << 32 | lower;
#endif
}

/* Return whether the place @a is at @b or past it. */
static bool rb_live_reached(const struct rb_live_place *a,
			    const struct rb_live_place *b)
{
	return a->generation > b->generation ||
	       (a->generation == b->generation && a->commit >= b->commit);
}

/* The order of sleepers: those of an earlier epoch come first, as a reset wakes them. */
static bool rb_live_less(struct rb_node *a, const struct rb_node *b)
{
	struct ring_buffer_observer *first = node_to_observer(a);
	struct ring_buffer_observer *second = node_to_observer(b);

	if (first->epoch != second->epoch)
		return first->epoch < second->epoch;

	return !rb_live_reached(&first->mark, &second->mark);
}

/*
 * Load the place of the commit, on any CPU. Returns false if that failed because the
 * writer is very fast or the buffer is being emptied. Then the caller tries again
 * later.
 */
static bool rb_live_commit(struct rb_live *live, struct rb_live_place *place)
{
	struct trace_live_index *index = live->index;
	int looks;
	u32 id;

	for (looks = 0; looks < RB_LIVE_LOOKS; looks++) {
		place->generation = rb_live_see64(&index->commit_generation);
		smp_rmb();	/* Pairs with [LEAVE]: commit_id is at least as new */
		id = READ_ONCE(index->commit_id);
		place->commit = rb_page_commit(live->pages[id]);
		smp_rmb();	/* [CHECK] Pairs with [ENTER] and [LEFT] */
		if (rb_live_see64(&index->commit_generation) == place->generation &&
		    rb_live_see64(&live->subbufs[id].generation) == place->generation)
			return true;
		cpu_relax();
	}

	return false;
}

/* Return whether the writer is seen to have reached @place. */
static bool rb_live_written(struct rb_live *live, const struct rb_live_place *place)
{
	struct rb_live_place now;

	return rb_live_commit(live, &now) && rb_live_reached(&now, place);
}

/*
 * Return whether the buffer was reset since the observer's position was set, and is
 * not being emptied any more.
 */
static bool rb_live_was_reset(struct ring_buffer_observer *observer)
{
	u64 epoch = rb_live_see64(&observer->live->index->epoch);

	return epoch != observer->epoch && !(epoch & 1);
}

/* Return whether it is time to wake the sleeper. */
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

/* Remove @observer from the sleepers. If its timer still expires, it does nothing. */
static void rb_live_dismiss(struct ring_buffer_observer *observer)
{
	if (observer->sleeps)
		rb_erase_cached(&observer->node, &observer->live->wait.sleepers);
	observer->sleeps = false;
	observer->held = false;
}

/* Make @observer a sleeper until the writer reaches @mark. */
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

/* Make @observer readable, wake its tasks, and use up one of its wake-ups. */
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
 * If the observer's next wake-up is not due yet, hold it until its timer expires, or
 * until half the ring is written past @from, the generation that it reads. Returns
 * the mark at which to wake it.
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
	/* An observer that has left the watched CPU rests for the shorter time only */
	due = min_t(ktime_t, due, ktime_add_ns(now, rest));

	observer->held = true;
	/* Starting a timer may be traced, too: keep one that expires early enough */
	if (!hrtimer_is_queued(timer) || ktime_before(due, hrtimer_get_expires(timer)))
		hrtimer_start(timer, due, HRTIMER_MODE_ABS_PINNED_SOFT);

	return half;
}

/* The writer may have missed the flag or mark just stored: look again later. */
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
 * Set or clear the flag that the writer looks at after each commit. Called only if
 * there are sleepers. The writer may just have set the flag that this clears, so the
 * timer has to look again in either case.
 */
static void rb_live_set_pending(struct rb_live *live, bool pending)
{
	struct rb_irq_work *rbwork = &live->cpu_buffer->irq_work;

	if (READ_ONCE(rbwork->live_pending) == pending)
		return;

	WRITE_ONCE(rbwork->live_pending, pending);
	smp_mb();	/* [ARM] A writer whose commit is missed below sees the flag, but see [B] */
	rb_live_look_later(&live->wait);
}

/*
 * Give the nearest mark to the writer, then look at the commit. Returns whether the
 * first sleeper is due.
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
	/* Do not give the writer a mark that it has reached */
	if (rb_live_due(first))
		return true;

	if (wait->generation != (unsigned long)first->mark.generation ||
	    wait->commit != first->mark.commit) {
		WRITE_ONCE(wait->generation, first->mark.generation);
		WRITE_ONCE(wait->commit, first->mark.commit);
		rb_live_look_later(wait);
	}
	smp_mb();	/* [ARM] A writer whose leave is missed below sees the mark, but see [B] */
	rb_live_set_pending(live, first->mark.generation <=
			    rb_live_see64(&live->index->commit_generation));

	return rb_live_due(first);
}

/*
 * Wake the sleepers that are due, the nearest mark first, and give the next mark to
 * the writer. Returns false if there may be more to wake.
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
	/* The timer wakes the rest. It may also have queued this work to move to this CPU */
	if (!rb_live_wake_some(live) || live->wait.asked)
		rb_live_look_later(&live->wait);
	spin_unlock_irqrestore(&live->wait.lock, flags);
}

/* Return an observer's CPU, or -1 if it is this CPU or offline. Preemption is off. */
static int rb_live_other_cpu(struct rb_live *live)
{
	int cpu = READ_ONCE(live->wait.cpu);

	/* Not a CPU that goes down: on PREEMPT_RT it parks the thread that would do the work */
	if (cpu < 0 || cpu == raw_smp_processor_id() || !cpu_active(cpu))
		return -1;

	return cpu;
}

/*
 * irq_work_queue_on() has tracepoints, which need RCU to be watching. Where it is
 * not, as in the idle loop, lockdep may believe that interrupts are enabled though
 * they are off, and ct_irq_enter() would warn about that. ct_nmi_enter() works in
 * any context.
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
 * Queue the work on the CPU of an observer rather than on this CPU, the watched one.
 * No other CPU goes offline while preemption is off. A CPU that is not online cannot
 * interrupt another one: its work waits until it is up. Return false if the work would
 * not run here: rb_live_cpu_dead() wakes the sleepers.
 */
static bool rb_live_queue_work(struct rb_live *live)
{
	bool here = in_nmi() || unlikely(!cpu_online(raw_smp_processor_id()));
	int cpu = here ? -1 : rb_live_other_cpu(live);

	if (cpu >= 0)
		rb_live_queue_work_on(live, cpu);
	else if (rb_wake_up_runs())
		irq_work_queue(&live->wait.work);
	else
		return false;

	return true;
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
	/* Without sleepers, neither look again nor queue the work */
	again &= !RB_EMPTY_ROOT(&live->wait.sleepers.rb_root);
	preempt_disable();	/* On PREEMPT_RT the lock does not */
	/* If the observers have left this CPU, let the work start the timer on theirs */
	moved = again && rb_live_other_cpu(live) >= 0;
	live->wait.asked = moved;
	live->wait.timing = again && !moved;
	/* Under the lock: the last observer takes it before the index can be removed */
	if (moved)
		rb_live_queue_work(live);
	preempt_enable();
	spin_unlock_irqrestore(&live->wait.lock, flags);

	if (!again || moved)
		return HRTIMER_NORESTART;

	hrtimer_forward_now(timer, ns_to_ktime(RB_LIVE_LOOK_NS));

	return HRTIMER_RESTART;
}

/* The writer enters @generation: set the flag if the nearest mark is there or before. */
static void rb_live_mark_near(struct rb_live *live, unsigned long generation)
{
	if ((long)(generation - READ_ONCE(live->wait.generation)) < 0)
		return;
	/*
	 * Pairs with [ARM] by program order only, see the head of this file. A data
	 * race with a sleeper that comes or goes does no harm: the timer looks again,
	 * and the work clears a flag that is set without a sleeper.
	 */
	if (!data_race(RB_EMPTY_ROOT(&live->wait.sleepers.rb_root)))
		WRITE_ONCE(live->cpu_buffer->irq_work.live_pending, true);
}

/* The writer has committed and found the flag: queue the work if the mark is reached. */
static void rb_live_wakeups(struct ring_buffer_per_cpu *cpu_buffer)
{
	struct rb_live *live = READ_ONCE(cpu_buffer->live);
	unsigned long generation;

	if (!live)
		return;

	/*
	 * A writer that interrupts this one and leaves the page looks at the mark
	 * itself. If the mark has changed since the flag was set, the work finds no
	 * sleeper that is due, and sets the flag again if it is needed.
	 */
	generation = rb_live_load64(&live->index->commit_generation);
	if (generation == READ_ONCE(live->wait.generation) &&
	    rb_page_commit(READ_ONCE(cpu_buffer->commit_page)) <
	    READ_ONCE(live->wait.commit))
		return;

	WRITE_ONCE(cpu_buffer->irq_work.live_pending, false);
	/* The next event tries again, if the CPU stays up after all */
	if (unlikely(!rb_live_queue_work(live)))
		WRITE_ONCE(cpu_buffer->irq_work.live_pending, true);
}

/* Queue the work: the epoch has changed, or a CPU has written events while going down. */
static void rb_live_wake_all(struct rb_live *live)
{
	irq_work_queue(&live->wait.work);
}

/* CPU hotplug prevents the index from being made or removed meanwhile. */
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
 * No observer is left, and no writer uses the index. The work may still start the
 * timer, so end the work first. Without sleepers, the timer queues no work, and
 * neither of them sets the flag. It may still be set, because the timer that would
 * have cleared it is cancelled. Then every event would look for a sleeper.
 */
static void rb_live_wait_end(struct rb_live *live)
{
	irq_work_sync(&live->wait.work);
	hrtimer_cancel(&live->wait.timer);
	WRITE_ONCE(live->cpu_buffer->irq_work.live_pending, false);
}

/*
 * Let the work run on this CPU, where the observer goes to sleep. An observer whose
 * position is set on the watched CPU is limited as if it stayed there, wherever it
 * calls poll().
 */
static void rb_live_sleep_here(struct ring_buffer_observer *observer)
{
	struct rb_live_wait *wait = &observer->live->wait;
	int cpu = raw_smp_processor_id();

	if (cpu == observer->cpu_buffer->cpu)
		observer->home = true;
	/* Do not let the work interrupt the watched CPU if there is another one */
	if (RB_EMPTY_ROOT(&wait->sleepers.rb_root) || cpu != observer->cpu_buffer->cpu)
		WRITE_ONCE(wait->cpu, cpu);
}

/* Wake the sleeper if it is due, otherwise leave that to the writer. */
static void rb_live_arm(struct ring_buffer_observer *observer)
{
	struct rb_live *live = observer->live;

	lockdep_assert_held(&live->wait.lock);

	/* Other sleepers may be due: leave them to the work or the timer */
	if (rb_live_ask(live))
		rb_live_look_later(&live->wait);
	/* [ARM] is done: look at the commit now that the writer can see the mark */
	if (rb_live_due(observer))
		rb_live_wake(observer);
}

/* The hold of an observer has ended: wake it as soon as there is enough. */
static enum hrtimer_restart rb_live_hold_ends(struct hrtimer *timer)
{
	struct ring_buffer_observer *observer =
		container_of(timer, struct ring_buffer_observer, timer);
	struct rb_live *live = observer->live;
	unsigned long flags;

	spin_lock_irqsave(&live->wait.lock, flags);
	/* The observer may have been held again since the timer expired */
	if (observer->held && !hrtimer_is_queued(timer)) {
		rb_live_dismiss(observer);
		rb_live_sleep_until(observer, observer->enough);
		rb_live_arm(observer);
	}
	spin_unlock_irqrestore(&live->wait.lock, flags);

	return HRTIMER_NORESTART;
}

static void rb_live_sleep_init(struct ring_buffer_observer *observer)
{
	init_waitqueue_head(&observer->queue);
	hrtimer_init(&observer->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_SOFT);
	observer->timer.function = rb_live_hold_ends;
}

/* No task sleeps on the observer. Those of other observers may wait for its mark. */
static void rb_live_sleep_end(struct ring_buffer_observer *observer)
{
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
}

/* Return the place where there is enough for an observer at @pos. */
static struct rb_live_place
rb_live_mark(struct ring_buffer_per_cpu *cpu_buffer,
	     const struct trace_live_position *pos, unsigned int percent)
{
	u32 capacity = rb_subbuf_capacity(cpu_buffer->buffer);
	u64 all = (u64)cpu_buffer->nr_pages * capacity;
	u64 bytes = pos->bytes ?: div_u64(all * percent, 100);
	struct rb_live_place mark;
	u32 rest;

	/* The observer cannot wait for more than the ring holds */
	bytes = clamp_t(u64, bytes, 1, all);
	/* The place of the last of these bytes. The end of a sub-buffer belongs to that one */
	mark.generation = pos->generation +
			  div_u64_rem(pos->read + bytes - 1, capacity, &rest);
	mark.commit = rest + 1;

	return mark;
}

/* Return false if @pos is invalid: neither reached by the writer nor of a past epoch. */
static bool rb_live_possible(struct rb_live *live,
			     const struct trace_live_position *pos)
{
	struct rb_live_place here = { pos->generation, pos->read }, now;
	u64 epoch = rb_live_see64(&live->index->epoch);

	smp_rmb();	/* Pairs with [RESET]: what the epoch begins with is seen below */
	if (pos->flags || pos->epoch & 1 || pos->epoch > epoch ||
	    pos->read > rb_subbuf_capacity(live->cpu_buffer->buffer))
		return false;
	if (pos->epoch != epoch)
		return true;

	/* Accept it if the commit was not found: the writer is too fast, or a reset came */
	return !rb_live_commit(live, &now) || rb_live_reached(&now, &here);
}

/**
 * ring_buffer_observer_seek - set the position of an observer
 * @observer: the observer
 * @pos: the position reached, and the bytes wanted beyond it
 * @percent: the percentage of the buffer that is wanted if @pos->bytes is 0
 *
 * If there is enough already and the observer is not held, its tasks are woken and
 * it is readable. Otherwise it is not readable until it is woken.
 *
 * Context: Process context. Takes wait.lock. Interrupts no other CPU.
 *
 * Return: 0, or -EINVAL if the position is ahead of the writer, past the end of a
 * sub-buffer or of an odd or future epoch, or has a flag that is not defined.
 */
int ring_buffer_observer_seek(struct ring_buffer_observer *observer,
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
	/* A writer that is leaving a sub-buffer may not see the first sleeper */
	if (RB_EMPTY_ROOT(&wait->sleepers.rb_root))
		rb_live_look_later(wait);
	rb_live_sleep_until(observer, rb_live_hold(observer, pos->generation));
	rb_live_arm(observer);
	spin_unlock_irqrestore(&wait->lock, flags);

	return 0;
}

/**
 * ring_buffer_observer_poll - poll an observer
 * @observer: the observer
 * @filp: the file that is polled
 * @poll_table: the poll table
 *
 * Context: Process context. Takes wait.lock. Interrupts no other CPU.
 *
 * Return: 0 while the observer is a sleeper; EPOLLIN | EPOLLRDNORM when it was woken
 * for its position, or has no position yet.
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

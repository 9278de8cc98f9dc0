/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wait.pml: waiting for a mark on the live index; for spin.
 *
 * Modelled: a writer's CPU, where an NMI that writes as well comes between any
 * two steps; waiters with marks of their own; the wake work on another CPU; the
 * timer of each waiter. What the writer stores is in its store buffer first:
 * others see it at any later time. TIMER is longer than any store stays there.
 *
 *	waiter	lock; register the mark; REFRESH; unlock
 *		sleep until woken; or give up: lock; remove it; REFRESH; unlock
 *		one that is held registers a later mark first; when that ends: lock;
 *		register its own; REFRESH; unlock
 *	REFRESH	look: wake all whose mark is reached, and remove their marks
 *		store the nearest mark, in two halves; smp_mb() [ARM]; store near:
 *		is that mark in the sub-buffer that events are committed to, as
 *		far as can be seen? smp_mb() [ARM]
 *		look again [LOOK]: reached: from the start
 *		if something was stored: start the timer [TIMER]
 *	timer	lock; REFRESH; unlock
 *	work	lock; REFRESH; unlock
 *	writer	commit, discard or drop, as rb_end_commit() does; then, if near is
 *		set: compare the mark with the commit; if it is reached, or in
 *		another sub-buffer: near = false, and only then queue the work
 *		[CLEAR], which is a full barrier
 *		leaving a sub-buffer: store commit_generation, and only then load
 *		the mark's generation [LEAVE]; if that is entered: near = true
 *
 * [ARM] orders the waiter's stores before its look, and before the timer's
 * start. The writer has no barrier between its commit and its load of near:
 * what it committed before it could see near was stored before [ARM], so the
 * timer sees it. [CLEAR]: the work, or a waiter that the lock lets in after it,
 * may set near again, and the writer must not undo that. If it did, the timer
 * that each of them has started would find it, later than need be: no
 * waiter sleeps for ever then.
 *
 * What an NMI wrote while the task writes is committed when the task ends,
 * whether the task's own event is committed, discarded, or had no room: each
 * has to look afterwards. An event is one word of the two of a sub-buffer; one
 * that is discarded is taken back, unless another was written behind it. How
 * far the commit is, the writer loads in three steps: generation, commit_page,
 * commit word; an NMI may leave the sub-buffer before the last.
 *
 * Everything is explored: COMMITS events of the task and NMIS of the NMI, two
 * waiters, the one for the second word, the other for the third, which is the
 * first of the next sub-buffer: (1, 2) is half of either and behind both. With
 * GIVEUP=0 or 1, that waiter may give up at any time; 2: none does. A waiter
 * gives up, too, when nothing will come any more. With HOLD=0 or 1, that waiter is
 * held until any time, at a mark that is not reached.
 *
 * Properties
 *   - WAKE-6, WAKE-10: No invalid end state: no waiter whose mark is reached
 *     sleeps for ever.
 *   - WAKE-6: Nobody is woken before the mark is reached.
 *   - The timer is needed only for stores that were on their way: whom it wakes
 *     could not be seen to be reached when it was started.
 *   - The work runs at most once for each waiter and for each sub-buffer that
 *     was entered, and once more for each two halves of different marks.
 *   - With nobody registered the writer does nothing: the work may run in vain
 *     once for each sub-buffer entered, and nothing remains set but by that.
 *   - When nobody writes, all that was written is committed.
 *
 * To see that the model is not blind, -DBREAK_... takes away one thing each:
 *	ARM LOOK TIMER LEAVE		what has this label
 *	AGAIN				a timer that sets near is not started again
 *	WORK_TIMER			the work starts no timer
 *	WORK_LOOK			the work does not look again
 *	NEAR NEAR_LEAVE			near is not set by a waiter, by the writer
 *					that leaves a sub-buffer
 *	STALE				a mark in another sub-buffer leaves near set
 *	NEXT				whoever wakes a waiter stores no next mark
 *	OTHERS				a waiter or timer wakes its own waiter only
 *	COMMITTED DISCARD DROP		the look at the end of such an event
 *	END				rb_end_commit() does not commit what came
 *					while it did
 */
#ifndef COMMITS
#define COMMITS	2
#endif
#ifndef NMIS
#define NMIS	1
#endif
#ifndef GIVEUP
#define GIVEUP	2
#endif
#ifndef HOLD
#define HOLD	2
#endif

/* A place: a generation and what is committed in it: 0, 1 or 2 words */
#define G(p)	((p) / 3)
#define C(p)	((p) % 3)
#define PLACE(g, c) (3 * (g) + (c))
#define NONE	PLACE(15, 0)
#define HELD	PLACE(14, 1)

/* The writer's CPU */
byte pos;			/* committed: commit_generation, commit word */
bit behind;			/* commit_page is not, where that generation is */
byte tail;			/* written */
bit committing;			/* by the task */
bit came;			/* an NMI, since the task read commits */
byte buffered;			/* near: 1 false, 2 true are in the store buffer */
byte nnmi = NMIS;
bit idle;
#define commit_place	(behind -> PLACE(G(pos), 2) : pos)

/* What others see */
byte seen_pos;
byte wake_g = 15, wake_c;
bit near, work;
byte ran, left;		/* times the work ran, sub-buffers left */

/* The waiters; timer: the writer's stores it has to see, + 1 */
bit lock;
byte mark[2] = NONE;
bit woken[2], stale[2];
byte timer[2], timer_seen[2];

#define writer_near	(buffered -> buffered == 2 : near)
#define nearest		(mark[0] < mark[1] -> 0 : 1)

proctype seen()
{
end:	do
	:: atomic { seen_pos < pos -> seen_pos++ }
	:: atomic { buffered ->
		near = buffered - 1; buffered = 0; stale[0] = 0; stale[1] = 0 }
	od
}

/* A full barrier of the writer */
inline drain()
{
	seen_pos = pos;
	if
	:: buffered -> near = buffered - 1; buffered = 0; stale[0] = 0; stale[1] = 0
	:: else
	fi
}

/* -- The writer ------------------------------------------------------- */

#ifdef BREAK_STALE
#define enough(now, g, c)	((now) >= PLACE(g, c))
#else
#define enough(now, g, c)	((now) >= PLACE(g, c) || G(now) != (g))
#endif

inline nmi()
{
	nnmi--;
	came = 1;
	tail = (C(tail) == 2 -> tail + 2 : tail + 1);
	if
	:: !committing && G(tail) != G(pos) ->
		left++;
		if
		:: G(tail) >= wake_g -> buffered = 2
		:: else
		fi
	:: else
	fi;
	if
	:: !committing -> pos = tail
	:: else
	fi;
	if
	:: writer_near && enough(commit_place, wake_g, wake_c) ->
		buffered = 1; drain(); work = 1
	:: else -> assert(!writer_near || wake_g != G(NONE))
	fi
}

inline interrupts()
{
	do
	:: break
	:: atomic { nnmi -> nmi() }
	od
}

inline load_wake_g()
{
#ifndef BREAK_NEAR_LEAVE
	g = wake_g
#else
	g = 15
#endif
}

inline leave()
{
	pos = PLACE(G(pos), 2);
	interrupts();
#ifdef BREAK_LEAVE
	load_wake_g();
	interrupts();
#endif
	atomic { pos++; left++; behind = 1 }
	interrupts();
	behind = 0;
	interrupts();
#ifndef BREAK_LEAVE
	load_wake_g();
	interrupts();
#endif
	if
	:: G(pos) >= g -> buffered = 2
	:: else
	fi;
	g = 0
}

/* rb_end_commit(), rb_set_commit_to_write() */
inline end_commit()
{
	do
	:: came = 0;
		do
		:: G(pos) != G(tail) -> interrupts(); leave()
		:: G(pos) == G(tail) && pos != tail ->
			now = tail;
			interrupts();
			pos = now; now = 0
		:: else -> break
		od;
		interrupts();
		committing = 0;
#ifdef BREAK_END
		break
#else
		interrupts();
		if
		:: came -> committing = 1; interrupts()
		:: else -> break
		fi
#endif
	od
}

inline look()
{
	if
	:: writer_near ->
		interrupts();
		now = G(pos);
		interrupts();
		c = G(pos);		/* commit_page */
		interrupts();
		if
		:: c == G(pos) -> now = PLACE(now, C(pos))
		:: c != G(pos) -> now = PLACE(now, 2)
		:: c != G(pos) -> now = PLACE(now, 0)
		fi;
		c = 0;
		interrupts();
		if
		:: g = wake_g; interrupts(); c = wake_c
		:: c = wake_c; interrupts(); g = wake_g
		fi;
		interrupts();
		if
		:: enough(now, g, c) ->
			buffered = 1;
			interrupts();
			atomic { drain(); work = 1 }
		:: else -> assert(g != G(NONE))
		fi;
		g = 0; c = 0; now = 0
	:: else
	fi
}

#define E_COMMIT	1
#define E_DISCARD	2
#define E_DROP		3

inline event()
{
	committing = 1;
	interrupts();
	do
	:: atomic { C(tail) != 2 -> tail++; at = tail };
		if
		:: how = E_COMMIT
		:: how = E_DISCARD;
			interrupts();
			atomic {
				if
				:: tail == at -> tail--
				:: else
				fi
			}
		fi;
		break
	:: C(tail) == 2 ->
		/* the tail moves; what was before is committed */
		tail++;
		interrupts();
		end_commit();
		interrupts();
		committing = 1;
		interrupts()
	:: how = E_DROP; break
	od;
	at = 0;
	interrupts();
	end_commit();
	interrupts();
	if
#ifdef BREAK_COMMITTED
	:: how == E_COMMIT
#endif
#ifdef BREAK_DISCARD
	:: how == E_DISCARD
#endif
#ifdef BREAK_DROP
	:: how == E_DROP
#endif
	:: else -> how = 0; look()
	fi;
	how = 0
}

proctype cpu()
{
	byte n = COMMITS, now, g, c, at, how;

	do
	:: n ->
		n--;
		interrupts();
		event()
	:: else -> break
	od;
	/* idle; no more NMI need come to help */
	atomic { assert(pos == tail && !behind); idle = 1 }
end:	do
	:: atomic { nnmi -> nmi() }
	:: nnmi -> nnmi = 0
	od
}

/* -- Waiters, timers, the work ---------------------------------------- */

inline wake(i, by_timer)
{
	if
	:: mark[i] != NONE && mark[i] <= now ->
		assert(!by_timer || !timer_seen[i] || mark[i] >= timer_seen[i]);
		mark[i] = NONE; woken[i] = 1; timer[i] = 0; stale[i] = 0; timer_seen[i] = 0;
		woke = 1
	:: else
	fi
}

#define STORE_G		1
#define STORE_C		2

/* The nearest mark is stored, where it is another one. */
inline plan()
{
	best = mark[nearest];
	todo = (wake_g != G(best) -> STORE_G : 0) | (wake_c != C(best) -> STORE_C : 0);
	stored = todo
}

inline store_mark()
{
	do
	:: atomic { todo & STORE_G -> wake_g = G(best); todo = todo & ~STORE_G }
	:: atomic { todo & STORE_C -> wake_c = C(best); todo = todo & ~STORE_C }
	:: atomic { !todo -> break }
	od
}

#ifdef BREAK_NEAR
#define is_near		0
#else
#define is_near		(best != NONE && G(best) <= G(now))
#endif

inline store_near()
{
	if
	:: atomic { near != is_near -> stored = 1 }
		near = is_near
	:: else
	fi
}

inline start_timer()
{
	if
	:: best != NONE && stored ->
		timer[nearest] = pos + 1;
		timer_seen[nearest] = seen_pos + 1;
		stale[nearest] = (buffered != 0)
	:: else
	fi
}

#define WAITER	0
#define TIMER	1
#define WORK	2

#ifdef BREAK_TIMER
#define starts(by)	0
#elif defined(BREAK_AGAIN)
#define starts(by)	((by) != TIMER)
#elif defined(BREAK_WORK_TIMER)
#define starts(by)	((by) != WORK)
#else
#define starts(by)	1
#endif

#ifdef BREAK_LOOK
#define looks(by)	((by) != WAITER)
#elif defined(BREAK_WORK_LOOK)
#define looks(by)	((by) != WORK)
#else
#define looks(by)	1
#endif

inline arm(by)
{
	again = (looks(by) && seen_pos >= best);
	if
	:: starts(by) && !again -> start_timer()
	:: else
	fi
}

inline wake_reached(by, self)
{
#ifdef BREAK_OTHERS
	if
	:: by == WORK || self == 0 -> wake(0, by == TIMER)
	:: else
	fi;
	if
	:: by == WORK || self == 1 -> wake(1, by == TIMER)
	:: else
	fi
#else
	wake(0, by == TIMER);
	wake(1, by == TIMER)
#endif
}

/* REFRESH, under the lock */
inline refresh(by, self)
{
	do
	:: atomic { now = seen_pos; wake_reached(by, self); plan() }
#ifdef BREAK_NEXT
		if
		:: woke -> todo = 0; break
		:: else
		fi;
#endif
#ifdef BREAK_ARM
		atomic { stored = (todo || near != is_near); arm(by) }
		store_mark();
#else
		store_mark();
		now = seen_pos;		/* after smp_mb() [ARM] */
#endif
		store_near();
#ifndef BREAK_ARM
		atomic { arm(by) }	/* after smp_mb() [ARM] */
#endif
		if
#ifdef BREAK_OTHERS
		:: again && (by == WORK || mark[self] <= seen_pos)
#else
		:: again
#endif
		:: else -> break
		fi
	od;
	now = 0; best = 0; stored = 0; again = 0
}

#define refresh_locals	byte now, best, todo, stored; bit again, woke

inline fire(i)
{
	/* Whatever the writer stored before the start is seen */
	atomic { !lock && timer[i] && seen_pos + 1 >= timer[i] && !stale[i] ->
		lock = 1; timer[i] = 0 }
	refresh(TIMER, i);
	atomic { lock = 0; woke = 0; timer_seen[i] = (timer[i] -> timer_seen[i] : 0) }
}

proctype timers()
{
	refresh_locals;

end:	do
	:: fire(0)
	:: fire(1)
	od
}

proctype works()
{
	refresh_locals;

end:	do
	:: atomic { work && !lock -> work = 0; lock = 1 }
		atomic { ran++; assert(ran <= 3 + left) }
		refresh(WORK, 0);
		atomic { lock = 0; woke = 0 }
	od
}

proctype waiter(byte me; byte at)
{
	refresh_locals;

	atomic { !lock -> lock = 1; mark[me] = (me == HOLD -> HELD : at) }
	refresh(WAITER, me);
	atomic { lock = 0; woke = 0 }
#if HOLD != 2
	if
	:: me == HOLD ->
		atomic { !lock -> lock = 1; mark[me] = at }
		refresh(WAITER, me);
		atomic { lock = 0; woke = 0 }
	:: else
	fi;
#endif
	if
	:: woken[me]
	:: me == GIVEUP -> goto remove
	:: idle && !nnmi && pos < at ->		/* nothing will come */
remove:		atomic { !lock -> lock = 1; mark[me] = NONE; timer[me] = 0; stale[me] = 0; timer_seen[me] = 0 }
		refresh(WAITER, me);
		atomic { lock = 0; woke = 0 }
	fi
}

init {
	atomic {
		run seen(); run cpu(); run timers(); run works();
		run waiter(0, PLACE(0, 2)); run waiter(1, PLACE(1, 1))
	}
}

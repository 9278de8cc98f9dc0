/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wait.pml: waiting for a mark on the live index, and the limit of wake-ups; for spin.
 *
 * Modelled: the watched CPU, where an NMI that writes comes between any two steps,
 * and the irq_work between any two of the writer's; two waiters; the timer; a reset,
 * by another CPU, and its work there. What the writer stores is in its store buffer
 * first: others see it at any later time, but before the timer's time is over.
 *
 *	waiter	lock; erase its mark, and if nobody sleeps now, disarm; register the
 *		mark, one that is reached at the place of the commit; REFRESH; unlock;
 *		sleep until woken, or for a while; or close the file: lock; erase the
 *		mark, and disarm as before; unlock
 *	REFRESH	until nothing is left to do, nearest mark first:
 *		nobody sleeps: disarm: no mark, the flag is off
 *		reached: wake the waiter, BATCH of them in a round, without the lock.
 *		A round takes a credit; if there is none, rest: disarm, and start the
 *		timer for the end of the rest. Not reached, but no credit: rest
 *		else arm: store mark; smp_mb() [ARM]; store the flag: has the commit
 *		reached the mark's generation? smp_mb() [ARM]; look again; if
 *		something was stored, and not by the irq_work: start the timer [TIMER]
 *	timer	lock; REFRESH; unlock
 *	work	lock; take a credit, whether anybody is due or not; REFRESH; unlock
 *	writer	commit, discard or drop, as rb_end_commit() does; then, if the flag is
 *		set and the mark reached: clear the flag and queue the work, which is a
 *		full barrier. Leaving a sub-buffer: store commit_generation, and only
 *		then load the mark's generation [LEAVE]; if it is entered: set the flag
 *
 * The writer has no barrier between its commit and its load of the flag: what it
 * committed before it could see the flag was stored before [ARM], so the timer sees
 * it. The irq_work needs no timer: it looks at what its own CPU stored.
 *
 * A sub-buffer has two words, an event of the task one (or WORDS), one of an NMI one;
 * one that is discarded is taken back, unless another was written behind it. What an
 * NMI wrote while the task writes is committed when the task ends, however it does.
 *
 * There are N = 2 slots: a mark is at most N generations ahead. A reset jumps by N + 2.
 *
 * Everything is explored: COMMITS events of the task and NMIS of the NMI; two waiters
 * with marks AT0 and AT1, the second of which sets its mark LOOPS times; RESETS. With
 * CLOSE=0 or 1, that waiter may close its file at any time; 3: both, 2: none. A waiter
 * closes it, too, when nothing will come any more. A rest ends at any time.
 *
 * Properties
 *   - WAKE-6, WAKE-10, WAKE-15: No invalid end state: no waiter whose mark is reached
 *     sleeps for ever, nor one whose buffer was reset.
 *   - WAKE-6: Nobody is woken before the mark is reached.
 *   - WAKE-13: A waiter that is due is overtaken once at most.
 *   - WAKE-19: Each round has a credit, and wakes BATCH waiters at most. Until a
 *     round is tried, the writer queues the work once, an NMI once more, and neither
 *     for a mark that it has seen during a rest.
 *   - When nobody writes, all that was written is committed.
 *
 * To see that the model is not blind, -DBREAK_... takes away one thing each:
 *	ARM TIMER LEAVE		what has this label
 *	KEPT			a timer that runs is left as it is: it may be too early
 *	WORK_LOOK		the work does not look again
 *	REST			the timer is not started for the end of a rest
 *	RESTING			a rest leaves mark and flag as they are
 *	LIMIT			a waiter that is due is woken without a credit
 *	VAIN			work that finds nobody due takes no credit
 *	CLAMP			a mark that is reached stays where it is
 *	NEAR NEAR_LEAVE		the flag is not set by a waiter, by a writer that leaves
 *	DISMISS			whoever leaves as the last keeps the mark, and the writer
 *				looks whether anybody sleeps
 *	NEXT			whoever wakes a waiter arms no next mark
 *	EARLY			to leave m reaches any mark in it
 *	SIZE			only an event behind it does, not the end of m
 *	JUMP			a reset jumps by N + 1
 *	COMMITTED DISCARD DROP	the look at the end of such an event
 *	END			rb_end_commit() does not commit what came while it did
 */
#define BATCH	1
#define N	2

/* A place: a generation and what is committed in it: 0, 1 or 2 words */
#define G(p)	((p) / 3)
#define C(p)	((p) % 3)
#define PLACE(g, c) (3 * (g) + (c))
#define NONE	PLACE(15, 0)

/* While nothing is committed to a sub-buffer, the last event ends in the one before. */
#define ended(now)	(C(now) || !(now) -> (now) : PLACE(G(now) - 1, size[(G(now) - 1) % N]))
#ifdef BREAK_EARLY
#define last(now)	(now)
#elif defined(BREAK_SIZE)
#define last(now)	(C(now) -> (now) : 0)
#else
#define last(now)	ended(now)
#endif
#define reached(mark, now)	(last(now) >= (mark))
#define near(mark, now)		((mark) < PLACE(G(now) + 1, 0))

/* The watched CPU */
byte pos;			/* committed: commit_generation, commit word */
bit behind;			/* commit_page is not, where that generation is */
byte tail;			/* written */
byte ends[4];			/* where the records of a generation end that the tail left */
byte size[N];			/* of a slot */
bit committing;			/* by the task */
bit came;			/* an NMI, since the task read commits */
byte buffered;			/* the flag: 1 off, 2 on are in the store buffer */
byte nnmi = NMIS, nreset = RESETS;
bit idle;
#define commit_place	(behind -> PLACE(G(pos) - 1, size[(G(pos) - 1) % N]) : pos)

/* What others see */
byte seen_pos;
byte wmark = NONE;		/* the nearest mark */
bit flag, work, away;

/* The waiters; the timer: the writer's stores it has to see, + 1 */
bit lock;
byte mark[2] = NONE;
bit woken[2], due[2];		/* due: since a reset */
byte over;			/* times that waiter 0 was overtaken while it was due */
byte credit = BURST;
byte owed;			/* times that the work was queued, and no round was tried since */
bit resting;			/* and nothing was armed since */
byte timer;
bit stale;
#define T_REST	255		/* it waits for the end of a rest */

#define writer_flag	(buffered -> buffered == 2 : flag)
#define nearest		(mark[0] <= mark[1] -> 0 : 1)

chan to_work = [0] of { bit };
chan work_done = [0] of { bit };

#define flush								\
	if								\
	:: buffered -> flag = buffered - 1; buffered = 0; stale = 0	\
	:: else								\
	fi

proctype seen()
{
end:	do
	:: atomic { seen_pos != pos ->
		if
		:: G(seen_pos) == G(pos) || C(seen_pos) < ends[G(seen_pos) % 4] -> seen_pos++
		:: else -> seen_pos = PLACE(G(seen_pos) + 1, 0)
		fi }
	:: atomic { buffered -> flush }
	od
}

/* A rest ends, or a part of it */
proctype clock()
{
end:	do
	:: atomic { !credit -> credit++ }
	od
}

/* -- The writer ------------------------------------------------------- */

/* The work is queued: a full barrier. */
inline queue_work()
{
	seen_pos = pos;
	buffered = 1;
	flush;
	if
	:: !work -> work = 1; owed++; assert(owed <= 1 + (NMIS > 0))
	:: else
	fi
}

inline cross()
{
	ends[G(tail) % 4] = C(tail);
	tail = PLACE(G(tail) + 1, 0)
}

inline nmi()
{
	nnmi--;
	came = 1;
	if
	:: C(tail) == 2 -> cross()
	:: else
	fi;
	tail++;
	if
	:: !committing && G(tail) != G(pos) ->
		size[G(pos) % N] = ends[G(pos) % 4];
		if
		:: near(wmark, tail) -> buffered = 2
		:: else
		fi
	:: else
	fi;
	if
	:: !committing -> pos = tail
	:: else
	fi;
	if
	:: writer_flag && PLACE(G(pos), C(commit_place)) >= wmark -> assert(!resting); queue_work()
	:: else
	fi
}

inline nmis()
{
	do
	:: break
	:: atomic { nnmi -> nmi() }
	od
}

inline interrupts()
{
	do
	:: break
	:: atomic { nnmi -> nmi() }
	:: atomic { work -> to_work!0 }; work_done?_
	od
}

#ifdef BREAK_NEAR_LEAVE
#define load_mark()	w = NONE
#elif defined(BREAK_DISMISS)
#define load_mark()	w = (mark[nearest] == NONE -> NONE : wmark)
#else
#define load_mark()	w = wmark
#endif

inline leave()
{
	pos = PLACE(G(pos), ends[G(pos) % 4]);
	interrupts();
	size[G(pos) % N] = C(pos);
#ifdef BREAK_LEAVE
	load_mark();
	interrupts();
#endif
	atomic { pos = PLACE(G(pos) + 1, 0); behind = 1 }
	interrupts();
	behind = 0;
	interrupts();
#ifndef BREAK_LEAVE
	load_mark();
	interrupts();
#endif
	if
	:: near(w, pos) -> buffered = 2
	:: else
	fi;
	w = 0
}

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
	:: writer_flag ->
		interrupts();
		now = G(pos);
		interrupts();
		c = G(commit_place);
		interrupts();
		c = (c == G(pos) -> C(pos) : size[c % N]);
		interrupts();
		atomic { w = wmark; late = resting };
		interrupts();
		if
		:: c && PLACE(now, c) >= w ->
			assert(!late);
			buffered = 1;
			interrupts();
			atomic { queue_work() }
		:: else
		fi;
		c = 0; w = 0; now = 0; late = 0
	:: else
	fi
}

#define E_COMMIT	1
#define E_DISCARD	2
#define E_DROP		3

/* After such an event the writer does not look. */
#if defined(BREAK_COMMITTED)
#define UNSEEN	E_COMMIT
#elif defined(BREAK_DISCARD)
#define UNSEEN	E_DISCARD
#elif defined(BREAK_DROP)
#define UNSEEN	E_DROP
#else
#define UNSEEN	0
#endif

inline event()
{
	committing = 1;
	interrupts();
	if
	:: words = 1
#if WORDS > 1
	:: words = 2
#endif
	:: how = E_DROP
	fi;
	do
	:: atomic { !how && C(tail) + words <= 2 -> tail = tail + words; at = tail };
		if
		:: how = E_COMMIT
		:: how = E_DISCARD;
			interrupts();
			atomic {
				if
				:: tail == at -> tail = tail - words
				:: else
				fi
			}
		fi;
		break
	:: atomic { !how && C(tail) + words > 2 -> cross() };
		/* what was before is committed */
		interrupts();
		end_commit();
		interrupts();
		committing = 1;
		interrupts()
	:: how == E_DROP -> break
	od;
	at = 0; words = 0;
	interrupts();
	end_commit();
	interrupts();
	if
	:: how == UNSEEN
	:: else -> how = 0; look()
	fi;
	how = 0
}

#ifdef BREAK_JUMP
#define JUMP	(N + 1)
#else
#define JUMP	(N + 2)
#endif

/* Writers are kept out. Another CPU does this, and queues work there. */
inline reset()
{
	flush;
	pos = PLACE(G(pos) + JUMP, 0); tail = pos; seen_pos = pos;
	due[0] = (mark[0] != NONE); due[1] = (mark[1] != NONE);
	nreset--;
	away = 1
}

proctype cpu()
{
	byte n = COMMITS, now, c, w, at, how, words;
	bit late;

	do
	:: n ->
		n--;
		interrupts();
		event()
	:: atomic { nreset -> reset() }
	:: !n && !nreset -> break
	od;
	/* idle; no more NMI need come to help */
	atomic { assert(pos == tail && !behind); idle = 1 }
end:	do
	:: atomic { nnmi -> nmi() }
	:: nnmi -> nnmi = 0
	:: atomic { work -> to_work!0 }; work_done?_
	od
}

/* -- Waiters, timer, work --------------------------------------------- */

#define WAITER	0
#define TIMER	1
#define WORK	2
#define AWAY	3

/* The work on the watched CPU sees what that CPU stored, and NMIs come there. */
#define sees(by)	((by) == WORK -> pos : seen_pos)
inline step(by)
{
	if
	:: by == WORK -> nmis()
	:: else
	fi
}

/* The work stores to the flag on the writer's CPU. */
inline set_flag(by, value)
{
	flag = value;
	if
	:: by == WORK -> buffered = 0; stale = 0
	:: else
	fi
}

inline disarm(by)
{
	wmark = NONE;
	set_flag(by, 0)
}

/* A round begins, if there is a credit. */
inline take()
{
	owed = 0;
	if
	:: credit -> credit--; room = BATCH; granted = BATCH
	:: else
	fi
}

inline rest(by)
{
	resting = 1;
#ifndef BREAK_RESTING
	disarm(by);
#endif
#ifndef BREAK_REST
	timer = T_REST; stale = 0
#endif
}

inline wake(i)
{
	assert(ended(pos) >= mark[i] && granted);
	granted--;
	if
	:: i == 1 && reached(mark[0], seen_pos) -> over++; assert(over <= 1)
	:: i == 0 -> over = 0
	:: else
	fi;
	mark[i] = NONE; woken[i] = 1; due[i] = 0
}

#ifdef BREAK_TIMER
#define starts(by)	0
#else
#define starts(by)	((by) != WORK)
#endif

#ifdef BREAK_KEPT
#define kept	1
#else
#define kept	0
#endif

#ifdef BREAK_WORK_LOOK
#define looks(by)	((by) != WORK)
#else
#define looks(by)	1
#endif

#ifdef BREAK_NEAR
#define is_near		0
#else
#define is_near		near(best, now)
#endif

inline start_timer(by)
{
	if
	:: stored && starts(by) && !(kept && timer) -> timer = pos + 1; stale = (buffered != 0)
	:: else
	fi
}

/* Returns with "again" if the mark is reached. */
inline look_again(by)
{
	now = sees(by);
	again = looks(by) && reached(best, now);
	if
	:: !again -> start_timer(by)
	:: else
	fi
}

inline arm(by)
{
#ifdef BREAK_ARM
	atomic {
		now = sees(by);
		stored = (wmark != best || flag != is_near);
		look_again(by)
	};
#endif
	atomic { stored = (stored || wmark != best); wmark = best; resting = 0 };
	step(by);
	now = sees(by);		/* after smp_mb() [ARM] */
	atomic {
		if
		:: (by == WORK -> writer_flag : flag) != is_near -> stored = 1; set_flag(by, is_near)
		:: else
		fi
	};
	step(by);
#ifndef BREAK_ARM
	atomic { look_again(by) }	/* after smp_mb() [ARM] */
#endif
}

/* REFRESH, under the lock */
inline refresh(by)
{
	do
	:: atomic {
		now = sees(by); who = nearest; best = mark[who]; again = 0;
		if
		:: best == NONE -> disarm(by); break
		:: best != NONE && reached(best, now) ->
			if
#ifdef BREAK_LIMIT
			:: by == WAITER -> room = 1
#endif
			:: !room -> take()
			:: else
			fi;
			if
			:: room -> room--; wake(who); lock = 0
			:: else -> rest(by); break
			fi
		:: else ->
			room = 0;
			again = 1;
			if
			:: !credit -> rest(by); break
			:: else
			fi
		fi };
		if
		:: again ->
			again = 0;
			arm(by);
			if
			:: again
			:: else -> break
			fi
		:: else ->
			step(by);
#ifdef BREAK_NEXT
			atomic { !lock -> lock = 1; break }
#else
			atomic { !lock -> lock = 1 }
#endif
		fi
	od;
	atomic { now = 0; who = 0; best = 0; stored = 0; again = 0; room = 0; granted = 0; lock = 0 }
}

#define refresh_locals	byte now, best, room, granted; bit who, again, stored

proctype timers()
{
	refresh_locals;

end:	do
	:: atomic { !lock && timer && (timer == T_REST -> credit > 0 : seen_pos + 1 >= timer && !stale) ->
		lock = 1; timer = 0 }
		refresh(TIMER)
	od
}

inline run_work(by)
{
#ifndef BREAK_VAIN
	atomic { take() };
#endif
	refresh(by)
}

proctype works()
{
	refresh_locals;

end:	do
	:: atomic { to_work?_; work = 0 }
		atomic { !lock -> lock = 1 }
		run_work(WORK);
		work_done!0
	od
}

#if RESETS
proctype works_away()
{
	refresh_locals;

end:	do
	:: atomic { away && !lock -> away = 0; lock = 1 }
		run_work(AWAY)
	od
}
#endif

inline dismiss()
{
	mark[me] = NONE;
#ifndef BREAK_DISMISS
	if
	:: mark[nearest] == NONE -> disarm(WAITER)
	:: else
	fi
#endif
}

proctype waiter(byte me; byte at; byte n)
{
	refresh_locals;

	do
	:: atomic { n && !lock -> n--; lock = 1; woken[me] = 0; dismiss() }
		atomic {
#ifndef BREAK_CLAMP
		mark[me] = (reached(at, seen_pos) && at < seen_pos -> seen_pos : at)
#else
		mark[me] = at
#endif
		}
		refresh(WAITER);
		if
		:: woken[me]
		:: n && AGAIN	/* it polls with a timeout, and tells its position again */
		:: atomic { (me == CLOSE || CLOSE == 3) && !lock -> dismiss(); due[me] = 0; break }
		:: atomic { idle && !nnmi && !lock && mark[me] != NONE && !due[me] && ended(pos) < mark[me] ->
			dismiss() }	/* nothing will come */
		fi
	:: !n -> break
	od
}

init {
	atomic {
		run seen(); run clock(); run cpu(); run timers(); run works();
#if RESETS
		run works_away();
#endif
		run waiter(0, AT0, 1); run waiter(1, AT1, LOOPS)
	}
}

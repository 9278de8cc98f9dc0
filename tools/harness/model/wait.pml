/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wait.pml: looking, sleeping and committing, of the live index; for spin.
 *
 * Waiters with marks of their own; a CPU that writes, with the handlers of the
 * IPI and of irq_work, and an NMI that writes as well; each comes between any
 * two steps of what it interrupts. What the writer commits is seen by others at
 * any later time, so its load of the flag may pass the commit; a waiter's
 * stores while he arms are seen in any order, up to the IPI:
 *
 *	waiter	[QUEUE] onto the wait queue
 *		look
 *		[REARM] lock; the first mark, in two halves; flag = 1; unlock
 *		[IPI] to the writer's CPU; when it has answered, what was
 *		committed there before is seen, and what is written there
 *		afterwards finds the flag set
 *		[LOOK] look again; [WAKE] if there is enough: wake all, because
 *		the writer may have seen half of this mark and half of another's
 *		sleep; woken: from the start
 *	writer	begin; reserve, going to the next sub-buffer if this one is full;
 *		end: commit, discard or drop, as rb_end_commit() does; [END] if
 *		the flag is set and the first mark is reached:
 *		flag = 0; irq_work: wake all who are on the queue
 *
 * What an NMI wrote while the task writes is committed when the task ends,
 * whether the task's own event is committed, discarded ([DISCARD]), or had no
 * room ([DROP]): each has to look afterwards. An NMI looks too, even between
 * the stores of a commit. An event is one word of the two of a sub-buffer; one
 * that is discarded is taken back, unless another was written behind it. How
 * far the commit is, is loaded in three steps: generation, commit_page, commit
 * word; the sub-buffer may be left, and recycled, before the last.
 *
 * Everything is explored: COMMITS events of the task and NMIS of the NMI, two
 * waiters, the one for the second word, the other for the third, which is the
 * first of the next sub-buffer: (1, 2) is half of either and behind both.
 * Properties: no invalid end state, that is: whose mark is reached does not
 * sleep; and when nobody writes, all that was written is committed. -DBREAK_QUEUE, _REARM, _IPI, _LOOK, _WAKE take away what is marked;
 * _COMMITTED, _DISCARD, _DROP the look at the [END] of such an event; _AGAIN has
 * rb_end_commit() not commit what came while it did.
 */
#ifndef COMMITS
#define COMMITS	2
#endif
#ifndef NMIS
#define NMIS	1
#endif

/* A place: a generation and what is committed in it: 0, 1 or 2 words */
#define G(p)	((p) / 3)
#define C(p)	((p) % 3)
#define PLACE(g, c) (3 * (g) + (c))

byte pos;			/* committed: commit_generation, commit word */
bit behind;			/* commit_page is not, where that generation is */
byte seen_pos;			/* as others see it */
byte tail;			/* written */
bit committing;			/* by the task */
bit came;			/* an NMI, since the task read commits */
byte wake_g, wake_c;
bit flag, work, lock;
bit ipi[2], queued[2], woken[2];
byte nnmi = NMIS;
bit idle;

#define commit_place	(behind -> PLACE(G(pos), 2) : pos)

proctype seen()
{
end:	do
	:: atomic { seen_pos < pos -> seen_pos++ }
	od
}

inline wake_all()
{
	/* under the lock of the wait queue: what was committed is seen by the woken */
	atomic {
		woken[0] = woken[0] | queued[0]; queued[0] = 0;
		woken[1] = woken[1] | queued[1]; queued[1] = 0
	}
}

inline nmi()
{
	nnmi--;
	came = 1;
	tail = (C(tail) == 2 -> tail + 2 : tail + 1);
	if
	:: !committing -> pos = tail
	:: else
	fi;
	if
	:: flag && commit_place >= PLACE(wake_g, wake_c) -> flag = 0; work = 1
	:: else
	fi
}

inline interrupts()
{
	do
	:: break
	:: atomic { nnmi -> nmi() }
	:: atomic { ipi[0] -> seen_pos = pos; ipi[0] = 0 }
	:: atomic { ipi[1] -> seen_pos = pos; ipi[1] = 0 }
	:: atomic { work -> work = 0; seen_pos = pos }
		if
		:: atomic { nnmi -> nmi() }
		:: skip
		fi;
		wake_all()
	od
}

/* rb_end_commit(), rb_set_commit_to_write() */
inline end_commit()
{
	do
	:: came = 0;
		do
		:: G(pos) != G(tail) ->
			interrupts();
			pos = PLACE(G(pos), 2);
			interrupts();
			atomic { pos++; behind = 1 }
			interrupts();
			behind = 0
		:: G(pos) == G(tail) && pos != tail ->
			now = tail;
			interrupts();
			pos = now; now = 0
		:: else -> break
		od;
		interrupts();
		committing = 0;
#ifdef BREAK_AGAIN
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
	:: flag ->
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
		:: now >= PLACE(g, c) ->
			flag = 0;
			interrupts();
			work = 1
		:: else
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
	:: atomic { ipi[0] -> seen_pos = pos; ipi[0] = 0 }
	:: atomic { ipi[1] -> seen_pos = pos; ipi[1] = 0 }
	:: atomic { work -> work = 0; seen_pos = pos }
		wake_all()
	od
}

inline arm()
{
	atomic {
		!lock -> lock = 1;
		if
		:: !flag || PLACE(wake_g, wake_c) >= at -> todo = 7
		:: else -> todo = 4
		fi
	}
	do
	:: atomic { todo & 1 -> wake_g = G(at); todo = todo & ~1 }
	:: atomic { todo & 2 -> wake_c = C(at); todo = todo & ~2 }
	:: atomic { todo & 4 -> flag = 1; todo = todo & ~4 }
	:: atomic { !todo -> break }
	od;
	lock = 0;
#ifndef BREAK_IPI
	ipi[me] = 1;
	!ipi[me]
#endif
}

proctype waiter(byte me; byte at)
{
	byte todo;
	bit armed;

	do
	:: 
#ifndef BREAK_QUEUE
		queued[me] = 1;
#endif
		if
		:: seen_pos >= at -> break
		:: else
		fi;
#ifdef BREAK_REARM
		if
		:: !armed -> arm(); armed = 1
		:: else
		fi;
#else
		arm();
#endif
#ifndef BREAK_LOOK
		if
		:: seen_pos >= at ->
#ifndef BREAK_WAKE
			wake_all();
#endif
			break
		:: else
		fi;
#endif
#ifdef BREAK_QUEUE
		queued[me] = 1;
#endif
		if
		:: woken[me] -> woken[me] = 0
		:: idle && !nnmi && pos < at -> break	/* nothing will come */
		fi
	od;
	atomic { queued[me] = 0; woken[me] = 0 }
}

init {
	atomic {
		run seen(); run cpu();
		run waiter(0, PLACE(0, 2)); run waiter(1, PLACE(1, 1))
	}
}

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
 *	writer	commit; if the flag is set and the first mark is reached:
 *		flag = 0; irq_work: wake all who are on the queue
 *
 * Everything is explored: COMMITS commits of the task and NMIS of the NMI, two
 * waiters, the one for the first of them, the other for the last of the task.
 * Property: no invalid end state, that is: whose mark is reached does not
 * sleep. -DBREAK_QUEUE, _REARM, _IPI, _LOOK, _WAKE take away what is marked.
 */
#ifndef COMMITS
#define COMMITS	2
#endif
#ifndef NMIS
#define NMIS	1
#endif

/* A place: a generation and a commit in it */
#define G(p)	((p) >> 1)
#define C(p)	((p) & 1)
#define PLACE(g, c) ((g) << 1 | (c))

byte pos;			/* committed */
byte seen_pos;			/* as others see it */
byte wake_g, wake_c;
bit flag, work, lock;
bit ipi[2], queued[2], woken[2];
byte nnmi = NMIS;

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
	pos++;
	if
	:: flag && pos >= PLACE(wake_g, wake_c) -> flag = 0; work = 1
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

proctype cpu()
{
	byte n = COMMITS, now, g, c;

	do
	:: n ->
		n--;
		interrupts();
		pos++;
		interrupts();
		if
		:: flag ->
			now = pos;
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
	:: else -> break
	od;
	/* idle; no more NMI need come to help */
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
		woken[me];
		woken[me] = 0
	od;
	atomic { queued[me] = 0; woken[me] = 0 }
}

init {
	atomic {
		run seen(); run cpu();
		run waiter(0, 1); run waiter(1, COMMITS)
	}
}

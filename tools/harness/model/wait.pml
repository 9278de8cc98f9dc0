/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wait.pml: looking, sleeping and committing, of the live index; for spin.
 *
 * Two waiters with marks of their own; a CPU that writes, with the handlers of
 * the IPI and of irq_work, and an NMI that writes as well; each handler comes
 * between any two steps of what it interrupts. What the writer commits is seen
 * by others at any later time, so its load of the flag may pass the commit:
 *
 *	ioctl	lock; mark; flag = 1; unlock
 *		[IPI] to the writer's CPU; when it has answered, what was
 *		committed there before is seen, and what is written there
 *		afterwards finds the flag set
 *	poll	onto the wait queue; look; sleep; woken: look again
 *	writer	commit; if the flag is set and a mark is reached:
 *		flag = 0; irq_work
 *	irq_work (on the same CPU)
 *		[WAKE] wake all; [REARM] lock; if there is a mark that is not
 *		reached: flag = 1; unlock; and if it is reached now: wake all
 *
 * Everything is explored: COMMITS commits of the task and NMIS of the NMI.
 * Property: no invalid end state, that is: whose mark is reached does not
 * sleep. -DBREAK_IPI, _LOOK, _REARM, _AGAIN take away what is marked.
 */
#ifndef COMMITS
#define COMMITS	3
#endif
#ifndef NMIS
#define NMIS	1
#endif
#define WAITERS	2

byte pos;		/* committed */
byte seen_pos;		/* as others see it */
bit flag, work, ipi[WAITERS], queued[WAITERS], woken[WAITERS];
byte mark[WAITERS];	/* 0: does not wait */
byte nnmi = NMIS;

#define reached(w)	(mark[w] && pos >= mark[w])
#define waits(w)	(mark[w] && pos < mark[w])

proctype seen()
{
end:	do
	:: atomic { seen_pos != pos -> seen_pos = pos }
	:: atomic { seen_pos < pos -> seen_pos++ }
	od
}

inline wakeups()
{
	if
	:: flag ->
		if
		:: reached(0) || reached(1) -> flag = 0; work = 1
		:: else
		fi
	:: else
	fi
}

#define nmi()								\
	if								\
	:: nnmi -> nnmi--; pos++; atomic { wakeups() }			\
	:: skip								\
	fi

inline wake_all()
{
	/* under the lock of the wait queue: what was committed is seen */
	atomic {
		woken[0] = woken[0] | queued[0]; queued[0] = 0;
		woken[1] = woken[1] | queued[1]; queued[1] = 0;
		seen_pos = pos
	}
}

#define answer(w)							\
	:: atomic { ipi[w] -> seen_pos = pos; ipi[w] = 0 }

inline interrupts()
{
	do
	:: break
	:: atomic { nnmi -> nnmi--; pos++; wakeups() }
	answer(0)
	answer(1)
	:: work -> irq_work()
	od
}

inline irq_work()
{
	work = 0;
	nmi();
	wake_all();
	nmi();
#ifndef BREAK_REARM
	atomic {
		if
		:: waits(0) || waits(1) -> flag = 1
		:: else
		fi
	}
#ifndef BREAK_AGAIN
	nmi();
	if
	:: reached(0) || reached(1) -> wake_all()
	:: else
	fi
#endif
#endif
}

proctype cpu()
{
	byte n = COMMITS;

	do
	:: n ->
		n--;
		interrupts();
		pos++;
		interrupts();
		if
		:: flag ->
			interrupts();
			if
			:: reached(0) || reached(1) ->
				interrupts();
				flag = 0;
				interrupts();
				work = 1
			:: else
			fi
		:: else
		fi
	:: else -> break
	od;
	/* idle */
end:	do
	:: atomic { nnmi -> nnmi--; pos++; wakeups() }
	answer(0)
	answer(1)
	:: work -> irq_work()
	od
}

proctype waiter(byte me; byte at)
{
	atomic { mark[me] = at; flag = 1 }
#ifndef BREAK_IPI
	ipi[me] = 1;
	!ipi[me];
#endif
	do
	:: queued[me] = 1;
#ifdef BREAK_LOOK
		woken[me];
#else
		if
		:: seen_pos >= at -> break
		:: else -> woken[me]
		fi;
#endif
		woken[me] = 0;
		if
		:: seen_pos >= at -> break
		:: else
		fi
	od;
	atomic { queued[me] = 0; woken[me] = 0; mark[me] = 0 }
}

init {
	atomic {
		run seen(); run cpu();
		run waiter(0, 1); run waiter(1, COMMITS)
	}
}

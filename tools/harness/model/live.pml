/* SPDX-License-Identifier: GPL-2.0 */
/*
 * live.pml: the live index of the mapped ring buffer, for spin.
 *
 * What is claimed of weakly ordered machines (arm64) rests on this model: the
 * tests run on x86 or under its emulation, where no store is seen out of order.
 *
 * Modelled, step by step
 *   The writer CPU: reserving, crossing into the next sub-buffer (dropping or
 *   overwriting), padding, discarding, committing by the outermost writer, as
 *   in ring_buffer.c, with what the live index adds ([ENTER], [COMMIT],
 *   [LEAVE], [LEFT]). Between any two steps an interrupt may come, writes an
 *   event and runs to its end; in any of its steps an NMI may.
 *   Stores: each is seen by the others at any later time, in any order but for
 *   a location's own, a write barrier, and a store-release. Loads of the
 *   writer do not wait for them. All others see a store at once, with one
 *   exception, for machines that are not multi-copy atomic (powerpc): the
 *   consumer may have seen commit_page, and so commit_generation, before
 *   observers see that (observed). What the consumer stores with a release,
 *   or behind a barrier, observers see after that.
 *   The consumer: under the lock it loads commit_page, reads what was
 *   committed, stores marks and a loss count and recycles the header, seen in
 *   any order behind [LEFT], and swaps its sub-buffer with the head. The mark
 *   shortens the commit word to where the records end.
 *   A reset, by another CPU than the writer's: [RESET], epoch odd; everything in
 *   any order; [RESET], epoch even; a barrier, and writers come back.
 *   The observer: look, check, accept, next, overrun, starting over. Its loads
 *   are done in any order that its barriers, load-acquires and addresses
 *   allow; a branch orders nothing.
 *
 * Properties
 *   - LIVE-29: An accepted batch at generation n has exactly the words committed
 *     in generation n at these positions: each word tells the generation and the
 *     position that it was written for, and gcm[] how many were committed.
 *   - LIVE-29, LIVE-33: Going to the next sub-buffer, the index's count is the
 *     observer's own; after an overrun it is not below it; and when all is
 *     quiet and there is no more, the observer's count is the number of events
 *     committed in this epoch. (The observer adds each event accepted to seen,
 *     each jump to missed, and both to its count: seen + missed = committed.)
 *   - LIVE-30: Nobody is stuck: no invalid end state, and when all is quiet an
 *     observer has it all after fewer than 4 * NSB looks.
 *   - LIVE-27: A consumer finds all that was committed, and nothing else.
 *   Spin explores all states within the bounds: nothing is sampled or hashed
 *   away. The bounds are those in checks/model.sh, by these names:
 *	RING		sub-buffers in the ring (one more is the reader's)
 *	EVENTS		events of the task; it may also stop earlier
 *	IRQS, NMIS	events of interrupts, NMIs; each may also not come
 *	SWAPS		times the consumer recycles; it waits as long as it likes
 *	RESETS		resets, between any two events
 *	OVERWRITE	0: events are dropped when there is no room
 *	DISCARDS	1: each event may be discarded before its commit, and is
 *			taken back if none is behind it; the padding may be too
 *			short to be an event, and is not written over then
 *	STRAIGHT	1: the writer takes the short ways to reserve and to commit where
 *			no interrupt writes meanwhile
 *	OBSERVERS	each begins at any time
 *   A sub-buffer has 2 words (SZ), an event 1 or 2 of them: the second of 2
 *   leaves padding. Generations are modulo 16, begin at 13, and wrap.
 *
 * Abstracted
 *   - One observer stands for any number: they store nothing. Two are run to
 *     show it.
 *   - Moving the head, swapping, and looking which sub-buffer is next are a
 *     step each: they are atomic operations of the kernel as it was. Of their
 *     full barriers only that before the head moves is relied upon.
 *   - All generations are looked at in one step when the oldest is looked for:
 *     what is found is a guess, checked afterwards; a newer one may be taken.
 *   - The commit word counts the padding of a sub-buffer that is left, until the
 *     consumer marks it. In the kernel it does so only where an NMI has moved
 *     the tail while the outermost writer committed, and until that leaves.
 *   - A look's loads do not come before the checks of the look before. Checks
 *     done later only refuse more: no generation and no epoch comes back.
 *   - The reader takes a sub-buffer even if it is empty; record sizes, time
 *     stamps, meta page, the first mapping, unmapping, `overwritten` (stored
 *     and believed as `before` is), `used`, `dropped` and commit_id (a hint)
 *     are not in it. 64-bit counts do not tear here; where they may, they are
 *     believed under the same check. Waiting is in wait.pml.
 *
 * To see that the model is not blind, -DBREAK_... takes away one thing each:
 *	ENTER COMMIT LEAVE LEFT		the barrier of this label
 *	COMMIT_READ			how far to commit is read after the barrier,
 *					as before the series
 *	LEFT_RELEASE LOSS_RELEASE	the consumer's barrier between seeing the
 *					page left and any of its stores; between
 *					that and the count of lost events. (The
 *					commit word needs none for observers: one
 *					that is smaller than before shows nothing.)
 *	RESET_BEGIN RESET_END ODD	the barrier after odd, before even; epoch
 *					odd does not keep anybody from starting
 *	RESET_BACK			the barrier before writers come back
 *	ACQ_CG ACQ_CM ACQ_JUMP		load-acquire of commit_generation (look),
 *	ACQ_EPOCH ACQ_CP		commit word, commit_generation (overrun),
 *					epoch (starting over), commit_page
 *	CHECK CHECK_NEXT CHECK_JUMP	the read barrier before the check of a look,
 *					of going to the next, of an overrun
 *	NEXT_EPOCH			going to the next checks the generation only
 *	RECHECK				commit_generation may move under a look.
 *					With -DLOSS_ONLY all that the consumer
 *					stores is the count of lost events: over
 *					padding that the commit word counted
 *	SIZE				the final size is in the header only
 *	SHORTENED			the final size is where the padding begins,
 *					also if an event before it was taken back
 *	PAST				finished is "position = size", not ">=": the
 *					position may be behind the padding
 * ENTER takes an interrupt to matter: a crossing that nothing interrupted
 * commits what was before, with a release, ere it stores anything else. And it
 * takes that nothing is made of cmpxchg(&tail_page)'s own barrier.
 */
#ifndef RING
#define RING	3
#endif
#ifndef EVENTS
#define EVENTS	4
#endif
#ifndef IRQS
#define IRQS	0
#endif
#ifndef NMIS
#define NMIS	0
#endif
#ifndef SWAPS
#define SWAPS	0
#endif
#ifndef RESETS
#define RESETS	0
#endif
#ifndef OBSERVERS
#define OBSERVERS 1
#endif
#ifndef OVERWRITE
#define OVERWRITE 1
#endif
#ifndef DISCARDS
#define DISCARDS 0
#endif
#define SZ	2

#define NSB	(RING + 1)

/* What is shared. A byte each; generations are modulo 16. */
#define GEN(s)		(s)			/* entry: generation */
#define CM(s)		(NSB + (s))		/* sub-buffer: commit word */
#define NID(s)		(2 * NSB + (s))		/* entry: next_id */
#define SIZE(s)		(3 * NSB + (s))		/* entry: size */
#define BEF(s)		(4 * NSB + (s))		/* entry: before */
#define WORD(s, k)	(5 * NSB + (s) * SZ + (k))	/* sub-buffer: records */
#define CG		(5 * NSB + NSB * SZ)	/* index: commit_generation */
#define EPO		(CG + 1)		/* index: epoch */
#define CP		(CG + 2)		/* kernel: commit_page */
#define NLOC		(CG + 3)

#define MOD(g)		((g) & 15)
#define FAR(g)		MOD((g) + 8)
#define FIRST		13
#define VAL(g, k, e)	((g) << 3 | (k) << 1 | (e))	/* e: counts as an event */
#define JUNK		200
#define LOSS		201
#define MARK		64
#define BIT(x)		(1 << (x))

byte mem[NLOC];		/* what all see */
byte pv[NLOC];		/* stored, and not seen yet */
int pending;
#define OTHERS	0	/* the writer waits, or is done */
#define WRITER	1	/* the writer has something to do: nobody else runs */
#define DRAIN	2	/* the writer waits until nothing is pending */
#define DRAIN_LEFT 3	/* the same, but observers may not see commit_generation yet */
byte turn = WRITER;

/* The writer's and, of the ring, the reader's. Not seen by observers. */
byte ring[RING], rid = RING, head, tail, cpage;
byte wr[NSB], ent[NSB], rend[NSB], genk[NSB], befk[NSB];
byte cmk, committing, commits, xcnt;
byte left = EVENTS, nirq = IRQS, nnmi = NMIS;
bit lock, wdone, cdone;
#if DISCARDS
bit stub[NSB];		/* less is left behind real_end than any event takes */
#define unstub(s)	stub[s] = 0
#else
#define unstub(s)	skip
#endif

/* The truth, for the assertions */
byte total;		/* events committed in this epoch */
byte gcm[8];		/* words committed in a generation */

/*
 * Not multi-copy atomic: commit_generation, as observers see it. The consumer
 * may have seen it, and what comes after it, before. No other store of the
 * writer is read by the consumer first.
 */
#if SWAPS
byte observed = FIRST;
#else
#define observed mem[CG]
#endif

/* A reset is done by another CPU: what it has stored, and is not seen yet */
#if RESETS
byte rpv[NLOC];
int rpending;
#else
#define rpending 0
#endif

#define quiet (wdone && cdone && !pending && !rpending && observed == mem[CG])

/* -- The writer ------------------------------------------------------- */

#define store(where, what)						\
	if								\
	:: !(pending & BIT(where))					\
	:: else -> turn = OTHERS; !(pending & BIT(where)); turn = WRITER \
	fi;								\
	if								\
	:: mem[where] == (what)						\
	:: else -> pv[where] = (what); pending = pending | BIT(where)	\
	fi

/* Whatever was stored is seen before whatever will be. */
inline wmb()
{
	if
	:: !pending && observed == mem[CG]
	:: else -> turn = DRAIN; turn == WRITER
	fi
}

/* Whoever sees commit_page saw the rest before; another CPU may not have. */
inline wmb_left()
{
	if
	:: !pending
	:: else -> turn = DRAIN_LEFT; turn == WRITER
	fi
}

/* seen: pending stores are seen, in any order. */
#define SEE(x)	:: atomic { (pending & BIT(x)) ->			\
	mem[x] = pv[x]; pv[x] = 0; pending = pending & ~BIT(x);		\
	if								\
	:: drained -> turn = WRITER					\
	:: else								\
	fi }

#define drained	(!pending && (turn == DRAIN_LEFT || (turn == DRAIN && observed == mem[CG])))

/* The same of a reset. [RESET] The even epoch is seen last. */
#ifdef BREAK_RESET_END
#define epoch_is_next	1
#else
#define epoch_is_next	(rpending == BIT(EPO))
#endif
#define SEE_RESET(x) :: atomic { (rpending & BIT(x)) ->			\
	mem[x] = rpv[x]; rpv[x] = 0; rpending = rpending & ~BIT(x) }

proctype seen()
{
end:	do
	SEE(0) SEE(1) SEE(2) SEE(3) SEE(4) SEE(5) SEE(6) SEE(7)
	SEE(8) SEE(9) SEE(10) SEE(11) SEE(12) SEE(13) SEE(14) SEE(15)
	SEE(16) SEE(17) SEE(18) SEE(19) SEE(20) SEE(21) SEE(22) SEE(23)
#if RING > 2
	SEE(24) SEE(25) SEE(26) SEE(27) SEE(28) SEE(29) SEE(30)
#endif
#if SWAPS
	:: atomic { observed != mem[CG] ->
		observed = mem[CG];
		if
		:: drained -> turn = WRITER
		:: else
		fi }
#endif
#if RESETS
	/* GEN, CM, BEF, CG, EPO, CP of the reset */
	SEE_RESET(GEN(0)) SEE_RESET(GEN(1)) SEE_RESET(GEN(2))
	SEE_RESET(CM(0)) SEE_RESET(CM(1)) SEE_RESET(CM(2))
	SEE_RESET(BEF(0)) SEE_RESET(BEF(1)) SEE_RESET(BEF(2))
#if RING > 2
	SEE_RESET(GEN(3)) SEE_RESET(CM(3)) SEE_RESET(BEF(3))
#endif
	SEE_RESET(CG) SEE_RESET(CP)
	:: atomic { (rpending & BIT(EPO)) && epoch_is_next ->
		mem[EPO] = rpv[EPO]; rpv[EPO] = 0; rpending = rpending & ~BIT(EPO) }
#endif
	od
}

#if IRQS || NMIS
chan to_irq = [0] of { bit };
chan irq_done = [0] of { bit };
chan to_nmi = [0] of { bit };
chan nmi_done = [0] of { bit };

/* Here an interrupt may come; it runs to its end. */
inline ip()
{
	do
	:: break
#if IRQS
	:: level < 1 && nirq -> nirq--; to_irq!0; irq_done?_
#endif
#if NMIS
	:: level < 2 && nnmi -> nnmi--; to_nmi!0; nmi_done?_
#endif
	od
}
#else
#define ip()	skip
#endif

inline next(from_, to)
{
	d_step {
		if
		:: from_ == rid -> to = ring[head]
		:: else ->
			i_ = 0;
			do
			:: ring[i_] == from_ -> break
			:: else -> i_++
			od;
			to = ring[(i_ + 1) % RING]; i_ = 0
		fi
	}
}

/* [COMMIT] store-release of how far the task and all interrupts wrote. */
inline commit()
{
#ifndef BREAK_COMMIT_READ
	nx = wr[cpage];
	ip();
#endif
#ifndef BREAK_COMMIT
	wmb();
#endif
#ifdef BREAK_COMMIT_READ
	ip();
	nx = wr[cpage];
#endif
	gcm[genk[cpage] & 7] = nx; cmk = nx;
	store(CM(cpage), nx);
	nx = 0
}

inline leave()
{
	commit();
	ip();
	next(cpage, nx);
	befk[nx] = befk[cpage] + ent[cpage];
#ifdef BREAK_SHORTENED
	store(SIZE(cpage), (rend[cpage] -> rend[cpage] : wr[cpage]));
#else
	store(SIZE(cpage), (rend[cpage] && rend[cpage] < wr[cpage] -> rend[cpage] : wr[cpage]));
#endif
	store(NID(cpage), nx);
	store(BEF(nx), befk[nx]);
	ip();
#ifndef BREAK_LEAVE
	wmb();		/* [LEAVE] */
#endif
	store(CG, genk[nx]);
	ip();
#ifndef BREAK_LEFT
	wmb_left();	/* [LEFT] */
#endif
	store(CP, nx);
	cpage = nx; cmk = 0; nx = 0
}

inline set_commit()
{
	do
	:: cpage != tail -> ip(); leave()
	:: cpage == tail && cmk != wr[cpage] -> ip(); commit()
	:: else -> break
	od
}

inline end_commit_any()
{
	do
	:: before = commits;
		ip();
		if
		:: committing == 1 -> ip(); set_commit()
		:: else
		fi;
		ip();
		committing--;
		ip();
		if
		:: commits != before && !committing -> committing++
		:: else -> break
		fi
	od;
	before = 0
}

/*
 * The outermost writer, on the page that the tail is on: one store, and a second look at
 * page and write index, as an interrupt may have moved them before the count.
 */
inline end_commit()
{
#if STRAIGHT
	if
	:: committing == 1 && cpage == tail ->
		tp = cpage;
		ip();
		t = wr[tp];
		ip();
		wmb();		/* [COMMIT] */
		gcm[genk[tp] & 7] = t; cmk = t;
		store(CM(tp), t);
		ip();
		committing--;
		ip();
		if
#ifndef BREAK_SECOND_LOOK
		:: tp != tail || wr[tp] != t -> committing++; end_commit_any()
#endif
		:: else
		fi;
		tp = 0; t = 0
	:: else -> end_commit_any()
	fi
#else
	end_commit_any()
#endif
}

inline reset_tail()
{
	if
	:: t >= SZ ->
		if
		:: t == SZ -> rend[tp] = 0
		:: else
		fi;
		ip();
		wr[tp] = wr[tp] - size
	:: else ->
		rend[tp] = t;
		ip();
		store(WORD(tp, t), VAL(genk[tp], t, 0));
		ip();
#if DISCARDS
		if
		:: !stub[tp] -> wr[tp] = wr[tp] + SZ - t - size
		:: wr[tp] = wr[tp] - size; stub[tp] = 1
		fi
#else
		wr[tp] = wr[tp] + SZ - t - size
#endif
	fi
}

inline enter()
{
	ip();
	genk[nx] = MOD(genk[tp] + 1);
	assert(MOD(genk[nx] - FIRST) < 8);
	store(GEN(nx), genk[nx]);
	ip();
#ifndef BREAK_ENTER
	wmb();		/* [ENTER] */
#endif
	ip();
	if
	:: tok == xcnt -> wr[nx] = 0; ent[nx] = 0; unstub(nx)
	:: else
	fi;
	ip();
	store(CM(nx), 0);
	ip();
	if
	:: tail == tp -> tail = nx
	:: else
	fi
}

inline cross()
{
	ip();
#if SWAPS
	/* A swap comes before this, or after. */
	turn = OTHERS; turn = WRITER;
	next(tp, nx);
	if
	:: OVERWRITE && nx != cpage && tp != rid && cpage != rid && nx == ring[head] ->
		wmb()	/* cmpxchg() moves the head: a full barrier */
	:: else
	fi;
#endif
	next(tp, nx);
	if
	:: nx == cpage -> drop = 1
	:: nx != cpage && tp != rid && nx == ring[head] ->
		if
		:: cpage != rid && !OVERWRITE -> drop = 1
		:: cpage != rid && OVERWRITE -> head = (head + 1) % RING
		:: cpage == rid && cpage != tail -> drop = 1
		:: else
		fi
	:: else
	fi;
	if
	:: drop
	:: else ->
		ip();
		xcnt = (xcnt + 1) & 3; tok = xcnt;
		ip();
		if
		:: tail == tp -> enter()
		:: else
		fi
	fi;
	nx = 0; tok = 0
}

inline look_at_tail()
{
	ip();
	tp = tail;
	ip();
	t = wr[tp];
#if DISCARDS
	if
	:: stub[tp] && t == rend[tp] -> size = 2	/* nothing fits */
	:: else
	fi
#endif
}

/*
 * The write index is moved, whatever it is by then. Where the event follows another one
 * it is first compared with what it was: if an interrupt came, all is looked at anew.
 */
inline reserve()
{
#if STRAIGHT
	if
	:: !tried && t && t + size <= SZ ->
		tried = 1;
		ip();
#ifdef BREAK_EXCHANGE
		wr[tp] = t
#else
		if
		:: wr[tp] != t -> look_at_tail()
#if DISCARDS
		/* too little is left here now, so it was before */
		:: wr[tp] == t && stub[tp] && t == rend[tp] -> look_at_tail()
#endif
		:: else
		fi
#endif
	:: else
	fi;
#endif
	wr[tp] = wr[tp] + size;
	ip()
}

inline event()
{
	committing++; commits = (commits + 1) & 3;
	if
	:: size = 1
	:: size = 2
	fi;
	do
	:: look_at_tail();
		reserve();
		if
		:: t + size > SZ ->
			cross();
			ip();
			reset_tail();
			if
			:: drop -> break
			:: else
			fi;
			end_commit();
			committing++
		:: else ->
			ent[tp]++; total++;
			store(WORD(tp, t), VAL(genk[tp], t, 1));
			if
			:: size == 2 -> ip(); store(WORD(tp, t + 1), VAL(genk[tp], t + 1, 0))
			:: else
			fi;
#if DISCARDS
			if
			:: skip
			:: ip(); ent[tp]--; total--;
				store(WORD(tp, t), VAL(genk[tp], t, 0));
				ip();
				if
				:: tp == tail && wr[tp] == t + size ->
					ip();
					if
					:: wr[tp] == t + size -> wr[tp] = t
					:: else
					fi
				:: else
				fi
			fi;
#endif
			break
		fi
	od;
	drop = 0; tp = 0; t = 0; size = 0;
#if STRAIGHT
	tried = 0;
#endif
	end_commit()
}

#if STRAIGHT
#define writer_locals(l) byte level = l, tp, t, size, nx, tok, before, i_; bit drop, tried
#else
#define writer_locals(l) byte level = l, tp, t, size, nx, tok, before, i_; bit drop
#endif

#if RESETS
#define rstore(where, what)						\
	if								\
	:: !(rpending & BIT(where))					\
	:: else -> turn = OTHERS; !(rpending & BIT(where)); turn = WRITER \
	fi;								\
	if								\
	:: mem[where] == (what)						\
	:: else -> rpv[where] = (what); rpending = rpending | BIT(where)	\
	fi

inline rwmb()
{
	if
	:: !rpending
	:: else -> turn = OTHERS; !rpending; turn = WRITER
	fi
}

/* Another CPU does this. No writer runs meanwhile. */
inline reset()
{
	/* record_disabled, a grace period, reader_lock */
	turn = OTHERS;
	!lock && !pending && observed == mem[CG] -> lock = 1; turn = WRITER;
	nreset--;
	rstore(EPO, mem[EPO] + 1);
#ifndef BREAK_RESET_BEGIN
	rwmb();		/* [RESET] */
#endif
	d_step {
		nx = MOD(genk[cpage] + 1);
		assert(MOD(nx - FIRST) < 8);
		tail = ring[head];
		cpage = tail; cmk = 0; total = 0;
		i_ = 0;
		do
		:: i_ < NSB ->
			wr[i_] = 0; ent[i_] = 0; rend[i_] = 0; befk[i_] = 0; unstub(i_);
			genk[i_] = (i_ == tail -> nx : FAR(nx));
			i_++
		:: else -> break
		od;
		gcm[nx & 7] = 0;
		i_ = 0
	}
	do
	:: i_ < NSB ->
		rstore(GEN(i_), genk[i_]);
		rstore(BEF(i_), 0);
		rstore(CM(i_), 0);
		i_++
	:: else -> break
	od;
	i_ = 0;
	rstore(CG, nx);
	rstore(CP, tail);
	nx = 0;
	/* [RESET] store-release: see epoch_is_next */
	rstore(EPO, (mem[EPO] + 2) & ~1);
#ifndef BREAK_RESET_BACK
	rwmb();		/* record_disabled is counted down after all that */
#endif
#if SWAPS
	/* to see it, the consumer takes the lock */
	turn = OTHERS; observed == mem[CG]; turn = WRITER;
#endif
	lock = 0
}
#endif

proctype task()
{
	writer_locals(0);
	byte nreset = RESETS;

	atomic {
		do
		:: left -> left--; event()
#if RESETS
		:: nreset -> reset()
#endif
		:: break
		od;
		wmb();
		wdone = 1; turn = OTHERS
	}
}

#if IRQS
proctype irq()
{
	writer_locals(1);

end:	do
	:: atomic { to_irq?_ -> event(); irq_done!0 }
	od
}
#endif

#if NMIS
proctype nmi()
{
	writer_locals(2);

end:	do
	:: atomic { to_nmi?_ -> event(); nmi_done!0 }
	od
}
#endif

/* -- The consumer ----------------------------------------------------- */

#if SWAPS
#ifdef BREAK_LEFT_RELEASE
#define released	1
#else
#define released	(observed == mem[CG])
#endif
#if defined(BREAK_LOSS_RELEASE) || defined(BREAK_LEFT_RELEASE)
#define loss_released	1
#else
#define loss_released	(observed == mem[CG])
#endif

proctype consumer()
{
	byte n = SWAPS, k, end_, old, pc;
	bit marked, lossed;

	do
	:: atomic { turn != WRITER && pc == 0 && n && !lock && !wdone ->
#ifdef BREAK_ACQ_CP
		/* loads of what follows, too early */
		if
		:: end_ = mem[CM(rid)] & (MARK - 1)
		:: else -> skip
		fi;
#endif
		lock = 1; pc = 1 }
	:: atomic { turn != WRITER && pc == 1 ->
		/* load-acquire, [LEFT] */
		if
		:: mem[CP] == rid -> lock = 0; pc = 0; end_ = 0
		:: else -> n--; pc = (MOD(genk[cpage] - genk[rid]) > 7 -> 4 : 2)
		fi }
	:: atomic { turn != WRITER && pc == 2 ->
		/* All that was committed is there, and nothing else. */
#ifndef BREAK_ACQ_CP
		end_ = mem[CM(rid)];
#endif
		assert(end_ == gcm[genk[rid] & 7]);
		do
		:: k < end_ -> assert(mem[WORD(rid, k)] >> 1 == VAL(genk[rid], k, 0) >> 1); k++
		:: else -> break
		od;
		k = 0;
		pc = 3 }
	/* Its stores are seen in any order, but after [LEFT] */
#ifndef LOSS_ONLY
	:: atomic { turn != WRITER && pc == 3 && !marked && released ->
		/* where its records end, if that is not where the padding was */
		mem[CM(rid)] = (rend[rid] && rend[rid] < end_ -> rend[rid] : end_) | MARK; marked = 1 }
#endif
	:: atomic { turn != WRITER && pc == 3 && !lossed && rend[rid] && loss_released ->
		mem[WORD(rid, rend[rid])] = LOSS; lossed = 1 }
#ifndef LOSS_ONLY
	:: atomic { turn != WRITER && pc == 3 && released ->
		marked = 0; lossed = 0; end_ = 0; mem[CM(rid)] = 0; pc = 4 }
#else
	:: atomic { turn != WRITER && pc == 3 && observed == mem[CG] ->
		lossed = 0; end_ = 0; pc = 4 }
#endif
	:: atomic { turn != WRITER && pc == 4 && observed == mem[CG] ->
		/* a full barrier; the sub-buffer goes back */
		wr[rid] = 0; ent[rid] = 0; rend[rid] = 0; unstub(rid);
		mem[CM(rid)] = 0;
		old = rid; rid = ring[head]; ring[head] = old; old = 0;
		head = (head + 1) % RING;
		lock = 0; pc = 0 }
	:: atomic { turn != WRITER && pc == 0 && (!n || wdone) -> cdone = 1; break }
	od
}
#endif

/* -- The observer ----------------------------------------------------- */

#define S_START	0
#define S_LOOK	1
#define S_JUMP	2
#define S_END	3

/* The loads of a look, and what each has to wait for */
#define D_CG	1
#define D_SIZE	2
#define D_NID	4
#define D_CM	8
#define D_WORD(k) (16 << (k))
#define D_WORDS	48
#define D_GEN	256
#define D_EPO	512
#define D_CG2	1024
#define D_BEF	2048
#define D_GEN2	4096
#define D_EPO2	8192
#define D_USE	(D_CG | D_SIZE | D_NID | D_CM | D_WORDS)
#define D_NEXT	(D_NID | D_BEF | D_GEN2 | D_EPO2)
#define D_ALL	(D_USE | D_GEN | D_EPO | D_CG2 | D_NEXT)

#ifdef BREAK_ACQ_CG
#define N_CG	0
#else
#define N_CG	D_CG
#endif
#ifdef BREAK_ACQ_CM
#define N_USE	N_CG
#else
#define N_USE	(N_CG | D_CM)
#endif
#ifdef BREAK_CHECK
#define N_CHECK	N_USE
#else
#define N_CHECK	D_USE
#endif
#ifdef BREAK_CHECK_NEXT
#define N_NEXT	(N_CHECK | D_CG | D_NID)
#else
#define N_NEXT	(N_CHECK | D_CG | D_NID | D_BEF | D_GEN | D_EPO | D_CG2)
#endif

#define need(x, pre) (!(done & (x)) && (done & (pre)) == (pre))

#define LOAD_WORD(k)							\
	:: need(D_WORD(k), N_USE) ->					\
		if							\
		:: k < p || ((done & (D_CG | D_SIZE | D_CM)) ==		\
			(D_CG | D_SIZE | D_CM) && k >= (cg == n -> cm : end_)) \
		:: else -> w[k] = mem[WORD(id, k)]			\
		fi;							\
		done = done | D_WORD(k)

inline judge()
{
	d_step {
		if
		:: cg == n -> end_ = cm
		:: else
		fi;
		if
		:: epo != e -> state = S_START
		:: epo == e && gen != n -> state = S_JUMP
#ifdef BREAK_RECHECK
		:: epo == e && gen == n ->
#else
		:: epo == e && gen == n && cg == n && cg2 != cg	/* it is final now: look again */
		:: epo == e && gen == n && (cg != n || cg2 == cg) ->
#endif
			/* accepted: p .. end_ */
			assert(end_ <= SZ);
			k = p;
			do
			:: k < end_ ->
				assert(k < gcm[n & 7]);
				assert(w[k] >> 1 == VAL(n, k, 0) >> 1);
				c = c + (w[k] & 1);
				k++
			:: else -> break
			od;
			k = 0;
			if
			:: q && cg == n && end_ <= p ->
				/* All is quiet, and there is no more. */
				assert(c == total);
				state = S_END
			:: else
			fi;
			if
			:: end_ > p -> p = end_
			:: else
			fi;
			if
#ifdef BREAK_PAST
			:: cg != n && p == end_ ->
#else
			:: cg != n && p >= end_ ->
#endif
				if
#ifndef BREAK_NEXT_EPOCH
				:: epo2 != e -> state = S_START
				:: epo2 == e && gen2 == MOD(n + 1) ->
#else
				:: gen2 == MOD(n + 1) ->
#endif
					assert(bef == c);
					n = gen2; id = nid; p = 0
				:: else -> state = S_JUMP
				fi
			:: else
			fi
		fi;
		done = 0; cg = 0; end_ = 0; nid = 0; cm = 0; gen = 0; epo = 0;
		cg2 = 0; bef = 0; gen2 = 0; epo2 = 0; w[0] = 0; w[1] = 0; q = 0
	}
}

/* Look at all generations, take the oldest of the run that ends at cg, or a newer one. */
inline find()
{
	m = cg; nid = NSB;
	do
	:: k = 0;
		do
		:: k < NSB && mem[GEN(k)] != m -> k++
		:: else -> break
		od;
		if
		:: k < NSB -> nid = k; m = MOD(m - 1)
		:: else -> break
		fi
	:: nid < NSB -> break
	od;
	m = MOD(m + 1);
	k = 0
}

#define J_CG	1
#define J_FIND	2
#define J_BEF	4
#define J_GEN	8
#define J_EPO	16
#define LATER	255
#ifdef BREAK_CHECK_JUMP
#define N_JUMP	J_FIND
#else
#define N_JUMP	(J_FIND | J_BEF)
#endif

proctype observer()
{
	byte state, e, n, id, p, c;		/* the position */
	byte cg, end_, nid, cm, gen, epo, cg2, bef, gen2, epo2, k, m;	/* what was loaded */
	byte w[SZ];
	short done;
	bit q;
#ifdef BREAK_ACQ_JUMP
	byte guess;
#endif
	byte tries;

	do
	:: atomic { state == S_END -> break }
	:: atomic { turn != WRITER && state == S_START ->
		if
		:: quiet -> tries++; assert(tries < 4 * NSB)
		:: else
		fi;
		e = mem[EPO];		/* load-acquire, [RESET] */
		c = 0; n = 0; id = 0; p = 0;
		if
#ifndef BREAK_ODD
		:: e & 1		/* a reset goes on */
#endif
		:: else -> state = S_JUMP
#ifdef BREAK_ACQ_EPOCH
			; e = LATER
#endif
		fi }
	:: atomic { turn != WRITER && state == S_JUMP ->
		if
		:: !done && quiet -> tries++; assert(tries < 4 * NSB)
		:: else
		fi;
		if
#ifdef BREAK_ACQ_EPOCH
		:: e == LATER -> e = mem[EPO];
			if
			:: e & 1 -> e = LATER
			:: else
			fi
#endif
#ifdef BREAK_ACQ_JUMP
		:: !done && !guess -> guess = 1; bef = mem[BEF(0)]
		:: !done && !guess -> guess = 2; bef = mem[BEF(1)]
		:: need(J_BEF, J_FIND) && guess == nid + 1 -> done = done | J_BEF
#endif
		:: need(J_CG, 0) -> cg = observed; done = done | J_CG
		:: need(J_FIND, J_CG) ->
			find();
			if
			:: nid == NSB -> done = 0; cg = 0; m = 0; nid = 0
			:: else -> done = done | J_FIND
			fi
		:: need(J_BEF, J_FIND) -> bef = mem[BEF(nid)]; done = done | J_BEF
		:: need(J_GEN, N_JUMP) && e != LATER -> gen = mem[GEN(nid)]; done = done | J_GEN
		:: need(J_EPO, N_JUMP) && e != LATER -> epo = mem[EPO]; done = done | J_EPO
		fi;
		if
		:: done == (J_CG | J_FIND | J_BEF | J_GEN | J_EPO) ->
			if
			:: epo != e -> state = S_START
			:: epo == e && gen == m ->
				assert(bef >= c);
				c = bef; n = m; id = nid; p = 0; state = S_LOOK
			:: else
			fi;
			done = 0; cg = 0; m = 0; nid = 0; bef = 0; gen = 0; epo = 0;
#ifdef BREAK_ACQ_JUMP
			guess = 0
#endif
		:: else
		fi }
	:: atomic { turn != WRITER && state == S_LOOK ->
		if
		:: !done && quiet -> q = 1; tries++; assert(tries < 4 * NSB)
		:: else
		fi;
		if
		:: need(D_CG, 0) ->
			cg = observed;
			done = done | D_CG | (cg == n -> D_SIZE | D_NEXT : D_CM | D_CG2)
		:: need(D_SIZE, N_CG) ->
#ifdef BREAK_SIZE
			end_ = mem[CM(id)] & (MARK - 1);
#else
			end_ = mem[SIZE(id)];
#endif
			done = done | D_SIZE
		:: need(D_NID, N_CG) -> nid = mem[NID(id)]; done = done | D_NID
		:: need(D_CM, N_CG) -> cm = mem[CM(id)] & (MARK - 1); done = done | D_CM
		LOAD_WORD(0)
		LOAD_WORD(1)
		:: need(D_GEN, N_CHECK) -> gen = mem[GEN(id)]; done = done | D_GEN
		:: need(D_EPO, N_CHECK) -> epo = mem[EPO]; done = done | D_EPO
		:: need(D_CG2, N_CHECK | D_CG) -> cg2 = observed; done = done | D_CG2
		:: need(D_BEF, N_CHECK | D_CG | D_NID) -> bef = mem[BEF(nid)]; done = done | D_BEF
		:: need(D_GEN2, N_NEXT) -> gen2 = mem[GEN(nid)]; done = done | D_GEN2
		:: need(D_EPO2, N_NEXT) -> epo2 = mem[EPO]; done = done | D_EPO2
		fi;
		if
		:: done == D_ALL -> judge()
		:: else
		fi }
	od
}

init {
	byte k;

	atomic {
		do
		:: k < NSB ->
			genk[k] = (k -> FAR(FIRST) : FIRST);
			mem[GEN(k)] = genk[k];
			mem[SIZE(k)] = SZ;
			mem[NID(k)] = RING;
			mem[WORD(k, 0)] = JUNK;
			mem[WORD(k, 1)] = JUNK;
			k++
		:: else -> break
		od;
		k = 0;
		do
		:: k < RING -> ring[k] = k; k++
		:: else -> break
		od;
		k = 0;
		mem[CG] = FIRST;
		run seen();
		run task();
#if IRQS
		run irq();
#endif
#if NMIS
		run nmi();
#endif
#if SWAPS
		run consumer();
#else
		cdone = 1;
#endif
		run observer();
#if OBSERVERS > 1
		run observer();
#endif
	}
}

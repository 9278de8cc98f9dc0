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
 *   [LEAVE], [GONE]). Between any two steps an interrupt may come, writes an
 *   event and runs to its end; in any of its steps an NMI may.
 *   Stores: each is seen by the others at any later time, in any order but for
 *   a location's own, a write barrier, and a store-release. Loads of the
 *   writer do not wait for them. All others see a store at once, with one
 *   exception, for machines that are not multi-copy atomic (powerpc): the
 *   consumer may have seen commit_page, and so commit_generation, before
 *   observers see that (observed). What the consumer stores with a release,
 *   or behind a barrier, observers see after that.
 *   The consumer: under the lock it loads commit_page, reads what was committed,
 *   stores marks and a loss count and recycles the header, seen in any order
 *   behind [GONE], and swaps its sub-buffer with the head. The mark shortens the
 *   commit word to where the records end. While there is no observer, it may
 *   give the memory of its sub-buffer away instead (splice), and sets first.
 *   A reset, by another CPU than the writer's: first; [RESET]; pages are cleared
 *   in any order; [RESET], commit_generation; a barrier, and writers come back.
 *   The observer: ADVANCE, LOOK and CHECK as in the manual. Its loads are done
 *   in any order that its barriers, load-acquires and addresses allow; a branch
 *   orders nothing. The load of first, to start over, is a plain one.
 *
 * Properties
 *   - LIVE-29: An accepted batch at generation n has exactly the words committed
 *     in generation n at these positions: each word tells the generation and the
 *     position that it was written for, and gcm[] how many were committed. The
 *     entry's before, id and final size are those of generation n.
 *   - LIVE-29, LIVE-33: Going to the next sub-buffer, the index's count is the
 *     observer's own; after an overrun it is not below it; and when all is
 *     quiet and there is no more, the observer's count is the number of events
 *     committed since the last reset. (The observer adds each event accepted to
 *     seen, each jump to missed, and both to its count.)
 *   - LIVE-30: ADVANCE ends, and nobody is stuck: no invalid end state, and when
 *     all is quiet an observer has it all after fewer than 4 * NSB looks.
 *   - LIVE-23: What is given away is hidden, and nothing behind it.
 *   - LIVE-27: A consumer finds all that was committed, and nothing else.
 *   - LIVE-29: A sub-buffer with generation g is not entered again before g + RING,
 *     wherever it was meanwhile; all who enter one store the same generation.
 *   Spin explores all states within the bounds: nothing is sampled or hashed
 *   away. The bounds are those in checks/model.sh, by these names:
 *	RING		sub-buffers in the ring, and slots (one more is the reader's)
 *	EVENTS		events of the task; it may also stop earlier
 *	IRQS, NMIS	events of interrupts, NMIs; each may also not come
 *	SWAPS		times the consumer recycles; it waits as long as it likes
 *	SPLICE		1: it may also give memory away
 *	RESETS		resets, between any two events
 *	FULL		1: the first sub-buffer is full from the beginning
 *	OVERWRITE	0: events are dropped when there is no room
 *	DISCARDS	1: each event may be discarded before its commit, and is
 *			taken back if none is behind it; the padding may be too
 *			short to be an event, and is not written over then
 *	STRAIGHT	1: the writer takes the short ways to reserve and to commit where
 *			no interrupt writes meanwhile
 *	OBSERVERS	each begins at any time
 *   A sub-buffer has 2 words (SZ), an event 1 or 2: the second of 2 leaves padding.
 *
 * Abstracted
 *   - One observer stands for any number: they store nothing.
 *   - Moving the head, swapping, and looking which sub-buffer is next are a step
 *     each. Of their full barriers only that before the head moves is relied upon.
 *   - The commit word counts the padding of a sub-buffer that is left, until the
 *     consumer marks it. In the kernel only an NMI's crossing makes it so.
 *   - A look's loads do not come before the checks of the look before. Checks
 *     done later only refuse more: no generation and no first comes back.
 *   - The reader takes a sub-buffer even if it is empty. Sizes, times, the meta page and
 *     the index's other figures are not in it. Waiting is in wait.pml.
 *
 * To see that the model is not blind, -DBREAK_... takes away one thing each:
 *	ENTER COMMIT LEAVE GONE		the barrier of this label
 *	COMMIT_READ			how far to commit is read behind the barrier
 *	SLOT				whether the tail is still there is not looked at:
 *					interrupts that fill the ring while the commit is
 *					on the reader's page reach the tail's slot
 *	GONE_RELEASE LOSS_RELEASE	the consumer's barrier between seeing the page
 *					left and its stores; and the count of lost events
 *	SPLICE_PAST SPLICE_ID ACQ_SPLICE memory is given away: the slot's generation may
 *					be that of the commit or later; its id is not
 *					looked at, or looked at too early
 *	RESET_BEGIN RESET_END		the barrier after first, before commit_generation
 *	RESET_BACK			the barrier before writers come back
 *	FIRST FIRST_ADVANCE		CHECK, ADVANCE do not load first again
 *	AHEAD				ADVANCE goes past commit_generation, or begins
 *					while the buffer is emptied
 *	ACQ_CG ACQ_CM ACQ_ADVANCE ACQ_CP load-acquire of commit_generation (look), commit
 *					word, commit_generation (ADVANCE), commit_page
 *	CHECK CHECK_ADVANCE		the read barrier before the check
 *	RECHECK				commit_generation may move under a look
 *	SIZE				the final size is in the header only
 *	SHORTENED			the final size is where the padding begins, also
 *					if an event before it was taken back
 *	SECOND_LOOK EXCHANGE		what makes the short ways to commit, to reserve
 *					safe from interrupts
 * ENTER takes an interrupt to matter: a crossing that nothing interrupted commits
 * what was before, with a release, ere it stores anything else. And it takes that
 * nothing is made of cmpxchg(&tail_page)'s own barrier.
 */
#define SZ	2

#define NSB	(RING + 1)

/* What is shared, a byte each */
#define GEN(s)		(s)			/* entry of a slot: generation */
#define ID(s)		(RING + (s))
#define SIZE(s)		(2 * RING + (s))
#define BEF(s)		(3 * RING + (s))	/* before */
#define CM(b)		(4 * RING + (b))	/* sub-buffer: commit word */
#define WORD(b, k)	(4 * RING + NSB + (b) * SZ + (k))	/* records */
#define CG		(4 * RING + NSB + NSB * SZ)	/* index: commit_generation */
#define FST		(CG + 1)		/* index: first */
#define CP		(CG + 2)		/* kernel: commit_page */
#define NLOC		(CG + 3)

#define SLOT(g)		((g) % RING)
#define VAL(g, k, e)	((g) << 3 | (k) << 1 | (e))	/* e: counts as an event */
#define LAST		24			/* no generation is as high */
#define JUNK		200
#define LOSS		201
#define MARK		64
#define BIT(x)		(1 << (x))

byte mem[NLOC];		/* what all see */
#define OTHERS		0	/* the writer waits, or is done */
#define WRITER		1	/* the writer has something to do: nobody else runs */
#define DRAIN		2	/* the writer waits until nothing is pending */
#define DRAIN_GONE	3	/* the same, but observers may not see commit_generation yet */
#define DRAIN_RESET	4	/* the reset waits */
byte turn = WRITER;

/* Stored, and not seen yet: by the writer; by a reset, which another CPU does */
byte pv[2 * NLOC];
int pending[2];

/* The writer's and, of the ring, the reader's. Not seen by observers. */
byte ring[RING], rid = RING, head, tail, cpage;
byte wr[NSB], ent[NSB], rend[NSB], slot[NSB], befk[RING], genk[RING];
byte cg = 1, cmk, committing, commits, xcnt;	/* cg: commit_generation */
byte left = EVENTS, nirq = IRQS, nnmi = NMIS;
bit lock, wdone, cdone, observing;
bit stub[NSB];		/* less is left behind real_end than any event takes */

/* The truth, for the assertions */
byte gen_of[NSB];	/* of a sub-buffer; 0: nothing is in it */
byte total;		/* events committed since the last reset */
byte gcm[8], gbef[8], gsize[8], gid[8];	/* by generation: commit, before, size, id */
#define AT(g)		((g) & 7)

/*
 * Not multi-copy atomic: commit_generation, as observers see it. The consumer
 * may have seen it, and what comes after it, before. No other store of the
 * writer is read by the consumer first.
 */
#if SWAPS
byte observed = 1;
#else
#define observed mem[CG]
#endif

#define quiet (wdone && cdone && !pending[0] && !pending[1] && observed == mem[CG])

/* -- The writer ------------------------------------------------------- */

#define put(who, where, what)						\
	if								\
	:: !(pending[who] & BIT(where))					\
	:: else -> turn = OTHERS; !(pending[who] & BIT(where)); turn = WRITER \
	fi;								\
	if								\
	:: mem[where] == (what)						\
	:: else -> pv[(who) * NLOC + where] = (what);			\
		pending[who] = pending[who] | BIT(where)		\
	fi
#define store(where, what)	put(0, where, what)

#define drained	((turn == DRAIN && !pending[0] && observed == mem[CG]) ||	\
		 (turn == DRAIN_GONE && !pending[0]) ||			\
		 (turn == DRAIN_RESET && !pending[1]))
#define go_on								\
	if								\
	:: drained -> turn = WRITER					\
	:: else								\
	fi

/* Whatever was stored is seen before whatever will be. */
#define wmb()		turn = DRAIN; go_on; turn == WRITER
/* Whoever sees commit_page saw the rest before; another CPU may not have. */
#define wmb_gone()	turn = DRAIN_GONE; go_on; turn == WRITER

/* seen: pending stores are seen, in any order. */
#define SEE(x)	:: atomic { (pending[who] & BIT(x)) ->			\
	mem[x] = pv[who * NLOC + x]; pv[who * NLOC + x] = 0;		\
	pending[who] = pending[who] & ~BIT(x); go_on }

proctype seen(byte who)
{
end:	do
	SEE(0) SEE(1) SEE(2) SEE(3) SEE(4) SEE(5) SEE(6) SEE(7)
	SEE(8) SEE(9) SEE(10) SEE(11) SEE(12) SEE(13) SEE(14) SEE(15)
	SEE(16) SEE(17) SEE(18) SEE(19)
#if RING > 2
	SEE(20) SEE(21) SEE(22) SEE(23) SEE(24) SEE(25) SEE(26)
#endif
#if SWAPS
	:: atomic { !who && observed != mem[CG] -> observed = mem[CG]; go_on }
#endif
	od
}

#if IRQS || NMIS
chan come = [0] of { byte };
chan gone = [0] of { byte };

/* Here an interrupt may come, or an NMI; it runs to its end. */
inline ip()
{
	do
	:: break
	:: level < 1 && nirq -> nirq--; come!1; gone?1
	:: level < 2 && nnmi -> nnmi--; come!2; gone?2
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
	gcm[AT(cg)] = nx; cmk = nx;
	store(CM(cpage), nx);
	nx = 0
}

inline leave()
{
	commit();
	ip();
	next(cpage, nx);
	befk[slot[nx]] = befk[slot[cpage]] + ent[cpage];
	gsize[AT(cg)] = (rend[cpage] && rend[cpage] < wr[cpage] -> rend[cpage] : wr[cpage]);
#ifdef BREAK_SHORTENED
	store(SIZE(slot[cpage]), (rend[cpage] -> rend[cpage] : wr[cpage]));
#else
	store(SIZE(slot[cpage]), gsize[AT(cg)]);
#endif
	store(BEF(slot[nx]), befk[slot[nx]]);
	ip();
#ifndef BREAK_LEAVE
	wmb();		/* [LEAVE] */
#endif
	cg++;
	gbef[AT(cg)] = befk[slot[nx]];
	assert(gen_of[nx] == cg && slot[nx] == SLOT(cg));
	store(CG, cg);
	ip();
#ifndef BREAK_GONE
	wmb_gone();	/* [GONE] */
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
	if
	:: STRAIGHT && committing == 1 && cpage == tail ->
		tp = cpage;
		ip();
		t = wr[tp];
		ip();
		wmb();		/* [COMMIT] */
		gcm[AT(gen_of[tp])] = t; cmk = t;
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
		store(WORD(tp, t), VAL(gen_of[tp], t, 0));
		ip();
		if
		:: !stub[tp] -> wr[tp] = wr[tp] + SZ - t - size
		:: DISCARDS -> wr[tp] = wr[tp] - size; stub[tp] = 1
		fi
	fi
}

/* The generation is one more than that of the tail's slot, if the tail is still there. */
inline enter()
{
	ip();
	g = genk[slot[tp]] + 1;
	ip();
	if
#ifndef BREAK_SLOT
	:: tail != tp		/* an interrupt has done this, and may have reached that slot */
#endif
	:: else ->
		s = SLOT(slot[tp] + 1);
		assert(g == gen_of[tp] + 1 && g < LAST);
		assert(!gen_of[nx] || g == gen_of[nx] || g >= gen_of[nx] + RING);
		ip();
		genk[s] = g;
		gen_of[nx] = g; gid[AT(g)] = nx;
		store(GEN(s), g);
		ip();
#ifndef BREAK_ENTER
		wmb();		/* [ENTER] */
#endif
		ip();
		store(ID(s), nx);
		slot[nx] = s; s = 0
	fi;
	g = 0;
	ip();
	if
	:: tok == xcnt -> wr[nx] = 0; ent[nx] = 0; stub[nx] = 0
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
	if
	:: stub[tp] && t == rend[tp] -> size = 2	/* nothing fits */
	:: else
	fi
}

/*
 * The write index is moved, whatever it is by then. Where the event follows another one
 * it is first compared with what it was: if an interrupt came, all is looked at anew.
 */
inline reserve()
{
	if
	:: STRAIGHT && !tried && t && t + size <= SZ ->
		tried = 1;
		ip();
#ifdef BREAK_EXCHANGE
		wr[tp] = t
#else
		if
		:: wr[tp] != t -> look_at_tail()
		/* too little is left here now, so it was before */
		:: wr[tp] == t && stub[tp] && t == rend[tp] -> look_at_tail()
		:: else
		fi
#endif
	:: else
	fi;
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
			store(WORD(tp, t), VAL(gen_of[tp], t, 1));
			if
			:: size == 2 -> ip(); store(WORD(tp, t + 1), VAL(gen_of[tp], t + 1, 0))
			:: else
			fi;
			if
			:: skip
			:: DISCARDS -> ip(); ent[tp]--; total--;
				store(WORD(tp, t), VAL(gen_of[tp], t, 0));
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
			break
		fi
	od;
	drop = 0; tp = 0; t = 0; size = 0; tried = 0;
	end_commit()
}

#define writer_locals(l) byte level = l, tp, t, size, nx, s, g, tok, before, i_; bit drop, tried

#if RESETS
#define reset_wmb()	turn = DRAIN_RESET; go_on; turn == WRITER

/* Another CPU does this. No writer runs meanwhile. */
inline reset()
{
	/* record_disabled, a grace period, reader_lock */
	turn = OTHERS;
	!lock && !pending[0] && observed == mem[CG] -> lock = 1; turn = WRITER;
	nreset--;
	g = cg + RING + 2;
	assert(g < LAST);
	put(1, FST, g);
#ifndef BREAK_RESET_BEGIN
	reset_wmb();	/* [RESET] */
#endif
	d_step {
		tail = ring[head];
		cpage = tail; cg = g; cmk = 0; total = 0;
		do
		:: i_ < NSB -> wr[i_] = 0; ent[i_] = 0; rend[i_] = 0; gen_of[i_] = 0; stub[i_] = 0; i_++
		:: else -> break
		od;
		i_ = 0;
		s = SLOT(g);
		gen_of[tail] = g; slot[tail] = s; befk[s] = 0;
		gcm[AT(g)] = 0; gbef[AT(g)] = 0; gid[AT(g)] = tail
	}
	genk[s] = g;
	do
	:: i_ < NSB -> put(1, CM(i_), 0); i_++
	:: else -> break
	od;
	i_ = 0;
	put(1, GEN(s), g);
	put(1, ID(s), tail);
	put(1, BEF(s), 0);
#ifndef BREAK_RESET_END
	reset_wmb();	/* [RESET], store-release */
#endif
	put(1, CG, g);
	put(1, CP, tail);
	s = 0; g = 0;
#ifndef BREAK_RESET_BACK
	reset_wmb();	/* [BACK] record_disabled is counted down after all that */
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

#if IRQS || NMIS
proctype nested(byte l)
{
	writer_locals(l);

end:	do
	:: atomic { come?eval(level) -> event(); gone!level }
	od
}
#endif

/* -- The consumer ----------------------------------------------------- */

#if SWAPS
#ifdef BREAK_GONE_RELEASE
#define released	1
#else
#define released	(observed == mem[CG])
#endif
#if defined(BREAK_LOSS_RELEASE) || defined(BREAK_GONE_RELEASE)
#define loss_released	1
#else
#define loss_released	(observed == mem[CG])
#endif

#if SPLICE
#ifdef BREAK_SPLICE_PAST
#define past	1
#else
#define past	(ggen < gcg)
#endif
#ifdef BREAK_SPLICE_ID
#define same	1
#else
#define same	(gidl == rid)
#endif

/* Nobody observes. The memory of the sub-buffer is replaced, and what was in it hidden. */
inline give_away()
{
	if
	:: past && same -> assert(ggen == gen_of[rid] && ggen < mem[CG]); mem[FST] = ggen + 1
	:: else -> assert(mem[GEN(slot[rid])] != gen_of[rid])
	fi;
	got = 0; ggen = 0; gcg = 0; gidl = 0; end_ = 0;
	mem[WORD(rid, 0)] = JUNK; mem[WORD(rid, 1)] = JUNK; mem[CM(rid)] = 0;
	wr[rid] = 0; ent[rid] = 0; rend[rid] = 0; gen_of[rid] = 0; stub[rid] = 0
}
#endif

proctype consumer()
{
	byte n = SWAPS, k, end_, old, pc;
	bit marked, lossed;
#if SPLICE
	byte got, ggen, gcg, gidl;
#endif

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
		/* load-acquire, [GONE] */
		if
		:: mem[CP] == rid -> lock = 0; pc = 0; end_ = 0
		:: else -> n--; pc = (gen_of[rid] -> 2 : 4)
		fi }
	:: atomic { turn != WRITER && pc == 2 ->
		/* All that was committed is there, and nothing else. */
#ifndef BREAK_ACQ_CP
		end_ = mem[CM(rid)];
#endif
		assert(end_ == gcm[AT(gen_of[rid])]);
		do
		:: k < end_ -> assert(mem[WORD(rid, k)] >> 1 == VAL(gen_of[rid], k, 0) >> 1); k++
		:: else -> break
		od;
		k = 0;
		pc = 3 }
#if SPLICE
	:: atomic { turn != WRITER && pc == 3 && !observing && !marked && !lossed -> pc = 5 }
	:: atomic { turn != WRITER && pc == 5 ->
		if
		:: !(got & 1) -> ggen = mem[GEN(slot[rid])]; got = got | 1
		:: !(got & 2) -> gcg = mem[CG]; got = got | 2	/* load-acquire */
#ifdef BREAK_ACQ_SPLICE
		:: !(got & 4) -> gidl = mem[ID(slot[rid])]; got = got | 4
#else
		:: !(got & 4) && (got & 2) -> gidl = mem[ID(slot[rid])]; got = got | 4
#endif
		:: got == 7 && observed == mem[CG] -> give_away(); lock = 0; pc = 0
		fi }
#endif
	/* Its stores are seen in any order, but after [GONE] */
	:: atomic { turn != WRITER && pc == 3 && !marked && released ->
		/* where its records end, if that is not where the padding was */
		mem[CM(rid)] = (rend[rid] && rend[rid] < end_ -> rend[rid] : end_) | MARK; marked = 1 }
	:: atomic { turn != WRITER && pc == 3 && !lossed && rend[rid] && loss_released ->
		mem[WORD(rid, rend[rid])] = LOSS; lossed = 1 }
	:: atomic { turn != WRITER && pc == 3 && released ->
		marked = 0; lossed = 0; end_ = 0; mem[CM(rid)] = 0; pc = 4 }
	:: atomic { turn != WRITER && pc == 4 && observed == mem[CG] ->
		/* a whole barrier; the sub-buffer goes back */
		wr[rid] = 0; ent[rid] = 0; rend[rid] = 0; stub[rid] = 0;
		mem[CM(rid)] = 0;
		old = rid; rid = ring[head]; ring[head] = old; old = 0;
		head = (head + 1) % RING;
		lock = 0; pc = 0 }
	:: atomic { turn != WRITER && pc == 0 && (!n || wdone) -> cdone = 1; break }
	od
}
#endif

/* -- The observer ----------------------------------------------------- */

mtype = { OPEN, ADVANCE, LOOK, END };

#define need(x, pre) (!(done & (x)) && (done & (pre)) == (pre))

/* ADVANCE: its loads, and what each has to wait for */
#define A_FIRST		1
#define A_CG		2
#define A_BEF		4
#define A_ID		8
#define A_GEN		16
#define A_FIRST2	32
#define A_ALL		63
#define A_ENTRY		(A_FIRST | A_CG)
#ifdef BREAK_CHECK_ADVANCE
#define A_CHECK		A_ENTRY
#else
#define A_CHECK		(A_ENTRY | A_BEF | A_ID)
#endif
#ifdef BREAK_FIRST_ADVANCE
#define first_is(f)	1
#else
#define first_is(f)	((f) == e)
#endif

inline start_over()
{
	n = 0; c = 0; p = 0; id = 0; e = 0; m = 0;
	whole = 0; done = 0; state = ADVANCE
}

/* commit_generation and, to start over, first were loaded: which generation is next? */
inline target()
{
	if
	:: !n && !m -> m = e - 1
	:: else
	fi;
	m = (now >= RING && now - RING > m -> now - RING + 1 : m + 1);
	if
#ifndef BREAK_AHEAD
	:: m > now && !n -> start_over()	/* also while the buffer is emptied */
	:: m > now && n -> m = 0; whole = 0; done = 0; state = LOOK
#endif
	:: else
	fi;
	now = 0
}

/* Events between the counts are missed. There are none where all was seen. */
inline arrive()
{
	if
	:: !first_is(f2) -> start_over()
	:: first_is(f2) && gen == m ->
		assert(bef == gbef[AT(m)] && nid == gid[AT(m)]);
		assert(bef >= c && (!whole || m != n + 1 || bef == c));
		c = bef; n = m; id = nid; p = 0; m = 0; whole = 0; done = 0; state = LOOK
	:: else -> done = A_FIRST
	fi;
	bef = 0; nid = 0; gen = 0; f2 = 0
}

/* LOOK and CHECK: the loads, and what each has to wait for */
#define D_CG	1
#define D_SIZE	2
#define D_CM	4
#define D_WORD(k) (8 << (k))
#define D_GEN	32
#define D_FIRST	64
#define D_CG2	128
#define D_ALL	255

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
#define N_CHECK	(D_CG | D_SIZE | D_CM | D_WORD(0) | D_WORD(1))
#endif

#define LOAD_WORD(k)							\
	:: need(D_WORD(k), N_USE) ->					\
		if							\
		:: k < p || ((done & (D_CG | D_SIZE | D_CM)) ==		\
			(D_CG | D_SIZE | D_CM) && k >= end_)		\
		:: else -> w[k] = mem[WORD(id, k)]			\
		fi;							\
		done = done | D_WORD(k)

#ifdef BREAK_FIRST
#define look_first_is(f)	1
#else
#define look_first_is(f)	((f) == e)
#endif

/* p .. end_ is accepted. */
inline accept()
{
	assert(end_ <= SZ && (now == n || end_ == gsize[AT(n)]));
	k = p;
	do
	:: k < end_ ->
		assert(k < gcm[AT(n)]);
		assert(w[k] >> 1 == VAL(n, k, 0) >> 1);
		c = c + (w[k] & 1);
		k++
	:: else -> break
	od;
	k = 0;
	if
	:: q && now == n && end_ <= p ->
		/* All is quiet, and there is no more. */
		assert(c == total);
		state = END
	:: else
	fi;
	if
	:: end_ > p -> p = end_
	:: else
	fi;
	if
	:: now != n -> m = n; whole = 1; state = ADVANCE; done = A_FIRST
	:: else -> done = 0
	fi
}

inline judge()
{
	d_step {
		if
		:: !look_first_is(f2) -> start_over()
		:: look_first_is(f2) && gen != n -> m = n; state = ADVANCE; done = A_FIRST
		:: look_first_is(f2) && gen == n ->
			if
#ifndef BREAK_RECHECK
			:: now == n && cg2 != now -> done = 0	/* it is final now: look again */
#endif
			:: else -> accept()
			fi
		fi;
		now = 0; end_ = 0; gen = 0; f2 = 0; cg2 = 0; w[0] = 0; w[1] = 0; q = 0
	}
}

proctype observer()
{
	mtype state = (SPLICE -> OPEN : ADVANCE);
	byte e, n, id, p, c;		/* first, and the position; n 0: none yet */
	byte now, end_, gen, f2, cg2, bef, nid, m, k;	/* what was loaded; m: where to go */
	byte w[SZ];
	byte done;
	bit q, whole;			/* all was quiet; all of n was seen */
#ifdef BREAK_ACQ_ADVANCE
	byte guess;
#endif
	byte tries;

	do
	:: atomic { state == END -> break }
	:: atomic { turn != WRITER && state == OPEN && !lock -> observing = 1; state = ADVANCE }
	:: atomic { turn != WRITER && state == ADVANCE ->
		if
		:: need(A_CG, 0) && quiet -> tries++; assert(tries < 4 * NSB)
		:: else
		fi;
		if
#ifdef BREAK_ACQ_ADVANCE
		:: !(done & A_CG) && !guess -> guess = 1; bef = mem[BEF(0)]
		:: !(done & A_CG) && !guess -> guess = 2; bef = mem[BEF(1)]
		:: need(A_BEF, A_ENTRY) && guess == SLOT(m) + 1 -> done = done | A_BEF
#endif
		:: need(A_FIRST, 0) -> e = mem[FST]; done = done | A_FIRST
		:: need(A_CG, 0) -> now = observed; done = done | A_CG
		:: need(A_BEF, A_ENTRY) -> bef = mem[BEF(SLOT(m))]; done = done | A_BEF
		:: need(A_ID, A_ENTRY) -> nid = mem[ID(SLOT(m))]; done = done | A_ID
		:: need(A_GEN, A_CHECK) -> gen = mem[GEN(SLOT(m))]; done = done | A_GEN
		:: need(A_FIRST2, A_CHECK) -> f2 = mem[FST]; done = done | A_FIRST2
		fi;
		if
		:: done == A_ENTRY -> target()
		:: done == A_ALL ->
			arrive();
#ifdef BREAK_ACQ_ADVANCE
			guess = 0
#endif
		:: else
		fi }
	:: atomic { turn != WRITER && state == LOOK ->
		if
		:: !done && quiet -> q = 1; tries++; assert(tries < 4 * NSB)
		:: else
		fi;
		if
		:: need(D_CG, 0) ->
			now = observed;
			done = done | D_CG | (now == n -> D_SIZE : D_CM | D_CG2)
		:: need(D_SIZE, N_CG) ->
#ifdef BREAK_SIZE
			end_ = mem[CM(id)] & (MARK - 1);
#else
			end_ = mem[SIZE(SLOT(n))];
#endif
			done = done | D_SIZE
		:: need(D_CM, N_CG) -> end_ = mem[CM(id)] & (MARK - 1); done = done | D_CM
		LOAD_WORD(0)
		LOAD_WORD(1)
		:: need(D_GEN, N_CHECK) -> gen = mem[GEN(SLOT(n))]; done = done | D_GEN
		:: need(D_FIRST, N_CHECK) -> f2 = mem[FST]; done = done | D_FIRST
		:: need(D_CG2, N_CHECK) -> cg2 = observed; done = done | D_CG2
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
		:: k < NSB -> mem[WORD(k, 0)] = JUNK; mem[WORD(k, 1)] = JUNK; k++
		:: else -> break
		od;
		k = 0;
		do
		:: k < RING -> ring[k] = k; mem[SIZE(k)] = SZ; mem[ID(k)] = RING; k++
		:: else -> break
		od;
		k = 0;
		slot[0] = SLOT(1); gen_of[0] = 1;
		mem[GEN(SLOT(1))] = 1; mem[ID(SLOT(1))] = 0;
		genk[SLOT(1)] = 1;
		mem[CG] = 1; mem[FST] = 1;
#if FULL
		wr[0] = SZ; ent[0] = 1; cmk = SZ; total = 1; gcm[1] = SZ; mem[CM(0)] = SZ;
		mem[WORD(0, 0)] = VAL(1, 0, 1); mem[WORD(0, 1)] = VAL(1, 1, 0);
#endif
		run seen(0);
#if RESETS
		run seen(1);
#endif
		run task();
#if IRQS || NMIS
		run nested(1);
		run nested(2);
#endif
#if SWAPS
		run consumer();
#else
		cdone = 1;
#endif
#if OBSERVERS
		run observer();
#endif
#if OBSERVERS > 1
		run observer();
#endif
	}
}

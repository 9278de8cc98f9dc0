// SPDX-License-Identifier: GPL-2.0
/* Operations on mappings. */
#define _GNU_SOURCE
#include <sys/syscall.h>

#include "random.h"

/* ---- ranges ---- */

static void any_range(struct order *o)
{
	o->at = below(ARENA_PAGES - 64);
	o->len = 1 + below(64);
}

/* Of an area: all of it, a part, or more than it. */
static void range_near(struct order *o, const struct area *area)
{
	long len = area->end - area->start;

	o->at = area->start;
	o->len = len;
	switch (below(6)) {
	case 0:
		o->len = 1 + below(len);
		break;
	case 1:
		o->at += below(len);
		o->len = area->end - o->at;
		break;
	case 2:
		o->at += below(len);
		o->len = 1 + below(area->end - o->at);
		break;
	case 3:
		o->at = area->start > 8 ? area->start - below(8) : area->start;
		o->len = area->end - o->at + below(8);
		break;
	}
}

static bool choose_range(struct order *o)
{
	struct area *area = any_area(worker_of(o));

	if (area && !one_in(16))
		range_near(o, area);
	else
		any_range(o);
	return true;
}

bool choose_inside(struct order *o)
{
	struct area *area = any_area(worker_of(o));

	if (!area)
		return false;
	do
		range_near(o, area);
	while (o->at < area->start || o->at + o->len > area->end);
	return true;
}

static struct area *area_at(const struct order *o)
{
	return area_of(worker_of(o), o->at);
}

static bool whole(const struct area *area, const struct order *o)
{
	return area->start == o->at && area->end == o->at + o->len;
}

/* ---- mmap ---- */

static void choose_place(struct order *o)
{
	struct area *area = any_area(worker_of(o));

	o->flags |= MAP_FIXED_NOREPLACE;
	o->at = below(ARENA_PAGES - o->len);
	if (area && one_in(3)) {
		o->at = area->end;	/* side by side: they are not to merge */
		if (o->at + o->len > ARENA_PAGES)
			o->at = 0;
	}
	if (area && one_in(8)) {
		o->flags = (o->flags & ~MAP_FIXED_NOREPLACE) | MAP_FIXED;
		o->at = area->start + (one_in(2) ? 0 : below(4));
		if (one_in(2))
			o->len = area->end - area->start;
		if (o->at + o->len > ARENA_PAGES)
			o->at = ARENA_PAGES - o->len;
	}
}

static const uint64_t odd_offsets[] = {
	1ULL << 32, 1ULL << 42, 1ULL << 43, (1ULL << 43) + PAGE, 1ULL << 44, 1ULL << 62,
	1ULL << 63, -PAGE, 100, PAGE / 2,
};

static void choose_piece(struct order *o, const struct file *f)
{
	unsigned long all, order, first;

	if (f->kind != RAW) {
		o->len = 1;
		return;
	}
	all = map_pages(f->inst, f->cpu);
	order = instances[f->inst].order;
	switch (below(8)) {
	case 0 ... 2:
		o->len = all;
		break;
	case 3:
		first = below(all + 4) >> order << order;
		o->off = first * PAGE;
		o->len = 1 + below(first < all ? all - first : 2);
		break;
	case 4:
		o->off = below(all + 4) * PAGE;
		o->len = 1 + below(all + 2);
		break;
	case 5:
		o->len = 1 + below(all + 2);
		break;
	case 6 ... 7:
		o->off = odd_offsets[below(10)];
		o->len = 1 + below(all);
		break;
	}
}

static bool choose_mmap(struct order *o)
{
	struct file *f;
	int tries;

	if (worker_of(o)->nr_areas >= AREAS - 2)
		return false;
	for (tries = 0; tries < 6; tries++) {
		o->fd = below(FDS);
		f = file_at(o);
		if (f && f->kind == RAW)
			break;
	}
	/* What observers map is not in the arena: see op_live.c. */
	if ((!f && !one_in(30)) || (f && f->kind == LIVE))
		return false;
	o->len = 1;
	if (f) {
		o->inst = f->inst;
		o->cpu = f->cpu;
		choose_piece(o, f);
	}
	if (o->len >= ARENA_PAGES)
		return false;
	o->prot = one_in(12) ? (int)below(8) : PROT_READ;
	o->flags = one_in(16) ? MAP_PRIVATE : MAP_SHARED;
	if (one_in(8))
		o->flags |= MAP_POPULATE;
	if (one_in(16))
		o->flags |= MAP_LOCKED;
	choose_place(o);
	return true;
}

static void perform_mmap(const struct order *o, struct answer *a)
{
	void *map = (void *)syscall(SYS_mmap, arena(o->at), o->len * PAGE, o->prot, o->flags,
				    fd_of(o), o->off);

	note(a, map == MAP_FAILED ? -1 : 0);
}

/* MAP-11, MAP-12 */
static void why_not_this_piece(const struct order *o, const struct file *f)
{
	unsigned long pgoff = o->off / PAGE, all = map_pages(f->inst, f->cpu);
	unsigned long first = pgoff & ((1ul << instances[f->inst].order) - 1);

	if (o->off % PAGE) {
		why(YES, EINVAL);
	} else {
		why(unless_storm(is(first || pgoff >= all || o->len > (long)(all - pgoff))),
		    EINVAL);
		why(is(o->off > 1ULL << 40) ? MAYBE : NO, EOVERFLOW);
	}
}

/* MAP-7, MAP-8, SNAP-4, SNAP-5 */
static void why_not_this_file(const struct order *o, const struct file *f)
{
	bool write = o->prot & PROT_WRITE;

	if (f->kind != RAW) {
		why(YES, ENODEV);
		why(MAYBE, EACCES);
		why(MAYBE, EPERM);
		why(MAYBE, EINVAL);
		return;
	}
	why(is(o->flags & MAP_PRIVATE || o->prot & PROT_EXEC || write), EPERM);
	why(is(write && (f->flags & O_ACCMODE) != O_RDWR), EACCES);
	why(snapshot_users(f->inst), EBUSY);
	why_not_this_piece(o, f);
}

/* MAP-15: In a storm there may be no memory for a moment. */
static const char *judge_mmap(const struct order *o, const struct answer *a)
{
	struct worker *w = worker_of(o);
	struct file *f = file_at(o);
	bool fixed = (o->flags & MAP_FIXED) == MAP_FIXED;
	const char *bad;

	judge_begin();
	why(is(!f), EBADF);
	why(unless_storm(NO), ENOMEM);
	if (fixed) {
		why(is(range_cuts(w, o->at, o->len)), EINVAL);
		why(is(range_cuts(w, o->at, o->len)), ENOMEM);
	} else {
		why(is(range_has(w, o->at, o->len)), EEXIST);
	}
	if (f)
		why_not_this_file(o, f);
	bad = judged(a);
	if (bad)
		return bad;
	if (a->err) {
		if (fixed && !range_cuts(w, o->at, o->len))
			forgive_removed(w, o->at, o->len);
		return NULL;
	}
	remove_areas(w, o->at, o->len);
	add_area(w, o->at, o->len, o->off, w->fds[o->fd], o->prot);
	return NULL;
}

/* ---- munmap ---- */

static void perform_munmap(const struct order *o, struct answer *a)
{
	note(a, munmap(arena(o->at), o->len * PAGE));
}

/* MAP-15 */
static const char *judge_munmap(const struct order *o, const struct answer *a)
{
	struct worker *w = worker_of(o);
	const char *bad;

	judge_begin();
	if (wrong != 2 && !(wrong == 6 && storm))
		why(is(range_cuts(w, o->at, o->len)), EINVAL);
	bad = judged(a);
	if (!bad && !a->err)
		remove_areas(w, o->at, o->len);
	return bad;
}

/* ---- mremap ---- */

static bool choose_mremap(struct order *o)
{
	struct area *area = any_area(worker_of(o));

	if (!area)
		return false;
	range_near(o, area);
	o->to_len = o->len;
	if (one_in(4))
		o->to_len = 1 + below(o->len + 8);
	if (one_in(12))
		o->len = 0;
	o->flags = 0;
	if (!one_in(4))
		o->flags |= MREMAP_MAYMOVE;
	/* Without a place of its own it would leave the arena. */
	if (o->to_len > o->len || !one_in(4) || !o->len)
		o->flags |= MREMAP_FIXED;
	if (one_in(8))
		o->flags |= MREMAP_DONTUNMAP | MREMAP_FIXED;
	o->to = below(ARENA_PAGES - o->to_len);
	return true;
}

static void perform_mremap(const struct order *o, struct answer *a)
{
	void *map = mremap(arena(o->at), o->len * PAGE, o->to_len * PAGE, o->flags,
			   arena(o->to));

	note(a, map == MAP_FAILED ? -1 : 0);
	a->value = map == arena(o->to);
}

/*
 * MAP-15, MAP-16: To another place: all of it, in the same size; what is behind is
 * unmapped.
 */
static void why_not_move(struct order *o, const struct area *area)
{
	struct worker *w = worker_of(o);

	if (o->len > o->to_len) {
		why(is(range_cuts(w, o->at + o->to_len, o->len - o->to_len)), EINVAL);
		why(is(o->to < o->at + o->len && o->at < o->to + o->to_len), EINVAL);
		o->len = o->to_len;
	}

	why(is(!(o->flags & MREMAP_MAYMOVE)), EINVAL);
	why(is(o->to < o->at + o->len && o->at < o->to + o->to_len), EINVAL);
	why(is(range_cuts(w, o->to, o->to_len)), EINVAL);
	why(is(o->flags & MREMAP_DONTUNMAP), EINVAL);
	why(is(!o->len || o->to_len > o->len), EFAULT);
	why(is(!o->len || o->to_len > o->len), EINVAL);
	why(is(!area || o->at + o->len > area->end), EFAULT);
	why(is(area && !whole(area, o)), EINVAL);
}

/* MAP-15: Where it is: what is cut off behind is unmapped. */
static void why_not_shrink(const struct order *o, const struct area *area)
{
	why(is(!area), EFAULT);
	why(is(range_cuts(worker_of(o), o->at + o->to_len, o->len - o->to_len)), EINVAL);
}

static void moved(const struct order *o)
{
	struct worker *w = worker_of(o);
	struct area *area;

	remove_areas(w, o->to, o->to_len);
	area = area_at(o);
	area->start = o->to;
	area->end = o->to + o->to_len;
}

static const char *judge_mremap(const struct order *o, const struct answer *a)
{
	struct worker *w = worker_of(o);
	struct area *area = area_at(o);
	bool move = o->flags & MREMAP_FIXED;
	struct order same_size = *o;
	const char *bad;

	judge_begin();
	if (move)
		why_not_move(&same_size, area);
	else
		why_not_shrink(o, area);
	why(unless_storm(NO), ENOMEM);
	bad = judged(a);
	if (bad)
		return bad;
	if (a->err) {
		if (move) {
			forgive_removed(w, o->to, o->to_len);
			forgive_removed(w, o->at + o->to_len, o->len - o->to_len);
		}
		return NULL;
	}
	if (o->to_len < o->len)
		remove_areas(w, o->at + o->to_len, o->len - o->to_len);
	if (move)
		moved(o);
	return NULL;
}

/* ---- mprotect ---- */

static bool choose_mprotect(struct order *o)
{
	static const int prots[] = {
		PROT_READ, PROT_NONE, PROT_READ, PROT_WRITE, PROT_READ | PROT_WRITE, PROT_EXEC,
		PROT_READ | PROT_EXEC,
	};

	o->prot = prots[below(7)];
	return one_in(10) ? choose_range(o) : choose_inside(o);
}

static void perform_mprotect(const struct order *o, struct answer *a)
{
	note(a, mprotect(arena(o->at), o->len * PAGE, o->prot));
}

static bool meets_range(const struct area *area, const struct order *o)
{
	return area->start < o->at + o->len && o->at < area->end;
}

/* MAP-9, MAP-15 */
static void why_not_protect(const struct order *o)
{
	struct worker *w = worker_of(o);
	bool cut = false;
	int i;

	for (i = 0; i < w->nr_areas; i++) {
		const struct area *area = &w->areas[i];
		bool inside = o->at <= area->start && area->end <= o->at + o->len;

		cut |= meets_range(area, o) && !inside && area->prot != o->prot;
	}
	why(is(cut), EINVAL);
	why(is(o->prot & (PROT_WRITE | PROT_EXEC) && range_has(w, o->at, o->len)), EACCES);
	why(is(!range_full(w, o->at, o->len)), ENOMEM);
}

/* Up to where it failed, it was done. */
static void protected(const struct order *o, bool failed)
{
	struct worker *w = worker_of(o);
	struct seat *seat = &shared->seats[o->worker];
	int i, s;

	if (o->prot & (PROT_WRITE | PROT_EXEC))
		return;
	for (i = 0; i < w->nr_areas; i++) {
		struct area *area = &w->areas[i];

		if (area->start < o->at || area->end > o->at + o->len)
			continue;
		if (!failed)
			area->prot = o->prot;
		for (s = 0; s < seat->nr_spans; s++) {
			if (seat->spans[s].start == area->start && seat->spans[s].prot == o->prot)
				area->prot = o->prot;
		}
	}
}

static const char *judge_mprotect(const struct order *o, const struct answer *a)
{
	const char *bad;

	judge_begin();
	why_not_protect(o);
	bad = judged(a);
	if (!bad)
		protected(o, a->err);
	return bad;
}

/* ---- madvise ---- */

/*
 * What it does to the flags of a mapping; those of other memory are refused.
 * MADV_DONTNEED is not among them: its caller gets SIGBUS from then on, as
 * lifetime_test shows.
 */
static const struct advice {
	int		advice;
	int		set, clear;
	int		refused;	/* always, with this */
	bool		may;		/* be refused, or change what is not in the model */
} advices[] = {
	{ MADV_DOFORK,		BIT_DOFORK, 0,			0,	false },
	{ MADV_DOFORK,		BIT_DOFORK, 0,			0,	false },
	{ MADV_DOFORK,		BIT_DOFORK, 0,			0,	false },
	{ MADV_DONTFORK,	0, BIT_DOFORK,			0,	false },
	{ MADV_RANDOM,		BIT_RANDOM, BIT_SEQUENTIAL,	0,	false },
	{ MADV_SEQUENTIAL,	BIT_SEQUENTIAL, BIT_RANDOM,	0,	false },
	{ MADV_NORMAL,		0, BIT_RANDOM | BIT_SEQUENTIAL,	0,	false },
	{ MADV_DONTDUMP,	BIT_DONTDUMP, 0,		0,	false },
	{ MADV_DODUMP,		0, 0,				EINVAL,	false },
	{ MADV_WIPEONFORK,	0, 0,				EINVAL,	false },
	{ MADV_KEEPONFORK,	0, 0,				0,	true },
	{ MADV_FREE,		0, 0,				EINVAL,	false },
	{ MADV_REMOVE,		0, 0,				EACCES,	true },
	{ MADV_COLD,		0, 0,				0,	false },
	{ MADV_PAGEOUT,		0, 0,				0,	false },
	{ MADV_PAGEOUT,		0, 0,				0,	false },
	{ MADV_POPULATE_READ,	0, 0,				0,	false },
	{ MADV_POPULATE_WRITE,	0, 0,				EINVAL,	true },
	{ MADV_WILLNEED,	0, 0,				0,	true },
	{ MADV_HUGEPAGE,	0, 0,				0,	true },
	{ MADV_NOHUGEPAGE,	0, 0,				0,	true },
	{ MADV_MERGEABLE,	0, 0,				0,	true },
	{ MADV_UNMERGEABLE,	0, 0,				0,	true },
	{ 25 /* COLLAPSE */,	0, 0,				0,	true },
	{ 99,			0, 0,				EINVAL,	false },
};

#define NR_ADVICES	(sizeof(advices) / sizeof(*advices))

static bool choose_madvise(struct order *o)
{
	o->value = below(NR_ADVICES);
	return choose_inside(o);
}

static void perform_madvise(const struct order *o, struct answer *a)
{
	note(a, madvise(arena(o->at), o->len * PAGE, advices[o->value].advice));
}

/* MAP-15 */
static const char *judge_madvise(const struct order *o, const struct answer *a)
{
	const struct advice *ad = &advices[o->value];
	struct area *area = area_at(o);
	int bits = (area->bits | ad->set) & ~ad->clear;
	const char *bad;

	judge_begin();
	if (ad->refused)
		why(YES, ad->refused);
	if (ad->may) {
		why(MAYBE, EINVAL);
		why(MAYBE, EFAULT);
		why(MAYBE, EACCES);
		why(MAYBE, EBADF);
		why(MAYBE, ENOMEM);
	}
	why(is(bits != area->bits && !whole(area, o)), EINVAL);
	if (ad->advice == MADV_POPULATE_READ) {
		why(is(!(area->prot & PROT_READ)), EINVAL);
		why(is(!(area->prot & PROT_READ)), EFAULT);
	}
	why(unless_storm(NO), EAGAIN);
	bad = judged(a);
	if (!bad && !a->err)
		area->bits = bits;
	return bad;
}

/* ---- mlock ---- */

static bool choose_mlock(struct order *o)
{
	o->value = below(6);
	return o->value > 3 ? one_in(4) : choose_inside(o);
}

/* MCL_CURRENT, for what is mapped now; MCL_FUTURE for the rest. */
static void perform_mlock(const struct order *o, struct answer *a)
{
	void *at = arena(o->at);
	size_t len = o->len * PAGE;

	switch (o->value) {
	case 0:
		note(a, mlock(at, len));
		break;
	case 1:
		note(a, mlock2(at, len, MLOCK_ONFAULT));
		break;
	case 2:
	case 3:
		note(a, munlock(at, len));
		break;
	case 4:
		note(a, mlockall(MCL_CURRENT | (o->at & 1 ? MCL_FUTURE : 0)));
		break;
	case 5:
		note(a, munlockall());
		break;
	}
}

/* It is never locked: to lock it fills it in, and that is all. */
static const char *judge_mlock(const struct order *o, const struct answer *a)
{
	struct area *area = o->value < 4 ? area_at(o) : NULL;

	judge_begin();
	if (area && !(area->prot & PROT_READ)) {
		why(MAYBE, ENOMEM);
		why(MAYBE, EAGAIN);
	}
	if (o->value == 4)
		why(MAYBE, ENOMEM);
	return judged(a);
}

/* ---- remap_file_pages ---- */

static bool choose_remap(struct order *o)
{
	struct area *area = any_area(worker_of(o));

	if (!one_in(3) || !area) {
		o->off = below(20);
		return choose_inside(o);
	}
	/* All of it, where it was: for a writable descriptor that is possible. */
	o->at = area->start;
	o->len = area->end - area->start;
	o->off = area->off / PAGE;
	return true;
}

static void perform_remap(const struct order *o, struct answer *a)
{
	note(a, syscall(SYS_remap_file_pages, arena(o->at), o->len * PAGE, 0, o->off, 0));
}

/* MAP-15: It maps anew, in place: all of it may be, as MAP_FIXED may. */
static const char *judge_remap(const struct order *o, const struct answer *a)
{
	struct worker *w = worker_of(o);
	struct area *area = area_at(o), old = *area;
	struct order again = *o;
	const struct file *f = &files[area->file];
	const char *bad;

	again.off = o->off * PAGE;
	judge_begin();
	why(is(!whole(area, o)), EINVAL);
	why(is(!whole(area, o)), ENOMEM);
	why_not_this_piece(&again, f);
	why(snapshot_users(f->inst), EBUSY);
	why(MAYBE, EINVAL);	/* where the descriptor is read-only, or it is not readable */
	why(unless_storm(NO), ENOMEM);
	bad = judged(a);
	if (bad)
		return bad;
	if (a->err) {
		if (whole(&old, o))
			forgive_removed(w, o->at, o->len);
		return NULL;
	}
	files[old.file].refs++;
	remove_areas(w, o->at, o->len);
	add_area(w, o->at, o->len, o->off * PAGE, old.file, old.prot);
	drop_file(old.file);
	return NULL;
}

const struct operation map_operations[] = {
	{ "mmap", 60, false, true, choose_mmap, perform_mmap, judge_mmap },
	{ "munmap", 22, false, true, choose_range, perform_munmap, judge_munmap },
	{ "mremap", 14, false, true, choose_mremap, perform_mremap, judge_mremap },
	{ "mprotect", 14, false, true, choose_mprotect, perform_mprotect, judge_mprotect },
	{ "madvise", 40, false, true, choose_madvise, perform_madvise, judge_madvise },
	{ "mlock", 8, false, true, choose_mlock, perform_mlock, judge_mlock },
	{ "remap_file_pages", 6, false, true, choose_remap, perform_remap, judge_remap },
	{ NULL, 0, false, false, NULL, NULL, NULL },
};

// SPDX-License-Identifier: GPL-2.0
/*
 * Operations of observers: they tell positions, and follow what their file shows.
 * They are opened, closed and polled as other files are, in op_file.c. What they map
 * is not in the arena, and gone when the operation ends: it may be taken apart.
 */
#define _GNU_SOURCE
#include <sys/ioctl.h>

#include "random.h"

/* So often nothing but events is to be seen. */
#define MAX_LOOKS	2000

static bool an_observer(struct order *o)
{
	int tries;

	for (tries = 0; tries < 8; tries++) {
		o->fd = below(FDS);
		if (file_at(o) && file_at(o)->kind == LIVE)
			break;
	}
	if (!file_at(o) || (file_at(o)->kind != LIVE && !one_in(4)))
		return false;
	o->inst = file_at(o)->inst;
	o->cpu = file_at(o)->cpu;
	return true;
}

/* ---- WAIT ---- */

enum { AT_WRITER, LONG_AGO, ANYWHERE, SMALLER, LARGER, LARGER_UNKNOWN, NO_POINTER,
       BAD_POINTER, NR_POSITIONS };

static bool choose_wait(struct order *o)
{
	static const uint64_t marks[] = { 0, 1, 100, 5000, 1 << 20, ~0ULL };

	o->value = one_in(2) ? AT_WRITER : below(NR_POSITIONS);
	o->off = marks[below(6)];
	o->at = prng() & 0xffff;
	return an_observer(o);
}

/* The start of the sub-buffer that is written, unless it says where. */
static int position_at_writer(struct trace_live_position *p, int fd)
{
	struct trace_live_index *index = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (index == MAP_FAILED)
		return -errno;
	p->generation = __atomic_load_n(&index->commit_generation, __ATOMIC_ACQUIRE);
	munmap(index, PAGE);
	return 0;
}

static void perform_wait(const struct order *o, struct answer *a)
{
	struct {
		struct trace_live_position	p;
		uint64_t			later;
	} arg = { .p = { .size = sizeof(arg.p), .bytes = o->off } };
	void *pointer = o->value == NO_POINTER ? NULL :
			o->value == BAD_POINTER ? (void *)16 : &arg;

	/* Another file has none, and says so below. */
	position_at_writer(&arg.p, fd_of(o));
	if (o->value == LONG_AGO)
		arg.p.generation = o->at & 1;
	if (o->value == ANYWHERE) {
		arg.p.generation += o->at & 3;
		arg.p.read = o->at >> 2;
	}
	if (o->value == SMALLER)
		arg.p.size -= 8;
	if (o->value == LARGER || o->value == LARGER_UNKNOWN)
		arg.p.size = sizeof(arg);
	arg.later = o->value == LARGER_UNKNOWN;
	note(a, ioctl(fd_of(o), TRACE_LIVE_IOCTL_SET_POSITION, pointer));
}

/* LIVE-3, WAKE-1, WAKE-2 */
static const char *judge_wait(const struct order *o, const struct answer *a)
{
	struct file *f = file_at(o);
	const char *bad;

	judge_begin();
	if (f->kind != LIVE) {
		why(YES, ENOTTY);
		return judged(a);
	}
	why(is(o->value == NO_POINTER || o->value == BAD_POINTER), EFAULT);
	why(is(o->value == SMALLER), EINVAL);
	why(is(o->value == LARGER_UNKNOWN), E2BIG);
	why(o->value == ANYWHERE ? MAYBE : NO, EINVAL);
	bad = judged(a);
	if (!bad && !a->err)
		f->watches = true;
	return bad;
}

/* ---- watch ---- */

static bool choose_watch(struct order *o)
{
	o->value = below(3);
	o->at = prng() & 0xffff;
	return an_observer(o) && file_at(o)->kind == LIVE;
}

/* Looks until there is nothing. */
static int follow(struct live_observer *ob)
{
	struct subbuf_record rec;
	struct subbuf_iter it;
	unsigned int nr;
	int looks, ret;

	for (looks = 0; looks < MAX_LOOKS; looks++) {
		ret = live_look(ob, &it);
		if (ret == LIVE_NOTHING || ret < 0)
			return ret;
		if (ret == LIVE_RESET)
			continue;
		for (nr = 0; subbuf_next(&it, &rec); nr++)
			;
		ret = live_accept(ob, &it, nr);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Every other page of what is mapped, from the one that the order says. */
static void take_apart(const struct live_mapping *map, long first)
{
	char *bytes = (char *)map->index;
	size_t at;

	for (at = first % 8 * PAGE; at + PAGE <= map->size; at += 2 * PAGE)
		munmap(bytes + at, PAGE);
}

static void perform_watch(const struct order *o, struct answer *a)
{
	long before = stat_sum(o->inst, o->cpu), after;
	struct live_observer ob;
	struct live_mapping map;
	int ret = live_map(&map, fd_of(o));

	if (ret) {
		note_result(a, ret);
		return;
	}
	ret = live_attach(&ob, &map, o->value ? LIVE_FROM_OLDEST : LIVE_FROM_NOW);
	if (!ret)
		ret = follow(&ob);
	after = stat_sum(o->inst, o->cpu);
	if (!ret && ob.before + ob.seen + ob.missed != ob.count)
		strcpy(a->complaint, "seen and missed are not all there was");
	if (!ret && !storm && before == after && ob.count != (uint64_t)after)
		snprintf(a->complaint, sizeof(a->complaint), "an observer counts %llu of %ld",
			 (unsigned long long)ob.count, after);
	if (o->at & 1)
		take_apart(&map, o->at >> 1);
	munmap((void *)map.index, map.size);
	note_result(a, ret);
}

/* LIVE-29 */
static const char *judge_watch(const struct order *o, const struct answer *a)
{
	(void)o;
	judge_begin();
	why(unless_storm(NO), EAGAIN);	/* the buffer is being emptied */
	why(unless_storm(NO), ENOMEM);
	return judged(a);
}

const struct operation live_operations[] = {
	{ "wait", 12, false, false, choose_wait, perform_wait, judge_wait },
	{ "watch", 12, false, false, choose_watch, perform_watch, judge_watch },
	{ NULL, 0, false, false, NULL, NULL, NULL },
};

/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Let an observer of live.h end where the writer is now, although the writer goes on.
 */
#ifndef _TRACEMAP_LIVE_UNTIL_H
#define _TRACEMAP_LIVE_UNTIL_H

#include "live.h"

enum {
	LIVE_END = LIVE__MOVED + 1,	/* all before the end was shown, or is gone */
};

/**
 * struct live_until - where an observer ends, although the writer goes on
 * @end: the end, which is where the writer was when live_until() was called
 * @missed: set with LIVE_END: how many events right before the end are missed
 * @reset: set with LIVE_END: the buffer was emptied before the observer reached the end
 */
struct live_until {
	struct live_figures end;
	uint64_t missed;
	bool reset;
};

/**
 * live_until - end where the writer is now
 * @o: the observer
 * @u: filled
 *
 * Return: 0, or -EAGAIN while the buffer is being emptied or the writer is too quick
 */
static inline int live_until(const struct live_observer *o, struct live_until *u)
{
	memset(u, 0, sizeof(*u));
	return live_figures(o, &u->end);
}

/* Has the observer shown all before the end, or is it past it? */
static inline bool live__is_past(const struct live_observer *o, const struct live_figures *end)
{
	if (o->first != end->first)
		return o->first > end->first;
	if (o->generation != end->generation)
		return o->generation > end->generation;
	return o->pos >= end->bytes;
}

/* The events since the end's first that the observer has seen or has reported as missed */
static inline uint64_t live__told(const struct live_observer *o, const struct live_figures *end)
{
	if (o->first != end->first)
		return o->first < end->first ? 0 : end->events;
	return o->before + o->seen + o->told;
}

/**
 * live_look_until - show the events beyond the position, up to an end
 * @o: the observer
 * @it: set if there are some
 * @u: the end
 *
 * Use it in place of live_look(). Events that the writer overwrites beyond the end do not
 * count as missed: from where the observer started, or the buffer was emptied since, the
 * events seen and missed add up to those that were committed before the end, whether the
 * observer reached the end or was overtaken. live_look() goes on after the end, and so does
 * another live_until().
 *
 * Return: LIVE_END if there is nothing more before the end, with the number of events
 * missed there in @u; otherwise what live_look() returns, where LIVE_NOTHING means to
 * look again
 */
static inline int live_look_until(struct live_observer *o, struct subbuf_iter *it,
				  struct live_until *u)
{
	const struct live_figures *end = &u->end;
	uint64_t told = live__told(o, end), first = o->first;
	int ret = LIVE_NOTHING;

	if (!live__is_past(o, end)) {
		ret = live_look(o, it);
		if (ret == LIVE_RESET && o->first <= end->first)
			return ret;
	}
	if (live__is_past(o, end)) {
		u->missed = told < end->events ? end->events - told : 0;
		u->reset = first <= end->first && o->first > end->first;
		if (o->first == end->first)
			o->told += u->missed;
		return LIVE_END;
	}
	if (ret == LIVE_EVENTS && o->generation == end->generation && o->end > end->bytes)
		return live__show(o, it, end->bytes);
	return ret;
}

#endif /* _TRACEMAP_LIVE_UNTIL_H */

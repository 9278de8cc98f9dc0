/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Make sub-buffers as a kernel writes them, for tests: with records of any size, with
 * times as deltas, extensions or absolute, with discarded records, and with losses.
 */
#ifndef _TRACEMAP_SUBBUF_MAKE_H
#define _TRACEMAP_SUBBUF_MAKE_H

#include <stdint.h>
#include <string.h>

#include "subbuf.h"

#ifndef MAKE_MAX
#define MAKE_MAX	8192	/* bytes of the largest sub-buffer */
#endif

struct subbuf_make {
	struct subbuf_format f;
	unsigned char bytes[MAKE_MAX] __attribute__((aligned(8)));
	uint32_t end;		/* where the records end */
	uint64_t ts;		/* of the last */
};

static inline void make_put(struct subbuf_make *m, size_t offset, uint64_t value, int size)
{
	for (int i = 0; i < size; i++)
		m->bytes[offset + i] = value >> 8 * (m->f.big_endian ? size - 1 - i : i);
}

static inline void make_begin(struct subbuf_make *m, const struct subbuf_format *f,
			      uint64_t ts)
{
	memset(m, 0, sizeof(*m));
	m->f = *f;
	m->ts = ts;
	make_put(m, 0, ts, 8);
}

static inline uint32_t make_room(const struct subbuf_make *m)
{
	return m->f.subbuf_size - m->f.data_offset - m->end;
}

static inline void make_word(struct subbuf_make *m, uint32_t word)
{
	make_put(m, m->f.data_offset + m->end, word, 4);
	m->end += 4;
}

static inline void make_head(struct subbuf_make *m, uint32_t type, uint32_t delta)
{
	make_word(m, m->f.big_endian ? type << SUBBUF_TIME_SHIFT | delta :
				       delta << 5 | type);
}

/* A time record: @time is a difference, or, for a stamp, absolute. */
static inline bool make_time(struct subbuf_make *m, uint32_t type, uint64_t time)
{
	if (make_room(m) < 8)
		return false;
	make_head(m, type, time & ((1U << SUBBUF_TIME_SHIFT) - 1));
	make_word(m, time >> SUBBUF_TIME_SHIFT);
	m->ts = type == SUBBUF_TYPE_TIME_STAMP ? time : m->ts + time;
	return true;
}

/* Add an event of @size bytes, a multiple of 4. Returns false if it does not fit. */
static inline bool make_event(struct subbuf_make *m, uint64_t ts, const void *data,
			      uint32_t size)
{
	uint64_t delta = ts - m->ts;
	bool far = delta >> SUBBUF_TIME_SHIFT;
	bool small = size && size <= 4 * SUBBUF_TYPE_DATA_MAX;

	if (make_room(m) < size + 8 + 8 * far)
		return false;
	if (far) {
		make_time(m, SUBBUF_TYPE_TIME_EXTEND, delta);
		delta = 0;
	}
	make_head(m, small ? size / 4 : 0, delta);
	if (!small)
		make_word(m, size + 4);
	memcpy(m->bytes + m->f.data_offset + m->end, data, size);
	m->end += size;
	m->ts = ts;
	return true;
}

/* Add an event that was discarded: its time counts, its @size bytes are passed over. */
static inline bool make_discarded(struct subbuf_make *m, uint32_t delta, uint32_t size)
{
	if (make_room(m) < size + 8)
		return false;
	make_head(m, SUBBUF_TYPE_PADDING, delta);
	make_word(m, size + 4);
	m->end += size;
	m->ts += delta;
	return true;
}

/* Mark a loss: SUBBUF_MISSED_UNKNOWN, or a number, which is stored if there is room. */
static inline void make_finish(struct subbuf_make *m, int64_t missed)
{
	uint64_t commit = m->end;

	if (missed)
		commit |= 1ULL << SUBBUF_MISSED_EVENTS;
	if (missed > 0 && make_room(m) >= m->f.commit_size) {
		commit |= 1ULL << SUBBUF_MISSED_STORED;
		make_put(m, m->f.data_offset + m->end, missed, m->f.commit_size);
	}
	make_put(m, m->f.commit_offset, commit, m->f.commit_size);
}

#endif /* _TRACEMAP_SUBBUF_MAKE_H */

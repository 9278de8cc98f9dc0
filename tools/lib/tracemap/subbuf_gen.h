/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * For tests: sub-buffers as the kernel would have written them, of any layout.
 *
 *	gen_start(&g, &format, ts);
 *	gen_event(&g, delta, data, size);
 *	gen_end(&g, missed);
 */
#ifndef _TRACEMAP_SUBBUF_GEN_H
#define _TRACEMAP_SUBBUF_GEN_H

#include <stdlib.h>

#include "subbuf.h"

#define GEN_FORMAT	((struct subbuf_format){ 4096, 8, 8, 16, subbuf__host_big })

struct gen {
	struct subbuf_format f;
	unsigned char *page;	/* on the heap, to the byte */
	uint32_t pos;		/* of the next record, from the first */
};

static inline void gen_word(const struct gen *g, uint32_t offset, uint32_t word)
{
	if (g->f.big_endian != subbuf__host_big)
		word = __builtin_bswap32(word);
	memcpy(g->page + offset, &word, 4);
}

static inline void gen_long(const struct gen *g, uint32_t offset, uint32_t size,
			    uint64_t value)
{
	bool high_first = g->f.big_endian && size == 8;

	gen_word(g, offset + (high_first ? 4 : 0), value);
	if (size == 8)
		gen_word(g, offset + (high_first ? 0 : 4), value >> 32);
}

static inline void gen_put(struct gen *g, uint32_t word)
{
	gen_word(g, g->f.data_offset + g->pos, word);
	g->pos += 4;
}

/* The first word of a record. */
static inline void gen_head(struct gen *g, uint32_t type, uint32_t delta)
{
	gen_put(g, g->f.big_endian ? type << SUBBUF_TIME_SHIFT | delta :
				     delta << 5 | type);
}

static inline void gen_start(struct gen *g, const struct subbuf_format *f, uint64_t ts)
{
	g->f = *f;
	g->page = calloc(1, f->subbuf_size);
	g->pos = 0;
	gen_long(g, 0, 8, ts);
}

/* One event of @words payload, each of them @value; 28 words or less. */
static inline void gen_event(struct gen *g, uint32_t delta, uint32_t value,
			     uint32_t words)
{
	uint32_t i;

	gen_head(g, words, delta);
	for (i = 0; i < words; i++)
		gen_put(g, value);
}

static inline void gen_time_stamp(struct gen *g, uint64_t ts)
{
	gen_head(g, SUBBUF_TYPE_TIME_STAMP, ts & ((1U << SUBBUF_TIME_SHIFT) - 1));
	gen_put(g, ts >> SUBBUF_TIME_SHIFT);
}

/* Set the commit word; @missed: -1 if events were, nobody knows how many. */
static inline void gen_end(struct gen *g, int64_t missed)
{
	uint32_t commit = g->pos;

	if (missed)
		commit |= 1U << SUBBUF_MISSED_EVENTS;
	if (missed > 0) {
		commit |= 1U << SUBBUF_MISSED_STORED;
		gen_long(g, g->f.data_offset + g->pos, g->f.commit_size, missed);
	}
	gen_long(g, g->f.commit_offset, g->f.commit_size, commit);
}

#endif /* _TRACEMAP_SUBBUF_GEN_H */

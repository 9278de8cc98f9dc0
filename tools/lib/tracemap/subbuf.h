/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Records of one tracefs ring-buffer sub-buffer, in place.
 *
 * Where the bytes come from does not matter: a mapping of trace_pipe_raw,
 * read(2) or splice(2) of it, a file. The one demand is that the sub-buffer
 * starts at a multiple of 4.
 *
 *	struct subbuf_iter it = subbuf_begin(&format, page);
 *	struct subbuf_record rec;
 *
 *	while (subbuf_next(&it, &rec))
 *		use(rec.ts, rec.data, rec.size);
 *
 * Of a sub-buffer that is still written, a mapping may be read up to
 * meta->reader.read; subbuf_extend() tells the iterator how far that is by
 * now, and it goes on where it stopped, its clock included:
 *
 *	it = subbuf_resume(&format, page, 0, subbuf_time_stamp(&format, page));
 *	subbuf_extend(&it, meta->reader.read);
 *	while (subbuf_next(&it, &rec)) ...
 *	(GET_READER: the same reader.id)
 *	subbuf_extend(&it, meta->reader.read);
 *	while (subbuf_next(&it, &rec)) ...
 *
 * Trust: no byte of the sub-buffer is believed. A record that would reach
 * past the end ends the iteration and sets it.corrupt. Each word is loaded
 * once, so this holds while somebody else writes to the sub-buffer, too.
 */
#ifndef _TRACEMAP_SUBBUF_H
#define _TRACEMAP_SUBBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The C library has it, or the compiler decides. */
#ifndef __always_inline
#define __always_inline		inline
#endif

#define SUBBUF_MISSED_UNKNOWN	(-1)

#define subbuf__likely(x)	__builtin_expect(!!(x), 1)
#define subbuf__host_big	(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

enum {
	/* In the commit word. A 64-bit kernel may have sign-extended them. */
	SUBBUF_MISSED_EVENTS	= 31,	/* events were lost before this sub-buffer */
	SUBBUF_MISSED_STORED	= 30,	/* their number follows the last record */
	SUBBUF_COMMIT_MASK	= (1 << 30) - 1,

	/* The type_len of a record's first word; 1 to 28 is a size in words. */
	SUBBUF_TYPE_DATA_MAX	= 28,
	SUBBUF_TYPE_PADDING	= 29,
	SUBBUF_TYPE_TIME_EXTEND	= 30,
	SUBBUF_TYPE_TIME_STAMP	= 31,

	SUBBUF_TIME_SHIFT	= 27,	/* bits of time in the first word */
	SUBBUF_STAMP_BITS	= 59,	/* in an absolute time stamp */

	/* A small record is one whose first word tells its size. */
	SUBBUF_SMALL_TYPES	= 0x1ffffffe,	/* one bit each */
	SUBBUF_SMALL_MAX	= 4 + 4 * SUBBUF_TYPE_DATA_MAX,
};

/**
 * struct subbuf_format - layout of the sub-buffers of one kernel
 * @subbuf_size: bytes of a sub-buffer, header included
 * @commit_offset: where the commit word is
 * @commit_size: bytes of the commit word, 4 or 8: the kernel's long
 * @data_offset: where the first record is
 * @big_endian: byte order of the kernel that wrote the sub-buffers
 */
struct subbuf_format {
	uint32_t subbuf_size;
	uint32_t commit_offset;
	uint32_t commit_size;
	uint32_t data_offset;
	bool big_endian;
};

/**
 * struct subbuf_record - one event
 * @ts: time stamp, in units of the trace clock
 * @data: payload, in the sub-buffer
 * @size: bytes of payload, rounded up to 4 by the kernel
 */
struct subbuf_record {
	uint64_t ts;
	const void *data;
	uint32_t size;
};

/**
 * struct subbuf_iter - a place in a sub-buffer
 * @data: first record of the sub-buffer
 * @next: the next record, see subbuf_pos()
 * @fast_end: any small record in host byte order that begins before this
 *	ends before @end
 * @end: nothing at or past this is read
 * @capacity: bytes from @data to the largest @end there can be
 * @ts: time stamp of the last record passed
 * @big_endian: byte order of the sub-buffer
 * @corrupt: the iteration ended on a record that cannot be
 *
 * Read @ts and @corrupt; the rest is the iterator's own.
 */
struct subbuf_iter {
	const unsigned char *data;
	const unsigned char *next;
	const unsigned char *fast_end;
	const unsigned char *end;
	size_t capacity;
	uint64_t ts;
	bool big_endian;
	bool corrupt;
};

/* Once and only once: the value is checked, then used. */
static __always_inline uint32_t subbuf__load_host(const unsigned char *p)
{
	return __atomic_load_n((const uint32_t __attribute__((may_alias)) *)p,
			       __ATOMIC_RELAXED);
}

static __always_inline uint32_t subbuf__load(const unsigned char *p, bool big_endian)
{
	uint32_t word = subbuf__load_host(p);

	return big_endian == subbuf__host_big ? word : __builtin_bswap32(word);
}

static inline uint64_t subbuf__load64(const unsigned char *p, bool big_endian)
{
	uint64_t low = subbuf__load(p + (big_endian ? 4 : 0), big_endian);
	uint64_t high = subbuf__load(p + (big_endian ? 0 : 4), big_endian);

	return high << 32 | low;
}

/* A long of the kernel's. */
static inline uint64_t subbuf__load_long(const struct subbuf_format *f,
					 const unsigned char *p)
{
	if (f->commit_size == 8)
		return subbuf__load64(p, f->big_endian);
	return subbuf__load(p, f->big_endian);
}

/* The compiler of the kernel puts the first bit field at the end it likes. */
static __always_inline uint32_t subbuf__type(uint32_t word, bool big_endian)
{
	return big_endian ? word >> SUBBUF_TIME_SHIFT : word & 31;
}

static __always_inline uint32_t subbuf__delta(uint32_t word, bool big_endian)
{
	return big_endian ? word & ((1U << SUBBUF_TIME_SHIFT) - 1) : word >> 5;
}

static inline bool subbuf__field(const char *text, const char *name,
				 uint32_t *offset, uint32_t *size)
{
	const char *p = strstr(text, name);

	return p && sscanf(p + strlen(name), " offset:%u; size:%u;",
			   offset, size) == 2;
}

/**
 * subbuf_format_parse - layout of the sub-buffers from events/header_page
 * @f: to fill; @f->big_endian becomes the host's, change it for a foreign page
 * @text: contents of events/header_page, ended by a 0 byte
 *
 * Return: whether @text makes sense.
 */
static inline bool subbuf_format_parse(struct subbuf_format *f, const char *text)
{
	uint32_t data_size;

	if (!subbuf__field(text, " commit;", &f->commit_offset, &f->commit_size) ||
	    !subbuf__field(text, " data;", &f->data_offset, &data_size))
		return false;

	f->big_endian = subbuf__host_big;
	f->subbuf_size = f->data_offset + data_size;
	return (f->commit_size == 4 || f->commit_size == 8) &&
		f->commit_offset >= 8 && f->commit_offset % 4 == 0 &&
		f->data_offset >= 12 && f->data_offset % 4 == 0 &&
		f->data_offset <= SUBBUF_COMMIT_MASK &&
		f->commit_offset <= f->data_offset - f->commit_size &&
		data_size <= SUBBUF_COMMIT_MASK;
}

/* Time stamp the deltas of the sub-buffer start from. */
static inline uint64_t subbuf_time_stamp(const struct subbuf_format *f,
					 const void *subbuf)
{
	return subbuf__load64((const unsigned char *)subbuf, f->big_endian);
}

/* Low half of the commit word: there the size and the marks are. */
static inline uint32_t subbuf__commit(const struct subbuf_format *f,
				      const void *subbuf)
{
	uint32_t low = f->big_endian ? f->commit_size - 4 : 0;
	uint32_t word = subbuf__load((const unsigned char *)subbuf +
				     f->commit_offset + low, f->big_endian);

	/* Who sees the size sees the records. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return word;
}

/* Bytes of records in the sub-buffer, as it says. */
static inline uint32_t subbuf_committed(const struct subbuf_format *f,
					const void *subbuf)
{
	return subbuf__commit(f, subbuf) & SUBBUF_COMMIT_MASK;
}

/**
 * subbuf_missed - events lost between the previous sub-buffer and this one
 * @f: layout
 * @subbuf: a sub-buffer the writer has left
 *
 * Return: their number, SUBBUF_MISSED_UNKNOWN if it is not told, 0 for none.
 */
static inline int64_t subbuf_missed(const struct subbuf_format *f,
				    const void *subbuf)
{
	uint32_t commit = subbuf__commit(f, subbuf);
	uint32_t capacity = f->subbuf_size - f->data_offset;
	uint32_t end = commit & SUBBUF_COMMIT_MASK;
	int64_t missed;

	if (!(commit >> SUBBUF_MISSED_EVENTS))
		return 0;
	if (!(commit >> SUBBUF_MISSED_STORED & 1) || end % 4 ||
	    end > capacity || capacity - end < f->commit_size)
		return SUBBUF_MISSED_UNKNOWN;

	missed = subbuf__load_long(f, (const unsigned char *)subbuf +
				   f->data_offset + end);
	return missed > 0 ? missed : SUBBUF_MISSED_UNKNOWN;
}

/* Offset of the next record from the first. */
static inline size_t subbuf_pos(const struct subbuf_iter *it)
{
	return it->next - it->data;
}

static __always_inline void subbuf__set_end(struct subbuf_iter *it, size_t end)
{
	it->end = it->data + end;
	it->fast_end = it->data;
	if (it->big_endian == subbuf__host_big && end >= SUBBUF_SMALL_MAX)
		it->fast_end = it->end - SUBBUF_SMALL_MAX + 1;
}

/**
 * subbuf_extend - let the iterator go on up to @end
 * @it: the iterator
 * @end: bytes of records that may be read, counted from the first
 */
static inline void subbuf_extend(struct subbuf_iter *it, size_t end)
{
	if (it->corrupt)
		return;
	if (end > it->capacity)
		end = it->capacity;
	if (end < subbuf_pos(it))
		end = subbuf_pos(it);

	/* Records are words; the next one is at a multiple of 4 as well. */
	subbuf__set_end(it, end & ~(size_t)3);
}

/**
 * subbuf_resume - an iterator at a known place, with nothing to read yet
 * @f: layout
 * @subbuf: the sub-buffer
 * @pos: offset of a record from the first; 0 is the first
 * @ts: time stamp of the record before it, or of the sub-buffer
 */
static inline struct subbuf_iter subbuf_resume(const struct subbuf_format *f,
					       const void *subbuf, size_t pos,
					       uint64_t ts)
{
	struct subbuf_iter it;

	it.data = (const unsigned char *)subbuf + f->data_offset;
	it.capacity = f->subbuf_size - f->data_offset;
	pos = (pos < it.capacity ? pos : it.capacity) & ~(size_t)3;
	it.next = it.data + pos;
	it.ts = ts;
	it.big_endian = f->big_endian;
	it.corrupt = false;
	subbuf_extend(&it, pos);
	return it;
}

/*
 * The same with something to read: up to @end, which is not before @pos. Both
 * are known to be places of records in the sub-buffer.
 */
static __always_inline struct subbuf_iter
subbuf__between(const struct subbuf_format *f, const void *subbuf, size_t pos,
		size_t end, uint64_t ts)
{
	struct subbuf_iter it;

	it.data = (const unsigned char *)subbuf + f->data_offset;
	it.capacity = f->subbuf_size - f->data_offset;
	it.next = it.data + pos;
	it.ts = ts;
	it.big_endian = f->big_endian;
	it.corrupt = false;
	subbuf__set_end(&it, end);
	return it;
}

/* An iterator over all that the sub-buffer's commit word says is there. */
static inline struct subbuf_iter subbuf_begin(const struct subbuf_format *f,
					      const void *subbuf)
{
	struct subbuf_iter it = subbuf_resume(f, subbuf, 0,
					      subbuf_time_stamp(f, subbuf));

	subbuf_extend(&it, subbuf_committed(f, subbuf));
	return it;
}

/* 59 bits are stored: the rest is that of the time stamp before. */
static inline uint64_t subbuf__absolute(uint64_t stamp, uint64_t before)
{
	uint64_t above = before >> SUBBUF_STAMP_BITS << SUBBUF_STAMP_BITS;

	if (!above)
		return stamp;
	stamp |= above;
	if (stamp < before)	/* they have overflowed since */
		stamp += 1ULL << SUBBUF_STAMP_BITS;
	return stamp;
}

static inline uint64_t subbuf__advance_time(uint64_t ts, uint32_t type,
					    uint32_t delta, uint32_t high)
{
	uint64_t wide = (uint64_t)high << SUBBUF_TIME_SHIFT | delta;

	switch (type) {
	case SUBBUF_TYPE_TIME_EXTEND:
		return ts + wide;
	case SUBBUF_TYPE_TIME_STAMP:
		return subbuf__absolute(wide, ts);
	default:
		/*
		 * A discarded event was a record when its successor took the
		 * time since it. If that was 0 it says 1 now, not to look
		 * like the empty rest of a sub-buffer.
		 */
		return ts + delta;
	}
}

static __always_inline bool subbuf__stop(struct subbuf_iter *it, bool corrupt)
{
	it->corrupt = corrupt;
	it->fast_end = it->data;
	if (corrupt)
		it->end = it->next;
	else
		it->next = it->end;
	return false;
}

/*
 * Bytes of a record behind its first word, 0 if there is no such record.
 * @second is its second word, 0 where the sub-buffer ends before.
 */
static __always_inline uint32_t subbuf__length(uint32_t type, uint32_t second)
{
	if (type >= SUBBUF_TYPE_TIME_EXTEND)
		return 4;
	return second < 4 ? 0 : second;	/* it counts itself */
}

/* Pass a record of which the first word does not tell all. */
static __always_inline bool subbuf__next_long(struct subbuf_iter *it,
					      struct subbuf_record *rec,
					      uint32_t type, uint32_t delta)
{
	const unsigned char *p = it->next + 4;
	size_t room = it->end - p;
	uint32_t second = room ? subbuf__load(p, it->big_endian) : 0;
	uint32_t length = subbuf__length(type, second);

	if (!length || length > room)
		return subbuf__stop(it, true);

	it->next = p + (((size_t)length + 3) & ~(size_t)3);
	it->ts = subbuf__advance_time(it->ts, type, delta, second);
	rec->ts = it->ts;
	rec->data = p + 4;
	rec->size = length - 4;
	return !type;
}

/* Any record there is, in either byte order, every length checked. */
static __always_inline bool subbuf__next_any(struct subbuf_iter *it,
					     struct subbuf_record *rec)
{
	while (it->next < it->end) {
		const unsigned char *p = it->next;
		uint32_t word = subbuf__load(p, it->big_endian);
		uint32_t type = subbuf__type(word, it->big_endian);
		uint32_t delta = subbuf__delta(word, it->big_endian);
		uint32_t size = 4 * type;

		if (SUBBUF_SMALL_TYPES >> type & 1) {
			if (size + 4 > (size_t)(it->end - p))
				return subbuf__stop(it, true);
			it->next += size + 4;
			it->ts += delta;
			rec->ts = it->ts;
			rec->data = p + 4;
			rec->size = size;
			return true;
		}
		if (type == SUBBUF_TYPE_PADDING && !delta)
			return subbuf__stop(it, false);
		if (subbuf__next_long(it, rec, type, delta))
			return true;
	}
	return false;
}

static __always_inline void subbuf__take(struct subbuf_iter *it,
					 struct subbuf_record *rec, uint32_t word,
					 const unsigned char *data, size_t size)
{
	it->next = data + size;
	it->ts += subbuf__delta(word, subbuf__host_big);
	rec->ts = it->ts;
	rec->data = data;
	rec->size = size;
}

/*
 * The two common kinds of records, in host byte order. What begins before
 * fast_end has its first two words, and a small one all of it, before the end.
 */
static __always_inline bool subbuf__next_fast(struct subbuf_iter *it,
					      struct subbuf_record *rec)
{
	const unsigned char *p = it->next;
	uint32_t word = subbuf__load_host(p);
	uint32_t type = subbuf__type(word, subbuf__host_big);
	uint32_t second;
	uint64_t size;

	if (type) {
		if (!subbuf__likely(type <= SUBBUF_TYPE_DATA_MAX))
			return false;
		subbuf__take(it, rec, word, p + 4, 4 * type);
		return true;
	}

	/*
	 * The second word counts itself, and the kernel has rounded it up to
	 * words. Less than 4, or no whole words, is huge when it is rotated.
	 */
	second = subbuf__load_host(p + 4) - 4;
	size = 4 * (uint64_t)(second >> 2 | second << 30);
	if (!subbuf__likely((uintptr_t)p + 8 + size < (uintptr_t)it->fast_end))
		return false;
	subbuf__take(it, rec, word, p + 8, size);
	return true;
}

/**
 * subbuf_next - the next event
 * @it: the iterator
 * @rec: the event, if there is one
 *
 * The common records are decoded with as few checks as they need, all else in
 * subbuf__next_any().
 *
 * Return: whether there is one. If not, @it->corrupt says whether what
 * stopped it is damage; subbuf_extend() may bring more.
 */
static __always_inline bool subbuf_next(struct subbuf_iter *it,
					struct subbuf_record *rec)
{
	if (subbuf__likely(it->next < it->fast_end) && subbuf__next_fast(it, rec))
		return true;
	return subbuf__next_any(it, rec);
}

/**
 * subbuf_skip - pass records that somebody else has consumed
 * @it: the iterator
 * @pos: where to stop; subbuf_extend() must have allowed as much
 *
 * Their deltas are what the time stamps behind them build on.
 */
static inline void subbuf_skip(struct subbuf_iter *it, size_t pos)
{
	struct subbuf_record rec;
	size_t end = it->end - it->data;

	subbuf_extend(it, pos);
	while (subbuf_next(it, &rec))
		;
	subbuf_extend(it, end);
}

/**
 * subbuf_for_each - call back for every event of a sub-buffer
 * @f: layout
 * @subbuf: the sub-buffer
 * @fn: called with each event; anything but 0 ends the walk
 * @arg: passed on
 *
 * Return: what @fn returned last, -1 if the sub-buffer is corrupt, else 0.
 */
static inline int subbuf_for_each(const struct subbuf_format *f,
				  const void *subbuf,
				  int (*fn)(const struct subbuf_record *rec, void *arg),
				  void *arg)
{
	struct subbuf_iter it = subbuf_begin(f, subbuf);
	struct subbuf_record rec;

	while (subbuf_next(&it, &rec)) {
		int ret = fn(&rec, arg);

		if (ret)
			return ret;
	}
	return it.corrupt ? -1 : 0;
}

#endif /* _TRACEMAP_SUBBUF_H */

/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Parse the records of a sub-buffer of a tracefs ring buffer in place.
 *
 * The bytes may come from a mapping of trace_pipe_raw, from read(2) or splice(2) of it,
 * or from a file. The sub-buffer has to begin at a multiple of 4.
 *
 *	struct subbuf_iter it = subbuf_begin(&format, page);
 *	struct subbuf_record rec;
 *
 *	while (subbuf_next(&it, &rec))
 *		use(rec.ts, rec.data, rec.size);
 *
 * While the writer is still in a sub-buffer, its mapping may be read up to
 * meta->reader.read. subbuf_extend() tells the iterator how far that is by now. The
 * iterator goes on from where it stopped, with the time stamp it had:
 *
 *	it = subbuf_resume(&format, page, 0, subbuf_time_stamp(&format, page));
 *	subbuf_extend(&it, meta->reader.read);
 *	while (subbuf_next(&it, &rec)) ...
 *	(GET_READER: the same reader.id)
 *	subbuf_extend(&it, meta->reader.read);
 *	while (subbuf_next(&it, &rec)) ...
 *
 * The parser trusts no byte of the sub-buffer. A record that would reach past the end
 * ends the iteration and sets it.corrupt. Each word is loaded once, so that this also
 * holds while another program writes to the sub-buffer.
 */
#ifndef _TRACEMAP_SUBBUF_H
#define _TRACEMAP_SUBBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Where the C library does not define it, the compiler decides what to inline. */
#ifndef __always_inline
#define __always_inline		inline
#endif

#define SUBBUF_MISSED_UNKNOWN	(-1)

#define subbuf__likely(x)	__builtin_expect(!!(x), 1)
#define subbuf__host_big	(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

enum {
	/* Bits of the commit word. A 64-bit kernel may have sign-extended them. */
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

	/* A record is small if its first word holds its size. */
	SUBBUF_SMALL_TYPES	= 0x1ffffffe,	/* a bit for each type_len */
	SUBBUF_SMALL_MAX	= 4 + 4 * SUBBUF_TYPE_DATA_MAX,
};

/**
 * struct subbuf_format - the layout of the sub-buffers of a kernel
 * @subbuf_size: bytes of a sub-buffer, with its header
 * @commit_offset: where the commit word is
 * @commit_size: bytes of the commit word, 4 or 8, which is a long of the kernel
 * @data_offset: where the first record is
 * @big_endian: whether the kernel that wrote the sub-buffers is big-endian
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
 * @data: the event, in place in the sub-buffer
 * @size: bytes of @data, rounded up to 4 by the kernel
 */
struct subbuf_record {
	uint64_t ts;
	const void *data;
	uint32_t size;
};

/**
 * struct subbuf_iter - a place in a sub-buffer
 * @data: the first record of the sub-buffer
 * @next: the next record, see subbuf_pos()
 * @fast_end: a small record in host byte order that begins before this ends before @end
 * @end: the end of the bytes that may be read
 * @capacity: bytes from @data to the largest @end that there can be
 * @ts: time stamp of the last record that was passed
 * @big_endian: the byte order of the sub-buffer
 * @corrupt: whether the iteration ended at bytes that cannot be a record
 *
 * Programs may read @ts and @corrupt. The other members belong to the iterator.
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

/* Load a word exactly once, so that the value that was checked is the one that is used. */
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

/* Load a long of the kernel that wrote the sub-buffer. */
static inline uint64_t subbuf__load_long(const struct subbuf_format *f,
					 const unsigned char *p)
{
	if (f->commit_size == 8)
		return subbuf__load64(p, f->big_endian);
	return subbuf__load(p, f->big_endian);
}

/* The first bit field is in the low bits on a little-endian kernel, else in the high ones. */
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
 * subbuf_format_parse - learn the layout of sub-buffers from events/header_page
 * @f: filled; for sub-buffers of a machine with the other byte order, set @big_endian
 *	afterwards
 * @text: the content of events/header_page, ended by a 0 byte
 *
 * Return: whether the text makes sense
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

/**
 * subbuf_time_stamp - the time stamp in the header of a sub-buffer
 * @f: the layout
 * @subbuf: the sub-buffer
 *
 * Return: the time to which the first record's delta is added
 */
static inline uint64_t subbuf_time_stamp(const struct subbuf_format *f,
					 const void *subbuf)
{
	return subbuf__load64((const unsigned char *)subbuf, f->big_endian);
}

/* The low half of the commit word, where the size and the marks of lost events are. */
static inline uint32_t subbuf__commit(const struct subbuf_format *f,
				      const void *subbuf)
{
	uint32_t low = f->big_endian ? f->commit_size - 4 : 0;
	uint32_t word = subbuf__load((const unsigned char *)subbuf +
				     f->commit_offset + low, f->big_endian);

	/* Pairs with [COMMIT]: a reader that has seen the size also sees the records. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return word;
}

/**
 * subbuf_committed - how many bytes of records there are, as the sub-buffer says
 * @f: the layout
 * @subbuf: the sub-buffer
 *
 * Return: the number of bytes, which was not checked
 */
static inline uint32_t subbuf_committed(const struct subbuf_format *f,
					const void *subbuf)
{
	return subbuf__commit(f, subbuf) & SUBBUF_COMMIT_MASK;
}

/**
 * subbuf_missed - how many events were lost right before a sub-buffer
 * @f: the layout
 * @subbuf: a sub-buffer that the writer has left: before that, it does not report a
 *	loss
 *
 * Return: the number of events, 0 for none, SUBBUF_MISSED_UNKNOWN if the number is not
 * stored
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

/**
 * subbuf_pos - where the iterator is
 * @it: the iterator
 *
 * Return: the bytes from the first record to the next one
 */
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
 * subbuf_extend - let an iterator go on to a later end
 * @it: the iterator
 * @end: how many bytes of records may be read, counted from the first record
 *
 * While the writer is in a sub-buffer, call it as often as there is more.
 */
static inline void subbuf_extend(struct subbuf_iter *it, size_t end)
{
	if (it->corrupt)
		return;
	if (end > it->capacity)
		end = it->capacity;
	if (end < subbuf_pos(it))
		end = subbuf_pos(it);

	/* Records are made of words: each begins at a multiple of 4. */
	subbuf__set_end(it, end & ~(size_t)3);
}

/**
 * subbuf_resume - begin at a record in the middle of a sub-buffer
 * @f: the layout
 * @subbuf: the sub-buffer
 * @pos: the bytes from the first record to this one
 * @ts: the time stamp of the record before; if @pos is 0, what subbuf_time_stamp()
 *	returns
 *
 * Return: an iterator that has nothing to read until subbuf_extend() is called
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
 * Like subbuf_resume() followed by subbuf_extend() to @end. The caller knows that
 * records begin at @pos and at @end, and that @end is not before @pos.
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

/**
 * subbuf_begin - begin at the first record of a sub-buffer
 * @f: the layout
 * @subbuf: the sub-buffer
 *
 * Return: an iterator over all records that the sub-buffer says it has
 */
static inline struct subbuf_iter subbuf_begin(const struct subbuf_format *f,
					      const void *subbuf)
{
	struct subbuf_iter it = subbuf_resume(f, subbuf, 0,
					      subbuf_time_stamp(f, subbuf));

	subbuf_extend(&it, subbuf_committed(f, subbuf));
	return it;
}

/* The kernel stores 59 bits. The upper bits are those of the time stamp before. */
static inline uint64_t subbuf__absolute(uint64_t stamp, uint64_t before)
{
	uint64_t above = before >> SUBBUF_STAMP_BITS << SUBBUF_STAMP_BITS;

	if (!above)
		return stamp;
	stamp |= above;
	if (stamp < before)	/* the 59 bits have overflowed since */
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
		 * A discarded event. Its delta counts, because the time of the next
		 * record is counted from here. The kernel stores a delta of 0 as 1,
		 * since 0 would look like the empty rest of a sub-buffer.
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
 * Bytes of a record behind its first word, 0 if there can be no such record. @second is
 * the second word of the record, or 0 if the sub-buffer ends before it.
 */
static __always_inline uint32_t subbuf__length(uint32_t type, uint32_t second)
{
	if (type >= SUBBUF_TYPE_TIME_EXTEND)
		return 4;
	return second < 4 ? 0 : second;	/* the second word is counted, too */
}

/* Pass a record that needs its second word to be understood; false if it is no event. */
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

/* The next event of any kind, in either byte order, with every length checked. */
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
 * The next event if it is of one of the two common kinds, in host byte order. A record
 * that begins before fast_end has its first two words before the end, and all of it if
 * it is small.
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
	 * The second word is the size, itself included, and the kernel has rounded it up
	 * to words. A value below 4, or of no whole words, becomes huge when it is
	 * rotated, and fails the check below.
	 */
	second = subbuf__load_host(p + 4) - 4;
	size = 4 * (uint64_t)(second >> 2 | second << 30);
	if (!subbuf__likely((uintptr_t)p + 8 + size < (uintptr_t)it->fast_end))
		return false;
	subbuf__take(it, rec, word, p + 8, size);
	return true;
}

/**
 * subbuf_next - take the next event
 * @it: the iterator
 * @rec: filled, if there is an event
 *
 * Return: whether there is an event; if there is none, @it->corrupt says whether the
 * sub-buffer is damaged there
 */
static __always_inline bool subbuf_next(struct subbuf_iter *it,
					struct subbuf_record *rec)
{
	if (subbuf__likely(it->next < it->fast_end) && subbuf__next_fast(it, rec))
		return true;
	return subbuf__next_any(it, rec);
}

/**
 * subbuf_skip - pass over records that another reader has consumed
 * @it: the iterator
 * @pos: where to stop, in bytes from the first record; subbuf_extend() must have allowed
 *	that much
 *
 * The iterator has to go through these records one by one, because the times of later
 * records count from them.
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

#endif /* _TRACEMAP_SUBBUF_H */

// SPDX-License-Identifier: LGPL-2.1
/*
 * Make the pages of a file from sub-buffers or parts of them.
 */
#include <string.h>

#include "dat_page.h"

/* A place between two records. */
struct place {
	uint32_t pos;
	uint64_t ts;
};

/* Where the events of a piece are. */
struct survey {
	struct place first;	/* right before the first event */
	struct place last;	/* behind the event before the last one */
	uint32_t end;		/* behind the last event */
	unsigned int events;
};

static const unsigned char *at(const struct dat_piece *piece, uint32_t pos)
{
	return (const unsigned char *)piece->subbuf + piece->format->data_offset + pos;
}

/* Pass one record. Returns 1 for an event, 0 for another record, -1 at the end. */
static int pass(const struct dat_piece *piece, struct place *place)
{
	bool big = piece->format->big_endian;
	uint32_t room = piece->end - place->pos, word, type, delta, second, size;

	if (room < 4)
		return -1;
	word = subbuf__load(at(piece, place->pos), big);
	type = subbuf__type(word, big);
	delta = subbuf__delta(word, big);
	if (SUBBUF_SMALL_TYPES >> type & 1) {
		size = 4 + 4 * type;
		if (size > room)
			return -1;
		place->pos += size;
		place->ts += delta;
		return 1;
	}
	second = room < 8 ? 0 : subbuf__load(at(piece, place->pos + 4), big);
	size = subbuf__length(type, second);
	if ((type == SUBBUF_TYPE_PADDING && !delta) || !size || size > room - 4)
		return -1;
	place->pos += 4 + ((size + 3) & ~3U);
	place->ts = subbuf__advance_time(place->ts, type, delta, second);
	return !type;
}

static struct survey survey(const struct dat_piece *piece)
{
	struct place place = { piece->start, piece->ts }, before = place, behind = place;
	struct survey s = { .events = 0 };
	int what;

	while ((what = pass(piece, &place)) >= 0) {
		if (what) {
			if (!s.events++)
				s.first = before;
			s.last = behind;
			behind = place;
		}
		before = place;
	}
	s.end = behind.pos;
	return s;
}

unsigned int dat_piece_last(struct dat_piece *piece)
{
	struct place place = { piece->start, piece->ts }, before = place, last = place;
	unsigned int events = 0;
	uint32_t end = piece->end;
	int what;

	for (; (what = pass(piece, &place)) >= 0; before = place) {
		if (!what)
			continue;
		events++;
		last = before;
		end = place.pos;
	}
	piece->start = last.pos;
	piece->ts = last.ts;
	piece->end = end;
	return events;
}

static void add(struct dat_page *page, const void *data, size_t size)
{
	if (size)
		page->part[page->nr_parts++] = (struct iovec){ (void *)data, size };
}

/* A long of the kernel, in the byte order of this machine */
static void store_long(const struct subbuf_format *f, void *to, uint64_t value)
{
	uint32_t narrow = value;

	if (f->commit_size == 8)
		memcpy(to, &value, 8);
	else
		memcpy(to, &narrow, 4);
}

static bool tellable(const struct dat_piece *piece)
{
	uint64_t max = piece->format->commit_size == 8 ? INT64_MAX : INT32_MAX;

	return piece->missed && piece->missed <= max;
}

static uint32_t capacity(const struct dat_piece *piece)
{
	return piece->format->subbuf_size - piece->format->data_offset;
}

static void make(const struct dat_piece *piece, const void *zeros, struct dat_page *page)
{
	const struct subbuf_format *f = piece->format;
	uint32_t size = piece->end - piece->start, left = capacity(piece) - size;
	uint64_t commit = size;

	page->nr_parts = 0;
	memset(page->header, 0, f->data_offset);
	memcpy(page->header, &piece->ts, sizeof(piece->ts));
	add(page, page->header, f->data_offset);
	add(page, at(piece, piece->start), size);
	if (piece->missed)
		commit |= 1UL << SUBBUF_MISSED_EVENTS;
	if (tellable(piece) && left >= f->commit_size) {
		commit |= 1UL << SUBBUF_MISSED_STORED;
		store_long(f, page->number, piece->missed);
		add(page, page->number, f->commit_size);
		left -= f->commit_size;
	}
	store_long(f, page->header + f->commit_offset, commit);
	page->padded = left > 0;
	add(page, zeros, left);
}

int dat_pages(const struct dat_piece *piece, const void *zeros, struct dat_page *pages)
{
	struct dat_piece one = *piece, two;
	struct survey s;

	if (!piece->missed) {
		make(piece, zeros, pages);
		return 1;
	}

	s = survey(piece);
	if (!s.events)
		return 0;
	one.start = s.first.pos;
	one.ts = s.first.ts;
	if (capacity(piece) - (one.end - one.start) >= piece->format->commit_size) {
		make(&one, zeros, pages);
		return 1;
	}

	/* What is behind the last event need not be kept. */
	one.end = s.end;
	if (s.events == 1 ||
	    capacity(piece) - (one.end - one.start) >= piece->format->commit_size) {
		make(&one, zeros, pages);
		return 1;
	}
	two = one;
	one.end = s.last.pos;
	two.start = s.last.pos;
	two.ts = s.last.ts;
	two.missed = 0;
	make(&one, zeros, pages);
	make(&two, zeros, pages + 1);
	return 2;
}

bool dat_page_put_missed(const struct subbuf_format *f, void *page, uint64_t missed)
{
	uint32_t size = subbuf_committed(f, page);
	struct dat_piece piece = { .format = f, .missed = missed };

	if (subbuf_missed(f, page) != SUBBUF_MISSED_UNKNOWN || !tellable(&piece) ||
	    size > capacity(&piece) || capacity(&piece) - size < f->commit_size)
		return false;
	store_long(f, (char *)page + f->data_offset + size, missed);
	store_long(f, (char *)page + f->commit_offset, size | 1UL << SUBBUF_MISSED_EVENTS |
		   1UL << SUBBUF_MISSED_STORED);
	return true;
}

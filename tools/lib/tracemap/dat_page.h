/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Make pages of a trace.dat file from sub-buffers, or from parts of them.
 *
 * The records stay where they are: a page is a list for writev(), with a header of its own
 * in front. The header of the sub-buffer cannot be used: the writer may still be in the
 * sub-buffer, another consumer may have consumed the first events, and there are losses.
 * Readers of trace.dat, trace-cmd among them,
 *
 *	- forget a loss before a page that begins not with an event, but with a time stamp
 *	  or a discarded event. Therefore each page begins with its first event, and its
 *	  header has the time stamp up to there.
 *	- need room behind the records for the number of lost events. Where there is no
 *	  room, the last event goes into a page of its own, even if the number is not known yet.
 */
#ifndef _TRACEMAP_DAT_PAGE_H
#define _TRACEMAP_DAT_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "tracemap.h"

#define DAT_PAGE_HEADER_MAX	64
#define DAT_PAGE_PARTS		4
#define DAT_PAGES_MAX		2	/* of one piece */

/**
 * struct dat_piece - a part of a sub-buffer
 * @format: the layout of sub-buffers; data_offset is at most DAT_PAGE_HEADER_MAX
 * @subbuf: the sub-buffer, in place
 * @start: where the first record begins, in bytes from the first of the sub-buffer
 * @end: where the last record ends
 * @ts: the time stamp of the record before @start, or of the sub-buffer
 * @missed: how many events were lost before @start, or TRACEMAP_MISSED_UNKNOWN
 */
struct dat_piece {
	const struct subbuf_format *format;
	const void *subbuf;
	uint32_t start;
	uint32_t end;
	uint64_t ts;
	uint64_t missed;
};

/* Do not copy a page: it points into itself. */
struct dat_page {
	unsigned char header[DAT_PAGE_HEADER_MAX];
	unsigned char number[8];
	struct iovec part[DAT_PAGE_PARTS];
	int nr_parts;
	bool padded;			/* the last part has nothing but zeros */
};

/**
 * dat_pages - make pages of a piece
 * @piece: the piece
 * @zeros: bytes of 0, as many as a sub-buffer has
 * @pages: room for DAT_PAGES_MAX pages
 *
 * Return: how many pages were made, each as long as a sub-buffer; 0 if the piece has no event
 * that could report a loss
 */
int dat_pages(const struct dat_piece *piece, const void *zeros, struct dat_page *pages);

/**
 * dat_piece_last - cut a piece to its last event
 * @piece: the piece; it is left alone if it has no event
 *
 * Return: how many events the piece had
 */
unsigned int dat_piece_last(struct dat_piece *piece);

/**
 * dat_page_put_missed - put in how many events were lost before a page
 * @f: the layout of sub-buffers
 * @page: the whole page, the first one of a piece whose @missed was not known
 * @missed: how many events were lost
 *
 * Return: whether there was room for the number: there is none if the page is full of one event
 */
bool dat_page_put_missed(const struct subbuf_format *f, void *page, uint64_t missed);

#endif /* _TRACEMAP_DAT_PAGE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages for a file, from sub-buffers or parts of them.
 *
 * The records stay where they are: a page is a list for writev(), with a header
 * of its own in front. The header is never the sub-buffer's, because the writer
 * may still be at work there, because somebody may have consumed the first
 * events, and because of the loss: readers of trace.dat, trace-cmd among them,
 *
 *	- forget a loss in front of a page that begins with anything but an event
 *	  (a time stamp, a discarded event). Such a page begins with its first
 *	  event, and the header has the time stamp up to there.
 *	- need room behind the records for the number. Where there is none, the last
 *	  event goes into a page of its own.
 */
#ifndef _TRACEMAP_DAT_PAGE_H
#define _TRACEMAP_DAT_PAGE_H

#include <stdint.h>
#include <sys/uio.h>

#include "tracemap.h"

#define DAT_PAGE_HEADER_MAX	64
#define DAT_PAGE_PARTS		4
#define DAT_PAGES_MAX		2	/* of one piece */

/**
 * struct dat_piece - part of a sub-buffer
 * @format: layout of sub-buffers; data_offset at most DAT_PAGE_HEADER_MAX
 * @subbuf: the sub-buffer, in place
 * @start: where the first record begins, counted from the first of the sub-buffer
 * @end: where the last one ends
 * @ts: time stamp of the record before @start, or of the sub-buffer
 * @missed: events lost before @start, or TRACEMAP_MISSED_UNKNOWN
 */
struct dat_piece {
	const struct subbuf_format *format;
	const void *subbuf;
	uint32_t start;
	uint32_t end;
	uint64_t ts;
	uint64_t missed;
};

/* It points into itself: do not copy it. */
struct dat_page {
	unsigned char header[DAT_PAGE_HEADER_MAX];
	unsigned char number[8];
	struct iovec part[DAT_PAGE_PARTS];
	int nr_parts;
};

/**
 * dat_pages - make pages of a piece
 * @piece: the piece
 * @zeros: as many bytes of 0 as a sub-buffer has
 * @pages: room for DAT_PAGES_MAX
 *
 * Return: how many were made; 0: there is no event that the loss could be told
 * with. Each is as long as a sub-buffer.
 */
int dat_pages(const struct dat_piece *piece, const void *zeros, struct dat_page *pages);

#endif /* _TRACEMAP_DAT_PAGE_H */

/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Watching a tracefs ring buffer: in place, live, without a system call while
 * there is something to read, and without taking anything away.
 *
 * A program that opens per_cpu/cpuN/trace_live is an observer of that CPU's
 * buffer. It maps the file, shared and read-only, from offset 0, in any length
 * up to mapping_size:
 *
 *	offset 0			struct trace_live_index
 *	entries_offset			struct trace_live_subbuf of sub-buffer 0
 *	  + i * entry_size		... of sub-buffer i
 *	subbufs_offset			sub-buffer 0
 *	  + i * subbuf_size		sub-buffer i
 *
 * Map one page to learn mapping_size, then map so many bytes, or subbufs_offset
 * bytes if the figures of the index are all that is wanted. The sizes and
 * offsets do not change while the file is open or mapped: until then the buffer
 * is not resized, and no snapshot is taken. The numbers of the sub-buffers, their
 * ids, are those of this mapping, not those of a mapping of trace_pipe_raw.
 *
 * A sub-buffer begins with its time stamp, 8 bytes. At commit_offset is its
 * commit word, commit_size bytes wide (8 or 4) in the byte order of the kernel.
 * Load it whole, in one load; a 32-bit program on a 64-bit kernel loads the half
 * with the lower bits. These, but for bits 30 and 31, are the number of bytes of
 * records behind data_offset that are committed. events/header_page tells the
 * same offsets.
 *
 * A record begins with a word of 32 bits, in the byte order of the kernel:
 * type_len in 5 bits, time_delta in 27 (events/header_event tells them, and their
 * order). Its length is, with the word behind it called array[0],
 *
 *	type_len 1 to 28	4 + 4 * type_len; data, from byte 4 on
 *	type_len 0		4 + array[0], a multiple of 4; data, from byte 8 on
 *	29 (padding)		4 + array[0]: a discarded event; but where
 *				time_delta is 0, nothing follows in this sub-buffer
 *	30 (time extension)	8; it adds (array[0] << 27) + time_delta to the time
 *	31 (time)		8; that is the time, but for its upper 5 bits
 *
 * The time of any other record is that of the one before it, or at first of the
 * sub-buffer, plus its time_delta.
 *
 * Every sub-buffer that the writer enters gets the next generation, a number from
 * 1 on that never wraps and never comes again. The entry of a sub-buffer tells
 * which generation is in it, 0 if none is. The writer commits events in the
 * order of generations; it may have entered a sub-buffer, or several, beyond
 * commit_generation when an interrupt writes while an event is being written.
 * Of those no field but generation is valid yet.
 *
 * To follow the events, an observer keeps epoch, n (the generation it reads), id
 * (the sub-buffer that is in), read (how many bytes of its records it has taken)
 * and count (the number of events of this epoch before that position). The
 * labels name the stores of the kernel that a load pairs with, see
 * kernel/trace/ring_buffer_live.c. load_acquire() and read_barrier() are
 * atomic_load_explicit(p, memory_order_acquire) and
 * atomic_thread_fence(memory_order_acquire).
 *
 * LOOK
 *	if (load_acquire(index->epoch) != epoch)			[RESET]
 *		go to START, all counts restart
 *	now = load_acquire(index->commit_generation)			[LEAVE]
 *	final = now != n
 *	if (final)
 *		end = entry[id].size
 *	else
 *		end = load_acquire(commit word of sub-buffer id)	[COMMIT]
 *		      & 0x3fffffff
 *	if (end > subbuf_size - data_offset)
 *		end = read, and CHECK
 *	copy, or parse, the bytes [read, end), if end is beyond read
 *
 * CHECK
 *	read_barrier()
 *	if (index->epoch != epoch)		emptied meanwhile: go to START
 *	if (entry[id].generation != n)		overwritten meanwhile: go to JUMP
 *	if (!final && index->commit_generation != now)
 *						go to LOOK again
 *	if end is beyond read: read = end, count += the events parsed, which
 *	are good; where it is not, padding was taken, and nothing is new
 *	if (final) go to NEXT, else there is nothing more for now
 *
 * Nothing that was read is good before CHECK has said so. Until then the bytes
 * may be anything: a parser has to stop at the first record whose length is 0 or
 * leads beyond end. A sub-buffer may end in padding, while it is written too;
 * size does not count that, the commit word may. That is what the second look at
 * commit_generation is for: once the writer has left a sub-buffer, a consumer may
 * store the number of lost events behind its records, over padding that the
 * commit word counted.
 *
 * NEXT, when all of a final sub-buffer was taken
 *	id2 = entry[id].next_id
 *	read_barrier()
 *	if (entry[id].generation != n || index->epoch != epoch)
 *		go to JUMP
 *	if id2 is not below nr_subbufs, this is no live index: give up
 *	before = entry[id2].before
 *	read_barrier()
 *	if (entry[id2].generation != n + 1 || index->epoch != epoch)
 *		go to JUMP
 *	missed += before - count, count = before, id = id2, n = n + 1, read = 0,
 *	go to LOOK
 *
 * JUMP, to the oldest sub-buffer that is still there
 *	if (load_acquire(index->epoch) != epoch) go to START		[RESET]
 *	now = load_acquire(index->commit_generation)			[LEAVE]
 *	of all entries take the one with the smallest generation that is above n
 *	and not above now: g is that generation, id2 is its sub-buffer. If there
 *	is none, the writer has overtaken the search: JUMP again
 *	before = entry[id2].before, which [LEAVE] has made valid
 *	read_barrier()
 *	if (entry[id2].generation != g || index->epoch != epoch)
 *		JUMP again. Where that does not end, as the writer is so quick,
 *		take g = now and id2 = commit_id, if entry[id2].generation is g
 *	missed += before - count, count = before, id = id2, n = g, read = 0,
 *	go to LOOK
 *
 * START
 *	epoch = load_acquire(index->epoch)				[RESET]
 *	if it is odd, the buffer is being emptied: try again, and yield the CPU.
 *	It takes as long as the kernel needs to clear the sub-buffers of one CPU.
 *	n = 0, count = 0, then JUMP. What that adds to "missed" are the events
 *	before the observer came, if it has just come: take them off again. To
 *	begin with the present instead, take id2 = commit_id and g = now in JUMP,
 *	then LOOK once, parse what is there for the sake of the time deltas, and
 *	count it to those before.
 *
 * So "missed" is exact: before counts events, that is, records of data, those of
 * any length, and neither padding nor time extensions nor discarded events. In
 * each epoch, from where the observer began, the events it has seen and those it
 * missed are all that were committed.
 *
 * 64-bit fields that change, in 32-bit programs, and of 32-bit kernels: load the
 * upper half, the lower half, and the upper half again, with read barriers
 * between; when the upper halves differ, or the lower half of a generation is
 * 0xffffffff, again, a few times.
 */
#ifndef _TRACE_LIVE_H_
#define _TRACE_LIVE_H_

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * struct trace_live_subbuf - What the live index tells of one sub-buffer.
 * @generation:		Which of all sub-buffers ever written this one holds, 0 if
 *			none that can be read.
 * @before:		Events committed in this epoch before the first one of this
 *			sub-buffer. Valid when @trace_live_index.commit_generation
 *			has reached @generation, and so is:
 * @overwritten:	How many events of this epoch had been overwritten unread
 *			when the writer entered it; 0 in sub-buffers that were
 *			written before the first observer came.
 * @size:		Bytes of records, the header not counted, and padding that
 *			is behind them neither. Valid when commit_generation is past
 *			@generation, and so is:
 * @next_id:		The sub-buffer of the next generation.
 */
struct trace_live_subbuf {
	__u64	generation;
	__u64	before;
	__u64	overwritten;
	__u32	size;
	__u32	next_id;
};

/**
 * struct trace_live_index - How the mapping of trace_live begins.
 * @struct_len:		Bytes of this structure. It may grow: a program reads a
 *			field added later only where this says that it is there.
 * @entry_size:		Bytes from one entry to the next.
 * @entries_offset:	Bytes from the start of the mapping to the entry of
 *			sub-buffer 0.
 * @subbufs_offset:	Bytes from the start of the mapping to sub-buffer 0, a
 *			multiple of the page size.
 * @mapping_size:	Bytes of the whole mapping.
 * @nr_subbufs:		Number of sub-buffers.
 * @subbuf_size:	Bytes of a sub-buffer, its header included.
 * @data_offset:	Bytes from the start of a sub-buffer to its records.
 * @commit_offset:	... and to its commit word.
 * @commit_size:	Bytes of the commit word.
 * @reserved:		0.
 * @epoch:		Odd while the buffer is being emptied: nothing else is valid
 *			then. Another even number afterwards: every count has
 *			restarted. Generations go on.
 * @commit_generation:	The generation that events are committed to.
 * @commit_id:		The sub-buffer it is in, if the entry there says so too:
 *			it is stored a moment earlier.
 * @used:		Sub-buffers, the reader's not counted, that were unread when
 *			@commit_generation was entered, that one included, as far as
 *			the kernel's counts of pages agree: less without overwrite
 *			mode, when a full buffer was read. It moves only then.
 * @dropped:		Events of this epoch for which there was no room, without
 *			overwrite mode.
 * @commit_overrun:	Events of this epoch that were dropped because interrupts
 *			had filled the whole buffer while an event was written.
 * @reserved3:		0.
 * @read:		Events of this epoch that consumers have taken, as of the
 *			last time one read.
 * @reader_id:		The sub-buffer that consumers are at, as of then.
 * @reader_read:	Bytes of that sub-buffer's records that they have taken.
 * @reserved4:		0.
 */
struct trace_live_index {
	__u32	struct_len;
	__u32	entry_size;
	__u64	entries_offset;
	__u64	subbufs_offset;
	__u64	mapping_size;
	__u32	nr_subbufs;
	__u32	subbuf_size;
	__u32	data_offset;
	__u32	commit_offset;
	__u32	commit_size;
	__u32	reserved;
	__u64	epoch;

	/* written by the writer, once a sub-buffer */
	__u64	commit_generation;
	__u32	commit_id;
	__u32	used;
	__u64	dropped;
	__u64	commit_overrun;
	__u64	reserved3[4];

	/* written by consumers */
	__u64	read;
	__u32	reader_id;
	__u32	reader_read;
	__u64	reserved4[6];
};

/**
 * struct trace_live_position - How far an observer has read, and what it waits for.
 * @size:		Bytes of this structure: its sizeof.
 * @flags:		No flag is defined: 0.
 * @epoch:		The epoch it is in.
 * @generation:		The generation it reads.
 * @read:		Bytes of that sub-buffer's records that it has read.
 * @bytes:		There is enough to go on when so many bytes lie beyond that
 *			position. 1: any event. 0: as many as buffer_percent
 *			asks for when the position is told. More than the buffer
 *			holds is as much as it holds.
 */
struct trace_live_position {
	__u32	size;
	__u32	flags;
	__u64	epoch;
	__u64	generation;
	__u64	read;
	__u64	bytes;
};

/**
 * TRACE_LIVE_IOCTL_WAIT - Tell how far the observer has read.
 *
 * From then on poll(), select() and epoll_wait() do not call this file readable
 * before enough was committed beyond the position, or the epoch is another.
 * Before the first call it is always readable. A position may be as old as it
 * likes: what was overwritten since lies beyond it. The call does not wait and
 * consumes nothing; one that fails changes nothing. Padding counts as bytes:
 * without overwrite mode an event that is refused may leave some, and make the
 * file readable once.
 *
 * The file becomes readable when there is enough, and stays so until the next call:
 * at once, if it was not for some time; in a row for two positions at once, then for
 * 100 a second at most, so up to 10 ms later. If the call is made on the CPU that is
 * watched, the only one of some machines, that is 8 a second at most, up to 125 ms
 * later: where idling, timers, scheduling, system calls or functions are traced, to
 * be woken there writes what the observer waits for. But a file is readable at once
 * when half the buffer has been written beyond the position, and after a reset.
 * poll() with a timeout of 0 is late by as much, and so is what was there before the
 * call: an observer reads all there is, then tells its position.
 *
 * The argument is a pointer to a struct trace_live_position. The result is 0, or
 * -1 with errno set to:
 *
 *	EFAULT	the argument points nowhere
 *	EINVAL	size is less than the 40 bytes up to the end of "bytes", a flag is
 *		set, the position is ahead of the writer or past the end of a
 *		sub-buffer, or the epoch has yet to come or is odd, as while the
 *		buffer is being emptied
 *	E2BIG	the structure has a field that this kernel does not know, and it
 *		is not 0, or size is more than a page
 *	ENOTTY	there is no such command
 */
#define TRACE_LIVE_IOCTL_WAIT	_IO('^', 0x00)

#endif /* _TRACE_LIVE_H_ */

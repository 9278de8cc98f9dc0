/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Watching a tracefs ring buffer: in place, live, without a system call, and
 * without taking anything away.
 *
 * Beside the mapping that linux/trace_mmap.h describes, the file
 * per_cpu/cpuN/trace_pipe_raw has a second one, shared and read-only as well,
 * at the offset TRACE_MMAP_LIVE_OFFSET: the live index of that CPU's buffer.
 * It begins with struct trace_live_index, and goes on with a struct
 * trace_live_subbuf for each sub-buffer. Map one page to learn index_size, then
 * map that many bytes; and map the sub-buffers, as ever.
 *
 * Every sub-buffer the writer enters gets the next generation. The number of
 * generation n is told by the entry of generation n - 1; where that of
 * commit_generation is, by commit_id. Generations are counted modulo 2^32:
 * compare their difference.
 *
 * An observer that has taken the first "read" bytes of generation n, which is
 * in sub-buffer "id", looks for more like this. The labels name the stores of
 * the kernel that a load pairs with, see kernel/trace/ring_buffer_live.c.
 *
 *	epoch = load_acquire(index->epoch), even		[RESET]
 *	now = load_acquire(index->commit_generation)		[LEAVE]
 *	final = now != n
 *	if (final)
 *		end = entry[id].size
 *	else
 *		end = load_acquire(commit word of sub-buffer id)	[COMMIT]
 *		      & 0x3fffffff
 *	copy or use the bytes [read, end), if end is beyond read
 *	read_barrier()						[CHECK]
 *	if (entry[id].generation != n || index->epoch != epoch)
 *		nothing of this was good: overwritten, or reset
 *	else if (!final && index->commit_generation != now)
 *		nothing of this was good: look again
 *	else
 *		read = end
 *
 * The commit word of a full sub-buffer counts the padding at its end, which size
 * does not: read may be past it. When all of a final one was taken, generation
 * n + 1 is in sub-buffer entry[id].next_id. As every field of an entry, that one
 * is to be believed only if generation and epoch are still the same afterwards,
 * behind a read barrier: [CHECK] again.
 *
 * Events that an observer has missed are the difference between "before" of
 * the sub-buffer where it goes on and its own count of events: what it began
 * with, has seen and has missed so far.
 */
#ifndef _TRACE_LIVE_H_
#define _TRACE_LIVE_H_

#include <linux/ioctl.h>
#include <linux/types.h>

/* Beyond the sub-buffers of any buffer, and within reach of 32-bit programs */
#define TRACE_MMAP_LIVE_OFFSET		(1ULL << 43)

/**
 * struct trace_live_subbuf - What the live index tells of one sub-buffer.
 * @generation:		Which of all sub-buffers ever written this one holds. One
 *			that holds nothing to be read is more than 2^30 away
 *			from @trace_live_index.commit_generation.
 * @next_id:		The sub-buffer of the next generation. Valid when
 *			@trace_live_index.commit_generation is past @generation,
 *			and so is:
 * @size:		Bytes of records, the header not counted, and padding that
 *			is behind them neither, unless an event was dropped there.
 * @reserved:		0.
 * @before:		Events committed in this epoch before the first one of this
 *			sub-buffer. Valid when commit_generation has reached
 *			@generation, and so is:
 * @overwritten:	How many events had been overwritten unread by then.
 */
struct trace_live_subbuf {
	__u32	generation;
	__u32	next_id;
	__u32	size;
	__u32	reserved;
	__u64	before;
	__u64	overwritten;
};

/**
 * struct trace_live_index - How the live index begins.
 * @index_size:		Bytes of the whole index, a multiple of the page size.
 * @struct_len:		Bytes of this structure. It may grow: a program reads a
 *			field added later only where this says that it is there.
 * @entries_offset:	Bytes from the start of the index to the entry of
 *			sub-buffer 0.
 * @entry_size:		Bytes from one entry to the next.
 * @nr_subbufs:		Number of entries.
 * @epoch:		Odd while the buffer is being reset: nothing is valid then.
 *			Another even number afterwards: every count has restarted.
 * @reserved:		0.
 * @commit_generation:	The generation that is being written.
 * @commit_id:		The sub-buffer it is in, if the entry there says so too:
 *			it is stored a moment earlier.
 * @dropped:		Events for which there was no room, without overwrite
 *			mode, in this epoch. On 32-bit kernels modulo 2^32, like:
 * @commit_overrun:	Events that were dropped because interrupts had filled
 *			the whole buffer while an event was being written.
 * @used:		Sub-buffers, the reader's not counted, that nobody had read
 *			when @commit_generation was entered, that one included.
 *			struct trace_buffer_meta tells of the reader's, and how many
 *			events were consumed.
 * @reserved2:		0.
 */
struct trace_live_index {
	__u32	index_size;
	__u32	struct_len;
	__u32	entries_offset;
	__u32	entry_size;
	__u32	nr_subbufs;
	__u32	epoch;
	__u32	reserved[10];

	__u32	commit_generation;
	__u32	commit_id;
	__u64	dropped;
	__u64	commit_overrun;
	__u32	used;
	__u32	reserved2[9];
};

/**
 * struct trace_live_position - How far a program has read, and what it waits for.
 * @epoch:		The epoch it is in.
 * @generation:		The generation it reads. When it has read all of a final
 *			sub-buffer, this is the next one, and @read is 0.
 * @read:		Bytes of that sub-buffer's records that it has read.
 * @flags:		No flag is defined: 0.
 * @bytes:		There is enough to go on when so many bytes lie beyond that
 *			position. 0: as many as buffer_percent asks for.
 */
struct trace_live_position {
	__u32	epoch;
	__u32	generation;
	__u32	read;
	__u32	flags;
	__u64	bytes;
};

/**
 * TRACE_MMAP_IOCTL_LIVE_WAIT - Tell how far the reader of this file has read.
 *
 * From then on poll(), select() and epoll_wait() call this file readable when
 * enough was committed beyond the position, or when the epoch is another, and
 * only then. When nobody maps the index of this CPU any more they say POLLERR.
 * The call does not wait, and it consumes nothing.
 *
 * The argument is a pointer to a struct trace_live_position, or NULL: poll() and
 * the like answer for a consumer again. The result is 0, or -1 with errno set to:
 *
 *	ENOTTY	this kernel has no live index
 *	ENODEV	the live index of this CPU is not mapped
 *	EFAULT	the argument points nowhere
 *	EINVAL	a flag is set, the position is ahead of the writer or past the
 *		end of a sub-buffer, or the epoch is odd or has yet to come
 */
#define TRACE_MMAP_IOCTL_LIVE_WAIT	_IOW('R', 0x2F, struct trace_live_position)

#endif /* _TRACE_LIVE_H_ */

/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Watching a tracefs ring buffer in place while it is written. An observer needs
 * no system call as long as there is something to read, and consumes nothing.
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
 * Map one page to learn mapping_size, then map that many bytes, or only
 * subbufs_offset bytes if the figures of the index are enough. The sizes and
 * offsets do not change while the file is open or mapped: the kernel does not
 * resize the buffer then, and takes no snapshot. A sub-buffer's number, its id, need
 * not be its id in a mapping of trace_pipe_raw.
 *
 * A sub-buffer begins with its time stamp, 8 bytes. At commit_offset is its
 * commit word, commit_size bytes wide (8 or 4) in the byte order of the kernel.
 * Load it with a single load; a 32-bit program on a 64-bit kernel loads the half
 * with the lower bits. The value without bits 30 and 31 is the number of committed
 * bytes of records, which begin at data_offset. events/header_page has the same
 * offsets.
 *
 * A record begins with a word of 32 bits, in the byte order of the kernel:
 * type_len in 5 bits, time_delta in 27 (events/header_event has them and their
 * order). The next word is array[0]. The length of a record in bytes is
 *
 *	type_len 1 to 28	4 + 4 * type_len; data, from byte 4 on
 *	type_len 0		4 + array[0], a multiple of 4; data, from byte 8 on
 *	29 (padding)		4 + array[0]: a discarded event; but if
 *				time_delta is 0, nothing follows in this sub-buffer
 *	30 (time extension)	8; it adds (array[0] << 27) + time_delta to the time
 *	31 (time)		8; the same sum is the time, without its upper 5 bits
 *
 * The time of any other record is its time_delta plus the time of the record before
 * it, or plus the time stamp of the sub-buffer if it is the first record.
 *
 * Each time the writer enters a sub-buffer, that sub-buffer gets the next
 * generation. Generations start at 1, never wrap and are never used again. The
 * entry of a sub-buffer holds its generation, or 0 if it has none. The writer
 * commits events in the order of generations. It may have entered sub-buffers
 * beyond commit_generation already, if an interrupt wrote events before the
 * interrupted event was committed. In the entries of those sub-buffers only
 * generation is valid.
 *
 * To follow the events, an observer keeps epoch, n (the generation that it reads),
 * id (the sub-buffer that holds generation n), read (how many bytes of that
 * sub-buffer's records it has taken) and count (the number of events of this epoch
 * before that position). A label names the stores of the kernel that a load pairs
 * with, see kernel/trace/ring_buffer_live.c. load_acquire() and read_barrier() are
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
 *		end = read: it is being overwritten or emptied, which CHECK finds
 *	copy, or parse, the bytes [read, end), if end is beyond read
 *	go to CHECK
 *
 * CHECK
 *	read_barrier()
 *	if (index->epoch != epoch)		emptied meanwhile: go to START
 *	if (entry[id].generation != n)		overwritten meanwhile: go to JUMP
 *	if (!final && index->commit_generation != now)
 *						go to LOOK again
 *	if end is beyond read: the events parsed are good, so count += their
 *	number, read = end. If not, nothing is new (end is below read if the
 *	observer has taken padding)
 *	if (final) go to NEXT, else there is nothing more for now
 *
 * What was copied or parsed is not good until CHECK has passed. Until then the
 * bytes may be anything: a parser has to stop at the first record that ends beyond
 * end, at one whose array[0] it needs and which lies beyond end, and at one whose
 * array[0] is less than 4. A sub-buffer may end in padding, even while it is being
 * written. size does not count that padding, but the commit word may. That is why
 * CHECK loads commit_generation again: once the writer has left a sub-buffer, a
 * consumer may store the number of lost events behind its records, over padding
 * that the commit word counted.
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
 * JUMP, to the oldest sub-buffer beyond n that is still there
 *	if (load_acquire(index->epoch) != epoch) go to START		[RESET]
 *	now = load_acquire(index->commit_generation)			[LEAVE]
 *	of all entries take the one with the smallest generation that is above n
 *	and not above now: g is that generation, id2 is its sub-buffer. If there
 *	is none, the writer has overtaken the search: JUMP again
 *	before = entry[id2].before, which [LEAVE] has made valid
 *	read_barrier()
 *	if (entry[id2].generation != g || index->epoch != epoch)
 *		JUMP again. If the writer is so fast that this does not end,
 *		take g = now and id2 = commit_id, if entry[id2].generation is g
 *	missed += before - count, count = before, id = id2, n = g, read = 0,
 *	go to LOOK
 *
 * START, at the oldest sub-buffer
 *	epoch = load_acquire(index->epoch)				[RESET]
 *	if it is odd, the buffer is being emptied: yield the CPU and try again.
 *	It takes as long as the kernel needs to clear the sub-buffers of one CPU.
 *	n = 0, count = 0, missed = 0 (each epoch has its own counts), go to JUMP
 *
 * JUMP adds to missed the events from the beginning of the epoch to where it arrives.
 * After a reset, these are events that the observer has missed. To an observer that
 * has just begun, they are events that were there before it came: it sets missed to 0
 * once that first JUMP is done.
 *
 * To begin with the present instead, an observer takes id2 = commit_id and g = now in
 * that first JUMP, and looks once at what the sub-buffer holds by then: it parses it
 * for its time deltas, adds its number of events to count, and uses it for nothing
 * else. Wherever the CHECK of that look would go, if it does not pass, the observer goes
 * to START.
 *
 * A writer may be as fast as the observer, which then never runs out of events. To
 * end anyway, note the present: now = load_acquire(index->commit_generation), and
 * the commit word of sub-buffer commit_id without bits 30 and 31. They belong
 * together if the entry of that sub-buffer has generation now before and after that
 * load, with a read barrier in between; if not, note them again. End once the epoch
 * has changed, n is beyond now, or n is now and read has reached that commit.
 *
 * "missed" is exact: "before" counts events, that is, data records of any length,
 * and no padding, time stamps, time extensions or discarded events. In each epoch,
 * from where the observer began, the events that it has seen and those that it has
 * missed add up to all the events that were committed.
 *
 * A 32-bit program loads a 64-bit field that may change in three steps: the upper
 * half, the lower half, and the upper half again, with read barriers in between. If
 * the upper halves differ, or the lower half of a generation is 0xffffffff, it repeats
 * that, a few times at most.
 */
#ifndef _TRACE_LIVE_H_
#define _TRACE_LIVE_H_

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * struct trace_live_subbuf - The live index's entry of one sub-buffer.
 * @generation:		The generation that the sub-buffer holds, or 0 if it holds
 *			none that can be read.
 * @before:		Events committed in this epoch before the first event of
 *			this sub-buffer. @before and @overwritten are valid as soon
 *			as @trace_live_index.commit_generation has reached
 *			@generation.
 * @overwritten:	Events of this epoch that had been overwritten unread when
 *			commit_generation reached @generation; 0 in sub-buffers that
 *			the writer had left before the first observer came.
 * @size:		Bytes of records, without the header and without padding
 *			behind the records. @size and @next_id are valid as soon as
 *			commit_generation is past @generation.
 * @next_id:		The id of the sub-buffer that got the next generation.
 */
struct trace_live_subbuf {
	__u64	generation;
	__u64	before;
	__u64	overwritten;
	__u32	size;
	__u32	next_id;
};

/**
 * struct trace_live_index - The start of a mapping of trace_live.
 * @struct_len:		Bytes of this structure. It may grow: a program checks here
 *			that a field which was added later is there.
 * @entry_size:		Bytes from one entry to the next.
 * @entries_offset:	Bytes from the start of the mapping to the entry of
 *			sub-buffer 0.
 * @subbufs_offset:	Bytes from the start of the mapping to sub-buffer 0, a
 *			multiple of the page size.
 * @mapping_size:	Bytes of the whole mapping.
 * @nr_subbufs:		Number of sub-buffers.
 * @subbuf_size:	Bytes of a sub-buffer, its header included.
 * @data_offset:	Bytes from the start of a sub-buffer to its records.
 * @commit_offset:	Bytes from the start of a sub-buffer to its commit word.
 * @commit_size:	Bytes of the commit word.
 * @reserved:		0.
 * @epoch:		Odd while the kernel empties the buffer: nothing else is
 *			valid then. Afterwards it is the next even number, and all
 *			counts have restarted from 0. Generations go on. The kernel
 *			empties a buffer when a program opens trace with O_TRUNC,
 *			sets trace_clock, changes current_tracer, or turns
 *			tracing_on on while the tracer is "function", and when an
 *			enabled event is removed, as a kprobe is, or with its module.
 * @commit_generation:	The generation that the writer commits events to.
 * @commit_id:		The sub-buffer that holds @commit_generation. The writer
 *			stores it before @commit_generation: a program that needs
 *			both checks that its entry has that generation.
 * @used:		Unread sub-buffers in the ring when the writer got to
 *			@commit_generation, including that one, but not the
 *			reader's. It changes only then. Without overwrite mode it
 *			may be too small after a full buffer was read.
 * @dropped:		Without overwrite mode, the events of this epoch for which
 *			there was no room.
 * @commit_overrun:	Events of this epoch that were dropped because interrupts
 *			had filled the whole buffer while an event was written.
 * @reserved3:		0.
 * @read:		Events of this epoch that consumers have taken, as of the
 *			last read by one of them.
 * @reader_id:		The reader's sub-buffer at that time.
 * @reader_read:	Bytes of its records that consumers had taken by then.
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
 * @epoch:		The epoch that the observer is in.
 * @generation:		The generation that it reads.
 * @read:		Bytes of that sub-buffer's records that it has read.
 * @bytes:		How many committed bytes beyond that position are enough for
 *			the observer. 1: any event is. 0: as many as buffer_percent
 *			asks for at the time of the call. A number that is larger
 *			than the buffer stands for the size of the buffer.
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
 * TRACE_LIVE_IOCTL_SET_POSITION - Tell how far the observer has read.
 *
 * After the call, poll(), select() and epoll_wait() report the file as readable only
 * when enough was committed beyond the position, or when the epoch has changed.
 * Before the first call the file is always readable. A position may be arbitrarily
 * old, and generation 0 is older than all: bytes that were overwritten since then
 * count, too. The call does not wait and consumes nothing; a call that fails changes
 * nothing. Padding counts as bytes: without overwrite mode, an event that is dropped
 * may leave padding behind, which may make the file readable once.
 *
 * The file becomes readable when there is enough, and stays so until the next call.
 * The kernel limits how often that happens, for each open file: two positions in a
 * row become readable at once, further ones at most 100 times a second, so up to
 * 10 ms late. If this call or poll() is made on the watched CPU, which may be the
 * only one, the limit is 8 times a second, so up to 125 ms late: where idling, timers,
 * scheduling, system calls or functions are traced, waking the observer on that CPU
 * writes the events that it waits for. The file is readable at once when half the buffer
 * has been written beyond the position, and after a reset. The limit also delays
 * poll() with a timeout of 0, and events that were there before the call. So an
 * observer should read all there is before it tells its position.
 *
 * The argument is a pointer to a struct trace_live_position. The result is 0, or
 * -1 with errno set to:
 *
 *	EFAULT	the argument is not a valid pointer
 *	EINVAL	size is less than the 40 bytes up to the end of "bytes", a flag is
 *		set, the position is ahead of the writer or past the end of a
 *		sub-buffer, or the epoch is odd or larger than that of the index
 *	E2BIG	the structure has a field that this kernel does not know, and it
 *		is not 0, or size is more than a page
 *	ENOTTY	there is no such command
 */
#define TRACE_LIVE_IOCTL_SET_POSITION	_IO('^', 0x00)

#endif /* _TRACE_LIVE_H_ */

/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Watching a tracefs ring buffer in place while it is written. An observer needs
 * no system call as long as there is something to read, and consumes nothing.
 *
 * A program that opens per_cpu/cpuN/trace_live, for reading only, is an observer of
 * that CPU's buffer. It maps the file, shared and read-only, from offset 0, in any
 * length up to mapping_size:
 *
 *	offset 0			struct trace_live_index
 *	entries_offset			struct trace_live_subbuf of slot 0
 *	  + i * entry_size		... of slot i
 *	subbufs_offset			sub-buffer 0
 *	  + id * subbuf_size		sub-buffer id
 *
 * Map one page to learn mapping_size, then map that many bytes, or only
 * subbufs_offset bytes if the figures of the index are enough. The sizes and
 * offsets do not change while the file is open or mapped: the kernel does not
 * resize the buffer then, and takes no snapshot. An id need not be the id of the
 * same sub-buffer in a mapping of trace_pipe_raw.
 *
 * All fields of 64 bits that change are loaded by a single load. A program of 32
 * bits needs an atomic load for that, as C11 has it.
 *
 * Each time the writer enters a sub-buffer, that sub-buffer gets the next
 * generation, and slot generation % nr_slots describes it from then on. Generations
 * are never used again. nr_slots generations later, the writer enters the same slot
 * again; it does not enter the same sub-buffer before that.
 *
 * What is valid, and when:
 *
 *	first			The generation with which the buffer began when it was
 *				emptied last, or the first one that can be observed.
 *				While the kernel empties the buffer, first is above
 *				commit_generation, and what the slots and sub-buffers
 *				hold is not valid; a position may be set, and is
 *				readable. An observer that finds first changed starts
 *				over.
 *	commit_generation	The generation that the writer commits events to. The
 *				writer may have entered later ones already, up to
 *				nr_slots of them, if interrupts wrote events before
 *				the interrupted event was committed.
 *	entry.generation	What its slot describes.
 *	entry.before, entry.id	Valid once commit_generation has reached the
 *				generation.
 *	entry.size		Valid once commit_generation is past the generation.
 *				Until then the commit word says how much there is.
 *	bytes of a sub-buffer	Up to size, or up to the commit word.
 *
 * Whatever an observer has read of a slot or a sub-buffer, it read what belongs to
 * generation g only if, behind a read barrier, first is unchanged and the slot's
 * entry still has generation g; and for the commit word and the bytes it covers,
 * commit_generation must still be g, too. Until it has checked that, the bytes may be
 * anything. Documentation/trace/ring-buffer-live.rst has the algorithm, as code.
 *
 * A sub-buffer begins with its time stamp, 8 bytes, which is valid if there is a
 * record. At commit_offset is its commit word of 8 bytes: the lower 30 bits are the
 * number of committed bytes of records, which begin at data_offset. A program of 32
 * bits may load the half with the lower bits. events/header_page has the same offsets.
 * size does not count padding at the end of a sub-buffer; the commit word may, so that
 * size may be less than the commit word was before.
 *
 * A record begins with a word of 32 bits, in the byte order of the kernel:
 * type_len in 5 bits, time_delta in 27 (events/header_event has them and their
 * order). The next word is array[0]. The length of a record in bytes, which is to be
 * computed in 64 bits, is
 *
 *	type_len 1 to 28	4 + 4 * type_len; data, from byte 4 on
 *	type_len 0		4 + array[0], a multiple of 4; data, from byte 8 on
 *	29 (padding)		4 + array[0]: a discarded event; but if
 *				time_delta is 0, nothing follows in this sub-buffer
 *	30 (time extension)	8; it adds (array[0] << 27) + time_delta to the time
 *	31 (time)		8; the same sum is the time, without its upper 5 bits:
 *				those of the time before it, or one more if that would
 *				make it go back
 *
 * The time of any other record, a discarded event included, is its time_delta plus the
 * time of the record before it, or plus the time stamp of the sub-buffer if it is the
 * first record. A parser stops at the first record that does not end within what it
 * parses, and at one whose array[0] it needs and which lies beyond that or is below 4.
 */
#ifndef _TRACE_LIVE_H_
#define _TRACE_LIVE_H_

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * struct trace_live_subbuf - The live index's entry of one slot.
 * @generation:		The generation that the slot describes.
 * @before:		Events committed before the first event of this sub-buffer,
 *			since the buffer was emptied last: data records of any length,
 *			and no padding, time stamps, time extensions or discarded
 *			events.
 * @id:			The sub-buffer that holds the generation, below nr_subbufs.
 * @size:		Bytes of records, without the header and without padding
 *			behind the records.
 */
struct trace_live_subbuf {
	__u64	generation;
	__u64	before;
	__u32	id;
	__u32	size;
};

/**
 * struct trace_live_index - The start of a mapping of trace_live.
 * @struct_len:		Bytes of this structure. It may grow: a program checks here
 *			that a field which was added later is there.
 * @entry_size:		Bytes from one entry to the next.
 * @entries_offset:	Bytes from the start of the mapping to the entry of slot 0.
 * @subbufs_offset:	Bytes from the start of the mapping to sub-buffer 0, a
 *			multiple of the page size.
 * @mapping_size:	Bytes of the whole mapping.
 * @nr_slots:		Number of slots, and of sub-buffers in the ring.
 * @nr_subbufs:		Number of sub-buffers: those in the ring, and the reader's.
 * @subbuf_size:	Bytes of a sub-buffer, its header included.
 * @data_offset:	Bytes from the start of a sub-buffer to its records.
 * @commit_offset:	Bytes from the start of a sub-buffer to its commit word.
 * @reserved:		0.
 * @first:		The oldest generation that can be observed, see above.
 * @commit_generation:	The generation that the writer commits events to.
 * @overwritten:	Events that the writer had overwritten unread when it got to
 *			@commit_generation, since the buffer was emptied last.
 * @dropped:		Events for which there was no room, since then: those of a
 *			full buffer without overwrite mode, and those of interrupts
 *			that had filled the whole buffer while an event was written.
 * @reserved2:		0.
 * @read:		Events that consumers have taken since the buffer was emptied
 *			last, as of the last read by one of them.
 * @reserved3:		0.
 */
struct trace_live_index {
	__u32	struct_len;
	__u32	entry_size;
	__u64	entries_offset;
	__u64	subbufs_offset;
	__u64	mapping_size;
	__u32	nr_slots;
	__u32	nr_subbufs;
	__u32	subbuf_size;
	__u32	data_offset;
	__u32	commit_offset;
	__u32	reserved[3];

	/* stored by the writer, once a sub-buffer */
	__u64	first;
	__u64	commit_generation;
	__u64	overwritten;
	__u64	dropped;
	__u64	reserved2[4];

	/* stored by consumers */
	__u64	read;
	__u64	reserved3[7];
};

/**
 * struct trace_live_position - How far an observer has read, and what it waits for.
 * @size:		Bytes of this structure: its sizeof.
 * @read:		Bytes of the sub-buffer's records that the observer has read.
 * @generation:		The generation that it reads. 0 is older than all.
 * @bytes:		How many committed bytes beyond that position are enough for
 *			the observer. 1: any event is. 0: as many as buffer_percent
 *			asks for at the time of the call. A number that is larger
 *			than the buffer stands for the size of the buffer.
 */
struct trace_live_position {
	__u32	size;
	__u32	read;
	__u64	generation;
	__u64	bytes;
};

/*
 * TRACE_LIVE_IOCTL_SET_POSITION tells how far the observer has read. From then on
 * poll(), select() and epoll_wait() report the open file as readable once enough was
 * committed beyond the position, or the buffer was emptied. Before the first call the
 * file is always readable. The argument is a struct trace_live_position; its errors
 * and the limit of wake-ups are in Documentation/trace/ring-buffer-live.rst.
 */
#define TRACE_LIVE_IOCTL_SET_POSITION	_IOW('^', 0x00, struct trace_live_position)

#endif /* _TRACE_LIVE_H_ */

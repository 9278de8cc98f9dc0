/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Reading a tracefs ring buffer in place.
 *
 * A program can map the file per_cpu/cpuN/trace_pipe_raw of tracefs, shared and
 * read-only. The mapping begins with the meta area, which struct
 * trace_buffer_meta describes. The sub-buffers of that CPU follow:
 *
 *	offset 0					meta area
 *	meta_page_size					sub-buffer 0
 *	meta_page_size + subbuf_size			sub-buffer 1
 *	...
 *	meta_page_size + (nr_subbufs - 1) * subbuf_size	the last sub-buffer
 *
 * Map the first meta_page_size bytes (one page is enough to begin with) to
 * learn the sizes, then map everything. A sub-buffer keeps its number, its id,
 * as long as any program maps this CPU's buffer.
 *
 * One sub-buffer at a time belongs to the reader: reader.id. The writer has
 * left it, or is still adding events to its end. Each
 * TRACE_MMAP_IOCTL_GET_READER hands more of it to the caller, or moves on to
 * the next. The loop of a consumer is:
 *
 *	id = meta->reader.id, read = meta->reader.read;
 *	ioctl(fd, TRACE_MMAP_IOCTL_GET_READER);
 *	if (meta->reader.id != id || meta->reader.read < read)
 *		read = 0;
 *	parse the bytes [read, meta->reader.read) of sub-buffer reader.id
 *
 * Consumers of one CPU take turns at this, each until it has parsed the bytes: a
 * call of another consumer changes reader, and what this one was handed out is lost
 * to it. reader.read is smaller than before if the kernel has emptied the buffer.
 * Byte 0 is the first byte after the sub-buffer's header. events/header_page
 * describes that header.
 *
 * The kernel updates the meta area at each of those calls, and whenever the
 * buffer is read or reset in another way. In between it does not change.
 */
#ifndef _TRACE_MMAP_H_
#define _TRACE_MMAP_H_

#include <linux/types.h>

/**
 * struct trace_buffer_meta - The meta area of a mapped buffer.
 * @meta_page_size:	Bytes from the start of the mapping to sub-buffer 0.
 * @meta_struct_len:	Bytes of this structure. It may grow: a program checks
 *			here that a field which was added later is there.
 * @subbuf_size:	Bytes of one sub-buffer, its header included.
 * @nr_subbufs:		Sub-buffers in the mapping, the reader's included.
 * @reader:		The reader sub-buffer:
 * @reader.lost_events:	Events that were overwritten unread between the
 *			previous reader sub-buffer and this one. Does not change
 *			until @reader.id does, or the buffer is emptied.
 * @reader.id:		Its id, 0 to @nr_subbufs - 1.
 * @reader.read:	Bytes of the reader sub-buffer that were consumed, its
 *			header not counted.
 * @flags:		No flag is defined: 0.
 * @entries:		Events committed since the last reset, overwritten and
 *			consumed ones included.
 *			@entries - @overrun - @read of them are unread.
 * @overrun:		Of these, the events that were overwritten unread.
 * @read:		Of these, the events that were consumed.
 * @pages_lost:		Sub-buffers that were overwritten unread.
 * @pages_touched:	Sub-buffers that the writer has entered.
 *
 * The headers of some kernel releases call the last two fields Reserved1 and
 * Reserved2.
 */
struct trace_buffer_meta {
	__u32		meta_page_size;
	__u32		meta_struct_len;

	__u32		subbuf_size;
	__u32		nr_subbufs;

	struct {
		__u64	lost_events;
		__u32	id;
		__u32	read;
	} reader;

	__u64	flags;

	__u64	entries;
	__u64	overrun;
	__u64	read;

	__u64	pages_lost;
	__u64	pages_touched;
};

/**
 * TRACE_MMAP_IOCTL_GET_READER - Consume what is new in a mapped buffer.
 *
 * If the reader sub-buffer holds unread bytes, they count as consumed from now
 * on: reader.id stays, reader.read moves to their end. If it holds none, the
 * next sub-buffer that has data becomes the reader's, and its bytes count as
 * consumed. If there is nothing new, reader does not change. The bytes handed
 * out stay in place until a later call changes reader.id.
 *
 * On a descriptor without O_NONBLOCK the call first waits until the buffer is
 * filled to buffer_percent or, if that is 0, holds any event. The wait also ends
 * when 0 is written to tracing_on, when ioctl(fd, 0) is called on the same open
 * file, when a process that shares it closes it, and by ENODEV when the buffer is
 * unmapped meanwhile.
 *
 * With O_NONBLOCK and poll(), call it until reader.id stays the same, not counting
 * the first call. Do not call it until nothing is new: where functions or system
 * calls are traced, each call writes events.
 *
 * It takes no argument. The result is 0, or -1 with errno set to:
 *
 *	ENODEV	this CPU's buffer is not mapped
 *	EINTR	a signal ended the wait
 */
#define TRACE_MMAP_IOCTL_GET_READER		_IO('R', 0x20)

#endif /* _TRACE_MMAP_H_ */

// SPDX-License-Identifier: LGPL-2.1
/*
 * Read by read(2), one sub-buffer at a time, from trace_pipe_raw, or from a file or pipe with
 * sub-buffers.
 *
 * Each read() of trace_pipe_raw returns the events that are new since the last one, with a
 * header of their own, even while the writer is still in their sub-buffer. The result of each
 * read() is therefore treated as a whole sub-buffer.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cpu.h"

#define NEAR_LOSS	4	/* results without a loss until whole sub-buffers are read again */

/* Bytes of records, as the commit word says; a truncated file may have less. */
static int read_hand_out(struct tracemap_cpu *cpu)
{
	struct read_state *r = &cpu->read;
	const struct subbuf_format *f = &cpu->format;
	uint32_t committed, there = r->got;
	struct subbuf_iter it;
	int64_t missed;

	r->got = 0;
	if (there < f->data_offset)
		return -EBADMSG;
	committed = subbuf_committed(f, r->buffer);
	if (committed > f->subbuf_size - f->data_offset)
		return -EBADMSG;

	it = subbuf_begin(f, r->buffer);
	there -= f->data_offset;
	r->cut = committed > there;
	if (r->cut)
		subbuf_extend(&it, there);
	/* The number of lost events is behind the records. */
	missed = subbuf_missed(f, r->buffer);
	if (missed < 0 || (missed && there < committed + f->commit_size))
		missed = TRACEMAP_MISSED_UNKNOWN;
	if (missed)
		r->near_loss = NEAR_LOSS;
	else if (r->near_loss)
		r->near_loss--;
	tracemap__set_batch(cpu, &it, missed, 0);
	return 1;
}

/*
 * The number of events lost before a sub-buffer is behind its records, where a full sub-buffer
 * has no room. If fewer bytes are asked for, trace_pipe_raw leaves the last event to the next
 * read(), and stores the number; it returns 0 if there is only one event. As that costs one
 * more read(), and one for the bytes not asked for, it is done only where losses are near, and
 * at the beginning. (There are no such bytes where the kernel has this series and sub-buffers
 * of several pages.)
 */
static ssize_t read_more(struct tracemap_cpu *cpu)
{
	const struct read_state *r = &cpu->read;
	size_t size = cpu->format.subbuf_size - r->got;
	ssize_t n = 0;

	if (r->careful && r->near_loss && !r->got)
		n = read(cpu->fd, r->buffer, size - cpu->format.commit_size);
	return n ? n : read(cpu->fd, r->buffer + r->got, size);
}

/* No more bytes came: what the buffer has behind @got is from an earlier sub-buffer. */
static int read_end(struct tracemap_cpu *cpu)
{
	if (cpu->read.endless)
		return cpu->read.got ? read_hand_out(cpu) : 0;
	if (cpu->read.cut) {
		cpu->read.cut = false;
		return -EBADMSG;
	}
	if (!cpu->read.got)
		return -ENODATA;
	return read_hand_out(cpu);
}

static int read_fetch(struct tracemap_cpu *cpu)
{
	struct read_state *r = &cpu->read;

	while (r->got < cpu->format.subbuf_size) {
		ssize_t n = read_more(cpu);

		if (n < 0 && (errno != EAGAIN || !r->endless))
			return errno == EAGAIN ? 0 : -errno;
		if (n <= 0)
			return read_end(cpu);
		r->got += n;
	}
	return read_hand_out(cpu);
}

/* A truncated record looks damaged: report that once. */
static int read_settle(struct tracemap_cpu *cpu)
{
	if (!cpu->batch.it.corrupt)
		return 0;
	cpu->read.cut = false;
	return -EBADMSG;
}

static void read_close(struct tracemap_cpu *cpu)
{
	free(cpu->read.buffer);
}

int tracemap__open_read(struct tracemap_cpu *cpu)
{
	struct statfs fs;

	if (fstatfs(cpu->fd, &fs) < 0)
		return -errno;
	cpu->read.endless = fs.f_type == TRACEFS_MAGIC;
	/* Without O_NONBLOCK, a read() of bytes that do not exist would wait. */
	cpu->read.careful = cpu->read.endless && fcntl(cpu->fd, F_GETFL) & O_NONBLOCK;
	cpu->read.near_loss = NEAR_LOSS;
	cpu->read.buffer = malloc(cpu->format.subbuf_size);
	if (!cpu->read.buffer)
		return -ENOMEM;
	cpu->backend = &tracemap__backend_read;
	return 0;
}

const struct backend tracemap__backend_read = {
	.name		= "read",
	.fetch		= read_fetch,
	.settle		= read_settle,
	.figures	= tracemap__stats,
	.close		= read_close,
};

/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * libtracemap: read the kernel's trace buffers in the cheapest way the kernel offers.
 *
 *	struct tracemap *t;
 *	struct tracemap_merge *m;
 *	struct tracemap_record rec;
 *
 *	ret = tracemap_open(&t, "/sys/kernel/tracing/instances/mine", NULL);
 *	ret = tracemap_merge_new(&m, NULL);
 *	ret = tracemap_merge_add_all(m, t);
 *	for (;;) {
 *		while ((ret = tracemap_merge_next(m, &rec)) > 0)
 *			use(rec.cpu, rec.ts, rec.data, rec.size, rec.missed);
 *		if (ret < 0)
 *			break;
 *		ret = tracemap_wait(t, tracemap_merge_timeout(m, -1));
 *		if (ret < 0)
 *			break;
 *	}
 *
 * There are three layers. A program can use each without the layers above it:
 *
 *	tracemap_cpu	one CPU's buffer, by the sub-buffer or by the record
 *	tracemap	all buffers of an instance, and waiting for events
 *	tracemap_merge	the records of many sources in the order of time
 *
 * Return values. A call that looks for something returns 1 if there is something, 0
 * if there is nothing yet, -ENODATA at the end (a file has an end, a trace buffer has
 * none but that of tracemap_until_now()), and another negative errno if something went
 * wrong. The library starts no thread, has no global state, prints nothing and never ends
 * the program.
 *
 * Threads. Handles are not locked: only one thread at a time may use a tracemap_cpu
 * and the instance or merge that it belongs to. Different handles are independent.
 *
 * The manual pages of section 3 are made from the comments below, see man/page.awk.
 */
#ifndef _TRACEMAP_H
#define _TRACEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "subbuf.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pollfd;

/* How many descriptors of the caller a wait takes, see tracemap_wait_with() */
#define TRACEMAP_WAIT_FDS		15

/* From linux/trace_mmap.h and linux/trace_live.h */
struct trace_buffer_meta;
struct trace_live_index;

/**
 * enum tracemap_way - how a buffer is read
 * @TRACEMAP_CONSUME: the cheapest way to consume: TRACEMAP_MAP where the mapping is cheap
 *	and no snapshot keeps the buffer from being mapped, else TRACEMAP_READ
 * @TRACEMAP_READ: by read(2), which copies the events; every kernel can do it
 * @TRACEMAP_MAP: by mmap(2) and TRACE_MMAP_IOCTL_GET_READER. Mainline kernels can do
 *	it from 6.10 on, but there read(2) is cheaper
 * @TRACEMAP_OBSERVE: by the live view: it takes no event from a consumer, and reading
 *	costs no system call. It also shows events that others have consumed, until they
 *	are overwritten. While the live view is open, the buffer cannot be resized and no
 *	snapshot can be taken (EBUSY), but current_tracer can be changed
 */
enum tracemap_way {
	TRACEMAP_CONSUME,
	TRACEMAP_READ,
	TRACEMAP_MAP,
	TRACEMAP_OBSERVE,
};

enum {
	/* In struct tracemap_options. */
	TRACEMAP_FROM_NOW	= 1 << 0, /* pass over the events that are there already */
	TRACEMAP_OWN		= 1 << 1, /* buffer_percent may be changed, see tracemap_wait() */

	/* In struct tracemap_record and struct tracemap_batch. */
	TRACEMAP_RESET		= 1 << 8, /* the buffer was emptied right before */
	TRACEMAP_LATE		= 1 << 9, /* older than a record the merge has handed out */
	TRACEMAP_FRESH		= 1 << 10, /* set by a source: see struct tracemap_source */
};

/* Events were lost, and the kernel does not say how many. */
#define TRACEMAP_MISSED_UNKNOWN		UINT64_MAX

/**
 * struct tracemap_options - how to open buffers
 * @size: sizeof(struct tracemap_options), since a later version may add members
 * @way: how to read, see libtracemap(3)
 * @flags: TRACEMAP_FROM_NOW passes over the events that are there already; unless the
 *	buffer is observed, this consumes them. TRACEMAP_OWN says that the caller alone uses
 *	the instance, so that tracemap_wait() may change its buffer_percent
 * @nr_cpus: how many numbers @cpus holds; 0 for all CPUs that have a buffer
 * @cpus: which CPUs to open, by number; each of them must have a buffer
 * @wake_bytes: how many unread bytes of a CPU end a wait, see tracemap_wait(); 0 for the
 *	instance's buffer_percent
 * @read_ahead_bytes: how much memory all these CPUs together may use for what
 *	tracemap_merge_next() reads ahead and tracemap_until_now() copies; 0 for 64 MiB
 */
struct tracemap_options {
	size_t size;
	enum tracemap_way way;
	uint32_t flags;
	uint32_t nr_cpus;
	const int *cpus;
	uint64_t wake_bytes;
	uint64_t read_ahead_bytes;
};

/**
 * tracemap_default_options - the options that NULL stands for
 *
 * Begin with these, and set what is to be different.
 *
 * Return: options to consume in the cheapest way, from the oldest event on, with waits
 * that any event ends
 */
static inline struct tracemap_options tracemap_default_options(void)
{
	struct tracemap_options options;

	memset(&options, 0, sizeof(options));
	options.size = sizeof(options);
	options.wake_bytes = 1;
	return options;
}

/*
 * Programs have the size of a record compiled in, and fill records themselves, since
 * tracemap_merge_next() is inline. Members that a later version adds use the reserved
 * room, and are valid only where a flag says so.
 */

/**
 * struct tracemap_record - one event, or the loss of events
 * @ts: time stamp, in units of the trace clock
 * @data: the event, in place; valid until the next call that moves on in the same source.
 *	NULL if there is no event: then @missed or @flags say what happened at @ts, which
 *	is 0 if the time is not known
 * @size: bytes of @data, rounded up to 4 by the kernel
 * @cpu: the number of the CPU whose buffer it comes from
 * @flags: TRACEMAP_RESET if the buffer was emptied right before; TRACEMAP_LATE if the
 *	record is older than one that a merge has handed out
 * @missed: how many events of that CPU were lost right before this one;
 *	TRACEMAP_MISSED_UNKNOWN if the kernel does not give the number
 *
 * A loss that no event follows yet comes as a record without data, and so does
 * TRACEMAP_RESET.
 */
struct tracemap_record {
	uint64_t ts;
	const void *data;
	uint32_t size;
	int32_t cpu;
	uint32_t flags;
	uint64_t missed;

	/* private: room to grow */
	uint64_t reserved[3];
};

/**
 * tracemap_record_id - the id of an event, as the file events/.../id has it
 * @rec: a record of the running kernel
 *
 * Return: the id, or -1 if the record is too short to have one
 */
static inline int tracemap_record_id(const struct tracemap_record *rec)
{
	uint16_t id;

	if (!rec->data || rec->size < sizeof(id))
		return -1;
	memcpy(&id, rec->data, sizeof(id));
	return id;
}

/* ---- One CPU's buffer ---- */

struct tracemap_cpu;

/*
 * Programs have the layout of the iterator compiled in, by this structure and by
 * tracemap_merge_next(). Members that a later version adds to it use the reserved room,
 * so that the other members stay where they are.
 */

/**
 * struct tracemap_batch - the new records of a sub-buffer
 * @it: an iterator over the records
 * @missed: how many events were lost right before the first, or
 *	TRACEMAP_MISSED_UNKNOWN
 * @flags: TRACEMAP_RESET if the buffer was emptied right before
 * @cpu: the number of the CPU
 * @events: how many records the caller has gone through
 *
 * Go through it by tracemap_batch_next(). To be as quick as parsing alone, copy @it, go
 * through the copy by subbuf_next(), store it back, and add the number of records to
 * @events.
 */
struct tracemap_batch {
	struct subbuf_iter it;

	/* private: room for @it to grow, 0 */
	uint64_t reserved[4];

	/* public: */
	uint64_t missed;
	uint32_t flags;
	int32_t cpu;
	uint32_t events;
};

/**
 * tracemap_batch_next - take the next record of a batch, and count it
 * @b: the batch
 * @rec: filled, if there is a record
 *
 * Return: whether there was one
 */
static inline bool tracemap_batch_next(struct tracemap_batch *b,
				       struct subbuf_record *rec)
{
	if (!subbuf_next(&b->it, rec))
		return false;
	b->events++;
	return true;
}

/**
 * tracemap_cpu_open - open the buffer of one CPU
 * @cpu: set to a new handle; left alone on failure
 * @dir: the folder of the instance: /sys/kernel/tracing, or one in instances/ there
 * @number: the number of the CPU
 * @options: as for tracemap_open(), but @nr_cpus, @cpus and @wake_bytes are ignored.
 *	NULL: consume, from the oldest event on
 *
 * If another consumer has read a part of the oldest sub-buffer, the records begin
 * behind that part.
 *
 * Return: 0, or a negative errno, one of those of tracemap_open()
 */
int tracemap_cpu_open(struct tracemap_cpu **cpu, const char *dir, int number,
		      const struct tracemap_options *options);
/**
 * tracemap_cpu_open_file - read sub-buffers out of a file or a pipe
 * @cpu: set to a new handle; left alone on failure
 * @fd: the file, which is read from its present position on. The caller keeps it, and
 *	must not close it before the handle
 * @number: any number, which the records get as their CPU
 * @format: the layout of the sub-buffers, see subbuf_format_parse(); it is in
 *	events/header_page of the kernel that wrote the file
 *
 * The file holds one sub-buffer after the other, as a copy of trace_pipe_raw does. Make a
 * pipe O_NONBLOCK, or else taking a record waits for it.
 *
 * Return: 0, or a negative errno
 * * -EINVAL - No sub-buffer can have such a format: fill it by subbuf_format_parse().
 * * -EBADF - @fd is no open file.
 * * -ENOMEM - There is no memory.
 */
int tracemap_cpu_open_file(struct tracemap_cpu **cpu, int fd, int number,
			   const struct subbuf_format *format);

/**
 * tracemap_cpu_close - close one CPU's buffer, or a file
 * @cpu: the handle, or NULL, but not one that tracemap_get_cpu() returned
 *
 * Its records and batches are no longer valid. Records that were fetched from a consumed
 * buffer and not looked at are lost.
 */
void tracemap_cpu_close(struct tracemap_cpu *cpu);

/**
 * tracemap_cpu_fetch - get the new records of a sub-buffer at once
 * @cpu: the handle
 * @batch: set to the records, if there are any. The handle owns them, and they are valid
 *	until the next call that fetches from it
 *
 * A batch begins after the last record that tracemap_cpu_next() or the caller of
 * tracemap_cpu_fetch() took. The next call returns once more the records that the caller
 * has not gone through, which @it of the batch says, but without the loss. A batch may
 * have no records, and only report a loss or a reset.
 *
 * Return: 1 if there is something, 0 if there is nothing yet, or a negative errno, for a
 * file any of read(2)
 * * -ENODATA - The file is at its end, or the handle has reached the end that
 *   tracemap_until_now() set.
 * * -EBADMSG - The sub-buffer is damaged, or a file ends within one. Records handed out
 *   before are good, and the rest of the sub-buffer is lost; it counts as missed only if
 *   the buffer is observed. Call again to go on after the damage.
 * * -EPROTO - What the kernel says about the buffer cannot be true: close the handle.
 * * -EINTR - A signal ended the wait for a file that can wait: call again.
 */
int tracemap_cpu_fetch(struct tracemap_cpu *cpu, struct tracemap_batch **batch);

/**
 * tracemap_cpu_next - take the next record
 * @cpu: the handle
 * @rec: filled, if there is a record
 *
 * Return: 1 if there is a record, 0 if there is none yet, or a negative errno, one of
 * those of tracemap_cpu_fetch()
 */
int tracemap_cpu_next(struct tracemap_cpu *cpu, struct tracemap_record *rec);

/**
 * tracemap_cpu_until_now - let a handle end at what the buffer holds by now
 * @cpu: the handle
 *
 * After the last event that was committed before the call, the handle returns -ENODATA,
 * although the writer goes on. The call copies the events up to there, as far as
 * @read_ahead_bytes of the options allows, so that the caller may take its time. It makes data
 * of records that were taken before invalid.
 *
 * Of an observer, events that the writer overwrites before they are copied are reported as
 * missed, in exact numbers; those that were overwritten before the handle was opened, or
 * come after the call, are not. If the buffer is emptied meanwhile, a last record without
 * data has TRACEMAP_RESET, and counts as missed all events that were not copied.
 *
 * A consumer takes no more events than there were at the call, except that it takes the
 * last sub-buffer as it is when its turn comes, with events that came after the call. Where
 * the events up to the call were overwritten before they were copied, it takes the next
 * sub-buffer, too, which reports them as missed. What is overwritten behind that is reported
 * to the next consumer, and to none before. Where the buffer was emptied since, the handle is
 * at its end.
 *
 * Another call moves the end to the last event by then, and the handle goes on after what
 * was read.
 *
 * Return: 0, or a negative errno, which may be one of reading per_cpu/cpuN/stats
 * * -EOPNOTSUPP - The handle is that of a file.
 * * -EAGAIN - The buffer was being emptied, or the writer was too quick, at each of
 *   several tries: try later.
 */
int tracemap_cpu_until_now(struct tracemap_cpu *cpu);

/**
 * tracemap_cpu_number - the number of the CPU
 * @cpu: the handle
 *
 * Return: the number that was given when the handle was opened
 */
int tracemap_cpu_number(const struct tracemap_cpu *cpu);

/**
 * tracemap_cpu_way - how the buffer is read
 * @cpu: the handle
 *
 * Return: TRACEMAP_READ, TRACEMAP_MAP or TRACEMAP_OBSERVE; if TRACEMAP_CONSUME was asked
 * for, the way that was chosen
 */
enum tracemap_way tracemap_cpu_way(const struct tracemap_cpu *cpu);

/**
 * tracemap_way_name - a word for a way to read
 * @way: any way
 *
 * Return: "consume", "read", "map" or "observe"; "unknown" for another number
 */
const char *tracemap_way_name(enum tracemap_way way);

/**
 * struct tracemap_figures - counts of a CPU's buffer
 * @committed: events committed
 * @overwritten: how many of these were overwritten before a consumer read them
 * @consumed: how many of these consumers have taken
 * @dropped: events for which there was no room
 * @used: sub-buffers that hold unread events, and the one that is being written
 * @nr_subbufs: sub-buffers of the buffer
 * @subbuf_size: bytes of a sub-buffer
 * @epoch: changes when the buffer is emptied, which restarts all counts
 * @read_ahead: events that a merge has read ahead into this handle and not handed out; no
 *	other reader gets them. It leaves out the sub-buffer that is being handed out, one of
 *	each CPU: what is left of that is in @consumed, and neither handed out nor in @read_ahead
 * @taken: how many of @consumed this handle has taken, whether or not the caller has seen them
 *	yet: what @consumed has grown by beyond that since the handle was opened, others have
 *	consumed. It goes on counting when the buffer is emptied. TRACEMAP_TAKEN_UNKNOWN from the
 *	first damaged sub-buffer on
 */
struct tracemap_figures {
	uint64_t committed;
	uint64_t overwritten;
	uint64_t consumed;
	uint64_t dropped;
	uint32_t used;
	uint32_t nr_subbufs;
	uint32_t subbuf_size;
	uint32_t epoch;
	uint64_t read_ahead;
	uint64_t taken;

	/* private: room to grow, 0 */
	uint64_t reserved[6];
};

/* A sub-buffer was damaged, so that the number of events that were taken is not known. */
#define TRACEMAP_TAKEN_UNKNOWN		UINT64_MAX

/**
 * tracemap_figures_unread - about how many events there are to read
 * @f: the figures
 *
 * A consumer that has caught up has consumed events of the sub-buffer that is being
 * written, which @committed does not count yet. Where @consumed exceeds @committed for
 * that reason, the buffer counts as having none.
 *
 * Return: the number of events that no consumer has read, and those of @read_ahead
 */
static inline uint64_t tracemap_figures_unread(const struct tracemap_figures *f)
{
	uint64_t passed = f->overwritten + f->consumed;

	return f->read_ahead + (f->committed > passed ? f->committed - passed : 0);
}

/**
 * tracemap_cpu_figures - read the counts of a buffer
 * @cpu: the handle
 * @figures: filled
 *
 * Where the CPU is mapped or observed, and the kernel has the live view, this costs no
 * system call, and does not count events of the sub-buffer that is being written.
 * Elsewhere it reads per_cpu/cpuN/stats: then @used is an estimate from the unread bytes,
 * @nr_subbufs is one from buffer_size_kb unless the CPU is mapped, and @epoch is 0.
 *
 * Return: 0, or a negative errno, which may be one of reading that file
 * * -EAGAIN - The buffer was being emptied, or the writer was too quick: try again later.
 * * -EOPNOTSUPP - A file has no figures.
 */
int tracemap_cpu_figures(const struct tracemap_cpu *cpu,
			 struct tracemap_figures *figures);

/**
 * struct tracemap_raw - the memory of a CPU's buffer, for a reader of the caller's own
 * @fd: trace_pipe_raw of the CPU, or trace_live where the buffer is observed, for
 *	ioctl(2) and poll(2)
 * @meta: the meta page, described in linux/trace_mmap.h; NULL where the buffer is
 *	observed
 * @meta_size: bytes of the meta page
 * @subbufs: sub-buffer 0, with the others behind it
 * @subbufs_size: bytes of all sub-buffers
 * @index: the live index, described in linux/trace_live.h; NULL where the kernel has
 *	none
 * @index_size: bytes mapped at @index. Where the buffer is observed this includes the
 *	sub-buffers, as tracemap/live.h wants it; where it is consumed by mapping it is
 *	the index alone
 * @format: the layout of a sub-buffer, for subbuf(3)
 * @reader: the id of the reader sub-buffer in @subbufs, as of the last time a consumer
 *	read; 0 where the buffer is observed
 *
 * All pointers and sizes are NULL and 0 where the CPU is read by read(2).
 */
struct tracemap_raw {
	int fd;
	const struct trace_buffer_meta *meta;
	size_t meta_size;
	const void *subbufs;
	size_t subbufs_size;
	const struct trace_live_index *index;
	size_t index_size;
	struct subbuf_format format;
	uint32_t reader;

	/* private: room to grow, 0 */
	uint64_t reserved[8];
};

/**
 * tracemap_cpu_raw - find the memory of a buffer
 * @cpu: the handle
 * @raw: filled; good until the handle is closed
 *
 * The memory may be read at any time, by the rules of linux/trace_mmap.h and
 * linux/trace_live.h. A program that calls TRACE_MMAP_IOCTL_GET_READER should take no
 * records by the same handle.
 *
 * Return: 0
 */
int tracemap_cpu_raw(const struct tracemap_cpu *cpu, struct tracemap_raw *raw);

/* ---- All CPUs of an instance ---- */

struct tracemap;

/**
 * tracemap_open - open the buffers of all CPUs of an instance, or of some
 * @t: set to a new handle; left alone on failure
 * @dir: the folder of the instance: /sys/kernel/tracing, or one in instances/ there; see
 *	tracemap_find_dir()
 * @options: how to open them; NULL for tracemap_default_options()
 *
 * A CPU that has not been up since the instance was made has no buffer, and is left out
 * unless @cpus of the options names it.
 *
 * Return: 0, or a negative errno
 * * -ENOENT - There are no buffers in @dir: mount tracefs, make the instance, or correct
 *   the name.
 * * -EACCES, -EPERM - Only root, and users who were given access to the files, may read
 *   them.
 * * -ENXIO - No CPU has a buffer, or one of @cpus does not exist or has not been up since
 *   the instance was made: name those that are in per_cpu/.
 * * -EOPNOTSUPP - This kernel, or machine, cannot read in this way: open the buffers with
 *   TRACEMAP_CONSUME.
 * * -EBUSY - The buffer cannot be mapped because its snapshot is in use, by a trigger, a
 *   histogram or a tracer: end that, or use TRACEMAP_CONSUME or TRACEMAP_READ. Or the
 *   instance is being removed.
 * * -EINVAL - The options make no sense: an unknown @way or flag, @nr_cpus without @cpus, a
 *   CPU with a negative number, or a @size that was not set.
 * * -E2BIG - The options have something that this version of the library does not know.
 * * -ENOMEM - There is no memory, or no address space to map the buffers: make these
 *   smaller, or read fewer CPUs.
 * * -EMFILE, -ENFILE - Too many files are open: raise the limit. A CPU needs two.
 * * -EOVERFLOW - The buffer is too large for a 32-bit program to map: use TRACEMAP_READ.
 * * -EAGAIN - The buffer was being emptied at each of several tries: try later.
 * * -EPROTO - The kernel describes its buffers in a way that this library does not know:
 *   use a newer one.
 */
int tracemap_open(struct tracemap **t, const char *dir,
		  const struct tracemap_options *options);

/**
 * tracemap_close - close the buffers of an instance
 * @t: the handle, or NULL
 *
 * This closes the handles of its CPUs, too.
 */
void tracemap_close(struct tracemap *t);

/**
 * tracemap_rescan - open the buffers of CPUs that came up for the first time
 * @t: the handle
 *
 * The new CPUs get the highest indices, and are read as the options of tracemap_open()
 * say. If these named @cpus, no others are opened. A CPU that goes down keeps its buffer,
 * and needs no call.
 *
 * Return: how many CPUs are new, or a negative errno, one of those of tracemap_open();
 * CPUs that were opened before the error stay open
 */
int tracemap_rescan(struct tracemap *t);

/**
 * tracemap_nr_cpus - how many CPUs are open
 * @t: the handle
 *
 * Return: their number
 */
unsigned int tracemap_nr_cpus(const struct tracemap *t);

/**
 * tracemap_get_cpu - the handle of one CPU
 * @t: the handle
 * @i: an index, from 0; this is not the number of the CPU
 *
 * Return: the handle, which tracemap_close() closes; NULL if @i is not below
 * tracemap_nr_cpus()
 */
struct tracemap_cpu *tracemap_get_cpu(const struct tracemap *t, unsigned int i);

/**
 * tracemap_until_now - let all CPUs end at what the buffers hold by now
 * @t: the handle
 *
 * This is tracemap_cpu_until_now() for each CPU. A merge of these CPUs is at its end,
 * -ENODATA, when all of them are. The merge does not go on after another call: begin a
 * new one.
 *
 * Return: 0, or a negative errno, one of those of tracemap_cpu_until_now()
 */
int tracemap_until_now(struct tracemap *t);

/**
 * tracemap_wait - wait until a CPU has something
 * @t: the handle
 * @timeout_ms: how many milliseconds to wait at most; a negative number waits for ever,
 *	0 only asks
 *
 * Take all there is, then wait. The wait ends when as many bytes of a CPU are unread as
 * @wake_bytes of the options says, or, if that is 0, when the instance's buffer_percent
 * is reached. Where the kernel can only do the latter, and neither is 0, the call looks
 * at the buffers after 1, 2, 4 and so on up to 64 milliseconds. With TRACEMAP_OWN, and a
 * @wake_bytes of 1, it does so for 32 milliseconds only. Then it sets buffer_percent to 0, and
 * sleeps until an event comes; the next call after that sets what it was before.
 *
 * If the caller still holds something of a CPU, such as half a batch, that CPU does not
 * end the wait, unless this is so for all CPUs: the caller waits for the others. A CPU
 * whose records wait in a merge ends the wait only when its buffer fills, so that the
 * merge can read ahead. The call makes data of records that were taken before invalid.
 *
 * Return: 1 if there is something, even if taking it will fail; 0 if the time is over; or
 * a negative errno
 * * -EINTR - A signal came: handle it, and wait again.
 * * -ENOMEM, -ENOSPC - epoll_ctl(2) has no room for more files: raise
 *   /proc/sys/fs/epoll/max_user_watches.
 */
int tracemap_wait(struct tracemap *t, int timeout_ms);

/**
 * tracemap_wait_with - wait until a CPU has something, or a descriptor of the caller is ready
 * @t: the handle
 * @fds: descriptors, as poll(2) takes them, such as those of signals or of a timer
 * @nr: how many there are, up to TRACEMAP_WAIT_FDS
 * @timeout_ms: as for tracemap_wait()
 *
 * This is tracemap_wait() for a program that waits for other things, too. The revents of @fds
 * say which are ready; all are 0 where there was no need to wait.
 *
 * Return: 1 if there is something, as tracemap_wait() says; 0 if there is not, but a descriptor
 * is ready or the time is over; or a negative errno, one of those of tracemap_wait() or
 * * -EINVAL - There are too many descriptors.
 */
int tracemap_wait_with(struct tracemap *t, struct pollfd *fds, unsigned int nr, int timeout_ms);

/**
 * tracemap_set_wake_bytes - change how many unread bytes end the waits that follow
 * @t: the handle
 * @bytes: as @wake_bytes of the options
 *
 * A program that has taken everything may sleep until there is any event, and then let the
 * buffers fill for a while.
 */
void tracemap_set_wake_bytes(struct tracemap *t, uint64_t bytes);

/**
 * tracemap_fd - a descriptor for poll(2) or epoll(7) of the caller
 * @t: the handle
 *
 * The descriptor is readable when tracemap_wait() would return 1. Call tracemap_arm()
 * each time before you wait for it. Do not read, change or close it.
 *
 * Return: the descriptor
 */
int tracemap_fd(const struct tracemap *t);

/**
 * tracemap_arm - prepare the descriptor of tracemap_fd() for a wait
 * @t: the handle; take everything from its CPUs before
 *
 * This tells the kernel how far each CPU was read, as tracemap_wait() does before it
 * sleeps.
 *
 * Return: 0 if the descriptor becomes readable whenever something comes; a positive
 * number of milliseconds, after which to look at the CPUs even if the descriptor did not
 * become readable; or a negative errno, one of those of tracemap_wait()
 */
int tracemap_arm(struct tracemap *t);

/* ---- The order of time ---- */

struct tracemap_merge;

/**
 * struct tracemap_source - anything that has records in the order of time
 * @size: sizeof(struct tracemap_source), since a later version may add members
 * @cpu: the number that its records get as their CPU
 * @arg: the first argument of both functions
 * @next: a function that fills @rec and returns 1, or that returns 0 for nothing yet,
 *	-ENODATA for the end, or another negative errno. The record has to stay valid
 *	until @release is called
 * @release: a function that is called when the record is no longer used, before @next is
 *	called again; may be NULL
 *
 * While other sources have nothing, a record waits until @delay_ns of the merge have
 * passed since it was found. A source that finds several records at once has to set
 * TRACEMAP_FRESH in the flags of the first of them each time, so that the time of the
 * others counts from then, too. For a source that never sets it, that time counts from
 * the first record after it had nothing.
 */
struct tracemap_source {
	size_t size;
	int32_t cpu;
	void *arg;
	int (*next)(void *arg, struct tracemap_record *rec);
	void (*release)(void *arg);
};

/**
 * struct tracemap_merge_options - how to merge
 * @size: sizeof(struct tracemap_merge_options), since a later version may add members
 * @delay_ns: how long a record waits for older ones of sources that have nothing, in
 *	nanoseconds of real time
 */
struct tracemap_merge_options {
	size_t size;
	uint64_t delay_ns;
};

/**
 * tracemap_merge_new - begin a merge
 * @m: set to a new handle; left alone on failure
 * @options: how to merge, or NULL for the usual delay
 *
 * The usual delay is 10 milliseconds. It is 1 millisecond if the merge has only CPUs whose
 * buffers have a live index; but then the merge ends at most 100 waits a second: each wait
 * that ends wakes the caller, which writes events where idling, timers or scheduling are
 * traced, and these have to wait as well.
 *
 * Return: 0, or a negative errno
 * * -EINVAL - The options have no @size.
 * * -E2BIG - The options have something that this version of the library does not know.
 * * -ENOMEM - There is no memory.
 */
int tracemap_merge_new(struct tracemap_merge **m,
		       const struct tracemap_merge_options *options);

/**
 * tracemap_merge_free - end a merge
 * @m: the merge, or NULL
 *
 * Call it before you close what was added; it does not close that itself. Records that
 * were not handed out are the next that their tracemap_cpu returns.
 */
void tracemap_merge_free(struct tracemap_merge *m);

/**
 * tracemap_merge_add_all - add all CPUs of an instance that the merge does not have yet
 * @m: the merge
 * @t: the instance; after tracemap_rescan(), add it again
 *
 * Return: 0, or a negative errno, one of those of tracemap_merge_add_cpu()
 */
int tracemap_merge_add_all(struct tracemap_merge *m, struct tracemap *t);

/**
 * tracemap_merge_add_cpu - add one CPU
 * @m: the merge
 * @cpu: its handle; as long as it is in the merge, only the merge may take from it
 *
 * Return: 0, or a negative errno
 * * -EEXIST - The CPU is in this merge already.
 * * -ENOMEM - There is no memory.
 */
int tracemap_merge_add_cpu(struct tracemap_merge *m, struct tracemap_cpu *cpu);

/**
 * tracemap_merge_add_source - add anything else that has records in the order of time
 * @m: the merge
 * @source: how to get the records; the structure is copied
 *
 * Return: 0, or a negative errno
 * * -EINVAL - The source has no @size, or no @next.
 * * -E2BIG - The source has something that this version of the library does not know.
 * * -ENOMEM - There is no memory.
 */
int tracemap_merge_add_source(struct tracemap_merge *m,
			      const struct tracemap_source *source);

/**
 * tracemap_merge_take - do what tracemap_merge_next() does, as a plain call
 * @m: the merge
 * @rec: filled, if there is a record; its data are valid until the next call
 *
 * It is for other languages, which cannot use C's inline functions.
 *
 * Return: what tracemap_merge_next() returns
 */
int tracemap_merge_take(struct tracemap_merge *m, struct tracemap_record *rec);

/**
 * tracemap_merge_turn - for the inline part of tracemap_merge_next() alone
 * @m: the merge
 * @rec: filled, if there is a record; its data are valid until the next call
 * @ts: the time stamp of a record that was taken from its batch and is not the oldest
 * @data: the data of that record
 * @size: bytes of @data
 * @before: where that record begins in its sub-buffer
 *
 * It keeps that record for later, and hands out the oldest one, which is another
 * source's.
 *
 * Return: what tracemap_merge_next() returns
 */
int tracemap_merge_turn(struct tracemap_merge *m, struct tracemap_record *rec, uint64_t ts,
			const void *data, uint32_t size, const void *before);

/**
 * tracemap_merge_timeout - how long to wait when the merge had no record
 * @m: the merge
 * @timeout_ms: how many milliseconds the caller wants to wait; a negative number means
 *	for ever
 *
 * Return: @timeout_ms, or less if a record may go out earlier; pass it to tracemap_wait()
 */
int tracemap_merge_timeout(const struct tracemap_merge *m, int timeout_ms);

/**
 * tracemap_merge_flush - hand out what there is, without waiting for older records
 * @m: the merge
 *
 * This holds until tracemap_merge_next() says that there is nothing more. Call it at the
 * end, when no program writes events any more, or when a delay is worse than a record out
 * of order.
 */
void tracemap_merge_flush(struct tracemap_merge *m);

/**
 * tracemap_merge_failed_cpu - say which source the last error came from
 * @m: the merge
 *
 * Return: the number that the records of that source have as their CPU; -1 if there was
 * no error
 */
int tracemap_merge_failed_cpu(const struct tracemap_merge *m);

/*
 * The start of a struct tracemap_merge: the batch whose records go out now, and up to
 * which time stamp they may. A later version may make it longer; everything behind it
 * belongs to the library.
 */
struct tracemap_merge_head {
	struct tracemap_batch *run;
	uint64_t run_end;
};

/**
 * tracemap_merge_next - take the next record in the order of time
 * @m: the merge
 * @rec: filled, if there is a record; its data are valid until the next call
 *
 * A record is handed out when every other source has a later one, or still has nothing
 * @delay_ns after this one was found: then no older one should come. If an older one
 * comes nevertheless, it is handed out at once, with TRACEMAP_LATE in its flags. No
 * record is dropped, and records of one source keep their order. Of records with the same
 * time stamp any may come first.
 *
 * Return: 1 if there is a record, 0 if there is none yet or it has to wait, or a negative
 * errno, which may be one of a source. After the error of a source the next call goes on
 * with the other sources; after -EINTR, and after -EBADMSG of a CPU, also with that
 * source
 * * -ENODATA - All sources are at their end, or there are none.
 * * -EBADMSG - A sub-buffer of a CPU is damaged, and tracemap_merge_failed_cpu() says of
 *   which: call again to go on after the damage.
 */
static inline int tracemap_merge_next(struct tracemap_merge *m, struct tracemap_record *rec)
{
	const struct tracemap_merge_head *head = (const struct tracemap_merge_head *)m;
	struct tracemap_batch *run = head->run;
	const unsigned char *before = run->it.next;
	struct subbuf_record r;

	if (!subbuf__likely(before < run->it.fast_end) || !subbuf__next_fast(&run->it, &r))
		return tracemap_merge_take(m, rec);
	run->events++;
	if (!subbuf__likely(r.ts <= head->run_end))
		return tracemap_merge_turn(m, rec, r.ts, r.data, r.size, before);
	rec->ts = r.ts;
	rec->data = r.data;
	rec->size = r.size;
	rec->cpu = run->cpu;
	rec->flags = 0;
	rec->missed = 0;
	return 1;
}

#ifdef __cplusplus
}
#endif

#endif /* _TRACEMAP_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Watch a CPU's events by its file trace_live, and take none from a consumer: print
 * each event from the oldest one on, and each gap where events were missed, and
 * sleep while there are none.
 *
 *	trace_mmap_live [CPU [TRACEFS]]
 *
 * TRACEFS may be the folder of an instance. Between the marks in brackets is a whole
 * observer, which needs linux/trace_live.h and nothing else of this tree; see
 * Documentation/trace/ring-buffer-live.rst. tools/lib/tracemap/live.h is one for programs
 * that read in place, and "tracemap stream --way observe" prints the events of all CPUs, in
 * the order of time.
 */
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/trace_live.h>

#include "print.h"

/* [state] */
struct watch {
	int cpu, fd;
	struct trace_live_index *index;
	struct trace_live_subbuf *entry;	/* of the generation that is read */
	unsigned char *subbuf;	/* the sub-buffer that holds it */
	unsigned char *subbufs;	/* all of them */
	unsigned char *copy;	/* of its records */
	__u64 first;		/* the generation that the buffer began with */
	__u64 generation;	/* the generation that is read */
	__u32 read;		/* bytes of its records that were taken */
	__u64 time;		/* of the last of them */
	__u64 count;		/* events since first that are before that position */
	__u64 missed;		/* how many of them the writer overwrote before */
	__u64 told;		/* how many of these were printed */
	__u64 begun;		/* the value of first of the last event that was printed */
	struct tep_handle *tep;
};

/* [end of state] */

static void print_data(struct watch *w, const void *data, __u32 size)
{
	struct subbuf_record record = { .ts = w->time, .data = data, .size = size };

	if (w->first != w->begun) {
		printf("CPU %d: the buffer was emptied here\n", w->cpu);
		w->begun = w->first;
		w->told = 0;
	}
	if (w->missed != w->told)
		printf("CPU %d: missed %llu events here\n", w->cpu,
		       (unsigned long long)(w->missed - w->told));
	w->told = w->missed;
	print_event(w->tep, w->cpu, &record);
}

/* [records] */
#define big_endian	(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

/* Take the records from w->read to @end. They are a copy that is known to be good. */
static void take(struct watch *w, __u64 stamp, __u32 end)
{
	__u64 length, time;

	if (!w->read)
		w->time = stamp;
	for (; end - w->read >= 8; w->read += length) {
		__u32 *word = (__u32 *)(w->copy + w->read);
		__u32 type = big_endian ? word[0] >> 27 : word[0] & 31;
		__u32 delta = big_endian ? word[0] & 0x7ffffff : word[0] >> 5;

		length = type >= 30 ? 8 : 4 + (type && type < 29 ? 4 * type : (__u64)word[1]);
		if (length < 8 || length > end - w->read || (type == 29 && !delta))
			break;	/* nothing follows */
		time = type < 30 ? delta : ((__u64)word[1] << 27) + delta;
		if (type == 31)	/* without its upper 5 bits */
			time += (w->time >> 59) << 59;
		if (type == 31 && time < w->time)
			time += 1ULL << 59;
		w->time = type == 31 ? time : w->time + time;
		if (type < 29) {
			print_data(w, word + 1 + !type, length - 4 - 4 * !type);
			w->count++;
		}
	}
	w->read = end;
}

/* [end of records] */

/* [observer] */
#define load(p)		__atomic_load_n(p, __ATOMIC_RELAXED)
#define load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define read_barrier()	__atomic_thread_fence(__ATOMIC_ACQUIRE)

/* ADVANCE to the next generation, or to the oldest one that is not overwritten. */
static bool advance(struct watch *w)
{
	struct trace_live_index *index = w->index;
	__u64 g = w->generation, n = index->nr_slots, now, before;

	do {
		now = load_acquire(&index->commit_generation);
		g = now >= n && g < now - n ? now - n + 1 : g + 1;
		if (g > now)
			return false;	/* not committed yet, or not seen yet */
		w->entry = (void *)index + index->entries_offset + g % n * index->entry_size;
		w->subbuf = w->subbufs + (__u64)load(&w->entry->id) * index->subbuf_size;
		before = load(&w->entry->before);
		read_barrier();
	} while (load(&w->entry->generation) != g);

	w->missed += before - w->count;
	w->count = before;
	w->generation = g;
	w->read = 0;
	return true;
}

/* START with the oldest event, or with the first one after the buffer was emptied. */
static bool start(struct watch *w)
{
	__u64 first = load(&w->index->first);

	if (load_acquire(&w->index->commit_generation) < first)
		return false;	/* it is being emptied */
	w->first = first;
	w->generation = first - 1;
	w->count = 0;
	w->missed = 0;
	return advance(w);
}

/* LOOK and CHECK. Returns whether there may be more. */
static bool look(struct watch *w)
{
	struct trace_live_index *index = w->index;
	__u64 stamp, now = load_acquire(&index->commit_generation);
	bool final = now != w->generation;
	__u32 end = final ? load(&w->entry->size) :
		load_acquire((__u64 *)(w->subbuf + index->commit_offset)) & 0x3fffffff;

	if (end < w->read || end > index->subbuf_size - index->data_offset)
		end = w->read;
	memcpy(w->copy + w->read, w->subbuf + index->data_offset + w->read, end - w->read);
	memcpy(&stamp, w->subbuf, sizeof(stamp));
	read_barrier();
	if (load(&index->first) != w->first)
		return start(w);
	if (load(&w->entry->generation) != w->generation)
		return advance(w);
	if (!final && load(&index->commit_generation) != now)
		return true;
	if (end == w->read)
		return final && advance(w);
	take(w, stamp, end);
	return true;
}

/* Sleep until there is any event beyond the position. */
static bool wait_for_more(struct watch *w)
{
	struct trace_live_position position = { sizeof(position), w->read, w->generation, 1 };

	return !ioctl(w->fd, TRACE_LIVE_IOCTL_SET_POSITION, &position) &&
	       poll(&(struct pollfd){ .fd = w->fd, .events = POLLIN }, 1, -1) > 0;
}

/* [end of observer] */

static void *map(int fd, size_t size)
{
	void *start = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (start == MAP_FAILED)
		err(1, "mmap of trace_live");
	return start;
}

int main(int argc, char **argv)
{
	struct watch w = { .cpu = argc > 1 ? atoi(argv[1]) : 0 };

	w.fd = open_buffer(argc > 2 ? argv[2] : "/sys/kernel/tracing", w.cpu, "trace_live");
	w.tep = read_events();
	w.index = map(w.fd, getpagesize());
	w.index = map(w.fd, w.index->mapping_size);
	w.subbufs = (void *)w.index + w.index->subbufs_offset;
	w.copy = malloc(w.index->subbuf_size);
	if (!w.copy)
		err(1, "memory");

	while (!start(&w))	/* the buffer is being emptied */
		sched_yield();
	w.missed = 0;	/* what was overwritten before */
	w.begun = w.first;
	do {
		while (look(&w))
			;
		fflush(stdout);
	} while (wait_for_more(&w));
	err(1, "waiting for trace_live");
}

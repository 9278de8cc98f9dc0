// SPDX-License-Identifier: GPL-2.0
/*
 * Watch a CPU's events by its file trace_live, and take none from a consumer: print
 * each event from the oldest one on, and each gap where events were missed, and
 * sleep while there are none.
 *
 *	trace_mmap_live [CPU [TRACEFS]]
 *
 * TRACEFS may be the folder of an instance. See Documentation/trace/ring-buffer-live.rst;
 * "tracemap stream --observe" is a program that does this for all CPUs, in the order of time.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "live.h"
#include "print.h"

struct watch {
	int cpu, fd;
	struct live_mapping map;
	struct live_observer o;
	void *copy;		/* of a sub-buffer */
	struct tep_handle *tep;
};

static void attach(struct watch *w)
{
	int ret = live_map(&w->map, w->fd);

	if (!ret)
		ret = live_attach(&w->o, &w->map, LIVE_FROM_OLDEST);
	if (ret)
		errx(1, "trace_live: %s", strerror(-ret));
	w->copy = malloc(w->o.format.subbuf_size);
	if (!w->copy)
		err(1, "memory");
}

/*
 * What is printed cannot be taken back, and the writer may overwrite what is looked
 * at, so a good copy is printed. A program that only counts or sums up needs no copy:
 * it reads in place, and forgets what live_accept() answers 0 to.
 */
static void print_events(struct watch *w, struct subbuf_iter *it)
{
	struct subbuf_record rec;
	__u32 events = 0;

	if (!live_copy(&w->o, it, w->copy, w->o.format.subbuf_size))
		return;		/* It was overwritten: the next look tells how much. */
	if (live_gap(&w->o))
		printf("CPU %d: missed %llu events here\n", w->cpu,
		       (unsigned long long)live_gap(&w->o));
	for (; subbuf_next(it, &rec); events++)
		print_event(w->tep, w->cpu, &rec);
	if (live_accept(&w->o, it, events) < 0)
		errx(1, "a sub-buffer is damaged");
}

/* Look once; false if there was nothing new. */
static bool look(struct watch *w)
{
	struct subbuf_iter it;
	int found = live_look(&w->o, &it);

	if (found == LIVE_EVENTS)
		print_events(w, &it);
	else if (found == LIVE_RESET)
		printf("CPU %d: the buffer was emptied here\n", w->cpu);
	else if (found < 0)
		errx(1, "the live index is damaged");
	return found != LIVE_NOTHING;
}

/* Tell the kernel the position: poll() answers when any event is beyond it. */
static void wait_for_events(const struct watch *w)
{
	struct trace_live_position position = live_position(&w->o, 1);
	struct pollfd pollfd = { .fd = w->fd, .events = POLLIN };

	if (ioctl(w->fd, TRACE_LIVE_IOCTL_SET_POSITION, &position) < 0)
		err(1, "TRACE_LIVE_IOCTL_SET_POSITION");
	if (poll(&pollfd, 1, -1) < 0)
		err(1, "poll");
}

int main(int argc, char **argv)
{
	struct watch w = { .cpu = argc > 1 ? atoi(argv[1]) : 0 };

	w.fd = open_buffer(argc > 2 ? argv[2] : "/sys/kernel/tracing", w.cpu, "trace_live");
	w.tep = read_events();
	attach(&w);

	for (;;) {
		while (look(&w))
			;
		fflush(stdout);
		wait_for_events(&w);
	}
}

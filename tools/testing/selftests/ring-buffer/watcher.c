// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "poller.h"
#include "watcher.h"

/*
 * Ahead of the bytes written with a raw marker, and behind them. A small one
 * has more behind: room for a note that its bytes could not be copied.
 */
#define ENTRY_HEADER	8
#define ENTRY_TRAILER	RECORD_ALIGN
#define ENTRY_SMALL	(24 + RECORD_ALIGN)

static int attach(struct watcher *w, enum live_start from)
{
	int err, tries;

	w->copy = malloc(w->map.index->subbuf_size);
	if (!w->copy)
		return -ENOMEM;
	for (tries = 0; tries < 100; tries++) {
		err = live_attach(&w->o, &w->map, from);
		if (err != -EAGAIN)
			break;
		sleep_ms(1);	/* a reset goes on */
	}
	/* The tests number their events from 0. */
	w->tally.next = w->o.before;
	return err;
}

int live_file(const struct trace_instance *ti, int cpu)
{
	return cpu_file(ti, cpu, "trace_live", O_RDONLY);
}

int watcher_open(struct watcher *w, const struct trace_instance *ti, int cpu,
		 enum live_start from)
{
	int err;

	memset(w, 0, sizeof(*w));
	w->fd = live_file(ti, cpu);
	if (w->fd < 0)
		return w->fd;
	err = live_map(&w->map, w->fd);
	if (err) {
		close(w->fd);
		w->fd = -1;
		return err;
	}
	err = attach(w, from);
	if (err)
		watcher_close(w);
	return err;
}

void watcher_close(struct watcher *w)
{
	if (w->map.index)
		live_unmap(&w->map);
	w->map.index = NULL;
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	free(w->copy);
	w->copy = NULL;
}

/* write_events() fills the rest of an event with its number. */
static bool is_torn(const unsigned char *data, size_t len)
{
	struct event_payload payload;
	size_t i;

	if (len <= ENTRY_SMALL)
		return false;
	memcpy(&payload, data + ENTRY_HEADER, sizeof(payload));
	if (payload.tag != EVENT_TAG)
		return false;
	for (i = ENTRY_HEADER + sizeof(payload); i < len - ENTRY_TRAILER; i++) {
		if (data[i] != (unsigned char)payload.seq)
			return true;
	}
	return false;
}

/* What a look brought: it becomes the watcher's when it is accepted. */
struct brought {
	struct tally	tally;
	uint64_t	torn;
	uint32_t	events;
};

static void go_through(struct watcher *w, struct subbuf_iter *it,
		       struct brought *b)
{
	struct subbuf_record rec;

	b->tally = w->tally;
	announce_loss(&b->tally, live_gap(&w->o));
	while (subbuf_next(it, &rec)) {
		b->events++;
		b->torn += is_torn(rec.data, rec.size);
		tally_event(&b->tally, rec.data, rec.size);
	}
	b->tally.malformed += it->corrupt;
}

static void start_over(struct watcher *w)
{
	uint64_t malformed = w->tally.malformed;

	memset(&w->tally, 0, sizeof(w->tally));
	w->tally.malformed = malformed;
	/* A writer that was not stopped goes on with its numbers. */
	w->tally.unknown_loss = true;
	w->resets++;
}

int watch_once(struct watcher *w)
{
	struct brought b = { .events = 0 };
	struct subbuf_iter it;
	int ret = live_look(&w->o, &it);

	if (ret == LIVE_RESET)
		start_over(w);
	if (ret != LIVE_EVENTS)
		return ret;
	if (w->copies) {
		ret = live_copy(&w->o, &it, w->copy, w->map.index->subbuf_size);
		if (ret < 0)
			return ret;
		if (!ret) {
			w->refused++;
			return LIVE_EVENTS;
		}
	}
	go_through(w, &it, &b);
	ret = live_accept(&w->o, &it, b.events);
	if (!ret) {
		w->refused++;
		return LIVE_EVENTS;
	}
	w->looks++;
	w->tally = b.tally;
	w->torn += b.torn;
	return ret < 0 ? ret : LIVE_EVENTS;
}

long watch(struct watcher *w)
{
	uint64_t before = w->looks;
	int ret;

	do {
		ret = watch_once(w);
	} while (ret > 0);
	return ret < 0 ? ret : (long)(w->looks - before);
}

bool watcher_exact(const struct watcher *w)
{
	const struct live_observer *o = &w->o;

	if (tally_exact(&w->tally) && !w->torn &&
	    o->before + o->seen + o->missed == o->count &&
	    o->seen == w->tally.seen && o->missed - live_gap(o) == w->tally.lost)
		return true;
	fprintf(stderr,
		"# watcher: before %llu seen %llu missed %llu count %llu torn %llu resets %llu\n",
		(unsigned long long)o->before, (unsigned long long)o->seen,
		(unsigned long long)o->missed, (unsigned long long)o->count,
		(unsigned long long)w->torn, (unsigned long long)w->resets);
	return false;
}

int watcher_tell(const struct watcher *w, int fd, uint64_t bytes)
{
	struct trace_live_position position = live_position(&w->o, bytes);

	return ioctl(fd, TRACE_LIVE_IOCTL_SET_POSITION, &position) ? -errno : 0;
}

int watcher_wait(const struct watcher *w, uint64_t bytes)
{
	return watcher_tell(w, w->fd, bytes);
}

int watch_and_wait(struct watcher *w, uint64_t bytes)
{
	long looks = watch(w);

	return looks < 0 ? (int)looks : watcher_wait(w, bytes);
}

const struct trace_live_subbuf *entry_of(const struct watcher *w, uint64_t generation)
{
	const struct trace_live_index *index = w->map.index;

	return (const void *)((const char *)index + index->entries_offset +
			      generation % index->nr_slots * index->entry_size);
}

int watch_for_ever(const struct trace_instance *ti, int cpu, int run_on, int ready,
		   uint64_t *wakeups)
{
	struct watcher w;

	if (run_on_cpu(run_on) || watcher_open(&w, ti, cpu, LIVE_FROM_NOW) ||
	    (ready >= 0 && write(ready, "r", 1) != 1))
		return 1;
	while (!watch_and_wait(&w, 1) && poll_readable(w.fd, -1) == 1)
		__atomic_fetch_add(wakeups, 1, __ATOMIC_RELAXED);
	return 1;
}

/* What a consumer took in between was counted twice, or not at all: look again. */
long long committed_events(const struct trace_instance *ti, int cpu)
{
	long long consumed = cpu_stat(ti, cpu, "read events");
	long long before, entries, overrun;

	do {
		before = consumed;
		entries = cpu_stat(ti, cpu, "entries");
		overrun = cpu_stat(ti, cpu, "overrun");
		consumed = cpu_stat(ti, cpu, "read events");
		if (entries < 0 || overrun < 0 || consumed < 0)
			return -EIO;
	} while (consumed != before);
	return entries + overrun + consumed;
}

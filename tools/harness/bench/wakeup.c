// SPDX-License-Identifier: GPL-2.0
/*
 * The table wakeup: how long it takes until a reader has parsed an event.
 *
 * Asleep: from when the event is written, which its time stamp tells, as the
 * buffer's clock is the one that counts, until the reader, who slept, has
 * parsed it. Awake: from when the reader looks, with the event there already.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "live.h"

#define ROUNDS		32
#define PAYLOAD		32
/* As long as it takes until observers are woken at once again, and more */
#define PAUSE_US	30000

/* A reader that waits. One is open at a time, in a process of its own. */
struct waiter {
	int fd;			/* trace_pipe_raw, or trace_live to observe */
	const struct trace *trace;
	struct mapping mapping;
	struct live_mapping live;
	struct live_observer observer;
	char subbuf[4 * KIB] __attribute__((aligned(8)));
};

struct wait {
	const struct way *way;
	int (*open)(struct waiter *waiter);
	/* Sleeps until there is an event, and parses it: @it is behind it then. */
	int (*event)(struct waiter *waiter, struct subbuf_iter *it);
};

/* How the reader finds the event, and how it comes to be written, if not by it. */
struct state {
	const char *name;
	int64_t (*reader)(const struct wait *wait, const struct trace *trace);
	int (*writer)(pid_t reader, const struct trace *trace);
};

static int parse_one(struct subbuf_iter *it)
{
	struct subbuf_record record;

	return subbuf_next(it, &record) ? 0 : -ENODATA;
}

static int read_open(struct waiter *waiter)
{
	(void)waiter;
	return 0;
}

static int read_event(struct waiter *waiter, struct subbuf_iter *it)
{
	if (read(waiter->fd, waiter->subbuf, sizeof(waiter->subbuf)) <= 0)
		return errno ? -errno : -ENODATA;
	*it = subbuf_begin(&waiter->trace->format, waiter->subbuf);
	return parse_one(it);
}

static int map_open(struct waiter *waiter)
{
	return mapping_open(&waiter->mapping, waiter->fd);
}

static int map_event(struct waiter *waiter, struct subbuf_iter *it)
{
	const struct trace_buffer_meta *meta = waiter->mapping.meta;
	uint32_t id = meta->reader.id, read = meta->reader.read;
	const char *subbuf;

	if (ioctl(waiter->fd, TRACE_MMAP_IOCTL_GET_READER) < 0)
		return -errno;
	if (meta->reader.id != id)
		read = 0;
	subbuf = (const char *)meta + meta->meta_page_size +
		 (size_t)meta->reader.id * meta->subbuf_size;
	/* What was there before is passed again, for the sake of its deltas. */
	*it = subbuf_resume(&waiter->trace->format, subbuf, 0,
			    subbuf_time_stamp(&waiter->trace->format, subbuf));
	subbuf_extend(it, meta->reader.read);
	subbuf_skip(it, read);
	return parse_one(it);
}

static int live_open(struct waiter *waiter)
{
	int ret = live_map(&waiter->live, waiter->fd);

	return ret < 0 ? ret : live_attach(&waiter->observer, &waiter->live, LIVE_FROM_NOW);
}

static int live_sleep(struct waiter *waiter)
{
	struct trace_live_position position = live_position(&waiter->observer, 1);
	struct pollfd poll_fd = { .fd = waiter->fd, .events = POLLIN };

	if (ioctl(waiter->fd, TRACE_LIVE_IOCTL_SET_POSITION, &position) < 0)
		return -errno;
	return poll(&poll_fd, 1, -1) < 0 ? -errno : 0;
}

static int live_event(struct waiter *waiter, struct subbuf_iter *it)
{
	struct live_observer *o = &waiter->observer;
	int ret;

	while ((ret = live_look(o, it)) == LIVE_NOTHING) {
		ret = live_sleep(waiter);
		if (ret < 0)
			return ret;
	}
	if (ret == LIVE_EVENTS)
		ret = parse_one(it);
	if (ret < 0)
		return ret;
	ret = live_accept(o, it, 1);
	return ret == 1 ? 0 : -EAGAIN;
}

static const struct wait waits[] = {
	{ &way_read, read_open, read_event },
	{ &way_mapping, map_open, map_event },
	{ &way_live, live_open, live_event },
};

static int waiter_open(struct waiter *waiter, const struct wait *wait,
		       const struct trace *trace)
{
	memset(waiter, 0, sizeof(*waiter));
	waiter->trace = trace;
	waiter->fd = wait->way == &way_live ? trace_open_live(trace, 0) :
					      trace_open_raw(trace, 0);
	if (waiter->fd < 0)
		return waiter->fd;
	if (fcntl(waiter->fd, F_SETFL, 0) < 0)
		return -errno;
	return wait->open(waiter);
}

/* Of several events the one that was there soonest. */
static int64_t least_latency(const struct wait *wait, const struct trace *trace)
{
	static struct waiter waiter;
	int64_t least = INT64_MAX;
	int ret = waiter_open(&waiter, wait, trace);

	for (int i = 0; i < ROUNDS && ret >= 0; i++) {
		struct subbuf_iter it;
		int64_t latency;

		ret = wait->event(&waiter, &it);
		latency = clock_now() - it.ts;
		if (!ret && latency < least)
			least = latency;
	}
	return ret < 0 ? ret : least;
}

/* It writes the events itself, and looks at once. */
static int64_t least_look(const struct wait *wait, const struct trace *trace)
{
	static struct waiter waiter;
	int64_t least = INT64_MAX;
	int ret = waiter_open(&waiter, wait, trace);

	for (int i = 0; i < ROUNDS && ret >= 0; i++) {
		struct subbuf_iter it;
		uint64_t start;
		int64_t cost;

		ret = trace_mark(trace, 1, PAYLOAD);
		start = clock_now();
		if (ret >= 0)
			ret = wait->event(&waiter, &it);
		cost = clock_since(start);
		if (cost < least)
			least = cost;
	}
	return ret < 0 ? ret : least;
}

/* The process does nothing but wait, or is no more. */
static int until_asleep(pid_t pid)
{
	char path[32], text[512];
	const char *state;
	int ret;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	do {
		usleep(PAUSE_US);
		ret = file_read(path, text, sizeof(text));
		state = ret < 0 ? NULL : strrchr(text, ')');
		if (!state)
			return ret < 0 ? ret : -EPROTO;
	} while (state[2] != 'S' && state[2] != 'Z');
	return 0;
}

static int write_to(pid_t pid, const struct trace *trace)
{
	int ret = 0;

	for (int i = 0; i < ROUNDS && ret >= 0; i++) {
		ret = until_asleep(pid);
		if (ret >= 0)
			ret = trace_mark(trace, 1, PAYLOAD);
	}
	return ret;
}

static int64_t answer_of(pid_t pid, int fd)
{
	int64_t answer;

	if (read(fd, &answer, sizeof(answer)) != sizeof(answer))
		answer = -EPIPE;
	waitpid(pid, NULL, 0);
	return answer;
}

/* What the reader answers, a process of its own, while we write. */
static int64_t measure(const struct wait *wait, const struct state *state,
		       const struct trace *trace)
{
	int ends[2], ret = 0;
	int64_t answer;
	pid_t pid;

	if (pipe(ends) < 0)
		return -errno;
	pid = fork();
	if (!pid) {
		answer = state->reader(wait, trace);
		_exit(write(ends[1], &answer, sizeof(answer)) != sizeof(answer));
	}
	close(ends[1]);
	if (pid > 0 && state->writer)
		ret = state->writer(pid, trace);
	if (ret < 0)
		kill(pid, SIGKILL);
	answer = pid > 0 ? answer_of(pid, ends[0]) : -EAGAIN;
	close(ends[0]);
	return ret < 0 ? ret : answer;
}

static int point(const struct wait *wait, const struct state *state)
{
	struct trace trace;
	int64_t value;
	int ret = trace_open(&trace, 4, KIB);

	if (ret < 0)
		return ret;
	value = trace_set(&trace, "trace_clock", clock_of_trace());
	/* One event is enough for GET_READER, too. */
	if (!value)
		value = trace_set(&trace, "buffer_percent", "0");
	if (!value)
		value = measure(wait, state, &trace);
	if (value > 0)
		result("wakeup", "way=%s state=%s value=%ld", wait->way->name, state->name,
		       (long)value);
	ret = trace_close(&trace);
	return value < 0 ? (int)value : ret;
}

int table_wakeup(void)
{
	static const struct state states[] = {
		{ "asleep", least_latency, write_to },
		{ "awake", least_look, NULL },
	};
	int ret = 0;

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		if (!way_possible(waits[i].way))
			continue;
		for (size_t j = 0; j < ARRAY_SIZE(states) && ret >= 0; j++)
			ret = point(&waits[i], &states[j]);
	}
	return ret;
}

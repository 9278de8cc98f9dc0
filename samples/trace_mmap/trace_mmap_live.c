// SPDX-License-Identifier: GPL-2.0
/*
 * Watch trace buffers live: follow the events of every CPU, or of one, by the
 * file trace_live, print each of them, say where events were missed and how many,
 * sleep while there are none. On Ctrl-C print what was seen and what the
 * buffers tell of themselves.
 *
 * It takes no event from a consumer: others may consume the events meanwhile, or
 * watch them as well. Events are in order CPU by CPU.
 *
 * See Documentation/trace/ring-buffer-live.rst.
 */
/* Let __u64 be a long long everywhere. */
#define __SANE_USERSPACE_TYPES__

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "live.h"

/* With a mark above one byte, an event may wait this long before it shows. */
#define PATIENCE_MS	1000

struct options {
	const char *instance;	/* NULL: the top level */
	int cpu;		/* -1: all */
	unsigned int seconds;	/* 0: until a signal comes */
	unsigned int every;	/* seconds from table to table, 0: at the end */
	__u64 mark;		/* bytes that are worth waking up for */
	bool oldest;
	bool quiet;
};

/* The buffer of one CPU; the counts are of all epochs. */
struct cpu_buffer {
	int cpu;
	int fd;
	struct live_mapping map;
	struct live_observer o;
	void *copy;		/* of a sub-buffer: it stays while it is printed */

	__u64 events;
	__u64 missed;
	__u64 resets;
};

struct watch {
	struct options opt;
	struct tracefs_instance *instance;
	struct decoder decoder;
	struct cpu_buffer *buffers;
	int nr_buffers;
	int epoll;
	time_t next_table;
	bool damaged;
};

static const char *live_advice(int error)
{
	if (error == ENOENT)
		return "this kernel has no trace_live, see trace_mmap_stream for consuming";
	if (error == EOPNOTSUPP)
		return "this machine's caches do not allow it";
	return buffer_advice(error);
}

static void attach(struct watch *w, struct cpu_buffer *b)
{
	int ret;

	do {	/* a reset is soon over */
		ret = live_attach(&b->o, &b->map, w->opt.oldest ?
				  LIVE_FROM_OLDEST : LIVE_FROM_NOW);
	} while (ret == -EAGAIN);
	if (ret)
		errx(1, "CPU %d: the live index is not understood: %s", b->cpu,
		     strerror(-ret));
	b->copy = malloc(b->o.format.subbuf_size);
	if (!b->copy)
		err(1, "memory");
}

/* Returns false for a CPU that has no buffer, when that is no error. */
static bool add_buffer(struct watch *w, int cpu)
{
	struct cpu_buffer *b = &w->buffers[w->nr_buffers];
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = b };
	int ret;

	memset(b, 0, sizeof(*b));
	b->cpu = cpu;
	b->fd = open_buffer(w->instance, cpu, "trace_live");
	if (b->fd < 0 && errno == EINVAL && w->opt.cpu < 0)
		return false;
	ret = b->fd < 0 ? -errno : live_map(&b->map, b->fd);
	if (ret)
		errx(1, "CPU %d: %s: %s", cpu, live_advice(-ret), strerror(-ret));
	attach(w, b);
	if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, b->fd, &event) < 0)
		err(1, "epoll_ctl");
	w->nr_buffers++;
	return true;
}

static void add_buffers(struct watch *w)
{
	int nr = w->opt.cpu < 0 ? sysconf(_SC_NPROCESSORS_CONF) : 1;

	w->buffers = calloc(nr, sizeof(*w->buffers));
	if (!w->buffers)
		err(1, "memory");
	if (w->opt.cpu >= 0) {
		add_buffer(w, w->opt.cpu);
		return;
	}
	for (int cpu = 0; cpu < nr; cpu++) {
		if (has_buffer(w->instance, cpu))
			add_buffer(w, cpu);
	}
	if (!w->nr_buffers)
		errx(1, "no CPU has a buffer that can be watched");
}

static void remove_buffers(struct watch *w)
{
	for (int i = 0; i < w->nr_buffers; i++) {
		live_unmap(&w->buffers[i].map);
		close(w->buffers[i].fd);
		free(w->buffers[i].copy);
	}
	free(w->buffers);
}

/* Reading. */

static void report_reset(const struct watch *w, struct cpu_buffer *b)
{
	b->resets++;
	if (!w->opt.quiet)
		printf("CPU %d: the buffer was emptied here\n", b->cpu);
}

static void report_gap(const struct watch *w, struct cpu_buffer *b)
{
	__u64 gap = live_gap(&b->o);

	b->missed += gap;
	if (gap && !w->opt.quiet)
		printf("CPU %d: missed %llu events here\n", b->cpu, gap);
}

static __u32 go_through(struct watch *w, struct cpu_buffer *b,
			struct subbuf_iter *it)
{
	struct subbuf_record rec;
	__u32 events = 0;

	while (subbuf_next(it, &rec)) {
		events++;
		if (!w->opt.quiet)
			print_event(&w->decoder, b->cpu, &rec);
	}
	return events;
}

/*
 * What is printed cannot be taken back, so it is a copy that is printed. To
 * count in place is enough for who prints nothing.
 */
static bool take(struct watch *w, struct cpu_buffer *b, struct subbuf_iter *it)
{
	__u64 gap = live_gap(&b->o);
	__u32 events;
	int ret;

	if (!w->opt.quiet) {
		if (!live_copy(&b->o, it, b->copy, b->o.format.subbuf_size))
			return false;
		report_gap(w, b);
	}
	events = go_through(w, b, it);
	ret = live_accept(&b->o, it, events);
	if (!ret)
		return false;
	b->events += events;
	if (w->opt.quiet)
		b->missed += gap;
	if (ret < 0) {
		warnx("CPU %d: a sub-buffer is damaged", b->cpu);
		w->damaged = true;
	}
	return true;
}

/* One look; false if there was nothing. */
static bool look(struct watch *w, struct cpu_buffer *b)
{
	struct subbuf_iter it;

	switch (live_look(&b->o, &it)) {
	case LIVE_NOTHING:
		return false;
	case LIVE_EVENTS:
		take(w, b, &it);
		return true;
	case LIVE_RESET:
		report_reset(w, b);
		return true;
	default:
		errx(1, "CPU %d: the live index is not understood", b->cpu);
	}
}

/*
 * Look at what there is, but not for ever: the other CPUs have their turn
 * though the writer here is as fast as we are. Returns whether that was all.
 */
static bool take_turn(struct watch *w, struct cpu_buffer *b)
{
	for (__u32 i = 0; i <= b->o.nr_subbufs; i++) {
		if (!look(w, b))
			return true;
	}
	return false;
}

/* Tell the kernel the position: epoll_wait() returns when there is more. */
static void wait_from_here(const struct watch *w, struct cpu_buffer *b)
{
	struct trace_live_position position = live_position(&b->o, w->opt.mark);

	if (ioctl(b->fd, TRACE_LIVE_IOCTL_WAIT, &position) < 0)
		err(1, "CPU %d: TRACE_LIVE_IOCTL_WAIT", b->cpu);
}

static void take_turns(struct watch *w)
{
	for (int i = 0; i < w->nr_buffers; i++) {
		take_turn(w, &w->buffers[i]);
		wait_from_here(w, &w->buffers[i]);
	}
}

static void print_table(const struct watch *w);

/* Milliseconds until something is to be done, -1: nothing but events. */
static int patience(struct watch *w)
{
	time_t now = time(NULL);

	if (w->opt.every && now >= w->next_table) {
		print_table(w);
		w->next_table = now + w->opt.every;
	}
	return w->opt.every || w->opt.mark != 1 ? PATIENCE_MS : -1;
}

static void watch_on(struct watch *w)
{
	struct epoll_event ready[16];

	w->next_table = time(NULL) + w->opt.every;
	take_turns(w);
	while (!signals_so_far()) {
		int ms = patience(w), n;

		fflush(stdout);
		n = epoll_wait(w->epoll, ready, 16, ms);
		if (n < 0 && errno != EINTR)
			err(1, "epoll_wait");
		if (n == 0)
			take_turns(w);
		for (int i = 0; i < n; i++) {
			struct cpu_buffer *b = ready[i].data.ptr;

			if (!b)
				continue;
			take_turn(w, b);
			wait_from_here(w, b);
		}
	}
	take_turns(w);	/* what was there when we were told to stop */
}

/* Set-up and end. */

static void print_row(const struct cpu_buffer *b)
{
	struct live_figures f = { 0 };

	printf("%5d %12llu %12llu %7llu", b->cpu, b->events, b->missed, b->resets);
	if (live_figures(&b->o, &f))
		printf("  (being emptied)\n");
	else
		printf(" %12llu %12llu %12llu %12llu %5u/%u\n",
		       (__u64)f.committed, (__u64)f.overwritten,
		       (__u64)f.consumed, (__u64)f.dropped, f.used, f.nr_subbufs);
}

/*
 * To the left what we saw, to the right what the buffer says of itself: since
 * it was last emptied, and up to the last finished sub-buffer.
 */
static void print_table(const struct watch *w)
{
	struct cpu_buffer all = { .cpu = -1 };

	printf("%5s %12s %12s %7s %12s %12s %12s %12s %7s\n", "CPU", "seen", "missed",
	       "resets", "committed", "overwritten", "consumed", "dropped", "in use");
	for (int i = 0; i < w->nr_buffers; i++) {
		const struct cpu_buffer *b = &w->buffers[i];

		print_row(b);
		all.events += b->events;
		all.missed += b->missed;
		all.resets += b->resets;
	}
	printf("%5s %12llu %12llu %7llu\n", "all", all.events, all.missed, all.resets);
}

static void open_watch(struct watch *w)
{
	struct epoll_event event = { .events = EPOLLIN };

	w->instance = open_instance(w->opt.instance);
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (w->epoll < 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, stop_fd, &event) < 0)
		err(1, "epoll");
	/* First, for that is "now"; the formats of events take their time. */
	add_buffers(w);
	if (!w->opt.quiet)
		open_decoder(&w->decoder, w->instance);
}

static void close_watch(struct watch *w)
{
	remove_buffers(w);
	close(w->epoll);
	close_decoder(&w->decoder);
	if (w->instance)
		tracefs_instance_free(w->instance);
}

static void usage(int status)
{
	fprintf(status ? stderr : stdout,
		"trace_mmap_live: watch the events of trace buffers, consuming none\n"
		"  -c, --cpu N         of this CPU (default: all)\n"
		"  -i, --instance NAME of this instance (default: the top level)\n"
		"  -d, --duration SEC  stop after so many seconds (default: on Ctrl-C)\n"
		"  -o, --oldest        begin with the oldest event there is, not with now\n"
		"  -m, --mark BYTES    be woken when so much came, 0: buffer_percent\n"
		"                      (default: 1, any event)\n"
		"  -t, --table SEC     print the table every so many seconds, too\n"
		"  -q, --quiet         only tables\n"
		"  -h, --help\n");
	exit(status);
}

static void parse_option(struct options *opt, int name)
{
	switch (name) {
	case 'c':
		opt->cpu = parse_number(optarg, INT_MAX);
		break;
	case 'i':
		opt->instance = optarg;
		break;
	case 'd':
		opt->seconds = parse_number(optarg, UINT_MAX);
		break;
	case 'o':
		opt->oldest = true;
		break;
	case 'm':
		opt->mark = parse_number(optarg, ULLONG_MAX);
		break;
	case 't':
		opt->every = parse_number(optarg, INT_MAX);
		break;
	case 'q':
		opt->quiet = true;
		break;
	default:
		usage(name == 'h' ? 0 : 2);
	}
}

static void parse_options(struct options *opt, int argc, char **argv)
{
	static const struct option names[] = {
		{ "cpu", required_argument, NULL, 'c' },
		{ "instance", required_argument, NULL, 'i' },
		{ "duration", required_argument, NULL, 'd' },
		{ "oldest", no_argument, NULL, 'o' },
		{ "mark", required_argument, NULL, 'm' },
		{ "table", required_argument, NULL, 't' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int name;

	while ((name = getopt_long(argc, argv, "c:i:d:om:t:qh", names, NULL)) >= 0)
		parse_option(opt, name);
	if (optind < argc)
		usage(2);
}

int main(int argc, char **argv)
{
	struct watch w = {
		.opt = { .cpu = -1, .mark = 1 },
	};

	parse_options(&w.opt, argc, argv);
	stop_on_signals(w.opt.seconds);
	open_watch(&w);
	watch_on(&w);
	print_table(&w);
	if (fflush(stdout))
		err(1, "output");
	close_watch(&w);
	return w.damaged ? 1 : 0;
}

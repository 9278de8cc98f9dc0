// SPDX-License-Identifier: GPL-2.0
/*
 * Stream events out of mapped trace buffers: map the buffer of every CPU, or
 * of one, decode each event with libtraceevent, say where events were lost,
 * sleep while there are none. On Ctrl-C print what is left, then a table.
 *
 * It consumes, as trace_pipe does. Events are in order CPU by CPU.
 *
 * See Documentation/trace/ring-buffer-map.rst.
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
#include <sys/mman.h>
#include <unistd.h>

#include <linux/trace_mmap.h>

#include "common.h"
#include "subbuf.h"

/* With buffer_percent above 0, an event may wait this long before it shows. */
#define PATIENCE_MS	1000

struct options {
	const char *instance;	/* NULL: the top level */
	int cpu;		/* -1: all */
	int percent;		/* buffer_percent to set, -1: leave it */
	unsigned int seconds;	/* 0: until a signal comes */
	__u64 count;		/* 0: the same */
	bool quiet;
};

/*
 * The buffer of one CPU. @it stands where we stopped in the sub-buffer @id;
 * @subbuf_ts tells whether that sub-buffer is still what it was.
 */
struct cpu_buffer {
	int cpu;
	int fd;
	const struct trace_buffer_meta *meta;
	size_t size;
	struct subbuf_format format;
	struct subbuf_iter it;
	__u64 subbuf_ts;
	__u32 id;

	__u64 events;
	__u64 lost;
	__u64 bytes;
	__u64 calls;
};

struct stream {
	struct options opt;
	struct tracefs_instance *instance;
	struct decoder decoder;
	struct cpu_buffer *buffers;
	int nr_buffers;
	int epoll;
	__u64 events;
	long long old_percent;	/* to put back, -1: not changed */
	bool sleeps_till_full;
	bool damaged;
};

/* Mapping. */

/*
 * Map the meta page to learn the sizes, then the whole, and only then let go
 * of the first: the sizes cannot change while something is mapped.
 */
static bool map_whole(struct cpu_buffer *b)
{
	size_t page = sysconf(_SC_PAGESIZE);
	const struct trace_buffer_meta *meta;
	void *whole;

	meta = mmap(NULL, page, PROT_READ, MAP_SHARED, b->fd, 0);
	if (meta == MAP_FAILED)
		return false;

	b->size = meta->meta_page_size + (size_t)meta->nr_subbufs * meta->subbuf_size;
	whole = mmap(NULL, b->size, PROT_READ, MAP_SHARED, b->fd, 0);
	munmap((void *)meta, page);
	b->meta = whole;
	return whole != MAP_FAILED;
}

/* Returns false for a CPU that has no buffer, when that is no error. */
static bool add_buffer(struct stream *s, int cpu)
{
	struct cpu_buffer *b = &s->buffers[s->nr_buffers];
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = b };

	memset(b, 0, sizeof(*b));
	b->cpu = cpu;
	b->fd = open_buffer(s->instance, cpu, "trace_pipe_raw");
	if (b->fd < 0)
		err(1, "CPU %d: %s", cpu, buffer_advice(errno));
	if (!map_whole(b)) {
		if (errno == EINVAL && s->opt.cpu < 0) {
			close(b->fd);
			return false;
		}
		err(1, "CPU %d: %s", cpu, buffer_advice(errno));
	}
	read_format(&b->format);
	b->format.subbuf_size = b->meta->subbuf_size;
	b->id = ~0U;
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, b->fd, &event) < 0)
		err(1, "epoll_ctl");
	s->nr_buffers++;
	return true;
}

static void add_buffers(struct stream *s)
{
	int nr = s->opt.cpu < 0 ? sysconf(_SC_NPROCESSORS_CONF) : 1;

	s->buffers = calloc(nr, sizeof(*s->buffers));
	if (!s->buffers)
		err(1, "memory");
	if (s->opt.cpu >= 0) {
		add_buffer(s, s->opt.cpu);
		return;
	}
	for (int cpu = 0; cpu < nr; cpu++) {
		if (has_buffer(s->instance, cpu))
			add_buffer(s, cpu);
	}
	if (!s->nr_buffers)
		errx(1, "no CPU has a buffer that can be mapped");
}

static void remove_buffers(struct stream *s)
{
	for (int i = 0; i < s->nr_buffers; i++) {
		munmap((void *)s->buffers[i].meta, s->buffers[i].size);
		close(s->buffers[i].fd);
	}
	free(s->buffers);
}

/* Reading. */

static void report_loss(const struct stream *s, struct cpu_buffer *b)
{
	__u64 lost = b->meta->reader.lost_events;

	if (!lost)
		return;
	b->lost += lost;
	if (!s->opt.quiet)
		printf("CPU %d: lost %llu events here\n", b->cpu, lost);
}

/*
 * Make b->it stand at byte @read of the reader sub-buffer. It does already
 * when the sub-buffer has only grown. When somebody else has consumed what is
 * before @read, those records are passed over for the sake of their deltas.
 */
static void go_to(struct cpu_buffer *b, __u32 read)
{
	const struct trace_buffer_meta *meta = b->meta;
	const char *subbuf = (const char *)meta + meta->meta_page_size +
			     (size_t)meta->reader.id * meta->subbuf_size;
	__u64 ts = subbuf_time_stamp(&b->format, subbuf);

	if (b->id == meta->reader.id && b->subbuf_ts == ts && subbuf_pos(&b->it) == read) {
		subbuf_extend(&b->it, meta->reader.read);
		return;
	}

	b->id = meta->reader.id;
	b->subbuf_ts = ts;
	b->it = subbuf_resume(&b->format, subbuf, 0, ts);
	subbuf_extend(&b->it, meta->reader.read);
	subbuf_skip(&b->it, read);
}

static void take_events(struct stream *s, struct cpu_buffer *b)
{
	struct subbuf_record rec;
	__u64 events = 0;

	while (subbuf_next(&b->it, &rec)) {
		events++;
		if (!s->opt.quiet)
			print_event(&s->decoder, b->cpu, &rec);
	}
	b->events += events;
	s->events += events;
	if (b->it.corrupt) {
		warnx("CPU %d: sub-buffer %u is damaged at byte %zu",
		      b->cpu, b->id, subbuf_pos(&b->it));
		s->damaged = true;
	}
}

/*
 * One GET_READER and what it brings; false if that is nothing. What is ours
 * are the bytes from the old reader.read to the new one, or from 0 if the
 * reader is another sub-buffer, or the same again, emptied by "echo > trace".
 */
static bool take(struct stream *s, struct cpu_buffer *b)
{
	const struct trace_buffer_meta *meta = b->meta;
	__u32 id = meta->reader.id;
	__u32 read = meta->reader.read;

	if (ioctl(b->fd, TRACE_MMAP_IOCTL_GET_READER) < 0)
		err(1, "CPU %d: GET_READER", b->cpu);
	b->calls++;
	if (meta->reader.id != id || meta->reader.read < read)
		read = 0;
	if (meta->reader.read == read)
		return false;
	if (meta->reader.id >= meta->nr_subbufs)
		errx(1, "CPU %d: there is no sub-buffer %u", b->cpu, meta->reader.id);

	/* Events were lost before the first one of a sub-buffer. */
	if (!read)
		report_loss(s, b);
	b->bytes += meta->reader.read - read;
	go_to(b, read);
	take_events(s, b);
	return true;
}

static bool enough(const struct stream *s)
{
	return s->opt.count && s->events >= s->opt.count;
}

/*
 * Take what there is, but no more often than there are sub-buffers: the other
 * CPUs have their turn though the writer here is as fast as we are. A signal
 * past the @signals known ends it early.
 */
static void take_turn(struct stream *s, struct cpu_buffer *b, int signals)
{
	for (__u32 i = 0; i <= b->meta->nr_subbufs; i++) {
		if (signals_so_far() > signals || enough(s) || !take(s, b))
			break;
	}
}

static void take_turns(struct stream *s, int signals)
{
	for (int i = 0; i < s->nr_buffers; i++)
		take_turn(s, &s->buffers[i], signals);
}

static void read_on(struct stream *s)
{
	int timeout = s->sleeps_till_full ? PATIENCE_MS : -1;
	struct epoll_event ready[16];

	/* What waits already may be too little to wake us. */
	take_turns(s, 0);
	while (!signals_so_far() && !enough(s)) {
		int n;

		fflush(stdout);
		n = epoll_wait(s->epoll, ready, 16, timeout);
		if (n < 0 && errno != EINTR)
			err(1, "epoll_wait");
		if (n == 0)
			take_turns(s, 0);
		for (int i = 0; i < n; i++) {
			if (ready[i].data.ptr)
				take_turn(s, ready[i].data.ptr, 0);
		}
	}
	/* What was there when we were told to stop; a second signal ends it. */
	take_turns(s, 1);
}

/* Set-up and end. */

static void print_table(const struct stream *s)
{
	struct cpu_buffer all = { .cpu = -1 };

	printf("%5s %12s %12s %14s %12s\n", "CPU", "events", "lost", "bytes", "GET_READER");
	for (int i = 0; i < s->nr_buffers; i++) {
		const struct cpu_buffer *b = &s->buffers[i];

		printf("%5d %12llu %12llu %14llu %12llu\n",
		       b->cpu, b->events, b->lost, b->bytes, b->calls);
		all.events += b->events;
		all.lost += b->lost;
		all.bytes += b->bytes;
		all.calls += b->calls;
	}
	printf("%5s %12llu %12llu %14llu %12llu\n",
	       "all", all.events, all.lost, all.bytes, all.calls);
}

static void set_percent(struct stream *s, long long percent)
{
	char text[16];

	snprintf(text, sizeof(text), "%lld", percent);
	if (tracefs_instance_file_write(s->instance, "buffer_percent", text) < 0)
		warn("buffer_percent");
}

static void tune_wakeup(struct stream *s)
{
	long long percent = 0;

	tracefs_instance_file_read_number(s->instance, "buffer_percent", &percent);
	if (s->opt.percent >= 0) {
		s->old_percent = percent;
		percent = s->opt.percent;
		set_percent(s, percent);
	}
	s->sleeps_till_full = percent > 0;
}

static void open_stream(struct stream *s)
{
	struct epoll_event event = { .events = EPOLLIN };

	s->instance = open_instance(s->opt.instance);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0 || epoll_ctl(s->epoll, EPOLL_CTL_ADD, stop_fd, &event) < 0)
		err(1, "epoll");
	add_buffers(s);
	if (!s->opt.quiet)
		open_decoder(&s->decoder, s->instance);
	tune_wakeup(s);
}

static void close_stream(struct stream *s)
{
	if (s->old_percent >= 0)
		set_percent(s, s->old_percent);
	remove_buffers(s);
	close(s->epoll);
	close_decoder(&s->decoder);
	if (s->instance)
		tracefs_instance_free(s->instance);
}

static void usage(int status)
{
	fprintf(status ? stderr : stdout,
		"trace_mmap_stream: print and consume the events of mapped trace buffers\n"
		"  -c, --cpu N         of this CPU (default: all)\n"
		"  -i, --instance NAME of this instance (default: the top level)\n"
		"  -d, --duration SEC  stop after so many seconds (default: on Ctrl-C)\n"
		"  -n, --count N       stop when N events or more were taken\n"
		"  -p, --percent N     be woken when a buffer is so full, 0: by any event\n"
		"                      (sets buffer_percent until the end)\n"
		"  -q, --quiet         only the table at the end\n"
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
	case 'n':
		opt->count = parse_number(optarg, ULLONG_MAX);
		break;
	case 'p':
		opt->percent = parse_number(optarg, 100);
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
		{ "count", required_argument, NULL, 'n' },
		{ "percent", required_argument, NULL, 'p' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int name;

	while ((name = getopt_long(argc, argv, "c:i:d:n:p:qh", names, NULL)) >= 0)
		parse_option(opt, name);
	if (optind < argc)
		usage(2);
}

int main(int argc, char **argv)
{
	struct stream s = {
		.opt = { .cpu = -1, .percent = -1 },
		.old_percent = -1,
	};

	parse_options(&s.opt, argc, argv);
	stop_on_signals(s.opt.seconds);
	open_stream(&s);
	read_on(&s);
	print_table(&s);
	close_stream(&s);
	if (fflush(stdout) || ferror(stdout))
		errx(1, "not all output could be written");
	return s.damaged ? 1 : 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The table quiet: what watching a CPU does to it, and costs the observer. It wants two
 * CPUs: CPU 1 is watched, and has nothing to do, or writes events as fast as it can.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "live.h"

#define WATCHED		1
#define SECONDS		4
#define MANY		1000
#define PAYLOAD		32

/* What the children of a measurement count. */
struct counts {
	uint64_t wakeups, events;
};

/* What an idle CPU writes whenever it is woken: the file to write to, and what. */
static const struct source {
	const char *name, *file, *on, *off;
} sources[] = {
	{ "power", "events/power/enable", "1", "0" },
	{ "irq_vectors", "events/irq_vectors/enable", "1", "0" },
	{ "sched", "events/sched/enable", "1", "0" },
	{ "function", "current_tracer", "function", "nop" },
};

static int look_at_all(struct live_observer *o)
{
	struct subbuf_record record;
	struct subbuf_iter it;
	int ret;

	while ((ret = live_look(o, &it)) == LIVE_EVENTS) {
		uint32_t events = 0;

		while (subbuf_next(&it, &record))
			events++;
		ret = live_accept(o, &it, events);
		if (ret < 0)
			return ret;
	}
	return ret == LIVE_NOTHING ? 0 : ret < 0 ? ret : -ESTALE;
}

/* Follow the watched CPU with a byte as the mark, and count the wake-ups. */
static int follow(const struct trace *trace, uint64_t *wakeups)
{
	struct pollfd poll_fd = { .fd = trace_open_live(trace, WATCHED), .events = POLLIN };
	struct live_mapping mapping;
	struct live_observer o;
	int ret = poll_fd.fd < 0 ? poll_fd.fd : live_map(&mapping, poll_fd.fd);

	if (ret >= 0)
		ret = live_attach(&o, &mapping, LIVE_FROM_NOW);
	while (ret >= 0) {
		struct trace_live_position position;

		ret = look_at_all(&o);
		position = live_position(&o, 1);
		if (ret < 0)
			break;
		if (ioctl(poll_fd.fd, TRACE_LIVE_IOCTL_SET_POSITION, &position) < 0 ||
		    poll(&poll_fd, 1, -1) < 0)
			return -errno;
		__atomic_fetch_add(wakeups, 1, __ATOMIC_RELAXED);
	}
	return ret;
}

/* Wake-ups a second of an observer that runs on @cpu. */
static int count_wakeups(const struct trace *trace, int cpu, uint64_t *wakeups, double *rate)
{
	uint64_t before, after, start;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid)
		_exit(pin_to_cpu(cpu) < 0 || follow(trace, wakeups) < 0);
	sleep(1);
	start = clock_ns();
	before = __atomic_load_n(wakeups, __ATOMIC_RELAXED);
	sleep(SECONDS);
	after = __atomic_load_n(wakeups, __ATOMIC_RELAXED);
	*rate = (after - before) * 1e9 / (clock_ns() - start);
	/* It must not have ended by itself. */
	if (waitpid(pid, NULL, WNOHANG))
		return -ECHILD;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static int wakeups_point(const struct trace *trace, const struct source *source, int cpu,
			 struct counts *counts)
{
	double rate = 0;
	int ret;

	ret = trace_set(trace, source->file, source->on);
	if (ret >= 0)
		ret = count_wakeups(trace, cpu, &counts->wakeups, &rate);
	if (ret >= 0)
		ret = trace_set(trace, source->file, source->off);
	if (ret < 0)
		return ret;
	result("quiet", "events=%s observer=%s clock=wall value=%.1f", source->name,
	       cpu == WATCHED ? "there" : "elsewhere", rate);
	return 0;
}

/* Interrupts of a CPU: from other CPUs, and from itself to do an irq_work. */
struct interrupts {
	int64_t sent, works;
};

static int64_t count_of(const char *text, const char *kind, int cpu)
{
	char *p = strstr(text, kind);

	if (!p)
		return 0;
	p += strlen(kind);
	for (; cpu > 0; cpu--)
		strtoll(p, &p, 10);
	return strtoll(p, NULL, 10);
}

static int interrupts_of(int cpu, struct interrupts *interrupts)
{
	static char text[64 * KIB];
	int ret = file_read("/proc/interrupts", text, sizeof(text));

	interrupts->sent = count_of(text, "CAL:", cpu) + count_of(text, "RES:", cpu);
	interrupts->works = count_of(text, "IWI:", cpu);
	return ret;
}

/* Observers that follow by one look each time that one of their files is readable. */
struct crowd {
	const struct trace *trace;
	int nr;
	uint64_t mark;
	struct counts *counts;
};

static int crowd_open(const struct crowd *crowd, const struct live_observer *o, int ep)
{
	struct trace_live_position position = live_position(o, crowd->mark);
	struct epoll_event event = { .events = EPOLLIN };

	for (int n = 0; n < crowd->nr; n++) {
		event.data.fd = trace_open_live(crowd->trace, WATCHED);
		if (event.data.fd < 0)
			return event.data.fd;
		if (ioctl(event.data.fd, TRACE_LIVE_IOCTL_SET_POSITION, &position) < 0 ||
		    epoll_ctl(ep, EPOLL_CTL_ADD, event.data.fd, &event) < 0)
			return -errno;
	}
	return 0;
}

static int crowd_follow(const struct crowd *crowd, struct live_observer *o, int ep)
{
	struct epoll_event event;

	while (epoll_wait(ep, &event, 1, -1) == 1) {
		struct trace_live_position position;
		int ret = look_at_all(o);

		if (ret < 0)
			return ret;
		position = live_position(o, crowd->mark);
		if (ioctl(event.data.fd, TRACE_LIVE_IOCTL_SET_POSITION, &position) < 0)
			return -errno;
		__atomic_fetch_add(&crowd->counts->wakeups, 1, __ATOMIC_RELAXED);
	}
	return -errno;
}

static int crowd_run(const struct crowd *crowd)
{
	struct live_mapping mapping;
	struct live_observer o;
	int ep = epoll_create1(0);
	/* Where it does not take the writer's time. */
	int ret = pin_to_cpu(0);

	if (ret >= 0)
		ret = trace_map_live(crowd->trace, WATCHED, &mapping);
	if (ret >= 0)
		ret = live_attach(&o, &mapping, LIVE_FROM_NOW);
	if (ret >= 0)
		ret = crowd_open(crowd, &o, ep);
	return ret < 0 ? ret : crowd_follow(crowd, &o, ep);
}

/* Write to the watched CPU's buffer for ever. */
static int write_run(const struct crowd *crowd)
{
	int ret = pin_to_cpu(WATCHED);

	while (ret >= 0) {
		ret = trace_mark(crowd->trace, 100, PAYLOAD);
		__atomic_fetch_add(&crowd->counts->events, 100, __ATOMIC_RELAXED);
	}
	return ret;
}

static pid_t start(int (*run)(const struct crowd *crowd), const struct crowd *crowd)
{
	pid_t pid = fork();

	if (!pid)
		_exit(run(crowd) < 0);
	return pid;
}

/* A child that has not ended by itself. */
static int stop(pid_t pid)
{
	if (pid < 0 || waitpid(pid, NULL, WNOHANG))
		return -ECHILD;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

/* What the two CPUs take in some seconds. */
static void count_for_a_while(const char *what, const struct crowd *crowd)
{
	struct interrupts before[2], after[2];
	struct counts counts = *crowd->counts;
	uint64_t start = clock_ns();
	double seconds;

	interrupts_of(0, &before[0]);
	interrupts_of(WATCHED, &before[1]);
	sleep(SECONDS);
	interrupts_of(0, &after[0]);
	interrupts_of(WATCHED, &after[1]);
	seconds = (clock_ns() - start) / 1e9;
	result("quiet", "%s=%d clock=wall rate=%.0f by=%.1f works=%.1f wakeups=%.1f value=%.1f",
	       what, crowd->nr, (crowd->counts->events - counts.events) / seconds,
	       (after[0].sent - before[0].sent) / seconds,
	       (after[1].works - before[1].works) / seconds,
	       (crowd->counts->wakeups - counts.wakeups) / seconds,
	       (after[1].sent - before[1].sent) / seconds);
}

/* Sleepers, at a mark that is never reached, of an idle CPU; waiters, for a byte, of a busy one. */
static int crowd_point(const struct crowd *crowd)
{
	bool busy = crowd->mark == 1;
	pid_t observers = crowd->nr ? start(crowd_run, crowd) : 0;
	pid_t writer = busy ? start(write_run, crowd) : 0;
	int ret;

	/* A thousand files take their time. */
	sleep(3);
	count_for_a_while(busy ? "waiters" : "sleepers", crowd);
	ret = writer ? stop(writer) : 0;
	if (observers && ret >= 0)
		ret = stop(observers);
	return ret;
}

static int crowds(const struct trace *trace, struct counts *counts)
{
	static const int nrs[] = { 0, 1, 100, MANY };
	const struct rlimit limit = { MANY + 100, MANY + 100 };
	int ret = setrlimit(RLIMIT_NOFILE, &limit) < 0 ? -errno : 0;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(nrs) && ret >= 0; i++) {
		struct crowd crowd = {
			.trace = trace,
			.nr = nrs[i % ARRAY_SIZE(nrs)],
			.mark = i < ARRAY_SIZE(nrs) ? UINT64_MAX : 1,
			.counts = counts,
		};

		ret = crowd_point(&crowd);
	}
	return ret;
}

int table_quiet(void)
{
	struct counts *counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct trace trace;
	int ret, closed;

	if (counts == MAP_FAILED)
		return -errno;
	ret = trace_open(&trace, 4, KIB);
	if (ret < 0)
		return ret;
	ret = trace_set(&trace, "options/overwrite", "1");
	for (size_t i = 0; i < ARRAY_SIZE(sources) && ret >= 0; i++) {
		for (int cpu = 0; cpu <= WATCHED && ret >= 0; cpu++)
			ret = wakeups_point(&trace, &sources[i], cpu, counts);
	}
	if (ret >= 0)
		ret = crowds(&trace, counts);
	closed = trace_close(&trace);
	return ret < 0 ? ret : closed;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The table quiet: what watching an idle CPU does to it, and costs the observer. It
 * wants two CPUs: CPU 1 is watched, and has nothing to do.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "live.h"

#define WATCHED		1
#define SECONDS		4
#define SLEEPERS	1000

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

static int wakeups_point(const struct trace *trace, const struct source *source, int cpu)
{
	uint64_t *wakeups = mmap(NULL, 4 * KIB, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double rate = 0;
	int ret;

	if (wakeups == MAP_FAILED)
		return -errno;
	ret = trace_set(trace, source->file, source->on);
	if (ret >= 0)
		ret = count_wakeups(trace, cpu, wakeups, &rate);
	if (ret >= 0)
		ret = trace_set(trace, source->file, source->off);
	munmap(wakeups, 4 * KIB);
	if (ret < 0)
		return ret;
	result("quiet", "events=%s observer=%s clock=wall value=%.1f", source->name,
	       cpu == WATCHED ? "there" : "elsewhere", rate);
	return 0;
}

/* The interrupts that other CPUs have sent to the watched one. */
static int64_t sent_interrupts(void)
{
	static const char * const kinds[] = { "CAL:", "RES:", "IWI:" };
	static char text[64 * KIB];
	int64_t sent = 0;
	int ret = file_read("/proc/interrupts", text, sizeof(text));

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && ret >= 0; i++) {
		char *p = strstr(text, kinds[i]);

		if (!p)
			return -ENOENT;
		p += strlen(kinds[i]);
		for (int cpu = 0; cpu < WATCHED; cpu++)
			strtoll(p, &p, 10);
		sent += strtoll(p, NULL, 10);
	}
	return ret < 0 ? ret : sent;
}

/* An observer that has told where it sleeps until, which is never reached. */
static int sleeper_open(const struct trace *trace, const struct live_observer *o)
{
	struct trace_live_position position = live_position(o, UINT64_MAX);
	int fd = trace_open_live(trace, WATCHED);

	if (fd >= 0 && ioctl(fd, TRACE_LIVE_IOCTL_SET_POSITION, &position) < 0)
		return -errno;
	return fd;
}

static int sleepers_point(const struct trace *trace, const struct live_observer *o, int nr)
{
	int *fds = calloc(nr + 1, sizeof(*fds));
	int64_t before, after;
	uint64_t start;
	int n, ret = 0;

	if (!fds)
		return -ENOMEM;
	for (n = 0; n < nr && ret >= 0; n++) {
		fds[n] = sleeper_open(trace, o);
		ret = fds[n];
	}
	sleep(1);
	start = clock_ns();
	before = sent_interrupts();
	sleep(SECONDS);
	after = sent_interrupts();
	if (ret >= 0 && before >= 0)
		result("quiet", "sleepers=%d clock=wall value=%.1f", nr,
		       (after - before) * 1e9 / (clock_ns() - start));
	while (n-- > 0)
		close(fds[n]);
	free(fds);
	return ret < 0 ? ret : before < 0 ? (int)before : 0;
}

static int sleepers(const struct trace *trace)
{
	const struct rlimit limit = { SLEEPERS + 100, SLEEPERS + 100 };
	struct live_mapping mapping;
	struct live_observer o;
	int fd = trace_open_live(trace, WATCHED);
	int ret = fd < 0 ? fd : live_map(&mapping, fd);

	if (ret < 0)
		return ret;
	ret = live_attach(&o, &mapping, LIVE_FROM_NOW);
	if (ret >= 0 && setrlimit(RLIMIT_NOFILE, &limit) < 0)
		ret = -errno;
	for (int nr = 0; nr <= SLEEPERS && ret >= 0; nr += SLEEPERS)
		ret = sleepers_point(trace, &o, nr);
	live_unmap(&mapping);
	close(fd);
	return ret;
}

int table_quiet(void)
{
	struct trace trace;
	int ret, closed;

	ret = trace_open(&trace, 4, KIB);
	if (ret < 0)
		return ret;
	ret = trace_set(&trace, "options/overwrite", "1");
	for (size_t i = 0; i < ARRAY_SIZE(sources) && ret >= 0; i++) {
		for (int cpu = 0; cpu <= WATCHED && ret >= 0; cpu++)
			ret = wakeups_point(&trace, &sources[i], cpu);
	}
	if (ret >= 0)
		ret = sleepers(&trace);
	closed = trace_close(&trace);
	return ret < 0 ? ret : closed;
}

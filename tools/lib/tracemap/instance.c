// SPDX-License-Identifier: LGPL-2.1
/*
 * All CPUs of an instance, and waiting for them.
 *
 * One epoll descriptor has a file of each CPU. Where the kernel has trace_live, the library
 * tells it how far a reader has read, and poll() of that file reports when there is more:
 * not earlier, and, if one wait follows another, 10 ms late, see ring-buffer-live.rst.
 * Elsewhere poll() of trace_pipe_raw waits for buffer_percent, or, on some kernels, reports
 * that there is something when there is nothing. There the library looks at a CPU that had
 * nothing again after a time that doubles. In an instance of the caller's own it then sets
 * buffer_percent to 0 until an event comes, so that poll() reports that event. It does not
 * stay 0: a caller whose own wake-ups are traced would wake itself without end.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "clock.h"
#include "cpu.h"
#include "read_file.h"

#define LONGEST_LOOK_MS	64
#define IDLE_LOOK_MS	32	/* the next look is so late: the buffers are idle */

/**
 * struct tracemap - the CPUs of an instance
 * @dir: the folder of the instance, to open more CPUs
 * @options: those of the caller, but @options.cpus is a copy
 * @cpus: the handles of the CPUs, in the order in which they were opened
 * @nr: how many CPUs there are
 * @epoll: the epoll descriptor, which has all of them
 * @dir_fd: a descriptor of @dir, to read its files
 * @percent: of an instance of the caller's own, what buffer_percent was before the library has
 *	set it to 0; 0: it has not
 * @read_ahead: the memory to read ahead, which all CPUs share
 */
struct tracemap {
	char *dir;
	struct tracemap_options options;
	struct tracemap_cpu **cpus;
	unsigned int nr;
	int epoll;
	int dir_fd;
	int percent;
	struct read_ahead_room read_ahead;
};

/* ---- Opening ---- */

static int add_cpu(struct tracemap *t, int number)
{
	struct tracemap_cpu **cpus = realloc(t->cpus, (t->nr + 1) * sizeof(*cpus));
	int ret;

	if (!cpus)
		return -ENOMEM;
	t->cpus = cpus;
	ret = tracemap_cpu_open(&cpus[t->nr], t->dir, number, &t->options);
	if (ret)
		return ret;
	cpus[t->nr++]->read_ahead.room = &t->read_ahead;
	return 0;
}

static bool has_cpu(const struct tracemap *t, int number)
{
	unsigned int i;

	for (i = 0; i < t->nr; i++) {
		if (t->cpus[i]->number == number)
			return true;
	}
	return false;
}

/* The number N of the name "cpuN"; -1 if the name is another. */
static int cpu_of_name(const char *name)
{
	char *end;
	long number;

	if (strncmp(name, "cpu", 3) || name[3] < '0' || name[3] > '9')
		return -1;
	number = strtol(name + 3, &end, 10);
	return *end || number > INT_MAX ? -1 : number;
}

/* The lowest number in per_cpu/ that is above @after; -ENXIO if there is none. */
static int next_cpu(DIR *dir, int after)
{
	struct dirent *d;
	int best = INT_MAX;

	rewinddir(dir);
	while ((d = readdir(dir))) {
		int number = cpu_of_name(d->d_name);

		if (number > after && number < best)
			best = number;
	}
	return best == INT_MAX ? -ENXIO : best;
}

static DIR *open_per_cpu(const struct tracemap *t)
{
	int fd = tracemap__open_at(t->dir_fd, "per_cpu", O_RDONLY | O_DIRECTORY);
	DIR *dir;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	dir = fdopendir(fd);
	if (!dir)
		close(fd);
	return dir;
}

/* Open the CPUs of per_cpu/ that are not open. Returns how many are new. */
static int scan(struct tracemap *t)
{
	DIR *dir = open_per_cpu(t);
	int number = -1, found = 0, ret = 0;

	if (!dir)
		return -errno;
	while (!ret && (number = next_cpu(dir, number)) >= 0) {
		if (has_cpu(t, number))
			continue;
		ret = add_cpu(t, number);
		if (!ret)
			found++;
		else if (ret == -ENXIO)	/* it was never up */
			ret = 0;
	}
	closedir(dir);
	return ret ? ret : found;
}

static int open_cpus(struct tracemap *t)
{
	uint32_t i;
	int ret = 0;

	if (!t->options.nr_cpus) {
		ret = scan(t);
		return ret ? ret : -ENXIO;
	}
	for (i = 0; i < t->options.nr_cpus && ret >= 0; i++)
		ret = has_cpu(t, t->options.cpus[i]) ? 0 : add_cpu(t, t->options.cpus[i]);
	return ret;
}

static int open_instance(struct tracemap *t, const char *dir)
{
	int *cpus = NULL;
	size_t size = t->options.nr_cpus * sizeof(*cpus);

	t->dir = strdup(dir);
	if (size)
		cpus = malloc(size);
	if (cpus)
		memcpy(cpus, t->options.cpus, size);
	t->options.cpus = cpus;
	if (!t->dir || (size && !cpus))
		return -ENOMEM;
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll < 0)
		return -errno;
	t->dir_fd = tracemap__open_at(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY);
	return t->dir_fd < 0 ? t->dir_fd : open_cpus(t);
}

int tracemap_open(struct tracemap **t, const char *dir,
		  const struct tracemap_options *options)
{
	struct tracemap *new = calloc(1, sizeof(*new));
	int ret;

	if (!new)
		return -ENOMEM;
	new->epoll = -1;
	new->dir_fd = -1;
	ret = dir ? tracemap__options(&new->options, options) : -EINVAL;
	new->read_ahead.limit = new->options.read_ahead_bytes;
	if (ret) {
		free(new);
		return ret;
	}
	ret = open_instance(new, dir);
	if (ret < 0) {
		tracemap_close(new);
		return ret;
	}
	*t = new;
	return 0;
}

void tracemap_close(struct tracemap *t)
{
	unsigned int i;

	if (!t)
		return;
	for (i = 0; i < t->nr; i++)
		tracemap_cpu_close(t->cpus[i]);
	if (t->epoll >= 0)
		close(t->epoll);
	if (t->dir_fd >= 0)
		close(t->dir_fd);
	free(t->cpus);
	free((void *)t->options.cpus);
	free(t->dir);
	free(t);
}

int tracemap_rescan(struct tracemap *t)
{
	return t->options.nr_cpus ? 0 : scan(t);
}

unsigned int tracemap_nr_cpus(const struct tracemap *t)
{
	return t->nr;
}

struct tracemap_cpu *tracemap_get_cpu(const struct tracemap *t, unsigned int i)
{
	return i < t->nr ? t->cpus[i] : NULL;
}

/* Set all ends right after each other; then the CPUs take turns, so that none waits long. */
int tracemap_until_now(struct tracemap *t)
{
	bool more = true;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < t->nr && !ret; i++)
		ret = tracemap__until_now(t->cpus[i]);
	while (!ret && more) {
		more = false;
		for (i = 0; i < t->nr; i++)
			more |= tracemap__secure(t->cpus[i]);
	}
	return ret;
}

/* ---- Waiting ---- */

/* The file that epoll has: an observer has only trace_live. */
static int wait_fd(const struct tracemap_cpu *cpu)
{
	return cpu->told_by == BY_POLL && cpu->fd >= 0 ? cpu->fd : cpu->live_fd;
}

static int epoll_change(struct tracemap *t, struct tracemap_cpu *cpu, int op)
{
	struct epoll_event event = { .events = cpu->events, .data.ptr = cpu };

	return epoll_ctl(t->epoll, op, wait_fd(cpu), &event) < 0 ? -errno : 0;
}

static int watch(struct tracemap *t, struct tracemap_cpu *cpu, uint32_t events)
{
	if (cpu->told_by == BY_NOTHING || cpu->events == events)
		return 0;
	cpu->events = events;
	return epoll_change(t, cpu, EPOLL_CTL_MOD);
}

/* Give epoll the one of the two files that reports from now on. */
static int add(struct tracemap *t, struct tracemap_cpu *cpu, enum cpu_told_by by)
{
	int ret = 0;

	if (cpu->told_by == by)
		return 0;
	if (cpu->told_by != BY_NOTHING)
		ret = epoll_change(t, cpu, EPOLL_CTL_DEL);
	if (ret)
		return ret;
	cpu->told_by = by;
	cpu->events = EPOLLIN;
	ret = epoll_change(t, cpu, EPOLL_CTL_ADD);
	if (ret)
		cpu->told_by = BY_NOTHING;
	return ret;
}

/* How full a buffer has to be for poll() of trace_pipe_raw; 0: any event is enough. */
static int buffer_percent(const struct tracemap *t)
{
	char text[16];

	return read_file(t->dir_fd, "buffer_percent", text, sizeof(text)) > 0 ? atoi(text) : 0;
}

static int look_again_ms(const struct tracemap_cpu *cpu)
{
	return cpu->idle < 6 ? 1 << cpu->idle : LONGEST_LOOK_MS;
}

/* The next state of cpu->poll; @late if poll() may wait for more than one event. */
static enum cpu_poll judge_poll(const struct tracemap_cpu *cpu, bool late)
{
	bool nothing = cpu->poll == POLL_CLAIMS && cpu->fetched == FETCHED_NOTHING;

	if (nothing || (cpu->poll == POLL_MISLEADS && cpu->fetched != FETCHED_MORE))
		return POLL_MISLEADS;
	return late ? POLL_LATE : POLL_EXACT;
}

/* If buffer_percent, which is negative if not read, now has another queue: go to that. */
static int change_queue(struct tracemap *t, struct tracemap_cpu *cpu, int percent)
{
	bool full = percent > 0;
	int ret = 0;

	if (percent < 0 || cpu->full == full)
		return 0;
	cpu->full = full;
	if (cpu->told_by == BY_POLL)
		ret = epoll_change(t, cpu, EPOLL_CTL_DEL);
	if (!ret && cpu->told_by == BY_POLL)
		cpu->told_by = BY_NOTHING;
	return ret;
}

/* Let poll() of the buffer report a CPU, where the kernel takes no position. */
static int add_by_poll(struct tracemap *t, struct tracemap_cpu *cpu, bool late, int percent)
{
	int ret = change_queue(t, cpu, percent);

	if (ret)
		return ret;
	cpu->poll = judge_poll(cpu, late);
	if (cpu->fetched == FETCHED_MORE)
		cpu->idle = 0;
	else if (cpu->fetched == FETCHED_NOTHING)
		cpu->idle++;
	cpu->fetched = FETCHED_NOT;
	return add(t, cpu, BY_POLL);
}

/* The same. Returns the milliseconds until the next look, 0 if poll() reports everything. */
static int arm_by_poll(struct tracemap *t, struct tracemap_cpu *cpu, bool late, int percent)
{
	int ret = add_by_poll(t, cpu, late, percent);

	if (!ret)
		ret = watch(t, cpu, cpu->poll == POLL_MISLEADS ? 0 : EPOLLIN);
	if (ret || cpu->poll == POLL_EXACT)
		return ret;
	return look_again_ms(cpu);
}

static int arm_by_position(struct tracemap *t, struct tracemap_cpu *cpu, uint64_t bytes)
{
	int ret = cpu->backend->arm ? cpu->backend->arm(cpu, bytes) : -EOPNOTSUPP;

	if (!ret)
		ret = add(t, cpu, BY_POSITION);
	return ret ? ret : watch(t, cpu, EPOLLIN);
}

/* Call buffer_percent() once: @percent is -1 before, and then what it returned. */
static int ask_percent(const struct tracemap *t, int *percent)
{
	if (*percent < 0)
		*percent = buffer_percent(t);
	return *percent;
}

/*
 * Arm a CPU whose record waits in a merge for other CPUs. What comes after that record may
 * wait, too, until a quarter of the buffer, or buffer_percent, is full: then the merge has
 * to read ahead. Where poll() cannot report that, the merge looks by itself after a while.
 */
static int arm_waiting(struct tracemap *t, struct tracemap_cpu *cpu, int *percent)
{
	int ret = -EOPNOTSUPP;

	/* The merge does not read ahead before the error was reported. */
	if (cpu->error || cpu->read_ahead.error)
		return watch(t, cpu, 0);
	if (tracemap__has_index(cpu))
		return arm_by_position(t, cpu, tracemap__quarter(cpu)) < 0 ? watch(t, cpu, 0) : 0;
	if (ask_percent(t, percent) > 0)
		ret = add_by_poll(t, cpu, true, *percent);
	return watch(t, cpu, ret || cpu->poll == POLL_MISLEADS ? 0 : EPOLLIN);
}

/* The queue of a CPU depends on it, and the library itself changes it in the caller's instance. */
static bool asks_percent(const struct tracemap *t)
{
	return t->options.wake_bytes || t->options.flags & TRACEMAP_OWN;
}

static int arm_cpu(struct tracemap *t, struct tracemap_cpu *cpu, int *percent)
{
	bool late;
	int ret;

	if (tracemap__waits_in_merge(cpu))
		return arm_waiting(t, cpu, percent);
	if (tracemap__in_hand(cpu))
		return watch(t, cpu, 0);
	tracemap__finish(cpu);
	ret = arm_by_position(t, cpu, t->options.wake_bytes);
	if (!ret)
		return 0;
	/* The kernel takes positions, but not now: look again soon. */
	late = ret != -EOPNOTSUPP || (asks_percent(t) && ask_percent(t, percent) > 0 &&
				      t->options.wake_bytes);
	return arm_by_poll(t, cpu, late, *percent);
}

/*
 * Is there no reason to wait, because all CPUs have something in hand, or one has an error?
 * A record that waits in a merge does not count: it waits for others, which may come from
 * sources that are no CPU of this instance.
 */
static bool all_in_hand(const struct tracemap *t)
{
	bool all = true;
	unsigned int i;

	for (i = 0; i < t->nr; i++) {
		if (t->cpus[i]->error)
			return true;
		all &= tracemap__in_hand(t->cpus[i]) && !tracemap__waits_in_merge(t->cpus[i]);
	}
	return all;
}

static bool any_by_poll(const struct tracemap *t)
{
	unsigned int i;

	for (i = 0; i < t->nr; i++) {
		if (t->cpus[i]->told_by == BY_POLL)
			return true;
	}
	return false;
}

/* Arm all CPUs. Returns the milliseconds until a look, 0 if epoll reports everything. */
static int arm_all(struct tracemap *t)
{
	int first = 0, percent = -1;
	unsigned int i;

	for (i = 0; i < t->nr; i++) {
		int ms = arm_cpu(t, t->cpus[i], &percent);

		if (ms < 0)
			return ms;
		if (ms && (!first || ms < first))
			first = ms;
	}
	return first;
}

static bool set_percent(const struct tracemap *t, int percent)
{
	int fd = tracemap__open_at(t->dir_fd, "buffer_percent", O_WRONLY | O_TRUNC);
	bool set = fd >= 0 && dprintf(fd, "%d\n", percent) > 0;

	if (fd >= 0)
		close(fd);
	return set;
}

/* Let poll() report the next event, where it is any event that the caller waits for. */
static bool lower_percent(struct tracemap *t)
{
	int percent = 0;

	if (t->options.flags & TRACEMAP_OWN && t->options.wake_bytes == 1 && !t->percent)
		percent = buffer_percent(t);
	if (percent <= 0 || !set_percent(t, 0))
		return false;
	t->percent = percent;
	return true;
}

/* An event has come, or the caller no longer waits for any event. */
static void restore_percent(struct tracemap *t)
{
	bool busy = t->options.wake_bytes != 1;
	unsigned int i;

	for (i = 0; t->percent && i < t->nr && !busy; i++)
		busy = t->cpus[i]->fetched == FETCHED_MORE;
	if (t->percent && busy && set_percent(t, t->percent))
		t->percent = 0;
}

/* The same as arm_all(), which it calls, in an instance where buffer_percent may be changed. */
static int arm(struct tracemap *t)
{
	int ms;

	restore_percent(t);
	ms = arm_all(t);
	return ms >= IDLE_LOOK_MS && lower_percent(t) ? arm_all(t) : ms;
}

/* Poll the descriptors of the caller as well; they are copied, behind the one of all CPUs. */
static int poll_with(const struct tracemap *t, struct pollfd *fds, unsigned int nr, int ms)
{
	struct pollfd all[1 + TRACEMAP_WAIT_FDS] = { { .fd = t->epoll, .events = POLLIN } };
	int n;

	memcpy(all + 1, fds, nr * sizeof(*fds));
	n = poll(all, nr + 1, ms);
	if (n >= 0)
		memcpy(fds, all + 1, nr * sizeof(*fds));
	return n < 0 ? -errno : n;
}

/*
 * Note which CPUs poll() says have something. Returns 1 if that is certain for one of them,
 * 0 if there is none, or only such where the library has to look first.
 */
static int collect(struct tracemap *t, struct pollfd *fds, unsigned int nr, int ms)
{
	struct epoll_event events[64];
	int i, n = nr ? poll_with(t, fds, nr, ms) : 0, sure = 0;

	if (n >= 0) {
		n = epoll_wait(t->epoll, events, ARRAY_SIZE(events), nr ? 0 : ms);
		n = n < 0 ? -errno : n;
	}
	if (n < 0)
		return n;
	for (i = 0; i < n; i++) {
		struct tracemap_cpu *cpu = events[i].data.ptr;

		if (cpu->poll != POLL_MISLEADS)
			cpu->poll = POLL_CLAIMS;
		sure |= cpu->told_by == BY_POSITION || tracemap__waits_in_merge(cpu);
	}
	return sure;
}

/* Fetch from CPUs of which poll() is not certain. What is found stays in hand. */
static bool look(struct tracemap *t)
{
	unsigned int i;
	bool any = false;

	for (i = 0; i < t->nr; i++) {
		struct tracemap_cpu *cpu = t->cpus[i];
		int ret;

		if (cpu->told_by != BY_POLL || cpu->poll == POLL_EXACT || tracemap__in_hand(cpu))
			continue;
		ret = tracemap__refill(cpu);
		if (ret < 0)
			cpu->error = ret;
		any |= ret < 0 || tracemap__in_hand(cpu);
	}
	return any;
}

static int64_t now_ms(void)
{
	return now_ns() / 1000000;
}

/* The shorter of two times, where a negative one means "never". */
static int shorter(int64_t a, int64_t b)
{
	int64_t ms = a < 0 || (b >= 0 && b < a) ? b : a;

	return ms > INT_MAX ? INT_MAX : ms;
}

/* Forget what the last call has found. */
static void clear_fds(struct pollfd *fds, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		fds[i].revents = 0;
}

static bool any_ready(const struct pollfd *fds, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (fds[i].revents)
			return true;
	}
	return false;
}

int tracemap_wait_with(struct tracemap *t, struct pollfd *fds, unsigned int nr, int timeout_ms)
{
	int64_t end = now_ms() + timeout_ms;

	if (nr > TRACEMAP_WAIT_FDS)
		return -EINVAL;
	clear_fds(fds, nr);
	for (;;) {
		int64_t left = timeout_ms < 0 ? -1 : end - now_ms();
		int ms = arm(t), ret;

		if (ms < 0)
			return ms;
		if (all_in_hand(t))
			return 1;
		if (timeout_ms >= 0 && left < 0)
			left = 0;
		ret = collect(t, fds, nr, shorter(ms ? ms : -1, left));
		if (ret)
			return ret;
		if (look(t))
			return 1;
		if (any_ready(fds, nr) || (timeout_ms >= 0 && now_ms() >= end))
			return 0;
	}
}

int tracemap_wait(struct tracemap *t, int timeout_ms)
{
	return tracemap_wait_with(t, NULL, 0, timeout_ms);
}

void tracemap_set_wake_bytes(struct tracemap *t, uint64_t bytes)
{
	t->options.wake_bytes = bytes;
}

int tracemap_fd(const struct tracemap *t)
{
	return t->epoll;
}

int tracemap_arm(struct tracemap *t)
{
	int ms = arm(t), ret = 0;

	if (ms < 0)
		return ms;
	if (all_in_hand(t))
		return 1;
	/* Note what poll() says now: the next call sees whether it was true. */
	if (any_by_poll(t))
		ret = collect(t, NULL, 0, 0);
	return ret < 0 ? ret : ms;
}

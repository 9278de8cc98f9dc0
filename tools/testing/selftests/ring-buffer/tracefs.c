// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tracefs.h"

#define TRACEFS_SUPER_MAGIC	0x74726163
#define LARGEST_SUBBUF_KB	1024

static int complain(int err, const char *what)
{
	fprintf(stderr, "# set-up: %s: %s\n", what, strerror(-err));
	return err;
}

int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

ssize_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	size_t done = 0;
	ssize_t ret = 0;

	if (fd < 0)
		return -errno;
	while (done < size - 1) {
		ret = read(fd, text + done, size - 1 - done);
		if (ret <= 0)
			break;
		done += ret;
	}
	if (ret < 0)
		ret = -errno;
	close(fd);
	text[done] = '\0';
	return ret < 0 ? ret : (ssize_t)done;
}

int instance_path(const struct trace_instance *ti, char *path, size_t size,
		  const char *file)
{
	int len = snprintf(path, size, "%s/%s", ti->dir, file);

	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}

int instance_file(const struct trace_instance *ti, const char *file, int flags)
{
	char path[256];
	int fd;

	if (instance_path(ti, path, sizeof(path), file))
		return -ENAMETOOLONG;
	fd = open(path, flags);
	return fd < 0 ? -errno : fd;
}

int instance_write(const struct trace_instance *ti, const char *file,
		   const char *text)
{
	char path[256];

	if (instance_path(ti, path, sizeof(path), file))
		return -ENAMETOOLONG;
	return write_file(path, text);
}

int instance_write_number(const struct trace_instance *ti, const char *file,
			  unsigned long long number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", number);
	return instance_write(ti, file, text);
}

ssize_t instance_read(const struct trace_instance *ti, const char *file,
		      char *text, size_t size)
{
	char path[256];

	if (instance_path(ti, path, sizeof(path), file))
		return -ENAMETOOLONG;
	return read_file(path, text, size);
}

long long instance_number(const struct trace_instance *ti, const char *file)
{
	char text[64];
	ssize_t len = instance_read(ti, file, text, sizeof(text));

	return len < 0 ? len : strtoll(text, NULL, 10);
}

static const char *cpu_path(char *path, size_t size, int cpu, const char *file)
{
	snprintf(path, size, "per_cpu/cpu%d/%s", cpu, file);
	return path;
}

int cpu_file(const struct trace_instance *ti, int cpu, const char *file,
	     int flags)
{
	char path[128];

	return instance_file(ti, cpu_path(path, sizeof(path), cpu, file), flags);
}

int cpu_write(const struct trace_instance *ti, int cpu, const char *file,
	      const char *text)
{
	char path[128];

	return instance_write(ti, cpu_path(path, sizeof(path), cpu, file), text);
}

int cpu_write_number(const struct trace_instance *ti, int cpu,
		     const char *file, unsigned long long number)
{
	char path[128];

	return instance_write_number(ti, cpu_path(path, sizeof(path), cpu, file),
				     number);
}

long long cpu_number(const struct trace_instance *ti, int cpu,
		     const char *file)
{
	char path[128];

	return instance_number(ti, cpu_path(path, sizeof(path), cpu, file));
}

long long cpu_stat(const struct trace_instance *ti, int cpu, const char *name)
{
	char path[128], text[1024], key[64], *line;
	ssize_t len;

	len = instance_read(ti, cpu_path(path, sizeof(path), cpu, "stats"),
			    text, sizeof(text));
	if (len < 0)
		return len;
	/* "entries" is part of other names: it must begin its line */
	snprintf(key, sizeof(key), "%s: ", name);
	line = strncmp(text, key, strlen(key)) ? strstr(text, key) : text;
	return line ? strtoll(line + strlen(key), NULL, 10) : -ENOENT;
}

/* A line of the trace shows the tag of a raw marker as "# 72627473 buf: ". */
long count_trace_lines(const struct trace_instance *ti, const char *file)
{
	char path[256], line[8192], tag[32];
	long count = 0;
	FILE *trace;

	if (instance_path(ti, path, sizeof(path), file))
		return -ENAMETOOLONG;
	trace = fopen(path, "r");
	if (!trace)
		return -errno;
	snprintf(tag, sizeof(tag), "# %x buf:", EVENT_TAG);
	while (fgets(line, sizeof(line), trace))
		count += !!strstr(line, tag);
	if (ferror(trace))
		count = -EIO;
	fclose(trace);
	return count;
}

int write_events(struct trace_instance *ti, unsigned int count, size_t size)
{
	/* Static, and written to: the kernel copies it without faulting. */
	static char bytes[4096];
	struct event_payload *payload = (void *)bytes;

	if (size < sizeof(*payload) || size > sizeof(bytes))
		return -EINVAL;
	payload->tag = EVENT_TAG;
	while (count--) {
		payload->seq = ti->seq;
		memset(payload + 1, ti->seq, size - sizeof(*payload));
		if (write(ti->marker, bytes, size) < 0)
			return -errno;
		ti->seq++;
	}
	return 0;
}

long write_bytes(struct trace_instance *ti, size_t bytes, size_t size)
{
	long count = (bytes + size - 1) / size;
	int err = write_events(ti, count, size);

	return err ? err : count;
}

long overflow_buffer(struct trace_instance *ti)
{
	size_t subbufs = 2 * (TEST_SUBBUFS + 3);

	return write_bytes(ti, subbufs * ti->subbuf_kb * 1024, EVENT_LARGE);
}

pid_t fork_writer(struct trace_instance *ti, unsigned int count, size_t size)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	_exit(run_on_cpu(ti->cpu) || write_events(ti, count, size));
}

pid_t fork_stubborn_writer(struct trace_instance *ti, size_t size)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	run_on_cpu(ti->cpu);
	for (;;)
		write_events(ti, 1, size);
}

bool has_mainlines_mapping(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	return !uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 10));
}

int run_on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

int switch_cpu_online(int cpu, bool online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return write_file(path, online ? "1" : "0");
}

/* The writer's CPU is the last one: the first can often not be unplugged. */
static int choose_cpus(struct trace_instance *ti)
{
	cpu_set_t set;
	int cpu;

	ti->cpu = -1;
	ti->other_cpu = -1;
	/* An instance opened earlier has this process on its own CPU. */
	memset(&set, 0xff, sizeof(set));
	if (sched_setaffinity(0, sizeof(set), &set))
		return -errno;
	if (sched_getaffinity(0, sizeof(set), &set))
		return -errno;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		if (ti->other_cpu < 0)
			ti->other_cpu = cpu;
		else
			ti->cpu = cpu;
	}
	return ti->cpu < 0 ? -ENODEV : run_on_cpu(ti->cpu);
}

static int mount_tracefs(void)
{
	struct statfs fs;

	if (!statfs(TRACEFS_DIR, &fs) && fs.f_type == TRACEFS_SUPER_MAGIC)
		return 0;
	return mount("tracefs", TRACEFS_DIR, "tracefs", 0, NULL) ? -errno : 0;
}

static int make_directory(struct trace_instance *ti)
{
	static unsigned int count;

	if (ti->top) {
		snprintf(ti->dir, sizeof(ti->dir), TRACEFS_DIR);
		return 0;
	}
	snprintf(ti->dir, sizeof(ti->dir), TRACEFS_DIR "/instances/rbtest-%d-%u",
		 getpid(), count++);
	return mkdir(ti->dir, 0755) ? -errno : 0;
}

struct setting {
	const char	*file;
	const char	*value;
};

/* In this order: a snapshot in use would refuse what follows. */
static const struct setting default_settings[] = {
	{ "tracing_on",			"0" },
	{ "current_tracer",		"nop" },
	{ "events/enable",		"0" },
	{ "options/overwrite",		"1" },
	{ "options/markers",		"1" },
	{ "snapshot",			"0" },
	{ "buffer_percent",		"50" },
	{ "trace",			"" },
};

static int apply_defaults(const struct trace_instance *ti)
{
	size_t i;
	int err;

	for (i = 0; i < sizeof(default_settings) / sizeof(*default_settings); i++) {
		const struct setting *s = &default_settings[i];

		err = instance_write(ti, s->file, s->value);
		if (err)
			return complain(err, s->file);
	}
	return 0;
}

static int set_subbuf_size(const struct trace_instance *ti, unsigned int kb)
{
	int err = 0;

	/* A kernel without that file has sub-buffers of a page. */
	if (kb == getpagesize() / 1024 &&
	    instance_number(ti, "buffer_subbuf_size_kb") == -ENOENT)
		return 0;
	if (instance_number(ti, "buffer_subbuf_size_kb") != kb)
		err = instance_write_number(ti, "buffer_subbuf_size_kb", kb);
	return err ? complain(err, "buffer_subbuf_size_kb") : 0;
}

static int apply_test_settings(struct trace_instance *ti)
{
	int err;

	/*
	 * The counter clock ticks once per event, so no event needs a time
	 * extend, and as many events fit each sub-buffer.
	 */
	err = instance_write(ti, "trace_clock", "counter");
	if (err)
		return complain(err, "trace_clock");
	/* Small while the size of sub-buffers changes: both exist then. */
	err = instance_write(ti, "buffer_size_kb", "8");
	if (err)
		return complain(err, "buffer_size_kb");
	err = set_subbuf_size(ti, ti->subbuf_kb);
	if (err)
		return err;
	err = instance_write_number(ti, "buffer_size_kb",
				    TEST_SUBBUFS * ti->subbuf_kb);
	if (err)
		return complain(err, "buffer_size_kb");
	return instance_write(ti, "tracing_on", "1");
}

/* A buffer never used since boot reads "7 (expanded: 1408)". */
static void save_buffer_size(struct trace_instance *ti)
{
	char text[64], *expanded;

	if (instance_read(ti, "buffer_size_kb", text, sizeof(text)) <= 0)
		return;
	expanded = strstr(text, "expanded: ");
	snprintf(ti->saved_size, sizeof(ti->saved_size), "%lld",
		 strtoll(expanded ? expanded + 10 : text, NULL, 10));
}

unsigned int scaled_kb(unsigned int kb)
{
	/* Larger pages, but not that many of them: memory is limited. */
	if (getpagesize() > 4096) {
		kb *= getpagesize() / 4096;
		if (kb > 8 * getpagesize() / 1024)
			kb /= 4;
	}
	return kb < LARGEST_SUBBUF_KB ? kb : LARGEST_SUBBUF_KB;
}

int instance_open(struct trace_instance *ti, bool top, unsigned int subbuf_kb)
{
	int err;

	memset(ti, 0, sizeof(*ti));
	ti->top = top;
	ti->subbuf_kb = scaled_kb(subbuf_kb);
	if (!subbuf_kb)
		ti->subbuf_kb = getpagesize() / 1024;
	ti->marker = -1;
	if (geteuid())
		return complain(-EPERM, "these tests need root");
	err = mount_tracefs();
	if (err)
		return complain(err, "mounting tracefs at " TRACEFS_DIR);
	err = choose_cpus(ti);
	if (err)
		return complain(err, "these tests need two CPUs");
	err = make_directory(ti);
	if (err)
		return complain(err, "making an instance");
	save_buffer_size(ti);
	err = apply_defaults(ti);
	if (!err)
		err = apply_test_settings(ti);
	if (!err)
		ti->marker = instance_file(ti, "trace_marker_raw", O_WRONLY);
	if (!err && ti->marker < 0)
		err = complain(ti->marker, "trace_marker_raw");
	if (err)
		instance_close(ti);
	return err;
}

void instance_forget(struct trace_instance *ti)
{
	if (ti->marker >= 0)
		close(ti->marker);
	ti->marker = -1;
	ti->dir[0] = '\0';
}

static int restore_top(struct trace_instance *ti)
{
	int err = apply_defaults(ti);

	if (err)
		return err;
	instance_write(ti, "trace_clock", "local");
	instance_write(ti, "buffer_size_kb", "8");
	err = set_subbuf_size(ti, getpagesize() / 1024);
	if (ti->saved_size[0])
		err = instance_write(ti, "buffer_size_kb", ti->saved_size);
	instance_write(ti, "tracing_on", "1");
	return err;
}

int instance_close(struct trace_instance *ti)
{
	int err = 0;

	if (!ti->dir[0])
		return 0;
	if (ti->marker >= 0)
		close(ti->marker);
	ti->marker = -1;
	if (ti->top)
		err = restore_top(ti);
	else if (rmdir(ti->dir))
		err = complain(-errno, ti->dir);
	ti->dir[0] = '\0';
	return err;
}

long long memory_kb(const char *name)
{
	char text[4096], key[64], *line;

	if (read_file("/proc/meminfo", text, sizeof(text)) < 0)
		return -EIO;
	snprintf(key, sizeof(key), "%s:", name);
	line = strstr(text, key);
	return line ? strtoll(line + strlen(key), NULL, 10) : -ENOENT;
}

long long monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

void sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, (ms % 1000) * 1000000L };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

int child_status(pid_t pid, unsigned int ms)
{
	long long end = monotonic_ns() + ms * 1000000LL;
	int status;
	pid_t ret;

	do {
		ret = waitpid(pid, &status, WNOHANG);
		if (ret < 0)
			return -errno;
		if (ret == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) :
						   128 + WTERMSIG(status);
		sleep_ms(5);
	} while (monotonic_ns() < end);
	return -EAGAIN;
}

/* The letter behind the name, which may be anything in parentheses. */
static char task_state(pid_t pid)
{
	char path[64], text[512], *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (read_file(path, text, sizeof(text)) <= 0)
		return 0;
	end = strrchr(text, ')');
	return end && end[1] ? end[2] : 0;
}

static bool child_gets(pid_t pid, char wanted, unsigned int ms)
{
	long long end = monotonic_ns() + ms * 1000000LL;
	char state;

	while ((state = task_state(pid)) != wanted) {
		if (!state || state == 'Z' || monotonic_ns() >= end)
			return false;
		sleep_ms(1);
	}
	return true;
}

bool child_sleeps(pid_t pid, unsigned int ms)
{
	return child_gets(pid, 'S', ms);
}

bool child_waits(pid_t pid, unsigned int ms)
{
	return child_gets(pid, 'D', ms);
}

long long sleeps_of(pid_t pid)
{
	static const char name[] = "\nvoluntary_ctxt_switches:";
	char path[32], text[4096], *line;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	len = read_file(path, text, sizeof(text));
	if (len < 0)
		return len;
	line = strstr(text, name);
	return line ? strtoll(line + strlen(name), NULL, 10) : -ENOENT;
}

pid_t fork_cpu_hog(int cpu, int ready)
{
	struct sched_param param = { .sched_priority = 1 };
	pid_t pid = fork();

	if (pid)
		return pid;
	if (run_on_cpu(cpu) || sched_setscheduler(0, SCHED_FIFO, &param) ||
	    write(ready, "r", 1) != 1)
		_exit(1);
	for (;;)
		;
}

int kill_child(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : -ESRCH;
}

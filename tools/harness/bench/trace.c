// SPDX-License-Identifier: GPL-2.0
/* An instance of tracefs, and what is written to it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "live.h"

#define INSTANCES	"/sys/kernel/tracing/instances/"

static int trace_path(const struct trace *trace, const char *file, char *path, size_t size)
{
	return snprintf(path, size, "%s/%s", trace->dir, file) < (int)size ? 0 : -ENAMETOOLONG;
}

int trace_set(const struct trace *trace, const char *file, const char *value)
{
	char path[128];
	int ret = trace_path(trace, file, path, sizeof(path));

	return ret ? ret : file_write(path, "%s", value);
}

static int set_number(const struct trace *trace, const char *file, size_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%zu", value);
	return trace_set(trace, file, text);
}

static int read_format(struct trace *trace)
{
	char path[128], text[1024];
	int ret = trace_path(trace, "events/header_page", path, sizeof(path));

	if (!ret)
		ret = file_read(path, text, sizeof(text));
	if (ret < 0)
		return ret;
	if (!subbuf_format_parse(&trace->format, text))
		return -EPROTO;
	/* Of an older kernel the file tells a page's size. */
	trace->format.subbuf_size = trace->subbuf_size;
	return 0;
}

static int set_sizes(const struct trace *trace, unsigned int subbuf_kib, size_t buffer_kib)
{
	int ret = 0;

	if (kernel_maps)
		ret = set_number(trace, "buffer_subbuf_size_kb", subbuf_kib);
	else if (subbuf_kib != 4)
		ret = -ENOTSUP;
	return ret ? ret : set_number(trace, "buffer_size_kb", buffer_kib);
}

static int open_marker(const struct trace *trace)
{
	char path[128];
	int fd, ret = trace_path(trace, "trace_marker_raw", path, sizeof(path));

	if (ret)
		return ret;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int set_up(struct trace *trace, unsigned int subbuf_kib, size_t buffer_kib)
{
	int ret = set_sizes(trace, subbuf_kib, buffer_kib);

	if (!ret)
		ret = trace_set(trace, "options/overwrite", "0");
	if (!ret)
		ret = read_format(trace);
	if (!ret) {
		trace->marker = open_marker(trace);
		ret = trace->marker < 0 ? trace->marker : 0;
	}
	return ret;
}

int trace_open(struct trace *trace, unsigned int subbuf_kib, size_t buffer_kib)
{
	static unsigned int nr;
	int ret;

	memset(trace, 0, sizeof(*trace));
	trace->marker = -1;
	trace->subbuf_size = subbuf_kib * KIB;
	snprintf(trace->dir, sizeof(trace->dir), INSTANCES "bench%u", nr++);
	if (mkdir(trace->dir, 0700) < 0)
		return -errno;
	ret = set_up(trace, subbuf_kib, buffer_kib);
	if (ret < 0)
		trace_close(trace);
	return ret;
}

int trace_close(struct trace *trace)
{
	if (trace->marker >= 0)
		close(trace->marker);
	return rmdir(trace->dir) < 0 ? -errno : 0;
}

int trace_stop(const struct trace *trace)
{
	return trace_set(trace, "tracing_on", "0");
}

int trace_enable_event(const struct trace *trace)
{
	return trace_set(trace, "events/bench/bench_event/enable", "1");
}

/* Events that nobody has consumed. */
int64_t trace_entries(const struct trace *trace, int cpu)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/stats", trace->dir, cpu);
	return file_number(path, "entries: ");
}

int trace_mark(const struct trace *trace, unsigned int count, unsigned int payload)
{
	static char bytes[4096];

	/* They must be in memory: the kernel does not wait for a page here. */
	memset(bytes, 1, sizeof(bytes));
	while (count--) {
		if (write(trace->marker, bytes, payload) != (ssize_t)payload)
			return errno ? -errno : -EIO;
	}
	return 0;
}

static int open_of_cpu(const struct trace *trace, int cpu, const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/%s", trace->dir, cpu, name);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int trace_open_raw(const struct trace *trace, int cpu)
{
	return open_of_cpu(trace, cpu, "trace_pipe_raw");
}

int trace_open_live(const struct trace *trace, int cpu)
{
	return open_of_cpu(trace, cpu, "trace_live");
}

/* An observer that never sleeps needs the mapping only. */
int trace_map_live(const struct trace *trace, int cpu, struct live_mapping *mapping)
{
	int ret, fd = trace_open_live(trace, cpu);

	if (fd < 0)
		return fd;
	ret = live_map(mapping, fd);
	close(fd);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0
/* Loads the BPF program, and opens the perf buffers it writes to. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <time.h>

#include "tracemap_bpf.h"

static const unsigned long long time_and_raw = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;

static int load(struct program *program, const char *path)
{
	struct bpf_program *put_numbered;
	int ret;

	program->object = bpf_object__open_file(path, NULL);
	if (!program->object)
		return complain(-errno, "%s", path);
	ret = bpf_object__load(program->object);
	if (ret)
		return complain(ret, "loading %s (it takes root)", path);
	put_numbered = bpf_object__find_program_by_name(program->object, "put_numbered");
	program->link = bpf_program__attach(put_numbered);
	if (!program->link)
		return complain(-errno, "attaching to a system call (the kernel needs CONFIG_FTRACE_SYSCALLS)");
	return 0;
}

/* As perf_buffer__new() does it, with perf's own time stamps in addition. */
static struct perf_buffer *new_with_time(int map, size_t pages)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_BPF_OUTPUT;
	attr.sample_type = time_and_raw;
	attr.sample_period = 1;
	attr.wakeup_events = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	return perf_buffer__new_raw(map, pages, &attr, NULL, NULL, NULL);
}

static int open_buffers(struct program *program, const struct options *options, size_t pages)
{
	int map = bpf_object__find_map_fd_by_name(program->object, "buffers");

	if (options->perf_time)
		program->pb = new_with_time(map, pages);
	else
		program->pb = perf_buffer__new(map, pages, NULL, NULL, NULL, NULL);
	if (!program->pb)
		return complain(-errno, "opening perf buffers");
	return 0;
}

static int open_sources(struct program *program, const struct options *options)
{
	struct tracemap_perf_options perf_options = tracemap_perf_default_options();
	struct tracemap_source source;
	int ret;

	if (options->perf_time)
		perf_options.sample_type = time_and_raw;
	for (unsigned int i = 0; i < perf_buffer__buffer_cnt(program->pb) && i < MAX_CPUS; i++) {
		ret = tracemap_perf_open(&program->perf[i], program->pb, i,
					 TRACEMAP_PERF_ONLINE, &perf_options);
		if (ret)
			return complain(ret, "buffer %u", i);
		tracemap_perf_source(program->perf[i], &source);
		program->cpu[i] = source.cpu;
		program->nr++;
	}
	return 0;
}

int program_start(struct program *program, const struct options *options, size_t pages)
{
	int ret;

	memset(program, 0, sizeof(*program));
	ret = load(program, options->object);
	if (!ret)
		ret = open_buffers(program, options, pages);
	if (!ret)
		ret = open_sources(program, options);
	if (ret)
		program_stop(program);
	return ret;
}

void program_stop(struct program *program)
{
	for (unsigned int i = 0; i < program->nr; i++)
		tracemap_perf_close(program->perf[i]);
	program->nr = 0;
	perf_buffer__free(program->pb);
	bpf_link__destroy(program->link);
	bpf_object__close(program->object);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Print which process opens which file in /tmp, on all CPUs and in the order of time:
 * the samples that a BPF program puts into the perf buffer of each CPU, read where the
 * kernel wrote them, and merged, by libtracemap-bpf.
 *
 *	tracemap_bpf [OBJECT]
 *
 * OBJECT is the compiled BPF program, opens.bpf.o if it is not given.
 */
#include <bpf/libbpf.h>
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "opens.h"
#include "tracemap-bpf.h"

enum { PAGES = 64 };	/* in the perf buffer of a CPU */

/* libtracemap and libbpf return negative errnos. */
static void check(int ret, const char *what)
{
	if (ret < 0) {
		errno = -ret;
		err(1, "%s", what);
	}
}

static struct perf_buffer *start(const char *path)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct perf_buffer *pb;

	if (!object)
		err(1, "%s", path);
	check(bpf_object__load(object), "loading the BPF program (it takes root)");
	pb = perf_buffer__new(bpf_object__find_map_fd_by_name(object, "buffers"), PAGES,
			      NULL, NULL, NULL, NULL);
	if (!pb)
		err(1, "opening perf buffers");
	if (!bpf_program__attach(bpf_object__next_program(object, NULL)))
		err(1, "attaching to openat() (the kernel needs CONFIG_FTRACE_SYSCALLS)");
	return pb;
}

/*
 * Each buffer is in the order of time, but of two buffers it is not known which has the
 * older sample as long as one is empty. So the merge holds a sample back until there is
 * a younger one in all the others, or until its delay is over.
 */
static struct tracemap_merge *merge(struct perf_buffer *pb)
{
	struct tracemap_source source;
	struct tracemap_merge *m;
	struct tracemap_perf *perf;

	check(tracemap_merge_new(&m, NULL), "merging");
	for (size_t i = 0; i < perf_buffer__buffer_cnt(pb); i++) {
		check(tracemap_perf_open(&perf, pb, i, TRACEMAP_PERF_ONLINE, NULL),
		      "opening the buffer of a CPU");
		tracemap_perf_source(perf, &source);
		check(tracemap_merge_add_source(m, &source), "merging");
	}
	return m;
}

/* The record is in the buffer, aligned to 4 bytes only; the kernel gets its room back later. */
static void print(const struct tracemap_record *rec)
{
	const char *name = (const char *)rec->data + offsetof(struct open_sample, name);
	unsigned int pid;

	memcpy(&pid, (const char *)rec->data + offsetof(struct open_sample, pid), sizeof(pid));
	if (rec->missed)
		printf("CPU %d: %llu lost here\n", rec->cpu, (unsigned long long)rec->missed);
	printf("%llu [%03d] %u %s%s\n", (unsigned long long)rec->ts, rec->cpu, pid, name,
	       rec->flags & TRACEMAP_LATE ? " (came late)" : "");
}

int main(int argc, char **argv)
{
	struct perf_buffer *pb = start(argc > 1 ? argv[1] : "opens.bpf.o");
	struct pollfd pollfd = { .fd = perf_buffer__epoll_fd(pb), .events = POLLIN };
	struct tracemap_merge *m = merge(pb);
	struct tracemap_record rec;
	int ret;

	puts("TIME [CPU] PID NAME");
	while ((ret = tracemap_merge_next(m, &rec)) >= 0) {
		if (ret) {
			print(&rec);
			continue;
		}
		fflush(stdout);
		if (poll(&pollfd, 1, tracemap_merge_timeout(m, -1)) < 0)
			err(1, "poll");
	}
	check(ret, "reading");
	return 0;
}

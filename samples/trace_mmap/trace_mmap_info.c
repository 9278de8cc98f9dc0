// SPDX-License-Identifier: GPL-2.0
/*
 * Map the trace buffer of a CPU, print what its meta page tells, take what
 * is unread on the reader sub-buffer and print where that is.
 *
 *	trace_mmap_info [CPU [TRACEFS]]
 *
 * See Documentation/trace/ring-buffer-map.rst. A program that reads the events
 * as well is next door, in trace_mmap_stream.c.
 */
/* Let __u64 be a long long everywhere. */
#define __SANE_USERSPACE_TYPES__

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/trace_mmap.h>

static int open_buffer(const char *tracefs, const char *cpu)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%s/trace_pipe_raw", tracefs, cpu);
	/* O_NONBLOCK: GET_READER shall not wait for events. */
	fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static void *map_start(int fd, size_t size)
{
	void *addr = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (addr == MAP_FAILED)
		err(1, errno == ENODEV ? "this kernel cannot map trace buffers" :
		    errno == EBUSY ? "a snapshot or a latency tracer has the buffer" :
		    "the buffer cannot be mapped");
	return addr;
}

/* The first page tells how long the whole is. */
static struct trace_buffer_meta *map_buffer(int fd, size_t *size)
{
	size_t page_size = sysconf(_SC_PAGESIZE);
	struct trace_buffer_meta *meta = map_start(fd, page_size);
	void *whole;

	*size = meta->meta_page_size + (size_t)meta->nr_subbufs * meta->subbuf_size;
	/* The sizes hold as long as anything is mapped: unmap afterwards. */
	whole = map_start(fd, *size);
	munmap(meta, page_size);
	return whole;
}

static void print_counters(const struct trace_buffer_meta *meta)
{
	printf("nr_subbufs %u of %u bytes\n",
	       meta->nr_subbufs, meta->subbuf_size);
	printf("entries    %llu\n", meta->entries);
	printf("overrun    %llu\n", meta->overrun);
	printf("read       %llu\n", meta->read);
}

/* From now on the bytes [read, meta->reader.read) are ours, up to the next call. */
static void get_reader(int fd, const struct trace_buffer_meta *meta)
{
	__u32 id = meta->reader.id;
	__u32 read = meta->reader.read;
	const char *subbuf;

	if (ioctl(fd, TRACE_MMAP_IOCTL_GET_READER) < 0)
		err(1, "TRACE_MMAP_IOCTL_GET_READER");
	if (meta->reader.id != id || meta->reader.read < read)
		read = 0;

	subbuf = (const char *)meta + meta->meta_page_size +
		 (size_t)meta->reader.id * meta->subbuf_size;
	printf("reader     sub-buffer %u at offset %td\n",
	       meta->reader.id, subbuf - (const char *)meta);
	printf("to parse   bytes %u to %u\n", read, meta->reader.read);
	printf("lost       %llu events before it\n",
	       meta->reader.lost_events);
}

int main(int argc, char **argv)
{
	const char *cpu = argc > 1 ? argv[1] : "0";
	const char *tracefs = argc > 2 ? argv[2] : "/sys/kernel/tracing";
	const struct trace_buffer_meta *meta;
	size_t size;
	int fd;

	fd = open_buffer(tracefs, cpu);
	meta = map_buffer(fd, &size);
	print_counters(meta);
	get_reader(fd, meta);

	munmap((void *)meta, size);
	close(fd);
	return 0;
}

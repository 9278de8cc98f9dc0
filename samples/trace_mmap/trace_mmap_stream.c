// SPDX-License-Identifier: GPL-2.0
/*
 * Consume a CPU's events where the kernel wrote them: print each event, and each
 * loss where it happened, and sleep while there are none.
 *
 *	trace_mmap_stream [CPU [TRACEFS]]
 *
 * TRACEFS may be the folder of an instance. See Documentation/trace/ring-buffer-map.rst;
 * "tracemap stream" is a program that does this for all CPUs, in the order of time.
 */
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/trace_mmap.h>

#include "print.h"

/* The first page tells the sizes. It stays until the whole is mapped, so they cannot change. */
static const struct trace_buffer_meta *map_buffer(int fd)
{
	size_t size = sysconf(_SC_PAGESIZE);
	struct trace_buffer_meta *whole, *meta = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (meta == MAP_FAILED)
		err(1, "mmap");
	whole = mmap(NULL, meta->meta_page_size + (size_t)meta->nr_subbufs * meta->subbuf_size,
		     PROT_READ, MAP_SHARED, fd, 0);
	if (whole == MAP_FAILED)
		err(1, "mmap");
	munmap(meta, size);
	return whole;
}

static struct subbuf_format read_format(const struct trace_buffer_meta *meta)
{
	char *text = tracefs_instance_file_read(NULL, "events/header_page", NULL);
	struct subbuf_format format;

	if (!text || !subbuf_format_parse(&format, text))
		errx(1, "events/header_page");
	format.subbuf_size = meta->subbuf_size;
	free(text);
	return format;
}

/*
 * The bytes that one GET_READER brings, with nothing to go through if it brings
 * none: from the old reader.read to the new one, or from 0 if the reader is another
 * sub-buffer, or the same one after "echo > trace".
 */
static struct subbuf_iter get_reader(int fd, int cpu, const struct trace_buffer_meta *meta,
				     const struct subbuf_format *format)
{
	__u32 id = meta->reader.id, read = meta->reader.read;
	struct subbuf_iter it;
	const char *subbuf;

	if (ioctl(fd, TRACE_MMAP_IOCTL_GET_READER) < 0)
		err(1, "TRACE_MMAP_IOCTL_GET_READER");
	if (meta->reader.id != id || meta->reader.read < read)
		read = 0;
	/* Events are lost before the first one of a sub-buffer. */
	if (!read && meta->reader.read && meta->reader.lost_events)
		printf("CPU %d: lost %llu events here\n", cpu,
		       (unsigned long long)meta->reader.lost_events);

	subbuf = (const char *)meta + meta->meta_page_size +
		 (size_t)meta->reader.id * meta->subbuf_size;
	it = subbuf_resume(format, subbuf, 0, subbuf_time_stamp(format, subbuf));
	subbuf_extend(&it, meta->reader.read);
	/* Pass over what was consumed earlier: a time stamp is the sum of all deltas before. */
	subbuf_skip(&it, read);
	return it;
}

int main(int argc, char **argv)
{
	int cpu = argc > 1 ? atoi(argv[1]) : 0;
	int fd = open_buffer(argc > 2 ? argv[2] : "/sys/kernel/tracing", cpu, "trace_pipe_raw");
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	const struct trace_buffer_meta *meta = map_buffer(fd);
	struct subbuf_format format = read_format(meta);
	struct tep_handle *tep = read_events();
	struct subbuf_record rec;

	while (true) {
		struct subbuf_iter it = get_reader(fd, cpu, meta, &format);

		if (it.next == it.end) {
			fflush(stdout);
			/* buffer_percent tells how full the buffer has to be to be readable. */
			if (poll(&pollfd, 1, 1000) < 0)
				err(1, "poll");
		}
		while (subbuf_next(&it, &rec))
			print_event(tep, cpu, &rec);
		if (it.corrupt)
			errx(1, "sub-buffer %u is damaged", meta->reader.id);
	}
}

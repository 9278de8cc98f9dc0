// SPDX-License-Identifier: GPL-2.0
/* The mapping of a CPU's buffer, and the loop over the records. */
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

int mapping_open(struct mapping *mapping, int fd)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct trace_buffer_meta *meta;

	meta = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	if (meta == MAP_FAILED)
		return -errno;
	mapping->size = meta->meta_page_size + (size_t)meta->nr_subbufs * meta->subbuf_size;
	mapping->meta = mmap(NULL, mapping->size, PROT_READ, MAP_SHARED, fd, 0);
	munmap(meta, page);
	return mapping->meta == MAP_FAILED ? -errno : 0;
}

void mapping_close(struct mapping *mapping)
{
	munmap(mapping->meta, mapping->size);
}

bool parse_counts = true;

/* The same with the events counted, to know that all of them come. */
static int parse_and_count(struct subbuf_iter it, struct tally *tally)
{
	struct subbuf_record record;
	size_t start = subbuf_pos(&it);

	while (subbuf_next(&it, &record))
		tally->events++;
	tally->bytes += subbuf_pos(&it) - start;
	return it.corrupt ? -EBADMSG : 0;
}

/* The loop that every way to read sub-buffers runs, this very code. */
__attribute__((noipa)) int parse(const struct subbuf_iter *start, struct tally *tally)
{
	struct subbuf_iter it = *start;
	struct subbuf_record record;
	uint64_t sink = 0;

	if (parse_counts)
		return parse_and_count(it, tally);
	while (subbuf_next(&it, &record))
		sink += record.ts;
	tally->sink += sink;
	tally->bytes += subbuf_pos(&it) - subbuf_pos(start);
	return it.corrupt ? -EBADMSG : 0;
}

/* Parse what a GET_READER brought: bytes @read to reader.read. */
int mapping_parse(const struct mapping *mapping, const struct subbuf_format *format,
		  uint32_t read, struct tally *tally)
{
	const struct trace_buffer_meta *meta = mapping->meta;
	const char *subbuf = (const char *)meta + meta->meta_page_size +
			     (size_t)meta->reader.id * meta->subbuf_size;
	struct subbuf_iter it = subbuf_resume(format, subbuf, 0,
					      subbuf_time_stamp(format, subbuf));

	subbuf_extend(&it, meta->reader.read);
	if (read)
		subbuf_skip(&it, read);
	return parse(&it, tally);
}

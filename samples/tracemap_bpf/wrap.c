// SPDX-License-Identifier: GPL-2.0
/*
 * The first use: to handle the end of the ring oneself. What is in the buffer
 * goes to a file as it is, with one writev() and no copy in between: it is in
 * one piece, or in two where the ring's end is in the middle. In the file,
 * there is no such end, and records can be gone through one after another.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tracemap_bpf.h"

enum { BURST = 30 };	/* so few that all of them fit into a page */

struct ring {
	struct tracemap_perf_raw raw;
	unsigned int in_two;	/* how often it was two pieces */
	unsigned int cut;	/* and how often the end was inside a record */
};

/* Is the end of the ring inside a record? What follows tail is whole records. */
static bool end_cuts_record(const struct tracemap_perf_raw *raw, uint64_t tail)
{
	uint64_t offset = tail & (raw->data_size - 1);
	struct perf_event_header header;

	while (offset < raw->data_size) {
		memcpy(&header, (const char *)raw->data + offset, sizeof(header));
		offset += header.size;
	}
	return offset > raw->data_size;
}

/*
 * The pairs of barriers: load-acquire of data_head with the kernel's store of
 * it, store-release of data_tail with the kernel's load of that.
 */
static int save(struct ring *ring, int file)
{
	struct perf_event_mmap_page *page = ring->raw.page;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;
	uint64_t offset = tail & (ring->raw.data_size - 1);
	uint64_t size = head - tail, first = ring->raw.data_size - offset;
	char *data = (char *)ring->raw.data;
	struct iovec pieces[2] = { { data + offset, size }, { data, 0 } };

	if (size > first) {
		pieces[0].iov_len = first;
		pieces[1].iov_len = size - first;
		ring->in_two++;
		ring->cut += end_cuts_record(&ring->raw, tail);
	}
	if (writev(file, pieces, 2) != (ssize_t)size)
		return complain(-errno, "saving the buffer");
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	return 0;
}

static int check_saved(const char *data, size_t size, unsigned int count)
{
	unsigned int number = 0;

	for (size_t at = 0; at < size; number++) {
		const struct perf_event_header *header = (const void *)(data + at);
		struct tracemap_record rec = { .data = data + at + 12, .size = header->size - 12 };
		struct numbered event;

		if (header->type != PERF_RECORD_SAMPLE || header->size > size - at)
			return complain(-EBADMSG, "record %u in the file", number);
		if (check_event(&rec, false, &event))
			return -EBADMSG;
		if (event.number != number)
			return complain(-EBADMSG, "event %u where %u should be",
					event.number, number);
		at += header->size;
	}
	return number == count ? 0 : complain(-EBADMSG, "%u events of %u", number, count);
}

static int check_file(int file, unsigned int count)
{
	off_t size = lseek(file, 0, SEEK_END);
	void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
	int ret;

	if (data == MAP_FAILED)
		return complain(-errno, "mapping the file");
	ret = check_saved(data, size, count);
	munmap(data, size);
	return ret;
}

static int save_bursts(struct ring *ring, FILE *file, unsigned int count)
{
	int ret = 0;

	for (unsigned int i = 0; i < count && !ret; i++) {
		make_event(i);
		if (i % BURST == BURST - 1 || i == count - 1)
			ret = save(ring, fileno(file));
	}
	return ret;
}

static int save_and_check(struct program *program, unsigned int count)
{
	FILE *file = tmpfile();
	struct ring ring;
	int ret;

	if (!file)
		return complain(-errno, "making a file");
	memset(&ring, 0, sizeof(ring));
	tracemap_perf_raw(program->perf[0], &ring.raw);
	ret = save_bursts(&ring, file, count);
	if (!ret)
		ret = check_file(fileno(file), count);
	if (!ret && !ring.cut)
		ret = complain(-ENODATA, "the ring's end was never inside a record");
	if (!ret)
		printf("wrap: %u events saved from CPU %d; %u times in two pieces, %u times with a record in both\n",
		       count, program->cpu[0], ring.in_two, ring.cut);
	fclose(file);
	return ret;
}

int use_wrap(const struct options *options)
{
	struct program program;
	int ret;

	ret = program_start(&program, options, 1);
	if (ret)
		return ret;
	ret = go_to_cpu(program.cpu[0]);
	if (!ret)
		ret = save_and_check(&program, options->count ? options->count : 2000);
	program_stop(&program);
	return ret;
}

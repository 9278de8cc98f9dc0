// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "subbuf.h"

/* type_len of a record header: 1 to 28 are data of so many words */
enum {
	RECORD_LONG_DATA	= 0,
	RECORD_MAX_DATA		= 28,
	RECORD_PADDING		= 29,
	RECORD_TIME_EXTEND	= 30,
	RECORD_TIME_STAMP	= 31,
};

/* What a raw marker has ahead of the bytes that were written: trace_entry. */
#define ENTRY_HEADER	8

static uint32_t word_at(const unsigned char *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

/* The first bit field of a record's first word, and the other one. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
static uint32_t record_type(uint32_t header)
{
	return header >> 27;
}

static uint32_t record_delta(uint32_t header)
{
	return header & ((1u << 27) - 1);
}
#else
static uint32_t record_type(uint32_t header)
{
	return header & 31;
}

static uint32_t record_delta(uint32_t header)
{
	return header >> 5;
}
#endif

static int field_number(const char *text, const char *field, const char *what)
{
	const char *p = strstr(text, field);

	p = p ? strstr(p, what) : NULL;
	return p ? atoi(p + strlen(what)) : 0;
}

const struct subbuf_layout *subbuf_layout(void)
{
	static struct subbuf_layout layout;
	char text[1024] = "";

	if (layout.header)
		return &layout;
	read_file(TRACEFS_DIR "/events/header_page", text, sizeof(text));
	layout.kernel_long = field_number(text, " commit;", "size:");
	layout.header = field_number(text, " data;", "offset:");
	if (!layout.header) {
		fprintf(stderr, "# set-up: events/header_page says nothing\n");
		abort();
	}
	return &layout;
}

uint64_t kernel_long_at(const unsigned char *p)
{
	uint64_t word;

	if (KERNEL_LONG == 4)
		return word_at(p);
	memcpy(&word, p, sizeof(word));
	return word;
}

int buffer_map(struct mapped_buffer *mb, const struct trace_instance *ti,
	       int cpu, int flags)
{
	size_t page = getpagesize();
	void *map;

	mb->meta = NULL;
	mb->fd = cpu_file(ti, cpu, "trace_pipe_raw", O_RDONLY | flags);
	if (mb->fd < 0)
		return mb->fd;
	map = mmap(NULL, page, PROT_READ, MAP_SHARED, mb->fd, 0);
	if (map == MAP_FAILED)
		goto fail;
	mb->meta = map;
	mb->len = mb->meta->meta_page_size +
		  (size_t)mb->meta->nr_subbufs * mb->meta->subbuf_size;
	/* The second before the first goes: ids stay as they are. */
	mb->meta = mmap(NULL, mb->len, PROT_READ, MAP_SHARED, mb->fd, 0);
	if (mb->meta == MAP_FAILED) {
		int err = errno;

		munmap(map, page);
		errno = err;
		goto fail;
	}
	munmap(map, page);
	return 0;
fail:
	mb->meta = NULL;
	flags = -errno;
	close(mb->fd);
	mb->fd = -1;
	return flags;
}

void buffer_unmap(struct mapped_buffer *mb)
{
	if (mb->meta)
		munmap(mb->meta, mb->len);
	mb->meta = NULL;
	if (mb->fd >= 0)
		close(mb->fd);
	mb->fd = -1;
}

unsigned char *buffer_subbuf(const struct mapped_buffer *mb, unsigned int id)
{
	return (unsigned char *)mb->meta + mb->meta->meta_page_size +
	       (size_t)id * mb->meta->subbuf_size;
}

size_t part_of_buffer(const struct mapped_buffer *mb, unsigned int percent)
{
	return (size_t)mb->meta->nr_subbufs * mb->meta->subbuf_size / 100 *
	       percent;
}

void buffer_touch(const struct mapped_buffer *mb)
{
	const unsigned char *byte = (const unsigned char *)mb->meta;
	unsigned int sum = 0;
	size_t i;

	for (i = 0; i < mb->len; i += getpagesize())
		sum += byte[i];
	/* for the compiler: the sum is needed */
	__asm__ __volatile__("" : : "r" (sum));
}

uint32_t subbuf_commit(const void *subbuf)
{
	/* The marks may be sign-extended. */
	return kernel_long_at((const unsigned char *)subbuf + 8);
}

int map_error(int fd, size_t len, int prot, int flags, unsigned long long off)
{
	void *map = mmap(NULL, len, prot, flags, fd, off);

	if (map == MAP_FAILED)
		return errno;
	munmap(map, len);
	return 0;
}

void tally_event(struct tally *t, const unsigned char *data, size_t len)
{
	struct event_payload payload;
	uint32_t gap;

	if (len < ENTRY_HEADER + sizeof(payload)) {
		t->others++;
		return;
	}
	memcpy(&payload, data + ENTRY_HEADER, sizeof(payload));
	if (payload.tag != EVENT_TAG) {
		t->others++;
		return;
	}
	gap = payload.seq - t->next;
	if (!t->unknown_loss && gap != t->announced)
		t->misplaced++;
	t->announced = 0;
	t->unknown_loss = false;
	t->next = payload.seq + 1;
	t->seen++;
}

/* Returns the length of the record at @p, 0 if there is no such record. */
static size_t tally_record(struct tally *t, const unsigned char *p, size_t room)
{
	uint32_t header = word_at(p), type = record_type(header);
	size_t len;

	switch (type) {
	case RECORD_TIME_EXTEND:
	case RECORD_TIME_STAMP:
		return room < 8 ? 0 : 8;
	case RECORD_PADDING:
		t->padding++;
		/* without a time: nothing more on this sub-buffer */
		if (!record_delta(header))
			return room;
		__attribute__((__fallthrough__));
	case RECORD_LONG_DATA:
		if (room < 8)
			return 0;
		len = 4 + word_at(p + 4);
		if (len < 8 || len > room)
			return 0;
		if (type == RECORD_LONG_DATA)
			tally_event(t, p + 8, len - 8);
		return len;
	default:
		len = 4 + type * 4;
		if (len > room)
			return 0;
		tally_event(t, p + 4, len - 4);
		return len;
	}
}

void tally_data(struct tally *t, const unsigned char *data, size_t from,
		size_t to)
{
	while (from < to) {
		size_t room = to - from;
		size_t len = room < 4 ? 0 : tally_record(t, data + from, room);

		if (!len) {
			t->malformed++;
			return;
		}
		from += (len + 3) & ~(size_t)3;
	}
}

void announce_loss(struct tally *t, uint64_t lost)
{
	t->lost += lost;
	t->announced += lost;
}

void tally_page(struct tally *t, const unsigned char *page, size_t len)
{
	uint32_t commit = subbuf_commit(page);
	size_t end = commit & COMMIT_LENGTH;

	if (end > len - SUBBUF_HEADER) {
		t->malformed++;
		return;
	}
	if ((commit & COMMIT_LOST) && (commit & COMMIT_STORED))
		announce_loss(t, kernel_long_at(page + SUBBUF_HEADER + end));
	else if (commit & COMMIT_LOST)
		t->unknown_loss = true;
	tally_data(t, page + SUBBUF_HEADER, 0, end);
}

long tally_read(struct tally *t, int fd, size_t subbuf_size)
{
	unsigned char *page = malloc(subbuf_size);
	long reads = 0;
	ssize_t len;

	if (!page)
		return -ENOMEM;
	while ((len = read(fd, page, subbuf_size)) > 0) {
		tally_page(t, page, len);
		reads++;
	}
	free(page);
	return reads;
}

long tally_get_reader(struct tally *t, const struct mapped_buffer *mb)
{
	uint32_t id = mb->meta->reader.id, read = mb->meta->reader.read, end;

	if (ioctl(mb->fd, TRACE_MMAP_IOCTL_GET_READER))
		return -errno;
	if (mb->meta->reader.id != id) {
		id = mb->meta->reader.id;
		read = 0;
		announce_loss(t, mb->meta->reader.lost_events);
	}
	end = mb->meta->reader.read;
	if (id >= mb->meta->nr_subbufs || end < read ||
	    end > mb->meta->subbuf_size - SUBBUF_HEADER) {
		t->malformed++;
		return -ERANGE;
	}
	tally_data(t, buffer_subbuf(mb, id) + SUBBUF_HEADER, read, end);
	return end - read;
}

long tally_drain(struct tally *t, const struct mapped_buffer *mb)
{
	long calls = 0, ret;

	while ((ret = tally_get_reader(t, mb)) > 0)
		calls++;
	return ret < 0 ? ret : calls;
}

bool tally_exact(const struct tally *t)
{
	if (!t->malformed && !t->misplaced && !t->others)
		return true;
	fprintf(stderr,
		"# tally: seen %llu lost %llu next %u: %llu malformed, %llu misplaced, %llu others\n",
		(unsigned long long)t->seen, (unsigned long long)t->lost,
		t->next, (unsigned long long)t->malformed,
		(unsigned long long)t->misplaced,
		(unsigned long long)t->others);
	return false;
}

// SPDX-License-Identifier: GPL-2.0
/* perf_event_open(2) on the tracepoint, its mapped buffer parsed in place. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

#define EVENT_ID	"/sys/kernel/tracing/events/bench/bench_event/id"

/* A record: header, time stamp, size of the raw data, the raw data. */
enum { TIME_AT = 8, SIZE_AT = 16, RAW_AT = 20, RECORD_MAX = 4096 };

size_t outside_size;

static int open_event(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
		.watermark = 1,
	};
	int64_t id = file_number(EVENT_ID, "");
	int fd;

	if (id < 0)
		return id;
	attr.config = id;
	attr.wakeup_watermark = outside_size / 2;
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* A page is mapped when it is touched first; the reader does that once only. */
static void touch_pages(const char *memory, size_t size)
{
	const size_t page = sysconf(_SC_PAGESIZE);

	for (size_t at = 0; at < size; at += page)
		(void)*(const volatile char *)(memory + at);
}

static int perf_open(struct reader *reader)
{
	reader->fd = open_event(reader->cpu);
	if (reader->fd < 0)
		return reader->fd;
	reader->size = outside_size + sysconf(_SC_PAGESIZE);
	reader->memory = mmap(NULL, reader->size, PROT_READ | PROT_WRITE, MAP_SHARED,
			      reader->fd, 0);
	if (reader->memory == MAP_FAILED)
		return -errno;
	touch_pages(reader->memory, reader->size);
	return 0;
}

/* A record that goes over the end of the buffer is put together in @whole. */
static const char *record_at(const char *data, size_t size, uint64_t at, char *whole)
{
	size_t start = at & (size - 1);
	const struct perf_event_header *header = (const void *)(data + start);
	size_t length = header->size;

	if (start + length <= size)
		return data + start;
	if (length > RECORD_MAX)
		return NULL;
	memcpy(whole, data + start, size - start);
	memcpy(whole + size - start, data, length - (size - start));
	return whole;
}

static uint64_t load(const char *p, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, p, size);
	return value;
}

static int perf_drain(struct reader *reader, struct tally *tally)
{
	struct perf_event_mmap_page *page = reader->memory;
	const char *data = (const char *)page + page->data_offset;
	const size_t size = page->data_size;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;
	uint64_t events = 0, sink = 0;
	char whole[RECORD_MAX];

	tally->bytes += head - tail;
	while (tail != head) {
		const char *record = record_at(data, size, tail, whole);
		const struct perf_event_header *header = (const void *)record;

		if (!record || header->size < sizeof(*header))
			return -EBADMSG;
		if (header->type == PERF_RECORD_SAMPLE) {
			events++;
			sink += load(record + TIME_AT, 8) + load(record + SIZE_AT, 4) +
				(uintptr_t)(record + RAW_AT);
		}
		tail += header->size;
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	tally->events += events;
	tally->sink += sink;
	return 0;
}

static int perf_prepare(struct reader *reader)
{
	return ioctl(reader->fd, PERF_EVENT_IOC_DISABLE, 0) < 0 ? -errno : 0;
}

static void perf_close(struct reader *reader)
{
	munmap(reader->memory, reader->size);
}

const struct way way_perf = {
	.name			= "perf",
	.outside_tracefs	= true,
	.open			= perf_open,
	.prepare		= perf_prepare,
	.drain			= perf_drain,
	.close			= perf_close,
};

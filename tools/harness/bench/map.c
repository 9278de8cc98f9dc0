// SPDX-License-Identifier: GPL-2.0
/*
 * The tables map and index: what it costs to map a buffer, in time and in
 * memory, and what an observer costs, and the live index that is there for it.
 *
 * The memory is what the kernel has fewer free pages, those in the lists of
 * the CPUs counted as free, less the process's page tables and the meta area.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"
#include "live.h"

/* Adds up the numbers after a word that begins a line of /proc/zoneinfo. */
static long sum_of(const char *text, const char *word)
{
	long sum = 0;

	for (const char *p = text; (p = strstr(p, word)); p++)
		sum += strtol(p + strlen(word), NULL, 10);
	return sum;
}

static int64_t free_bytes(void)
{
	static char text[64 * KIB];
	int ret;

	/* The counters of the CPUs into those of the zones. */
	ret = file_write("/proc/sys/vm/stat_refresh", "1");
	if (!ret || ret == -ENOENT)	/* a kernel for one CPU has none */
		ret = file_read("/proc/zoneinfo", text, sizeof(text));
	if (ret < 0)
		return ret;
	return (sum_of(text, " nr_free_pages ") + sum_of(text, " count: ")) *
		sysconf(_SC_PAGESIZE);
}

static int64_t page_table_bytes(void)
{
	return file_number("/proc/self/status", "VmPTE:") * KIB;
}

/* Bytes that others cannot have, the process's page tables not counted. */
static int64_t used_bytes(void)
{
	int64_t bytes = free_bytes();

	return bytes < 0 ? bytes : -(bytes + page_table_bytes());
}

static int subbuf_sizes(const struct trace *trace, struct trace_buffer_meta *sizes)
{
	struct mapping mapping;
	int ret, fd = trace_open_raw(trace, 0);

	if (fd < 0)
		return fd;
	ret = mapping_open(&mapping, fd);
	close(fd);
	if (ret < 0)
		return ret;
	*sizes = *mapping.meta;
	mapping_close(&mapping);
	return 0;
}

struct cost {
	uint64_t time;
	int64_t memory;
};

/* One mmap() of what nobody else maps. */
static int map_once(int fd, size_t size, struct cost *cost)
{
	int64_t before = used_bytes();
	uint64_t start = clock_now();
	void *whole = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	cost->time = clock_since(start);
	if (whole == MAP_FAILED)
		return -errno;
	cost->memory = used_bytes() - before;
	munmap(whole, size);
	return 0;
}

/* open() and mmap() of the index. */
static int observe_once(const struct trace *trace, size_t size, uint64_t *time)
{
	uint64_t start = clock_now();
	int fd = trace_open_live(trace, 0);
	void *index = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	*time = clock_since(start);
	if (index == MAP_FAILED)
		return fd < 0 ? fd : -errno;
	munmap(index, size);
	close(fd);
	return 0;
}

static int report(unsigned int mib, const struct trace *trace,
		  const struct trace_buffer_meta *sizes)
{
	size_t size = sizes->meta_page_size + (size_t)sizes->nr_subbufs * sizes->subbuf_size;
	size_t pages = size / sysconf(_SC_PAGESIZE);
	struct cost cost = { 0 };
	int ret, fd = trace_open_raw(trace, 0);

	if (fd < 0)
		return fd;
	ret = map_once(fd, size, &cost);
	close(fd);
	if (ret < 0)
		return ret;
	result("map", "mib=%u pages=%zu total=%lu memory=%.2f value=%.2f", mib, pages,
	       (unsigned long)cost.time,
	       (double)(cost.memory - sizes->meta_page_size) / sizes->nr_subbufs,
	       (double)cost.time / pages);
	return 0;
}

static int point(unsigned int mib)
{
	struct trace_buffer_meta sizes;
	struct trace trace;
	int ret, closed;

	ret = trace_open(&trace, 4, mib * KIB);
	if (ret < 0)
		return ret;
	ret = subbuf_sizes(&trace, &sizes);
	if (ret >= 0)
		ret = report(mib, &trace, &sizes);
	closed = trace_close(&trace);
	return ret < 0 ? ret : closed;
}

/* What a buffer takes that grows to this size, with its index if the kernel keeps one. */
static int index_of(struct trace *trace, unsigned int mib)
{
	struct trace_buffer_meta sizes = { 0 };
	int64_t before = used_bytes(), memory;
	size_t page = sysconf(_SC_PAGESIZE), size;
	uint64_t time = 0;
	char kib[16];
	int ret;

	snprintf(kib, sizeof(kib), "%lu", mib * KIB);
	ret = trace_set(trace, "buffer_size_kb", kib);
	memory = used_bytes() - before;
	if (ret >= 0)
		ret = subbuf_sizes(trace, &sizes);
	size = sizeof(struct trace_live_index) +
	       (sizes.nr_subbufs - 1UL) * sizeof(struct trace_live_subbuf);
	size = (size + page - 1) / page * page;
	if (ret >= 0 && kernel_lives)
		ret = observe_once(trace, size, &time);
	if (ret >= 0)
		result("index", "mib=%u subbufs=%u pages=%zu total=%lu memory=%ld value=%.2f", mib,
		       sizes.nr_subbufs, size / page, (unsigned long)time, (long)memory,
		       (double)time / (size / page));
	return ret;
}

static int index_point(unsigned int mib)
{
	struct trace trace;
	int ret, closed;

	ret = trace_open(&trace, 4, 64);
	if (ret < 0)
		return ret;
	ret = index_of(&trace, mib);
	closed = trace_close(&trace);
	return ret < 0 ? ret : closed;
}

static int points(int (*point_of)(unsigned int mib))
{
	for (unsigned int mib = 1; mib <= 256; mib *= 4) {
		int ret = point_of(mib);

		if (ret < 0)
			return ret;
	}
	return 0;
}

int table_map(void)
{
	return kernel_maps ? points(point) : 0;
}

int table_index(void)
{
	return kernel_maps ? points(index_point) : 0;
}

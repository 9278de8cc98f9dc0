// SPDX-License-Identifier: GPL-2.0
/*
 * The tables map and index: what it costs to map a buffer, in time and in
 * memory, and what the first observer costs, by its live index.
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

/* The first open(), which makes the index, and mmap() of that. */
static int observe_once(const struct trace *trace, size_t size, struct cost *cost)
{
	int64_t before = used_bytes();
	uint64_t start = clock_now();
	int fd = trace_open_live(trace, 0);
	void *index = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	cost->time = clock_since(start);
	if (index == MAP_FAILED)
		return fd < 0 ? fd : -errno;
	cost->memory = used_bytes() - before;
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

static int report_index(unsigned int mib, const struct trace *trace,
			const struct trace_buffer_meta *sizes)
{
	size_t entries = (size_t)sizes->nr_subbufs * sizeof(struct trace_live_subbuf);
	size_t page = sysconf(_SC_PAGESIZE);
	size_t size = (sizeof(struct trace_live_index) + entries + page - 1) / page * page;
	struct cost cost = { 0 };
	int ret = observe_once(trace, size, &cost);

	if (ret < 0)
		return ret;
	result("index", "mib=%u subbufs=%u pages=%zu total=%lu memory=%ld value=%.2f", mib,
	       sizes->nr_subbufs, size / page, (unsigned long)cost.time, (long)cost.memory,
	       (double)cost.time / (size / page));
	return 0;
}

typedef int report_fn(unsigned int mib, const struct trace *trace,
		      const struct trace_buffer_meta *sizes);

/* Measure where @sizes tells what to expect, else learn them. */
static int with_buffer(unsigned int mib, struct trace_buffer_meta *sizes, report_fn *measure)
{
	struct trace trace;
	int ret, closed;

	ret = trace_open(&trace, 4, mib * KIB);
	if (ret < 0)
		return ret;
	ret = measure ? measure(mib, &trace, sizes) : subbuf_sizes(&trace, sizes);
	closed = trace_close(&trace);
	return ret < 0 ? ret : closed;
}

/* The one that is measured is the first of its buffer: another tells the sizes. */
static int point(unsigned int mib, report_fn *measure)
{
	struct trace_buffer_meta sizes;
	int ret = with_buffer(mib, &sizes, NULL);

	return ret < 0 ? ret : with_buffer(mib, &sizes, measure);
}

static int points(report_fn *measure)
{
	for (unsigned int mib = 1; mib <= 256; mib *= 4) {
		int ret = point(mib, measure);

		if (ret < 0)
			return ret;
	}
	return 0;
}

int table_map(void)
{
	return kernel_maps ? points(report) : 0;
}

int table_index(void)
{
	return kernel_lives ? points(report_index) : 0;
}

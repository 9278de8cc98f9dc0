// SPDX-License-Identifier: GPL-2.0
/*
 * A trace.dat that has less data than its table tells.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "report_cut.h"
#include "temp_file.h"
#include "trace_dat_send.h"
#include "trace_head.h"

/* Tell of a CPU what is there of its data, in whole pages. */
static void clip(struct trace_region *region, uint64_t file_size, uint32_t page_size,
		 struct report_cut *cut)
{
	uint64_t there = file_size > region->offset ? file_size - region->offset : 0;

	cut->size += region->size;
	if (there >= region->size)
		return;
	there -= there % page_size;
	cut->missing += region->size - there;
	region->size = there;
}

/* Where the copy is to be written. */
struct copy {
	int fd;
	uint64_t at;
};

static int put(void *arg, const void *data, size_t size)
{
	struct copy *copy = arg;
	int ret = trace_dat_write_at(copy->fd, data, size, copy->at);

	copy->at += size;
	return ret;
}

int report_copy(int from, const void *data, size_t size, uint64_t at)
{
	struct copy copy = { .fd = temp_file() };
	int ret = copy.fd;
	struct stat st;

	if (ret >= 0)
		ret = fstat(from, &st) ? -errno :
			trace_dat_send_file(from, st.st_size, put, &copy);
	if (!ret)
		ret = trace_dat_write_at(copy.fd, data, size, at);
	if (!ret)
		return copy.fd;
	if (copy.fd >= 0)
		close(copy.fd);
	return complain(ABOUT_OUTPUT, ret,
			"%s, for a copy of what is there (TMPDIR names another folder)",
			temp_folder());
}

static int copy_if_cut(int fd, const struct trace_head_found *found, struct trace_region *table,
		       struct report_cut *cut)
{
	const size_t size = found->nr_cpus * sizeof(*table);
	struct stat st;

	if (fstat(fd, &st))
		return -ENOENT;
	for (unsigned int i = 0; i < found->nr_cpus; i++)
		clip(&table[i], st.st_size, found->page_size, cut);
	return cut->missing ? report_copy(fd, table, size, found->table) : -ENOENT;
}

int report_cut(const char *path, struct report_cut *cut)
{
	struct trace_head_found found;
	FILE *file = fopen(path, "re");
	struct trace_region *table;
	int ret = -ENOENT;

	*cut = (struct report_cut){ 0 };
	if (file && trace_head_find(file, &found)) {
		table = trace_head_table(file, &found);
		if (table)
			ret = copy_if_cut(fileno(file), &found, table, cut);
		free(table);
	}
	if (file)
		fclose(file);
	return ret;
}

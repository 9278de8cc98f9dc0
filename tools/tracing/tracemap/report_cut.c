// SPDX-License-Identifier: GPL-2.0
/*
 * A trace.dat that has less data than its table tells.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "report_cut.h"
#include "report_damage.h"
#include "temp_file.h"
#include "trace_dat_send.h"

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

int report_cannot_copy(int error)
{
	return complain(ABOUT_OUTPUT, error,
			"%s, for a copy of what is there (TMPDIR names another folder)",
			temp_folder());
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
	return report_cannot_copy(ret);
}

int report_cut(struct report_head *head, struct report_cut *cut, int *copy)
{
	const struct trace_head_found *found = &head->found;
	struct stat st;

	*cut = (struct report_cut){ 0 };
	if (!head->table || fstat(fileno(head->file), &st))
		return 0;
	for (unsigned int i = 0; i < found->nr_cpus; i++)
		clip(&head->table[i], st.st_size, found->page_size, cut);
	if (!cut->missing)
		return 0;
	*copy = report_copy(fileno(head->file), head->table,
			    found->nr_cpus * sizeof(*head->table), found->table);
	return *copy < 0 ? *copy : 1;
}

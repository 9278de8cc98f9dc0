// SPDX-License-Identifier: GPL-2.0
/*
 * A trace.dat file, version 6, being recorded.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace_dat.h"

#define REGION_MAX	(1ULL << 40)
#define REGION_MIN	(1ULL << 24)
#define CHUNK		(1U << 20)

/* As in the file. */
struct region {
	uint64_t offset;
	uint64_t size;
};

struct trace_dat {
	int fd;
	const struct trace_head *head;
	unsigned int nr_cpus;
	unsigned int page_size;
	uint64_t table;		/* where it is in the file */
	uint64_t data;		/* what is in front of the data ends before */
	uint64_t limit;		/* bytes of a region */
	struct region *regions;
};

static uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

/* ---- Bytes to the file ---- */

/* Drop the first @n bytes of the list. */
static void advance(struct iovec **part, int *nr, size_t n)
{
	while (*nr && n >= (*part)->iov_len) {
		n -= (*part)->iov_len;
		++*part;
		--*nr;
	}
	if (*nr) {
		(*part)->iov_base = (char *)(*part)->iov_base + n;
		(*part)->iov_len -= n;
	}
}

/* A full disk may take some of the bytes first, and says so when asked again. */
static int write_parts(int fd, struct iovec *part, int nr, uint64_t at)
{
	while (nr) {
		ssize_t ret = pwritev(fd, part, nr, at);

		if (ret < 0 && errno == EINTR)
			continue;
		if (ret <= 0)
			return ret ? -errno : -EIO;
		at += ret;
		advance(&part, &nr, ret);
	}
	return 0;
}

static int write_at(int fd, const void *data, size_t size, uint64_t at)
{
	struct iovec part = { (void *)data, size };

	return size ? write_parts(fd, &part, 1, at) : 0;
}

int trace_dat_sync(struct trace_dat *dat)
{
	return write_at(dat->fd, dat->regions, dat->nr_cpus * sizeof(*dat->regions), dat->table);
}

/* What is in front. The table at its end comes first to where it will be. */
static int write_head(struct trace_dat *dat, const struct bytes *head)
{
	dat->table = head->size;
	return trace_dat_sync(dat) ?: write_at(dat->fd, head->data, head->size, 0);
}

/* ---- The beginning ---- */

static uint64_t table_size(const struct trace_dat *dat)
{
	return dat->nr_cpus * sizeof(struct region);
}

/* Regions as large as the file system and ulimit -f allow. */
static int lay_out(struct trace_dat *dat)
{
	uint64_t size;

	for (size = REGION_MAX; size >= REGION_MIN; size /= 2) {
		if (!ftruncate(dat->fd, dat->data + dat->nr_cpus * size))
			break;
		if (errno != EFBIG && errno != EINVAL)
			return -errno;
	}
	if (size < REGION_MIN)
		return -EFBIG;
	if (ftruncate(dat->fd, dat->data))
		return -errno;
	dat->limit = size / dat->page_size * dat->page_size;
	for (unsigned int i = 0; i < dat->nr_cpus; i++)
		dat->regions[i].offset = dat->data + i * dat->limit;
	return 0;
}

/* Whether a hole costs nothing. Some file systems fill it with zeros. */
static int try_hole(int fd)
{
	enum { HOLE = 16 << 20 };
	struct stat st;
	int ret;

	if (ftruncate(fd, HOLE))
		return -errno;
	ret = write_at(fd, "", 1, HOLE);
	if (!ret && fstat(fd, &st))
		ret = -errno;
	if (ftruncate(fd, 0) && !ret)
		ret = -errno;
	return ret ? ret : (uint64_t)st.st_blocks * 512 > HOLE / 2 ? -EOPNOTSUPP : 0;
}

/* Room for what may still grow has its blocks now: later the disk may be full. */
static int begin(struct trace_dat *dat)
{
	struct bytes head = { .error = 0 };
	uint64_t reserve;
	int ret;

	ret = trace_head_write(dat->head, &head);
	if (ret)
		goto out;
	reserve = head.size + table_size(dat) + trace_head_may_grow(dat->head);
	dat->data = round_up(reserve, dat->page_size);
	ret = lay_out(dat);
	if (!ret)
		ret = -posix_fallocate(dat->fd, 0, dat->data);
	if (!ret)
		ret = write_head(dat, &head);
out:
	bytes_free(&head);
	return ret;
}

static int check_file(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	return ftruncate(fd, 0) ? -errno : try_hole(fd);
}

/* @made: whether it was not there before */
static int open_file(const char *path, bool *made)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	*made = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : fd;
}

int trace_dat_create(struct trace_dat **datp, const char *path, const struct trace_head *head,
		     unsigned int nr_cpus, unsigned int page_size)
{
	struct trace_dat *dat = calloc(1, sizeof(*dat));
	bool made = false;
	int ret = -ENOMEM;

	if (!dat)
		return -ENOMEM;
	dat->fd = -1;
	dat->head = head;
	dat->nr_cpus = nr_cpus;
	dat->page_size = page_size;
	dat->regions = calloc(nr_cpus, sizeof(*dat->regions));
	if (dat->regions) {
		dat->fd = open_file(path, &made);
		ret = dat->fd < 0 ? dat->fd : check_file(dat->fd);
	}
	if (!ret)
		ret = begin(dat);
	if (!ret) {
		*datp = dat;
		return 0;
	}
	/* Nothing could be read of half a head. */
	if (made)
		unlink(path);
	else if (dat->fd >= 0 && ret != -EINVAL && ftruncate(dat->fd, 0))
		ret = -errno;
	trace_dat_close(dat);
	return ret;
}

void trace_dat_close(struct trace_dat *dat)
{
	if (!dat)
		return;
	if (dat->fd >= 0)
		close(dat->fd);
	free(dat->regions);
	free(dat);
}

/* ---- Data ---- */

int trace_dat_write(struct trace_dat *dat, unsigned int cpu, uint64_t at,
		    const struct dat_page *pages, int nr)
{
	struct region *region = &dat->regions[cpu];
	struct iovec parts[DAT_PAGES_MAX * DAT_PAGE_PARTS];
	uint64_t size = (uint64_t)nr * dat->page_size;
	int nr_parts = 0, ret;

	if (at + size > dat->limit)
		return -EFBIG;
	for (int i = 0; i < nr; i++) {
		memcpy(parts + nr_parts, pages[i].part, pages[i].nr_parts * sizeof(*parts));
		nr_parts += pages[i].nr_parts;
	}
	ret = write_parts(dat->fd, parts, nr_parts, region->offset + at);
	if (!ret)
		region->size = at + size;
	return ret;
}

uint64_t trace_dat_size(const struct trace_dat *dat)
{
	uint64_t size = 0;

	for (unsigned int i = 0; i < dat->nr_cpus; i++)
		size += dat->regions[i].size;
	return size;
}

/* ---- The end ---- */

/* Take the hole before a CPU's data out, where the file system can. */
static int collapse(struct trace_dat *dat, unsigned int cpu, uint64_t to)
{
	uint64_t hole = dat->regions[cpu].offset - to;

	if (fallocate(dat->fd, FALLOC_FL_COLLAPSE_RANGE, to, hole))
		return -errno;
	for (unsigned int i = cpu; i < dat->nr_cpus; i++)
		dat->regions[i].offset -= hole;
	return trace_dat_sync(dat);
}

static int copy(int fd, uint64_t from, uint64_t to, uint64_t size)
{
	char *buffer = malloc(CHUNK);
	int ret = buffer ? 0 : -ENOMEM;

	while (size && !ret) {
		ssize_t n = pread(fd, buffer, size < CHUNK ? size : CHUNK, from);

		if (n < 0 && errno == EINTR)
			continue;
		ret = n > 0 ? write_at(fd, buffer, n, to) : n ? -errno : -EIO;
		from += n;
		to += n;
		size -= n;
	}
	free(buffer);
	return ret;
}

/*
 * Or move them into the hole. The table points to the one copy or to the other,
 * and both are whole when it changes.
 */
static int move(struct trace_dat *dat, unsigned int cpu, uint64_t to)
{
	struct region *region = &dat->regions[cpu];
	uint64_t from = region->offset;
	int ret;

	if (to + region->size > from)
		return -EOPNOTSUPP;
	ret = copy(dat->fd, from, to, region->size);
	if (ret) {
		fallocate(dat->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, to, region->size);
		return ret;
	}
	region->offset = to;
	ret = trace_dat_sync(dat);
	if (!ret)
		fallocate(dat->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, region->size);
	return ret;
}

static bool take_holes_out(struct trace_dat *dat)
{
	uint64_t to = dat->data;
	bool all = true;

	for (unsigned int i = 0; i < dat->nr_cpus; i++) {
		struct region *region = &dat->regions[i];

		if (!region->size)
			region->offset = to;
		else if (region->offset != to && collapse(dat, i, to) && move(dat, i, to))
			all = false;
		to = region->offset + region->size;
	}
	return !ftruncate(dat->fd, to) && all;
}

int trace_dat_finish(struct trace_dat *dat)
{
	struct bytes head = { .error = 0 };
	int ret;

	ret = trace_head_write(dat->head, &head);
	if (!ret)
		ret = head.size + table_size(dat) <= dat->data ? write_head(dat, &head) : -E2BIG;
	bytes_free(&head);
	return ret;
}

int trace_dat_compact(struct trace_dat *dat, bool *compact)
{
	int ret;

	*compact = take_holes_out(dat);
	ret = trace_dat_sync(dat);
	/* What a file system elsewhere has no room for, it says only now. */
	return !ret && fsync(dat->fd) ? -errno : ret;
}

/* ---- When the recorder is no more ---- */

static const char how_format[] = "%llu %llu %llu %llu %u %u";

char *trace_dat_how(const struct trace_dat *dat)
{
	struct stat st;
	char *how;

	if (fstat(dat->fd, &st) ||
	    asprintf(&how, how_format, (unsigned long long)st.st_dev,
		     (unsigned long long)st.st_ino, (unsigned long long)dat->table,
		     (unsigned long long)dat->data, dat->nr_cpus, dat->page_size) < 0)
		return NULL;
	return how;
}

/* Of a file that was about to be finished the table may be elsewhere. */
static bool table_is_sound(const struct trace_dat *dat, uint64_t file_size)
{
	uint64_t end = dat->data;

	for (unsigned int i = 0; i < dat->nr_cpus; i++) {
		const struct region *region = &dat->regions[i];

		if (region->offset < end || region->offset % dat->page_size ||
		    region->size % dat->page_size || region->size > REGION_MAX)
			return false;
		end = region->offset + region->size;
		if (region->size && end > file_size)
			return false;
	}
	return true;
}

static int rescue(struct trace_dat *dat, uint64_t file_size)
{
	size_t size = dat->nr_cpus * sizeof(*dat->regions);

	dat->regions = malloc(size);
	if (!dat->regions)
		return -ENOMEM;
	if (pread(dat->fd, dat->regions, size, dat->table) != (ssize_t)size ||
	    !table_is_sound(dat, file_size))
		return -EINVAL;
	take_holes_out(dat);
	return trace_dat_sync(dat);
}

int trace_dat_rescue(const char *path, const char *how)
{
	unsigned long long device, inode, table, data;
	struct trace_dat dat = { .head = NULL };
	struct stat st;
	int ret = -EINVAL;

	if (sscanf(how, how_format, &device, &inode, &table, &data, &dat.nr_cpus,
		   &dat.page_size) != 6)
		return ret;
	dat.table = table;
	dat.data = data;
	dat.fd = open(path, O_RDWR | O_CLOEXEC);
	if (dat.fd < 0)
		return -errno;
	if (!fstat(dat.fd, &st) && st.st_dev == device && st.st_ino == inode)
		ret = rescue(&dat, st.st_size);
	free(dat.regions);
	close(dat.fd);
	return ret;
}

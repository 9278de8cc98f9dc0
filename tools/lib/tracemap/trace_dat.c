// SPDX-License-Identifier: LGPL-2.1
/*
 * Record a trace.dat file, version 6.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "new_file.h"
#include "temp_file.h"
#include "trace_dat.h"

/* How much of the data may be in both files while it is moved. The test has less. */
#ifndef CHUNK
#define CHUNK		(64ULL << 20)
#endif

/*
 * Space to reserve for moving: the more, the faster moving is on a full disk; and for the last
 * pages. For a file without a name it is only for these, which have few bytes.
 */
#define RESERVE_MAX	(16ULL << 20)
#define RESERVE_MIN	(1ULL << 20)
#define RESERVE_SHARE	8	/* at most this part of what is free */
#define RESERVE_CPU	4096ULL

/*
 * libtracecmd looks for the name of the clock right behind the table. Behind the name,
 * where it does not look, FILE has a mark, and for each CPU a byte with the state of its
 * part. The table and all of this are written together.
 */
struct behind {
	uint64_t clock_size;
	char clock[32];		/* in brackets */
	char mark[8];
};

static const char mark[8] = "parts 1";

enum state {
	STATE_NONE,	/* FILE is whole, and has no part: a file of that name is not its part */
	STATE_NEEDED,	/* the part may have data that FILE does not have */
	STATE_MOVED,	/* FILE has all of its data, and the part may be removed */
	NR_STATES,
};

/**
 * struct part - FILE.cpuN
 * @fd: its descriptor, or -1 if there is no such file
 * @size: bytes of data that the CPU has, in both files
 * @moved: how many of them are in FILE; the last page may be incomplete
 * @freed: how many of them were freed in the part
 */
struct part {
	int fd;
	uint64_t size;
	uint64_t moved;
	uint64_t freed;
};

struct trace_dat {
	char *path;
	int lock;		/* FILE as it was begun, locked while it is open */
	int fd;			/* FILE; -1: it has no name, and @lock has only the reserve */
	const struct trace_head *head;
	unsigned int nr_cpus;
	unsigned int page_size;
	uint64_t table;		/* where the table is in the file */
	uint64_t size;		/* bytes of data */
	uint64_t limit;		/* the largest size that the data may have */
	uint64_t unsynced;	/* bytes moved that may not be on the disk yet */
	int failed;		/* to sync: the disk may not have what was moved */
	bool reserved;		/* @lock may have space behind its end */
	uint64_t spare;		/* bytes that last pages may have */
	struct trace_region *regions;	/* the table; @behind and @states are behind it */
	struct behind *behind;
	unsigned char *states;	/* enum state, of each CPU */
	struct part *parts;
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

/* A full disk may take some of the bytes first, and fails at the next call. */
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

int trace_dat_write_at(int fd, const void *data, size_t size, uint64_t at)
{
	struct iovec part = { (void *)data, size };

	return size ? write_parts(fd, &part, 1, at) : 0;
}

static uint64_t table_size(const struct trace_dat *dat)
{
	return dat->nr_cpus * (sizeof(*dat->regions) + sizeof(*dat->states)) +
		sizeof(*dat->behind);
}

static int write_table(struct trace_dat *dat)
{
	return trace_dat_write_at(dat->fd, dat->regions, table_size(dat), dat->table);
}

/* Names have to reach the disk, or be removed from it, before FILE or its parts change. */
static void sync_folder(const char *path)
{
	char *copy = strdup(path);
	int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	/* Not every file system can sync a folder. */
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(copy);
}

/* ---- The parts ---- */

char *trace_dat_part_path(const char *path, unsigned int cpu)
{
	char *part;

	return asprintf(&part, "%s.cpu%u", path, cpu) < 0 ? NULL : part;
}

static int open_part(struct trace_dat *dat, unsigned int cpu, int flags, mode_t mode)
{
	char *path = trace_dat_part_path(dat->path, cpu);
	int fd = path ? open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, mode) : -1;

	free(path);
	dat->parts[cpu].fd = fd;
	return fd < 0 ? -errno : 0;
}

static void remove_part(struct trace_dat *dat, unsigned int cpu)
{
	char *path = trace_dat_part_path(dat->path, cpu);

	if (path)
		unlink(path);
	free(path);
	close(dat->parts[cpu].fd);
	dat->parts[cpu].fd = -1;
}

/* Is it @file.cpuN or @file.new? */
static bool is_left_over(const char *name, const char *file)
{
	const size_t len = strlen(file);

	if (strncmp(name, file, len))
		return false;
	name += len;
	if (!strcmp(name, ".new"))
		return true;
	if (strncmp(name, ".cpu", 4) || !isdigit(name[4]))
		return false;
	name += 4;
	return !name[strspn(name, "0123456789")];
}

/* @found: set to the name of a file beside FILE, to be freed, or NULL if there is none */
static int find_left_over(const struct trace_dat *dat, char **found)
{
	const char *file = strrchr(dat->path, '/') + 1;
	char *path = strdup(dat->path);
	struct dirent *entry;
	int ret = 0;
	DIR *dir;

	*found = NULL;
	if (!path)
		return -ENOMEM;
	dir = opendir(dirname(path));
	if (!dir)
		ret = -errno;
	while (!ret && !*found && (entry = readdir(dir))) {
		if (is_left_over(entry->d_name, file) &&
		    asprintf(found, "%s/%s", strcmp(path, "/") ? path : "", entry->d_name) < 0) {
			*found = NULL;
			ret = -ENOMEM;
		}
	}
	if (dir)
		closedir(dir);
	free(path);
	return ret;
}

/* Make FILE.cpuN, readable for the users that may read FILE. */
static int make_part(struct trace_dat *dat, unsigned int cpu)
{
	struct stat st;

	if (fstat(dat->fd, &st))
		return -errno;
	return open_part(dat, cpu, O_CREAT | O_EXCL, st.st_mode & 0666);
}

static void remove_parts(struct trace_dat *dat)
{
	for (unsigned int i = 0; i < dat->nr_cpus; i++) {
		if (dat->parts[i].fd >= 0)
			remove_part(dat, i);
	}
}

/* Make the parts of all CPUs before FILE says so: then each one that FILE needs exists. */
static int make_parts(struct trace_dat *dat)
{
	int ret = 0;

	for (unsigned int i = 0; i < dat->nr_cpus && !ret; i++)
		ret = make_part(dat, i);
	if (ret) {
		remove_parts(dat);
		return ret;
	}
	sync_folder(dat->path);
	memset(dat->states, STATE_NEEDED, dat->nr_cpus);
	return 0;
}

/* ---- The beginning ---- */

static struct trace_dat *new_dat(unsigned int nr_cpus, unsigned int page_size)
{
	struct trace_dat *dat = calloc(1, sizeof(*dat));

	if (!dat)
		return NULL;
	dat->lock = -1;
	dat->fd = -1;
	dat->nr_cpus = nr_cpus;
	dat->page_size = page_size;
	dat->regions = calloc(1, table_size(dat));
	dat->parts = calloc(nr_cpus, sizeof(*dat->parts));
	for (unsigned int i = 0; dat->parts && i < nr_cpus; i++)
		dat->parts[i].fd = -1;
	if (!dat->regions || !dat->parts) {
		trace_dat_close(dat);
		return NULL;
	}
	dat->behind = (struct behind *)(dat->regions + nr_cpus);
	memcpy(dat->behind->mark, mark, sizeof(mark));
	dat->behind->clock_size = sizeof(dat->behind->clock);
	dat->states = (unsigned char *)(dat->behind + 1);
	return dat;
}

/* Returns where the data begin. */
static uint64_t data_offset(const struct trace_dat *dat)
{
	return round_up(dat->table + table_size(dat), dat->page_size);
}

/* Write what comes before the data, and a table without data. */
static int write_head(struct trace_dat *dat, const struct bytes *head)
{
	int ret;

	dat->table = head->size;
	trace_head_clock(dat->head, dat->behind->clock, sizeof(dat->behind->clock));
	for (unsigned int i = 0; i < dat->nr_cpus; i++)
		dat->regions[i] = (struct trace_region){ .offset = data_offset(dat) };
	ret = trace_dat_write_at(dat->fd, head->data, head->size, 0);
	if (!ret)
		ret = write_table(dat);
	return !ret && fsync(dat->fd) ? -errno : ret;
}

static uint64_t within(uint64_t value, uint64_t least, uint64_t most)
{
	return value < least ? least : value > most ? most : value;
}

/*
 * How much to reserve beside a second head: a part of what is free, so that a small disk has
 * room for events; but enough for a last page of each CPU, which half of it is for.
 */
static uint64_t reserve_size(const struct trace_dat *dat)
{
	uint64_t last = 2ULL * dat->nr_cpus * dat->page_size;
	uint64_t least = within(last, RESERVE_MIN, RESERVE_MAX);
	struct statvfs fs;

	if (fstatvfs(dat->fd, &fs))
		return RESERVE_MAX;
	return within((uint64_t)fs.f_bavail * fs.f_frsize / RESERVE_SHARE, least, RESERVE_MAX);
}

/*
 * The disk may be full later. So reserve the space that is needed then behind the end of
 * the file, where it does not count in its size.
 */
static int reserve(struct trace_dat *dat)
{
	uint64_t size = reserve_size(dat);

	dat->reserved = true;
	dat->spare = RESERVE_MIN / 2;
	for (;; size = within(size / 2, RESERVE_MIN, RESERVE_MAX)) {
		if (!fallocate(dat->fd, FALLOC_FL_KEEP_SIZE, data_offset(dat),
			       data_offset(dat) + size)) {
			dat->spare = size / 2;
			return 0;
		}
		if (errno != ENOSPC && errno != EDQUOT)
			return 0;	/* the file system cannot reserve, or ulimit -f is small */
		if (size <= RESERVE_MIN)
			return -errno;
	}
}

static void free_reserve(struct trace_dat *dat)
{
	struct stat st;

	/* Even if that fails, there may be space. */
	if (!dat->reserved || (!fstat(dat->lock, &st) && ftruncate(dat->lock, st.st_size)))
		return;
	dat->reserved = false;
}

/* With ulimit -f, the data of all parts have to fit into one file at the end. */
static void set_limit(struct trace_dat *dat)
{
	uint64_t front = data_offset(dat) + RESERVE_MIN;
	struct rlimit limit;

	dat->limit = UINT64_MAX;
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return;
	dat->limit = limit.rlim_cur > front ? limit.rlim_cur - front : 0;
	dat->spare = dat->limit ? RESERVE_MIN / 2 : 0;
}

static int begin(struct trace_dat *dat)
{
	struct bytes head = { .error = 0 };
	int ret;

	ret = trace_head_write(dat->head, &head);
	if (!ret)
		ret = write_head(dat, &head);
	if (!ret)
		ret = reserve(dat);
	set_limit(dat);
	bytes_free(&head);
	return ret;
}

static int lock(int fd, int how)
{
	while (flock(fd, LOCK_EX | how)) {
		if (errno != EINTR)
			return errno == EWOULDBLOCK ? -EBUSY : -errno;
	}
	return 0;
}

/* Is @path still the file that is locked? The end of a recording replaces it. */
static bool still_is(const char *path, int fd)
{
	struct stat at, of;

	return !stat(path, &at) && !fstat(fd, &of) && at.st_dev == of.st_dev &&
	       at.st_ino == of.st_ino;
}

/* May be replaced: an empty file, or one that begins as any version of the format does */
static bool may_be_replaced(int fd)
{
	char begin[TRACE_HEAD_MAGIC_SIZE];
	ssize_t n = pread(fd, begin, sizeof(begin), 0);

	return !n || (n == sizeof(begin) && trace_head_magic(begin));
}

static int check_file(struct trace_dat *dat, const char *path, char **in_the_way)
{
	struct stat st;
	int ret;

	if (fstat(dat->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	/* Not every file system has locks. */
	ret = lock(dat->fd, LOCK_NB);
	if (ret == -EBUSY || !still_is(path, dat->fd))
		return -EBUSY;
	dat->path = realpath(path, NULL);
	if (!dat->path)
		return -errno;
	ret = find_left_over(dat, in_the_way);
	if (ret || *in_the_way)
		return ret ? ret : -EEXIST;
	return may_be_replaced(dat->fd) ? 0 : -EMEDIUMTYPE;
}

/* @made: set to whether the file did not exist before */
static int open_file(const char *path, bool *made)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	*made = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : fd;
}

int trace_dat_create(struct trace_dat **datp, const char *path, const struct trace_head *head,
		     unsigned int nr_cpus, unsigned int page_size, char **in_the_way)
{
	struct trace_dat *dat = new_dat(nr_cpus, page_size);
	bool made = false, begun = false;
	int ret;

	*in_the_way = NULL;
	if (!dat)
		return -ENOMEM;
	dat->head = head;
	dat->fd = open_file(path, &made);
	dat->lock = dat->fd;
	ret = dat->fd < 0 ? dat->fd : check_file(dat, path, in_the_way) ?: make_parts(dat);
	if (!ret) {
		begun = true;
		ret = ftruncate(dat->fd, 0) ? -errno : begin(dat);
	}
	if (!ret) {
		*datp = dat;
		return 0;
	}
	remove_parts(dat);
	/* Half a head cannot be read. A file that is busy belongs to another recording. */
	if (made && ret != -EBUSY)
		unlink(path);
	else if (begun && ftruncate(dat->fd, 0))
		ret = -errno;
	trace_dat_close(dat);
	return ret;
}

void trace_dat_close(struct trace_dat *dat)
{
	if (!dat)
		return;
	for (unsigned int i = 0; dat->parts && i < dat->nr_cpus; i++) {
		if (dat->parts[i].fd >= 0)
			close(dat->parts[i].fd);
	}
	if (dat->fd >= 0 && dat->fd != dat->lock)
		close(dat->fd);
	if (dat->lock >= 0) {
		free_reserve(dat);
		close(dat->lock);
	}
	free(dat->path);
	free(dat->regions);
	free(dat->parts);
	free(dat);
}

/* ---- Data ---- */

/*
 * When a page is written again, its header comes last, which says how much is behind it:
 * if the recorder is killed before that, the page has the events that it had. (The number
 * of lost ones, where it was behind these events, is overwritten.) The next page comes
 * first: if the disk has no room for that one, the page is as it was.
 */
static int write_pages(const struct trace_dat *dat, const struct part *part, uint64_t at,
		       const struct dat_page *pages, int nr)
{
	struct iovec parts[DAT_PAGES_MAX * DAT_PAGE_PARTS], header;
	int nr_parts = 0, first = pages[0].nr_parts;

	for (int i = 0; i < nr; i++) {
		memcpy(parts + nr_parts, pages[i].part, pages[i].nr_parts * sizeof(*parts));
		nr_parts += pages[i].nr_parts;
	}
	if (at >= part->size)
		return write_parts(part->fd, parts, nr_parts, at);
	header = parts[0];
	return write_parts(part->fd, parts + first, nr_parts - first, at + dat->page_size) ?:
	       write_parts(part->fd, parts + 1, first - 1, at + header.iov_len) ?:
	       write_parts(part->fd, &header, 1, at);
}

int trace_dat_write(struct trace_dat *dat, unsigned int cpu, uint64_t at,
		    const struct dat_page *pages, int nr)
{
	struct part *part = &dat->parts[cpu];
	uint64_t end = at + (uint64_t)nr * dat->page_size;
	int ret = 0;

	if (dat->size - part->size + end > dat->limit)
		return -EFBIG;
	if (nr)
		ret = write_pages(dat, part, at, pages, nr);
	if (ret)
		end = part->size;
	if ((ret || end < part->size) && ftruncate(part->fd, end) && !ret)
		ret = -errno;
	dat->size += end - part->size;
	part->size = end;
	return ret;
}

/* The zeros of the page become a hole, which takes no room. */
static int write_last(struct part *part, const struct dat_page *page, uint64_t end)
{
	struct iovec parts[DAT_PAGE_PARTS];
	int ret;

	memcpy(parts, page->part, page->nr_parts * sizeof(*parts));
	ret = write_parts(part->fd, parts, page->nr_parts - page->padded, part->size);
	if (ftruncate(part->fd, ret ? part->size : end) && !ret)
		ret = -errno;
	return ret;
}

int trace_dat_write_last(struct trace_dat *dat, unsigned int cpu, const struct dat_page *page)
{
	struct part *part = &dat->parts[cpu];
	uint64_t end = part->size + dat->page_size;
	int ret;

	if (dat->spare < dat->page_size)
		return -ENOSPC;
	free_reserve(dat);
	ret = write_last(part, page, end);
	if (ret)
		return ret;
	dat->spare -= dat->page_size;
	dat->size += dat->page_size;
	part->size = end;
	return 0;
}

uint64_t trace_dat_size(const struct trace_dat *dat)
{
	return dat->size;
}

/* ---- Another head ---- */

/* Give the new file the owner and the permissions of the old one. */
static int make_like(const struct trace_dat *dat, int fd)
{
	struct stat st;

	if (fstat(dat->fd, &st) || (fchown(fd, st.st_uid, st.st_gid) && errno != EPERM) ||
	    (fchmod(fd, st.st_mode & 0777) && errno != EPERM))
		return -errno;
	return lock(fd, LOCK_NB) == -EBUSY ? -EBUSY : 0;
}

static int open_like(const struct trace_dat *dat, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), ret;

	if (fd < 0)
		return -errno;
	ret = make_like(dat, fd);
	if (!ret)
		return fd;
	close(fd);
	unlink(path);
	return ret;
}

static int replace(struct trace_dat *dat, const struct bytes *head, const char *path)
{
	const int fd = dat->fd;
	const uint64_t table = dat->table;
	int ret;

	ret = open_like(dat, path);
	if (ret < 0)
		return ret;
	dat->fd = ret;
	ret = write_head(dat, head);
	if (!ret && rename(path, dat->path))
		ret = -errno;
	if (!ret) {
		sync_folder(dat->path);
		return 0;
	}
	unlink(path);
	close(dat->fd);
	dat->fd = fd;
	dat->table = table;
	return ret;
}

int trace_dat_replace_head(struct trace_dat *dat)
{
	struct bytes head = { .error = 0 };
	char *path;
	int ret;

	free_reserve(dat);
	if (asprintf(&path, "%s.new", dat->path) < 0)
		return -ENOMEM;
	ret = trace_head_write(dat->head, &head);
	if (!ret)
		ret = replace(dat, &head, path);
	bytes_free(&head);
	free(path);
	return ret;
}

/* ---- The end ---- */

static int sync_data(const struct trace_dat *dat)
{
	return fdatasync(dat->fd) ? -errno : 0;
}

/* Free what FILE has of a CPU's part: its first @size bytes. */
static void shorten_part(struct trace_dat *dat, unsigned int cpu, uint64_t size)
{
	struct part *part = &dat->parts[cpu];

	if (part->fd < 0)
		return;
	if (size == part->size)
		remove_part(dat, cpu);
	else if (size > part->freed &&
		 !fallocate(part->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			    part->freed, size - part->freed))
		part->freed = size;
}

/* Note which parts were moved as a whole. Returns whether all were. */
static bool tell_moved(struct trace_dat *dat)
{
	bool all = true;

	for (unsigned int i = 0; i < dat->nr_cpus; i++) {
		if (dat->regions[i].size == dat->parts[i].size)
			dat->states[i] = STATE_MOVED;
		else
			all = false;
	}
	return all;
}

/* All parts have to be gone, from the disk, too, before FILE says that it has none. */
static int tell_whole(struct trace_dat *dat)
{
	sync_folder(dat->path);
	memset(dat->states, STATE_NONE, dat->nr_cpus);
	return write_table(dat);
}

/*
 * What was moved has to be on the disk before the table says so, and the table before the
 * parts free it. The kernel reports only once that it could not write to the disk.
 */
static int let_go(struct trace_dat *dat)
{
	bool all = false;

	if (!dat->failed)
		dat->failed = sync_data(dat);
	if (!dat->failed) {
		all = tell_moved(dat);
		dat->failed = write_table(dat) ?: sync_data(dat);
	}
	if (dat->failed)
		return dat->failed;
	dat->unsynced = 0;
	for (unsigned int i = 0; i < dat->nr_cpus; i++)
		shorten_part(dat, i, dat->regions[i].size);
	return all ? tell_whole(dat) : 0;
}

/* Copy where the kernel does not. */
static ssize_t copy_by_buffer(int from, uint64_t from_at, int to, uint64_t to_at, size_t size)
{
	char buffer[1 << 14];
	ssize_t n = pread(from, buffer, size < sizeof(buffer) ? size : sizeof(buffer), from_at);
	int ret;

	if (n < 0)
		return -errno;
	ret = trace_dat_write_at(to, buffer, n, to_at);
	return ret ? ret : n;
}

/* Returns how many bytes were copied, 0 at the end of the file, or a negative errno. */
static ssize_t copy(int from, uint64_t from_at, int to, uint64_t to_at, size_t size)
{
	loff_t in = from_at, out = to_at;
	ssize_t n = copy_file_range(from, &in, to, &out, size, 0);

	if (n > 0)
		return n;
	if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EINTR))
		return -errno;
	return copy_by_buffer(from, from_at, to, to_at, size);
}

/* Move some of a part: as much as may be in both files. */
static int move_some(struct trace_dat *dat, unsigned int cpu)
{
	struct trace_region *region = &dat->regions[cpu];
	struct part *part = &dat->parts[cpu];
	uint64_t size = part->size - part->moved;
	ssize_t n;

	if (size > CHUNK - dat->unsynced)
		size = CHUNK - dat->unsynced;
	n = copy(part->fd, part->moved, dat->fd, region->offset + part->moved, size);
	if (n == -EINTR)
		return 0;
	/* Freeing what was moved makes room for more. */
	if (n == -ENOSPC || n == -EDQUOT)
		return dat->unsynced ? let_go(dat) : n;
	if (n <= 0)
		return n ? n : -EIO;
	part->moved += n;
	region->size = part->moved / dat->page_size * dat->page_size;
	dat->unsynced += n;
	return dat->unsynced < CHUNK ? 0 : let_go(dat);
}

static void lay_out(struct trace_dat *dat)
{
	uint64_t to = data_offset(dat);

	for (unsigned int i = 0; i < dat->nr_cpus; i++) {
		dat->regions[i].offset = to;
		to += dat->parts[i].size;
	}
}

/* Ask the watch when what was moved has been freed, or nothing was moved yet. */
static bool may_go_on(const struct trace_dat *dat, const struct trace_dat_watch *watch)
{
	uint64_t moved = 0;

	if (!watch || dat->unsynced)
		return true;
	for (unsigned int i = 0; i < dat->nr_cpus; i++)
		moved += dat->parts[i].moved;
	return watch->go_on(watch->arg, moved, dat->size);
}

static int move_all(struct trace_dat *dat, const struct trace_dat_watch *watch)
{
	int ret = 0;

	for (unsigned int i = 0; i < dat->nr_cpus && !ret; i++) {
		while (!ret && dat->parts[i].moved < dat->parts[i].size)
			ret = may_go_on(dat, watch) ? move_some(dat, i) : -EINTR;
	}
	return ret;
}

int trace_dat_finish(struct trace_dat *dat, const struct trace_dat_watch *watch)
{
	int ret, last;

	free_reserve(dat);
	lay_out(dat);
	ret = move_all(dat, watch);
	last = let_go(dat);
	return ret ? ret : last;
}

/* ---- When the recorder is no more ---- */

/* May the recorder have made this file? It makes no links, nor files of other users. */
static bool may_be_part(const struct trace_dat *dat, const struct stat *st)
{
	struct stat file;

	return S_ISREG(st->st_mode) && st->st_nlink == 1 && !fstat(dat->fd, &file) &&
	       (st->st_uid == file.st_uid || st->st_uid == geteuid());
}

/* A part that was moved as a whole may have nothing beyond what was moved. */
static bool is_moved(const struct trace_dat *dat, unsigned int cpu, const struct stat *st)
{
	return (uint64_t)st->st_size < dat->regions[cpu].size + dat->page_size;
}

/*
 * Find out what both files have of a CPU. An incomplete page does not count. A part that
 * was moved as a whole may have less than FILE: after a crash of the machine its name may
 * be there again.
 */
static int look_at_part(struct trace_dat *dat, unsigned int cpu)
{
	uint64_t in_file = dat->regions[cpu].size;
	struct part *part = &dat->parts[cpu];
	struct stat st = { .st_size = 0 };
	int ret = open_part(dat, cpu, 0, 0);

	if (ret == -ELOOP || in_file % dat->page_size)
		return -EINVAL;
	if (ret == -ENOENT)
		ret = dat->states[cpu] == STATE_NEEDED ? -ENODATA : 0;
	if (ret)
		return ret;
	if (part->fd >= 0 && fstat(part->fd, &st))
		return -errno;
	if (part->fd >= 0 && !may_be_part(dat, &st))
		return -EINVAL;
	if (dat->states[cpu] == STATE_MOVED && !is_moved(dat, cpu, &st))
		return -EINVAL;
	part->size = st.st_size / dat->page_size * dat->page_size;
	if (part->size < in_file)
		part->size = in_file;
	part->moved = in_file;
	part->freed = in_file;
	return 0;
}

/* Whether the data that FILE already has are where these parts would be moved to */
static bool belong_together(const struct trace_dat *dat)
{
	uint64_t to = data_offset(dat);

	for (unsigned int i = 0; i < dat->nr_cpus; i++) {
		if (dat->regions[i].size && dat->regions[i].offset != to)
			return false;
		to += dat->parts[i].size;
	}
	return true;
}

/* Leave a whole file, and files beside it, which are not its own, as they are. */
static int leave_whole(struct trace_dat *dat, struct trace_dat_restored *restored)
{
	for (unsigned int i = 0; i < dat->nr_cpus; i++)
		dat->size += dat->regions[i].size;
	return find_left_over(dat, &restored->file) ?: restored->file ? -EEXIST : 0;
}

/* Whether the table names data beyond the end of the file */
static bool is_cut(const struct trace_dat *dat)
{
	struct stat st;

	if (fstat(dat->fd, &st))
		return false;
	for (unsigned int i = 0; i < dat->nr_cpus; i++) {
		const struct trace_region *region = &dat->regions[i];

		if (region->size && (region->offset > (uint64_t)st.st_size ||
				     region->size > st.st_size - region->offset))
			return true;
	}
	return false;
}

static bool is_whole(const struct trace_dat *dat)
{
	for (unsigned int i = 0; i < dat->nr_cpus; i++) {
		if (dat->states[i] != STATE_NONE)
			return false;
	}
	return true;
}

/* Remove FILE.new, which was to replace FILE, unless it is another program's. */
static void remove_new(const struct trace_dat *dat)
{
	FILE *file;
	char *path;
	int fd;

	if (asprintf(&path, "%s.new", dat->path) < 0)
		return;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (file && lock(fd, LOCK_NB) != -EBUSY && trace_head_begins(file))
		unlink(path);
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	free(path);
}

static int restore(struct trace_dat *dat, const struct trace_dat_watch *watch,
		   struct trace_dat_restored *restored)
{
	int ret = 0;

	if (is_whole(dat))
		return is_cut(dat) ? -ENOTRECOVERABLE : leave_whole(dat, restored);
	for (unsigned int i = 0; i < dat->nr_cpus && !ret; i++) {
		ret = look_at_part(dat, i);
		if (ret)
			restored->file = trace_dat_part_path(dat->path, i);
		dat->size += dat->parts[i].size;
	}
	if (ret || !belong_together(dat))
		return ret ? ret : -EINVAL;
	if (is_cut(dat))
		return -ENOTRECOVERABLE;
	for (unsigned int i = 0; i < dat->nr_cpus; i++) {
		restored->parts += dat->parts[i].fd >= 0;
		restored->moved += dat->parts[i].size - dat->parts[i].moved;
	}
	dat->reserved = true;
	ret = trace_dat_finish(dat, watch);
	if (!ret)
		remove_new(dat);
	return ret;
}

static bool table_is_ours(const struct trace_dat *dat)
{
	for (unsigned int i = 0; i < dat->nr_cpus; i++) {
		if (dat->states[i] >= NR_STATES)
			return false;
	}
	return !memcmp(dat->behind->mark, mark, sizeof(mark));
}

/* Returns -EINVAL without a head of this library, or a table. A pipe could block for ever. */
static int read_head(struct trace_dat **datp, int fd)
{
	struct trace_head_found found;
	struct trace_dat *dat;
	struct stat st;
	bool is_ours;
	FILE *file;
	int copy;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return -EINVAL;
	copy = dup(fd);
	file = copy < 0 ? NULL : fdopen(copy, "re");
	is_ours = file && trace_head_find(file, &found);
	if (file)
		fclose(file);
	else if (copy >= 0)
		close(copy);
	if (!is_ours || !found.page_size ||
	    found.table + found.nr_cpus * (uint64_t)sizeof(struct trace_region) >
	    (uint64_t)st.st_size)
		return -EINVAL;
	dat = new_dat(found.nr_cpus, found.page_size);
	*datp = dat;
	if (!dat)
		return -ENOMEM;
	dat->table = found.table;
	if (pread(fd, dat->regions, table_size(dat), found.table) != (ssize_t)table_size(dat))
		return -EINVAL;
	return table_is_ours(dat) ? 0 : -EINVAL;
}

bool trace_dat_is_unfinished(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct trace_dat *dat = NULL;
	bool unfinished = fd >= 0 && !read_head(&dat, fd) && !is_whole(dat);

	trace_dat_close(dat);
	if (fd >= 0)
		close(fd);
	return unfinished;
}

/*
 * A caller that waits knows that its recorder has ended, and needs no lock on a file
 * system that has none. Another caller could find a live recording without one.
 */
static int open_locked(const char *path, bool wait)
{
	for (;;) {
		int fd = open(path, O_RDWR | O_CLOEXEC), ret;

		if (fd < 0)
			return -errno;
		ret = lock(fd, wait ? 0 : LOCK_NB);
		if ((!ret || wait) && still_is(path, fd))
			return fd;
		close(fd);
		if (ret && !wait)
			return ret;
	}
}

/* A compressed file is whole, as it gets its name only then. */
static bool is_compressed(int fd)
{
	char begin[TRACE_HEAD_MAGIC_SIZE + 2];

	return pread(fd, begin, sizeof(begin), 0) == sizeof(begin) && trace_head_magic(begin) &&
		!strcmp(begin + TRACE_HEAD_MAGIC_SIZE, "7");
}

/* Leave the file, and files beside it, as they are. */
static int leave_compressed(const char *path, int fd, struct trace_dat_restored *restored)
{
	struct trace_dat dat = { .path = realpath(path, NULL) };
	struct stat st;
	int ret = dat.path && !fstat(fd, &st) ? find_left_over(&dat, &restored->file) : -errno;

	if (!ret) {
		restored->size = st.st_size;
		ret = restored->file ? -EEXIST : 0;
	}
	free(dat.path);
	return ret;
}

int trace_dat_restore(const char *path, bool wait, const struct trace_dat_watch *watch,
		      struct trace_dat_restored *restored)
{
	int fd = open_locked(path, wait);
	struct trace_dat *dat = NULL;
	int ret;

	*restored = (struct trace_dat_restored){ .size = 0 };
	if (fd < 0)
		return fd;
	ret = read_head(&dat, fd);
	if (ret == -EINVAL && is_compressed(fd))
		ret = leave_compressed(path, fd, restored);
	if (dat) {
		dat->fd = fd;
		dat->lock = fd;
		dat->path = realpath(path, NULL);
		if (!ret)
			ret = dat->path ? restore(dat, watch, restored) : -errno;
		restored->size = dat->size;
		trace_dat_close(dat);
	} else {
		close(fd);
	}
	return ret;
}

/* ---- A file that is written at once ---- */

int trace_dat_own_front(struct trace_dat *dat, struct bytes *front)
{
	static const char zeros[512];
	int ret = trace_head_write(dat->head, front);

	dat->table = front->size;
	trace_head_clock(dat->head, dat->behind->clock, sizeof(dat->behind->clock));
	lay_out(dat);
	for (unsigned int i = 0; i < dat->nr_cpus; i++)
		dat->regions[i].size = dat->parts[i].size;
	bytes_add(front, dat->regions, table_size(dat));
	while (!front->error && front->size < data_offset(dat)) {
		uint64_t left = data_offset(dat) - front->size;

		bytes_add(front, zeros, left < sizeof(zeros) ? left : sizeof(zeros));
	}
	return ret ? ret : front->error;
}

int trace_dat_front(struct bytes *front, const struct trace_head *head, unsigned int nr_cpus,
		    unsigned int page_size, const uint64_t *sizes)
{
	struct trace_dat *dat = new_dat(nr_cpus, page_size);
	int ret;

	if (!dat)
		return -ENOMEM;
	dat->head = head;
	for (unsigned int i = 0; i < nr_cpus; i++)
		dat->parts[i].size = sizes[i];
	ret = trace_dat_own_front(dat, front);
	trace_dat_close(dat);
	return ret;
}

/* ---- Without a name ---- */

/* Reserve what the last pages need. If that fails, the disk may still have room for them. */
static int reserve_unnamed(struct trace_dat *dat)
{
	dat->lock = temp_file();
	if (dat->lock < 0)
		return dat->lock;
	dat->reserved = !fallocate(dat->lock, FALLOC_FL_KEEP_SIZE, 0, dat->nr_cpus * RESERVE_CPU);
	dat->limit = UINT64_MAX;
	dat->spare = UINT64_MAX;
	return 0;
}

int trace_dat_create_unnamed(struct trace_dat **datp, const struct trace_head *head,
			     unsigned int nr_cpus, unsigned int page_size)
{
	struct trace_dat *dat = new_dat(nr_cpus, page_size);
	int ret = dat ? 0 : -ENOMEM;

	for (unsigned int i = 0; i < nr_cpus && !ret; i++) {
		dat->parts[i].fd = temp_file();
		ret = dat->parts[i].fd < 0 ? dat->parts[i].fd : 0;
	}
	if (!ret)
		ret = reserve_unnamed(dat);
	if (ret) {
		trace_dat_close(dat);
		return ret;
	}
	dat->head = head;
	*datp = dat;
	return 0;
}

/* ---- In another form ---- */

const struct trace_head *trace_dat_head(const struct trace_dat *dat)
{
	return dat->head;
}

uint64_t trace_dat_cpu_size(const struct trace_dat *dat, unsigned int cpu)
{
	return dat->parts[cpu].size;
}

int trace_dat_cpu_fd(const struct trace_dat *dat, unsigned int cpu)
{
	return dat->parts[cpu].fd;
}

int trace_dat_read(const struct trace_dat *dat, unsigned int cpu, uint64_t at, void *to,
		   size_t size)
{
	char *data = to;

	while (size) {
		ssize_t n = pread(dat->parts[cpu].fd, data, size, at);

		if (n <= 0)
			return n ? -errno : -EIO;
		data += n;
		at += n;
		size -= n;
	}
	return 0;
}

int trace_dat_replace(struct trace_dat *dat, int (*write)(void *arg, int fd), void *arg)
{
	struct new_file f;
	int ret;

	free_reserve(dat);
	ret = new_file_begin(&f, dat->path) ?: make_like(dat, f.fd) ?: write(arg, f.fd);
	if (!ret && fdatasync(f.fd))
		ret = -errno;
	if (!ret)
		ret = new_file_name(&f, false);
	if (!ret) {
		sync_folder(dat->path);
		remove_parts(dat);
	}
	new_file_end(&f);
	return ret;
}

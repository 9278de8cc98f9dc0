// SPDX-License-Identifier: GPL-2.0
/*
 * A mapping while memory is short: what is mapped stays and works, what maps
 * meanwhile is mapped or told ENOMEM, and who is killed for the memory he uses
 * leaves nothing behind.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/klog.h>
#include <sys/mman.h>

#include "buffer_fixture.h"
#include "watcher.h"

#define SYSLOG_ACTION_READ_ALL	3

#define MAX_ANCESTORS		32

/* A process and how gladly the OOM killer takes it: -1000 (never) to 1000. */
struct spared {
	long long	pid;
	char		score[16];
};

FIXTURE(pressure) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;
	struct tally		tally;
	int			ready[2];
	struct spared		spared[MAX_ANCESTORS];
	unsigned int		nr_spared;
};

FIXTURE_VARIANT(pressure) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(pressure, top_level_large) TOP_LEVEL_LARGE;

/* The number behind @key in a file of /proc. */
static long long proc_number(const char *path, const char *key)
{
	char text[8192], *line;

	if (read_file(path, text, sizeof(text)) < 0)
		return -EIO;
	line = strstr(text, key);
	return line ? strtoll(line + strlen(key), NULL, 10) : -ENOENT;
}

static int oom_score(long long pid, char *score, size_t size, const char *to_be)
{
	char path[64];
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%lld/oom_score_adj", pid);
	if (score)
		err = read_file(path, score, size);
	return err < 0 ? err : write_file(path, to_be);
}

/* This process and those that wait for it shall see the end of the test. */
static int spare_ancestors(FIXTURE_DATA(pressure) * self)
{
	long long pid = getpid();
	struct spared *s;
	char path[64];
	int err;

	while (pid > 0 && self->nr_spared < MAX_ANCESTORS) {
		s = &self->spared[self->nr_spared];
		s->pid = pid;
		err = oom_score(pid, s->score, sizeof(s->score), "-1000");
		if (err)
			return err;
		self->nr_spared++;
		snprintf(path, sizeof(path), "/proc/%lld/status", pid);
		pid = proc_number(path, "PPid:");
	}
	return pid ? -E2BIG : 0;
}

FIXTURE_SETUP(pressure)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	self->mb.fd = -1;
	ASSERT_EQ(0, pipe(self->ready));
}

FIXTURE_TEARDOWN(pressure)
{
	const struct spared *s = self->spared;

	buffer_unmap(&self->mb);
	for (; s < self->spared + self->nr_spared; s++)
		EXPECT_EQ(0, oom_score(s->pid, NULL, 0, s->score));
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* Takes memory until there is none: the first to be killed for that. */
static void hog(void)
{
	const size_t step = 1 << 20;
	size_t i;
	char *bytes;

	for (;;) {
		bytes = mmap(NULL, step, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (i = 0; bytes != MAP_FAILED && i < step; i += getpagesize())
			bytes[i] = 1;
	}
}

/* A process that maps all there is to map, then is short of memory. */
static pid_t fork_hog(FIXTURE_DATA(pressure) * self)
{
	struct mapped_buffer mb;
	struct watcher w;
	pid_t pid = fork();

	if (pid)
		return pid;
	if (run_on_cpu(self->ti.other_cpu) ||
	    write_file("/proc/self/oom_score_adj", "1000") ||
	    map_it(&mb, &self->ti) ||
	    watcher_open(&w, &self->ti, self->ti.cpu, LIVE_FROM_NOW) ||
	    write(self->ready[1], "r", 1) != 1)
		_exit(1);
	hog();
	_exit(2);
}

/* Another mapping, of another CPU's buffer: there, or not for want of memory. */
static int map_another(struct trace_instance *ti)
{
	struct mapped_buffer mb;
	int err = buffer_map(&mb, ti, ti->other_cpu, O_NONBLOCK);

	if (!err)
		buffer_unmap(&mb);
	return err == -ENOMEM ? 0 : err;
}

static bool killed_for_memory(pid_t pid)
{
	static char log[1 << 20];
	char text[64];
	int len = klogctl(SYSLOG_ACTION_READ_ALL, log, sizeof(log) - 1);

	snprintf(text, sizeof(text), "Out of memory: Killed process %d ", pid);
	return len > 0 && strstr(log, text);
}

/* MEM-9: From plenty until after the kill, and then the other one is gone. */
TEST_F(pressure, the_oom_killer_ends_one_mapping_and_another_works_on)
{
	pid_t pid;
	int status;
	char c;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_EQ(0, spare_ancestors(self));
	pid = fork_hog(self);
	ASSERT_LT(0, pid);
	ASSERT_EQ(1, read(self->ready[0], &c, 1));
	do {
		ASSERT_EQ(0, write_events(&self->ti, 50, EVENT_LARGE));
		ASSERT_LE(0, tally_drain(&self->tally, &self->mb));
		buffer_touch(&self->mb);
		ASSERT_EQ(0, map_another(&self->ti));
		status = child_status(pid, 1);
	} while (status == -EAGAIN);
	EXPECT_EQ(128 + SIGKILL, status);
	EXPECT_TRUE(killed_for_memory(pid));
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	EXPECT_EQ(self->ti.seq, self->tally.seen + self->tally.lost);
	expect_mapped(_metadata, &self->ti);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

/* How many pages of the mapping are there to be read without a fault. */
static long present_pages(const struct mapped_buffer *mb)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	long page = getpagesize(), count = 0;
	uintptr_t addr = (uintptr_t)mb->meta;
	uint64_t entry;

	if (fd < 0)
		return -errno;
	for (; addr < (uintptr_t)mb->meta + mb->len; addr += page) {
		if (pread(fd, &entry, sizeof(entry),
			  addr / page * sizeof(entry)) != sizeof(entry))
			break;
		count += entry >> 63;
	}
	close(fd);
	return count;
}

/* MEM-9: Reclaim and compaction leave it where it is, also if its user asks for that. */
TEST_F(pressure, what_is_mapped_is_not_reclaimed)
{
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	madvise(self->mb.meta, self->mb.len, MADV_PAGEOUT);
	ASSERT_EQ(0, write_file("/proc/sys/vm/drop_caches", "3"));
	ASSERT_EQ(0, write_file("/proc/sys/vm/compact_memory", "1"));
	EXPECT_EQ(self->mb.len / getpagesize(), present_pages(&self->mb));
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
}

/* COST-5: The OOM killer takes the size of what is mapped for memory of its user. */
TEST_F(pressure, what_is_mapped_counts_as_resident)
{
	long long before = proc_number("/proc/self/status", "RssFile:");
	long long mapped_kb;

	ASSERT_LE(0, before);
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	mapped_kb = self->mb.len / 1024;
	EXPECT_LE(before + mapped_kb,
		  proc_number("/proc/self/status", "RssFile:"));
}

#define MIN_FREE	"/proc/sys/vm/min_free_kbytes"
/* Its meta area is the largest that the kernel would kill for: 8 pages. */
#define MIDDLE_SUBBUF_KB	32
#define VICTIM_KB	(96 << 10)

/* A process to be killed first, which has memory. */
static pid_t fork_victim(FIXTURE_DATA(pressure) * self)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
	pid_t pid = fork();

	if (pid)
		return pid;
	if (mmap(NULL, VICTIM_KB << 10, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED ||
	    write_file("/proc/self/oom_score_adj", "1000") ||
	    write(self->ready[1], "r", 1) != 1)
		_exit(1);
	pause();
	_exit(2);
}

/*
 * mmap() while the kernel keeps more memory in reserve than is free, by half of what the
 * victim has. All else that it takes was taken before, and is there: it was given back.
 */
static int map_without_memory(int fd, int min_free)
{
	const size_t page = getpagesize();
	char kept[32] = "", more[32];
	int err;

	if (pread(min_free, kept, sizeof(kept) - 1, 0) <= 0)
		return -EIO;
	snprintf(more, sizeof(more), "%lld", memory_kb("MemFree") + VICTIM_KB / 2);
	err = map_error(fd, page, PROT_READ, MAP_SHARED, 0);
	if (err || pwrite(min_free, more, strlen(more), 0) < 0)
		return -EIO;
	err = map_error(fd, page, PROT_READ, MAP_SHARED, 0);
	return pwrite(min_free, kept, strlen(kept), 0) < 0 ? -EIO : err;
}

/* MEM-10: It is told, and whoever has memory keeps it. */
TEST_F(pressure, mmap_without_memory_for_the_meta_area_ends_no_process)
{
	struct trace_instance *ti = &self->ti;
	int fd, min_free = open(MIN_FREE, O_RDWR);
	pid_t pid;
	char c;

	ASSERT_LE(0, min_free);
	ASSERT_EQ(0, instance_write_number(ti, "buffer_subbuf_size_kb",
					   scaled_kb(MIDDLE_SUBBUF_KB)));
	fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, spare_ancestors(self));
	pid = fork_victim(self);
	ASSERT_LT(0, pid);
	ASSERT_EQ(1, read(self->ready[0], &c, 1));
	EXPECT_EQ(ENOMEM, map_without_memory(fd, min_free));
	EXPECT_EQ(-EAGAIN, child_status(pid, 0));
	EXPECT_EQ(0, kill_child(pid));
	EXPECT_EQ(0, map_error(fd, getpagesize(), PROT_READ, MAP_SHARED, 0));
	close(fd);
	close(min_free);
}

TEST_HARNESS_MAIN

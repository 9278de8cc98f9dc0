// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a mapping: who inherits it, what it outlives, and what it, or a
 * failed mmap(), leaves behind. And the memory it shows.
 */
#define _GNU_SOURCE
#include <linux/elf.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>

#include "map_fixture.h"
#include "watcher.h"

/* A core file is of the word size of the program. */
#if __SIZEOF_LONG__ == 8
#define core_hdr	elf64_hdr
#define core_phdr	elf64_phdr
#else
#define core_hdr	elf32_hdr
#define core_phdr	elf32_phdr
#endif

/* A child that reads every page of its copy, then waits to be killed. */
static pid_t fork_reader(struct mapped_buffer *mb, int ready)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	buffer_touch(mb);
	if (write(ready, "r", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* MAP-18 */
TEST_F(map, fork_does_not_inherit_it)
{
	int ready[2];
	pid_t pid;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_EQ(0, pipe(ready));
	pid = fork_reader(&self->mb, ready[1]);
	ASSERT_LT(0, pid);
	EXPECT_EQ(128 + SIGSEGV, child_status(pid, WOKEN_MS));
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

/* MAP-18 */
TEST_F(map, a_child_without_it_does_not_count)
{
	pid_t pid;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		for (;;)
			pause();
	}
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
	EXPECT_EQ(0, kill_child(pid));
}

/* MAP-19 */
TEST_F(map, a_copy_asked_for_counts_until_it_is_gone)
{
	char c;
	int ready[2];
	pid_t first, second;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, madvise(self->mb.meta, self->mb.len, MADV_DOFORK));
	first = fork_reader(&self->mb, ready[1]);
	ASSERT_LT(0, first);
	second = fork_reader(&self->mb, ready[1]);
	ASSERT_LT(0, second);
	/* Both could read it. */
	ASSERT_EQ(1, read(ready[0], &c, 1));
	ASSERT_EQ(1, read(ready[0], &c, 1));
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	buffer_unmap(&self->mb);
	expect_mapped(_metadata, &self->ti);
	EXPECT_EQ(0, kill_child(first));
	expect_mapped(_metadata, &self->ti);
	EXPECT_EQ(0, kill_child(second));
	expect_unmapped(_metadata, &self->ti);
}

/* Children that have a copy each, and end at once; a busy machine makes fewer of them. */
static int fork_many(int cpu)
{
	long long end = monotonic_ns() + WOKEN_MS * 1000000LL / 2;
	int i, ret = run_on_cpu(cpu);
	pid_t pid;

	for (i = 0; i < 200 && monotonic_ns() < end && !ret; i++) {
		pid = fork();
		if (!pid)
			_exit(0);
		ret = pid < 0 ? -errno : child_status(pid, WOKEN_MS);
	}
	return ret;
}

/* MAP-19: ... where two programs make copies at the same time. */
TEST_F(map, copies_made_at_the_same_time_all_count)
{
	int cpus[] = { self->ti.cpu, self->ti.other_cpu };
	pid_t pids[2];
	int i;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_EQ(0, madvise(self->mb.meta, self->mb.len, MADV_DOFORK));
	for (i = 0; i < 2; i++) {
		pids[i] = fork();
		ASSERT_LE(0, pids[i]);
		if (!pids[i])
			_exit(fork_many(cpus[i]) != 0);
	}
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, child_status(pids[i], WOKEN_MS));
	expect_mapped(_metadata, &self->ti);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

/* MAP-20 */
TEST_F(map, it_outlives_close)
{
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	close(self->mb.fd);
	close(self->fd);
	close(self->rw_fd);
	self->mb.fd = -1;
	expect_mapped(_metadata, &self->ti);
	self->mb.fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
			       O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, self->mb.fd);
	/* A descriptor that never mapped refreshes the mapping as well. */
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

/* MAP-20 */
TEST_F(map, it_goes_when_its_process_is_killed)
{
	char c;
	int ready[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (map_it(&self->mb, &self->ti) ||
		    write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));
	expect_mapped(_metadata, &self->ti);
	EXPECT_EQ(0, kill_child(pid));
	expect_unmapped(_metadata, &self->ti);
}

/* Leaves pages full of non-zero bytes for the kernel to allocate again. */
static void dirty_free_memory(void)
{
	size_t len = 32UL << 20;
	char *bytes = mmap(NULL, len, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bytes == MAP_FAILED)
		return;
	memset(bytes, 0xa5, len);
	munmap(bytes, len);
}

/* MAP-23 */
TEST_F(map, pages_pinned_by_vmsplice_outlive_munmap)
{
	struct iovec iov;
	char *copy, *out;
	int pipes[2];
	size_t len;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	/* The pipe holds sixteen pages. */
	len = self->subbuf < 8 * self->page ? self->subbuf : 8 * self->page;
	copy = malloc(len);
	out = malloc(len);
	ASSERT_NE(NULL, copy);
	ASSERT_NE(NULL, out);
	ASSERT_EQ(0, pipe(pipes));
	iov.iov_base = buffer_subbuf(&self->mb, 1);
	iov.iov_len = len;
	memcpy(copy, iov.iov_base, len);
	ASSERT_EQ(len, vmsplice(pipes[1], &iov, 1, 0));
	buffer_unmap(&self->mb);
	/* All sub-buffers are freed: nothing is to reuse the pages. */
	ASSERT_EQ(0, instance_write_number(&self->ti, "buffer_subbuf_size_kb",
					   2 * self->ti.subbuf_kb));
	dirty_free_memory();
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(len, read(pipes[0], out, len));
	/* The header was reset with the buffer, before the pages went. */
	EXPECT_EQ(0, memcmp(copy + SUBBUF_HEADER, out + SUBBUF_HEADER,
			    len - SUBBUF_HEADER));
	close(pipes[0]);
	close(pipes[1]);
	free(copy);
	free(out);
}

/* Reads the meta page by direct I/O, until it is unmapped below. */
static pid_t fork_direct_writer(struct mapped_buffer *mb, int disk)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (;;) {
		if (pwrite(disk, buffer_subbuf(mb, 1), mb->meta->subbuf_size,
			   0) < 0)
			_exit(errno);
	}
}

/* MAP-23 */
TEST_F(map, pages_pinned_by_direct_io_outlive_munmap)
{
	int disk = open("/dev/ram0", O_RDWR | O_DIRECT);
	char *back;
	pid_t pid;

	ASSERT_LE(0, disk) TH_LOG("needs CONFIG_BLK_DEV_RAM");
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(self->subbuf, pwrite(disk, buffer_subbuf(&self->mb, 1),
				       self->subbuf, 0));
	back = aligned_alloc(self->page, self->subbuf);
	ASSERT_NE(NULL, back);
	ASSERT_EQ(self->subbuf, pread(disk, back, self->subbuf, 0));
	EXPECT_EQ(0, memcmp(back, buffer_subbuf(&self->mb, 1), self->subbuf));
	free(back);
	ASSERT_EQ(0, madvise(self->mb.meta, self->mb.len, MADV_DOFORK));
	pid = fork_direct_writer(&self->mb, disk);
	ASSERT_LT(0, pid);
	buffer_unmap(&self->mb);
	EXPECT_EQ(-EAGAIN, child_status(pid, 200));
	/* In the middle of a write, most likely. */
	EXPECT_EQ(0, kill_child(pid));
	expect_unmapped(_metadata, &self->ti);
	close(disk);
}

/* The header of the segment that holds @addr in a core file, if any. */
static bool core_segment(int core, uintptr_t addr, struct core_phdr *segment)
{
	struct core_hdr head;
	int i;

	if (pread(core, &head, sizeof(head), 0) != sizeof(head))
		return false;
	for (i = 0; i < head.e_phnum; i++) {
		off_t off = head.e_phoff + i * sizeof(*segment);

		if (pread(core, segment, sizeof(*segment), off) < 0)
			return false;
		if (segment->p_type == PT_LOAD && segment->p_vaddr <= addr &&
		    addr < segment->p_vaddr + segment->p_memsz)
			return true;
	}
	return false;
}

/* A child that maps @fd at @map, and dumps all memory it has, shared files included. */
static pid_t fork_dumper(void *map, size_t len, int fd)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	pid_t pid = fork();

	if (pid)
		return pid;
	if (mmap(map, len, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
	    setrlimit(RLIMIT_CORE, &unlimited) ||
	    write_file("/proc/self/coredump_filter", "0x7f"))
		_exit(1);
	abort();
}

static void expect_not_dumped(struct __test_metadata *_metadata, void *map, size_t len, int fd)
{
	char pattern[128], path[64];
	size_t page = getpagesize();
	struct core_phdr segment;
	void *shared;
	int core;
	pid_t pid;

	/* What is dumped, to know that the dump is one. */
	shared = mmap(NULL, page, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	ASSERT_LT(0, read_file("/proc/sys/kernel/core_pattern", pattern,
			       sizeof(pattern)));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/core_pattern",
				"/tmp/rbtest-core.%p"));
	pid = fork_dumper(map, len, fd);
	EXPECT_EQ(128 + SIGABRT, child_status(pid, WOKEN_MS));
	EXPECT_EQ(0, write_file("/proc/sys/kernel/core_pattern", pattern));
	snprintf(path, sizeof(path), "/tmp/rbtest-core.%d", pid);
	core = open(path, O_RDONLY);
	ASSERT_LE(0, core) TH_LOG("no core dump at %s", path);
	unlink(path);
	ASSERT_TRUE(core_segment(core, (uintptr_t)shared, &segment));
	EXPECT_EQ(page, segment.p_filesz);
	if (core_segment(core, (uintptr_t)map, &segment))
		EXPECT_EQ(0, segment.p_filesz);
	close(core);
	munmap(shared, page);
}

/* MAP-25 */
TEST_F(map, core_dumps_leave_it_out)
{
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	expect_not_dumped(_metadata, self->mb.meta, self->mb.len, self->mb.fd);
}

/* LIVE-9: the index, which is in the first page. */
TEST_F(map, core_dumps_leave_the_live_view_out)
{
	int fd = live_file(&self->ti, self->ti.cpu);
	void *index;

	ASSERT_LE(0, fd);
	index = mmap(NULL, self->page, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, index);
	expect_not_dumped(_metadata, index, self->page, fd);
	munmap(index, self->page);
	close(fd);
}

/* Drops the pages of a mapping of its own, and tells by its status what is there then. */
static pid_t fork_dropper(struct trace_instance *ti)
{
	struct mapped_buffer own;
	pid_t pid = fork();
	void *before;

	if (pid)
		return pid;
	if (map_it(&own, ti))
		_exit(1);
	before = malloc(own.len);
	if (!before)
		_exit(2);
	memcpy(before, own.meta, own.len);
	if (madvise(own.meta, own.len, MADV_DONTNEED))
		_exit(3);
	_exit(memcmp(before, own.meta, own.len) ? 4 : 0);
}

/* MAP-26 */
TEST_F(map, madv_dontneed_hurts_only_its_caller)
{
	pid_t pid;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	pid = fork_dropper(&self->ti);
	ASSERT_LE(0, pid);
	EXPECT_EQ(128 + SIGBUS, child_status(pid, WOKEN_MS));
	self->tally.unknown_loss = true;
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	madvise(self->mb.meta, self->mb.len, MADV_DONTNEED);
	expect_mapped(_metadata, &self->ti);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

static bool all_zero(const unsigned char *bytes, size_t len)
{
	while (len--) {
		if (*bytes++)
			return false;
	}
	return true;
}

/* MAP-27, USER-4 */
TEST_F(map, memory_never_written_reads_as_zero)
{
	unsigned int id;

	dirty_free_memory();
	/* All of it is allocated anew, in both ways there are. */
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_size_kb", "1"));
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_size_kb", "8192"));
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	/* Sub-buffers 0 and 1 are of the old buffer, with nothing in them. */
	for (id = 2; id < self->mb.meta->nr_subbufs; id++)
		ASSERT_TRUE(all_zero(buffer_subbuf(&self->mb, id), self->subbuf))
			TH_LOG("sub-buffer %u", id);
}

/* MAP-27, USER-4 */
TEST_F(map, memory_of_a_new_sub_buffer_size_reads_as_zero)
{
	unsigned int id, kb = 2 * self->ti.subbuf_kb;

	dirty_free_memory();
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_size_kb", "4096"));
	ASSERT_EQ(0, instance_write_number(&self->ti, "buffer_subbuf_size_kb",
					   kb));
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	for (id = 0; id < self->mb.meta->nr_subbufs; id++)
		ASSERT_TRUE(all_zero(buffer_subbuf(&self->mb, id), kb * 1024))
			TH_LOG("sub-buffer %u", id);
}

/* MAP-27, USER-4 */
TEST_F(map, rest_of_a_sub_buffer_being_written_reads_as_zero)
{
	unsigned char *subbuf;
	uint32_t end;

	dirty_free_memory();
	ASSERT_EQ(0, instance_write_number(&self->ti, "buffer_subbuf_size_kb",
					   2 * self->ti.subbuf_kb));
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	subbuf = buffer_subbuf(&self->mb, self->mb.meta->reader.id);
	end = SUBBUF_HEADER + self->mb.meta->reader.read;
	EXPECT_TRUE(all_zero(subbuf + end, 2 * self->subbuf - end));
}

/* Tries to map in ways that are refused. */
static void fail_to_map(struct __test_metadata *_metadata, int fd, size_t page,
			size_t subbuf)
{
	EXPECT_EQ(EPERM, map_error(fd, page, PROT_READ, MAP_PRIVATE, 0));
	EXPECT_EQ(EPERM, map_error(fd, page, PROT_READ | PROT_EXEC, MAP_SHARED,
				   0));
	EXPECT_EQ(EINVAL, map_error(fd, huge_length(40), PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, map_error(fd, page, PROT_READ, MAP_SHARED,
				    1000 * subbuf));
}

/* MAP-14 */
TEST_F(map, failed_mmap_leaves_resize_working)
{
	fail_to_map(_metadata, self->fd, self->page, self->subbuf);
	EXPECT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
				      3 * self->ti.subbuf_kb));
	EXPECT_EQ(0, instance_write_number(&self->ti, "buffer_size_kb",
					   5 * self->ti.subbuf_kb));
	EXPECT_EQ(0, instance_write_number(&self->ti, "buffer_subbuf_size_kb",
					   2 * self->ti.subbuf_kb));
}

/* MAP-14 */
TEST_F(map, failed_mmap_leaves_snapshot_working)
{
	fail_to_map(_metadata, self->fd, self->page, self->subbuf);
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	EXPECT_EQ(0, instance_write(&self->ti,
				    "events/sched/sched_process_free/trigger",
				    "snapshot"));
	EXPECT_EQ(0, instance_write(&self->ti,
				    "events/sched/sched_process_free/trigger",
				    "!snapshot"));
}

/* MAP-14: mmap() refused because of a snapshot user is as if it had not been tried. */
TEST_F(map, mmap_refused_for_a_snapshot_user_leaves_nothing_behind)
{
	const char *trigger = "events/sched/sched_process_free/trigger";

	ASSERT_EQ(0, instance_write(&self->ti, trigger, "snapshot"));
	EXPECT_EQ(EBUSY, map_error(self->fd, self->page, PROT_READ, MAP_SHARED,
				   0));
	EXPECT_EQ(EBUSY, map_error(self->fd, self->page, PROT_READ, MAP_SHARED,
				   0));
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	ASSERT_EQ(0, instance_write(&self->ti, trigger, "!snapshot"));
	expect_unmapped(_metadata, &self->ti);
	EXPECT_EQ(0, map_error(self->fd, self->page, PROT_READ, MAP_SHARED, 0));
}

/* MAP-14: GET_READER on a buffer whose mmap() failed: not mapped. */
TEST_F(map, failed_mmap_leaves_get_reader_answering_ENODEV)
{
	fail_to_map(_metadata, self->fd, self->page, self->subbuf);
	EXPECT_EQ(-1, ioctl(self->fd, TRACE_MMAP_IOCTL_GET_READER));
	EXPECT_EQ(ENODEV, errno);
}

/* MAP-21: Many mappings come and go; the last one leaves nothing. */
TEST_F(map, mappings_come_and_go_in_any_order)
{
	struct mapped_buffer mb[4];
	int round, i;

	for (round = 0; round < 10; round++) {
		for (i = 0; i < 4; i++)
			ASSERT_EQ(0, map_it(&mb[i], &self->ti));
		for (i = 0; i < 4; i++) {
			expect_mapped(_metadata, &self->ti);
			buffer_unmap(&mb[(i + round) % 4]);
		}
		expect_unmapped(_metadata, &self->ti);
	}
}

#define MAPPED_KB	(32 << 10)
/* Of so much memory the kernel's list of sub-buffers has pages of its own, if they are small. */
#define MANY_SUBBUFS_KB	(5 << 10)

/*
 * MAP-21: All of the meta area is given back, which is as large as a sub-buffer, and the
 * list of sub-buffers.
 */
TEST_F(map, mappings_that_come_and_go_leak_no_memory)
{
	unsigned int rounds = MAPPED_KB / self->ti.subbuf_kb, i;
	long long before, after;

	ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
				      MANY_SUBBUFS_KB));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, map_error(self->fd, self->page, PROT_READ, MAP_SHARED, 0));
	before = memory_kb("MemFree");
	for (i = 0; i < rounds; i++)
		ASSERT_EQ(0, map_error(self->fd, self->page, PROT_READ, MAP_SHARED, 0));
	after = memory_kb("MemFree");
	ASSERT_LT(0, before);
	EXPECT_GT(MAPPED_KB / 2, before - after)
		TH_LOG("%lld KiB before, %lld after %u mappings", before, after, rounds);
}

/* Only instances can be removed. */
FIXTURE(removal) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;
};

FIXTURE_VARIANT(removal) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(removal, instance) INSTANCE;
FIXTURE_VARIANT_ADD(removal, instance_large) INSTANCE_LARGE;

FIXTURE_SETUP(removal)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	self->mb.fd = -1;
	close(self->ti.marker);
	self->ti.marker = -1;
}

FIXTURE_TEARDOWN(removal)
{
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* MAP-22 */
TEST_F(removal, rmdir_of_a_mapped_instance_is_refused_with_EBUSY)
{
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	EXPECT_EQ(-1, rmdir(self->ti.dir));
	EXPECT_EQ(EBUSY, errno);
	/* The mapping outlives the descriptor, and so does the refusal. */
	close(self->mb.fd);
	self->mb.fd = -1;
	EXPECT_EQ(-1, rmdir(self->ti.dir));
	EXPECT_EQ(EBUSY, errno);
	EXPECT_LT(2, self->mb.meta->nr_subbufs);
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, rmdir(self->ti.dir));
	instance_forget(&self->ti);
}

/* MAP-19, MAP-22 */
TEST_F(removal, rmdir_is_refused_until_the_last_copy_is_gone)
{
	char c;
	int ready[2];
	pid_t pid;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, madvise(self->mb.meta, self->mb.len, MADV_DOFORK));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(self->mb.fd);
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));
	buffer_unmap(&self->mb);
	EXPECT_EQ(-1, rmdir(self->ti.dir));
	EXPECT_EQ(EBUSY, errno);
	EXPECT_EQ(0, kill_child(pid));
	EXPECT_EQ(0, rmdir(self->ti.dir));
	instance_forget(&self->ti);
}

/* MAP-14 */
TEST_F(removal, failed_mmap_leaves_rmdir_working)
{
	int fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);

	ASSERT_LE(0, fd);
	fail_to_map(_metadata, fd, getpagesize(), self->ti.subbuf_kb * 1024);
	close(fd);
	EXPECT_EQ(0, rmdir(self->ti.dir));
	instance_forget(&self->ti);
}

/* HOLD-12: A trigger is one of an event of an instance: both stay until it is set. */
TEST_F(removal, rmdir_is_refused_while_a_trigger_file_is_open)
{
	static const struct {
		int		flags;
		const char	*trigger;
	} opens[] = {
		{ O_RDONLY, NULL },
		{ O_WRONLY, "traceoff" },
		{ O_RDWR | O_TRUNC, "!traceoff" },
	};
	char text[512];
	unsigned int i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(opens); i++) {
		const char *trigger = opens[i].trigger;
		ssize_t done;

		fd = instance_file(&self->ti, PRINT_TRIGGER, opens[i].flags);
		ASSERT_LE(0, fd);
		EXPECT_EQ(-1, rmdir(self->ti.dir));
		EXPECT_EQ(EBUSY, errno);
		done = trigger ? write(fd, trigger, strlen(trigger)) :
				 read(fd, text, sizeof(text));
		EXPECT_LT(0, done);
		close(fd);
	}
	EXPECT_EQ(0, rmdir(self->ti.dir));
	instance_forget(&self->ti);
}

#ifndef NO_HIST_TRIGGERS
/* HOLD-12: It does not hold off the removal of its event, and has to notice it. */
TEST_F(removal, a_trigger_file_outlives_its_event)
{
	static const char events[] = TRACEFS_DIR "/synthetic_events";
	char text[64];
	int fd;

	ASSERT_EQ(0, write_file(events, "ring_buffer_test int number"));
	fd = instance_file(&self->ti, "events/synthetic/ring_buffer_test/trigger", O_RDWR);
	EXPECT_LE(0, fd);
	EXPECT_LT(0, read(fd, text, sizeof(text)));
	EXPECT_EQ(0, lseek(fd, 0, SEEK_SET));
	/* It is opened to be emptied. */
	ASSERT_EQ(0, write_file(events, ""));
	EXPECT_EQ(-1, read(fd, text, sizeof(text)));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_EQ(-1, write(fd, "traceoff", 8));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_EQ(-1, rmdir(self->ti.dir));
	EXPECT_EQ(EBUSY, errno);
	close(fd);
	EXPECT_EQ(0, rmdir(self->ti.dir));
	instance_forget(&self->ti);
}
#endif

/* MAP-23: Pages pinned outlive even their instance. */
TEST_F(removal, pages_pinned_by_vmsplice_outlive_the_instance)
{
	size_t page = getpagesize();
	char *copy = malloc(page), *out = malloc(page);
	struct iovec iov;
	int pipes[2];

	ASSERT_NE(NULL, copy);
	ASSERT_NE(NULL, out);
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	iov.iov_base = buffer_subbuf(&self->mb, 2);
	iov.iov_len = page;
	memcpy(copy, iov.iov_base, page);
	ASSERT_EQ(page, vmsplice(pipes[1], &iov, 1, 0));
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, rmdir(self->ti.dir));
	instance_forget(&self->ti);
	dirty_free_memory();
	ASSERT_EQ(page, read(pipes[0], out, page));
	EXPECT_EQ(0, memcmp(copy, out, page));
	free(copy);
	free(out);
}

/* MAP-23: what splice() has put into a pipe does, too. */
TEST_F(removal, spliced_sub_buffers_outlive_the_instance)
{
	size_t size = self->ti.subbuf_kb * 1024;
	char *out = malloc(size);
	struct tally tally = { .unknown_loss = true };
	int fd, pipes[2];

	ASSERT_NE(NULL, out);
	self->ti.marker = instance_file(&self->ti, "trace_marker_raw", O_WRONLY);
	ASSERT_LT(0, overflow_buffer(&self->ti));
	close(self->ti.marker);
	self->ti.marker = -1;
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_LE((int)size, fcntl(pipes[1], F_SETPIPE_SZ, 2 * size));
	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
		      O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, fd);
	ASSERT_EQ(size, splice(fd, NULL, pipes[1], NULL, size,
			       SPLICE_F_NONBLOCK));
	close(fd);
	EXPECT_EQ(0, rmdir(self->ti.dir));
	instance_forget(&self->ti);
	dirty_free_memory();
	ASSERT_EQ(size, read(pipes[0], out, size));
	tally_page(&tally, (unsigned char *)out, size);
	EXPECT_TRUE(tally_exact(&tally));
	EXPECT_LT(0, tally.seen);
	close(pipes[0]);
	close(pipes[1]);
	free(out);
}

/* Make an instance, and die by SIGALRM after @us, as by Ctrl-C. */
static void make_and_die(const char *dir, unsigned int us)
{
	struct itimerval soon = { .it_value.tv_usec = us };

	signal(SIGALRM, SIG_DFL);
	setitimer(ITIMER_REAL, &soon, NULL);
	mkdir(dir, 0755);
	_exit(0);
}

/* Has the kernel warned since it was booted? */
static bool has_warned(void)
{
	char text[32] = "";

	read_file("/proc/sys/kernel/tainted", text, sizeof(text));
	return strtol(text, NULL, 10) & (1 << 9);
}

/* How long a mkdir() of @dir takes, in microseconds; negative if it fails */
static long long time_of_mkdir(const char *dir)
{
	long long before = monotonic_ns(), after;

	if (mkdir(dir, 0755))
		return -errno;
	after = monotonic_ns();
	return rmdir(dir) ? -errno : (after - before) / 1000;
}

/* With KASAN and a thousand events, a mkdir() takes seconds. */
FIXTURE(making) {};
FIXTURE_SETUP(making) {}
FIXTURE_TEARDOWN(making) {}

/* MEM-8: A task that is about to die gets no memory for the buffers. */
TEST_F_TIMEOUT(making, mkdir_by_a_task_that_is_killed_leaves_nothing_and_warns_of_nothing, 300)
{
	const char *dir = TRACEFS_DIR "/instances/rbtest-killed";
	unsigned int i, refused = 0;
	long long us, end;
	int status, left;
	pid_t pid;

	if (has_warned())
		SKIP(return, "the kernel has warned before: boot it anew");
	us = time_of_mkdir(dir);
	ASSERT_LT(0, us);
	end = monotonic_ns() + 10 * 1000000000LL;
	/* The buffers come first, the many files of the events take longer. */
	for (i = 1; i <= 100 && monotonic_ns() < end; i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			make_and_die(dir, us * i * i / 10000 + 1);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		left = !rmdir(dir);
		if (!left)
			EXPECT_EQ(ENOENT, errno);
		/* One that was not killed has made it. */
		EXPECT_TRUE(left || WIFSIGNALED(status));
		refused += !left;
	}
	EXPECT_LT(0, refused);
	EXPECT_FALSE(has_warned());
	EXPECT_LT(0, time_of_mkdir(dir));
}

TEST_HARNESS_MAIN

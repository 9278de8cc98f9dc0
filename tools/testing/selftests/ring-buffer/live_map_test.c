// SPDX-License-Identifier: GPL-2.0
/*
 * The live index as a mapping: how it is found, its layout, who may map it and
 * what it keeps in place.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>

#include "map_fixture.h"
#include "watcher.h"

static const unsigned long long index_offset = TRACE_MMAP_LIVE_OFFSET;

TEST(live_index_layout_is_fixed)
{
	EXPECT_EQ(0, offsetof(struct trace_live_index, index_size));
	EXPECT_EQ(4, offsetof(struct trace_live_index, struct_len));
	EXPECT_EQ(8, offsetof(struct trace_live_index, entries_offset));
	EXPECT_EQ(12, offsetof(struct trace_live_index, entry_size));
	EXPECT_EQ(16, offsetof(struct trace_live_index, nr_subbufs));
	EXPECT_EQ(20, offsetof(struct trace_live_index, epoch));
	EXPECT_EQ(64, offsetof(struct trace_live_index, commit_generation));
	EXPECT_EQ(68, offsetof(struct trace_live_index, commit_id));
	EXPECT_EQ(72, offsetof(struct trace_live_index, dropped));
	EXPECT_EQ(32, sizeof(struct trace_live_subbuf));
	EXPECT_EQ(16, offsetof(struct trace_live_subbuf, before));
	EXPECT_EQ(24, sizeof(struct trace_live_position));
	EXPECT_EQ(16, offsetof(struct trace_live_position, bytes));
	EXPECT_EQ(0x4018522fUL, (unsigned long)TRACE_MMAP_IOCTL_LIVE_WAIT);
	EXPECT_EQ(1ULL << 43, index_offset);
}

/* "detected by that ioctl": whatever it says here, it is not ENOTTY. */
TEST_F(map, live_index_is_detected_by_the_ioctl)
{
	static const unsigned long others[] = {
		_IO('R', 0x2f), _IOR('R', 0x2f, struct trace_live_position),
		_IOW('R', 0x2f, int), _IOW('R', 0x2e, struct trace_live_position),
		_IOW('R', 0x30, struct trace_live_position),
	};
	struct trace_live_position position = { .bytes = 1 };
	size_t i;

	EXPECT_EQ(-1, ioctl(self->fd, TRACE_MMAP_IOCTL_LIVE_WAIT, &position));
	EXPECT_EQ(ENODEV, errno);
	errno = 0;
	ioctl(self->fd, TRACE_MMAP_IOCTL_LIVE_WAIT, NULL);
	EXPECT_NE(ENOTTY, errno);
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		EXPECT_EQ(-1, ioctl(self->fd, others[i], &position));
		EXPECT_EQ(ENOTTY, errno);
	}
}

/* The sub-buffers, or the index of another CPU, are not this index. */
TEST_F(map, live_wait_answers_ENODEV_while_the_index_is_not_mapped)
{
	struct trace_live_position position = { .bytes = 1 };
	struct watcher w;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	EXPECT_EQ(-1, ioctl(self->fd, TRACE_MMAP_IOCTL_LIVE_WAIT, &position));
	EXPECT_EQ(ENODEV, errno);
	ASSERT_EQ(0, watcher_open(&w, &self->ti, self->ti.other_cpu,
				  LIVE_FROM_OLDEST));
	EXPECT_EQ(-1, ioctl(self->fd, TRACE_MMAP_IOCTL_LIVE_WAIT, &position));
	EXPECT_EQ(ENODEV, errno);
	watcher_close(&w);
}

static struct trace_live_index *map_index(int fd, size_t len)
{
	return mmap(NULL, len, PROT_READ, MAP_SHARED, fd, index_offset);
}

/* The length of the index, which is not left mapped. */
static size_t index_length(int fd)
{
	struct trace_live_index *index = map_index(fd, getpagesize());
	size_t len;

	if (index == MAP_FAILED)
		return 0;
	len = index->index_size;
	munmap(index, getpagesize());
	return len;
}

TEST_F(map, live_index_tells_what_it_is_made_of)
{
	struct trace_live_index *index = map_index(self->fd, self->page);
	size_t end;

	ASSERT_NE(MAP_FAILED, index);
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	EXPECT_EQ(0, index->index_size % self->page);
	EXPECT_LE(sizeof(*index), index->struct_len);
	EXPECT_LE(index->struct_len, index->entries_offset);
	/* "at most 32 bytes a sub-buffer" */
	EXPECT_EQ(sizeof(struct trace_live_subbuf), index->entry_size);
	EXPECT_EQ(self->mb.meta->nr_subbufs, index->nr_subbufs);
	end = index->entries_offset + index->nr_subbufs * index->entry_size;
	EXPECT_LE(end, index->index_size);
	EXPECT_GT(end + self->page, index->index_size);
	EXPECT_EQ(0, index->epoch & 1);
	EXPECT_GT(index->nr_subbufs, index->commit_id);
	munmap(index, self->page);
}

/* Nothing of the kernel's past is in it. */
TEST_F(map, live_index_is_zero_past_its_entries)
{
	size_t len = index_length(self->fd), i;
	struct trace_live_index *index;
	struct watcher w;

	ASSERT_LT(0, len);
	ASSERT_EQ(0, watcher_open(&w, &self->ti, self->ti.cpu, LIVE_FROM_OLDEST));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	index = map_index(self->fd, len);
	ASSERT_NE(MAP_FAILED, index);
	for (i = 0; i < ARRAY_SIZE(index->reserved); i++)
		EXPECT_EQ(0, index->reserved[i]);
	i = index->entries_offset + index->nr_subbufs * index->entry_size;
	for (; i < len; i++)
		ASSERT_EQ(0, ((char *)index)[i]);
	munmap(index, len);
	watcher_close(&w);
}

struct index_args {
	int			fd;
	size_t			len;
	int			prot;
	int			flags;
	unsigned long long	off;
};

/* Refused with @error, and so again when all is mapped. */
static void expect_index_refused(struct __test_metadata *_metadata,
				 FIXTURE_DATA(map) * self, int error,
				 struct index_args a)
{
	struct watcher w;

	EXPECT_EQ(error, map_error(a.fd, a.len, a.prot, a.flags, a.off));
	expect_unmapped(_metadata, &self->ti);
	ASSERT_EQ(0, watcher_open(&w, &self->ti, self->ti.cpu, LIVE_FROM_NOW));
	EXPECT_EQ(error, map_error(a.fd, a.len, a.prot, a.flags, a.off));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	ASSERT_LE(0, watch(&w));
	EXPECT_EQ(1, w.o.seen);
	watcher_close(&w);
	expect_unmapped(_metadata, &self->ti);
}

TEST_F(map, private_live_index_is_refused_with_EPERM)
{
	expect_index_refused(_metadata, self, EPERM, (struct index_args){
		self->fd, self->page, PROT_READ, MAP_PRIVATE, index_offset });
}

TEST_F(map, exec_live_index_is_refused_with_EPERM)
{
	expect_index_refused(_metadata, self, EPERM, (struct index_args){
		self->fd, self->page, PROT_READ | PROT_EXEC, MAP_SHARED, index_offset });
}

TEST_F(map, writable_live_index_is_refused)
{
	expect_index_refused(_metadata, self, EPERM, (struct index_args){
		self->rw_fd, self->page, PROT_READ | PROT_WRITE, MAP_SHARED, index_offset });
	expect_index_refused(_metadata, self, EACCES, (struct index_args){
		self->fd, self->page, PROT_READ | PROT_WRITE, MAP_SHARED, index_offset });
}

TEST_F(map, live_index_is_refused_at_other_offsets)
{
	size_t len = index_length(self->fd);
	const unsigned long long offsets[] = {
		index_offset - self->page, index_offset - self->subbuf,
		index_offset + len, index_offset + self->subbuf + len,
		index_offset * 2, index_offset * 2 - self->subbuf,
	};
	size_t i;

	ASSERT_LT(0, len);
	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		int err = map_error(self->fd, self->page, PROT_READ, MAP_SHARED,
				    offsets[i]);

		/* A 32-bit kernel cannot count the page behind it. */
		if (err == EOVERFLOW && sizeof(long) == 4 &&
		    offsets[i] / self->page == UINT32_MAX)
			continue;
		EXPECT_EQ(EINVAL, err) TH_LOG("offset %#llx", offsets[i]);
	}
	expect_unmapped(_metadata, &self->ti);
}

TEST_F(map, live_index_is_refused_at_a_length_past_its_end)
{
	size_t len = index_length(self->fd);

	ASSERT_LT(0, len);
	expect_index_refused(_metadata, self, EINVAL, (struct index_args){
		self->fd, len + self->page, PROT_READ, MAP_SHARED, index_offset });
	expect_index_refused(_metadata, self, EINVAL, (struct index_args){
		self->fd, 1ULL << 30, PROT_READ, MAP_SHARED, index_offset });
}

TEST_F(map, live_index_never_becomes_writable_or_executable)
{
	struct trace_live_index *index = map_index(self->rw_fd, self->page);

	ASSERT_NE(MAP_FAILED, index);
	EXPECT_EQ(-1, mprotect(index, self->page, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(index, self->page, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	munmap(index, self->page);
}

/* "An index mapping counts as a mapping": resize, snapshot, sub-buffer size */
TEST_F(map, live_index_alone_counts_as_a_mapping)
{
	struct trace_live_index *index = map_index(self->fd, self->page);

	ASSERT_NE(MAP_FAILED, index);
	expect_mapped(_metadata, &self->ti);
	EXPECT_EQ(-EBUSY, instance_write_number(&self->ti,
						"buffer_subbuf_size_kb",
						2 * self->ti.subbuf_kb));
	munmap(index, self->page);
	expect_unmapped(_metadata, &self->ti);
}

TEST_F(map, live_index_and_sub_buffers_count_one_by_one)
{
	struct trace_live_index *index;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	index = map_index(self->fd, self->page);
	ASSERT_NE(MAP_FAILED, index);
	buffer_unmap(&self->mb);
	expect_mapped(_metadata, &self->ti);
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	munmap(index, self->page);
	expect_mapped(_metadata, &self->ti);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

TEST_F(map, live_index_is_refused_with_EBUSY_beside_a_snapshot_user)
{
	const char *trigger = "events/sched/sched_switch/trigger";

	ASSERT_EQ(0, instance_write(&self->ti, trigger, "snapshot"));
	EXPECT_EQ(EBUSY, map_error(self->fd, self->page, PROT_READ, MAP_SHARED,
				   index_offset));
	ASSERT_EQ(0, instance_write(&self->ti, trigger, "!snapshot"));
	instance_write(&self->ti, "snapshot", "0");
	expect_unmapped(_metadata, &self->ti);
}

TEST_F(map, live_index_outlives_close)
{
	struct trace_live_index *index = map_index(self->fd, self->page);
	uint32_t generation;

	ASSERT_NE(MAP_FAILED, index);
	close(self->fd);
	close(self->rw_fd);
	expect_mapped(_metadata, &self->ti);
	generation = index->commit_generation;
	ASSERT_LT(0, overflow_buffer(&self->ti));
	EXPECT_NE(generation, __atomic_load_n(&index->commit_generation,
					      __ATOMIC_RELAXED));
	munmap(index, self->page);
	expect_unmapped(_metadata, &self->ti);
	self->fd = open("/dev/null", O_RDONLY);
	self->rw_fd = open("/dev/null", O_RDONLY);
}

static pid_t fork_index_reader(const struct trace_live_index *index, int ready)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (__atomic_load_n(&index->index_size, __ATOMIC_RELAXED) &&
	    write(ready, "r", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

TEST_F(map, fork_does_not_inherit_the_live_index)
{
	struct trace_live_index *index = map_index(self->fd, self->page);
	int ready[2];
	pid_t pid;

	ASSERT_NE(MAP_FAILED, index);
	ASSERT_EQ(0, pipe(ready));
	pid = fork_index_reader(index, ready[1]);
	ASSERT_LT(0, pid);
	EXPECT_EQ(128 + SIGSEGV, child_status(pid, WOKEN_MS));
	munmap(index, self->page);
	expect_unmapped(_metadata, &self->ti);
}

TEST_F(map, a_copy_of_the_live_index_counts_until_it_is_gone)
{
	struct trace_live_index *index = map_index(self->fd, self->page);
	int ready[2];
	pid_t pid;
	char c;

	ASSERT_NE(MAP_FAILED, index);
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, madvise(index, self->page, MADV_DOFORK));
	pid = fork_index_reader(index, ready[1]);
	ASSERT_LT(0, pid);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	munmap(index, self->page);
	expect_mapped(_metadata, &self->ti);
	EXPECT_EQ(0, kill_child(pid));
	expect_unmapped(_metadata, &self->ti);
}

/* "A mapping is whole": with so many sub-buffers it has several pages. */
TEST_F(map, no_part_of_the_live_index_can_be_unmapped)
{
	size_t nr = 2 * self->page / sizeof(struct trace_live_subbuf), len;
	struct trace_live_index *index;

	/* Sub-buffers of 64 KiB would make that buffer a large one. */
	if (self->ti.subbuf_kb * 1024 > self->page)
		nr = self->page / sizeof(struct trace_live_subbuf) + 8;
	ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
				      nr * self->ti.subbuf_kb));
	len = index_length(self->fd);
	ASSERT_LT(self->page, len);
	index = map_index(self->fd, len);
	ASSERT_NE(MAP_FAILED, index);
	EXPECT_EQ(-1, munmap(index, self->page));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, mprotect(index, self->page, PROT_NONE));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mremap(index, len, len + self->page,
				     MREMAP_MAYMOVE));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_LT(nr, index->nr_subbufs);
	munmap(index, len);
	expect_unmapped(_metadata, &self->ti);
}

TEST_F(map, the_live_index_can_be_thrown_away_and_comes_back)
{
	struct watcher w;

	ASSERT_EQ(0, watcher_open(&w, &self->ti, self->ti.cpu, LIVE_FROM_OLDEST));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	ASSERT_EQ(0, madvise((void *)w.map.index, w.map.index_size,
			     MADV_DONTNEED));
	ASSERT_LE(0, watch(&w));
	EXPECT_EQ(3, w.o.seen);
	EXPECT_TRUE(watcher_exact(&w));
	watcher_close(&w);
}

/* Indexes come and go while the sub-buffers stay mapped. */
TEST_F(map, live_index_comes_and_goes_beside_a_mapping)
{
	struct watcher w;
	int i;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, watcher_open(&w, &self->ti, self->ti.cpu,
					  LIVE_FROM_OLDEST));
		ASSERT_EQ(0, write_events(&self->ti, 7 * self->ti.subbuf_kb,
					  EVENT_LARGE));
		ASSERT_LE(0, watch(&w));
		EXPECT_EQ(self->ti.seq, w.o.count);
		EXPECT_TRUE(watcher_exact(&w));
		watcher_close(&w);
	}
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.seen + self->tally.lost);
}

FIXTURE(live_removal) {
	struct trace_instance	ti;
};

FIXTURE_VARIANT(live_removal) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(live_removal, instance) INSTANCE;
FIXTURE_VARIANT_ADD(live_removal, instance_large) INSTANCE_LARGE;

FIXTURE_SETUP(live_removal)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	close(self->ti.marker);
	self->ti.marker = -1;
}

FIXTURE_TEARDOWN(live_removal)
{
	EXPECT_EQ(0, instance_close(&self->ti));
}

TEST_F(live_removal, rmdir_is_refused_while_the_live_index_is_mapped)
{
	int fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);
	struct trace_live_index *index;

	ASSERT_LE(0, fd);
	index = map_index(fd, getpagesize());
	ASSERT_NE(MAP_FAILED, index);
	close(fd);
	EXPECT_EQ(-1, rmdir(self->ti.dir));
	EXPECT_EQ(EBUSY, errno);
	munmap(index, getpagesize());
	EXPECT_EQ(0, rmdir(self->ti.dir));
	instance_forget(&self->ti);
}

/*
 * A reader holds a lock while it waits for the writer to finish. Whoever starts the
 * index interrupts the writer, and must not wait for that reader then. It takes
 * three CPUs to see it.
 */
TEST_F(map, live_index_is_mapped_beside_a_busy_writer_and_a_busy_reader)
{
	long long until = monotonic_ns() + 2000000000;
	struct trace_live_index *index;
	pid_t writer, reader;
	long maps = 0;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	writer = fork_writer(&self->ti, ~0U, EVENT_LARGE);
	ASSERT_LT(0, writer);
	reader = fork();
	ASSERT_LE(0, reader);
	if (!reader) {
		run_on_cpu(self->ti.other_cpu);
		while (!ioctl(self->fd, TRACE_MMAP_IOCTL_GET_READER))
			;
		_exit(1);
	}
	do {
		index = map_index(self->fd, self->page);
		if (index != MAP_FAILED && ++maps)
			munmap(index, self->page);
		else
			EXPECT_EQ(EAGAIN, errno);
	} while (monotonic_ns() < until);
	EXPECT_LT(0, maps);
	EXPECT_EQ(-EAGAIN, child_status(writer, 0));
	EXPECT_EQ(-EAGAIN, child_status(reader, 0));
	kill_child(writer);
	kill_child(reader);
	ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_SMALL));
	ASSERT_LE(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(5, self->tally.seen);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0
/*
 * The file trace_live and its mapping: the layout, who may open and map it, and
 * what an observer holds off, from open() until the last descriptor and the last
 * mapping of its file are gone.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>

#include "map_fixture.h"
#include "watcher.h"

/* LIVE-1 */
TEST(live_index_layout_is_fixed)
{
	EXPECT_EQ(0, offsetof(struct trace_live_index, struct_len));
	EXPECT_EQ(4, offsetof(struct trace_live_index, entry_size));
	EXPECT_EQ(8, offsetof(struct trace_live_index, entries_offset));
	EXPECT_EQ(16, offsetof(struct trace_live_index, subbufs_offset));
	EXPECT_EQ(24, offsetof(struct trace_live_index, mapping_size));
	EXPECT_EQ(32, offsetof(struct trace_live_index, nr_slots));
	EXPECT_EQ(36, offsetof(struct trace_live_index, nr_subbufs));
	EXPECT_EQ(40, offsetof(struct trace_live_index, subbuf_size));
	EXPECT_EQ(44, offsetof(struct trace_live_index, data_offset));
	EXPECT_EQ(48, offsetof(struct trace_live_index, commit_offset));
	EXPECT_EQ(64, offsetof(struct trace_live_index, first));
	EXPECT_EQ(72, offsetof(struct trace_live_index, commit_generation));
	EXPECT_EQ(80, offsetof(struct trace_live_index, overwritten));
	EXPECT_EQ(88, offsetof(struct trace_live_index, dropped));
	EXPECT_EQ(128, offsetof(struct trace_live_index, read));
	EXPECT_EQ(192, sizeof(struct trace_live_index));
}

/* LIVE-1 */
TEST(live_entry_layout_is_fixed)
{
	EXPECT_EQ(0, offsetof(struct trace_live_subbuf, generation));
	EXPECT_EQ(8, offsetof(struct trace_live_subbuf, before));
	EXPECT_EQ(16, offsetof(struct trace_live_subbuf, id));
	EXPECT_EQ(20, offsetof(struct trace_live_subbuf, size));
	EXPECT_EQ(24, sizeof(struct trace_live_subbuf));
}

/* LIVE-1 */
TEST(live_position_layout_is_fixed)
{
	EXPECT_EQ(0, offsetof(struct trace_live_position, size));
	EXPECT_EQ(4, offsetof(struct trace_live_position, read));
	EXPECT_EQ(8, offsetof(struct trace_live_position, generation));
	EXPECT_EQ(16, offsetof(struct trace_live_position, bytes));
	EXPECT_EQ(24, sizeof(struct trace_live_position));
	EXPECT_EQ(0x40185e00, TRACE_LIVE_IOCTL_SET_POSITION);
}

FIXTURE(live_map) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;
	struct tally		tally;
	int			fd;	/* trace_live */
	size_t			page;
	size_t			size;	/* of the whole mapping */
};

FIXTURE_VARIANT(live_map) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(live_map, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(live_map, instance_large) INSTANCE_LARGE;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(live_map, top_level_large) TOP_LEVEL_LARGE;
FIXTURE_VARIANT_ADD(live_map, instance) INSTANCE;
#endif

static struct trace_live_index *map_live(int fd, size_t len)
{
	return mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
}

/* Maps one page to learn the size of the whole. */
static size_t mapping_size(int fd)
{
	struct trace_live_index *index = map_live(fd, getpagesize());
	size_t size;

	if (index == MAP_FAILED)
		return 0;
	size = index->mapping_size;
	munmap(index, getpagesize());
	return size;
}

FIXTURE_SETUP(live_map)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	self->mb.fd = -1;
	self->page = getpagesize();
	self->fd = live_file(&self->ti, self->ti.cpu);
	ASSERT_LE(0, self->fd);
	self->size = mapping_size(self->fd);
	ASSERT_LT(0, self->size);
}

/* The descriptor is gone; what is mapped stays. */
static void close_it(FIXTURE_DATA(live_map) * self)
{
	close(self->fd);
	self->fd = -1;
}

FIXTURE_TEARDOWN(live_map)
{
	buffer_unmap(&self->mb);
	close_it(self);
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* LIVE-3: those of trace_pipe_raw as well. */
TEST_F(live_map, any_other_command_answers_ENOTTY)
{
	static const unsigned long others[] = {
		TRACE_MMAP_IOCTL_GET_READER, _IO('^', 0x01), _IO('^', 0xff),
		_IOW('^', 0x01, struct trace_live_position), _IO('R', 0x00), _IO('R', 0x2f),
	};
	struct trace_live_position position = { .size = sizeof(position) };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		EXPECT_EQ(-1, ioctl(self->fd, others[i], &position));
		EXPECT_EQ(ENOTTY, errno);
	}
}

/* LIVE-3 */
TEST_F(live_map, trace_pipe_raw_has_no_live_view)
{
	struct trace_live_position position = { .size = sizeof(position) };
	int raw = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);

	ASSERT_LE(0, raw);
	EXPECT_EQ(-1, ioctl(raw, TRACE_LIVE_IOCTL_SET_POSITION, &position));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_NE(0, map_error(raw, self->page, PROT_READ, MAP_SHARED, 1ULL << 43));
	close(raw);
}

/* LIVE-3: There is nothing to be read or written: it is a mapping and a poll(). */
TEST_F(live_map, it_is_not_read_or_written)
{
	char c = 0;

	EXPECT_EQ(-1, read(self->fd, &c, 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(self->fd, &c, 1));
	EXPECT_EQ(EBADF, errno);
}

/* LIVE-3: Who may only read cannot, and root neither. */
TEST_F(live_map, it_is_opened_for_reading_only)
{
	static const int flags[] = { O_RDWR, O_WRONLY, O_WRONLY | O_TRUNC, O_RDWR | O_TRUNC,
				     O_RDONLY | O_TRUNC };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(flags); i++)
		EXPECT_EQ(-EACCES, cpu_file(&self->ti, self->ti.cpu, "trace_live", flags[i]))
			TH_LOG("flags %#o", flags[i]);
	close_it(self);
	expect_unmapped(_metadata, &self->ti);
}

/* LIVE-2 */
TEST_F(live_map, live_index_tells_what_it_is_made_of)
{
	struct trace_live_index *index = map_live(self->fd, self->page);
	size_t end;

	ASSERT_NE(MAP_FAILED, index);
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	EXPECT_EQ(0, index->mapping_size % self->page);
	EXPECT_EQ(sizeof(*index), index->struct_len);
	EXPECT_LE(index->struct_len, index->entries_offset);
	EXPECT_EQ(sizeof(struct trace_live_subbuf), index->entry_size);
	EXPECT_EQ(self->mb.meta->nr_subbufs, index->nr_subbufs);
	EXPECT_EQ(index->nr_subbufs, index->nr_slots + 1);
	EXPECT_EQ(self->mb.meta->subbuf_size, index->subbuf_size);
	EXPECT_EQ(SUBBUF_HEADER, index->data_offset);
	EXPECT_EQ(8, index->commit_offset);
	end = index->entries_offset + index->nr_slots * index->entry_size;
	EXPECT_LE(end, index->subbufs_offset);
	EXPECT_EQ(0, index->subbufs_offset % self->page);
	EXPECT_EQ(index->subbufs_offset +
		  (size_t)index->nr_subbufs * index->subbuf_size,
		  index->mapping_size);
	EXPECT_LE(1, index->first);
	EXPECT_LE(index->first, index->commit_generation);
	munmap(index, self->page);
}

/* LIVE-17, USER-4: Nothing of the kernel's past is in it. */
TEST_F(live_map, live_index_is_zero_past_its_entries)
{
	struct trace_live_index *index = map_live(self->fd, self->size);
	size_t i;

	ASSERT_NE(MAP_FAILED, index);
	ASSERT_LT(0, overflow_buffer(&self->ti));
	for (i = 0; i < ARRAY_SIZE(index->reserved); i++)
		EXPECT_EQ(0, index->reserved[i]);
	for (i = 0; i < ARRAY_SIZE(index->reserved2); i++)
		EXPECT_EQ(0, index->reserved2[i]);
	for (i = 0; i < ARRAY_SIZE(index->reserved3); i++)
		EXPECT_EQ(0, index->reserved3[i]);
	i = index->entries_offset + index->nr_slots * index->entry_size;
	for (; i < index->subbufs_offset; i++)
		ASSERT_EQ(0, ((char *)index)[i]);
	munmap(index, self->size);
}

/* LIVE-4: The length need not be one of whole sub-buffers. */
TEST_F(live_map, a_mapping_may_have_any_length_up_to_the_end)
{
	const size_t lengths[] = {
		1, self->page, self->page + 1, self->size - self->page,
		self->size - 1, self->size,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		EXPECT_EQ(0, map_error(self->fd, lengths[i], PROT_READ, MAP_SHARED, 0))
			TH_LOG("length %zu", lengths[i]);
	}
}

struct live_args {
	int			fd;
	size_t			len;
	int			prot;
	int			flags;
	unsigned long long	off;
};

/* Refused with @error, and so again when all is mapped. */
static void expect_refused(struct __test_metadata *_metadata,
			   FIXTURE_DATA(live_map) * self, int error,
			   struct live_args a)
{
	struct watcher w;

	EXPECT_EQ(error, map_error(a.fd, a.len, a.prot, a.flags, a.off));
	ASSERT_EQ(0, watcher_open(&w, &self->ti, self->ti.cpu, LIVE_FROM_NOW));
	EXPECT_EQ(error, map_error(a.fd, a.len, a.prot, a.flags, a.off));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	ASSERT_LE(0, watch(&w));
	EXPECT_EQ(1, w.o.seen);
	watcher_close(&w);
}

/* And nothing is left when the file is gone. */
static void expect_let_go(struct __test_metadata *_metadata,
			  FIXTURE_DATA(live_map) * self)
{
	expect_mapped(_metadata, &self->ti);
	close_it(self);
	expect_unmapped(_metadata, &self->ti);
}

/* LIVE-4: A signal that comes meanwhile, and does not kill, is no obstacle. */
TEST_F(live_map, a_large_buffer_is_mapped_beside_signals)
{
	close_it(self);
	ASSERT_EQ(0, cpu_write(&self->ti, self->ti.cpu, "buffer_size_kb", "32768"));
	self->fd = live_file(&self->ti, self->ti.cpu);
	ASSERT_LE(0, self->fd);
	self->size = mapping_size(self->fd);
	ASSERT_LT(0, self->size);
	map_beside_signals(_metadata, self->fd, self->size);
}

/* LIVE-5 */
TEST_F(live_map, a_private_mapping_is_refused_with_EPERM)
{
	expect_refused(_metadata, self, EPERM, (struct live_args){
		self->fd, self->size, PROT_READ, MAP_PRIVATE, 0 });
	expect_let_go(_metadata, self);
}

/* LIVE-5 */
TEST_F(live_map, an_exec_mapping_is_refused_with_EPERM)
{
	expect_refused(_metadata, self, EPERM, (struct live_args){
		self->fd, self->page, PROT_READ | PROT_EXEC, MAP_SHARED, 0 });
	expect_let_go(_metadata, self);
}

/* LIVE-5 */
TEST_F(live_map, a_writable_mapping_is_refused)
{
	expect_refused(_metadata, self, EACCES, (struct live_args){
		self->fd, self->page, PROT_READ | PROT_WRITE, MAP_SHARED, 0 });
	expect_let_go(_metadata, self);
}

/* LIVE-4 */
TEST_F(live_map, other_offsets_are_refused_with_EINVAL)
{
	struct trace_live_index *index = map_live(self->fd, self->page);
	const unsigned long long offsets[] = {
		self->page, index->subbufs_offset,
		index->subbufs_offset + index->subbuf_size,
		self->size - self->page, self->size, 1ULL << 32, 1ULL << 43,
	};
	size_t i;

	ASSERT_NE(MAP_FAILED, index);
	munmap(index, self->page);
	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		EXPECT_EQ(EINVAL, map_error(self->fd, self->page, PROT_READ,
					    MAP_SHARED, offsets[i]))
			TH_LOG("offset %#llx", offsets[i]);
	}
	expect_let_go(_metadata, self);
}

/* LIVE-4 */
TEST_F(live_map, a_length_past_the_end_is_refused_with_EINVAL)
{
	expect_refused(_metadata, self, EINVAL, (struct live_args){
		self->fd, self->size + 1, PROT_READ, MAP_SHARED, 0 });
	expect_refused(_metadata, self, EINVAL, (struct live_args){
		self->fd, huge_length(40), PROT_READ, MAP_SHARED, 0 });
	expect_let_go(_metadata, self);
}

/* LIVE-5 */
TEST_F(live_map, it_never_becomes_writable_or_executable)
{
	struct trace_live_index *index = map_live(self->fd, self->size);

	ASSERT_NE(MAP_FAILED, index);
	EXPECT_EQ(-1, mprotect(index, self->size, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(index, self->page, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	munmap(index, self->size);
}

/* LIVE-10: without any mapping. */
TEST_F(live_map, an_open_file_alone_holds_off_what_a_mapping_does)
{
	const char *size = "buffer_subbuf_size_kb";
	unsigned int kb = self->ti.subbuf_kb;
	int second;

	expect_mapped(_metadata, &self->ti);
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, "buffer_size_kb", "8"));
	EXPECT_EQ(-EBUSY, instance_write_number(&self->ti, size, 2 * kb));
	/* Each of two does. */
	second = live_file(&self->ti, self->ti.cpu);
	ASSERT_LE(0, second);
	close(second);
	expect_let_go(_metadata, self);
	EXPECT_EQ(0, instance_write_number(&self->ti, size, 2 * kb));
	EXPECT_EQ(0, instance_write_number(&self->ti, size, kb));
}

/* LIVE-10: The file is closed, the mapping stays: in any part that is left of it. */
TEST_F(live_map, a_mapping_holds_off_when_its_file_is_closed)
{
	struct trace_live_index *index = map_live(self->fd, self->size);
	char *bytes = (char *)index;
	uint64_t generation;

	ASSERT_NE(MAP_FAILED, index);
	close_it(self);
	expect_mapped(_metadata, &self->ti);
	generation = index->commit_generation;
	ASSERT_LT(0, overflow_buffer(&self->ti));
	EXPECT_LT(generation, index->commit_generation);
	munmap(bytes, self->page);
	expect_mapped(_metadata, &self->ti);
	munmap(bytes + 2 * self->page, self->size - 2 * self->page);
	expect_mapped(_metadata, &self->ti);
	munmap(bytes + self->page, self->page);
	expect_unmapped(_metadata, &self->ti);
}

/* LIVE-6: what is left is as it was. */
TEST_F(live_map, parts_of_it_can_be_unmapped)
{
	struct trace_live_index *index;
	struct watcher w;
	size_t at;

	ASSERT_EQ(0, watcher_open(&w, &self->ti, self->ti.cpu, LIVE_FROM_OLDEST));
	index = map_live(w.fd, self->size);
	ASSERT_NE(MAP_FAILED, index);
	for (at = self->page; at + self->page < self->size; at += 2 * self->page)
		ASSERT_EQ(0, munmap((char *)index + at, self->page));
	EXPECT_EQ(0, mprotect(index, self->page, PROT_NONE));
	EXPECT_EQ(0, mprotect(index, self->page, PROT_READ));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LE(0, watch(&w));
	EXPECT_TRUE(watcher_exact(&w));
	EXPECT_EQ(w.o.generation, index->commit_generation);
	munmap(index, self->size);
	watcher_close(&w);
	expect_let_go(_metadata, self);
}

/* LIVE-6 */
TEST_F(live_map, it_can_be_moved_and_shrunk_but_not_grow)
{
	char *to = mmap(NULL, self->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct trace_live_index *index = map_live(self->fd, self->size);
	struct trace_live_index *moved;

	ASSERT_NE(MAP_FAILED, to);
	ASSERT_NE(MAP_FAILED, index);
	EXPECT_EQ(MAP_FAILED, mremap(index, self->size, self->size + self->page,
				     MREMAP_MAYMOVE));
	EXPECT_EQ(EFAULT, errno);
	moved = mremap(index, self->size, self->size, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	ASSERT_NE(MAP_FAILED, moved);
	close_it(self);
	ASSERT_LT(0, overflow_buffer(&self->ti));
	EXPECT_LT(1, moved->commit_generation);
	moved = mremap(moved, self->size, self->page, 0);
	ASSERT_NE(MAP_FAILED, moved);
	expect_mapped(_metadata, &self->ti);
	EXPECT_LT(1, moved->commit_generation);
	munmap(moved, self->page);
	expect_unmapped(_metadata, &self->ti);
}

static pid_t fork_index_reader(const struct trace_live_index *index, int ready)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (index->struct_len && write(ready, "r", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* LIVE-7 */
TEST_F(live_map, fork_does_not_inherit_the_mapping)
{
	struct trace_live_index *index = map_live(self->fd, self->page);
	int ready[2];
	pid_t pid;

	ASSERT_NE(MAP_FAILED, index);
	ASSERT_EQ(0, pipe(ready));
	pid = fork_index_reader(index, ready[1]);
	ASSERT_LT(0, pid);
	EXPECT_EQ(128 + SIGSEGV, child_status(pid, WOKEN_MS));
	munmap(index, self->page);
	expect_let_go(_metadata, self);
}

/* LIVE-7: MADV_DOFORK: the copy holds off until it is gone. */
TEST_F(live_map, a_copy_in_a_child_holds_off_until_it_is_gone)
{
	struct trace_live_index *index = map_live(self->fd, self->size);
	int ready[2];
	pid_t pid;
	char c;

	ASSERT_NE(MAP_FAILED, index);
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, madvise(index, self->size, MADV_DOFORK));
	close_it(self);
	pid = fork_index_reader(index, ready[1]);
	ASSERT_LT(0, pid);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	munmap(index, self->size);
	expect_mapped(_metadata, &self->ti);
	EXPECT_EQ(0, kill_child(pid));
	expect_unmapped(_metadata, &self->ti);
}

/* LIVE-10: A child has the descriptor of its parent. */
TEST_F(live_map, an_inherited_descriptor_holds_off_until_it_is_closed)
{
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid) {
		for (;;)
			pause();
	}
	close_it(self);
	expect_mapped(_metadata, &self->ti);
	EXPECT_EQ(0, kill_child(pid));
	expect_unmapped(_metadata, &self->ti);
}

/* LIVE-8: no other process gets the signal. */
TEST_F(live_map, madv_dontneed_hurts_only_its_caller)
{
	struct watcher w;
	pid_t pid;

	ASSERT_EQ(0, watcher_open(&w, &self->ti, self->ti.cpu, LIVE_FROM_OLDEST));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct trace_live_index *own = map_live(self->fd, self->size);

		if (own == MAP_FAILED || madvise(own, self->size, MADV_DONTNEED))
			_exit(1);
		_exit(own->struct_len ? 2 : 3);
	}
	EXPECT_EQ(128 + SIGBUS, child_status(pid, WOKEN_MS));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	ASSERT_LE(0, watch(&w));
	EXPECT_EQ(3, w.o.seen);
	watcher_close(&w);
	expect_let_go(_metadata, self);
}

/* A child that maps both files of the CPU, and reads all of them again and again. */
static pid_t fork_toucher(FIXTURE_DATA(live_map) * self, int ready)
{
	const char *bytes;
	struct mapped_buffer mb;
	pid_t pid = fork();
	size_t at;

	if (pid)
		return pid;
	bytes = (void *)map_live(self->fd, self->size);
	if (bytes == MAP_FAILED || map_it(&mb, &self->ti))
		_exit(1);
	for (;;) {
		for (at = 0; at < self->size; at += self->page)
			__atomic_load_n(&bytes[at], __ATOMIC_RELAXED);
		buffer_touch(&mb);
		if (ready >= 0 && write(ready, "r", 1) != 1)
			_exit(2);
		ready = -1;
	}
}

/* All ways to do that to a file of the CPU. Returns how many succeeded, which does not matter. */
static int truncate_it(const struct trace_instance *ti, const char *file)
{
	static const int flags[] = { O_WRONLY | O_TRUNC, O_RDONLY | O_TRUNC, O_RDWR };
	char path[256], name[64];
	int done = 0, fd;
	size_t i;

	snprintf(name, sizeof(name), "per_cpu/cpu%d/%s", ti->cpu, file);
	instance_path(ti, path, sizeof(path), name);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		fd = open(path, flags[i]);
		if (fd < 0)
			continue;
		done += 1 + !ftruncate(fd, 0);
		close(fd);
	}
	return done + !truncate(path, 0) + !truncate(path, 1 << 20);
}

/* LIVE-8: By root, of either file: no mapping of another process is zapped. */
TEST_F(live_map, nothing_that_is_mapped_can_be_truncated)
{
	int ready[2], i;
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(ready));
	pid = fork_toucher(self, ready[1]);
	ASSERT_LT(0, pid);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	for (i = 0; i < 20; i++) {
		truncate_it(&self->ti, "trace_live");
		truncate_it(&self->ti, "trace_pipe_raw");
	}
	EXPECT_EQ(-EAGAIN, child_status(pid, STILL_WAITING_MS));
	EXPECT_EQ(0, kill_child(pid));
	expect_let_go(_metadata, self);
}

/* LIVE-10: A consumer's mapping and an observer each hold off for themselves. */
TEST_F(live_map, observers_and_mappings_count_one_by_one)
{
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	close_it(self);
	expect_mapped(_metadata, &self->ti);
	self->fd = live_file(&self->ti, self->ti.cpu);
	ASSERT_LE(0, self->fd);
	buffer_unmap(&self->mb);
	expect_let_go(_metadata, self);
}

/* LIVE-11: An observer of a CPU holds off the snapshot of all, and no other CPU's size. */
TEST_F(live_map, the_size_of_another_cpu_is_not_held_off)
{
	EXPECT_EQ(0, cpu_write_number(&self->ti, self->ti.other_cpu,
				      "buffer_size_kb", 4 * self->ti.subbuf_kb));
	EXPECT_EQ(-EBUSY, cpu_write_number(&self->ti, self->ti.cpu,
					   "buffer_size_kb", 4 * self->ti.subbuf_kb));
	expect_let_go(_metadata, self);
}

/* LIVE-14 */
TEST_F(live_map, open_answers_EBUSY_beside_a_snapshot_user)
{
	const char *trigger = "events/sched/sched_switch/trigger";

	EXPECT_EQ(-EBUSY, instance_write(&self->ti, trigger, "snapshot"));
	close_it(self);
	ASSERT_EQ(0, instance_write(&self->ti, trigger, "snapshot"));
	EXPECT_EQ(-EBUSY, live_file(&self->ti, self->ti.cpu));
	ASSERT_EQ(0, instance_write(&self->ti, trigger, "!snapshot"));
	instance_write(&self->ti, "snapshot", "0");
	expect_unmapped(_metadata, &self->ti);
	self->fd = live_file(&self->ti, self->ti.cpu);
	EXPECT_LE(0, self->fd);
}

/* LIVE-16: Observers come and go while a consumer maps the buffer. */
TEST_F(live_map, observers_come_and_go_beside_a_mapping)
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
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(live_removal, instance_large) {
	.subbuf_kb = LARGE_SUBBUF_KB,
};

#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(live_removal, instance) {
	.subbuf_kb = 0,
};
#endif

FIXTURE_SETUP(live_removal)
{
	ASSERT_EQ(0, instance_open(&self->ti, false, variant->subbuf_kb));
	close(self->ti.marker);
	self->ti.marker = -1;
}

FIXTURE_TEARDOWN(live_removal)
{
	EXPECT_EQ(0, instance_close(&self->ti));
}

static void expect_rmdir_refused(struct __test_metadata *_metadata,
				 const struct trace_instance *ti)
{
	EXPECT_EQ(-1, rmdir(ti->dir));
	EXPECT_EQ(EBUSY, errno);
}

/* LIVE-12 */
TEST_F(live_removal, rmdir_is_refused_while_observed)
{
	int fd = live_file(&self->ti, self->ti.cpu);
	struct trace_live_index *index;

	ASSERT_LE(0, fd);
	expect_rmdir_refused(_metadata, &self->ti);
	index = map_live(fd, getpagesize());
	ASSERT_NE(MAP_FAILED, index);
	close(fd);
	expect_rmdir_refused(_metadata, &self->ti);
	munmap(index, getpagesize());
	EXPECT_EQ(0, rmdir(self->ti.dir));
	instance_forget(&self->ti);
}

TEST_HARNESS_MAIN

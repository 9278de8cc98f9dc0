// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is not there: each allocation fails once, in everything that maps,
 * reads, resizes or copies a buffer. It says ENOMEM then, and all is as before.
 *
 * Needs CONFIG_FAILSLAB, CONFIG_FAIL_PAGE_ALLOC and their files in debugfs. Leaks
 * are looked for by whoever runs this with CONFIG_DEBUG_KMEMLEAK.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "fault_fixture.h"
#include "watcher.h"

/* The operation is to do without memory. */
static void expect_no_allocation(struct __test_metadata *_metadata, FIXTURE_DATA(map) * self,
				 const struct operation *op)
{
	unsigned int refused = 0;

	EXPECT_FALSE(fail_one(_metadata, self, op, 1, &refused))
		TH_LOG("%s", op->name);
}

/* Mapping. */

/*
 * Between two pages that are there, at an address that has no page table: the mapping
 * needs one of its own.
 */
static int before_mmap(FIXTURE_DATA(map) * self)
{
	const size_t room = 4 << 20;
	char *at;

	if (with.hint)
		return 0;
	at = mmap(NULL, 3 * room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	at[0] = 1;
	at[3 * room - 1] = 1;
	with.hint = (void *)(((uintptr_t)at + room) & ~(room / 2 - 1));
	return munmap(with.hint, room) ? -errno : 0;
}

/* Far from all that is mapped, where upper page tables are missing as well. */
static int before_far_mmap(FIXTURE_DATA(map) * self)
{
	with.hint = (void *)((uintptr_t)1 << (sizeof(long) == 8 ? 44 : 30));
	return 0;
}

static int call_mmap(FIXTURE_DATA(map) * self)
{
	with.map = mmap(with.hint, with.len, PROT_READ, MAP_SHARED, self->fd, 0);
	return with.map == MAP_FAILED ? -errno : 0;
}

/* What was mapped has no holes: one would be a SIGBUS. */
static int after_mmap(FIXTURE_DATA(map) * self, int err)
{
	struct mapped_buffer mapped = { .meta = with.map, .len = with.len };

	if (err)
		return 0;
	buffer_touch(&mapped);
	return munmap(with.map, with.len) ? -errno : 0;
}

/* The length of the whole mapping. */
static size_t whole(FIXTURE_DATA(map) * self)
{
	size_t len;

	if (map_it(&self->mb, &self->ti))
		return 0;
	len = self->mb.len;
	buffer_unmap(&self->mb);
	return len;
}

/* The first mapping, of the whole buffer. */
static void fail_each_mmap(struct __test_metadata *_metadata, FIXTURE_DATA(map) * self,
			   const struct operation *op)
{
	ASSERT_EQ(0, prepare(self));
	with.len = whole(self);
	ASSERT_LT(0, with.len);
	fail_each(_metadata, self, op, expect_free);
}

/* MEM-1 */
TEST_F_TIMEOUT(map, mmap_without_memory_leaves_nothing, FAULT_TIMEOUT)
{
	static const struct operation op = {
		"mmap()", .before = before_mmap, .call = call_mmap, .after = after_mmap,
	};

	fail_each_mmap(_metadata, self, &op);
}

/* MEM-1 */
TEST_F_TIMEOUT(map, mmap_without_memory_for_upper_page_tables_leaves_nothing, FAULT_TIMEOUT)
{
	static const struct operation op = {
		"mmap() far away", .before = before_far_mmap, .call = call_mmap,
		.after = after_mmap,
	};

	fail_each_mmap(_metadata, self, &op);
}

/* MEM-1 */
TEST_F_TIMEOUT(map, further_mmap_without_memory_leaves_the_first, FAULT_TIMEOUT)
{
	static const struct operation op = {
		"mmap() of what is mapped", .call = call_mmap, .after = after_mmap,
	};

	ASSERT_EQ(0, prepare(self));
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	with.len = self->mb.len;
	fail_each(_metadata, self, &op, expect_kept);
	buffer_unmap(&self->mb);
	expect_free(_metadata, self);
}

#define MANY_TIMES	500

/*
 * MEM-1: Many times, whichever allocation fails: the list of small sub-buffers has pages of
 * its own here, and with large ones the meta page has more than one.
 */
TEST_F_TIMEOUT(map, mmap_without_memory_leaks_none, FAULT_TIMEOUT)
{
	static const struct operation op = {
		"mmap()", .before = before_mmap, .call = call_mmap, .after = after_mmap,
	};
	unsigned int nth = 1, refused = 0, tries, i;
	long long before, gone;
	bool failed;

	ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb", 5 << 10));
	ASSERT_EQ(0, prepare(self));
	with.len = self->page;
	do {
		/* Caches fill now and then; a leak is there at each try. */
		tries = 3;
		do {
			before = memory_kb("MemFree");
			ASSERT_LT(0, before);
			for (i = 0; i < MANY_TIMES; i++)
				failed = fail_one(_metadata, self, &op, nth, &refused);
			gone = before - memory_kb("MemFree");
		} while (gone >= MANY_TIMES * 8 && --tries);
		EXPECT_GT(MANY_TIMES * 8, gone)
			TH_LOG("allocation %u: %lld KiB are gone", nth, gone);
		nth++;
	} while (failed && __test_passed(_metadata));
	EXPECT_LT(0, refused);
}

static int after_close(FIXTURE_DATA(map) * self, int err)
{
	return with.fd >= 0 && close(with.fd) ? -errno : 0;
}

static int call_open_live(FIXTURE_DATA(map) * self)
{
	with.fd = live_file(&self->ti, self->ti.cpu);
	return with.fd < 0 ? with.fd : 0;
}

/* MEM-3 */
TEST_F_TIMEOUT(map, open_of_the_live_view_without_memory_leaves_nothing, FAULT_TIMEOUT)
{
	static const struct operation op = {
		"open() of trace_live", .call = call_open_live, .after = after_close,
	};

	ASSERT_EQ(0, prepare(self));
	fail_each(_metadata, self, &op, expect_free);
}

static int before_mmap_live(FIXTURE_DATA(map) * self)
{
	return before_mmap(self) ?: call_open_live(self);
}

static int before_far_mmap_live(FIXTURE_DATA(map) * self)
{
	return before_far_mmap(self) ?: call_open_live(self);
}

static int call_mmap_live(FIXTURE_DATA(map) * self)
{
	with.map = mmap(with.hint, with.len, PROT_READ, MAP_SHARED, with.fd, 0);
	return with.map == MAP_FAILED ? -errno : 0;
}

static int after_mmap_live(FIXTURE_DATA(map) * self, int err)
{
	int ret = after_mmap(self, err);

	return after_close(self, err) ?: ret;
}

/* The mapping of an observer, of index and whole buffer. */
static void fail_each_mmap_live(struct __test_metadata *_metadata, FIXTURE_DATA(map) * self,
				const struct operation *op)
{
	struct watcher w;

	ASSERT_EQ(0, prepare(self));
	ASSERT_EQ(0, watcher_open(&w, &self->ti, self->ti.cpu, LIVE_FROM_NOW));
	with.len = w.map.index->mapping_size;
	watcher_close(&w);
	fail_each(_metadata, self, op, expect_free);
}

/* MEM-3 */
TEST_F_TIMEOUT(map, mmap_of_the_live_view_without_memory_leaves_nothing, FAULT_TIMEOUT)
{
	static const struct operation op = {
		"mmap() of trace_live", .before = before_mmap_live, .call = call_mmap_live,
		.after = after_mmap_live,
	};

	fail_each_mmap_live(_metadata, self, &op);
}

/* MEM-3 */
TEST_F_TIMEOUT(map, far_mmap_of_the_live_view_without_memory_leaves_nothing, FAULT_TIMEOUT)
{
	static const struct operation op = {
		"mmap() of trace_live far away", .before = before_far_mmap_live,
		.call = call_mmap_live, .after = after_mmap_live,
	};

	fail_each_mmap_live(_metadata, self, &op);
}

/* Who watches already goes on, and waits for events as before. */
static void expect_watching(struct __test_metadata *_metadata, FIXTURE_DATA(map) * self)
{
	struct watcher w;

	ASSERT_EQ(0, watcher_open(&w, &self->ti, self->ti.cpu, LIVE_FROM_NOW));
	w.tally.next = self->ti.seq;
	ASSERT_EQ(0, watcher_wait(&w, 1));
	expect_readable(_metadata, w.fd, 0);
	expect_kept(_metadata, self);
	expect_readable(_metadata, w.fd, 1);
	EXPECT_LT(0, watch(&w));
	EXPECT_TRUE(watcher_exact(&w));
	watcher_close(&w);
}

/* MEM-3 */
TEST_F_TIMEOUT(map, open_of_the_live_view_without_memory_leaves_the_mapping, FAULT_TIMEOUT)
{
	static const struct operation op = {
		"open() of trace_live of what is mapped",
		.call = call_open_live, .after = after_close,
	};

	ASSERT_EQ(0, prepare(self));
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	fail_each(_metadata, self, &op, expect_watching);
	buffer_unmap(&self->mb);
	expect_free(_metadata, self);
}

/* Behind the mapping there is other memory, of which a part is to be unmapped with it. */
static int before_munmap(FIXTURE_DATA(map) * self)
{
	void *at = mmap(NULL, with.len + 2 * self->page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	if (at == MAP_FAILED)
		return -errno;
	with.map = mmap(at, with.len, PROT_READ, MAP_SHARED | MAP_FIXED, self->fd, 0);
	return with.map == MAP_FAILED ? -errno : 0;
}

/* That takes memory to split it, on every kernel. */
static int call_munmap(FIXTURE_DATA(map) * self)
{
	return munmap(with.map, with.len + self->page) ? -errno : 0;
}

static int after_munmap(FIXTURE_DATA(map) * self, int err)
{
	if (err && call_munmap(self))
		return -errno;
	return munmap((char *)with.map + with.len + self->page, self->page) ? -errno : 0;
}

/* MEM-2 */
TEST_F_TIMEOUT(map, munmap_without_memory_can_be_tried_again, FAULT_TIMEOUT)
{
	static const struct operation op = {
		"munmap()", .before = before_munmap, .call = call_munmap, .after = after_munmap,
	};

	ASSERT_EQ(0, prepare(self));
	with.len = whole(self);
	ASSERT_LT(0, with.len);
	fail_each(_metadata, self, &op, expect_free);
}

static int call_mremap(FIXTURE_DATA(map) * self)
{
	void *to = (char *)with.map - (256 << 20);

	with.old_map = with.map;
	to = mremap(with.map, with.len, with.len, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	if (to == MAP_FAILED)
		return -errno;
	with.map = to;
	return 0;
}

/* If there is no memory to unmap the old place, it stays, and mremap() succeeds. */
static int after_mremap(FIXTURE_DATA(map) * self, int err)
{
	if (munmap(with.old_map, with.len))
		return -errno;
	return munmap(with.map, with.len) ? -errno : 0;
}

/* MEM-2 */
TEST_F_TIMEOUT(map, mremap_without_memory_leaves_every_count_right, FAULT_TIMEOUT)
{
	static const struct operation op = {
		"mremap()", .before = call_mmap, .call = call_mremap, .after = after_mremap,
	};

	ASSERT_EQ(0, prepare(self));
	with.len = whole(self);
	ASSERT_LT(0, with.len);
	fail_each(_metadata, self, &op, expect_free);
}

/*
 * Back from fork() the kernel writes to what it shares with glibc, and kills who
 * has no memory for that. So it shares nothing.
 */
__attribute__((constructor))
static void run_without_rseq(int argc, char **argv)
{
	static const char tunable[] = "GLIBC_TUNABLES";

	if (getenv(tunable))
		return;
	setenv(tunable, "glibc.pthread.rseq=0", 1);
	execv("/proc/self/exe", argv);
	perror("/proc/self/exe");
	_exit(1);
}

static int call_fork(FIXTURE_DATA(map) * self)
{
	with.child = fork();
	if (!with.child)
		_exit(0);
	return with.child < 0 ? -errno : 0;
}

static int after_fork(FIXTURE_DATA(map) * self, int err)
{
	return err ? 0 : child_status(with.child, WOKEN_MS);
}

/* MEM-2: Of the copies that were made, none is left: the last unmap is the last. */
TEST_F_TIMEOUT(map, fork_without_memory_leaves_no_copy, FAULT_TIMEOUT)
{
	static const struct operation op = {
		"fork() with MADV_DOFORK", .call = call_fork, .after = after_fork,
	};
	struct watcher w;

	ASSERT_EQ(0, prepare(self));
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_EQ(0, watcher_open(&w, &self->ti, self->ti.cpu, LIVE_FROM_NOW));
	ASSERT_EQ(0, madvise(self->mb.meta, self->mb.len, MADV_DOFORK));
	ASSERT_EQ(0, madvise((void *)w.map.index, w.map.size, MADV_DOFORK));
	fail_each(_metadata, self, &op, expect_kept);
	watcher_close(&w);
	buffer_unmap(&self->mb);
	expect_free(_metadata, self);
}

/* What is done with a mapping. */

static int call_get_reader(FIXTURE_DATA(map) * self)
{
	return ioctl(self->fd, TRACE_MMAP_IOCTL_GET_READER) ? -errno : 0;
}

static int call_live_wait(FIXTURE_DATA(map) * self)
{
	const struct trace_live_index *index = with.map;
	struct trace_live_position pos = {
		.size = sizeof(pos), .generation = index->commit_generation, .bytes = 1,
	};

	return ioctl(with.fd, TRACE_LIVE_IOCTL_SET_POSITION, &pos) ? -errno : 0;
}

static int call_poll(FIXTURE_DATA(map) * self)
{
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };

	return poll(&pfd, 1, 0) < 0 ? -errno : 0;
}

static int call_poll_live(FIXTURE_DATA(map) * self)
{
	struct pollfd pfd = { .fd = with.fd, .events = POLLIN };

	return poll(&pfd, 1, 0) < 0 ? -errno : 0;
}

static int call_write(FIXTURE_DATA(map) * self)
{
	return write_events(&self->ti, 100, EVENT_LARGE);
}

/* MEM-4 */
TEST_F(map, what_is_done_with_a_mapping_allocates_nothing)
{
	static const struct operation ops[] = {
		{ "GET_READER", .call = call_get_reader },
		{ "poll()", .call = call_poll },
		{ "SET_POSITION", .call = call_live_wait },
		{ "poll() of trace_live", .call = call_poll_live },
		{ "write()", .call = call_write },
	};
	size_t i;

	ASSERT_EQ(0, prepare(self));
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	with.len = self->page;
	ASSERT_EQ(0, call_open_live(self));
	ASSERT_EQ(0, call_mmap_live(self));
	ASSERT_EQ(0, call_write(self));	/* from memory that is there */
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		expect_no_allocation(_metadata, self, &ops[i]);
	ASSERT_EQ(0, after_mmap_live(self, 0));
}

static int before_epoll(FIXTURE_DATA(map) * self)
{
	with.fd = epoll_create1(0);
	return with.fd < 0 ? -errno : 0;
}

static int call_epoll(FIXTURE_DATA(map) * self)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(with.fd, EPOLL_CTL_ADD, self->fd, &event) ? -errno : 0;
}

/* MEM-4 */
TEST_F_TIMEOUT(map, epoll_without_memory_leaves_the_mapping, FAULT_TIMEOUT)
{
	static const struct operation op = {
		"epoll_ctl()", .before = before_epoll, .call = call_epoll, .after = after_close,
	};

	ASSERT_EQ(0, prepare(self));
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	fail_each(_metadata, self, &op, expect_watching);
	buffer_unmap(&self->mb);
	expect_free(_metadata, self);
}

/* Reading. */

static int call_open_raw(FIXTURE_DATA(map) * self)
{
	with.fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	return with.fd < 0 ? with.fd : 0;
}

static int call_open_pipe(FIXTURE_DATA(map) * self)
{
	with.fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe", O_RDONLY | O_NONBLOCK);
	return with.fd < 0 ? with.fd : 0;
}

static int call_open(FIXTURE_DATA(map) * self, const char *file)
{
	with.fd = instance_file(&self->ti, file, O_RDONLY);
	return with.fd < 0 ? with.fd : 0;
}

static int call_open_trace(FIXTURE_DATA(map) * self)
{
	return call_open(self, "trace");
}

static int call_open_cpu_trace(FIXTURE_DATA(map) * self)
{
	with.fd = cpu_file(&self->ti, self->ti.cpu, "trace", O_RDONLY);
	return with.fd < 0 ? with.fd : 0;
}

static int call_open_snapshot(FIXTURE_DATA(map) * self)
{
	return call_open(self, "snapshot");
}

static int call_open_trigger(FIXTURE_DATA(map) * self)
{
	return call_open(self, "events/sched/sched_process_free/trigger");
}

/* MEM-5 */
TEST_F_TIMEOUT(map, open_without_memory_leaves_nothing, FAULT_TIMEOUT)
{
	static const struct operation ops[] = {
		{ "open() of trace_pipe_raw", .call = call_open_raw, .after = after_close },
		{ "open() of trace_pipe", .call = call_open_pipe, .after = after_close },
		{ "open() of trace", .call = call_open_trace, .after = after_close },
		{ "open() of a CPU's trace", .call = call_open_cpu_trace, .after = after_close },
		{ "open() of snapshot", .call = call_open_snapshot, .after = after_close },
		{ "open() of a trigger file", .call = call_open_trigger, .after = after_close },
	};
	size_t i;

	ASSERT_EQ(0, prepare(self));
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		fail_each(_metadata, self, &ops[i], expect_free);
}

/* So many sub-buffers and a half: of the last, some is not final. */
static int write_subbufs(FIXTURE_DATA(map) * self, unsigned int count)
{
	int err = call_open_raw(self);

	if (err)
		return err;
	/* The page that the last reader has left is for this one. */
	with.other_fd = with.fd;
	if (read(with.other_fd, with.page, self->subbuf) != -1 || errno != EAGAIN)
		return -EIO;
	/* Copying to memory that is not there would fail too. */
	memset(with.page, 0, sizeof(with.page));
	err = write_bytes(&self->ti, count * self->subbuf + self->subbuf / 2, EVENT_LARGE);
	return err < 0 ? err : call_open_raw(self);
}

static int write_some(FIXTURE_DATA(map) * self)
{
	return write_subbufs(self, 1);
}

static int after_reading(FIXTURE_DATA(map) * self, int err)
{
	close(with.other_fd);
	return after_close(self, err);
}

static int call_read(FIXTURE_DATA(map) * self)
{
	with.got = read(with.fd, with.page, self->subbuf);
	return with.got < 0 ? -errno : 0;
}

static int after_read(FIXTURE_DATA(map) * self, int err)
{
	if (!err)
		tally_page(&self->tally, with.page, with.got);
	return after_reading(self, err);
}

static int before_splice(FIXTURE_DATA(map) * self)
{
	if (pipe(with.pipe))
		return -errno;
	return write_some(self);
}

static int call_splice(FIXTURE_DATA(map) * self)
{
	with.got = splice(with.fd, NULL, with.pipe[1], NULL, self->subbuf, SPLICE_F_NONBLOCK);
	return with.got < 0 ? -errno : 0;
}

static int before_splice_two(FIXTURE_DATA(map) * self)
{
	if (pipe(with.pipe))
		return -errno;
	return write_subbufs(self, 2);
}

/* Without memory for the second, it is the first that is delivered. */
static int call_splice_two(FIXTURE_DATA(map) * self)
{
	with.got = splice(with.fd, NULL, with.pipe[1], NULL, 2 * self->subbuf, SPLICE_F_NONBLOCK);
	return with.got < 0 ? -errno : 0;
}

static int after_splice(FIXTURE_DATA(map) * self, int err)
{
	ssize_t at;

	close(with.pipe[1]);
	if (!err && read(with.pipe[0], with.page, sizeof(with.page)) != with.got)
		err = -EIO;
	for (at = 0; !err && at < with.got; at += self->subbuf)
		tally_page(&self->tally, with.page + at, self->subbuf);
	close(with.pipe[0]);
	return err == -EIO ? err : after_reading(self, err);
}

/* The copy of an event that an iterator shows, and the line made of it. */
static int call_read_trace(FIXTURE_DATA(map) * self)
{
	ssize_t len;

	with.fd = cpu_file(&self->ti, self->ti.cpu, "trace", O_RDONLY);
	if (with.fd < 0)
		return with.fd;
	do {
		len = read(with.fd, with.page, sizeof(with.page));
	} while (len > 0);
	return len < 0 ? -errno : 0;
}

static int before_read_trace(FIXTURE_DATA(map) * self)
{
	int err = write_some(self);

	return err ? err : close(with.fd);
}

static const struct operation reading[] = {
	{ "read() of trace_pipe_raw", write_some, call_read, after_read },
	{ "splice() of trace_pipe_raw", before_splice, call_splice, after_splice },
	{ "splice() of two sub-buffers", before_splice_two, call_splice_two, after_splice },
	{ "read() of trace", before_read_trace, call_read_trace, after_reading },
};

/* MEM-5 */
TEST_F_TIMEOUT(map, reading_without_memory_loses_nothing, FAULT_TIMEOUT)
{
	size_t i;

	ASSERT_EQ(0, prepare(self));
	for (i = 0; i < ARRAY_SIZE(reading); i++)
		fail_each(_metadata, self, &reading[i], expect_free);
}

/* MEM-5 */
TEST_F_TIMEOUT(map, reading_what_is_mapped_without_memory_loses_nothing, FAULT_TIMEOUT)
{
	size_t i;

	ASSERT_EQ(0, prepare(self));
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	for (i = 0; i < ARRAY_SIZE(reading); i++)
		fail_each(_metadata, self, &reading[i], expect_kept);
	buffer_unmap(&self->mb);
	expect_free(_metadata, self);
}

/* Sizes. */

static int resize(FIXTURE_DATA(map) * self, unsigned int subbufs)
{
	return instance_write_number(&self->ti, "buffer_size_kb", subbufs * self->ti.subbuf_kb);
}

static int call_resize(FIXTURE_DATA(map) * self)
{
	return resize(self, TEST_SUBBUFS + 2);
}

static int call_resize_cpu(FIXTURE_DATA(map) * self)
{
	return cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
				(TEST_SUBBUFS + 2) * self->ti.subbuf_kb);
}

/* The sub-buffers of the buffer, which is mapped for that. */
static long count_subbufs(FIXTURE_DATA(map) * self)
{
	struct mapped_buffer mb;
	int err = map_it(&mb, &self->ti);
	long count;

	if (err)
		return err;
	count = mb.meta->nr_subbufs;
	buffer_unmap(&mb);
	return count;
}

/* Swaps buffer and snapshot. Writing 1 to "snapshot" would make them alike before. */
static int swap_by_trigger(FIXTURE_DATA(map) * self)
{
	int err = instance_write(&self->ti, PRINT_TRIGGER, "snapshot");

	if (err)
		return err;
	err = instance_write(&self->ti, "trace_marker", "now");
	return instance_write(&self->ti, PRINT_TRIGGER, "!snapshot") ?: err;
}

/* Buffer and snapshot have as many sub-buffers as before the resize. */
static int both_are_as_before(FIXTURE_DATA(map) * self)
{
	int i, err;

	for (i = 0; i < 2; i++) {
		if (count_subbufs(self) != with.subbufs)
			return -EUCLEAN;
		err = swap_by_trigger(self);
		if (err)
			return err;
	}
	/* The marker that the trigger was for is no event of ours. */
	return instance_write(&self->ti, "trace", "");
}

static int before_resize(FIXTURE_DATA(map) * self)
{
	int err = take_snapshot(self);

	with.subbufs = count_subbufs(self);
	return err ?: with.subbufs < 0 ? with.subbufs : 0;
}

/* Refused, it has changed nothing: there is nothing to take back. */
static int after_resize(FIXTURE_DATA(map) * self, int err)
{
	return err ? both_are_as_before(self) : resize(self, TEST_SUBBUFS);
}

static int call_subbuf_size(FIXTURE_DATA(map) * self)
{
	return instance_write_number(&self->ti, "buffer_subbuf_size_kb", 2 * self->ti.subbuf_kb);
}

/* Two events in the snapshot, three in the buffer. */
static int before_subbuf_size(FIXTURE_DATA(map) * self)
{
	return write_events(&self->ti, 2, EVENT_LARGE) ?: before_resize(self) ?:
	       write_events(&self->ti, 3, EVENT_LARGE);
}

/* They still are there, and are thrown away. */
static int events_are_as_before(FIXTURE_DATA(map) * self)
{
	if (count_trace_lines(&self->ti, "snapshot") != 2 ||
	    count_trace_lines(&self->ti, "trace") != 3)
		return -EUCLEAN;
	return instance_write(&self->ti, "snapshot", "2") ?: instance_write(&self->ti, "trace", "");
}

/* It rounds up, to and fro: there is one more sub-buffer than before. */
static int back_to_subbuf_size(FIXTURE_DATA(map) * self)
{
	return instance_write_number(&self->ti, "buffer_subbuf_size_kb", self->ti.subbuf_kb) ?:
	       resize(self, TEST_SUBBUFS);
}

static int after_subbuf_size(FIXTURE_DATA(map) * self, int err)
{
	self->tally.next = self->ti.seq;
	return err ? events_are_as_before(self) ?: both_are_as_before(self) :
		     back_to_subbuf_size(self);
}

/* SUBBUF-10 */
TEST_F_TIMEOUT(map, subbuf_size_without_memory_stays, FAULT_TIMEOUT)
{
	static const struct operation op = {
		"buffer_subbuf_size_kb, with a snapshot",
		before_subbuf_size, call_subbuf_size, after_subbuf_size,
	};

	ASSERT_EQ(0, prepare(self));
	fail_each(_metadata, self, &op, expect_free);
}

/* SUBBUF-10: Memory ends after each of the new sub-buffers: none is left to go back with. */
TEST_F_TIMEOUT(map, subbuf_size_stays_when_memory_ends, FAULT_TIMEOUT)
{
	const unsigned int subbuf_pages = 2 * self->subbuf / self->page;
	unsigned int pages, refused = 0;
	int err = -ENOMEM;

	ASSERT_EQ(0, prepare(self));
	for (pages = 0; err && __test_passed(_metadata); pages += subbuf_pages) {
		ASSERT_EQ(0, before_subbuf_size(self));
		ASSERT_EQ(0, memory_ends(pages));
		err = call_subbuf_size(self);
		ASSERT_EQ(0, memory_returns());
		EXPECT_TRUE(!err || err == -ENOMEM)
			TH_LOG("%u pages: %s", pages, strerror(-err));
		refused += !!err;
		EXPECT_EQ(0, after_subbuf_size(self, err))
			TH_LOG("%u pages", pages);
		expect_free(_metadata, self);
	}
	/* One of the two has fewer sub-buffers: those of the other one were refused as well. */
	EXPECT_LT(2 * (TEST_SUBBUFS / 2 + 1), refused);
}

/* How often an observer was refused, because the resize before had no memory for its index */
static unsigned int without_index;

/* With which generation the last index began that was looked at */
static uint64_t newest;

/* An observer maps the index, whose generations are none of before. */
static int look_at_index(FIXTURE_DATA(map) * self)
{
	int fd = live_file(&self->ti, self->ti.cpu);
	struct live_mapping map;
	int err;

	if (fd < 0)
		return fd;
	err = live_map(&map, fd);
	close(fd);
	if (err)
		return err;
	if (map.index->first < newest)
		err = -ESTALE;
	newest = map.index->first;
	live_unmap(&map);
	return err;
}

static int resize_offline(FIXTURE_DATA(map) * self, unsigned int subbufs)
{
	return cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
				subbufs * self->ti.subbuf_kb);
}

static int call_resize_offline(FIXTURE_DATA(map) * self)
{
	return resize_offline(self, TEST_SUBBUFS + 2);
}

/*
 * The caller itself exchanges the sub-buffers of a CPU that is offline, and allocates the
 * index. The two resizes ahead make generations that begin again older than the last ones:
 * the snapshot of expect_free() was another buffer.
 */
static int before_resize_for_observer(FIXTURE_DATA(map) * self)
{
	newest = 0;
	return switch_cpu_online(self->ti.cpu, false) ?: call_resize_offline(self) ?:
	       resize_offline(self, TEST_SUBBUFS) ?: look_at_index(self);
}

static int after_resize_for_observer(FIXTURE_DATA(map) * self, int err)
{
	int ret = look_at_index(self);

	if (ret && (err || ret != -ENOMEM))
		return ret;
	without_index += !!ret;
	return resize_offline(self, TEST_SUBBUFS) ?: look_at_index(self) ?:
	       switch_cpu_online(self->ti.cpu, true) ?: run_on_cpu(self->ti.cpu);
}

/* MEM-11, LIVE-25: Until the next resize, and generations go on then. */
TEST_F_TIMEOUT(map, a_resize_without_memory_for_the_index_succeeds, FAULT_TIMEOUT)
{
	static const struct operation op = {
		"buffer_size_kb", before_resize_for_observer, call_resize_offline,
		after_resize_for_observer,
	};

	ASSERT_EQ(0, prepare(self));
	fail_each(_metadata, self, &op, expect_free);
	EXPECT_LT(0, without_index);
}

/* MEM-6, HOLD-14 */
TEST_F_TIMEOUT(map, buffer_size_without_memory_stays, FAULT_TIMEOUT)
{
	static const struct operation ops[] = {
		{ "buffer_size_kb, with a snapshot", before_resize, call_resize, after_resize },
		{ "buffer_size_kb of a CPU, with a snapshot",
		  before_resize, call_resize_cpu, after_resize },
	};
	size_t i;

	ASSERT_EQ(0, prepare(self));
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		fail_each(_metadata, self, &ops[i], expect_free);
}

/* Larger sub-buffers are two at least: back at their size they are more than before. */
static int before_resize_of_more(FIXTURE_DATA(map) * self)
{
	const char *file = "buffer_subbuf_size_kb";
	int err = take_snapshot(self);

	if (!err)
		err = instance_write_number(&self->ti, file, 8 * self->ti.subbuf_kb);
	if (!err)
		err = instance_write_number(&self->ti, file, self->ti.subbuf_kb);
	with.subbufs = count_subbufs(self);
	return err ?: with.subbufs < 0 ? with.subbufs : 0;
}

static int call_resize_cpu_of_more(FIXTURE_DATA(map) * self)
{
	return cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
				(with.subbufs + 2) * self->ti.subbuf_kb);
}

static int after_resize_of_more(FIXTURE_DATA(map) * self, int err)
{
	return (err ? both_are_as_before(self) : 0) ?: resize(self, TEST_SUBBUFS);
}

/* MEM-6, HOLD-14: Sizes are told anew by another sub-buffer size, of the snapshot as well. */
TEST_F_TIMEOUT(map, buffer_size_without_memory_stays_behind_a_subbuf_size, FAULT_TIMEOUT)
{
	static const struct operation op = {
		"buffer_size_kb behind buffer_subbuf_size_kb", before_resize_of_more,
		call_resize_cpu_of_more, after_resize_of_more,
	};

	ASSERT_EQ(0, prepare(self));
	fail_each(_metadata, self, &op, expect_free);
}

static int call_reset(FIXTURE_DATA(map) * self)
{
	return instance_write(&self->ti, "trace", "");
}

/* MEM-6 */
TEST_F_TIMEOUT(map, reset_without_memory_is_done_or_not, FAULT_TIMEOUT)
{
	static const struct operation op = { "reset", .call = call_reset };

	ASSERT_EQ(0, prepare(self));
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	fail_each(_metadata, self, &op, expect_kept);
}

/* Instances. */

#define INSTANCE_DIR	TRACEFS_DIR "/instances/rbtest-fault"

FIXTURE(instances) {};

FIXTURE_SETUP(instances)
{
	ASSERT_EQ(0, faults_allow());
}

FIXTURE_TEARDOWN(instances) {}

static int make_instance(void)
{
	return mkdir(INSTANCE_DIR, 0755) ? -errno : 0;
}

static int remove_instance(void)
{
	return rmdir(INSTANCE_DIR) ? -errno : 0;
}

/* MEM-8: Each event makes some files: of these allocations only some fail. */
TEST_F_TIMEOUT(instances, mkdir_without_memory_leaves_nothing, FAULT_TIMEOUT)
{
	unsigned int nth = 1, refused = 0;
	int err, failed;

	do {
		ASSERT_EQ(0, fault_begin(nth));
		err = make_instance();
		failed = fault_end();
		ASSERT_LE(0, failed);
		if (!err) {
			ASSERT_EQ(0, remove_instance());
		} else {
			refused++;
			EXPECT_EQ(-ENOMEM, err) TH_LOG("allocation %u", nth);
			EXPECT_EQ(1, failed);
		}
		EXPECT_EQ(-ENOENT, remove_instance());
		nth = fault_sample(nth);
	} while (failed && __test_passed(_metadata));
	EXPECT_LT(0, refused);
	fprintf(stderr, "# mkdir(): up to allocation %u, %u were refused\n", nth, refused);
}

/* MEM-8 */
TEST_F_TIMEOUT(instances, rmdir_without_memory_can_be_tried_again, FAULT_TIMEOUT)
{
	unsigned int nth, refused = 0;
	int err, failed = 1;

	for (nth = 1; failed && __test_passed(_metadata); nth++) {
		err = make_instance();
		ASSERT_TRUE(!err || err == -EEXIST);
		ASSERT_EQ(0, fault_begin(nth));
		err = remove_instance();
		failed = fault_end();
		ASSERT_LE(0, failed);
		refused += !!err;
		if (err) {
			EXPECT_EQ(-ENOMEM, err) TH_LOG("allocation %u", nth);
			EXPECT_EQ(1, failed);
		}
	}
	EXPECT_EQ(-ENOENT, remove_instance());
	/* There was something to fail. */
	EXPECT_LT(2, nth);
	fprintf(stderr, "# rmdir(): %u allocations, without %u of them it was refused\n",
		nth - 2, refused);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting for events at trace_live: TRACE_LIVE_IOCTL_SET_POSITION, and what
 * poll(), select() and epoll say of a file that it told a position.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "buffer_fixture.h"
#include "watcher.h"

/* What a record with an event of write_events() takes, at most. */
#define RECORD(size)	((size) + 8 + 8 + 4)

FIXTURE(live_wait) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;
	struct watcher		w;
	pid_t			pid;
};

FIXTURE_VARIANT(live_wait) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(live_wait, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(live_wait, instance_large) INSTANCE_LARGE;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(live_wait, top_level_large) TOP_LEVEL_LARGE;
FIXTURE_VARIANT_ADD(live_wait, instance) INSTANCE;
#endif

FIXTURE_SETUP(live_wait)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	self->mb.fd = -1;
	ASSERT_EQ(0, watcher_open(&self->w, &self->ti, self->ti.cpu,
				  LIVE_FROM_OLDEST));
}

FIXTURE_TEARDOWN(live_wait)
{
	if (self->pid > 0 && !kill(self->pid, 0))
		kill_child(self->pid);
	watcher_close(&self->w);
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* The file of an observer that was told many positions is readable up to 10 ms late. */
static void expect_ready(struct __test_metadata *_metadata, int fd, int ready)
{
	if (!ready)
		sleep_ms(STILL_WAITING_MS);
	EXPECT_EQ(ready, poll_readable(fd, ready ? WOKEN_MS : 0));
	expect_readable(_metadata, fd, ready);
}

static int live_wait_errno(int fd, const void *position)
{
	return ioctl(fd, TRACE_LIVE_IOCTL_SET_POSITION, position) ? errno : 0;
}

/* WAKE-1 */
TEST_F(live_wait, a_smaller_structure_is_refused_with_EINVAL)
{
	struct trace_live_position p = live_position(&self->w.o, 1);

	EXPECT_EQ(sizeof(p), p.size);
	for (p.size = 0; p.size < sizeof(p); p.size++)
		EXPECT_EQ(EINVAL, live_wait_errno(self->w.fd, &p));
	EXPECT_EQ(0, live_wait_errno(self->w.fd, &p));
}

/* WAKE-1 */
TEST_F(live_wait, a_larger_structure_is_taken_if_the_rest_is_0)
{
	struct {
		struct trace_live_position	p;
		unsigned char			later[64];
	} larger = { .p = live_position(&self->w.o, 1) };
	size_t i;

	for (i = 0; i <= sizeof(larger.later); i++) {
		larger.p.size = sizeof(larger.p) + i;
		EXPECT_EQ(0, live_wait_errno(self->w.fd, &larger));
	}
	/* That is what a later version of the command is. */
	EXPECT_EQ(0, ioctl(self->w.fd, _IOC(_IOC_WRITE, '^', 0x00, sizeof(larger)), &larger));
	for (i = 0; i < sizeof(larger.later); i++) {
		larger.later[i] = 1;
		larger.p.size = sizeof(larger.p) + i;
		EXPECT_EQ(0, live_wait_errno(self->w.fd, &larger));
		larger.p.size++;
		EXPECT_EQ(E2BIG, live_wait_errno(self->w.fd, &larger));
		larger.p.size = sizeof(larger);
		EXPECT_EQ(E2BIG, live_wait_errno(self->w.fd, &larger));
		larger.later[i] = 0;
	}
}

/* WAKE-1 */
TEST_F(live_wait, a_structure_of_absurd_size_is_refused)
{
	struct trace_live_position p = live_position(&self->w.o, 1);
	int err;

	p.size = ~0U;
	err = live_wait_errno(self->w.fd, &p);
	EXPECT_TRUE(err == E2BIG || err == EFAULT)
		TH_LOG("%s", strerror(err));
}

/* WAKE-1: Whatever is there. */
TEST_F(live_wait, a_structure_larger_than_a_page_is_refused_with_E2BIG)
{
	struct trace_live_position *p = calloc(2, getpagesize());

	ASSERT_NE(NULL, p);
	*p = live_position(&self->w.o, 1);
	p->size = getpagesize();
	EXPECT_EQ(0, live_wait_errno(self->w.fd, p));
	p->size = getpagesize() + 8;
	EXPECT_EQ(E2BIG, live_wait_errno(self->w.fd, p));
	free(p);
}

/* WAKE-2: A refused position leaves the one there was. */
TEST_F(live_wait, a_position_ahead_of_the_writer_is_refused_with_EINVAL)
{
	struct trace_live_position p;

	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_SMALL));
	ASSERT_LE(0, watch(&self->w));
	p = live_position(&self->w.o, 1);
	ASSERT_EQ(0, live_wait_errno(self->w.fd, &p));
	p.read += 4;
	EXPECT_EQ(EINVAL, live_wait_errno(self->w.fd, &p));
	p.read = ~0U;
	EXPECT_EQ(EINVAL, live_wait_errno(self->w.fd, &p));
	p = live_position(&self->w.o, 1);
	p.generation++;
	EXPECT_EQ(EINVAL, live_wait_errno(self->w.fd, &p));
	p.read = 0;
	EXPECT_EQ(EINVAL, live_wait_errno(self->w.fd, &p));
	p.generation += 1ULL << 32;
	EXPECT_EQ(EINVAL, live_wait_errno(self->w.fd, &p));
	p.generation = ~0ULL;
	EXPECT_EQ(EINVAL, live_wait_errno(self->w.fd, &p));
	expect_ready(_metadata, self->w.fd, 0);
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	expect_ready(_metadata, self->w.fd, 1);
}

/* WAKE-2 */
TEST_F(live_wait, memory_that_is_not_there_is_refused_with_EFAULT)
{
	EXPECT_EQ(EFAULT, live_wait_errno(self->w.fd, NULL));
	EXPECT_EQ(EFAULT, live_wait_errno(self->w.fd, (void *)8));
	EXPECT_EQ(EFAULT, live_wait_errno(self->w.fd, (void *)-4096L));
}

/* What lies behind it was overwritten long ago: there is enough, and no error. */
static void expect_ready_at(struct __test_metadata *_metadata, struct watcher *w,
			    uint64_t generation, uint32_t read)
{
	struct trace_live_position p = live_position(&w->o, 1);

	ASSERT_EQ(0, watcher_wait(w, 1));
	expect_ready(_metadata, w->fd, 0);
	p.generation = generation;
	p.read = read;
	EXPECT_EQ(0, live_wait_errno(w->fd, &p));
	expect_ready(_metadata, w->fd, 1);
	p.bytes = ~0ULL;
	EXPECT_EQ(0, live_wait_errno(w->fd, &p));
	expect_ready(_metadata, w->fd, 1);
}

/* WAKE-3 */
TEST_F(live_wait, a_position_may_be_as_old_as_it_likes)
{
	const uint64_t first = self->w.o.generation;
	uint32_t last = self->ti.subbuf_kb * 1024 - SUBBUF_HEADER;
	struct trace_live_position p;
	int i;

	for (i = 0; i < 20; i++)
		ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, watch(&self->w));
	ASSERT_LT(first + 20 * TEST_SUBBUFS, self->w.o.generation);
	expect_ready_at(_metadata, &self->w, first, 0);
	expect_ready_at(_metadata, &self->w, first, last);
	expect_ready_at(_metadata, &self->w, 0, 0);
	expect_ready_at(_metadata, &self->w, 0, last);
	p = live_position(&self->w.o, 1);
	p.generation = 0;
	p.read = last + 1;
	EXPECT_EQ(EINVAL, live_wait_errno(self->w.fd, &p));
}

/* WAKE-3: What was before a reset is gone, as far as one can know: also where nothing was. */
TEST_F(live_wait, a_position_before_an_empty_buffer_is_old_once_it_is_emptied)
{
	struct trace_live_position p = live_position(&self->w.o, 1);

	p.generation = self->w.map.index->first - 1;
	p.read = self->ti.subbuf_kb * 1024 - SUBBUF_HEADER;
	EXPECT_EQ(0, live_wait_errno(self->w.fd, &p));
	expect_ready(_metadata, self->w.fd, 0);
	ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
	EXPECT_EQ(0, live_wait_errno(self->w.fd, &p));
	expect_ready(_metadata, self->w.fd, 1);
}

/* WAKE-4: An observer may have taken the padding for records before it was final. */
TEST_F(live_wait, a_position_in_the_padding_is_the_end_of_the_sub_buffer)
{
	struct trace_live_position p = live_position(&self->w.o, 1);

	ASSERT_LT(0, write_bytes(&self->ti, 2 * self->ti.subbuf_kb * 1024,
				 EVENT_LARGE));
	p.read = self->ti.subbuf_kb * 1024 - SUBBUF_HEADER;
	EXPECT_EQ(0, live_wait_errno(self->w.fd, &p));
	expect_ready(_metadata, self->w.fd, 1);
}

/* WAKE-6 */
TEST_F(live_wait, it_is_readable_exactly_if_there_is_more)
{
	unsigned int i;

	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, watcher_wait(&self->w, 1));
		expect_ready(_metadata, self->w.fd, 0);
		ASSERT_EQ(0, write_events(&self->ti, 1 + i % 7, EVENT_LARGE));
		expect_ready(_metadata, self->w.fd, 1);
		ASSERT_LT(0, watch(&self->w));
		EXPECT_EQ(self->ti.seq, self->w.o.seen);
	}
	EXPECT_TRUE(watcher_exact(&self->w));
}

/* WAKE-6: What is there already when the position is told counts as well. */
TEST_F(live_wait, it_is_readable_at_once_if_there_is_more_already)
{
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	expect_ready(_metadata, self->w.fd, 1);
	ASSERT_LT(0, watch(&self->w));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	expect_ready(_metadata, self->w.fd, 0);
}

/* WAKE-3: An observer that was overrun has much to read. */
TEST_F(live_wait, it_is_readable_behind_an_overrun)
{
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	ASSERT_LT(0, watch(&self->w));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	expect_ready(_metadata, self->w.fd, 1);
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	expect_ready(_metadata, self->w.fd, 1);
}

/* Bytes of a small event, by how far the observer comes with the second one. */
static size_t record_size(struct __test_metadata *_metadata, FIXTURE_DATA(live_wait) * self)
{
	uint32_t before;

	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	ASSERT_LT(0, watch(&self->w));
	before = self->w.o.pos;
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	ASSERT_LT(0, watch(&self->w));
	ASSERT_LT(before, self->w.o.pos);
	return self->w.o.pos - before;
}

/* WAKE-12: a count of bytes, on one sub-buffer. */
TEST_F(live_wait, a_mark_in_bytes_is_reached_exactly)
{
	size_t record = record_size(_metadata, self);

	ASSERT_EQ(0, watcher_wait(&self->w, 10 * record));
	ASSERT_EQ(0, write_events(&self->ti, 9, EVENT_SMALL));
	expect_ready(_metadata, self->w.fd, 0);
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	expect_ready(_metadata, self->w.fd, 1);
	/* One byte more, with as much there. */
	ASSERT_EQ(0, watcher_wait(&self->w, 10 * record + 1));
	expect_ready(_metadata, self->w.fd, 0);
	ASSERT_EQ(0, watcher_wait(&self->w, 10 * record));
	expect_ready(_metadata, self->w.fd, 1);
}

/* WAKE-12 */
TEST_F(live_wait, a_mark_in_bytes_reaches_over_sub_buffers)
{
	size_t subbuf = self->ti.subbuf_kb * 1024;

	ASSERT_EQ(0, watcher_wait(&self->w, 3 * subbuf));
	ASSERT_LT(0, write_bytes(&self->ti, 2 * subbuf, EVENT_LARGE));
	expect_ready(_metadata, self->w.fd, 0);
	ASSERT_LT(0, write_bytes(&self->ti, 2 * subbuf, EVENT_LARGE));
	expect_ready(_metadata, self->w.fd, 1);
}

/* WAKE-12 */
TEST_F(live_wait, a_mark_past_the_buffer_is_the_whole_buffer)
{
	static const uint64_t marks[] = { 1ULL << 31, 1ULL << 32, 1ULL << 63, ~0ULL };
	size_t subbuf = self->ti.subbuf_kb * 1024, i;

	for (i = 0; i < ARRAY_SIZE(marks); i++) {
		ASSERT_EQ(0, watch_and_wait(&self->w, marks[i]));
		ASSERT_LT(0, write_bytes(&self->ti, (TEST_SUBBUFS - 2) * subbuf,
					 EVENT_LARGE));
		expect_ready(_metadata, self->w.fd, 0);
		self->pid = fork_sleeper(&self->ti, self->w.fd, 0);
		ASSERT_LT(0, self->pid);
		ASSERT_LT(0, overflow_buffer(&self->ti));
		EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2));
		expect_ready(_metadata, self->w.fd, 1);
	}
}

/* WAKE-7: not for padding where no event follows it. */
TEST_F(live_wait, padding_alone_does_not_make_it_readable)
{
	size_t subbuf = self->ti.subbuf_kb * 1024;
	long long dropped;

	ASSERT_EQ(0, instance_write(&self->ti, "options/overwrite", "0"));
	/* The last of these do not fit: padding is all that is left of them. */
	while (!cpu_stat(&self->ti, self->ti.cpu, "dropped events"))
		write_bytes(&self->ti, subbuf / 2, 100);
	ASSERT_EQ(0, watch_and_wait(&self->w, 1));
	expect_ready(_metadata, self->w.fd, 0);
	dropped = cpu_stat(&self->ti, self->ti.cpu, "dropped events");
	write_events(&self->ti, 5, EVENT_LARGE);
	ASSERT_LT(dropped, cpu_stat(&self->ti, self->ti.cpu, "dropped events"));
	expect_ready(_metadata, self->w.fd, 0);
	EXPECT_EQ(0, watch(&self->w));
	self->pid = fork_sleeper(&self->ti, self->w.fd, 0);
	ASSERT_LT(0, self->pid);
	write_events(&self->ti, 50, EVENT_LARGE);
	EXPECT_EQ(-EAGAIN, child_status(self->pid, STILL_WAITING_MS));
}

/* WAKE-12 */
TEST_F(live_wait, a_mark_of_buffer_percent_is_heeded)
{
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "50"));
	ASSERT_EQ(0, watcher_wait(&self->w, 0));
	ASSERT_LT(0, write_bytes(&self->ti, part_of_buffer(&self->mb, 25),
				 EVENT_LARGE));
	expect_ready(_metadata, self->w.fd, 0);
	ASSERT_LT(0, write_bytes(&self->ti, part_of_buffer(&self->mb, 40),
				 EVENT_LARGE));
	expect_ready(_metadata, self->w.fd, 1);
}

/* WAKE-12 */
TEST_F(live_wait, a_mark_of_buffer_percent_0_is_any_event)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_EQ(0, watcher_wait(&self->w, 0));
	expect_ready(_metadata, self->w.fd, 0);
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	expect_ready(_metadata, self->w.fd, 1);
}

/* WAKE-10 */
TEST_F(live_wait, sleepers_are_woken_by_what_they_wait_for)
{
	size_t i;

	for (i = 0; i < NR_POLLERS; i++) {
		ASSERT_EQ(0, watcher_wait(&self->w, 1));
		self->pid = fork_sleeper(&self->ti, self->w.fd, i);
		expect_woken_by_events(_metadata, &self->ti, self->pid, i, 1, EVENT_SMALL);
		ASSERT_LT(0, watch(&self->w));
	}
}

/* WAKE-6, WAKE-10: The other CPU than the writer's tells the position, the writer's polls. */
TEST_F(live_wait, a_position_told_on_another_cpu_is_polled_on_the_writers)
{
	struct trace_instance writers = self->ti;
	size_t i;

	writers.other_cpu = writers.cpu;
	for (i = 0; i < NR_POLLERS; i++) {
		ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
		ASSERT_EQ(0, watcher_wait(&self->w, 1));
		ASSERT_EQ(0, run_on_cpu(self->ti.cpu));
		self->pid = fork_sleeper(&writers, self->w.fd, i);
		expect_woken_by_events(_metadata, &self->ti, self->pid, i, 1, EVENT_SMALL);
		ASSERT_LT(0, watch(&self->w));
	}
}

/* WAKE-12 */
TEST_F(live_wait, sleepers_are_woken_at_the_mark)
{
	size_t i;

	for (i = 0; i < NR_POLLERS; i++) {
		ASSERT_EQ(0, watcher_wait(&self->w, 5 * EVENT_LARGE));
		self->pid = fork_sleeper(&self->ti, self->w.fd, i);
		ASSERT_LT(0, self->pid);
		ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
		expect_woken_by_events(_metadata, &self->ti, self->pid, i, 3, EVENT_LARGE);
		ASSERT_LT(0, watch(&self->w));
	}
}

/*
 * WAKE-6, WAKE-10: The commit that comes exactly to the mark wakes: a sleeper that
 * does not ask again has nothing else that would wake it.
 */
TEST_F(live_wait, a_sleeper_is_woken_by_the_event_that_ends_at_the_mark)
{
	size_t record = record_size(_metadata, self);
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, watch_and_wait(&self->w, 5 * record));
		self->pid = fork_sleeper(&self->ti, self->w.fd, 0);
		ASSERT_LT(0, self->pid);
		ASSERT_EQ(0, write_events(&self->ti, 4, EVENT_SMALL));
		ASSERT_EQ(-EAGAIN, child_status(self->pid, STILL_WAITING_MS));
		ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
		EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2));
	}
}

/* A child that sleeps until poll() says POLLRDNORM, and asks for nothing else. */
static pid_t fork_rdnorm_sleeper(const struct trace_instance *ti, int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLRDNORM };
	pid_t pid = fork();

	if (!pid) {
		run_on_cpu(ti->other_cpu);
		_exit(poll(&pfd, 1, WOKEN_MS) != 1 || pfd.revents != POLLRDNORM);
	}
	return pid < 0 || child_sleeps(pid, WOKEN_MS) ? pid : -EAGAIN;
}

/* WAKE-10 */
TEST_F(live_wait, a_sleeper_that_asks_for_POLLRDNORM_alone_is_woken)
{
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	self->pid = fork_rdnorm_sleeper(&self->ti, self->w.fd);
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(-EAGAIN, child_status(self->pid, STILL_WAITING_MS));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2));
}

/* So many events fill the buffer, and the next one overwrites the first. */
static unsigned int count_until_full(struct __test_metadata *_metadata,
				     struct trace_instance *ti)
{
	unsigned int count;

	while (!cpu_stat(ti, ti->cpu, "overrun"))
		ASSERT_EQ(0, write_events(ti, 1, EVENT_LARGE));
	count = ti->seq - 1;
	ASSERT_EQ(0, instance_write(ti, "trace", ""));
	ti->seq = 0;
	return count;
}

/*
 * WAKE-12: As much as the buffer holds, and not a sub-buffer more. The last
 * one is full when an event does not fit it, which overwrites the first.
 */
TEST_F(live_wait, a_mark_of_the_whole_buffer_is_reached_when_it_is_full)
{
	unsigned int full = count_until_full(_metadata, &self->ti);

	ASSERT_LT(TEST_SUBBUFS, full);
	ASSERT_EQ(LIVE_RESET, watch_once(&self->w));
	ASSERT_EQ(0, watch_and_wait(&self->w, ~0ULL));
	ASSERT_EQ(0, write_events(&self->ti, full, EVENT_LARGE));
	ASSERT_EQ(0, cpu_stat(&self->ti, self->ti.cpu, "overrun"));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_LARGE));
	expect_ready(_metadata, self->w.fd, 1);
}

/* WAKE-9: Marks of several files are apart: each is woken by its own. */
TEST_F(live_wait, each_open_file_has_a_position_of_its_own)
{
	struct watcher second;
	pid_t low, high;

	ASSERT_EQ(0, watcher_open(&second, &self->ti, self->ti.cpu,
				  LIVE_FROM_OLDEST));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	ASSERT_EQ(0, watcher_wait(&second, 20 * EVENT_LARGE));
	low = fork_sleeper(&self->ti, self->w.fd, 0);
	ASSERT_LT(0, low);
	high = fork_sleeper(&self->ti, second.fd, 0);
	ASSERT_LT(0, high);
	ASSERT_EQ(-EAGAIN, child_status(low, STILL_WAITING_MS));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_LARGE));
	EXPECT_EQ(0, child_status(low, WOKEN_MS / 2));
	EXPECT_EQ(-EAGAIN, child_status(high, STILL_WAITING_MS));
	expect_ready(_metadata, self->w.fd, 1);
	expect_ready(_metadata, second.fd, 0);
	ASSERT_EQ(0, write_events(&self->ti, 25, EVENT_LARGE));
	EXPECT_EQ(0, child_status(high, WOKEN_MS / 2));
	watcher_close(&second);
}

/* WAKE-9: no observer waits for that any more. */
TEST_F(live_wait, a_closed_observer_is_forgotten)
{
	struct watcher second;
	int i;

	for (i = 0; i < 50; i++) {
		ASSERT_EQ(0, watcher_open(&second, &self->ti, self->ti.cpu,
					  LIVE_FROM_NOW));
		ASSERT_EQ(0, watcher_wait(&second, 1 + i * EVENT_LARGE));
		EXPECT_EQ(0, poll_readable(second.fd, 0));
		ASSERT_EQ(0, watch_and_wait(&self->w, 1));
		watcher_close(&second);
		EXPECT_EQ(0, poll_readable(self->w.fd, 0));
		ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
		EXPECT_EQ(1, poll_readable(self->w.fd, WOKEN_MS));
	}
	ASSERT_EQ(0, watcher_open(&second, &self->ti, self->ti.cpu, LIVE_FROM_NOW));
	EXPECT_EQ(1, poll_readable(second.fd, 0));
	watcher_close(&second);
}

/* WAKE-5: so is that of an empty buffer. */
TEST_F(live_wait, it_is_readable_before_a_position_is_told)
{
	expect_ready(_metadata, self->w.fd, 1);
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	expect_ready(_metadata, self->w.fd, 0);
}

/* WAKE-9: A descriptor that is shared has one position, another open file its own. */
TEST_F(live_wait, a_shared_descriptor_has_one_position)
{
	int copy = dup(self->w.fd), apart = live_file(&self->ti, self->ti.cpu);

	ASSERT_LE(0, copy);
	ASSERT_LE(0, apart);
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	EXPECT_EQ(0, poll_readable(copy, 0));
	EXPECT_EQ(1, poll_readable(apart, 0));
	close(copy);
	close(apart);
}

/* The nearer mark is reached first, whichever is slept for first. */
static void expect_woken_in_order(struct __test_metadata *_metadata,
				  struct trace_instance *ti, int nearer, int farther,
				  bool nearer_first)
{
	pid_t near = nearer_first ? fork_sleeper(ti, nearer, 0) : 0;
	pid_t far = fork_sleeper(ti, farther, 0);
	long written = 0;

	if (!nearer_first)
		near = fork_sleeper(ti, nearer, 0);
	ASSERT_LT(0, near);
	ASSERT_LT(0, far);
	ASSERT_EQ(-EAGAIN, child_status(near, STILL_WAITING_MS));
	ASSERT_EQ(0, write_events(ti, 6, EVENT_LARGE));
	EXPECT_EQ(0, child_status(near, WOKEN_MS / 2));
	EXPECT_EQ(-EAGAIN, child_status(far, STILL_WAITING_MS));
	while (written >= 0 && poll_readable(farther, 0) == 0)
		written = write_events(ti, 1, EVENT_LARGE);
	EXPECT_EQ(0, child_status(far, WOKEN_MS / 2));
}

/* WAKE-13: However they were told, too. */
TEST_F(live_wait, two_sleepers_are_woken_in_the_order_of_their_marks)
{
	size_t subbuf = self->ti.subbuf_kb * 1024;
	const size_t farther[] = { 12 * EVENT_LARGE, subbuf, 3 * subbuf };
	struct watcher second;
	size_t i;

	ASSERT_EQ(0, watcher_open(&second, &self->ti, self->ti.cpu, LIVE_FROM_NOW));
	for (i = 0; i < ARRAY_SIZE(farther); i++) {
		ASSERT_EQ(0, watch_and_wait(&self->w, 5 * EVENT_LARGE));
		ASSERT_EQ(0, watch_and_wait(&second, farther[i]));
		expect_woken_in_order(_metadata, &self->ti, self->w.fd, second.fd, i & 1);
		ASSERT_EQ(0, watch_and_wait(&self->w, farther[i]));
		ASSERT_EQ(0, watch_and_wait(&second, 5 * EVENT_LARGE));
		expect_woken_in_order(_metadata, &self->ti, second.fd, self->w.fd, i & 1);
	}
	watcher_close(&second);
}

/* WAKE-8: epoll, level: said as long as it is so. */
TEST_F(live_wait, level_triggered_epoll_says_it_again)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(0);

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->w.fd, &event));
	EXPECT_EQ(0, epoll_wait(ep, &event, 1, 0));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	EXPECT_EQ(1, epoll_wait(ep, &event, 1, WOKEN_MS));
	EXPECT_EQ(EPOLLIN, event.events & (EPOLLIN | EPOLLERR | EPOLLHUP));
	EXPECT_EQ(1, epoll_wait(ep, &event, 1, WOKEN_MS));
	ASSERT_LT(0, watch(&self->w));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	EXPECT_EQ(0, epoll_wait(ep, &event, 1, 0));
	close(ep);
}

/* WAKE-8: epoll, edge: said once for each position that is passed. */
TEST_F(live_wait, edge_triggered_epoll_says_it_once_for_a_position)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int ep = epoll_create1(0), i;

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->w.fd, &event));
	EXPECT_EQ(0, epoll_wait(ep, &event, 1, 0));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
		ASSERT_EQ(1, epoll_wait(ep, &event, 1, WOKEN_MS));
		EXPECT_EQ(0, epoll_wait(ep, &event, 1, 20));
		ASSERT_LT(0, watch(&self->w));
		ASSERT_EQ(0, watcher_wait(&self->w, 1));
		EXPECT_EQ(0, epoll_wait(ep, &event, 1, 0));
	}
	close(ep);
}

/* WAKE-8: More came before the position was told: edge-triggered, it is not lost. */
TEST_F(live_wait, edge_triggered_epoll_says_what_came_before_the_position)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int ep = epoll_create1(0);

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->w.fd, &event));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	ASSERT_EQ(1, epoll_wait(ep, &event, 1, WOKEN_MS));
	ASSERT_LT(0, watch(&self->w));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	EXPECT_EQ(1, epoll_wait(ep, &event, 1, WOKEN_MS));
	close(ep);
}

/*
 * An observer that sleeps whenever there is nothing. It ends well when it has
 * accounted for @count events without ever having slept through an event.
 */
static pid_t fork_waiting_observer(struct trace_instance *ti, uint64_t bytes,
				   unsigned int count, int report)
{
	pid_t pid = fork();
	unsigned long wakeups = 0;
	struct watcher w;

	if (pid)
		return pid;
	run_on_cpu(ti->other_cpu);
	if (watcher_open(&w, ti, ti->cpu, LIVE_FROM_OLDEST) ||
	    write(report, "r", 1) != 1)
		_exit(1);
	while (w.o.count < count) {
		if (watch(&w) < 0)
			_exit(2);
		if (w.o.count >= count)
			break;
		if (watcher_wait(&w, bytes))
			_exit(3);
		if (poll_readable(w.fd, WOKEN_MS) != 1)
			_exit(4);
		wakeups++;
	}
	if (!watcher_exact(&w) || w.o.count < count)
		_exit(5);
	if (write(report, &wakeups, sizeof(wakeups)) != sizeof(wakeups))
		_exit(6);
	_exit(0);
}

/* WAKE-10: an event at any moment. */
TEST_F(live_wait, no_wake_up_is_lost)
{
	const unsigned int count = 8000;
	int report[2];
	unsigned int i;
	char c;

	ASSERT_EQ(0, pipe(report));
	self->pid = fork_waiting_observer(&self->ti, 1, count, report[1]);
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(1, read(report[0], &c, 1));
	for (i = 0; i < count; i++) {
		unsigned int spin = i * 7919 % 3000;

		while (spin--)
			__asm__ __volatile__("");
		ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	}
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS));
}

/* WAKE-10: One event at a time, and the next one when the last was seen. */
TEST_F(live_wait, each_event_wakes_an_observer_that_sleeps)
{
	const unsigned int count = 300;
	int status[2], i;
	char c;

	ASSERT_EQ(0, pipe(status));
	self->pid = fork();
	ASSERT_LE(0, self->pid);
	if (!self->pid) {
		struct watcher w;

		run_on_cpu(self->ti.other_cpu);
		if (watcher_open(&w, &self->ti, self->ti.cpu, LIVE_FROM_OLDEST))
			_exit(1);
		while (w.o.count < count) {
			if (watcher_wait(&w, 1) || write(status[1], "s", 1) != 1)
				_exit(2);
			if (poll_readable(w.fd, WOKEN_MS) != 1 || watch(&w) < 1)
				_exit(3);
		}
		_exit(0);
	}
	for (i = 0; i < count; i++) {
		ASSERT_EQ(1, read(status[0], &c, 1));
		if (i % 4 == 0)
			sleep_ms(1);
		ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	}
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS));
}

/* WAKE-14 */
TEST_F(live_wait, many_small_events_are_one_wake_up)
{
	const unsigned int count = 6000, nr = 64;
	unsigned long wakeups = ~0UL;
	int report[2];
	char c;

	ASSERT_EQ(0, pipe(report));
	self->pid = fork_waiting_observer(&self->ti, nr * RECORD(EVENT_SMALL),
					  count, report[1]);
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(1, read(report[0], &c, 1));
	/* So many more that the last of @count cannot wait for their mark. */
	ASSERT_EQ(0, write_events(&self->ti, count + 2 * nr, EVENT_SMALL));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS));
	ASSERT_EQ(sizeof(wakeups), read(report[0], &wakeups, sizeof(wakeups)));
	/* Padding counts, too. */
	EXPECT_GE((count + 2 * nr) / nr * 5 / 4, wakeups);
}

/* A child that waits for what is in @ep, which it does not change any more. */
static pid_t fork_epoll_sleeper(struct trace_instance *ti, int ep)
{
	struct epoll_event event;
	pid_t pid = fork();

	if (!pid) {
		run_on_cpu(ti->other_cpu);
		_exit(epoll_wait(ep, &event, 1, WOKEN_MS) != 1);
	}
	return child_sleeps(pid, WOKEN_MS) ? pid : -EAGAIN;
}

/* WAKE-5: epoll asks where a file waits when it is added, and not again. */
TEST_F(live_wait, epoll_has_the_file_before_it_has_a_position)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(0);

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "50"));
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->w.fd, &event));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	self->pid = fork_epoll_sleeper(&self->ti, ep);
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(-EAGAIN, child_status(self->pid, STILL_WAITING_MS));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2));
	close(ep);
}

/* WAKE-16: what is consumed is still to be seen. */
TEST_F(live_wait, consumers_change_nothing_for_an_observer)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_SMALL));
	expect_readable(_metadata, self->mb.fd, 1);
	ASSERT_EQ(0, ioctl(self->mb.fd, TRACE_MMAP_IOCTL_GET_READER));
	EXPECT_EQ(3, self->mb.meta->read);
	expect_readable(_metadata, self->mb.fd, 0);
	expect_ready(_metadata, self->w.fd, 1);
	ASSERT_LT(0, watch(&self->w));
	EXPECT_EQ(3, self->w.o.seen);
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	expect_ready(_metadata, self->w.fd, 0);
	expect_readable(_metadata, self->mb.fd, 0);
}

/* WAKE-16 */
TEST_F(live_wait, poll_of_trace_pipe_raw_means_a_consumers)
{
	int raw = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
			   O_RDONLY | O_NONBLOCK);

	ASSERT_LE(0, raw);
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	expect_readable(_metadata, raw, 0);
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	expect_readable(_metadata, raw, 1);
	/* The observer has it, the consumer has not. */
	ASSERT_EQ(0, watch_and_wait(&self->w, 1));
	expect_ready(_metadata, self->w.fd, 0);
	expect_readable(_metadata, raw, 1);
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "50"));
	expect_readable(_metadata, raw, 0);
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	expect_ready(_metadata, self->w.fd, 1);
	expect_readable(_metadata, raw, 0);
	close(raw);
}

/* WAKE-16: A consumer that sleeps is woken beside an observer that sleeps. */
TEST_F(live_wait, consumers_and_observers_are_woken_both)
{
	pid_t consumer;

	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	consumer = fork_sleeper(&self->ti, self->mb.fd, 0);
	ASSERT_LT(0, consumer);
	self->pid = fork_sleeper(&self->ti, self->w.fd, 0);
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(-EAGAIN, child_status(consumer, STILL_WAITING_MS));
	ASSERT_EQ(-EAGAIN, child_status(self->pid, 0));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	EXPECT_EQ(0, child_status(consumer, WOKEN_MS / 2));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2));
}

/* WAKE-15: A reset is news, too, whatever an observer waits for. */
TEST_F(live_wait, a_reset_wakes)
{
	static const uint64_t marks[] = { 1, 1000000, ~0ULL };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(marks); i++) {
		ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_SMALL));
		ASSERT_LT(0, watch(&self->w));
		ASSERT_EQ(0, watcher_wait(&self->w, marks[i]));
		self->pid = fork_sleeper(&self->ti, self->w.fd, 0);
		ASSERT_LT(0, self->pid);
		ASSERT_EQ(-EAGAIN, child_status(self->pid, STILL_WAITING_MS));
		ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
		EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2));
		expect_ready(_metadata, self->w.fd, 1);
		EXPECT_EQ(LIVE_RESET, watch_once(&self->w));
		ASSERT_EQ(0, watcher_wait(&self->w, marks[i]));
		expect_ready(_metadata, self->w.fd, 0);
	}
}

/* WAKE-3: A position from before a reset is ready, and no error. */
TEST_F(live_wait, a_position_from_before_a_reset_is_ready)
{
	struct trace_live_position p = live_position(&self->w.o, 1000);

	ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
	EXPECT_EQ(0, live_wait_errno(self->w.fd, &p));
	expect_ready(_metadata, self->w.fd, 1);
}

/* WAKE-17: A waiter that goes away leaves nothing to be woken. */
TEST_F(live_wait, a_waiter_that_is_killed_leaves_nothing_behind)
{
	int report[2], i;
	char c;

	ASSERT_EQ(0, pipe(report));
	for (i = 0; i < 10; i++) {
		self->pid = fork_waiting_observer(&self->ti, 1, ~0U, report[1]);
		ASSERT_LT(0, self->pid);
		ASSERT_EQ(1, read(report[0], &c, 1));
		ASSERT_EQ(0, write_events(&self->ti, 20, EVENT_SMALL));
		sleep_ms(5);
		EXPECT_EQ(0, kill_child(self->pid));
		ASSERT_EQ(0, write_events(&self->ti, 20, EVENT_SMALL));
	}
	self->pid = 0;
	ASSERT_LT(0, watch(&self->w));
	EXPECT_TRUE(watcher_exact(&self->w));
}

/* A child that waits for @bytes to be written while the CPU goes down. */
static uint32_t take_cpu_down(struct __test_metadata *_metadata,
			      struct trace_instance *ti, struct watcher *w,
			      uint64_t bytes)
{
	uint64_t generation = w->o.generation, from = w->o.pos;
	pid_t pid;

	ASSERT_EQ(0, watcher_wait(w, bytes));
	pid = fork_sleeper(ti, w->fd, 0);
	ASSERT_LT(0, pid);
	EXPECT_EQ(-EAGAIN, child_status(pid, STILL_WAITING_MS));
	EXPECT_EQ(0, switch_cpu_online(ti->cpu, false));
	EXPECT_EQ(0, child_status(pid, WOKEN_MS / 2));
	EXPECT_LT(0, watch(w));
	/* Or the positions are no distance. */
	EXPECT_EQ(generation, w->o.generation);
	return w->o.pos - from;
}

/*
 * WAKE-11: The last events of a CPU come when it takes no more interrupts. Who sleeps
 * until there are that many is woken all the same, and nothing is left queued there.
 */
TEST_F(live_wait, an_instance_can_go_after_its_cpu)
{
	struct trace_instance other;
	uint32_t bytes;
	struct watcher w;

	ASSERT_EQ(0, instance_open(&other, false, LARGE_SUBBUF_KB));
	ASSERT_EQ(0, watcher_open(&w, &other, other.cpu, LIVE_FROM_OLDEST));
	ASSERT_EQ(0, run_on_cpu(other.other_cpu));
	ASSERT_EQ(0, instance_write(&other, "events/cpuhp/enable", "1"));
	bytes = take_cpu_down(_metadata, &other, &w, 1);
	ASSERT_LT(100, bytes);
	EXPECT_EQ(0, switch_cpu_online(other.cpu, true));
	ASSERT_LT(0, watch(&w));
	take_cpu_down(_metadata, &other, &w, bytes - 30);
	watcher_close(&w);
	EXPECT_EQ(0, instance_close(&other));
	EXPECT_EQ(0, switch_cpu_online(self->ti.cpu, true));
}

/*
 * WAKE-11: The CPU that a waiter slept on, and is to be woken on, goes: here the
 * writer's is the other one, which cannot.
 */
TEST_F(live_wait, an_observer_wakes_although_its_cpu_went_offline)
{
	struct trace_instance *ti = &self->ti;
	int writers_cpu = ti->other_cpu, waiters_cpu = ti->cpu;
	struct watcher w;

	ASSERT_EQ(0, watcher_open(&w, ti, writers_cpu, LIVE_FROM_NOW));
	ASSERT_EQ(0, watcher_wait(&w, 1));
	ti->other_cpu = waiters_cpu;
	self->pid = fork_sleeper(ti, w.fd, 0);
	ti->other_cpu = writers_cpu;
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(0, run_on_cpu(writers_cpu));
	ASSERT_EQ(-EAGAIN, child_status(self->pid, STILL_WAITING_MS));
	ASSERT_EQ(0, switch_cpu_online(waiters_cpu, false));
	EXPECT_EQ(-EAGAIN, child_status(self->pid, STILL_WAITING_MS));
	ASSERT_EQ(0, write_events(ti, 1, EVENT_SMALL));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2));
	ASSERT_EQ(0, switch_cpu_online(waiters_cpu, true));
	/* And is as good as any afterwards. */
	w.tally.unknown_loss = true;
	ASSERT_LT(0, watch(&w));
	ASSERT_EQ(0, watcher_wait(&w, 1));
	self->pid = fork_sleeper(ti, w.fd, 0);
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(-EAGAIN, child_status(self->pid, STILL_WAITING_MS));
	ASSERT_EQ(0, write_events(ti, 1, EVENT_SMALL));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2));
	watcher_close(&w);
}

/* Several buffers, because each wakes its observers a hundred times a second at most */
#define EDGE_BUFFERS	8
#define EDGE_EVENT	1000
#define EDGES		3000

/* A buffer whose events are asked for one by one. */
struct edge {
	struct trace_instance	ti;
	struct watcher		w;
	uint64_t		asked;
	bool			waits;
};

/* Writes an event to each buffer for which there is something in @wanted. */
static pid_t fork_asked_writer(struct edge *edges, bool *wanted)
{
	pid_t pid = fork();
	unsigned int i;

	if (pid)
		return pid;
	run_on_cpu(edges[0].ti.cpu);
	for (i = 0;; i = (i + 1) % EDGE_BUFFERS) {
		if (__atomic_exchange_n(&wanted[i], false, __ATOMIC_ACQUIRE))
			write_events(&edges[i].ti, 1, EDGE_EVENT);
	}
}

/* The next event will not fit the sub-buffer in which the observer is. */
static bool at_edge(const struct watcher *w)
{
	return w->map.index->subbuf_size - w->map.index->data_offset - w->o.pos < EDGE_EVENT;
}

/* Goes on with a buffer; returns whether its file has become readable, at an edge. */
static bool pass_edge(struct __test_metadata *_metadata, struct edge *e, bool *wanted)
{
	bool passed = e->waits && poll_readable(e->w.fd, 0);

	if (e->waits && !passed)
		return false;
	/* What it became readable for is there. */
	ASSERT_LE(passed, watch(&e->w));
	e->waits = false;
	if (e->w.o.count < e->asked)
		return passed;
	if (at_edge(&e->w)) {
		ASSERT_EQ(0, watcher_wait(&e->w, 1));
		ASSERT_EQ(0, poll_readable(e->w.fd, 0));
		e->waits = true;
	}
	e->asked++;
	__atomic_store_n(wanted, true, __ATOMIC_RELEASE);
	return passed;
}

/*
 * WAKE-6, WAKE-7: From the end of a sub-buffer the observer waits for the event that begins
 * the next one, not for the writer to leave the first. The writer has another CPU.
 */
TEST(no_file_is_readable_between_a_sub_buffer_and_the_event_that_begins_the_next)
{
	static struct edge edges[EDGE_BUFFERS];
	bool *wanted = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int i, passed = 0;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, wanted);
	for (i = 0; i < EDGE_BUFFERS; i++) {
		ASSERT_EQ(0, instance_open(&edges[i].ti, false, 0));
		ASSERT_EQ(0, watcher_open(&edges[i].w, &edges[i].ti, edges[i].ti.cpu,
					  LIVE_FROM_OLDEST));
	}
	ASSERT_EQ(0, run_on_cpu(edges[0].ti.other_cpu));
	pid = fork_asked_writer(edges, wanted);
	ASSERT_LT(0, pid);
	for (i = 0; passed < EDGES; i = (i + 1) % EDGE_BUFFERS)
		passed += pass_edge(_metadata, &edges[i], &wanted[i]);
	EXPECT_EQ(0, kill_child(pid));
	for (i = 0; i < EDGE_BUFFERS; i++) {
		EXPECT_TRUE(watcher_exact(&edges[i].w));
		EXPECT_EQ(0, edges[i].w.o.missed);
		watcher_close(&edges[i].w);
		EXPECT_EQ(0, instance_close(&edges[i].ti));
	}
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting at the live index: TRACE_MMAP_IOCTL_LIVE_WAIT, and what poll(),
 * select() and epoll say of a file that it told a position.
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

static int live_wait_errno(int fd, const void *position)
{
	return ioctl(fd, TRACE_MMAP_IOCTL_LIVE_WAIT, position) ? errno : 0;
}

TEST_F(live_wait, flags_are_refused_with_EINVAL)
{
	struct trace_live_position p = live_position(&self->w.o, 1);
	unsigned int bit;

	EXPECT_EQ(0, live_wait_errno(self->w.fd, &p));
	for (bit = 0; bit < 32; bit++) {
		p.flags = 1u << bit;
		EXPECT_EQ(EINVAL, live_wait_errno(self->w.fd, &p));
	}
}

/* A refused position leaves the one there was. */
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
	expect_readable(_metadata, self->w.fd, 0);
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	expect_readable(_metadata, self->w.fd, 1);
}

TEST_F(live_wait, memory_that_is_not_there_is_refused_with_EFAULT)
{
	EXPECT_EQ(EFAULT, live_wait_errno(self->w.fd, (void *)8));
	EXPECT_EQ(EFAULT, live_wait_errno(self->w.fd, (void *)-4096L));
}

/* An observer may have taken the padding for records before it was final. */
TEST_F(live_wait, a_position_in_the_padding_is_the_end_of_the_sub_buffer)
{
	struct trace_live_position p = live_position(&self->w.o, 1);

	ASSERT_LT(0, write_bytes(&self->ti, 2 * self->ti.subbuf_kb * 1024,
				 EVENT_LARGE));
	p.read = self->ti.subbuf_kb * 1024 - SUBBUF_HEADER;
	EXPECT_EQ(0, live_wait_errno(self->w.fd, &p));
	expect_readable(_metadata, self->w.fd, 1);
}

/* "say whether there is more beyond": exactly. */
TEST_F(live_wait, it_is_readable_exactly_if_there_is_more)
{
	unsigned int i;

	for (i = 0; i < 60; i++) {
		ASSERT_EQ(0, watcher_wait(&self->w, 1));
		expect_readable(_metadata, self->w.fd, 0);
		ASSERT_EQ(0, write_events(&self->ti, 1 + i % 7, EVENT_LARGE));
		expect_readable(_metadata, self->w.fd, 1);
		ASSERT_LT(0, watch(&self->w));
		EXPECT_EQ(self->ti.seq, self->w.o.seen);
	}
	EXPECT_TRUE(watcher_exact(&self->w));
}

/* What is there already when the position is told counts as well. */
TEST_F(live_wait, it_is_readable_at_once_if_there_is_more_already)
{
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	expect_readable(_metadata, self->w.fd, 1);
	ASSERT_LT(0, watch(&self->w));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	expect_readable(_metadata, self->w.fd, 0);
}

/* Whoever was overrun has much to read. */
TEST_F(live_wait, it_is_readable_behind_an_overrun)
{
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	ASSERT_LT(0, watch(&self->w));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	expect_readable(_metadata, self->w.fd, 1);
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	expect_readable(_metadata, self->w.fd, 1);
}

/* "the mark": a count of bytes, on one sub-buffer. */
TEST_F(live_wait, a_mark_in_bytes_is_reached_exactly)
{
	uint32_t before;
	size_t record;

	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	ASSERT_LT(0, watch(&self->w));
	before = self->w.o.pos;
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	ASSERT_LT(0, watch(&self->w));
	record = self->w.o.pos - before;
	ASSERT_LT(0, record);
	ASSERT_EQ(0, watcher_wait(&self->w, 10 * record));
	ASSERT_EQ(0, write_events(&self->ti, 9, EVENT_SMALL));
	expect_readable(_metadata, self->w.fd, 0);
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	expect_readable(_metadata, self->w.fd, 1);
	/* One byte more, with as much there. */
	ASSERT_EQ(0, watcher_wait(&self->w, 10 * record + 1));
	expect_readable(_metadata, self->w.fd, 0);
	ASSERT_EQ(0, watcher_wait(&self->w, 10 * record));
	expect_readable(_metadata, self->w.fd, 1);
}

TEST_F(live_wait, a_mark_in_bytes_reaches_over_sub_buffers)
{
	size_t subbuf = self->ti.subbuf_kb * 1024;

	ASSERT_EQ(0, watcher_wait(&self->w, 3 * subbuf));
	ASSERT_LT(0, write_bytes(&self->ti, 2 * subbuf, EVENT_LARGE));
	expect_readable(_metadata, self->w.fd, 0);
	ASSERT_LT(0, write_bytes(&self->ti, 2 * subbuf, EVENT_LARGE));
	expect_readable(_metadata, self->w.fd, 1);
}

/* "buffer_percent [...] sets the mark" */
TEST_F(live_wait, a_mark_of_buffer_percent_is_heeded)
{
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "50"));
	ASSERT_EQ(0, watcher_wait(&self->w, 0));
	ASSERT_LT(0, write_bytes(&self->ti, part_of_buffer(&self->mb, 25),
				 EVENT_LARGE));
	expect_readable(_metadata, self->w.fd, 0);
	ASSERT_LT(0, write_bytes(&self->ti, part_of_buffer(&self->mb, 40),
				 EVENT_LARGE));
	expect_readable(_metadata, self->w.fd, 1);
}

TEST_F(live_wait, a_mark_of_buffer_percent_0_is_any_event)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_EQ(0, watcher_wait(&self->w, 0));
	expect_readable(_metadata, self->w.fd, 0);
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	expect_readable(_metadata, self->w.fd, 1);
}

/* A child that waits for @fd to be readable, and says so by its status. */
static pid_t fork_sleeper(struct trace_instance *ti, int fd, size_t poller)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	run_on_cpu(ti->other_cpu);
	_exit(pollers[poller].readable(fd, WOKEN_MS) != 1);
}

TEST_F(live_wait, sleepers_are_woken_by_what_they_wait_for)
{
	size_t i;

	for (i = 0; i < NR_POLLERS; i++) {
		ASSERT_EQ(0, watcher_wait(&self->w, 1));
		self->pid = fork_sleeper(&self->ti, self->w.fd, i);
		ASSERT_LT(0, self->pid);
		ASSERT_EQ(-EAGAIN, child_status(self->pid, STILL_WAITING_MS))
			TH_LOG("%s", pollers[i].name);
		ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
		EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2))
			TH_LOG("%s", pollers[i].name);
		ASSERT_LT(0, watch(&self->w));
	}
}

TEST_F(live_wait, sleepers_are_woken_at_the_mark)
{
	size_t i;

	for (i = 0; i < NR_POLLERS; i++) {
		ASSERT_EQ(0, watcher_wait(&self->w, 5 * EVENT_LARGE));
		self->pid = fork_sleeper(&self->ti, self->w.fd, i);
		ASSERT_LT(0, self->pid);
		ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
		ASSERT_EQ(-EAGAIN, child_status(self->pid, STILL_WAITING_MS))
			TH_LOG("%s", pollers[i].name);
		ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
		EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2))
			TH_LOG("%s", pollers[i].name);
		ASSERT_LT(0, watch(&self->w));
	}
}

/* Marks of several files are apart: each is woken by its own. */
TEST_F(live_wait, each_open_file_has_a_position_of_its_own)
{
	struct watcher second;
	pid_t low, high;

	ASSERT_EQ(0, watcher_open(&second, &self->ti, self->ti.cpu,
				  LIVE_FROM_OLDEST));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	ASSERT_EQ(0, watcher_wait(&second, 20 * EVENT_LARGE));
	low = fork_sleeper(&self->ti, self->w.fd, 0);
	high = fork_sleeper(&self->ti, second.fd, 0);
	ASSERT_EQ(-EAGAIN, child_status(low, STILL_WAITING_MS));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_LARGE));
	EXPECT_EQ(0, child_status(low, WOKEN_MS / 2));
	EXPECT_EQ(-EAGAIN, child_status(high, STILL_WAITING_MS));
	expect_readable(_metadata, self->w.fd, 1);
	expect_readable(_metadata, second.fd, 0);
	ASSERT_EQ(0, write_events(&self->ti, 25, EVENT_LARGE));
	EXPECT_EQ(0, child_status(high, WOKEN_MS / 2));
	watcher_close(&second);
}

/* epoll, level: said as long as it is so. */
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

/* epoll, edge: said once for each position that is passed. */
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

/* More came before the position was told: edge-triggered, it is not lost. */
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

/* "no wake-up is lost between looking and sleeping": an event at any moment. */
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

/* One event at a time, and the next one when the last was seen. */
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

/* "Repeated small events do not mean a wake-up each" */
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

/* "NULL takes it back": the file is what it was for everybody else's poll. */
TEST_F(live_wait, NULL_takes_the_position_back)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_SMALL));
	ASSERT_LT(0, watch(&self->w));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	expect_readable(_metadata, self->w.fd, 0);
	/* Three events wait for a consumer. */
	EXPECT_EQ(0, live_wait_errno(self->w.fd, NULL));
	expect_readable(_metadata, self->w.fd, 1);
	ASSERT_EQ(0, ioctl(self->mb.fd, TRACE_MMAP_IOCTL_GET_READER));
	expect_readable(_metadata, self->w.fd, 0);
	EXPECT_EQ(0, live_wait_errno(self->w.fd, NULL));
}

/* A child that waits for what is in @ep, which it does not change any more. */
static pid_t fork_epoll_sleeper(struct trace_instance *ti, int ep)
{
	struct epoll_event event;
	pid_t pid = fork();

	if (pid)
		return pid;
	run_on_cpu(ti->other_cpu);
	_exit(epoll_wait(ep, &event, 1, WOKEN_MS) != 1);
}

/* epoll asks where a file waits when it is added, and not again. */
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

TEST_F(live_wait, epoll_keeps_the_file_when_the_position_is_taken_back)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(0);

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->w.fd, &event));
	self->pid = fork_epoll_sleeper(&self->ti, ep);
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(-EAGAIN, child_status(self->pid, STILL_WAITING_MS));
	EXPECT_EQ(0, live_wait_errno(self->w.fd, NULL));
	ASSERT_EQ(-EAGAIN, child_status(self->pid, STILL_WAITING_MS));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2));
	close(ep);
}

/* "GET_READER works beside it": what is consumed is still to be seen. */
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
	expect_readable(_metadata, self->w.fd, 1);
	ASSERT_LT(0, watch(&self->w));
	EXPECT_EQ(3, self->w.o.seen);
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	expect_readable(_metadata, self->w.fd, 0);
	expect_readable(_metadata, self->mb.fd, 0);
}

/* A consumer that sleeps is woken beside an observer that sleeps. */
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

/* A reset is news, too. */
TEST_F(live_wait, a_reset_wakes)
{
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_SMALL));
	ASSERT_LT(0, watch(&self->w));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	self->pid = fork_sleeper(&self->ti, self->w.fd, 0);
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(-EAGAIN, child_status(self->pid, STILL_WAITING_MS));
	ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2));
	expect_readable(_metadata, self->w.fd, 1);
	EXPECT_EQ(LIVE_RESET, watch_once(&self->w));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	expect_readable(_metadata, self->w.fd, 0);
}

/* A position of an epoch that is over is ready, and no error. */
TEST_F(live_wait, a_position_of_another_epoch_is_ready)
{
	struct trace_live_position p = live_position(&self->w.o, 1000);

	ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
	EXPECT_EQ(0, live_wait_errno(self->w.fd, &p));
	expect_readable(_metadata, self->w.fd, 1);
}

static int poll_events(int fd, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, ms) < 0 ? -errno : pfd.revents;
}

static void drop_index(struct live_mapping *map)
{
	munmap((void *)map->index, map->index_size);
}

static int take_index(struct live_mapping *map, int fd)
{
	void *index = mmap(NULL, map->index_size, PROT_READ, MAP_SHARED, fd,
			   TRACE_MMAP_LIVE_OFFSET);

	map->index = index;
	return index == MAP_FAILED ? -errno : 0;
}

/* "poll() after the last index mapping is gone: EPOLLERR" */
TEST_F(live_wait, the_last_munmap_is_an_error_to_those_who_wait)
{
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	EXPECT_EQ(0, poll_events(self->w.fd, 0));
	drop_index(&self->w.map);
	EXPECT_TRUE(poll_events(self->w.fd, 0) & POLLERR);
	ASSERT_EQ(0, take_index(&self->w.map, self->w.fd));
}

TEST_F(live_wait, NULL_takes_the_position_back_without_an_index_too)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	drop_index(&self->w.map);
	EXPECT_TRUE(poll_events(self->w.fd, 0) & POLLERR);
	EXPECT_EQ(ENODEV, live_wait_errno(self->w.fd, NULL));
	EXPECT_EQ(0, poll_events(self->w.fd, 0));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	EXPECT_EQ(POLLIN, poll_events(self->w.fd, 0) & (POLLIN | POLLERR));
	ASSERT_EQ(0, take_index(&self->w.map, self->w.fd));
}

/* Whoever maps it next gets an epoch that no old position is in. */
TEST_F(live_wait, a_position_in_an_index_that_is_gone_is_ready)
{
	ASSERT_EQ(0, write_events(&self->ti, 100, EVENT_SMALL));
	ASSERT_LT(0, watch(&self->w));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	expect_readable(_metadata, self->w.fd, 0);
	drop_index(&self->w.map);
	ASSERT_EQ(0, take_index(&self->w.map, self->w.fd));
	expect_readable(_metadata, self->w.fd, 1);
}

TEST_F(live_wait, the_last_munmap_wakes)
{
	struct live_mapping *m = &self->w.map;

	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	self->pid = fork();
	ASSERT_LE(0, self->pid);
	if (!self->pid) {
		run_on_cpu(self->ti.other_cpu);
		_exit(!(poll_events(self->w.fd, WOKEN_MS) & POLLERR));
	}
	ASSERT_EQ(-EAGAIN, child_status(self->pid, STILL_WAITING_MS));
	munmap((void *)m->index, m->index_size);
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2));
	m->index = mmap(NULL, m->index_size, PROT_READ, MAP_SHARED, self->w.fd,
			TRACE_MMAP_LIVE_OFFSET);
	ASSERT_NE(MAP_FAILED, (void *)m->index);
}

/* Not the last one: nothing happens. */
TEST_F(live_wait, another_munmap_is_nothing_to_those_who_wait)
{
	struct watcher second;

	ASSERT_EQ(0, watcher_open(&second, &self->ti, self->ti.cpu,
				  LIVE_FROM_NOW));
	ASSERT_EQ(0, watcher_wait(&self->w, 1));
	watcher_close(&second);
	EXPECT_EQ(0, poll_events(self->w.fd, 0));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	EXPECT_EQ(POLLIN, poll_events(self->w.fd, WOKEN_MS) & (POLLIN | POLLERR));
}

/* A waiter that goes away leaves nothing to be woken. */
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
	uint32_t generation = w->o.generation, from = w->o.pos;
	pid_t pid;

	ASSERT_EQ(0, watcher_wait(w, bytes));
	pid = fork_sleeper(ti, w->fd, 0);
	ASSERT_LT(0, pid);
	sleep_ms(STILL_WAITING_MS);
	EXPECT_EQ(0, switch_cpu_online(ti->cpu, false));
	EXPECT_EQ(0, child_status(pid, WOKEN_MS / 2));
	EXPECT_LT(0, watch(w));
	/* Or the positions are no distance. */
	EXPECT_EQ(generation, w->o.generation);
	return w->o.pos - from;
}

/*
 * The last events of a CPU come when it takes no more interrupts. Who sleeps until
 * there are that many is woken all the same, and nothing is left queued there.
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

TEST_HARNESS_MAIN

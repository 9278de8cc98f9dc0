// SPDX-License-Identifier: GPL-2.0
/*
 * TRACE_MMAP_IOCTL_GET_READER: what it hands out, when it waits, what it says
 * of losses.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "buffer_fixture.h"
#include "watcher.h"

FIXTURE(reader) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;
	struct tally		tally;
};

FIXTURE_VARIANT(reader) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(reader, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(reader, instance_large) INSTANCE_LARGE;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(reader, top_level_large) TOP_LEVEL_LARGE;
FIXTURE_VARIANT_ADD(reader, instance) INSTANCE;
#endif

FIXTURE_SETUP(reader)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
}

FIXTURE_TEARDOWN(reader)
{
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* READ-1 */
TEST_F(reader, unread_bytes_are_consumed_and_the_id_stays)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	uint32_t id, read;

	ASSERT_EQ(0, write_events(&self->ti, 2, EVENT_LARGE));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	id = meta->reader.id;
	read = meta->reader.read;
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	EXPECT_EQ(id, meta->reader.id);
	EXPECT_LT(read, meta->reader.read);
	EXPECT_EQ(5, self->tally.seen);
	EXPECT_EQ(5, meta->read);
	EXPECT_TRUE(tally_exact(&self->tally));
}

/* READ-2 */
TEST_F(reader, next_sub_buffer_becomes_the_reader_when_nothing_is_unread)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	uint32_t id;

	ASSERT_LT(0, write_bytes(&self->ti, 2 * meta->subbuf_size, EVENT_LARGE));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	id = meta->reader.id;
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	EXPECT_NE(id, meta->reader.id);
	EXPECT_EQ(self->tally.seen, meta->read);
	EXPECT_TRUE(tally_exact(&self->tally));
}

/* READ-4 */
TEST_F(reader, nothing_new_returns_0_and_leaves_the_reader)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	uint32_t id, read;

	ASSERT_EQ(0, ioctl(self->mb.fd, TRACE_MMAP_IOCTL_GET_READER));
	EXPECT_EQ(0, meta->reader.id);
	EXPECT_EQ(0, meta->reader.read);
	ASSERT_EQ(0, write_events(&self->ti, 2, EVENT_LARGE));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	id = meta->reader.id;
	read = meta->reader.read;
	ASSERT_EQ(0, ioctl(self->mb.fd, TRACE_MMAP_IOCTL_GET_READER));
	EXPECT_EQ(id, meta->reader.id);
	EXPECT_EQ(read, meta->reader.read);
	EXPECT_EQ(2, meta->read);
}

/* READ-3 */
TEST_F(reader, it_resumes_inside_a_sub_buffer_being_written)
{
	unsigned int i;

	for (i = 0; i < 40; i++) {
		ASSERT_EQ(0, write_events(&self->ti, 1 + i % 3, EVENT_LARGE));
		ASSERT_LE(0, tally_drain(&self->tally, &self->mb));
		ASSERT_EQ(self->ti.seq, self->tally.seen);
	}
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(0, self->tally.lost);
}

/* READ-3: Events of all sizes, so that sub-buffers end in all ways. */
TEST_F(reader, events_of_any_size_are_handed_out)
{
	size_t size;

	for (size = sizeof(struct event_payload); size <= 1020; size += 4) {
		ASSERT_EQ(0, write_events(&self->ti, 3, size));
		ASSERT_LE(0, tally_drain(&self->tally, &self->mb));
		ASSERT_EQ(self->ti.seq, self->tally.seen);
	}
	EXPECT_TRUE(tally_exact(&self->tally));
}

/* READ-3: The owned bytes stay, whatever the writer does. */
TEST_F(reader, bytes_handed_out_stay_while_the_writer_wraps)
{
	unsigned char *subbuf;
	uint32_t len;
	void *copy;

	ASSERT_LT(0, write_bytes(&self->ti, self->mb.meta->subbuf_size,
				 EVENT_LARGE));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	len = self->mb.meta->reader.read;
	subbuf = buffer_subbuf(&self->mb, self->mb.meta->reader.id);
	copy = malloc(len);
	ASSERT_NE(NULL, copy);
	memcpy(copy, subbuf + SUBBUF_HEADER, len);
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	EXPECT_EQ(0, memcmp(copy, subbuf + SUBBUF_HEADER, len));
	free(copy);
}

/* READ-6 */
TEST_F(reader, it_refreshes_the_whole_meta_page)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	uint64_t lost = meta->pages_lost, touched = meta->pages_touched;
	long written = overflow_buffer(&self->ti);

	ASSERT_LT(0, written);
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	EXPECT_EQ((uint64_t)written, meta->entries);
	EXPECT_LT(0, meta->overrun);
	EXPECT_LT(0, meta->read);
	EXPECT_LT(0, meta->reader.read);
	EXPECT_EQ(meta->overrun, meta->reader.lost_events);
	EXPECT_LT(lost, meta->pages_lost);
	EXPECT_LT(touched, meta->pages_touched);
}

/* META-17, READ-4: When there is nothing to hand out, nothing is changed. */
TEST_F(reader, it_leaves_the_meta_page_as_it_is_when_nothing_is_new)
{
	struct trace_buffer_meta before;

	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	before = *self->mb.meta;
	EXPECT_EQ(5, before.entries);
	EXPECT_EQ(5, before.read);
	ASSERT_EQ(0, ioctl(self->mb.fd, TRACE_MMAP_IOCTL_GET_READER));
	EXPECT_EQ(0, memcmp(&before, self->mb.meta, sizeof(before)));
}

/* LOSS-2: a writer stopped anywhere. */
TEST_F(reader, seen_and_lost_are_all_that_was_written)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	unsigned int round, calls;

	for (round = 0; round < 30; round++) {
		ASSERT_EQ(0, write_events(&self->ti, 7 * round * self->ti.subbuf_kb,
					  EVENT_SMALL + 28 * (round % 11)));
		for (calls = 0; calls < round % 4; calls++)
			ASSERT_LE(0, tally_get_reader(&self->tally, &self->mb));
		ASSERT_LE(0, tally_get_reader(&self->tally, &self->mb));
		ASSERT_EQ(self->tally.seen, meta->read);
		ASSERT_EQ(self->ti.seq, meta->entries);
	}
	ASSERT_LE(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(self->ti.seq, self->tally.seen + self->tally.lost);
	EXPECT_EQ(self->tally.lost, meta->overrun);
	EXPECT_LT(0, meta->overrun);
	EXPECT_TRUE(tally_exact(&self->tally));
}

/* LOSS-2, META-11: The same with a writer that goes on meanwhile. */
TEST_F(reader, seen_and_lost_are_all_that_a_running_writer_wrote)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	const unsigned int count = 20000;
	int status;
	pid_t pid;

	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	pid = fork_writer(&self->ti, count, 100);
	ASSERT_LT(0, pid);
	while ((status = child_status(pid, 0)) == -EAGAIN) {
		ASSERT_LE(0, tally_get_reader(&self->tally, &self->mb));
		ASSERT_GE(meta->entries, meta->overrun + meta->read);
	}
	EXPECT_EQ(0, status);
	ASSERT_LE(0, tally_drain(&self->tally, &self->mb));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(count, self->tally.seen + self->tally.lost);
	EXPECT_EQ(count, self->mb.meta->entries);
	EXPECT_EQ(self->tally.seen, self->mb.meta->read);
	EXPECT_EQ(self->tally.lost, self->mb.meta->overrun);
}

/* LOSS-2: A reader so slow that the writer laps it again and again. */
TEST_F(reader, seen_and_lost_are_all_that_was_written_past_a_slow_reader)
{
	const unsigned int buffer = TEST_SUBBUFS * self->ti.subbuf_kb * 1024;
	const unsigned int twice = 2 * buffer / EVENT_LARGE;
	const unsigned int count = twice > 20000 ? twice : 20000;
	int status;
	pid_t pid;

	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	pid = fork_writer(&self->ti, count, EVENT_LARGE);
	ASSERT_LT(0, pid);
	/* However slow the writer is: the reader begins behind a loss. */
	do
		status = child_status(pid, 20);
	while (status == -EAGAIN &&
	       !cpu_stat(&self->ti, self->ti.cpu, "overrun"));
	for (; status == -EAGAIN; status = child_status(pid, 20))
		ASSERT_LE(0, tally_get_reader(&self->tally, &self->mb));
	EXPECT_EQ(0, status);
	ASSERT_LE(0, tally_drain(&self->tally, &self->mb));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(count, self->tally.seen + self->tally.lost);
	EXPECT_EQ(self->tally.lost, self->mb.meta->overrun);
	EXPECT_LT(0, self->tally.lost);
}

static pid_t fork_competitor(struct trace_instance *ti, int stop)
{
	struct mapped_buffer own;
	struct pollfd stopped = { .fd = stop, .events = POLLIN };
	pid_t pid = fork();

	if (pid)
		return pid;
	if (buffer_map(&own, ti, ti->cpu, O_NONBLOCK))
		_exit(1);
	while (!poll(&stopped, 1, 0)) {
		if (ioctl(own.fd, TRACE_MMAP_IOCTL_GET_READER))
			_exit(2);
	}
	_exit(0);
}

/* READ-5 */
TEST_F(reader, counters_stay_exact_when_several_compete)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	const unsigned int count = 10000;
	pid_t writer, reader[2];
	int stop[2], status;

	ASSERT_EQ(0, pipe(stop));
	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	reader[0] = fork_competitor(&self->ti, stop[0]);
	reader[1] = fork_competitor(&self->ti, stop[0]);
	writer = fork_writer(&self->ti, count, 100);
	ASSERT_LT(0, writer);
	while ((status = child_status(writer, 0)) == -EAGAIN)
		ASSERT_EQ(0, ioctl(self->mb.fd, TRACE_MMAP_IOCTL_GET_READER));
	EXPECT_EQ(0, status);
	ASSERT_EQ(1, write(stop[1], "s", 1));
	EXPECT_EQ(0, child_status(reader[0], WOKEN_MS));
	EXPECT_EQ(0, child_status(reader[1], WOKEN_MS));
	ASSERT_LE(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(count, meta->entries);
	EXPECT_EQ(count, meta->overrun + meta->read);
}

/* LOSS-1 */
TEST_F(reader, lost_events_tells_the_exact_number_where_it_happened)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	uint64_t overrun;
	int i;

	for (i = 0; i < 5; i++) {
		overrun = meta->overrun;
		ASSERT_LE(0, tally_drain(&self->tally, &self->mb));
		/* A reader in the middle of a sub-buffer: the gap is behind it. */
		ASSERT_EQ(0, write_events(&self->ti, 2 + i, EVENT_LARGE));
		ASSERT_LE(0, tally_get_reader(&self->tally, &self->mb));
		ASSERT_LT(0, overflow_buffer(&self->ti));
		ASSERT_LE(0, tally_drain(&self->tally, &self->mb));
		EXPECT_LT(overrun, meta->overrun);
		EXPECT_EQ(self->tally.lost, meta->overrun);
	}
	EXPECT_TRUE(tally_exact(&self->tally));
}

/* LOSS-1 */
TEST_F(reader, lost_events_stays_until_the_id_changes)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	uint64_t lost;

	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	lost = meta->reader.lost_events;
	EXPECT_EQ(meta->overrun, lost);
	/* refreshed by others, it still belongs to this sub-buffer */
	ASSERT_LT(0, count_trace_lines(&self->ti, "trace"));
	EXPECT_EQ(lost, meta->reader.lost_events);
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	EXPECT_EQ(0, meta->reader.lost_events);
}

/* LOSS-1 */
TEST_F(reader, lost_events_is_0_when_nothing_was_lost)
{
	unsigned int i;

	for (i = 0; i < 30; i++) {
		ASSERT_LT(0, write_bytes(&self->ti, self->mb.meta->subbuf_size,
					 EVENT_LARGE));
		ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
		ASSERT_EQ(0, self->mb.meta->reader.lost_events);
	}
	EXPECT_TRUE(tally_exact(&self->tally));
}

/* LOSS-7 */
TEST_F(reader, commit_word_is_the_writers_while_it_is_on_the_sub_buffer)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	uint32_t commit;
	int i;

	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
		ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
		commit = subbuf_commit(buffer_subbuf(&self->mb, meta->reader.id));
		EXPECT_EQ(commit, meta->reader.read);
	}
}

/* LOSS-2: with a consumer that read(2)s in between */
TEST_F(reader, seen_and_lost_are_exact_beside_read)
{
	unsigned char *page = malloc(self->mb.meta->subbuf_size);
	unsigned int round;
	ssize_t len;

	ASSERT_NE(NULL, page);
	for (round = 1; round < 12; round++) {
		ASSERT_EQ(0, write_events(&self->ti, round * self->ti.subbuf_kb,
					  EVENT_LARGE));
		len = read(self->mb.fd, page, self->mb.meta->subbuf_size);
		ASSERT_LT(0, len);
		tally_page(&self->tally, page, len);
		ASSERT_LE(0, tally_get_reader(&self->tally, &self->mb));
	}
	ASSERT_LE(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(self->ti.seq, self->tally.next);
	EXPECT_EQ(self->tally.seen, self->mb.meta->read);
	EXPECT_EQ(self->ti.seq, self->tally.seen + self->mb.meta->overrun);
	EXPECT_EQ(0, self->tally.malformed);
	free(page);
}

#ifdef __x86_64__
/* Writes an event whose bytes are not there to be copied. */
static int write_nothing(struct trace_instance *ti, void *absent, size_t size)
{
	return write(ti->marker, absent, size) < 0 && errno == EFAULT ? 0 : -EIO;
}

/*
 * LOSS-2: The kernel reserves room for an event and copies its bytes then: the page fault is
 * an event inside it. Where that one is the first of its sub-buffer, it is committed with
 * the outer one as well.
 */
TEST_F(reader, an_event_inside_another_one_is_handed_out_with_it)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	size_t page = getpagesize();
	void *absent = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i, rounds = 20 * meta->subbuf_size / EVENT_LARGE;

	ASSERT_NE(MAP_FAILED, absent);
	ASSERT_EQ(0, instance_write(&self->ti, "events/exceptions/page_fault_kernel/enable", "1"));
	for (i = 0; i < rounds; i++) {
		ASSERT_EQ(0, write_nothing(&self->ti, absent, EVENT_LARGE + i % 50));
		ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
		ASSERT_EQ(meta->entries, meta->read);
	}
	ASSERT_EQ(0, instance_write(&self->ti, "events/exceptions/page_fault_kernel/enable", "0"));
	EXPECT_EQ(0, self->tally.malformed);
	EXPECT_EQ(0, meta->overrun);
	EXPECT_LE(2 * rounds, self->tally.others);
	munmap(absent, page);
}
#endif

/* READ-9 */
TEST_F(reader, not_mapped_answers_ENODEV_before_any_wait)
{
	int fd;

	buffer_unmap(&self->mb);
	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, ioctl(fd, TRACE_MMAP_IOCTL_GET_READER));
	EXPECT_EQ(ENODEV, errno);
	/* never mapped: another CPU */
	close(fd);
	fd = cpu_file(&self->ti, self->ti.other_cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, ioctl(fd, TRACE_MMAP_IOCTL_GET_READER));
	EXPECT_EQ(ENODEV, errno);
	close(fd);
}

/* READ-9: An observer does not stand for a mapping. */
TEST_F(reader, observed_only_answers_ENODEV)
{
	int live, fd;

	buffer_unmap(&self->mb);
	live = live_file(&self->ti, self->ti.cpu);
	ASSERT_LE(0, live);
	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, ioctl(fd, TRACE_MMAP_IOCTL_GET_READER));
	EXPECT_EQ(ENODEV, errno);
	close(fd);
	close(live);
}

/* READ-9 */
TEST_F(reader, not_mapped_answers_ENODEV_to_a_nonblocking_descriptor)
{
	int fd = cpu_file(&self->ti, self->ti.other_cpu, "trace_pipe_raw",
			  O_RDONLY | O_NONBLOCK);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, ioctl(fd, TRACE_MMAP_IOCTL_GET_READER));
	EXPECT_EQ(ENODEV, errno);
	close(fd);
}

/* READ-8 */
TEST_F(reader, any_other_command_answers_ENOTTY)
{
	static const unsigned long commands[] = {
		_IO('R', 0x1f), _IO('R', 0x21), _IO('T', 0x20),
		_IOR('R', 0x20, int), _IOW('R', 0x20, int), 0xffffffff,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		EXPECT_EQ(-1, ioctl(self->mb.fd, commands[i], 0));
		EXPECT_EQ(ENOTTY, errno);
	}
}

/* What the waiting side of these tests does; the exit status is the errno. */
static void no_action(int sig)
{
}

static int get_reader_errno(int fd, int sa_flags)
{
	struct sigaction action = {
		.sa_handler = no_action,
		.sa_flags = sa_flags,
	};

	sigaction(SIGUSR1, &action, NULL);
	return ioctl(fd, TRACE_MMAP_IOCTL_GET_READER) ? errno : 0;
}

/* Waits in GET_READER in a child, beside the writer's CPU. */
static pid_t fork_waiter(struct trace_instance *ti, int fd, int sa_flags)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	run_on_cpu(ti->other_cpu);
	_exit(get_reader_errno(fd, sa_flags));
}

/* -EAGAIN when it waits in ioctl(), and goes on to; or how it ended. */
static int status_of_waiter(pid_t pid)
{
	long long end = monotonic_ns() + WOKEN_MS * 1000000LL;
	char path[64], text[256];
	int status;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	do {
		status = child_status(pid, 0);
		if (status != -EAGAIN)
			return status;
		if (read_file(path, text, sizeof(text)) > 0 &&
		    strtol(text, NULL, 10) == SYS_ioctl)
			return child_status(pid, STILL_WAITING_MS);
		sleep_ms(5);
	} while (monotonic_ns() < end);
	return -ETIMEDOUT;
}

FIXTURE(waiter) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;
	struct tally		tally;
	pid_t			pid;
};

FIXTURE_VARIANT(waiter) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(waiter, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(waiter, instance_large) INSTANCE_LARGE;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(waiter, top_level_large) TOP_LEVEL_LARGE;
FIXTURE_VARIANT_ADD(waiter, instance) INSTANCE;
#endif

FIXTURE_SETUP(waiter)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, 0));
}

FIXTURE_TEARDOWN(waiter)
{
	if (self->pid > 0 && !kill(self->pid, 0))
		kill_child(self->pid);
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* WAIT-1 */
TEST_F(waiter, blocking_call_waits_for_any_event_at_buffer_percent_0)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	self->pid = fork_waiter(&self->ti, self->mb.fd, 0);
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS));
	EXPECT_EQ(1, self->mb.meta->read);
}

/* WAIT-1 */
TEST_F(waiter, blocking_call_waits_for_buffer_percent_of_unread_data)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "50"));
	self->pid = fork_waiter(&self->ti, self->mb.fd, 0);
	ASSERT_LT(0, write_bytes(&self->ti, part_of_buffer(&self->mb, 25),
				 EVENT_LARGE));
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	ASSERT_LT(0, write_bytes(&self->ti, part_of_buffer(&self->mb, 40),
				 EVENT_LARGE));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS));
	EXPECT_LT(0, self->mb.meta->read);
}

/* WAIT-1 */
TEST_F(waiter, blocking_call_returns_at_once_when_there_is_enough)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "50"));
	ASSERT_LT(0, write_bytes(&self->ti, part_of_buffer(&self->mb, 75),
				 EVENT_LARGE));
	self->pid = fork_waiter(&self->ti, self->mb.fd, 0);
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS));
	EXPECT_LT(0, self->mb.meta->read);
}

/* WAIT-1: What was consumed does not count as unread. */
TEST_F(waiter, blocking_call_waits_again_after_all_was_consumed)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	ASSERT_EQ(0, ioctl(self->mb.fd, TRACE_MMAP_IOCTL_GET_READER));
	self->pid = fork_waiter(&self->ti, self->mb.fd, 0);
	EXPECT_EQ(-EAGAIN, status_of_waiter(self->pid));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_LARGE));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS));
	EXPECT_EQ(4, self->mb.meta->read);
}

/* WAIT-2 */
TEST_F(waiter, a_signal_ends_the_wait_with_EINTR)
{
	self->pid = fork_waiter(&self->ti, self->mb.fd, 0);
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	ASSERT_EQ(0, kill(self->pid, SIGUSR1));
	EXPECT_EQ(EINTR, child_status(self->pid, WOKEN_MS));
}

/* WAIT-2 */
TEST_F(waiter, the_wait_goes_on_after_a_signal_under_SA_RESTART)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	self->pid = fork_waiter(&self->ti, self->mb.fd, SA_RESTART);
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	ASSERT_EQ(0, kill(self->pid, SIGUSR1));
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS));
}

/* WAIT-2: A signal that kills does so. */
TEST_F(waiter, a_waiter_can_be_killed)
{
	self->pid = fork_waiter(&self->ti, self->mb.fd, SA_RESTART);
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	ASSERT_EQ(0, kill(self->pid, SIGTERM));
	EXPECT_EQ(128 + SIGTERM, child_status(self->pid, WOKEN_MS));
}

/* WAIT-3 */
TEST_F(waiter, ioctl_0_wakes_it)
{
	self->pid = fork_waiter(&self->ti, self->mb.fd, 0);
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	ASSERT_EQ(0, ioctl(self->mb.fd, 0, 0));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS));
	EXPECT_EQ(0, self->mb.meta->reader.id);
	EXPECT_EQ(0, self->mb.meta->reader.read);
}

/* WAIT-3: Woken with less than it waited for, it hands that out. */
TEST_F(waiter, ioctl_0_wakes_it_with_what_there_is)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "50"));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_SMALL));
	self->pid = fork_waiter(&self->ti, self->mb.fd, 0);
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	ASSERT_EQ(0, ioctl(self->mb.fd, 0, 0));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS));
	EXPECT_EQ(3, self->mb.meta->read);
}

/* WAIT-8 */
TEST_F(waiter, a_process_that_closes_the_shared_file_wakes_it)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "50"));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_SMALL));
	self->pid = fork_waiter(&self->ti, self->mb.fd, 0);
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	ASSERT_EQ(0, close(self->mb.fd));
	self->mb.fd = -1;
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS));
	EXPECT_EQ(3, self->mb.meta->read);
}

/* WAIT-8 */
TEST_F(waiter, one_that_exits_wakes_it)
{
	pid_t pid;

	self->pid = fork_waiter(&self->ti, self->mb.fd, 0);
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(0);
	ASSERT_EQ(0, child_status(pid, WOKEN_MS));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS));
}

/* WAIT-6 */
TEST_F(waiter, O_NONBLOCK_never_waits)
{
	int fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
			  O_RDONLY | O_NONBLOCK);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "100"));
	EXPECT_EQ(0, ioctl(fd, TRACE_MMAP_IOCTL_GET_READER));
	ASSERT_EQ(0, write_events(&self->ti, 2, EVENT_SMALL));
	EXPECT_EQ(0, ioctl(fd, TRACE_MMAP_IOCTL_GET_READER));
	EXPECT_EQ(2, self->mb.meta->read);
	close(fd);
}

/* WAIT-6 */
TEST_F(waiter, O_NONBLOCK_set_later_is_heeded)
{
	ASSERT_EQ(0, fcntl(self->mb.fd, F_SETFL, O_NONBLOCK));
	self->pid = fork_waiter(&self->ti, self->mb.fd, 0);
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS));
}

/* WAIT-4: The wait is for the buffer as it is then: buffer_percent may change. */
TEST_F(waiter, munmap_by_another_leaves_the_waiter_waiting_for_its_own)
{
	struct mapped_buffer second;

	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_EQ(0, buffer_map(&second, &self->ti, self->ti.cpu, 0));
	self->pid = fork_waiter(&self->ti, self->mb.fd, 0);
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	buffer_unmap(&second);
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS));
}

/* An open file of its own waits, and nothing but the last munmap() ends that. */
static void expect_last_munmap_wakes(struct __test_metadata *_metadata,
				     FIXTURE_DATA(waiter) * self, const char *percent)
{
	int fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", percent));
	/* No close() wakes: the mapping's file is closed, and the child has it not. */
	close(self->mb.fd);
	self->mb.fd = -1;
	self->pid = fork_waiter(&self->ti, fd, 0);
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	buffer_unmap(&self->mb);
	EXPECT_EQ(ENODEV, child_status(self->pid, WOKEN_MS / 2));
	close(fd);
}

/* WAIT-4 */
TEST_F(waiter, the_last_munmap_wakes_who_waits_for_any_event)
{
	expect_last_munmap_wakes(_metadata, self, "0");
}

/* WAIT-4 */
TEST_F(waiter, the_last_munmap_wakes_who_waits_for_buffer_percent)
{
	expect_last_munmap_wakes(_metadata, self, "50");
}

/* There may be no more events: it hands out what there is. */
static void expect_tracing_off_wakes(struct __test_metadata *_metadata,
				     FIXTURE_DATA(waiter) * self, uint64_t events)
{
	ASSERT_EQ(0, write_events(&self->ti, events, EVENT_SMALL));
	self->pid = fork_waiter(&self->ti, self->mb.fd, 0);
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "0"));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2));
	EXPECT_EQ(events, self->mb.meta->read);
}

/* WAIT-5 */
TEST_F(waiter, turning_tracing_off_wakes_it)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	expect_tracing_off_wakes(_metadata, self, 0);
}

/* WAIT-5 */
TEST_F(waiter, turning_tracing_off_wakes_it_with_what_there_is)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "50"));
	expect_tracing_off_wakes(_metadata, self, 3);
}

/* WAIT-5: also if it was off when the wait began, and is on for no longer than that */
TEST_F(waiter, turning_tracing_off_again_wakes_it)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "50"));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_SMALL));
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "0"));
	self->pid = fork_waiter(&self->ti, self->mb.fd, 0);
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "0"));
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "1"));
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "0"));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2));
	EXPECT_EQ(3, self->mb.meta->read);
}

/* WAIT-5: Who begins to wait with tracing off waits for it to be turned on. */
TEST_F(waiter, the_wait_begins_with_tracing_off_as_well)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "0"));
	self->pid = fork_waiter(&self->ti, self->mb.fd, 0);
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "1"));
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2));
	EXPECT_EQ(1, self->mb.meta->read);
}

/*
 * An empty buffer is at no percentage readable. Few percent are less than one of
 * these sub-buffers: the one that the writer is on does not count for it.
 */
static void expect_empty_unreadable(struct __test_metadata *_metadata,
				    struct trace_instance *ti, int fd)
{
	static const unsigned int percents[] = { 0, 1, 5, 12, 50, 100 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(percents); i++) {
		ASSERT_EQ(0, instance_write_number(ti, "buffer_percent", percents[i]));
		expect_readable(_metadata, fd, 0);
	}
}

/* POLL-1 */
TEST_F(waiter, poll_does_not_call_an_empty_buffer_readable)
{
	expect_empty_unreadable(_metadata, &self->ti, self->mb.fd);
	/* Nor one that was emptied, with sub-buffers behind the reader's. */
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "1"));
	expect_readable(_metadata, self->mb.fd, 1);
	ASSERT_EQ(0, fcntl(self->mb.fd, F_SETFL, O_NONBLOCK));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	expect_empty_unreadable(_metadata, &self->ti, self->mb.fd);
}

/* POLL-1 */
TEST_F(waiter, poll_does_not_call_an_empty_unmapped_buffer_readable)
{
	int fd;

	buffer_unmap(&self->mb);
	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, fd);
	expect_empty_unreadable(_metadata, &self->ti, fd);
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	expect_readable(_metadata, fd, 1);
	close(fd);
}

/* POLL-2 */
TEST_F(waiter, poll_says_readable_at_any_event_at_buffer_percent_0)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	expect_readable(_metadata, self->mb.fd, 1);
	ASSERT_EQ(0, ioctl(self->mb.fd, TRACE_MMAP_IOCTL_GET_READER));
	expect_readable(_metadata, self->mb.fd, 0);
}

/* POLL-2: What is on the reader's sub-buffer is not enough while the writer is there. */
TEST_F(waiter, poll_does_not_count_the_sub_buffer_of_reader_and_writer)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "10"));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	expect_readable(_metadata, self->mb.fd, 0);
}

/* POLL-2 */
TEST_F(waiter, poll_says_readable_at_buffer_percent)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "50"));
	ASSERT_LT(0, write_bytes(&self->ti, part_of_buffer(&self->mb, 25),
				 EVENT_LARGE));
	expect_readable(_metadata, self->mb.fd, 0);
	ASSERT_LT(0, write_bytes(&self->ti, part_of_buffer(&self->mb, 40),
				 EVENT_LARGE));
	expect_readable(_metadata, self->mb.fd, 1);
}

/* POLL-3: All who poll are woken by the event they wait for. */
TEST_F(waiter, poll_wakes_up_when_there_is_enough)
{
	size_t i;

	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	for (i = 0; i < NR_POLLERS; i++) {
		self->pid = fork_sleeper(&self->ti, self->mb.fd, i);
		expect_woken_by_events(_metadata, &self->ti, self->pid, i, 1, EVENT_SMALL);
		ASSERT_EQ(0, ioctl(self->mb.fd, TRACE_MMAP_IOCTL_GET_READER));
	}
}

/* POLL-3 */
TEST_F(waiter, poll_wakes_up_at_buffer_percent)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "50"));
	self->pid = fork_sleeper(&self->ti, self->mb.fd, 0);
	ASSERT_LT(0, self->pid);
	ASSERT_LT(0, write_bytes(&self->ti, part_of_buffer(&self->mb, 25),
				 EVENT_LARGE));
	ASSERT_EQ(-EAGAIN, child_status(self->pid, STILL_WAITING_MS));
	ASSERT_LT(0, write_bytes(&self->ti, part_of_buffer(&self->mb, 40),
				 EVENT_LARGE));
	EXPECT_EQ(0, child_status(self->pid, WOKEN_MS / 2));
}

/*
 * WAIT-1: The other one was the first to wait. It is woken too, as the process that ends
 * has its file.
 */
TEST_F(waiter, a_waiter_that_needs_less_is_woken_beside_one_that_needs_more)
{
	pid_t less;

	/* Linux 6.12 keeps what a waiter needs only if there is an event. */
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_LARGE));
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "90"));
	self->pid = fork_waiter(&self->ti, self->mb.fd, 0);
	ASSERT_EQ(-EAGAIN, status_of_waiter(self->pid));
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "20"));
	less = fork_sleeper(&self->ti, self->mb.fd, 0);
	ASSERT_LT(0, less);
	ASSERT_LT(0, write_bytes(&self->ti, part_of_buffer(&self->mb, 50), EVENT_LARGE));
	EXPECT_EQ(0, child_status(less, WOKEN_MS / 2));
}

/* The cost of a call is measured where it would show: on large sub-buffers. */
FIXTURE(cost) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;
};

FIXTURE_VARIANT(cost) {
	bool	top;
};

FIXTURE_VARIANT_ADD(cost, top_level_large) {
	.top = true,
};

FIXTURE_VARIANT_ADD(cost, instance_large) {
	.top = false,
};

FIXTURE_SETUP(cost)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, 256));
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
}

FIXTURE_TEARDOWN(cost)
{
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, instance_close(&self->ti));
}

static long long get_reader_ns(struct mapped_buffer *mb)
{
	long long start = monotonic_ns();

	if (ioctl(mb->fd, TRACE_MMAP_IOCTL_GET_READER))
		return -errno;
	return monotonic_ns() - start;
}

/* The quickest call that handed out a whole sub-buffer of such events. */
static long long quickest_ns(struct trace_instance *ti, struct mapped_buffer *mb,
			     size_t size)
{
	long long best = -1, ns;
	int round, i;

	for (round = 0; round < 4; round++) {
		write_bytes(ti, 5 * mb->meta->subbuf_size, size);
		for (i = 0; i < 4; i++) {
			ns = get_reader_ns(mb);
			if (best < 0 || ns < best)
				best = ns;
		}
		while (mb->meta->entries != mb->meta->read + mb->meta->overrun)
			get_reader_ns(mb);
	}
	return best;
}

/* Slower by less than a look at each event would make it. */
static bool as_quick(long long ns, long long reference)
{
	fprintf(stderr, "# %lld ns, reference %lld ns\n", ns, reference);
	return ns >= 0 && ns < 3 * reference + 10000;
}

/* COST-1 */
TEST_F(cost, of_a_finished_sub_buffer_does_not_depend_on_its_events)
{
	long long few = quickest_ns(&self->ti, &self->mb, 1000);
	long long many = quickest_ns(&self->ti, &self->mb, EVENT_SMALL);

	EXPECT_TRUE(as_quick(many, few));
}

/* COST-2 */
TEST_F(cost, of_an_unfinished_sub_buffer_depends_on_new_events_only)
{
	long long early = -1, late = -1, ns;
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
		ns = get_reader_ns(&self->mb);
		early = early < 0 || ns < early ? ns : early;
	}
	ASSERT_EQ(0, write_events(&self->ti, 4000, EVENT_SMALL));
	get_reader_ns(&self->mb);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
		ns = get_reader_ns(&self->mb);
		late = late < 0 || ns < late ? ns : late;
	}
	EXPECT_EQ(1, self->mb.meta->reader.id);
	EXPECT_TRUE(as_quick(late, early));
}

TEST_HARNESS_MAIN

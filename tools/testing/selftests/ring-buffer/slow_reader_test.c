// SPDX-License-Identifier: GPL-2.0
/*
 * Readers that get no time: stopped by a signal in the middle of what they do,
 * or of the lowest priority beside writers of the highest. Nothing waits for
 * them, and when they get on they miss nothing that is not accounted for.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "buffer_fixture.h"

/* What the reader, another process, has to say. */
struct report {
	struct tally	tally;
	uint64_t	overrun;	/* at its end, of the meta page */
	long		changed;	/* times its sub-buffer was not as handed out */
};

FIXTURE(slow) {
	struct trace_instance	ti;
	struct report		*report;
	int			ready[2];
	int			go[2];
};

FIXTURE_VARIANT(slow) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(slow, top_level) TOP_LEVEL;
#ifndef TWO_BUFFERS
/* Larger ones would only take longer to write. */
FIXTURE_VARIANT_ADD(slow, instance_large) { .subbuf_kb = 16 };
#endif

FIXTURE_SETUP(slow)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	self->report = mmap(NULL, sizeof(*self->report), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->report);
	ASSERT_EQ(0, pipe(self->ready));
	ASSERT_EQ(0, pipe(self->go));
}

FIXTURE_TEARDOWN(slow)
{
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* So many laps of the writer are a long time. */
static int write_laps(struct trace_instance *ti, unsigned int laps)
{
	while (laps--) {
		if (overflow_buffer(ti) < 0)
			return -1;
	}
	return 0;
}

static int stop_child(pid_t pid)
{
	int status;

	if (kill(pid, SIGSTOP) || waitpid(pid, &status, WUNTRACED) != pid)
		return -errno;
	return WIFSTOPPED(status) ? 0 : -ESRCH;
}

static void tell(int fd)
{
	if (write(fd, "t", 1) != 1)
		_exit(90);
}

static void wait_for(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		_exit(91);
}

/* Holds what one call handed out until it may go on, then reads the rest. */
static void hold_and_drain(FIXTURE_DATA(slow) * self)
{
	struct report *r = self->report;
	struct mapped_buffer mb;
	unsigned char *held, *copy;
	uint32_t end;

	if (buffer_map(&mb, &self->ti, self->ti.cpu, O_NONBLOCK))
		_exit(1);
	if (tally_get_reader(&r->tally, &mb) <= 0)
		_exit(2);
	held = buffer_subbuf(&mb, mb.meta->reader.id) + SUBBUF_HEADER;
	end = mb.meta->reader.read;
	copy = malloc(end);
	if (!copy)
		_exit(3);
	memcpy(copy, held, end);
	tell(self->ready[1]);
	wait_for(self->go[0]);
	r->changed = !!memcmp(copy, held, end);
	if (tally_drain(&r->tally, &mb) <= 0)
		_exit(4);
	r->overrun = mb.meta->overrun;
	_exit(0);
}

/*
 * READ-21: The writer goes on at full speed and its losses are counted. The stopped
 * reader keeps what it was handed out, and goes on exactly where it was.
 */
TEST_F(slow, a_stopped_reader_holds_no_writer_and_gets_on_exactly)
{
	pid_t pid;
	char c;

	/* More than a sub-buffer, so that the writer has left the reader's. */
	ASSERT_LT(0, write_bytes(&self->ti, self->ti.subbuf_kb * 2048,
				 EVENT_LARGE));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		hold_and_drain(self);
	ASSERT_EQ(1, read(self->ready[0], &c, 1));
	ASSERT_EQ(0, stop_child(pid));
	EXPECT_EQ(0, write_laps(&self->ti, 5));
	EXPECT_EQ(1, write(self->go[1], "g", 1));
	EXPECT_LT(0, cpu_stat(&self->ti, self->ti.cpu, "overrun"));
	ASSERT_EQ(0, kill(pid, SIGCONT));
	ASSERT_EQ(0, child_status(pid, WOKEN_MS));
	EXPECT_EQ(0, self->report->changed);
	EXPECT_TRUE(tally_exact(&self->report->tally));
	EXPECT_EQ(self->ti.seq,
		  self->report->tally.seen + self->report->tally.lost);
	EXPECT_EQ(self->report->overrun, self->report->tally.lost);
	EXPECT_LT(0, self->report->tally.lost);
}

/* Waits for the first event, then reads all there is. */
static void wait_and_drain(FIXTURE_DATA(slow) * self)
{
	struct report *r = self->report;
	struct mapped_buffer mb;

	if (buffer_map(&mb, &self->ti, self->ti.cpu, 0))
		_exit(1);
	tell(self->ready[1]);
	if (tally_get_reader(&r->tally, &mb) <= 0)
		_exit(2);
	if (fcntl(mb.fd, F_SETFL, O_NONBLOCK) || tally_drain(&r->tally, &mb) < 0)
		_exit(3);
	r->overrun = mb.meta->overrun;
	_exit(0);
}

/* WAIT-7: A stop is no signal that ends a wait. */
TEST_F(slow, a_waiter_stopped_and_continued_waits_on)
{
	pid_t pid;
	char c;
	int i;

	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		wait_and_drain(self);
	ASSERT_EQ(1, read(self->ready[0], &c, 1));
	for (i = 0; i < 3; i++) {
		sleep_ms(50);
		ASSERT_EQ(0, stop_child(pid));
		ASSERT_EQ(0, kill(pid, SIGCONT));
	}
	EXPECT_EQ(-EAGAIN, child_status(pid, STILL_WAITING_MS));
	ASSERT_EQ(0, stop_child(pid));
	EXPECT_EQ(0, write_laps(&self->ti, 2));
	ASSERT_EQ(0, kill(pid, SIGCONT));
	ASSERT_EQ(0, child_status(pid, WOKEN_MS));
	EXPECT_TRUE(tally_exact(&self->report->tally));
	EXPECT_EQ(self->ti.seq,
		  self->report->tally.seen + self->report->tally.lost);
}

/* READ-22, USER-6: What a stopped reader holds off, it does until it is killed, stopped or not. */
TEST_F(slow, a_stopped_reader_can_be_killed)
{
	pid_t pid;
	char c;

	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		hold_and_drain(self);
	ASSERT_EQ(1, read(self->ready[0], &c, 1));
	ASSERT_EQ(0, stop_child(pid));
	expect_mapped(_metadata, &self->ti);
	EXPECT_EQ(0, kill_child(pid));
	expect_unmapped(_metadata, &self->ti);
}

/* Reads on the writers' CPU, with what time they leave, until all is written. */
static void read_idly(FIXTURE_DATA(slow) * self)
{
	struct sched_param none = { .sched_priority = 0 };
	struct report *r = self->report;
	struct mapped_buffer mb;

	if (run_on_cpu(self->ti.cpu) ||
	    setpriority(PRIO_PROCESS, 0, 19) ||
	    sched_setscheduler(0, SCHED_IDLE, &none) ||
	    buffer_map(&mb, &self->ti, self->ti.cpu, O_NONBLOCK))
		_exit(1);
	tell(self->ready[1]);
	while (!poll_readable(self->go[0], 0)) {
		if (tally_get_reader(&r->tally, &mb) < 0)
			_exit(2);
	}
	if (tally_drain(&r->tally, &mb) < 0)
		_exit(3);
	r->overrun = mb.meta->overrun;
	_exit(0);
}

/* Its events have numbers of their own that nobody looks at. */
static pid_t fork_urgent_writer(struct trace_instance *ti, unsigned int count)
{
	struct sched_param highest = {
		.sched_priority = sched_get_priority_max(SCHED_FIFO),
	};
	pid_t pid = fork();

	if (pid)
		return pid;
	_exit(run_on_cpu(ti->cpu) ||
	      sched_setscheduler(0, SCHED_FIFO, &highest) ||
	      write_events(ti, count, EVENT_LARGE));
}

/* READ-23 */
TEST_F(slow, a_reader_of_the_lowest_priority_beside_writers_of_the_highest)
{
	const unsigned int count = 3000;
	struct report *r = self->report;
	pid_t reader, writers[2];
	char c;
	int i;

	/* Here is to be time for what this process does. */
	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	reader = fork();
	ASSERT_LE(0, reader);
	if (!reader)
		read_idly(self);
	ASSERT_EQ(1, read(self->ready[0], &c, 1));
	for (i = 0; i < 2; i++)
		writers[i] = fork_urgent_writer(&self->ti, count);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, child_status(writers[i], WOKEN_MS));
	EXPECT_EQ(1, write(self->go[1], "g", 1));
	ASSERT_EQ(0, child_status(reader, WOKEN_MS));
	/* Two count from 0, so gaps tell nothing here; sums do. */
	EXPECT_EQ(0, r->tally.malformed);
	EXPECT_EQ(0, r->tally.others);
	EXPECT_EQ(2 * count, r->tally.seen + r->tally.lost);
	EXPECT_EQ(r->overrun, r->tally.lost);
	EXPECT_LT(0, r->tally.seen);
	TH_LOG("seen %llu, lost %llu", (unsigned long long)r->tally.seen,
	       (unsigned long long)r->tally.lost);
}

TEST_HARNESS_MAIN

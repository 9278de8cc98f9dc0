// SPDX-License-Identifier: GPL-2.0
/*
 * trace_pipe and trace_pipe_raw beside writers and other readers of the same buffer,
 * and behind them in the middle of a sub-buffer; and what poll() says of both files
 * with the "block" option.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "buffer_fixture.h"

/* So long others are in the way: some hundred times. */
#define COMPETE_MS	4000
#define PIPE_BYTES	4096
/* Making an instance, and removing it, keeps trace_event_sem for a while. */
#define OTHER_INSTANCE	TRACEFS_DIR "/instances/selftest_trace_pipe"

FIXTURE(pipe) {
	struct trace_instance	ti;
	int			fd;
	int			pipes[2];
};

FIXTURE_VARIANT(pipe) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(pipe, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(pipe, instance_large) INSTANCE_LARGE;

FIXTURE_SETUP(pipe)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	ASSERT_EQ(0, pipe(self->pipes));
	self->fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe", O_RDONLY);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(pipe)
{
	close(self->fd);
	close(self->pipes[0]);
	close(self->pipes[1]);
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* Until @stop is set */
static pid_t fork_loop(struct trace_instance *ti, int cpu, const int *stop,
		       int (*once)(struct trace_instance *ti, int fd))
{
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	if (fd < 0 || run_on_cpu(cpu))
		_exit(1);
	while (!__atomic_load_n(stop, __ATOMIC_RELAXED))
		if (once(ti, fd))
			_exit(2);
	_exit(0);
}

/* An event now and then, where the splice is. */
static int write_one(struct trace_instance *ti, int fd)
{
	sleep_ms(1);
	return write_events(ti, 1, EVENT_SMALL);
}

/* The other reader takes what comes. */
static int read_all(struct trace_instance *ti, int fd)
{
	static char page[LARGE_SUBBUF_KB << 10];

	return read(fd, page, sizeof(page)) < 0 && errno != EAGAIN;
}

/*
 * A splice that has found an event has to wait before it can print it, and the
 * other reader takes it meanwhile. When the splice lets go of the lock it wakes
 * this process: that is an event, if sched_waking is traced.
 */
static int keep_waiting(struct trace_instance *ti, int fd)
{
	return (mkdir(OTHER_INSTANCE, 0700) && errno != EEXIST) ||
	       rmdir(OTHER_INSTANCE);
}

/* Splices until the time is over. Returns 0, or what was answered but EAGAIN. */
static int splice_for(int fd, int *pipes, unsigned int ms)
{
	long long end = monotonic_ns() + ms * 1000000LL;
	char text[PIPE_BYTES];
	ssize_t got;

	while (monotonic_ns() < end) {
		got = splice(fd, NULL, pipes[1], NULL, sizeof(text), 0);
		if (got < 0 && errno != EAGAIN)
			return -errno;
		if (got > 0 && read(pipes[0], text, sizeof(text)) != got)
			return -EIO;
	}
	return 0;
}

/* Three children get in the way; without them, the splice gets its event. */
static void expect_splices(struct __test_metadata *_metadata,
			   struct trace_instance *ti, int fd, int *pipes)
{
	int *stop = mmap(NULL, sizeof(*stop), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid[3];
	int i;

	ASSERT_NE(MAP_FAILED, stop);
	ASSERT_EQ(0, instance_write(ti, "events/sched/sched_waking/enable", "1"));
	pid[0] = fork_loop(ti, ti->cpu, stop, write_one);
	pid[1] = fork_loop(ti, ti->other_cpu, stop, read_all);
	pid[2] = fork_loop(ti, ti->other_cpu, stop, keep_waiting);
	EXPECT_EQ(0, splice_for(fd, pipes, COMPETE_MS));
	__atomic_store_n(stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, child_status(pid[i], WOKEN_MS));
	munmap(stop, sizeof(*stop));
	ASSERT_EQ(0, instance_write(ti, "events/sched/sched_waking/enable", "0"));
	ASSERT_EQ(0, write_events(ti, 1, EVENT_SMALL));
	EXPECT_LT(0, splice(fd, NULL, pipes[1], NULL, PIPE_BYTES, 0));
}

/* READ-18: An event that another reader takes first, or that just came, is no error. */
TEST_F(pipe, splice_waits_again_when_another_reader_was_faster)
{
	expect_splices(_metadata, &self->ti, self->fd, self->pipes);
}

/* READ-18 */
TEST_F(pipe, splice_answers_EAGAIN_when_another_reader_was_faster)
{
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	expect_splices(_metadata, &self->ti, self->fd, self->pipes);
}

/* One event after the other: each may be the only one. */
static int write_at_once(struct trace_instance *ti, int fd)
{
	return write_events(ti, 1, EVENT_SMALL);
}

/* How many reads read_for() has begun, where a writer is to know */
static unsigned int *begun;

/*
 * An event for each read, at any time in it: also when it has found nothing and is about to
 * wait. One more if the reader does not go on: in the moment in which it goes to sleep, a writer
 * may miss that it does.
 */
static int write_into_read(struct trace_instance *ti, int fd)
{
	unsigned int now = __atomic_load_n(begun, __ATOMIC_ACQUIRE);
	static unsigned int last, seed = 1;
	static long long end;

	if (now == last && monotonic_ns() < end + 20000000)
		return 0;
	last = now;
	/* How long it takes to find nothing depends on the machine. */
	end = monotonic_ns() + rand_r(&seed) % (5000 << rand_r(&seed) % 5);
	while (monotonic_ns() < end)
		;
	return write_events(ti, 1, EVENT_SMALL);
}

/* Reads until the time is over. Returns 0, -ENODATA for an end of file, or an error. */
static int read_for(int fd, size_t size, unsigned int ms)
{
	long long end = monotonic_ns() + ms * 1000000LL;
	static char bytes[LARGE_SUBBUF_KB << 10];
	ssize_t got;

	while (monotonic_ns() < end) {
		if (begun)
			__atomic_fetch_add(begun, 1, __ATOMIC_RELEASE);
		got = read(fd, bytes, size);
		if (got <= 0)
			return got ? -errno : -ENODATA;
	}
	return 0;
}

/* READ-18: An end of file would end "cat trace_pipe". */
TEST_F(pipe, read_waits_again_when_another_reader_was_faster)
{
	int *stop = mmap(NULL, sizeof(*stop), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct trace_instance *ti = &self->ti;
	pid_t writer, reader;

	ASSERT_NE(MAP_FAILED, stop);
	writer = fork_loop(ti, ti->cpu, stop, write_at_once);
	reader = fork_loop(ti, ti->other_cpu, stop, read_all);
	EXPECT_EQ(0, read_for(self->fd, PIPE_BYTES, COMPETE_MS));
	__atomic_store_n(stop, 1, __ATOMIC_RELAXED);
	EXPECT_EQ(0, child_status(writer, WOKEN_MS));
	EXPECT_EQ(0, child_status(reader, WOKEN_MS));
	munmap(stop, sizeof(*stop));
}

/* No child has the reader's file: none of them closes it. */
static void expect_no_end_of_raw(struct __test_metadata *_metadata, struct trace_instance *ti,
				 bool beside_a_reader)
{
	int *shared = mmap(NULL, 2 * sizeof(*shared), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t writer, reader = 0;
	int fd;

	ASSERT_NE(MAP_FAILED, shared);
	if (beside_a_reader) {
		writer = fork_loop(ti, ti->cpu, &shared[0], write_at_once);
		reader = fork_loop(ti, ti->other_cpu, &shared[0], read_all);
	} else {
		begun = (unsigned int *)&shared[1];
		writer = fork_loop(ti, ti->cpu, &shared[0], write_into_read);
		EXPECT_EQ(0, run_on_cpu(ti->other_cpu));
	}
	fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY);
	EXPECT_LE(0, fd);
	EXPECT_EQ(0, read_for(fd, LARGE_SUBBUF_KB << 10, COMPETE_MS));
	__atomic_store_n(&shared[0], 1, __ATOMIC_RELAXED);
	EXPECT_EQ(0, child_status(writer, WOKEN_MS));
	if (reader)
		EXPECT_EQ(0, child_status(reader, WOKEN_MS));
	close(fd);
	begun = NULL;
	munmap(shared, 2 * sizeof(*shared));
}

/* READ-30 */
TEST_F(pipe, read_of_trace_pipe_raw_does_not_end_at_an_event_that_just_comes)
{
	expect_no_end_of_raw(_metadata, &self->ti, false);
}

/* READ-30 */
TEST_F(pipe, read_of_trace_pipe_raw_waits_again_when_another_reader_was_faster)
{
	expect_no_end_of_raw(_metadata, &self->ti, true);
}

static int close_a_duplicate(int fd)
{
	return close(dup(fd));
}

/* The child closes what it has at its end. */
static int end_a_child(int fd)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return child_status(pid, WOKEN_MS);
}

static ssize_t read_once(int fd, size_t size)
{
	char *bytes = malloc(size);

	return bytes ? read(fd, bytes, size) : -1;
}

static ssize_t splice_once(int fd, size_t size)
{
	int pipes[2];

	return pipe(pipes) ? -1 : splice(fd, NULL, pipes[1], NULL, size, 0);
}

/*
 * A child that sleeps in read() or splice() of trace_pipe_raw, which is open in @fd; @before is
 * called with that first. Its status is 0 if it got something, and 1 if 0 bytes.
 */
static pid_t fork_waiting(struct __test_metadata *_metadata, struct trace_instance *ti, int *fd,
			  int (*before)(int fd), ssize_t (*once)(int fd, size_t size))
{
	ssize_t ret;
	pid_t pid;

	*fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, *fd);
	if (before)
		ASSERT_EQ(0, before(*fd));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		ret = once(*fd, ti->subbuf_kb * 1024);
		_exit(ret < 0 ? 2 : !ret);
	}
	EXPECT_TRUE(child_sleeps(pid, WOKEN_MS));
	return pid;
}

/*
 * A child waits until half of the buffer is full, or for an event, and gets something. With
 * mainline's mapping, nothing waits.
 */
static void expect_wait_behind_close(struct __test_metadata *_metadata, struct trace_instance *ti,
				     ssize_t (*once)(int fd, size_t size))
{
	static int (* const closings[])(int fd) = { close_a_duplicate, end_a_child };
	size_t size = ti->subbuf_kb * 1024, i;
	pid_t pid;
	int fd;

	for (i = 0; i < ARRAY_SIZE(closings); i++) {
		if (has_mainlines_mapping()) {
			fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY);
			ASSERT_LE(0, fd);
			ASSERT_EQ(0, closings[i](fd));
			EXPECT_EQ(0, once(fd, size));
			close(fd);
			continue;
		}
		pid = fork_waiting(_metadata, ti, &fd, closings[i], once);
		EXPECT_EQ(-EAGAIN, child_status(pid, STILL_WAITING_MS))
			TH_LOG("%s", i ? "a child has ended" : "a duplicate was closed");
		ASSERT_LT(0, write_bytes(ti, size * TEST_SUBBUFS * 3 / 4, EVENT_LARGE));
		EXPECT_EQ(0, ended_child(pid));
		close(fd);
		ASSERT_EQ(0, instance_write(ti, "trace", ""));
	}
}

/* READ-31 */
TEST_F(pipe, read_of_trace_pipe_raw_waits_after_a_duplicate_was_closed)
{
	expect_wait_behind_close(_metadata, &self->ti, read_once);
}

/* READ-31 */
TEST_F(pipe, splice_of_trace_pipe_raw_waits_after_a_duplicate_was_closed)
{
	expect_wait_behind_close(_metadata, &self->ti, splice_once);
}

/* READ-31 */
TEST_F(pipe, read_of_trace_pipe_raw_has_no_end_while_duplicates_are_closed)
{
	unsigned int reads;
	ssize_t ret = -1;
	pid_t pid;
	char c;
	int fd;

	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, fd);
	pid = fork();
	ASSERT_LE(0, pid);
	while (!pid)
		close_a_duplicate(fd);
	for (reads = 0; reads < 300000 && ret < 0; reads++)
		ret = read(fd, &c, 1);
	EXPECT_EQ(has_mainlines_mapping() ? 0 : -1, ret);
	if (ret)
		EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(0, kill_child(pid));
	close(fd);
}

#define FORK_EVENT	"events/sched/sched_process_fork/enable"

/* READ-34 */
TEST_F(pipe, trace_prints_strings_where_pointers_are_not_hashed)
{
	char text[4096];
	pid_t pid;

	ASSERT_EQ(0, instance_write(&self->ti, "options/hash-ptr", "0"));
	ASSERT_EQ(0, instance_write(&self->ti, FORK_EVENT, "1"));
	pid = fork();
	if (!pid)
		_exit(0);
	EXPECT_EQ(0, ended_child(pid));
	EXPECT_EQ(0, instance_write(&self->ti, FORK_EVENT, "0"));
	ASSERT_LT(0, instance_read(&self->ti, "trace", text, sizeof(text)));
	EXPECT_NE(NULL, strstr(text, ": comm=trace_pipe_test pid="));
	EXPECT_NE(NULL, strstr(text, " child_comm=trace_pipe_test child_pid="));
	EXPECT_EQ('\n', text[strlen(text) - 1]);
	EXPECT_EQ(0, instance_write(&self->ti, "options/hash-ptr", "1"));
}

/* READ-31: Two wait, one of them perhaps for the other, and a third one closes. */
TEST_F(pipe, reads_of_trace_pipe_raw_end_at_a_close_with_mainlines_mapping)
{
	int i, fd, status = has_mainlines_mapping() ? 1 : -EAGAIN;
	unsigned int ms = has_mainlines_mapping() ? WOKEN_MS : STILL_WAITING_MS;
	pid_t pid[2];

	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, fd);
	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i])
			_exit(read_once(fd, self->ti.subbuf_kb * 1024) ? 2 : 1);
		EXPECT_TRUE(i || child_sleeps(pid[i], WOKEN_MS));
	}
	sleep_ms(STILL_WAITING_MS);
	close_a_duplicate(fd);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(status, child_status(pid[i], ms));
		if (status == -EAGAIN)
			EXPECT_EQ(0, kill_child(pid[i]));
	}
	close(fd);
}

/* READ-30 */
TEST_F(pipe, read_of_trace_pipe_raw_waits_on_while_tracing_is_off)
{
	pid_t pid;
	int fd;

	pid = fork_waiting(_metadata, &self->ti, &fd, NULL, read_once);
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "0"));
	EXPECT_EQ(-EAGAIN, child_status(pid, STILL_WAITING_MS));
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "1"));
	ASSERT_LT(0, write_bytes(&self->ti, self->ti.subbuf_kb * 1024, EVENT_LARGE));
	EXPECT_EQ(0, ended_child(pid));
	close(fd);
}

/* READ-32: Each close() of the CPU's trace_pipe_raw wakes all that wait for the CPU. */
TEST_F(pipe, splice_of_trace_pipe_raw_waits_on_while_another_reader_is_woken)
{
	pid_t pid;
	int fd, i;

	pid = fork_waiting(_metadata, &self->ti, &fd, NULL, splice_once);
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, close(cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY)));
		EXPECT_EQ(-EAGAIN, child_status(pid, STILL_WAITING_MS));
	}
	ASSERT_LT(0, write_bytes(&self->ti, self->ti.subbuf_kb * 1024 * TEST_SUBBUFS * 3 / 4,
				 EVENT_LARGE));
	EXPECT_EQ(0, ended_child(pid));
	close(fd);
}

/* READ-32 */
TEST_F(pipe, splice_of_trace_pipe_raw_returns_0_where_no_sub_buffer_is_full)
{
	pid_t pid;
	int fd;

	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	pid = fork_waiting(_metadata, &self->ti, &fd, NULL, splice_once);
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	EXPECT_EQ(1, ended_child(pid));
	EXPECT_EQ(1, cpu_stat(&self->ti, self->ti.cpu, "entries"));
	close(fd);
}

/* What two processes read that share an open file, and a writer that goes on. */
#define MAX_WRITTEN	(4 * 1024 * 1024)

struct shared_reading {
	int		done;		/* 1: for the writer and the second reader, 2: for all */
	int		fd;		/* the first reader's number of the file */
	unsigned int	written;
	unsigned int	twice;
	unsigned int	malformed;
	unsigned char	seen[MAX_WRITTEN];
};

static bool goes_on(struct shared_reading *shared, int done)
{
	return __atomic_load_n(&shared->done, __ATOMIC_ACQUIRE) < done;
}

/* Reads a sub-buffer, whose events have numbers in a row, and marks these. */
static ssize_t read_and_mark(struct shared_reading *shared, int fd, unsigned char *bytes,
			     size_t size)
{
	struct tally tally = { .unknown_loss = true };
	ssize_t len = read(fd, bytes, size);

	if (len < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (len)
		tally_page(&tally, bytes, len);
	if (tally.malformed || tally.misplaced || tally.others)
		__atomic_fetch_add(&shared->malformed, 1, __ATOMIC_RELAXED);
	while (tally.seen--) {
		tally.next--;
		if (__atomic_fetch_add(&shared->seen[tally.next % MAX_WRITTEN], 1,
				       __ATOMIC_RELAXED))
			__atomic_fetch_add(&shared->twice, 1, __ATOMIC_RELAXED);
	}
	return len;
}

static pid_t fork_counted_writer(struct trace_instance *ti, struct shared_reading *shared)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (run_on_cpu(ti->cpu))
		_exit(1);
	while (goes_on(shared, 1) && ti->seq < MAX_WRITTEN)
		if (write_events(ti, 1, EVENT_SMALL))
			_exit(2);
	shared->written = ti->seq;
	_exit(0);
}

/* Its memory is given back each time, so that copying to it takes some time. */
static pid_t fork_first_reader(struct trace_instance *ti, struct shared_reading *shared)
{
	size_t size = ti->subbuf_kb * 1024;
	unsigned char *bytes;
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || bytes == MAP_FAILED || run_on_cpu(ti->other_cpu))
		_exit(1);
	__atomic_store_n(&shared->fd, fd, __ATOMIC_RELEASE);
	while (goes_on(shared, 2))
		if (madvise(bytes, size, MADV_DONTNEED) ||
		    read_and_mark(shared, fd, bytes, size) < 0)
			_exit(2);
	_exit(0);
}

/*
 * It gets the first reader's file, reads, and closes it: the first one was alone with its file
 * when it began to read, so it has not locked the position. Being on the same CPU, and of a
 * higher priority, the second one finds it anywhere in its read().
 */
static pid_t fork_second_reader(struct trace_instance *ti, struct shared_reading *shared,
				pid_t first)
{
	struct sched_param param = { .sched_priority = sched_get_priority_min(SCHED_FIFO) };
	size_t size = ti->subbuf_kb * 1024;
	unsigned int seed = 1;
	int pidfd, fd, err;
	unsigned char *bytes;
	pid_t pid = fork();

	if (pid)
		return pid;
	bytes = malloc(size);
	pidfd = syscall(SYS_pidfd_open, first, 0);
	if (!bytes || pidfd < 0 || run_on_cpu(ti->other_cpu) ||
	    sched_setscheduler(0, SCHED_FIFO, &param))
		_exit(1);
	while (goes_on(shared, 1)) {
		usleep(100 + rand_r(&seed) % 400);
		fd = syscall(SYS_pidfd_getfd, pidfd, shared->fd, 0);
		if (fd < 0)
			_exit(2);
		err = read_and_mark(shared, fd, bytes, size) < 0;
		if (close(fd) || err)
			_exit(3);
	}
	_exit(0);
}

/* READ-5: The consumers are two processes that have the same open file. */
TEST_F(pipe, reads_of_one_open_file_hand_out_each_event_once)
{
	struct shared_reading *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct trace_instance *ti = &self->ti;
	size_t size = ti->subbuf_kb * 1024;
	unsigned char *bytes = malloc(size);
	unsigned int i, seen = 0;
	pid_t writer, first, second;
	int fd;

	ASSERT_NE(MAP_FAILED, shared);
	ASSERT_NE(NULL, bytes);
	shared->fd = -1;
	first = fork_first_reader(ti, shared);
	ASSERT_LT(0, first);
	while (__atomic_load_n(&shared->fd, __ATOMIC_ACQUIRE) < 0 &&
	       child_status(first, 0) == -EAGAIN)
		;
	second = fork_second_reader(ti, shared, first);
	writer = fork_counted_writer(ti, shared);
	sleep_ms(COMPETE_MS / 2);
	__atomic_store_n(&shared->done, 1, __ATOMIC_RELEASE);
	EXPECT_EQ(0, ended_child(writer));
	EXPECT_EQ(0, ended_child(second));
	__atomic_store_n(&shared->done, 2, __ATOMIC_RELEASE);
	EXPECT_EQ(0, ended_child(first));
	fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, fd);
	while (read_and_mark(shared, fd, bytes, size) > 0)
		;
	close(fd);
	for (i = 0; i < MAX_WRITTEN; i++)
		seen += !!shared->seen[i];
	EXPECT_LT(0, seen);
	EXPECT_EQ(0, shared->twice);
	EXPECT_EQ(0, shared->malformed);
	EXPECT_EQ(shared->written, seen + cpu_stat(ti, ti->cpu, "overrun"));
	free(bytes);
	munmap(shared, sizeof(*shared));
}

/*
 * The number of the last event of ours in what a splice gave, its lowest byte, or an errno. That
 * byte is in all of the payload behind the number, in whatever order the number has its own.
 */
static long spliced_event(int fd, int *pipes, size_t len)
{
	char text[PIPE_BYTES + 1], tag[32], *p, *last = NULL;
	ssize_t got = splice(fd, NULL, pipes[1], NULL, len, SPLICE_F_NONBLOCK);

	if (got < 0)
		return -errno;
	if (read(pipes[0], text, PIPE_BYTES) != got)
		return -EIO;
	text[got] = '\0';
	snprintf(tag, sizeof(tag), "# %x buf: ", EVENT_TAG);
	for (p = text; (p = strstr(p, tag)); p++)
		last = p + strlen(tag) + strlen("00 ") * sizeof(uint32_t);
	return last ? strtol(last, NULL, 16) : -ENOENT;
}

/*
 * READ-18: A splice has no room for the second of two events, which another reader takes then.
 * The next splice gives what came after it, and not that event again.
 */
TEST_F(pipe, splice_does_not_give_an_event_that_another_reader_took)
{
	int raw = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	struct tally tally = { 0 };
	int i;

	ASSERT_LE(0, raw);
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_SMALL));
		/* A line of such an event has between 60 and 120 bytes. */
		ASSERT_LE(0, spliced_event(self->fd, self->pipes, 130));
		ASSERT_LT(0, tally_read(&tally, raw, self->ti.subbuf_kb * 1024));
		ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_LARGE));
		EXPECT_EQ((self->ti.seq - 1) & 0xff,
			  spliced_event(self->fd, self->pipes, PIPE_BYTES));
		EXPECT_EQ(-EAGAIN, spliced_event(self->fd, self->pipes, PIPE_BYTES));
	}
	close(raw);
}

/* All that splices of that length give until nothing is left, in a static text. */
static char *splice_all(int fd, int *pipes, size_t len)
{
	static char text[1 << 20];
	size_t done = 0;
	ssize_t got;

	while (done < sizeof(text) - len &&
	       (got = splice(fd, NULL, pipes[1], NULL, len, SPLICE_F_NONBLOCK)) > 0)
		while (got > 0) {
			ssize_t part = read(pipes[0], text + done, got);

			if (part <= 0)
				return NULL;
			done += part;
			got -= part;
		}
	text[done] = '\0';
	return text;
}

#define TEXT_EVENTS	50

/* READ-24 */
TEST_F(pipe, splice_of_many_pages_gives_every_line)
{
	char *line;
	int count = 0;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	ASSERT_EQ(0, write_events(&self->ti, TEXT_EVENTS, EVENT_LARGE));
	/* A line has three characters for each byte, and begins with the task. */
	line = strtok(splice_all(self->fd, self->pipes, 16 * PIPE_BYTES), "\n");
	for (; line; line = strtok(NULL, "\n"), count++)
		EXPECT_LT(3 * (EVENT_LARGE - 8), strlen(line));
	EXPECT_EQ(TEXT_EVENTS, count);
}

/*
 * How much of an event the kernel took: 6.1 cuts it in sub-buffers of a page. It is
 * copied without faulting, so the bytes have to be there.
 */
static ssize_t write_long(struct trace_instance *ti, size_t size)
{
	static char bytes[4096];
	struct event_payload *payload = (void *)bytes;

	memset(bytes, 0x5a, sizeof(bytes));
	payload->tag = EVENT_TAG;
	payload->seq = ti->seq++;
	return write(ti->marker, bytes, size);
}

/* SUBBUF-19: A dump of more than a page, and one of more than a line of trace_pipe has. */
TEST_F(pipe, splice_prints_LINE_TOO_BIG_and_goes_on)
{
	static const int sizes[] = { 1500, 3000 };
	unsigned int i;
	ssize_t taken;
	char *text;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
		taken = write_long(&self->ti, sizes[i]);
		ASSERT_LT(0, taken);
		ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
		text = splice_all(self->fd, self->pipes, 16 * PIPE_BYTES);
		ASSERT_NE(NULL, text);
		if (3 * taken > getpagesize())
			EXPECT_NE(NULL, strstr(text, "[LINE TOO BIG]\n"));
		text = strrchr(text, '#');
		ASSERT_NE(NULL, text);
		EXPECT_NE(NULL, strstr(text, " buf: "));
		EXPECT_GT(200, strlen(text));
	}
}

/* POLL-4: Documentation/trace/ftrace.rst says it of trace_pipe; Linux does it for both. */
TEST_F(pipe, the_block_option_makes_poll_call_both_files_readable)
{
	int raw = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
			   O_RDONLY | O_NONBLOCK);

	ASSERT_LE(0, raw);
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	expect_readable(_metadata, self->fd, 0);
	expect_readable(_metadata, raw, 0);
	ASSERT_EQ(0, instance_write(&self->ti, "options/block", "1"));
	expect_readable(_metadata, self->fd, 1);
	expect_readable(_metadata, raw, 1);
	ASSERT_EQ(0, instance_write(&self->ti, "options/block", "0"));
	expect_readable(_metadata, self->fd, 0);
	expect_readable(_metadata, raw, 0);
	close(raw);
}

/* Readers take turns on a mapped buffer, whose events have times to be compared. */
#define APART_MS	30
/* The clock may be read without a lock, and is printed in microseconds. */
#define SLACK_NS	5000000
#define NR_TIMES	64

FIXTURE(turns) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;
	struct tally		tally;
	/* when an event of that number was written, at the earliest and the latest */
	long long		from[NR_TIMES];
	long long		to[NR_TIMES];
};

FIXTURE_VARIANT(turns) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(turns, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(turns, instance_large) INSTANCE_LARGE;

FIXTURE_SETUP(turns)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	ASSERT_EQ(0, instance_write(&self->ti, "trace_clock", "mono"));
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
}

FIXTURE_TEARDOWN(turns)
{
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* So far apart that no event can be taken for another one by its time. */
static void write_timed(struct __test_metadata *_metadata, FIXTURE_DATA(turns) * self,
			unsigned int count)
{
	uint32_t seq;

	while (count--) {
		seq = self->ti.seq % NR_TIMES;
		sleep_ms(APART_MS);
		self->from[seq] = monotonic_ns();
		ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
		self->to[seq] = monotonic_ns();
	}
}

/* The time in front of ": # 72627473 buf:", in nanoseconds; 0 where there is none. */
static long long time_of_line(const char *line)
{
	char tag[32];
	const char *p;

	snprintf(tag, sizeof(tag), ": # %x buf:", EVENT_TAG);
	p = strstr(line, tag);
	if (!p)
		return 0;
	while (p > line && p[-1] != ' ')
		p--;
	return strtod(p, NULL) * 1e9;
}

/* Prints all there is: the events from number @seq on, at the time they were written. */
static void expect_times(struct __test_metadata *_metadata, FIXTURE_DATA(turns) * self,
			 const char *file, uint32_t seq)
{
	static char text[65536];
	int fd = cpu_file(&self->ti, self->ti.cpu, file, O_RDONLY | O_NONBLOCK);
	size_t len = 0;
	ssize_t got;
	char *line;

	ASSERT_LE(0, fd);
	while ((got = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += got;
	close(fd);
	text[len] = '\0';
	EXPECT_EQ(NULL, strstr(text, "LOST"));
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		long long ns = time_of_line(line);

		if (!ns)
			continue;
		EXPECT_LE(self->from[seq % NR_TIMES] - SLACK_NS, ns)
			TH_LOG("event %u: %s", seq, line);
		EXPECT_GE(self->to[seq % NR_TIMES] + SLACK_NS, ns)
			TH_LOG("event %u: %s", seq, line);
		seq++;
	}
	EXPECT_EQ(self->ti.seq, seq);
}

/*
 * READ-13: GET_READER has taken some events of a sub-buffer, of the first one and of
 * others: the rest has the times it was written at.
 */
TEST_F(turns, times_are_right_behind_get_reader)
{
	uint32_t seq;
	int round;

	for (round = 0; round < 3; round++) {
		write_timed(_metadata, self, 3);
		ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
		seq = self->ti.seq;
		write_timed(_metadata, self, 3);
		expect_times(_metadata, self, "trace", seq);
		expect_times(_metadata, self, "trace_pipe", seq);
		/* Behind trace_pipe, in turn, and to the next sub-buffer. */
		self->tally.next = self->ti.seq;
		write_timed(_metadata, self, 1);
		ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
		seq = self->ti.seq;
		write_timed(_metadata, self, 2);
		expect_times(_metadata, self, "trace", seq);
		expect_times(_metadata, self, "trace_pipe", seq);
		self->tally.next = self->ti.seq;
		ASSERT_LT(0, write_bytes(&self->ti, self->mb.meta->subbuf_size, EVENT_LARGE));
		ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	}
	EXPECT_TRUE(tally_exact(&self->tally));
}

/* READ-13: The same behind a loss that GET_READER told: trace_pipe does not tell it again. */
TEST_F(turns, times_are_right_behind_a_loss)
{
	uint32_t seq;

	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_LT(0, self->tally.lost);
	seq = self->ti.seq;
	write_timed(_metadata, self, 3);
	expect_times(_metadata, self, "trace", seq);
	expect_times(_metadata, self, "trace_pipe", seq);
}

/* READ-14: what no reader has taken, to the last byte. */
TEST_F(turns, bytes_in_stats_are_those_that_are_unread)
{
	long long record, unread;
	unsigned int i;

	ASSERT_EQ(0, instance_write(&self->ti, "trace_clock", "counter"));
	ASSERT_EQ(0, write_events(&self->ti, 10, EVENT_LARGE));
	record = cpu_stat(&self->ti, self->ti.cpu, "bytes") / 10;
	EXPECT_LT(EVENT_LARGE, record);
	for (i = 0; i < 60; i++) {
		if (i % 4 != 3)
			ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
		unread = self->ti.seq - self->tally.seen;
		EXPECT_EQ(unread, cpu_stat(&self->ti, self->ti.cpu, "entries"));
		EXPECT_EQ(unread * record, cpu_stat(&self->ti, self->ti.cpu, "bytes"));
		ASSERT_EQ(0, write_events(&self->ti, 1 + i % 3 * self->ti.subbuf_kb, EVENT_LARGE));
	}
	EXPECT_EQ(0, self->tally.lost);
	EXPECT_TRUE(tally_exact(&self->tally));
}

/* The number of the event in @line, -1 where a loss is told, or -2: it was overwritten. */
static long long seq_of_line(const char *line, size_t size)
{
	struct event_payload payload;
	unsigned char bytes[1024];
	unsigned int byte;
	const char *p;
	size_t i = 0;
	int len;

	p = strstr(line, " buf:");
	if (!p)
		return strstr(line, "LOST") ? -1 : -2;
	for (p += 5; i < sizeof(bytes) && sscanf(p, " %2x%n", &byte, &len) == 1; p += len)
		bytes[i++] = byte;
	/* The tag is what is ahead of "buf:" */
	memcpy(&payload.seq, bytes, sizeof(payload.seq));
	if (i < size - sizeof(payload.tag))
		return -2;
	for (i = sizeof(payload.seq); i < size - sizeof(payload.tag); i++) {
		if (bytes[i] != (payload.seq & 0xff))
			return -2;
	}
	return payload.seq;
}

static pid_t fork_taker(struct trace_instance *ti)
{
	struct mapped_buffer own;
	pid_t pid = fork();

	if (pid)
		return pid;
	if (run_on_cpu(ti->other_cpu) || buffer_map(&own, ti, ti->cpu, O_NONBLOCK))
		_exit(1);
	while (!ioctl(own.fd, TRACE_MMAP_IOCTL_GET_READER))
		;
	_exit(2);
}

/* READ-12: What trace_pipe prints is neither consumed nor overwritten meanwhile. */
TEST_F(turns, trace_pipe_prints_events_in_their_order_beside_get_reader)
{
	long long end = monotonic_ns() + COMPETE_MS * 1000000LL, seq, last = -1;
	int fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe", O_RDONLY);
	FILE *pipe = fdopen(fd, "r");
	unsigned int lines = 0;
	pid_t writer, taker;
	char line[4096];

	ASSERT_NE(NULL, pipe);
	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	writer = fork_stubborn_writer(&self->ti, EVENT_LARGE);
	taker = fork_taker(&self->ti);
	while (monotonic_ns() < end && fgets(line, sizeof(line), pipe)) {
		seq = seq_of_line(line, EVENT_LARGE);
		if (seq == -1)
			continue;
		EXPECT_LT(last, seq)
			TH_LOG("after %u lines: %s", lines, line);
		if (seq <= last)
			break;
		last = seq;
		lines++;
	}
	/* It gets somewhere, on a slow machine as well. */
	EXPECT_LT(20, lines);
	EXPECT_EQ(-EAGAIN, child_status(taker, 0));
	kill_child(taker);
	kill_child(writer);
	fclose(pipe);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0
/*
 * Test sink.h: all bytes get through a pipe with a slow reader, the end of the reader or a
 * signal ends the writing, and places that are unfit for such a file are refused.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "sink.h"
#include "stop.h"

enum { SIZE = 300000 };

static unsigned char data[SIZE];

/* What reads the pipe: so many bytes, and then it ends. */
static pid_t reads(int *to, size_t size)
{
	unsigned char got[5000];
	int ends[2];
	pid_t pid;

	CHECK(!pipe2(ends, O_CLOEXEC));
	*to = ends[1];
	pid = fork();
	if (pid) {
		CHECK(!close(ends[0]));
		return pid;
	}
	close(ends[1]);
	for (size_t at = 0; at < size; ) {
		ssize_t n = read(ends[0], got, sizeof(got));

		usleep(200);
		CHECK(n > 0 && !memcmp(got, data + at, n));
		at += n;
	}
	_exit(0);
}

static void check_ended(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

/* The same for one that must not be blocked: the one who has opened it may have it so. */
static void test_put(int flags)
{
	int to;
	pid_t pid = reads(&to, SIZE);

	CHECK(!fcntl(to, F_SETFL, flags) && !sink_is_gone(to));
	CHECK(!sink_put(to, data, SIZE, 0));
	check_ended(pid);
	CHECK(sink_is_gone(to));
	CHECK(sink_put(to, data, 1, 0) == -EPIPE);
	close(to);
}

static void test_gone(void)
{
	int to;
	pid_t pid = reads(&to, 5000);

	CHECK(sink_put(to, data, SIZE, 0) == -EPIPE && sink_is_gone(to));
	check_ended(pid);
	close(to);
}

static void interrupt(int sig)
{
	(void)sig;
	raise(SIGINT);
}

/* One that had come before does not end it. */
static void test_signal(void)
{
	int ends[2];

	CHECK(!pipe2(ends, O_CLOEXEC) && !raise(SIGINT) && stop_signals() == 1);
	CHECK(!sink_put(ends[1], data, 1, 1));
	CHECK(signal(SIGALRM, interrupt) != SIG_ERR);
	alarm(1);
	CHECK(sink_put(ends[1], data, SIZE, 1) == -EINTR && stop_signals() == 2);
	stop_forget();
	CHECK(!stop_signals() && !sink_put(ends[1], data, 0, 0));
	close(ends[0]);
	close(ends[1]);
}

/* In another process, with @fd as standard output, what is said there. */
static int status_of(int fd, int (*what)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		CHECK(null >= 0 && dup2(null, STDERR_FILENO) >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
		_exit(-what());
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* What else is written to standard output does not get into the file. */
static int writes_other(void)
{
	int fd = sink_take_stdout();

	CHECK(fd > STDERR_FILENO && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK(write(STDOUT_FILENO, "other", 5) == 5 && write(fd, "file", 4) == 4);
	return 0;
}

static int is_open(void)
{
	return sink_check_open("");
}

static int is_full(void)
{
	return sink_failed(ENOSPC);
}

static void test_stdout(void)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY), null = open("/dev/null", O_RDONLY);
	char text[16] = "";
	int ends[2];

	CHECK(terminal >= 0 && null >= 0 && !pipe2(ends, O_CLOEXEC));
	CHECK(status_of(terminal, sink_check) == EINVAL);
	CHECK(status_of(null, sink_check) == EBADF);
	CHECK(status_of(ends[1], sink_check) == 0);
	CHECK(status_of(null, is_open) == EBADF && status_of(terminal, is_open) == 0);
	CHECK(status_of(null, is_full) == EBADF && status_of(terminal, is_full) == ENOSPC);
	CHECK(status_of(ends[1], writes_other) == 0);
	CHECK(read(ends[0], text, sizeof(text) - 1) == 4 && !strcmp(text, "file"));
	close(terminal);
	close(null);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	for (unsigned int i = 0; i < SIZE; i++)
		data[i] = i * 2654435761U >> 24;
	CHECK(!stop_on_signals());
	test_put(0);
	test_put(O_NONBLOCK);
	test_gone();
	test_signal();
	test_stdout();
	printf("ok - sink\n");
	return 0;
}

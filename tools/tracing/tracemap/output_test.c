// SPDX-License-Identifier: GPL-2.0
/*
 * Test output.h with a terminal and a pipe: control sequences must not reach a
 * terminal, and the program must wait for a reader that takes nothing only as long as
 * it should.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "clock.h"
#include "output.h"

/* What comes out at @from when lines with @text are written to @to. */
static void expect(int to, int from, const char *text, const char *wanted)
{
	struct output out = { .fd = to };
	char got[256];
	ssize_t n;

	for (int i = 0; i < 2; i++) {
		output_begin_line(&out);
		tracemap_line_put(&out.line, text, strlen(text));
		tracemap_line_put(&out.line, "\n", 1);
		CHECK(!output_end_line(&out));
	}
	CHECK(!output_flush(&out) && out.lines == 2);
	n = read(from, got, sizeof(got) - 1);
	CHECK(n > 0);
	got[n] = '\0';
	n = strlen(wanted);
	if (strncmp(got, wanted, n) || got[n] != '\n' || strncmp(got + n + 1, wanted, n) ||
	    strcmp(got + 2 * n + 1, "\n")) {
		fprintf(stderr, "got %s, not twice %s\n", got, wanted);
		exit(1);
	}
	tracemap_line_free(&out.line);
}

static int open_terminal(int *master)
{
	struct termios raw;
	int fd;

	*master = posix_openpt(O_RDWR | O_NOCTTY);
	CHECK(*master >= 0 && !grantpt(*master) && !unlockpt(*master));
	fd = open(ptsname(*master), O_RDWR | O_NOCTTY);
	CHECK(fd >= 0 && !tcgetattr(fd, &raw));
	cfmakeraw(&raw);
	CHECK(!tcsetattr(fd, TCSANOW, &raw));
	return fd;
}

static const struct {
	const char *text;
	const char *on_terminal;
} texts[] = {
	{ "plain\ttext", "plain\ttext" },
	{ "\33[2J\33]0;title\7", "\\x1b[2J\\x1b]0;title\\x07" },
	{ "a\rb\bc\177", "a\\x0db\\x08c\\u007f" },
	{ "\302\23331m \303\244 \342\202\254 \360\235\204\236",
	  "\\u009b31m \303\244 \342\202\254 \360\235\204\236" },
	{ "\233m \303 \342\202", "\\x9bm \\xc3 \\xe2\\x82" },
	/* Longer than it need be, a surrogate, and behind the last character. */
	{ "\340\202\233 \355\240\200 \364\220\200\200",
	  "\\xe0\\x82\\x9b \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80" },
};

#define NR_TEXTS	(sizeof(texts) / sizeof(texts[0]))

static double seconds_since(uint64_t ns)
{
	return (now_ns() - ns) / 1e9;
}

/* More than a pipe or a socket takes at once. */
static void put_much(struct output *out)
{
	static const char much[1 << 20];

	tracemap_line_put(&out->line, much, sizeof(much));
}

static void read_all(int fd)
{
	static char bytes[1 << 16];

	CHECK(!fcntl(fd, F_SETFL, O_NONBLOCK));
	while (read(fd, bytes, sizeof(bytes)) > 0)
		;
	CHECK(errno == EAGAIN && !fcntl(fd, F_SETFL, 0));
}

enum { LINES = 100000 };

static void check_lines(const char *text, size_t size)
{
	const char *at = text;
	char *end;

	for (long i = 0; i < LINES; i++) {
		CHECK(strtol(at, &end, 10) == i && *end == '\n');
		at = end + 1;
	}
	CHECK(at == text + size);
}

/* Bit by bit, as the reader has room: each byte comes once, and in order. */
static void expect_all(int to, int from)
{
	struct output out = { .fd = to };
	static char got[16 * LINES];
	size_t size = 0;
	int status;
	pid_t pid;

	for (int i = 0; i < LINES; i++)
		tracemap_line_printf(&out.line, "%d\n", i);
	output_never_wait(&out);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		close(from);
		_exit(output_flush(&out) || out.lines != LINES);
	}
	while (size < out.line.length) {
		ssize_t n = read(from, got + size, out.line.length - size);

		CHECK(n > 0);
		size += n;
	}
	check_lines(got, size);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	tracemap_line_free(&out.line);
}

static void expect_patience(int to, int from)
{
	struct output out = { .fd = to };
	uint64_t begin = now_ns();

	alarm(60);	/* write() would wait for ever */
	output_never_wait(&out);
	put_much(&out);
	out.deadline = begin + 1000000000;
	CHECK(output_flush(&out) == -ETIMEDOUT && out.written && !out.line.length);
	CHECK(seconds_since(begin) >= 1 + OUTPUT_PATIENCE_MS / 1000.0);
	/* What is taken at once is printed though the deadline is over. */
	read_all(from);
	tracemap_line_put(&out.line, "line\n", 5);
	CHECK(!output_flush(&out) && out.lines == 1);
	tracemap_line_free(&out.line);
	alarm(0);
}

/* An event counts when all of its lines were written. A full pipe takes some of them. */
static void test_events(void)
{
	struct output out = { .fd = -1 };
	int ends[2], ret = 0, size;
	char much[1 << 14];
	uint64_t n;

	CHECK(!pipe(ends));
	size = fcntl(ends[1], F_SETPIPE_SZ, 1 << 16);
	CHECK(size > 0 && size <= 1 << 17);
	out.fd = ends[1];
	output_never_wait(&out);
	out.deadline = 1;
	memset(much, '.', sizeof(much));
	much[sizeof(much) - 1] = '\n';
	for (n = 0; !ret; n++) {
		output_begin_line(&out);
		tracemap_line_put(&out.line, "lost\n", 5);
		CHECK(!output_end_line(&out));
		output_begin_line(&out);
		tracemap_line_put(&out.line, much, sizeof(much));
		ret = output_end_event(&out);
	}
	CHECK(ret == -ETIMEDOUT && out.events == out.written / (sizeof(much) + 5));
	CHECK(out.events && out.events < n);
	read_all(ends[0]);
	n = out.events;
	tracemap_line_put(&out.line, "line\n", 5);
	CHECK(!output_end_event(&out) && !output_flush(&out) && out.events == n + 1);
	output_free(&out);
}

/* A reader that takes a little again and again, until it is killed. */
static pid_t begin_to_sip(int fd)
{
	const struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
	pid_t pid = fork();
	char sip[4096];

	CHECK(pid >= 0);
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!pid && read(fd, sip, sizeof(sip)) > 0)
		nanosleep(&pause, NULL);
	return pid;
}

/* After a signal such a reader is not waited for to the end: that would take 13 seconds. */
static void test_signal(void)
{
	struct output out = { .fd = -1 };
	uint64_t begin;
	pid_t reader;
	int ends[2];

	CHECK(!pipe(ends) && !stop_on_signals());
	reader = begin_to_sip(ends[0]);
	out.fd = ends[1];
	output_never_wait(&out);
	CHECK(!stop_ms());
	raise(SIGINT);
	begin = now_ns();
	put_much(&out);
	CHECK(output_flush(&out) == -ETIMEDOUT);
	CHECK(seconds_since(begin) >= (OUTPUT_PATIENCE_MS - 2) / 1000.0);
	CHECK(seconds_since(begin) < 2 * OUTPUT_PATIENCE_MS / 1000.0);
	CHECK(!kill(reader, SIGKILL) && waitpid(reader, NULL, 0) == reader);
	output_free(&out);
}

/* A signal that came right before a wait ends it, and the next wait is one again. */
static void test_wait(void)
{
	uint64_t begin = now_ns();
	int ends[2];

	CHECK(!pipe(ends));
	raise(SIGINT);
	CHECK(stop_wait(-1, 60000) > 0);
	raise(SIGINT);
	CHECK(stop_wait(ends[0], -1) > 0);
	CHECK(write(ends[1], "", 1) == 1 && stop_wait(ends[0], -1) > 0);
	CHECK(seconds_since(begin) < 10 && !stop_wait(-1, 20));
	CHECK(seconds_since(begin) >= 0.02 && !close(ends[0]) && !close(ends[1]));
}

static void note_time(void *arg)
{
	uint64_t *at = arg;

	CHECK(!*at);
	*at = now_ns();
}

/* Nor is it after the time has ended, of which the caller learns at once, and once. */
static void test_time(void)
{
	uint64_t begin, at = 0;
	struct output out = { .at_end = note_time, .arg = &at };
	pid_t reader;
	int ends[2];

	CHECK(!pipe(ends));
	reader = begin_to_sip(ends[0]);
	out.fd = ends[1];
	output_never_wait(&out);
	begin = now_ns();
	out.deadline = begin + 200 * 1000 * 1000;
	CHECK(!output_end_ms(&out));
	put_much(&out);
	CHECK(output_flush(&out) == -ETIMEDOUT && output_end_ms(&out) >= OUTPUT_PATIENCE_MS);
	CHECK(seconds_since(begin) >= 0.2 + (OUTPUT_PATIENCE_MS - 2) / 1000.0);
	CHECK(at >= out.deadline && at < out.deadline + 1000000000);
	CHECK(seconds_since(begin) < 2 * OUTPUT_PATIENCE_MS / 1000.0);
	CHECK(!kill(reader, SIGKILL) && waitpid(reader, NULL, 0) == reader);
	output_free(&out);
}

/* What was closed takes nothing, though another file may be in its place. */
static void test_closed(void)
{
	struct output out = { .fd = open("/dev/null", O_RDONLY) };

	output_never_wait(&out);
	tracemap_line_put(&out.line, "line\n", 5);
	CHECK(output_flush(&out) == -EBADF);
	output_free(&out);
}

/* What the user is told of an error, which is all that there is on standard error. */
static void expect_told(int error, const char *wanted)
{
	struct output out = { .lines = 7 };
	int ends[2], before = dup(STDERR_FILENO);
	char got[512] = "";

	CHECK(before >= 0 && !pipe(ends) && dup2(ends[1], STDERR_FILENO) >= 0);
	CHECK(output_failed(&out, error) == (*wanted != '\0'));
	CHECK(dup2(before, STDERR_FILENO) >= 0 && !close(before) && !close(ends[1]));
	CHECK(read(ends[0], got, sizeof(got) - 1) >= 0 && !close(ends[0]));
	if (strcmp(got, wanted)) {
		fprintf(stderr, "told: %s\nwanted: %s\n", got, wanted);
		exit(1);
	}
}

static void test_errors(void)
{
	expect_told(-ENOMEM,
		    "tracemap: not enough memory to print an event, after 7 whole lines\n");
	expect_told(-ENOSPC, "tracemap: standard output, after 7 whole lines: No space left on "
		    "device: make room there, or write elsewhere\n");
	expect_told(-ETIMEDOUT, "tracemap: standard output: given up, after 7 whole lines, as "
		    "its reader did not take it within 3 seconds\n");
	expect_told(-EPIPE, "");
}

int main(void)
{
	int master, terminal = open_terminal(&master), ends[2];

	CHECK(!pipe(ends));
	for (unsigned int i = 0; i < NR_TEXTS; i++) {
		expect(terminal, master, texts[i].text, texts[i].on_terminal);
		expect(ends[1], ends[0], texts[i].text, texts[i].text);
	}
	expect_all(ends[1], ends[0]);
	expect_patience(ends[1], ends[0]);
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	expect_all(ends[1], ends[0]);
	expect_patience(ends[1], ends[0]);
	test_events();
	test_closed();
	test_errors();
	test_time();
	test_signal();
	test_wait();
	printf("ok - output, %zu texts to a terminal and to a pipe\n", NR_TEXTS);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * A trace.dat that comes by standard input.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "report_input.h"
#include "stop.h"
#include "temp_file.h"
#include "trace_dat.h"

/* The beginning of what came, and how much that is. */
struct begun {
	char magic[TRACE_HEAD_MAGIC_SIZE];
	uint64_t size;
};

/* Returns whether to go on. */
static bool go_on(void)
{
	static bool told;

	if (!stop_signals())
		return true;
	if (stop_signals() > 1 || stop_last_signal() != SIGINT)
		return false;
	if (!told)
		say("standard input: what still comes is waited for; another Ctrl-C ends that");
	told = true;
	return true;
}

/* Returns how many bytes came, 0 at the end, or a negative errno. */
static ssize_t take(void *buffer, size_t size)
{
	while (go_on()) {
		ssize_t n = stop_wait(STDIN_FILENO, -1);

		if (n == -EINTR || !go_on())
			continue;
		n = read(STDIN_FILENO, buffer, size);
		if (n >= 0 || (errno != EINTR && errno != EAGAIN))
			return n < 0 ? -errno : n;
	}
	return -EINTR;
}

/* Endless input of another kind is refused at once. */
static bool is_other(struct begun *b, const char *data, size_t size)
{
	for (size_t i = 0; i < size && b->size + i < sizeof(b->magic); i++)
		b->magic[b->size + i] = data[i];
	b->size += size;
	return b->size >= sizeof(b->magic) && !trace_head_magic(b->magic);
}

static int cannot_keep(int error)
{
	return complain(ABOUT_OUTPUT, error,
			"%s, where standard input is kept (TMPDIR names another folder)",
			temp_folder());
}

static int failed(int error)
{
	if (error == -EINTR)
		say("standard input: a signal came before its end: nothing is printed");
	else
		say("standard input: %s", strerror(-error));
	return error;
}

static int no_trace(void)
{
	say("standard input: it is no trace.dat, and may be empty: pipe one into it, as tracemap record -o - does, or name a file");
	return -ENODATA;
}

static int copy(int fd)
{
	static char buffer[1 << 16];
	struct begun b = { .size = 0 };
	ssize_t n;
	int ret = 0;

	while (!ret && (n = take(buffer, sizeof(buffer)))) {
		if (n < 0)
			return failed(n);
		if (is_other(&b, buffer, n))
			return no_trace();
		ret = trace_dat_write_at(fd, buffer, n, b.size - n);
		if (ret)
			cannot_keep(ret);
	}
	if (!ret && b.size < sizeof(b.magic))
		ret = no_trace();
	stop_forget();
	return ret;
}

/* Of a file no byte is taken to find that out. */
bool report_input_is_meant(void)
{
	char magic[TRACE_HEAD_MAGIC_SIZE];
	struct stat st;

	if (fstat(STDIN_FILENO, &st))
		return false;
	if (!S_ISREG(st.st_mode))
		return S_ISFIFO(st.st_mode);
	return pread(STDIN_FILENO, magic, sizeof(magic), 0) == sizeof(magic) &&
	       trace_head_magic(magic);
}

int report_input(void)
{
	struct stat st;
	int fd, ret;

	if (!fstat(STDIN_FILENO, &st) && S_ISREG(st.st_mode))
		return STDIN_FILENO;
	if (isatty(STDIN_FILENO)) {
		say("standard input is a terminal: name a trace.dat, or pipe one into it: tracemap record -o - ... | tracemap report -");
		return -EINVAL;
	}
	fd = temp_file();
	if (fd < 0)
		return cannot_keep(fd);
	ret = copy(fd);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

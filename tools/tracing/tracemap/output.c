// SPDX-License-Identifier: GPL-2.0
/*
 * Lines for standard output.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "clock.h"
#include "output.h"
#include "stop.h"
#include "utf8.h"

void output_begin_line(struct output *out)
{
	out->start = out->line.length;
}

static bool is_terminal(struct output *out)
{
	if (!out->terminal)
		out->terminal = isatty(out->fd) ? 1 : -1;
	return out->terminal > 0;
}

/* Whether a terminal may obey it: control characters, with U+0080 to U+009F, and bad UTF-8 */
static bool is_command(const unsigned char *text, size_t size)
{
	if (size == 1)
		return (*text < 0x20 && *text != '\n' && *text != '\t') || *text >= 0x7f;
	return *text == 0xc2 && text[1] < 0xa0;
}

/* As in JSON, whose text has no bytes below U+0020 and no bad UTF-8 */
static void put_escaped(struct tracemap_line *line, const unsigned char *text, size_t size)
{
	if (size == 1 && *text != 0x7f)
		tracemap_line_printf(line, "\\x%02x", *text);
	else
		tracemap_line_printf(line, "\\u%04x", text[size - 1]);
}

static void escape_line(struct output *out)
{
	const unsigned char *text = (unsigned char *)out->line.text + out->start;
	const unsigned char *end = (unsigned char *)out->line.text + out->line.length;
	struct tracemap_line escaped = TRACEMAP_LINE_INIT;
	const unsigned char *plain = text;

	while (text < end) {
		size_t length = utf8_length(text, end - text), size = length ? length : 1;

		if (is_command(text, size)) {
			tracemap_line_put(&escaped, plain, text - plain);
			put_escaped(&escaped, text, size);
			plain = text + size;
		}
		text += size;
	}
	if (escaped.text) {
		tracemap_line_put(&escaped, plain, end - plain);
		out->line.length = out->start;
		tracemap_line_put(&out->line, escaped.text, escaped.length);
	}
	if (escaped.error)
		out->line.error = escaped.error;
	tracemap_line_free(&escaped);
}

void output_escape_line(struct output *out)
{
	if (!out->line.error && out->line.length && is_terminal(out))
		escape_line(out);
}

int output_end_line(struct output *out)
{
	output_escape_line(out);
	if (out->line.error)
		return out->line.error;
	return out->line.length < OUTPUT_MUCH ? 0 : output_flush(out);
}

static int add_end(struct output *out)
{
	if (out->nr_ends == out->room_ends) {
		unsigned int room = out->room_ends ? 2 * out->room_ends : 1024;
		size_t *ends = realloc(out->ends, room * sizeof(*ends));

		if (!ends)
			return -ENOMEM;
		out->ends = ends;
		out->room_ends = room;
	}
	out->ends[out->nr_ends++] = out->line.length;
	return 0;
}

int output_end_event(struct output *out)
{
	int ret;

	output_escape_line(out);
	ret = add_end(out);
	return ret ? ret : output_end_line(out);
}

static void count_events(struct output *out, size_t written)
{
	for (unsigned int i = 0; i < out->nr_ends && out->ends[i] <= written; i++)
		out->events++;
	out->nr_ends = 0;
}

void output_free(struct output *out)
{
	tracemap_line_free(&out->line);
	free(out->ends);
	out->ends = NULL;
}

/* The first signal asks for an orderly end, which is not an error yet. */
static int unless_interrupted(int error)
{
	return error == -EINTR && stop_signals() < 2 ? 0 : error;
}

/* Returns the milliseconds to the end, -1 if none is set, 0 if it has come. */
static int until_end(const struct output *out)
{
	uint64_t now = now_ns(), ms;

	if (stop_signals())
		return 0;
	if (!out->deadline)
		return -1;
	ms = out->deadline > now ? (out->deadline - now) / 1000000 + 1 : 0;
	return ms < INT_MAX ? ms : INT_MAX;
}

unsigned int output_end_ms(const struct output *out)
{
	uint64_t now = now_ns(), since = 0;

	if (out->deadline && now > out->deadline)
		since = (now - out->deadline) / 1000000 ?: 1;
	if (since > INT_MAX)
		since = INT_MAX;
	return since > stop_ms() ? since : stop_ms();
}

/* How much longer to wait for a reader that takes nothing */
static int patience(const struct output *out)
{
	int ms = output_end_ms(out);

	return ms < OUTPUT_PATIENCE_MS ? OUTPUT_PATIENCE_MS - ms : 0;
}

/* The reader takes nothing now. Wait for it, but not much beyond the end. */
static int wait_for_room(struct output *out)
{
	struct pollfd p[] = {
		{ .fd = out->fd, .events = POLLOUT },
		{ .fd = stop_fd, .events = POLLIN },
	};
	int before_end = until_end(out);
	int n = poll(p, 2, before_end ? before_end : patience(out));

	if (n > 0 && p[1].revents)
		stop_clear_fd();
	if (n < 0 || stop_signals() > 1)
		return unless_interrupted(-EINTR);
	return n || before_end ? 0 : -ETIMEDOUT;
}

static ssize_t put(const struct output *out, const char *data, size_t size)
{
	if (out->is_socket)
		return send(out->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	return write(out->fd, data, size);
}

/* A full disk may have cut a line: report how many are whole. */
static int write_once(struct output *out, const char *data, size_t size)
{
	ssize_t n = put(out, data, size);

	if (n <= 0)
		return n ? -errno : -EIO;
	out->written += n;
	for (const char *end; (end = memchr(data, '\n', n)); ) {
		out->lines++;
		n -= end + 1 - data;
		data = end + 1;
	}
	return 0;
}

static void call_at_end(struct output *out)
{
	void (*at_end)(void *arg) = out->at_end;

	if (!at_end || until_end(out))
		return;
	out->at_end = NULL;
	at_end(out->arg);
}

static int write_some(struct output *out, const char *data, size_t size)
{
	int ret;

	call_at_end(out);
	ret = write_once(out, data, size);
	if (ret == -EAGAIN)
		return wait_for_room(out);
	return unless_interrupted(ret);
}

int output_flush(struct output *out)
{
	unsigned long long begin = out->written;
	int ret = out->line.error;

	while (!ret && out->written - begin < out->line.length) {
		size_t at = out->written - begin;

		ret = write_some(out, out->line.text + at, out->line.length - at);
	}
	count_events(out, out->written - begin);
	out->line.length = 0;
	out->start = 0;
	return ret;
}

bool output_failed(const struct output *out, int error)
{
	if (error == -EPIPE)	/* the reader has ended, such as "| head" */
		return false;
	if (error == -ENOMEM)
		say("not enough memory to print an event, after %llu whole lines", out->lines);
	else if (error == -EINTR || error == -ETIMEDOUT)
		say("standard output: given up, after %llu whole lines, as %s", out->lines,
		    error == -EINTR ? "a second signal came" :
		    "its reader did not take it within 3 seconds");
	else
		complain(ABOUT_OUTPUT, error, "standard output, after %llu whole lines",
			 out->lines);
	return true;
}

void output_never_wait(struct output *out)
{
	struct stat st;
	char path[32];
	int fd;

	if (fstat(out->fd, &st) < 0)
		return;
	out->is_socket = S_ISSOCK(st.st_mode);
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return;
	/* A closed standard output is /dev/null for reading: opened again, it would take text. */
	if ((fcntl(out->fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", out->fd);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0)
		out->fd = fd;
}

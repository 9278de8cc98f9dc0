// SPDX-License-Identifier: GPL-2.0
/*
 * What becomes of a recording.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advice.h"
#include "clock.h"
#include "record_end.h"
#include "sink.h"
#include "stop.h"
#include "temp_file.h"
#include "trace_dat_send.h"
#include "trace_dat_zstd.h"
#include "verbs.h"

#define SLOW_MS		1000	/* what takes longer is told */

void record_end_bytes(char *text, size_t size, uint64_t bytes)
{
	static const char units[] = "KMGT";
	double value = bytes / 1024.0;
	int unit = 0;

	while (value >= 1024 && units[unit + 1]) {
		value /= 1024;
		unit++;
	}
	snprintf(text, size, "%.1f %ciB", value, units[unit]);
}

void record_end_gone(struct record_end *e)
{
	if (!e->pipe_gone)
		say("standard output: its reader has ended: the recording ends, and is lost");
	e->pipe_gone = true;
	if (!e->missing)
		e->missing = "nothing of this was written";
}

/* ---- The head ---- */

/* The disk that was full at the end of the recording still is: that is said once. */
static void tell_output_error(struct record_end *e, int error, const char *so)
{
	e->failed = true;
	if (e->write_failed && error == recording_error(e->recording))
		say("%s: %s", e->file, so);
	else
		complain(ABOUT_OUTPUT, error, "%s: %s", e->file, so);
}

static void refresh_head(struct record_end *e)
{
	int ret = dat_complete_head(e->recording->dat);

	if (ret)
		complain(ABOUT_TRACEFS, ret, "%s", e->dir);
	ret = e->pipe >= 0 ? 0 : trace_dat_replace_head(e->recording->dat->file);
	if (!ret)
		return;
	tell_output_error(e, ret,
			  "names and formats of events stay those of its beginning");
}

int record_end_next(struct record_end *e, const char *path, struct trace_dat **old)
{
	refresh_head(e);
	return recording_next(e->recording, path, old);
}

/* ---- Moving the data ---- */

/* The data are moved into the file, compressed, or written to a pipe: struct trace_dat_watch. */
struct moving {
	const char *file;
	const char *what;
	const char *then;	/* what a signal does */
	double started;
	int signals;	/* that had come before */
	bool quiet;
	bool terminal;
	bool told;
};

static void tell_moving(struct moving *m, uint64_t moved, uint64_t size)
{
	char done[32], all[32];

	record_end_bytes(done, sizeof(done), moved);
	record_end_bytes(all, sizeof(all), size);
	if (m->terminal)
		fprintf(stderr, "\r%s: %s of %s %s; Ctrl-C %s\33[K", m->file, done, all, m->what,
			m->then);
	else if (!m->told)
		say("%s: %s are %s; another signal %s", m->file, all, m->what, m->then);
	m->told = true;
}

static bool go_on_moving(void *arg, uint64_t moved, uint64_t size)
{
	struct moving *m = arg;

	if (stop_signals() > m->signals)
		return false;
	if (!m->quiet && now_ns() / 1e9 - m->started >= SLOW_MS / 1000.0)
		tell_moving(m, moved, size);
	return true;
}

static struct moving begin_moving(const char *file, bool quiet)
{
	return (struct moving){
		.file = file, .what = "moved into it", .then = "leaves the rest to --restore",
		.started = now_ns() / 1e9, .signals = stop_signals(),
		.quiet = quiet, .terminal = isatty(STDERR_FILENO),
	};
}

static void end_moving(const struct moving *m)
{
	if (m->told && m->terminal)
		fputs("\r\33[K", stderr);
}

static void say_stopped(const char *file)
{
	say("%s: stopped: the events that are not in it yet stay in %s.cpu0 and so on; tracemap record --restore %s goes on moving them into it",
	    file, file, file);
}

/* ---- Compressing them ---- */

/* Compressed, it goes to another file. */
struct compressing {
	struct record_end *e;
	struct moving moving;
};

static int compress_to(void *arg, int fd)
{
	struct compressing *c = arg;
	const struct trace_dat_watch watch = { .go_on = go_on_moving, .arg = &c->moving };
	int ret = trace_dat_zstd(c->e->recording->dat->file, fd, &watch, &c->e->compressed);

	end_moving(&c->moving);
	return ret;
}

static struct compressing begin_compressing(struct record_end *e)
{
	struct compressing c = {
		.e = e, .moving = begin_moving(e->file, e->quiet),
	};

	c.moving.what = "compressed";
	c.moving.then = "leaves them as they are";
	return c;
}

/* What is not compressed is to be whole as it is. */
static void say_not_compressed(struct record_end *e, int error)
{
	e->compressed = 0;
	e->failed = true;
	say("%s: it is not compressed: %s", e->file,
	    error == -EINTR ? "a signal came" : strerror(-error));
}

/* Returns whether it is whole, and compressed. */
static bool compress_file(struct record_end *e)
{
	struct compressing c = begin_compressing(e);
	int ret = trace_dat_replace(e->recording->dat->file, compress_to, &c);

	if (ret)
		say_not_compressed(e, ret);
	return !ret;
}

/* Returns a descriptor of what is compressed, which is for a pipe; or -1. */
static int compress_unnamed(struct record_end *e)
{
	struct compressing c = begin_compressing(e);
	int fd = temp_file(), ret = fd < 0 ? fd : compress_to(&c, fd);

	if (!ret)
		return fd;
	say_not_compressed(e, ret);
	if (fd >= 0)
		close(fd);
	return -1;
}

/* ---- To a pipe ---- */

/* The whole file goes to a pipe. */
struct sending {
	int pipe;
	uint64_t sent, size;
	struct moving moving;
};

static int put(void *arg, const void *data, size_t size)
{
	struct sending *s = arg;

	if (!go_on_moving(&s->moving, s->sent, s->size))
		return -EINTR;
	s->sent += size;
	return sink_put(s->pipe, data, size, s->moving.signals);
}

static int send(struct record_end *e)
{
	int compressed = e->compress ? compress_unnamed(e) : -1, ret;
	struct sending s = {
		.pipe = e->pipe, .size = e->compressed ?: trace_dat_size(e->recording->dat->file),
		.moving = begin_moving(e->file, e->quiet),
	};

	s.moving.what = "written to it";
	s.moving.then = "ends that";
	if (compressed < 0) {
		ret = trace_dat_send(e->recording->dat->file, put, &s);
	} else {
		ret = trace_dat_send_file(compressed, e->compressed, put, &s);
		close(compressed);
	}
	end_moving(&s.moving);
	return ret;
}

static void send_file(struct record_end *e)
{
	int ret;

	if (e->pipe_gone)
		return;
	refresh_head(e);
	ret = send(e);
	if (ret) {
		e->failed = true;
		e->missing = "not all of this was written";
	}
	if (ret == -EPIPE)
		record_end_gone(e);
	else if (ret == -EINTR)
		say("standard output: a signal came: what is written to it is not all");
	else if (ret)
		complain(ABOUT_OUTPUT, ret, "standard output: what is written to it is not all");
	else if (e->write_failed)
		say("the recording ends here, and what it has is written");
}

/* ---- All of it ---- */

/* Killed meanwhile, it is the second process that goes on. */
static void finish_file(struct record_end *e)
{
	struct trace_dat_watch watch = { .go_on = go_on_moving };
	struct moving m;
	int ret;

	refresh_head(e);
	if (e->compress && compress_file(e))
		return;
	m = begin_moving(e->file, e->quiet);
	watch.arg = &m;
	ret = trace_dat_finish(e->recording->dat->file, &watch);
	end_moving(&m);
	if (ret == -EINTR) {
		e->failed = true;
		say_stopped(m.file);
	} else if (ret) {
		tell_output_error(e, ret,
				  "not whole: when there is room, tracemap record --restore moves the rest into it, from the files .cpu0 and so on beside it");
	} else if (e->write_failed) {
		say("the recording ends here: trace-cmd report -i %s reads what it has", m.file);
	}
}

bool record_end_finish(struct record_end *e)
{
	e->failed = e->pipe_gone;
	if (e->pipe >= 0)
		send_file(e);
	else
		finish_file(e);
	return !e->failed;
}

/* ---- After a recorder was killed ---- */

/* Nothing was changed. */
static void restore_refused(int error, const char *path, const char *file)
{
	if (error == -EBUSY)
		say("%s: it is being recorded, or another --restore moves the events into it: it will be whole at the end of that, and nothing was changed",
		    path);
	else if (error == -ENOTRECOVERABLE)
		say("%s: it was cut after its data had been moved into it: what is missing is nowhere else, and nothing was changed; copy the file once more from where it was recorded",
		    path);
	else if (error == -EEXIST)
		say("%s: it is whole, and needs nothing; %s is not of this recording: nothing was changed",
		    path, file);
	else if (error == -ENODATA)
		say("%s: %s is missing, which has the events of a CPU that are to be moved into it, and nothing was changed: put it back; or make an empty file of that name, to go on without these events",
		    path, file);
	else if (error == -ENOENT)
		say("%s: there is no such file", path);
	else if (file)
		say("%s: %s is not of this recording, and nothing was changed: move it away", path,
		    file);
	else
		say("%s: tracemap record did not begin it, or %s.cpu0 and so on are not of this recording: nothing was changed",
		    path, path);
}

static void say_whole(const char *path, const struct trace_dat_restored *restored)
{
	char size[32], moved[32];

	record_end_bytes(size, sizeof(size), restored->size);
	record_end_bytes(moved, sizeof(moved), restored->moved);
	if (!restored->parts)
		say("%s: whole already, with %s of events: nothing was to be restored", path, size);
	else
		say("%s: whole now, with %s of events: %s of these were moved into it from the %u files %s.cpu0 and so on, which are removed",
		    path, size, moved, restored->parts, path);
}

static void tell_restored(int error, const char *path, bool quiet,
			  const struct trace_dat_restored *restored)
{
	switch (error) {
	case 0:
		if (!quiet)
			say_whole(path, restored);
		break;
	case -EINTR:
		say_stopped(path);
		break;
	case -EBUSY:
	case -EEXIST:
	case -EINVAL:
	case -EISDIR:
	case -ENODATA:
	case -ENOENT:
	case -ENOTRECOVERABLE:
		restore_refused(error, path, restored->file);
		break;
	default:
		complain(ABOUT_OUTPUT, error, "%s: the events that are not in it stay in %s.cpu0 and so on",
			 path, path);
	}
}

int record_end_restore(const char *path, bool quiet)
{
	struct moving m = begin_moving(path, quiet);
	const struct trace_dat_watch watch = { .go_on = go_on_moving, .arg = &m };
	struct trace_dat_restored restored;
	int ret = stop_on_signals();

	if (ret)
		return EXIT_FAILED;
	ret = trace_dat_restore(path, false, &watch, &restored);
	end_moving(&m);
	tell_restored(ret, path, quiet, &restored);
	free(restored.file);
	return ret ? EXIT_FAILED : EXIT_OK;
}

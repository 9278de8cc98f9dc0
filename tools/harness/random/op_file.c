// SPDX-License-Identifier: GPL-2.0
/* Operations on open files: they come, go, wait and are asked. */
#define _GNU_SOURCE
#include <poll.h>

#include "random.h"

#define OTHER_COMMAND	_IO('R', 0x21)

static bool any_open(struct order *o)
{
	int tries;

	for (tries = 0; tries < 8; tries++) {
		o->fd = below(FDS);
		if (file_at(o))
			break;
	}
	if (file_at(o)) {
		o->inst = file_at(o)->inst;
		o->cpu = file_at(o)->cpu;
		return true;
	}
	return one_in(20);
}

/* ---- open, close ---- */

static const char *const names[NR_KINDS] = {
	"trace_pipe_raw", "trace", "trace_pipe", "trace_live",
};

static bool choose_open(struct order *o)
{
	int tries;

	for (tries = 0; tries < 4; tries++) {
		o->fd = below(FDS);
		if (!file_at(o))
			break;
	}
	if (file_at(o))
		return false;
	if (!any_instance(o))
		return false;
	o->cpu = below(nr_cpus);
	o->value = one_in(12) ? TRACE : one_in(16) ? PIPE : one_in(4) ? LIVE : RAW;
	if ((o->value == TRACE || o->value == PIPE) && one_in(2))
		o->cpu = -1;
	o->flags = O_RDONLY;
	if (!storm || one_in(2))
		o->flags |= O_NONBLOCK;
	if ((o->value == RAW && one_in(3)) || (o->value == LIVE && one_in(8)))
		o->flags |= O_RDWR;
	/* It empties "trace", and does nothing to the others. */
	if (o->value != TRACE && o->value != PIPE && one_in(8))
		o->flags |= O_TRUNC;
	return true;
}

static void perform_open(const struct order *o, struct answer *a)
{
	const struct trace_instance *ti = dir_of(o->inst);
	int fd;

	if (o->cpu < 0)
		fd = instance_file(ti, names[o->value], o->flags);
	else
		fd = cpu_file(ti, o->cpu, names[o->value], o->flags);
	if (fd < 0) {
		note_result(a, fd);
		return;
	}
	note(a, dup2(fd, fd_of(o)));
	close(fd);
}

/* trace_pipe is for one at a time. */
static enum tri pipe_taken(int inst, int cpu)
{
	int i;

	for (i = 0; i < FILES; i++) {
		if (files[i].refs && files[i].kind == PIPE && files[i].inst == inst &&
		    (cpu < 0 || files[i].cpu < 0 || files[i].cpu == cpu))
			return YES;
	}
	return unless_storm(NO);
}

/* LIVE-3, LIVE-8, LIVE-14, LIVE-15 */
static const char *judge_open(const struct order *o, const struct answer *a)
{
	const char *bad;
	int file;

	judge_begin();
	why_gone(o);
	if (o->value == PIPE)
		why(pipe_taken(o->inst, o->cpu), EBUSY);
	if (o->value == LIVE) {
		why(is(o->flags & (O_RDWR | O_TRUNC)), EACCES);
		why(snapshot_users(o->inst), EBUSY);
		why(unless_storm(NO), ENOMEM);
		why(unless_storm(NO), EINVAL);	/* of an instance made while the CPU was away */
	}
	bad = judged(a);
	if (bad || a->err)
		return bad;
	file = new_file();
	files[file].kind = o->value;
	files[file].inst = o->inst;
	files[file].cpu = o->cpu;
	files[file].flags = o->flags;
	worker_of(o)->fds[o->fd] = file;
	return NULL;
}

static bool choose_close(struct order *o)
{
	return any_open(o);
}

static void perform_close(const struct order *o, struct answer *a)
{
	note(a, close(fd_of(o)));
}

static const char *judge_close(const struct order *o, const struct answer *a)
{
	const char *bad;

	judge_begin();
	why(is(!file_at(o)), EBADF);
	bad = judged(a);
	if (bad || a->err)
		return bad;
	drop_file(worker_of(o)->fds[o->fd]);
	worker_of(o)->fds[o->fd] = -1;
	return NULL;
}

/* ---- poll ---- */

static void perform_poll(const struct order *o, struct answer *a)
{
	struct pollfd pfd = { .fd = fd_of(o), .events = POLLIN };

	if (o->cpu >= 0)
		a->value = stat_entries(o->inst, o->cpu);
	note(a, poll(&pfd, 1, storm ? 10 : 0));
	a->amount = pfd.revents;
}

/* POLL-1, POLL-2, WAKE-5 */
static const char *judge_poll(const struct order *o, const struct answer *a)
{
	const struct file *f = file_at(o);
	bool readable = a->amount & POLLIN;
	const char *bad;

	judge_begin();
	why(unless_storm(NO), EINTR);
	bad = judged(a);
	if (bad || storm)
		return bad;
	if (!f)
		return a->amount & POLLNVAL ? NULL : "poll() of a closed file";
	if (f->kind == LIVE && !f->watches && !readable)
		return "poll() of an observer without a position waits";
	if (f->kind != RAW)
		return NULL;
	if (!a->value && readable)
		return "poll() calls an empty buffer readable";
	if (a->value > 0 && !instances[f->inst].percent && !readable)
		return "poll() does not call a buffer with events readable";
	return NULL;
}

/* ---- ioctl ---- */

static const unsigned long commands[] = {
	0, TRACE_MMAP_IOCTL_GET_READER, OTHER_COMMAND,
};

enum { WAKE, GET_READER, OTHER };

static bool choose_ioctl(struct order *o)
{
	o->value = below(3);
	return any_open(o);
}

static void perform_ioctl(const struct order *o, struct answer *a)
{
	may_block(true);
	note(a, ioctl(fd_of(o), commands[o->value], NULL));
	may_block(false);
}

/* READ-8, READ-9 */
static void why_not_ioctl(const struct order *o, const struct file *f)
{
	if (f->kind != RAW || o->value == OTHER) {
		why(YES, ENOTTY);
		return;
	}
	if (o->value == GET_READER) {
		why(served(f->inst, f->cpu) == NO ? YES : unless_storm(NO), ENODEV);
		why(storm && !(f->flags & O_NONBLOCK) ? MAYBE : NO, EINTR);
	}
}

/* What it consumes, nobody has looked at. */
static const char *judge_ioctl(const struct order *o, const struct answer *a)
{
	struct file *f = file_at(o);
	const char *bad;

	judge_begin();
	why(is(!f), EBADF);
	if (f)
		why_not_ioctl(o, f);
	bad = judged(a);
	if (bad || !f)
		return bad;
	if (o->value == GET_READER && !a->err && f->cpu >= 0)
		shared->live[f->inst][f->cpu].tally.unknown_loss = true;
	return NULL;
}

/* ---- files that are opened, read and closed ---- */

static bool choose_peek(struct order *o)
{
	static const char *const peeked[] = {
		"trace", "snapshot", "buffer_size_kb", "per_cpu/cpu0/trace", "per_cpu/cpu0/stats",
		"events/header_page", "buffer_subbuf_size_kb", "current_tracer",
		"per_cpu/cpu0/snapshot",
	};

	strcpy(o->text, peeked[below(9)]);
	return any_instance(o);
}

static void perform_peek(const struct order *o, struct answer *a)
{
	static char text[65536];

	note_result(a, instance_read(dir_of(o->inst), o->text, text, sizeof(text)));
}

static const char *judge_peek(const struct order *o, const struct answer *a)
{
	judge_begin();
	why_gone(o);
	if (!strncmp(o->text, "events/", 7))
		why(MAYBE, ENOENT);
	if (strstr(o->text, "snapshot"))
		why(unless_storm(is(instances[o->inst].tracer >= TRACER_LATENCY)), EBUSY);
	why(unless_storm(NO), EBUSY);
	return judged(a);
}

const struct operation file_operations[] = {
	{ "open", 50, false, false, choose_open, perform_open, judge_open },
	{ "close", 18, false, false, choose_close, perform_close, judge_close },
	{ "poll", 12, false, false, any_open, perform_poll, judge_poll },
	{ "ioctl", 20, false, false, choose_ioctl, perform_ioctl, judge_ioctl },
	{ "peek", 6, false, false, choose_peek, perform_peek, judge_peek },
	{ NULL, 0, false, false, NULL, NULL, NULL },
};

// SPDX-License-Identifier: LGPL-2.1
/*
 * One CPU's buffer: everything that is the same for all backends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cpu.h"
#include "read_file.h"
#include "stats_file.h"

#define KNOWN_FLAGS	(TRACEMAP_FROM_NOW | TRACEMAP_OWN)

/* ---- Files of tracefs ---- */

int tracemap__open_at(int dir, const char *name, int flags)
{
	int fd = openat(dir, name, flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The sub-buffers of an instance may have another size than header_page says. */
static int read_format(struct subbuf_format *format, int dir)
{
	char text[1024];
	unsigned long kib;
	int ret = read_file(dir, "events/header_page", text, sizeof(text));

	if (ret == -ENOENT)
		ret = read_file(dir, "../../events/header_page", text, sizeof(text));
	if (ret < 0)
		return ret;
	if (!subbuf_format_parse(format, text))
		return -EPROTO;
	if (read_file(dir, "buffer_subbuf_size_kb", text, sizeof(text)) < 0)
		return 0;
	kib = strtoul(text, NULL, 10);
	if (!kib || kib > SUBBUF_COMMIT_MASK / 1024 || kib * 1024 <= format->data_offset)
		return -EPROTO;
	format->subbuf_size = kib * 1024;
	return 0;
}

/* ---- Opening ---- */

int tracemap__check_size(const void *given, size_t size, size_t least, size_t known)
{
	size_t i;

	if (size < least)
		return -EINVAL;
	for (i = known; i < size; i++) {
		if (((const char *)given)[i])
			return -E2BIG;
	}
	return 0;
}

int tracemap__options(struct tracemap_options *options,
		      const struct tracemap_options *given)
{
	size_t known = sizeof(*options);
	int ret;

	*options = tracemap_default_options();
	options->read_ahead_bytes = TRACEMAP__READ_AHEAD_BYTES;
	if (!given)
		return 0;
	ret = tracemap__check_size(given, given->size, offsetof(struct tracemap_options, flags),
				   known);
	if (ret)
		return ret;
	memset(options, 0, known);
	memcpy(options, given, given->size < known ? given->size : known);
	options->size = known;
	if (!options->read_ahead_bytes)
		options->read_ahead_bytes = TRACEMAP__READ_AHEAD_BYTES;
	if (options->read_ahead_bytes > SIZE_MAX)
		options->read_ahead_bytes = SIZE_MAX;
	if ((unsigned int)options->way > TRACEMAP_OBSERVE ||
	    options->flags & ~KNOWN_FLAGS || (options->nr_cpus && !options->cpus))
		return -EINVAL;
	return 0;
}

/* A CPU that has not been up since the instance was made has files, but no buffer. */
static int check_buffer(const struct tracemap_cpu *cpu)
{
	struct pollfd p = { .fd = cpu->fd, .events = POLLIN };

	if (poll(&p, 1, 0) < 0)
		return -errno;
	return p.revents & (POLLERR | POLLNVAL) ? -ENXIO : 0;
}

static int open_consumer(struct tracemap_cpu *cpu)
{
	cpu->fd = tracemap__open_at(cpu->dir, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	return cpu->fd < 0 ? cpu->fd : check_buffer(cpu);
}

/* Where there is a live index, the mapping is cheap as well. */
static bool has_live_index(const struct tracemap_cpu *cpu)
{
	return !faccessat(cpu->dir, "trace_live", F_OK, 0);
}

static int open_backend(struct tracemap_cpu *cpu, enum tracemap_way way)
{
	int ret;

	if (way == TRACEMAP_OBSERVE)
		return tracemap__open_observe(cpu);
	ret = open_consumer(cpu);
	if (ret)
		return ret;
	ret = -EOPNOTSUPP;
	if (way == TRACEMAP_MAP || (way == TRACEMAP_CONSUME && has_live_index(cpu)))
		ret = tracemap__open_map(cpu);
	/* A buffer whose snapshot is in use cannot be mapped, but can be read. */
	if (way == TRACEMAP_READ ||
	    (way == TRACEMAP_CONSUME && (ret == -EOPNOTSUPP || ret == -EBUSY)))
		ret = tracemap__open_read(cpu);
	return ret;
}

/*
 * Consume what there is, but no more bytes than a buffer holds: the writer may be as quick.
 * There may be more batches than sub-buffers, as the backend "read" takes some in two parts.
 */
static int pass_all(struct tracemap_cpu *cpu)
{
	const uint32_t capacity = cpu->format.subbuf_size - cpu->format.data_offset;
	struct subbuf_iter *it = &cpu->batch.it;
	struct tracemap_figures f;
	struct subbuf_record r;
	int ret = tracemap_cpu_figures(cpu, &f);
	int64_t left, passed;

	if (ret < 0)
		return ret;
	for (left = (f.nr_subbufs + 1ll) * capacity; left > 0; left -= passed) {
		passed = capacity;
		ret = tracemap__refill(cpu);
		if (ret == -EBADMSG)
			continue;
		if (ret <= 0)
			return ret;
		passed = it->end > it->next ? it->end - it->next : 1;
		/* Pass them one by one: the times of later events count from theirs. */
		while (subbuf_next(it, &r))
			;
		cpu->batch.missed = 0;
		cpu->batch.flags = 0;
	}
	return 0;
}

/* Open the folder of the CPU, set what is known without its files; @dir: the instance's. */
static int open_folder(struct tracemap_cpu *cpu, int dir)
{
	char name[64];
	int ret = tracemap__open_at(dir, "per_cpu", O_PATH | O_DIRECTORY);

	if (ret < 0)
		return ret;
	close(ret);
	snprintf(name, sizeof(name), "per_cpu/cpu%d", cpu->number);
	cpu->dir = tracemap__open_at(dir, name, O_PATH | O_DIRECTORY);
	if (cpu->dir < 0)
		return cpu->dir == -ENOENT ? -ENXIO : cpu->dir;
	return read_format(&cpu->format, dir);
}

static int open_in(struct tracemap_cpu *cpu, const char *path)
{
	int dir = tracemap__open_at(AT_FDCWD, path, O_PATH | O_DIRECTORY), ret;

	if (dir < 0)
		return dir;
	ret = open_folder(cpu, dir);
	close(dir);
	return ret;
}

static struct tracemap_cpu *new_cpu(int fd, int number, size_t read_ahead_bytes)
{
	struct tracemap_cpu *cpu = calloc(1, sizeof(*cpu));

	if (!cpu)
		return NULL;
	cpu->fd = fd;
	cpu->live_fd = -1;
	cpu->dir = -1;
	cpu->number = number;
	cpu->batch.cpu = number;
	cpu->read_ahead.own_room.limit = read_ahead_bytes;
	cpu->read_ahead.room = &cpu->read_ahead.own_room;
	return cpu;
}

int tracemap_cpu_open(struct tracemap_cpu **cpu, const char *dir, int number,
		      const struct tracemap_options *options)
{
	struct tracemap_options o;
	struct tracemap_cpu *c;
	int ret = tracemap__options(&o, options);

	if (ret)
		return ret;
	if (!dir || number < 0)
		return -EINVAL;
	c = new_cpu(-1, number, o.read_ahead_bytes);
	if (!c)
		return -ENOMEM;
	c->owns_fd = true;
	c->flags = o.flags;
	ret = open_in(c, dir);
	if (!ret)
		ret = open_backend(c, o.way);
	if (!ret && o.flags & TRACEMAP_FROM_NOW && o.way != TRACEMAP_OBSERVE)
		ret = pass_all(c);
	if (ret) {
		tracemap_cpu_close(c);
		return ret;
	}
	*cpu = c;
	return 0;
}

static bool format_makes_sense(const struct subbuf_format *f)
{
	return f && (f->commit_size == 4 || f->commit_size == 8) &&
		f->commit_offset >= 8 && !(f->commit_offset % 4) &&
		!(f->data_offset % 4) && !(f->subbuf_size % 4) &&
		f->data_offset < f->subbuf_size &&
		f->subbuf_size - f->data_offset <= SUBBUF_COMMIT_MASK &&
		f->data_offset >= f->commit_size &&
		f->commit_offset <= f->data_offset - f->commit_size;
}

int tracemap_cpu_open_file(struct tracemap_cpu **cpu, int fd, int number,
			   const struct subbuf_format *format)
{
	struct tracemap_cpu *c;
	int ret;

	if (!format_makes_sense(format))
		return -EINVAL;
	c = new_cpu(fd, number, TRACEMAP__READ_AHEAD_BYTES);
	if (!c)
		return -ENOMEM;
	c->format = *format;
	ret = tracemap__open_read(c);
	if (ret) {
		tracemap_cpu_close(c);
		return ret;
	}
	*cpu = c;
	return 0;
}

void tracemap_cpu_close(struct tracemap_cpu *cpu)
{
	if (!cpu)
		return;
	tracemap__read_ahead_free(cpu);
	if (cpu->backend)
		cpu->backend->close(cpu);
	if (cpu->owns_fd && cpu->fd >= 0)
		close(cpu->fd);
	if (cpu->live_fd >= 0)
		close(cpu->live_fd);
	if (cpu->dir >= 0)
		close(cpu->dir);
	free(cpu);
}

/* ---- Batches ---- */

static void clear_batch(struct tracemap_cpu *cpu)
{
	cpu->taken += cpu->batch.events;
	cpu->batch.events = 0;
	cpu->batch.it.next = cpu->batch.it.end;
	cpu->batch.missed = 0;
	cpu->batch.flags = 0;
	cpu->in_hand = BATCH_NONE;
}

void tracemap__finish(struct tracemap_cpu *cpu)
{
	int ret;

	if (cpu->in_hand == BATCH_NONE)
		return;
	ret = cpu->read_ahead.out ? tracemap__read_ahead_done(cpu) : cpu->backend->settle(cpu);
	if (ret < 0)
		cpu->error = ret;
	cpu->damaged |= ret < 0;
	clear_batch(cpu);
}

/*
 * Has a consumer taken what was there at its end, or been told that it was overwritten? What is
 * overwritten behind the last batch is told with the next one, and whoever takes that has lost it.
 * If the buffer was emptied, the counts have restarted, and nothing of what was there is left.
 */
static bool is_at_end(struct tracemap_cpu *cpu, const struct stats_file *s)
{
	if (s->overwritten < cpu->told || s->consumed < cpu->consumed)
		cpu->until = 0;
	cpu->consumed = s->consumed;
	return cpu->told + s->consumed >= cpu->until;
}

static int fetch_to_end(struct tracemap_cpu *cpu)
{
	struct stats_file s;
	int ret;

	if (stats_file_read(cpu->dir, "stats", &s) < 0 || is_at_end(cpu, &s))
		return -ENODATA;
	ret = cpu->backend->fetch(cpu);
	/* A batch without a loss may be the rest of a sub-buffer, with losses behind it. */
	if (ret > 0 && cpu->batch.missed)
		cpu->told = s.overwritten;
	return ret ? ret : -ENODATA;
}

int tracemap__fetch_now(struct tracemap_cpu *cpu)
{
	int ret = tracemap__unlikely(cpu->ends) ? fetch_to_end(cpu) : cpu->backend->fetch(cpu);

	if (ret)
		cpu->fetched = FETCHED_MORE;
	else if (cpu->fetched == FETCHED_NOT)
		cpu->fetched = FETCHED_NOTHING;
	cpu->damaged |= ret == -EBADMSG;
	return ret;
}

/* What was read ahead comes first. */
static int fetch_next(struct tracemap_cpu *cpu)
{
	int ret = tracemap__read_ahead_take(cpu);

	if (ret)
		return ret;
	cpu->arrived = 0;
	return tracemap__fetch_now(cpu);
}

int tracemap__refill(struct tracemap_cpu *cpu)
{
	int ret;

	tracemap__finish(cpu);
	if (tracemap__unlikely(cpu->error)) {
		ret = cpu->error;
		cpu->error = 0;
	} else {
		ret = fetch_next(cpu);
	}
	cpu->in_hand = ret > 0 ? BATCH_HELD : BATCH_NONE;
	return ret;
}

int tracemap_cpu_fetch(struct tracemap_cpu *cpu, struct tracemap_batch **batch)
{
	struct tracemap_batch *b = &cpu->batch;
	int ret;

	if (!tracemap__batch_in_hand(cpu)) {
		ret = tracemap__refill(cpu);
		if (ret <= 0)
			return ret;
	} else if (cpu->in_hand == BATCH_GIVEN && cpu->given_at != b->it.next) {
		b->missed = 0;
		b->flags = 0;
	}
	cpu->in_hand = BATCH_GIVEN;
	cpu->given_at = b->it.next;
	*batch = b;
	return 1;
}

/*
 * The end of a consumer is a number of events, as a live index does not count the newest. Losses
 * that were not told yet are those in front of the next sub-buffer, which is before this end.
 */
static int consume_until_now(struct tracemap_cpu *cpu)
{
	struct stats_file s;
	int ret = cpu->dir < 0 ? -EOPNOTSUPP : stats_file_read(cpu->dir, "stats", &s);

	if (ret)
		return ret;
	cpu->until = s.committed;
	cpu->told = s.overwritten;
	cpu->consumed = s.consumed;
	cpu->ends = true;
	return 0;
}

/* An end that was found before no longer holds. */
int tracemap__until_now(struct tracemap_cpu *cpu)
{
	int ret = cpu->backend->until_now ? cpu->backend->until_now(cpu) : consume_until_now(cpu);

	if (ret)
		return ret;
	if (cpu->error == -ENODATA)
		cpu->error = 0;
	if (cpu->read_ahead.error == -ENODATA)
		cpu->read_ahead.error = 0;
	return 0;
}

bool tracemap__secure(struct tracemap_cpu *cpu)
{
	ptrdiff_t moved;

	if (cpu->merge_waits)
		return false;
	if (!tracemap__batch_in_hand(cpu))
		tracemap__finish(cpu);
	else if (cpu->in_hand == BATCH_GIVEN)
		return false;
	return tracemap__read_ahead(cpu, cpu->batch.it.next, &moved) > 0;
}

int tracemap_cpu_until_now(struct tracemap_cpu *cpu)
{
	int ret = tracemap__until_now(cpu);

	while (!ret && tracemap__secure(cpu))
		;
	return ret;
}

/* ---- Records ---- */

static inline void fill(struct tracemap_record *rec, const struct tracemap_batch *b,
			const struct subbuf_record *r)
{
	rec->ts = r->ts;
	rec->data = r->data;
	rec->size = r->size;
	rec->cpu = b->cpu;
	rec->flags = b->flags;
	rec->missed = b->missed;
}

/* Fill a record without data if the batch has no record left, but a loss or flags. */
static bool fill_without_data(struct tracemap_record *rec,
			      const struct tracemap_batch *b)
{
	const struct subbuf_record nothing = { .ts = b->it.ts };

	if (!b->missed && !b->flags)
		return false;
	fill(rec, b, &nothing);
	return true;
}

static inline void fill_and_take(struct tracemap_record *rec, struct tracemap_batch *b,
				 const struct subbuf_record *r)
{
	fill(rec, b, r);
	b->events++;
	b->missed = 0;
	b->flags = 0;
}

static __attribute__((noinline)) int next_slowly(struct tracemap_cpu *cpu,
						 struct tracemap_record *rec)
{
	struct tracemap_batch *b = &cpu->batch;
	struct subbuf_record r;
	int ret;

	for (;;) {
		if (subbuf_next(&b->it, &r)) {
			fill_and_take(rec, b, &r);
			return 1;
		}
		if (fill_without_data(rec, b)) {
			b->missed = 0;
			b->flags = 0;
			return 1;
		}
		ret = tracemap__refill(cpu);
		if (ret <= 0)
			return ret;
	}
}

int tracemap_cpu_next(struct tracemap_cpu *cpu, struct tracemap_record *rec)
{
	struct tracemap_batch *b = &cpu->batch;
	struct subbuf_record r;

	/* Most records are taken here, without a call. */
	if (b->it.next < b->it.fast_end && subbuf__next_fast(&b->it, &r)) {
		fill_and_take(rec, b, &r);
		return 1;
	}
	return next_slowly(cpu, rec);
}

/* ---- About the buffer ---- */

int tracemap_cpu_number(const struct tracemap_cpu *cpu)
{
	return cpu->number;
}

enum tracemap_way tracemap_cpu_way(const struct tracemap_cpu *cpu)
{
	if (cpu->backend == &tracemap__backend_map)
		return TRACEMAP_MAP;
	return cpu->backend == &tracemap__backend_observe ? TRACEMAP_OBSERVE : TRACEMAP_READ;
}

const char *tracemap_way_name(enum tracemap_way way)
{
	switch (way) {
	case TRACEMAP_CONSUME:
		return "consume";
	case TRACEMAP_READ:
		return tracemap__backend_read.name;
	case TRACEMAP_MAP:
		return tracemap__backend_map.name;
	case TRACEMAP_OBSERVE:
		return tracemap__backend_observe.name;
	}
	return "unknown";
}

/* The ring has as many sub-buffers as the size needs, and the reader has one more. */
static int stats_size(const struct tracemap_cpu *cpu, struct tracemap_figures *f)
{
	uint64_t capacity = cpu->format.subbuf_size - cpu->format.data_offset;
	char text[64];
	int ret = read_file(cpu->dir, "buffer_size_kb", text, sizeof(text));

	if (ret < 0)
		return ret;
	f->nr_subbufs = (strtoull(text, NULL, 10) * 1024 + capacity - 1) / capacity + 1;
	return 0;
}

int tracemap__stats(const struct tracemap_cpu *cpu, struct tracemap_figures *f)
{
	uint64_t capacity = cpu->format.subbuf_size - cpu->format.data_offset;
	struct stats_file s;
	int ret;

	if (cpu->dir < 0)
		return -EOPNOTSUPP;
	ret = stats_file_read(cpu->dir, "stats", &s);
	if (ret < 0)
		return ret;
	f->committed = s.committed;
	f->overwritten = s.overwritten;
	f->consumed = s.consumed;
	f->dropped = s.dropped;
	f->used = (s.bytes + capacity - 1) / capacity;
	return stats_size(cpu, f);
}

int tracemap__live_figures(const struct live_observer *o, struct tracemap_figures *f)
{
	struct live_figures live;
	int ret = live_figures(o, &live);

	if (ret)
		return ret;
	f->committed = live.committed;
	f->overwritten = live.overwritten;
	f->consumed = live.consumed;
	f->dropped = live.dropped;
	f->used = live.used;
	f->nr_subbufs = live.nr_subbufs;
	f->epoch = live.first;
	return 0;
}

/* With the events that no caller has seen yet. An observer takes none. */
static uint64_t all_taken(const struct tracemap_cpu *cpu)
{
	struct subbuf_iter left = cpu->batch.it;
	uint64_t taken = cpu->taken + cpu->batch.events + cpu->read_ahead.events;
	struct subbuf_record r;

	if (cpu->backend == &tracemap__backend_observe)
		return 0;
	while (subbuf_next(&left, &r))
		taken++;
	return left.corrupt || cpu->damaged ? TRACEMAP_TAKEN_UNKNOWN : taken;
}

int tracemap_cpu_figures(const struct tracemap_cpu *cpu,
			 struct tracemap_figures *figures)
{
	memset(figures, 0, sizeof(*figures));
	figures->subbuf_size = cpu->format.subbuf_size;
	figures->read_ahead = cpu->read_ahead.events;
	figures->taken = all_taken(cpu);
	return cpu->backend->figures(cpu, figures);
}

int tracemap_cpu_raw(const struct tracemap_cpu *cpu, struct tracemap_raw *raw)
{
	memset(raw, 0, sizeof(*raw));
	raw->fd = cpu->fd >= 0 ? cpu->fd : cpu->live_fd;
	raw->format = cpu->format;
	if (cpu->backend->raw)
		cpu->backend->raw(cpu, raw);
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1
/*
 * Read by the live view, as an observer, see live.h. A batch is a copy that was checked
 * before it is handed out.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "cpu.h"

/* Make a batch without records, which reports a loss or a reset. */
static int observe_tell(struct tracemap_cpu *cpu, uint64_t missed, uint32_t flags)
{
	struct subbuf_iter nothing;

	memset(&nothing, 0, sizeof(nothing));
	nothing.ts = cpu->observe.observer.ts;
	tracemap__set_batch(cpu, &nothing, missed, flags);
	return 1;
}

/* First report what is missed right before the end. The next look finds the end again. */
static int observe_end(struct tracemap_cpu *cpu)
{
	const struct live_until *u = &cpu->observe.until;

	if (!u->missed && !u->reset)
		return -ENODATA;
	return observe_tell(cpu, u->missed, u->reset ? TRACEMAP_RESET : 0);
}

static int observe_look(struct observe_state *s, struct subbuf_iter *it)
{
	return s->ends ? live_look_until(&s->observer, it, &s->until) :
			 live_look(&s->observer, it);
}

/* If the writer is that much quicker than a copy, try again later. */
static int observe_fetch(struct tracemap_cpu *cpu)
{
	struct observe_state *s = &cpu->observe;
	struct live_observer *o = &s->observer;
	struct subbuf_iter it;
	int tries, ret;

	for (tries = 0; tries < LIVE_TRIES; tries++) {
		ret = observe_look(s, &it);
		if (ret == LIVE_RESET)
			return observe_tell(cpu, 0, TRACEMAP_RESET);
		if (ret == LIVE_END)
			return observe_end(cpu);
		if (ret != LIVE_EVENTS)
			return ret;
		ret = live_copy(o, &it, s->copy, o->format.subbuf_size);
		if (ret < 0)
			return ret;
		if (!ret)
			continue;
		tracemap__set_batch(cpu, &it, live_gap(o), 0);
		return 1;
	}
	return 0;
}

static int observe_settle(struct tracemap_cpu *cpu)
{
	struct observe_state *s = &cpu->observe;
	int ret;

	if (!cpu->batch.it.data)
		return 0;
	ret = live_accept(&s->observer, &cpu->batch.it, cpu->batch.events);
	return ret < 0 ? ret : 0;
}

static int observe_arm(struct tracemap_cpu *cpu, uint64_t bytes)
{
	struct trace_live_position p = live_position(&cpu->observe.observer, bytes);

	return ioctl(cpu->live_fd, TRACE_LIVE_IOCTL_SET_POSITION, &p) < 0 ? -errno : 0;
}

static bool observe_is_filling(const struct tracemap_cpu *cpu)
{
	const struct live_observer *o = &cpu->observe.observer;

	return live__load_newest(o) - o->generation > o->nr_slots / 4;
}

/* A reset is soon over, unless something stops the kernel in it. */
static int observe_until_now(struct tracemap_cpu *cpu)
{
	struct observe_state *s = &cpu->observe;
	struct live_until until;
	int tries, ret = -EAGAIN;

	for (tries = 0; tries < 1000 && ret == -EAGAIN; tries++) {
		if (tries)
			usleep(1000);
		ret = live_until(&s->observer, &until);
	}
	if (ret)
		return ret;
	s->until = until;
	s->ends = true;
	return 0;
}

static int observe_figures(const struct tracemap_cpu *cpu, struct tracemap_figures *f)
{
	return tracemap__live_figures(&cpu->observe.observer, f);
}

static void observe_raw(const struct tracemap_cpu *cpu, struct tracemap_raw *raw)
{
	const struct observe_state *s = &cpu->observe;
	const struct live_observer *o = &s->observer;

	raw->subbufs = o->subbufs;
	raw->subbufs_size = (size_t)o->nr_subbufs * o->format.subbuf_size;
	raw->index = s->mapping.index;
	raw->index_size = s->mapping.size;
}

static void observe_close(struct tracemap_cpu *cpu)
{
	if (cpu->observe.mapping.index)
		live_unmap(&cpu->observe.mapping);
	free(cpu->observe.copy);
}

/* A reset is soon over, unless something stops the kernel in it. */
static int observe_attach(struct tracemap_cpu *cpu)
{
	struct observe_state *s = &cpu->observe;
	enum live_start from = cpu->flags & TRACEMAP_FROM_NOW ? LIVE_FROM_NOW :
								LIVE_FROM_OLDEST;
	int tries, ret = -EAGAIN;

	for (tries = 0; tries < 1000 && ret == -EAGAIN; tries++) {
		if (tries)
			usleep(1000);
		ret = live_attach(&s->observer, &s->mapping, from);
	}
	cpu->format = s->observer.format;
	return ret == -EINVAL ? -EPROTO : ret;
}

/* The file is there where the kernel has the live view, and opens where there is a buffer. */
static int observe_map(struct tracemap_cpu *cpu)
{
	cpu->live_fd = tracemap__open_at(cpu->dir, "trace_live", O_RDONLY);
	if (cpu->live_fd < 0)
		return cpu->live_fd == -ENOENT ? -EOPNOTSUPP :
			cpu->live_fd == -EINVAL ? -ENXIO : cpu->live_fd;
	return live_map(&cpu->observe.mapping, cpu->live_fd);
}

int tracemap__open_observe(struct tracemap_cpu *cpu)
{
	struct observe_state *s = &cpu->observe;
	int ret = observe_map(cpu);

	if (ret)
		return ret == -ENODEV ? -EOPNOTSUPP : ret;
	ret = observe_attach(cpu);
	if (!ret) {
		s->copy = malloc(cpu->format.subbuf_size);
		if (!s->copy)
			ret = -ENOMEM;
	}
	if (ret) {
		live_unmap(&s->mapping);
		return ret;
	}
	cpu->backend = &tracemap__backend_observe;
	return 0;
}

const struct backend tracemap__backend_observe = {
	.name		= "observe",
	.fetch		= observe_fetch,
	.settle		= observe_settle,
	.arm		= observe_arm,
	.is_filling	= observe_is_filling,
	.until_now	= observe_until_now,
	.figures	= observe_figures,
	.raw		= observe_raw,
	.close		= observe_close,
};

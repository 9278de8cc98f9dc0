// SPDX-License-Identifier: GPL-2.0
/*
 * The consumer of a CPU, for an act: it takes events by all ways there are,
 * whole and in order, and as many as the kernel says were taken.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/ioctl.h>

#include "torture.h"

struct consumer {
	int		cpu, act;
	uint64_t	taken;
	struct order	order;
};

static bool goes_on(const struct consumer *c)
{
	return now(shared->quiet) <= c->act;
}

/* For a few milliseconds, or until the kernel says that there is enough. */
static void wait_for_events(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	if (poll(&pfd, 1, below(5)) > 0 && below(2))
		sleep_ms(1);
}

static void consume_event(struct consumer *c, const unsigned char *data, size_t size)
{
	struct event e;

	c->taken++;
	if (event_whole(data, size, c->cpu, &e))
		order_take(&c->order, &e);
	else
		c->order.torn++;
}

/* All of it if @to is 0. The time stamps are of no interest. */
static void consume_page(struct consumer *c, const void *page, size_t from, size_t to)
{
	struct subbuf_iter it = subbuf_begin(&this_round.format, page);
	struct subbuf_record rec;

	if (to) {
		it = subbuf_resume(&this_round.format, page, from, 0);
		subbuf_extend(&it, to);
	}
	while (subbuf_next(&it, &rec))
		consume_event(c, rec.data, rec.size);
	c->order.torn += it.corrupt;
}

static void by_ioctl(struct consumer *c, int times)
{
	struct mapped_buffer mb;
	int ret = buffer_map(&mb, &this_round.ti, c->cpu, O_NONBLOCK);

	if (ret) {
		fail(STUCK, "cpu %d: mapping: %s", c->cpu, strerror(-ret));
		return;
	}
	while (times-- && goes_on(c)) {
		uint32_t id = mb.meta->reader.id, read = mb.meta->reader.read;

		if (ioctl(mb.fd, TRACE_MMAP_IOCTL_GET_READER)) {
			fail(STUCK, "cpu %d: GET_READER: %s", c->cpu, strerror(errno));
			break;
		}
		if (mb.meta->reader.id != id)
			read = 0;
		if (mb.meta->reader.read > read)
			consume_page(c, buffer_subbuf(&mb, mb.meta->reader.id), read,
				     mb.meta->reader.read);
		else
			wait_for_events(mb.fd);
	}
	buffer_unmap(&mb);
}

static void by_read(struct consumer *c, int times)
{
	int fd = cpu_file(&this_round.ti, c->cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	size_t size = this_round.format.subbuf_size;
	void *page = aligned_alloc(8, size);

	while (times-- && goes_on(c)) {
		memset(page, 0, this_round.format.data_offset);
		if (read(fd, page, size) > 0)
			consume_page(c, page, 0, 0);
		else
			wait_for_events(fd);
	}
	free(page);
	close(fd);
}

static void by_splice(struct consumer *c, int times)
{
	int fd = cpu_file(&this_round.ti, c->cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	size_t size = this_round.format.subbuf_size;
	void *page = aligned_alloc(8, size);
	int ends[2];
	ssize_t len;

	if (pipe2(ends, O_NONBLOCK)) {
		fail(STUCK, "pipe: %s", strerror(errno));
		return;
	}
	fcntl(ends[1], F_SETPIPE_SZ, 65536);
	while (times-- && goes_on(c)) {
		len = splice(fd, NULL, ends[1], NULL, size, SPLICE_F_NONBLOCK);
		if (len <= 0) {
			wait_for_events(fd);
			continue;
		}
		if (read(ends[0], page, size) != len)
			fail(NOT_ONCE, "cpu %d: splice() gave %zd bytes, the pipe less", c->cpu,
			     len);
		consume_page(c, page, 0, 0);
	}
	free(page);
	close(ends[0]);
	close(ends[1]);
	close(fd);
}

/* A line says of its event itself whether it is whole. */
static void consume_line(struct consumer *c, const char *line)
{
	const char *text = strstr(line, "cpu=");
	unsigned int cpu, ctx, keep, good;
	struct event e;

	if (!text)
		return;	/* how many were lost */
	c->taken++;
	if (sscanf(text, "cpu=%u ctx=%u seq=%u keep=%u good=%u", &cpu, &ctx, &e.seq, &keep,
		   &good) != 5 ||
	    !good || cpu != (unsigned int)c->cpu || ctx >= NR_CONTEXTS) {
		c->order.torn++;
		return;
	}
	e.ctx = ctx;
	e.keep = keep;
	order_take(&c->order, &e);
}

/* Consume the whole lines of @text, and return how much of it is part of one more. */
static size_t consume_lines(struct consumer *c, char *text, size_t len)
{
	char *line = text, *end;

	while ((end = memchr(line, '\n', text + len - line))) {
		*end = '\0';
		consume_line(c, line);
		line = end + 1;
	}
	memmove(text, line, text + len - line);
	return text + len - line;
}

/* Since Linux 6.8 a read may end within a line; the next one goes on there. */
static void by_pipe(struct consumer *c, int times)
{
	int fd = cpu_file(&this_round.ti, c->cpu, "trace_pipe", O_RDONLY | O_NONBLOCK);
	char text[8192];
	size_t part = 0;
	ssize_t len;

	while (part || (times-- > 0 && goes_on(c))) {
		len = read(fd, text + part, sizeof(text) - part);
		if (len > 0) {
			part = consume_lines(c, text, part + len);
		} else if (part) {
			fail(STUCK, "cpu %d: a line of trace_pipe has no end", c->cpu);
			break;
		} else {
			wait_for_events(fd);
		}
	}
	close(fd);
}

static void (*const consume_by[NR_WAYS])(struct consumer *c, int times) = {
	[BY_IOCTL]	= by_ioctl,
	[BY_READ]	= by_read,
	[BY_SPLICE]	= by_splice,
	[BY_PIPE]	= by_pipe,
};

static void consume_a_while(struct consumer *c, int way)
{
	struct consumer before = *c;
	int times = 1 + below(way == BY_PIPE ? 30 : 60);

	consume_by[way](c, times);
	add(shared->consumed[way], c->taken - before.taken);
	if (c->order.bad != before.order.bad)
		fail(NOT_ONCE, "cpu %d: %llu events by %s not in order", c->cpu,
		     (unsigned long long)(c->order.bad - before.order.bad), ways[way]);
	if (c->order.torn != before.order.torn)
		fail(NOT_WHOLE, "cpu %d: %llu events by %s not whole", c->cpu,
		     (unsigned long long)(c->order.torn - before.order.torn), ways[way]);
}

void consume(int cpu, int act)
{
	struct consumer c = { .cpu = cpu, .act = act };
	int first = stock ? BY_READ : BY_IOCTL;
	int way = first + (this_round.number * 2 + cpu) % (NR_WAYS - first), i;
	long long taken;

	order_begin(&c.order, false);
	while (goes_on(&c)) {
		consume_a_while(&c, way);
		way = first + below(NR_WAYS - first);
		sleep_ms(below(4) ? 0 : below(100));
	}
	for (i = 0; i < NR_CONTEXTS; i++)
		add(shared->from[i], c.order.from[i]);
	taken = cpu_stat(&this_round.ti, cpu, "read events");
	if (!now(shared->live_resets) && taken != (long long)c.taken)
		fail(NOT_ONCE, "cpu %d: %llu events came out, %lld were consumed", cpu,
		     (unsigned long long)c.taken, taken);
}

// SPDX-License-Identifier: GPL-2.0
/* The ways to read a CPU's trace_pipe_raw. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"
#include "live.h"

#define SPLICE_BYTES	(64 * KIB)

bool way_possible(const struct way *way)
{
	if (way == &way_live)
		return kernel_lives;
	return kernel_maps || !way->needs_mapping;
}

int reader_open(struct reader *reader, const struct way *way,
		const struct trace *trace, int cpu)
{
	int ret;

	memset(reader, 0, sizeof(*reader));
	reader->way = way;
	reader->trace = trace;
	reader->cpu = cpu;
	reader->fd = -1;
	if (!way->outside_tracefs) {
		reader->fd = trace_open_raw(trace, cpu);
		if (reader->fd < 0)
			return reader->fd;
	}
	ret = way->open ? way->open(reader) : 0;
	if (ret < 0 && reader->fd >= 0)
		close(reader->fd);
	return ret;
}

void reader_close(struct reader *reader)
{
	if (reader->way->close)
		reader->way->close(reader);
	if (reader->fd >= 0)
		close(reader->fd);
}

/* Memory whose pages are there. */
static int get_memory(struct reader *reader, size_t size)
{
	reader->memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	reader->size = size;
	return reader->memory == MAP_FAILED ? -errno : 0;
}

static void put_memory(struct reader *reader)
{
	munmap(reader->memory, reader->size);
}

static bool is_end(ssize_t n)
{
	return n == 0 || (n < 0 && errno == EAGAIN);
}

/* read(2): a sub-buffer at a time. */

static int read_open(struct reader *reader)
{
	return get_memory(reader, reader->trace->subbuf_size);
}

static int read_drain(struct reader *reader, struct tally *tally)
{
	const struct subbuf_format *format = &reader->trace->format;

	for (;;) {
		ssize_t n = read(reader->fd, reader->memory, reader->size);
		struct subbuf_iter it;
		int ret;

		if (n <= 0)
			return is_end(n) ? 0 : -errno;
		tally->copied += n;
		it = subbuf_begin(format, reader->memory);
		ret = parse(&it, tally);
		if (ret < 0)
			return ret;
	}
}

const struct way way_read = {
	.name		= "read",
	.open		= read_open,
	.drain		= read_drain,
	.close		= put_memory,
};

/* The same bytes, in memory already. */

static int parse_prepare(struct reader *reader)
{
	const size_t subbuf = reader->trace->subbuf_size;
	char *memory;
	ssize_t n;
	int ret;

	ret = get_memory(reader, 5 * MIB);
	if (ret < 0)
		return ret;
	memory = reader->memory;
	for (;;) {
		if (reader->filled + subbuf > reader->size)
			return -ENOSPC;
		n = read(reader->fd, memory + reader->filled, subbuf);
		if (n <= 0)
			return is_end(n) ? 0 : -errno;
		reader->filled += subbuf;
	}
}

static int parse_drain(struct reader *reader, struct tally *tally)
{
	const struct trace *trace = reader->trace;
	const char *memory = reader->memory;

	for (size_t at = 0; at < reader->filled; at += trace->subbuf_size) {
		struct subbuf_iter it = subbuf_begin(&trace->format, memory + at);
		int ret = parse(&it, tally);

		if (ret < 0)
			return ret;
	}
	return 0;
}

const struct way way_parse = {
	.name		= "parse",
	.prepare	= parse_prepare,
	.drain		= parse_drain,
	.close		= put_memory,
};

/* The mapping. */

static int map_open(struct reader *reader)
{
	struct mapping mapping;
	int ret = mapping_open(&mapping, reader->fd);

	reader->memory = mapping.meta;
	reader->size = mapping.size;
	return ret;
}

static int map_drain(struct reader *reader, struct tally *tally)
{
	const struct mapping mapping = { reader->memory, reader->size };
	const struct trace_buffer_meta *meta = reader->memory;

	for (;;) {
		uint32_t id = meta->reader.id;
		uint32_t read = meta->reader.read;
		int ret;

		if (ioctl(reader->fd, TRACE_MMAP_IOCTL_GET_READER) < 0)
			return -errno;
		if (meta->reader.id != id)
			read = 0;
		if (meta->reader.read == read)
			return 0;
		ret = mapping_parse(&mapping, &reader->trace->format, read, tally);
		if (ret < 0)
			return ret;
	}
}

const struct way way_mapping = {
	.name		= "mapping",
	.needs_mapping	= true,
	.open		= map_open,
	.drain		= map_drain,
	.close		= put_memory,
};

/* The live view: an observer, from the first event that comes. */

struct live_state {
	struct live_mapping mapping;
	struct live_observer observer;
};

static int live_begin(struct live_state *state, const struct reader *reader)
{
	int ret = trace_map_live(reader->trace, reader->cpu, &state->mapping);

	if (ret < 0)
		return ret;
	ret = live_attach(&state->observer, &state->mapping, LIVE_FROM_NOW);
	if (ret < 0)
		live_unmap(&state->mapping);
	return ret;
}

static int live_open(struct reader *reader)
{
	struct live_state *state = calloc(1, sizeof(*state));
	int ret;

	if (!state)
		return -ENOMEM;
	ret = live_begin(state, reader);
	if (ret < 0)
		free(state);
	reader->state = state;
	return ret;
}

/* The events are counted: that is how an observer knows what it has missed. */
static int live_drain(struct reader *reader, struct tally *tally)
{
	struct live_state *state = reader->state;
	struct live_observer o = state->observer;
	struct subbuf_record record;
	struct subbuf_iter it;
	uint64_t sink = 0;
	int ret;

	while ((ret = live_look(&o, &it)) == LIVE_EVENTS) {
		size_t from = subbuf_pos(&it);
		uint32_t events = 0;

		while (subbuf_next(&it, &record)) {
			events++;
			sink += record.ts;
		}
		ret = live_accept(&o, &it, events);
		if (ret < 0)
			return ret;
		if (ret)
			tally->bytes += subbuf_pos(&it) - from;
	}
	tally->sink += sink;
	tally->events += o.seen - state->observer.seen;
	tally->missed += o.missed - state->observer.missed;
	state->observer = o;
	return ret == LIVE_NOTHING ? 0 : ret < 0 ? ret : -ESTALE;
}

static void live_close(struct reader *reader)
{
	struct live_state *state = reader->state;

	live_unmap(&state->mapping);
	free(state);
}

const struct way way_live = {
	.name		= "live",
	.needs_mapping	= true,
	.takes_nothing	= true,
	.open		= live_open,
	.drain		= live_drain,
	.close		= live_close,
};

/* splice(2), through a pipe. What is not a full sub-buffer stays. */

static int splice_open(struct reader *reader, int target)
{
	if (target < 0)
		return -errno;
	reader->target = target;
	return pipe2(reader->pipe, O_CLOEXEC) < 0 ? -errno : 0;
}

static int splice_file_open(struct reader *reader)
{
	return splice_open(reader, open("/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
}

static int splice_null_open(struct reader *reader)
{
	return splice_open(reader, open("/dev/null", O_WRONLY | O_CLOEXEC));
}

static int empty_pipe(struct reader *reader, size_t left)
{
	while (left) {
		ssize_t n = splice(reader->pipe[0], NULL, reader->target, NULL, left,
				   SPLICE_F_MOVE);

		if (n <= 0)
			return n ? -errno : -EIO;
		left -= n;
	}
	return 0;
}

static int splice_drain(struct reader *reader, struct tally *tally)
{
	for (;;) {
		ssize_t n = splice(reader->fd, NULL, reader->pipe[1], NULL, SPLICE_BYTES,
				   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
		int ret;

		if (n <= 0)
			return is_end(n) ? 0 : -errno;
		ret = empty_pipe(reader, n);
		if (ret < 0)
			return ret;
		tally->bytes += n;
	}
}

/* To a file of tmpfs is to copy. */
static int splice_file_drain(struct reader *reader, struct tally *tally)
{
	uint64_t before = tally->bytes;
	int ret = splice_drain(reader, tally);

	tally->copied += tally->bytes - before;
	return ret;
}

static void splice_close(struct reader *reader)
{
	close(reader->target);
	close(reader->pipe[0]);
	close(reader->pipe[1]);
}

const struct way way_splice_file = {
	.name		= "splice-file",
	.open		= splice_file_open,
	.drain		= splice_file_drain,
	.close		= splice_close,
};

const struct way way_splice_null = {
	.name		= "splice-null",
	.open		= splice_null_open,
	.drain		= splice_drain,
	.close		= splice_close,
};

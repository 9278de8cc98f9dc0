// SPDX-License-Identifier: LGPL-2.1
/*
 * Read by the mapping: TRACE_MMAP_IOCTL_GET_READER consumes the records, which are read
 * where the kernel wrote them.
 *
 * Where the kernel has the live view, the index of trace_live is mapped, too. Then a wait
 * ends when there are as many bytes as the caller wants, instead of when buffer_percent is
 * reached.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu.h"

static uint32_t load(const __u32 *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static const unsigned char *map_subbuf(const struct tracemap_cpu *cpu, uint32_t id)
{
	return cpu->map.subbufs + (size_t)id * cpu->format.subbuf_size;
}

/*
 * Move the iterator to byte @read of sub-buffer @id. It is already there if the sub-buffer
 * has only grown. The iterator goes through what another consumer has taken, for the sake
 * of the deltas.
 */
static void map_go_to(struct tracemap_cpu *cpu, uint32_t id, uint32_t read,
		      uint32_t end)
{
	struct map_state *m = &cpu->map;
	const unsigned char *subbuf = map_subbuf(cpu, id);
	uint64_t ts = subbuf_time_stamp(&cpu->format, subbuf);

	if (read && m->id == id && m->subbuf_ts == ts && subbuf_pos(&m->it) == read) {
		subbuf_extend(&m->it, end);
		return;
	}
	m->id = id;
	m->subbuf_ts = ts;
	m->it = subbuf_resume(&cpu->format, subbuf, 0, ts);
	subbuf_extend(&m->it, end);
	if (read)
		subbuf_skip(&m->it, read);
}

/*
 * How many events were lost right before the first record of the reader sub-buffer.
 * Mainline kernels report it not in the meta page, but by the commit word, once the writer
 * has left the sub-buffer.
 */
static uint64_t map_missed(const struct tracemap_cpu *cpu, uint32_t id)
{
	const struct map_state *m = &cpu->map;
	uint64_t lost = m->meta->reader.lost_events;
	int64_t missed;

	if (lost || m->live.index)
		return lost;
	missed = subbuf_missed(&cpu->format, map_subbuf(cpu, id));
	return missed < 0 ? TRACEMAP_MISSED_UNKNOWN : (uint64_t)missed;
}

/* The generation that the buffer began with, which is another one after it was emptied */
static uint64_t map_first(const struct map_state *m)
{
	return m->live.index ? live__load64(&m->observer.index->first) : 0;
}

static bool map_is_being_emptied(const struct map_state *m)
{
	return m->live.index && live__load_newest(&m->observer) < map_first(m);
}

/*
 * Was the buffer emptied since the last look? The bytes read of the reader sub-buffer may also
 * fall because another consumer has gone round the buffer, but the counts do not.
 */
static bool map_was_emptied(struct map_state *m)
{
	uint64_t entries = live__load64(&m->meta->entries);
	uint64_t consumed = live__load64(&m->meta->read);
	uint64_t first = map_first(m);
	bool fell = entries < m->entries || consumed < m->consumed;

	m->entries = entries;
	m->consumed = consumed;
	if (first == m->first || map_is_being_emptied(m))
		return fell;
	m->first = first;
	return true;
}

/*
 * GET_READER gives this consumer the bytes from the old reader.read to the new one, or from
 * 0 if the reader is another sub-buffer, or the same one after it was emptied.
 */
static int map_fetch(struct tracemap_cpu *cpu)
{
	struct map_state *m = &cpu->map;
	const struct trace_buffer_meta *meta = m->meta;
	uint64_t first = map_first(m);
	uint32_t id = load(&meta->reader.id), now;
	uint32_t read = load(&meta->reader.read), end, flags;

	if (tracemap__unlikely(ioctl(cpu->fd, TRACE_MMAP_IOCTL_GET_READER) < 0))
		return -errno;
	if (tracemap__unlikely(map_first(m) != first))
		read = 0;
	now = load(&meta->reader.id);
	end = load(&meta->reader.read);
	if (map_was_emptied(m))
		m->emptied = true;
	if (now != id || end < read)
		read = 0;
	if (end == read && !m->emptied)
		return 0;
	if (now >= m->nr_subbufs)
		return -EPROTO;

	map_go_to(cpu, now, read, end);
	flags = m->emptied ? TRACEMAP_RESET : 0;
	m->emptied = false;
	tracemap__set_batch(cpu, &m->it, read ? 0 : map_missed(cpu, now), flags);
	return 1;
}

static int map_settle(struct tracemap_cpu *cpu)
{
	cpu->map.it = cpu->batch.it;
	return cpu->batch.it.corrupt ? -EBADMSG : 0;
}

/*
 * The position of the consumer, in the form of an observer's. The index counts events, and
 * the meta page has the bytes of the reader sub-buffer. If that is not the one that is being
 * written, its start will do: there is more to read.
 */
static void map_position(const struct map_state *m, struct trace_live_position *p)
{
	const struct live_observer *o = &m->observer;
	uint64_t now = live__load_newest(o), passed = live__passed(o);

	p->generation = live__end_of(o, passed, now);
	if (p->generation == now && passed > live__load64(&live__entry(o, now)->before))
		p->read = load(&m->meta->reader.read);
}

/* Without a position, as while the buffer is emptied, poll() of trace_pipe_raw reports. */
static int map_arm(struct tracemap_cpu *cpu, uint64_t bytes)
{
	struct trace_live_position p = { .size = sizeof(p), .bytes = bytes };
	struct map_state *m = &cpu->map;

	if (!m->live.index || !bytes)
		return -EOPNOTSUPP;
	map_position(m, &p);
	return ioctl(cpu->live_fd, TRACE_LIVE_IOCTL_SET_POSITION, &p) < 0 ? -EAGAIN : 0;
}

/* Without the index, finding out would mean reading a file of the kernel: say yes. */
static bool map_is_filling(const struct tracemap_cpu *cpu)
{
	const struct live_observer *o = &cpu->map.observer;
	uint64_t now;

	if (!cpu->map.live.index)
		return true;
	now = live__load_newest(o);
	return now - live__end_of(o, live__passed(o), now) > o->nr_slots / 4;
}

static int map_figures(const struct tracemap_cpu *cpu, struct tracemap_figures *f)
{
	const struct map_state *m = &cpu->map;
	int ret;

	if (m->live.index)
		return tracemap__live_figures(&m->observer, f);
	ret = tracemap__stats(cpu, f);
	f->nr_subbufs = m->nr_subbufs;
	return ret;
}

static void map_raw(const struct tracemap_cpu *cpu, struct tracemap_raw *raw)
{
	const struct map_state *m = &cpu->map;

	raw->meta = m->meta;
	raw->meta_size = m->subbufs - (const unsigned char *)m->meta;
	raw->subbufs = m->subbufs;
	raw->subbufs_size = m->size - raw->meta_size;
	raw->index = m->live.index;
	raw->index_size = m->live.size;
	raw->reader = load(&m->meta->reader.id);
}

static void map_close(struct tracemap_cpu *cpu)
{
	if (cpu->map.live.index)
		live_unmap(&cpu->map.live);
	if (cpu->map.meta)
		munmap((void *)cpu->map.meta, cpu->map.size);
}

static uint64_t map_whole_size(const struct trace_buffer_meta *meta)
{
	return meta->meta_page_size + (uint64_t)meta->nr_subbufs * meta->subbuf_size;
}

/* Map the first page to learn the size, then map the whole, and unmap the page. */
static int map_whole(struct tracemap_cpu *cpu)
{
	struct map_state *m = &cpu->map;
	size_t page = sysconf(_SC_PAGESIZE);
	void *whole, *start = mmap(NULL, page, PROT_READ, MAP_SHARED, cpu->fd, 0);
	int ret = 0;

	if (start == MAP_FAILED)
		return -errno;
	m->size = map_whole_size(start);
	whole = mmap(NULL, m->size, PROT_READ, MAP_SHARED, cpu->fd, 0);
	if (whole == MAP_FAILED)
		ret = -errno;
	else
		m->meta = whole;
	munmap(start, page);
	return ret;
}

/* Read the sizes again, now that the buffer is mapped and they cannot change. */
static int map_take_sizes(struct tracemap_cpu *cpu)
{
	struct map_state *m = &cpu->map;
	const struct trace_buffer_meta *meta = m->meta;

	if (map_whole_size(meta) != m->size)
		return -EOVERFLOW;
	if (!meta->nr_subbufs || meta->subbuf_size <= cpu->format.data_offset ||
	    meta->meta_page_size < sizeof(*meta))
		return -EPROTO;
	m->subbufs = (const unsigned char *)meta + meta->meta_page_size;
	m->nr_subbufs = meta->nr_subbufs;
	m->entries = meta->entries;
	m->consumed = meta->read;
	cpu->format.subbuf_size = meta->subbuf_size;
	return 0;
}

/* Map the index, if there is one. Without it only figures and waits differ. */
static void map_index(struct tracemap_cpu *cpu)
{
	struct map_state *m = &cpu->map;

	cpu->live_fd = tracemap__open_at(cpu->dir, "trace_live", O_RDONLY);
	if (cpu->live_fd < 0 ||
	    live__map(&m->live, cpu->live_fd, offsetof(struct trace_live_index, subbufs_offset)))
		return;
	if (live__open(&m->observer, &m->live)) {
		live_unmap(&m->live);
		m->live.index = NULL;
		m->live.size = 0;
		return;
	}
	m->first = map_first(m);
}

int tracemap__open_map(struct tracemap_cpu *cpu)
{
	int ret = map_whole(cpu);

	if (ret)
		return ret == -ENODEV ? -EOPNOTSUPP : ret == -EINVAL ? -ENXIO : ret;
	ret = map_take_sizes(cpu);
	if (ret) {
		map_close(cpu);
		return ret;
	}
	map_index(cpu);
	cpu->backend = &tracemap__backend_map;
	return 0;
}

const struct backend tracemap__backend_map = {
	.name		= "map",
	.fetch		= map_fetch,
	.settle		= map_settle,
	.arm		= map_arm,
	.is_filling	= map_is_filling,
	.figures	= map_figures,
	.raw		= map_raw,
	.close		= map_close,
};

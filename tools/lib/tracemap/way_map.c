// SPDX-License-Identifier: LGPL-2.1
/*
 * The mapping: TRACE_MMAP_IOCTL_GET_READER consumes, and the records are read
 * where the kernel has put them.
 *
 * Where the kernel has a live index that is mapped, too. Then waits end when as
 * many bytes came as the caller wants, and not by buffer_percent.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

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
 * Make the iterator stand at byte @read of sub-buffer @id. It does already when
 * the sub-buffer has only grown. What somebody else has consumed is passed over,
 * for the sake of the deltas.
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
 * Lost right before the first record of the reader sub-buffer. Mainline does
 * not say so in the meta page, but in the commit word once the writer has left.
 */
static uint64_t map_missed(const struct tracemap_cpu *cpu, uint32_t id)
{
	const struct map_state *m = &cpu->map;
	uint64_t lost = m->mapping.meta->reader.lost_events;
	int64_t missed;

	if (lost || m->mapping.index)
		return lost;
	missed = subbuf_missed(&cpu->format, map_subbuf(cpu, id));
	return missed < 0 ? TRACEMAP_MISSED_UNKNOWN : (uint64_t)missed;
}

/* Was the buffer emptied since the last look? */
static bool map_was_emptied(struct map_state *m, bool fell)
{
	const struct trace_buffer_meta *meta = m->mapping.meta;
	uint64_t entries = live__load_count(&meta->entries);
	uint32_t epoch = m->mapping.index ? load(&m->mapping.index->epoch) : 0;

	fell |= entries < m->entries;
	m->entries = entries;
	if (epoch == m->epoch || epoch & 1)	/* odd: it will be another yet */
		return fell;
	m->epoch = epoch;
	return true;
}

static uint32_t map_epoch(const struct map_state *m)
{
	return m->mapping.index ? live__load_acquire(&m->mapping.index->epoch) : 0;
}

/*
 * What is ours are the bytes from the old reader.read to the new one, or from 0
 * if the reader is another sub-buffer, or the same again, emptied.
 */
static int map_fetch(struct tracemap_cpu *cpu)
{
	struct map_state *m = &cpu->map;
	const struct trace_buffer_meta *meta = m->mapping.meta;
	uint32_t epoch = map_epoch(m), flags;
	uint32_t id = load(&meta->reader.id), now;
	uint32_t read = load(&meta->reader.read), end;

	if (tracemap__unlikely(ioctl(cpu->fd, TRACE_MMAP_IOCTL_GET_READER) < 0))
		return -errno;
	if (tracemap__unlikely(map_epoch(m) != epoch))
		read = 0;
	now = load(&meta->reader.id);
	end = load(&meta->reader.read);
	if (map_was_emptied(m, now == id && end < read))
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
 * Where the reader is, as an observer would say it. The first reader sub-buffer
 * after a reset holds nothing and is no place in the stream: what comes next
 * then is the oldest of all.
 */
static struct trace_live_position map_position(const struct map_state *m, uint32_t id,
					       uint64_t bytes)
{
	const struct live_observer *o = &m->observer;
	uint32_t newest = live__load_acquire(&o->index->commit_generation);
	struct trace_live_position p = { .bytes = bytes };

	p.epoch = load(&o->index->epoch);
	p.generation = live__generation(o, id);
	if (newest - p.generation < 1U << 30)
		p.read = load(&m->mapping.meta->reader.read);
	else
		p.generation = newest + 1 - live__run_length(o, newest);
	return p;
}

/* While there is no position - it is being emptied - poll() answers as ever. */
static int map_arm(struct tracemap_cpu *cpu, uint64_t bytes)
{
	struct map_state *m = &cpu->map;
	struct trace_live_position p;
	uint32_t id = load(&m->mapping.meta->reader.id);

	if (!m->mapping.index || !bytes || id >= m->nr_subbufs)
		return -EOPNOTSUPP;
	p = map_position(m, id, bytes);
	if (!ioctl(cpu->fd, TRACE_MMAP_IOCTL_LIVE_WAIT, &p)) {
		m->positioned = true;
		return 0;
	}
	if (m->positioned)
		ioctl(cpu->fd, TRACE_MMAP_IOCTL_LIVE_WAIT, NULL);
	m->positioned = false;
	return -EAGAIN;
}

static int map_figures(const struct tracemap_cpu *cpu, struct tracemap_figures *f)
{
	const struct map_state *m = &cpu->map;
	int ret;

	if (m->mapping.index)
		return tracemap__live_figures(&m->observer, m->mapping.meta, f);
	ret = tracemap__stats(cpu, f);
	f->nr_subbufs = m->nr_subbufs;
	return ret;
}

static void map_raw(const struct tracemap_cpu *cpu, struct tracemap_raw *raw)
{
	const struct map_state *m = &cpu->map;

	raw->meta = m->mapping.meta;
	raw->meta_size = m->subbufs - (const unsigned char *)m->mapping.meta;
	raw->subbufs = m->subbufs;
	raw->subbufs_size = m->mapping.size - raw->meta_size;
	raw->index = m->mapping.index;
	raw->index_size = raw->index ? m->mapping.index_size : 0;
	raw->reader = load(&m->mapping.meta->reader.id);
}

static void map_close(struct tracemap_cpu *cpu)
{
	struct live_mapping *mapping = &cpu->map.mapping;

	if (mapping->index)
		munmap((void *)mapping->index, mapping->index_size);
	if (mapping->meta)
		munmap((void *)mapping->meta, mapping->size);
}

/* The sizes are read again now that they cannot change any more. */
static int map_take_sizes(struct tracemap_cpu *cpu)
{
	struct map_state *m = &cpu->map;
	const struct trace_buffer_meta *meta = m->mapping.meta;
	uint64_t subbufs = (uint64_t)meta->nr_subbufs * meta->subbuf_size;

	if (meta->meta_page_size + subbufs != m->mapping.size)
		return -EOVERFLOW;
	if (!meta->nr_subbufs || meta->subbuf_size <= cpu->format.data_offset ||
	    meta->meta_page_size < sizeof(*meta))
		return -EPROTO;
	m->subbufs = (const unsigned char *)meta + meta->meta_page_size;
	m->nr_subbufs = meta->nr_subbufs;
	m->entries = meta->entries;
	cpu->format.subbuf_size = meta->subbuf_size;
	return 0;
}

/* To be without the index is to have other figures and waits, no more. */
static void map_index(struct tracemap_cpu *cpu)
{
	struct map_state *m = &cpu->map;
	struct subbuf_format format = cpu->format;
	const void *index;

	if (!tracemap__kernel_lives(cpu->fd) ||
	    live__map_whole(cpu->fd, (off_t)TRACE_MMAP_LIVE_OFFSET, live__index_size,
			    &index, &m->mapping.index_size))
		return;
	m->mapping.index = index;
	if (live_attach_mapping(&m->observer, &m->mapping, &format, LIVE_FROM_NOW)) {
		munmap((void *)index, m->mapping.index_size);
		m->mapping.index = NULL;
		return;
	}
	m->epoch = m->observer.epoch;
}

int tracemap__open_map(struct tracemap_cpu *cpu)
{
	const void *whole;
	int ret;

	if (sizeof(off_t) < 8)
		return -EOVERFLOW;
	ret = live__map_whole(cpu->fd, 0, live__meta_size, &whole, &cpu->map.mapping.size);
	if (ret)
		return ret == -ENODEV ? -EOPNOTSUPP : ret == -EINVAL ? -ENXIO : ret;
	cpu->map.mapping.meta = whole;
	ret = map_take_sizes(cpu);
	if (ret) {
		map_close(cpu);
		return ret;
	}
	map_index(cpu);
	cpu->way = &tracemap__way_map;
	return 0;
}

const struct way tracemap__way_map = {
	.name		= "map",
	.fetch		= map_fetch,
	.settle		= map_settle,
	.arm		= map_arm,
	.figures	= map_figures,
	.raw		= map_raw,
	.close		= map_close,
};

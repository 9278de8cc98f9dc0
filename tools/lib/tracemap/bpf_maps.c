// SPDX-License-Identifier: LGPL-2.1
/* Open the maps of BPF programs that are rings, and wait for them. */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf_ring.h"

/**
 * struct open_ring - a ring that was opened
 * @ring: how it is read
 * @next: the one that was opened before
 * @map_fd: the caller's descriptor of the map
 * @cpu: the CPU of a perf buffer, which is the key of @event_fd in the map
 * @event_fd: the perf event, or -1 for a BPF ring buffer
 * @at: where it is mapped, or NULL
 * @size: how many bytes
 */
struct open_ring {
	struct bpf_ring ring;
	struct open_ring *next;
	int map_fd;
	int cpu;
	int event_fd;
	unsigned char *at;
	size_t size;
};

/**
 * struct tracemap_bpf - rings that are waited for together
 * @m: the merge that reads them
 * @fd: an epoll descriptor. It is edge-triggered: while a BPF ring buffer has a record, poll()
 *	calls it readable, also if the merge has that record and holds it back
 * @rings: the one that was opened last
 */
struct tracemap_bpf {
	struct tracemap_merge *m;
	int fd;
	struct open_ring *rings;
};

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	return syscall(__NR_bpf, cmd, attr, sizeof(*attr)) < 0 ? -errno : 0;
}

static int get_info(int map_fd, struct bpf_map_info *info)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	memset(info, 0, sizeof(*info));
	attr.info.bpf_fd = map_fd;
	attr.info.info_len = sizeof(*info);
	attr.info.info = (uintptr_t)info;
	return bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

/* Let programs on the CPU find its perf event in the map, or no event. */
static int change_element(const struct open_ring *o, enum bpf_cmd cmd)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = o->map_fd;
	attr.key = (uintptr_t)&o->cpu;
	if (cmd == BPF_MAP_UPDATE_ELEM)
		attr.value = (uintptr_t)&o->event_fd;
	return bpf(cmd, &attr);
}

/* ---- A ring ---- */

static void close_ring(struct open_ring *o)
{
	if (o->event_fd >= 0) {
		change_element(o, BPF_MAP_DELETE_ELEM);
		close(o->event_fd);
	}
	if (o->at)
		munmap(o->at, o->size);
	free(o->ring.scratch);
	free(o);
}

/* Close those opened since @before was. */
static void close_since(struct tracemap_bpf *b, const struct open_ring *before)
{
	while (b->rings != before) {
		struct open_ring *o = b->rings;

		b->rings = o->next;
		close_ring(o);
	}
}

static int new_ring(struct tracemap_bpf *b, int map_fd, int cpu, struct open_ring **new)
{
	struct open_ring *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->map_fd = map_fd;
	o->cpu = cpu;
	o->event_fd = -1;
	o->next = b->rings;
	b->rings = o;
	*new = o;
	return 0;
}

static int map_memory(struct open_ring *o, int fd, size_t size, int prot)
{
	void *at = mmap(NULL, size, prot, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	o->at = at;
	o->size = size;
	return 0;
}

static int wait_for(struct tracemap_bpf *b, int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	return epoll_ctl(b->fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* ---- Perf buffers ---- */

static int open_event(int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1,
		.wakeup_events = 1,
	};
	int fd = syscall(__NR_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int map_perf(struct open_ring *o, size_t bytes)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *meta;
	int ret = map_memory(o, o->event_fd, page + bytes, PROT_READ | PROT_WRITE);

	if (ret)
		return ret;
	meta = (struct perf_event_mmap_page *)o->at;
	o->ring.read = tracemap__read_perf;
	o->ring.head_word = (const uint64_t *)&meta->data_head;
	o->ring.tail_word = (uint64_t *)&meta->data_tail;
	o->ring.data = o->at + page;
	o->ring.size = bytes;
	o->ring.scratch = malloc(MAX_PERF_RECORD);
	return o->ring.scratch ? 0 : -ENOMEM;
}

/* Takes the perf event, also if it fails. */
static int open_perf(struct tracemap_bpf *b, int map_fd, int cpu, int event_fd, size_t bytes)
{
	struct open_ring *o;
	int ret = new_ring(b, map_fd, cpu, &o);

	if (ret) {
		close(event_fd);
		return ret;
	}
	o->event_fd = event_fd;
	ret = map_perf(o, bytes);
	if (!ret)
		ret = wait_for(b, event_fd);
	return ret ? ret : change_element(o, BPF_MAP_UPDATE_ELEM);
}

/*
 * Open one for each CPU that is online: the others are ENODEV. There is no CPU from the first
 * on that is EINVAL, if the same attributes were valid for another.
 */
static int open_all_perf(struct tracemap_bpf *b, int map_fd, uint32_t entries, size_t bytes)
{
	const struct open_ring *before = b->rings;

	if (bytes < (size_t)sysconf(_SC_PAGESIZE) || bytes & (bytes - 1))
		return -EINVAL;
	for (uint32_t cpu = 0; cpu < entries; cpu++) {
		int ret = open_event(cpu);

		if (ret == -ENODEV)
			continue;
		if (ret == -EINVAL && b->rings != before)
			break;
		if (ret >= 0)
			ret = open_perf(b, map_fd, cpu, ret, bytes);
		if (ret < 0)
			return ret;
	}
	return b->rings == before ? -ENODEV : 0;
}

/* ---- BPF ring buffers ---- */

/*
 * A page for the tail, which alone may be mapped writable; one for the head; the ring; the ring
 * once more.
 */
static int map_ringbuf(struct open_ring *o, size_t size)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	int ret = map_memory(o, o->map_fd, 2 * page + 2 * size, PROT_READ);

	if (ret)
		return ret;
	if (mmap(o->at, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, o->map_fd, 0) !=
	    o->at)
		return -errno;
	o->ring.read = tracemap__read_ringbuf;
	o->ring.tail_word = (uint64_t *)o->at;
	o->ring.head_word = (const uint64_t *)(o->at + page);
	o->ring.data = o->at + 2 * page;
	o->ring.size = size;
	return 0;
}

/* An overwritable ring has another layout, and its positions are longs of the kernel. */
static int open_ringbuf(struct tracemap_bpf *b, int map_fd, const struct bpf_map_info *info)
{
	struct open_ring *o;
	int ret;

	if (info->map_flags & ~BPF_F_NUMA_NODE || sizeof(long) != sizeof(uint64_t))
		return -EOPNOTSUPP;
	ret = new_ring(b, map_fd, 0, &o);
	if (!ret)
		ret = map_ringbuf(o, info->max_entries);
	return ret ? ret : wait_for(b, map_fd);
}

/* ---- All of them ---- */

int tracemap_bpf_new(struct tracemap_bpf **bpf, struct tracemap_merge *m)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);
	struct tracemap_bpf *new;

	if (fd < 0)
		return -errno;
	new = calloc(1, sizeof(*new));
	if (!new) {
		close(fd);
		return -ENOMEM;
	}
	new->m = m;
	new->fd = fd;
	*bpf = new;
	return 0;
}

static int open_map(struct tracemap_bpf *b, int map_fd, size_t bytes)
{
	struct bpf_map_info info;
	int ret = get_info(map_fd, &info);

	if (ret)
		return ret;
	switch (info.type) {
	case BPF_MAP_TYPE_PERF_EVENT_ARRAY:
		return open_all_perf(b, map_fd, info.max_entries, bytes);
	case BPF_MAP_TYPE_RINGBUF:
		return open_ringbuf(b, map_fd, &info);
	}
	return -EINVAL;
}

int tracemap_bpf_add(struct tracemap_bpf *bpf, int map_fd, int number, size_t bytes,
		     tracemap_bpf_stamp *stamp)
{
	const struct open_ring *before = bpf->rings;
	int ret = open_map(bpf, map_fd, bytes);

	if (ret)
		close_since(bpf, before);
	for (struct open_ring *o = bpf->rings; !ret && o != before; o = o->next) {
		o->ring.stamp = stamp;
		tracemap__ring_start(&o->ring);
		ret = tracemap__ring_add(&o->ring, bpf->m, number + o->cpu);
	}
	return ret;
}

int tracemap_bpf_wait(struct tracemap_bpf *bpf, int timeout_ms)
{
	struct epoll_event events[64];
	int n = epoll_wait(bpf->fd, events, 64, timeout_ms);

	return n < 0 ? -errno : n > 0;
}

int tracemap_bpf_fd(const struct tracemap_bpf *bpf)
{
	return bpf->fd;
}

void tracemap_bpf_close(struct tracemap_bpf *bpf)
{
	if (!bpf)
		return;
	close_since(bpf, NULL);
	close(bpf->fd);
	free(bpf);
}

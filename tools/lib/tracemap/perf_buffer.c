// SPDX-License-Identifier: LGPL-2.1
/*
 * Read perf buffers, of which each CPU has one: the kernel writes at data_head, the reader
 * reads at data_tail, and neither waits for the other.
 *
 *	kernel				here
 *
 *	LOAD data_tail	(A)		LOAD data_head	(C)
 *	STORE data			LOAD data
 *	STORE data_head	(B)		STORE data_tail	(D)
 *
 * The labels are those of kernel/events/ring_buffer.c. C is a load-acquire and pairs with
 * B: a reader that has seen a head also sees the records before it. D is a store-release
 * and pairs with A: the kernel overwrites a record only after all loads from it are done.
 * A record may therefore be used between C and D, which is from tracemap_perf_next() to
 * tracemap_perf_release().
 *
 * No other program writes data_tail. This code does not trust the ring: it reads each word
 * once, checks the copy, and then uses the copy.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#include "read_file.h"
#include "tracemap-bpf.h"

/* These come before the raw part of a sample, in this order, with 8 bytes each. */
#define SAMPLE_BEFORE_TIME	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID)
#define SAMPLE_BEFORE_RAW	(SAMPLE_BEFORE_TIME | PERF_SAMPLE_TIME |	\
				 PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |		\
				 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |	\
				 PERF_SAMPLE_PERIOD)
/* These come before it, too, but have no fixed size. */
#define SAMPLE_NO_FIXED_SIZE	(PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN)

enum {
	ALIGNMENT	= 8,		/* of records, and of their sizes */
	MAX_RECORD	= 1 << 16,	/* the size of a record is a u16 */
};

struct tracemap_perf {
	struct perf_event_mmap_page *page;
	const unsigned char *data;
	uint64_t data_size;
	uint64_t tail;			/* what was last stored to data_tail */
	uint64_t pos;			/* where the next record is, behind the one held */
	uint64_t head;			/* where data_head was when it was last loaded */
	uint64_t missed;		/* lost samples that the next sample has to report */
	uint32_t raw_offset;		/* of the u32 size in a record, before the sample */
	uint32_t time_offset;		/* of perf's time stamp in a record; 0: there is none */
	int error;
	bool held;			/* rec was handed out, and not released */
	bool fresh;			/* no sample was handed out since head was loaded */
	struct tracemap_record rec;
	struct tracemap_perf_options options;
	int fd;
	unsigned char *scratch;		/* for a copy of a record that wraps */
};

static int take_options(struct tracemap_perf_options *to,
			const struct tracemap_perf_options *from)
{
	size_t known = sizeof(*to), i;

	*to = tracemap_perf_default_options();
	if (!from)
		return 0;
	if (from->size < sizeof(from->size))
		return -EINVAL;
	for (i = known; i < from->size; i++) {
		if (((const char *)from)[i])
			return -E2BIG;
	}
	memcpy(to, from, from->size < known ? from->size : known);
	return to->flags & ~TRACEMAP_FROM_NOW ? -EINVAL : 0;
}

static uint32_t bytes_of(uint64_t sample_type)
{
	return sizeof(uint64_t) * __builtin_popcountll(sample_type);
}

/* Compute where in a record the parts are that its sample_type says it has. */
static int lay_out(struct tracemap_perf *perf)
{
	uint64_t type = perf->options.sample_type;
	uint32_t start = sizeof(struct perf_event_header);

	if (!type)
		type = PERF_SAMPLE_RAW;
	if (type & SAMPLE_NO_FIXED_SIZE)
		return -EOPNOTSUPP;
	if (!(type & PERF_SAMPLE_RAW))
		return -EINVAL;
	perf->raw_offset = start + bytes_of(type & SAMPLE_BEFORE_RAW);
	if (type & PERF_SAMPLE_TIME)
		perf->time_offset = start + bytes_of(type & SAMPLE_BEFORE_TIME);
	return 0;
}

/* Find the ring behind the first page. Old kernels do not set data_offset. */
static int find_ring(struct tracemap_perf *perf, void *base, size_t size)
{
	const struct perf_event_mmap_page *page = base;
	uint64_t offset, data_size;

	if (!base || size < sizeof(*page))
		return -EINVAL;
	offset = page->data_offset;
	data_size = page->data_size;
	if (!offset)
		return -EOPNOTSUPP;
	if (offset % ALIGNMENT || offset < sizeof(*page) || offset > size)
		return -EINVAL;
	if (data_size < ALIGNMENT || data_size > size - offset || data_size & (data_size - 1))
		return -EINVAL;
	perf->page = base;
	perf->data = (const unsigned char *)base + offset;
	perf->data_size = data_size;
	return 0;
}

/* Load how far the kernel has written. */
static int load_head(struct tracemap_perf *perf)
{
	/* C, pairs with B */
	uint64_t head = __atomic_load_n(&perf->page->data_head, __ATOMIC_ACQUIRE);

	if (head % ALIGNMENT || head - perf->pos > perf->data_size - (perf->pos - perf->tail))
		return -EBADMSG;
	perf->fresh |= head != perf->head;
	perf->head = head;
	return 0;
}

/* Give all before pos back to the kernel. */
static void store_tail(struct tracemap_perf *perf)
{
	if (perf->tail == perf->pos)
		return;
	perf->tail = perf->pos;
	/* D, pairs with A */
	__atomic_store_n(&perf->page->data_tail, perf->tail, __ATOMIC_RELEASE);
}

/* Begin at data_tail, which no other program stores: it can be loaded without a barrier. */
static int start(struct tracemap_perf *perf)
{
	perf->tail = __atomic_load_n(&perf->page->data_tail, __ATOMIC_RELAXED);
	perf->pos = perf->tail;
	perf->head = perf->tail;
	if (perf->tail % ALIGNMENT)
		return -EBADMSG;
	if (!(perf->options.flags & TRACEMAP_FROM_NOW))
		return 0;
	if (load_head(perf))
		return -EBADMSG;
	perf->pos = perf->head;
	store_tail(perf);
	return 0;
}

static int set_up(struct tracemap_perf *perf, void *base, size_t size,
		  const struct tracemap_perf_options *options)
{
	uint64_t longest;
	int ret;

	ret = take_options(&perf->options, options);
	if (!ret)
		ret = lay_out(perf);
	if (!ret)
		ret = find_ring(perf, base, size);
	if (!ret)
		ret = start(perf);
	if (ret)
		return ret;
	longest = perf->data_size < MAX_RECORD ? perf->data_size : MAX_RECORD;
	perf->scratch = malloc(longest);
	return perf->scratch ? 0 : -ENOMEM;
}

int tracemap_perf_open_ring(struct tracemap_perf **perf, void *base, size_t size,
			    int cpu, const struct tracemap_perf_options *options)
{
	struct tracemap_perf *new = calloc(1, sizeof(*new));
	int ret;

	if (!new)
		return -ENOMEM;
	new->rec.cpu = cpu;
	new->fd = -1;
	ret = set_up(new, base, size, options);
	if (ret) {
		free(new);
		return ret;
	}
	*perf = new;
	return 0;
}

/* The CPU at this place in a list such as "0-3,8,10-11". */
static int cpu_in_list(const char *list, unsigned int index)
{
	unsigned int first, last;
	int len;

	while (sscanf(list, "%u%n", &first, &len) == 1) {
		list += len;
		last = first;
		if (sscanf(list, "-%u%n", &last, &len) == 1)
			list += len;
		if (last < first)
			return -EINVAL;
		if (index <= last - first)
			return first + index;
		index -= last - first + 1;
		if (*list != ',')
			break;
		list++;
	}
	return -ENOENT;
}

static int online_cpu(unsigned int index)
{
	char *list = read_file_whole(AT_FDCWD, "/sys/devices/system/cpu/online", NULL);
	int ret = list ? cpu_in_list(list, index) : -errno;

	free(list);
	return ret;
}

int tracemap_perf_open(struct tracemap_perf **perf, struct perf_buffer *pb,
		       unsigned int index, int cpu,
		       const struct tracemap_perf_options *options)
{
	const struct perf_event_mmap_page *page;
	size_t size;
	void *base;
	int ret;

	if (index >= perf_buffer__buffer_cnt(pb) || cpu < TRACEMAP_PERF_ONLINE)
		return -EINVAL;
	ret = perf_buffer__buffer(pb, index, &base, &size);
	if (ret)
		return ret;
	if (cpu == TRACEMAP_PERF_ONLINE)
		cpu = online_cpu(index);
	if (cpu < 0)
		return cpu;
	/* libbpf returns the size of the ring as that of the mapping: add the page. */
	page = base;
	if (page->data_size == size)
		size += page->data_offset;
	ret = tracemap_perf_open_ring(perf, base, size, cpu, options);
	if (!ret)
		(*perf)->fd = perf_buffer__buffer_fd(pb, index);
	return ret;
}

void tracemap_perf_close(struct tracemap_perf *perf)
{
	if (!perf)
		return;
	free(perf->scratch);
	free(perf);
}

/* The record at pos, where it is in the ring, or a copy of it if it wraps. */
static const unsigned char *whole_record(const struct tracemap_perf *perf, uint32_t size)
{
	uint64_t offset = perf->pos & (perf->data_size - 1);
	uint64_t room = perf->data_size - offset;

	if (size <= room)
		return perf->data + offset;
	memcpy(perf->scratch, perf->data + offset, room);
	memcpy(perf->scratch + room, perf->data, size - room);
	return perf->scratch;
}

/*
 * Load the header of the record at pos. Returns 1, or 0 if the kernel has written none yet.
 * A header does not wrap, since all sizes are multiples of its own.
 */
static int look(struct tracemap_perf *perf, struct perf_event_header *header)
{
	if (perf->pos == perf->head) {
		int ret = load_head(perf);

		if (ret)
			return ret;
		if (perf->pos == perf->head)
			return 0;
	}
	memcpy(header, perf->data + (perf->pos & (perf->data_size - 1)), sizeof(*header));
	if (header->size < sizeof(*header) || header->size % ALIGNMENT ||
	    header->size > perf->head - perf->pos)
		return -EBADMSG;
	return 1;
}

static int find_stamp(const struct tracemap_perf *perf, const unsigned char *event,
		      struct tracemap_record *rec)
{
	const struct tracemap_perf_options *options = &perf->options;
	const unsigned char *stamp = event + perf->time_offset;

	if (options->stamp) {
		rec->ts = options->stamp(options->arg, rec->data, rec->size);
		return 0;
	}
	if (!perf->time_offset) {
		if (rec->size < sizeof(rec->ts) ||
		    rec->size - sizeof(rec->ts) < options->stamp_offset)
			return -EBADMSG;
		stamp = (const unsigned char *)rec->data + options->stamp_offset;
	}
	memcpy(&rec->ts, stamp, sizeof(rec->ts));
	return 0;
}

static int read_sample(struct tracemap_perf *perf, const unsigned char *event, uint32_t event_size)
{
	struct tracemap_record *rec = &perf->rec;
	uint32_t start = perf->raw_offset + sizeof(uint32_t);
	uint32_t size;

	if (event_size < start)
		return -EBADMSG;
	memcpy(&size, event + perf->raw_offset, sizeof(size));
	if (size > event_size - start)
		return -EBADMSG;
	rec->data = event + start;
	rec->size = size;
	return find_stamp(perf, event, rec);
}

/* Count a loss. Both kinds of record have the number last, but an id may follow. */
static int add_loss(struct tracemap_perf *perf, const unsigned char *event,
		    const struct perf_event_header *header)
{
	uint32_t offset = sizeof(*header);
	uint64_t lost;

	if (header->type == PERF_RECORD_LOST)
		offset += sizeof(uint64_t);	/* the id of the event */
	if (header->size < offset + sizeof(lost))
		return -EBADMSG;
	memcpy(&lost, event + offset, sizeof(lost));
	if (__builtin_add_overflow(perf->missed, lost, &perf->missed))
		perf->missed = TRACEMAP_MISSED_UNKNOWN;
	return 0;
}

/* Read and pass the record at pos. Returns 1 if it is a sample, 0 if not. */
static int read_record(struct tracemap_perf *perf, const struct perf_event_header *header)
{
	const unsigned char *event;
	int ret = 0;

	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		event = whole_record(perf, header->size);
		ret = read_sample(perf, event, header->size);
		perf->held = !ret;
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		event = whole_record(perf, header->size);
		ret = add_loss(perf, event, header);
		break;
	}
	if (ret)
		return ret;
	perf->pos += header->size;
	return perf->held;
}

static int find_sample(struct tracemap_perf *perf)
{
	struct perf_event_header header;
	int ret;

	do {
		ret = look(perf, &header);
		if (ret <= 0)
			return ret;
		ret = read_record(perf, &header);
	} while (!ret);
	return ret;
}

int tracemap_perf_next(struct tracemap_perf *perf, struct tracemap_record *rec)
{
	int ret;

	if (perf->error)
		return perf->error;
	if (!perf->held) {
		ret = find_sample(perf);
		if (ret < 0)
			perf->error = ret;
		/* Give back the room of records that were passed and are no samples. */
		if (ret == 0)
			store_tail(perf);
		if (ret <= 0)
			return ret;
		perf->rec.missed = perf->missed;
		perf->rec.flags = perf->fresh ? TRACEMAP_FRESH : 0;
		perf->missed = 0;
		perf->fresh = false;
	}
	*rec = perf->rec;
	return 1;
}

void tracemap_perf_release(struct tracemap_perf *perf)
{
	if (!perf->held)
		return;
	perf->held = false;
	store_tail(perf);
}

int tracemap_perf_discard(struct tracemap_perf *perf)
{
	uint64_t before = perf->tail;

	perf->held = false;
	perf->error = 0;
	perf->pos = perf->tail;
	if (load_head(perf)) {
		perf->error = -EBADMSG;
		return perf->error;
	}
	perf->pos = perf->head;
	store_tail(perf);
	if (perf->tail != before)
		perf->missed = TRACEMAP_MISSED_UNKNOWN;
	return 0;
}

static int source_next(void *arg, struct tracemap_record *rec)
{
	return tracemap_perf_next(arg, rec);
}

static void source_release(void *arg)
{
	tracemap_perf_release(arg);
}

void tracemap_perf_source(struct tracemap_perf *perf, struct tracemap_source *source)
{
	/* This function sets only these members, even if a later version has more. */
	source->size = offsetof(struct tracemap_source, release) + sizeof(source->release);
	source->cpu = perf->rec.cpu;
	source->arg = perf;
	source->next = source_next;
	source->release = source_release;
}

uint64_t tracemap_perf_fill(const struct tracemap_perf *perf)
{
	/* No data are read because of this value, so that it needs no barrier. */
	return __atomic_load_n(&perf->page->data_head, __ATOMIC_RELAXED) - perf->tail;
}

void tracemap_perf_raw(const struct tracemap_perf *perf, struct tracemap_perf_raw *raw)
{
	raw->page = perf->page;
	raw->data = perf->data;
	raw->data_size = perf->data_size;
	raw->fd = perf->fd;
}

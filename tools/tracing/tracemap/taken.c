// SPDX-License-Identifier: GPL-2.0
/*
 * Copies of the events that a snapshot has consumed.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "advice.h"
#include "losses.h"
#include "taken.h"

static size_t round_up(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

/* A record that was taken, small as there are many; behind it is @missed if it has one. */
struct head {
	uint64_t ts;
	uint32_t size;
	uint16_t flags;
	bool is_event, has_missed;
};

static void add(struct taken *taken, const struct tracemap_record *rec)
{
	static const char zeros[8];
	struct head head = {
		.ts = rec->ts,
		.size = rec->size,
		.flags = rec->flags,
		.is_event = rec->data,
		.has_missed = rec->missed,
	};
	size_t before = taken->records.size;

	bytes_add(&taken->records, &head, sizeof(head));
	if (rec->missed)
		bytes_add_u64(&taken->records, rec->missed);
	if (rec->data) {
		bytes_add(&taken->records, rec->data, rec->size);
		bytes_add(&taken->records, zeros, round_up(rec->size) - rec->size);
	}
	if (taken->records.error)
		taken->records.size = before;	/* it is whole, or not there */
}

static void add_batch(struct taken *taken, struct snapshot *s, unsigned int i,
		      struct tracemap_batch *b)
{
	struct tracemap_record rec = { .flags = b->flags };
	struct subbuf_record r;

	taken->missed = losses_add(taken->missed, b->missed);
	if (b->missed)
		snapshot_overtaken(s, i);
	while (tracemap_batch_next(b, &r)) {
		rec.ts = r.ts;
		rec.data = r.data;
		rec.size = r.size;
		rec.missed = taken->missed;
		add(taken, &rec);
		snapshot_read(s, i);
		taken->missed = 0;
		rec.flags = 0;
	}
}

/* A loss that no event follows, at the time of the last one. */
static void add_end(struct taken *taken, uint64_t ts)
{
	struct tracemap_record rec = { .ts = ts, .missed = taken->missed };

	if (taken->missed)
		add(taken, &rec);
}

int taken_fill(struct taken *taken, struct snapshot *s, unsigned int i)
{
	struct tracemap_cpu *cpu = tracemap_get_cpu(s->t, i);
	struct tracemap_batch *b;
	uint64_t ts = 0;
	int ret = 1;

	taken->cpu = tracemap_cpu_number(cpu);
	while (ret >= 0 && s->cpus[i].left && !snapshot_stops(s)) {
		ret = tracemap_cpu_fetch(cpu, &b);
		if (!ret || ret == -ENODATA)
			break;
		if (ret < 0) {
			ret = snapshot_error(ret, taken->cpu);
			continue;
		}
		add_batch(taken, s, i, b);
		ts = b->it.ts;
		ret = taken->records.error;
		if (ret)
			complain(ABOUT_BUFFER, ret, "CPU %d", taken->cpu);
	}
	add_end(taken, ts);
	return ret < 0 && ret != -ENODATA ? ret : 0;
}

static const void *pass(struct taken *taken, size_t size)
{
	const void *at = taken->records.data + taken->at;

	taken->at += size;
	return at;
}

int taken_next(void *arg, struct tracemap_record *rec)
{
	struct taken *taken = arg;
	struct head head;

	if (taken->at == taken->records.size)
		return -ENODATA;
	memcpy(&head, pass(taken, sizeof(head)), sizeof(head));
	*rec = (struct tracemap_record){
		.ts = head.ts,
		.size = head.size,
		.cpu = taken->cpu,
		.flags = head.flags,
	};
	if (head.has_missed)
		memcpy(&rec->missed, pass(taken, sizeof(rec->missed)), sizeof(rec->missed));
	if (head.is_event)
		rec->data = pass(taken, round_up(head.size));
	return 1;
}

void taken_free(struct taken *taken)
{
	bytes_free(&taken->records);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Copies of the events that a snapshot has consumed.
 */
#include <errno.h>
#include <string.h>

#include "advice.h"
#include "losses.h"
#include "stop.h"
#include "taken.h"

static size_t round_up(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static void add(struct taken *taken, struct tracemap_record rec)
{
	static const char zeros[8];

	bytes_add(&taken->records, &rec, sizeof(rec));
	if (!rec.data)
		return;
	bytes_add(&taken->records, rec.data, rec.size);
	bytes_add(&taken->records, zeros, round_up(rec.size) - rec.size);
}

static void add_batch(struct taken *taken, struct snapshot *s, unsigned int i,
		      struct tracemap_batch *b)
{
	struct tracemap_record rec = { .cpu = b->cpu };
	struct subbuf_record r;

	taken->missed = losses_add(taken->missed, b->missed);
	rec.flags = b->flags;
	while (tracemap_batch_next(b, &r)) {
		rec.ts = r.ts;
		rec.data = r.data;
		rec.size = r.size;
		rec.missed = taken->missed;
		add(taken, rec);
		snapshot_read(s, i);
		taken->missed = 0;
		rec.flags = 0;
	}
}

/* A loss that no event follows, at the time of the last one. */
static void add_end(struct taken *taken, int cpu, uint64_t ts)
{
	struct tracemap_record rec = { .cpu = cpu, .ts = ts, .missed = taken->missed };

	if (taken->missed)
		add(taken, rec);
}

int taken_fill(struct taken *taken, struct snapshot *s, unsigned int i)
{
	struct tracemap_cpu *cpu = tracemap_get_cpu(s->t, i);
	struct tracemap_batch *b;
	uint64_t ts = 0;
	int ret = 1;

	while (ret >= 0 && s->cpus[i].left && !snapshot_stops(s)) {
		ret = tracemap_cpu_fetch(cpu, &b);
		if (!ret || ret == -ENODATA)
			break;
		if (ret < 0) {
			ret = snapshot_error(ret, tracemap_cpu_number(cpu));
			continue;
		}
		add_batch(taken, s, i, b);
		ts = b->it.ts;
		ret = taken->records.error;
		if (ret)
			complain(ABOUT_BUFFER, ret, "CPU %d", tracemap_cpu_number(cpu));
	}
	add_end(taken, tracemap_cpu_number(cpu), ts);
	return ret < 0 && ret != -ENODATA ? ret : 0;
}

int taken_next(void *arg, struct tracemap_record *rec)
{
	struct taken *taken = arg;
	const char *at = taken->records.data + taken->at;

	if (taken->at == taken->records.size)
		return -ENODATA;
	memcpy(rec, at, sizeof(*rec));
	taken->at += sizeof(*rec);
	if (!rec->data)
		return 1;
	rec->data = at + sizeof(*rec);
	taken->at += round_up(rec->size);
	return 1;
}

void taken_free(struct taken *taken)
{
	bytes_free(&taken->records);
}

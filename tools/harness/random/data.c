// SPDX-License-Identifier: GPL-2.0
/* Events: written with numbers, and looked at when they come out. */
#define _GNU_SOURCE
#include <sched.h>

#include "random.h"

#define ENTRY_HEADER	8
/* Of what was written, a record has its own header more, and that of the entry. */
#define RECORD_MORE	(4 + ENTRY_HEADER)

long stat_entries(int inst, int cpu)
{
	return cpu_stat(dir_of(inst), cpu, "entries");
}

/* All that was written since the last reset, wherever it is now. */
long stat_sum(int inst, int cpu)
{
	long entries = stat_entries(inst, cpu);

	if (entries < 0)
		return entries;
	return entries + cpu_stat(dir_of(inst), cpu, "overrun") +
	       cpu_stat(dir_of(inst), cpu, "read events");
}

static void run_anywhere(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
}

static long write_some(int marker, struct account *acc, unsigned int count, size_t size)
{
	static char bytes[4096];
	struct event_payload *payload = (void *)bytes;
	unsigned int done;

	payload->tag = EVENT_TAG;
	for (done = 0; done < count; done++) {
		payload->seq = acc->seq;
		memset(payload + 1, acc->seq, size - sizeof(*payload));
		if (write(marker, bytes, size) < 0)
			return -errno;
		acc->sizes[acc->seq++ % SIZES] = size;
	}
	return done;
}

long write_numbered(int inst, int cpu, unsigned int count, size_t size)
{
	int marker = instance_file(dir_of(inst), "trace_marker_raw", O_WRONLY);
	long ret;

	if (marker < 0)
		return marker;
	ret = run_on_cpu(cpu);
	if (!ret) {
		ret = write_some(marker, &shared->live[inst][cpu], count, size);
		run_anywhere();
	}
	close(marker);
	return ret;
}

/* They are in the order they were written in: what is left is the last. */
enum tri fit_one_subbuf(int inst, int cpu, long nr, size_t size)
{
	const struct account *acc = &shared->live[inst][cpu];
	size_t sum = SUBBUF_HEADER;
	uint32_t i;

	if (storm || acc->vague || nr < 0 || nr > acc->seq)
		return MAYBE;
	for (i = 1; i <= nr && i <= SIZES; i++)
		sum += acc->sizes[(acc->seq - i) % SIZES] + RECORD_MORE;
	return is(sum <= size);
}

struct tally *tally_begin(struct account *acc)
{
	if (acc->vague || acc->loose || storm)
		acc->tally.unknown_loss = true;
	return &acc->tally;
}

/* The first thing that is wrong is told, and then no other run of the tally. */
void tally_check(struct account *acc, struct answer *a)
{
	struct tally *t = &acc->tally;

	if (acc->mixed)
		t->misplaced = 0;
	if (!t->malformed && !t->misplaced)
		return;
	snprintf(a->complaint, sizeof(a->complaint),
		 "events: seen %llu lost %llu next %u, %llu malformed, %llu not where they belong",
		 (unsigned long long)t->seen, (unsigned long long)t->lost, t->next,
		 (unsigned long long)t->malformed, (unsigned long long)t->misplaced);
}

/* An event of ours is filled with its number, and has a spare word at its end. */
static bool event_sane(const struct subbuf_record *rec)
{
	const unsigned char *bytes = rec->data;
	struct event_payload payload;
	uint32_t i = ENTRY_HEADER + sizeof(payload);

	if (rec->size < i)
		return true;
	memcpy(&payload, bytes + ENTRY_HEADER, sizeof(payload));
	if (payload.tag != EVENT_TAG)
		return true;
	for (; i + 4 < rec->size; i++) {
		if (bytes[i] != (unsigned char)payload.seq)
			return false;
	}
	return true;
}

bool subbuf_sane(const void *subbuf, size_t size)
{
	struct subbuf_format f = format;
	struct subbuf_record rec;
	struct subbuf_iter it;

	f.subbuf_size = size;
	it = subbuf_begin(&f, subbuf);
	while (subbuf_next(&it, &rec)) {
		if (!event_sane(&rec))
			return false;
	}
	return !it.corrupt;
}

// SPDX-License-Identifier: LGPL-2.1
/*
 * Any recording: what CPUs hand out, one by each way to read, is written by the writer of
 * trace.dat, whose disk may become full, and is read back. Each event has its time and its
 * bytes, in order; each loss is told in its place, and its number is right, or is not there
 * if it could not be known. When the disk becomes full, each CPU still has a last page, with the
 * last of the events that were not written.
 *
 * The CPUs are made here, in place of those of libtracemap. The input says what they hand out:
 * a byte an operation, and bytes behind it that it takes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "dat.h"
#include "subbuf_make.h"
#include "tracefs_make.h"

#define promise(cond)	do { if (!(cond)) abort(); } while (0)

enum {
	NR_CPUS		= 3,
	EVENTS_MAX	= 1000,
	RECORDS_MAX	= 16,		/* of a batch */
	LAST_BATCHES	= 4,		/* that come when nothing is written any more */
};

/* ---- The input ---- */

static const uint8_t *input, *input_end;

static uint32_t take(void)
{
	return input < input_end ? *input++ : 0;
}

/* ---- The CPUs ---- */

/* An event that was handed out, and how many were lost right before it. */
struct event {
	uint64_t ts;
	uint64_t lost;
	uint32_t value, size;
	bool untold;		/* that number */
	unsigned int losses;	/* it is the sum of so many */
};

struct tracemap_cpu {
	int number;
	enum tracemap_way way;
	struct subbuf_make subbufs[2];	/* of which the mapping has several */
	unsigned int current;
	unsigned char copy[MAKE_MAX];	/* an observer's */
	struct tracemap_batch batch;
	bool has_batch;
	uint64_t overwritten, consumed;
	uint64_t counted;		/* so many were lost already, and no sub-buffer tells */
	uint64_t lost;			/* behind the last event, so many, */
	unsigned int losses;		/* in so many losses, */
	bool untold;			/* of which one was told without a number */
	uint64_t clock;
	struct event events[EVENTS_MAX];
	unsigned int nr_events;
	unsigned int written;		/* of these; what came later is not written */
};

struct tracemap {
	struct tracemap_cpu cpus[NR_CPUS];
	struct subbuf_format format;
	unsigned int batches_left;	/* that come by themselves */
	bool ends;			/* and what is counted is told */
};

static struct tracemap t;
static struct tracemap_dat *dat;

static bool add_event(struct tracemap_cpu *cpu, struct subbuf_make *m, uint32_t size)
{
	struct event *e = &cpu->events[cpu->nr_events];
	unsigned char data[MAKE_MAX];

	if (cpu->nr_events == EVENTS_MAX || size > sizeof(data))
		return false;
	*e = (struct event){
		.ts = cpu->clock, .lost = cpu->lost, .untold = cpu->untold,
		.losses = cpu->losses, .size = size,
		.value = cpu->nr_events * NR_CPUS + cpu->number,
	};
	memset(data, e->value, size);
	memcpy(data, &e->value, sizeof(e->value));
	if (!make_event(m, cpu->clock, data, size))
		return false;
	cpu->lost = 0;
	cpu->losses = 0;
	cpu->untold = false;
	cpu->nr_events++;
	cpu->consumed++;
	return true;
}

/* From nothing to 2^40 ns. */
static void pass_time(struct tracemap_cpu *cpu)
{
	uint32_t how = take();

	cpu->clock += how < 224 ? how : 1ULL << (how - 216);
}

static bool add_record(struct tracemap_cpu *cpu, struct subbuf_make *m)
{
	uint32_t what = take(), size = 4 + what % 32 * 4;

	pass_time(cpu);
	switch (what >> 5) {
	case 0:
		return make_time(m, SUBBUF_TYPE_TIME_STAMP, cpu->clock);
	case 1:
		cpu->clock = m->ts + 1 + what % 7;
		return make_discarded(m, cpu->clock - m->ts, size);
	case 2:
		/* All the room, or all but the one for a number. */
		return make_room(m) > 24 && add_event(cpu, m, make_room(m) - 8 - 4 * (what % 4));
	default:
		return add_event(cpu, m, size);
	}
}

static void add_records(struct tracemap_cpu *cpu, struct subbuf_make *m)
{
	uint32_t n = take() % RECORDS_MAX;

	while (n-- && add_record(cpu, m))
		;
}

/* How many are lost: mostly none, or few, and more than 32 bits have. */
static uint64_t any_loss(void)
{
	uint32_t what = take();

	return what < 128 ? 0 : what < 250 ? what - 127 : 1ULL << (what - 220);
}

static uint64_t lose(struct tracemap_cpu *cpu)
{
	uint64_t lost = any_loss() + cpu->counted;
	bool told = cpu->way == TRACEMAP_OBSERVE || take() % 2;

	cpu->overwritten += lost - cpu->counted;
	cpu->counted = 0;
	cpu->lost += lost;
	cpu->losses += lost > 0;
	cpu->untold |= lost && !told;
	return told ? lost : lost ? TRACEMAP_MISSED_UNKNOWN : 0;
}

/* A copy has the records alone; a batch that tells a loss may have nothing at all. */
static struct subbuf_iter copied(struct tracemap_cpu *cpu, const struct subbuf_make *m)
{
	struct subbuf_iter it = subbuf_resume(&t.format, m->bytes, 0,
					      subbuf_time_stamp(&t.format, m->bytes));

	if (!m->end) {
		memset(&it, 0, sizeof(it));
		return it;
	}
	memcpy(cpu->copy, m->bytes + t.format.data_offset, m->end);
	it.data = cpu->copy;
	it.next = cpu->copy;
	subbuf_extend(&it, m->end);
	return it;
}

static void hand_out_new(struct tracemap_cpu *cpu)
{
	uint64_t missed = lose(cpu);
	struct subbuf_make *m;

	cpu->current ^= cpu->way == TRACEMAP_MAP;
	m = &cpu->subbufs[cpu->current];
	make_begin(m, &t.format, cpu->clock);
	add_records(cpu, m);
	make_finish(m, 0);
	cpu->batch = (struct tracemap_batch){ .missed = missed, .cpu = cpu->number };
	cpu->batch.it = cpu->way == TRACEMAP_OBSERVE ? copied(cpu, m) :
						       subbuf_begin(&t.format, m->bytes);
}

/*
 * Hand out more of the mapped sub-buffer. If the recorder has passed no record of it so far, the
 * iterator still has the time of its beginning.
 */
static void hand_out_more(struct tracemap_cpu *cpu)
{
	struct subbuf_make *m = &cpu->subbufs[cpu->current];

	add_records(cpu, m);
	make_put(m, t.format.commit_offset, m->end, t.format.commit_size);
	cpu->batch.missed = 0;
	subbuf_extend(&cpu->batch.it, m->end);
}

static void hand_out(struct tracemap_cpu *cpu, bool more)
{
	if (more && cpu->way == TRACEMAP_MAP && cpu->batch.it.data)
		hand_out_more(cpu);
	else
		hand_out_new(cpu);
	cpu->has_batch = true;
}

/* ---- What the writer sees of them ---- */

unsigned int tracemap_nr_cpus(const struct tracemap *of)
{
	(void)of;
	return NR_CPUS;
}

struct tracemap_cpu *tracemap_get_cpu(const struct tracemap *of, unsigned int i)
{
	return (struct tracemap_cpu *)&of->cpus[i];
}

enum tracemap_way tracemap_cpu_way(const struct tracemap_cpu *cpu)
{
	return cpu->way;
}

int tracemap_cpu_number(const struct tracemap_cpu *cpu)
{
	return cpu->number;
}

int tracemap_cpu_raw(const struct tracemap_cpu *cpu, struct tracemap_raw *raw)
{
	(void)cpu;
	*raw = (struct tracemap_raw){ .format = t.format };
	return 0;
}

int tracemap_cpu_figures(const struct tracemap_cpu *cpu, struct tracemap_figures *figures)
{
	*figures = (struct tracemap_figures){
		.overwritten = cpu->overwritten, .consumed = cpu->consumed,
	};
	return 0;
}

int tracemap_cpu_fetch(struct tracemap_cpu *cpu, struct tracemap_batch **batch)
{
	if (!cpu->has_batch && t.batches_left) {
		t.batches_left--;
		hand_out(cpu, take() % 2);
	} else if (!cpu->has_batch && t.ends && cpu->counted) {
		hand_out(cpu, false);
	}
	if (!cpu->has_batch)
		return 0;
	cpu->has_batch = false;
	*batch = &cpu->batch;
	return 1;
}

/* ---- The disk ---- */

static bool disk_is_full;

__typeof__(pwritev) __real_pwritev64;

/* A full disk has room for what is there, and for the beginning of what is not. */
ssize_t __wrap_pwritev64(int fd, const struct iovec *part, int nr, off_t at)
{
	off_t size = 0;
	struct stat st;

	for (int i = 0; i < nr; i++)
		size += part[i].iov_len;
	promise(!fstat(fd, &st));
	if (!disk_is_full || at + size <= st.st_size)
		return __real_pwritev64(fd, part, nr, at);
	if (nr > 1)
		return __real_pwritev64(fd, part, 1, at);
	errno = ENOSPC;
	return -1;
}

/* What is kept free is not needed here; holes are. */
__typeof__(fallocate) __real_fallocate64;

int __wrap_fallocate64(int fd, int mode, off_t at, off_t size)
{
	return mode & FALLOC_FL_PUNCH_HOLE ? __real_fallocate64(fd, mode, at, size) : 0;
}

/* ---- Recording ---- */

static char top[64], dir[96], path[96];
static const unsigned int sizes[] = { 128, 256, 1024, 4096 };	/* of sub-buffers */
static struct trace_head *heads[4];

static void begin(void)
{
	static const enum tracemap_way ways[NR_CPUS] = {
		TRACEMAP_READ, TRACEMAP_MAP, TRACEMAP_OBSERVE,
	};
	uint32_t how = take(), commit_size = how & 1 ? 4 : 8;
	char *in_the_way;

	memset(&t, 0, sizeof(t));
	t.format = (struct subbuf_format){
		.subbuf_size = sizes[how >> 1 & 3], .commit_offset = 8,
		.commit_size = commit_size, .data_offset = 8 + commit_size,
		.big_endian = subbuf__host_big,
	};
	for (unsigned int i = 0; i < NR_CPUS; i++) {
		t.cpus[i].number = i;
		t.cpus[i].way = ways[how & 8 ? 2 : i % 2];
		t.cpus[i].clock = 1 + 1000 * i;
	}
	disk_is_full = false;
	promise(!dat_new(&dat, &t, dir));
	dat->head = heads[how >> 1 & 3];
	promise(!dat_create(dat, path, &in_the_way));
}

/* From now on nothing is written, if it has failed. */
static void note_error(const unsigned int *before)
{
	for (unsigned int i = 0; i < NR_CPUS; i++)
		t.cpus[i].written = before ? before[i] : t.cpus[i].nr_events;
}

static void pull(struct tracemap_cpu *cpu, bool more)
{
	unsigned int before[NR_CPUS];
	int ret;

	for (unsigned int i = 0; i < NR_CPUS; i++)
		before[i] = t.cpus[i].nr_events;
	hand_out(cpu, more);
	ret = dat_pull(dat, cpu->number);
	promise(ret == (dat->error ?: 1));
	if (ret < 0)
		note_error(before);
}

static void run(void)
{
	struct tracemap_dat_figures figures;

	while (input < input_end && !dat->error) {
		uint32_t op = take();
		struct tracemap_cpu *cpu = &t.cpus[(op >> 4) % NR_CPUS];
		uint64_t lost;

		switch (op % 16) {
		case 0:
			disk_is_full = op >= 128;
			break;
		case 1:
			/* The counter has more than sub-buffers have told yet. */
			lost = cpu->way == TRACEMAP_OBSERVE ? 0 : any_loss();
			cpu->overwritten += lost;
			cpu->counted += lost;
			break;
		case 2:
			tracemap_dat_figures(dat, &figures);
			break;
		default:
			pull(cpu, op % 16 < 6);
		}
	}
}

/* All was told by now, and with no events behind it there is nothing to tell it with. */
static void tell_all(void)
{
	for (unsigned int i = 0; i < NR_CPUS && !dat->error; i++) {
		if (t.cpus[i].counted)
			pull(&t.cpus[i], false);
	}
}

/* Returns whether all was taken. */
static bool end(void)
{
	bool gives_up;

	tell_all();
	gives_up = dat->error && take() % 2;
	if (!dat->error)
		note_error(NULL);
	if (gives_up) {
		t.batches_left = LAST_BATCHES;
		t.ends = true;
		dat_give_up(dat);
	}
	disk_is_full = false;	/* the file gets another head, too */
	promise(!tracemap_dat_finish(dat));
	if (gives_up)
		dat_count_losses(dat);
	return gives_up || !dat->error;
}

/* ---- Reading it back ---- */

/* What the pages of a CPU have. */
struct found {
	const struct tracemap_cpu *cpu;
	unsigned int events;		/* the next is that one */
	uint64_t lost;			/* told in numbers */
	unsigned int untold;		/* and not, though there is room */
	bool at_end;			/* the last one came when nothing was written any more */
};

static bool has_room(const struct event *e)
{
	return 4 + 4 * (e->size > 112) + e->size + t.format.commit_size <=
		t.format.subbuf_size - t.format.data_offset;
}

static bool can_be_told(const struct event *e)
{
	return has_room(e) && (t.format.commit_size == 8 || e->lost <= INT32_MAX);
}

/* The last event instead of all that were not written: the number is that of the others, too. */
static struct event tail_of(const struct tracemap_cpu *cpu)
{
	struct event e = cpu->events[cpu->nr_events - 1];

	e.lost = cpu->lost + cpu->nr_events - cpu->written - 1;
	e.untold = cpu->untold;
	for (unsigned int i = cpu->written; i < cpu->nr_events; i++) {
		e.lost += cpu->events[i].lost;
		e.untold |= cpu->events[i].untold;
	}
	return e;
}

static struct event next_event(struct found *f)
{
	const struct tracemap_cpu *cpu = f->cpu;

	if (f->events < cpu->written)
		return cpu->events[f->events];
	promise(f->events == cpu->written && cpu->nr_events > cpu->written);
	f->at_end = true;
	return tail_of(cpu);
}

static void check_missed(struct found *f, const struct event *e, int64_t missed)
{
	promise(!missed == !e->lost);
	if (missed == SUBBUF_MISSED_UNKNOWN) {
		promise(e->untold || !can_be_told(e));
		f->untold += can_be_told(e);
	} else {
		promise((uint64_t)missed == e->lost);
		f->lost += missed;
	}
}

static void check_event(struct found *f, const struct subbuf_record *rec, int64_t missed)
{
	struct event e = next_event(f);

	check_missed(f, &e, missed);
	promise(rec->ts == e.ts && rec->size == e.size);
	promise(!memcmp(rec->data, &e.value, sizeof(e.value)));
	for (uint32_t i = sizeof(e.value); i < e.size; i++)
		promise(((const unsigned char *)rec->data)[i] == (e.value & 0xff));
	f->events++;
}

static void check_page(struct found *f, const void *page)
{
	struct subbuf_iter it = subbuf_begin(&t.format, page);
	int64_t missed = subbuf_missed(&t.format, page);
	struct subbuf_record rec;

	while (subbuf_next(&it, &rec)) {
		check_event(f, &rec, missed);
		missed = 0;
	}
	promise(!it.corrupt && !missed);
}

static void check_cpu(struct found *f, int fd, const struct trace_region *region)
{
	unsigned char page[4096] __attribute__((aligned(8)));
	uint32_t size = t.format.subbuf_size;

	promise(region->size % size == 0);
	for (uint64_t at = 0; at < region->size; at += size) {
		promise(pread(fd, page, size, region->offset + at) == (ssize_t)size);
		check_page(f, page);
	}
	promise(f->events >= f->cpu->written);
	/* The last event stands for those that were not written. */
	promise(f->at_end == (f->cpu->nr_events > f->cpu->written));
}

/*
 * All was taken: of one loss, or of all that are told with the last event, the counter has the
 * number. (Of some that came together, without an event between them, it has that of a part.)
 */
static void check_told(const struct found *f)
{
	const struct tracemap_cpu *cpu = f->cpu;
	unsigned int untold = 0, alone = 0, written = f->at_end ? cpu->written : cpu->nr_events;

	for (unsigned int i = 0; i < written; i++) {
		const struct event *e = &cpu->events[i];

		untold += e->untold;
		alone += e->untold && e->losses == 1 && can_be_told(e);
	}
	if (f->at_end && cpu->events[written].untold && cpu->events[written].losses > 1)
		return;
	if (f->at_end)
		promise(untold || !f->untold);
	else if (untold == 1 && alone == 1 && !cpu->untold && !dat->error)
		promise(!f->untold);
}

static void check_sums(const struct found *found, bool all)
{
	struct tracemap_dat_figures sums;
	uint64_t events = 0, lost = 0, handed_out = 0;

	tracemap_dat_figures(dat, &sums);
	for (unsigned int i = 0; i < NR_CPUS; i++) {
		const struct tracemap_cpu *cpu = found[i].cpu;

		events += found[i].events;
		handed_out += cpu->nr_events;
		lost += cpu->lost;
		for (unsigned int n = 0; n < cpu->nr_events; n++)
			lost += cpu->events[n].lost;
	}
	promise(sums.events == events && sums.unwritten == handed_out - events);
	promise(!all || !sums.at_least);
	promise(sums.at_least || sums.lost == lost + sums.unwritten);
}

static void check_file(int fd, bool all)
{
	struct trace_region regions[NR_CPUS];
	struct found found[NR_CPUS] = { { .events = 0 } };
	struct trace_head_found front;
	FILE *file = fdopen(dup(fd), "r");

	promise(file && !fseek(file, 0, SEEK_SET) && trace_head_find(file, &front));
	promise(front.nr_cpus == NR_CPUS && front.page_size == t.format.subbuf_size);
	promise(pread(fd, regions, sizeof(regions), front.table) == sizeof(regions));
	fclose(file);
	for (unsigned int i = 0; i < NR_CPUS; i++) {
		found[i].cpu = &t.cpus[i];
		check_cpu(&found[i], fd, &regions[i]);
		if (all)
			check_told(&found[i]);
	}
	check_sums(found, all);
}

static void check(bool all)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	promise(fd >= 0);
	check_file(fd, all);
	close(fd);
	promise(!unlink(path));
}

/* ---- The fuzzer's ---- */

static void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", top);
	promise(!system(command));
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	snprintf(top, sizeof(top), "/dev/shm/dat_fuzz.%d", getpid());
	snprintf(dir, sizeof(dir), "%s/instances/one", top);
	snprintf(path, sizeof(path), "%s/trace.dat", top);
	close(tracefs_make(top, dir));
	for (unsigned int i = 1; i < NR_CPUS; i++) {
		char stats[64];

		snprintf(stats, sizeof(stats), "per_cpu/cpu%u/stats", i);
		make_file(dir, stats, "entries: 0\n");
	}
	for (unsigned int i = 0; i < 4; i++)
		promise(!trace_head_new(&heads[i], top, dir, NR_CPUS, sizes[i]));
	promise(!atexit(remove_folder));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input = data;
	input_end = data + size;
	begin();
	run();
	check(end());
	dat->head = NULL;
	tracemap_dat_close(dat);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The model of instances and open files: what is promised follows
 * from this. In lockstep it is exact. In a storm, each worker has one of its
 * own, which is right on what is the worker's alone.
 */
#include "random.h"

struct instance instances[INSTANCES];
struct file files[FILES];
bool online[MAX_CPUS];
const char *const tracers[] = { "nop", "irqsoff", "preemptoff", "wakeup" };
unsigned int nr_tracers = 4;

static const char *const dirs[INSTANCES] = {
	TRACEFS_DIR, TRACEFS_DIR "/instances/random1", TRACEFS_DIR "/instances/random2",
	TRACEFS_DIR "/instances/random3",
};

const struct trace_instance *dir_of(int inst)
{
	static struct trace_instance tis[INSTANCES];
	struct trace_instance *ti = &tis[inst];

	strcpy(ti->dir, dirs[inst]);
	ti->top = !inst;
	return ti;
}

int new_file(void)
{
	int i;

	for (i = 0; i < FILES; i++) {
		if (!files[i].refs) {
			memset(&files[i], 0, sizeof(files[i]));
			files[i].refs = 1;
			return i;
		}
	}
	return -1;
}

void drop_file(int file)
{
	if (file >= 0)
		files[file].refs--;
}

/* What may take a snapshot without asking again. */
enum tri snapshot_users(int inst)
{
	const struct instance *in = &instances[inst];

	return unless_storm(is(in->trigger || in->hist || in->tracer >= TRACER_LATENCY));
}

/* @kind -1: of any kind */
int open_files(int inst, int kind)
{
	int i, n = 0;

	for (i = 0; i < FILES; i++)
		n += files[i].refs && files[i].inst == inst &&
		     (kind < 0 || files[i].kind == (enum kind)kind);
	return n;
}

/* An open "trace" keeps sub-buffers where they are, wherever they are now. */
enum tri readers_of_trace(int inst, int cpu)
{
	enum tri t = NO;
	int i;

	for (i = 0; i < FILES; i++) {
		if (!files[i].refs || files[i].kind != TRACE || files[i].inst != inst)
			continue;
		if (cpu < 0 || files[i].cpu < 0 || files[i].cpu == cpu)
			t = either(t, files[i].swapped ? MAYBE : YES);
	}
	return unless_storm(t);
}

void blur(int inst)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpus; cpu++) {
		shared->live[inst][cpu].vague = true;
		shared->live[inst][cpu].mixed = true;
		shared->snap[inst][cpu].vague = true;
		shared->snap[inst][cpu].mixed = true;
	}
}

/* A reset empties the buffers of CPUs that are online; a new buffer is new. */
void clear_accounts(struct account *accounts, bool all)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpus; cpu++) {
		if (all || online[cpu])
			memset(&accounts[cpu], 0, sizeof(*accounts));
	}
}

/* A latency tracer writes all the time, and shows the snapshot as its trace. */
void clear_live(int inst, bool all)
{
	clear_accounts(shared->live[inst], all);
	if (instances[inst].tracer != TRACER_NOP)
		blur(inst);
}

/* What there is room for is events, so they are of sub-buffers without headers. */
unsigned long pages_of(unsigned long kb, unsigned int order)
{
	unsigned long data = (PAGE << order) - SUBBUF_HEADER;
	unsigned long nr = (kb * 1024 + data - 1) / data;

	return nr < 2 ? 2 : nr;
}

/* As settle_all() leaves it. */
void model_instance(int inst)
{
	struct instance *in = &instances[inst];
	unsigned int cpu;

	memset(in, 0, sizeof(*in));
	in->exists = true;
	in->on = true;
	in->overwrite = true;
	for (cpu = 0; cpu < nr_cpus; cpu++)
		in->nr_pages[cpu] = pages_of(32, 0);
	clear_accounts(shared->live[inst], true);
	clear_accounts(shared->snap[inst], true);
}

void model_begin(void)
{
	int i;

	memset(files, 0, sizeof(files));
	for (i = 0; i < INSTANCES; i++) {
		if (instances[i].exists)
			model_instance(i);
	}
	for (i = 0; i < MAX_CPUS; i++)
		online[i] = i < (int)nr_cpus;
	for (i = 0; i < WORKERS; i++)
		worker_begin(&workers[i]);
}

static void show_instance(int inst)
{
	const struct instance *in = &instances[inst];
	unsigned int cpu;

	printf("# instance %d:%s sub-buffers of %lu KiB", inst, in->exists ? "" : " not there,",
	       PAGE / 1024 << in->order);
	for (cpu = 0; cpu < nr_cpus; cpu++)
		printf(", cpu %u: %lu, %d mappings, %u events%s%s", cpu, in->nr_pages[cpu],
		       count_mappings(inst, cpu), shared->live[inst][cpu].seq,
		       shared->live[inst][cpu].vague ? " and others" : "",
		       shared->live[inst][cpu].loose ? " in any order" : "");
	printf(", %s%s%s%s%s%s%s%d%%\n", tracers[in->tracer], in->allocated ? ", snapshot" : "",
	       in->trigger ? ", trigger" : "", in->hist ? ", hist" : "", in->on ? ", on" : ", off",
	       in->overwrite ? ", overwrite" : "", ", ", in->percent);
}

static void show_worker(int nr)
{
	const struct worker *w = &workers[nr];
	const struct area *area;
	const struct file *f;
	int i;

	printf("# worker %d:", nr);
	for (i = 0; i < FDS; i++) {
		f = &files[w->fds[i]];
		if (w->fds[i] >= 0)
			printf(" fd%d=%d:i%dc%d/%d", i, w->fds[i], f->inst, f->cpu, f->kind);
	}
	for (area = w->areas; area < w->areas + w->nr_areas; area++)
		printf(" [%ld+%ld of %d off %#llx prot %d bits %d]", area->start,
		       area->end - area->start, area->file, (unsigned long long)area->off,
		       area->prot, area->bits);
	printf("\n");
}

/* As it was before the last answer, if that was wrong. */
void model_show(void)
{
	int i;

	for (i = 0; i < INSTANCES; i++)
		show_instance(i);
	for (i = 0; i < WORKERS; i++) {
		if (workers[i].alive || storm)
			show_worker(i);
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * When nobody has anything open, everything works: every setting is taken, a
 * resize, a snapshot, another sub-buffer size, and what is written comes out.
 */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "random.h"

struct setting {
	const char	*file, *value;
	bool		may_fail;
};

static const struct setting settings[] = {
	{ PRINT_TRIGGER, "!snapshot", true },
	{ PRINT_TRIGGER, "!" CHANGE_TEXT, true },
	{ PRINT_TRIGGER, "!" MAX_TEXT, true },
	{ QUIET_TRIGGER, "!" NEVER_TEXT, true },
	{ "current_tracer", "nop", false },
	{ "options/function-trace", "0", true },
	{ "options/overwrite", "1", false },
	/* A new instance has that of the top level, where irqsoff sets it. */
	{ "options/pause-on-trace", "0", false },
	{ "snapshot", "0", false },
	{ "tracing_on", "1", false },
	{ "trace_clock", "counter", false },
	{ "buffer_percent", "0", false },
	{ "buffer_size_kb", "8", false },
	{ "buffer_subbuf_size_kb", "4", false },
	{ "buffer_size_kb", "32", false },
	{ "trace", "", false },
};

static const struct setting changes[] = {
	{ "buffer_size_kb", "64", false },
	{ "per_cpu/cpu0/buffer_size_kb", "16", false },
	{ "snapshot", "1", false },
	{ "per_cpu/cpu0/snapshot", "1", false },
	{ PRINT_TRIGGER, "snapshot", false },
	{ PRINT_TRIGGER, "!snapshot", false },
	{ PRINT_TRIGGER, CHANGE_TEXT, false },
	{ PRINT_TRIGGER, "!" CHANGE_TEXT, false },
	{ "snapshot", "0", false },
	{ "buffer_subbuf_size_kb", "16", false },
};

#define COUNT(list)	(sizeof(list) / sizeof(*(list)))

static int apply(int inst, const struct setting *s, unsigned int nr, const char **file)
{
	int err;

	for (; nr--; s++) {
		err = instance_write(dir_of(inst), s->file, s->value);
		*file = s->file;
		if (err && !s->may_fail)
			return err;
	}
	return 0;
}

static const char *apply_all(int inst, const struct setting *s, unsigned int nr)
{
	const char *file;
	int err = apply(inst, s, nr, &file);

	return err ? complain("%s/%s: %s, though all is quiet", dir_of(inst)->dir, file,
			      strerror(-err)) : NULL;
}

int make_instance(int inst)
{
	const char *file;

	if (mkdir(dir_of(inst)->dir, 0755))
		return -errno;
	return apply(inst, settings, COUNT(settings), &file);
}

static bool there(int inst)
{
	return !access(dir_of(inst)->dir, F_OK);
}

const char *settle_all(void)
{
	const char *bad = NULL;
	unsigned int cpu;
	int i;

	for (cpu = 1; cpu < nr_cpus; cpu++) {
		if (switch_cpu_online(cpu, true))
			return "a CPU does not come back";
	}
	for (i = 0; i < INSTANCES && !bad; i++) {
		instances[i].exists = there(i);
		if (instances[i].exists)
			bad = apply_all(i, settings, COUNT(settings));
	}
	model_begin();
	return bad;
}

/* LOSS-2: Written, mapped and fetched: all of it, or told to be lost. */
static const char *check_events(int inst, int cpu)
{
	struct account *acc = &shared->live[inst][cpu];
	struct tally t = { .next = acc->seq };
	struct mapped_buffer mb;
	long written, ret;

	ret = buffer_map(&mb, dir_of(inst), cpu, O_NONBLOCK);
	if (ret)
		return complain("cpu %d: mapping: %s", cpu, strerror(-ret));
	written = write_numbered(inst, cpu, 60, 400);
	ret = tally_drain(&t, &mb);
	buffer_unmap(&mb);
	if (written != 60 || ret < 0 || t.malformed || t.misplaced || t.next != acc->seq ||
	    t.seen + t.lost != 60)
		return complain("instance %d cpu %d: wrote %ld, saw %llu, lost %llu (%ld)", inst,
				cpu, written, (unsigned long long)t.seen,
				(unsigned long long)t.lost, ret);
	return NULL;
}

/* MAP-27: New sub-buffers are empty: nothing that was in that memory shows. */
static const char *check_zero(int inst, int cpu)
{
	const unsigned char *bytes;
	const char *bad = NULL;
	struct mapped_buffer mb;
	size_t i;
	int ret;

	ret = buffer_map(&mb, dir_of(inst), cpu, O_NONBLOCK);
	if (ret)
		return complain("cpu %d: mapping: %s", cpu, strerror(-ret));
	bytes = (void *)mb.meta;
	for (i = mb.meta->meta_page_size; i < mb.len && !bad; i++) {
		if (bytes[i])
			bad = complain("instance %d cpu %d: byte %zu of a new buffer is %#x", inst,
				       cpu, i, bytes[i]);
	}
	buffer_unmap(&mb);
	return bad;
}

/* HOLD-5 */
static const char *check_instance(int inst)
{
	const char *bad = NULL;
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpus && !bad; cpu++)
		bad = check_events(inst, cpu);
	if (!bad)
		bad = apply_all(inst, changes, COUNT(changes));
	if (wrong == 8)
		write_numbered(inst, 0, 1, sizeof(struct event_payload));
	for (cpu = 0; cpu < nr_cpus && !bad; cpu++)
		bad = check_zero(inst, cpu);
	return bad;
}

/* A mapping, that nobody takes away. */
static void leave_something(void)
{
	struct mapped_buffer mb;

	buffer_map(&mb, dir_of(0), 0, O_NONBLOCK);
}

/* One instance goes, for there is nothing that keeps it. */
const char *check_quiet(void)
{
	const char *bad;
	int i, going = 1 + below(INSTANCES - 1);

	if (wrong == 7)
		leave_something();
	bad = settle_all();
	for (i = 0; i < INSTANCES && !bad; i++) {
		if (instances[i].exists)
			bad = check_instance(i);
	}
	if (bad)
		return bad;
	if (instances[going].exists && rmdir(dir_of(going)->dir))
		return complain("rmdir: %s, though all is quiet", strerror(errno));
	return settle_all();
}

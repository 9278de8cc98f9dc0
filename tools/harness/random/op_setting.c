// SPDX-License-Identifier: GPL-2.0
/* Operations on the settings of an instance, on CPUs and on instances. */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "random.h"

/* Writes o->text to a file whose name depends on the operation. */
static void write_setting(const struct order *o, struct answer *a, const char *file)
{
	if (o->cpu < 0)
		note_result(a, instance_write(dir_of(o->inst), file, o->text));
	else
		note_result(a, cpu_write(dir_of(o->inst), o->cpu, file, o->text));
}

/* ---- sizes ---- */

static bool choose_resize(struct order *o)
{
	if (!any_instance(o))
		return false;
	o->cpu = one_in(2) ? -1 : (int)below(nr_cpus);
	o->value = one_in(2) ? 4 + below(64) : below(300);
	/* the present size */
	if (one_in(3))
		o->value = (instances[o->inst].nr_pages[below(nr_cpus)] *
			    ((PAGE << instances[o->inst].order) - SUBBUF_HEADER)) / 1024;
	snprintf(o->text, sizeof(o->text), "%ld", o->value);
	if (one_in(30))
		strcpy(o->text, "some");
	return true;
}

static void perform_resize(const struct order *o, struct answer *a)
{
	write_setting(o, a, "buffer_size_kb");
}

/* HOLD-2 */
static bool same_size(const struct order *o, unsigned long nr)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpus; cpu++) {
		if ((o->cpu < 0 || o->cpu == (int)cpu) && instances[o->inst].nr_pages[cpu] != nr)
			return false;
	}
	return true;
}

/* HOLD-1, HOLD-2, HOLD-7 */
static const char *judge_resize(const struct order *o, const struct answer *a)
{
	struct instance *in = &instances[o->inst];
	unsigned long nr = pages_of(o->value, in->order);
	const char *bad;
	unsigned int cpu;

	judge_begin();
	why_gone(o);
	why(is(!o->value || o->text[0] == 's'), EINVAL);
	if (storm || !same_size(o, nr)) {
		if (wrong != 1)
			why(unless_storm(held(o->inst, o->cpu)), EBUSY);
		why(readers_of_trace(o->inst, o->cpu), EBUSY);
	}
	bad = judged(a);
	if (bad || a->err)
		return bad;
	for (cpu = 0; cpu < nr_cpus; cpu++) {
		if (o->cpu < 0 || o->cpu == (int)cpu)
			in->nr_pages[cpu] = nr;
	}
	return NULL;
}

static bool choose_subbuf(struct order *o)
{
	static const char *const sizes[] = {
		"4", "4", "8", "8", "16", "3", "5", "64", "0", "1048577", "4096", "x", "-1",
		"99999999999999999999",
	};

	o->cpu = -1;
	strcpy(o->text, sizes[below(14)]);
	return any_instance(o);
}

static void perform_subbuf(const struct order *o, struct answer *a)
{
	write_setting(o, a, "buffer_subbuf_size_kb");
}

static int order_of(long kb)
{
	int order = 0;

	while (4l << order < kb)
		order++;
	return order;
}

/* SUBBUF-9 */
static unsigned long pages_after(unsigned long nr, unsigned int from, unsigned int to)
{
	nr = ((nr << from) + (1ul << to) - 1) >> to;
	return nr < 2 ? 2 : nr;
}

static void subbuf_changed(int inst, unsigned int order)
{
	struct instance *in = &instances[inst];
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpus; cpu++)
		in->nr_pages[cpu] = pages_after(in->nr_pages[cpu], in->order, order);
	in->order = order;
	clear_accounts(shared->live[inst], true);
	clear_accounts(shared->snap[inst], true);
	if (in->tracer != TRACER_NOP)
		blur(inst);
}

/* HOLD-4, SUBBUF-5, SUBBUF-6, SUBBUF-8 */
static const char *judge_subbuf(const struct order *o, const struct answer *a)
{
	struct instance *in = &instances[o->inst];
	long kb = atol(o->text);
	bool valid = kb > 0 && kb <= 512;
	const char *bad;

	judge_begin();
	why_gone(o);
	if (strlen(o->text) > 15)
		why(YES, ERANGE);
	else if (!valid)
		why(YES, EINVAL);
	else if (storm || order_of(kb) != (int)in->order) {
		why(unless_storm(held(o->inst, -1)), EBUSY);
		why(readers_of_trace(o->inst, -1), EBUSY);
		why(in->tracer == TRACER_NOP ? NO : MAYBE, EBUSY);
	}
	bad = judged(a);
	if (!bad && !a->err && order_of(kb) != (int)in->order)
		subbuf_changed(o->inst, order_of(kb));
	return bad;
}

/* ---- what empties the buffer ---- */

static bool choose_reset(struct order *o)
{
	o->cpu = one_in(2) ? -1 : (int)below(nr_cpus);
	return any_instance(o);
}

static void perform_reset(const struct order *o, struct answer *a)
{
	write_setting(o, a, "trace");
}

/* HOLD-8 */
static const char *judge_reset(const struct order *o, const struct answer *a)
{
	const char *bad;

	judge_begin();
	why_gone(o);
	bad = judged(a);
	if (bad || a->err)
		return bad;
	if (o->cpu < 0)
		clear_live(o->inst, false);
	else
		memset(&shared->live[o->inst][o->cpu], 0, sizeof(struct account));
	if (instances[o->inst].tracer != TRACER_NOP)
		blur(o->inst);
	return NULL;
}

static bool choose_clock(struct order *o)
{
	static const char *const clocks[] = { "local", "global", "counter", "mono", "none" };

	o->cpu = -1;
	strcpy(o->text, clocks[below(5)]);
	return any_instance(o);
}

static void perform_clock(const struct order *o, struct answer *a)
{
	write_setting(o, a, "trace_clock");
}

/* HOLD-11 */
static const char *judge_clock(const struct order *o, const struct answer *a)
{
	const char *bad;

	judge_begin();
	why_gone(o);
	why(is(!strcmp(o->text, "none")), EINVAL);
	bad = judged(a);
	if (bad || a->err)
		return bad;
	clear_accounts(shared->snap[o->inst], false);
	clear_live(o->inst, false);
	return NULL;
}

/* ---- switches ---- */

static bool choose_switch(struct order *o)
{
	o->cpu = -1;
	strcpy(o->text, one_in(3) ? "0" : "1");
	return any_instance(o);
}

/*
 * Linux 6.1 takes a buffer for switched off that an open "trace" has paused, as it does
 * beside a latency tracer, and then ignores what is written to tracing_on.
 */
static bool choose_tracing_on(struct order *o)
{
	if (!choose_switch(o))
		return false;
	return mainline || storm || instances[o->inst].tracer == TRACER_NOP ||
	       readers_of_trace(o->inst, -1) == NO;
}

static void perform_tracing_on(const struct order *o, struct answer *a)
{
	write_setting(o, a, "tracing_on");
}

/* HOLD-10 */
static const char *judge_tracing_on(const struct order *o, const struct answer *a)
{
	const char *bad;

	judge_begin();
	why_gone(o);
	bad = judged(a);
	if (bad || a->err)
		return bad;
	instances[o->inst].on = o->text[0] == '1';
	instances[o->inst].was_off |= !instances[o->inst].on;
	return NULL;
}

static void perform_overwrite(const struct order *o, struct answer *a)
{
	write_setting(o, a, "options/overwrite");
}

/* HOLD-11 */
static const char *judge_overwrite(const struct order *o, const struct answer *a)
{
	const char *bad;

	judge_begin();
	why_gone(o);
	/* The latency tracers insist on it. */
	why(instances[o->inst].tracer == TRACER_NOP && !storm ? NO : MAYBE, EINVAL);
	bad = judged(a);
	if (!bad && !a->err)
		instances[o->inst].overwrite = o->text[0] == '1';
	return bad;
}

static bool choose_percent(struct order *o)
{
	o->cpu = -1;
	o->value = one_in(3) ? 0 : below(103);
	snprintf(o->text, sizeof(o->text), "%ld", o->value);
	return any_instance(o);
}

static void perform_percent(const struct order *o, struct answer *a)
{
	write_setting(o, a, "buffer_percent");
}

static const char *judge_percent(const struct order *o, const struct answer *a)
{
	const char *bad;

	judge_begin();
	why_gone(o);
	why(is(o->value > 100), EINVAL);
	bad = judged(a);
	if (!bad && !a->err)
		instances[o->inst].percent = o->value;
	return bad;
}

/* ---- CPUs ---- */

static bool choose_hotplug(struct order *o)
{
	o->cpu = nr_cpus - 1;
	o->value = !online[o->cpu];
	return nr_cpus > 1;
}

static void perform_hotplug(const struct order *o, struct answer *a)
{
	note_result(a, switch_cpu_online(o->cpu, o->value));
}

/* HOLD-9 */
static const char *judge_hotplug(const struct order *o, const struct answer *a)
{
	const char *bad;

	judge_begin();
	why(unless_storm(NO), EBUSY);
	why(unless_storm(NO), ENODEV);
	bad = judged(a);
	if (!bad && !a->err)
		online[o->cpu] = o->value;
	return bad;
}

/* ---- instances ---- */

static bool choose_mkdir(struct order *o)
{
	o->inst = 1 + below(INSTANCES - 1);
	/* It has no buffer for a CPU that is away, until that comes up. */
	if (!storm && !online[nr_cpus - 1])
		return false;
	return !instances[o->inst].exists || one_in(20);
}

static void perform_mkdir(const struct order *o, struct answer *a)
{
	note_result(a, make_instance(o->inst));
}

static const char *judge_mkdir(const struct order *o, const struct answer *a)
{
	const char *bad;

	judge_begin();
	why(unless_storm(is(instances[o->inst].exists)), EEXIST);
	if (storm) {
		why(MAYBE, ENOMEM);
		why(MAYBE, ENODEV);
		why(MAYBE, ENOENT);
		why(MAYBE, EBUSY);
	}
	bad = judged(a);
	if (!bad && !a->err)
		model_instance(o->inst);
	return bad;
}

static bool choose_rmdir(struct order *o)
{
	o->inst = 1 + below(INSTANCES - 1);
	/* Most of the time it is wanted. */
	return instances[o->inst].exists ? open_files(o->inst, -1) || one_in(4) : one_in(20);
}

static void perform_rmdir(const struct order *o, struct answer *a)
{
	note(a, rmdir(dir_of(o->inst)->dir));
}

/* MAP-22, LIVE-12 */
static const char *judge_rmdir(const struct order *o, const struct answer *a)
{
	const char *bad;

	judge_begin();
	why(unless_storm(is(!instances[o->inst].exists)), ENOENT);
	/* The variables of a histogram hold on to their instance. */
	why(open_files(o->inst, -1) ? YES : unless_storm(is(instances[o->inst].hist)), EBUSY);
	if (storm) {
		why(MAYBE, ENODEV);
		why(MAYBE, ENOTEMPTY);
	}
	bad = judged(a);
	if (!bad && !a->err)
		instances[o->inst].exists = false;
	return bad;
}

const struct operation setting_operations[] = {
	{ "resize", 20, false, false, choose_resize, perform_resize, judge_resize },
	{ "subbuf_size", 10, false, false, choose_subbuf, perform_subbuf, judge_subbuf },
	{ "reset", 7, false, false, choose_reset, perform_reset, judge_reset },
	{ "clock", 3, false, false, choose_clock, perform_clock, judge_clock },
	{ "tracing_on", 4, false, false, choose_tracing_on, perform_tracing_on, judge_tracing_on },
	{ "overwrite", 4, false, false, choose_switch, perform_overwrite, judge_overwrite },
	{ "buffer_percent", 4, false, false, choose_percent, perform_percent, judge_percent },
	{ "hotplug", 2, false, false, choose_hotplug, perform_hotplug, judge_hotplug },
	{ "mkdir", 3, false, false, choose_mkdir, perform_mkdir, judge_mkdir },
	{ "rmdir", 4, false, false, choose_rmdir, perform_rmdir, judge_rmdir },
	{ NULL, 0, false, false, NULL, NULL, NULL },
};

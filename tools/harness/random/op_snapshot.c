// SPDX-License-Identifier: GPL-2.0
/* Operations that take snapshots, or prepare to. */
#include "random.h"

static const struct hist {
	const char	*file, *text;
} hists[NR_HISTS] = {
	[HIST_NEVER]	= { QUIET_TRIGGER, NEVER_TEXT },
	[HIST_CHANGE]	= { PRINT_TRIGGER, CHANGE_TEXT },
	[HIST_MAX]	= { PRINT_TRIGGER, MAX_TEXT },
};

/* Until they are closed, who reads "trace" holds the wrong buffer in place. */
static void mark_swapped(int inst)
{
	int i;

	for (i = 0; i < FILES; i++)
		files[i].swapped |= files[i].refs && files[i].inst == inst;
}

/* A buffer for the snapshot that was not there: what is left in it is old. */
static void allocated(int inst)
{
	unsigned int cpu;

	if (instances[inst].allocated)
		return;
	instances[inst].allocated = true;
	for (cpu = 0; cpu < nr_cpus; cpu++) {
		shared->snap[inst][cpu].vague |= !online[cpu];
		shared->snap[inst][cpu].loose |= !online[cpu];
	}
}

static void swap_accounts(int inst, int cpu)
{
	struct account old = shared->live[inst][cpu];

	shared->live[inst][cpu] = shared->snap[inst][cpu];
	shared->snap[inst][cpu] = old;
}

/* The buffers of all CPUs have changed places with those of the snapshot. */
static void snapshot_taken(int inst)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpus; cpu++)
		swap_accounts(inst, cpu);
	mark_swapped(inst);
}

/* A histogram takes a snapshot when it sees another process, or one of a larger number. */
static bool hist_fires(struct instance *in, pid_t pid)
{
	bool fires = (in->hist == HIST_CHANGE && pid != in->hist_pid) ||
		     (in->hist == HIST_MAX && pid > in->hist_pid);

	if (fires)
		in->hist_pid = pid;
	return fires;
}

void text_written(int inst, int worker)
{
	struct instance *in = &instances[inst];
	bool fires = hist_fires(in, workers[worker].pid);

	if (in->trigger && in->hist)
		blur(inst);
	else if (in->trigger || fires)
		snapshot_taken(inst);
}

/* Who opens a trigger file to write it anew takes the histograms off that event. */
static bool took_hist_off(int inst, const char *file)
{
	struct instance *in = &instances[inst];

	if (!in->exists || !in->hist || strcmp(hists[in->hist].file, file))
		return false;
	in->hist = 0;
	return true;
}

/* It takes place on that CPU, if that is there and records. */
static void cpu_snapshot_taken(int inst, int cpu)
{
	if (online[cpu] && !instances[inst].was_off && instances[inst].tracer == TRACER_NOP) {
		swap_accounts(inst, cpu);
	} else if (online[cpu]) {
		shared->live[inst][cpu].vague = true;
		shared->live[inst][cpu].loose = true;
		shared->snap[inst][cpu].vague = true;
		shared->snap[inst][cpu].loose = true;
	}
	mark_swapped(inst);
}

static void freed(int inst)
{
	unsigned int cpu;

	instances[inst].allocated = false;
	clear_accounts(shared->snap[inst], false);
	for (cpu = 0; cpu < nr_cpus; cpu++)
		shared->snap[inst][cpu].vague |= !online[cpu];
}

/* ---- the file ---- */

static bool choose_snapshot(struct order *o)
{
	if (!any_instance(o))
		return false;
	o->value = one_in(2) ? 1 : below(3);
	o->cpu = one_in(2) ? -1 : (int)below(nr_cpus);
	snprintf(o->text, sizeof(o->text), "%ld", o->value);
	return true;
}

static void perform_snapshot(const struct order *o, struct answer *a)
{
	if (o->cpu < 0)
		note_result(a, instance_write(dir_of(o->inst), "snapshot", o->text));
	else
		note_result(a, cpu_write(dir_of(o->inst), o->cpu, "snapshot", o->text));
}

static void snapshot_written(const struct order *o)
{
	struct instance *in = &instances[o->inst];

	switch (o->value) {
	case 0:
		freed(o->inst);
		break;
	case 1:
		allocated(o->inst);
		if (o->cpu < 0)
			snapshot_taken(o->inst);
		else
			cpu_snapshot_taken(o->inst, o->cpu);
		break;
	case 2:
		if (!in->allocated)
			break;
		if (o->cpu < 0)
			clear_accounts(shared->snap[o->inst], false);
		else
			memset(&shared->snap[o->inst][o->cpu], 0, sizeof(struct account));
	}
}

/* SNAP-1, SNAP-10 */
static const char *judge_snapshot(const struct order *o, const struct answer *a)
{
	const struct instance *in = &instances[o->inst];
	const char *bad;

	judge_begin();
	why_gone(o);
	why(unless_storm(is(in->tracer >= TRACER_LATENCY || in->hist)), EBUSY);
	if (o->value == 1) {
		why(held(o->inst, -1), EBUSY);
		why(readers_of_trace(o->inst, -1) ? MAYBE : NO, EBUSY);
	}
	why(is(!o->value && o->cpu >= 0), EINVAL);
	/* A trigger counts on it. */
	if (!o->value && o->cpu < 0)
		why(unless_storm(is(in->trigger)), EBUSY);
	bad = judged(a);
	if (!bad && !a->err)
		snapshot_written(o);
	return bad;
}

/* ---- triggers ---- */

static bool choose_trigger(struct order *o)
{
	if (!any_instance(o))
		return false;
	/* It does not stay for long: nothing can be mapped meanwhile. */
	strcpy(o->text, one_in(instances[o->inst].trigger ? 4 : 2) ? "snapshot" : "!snapshot");
	return true;
}

static void perform_trigger(const struct order *o, struct answer *a)
{
	note_result(a, instance_write(dir_of(o->inst), PRINT_TRIGGER, o->text));
}

/* SNAP-2 */
static const char *judge_trigger(const struct order *o, const struct answer *a)
{
	struct instance *in = &instances[o->inst];
	bool set = o->text[0] != '!';
	const char *bad;

	took_hist_off(o->inst, PRINT_TRIGGER);
	judge_begin();
	why_gone(o);
	if (set) {
		why(unless_storm(is(in->trigger)), EEXIST);
		why(held(o->inst, -1), EBUSY);
		why(readers_of_trace(o->inst, -1) ? MAYBE : NO, EBUSY);
	} else {
		why(unless_storm(is(!in->trigger)) == NO ? NO : MAYBE, ENOENT);
	}
	bad = judged(a);
	if (bad || a->err)
		return bad;
	if (set)
		allocated(o->inst);
	in->trigger = set;
	return NULL;
}

static bool choose_hist(struct order *o)
{
	const struct instance *in;

	if (!any_instance(o))
		return false;
	in = &instances[o->inst];
	o->value = in->hist && !one_in(4) ? in->hist : 1 + (int)below(NR_HISTS - 1);
	o->flags = one_in(in->hist ? 4 : 2);
	snprintf(o->text, sizeof(o->text), "%s%s", o->flags ? "" : "!", hists[o->value].text);
	return true;
}

static void perform_hist(const struct order *o, struct answer *a)
{
	note_result(a, instance_write(dir_of(o->inst), hists[o->value].file, o->text));
}

/* SNAP-2 */
static const char *judge_hist(const struct order *o, const struct answer *a)
{
	struct instance *in = &instances[o->inst];
	bool off = took_hist_off(o->inst, hists[o->value].file), set = o->flags;
	const char *bad;

	judge_begin();
	why_gone(o);
	if (set) {
		why(unless_storm(is(in->hist)), EBUSY);
		why(unless_storm(NO), EEXIST);
		/* Another worker has set it since this one emptied the file: the variable exists. */
		why(unless_storm(NO), EINVAL);
		why(held(o->inst, -1), EBUSY);
		why(unless_storm(is(in->tracer >= TRACER_LATENCY)), EBUSY);
		why(readers_of_trace(o->inst, -1) ? MAYBE : NO, EBUSY);
	} else {
		why(off && !storm ? NO : MAYBE, ENOENT);
		why(off && !storm ? NO : MAYBE, EINVAL);
	}
	bad = judged(a);
	if (bad || a->err || !set)
		return bad;
	allocated(o->inst);
	in->hist = o->value;
	in->hist_pid = 0;
	return NULL;
}

/* ---- tracers ---- */

static bool choose_tracer(struct order *o)
{
	if (!any_instance(o))
		return false;
	o->value = instances[o->inst].tracer && !one_in(4) ? 0 : below(nr_tracers);
	strcpy(o->text, tracers[o->value]);
	return true;
}

static void perform_tracer(const struct order *o, struct answer *a)
{
	char text[64];
	unsigned int i;

	note_result(a, instance_write(dir_of(o->inst), "current_tracer", o->text));
	if (instance_read(dir_of(o->inst), "current_tracer", text, sizeof(text)) <= 0)
		return;
	strtok(text, "\n");
	for (i = 0; i < nr_tracers; i++) {
		if (!strcmp(text, tracers[i]))
			a->value = i;
	}
}

/* Those that measure the same thing exclude each other. */
static enum tri tracer_taken(int inst, int tracer)
{
	int i;

	for (i = 0; i < INSTANCES && tracer >= TRACER_LATENCY; i++) {
		if (i != inst && instances[i].exists && instances[i].tracer >= TRACER_LATENCY)
			return MAYBE;
	}
	return unless_storm(NO);
}

/* SNAP-11 */
static void tracer_set(int inst, int tracer)
{
	struct instance *in = &instances[inst];

	if (tracer == in->tracer)
		return;
	blur(inst);
	if (tracer >= TRACER_LATENCY)
		in->allocated = true;
	else if (in->tracer >= TRACER_LATENCY)
		in->allocated = in->trigger;
	in->tracer = tracer;
	mark_swapped(inst);
}

/* HOLD-6, SNAP-2, LIVE-10 */
static const char *judge_tracer(const struct order *o, const struct answer *a)
{
	struct instance *in = &instances[o->inst];
	bool same = o->value == in->tracer;
	enum tri taken = tracer_taken(o->inst, o->value);
	const char *bad;

	judge_begin();
	why_gone(o);
	if (storm || !same) {
		why(unless_storm(is(open_files(o->inst, RAW) || open_files(o->inst, PIPE))), EBUSY);
		why(unless_storm(is(in->hist && o->value >= TRACER_LATENCY)), EBUSY);
		why(o->value >= TRACER_LATENCY ? held(o->inst, -1) : NO, EBUSY);
		why(taken, EBUSY);
		why(readers_of_trace(o->inst, -1) ? MAYBE : NO, EBUSY);
	}
	bad = judged(a);
	if (bad || storm || !in->exists)
		return bad;
	if (a->err && taken == NO && a->value != in->tracer)
		return complain("refused, but current_tracer is %s now", tracers[a->value]);
	if (!a->err && a->value != o->value)
		return complain("accepted, but current_tracer is %s", tracers[a->value]);
	/* A tracer that finds another one at work has emptied the buffer by then. */
	if (a->err && taken != NO)
		blur(o->inst);
	tracer_set(o->inst, a->value);
	return NULL;
}

const struct operation snapshot_operations[] = {
	{ "snapshot", 14, false, false, choose_snapshot, perform_snapshot, judge_snapshot },
	{ "trigger", 6, false, false, choose_trigger, perform_trigger, judge_trigger },
	{ "hist", 3, false, false, choose_hist, perform_hist, judge_hist },
	{ "tracer", 5, false, false, choose_tracer, perform_tracer, judge_tracer },
	{ NULL, 0, false, false, NULL, NULL, NULL },
};

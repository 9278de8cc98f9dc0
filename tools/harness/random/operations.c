// SPDX-License-Identifier: GPL-2.0
/* All operations there are. */
#include "random.h"

static const struct operation *const groups[] = {
	map_operations, file_operations, live_operations, data_operations,
	process_operations, setting_operations, snapshot_operations, numa_operations,
};

static const struct operation *all[64];
static int nr;
static unsigned int weights;
static bool succeeded[64];	/* in this round */

static void collect(void)
{
	const struct operation *op;
	unsigned int i;

	for (i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		if (groups[i] == numa_operations && nr_nodes < 2)
			continue;
		for (op = groups[i]; op->name; op++) {
			all[nr++] = op;
			weights += op->weight;
		}
	}
}

const struct operation *operation(int op)
{
	if (!nr)
		collect();
	return all[op];
}

static int any_operation(void)
{
	unsigned int weight = below(weights);
	int op;

	for (op = 0; weight >= all[op]->weight; op++)
		weight -= all[op]->weight;
	return op;
}

/* One that has not succeeded in this round, lest it never does. */
static int rare_operation(void)
{
	int i, first = below(nr);

	for (i = 0; i < nr; i++) {
		if (!succeeded[(first + i) % nr])
			return (first + i) % nr;
	}
	return any_operation();
}

void operations_begin(void)
{
	if (!nr)
		collect();
	memset(succeeded, 0, sizeof(succeeded));
}

void choose_operation(struct order *o, int worker)
{
	do {
		memset(o, 0, sizeof(*o));
		o->worker = worker;
		o->op = one_in(6) ? rare_operation() : any_operation();
	} while ((storm && all[o->op]->alone) || !all[o->op]->choose(o));
}

bool any_instance(struct order *o)
{
	o->inst = below(INSTANCES);
	return instances[o->inst].exists || one_in(30);
}

const char *judge(const struct order *o, const struct answer *a)
{
	const struct operation *op = all[o->op];
	const char *bad;

	__atomic_fetch_add(a->err ? &shared->refused[o->op] : &shared->done[o->op], 1,
			   __ATOMIC_RELAXED);
	succeeded[o->op] |= !a->err;
	bad = op->judge(o, a);
	if (!bad && a->complaint[0])
		bad = complain("%s", a->complaint);
	if (!bad && op->maps)
		bad = compare_areas(worker_of(o));
	return bad;
}

/* Each has succeeded, or the run proves little. */
bool all_operations_done(bool tell)
{
	bool done = true;
	int op;

	for (op = 0; op < nr; op++) {
		if (tell)
			printf("# %-18s %8llu done %8llu refused\n", all[op]->name,
			       (unsigned long long)shared->done[op],
			       (unsigned long long)shared->refused[op]);
		done &= !!shared->done[op];
	}
	return done;
}

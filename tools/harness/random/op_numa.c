// SPDX-License-Identifier: GPL-2.0
/*
 * Operations that move pages to another node, where there is one.
 *
 * Those of a buffer stay where they are: migration takes pages from the LRU
 * lists only, and they are on none. Where they are is asked first. Nobody else
 * can change that, nor which of them the worker has at all, so every answer is
 * known, in a storm too. A page of the worker's own shows that
 * other pages do move.
 */
#define _GNU_SOURCE
#include <linux/mempolicy.h>
#include <sys/syscall.h>

#include "random.h"

#define MOST		256l		/* pages of a mapping */
#define NODE_BITS	65		/* of a mask of a long, as the kernel counts them */

enum { READ_FIRST = 1, COMPARE = 2, EVERYBODYS = 4 };

/* One page more than the order's is asked for: the worker's own. */
static unsigned char own_page[PAGE] __attribute__((aligned(4096)));
static void *pages[MOST + 1];
static int nodes[MOST + 1];
static unsigned char bytes[MOST * PAGE];

static bool choose_pages(struct order *o)
{
	const struct area *area;
	const struct file *f;

	if (!choose_inside(o) || o->len > MOST)
		return false;
	area = area_of(worker_of(o), o->at);
	f = &files[area->file];
	o->flags = below(8);
	if (!(area->prot & PROT_READ))
		o->flags &= ~(READ_FIRST | COMPARE);
	/* Others write to it meanwhile. */
	if (storm || instances[f->inst].tracer != TRACER_NOP)
		o->flags &= ~COMPARE;
	o->to = below(nr_nodes);
	return true;
}

/* Which node each page is on, or why it is on none. */
static long ask_nodes(const struct order *o, int *at)
{
	return syscall(SYS_move_pages, 0, o->len + 1, pages, NULL, at, 0);
}

static bool pages_begin(const struct order *o, struct answer *a)
{
	long i;

	for (i = 0; i < o->len; i++)
		pages[i] = arena(o->at + i);
	pages[o->len] = own_page;
	own_page[0]++;
	if (o->flags & (READ_FIRST | COMPARE))
		memcpy(bytes, arena(o->at), o->len * PAGE);
	if (!ask_nodes(o, nodes) && nodes[o->len] >= 0)
		return true;
	strcpy(a->complaint, "nobody knows where a page of the worker is");
	return false;
}

/*
 * The kernel makes a page when a worker first touches it. On Linux 6.12 it maps the zero page
 * behind the meta page of large sub-buffers, and says of that one that it is on no node.
 */
static bool may_be_on_none(const struct order *o, int why)
{
	if (why == -EFAULT)
		return mainline;
	return why == -ENOENT && !(o->flags & (READ_FIRST | COMPARE));
}

/* All is where it was, and shows what it did. Our own page may be elsewhere. */
static void pages_end(const struct order *o, struct answer *a, int *own)
{
	int now[MOST + 1];
	long i;

	if (ask_nodes(o, now)) {
		strcpy(a->complaint, "nobody knows where the pages are");
		return;
	}
	for (i = 0; i < o->len; i++) {
		if (now[i] != nodes[i])
			snprintf(a->complaint, sizeof(a->complaint),
				 "page %ld was on node %d, and is on %d", o->at + i, nodes[i],
				 now[i]);
		if (nodes[i] < 0 && !may_be_on_none(o, nodes[i]))
			snprintf(a->complaint, sizeof(a->complaint), "page %ld is on node %d",
				 o->at + i, nodes[i]);
	}
	if (o->flags & COMPARE && memcmp(bytes, arena(o->at), o->len * PAGE))
		strcpy(a->complaint, "the pages show something else than before");
	*own = now[o->len];
}

/* ---- mbind ---- */

static const struct policy {
	int	mode;
	bool	every;		/* node, not only one */
	int	flags;
} policies[] = {
	{ MPOL_BIND,		false,	MPOL_MF_STRICT | MPOL_MF_MOVE | MPOL_MF_MOVE_ALL },
	{ MPOL_BIND,		false,	MPOL_MF_STRICT | MPOL_MF_MOVE },
	{ MPOL_BIND,		false,	MPOL_MF_STRICT },
	{ MPOL_PREFERRED,	false,	MPOL_MF_MOVE_ALL },
	{ MPOL_INTERLEAVE,	true,	0 },
	{ MPOL_DEFAULT,		false,	0 },
};

#define NR_POLICIES	(sizeof(policies) / sizeof(*policies))

static unsigned long nodes_of(const struct order *o)
{
	const struct policy *pol = &policies[o->value];

	if (pol->mode == MPOL_DEFAULT)
		return 0;
	return pol->every ? (1ul << nr_nodes) - 1 : 1ul << o->to;
}

static bool choose_mbind(struct order *o)
{
	o->value = below(NR_POLICIES);
	return choose_pages(o);
}

static bool has_policy(const struct order *o)
{
	unsigned long mask = 0;
	int mode;

	return !syscall(SYS_get_mempolicy, &mode, &mask, NODE_BITS, arena(o->at), MPOL_F_ADDR) &&
	       mode == policies[o->value].mode && mask == nodes_of(o);
}

/* What it is up to: pages to move, and a policy that was not there. */
static void perform_mbind(const struct order *o, struct answer *a)
{
	const struct policy *pol = &policies[o->value];
	unsigned long mask = nodes_of(o);
	int own;
	long i;

	if (!pages_begin(o, a))
		return;
	for (i = 0; i < o->len; i++)
		a->value += nodes[i] >= 0 && !(mask >> nodes[i] & 1);
	a->amount = !has_policy(o);
	note(a, syscall(SYS_mbind, arena(o->at), o->len * PAGE, pol->mode, mask ? &mask : NULL,
			mask ? NODE_BITS : 0, pol->flags));
	pages_end(o, a, &own);
}

static const char *judge_mbind(const struct order *o, const struct answer *a)
{
	const struct area *area = area_of(worker_of(o), o->at);
	bool whole = o->at == area->start && o->at + o->len == area->end;
	int flags = policies[o->value].flags;

	judge_begin();
	/* The policy that it has already splits nothing. */
	why(is(a->amount && !whole), EINVAL);
	/* Without MOVE_ALL, nobody looks for a new place for pages that are shared. */
	if (a->value && flags & MPOL_MF_STRICT)
		why(flags == (MPOL_MF_STRICT | MPOL_MF_MOVE) ? MAYBE : YES, EIO);
	why(unless_storm(NO), ENOMEM);
	return judged(a);
}

/* ---- move_pages ---- */

static int next_node(int node)
{
	return (node + 1) % nr_nodes;
}

/* Each page is told to be busy, as it is for ever, or to be there already. */
static void check_status(const struct order *o, struct answer *a, const int *status, int to)
{
	long i;
	int expected;

	for (i = 0; i < o->len; i++) {
		expected = nodes[i] < 0 || nodes[i] == to ? nodes[i] : -EBUSY;
		if (status[i] == expected)
			continue;
		/* Who asks for pages that nobody else has leaves alone what is shared. */
		if (expected == -EBUSY && status[i] == -EACCES && !(o->flags & EVERYBODYS))
			continue;
		snprintf(a->complaint, sizeof(a->complaint),
			 "page %ld on node %d, to move to %d: %d", o->at + i, nodes[i], to,
			 status[i]);
	}
}

/* Success is that our own page has moved. */
static void perform_move_pages(const struct order *o, struct answer *a)
{
	int targets[MOST + 1], status[MOST + 1], to, own = -1;
	long i, ret;

	if (!pages_begin(o, a))
		return;
	to = next_node(nodes[o->len]);
	for (i = 0; i <= o->len; i++) {
		targets[i] = to;
		status[i] = -EINVAL;
	}
	ret = syscall(SYS_move_pages, 0, o->len + 1, pages, targets, status,
		      o->flags & EVERYBODYS ? MPOL_MF_MOVE_ALL : MPOL_MF_MOVE);
	note(a, ret);
	if (ret < 0)
		return;
	check_status(o, a, status, to);
	pages_end(o, a, &own);
	note_result(a, own == to ? 0 : -EAGAIN);
}

static const char *judge_moved(const struct order *o, const struct answer *a)
{
	(void)o;
	judge_begin();
	why(MAYBE, EAGAIN);	/* the kernel may be at work on our own page */
	why(unless_storm(NO), ENOMEM);
	return judged(a);
}

/* ---- migrate_pages ---- */

/* All that the worker has on a node; the answer is how many stayed. */
static void perform_migrate(const struct order *o, struct answer *a)
{
	unsigned long from, to;
	int own = -1;
	long ret;

	if (!pages_begin(o, a))
		return;
	from = 1ul << nodes[o->len];
	to = 1ul << next_node(nodes[o->len]);
	ret = syscall(SYS_migrate_pages, 0, NODE_BITS, &from, &to);
	note(a, ret);
	if (ret < 0)
		return;
	pages_end(o, a, &own);
	note_result(a, own >= 0 && to >> own & 1 ? 0 : -EAGAIN);
}

const struct operation numa_operations[] = {
	{ "mbind", 4, false, true, choose_mbind, perform_mbind, judge_mbind },
	{ "move_pages", 4, false, true, choose_pages, perform_move_pages, judge_moved },
	{ "migrate_pages", 2, false, true, choose_pages, perform_migrate, judge_moved },
	{ NULL, 0, false, false, NULL, NULL, NULL },
};

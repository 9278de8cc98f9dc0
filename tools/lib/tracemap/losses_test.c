// SPDX-License-Identifier: LGPL-2.1
/*
 * Test losses.h with counters that the test sets in place of the kernel.
 */
#include "check.h"
#include "losses.h"

/* Number 10 has index 0, and so on. */
struct tracemap_cpu {
	int number;
	enum tracemap_way way;
	struct tracemap_figures figures;
	int error;
};

struct tracemap {
	struct tracemap_cpu cpu[3];
	unsigned int nr;
};

unsigned int tracemap_nr_cpus(const struct tracemap *t)
{
	return t->nr;
}

struct tracemap_cpu *tracemap_get_cpu(const struct tracemap *t, unsigned int i)
{
	return i < t->nr ? (struct tracemap_cpu *)&t->cpu[i] : NULL;
}

int tracemap_cpu_number(const struct tracemap_cpu *cpu)
{
	return cpu->number;
}

int tracemap_cpu_figures(const struct tracemap_cpu *cpu, struct tracemap_figures *figures)
{
	*figures = cpu->figures;
	return cpu->error;
}

enum tracemap_way tracemap_cpu_way(const struct tracemap_cpu *cpu)
{
	return cpu->way;
}

static struct tracemap t;
static struct losses l;
static struct tracemap_figures * const first = &t.cpu[0].figures;

/* @unread: events of the first CPU that are in its buffer */
static void begin_with(uint64_t overwritten, uint64_t dropped, uint64_t consumed, uint64_t unread)
{
	t = (struct tracemap){ .cpu = { { .number = 10 }, { .number = 11 }, { .number = 12 } },
			       .nr = 2 };
	l = (struct losses){ 0 };
	first->overwritten = overwritten;
	first->dropped = dropped;
	first->consumed = consumed;
	first->committed = overwritten + consumed + unread;
	losses_begin(&l, &t);
}

static void begin(uint64_t overwritten, uint64_t dropped, uint64_t consumed)
{
	begin_with(overwritten, dropped, consumed, 1);
}

/* Where every number was told, the counters are not asked. */
static void test_told(void)
{
	begin(0, 0, 0);
	losses_told(&l, 10, 5);
	first->overwritten = 7;
	CHECK(!losses_at_least(&l) && losses_untold(&l, 0) == 0);
	losses_end(&l);
}

static void test_untold(void)
{
	begin(3, 0, 0);		/* no consumer has taken any: we would have had these first */
	losses_told(&l, 10, 5);
	losses_told(&l, 10, TRACEMAP_MISSED_UNKNOWN);
	first->overwritten = 12;
	CHECK(losses_at_least(&l));
	CHECK(losses_untold(&l, 1) == 0 && losses_untold(&l, 0) == 7);
	CHECK(!losses_at_least(&l) && losses_untold(&l, 0) == 0);
	losses_told(&l, 10, TRACEMAP_MISSED_UNKNOWN);
	first->overwritten = 14;
	CHECK(losses_untold(&l, 0) == 2);
	losses_end(&l);
}

static void test_behind_another_consumer(void)
{
	begin(100, 40, 1);
	CHECK(!losses_at_least(&l) && losses_dropped(&l, 0) == 0);
	losses_told(&l, 10, TRACEMAP_MISSED_UNKNOWN);
	first->overwritten = 108;
	first->dropped = 41;
	CHECK(losses_untold(&l, 0) == 8 && losses_dropped(&l, 0) == 1);
	CHECK(losses_at_least(&l) && losses_untold(&l, 0) == 0);
	losses_end(&l);
}

/* It has taken all events, and was told of all that had been overwritten. */
static void test_behind_one_that_took_all(void)
{
	begin_with(100, 40, 1, 0);
	losses_told(&l, 10, TRACEMAP_MISSED_UNKNOWN);
	first->overwritten = 108;
	CHECK(losses_untold(&l, 0) == 8 && !losses_at_least(&l));
	losses_end(&l);
}

/* What is dropped after the end, or overwritten and not told, is nothing that this reader lost. */
static void test_until_now(void)
{
	begin(0, 0, 0);
	losses_told(&l, 10, 20);
	first->overwritten = 30;
	first->dropped = 3;
	losses_until_now(&l);
	first->overwritten = 900;
	first->dropped = 8;
	CHECK(losses_dropped(&l, 0) == 3 && losses_dropped(&l, 0) == 0);
	CHECK(losses_untold(&l, 0) == 0 && !losses_at_least(&l));
	losses_end(&l);
}

/* Without a number, there are as many as the counter had at the end, and maybe more. */
static void test_untold_until_now(void)
{
	begin(0, 0, 0);
	losses_told(&l, 10, 20);
	losses_told(&l, 10, TRACEMAP_MISSED_UNKNOWN);
	first->overwritten = 30;
	losses_until_now(&l);
	first->overwritten = 900;
	CHECK(losses_untold(&l, 0) == 10 && losses_at_least(&l));
	CHECK(losses_untold(&l, 0) == 0 && losses_at_least(&l));
	/* The writer has ended before. */
	losses_until_now(&l);
	CHECK(losses_untold(&l, 0) == 870 && !losses_at_least(&l));
	losses_end(&l);
}

/* Of a number that may be too low; but a loss is one event at least. */
static void test_least(void)
{
	CHECK(losses_least(0, false) == 0 && losses_least(0, true) == 1);
	CHECK(losses_least(7, false) == 7 && losses_least(7, true) == 7);
}

static void test_emptied(void)
{
	begin(100, 40, 1);
	losses_told(&l, 10, TRACEMAP_MISSED_UNKNOWN);
	first->overwritten = 99;
	first->dropped = 4;
	CHECK(losses_untold(&l, 0) == 0 && losses_at_least(&l));
	CHECK(losses_dropped(&l, 0) == 4 && losses_dropped(&l, 0) == 0);
	losses_told(&l, 10, 20);
	first->overwritten = 119;
	CHECK(losses_untold(&l, 0) == 0 && losses_at_least(&l));
	losses_end(&l);
}

static void test_dropped(void)
{
	begin(0, 6, 0);
	CHECK(losses_dropped(&l, 0) == 6 && losses_dropped(&l, 0) == 0);
	first->dropped = 9;
	t.cpu[0].error = -EAGAIN;
	CHECK(losses_dropped(&l, 0) == 0);
	t.cpu[0].error = 0;
	CHECK(losses_dropped(&l, 0) == 3 && !losses_at_least(&l));
	CHECK(losses_dropped_of(&l, 0, 11) == 2 && losses_dropped_of(&l, 0, 4) == 4);
	losses_end(&l);
}

/* It is known by its number, and begins with all that its counters have. */
static void test_cpu_that_comes(void)
{
	begin(0, 0, 0);
	losses_told(&l, 12, TRACEMAP_MISSED_UNKNOWN);
	CHECK(!losses_at_least(&l));
	t.nr = 3;
	t.cpu[2].figures.overwritten = 4;
	t.cpu[2].figures.dropped = 2;
	t.cpu[2].figures.consumed = 1;
	losses_told(&l, 12, TRACEMAP_MISSED_UNKNOWN);
	CHECK(losses_at_least(&l) && losses_dropped(&l, 2) == 2);
	CHECK(losses_untold(&l, 2) == 4 && !losses_at_least(&l));
	losses_end(&l);
}

/* The next batch reports these, to whoever takes it: no number is concluded from the counter. */
static void test_lie_ahead(void)
{
	begin(0, 0, 0);
	first->overwritten = 12;
	losses_told(&l, 10, 5);
	CHECK(losses_untold(&l, 0) == 0 && !losses_at_least(&l));
	losses_end(&l);
}

/* What sub-buffers have told before the buffer was emptied is not in the counter. */
static void test_since_emptied(void)
{
	begin(100, 0, 1);
	losses_told(&l, 10, 20);
	losses_emptied(&l, 10);
	losses_told(&l, 10, 9);
	losses_told(&l, 10, TRACEMAP_MISSED_UNKNOWN);
	losses_emptied(&l, 10);
	first->overwritten = 2;
	CHECK(losses_untold(&l, 0) == 2 && losses_at_least(&l));
	losses_emptied(&l, 99);
	losses_end(&l);
}

/* Where the counter could not be read at the beginning, nothing is concluded from it. */
static void test_unknown_beginning(void)
{
	t = (struct tracemap){ .cpu = { { .number = 10, .error = -EAGAIN } }, .nr = 1 };
	losses_begin(&l, &t);
	t.cpu[0].error = 0;
	first->overwritten = 1000;
	losses_told(&l, 10, TRACEMAP_MISSED_UNKNOWN);
	CHECK(losses_untold(&l, 0) == 0 && losses_at_least(&l));
	losses_emptied(&l, 10);
	CHECK(losses_untold(&l, 0) == 1000);
	losses_end(&l);
}

static uint64_t others_at(uint64_t consumed, uint64_t taken)
{
	first->consumed = consumed;
	first->taken = taken;
	losses_look_for_others(&l, 0, first);
	return losses_others(&l);
}

/* What others consume while this reader reads, which may have taken more than it has seen. */
static void test_others(void)
{
	begin(0, 0, 70);
	CHECK(others_at(70, 0) == 0 && others_at(80, 10) == 0 && others_at(90, 15) == 5);
	losses_until_now(&l);
	CHECK(others_at(900, 15) == 5 && !losses_others_at_least(&l));
	losses_end(&l);
}

/* The counter restarts at 0: it says too little, and never too much. */
static void test_others_emptied(void)
{
	begin(0, 0, 70);
	CHECK(others_at(80, 5) == 5 && !losses_others_at_least(&l));
	CHECK(others_at(0, 5) == 5 && others_at(60, 45) == 5 && losses_others_at_least(&l));
	losses_end(&l);
	begin(0, 0, 0);
	losses_emptied(&l, 10);
	CHECK(others_at(9, 2) == 7 && losses_others_at_least(&l));
	losses_end(&l);
}

/* A reader whose count cannot be compared with the kernel's reports no other consumer. */
static void test_others_unknown(void)
{
	begin(0, 0, 70);
	CHECK(others_at(900, TRACEMAP_TAKEN_UNKNOWN) == 0);
	l.swapped = true;
	CHECK(others_at(900, 0) == 0);
	l.swapped = false;
	t.cpu[0].way = TRACEMAP_OBSERVE;
	CHECK(others_at(900, 0) == 0);
	losses_end(&l);
	t = (struct tracemap){ .cpu = { { .number = 10, .error = -EAGAIN } }, .nr = 1 };
	losses_begin(&l, &t);
	CHECK(others_at(900, 0) == 0);
	losses_end(&l);
}

static void test_add(void)
{
	CHECK(losses_add(2, 3) == 5);
	CHECK(losses_add(TRACEMAP_MISSED_UNKNOWN, 3) == TRACEMAP_MISSED_UNKNOWN);
	CHECK(losses_add(2, TRACEMAP_MISSED_UNKNOWN) == TRACEMAP_MISSED_UNKNOWN);
}

int main(void)
{
	test_told();
	test_untold();
	test_behind_another_consumer();
	test_behind_one_that_took_all();
	test_emptied();
	test_dropped();
	test_cpu_that_comes();
	test_add();
	test_least();
	test_lie_ahead();
	test_since_emptied();
	test_unknown_beginning();
	test_others();
	test_others_emptied();
	test_others_unknown();
	test_until_now();
	test_untold_until_now();
	printf("ok - losses\n");
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1
/*
 * Test merge.c. The name of each test is a promise. In the last ones dozens of CPUs write at
 * random, and all promises have to hold at once.
 *
 *	merge_test [SCALE]	run the random tests SCALE percent as often as usual
 */
#define _GNU_SOURCE
#include "merge_sim.h"

#define DELAY	(10 * MSEC)
#define ARRAY(a) (sizeof(a) / sizeof((a)[0]))

static unsigned int scale = 100;

/* Two CPUs, 0 and 1, and a merge of them. */
struct pair {
	struct pipe a, b;
	struct tracemap_merge *m;
};

static void pair_open(struct pair *p, uint64_t delay_ns)
{
	sim_ns = 1000 * MSEC;
	clock_calls = 0;
	pipe_open(&p->a, 0);
	pipe_open(&p->b, 1);
	p->m = merge_with_delay(delay_ns);
	check(!tracemap_merge_add_cpu(p->m, p->a.cpu));
	check(!tracemap_merge_add_cpu(p->m, p->b.cpu));
}

static void pair_close(struct pair *p)
{
	tracemap_merge_free(p->m);
	pipe_close(&p->a);
	pipe_close(&p->b);
}

/* ---- Order ---- */

static void the_oldest_comes_first(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_events(&p.a, 10, 20, 3);
	pipe_events(&p.b, 20, 20, 3);
	pipe_end(&p.a);
	pipe_end(&p.b);
	for (int i = 0; i < 3; i++) {
		comes(p.m, 10 + 20 * i, 0, i);
		comes(p.m, 20 + 20 * i, 1, i);
	}
	says(p.m, -ENODATA);
	says(p.m, -ENODATA);
	pair_close(&p);
}

static bool comes_at(struct tracemap_merge *m, uint64_t ts)
{
	struct tracemap_record rec;

	return check(tracemap_merge_next(m, &rec) == 1) && check(rec.ts == ts) &&
		check(!rec.flags) && check(!rec.missed);
}

static void runs_of_one_cpu_keep_their_place(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_events(&p.a, 10, 1, 5);
	pipe_events(&p.b, 12, 10, 2);
	pipe_events(&p.a, 20, 1, 3);
	pipe_end(&p.a);
	pipe_end(&p.b);
	for (int i = 0; i < 2; i++)
		comes(p.m, 10 + i, 0, i);
	/* At 12, one is as good as the other. */
	for (int i = 0; i < 2; i++)
		comes_at(p.m, 12);
	comes(p.m, 13, 0, 3);
	comes(p.m, 14, 0, 4);
	comes(p.m, 20, 0, 5);
	comes(p.m, 21, 0, 6);
	for (int i = 0; i < 2; i++)
		comes_at(p.m, 22);
	says(p.m, -ENODATA);
	pair_close(&p);
}

/* Every third CPU has nothing, so that its place in the queue is empty. */
static void ends_of_time(unsigned int nr)
{
	struct tracemap_merge *m = merge_with_delay(DELAY);
	struct tracemap_record rec;
	struct pipe pipes[21];
	unsigned int i, nr_full = 0;

	for (i = 0; i < nr; i++) {
		pipe_open(&pipes[i], i);
		check(!tracemap_merge_add_cpu(m, pipes[i].cpu));
		if (i % 3) {
			pipe_event_at(&pipes[i], 0);
			pipe_events(&pipes[i], UINT64_MAX, 0, 2);
			nr_full++;
		}
		pipe_end(&pipes[i]);
	}
	for (i = 0; i < nr_full * 3; i++)
		check(tracemap_merge_next(m, &rec) == 1 &&
		      rec.ts == (i < nr_full ? 0 : UINT64_MAX) && !rec.flags);
	says(m, -ENODATA);
	tracemap_merge_free(m);
	for (i = 0; i < nr; i++)
		pipe_close(&pipes[i]);
}

static void the_ends_of_time_are_times(void)
{
	ends_of_time(3);
	ends_of_time(21);
}

static void other_sources_are_merged_with_cpus(void)
{
	struct feed *f = feed_new(7);
	struct pair p;

	pair_open(&p, DELAY);
	feed_add(f, p.m);
	f->end = -ENODATA;
	feed_event(f, 15);
	feed_event(f, 16);
	feed_event(f, 100);
	pipe_events(&p.a, 10, 10, 3);
	pipe_event_at(&p.b, 16);
	pipe_end(&p.a);
	pipe_end(&p.b);
	comes(p.m, 10, 0, 0);
	comes(p.m, 15, 7, 0);
	check(f->released == 0);
	check(tracemap_merge_timeout(p.m, -1) == 0);
	for (int i = 0; i < 2; i++)
		comes_at(p.m, 16);
	check(f->released >= 1);
	comes(p.m, 20, 0, 1);
	comes(p.m, 30, 0, 2);
	comes(p.m, 100, 7, 2);
	says(p.m, -ENODATA);
	check(f->released == 3);
	pair_close(&p);
	feed_free(f);
}

/* ---- Waiting ---- */

static void who_has_nothing_is_waited_for(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_event_at(&p.a, 10);
	says(p.m, 0);
	check(tracemap_merge_timeout(p.m, -1) == 10);
	sim_ns += DELAY - 1;
	says(p.m, 0);
	check(tracemap_merge_timeout(p.m, -1) == 1);
	check(tracemap_merge_timeout(p.m, 0) == 0);
	sim_ns += 1;
	check(tracemap_merge_timeout(p.m, -1) == 0);
	sim_ns -= 1;
	check(tracemap_merge_timeout(p.m, -1) == 1);
	sim_ns += 1;
	comes(p.m, 10, 0, 0);
	/* There may be more. */
	check(tracemap_merge_timeout(p.m, -1) == 0);
	says(p.m, 0);
	check(tracemap_merge_timeout(p.m, -1) == -1);
	check(tracemap_merge_timeout(p.m, 77) == 77);
	pair_close(&p);
}

static void an_older_one_overtakes_while_there_is_time(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_event_at(&p.a, 10);
	says(p.m, 0);
	sim_ns += DELAY - 1;
	pipe_event_at(&p.b, 5);
	comes(p.m, 5, 1, 0);
	says(p.m, 0);
	/* Counted from when it was found: */
	sim_ns += 1;
	comes(p.m, 10, 0, 0);
	pair_close(&p);
}

static void an_older_one_overtakes_at_the_last_moment(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_event_at(&p.a, 10);
	says(p.m, 0);
	sim_ns += 5 * DELAY;
	pipe_event_at(&p.b, 5);
	comes(p.m, 5, 1, 0);
	comes(p.m, 10, 0, 0);
	pair_close(&p);
}

static void a_later_one_of_the_others_ends_the_wait(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_event_at(&p.a, 10);
	says(p.m, 0);
	pipe_event_at(&p.b, 11);
	comes(p.m, 10, 0, 0);
	check(tracemap_merge_timeout(p.m, -1) == 0);
	says(p.m, 0);
	pair_close(&p);
}

static void the_end_of_the_others_ends_the_wait(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_event_at(&p.a, 10);
	says(p.m, 0);
	pipe_end(&p.b);
	comes(p.m, 10, 0, 0);
	says(p.m, 0);
	pipe_end(&p.a);
	says(p.m, -ENODATA);
	pair_close(&p);
}

/* One wait is for all that was found with it. */
static void a_sub_buffer_waits_once(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_events(&p.a, 10, 1, 12);
	says(p.m, 0);
	sim_ns += DELAY;
	clock_calls = 0;
	for (int i = 0; i < 12; i++)
		comes(p.m, 10 + i, 0, i);
	check(clock_calls <= 2);
	pipe_event_at(&p.a, 50);
	says(p.m, 0);
	sim_ns += DELAY;
	comes(p.m, 50, 0, 12);
	pair_close(&p);
}

/* What was there before the others were asked goes with it, what came since waits. */
static void what_was_found_later_waits_longer(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_event_at(&p.a, 10);
	says(p.m, 0);
	sim_ns += DELAY / 2;
	pipe_event_at(&p.a, 12);
	says(p.m, 0);
	sim_ns += DELAY / 2;
	comes(p.m, 10, 0, 0);
	says(p.m, 0);
	check(tracemap_merge_timeout(p.m, -1) == 5);
	pipe_event_at(&p.b, 11);
	comes(p.m, 11, 1, 0);
	says(p.m, 0);
	sim_ns += DELAY / 2;
	comes(p.m, 12, 0, 1);
	pair_close(&p);
}

/* Time runs for a record from when it was found, not from when it comes first. */
static void those_behind_wait_at_the_same_time(void)
{
	struct pipe c;
	struct pair p;

	pair_open(&p, DELAY);
	pipe_open(&c, 2);
	check(!tracemap_merge_add_cpu(p.m, c.cpu));
	pipe_event_at(&p.a, 10);
	pipe_event_at(&p.b, 11);
	says(p.m, 0);
	sim_ns += DELAY;
	comes(p.m, 10, 0, 0);
	comes(p.m, 11, 1, 0);
	pair_close(&p);
	pipe_close(&c);
}

/* So it does where it was found while it was another's turn. */
static void time_runs_during_the_turn_of_others(void)
{
	struct feed *f = feed_new(2);
	struct pair p;

	pair_open(&p, DELAY);
	feed_add(f, p.m);
	f->marks = true;
	feed_event(f, 10);
	pipe_events(&p.a, 20, 1, 2);
	says(p.m, 0);
	sim_ns += DELAY;
	comes(p.m, 10, 2, 0);
	feed_event(f, 30);
	comes(p.m, 20, 0, 0);
	sim_ns += DELAY;
	comes(p.m, 21, 0, 1);
	comes(p.m, 30, 2, 1);
	pair_close(&p);
	feed_free(f);
}

static void without_delay_the_others_are_asked_once_more(void)
{
	struct pipe c;
	struct pair p;

	pair_open(&p, 0);
	pipe_event_at(&p.a, 10);
	comes(p.m, 10, 0, 0);
	says(p.m, 0);
	pipe_event_at(&p.a, 20);
	pipe_event_at(&p.b, 15);
	comes(p.m, 15, 1, 0);
	comes(p.m, 20, 0, 1);
	/* Also if they are not those who said last that they have nothing. */
	pipe_event_at(&p.a, 40);
	pipe_event_at(&p.b, 35);
	comes(p.m, 35, 1, 1);
	comes(p.m, 40, 0, 2);
	says(p.m, 0);
	/* Or there is a third that never has anything. */
	pipe_open(&c, 2);
	check(!tracemap_merge_add_cpu(p.m, c.cpu));
	says(p.m, 0);
	pipe_event_at(&p.a, 60);
	pipe_event_at(&p.b, 55);
	comes(p.m, 55, 1, 2);
	comes(p.m, 60, 0, 3);
	says(p.m, 0);
	check(tracemap_merge_timeout(p.m, 5) == 5);
	pair_close(&p);
	pipe_close(&c);
}

/* A CPU that is behind is not slowed down to a sub-buffer a delay. */
static void what_was_there_already_waits_no_more(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	for (int i = 0; i < 50; i++)
		pipe_events(&p.a, 100 * i, 1, 10);
	says(p.m, 0);
	pipe_events(&p.a, 10000, 1, 10);
	sim_ns += DELAY;
	for (int i = 0; i < 500; i++)
		comes(p.m, i / 10 * 100 + i % 10, 0, i);
	/* But this came since. */
	says(p.m, 0);
	check(tracemap_merge_timeout(p.m, -1) == 10);
	pipe_event_at(&p.b, 9999);
	comes(p.m, 9999, 1, 0);
	pair_close(&p);
}

/* A loss behind a record that waits does not make what is behind it wait anew. */
static void what_was_there_waits_no_more_behind_a_loss(void)
{
	static const int64_t missed[] = { 10, SUBBUF_MISSED_UNKNOWN };

	for (int i = 0; i < 2; i++) {
		struct tracemap_record rec;
		struct pair p;

		pair_open(&p, DELAY);
		pipe_event_at(&p.a, 10);
		pipe_begin(&p.a, 20);
		for (int j = 0; j < 10; j++)
			pipe_event(&p.a, 20 + j, 8);
		pipe_send(&p.a, missed[i]);
		says(p.m, 0);
		pipe_events(&p.a, 40, 1, 10);
		sim_ns += DELAY;
		comes(p.m, 10, 0, 0);
		check(tracemap_merge_next(p.m, &rec) == 1 && rec.ts == 20);
		check(rec.missed == (uint64_t)missed[i]);
		for (int j = 1; j < 10; j++)
			comes(p.m, 20 + j, 0, 1 + j);
		/* This has come since. */
		says(p.m, 0);
		check(tracemap_merge_timeout(p.m, -1) == 10);
		pair_close(&p);
	}
}

/* ---- Reading ahead ---- */

static void what_waits_is_read_ahead(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	for (int i = 0; i < 100; i++)
		pipe_events(&p.a, 100 * i, 1, 10);
	says(p.m, 0);
	check(pipe_unread(&p.a) == 0);
	pipe_events(&p.a, 10000, 1, 10);
	check(tracemap_merge_timeout(p.m, -1) == 10);
	says(p.m, 0);
	check(pipe_unread(&p.a) == 0);
	check(p.a.cpu->read_ahead.room->used > 100 * 10 * 12);
	sim_ns += DELAY;
	for (int i = 0; i < 1010; i++)
		comes(p.m, i / 10 * 100 + i % 10, 0, i);
	says(p.m, 0);
	check(p.a.cpu->read_ahead.room->used == 0);
	pair_close(&p);
}

/* The others have their order, which costs the one that writes too much nothing. */
static void a_buffer_that_fills_is_read_ahead(void)
{
	struct pair p;

	for (int fills = 0; fills < 2; fills++) {
		pair_open(&p, DELAY);
		for (int i = 0; i < 20; i++) {
			pipe_events(&p.a, 100 * i, 1, 10);
			pipe_events(&p.b, 100 * i, 1, 10);
		}
		if (fills)
			pipe_fills(&p.a);
		for (int i = 0; i < 20; i++)
			comes_at(p.m, i / 2);
		sim_ns += MSEC;
		for (int i = 0; i < 20; i++)
			comes_at(p.m, 100 + i / 2);
		check(fills ? pipe_unread(&p.a) == 0 : pipe_unread(&p.a) >= 17);
		check(pipe_unread(&p.b) >= 17);
		pipe_end(&p.a);
		pipe_end(&p.b);
		for (int i = 40; i < 400; i++)
			comes_at(p.m, 100 * (i / 20) + i / 2 % 10);
		pair_close(&p);
	}
}

/* The whole buffer of one that writes too much may be lost, or the order. */
static void without_memory_nobody_waits(void)
{
	for (int fills = 0; fills < 2; fills++) {
		struct pair p;

		pair_open(&p, DELAY);
		p.a.cpu->read_ahead.own_room.limit = 3000;
		if (fills)
			pipe_fills(&p.a);
		for (int i = 0; i < 100; i++)
			pipe_events(&p.a, 100 * i, 1, 10);
		if (fills) {
			for (int i = 0; i < 1000; i++)
				comes(p.m, i / 10 * 100 + i % 10, 0, i);
		}
		says(p.m, 0);
		/* A file is not overwritten meanwhile. */
		check(fills == !pipe_unread(&p.a));
		check(p.a.cpu->read_ahead.room->used <= 4000);
		pair_close(&p);
	}
}

/* Whichever allocation it is that fails: what was fetched by then waits, or goes. */
static void without_memory_nothing_is_lost(void)
{
	for (int left = 0; left < 8; left++) {
		struct tracemap_record rec;
		int n = 0, waits = 0;
		struct pair p;

		pair_open(&p, DELAY);
		pipe_fills(&p.a);
		for (int i = 0; i < 5; i++)
			pipe_events(&p.a, 100 * i, 1, 10);
		mallocs_left = left;
		while (n < 50 && waits < 5) {
			int ret = tracemap_merge_next(p.m, &rec);

			check(!ret || (ret == 1 && rec.ts == (uint64_t)(n / 10 * 100 + n % 10)));
			n += ret == 1;
			waits += ret != 1;
			if (ret != 1)
				sim_ns += DELAY;
		}
		mallocs_left = -1;
		check(n == 50);
		pair_close(&p);
	}
}

static void one_cpu_does_not_take_all_memory(void)
{
	static struct read_ahead_room room = { .limit = 30000 };
	struct pipe c;
	struct pair p;

	pair_open(&p, DELAY);
	pipe_open(&c, 2);
	check(!tracemap_merge_add_cpu(p.m, c.cpu));
	p.a.cpu->read_ahead.room = &room;
	p.b.cpu->read_ahead.room = &room;
	for (int i = 0; i < 300; i++)
		pipe_events(&p.a, 100 * i, 1, 10);
	pipe_events(&p.b, 5, 1, 10);
	pipe_events(&p.b, 50, 1, 10);
	says(p.m, 0);
	check(pipe_unread(&p.a) > 0);
	check(pipe_unread(&p.b) == 0);
	check(room.used > 25000 && room.used < 30000);
	pair_close(&p);
	pipe_close(&c);
	check(room.used == 0);
}

/* Whatever is in hand then, and behind it. */
static void what_was_read_ahead_is_put_back(void)
{
	for (unsigned int taken = 0; taken < 60; taken += 7) {
		struct tracemap_figures f;
		struct tracemap_record rec;
		uint64_t missed = 0;
		struct pair p;
		uint32_t seq;

		pair_open(&p, DELAY);
		pipe_events(&p.a, 0, 1, 20);
		pipe_begin(&p.a, 20);
		for (int i = 20; i < 40; i++)
			pipe_event(&p.a, i, 8);
		pipe_send(&p.a, 5);
		pipe_events(&p.a, 40, 1, 20);
		says(p.m, 0);
		check(!pipe_unread(&p.a));
		sim_ns += DELAY;
		for (unsigned int i = 0; i < taken; i++) {
			check(tracemap_merge_next(p.m, &rec) == 1);
			missed += rec.missed;
		}
		pipe_events(&p.a, 60, 1, 20);
		tracemap_merge_free(p.m);
		p.m = NULL;
		check(tracemap__in_hand(p.a.cpu));
		check(tracemap_cpu_figures(p.a.cpu, &f) == -EOPNOTSUPP && f.taken == 60);
		check(tracemap_figures_unread(&f) == (taken < 21 ? 40 : taken < 41 ? 20 : 0));
		for (seq = taken; tracemap_cpu_next(p.a.cpu, &rec) == 1; seq++) {
			check(rec.ts == seq && ((struct body *)rec.data)->seq == seq);
			missed += rec.missed;
		}
		check(seq == 80);
		check(missed == 5);
		pair_close(&p);
	}
}

static void damage_that_was_read_ahead_is_told_in_its_place(void)
{
	struct tracemap_figures f;
	struct pair p;

	pair_open(&p, DELAY);
	pipe_events(&p.a, 10, 1, 3);
	pipe_begin(&p.a, 20);
	pipe_event(&p.a, 20, 8);
	make_word(&p.a.make, 0);	/* type 0, and no length */
	make_word(&p.a.make, 0);
	pipe_send(&p.a, 0);
	pipe_events(&p.a, 30, 1, 3);
	pipe_end(&p.a);
	says(p.m, 0);
	check(!pipe_unread(&p.a));
	tracemap_cpu_figures(p.a.cpu, &f);
	check(f.taken == TRACEMAP_TAKEN_UNKNOWN);
	sim_ns += DELAY;
	for (int i = 0; i < 3; i++)
		comes(p.m, 10 + i, 0, i);
	comes(p.m, 20, 0, 3);
	says(p.m, -EBADMSG);
	for (int i = 0; i < 3; i++)
		comes(p.m, 30 + i, 0, 4 + i);
	says(p.m, 0);
	pipe_end(&p.b);
	says(p.m, -ENODATA);
	pair_close(&p);
}

/* Of what cannot be fetched at all, too. */
static void an_error_while_reading_ahead_is_told_in_its_place(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_events(&p.a, 10, 1, 3);
	pipe_events(&p.a, 20, 1, 3);
	pipe_begin(&p.a, 25);
	make_put(&p.a.make, pipe_format.commit_offset, SUBBUF_SIZE, pipe_format.commit_size);
	need(write(p.a.in, p.a.make.bytes, SUBBUF_SIZE) == SUBBUF_SIZE, "write");
	pipe_events(&p.a, 30, 1, 3);
	says(p.m, 0);
	sim_ns += DELAY;
	for (int i = 0; i < 6; i++)
		comes(p.m, i < 3 ? 10 + i : 17 + i, 0, i);
	says(p.m, -EBADMSG);
	says(p.m, 0);
	sim_ns += DELAY;
	for (int i = 0; i < 3; i++)
		comes(p.m, 30 + i, 0, 6 + i);
	pair_close(&p);
}

/* ---- Waiting for what may never come ---- */

static void a_delay_without_end_has_none(void)
{
	struct pair p;

	pair_open(&p, UINT64_MAX);
	pipe_event_at(&p.a, 10);
	says(p.m, 0);
	/* Its buffer is looked at meanwhile. */
	check(tracemap_merge_timeout(p.m, -1) == 10);
	sim_ns += 1000000 * MSEC;
	says(p.m, 0);
	pipe_event_at(&p.b, 9);
	comes(p.m, 9, 1, 0);
	says(p.m, 0);
	tracemap_merge_flush(p.m);
	comes(p.m, 10, 0, 0);
	says(p.m, 0);
	pair_close(&p);
}

static void all_that_have_something_need_the_clock_once_a_batch(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	for (int i = 0; i < 100; i++) {
		pipe_events(&p.a, 1000 * i, 7, 24);
		pipe_events(&p.b, 1000 * i, 8, 24);
	}
	for (int i = 0; i < 4700; i++) {
		struct tracemap_record rec;

		if (i == 1)
			clock_calls = 0;
		check(tracemap_merge_next(p.m, &rec) == 1);
	}
	check(clock_calls < 200);
	pair_close(&p);
}

static void flush_waits_for_nothing(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_events(&p.a, 10, 10, 3);
	says(p.m, 0);
	tracemap_merge_flush(p.m);
	pipe_events(&p.b, 15, 10, 1);
	comes(p.m, 10, 0, 0);
	comes(p.m, 15, 1, 0);
	comes(p.m, 20, 0, 1);
	comes(p.m, 30, 0, 2);
	says(p.m, 0);
	pair_close(&p);
}

static void flush_takes_in_what_came_meanwhile(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_events(&p.a, 10, 10, 30);
	says(p.m, 0);
	sim_ns += DELAY;
	comes(p.m, 10, 0, 0);
	comes(p.m, 20, 0, 1);
	pipe_event_at(&p.b, 25);
	tracemap_merge_flush(p.m);
	comes(p.m, 25, 1, 0);
	comes(p.m, 30, 0, 2);
	pair_close(&p);
}

static void after_a_flush_records_wait_again(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_event_at(&p.a, 10);
	tracemap_merge_flush(p.m);
	comes(p.m, 10, 0, 0);
	says(p.m, 0);
	pipe_event_at(&p.a, 20);
	says(p.m, 0);
	check(tracemap_merge_timeout(p.m, -1) == 10);
	sim_ns += DELAY;
	comes(p.m, 20, 0, 1);
	pair_close(&p);
}

static void the_timeout_is_never_too_short(void)
{
	struct feed *f = feed_new(2);
	struct pair p;

	pair_open(&p, 9 * MSEC + 1);
	pipe_event_at(&p.a, 10);
	says(p.m, 0);
	check(tracemap_merge_timeout(p.m, -1) == 10);
	check(tracemap_merge_timeout(p.m, 10) == 10);
	check(tracemap_merge_timeout(p.m, 3) == 3);
	sim_ns += 9 * MSEC;
	check(tracemap_merge_timeout(p.m, -1) == 1);
	pair_close(&p);
	pair_open(&p, 1ULL << 62);
	feed_add(f, p.m);
	feed_event(f, 10);
	says(p.m, 0);
	check(tracemap_merge_timeout(p.m, -1) == INT_MAX);
	pair_close(&p);
	feed_free(f);
}

/* ---- Sources that are no CPUs ---- */

static void a_source_that_marks_is_waited_for_as_a_cpu(void)
{
	struct feed *a = feed_new(0), *b = feed_new(1);
	struct tracemap_merge *m = merge_with_delay(DELAY);
	unsigned int asked;

	a->marks = true;
	feed_add(a, m);
	feed_add(b, m);
	for (int i = 0; i < 3; i++)
		feed_event(a, 10 + i);
	says(m, 0);
	feed_event(a, 20);
	sim_ns += DELAY;
	comes(m, 10, 0, 0);
	/* Nobody need be asked for those that were found together. */
	asked = b->asked;
	comes(m, 11, 0, 1);
	comes(m, 12, 0, 2);
	check(b->asked == asked);
	says(m, 0);
	feed_event(b, 15);
	comes(m, 15, 1, 0);
	says(m, 0);
	sim_ns += DELAY;
	comes(m, 20, 0, 3);
	tracemap_merge_free(m);
	feed_free(a);
	feed_free(b);
}

/* Without marks: a stream must not be slowed down to one record a delay. */
static void a_source_without_marks_waits_once_a_burst(void)
{
	struct feed *a = feed_new(0), *b = feed_new(1);
	struct tracemap_merge *m = merge_with_delay(DELAY);

	feed_add(a, m);
	feed_add(b, m);
	for (int i = 0; i < 3; i++)
		feed_event(a, 10 + i);
	says(m, 0);
	sim_ns += DELAY;
	comes(m, 10, 0, 0);
	comes(m, 11, 0, 1);
	/* But the others are asked each time. */
	feed_event(b, 11);
	comes(m, 11, 1, 0);
	comes(m, 12, 0, 2);
	says(m, 0);
	feed_event(a, 20);
	says(m, 0);
	tracemap_merge_free(m);
	feed_free(a);
	feed_free(b);
}

static void a_record_is_released_before_the_next_is_asked_for(void)
{
	struct feed *a = feed_new(0);
	struct tracemap_merge *m = merge_with_delay(0);
	struct tracemap_source source = { sizeof(source), 3, a, feed_next, NULL };

	feed_add(a, m);
	feed_event(a, 10);
	comes(m, 10, 0, 0);
	check(a->out && !a->released);
	says(m, 0);
	check(!a->out && a->released == 1);
	feed_event(a, 11);
	comes(m, 11, 0, 1);
	tracemap_merge_free(m);
	source.next = NULL;
	m = merge_with_delay(0);
	check(tracemap_merge_add_source(m, &source) == -EINVAL);
	tracemap_merge_free(m);
	feed_free(a);
}

/* ---- Late ones ---- */

static bool comes_late(struct tracemap_merge *m, uint64_t ts, int cpu)
{
	struct tracemap_record rec;

	return check(tracemap_merge_next(m, &rec) == 1) && check(rec.ts == ts) &&
		check(rec.cpu == cpu) && check(rec.flags == TRACEMAP_LATE);
}

static void late_ones_are_told_at_once_and_marked(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_event_at(&p.a, 10);
	says(p.m, 0);
	sim_ns += DELAY;
	comes(p.m, 10, 0, 0);
	pipe_events(&p.b, 8, 1, 4);
	comes_late(p.m, 8, 1);
	comes_late(p.m, 9, 1);
	/* As old as the latest told is not late, and waits. */
	says(p.m, 0);
	sim_ns += DELAY;
	comes(p.m, 10, 1, 2);
	comes(p.m, 11, 1, 3);
	pair_close(&p);
}

static void late_is_measured_by_the_latest_of_a_run(void)
{
	struct pair p;

	pair_open(&p, 0);
	pipe_events(&p.a, 10, 10, 3);
	for (int i = 0; i < 3; i++)
		comes(p.m, 10 + 10 * i, 0, i);
	pipe_event_at(&p.b, 29);
	comes_late(p.m, 29, 1);
	pipe_event_at(&p.b, 30);
	comes(p.m, 30, 1, 1);
	pipe_event_at(&p.a, 29);
	comes_late(p.m, 29, 0);
	pair_close(&p);
}

/* Turns change, the clock of one is behind. */
static void late_after_turns_have_changed(void)
{
	struct pipe c;
	struct pair p;

	pair_open(&p, 0);
	pipe_open(&c, 2);
	pipe_events(&p.a, 10, 10, 3);
	pipe_events(&p.b, 15, 10, 3);
	comes(p.m, 10, 0, 0);
	comes(p.m, 15, 1, 0);
	comes(p.m, 20, 0, 1);
	comes(p.m, 25, 1, 1);
	pipe_events(&c, 22, 1, 4);
	check(!tracemap_merge_add_cpu(p.m, c.cpu));
	for (int i = 0; i < 3; i++)
		comes_late(p.m, 22 + i, 2);
	comes(p.m, 25, 2, 3);
	comes(p.m, 30, 0, 2);
	comes(p.m, 35, 1, 2);
	pair_close(&p);
	pipe_close(&c);
}

static void late_after_a_turn_that_had_to_wait(void)
{
	struct pipe c;
	struct pair p;

	pair_open(&p, DELAY);
	pipe_open(&c, 2);
	check(!tracemap_merge_add_cpu(p.m, c.cpu));
	pipe_begin(&p.a, 10);
	for (int i = 0; i < 20; i++)
		pipe_event(&p.a, 10 + i, 8);
	for (int i = 0; i < 20; i++)
		pipe_event(&p.a, 100 + i, 8);
	pipe_send(&p.a, 0);
	says(p.m, 0);
	sim_ns += DELAY / 2;
	pipe_event_at(&p.b, 50);
	says(p.m, 0);
	sim_ns += DELAY / 2;
	for (int i = 0; i < 20; i++)
		comes(p.m, 10 + i, 0, i);
	says(p.m, 0);
	pipe_events(&c, 28, 1, 2);
	comes_late(p.m, 28, 2);
	comes(p.m, 29, 2, 1);
	says(p.m, 0);
	sim_ns += DELAY / 2;
	comes(p.m, 50, 1, 0);
	pair_close(&p);
	pipe_close(&c);
}

/* By an absolute stamp, or past the largest there is, which may be far away. */
static void time_that_goes_back_is_late(void)
{
	static const struct {
		uint64_t begin, from, to;
	} way[] = {
		{ 20, 20, 12 },
		{ UINT64_MAX - 5, UINT64_MAX - 5, 10 },
		{ 1ULL << 62, UINT64_MAX - 5, 10 },
	};

	for (int i = 0; i < 3; i++) {
		struct pair p;

		pair_open(&p, 0);
		pipe_begin(&p.a, way[i].begin);
		pipe_event(&p.a, way[i].begin, 8);
		while ((way[i].from - p.a.make.ts) >> 59)
			make_time(&p.a.make, SUBBUF_TYPE_TIME_EXTEND, (1ULL << 59) - 1);
		pipe_event(&p.a, way[i].from, 8);
		if (!i)
			make_time(&p.a.make, SUBBUF_TYPE_TIME_STAMP, way[i].to);
		for (int j = 0; j < 15; j++)
			check(pipe_event(&p.a, way[i].to, 8));
		pipe_send(&p.a, 0);
		pipe_end(&p.b);
		comes(p.m, way[i].begin, 0, 0);
		comes(p.m, way[i].from, 0, 1);
		for (int j = 0; j < 15; j++)
			comes_late(p.m, way[i].to, 0);
		pair_close(&p);
	}
}

static void late_after_the_turn_of_another_source(void)
{
	struct feed *f = feed_new(3);
	struct pipe c;
	struct pair p;

	pair_open(&p, 0);
	pipe_open(&c, 2);
	feed_add(f, p.m);
	feed_event(f, 15);
	feed_event(f, 40);
	pipe_events(&p.a, 10, 20, 2);
	pipe_events(&p.b, 11, 20, 2);
	comes(p.m, 10, 0, 0);
	comes(p.m, 11, 1, 0);
	comes(p.m, 15, 3, 0);
	pipe_events(&c, 14, 1, 2);
	check(!tracemap_merge_add_cpu(p.m, c.cpu));
	comes_late(p.m, 14, 2);
	comes(p.m, 15, 2, 1);
	comes(p.m, 30, 0, 1);
	pair_close(&p);
	pipe_close(&c);
	feed_free(f);
}

/* ---- Loss ---- */

static bool comes_missed(struct tracemap_merge *m, uint64_t ts, int cpu, uint64_t missed,
			 bool data)
{
	struct tracemap_record rec;

	return check(tracemap_merge_next(m, &rec) == 1) && check(rec.ts == ts) &&
		check(rec.cpu == cpu) && check(rec.missed == missed) &&
		check(!rec.data == !data) && check(data || !rec.size) && check(!rec.flags);
}

static void loss_is_told_in_its_place_and_once(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_events(&p.a, 10, 10, 2);
	pipe_begin(&p.a, 30);
	for (int i = 0; i < 3; i++)
		pipe_event(&p.a, 30 + 10 * i, 8);
	pipe_send(&p.a, 42);
	pipe_events(&p.b, 15, 10, 5);
	pipe_end(&p.a);
	pipe_end(&p.b);
	comes(p.m, 10, 0, 0);
	comes(p.m, 15, 1, 0);
	comes(p.m, 20, 0, 1);
	comes(p.m, 25, 1, 1);
	comes_missed(p.m, 30, 0, 42, true);
	comes(p.m, 35, 1, 2);
	comes(p.m, 40, 0, 3);
	comes(p.m, 45, 1, 3);
	comes(p.m, 50, 0, 4);
	comes(p.m, 55, 1, 4);
	says(p.m, -ENODATA);
	pair_close(&p);
}

static void loss_before_a_time_stamp_record_is_told(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_begin(&p.a, 5);
	make_time(&p.a.make, SUBBUF_TYPE_TIME_STAMP, 1000);
	pipe_event(&p.a, 1001, 8);
	pipe_send(&p.a, 7);
	pipe_begin(&p.b, 6);
	make_discarded(&p.b.make, 3, 8);
	make_time(&p.b.make, SUBBUF_TYPE_TIME_EXTEND, 1ULL << 30);
	pipe_event(&p.b, (1ULL << 30) + 10, 8);
	pipe_send(&p.b, SUBBUF_MISSED_UNKNOWN);
	pipe_end(&p.a);
	pipe_end(&p.b);
	comes_missed(p.m, 1001, 0, 7, true);
	comes_missed(p.m, (1ULL << 30) + 10, 1, TRACEMAP_MISSED_UNKNOWN, true);
	says(p.m, -ENODATA);
	pair_close(&p);
}

/* Nothing is left behind it but what was discarded. */
static void loss_without_a_record_is_told_too(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_begin(&p.a, 20);
	make_time(&p.a.make, SUBBUF_TYPE_TIME_STAMP, 22);
	make_discarded(&p.a.make, 1, 16);
	pipe_send(&p.a, 9);
	pipe_event_at(&p.a, 40);
	pipe_events(&p.b, 21, 3, 2);
	pipe_end(&p.a);
	pipe_end(&p.b);
	comes(p.m, 21, 1, 0);
	comes_missed(p.m, 23, 0, 9, false);
	comes(p.m, 24, 1, 1);
	comes(p.m, 40, 0, 0);
	says(p.m, -ENODATA);
	pair_close(&p);
}

static void nothing_but_padding_is_nothing(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_begin(&p.a, 20);
	make_discarded(&p.a.make, 1, 16);
	pipe_send(&p.a, 0);
	pipe_event_at(&p.a, 30);
	pipe_end(&p.a);
	pipe_end(&p.b);
	comes(p.m, 30, 0, 0);
	says(p.m, -ENODATA);
	pair_close(&p);
}

static bool comes_reset(struct tracemap_merge *m, uint64_t ts, int cpu, bool data)
{
	struct tracemap_record rec;

	return check(tracemap_merge_next(m, &rec) == 1) && check(rec.ts == ts) &&
		check(rec.cpu == cpu) && check(rec.flags == TRACEMAP_RESET) &&
		check(!rec.data == !data) && check(!rec.missed);
}

static void a_reset_is_told_once(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	p.a.reset = true;
	pipe_events(&p.a, 10, 10, 4);
	p.b.reset = true;
	pipe_begin(&p.b, 15);
	pipe_send(&p.b, 0);
	pipe_events(&p.b, 25, 10, 2);
	pipe_end(&p.a);
	pipe_end(&p.b);
	comes_reset(p.m, 10, 0, true);
	comes_reset(p.m, 15, 1, false);
	comes(p.m, 20, 0, 1);
	comes(p.m, 25, 1, 0);
	comes(p.m, 30, 0, 2);
	comes(p.m, 35, 1, 1);
	comes(p.m, 40, 0, 3);
	pair_close(&p);
}

static void what_other_sources_missed_is_told(void)
{
	struct feed *a = feed_new(4);
	struct tracemap_merge *m = merge_with_delay(0);

	feed_add(a, m);
	a->end = -ENODATA;
	feed_event(a, 1);
	feed_event(a, 2);
	feed_event(a, 3);
	a->event[1].missed = 6;
	comes(m, 1, 4, 0);
	comes_missed(m, 2, 4, 6, true);
	comes(m, 3, 4, 2);
	says(m, -ENODATA);
	tracemap_merge_free(m);
	feed_free(a);
}

/* ---- Failure, the end, and the rest ---- */

static void a_failure_is_told_and_the_others_go_on(void)
{
	struct feed *a = feed_new(5), *b = feed_new(6);
	struct pair p;

	pair_open(&p, DELAY);
	feed_add(a, p.m);
	feed_add(b, p.m);
	a->end = -EIO;
	b->end = -EIO;
	feed_event(a, 12);
	feed_event(b, 12);
	pipe_events(&p.a, 10, 10, 2);
	pipe_events(&p.b, 11, 10, 2);
	pipe_end(&p.a);
	pipe_end(&p.b);
	comes(p.m, 10, 0, 0);
	comes(p.m, 11, 1, 0);
	check(tracemap_merge_failed_cpu(p.m) == -1);
	for (int i = 0, sum = 0; i < 2; i++) {
		struct tracemap_record rec;

		check(tracemap_merge_next(p.m, &rec) == 1);
		check(rec.ts == 12);
		says(p.m, -EIO);
		sum += tracemap_merge_failed_cpu(p.m);
		check(!i || sum == 11);
	}
	comes(p.m, 20, 0, 1);
	comes(p.m, 21, 1, 1);
	check(a->asked == 2);
	says(p.m, -ENODATA);
	pair_close(&p);
	feed_free(a);
	feed_free(b);
}

static void of_several_failures_each_is_told(void)
{
	struct feed *f[3];
	struct tracemap_merge *m = merge_with_delay(DELAY);
	int told = 0;

	for (int i = 0; i < 3; i++) {
		f[i] = feed_new(i);
		f[i]->end = -EIO - i;
		feed_add(f[i], m);
	}
	for (int i = 0; i < 3; i++) {
		struct tracemap_record rec;
		int ret = tracemap_merge_next(m, &rec);
		int cpu = tracemap_merge_failed_cpu(m);

		check(ret == -EIO - cpu);
		told |= 1 << cpu;
	}
	check(told == 7);
	says(m, -ENODATA);
	tracemap_merge_free(m);
	for (int i = 0; i < 3; i++)
		feed_free(f[i]);
}

static void a_source_that_is_damaged_has_failed(void)
{
	struct feed *f = feed_new(3);
	struct pair p;

	pair_open(&p, 0);
	feed_add(f, p.m);
	f->end = -EBADMSG;
	pipe_event_at(&p.a, 10);
	pipe_end(&p.a);
	pipe_end(&p.b);
	says(p.m, -EBADMSG);
	comes(p.m, 10, 0, 0);
	says(p.m, -ENODATA);
	check(f->asked == 1);
	pair_close(&p);
	feed_free(f);
}

static void a_signal_ends_no_source(void)
{
	struct feed *f = feed_new(3);
	struct pair p;

	pair_open(&p, 0);
	feed_add(f, p.m);
	f->end = -EINTR;
	pipe_end(&p.a);
	pipe_end(&p.b);
	says(p.m, -EINTR);
	check(f->asked == 1);
	f->end = -ENODATA;
	says(p.m, -ENODATA);
	check(f->asked == 2);
	pair_close(&p);
	feed_free(f);
}

static void behind_a_damaged_sub_buffer_it_goes_on(void)
{
	struct pipe c;
	struct pair p;

	pair_open(&p, 0);
	pipe_open(&c, 2);
	check(!tracemap_merge_add_cpu(p.m, c.cpu));
	pipe_begin(&p.a, 10);
	pipe_event(&p.a, 10, 8);
	make_word(&p.a.make, 0);	/* type 0, and no length */
	make_word(&p.a.make, 0);
	pipe_send(&p.a, 0);
	pipe_event_at(&p.a, 12);
	pipe_events(&p.b, 5, 10, 3);
	pipe_end(&p.a);
	pipe_end(&p.b);
	comes(p.m, 5, 1, 0);
	comes(p.m, 10, 0, 0);
	says(p.m, -EBADMSG);
	check(tracemap_merge_failed_cpu(p.m) == 0);
	comes(p.m, 12, 0, 1);
	comes(p.m, 15, 1, 1);
	comes(p.m, 25, 1, 2);
	pipe_end(&c);
	says(p.m, -ENODATA);
	pair_close(&p);
	pipe_close(&c);
}

static void nothing_added_is_the_end(void)
{
	struct tracemap_merge *m;

	check(!tracemap_merge_new(&m, NULL));
	says(m, -ENODATA);
	check(tracemap_merge_failed_cpu(m) == -1);
	tracemap_merge_free(m);
	tracemap_merge_free(NULL);
}

static void the_delay_is_ten_ms_without_an_index(void)
{
	struct tracemap_merge *m;
	struct pipe a, b;

	pipe_open(&a, 0);
	pipe_open(&b, 1);
	check(!tracemap_merge_new(&m, NULL));
	check(!tracemap_merge_add_cpu(m, a.cpu));
	check(!tracemap_merge_add_cpu(m, b.cpu));
	pipe_event_at(&a, 1);
	says(m, 0);
	check(tracemap_merge_timeout(m, -1) == 10);
	tracemap_merge_free(m);
	pipe_close(&a);
	pipe_close(&b);
}

/* As if their buffers had a live index, when the merge looks whether they have. */
static void add_with_index(struct tracemap_merge *m, struct tracemap_cpu *cpus[2])
{
	const struct backend *backend = cpus[0]->backend;
	struct trace_live_index index;
	int i;

	for (i = 0; i < 2; i++) {
		cpus[i]->backend = &tracemap__backend_map;
		cpus[i]->map.live.index = &index;
		check(!tracemap_merge_add_cpu(m, cpus[i]));
	}
	for (i = 0; i < 2; i++) {
		cpus[i]->backend = backend;
		cpus[i]->map.live.index = NULL;
	}
}

/* Two waits in a row are as short as the delay is; then one ends in each 10 ms. */
static void in_a_row_a_hundred_waits_end_in_a_second(void)
{
	struct tracemap_merge *m;
	struct tracemap_record rec;
	struct pipe a, b;
	uint64_t began;
	int i, ms, wait;

	pipe_open(&a, 0);
	pipe_open(&b, 1);
	check(!tracemap_merge_new(&m, NULL));
	add_with_index(m, (struct tracemap_cpu *[]){ a.cpu, b.cpu });
	for (i = 0; i < 100; i++) {
		began = sim_ns;
		pipe_event_at(&a, 1 + i);
		while (tracemap_merge_next(m, &rec) == 0) {
			ms = tracemap_merge_timeout(m, -1);
			/* It may be woken before, and a look takes its time. */
			sim_ns += i % 2 && ms > 1 ? 999000 : ms * 1000000;
		}
		check(rec.ts == 1U + i && !(rec.flags & TRACEMAP_LATE));
		wait = (sim_ns - began) / 1000000;
		check(i < 2 ? wait <= 2 : wait >= 7 && wait <= 14);
		sim_step = i > 50 ? 150000 + i * 1000 : 0;
	}
	sim_step = 0;
	sim_ns += 1000000000;
	pipe_event_at(&a, 1000);
	says(m, 0);
	check(tracemap_merge_timeout(m, -1) == 1);
	tracemap_merge_free(m);
	pipe_close(&a);
	pipe_close(&b);
}

static void options_of_other_versions(void)
{
	struct {
		struct tracemap_merge_options known;
		uint64_t more;
	} later = { .known = { .size = sizeof(later), .delay_ns = DELAY } };
	struct tracemap_merge *m;

	check(!tracemap_merge_new(&m, &later.known));
	tracemap_merge_free(m);
	later.more = 1;
	check(tracemap_merge_new(&m, &later.known) == -E2BIG);
	later.known.size = sizeof(later.known.size);
	check(tracemap_merge_new(&m, &later.known) == -EINVAL);
}

static void sources_of_other_versions(void)
{
	struct tracemap_merge *m = merge_with_delay(0);
	struct feed *f = feed_new(3);
	struct {
		struct tracemap_source known;
		uint64_t more;
	} later = { .known = { sizeof(later), 3, f, feed_next, feed_release } };

	later.more = 1;
	check(tracemap_merge_add_source(m, &later.known) == -E2BIG);
	later.more = 0;
	check(!tracemap_merge_add_source(m, &later.known));
	later.known.size = offsetof(struct tracemap_source, release);
	check(tracemap_merge_add_source(m, &later.known) == -EINVAL);
	later.known.size = 0;
	check(tracemap_merge_add_source(m, &later.known) == -EINVAL);
	feed_event(f, 10);
	comes(m, 10, 3, 0);
	says(m, 0);
	tracemap_merge_free(m);
	feed_free(f);
}

static void a_cpu_is_added_once(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	check(tracemap_merge_add_cpu(p.m, p.a.cpu) == -EEXIST);
	pipe_event_at(&p.a, 1);
	pipe_end(&p.a);
	pipe_end(&p.b);
	comes(p.m, 1, 0, 0);
	says(p.m, -ENODATA);
	pair_close(&p);
}

static void one_added_later_takes_part_at_once(void)
{
	struct pipe c, idle;
	struct pair p;

	pair_open(&p, 0);
	pipe_open(&idle, 3);
	pipe_open(&c, 2);
	check(!tracemap_merge_add_cpu(p.m, idle.cpu));
	pipe_events(&p.a, 10, 10, 35);
	pipe_events(&p.b, 10, 10, 35);
	pipe_event_at(&c, 25);
	for (int i = 0; i < 4; i++)
		comes_at(p.m, 10U + i / 2 * 10);
	check(!tracemap_merge_add_cpu(p.m, c.cpu));
	comes(p.m, 25, 2, 0);
	comes_at(p.m, 30);
	pair_close(&p);
	pipe_close(&c);
	pipe_close(&idle);
}

/* Between records of the same time, one of which is the caller's meanwhile. */
static void any_number_is_added_later(void)
{
	struct tracemap_merge *m = merge_with_delay(0);
	struct pipe pipes[40];
	uint32_t seq[40] = { 0 };
	unsigned int i, nr = 0;

	for (i = 0; i < ARRAY(pipes) * 3; i++) {
		struct tracemap_record rec;

		if (nr < ARRAY(pipes)) {
			pipe_open(&pipes[nr], nr);
			pipe_events(&pipes[nr], 10, 0, 3);
			pipe_end(&pipes[nr]);
			check(!tracemap_merge_add_cpu(m, pipes[nr++].cpu));
		}
		check(tracemap_merge_next(m, &rec) == 1);
		check(rec.ts == 10 && !rec.flags);
		check(((struct body *)rec.data)->seq == seq[rec.cpu]++);
	}
	says(m, -ENODATA);
	tracemap_merge_free(m);
	for (i = 0; i < nr; i++) {
		check(seq[i] == 3);
		pipe_close(&pipes[i]);
	}
}

static void what_the_merge_holds_is_in_hand(void)
{
	struct pair p;

	pair_open(&p, DELAY);
	pipe_event_at(&p.a, 10);
	says(p.m, 0);
	check(tracemap__in_hand(p.a.cpu));
	check(!tracemap__in_hand(p.b.cpu));
	sim_ns += DELAY;
	comes(p.m, 10, 0, 0);
	says(p.m, 0);
	check(!tracemap__in_hand(p.a.cpu));
	pair_close(&p);
}

/* Go on with the CPU alone: all that the merge has not handed out, and its loss. */
static void rest_of(struct pipe *t, uint32_t seq, const uint64_t *ts, uint64_t *missed,
		    unsigned int *resets)
{
	struct tracemap_record rec;
	struct body body;

	while (tracemap_cpu_next(t->cpu, &rec) == 1) {
		*missed += rec.missed;
		*resets += !!rec.flags;
		if (!rec.data)
			continue;
		memcpy(&body, rec.data, sizeof(body));
		check(rec.ts == ts[seq]);
		check(body.seq == seq++);
	}
	check(seq == t->seq);
}

static void what_was_not_handed_out_is_put_back(void)
{
	static const uint64_t ts_a[] = { 10, 1000, 1000 + (1ULL << 40) };
	static const uint64_t ts_b[] = { 11, 1001, 1100, 1ULL << 50 };

	for (unsigned int taken = 0; taken < 9; taken++) {
		uint32_t next[2] = { 0, 0 };
		unsigned int resets = 0;
		uint64_t missed = 0;
		struct pair p;

		pair_open(&p, 0);
		pipe_begin(&p.a, 10);
		pipe_event(&p.a, 10, 8);
		make_time(&p.a.make, SUBBUF_TYPE_TIME_STAMP, 1000);
		pipe_event(&p.a, 1000, 8);
		pipe_event(&p.a, 1000 + (1ULL << 40), 120);
		pipe_send(&p.a, 0);
		p.b.reset = true;
		pipe_begin(&p.b, 11);
		pipe_event(&p.b, 11, 8);
		pipe_event(&p.b, 1001, 8);
		pipe_send(&p.b, 4);
		pipe_begin(&p.b, 1002);
		make_discarded(&p.b.make, 1, 8);
		pipe_send(&p.b, 16);
		pipe_begin(&p.b, 1100);
		pipe_event(&p.b, 1100, 8);
		pipe_send(&p.b, 64);
		pipe_event_at(&p.b, 1ULL << 50);
		for (unsigned int i = 0; i < taken; i++) {
			struct tracemap_record rec;

			if (!check(tracemap_merge_next(p.m, &rec) == 1))
				break;
			next[rec.cpu] += !!rec.data;
			missed += rec.missed;
			resets += !!rec.flags;
		}
		tracemap_merge_free(p.m);
		p.m = NULL;
		rest_of(&p.a, next[0], ts_a, &missed, &resets);
		rest_of(&p.b, next[1], ts_b, &missed, &resets);
		check(missed == 84);
		check(resets == 1);
		pair_close(&p);
	}
}

/* Its place is that of a batch that was fetched, too. */
static void a_batch_after_the_merge_has_the_rest(void)
{
	for (uint32_t taken = 1; taken < 3; taken++) {
		struct tracemap_batch *b;
		struct subbuf_record r;
		struct pair p;

		pair_open(&p, 0);
		pipe_events(&p.a, 7, 1, 30);
		pipe_begin(&p.b, 11);
		pipe_event(&p.b, 11, 8);
		pipe_send(&p.b, 0);
		pipe_begin(&p.b, 12);
		pipe_send(&p.b, 5);
		for (int i = 0; i < 5; i++)
			comes_at(p.m, 7 + i);
		if (taken == 2)
			comes(p.m, 11, 1, 0);
		tracemap_merge_free(p.m);
		p.m = NULL;
		check(tracemap_cpu_fetch(p.a.cpu, &b) == 1);
		check(b->events == 5);
		for (uint64_t ts = 12; ts < 37; ts++)
			check(tracemap_batch_next(b, &r) && r.ts == ts);
		check(!tracemap_batch_next(b, &r));
		check(tracemap_cpu_fetch(p.a.cpu, &b) == 0);
		check(tracemap_cpu_fetch(p.b.cpu, &b) == 1);
		check(b->missed == (taken == 2 ? 5 : 0));
		pair_close(&p);
	}
}

/* ---- All at once ---- */

#define MANY	200

/* What has been handed out, and what the rules make of the next record. */
struct told {
	uint64_t latest;
	uint32_t seq[MANY];
	uint64_t missed[MANY];
	unsigned int late;
	unsigned int records;
};

static void tell(struct told *told, const struct tracemap_record *rec)
{
	struct body body;

	check(!!(rec->flags & TRACEMAP_LATE) == (rec->ts < told->latest));
	if (rec->ts > told->latest)
		told->latest = rec->ts;
	else if (rec->flags & TRACEMAP_LATE)
		told->late++;
	told->missed[rec->cpu] += rec->missed;
	if (!rec->data)
		return;
	told->records++;
	memcpy(&body, rec->data, sizeof(body));
	check((int)body.cpu == rec->cpu);
	check(body.seq == told->seq[rec->cpu]);
	told->seq[rec->cpu]++;
}

/* A CPU's whole trace: bursts, so that both runs and turns are many. */
static uint64_t random_trace(struct pipe *t, unsigned int nr)
{
	uint64_t ts = sim_rand(100), missed = 0, lost = 0;

	pipe_begin(t, ts);
	while (t->seq < nr) {
		ts += sim_rand(8) ? sim_rand(4) : sim_rand(8) ? sim_rand(200) : 1U << 28;
		if (!sim_rand(20) && make_discarded(&t->make, 1, 4 * sim_rand(5)))
			ts++;
		if (!sim_rand(20))
			make_time(&t->make, SUBBUF_TYPE_TIME_STAMP, ts);
		while (!pipe_event(t, ts, 8 + 4 * sim_rand(sim_rand(9) ? 4 : 40))) {
			pipe_send(t, lost);
			lost = sim_rand(4) ? 0 : 1 + sim_rand(100);
			pipe_begin(t, ts);
			/* The number needs room behind the records. */
			if (lost) {
				pipe_event(t, ts, 8);
				pipe_send(t, lost);
				missed += lost;
				lost = 0;
				pipe_begin(t, ts);
			}
		}
	}
	pipe_send(t, lost);
	pipe_end(t);
	return missed;
}

static void merge_traces(unsigned int nr_cpus, unsigned int nr_events)
{
	struct pipe *pipes = calloc(nr_cpus, sizeof(*pipes));
	struct tracemap_merge *m = merge_with_delay(DELAY);
	struct told told = { 0 };
	struct tracemap_record rec;
	uint64_t missed[MANY];
	int ret;

	for (unsigned int i = 0; i < nr_cpus; i++) {
		pipe_open(&pipes[i], i);
		missed[i] = random_trace(&pipes[i], nr_events);
		check(!tracemap_merge_add_cpu(m, pipes[i].cpu));
	}
	while ((ret = tracemap_merge_next(m, &rec)) == 1)
		tell(&told, &rec);
	check(ret == -ENODATA);
	check(!told.late);
	for (unsigned int i = 0; i < nr_cpus; i++) {
		check(told.seq[i] == pipes[i].seq);
		check(told.missed[i] == missed[i]);
	}
	tracemap_merge_free(m);
	for (unsigned int i = 0; i < nr_cpus; i++)
		pipe_close(&pipes[i]);
	free(pipes);
}

static void whole_traces_of_any_number_of_cpus(void)
{
	static const unsigned int nr_cpus[] = { 1, 2, 3, 8, 15, 16, 17, 18, 33, MANY };

	for (unsigned int i = 0; i < ARRAY(nr_cpus); i++)
		merge_traces(nr_cpus[i], 2 + 10 * scale / nr_cpus[i]);
}

/*
 * Writers that take the time first and are done later, by up to @longest.
 * Every step the reader takes what there is.
 */
struct live {
	unsigned int nr_cpus;
	unsigned int steps;
	uint64_t longest;
	bool feeds;		/* every other CPU is another source, marking or not */
	bool idle;		/* half of them never write */
};

struct writer {
	struct pipe pipe;
	struct feed *feed;
	uint64_t ts;		/* of the event under way */
	uint64_t done;		/* when it is seen */
	bool busy;
};

static bool writer_writes(const struct live *l, unsigned int i)
{
	return !l->idle || i % 4 < 2;
}

/* Its events, the first of them long under way. */
static void writer_done(struct writer *w)
{
	unsigned int nr = 1 + sim_rand(sim_rand(2) ? 3 : 30), i;

	if (!w->feed)
		pipe_begin(&w->pipe, w->ts);
	for (i = 0; i < nr; i++) {
		uint64_t ts = w->ts + (sim_ns - w->ts) * i / nr;

		if (w->feed)
			feed_event(w->feed, ts);
		else
			check(pipe_event(&w->pipe, ts, sizeof(struct body)));
	}
	if (!w->feed)
		pipe_send(&w->pipe, 0);
	w->busy = false;
}

static void writer_step(const struct live *l, struct writer *w, unsigned int i)
{
	if (w->busy && sim_ns >= w->done)
		writer_done(w);
	if (w->busy || !writer_writes(l, i) || sim_rand(3))
		return;
	w->ts = sim_ns;
	w->done = sim_ns + (l->longest ? sim_rand(l->longest) : 0);
	w->busy = true;
}

static void writer_open(const struct live *l, struct writer *w, unsigned int i,
			struct tracemap_merge *m)
{
	pipe_open(&w->pipe, i);
	if (l->feeds && i % 2) {
		w->feed = feed_new(i);
		w->feed->marks = i % 3;
		feed_add(w->feed, m);
	} else {
		check(!tracemap_merge_add_cpu(m, w->pipe.cpu));
	}
}

static void writer_close(struct writer *w, uint32_t told)
{
	check(told == (w->feed ? w->feed->nr : w->pipe.seq));
	pipe_close(&w->pipe);
	if (w->feed)
		feed_free(w->feed);
}

/*
 * Records wait DELAY from when they are found; and for that, until those before
 * them went.
 */
static void take_all(struct tracemap_merge *m, struct told *told, uint64_t longest_wait)
{
	struct tracemap_record rec;
	int ret;

	while ((ret = tracemap_merge_next(m, &rec)) == 1) {
		tell(told, &rec);
		check(sim_ns - rec.ts <= longest_wait);
	}
	check(ret == 0);
	check(tracemap_merge_timeout(m, -1) != 0);
}

/*
 * What a CPU has behind its first record waits with it, if not from the same
 * moment. Of another source it is found only then, and one may wait for one.
 */
static uint64_t longest_wait(const struct live *l)
{
	return l->longest + (l->feeds ? 5 : 3) * DELAY + 3 * MSEC;
}

static struct told live_run(const struct live *l)
{
	struct writer *w = calloc(l->nr_cpus, sizeof(*w));
	struct tracemap_merge *m = merge_with_delay(DELAY);
	struct told told = { 0 };
	unsigned int i, step;

	for (i = 0; i < l->nr_cpus; i++)
		writer_open(l, &w[i], i, m);
	for (step = 0; step < l->steps; step++) {
		sim_ns += sim_rand(MSEC);
		for (i = 0; i < l->nr_cpus; i++)
			writer_step(l, &w[i], i);
		take_all(m, &told, longest_wait(l));
	}
	tracemap_merge_flush(m);
	take_all(m, &told, UINT64_MAX);
	tracemap_merge_free(m);
	for (i = 0; i < l->nr_cpus; i++)
		writer_close(&w[i], told.seq[i]);
	free(w);
	return told;
}

static void writers_within_the_delay_are_never_late(void)
{
	for (unsigned int i = 0; i < scale; i++) {
		struct live l = {
			.nr_cpus = 2 + sim_rand(i % 10 ? 6 : 30), .steps = 100,
			.longest = DELAY - MSEC, .idle = i & 1,
		};

		check(live_run(&l).late == 0);
	}
}

static void writers_beyond_the_delay_are_late_and_not_lost(void)
{
	unsigned int late = 0;

	for (unsigned int i = 0; i < scale; i++) {
		struct live l = {
			.nr_cpus = 2 + sim_rand(6), .steps = 100,
			.longest = 4 * DELAY, .idle = i & 1, .feeds = i & 2,
		};

		late += live_run(&l).late;
	}
	check(late > 0);
}

static void sources_of_all_kinds_in_time(void)
{
	for (unsigned int i = 0; i < scale; i++) {
		struct live l = {
			.nr_cpus = 2 + sim_rand(20), .steps = 100, .longest = 0,
			.idle = i & 1, .feeds = true,
		};

		check(live_run(&l).late == 0);
	}
}

#define TEST(name) { name, #name }

static const struct {
	void (*run)(void);
	const char *name;
} tests[] = {
	TEST(the_oldest_comes_first),
	TEST(runs_of_one_cpu_keep_their_place),
	TEST(the_ends_of_time_are_times),
	TEST(other_sources_are_merged_with_cpus),
	TEST(who_has_nothing_is_waited_for),
	TEST(an_older_one_overtakes_while_there_is_time),
	TEST(an_older_one_overtakes_at_the_last_moment),
	TEST(a_later_one_of_the_others_ends_the_wait),
	TEST(the_end_of_the_others_ends_the_wait),
	TEST(a_sub_buffer_waits_once),
	TEST(what_was_found_later_waits_longer),
	TEST(those_behind_wait_at_the_same_time),
	TEST(time_runs_during_the_turn_of_others),
	TEST(without_delay_the_others_are_asked_once_more),
	TEST(what_was_there_already_waits_no_more),
	TEST(what_was_there_waits_no_more_behind_a_loss),
	TEST(what_waits_is_read_ahead),
	TEST(a_buffer_that_fills_is_read_ahead),
	TEST(without_memory_nobody_waits),
	TEST(without_memory_nothing_is_lost),
	TEST(one_cpu_does_not_take_all_memory),
	TEST(what_was_read_ahead_is_put_back),
	TEST(damage_that_was_read_ahead_is_told_in_its_place),
	TEST(an_error_while_reading_ahead_is_told_in_its_place),
	TEST(a_delay_without_end_has_none),
	TEST(all_that_have_something_need_the_clock_once_a_batch),
	TEST(flush_waits_for_nothing),
	TEST(flush_takes_in_what_came_meanwhile),
	TEST(after_a_flush_records_wait_again),
	TEST(the_timeout_is_never_too_short),
	TEST(a_source_that_marks_is_waited_for_as_a_cpu),
	TEST(a_source_without_marks_waits_once_a_burst),
	TEST(a_record_is_released_before_the_next_is_asked_for),
	TEST(late_ones_are_told_at_once_and_marked),
	TEST(late_is_measured_by_the_latest_of_a_run),
	TEST(late_after_turns_have_changed),
	TEST(late_after_a_turn_that_had_to_wait),
	TEST(late_after_the_turn_of_another_source),
	TEST(time_that_goes_back_is_late),
	TEST(loss_is_told_in_its_place_and_once),
	TEST(loss_before_a_time_stamp_record_is_told),
	TEST(loss_without_a_record_is_told_too),
	TEST(nothing_but_padding_is_nothing),
	TEST(a_reset_is_told_once),
	TEST(what_other_sources_missed_is_told),
	TEST(a_failure_is_told_and_the_others_go_on),
	TEST(of_several_failures_each_is_told),
	TEST(a_source_that_is_damaged_has_failed),
	TEST(a_signal_ends_no_source),
	TEST(behind_a_damaged_sub_buffer_it_goes_on),
	TEST(nothing_added_is_the_end),
	TEST(the_delay_is_ten_ms_without_an_index),
	TEST(in_a_row_a_hundred_waits_end_in_a_second),
	TEST(options_of_other_versions),
	TEST(sources_of_other_versions),
	TEST(a_cpu_is_added_once),
	TEST(one_added_later_takes_part_at_once),
	TEST(any_number_is_added_later),
	TEST(what_the_merge_holds_is_in_hand),
	TEST(what_was_not_handed_out_is_put_back),
	TEST(a_batch_after_the_merge_has_the_rest),
	TEST(whole_traces_of_any_number_of_cpus),
	TEST(writers_within_the_delay_are_never_late),
	TEST(writers_beyond_the_delay_are_late_and_not_lost),
	TEST(sources_of_all_kinds_in_time),
};

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc > 1)
		scale = atoi(argv[1]);
	printf("TAP version 13\n1..%zu\n", ARRAY(tests));
	for (size_t i = 0; i < ARRAY(tests); i++) {
		sim_ns = 1000 * MSEC;
		failures = 0;
		tests[i].run();
		failed += !!failures;
		printf("%sok %zu %s\n", failures ? "not " : "", i + 1, tests[i].name);
		fflush(stdout);
	}
	return failed ? 1 : 0;
}

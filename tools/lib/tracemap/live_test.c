// SPDX-License-Identifier: LGPL-2.1
/*
 * Test live.h: observers of a simulated buffer, live_sim.h, first step by step, then all
 * at once.
 *
 * It does not test the order of memory accesses: the model of the protocol shows what each
 * barrier is needed for.
 */
#define _GNU_SOURCE
#include "live_sim.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define NR_OBSERVERS	4

static int failures;
static int scale = 1;	/* how long the test is */

static bool check_at(bool ok, const char *what, const char *func, int line)
{
	if (!ok && __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED) <= 10)
		printf("# %s:%d: not so: %s\n", func, line, what);
	return ok;
}

static int attach(struct live_observer *o, struct sim *s, enum live_start from)
{
	return live_attach(o, &s->map, from);
}

static void *writer(void *arg)
{
	struct sim *s = arg;

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		pthread_mutex_lock(&s->writers);
		for (int i = 0; i < 20; i++)
			write_some(s);
		pthread_mutex_unlock(&s->writers);
		if (chance(&s->rand, 20))
			sched_yield();
	}
	return NULL;
}

/* An observer. */

struct watcher {
	struct live_observer o;
	struct subbuf_iter it;
	struct sim *s;
	pthread_t thread;
	bool copies;		/* else in place */
	bool slow;
	bool partly;		/* does not take all of a look */
	unsigned int rand;

	uint32_t next;		/* number expected next, losses apart */
	uint64_t looks, refused, gaps, ever, untils, until_reset;
	struct live_newest newest;
	uint32_t buf[256];
};

/* What one look brought; it counts when it was accepted. */
struct found {
	uint32_t nr, first, last;
	bool mixed;
};

static uint32_t word_at(const struct subbuf_record *rec, uint32_t i)
{
	return subbuf__load_host((const unsigned char *)rec->data + 4 * i);
}

static void take_event(struct watcher *w, const struct subbuf_record *rec,
		       struct found *f)
{
	uint32_t seq = rec->size < 8 ? ~0U : word_at(rec, 0);

	if (!f->nr++)
		f->first = seq;
	else if (seq != f->last + 1)
		f->mixed = true;
	f->last = seq;
	for (uint32_t i = 1; i < rec->size / 4; i++) {
		if (word_at(rec, i) != word_of(seq, w->o.epoch, i))
			f->mixed = true;
	}
}

static struct found take_events(struct watcher *w)
{
	struct found f = { 0 };
	struct subbuf_record rec;
	uint32_t most = w->partly ? 1 + w->rand % 5 : ~0U;

	while (f.nr < most && subbuf_next(&w->it, &rec)) {
		take_event(w, &rec, &f);
		if (w->slow)
			delay(&w->rand);
	}
	return f;
}

/* Returns whether there was something, good or not. */
static bool watch_once(struct watcher *w)
{
	struct live_observer *o = &w->o;
	int ret = live_look(o, &w->it);
	struct found f;
	uint64_t gap;

	if (ret == LIVE_RESET) {
		w->next = 0;
		return true;
	}
	check(ret >= 0);
	if (ret != LIVE_EVENTS)
		return false;
	w->looks++;
	if (w->copies) {
		ret = live_copy(o, &w->it, w->buf, sizeof(w->buf));
		check(ret >= 0);
		if (!ret) {
			w->refused++;
			return true;
		}
	}
	f = take_events(w);
	gap = live_gap(o);
	ret = live_accept(o, &w->it, f.nr);
	if (!ret) {
		w->refused++;
		return true;
	}
	check(ret == 1);
	check(!f.mixed);
	w->gaps += !!gap;
	w->ever += f.nr;
	if (!f.nr) {
		w->next += gap;
		return true;
	}
	check(f.first == w->next + (uint32_t)gap);
	w->next = f.last + 1;
	check(o->first + o->seen + o->missed == o->count);
	return true;
}

/* The writer is never behind an observer, nor behind where it was. */
static void look_at_newest(struct watcher *w)
{
	struct live_newest n, *last = &w->newest;

	if (live_newest(&w->o, &n))
		return;
	if (n.epoch == w->o.epoch)
		check(n.events >= w->o.count);
	if (n.epoch == last->epoch) {
		check(n.events >= last->events);
		check(n.generation >= last->generation);
		check(n.generation != last->generation || n.bytes >= last->bytes);
	}
	*last = n;
}

/* Look up to the end. Returns the events of its epoch that were seen and missed. */
static uint64_t look_until(struct watcher *w, struct live_observer *o, struct live_until *u)
{
	/* The end may be of a later epoch: a reset came after live_attach(). */
	uint64_t told = o->epoch == u->end.epoch ? o->first : 0;
	int ret;

	while ((ret = live_look_until(o, &w->it, u)) != LIVE_END) {
		struct found f = { 0 };
		struct subbuf_record rec;
		uint64_t gap = live_gap(o);

		w->until_reset += ret == LIVE_RESET;
		if (ret != LIVE_EVENTS)
			continue;
		while (subbuf_next(&w->it, &rec))
			take_event(w, &rec, &f);
		if (live_accept(o, &w->it, f.nr) != 1)
			continue;
		check(!f.nr || f.first == (uint32_t)(told + gap));
		told += gap + f.nr;
	}
	w->until_reset += u->reset;
	return told + u->missed;
}

/* A snapshot while the writer goes on: to the event, however much is overwritten. */
static void look_until_now(struct watcher *w)
{
	struct live_observer o;
	struct live_until u;

	if (live_attach(&o, &w->s->map, LIVE_FROM_OLDEST) || live_until(&o, &u))
		return;
	if (w->slow)
		delay(&w->rand);
	check(look_until(w, &o, &u) == u.end.events);
	check(live_look_until(&o, &w->it, &u) == LIVE_END && !u.missed && !u.reset);
	w->untils++;
}

static void *watch(void *arg)
{
	struct watcher *w = arg;
	bool stop;

	w->next = w->o.first;
	w->newest.epoch = 1;	/* none yet: epochs are even */
	do {
		stop = __atomic_load_n(&w->s->stop, __ATOMIC_ACQUIRE);
		while (watch_once(w)) {
			if (w->slow && chance(&w->rand, 8))
				delay(&w->rand);
			if (chance(&w->rand, 8))
				look_at_newest(w);
			if (chance(&w->rand, 16))
				look_until_now(w);
		}
		sched_yield();
	} while (!stop);
	return NULL;
}

struct storm {
	const char *name;
	uint32_t nr, data_size;
	bool overwrite, consumer, resets;
	uint64_t generation;
};

static const struct storm storms[] = {
	{ "overwrite", 8, 256, true, false, false, 1 },
	{ "overwrite, consumer", 6, 256, true, true, false, 1 },
	{ "overwrite, consumer, resets", 6, 256, true, true, true, 1 },
	{ "tiny ring", 3, 160, true, true, true, 1 },
	{ "no overwrite", 6, 256, false, false, false, 1 },
	{ "no overwrite, consumer", 6, 256, false, true, false, 1 },
	{ "no overwrite, consumer, resets", 6, 256, false, true, true, 1 },
	{ "generations of more than 32 bits", 8, 256, true, true, true, 0xffffffe0U },
};

static void expect_figures(struct watcher *w)
{
	struct sim *s = w->s;
	struct live_figures f;
	struct live_newest n;

	if (!check(!live_figures(&w->o, &f)) ||
	    !check(!live_newest(&w->o, &n)))
		return;
	check(n.epoch == w->o.epoch);
	check(n.events == w->o.count);
	check(n.generation == s->index->commit_generation);
	check(n.bytes == subbuf_committed(&s->f, subbuf_of(s, s->commit)));
	check(f.epoch == w->o.epoch);
	check(f.committed == entry_of(s, s->commit)->before);
	check(f.committed + s->entries[s->commit] == w->o.count);
	check(f.dropped == s->dropped);
	check(f.consumed == s->consumed);
	check(f.overwritten <= s->overwritten);
	check(f.nr_subbufs == s->nr);
}

static void say_what_it_saw(const char *storm, int nr, const struct watcher *w)
{
	printf("# %s: observer %d: events %llu, looks %llu, refused %llu, gaps %llu\n",
	       storm, nr, (unsigned long long)w->ever,
	       (unsigned long long)w->looks, (unsigned long long)w->refused,
	       (unsigned long long)w->gaps);
	printf("# in the last epoch: seen %llu, missed %llu; resets %llu; snapshots %llu, emptied %llu\n",
	       (unsigned long long)w->o.seen, (unsigned long long)w->o.missed,
	       (unsigned long long)w->o.resets, (unsigned long long)w->untils,
	       (unsigned long long)w->until_reset);
}

static void run_storm(const struct storm *p)
{
	struct sim *s = sim_new(p->nr, p->data_size, p->overwrite, p->generation);
	struct watcher w[NR_OBSERVERS] = { 0 };
	unsigned int rand = 7;
	pthread_t thread;

	for (int i = 0; i < NR_OBSERVERS; i++) {
		w[i].s = s;
		w[i].rand = i;
		w[i].copies = i & 1;
		w[i].slow = i & 2;
		w[i].partly = i == 3;
		check(!attach(&w[i].o, s, i == 2 ? LIVE_FROM_NOW : LIVE_FROM_OLDEST));
		pthread_create(&w[i].thread, NULL, watch, &w[i]);
	}
	pthread_create(&thread, NULL, writer, s);
	for (int i = 0; i < 400 * scale; i++) {
		struct timespec ts = { 0, 500000 };

		nanosleep(&ts, NULL);
		for (int j = 0; p->consumer && j < (p->overwrite ? 1 : 8); j++)
			consume(s);
		if (p->resets && chance(&rand, 20))
			reset(s);
	}
	__atomic_store_n(&s->stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	for (int i = 0; i < NR_OBSERVERS; i++) {
		struct watcher *x = &w[i];

		pthread_join(x->thread, NULL);
		while (watch_once(x))	/* the last events */
			;
		check(x->o.count == s->seq);
		check(x->o.first + x->o.seen + x->o.missed == s->seq);
		check(x->ever > 0 && (x->untils || x->ever < 1000));
		check(!p->resets || x->o.resets);
		if (x->ever)
			expect_figures(x);
		say_what_it_saw(p->name, i, x);
	}
	sim_free(s);
}

/* Step by step, without threads. */

static struct sim *quiet(uint32_t nr, uint64_t generation)
{
	struct sim *s = sim_new(nr, 256, true, generation);

	s->quiet = true;
	return s;
}

static void commit(struct sim *s)
{
	while (s->commit != s->tail)
		leave(s, s->commit);
	set_commit(s, s->commit, s->write[s->commit]);
}

static void write_events(struct sim *s, unsigned int nr)
{
	while (nr--) {
		add(s, 7, true);
		commit(s);
	}
}

/* 8 events of 32 bytes fill a sub-buffer of 256. */
static void write_subbufs(struct sim *s, unsigned int nr)
{
	write_events(s, 8 * nr);
}

static void watch_all(struct watcher *w)
{
	while (watch_once(w))
		;
}

static void begin(struct watcher *w, struct sim *s, enum live_start from)
{
	memset(w, 0, sizeof(*w));
	w->s = s;
	check(!attach(&w->o, s, from));
	w->next = w->o.first;
}

static void nothing_is_there(void)
{
	struct sim *s = quiet(4, 1);
	struct watcher w;

	begin(&w, s, LIVE_FROM_OLDEST);
	check(live_look(&w.o, &w.it) == LIVE_NOTHING);
	check(live_look(&w.o, &w.it) == LIVE_NOTHING);
	check(w.o.count == 0);
	begin(&w, s, LIVE_FROM_NOW);
	check(live_look(&w.o, &w.it) == LIVE_NOTHING);
	sim_free(s);
}

static void events_are_seen_at_once(void)
{
	struct sim *s = quiet(4, 1);
	struct watcher w;

	begin(&w, s, LIVE_FROM_OLDEST);
	for (int i = 1; i < 100; i++) {
		write_events(s, 1);
		watch_all(&w);
		check(w.o.seen == (uint64_t)i);
	}
	check(!w.o.missed);
	sim_free(s);
}

static void it_begins_with_the_oldest(void)
{
	for (uint32_t nr = 3; nr < MAX_SUBBUFS; nr++) {
		struct sim *s = quiet(nr, 1);
		struct watcher w;

		write_subbufs(s, 3 * nr);
		write_events(s, 3);
		begin(&w, s, LIVE_FROM_OLDEST);
		watch_all(&w);
		/* The ring without the one being written, and that. */
		check(w.o.seen == 8 * (nr - 2) + 3);
		check(w.o.first == 8 * (2 * nr + 2));
		check(!w.o.missed);
		sim_free(s);
	}
}

static void it_begins_with_now(void)
{
	struct sim *s = quiet(4, 1);
	struct watcher w;

	write_subbufs(s, 9);
	write_events(s, 3);
	begin(&w, s, LIVE_FROM_NOW);
	check(w.o.first == 75);
	check(live_look(&w.o, &w.it) == LIVE_NOTHING);
	write_events(s, 2);
	watch_all(&w);
	check(w.o.seen == 2 && !w.o.missed);
	sim_free(s);
}

static void time_goes_on_over_looks(void)
{
	struct sim *s = quiet(4, 1);
	struct watcher w;
	struct subbuf_record rec;

	begin(&w, s, LIVE_FROM_OLDEST);
	for (int i = 0; i < 50; i++) {
		write_events(s, 1);
		if (!check(live_look(&w.o, &w.it) == LIVE_EVENTS))
			break;
		if (i % 3 == 0)		/* one that is not accepted */
			subbuf_next(&w.it, &rec);
		if (i % 3 == 0 && !check(live_look(&w.o, &w.it) == LIVE_EVENTS))
			break;
		if (i % 5 == 0)
			check(live_copy(&w.o, &w.it, w.buf, sizeof(w.buf)) == 1);
		check(subbuf_next(&w.it, &rec) && rec.ts == s->clock);
		check(!subbuf_next(&w.it, &rec));
		check(live_accept(&w.o, &w.it, 1) == 1);
	}
	sim_free(s);
}

static void an_overrun_is_counted(void)
{
	struct sim *s = quiet(6, 1);
	struct watcher w;

	begin(&w, s, LIVE_FROM_OLDEST);
	write_events(s, 3);
	watch_all(&w);
	write_subbufs(s, 20);
	watch_all(&w);
	check(w.o.count == 163);
	check(w.o.missed == 163 - 3 - (8 * 4 + 3));
	check(w.gaps == 1);
	sim_free(s);
}

/* What is read while it is overwritten is refused, in place and in the copy. */
static void an_overwritten_look_is_refused(void)
{
	struct sim *s = quiet(4, 1);
	struct watcher w;
	struct subbuf_record rec;

	write_subbufs(s, 2);
	begin(&w, s, LIVE_FROM_OLDEST);
	check(live_look(&w.o, &w.it) == LIVE_EVENTS);
	check(live_check(&w.o));
	check(subbuf_next(&w.it, &rec));
	write_subbufs(s, 3);
	check(!live_check(&w.o));
	check(!live_accept(&w.o, &w.it, 1));
	check(w.o.seen == 0);
	check(live_look(&w.o, &w.it) == LIVE_EVENTS);
	write_subbufs(s, 3);
	check(!live_copy(&w.o, &w.it, w.buf, sizeof(w.buf)));
	check(live_look(&w.o, &w.it) == LIVE_EVENTS);
	check(live_copy(&w.o, &w.it, w.buf, sizeof(w.buf)) == 1);
	write_subbufs(s, 3);
	check(live_check(&w.o));	/* the copy stays good */
	check(subbuf_next(&w.it, &rec));
	check(live_accept(&w.o, &w.it, 1) == 1);
	w.next = w.o.count;
	watch_all(&w);
	check(w.o.count == s->seq);
	sim_free(s);
}

/* The tail is there, the commit is not: the bytes change all the same. */
static void the_tail_overwrites_before_the_commit_comes(void)
{
	struct sim *s = quiet(4, 1);
	struct watcher w;
	struct subbuf_record rec;

	write_subbufs(s, 3);	/* all of the ring, the next one is the oldest */
	begin(&w, s, LIVE_FROM_OLDEST);
	check(live_look(&w.o, &w.it) == LIVE_EVENTS);
	check(subbuf_next(&w.it, &rec));
	add(s, 7, true);	/* on the oldest; not committed */
	check(!live_accept(&w.o, &w.it, 1));
	commit(s);
	watch_all(&w);
	check(w.o.missed == 8 && w.o.count == 25);
	sim_free(s);
}

/* Not final at the look, final at the check: it is looked at again. */
static void a_look_the_writer_finishes_is_repeated(void)
{
	struct sim *s = quiet(4, 1);
	struct watcher w;
	struct subbuf_record rec;

	write_events(s, 5);
	begin(&w, s, LIVE_FROM_OLDEST);
	check(live_look(&w.o, &w.it) == LIVE_EVENTS);
	check(subbuf_next(&w.it, &rec));
	write_events(s, 4);
	check(!live_accept(&w.o, &w.it, 1));
	watch_all(&w);
	check(w.o.seen == 9 && !w.o.missed);
	sim_free(s);
}

/* The commit word counts the padding, the final size does not. */
static void padding_may_be_taken_early(void)
{
	struct sim *s = quiet(4, 1);
	struct watcher w;

	for (int i = 0; i < 6; i++)
		add(s, 9, true);
	commit(s);
	begin(&w, s, LIVE_FROM_OLDEST);
	pad(s, s->tail);
	commit(s);
	watch_all(&w);
	check(w.o.pos == 256);
	write_events(s, 1);
	watch_all(&w);
	check(w.o.seen == 7 && !w.o.missed);
	sim_free(s);
}

static void only_a_part_is_taken(void)
{
	struct sim *s = quiet(4, 1);
	struct watcher w;

	write_subbufs(s, 2);
	begin(&w, s, LIVE_FROM_OLDEST);
	w.partly = true;
	watch_all(&w);
	check(w.o.seen == 16);
	check(w.looks > 4);
	sim_free(s);
}

static void recycled_sub_buffers_are_read_to_their_end(void)
{
	struct sim *s = quiet(6, 1);
	struct watcher w;

	begin(&w, s, LIVE_FROM_OLDEST);
	write_subbufs(s, 3);
	write_events(s, 1);
	for (int i = 0; i < 5; i++)
		consume(s);
	/* Three sub-buffers were consumed, their headers are gone. */
	watch_all(&w);
	check(w.o.seen == 25 && !w.o.missed);
	sim_free(s);
}

static void a_reset_is_told(void)
{
	struct sim *s = quiet(6, 1);
	struct watcher w;

	write_subbufs(s, 3);
	begin(&w, s, LIVE_FROM_OLDEST);
	watch_all(&w);
	reset(s);
	check(live_look(&w.o, &w.it) == LIVE_RESET);
	check(live_look(&w.o, &w.it) == LIVE_NOTHING);
	check(!w.o.count && !w.o.seen && !w.o.missed && !w.o.first);
	w.next = 0;
	write_subbufs(s, 20);
	watch_all(&w);
	check(w.o.count == 160);
	check(w.o.resets == 1);
	/* In the middle of a look. */
	write_events(s, 1);
	check(live_look(&w.o, &w.it) == LIVE_EVENTS);
	reset(s);
	check(!live_accept(&w.o, &w.it, 0));
	check(live_look(&w.o, &w.it) == LIVE_RESET);
	sim_free(s);
}

static void a_reset_under_way_is_waited_for(void)
{
	struct sim *s = quiet(6, 1);
	struct watcher w;

	write_subbufs(s, 2);
	begin(&w, s, LIVE_FROM_OLDEST);
	store64(&s->index->epoch, 1);
	check(live_look(&w.o, &w.it) == LIVE_NOTHING);
	check(attach(&w.o, s, LIVE_FROM_OLDEST) == -EAGAIN);
	store64(&s->index->epoch, 0);
	check(!attach(&w.o, s, LIVE_FROM_OLDEST));
	sim_free(s);
}

/* An observer that is in the new epoch must not have the counts of the old one. */
static void a_reset_that_begins_in_a_jump_leads_nowhere(void)
{
	struct sim *s = quiet(6, 1);
	struct watcher w;
	uint64_t at;

	write_subbufs(s, 2);
	begin(&w, s, LIVE_FROM_OLDEST);
	watch_all(&w);
	at = w.o.generation;
	reset(s);
	live__jump(&w.o);
	check(w.o.generation == at && w.o.count == 16 && !w.o.missed);
	check(live_look(&w.o, &w.it) == LIVE_RESET);
	sim_free(s);
}

/* The next look up to the end. Returns the events that it shows; -1 for the end. */
static int until_next(struct watcher *w, struct live_until *u)
{
	struct subbuf_record rec;
	int nr = 0, ret = live_look_until(&w->o, &w->it, u);

	if (ret != LIVE_EVENTS)
		return ret == LIVE_END ? -1 : -2;
	while (subbuf_next(&w->it, &rec))
		nr++;
	check(live_accept(&w->o, &w->it, nr) == 1);
	return nr;
}

static bool at_end(struct watcher *w, struct live_until *u, uint64_t missed, bool reset)
{
	return until_next(w, u) == -1 && u->missed == missed && u->reset == reset &&
	       until_next(w, u) == -1 && !u->missed && !u->reset;
}

static void an_end_is_kept_though_the_writer_goes_on(void)
{
	struct sim *s = quiet(6, 1);
	struct live_until u;
	struct watcher w;

	write_events(s, 19);
	begin(&w, s, LIVE_FROM_OLDEST);
	check(!live_until(&w.o, &u) && u.end.events == 19);
	write_events(s, 2);
	check(until_next(&w, &u) == 8);
	write_events(s, 3);
	check(until_next(&w, &u) == 8 && until_next(&w, &u) == 3);
	check(at_end(&w, &u, 0, false));
	write_subbufs(s, 1);
	check(at_end(&w, &u, 0, false));
	/* On behind it, and to the next end, which is where a sub-buffer ends. */
	check(!live_until(&w.o, &u) && u.end.events == 32);
	write_events(s, 1);
	check(until_next(&w, &u) == 5 && until_next(&w, &u) == 8 && at_end(&w, &u, 0, false));
	w.next = 32;
	watch_all(&w);
	check(w.o.count == 33 && !w.o.missed);
	sim_free(s);
}

static void nothing_is_before_an_end(void)
{
	struct sim *s = quiet(6, 1);
	struct live_until u;
	struct watcher w;

	begin(&w, s, LIVE_FROM_OLDEST);
	check(!live_until(&w.o, &u));
	write_subbufs(s, 9);
	check(at_end(&w, &u, 0, false));
	begin(&w, s, LIVE_FROM_NOW);
	check(!live_until(&w.o, &u) && at_end(&w, &u, 0, false));
	sim_free(s);
}

/* Only what was before the end counts, and only what was there when the observer came. */
static void what_is_overwritten_before_an_end_is_missed(void)
{
	for (int seen = 0; seen < 4; seen++) {
		struct sim *s = quiet(6, 1);
		struct live_until u;
		struct watcher w;

		write_subbufs(s, 20);
		write_events(s, 3);
		begin(&w, s, LIVE_FROM_OLDEST);
		check(w.o.first == 128 && !live_until(&w.o, &u));
		for (int i = 0; i < seen; i++)
			check(until_next(&w, &u) == 8);
		write_subbufs(s, 20);
		check(at_end(&w, &u, 35 - 8 * seen, false));
		/* An observer that goes on is told what is missed behind the end. */
		w.next = 163;
		watch_all(&w);
		check(w.o.first + w.o.seen + w.o.missed == 323 && w.gaps == 1);
		sim_free(s);
	}
}

static void some_is_overwritten_before_an_end(void)
{
	struct sim *s = quiet(6, 1);
	struct live_until u;
	struct watcher w;

	write_subbufs(s, 20);
	write_events(s, 3);
	begin(&w, s, LIVE_FROM_OLDEST);
	check(!live_until(&w.o, &u));
	write_subbufs(s, 2);
	check(live_look_until(&w.o, &w.it, &u) == LIVE_EVENTS && live_gap(&w.o) == 16);
	check(until_next(&w, &u) == 8 && until_next(&w, &u) == 8 && until_next(&w, &u) == 3);
	check(at_end(&w, &u, 0, false));
	sim_free(s);
}

static void an_end_is_not_beyond_a_reset(void)
{
	struct sim *s = quiet(6, 1);
	struct live_until u;
	struct watcher w;

	write_subbufs(s, 3);
	begin(&w, s, LIVE_FROM_OLDEST);
	reset(s);
	write_events(s, 5);
	check(!live_until(&w.o, &u));
	check(live_look_until(&w.o, &w.it, &u) == LIVE_RESET && until_next(&w, &u) == 5);
	check(at_end(&w, &u, 0, false));
	write_events(s, 4);
	check(!live_until(&w.o, &u) && until_next(&w, &u) == 3);
	reset(s);
	write_subbufs(s, 3);
	check(at_end(&w, &u, 1, true));
	/* Two of them, and the end was between. */
	begin(&w, s, LIVE_FROM_OLDEST);
	reset(s);
	write_events(s, 7);
	check(!live_until(&w.o, &u));
	reset(s);
	check(at_end(&w, &u, 7, true));
	/* And one right behind a sub-buffer that is empty. */
	begin(&w, s, LIVE_FROM_OLDEST);
	reset(s);
	check(!live_until(&w.o, &u));
	check(live_look_until(&w.o, &w.it, &u) == LIVE_RESET && at_end(&w, &u, 0, false));
	sim_free(s);
}

static uint32_t used_by(const struct sim *s, const struct live_observer *o, uint32_t used)
{
	struct live_figures f;

	store(&s->index->used, used);
	check(!live_figures(o, &f));
	return f.used;
}

/* What the writer has said may be more than is left of it since. */
static void figures_are_of_what_is_left(void)
{
	struct sim *s = quiet(6, 1);
	struct live_figures f;
	struct watcher w;

	write_subbufs(s, 3);
	write_events(s, 1);
	begin(&w, s, LIVE_FROM_OLDEST);
	store64(&s->index->dropped, 3);
	store64(&s->index->commit_overrun, 40);
	check(!live_figures(&w.o, &f) && f.dropped == 43 && f.committed == 24);
	consume(s);
	consume(s);	/* the second is the reader's: there are it, the third, the writer's */
	check(used_by(s, &w.o, 1) == 2 && used_by(s, &w.o, 2) == 3);
	check(used_by(s, &w.o, 5) == 3);
	store(&s->index->reader_read, s->data_size);
	check(used_by(s, &w.o, 5) == 2 && used_by(s, &w.o, 0) == 0);
	consume(s);
	consume(s);
	check(used_by(s, &w.o, 5) == 0);
	store(&s->index->reader_read, 0);
	check(used_by(s, &w.o, 5) == 1);
	sim_free(s);
}

/* Stopped for so long that another lower half of the generation is there again. */
static void a_very_long_stop_is_an_overrun(void)
{
	static const uint64_t laps[] = {
		100, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x100000001,
	};

	for (size_t i = 0; i < ARRAY_SIZE(laps); i++) {
		struct sim *s = quiet(6, 1);
		struct watcher w;

		write_events(s, 3);
		begin(&w, s, LIVE_FROM_OLDEST);
		watch_all(&w);
		entry_of(s, 1)->generation += laps[i];
		entry_of(s, 1)->before += 8 * laps[i];
		s->index->commit_generation += laps[i];
		write_events(s, 2);
		while (live_look(&w.o, &w.it) == LIVE_EVENTS) {
			struct subbuf_record rec;
			uint32_t nr = 0;

			while (subbuf_next(&w.it, &rec))
				nr++;
			check(live_accept(&w.o, &w.it, nr) == 1);
		}
		/* 5 are on the sub-buffer, 3 of them passed for the second time */
		check(w.o.count == 8 * laps[i] + 5);
		check(w.o.missed == 8 * laps[i] - 3);
		sim_free(s);
	}
}

/* In whatever order they are; what is not committed to yet is not there. */
static void the_oldest_is_found_anywhere(void)
{
	struct sim *s = quiet(MAX_SUBBUFS, 1);
	struct live_observer o;
	uint64_t generation;
	uint32_t i, id;

	check(!attach(&o, s, LIVE_FROM_OLDEST));
	for (i = 0; i < s->nr; i++)
		entry_of(s, (i * 37 + 5) % s->nr)->generation = 100 + i;
	for (i = 0; i < s->nr; i++) {
		id = live__find_above(&o, 99 + i, 170, &generation);
		check(id == (i * 37 + 5) % s->nr || 100 + i > 163);
		check(generation == 100 + i);
	}
	check(live__find_above(&o, 163, 170, &generation) == s->nr);
	check(live__find_above(&o, 0, 99, &generation) == s->nr);
	check(live__find_above(&o, 0, 101, &generation) == 5 && generation == 100);
	entry_of(s, 5)->generation = 0;
	check(live__find_above(&o, 0, 101, &generation) == 42 && generation == 101);
	sim_free(s);
}

/* A writer that is at the oldest as soon as it is found: each jump aims further. */
static void a_jump_gets_ahead_of_a_quick_writer(void)
{
	struct sim *s = quiet(MAX_SUBBUFS, 1);
	struct watcher w;
	uint64_t last = 0;

	write_subbufs(s, 2 * s->nr);
	begin(&w, s, LIVE_FROM_OLDEST);
	write_subbufs(s, 3);
	for (int i = 0; i < 2 * LIVE_RUSH; i++) {
		live__jump(&w.o);
		check(w.o.generation > last);
		check(w.o.rushed <= LIVE_RUSH);
		last = w.o.generation;
		if (i > 7)
			check(last == s->index->commit_generation);
		write_subbufs(s, 1);
	}
	watch_all(&w);
	check(w.o.rushed == 0);
	check(w.o.count == s->seq && w.o.first + w.o.seen + w.o.missed == s->seq);
	sim_free(s);
}

/* The reader's was consumed long ago: it is the oldest, and then there is a gap. */
static void what_the_reader_has_is_shown_first(void)
{
	struct sim *s = quiet(6, 1);
	struct watcher w;

	write_subbufs(s, 2);
	consume(s);	/* the first sub-buffer is the reader's now */
	write_subbufs(s, 20);
	begin(&w, s, LIVE_FROM_OLDEST);
	check(w.o.first == 0 && w.o.generation == 1);
	watch_all(&w);
	check(w.gaps == 1);
	check(w.o.count == 176 && w.o.seen + w.o.missed == 176);
	check(w.o.seen == 8 + 8 * 5);
	sim_free(s);
}

/* A snapshot has no gap from before it was asked for, so it begins behind that one. */
static void an_old_reader_is_no_part_of_a_snapshot(void)
{
	struct sim *s = quiet(6, 1);
	struct live_until u;
	struct watcher w;

	write_subbufs(s, 2);
	consume(s);
	begin(&w, s, LIVE_FROM_OLDEST);
	live__leave_old_reader(&w.o);
	check(w.o.first == 0 && w.o.generation == 1);	/* the ring goes on from there */
	write_subbufs(s, 20);
	begin(&w, s, LIVE_FROM_OLDEST);
	live__leave_old_reader(&w.o);
	w.next = w.o.first;
	check(w.o.first == 176 - 8 * 5 && w.o.generation > 2 && !w.o.missed);
	check(!live_until(&w.o, &u));
	for (int i = 0; i < 5; i++)
		check(until_next(&w, &u) == 8);
	check(at_end(&w, &u, 0, false) && w.o.seen == 8 * 5 && !w.gaps);
	live__leave_old_reader(&w.o);	/* what it has begun it goes on with */
	check(w.o.seen == 8 * 5 && w.o.first == 176 - 8 * 5);
	sim_free(s);
}

/* A reset that is done before a sub-buffer of the new epoch is found. */
static void a_reset_leaves_the_observer_nowhere(void)
{
	struct sim *s = quiet(6, 1);
	struct watcher w;

	write_subbufs(s, 13);	/* each has been left, and has a size */
	begin(&w, s, LIVE_FROM_OLDEST);
	watch_all(&w);
	reset(s);
	store64(&entry_of(s, s->commit)->generation, 0);
	check(live_look(&w.o, &w.it) == LIVE_RESET);
	check(w.o.generation == 0);
	check(live_look(&w.o, &w.it) == LIVE_NOTHING);
	store64(&entry_of(s, s->commit)->generation, s->index->commit_generation);
	w.next = 0;
	write_events(s, 3);
	watch_all(&w);
	check(w.o.seen == 3 && w.o.count == 3);
	sim_free(s);
}

static void damage_is_told(void)
{
	struct sim *s = quiet(6, 1);
	struct subbuf_record rec;
	struct watcher w;
	uint32_t nr = 0;

	write_subbufs(s, 2);
	put(s, 1, 64, 28);	/* the third event reaches past those behind it */
	put(s, 1, 64 + 4 * 29, 28);
	put(s, 1, 64 + 8 * 29, 28);
	begin(&w, s, LIVE_FROM_OLDEST);
	check(live_look(&w.o, &w.it) == LIVE_EVENTS);
	while (subbuf_next(&w.it, &rec))
		nr++;
	check(w.it.corrupt);
	check(nr < 8);
	check(live_accept(&w.o, &w.it, nr) == -EBADMSG);
	check(live_look(&w.o, &w.it) == LIVE_EVENTS);
	check(live_gap(&w.o) == 8 - nr);
	check(w.o.missed == 8 - nr);
	sim_free(s);
}

/* One word of the index says what cannot be. */
struct wrong {
	size_t offset;
	uint64_t value;
};

#define WRONG(member, value)	{ offsetof(struct trace_live_index, member), value }

static const struct wrong wrongs[] = {
	WRONG(struct_len, 191), WRONG(entry_size, 24), WRONG(entry_size, 36),
	WRONG(entry_size, 0), WRONG(entry_size, ~0U), WRONG(entries_offset, ~7ULL),
	WRONG(entries_offset, 128), WRONG(entries_offset, 196),
	WRONG(subbufs_offset, ~7ULL), WRONG(subbufs_offset, 0),
	WRONG(subbufs_offset, 192 + 4 * 32 + 8), WRONG(nr_subbufs, 0),
	WRONG(nr_subbufs, 5), WRONG(nr_subbufs, ~0U), WRONG(subbuf_size, 276),
	WRONG(subbuf_size, 16), WRONG(subbuf_size, 0), WRONG(subbuf_size, ~3U),
	WRONG(subbuf_size, 270), WRONG(data_offset, 4), WRONG(data_offset, 0),
	WRONG(data_offset, ~3U), WRONG(data_offset, 18), WRONG(commit_offset, 12),
	WRONG(commit_offset, ~3U), WRONG(commit_offset, 4), WRONG(commit_size, 0),
	WRONG(commit_size, 16),
};

/* Of those that are tried, these have 64 bits. */
static bool is_wide(const struct wrong *wrong)
{
	return wrong->offset == offsetof(struct trace_live_index, entries_offset) ||
	       wrong->offset == offsetof(struct trace_live_index, subbufs_offset);
}

static void an_index_that_cannot_be_is_refused(void)
{
	struct sim *s = quiet(4, 1);
	struct live_mapping part = s->map;
	struct live_observer o;

	for (size_t i = 0; i < ARRAY_SIZE(wrongs); i++) {
		char *at = (char *)s->index + wrongs[i].offset;
		uint64_t was = is_wide(&wrongs[i]) ? *(__u64 *)at : *(__u32 *)at;

		if (is_wide(&wrongs[i]))
			*(__u64 *)at = wrongs[i].value;
		else
			*(__u32 *)at = wrongs[i].value;
		if (!check(attach(&o, s, LIVE_FROM_OLDEST) == -EINVAL))
			printf("# %zu: %llu\n", i, (unsigned long long)wrongs[i].value);
		if (is_wide(&wrongs[i]))
			*(__u64 *)at = was;
		else
			*(__u32 *)at = was;
	}
	part.size--;
	check(live_attach(&o, &part, LIVE_FROM_OLDEST) == -EINVAL);
	part.size = sizeof(*s->index) - 1;
	check(live_attach(&o, &part, LIVE_FROM_OLDEST) == -EINVAL);
	check(!attach(&o, s, LIVE_FROM_OLDEST));
	sim_free(s);
}

/* Whatever an entry says, nothing outside is read. */
static void an_entry_that_cannot_be_is_refused(void)
{
	struct sim *s = quiet(4, 1);
	struct live_observer o;
	struct watcher w;

	write_subbufs(s, 2);
	begin(&w, s, LIVE_FROM_OLDEST);
	entry_of(s, 1)->size = 257 + 3;
	check(live_look(&w.o, &w.it) == -EPROTO);
	entry_of(s, 1)->size = 0;
	entry_of(s, 1)->next_id = 4;
	check(live_look(&w.o, &w.it) == -EPROTO);
	entry_of(s, 1)->next_id = 0;	/* there is another generation */
	check(live_look(&w.o, &w.it) >= 0);
	s->index->commit_id = 77;
	check(attach(&o, s, LIVE_FROM_NOW) == -EAGAIN);
	sim_free(s);
}

/* Random words in the index: any answer will do, but nothing is touched. */
static void random_indexes_do_no_harm(void)
{
	struct sim *s = quiet(4, 1);
	unsigned int rand = 1;

	for (int round = 0; round < 20000 * scale; round++) {
		struct live_observer o;
		struct subbuf_iter it;
		struct subbuf_record rec;
		/* What the layout is was read once and checked. */
		uint32_t *word = (uint32_t *)&s->index->epoch;
		uint32_t *end = (uint32_t *)entry_of(s, 4);

		for (; word < end; word++) {
			chance(&rand, 2);
			*word = chance(&rand, 3) ? rand : (rand >> 16) % 5;
		}
		for (word = (uint32_t *)s->subbufs; word < (uint32_t *)subbuf_of(s, 4); word++) {
			chance(&rand, 2);
			*word = rand >> (rand >> 27);
		}
		if (attach(&o, s, round & 1 ? LIVE_FROM_NOW : LIVE_FROM_OLDEST))
			continue;
		for (int i = 0; i < 8; i++) {
			if (live_look(&o, &it) != LIVE_EVENTS)
				continue;
			while (subbuf_next(&it, &rec))
				;
			live_accept(&o, &it, 1);
		}
	}
	sim_free(s);
}

static void a_position_is_what_the_kernel_wants(void)
{
	struct sim *s = quiet(4, 5);
	struct trace_live_position p;
	struct watcher w;

	write_events(s, 3);
	begin(&w, s, LIVE_FROM_OLDEST);
	watch_all(&w);
	p = live_position(&w.o, 100);
	check(p.size == 40 && p.epoch == 0 && p.generation == 5 && p.read == 96);
	check(p.flags == 0 && p.bytes == 100);
	write_subbufs(s, 1);
	watch_all(&w);
	p = live_position(&w.o, 0);
	check(p.generation == 6 && p.read == 96);
	sim_free(s);
}

#define TEST(function) { #function, function }

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	TEST(nothing_is_there),
	TEST(events_are_seen_at_once),
	TEST(it_begins_with_the_oldest),
	TEST(it_begins_with_now),
	TEST(time_goes_on_over_looks),
	TEST(an_overrun_is_counted),
	TEST(an_overwritten_look_is_refused),
	TEST(the_tail_overwrites_before_the_commit_comes),
	TEST(a_look_the_writer_finishes_is_repeated),
	TEST(padding_may_be_taken_early),
	TEST(only_a_part_is_taken),
	TEST(recycled_sub_buffers_are_read_to_their_end),
	TEST(a_reset_is_told),
	TEST(a_reset_under_way_is_waited_for),
	TEST(a_reset_that_begins_in_a_jump_leads_nowhere),
	TEST(an_end_is_kept_though_the_writer_goes_on),
	TEST(nothing_is_before_an_end),
	TEST(what_is_overwritten_before_an_end_is_missed),
	TEST(some_is_overwritten_before_an_end),
	TEST(an_end_is_not_beyond_a_reset),
	TEST(figures_are_of_what_is_left),
	TEST(a_very_long_stop_is_an_overrun),
	TEST(the_oldest_is_found_anywhere),
	TEST(a_jump_gets_ahead_of_a_quick_writer),
	TEST(what_the_reader_has_is_shown_first),
	TEST(an_old_reader_is_no_part_of_a_snapshot),
	TEST(a_reset_leaves_the_observer_nowhere),
	TEST(damage_is_told),
	TEST(an_index_that_cannot_be_is_refused),
	TEST(an_entry_that_cannot_be_is_refused),
	TEST(random_indexes_do_no_harm),
	TEST(a_position_is_what_the_kernel_wants),
};

static bool report(int nr, const char *name)
{
	printf("%sok %d %s\n", failures ? "not " : "", nr, name);
	fflush(stdout);
	return failures;
}

/* live_test [SCALE]: the threads run so many times longer. */
int main(int argc, char **argv)
{
	int nr = 0, failed = 0;

	if (argc > 1)
		scale = atoi(argv[1]);
	printf("TAP version 13\n1..%zu\n", ARRAY_SIZE(tests) + ARRAY_SIZE(storms));
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		failures = 0;
		tests[i].run();
		failed += report(++nr, tests[i].name);
	}
	for (size_t i = 0; i < ARRAY_SIZE(storms); i++) {
		failures = 0;
		run_storm(&storms[i]);
		failed += report(++nr, storms[i].name);
	}
	return failed ? 1 : 0;
}

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
#include "live_until.h"

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
	struct live_figures newest;
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
		if (word_at(rec, i) != word_of(seq, w->o.first, i))
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
	check(o->before + o->seen + o->missed == o->count);
	return true;
}

/* The writer is never behind an observer, nor behind where it was. */
static void look_at_newest(struct watcher *w)
{
	struct live_figures n, *last = &w->newest;

	if (live_figures(&w->o, &n))
		return;
	check(n.overwritten <= n.committed && n.committed <= n.events);
	check(n.used >= 1 && n.used <= n.nr_subbufs);
	if (n.first == w->o.first)
		check(n.events >= w->o.count);
	if (n.first == last->first) {
		check(n.events >= last->events);
		check(n.generation >= last->generation);
		check(n.generation != last->generation || n.bytes >= last->bytes);
	}
	*last = n;
}

/* Look up to the end. Returns the events before it that were seen and missed. */
static uint64_t look_until(struct watcher *w, struct live_observer *o, struct live_until *u)
{
	/* A reset may have come after live_attach(). */
	uint64_t told = o->first == u->end.first ? o->before : 0;
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

	w->next = w->o.before;
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

	if (!check(!live_figures(&w->o, &f)))
		return;
	check(f.first == w->o.first);
	check(f.generation == s->index->commit_generation);
	check(f.bytes == subbuf_committed(&s->f, subbuf_of(s, s->commit)));
	check(f.events == w->o.count);
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
	printf("# since it was emptied last: seen %llu, missed %llu; resets %llu; snapshots %llu, emptied %llu\n",
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
		check(x->o.before + x->o.seen + x->o.missed == s->seq);
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
	w->next = w->o.before;
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
		check(w.o.before == 8 * (2 * nr + 2));
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
	check(w.o.before == 75);
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
	check(subbuf_next(&w.it, &rec));
	write_subbufs(s, 3);
	check(!live_accept(&w.o, &w.it, 1));
	check(w.o.seen == 0);
	check(live_look(&w.o, &w.it) == LIVE_EVENTS);
	write_subbufs(s, 3);
	check(!live_copy(&w.o, &w.it, w.buf, sizeof(w.buf)));
	check(live_look(&w.o, &w.it) == LIVE_EVENTS);
	check(live_copy(&w.o, &w.it, w.buf, sizeof(w.buf)) == 1);
	write_subbufs(s, 3);
	/* The copy stays good. */
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
	check(!w.o.count && !w.o.seen && !w.o.missed && !w.o.before);
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
	store64(&s->index->first, 9);
	check(live_look(&w.o, &w.it) == LIVE_NOTHING);
	check(attach(&w.o, s, LIVE_FROM_OLDEST) == -EAGAIN);
	check(attach(&w.o, s, LIVE_FROM_NOW) == -EAGAIN);
	store64(&s->index->first, 1);
	check(!attach(&w.o, s, LIVE_FROM_OLDEST));
	sim_free(s);
}

/* An observer that has begun anew must not have the counts of before. */
static void a_reset_that_begins_in_an_advance_leads_nowhere(void)
{
	struct sim *s = quiet(6, 1);
	struct watcher w;
	uint64_t at;

	write_subbufs(s, 2);
	begin(&w, s, LIVE_FROM_OLDEST);
	watch_all(&w);
	at = w.o.generation;
	reset(s);
	check(live__advance(&w.o));
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
		check(w.o.before == 128 && !live_until(&w.o, &u));
		for (int i = 0; i < seen; i++)
			check(until_next(&w, &u) == 8);
		write_subbufs(s, 20);
		check(at_end(&w, &u, 35 - 8 * seen, false));
		/* An observer that goes on is told what is missed behind the end. */
		w.next = 163;
		watch_all(&w);
		check(w.o.before + w.o.seen + w.o.missed == 323 && w.gaps == 1);
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

static uint32_t used_now(const struct live_observer *o)
{
	struct live_figures f;

	check(!live_figures(o, &f));
	return f.used;
}

static void figures_are_of_what_is_left(void)
{
	struct sim *s = quiet(6, 1);
	struct live_figures f;
	struct watcher w;

	write_subbufs(s, 3);
	write_events(s, 1);
	begin(&w, s, LIVE_FROM_OLDEST);
	store64(&s->index->dropped, 43);
	check(!live_figures(&w.o, &f) && f.dropped == 43 && f.committed == 24);
	check(f.events == 25 && f.bytes == 32 && f.used == 4);
	for (uint64_t read = 0; read <= 25; read++) {
		store64(&s->index->read, read);
		check(used_now(&w.o) == 4 - read / 8);
	}
	sim_free(s);
}

/* What the reader has is no part of it, nor what was there before a resize. */
static void a_full_buffer_uses_the_ring(void)
{
	struct sim *s = quiet(6, 1);
	struct watcher w;

	write_subbufs(s, 20);
	begin(&w, s, LIVE_FROM_OLDEST);
	check(used_now(&w.o) == 5);
	store64(&s->index->read, 16);
	check(used_now(&w.o) == 3);
	store64(&s->index->read, 0);
	store64(&s->index->overwritten, 0);
	check(used_now(&w.o) == 5);
	store64(&s->index->first, s->index->commit_generation - 1);
	check(used_now(&w.o) == 2);
	sim_free(s);
}

/* Stopped for so long that another lower half of the generation is there again. */
static void a_very_long_stop_is_an_overrun(void)
{
	static const uint64_t laps[] = {
		1, 4, 5, 6, 100, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x100000001,
	};

	for (size_t i = 0; i < ARRAY_SIZE(laps); i++) {
		struct sim *s = quiet(6, 1);
		struct watcher w;

		write_events(s, 3);
		begin(&w, s, LIVE_FROM_OLDEST);
		watch_all(&w);
		/* The writer is as many generations further, in the same sub-buffer. */
		s->slot[1] = (1 + laps[i]) % s->slots;
		entry_of(s, 1)->generation = 1 + laps[i];
		entry_of(s, 1)->before = 8 * laps[i];
		entry_of(s, 1)->id = 1;
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

/* However many of them interrupts have overwritten while an event is being written. */
static void the_oldest_that_is_left_is_found(void)
{
	for (uint32_t gone = 0; gone < 5; gone++) {
		struct sim *s = quiet(6, 1);
		struct watcher w;

		write_subbufs(s, 20);	/* generation 20 is being written */
		for (uint32_t i = 16; i < 16 + gone; i++)
			store64(&entries_of(s)[i % 5].generation, i + 5);
		begin(&w, s, LIVE_FROM_OLDEST);
		check(w.o.generation == 16 + gone && w.o.before == 8 * (15 + gone));
		sim_free(s);
	}
}

/* Its entry says that all is overwritten, but the load of commit_generation does not yet. */
static void an_observer_never_gets_ahead_of_the_writer(void)
{
	struct sim *s = quiet(6, 1);
	struct watcher w;

	write_events(s, 3);
	begin(&w, s, LIVE_FROM_OLDEST);
	watch_all(&w);
	/* Entered by an interrupt, so that before and id are not valid. */
	store64(&entries_of(s)[2].generation, 2);
	store64(&entries_of(s)[1].generation, 6);
	check(live_look(&w.o, &w.it) == LIVE_NOTHING);
	check(w.o.generation == 1 && w.o.count == 3 && !w.o.missed);
	sim_free(s);
}

/* The reader took the first long ago, and its slot is another generation's. */
static void what_the_reader_keeps_is_no_gap(void)
{
	struct sim *s = quiet(6, 1);
	struct watcher w;

	write_subbufs(s, 2);
	consume(s);
	begin(&w, s, LIVE_FROM_OLDEST);
	check(w.o.before == 0 && w.o.generation == 1);
	write_subbufs(s, 20);
	begin(&w, s, LIVE_FROM_OLDEST);
	check(w.o.before == 8 * 17 && w.o.generation == 18);
	watch_all(&w);
	check(!w.gaps && w.o.count == 176 && w.o.seen == 8 * 5);
	sim_free(s);
}

/* splice() gave the memory of the first two generations away. */
static void what_was_given_away_is_not_shown(void)
{
	struct sim *s = quiet(6, 1);
	struct subbuf_record rec;
	struct watcher w;

	write_subbufs(s, 4);
	store64(&s->index->first, 3);
	begin(&w, s, LIVE_FROM_OLDEST);
	check(w.o.generation == 3 && w.o.before == 16);
	check(live_look(&w.o, &w.it) == LIVE_EVENTS);
	check(subbuf_next(&w.it, &rec) && word_at(&rec, 0) == 16);
	check(live_accept(&w.o, &w.it, 1) == 1 && !w.o.missed);
	sim_free(s);
}

/* A reset that is done before anything of the emptied buffer is found. */
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
	check(w.o.generation < w.o.first);
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
	WRONG(struct_len, 191), WRONG(entry_size, 16), WRONG(entry_size, 28),
	WRONG(entry_size, 0), WRONG(entry_size, ~0U), WRONG(entries_offset, ~7ULL),
	WRONG(entries_offset, 128), WRONG(entries_offset, 196),
	WRONG(subbufs_offset, ~7ULL), WRONG(subbufs_offset, 0),
	WRONG(subbufs_offset, 192 + 3 * 24 + 8), WRONG(nr_subbufs, 0),
	WRONG(nr_subbufs, 5), WRONG(nr_subbufs, ~0U), WRONG(nr_slots, 0),
	WRONG(nr_slots, ~0U), WRONG(nr_slots, 49), WRONG(subbuf_size, 276),
	WRONG(subbuf_size, 16), WRONG(subbuf_size, 0), WRONG(subbuf_size, ~3U),
	WRONG(subbuf_size, 270), WRONG(data_offset, 4), WRONG(data_offset, 0),
	WRONG(data_offset, ~3U), WRONG(data_offset, 18), WRONG(commit_offset, 12),
	WRONG(commit_offset, ~3U), WRONG(commit_offset, 4),
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
	struct live_figures f;
	struct watcher w;

	write_subbufs(s, 2);
	begin(&w, s, LIVE_FROM_OLDEST);
	entry_of(s, 1)->size = 257 + 3;
	check(live_look(&w.o, &w.it) == -EPROTO);
	entry_of(s, 1)->size = 0;
	entry_of(s, 2)->id = 4;
	check(live_look(&w.o, &w.it) == -EPROTO);
	check(attach(&o, s, LIVE_FROM_NOW) == -EPROTO);
	check(!live_figures(&w.o, &f) && f.events == f.committed);
	reset(s);
	entry_of(s, s->commit)->id = ~0U;
	check(live_look(&w.o, &w.it) == -EPROTO);
	check(attach(&o, s, LIVE_FROM_OLDEST) == -EPROTO);
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
		uint32_t *word = (uint32_t *)&s->index->first;
		uint32_t *end = (uint32_t *)(entries_of(s) + s->slots);

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
	check(p.size == 24 && p.generation == 5 && p.read == 96 && p.bytes == 100);
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
	TEST(a_reset_that_begins_in_an_advance_leads_nowhere),
	TEST(an_end_is_kept_though_the_writer_goes_on),
	TEST(nothing_is_before_an_end),
	TEST(what_is_overwritten_before_an_end_is_missed),
	TEST(some_is_overwritten_before_an_end),
	TEST(an_end_is_not_beyond_a_reset),
	TEST(figures_are_of_what_is_left),
	TEST(a_full_buffer_uses_the_ring),
	TEST(a_very_long_stop_is_an_overrun),
	TEST(the_oldest_that_is_left_is_found),
	TEST(an_observer_never_gets_ahead_of_the_writer),
	TEST(what_the_reader_keeps_is_no_gap),
	TEST(what_was_given_away_is_not_shown),
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

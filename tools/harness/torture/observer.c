// SPDX-License-Identifier: GPL-2.0
/*
 * An observer of a CPU. It goes through all acts of a round.
 *
 * In an act without resets it has to see every number the writers gave out, or
 * be told exactly how many it missed, and where. The observer does not learn where a
 * reset of running writers came: what it saw and missed before that can not be more
 * than the numbers given out, and those after it go on behind.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "torture.h"

struct observer {
	struct live_mapping	map;
	struct live_observer	o;
	struct order		order;
	int			fd, cpu, speed, act;
	bool			emptied;	/* before this act, and that was not seen yet */
	uint64_t		past;		/* events of this act before its last reset */
	unsigned char		*copy;
};

/* What is wrong, and where it stands. */
static void __attribute__((format(printf, 3, 4)))
complain(const struct observer *ob, enum fault fault, const char *fmt, ...)
{
	char what[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	fail(fault, "cpu %d, %s observer: %s (generation %llu pos %u final %d)", ob->cpu,
	     speeds[ob->speed], what, (unsigned long long)ob->o.generation, ob->o.pos,
	     ob->o.final);
}

/* LIVE-29: Each event since the last reset was before it started, or seen, or missed. */
static void check_sum(const struct observer *ob, const struct live_observer *o, uint64_t all)
{
	if (o->before + o->seen + o->missed != all)
		complain(ob, NOT_EXACT, "before %llu + seen %llu + missed %llu is not %llu",
			 (unsigned long long)o->before, (unsigned long long)o->seen,
			 (unsigned long long)o->missed, (unsigned long long)all);
}

static int attach_mapping(struct observer *ob, enum live_start from)
{
	int ret, tries;

	for (tries = 0; tries < 5000; tries++) {
		ret = live_attach(&ob->o, &ob->map, from);
		if (ret != -EAGAIN)
			break;
		sleep_ms(1);	/* a reset goes on */
	}
	return ret;
}

static bool attach(struct observer *ob, enum live_start from)
{
	int ret;

	ob->fd = cpu_file(&this_round.ti, ob->cpu, "trace_live", O_RDONLY);
	ret = ob->fd < 0 ? ob->fd : live_map(&ob->map, ob->fd);
	if (!ret)
		ret = attach_mapping(ob, from);
	if (ret) {
		complain(ob, STUCK, "it finds no place: %s", strerror(-ret));
		return false;
	}
	add(shared->deeds[OBSERVERS_ATTACHED], 1);
	return true;
}

static void detach(struct observer *ob)
{
	add(shared->seen[ob->speed], ob->o.seen);
	add(shared->deeds[EVENTS_MISSED], ob->o.missed);
	live_unmap(&ob->map);
	close(ob->fd);
}

/* Numbers began with 0: all before it may be missing, but no more. */
static void order_attach(struct observer *ob)
{
	bool calm = !now(shared->live_resets);

	order_begin(&ob->order, calm);
	if (!calm)
		memset(ob->order.known, 0, sizeof(ob->order.known));
	ob->order.budget = ob->o.before;
	ob->emptied = false;
	ob->past = 0;
}

static bool reattach(struct observer *ob)
{
	detach(ob);
	if (!attach(ob, below(2) ? LIVE_FROM_NOW : LIVE_FROM_OLDEST))
		return false;
	order_attach(ob);
	return true;
}

/* All counts of @was have restarted. */
static void after_reset(struct observer *ob, const struct live_observer *was)
{
	check_sum(ob, was, was->count);
	add(shared->seen[ob->speed], was->seen);
	add(shared->deeds[EVENTS_MISSED], was->missed);
	if (ob->emptied && !now(shared->live_resets)) {
		/* The one before this act, and writers began anew after it. */
		order_begin(&ob->order, true);
		add(shared->deeds[CALM_RESETS_SEEN], 1);
	} else {
		if (ob->emptied)
			order_begin(&ob->order, false);
		else
			ob->past += was->count;
		ob->order.strict = false;
		add(shared->deeds[RESETS_SEEN], 1);
	}
	ob->emptied = false;
}

/* The events of a look were good: what is wrong with them is so. */
static void settle(struct observer *ob, const struct order *order)
{
	if (order->bad > ob->order.bad)
		complain(ob, NOT_IN_ORDER,
			 "%llu events not in order, next %u %u %u %u, may miss %llu",
			 (unsigned long long)(order->bad - ob->order.bad), order->next[0],
			 order->next[1], order->next[2], order->next[3],
			 (unsigned long long)order->budget);
	if (order->torn > ob->order.torn)
		complain(ob, NOT_WHOLE, "%llu events not whole",
			 (unsigned long long)(order->torn - ob->order.torn));
	ob->order = *order;
}

/* Go through what is shown. Returns the events there were. */
static unsigned int go_through(struct observer *ob, struct subbuf_iter *it,
			       struct order *order)
{
	struct subbuf_record rec;
	struct event e;
	unsigned int n = 0, stop = 0;

	if (ob->speed == SLOW && !below(4) && now(shared->quiet) <= ob->act)
		stop = 1 + below(20);	/* in the middle of it */
	order->budget += live_gap(&ob->o);
	while (subbuf_next(it, &rec)) {
		n++;
		if (n == stop)
			sleep_ms(below(30));
		if (event_whole(rec.data, rec.size, ob->cpu, &e))
			order_take(order, &e);
		else
			order->torn++;
	}
	return n;
}

static int look(struct observer *ob)
{
	struct live_observer was = ob->o;
	struct order order;
	struct subbuf_iter it;
	unsigned int n;
	int ret = live_look(&ob->o, &it);

	if (ret == LIVE_RESET)
		after_reset(ob, &was);
	if (ret != LIVE_EVENTS)
		return ret;
	order = ob->order;
	if (ob->speed == COPIER &&
	    !live_copy(&ob->o, &it, ob->copy, this_round.format.subbuf_size)) {
		add(shared->deeds[LOOKS_REFUSED], 1);
		return LIVE_EVENTS;
	}
	n = go_through(ob, &it, &order);
	ret = live_accept(&ob->o, &it, n);
	if (ret)
		settle(ob, &order);
	else
		add(shared->deeds[LOOKS_REFUSED], 1);
	return ret < 0 ? ret : LIVE_EVENTS;
}

/* A look that has to succeed. */
static int try_look(struct observer *ob)
{
	int ret = look(ob);

	if (ret < 0)
		complain(ob, NOT_WHOLE, "a look ended with %d", ret);
	return ret;
}

/*
 * A mark that may not be reached for a long time, or never: in the sub-buffer that
 * is written, in a later one, a share of the buffer, or past its end.
 */
uint64_t any_mark(void)
{
	switch (below(6)) {
	case 0:
		return 0;
	case 1:
		return below(300);
	case 2:
		return this_round.format.subbuf_size + below(5000);
	case 3:
		return below(16) * (uint64_t)this_round.format.subbuf_size;
	case 4:
		return ~0ULL;
	default:
		return below(9000);
	}
}

/* Sleeps until there is more. SIGUSR1 ends that, here and nowhere else. */
static void wait_for_more(struct observer *ob)
{
	bool any = now(shared->begun) == SINGLE + 1 || below(2);
	struct trace_live_position p = live_position(&ob->o, any ? 1 : any_mark());
	struct timespec most = { any ? STUCK_MS / 1000 : 0, any ? 0 : 50000000 };
	struct pollfd pfd = { .fd = ob->fd, .events = POLLIN };
	sigset_t none;
	int ret;

	set(shared->at[ob->cpu], ob->o.count);
	set(shared->asleep[ob->cpu], any);
	if (ioctl(ob->fd, TRACE_LIVE_IOCTL_SET_POSITION, &p))
		complain(ob, STUCK, "SET_POSITION: %s", strerror(errno));
	sigemptyset(&none);
	ret = ppoll(&pfd, 1, &most, &none);
	set(shared->asleep[ob->cpu], 0);
	add(shared->deeds[OBSERVERS_SLEPT], 1);
	if (ret > 0 && pfd.revents != POLLIN)
		complain(ob, NOT_WOKEN, "poll() says %#x", pfd.revents);
}

/* @nothing: there was nothing to be seen. */
static void pause_a_while(struct observer *ob, bool nothing)
{
	if (ob->speed == WAITER && nothing)
		wait_for_more(ob);
	else if (ob->speed == SLOW && !below(3))
		sleep_ms(below(60));
	else if (ob->speed == COPIER && !below(4))
		sleep_ms(below(3));
	else if (nothing)
		usleep(200);
}

/* The numbers tell the same without the kernel's counters. */
static void account_numbers(struct observer *ob)
{
	uint64_t given = 0, unseen = 0;
	uint32_t counts[NR_CONTEXTS];
	int ctx;

	if (!writers_counts(ob->cpu, counts)) {
		complain(ob, STUCK, "the writers have no counts");
		return;
	}
	for (ctx = 0; ctx < NR_CONTEXTS; ctx++) {
		given += counts[ctx];
		unseen += counts[ctx] - ob->order.next[ctx];
	}
	if (ob->past + ob->o.count > given)
		complain(ob, NOT_EXACT, "%llu before the reset, %llu after it of %llu",
			 (unsigned long long)ob->past, (unsigned long long)ob->o.count,
			 (unsigned long long)given);
	if (ob->order.strict &&
	    (ob->o.count != given || unseen != ob->order.budget + live_gap(&ob->o)))
		complain(ob, NOT_EXACT,
			 "%llu numbers not seen, %llu said to be missed; %llu of %llu counted",
			 (unsigned long long)unseen,
			 (unsigned long long)(ob->order.budget + live_gap(&ob->o)),
			 (unsigned long long)ob->o.count, (unsigned long long)given);
}

static void account_figures(struct observer *ob, long long all)
{
	struct trace_instance *ti = &this_round.ti;
	struct live_figures f;

	if (live_figures(&ob->o, &f)) {
		complain(ob, WRONG_FIGURES, "no figures");
		return;
	}
	if ((long long)f.dropped != cpu_stat(ti, ob->cpu, "dropped events") +
				    cpu_stat(ti, ob->cpu, "commit overrun") ||
	    (long long)f.consumed != cpu_stat(ti, ob->cpu, "read events") ||
	    (long long)f.committed > all)
		complain(ob, WRONG_FIGURES, "dropped %llu consumed %llu committed %llu of %lld",
			 (unsigned long long)f.dropped, (unsigned long long)f.consumed,
			 (unsigned long long)f.committed, all);
}

/* Nobody writes or consumes any more. */
static void account(struct observer *ob)
{
	long long all;

	while (try_look(ob) > 0)
		;
	all = committed(ob->cpu);
	check_sum(ob, &ob->o, ob->o.count);
	check_sum(ob, &ob->o, all);
	account_numbers(ob);
	account_figures(ob, all);
}

static bool follow(struct observer *ob)
{
	while (now(shared->quiet) <= ob->act) {
		int ret = try_look(ob);

		if (ret < 0)
			return false;
		pause_a_while(ob, ret == LIVE_NOTHING);
		if (!below(ob->speed == GREEDY ? 4000 : 400) && !reattach(ob))
			return false;
	}
	return true;
}

void observe(int cpu, int speed)
{
	struct observer ob = { .cpu = cpu, .speed = speed };

	ob.copy = malloc(this_round.format.subbuf_size);
	if (!attach(&ob, LIVE_FROM_OLDEST))
		exit(1);
	order_begin(&ob.order, true);
	for (ob.act = 0; ob.act < NR_ACTS; ob.act++) {
		add(shared->accounted, 1);	/* is there, the first time */
		wait_for(&shared->begun, ob.act + 1);
		ob.emptied = ob.act;
		ob.past = 0;
		if (!follow(&ob))
			exit(1);
		wait_for(&shared->settled, ob.act + 1);
		account(&ob);
	}
	add(shared->accounted, 1);
	detach(&ob);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Wait for the reason to take a snapshot.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracemap.h>

#include "advice.h"
#include "clock.h"
#include "events.h"
#include "loop.h"
#include "session.h"
#include "snap_wait.h"
#include "stop.h"

#define BUFFER_KB	"64"	/* of the instance that has only the events to wait for */

/**
 * struct snap_wait - a wait
 * @trigger: what is waited for
 * @session: the instance that has the event, if one is waited for
 * @t: its buffers
 * @loop: the CPUs that may have one
 * @incomplete: a CPU is not read, said
 * @every: when the next one is due by the time, ns
 * @due: when one is due as something has happened, ns; 0: nothing has
 */
struct snap_wait {
	const struct snap_trigger *trigger;
	struct session *session;
	struct tracemap *t;
	struct loop loop;
	bool incomplete;
	uint64_t every;
	uint64_t due;
};

/* ---- Signals ---- */

static int signalled;

/* stop_fd becomes readable, as it does for others that are no reason to stop. */
static void handle(int sig)
{
	uint64_t one = 1;
	int saved = errno;

	(void)sig;
	__atomic_store_n(&signalled, 1, __ATOMIC_RELAXED);
	while (write(stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	errno = saved;
}

int snap_wait_signal(const char *name, int *signal)
{
	const char *plain = strncmp(name, "SIG", 3) ? name : name + 3;

	*signal = !strcmp(plain, "USR1") ? SIGUSR1 : !strcmp(plain, "USR2") ? SIGUSR2 : 0;
	if (*signal)
		return 0;
	say("--signal %s: it is USR1 or USR2; others end the program", name);
	return -EINVAL;
}

/* ---- The event ---- */

int snap_wait_event(const char *when)
{
	const char *colon = strchr(when, ':');

	if (colon && colon > when && colon[1] != ':' && when[strlen(when) - 1] != ':')
		return 0;
	say("--when %s: it is SYSTEM:EVENT[:FILTER], such as oom:mark_victim", when);
	return -EINVAL;
}

/* "sched:sched_switch:prev_prio < 100" */
static int enable(struct session *session, const char *when)
{
	char *event = strdup(when), *filter;
	struct events found = { };
	int ret;

	if (!event)
		return complain(ABOUT_SETTING, ENOMEM, "--when %s", when);
	filter = strchr(event, ':');
	filter = filter ? strchr(filter + 1, ':') : NULL;
	if (filter)
		*filter++ = 0;
	ret = events_find(&found, session, event);
	if (!ret)
		ret = events_filter(&found, session, filter);
	if (!ret)
		ret = events_enable(&found, session);
	events_free(&found);
	free(event);
	return ret;
}

static int open_event(struct snap_wait *w)
{
	struct tracemap_options o = tracemap_default_options();
	int ret = session_open(&w->session, NULL, false);

	if (ret)
		return ret;
	session_try(w->session, "buffer_size_kb", BUFFER_KB);
	/* Let poll() report each event where there is no live index. */
	session_try(w->session, "buffer_percent", "0");
	ret = session_hide_from_events(w->session);
	if (!ret)
		ret = enable(w->session, w->trigger->when);
	if (ret)
		return ret;
	loop_begin(&w->loop);
	ret = tracemap_open(&w->t, session_dir(w->session), &o);
	return ret ? complain(ABOUT_BUFFER, ret, "%s", session_dir(w->session)) : 0;
}

/* A CPU that was never online has no buffer; now it may have one. */
static void add_cpus(struct snap_wait *w)
{
	int ret = online_changed(&w->loop.online) ? tracemap_rescan(w->t) : 0;

	if (ret < 0) {
		complain(ABOUT_BUFFER, ret, "a CPU that came online");
		w->incomplete = true;
	}
}

/* Take all events. Returns whether there was one, or a negative errno that was reported. */
static int take_events(struct snap_wait *w)
{
	struct tracemap_record rec;
	int ret, any = 0;

	add_cpus(w);
	for (unsigned int i = 0; i < tracemap_nr_cpus(w->t); i++) {
		struct tracemap_cpu *cpu = tracemap_get_cpu(w->t, i);

		while ((ret = tracemap_cpu_next(cpu, &rec)) > 0)
			any = 1;
		if (ret < 0 && ret != -EINTR && ret != -EBADMSG)
			return complain(ABOUT_BUFFER, ret, "--when");
	}
	return any;
}

/* ---- Waiting ---- */

bool snap_waits(const struct snap_trigger *trigger)
{
	return trigger->when || trigger->signal || trigger->every;
}

static uint64_t later(double seconds)
{
	return now_ns() + (uint64_t)(seconds * 1e9);
}

int snap_wait_begin(struct snap_wait **wait, const struct snap_trigger *trigger)
{
	struct sigaction sa = { .sa_handler = handle };
	struct snap_wait *w = calloc(1, sizeof(*w));
	int ret;

	*wait = w;
	if (!w)
		return complain(ABOUT_BUFFER, ENOMEM, "waiting");
	w->loop = (struct loop)LOOP_INIT;
	w->trigger = trigger;
	ret = trigger->when ? open_event(w) : 0;
	if (ret)
		return ret;
	if (trigger->signal)
		sigaction(trigger->signal, &sa, NULL);
	if (trigger->every)
		w->every = later(trigger->every);
	return w->session ? session_trace(w->session, true) : 0;
}

/* Note what has happened. Returns a negative errno if the event cannot be read. */
static int look(struct snap_wait *w)
{
	int any = w->t ? take_events(w) : 0;

	if (any < 0)
		return any;
	any |= __atomic_exchange_n(&signalled, 0, __ATOMIC_RELAXED);
	if (w->every && now_ns() >= w->every) {
		w->every = later(w->trigger->every);
		any = 1;
	}
	/* What happens until then is in that snapshot as well. */
	if (any && !w->due)
		w->due = later(w->trigger->after);
	return 0;
}

/* Returns the milliseconds until something is due; -1 if nothing is. */
static int patience(const struct snap_wait *w)
{
	uint64_t now = now_ns(), at = w->due ? w->due : w->every;

	if (w->due && w->every && w->every < at)
		at = w->every;
	if (!at)
		return -1;
	return at <= now ? 0 : (at - now) / 1000000 < 1000000 ? (at - now) / 1000000 + 1 : 1000000;
}

/* Returns 0, or a negative errno that was reported. */
static int sleep_till_more(struct snap_wait *w)
{
	/* Events that come until something is due make no other snapshot: they can wait. */
	int ret = loop_wait(&w->loop, w->due ? NULL : w->t, NULL, 0, patience(w));

	return ret < 0 ? complain(ABOUT_BUFFER, ret, "--when") : 0;
}

int snap_wait_next(struct snap_wait *w)
{
	for (;;) {
		int ret = look(w);

		if (ret < 0)
			return ret;
		if (stop_signals())
			return 0;
		if (w->due && now_ns() >= w->due) {
			w->due = 0;
			return 1;
		}
		ret = sleep_till_more(w);
		if (ret < 0)
			return ret;
	}
}

int snap_wait_end(struct snap_wait *w)
{
	int ret;

	if (!w)
		return 0;
	tracemap_close(w->t);
	loop_end(&w->loop);
	ret = session_close(w->session) || w->incomplete;
	free(w);
	return ret;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An observer of a CPU's trace_live, and the account of the events it saw.
 */
#ifndef SELFTEST_RING_BUFFER_WATCHER_H
#define SELFTEST_RING_BUFFER_WATCHER_H

#include <live.h>

#include "subbuf.h"

/*
 * @tally starts anew at each reset, as the numbers of @o do. @torn and @malformed
 * count for ever: they are to stay 0.
 */
struct watcher {
	struct live_mapping	map;
	struct live_observer	o;
	struct tally		tally;
	int			fd;
	bool			copies;	/* else it parses in place */
	unsigned char		*copy;
	uint64_t		looks;	/* that were accepted */
	uint64_t		refused;
	uint64_t		resets;
	uint64_t		torn;	/* events whose bytes do not belong together */
};

/* An observer without a mapping: the open file alone. */
int live_file(const struct trace_instance *ti, int cpu);

int watcher_open(struct watcher *w, const struct trace_instance *ti, int cpu,
		 enum live_start from);
void watcher_close(struct watcher *w);

/* One look. Returns what live_look() did, or an errno. */
int watch_once(struct watcher *w);

/* Looks until nothing is there. Returns the looks that were accepted. */
long watch(struct watcher *w);

/* All seen was whole, in order, and every gap told where it was. */
bool watcher_exact(const struct watcher *w);

/* Tells another open file of the same CPU the watcher's position; 0 or an errno. */
int watcher_tell(const struct watcher *w, int fd, uint64_t bytes);

/* Tells the kernel the position; 0 or an errno. */
int watcher_wait(const struct watcher *w, uint64_t bytes);

/* Looks at all there is, then tells the position behind it. */
int watch_and_wait(struct watcher *w, uint64_t bytes);

/*
 * Follows @cpu's events from now on, on @run_on, until the process is killed: sleeps
 * until there is any, and counts @wakeups. Writes a byte to @ready, if that is not
 * negative, once it follows. Returns only if something fails, 1.
 */
int watch_for_ever(const struct trace_instance *ti, int cpu, int run_on, int ready,
		   uint64_t *wakeups);

/* The entry that describes a generation, if it is still there. */
const struct trace_live_subbuf *entry_of(const struct watcher *w, uint64_t generation);

/* Events committed to the CPU's buffer since the last reset. */
long long committed_events(const struct trace_instance *ti, int cpu);

#endif /* SELFTEST_RING_BUFFER_WATCHER_H */

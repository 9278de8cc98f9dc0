// SPDX-License-Identifier: GPL-2.0
/*
 * What goes on beside writers, observers and consumers; and, in the act that
 * is about waking, the writer of single events.
 */
#include <poll.h>
#include <sys/ioctl.h>

#include "torture.h"

static void reset(int cpu)
{
	/* First: whoever sees the reset sees that it is one of these. */
	add(shared->live_resets, 1);
	if (below(2))
		instance_write(&this_round.ti, "trace", "");
	else
		cpu_write(&this_round.ti, cpu, "trace", "");
}

static void flip_overwrite(void)
{
	if (!instance_write_number(&this_round.ti, "options/overwrite", below(2)))
		add(shared->deeds[FLIPS_OF_OVERWRITE], 1);
}

static void map_and_unmap(int cpu)
{
	struct mapped_buffer mb;
	int i;

	for (i = below(5); i >= 0; i--) {
		if (buffer_map(&mb, &this_round.ti, cpu, O_NONBLOCK))
			continue;
		add(shared->deeds[MAPPINGS_MADE], 1);
		sleep_ms(below(3));
		buffer_unmap(&mb);
	}
}

/* One that comes, waits at any mark, and goes whether or not it was woken. */
static void visit(int cpu)
{
	struct live_mapping map = { .size = 0 };
	struct trace_live_position p;
	struct live_observer o;
	struct pollfd pfd = { .events = POLLIN };

	pfd.fd = cpu_file(&this_round.ti, cpu, "trace_live", O_RDONLY);
	if (pfd.fd < 0 || live_map(&map, pfd.fd)) {
		fail(STUCK, "cpu %d: a visitor is not let in", cpu);
	} else if (!live_attach(&o, &map, LIVE_FROM_NOW)) {
		p = live_position(&o, any_mark());
		if (ioctl(pfd.fd, TRACE_LIVE_IOCTL_SET_POSITION, &p))
			fail(STUCK, "cpu %d: a visitor cannot set its position: %s", cpu, strerror(errno));
		poll(&pfd, 1, below(4));
		add(shared->deeds[VISITS], 1);
	}
	if (map.index)
		live_unmap(&map);
	if (pfd.fd >= 0)
		close(pfd.fd);
}

/* Takes a CPU away for a while. The first one stays. */
static void switch_cpu(int cpu)
{
	char path[64];

	if (!cpu)
		return;
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	if (write_file(path, "0")) {
		fail(STUCK, "cpu %d does not go", cpu);
		return;
	}
	sleep_ms(below(60));
	if (write_file(path, "1"))
		fail(STUCK, "cpu %d does not come back", cpu);
	else
		add(shared->deeds[CPUS_AWAY], 1);
}

/* All in turn first, however short the act is; then as it comes. */
void disturb(enum act act)
{
	unsigned int step = act == WILD ? 0 : 1;
	int cpu;

	for (; now(shared->disturbed) <= (int)act; step++) {
		sleep_ms(below(100));
		cpu = below(nr_cpus);
		switch (step < 4 ? step : below(4)) {
		case 0:
			if (act == WILD)
				reset(cpu);
			break;
		case 1:
			flip_overwrite();
			break;
		case 2:
			if (!stock) {
				map_and_unmap(cpu);
				visit(cpu);
			}
			break;
		case 3:
			if (step < 4)
				switch_cpu(nr_cpus - 1);
			else if (!below(4))
				switch_cpu(cpu);
			break;
		}
	}
}

static void spin(unsigned int times)
{
	while (times--)
		__asm__ __volatile__("");
}

/* Each event has to wake the waiting observer, whenever it comes. */
void fire_single(int cpu, int act)
{
	long long start;
	unsigned int ctx;
	uint64_t at;

	if (run_on_cpu(cpu))
		fail(STUCK, "cpu %d: nobody runs there", cpu);
	while (now(shared->disturbed) <= act) {
		ctx = below(NR_CONTEXTS);
		at = now(shared->at[cpu]);
		spin(below(20000));
		if (writers_fire(ctx)) {
			fail(STUCK, "cpu %d: no event of %s", cpu, contexts[ctx]);
			return;
		}
		start = monotonic_ns();
		while (now(shared->at[cpu]) <= at) {
			usleep(50);
			if (monotonic_ns() - start < WOKEN_MS * 1000000LL)
				continue;
			fail(NOT_WOKEN, "cpu %d: an event of %s, number %llu, woke nobody in %d ms",
			     cpu, contexts[ctx], (unsigned long long)at, WOKEN_MS);
			return;
		}
		add(shared->woken_by[ctx], 1);
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * libtracemap on a kernel: lib_guest 'read [map [live]]' [TEST...]. This file
 * tests what each way reads, and that it reads everything.
 */
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib_guest.h"

/* One that consumes, after all those that do not. */
static void compare_with_observers(const struct way_to_read *consumer)
{
	uint64_t hash = 0;

	new_instance("1024");
	write_marks(0, 1, 5000);
	for (unsigned int i = nr_ways; i--;) {
		const struct way_to_read *w = &ways[i];
		struct account a = { 0 };
		struct tracemap_cpu *cpu;

		if (!can(w->needs) ||
		    (w->way != TRACEMAP_OBSERVE && w != consumer))
			continue;
		cpu = open_way(w, 0);
		expect_eq(drain(cpu, &a), 0);
		expect_eq(a.seen, 5000);
		expect_eq(a.missed, 0);
		expect_eq(a.wrong, 0);
		if (hash)
			expect_eq(a.hash, hash);
		hash = a.hash;
		tracemap_cpu_close(cpu);
	}
	end_instance();
}

static void test_same_events(void)
{
	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		if (w->way != TRACEMAP_OBSERVE)
			compare_with_observers(w);
	}
}

/* A small buffer, opened when empty, overrun, read; and that again. */
static void test_loss(void)
{
	const uint32_t k = sysconf(_SC_PAGESIZE) / 4096;

	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		struct tracemap_figures f;
		struct account a = { 0 };
		struct tracemap_cpu *cpu;

		new_instance("32");
		cpu = open_way(w, 0);
		expect_eq(drain(cpu, &a), 0);
		write_marks_of(0, 1, 4000 * k, LOSS_SIZE);
		expect_eq(drain(cpu, &a), 0);
		write_marks_of(0, 4000 * k + 1, 4100 * k, LOSS_SIZE);
		expect_eq(drain(cpu, &a), 0);
		write_marks_of(0, 4100 * k + 1, 9000 * k, LOSS_SIZE);
		expect_eq(drain(cpu, &a), 0);
		expect_eq(a.wrong, 0);
		expect_eq(a.seen + a.missed, 9000 * k);
		expect_eq(a.last, 9000 * k);
		expect(a.missed > 1000 * k);
		expect_eq(tracemap_cpu_figures(cpu, &f), 0);
		if (w->way != TRACEMAP_OBSERVE)
			expect_eq(f.overwritten, a.missed);
		tracemap_cpu_close(cpu);
		end_instance();
	}
}

/* Somebody reads a part of a sub-buffer, we go on there, by any two ways. */
static void test_half_consumed(void)
{
	for (const struct way_to_read *first = next_way(NULL); first; first = next_way(first)) {
		for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
			struct account a = { 0 };
			struct tracemap_cpu *cpu;

			if (first->way == TRACEMAP_OBSERVE || w->way == TRACEMAP_OBSERVE)
				continue;
			new_instance("64");
			write_marks(0, 1, 10);
			cpu = open_way(first, 0);
			expect_eq(drain(cpu, &a), 0);
			expect_eq(a.seen, 10);
			tracemap_cpu_close(cpu);
			write_marks(0, 11, 20);
			cpu = open_way(w, 0);
			expect_eq(drain(cpu, &a), 0);
			write_marks(0, 21, 1200);
			expect_eq(drain(cpu, &a), 0);
			expect_eq(a.seen + a.missed, 1200);
			expect_eq(a.wrong, 0);
			tracemap_cpu_close(cpu);
			end_instance();
		}
	}
}

/* The sub-buffer that is written is taken up again, event by event. */
static void test_taken_up_again(void)
{
	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		struct account a = { 0 };
		struct tracemap_cpu *cpu;

		new_instance("64");
		cpu = open_way(w, 0);
		for (uint32_t i = 1; i <= 200; i++) {
			write_marks(0, i, i);
			expect_eq(drain(cpu, &a), 0);
			if (!expect_eq(a.seen, i))
				break;
		}
		expect_eq(a.wrong, 0);
		expect_eq(a.missed, 0);
		tracemap_cpu_close(cpu);
		end_instance();
	}
}

static void test_from_now(void)
{
	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		struct tracemap_options o = options_of(w);
		struct tracemap_cpu *cpu = NULL;
		struct account a = { 0 };

		o.flags |= TRACEMAP_FROM_NOW;
		new_instance("64");
		set("trace_clock", "mono");
		write_marks(0, 1, 9000);
		expect_eq(tracemap_cpu_open(&cpu, INSTANCE, 0, &o), 0);
		expect_eq(drain(cpu, &a), 0);
		expect_eq(a.seen, 0);
		a.last = 9000;
		a.ts = monotonic_ns();
		write_marks(0, 9001, 9100);
		expect_eq(drain(cpu, &a), 0);
		expect_eq(a.seen, 100);
		expect_eq(a.missed, 0);
		expect_eq(a.wrong, 0);
		tracemap_cpu_close(cpu);
		end_instance();
	}
}

/* What came before the reset is gone, and that is said where the kernel says it. */
static void test_reset(void)
{
	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		struct account a = { 0 };
		struct tracemap_cpu *cpu;

		new_instance("64");
		cpu = open_way(w, 0);
		write_marks(0, 1, 700);
		expect_eq(drain(cpu, &a), 0);
		expect_eq(a.seen, 700);
		set("trace", "\n");
		if (w->way == TRACEMAP_READ)
			a.last = 0;
		write_marks(0, 1, 300);
		expect_eq(drain(cpu, &a), 0);
		expect_eq(a.seen, 1000);
		expect_eq(a.missed, 0);
		expect_eq(a.wrong, 0);
		if (w->way != TRACEMAP_READ)
			expect_eq(a.resets, 1);
		tracemap_cpu_close(cpu);
		end_instance();
	}
}

static void test_figures(void)
{
	const uint32_t page = sysconf(_SC_PAGESIZE);
	const uint32_t subbufs = page == 4096 ? 17 : 3;

	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		struct tracemap_figures f = { 0 };
		struct account a = { 0 };
		struct tracemap_raw raw;
		struct tracemap_cpu *cpu;

		new_instance("64");
		cpu = open_way(w, 0);
		write_marks(0, 1, 1000);
		expect_eq(drain(cpu, &a), 0);
		expect_eq(tracemap_cpu_figures(cpu, &f), 0);
		/* Those of sub-buffers that are full; a large page is not. */
		expect(f.committed <= 1000);
		expect(page > 4096 || f.committed > 800);
		if (w->way != TRACEMAP_OBSERVE)
			expect_eq(f.consumed, 1000);
		expect(f.nr_subbufs >= subbufs && f.nr_subbufs <= subbufs + 1);
		expect_eq(f.subbuf_size, page);
		expect_eq(f.overwritten + f.dropped, 0);
		expect_eq(tracemap_cpu_raw(cpu, &raw), 0);
		expect(raw.fd >= 0);
		expect_eq(!raw.meta, w->way != TRACEMAP_MAP);
		expect_eq(!raw.subbufs, w->way == TRACEMAP_READ);
		expect_eq(raw.subbufs_size, raw.subbufs ? f.nr_subbufs * page : 0);
		expect_eq(!raw.index, w->way == TRACEMAP_READ || !can("live"));
		expect(raw.reader < f.nr_subbufs);
		tracemap_cpu_close(cpu);
		end_instance();
	}
}

/* Sub-buffers that are larger than a page. */
static void test_large_subbufs(void)
{
	const unsigned int page = sysconf(_SC_PAGESIZE);
	char one[16], four[16];

	snprintf(one, sizeof(one), "%u", page / 1024);
	snprintf(four, sizeof(four), "%u", 4 * page / 1024);
	for (const struct way_to_read *w = next_way(NULL); w; w = next_way(w)) {
		struct tracemap_figures f = { 0 };
		struct account a = { 0 };
		struct tracemap_cpu *cpu;

		new_instance("1024");
		set("buffer_subbuf_size_kb", four);
		set("buffer_size_kb", "1024");
		write_marks_of(0, 1, 300, 1000);
		cpu = open_way(w, 0);
		expect_eq(drain(cpu, &a), 0);
		expect_eq(a.seen, 300);
		expect_eq(a.wrong, 0);
		expect_eq(tracemap_cpu_figures(cpu, &f), 0);
		expect_eq(f.subbuf_size, 4 * page);
		tracemap_cpu_close(cpu);
		set("buffer_subbuf_size_kb", one);
		end_instance();
	}
}

/*
 * More than 2 GiB of events, the last of which are past the 2 GiB. They are there
 * until a way consumes them: that comes last.
 */
static void test_huge(void)
{
	const uint32_t marks = 2250000;

	new_instance("12");
	set("per_cpu/cpu0/buffer_size_kb", "2400000");
	write_marks_of(0, 1, marks, 1000);
	for (unsigned int i = nr_ways; i-- > 1;) {
		struct tracemap_raw raw = { 0 };
		struct account a = { 0 };
		struct tracemap_cpu *cpu;

		cpu = open_way(&ways[i], 0);
		expect_eq(tracemap_cpu_raw(cpu, &raw), 0);
		expect(raw.subbufs_size > 2300000000U);
		expect_eq(drain(cpu, &a), 0);
		expect_eq(a.seen, marks);
		expect_eq(a.missed, 0);
		expect_eq(a.wrong, 0);
		tracemap_cpu_close(cpu);
	}
	end_instance();
}

static const struct test read_tests[] = {
	{ "each way brings the same events", test_same_events, NULL },
	{ "loss is counted, where it happened", test_loss, NULL },
	{ "a sub-buffer that somebody has half consumed", test_half_consumed, NULL },
	{ "a sub-buffer that is still written", test_taken_up_again, NULL },
	{ "from now on, not from the oldest", test_from_now, NULL },
	{ "a reset is told", test_reset, NULL },
	{ "figures and raw access", test_figures, NULL },
	{ "sub-buffers of four pages", test_large_subbufs, "map" },
};

/* These are asked for, in a guest that has the memory, or a CPU that is not up. */
static const struct test special_tests[] = {
	{ "more than 2 GiB of a CPU's", test_huge, "live" },
	{ "a CPU comes up, goes down and comes up", test_hotplug, NULL },
};

/* Those of this kernel whose name has @part in it. */
static unsigned int run_tests(const struct test *tests, unsigned int nr, const char *part)
{
	unsigned int ran = 0;

	for (unsigned int i = 0; i < nr; i++) {
		if ((tests[i].needs && !can(tests[i].needs)) ||
		    !strstr(tests[i].name, part))
			continue;
		printf("1..1\n");
		run_test(&tests[i]);
		ran++;
	}
	return ran;
}

int main(int argc, char **argv)
{
	const char *part = argc > 2 ? argv[2] : "";
	unsigned int ran = 0;

	if (argc < 2)
		errx(2, "lib_guest read[,map[,live]] [PART OF A TEST'S NAME]");
	abilities = argv[1];
	ran += run_tests(open_tests, nr_open_tests, part);
	ran += run_tests(read_tests, ARRAY_SIZE(read_tests), part);
	ran += run_tests(wait_tests, nr_wait_tests, part);
	ran += run_tests(merge_tests, nr_merge_tests, part);
	if (*part)
		ran += run_tests(special_tests, ARRAY_SIZE(special_tests), part);
	if (!ran)
		errx(2, "there is no such test");
	remove_instance();
	return failed_tests != 0;
}

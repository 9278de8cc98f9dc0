// SPDX-License-Identifier: GPL-2.0
/*
 * buffer_subbuf_size_kb: a ring buffer of larger sub-buffers.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "large_fixture.h"

#define SIZE_FILE	"buffer_subbuf_size_kb"

/* A size that is not that of a page. */
#define LARGE_KB	scaled_kb(LARGE_SUBBUF_KB)
#define LARGE		(LARGE_KB * 1024)

static unsigned int page_kb(void)
{
	return getpagesize() / 1024;
}

/* 128 pages, or 1 MiB where that is less. */
static unsigned int largest_kb(void)
{
	return 128 * page_kb() < 1024 ? 128 * page_kb() : 1024;
}

/* Sub-buffers of one page to begin with; each test chooses its own size. */
FIXTURE(size) {
	struct trace_instance	ti;
	struct tally		tally;
};

FIXTURE_VARIANT(size) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(size, top_level) {
	.top = true,
};

FIXTURE_VARIANT_ADD(size, instance) {
	.top = false,
};

FIXTURE_SETUP(size)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
}

FIXTURE_TEARDOWN(size)
{
	EXPECT_EQ(0, instance_close(&self->ti));
}

static int set_size(struct trace_instance *ti, unsigned long long kb)
{
	return instance_write_number(ti, SIZE_FILE, kb);
}

/* Changes the size, and leaves room for TEST_SUBBUFS of it. */
static int use_size(struct trace_instance *ti, unsigned int kb)
{
	int err = set_size(ti, kb);

	ti->subbuf_kb = kb;
	return err ? err : instance_write_number(ti, "buffer_size_kb",
						 TEST_SUBBUFS * kb);
}

/* SUBBUF-1 */
TEST_F(size, it_reads_as_the_size_in_KiB_of_one_page_at_first)
{
	EXPECT_EQ(page_kb(), instance_number(&self->ti, SIZE_FILE));
}

/* SUBBUF-2 */
TEST_F(size, writing_sets_it_for_all_cpus)
{
	int cpus[] = { self->ti.cpu, self->ti.other_cpu };
	struct mapped_buffer mb;
	size_t i;

	ASSERT_EQ(0, set_size(&self->ti, LARGE_KB));
	EXPECT_EQ(LARGE_KB, instance_number(&self->ti, SIZE_FILE));
	for (i = 0; i < ARRAY_SIZE(cpus); i++) {
		ASSERT_EQ(0, buffer_map(&mb, &self->ti, cpus[i], O_NONBLOCK));
		EXPECT_EQ(LARGE, mb.meta->subbuf_size);
		buffer_unmap(&mb);
	}
}

/* SUBBUF-2: An instance has its own size. */
TEST_F(size, it_leaves_other_instances_alone)
{
	struct trace_instance other;

	ASSERT_EQ(0, instance_open(&other, false, 0));
	EXPECT_EQ(0, set_size(&self->ti, 4 * page_kb()));
	EXPECT_EQ(page_kb(), instance_number(&other, SIZE_FILE));
	EXPECT_EQ(0, set_size(&other, 2 * page_kb()));
	EXPECT_EQ(4 * page_kb(), instance_number(&self->ti, SIZE_FILE));
	EXPECT_EQ(0, instance_close(&other));
}

/* SUBBUF-21: The ring has two sub-buffers at least, however little memory is asked for. */
TEST_F(size, a_buffer_of_the_least_size_works)
{
	struct mapped_buffer mb;

	ASSERT_EQ(0, instance_write(&self->ti, "buffer_size_kb", "1"));
	ASSERT_EQ(0, buffer_map(&mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	EXPECT_EQ(3, mb.meta->nr_subbufs);
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_drain(&self->tally, &mb));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.next);
	buffer_unmap(&mb);
}

/* SUBBUF-3 */
TEST_F(size, it_is_rounded_up_to_a_power_of_two_of_pages)
{
	unsigned int kb, pages;

	for (kb = 1; kb <= 16 * page_kb(); kb += page_kb() / 4) {
		for (pages = 1; pages * page_kb() < kb; pages *= 2)
			;
		ASSERT_EQ(0, set_size(&self->ti, kb));
		ASSERT_EQ(pages * page_kb(),
			  instance_number(&self->ti, SIZE_FILE));
	}
}

/* SUBBUF-4 */
TEST_F(size, it_may_be_as_large_as_128_pages_and_1_megabyte)
{
	ASSERT_EQ(0, set_size(&self->ti, largest_kb()));
	EXPECT_EQ(largest_kb(), instance_number(&self->ti, SIZE_FILE));
	/* rounded up to that */
	ASSERT_EQ(0, set_size(&self->ti, page_kb()));
	ASSERT_EQ(0, set_size(&self->ti, largest_kb() / 2 + 1));
	EXPECT_EQ(largest_kb(), instance_number(&self->ti, SIZE_FILE));
}

/* The writes that have to be refused leave size and events as they are. */
static void expect_size_refused(struct __test_metadata *_metadata,
				struct trace_instance *ti, int error,
				const char *text)
{
	long long size = instance_number(ti, SIZE_FILE);

	ASSERT_EQ(0, write_events(ti, 1, EVENT_LARGE));
	EXPECT_EQ(error, instance_write(ti, SIZE_FILE, text))
		TH_LOG("written: \"%s\"", text);
	EXPECT_EQ(size, instance_number(ti, SIZE_FILE));
	EXPECT_EQ(ti->seq, count_trace_lines(ti, "trace"));
}

/* SUBBUF-5 */
TEST_F(size, more_than_the_largest_is_refused_with_EINVAL)
{
	char text[32];

	snprintf(text, sizeof(text), "%u", largest_kb() + 1);
	expect_size_refused(_metadata, &self->ti, -EINVAL, text);
	snprintf(text, sizeof(text), "%u", 2 * largest_kb());
	expect_size_refused(_metadata, &self->ti, -EINVAL, text);
	expect_size_refused(_metadata, &self->ti, KERNEL_LONG == 4 ? -ERANGE : -EINVAL,
			    "4294967296");
}

/* SUBBUF-5: Sizes whose bytes do not fit an unsigned long. */
TEST_F(size, sizes_that_wrap_are_refused_with_EINVAL)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", ~0UL);
	expect_size_refused(_metadata, &self->ti, -EINVAL, text);
	snprintf(text, sizeof(text), "%lu", ~0UL / 1024 + 1 + 4);
	expect_size_refused(_metadata, &self->ti, -EINVAL, text);
	snprintf(text, sizeof(text), "%lu", ~0UL / 2 + 1);
	expect_size_refused(_metadata, &self->ti, -EINVAL, text);
}

/* SUBBUF-5 */
TEST_F(size, zero_is_refused_with_EINVAL)
{
	expect_size_refused(_metadata, &self->ti, -EINVAL, "0");
}

/* SUBBUF-5 */
TEST_F(size, what_is_not_a_number_is_refused_with_EINVAL)
{
	static const char * const texts[] = {
		"four", "-4", "4k", "8 8", "\n", "0.5", "0x10",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		expect_size_refused(_metadata, &self->ti, -EINVAL, texts[i]);
}

/* SUBBUF-2: It is decimal, whatever it begins with: 020 is 20, for which 16 KiB are too few. */
TEST_F(size, a_number_that_begins_with_0_is_decimal)
{
	long long size;

	ASSERT_EQ(0, instance_write(&self->ti, SIZE_FILE, "20"));
	size = instance_number(&self->ti, SIZE_FILE);
	ASSERT_LE(20, size);
	ASSERT_EQ(0, instance_write(&self->ti, SIZE_FILE, "020"));
	EXPECT_EQ(size, instance_number(&self->ti, SIZE_FILE));
}

/* SUBBUF-6 */
TEST_F(size, beyond_an_unsigned_long_is_refused_with_ERANGE)
{
	expect_size_refused(_metadata, &self->ti, -ERANGE,
			    "18446744073709551616");
	expect_size_refused(_metadata, &self->ti, -ERANGE,
			    "99999999999999999999999999");
}

/* SUBBUF-7 */
TEST_F(size, the_present_size_is_success_and_discards_nothing)
{
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	ASSERT_EQ(0, set_size(&self->ti, page_kb()));
	EXPECT_EQ(5, count_trace_lines(&self->ti, "trace"));
	ASSERT_EQ(0, use_size(&self->ti, LARGE_KB));
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	ASSERT_EQ(0, set_size(&self->ti, LARGE_KB));
	/* rounded up, it is the present one */
	ASSERT_EQ(0, set_size(&self->ti, LARGE_KB / 2 + 1));
	EXPECT_EQ(5, count_trace_lines(&self->ti, "trace"));
}

/* HOLD-4, SUBBUF-8 */
TEST_F(size, a_mapped_cpu_makes_it_answer_EBUSY)
{
	struct mapped_buffer mb;
	char text[32];

	snprintf(text, sizeof(text), "%u", LARGE_KB);
	ASSERT_EQ(0, buffer_map(&mb, &self->ti, self->ti.other_cpu, 0));
	expect_size_refused(_metadata, &self->ti, -EBUSY, text);
	buffer_unmap(&mb);
	EXPECT_EQ(0, set_size(&self->ti, LARGE_KB));
}

/*
 * SUBBUF-8: A writer on another CPU would get EBADF while tracing is held up, and end. The CPU
 * that is mapped is not the first one that the kernel looks at.
 */
TEST_F(size, a_change_that_is_refused_holds_up_no_writer)
{
	struct mapped_buffer mb;
	unsigned int tries;
	pid_t pid;

	pid = fork_writer_beside(&mb, &self->ti);
	ASSERT_LE(0, pid);
	for (tries = 0; tries < 100 && child_status(pid, 0) == -EAGAIN; tries++)
		EXPECT_EQ(-EBUSY, set_size(&self->ti, LARGE_KB));
	EXPECT_EQ(100, tries);
	EXPECT_EQ(0, kill_child(pid));
	buffer_unmap(&mb);
}

/* SUBBUF-8 */
TEST_F(size, an_open_trace_makes_it_answer_EBUSY)
{
	int trace;

	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	trace = instance_file(&self->ti, "trace", O_RDONLY);
	ASSERT_LE(0, trace);
	EXPECT_EQ(-EBUSY, set_size(&self->ti, LARGE_KB));
	EXPECT_EQ(page_kb(), instance_number(&self->ti, SIZE_FILE));
	close(trace);
	EXPECT_EQ(5, count_trace_lines(&self->ti, "trace"));
	EXPECT_EQ(0, set_size(&self->ti, LARGE_KB));
}

/* SUBBUF-8 */
TEST_F(size, an_open_trace_of_one_cpu_makes_it_answer_EBUSY)
{
	int trace = cpu_file(&self->ti, self->ti.other_cpu, "trace", O_RDONLY);

	ASSERT_LE(0, trace);
	EXPECT_EQ(-EBUSY, set_size(&self->ti, LARGE_KB));
	close(trace);
	EXPECT_EQ(0, set_size(&self->ti, LARGE_KB));
}

/* SUBBUF-9 */
TEST_F(size, changing_it_discards_the_events)
{
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	ASSERT_EQ(0, set_size(&self->ti, LARGE_KB));
	EXPECT_EQ(0, count_trace_lines(&self->ti, "trace"));
	ASSERT_EQ(0, write_events(&self->ti, 7, EVENT_LARGE));
	EXPECT_EQ(7, count_trace_lines(&self->ti, "trace"));
	ASSERT_EQ(0, set_size(&self->ti, page_kb()));
	EXPECT_EQ(0, count_trace_lines(&self->ti, "trace"));
}

/* SUBBUF-9 */
TEST_F(size, changing_it_discards_the_snapshot)
{
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	ASSERT_EQ(5, count_trace_lines(&self->ti, "snapshot"));
	ASSERT_EQ(0, set_size(&self->ti, LARGE_KB));
	EXPECT_EQ(0, count_trace_lines(&self->ti, "snapshot"));
}

/* SUBBUF-9 */
TEST_F(size, changing_it_restarts_every_counter)
{
	static const char * const names[] = {
		"entries", "overrun", "commit overrun", "bytes",
		"dropped events", "read events",
	};
	struct mapped_buffer mb;
	size_t i;

	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(0, buffer_map(&mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	ASSERT_LT(0, tally_get_reader(&self->tally, &mb));
	buffer_unmap(&mb);
	ASSERT_EQ(0, set_size(&self->ti, LARGE_KB));
	for (i = 0; i < ARRAY_SIZE(names); i++)
		EXPECT_EQ(0, cpu_stat(&self->ti, self->ti.cpu, names[i]))
			TH_LOG("counter %zu", i);
	ASSERT_EQ(0, buffer_map(&mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	EXPECT_EQ(0, mb.meta->entries);
	EXPECT_EQ(0, mb.meta->overrun);
	EXPECT_EQ(0, mb.meta->read);
	EXPECT_EQ(0, mb.meta->pages_lost);
	EXPECT_EQ(0, mb.meta->reader.lost_events);
	buffer_unmap(&mb);
}

/* SUBBUF-23 */
TEST_F(size, changing_it_restarts_the_times_of_the_latency_format)
{
	char text[4096] = "", tag[32], *at;
	long long start, us;

	ASSERT_EQ(0, instance_write(&self->ti, "trace_clock", "mono"));
	ASSERT_EQ(0, instance_write(&self->ti, "options/latency-format", "1"));
	sleep_ms(500);
	start = monotonic_ns();
	ASSERT_EQ(0, set_size(&self->ti, LARGE_KB));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	us = (monotonic_ns() - start) / 1000;
	EXPECT_LT(0, instance_read(&self->ti, "trace", text, sizeof(text)));
	EXPECT_EQ(0, instance_write(&self->ti, "options/latency-format", "0"));
	/* A line has 123us : # 72627473 buf: ... */
	snprintf(tag, sizeof(tag), ": # %x buf:", EVENT_TAG);
	at = strstr(text, tag);
	ASSERT_NE(NULL, at)
		TH_LOG("%s", text);
	for (at -= strlen("us "); at > text && at[-1] >= '0' && at[-1] <= '9'; at--)
		;
	EXPECT_EQ('u', at[strspn(at, "0123456789")]);
	EXPECT_GE(us + 100000, strtoll(at, NULL, 10))
		TH_LOG("%lld us: %s", us, at);
}

/* SUBBUF-9: The bytes a CPU's buffer was asked to hold stay about the same. */
TEST_F(size, changing_it_keeps_the_size_of_the_buffer)
{
	unsigned int kb = 8 * LARGE_KB;

	ASSERT_EQ(0, instance_write_number(&self->ti, "buffer_size_kb", kb));
	ASSERT_EQ(0, set_size(&self->ti, LARGE_KB));
	EXPECT_LE(kb - LARGE_KB, instance_number(&self->ti, "buffer_size_kb"));
	EXPECT_GE(kb + LARGE_KB, instance_number(&self->ti, "buffer_size_kb"));
}

static unsigned int count_subbufs(struct trace_instance *ti)
{
	struct mapped_buffer mb;
	unsigned int nr;

	if (buffer_map(&mb, ti, ti->cpu, O_NONBLOCK))
		return 0;
	nr = mb.meta->nr_subbufs;
	buffer_unmap(&mb);
	return nr;
}

/* SUBBUF-9: What is rounded up once is not rounded up again. */
TEST_F(size, changing_it_back_and_forth_does_not_enlarge_it)
{
	unsigned int first = 0;
	int i;

	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, set_size(&self->ti, largest_kb()));
		if (!i)
			first = count_subbufs(&self->ti);
		ASSERT_LT(0, first);
		EXPECT_EQ(first, count_subbufs(&self->ti));
		ASSERT_EQ(0, set_size(&self->ti, page_kb()));
	}
}

/* SUBBUF-9: Each CPU has its own, which is told for it. */
TEST_F(size, changing_it_keeps_the_size_of_each_cpu)
{
	const int cpus[] = { self->ti.cpu, self->ti.other_cpu };
	unsigned int i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, cpu_write_number(&self->ti, cpus[i], "buffer_size_kb",
					      8 * (i + 1) * LARGE_KB));
	ASSERT_EQ(0, set_size(&self->ti, LARGE_KB));
	for (i = 0; i < 2; i++) {
		EXPECT_LE((8 * (i + 1) - 1) * LARGE_KB,
			  cpu_number(&self->ti, cpus[i], "buffer_size_kb"));
		EXPECT_GE((8 * (i + 1) + 1) * LARGE_KB,
			  cpu_number(&self->ti, cpus[i], "buffer_size_kb"));
	}
	ASSERT_EQ(0, cpu_write(&self->ti, self->ti.cpu, "buffer_size_kb", "8"));
	ASSERT_EQ(0, cpu_write(&self->ti, self->ti.other_cpu, "buffer_size_kb", "8"));
}

/* SUBBUF-10 */
TEST_F(size, ENOMEM_leaves_the_buffer_untouched)
{
	long long kb = memory_kb("MemAvailable") / 10 * 6;

	ASSERT_LT(0, kb);
	ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
				      kb));
	kb = cpu_number(&self->ti, self->ti.cpu, "buffer_size_kb");
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	EXPECT_EQ(-ENOMEM, set_size(&self->ti, LARGE_KB));
	EXPECT_EQ(page_kb(), instance_number(&self->ti, SIZE_FILE));
	EXPECT_EQ(5, count_trace_lines(&self->ti, "trace"));
	EXPECT_EQ(kb, cpu_number(&self->ti, self->ti.cpu, "buffer_size_kb"));
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	EXPECT_EQ(10, count_trace_lines(&self->ti, "trace"));
	ASSERT_EQ(0, cpu_write(&self->ti, self->ti.cpu, "buffer_size_kb", "8"));
	/* What a change excludes works again. */
	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	ASSERT_EQ(0, cpu_write(&self->ti, self->ti.cpu, "snapshot", "1"));
	EXPECT_EQ(3, count_trace_lines(&self->ti, "snapshot"));
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "0"));
	EXPECT_EQ(0, set_size(&self->ti, LARGE_KB));
}

/* SUBBUF-9: What was the reader's, and what is kept for the next reader, is freed as well. */
TEST_F(size, changing_it_leaks_no_memory)
{
	static unsigned char page[1 << 20];
	const int rounds = 40;
	long long before = 0, after;
	int i, fd;

	/* KASAN keeps what was freed for a while: the first rounds give it its fill. */
	for (i = 0; i < 3 * rounds; i++) {
		if (i == 2 * rounds)
			before = memory_kb("MemFree");
		ASSERT_EQ(0, set_size(&self->ti, largest_kb()));
		ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
		fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
		ASSERT_LE(0, fd);
		ASSERT_LT(0, read(fd, page, sizeof(page)));
		close(fd);
		ASSERT_EQ(0, set_size(&self->ti, page_kb()));
	}
	after = memory_kb("MemFree");
	ASSERT_LT(0, before);
	EXPECT_GT(rounds * largest_kb() / 2, before - after)
		TH_LOG("%lld KiB before, %lld after", before, after);
}

/* SUBBUF-9, SUBBUF-20: A reader that goes on has another page, and the one it had is freed. */
TEST_F(size, a_reader_that_goes_on_leaks_no_page)
{
	static unsigned char page[1 << 20];
	const int rounds = 40;
	long long before = 0, after;
	int i, fd;

	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, fd);
	for (i = 0; i < 3 * rounds; i++) {
		if (i == 2 * rounds)
			before = memory_kb("MemFree");
		ASSERT_EQ(0, set_size(&self->ti, i % 2 ? page_kb() : largest_kb()));
		ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
		/* All that there is, so that the next read() takes a page of the other size. */
		ASSERT_LT(0, read(fd, page, getpagesize()));
	}
	after = memory_kb("MemFree");
	close(fd);
	ASSERT_EQ(0, set_size(&self->ti, page_kb()));
	ASSERT_LT(0, before);
	EXPECT_GT(rounds / 2 * largest_kb() / 2, before - after)
		TH_LOG("%lld KiB before, %lld after", before, after);
}

/* SUBBUF-8: A snapshot that is open has its pages in use. */
TEST_F(size, changing_it_is_refused_with_EBUSY_while_snapshot_is_open)
{
	int fd;

	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	ASSERT_EQ(0, write_events(&self->ti, 4, EVENT_LARGE));
	fd = instance_file(&self->ti, "snapshot", O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EBUSY, set_size(&self->ti, LARGE_KB));
	EXPECT_EQ(page_kb(), instance_number(&self->ti, SIZE_FILE));
	close(fd);
	EXPECT_EQ(3, count_trace_lines(&self->ti, "snapshot"));
	EXPECT_EQ(4, count_trace_lines(&self->ti, "trace"));
	EXPECT_EQ(0, set_size(&self->ti, LARGE_KB));
}

/* A pipe for @size, with a byte in it. */
static int begun_pipe(int *pipes, size_t size)
{
	if (pipe(pipes) || fcntl(pipes[1], F_SETPIPE_SZ, size) < 0)
		return -errno;
	return write(pipes[1], "x", 1) == 1 ? 0 : -errno;
}

/* SUBBUF-20: The first splice has moved the position by one small sub-buffer. */
TEST_F(size, splice_goes_on_after_a_change_of_the_size)
{
	size_t small = self->ti.subbuf_kb * 1024;
	int raw, pipes[2];

	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	raw = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, raw);
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_LE((int)(2 * LARGE), fcntl(pipes[1], F_SETPIPE_SZ, 2 * LARGE));
	ASSERT_LT(0, write_bytes(&self->ti, 3 * small, EVENT_LARGE));
	EXPECT_EQ(small, splice(raw, NULL, pipes[1], NULL, small, SPLICE_F_NONBLOCK));
	ASSERT_EQ(0, use_size(&self->ti, LARGE_KB));
	ASSERT_LT(0, write_bytes(&self->ti, 3 * LARGE, EVENT_LARGE));
	EXPECT_EQ(LARGE, splice(raw, NULL, pipes[1], NULL, LARGE, SPLICE_F_NONBLOCK));
	close(pipes[0]);
	close(pipes[1]);
	close(raw);
}

/* SUBBUF-13: Whether a pipe has too little room for now, or for ever. */
TEST_F(size, splice_to_a_pipe_without_room_answers_EAGAIN_or_EINVAL)
{
	int raw, pipes[2];
	char c;

	ASSERT_EQ(0, use_size(&self->ti, LARGE_KB));
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_LT(0, write_bytes(&self->ti, 3 * LARGE, EVENT_LARGE));
	raw = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, raw);
	ASSERT_EQ(0, begun_pipe(pipes, LARGE / 2));
	EXPECT_EQ(-1, splice(raw, NULL, pipes[1], NULL, LARGE, SPLICE_F_NONBLOCK));
	EXPECT_EQ(EINVAL, errno);
	close(pipes[0]);
	close(pipes[1]);
	ASSERT_EQ(0, begun_pipe(pipes, LARGE));
	EXPECT_EQ(-1, splice(raw, NULL, pipes[1], NULL, LARGE, SPLICE_F_NONBLOCK));
	EXPECT_EQ(EAGAIN, errno);
	ASSERT_EQ(1, read(pipes[0], &c, 1));
	EXPECT_EQ(LARGE, splice(raw, NULL, pipes[1], NULL, LARGE, SPLICE_F_NONBLOCK));
	close(pipes[0]);
	close(pipes[1]);
	close(raw);
}

/* SUBBUF-10: The memory for one CPU can be had, that for the next one cannot: all is given back. */
TEST_F(size, ENOMEM_leaks_no_memory)
{
	long long kb = memory_kb("MemAvailable") / 10, before, after;

	ASSERT_LT(0, kb);
	ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.other_cpu, "buffer_size_kb", kb));
	ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb", 5 * kb));
	before = memory_kb("MemAvailable");
	EXPECT_EQ(-ENOMEM, set_size(&self->ti, LARGE_KB));
	EXPECT_EQ(-ENOMEM, set_size(&self->ti, LARGE_KB));
	after = memory_kb("MemAvailable");
	EXPECT_GT(kb, before - after)
		TH_LOG("%lld KiB before, %lld after", before, after);
	ASSERT_EQ(0, cpu_write(&self->ti, self->ti.cpu, "buffer_size_kb", "8"));
	ASSERT_EQ(0, cpu_write(&self->ti, self->ti.other_cpu, "buffer_size_kb", "8"));
}

/* The least MemFree, in KiB, until the child @pid has ended, whose status is then in @status. */
static long long least_free(pid_t pid, int *status)
{
	long long now, least = memory_kb("MemFree");

	do {
		*status = child_status(pid, 1);
		now = memory_kb("MemFree");
		least = now < least ? now : least;
	} while (*status == -EAGAIN);
	return least;
}

/* SUBBUF-10: It is not tried until nothing is left for others. */
TEST_F(size, a_size_beyond_memory_is_refused_before_memory_is_taken)
{
	struct trace_instance *ti = &self->ti;
	long long kb, least;
	pid_t pid;
	int status;

	ASSERT_EQ(0, use_size(ti, LARGE_KB));
	kb = memory_kb("MemFree");
	ASSERT_LT(0, kb);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(-cpu_write_number(ti, ti->cpu, "buffer_size_kb",
					2 * memory_kb("MemAvailable")));
	least = least_free(pid, &status);
	EXPECT_EQ(ENOMEM, status);
	EXPECT_LT(kb / 2, least)
		TH_LOG("%lld KiB were free before, %lld meanwhile", kb, least);
}

/* SUBBUF-10 */
TEST_F(size, freeing_a_snapshot_takes_no_memory_for_another)
{
	long long size = memory_kb("MemAvailable") / 4, kb, least;
	struct trace_instance *ti = &self->ti;
	pid_t pid;
	int status;

	ASSERT_LT(0, size);
	ASSERT_EQ(0, use_size(ti, LARGE_KB));
	ASSERT_EQ(0, cpu_write_number(ti, ti->cpu, "buffer_size_kb", size));
	ASSERT_EQ(0, instance_write(ti, "snapshot", "1"));
	kb = memory_kb("MemFree");
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(-instance_write(ti, "snapshot", "0"));
	least = least_free(pid, &status);
	EXPECT_EQ(0, status);
	EXPECT_LT(kb - size / 2, least)
		TH_LOG("%lld KiB were free before, %lld meanwhile", kb, least);
	EXPECT_LT(kb + size / 2, memory_kb("MemFree"));
	ASSERT_EQ(0, cpu_write(ti, ti->cpu, "buffer_size_kb", "8"));
}

/* SUBBUF-10: The buffer's new memory can be had, the snapshot's cannot. */
TEST_F(size, ENOMEM_for_the_snapshot_leaves_both_untouched)
{
	long long kb = memory_kb("MemAvailable") / 100 * 28;

	ASSERT_LT(0, kb);
	ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
				      kb));
	kb = cpu_number(&self->ti, self->ti.cpu, "buffer_size_kb");
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	ASSERT_EQ(0, write_events(&self->ti, 7, EVENT_LARGE));
	EXPECT_EQ(-ENOMEM, set_size(&self->ti, LARGE_KB));
	EXPECT_EQ(page_kb(), instance_number(&self->ti, SIZE_FILE));
	EXPECT_EQ(7, count_trace_lines(&self->ti, "trace"));
	EXPECT_EQ(5, count_trace_lines(&self->ti, "snapshot"));
	EXPECT_EQ(kb, cpu_number(&self->ti, self->ti.cpu, "buffer_size_kb"));
	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "0"));
	ASSERT_EQ(0, cpu_write(&self->ti, self->ti.cpu, "buffer_size_kb", "8"));
	EXPECT_EQ(0, set_size(&self->ti, LARGE_KB));
}

/* The size of the data in a sub-buffer, by events/header_page. */
static long long header_page_size(struct trace_instance *ti)
{
	char text[1024], *field;

	if (instance_read(ti, "events/header_page", text, sizeof(text)) < 0)
		return -1;
	field = strstr(text, "field: char data;");
	field = field ? strstr(field, "size:") : NULL;
	return field ? strtoll(field + strlen("size:"), NULL, 10) : -1;
}

/* SUBBUF-12 */
TEST_F(size, header_page_tells_the_size)
{
	EXPECT_EQ(getpagesize() - SUBBUF_HEADER, header_page_size(&self->ti));
	ASSERT_EQ(0, set_size(&self->ti, LARGE_KB));
	EXPECT_EQ(LARGE - SUBBUF_HEADER, header_page_size(&self->ti));
	ASSERT_EQ(0, set_size(&self->ti, page_kb()));
	EXPECT_EQ(getpagesize() - SUBBUF_HEADER, header_page_size(&self->ti));
}

/* SUBBUF-21 */
TEST_F(size, header_page_is_as_ever_at_the_default)
{
	char text[1024], want[1024];

	snprintf(want, sizeof(want),
		 "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		 "\tfield: local_t commit;\toffset:8;\tsize:%d;\tsigned:1;\n"
		 "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
		 "\tfield: char data;\toffset:%d;\tsize:%d;\tsigned:%d;\n",
		 KERNEL_LONG, SUBBUF_HEADER, getpagesize() - SUBBUF_HEADER,
		 (char)-1 < 0);
	ASSERT_LT(0, instance_read(&self->ti, "events/header_page", text,
				   sizeof(text)));
	EXPECT_STREQ(want, text);
}

/* SUBBUF-21 */
TEST_F(size, buffer_size_counts_as_ever_at_the_default)
{
	/* The data of 100 pages: 398.4 KiB in those of 4096 - 16 bytes */
	unsigned int kb = 100 * (getpagesize() - SUBBUF_HEADER) / 1024;
	struct mapped_buffer mb;

	ASSERT_EQ(0, instance_write_number(&self->ti, "buffer_size_kb", kb));
	EXPECT_EQ(kb, instance_number(&self->ti, "buffer_size_kb"));
	ASSERT_EQ(0, buffer_map(&mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	EXPECT_EQ(101, mb.meta->nr_subbufs);
	buffer_unmap(&mb);
}

/* What is the same for every size of sub-buffers. */
FIXTURE_VARIANT_ADD(large, instance_512k) {
	.top = false, .subbuf_kb = 512,
};

/* SUBBUF-13 */
TEST_F(large, trace_pipe_raw_reads_whole_sub_buffers)
{
	unsigned char *page = malloc(self->subbuf);

	ASSERT_NE(NULL, page);
	ASSERT_LT(0, write_bytes(&self->ti, 4 * self->subbuf, EVENT_LARGE));
	ASSERT_EQ(self->subbuf, read(self->fd, page, self->subbuf));
	EXPECT_LT(self->subbuf - 1000, subbuf_commit(page) & COMMIT_LENGTH);
	tally_page(&self->tally, page, self->subbuf);
	ASSERT_LT(0, tally_read(&self->tally, self->fd, self->subbuf));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.seen);
	free(page);
}

/* LOSS-5 */
TEST_F(large, loss_is_exact_in_what_is_read)
{
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_read(&self->tally, self->fd, self->subbuf));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.next);
}

/* SUBBUF-13 */
TEST_F(large, trace_pipe_raw_splices_whole_sub_buffers)
{
	unsigned char *page = malloc(self->subbuf);
	int pipes[2], subbufs = 0;
	size_t got;
	ssize_t len;

	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, pipe(pipes));
	/* splice(2) asks for no more than the pipe has slots for, in pages. */
	ASSERT_LE((int)(2 * self->subbuf),
		  fcntl(pipes[1], F_SETPIPE_SZ, 2 * self->subbuf));
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_LT(0, write_bytes(&self->ti, 4 * self->subbuf, EVENT_LARGE));
	while ((len = splice(self->fd, NULL, pipes[1], NULL, 2 * self->subbuf,
			     SPLICE_F_NONBLOCK)) > 0) {
		ASSERT_EQ(0, len % self->subbuf);
		for (got = 0; got < len; got += self->subbuf, subbufs++) {
			ASSERT_EQ(self->subbuf,
				  read(pipes[0], page, self->subbuf));
			tally_page(&self->tally, page, self->subbuf);
		}
	}
	EXPECT_LE(3, subbufs);
	ASSERT_LE(0, tally_read(&self->tally, self->fd, self->subbuf));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.seen);
	close(pipes[0]);
	close(pipes[1]);
	free(page);
}

/* READ-25: After short reads there is a rest on Linux 6.12, which the third read gives. */
TEST_F(large, splice_goes_on_after_short_reads)
{
	unsigned char *page = malloc(self->subbuf);
	int pipes[2];

	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_LE((int)self->subbuf, fcntl(pipes[1], F_SETPIPE_SZ, self->subbuf));
	ASSERT_LT(0, write_bytes(&self->ti, 5 * self->subbuf, EVENT_LARGE));
	EXPECT_LT(0, read(self->fd, page, 6270));
	EXPECT_LT(0, read(self->fd, page, 6270));
	EXPECT_LT(0, read(self->fd, page, self->subbuf));
	EXPECT_EQ(self->subbuf, splice(self->fd, NULL, pipes[1], NULL, self->subbuf,
				       SPLICE_F_NONBLOCK));
	close(pipes[0]);
	close(pipes[1]);
	free(page);
}

/* SUBBUF-13 */
TEST_F(large, splice_of_less_than_a_sub_buffer_is_refused_with_EINVAL)
{
	int pipes[2];

	ASSERT_EQ(0, pipe(pipes));
	ASSERT_LT(0, write_bytes(&self->ti, 2 * self->subbuf, EVENT_LARGE));
	EXPECT_EQ(-1, splice(self->fd, NULL, pipes[1], NULL, self->subbuf / 2,
			     SPLICE_F_NONBLOCK));
	EXPECT_EQ(EINVAL, errno);
	close(pipes[0]);
	close(pipes[1]);
}

/* SUBBUF-14 */
TEST_F(large, trace_shows_every_event)
{
	ASSERT_EQ(0, write_events(&self->ti, 6 * self->ti.subbuf_kb, EVENT_LARGE));
	EXPECT_EQ(self->ti.seq, count_trace_lines(&self->ti, "trace"));
	EXPECT_EQ(self->ti.seq, count_trace_lines(&self->ti, "trace"));
}

/* SUBBUF-15: one that exists when the size changes */
TEST_F(large, a_snapshot_buffer_follows_a_change)
{
	size_t size = 2 * self->subbuf > largest_kb() * 1024 ?
		      self->subbuf / 2 : 2 * self->subbuf;

	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	ASSERT_EQ(0, use_size(&self->ti, size / 1024));
	ASSERT_LT(0, write_bytes(&self->ti, 3 * size, EVENT_LARGE));
	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	EXPECT_EQ(self->ti.seq, count_trace_lines(&self->ti, "snapshot"));
	EXPECT_EQ(0, count_trace_lines(&self->ti, "trace"));
	/* Both are of that size now, whichever is which. */
	ASSERT_EQ(0, write_events(&self->ti, 4, EVENT_LARGE));
	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	EXPECT_EQ(4, count_trace_lines(&self->ti, "snapshot"));
}

/* SUBBUF-15: One that is allocated later. */
TEST_F(large, a_snapshot_buffer_made_later_has_the_size)
{
	int raw;

	ASSERT_LT(0, write_bytes(&self->ti, 3 * self->subbuf, EVENT_LARGE));
	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	raw = cpu_file(&self->ti, self->ti.cpu, "snapshot_raw",
		       O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, raw);
	ASSERT_LE(3, tally_read(&self->tally, raw, self->subbuf));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.seen);
	close(raw);
}

/* SUBBUF-15: A snapshot of one CPU swaps its buffer alone. */
TEST_F(large, a_snapshot_of_one_cpu_swaps_its_buffer)
{
	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	ASSERT_LT(0, write_bytes(&self->ti, 3 * self->subbuf, EVENT_LARGE));
	ASSERT_EQ(0, cpu_write(&self->ti, self->ti.cpu, "snapshot", "1"));
	EXPECT_EQ(self->ti.seq, count_trace_lines(&self->ti, "snapshot"));
	EXPECT_EQ(0, count_trace_lines(&self->ti, "trace"));
}

/* Writes one raw marker of @size bytes; its last word is its size. */
static ssize_t write_one(struct trace_instance *ti, size_t size)
{
	static char bytes[2 << 20];
	struct event_payload *payload = (void *)bytes;
	uint32_t last = size;
	ssize_t ret;

	memset(bytes, 0x5a, size);
	payload->tag = EVENT_TAG;
	payload->seq = ti->seq;
	memcpy(bytes + size - sizeof(last), &last, sizeof(last));
	ret = write(ti->marker, bytes, size);
	if (ret >= 0)
		ti->seq++;
	return ret < 0 ? -errno : ret;
}

/* Record, entry and id: what else there is in an event of a raw marker. */
#define LARGEST_OVERHEAD	32

/* SUBBUF-16 */
TEST_F(large, an_event_may_fill_a_sub_buffer)
{
	size_t size = self->subbuf - SUBBUF_HEADER - LARGEST_OVERHEAD;
	unsigned char *page = malloc(self->subbuf);
	uint32_t last = 0, end, i;

	ASSERT_NE(NULL, page);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(size, write_one(&self->ti, size));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(self->subbuf, read(self->fd, page, self->subbuf));
		tally_page(&self->tally, page, self->subbuf);
		end = SUBBUF_HEADER + 4 + 4 + 8 + size;
		memcpy(&last, page + end - sizeof(last), sizeof(last));
		EXPECT_EQ(size, last);
	}
	EXPECT_EQ(3, self->tally.seen);
	EXPECT_TRUE(tally_exact(&self->tally));
	free(page);
}

/* SUBBUF-16: no larger event is written; the largest one leaves no room in a sub-buffer. */
TEST_F(large, trace_marker_raw_goes_up_to_the_largest_event)
{
	size_t low = self->subbuf / 2, high = self->subbuf;
	unsigned char *page = malloc(self->subbuf);

	ASSERT_NE(NULL, page);
	ASSERT_EQ(low, write_one(&self->ti, low));
	EXPECT_GT(0, write_one(&self->ti, high));
	while (high - low > 4) {
		size_t middle = (low + (high - low) / 2) & ~3UL;

		if (write_one(&self->ti, middle) == middle)
			low = middle;
		else
			high = middle;
	}
	EXPECT_LE(self->subbuf - SUBBUF_HEADER - LARGEST_OVERHEAD, low);
	ASSERT_LT(0, tally_read(&self->tally, self->fd, self->subbuf));
	EXPECT_EQ(0, self->tally.malformed);
	EXPECT_EQ(self->ti.seq, self->tally.next);
	EXPECT_GT(0, write_one(&self->ti, self->subbuf + 4096));
	ASSERT_EQ(low, write_one(&self->ti, low));
	ASSERT_EQ(self->subbuf, read(self->fd, page, self->subbuf));
	EXPECT_EQ(self->subbuf - SUBBUF_HEADER, subbuf_commit(page) & COMMIT_LENGTH);
	free(page);
}

/* SUBBUF-21, SUBBUF-22 */
TEST_F(size, trace_marker_raw_keeps_1024_bytes_at_first)
{
	EXPECT_EQ(1000, write_one(&self->ti, 1000));
	EXPECT_EQ(1024, write_one(&self->ti, 2000));
	EXPECT_EQ(1024, write_one(&self->ti, 3072));
	EXPECT_EQ(-EINVAL, write_one(&self->ti, 3076));
}

/* The longest text that is taken with larger sub-buffers. */
#define MARKER_MAX	3800

/* The number of bytes that trace_marker takes of @size. */
static ssize_t write_text(struct trace_instance *ti, size_t size)
{
	static char text[16384];
	int fd = instance_file(ti, "trace_marker", O_WRONLY);
	ssize_t ret;

	memset(text, 'x', size);
	ret = write(fd, text, size);
	close(fd);
	return ret < 0 ? -errno : ret;
}

/* SUBBUF-18 */
TEST_F(large, trace_marker_takes_3800_bytes_and_says_so)
{
	ASSERT_EQ(MARKER_MAX, write_text(&self->ti, MARKER_MAX));
	EXPECT_EQ(MARKER_MAX, write_text(&self->ti, MARKER_MAX + 1));
	EXPECT_EQ(MARKER_MAX, write_text(&self->ti, 4096));
	EXPECT_EQ(MARKER_MAX, write_text(&self->ti, 5000));
	EXPECT_EQ(100, write_text(&self->ti, 100));
}

/* Lines of a trace file that contain @text. */
static long count_lines_with(struct trace_instance *ti, const char *file,
			     const char *text)
{
	char path[256], *line = NULL;
	size_t size = 0;
	long count = 0;
	FILE *trace;

	if (instance_path(ti, path, sizeof(path), file))
		return -1;
	trace = fopen(path, "r");
	if (!trace)
		return -1;
	while (getline(&line, &size, trace) > 0)
		count += !!strstr(line, text);
	free(line);
	fclose(trace);
	return count;
}

/* Lines are longest with all of these, with a loss, and where a CPU's buffer begins. */
static void set_long_lines(struct trace_instance *ti, const char *on)
{
	static const char * const options[] = {
		"options/annotate", "options/latency-format", "options/sym-addr",
		"options/sym-offset", "options/verbose",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(options); i++)
		instance_write(ti, options[i], on);
}

/* SUBBUF-18 */
TEST_F(large, no_marker_prints_LINE_TOO_BIG)
{
	static const char last[] = "xxxxxxxx\n";
	int lines = 2 * (TEST_SUBBUFS + 3) * self->subbuf / 4096, i;

	for (i = 0; i < lines; i++)
		ASSERT_EQ(MARKER_MAX, write_text(&self->ti, 4096));
	EXPECT_EQ(0, count_lines_with(&self->ti, "trace", "[LINE TOO BIG]"));
	EXPECT_LT(1, count_lines_with(&self->ti, "trace", last));
	set_long_lines(&self->ti, "1");
	EXPECT_EQ(0, count_lines_with(&self->ti, "trace", "[LINE TOO BIG]"));
	EXPECT_LT(1, count_lines_with(&self->ti, "trace", last));
	set_long_lines(&self->ti, "0");
	ASSERT_EQ(0, instance_write(&self->ti, "options/annotate", "1"));
}

/* How a line of the trace shows the event of write_events() with that number. */
static const char *event_text(uint32_t seq)
{
	static char text[32];
	unsigned char b[4];

	memcpy(b, &seq, sizeof(b));
	snprintf(text, sizeof(text), "buf: %02x %02x %02x %02x", b[0], b[1], b[2], b[3]);
	return text;
}

/* SUBBUF-19 */
TEST_F(large, text_that_fits_no_line_prints_LINE_TOO_BIG)
{
	size_t size = self->subbuf / 4 * 3;

	/* Each byte prints as three characters: more than a page of them. */
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	ASSERT_EQ(size, write_one(&self->ti, size));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	EXPECT_EQ(1, count_lines_with(&self->ti, "trace", "[LINE TOO BIG]"));
	/* What comes before and after it is there. */
	EXPECT_EQ(1, count_lines_with(&self->ti, "trace", event_text(0)));
	EXPECT_EQ(1, count_lines_with(&self->ti, "trace", event_text(2)));
}

/* SUBBUF-19 */
TEST_F(large, trace_pipe_prints_LINE_TOO_BIG_and_goes_on)
{
	int pipe = instance_file(&self->ti, "trace_pipe",
				 O_RDONLY | O_NONBLOCK);
	size_t size = self->subbuf / 4 * 3, done = 0;
	size_t most = 16 * getpagesize();
	char *text = calloc(1, most);
	ssize_t len;

	ASSERT_LE(0, pipe);
	ASSERT_NE(NULL, text);
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	ASSERT_EQ(size, write_one(&self->ti, size));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	while ((len = read(pipe, text + done, most - 1 - done)) > 0)
		done += len;
	close(pipe);
	EXPECT_NE(NULL, strstr(text, event_text(0)));
	EXPECT_NE(NULL, strstr(text, "[LINE TOO BIG]"));
	EXPECT_NE(NULL, strstr(text, event_text(2)));
	free(text);
}

/* SUBBUF-17 */
TEST_F(size, trace_marker_keeps_its_1024_bytes_at_the_default)
{
	EXPECT_EQ(1024, write_text(&self->ti, 1024));
	EXPECT_EQ(1024, write_text(&self->ti, 1025));
	EXPECT_EQ(1024, write_text(&self->ti, 4096));
	/* and gets them back when the default is restored */
	ASSERT_EQ(0, set_size(&self->ti, LARGE_KB));
	EXPECT_EQ(MARKER_MAX, write_text(&self->ti, 4096));
	ASSERT_EQ(0, set_size(&self->ti, page_kb()));
	EXPECT_EQ(1024, write_text(&self->ti, 4096));
}

/* SUBBUF-20 */
TEST_F(size, a_reader_that_was_open_reads_on_after_a_change)
{
	unsigned int sizes[] = {
		LARGE_KB, page_kb(), scaled_kb(8), largest_kb(), page_kb(),
	};
	int fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
			  O_RDONLY | O_NONBLOCK);
	unsigned char *page = malloc(largest_kb() * 1024);
	size_t i;

	ASSERT_LE(0, fd);
	ASSERT_NE(NULL, page);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t bytes = sizes[i] * 1024;

		ASSERT_LT(0, write_bytes(&self->ti, bytes / 2, EVENT_LARGE));
		/* Part of a sub-buffer, so that a spare page is kept. */
		ASSERT_LT(0, read(fd, page, 1024));
		ASSERT_EQ(0, use_size(&self->ti, sizes[i]));
		/* What was begun may be handed out still. */
		while (read(fd, page, 1024) > 0)
			;
		memset(&self->tally, 0, sizeof(self->tally));
		self->tally.next = self->ti.seq;
		ASSERT_LT(0, write_bytes(&self->ti, 3 * bytes, EVENT_LARGE));
		ASSERT_LT(0, tally_read(&self->tally, fd, bytes));
		EXPECT_TRUE(tally_exact(&self->tally));
		EXPECT_EQ(self->ti.seq, self->tally.next);
	}
	close(fd);
	free(page);
}

/*
 * SUBBUF-20: a reader that was open before a change gives its page back after it. The
 * next reader gets one of the size there is.
 */
TEST_F(size, pages_given_back_are_not_used_for_another_size)
{
	unsigned int sizes[] = {
		page_kb(), LARGE_KB, page_kb(), largest_kb(), scaled_kb(8), LARGE_KB,
	};
	int fd = -1;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t bytes = sizes[i] * 1024;

		ASSERT_EQ(0, use_size(&self->ti, sizes[i]));
		/* It has a page of the size before this one. */
		if (fd >= 0)
			close(fd);
		fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
			      O_RDONLY | O_NONBLOCK);
		ASSERT_LE(0, fd);
		memset(&self->tally, 0, sizeof(self->tally));
		self->tally.next = self->ti.seq;
		ASSERT_LT(0, write_bytes(&self->ti, 3 * bytes, EVENT_LARGE));
		ASSERT_LT(0, tally_read(&self->tally, fd, bytes));
		EXPECT_TRUE(tally_exact(&self->tally));
		EXPECT_EQ(self->ti.seq, self->tally.next);
	}
	close(fd);
}

/* SUBBUF-20 */
TEST_F(size, piped_sub_buffers_survive_a_change)
{
	int fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
			  O_RDONLY | O_NONBLOCK);
	unsigned char *page = malloc(LARGE);
	int pipes[2];

	ASSERT_LE(0, fd);
	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_EQ(0, use_size(&self->ti, LARGE_KB));
	ASSERT_LT(0, write_bytes(&self->ti, 3 * LARGE, EVENT_LARGE));
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(LARGE, splice(fd, NULL, pipes[1], NULL, LARGE,
				SPLICE_F_NONBLOCK));
	ASSERT_EQ(0, use_size(&self->ti, page_kb()));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(LARGE, read(pipes[0], page, LARGE));
	tally_page(&self->tally, page, LARGE);
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_LT(100, self->tally.seen);
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
	free(page);
}

#define SPLICED_KB	(32 << 10)

/* Writes a sub-buffer and a bit, takes the former by splice(2) and throws it away. */
static ssize_t splice_one(struct trace_instance *ti, int fd, int *pipes, char *page, size_t size)
{
	ssize_t len;

	if (write_bytes(ti, size + EVENT_LARGE, EVENT_LARGE) < 0)
		return -1;
	len = splice(fd, NULL, pipes[1], NULL, size, SPLICE_F_NONBLOCK);
	return len > 0 ? read(pipes[0], page, size) : len;
}

/* SUBBUF-13: The memory of a sub-buffer that was spliced is given back, all its pages. */
TEST_F(size, splicing_leaks_no_memory)
{
	int fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
			  O_RDONLY | O_NONBLOCK);
	char *page = malloc(LARGE);
	long long before, after;
	unsigned int i;
	int pipes[2];

	ASSERT_LE(0, fd);
	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_EQ(0, use_size(&self->ti, LARGE_KB));
	ASSERT_EQ(0, pipe(pipes));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(LARGE, splice_one(&self->ti, fd, pipes, page, LARGE));
	before = memory_kb("MemFree");
	for (i = 0; i < SPLICED_KB / LARGE_KB; i++)
		ASSERT_EQ(LARGE, splice_one(&self->ti, fd, pipes, page, LARGE));
	after = memory_kb("MemFree");
	ASSERT_LT(0, before);
	EXPECT_GT(SPLICED_KB / 2, before - after)
		TH_LOG("%lld KiB before, %lld after", before, after);
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
	free(page);
}

/*
 * Each of these goes on until it is killed, and ends by itself only for what it saw.
 */
static void read_raw_forever(struct trace_instance *ti)
{
	size_t size = largest_kb() * 1024;
	unsigned char *page = malloc(size);
	int fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	ssize_t len;

	while (fd >= 0 && page) {
		struct tally one = { .unknown_loss = true };

		len = read(fd, page, size);
		if (len > SUBBUF_HEADER && len >= getpagesize())
			tally_page(&one, page, len);
		if (one.malformed)
			return;
	}
}

static void read_parts_forever(struct trace_instance *ti)
{
	char part[1000];
	int fd;

	for (;;) {
		fd = cpu_file(ti, ti->cpu, "trace_pipe_raw",
			      O_RDONLY | O_NONBLOCK);
		if (fd < 0)
			return;
		if (read(fd, part, sizeof(part)) > 0)
			read(fd, part, sizeof(part));
		close(fd);
	}
}

static void splice_forever(struct trace_instance *ti)
{
	static char bytes[1 << 20];
	int fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	int pipes[2];

	if (fd < 0 || pipe(pipes) || fcntl(pipes[0], F_SETFL, O_NONBLOCK))
		return;
	for (;;) {
		splice(fd, NULL, pipes[1], NULL, sizeof(bytes),
		       SPLICE_F_NONBLOCK);
		while (read(pipes[0], bytes, sizeof(bytes)) > 0)
			;
	}
}

static void read_trace_forever(struct trace_instance *ti)
{
	while (count_trace_lines(ti, "trace") >= 0)
		sleep_ms(1);
}

static void read_trace_pipe_forever(struct trace_instance *ti)
{
	int fd = instance_file(ti, "trace_pipe", O_RDONLY | O_NONBLOCK);
	char text[4096];

	while (fd >= 0)
		read(fd, text, sizeof(text));
}

static void map_forever(struct trace_instance *ti)
{
	struct mapped_buffer mb;
	int i;

	for (;;) {
		struct tally tally = { .unknown_loss = true };

		if (buffer_map(&mb, ti, ti->cpu, O_NONBLOCK))
			continue;
		for (i = 0; i < 10; i++)
			tally_get_reader(&tally, &mb);
		if (tally.malformed)
			return;
		buffer_unmap(&mb);
		sleep_ms(2);
	}
}

static void snapshot_forever(struct trace_instance *ti)
{
	for (;;) {
		instance_write(ti, "snapshot", "1");
		cpu_write(ti, ti->cpu, "snapshot", "1");
		instance_write(ti, "snapshot", "0");
		sleep_ms(2);
	}
}

static void poll_forever(struct trace_instance *ti)
{
	int fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY);
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	while (fd >= 0)
		poll(&pfd, 1, 2);
}

static void write_forever(struct trace_instance *ti)
{
	run_on_cpu(ti->cpu);
	for (;;) {
		write_events(ti, 20, EVENT_LARGE);
		write_events(ti, 20, EVENT_SMALL);
	}
}

static void resize_forever(struct trace_instance *ti)
{
	for (;;) {
		instance_write(ti, "buffer_size_kb", "256");
		instance_write(ti, "buffer_size_kb", "700");
		sleep_ms(2);
	}
}

static void plug_forever(struct trace_instance *ti)
{
	for (;;) {
		switch_cpu_online(ti->cpu, false);
		switch_cpu_online(ti->cpu, true);
		sleep_ms(10);
	}
}

typedef void (*racer)(struct trace_instance *ti);

static pid_t fork_racer(struct trace_instance *ti, racer race)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	run_on_cpu(ti->other_cpu);
	race(ti);
	_exit(1);
}

/*
 * Changes the size as often as it can for a while, and until it could: who reads
 * "trace" keeps it as it is. Returns the changes.
 */
static int change_size_for(struct trace_instance *ti, unsigned int ms)
{
	unsigned int sizes[] = { LARGE_KB, page_kb(), scaled_kb(8), scaled_kb(128) };
	long long end = monotonic_ns() + ms * 1000000LL;
	long long last = end + WOKEN_MS * 1000000LL;
	int changes = 0, err;
	size_t i;

	for (i = 0; monotonic_ns() < (changes ? end : last); i++) {
		err = set_size(ti, sizes[i % ARRAY_SIZE(sizes)]);
		if (err && err != -EBUSY && err != -ENOMEM)
			return err;
		changes += !err;
	}
	return changes;
}

static void expect_race_is_safe(struct __test_metadata *_metadata,
				struct trace_instance *ti, racer race)
{
	pid_t writer = fork_racer(ti, write_forever);
	pid_t racing = fork_racer(ti, race);
	struct tally tally = { .unknown_loss = true };
	int fd;

	ASSERT_LT(0, writer);
	ASSERT_LT(0, racing);
	EXPECT_LT(0, change_size_for(ti, 1500));
	EXPECT_EQ(-EAGAIN, child_status(racing, 0));
	EXPECT_EQ(0, kill_child(racing));
	EXPECT_EQ(-EAGAIN, child_status(writer, 0));
	EXPECT_EQ(0, kill_child(writer));
	/* Whatever was interrupted, the buffer works. */
	switch_cpu_online(ti->cpu, true);
	run_on_cpu(ti->cpu);
	EXPECT_EQ(0, instance_write(ti, "trace", ""));
	ASSERT_EQ(0, use_size(ti, LARGE_KB));
	ASSERT_EQ(0, write_events(ti, 10, EVENT_LARGE));
	fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, fd);
	EXPECT_LT(0, tally_read(&tally, fd, LARGE));
	EXPECT_EQ(10, tally.seen);
	EXPECT_TRUE(tally_exact(&tally));
	close(fd);
}

/* SUBBUF-11 */
TEST_F(size, changing_it_races_safely_with_read)
{
	expect_race_is_safe(_metadata, &self->ti, read_raw_forever);
}

/* SUBBUF-11 */
TEST_F(size, changing_it_races_safely_with_partial_reads)
{
	expect_race_is_safe(_metadata, &self->ti, read_parts_forever);
}

/* SUBBUF-11 */
TEST_F(size, changing_it_races_safely_with_splice)
{
	expect_race_is_safe(_metadata, &self->ti, splice_forever);
}

/* SUBBUF-11 */
TEST_F(size, changing_it_races_safely_with_trace)
{
	expect_race_is_safe(_metadata, &self->ti, read_trace_forever);
}

/* SUBBUF-11 */
TEST_F(size, changing_it_races_safely_with_trace_pipe)
{
	expect_race_is_safe(_metadata, &self->ti, read_trace_pipe_forever);
}

/* SUBBUF-11 */
TEST_F(size, changing_it_races_safely_with_mappings)
{
	expect_race_is_safe(_metadata, &self->ti, map_forever);
}

/* SUBBUF-11 */
TEST_F(size, changing_it_races_safely_with_snapshots)
{
	expect_race_is_safe(_metadata, &self->ti, snapshot_forever);
}

/* SUBBUF-11 */
TEST_F(size, changing_it_races_safely_with_poll)
{
	expect_race_is_safe(_metadata, &self->ti, poll_forever);
}

/* SUBBUF-11 */
TEST_F(size, changing_it_races_safely_with_resizing)
{
	expect_race_is_safe(_metadata, &self->ti, resize_forever);
}

/* SUBBUF-11 */
TEST_F(size, changing_it_races_safely_with_cpu_hotplug)
{
	expect_race_is_safe(_metadata, &self->ti, plug_forever);
}

TEST_HARNESS_MAIN

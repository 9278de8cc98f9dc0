// SPDX-License-Identifier: GPL-2.0
/*
 * The mapping as a 32-bit program has it, on a 64-bit kernel too.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "buffer_fixture.h"
#include "poller.h"
#include "watcher.h"

FIXTURE(compat) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;
	struct tally		tally;
};

FIXTURE_VARIANT(compat) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(compat, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(compat, instance_large) INSTANCE_LARGE;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(compat, top_level_large) TOP_LEVEL_LARGE;
FIXTURE_VARIANT_ADD(compat, instance) INSTANCE;
#endif

FIXTURE_SETUP(compat)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
}

FIXTURE_TEARDOWN(compat)
{
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* READ-10 */
TEST(this_is_a_32_bit_program)
{
	EXPECT_EQ(4, sizeof(long));
}

/* META-1: for 32 bits it is the same. */
TEST(layout_does_not_depend_on_the_word_size)
{
	EXPECT_EQ(16, offsetof(struct trace_buffer_meta, reader.lost_events));
	EXPECT_EQ(24, offsetof(struct trace_buffer_meta, reader.id));
	EXPECT_EQ(32, offsetof(struct trace_buffer_meta, flags));
	EXPECT_EQ(40, offsetof(struct trace_buffer_meta, entries));
	EXPECT_EQ(72, offsetof(struct trace_buffer_meta, pages_touched));
	EXPECT_EQ(80, sizeof(struct trace_buffer_meta));
}

/* READ-10 */
TEST_F(compat, get_reader_works_for_32_bit_programs)
{
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	ASSERT_EQ(0, ioctl(self->mb.fd, TRACE_MMAP_IOCTL_GET_READER));
	EXPECT_EQ(5, self->mb.meta->entries);
	EXPECT_EQ(5, self->mb.meta->read);
	EXPECT_LT(0, self->mb.meta->reader.read);
}

/* LOSS-2 */
TEST_F(compat, seen_and_lost_are_all_that_was_written)
{
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.seen + self->tally.lost);
	EXPECT_LT(0, self->tally.lost);
}

/* READ-8 */
TEST_F(compat, any_other_command_answers_ENOTTY)
{
	EXPECT_EQ(-1, ioctl(self->mb.fd, _IO('R', 0x21)));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(0, ioctl(self->mb.fd, 0, 0));
}

/* READ-9 */
TEST_F(compat, not_mapped_answers_ENODEV)
{
	int fd = cpu_file(&self->ti, self->ti.other_cpu, "trace_pipe_raw",
			  O_RDONLY);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, ioctl(fd, TRACE_MMAP_IOCTL_GET_READER));
	EXPECT_EQ(ENODEV, errno);
	close(fd);
}

/* MAP-12: Offsets of pages that 32 bits cannot hold as bytes. */
TEST_F(compat, offset_that_wraps_is_refused)
{
	static const unsigned long long offsets[] = {
		1ULL << 32, 1ULL << 33, 1ULL << 42, 0xfffff000000ULL,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		long ret = syscall(SYS_mmap2, NULL, getpagesize(), PROT_READ,
				   MAP_SHARED, self->mb.fd,
				   (unsigned long)(offsets[i] >> 12));

		EXPECT_EQ(-1, ret);
		EXPECT_TRUE(errno == EINVAL || errno == EOVERFLOW);
	}
}

/* LIVE-1: layout and command are the same, too. */
TEST(live_layout_does_not_depend_on_the_word_size)
{
	EXPECT_EQ(192, sizeof(struct trace_live_index));
	EXPECT_EQ(64, offsetof(struct trace_live_index, first));
	EXPECT_EQ(128, offsetof(struct trace_live_index, read));
	EXPECT_EQ(24, sizeof(struct trace_live_subbuf));
	EXPECT_EQ(24, sizeof(struct trace_live_position));
	EXPECT_EQ(0x40185e00, TRACE_LIVE_IOCTL_SET_POSITION);
}

/* LIVE-2: 64-bit counts are whole. */
TEST_F(compat, live_index_works_for_32_bit_programs)
{
	struct live_figures f;
	struct watcher w;

	ASSERT_EQ(0, watcher_open(&w, &self->ti, self->ti.cpu, LIVE_FROM_OLDEST));
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	ASSERT_LE(0, watch(&w));
	EXPECT_EQ(5, w.o.seen);
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LE(0, watch(&w));
	EXPECT_TRUE(watcher_exact(&w));
	EXPECT_LT(0, w.o.missed);
	EXPECT_EQ(self->ti.seq, w.o.seen + w.o.missed);
	ASSERT_EQ(0, live_figures(&w.o, &f));
	EXPECT_LT(0, f.committed);
	EXPECT_GE(self->ti.seq, f.committed);
	watcher_close(&w);
}

/* WAKE-6, WAKE-10 */
TEST_F(compat, live_wait_works_for_32_bit_programs)
{
	struct watcher w;

	ASSERT_EQ(0, watcher_open(&w, &self->ti, self->ti.cpu, LIVE_FROM_OLDEST));
	ASSERT_EQ(0, watcher_wait(&w, 100));
	EXPECT_EQ(0, poll_readable(w.fd, 0));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	EXPECT_EQ(0, poll_readable(w.fd, 0));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_LARGE));
	EXPECT_EQ(1, poll_readable(w.fd, WOKEN_MS));
	watcher_close(&w);
}

TEST_HARNESS_MAIN

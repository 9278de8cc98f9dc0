// SPDX-License-Identifier: GPL-2.0
/*
 * trace_pipe_raw, read by programs that have no room for a whole sub-buffer.
 */
#define _GNU_SOURCE

#include "large_fixture.h"

FIXTURE_VARIANT_ADD(large, instance_16k) {
	.top = false, .subbuf_kb = 16,
};

/* Each read(2) of @size bytes gives a sub-buffer of that size. Returns their number. */
static long expect_parts(struct __test_metadata *_metadata, struct tally *tally,
			 int fd, size_t size)
{
	unsigned char *part = malloc(size);
	long reads = 0;
	ssize_t len;

	while (part && (len = read(fd, part, size)) > 0) {
		EXPECT_EQ(size, len);
		tally_page(tally, part, len);
		reads++;
	}
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_TRUE(tally_exact(tally));
	EXPECT_FALSE(tally->unknown_loss);
	free(part);
	return reads;
}

/* READ-19 */
TEST_F(large, it_can_be_read_a_page_at_a_time)
{
	size_t part = getpagesize();

	ASSERT_LT(0, write_bytes(&self->ti, 2 * self->subbuf, EVENT_LARGE));
	ASSERT_LT(0, write_bytes(&self->ti, 2 * self->subbuf, EVENT_SMALL));
	EXPECT_LE((long)(4 * self->subbuf / part),
		  expect_parts(_metadata, &self->tally, self->fd, part));
	EXPECT_EQ(self->ti.seq, self->tally.seen);
}

/* READ-19: Parts that are no multiple of anything, and just below the whole. */
TEST_F(large, it_can_be_read_in_parts_of_any_size)
{
	size_t sizes[] = { 500, 1001, self->subbuf / 2 + 4, self->subbuf - 1 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		ASSERT_LT(0, write_bytes(&self->ti, 2 * self->subbuf, EVENT_LARGE));
		EXPECT_LT(1, expect_parts(_metadata, &self->tally, self->fd, sizes[i]));
		EXPECT_EQ(self->ti.seq, self->tally.seen);
	}
}

/* LOSS-5: in the part that follows the loss */
TEST_F(large, loss_is_exact_in_what_is_read_in_parts)
{
	size_t part = getpagesize(), i;
	struct mapped_buffer mb;

	for (i = 0; i < 5; i++) {
		ASSERT_LT(0, overflow_buffer(&self->ti));
		EXPECT_LT(1, expect_parts(_metadata, &self->tally, self->fd, part - 20 * i));
		EXPECT_EQ(self->ti.seq, self->tally.next);
	}
	/* and beside a mapping */
	ASSERT_EQ(0, buffer_map(&mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	EXPECT_LT(1, expect_parts(_metadata, &self->tally, self->fd, part));
	EXPECT_EQ(self->ti.seq, self->tally.next);
	EXPECT_EQ(self->tally.lost, mb.meta->overrun);
	buffer_unmap(&mb);
}

/* READ-19: A whole sub-buffer where there is room, in turns with what fits where not. */
TEST_F(large, parts_and_whole_sub_buffers_may_be_read_in_turns)
{
	unsigned char *page = malloc(self->subbuf);
	size_t size;
	int i;

	ASSERT_NE(NULL, page);
	ASSERT_LT(0, write_bytes(&self->ti, 6 * self->subbuf, EVENT_LARGE));
	for (i = 0; i < 4; i++) {
		size = i % 2 ? self->subbuf : getpagesize();
		ASSERT_EQ(size, read(self->fd, page, size));
		tally_page(&self->tally, page, size);
	}
	ASSERT_LT(0, tally_read(&self->tally, self->fd, self->subbuf));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.seen);
	free(page);
}

/* READ-20: As with a page: a read(2) that has no room for the next event takes nothing. */
TEST_F(large, read_returns_0_where_the_next_event_does_not_fit)
{
	static const size_t sizes[] = { 1, 20, 32, 1000, 2000, 2048 };
	unsigned char *page = malloc(self->subbuf);
	size_t i;

	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, write_events(&self->ti, 1, 2048));
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		EXPECT_EQ(0, read(self->fd, page, sizes[i]));
	ASSERT_LT(0, tally_read(&self->tally, self->fd, self->subbuf));
	EXPECT_EQ(1, self->tally.seen);
	EXPECT_TRUE(tally_exact(&self->tally));
	free(page);
}

/* READ-19: What programs do that take a page for a sub-buffer: not one event is missing. */
TEST_F(large, reads_of_a_page_give_600_of_600_events)
{
	ASSERT_EQ(0, instance_write_number(&self->ti, "buffer_size_kb",
					   1024 + 4 * self->ti.subbuf_kb));
	ASSERT_EQ(0, write_events(&self->ti, 600, EVENT_LARGE));
	ASSERT_LT(0, tally_read(&self->tally, self->fd, getpagesize()));
	EXPECT_EQ(600, self->tally.seen);
	EXPECT_TRUE(tally_exact(&self->tally));
}

TEST_HARNESS_MAIN

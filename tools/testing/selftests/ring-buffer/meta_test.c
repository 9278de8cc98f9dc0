// SPDX-License-Identifier: GPL-2.0
/*
 * The meta page: its layout, the ids of sub-buffers, the counters.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <sys/ioctl.h>

#include "buffer_fixture.h"

/* META-1 */
TEST(layout_is_that_of_mainline)
{
	EXPECT_EQ(0, offsetof(struct trace_buffer_meta, meta_page_size));
	EXPECT_EQ(4, offsetof(struct trace_buffer_meta, meta_struct_len));
	EXPECT_EQ(8, offsetof(struct trace_buffer_meta, subbuf_size));
	EXPECT_EQ(12, offsetof(struct trace_buffer_meta, nr_subbufs));
	EXPECT_EQ(16, offsetof(struct trace_buffer_meta, reader.lost_events));
	EXPECT_EQ(24, offsetof(struct trace_buffer_meta, reader.id));
	EXPECT_EQ(28, offsetof(struct trace_buffer_meta, reader.read));
	EXPECT_EQ(32, offsetof(struct trace_buffer_meta, flags));
	EXPECT_EQ(40, offsetof(struct trace_buffer_meta, entries));
	EXPECT_EQ(48, offsetof(struct trace_buffer_meta, overrun));
	EXPECT_EQ(56, offsetof(struct trace_buffer_meta, read));
	EXPECT_EQ(64, offsetof(struct trace_buffer_meta, pages_lost));
	EXPECT_EQ(72, offsetof(struct trace_buffer_meta, pages_touched));
	EXPECT_EQ(80, sizeof(struct trace_buffer_meta));
}

/* READ-7 */
TEST(get_reader_has_the_number_of_mainline)
{
	EXPECT_EQ(0x5220UL, (unsigned long)TRACE_MMAP_IOCTL_GET_READER);
}

FIXTURE(meta) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;
	struct tally		tally;
};

FIXTURE_VARIANT(meta) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(meta, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(meta, instance_large) INSTANCE_LARGE;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(meta, top_level_large) TOP_LEVEL_LARGE;
FIXTURE_VARIANT_ADD(meta, instance) INSTANCE;
#endif

FIXTURE_SETUP(meta)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
}

FIXTURE_TEARDOWN(meta)
{
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* Number of EVENT_LARGE events that fill one sub-buffer. */
static unsigned int events_per_subbuf(const struct mapped_buffer *mb)
{
	/* word of the record, its length, entry, id twice, the payload */
	unsigned int record = 4 + 4 + 8 + 4 + EVENT_LARGE;

	record = (record + RECORD_ALIGN - 1) & ~(RECORD_ALIGN - 1);
	return (mb->meta->subbuf_size - SUBBUF_HEADER) / record;
}

/* META-2 */
TEST_F(meta, meta_page_size_equals_subbuf_size)
{
	EXPECT_EQ(self->mb.meta->subbuf_size, self->mb.meta->meta_page_size);
}

/* META-4 */
TEST_F(meta, meta_struct_len_holds_the_struct)
{
	EXPECT_LE(sizeof(struct trace_buffer_meta),
		  (size_t)self->mb.meta->meta_struct_len);
	EXPECT_LE(self->mb.meta->meta_struct_len,
		  self->mb.meta->meta_page_size);
}

/* META-5 */
TEST_F(meta, subbuf_size_is_what_buffer_subbuf_size_kb_says)
{
	EXPECT_EQ(self->ti.subbuf_kb * 1024, self->mb.meta->subbuf_size);
	EXPECT_EQ((long long)self->ti.subbuf_kb,
		  instance_number(&self->ti, "buffer_subbuf_size_kb"));
}

/* META-6 */
TEST_F(meta, nr_subbufs_counts_the_ring_and_the_reader)
{
	uint64_t bytes = TEST_SUBBUFS * self->ti.subbuf_kb * 1024ULL;
	uint64_t data = self->mb.meta->subbuf_size - SUBBUF_HEADER;

	EXPECT_EQ((bytes + data - 1) / data + 1,
		  (uint64_t)self->mb.meta->nr_subbufs);
}

/* META-6: A size for all CPUs is that of each, whatever they had. */
TEST_F(meta, nr_subbufs_follows_the_size_of_all_cpus)
{
	uint32_t nr_subbufs = self->mb.meta->nr_subbufs;

	buffer_unmap(&self->mb);
	ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
				      4 * self->ti.subbuf_kb));
	ASSERT_EQ(0, instance_write_number(&self->ti, "buffer_size_kb",
					   TEST_SUBBUFS * self->ti.subbuf_kb));
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	EXPECT_EQ(nr_subbufs, self->mb.meta->nr_subbufs);
}

/* META-3, USER-4 */
TEST_F(meta, meta_area_is_zero_past_the_struct)
{
	const char *meta = (const char *)self->mb.meta;
	size_t i;

	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	for (i = self->mb.meta->meta_struct_len;
	     i < self->mb.meta->meta_page_size; i++)
		ASSERT_EQ(0, meta[i]);
}

/* META-9 */
TEST_F(meta, flags_are_zero)
{
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(0, self->mb.meta->flags);
}

/* META-16: A buffer that no writer has written to. */
TEST_F(meta, all_counters_start_at_zero)
{
	EXPECT_EQ(0, self->mb.meta->entries);
	EXPECT_EQ(0, self->mb.meta->overrun);
	EXPECT_EQ(0, self->mb.meta->read);
	EXPECT_EQ(0, self->mb.meta->pages_lost);
	EXPECT_EQ(0, self->mb.meta->reader.lost_events);
	EXPECT_EQ(0, self->mb.meta->reader.id);
	EXPECT_EQ(0, self->mb.meta->reader.read);
}

/* META-8 */
TEST_F(meta, reader_read_counts_bytes_behind_the_header)
{
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	EXPECT_EQ(subbuf_commit(buffer_subbuf(&self->mb,
					      self->mb.meta->reader.id)),
		  self->mb.meta->reader.read);
	EXPECT_EQ(3, self->tally.seen);
}

/* META-10 */
TEST_F(meta, entries_is_a_running_total)
{
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(5, self->mb.meta->entries);
	ASSERT_EQ(0, write_events(&self->ti, 2, EVENT_LARGE));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(7, self->mb.meta->entries);
}

/* META-11 */
TEST_F(meta, unread_is_entries_minus_overrun_minus_read)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	long calls;

	ASSERT_LT(0, overflow_buffer(&self->ti));
	for (calls = 0; calls < 3; calls++) {
		ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
		EXPECT_EQ((uint64_t)cpu_stat(&self->ti, self->ti.cpu, "entries"),
			  meta->entries - meta->overrun - meta->read);
	}
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(meta->entries, meta->overrun + meta->read);
}

/* META-12 */
TEST_F(meta, overrun_and_read_are_those_of_the_stats_file)
{
	long written = overflow_buffer(&self->ti);

	ASSERT_LT(0, written);
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	EXPECT_EQ((uint64_t)written, self->mb.meta->entries);
	EXPECT_EQ((uint64_t)cpu_stat(&self->ti, self->ti.cpu, "overrun"),
		  self->mb.meta->overrun);
	EXPECT_EQ((uint64_t)cpu_stat(&self->ti, self->ti.cpu, "read events"),
		  self->mb.meta->read);
	EXPECT_EQ(self->tally.seen, self->mb.meta->read);
	EXPECT_LT(0, self->mb.meta->overrun);
}

/* META-13 */
TEST_F(meta, pages_lost_counts_sub_buffers_overwritten_unread)
{
	unsigned int each = events_per_subbuf(&self->mb);

	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_LT(0, self->mb.meta->pages_lost);
	EXPECT_EQ(self->mb.meta->overrun, each * self->mb.meta->pages_lost);
}

/* META-14 */
TEST_F(meta, pages_touched_counts_sub_buffers_entered)
{
	unsigned int each = events_per_subbuf(&self->mb);
	uint64_t before;

	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_LARGE));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	before = self->mb.meta->pages_touched;
	ASSERT_EQ(0, write_events(&self->ti, 3 * each, EVENT_LARGE));
	ASSERT_LE(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(before + 3, (uint64_t)self->mb.meta->pages_touched);
}

/* Ids 1, 2, ... are handed out in the order of the ring. */
static void expect_ids_in_order(struct __test_metadata *_metadata,
				struct mapped_buffer *mb, struct tally *tally)
{
	unsigned int id;

	EXPECT_EQ(0, mb->meta->reader.id);
	for (id = 1; id < mb->meta->nr_subbufs; id++) {
		ASSERT_LT(0, tally_get_reader(tally, mb));
		ASSERT_EQ(id, mb->meta->reader.id);
	}
	EXPECT_TRUE(tally_exact(tally));
}

/* META-7, MAP-3 */
TEST_F(meta, ids_follow_the_ring_from_the_head_of_an_empty_buffer)
{
	unsigned int each = events_per_subbuf(&self->mb);

	ASSERT_EQ(0, write_events(&self->ti,
				  (self->mb.meta->nr_subbufs - 1) * each,
				  EVENT_LARGE));
	expect_ids_in_order(_metadata, &self->mb, &self->tally);
}

/* MAP-3 */
TEST_F(meta, ids_follow_the_ring_from_the_head_of_a_wrapped_buffer)
{
	buffer_unmap(&self->mb);
	/* An odd number of sub-buffers, so that the head is anywhere. */
	ASSERT_LT(0, overflow_buffer(&self->ti));
	self->tally.unknown_loss = true;
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	self->tally.unknown_loss = true;
	EXPECT_EQ(0, self->mb.meta->reader.id);
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	EXPECT_EQ(1, self->mb.meta->reader.id);
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	EXPECT_EQ(2, self->mb.meta->reader.id);
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(self->mb.meta->nr_subbufs - 1, self->mb.meta->reader.id);
}

/* MAP-4 */
TEST_F(meta, ids_stay_valid_whatever_readers_do)
{
	int fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
			  O_RDONLY | O_NONBLOCK);
	char line[64];
	int pipe;

	ASSERT_LE(0, fd);
	ASSERT_LT(0, overflow_buffer(&self->ti));
	self->tally.unknown_loss = true;
	ASSERT_LT(0, tally_read(&self->tally, fd, self->mb.meta->subbuf_size));
	close(fd);
	ASSERT_EQ(0, write_events(&self->ti, 50, EVENT_LARGE));
	pipe = instance_file(&self->ti, "trace_pipe", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, pipe);
	ASSERT_LT(0, read(pipe, line, sizeof(line)));
	close(pipe);
	/* trace_pipe took some of the events; what follows them is exact. */
	self->tally.unknown_loss = true;
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.next);
}

/* MAP-4 */
TEST_F(meta, ids_stay_valid_over_resets)
{
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_LT(0, overflow_buffer(&self->ti));
		ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
		ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
		self->tally.next = self->ti.seq;
		self->tally.announced = 0;
		ASSERT_EQ(0, write_events(&self->ti, 50, EVENT_LARGE));
		ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
		EXPECT_EQ(self->ti.seq, self->tally.next);
	}
	EXPECT_TRUE(tally_exact(&self->tally));
}

/* META-7, MAP-4 */
TEST_F(meta, ids_stay_valid_over_wraps)
{
	int i;

	for (i = 0; i < 5; i++) {
		ASSERT_LT(0, overflow_buffer(&self->ti));
		ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
		ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	}
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(self->ti.seq, self->tally.next);
	EXPECT_FALSE(self->tally.malformed);
}

/* MAP-4 */
TEST_F(meta, ids_are_the_same_in_every_mapping_of_a_buffer)
{
	struct mapped_buffer second;

	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_EQ(0, buffer_map(&second, &self->ti, self->ti.cpu, O_NONBLOCK));
	EXPECT_EQ(self->mb.meta->reader.id, second.meta->reader.id);
	EXPECT_EQ(self->mb.len, second.len);
	EXPECT_EQ(0, memcmp(self->mb.meta, second.meta,
			    second.len));
	buffer_unmap(&second);
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	EXPECT_EQ(0, self->tally.malformed);
}

/* MAP-3: the next first one begins anew */
TEST_F(meta, ids_are_handed_out_anew_after_the_last_mapping)
{
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_NE(0, self->mb.meta->reader.id);
	buffer_unmap(&self->mb);
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	EXPECT_EQ(0, self->mb.meta->reader.id);
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	EXPECT_EQ(1, self->mb.meta->reader.id);
}

/* META-16: Events read before the mapping count as read in it. */
TEST_F(meta, a_new_mapping_shows_the_counters_of_the_buffer)
{
	long written;

	buffer_unmap(&self->mb);
	written = overflow_buffer(&self->ti);
	ASSERT_LT(0, written);
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	EXPECT_EQ((uint64_t)written, self->mb.meta->entries);
	EXPECT_EQ((uint64_t)cpu_stat(&self->ti, self->ti.cpu, "overrun"),
		  self->mb.meta->overrun);
	EXPECT_EQ(0, self->mb.meta->read);
}

TEST_HARNESS_MAIN

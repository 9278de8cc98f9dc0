// SPDX-License-Identifier: GPL-2.0
/*
 * What the live index says, field by field: after a reset, of what consumers took, of
 * how full the buffer is, and of sub-buffers that were given away.
 */
#define _GNU_SOURCE
#include <fcntl.h>

#include "buffer_fixture.h"
#include "watcher.h"

FIXTURE(live_index) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;	/* of a consumer */
	struct tally		tally;
	struct watcher		w;
	size_t			subbuf;
};

FIXTURE_VARIANT(live_index) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(live_index, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(live_index, instance_large) INSTANCE_LARGE;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(live_index, top_level_large) TOP_LEVEL_LARGE;
FIXTURE_VARIANT_ADD(live_index, instance) INSTANCE;
#endif

FIXTURE_SETUP(live_index)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	self->subbuf = self->ti.subbuf_kb * 1024;
	self->mb.fd = -1;
	self->w.fd = -1;
}

FIXTURE_TEARDOWN(live_index)
{
	watcher_close(&self->w);
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, instance_close(&self->ti));
}

static int observe(FIXTURE_DATA(live_index) * self)
{
	return watcher_open(&self->w, &self->ti, self->ti.cpu, LIVE_FROM_OLDEST);
}

static int consume(FIXTURE_DATA(live_index) * self)
{
	return buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK);
}

/* The entry of a sub-buffer. */
static const struct trace_live_subbuf *entry_of(const struct watcher *w, uint32_t id)
{
	const struct trace_live_index *index = w->map.index;

	return (const void *)((const char *)index + index->entries_offset +
			      (size_t)id * index->entry_size);
}

/* Some events are overwritten, some are dropped, and a part of the rest is read. */
static void do_everything(struct __test_metadata *_metadata, FIXTURE_DATA(live_index) * self)
{
	struct live_figures f;

	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(0, instance_write(&self->ti, "options/overwrite", "0"));
	overflow_buffer(&self->ti);
	ASSERT_EQ(0, instance_write(&self->ti, "options/overwrite", "1"));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_EQ(0, live_figures(&self->w.o, &f));
	ASSERT_LT(0, f.overwritten);
	ASSERT_LT(0, f.dropped);
	ASSERT_LT(0, f.consumed);
	ASSERT_LT(1, f.used);
	ASSERT_LT(0, self->w.map.index->reader_read);
}

/* All is as if nothing had ever been written: every count has restarted. */
static void expect_fresh(struct __test_metadata *_metadata, struct watcher *w)
{
	const struct trace_live_index *index = w->map.index;
	uint32_t id;

	EXPECT_EQ(1, index->used);
	EXPECT_EQ(0, index->dropped);
	EXPECT_EQ(0, index->commit_overrun);
	EXPECT_EQ(0, index->read);
	EXPECT_EQ(0, index->reader_read);
	EXPECT_EQ(0, entry_of(w, index->commit_id)->before);
	EXPECT_EQ(0, entry_of(w, index->commit_id)->overwritten);
	for (id = 0; id < index->nr_subbufs; id++)
		EXPECT_EQ(id == index->commit_id ? index->commit_generation : 0,
			  entry_of(w, id)->generation);
}

/*
 * LIVE-33: Where the sub-buffer is that the next epoch begins with depends on what was read: in
 * several rounds it is not always the same one.
 */
TEST_F(live_index, a_reset_leaves_nothing_of_the_epoch_before)
{
	uint64_t epoch, generation;
	struct live_figures f;
	int round;

	ASSERT_EQ(0, consume(self));
	ASSERT_EQ(0, observe(self));
	for (round = 0; round < 5; round++) {
		do_everything(_metadata, self);
		epoch = self->w.map.index->epoch;
		generation = self->w.map.index->commit_generation;
		ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
		EXPECT_EQ(epoch + 2, self->w.map.index->epoch);
		/* Generations go on. */
		EXPECT_LT(generation, self->w.map.index->commit_generation);
		expect_fresh(_metadata, &self->w);
		ASSERT_EQ(0, live_figures(&self->w.o, &f));
		EXPECT_EQ(0, f.committed);
		EXPECT_EQ(0, f.overwritten);
		EXPECT_EQ(0, f.dropped);
		EXPECT_EQ(0, f.consumed);
	}
}

/* LIVE-39: What was overwritten is not unread. */
TEST_F(live_index, used_falls_when_events_are_read_that_others_were_overwritten_for)
{
	struct live_figures f;

	ASSERT_EQ(0, consume(self));
	ASSERT_EQ(0, observe(self));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	/* The writer tells it when it enters a sub-buffer. */
	ASSERT_LT(0, write_bytes(&self->ti, 2 * self->subbuf, EVENT_LARGE));
	EXPECT_LE(2, self->w.map.index->used);
	EXPECT_GE(3, self->w.map.index->used);
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	ASSERT_EQ(0, live_figures(&self->w.o, &f));
	EXPECT_EQ(0, f.used);
}

/* LIVE-39 */
TEST_F(live_index, what_consumers_took_is_told_to_the_byte)
{
	const struct trace_live_index *index;
	struct live_figures f;
	int i;

	ASSERT_EQ(0, consume(self));
	ASSERT_EQ(0, observe(self));
	index = self->w.map.index;
	for (i = 0; i < 3 * TEST_SUBBUFS; i++) {
		ASSERT_LT(0, write_bytes(&self->ti, self->subbuf / 3, EVENT_LARGE));
		ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
		/* The two mappings may have the sub-buffers in another order. */
		EXPECT_EQ(0, memcmp(buffer_subbuf(&self->mb, self->mb.meta->reader.id),
				    live__subbuf(&self->w.o, index->reader_id), self->subbuf));
		EXPECT_EQ(self->mb.meta->reader.read, index->reader_read);
		EXPECT_EQ(self->ti.seq, index->read);
		ASSERT_EQ(0, live_figures(&self->w.o, &f));
		EXPECT_EQ(0, f.used);
	}
}

/* LIVE-39: The index keeps its numbers, and a mapping that comes later has others. */
TEST_F(live_index, the_readers_subbuf_is_told_beside_a_later_mapping)
{
	ASSERT_EQ(0, consume(self));
	ASSERT_EQ(0, observe(self));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	watcher_close(&self->w);
	buffer_unmap(&self->mb);
	ASSERT_EQ(0, consume(self));
	ASSERT_EQ(0, observe(self));
	EXPECT_EQ(0, self->mb.meta->reader.id);
	EXPECT_NE(0, self->w.map.index->reader_id);
	EXPECT_EQ(0, memcmp(buffer_subbuf(&self->mb, 0),
			    live__subbuf(&self->w.o, self->w.map.index->reader_id), self->subbuf));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_LARGE));
	ASSERT_LE(0, tally_get_reader(&self->tally, &self->mb));
	EXPECT_EQ(0, memcmp(buffer_subbuf(&self->mb, self->mb.meta->reader.id),
			    live__subbuf(&self->w.o, self->w.map.index->reader_id), self->subbuf));
}

/* LIVE-24: A sub-buffer whose memory splice(2) took has nothing on it for those who come later. */
TEST_F(live_index, an_event_that_was_spliced_away_is_not_shown_to_a_later_observer)
{
	int raw = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	uint32_t written;
	int pipes[2];

	ASSERT_LE(0, raw);
	ASSERT_EQ(0, pipe(pipes));
	fcntl(pipes[1], F_SETPIPE_SZ, 4 * self->subbuf);
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_EQ(0, observe(self));
	/* The index stays. Beside an observer splice would copy. */
	watcher_close(&self->w);
	ASSERT_LT(0, write_bytes(&self->ti, 3 * self->subbuf, EVENT_LARGE));
	ASSERT_EQ(self->subbuf, splice(raw, NULL, pipes[1], NULL, self->subbuf,
				       SPLICE_F_NONBLOCK));
	ASSERT_EQ(0, observe(self));
	ASSERT_LT(0, watch(&self->w));
	EXPECT_TRUE(watcher_exact(&self->w));
	written = self->ti.seq;
	EXPECT_EQ(cpu_stat(&self->ti, self->ti.cpu, "read events"), self->w.o.first);
	EXPECT_EQ(cpu_stat(&self->ti, self->ti.cpu, "entries"), self->w.o.seen);
	EXPECT_EQ(written, self->w.o.first + self->w.o.seen);
	close(pipes[0]);
	close(pipes[1]);
	close(raw);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0
/*
 * What the live index says, field by field: where a generation is, after a reset and
 * another size, of what consumers took, of how full the buffer is, and of sub-buffers
 * that were given away.
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

/* Each slot describes the last generation that has its place there. */
static void expect_slots(struct __test_metadata *_metadata, struct watcher *w)
{
	const struct trace_live_index *index = w->map.index;
	const struct trace_live_subbuf *entry;
	uint64_t now = index->commit_generation, g;

	for (g = now - index->nr_slots + 1; g <= now; g++) {
		entry = entry_of(w, g);
		ASSERT_EQ(g, entry->generation);
		EXPECT_GT(index->nr_subbufs, entry->id);
		EXPECT_NE(entry->id, entry_of(w, g + 1)->id);
		if (g == now - index->nr_slots + 1)
			continue;
		EXPECT_LT(entry_of(w, g - 1)->before, entry->before);
		EXPECT_LT(0, entry_of(w, g - 1)->size);
		EXPECT_GE(index->subbuf_size - index->data_offset, entry_of(w, g - 1)->size);
	}
}

/* LIVE-2: Rings of odd sizes, too, and sub-buffers that a consumer takes and gives back. */
TEST_F(live_index, a_generation_is_in_its_slot)
{
	static const unsigned int subbufs[] = { 3, 5, 7, TEST_SUBBUFS };
	unsigned int i, round;

	for (i = 0; i < ARRAY_SIZE(subbufs); i++) {
		ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
					      subbufs[i] * self->ti.subbuf_kb));
		ASSERT_EQ(0, consume(self));
		ASSERT_EQ(0, observe(self));
		EXPECT_EQ(self->w.map.index->nr_slots + 1, self->w.map.index->nr_subbufs);
		ASSERT_LT(0, overflow_buffer(&self->ti));
		for (round = 0; round < 20; round++) {
			expect_slots(_metadata, &self->w);
			ASSERT_LE(0, tally_get_reader(&self->tally, &self->mb));
			ASSERT_LT(0, write_bytes(&self->ti, (1 + round % 3) * self->subbuf,
						 EVENT_LARGE));
		}
		watcher_close(&self->w);
		buffer_unmap(&self->mb);
	}
}

/* LIVE-41: What a program maps of it, with its head of less than a page */
TEST_F(live_index, an_index_takes_32_bytes_a_sub_buffer)
{
	const struct trace_live_index *index;
	size_t page = getpagesize(), slots;

	ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
				      1000 * self->ti.subbuf_kb / (self->subbuf / page)));
	ASSERT_EQ(0, observe(self));
	index = self->w.map.index;
	slots = (size_t)index->nr_slots * 32;
	EXPECT_GE((slots + sizeof(*index) + page - 1) / page * page, index->subbufs_offset);
}

/* Some events are overwritten, some are dropped, and a part of the rest is read. */
static void do_everything(struct __test_metadata *_metadata, FIXTURE_DATA(live_index) * self)
{
	const struct trace_live_index *index = self->w.map.index;

	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(0, instance_write(&self->ti, "options/overwrite", "0"));
	overflow_buffer(&self->ti);
	ASSERT_EQ(0, instance_write(&self->ti, "options/overwrite", "1"));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_LT(0, index->overwritten);
	ASSERT_LT(0, index->dropped);
	ASSERT_LT(0, index->read);
}

/* All is as if nothing had ever been written: every count has restarted. */
static void expect_fresh(struct __test_metadata *_metadata, struct watcher *w)
{
	const struct trace_live_index *index = w->map.index;
	uint64_t g;

	EXPECT_EQ(index->first, index->commit_generation);
	EXPECT_EQ(0, index->overwritten);
	EXPECT_EQ(0, index->dropped);
	EXPECT_EQ(0, index->read);
	EXPECT_EQ(index->first, entry_of(w, index->first)->generation);
	EXPECT_EQ(0, entry_of(w, index->first)->before);
	/* What there was is of generations before the first. */
	for (g = 1; g < index->nr_slots; g++)
		EXPECT_GT(index->first, entry_of(w, index->first + g)->generation);
}

/*
 * LIVE-33: Where the sub-buffer is that the buffer begins with depends on what was read: in
 * several rounds it is not always the same one.
 */
TEST_F(live_index, a_reset_leaves_nothing_of_what_was_there_before)
{
	const struct trace_live_index *index;
	uint64_t generation;
	int round;

	ASSERT_EQ(0, consume(self));
	ASSERT_EQ(0, observe(self));
	index = self->w.map.index;
	for (round = 0; round < 5; round++) {
		do_everything(_metadata, self);
		generation = index->commit_generation;
		ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
		/* Beyond what an observer can wait for */
		EXPECT_LT(generation + index->nr_slots, index->first);
		expect_fresh(_metadata, &self->w);
	}
}

/*
 * LIVE-25: Another size is another index, whose generations are larger. What is to be
 * seen are the events of the sub-buffer that was being written, and those that come.
 */
TEST_F(live_index, a_resize_leaves_the_generations_behind)
{
	static const unsigned int subbufs[] = { 12, 5, 2, TEST_SUBBUFS };
	struct trace_instance *ti = &self->ti;
	uint64_t first, last = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(subbufs); i++) {
		ASSERT_LT(0, write_bytes(ti, 3 * self->subbuf, EVENT_LARGE));
		ASSERT_EQ(0, cpu_write_number(ti, ti->cpu, "buffer_size_kb",
					      subbufs[i] * ti->subbuf_kb));
		ASSERT_EQ(0, observe(self));
		first = self->w.map.index->first;
		EXPECT_LT(last, first);
		EXPECT_EQ(first, self->w.map.index->commit_generation);
		ASSERT_LE(0, watch(&self->w));
		EXPECT_LE(self->w.o.seen, self->subbuf / EVENT_LARGE);
		EXPECT_EQ(ti->seq, self->w.o.count);
		ASSERT_LT(0, write_bytes(ti, self->subbuf / 2, EVENT_LARGE));
		ASSERT_LT(0, watch(&self->w));
		last = self->w.map.index->commit_generation;
		EXPECT_GE(first + 1, last);
		EXPECT_TRUE(watcher_exact(&self->w));
		EXPECT_EQ(0, self->w.o.missed);
		EXPECT_EQ(committed_events(ti, ti->cpu), self->w.o.count);
		watcher_close(&self->w);
	}
}

/* LIVE-39: What was overwritten is not unread. */
TEST_F(live_index, what_is_unread_falls_when_events_are_read_that_others_were_overwritten_for)
{
	struct live_figures f;

	ASSERT_EQ(0, consume(self));
	ASSERT_EQ(0, observe(self));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(0, live_figures(&self->w.o, &f));
	EXPECT_EQ(self->w.map.index->nr_slots, f.used);
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	ASSERT_EQ(0, live_figures(&self->w.o, &f));
	EXPECT_EQ(1, f.used);
	ASSERT_LT(0, write_bytes(&self->ti, 2 * self->subbuf, EVENT_LARGE));
	ASSERT_EQ(0, live_figures(&self->w.o, &f));
	EXPECT_LE(2, f.used);
	EXPECT_GE(3, f.used);
	EXPECT_EQ(self->ti.seq, f.events);
}

/* LIVE-39 */
TEST_F(live_index, what_consumers_took_is_told)
{
	int raw = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	int i;

	ASSERT_LE(0, raw);
	ASSERT_EQ(0, consume(self));
	ASSERT_EQ(0, observe(self));
	for (i = 0; i < 3 * TEST_SUBBUFS; i++) {
		ASSERT_LT(0, write_bytes(&self->ti, self->subbuf / 3, EVENT_LARGE));
		ASSERT_LT(0, i % 2 ? tally_drain(&self->tally, &self->mb) :
				     tally_read(&self->tally, raw, self->subbuf));
		EXPECT_EQ(self->ti.seq, self->w.map.index->read);
	}
	close(raw);
}

static uint64_t first_generation(FIXTURE_DATA(live_index) * self)
{
	uint64_t first = 0;

	if (!observe(self)) {
		first = self->w.map.index->first;
		watcher_close(&self->w);
	}
	return first;
}

/* Two sub-buffers and some more, of which that of @first is taken along with its memory. */
static void expect_the_rest(struct __test_metadata *_metadata, FIXTURE_DATA(live_index) * self,
			    uint64_t first)
{
	ASSERT_EQ(0, observe(self));
	ASSERT_LT(0, watch(&self->w));
	EXPECT_TRUE(watcher_exact(&self->w));
	EXPECT_LT(0, self->w.o.before);
	EXPECT_EQ(cpu_stat(&self->ti, self->ti.cpu, "read events"), self->w.o.before);
	EXPECT_EQ(cpu_stat(&self->ti, self->ti.cpu, "entries"), self->w.o.seen);
	EXPECT_EQ(self->ti.seq, self->w.o.before + self->w.o.seen);
	EXPECT_EQ(first + 1, self->w.map.index->first);
}

/* LIVE-23: Memory that splice(2) took away is another's: no observer sees its events. */
TEST_F(live_index, an_event_that_was_spliced_away_is_not_shown)
{
	int raw = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	uint64_t first = first_generation(self);
	int pipes[2];

	ASSERT_LE(0, raw);
	ASSERT_EQ(0, pipe(pipes));
	fcntl(pipes[1], F_SETPIPE_SZ, 4 * self->subbuf);
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_LT(0, write_bytes(&self->ti, 3 * self->subbuf, EVENT_LARGE));
	/* Beside an observer splice() would copy. */
	ASSERT_EQ(self->subbuf, splice(raw, NULL, pipes[1], NULL, self->subbuf,
				       SPLICE_F_NONBLOCK));
	expect_the_rest(_metadata, self, first);
	close(pipes[0]);
	close(pipes[1]);
	close(raw);
}

/* LIVE-23: So does read(2), of a whole sub-buffer. */
TEST_F(live_index, an_event_whose_memory_read_took_is_not_shown)
{
	int raw = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	uint64_t first = first_generation(self);
	char *page = malloc(self->subbuf);

	ASSERT_NE(NULL, page);
	ASSERT_LE(0, raw);
	ASSERT_LT(0, write_bytes(&self->ti, 3 * self->subbuf, EVENT_LARGE));
	ASSERT_LT(0, read(raw, page, self->subbuf));
	expect_the_rest(_metadata, self, first);
	free(page);
	close(raw);
}

TEST_HARNESS_MAIN

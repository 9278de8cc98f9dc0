// SPDX-License-Identifier: GPL-2.0
/*
 * Test shown.h: each batch that is put in comes out, or its events are counted.
 */
#include <time.h>

#include "check.h"
#include "shown.h"
#include "subbuf_make.h"

static const struct subbuf_format format = {
	.subbuf_size = 4096, .commit_offset = 8, .commit_size = 8, .data_offset = 16,
	.big_endian = subbuf__host_big,
};

static struct shown_room room;

static struct shown new_shown(void)
{
	return (struct shown){ .room = &room };
}

/*
 * Hand in @nr events whose times and data are @from and what follows; the sub-buffer
 * is written over then. The first @passed of the batch were taken before.
 */
static void add_flagged(struct shown *shown, uint32_t from, uint32_t nr, uint64_t missed,
			uint32_t passed, uint32_t flags)
{
	struct tracemap_batch batch = { .missed = missed, .cpu = 3, .flags = flags };
	struct subbuf_record r;
	struct subbuf_make m;

	make_begin(&m, &format, from);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t value = from + i;

		CHECK(make_event(&m, value, &value, sizeof(value)));
	}
	make_finish(&m, 0);
	batch.it = subbuf_begin(&format, m.bytes);
	while (passed--)
		CHECK(subbuf_next(&batch.it, &r));
	shown_add(shown, &batch);
	CHECK(!subbuf_next(&batch.it, &r));
	memset(m.bytes, 0xff, sizeof(m.bytes));
}

static void add(struct shown *shown, uint32_t from, uint32_t nr, uint64_t missed, uint32_t passed)
{
	add_flagged(shown, from, nr, missed, passed, 0);
}

/* The next record is @value, behind @missed events lost and @skipped not shown. */
static bool next_is(struct shown *shown, uint32_t value, uint64_t missed, uint64_t skipped,
		    uint32_t flags)
{
	struct tracemap_record rec = { 0 };
	uint32_t data;

	if (shown_next(shown, &rec) != 1 || rec.size != sizeof(data))
		return false;
	memcpy(&data, rec.data, sizeof(data));
	if (shown_skipped(shown) != skipped || shown_skipped(shown))
		return false;
	shown_release(shown);
	return data == value && rec.ts == value && rec.cpu == 3 && rec.missed == missed &&
	       rec.flags == flags;
}

static bool is_empty(struct shown *shown)
{
	struct tracemap_record rec;

	return !shown_next(shown, &rec) && !shown->first && !shown->last;
}

/* Also what is left of a batch. A loss is told once, by the first record. */
static void test_order(void)
{
	struct shown shown = new_shown();

	CHECK(is_empty(&shown));
	add(&shown, 100, 2, 7, 0);
	add(&shown, 200, 3, 0, 1);
	CHECK(next_is(&shown, 100, 7, 0, TRACEMAP_FRESH) && next_is(&shown, 101, 0, 0, 0));
	CHECK(next_is(&shown, 201, 0, 0, TRACEMAP_FRESH));
	add(&shown, 300, 1, 0, 0);
	CHECK(next_is(&shown, 202, 0, 0, 0) && next_is(&shown, 300, 0, 0, TRACEMAP_FRESH));
	CHECK(is_empty(&shown) && !room.used);
	add(&shown, 400, 1, 1, 0);
	CHECK(next_is(&shown, 400, 1, 0, TRACEMAP_FRESH) && is_empty(&shown));
}

/* What was not released is handed out again. */
static void test_release(void)
{
	struct shown shown = new_shown();
	struct tracemap_record rec;

	add(&shown, 100, 2, 0, 0);
	CHECK(shown_next(&shown, &rec) == 1 && rec.ts == 100);
	CHECK(shown_next(&shown, &rec) == 1 && rec.ts == 100);
	shown_release(&shown);
	CHECK(next_is(&shown, 101, 0, 0, 0) && is_empty(&shown));
}

/* Batches without a record leave what they tell to the next one. */
static void test_no_records(void)
{
	struct tracemap_batch reset = { .flags = TRACEMAP_RESET };
	struct shown shown = new_shown();

	add(&shown, 100, 0, 4, 0);
	shown_add(&shown, &reset);
	CHECK(is_empty(&shown));
	add(&shown, 200, 1, 5, 0);
	CHECK(next_is(&shown, 200, 9, 0, TRACEMAP_FRESH | TRACEMAP_RESET) && is_empty(&shown));
	add(&shown, 300, 0, 4, 0);
	add(&shown, 400, 1, TRACEMAP_MISSED_UNKNOWN, 0);
	CHECK(next_is(&shown, 400, TRACEMAP_MISSED_UNKNOWN, 0, TRACEMAP_FRESH));
	CHECK(is_empty(&shown) && !room.used);
}

/* What has waited here longer than the merge would let it wait is not fresh. */
static void test_waited(void)
{
	const struct timespec longer = { .tv_nsec = 11 * 1000 * 1000 };
	struct shown shown = new_shown();

	add(&shown, 100, 1, 0, 0);
	nanosleep(&longer, NULL);
	add(&shown, 200, 1, 0, 0);
	CHECK(next_is(&shown, 100, 0, 0, 0) && next_is(&shown, 200, 0, 0, TRACEMAP_FRESH));
	CHECK(is_empty(&shown));
}

/* The memory is that of all CPUs. What another one takes is not there. */
static void test_no_room(void)
{
	struct shown shown = new_shown(), other = new_shown();
	size_t used;

	add(&other, 50, 1, 0, 0);
	used = room.used;
	CHECK(used);
	add(&shown, 100, 1, 0, 0);
	room.used += SHOWN_BYTES - 2 * used;	/* that leaves no byte */
	add(&shown, 200, 20, 3, 5);
	add(&shown, 300, 10, 2, 0);
	CHECK(room.skipped == 25 && room.untold == 25 && room.used == SHOWN_BYTES);
	CHECK(next_is(&shown, 100, 0, 0, TRACEMAP_FRESH) && is_empty(&shown));
	/* As much as one takes. */
	add(&shown, 400, 1, 1, 0);
	CHECK(room.used == SHOWN_BYTES && room.skipped == 25);
	CHECK(next_is(&shown, 400, 6, 25, TRACEMAP_FRESH) && is_empty(&shown));
	CHECK(room.skipped == 25 && !room.untold);
	add(&shown, 500, 1, 0, 0);
	CHECK(next_is(&shown, 500, 0, 0, TRACEMAP_FRESH) && is_empty(&shown));
	CHECK(next_is(&other, 50, 0, 0, TRACEMAP_FRESH) && is_empty(&other));
	room = (struct shown_room){ 0 };
}

/* That the buffer was emptied is told all the same. */
static void test_reset_without_room(void)
{
	struct shown shown = new_shown();

	room.used = SHOWN_BYTES;
	add_flagged(&shown, 100, 3, 0, 0, TRACEMAP_RESET);
	add(&shown, 200, 3, 0, 0);
	room.used = 0;
	add(&shown, 300, 2, 0, 0);
	CHECK(next_is(&shown, 300, 0, 6, TRACEMAP_FRESH | TRACEMAP_RESET));
	CHECK(next_is(&shown, 301, 0, 0, 0) && is_empty(&shown));
	add(&shown, 400, 1, 0, 0);
	CHECK(next_is(&shown, 400, 0, 0, TRACEMAP_FRESH) && is_empty(&shown));
	room = (struct shown_room){ 0 };
}

/* At the end each event was handed out, or is counted, however it came to that. */
static void test_end(void)
{
	struct shown shown = new_shown(), other = new_shown();

	add(&shown, 100, 5, 1, 0);
	add(&other, 150, 1, 0, 0);
	room.used = SHOWN_BYTES;
	add(&shown, 200, 7, 2, 0);
	add(&other, 250, 3, TRACEMAP_MISSED_UNKNOWN, 0);
	room.used = 0;
	add(&shown, 300, 4, 8, 0);
	CHECK(next_is(&shown, 100, 1, 0, TRACEMAP_FRESH) && next_is(&shown, 101, 0, 0, 0));
	CHECK(shown_end(&shown) == 10 && shown_skipped(&shown) == 3 + 7 + 4);
	CHECK(is_empty(&shown) && room.skipped == 10 + 7 && room.untold == 3);
	CHECK(next_is(&other, 150, 0, 0, TRACEMAP_FRESH) && is_empty(&other));
	CHECK(shown_end(&other) == TRACEMAP_MISSED_UNKNOWN && shown_skipped(&other) == 3);
	CHECK(!room.untold);
	room = (struct shown_room){ 0 };
}

static void test_free(void)
{
	struct shown shown = new_shown();

	add(&shown, 100, 50, 0, 0);
	add(&shown, 200, 1, 0, 0);
	CHECK(next_is(&shown, 100, 0, 0, TRACEMAP_FRESH));
	shown_free(&shown);
	CHECK(is_empty(&shown) && !room.used);
}

int main(void)
{
	test_order();
	test_release();
	test_no_records();
	test_waited();
	test_no_room();
	test_reset_without_room();
	test_end();
	test_free();
	printf("ok - shown\n");
	return 0;
}

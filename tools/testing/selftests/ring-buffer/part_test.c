// SPDX-License-Identifier: GPL-2.0
/*
 * trace_pipe_raw, read by programs that have no room for a whole sub-buffer.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>

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

/* READ-20 */
TEST_F(large, a_read_of_0_bytes_of_an_empty_buffer_does_not_wait)
{
	int fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);
	pid_t pid;
	char c;

	ASSERT_LE(0, fd);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(read(fd, &c, 0) != 0);
	EXPECT_EQ(0, child_status(pid, WOKEN_MS / 2));
	if (!kill(pid, 0))
		kill_child(pid);
	close(fd);
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

/* LOSS-5, READ-19: in the part that follows the loss */
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

/* Bytes of an event's record, by those of a sub-buffer that has some of these alone. */
static size_t record_size(struct __test_metadata *_metadata, FIXTURE_DATA(large) * self,
			  size_t event)
{
	static const int count = 10;
	unsigned char *page = malloc(self->subbuf);
	size_t size;

	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, write_events(&self->ti, count, event));
	ASSERT_EQ(self->subbuf, read(self->fd, page, self->subbuf));
	tally_page(&self->tally, page, self->subbuf);
	size = (subbuf_commit(page) & COMMIT_LENGTH) / count;
	free(page);
	return size;
}

/* READ-19, LOSS-5: The events that have room in a part leave some for the number of those lost. */
TEST_F(large, a_part_that_its_events_would_fill_tells_the_number_of_lost_ones)
{
	size_t record = record_size(_metadata, self, EVENT_LARGE), events;

	for (events = 2; events < 6; events++) {
		ASSERT_LT(0, overflow_buffer(&self->ti));
		EXPECT_LT(1, expect_parts(_metadata, &self->tally, self->fd,
					  SUBBUF_HEADER + events * record));
		EXPECT_EQ(self->ti.seq, self->tally.next);
	}
	EXPECT_LT(0, self->tally.lost);
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

/* Memory of @size bytes whose first page alone is there. */
static unsigned char *first_page_of(size_t size)
{
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	unsigned char *memory = mmap(NULL, size, prot, flags, -1, 0);

	if (memory == MAP_FAILED || munmap(memory + getpagesize(), size - getpagesize()))
		return NULL;
	return memory;
}

/*
 * READ-25: A read(2) that found no memory behind the first page has left the rest of the
 * sub-buffer. The next read(2) gives it; a splice(2) before that would pass it.
 */
TEST_F(large, splice_does_not_pass_the_rest_that_a_read_has_left)
{
	size_t part = getpagesize(), rest = self->subbuf - part;
	unsigned char *memory = first_page_of(self->subbuf);
	unsigned char *page = malloc(self->subbuf);
	int pipes[2];

	ASSERT_NE(NULL, memory);
	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_LT(0, write_bytes(&self->ti, 3 * self->subbuf, EVENT_LARGE));
	ASSERT_EQ(part, read(self->fd, memory, self->subbuf));
	memcpy(page, memory, part);
	EXPECT_EQ(-1, splice(self->fd, NULL, pipes[1], NULL, self->subbuf, SPLICE_F_NONBLOCK));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(rest, read(self->fd, page + part, rest));
	tally_page(&self->tally, page, self->subbuf);
	ASSERT_EQ(self->subbuf, splice(self->fd, NULL, pipes[1], NULL, self->subbuf,
				       SPLICE_F_NONBLOCK));
	ASSERT_EQ(self->subbuf, read(pipes[0], page, self->subbuf));
	tally_page(&self->tally, page, self->subbuf);
	ASSERT_LT(0, tally_read(&self->tally, self->fd, self->subbuf));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.seen);
	close(pipes[0]);
	close(pipes[1]);
	munmap(memory, part);
	free(page);
}

/* Fills @page by reads of @part bytes. Returns whether there was as much. */
static bool read_page(int fd, unsigned char *page, size_t size, size_t part)
{
	size_t have = 0;
	ssize_t len;

	while (have < size) {
		len = read(fd, page + have, part < size - have ? part : size - have);
		if (len <= 0)
			return false;
		have += len;
	}
	return true;
}

/* LOSS-5: One of a single page is handed out as ever: to its end, by as many reads as it takes. */
TEST(a_sub_buffer_of_one_page_is_continued_by_the_next_read)
{
	static const size_t parts[] = { 500, 1000, 1500, 3000, 4000 };
	unsigned char *page = malloc(getpagesize());
	struct tally tally = { 0 };
	struct trace_instance ti;
	size_t i;
	int fd;

	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, instance_open(&ti, false, 0));
	fd = cpu_file(&ti, ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, fd);
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		ASSERT_LT(0, overflow_buffer(&ti));
		while (read_page(fd, page, getpagesize(), parts[i]))
			tally_page(&tally, page, getpagesize());
		EXPECT_EQ(EAGAIN, errno);
		EXPECT_EQ(ti.seq, tally.next);
		EXPECT_TRUE(tally_exact(&tally));
		EXPECT_FALSE(tally.unknown_loss);
	}
	EXPECT_LT(0, tally.lost);
	close(fd);
	free(page);
	EXPECT_EQ(0, instance_close(&ti));
}

TEST_HARNESS_MAIN

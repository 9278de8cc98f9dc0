// SPDX-License-Identifier: GPL-2.0
/*
 * What a sub-buffer that the writer has left tells of the events lost before
 * it: in the mapping, by read(2) and by splice(2).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "buffer_fixture.h"

FIXTURE(loss) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;
	struct tally		tally;
};

FIXTURE_VARIANT(loss) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(loss, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(loss, instance_large) INSTANCE_LARGE;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(loss, top_level_large) TOP_LEVEL_LARGE;
FIXTURE_VARIANT_ADD(loss, instance) INSTANCE;
#endif

FIXTURE_SETUP(loss)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
}

FIXTURE_TEARDOWN(loss)
{
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, instance_close(&self->ti));
}

/*
 * What the marks of a sub-buffer with @lost events ahead of it have to be.
 * Returns whether the number is there.
 */
static bool expect_marks(struct __test_metadata *_metadata,
			 const unsigned char *subbuf, uint32_t size,
			 uint64_t lost)
{
	uint32_t commit = subbuf_commit(subbuf);
	uint32_t end = commit & COMMIT_LENGTH;

	EXPECT_TRUE(commit & COMMIT_LOST);
	if (size - SUBBUF_HEADER - end < KERNEL_LONG) {
		EXPECT_FALSE(commit & COMMIT_STORED);
		return false;
	}
	EXPECT_TRUE(commit & COMMIT_STORED);
	EXPECT_EQ(lost, kernel_long_at(subbuf + SUBBUF_HEADER + end));
	return true;
}

/* The record of an event has so many bytes more: its length, trace_entry, the id twice. */
#define RECORD_REST	20
#define RECORD_LARGE	\
	((EVENT_LARGE + RECORD_REST + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN)

/*
 * Fills @count sub-buffers but for @left bytes, from the beginning of one to the end of
 * another: the last event of each is as large as what is left.
 */
static void fill_subbufs(struct __test_metadata *_metadata, struct trace_instance *ti,
			 uint32_t size, uint32_t left, int count)
{
	uint32_t room = size - SUBBUF_HEADER - left, events = room / RECORD_LARGE - 1;

	while (count--) {
		ASSERT_EQ(0, write_events(ti, events, EVENT_LARGE));
		ASSERT_EQ(0, write_events(ti, 1, room - events * RECORD_LARGE - RECORD_REST));
	}
}

/* LOSS-3, LOSS-4 */
TEST_F(loss, loss_is_marked_on_a_sub_buffer_the_writer_has_left)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	int numbers = 0;
	size_t size;

	/* Records of many sizes leave different room at the end. */
	for (size = 300; size < 400; size += 4) {
		ASSERT_LT(0, write_bytes(&self->ti, 24 * meta->subbuf_size, size));
		ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
		if (!meta->reader.lost_events)
			ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
		ASSERT_LT(0, meta->reader.lost_events);
		numbers += expect_marks(_metadata,
					buffer_subbuf(&self->mb, meta->reader.id),
					meta->subbuf_size, meta->reader.lost_events);
		/* The next one follows without a loss, and without a mark. */
		ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
		EXPECT_FALSE(subbuf_commit(buffer_subbuf(&self->mb,
							 meta->reader.id)) &
			     (COMMIT_LOST | COMMIT_STORED));
		ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	}
	/* Few of these 25 sizes fill a sub-buffer. */
	EXPECT_LE(20, numbers);
}

/* LOSS-4: nowhere else, nor past the end. */
TEST_F(loss, loss_is_marked_without_its_number_where_there_is_no_room)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	uint32_t size = meta->subbuf_size;
	unsigned char *subbuf;

	fill_subbufs(_metadata, &self->ti, size, 0, 3 * meta->nr_subbufs);
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	subbuf = buffer_subbuf(&self->mb, meta->reader.id);
	ASSERT_EQ(size - SUBBUF_HEADER, subbuf_commit(subbuf) & COMMIT_LENGTH);
	ASSERT_LT(0, meta->reader.lost_events);
	EXPECT_FALSE(expect_marks(_metadata, subbuf, size, meta->reader.lost_events));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.next);
}

/* Reads all, beside a mapping and without one, from sub-buffers with @left bytes of room. */
static void expect_read_tells(struct __test_metadata *_metadata, FIXTURE_DATA(loss) * self,
			      uint32_t left, bool number)
{
	uint32_t size = self->mb.meta->subbuf_size, lost;
	unsigned char *page = malloc(size);
	int fd, mapped;

	ASSERT_NE(NULL, page);
	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, fd);
	for (mapped = 1; mapped >= 0; mapped--) {
		lost = cpu_stat(&self->ti, self->ti.cpu, "overrun");
		fill_subbufs(_metadata, &self->ti, size, left, 3 * TEST_SUBBUFS);
		lost = cpu_stat(&self->ti, self->ti.cpu, "overrun") - lost;
		ASSERT_EQ(size, read(fd, page, size));
		ASSERT_EQ(size - SUBBUF_HEADER - left, subbuf_commit(page) & COMMIT_LENGTH);
		EXPECT_EQ(number, expect_marks(_metadata, page, size, lost));
		tally_page(&self->tally, page, size);
		ASSERT_LT(0, tally_read(&self->tally, fd, size));
		EXPECT_TRUE(tally_exact(&self->tally));
		EXPECT_EQ(self->ti.seq, self->tally.next);
		buffer_unmap(&self->mb);
	}
	close(fd);
	free(page);
}

/* LOSS-5: The same in the copy that read(2) gives. */
TEST_F(loss, read_tells_a_loss_without_its_number_where_there_is_no_room)
{
	expect_read_tells(_metadata, self, 0, false);
}

/* LOSS-4, LOSS-5 */
TEST_F(loss, read_tells_a_loss_with_its_number_where_that_has_just_room)
{
	expect_read_tells(_metadata, self, KERNEL_LONG, true);
}

/* LOSS-4 */
TEST_F(loss, loss_is_marked_with_its_number_where_that_has_just_room)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	uint32_t size = meta->subbuf_size;
	unsigned char *subbuf;

	fill_subbufs(_metadata, &self->ti, size, KERNEL_LONG, 3 * meta->nr_subbufs);
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	subbuf = buffer_subbuf(&self->mb, meta->reader.id);
	ASSERT_EQ(size - SUBBUF_HEADER - KERNEL_LONG, subbuf_commit(subbuf) & COMMIT_LENGTH);
	ASSERT_LT(0, meta->reader.lost_events);
	EXPECT_TRUE(expect_marks(_metadata, subbuf, size, meta->reader.lost_events));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.next);
}

/* LOSS-3, LOSS-4: The length in a marked commit word is still that of the data. */
TEST_F(loss, marks_leave_the_length_and_the_records_as_they_were)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	unsigned char *before = malloc(self->mb.len), *subbuf, *old;
	uint32_t end;
	size_t size;

	ASSERT_NE(NULL, before);
	for (size = 300; size < 400; size += 4) {
		ASSERT_LT(0, write_bytes(&self->ti, 24 * meta->subbuf_size, size));
		memcpy(before, meta, self->mb.len);
		ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
		if (!meta->reader.lost_events)
			ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
		ASSERT_LT(0, meta->reader.lost_events);
		subbuf = buffer_subbuf(&self->mb, meta->reader.id);
		old = before + (subbuf - (unsigned char *)meta);
		end = subbuf_commit(old) & COMMIT_LENGTH;
		EXPECT_EQ(0, memcmp(old + SUBBUF_HEADER, subbuf + SUBBUF_HEADER,
				    end));
		EXPECT_EQ(end, subbuf_commit(subbuf) & COMMIT_LENGTH);
		EXPECT_EQ(end, meta->reader.read);
		ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	}
	free(before);
}

/* LOSS-6 */
TEST_F(loss, no_padding_is_counted_on_a_sub_buffer_the_writer_has_left)
{
	uint32_t size = self->mb.meta->subbuf_size, end;
	size_t len;

	for (len = 300; len < 400; len += 4) {
		ASSERT_LT(0, write_bytes(&self->ti, 3 * size, len));
		ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
		end = self->mb.meta->reader.read;
		/* There was no room for one more: a record has 4 to 20 bytes more. */
		EXPECT_GT(len + 32, size - SUBBUF_HEADER - end);
		ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	}
	EXPECT_EQ(0, self->tally.padding);
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(0, cpu_stat(&self->ti, self->ti.cpu, "bytes"));
}

/* Nothing of the kernel's is behind the records, but the number if it is there. */
static void expect_clean_behind(struct __test_metadata *_metadata,
				const unsigned char *page, uint32_t size)
{
	uint32_t commit = subbuf_commit(page);
	uint32_t i = SUBBUF_HEADER + (commit & COMMIT_LENGTH);
	unsigned int dirty = 0;

	if (commit & COMMIT_STORED)
		i += KERNEL_LONG;
	for (; i < size; i++)
		dirty += !!page[i];
	EXPECT_EQ(0, dirty);
}

/* Looks at a sub-buffer as read(2) or splice(2) gave it. Returns whether it tells a loss. */
static int expect_copy(struct __test_metadata *_metadata, const unsigned char *page,
		       const struct mapped_buffer *mb, struct tally *tally)
{
	uint32_t size = mb->meta->subbuf_size;
	bool lost = subbuf_commit(page) & COMMIT_LOST;

	if (lost)
		expect_marks(_metadata, page, size, mb->meta->reader.lost_events);
	expect_clean_behind(_metadata, page, size);
	tally_page(tally, page, size);
	return lost;
}

/* LOSS-5: beside a mapping, and told once */
TEST_F(loss, read_beside_it_tells_the_number_of_lost_events)
{
	uint32_t size = self->mb.meta->subbuf_size;
	unsigned char *page = malloc(size);
	size_t len;
	int told;

	ASSERT_NE(NULL, page);
	for (len = 300; len < 400; len += 4) {
		ASSERT_LT(0, write_bytes(&self->ti, 24 * size, len));
		told = 0;
		while (read(self->mb.fd, page, size) == size)
			told += expect_copy(_metadata, page, &self->mb, &self->tally);
		EXPECT_EQ(1, told);
	}
	EXPECT_EQ(self->ti.seq, self->tally.next);
	EXPECT_EQ(0, self->tally.padding);
	free(page);
}

/* LOSS-5: only what the writer has left comes by it */
TEST_F(loss, splice_beside_it_tells_the_number_of_lost_events)
{
	uint32_t size = self->mb.meta->subbuf_size;
	unsigned char *page = malloc(size);
	int pipes[2], told;
	size_t len;

	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	for (len = 300; len < 400; len += 4) {
		ASSERT_LT(0, write_bytes(&self->ti, 24 * size, len));
		told = 0;
		while (splice(self->mb.fd, NULL, pipes[1], NULL, size,
			      SPLICE_F_NONBLOCK) == size) {
			ASSERT_EQ(size, read(pipes[0], page, size));
			told += expect_copy(_metadata, page, &self->mb, &self->tally);
		}
		EXPECT_EQ(1, told);
		ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	}
	EXPECT_EQ(self->ti.seq, self->tally.next);
	EXPECT_EQ(0, self->tally.padding);
	close(pipes[0]);
	close(pipes[1]);
	free(page);
}

#define SHRUNK_KB	4096
#define SHRUNK_ROUNDS	8

/* The kernel frees the sub-buffers there, one by one, while they are read on another CPU. */
static pid_t fork_shrinker(struct trace_instance *ti)
{
	pid_t pid = fork();

	if (!pid)
		_exit(run_on_cpu(ti->cpu) ||
		      cpu_write_number(ti, ti->cpu, "buffer_size_kb", SHRUNK_KB / 16));
	return pid;
}

/* LOSS-10 */
TEST_F(loss, a_buffer_made_smaller_tells_the_loss_where_it_is)
{
	uint32_t size = self->mb.meta->subbuf_size;
	unsigned char *page = malloc(size);
	int fd, status, round;
	unsigned int left;
	pid_t pid;

	ASSERT_NE(NULL, page);
	buffer_unmap(&self->mb);
	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, fd);
	for (round = 0; round < SHRUNK_ROUNDS; round++) {
		ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
					      SHRUNK_KB));
		ASSERT_EQ(0, run_on_cpu(self->ti.cpu));
		/* Of most sizes a full sub-buffer has room for the number. */
		ASSERT_LT(0, write_bytes(&self->ti, SHRUNK_KB << 10, EVENT_LARGE - 12 * round));
		ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
		pid = fork_shrinker(&self->ti);
		ASSERT_LE(0, pid);
		/* Not so much that nothing is left to be lost */
		left = (SHRUNK_KB << 10) / size / 4;
		while (!waitpid(pid, &status, WNOHANG)) {
			usleep(20);
			if (left && read(fd, page, size) > 0) {
				tally_page(&self->tally, page, size);
				left--;
			}
		}
		ASSERT_EQ(0, status);
		ASSERT_LE(0, tally_read(&self->tally, fd, size));
		EXPECT_EQ(0, cpu_stat(&self->ti, self->ti.cpu, "entries"));
	}
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_LT(0, self->tally.lost);
	EXPECT_EQ(self->ti.seq, self->tally.next);
	close(fd);
	free(page);
}

/* LOSS-8: The next mapping does not show the loss that GET_READER has told already. */
TEST_F(loss, read_does_not_tell_again_what_get_reader_told)
{
	uint32_t size = self->mb.meta->subbuf_size;
	unsigned char *page = malloc(size);
	int round;

	ASSERT_NE(NULL, page);
	for (round = 0; round < 3; round++) {
		ASSERT_LT(0, overflow_buffer(&self->ti));
		ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
		if (!self->mb.meta->reader.lost_events)
			ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
		ASSERT_LT(0, self->mb.meta->reader.lost_events);
		while (read(self->mb.fd, page, size) == size) {
			EXPECT_FALSE(subbuf_commit(page) & (COMMIT_LOST | COMMIT_STORED));
			tally_page(&self->tally, page, size);
		}
		EXPECT_EQ(0, self->mb.meta->reader.lost_events);
		EXPECT_EQ(self->ti.seq, self->tally.next);
	}
	EXPECT_TRUE(tally_exact(&self->tally));
	free(page);
}

/* LOSS-8: read(2) took the memory of the sub-buffer with the loss: it goes with that. */
TEST_F(loss, a_loss_that_read_told_is_not_that_of_the_next_mapping)
{
	struct trace_buffer_meta *meta;
	uint32_t size = self->mb.meta->subbuf_size;
	unsigned char *page = malloc(size);
	int fd;

	ASSERT_NE(NULL, page);
	buffer_unmap(&self->mb);
	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, fd);
	/* Events of a size that leaves room for the number. */
	ASSERT_LT(0, write_bytes(&self->ti, 24 * size, 300));
	ASSERT_EQ(size, read(fd, page, size));
	EXPECT_TRUE(subbuf_commit(page) & COMMIT_LOST);
	tally_page(&self->tally, page, size);
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	meta = self->mb.meta;
	EXPECT_EQ(0, meta->reader.lost_events);
	EXPECT_EQ(self->tally.seen, meta->read);
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.seen + self->tally.lost);
	EXPECT_EQ(self->tally.lost, meta->overrun);
	close(fd);
	free(page);
}

/* LOSS-3: trace_pipe has taken the first events of it: the marks come all the same. */
TEST_F(loss, a_sub_buffer_begun_by_trace_pipe_is_marked)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	char line[2048];
	int fd;

	ASSERT_LT(0, write_bytes(&self->ti, 24 * meta->subbuf_size, 300));
	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, fd);
	ASSERT_LT(0, read(fd, line, sizeof(line)));
	close(fd);
	ASSERT_LT(0, meta->reader.read);
	EXPECT_EQ(meta->overrun, meta->reader.lost_events);
	self->tally.unknown_loss = true;
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	EXPECT_TRUE(expect_marks(_metadata, buffer_subbuf(&self->mb, meta->reader.id),
				 meta->subbuf_size, meta->overrun));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.next);
}

/* The memory that is handed out was written to before, and read into. */
static void expect_clean_reads(struct __test_metadata *_metadata,
			       FIXTURE_DATA(loss) * self, int fd, size_t size)
{
	unsigned char *page = malloc(size);
	ssize_t len;

	ASSERT_NE(NULL, page);
	memset(page, 0xff, size);
	while ((len = read(fd, page, size)) > 0) {
		expect_clean_behind(_metadata, page, len);
		tally_page(&self->tally, page, len);
		memset(page, 0xff, size);
	}
	EXPECT_EQ(self->ti.seq, self->tally.next);
	EXPECT_TRUE(tally_exact(&self->tally));
	free(page);
}

/* READ-16: Nor in what comes without a mapping: whole, in parts, and one being written. */
TEST_F(loss, nothing_of_old_is_behind_what_read_gives)
{
	uint32_t size = self->mb.meta->subbuf_size;
	/* One page is handed out to its end, over as many reads as it takes. */
	size_t part = size > getpagesize() ? size / 2 + 20 : size, len;
	int fd;

	buffer_unmap(&self->mb);
	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, fd);
	for (len = 300; len < 400; len += 20) {
		ASSERT_LT(0, write_bytes(&self->ti, 24 * size, len));
		expect_clean_reads(_metadata, self, fd, size);
		ASSERT_EQ(0, write_events(&self->ti, 3, len));
		expect_clean_reads(_metadata, self, fd, size);
		ASSERT_LT(0, write_bytes(&self->ti, 24 * size, len));
		expect_clean_reads(_metadata, self, fd, part);
	}
	close(fd);
}

/* READ-16 */
TEST_F(loss, nothing_of_old_is_behind_what_splice_gives)
{
	uint32_t size = self->mb.meta->subbuf_size;
	unsigned char *page = malloc(size);
	int fd, pipes[2], round, spliced;

	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, pipe(pipes));
	buffer_unmap(&self->mb);
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, fd);
	for (round = 0; round < 5; round++) {
		ASSERT_LT(0, write_bytes(&self->ti, 24 * size, 300 + 20 * round));
		spliced = 0;
		while (splice(fd, NULL, pipes[1], NULL, size, SPLICE_F_NONBLOCK) == size) {
			ASSERT_EQ(size, read(pipes[0], page, size));
			expect_clean_behind(_metadata, page, size);
			tally_page(&self->tally, page, size);
			spliced++;
		}
		EXPECT_LT(1, spliced);
		expect_clean_reads(_metadata, self, fd, size);
	}
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.next);
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
	free(page);
}

/* READ-12 */
TEST_F(loss, trace_is_right_on_a_sub_buffer_with_the_number)
{
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_LT(0, self->mb.meta->reader.lost_events);
	EXPECT_EQ(self->ti.seq - self->tally.next, count_trace_lines(&self->ti, "trace"));
	EXPECT_EQ(self->ti.seq - self->tally.next, count_trace_lines(&self->ti, "trace"));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(0, count_trace_lines(&self->ti, "trace"));
}

TEST_HARNESS_MAIN

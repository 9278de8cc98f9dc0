// SPDX-License-Identifier: GPL-2.0
/*
 * What a mapping excludes, what excludes a mapping, and what goes on beside it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "buffer_fixture.h"

/* An event that does not occur while a trigger of it is set. */
#define EVENT		"events/sched/sched_process_free"
#define TRIGGER		EVENT "/trigger"
#define HIST_EVENT	"events/sched/sched_process_fork"
#define HIST_TRIGGER	HIST_EVENT "/trigger"
#define HIST_SNAPSHOT	\
	"hist:keys=parent_pid:child=child_pid:onchange($child).snapshot()"
#define HIST_MAX	\
	"hist:keys=parent_pid:child=child_pid:onmax($child).snapshot()"

FIXTURE(beside) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;
	struct tally		tally;
};

FIXTURE_VARIANT(beside) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(beside, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(beside, instance_large) INSTANCE_LARGE;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(beside, top_level_large) TOP_LEVEL_LARGE;
FIXTURE_VARIANT_ADD(beside, instance) INSTANCE;
#endif

FIXTURE_SETUP(beside)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
}

FIXTURE_TEARDOWN(beside)
{
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* The mapping works: all written from now on is seen. */
static void expect_streaming(struct __test_metadata *_metadata,
			     struct trace_instance *ti,
			     struct mapped_buffer *mb, struct tally *tally)
{
	ASSERT_LE(0, tally_drain(tally, mb));
	ASSERT_EQ(0, write_events(ti, 5, EVENT_LARGE));
	ASSERT_LT(0, tally_drain(tally, mb));
	EXPECT_TRUE(tally_exact(tally));
	EXPECT_EQ(ti->seq, tally->next);
}

/* HOLD-1 */
TEST_F(beside, resizing_the_mapped_buffer_is_refused_with_EBUSY)
{
	long long size = cpu_number(&self->ti, self->ti.cpu, "buffer_size_kb");

	EXPECT_EQ(-EBUSY, cpu_write_number(&self->ti, self->ti.cpu,
					   "buffer_size_kb", 2 * size));
	EXPECT_EQ(-EBUSY, cpu_write_number(&self->ti, self->ti.cpu,
					   "buffer_size_kb", size / 2));
	EXPECT_EQ(size, cpu_number(&self->ti, self->ti.cpu, "buffer_size_kb"));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* HOLD-1 */
TEST_F(beside, resizing_all_buffers_is_refused_with_EBUSY)
{
	long long size = instance_number(&self->ti, "buffer_size_kb");

	EXPECT_EQ(-EBUSY, instance_write_number(&self->ti, "buffer_size_kb",
						2 * size));
	EXPECT_EQ(-EBUSY, instance_write_number(&self->ti, "buffer_size_kb",
						size / 2));
	/* none of them was changed */
	EXPECT_EQ(size, cpu_number(&self->ti, self->ti.cpu, "buffer_size_kb"));
	EXPECT_EQ(size, cpu_number(&self->ti, self->ti.other_cpu,
				   "buffer_size_kb"));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* HOLD-1 */
TEST_F(beside, a_mapping_of_another_process_excludes_as_well)
{
	char c;
	int ready[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	buffer_unmap(&self->mb);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (buffer_map(&self->mb, &self->ti, self->ti.cpu, 0) ||
		    write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, "buffer_size_kb", "8"));
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, "snapshot", "1"));
	EXPECT_EQ(0, kill_child(pid));
	EXPECT_EQ(0, instance_write(&self->ti, "buffer_size_kb", "8"));
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
}

/* HOLD-4 */
TEST_F(beside, changing_the_sub_buffer_size_is_refused_with_EBUSY)
{
	EXPECT_EQ(-EBUSY, instance_write_number(&self->ti,
						"buffer_subbuf_size_kb",
						2 * self->ti.subbuf_kb));
	EXPECT_EQ(self->ti.subbuf_kb,
		  instance_number(&self->ti, "buffer_subbuf_size_kb"));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* HOLD-2 */
TEST_F(beside, the_present_size_again_is_success)
{
	long long size = instance_number(&self->ti, "buffer_size_kb");

	EXPECT_EQ(0, instance_write_number(&self->ti, "buffer_size_kb", size));
	EXPECT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
				      size));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* HOLD-1: the size that this CPU has would be a new one for another CPU */
TEST_F(beside, the_size_of_the_mapped_buffer_is_refused_for_all_cpus_if_others_differ)
{
	long long size = instance_number(&self->ti, "buffer_size_kb");
	long long other;

	ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.other_cpu, "buffer_size_kb",
				      2 * size));
	other = cpu_number(&self->ti, self->ti.other_cpu, "buffer_size_kb");
	EXPECT_LT(size, other);
	EXPECT_EQ(-EBUSY, instance_write_number(&self->ti, "buffer_size_kb", size));
	EXPECT_EQ(other, cpu_number(&self->ti, self->ti.other_cpu, "buffer_size_kb"));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* HOLD-2 */
TEST_F(beside, the_present_sub_buffer_size_again_is_success)
{
	EXPECT_EQ(0, instance_write_number(&self->ti, "buffer_subbuf_size_kb",
					   self->ti.subbuf_kb));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* HOLD-3 */
TEST_F(beside, resizing_the_buffer_of_another_cpu_works)
{
	unsigned int kb = 2 * TEST_SUBBUFS * self->ti.subbuf_kb;

	EXPECT_EQ(0, cpu_write_number(&self->ti, self->ti.other_cpu,
				      "buffer_size_kb", kb));
	EXPECT_LE(kb, cpu_number(&self->ti, self->ti.other_cpu,
				 "buffer_size_kb"));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* HOLD-5 */
TEST_F(beside, everything_works_after_the_last_munmap)
{
	struct mapped_buffer second;

	ASSERT_EQ(0, buffer_map(&second, &self->ti, self->ti.cpu, 0));
	buffer_unmap(&self->mb);
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, "buffer_size_kb", "8"));
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, "snapshot", "1"));
	buffer_unmap(&second);
	EXPECT_EQ(0, instance_write(&self->ti, "buffer_size_kb", "8"));
	EXPECT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
				      16));
	EXPECT_EQ(0, instance_write_number(&self->ti, "buffer_subbuf_size_kb",
					   2 * self->ti.subbuf_kb));
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	EXPECT_EQ(0, instance_write(&self->ti, TRIGGER, "snapshot"));
	EXPECT_EQ(0, instance_write(&self->ti, TRIGGER, "!snapshot"));
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "0"));
}

/* HOLD-3: Another instance has a buffer of its own. */
TEST_F(beside, another_instance_is_not_excluded)
{
	struct trace_instance other;

	ASSERT_EQ(0, instance_open(&other, false, 0));
	EXPECT_EQ(0, instance_write(&other, "buffer_size_kb", "64"));
	EXPECT_EQ(0, instance_write(&other, "buffer_subbuf_size_kb", "8"));
	EXPECT_EQ(0, instance_write(&other, "snapshot", "1"));
	EXPECT_EQ(0, instance_close(&other));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* SNAP-1: the file of all CPUs */
TEST_F(beside, taking_a_snapshot_is_refused_with_EBUSY)
{
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, "snapshot", "1"));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* SNAP-1: the file of a CPU */
TEST_F(beside, taking_a_snapshot_of_the_mapped_cpu_is_refused_with_EBUSY)
{
	EXPECT_EQ(-EBUSY, cpu_write(&self->ti, self->ti.cpu, "snapshot", "1"));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* SNAP-1 */
TEST_F(beside, taking_a_snapshot_of_another_cpu_is_refused_with_EBUSY)
{
	EXPECT_EQ(-EBUSY, cpu_write(&self->ti, self->ti.other_cpu, "snapshot",
				    "1"));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* SNAP-1: a snapshot that is allocated already */
TEST_F(beside, taking_a_snapshot_again_is_refused_with_EBUSY)
{
	buffer_unmap(&self->mb);
	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, "snapshot", "1"));
	EXPECT_EQ(-EBUSY, cpu_write(&self->ti, self->ti.cpu, "snapshot", "1"));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* SNAP-2: a trigger */
TEST_F(beside, setting_a_snapshot_trigger_is_refused_with_EBUSY)
{
	char text[512];

	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "0"));
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, TRIGGER, "snapshot"));
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, TRIGGER, "snapshot:1"));
	EXPECT_LE(0, instance_read(&self->ti, TRIGGER, text, sizeof(text)));
	EXPECT_EQ(NULL, strstr(text, "\nsnapshot"));
	EXPECT_STRNE("snapshot", strtok(text, ":\n") ?: "");
	/* Nor has it memory for what it cannot take. */
	EXPECT_LT(0, instance_read(&self->ti, "snapshot", text, sizeof(text)));
	EXPECT_NE(NULL, strstr(text, "Snapshot is freed"));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

#ifndef NO_HIST_TRIGGERS
/* SNAP-2: a histogram: conditional snapshots */
TEST_F(beside, setting_a_histogram_snapshot_is_refused_with_EBUSY)
{
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, HIST_TRIGGER, HIST_SNAPSHOT));
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, HIST_TRIGGER, HIST_MAX));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}
#endif

/* SNAP-7: What was refused does not count as a user, nor does a refusal leak one. */
TEST_F(beside, refused_snapshot_users_leave_nothing_behind)
{
	int i;

	for (i = 0; i < 5; i++) {
		EXPECT_EQ(-EBUSY, instance_write(&self->ti, "snapshot", "1"));
		EXPECT_EQ(-EBUSY, instance_write(&self->ti, TRIGGER, "snapshot"));
#ifndef NO_HIST_TRIGGERS
		EXPECT_EQ(-EBUSY, instance_write(&self->ti, HIST_TRIGGER,
						 HIST_SNAPSHOT));
#endif
	}
	buffer_unmap(&self->mb);
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* SNAP-8: Looking at, emptying or freeing a snapshot takes none. */
TEST_F(beside, a_kept_snapshot_can_be_read_and_freed)
{
	buffer_unmap(&self->mb);
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	self->tally.next = self->ti.seq;
	EXPECT_EQ(5, count_trace_lines(&self->ti, "snapshot"));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "2"));
	EXPECT_EQ(0, count_trace_lines(&self->ti, "snapshot"));
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "0"));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* Another tracer is refused, and the one there is stays. */
static void expect_tracer_busy(struct __test_metadata *_metadata,
			       struct trace_instance *ti)
{
	char text[64];

	EXPECT_EQ(-EBUSY, instance_write(ti, "current_tracer", "function"));
	EXPECT_LT(0, instance_read(ti, "current_tracer", text, sizeof(text)));
	EXPECT_STREQ("nop\n", text);
}

/* HOLD-6 */
TEST_F(beside, current_tracer_answers_EBUSY_while_mapped)
{
	expect_tracer_busy(_metadata, &self->ti);
	close(self->mb.fd);
	self->mb.fd = -1;
	expect_tracer_busy(_metadata, &self->ti);
}

/* HOLD-6 */
TEST_F(beside, current_tracer_answers_EBUSY_while_trace_pipe_raw_is_open)
{
	int fd;

	buffer_unmap(&self->mb);
	fd = cpu_file(&self->ti, self->ti.other_cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, fd);
	expect_tracer_busy(_metadata, &self->ti);
	close(fd);
}

/* READ-11 */
TEST_F(beside, read_works_and_refreshes_the_meta_page)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	struct tally read = { 0 };

	ASSERT_EQ(0, write_events(&self->ti, 8, EVENT_LARGE));
	ASSERT_LT(0, tally_read(&read, self->mb.fd, meta->subbuf_size));
	EXPECT_TRUE(tally_exact(&read));
	EXPECT_EQ(8, read.seen);
	EXPECT_EQ(8, meta->read);
	EXPECT_EQ(8, meta->entries);
	self->tally.next = self->ti.seq;
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* READ-11 */
TEST_F(beside, trace_works_and_refreshes_the_meta_page)
{
	ASSERT_EQ(0, write_events(&self->ti, 8, EVENT_LARGE));
	EXPECT_EQ(8, count_trace_lines(&self->ti, "trace"));
	EXPECT_EQ(8, self->mb.meta->entries);
	EXPECT_EQ(0, self->mb.meta->read);
	/* It consumed nothing. */
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
	EXPECT_EQ(13, self->tally.seen);
	EXPECT_EQ(0, count_trace_lines(&self->ti, "trace"));
}

/* READ-11: It pauses the trace while it is read, if that is wanted, and no longer. */
TEST_F(beside, tracing_goes_on_after_trace_was_read_with_pause_on_trace)
{
	ASSERT_EQ(0, instance_write(&self->ti, "options/pause-on-trace", "1"));
	EXPECT_EQ(0, count_trace_lines(&self->ti, "trace"));
	EXPECT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	EXPECT_EQ(3, count_trace_lines(&self->ti, "trace"));
	ASSERT_EQ(0, instance_write(&self->ti, "options/pause-on-trace", "0"));
	self->tally.next = 0;
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* Consumes with trace_pipe until it has nothing more. */
static long count_trace_pipe(struct trace_instance *ti, size_t bytes)
{
	int fd = instance_file(ti, "trace_pipe", O_RDONLY | O_NONBLOCK);
	char *text = malloc(8192), *p;
	long count = 0;
	ssize_t len;

	if (fd < 0 || !text)
		return -EIO;
	do {
		len = read(fd, text, bytes < 8192 ? bytes : 8191);
		text[len < 0 ? 0 : len] = '\0';
		for (p = text; (p = strstr(p, " buf:")); p++)
			count++;
	} while (len > 0 && bytes > 4096);
	close(fd);
	free(text);
	return count;
}

/* READ-11 */
TEST_F(beside, trace_pipe_works_and_refreshes_the_meta_page)
{
	ASSERT_EQ(0, write_events(&self->ti, 8, EVENT_SMALL));
	EXPECT_EQ(8, count_trace_pipe(&self->ti, 8191));
	EXPECT_EQ(8, self->mb.meta->entries);
	EXPECT_EQ(8, self->mb.meta->read);
	self->tally.next = self->ti.seq;
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* READ-11: Each of two mappings shows the same meta page. */
TEST_F(beside, read_refreshes_the_meta_page_of_two_mappings)
{
	struct mapped_buffer second;
	struct tally read = { 0 };

	ASSERT_EQ(0, buffer_map(&second, &self->ti, self->ti.cpu, O_NONBLOCK));
	ASSERT_EQ(0, write_events(&self->ti, 8, EVENT_LARGE));
	ASSERT_LT(0, tally_read(&read, self->mb.fd, self->mb.meta->subbuf_size));
	EXPECT_EQ(8, self->mb.meta->read);
	EXPECT_EQ(8, second.meta->read);
	buffer_unmap(&second);
}

/*
 * READ-11, META-17: trace_pipe of all CPUs looks at the next event of each, which may make
 * the next sub-buffer the reader's, and takes the oldest one, which is another CPU's here.
 */
TEST_F(beside, trace_pipe_of_all_cpus_refreshes_the_meta_page_where_it_only_looks)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	uint32_t id = meta->reader.id;

	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	ASSERT_EQ(0, write_events(&self->ti, 1, EVENT_SMALL));
	ASSERT_EQ(0, run_on_cpu(self->ti.cpu));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LE(0, count_trace_pipe(&self->ti, 1));
	EXPECT_EQ(1, cpu_stat(&self->ti, self->ti.other_cpu, "read events"));
	EXPECT_EQ(0, meta->read);
	EXPECT_NE(id, meta->reader.id);
	EXPECT_EQ(0, meta->reader.read);
	EXPECT_EQ(meta->overrun, meta->reader.lost_events);
	EXPECT_EQ(self->ti.seq - 1, meta->entries);
}

/* How many events a consumer can still get. */
static uint64_t unread(struct trace_buffer_meta *meta)
{
	return meta->entries - meta->overrun - meta->read;
}

/* READ-12 */
TEST_F(beside, trace_is_right_on_sub_buffers_with_loss_marks)
{
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_LT(0, self->mb.meta->reader.lost_events);
	EXPECT_EQ(unread(self->mb.meta), count_trace_lines(&self->ti, "trace"));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(0, count_trace_lines(&self->ti, "trace"));
	EXPECT_TRUE(tally_exact(&self->tally));
}

/* READ-12 */
TEST_F(beside, trace_pipe_is_right_on_sub_buffers_with_loss_marks)
{
	uint64_t left;

	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_LT(0, self->mb.meta->reader.lost_events);
	left = unread(self->mb.meta);
	EXPECT_EQ(left, count_trace_pipe(&self->ti, 8191));
	EXPECT_EQ(0, unread(self->mb.meta));
}

/* READ-12 */
TEST_F(beside, read_is_right_on_sub_buffers_with_loss_marks)
{
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_LT(0, self->mb.meta->reader.lost_events);
	ASSERT_LT(0, tally_read(&self->tally, self->mb.fd,
				self->mb.meta->subbuf_size));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.seen + self->tally.lost);
	EXPECT_EQ(0, unread(self->mb.meta));
}

/* LOSS-2: The first loss is told by read(2), what follows is handed out here. */
TEST_F(beside, loss_told_by_read_is_exact_beside_a_mapping)
{
	size_t size = self->mb.meta->subbuf_size;
	unsigned char *page = malloc(size);
	ssize_t len;

	ASSERT_NE(NULL, page);
	ASSERT_LT(0, overflow_buffer(&self->ti));
	len = read(self->mb.fd, page, size);
	ASSERT_LT(0, len);
	EXPECT_TRUE(subbuf_commit(page) & COMMIT_LOST);
	tally_page(&self->tally, page, len);
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.next);
	free(page);
}

/* READ-12: A marked sub-buffer whose first events went to trace_pipe. */
TEST_F(beside, a_sub_buffer_begun_by_trace_pipe_is_finished_by_get_reader)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	uint64_t piped;

	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, count_trace_pipe(&self->ti, 2048));
	piped = meta->read;
	ASSERT_LT(0, piped);
	ASSERT_LT(0, unread(meta));
	/* All of it that was consumed so far is before reader.read. */
	self->tally.unknown_loss = true;
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(0, self->tally.malformed);
	EXPECT_EQ(0, self->tally.misplaced);
	EXPECT_EQ(meta->read, piped + self->tally.seen);
	EXPECT_EQ(self->ti.seq, meta->overrun + meta->read);
}

/* READ-12: The same, with a read(2) of what trace_pipe left. */
TEST_F(beside, a_sub_buffer_begun_by_trace_pipe_is_finished_by_read)
{
	struct trace_buffer_meta *meta = self->mb.meta;
	uint64_t piped;

	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, count_trace_pipe(&self->ti, 2048));
	piped = meta->read;
	self->tally.unknown_loss = true;
	ASSERT_LT(0, tally_read(&self->tally, self->mb.fd, meta->subbuf_size));
	EXPECT_EQ(0, self->tally.malformed);
	EXPECT_EQ(0, self->tally.misplaced);
	EXPECT_EQ(meta->read, piped + self->tally.seen);
	EXPECT_EQ(self->ti.seq, meta->overrun + meta->read);
}

/* Splices what there is into a pipe, and counts it from there. */
static long tally_splice(struct tally *tally, int fd, size_t size)
{
	unsigned char *page = malloc(size);
	int pipes[2];
	ssize_t len, got;
	long subbufs = 0;

	if (!page || pipe(pipes))
		return -errno;
	while ((len = splice(fd, NULL, pipes[1], NULL, size,
			     SPLICE_F_NONBLOCK)) > 0) {
		for (got = 0; got < len; got += size) {
			if (read(pipes[0], page, size) != (ssize_t)size)
				return -EIO;
			tally_page(tally, page, size);
			subbufs++;
		}
	}
	close(pipes[0]);
	close(pipes[1]);
	free(page);
	return subbufs;
}

/* READ-15 */
TEST_F(beside, splice_delivers_full_sub_buffers_that_wait)
{
	size_t size = self->mb.meta->subbuf_size;

	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_LT(0, write_bytes(&self->ti, 4 * size, EVENT_LARGE));
	EXPECT_LE(3, tally_splice(&self->tally, self->mb.fd, size));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_LE((self->ti.seq * 3) / 5, self->tally.seen);
	EXPECT_EQ(self->tally.seen, self->mb.meta->read);
	/* By copying: the mapping goes on, just behind what was spliced. */
	ASSERT_LE(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(self->ti.seq, self->tally.seen);
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* READ-15: Several at once, after a loss, and after GET_READER took its part. */
TEST_F(beside, splice_delivers_what_get_reader_left)
{
	size_t size = self->mb.meta->subbuf_size;

	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	EXPECT_LT(0, tally_splice(&self->tally, self->mb.fd, size));
	ASSERT_LE(0, tally_drain(&self->tally, &self->mb));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.next);
	EXPECT_EQ(self->tally.seen, self->mb.meta->read);
}

enum reading {
	BY_READ,
	BY_SPLICE,
};

/* The child exits with 0 at the end of the trace. */
static pid_t fork_reader(int fd, enum reading by)
{
	char text[4096];
	int pipes[2];
	pid_t pid;

	pid = fork();
	if (pid)
		return pid;
	if (by == BY_READ)
		_exit(read(fd, text, sizeof(text)) != 0);
	_exit(pipe(pipes) || splice(fd, NULL, pipes[1], NULL, 64 * 1024, 0) != 0);
}

/*
 * The reader waits, and comes to the end when 0 is written to tracing_on. If tracing is off when
 * it begins to wait, it is on for a moment only before that.
 */
static void expect_end_with_tracing(struct __test_metadata *_metadata,
				    struct trace_instance *ti, int fd, enum reading by)
{
	pid_t pid = fork_reader(fd, by);

	ASSERT_LE(0, pid);
	EXPECT_TRUE(child_sleeps(pid, WOKEN_MS));
	EXPECT_EQ(-EAGAIN, child_status(pid, STILL_WAITING_MS));
	EXPECT_EQ(0, instance_write(ti, "tracing_on", "1"));
	EXPECT_EQ(0, instance_write(ti, "tracing_on", "0"));
	EXPECT_EQ(0, ended_child(pid));
	EXPECT_EQ(0, instance_write(ti, "tracing_on", "1"));
}

/* Before its first event a reader of trace_pipe waits for tracing to be turned on. */
static int open_trace_pipe_and_read(struct trace_instance *ti)
{
	int fd = instance_file(ti, "trace_pipe", O_RDONLY);
	char text[4096];

	if (fd >= 0 && (write_events(ti, 3, EVENT_SMALL) || read(fd, text, sizeof(text)) <= 0)) {
		close(fd);
		return -EIO;
	}
	return fd;
}

/* READ-33 */
TEST_F(beside, a_read_of_trace_pipe_that_waits_ends_with_tracing)
{
	int fd = open_trace_pipe_and_read(&self->ti);

	ASSERT_LE(0, fd);
	expect_end_with_tracing(_metadata, &self->ti, fd, BY_READ);
	close(fd);
}

/* READ-33 */
TEST_F(beside, a_splice_of_trace_pipe_that_waits_ends_with_tracing)
{
	int fd = open_trace_pipe_and_read(&self->ti);

	ASSERT_LE(0, fd);
	expect_end_with_tracing(_metadata, &self->ti, fd, BY_SPLICE);
	close(fd);
}

/* READ-17: for any event, and for some part of the buffer */
TEST_F(beside, a_splice_of_trace_pipe_raw_that_waits_ends_with_tracing)
{
	static const char * const percents[] = { "0", "50" };
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(percents); i++) {
		fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", percents[i]));
		expect_end_with_tracing(_metadata, &self->ti, fd, BY_SPLICE);
		/* On some kernels, what a child that has ended had open waits no more */
		close(fd);
	}
}

/* READ-17 */
TEST_F(beside, a_splice_of_trace_pipe_raw_that_begins_without_tracing_ends_with_it)
{
	int fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "0"));
	expect_end_with_tracing(_metadata, &self->ti, fd, BY_SPLICE);
	close(fd);
}

/* READ-17, READ-28 */
TEST_F(beside, a_splice_that_ends_with_tracing_hands_out_full_sub_buffers)
{
	size_t size = self->mb.meta->subbuf_size;
	int fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);
	int status, pipes[2];
	char *page;
	pid_t pid;

	ASSERT_LE(0, fd);
	page = malloc(size);
	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_LE((int)size, fcntl(pipes[1], F_SETPIPE_SZ, size));
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "100"));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(splice(fd, NULL, pipes[1], NULL, size, 0) != (ssize_t)size);
	EXPECT_TRUE(child_sleeps(pid, WOKEN_MS));
	EXPECT_LT(0, write_bytes(&self->ti, 3 * size, EVENT_LARGE));
	/* On Linux 6.1 it may end sooner, and with nothing when tracing ends. */
	if (has_mainlines_mapping())
		EXPECT_EQ(-EAGAIN, child_status(pid, STILL_WAITING_MS));
	EXPECT_EQ(0, instance_write(&self->ti, "tracing_on", "0"));
	status = ended_child(pid);
	EXPECT_TRUE(!status || (status == 1 && !has_mainlines_mapping()));
	if (!status)
		EXPECT_EQ((ssize_t)size, read(pipes[0], page, size));
	EXPECT_EQ(0, instance_write(&self->ti, "tracing_on", "1"));
	free(page);
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
}

/* READ-33: where tracing is off before it begins */
TEST_F(beside, splice_of_trace_pipe_ends_when_tracing_has)
{
	int fd = open_trace_pipe_and_read(&self->ti);
	pid_t pid;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "0"));
	pid = fork_reader(fd, BY_SPLICE);
	ASSERT_LE(0, pid);
	EXPECT_EQ(0, ended_child(pid));
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "1"));
	close(fd);
}

/* READ-15: Spliced bytes are a copy: what is written later does not show in them. */
TEST_F(beside, spliced_bytes_do_not_change)
{
	size_t size = self->mb.meta->subbuf_size;
	unsigned char *page = malloc(size);
	int pipes[2];

	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_percent", "0"));
	ASSERT_LT(0, write_bytes(&self->ti, 2 * size, EVENT_LARGE));
	ASSERT_EQ(size, splice(self->mb.fd, NULL, pipes[1], NULL, size,
			       SPLICE_F_NONBLOCK));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(size, read(pipes[0], page, size));
	tally_page(&self->tally, page, size);
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_LT(0, self->tally.seen);
	free(page);
}

/* The meta page says that the buffer is empty. */
static void expect_empty(struct __test_metadata *_metadata,
			 struct mapped_buffer *mb)
{
	EXPECT_EQ(0, mb->meta->entries);
	EXPECT_EQ(0, mb->meta->overrun);
	EXPECT_EQ(0, mb->meta->read);
	EXPECT_EQ(0, mb->meta->pages_lost);
	EXPECT_EQ(0, mb->meta->reader.read);
	EXPECT_EQ(0, mb->meta->reader.lost_events);
}

/* HOLD-8 */
TEST_F(beside, reset_is_told_at_once_and_the_mapping_goes_on)
{
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
	expect_empty(_metadata, &self->mb);
	EXPECT_EQ(0, count_trace_lines(&self->ti, "trace"));
	memset(&self->tally, 0, sizeof(self->tally));
	self->tally.next = self->ti.seq;
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
	EXPECT_EQ(5, self->mb.meta->entries);
}

/* HOLD-8 */
TEST_F(beside, reset_of_the_cpu_is_told_at_once_and_the_mapping_goes_on)
{
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	ASSERT_EQ(0, cpu_write(&self->ti, self->ti.cpu, "trace", ""));
	expect_empty(_metadata, &self->mb);
	memset(&self->tally, 0, sizeof(self->tally));
	self->tally.next = self->ti.seq;
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* LOSS-9: What was thrown away is told by no loss, but by fewer events than were consumed. */
TEST_F(beside, fewer_events_in_read_than_were_consumed_tell_of_a_reset)
{
	unsigned int seen, i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, write_events(&self->ti, 100, EVENT_LARGE));
		ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
		EXPECT_TRUE(tally_exact(&self->tally));
		seen = self->tally.seen;
		EXPECT_EQ(seen, self->mb.meta->read);
		ASSERT_EQ(0, write_events(&self->ti, 30, EVENT_LARGE));
		ASSERT_EQ(0, instance_write(&self->ti, "trace", ""));
		ASSERT_EQ(0, write_events(&self->ti, 20, EVENT_LARGE));
		memset(&self->tally, 0, sizeof(self->tally));
		self->tally.next = self->ti.seq - 20;
		ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
		EXPECT_TRUE(tally_exact(&self->tally));
		EXPECT_EQ(20, self->mb.meta->read);
		EXPECT_GT(seen + self->tally.seen, self->mb.meta->read);
	}
}

static int switch_cpu(int cpu, const char *online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online",
		 cpu);
	return write_file(path, online);
}

/* HOLD-9 */
TEST_F(beside, the_mapped_cpu_can_go_and_come_back)
{
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	ASSERT_EQ(0, switch_cpu(self->ti.cpu, "0"));
	/* What it wrote can be had while it is away. */
	EXPECT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(5, self->tally.seen);
	EXPECT_EQ(-EBUSY, cpu_write(&self->ti, self->ti.cpu, "buffer_size_kb",
				    "8"));
	ASSERT_EQ(0, switch_cpu(self->ti.cpu, "1"));
	ASSERT_EQ(0, run_on_cpu(self->ti.cpu));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* HOLD-9 */
TEST_F(beside, a_cpu_that_is_away_can_be_mapped)
{
	int err;

	buffer_unmap(&self->mb);
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	ASSERT_EQ(0, switch_cpu(self->ti.cpu, "0"));
	err = buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK);
	ASSERT_EQ(0, switch_cpu(self->ti.cpu, "1"));
	ASSERT_EQ(0, err);
	ASSERT_EQ(0, run_on_cpu(self->ti.cpu));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
	EXPECT_EQ(10, self->tally.seen);
}

/* HOLD-10 */
TEST_F(beside, tracing_on_can_be_switched)
{
	ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "0"));
	/* refused, and not counted */
	EXPECT_EQ(-EBADF, write_events(&self->ti, 1, EVENT_LARGE));
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "1"));
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
	EXPECT_EQ(10, self->mb.meta->entries);
}

/* HOLD-10: It is one switch, whoever turns it: here the kernel does, at an event. */
TEST_F(beside, the_kernel_and_the_file_turn_one_tracing_on)
{
	ASSERT_EQ(0, instance_write(&self->ti, PRINT_TRIGGER, "traceoff"));
	EXPECT_EQ(1, instance_number(&self->ti, "tracing_on"));
	ASSERT_EQ(0, instance_write(&self->ti, "trace_marker", "off"));
	EXPECT_EQ(0, instance_number(&self->ti, "tracing_on"));
	EXPECT_EQ(-EBADF, write_events(&self->ti, 1, EVENT_LARGE));
	/* Once is enough, and off is no count. */
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "0"));
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "1"));
	EXPECT_EQ(1, instance_number(&self->ti, "tracing_on"));
	EXPECT_EQ(0, write_events(&self->ti, 1, EVENT_LARGE));
	/* Overruled, it turns it off at the next event all the same. */
	ASSERT_EQ(0, instance_write(&self->ti, "trace_marker", "off"));
	EXPECT_EQ(0, instance_number(&self->ti, "tracing_on"));
	ASSERT_EQ(0, instance_write(&self->ti, PRINT_TRIGGER, "!traceoff"));
	EXPECT_EQ(0, instance_number(&self->ti, "tracing_on"));
	ASSERT_EQ(0, instance_write(&self->ti, "tracing_on", "1"));
	ASSERT_EQ(0, instance_write(&self->ti, "trace_marker", "on"));
	EXPECT_EQ(1, instance_number(&self->ti, "tracing_on"));
	/* Three markers, and one event; none of them while it was off. */
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(3, self->tally.others);
	EXPECT_EQ(1, self->tally.seen);
	EXPECT_EQ(4, self->mb.meta->entries);
	self->tally.others = 0;
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* HOLD-11 */
TEST_F(beside, overwrite_can_be_switched)
{
	ASSERT_EQ(0, instance_write(&self->ti, "options/overwrite", "0"));
	/* Full, the buffer keeps what it has, and refuses the rest. */
	EXPECT_EQ(-EBADF, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_EQ(self->ti.seq, self->tally.seen);
	EXPECT_EQ(self->ti.seq, self->mb.meta->entries);
	EXPECT_EQ(0, self->mb.meta->overrun);
	EXPECT_TRUE(tally_exact(&self->tally));
	ASSERT_EQ(0, instance_write(&self->ti, "options/overwrite", "1"));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_LT(0, self->mb.meta->overrun);
	EXPECT_EQ(self->ti.seq, self->tally.next);
}

/* HOLD-11 */
TEST_F(beside, clocks_can_be_switched)
{
	static const char * const clocks[] = {
		"local", "global", "mono", "boot", "uptime", "counter",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		ASSERT_EQ(0, write_events(&self->ti, 5, EVENT_LARGE));
		ASSERT_LE(0, tally_get_reader(&self->tally, &self->mb));
		ASSERT_EQ(0, instance_write(&self->ti, "trace_clock", clocks[i]));
		/* A new clock empties the buffer. */
		expect_empty(_metadata, &self->mb);
		self->tally.next = self->ti.seq;
		expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
	}
}

/* HOLD-11 */
TEST_F(beside, events_can_be_switched)
{
	ASSERT_EQ(0, instance_write(&self->ti, "events/sched/enable", "1"));
	sleep_ms(100);
	ASSERT_EQ(0, instance_write(&self->ti, "events/sched/enable", "0"));
	ASSERT_LT(0, tally_drain(&self->tally, &self->mb));
	EXPECT_LT(0, self->tally.others);
	EXPECT_EQ(0, self->tally.malformed);
	EXPECT_EQ(self->tally.others, self->mb.meta->read);
	/* What was lost of these is not missing from what comes. */
	self->tally.others = 0;
	self->tally.announced = 0;
	expect_streaming(_metadata, &self->ti, &self->mb, &self->tally);
}

/* What keeps a buffer from being mapped. */
FIXTURE(unmapped) {
	struct trace_instance	ti;
	int			fd;
};

FIXTURE_VARIANT(unmapped) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(unmapped, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(unmapped, instance_large) INSTANCE_LARGE;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(unmapped, top_level_large) TOP_LEVEL_LARGE;
FIXTURE_VARIANT_ADD(unmapped, instance) INSTANCE;
#endif

FIXTURE_SETUP(unmapped)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	self->fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(unmapped)
{
	close(self->fd);
	EXPECT_EQ(0, instance_close(&self->ti));
}

static int mmap_errno(int fd)
{
	return map_error(fd, getpagesize(), PROT_READ, MAP_SHARED, 0);
}

/* SNAP-4 */
TEST_F(unmapped, a_snapshot_trigger_makes_mmap_answer_EBUSY)
{
	ASSERT_EQ(0, instance_write(&self->ti, TRIGGER, "snapshot"));
	EXPECT_EQ(EBUSY, mmap_errno(self->fd));
	ASSERT_EQ(0, instance_write(&self->ti, TRIGGER, "!snapshot"));
	EXPECT_EQ(0, mmap_errno(self->fd));
}

/* SNAP-4: Two of them, and both have to go. */
TEST_F(unmapped, each_snapshot_trigger_counts)
{
	ASSERT_EQ(0, instance_write(&self->ti, TRIGGER, "snapshot"));
	ASSERT_EQ(0, instance_write(&self->ti, HIST_TRIGGER, "snapshot:5"));
	EXPECT_EQ(EBUSY, mmap_errno(self->fd));
	ASSERT_EQ(0, instance_write(&self->ti, TRIGGER, "!snapshot"));
	EXPECT_EQ(EBUSY, mmap_errno(self->fd));
	ASSERT_EQ(0, instance_write(&self->ti, HIST_TRIGGER, "!snapshot"));
	EXPECT_EQ(0, mmap_errno(self->fd));
}

/* SNAP-7: A trigger that could not be set, in all the ways that fail. */
TEST_F(unmapped, a_snapshot_trigger_that_failed_does_not_count)
{
	ASSERT_EQ(0, instance_write(&self->ti, TRIGGER, "snapshot"));
	EXPECT_NE(0, instance_write(&self->ti, TRIGGER, "snapshot"));
	EXPECT_NE(0, instance_write(&self->ti, HIST_TRIGGER, "snapshot:x"));
	EXPECT_NE(0, instance_write(&self->ti, HIST_TRIGGER,
				    "snapshot if no_such_field == 1"));
	/* Removing one that is not there takes no user away. */
	instance_write(&self->ti, HIST_TRIGGER, "!snapshot");
	EXPECT_EQ(EBUSY, mmap_errno(self->fd));
	ASSERT_EQ(0, instance_write(&self->ti, TRIGGER, "!snapshot"));
	EXPECT_EQ(0, mmap_errno(self->fd));
}

#ifndef NO_HIST_TRIGGERS
/* The histogram keeps the buffer from being mapped until it is removed. */
static void expect_histogram_counts(struct __test_metadata *_metadata,
				    struct trace_instance *ti, int fd,
				    const char *hist)
{
	char removal[256];

	ASSERT_EQ(0, instance_write(ti, HIST_TRIGGER, hist));
	EXPECT_EQ(EBUSY, mmap_errno(fd));
	snprintf(removal, sizeof(removal), "!%s", hist);
	ASSERT_EQ(0, instance_write(ti, HIST_TRIGGER, removal));
	EXPECT_EQ(0, mmap_errno(fd));
}

/* SNAP-4 */
TEST_F(unmapped, a_histogram_onchange_snapshot_makes_mmap_answer_EBUSY)
{
	expect_histogram_counts(_metadata, &self->ti, self->fd, HIST_SNAPSHOT);
}

/* SNAP-4 */
TEST_F(unmapped, a_histogram_onmax_snapshot_makes_mmap_answer_EBUSY)
{
	expect_histogram_counts(_metadata, &self->ti, self->fd, HIST_MAX);
}

/* SNAP-7: A second conditional snapshot is refused, and leaves one user. */
TEST_F(unmapped, a_histogram_snapshot_that_failed_does_not_count)
{
	ASSERT_EQ(0, instance_write(&self->ti, HIST_TRIGGER, HIST_SNAPSHOT));
	EXPECT_NE(0, instance_write(&self->ti, TRIGGER,
				    "hist:keys=pid:p=prio:onchange($p).snapshot()"));
	EXPECT_NE(0, instance_write(&self->ti, TRIGGER,
				    "hist:keys=pid:onchange($none).snapshot()"));
	EXPECT_EQ(EBUSY, mmap_errno(self->fd));
	ASSERT_EQ(0, instance_write(&self->ti, HIST_TRIGGER, "!" HIST_SNAPSHOT));
	EXPECT_EQ(0, mmap_errno(self->fd));
}

/* SNAP-4: The histogram of an event that stays counts, whichever other event goes. */
TEST_F(unmapped, a_histogram_snapshot_counts_when_another_event_goes)
{
	static const char events[] = TRACEFS_DIR "/synthetic_events";

	ASSERT_EQ(0, instance_write(&self->ti, HIST_TRIGGER, HIST_SNAPSHOT));
	ASSERT_EQ(0, write_file(events, "ring_buffer_test int number"));
	/* It is opened to be emptied. */
	ASSERT_EQ(0, write_file(events, ""));
	EXPECT_EQ(EBUSY, mmap_errno(self->fd));
	ASSERT_EQ(0, instance_write(&self->ti, HIST_TRIGGER, "!" HIST_SNAPSHOT));
	EXPECT_EQ(0, mmap_errno(self->fd));
}

/* SNAP-4: A histogram with no snapshot is none of these users. */
TEST_F(unmapped, a_histogram_without_snapshot_does_not_count)
{
	ASSERT_EQ(0, instance_write(&self->ti, HIST_TRIGGER,
				    "hist:keys=parent_pid"));
	EXPECT_EQ(0, mmap_errno(self->fd));
	ASSERT_EQ(0, instance_write(&self->ti, HIST_TRIGGER,
				    "!hist:keys=parent_pid"));
}
#endif /* NO_HIST_TRIGGERS */

/* SNAP-8 */
TEST_F(unmapped, a_snapshot_taken_earlier_and_kept_does_not_count)
{
	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	EXPECT_EQ(0, mmap_errno(self->fd));
	ASSERT_EQ(0, cpu_write(&self->ti, self->ti.cpu, "snapshot", "1"));
	EXPECT_EQ(0, mmap_errno(self->fd));
}

/* SNAP-7: What reads a snapshot keeps it from being made as large as the trace. */
TEST_F(unmapped, a_snapshot_refused_for_an_open_one_does_not_count)
{
	int fd, i;

	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "0"));
	fd = instance_file(&self->ti, "snapshot", O_RDONLY);
	ASSERT_LE(0, fd);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(-EBUSY, instance_write(&self->ti, "snapshot", "1"));
		EXPECT_EQ(-EBUSY, instance_write(&self->ti, TRIGGER, "snapshot"));
		EXPECT_EQ(0, mmap_errno(self->fd));
	}
	close(fd);
	EXPECT_EQ(0, mmap_errno(self->fd));
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	EXPECT_EQ(0, mmap_errno(self->fd));
}

/* A child takes a snapshot again and again: each succeeds or is refused for a mapping. */
static pid_t fork_snapshots(struct trace_instance *ti, int count)
{
	pid_t pid = fork();
	int err;

	if (pid)
		return pid;
	run_on_cpu(ti->other_cpu);
	while (count--) {
		err = instance_write(ti, "snapshot", "1");
		if (err && err != -EBUSY)
			_exit(-err);
	}
	_exit(0);
}

/* SNAP-6 */
TEST_F(unmapped, a_snapshot_being_taken_and_mmap_exclude_each_other)
{
	struct mapped_buffer mb;
	int status, err;
	pid_t pid;

	pid = fork_snapshots(&self->ti, 200);
	ASSERT_LT(0, pid);
	while ((status = child_status(pid, 0)) == -EAGAIN) {
		err = buffer_map(&mb, &self->ti, self->ti.cpu, O_NONBLOCK);
		ASSERT_TRUE(err == 0 || err == -EBUSY) TH_LOG("mmap: %d", err);
		if (err)
			continue;
		ASSERT_EQ(-EBUSY, instance_write(&self->ti, "snapshot", "1"));
		buffer_unmap(&mb);
	}
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, mmap_errno(self->fd));
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
}

/* HOLD-7 */
TEST_F(unmapped, a_resize_refused_for_an_open_trace_answers_EBUSY)
{
	int trace = instance_file(&self->ti, "trace", O_RDONLY);

	ASSERT_LE(0, trace);
	EXPECT_EQ(-EBUSY, cpu_write_number(&self->ti, self->ti.cpu,
					   "buffer_size_kb",
					   4 * self->ti.subbuf_kb));
	EXPECT_EQ(-EBUSY, instance_write_number(&self->ti, "buffer_size_kb",
						4 * self->ti.subbuf_kb));
	close(trace);
	EXPECT_EQ(0, instance_write_number(&self->ti, "buffer_size_kb",
					   4 * self->ti.subbuf_kb));
}

/* HOLD-14: A writer on another CPU would get EBADF while tracing is held up, and end. */
TEST_F(unmapped, a_resize_that_is_refused_holds_up_no_writer)
{
	unsigned int size = 2 * self->ti.subbuf_kb;
	struct mapped_buffer mb;
	unsigned int tries;
	pid_t pid;

	pid = fork_writer_beside(&mb, &self->ti);
	ASSERT_LE(0, pid);
	for (tries = 0; tries < 50 && child_status(pid, 0) == -EAGAIN; tries++) {
		EXPECT_EQ(-EBUSY, instance_write_number(&self->ti, "buffer_size_kb", size));
		EXPECT_EQ(-EBUSY, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
						   size));
	}
	EXPECT_EQ(50, tries);
	EXPECT_EQ(0, kill_child(pid));
	buffer_unmap(&mb);
}

/* HOLD-14 */
TEST_F(unmapped, the_size_that_a_buffer_has_holds_up_no_writer)
{
	unsigned int size = TEST_SUBBUFS * self->ti.subbuf_kb, tries;
	pid_t pid;

	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	pid = fork_writer(&self->ti, UINT_MAX, EVENT_SMALL);
	ASSERT_LE(0, pid);
	for (tries = 0; tries < 50 && child_status(pid, 0) == -EAGAIN; tries++) {
		EXPECT_EQ(0, instance_write_number(&self->ti, "buffer_size_kb", size));
		EXPECT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb", size));
	}
	EXPECT_EQ(50, tries);
	EXPECT_EQ(0, kill_child(pid));
}

/* HOLD-14 */
TEST_F(unmapped, a_resize_refused_for_an_open_snapshot_loses_no_event)
{
	unsigned int size = 2 * self->ti.subbuf_kb;
	long long entries;
	int snapshot;

	ASSERT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	entries = cpu_stat(&self->ti, self->ti.cpu, "entries");
	snapshot = instance_file(&self->ti, "snapshot", O_RDONLY);
	ASSERT_LE(0, snapshot);
	EXPECT_EQ(-EBUSY, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb", size));
	EXPECT_EQ(entries, cpu_stat(&self->ti, self->ti.cpu, "entries"));
	EXPECT_EQ(-EBUSY, instance_write_number(&self->ti, "buffer_size_kb", size));
	EXPECT_EQ(entries, cpu_stat(&self->ti, self->ti.cpu, "entries"));
	close(snapshot);
	EXPECT_EQ(entries, count_trace_lines(&self->ti, "trace"));
	EXPECT_EQ(0, instance_write_number(&self->ti, "buffer_size_kb", size));
	EXPECT_GT(entries, cpu_stat(&self->ti, self->ti.cpu, "entries"));
}

/* HOLD-7 */
TEST_F(unmapped, a_resize_beyond_memory_answers_ENOMEM)
{
	long long size = instance_number(&self->ti, "buffer_size_kb");

	EXPECT_EQ(-ENOMEM, cpu_write(&self->ti, self->ti.cpu, "buffer_size_kb",
				     "1000000000"));
	EXPECT_EQ(-ENOMEM, instance_write(&self->ti, "buffer_size_kb",
					  "1000000000"));
	EXPECT_EQ(size, instance_number(&self->ti, "buffer_size_kb"));
	EXPECT_EQ(-EINVAL, instance_write(&self->ti, "buffer_size_kb", "0"));
}

/* A child that empties the buffers again and again. */
static pid_t fork_resetter(const struct trace_instance *ti)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	while (!instance_write(ti, "trace", " "))
		;
	_exit(1);
}

/* HOLD-7 */
TEST_F(unmapped, a_reset_beside_it_makes_no_resize_fail)
{
	const unsigned int sizes[] = { 2 * self->ti.subbuf_kb, 3 * self->ti.subbuf_kb };
	pid_t pid = fork_resetter(&self->ti);
	int i;

	ASSERT_LE(0, pid);
	for (i = 0; i < 40; i++) {
		EXPECT_EQ(0, instance_write_number(&self->ti, "buffer_size_kb", sizes[i % 2]));
		EXPECT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
					      sizes[!(i % 2)]));
	}
	EXPECT_EQ(0, kill_child(pid));
}

/* Only the top level can have a latency tracer. */
FIXTURE(latency) {
	struct trace_instance	ti;
};

FIXTURE_VARIANT(latency) {
	const char	*tracer;
};

FIXTURE_VARIANT_ADD(latency, wakeup) {
	.tracer = "wakeup",
};

FIXTURE_VARIANT_ADD(latency, irqsoff) {
	.tracer = "irqsoff",
};

FIXTURE_SETUP(latency)
{
	ASSERT_EQ(0, instance_open(&self->ti, true, 0));
	/* No function of the kernel is to be patched. */
	ASSERT_EQ(0, instance_write(&self->ti, "options/function-trace", "0"));
}

FIXTURE_TEARDOWN(latency)
{
	instance_write(&self->ti, "current_tracer", "nop");
	instance_write(&self->ti, "options/function-trace", "1");
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* SNAP-5 */
TEST_F(latency, a_latency_tracer_makes_mmap_answer_EBUSY)
{
	int fd;

	ASSERT_EQ(0, instance_write(&self->ti, "current_tracer",
				    variant->tracer));
	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(EBUSY, mmap_errno(fd));
	close(fd);
	ASSERT_EQ(0, instance_write(&self->ti, "current_tracer", "nop"));
	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, mmap_errno(fd));
	close(fd);
}

/* SUBBUF-11: It swaps the buffers of a CPU, also while they are changed. */
TEST_F(latency, a_latency_tracer_goes_on_beside_new_sub_buffer_sizes)
{
	unsigned int i, kb = self->ti.subbuf_kb;

	/* Checking so many takes long, with interrupts off. */
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_size_kb", "2048"));
	ASSERT_EQ(0, instance_write(&self->ti, "current_tracer", variant->tracer));
	for (i = 1; i <= 20; i++) {
		ASSERT_EQ(0, instance_write(&self->ti, "tracing_max_latency", "0"));
		ASSERT_EQ(0, instance_write_number(&self->ti, "buffer_subbuf_size_kb",
						   kb << i % 2));
	}
}

/* SNAP-5: From one to another and back: one user all the time, then none. */
TEST_F(latency, changing_latency_tracers_leaves_no_user_behind)
{
	int fd, i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, instance_write(&self->ti, "current_tracer",
					    variant->tracer));
		ASSERT_EQ(0, instance_write(&self->ti, "current_tracer",
					    "wakeup_rt"));
		ASSERT_EQ(0, instance_write(&self->ti, "current_tracer", "nop"));
	}
	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, mmap_errno(fd));
	close(fd);
}

/* SNAP-7: There is one of each: the second instance's cannot start, and leaves no user. */
TEST_F(latency, a_latency_tracer_that_cannot_start_does_not_count)
{
	struct trace_instance other;
	char text[64];
	int fd, i;

	ASSERT_EQ(0, instance_open(&other, false, 0));
	ASSERT_EQ(0, instance_write(&self->ti, "current_tracer", "wakeup"));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-EBUSY, instance_write(&other, "current_tracer", "wakeup"));
	ASSERT_LT(0, instance_read(&other, "current_tracer", text, sizeof(text)));
	EXPECT_STREQ("nop\n", text);
	fd = cpu_file(&other, other.cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, mmap_errno(fd));
	close(fd);
	EXPECT_EQ(0, instance_close(&other));
}

/* SNAP-2 */
TEST_F(latency, setting_a_latency_tracer_while_mapped_is_refused_with_EBUSY)
{
	struct mapped_buffer mb;
	char text[64];

	ASSERT_EQ(0, buffer_map(&mb, &self->ti, self->ti.cpu, 0));
	close(mb.fd);
	mb.fd = -1;
	EXPECT_EQ(-EBUSY, instance_write(&self->ti, "current_tracer",
					 variant->tracer));
	ASSERT_LT(0, instance_read(&self->ti, "current_tracer", text,
				   sizeof(text)));
	EXPECT_STREQ("nop\n", text);
	buffer_unmap(&mb);
	EXPECT_EQ(0, instance_write(&self->ti, "current_tracer",
				    variant->tracer));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0
/*
 * What can be seen once after a boot: a buffer nobody has used yet, and a CPU
 * that never came up. Boot with more CPUs than are brought up: maxcpus=.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>

#include "buffer_fixture.h"

/* "A buffer still at its boot-time minimum is expanded before [...]" */
TEST(buffer_at_its_boot_time_minimum_is_expanded_before_it_is_mapped)
{
	struct trace_instance top = { .dir = TRACEFS_DIR, .top = true };
	long long expanded = 0;
	struct mapped_buffer mb;
	char text[64], *p;

	ASSERT_LT(0, instance_read(&top, "buffer_size_kb", text, sizeof(text)))
		TH_LOG("needs root and tracefs at " TRACEFS_DIR);
	p = strstr(text, "expanded: ");
	if (!p)
		SKIP(return, "the buffer was used since boot");
	expanded = strtoll(p + strlen("expanded: "), NULL, 10);
	ASSERT_EQ(0, buffer_map(&mb, &top, 0, O_NONBLOCK));
	EXPECT_LE(expanded * 1024,
		  (long long)mb.meta->nr_subbufs * mb.meta->subbuf_size);
	EXPECT_LE(expanded, instance_number(&top, "buffer_size_kb"));
	buffer_unmap(&mb);
}

static bool cpu_is_online(int cpu)
{
	char path[64], text[8];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online",
		 cpu);
	/* The first CPU may have no such file. */
	return read_file(path, text, sizeof(text)) < 1 || text[0] == '1';
}

/* A CPU that has files in tracefs, and has not been up. */
static int cpu_never_up(struct trace_instance *ti)
{
	int cpu, fd;

	for (cpu = 0; cpu < 1024; cpu++) {
		fd = cpu_file(ti, cpu, "trace_pipe_raw", O_RDONLY);
		if (fd < 0)
			break;
		close(fd);
		if (!cpu_is_online(cpu))
			return cpu;
	}
	return -1;
}

/* After it came up once it is no longer what these tests are about. */
FIXTURE(late_cpu) {
	struct trace_instance	ti;
	int			cpu;
};

FIXTURE_VARIANT(late_cpu) {
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(late_cpu, instance_large) {
	.subbuf_kb = LARGE_SUBBUF_KB,
};

FIXTURE_SETUP(late_cpu)
{
	ASSERT_EQ(0, instance_open(&self->ti, false, variant->subbuf_kb));
	self->cpu = cpu_never_up(&self->ti);
}

FIXTURE_TEARDOWN(late_cpu)
{
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* "a CPU that never came up -> `EINVAL`" */
TEST_F(late_cpu, mmap_answers_EINVAL_for_a_cpu_that_never_came_up)
{
	int fd;

	if (self->cpu < 0)
		SKIP(return, "no CPU was left down: boot with maxcpus=");
	fd = cpu_file(&self->ti, self->cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(EINVAL, map_error(fd, getpagesize(), PROT_READ, MAP_SHARED, 0));
	close(fd);
}

/* "Not mapped -> `ENODEV`": whether or not it would wait */
TEST_F(late_cpu, get_reader_answers_ENODEV_for_a_cpu_that_never_came_up)
{
	static const int flags[] = { O_RDONLY, O_RDONLY | O_NONBLOCK };
	unsigned int i;
	int fd;

	if (self->cpu < 0)
		SKIP(return, "no CPU was left down: boot with maxcpus=");
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		fd = cpu_file(&self->ti, self->cpu, "trace_pipe_raw", flags[i]);
		ASSERT_LE(0, fd);
		EXPECT_EQ(-1, ioctl(fd, TRACE_MMAP_IOCTL_GET_READER));
		EXPECT_EQ(ENODEV, errno);
		close(fd);
	}
}

/* "writing sets it for all CPUs": for those that come up later as well */
TEST_F(late_cpu, a_cpu_that_comes_up_has_the_sub_buffer_size)
{
	struct mapped_buffer mb;
	struct tally tally = { 0 };
	char path[64];

	if (self->cpu < 0)
		SKIP(return, "no CPU was left down: boot with maxcpus=");
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online",
		 self->cpu);
	ASSERT_EQ(0, write_file(path, "1"));
	ASSERT_EQ(0, run_on_cpu(self->cpu));
	ASSERT_EQ(0, write_events(&self->ti, 10, EVENT_LARGE));
	ASSERT_EQ(0, buffer_map(&mb, &self->ti, self->cpu, O_NONBLOCK));
	EXPECT_EQ(self->ti.subbuf_kb * 1024, mb.meta->subbuf_size);
	ASSERT_LT(0, tally_drain(&tally, &mb));
	EXPECT_EQ(10, tally.seen);
	buffer_unmap(&mb);
	/* It goes again: this and other tests count on the CPUs there were. */
	ASSERT_EQ(0, run_on_cpu(self->ti.other_cpu));
	EXPECT_EQ(0, write_file(path, "0"));
}

TEST_HARNESS_MAIN

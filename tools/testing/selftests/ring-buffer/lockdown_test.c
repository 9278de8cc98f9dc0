// SPDX-License-Identifier: GPL-2.0
/*
 * The trace of a kernel that is locked down for confidentiality. Nothing undoes
 * that before the next boot, so this test wants to be the last: it opens and
 * maps what it needs, locks the kernel down, and only then runs its parts.
 */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include "buffer_fixture.h"

#define SECURITYFS	"/sys/kernel/security"

/* All of it from before; a child's copy of the mapping is one of its own. */
static struct trace_instance ti;
static struct mapped_buffer mb;
static int unmapped_fd = -1;		/* another CPU's trace_pipe_raw */
static int live_fd = -1;		/* trace_live */
static int size_fd = -1;		/* buffer_size_kb */
static int lockdown_error;

static int lock_down(void)
{
	int err = write_file(SECURITYFS "/lockdown", "confidentiality");

	if (err != -ENOENT)
		return err;
	if (mount("securityfs", SECURITYFS, "securityfs", 0, NULL))
		return -errno;
	return write_file(SECURITYFS "/lockdown", "confidentiality");
}

static int prepare(void)
{
	int err = instance_open(&ti, false, 0);

	if (err)
		return err;
	/* It reads a file, which nobody does once the kernel is locked down. */
	subbuf_layout();
	err = map_it(&mb, &ti);
	if (err)
		return err;
	unmapped_fd = cpu_file(&ti, ti.other_cpu, "trace_pipe_raw",
			       O_RDONLY | O_NONBLOCK);
	live_fd = cpu_file(&ti, ti.cpu, "trace_live", O_RDONLY);
	size_fd = instance_file(&ti, "buffer_size_kb", O_WRONLY);
	if (unmapped_fd < 0 || live_fd < 0 || size_fd < 0 ||
	    madvise(mb.meta, mb.len, MADV_DOFORK))
		return -EIO;
	lockdown_error = lock_down();
	return 0;
}

FIXTURE(lockdown) {
	struct tally	tally;
};

FIXTURE_SETUP(lockdown)
{
	ASSERT_EQ(0, lockdown_error)
		TH_LOG("needs CONFIG_SECURITY_LOCKDOWN_LSM, and lockdown in CONFIG_LSM");
	/* The parts before this one have read some. */
	self->tally.unknown_loss = true;
}

FIXTURE_TEARDOWN(lockdown)
{
}

/* USER-8 */
TEST_F(lockdown, nothing_is_opened_any_more)
{
	EXPECT_EQ(-EPERM, cpu_file(&ti, ti.cpu, "trace_pipe_raw", O_RDONLY));
	EXPECT_EQ(-EPERM, cpu_file(&ti, ti.cpu, "trace_live", O_RDONLY));
	EXPECT_EQ(-EPERM, cpu_file(&ti, ti.cpu, "trace_pipe", O_RDONLY));
	EXPECT_EQ(-EPERM, cpu_file(&ti, ti.cpu, "trace", O_RDONLY));
	EXPECT_EQ(-EPERM, cpu_file(&ti, ti.cpu, "stats", O_RDONLY));
	EXPECT_EQ(-EPERM, instance_file(&ti, "buffer_size_kb", O_WRONLY));
}

/* USER-8 */
TEST_F(lockdown, what_was_open_is_read_on)
{
	ASSERT_EQ(0, write_events(&ti, 10, EVENT_LARGE));
	EXPECT_LT(0, tally_read(&self->tally, mb.fd, ti.subbuf_kb * 1024));
	EXPECT_EQ(10, self->tally.seen);
	EXPECT_TRUE(tally_exact(&self->tally));
}

/* USER-8: As it is read, so it is mapped: the file says who may, when it is opened. */
TEST_F(lockdown, what_was_open_is_mapped)
{
	size_t page = getpagesize();

	EXPECT_EQ(0, map_error(unmapped_fd, page, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(0, map_error(live_fd, page, PROT_READ, MAP_SHARED, 0));
}

/* USER-8 */
TEST_F(lockdown, what_was_mapped_is_read_on)
{
	ASSERT_EQ(0, write_events(&ti, 10, EVENT_LARGE));
	ASSERT_LT(0, tally_drain(&self->tally, &mb));
	EXPECT_EQ(10, self->tally.seen);
	EXPECT_TRUE(tally_exact(&self->tally));
}

/* USER-8 */
TEST_F(lockdown, what_was_mapped_is_not_resized)
{
	EXPECT_EQ(-1, pwrite(size_fd, "8", 1, 0));
	EXPECT_EQ(EBUSY, errno);
}

/* What runs the tests differs between kernels: it is called by the main() below. */
#define main run_tests
TEST_HARNESS_MAIN
#undef main

int main(int argc, char **argv)
{
	int status;

	if (prepare())
		return KSFT_FAIL;
	status = run_tests(argc, argv);
	/* The instance goes without a file being opened. */
	buffer_unmap(&mb);
	close(unmapped_fd);
	close(live_fd);
	close(size_fd);
	return instance_close(&ti) ? KSFT_FAIL : status;
}

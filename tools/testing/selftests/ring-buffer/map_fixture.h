/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A buffer to be mapped.
 */
#ifndef SELFTEST_RING_BUFFER_MAP_FIXTURE_H
#define SELFTEST_RING_BUFFER_MAP_FIXTURE_H

#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>

#include "buffer_fixture.h"

FIXTURE(map) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;
	struct tally		tally;
	int			fd;	/* trace_pipe_raw, read-only */
	int			rw_fd;	/* the same, opened for writing too */
	size_t			page;
	size_t			subbuf;
};

FIXTURE_VARIANT(map) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(map, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(map, instance_large) INSTANCE_LARGE;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(map, top_level_large) TOP_LEVEL_LARGE;
FIXTURE_VARIANT_ADD(map, instance) INSTANCE;
#endif

FIXTURE_SETUP(map)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	self->mb.fd = -1;
	self->page = getpagesize();
	self->subbuf = self->ti.subbuf_kb * 1024;
	self->fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
			    O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->rw_fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
			       O_RDWR | O_NONBLOCK);
	ASSERT_LE(0, self->rw_fd);
}

FIXTURE_TEARDOWN(map)
{
	buffer_unmap(&self->mb);
	close(self->fd);
	close(self->rw_fd);
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* A length that no buffer has: that power of two, if there is room for it. */
static inline size_t huge_length(unsigned int bits)
{
	size_t len = (size_t)1 << (bits < 8 * sizeof(len) ? bits : 30);
	void *map;

	while ((map = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0)) == MAP_FAILED)
		len /= 2;
	munmap(map, len);
	return len;
}

static inline void be_interrupted(int signo)
{
}

/* @len bytes can be mapped whenever a signal comes that does not kill. */
static inline void map_beside_signals(struct __test_metadata *_metadata, int fd, size_t len)
{
	struct itimerval timer = { 0 };
	int i;

	signal(SIGALRM, be_interrupted);
	/* The signal comes the later, one of them in the middle. */
	for (i = 1; i <= 40; i++) {
		timer.it_value.tv_usec = 100 * i;
		ASSERT_EQ(0, setitimer(ITIMER_REAL, &timer, NULL));
		ASSERT_EQ(0, map_error(fd, len, PROT_READ, MAP_SHARED, 0))
			TH_LOG("after %d us", 100 * i);
	}
	timer.it_value.tv_usec = 0;
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &timer, NULL));
}

#endif /* SELFTEST_RING_BUFFER_MAP_FIXTURE_H */

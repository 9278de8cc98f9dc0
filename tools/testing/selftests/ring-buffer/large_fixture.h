/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A buffer of large sub-buffers to be read, as read(2) and splice(2) see it.
 */
#ifndef SELFTEST_RING_BUFFER_LARGE_FIXTURE_H
#define SELFTEST_RING_BUFFER_LARGE_FIXTURE_H

#include <fcntl.h>

#include "buffer_fixture.h"

FIXTURE(large) {
	struct trace_instance	ti;
	struct tally		tally;
	int			fd;
	size_t			subbuf;
};

FIXTURE_VARIANT(large) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(large, top_level_8k) {
	.top = true, .subbuf_kb = 8,
};

#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(large, top_level_64k) {
	.top = true, .subbuf_kb = 64,
};

FIXTURE_VARIANT_ADD(large, instance_8k) {
	.top = false, .subbuf_kb = 8,
};

FIXTURE_VARIANT_ADD(large, instance_64k) {
	.top = false, .subbuf_kb = 64,
};
#endif

FIXTURE_SETUP(large)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	self->subbuf = self->ti.subbuf_kb * 1024;
	self->fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
			    O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(large)
{
	close(self->fd);
	EXPECT_EQ(0, instance_close(&self->ti));
}

#endif /* SELFTEST_RING_BUFFER_LARGE_FIXTURE_H */

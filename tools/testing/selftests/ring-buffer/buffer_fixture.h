/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fixtures of these tests share: each test runs in the top level and
 * in an instance, with sub-buffers of one page and larger ones.
 */
#ifndef SELFTEST_RING_BUFFER_FIXTURE_H
#define SELFTEST_RING_BUFFER_FIXTURE_H

#include "../kselftest_harness.h"

#include "poller.h"
#include "subbuf.h"
#include "tracefs.h"

/* Emulated machines with a debug kernel are slow. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 120

#define LARGE_SUBBUF_KB	64

/* Long enough for a waiter to have returned, had it been woken. */
#define STILL_WAITING_MS	300
/* Long enough for a waiter that was woken, on the slowest machine. */
#define WOKEN_MS		20000

/*
 * The variants of a fixture: struct { bool top; unsigned int subbuf_kb; }.
 * The first and the last have both levels and both sizes between them: with
 * -DTWO_BUFFERS, where a kernel is very slow, the others are left out.
 */
#define TOP_LEVEL	{ .top = true, .subbuf_kb = 0 }
#define TOP_LEVEL_LARGE	{ .top = true, .subbuf_kb = LARGE_SUBBUF_KB }
#define INSTANCE	{ .top = false, .subbuf_kb = 0 }
#define INSTANCE_LARGE	{ .top = false, .subbuf_kb = LARGE_SUBBUF_KB }

/* "`poll()`, `select()`, `epoll` go by the same test" */
static inline void expect_readable(struct __test_metadata *_metadata, int fd,
				   int readable)
{
	size_t i;

	for (i = 0; i < NR_POLLERS; i++)
		EXPECT_EQ(readable, pollers[i].readable(fd, 0))
			TH_LOG("%s", pollers[i].name);
}

#endif /* SELFTEST_RING_BUFFER_FIXTURE_H */

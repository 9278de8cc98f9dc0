/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fixtures of these tests share: each test runs in the top level and
 * in an instance, with sub-buffers of one page and larger ones.
 */
#ifndef SELFTEST_RING_BUFFER_FIXTURE_H
#define SELFTEST_RING_BUFFER_FIXTURE_H

#include "../kselftest_harness.h"

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

#define BUFFER_VARIANTS(fixture)					\
FIXTURE_VARIANT(fixture) {						\
	bool		top;						\
	unsigned int	subbuf_kb;					\
};									\
FIXTURE_VARIANT_ADD(fixture, top_level) {				\
	.top = true,							\
};									\
FIXTURE_VARIANT_ADD(fixture, top_level_large) {				\
	.top = true, .subbuf_kb = LARGE_SUBBUF_KB,			\
};									\
FIXTURE_VARIANT_ADD(fixture, instance) {				\
	.top = false,							\
};									\
FIXTURE_VARIANT_ADD(fixture, instance_large) {				\
	.top = false, .subbuf_kb = LARGE_SUBBUF_KB,			\
}

/* For what is the same at the top level, or is not possible there. */
#define INSTANCE_VARIANTS(fixture)					\
FIXTURE_VARIANT(fixture) {						\
	bool		top;						\
	unsigned int	subbuf_kb;					\
};									\
FIXTURE_VARIANT_ADD(fixture, instance) {				\
	.top = false,							\
};									\
FIXTURE_VARIANT_ADD(fixture, instance_large) {				\
	.top = false, .subbuf_kb = LARGE_SUBBUF_KB,			\
}

#endif /* SELFTEST_RING_BUFFER_FIXTURE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the KUnit tests of the ring buffer share: a buffer of each kind, a clock
 * that stands still, numbered events, and checks that account for all of them.
 */
#ifndef _KERNEL_TRACE_RING_BUFFER_KUNIT_H
#define _KERNEL_TRACE_RING_BUFFER_KUNIT_H

#include <kunit/test.h>
#include <linux/ring_buffer.h>

/* Sub-buffers of each CPU's buffer, the reader's not counted. */
#define RBT_SUBBUFS	8

/* Bytes before the records of a sub-buffer. */
#define RBT_HEADER	(8 + sizeof(long))

/* Bytes before the data of a record that has more than 112 bytes of them. */
#define RBT_LONG	8

/**
 * struct rbt_kind - a kind of buffer that each test runs on
 * @name: the name of the kind
 * @flags: for ring_buffer_alloc()
 * @kb: KiB of a sub-buffer; if that is less than a page, a page
 * @mapped: whether the buffer of the test's CPU is mapped
 */
struct rbt_kind {
	const char	*name;
	unsigned int	flags;
	unsigned int	kb;
	bool		mapped;
};

/**
 * struct rbt - a test's buffer
 * @kind: the kind of the buffer
 * @buffer: the buffer
 * @cpu: the CPU the test runs on
 * @subbuf: bytes of a sub-buffer
 * @next: number of the next event
 * @was_allowed: the CPUs that the thread was allowed to run on
 * @mm: the address space of the mappings, if this version of Linux puts them into one
 * @maps: how many mappings there are in @mm
 */
struct rbt {
	const struct rbt_kind	*kind;
	struct trace_buffer	*buffer;
	int			cpu;
	unsigned int		subbuf;
	u32			next;
	cpumask_t		was_allowed;
	struct mm_struct	*mm;
	unsigned int		maps;
};

#include "ring_buffer_kunit_base.h"

/* The time that the clock of every test's buffer returns. */
extern u64 rbt_now;

extern const struct rbt_kind rbt_kinds[];
const void *rbt_gen_kind(const void *prev, char *desc);

int rbt_init(struct kunit *test);
void rbt_exit(struct kunit *test);

struct trace_buffer *rbt_alloc(struct kunit *test, const struct rbt_kind *kind,
			       unsigned int subbufs);

int rbt_no_cpu(struct kunit *test);

/* Unmap the buffer, and map it again, around an operation that a mapping excludes. */
void rbt_unmap(struct rbt *rbt);
void rbt_map(struct kunit *test, struct rbt *rbt);

/* What user space sees of the meta page, while the buffer is mapped. */
const struct trace_buffer_meta *rbt_meta(struct kunit *test, struct rbt *rbt);

int rbt_write(struct rbt *rbt, unsigned int size);
unsigned int rbt_write_many(struct rbt *rbt, unsigned int nr, unsigned int size);
unsigned int rbt_per_subbuf(const struct rbt *rbt, unsigned int size);

u32 rbt_number(struct ring_buffer_event *event);
void rbt_expect_empty(struct kunit *test, struct rbt *rbt);
void rbt_expect_consume(struct kunit *test, struct rbt *rbt, u32 from, u32 to);

#endif /* _KERNEL_TRACE_RING_BUFFER_KUNIT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the KUnit tests of the ring buffer share: a buffer of each kind, a clock
 * that stands still, numbered events, and the account of them.
 */
#ifndef _KERNEL_TRACE_RING_BUFFER_KUNIT_H
#define _KERNEL_TRACE_RING_BUFFER_KUNIT_H

#include <kunit/test.h>
#include <linux/ring_buffer.h>

/* Sub-buffers of each CPU's buffer, the reader's not counted. */
#define RBT_SUBBUFS	8

/* What comes before the records of a sub-buffer. */
#define RBT_HEADER	(8 + sizeof(long))

/* What comes before the data of a record that is longer than 112 bytes. */
#define RBT_LONG	8

/**
 * struct rbt_kind - the kinds of buffer each test is done with
 * @name: of the kind
 * @flags: for ring_buffer_alloc()
 * @kb: of a sub-buffer; no less than a page
 * @mapped: whether the test's CPU has its buffer mapped
 */
struct rbt_kind {
	const char	*name;
	unsigned int	flags;
	unsigned int	kb;
	bool		mapped;
};

/**
 * struct rbt - a test's buffer
 * @kind: which it is
 * @buffer: the buffer
 * @cpu: the CPU the test runs on
 * @subbuf: bytes of a sub-buffer
 * @next: number of the next event
 * @was_allowed: the CPUs the thread could run on
 * @mm: where the mappings are, on a base that puts them into an address space
 * @maps: how many there are in @mm
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

/* The clock of every test's buffer says this. */
extern u64 rbt_now;

extern const struct rbt_kind rbt_kinds[];
const void *rbt_gen_kind(const void *prev, char *desc);

int rbt_init(struct kunit *test);
void rbt_exit(struct kunit *test);

struct trace_buffer *rbt_alloc(struct kunit *test, const struct rbt_kind *kind,
			       unsigned int subbufs);

int rbt_no_cpu(struct kunit *test);

/* Unmap and map again around what a mapping refuses. */
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

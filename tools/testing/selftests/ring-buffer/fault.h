/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocations that fail in what the kernel does for this thread: one of them, or all
 * from one on.
 */
#ifndef SELFTEST_RING_BUFFER_FAULT_H
#define SELFTEST_RING_BUFFER_FAULT_H

/*
 * From here on the kernel fails any allocation it is asked to, also those that
 * may wait for memory. Returns a negative errno where it does not know how.
 */
int faults_allow(void);

/* This thread's allocation number @nth from here on fails, 1 is the next. */
int fault_begin(unsigned int nth);

/* Returns 1 if there were so many, 0 if not, or a negative errno. */
int fault_end(void);

/*
 * Once this thread has got @pages from here on, it gets no page until memory returns.
 * It gets objects of the slab allocator as long as that has free ones.
 */
int memory_ends(unsigned int pages);
int memory_returns(void);

/* The number after @nth: the first 50 all, then fewer and fewer of them. */
unsigned int fault_sample(unsigned int nth);

#endif /* SELFTEST_RING_BUFFER_FAULT_H */

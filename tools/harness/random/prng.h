/* SPDX-License-Identifier: GPL-2.0 */
/* The numbers all choices come from: the same seed, the same choices. */
#ifndef RANDOM_PRNG_H
#define RANDOM_PRNG_H

#include <stdbool.h>
#include <stdint.h>

/* A stream of its own for each (seed, stream). */
void prng_seed(uint64_t seed, uint64_t stream);
uint64_t prng(void);

/* 0 to @n - 1 */
static inline unsigned long below(unsigned long n)
{
	return n ? prng() % n : 0;
}

/* Once in @n times. */
static inline bool one_in(unsigned int n)
{
	return !below(n);
}

#endif /* RANDOM_PRNG_H */

// SPDX-License-Identifier: GPL-2.0
/* xorshift64*, begun by splitmix64 */
#include "prng.h"

static uint64_t state = 1;

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

void prng_seed(uint64_t seed, uint64_t stream)
{
	state = mix(mix(seed) + stream) | 1;
}

uint64_t prng(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 0x2545f4914f6cdd1dULL) >> 16;
}

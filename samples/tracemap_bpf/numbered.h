/* SPDX-License-Identifier: GPL-2.0 */
/* The sample that the BPF program takes: numbered, so that order and loss can be checked. */
#ifndef _NUMBERED_H
#define _NUMBERED_H

/* getpriority(NUMBERED, number) makes one. The kernel answers EINVAL. */
#define NUMBERED	0x6e756d

/* All sizes of a sample together are no divisor of a ring's: its end cuts some. */
enum { NUMBERED_WORDS = 7 };

/* Samples are of different sizes; all that is in @word is the number. */
struct numbered {
	unsigned long long ts;
	unsigned int number;
	unsigned int cpu;
	unsigned int words;
	unsigned int word[NUMBERED_WORDS];
};

static inline unsigned int numbered_words(unsigned int number)
{
	return number & NUMBERED_WORDS;
}

#endif /* _NUMBERED_H */

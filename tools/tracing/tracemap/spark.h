/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A sparkline: the last values of a figure, as a row of small bars.
 */
#ifndef _TRACEMAP_SPARK_H
#define _TRACEMAP_SPARK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SPARK_VALUES	16

/**
 * struct spark - the last values; all zeros is none yet
 * @values: a ring of the values
 * @nr: how many were ever added
 */
struct spark {
	float values[SPARK_VALUES];
	uint32_t nr;
};

void spark_add(struct spark *s, double value);

/*
 * Print the last @width values, the oldest first, as one character each, whose height is
 * relative to the largest of them. Blanks stand for values that are still to come.
 */
void spark_print(FILE *to, const struct spark *s, unsigned int width);

/* A value as four digits and a unit, such as 987, 12.3k, 4.56M; "-" if it is negative. */
struct spark_number {
	char text[16];
};

struct spark_number spark_number(double value);

#endif /* _TRACEMAP_SPARK_H */

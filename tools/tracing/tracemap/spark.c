// SPDX-License-Identifier: GPL-2.0
/*
 * Draw a sparkline.
 */
#include <string.h>

#include "spark.h"

void spark_add(struct spark *s, double value)
{
	s->values[s->nr++ % SPARK_VALUES] = value > 0 ? value : 0;
}

/* A value other than 0 is never shown as a blank. */
static unsigned int level(double part, unsigned int levels)
{
	unsigned int n = part * levels + 0.5;

	if (part > 0 && !n)
		n = 1;
	return n < levels ? n : levels;
}

/* A character for @part, from 0 to 1, of the height of a bar. */
static char bar(double part)
{
	return " _.-=+*%#"[level(part, 8)];
}

void spark_print(FILE *to, const struct spark *s, unsigned int width)
{
	unsigned int nr = s->nr < SPARK_VALUES ? s->nr : SPARK_VALUES;
	float most = 0;

	if (nr > width)
		nr = width;
	for (unsigned int i = s->nr - nr; i != s->nr; i++) {
		if (s->values[i % SPARK_VALUES] > most)
			most = s->values[i % SPARK_VALUES];
	}
	fprintf(to, "%*s", (int)(width - nr), "");
	for (unsigned int i = s->nr - nr; i != s->nr; i++)
		fputc(bar(most > 0 ? s->values[i % SPARK_VALUES] / most : 0), to);
}

struct spark_number spark_number(double value)
{
	static const char units[] = " kMGTPE";
	struct spark_number n;
	int unit = 0;

	if (value < 0) {
		strcpy(n.text, "-");
		return n;
	}
	while (value >= 999.5 && units[unit + 1]) {
		value /= 1000;
		unit++;
	}
	if (!unit)
		snprintf(n.text, sizeof(n.text), "%.0f", value);
	else
		snprintf(n.text, sizeof(n.text), "%.*f%c",
			 value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[unit]);
	return n;
}

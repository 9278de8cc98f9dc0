/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TRACEMAP_CHECK_H
#define _TRACEMAP_CHECK_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* End a test if the condition does not hold. */
#define CHECK(cond) do {							\
	if (!(cond)) {							\
		fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #cond, errno); \
		exit(1);						\
	}								\
} while (0)

#endif /* _TRACEMAP_CHECK_H */

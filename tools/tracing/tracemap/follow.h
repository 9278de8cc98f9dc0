/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which processes to trace, with what they fork: -P and --cgroup.
 */
#ifndef _TRACEMAP_FOLLOW_H
#define _TRACEMAP_FOLLOW_H

#include <stdbool.h>

struct follow {
	int *pids;
	unsigned int nr;
	const char *cgroup;	/* its folder, or the path below /sys/fs/cgroup; NULL: none */
};

static inline bool follow_is_asked(const struct follow *follow)
{
	return follow->nr || follow->cgroup;
}

/* Take what is behind -P into a struct follow. Returns 0, or a negative errno and a message. */
int follow_pids(void *to, const char *list);

/*
 * Set @text, to be freed, to the numbers of all threads that these processes have now, with blanks
 * between them. Returns 0, or a negative errno and a message.
 */
int follow_threads(const struct follow *follow, char **text);

#endif /* _TRACEMAP_FOLLOW_H */

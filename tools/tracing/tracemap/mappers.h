/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Find the processes that have mapped the buffers of an instance. The kernel has no list of
 * them, but /proc/PID/maps names the file. Root may read it for all processes, other users
 * for their own.
 */
#ifndef _TRACEMAP_MAPPERS_H
#define _TRACEMAP_MAPPERS_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * struct mapper - a process that has mapped a CPU's buffer
 * @cpu: the index of the buffer's folder among those given to mappers_find()
 * @pid: the id of the process
 * @observes: whether it has mapped trace_live, to observe or to wait by it
 * @comm: the name of the process
 */
struct mapper {
	unsigned int cpu;
	pid_t pid;
	bool observes;
	char comm[16];
};

struct mappers {
	struct mapper *all;
	unsigned int nr;
	bool some_hidden;	/* the maps of some processes could not be read */
};

/*
 * Find the mappers of the buffers whose folders per_cpu/cpuN these are, in any order.
 * Replaces what @m has. Returns a negative errno on failure.
 */
int mappers_find(struct mappers *m, char *const *folders, unsigned int nr);
void mappers_free(struct mappers *m);

/*
 * Find a process other than this one that has a file below @folder open or mapped, by the end of
 * the folder's path, such as "instances/NAME", as the mount may have other names. Fills the name
 * and the PID of @user. Returns whether there is one.
 */
bool mappers_find_user(struct mapper *user, const char *folder);

#endif /* _TRACEMAP_MAPPERS_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who has mapped the buffers of an instance. The kernel does not tell, but
 * /proc/PID/maps names the file: of one's own processes, and to root of all.
 */
#ifndef _TRACEMAP_MAPPERS_H
#define _TRACEMAP_MAPPERS_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * struct mapper - a process that has mapped a CPU's buffer
 * @cpu: which of the folders asked for
 * @pid: of the process
 * @observes: it has mapped trace_live, to observe or to wait by it
 * @comm: its name
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
	bool some_hidden;	/* not every process could be looked at */
};

/* The folders are per_cpu/cpuN's, in any order. Negative errno; frees what was there. */
int mappers_find(struct mappers *m, char *const *folders, unsigned int nr);
void mappers_free(struct mappers *m);

#endif /* _TRACEMAP_MAPPERS_H */

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
 * @file: which of the files asked for
 * @pid: of the process
 * @observes: it has mapped the live index as well
 * @comm: its name
 */
struct mapper {
	unsigned int file;
	pid_t pid;
	bool observes;
	char comm[16];
};

struct mappers {
	struct mapper *all;
	unsigned int nr;
	bool some_hidden;	/* not every process could be looked at */
};

/* The files are trace_pipe_raw's, in any order. Negative errno; frees what was there. */
int mappers_find(struct mappers *m, char *const *files, unsigned int nr_files);
void mappers_free(struct mappers *m);

#endif /* _TRACEMAP_MAPPERS_H */

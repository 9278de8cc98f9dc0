// SPDX-License-Identifier: GPL-2.0
/*
 * Find the threads of processes, and the processes of a cgroup.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "advice.h"
#include "follow.h"
#include "values.h"

int follow_pids(void *to, const char *list)
{
	struct follow *follow = to;
	const char *at = list;
	char *end;

	do {
		unsigned long pid = isdigit((unsigned char)*at) ? strtoul(at, &end, 10) : 0;
		int *pids;

		if (!pid || pid > INT_MAX || (*end && *end != ','))
			return value_wrong("-P", list,
					   "numbers of processes are needed, with commas between them, such as 1234 or 1234,1300");
		pids = realloc(follow->pids, (follow->nr + 1) * sizeof(*pids));
		if (!pids)
			return no_memory();
		follow->pids = pids;
		pids[follow->nr++] = pid;
		at = end + 1;
	} while (*end);
	return 0;
}

/* Returns false if the process is no more. */
static bool add_process(FILE *to, int pid)
{
	struct dirent *entry;
	bool any = false;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		fprintf(to, "%s%s", ftell(to) ? " " : "", entry->d_name);
		any = true;
	}
	if (dir)
		closedir(dir);
	return any;
}

static FILE *open_cgroup(const char *folder)
{
	static const char * const below[] = { "", "/sys/fs/cgroup/" };
	FILE *file = NULL;
	char path[PATH_MAX];

	for (int i = 0; i < 2 && !file; i++) {
		snprintf(path, sizeof(path), "%s%s/cgroup.procs", below[i], folder);
		file = fopen(path, "re");
	}
	return file;
}

/* Without a process in the list, the kernel would trace all of them. */
static int add_cgroup(FILE *to, const char *folder)
{
	FILE *procs = open_cgroup(folder);
	bool any = false;
	int pid;

	if (!procs) {
		say("--cgroup %s: neither this nor /sys/fs/cgroup/%s is the folder of a cgroup",
		    folder, folder);
		return -ENOENT;
	}
	while (fscanf(procs, "%d", &pid) == 1)
		any |= add_process(to, pid);
	fclose(procs);
	if (any)
		return 0;
	say("--cgroup %s: no process is in it now: begin when there is one, or name a cgroup below it",
	    folder);
	return -ESRCH;
}

int follow_threads(const struct follow *follow, char **text)
{
	size_t size;
	FILE *to = open_memstream(text, &size);
	int ret = 0;

	if (!to)
		return no_memory();
	for (unsigned int i = 0; i < follow->nr && !ret; i++) {
		if (add_process(to, follow->pids[i]))
			continue;
		say("-P %d: there is no such process", follow->pids[i]);
		ret = -ESRCH;
	}
	if (!ret && follow->cgroup)
		ret = add_cgroup(to, follow->cgroup);
	return fclose(to) && !ret ? no_memory() : ret;
}

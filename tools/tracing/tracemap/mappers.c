// SPDX-License-Identifier: GPL-2.0
/*
 * Find the processes that have mapped the buffers, by a walk through
 * /proc/PID/maps, or have a file of an instance open, through /proc/PID/fd.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "mappers.h"
#include "read_file.h"
#include "text_file.h"

/* What can be mapped of a CPU's buffer. */
enum file { CONSUMED, OBSERVED, NR_FILES };

static const char * const file_names[] = { "trace_pipe_raw", "trace_live" };

/* Other processes may see the mount under other names: compare inodes. */
struct identity {
	dev_t dev;
	ino_t ino;
};

struct search {
	struct mappers *found;
	struct identity *files;		/* NR_FILES for each CPU; 0: there is none */
	unsigned int nr;
};

static int find_file(const struct search *s, dev_t dev, ino_t ino)
{
	for (unsigned int i = 0; i < s->nr * NR_FILES; i++) {
		if (s->files[i].ino == ino && s->files[i].dev == dev)
			return i;
	}
	return -1;
}

/* A process may have several mappings of a buffer: it is one mapper. */
static struct mapper *add(struct mappers *m, unsigned int cpu, pid_t pid)
{
	struct mapper *more;

	for (unsigned int i = 0; i < m->nr; i++) {
		if (m->all[i].cpu == cpu && m->all[i].pid == pid)
			return &m->all[i];
	}
	more = realloc(m->all, (m->nr + 1) * sizeof(*more));
	if (!more)
		return NULL;
	m->all = more;
	more += m->nr++;
	memset(more, 0, sizeof(*more));
	more->cpu = cpu;
	more->pid = pid;
	return more;
}

static void name(struct mapper *m)
{
	char dir[32];

	snprintf(dir, sizeof(dir), "/proc/%d", m->pid);
	if (text_file_read(dir, "comm", m->comm, sizeof(m->comm)) < 0)
		strcpy(m->comm, "?");
}

static int look_at_line(struct search *s, pid_t pid, const char *line)
{
	unsigned int major, minor;
	unsigned long long ino;
	struct mapper *m;
	int file;

	/* Most lines are of other files: do not parse them. */
	if (!strstr(line, "/trace_") ||
	    sscanf(line, "%*x-%*x %*s %*x %x:%x %llu", &major, &minor, &ino) != 3 || !ino)
		return 0;
	file = find_file(s, makedev(major, minor), ino);
	if (file < 0)
		return 0;
	m = add(s->found, file / NR_FILES, pid);
	if (!m)
		return -ENOMEM;
	if (file % NR_FILES == OBSERVED)
		m->observes = true;
	if (!*m->comm)
		name(m);
	return 0;
}

static int look_at_process(struct search *s, pid_t pid)
{
	char path[32], *maps, *line, *rest;
	int ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = read_file_whole(AT_FDCWD, path, NULL);
	if (!maps) {
		s->found->some_hidden |= errno == EACCES || errno == EPERM;
		return 0;
	}
	rest = maps;
	while (!ret && (line = strsep(&rest, "\n")))
		ret = look_at_line(s, pid, line);
	free(maps);
	return ret;
}

/* Returns the PID of the next process other than @own, or 0 behind the last. */
static pid_t next_process(DIR *proc, pid_t own)
{
	struct dirent *entry;

	while ((entry = readdir(proc))) {
		pid_t pid = isdigit(entry->d_name[0]) ? atoi(entry->d_name) : 0;

		if (pid && pid != own)
			return pid;
	}
	return 0;
}

static int look_at_all(struct search *s)
{
	DIR *proc = opendir("/proc");
	pid_t pid, own = getpid();
	int ret = 0;

	if (!proc)
		return -errno;
	while (!ret && (pid = next_process(proc, own)))
		ret = look_at_process(s, pid);
	closedir(proc);
	return ret;
}

static void identify(struct identity *id, const char *folder, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (stat(path, &st))
		return;
	id->dev = st.st_dev;
	id->ino = st.st_ino;
}

int mappers_find(struct mappers *m, char *const *folders, unsigned int nr)
{
	struct search s = { .found = m, .nr = nr };
	int ret;

	mappers_free(m);
	s.files = calloc(nr, NR_FILES * sizeof(*s.files));
	if (nr && !s.files)
		return -ENOMEM;
	for (unsigned int i = 0; i < nr * NR_FILES; i++)
		identify(&s.files[i], folders[i / NR_FILES], file_names[i % NR_FILES]);
	ret = look_at_all(&s);
	free(s.files);
	return ret;
}

/* ---- Who has a file open ---- */

/* Is one of the links in this folder to a file below @folder? */
static bool links_below(DIR *links, const char *folder)
{
	const size_t length = strlen(folder);
	char target[PATH_MAX];
	struct dirent *entry;
	bool found = false;

	while (!found && (entry = readdir(links))) {
		ssize_t n = readlinkat(dirfd(links), entry->d_name, target, sizeof(target) - 1);
		const char *at;

		target[n > 0 ? n : 0] = '\0';
		at = strstr(target, folder);
		found = at && at[length] == '/';
	}
	return found;
}

static bool uses(pid_t pid, const char *folder)
{
	static const char * const kinds[] = { "fd", "map_files" };
	bool found = false;
	char path[32];

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !found; i++) {
		DIR *links;

		snprintf(path, sizeof(path), "/proc/%d/%s", pid, kinds[i]);
		links = opendir(path);
		found = links && links_below(links, folder);
		if (links)
			closedir(links);
	}
	return found;
}

bool mappers_find_user(struct mapper *user, const char *folder)
{
	DIR *proc = opendir("/proc");
	pid_t pid, own = getpid();

	*user = (struct mapper){ .pid = 0 };
	while (proc && !user->pid && (pid = next_process(proc, own))) {
		if (uses(pid, folder))
			user->pid = pid;
	}
	if (proc)
		closedir(proc);
	if (user->pid)
		name(user);
	return user->pid;
}

void mappers_free(struct mappers *m)
{
	free(m->all);
	memset(m, 0, sizeof(*m));
}

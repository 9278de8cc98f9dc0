// SPDX-License-Identifier: GPL-2.0
/*
 * Who has mapped the buffers: a walk through /proc/PID/maps.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/trace_live.h>

#include "mappers.h"
#include "text_file.h"

/* A mount may be seen under other names elsewhere: a file is its inode. */
struct identity {
	dev_t dev;
	ino_t ino;
};

struct search {
	struct mappers *found;
	struct identity *files;
	unsigned int nr_files;
};

static int find_file(const struct search *s, dev_t dev, ino_t ino)
{
	for (unsigned int i = 0; i < s->nr_files; i++) {
		if (s->files[i].ino == ino && s->files[i].dev == dev)
			return i;
	}
	return -1;
}

/* A process may have several mappings of a file: it is one mapper. */
static struct mapper *add(struct mappers *m, unsigned int file, pid_t pid)
{
	struct mapper *more;

	for (unsigned int i = 0; i < m->nr; i++) {
		if (m->all[i].file == file && m->all[i].pid == pid)
			return &m->all[i];
	}
	more = realloc(m->all, (m->nr + 1) * sizeof(*more));
	if (!more)
		return NULL;
	m->all = more;
	more += m->nr++;
	memset(more, 0, sizeof(*more));
	more->file = file;
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
	unsigned long long offset, ino;
	unsigned int major, minor;
	struct mapper *m;
	int file;

	/* Most lines are not: spare them the parsing. */
	if (!strstr(line, "/trace_pipe_raw") ||
	    sscanf(line, "%*x-%*x %*s %llx %x:%x %llu", &offset, &major, &minor, &ino) != 4)
		return 0;
	file = find_file(s, makedev(major, minor), ino);
	if (file < 0)
		return 0;
	m = add(s->found, file, pid);
	if (!m)
		return -ENOMEM;
	if (offset >= TRACE_MMAP_LIVE_OFFSET)
		m->observes = true;
	if (!*m->comm)
		name(m);
	return 0;
}

static int look_at_process(struct search *s, pid_t pid)
{
	char path[32], *line = NULL;
	size_t size = 0;
	int ret = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (!maps) {
		s->found->some_hidden |= errno == EACCES || errno == EPERM;
		return 0;
	}
	while (!ret && getline(&line, &size, maps) > 0)
		ret = look_at_line(s, pid, line);
	free(line);
	fclose(maps);
	return ret;
}

static int look_at_all(struct search *s)
{
	struct dirent *entry;
	DIR *proc = opendir("/proc");
	int ret = 0;

	if (!proc)
		return -errno;
	while (!ret && (entry = readdir(proc))) {
		pid_t pid = isdigit(entry->d_name[0]) ? atoi(entry->d_name) : 0;

		if (pid && pid != getpid())
			ret = look_at_process(s, pid);
	}
	closedir(proc);
	return ret;
}

int mappers_find(struct mappers *m, char *const *files, unsigned int nr_files)
{
	struct search s = { .found = m, .nr_files = nr_files };
	int ret;

	mappers_free(m);
	s.files = calloc(nr_files, sizeof(*s.files));
	if (nr_files && !s.files)
		return -ENOMEM;
	for (unsigned int i = 0; i < nr_files; i++) {
		struct stat st;

		if (stat(files[i], &st))
			continue;
		s.files[i].dev = st.st_dev;
		s.files[i].ino = st.st_ino;
	}
	ret = look_at_all(&s);
	free(s.files);
	return ret;
}

void mappers_free(struct mappers *m)
{
	free(m->all);
	memset(m, 0, sizeof(*m));
}

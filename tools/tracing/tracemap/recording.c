// SPDX-License-Identifier: GPL-2.0
/*
 * A recording: the buffers of an instance on their way into a trace.dat file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "buffers.h"
#include "cpu.h"
#include "new_file.h"
#include "recording.h"
#include "stats_file.h"
#include "temp_file.h"

/* ---- Taking ---- */

/* What a CPU's file "stats" says */
struct stats_text {
	char text[1024];
};

/* The file is empty for the caller if it cannot be read. */
static void read_stats(const struct track *track, struct stats_text *stats)
{
	ssize_t n = pread(track->stats, stats->text, sizeof(stats->text) - 1, 0);

	stats->text[n > 0 ? n : 0] = 0;
}

static uint64_t fill_of(const struct stats_text *stats)
{
	return stats_file_number(stats->text, "\nbytes: ");
}

/*
 * How many whole sub-buffers there are, and what a wait has fetched. A recorder by read(2) gets a
 * page of its own for what is there of a sub-buffer, be it ever so little, and better asks first.
 */
static uint64_t whole_ones(const struct track *track)
{
	const struct subbuf_format *format = &track->recording->dat->format;
	struct stats_text stats;

	read_stats(track, &stats);
	return fill_of(&stats) / (format->subbuf_size - format->data_offset) +
	       tracemap__in_hand(track->cpu);
}

int recording_pull(struct track *track, bool whole)
{
	uint64_t limit = whole ? whole_ones(track) : DAT_TURN_MAX, n;
	int ret = 1;

	for (n = 0; n < limit && n < DAT_TURN_MAX; n++) {
		ret = dat_pull(track->recording->dat, track->index);
		if (ret <= 0)
			break;
	}
	return ret < 0 ? ret : (int)n;
}

/* ---- Beginning and end ---- */

static int open_stats(const char *dir, int number)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s/per_cpu/cpu%d/stats", dir, number) < 0)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	free(path);
	return fd < 0 ? -errno : fd;
}

static struct track *new_track(struct recording *r, unsigned int index)
{
	struct track *track = calloc(1, sizeof(*track));

	if (!track)
		return NULL;
	track->recording = r;
	track->cpu = tracemap_get_cpu(r->t, index);
	track->index = index;
	return track;
}

int recording_add_cpus(struct recording *r, const char *dir)
{
	int ret = dat_add_cpus(r->dat);

	if (ret)
		return ret;
	for (unsigned int i = r->nr_tracks; i < tracemap_nr_cpus(r->t); i++) {
		struct track **tracks = realloc(r->tracks, (i + 1) * sizeof(*tracks));

		if (!tracks)
			return -ENOMEM;
		r->tracks = tracks;
		tracks[i] = new_track(r, i);
		if (!tracks[i])
			return -ENOMEM;
		r->nr_tracks++;
		tracks[i]->stats = open_stats(dir, tracemap_cpu_number(tracks[i]->cpu));
		if (tracks[i]->stats < 0)
			return tracks[i]->stats;
	}
	return 0;
}

/* The file in the way is of a recording that was killed only if @path is unfinished. */
static void say_in_the_way(const char *path, const char *in_the_way)
{
	if (trace_dat_is_unfinished(path))
		say("%s: there is %s, with events of an earlier recording of %s that was not finished: to move them into it, tracemap record --restore %s",
		    path, in_the_way, path, path);
	else
		say("%s: there is %s, a name that the recording needs: move it away, or choose another name with -o",
		    path, in_the_way);
}

int recording_refused(int error, const char *path, const char *in_the_way)
{
	switch (error) {
	case -EINVAL:
		say("%s: not a regular file: -o takes the name of one", path);
		return error;
	case -EISDIR:
		say("%s: it is a folder: -o takes the name of a file, such as %s%strace.dat",
		    path, path, path[strlen(path) - 1] == '/' ? "" : "/");
		return error;
	case -ENOENT:
		say("%s: the folder that it is to be in is not there: mkdir makes it", path);
		return error;
	case -EBUSY:
		say("%s: it is being recorded: -o takes another name", path);
		return error;
	case -EEXIST:
		say_in_the_way(path, in_the_way ? in_the_way : "one of its parts");
		return error;
	case -EMEDIUMTYPE:
		say("%s: it is no trace.dat file, and is not overwritten: remove it, or choose another name with -o",
		    path);
		return error;
	case -ENOSPC:
	case -EDQUOT:
		say("%s: %s, not even for what stands in front of the data: make room there", path,
		    strerror(-error));
		return error;
	default:
		return complain(ABOUT_OUTPUT, error, "%s", path);
	}
}

static int check_new(const char *path)
{
	struct new_file f;
	struct stat st;
	int ret;

	if (path[strlen(path) - 1] == '/')
		return -EISDIR;
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	ret = new_file_begin(&f, path);
	new_file_end(&f);
	return ret;
}

/* A file is replaced if it has another trace, and is not being recorded. */
static int check_replaced(const char *path)
{
	char begin[TRACE_HEAD_MAGIC_SIZE];
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), ret = 0;
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	n = pread(fd, begin, sizeof(begin), 0);
	if (n && (n < (ssize_t)sizeof(begin) || !trace_head_magic(begin)))
		ret = -EMEDIUMTYPE;
	else if (flock(fd, LOCK_EX | LOCK_NB))
		ret = -EBUSY;
	close(fd);
	return ret;
}

int recording_check(const char *path)
{
	int ret = check_new(path) ?: check_replaced(path);

	if (!ret && trace_dat_is_unfinished(path))
		ret = -EEXIST;
	return ret ? recording_refused(ret, path, NULL) : 0;
}

static int create_file(struct recording *r, const char *path)
{
	char *in_the_way;
	int ret = dat_create(r->dat, path, &in_the_way);

	if (ret)
		ret = recording_refused(ret, path, in_the_way);
	free(in_the_way);
	return ret;
}

int recording_next(struct recording *r, const char *path, struct trace_dat **old)
{
	char *in_the_way;
	int ret = dat_next_file(r->dat, path, &in_the_way, old);

	if (ret)
		ret = recording_refused(ret, path, in_the_way);
	free(in_the_way);
	return ret;
}

static int create_unnamed(struct recording *r)
{
	int ret = dat_create_unnamed(r->dat);

	if (!ret)
		return 0;
	return complain(ABOUT_OUTPUT, ret,
			"%s, which keeps the data until the recording ends (TMPDIR names another folder)",
			temp_folder());
}

int recording_open(struct recording *r, struct tracemap *t, const char *dir, const char *path)
{
	int ret;

	memset(r, 0, sizeof(*r));
	r->t = t;
	ret = dat_new(&r->dat, t, dir);
	if (!ret)
		ret = recording_add_cpus(r, dir);
	if (ret)
		return complain(ABOUT_BUFFER, ret, "%s", dir);
	ret = dat_take_head(r->dat, dir);
	if (ret)
		return formats_refused(ret, dir);
	return path ? create_file(r, path) : create_unnamed(r);
}

void recording_close(struct recording *r)
{
	tracemap_dat_close(r->dat);
	for (unsigned int i = 0; i < r->nr_tracks; i++) {
		if (r->tracks[i]->stats >= 0)
			close(r->tracks[i]->stats);
		free(r->tracks[i]);
	}
	free(r->tracks);
	memset(r, 0, sizeof(*r));
}

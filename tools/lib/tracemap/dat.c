// SPDX-License-Identifier: LGPL-2.1
/*
 * A recording: begin it, write what the CPUs have, and finish it.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dat.h"
#include "trace_dat_zstd.h"

/* ---- The buffers ---- */

/* The numbers of CPUs are below this; CPUs that do not exist have no data. */
static unsigned int count_cpus(const char *dir)
{
	unsigned int count = 0;
	struct dirent *entry;
	char *path;
	DIR *cpus;

	if (asprintf(&path, "%s/per_cpu", dir) < 0)
		return 0;
	cpus = opendir(path);
	free(path);
	while (cpus && (entry = readdir(cpus))) {
		if (!strncmp(entry->d_name, "cpu", 3) && isdigit((unsigned char)entry->d_name[3]) &&
		    strtoul(entry->d_name + 3, NULL, 10) >= count)
			count = strtoul(entry->d_name + 3, NULL, 10) + 1;
	}
	if (cpus)
		closedir(cpus);
	return count;
}

static void free_track(struct dat_track *track)
{
	free(track->copy);
	free((void *)track->tail.last.subbuf);
	free(track);
}

static struct dat_track *new_track(struct tracemap_dat *dat, unsigned int index)
{
	struct tracemap_cpu *cpu = tracemap_get_cpu(dat->t, index);
	struct dat_track *track = calloc(1, sizeof(*track));
	struct tracemap_figures figures;

	if (!track)
		return NULL;
	track->dat = dat;
	track->cpu = cpu;
	track->index = index;
	track->piece.format = &dat->format;
	if (tracemap_cpu_way(cpu) != TRACEMAP_MAP) {
		track->copy = malloc(dat->page_size);
		if (!track->copy) {
			free_track(track);
			return NULL;
		}
	}
	if (!tracemap_cpu_figures(cpu, &figures)) {
		track->consumed = figures.consumed;
		track->epoch = figures.epoch;
	}
	return track;
}

static int add_cpu(struct tracemap_dat *dat, unsigned int index)
{
	unsigned int number = tracemap_cpu_number(tracemap_get_cpu(dat->t, index));
	struct dat_track **tracks = realloc(dat->tracks, (index + 1) * sizeof(*tracks));

	if (!tracks)
		return -ENOMEM;
	dat->tracks = tracks;
	if (number >= dat->nr_cpus)
		return -EINVAL;
	tracks[index] = new_track(dat, index);
	if (!tracks[index])
		return -ENOMEM;
	dat->nr_tracks++;
	return 0;
}

int dat_add_cpus(struct tracemap_dat *dat)
{
	int ret = 0;

	while (!ret && dat->nr_tracks < tracemap_nr_cpus(dat->t))
		ret = add_cpu(dat, dat->nr_tracks);
	return ret;
}

static int take_format(struct tracemap_dat *dat)
{
	struct tracemap_raw raw;
	int ret;

	if (!tracemap_nr_cpus(dat->t))
		return -ENXIO;
	ret = tracemap_cpu_raw(tracemap_get_cpu(dat->t, 0), &raw);
	if (ret)
		return ret;
	if (raw.format.data_offset > DAT_PAGE_HEADER_MAX)
		return -EPROTO;
	dat->observes = tracemap_cpu_way(tracemap_get_cpu(dat->t, 0)) == TRACEMAP_OBSERVE;
	dat->format = raw.format;
	dat->page_size = raw.format.subbuf_size;
	dat->zeros = calloc(1, dat->page_size);
	return dat->zeros ? 0 : -ENOMEM;
}

/* ---- The beginning ---- */

int dat_new(struct tracemap_dat **datp, struct tracemap *t, const char *dir)
{
	struct tracemap_dat *dat = calloc(1, sizeof(*dat));

	*datp = dat;
	if (!dat)
		return -ENOMEM;
	dat->t = t;
	dat->nr_cpus = count_cpus(dir);
	losses_begin(&dat->losses, t);
	return take_format(dat) ?: dat_add_cpus(dat);
}

/* The folder of the top level, the only one with a folder of instances. To be freed. */
static char *top_of(const char *dir)
{
	char *path;
	bool is_top;

	if (asprintf(&path, "%s/instances", dir) < 0)
		return NULL;
	is_top = !access(path, F_OK);
	free(path);
	if (is_top)
		return strdup(dir);
	return asprintf(&path, "%s/../..", dir) < 0 ? NULL : path;
}

int dat_take_head(struct tracemap_dat *dat, const char *dir)
{
	char *top = top_of(dir);
	int ret = -ENOMEM;

	if (top)
		ret = trace_head_new(&dat->head, top, dir, dat->nr_cpus, dat->page_size);
	free(top);
	return ret ?: trace_head_expect(dat->head);
}

int dat_complete_head(struct tracemap_dat *dat)
{
	return trace_head_refresh(dat->head) ?: trace_head_complete(dat->head, &dat->seen);
}

int dat_create(struct tracemap_dat *dat, const char *path, char **in_the_way)
{
	return trace_dat_create(&dat->file, path, dat->head, dat->nr_cpus, dat->page_size,
				in_the_way);
}

int dat_next_file(struct tracemap_dat *dat, const char *path, char **in_the_way,
		  struct trace_dat **old)
{
	struct trace_dat *file;
	int ret = trace_dat_create(&file, path, dat->head, dat->nr_cpus, dat->page_size,
				   in_the_way);

	if (ret)
		return ret;
	dat->before = dat_size(dat);
	*old = dat->file;
	dat->file = file;
	for (unsigned int i = 0; i < dat->nr_tracks; i++)
		dat_track_next_file(dat->tracks[i]);
	return 0;
}

uint64_t dat_size(const struct tracemap_dat *dat)
{
	return dat->before + (dat->file ? trace_dat_size(dat->file) : 0);
}

int dat_create_unnamed(struct tracemap_dat *dat)
{
	return trace_dat_create_unnamed(&dat->file, dat->head, dat->nr_cpus, dat->page_size);
}

int tracemap_dat_open(struct tracemap_dat **to, const char *path, struct tracemap *t,
		      const char *dir, uint32_t flags)
{
	char *in_the_way = NULL;
	struct tracemap_dat *dat;
	int ret;

	if (flags & ~TRACEMAP_DAT_COMPRESS)
		return -EINVAL;
	if (flags && !TRACE_DAT_HAS_ZSTD)
		return -EOPNOTSUPP;
	ret = dat_new(&dat, t, dir) ?: dat_take_head(dat, dir) ?:
		dat_create(dat, path, &in_the_way);
	free(in_the_way);
	if (ret) {
		tracemap_dat_close(dat);
		return ret;
	}
	dat->compress = flags & TRACEMAP_DAT_COMPRESS;
	*to = dat;
	return 0;
}

void tracemap_dat_close(struct tracemap_dat *dat)
{
	if (!dat)
		return;
	trace_dat_close(dat->file);
	trace_head_free(dat->head);
	for (unsigned int i = 0; i < dat->nr_tracks; i++)
		free_track(dat->tracks[i]);
	losses_end(&dat->losses);
	free(dat->tracks);
	free(dat->zeros);
	free(dat);
}

/* ---- While it goes on ---- */

/* Returns 1, 0 or a negative errno. */
static int fetch(struct dat_track *track)
{
	int ret = tracemap_cpu_fetch(track->cpu, &track->batch);

	/* Only an observer counts the events after the damage. */
	if (ret == -EBADMSG && !track->dat->observes)
		track->dat->damaged = true;
	if (ret <= 0)
		track->batch = NULL;
	return ret;
}

int dat_pull(struct tracemap_dat *dat, unsigned int i)
{
	struct dat_track *track;
	int ret = dat->finished ? -EALREADY : dat->error ?: dat_add_cpus(dat);

	if (ret)
		return ret;
	if (i >= dat->nr_tracks)
		return -EINVAL;
	track = dat->tracks[i];
	ret = fetch(track);
	if (ret <= 0)
		return ret;
	ret = dat_track_write(track);
	if (ret)
		return ret;
	dat_track_pass(track);
	return 1;
}

/* Returns 1 if there was something, otherwise what the last call returned. */
static int take_turn(struct tracemap_dat *dat, unsigned int i)
{
	int ret = 1, n;

	for (n = 0; n < DAT_TURN_MAX && (ret > 0 || ret == -EBADMSG); n++)
		ret = dat_pull(dat, i);
	return n > 1 && (!ret || ret == -ENODATA) ? 1 : ret;
}

int tracemap_dat_take(struct tracemap_dat *dat)
{
	unsigned int nr = tracemap_nr_cpus(dat->t), ended = 0;
	int any = 0;

	for (unsigned int i = 0; i < nr; i++) {
		int ret = take_turn(dat, i);

		if (ret == -ENODATA)
			ended++;
		else if (ret < 0 && ret != -EBADMSG)
			return ret;
		else if (ret)
			any = 1;
	}
	return ended == nr ? -ENODATA : any;
}

static void give_up(struct dat_track *track)
{
	int ret;

	do {
		ret = fetch(track);
		if (ret > 0)
			dat_track_give_up(track);
	} while (ret > 0 || ret == -EBADMSG || ret == -EINTR);
	dat_track_gave_up(track);
}

void dat_give_up(struct tracemap_dat *dat)
{
	for (unsigned int i = 0; i < dat->nr_tracks; i++)
		give_up(dat->tracks[i]);
}

void dat_write_tails(struct tracemap_dat *dat)
{
	for (unsigned int i = 0; i < dat->nr_tracks; i++)
		dat_track_write_tail(dat->tracks[i]);
}

/* ---- Sums ---- */

/* A buffer that is emptied restarts its counts. A mapping reports that itself. */
static void look_for_restart(struct dat_track *track, const struct tracemap_figures *figures)
{
	bool restarted = figures->epoch != track->epoch || figures->consumed < track->consumed;

	track->epoch = figures->epoch;
	track->consumed = figures->consumed;
	if (!restarted)
		return;
	/* The numbers of these losses can no longer be found out. */
	track->owed.losses += track->owed.losses > 0;
	track->emptied += tracemap_cpu_way(track->cpu) == TRACEMAP_READ;
}

static void look_at_figures(struct dat_track *track)
{
	struct tracemap_figures figures;

	if (tracemap_cpu_figures(track->cpu, &figures))
		return;
	if (!track->dat->observes)
		look_for_restart(track, &figures);
	losses_look_for_others(&track->dat->losses, track->index, &figures);
	track->lost += losses_dropped_of(&track->dat->losses, track->index, figures.dropped);
}

void tracemap_dat_figures(struct tracemap_dat *dat, struct tracemap_dat_figures *figures)
{
	memset(figures, 0, sizeof(*figures));
	figures->at_least = dat->damaged || losses_at_least(&dat->losses);
	figures->bytes = dat_size(dat);
	figures->error = dat->error;
	for (unsigned int i = 0; i < dat->nr_tracks; i++) {
		struct dat_track *track = dat->tracks[i];

		look_at_figures(track);
		figures->events += track->events - track->unwritten;
		figures->lost += track->lost + track->unwritten;
		figures->unwritten += track->unwritten;
	}
}

void dat_count_losses(struct tracemap_dat *dat)
{
	for (unsigned int i = 0; i < dat->nr_tracks; i++)
		dat_track_settle(dat->tracks[i]);
}

unsigned int dat_emptied(const struct tracemap_dat *dat)
{
	unsigned int most = 0;

	for (unsigned int i = 0; i < dat->nr_tracks; i++) {
		if (dat->tracks[i]->emptied > most)
			most = dat->tracks[i]->emptied;
	}
	return most;
}

/* ---- The end ---- */

static int compress(void *arg, int fd)
{
	uint64_t size;

	return trace_dat_zstd(((struct tracemap_dat *)arg)->file, fd, NULL, &size);
}

static int finish_file(struct tracemap_dat *dat)
{
	int head = trace_dat_replace_head(dat->file), ret = -EOPNOTSUPP, last;

	if (dat->compress)
		ret = trace_dat_replace(dat->file, compress, dat);
	if (!ret)
		return head;
	last = trace_dat_finish(dat->file, NULL);
	return last ?: head ?: dat->compress ? ret : 0;
}

int tracemap_dat_finish(struct tracemap_dat *dat)
{
	int head, ret;

	if (dat->finished)
		return -EALREADY;
	dat->finished = true;
	if (!dat->error)
		dat_count_losses(dat);
	dat_write_tails(dat);
	head = dat_complete_head(dat);
	ret = finish_file(dat);
	return ret ?: head;
}

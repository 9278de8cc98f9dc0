// SPDX-License-Identifier: GPL-2.0
/*
 * A recording: the buffers of an instance on their way into a trace.dat file.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "advice.h"
#include "recording.h"
#include "stats_file.h"
#include "temp_file.h"

/* ---- Pieces ---- */

static const unsigned char *subbuf_of(const struct track *track)
{
	/* There may be nothing, not even before the first record of a copy. */
	return (const unsigned char *)((uintptr_t)track->batch->it.data -
				       track->piece.format->data_offset);
}

static uint64_t subbuf_stamp(const struct track *track)
{
	return subbuf_time_stamp(track->piece.format, subbuf_of(track));
}

/* Is the batch what has come to the sub-buffer that was written last? */
static bool goes_on(const struct track *track, uint32_t start)
{
	const struct dat_piece *piece = &track->piece;

	return !track->recording->observes && track->has_piece && start && start == piece->end &&
	       subbuf_of(track) == piece->subbuf && subbuf_stamp(track) == track->stamp &&
	       !track->batch->missed && !(track->batch->flags & TRACEMAP_RESET);
}

static uint32_t capacity(const struct track *track)
{
	return track->piece.format->subbuf_size - track->piece.format->data_offset;
}

static void begin_piece(struct track *track, uint32_t start)
{
	struct dat_piece *piece = &track->piece;
	uint64_t missed = track->batch->missed;

	/* What nobody could be told yet. */
	if (track->has_piece && !track->nr_pages) {
		missed = losses_add(missed, piece->missed);
		track->owed.losses += piece->missed > 0;
	}
	track->at += (uint64_t)track->nr_pages * track->recording->page_size;
	track->nr_pages = 0;
	track->has_piece = true;
	/* An observer has copies of records, without a header. */
	track->stamp = track->recording->observes ? 0 : subbuf_stamp(track);
	piece->subbuf = subbuf_of(track);
	piece->start = start;
	piece->ts = track->batch->it.ts;
	piece->missed = missed;
}

/* ---- Small parts ---- */

/* Add the records of the batch to the copy, and pass them. */
static void append(struct track *track)
{
	struct dat_piece *piece = &track->piece;
	unsigned char *to = track->copy + piece->format->data_offset + piece->end;
	struct subbuf_iter it = track->batch->it;
	struct subbuf_record record;

	if (it.end > it.next)
		memcpy(to, it.next, it.end - it.next);
	piece->end += it.end - it.next;
	while (subbuf_next(&it, &record))
		;
	track->copy_ts = it.ts;
}

/* A record that moves the clock from the last one of the copy to the batch's. */
static void append_time(struct track *track)
{
	struct dat_piece *piece = &track->piece;
	uint64_t delta = track->batch->it.ts - track->copy_ts;
	uint32_t low = delta & ((1U << SUBBUF_TIME_SHIFT) - 1);
	uint32_t words[2] = { low << 5 | SUBBUF_TYPE_TIME_EXTEND, delta >> SUBBUF_TIME_SHIFT };

	if (piece->format->big_endian)
		words[0] = SUBBUF_TYPE_TIME_EXTEND << SUBBUF_TIME_SHIFT | low;
	memcpy(track->copy + piece->format->data_offset + piece->end, words, sizeof(words));
	piece->end += sizeof(words);
}

/*
 * read(2) hands out what is there of a sub-buffer, and the next time what has come
 * to it, as pages each. As long as they are small, one page takes them all.
 */
static bool gather(struct track *track)
{
	const struct subbuf_iter *it = &track->batch->it;
	struct dat_piece *piece = &track->piece;
	uint32_t size = it->end - it->next;

	if (!track->copy || size > capacity(track) / 2 || it->corrupt)
		return false;
	if (track->has_piece && piece->subbuf == track->copy && !track->batch->missed &&
	    it->ts >= track->copy_ts && size + 8 <= capacity(track) - piece->end) {
		append_time(track);
	} else {
		begin_piece(track, 0);
		piece->subbuf = track->copy;
		piece->end = 0;
	}
	append(track);
	return true;
}

/* ---- Numbers of lost events that come late ---- */

/* After a page without the number was written. */
static void owe(struct track *track)
{
	track->owed.losses++;
	track->owed.at = track->at;
	track->owed.looked = false;
}

/* That page is not written again: see settle_when_quiet(). */
static int put_missed(struct track *track, uint64_t missed)
{
	struct recording *r = track->recording;
	int number = tracemap_cpu_number(track->cpu), ret;
	void *page = malloc(r->page_size);

	if (!page)
		return -ENOMEM;
	ret = trace_dat_read(r->dat, number, track->owed.at, page, r->page_size);
	if (!ret && dat_page_put_missed(&r->format, page, missed))
		ret = trace_dat_write_at(trace_dat_cpu_fd(r->dat, number), page, r->page_size,
					 track->owed.at);
	free(page);
	return ret;
}

/*
 * All losses until the kernel's counter was @overwritten have been told. Of several it is not
 * known how many events each was.
 */
static void settle(struct track *track, uint64_t overwritten)
{
	struct losses *l = &track->recording->losses;
	uint64_t missed = losses_untold_of(l, track->index, overwritten);

	track->lost += missed;
	if (track->owed.losses == 1 && !losses_of_cpu_at_least(l, track->index))
		put_missed(track, missed);
	track->owed.losses = 0;
}

static void look_at_counter(struct track *track)
{
	struct owed *owed = &track->owed;
	struct tracemap_figures figures;

	owed->quiet = 0;
	owed->looked = !tracemap_cpu_figures(track->cpu, &figures);
	owed->overwritten = figures.overwritten;
}

/*
 * More than a sub-buffer has come without a loss: the kernel has handed out another one since
 * the look, and would have told what was lost between the one before and the look. What it
 * has is in a later page than the one that lacks the number.
 */
static void settle_when_quiet(struct track *track, uint32_t bytes)
{
	struct owed *owed = &track->owed;

	if (!owed->losses)
		return;
	owed->quiet += bytes;
	if (!owed->looked)
		look_at_counter(track);
	else if (owed->quiet > capacity(track))
		settle(track, owed->overwritten);
}

/* ---- Sub-buffers into pages ---- */

static void count_missed(struct track *track)
{
	const struct tracemap_batch *batch = track->batch;

	losses_told(&track->recording->losses, batch->cpu, batch->missed);
	track->owed.looked &= !batch->missed;
	if (batch->missed != TRACEMAP_MISSED_UNKNOWN)
		track->lost += batch->missed;
}

/*
 * Done with the batch: its events went with it. Those that an observer has not gone through
 * it has not seen.
 */
static uint64_t pass_events(struct track *track)
{
	struct subbuf_record record;
	uint64_t n = 0;

	while (tracemap_batch_next(track->batch, &record))
		n++;
	return n;
}

/* Taken out of the buffer, or observed, and there is nowhere to put them. */
static void unwritten(struct track *track)
{
	uint64_t events = pass_events(track);

	track->unwritten += events;
	if (track->recording->observes)
		track->events += events;
}

/* The kernel counts what was taken, and an observer what it has seen. */
static void pass_written(struct track *track)
{
	struct recording *r = track->recording;
	uint32_t before = track->batch->events;

	if (r->shows)
		shown_add(&track->shown, track->batch);
	else if (r->observes)
		pass_events(track);
	track->batch->it.next = track->batch->it.end;
	if (r->observes)
		track->events += track->batch->events - before;
}

static int write_batch(struct track *track)
{
	struct recording *r = track->recording;
	const struct subbuf_iter *it = &track->batch->it;
	struct dat_page pages[DAT_PAGES_MAX];
	uint32_t start = subbuf_pos(it), bytes = it->end - it->next;
	int nr, ret;

	count_missed(track);
	if (!gather(track)) {
		if (!goes_on(track, start))
			begin_piece(track, start);
		track->piece.end = it->end - it->data;
	}
	/* Nothing but a loss: it is told with what comes next. */
	if (track->piece.end == track->piece.start)
		return 0;
	nr = dat_pages(&track->piece, r->zeros, pages);
	ret = trace_dat_write(r->dat, tracemap_cpu_number(track->cpu), track->at, pages, nr);
	if (!ret) {
		if (nr && !track->nr_pages && track->piece.missed == TRACEMAP_MISSED_UNKNOWN)
			owe(track);
		track->nr_pages = nr;
		settle_when_quiet(track, bytes);
		return 0;
	}
	r->write_error = ret;
	unwritten(track);
	return ret;
}

/* Fetch what comes next, and write it. 1, 0 or a negative errno. */
static int pull(struct track *track)
{
	int ret;

	if (track->recording->write_error)
		return track->recording->write_error;
	ret = tracemap_cpu_fetch(track->cpu, &track->batch);
	if (ret <= 0) {
		/* Only an observer has counted the events that were behind the damage. */
		if (ret == -EBADMSG && !track->recording->observes)
			track->recording->damaged = true;
		track->batch = NULL;
		return ret;
	}
	ret = write_batch(track);
	return ret ? ret : 1;
}

uint64_t recording_fill(const struct track *track)
{
	char text[1024];
	ssize_t n = pread(track->stats, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = 0;
	return stats_file_number(text, "\nbytes: ");
}

static uint64_t limit_of(const struct track *track, enum recording_share share)
{
	uint64_t n;

	if (share == RECORDING_TURN || track->recording->observes)
		return RECORDING_TURN_MAX;
	n = recording_fill(track) / capacity(track);
	if (share == RECORDING_WHOLE)
		return n < RECORDING_TURN_MAX ? n : RECORDING_TURN_MAX;
	return n + 2;	/* the oldest and the newest may hold little */
}

int recording_pull(struct track *track, enum recording_share share)
{
	uint64_t limit = limit_of(track, share), n;
	int ret = 1;

	for (n = 0; n < limit; n++) {
		ret = pull(track);
		if (ret <= 0)
			break;
		pass_written(track);
	}
	return ret < 0 ? ret : (int)n;
}

/* ---- Beginning and end ---- */

/* Numbers of CPUs go up to this; those that are not there have no data. */
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
	struct tracemap_cpu *cpu = tracemap_get_cpu(r->t, index);
	struct track *track = calloc(1, sizeof(*track));
	struct tracemap_figures figures;

	if (!track)
		return NULL;
	track->recording = r;
	track->shown.room = &r->room;
	track->cpu = cpu;
	track->index = index;
	track->piece.format = &r->format;
	if (tracemap_cpu_way(cpu) != TRACEMAP_MAP) {
		track->copy = malloc(r->page_size);
		if (!track->copy) {
			free(track);
			return NULL;
		}
	}
	if (!tracemap_cpu_figures(cpu, &figures)) {
		track->consumed = figures.consumed;
		track->epoch = figures.epoch;
	}
	return track;
}

int recording_add_cpus(struct recording *r, const char *dir)
{
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

static int take_format(struct recording *r)
{
	struct tracemap_raw raw;
	int ret;

	if (!tracemap_nr_cpus(r->t))
		return -ENXIO;
	ret = tracemap_cpu_raw(tracemap_get_cpu(r->t, 0), &raw);
	if (ret)
		return ret;
	if (raw.format.data_offset > DAT_PAGE_HEADER_MAX)
		return -EPROTO;
	r->observes = tracemap_cpu_way(tracemap_get_cpu(r->t, 0)) == TRACEMAP_OBSERVE;
	r->format = raw.format;
	r->page_size = raw.format.subbuf_size;
	r->zeros = calloc(1, r->page_size);
	return r->zeros ? 0 : -ENOMEM;
}

/* The file in the way is of a recording that was killed only if @path is unfinished. */
static void say_in_the_way(const char *path, const char *in_the_way)
{
	if (trace_dat_is_unfinished(path))
		say("%s: there is %s, as the recording of %s has not been finished: tracemap record --restore %s",
		    path, in_the_way, path, path);
	else
		say("%s: there is %s, a name that the recording needs: move it away, or choose another name with -o",
		    path, in_the_way);
}

static int fail_to_create(int error, const char *path, const char *in_the_way)
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
		say("%s: %s, not even for what stands in front of the data", path,
		    strerror(-error));
		return error;
	default:
		return complain(ABOUT_OUTPUT, error, "%s", path);
	}
}

static int create_file(struct recording *r, const char *path)
{
	char *in_the_way;
	int ret = trace_dat_create(&r->dat, path, r->head, r->nr_cpus, r->page_size, &in_the_way);

	if (ret)
		ret = fail_to_create(ret, path, in_the_way);
	free(in_the_way);
	return ret;
}

static int create_unnamed(struct recording *r)
{
	int ret = trace_dat_create_unnamed(&r->dat, r->head, r->nr_cpus, r->page_size);

	if (!ret)
		return 0;
	return complain(ABOUT_OUTPUT, ret,
			"%s, which keeps the data until the recording ends (TMPDIR names another folder)",
			temp_folder());
}

int recording_open(struct recording *r, struct tracemap *t, const char *top,
		   const char *dir, const char *path)
{
	int ret;

	memset(r, 0, sizeof(*r));
	r->t = t;
	r->nr_cpus = count_cpus(dir);
	losses_begin(&r->losses, t);
	ret = take_format(r);
	if (!ret)
		ret = recording_add_cpus(r, dir);
	if (ret)
		return complain(ABOUT_BUFFER, ret, "%s", dir);
	ret = trace_head_new(&r->head, top, dir, r->nr_cpus, r->page_size);
	if (ret)
		return complain(ABOUT_TRACEFS, ret, "%s: formats of events", dir);
	return path ? create_file(r, path) : create_unnamed(r);
}

void recording_close(struct recording *r)
{
	trace_dat_close(r->dat);
	trace_head_free(r->head);
	for (unsigned int i = 0; i < r->nr_tracks; i++) {
		if (r->tracks[i]->stats >= 0)
			close(r->tracks[i]->stats);
		shown_free(&r->tracks[i]->shown);
		free(r->tracks[i]->copy);
		free(r->tracks[i]);
	}
	losses_end(&r->losses);
	free(r->tracks);
	free(r->zeros);
	memset(r, 0, sizeof(*r));
}

static void give_up(struct track *track)
{
	struct recording *r = track->recording;
	int ret;

	do {
		ret = tracemap_cpu_fetch(track->cpu, &track->batch);
		r->damaged |= ret == -EBADMSG && !r->observes;
		if (ret <= 0)
			continue;
		count_missed(track);
		unwritten(track);
	} while (ret > 0 || ret == -EBADMSG || ret == -EINTR);
	track->batch = NULL;
}

void recording_give_up(struct recording *r)
{
	for (unsigned int i = 0; i < r->nr_tracks; i++)
		give_up(r->tracks[i]);
}

/*
 * When a buffer is emptied its counts restart. What was counted until the last
 * look stays counted.
 */
static void look_at_figures(struct track *track)
{
	struct tracemap_figures figures;

	if (track->recording->observes || tracemap_cpu_figures(track->cpu, &figures))
		return;
	if (figures.epoch != track->epoch || figures.consumed < track->consumed) {
		track->epoch = figures.epoch;
		track->consumed = 0;
		/* Of these it is not known any more. */
		track->owed.losses += track->owed.losses > 0;
	}
	track->events += figures.consumed - track->consumed;
	track->consumed = figures.consumed;
}

void recording_sum_up(struct recording *r, struct recording_sums *sums)
{
	memset(sums, 0, sizeof(*sums));
	sums->at_least = r->damaged || losses_at_least(&r->losses);
	sums->bytes = r->dat ? trace_dat_size(r->dat) : 0;
	for (unsigned int i = 0; i < r->nr_tracks; i++) {
		look_at_figures(r->tracks[i]);
		sums->events += r->tracks[i]->events - r->tracks[i]->unwritten;
		r->tracks[i]->lost += losses_dropped(&r->losses, i);
		sums->lost += r->tracks[i]->lost + r->tracks[i]->unwritten;
		sums->unwritten += r->tracks[i]->unwritten;
	}
}

void recording_count_losses(struct recording *r)
{
	for (unsigned int i = 0; i < r->nr_tracks; i++) {
		struct track *track = r->tracks[i];

		if (!track->owed.losses) {
			track->lost += losses_untold(&r->losses, i);
			continue;
		}
		look_at_counter(track);
		if (track->owed.looked)
			settle(track, track->owed.overwritten);
	}
}

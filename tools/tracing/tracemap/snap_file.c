// SPDX-License-Identifier: GPL-2.0
/*
 * Write a snapshot as a trace.dat file.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracemap-event.h>

#include "advice.h"
#include "buffers.h"
#include "losses.h"
#include "new_file.h"
#include "recording.h"
#include "sink.h"
#include "snap_file.h"
#include "stop.h"
#include "trace_dat.h"
#include "write_all.h"

/* ---- Pages ---- */

/**
 * struct taker - the pages of a CPU being made
 * @d: where to put them
 * @s: the snapshot
 * @i: the index of the CPU
 * @missed: how many lost events the next page has to report
 * @zeros: a page of zeros
 */
struct taker {
	struct snap_data *d;
	struct snapshot *s;
	unsigned int i;
	uint64_t missed;
	void *zeros;
};

static void count(struct taker *k, const struct subbuf_record *r)
{
	trace_seen_add(&k->d->seen, r->data, r->size);
	snapshot_count(k->s, r->ts);
}

/*
 * Pass the records that are not wanted. Returns false if none is wanted. A loss before
 * unwanted records does not count.
 */
static bool find_first(struct taker *k, struct tracemap_batch *b, struct dat_piece *piece)
{
	struct subbuf_record r;
	struct subbuf_iter before = b->it;

	piece->missed = k->missed;
	while (tracemap_batch_next(b, &r)) {
		if (r.ts >= k->s->from) {
			piece->start = subbuf_pos(&before);
			piece->ts = before.ts;
			count(k, &r);
			return true;
		}
		before = b->it;
		piece->missed = 0;
		k->missed = 0;
	}
	return false;
}

static int add_pages(struct taker *k, const struct dat_piece *piece)
{
	struct bytes *to = &k->d->pages[tracemap_cpu_number(tracemap_get_cpu(k->s->t, k->i))];
	struct dat_page pages[DAT_PAGES_MAX];
	int nr = dat_pages(piece, k->zeros, pages);

	for (int i = 0; i < nr; i++) {
		for (int j = 0; j < pages[i].nr_parts; j++)
			bytes_add(to, pages[i].part[j].iov_base, pages[i].part[j].iov_len);
	}
	if (nr) {
		snapshot_lost(k->s, k->i, piece->missed);
		k->missed = 0;
	}
	return to->error;
}

static int take_batch(struct taker *k, struct tracemap_batch *b)
{
	struct dat_piece piece = { .format = &k->d->format };
	struct subbuf_record r;

	k->missed = losses_add(k->missed, b->missed);
	/* dat_pages() looks at the records only, and there may be no header before them. */
	piece.subbuf = (const void *)((uintptr_t)b->it.data - k->d->format.data_offset);
	if (!find_first(k, b, &piece))
		return 0;
	while (tracemap_batch_next(b, &r))
		count(k, &r);
	piece.end = subbuf_pos(&b->it);
	return add_pages(k, &piece);
}

static int take_cpu(struct taker *k)
{
	struct tracemap_cpu *cpu = tracemap_get_cpu(k->s->t, k->i);
	struct tracemap_batch *b;
	int ret = 1;

	k->missed = 0;
	while (ret >= 0) {
		if (stop_signals())
			return -EINTR;
		ret = tracemap_cpu_fetch(cpu, &b);
		if (ret > 0)
			ret = take_batch(k, b);
		else if (!ret)
			stop_wait(-1, 1);	/* the writer was too quick for once */
		else if (ret != -ENODATA)
			ret = snapshot_error(ret, tracemap_cpu_number(cpu));
	}
	/* A loss that no event follows has no page that could report it. */
	snapshot_lost(k->s, k->i, k->missed);
	return ret == -ENODATA ? 0 : ret;
}

static int take_format(struct snap_data *d, const struct snapshot *s)
{
	struct tracemap_raw raw;
	int ret = tracemap_cpu_raw(tracemap_get_cpu(s->t, 0), &raw);

	if (ret)
		return ret;
	for (unsigned int i = 0; i < s->nr_cpus; i++) {
		unsigned int number = tracemap_cpu_number(tracemap_get_cpu(s->t, i));

		if (number >= d->nr_cpus)
			d->nr_cpus = number + 1;
	}
	d->format = raw.format;
	d->pages = calloc(d->nr_cpus, sizeof(*d->pages));
	return raw.format.data_offset > DAT_PAGE_HEADER_MAX ? -EPROTO : d->pages ? 0 : -ENOMEM;
}

static int take_pages(struct snap_data *d, struct snapshot *s)
{
	struct taker k = { .d = d, .s = s, .zeros = calloc(1, d->format.subbuf_size) };
	int ret = k.zeros ? 0 : -ENOMEM;

	for (k.i = 0; k.i < s->nr_cpus && ret >= 0; k.i++)
		ret = take_cpu(&k);
	free(k.zeros);
	return ret < 0 ? ret : 0;
}

/* ---- What comes before the data ---- */

static int make_front(struct snap_data *d)
{
	uint64_t *sizes = calloc(d->nr_cpus, sizeof(*sizes));
	int ret = -ENOMEM;

	for (unsigned int i = 0; sizes && i < d->nr_cpus; i++)
		sizes[i] = d->pages[i].size;
	if (sizes)
		ret = trace_dat_front(&d->front, d->head, d->nr_cpus, d->format.subbuf_size, sizes);
	free(sizes);
	return ret;
}

static int new_head(struct snap_data *d, const char *dir)
{
	char *top;
	int ret = tracemap_find_dir(&top, NULL);

	if (ret)
		return ret;
	ret = trace_head_new(&d->head, top, dir, d->nr_cpus, d->format.subbuf_size);
	free(top);
	return ret;
}

static int take_head(struct snap_data *d, const char *dir)
{
	int ret = d->head ? trace_head_renew(d->head, d->nr_cpus, d->format.subbuf_size) :
			    new_head(d, dir);

	if (!ret)
		ret = trace_head_complete(d->head, &d->seen);
	if (!ret)
		return make_front(d);
	trace_head_free(d->head);
	d->head = NULL;
	return ret;
}

int snap_data_take(struct snap_data *d, struct snapshot *s, const char *dir)
{
	int ret = take_format(d, s);

	if (!ret)
		ret = take_pages(d, s);
	if (ret == -EINTR)
		say("%s: a signal came: this snapshot was not written", dir);
	else if (ret)
		complain(ABOUT_BUFFER, ret, "%s", dir);
	if (ret)
		return ret;
	ret = take_head(d, dir);
	return ret ? formats_refused(ret, dir) : 0;
}

void snap_data_free(struct snap_data *d)
{
	for (unsigned int i = 0; d->pages && i < d->nr_cpus; i++)
		bytes_free(&d->pages[i]);
	free(d->pages);
	bytes_free(&d->front);
	memset(d, 0, sizeof(*d));
}

/* ---- The file ---- */

/* How many bytes are written between two checks for a signal */
#define PUT_MAX		(1 << 20)

static int put(const struct snap_data *d, int fd, const struct bytes *b)
{
	const char *data = b->data;

	for (size_t size = b->size; size; ) {
		ssize_t n;

		if (stop_signals() > d->signals)
			return -EINTR;
		n = write_some(fd, data, size < PUT_MAX ? size : PUT_MAX);
		if (n < 0)
			return n;
		data += n;
		size -= n;
	}
	return 0;
}

static int put_waiting(const struct snap_data *d, int fd, const struct bytes *b)
{
	return sink_put(fd, b->data, b->size, d->signals);
}

static int put_all(const struct snap_data *d, int fd,
		   int (*put_one)(const struct snap_data *d, int fd, const struct bytes *b))
{
	int ret = put_one(d, fd, &d->front);

	for (unsigned int i = 0; i < d->nr_cpus && !ret; i++)
		ret = put_one(d, fd, &d->pages[i]);
	return ret;
}

int snap_data_check(const char *path)
{
	struct stat st;

	if (!strcmp(path, "-"))
		return 0;
	if (stat(path, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return recording_check(path);
	if (!faccessat(AT_FDCWD, path, W_OK, AT_EACCESS))
		return 0;
	return recording_refused(-errno, path, NULL);
}

static int write_regular(const struct snap_data *d, const char *path, bool is_new)
{
	struct new_file f;
	int ret = new_file_begin(&f, path) ?: put_all(d, f.fd, put);

	if (!ret && fdatasync(f.fd))
		ret = -errno;
	if (!ret)
		ret = new_file_name(&f, is_new);
	new_file_end(&f);
	return ret;
}

int snap_data_write_new(const struct snap_data *d, const char *path)
{
	return write_regular(d, path, true);
}

int snap_data_not_written(const char *path, int error)
{
	say("%s: %s: nothing was written", path,
	    error == -EINTR ? "a signal came" : strerror(-error));
	return error;
}

/* A pipe, a terminal, a device. Its reader may take nothing for ever. */
static int write_other(const struct snap_data *d, const char *path, int fd)
{
	int ret = fd < 0 ? -errno : 0;

	signal(SIGPIPE, SIG_IGN);
	if (!ret)
		ret = put_all(d, fd, put_waiting);
	if (ret == -EINTR)
		say("%s: a signal came: not everything was written", path);
	else if (ret && ret != -EPIPE)
		complain(ABOUT_OUTPUT, ret, "%s", path);
	return ret;
}

int snap_data_write(const struct snap_data *d, const char *path)
{
	struct stat st;
	int fd, ret;

	if (!strcmp(path, "-"))
		return write_other(d, "standard output", STDOUT_FILENO);
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
		ret = write_other(d, path, fd);
		if (fd >= 0)
			close(fd);
		return ret;
	}
	ret = recording_check(path);
	if (ret)
		return ret;
	ret = write_regular(d, path, false);
	return ret ? snap_data_not_written(path, ret) : 0;
}

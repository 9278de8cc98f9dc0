// SPDX-License-Identifier: GPL-2.0
/* Operations that move events: written, read, spliced, pinned, looked at. */
#define _GNU_SOURCE
#include <sys/uio.h>

#include "random.h"

#define LARGEST		(64 << 10)	/* sub-buffer */

static unsigned char page[LARGEST] __attribute__((aligned(4096)));

static bool a_raw_file(struct order *o)
{
	int tries;

	for (tries = 0; tries < 8; tries++) {
		o->fd = below(FDS);
		if (file_at(o) && file_at(o)->kind == RAW && !file_at(o)->spare) {
			o->inst = file_at(o)->inst;
			o->cpu = file_at(o)->cpu;
			return true;
		}
	}
	return false;
}

static size_t subbuf_size(int inst)
{
	return PAGE << instances[inst].order;
}

static struct account *live_of(const struct order *o)
{
	return &shared->live[o->inst][o->cpu];
}

/* What the worker has to know of the model. */
static void tell_sizes(struct order *o)
{
	o->to = subbuf_size(o->inst);
	o->to_len = instances[o->inst].nr_pages[o->cpu] + 1;
}

/* ---- write ---- */

static bool choose_write(struct order *o)
{
	o->inst = below(INSTANCES);
	o->cpu = below(nr_cpus);
	o->value = 1 + below(one_in(5) ? 150 : 12);
	o->len = 16 + 4 * below(one_in(3) ? 245 : 20);
	return instances[o->inst].exists;
}

static void perform_write(const struct order *o, struct answer *a)
{
	note_result(a, write_numbered(o->inst, o->cpu, o->value, o->len));
}

static const char *judge_write(const struct order *o, const struct answer *a)
{
	const struct instance *in = &instances[o->inst];

	judge_begin();
	why_gone(o);
	why(unless_storm(is(!online[o->cpu])), EINVAL);
	why(unless_storm(is(!in->on)), EBADF);
	why(in->overwrite && in->tracer == TRACER_NOP ? NO : MAYBE, EBADF);
	if (wrong == 4 && !storm)
		shared->live[o->inst][o->cpu].seq++;
	return judged(a);
}

/* Text: it sets off a trigger on ftrace/print, which takes a snapshot. */
static bool choose_mark(struct order *o)
{
	o->inst = below(INSTANCES);
	return instances[o->inst].exists;
}

static void perform_mark(const struct order *o, struct answer *a)
{
	note_result(a, instance_write(dir_of(o->inst), "trace_marker", "random\n"));
}

static const char *judge_mark(const struct order *o, const struct answer *a)
{
	struct instance *in = &instances[o->inst];
	const char *bad;
	unsigned int cpu;

	judge_begin();
	why_gone(o);
	why(unless_storm(is(!in->on)), EBADF);
	why(in->overwrite && in->tracer == TRACER_NOP ? NO : MAYBE, EBADF);
	bad = judged(a);
	if (bad || a->err)
		return bad;
	/* On which CPU is not known. */
	for (cpu = 0; cpu < nr_cpus; cpu++)
		shared->live[o->inst][cpu].vague = true;
	text_written(o->inst, o->worker);
	return NULL;
}

/* ---- read ---- */

static bool choose_read(struct order *o)
{
	struct file *f;

	o->fd = below(FDS);
	f = file_at(o);
	if (!f)
		return false;
	o->inst = f->inst;
	o->cpu = f->cpu;
	o->value = f->kind;
	o->len = f->kind == RAW ? (long)subbuf_size(f->inst) : 8192;
	/* Of a part nobody knows what it is; what is left belongs to the file. */
	if (one_in(40))
		o->len = 1 + below(4096);
	o->flags = f->spare || f->kind != RAW || o->len != (long)subbuf_size(f->inst);
	return true;
}

static void perform_read(const struct order *o, struct answer *a)
{
	long i, cpus = o->cpu < 0 ? (long)nr_cpus : o->cpu + 1;
	ssize_t len;

	for (i = o->cpu < 0 ? 0 : o->cpu; i < cpus; i++)
		a->value += stat_entries(o->inst, i);
	may_block(true);
	len = read(fd_of(o), page, o->len);
	note(a, len);
	may_block(false);
	/* In a storm sub-buffers may have become larger than what was asked for. */
	if (len <= 0 || o->flags || storm)
		return;
	if (!subbuf_sane(page, len))
		strcpy(a->complaint, "read() gave damaged events");
	tally_page(tally_begin(live_of(o)), page, len);
	tally_check(live_of(o), a);
}

/* Events were consumed, and not looked at. */
static void unseen(const struct file *f)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpus; cpu++) {
		if (f->cpu < 0 || f->cpu == (int)cpu)
			shared->live[f->inst][cpu].loose = true;
	}
}

/* READ-11 */
static const char *judge_read(const struct order *o, const struct answer *a)
{
	struct file *f = file_at(o);
	const char *bad;

	judge_begin();
	why(is(!f), EBADF);
	why(is(f->kind == LIVE), EINVAL);
	if (f->kind != TRACE && f->kind != LIVE) {
		why(unless_storm(is(!a->value && !f->spare)), EAGAIN);
		why(f->spare || f->kind == PIPE ? MAYBE : NO, EAGAIN);
		why(storm && !(f->flags & O_NONBLOCK) ? MAYBE : NO, EINTR);
		why(storm ? MAYBE : NO, ENOMEM);
		/* of an instance made while the CPU was away */
		why(storm ? MAYBE : NO, ENODEV);
	}
	bad = judged(a);
	if (bad)
		return bad;
	if (!a->err && !storm && !o->flags && !a->ret != !a->value)
		return complain("read() gave %ld bytes of a buffer of %ld events", a->ret, a->value);
	if (o->flags && f->kind != TRACE && f->kind != LIVE)
		unseen(f);
	if (f->kind == RAW && o->len != (long)subbuf_size(f->inst))
		f->spare = true;
	return NULL;
}

/* ---- the events of the snapshot ---- */

/* Most of the time there has to be something in it. */
static bool choose_snapshot_raw(struct order *o)
{
	const struct account *acc;

	o->cpu = below(nr_cpus);
	if (!any_instance(o))
		return false;
	tell_sizes(o);
	acc = &shared->snap[o->inst][o->cpu];
	return storm || acc->tally.next != acc->seq || one_in(20);
}

static void perform_snapshot_raw(const struct order *o, struct answer *a)
{
	struct account *acc = &shared->snap[o->inst][o->cpu];
	int fd = cpu_file(dir_of(o->inst), o->cpu, "snapshot_raw", O_RDONLY | O_NONBLOCK);

	if (fd < 0) {
		note_result(a, fd);
		return;
	}
	note(a, read(fd, page, o->to));
	close(fd);
	if (a->ret <= 0 || storm)
		return;
	if (!subbuf_sane(page, a->ret))
		strcpy(a->complaint, "snapshot_raw gave damaged events");
	tally_page(tally_begin(acc), page, a->ret);
	tally_check(acc, a);
}

static const char *judge_snapshot_raw(const struct order *o, const struct answer *a)
{
	const struct instance *in = &instances[o->inst];
	const struct account *acc = &shared->snap[o->inst][o->cpu];
	const char *bad;

	judge_begin();
	why_gone(o);
	why(unless_storm(is(in->tracer >= TRACER_LATENCY)), EBUSY);
	why(unless_storm(is(!acc->seq && !acc->vague)), EAGAIN);
	why(MAYBE, EAGAIN);	/* who has read it all? */
	bad = judged(a);
	if (!bad && !a->err && !a->ret && !storm)
		return "snapshot_raw has ended";
	return bad;
}

/* ---- splice, tee, vmsplice, pipes ---- */

static bool choose_pipe(struct order *o)
{
	o->pipe = below(PIPES);
	o->value = below(3);
	return true;
}

/* Made, emptied or closed with what is in it. */
static void perform_pipe(const struct order *o, struct answer *a)
{
	int ends[2];

	if (fcntl(pipe_end(o->pipe, 0), F_GETFD) < 0) {
		note(a, pipe2(ends, O_NONBLOCK));
		dup2(ends[0], pipe_end(o->pipe, 0));
		dup2(ends[1], pipe_end(o->pipe, 1));
		close(ends[0]);
		close(ends[1]);
	} else if (o->value) {
		while (read(pipe_end(o->pipe, 0), page, sizeof(page)) > 0)
			a->value++;
	} else {
		close(pipe_end(o->pipe, 0));
		close(pipe_end(o->pipe, 1));
	}
}

/* READ-11 */
static const char *judge_pipe(const struct order *o, const struct answer *a)
{
	bool *open = &worker_of(o)->pipes[o->pipe];

	*open = !*open || o->value;
	judge_begin();
	return judged(a);
}

static bool choose_splice(struct order *o)
{
	if (!a_raw_file(o))
		return false;
	o->pipe = below(PIPES);
	o->value = piped;
	tell_sizes(o);
	o->len = subbuf_size(o->inst) * (1 + below(3));
	if (one_in(10))
		o->len = 1 + below(2 * subbuf_size(o->inst));
	return true;
}

static void empty_pipe(const struct order *o, int fd, struct answer *a)
{
	size_t size = o->to, done = 0;
	struct tally *t = NULL;
	ssize_t len;

	while ((len = read(fd, page + done, size - done)) > 0) {
		done += len;
		if (done < size)
			continue;
		done = 0;
		if (!subbuf_sane(page, size) && !storm)
			strcpy(a->complaint, "splice() gave damaged events");
		if (storm)
			continue;
		t = tally_begin(live_of(o));
		tally_page(t, page, size);
	}
	if (t)
		tally_check(live_of(o), a);
}

/*
 * Full sub-buffers are not held back: if fewer came than were asked for, what is
 * left is on the one that is still written.
 */
static void check_delivered(const struct order *o, struct answer *a)
{
	long size = o->to, asked = o->len / size, came = a->err ? 0 : a->ret / size;
	long left = stat_entries(o->inst, o->cpu);

	if (came < asked && fit_one_subbuf(o->inst, o->cpu, left, size) == NO)
		snprintf(a->complaint, sizeof(a->complaint),
			 "splice() gave %ld of %ld sub-buffers, though %ld events are left", came,
			 asked, left);
}

/* What is spliced is kept in the worker's pipe as well, by tee(). */
static void perform_splice(const struct order *o, struct answer *a)
{
	int ends[2];

	a->value = stat_entries(o->inst, o->cpu);
	if (pipe2(ends, O_NONBLOCK)) {
		note(a, -1);
		return;
	}
	/* A pipe of 16 pages has no room for larger sub-buffers. */
	fcntl(ends[1], F_SETPIPE_SZ, 4 * LARGEST);
	if (wrong == 5)
		note_result(a, -EAGAIN);
	else
		note(a, splice(fd_of(o), NULL, ends[1], NULL, o->len, SPLICE_F_NONBLOCK));
	check_delivered(o, a);
	if (a->ret > 0) {
		if (o->value)
			tee(ends[0], pipe_end(o->pipe, 1), a->ret, SPLICE_F_NONBLOCK);
		empty_pipe(o, ends[0], a);
	}
	close(ends[0]);
	close(ends[1]);
}

/* READ-15, SUBBUF-13 */
static const char *judge_splice(const struct order *o, const struct answer *a)
{
	const struct file *f = file_at(o);
	const char *bad;

	judge_begin();
	why(unless_storm(is(o->len < (long)subbuf_size(f->inst))), EINVAL);
	why(unless_storm(is(!a->value)), EAGAIN);
	why(MAYBE, EAGAIN);	/* the only one is not full, see check_delivered() */
	if (storm) {
		why(MAYBE, ENOMEM);
		why(MAYBE, ENODEV);
	}
	bad = judged(a);
	if (!bad && !a->err && !storm && a->ret % subbuf_size(f->inst))
		return "splice() gave part of a sub-buffer";
	return bad;
}

static bool choose_vmsplice(struct order *o)
{
	struct area *area = any_area(worker_of(o));

	if (!area)
		return false;
	o->pipe = below(PIPES);
	o->at = area->start + below(area->end - area->start);
	o->len = 1 + below(area->end - o->at < 8 ? area->end - o->at : 8);
	return true;
}

static void perform_vmsplice(const struct order *o, struct answer *a)
{
	struct iovec iov = { (void *)(ARENA + o->at * PAGE), o->len * PAGE };

	note(a, vmsplice(pipe_end(o->pipe, 1), &iov, 1, SPLICE_F_NONBLOCK));
}

static const char *judge_vmsplice(const struct order *o, const struct answer *a)
{
	struct worker *w = worker_of(o);

	judge_begin();
	why(is(!w->pipes[o->pipe]), EBADF);
	why(is(!(area_of(w, o->at)->prot & PROT_READ)), EFAULT);
	why(MAYBE, EAGAIN);
	return judged(a);
}

/* ---- the mapping ---- */

static bool choose_touch(struct order *o)
{
	struct area *area = any_area(worker_of(o));

	if (!area)
		return false;
	o->at = area->start;
	o->len = area->end - area->start;
	return true;
}

static void perform_touch(const struct order *o, struct answer *a)
{
	a->value = touch(arena(o->at), o->len * PAGE);
	a->ret = 0;
}

static const char *judge_touch(const struct order *o, const struct answer *a)
{
	const struct area *area = area_of(worker_of(o), o->at);
	int expected = area->prot & PROT_READ ? 0 : SIGSEGV;

	if (a->value != expected)
		return complain("a look at the mapping ended with signal %ld, not %d", a->value,
				expected);
	return NULL;
}

/* An area with all of a buffer, and a file for it: @with_file says if so. */
static struct area *whole_buffer(struct order *o, bool with_file)
{
	struct worker *w = worker_of(o);
	struct area *area;
	const struct file *f;
	int i;

	for (area = w->areas; area < w->areas + w->nr_areas; area++) {
		f = &files[area->file];
		if (area->off || !(area->prot & PROT_READ) ||
		    area->end - area->start != (long)map_pages(f->inst, f->cpu))
			continue;
		o->inst = f->inst;
		o->cpu = f->cpu;
		o->at = area->start;
		o->len = area->end - area->start;
		for (i = 0; i < FDS; i++) {
			o->fd = i;
			if (file_at(o) && file_at(o)->kind == RAW && file_at(o)->inst == o->inst &&
			    file_at(o)->cpu == o->cpu && file_at(o)->flags & O_NONBLOCK)
				return area;
		}
		if (!with_file)
			return area;
	}
	return NULL;
}

static bool choose_consume(struct order *o)
{
	o->value = one_in(3) ? 1000 : 1 + below(4);
	if (!whole_buffer(o, true))
		return false;
	tell_sizes(o);
	return true;
}

/* The numbers of the meta page are those of the stats file. */
static void compare_meta(const struct order *o, const struct mapped_buffer *mb, struct answer *a)
{
	const struct trace_buffer_meta *meta = mb->meta;
	long left = stat_entries(o->inst, o->cpu);

	if ((long)(meta->entries - meta->overrun - meta->read) != left)
		snprintf(a->complaint, sizeof(a->complaint),
			 "meta page: entries %llu overrun %llu read %llu, and %ld in the buffer",
			 (unsigned long long)meta->entries, (unsigned long long)meta->overrun,
			 (unsigned long long)meta->read, left);
	if (meta->nr_subbufs != o->to_len || meta->subbuf_size != o->to)
		snprintf(a->complaint, sizeof(a->complaint), "meta page: %u sub-buffers of %u",
			 meta->nr_subbufs, meta->subbuf_size);
	if (left && o->value == 1000)
		snprintf(a->complaint, sizeof(a->complaint),
			 "all was fetched, and %ld events are in the buffer", left);
}

static void perform_consume(const struct order *o, struct answer *a)
{
	struct mapped_buffer mb = { fd_of(o), arena(o->at), o->len * PAGE };
	struct tally *t = NULL;
	long i, ret = 1;

	if (storm) {
		note(a, ioctl(mb.fd, TRACE_MMAP_IOCTL_GET_READER));
		return;
	}
	for (i = 0; i < o->value && ret > 0; i++) {
		t = tally_begin(live_of(o));
		ret = tally_get_reader(t, &mb);
	}
	errno = ret < 0 ? -ret : 0;
	note(a, ret < 0 ? -1 : i);
	tally_check(live_of(o), a);
	if (!a->err && !shared->live[o->inst][o->cpu].vague)
		compare_meta(o, &mb, a);
}

/* LOSS-2 */
static const char *judge_consume(const struct order *o, const struct answer *a)
{
	(void)o;
	judge_begin();
	return judged(a);
}

/* Every sub-buffer there is: nothing in it but events. */
static bool choose_parse(struct order *o)
{
	return whole_buffer(o, false);
}

static void perform_parse(const struct order *o, struct answer *a)
{
	const struct trace_buffer_meta *meta = arena(o->at);
	const unsigned char *subbuf = (const void *)meta;
	unsigned int i, nr = meta->nr_subbufs;
	size_t size = meta->subbuf_size;

	if (storm)
		return;
	if (meta->meta_page_size != size || (nr + 1) * size != o->len * PAGE) {
		snprintf(a->complaint, sizeof(a->complaint), "meta page: %u sub-buffers of %zu", nr,
			 size);
		return;
	}
	for (i = 0; i < nr; i++) {
		subbuf += size;
		if (!subbuf_sane(subbuf, size))
			snprintf(a->complaint, sizeof(a->complaint), "sub-buffer %u is damaged", i);
	}
}

/* A latency tracer may be writing. */
static const char *judge_parse(const struct order *o, const struct answer *a)
{
	(void)o;
	judge_begin();
	return judged(a);
}

/* ---- the account ---- */

static bool choose_stats(struct order *o)
{
	o->inst = below(INSTANCES);
	o->cpu = below(nr_cpus);
	return instances[o->inst].exists;
}

static void perform_stats(const struct order *o, struct answer *a)
{
	a->value = stat_sum(o->inst, o->cpu);
}

static const char *judge_stats(const struct order *o, const struct answer *a)
{
	const struct account *acc = &shared->live[o->inst][o->cpu];

	if (!storm && !acc->vague && a->value != (long)acc->seq)
		return complain("%u events were written, the buffer accounts for %ld", acc->seq,
				a->value);
	return NULL;
}

const struct operation data_operations[] = {
	{ "write", 50, false, false, choose_write, perform_write, judge_write },
	{ "mark", 4, false, false, choose_mark, perform_mark, judge_mark },
	{ "read", 14, false, false, choose_read, perform_read, judge_read },
	{ "snapshot_raw", 6, false, false, choose_snapshot_raw, perform_snapshot_raw,
	  judge_snapshot_raw },
	{ "splice", 12, false, false, choose_splice, perform_splice, judge_splice },
	{ "pipe", 12, false, false, choose_pipe, perform_pipe, judge_pipe },
	{ "vmsplice", 10, false, false, choose_vmsplice, perform_vmsplice, judge_vmsplice },
	{ "touch", 14, false, false, choose_touch, perform_touch, judge_touch },
	{ "consume", 24, false, false, choose_consume, perform_consume, judge_consume },
	{ "parse", 8, false, false, choose_parse, perform_parse, judge_parse },
	{ "stats", 14, false, false, choose_stats, perform_stats, judge_stats },
	{ NULL, 0, false, false, NULL, NULL, NULL },
};

// SPDX-License-Identifier: LGPL-2.1
/*
 * Any bytes as sub-buffers: subbuf.h, tracemap_cpu_open_file() with all that it
 * opens, and the merge. The sanitizers see what is read outside of what was
 * given; what the calls promise is checked here.
 *
 * The input: four bytes choose the layout and how it is cut, the rest is what
 * the file has.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracemap.h"

#define promise(cond)	do { if (!(cond)) abort(); } while (0)

enum {
	HEAD		= 4,
	BIG_ENDIAN_BIT	= 1,
	LONG_8_BIT	= 2,
	MERGE_BIT	= 4,
	RECORDS_BIT	= 8,
	MAX_FILES	= 3,
};

struct input {
	struct subbuf_format format;
	uint8_t how;
	uint8_t cut;
	const uint8_t *bytes;
	size_t size;
};

static uint64_t sink;

static void use(const void *data, uint32_t size)
{
	const uint8_t *p = data;
	uint32_t i;

	for (i = 0; i < size; i++)
		sink += p[i];
}

/* ---- The parser; a sub-buffer in memory that ends where it ends ---- */

static void parse(const struct subbuf_format *f, const void *subbuf, size_t cut)
{
	struct subbuf_iter it = subbuf_begin(f, subbuf);
	struct subbuf_record rec;
	size_t pos = 0;

	subbuf_extend(&it, cut);
	do {
		while (subbuf_next(&it, &rec)) {
			promise(subbuf_pos(&it) > pos);
			pos = subbuf_pos(&it);
			promise(rec.ts == it.ts);
			use(rec.data, rec.size);
		}
		promise(subbuf_pos(&it) <= f->subbuf_size - f->data_offset);
		cut = cut * 2 + 4;
		subbuf_extend(&it, cut);
	} while (!it.corrupt && cut < f->subbuf_size);
	sink += subbuf_missed(f, subbuf);

	it = subbuf_resume(f, subbuf, 0, 0);
	subbuf_extend(&it, subbuf_committed(f, subbuf));
	subbuf_skip(&it, pos / 2);
	while (subbuf_next(&it, &rec))
		use(rec.data, rec.size);
}

static void parse_each(const struct input *in)
{
	size_t size = in->format.subbuf_size, at;
	void *subbuf = malloc(size);

	for (at = 0; at < in->size; at += size) {
		size_t n = in->size - at < size ? in->size - at : size;

		memset(subbuf, 0, size);
		memcpy(subbuf, in->bytes + at, n);
		parse(&in->format, subbuf, in->cut);
	}
	free(subbuf);
}

/* ---- The handle ---- */

static bool good_errno(int ret)
{
	return ret == -ENODATA || ret == -EBADMSG;
}

static void read_records(struct tracemap_cpu *cpu)
{
	struct tracemap_record rec;
	int ret;

	do {
		ret = tracemap_cpu_next(cpu, &rec);
		promise(ret == 1 || good_errno(ret));
		if (ret == 1)
			use(rec.data, rec.size);
	} while (ret != -ENODATA);
	promise(tracemap_cpu_next(cpu, &rec) == -ENODATA);
}

static void read_batches(struct tracemap_cpu *cpu, unsigned int most)
{
	struct tracemap_batch *b;
	struct subbuf_record r;
	int ret;

	while ((ret = tracemap_cpu_fetch(cpu, &b)) != -ENODATA) {
		unsigned int i;

		promise(ret == 1 || ret == -EBADMSG);
		for (i = 0; ret == 1 && i <= most && tracemap_batch_next(b, &r); i++)
			use(r.data, r.size);
	}
}

static void merge_all(struct tracemap_cpu **cpus, unsigned int nr, unsigned int most)
{
	struct tracemap_merge *m;
	struct tracemap_record rec;
	uint64_t last = 0;
	unsigned int i;
	int ret;

	promise(!tracemap_merge_new(&m, NULL));
	for (i = 0; i < nr; i++)
		promise(!tracemap_merge_add_cpu(m, cpus[i]));
	/* Part of it, sometimes: the rest goes back to the CPUs. */
	for (i = 0; most < 128 || i < most; i++) {
		ret = tracemap_merge_next(m, &rec);
		if (ret == -ENODATA)
			break;
		promise(ret == 1 || ret == -EBADMSG);
		if (ret < 0)
			continue;
		promise(rec.ts >= last == !(rec.flags & TRACEMAP_LATE));
		if (rec.ts > last)
			last = rec.ts;
		use(rec.data, rec.size);
	}
	tracemap_merge_free(m);
}

static struct tracemap_cpu *open_part(const struct input *in, int number, size_t from, size_t to)
{
	struct tracemap_cpu *cpu;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	promise(fd >= 0);
	promise(write(fd, in->bytes + from, to - from) == (ssize_t)(to - from));
	promise(lseek(fd, 0, SEEK_SET) == 0);
	promise(!tracemap_cpu_open_file(&cpu, fd, number, &in->format));
	return cpu;
}

static void read_files(const struct input *in)
{
	struct tracemap_cpu *cpus[MAX_FILES];
	unsigned int i, nr = in->how & MERGE_BIT ? MAX_FILES : 1;
	struct tracemap_raw raw;

	for (i = 0; i < nr; i++)
		cpus[i] = open_part(in, i, in->size * i / nr, in->size * (i + 1) / nr);
	if (in->how & MERGE_BIT)
		merge_all(cpus, nr, in->cut);
	for (i = 0; i < nr; i++) {
		if (in->how & RECORDS_BIT)
			read_records(cpus[i]);
		else
			read_batches(cpus[i], in->cut);
		promise(!tracemap_cpu_raw(cpus[i], &raw));
		tracemap_cpu_close(cpus[i]);
		close(raw.fd);
	}
}

/* A layout that a kernel could have, of small sub-buffers: more of them fit. */
static void choose_layout(struct input *in, const uint8_t *head)
{
	uint32_t commit_size = head[0] & LONG_8_BIT ? 8 : 4;

	in->how = head[0];
	in->cut = head[1];
	in->format.big_endian = head[0] & BIG_ENDIAN_BIT;
	in->format.commit_offset = 8;
	in->format.commit_size = commit_size;
	in->format.data_offset = 8 + commit_size;
	in->format.subbuf_size = in->format.data_offset + 4 * (1 + (head[2] | (head[3] & 3) << 8));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in;

	if (size < HEAD)
		return 0;
	choose_layout(&in, data);
	in.bytes = data + HEAD;
	in.size = size - HEAD;
	parse_each(&in);
	read_files(&in);
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1
/*
 * Compress a trace.dat file, version 7, by zstd.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "trace_dat_zstd.h"

/* How much of the data is compressed together, but at least a page */
#define TOGETHER	(256U << 10)

/* The watch is called each time this much has been compressed. */
#define WATCH		(64U << 20)

/**
 * struct writer - the file being written
 * @at: its length so far
 * @in: a chunk
 * @out: the same, compressed
 * @room: bytes of @out
 * @strings: the section with the names of all sections
 * @options: the options that say where the sections are
 * @regions: where the data of each CPU are
 * @done: bytes of data that are compressed
 * @told: how many of these were reported to the watch
 */
struct writer {
	const struct trace_dat *dat;
	const struct trace_head *head;
	const struct trace_dat_watch *watch;
	ZSTD_CCtx *zstd;
	int fd;
	uint64_t at;
	size_t chunk, room;
	char *in, *out;
	struct bytes strings, options;
	struct trace_region *regions;
	uint64_t done, told;
};

/* ---- Bytes to the file ---- */

static int append(struct writer *w, const void *data, size_t size)
{
	int ret = trace_dat_write_at(w->fd, data, size, w->at);

	w->at += size;
	return ret;
}

static int append_bytes(struct writer *w, struct bytes *b)
{
	int ret = b->error ? b->error : append(w, b->data, b->size);

	bytes_free(b);
	return ret;
}

/* Append compressed data, after their two sizes. */
static int append_compressed(struct writer *w, const void *data, size_t size, char *out,
			     size_t room)
{
	size_t n = ZSTD_compress2(w->zstd, out, room, data, size);
	const uint32_t sizes[] = { n, size };

	if (ZSTD_isError(n))
		return -ENOMEM;
	return append(w, sizes, sizeof(sizes)) ?: append(w, out, n);
}

/* ---- Sections ---- */

static void add_section(struct writer *w, struct bytes *to, unsigned int id, unsigned int flags,
			uint64_t size, const char *name)
{
	bytes_add_u16(to, id);
	bytes_add_u16(to, flags);
	bytes_add_u32(to, w->strings.size);
	bytes_add_u64(to, size);
	bytes_add_string(&w->strings, name);
}

static void add_option(struct bytes *to, unsigned int id, const void *data, size_t size)
{
	bytes_add_u16(to, id);
	bytes_add_u32(to, size);
	bytes_add(to, data, size);
}

static int append_part(struct writer *w, enum trace_head_part part, const char *name)
{
	struct bytes plain = { .error = 0 }, section = { .error = 0 };
	const uint64_t begin = w->at;
	uint64_t size;
	char *out;
	size_t room;
	int ret;

	trace_head_write_part(w->head, part, &plain);
	room = ZSTD_compressBound(plain.size);
	out = malloc(room);
	ret = !out || plain.error ? -ENOMEM : 0;
	add_section(w, &section, part, SECTION_COMPRESSED, 0, name);
	ret = ret ?: append_bytes(w, &section) ?:
		append_compressed(w, plain.data, plain.size, out, room);
	/* The size of the section is the last part of its header. */
	size = w->at - begin - 16;
	ret = ret ?: trace_dat_write_at(w->fd, &size, sizeof(size), begin + 8);
	add_option(&w->options, part, &begin, sizeof(begin));
	bytes_free(&section);
	bytes_free(&plain);
	free(out);
	return ret;
}

static int append_parts(struct writer *w)
{
	static const char * const names[] = {
		"headers", "ftrace events", "event formats", "kallsyms", "trace_printk",
		"command lines",
	};
	int ret = 0;

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]) && !ret; i++)
		ret = append_part(w, TRACE_HEAD_INFO + i, names[i]);
	return ret;
}

/* ---- Data ---- */

static bool may_go_on(struct writer *w)
{
	if (!w->watch || (w->done && w->done - w->told < WATCH))
		return true;
	w->told = w->done;
	return w->watch->go_on(w->watch->arg, w->done, trace_dat_size(w->dat));
}

/* Append the data of one CPU: the number of chunks, then the chunks. */
static int append_cpu(struct writer *w, unsigned int cpu)
{
	uint64_t left = trace_dat_cpu_size(w->dat, cpu);
	const uint32_t chunks = (left + w->chunk - 1) / w->chunk;
	int ret = 0;

	w->regions[cpu].offset = w->at;
	if (left)
		ret = append(w, &chunks, sizeof(chunks));
	for (uint64_t at = 0; left && !ret; ) {
		size_t size = left < w->chunk ? left : w->chunk;

		if (!may_go_on(w))
			return -EINTR;
		ret = trace_dat_read(w->dat, cpu, at, w->in, size) ?:
			append_compressed(w, w->in, size, w->out, w->room);
		at += size;
		left -= size;
		w->done += size;
	}
	w->regions[cpu].size = w->at - w->regions[cpu].offset;
	return ret;
}

/* Add the option that says where the data are. */
static void add_buffer(struct writer *w, uint64_t begin)
{
	struct bytes b = { .error = 0 };
	unsigned int nr = trace_head_nr_cpus(w->head);
	char clock[32];

	trace_head_clock(w->head, clock, sizeof(clock));
	clock[strcspn(clock, "]")] = '\0';
	bytes_add_u64(&b, begin);
	bytes_add_string(&b, "");
	bytes_add_string(&b, clock + 1);
	bytes_add_u32(&b, trace_head_page_size(w->head));
	bytes_add_u32(&b, nr);
	for (unsigned int i = 0; i < nr; i++) {
		bytes_add_u32(&b, i);
		bytes_add_u64(&b, w->regions[i].offset);
		bytes_add_u64(&b, w->regions[i].size);
	}
	add_option(&w->options, OPTION_BUFFER, b.data, b.size);
	if (b.error)
		w->options.error = b.error;
	bytes_free(&b);
}

static int append_buffer(struct writer *w)
{
	struct bytes section = { .error = 0 };
	const uint64_t begin = w->at;
	uint64_t size;
	int ret;

	add_section(w, &section, SECTION_BUFFER, SECTION_COMPRESSED, 0, "buffer flyrecord");
	ret = append_bytes(w, &section);
	for (unsigned int i = 0; i < trace_head_nr_cpus(w->head) && !ret; i++)
		ret = append_cpu(w, i);
	size = w->at - begin - 16;
	add_buffer(w, begin);
	return ret ?: trace_dat_write_at(w->fd, &size, sizeof(size), begin + 8);
}

/* ---- All of it ---- */

/* Returns where to write the place of the options, or a negative errno. */
static int64_t append_begin(struct writer *w)
{
	struct bytes b = { .error = 0 };
	int64_t where;
	int ret;

	trace_head_write_part(w->head, TRACE_HEAD_BEGIN, &b);
	bytes_add_string(&b, "zstd");
	bytes_add_string(&b, ZSTD_versionString());
	where = b.size;
	bytes_add_u64(&b, 0);
	ret = append_bytes(w, &b);
	return ret ? ret : where;
}

static int append_options(struct writer *w)
{
	struct bytes section = { .error = 0 };

	add_section(w, &section, SECTION_OPTIONS, 0, w->options.size, "options");
	return append_bytes(w, &section) ?: append(w, w->options.data, w->options.size);
}

/* The last of the names is that of this section. */
static int append_strings(struct writer *w)
{
	static const char name[] = "strings";
	struct bytes section = { .error = 0 };

	add_section(w, &section, SECTION_STRINGS, 0, w->strings.size + sizeof(name), name);
	if (w->strings.error)
		section.error = w->strings.error;
	return append_bytes(w, &section) ?: append(w, w->strings.data, w->strings.size);
}

static int append_end(struct writer *w, uint64_t where)
{
	const uint64_t begin = w->at, none = 0;
	int ret;

	trace_head_write_part(w->head, TRACE_HEAD_OPTIONS, &w->options);
	add_option(&w->options, OPTION_DONE, &none, sizeof(none));
	if (w->options.error)
		return w->options.error;
	ret = append_options(w) ?: append_strings(w);
	return ret ?: trace_dat_write_at(w->fd, &begin, sizeof(begin), where);
}

static int write_all(struct writer *w)
{
	int64_t where = append_begin(w);

	if (where < 0)
		return where;
	return append_parts(w) ?: append_buffer(w) ?: append_end(w, where);
}

int trace_dat_zstd(const struct trace_dat *dat, int fd, const struct trace_dat_watch *watch,
		   uint64_t *size)
{
	struct writer w = { .dat = dat, .head = trace_dat_head(dat), .watch = watch, .fd = fd };
	size_t page = trace_head_page_size(w.head);
	int ret = -ENOMEM;

	w.chunk = page < TOGETHER ? TOGETHER / page * page : page;
	w.room = ZSTD_compressBound(w.chunk);
	w.zstd = ZSTD_createCCtx();
	w.in = malloc(w.chunk);
	w.out = malloc(w.room);
	w.regions = calloc(trace_head_nr_cpus(w.head), sizeof(*w.regions));
	if (w.zstd && w.in && w.out && w.regions)
		ret = write_all(&w);
	*size = w.at;
	ZSTD_freeCCtx(w.zstd);
	free(w.in);
	free(w.out);
	free(w.regions);
	bytes_free(&w.strings);
	bytes_free(&w.options);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * A trace.dat of version 7 whose data are compressed. The copy begins as the file does, and has
 * the data behind its end. The options that say where the data are keep their size, so they
 * are changed where they are.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "advice.h"
#include "report_file.h"
#include "stop.h"
#include "temp_file.h"
#include "trace_dat_zstd.h"
#include "trace_head.h"

#define CHUNK_MAX	(16U << 20)	/* what is compressed together; trace-cmd has 10 pages */
#define BUFFER_MAX	(1U << 20)	/* an option with the CPUs of a buffer */
#define SECTIONS_MAX	1000		/* of options; a list that goes round ends */
#define PAGE_SIZE_MAX	(1U << 20)

struct section {
	uint16_t id, flags;
	uint32_t name;
	uint64_t size;
};

struct option {
	uint16_t id;
	uint32_t size;
} __attribute__((packed));

/* Where the data of a CPU are, in the option of a buffer */
struct place {
	uint32_t cpu;
	uint64_t offset, size;
} __attribute__((packed));

/* What is in front of the places */
struct layout {
	uint32_t page_size, nr_cpus;
};

/* The number of bytes of a chunk, as it is in the file and unpacked */
struct chunk {
	uint32_t packed, size;
};

/**
 * struct unpack - a copy that is made
 * @fd: the file
 * @copy: the descriptor of the copy, or -1
 * @end: how many bytes the copy has
 * @damaged: whether data are missing in it
 */
struct unpack {
	int fd;
	int copy;
	uint64_t end;
	bool damaged;
	ZSTD_DCtx *zstd;
	char *in, *out;
};

static bool get(const struct unpack *u, void *to, size_t size, uint64_t at)
{
	return pread(u->fd, to, size, at) == (ssize_t)size;
}

static int put(const struct unpack *u, const void *data, size_t size, uint64_t at)
{
	int ret = trace_dat_write_at(u->copy, data, size, at);

	return ret ? report_cannot_copy(ret) : 0;
}

/* ---- Data ---- */

/* What cannot be unpacked is a hole in the copy: pages without events. */
static int unpack_chunk(struct unpack *u, const struct chunk *chunk, uint64_t at)
{
	int ret = 0;

	if (get(u, u->in, chunk->packed, at) &&
	    ZSTD_decompressDCtx(u->zstd, u->out, chunk->size, u->in, chunk->packed) == chunk->size)
		ret = put(u, u->out, chunk->size, u->end);
	else
		u->damaged = true;
	u->end += chunk->size;
	return ret;
}

/*
 * Behind sizes that cannot be true no chunk can be found. trace-cmd does not count the number
 * of the chunks, which is in front of them, among the bytes of the CPU.
 */
static int unpack_chunks(struct unpack *u, uint64_t at, uint64_t size)
{
	const uint64_t end = at + size + sizeof(uint32_t);
	struct chunk chunk;
	uint32_t left;
	int ret = 0;

	if (!get(u, &left, sizeof(left), at))
		left = 1;
	for (at += sizeof(left); left && !ret && !stop_signals(); left--) {
		if (at >= end || !get(u, &chunk, sizeof(chunk), at) || chunk.packed > CHUNK_MAX ||
		    chunk.size > CHUNK_MAX)
			break;
		ret = unpack_chunk(u, &chunk, at + sizeof(chunk));
		at += sizeof(chunk) + chunk.packed;
	}
	u->damaged |= left && !stop_signals();
	return ret;
}

/* Append the data of a CPU to the copy, and note where they are. */
static int unpack_cpu(struct unpack *u, struct place *place, uint32_t page_size)
{
	const struct place from = *place;
	int ret;

	u->end += page_size - 1;
	u->end -= u->end % page_size;
	place->offset = u->end;
	ret = from.size ? unpack_chunks(u, from.offset, from.size) : 0;
	place->size = u->end - place->offset;
	return ret;
}

/* ---- Buffers ---- */

/* Returns the descriptor of a copy of the file as it is, or a negative errno, said. */
static int begin_copy(struct unpack *u)
{
	struct stat st;

	if (fstat(u->fd, &st))
		return report_cannot_copy(-errno);
	u->end = st.st_size;
	u->copy = report_copy(u->fd, NULL, 0, 0);
	return u->copy;
}

/* Returns where the layout is in the option: behind an offset, a name and a clock. */
static uint32_t layout_at(const char *option, uint32_t size)
{
	uint32_t at = sizeof(uint64_t);

	for (int strings = 2; strings; strings--)
		at += at < size ? strnlen(option + at, size - at) + 1 : 1;
	return at;
}

static int unpack_cpus(struct unpack *u, char *option, uint32_t size)
{
	uint32_t at = layout_at(option, size);
	struct layout layout;
	int ret = 0;

	if (size < at + sizeof(layout))
		return 0;
	memcpy(&layout, option + at, sizeof(layout));
	at += sizeof(layout);
	if (!layout.page_size || layout.page_size > PAGE_SIZE_MAX ||
	    layout.nr_cpus > (size - at) / sizeof(struct place))
		return 0;
	for (; layout.nr_cpus && !ret; layout.nr_cpus--, at += sizeof(struct place))
		ret = unpack_cpu(u, (struct place *)(option + at), layout.page_size);
	return ret;
}

/* A buffer whose data are as they were recorded, or that makes no sense, stays as it is. */
static int unpack_buffer(struct unpack *u, char *option, uint32_t size, uint64_t at)
{
	struct section section;
	uint64_t offset;
	int ret;

	memcpy(&offset, option, sizeof(offset));
	if (!get(u, &section, sizeof(section), offset) || section.id != SECTION_BUFFER ||
	    !(section.flags & SECTION_COMPRESSED))
		return 0;
	section.flags &= ~SECTION_COMPRESSED;
	if (u->copy < 0 && begin_copy(u) < 0)
		return u->copy;
	ret = unpack_cpus(u, option, size);
	if (!ret)
		ret = put(u, &section, sizeof(section), offset);
	return ret ? ret : put(u, option, size, at);
}

static int take_buffer(struct unpack *u, uint32_t size, uint64_t at)
{
	char *option = size >= sizeof(uint64_t) && size <= BUFFER_MAX ? malloc(size) : NULL;
	int ret = 0;

	if (option && get(u, option, size, at))
		ret = unpack_buffer(u, option, size, at);
	free(option);
	return ret;
}

/* ---- Options ---- */

/* Returns where the first options are; 0: it is no such file, or of the other byte order. */
static uint64_t find_options(const struct unpack *u)
{
	static const char zstd[] = "zstd";
	char head[256] = "";
	size_t at = TRACE_HEAD_MAGIC_SIZE + sizeof("7") + 2 + sizeof(uint32_t);
	const int is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	uint64_t options;

	if (pread(u->fd, head, sizeof(head) - 1, 0) < 0 || !trace_head_magic(head) ||
	    strcmp(head + TRACE_HEAD_MAGIC_SIZE, "7") ||
	    head[TRACE_HEAD_MAGIC_SIZE + sizeof("7")] != is_big ||
	    strcmp(head + at, zstd))
		return 0;
	at += sizeof(zstd);
	at += strlen(head + at) + 1;
	if (at + sizeof(options) > sizeof(head))
		return 0;
	memcpy(&options, head + at, sizeof(options));
	return options;
}

/* Returns whether there are further options, and sets @at to where they are. */
static bool take_options(struct unpack *u, uint64_t *at, int *ret)
{
	struct section section;
	struct option option;
	uint64_t here = *at;

	if (!get(u, &section, sizeof(section), here) || section.flags & SECTION_COMPRESSED)
		return false;
	here += sizeof(section);
	while (!*ret && get(u, &option, sizeof(option), here)) {
		here += sizeof(option);
		if (option.id == OPTION_DONE)
			return get(u, at, sizeof(*at), here) && *at;
		if (option.id == OPTION_BUFFER)
			*ret = take_buffer(u, option.size, here);
		here += option.size;
	}
	return false;
}

static int unpack_all(struct unpack *u, uint64_t options)
{
	int ret = 0;

	u->zstd = ZSTD_createDCtx();
	u->in = malloc(CHUNK_MAX);
	u->out = malloc(CHUNK_MAX);
	if (!u->zstd || !u->in || !u->out)
		return report_cannot_copy(-ENOMEM);
	for (int n = 0; n < SECTIONS_MAX && take_options(u, &options, &ret); n++)
		;
	/* The last of the data may be a hole. */
	if (!ret && u->copy >= 0 && ftruncate(u->copy, u->end))
		ret = report_cannot_copy(-errno);
	return ret;
}

int report_unpack(FILE *file, const char *name, int *copy)
{
	struct unpack u = { .fd = file ? fileno(file) : -1, .copy = -1 };
	uint64_t options = file ? find_options(&u) : 0;
	int ret = options ? unpack_all(&u, options) : 0;

	ZSTD_freeDCtx(u.zstd);
	free(u.in);
	free(u.out);
	if (u.copy >= 0)
		*copy = u.copy;
	if (ret || !u.damaged)
		return ret;
	say("%s: its compressed data are damaged: events are missing; copy it once more from where it was recorded",
	    name);
	return 1;
}

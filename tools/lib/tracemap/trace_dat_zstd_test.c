// SPDX-License-Identifier: LGPL-2.1
/*
 * Test trace_dat_zstd.h: a compressed file has to contain, section by section and chunk by
 * chunk, what the plain file contains. (tests/record.host has libtracecmd read such files.)
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>

#include "check.h"
#include "trace_dat_zstd.h"

/* CPU 1 has nothing, CPU 0 less than a chunk, and the last chunk of CPU 2 is no whole one. */
enum { PAGE = 4096, CPUS = 3 };

static const unsigned int pages[CPUS] = { 3, 0, 1000 };

static char dir[200];
static struct trace_head *head;
static struct trace_dat *dat;

static const char * const files[] = {
	"events/header_page", "events/header_event", "events/ftrace/print/format", "set_event",
	"trace_clock", "saved_cmdlines", "printk_formats", "current_tracer",
	"per_cpu/cpu0/stats", "per_cpu/cpu2/stats",
};

/* Pages that are not all alike, and can be compressed. */
static void fill(unsigned char *page, unsigned int cpu, unsigned int n)
{
	memset(page, 0, PAGE);
	for (unsigned int i = 16; i < PAGE; i += 16)
		page[i] = (cpu + 1) * (n + i) * 2654435761U >> 24;
}

static void write_pages(void)
{
	static const struct subbuf_format format = {
		.subbuf_size = PAGE, .commit_offset = 8, .commit_size = 8, .data_offset = 16,
	};
	static const unsigned char zeros[PAGE];
	unsigned char subbuf[PAGE];
	struct dat_page page;

	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		for (unsigned int n = 0; n < pages[cpu]; n++) {
			struct dat_piece piece = { &format, subbuf, 0, PAGE - 16, 0, 0 };

			fill(subbuf, cpu, n);
			CHECK(dat_pages(&piece, zeros, &page) == 1);
			CHECK(!trace_dat_write(dat, cpu, (uint64_t)n * PAGE, &page, 1));
		}
	}
}

static void begin(const char *folder)
{
	char command[300], top[220];

	snprintf(dir, sizeof(dir), "%s/trace_dat_zstd_test.d", folder);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(!system(command) && !mkdir(dir, 0700) && !setenv("TMPDIR", dir, 1));
	for (unsigned int i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		make_file(dir, files[i], i == 4 ? "local [mono] boot\n" : "some text\n");
	snprintf(top, sizeof(top), "%s/.", dir);
	CHECK(!trace_head_new(&head, top, dir, CPUS, PAGE) && !trace_head_refresh(head));
	CHECK(!trace_dat_create_unnamed(&dat, head, CPUS, PAGE));
	write_pages();
}

/* ---- A reader of its own ---- */

/* A place in the file. */
struct at {
	const unsigned char *pos, *end;
};

static const void *get(struct at *at, size_t size)
{
	const void *data = at->pos;

	CHECK((size_t)(at->end - at->pos) >= size);
	at->pos += size;
	return data;
}

static uint64_t number(struct at *at, size_t size)
{
	uint64_t value = 0;
	uint32_t word;

	if (size == 8) {
		memcpy(&value, get(at, 8), 8);
		return value;
	}
	if (size == 4) {
		memcpy(&word, get(at, 4), 4);
		return word;
	}
	return *(const uint16_t *)memcpy(&(uint16_t){ 0 }, get(at, 2), 2);
}

static const char *text(struct at *at)
{
	const char *s = (const char *)at->pos;

	return get(at, strnlen(s, at->end - at->pos) + 1) ? s : NULL;
}

static struct at from(const struct bytes *file, uint64_t offset, uint64_t size)
{
	CHECK(offset <= file->size && size <= file->size - offset);
	return (struct at){ (unsigned char *)file->data + offset,
			    (unsigned char *)file->data + offset + size };
}

/* Returns the bytes, to be freed. */
static char *unpack(struct at *at, size_t *size)
{
	size_t packed = number(at, 4);
	char *data;

	*size = number(at, 4);
	data = malloc(*size + 1);
	CHECK(data && ZSTD_decompress(data, *size, get(at, packed), packed) == *size);
	return data;
}

/* ---- What is in it ---- */

static void check_head(const struct bytes *file, unsigned int id, uint64_t offset)
{
	struct at at = from(file, offset, file->size - offset);
	struct bytes want = { .error = 0 };
	size_t size;
	char *data;

	CHECK(number(&at, 2) == id && number(&at, 2) == 1);
	number(&at, 4);
	size = number(&at, 8);
	at = from(file, offset + 16, size);
	data = unpack(&at, &size);
	CHECK(at.pos == at.end);
	trace_head_write_part(head, id, &want);
	CHECK(!want.error && want.size == size && !memcmp(data, want.data, size));
	bytes_free(&want);
	free(data);
}

static void check_cpu(unsigned int cpu, struct at at)
{
	unsigned int n = 0, chunks = pages[cpu] ? number(&at, 4) : 0;
	unsigned char page[PAGE];

	for (; chunks; chunks--) {
		size_t size;
		char *data = unpack(&at, &size);

		for (size_t i = 0; i < size; i += PAGE) {
			fill(page, cpu, n++);
			CHECK(size - i >= PAGE && !memcmp(data + i + 16, page + 16, PAGE - 16));
		}
		free(data);
	}
	CHECK(n == pages[cpu] && at.pos == at.end);
}

static void check_buffer(const struct bytes *file, struct at at)
{
	uint64_t offset = number(&at, 8), behind = offset + 16, size;
	struct at section = from(file, offset, 16);

	CHECK(number(&section, 2) == 3 && number(&section, 2) == 1);
	number(&section, 4);
	size = number(&section, 8);
	CHECK(!*text(&at) && !strcmp(text(&at), "mono"));
	CHECK(number(&at, 4) == PAGE && number(&at, 4) == CPUS);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		uint64_t to;

		CHECK(number(&at, 4) == cpu);
		to = number(&at, 8);
		CHECK(to == behind);
		behind += number(&at, 8);
		check_cpu(cpu, from(file, to, behind - to));
	}
	CHECK(at.pos == at.end && behind == offset + 16 + size);
}

/* Returns which options there were, a bit each. */
static uint64_t check_options(const struct bytes *file, uint64_t offset)
{
	struct at at = from(file, offset, 16), option;
	uint64_t seen = 0, id, size;

	CHECK(!number(&at, 4));
	number(&at, 4);
	size = number(&at, 8);
	at = from(file, offset + 16, size);
	do {
		id = number(&at, 2);
		size = number(&at, 4);
		option = (struct at){ at.pos, at.pos + size };
		get(&at, size);
		seen |= 1ULL << id;
		if (id == 3)
			check_buffer(file, option);
		else if (id >= 16)
			check_head(file, id, number(&option, 8));
	} while (id);
	CHECK(!number(&option, 8) && at.pos == at.end);
	return seen;
}

static void check_file(const struct bytes *file)
{
	struct at at = from(file, 0, file->size);
	struct bytes begins = { .error = 0 };

	trace_head_write_part(head, TRACE_HEAD_BEGIN, &begins);
	CHECK(!memcmp(get(&at, begins.size), begins.data, begins.size));
	CHECK(!strcmp(text(&at), "zstd") && !strcmp(text(&at), ZSTD_versionString()));
	/* The end, statistics, data, clock, system, CPUs, version, and all of the head. */
	CHECK(check_options(file, number(&at, 8)) == (0x33d | 0x3f << 16));
	bytes_free(&begins);
}

/* ---- Tests ---- */

static unsigned int calls_left;

static bool go_on(void *arg, uint64_t done, uint64_t size)
{
	(void)arg;
	CHECK(size == 1003 * PAGE && done <= size);
	return calls_left && calls_left--;
}

static void test_whole(const struct trace_dat_watch *watch)
{
	char path[220];
	struct bytes file = { .error = 0 };
	struct trace_dat_restored restored;
	uint64_t size;
	int fd;

	snprintf(path, sizeof(path), "%s/z.dat", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && !trace_dat_zstd(dat, fd, watch, &size) && !close(fd));
	CHECK(!bytes_add_file(&file, path) && file.size == size && size < 500 * PAGE);
	check_file(&file);
	CHECK(!trace_dat_is_unfinished(path));
	CHECK(!trace_dat_restore(path, false, NULL, &restored) && restored.size == size);
	bytes_free(&file);
}

static void test_ended(void)
{
	const struct trace_dat_watch watch = { .go_on = go_on };
	uint64_t size;
	int fd = open("/dev/full", O_WRONLY);

	CHECK(fd >= 0 && trace_dat_zstd(dat, fd, NULL, &size) == -ENOSPC && !close(fd));
	fd = open(dir, O_TMPFILE | O_RDWR, 0600);
	CHECK(fd >= 0 && trace_dat_zstd(dat, fd, &watch, &size) == -EINTR);
	CHECK(!ftruncate(fd, 0) && signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	CHECK(!setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 100000, 100000 }));
	CHECK(trace_dat_zstd(dat, fd, NULL, &size) == -EFBIG && !close(fd));
}

int main(int argc, char **argv)
{
	const struct trace_dat_watch watch = { .go_on = go_on };
	char command[300];

	begin(argc > 1 ? argv[1] : ".");
	test_whole(NULL);
	calls_left = 1;
	test_whole(&watch);
	CHECK(!calls_left);
	test_ended();
	trace_dat_close(dat);
	trace_head_free(head);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(!system(command));
	printf("ok - trace_dat_zstd\n");
	return 0;
}

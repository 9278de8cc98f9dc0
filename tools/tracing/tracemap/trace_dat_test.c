// SPDX-License-Identifier: GPL-2.0
/*
 * trace_dat.h, on the file systems of the folders given: at any time the table
 * of the file points to what was written, and at the end there are no holes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "trace_dat.h"

enum { PAGE = 4096, CPUS = 4, PAGES = 700 };

static const struct subbuf_format format = {
	.subbuf_size = PAGE, .commit_offset = 8, .commit_size = 8, .data_offset = 16,
};

static const unsigned char zeros[PAGE];

/* What is read of a tracing folder, and no more. */
static void put(const char *dir, const char *name, const char *text)
{
	char path[512], *slash;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (slash = path + strlen(dir) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		CHECK(!mkdir(path, 0700) || errno == EEXIST);
		*slash = '/';
	}
	file = fopen(path, "w");
	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

static void put_much(const char *dir, const char *name, size_t size)
{
	char *text = malloc(size + 1);

	CHECK(text);
	memset(text, 'x', size);
	text[size] = 0;
	put(dir, name, text);
	free(text);
}

static void make_tracing(const char *dir)
{
	CHECK(!mkdir(dir, 0700));
	put(dir, "events/header_page", "header page\n");
	put(dir, "events/header_event", "header event\n");
	put(dir, "events/ftrace/print/format", "name: print\nID: 5\n");
	put(dir, "events/b/two/format", "name: two\nID: 12\n");
	put(dir, "events/a/one/format", "name: one\nID: 11\n");
	put(dir, "events/a/three/format", "name: three\nID: 13\n");
	put(dir, "set_event", "b:two\na:one\nno:such\n");
	put(dir, "current_tracer", "nop\n");
	put(dir, "trace_clock", "[local] global\n");
	put(dir, "printk_formats", "");
	put(dir, "saved_cmdlines", "1 init\n");
	put(dir, "saved_cmdlines_size", "128\n");
}

/* A page that tells which one it is. */
static void write_page(struct trace_dat *dat, unsigned int cpu, unsigned int n)
{
	uint64_t subbuf[PAGE / 8] = { [0] = n, [2] = cpu, [3] = n };
	struct dat_piece piece = { &format, subbuf, 0, 16, n, 0 };
	struct dat_page page;

	CHECK(dat_pages(&piece, zeros, &page) == 1);
	CHECK(!trace_dat_write(dat, cpu, (uint64_t)n * PAGE, &page, 1));
}

static size_t head_size(const struct trace_head *head)
{
	struct bytes b = { .error = 0 };
	size_t size;

	CHECK(!trace_head_write(head, &b));
	size = b.size;
	bytes_free(&b);
	return size;
}

/* CPU 1 has nothing, the others different numbers of pages. */
static unsigned int pages_of(unsigned int cpu)
{
	return cpu * (cpu - 1) * PAGES / 2 + !cpu;
}

/* Returns where the last byte of data is. */
static uint64_t check_data(const char *path, size_t table)
{
	uint64_t region[CPUS][2], page[PAGE / 8], end = 0;
	int fd = open(path, O_RDONLY);

	CHECK(fd >= 0 && pread(fd, region, sizeof(region), table) == sizeof(region));
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		CHECK(region[cpu][1] == (uint64_t)pages_of(cpu) * PAGE);
		CHECK(region[cpu][0] % PAGE == 0);
		for (unsigned int n = 0; n < pages_of(cpu); n++) {
			CHECK(pread(fd, page, PAGE, region[cpu][0] + n * PAGE) == PAGE);
			CHECK(page[0] == n && page[1] == 16 && page[2] == cpu && page[3] == n);
		}
		if (region[cpu][1])
			end = region[cpu][0] + region[cpu][1];
	}
	close(fd);
	return end;
}

static bool contains(const char *path, const char *what)
{
	struct bytes b = { .error = 0 };
	bool found;
	int fd = open(path, O_RDWR);

	/* Only what is in front, the rest may be terabytes. */
	CHECK(fd >= 0 && !ftruncate(fd, 65536) && !close(fd) && !bytes_add_file(&b, path));
	found = memmem(b.data, b.size, what, strlen(what));
	bytes_free(&b);
	return found;
}

/* A recording in a folder of its own, and all that was recorded until now is in it. */
struct recorded {
	char dir[256], path[300];
	struct trace_head *head;
	struct trace_dat *dat;
};

static void begin(struct recorded *r, const char *folder)
{
	char top[300];

	snprintf(r->dir, sizeof(r->dir), "%s/trace_dat_test.%d", folder, getpid());
	make_tracing(r->dir);
	snprintf(r->path, sizeof(r->path), "%s/trace.dat", r->dir);
	/* By another name: of the top level itself all symbols are told. */
	snprintf(top, sizeof(top), "%s/.", r->dir);
	CHECK(!trace_head_new(&r->head, top, r->dir, CPUS, PAGE));
	CHECK(!trace_dat_create(&r->dat, r->path, r->head, CPUS, PAGE));
	for (unsigned int cpu = CPUS; cpu--; ) {
		for (unsigned int n = 0; n < pages_of(cpu); n++)
			write_page(r->dat, cpu, n);
	}
	CHECK(!trace_dat_sync(r->dat));
}

static void close_recorded(struct recorded *r)
{
	trace_dat_close(r->dat);
	trace_head_free(r->head);
}

static void remove_recorded(const struct recorded *r)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf %s", r->dir);
	CHECK(!system(command));
}

static void test_in(const char *folder)
{
	struct recorded r;
	struct stat st;
	bool compact;

	begin(&r, folder);
	/* Killed here, all of it could be read. */
	check_data(r.path, head_size(r.head));
	CHECK(!stat(r.path, &st) && (uint64_t)st.st_blocks * 512 < 2 * trace_dat_size(r.dat));

	/* There is room for 64 KiB of formats of events that are enabled meanwhile. */
	put_much(r.dir, "events/c/four/format", 1 << 18);
	put(r.dir, "set_event", "c:four\n");
	CHECK(!trace_head_refresh(r.head));
	CHECK(trace_dat_finish(r.dat) == -E2BIG);
	CHECK(trace_head_forget_late(r.head) == 1 && !trace_head_forget_late(r.head));
	check_data(r.path, head_size(r.head));

	put(r.dir, "set_event", "a:three\n");
	put(r.dir, "saved_cmdlines", "1 init\n77 late\n");
	put(r.dir, "per_cpu/cpu0/stats", "overrun: 99\n");
	CHECK(!trace_head_refresh(r.head));
	CHECK(!trace_dat_finish(r.dat));
	CHECK(!trace_dat_compact(r.dat, &compact) && compact);
	CHECK(!stat(r.path, &st));
	CHECK(check_data(r.path, head_size(r.head)) == (uint64_t)st.st_size);
	CHECK((uint64_t)st.st_size < trace_dat_size(r.dat) + (1 << 20) + head_size(r.head));
	close_recorded(&r);
	CHECK(contains(r.path, "77 late") && contains(r.path, "name: three") &&
	      contains(r.path, "name: one") && contains(r.path, "CPU: 0\noverrun: 99"));
	remove_recorded(&r);
}

static void test_rescue(const char *folder)
{
	struct recorded r;
	struct stat st;
	char *how;

	begin(&r, folder);
	/* What the table does not tell yet. */
	write_page(r.dat, 0, pages_of(0));
	write_page(r.dat, CPUS - 1, pages_of(CPUS - 1));
	how = trace_dat_how(r.dat);
	CHECK(how && !trace_dat_rescue(r.path, how));
	CHECK(!stat(r.path, &st) && check_data(r.path, head_size(r.head)) == (uint64_t)st.st_size);
	CHECK((uint64_t)st.st_size < trace_dat_size(r.dat) + (1 << 20) + head_size(r.head));
	/* Again it changes nothing, and another file not at all. */
	CHECK(!trace_dat_rescue(r.path, how));
	CHECK(check_data(r.path, head_size(r.head)) == (uint64_t)st.st_size);
	CHECK(trace_dat_rescue("/dev/null", how) == -EINVAL);
	CHECK(trace_dat_rescue(r.path, "1 2 3") == -EINVAL);
	/* A table that is no longer there. */
	put(r.dir, "trace.dat", "1234567890123456789012345678901234567890");
	CHECK(trace_dat_rescue(r.path, how) == -EINVAL);
	CHECK(!stat(r.path, &st) && st.st_size == 40);
	free(how);
	close_recorded(&r);
	remove_recorded(&r);
}

/* Killed when the head is written anew, which may move the table. */
static void test_rescue_of_finished(const char *folder)
{
	struct recorded r;
	struct stat st;
	char *before, *how;

	begin(&r, folder);
	before = trace_dat_how(r.dat);
	put(r.dir, "saved_cmdlines", "1 init\n77 late\n");
	CHECK(!trace_head_refresh(r.head));
	CHECK(!trace_dat_finish(r.dat));
	how = trace_dat_how(r.dat);
	CHECK(before && how && strcmp(before, how));
	CHECK(!trace_dat_rescue(r.path, how));
	CHECK(!stat(r.path, &st) && check_data(r.path, head_size(r.head)) == (uint64_t)st.st_size);
	CHECK((uint64_t)st.st_size < trace_dat_size(r.dat) + (1 << 20) + head_size(r.head));
	free(before);
	free(how);
	close_recorded(&r);
	remove_recorded(&r);
}

static void test_refusals(void)
{
	struct trace_head *none = NULL;
	struct trace_dat *dat;

	CHECK(trace_dat_create(&dat, "/dev/null", none, 1, PAGE) == -EINVAL);
	CHECK(trace_dat_create(&dat, "/", none, 1, PAGE) == -EISDIR);
	CHECK(trace_dat_create(&dat, "/no/such/file", none, 1, PAGE) == -ENOENT);
	CHECK(trace_head_new(&none, "/no", "/such", 1, PAGE) == -ENOENT);
}

int main(int argc, char **argv)
{
	test_refusals();
	for (int i = 1; i < argc; i++)
		test_in(argv[i]);
	for (int i = 1; i < argc; i++) {
		test_rescue(argv[i]);
		test_rescue_of_finished(argv[i]);
	}
	printf("ok - trace_dat, in %d folders\n", argc - 1);
	return argc < 2;
}

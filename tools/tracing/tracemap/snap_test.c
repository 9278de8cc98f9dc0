// SPDX-License-Identifier: GPL-2.0
/*
 * Test snap_keep.h: files are named by time, and there are no more than wanted. Test
 * trace_dat_put(): a file that is written at once is as complete as one that was recorded. Test
 * snap_data_check(): a file that cannot be written is refused, and left as it is. Test
 * snapshot_has_lost() and snapshot_cut().
 */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "check.h"
#include "snap_file.h"
#include "snap_keep.h"
#include "snapshot.h"
#include "trace_dat.h"

static char dir[200], path[240];

/* Once, another program removes the file first. */
static bool other_is_first;
__typeof__(unlinkat) __real_unlinkat;

int __wrap_unlinkat(int folder, const char *name, int flags)
{
	if (other_is_first)
		__real_unlinkat(folder, name, flags);
	other_is_first = false;
	return __real_unlinkat(folder, name, flags);
}

static const char *at(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int files(void)
{
	struct dirent *entry;
	DIR *d = opendir(dir);
	int nr = 0;

	CHECK(d);
	while ((entry = readdir(d)))
		nr += entry->d_name[0] != '.';
	closedir(d);
	return nr;
}

static bool is_there(const char *name)
{
	at(name);
	return !access(path, F_OK);
}

static void test_names(void)
{
	static const struct {
		const char *path, *begin, *end;
	} cases[] = {
		{ "a/trace.dat", "a/trace-2", ".dat" }, { "a.b/trace", "a.b/trace-2", "" },
		{ "x.y.dat", "x.y-2", ".dat" }, { "./.dat", "./.dat-2", "" },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *name = snap_keep_name(cases[i].path);
		size_t end = strlen(cases[i].end);

		CHECK(name && !strncmp(name, cases[i].begin, strlen(cases[i].begin)));
		CHECK(strlen(name) == strlen(cases[i].path) + strlen("-20261125-235959.123"));
		CHECK(!strcmp(name + strlen(name) - end, cases[i].end));
		free(name);
	}
}

static void make_some(void)
{
	make_file(dir, "t-20261125-000000.001.dat", "1111");
	make_file(dir, "t-20261125-000000.002.dat", "2222");
	make_file(dir, "t-20261125-000000.003.dat", "3333");
	/* None of them is ours. */
	make_file(dir, "t.dat", "mine");
	make_file(dir, "t-20261125-000000.00x.dat", "mine");
	make_file(dir, "u-20261125-000000.000.dat", "mine");
	make_file(dir, "t-20261125-000000.000.dat.gz", "mine");
	make_file(dir, "t-20261125-000000.000", "mine");
}

static int room(unsigned long long keep, const char *name)
{
	return snap_keep_make_room(at("t.dat"), keep, name);
}

/* The new file is there, and stays, even if the clock was set back. */
static void test_room_beside(void)
{
	char name[240];

	make_file(dir, "t-20261125-000000.005.dat", "old");
	make_file(dir, "t-20261125-000000.004.dat", "new");
	snprintf(name, sizeof(name), "%s", at("t-20261125-000000.004.dat"));
	CHECK(room(1, name) == 1 && is_there("t-20261125-000000.004.dat"));
	CHECK(room(1, name) == 0 && is_there("t-20261125-000000.004.dat"));
	CHECK(!unlink(name) && files() == 5);
}

/* When summer time ends, what is written later has a lower name. */
static void test_room_by_time(void)
{
	const struct timespec later[] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 4000000000 } };

	make_file(dir, "t-20261125-020000.000.dat", "late");
	make_file(dir, "t-20261125-025900.000.dat", "early");
	CHECK(!utimensat(AT_FDCWD, at("t-20261125-020000.000.dat"), later, 0));
	CHECK(room(2, "t-20261125-020100.000.dat") == 1);
	CHECK(is_there("t-20261125-020000.000.dat") && !unlink(path) && files() == 5);
}

static void test_room(void)
{
	const char *none = "t-20261125-000000.009.dat";

	make_some();
	CHECK(room(0, none) == 0 && files() == 8);
	CHECK(room(4, none) == 0 && files() == 8);
	other_is_first = true;
	CHECK(room(3, none) == 1 && files() == 7);
	CHECK(!other_is_first);
	CHECK(!is_there("t-20261125-000000.001.dat") && is_there("t-20261125-000000.002.dat"));
	CHECK(room(1, none) == 2 && files() == 5);
	CHECK(room(1, none) == 0 && files() == 5);
	test_room_beside();
	test_room_by_time();
	CHECK(!snap_keep_check(path) && !snap_keep_check("t.dat"));
	at("t.dat/t.dat");
	CHECK(snap_keep_check(path) < 0);
	at("none/t.dat");
	CHECK(snap_keep_check(path) == -ENOENT);
	CHECK(snap_keep_make_room(path, 1, none) == -ENOENT);
}

/* A folder that looks like tracefs. */
static void make_tracing(const char *top)
{
	static const char * const files[] = {
		"events/header_page", "events/header_event", "events/ftrace/print/format",
		"set_event", "trace_clock", "saved_cmdlines", "printk_formats", "current_tracer",
	};

	for (unsigned int i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		make_file(top, files[i], "[local]\n");
}

static void test_front(void)
{
	struct bytes front = { .error = 0 };
	struct trace_dat_restored restored;
	struct trace_head *head;
	struct bytes data[3] = { { .error = 0 } };
	const uint64_t sizes[3] = { 2 * 4096, 0, 3 * 4096 };
	static char page[4096];
	char top[220];
	int fd;

	snprintf(top, sizeof(top), "%s/tracing", dir);
	CHECK(!mkdir(top, 0700));
	make_tracing(top);
	CHECK(!trace_head_new(&head, top, top, 3, sizeof(page)));
	for (int i = 0; i < 5; i++) {
		memset(page, i, sizeof(page));
		bytes_add(&data[i < 2 ? 0 : 2], page, sizeof(page));
	}
	at("put.dat");
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	CHECK(fd >= 0 && !trace_dat_front(&front, head, 3, sizeof(page), sizes));
	CHECK(write(fd, front.data, front.size) == (ssize_t)front.size);
	for (int i = 0; i < 3; i++)
		CHECK(write(fd, data[i].data, data[i].size) == (ssize_t)data[i].size);
	CHECK(lseek(fd, 0, SEEK_CUR) % sizeof(page) == 0);
	CHECK(pread(fd, page, sizeof(page), lseek(fd, -(off_t)sizeof(page), SEEK_END)) > 0);
	CHECK(page[0] == 4 && page[4095] == 4);
	CHECK(!trace_dat_is_unfinished(path));
	CHECK(!trace_dat_restore(path, false, NULL, &restored) && restored.size == 5 * 4096);
	close(fd);
	bytes_free(&front);
	for (int i = 0; i < 3; i++)
		bytes_free(&data[i]);
	trace_head_free(head);
}

static bool is_empty(const char *folder)
{
	DIR *entries = opendir(folder);
	int nr = 0;

	CHECK(entries);
	while (readdir(entries))
		nr++;
	closedir(entries);
	return nr == 2;
}

static void test_check(void)
{
	CHECK(snap_data_check(at("put.dat")) == 0);	/* of test_front() */
	make_file(dir, "empty.dat", "");
	CHECK(snap_data_check(at("empty.dat")) == 0);
	make_file(dir, "text.dat", "No trace, but text.\n");
	CHECK(snap_data_check(at("text.dat")) == -EMEDIUMTYPE);
	CHECK(!mkdir(at("folder"), 0700) && snap_data_check(at("folder")) == -EISDIR);
	CHECK(snap_data_check(at("none/")) == -EISDIR);
	CHECK(snap_data_check(at("none/x.dat")) == -ENOENT);
	CHECK(snap_data_check(at("text.dat/x.dat")) == -ENOTDIR);
	CHECK(snap_data_check(at("folder/new.dat")) == 0 && is_empty(at("folder")));
	CHECK(snap_data_check("-") == 0 && snap_data_check("/dev/null") == 0);
}

static void test_lost(void)
{
	struct snapshot_cpu cpu = { .lost = 0 };
	struct snapshot s = { .cpus = &cpu, .nr_cpus = 1 };

	CHECK(!snapshot_has_lost(&s));
	snapshot_lost(&s, 0, 0);
	CHECK(!snapshot_has_lost(&s));
	snapshot_lost(&s, 0, TRACEMAP_MISSED_UNKNOWN);
	CHECK(snapshot_has_lost(&s));
	cpu = (struct snapshot_cpu){ .lost = 0 };
	snapshot_lost(&s, 0, 7);
	CHECK(snapshot_has_lost(&s) && cpu.lost == 7);
}

/* The reader ended: what is told is what it was given. */
static void test_cut(void)
{
	struct snapshot s = { .now = 9 };

	for (int ts = 1; ts <= 4; ts++)
		snapshot_count(&s, ts);
	snapshot_cut(&s, 4);
	CHECK(s.events == 4 && !s.cut && s.last == 4);
	snapshot_cut(&s, 3);
	CHECK(s.events == 3 && s.cut);
}

int main(int argc, char **argv)
{
	char command[300];

	snprintf(dir, sizeof(dir), "%s/snap_test.d", argc > 1 ? argv[1] : ".");
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(!system(command) && !mkdir(dir, 0700));
	test_names();
	test_room();
	test_front();
	test_check();
	test_lost();
	test_cut();
	CHECK(!system(command));
	printf("ok - snap\n");
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Test undo.h in a folder of files: changes are undone by the command, by its keeper
 * if the command was killed, or by the command if its keeper was.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "undo.h"

static char top[256];
static int top_fd;

static bool setting_is(const char *value)
{
	char text[64] = "";
	int fd = openat(top_fd, "setting", O_RDONLY);

	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0 && !close(fd));
	return !strcmp(text, value);
}

/* The keeper may take its time. */
static bool setting_becomes(const char *value)
{
	for (int i = 0; i < 600 && !setting_is(value); i++)
		usleep(100000);
	return setting_is(value);
}

static bool was_killed(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status);
}

static bool folder_is_there(void)
{
	return !faccessat(top_fd, "folder", F_OK, 0);
}

/* Change the setting, which was "before", and make a folder. */
static void change(struct undo_list *list)
{
	CHECK(!undo_add(list, "setting", "before"));
	CHECK(!write_file(top_fd, "setting", "after", true));
	CHECK(!undo_add(list, "folder", NULL) && !mkdirat(top_fd, "folder", 0700));
	CHECK(setting_is("after") && folder_is_there());
}

static void test_all_well(void)
{
	struct undo_list list;

	CHECK(!undo_begin(&list, top));
	change(&list);
	CHECK(!undo_all(&list));
	CHECK(setting_is("before") && !folder_is_there());
}

/* No signal comes when the command tells a keeper that is no more. */
static void test_keeper_killed(void)
{
	struct undo_list list;
	siginfo_t info;

	signal(SIGPIPE, SIG_DFL);
	CHECK(!undo_begin(&list, top));
	CHECK(!kill(list.keeper, SIGKILL));
	CHECK(!waitid(P_PID, list.keeper, &info, WEXITED | WNOWAIT));
	change(&list);
	CHECK(!undo_all(&list));
	CHECK(setting_is("before") && !folder_is_there());
}

static void test_command_killed(void)
{
	struct undo_list list;
	pid_t pid = fork();

	if (!pid) {
		CHECK(!undo_begin(&list, top));
		change(&list);
		raise(SIGKILL);
	}
	CHECK(was_killed(pid));
	for (int i = 0; i < 600 && (!setting_is("before") || folder_is_there()); i++)
		usleep(100000);
	CHECK(setting_is("before") && !folder_is_there());
}

/* ---- A folder in use ---- */

__typeof__(unlinkat) __real_unlinkat;

static bool is_there(const char *path)
{
	return !faccessat(top_fd, path, F_OK, 0);
}

/* The kernel removes an instance with all in it, unless a process has a file of it open. */
int __wrap_unlinkat(int dir, const char *path, int flags)
{
	if (flags & AT_REMOVEDIR && is_there("in_use")) {
		errno = EBUSY;
		return -1;
	}
	if (flags & AT_REMOVEDIR && is_there("folder/events")) {
		__real_unlinkat(top_fd, "folder/events/enable", 0);
		__real_unlinkat(top_fd, "folder/events", AT_REMOVEDIR);
		__real_unlinkat(top_fd, "folder/tracing_on", 0);
	}
	return __real_unlinkat(dir, path, flags);
}

static bool has_zero(const char *path)
{
	char text[4] = "";
	int fd = openat(top_fd, path, O_RDONLY);

	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0 && !close(fd));
	return !strcmp(text, "0");
}

/* The list of a session with an instance of its own, which another process uses. */
static void begin_in_use(struct undo_list *list)
{
	CHECK(!undo_begin(list, top) && !undo_add(list, "folder", NULL));
	CHECK(!mkdirat(top_fd, "folder", 0700) && !mkdirat(top_fd, "folder/events", 0700));
	make_file(top, "folder/tracing_on", "1");
	make_file(top, "folder/events/enable", "1");
	make_file(top, "in_use", "");
}

/* It ends soon, and the instance stays, but traces nothing. */
static void test_in_use(void)
{
	struct undo_list list;

	begin_in_use(&list);
	CHECK(undo_all(&list) == -EBUSY && folder_is_there());
	CHECK(has_zero("folder/tracing_on") && has_zero("folder/events/enable"));
	CHECK(!unlinkat(top_fd, "in_use", 0) && !unlinkat(top_fd, "folder", AT_REMOVEDIR));
}

/* The keeper has the time to wait longer than the command would. */
static void test_killed_in_use(void)
{
	struct undo_list list;
	pid_t pid = fork();

	if (!pid) {
		begin_in_use(&list);
		raise(SIGKILL);
	}
	CHECK(was_killed(pid));
	for (int i = 0; i < 600 && !has_zero("folder/events/enable"); i++)
		usleep(100000);
	sleep(4);
	CHECK(has_zero("folder/tracing_on") && has_zero("folder/events/enable"));
	CHECK(folder_is_there() && !unlinkat(top_fd, "in_use", 0));
	for (int i = 0; i < 600 && folder_is_there(); i++)
		usleep(100000);
	CHECK(!folder_is_there());
}

/* What could not be made, as it was there before, stays. */
static void test_dropped(void)
{
	struct undo_list list;
	pid_t pid = fork();

	if (!pid) {
		CHECK(!undo_begin(&list, top));
		CHECK(!undo_add(&list, "setting", "before"));
		CHECK(!write_file(top_fd, "setting", "after", true));
		CHECK(!mkdirat(top_fd, "folder", 0700) && !undo_add(&list, "folder", NULL));
		undo_drop(&list);
		raise(SIGKILL);
	}
	CHECK(was_killed(pid));
	CHECK(setting_becomes("before") && folder_is_there());
	CHECK(!unlinkat(top_fd, "folder", AT_REMOVEDIR));
}

/* Killed while it told something: what came of that is not believed. */
static void test_killed_while_telling(void)
{
	static const char entry[] = "setting\0wtold as a half";
	const uint32_t length = sizeof(entry);
	struct undo_list list;
	pid_t pid = fork();

	if (!pid) {
		CHECK(!undo_begin(&list, top));
		CHECK(!write_file(top_fd, "setting", "after", true));
		CHECK(!undo_add(&list, "folder", NULL) && !mkdirat(top_fd, "folder", 0700));
		CHECK(write(list.fd, &length, sizeof(length)) == sizeof(length));
		CHECK(write(list.fd, entry, length - 5) == length - 5);
		raise(SIGKILL);
	}
	CHECK(was_killed(pid));
	for (int i = 0; i < 600 && folder_is_there(); i++)
		usleep(100000);
	CHECK(setting_is("after") && !folder_is_there());
}

/*
 * undo_all() complains of a file that it cannot write, unless the file has the old value still.
 * The kernel refuses every write to this file with EACCES, and to any file of a /proc that is
 * mounted read-only with EROFS.
 */
static void test_not_changed(void)
{
	static const char ostype[] = "sys/kernel/ostype";
	struct undo_list list;
	int ret;

	CHECK(!undo_begin(&list, "/proc") && !undo_add(&list, ostype, "Linux"));
	CHECK(!undo_all(&list));
	CHECK(!undo_begin(&list, "/proc") && !undo_add(&list, ostype, "Linu"));
	ret = undo_all(&list);
	CHECK(ret == -EACCES || ret == -EROFS);
}

/* ---- Lists of PIDs ---- */

/* The PIDs go, and nothing else: other commands have theirs in the list. */
static void test_pids(bool killed)
{
	struct undo_list list;
	pid_t pid = fork();

	if (!pid) {
		CHECK(!undo_begin(&list, top));
		CHECK(!write_file(top_fd, "setting", "12\n", true));
		CHECK(!undo_add_pids(&list, "setting", "34 5"));
		CHECK(setting_is("12\n34\n5\n"));
		CHECK(!write_file(top_fd, "setting", "345\n3\n", false));
		if (killed)
			raise(SIGKILL);
		CHECK(!undo_all(&list));
		_exit(0);
	}
	CHECK(was_killed(pid) == killed);
	CHECK(killed ? setting_becomes("12\n345\n3\n") : setting_is("12\n345\n3\n"));
}

/* A list that has not got them is not written, and one that is gone is no error. */
static void test_no_pids(void)
{
	struct undo_list list;

	CHECK(!undo_begin(&list, top));
	CHECK(!write_file(top_fd, "setting", "", true));
	CHECK(!undo_add_pids(&list, "setting", "1 3"));
	CHECK(!close(openat(top_fd, "list", O_CREAT | O_RDWR, 0600)));
	CHECK(!undo_add_pids(&list, "list", "1 3") && !unlinkat(top_fd, "list", 0));
	CHECK(undo_add_pids(&list, "none", "1 3") == -ENOENT);
	CHECK(!write_file(top_fd, "setting", "12 13", true));
	CHECK(!undo_all(&list) && setting_is("12 13"));
}

/* Those that the user had put in before stay in it. */
static void test_present_pids(const char *before, const char *during)
{
	struct undo_list list;

	CHECK(!undo_begin(&list, top));
	CHECK(!write_file(top_fd, "setting", before, true));
	CHECK(!undo_add_pids(&list, "setting", "34 5") && setting_is(during));
	CHECK(!undo_all(&list) && setting_is(before));
}

/* The kernel's words for an empty list are no PIDs. */
static void test_words(void)
{
	struct undo_list list;

	CHECK(!undo_begin(&list, top));
	CHECK(!write_file(top_fd, "setting", "no pid\n", true));
	CHECK(!undo_add_pids(&list, "setting", "1 3"));
	CHECK(!undo_all(&list) && setting_is(""));
}

/* This process, which has locked the list, changes it before @pid does, and unlocks it. */
static void unlock_changed(int lock, pid_t pid, const char *before, const char *after)
{
	usleep(100000);
	CHECK(!waitpid(pid, NULL, WNOHANG) && setting_is(before));
	CHECK(!write_file(top_fd, "setting", after, true) && !flock(lock, LOCK_UN));
}

/* Two change it at the same time: each has read what the other one has written. */
static void test_locked(void)
{
	int lock = openat(top_fd, "setting", O_RDONLY | O_CLOEXEC), ends[2];
	struct undo_list list;
	char byte;
	pid_t pid;

	CHECK(lock >= 0 && !flock(lock, LOCK_EX) && !pipe(ends));
	CHECK(!write_file(top_fd, "setting", "1\n", true));
	pid = fork();
	if (!pid) {
		CHECK(!close(lock) && !undo_begin(&list, top));
		CHECK(!undo_add_pids(&list, "setting", "34 5") && write(ends[1], "", 1) == 1);
		alarm(60);	/* if the test has failed */
		pause();
	}
	unlock_changed(lock, pid, "1\n", "1\n2\n");
	CHECK(read(ends[0], &byte, 1) == 1 && !close(ends[0]) && !close(ends[1]));
	CHECK(setting_is("1\n2\n34\n5\n"));
	CHECK(!flock(lock, LOCK_EX) && !kill(pid, SIGKILL) && was_killed(pid));
	usleep(100000);
	CHECK(setting_is("1\n2\n34\n5\n"));
	CHECK(!write_file(top_fd, "setting", "1\n34\n5\n6\n", true) && !close(lock));
	CHECK(setting_becomes("1\n6\n"));
}

/*
 * The list is empty when the command is killed, as it must not write to any file: the keeper
 * writes what was in it.
 */
static void test_killed_while_taking(void)
{
	const struct rlimit none = { 0, 0 };
	struct undo_list list;
	pid_t pid = fork();

	if (!pid) {
		CHECK(!undo_begin(&list, top));
		CHECK(!write_file(top_fd, "setting", "1\n2\n", true));
		CHECK(!undo_add_pids(&list, "setting", "34 5"));
		CHECK(!setrlimit(RLIMIT_CORE, &none) && !setrlimit(RLIMIT_FSIZE, &none));
		undo_all(&list);
		_exit(0);
	}
	CHECK(was_killed(pid) && setting_becomes("1\n2\n"));
}

static bool is_in_setting(const char *line)
{
	int lock = openat(top_fd, "setting", O_RDONLY | O_CLOEXEC);
	char text[64] = "";

	CHECK(lock >= 0 && !flock(lock, LOCK_SH));
	CHECK(read(lock, text, sizeof(text) - 1) >= 0 && !close(lock));
	return strstr(text, line);
}

/* Two that begin and end all the time: each is in the list meanwhile. */
static void test_two(void)
{
	struct undo_list list;
	char own[16];
	pid_t pid;

	CHECK(!write_file(top_fd, "setting", "1\n", true));
	pid = fork();
	snprintf(own, sizeof(own), "%d\n", getpid());
	for (int i = 0; i < 100; i++) {
		CHECK(!undo_begin(&list, top) && !undo_add_pids(&list, "setting", own));
		CHECK(is_in_setting(own) && !undo_all(&list));
	}
	if (!pid)
		_exit(0);
	CHECK(!was_killed(pid) && setting_is("1\n"));
}

int main(int argc, char **argv)
{
	CHECK(argc > 1);
	snprintf(top, sizeof(top), "%s/undo_test.%d", argv[1], getpid());
	CHECK(!mkdir(top, 0700));
	top_fd = open(top, O_PATH | O_DIRECTORY);
	CHECK(top_fd >= 0 && !close(openat(top_fd, "setting", O_CREAT | O_RDWR, 0600)));
	CHECK(!write_file(top_fd, "setting", "before", true));
	test_all_well();
	test_keeper_killed();
	test_command_killed();
	test_in_use();
	test_killed_in_use();
	test_dropped();
	test_killed_while_telling();
	test_not_changed();
	test_pids(false);
	test_pids(true);
	test_no_pids();
	test_present_pids("34\n345\n", "34\n345\n5\n");
	test_present_pids("345\n5\n34\n", "345\n5\n34\n");
	test_words();
	test_locked();
	test_killed_while_taking();
	test_two();
	CHECK(!unlinkat(top_fd, "setting", 0) && !rmdir(top));
	printf("ok - undo\n");
	return 0;
}

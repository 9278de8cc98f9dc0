// SPDX-License-Identifier: GPL-2.0
/*
 * Test cleanup.h in a folder of files: an instance is removed by the command, by its second
 * process if the command was killed, or by the command if that process was.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "cleanup.h"

static char top[256];
static int top_fd;

static struct cleanup begin(const char *folder)
{
	struct cleanup c = { .fd = -1, .top = top_fd, .top_name = top, .folder = folder };

	return c;
}

static bool is_there(const char *path)
{
	return !faccessat(top_fd, path, F_OK, 0);
}

/* The second process may take its time. */
static bool goes(const char *path)
{
	for (int i = 0; i < 600 && is_there(path); i++)
		usleep(100000);
	return !is_there(path);
}

static bool was_killed(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status);
}

/* Begin, and make the folder. */
static void make(struct cleanup *c)
{
	CHECK(!cleanup_begin(c) && !mkdirat(top_fd, c->folder, 0700));
}

static void test_all_well(void)
{
	struct cleanup c = begin("folder");

	make(&c);
	CHECK(!cleanup_remove(&c) && !is_there("folder"));
	CHECK(cleanup_end(&c) && c.fd < 0 && cleanup_end(&c));
}

/* No signal comes when the command writes to a process that is no more. */
static void test_process_killed(void)
{
	struct cleanup c = begin("folder");
	siginfo_t info;

	signal(SIGPIPE, SIG_DFL);
	make(&c);
	CHECK(!kill(c.pid, SIGKILL) && !waitid(P_PID, c.pid, &info, WEXITED | WNOWAIT));
	cleanup_add_recording(&c, top);
	CHECK(!cleanup_remove(&c) && !is_there("folder"));
	cleanup_end(&c);
}

/* @path: of a recording, or NULL; of a folder there is nothing to finish */
static void test_command_killed(const char *path)
{
	struct cleanup c = begin("folder");
	pid_t pid = fork();

	if (!pid) {
		make(&c);
		if (path)
			cleanup_add_recording(&c, path);
		raise(SIGKILL);
	}
	CHECK(was_killed(pid) && goes("folder"));
}

/* ---- A folder in use ---- */

__typeof__(unlinkat) __real_unlinkat;

/* The kernel removes an instance with all in it, unless a process has a file of it open. */
int __wrap_unlinkat(int dir, const char *path, int flags)
{
	bool folder = flags & AT_REMOVEDIR && !strcmp(path, "folder");

	if (folder && is_there("in_use")) {
		errno = EBUSY;
		return -1;
	}
	if (folder && is_there("folder/events")) {
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

/* An instance that another process uses */
static void make_in_use(struct cleanup *c)
{
	make(c);
	CHECK(!mkdirat(top_fd, "folder/events", 0700));
	make_file(top, "folder/tracing_on", "1");
	make_file(top, "folder/events/enable", "1");
	make_file(top, "in_use", "");
}

/* It ends soon, and the instance stays, but traces nothing. */
static void test_in_use(void)
{
	struct cleanup c = begin("folder");

	make_in_use(&c);
	CHECK(cleanup_remove(&c) == -EBUSY && is_there("folder"));
	cleanup_end(&c);
	CHECK(has_zero("folder/tracing_on") && has_zero("folder/events/enable"));
	CHECK(!unlinkat(top_fd, "in_use", 0) && !unlinkat(top_fd, "folder", AT_REMOVEDIR));
}

/* The second process waits longer than the command would, and another one not for it. */
static void test_killed_in_use(void)
{
	struct cleanup other = begin("other"), c = begin("folder");
	pid_t pid = fork();

	if (!pid) {
		make(&other);
		make_in_use(&c);
		raise(SIGKILL);
	}
	CHECK(was_killed(pid));
	for (int i = 0; i < 600 && !has_zero("folder/events/enable"); i++)
		usleep(100000);
	sleep(4);
	CHECK(!is_there("other"));
	CHECK(has_zero("folder/tracing_on") && has_zero("folder/events/enable"));
	CHECK(is_there("folder") && !unlinkat(top_fd, "in_use", 0) && goes("folder"));
}

/* What could not be made, as it was there before, stays. */
static void test_dropped(void)
{
	struct cleanup c = begin("folder");
	pid_t pid;

	CHECK(!mkdirat(top_fd, "folder", 0700));
	pid = fork();
	if (!pid) {
		CHECK(!cleanup_begin(&c));
		cleanup_end(&c);
		raise(SIGKILL);
	}
	CHECK(was_killed(pid) && is_there("folder"));
	CHECK(!unlinkat(top_fd, "folder", AT_REMOVEDIR));
}

/* A recording in an instance that was there: that is none of its own to remove. */
static void test_no_folder(void)
{
	struct cleanup c = begin(NULL);
	pid_t pid = fork();

	if (!pid) {
		CHECK(!cleanup_begin(&c));
		cleanup_add_recording(&c, top);
		raise(SIGKILL);
	}
	CHECK(was_killed(pid));
}

/* Those before the last one are finished meanwhile, and one that is dropped goes after that. */
static void test_several(void)
{
	struct cleanup c = begin("folder");
	char paths[3][300];

	make(&c);
	for (int i = 0; i < 3; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/file.%d", top, i);
		make_file(top, strrchr(paths[i], '/') + 1, "no recording");
		cleanup_add_recording(&c, paths[i]);
	}
	cleanup_drop_recording(&c, paths[0]);
	cleanup_drop_recording(&c, "no-such-file");
	CHECK(goes("file.0") && is_there("file.1") && is_there("file.2"));
	/* Neither of the two could be finished. */
	CHECK(!cleanup_remove(&c) && !cleanup_end(&c));
	CHECK(!unlink(paths[1]) && !unlink(paths[2]));
}

int main(int argc, char **argv)
{
	CHECK(argc > 1);
	snprintf(top, sizeof(top), "%s/cleanup_test.%d", argv[1], getpid());
	CHECK(!mkdir(top, 0700));
	top_fd = open(top, O_PATH | O_DIRECTORY);
	CHECK(top_fd >= 0);
	test_all_well();
	test_process_killed();
	test_command_killed(NULL);
	test_command_killed(top);
	test_in_use();
	test_killed_in_use();
	test_dropped();
	test_no_folder();
	test_several();
	CHECK(!rmdir(top));
	printf("ok - cleanup\n");
	return 0;
}

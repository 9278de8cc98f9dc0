// SPDX-License-Identifier: GPL-2.0
/*
 * Remove an instance of the command's own, in the command or, if that was killed, in a second
 * process.
 *
 * The second process reads a pipe: the path of a recording that is to be finished, if there is
 * one, and an empty path when the command has cleaned up itself. Each has a 0 byte behind it,
 * and is written as a whole, since a pipe takes PIPE_BUF bytes at once. The process acts when
 * the pipe ends: the command has closed it, or is dead. Only a recording behind which another
 * one comes is finished at once, and one behind DROP is removed: so both are done in this order.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "advice.h"
#include "cleanup.h"
#include "clock.h"
#include "text_file.h"
#include "trace_dat.h"
#include "write_all.h"

/* How long to try to remove an instance */
#define AT_ONCE		0
#define FOR_A_WHILE	2000	/* ms; what a process that has just ended had open is closed */
#define UNTIL_GONE	-1

#define DROP		'-'	/* before a path */

#define FIRST_WAIT_MS	10	/* between two tries; it doubles */
#define LONGEST_WAIT_MS	500

static struct cleanup *first;	/* of those that were begun */

/* ---- Removing ---- */

static int try_to_remove(const struct cleanup *c)
{
	if (!unlinkat(c->top, c->folder, AT_REMOVEDIR) || errno == ENOENT)
		return 0;
	return errno == EINTR ? -EBUSY : -errno;
}

static int write_below(int top, const char *folder, const char *file, const char *value)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	return text_file_write(top, path, value, true);
}

bool cleanup_stop_tracing(int top, const char *folder)
{
	bool is_off = !write_below(top, folder, "tracing_on", "0");

	write_below(top, folder, "events/enable", "0");
	write_below(top, folder, "current_tracer", "nop");
	return is_off;
}

/* Returns -EBUSY if a process had a file of it open all the time, @ms at most. */
static int remove_folder(const struct cleanup *c, int ms)
{
	const uint64_t start = now_ns();
	int ret = try_to_remove(c), wait = FIRST_WAIT_MS;

	/* What keeps the instance from being removed must not keep it tracing. */
	if (ret == -EBUSY)
		cleanup_stop_tracing(c->top, c->folder);
	while (ret == -EBUSY && (ms < 0 || now_ns() - start < ms * 1000000ULL)) {
		usleep(wait * 1000);
		ret = try_to_remove(c);
		wait = 2 * wait < LONGEST_WAIT_MS ? 2 * wait : LONGEST_WAIT_MS;
	}
	if (ret == -EBUSY && ms != AT_ONCE)
		say("%s/%s stays, with tracing off, as a process has a file of it open: when that has ended, rmdir %s/%s",
		    c->top_name, c->folder, c->top_name, c->folder);
	else if (ret && ret != -EBUSY)
		complain(ABOUT_INSTANCE, ret, "%s/%s stays; rmdir removes it", c->top_name,
			 c->folder);
	return ret;
}

int cleanup_remove(const struct cleanup *c)
{
	return remove_folder(c, FOR_A_WHILE);
}

/* ---- The second process ---- */

/* Returns whether it is whole. */
static bool finish_recording(const char *path)
{
	struct trace_dat_restored restored;
	int ret = trace_dat_restore(path, true, NULL, &restored);

	free(restored.file);
	/* The file is already whole: a file beside it does not belong to this recording. */
	if (ret && ret != -EEXIST)
		complain(ABOUT_OUTPUT, ret,
			 "%s is not whole: tracemap record --restore %s moves the rest into it, from %s.cpu0 and so on",
			 path, path, path);
	return !ret || ret == -EEXIST;
}

/* What an earlier recorder that was killed has left is for --restore. */
static void drop_recording(const char *path)
{
	if (!trace_dat_is_unfinished(path))
		unlink(path);
}

/* Where the folder is locked, it is not left behind: see session.c. */
static void lock_folder(const struct cleanup *c)
{
	int fd = openat(c->top, c->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		flock(fd, LOCK_EX);
}

/* The path that comes next; empty: the command has cleaned up; NULL: it cannot any more */
static char *next_path(FILE *said)
{
	char *path = NULL;
	size_t room = 0;

	if (getdelim(&path, &room, '\0', said) > 0)
		return path;
	free(path);
	return NULL;
}

/* Returns the recording that is left to finish, or NULL. */
static char *follow(FILE *said)
{
	char *recording = NULL, *path;
	bool failed = false;

	while ((path = next_path(said))) {
		if (!*path)
			_exit(failed);
		if (*path == DROP) {
			drop_recording(path + 1);
			free(path);
			continue;
		}
		failed |= recording && !finish_recording(recording);
		free(recording);
		recording = path;
	}
	return recording;
}

static void clean_up(const struct cleanup *c, int fd)
{
	FILE *said = fdopen(fd, "r");
	char *recording = said ? follow(said) : NULL;
	int ret;

	ret = c->folder ? remove_folder(c, AT_ONCE) : 0;
	if (ret == -EBUSY)
		lock_folder(c);
	/* Do this late: it may take long where the file system has to copy. */
	if (recording)
		finish_recording(recording);
	/* The command of a recorder may have a file open for as long as it runs. */
	if (ret == -EBUSY)
		remove_folder(c, UNTIL_GONE);
	_exit(0);
}

/* Whatever ends the command must not end this process. */
static void become_cleanup(const struct cleanup *c, int fd)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setsid();
	if (chdir("/") < 0)
		_exit(1);
	prctl(PR_SET_NAME, "tracemap-clean", 0, 0, 0);
	/* Close the output, as its reader waits for the end, and so does another of these. */
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	for (const struct cleanup *other = first; other; other = other->next)
		close(other->fd);
	clean_up(c, fd);
}

/* ---- The command's side ---- */

int cleanup_begin(struct cleanup *c)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	c->pid = fork();
	if (c->pid < 0) {
		int ret = -errno;

		close(ends[0]);
		close(ends[1]);
		return ret;
	}
	if (!c->pid) {
		close(ends[1]);
		become_cleanup(c, ends[0]);
	}
	close(ends[0]);
	c->fd = ends[1];
	c->next = first;
	first = c;
	return 0;
}

/* If the process was killed the command goes on without it, and SIGPIPE must not end it. */
static void send_path(const struct cleanup *c, const char *path)
{
	const struct timespec now = { 0 };
	sigset_t pipe, before;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigprocmask(SIG_BLOCK, &pipe, &before);
	if (write_all(c->fd, path, strlen(path) + 1) == -EPIPE)
		sigtimedwait(&pipe, NULL, &now);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

void cleanup_add_recording(struct cleanup *c, const char *path)
{
	char *absolute = realpath(path, NULL);

	if (absolute)
		send_path(c, absolute);
	free(absolute);
}

void cleanup_drop_recording(const struct cleanup *c, const char *path)
{
	char *absolute = realpath(path, NULL), *drop;

	if (absolute && asprintf(&drop, "%c%s", DROP, absolute) >= 0) {
		send_path(c, drop);
		free(drop);
	}
	free(absolute);
}

bool cleanup_end(struct cleanup *c)
{
	struct cleanup **link = &first;
	int status = 0;

	if (c->fd < 0)
		return true;
	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	send_path(c, "");
	close(c->fd);
	c->fd = -1;
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	return !WIFEXITED(status) || !WEXITSTATUS(status);
}

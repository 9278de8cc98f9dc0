// SPDX-License-Identifier: GPL-2.0
/*
 * The list of what has to be restored, and the keeper: a process that restores it
 * when the command dies.
 *
 * The keeper reads entries from a pipe: "path\0wvalue\0" for a setting, "path\0ppids\0"
 * for a list that these PIDs are taken out of, "path\0apids\0" for one that they are added
 * to, "path\0r\0" for a folder to be removed, "path\0f\0" for a recording to be finished,
 * and "\0d\0", which drops the last one. Its length comes before each entry, so that the
 * keeper recognizes half of one. An empty entry means that everything is done. The keeper acts
 * when the pipe ends: the command has closed it, or is dead.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "advice.h"
#include "clock.h"
#include "mappers.h"
#include "read_file.h"
#include "trace_dat.h"
#include "text_file.h"
#include "undo.h"
#include "write_all.h"

/* How long to try to remove a folder */
#define AT_ONCE		0
#define FOR_A_WHILE	2000	/* ms; what a process that has just ended had open goes */
#define UNTIL_GONE	-1

#define FIRST_WAIT_MS	10	/* between two tries; it doubles */
#define LONGEST_WAIT_MS	500

enum kind {
	WRITE = 'w', TAKE_PIDS = 'p', APPEND = 'a', REMOVE = 'r', FINISH = 'f', DROP = 'd',
};

struct undo {
	struct undo *before;
	enum kind kind;		/* one that is to be done */
	char *value;		/* of REMOVE it is empty */
	char path[];
};

int write_file(int top, const char *path, const char *value, bool truncate)
{
	int fd = openat(top, path, O_WRONLY | O_CLOEXEC | (truncate ? O_TRUNC : O_APPEND));
	int ret;

	if (fd < 0)
		return -errno;
	ret = write_all(fd, value, strlen(value));
	/* Some lists take effect only when the file is closed. */
	if (close(fd) < 0 && !ret)
		ret = -errno;
	return ret;
}

static int try_to_remove(int top, const char *path)
{
	if (!unlinkat(top, path, AT_REMOVEDIR) || errno == ENOENT)
		return 0;
	return errno == EINTR ? -EBUSY : -errno;
}

static int write_below(int top, const char *folder, const char *file, const char *value)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	return write_file(top, path, value, true);
}

bool stop_tracing(int top, const char *folder)
{
	bool is_off = !write_below(top, folder, "tracing_on", "0");

	write_below(top, folder, "events/enable", "0");
	write_below(top, folder, "current_tracer", "nop");
	return is_off;
}

/* Returns -EBUSY if a process had a file of it open all the time, @ms at most. */
static int remove_folder(int top, const char *path, int ms)
{
	const uint64_t start = now_ns();
	int ret = try_to_remove(top, path), wait = FIRST_WAIT_MS;

	/* What keeps the folder of an instance from being removed must not keep it tracing. */
	if (ret == -EBUSY)
		stop_tracing(top, path);
	while (ret == -EBUSY && (ms < 0 || now_ns() - start < ms * 1000000ULL)) {
		usleep(wait * 1000);
		ret = try_to_remove(top, path);
		wait = 2 * wait < LONGEST_WAIT_MS ? 2 * wait : LONGEST_WAIT_MS;
	}
	return ret;
}

/* Has the file this value still, as the kernel has refused to change it? */
static bool has_value(int top, const char *path, const char *value)
{
	size_t length = strlen(value);
	char text[256];

	if (read_file(top, path, text, sizeof(text)) < 0 || strncmp(text, value, length))
		return false;
	return !text[length] || !strcmp(text + length, "\n");
}

/* ---- What the keeper is told ---- */

/* If the keeper was killed the command goes on without it, and SIGPIPE must not end it. */
static void write_to_keeper(const struct undo_list *list, const char *data, size_t size)
{
	const struct timespec now = { 0 };
	sigset_t pipe, before;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigprocmask(SIG_BLOCK, &pipe, &before);
	if (write_all(list->fd, data, size) == -EPIPE)
		sigtimedwait(&pipe, NULL, &now);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void tell_keeper(const struct undo_list *list, const char *path, enum kind kind,
			const char *value)
{
	size_t path_size = strlen(path) + 1;
	size_t value_size = strlen(value) + 1;
	uint32_t length = path_size + 1 + value_size;
	char *entry = list->fd >= 0 ? malloc(sizeof(length) + length) : NULL;

	if (!entry)
		return;
	memcpy(entry, &length, sizeof(length));
	memcpy(entry + sizeof(length), path, path_size);
	entry[sizeof(length) + path_size] = kind;
	memcpy(entry + sizeof(length) + path_size + 1, value, value_size);
	write_to_keeper(list, entry, sizeof(length) + length);
	free(entry);
}

/* ---- The list of PIDs, which other commands change as well ---- */

/*
 * Keep the PIDs of @text that are not among @others, one a line, for which its last word needs
 * room for a newline behind it. An empty list may read as "no pid". Returns whether there were
 * any of @others.
 */
static bool keep_other_pids(char *text, const char *others)
{
	char *rest = text, *to = text, *word;
	bool found = false;

	while ((word = strsep(&rest, "\n "))) {
		size_t length = strlen(word);

		if (text_file_has_word(others, word)) {
			found = true;
		} else if (length && strspn(word, "0123456789") == length) {
			memmove(to, word, length);
			to += length;
			*to++ = '\n';
		}
	}
	*to = '\0';
	return found;
}

/*
 * The kernel can only add to its list, or make it anew, which takes tens of milliseconds. So one
 * command changes it at a time; the lock ends with it. Returns what to close, or a negative errno.
 */
static int lock_list(int top, const char *path)
{
	int fd = openat(top, path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	do {
		ret = flock(fd, LOCK_EX) < 0 ? -errno : 0;
	} while (ret == -EINTR);
	if (ret)
		close(fd);
	return ret ? ret : fd;
}

/* A command that is killed when the list is empty lets its keeper write the others into it. */
static int take_pids(const struct undo_list *list, const char *path, const char *pids)
{
	char *text = read_file_whole(list->top, path, NULL);
	int ret = text ? 0 : -errno;

	if (text && keep_other_pids(text, pids)) {
		tell_keeper(list, path, APPEND, text);
		ret = write_file(list->top, path, text, true);
		tell_keeper(list, "", DROP, "");
	}
	free(text);
	return ret;
}

static int change_list(const struct undo_list *list, const struct undo *undo)
{
	int lock = lock_list(list->top, undo->path), ret;

	if (lock < 0)
		return lock == -ENOENT ? 0 : lock;
	if (undo->kind == APPEND)
		ret = write_file(list->top, undo->path, undo->value, false);
	else
		ret = take_pids(list, undo->path, undo->value);
	close(lock);
	return ret;
}

/* ---- Undoing ---- */

static void say_in_use(const struct undo_list *list, const char *path)
{
	struct mapper user;

	if (mappers_find_user(&user, path))
		say("%s/%s stays, with tracing off, as %s (PID %d) has a file of it open: when that has ended, rmdir %s/%s",
		    list->top_name, path, user.comm, user.pid, list->top_name, path);
	else
		say("%s/%s stays, with tracing off, as a process has a file of it open: when that has ended, rmdir %s/%s",
		    list->top_name, path, list->top_name, path);
}

static int undo_folder(const struct undo_list *list, const char *path, int ms)
{
	int ret = remove_folder(list->top, path, ms);

	if (ret == -EBUSY && ms != AT_ONCE)
		say_in_use(list, path);
	else if (ret && ret != -EBUSY)
		complain(ABOUT_INSTANCE, ret, "%s/%s stays; rmdir removes it", list->top_name,
			 path);
	return ret;
}

static int undo_one(const struct undo_list *list, const struct undo *undo)
{
	int ret;

	if (undo->kind == TAKE_PIDS || undo->kind == APPEND) {
		ret = change_list(list, undo);
		if (ret)
			complain(ABOUT_SETTING, ret, "%s/%s has not got the PIDs that were in it",
				 list->top_name, undo->path);
		return ret;
	}
	ret = write_file(list->top, undo->path, undo->value, true);
	if (!ret || has_value(list->top, undo->path, undo->value))
		return 0;
	complain(ABOUT_SETTING, ret, "%s/%s cannot be set back to \"%s\"",
		 list->top_name, undo->path, undo->value);
	return ret;
}

static void drop(struct undo_list *list)
{
	struct undo *undo = list->last;

	if (!undo)
		return;
	list->last = undo->before;
	free(undo->value);
	free(undo);
}

/* With AT_ONCE, it ends at a folder in use, which stays the last one of the list. */
static int run_list(struct undo_list *list, int ms)
{
	struct undo *undo;
	int ret = 0;

	while ((undo = list->last)) {
		int one = undo->kind == REMOVE ? undo_folder(list, undo->path, ms) :
			  undo_one(list, undo);

		if (one == -EBUSY && undo->kind == REMOVE && ms == AT_ONCE)
			return one;
		ret = ret ? ret : one;
		drop(list);
	}
	return ret;
}

static int push(struct undo_list *list, const char *path, enum kind kind, const char *value)
{
	struct undo *undo = malloc(sizeof(*undo) + strlen(path) + 1);

	if (!undo)
		return -ENOMEM;
	strcpy(undo->path, path);
	undo->kind = kind;
	undo->value = strdup(value);
	if (!undo->value) {
		free(undo);
		return -ENOMEM;
	}
	undo->before = list->last;
	list->last = undo;
	return 0;
}

/* ---- The keeper's side ---- */

static char *read_to_end(int fd, size_t *size)
{
	char *data = NULL, *more;
	ssize_t n;

	for (*size = 0; ; *size += n) {
		more = realloc(data, *size + 4096);
		if (!more)
			break;
		data = more;
		n = read(fd, data + *size, 4096);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			break;
	}
	return data;
}

/* @recording: set if there is one to be finished */
static bool parse_entries(struct undo_list *list, const char **recording,
			  const char *data, size_t size)
{
	uint32_t length;

	for (size_t at = 0; size - at >= sizeof(length); at += length) {
		const char *path, *value;

		memcpy(&length, data + at, sizeof(length));
		at += sizeof(length);
		if (!length)
			return true;	/* done by the command */
		if (length > size - at)
			break;
		path = data + at;
		value = path + strlen(path) + 2;
		if (value[-1] == FINISH)
			*recording = path;
		else if (value[-1] == DROP)
			drop(list);
		else
			push(list, path, value[-1], value);
	}
	return false;
}

static void finish_recording(const char *path)
{
	struct trace_dat_restored restored;
	int ret = trace_dat_restore(path, true, NULL, &restored);

	free(restored.file);
	/* The file is already whole: a file beside it does not belong to this recording. */
	if (ret && ret != -EEXIST)
		complain(ABOUT_OUTPUT, ret,
			 "%s is not whole: tracemap record --restore %s moves the rest into it, from %s.cpu0 and so on",
			 path, path, path);
}

static void keep(const struct undo_list *command, int fd)
{
	struct undo_list list = {
		.fd = -1, .top = command->top, .top_name = command->top_name,
	};
	const char *recording = NULL;
	size_t size = 0;
	char *data = read_to_end(fd, &size);

	if (data && !parse_entries(&list, &recording, data, size)) {
		run_list(&list, AT_ONCE);
		/* With this lock, the folder is not left behind: see session.c. */
		if (list.last)
			lock_list(list.top, list.last->path);
		/* Do this late: it may take long where the file system has to copy. */
		if (recording)
			finish_recording(recording);
		/* The command of a recorder may have a file open for as long as it runs. */
		run_list(&list, UNTIL_GONE);
	}
	free(data);
	_exit(0);
}

/* Whatever ends the command must not end the keeper. */
static void become_keeper(const struct undo_list *command, int fd)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setsid();
	if (chdir("/") < 0)
		_exit(1);
	prctl(PR_SET_NAME, "tracemap-keeper", 0, 0, 0);
	/* Close the output, as its reader waits for the end. */
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	keep(command, fd);
}

/* ---- The command's side ---- */

int undo_begin(struct undo_list *list, const char *top)
{
	int ends[2];

	list->last = NULL;
	list->fd = -1;
	list->top = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (list->top < 0)
		return -errno;
	list->top_name = strdup(top);
	if (!list->top_name)
		return -ENOMEM;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	list->keeper = fork();
	if (list->keeper < 0) {
		int ret = -errno;

		close(ends[0]);
		close(ends[1]);
		return ret;
	}
	if (!list->keeper) {
		close(ends[1]);
		become_keeper(list, ends[0]);
	}
	close(ends[0]);
	list->fd = ends[1];
	return 0;
}

static bool is_known(const struct undo_list *list, const char *path)
{
	for (const struct undo *undo = list->last; undo; undo = undo->before) {
		if (!strcmp(undo->path, path))
			return true;
	}
	return false;
}

static int add(struct undo_list *list, const char *path, enum kind kind, const char *value)
{
	int ret = push(list, path, kind, value);

	if (!ret)
		tell_keeper(list, path, kind, value);
	return ret;
}

int undo_add_step(struct undo_list *list, const char *path, const char *value)
{
	return add(list, path, value ? WRITE : REMOVE, value ? value : "");
}

/* Add, and note to take out at the end, those PIDs that the user has not put there himself. */
static int add_pids_locked(struct undo_list *list, const char *path, const char *pids)
{
	char *present = read_file_whole(list->top, path, NULL), *fresh = NULL;
	int ret = 0;

	if (!present)
		return -errno;
	if (asprintf(&fresh, "%s\n", pids) < 0) {
		free(present);
		return -ENOMEM;
	}
	keep_other_pids(fresh, present);
	free(present);
	if (*fresh)
		ret = add(list, path, TAKE_PIDS, fresh);
	if (*fresh && !ret)
		ret = write_file(list->top, path, fresh, false);
	free(fresh);
	return ret;
}

int undo_add_pids(struct undo_list *list, const char *path, const char *pids)
{
	int lock = lock_list(list->top, path), ret;

	if (lock < 0)
		return lock;
	ret = add_pids_locked(list, path, pids);
	close(lock);
	return ret;
}

int undo_add(struct undo_list *list, const char *path, const char *value)
{
	/* Each entry wakes the keeper. For a file, the first entry has what it finally gets. */
	return is_known(list, path) ? 0 : undo_add_step(list, path, value);
}

void undo_drop(struct undo_list *list)
{
	drop(list);
	tell_keeper(list, "", DROP, "");
}

void undo_add_recording(struct undo_list *list, const char *path)
{
	char *absolute = realpath(path, NULL);

	if (absolute)
		tell_keeper(list, absolute, FINISH, "");
	free(absolute);
}

int undo_all(struct undo_list *list)
{
	int ret = run_list(list, FOR_A_WHILE);
	uint32_t done = 0;

	if (list->top >= 0)
		close(list->top);
	list->top = -1;
	free(list->top_name);
	list->top_name = NULL;
	if (list->fd < 0)
		return ret;
	write_to_keeper(list, (const char *)&done, sizeof(done));
	close(list->fd);
	list->fd = -1;
	while (waitpid(list->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	return ret;
}

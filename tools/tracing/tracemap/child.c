// SPDX-License-Identifier: GPL-2.0
/*
 * Run the command behind "--".
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "advice.h"
#include "child.h"
#include "stop.h"
#include "verbs.h"

/* How long the command may take to end after SIGTERM */
#define STOP_MS		2000
#define STEP_MS		10

/*
 * Give the process the name of the command from the start, so that events before the
 * exec have that name, too: the kernel notes a name only now and then.
 */
static pid_t fork_named(const char *command)
{
	const char *slash = strrchr(command, '/');
	char own[16] = "";
	pid_t pid;

	prctl(PR_GET_NAME, own, 0, 0, 0);
	prctl(PR_SET_NAME, slash ? slash + 1 : command, 0, 0, 0);
	pid = fork();
	if (pid)
		prctl(PR_SET_NAME, own, 0, 0, 0);
	return pid;
}

static void run(char **argv, int go, int failed)
{
	char byte;
	int error;

	stop_reset();
	/* If there is nothing to read, the process that would start the command is dead. */
	if (read(go, &byte, 1) != 1)
		_exit(EXIT_FAILED);
	execvp(argv[0], argv);
	error = errno;
	if (write(failed, &error, sizeof(error)) < 0)
		_exit(EXIT_NOT_EXECUTED);
	_exit(error == ENOENT ? EXIT_NO_COMMAND : EXIT_NOT_EXECUTED);
}

/* Returns 0 if the file can be executed, or a negative errno. */
static int check_program(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? 0 : -EACCES;
}

/* Look in the folders of $PATH, as execvp() will do. An empty name there is the present folder. */
static int check_path(const char *name)
{
	const char *at = getenv("PATH"), *end;
	char path[PATH_MAX];
	int ret = -ENOENT;

	for (at = at ? at : "/bin:/usr/bin"; ; at = end + 1) {
		int one;

		end = strchrnul(at, ':');
		snprintf(path, sizeof(path), "%.*s%s%s", (int)(end - at), at,
			 end > at ? "/" : "", name);
		one = check_program(path);
		if (!one)
			return 0;
		if (one == -EACCES)
			ret = one;
		if (!*end)
			return ret;
	}
}

int child_check(struct child *child, char **argv)
{
	int ret;

	if (!argv || !argv[0])
		return 0;
	if (!*argv[0])
		ret = -ENOENT;
	else
		ret = strchr(argv[0], '/') ? check_program(argv[0]) : check_path(argv[0]);
	child->refused = ret;
	return ret ? complain(ABOUT_COMMAND, ret, "%s", argv[0]) : 0;
}

static int open_pidfd(pid_t pid)
{
#ifdef SYS_pidfd_open
	return syscall(SYS_pidfd_open, pid, 0);
#else
	(void)pid;
	return -1;
#endif
}

int child_prepare(struct child *child, char **argv)
{
	int go[2], failed[2];

	*child = (struct child)CHILD_NONE;
	if (!argv || !argv[0])
		return 0;
	if (pipe2(go, O_CLOEXEC) < 0)
		return complain(ABOUT_COMMAND, errno, "%s", argv[0]);
	if (pipe2(failed, O_CLOEXEC) < 0) {
		close(go[0]);
		close(go[1]);
		return complain(ABOUT_COMMAND, errno, "%s", argv[0]);
	}
	child->pid = fork_named(argv[0]);
	if (!child->pid) {
		close(go[1]);
		run(argv, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	child->go = go[1];
	child->failed = failed[0];
	if (child->pid < 0) {
		child->pid = 0;
		return complain(ABOUT_COMMAND, errno, "%s", argv[0]);
	}
	child->fd = open_pidfd(child->pid);
	return 0;
}

/* The pipe is closed by a successful exec, or has the errno of a failed one. */
static int wait_for_exec(struct child *child)
{
	int error = 0;
	ssize_t n;

	do {
		n = read(child->failed, &error, sizeof(error));
	} while (n < 0 && errno == EINTR);
	close(child->failed);
	child->failed = -1;
	return n == sizeof(error) ? -error : 0;
}

bool child_ended(struct child *child)
{
	if (!child->pid || child->ended)
		return child->ended;
	child->ended = waitpid(child->pid, &child->status, WNOHANG) == child->pid;
	return child->ended;
}

/* Another signal ends the wait. */
static bool wait_for_end(struct child *child)
{
	const int signals = stop_signals();

	for (int ms = 0; ms < STOP_MS && !child_ended(child) && stop_signals() == signals;
	     ms += STEP_MS)
		stop_wait(child->fd, STEP_MS);
	return child_ended(child);
}

static void say_killed(int signals)
{
	if (stop_signals() > signals)
		say("the command did not end by SIGTERM before another signal came: it is killed");
	else
		say("the command did not end within %d seconds of SIGTERM: it is killed",
		    STOP_MS / 1000);
}

int child_start(struct child *child, const char *name)
{
	int ret;

	if (!child->pid)
		return 0;
	if (!stop_signals() && write(child->go, "", 1) == 1)
		ret = wait_for_exec(child);
	else	/* Ctrl-C ends it, too */
		ret = stop_signals() ? -EINTR : -errno;
	close(child->go);
	child->go = -1;
	if (!ret)
		return 0;
	/* The process is about to exit with a status that says why. */
	wait_for_end(child);
	if (ret != -EINTR)
		return complain(ABOUT_COMMAND, ret, "%s", name);
	say("a signal came before %s was started: it is not started", name);
	return ret;
}

int child_not_started(int error)
{
	if (error == -EINTR)
		return 128 + stop_last_signal();
	return error == -ENOENT ? EXIT_NO_COMMAND : EXIT_NOT_EXECUTED;
}

int child_not_begun(const struct child *child)
{
	return child->refused ? child_not_started(child->refused) : EXIT_FAILED;
}

void child_stop(struct child *child)
{
	const int signals = stop_signals();

	/* A process that was not started ends by itself when this is closed. */
	if (child->go >= 0)
		close(child->go);
	child->go = -1;
	if (child->failed >= 0)
		close(child->failed);
	child->failed = -1;
	if (child->pid && !child_ended(child)) {
		child->stopped = true;
		kill(child->pid, SIGTERM);
		if (!wait_for_end(child)) {
			say_killed(signals);
			kill(child->pid, SIGKILL);
			child->ended = waitpid(child->pid, &child->status, 0) == child->pid;
		}
	}
	if (child->fd >= 0)
		close(child->fd);
	child->fd = -1;
}

int child_exit_status(const struct child *child, const char *name)
{
	int sig;

	if (!child->pid || !child->ended || child->stopped)
		return EXIT_OK;
	if (WIFEXITED(child->status))
		return WEXITSTATUS(child->status);
	sig = WTERMSIG(child->status);
	say("%s was ended by signal %d (%s)%s", name, sig, strsignal(sig),
	    WCOREDUMP(child->status) ? ", core dumped" : "");
	return 128 + sig;
}

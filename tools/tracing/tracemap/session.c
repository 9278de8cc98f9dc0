// SPDX-License-Identifier: GPL-2.0
/*
 * An instance to trace in: one of its own, or one that is only read.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracemap-event.h>

#include "advice.h"
#include "cleanup.h"
#include "read_file.h"
#include "session.h"
#include "text_file.h"

#define OWN_PREFIX	"tracemap-"
#define LEFTOVER_WAITS	8	/* for all that may be left, together 0.4 seconds */
#define LEFTOVER_WAIT_US	50000

struct session {
	struct cleanup cleanup;
	bool own;
	int lock;		/* the folder of its own instance; -1: it is not open */
	char *top;		/* the folder of tracefs */
	char *dir;
	char *folder;		/* the same, from the top level of tracefs */
	char *name;
};

const char *session_dir(const struct session *session)
{
	return session->dir;
}

const char *session_top(const struct session *session)
{
	return session->top;
}

const char *session_name(const struct session *session)
{
	return session->name;
}

int session_live_index(const char *dir)
{
	struct dirent *entry;
	int ret = -EOPNOTSUPP;
	char path[PATH_MAX];
	DIR *cpus;

	snprintf(path, sizeof(path), "%s/per_cpu", dir);
	cpus = opendir(path);
	if (!cpus)
		return errno == ENOENT ? ret : -errno;
	while (ret && (entry = readdir(cpus))) {
		snprintf(path, sizeof(path), "%s/trace_live", entry->d_name);
		if (!faccessat(dirfd(cpus), path, R_OK, AT_EACCESS))
			ret = 0;
		else if (errno != ENOENT)
			ret = -errno;
	}
	closedir(cpus);
	return ret;
}

/* With a live index, mapping is cheapest: so something must keep the buffers from being mapped. */
static bool cannot_be_mapped(const struct session *s, const struct tracemap_cpu *cpu)
{
	return tracemap_cpu_way(cpu) == TRACEMAP_READ && session_live_index(s->dir) != -EOPNOTSUPP;
}

void session_say_how(const struct session *session, const struct tracemap *t,
		     enum tracemap_way asked)
{
	struct tracemap_cpu *cpu = tracemap_get_cpu(t, 0);
	const char *why = "";

	if (!cpu)
		return;
	if (asked == TRACEMAP_CONSUME && cannot_be_mapped(session, cpu))
		why = ", as a snapshot trigger or a latency tracer keeps them from being mapped";
	say("instance %s, %u CPU%s, way: %s%s", session->name, tracemap_nr_cpus(t),
	    plural(tracemap_nr_cpus(t)), tracemap_way_name(tracemap_cpu_way(cpu)), why);
	session_say_idle(session);
	if (!session->own && text_file_runs_functions(session->dir))
		say("the tracer of instance %s traces tracemap, too, which may write more than can be read: echo %d >>%s/set_ftrace_notrace_pid keeps it out",
		    session->name, getpid(), session->dir);
}

/* One that is allocated later begins without any event that was consumed. */
bool session_may_swap(const struct session *session, const struct tracemap *t)
{
	char text[128];
	int ret;

	if (session->own || tracemap_cpu_way(tracemap_get_cpu(t, 0)) != TRACEMAP_READ)
		return false;
	ret = text_file_read(session->dir, "snapshot", text, sizeof(text));
	return ret != -ENOENT && (ret < 0 || !strstr(text, "Snapshot is freed"));
}

void session_say_others(const struct session *session, uint64_t others, bool at_least)
{
	if (!others)
		return;
	say("another program consumed %s%llu event%s meanwhile, which tracemap did not get%s",
	    at_least ? "at least " : "", (unsigned long long)others, plural(others),
	    session_live_index(session->dir) ? "" : "; with --way observe it would");
}

void session_say_idle(const struct session *session)
{
	if (session_is_off(session))
		say("tracing is off in instance %s, so nothing comes before echo 1 >%s/tracing_on",
		    session->name, session->dir);
	if (!text_file_nothing_traced(session->dir))
		return;
	if (session->own)
		say("no event is enabled in it, so only what the command writes to $TRACEMAP_INSTANCE/trace_marker comes; to see more, add -e EVENT, such as -e sched_switch");
	else
		say("no event is enabled in instance %s, so only what is written to trace_marker comes; to see more, echo 1 >%s/events/sched/enable, or use -e EVENT in place of -i",
		    session->name, session->dir);
}

bool session_is_own(const struct session *session)
{
	return session->own;
}

/* ---- Files ---- */

static char *path_of(const struct session *s, const char *file)
{
	char *path;

	return asprintf(&path, "%s/%s", s->folder, file) < 0 ? NULL : path;
}

char *session_get(const struct session *session, const char *file)
{
	char *path = path_of(session, file);
	size_t size = 0;
	char *text = path ? read_file_whole(session->cleanup.top, path, &size) : NULL;

	free(path);
	while (size && text[size - 1] == '\n')
		text[--size] = '\0';
	return text;
}

bool session_has(const struct session *session, const char *file)
{
	char *path = path_of(session, file);
	bool has = path && faccessat(session->cleanup.top, path, F_OK, 0) == 0;

	free(path);
	return has;
}

bool session_is_off(const struct session *session)
{
	char *on = session_get(session, "tracing_on");
	bool off = on && *on == '0';

	free(on);
	return off;
}

uint64_t session_quarter_of_buffer(const struct session *session)
{
	char *text = session_get(session, "buffer_size_kb");
	uint64_t kib = text ? text_file_buffer_kib(text) : 0;

	free(text);
	return kib * 1024 / 4;
}

/* ---- Settings of its own instance ---- */

static int change(struct session *s, const char *file, const char *value, bool truncate)
{
	char *path;
	int ret;

	if (!s->own)
		return -EPERM;
	path = path_of(s, file);
	ret = path ? text_file_write(s->cleanup.top, path, value, truncate) : -ENOMEM;
	free(path);
	return ret;
}

int session_try(struct session *session, const char *file, const char *value)
{
	return change(session, file, value, true);
}

int session_add(struct session *session, const char *file, const char *value)
{
	return change(session, file, value, false);
}

int session_set(struct session *session, const char *file, const char *value)
{
	int ret = session_try(session, file, value);

	if (ret)
		complain(ABOUT_SETTING, ret, "\"%s\" into %s/%s", value, session->dir, file);
	return ret;
}

int session_trace(struct session *session, bool on)
{
	return session->own ? session_set(session, "tracing_on", on ? "1" : "0") : 0;
}

static int hide(struct session *s, const char *file)
{
	char pids[32];
	int ret;

	snprintf(pids, sizeof(pids), "%d %d", getpid(), s->cleanup.pid);
	ret = session_add(s, file, pids);
	/* Without a function tracer, or before Linux 5.7, the process cannot be hidden. */
	if (!ret || ret == -ENOENT || ret == -ENODEV)
		return 0;
	return complain(ABOUT_SETTING, ret, "%s/%s", s->dir, file);
}

int session_hide_from_events(struct session *session)
{
	return hide(session, "set_event_notrace_pid");
}

int session_hide_from_functions(struct session *session)
{
	return hide(session, "set_ftrace_notrace_pid");
}

void session_add_recording(struct session *session, const char *path)
{
	cleanup_add_recording(&session->cleanup, path);
}

void session_drop_recording(struct session *session, const char *path)
{
	cleanup_drop_recording(&session->cleanup, path);
}

/* ---- Opening ---- */

/* The second process of a session that has just been killed is removing its instance. */
static bool goes_away(const char *instances, const char *name, int *waits)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", instances, name);
	while (!access(path, F_OK)) {
		if (!*waits)
			return false;
		usleep(LEFTOVER_WAIT_US);
		--*waits;
	}
	return true;
}

/*
 * Stop the tracing that a killed session has left on, as no reader takes the events. A locked
 * instance is left alone: the second process of its session waits until it can remove it, or the
 * session still runs, and its PID is of another namespace.
 */
static void switch_off_leftover(const char *path)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return;
	if (!flock(dir, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
		say("a session that has ended left an instance behind%s: rmdir %s",
		    cleanup_stop_tracing(dir, ".") ? ", in which tracing is off now" : "", path);
	close(dir);
}

/* Was the instance made by a session that has ended, and is left? */
static void tell_leftover(const char *instances, const char *name, int *waits)
{
	char path[PATH_MAX], *end;
	long pid = strtol(name + strlen(OWN_PREFIX), &end, 10);

	if (pid <= 0 || (*end && *end != '.') || kill(pid, 0) == 0 || errno != ESRCH)
		return;
	if (goes_away(instances, name, waits))
		return;
	snprintf(path, sizeof(path), "%s/%s", instances, name);
	switch_off_leftover(path);
}

static void tell_leftovers(const char *top)
{
	struct dirent *entry;
	int waits = LEFTOVER_WAITS;
	char *instances;
	DIR *dir;

	if (asprintf(&instances, "%s/instances", top) < 0)
		return;
	dir = opendir(instances);
	while (dir && (entry = readdir(dir))) {
		if (!strncmp(entry->d_name, OWN_PREFIX, strlen(OWN_PREFIX)))
			tell_leftover(instances, entry->d_name, &waits);
	}
	if (dir)
		closedir(dir);
	free(instances);
}

/*
 * The second process is there before the folder is made, as that may take long, and SIGKILL may
 * come meanwhile. But a folder that existed before is another program's. Other signals wait.
 */
static int make_folder(struct session *s)
{
	sigset_t all, before;
	int ret;

	if (!faccessat(s->cleanup.top, s->folder, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	s->cleanup.folder = s->folder;
	ret = cleanup_begin(&s->cleanup);
	if (!ret && mkdirat(s->cleanup.top, s->folder, 0750) < 0) {
		ret = -errno;
		cleanup_end(&s->cleanup);
	}
	s->own = !ret;
	sigprocmask(SIG_SETMASK, &before, NULL);
	/* The lock says that the instance is not left behind. */
	if (!ret)
		s->lock = openat(s->cleanup.top, s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->lock >= 0)
		flock(s->lock, LOCK_EX | LOCK_NB);
	return ret;
}

/* @name: NULL for the top level. The former strings are freed. */
static int set_name(struct session *s, const char *name)
{
	free(s->dir);
	free(s->folder);
	free(s->name);
	s->dir = NULL;
	s->folder = NULL;
	s->name = strdup(name ? name : SESSION_TOP);
	if (name && asprintf(&s->folder, "instances/%s", name) < 0)
		s->folder = NULL;
	if (!name)
		s->folder = strdup(".");
	if (s->folder && asprintf(&s->dir, name ? "%s/%s" : "%s", s->top, s->folder) < 0)
		s->dir = NULL;
	return s->dir && s->name ? 0 : -ENOMEM;
}

/* A process in another PID namespace may have the same PID. */
static int make_instance(struct session *s)
{
	int ret = -EEXIST;
	char name[64];

	for (int i = 0; i < 100 && ret == -EEXIST; i++) {
		snprintf(name, sizeof(name), i ? OWN_PREFIX "%d.%d" : OWN_PREFIX "%d", getpid(), i);
		ret = set_name(s, name);
		if (!ret)
			ret = make_folder(s);
	}
	return ret ? complain(ABOUT_NEW, ret, "%s", s->dir ? s->dir : name) : 0;
}

static int open_own(struct session *s)
{
	if (faccessat(s->cleanup.top, ".", R_OK | X_OK, 0) < 0)
		return complain(ABOUT_TRACEFS, errno, "%s", s->top);
	/* A group that tracefs was mounted for may read it. */
	if (faccessat(s->cleanup.top, ".", W_OK, 0) < 0)
		return complain(ABOUT_NEW, errno, "%s/instances", s->top);
	tell_leftovers(s->top);
	return make_instance(s);
}

static int open_existing(struct session *s, const char *instance, bool records)
{
	int ret = set_name(s, strcmp(instance, SESSION_TOP) ? instance : NULL);

	if (ret)
		return ret;
	if (faccessat(s->cleanup.top, s->folder, R_OK | X_OK, 0) < 0) {
		if (errno == ENOENT)
			return complain(ABOUT_INSTANCE, ENOENT, "%s", instance);
		return complain(ABOUT_INSTANCE, errno, "%s", s->dir);
	}
	ret = records ? cleanup_begin(&s->cleanup) : 0;
	return ret ? complain(ABOUT_INSTANCE, ret, "%s", instance) : 0;
}

int session_find_dir(char **dir, const char *instance)
{
	int ret = tracemap_find_dir(dir, strcmp(instance, SESSION_TOP) ? instance : NULL);

	if (ret == -ENOENT)
		return complain(ABOUT_TRACEFS, ret, "tracefs");
	if (ret == -ENXIO)
		ret = -ENOENT;	/* there is a tracefs, but no such folder */
	return ret ? complain(ABOUT_INSTANCE, ret, "instance %s", instance) : 0;
}

static int open_top(struct session *s)
{
	int ret = session_find_dir(&s->top, SESSION_TOP);

	if (ret)
		return ret;
	s->cleanup.top_name = s->top;
	s->cleanup.top = open(s->top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return s->cleanup.top < 0 ? complain(ABOUT_TRACEFS, errno, "%s", s->top) : 0;
}

int session_open(struct session **session, const char *instance, bool records)
{
	struct session *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return complain(ABOUT_INSTANCE, ENOMEM, "session");
	s->cleanup.fd = -1;
	s->cleanup.top = -1;
	s->lock = -1;
	ret = open_top(s);
	if (!ret)
		ret = instance ? open_existing(s, instance, records) : open_own(s);
	if (ret) {
		session_close(s);
		return ret;
	}
	*session = s;
	return 0;
}

int session_close(struct session *session)
{
	int ret;

	if (!session)
		return 0;
	ret = session->own ? cleanup_remove(&session->cleanup) : 0;
	if (!cleanup_end(&session->cleanup) && !ret)
		ret = -EIO;
	if (session->lock >= 0)
		close(session->lock);
	if (session->cleanup.top >= 0)
		close(session->cleanup.top);
	free(session->top);
	free(session->dir);
	free(session->folder);
	free(session->name);
	free(session);
	return ret;
}

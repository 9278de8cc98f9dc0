// SPDX-License-Identifier: GPL-2.0
/*
 * An instance to trace in, left as it was found.
 */
#include <ctype.h>
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
#include "read_file.h"
#include "session.h"
#include "text_file.h"
#include "undo.h"

#define OWN_PREFIX	"tracemap-"
#define LEFTOVER_WAITS	8	/* for all that may be left, together 0.4 seconds */
#define LEFTOVER_WAIT_US	50000

struct session {
	struct undo_list undo;
	bool own;
	int claim;		/* the folder of the instance; -1: it is not open */
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
	return session->undo.top_name;
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
	if (session_is_off(session))
		say("tracing is off in instance %s, so nothing comes before echo 1 >%s/tracing_on",
		    session->name, session->dir);
	if (!text_file_nothing_traced(session->dir))
		return;
	if (session->own)
		say("no event is enabled in it, so only what the command writes to $TRACEMAP_INSTANCE/trace_marker comes; to see more, add -e EVENT, such as -e sched_switch");
	else
		say("no event is enabled in instance %s, so only what is written to trace_marker comes; to see more, add -e EVENT, or echo 1 >%s/events/sched/enable",
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
	char *text = path ? read_file_whole(session->undo.top, path, &size) : NULL;

	free(path);
	while (size && text[size - 1] == '\n')
		text[--size] = '\0';
	return text;
}

bool session_has(const struct session *session, const char *file)
{
	char *path = path_of(session, file);
	bool has = path && faccessat(session->undo.top, path, F_OK, 0) == 0;

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

/* ---- Former contents, as they have to be written ---- */

/* Of "[local] global" take the one in brackets. */
static void pick_bracketed(char *text)
{
	char *start = strchr(text, '['), *end = start ? strchr(start, ']') : NULL;

	if (!end)
		return;
	memmove(text, start + 1, end - start - 1);
	text[end - start - 1] = '\0';
}

/* Of "7 (expanded: 1408)" take the size that the buffer has once it is used. */
static void pick_expanded(char *text)
{
	char *start = strstr(text, "expanded: ");

	if (!start)
		return;
	start += strlen("expanded: ");
	memmove(text, start, strspn(start, "0123456789") + 1);
	text[strspn(text, "0123456789")] = '\0';
}

/*
 * Take the names from a list of functions, without a heading, or a module or count behind
 * a name. Leave out probes ("f:traceoff:unlimited"), which are listed too: they stay when
 * the list is emptied, and would be there twice.
 */
static void pick_names(char *text)
{
	char *to = text, *line, *rest = text;

	while ((line = strsep(&rest, "\n"))) {
		size_t length = strcspn(line, " \t");

		if (line[0] == '#' || !length)
			continue;
		if (memchr(line, ':', length) && !memmem(line, length, ":mod:", 5))
			continue;
		memmove(to, line, length);
		to += length;
		*to++ = '\n';
	}
	*to = '\0';
}

/* A list without PIDs reads as text, such as "no pid": it is restored as an empty list. */
static void pick_pids(char *text)
{
	if (!isdigit((unsigned char)text[0]))
		text[0] = '\0';
}

/* A filter that the kernel has refused stays in the file, says what is wrong, and lets all by. */
static void pick_filter(char *text)
{
	if (!strcmp(text, "none") || strstr(text, "\nparse_error"))
		strcpy(text, "0");
}

/* "1*" means enabled, with a trigger that waits. */
static void pick_digit(char *text)
{
	if (text[0])
		text[1] = '\0';
}

static const struct {
	const char *end;	/* of the file's name */
	void (*pick)(char *text);
} pickers[] = {
	{ "trace_clock", pick_bracketed },
	{ "buffer_size_kb", pick_expanded },
	{ "set_ftrace_filter", pick_names },
	{ "set_ftrace_notrace", pick_names },
	{ "_pid", pick_pids },
	{ "/filter", pick_filter },
	{ "/enable", pick_digit },
};

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && !strcmp(text + length - end_length, end);
}

static char *as_it_was(const struct session *s, const char *file)
{
	char *text = session_get(s, file);

	for (unsigned int i = 0; text && i < sizeof(pickers) / sizeof(pickers[0]); i++) {
		if (ends_with(file, pickers[i].end))
			pickers[i].pick(text);
	}
	return text;
}

/* ---- Changing settings ---- */

/* What may not be written is not changed, and needs not be restored. */
static int may_write(const struct session *s, const char *path)
{
	return faccessat(s->undo.top, path, W_OK, AT_EACCESS) < 0 ? -errno : 0;
}

static int keep_setting(struct session *s, const char *file, const char *path)
{
	char *before;
	int ret;

	/* The instance is removed with everything in it. */
	if (s->own)
		return 0;
	ret = may_write(s, path);
	if (ret)
		return ret;
	before = as_it_was(s, file);
	if (!before)
		return -errno;
	/* The CPUs have different sizes, which could not be restored. */
	if (ends_with(file, "buffer_size_kb") && !strcmp(before, "X")) {
		free(before);
		return -ENOTUNIQ;
	}
	ret = undo_add(&s->undo, path, before);
	free(before);
	return ret;
}

static int change(struct session *s, const char *file, const char *value, bool truncate)
{
	char *path = path_of(s, file);
	int ret = path ? keep_setting(s, file, path) : -ENOMEM;

	if (!ret)
		ret = write_file(s->undo.top, path, value, truncate);
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

void session_add_recording(struct session *session, const char *path)
{
	undo_add_recording(&session->undo, path);
}

int session_keep(struct session *session, const char *file)
{
	char *path = path_of(session, file);
	int ret = path ? keep_setting(session, file, path) : -ENOMEM;

	free(path);
	if (ret)
		complain(ABOUT_SETTING, ret, "%s/%s", session->dir, file);
	return ret;
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
	return session_set(session, "tracing_on", on ? "1" : "0");
}

int session_put_back_while_off(struct session *session)
{
	char *path;
	int ret;

	if (session->own)
		return 0;
	path = path_of(session, "tracing_on");
	ret = path ? undo_add_step(&session->undo, path, "0") : -ENOMEM;
	free(path);
	return ret ? complain(ABOUT_SETTING, ret, "%s/tracing_on", session->dir) : 0;
}

static int hide(struct session *s, const char *file)
{
	char *path = path_of(s, file), pids[32];
	int ret = path ? 0 : -ENOMEM;

	snprintf(pids, sizeof(pids), "%d %d", getpid(), s->undo.keeper);
	if (!ret && s->own)
		ret = write_file(s->undo.top, path, pids, false);
	else if (!ret)
		ret = may_write(s, path) ?: undo_add_pids(&s->undo, path, pids);
	free(path);
	/* Without a function tracer, or before Linux 5.7, the process cannot be hidden. */
	return ret == -ENOENT || ret == -ENODEV ? 0 : ret;
}

int session_hide_from_events(struct session *session)
{
	int ret = hide(session, "set_event_notrace_pid");

	return ret ? complain(ABOUT_SETTING, ret, "%s/set_event_notrace_pid", session->dir) : 0;
}

int session_hide_from_functions(struct session *session)
{
	return hide(session, "set_ftrace_notrace_pid");
}

/* ---- Opening ---- */

/* The keeper of a session that has just been killed is removing its instance. */
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
		    stop_tracing(dir, ".") ? ", in which tracing is off now" : "", path);
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

void session_tell_leftovers(void)
{
	char *top;

	if (tracemap_find_dir(&top, NULL))
		return;
	tell_leftovers(top);
	free(top);
}

/*
 * Tell the keeper before the folder is made, as that may take long, and SIGKILL may come
 * meanwhile. Do not tell it of a folder that existed before, which is another program's.
 * Other signals wait.
 */
static int make_folder(struct session *s)
{
	sigset_t all, before;
	int ret;

	if (!faccessat(s->undo.top, s->folder, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	ret = undo_add(&s->undo, s->folder, NULL);
	if (!ret && mkdirat(s->undo.top, s->folder, 0750) < 0) {
		ret = -errno;
		undo_drop(&s->undo);
	}
	s->own = !ret;
	sigprocmask(SIG_SETMASK, &before, NULL);
	/* The lock says that the instance is not left behind. */
	if (!ret)
		s->claim = openat(s->undo.top, s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->claim >= 0)
		flock(s->claim, LOCK_EX | LOCK_NB);
	return ret;
}

/* @name: NULL for the top level. The former strings are freed. */
static int set_name(struct session *s, const char *top, const char *name)
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
	if (s->folder && asprintf(&s->dir, name ? "%s/%s" : "%s", top, s->folder) < 0)
		s->dir = NULL;
	return s->dir && s->name ? 0 : -ENOMEM;
}

/* A process in another PID namespace may have the same PID. */
static int make_instance(struct session *s, const char *top)
{
	int ret = -EEXIST;
	char name[64];

	for (int i = 0; i < 100 && ret == -EEXIST; i++) {
		snprintf(name, sizeof(name), i ? OWN_PREFIX "%d.%d" : OWN_PREFIX "%d", getpid(), i);
		ret = set_name(s, top, name);
		if (!ret)
			ret = make_folder(s);
	}
	return ret ? complain(ABOUT_NEW, ret, "%s", s->dir ? s->dir : name) : 0;
}

static int open_own(struct session *s, const char *top)
{
	if (faccessat(s->undo.top, ".", R_OK | X_OK, 0) < 0)
		return complain(ABOUT_TRACEFS, errno, "%s", top);
	/* A group that tracefs was mounted for may read it. */
	if (faccessat(s->undo.top, ".", W_OK, 0) < 0)
		return complain(ABOUT_NEW, errno, "%s/instances", top);
	tell_leftovers(top);
	return make_instance(s, top);
}

/* A group may read the folder, but not write to it: each setting reports what it needs. */
static int open_existing(struct session *s, const char *top, const char *instance)
{
	int ret = set_name(s, top, strcmp(instance, SESSION_TOP) ? instance : NULL);

	if (ret)
		return ret;
	if (faccessat(s->undo.top, s->folder, R_OK | X_OK, 0) < 0) {
		if (errno == ENOENT)
			return complain(ABOUT_INSTANCE, ENOENT, "%s", instance);
		return complain(ABOUT_INSTANCE, errno, "%s", s->dir);
	}
	return 0;
}

/* The keeper has it, too: the lock stays until session or keeper has restored everything. */
static int open_claim(const char *instance)
{
	char *dir;
	int fd;

	if (!instance ||
	    tracemap_find_dir(&dir, strcmp(instance, SESSION_TOP) ? instance : NULL))
		return -1;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(dir);
	return fd;
}

int session_claim(struct session *session)
{
	/* Not every file system has locks. */
	if (session->claim < 0 || !flock(session->claim, LOCK_EX | LOCK_NB) ||
	    errno != EWOULDBLOCK)
		return 0;
	say("instance %s: another tracemap changes its settings until its end, or still restores them: end it, or try again; or leave out -i, for an instance of its own; or give -i alone, to read what is traced there",
	    session->name);
	return -EBUSY;
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

int session_open(struct session **session, const char *instance)
{
	struct session *s = calloc(1, sizeof(*s));
	char *top = NULL;
	int ret;

	if (!s)
		return complain(ABOUT_INSTANCE, ENOMEM, "session");
	s->undo.fd = -1;
	s->undo.top = -1;
	s->claim = -1;
	ret = session_find_dir(&top, SESSION_TOP);
	if (!ret) {
		s->claim = open_claim(instance);
		ret = undo_begin(&s->undo, top);
		if (ret)
			complain(ABOUT_TRACEFS, ret, "%s", top);
	}
	if (!ret)
		ret = instance ? open_existing(s, top, instance) : open_own(s, top);
	free(top);
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
	ret = undo_all(&session->undo);
	if (session->claim >= 0)
		close(session->claim);
	free(session->dir);
	free(session->folder);
	free(session->name);
	free(session);
	return ret;
}

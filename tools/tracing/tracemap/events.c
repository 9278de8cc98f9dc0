// SPDX-License-Identifier: GPL-2.0
/*
 * Find events by name, and set their filters.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "advice.h"
#include "events.h"

void events_free(struct events *list)
{
	for (size_t i = 0; i < list->nr; i++)
		free(list->name[i]);
	free(list->name);
	*list = (struct events){ };
}

static int add_event(struct events *list, const char *name)
{
	char **more = realloc(list->name, (list->nr + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	list->name = more;
	list->name[list->nr] = strdup(name);
	if (!list->name[list->nr])
		return -ENOMEM;
	list->nr++;
	return 0;
}

/* ---- The list of events ---- */

bool events_match(const char *name, const char *pattern)
{
	const char *colon = strchr(name, ':');
	char system[256];

	if (strchr(pattern, ':'))
		return !fnmatch(pattern, name, 0);
	snprintf(system, sizeof(system), "%.*s", (int)(colon - name), name);
	return !fnmatch(pattern, system, 0) || !fnmatch(pattern, colon + 1, 0);
}

/* Whether a system can have an event that @pattern means */
static bool has_match(const char *system, const char *pattern)
{
	const char *colon = strchr(pattern, ':');
	char wanted[256];

	/* A colon may be within brackets. */
	if (!colon || strchr(pattern, '['))
		return true;
	snprintf(wanted, sizeof(wanted), "%.*s", (int)(colon - pattern), pattern);
	return !fnmatch(wanted, system, 0);
}

/*
 * The kernel makes the folder of an event when a path is looked up in it, which takes 10 us on
 * Linux 6.18, and as long to remove it: no event is looked up that @pattern does not mean. The
 * events of tracers cannot be switched on.
 */
static int list_event(struct events *list, struct session *session, const char *system,
		      const char *event, const char *pattern)
{
	char file[600], name[600];

	snprintf(name, sizeof(name), "%s:%s", system, event);
	if (!events_match(name, pattern))
		return 0;
	snprintf(file, sizeof(file), "events/%s/%s/enable", system, event);
	return session_has(session, file) ? add_event(list, name) : 0;
}

static int list_system(struct events *list, struct session *session, const char *system,
		       const char *pattern)
{
	struct dirent *entry;
	char path[4096];
	int ret = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/events/%s", session_dir(session), system);
	dir = opendir(path);
	if (!dir)
		return 0;
	while (!ret && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && entry->d_type != DT_REG)
			ret = list_event(list, session, system, entry->d_name, pattern);
	}
	closedir(dir);
	return ret;
}

/* List the events that @pattern means. */
static int list_events(struct events *list, struct session *session, const char *pattern)
{
	struct dirent *entry;
	char path[4096];
	int ret = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/events", session_dir(session));
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (!ret && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && entry->d_type != DT_REG &&
		    has_match(entry->d_name, pattern))
			ret = list_system(list, session, entry->d_name, pattern);
	}
	closedir(dir);
	return ret;
}

/* ---- Switching on ---- */

/* Print the last error that the kernel's parser of filters has logged, three lines. */
static void show_error_log(struct session *session)
{
	char *log = session_get(session, "error_log");
	char *last = log, *rest, *line;
	bool operator = false;

	for (char *at = log; at && (at = strstr(at, "error: ")); at++) {
		char *start = at;

		while (start > log && start[-1] != '\n')
			start--;
		last = start;
	}
	rest = last && *last ? last : NULL;
	while (rest && (line = strsep(&rest, "\n"))) {
		say("  %s", line);
		if (strstr(line, "Invalid operator"))
			operator = true;
	}
	if (operator)
		say("use ==, !=, <, <=, >, >= or & for a number; ==, != or ~ for a text");
	free(log);
}

static int set_filter(struct session *session, const char *name, const char *folder,
		      const char *filter)
{
	char file[600];
	int ret;

	snprintf(file, sizeof(file), "%s/filter", folder);
	ret = session_try(session, file, filter);
	if (ret == -EINVAL) {
		say("%s does not take the filter '%s'; the kernel says:", name, filter);
		show_error_log(session);
	} else if (ret) {
		complain(ABOUT_SETTING, ret, "%s, filter '%s'", name, filter);
	}
	return ret;
}

static void folder_of(const char *name, char *folder, size_t size)
{
	snprintf(folder, size, "events/%s", name);
	*strchr(folder, ':') = '/';
}

int events_find(struct events *found, struct session *session, const char *pattern)
{
	int ret = list_events(found, session, pattern);

	if (ret)
		return complain(ABOUT_TRACEFS, ret, "%s/events", session_dir(session));
	if (found->nr)
		return 0;
	say("there is no event \"%s\": see %s/available_events", pattern, session_top(session));
	return -ENOENT;
}

int events_filter(const struct events *events, struct session *session, const char *filter)
{
	char folder[560];
	int ret = 0;

	for (size_t i = 0; filter && i < events->nr && !ret; i++) {
		folder_of(events->name[i], folder, sizeof(folder));
		ret = set_filter(session, events->name[i], folder, filter);
	}
	if (ret == -EINVAL && events->nr > 1)
		say("the -e means %zu events: each of them has to take the filter", events->nr);
	return ret;
}

int events_enable(const struct events *events, struct session *session)
{
	char folder[560], file[600];
	int ret = 0;

	for (size_t i = 0; i < events->nr && !ret; i++) {
		folder_of(events->name[i], folder, sizeof(folder));
		snprintf(file, sizeof(file), "%s/enable", folder);
		ret = session_set(session, file, "1");
	}
	return ret;
}

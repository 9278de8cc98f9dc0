// SPDX-License-Identifier: GPL-2.0
/*
 * Find events by name, suggest others, and set their filters.
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

#define NAME_MAX_LENGTH	255	/* "system:event"; the kernel allows less */

void events_free(struct events *list)
{
	for (size_t i = 0; i < list->nr; i++)
		free(list->name[i]);
	free(list->name);
	*list = (struct events){ };
}

int events_add(struct events *list, const char *name)
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

/* Whether a system can have an event that @pattern means; a NULL one means all. */
static bool has_match(const char *system, const char *pattern)
{
	const char *colon = pattern ? strchr(pattern, ':') : NULL;
	char wanted[NAME_MAX_LENGTH + 1];

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
	if (pattern && !events_match(name, pattern))
		return 0;
	snprintf(file, sizeof(file), "events/%s/%s/enable", system, event);
	return session_has(session, file) ? events_add(list, name) : 0;
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

/* List the events that @pattern means, or all if it is NULL. */
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

/* ---- Suggestions ---- */

static size_t least(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* How many letters have to be changed, added, removed, or exchanged with the next one */
static size_t distance(const char *a, const char *b)
{
	size_t length = strlen(b), rows[3][NAME_MAX_LENGTH + 1], i, j;
	size_t *row = rows[0], *old = rows[1], *older = rows[2], *next;

	if (length > NAME_MAX_LENGTH)
		return length;
	for (i = 0; i <= length; i++)
		row[i] = i;
	for (j = 1; a[j - 1]; j++) {
		next = older;
		older = old;
		old = row;
		row = next;
		row[0] = j;
		for (i = 1; i <= length; i++) {
			row[i] = least(old[i] + 1, row[i - 1] + 1,
				       old[i - 1] + (a[j - 1] != b[i - 1]));
			if (i > 1 && j > 1 && a[j - 1] == b[i - 2] && a[j - 2] == b[i - 1] &&
			    older[i - 2] + 1 < row[i])
				row[i] = older[i - 2] + 1;
		}
	}
	return row[length];
}

/* An event that has the pattern as a part of its name counts as near, too. */
static bool is_part(const char *name, const char *event, const char *pattern, const char *meant)
{
	if (meant && meant[1] && !strncmp(name, pattern, meant + 1 - pattern))
		return strstr(event, meant + 1);
	return strlen(pattern) > 3 && strstr(name, pattern);
}

static bool is_near(size_t far, size_t length)
{
	return far * 3 <= length || (far <= 2 && far * 2 <= length);
}

static size_t how_far(const char *name, const char *pattern)
{
	const char *event = strchr(name, ':') + 1;
	const char *meant = strchr(pattern, ':');
	const char *wanted = meant ? meant + 1 : pattern;
	size_t far = distance(pattern, name), part = distance(wanted, event);

	/* An event of another system has to be near by its own name. */
	if (part < far && is_near(part, strlen(wanted)))
		far = part;
	if (far > 2 && is_part(name, event, pattern, meant))
		far = 2;
	return far;
}

/* How far a system is from the one that the pattern names, or from all of the pattern */
static size_t how_far_system(const char *name, int length, const char *pattern)
{
	char system[NAME_MAX_LENGTH + 1], meant[NAME_MAX_LENGTH + 1];

	snprintf(system, sizeof(system), "%.*s", length, name);
	snprintf(meant, sizeof(meant), "%.*s", (int)strcspn(pattern, ":"), pattern);
	return distance(meant, system);
}

struct near {
	const char *name;
	int length;
	size_t far;
};

static void keep_nearest(struct near *near, const char *name, int length, size_t far, size_t most)
{
	if (is_near(far, most) && (!near->name || far < near->far))
		*near = (struct near){ name, length, far };
}

void events_near(const struct events *all, const char *pattern, char *text, size_t size)
{
	struct near near = { .name = NULL };
	const char *last = "";

	*text = '\0';
	if (strlen(pattern) > NAME_MAX_LENGTH)
		return;
	for (size_t i = 0; i < all->nr; i++) {
		const char *name = all->name[i];
		int length = strcspn(name, ":");

		/* The events of a system follow each other. One that is right is no suggestion. */
		if (strncmp(name, last, length + 1) && strncmp(name, pattern, length + 1))
			keep_nearest(&near, name, length, how_far_system(name, length, pattern),
				     strcspn(pattern, ":"));
		keep_nearest(&near, name, strlen(name), how_far(name, pattern), strlen(pattern));
		last = name;
	}
	if (near.name)
		snprintf(text, size, "; near is: %.*s", near.length, near.name);
}

static void say_none(struct session *session, const char *pattern)
{
	struct events all = { };
	char near[NEAR_LENGTH];

	list_events(&all, session, NULL);
	events_near(&all, pattern, near, sizeof(near));
	if (*near)
		say("there is no event \"%s\"%s; %s/available_events lists all", pattern, near,
		    session_top(session));
	else
		say("there is no event \"%s\": see %s/available_events", pattern,
		    session_top(session));
	events_free(&all);
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
	int ret;

	if (strlen(pattern) > NAME_MAX_LENGTH) {
		say("there is no event \"%.20s...\" of %zu characters: see available_events",
		    pattern, strlen(pattern));
		return -ENOENT;
	}
	ret = list_events(found, session, pattern);
	if (ret)
		return complain(ABOUT_TRACEFS, ret, "%s/events", session_dir(session));
	if (found->nr)
		return 0;
	say_none(session, pattern);
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

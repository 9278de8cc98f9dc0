/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A list of what has to be restored, in which the last change comes first. Two processes have
 * it, the command and its keeper. The command sends an entry to the keeper before it changes
 * the setting or makes the folder, so that SIGKILL at any time leaves nothing behind. It
 * drops the entry of a folder that it could not make.
 */
#ifndef _TRACEMAP_UNDO_H
#define _TRACEMAP_UNDO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct undo;	/* an entry, with a link to the one before */

struct undo_list {
	struct undo *last;
	pid_t keeper;
	int fd;		/* a pipe to the keeper; -1: there is no keeper */
	int top;	/* the folder of tracefs, where all paths begin; -1: it is not open */
	char *top_name;
};

/*
 * Fork the keeper. Returns 0 or a negative errno. The folder @top is kept open, so that
 * everything can be restored even if tracefs is unmounted meanwhile.
 */
int undo_begin(struct undo_list *list, const char *top);

/*
 * Add an entry: write @value to the file @path, or, if @value is NULL, remove the folder
 * @path, of an instance. If a process has a file of that open, tracing ends there at once;
 * the command tries for 2 seconds to remove it, and the keeper until it is gone. Of several
 * entries for the same @path only the first one counts.
 */
int undo_add(struct undo_list *list, const char *path, const char *value);

/*
 * Like undo_add(), but of several entries for @path this one counts, too: as it is the last
 * one, it is written first, before earlier changes are undone.
 */
int undo_add_step(struct undo_list *list, const char *path, const char *value);

/*
 * Write those of @pids, which are separated by a space, that the list in the file @path has not
 * got to the end of it, and add an entry: take them out. Other processes may do the same at the
 * same time.
 */
int undo_add_pids(struct undo_list *list, const char *path, const char *pids);

/* Drop the last entry, whose folder could not be made: it may be another program's. */
void undo_drop(struct undo_list *list);

/* Let the keeper finish this recording if the command cannot. There is at most one. */
void undo_add_recording(struct undo_list *list, const char *path);

/* Restore everything, and end the keeper. Returns 0, or the first error and a message. */
int undo_all(struct undo_list *list);

/* Turn tracing, events and tracer off in an instance. Returns whether tracing is off. */
bool stop_tracing(int top, const char *folder);

/* Write all of @value to the file; with @truncate, which lists need, empty it before. */
int write_file(int top, const char *path, const char *value, bool truncate);

#endif /* _TRACEMAP_UNDO_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A list of what has to be put back, the last thing first. Two processes have
 * it: the command, and its keeper, which is sent every entry before the setting
 * it puts back is changed; that of a folder right after it was made, when it is ours.
 */
#ifndef _TRACEMAP_UNDO_H
#define _TRACEMAP_UNDO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct undo;	/* an entry, linked to the one before */

struct undo_list {
	struct undo *last;
	pid_t keeper;
	int fd;		/* to the keeper, -1: there is none */
	int top;	/* the folder of tracefs: all paths are from there, -1: there is none */
	char *top_name;
};

/*
 * Forks the keeper; 0 or a negative errno. @top is opened, so that all of it can be put
 * back though tracefs is unmounted meanwhile.
 */
int undo_begin(struct undo_list *list, const char *top);

/*
 * @value NULL: remove the folder @path; else write @value to the file @path. Of entries
 * for the same @path the first one counts.
 */
int undo_add(struct undo_list *list, const char *path, const char *value);

/* A recording that the keeper shall finish if the command cannot. There is one at most. */
void undo_add_recording(struct undo_list *list, const char *path);

/* Undo all of it, dismiss the keeper. Returns 0 or the first error, said. */
int undo_all(struct undo_list *list);

/* Empty the file if it is a list (@truncate), write all of @value to it. */
int write_file(int top, const char *path, const char *value, bool truncate);

#endif /* _TRACEMAP_UNDO_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session has an instance to trace in. By default that is made for the session, as
 * "tracemap-PID", and removed at the end. An instance that was there is read, and nothing is
 * changed in it.
 *
 * If the command dies without session_close(), by SIGKILL or a crash, a second process removes
 * the instance (cleanup.h). Only if both are killed, or a process keeps a file of it open, does
 * the instance stay, with tracing off: "rmdir .../instances/tracemap-PID" removes it, and the
 * next session says so.
 *
 * Open a session before there are threads, mappings and children. A call that returns a
 * negative errno has already reported it to the user (advice.h).
 */
#ifndef _TRACEMAP_SESSION_H
#define _TRACEMAP_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "tracemap.h"

struct session;

/* The name by which the top level is given as an instance. */
#define SESSION_TOP	"/"

/* Find the folder of an instance. Returns 0, or a negative errno that was reported. */
int session_find_dir(char **dir, const char *instance);

/*
 * @instance is one that exists, or SESSION_TOP, or NULL to make one for the session. @records:
 * there will be a recording, see session_add_recording().
 */
int session_open(struct session **session, const char *instance, bool records);

/*
 * Remove the session's own instance. Before, close what was opened in it: the kernel does not
 * remove an instance while its buffers are mapped.
 */
int session_close(struct session *session);

const char *session_top(const struct session *session);		/* the folder of the top level */
const char *session_dir(const struct session *session);		/* for tracemap_open() */
const char *session_name(const struct session *session);	/* "/" for the top level */
bool session_is_own(const struct session *session);

/*
 * Whether an instance, of this folder, can be observed: 0, -EOPNOTSUPP if no CPU has a live
 * index, or another negative errno: why none may be opened.
 */
int session_live_index(const char *dir);

/*
 * Tell the user which instance it is, and how its CPUs are read; and why, if they are not
 * read in the way that is cheapest here. @asked is the way that the user has asked for.
 */
void session_say_how(const struct session *session, const struct tracemap *t,
		     enum tracemap_way asked);

/*
 * Whether snapshots may swap the buffers of the instance for others, with what the kernel counts of
 * them. Those that are mapped stay.
 */
bool session_may_swap(const struct session *session, const struct tracemap *t);

/* Tell the user how many events others have consumed, or that it were that many @at_least. */
void session_say_others(const struct session *session, uint64_t others, bool at_least);

/* Tell the user why nothing is recorded in the instance: tracing is off, or nothing is traced. */
void session_say_idle(const struct session *session);

/*
 * Write @value to @file of the session's own instance, such as "events/sched/enable". Returns
 * -EPERM in one that was there. session_try() prints no message when it fails.
 */
int session_set(struct session *session, const char *file, const char *value);
int session_try(struct session *session, const char *file, const char *value);

/* Like session_try(), but append @value to the file. */
int session_add(struct session *session, const char *file, const char *value);

/*
 * If the command is killed, this recording is to be finished, see trace_dat_restore(). The one
 * that was added before is finished by the second process, as soon as the caller has closed it.
 */
void session_add_recording(struct session *session, const char *path);

/* When that is done, remove this one, unless there is none, or it is not whole. */
void session_drop_recording(struct session *session, const char *path);

/* The contents of a file of the instance, without the last newline; the caller frees them. */
char *session_get(const struct session *session, const char *file);
bool session_has(const struct session *session, const char *file);

/* Whether tracing is off in the instance; false if unknown. */
bool session_is_off(const struct session *session);

/* A quarter of the bytes of a CPU's buffer once it is used; 0 if the CPUs' differ. */
uint64_t session_quarter_of_buffer(const struct session *session);

/*
 * Keep this process and its second one out of the events, or out of a tracer of functions,
 * because reading would otherwise make more events to read. It is no error where the kernel has
 * no list of such processes.
 */
int session_hide_from_events(struct session *session);
int session_hide_from_functions(struct session *session);

/* Switch tracing on or off in the session's own instance; one that was there stays as it is. */
int session_trace(struct session *session, bool on);

#endif /* _TRACEMAP_SESSION_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session: an instance to trace in, and the duty to leave everything as it
 * was found.
 *
 * By default the instance is made for the session, "tracemap-PID", and removed
 * at its end. In one that was there before, every setting changed through
 * session_set() is put back.
 *
 * A small process, the keeper, knows the same: if the command dies without
 * session_close() (SIGKILL, a crash), the keeper does it. Only if both are
 * killed does something stay: "rmdir .../instances/tracemap-PID" removes it,
 * and the next session says so.
 *
 * Open one before there are threads, mappings and children. What goes wrong
 * has been said (advice.h) when a call returns a negative errno.
 */
#ifndef _TRACEMAP_SESSION_H
#define _TRACEMAP_SESSION_H

#include <stdbool.h>
#include <stddef.h>

struct session;

/* The name of the instance that is the top level. */
#define SESSION_TOP	"/"

/* @instance: an existing one, SESSION_TOP; NULL: one of its own */
int session_open(struct session **session, const char *instance);

/*
 * Puts everything back. Close what was opened in the instance first: a mapping
 * keeps it from being removed.
 */
int session_close(struct session *session);

const char *session_dir(const struct session *session);		/* for tracemap_open() */
const char *session_name(const struct session *session);	/* "/" for the top level */
bool session_is_own(const struct session *session);

/* Say which instance it is, and how the CPUs that are open in it are read. */
struct tracemap;
void session_say_how(const struct session *session, const struct tracemap *t);

/*
 * Write @value to @file of the instance ("events/sched/enable"), having kept
 * what was there. session_try() returns a negative errno and says nothing.
 */
int session_set(struct session *session, const char *file, const char *value);
int session_try(struct session *session, const char *file, const char *value);

/* A recording to be finished if this process is killed, see trace_dat_restore(). */
void session_add_recording(struct session *session, const char *path);

/* Put @file back at the end, for what else is going to change it. */
int session_keep(struct session *session, const char *file);

/* The same, but add to what is there. */
int session_add(struct session *session, const char *file, const char *value);

/* Contents of a file of the instance, without the line end; to be freed. */
char *session_get(const struct session *session, const char *file);
bool session_has(const struct session *session, const char *file);

/*
 * Keep what this process and its keeper do out of the trace: reading must not make more to read.
 * @functions: a tracer of functions is used, too. Where it is not, the kernel need not let
 * us hide from it.
 */
int session_hide_self(struct session *session, bool functions);

/* Trace, or stop it, and let the present state come back at the end. */
int session_trace(struct session *session, bool on);

#endif /* _TRACEMAP_SESSION_H */

/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * libtracemap-event: what the records of libtracemap mean, as text or JSON.
 *
 *	struct tracemap_decoder *d;
 *	struct tracemap_line line = TRACEMAP_LINE_INIT;
 *
 *	ret = tracemap_find_dir(&dir, "mine");
 *	ret = tracemap_decoder_new(&d, dir);
 *	tracemap_text_header(d, NULL, &line);
 *	while (tracemap_merge_next(m, &rec) > 0)
 *		tracemap_text(d, &rec, &line);
 *	fwrite(line.text, 1, line.length, stdout);
 *
 * The text is that of the kernel's file "trace", with every loss of events where it
 * happened. The formats of the events come from the running kernel.
 *
 * As in libtracemap, calls return a negative errno on failure, the library starts no
 * thread and prints nothing, and only one thread at a time may use a handle.
 */
#ifndef _TRACEMAP_EVENT_H
#define _TRACEMAP_EVENT_H

#include <stdarg.h>

#include "tracemap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From libtraceevent's event-parse.h */
struct tep_handle;
struct tep_event;

/* ---- Where things are ---- */

/**
 * tracemap_find_dir - find the folder of an instance, or of the top level
 * @dir: set to the folder, which the caller frees by free(3); NULL on failure
 * @instance: the name of the instance; NULL for the top level
 *
 * It mounts nothing and creates nothing.
 *
 * Return: 0, or a negative errno
 * * -ENOENT - There is no tracefs: mount it.
 * * -ENXIO - There is no such instance: make its folder in instances/.
 * * -EINVAL - No instance can have that name: it is empty, begins with a dot, or has a
 *   slash in it.
 * * -EACCES - Only root may look there.
 * * -ENOMEM - There is no memory.
 */
int tracemap_find_dir(char **dir, const char *instance);

/**
 * tracemap_find_instances - call a function with the name of every instance
 * @each: the function; if it returns anything but 0, it is not called again
 * @arg: the second argument of @each
 *
 * Return: 0, what @each returned last, or a negative errno, one of those of
 * tracemap_find_dir()
 */
int tracemap_find_instances(int (*each)(const char *name, void *arg), void *arg);

/* ---- Text that grows ---- */

/**
 * struct tracemap_line - text that grows
 * @text: the text, with a 0 byte behind it; NULL until something was appended
 * @length: bytes of the text; set it to 0 to begin anew
 * @room: bytes allocated
 * @error: -ENOMEM if something could not be appended, else 0
 *
 * Initialize it with TRACEMAP_LINE_INIT. After an error nothing more is appended, and
 * the error stays, until tracemap_line_free(): it is enough to check @error at the end.
 */
struct tracemap_line {
	char *text;
	size_t length;
	size_t room;
	int error;
};

#define TRACEMAP_LINE_INIT	{ NULL, 0, 0, 0 }

/**
 * tracemap_line_put - append bytes
 * @line: the line
 * @text: the bytes
 * @length: how many bytes
 */
void tracemap_line_put(struct tracemap_line *line, const void *text, size_t length);

/**
 * tracemap_line_printf - append what printf(3) would print
 * @line: the line
 * @format: the format, as for printf(3)
 */
void tracemap_line_printf(struct tracemap_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * tracemap_line_free - free the memory
 * @line: the line, which may be used again
 */
void tracemap_line_free(struct tracemap_line *line);

/* ---- Decoding ---- */

struct tracemap_decoder;

/**
 * tracemap_decoder_new - make a decoder for the events of the running kernel
 * @d: set to a new handle; NULL on failure
 * @dir: the folder of the instance that the events come from, see tracemap_find_dir()
 *
 * Make it when the clock is set and the events are enabled: it reads their formats now,
 * those of other events when the first of them is decoded.
 *
 * Return: 0, or a negative errno
 * * -ENOENT - There is no such folder: see tracemap_find_dir().
 * * -EACCES - Only root may read it.
 * * -ENOMEM - There is no memory.
 */
int tracemap_decoder_new(struct tracemap_decoder **d, const char *dir);

/**
 * tracemap_decoder_new_tep - make a decoder for the events of a file
 * @d: set to a new handle; NULL on failure
 * @tep: a handle of libtraceevent that was filled from the file, such as that of
 *	tracecmd_get_tep(); it has to exist until tracemap_decoder_free(), which does not
 *	free it
 * @tracer: the tracer that wrote the events, for tracemap_text(); NULL for "nop"
 * @clock: the name of the clock of the time stamps; NULL for one of nanoseconds
 *
 * The formats, and the names of processes and functions, are those that @tep has. It
 * does not know the module of a function, which the kernel prints after
 * "name+0x10/0x40".
 *
 * Return: 0, or a negative errno
 * * -EINVAL - The events come from a machine with the other byte order.
 * * -ENOENT - @tep does not have the formats of the system "ftrace".
 * * -ENOMEM - There is no memory.
 */
int tracemap_decoder_new_tep(struct tracemap_decoder **d, struct tep_handle *tep,
			     const char *tracer, const char *clock);

/**
 * tracemap_decoder_free - free a decoder
 * @d: the decoder, or NULL
 */
void tracemap_decoder_free(struct tracemap_decoder *d);

/**
 * tracemap_decoder_refresh - read the names of processes anew
 * @d: the decoder
 *
 * The decoder does so by itself from time to time. Call this when you know that a name
 * has changed.
 */
void tracemap_decoder_refresh(struct tracemap_decoder *d);

/**
 * tracemap_decoder_prepare - read the names of the kernel's functions now
 * @d: the decoder
 *
 * Otherwise the decoder reads them from /proc/kallsyms when it prints the first event
 * that has one, which takes a tenth of a second: a buffer may overflow meanwhile. Call
 * this before the events come.
 */
void tracemap_decoder_prepare(struct tracemap_decoder *d);

/**
 * tracemap_decoder_tep - the handle of libtraceevent, for all that is not offered here
 * @d: the decoder
 *
 * Return: the handle, which tracemap_decoder_free() frees
 */
struct tep_handle *tracemap_decoder_tep(const struct tracemap_decoder *d);

/**
 * tracemap_decoder_event - what libtraceevent knows about an event
 * @d: the decoder
 * @id: the id of the event, see tracemap_record_id()
 *
 * Return: its format, or NULL if the kernel has no such event, or has it no longer
 */
struct tep_event *tracemap_decoder_event(struct tracemap_decoder *d, int id);

/**
 * tracemap_decoder_comm - the name of a process
 * @d: the decoder
 * @pid: the id of the process
 *
 * Return: the name, valid until the next call; "<...>" if it is not known
 */
const char *tracemap_decoder_comm(struct tracemap_decoder *d, int pid);

/**
 * tracemap_decoder_learn - take the names of processes from an event
 * @d: the decoder
 * @rec: the event
 *
 * tracemap_text() and tracemap_json() do so with the events that they print. This is for
 * those that are not printed: sched_switch, for example, has the names of two processes, and
 * sched_process_exec has the name of a process from then on.
 */
void tracemap_decoder_learn(struct tracemap_decoder *d, const struct tracemap_record *rec);

/**
 * tracemap_decoder_pid - the process that an event happened in
 * @d: the decoder
 * @rec: the event
 *
 * Return: the id of the process, or -1 if the event is too short to have one
 */
int tracemap_decoder_pid(const struct tracemap_decoder *d,
			 const struct tracemap_record *rec);

/**
 * tracemap_text_header - append the comment that the kernel's text begins with
 * @d: the decoder
 * @tracer: what current_tracer says; NULL for "nop"
 * @line: what to append to
 *
 * It has the line "# tracer:", by which importers know such text, and the names of the columns.
 * The kernel's line "# entries-in-buffer/entries-written:" it does not have: these numbers are
 * not known before the last event.
 *
 * Return: 0, or a negative errno, one of those of tracemap_text()
 */
int tracemap_text_header(const struct tracemap_decoder *d, const char *tracer,
			 struct tracemap_line *line);

/**
 * tracemap_text - append an event as the kernel's file "trace" has it
 * @d: the decoder
 * @rec: the event
 * @line: what to append to
 *
 * The text is a line that ends with a newline. A loss, a reset, and an event with
 * TRACEMAP_LATE have a line of their own before it. An event whose format is gone,
 * because its module is, is shown as "unknown_event" with its bytes in hexadecimal.
 *
 * If the tracer was function_graph when the decoder was made, or was said to be, calls
 * and returns become a tree, and a call is appended together with the next event of its
 * CPU, or by tracemap_text_end().
 *
 * Return: 0, or a negative errno
 * * -ENOMEM - There is no memory. The error comes again until tracemap_line_free().
 */
int tracemap_text(struct tracemap_decoder *d, const struct tracemap_record *rec,
		  struct tracemap_line *line);

/**
 * tracemap_text_end - append the calls that wait for the next event of their CPU
 * @d: the decoder
 * @line: what to append to
 *
 * Call it at the end, and when there is no event for now.
 *
 * Return: 0, or a negative errno, one of those of tracemap_text()
 */
int tracemap_text_end(struct tracemap_decoder *d, struct tracemap_line *line);

/**
 * tracemap_json - append an event as a JSON object on a line
 * @d: the decoder
 * @rec: the event
 * @line: what to append to
 *
 * An event has "ts", "cpu", "comm", "pid", "flags", "system", "event", "fields", and in "text"
 * what the line of text says behind the name of the event: names of functions, of flags and of
 * values. The first object of a decoder has "version", which is 1 and grows when a member gets
 * another meaning. Numbers beyond 2^53, which not every program reads exactly, are strings,
 * and so are pointers: "0x..." where the field has no sign. "ts" is always a number.
 *
 * A loss is an object of its own before the event, with the number of lost events in
 * "lost", or null where the number is not known. So is a reset, with "reset":true. Such
 * an object has no "ts" where no event follows and the time is not known. An event with
 * TRACEMAP_LATE has "late":true. An event whose format is gone has its "id", and its
 * bytes in hexadecimal as "data".
 *
 * Return: 0, or a negative errno, one of those of tracemap_text()
 */
int tracemap_json(struct tracemap_decoder *d, const struct tracemap_record *rec,
		  struct tracemap_line *line);

/**
 * tracemap_json_string - append bytes as a JSON string, with its quotes
 * @line: the line
 * @text: the bytes; those that are not UTF-8 become U+FFFD
 * @length: how many bytes
 */
void tracemap_json_string(struct tracemap_line *line, const char *text, size_t length);

#ifdef __cplusplus
}
#endif

#endif /* _TRACEMAP_EVENT_H */

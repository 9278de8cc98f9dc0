/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * libtracemap-event: what the records of libtracemap mean, as text or JSON.
 *
 *	struct tracemap_decoder *d;
 *	struct tracemap_line line = TRACEMAP_LINE_INIT;
 *
 *	ret = tracemap_find_dir(&dir, "mine");
 *	ret = tracemap_decoder_new(&d, dir);
 *	tracemap_text_header(d, &line);
 *	while (tracemap_merge_next(m, &rec) > 0)
 *		tracemap_text(d, &rec, &line);
 *	fwrite(line.text, 1, line.length, stdout);
 *
 * The text is the kernel's own, of the file "trace": with the loss of events
 * in its place. The formats come from the running kernel.
 *
 * As in libtracemap: negative errno returns, no thread, no printing, a handle
 * is used by one thread at a time.
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

int tracemap_find_dir(char **dir, const char *instance);
int tracemap_find_instances(int (*each)(const char *name, void *arg), void *arg);

/* ---- Text that grows ---- */

/**
 * struct tracemap_line - text that is appended to
 * @text: it, with a 0 byte behind; NULL as long as there was none
 * @length: bytes of it; set it to 0 to begin anew
 * @room: bytes allocated
 * @error: -ENOMEM if something could not be appended, for good
 */
struct tracemap_line {
	char *text;
	size_t length;
	size_t room;
	int error;
};

#define TRACEMAP_LINE_INIT	{ NULL, 0, 0, 0 }

void tracemap_line_put(struct tracemap_line *line, const void *text, size_t length);
void tracemap_line_printf(struct tracemap_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void tracemap_line_free(struct tracemap_line *line);

/* ---- Decoding ---- */

struct tracemap_decoder;

int tracemap_decoder_new(struct tracemap_decoder **d, const char *dir);
void tracemap_decoder_free(struct tracemap_decoder *d);
void tracemap_decoder_refresh(struct tracemap_decoder *d);
void tracemap_decoder_prepare(struct tracemap_decoder *d);

struct tep_handle *tracemap_decoder_tep(const struct tracemap_decoder *d);
struct tep_event *tracemap_decoder_event(struct tracemap_decoder *d, int id);
const char *tracemap_decoder_comm(struct tracemap_decoder *d, int pid);
int tracemap_decoder_pid(const struct tracemap_decoder *d,
			 const struct tracemap_record *rec);

int tracemap_text_header(const struct tracemap_decoder *d, const char *tracer,
			 struct tracemap_line *line);
int tracemap_text(struct tracemap_decoder *d, const struct tracemap_record *rec,
		  struct tracemap_line *line);
int tracemap_text_end(struct tracemap_decoder *d, struct tracemap_line *line);
int tracemap_json(struct tracemap_decoder *d, const struct tracemap_record *rec,
		  struct tracemap_line *line);
void tracemap_json_string(struct tracemap_line *line, const char *text, size_t length);

#ifdef __cplusplus
}
#endif

#endif /* _TRACEMAP_EVENT_H */

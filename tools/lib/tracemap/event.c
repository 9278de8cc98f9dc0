// SPDX-License-Identifier: LGPL-2.1
/*
 * A decoder, which knows the formats of events. It reads those of the enabled events when
 * it is made, and any other when it first sees the event.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "event_program.h"
#include "read_file.h"

/* How long the decoder does not look again for an id that the kernel did not know. */
#define AGAIN_MS	1000

uint64_t event_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

/* The contents of a file, with a 0 byte behind them; NULL if it cannot be read */
char *event_read_file(const char *dir, const char *file, size_t *size)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path))
		return NULL;
	return read_file_whole(AT_FDCWD, path, size);
}

/* ---- Fields ---- */

/* The format of a probe's array, "s32 name[]", does not tell how many elements it has. */
int event_element_size(const struct tep_format_field *field)
{
	unsigned int bits;

	if (field->arraylen || field->flags & TEP_FIELD_IS_DYNAMIC ||
	    sscanf(field->type, "%*1[us]%u", &bits) != 1)
		return field->elementsize;
	return bits / 8;
}

bool event_field_number(struct tep_event *event, const char *name,
			const struct tracemap_record *rec, uint64_t *value)
{
	return event_number(tep_find_any_field(event, name), rec, value);
}

/* ---- Formats ---- */

static bool has_field(struct tep_event *event, const char *name)
{
	return tep_find_field(event, name);
}

static const struct {
	const char *name;
	enum event_kind kind;
} ftrace_kinds[] = {
	{ "function", KIND_FUNCTION },
	{ "func_repeats", KIND_FUNC_REPEATS },
	{ "print", KIND_PRINT },
	{ "bprint", KIND_BPRINT },
	{ "bputs", KIND_BPUTS },
	{ "raw_data", KIND_RAW },
	{ "kernel_stack", KIND_STACK },
	{ "user_stack", KIND_USER_STACK },
	{ "osnoise", KIND_OSNOISE },
	{ "timerlat", KIND_TIMERLAT },
	{ "hwlat", KIND_HWLAT },
	{ "context_switch", KIND_SWITCH },
	{ "wakeup", KIND_WAKEUP },
	{ "funcgraph_entry", KIND_CALL },
	{ "funcgraph_exit", KIND_RETURN },
};

static enum event_kind kind_of(struct tep_event *event)
{
	if (!strcmp(event->system, "ftrace")) {
		for (unsigned int i = 0; i < sizeof(ftrace_kinds) / sizeof(ftrace_kinds[0]); i++) {
			if (!strcmp(event->name, ftrace_kinds[i].name))
				return ftrace_kinds[i].kind;
		}
		return KIND_GENERIC;
	}
	if (!strcmp(event->system, "syscalls")) {
		if (!strncmp(event->name, "sys_enter_", 10))
			return KIND_SYSCALL_ENTER;
		if (!strncmp(event->name, "sys_exit_", 9) && has_field(event, "ret"))
			return KIND_SYSCALL_EXIT;
	}
	if (has_field(event, "__probe_ret_ip"))
		return KIND_RETPROBE;
	if (has_field(event, "__probe_ip"))
		return KIND_PROBE;
	return KIND_GENERIC;
}

static struct event_format *room_for(struct tracemap_decoder *d, unsigned int id)
{
	unsigned int nr = d->nr_formats;
	struct event_format *formats;

	if (id < nr)
		return &d->formats[id];
	while (nr <= id)
		nr = nr ? 2 * nr : 1024;
	formats = realloc(d->formats, nr * sizeof(*formats));
	if (!formats)
		return NULL;
	memset(formats + d->nr_formats, 0, (nr - d->nr_formats) * sizeof(*formats));
	d->formats = formats;
	d->nr_formats = nr;
	return &d->formats[id];
}

static struct tep_event *parse_format(struct tracemap_decoder *d, const char *system,
				      const char *text)
{
	struct tracemap_line fit = TRACEMAP_LINE_INIT;
	struct tep_event *event = NULL;

	event_fit_format(d, text, &fit);
	if (!fit.error)
		tep_parse_format(d->tep, &event, fit.text, fit.length, system);
	tracemap_line_free(&fit);
	return event;
}

/* @name: a folder under events/ */
static struct tep_event *read_format(struct tracemap_decoder *d, const char *system,
				     const char *name)
{
	struct event_format *format;
	struct tep_event *event;
	char file[600], *text;

	snprintf(file, sizeof(file), "events/%s/%s/format", system, name);
	text = event_read_file(d->top, file, NULL);
	if (!text)
		return NULL;
	event = parse_format(d, system, text);
	free(text);
	if (!event)
		return NULL;
	/* When a module is gone, its ids may be given to other events. */
	format = room_for(d, event->id);
	if (format) {
		event_program_free(format->program);
		memset(format, 0, sizeof(*format));
	}
	return event;
}

static bool has_id(const struct tracemap_decoder *d, const char *system, const char *name, int id)
{
	char file[600], *text;
	bool is;

	snprintf(file, sizeof(file), "events/%s/%s/id", system, name);
	text = event_read_file(d->top, file, NULL);
	is = text && atoi(text) == id;
	free(text);
	return is;
}

static bool search_system(struct tracemap_decoder *d, const char *system, int id)
{
	char path[4096];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/events/%s", d->top, system);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || entry->d_type == DT_REG)
			continue;
		found = has_id(d, system, entry->d_name, id) &&
			read_format(d, system, entry->d_name);
	}
	closedir(dir);
	return found;
}

static bool search_id(struct tracemap_decoder *d, int id)
{
	char path[4096];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/events", d->top);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && entry->d_type != DT_REG)
			found = search_system(d, entry->d_name, id);
	}
	closedir(dir);
	return found;
}

/*
 * Say of the fields of tracers what their formats do not: a stack is as long as its record, and
 * a mark was a char of no size before 5.6.
 */
static void correct_fields(const struct event_format *format)
{
	struct tep_format_field *field = NULL;

	if (format->kind == KIND_STACK) {
		field = tep_find_field(format->event, "caller");
		if (field)
			field->size = 0;
	} else if (format->kind == KIND_PRINT) {
		field = tep_find_field(format->event, "buf");
		if (field && !field->size)
			field->flags |= TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_STRING;
	}
}

static void look_up(struct tracemap_decoder *d, struct event_format *format, int id)
{
	format->event = tep_find_event(d->tep, id);
	if (!format->event && !d->borrowed && search_id(d, id)) {
		format = &d->formats[id];	/* it may have moved */
		format->event = tep_find_event(d->tep, id);
	}
	format->looked = event_now_ms();
	if (!format->event)
		return;
	format->kind = kind_of(format->event);
	correct_fields(format);
	format->program = event_compile(d, format->event);
	format->ip = tep_find_any_field(format->event, "ip");
	format->parent_ip = tep_find_any_field(format->event, "parent_ip");
	event_comms_prepare(format);
}

struct event_format *event_format(struct tracemap_decoder *d, int id)
{
	struct event_format *format;

	if (id < 0)
		return NULL;
	format = room_for(d, id);
	if (!format)
		return NULL;
	if (!format->event && (!format->looked || event_now_ms() - format->looked >= AGAIN_MS)) {
		look_up(d, format, id);
		format = &d->formats[id];
	}
	return format->event ? format : NULL;
}

struct tep_event *tracemap_decoder_event(struct tracemap_decoder *d, int id)
{
	struct event_format *format = event_format(d, id);

	return format ? format->event : NULL;
}

/* ---- A decoder ---- */

/* An event that is enabled now may be gone with its module when one is printed. */
static void read_enabled(struct tracemap_decoder *d)
{
	char *text = event_read_file(d->dir, "set_event", NULL);
	char *rest = text, *line;

	while (rest && (line = strsep(&rest, "\n"))) {
		char *name = strchr(line, ':');

		if (!name)
			continue;
		*name++ = '\0';
		read_format(d, line, name);
	}
	free(text);
}

/* The events of tracers have no id file to be found by, and never disappear. */
static void read_ftrace(struct tracemap_decoder *d)
{
	char path[4096];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/events/ftrace", d->top);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && entry->d_type != DT_REG)
			read_format(d, "ftrace", entry->d_name);
	}
	if (dir)
		closedir(dir);
}

static void read_printk_formats(struct tracemap_decoder *d)
{
	char *text = event_read_file(d->top, "printk_formats", NULL);

	if (text)
		tep_parse_printk_formats(d->tep, text);
	free(text);
}

static int common_offset(struct tep_event *event, const char *name)
{
	struct tep_format_field *field = tep_find_common_field(event, name);

	return field && field->offset + field->size <= EVENT_COMMON_SIZE ? field->offset : -1;
}

static bool is_since(unsigned int major, unsigned int minor)
{
	unsigned int release[2] = { 0, 0 };
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u", &release[0], &release[1]) != 2)
		return false;
	return release[0] > major || (release[0] == major && release[1] >= minor);
}

/* Find the fields that every event has. */
int event_find_common(struct tracemap_decoder *d)
{
	struct tep_event *event = tep_find_event_by_name(d->tep, "ftrace", "print");

	if (!event)
		return -EACCES;
	d->flags_offset = common_offset(event, "common_flags");
	d->preempt_offset = common_offset(event, "common_preempt_count");
	d->pid_offset = common_offset(event, "common_pid");
	d->has_lazy = is_since(6, 13);
	return 0;
}

static bool clock_in_ns(const struct tracemap_decoder *d)
{
	char *text = event_read_file(d->dir, "trace_clock", NULL);
	bool in_ns = !text || clock_counts_ns(text);

	free(text);
	return in_ns;
}

static int find_top(struct tracemap_decoder *d)
{
	size_t length = strlen(d->dir);
	char *instances;

	while (length > 1 && d->dir[length - 1] == '/')
		d->dir[--length] = '\0';
	d->top = strdup(d->dir);
	if (!d->top)
		return -ENOMEM;
	instances = strrchr(d->top, '/');
	if (instances && instances - d->top > 10 && !strncmp(instances - 10, "/instances", 10))
		instances[-10] = '\0';
	return 0;
}

static int init_graph(struct tracemap_decoder *d)
{
	char *tracer = event_read_file(d->dir, "current_tracer", NULL);
	int ret = 0;

	if (tracer) {
		tracer[strcspn(tracer, "\n")] = '\0';
		ret = event_graph_init(d, tracer);
	}
	free(tracer);
	return ret;
}

static int set_up(struct tracemap_decoder *d, const char *dir)
{
	size_t size;
	char *page;
	int ret;

	d->dir = strdup(dir);
	d->tep = tep_alloc();
	if (!d->dir || !d->tep)
		return -ENOMEM;
	tep_set_file_bigendian(d->tep, tep_is_local_bigendian(d->tep) ? TEP_BIG_ENDIAN :
								       TEP_LITTLE_ENDIAN);
	ret = find_top(d);
	if (ret)
		return ret;
	page = event_read_file(d->top, "events/header_page", &size);
	if (!page)
		return access(d->top, F_OK) < 0 ? -ENOENT : -EACCES;
	tep_set_loglevel(TEP_LOG_NONE);
	tep_parse_header_page(d->tep, page, size, sizeof(long));
	free(page);
	/* The size of a long in the kernel, not in this program */
	tep_set_long_size(d->tep, tep_get_header_page_size(d->tep));
	read_ftrace(d);
	ret = event_find_common(d);
	if (!ret && event_comms_init(d))
		ret = -ENOMEM;
	if (!ret)
		ret = init_graph(d);
	if (ret)
		return ret;
	read_enabled(d);
	read_printk_formats(d);
	d->in_ns = clock_in_ns(d);
	d->syscalls_prefixed = is_since(6, 18);
	return 0;
}

int tracemap_decoder_new(struct tracemap_decoder **d, const char *dir)
{
	int ret;

	*d = calloc(1, sizeof(**d));
	if (!*d)
		return -ENOMEM;
	ret = set_up(*d, dir);
	if (ret) {
		tracemap_decoder_free(*d);
		*d = NULL;
	}
	return ret;
}

void tracemap_decoder_free(struct tracemap_decoder *d)
{
	if (!d)
		return;
	event_comms_free(d);
	event_graph_free(d);
	event_symbols_free(d);
	event_printk_free(d);
	tracemap_line_free(&d->text);
	if (d->tep && !d->borrowed)
		tep_free(d->tep);
	for (unsigned int id = 0; id < d->nr_formats; id++)
		event_program_free(d->formats[id].program);
	free(d->formats);
	free(d->sizes);
	free(d->btf);
	free(d->dir);
	free(d->top);
	free(d);
}

struct tep_handle *tracemap_decoder_tep(const struct tracemap_decoder *d)
{
	return d->tep;
}

int tracemap_decoder_pid(const struct tracemap_decoder *d, const struct tracemap_record *rec)
{
	int32_t pid;

	if (!rec->data || rec->size < EVENT_COMMON_SIZE || d->pid_offset < 0)
		return -1;
	memcpy(&pid, (const char *)rec->data + d->pid_offset, sizeof(pid));
	return pid;
}

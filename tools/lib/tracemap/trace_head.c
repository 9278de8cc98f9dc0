// SPDX-License-Identifier: LGPL-2.1
/*
 * Write the head of a trace.dat file, version 6.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "trace_head.h"
#include "version.h"

/* The options of the format that are written here */
enum {
	OPTION_CPUSTAT		= 2,
	OPTION_TRACECLOCK	= 4,
	OPTION_UNAME		= 5,
	OPTION_CPUCOUNT		= 8,
	OPTION_VERSION		= 9,
};

struct event {
	char *system;
	char *name;
	struct bytes format;
};

/* What is known of the event of an id, as bits */
enum {
	KIND_KNOWN	= 1,		/* the head has its format, */
	KIND_TRACER	= 2,		/* which is one of events/ftrace */
	KIND_NAMES	= 4,		/* it prints addresses as names of functions */
};

struct trace_head {
	char *top;
	char *dir;
	unsigned int nr_cpus;
	unsigned int page_size;
	struct event *events;		/* by system and name */
	unsigned int nr_events;
	unsigned char kinds[TRACE_SEEN_IDS];
	const struct trace_seen *seen;	/* while it is completed */
	struct bytes tracers;		/* formats of events/ftrace, each after its size */
	unsigned int nr_tracers;
	struct bytes header_page;
	struct bytes header_event;
	struct bytes kallsyms;
	bool all_symbols;		/* those are all names, */
	uint64_t mark;			/* or that of this address, and the next one */
	struct bytes printk;
	struct bytes cmdlines;
	struct bytes clock;
	struct bytes *stats;		/* of each CPU */
};

/* ---- Gathering ---- */

static int add_file(struct bytes *b, const char *dir, const char *file)
{
	char *path;
	int ret;

	if (asprintf(&path, "%s/%s", dir, file) < 0)
		return -ENOMEM;
	ret = bytes_add_file(b, path);
	free(path);
	return ret;
}

/* Replace @b by what the file has now; keep @b where there is no file. */
static int replace_by_file(struct bytes *b, const char *dir, const char *file)
{
	struct bytes now = { .error = 0 };

	if (add_file(&now, dir, file) < 0) {
		int error = now.error;

		bytes_free(&now);
		return error;
	}
	bytes_free(b);
	*b = now;
	return 0;
}

/* Does an event print an address as a name? Of a probe the kernel prints where it is, too. */
static bool prints_names(const struct bytes *format)
{
	const char *p = format->data, *end = p + format->size;

	if (memmem(p, format->size, "__probe_", strlen("__probe_")))
		return true;
	for (; end - p > 2; p++) {
		if (p[0] == '%' && p[1] == 'p' && strchr("sSfFB", p[2]))
			return true;
	}
	return false;
}

/* Returns the number, which need not end with a 0 byte, or more than any id. */
static unsigned int id_at(const char *digit, const char *end)
{
	unsigned int id = digit < end && isdigit((unsigned char)*digit) ? 0 : TRACE_SEEN_IDS;

	for (; digit < end && isdigit((unsigned char)*digit) && id < TRACE_SEEN_IDS; digit++)
		id = id * 10 + *digit - '0';
	return id;
}

static void note_kind(struct trace_head *head, const struct bytes *format, unsigned int kind)
{
	static const char before[] = "\nID: ";
	const char *at = memmem(format->data, format->size, before, strlen(before));
	const char *end = format->data + format->size;
	unsigned int id = at ? id_at(at + strlen(before), end) : TRACE_SEEN_IDS;

	if (id < TRACE_SEEN_IDS)
		head->kinds[id] = KIND_KNOWN | kind | (prints_names(format) ? KIND_NAMES : 0);
}

static int order(const struct event *event, const char *system, const char *name)
{
	int ret = strcmp(event->system, system);

	return ret ? ret : strcmp(event->name, name);
}

/* Returns where the event is, or belongs, in the list. */
static unsigned int search(const struct trace_head *head, const char *system, const char *name)
{
	unsigned int low = 0, high = head->nr_events;

	while (low < high) {
		unsigned int mid = (low + high) / 2;

		if (order(&head->events[mid], system, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void free_event(struct event *event)
{
	free(event->system);
	free(event->name);
	bytes_free(&event->format);
}

static int insert(struct trace_head *head, unsigned int where, struct event *event)
{
	struct event *events;

	events = realloc(head->events, (head->nr_events + 1) * sizeof(*events));
	if (!events)
		return -ENOMEM;
	head->events = events;
	memmove(events + where + 1, events + where, (head->nr_events - where) * sizeof(*events));
	events[where] = *event;
	head->nr_events++;
	return 0;
}

/* An event whose format cannot be read is gone, and cannot be decoded. */
static int add_event(struct trace_head *head, const char *system, const char *name)
{
	unsigned int where = search(head, system, name);
	struct event event = {
		.system = strdup(system),
		.name = strdup(name),
	};
	char *file = NULL;
	int ret = -ENOMEM;

	if (where < head->nr_events && !order(&head->events[where], system, name)) {
		ret = 0;
		goto out;
	}
	if (!event.system || !event.name ||
	    asprintf(&file, "events/%s/%s/format", system, name) < 0)
		goto out;
	if (add_file(&event.format, head->dir, file) < 0) {
		ret = event.format.error;
		goto out;
	}
	note_kind(head, &event.format, 0);
	ret = insert(head, where, &event);
	if (!ret)
		event = (struct event){ .system = NULL };
out:
	free(file);
	free_event(&event);
	return ret;
}

/* set_event lists the enabled events, "system:name" on each line. */
static int add_enabled_events(struct trace_head *head)
{
	struct bytes list = { .error = 0 };
	char *line, *rest, *colon;
	int ret = add_file(&list, head->dir, "set_event");

	bytes_add(&list, "", 1);
	if (ret < 0 || list.error) {
		bytes_free(&list);
		return list.error ? list.error : ret;
	}
	for (line = strtok_r(list.data, "\n", &rest); line && !ret;
	     line = strtok_r(NULL, "\n", &rest)) {
		colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = 0;
		ret = add_event(head, line, colon + 1);
	}
	bytes_free(&list);
	return ret;
}

/* Call @add for each name in a folder. Returns 0 or a negative errno. */
static int add_each(struct trace_head *head, const char *dir, const char *folder,
		    int (*add)(struct trace_head *head, const char *folder, const char *name))
{
	struct dirent *entry;
	char *path;
	DIR *names;
	int ret = 0;

	if (asprintf(&path, "%s/%s", dir, folder) < 0)
		return -ENOMEM;
	names = opendir(path);
	free(path);
	if (!names)
		return -errno;
	while (!ret && (entry = readdir(names))) {
		if (entry->d_name[0] != '.')
			ret = add(head, folder, entry->d_name);
	}
	closedir(names);
	return ret;
}

static int add_tracer_format(struct trace_head *head, const char *folder, const char *name)
{
	struct bytes format = { .error = 0 };
	char *file;
	int ret;

	if (asprintf(&file, "%s/%s/format", folder, name) < 0)
		return -ENOMEM;
	ret = add_file(&format, head->top, file);
	if (!ret) {
		bytes_add_u64(&head->tracers, format.size);
		bytes_add(&head->tracers, format.data, format.size);
		head->nr_tracers++;
		note_kind(head, &format, KIND_TRACER);
	}
	free(file);
	bytes_free(&format);
	/* Without them no event can be decoded: a group may have been given the instance alone. */
	return ret == -EACCES ? ret : head->tracers.error;
}

/* ---- Events that were enabled at another time ---- */

static int add_if_seen(struct trace_head *head, const char *folder, const char *name)
{
	struct bytes text = { .error = 0 };
	unsigned int id = TRACE_SEEN_IDS;
	char *file;
	int ret;

	if (asprintf(&file, "%s/%s/id", folder, name) < 0)
		return -ENOMEM;
	if (!add_file(&text, head->dir, file))
		id = id_at(text.data, text.data + text.size);
	free(file);
	ret = text.error;
	bytes_free(&text);
	if (ret || id >= TRACE_SEEN_IDS || !head->seen->ids[id] || head->kinds[id])
		return ret;
	return add_event(head, strrchr(folder, '/') + 1, name);
}

/* Beside the folders of systems there are files. */
static int add_seen_of(struct trace_head *head, const char *folder, const char *name)
{
	char *system;
	int ret;

	if (asprintf(&system, "%s/%s", folder, name) < 0)
		return -ENOMEM;
	ret = add_each(head, head->dir, system, add_if_seen);
	free(system);
	return ret == -ENOMEM || ret == -EACCES ? ret : 0;
}

static int add_seen(struct trace_head *head)
{
	for (unsigned int id = 0; id < TRACE_SEEN_IDS; id++) {
		if (head->seen->ids[id] && !head->kinds[id])
			return add_each(head, head->dir, "events", add_seen_of);
	}
	return 0;
}

/* ---- The names of addresses ---- */

static bool file_says(const char *dir, const char *file, const char *text)
{
	struct bytes b = { .error = 0 };
	bool says;

	says = !add_file(&b, dir, file) && b.size >= strlen(text) &&
	       !memcmp(b.data, text, strlen(text));
	bytes_free(&b);
	return says;
}

/*
 * Take functions only. The kernel shows the address 0 to users that may not see addresses.
 * Returns the address, or 0.
 */
static uint64_t function_at(const char *line)
{
	const char *type = strchr(line, ' ');

	return type && type[1] && strchr("tTwW", type[1]) ? strtoull(line, NULL, 16) : 0;
}

/* The function that an address is in, and the next one, where it ends */
struct nearest {
	uint64_t below, above;
	struct bytes begin, end;
};

static void put_line(struct bytes *to, const char *line, size_t size)
{
	to->size = 0;
	bytes_add(to, line, size);
}

static void look_near(struct nearest *n, uint64_t mark, uint64_t at, const char *line, size_t size)
{
	if (at <= mark && at > n->below) {
		n->below = at;
		put_line(&n->begin, line, size);
	} else if (at > mark && at < n->above) {
		n->above = at;
		put_line(&n->end, line, size);
	}
}

/* Take the names of all functions; or of the one at @mark, if it is not 0. */
static int add_kallsyms(struct trace_head *head, uint64_t mark)
{
	struct nearest near = { .above = UINT64_MAX };
	char *line = NULL, buffer[4096];
	size_t room = 0;
	ssize_t size;
	FILE *file;

	bytes_free(&head->kallsyms);
	head->all_symbols = !mark;
	head->mark = mark;
	file = fopen("/proc/kallsyms", "re");
	if (!file)
		return 0;
	/* The most that a read() of it returns; by default it would be 1024 bytes. */
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	while ((size = getline(&line, &room, file)) > 0) {
		uint64_t at = function_at(line);

		if (at && !mark)
			bytes_add(&head->kallsyms, line, size);
		else if (at)
			look_near(&near, mark, at, line, size);
	}
	bytes_add(&head->kallsyms, near.begin.data, near.begin.size);
	bytes_add(&head->kallsyms, near.end.data, near.end.size);
	bytes_free(&near.begin);
	bytes_free(&near.end);
	free(line);
	fclose(file);
	return head->kallsyms.error;
}

/* The name of a mark alone stays where it is; modules and BPF programs come and go. */
static int add_names_seen(struct trace_head *head)
{
	const struct trace_seen *seen = head->seen;
	bool all = seen->marks_differ;

	for (unsigned int id = 0; id < TRACE_SEEN_IDS && !all; id++)
		all = seen->ids[id] && head->kinds[id] & KIND_NAMES && id != TRACE_SEEN_MARK;
	if (head->all_symbols || (!all && (!seen->mark || head->mark == seen->mark)))
		return 0;
	return add_kallsyms(head, all ? 0 : seen->mark);
}

/* ---- Writing ---- */

/* Append the contents of a file after their size. */
static void tell32(struct bytes *to, const struct bytes *what)
{
	bytes_add_u32(to, what->size);
	bytes_add(to, what->data, what->size);
}

static void tell64(struct bytes *to, const struct bytes *what)
{
	bytes_add_u64(to, what->size);
	bytes_add(to, what->data, what->size);
}

static const char begins[] = {
	0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g', '6', 0,
	__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, sizeof(long),
};

static const char version[] = "tracemap " TRACEMAP_VERSION;

static void tell_begin(const struct trace_head *head, char version, struct bytes *to)
{
	char begin[sizeof(begins)];

	memcpy(begin, begins, sizeof(begins));
	begin[TRACE_HEAD_MAGIC_SIZE] = version;
	bytes_add(to, begin, sizeof(begin));
	bytes_add_u32(to, head->page_size);
}

static void tell_header_info(const struct trace_head *head, struct bytes *to)
{
	bytes_add_string(to, "header_page");
	tell64(to, &head->header_page);
	bytes_add_string(to, "header_event");
	tell64(to, &head->header_event);
}

/* Returns how many events the system of event @i has, from @i on. */
static unsigned int same_system(const struct trace_head *head, unsigned int i)
{
	unsigned int n = 1;

	while (i + n < head->nr_events &&
	       !strcmp(head->events[i + n].system, head->events[i].system))
		n++;
	return n;
}

static void tell_tracers(const struct trace_head *head, struct bytes *to)
{
	bytes_add_u32(to, head->nr_tracers);
	bytes_add(to, head->tracers.data, head->tracers.size);
}

static void tell_formats(const struct trace_head *head, struct bytes *to)
{
	unsigned int i, n, systems = 0;

	for (i = 0; i < head->nr_events; i += same_system(head, i))
		systems++;
	bytes_add_u32(to, systems);
	for (i = 0; i < head->nr_events; i += n) {
		n = same_system(head, i);
		bytes_add_string(to, head->events[i].system);
		bytes_add_u32(to, n);
		for (unsigned int k = i; k < i + n; k++)
			tell64(to, &head->events[k].format);
	}
}

static void tell_option(struct bytes *to, unsigned int id, const void *data, size_t size)
{
	bytes_add_u16(to, id);
	bytes_add_u32(to, size);
	bytes_add(to, data, size);
}

static void tell_text(struct bytes *to, unsigned int id, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void tell_text(struct bytes *to, unsigned int id, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (text)
		tell_option(to, id, text, strlen(text) + 1);
	else
		to->error = -ENOMEM;
	free(text);
}

void trace_head_clock(const struct trace_head *head, char *clock, size_t size)
{
	const char *list = (const char *)head->clock.data;
	const char *start = list ? memchr(list, '[', head->clock.size) : NULL;
	size_t left = start ? head->clock.size - (start - list) : 0;
	const char *end = start ? memchr(start, ']', left) : NULL;

	memset(clock, 0, size);
	snprintf(clock, size, "%.*s", end ? (int)(end + 1 - start) : 7, end ? start : "[local]");
}

static void tell_options(const struct trace_head *head, struct bytes *to)
{
	uint32_t nr_cpus = head->nr_cpus;
	struct utsname name;

	tell_text(to, OPTION_TRACECLOCK, "%.*s", (int)head->clock.size, head->clock.data);
	if (!uname(&name))
		tell_text(to, OPTION_UNAME, "%s %s %s %s", name.sysname, name.nodename,
			  name.release, name.machine);
	tell_option(to, OPTION_VERSION, version, sizeof(version));
	tell_option(to, OPTION_CPUCOUNT, &nr_cpus, sizeof(nr_cpus));
	for (unsigned int i = 0; i < head->nr_cpus; i++) {
		if (head->stats[i].size)
			tell_text(to, OPTION_CPUSTAT, "CPU: %u\n%.*s", i,
				  (int)head->stats[i].size, head->stats[i].data);
	}
}

void trace_head_write_part(const struct trace_head *head, enum trace_head_part part,
			   struct bytes *to)
{
	switch (part) {
	case TRACE_HEAD_BEGIN:
		tell_begin(head, '7', to);
		break;
	case TRACE_HEAD_OPTIONS:
		tell_options(head, to);
		break;
	case TRACE_HEAD_INFO:
		tell_header_info(head, to);
		break;
	case TRACE_HEAD_TRACERS:
		tell_tracers(head, to);
		break;
	case TRACE_HEAD_EVENTS:
		tell_formats(head, to);
		break;
	case TRACE_HEAD_KALLSYMS:
		tell32(to, &head->kallsyms);
		break;
	case TRACE_HEAD_PRINTK:
		tell32(to, &head->printk);
		break;
	case TRACE_HEAD_CMDLINES:
		tell64(to, &head->cmdlines);
		break;
	}
}

int trace_head_write(const struct trace_head *head, struct bytes *to)
{
	tell_begin(head, '6', to);
	for (int part = TRACE_HEAD_INFO; part <= TRACE_HEAD_CMDLINES; part++)
		trace_head_write_part(head, part, to);
	bytes_add_u32(to, head->nr_cpus);
	bytes_add(to, "options  ", 10);
	tell_options(head, to);
	bytes_add_u16(to, 0);
	bytes_add(to, "flyrecord", 10);
	return to->error;
}

unsigned int trace_head_nr_cpus(const struct trace_head *head)
{
	return head->nr_cpus;
}

unsigned int trace_head_page_size(const struct trace_head *head)
{
	return head->page_size;
}

/* ---- Reading ---- */

static bool get(FILE *file, void *to, size_t size)
{
	return fread(to, size, 1, file) == 1;
}

static bool expect(FILE *file, const char *text, size_t size)
{
	for (; size && getc(file) == (unsigned char)*text; size--)
		text++;
	return !size;
}

static bool skip(FILE *file, uint64_t size)
{
	return size <= INT64_MAX && !fseeko(file, size, SEEK_CUR);
}

/* Skip what tell32() and tell64() have written, and names. */
static bool skip32(FILE *file)
{
	uint32_t size;

	return get(file, &size, sizeof(size)) && skip(file, size);
}

static bool skip64(FILE *file)
{
	uint64_t size;

	return get(file, &size, sizeof(size)) && skip(file, size);
}

static bool skip_string(FILE *file)
{
	int c;

	do
		c = getc(file);
	while (c > 0);
	return !c;
}

static bool skip_counted(FILE *file, bool (*skip_one)(FILE *file))
{
	uint32_t count;

	if (!get(file, &count, sizeof(count)))
		return false;
	while (count && skip_one(file))
		count--;
	return !count;
}

static bool skip_system(FILE *file)
{
	return skip_string(file) && skip_counted(file, skip64);
}

/* Returns whether one of the options says that this library wrote them. */
static bool skip_options(FILE *file)
{
	char name[sizeof("tracemap ") - 1];
	bool is_ours = false;
	uint32_t size;
	uint16_t id;

	while (get(file, &id, sizeof(id)) && id) {
		if (!get(file, &size, sizeof(size)))
			return false;
		if (id == OPTION_VERSION && size >= sizeof(name) && get(file, name, sizeof(name))) {
			is_ours = !memcmp(name, version, sizeof(name));
			size -= sizeof(name);
		}
		if (!skip(file, size))
			return false;
	}
	return is_ours;
}

/*
 * Whether the text describes pages of this size. The names and their order are those that
 * libtraceevent wants; of another text it says nothing, and takes the layout for zeros.
 */
static bool describes_pages(const char *text, uint32_t page_size)
{
	uint32_t commit, at, size;

	return !strpbrk(text, "\v\f\r") &&
	       sscanf(text,
		      " field: %*[a-z0-9_] timestamp; offset:0; size:8; signed:%*1[01];"
		      " field: %*[a-z0-9_] commit; offset:8; size:%u; signed:%*1[01];"
		      " field: %*[a-z0-9_] overwrite; offset:8; size:1; signed:%*1[01];"
		      " field: %*[a-z0-9_] data; offset:%u; size:%u; signed:%*1[01]",
		      &commit, &at, &size) == 3 &&
	       at == 8 + commit && page_size >= at && size == page_size - at;
}

static bool look_at_header_page(FILE *file, struct trace_head_found *found)
{
	char text[1024] = "";
	uint64_t size, n;

	if (!skip_string(file) || !get(file, &size, sizeof(size)))
		return false;
	n = size < sizeof(text) ? size : sizeof(text) - 1;
	if (!get(file, text, n))
		return false;
	found->page_fits = describes_pages(text, found->page_size);
	return skip(file, size - n);
}

bool trace_head_find(FILE *file, struct trace_head_found *found)
{
	if (!expect(file, begins, sizeof(begins)) || !get(file, &found->page_size, 4) ||
	    !look_at_header_page(file, found) ||
	    !skip_string(file) || !skip64(file) ||	/* header_event */
	    !skip_counted(file, skip64) ||		/* formats of tracers */
	    !skip_counted(file, skip_system) ||
	    !skip32(file) || !skip32(file) || !skip64(file) ||	/* names */
	    !get(file, &found->nr_cpus, 4) || !skip_string(file) || !skip_options(file) ||
	    !expect(file, "flyrecord", sizeof("flyrecord")))
		return false;
	found->table = ftello(file);
	return true;
}

struct trace_region *trace_head_table(FILE *file, const struct trace_head_found *found)
{
	const ssize_t size = found->nr_cpus * sizeof(struct trace_region);
	struct trace_region *table = malloc(size);

	if (table && pread(fileno(file), table, size, found->table) == size)
		return table;
	free(table);
	return NULL;
}

bool trace_head_begins(FILE *file)
{
	struct trace_head_found found;

	return trace_head_find(file, &found) || feof(file);
}

bool trace_head_magic(const char *begin)
{
	return trace_head_magic_cut(begin, TRACE_HEAD_MAGIC_SIZE);
}

bool trace_head_magic_cut(const char *begin, size_t size)
{
	return !memcmp(begin, begins, size < TRACE_HEAD_MAGIC_SIZE ? size : TRACE_HEAD_MAGIC_SIZE);
}

/* ---- Interface ---- */

static bool begins_name(const char *line, const char *end)
{
	const char *at = line;

	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at > line && at < end && *at == ' ';
}

/* A newline in a name would end the list for those who read it. */
static void join_names(struct bytes *names)
{
	char *end = names->data + names->size;

	for (char *at = names->data; at + 1 < end; at++) {
		if (*at == '\n' && !begins_name(at + 1, end))
			*at = ' ';
	}
}

static int add_what_changes(struct trace_head *head)
{
	int ret = add_enabled_events(head);

	if (!ret)
		ret = replace_by_file(&head->cmdlines, head->top, "saved_cmdlines");
	if (!ret)
		join_names(&head->cmdlines);
	return ret;
}

int trace_head_refresh(struct trace_head *head)
{
	int ret = add_what_changes(head);
	char *file;

	for (unsigned int i = 0; i < head->nr_cpus && !ret; i++) {
		if (asprintf(&file, "per_cpu/cpu%u/stats", i) < 0)
			return -ENOMEM;
		ret = replace_by_file(&head->stats[i], head->dir, file);
		free(file);
	}
	return ret;
}

int trace_head_complete(struct trace_head *head, const struct trace_seen *seen)
{
	int ret;

	head->seen = seen;
	ret = add_seen(head);
	return ret ? ret : add_names_seen(head);
}

int trace_head_expect(struct trace_head *head)
{
	if (!file_says(head->dir, "current_tracer", "nop") ||
	    file_says(head->dir, "options/stacktrace", "1"))
		return add_kallsyms(head, 0);
	return 0;
}

static int gather(struct trace_head *head)
{
	int ret;

	ret = add_file(&head->header_page, head->dir, "events/header_page");
	if (!ret)
		ret = add_file(&head->header_event, head->dir, "events/header_event");
	if (!ret)
		ret = add_file(&head->clock, head->dir, "trace_clock");
	if (!ret)
		ret = replace_by_file(&head->printk, head->top, "printk_formats");
	if (!ret && !head->nr_tracers)
		ret = add_each(head, head->top, "events/ftrace", add_tracer_format);
	return ret ? ret : add_what_changes(head);
}

/* What gather() does not gather once for all */
static void forget(struct trace_head *head)
{
	for (unsigned int id = 0; id < TRACE_SEEN_IDS; id++) {
		if (!(head->kinds[id] & KIND_TRACER))
			head->kinds[id] = 0;
	}
	if (head->all_symbols)
		bytes_free(&head->kallsyms);
	head->all_symbols = false;
	for (unsigned int i = 0; i < head->nr_events; i++)
		free_event(&head->events[i]);
	head->nr_events = 0;
	for (unsigned int i = 0; head->stats && i < head->nr_cpus; i++)
		bytes_free(&head->stats[i]);
	free(head->stats);
	head->stats = NULL;
	bytes_free(&head->header_page);
	bytes_free(&head->header_event);
	bytes_free(&head->printk);
	bytes_free(&head->cmdlines);
	bytes_free(&head->clock);
}

int trace_head_renew(struct trace_head *head, unsigned int nr_cpus, unsigned int page_size)
{
	forget(head);
	head->nr_cpus = nr_cpus;
	head->page_size = page_size;
	head->stats = calloc(nr_cpus, sizeof(*head->stats));
	return head->stats ? gather(head) : -ENOMEM;
}

int trace_head_new(struct trace_head **headp, const char *top, const char *dir,
		   unsigned int nr_cpus, unsigned int page_size)
{
	struct trace_head *head = calloc(1, sizeof(*head));
	int ret = -ENOMEM;

	if (!head)
		return -ENOMEM;
	head->top = strdup(top);
	head->dir = strdup(dir);
	if (head->top && head->dir)
		ret = trace_head_renew(head, nr_cpus, page_size);
	if (ret) {
		trace_head_free(head);
		return ret;
	}
	*headp = head;
	return 0;
}

void trace_head_free(struct trace_head *head)
{
	if (!head)
		return;
	forget(head);
	bytes_free(&head->tracers);
	bytes_free(&head->kallsyms);
	free(head->events);
	free(head->top);
	free(head->dir);
	free(head);
}

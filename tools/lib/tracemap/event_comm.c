// SPDX-License-Identifier: LGPL-2.1
/*
 * Names of processes. The kernel keeps some in saved_cmdlines. /proc may have the name of a
 * process that started later, or that fell out of the list. Some events contain a name, too.
 * A process that executes another program has another name from then on: if no event says
 * which, the decoder finds it when it reads the list again after a while.
 *
 * The number of names is limited. In each hash chain, a new name replaces the least recently
 * used one.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"

#define NR_HASH		2048	/* power of two */
#define NR_PLACES	8	/* in each */
#define FRESH_MS	200
#define AGAIN_MS	10	/* for one that is not known */

struct event_comm {
	int pid;		/* 0: the place is free */
	bool asked;		/* /proc was asked, and does not know it */
	char comm[EVENT_COMM_SIZE];
};

static const char idle[EVENT_COMM_SIZE] = "<idle>";
static const char negative[EVENT_COMM_SIZE] = "<XXX>";
static const char unknown[EVENT_COMM_SIZE] = "<...>";

/* Move the place of @pid to the front of its chain, or the last place if it has none. */
static struct event_comm *to_front(struct tracemap_decoder *d, int pid)
{
	struct event_comm *first = d->comms + (unsigned int)pid % NR_HASH * NR_PLACES;
	struct event_comm found;
	int i = 0;

	if (first->pid == pid)
		return first;
	while (first[i].pid != pid && i < NR_PLACES - 1)
		i++;
	found = first[i];
	memmove(first + 1, first, i * sizeof(*first));
	*first = found;
	return first;
}

static struct event_comm *find_or_add(struct tracemap_decoder *d, int pid)
{
	struct event_comm *c = to_front(d, pid);

	if (c->pid != pid)
		*c = (struct event_comm){ .pid = pid };
	return c;
}

void event_comm_set(struct tracemap_decoder *d, int pid, const char *comm, size_t length)
{
	struct event_comm *c;

	if (pid <= 0 || !length || !*comm)
		return;
	c = find_or_add(d, pid);
	length = strnlen(comm, length < EVENT_COMM_SIZE ? length : EVENT_COMM_SIZE - 1);
	memcpy(c->comm, comm, length);
	c->comm[length] = '\0';
}

/* Each line is "123 name"; a name may have blanks. */
static void read_saved(struct tracemap_decoder *d)
{
	char *text = event_read_file(d->top, "saved_cmdlines", NULL);
	char *rest = text, *line;

	d->comms_read = event_now_ms();
	while (rest && (line = strsep(&rest, "\n"))) {
		char *name;
		long pid = strtol(line, &name, 10);

		/* Some kernels list processes whose names they have forgotten. */
		if (name > line && *name == ' ' && strcmp(name + 1, "<...>"))
			event_comm_set(d, pid, name + 1, strlen(name + 1));
	}
	free(text);
}

static void ask_proc(struct tracemap_decoder *d, struct event_comm *c)
{
	char dir[32], *comm;
	bool works;

	snprintf(dir, sizeof(dir), "/proc/%d", c->pid);
	comm = event_read_file(dir, "comm", NULL);
	/* Behind the name of a worker, other than a rescuer, /proc tells what it works at. */
	works = comm && !strncmp(comm, "kworker/", 8) && comm[8] != 'R';
	if (comm)
		event_comm_set(d, c->pid, comm, strcspn(comm, works ? "-+\n" : "\n"));
	c->asked = true;
	free(comm);
}

void tracemap_decoder_refresh(struct tracemap_decoder *d)
{
	if (!d->borrowed)
		read_saved(d);
}

/* Names from events take precedence over the list, which is from the end of the trace. */
static const char *borrowed_comm(struct tracemap_decoder *d, int pid)
{
	struct event_comm *c = find_or_add(d, pid);

	if (!c->comm[0] && !c->asked) {
		const char *comm = event_tep_comm(d, pid);

		event_comm_set(d, pid, comm, strlen(comm));
		c->asked = true;
	}
	return c->comm[0] ? c->comm : unknown;
}

const char *tracemap_decoder_comm(struct tracemap_decoder *d, int pid)
{
	struct event_comm *c;

	if (!pid)
		return idle;
	if (pid < 0)
		return negative;
	if (d->borrowed)
		return borrowed_comm(d, pid);
	if (event_now_ms() - d->comms_read >= FRESH_MS)
		read_saved(d);
	c = find_or_add(d, pid);
	if (!c->comm[0] && !c->asked)
		ask_proc(d, c);
	/* The process may have ended since the list was read. */
	if (!c->comm[0] && event_now_ms() - d->comms_read >= AGAIN_MS) {
		read_saved(d);
		c = find_or_add(d, pid);
	}
	return c->comm[0] ? c->comm : unknown;
}

/*
 * Events that contain the name of a process from then on. sched_wakeup_new and
 * sched_process_fork are not among them: a new process has the name of its parent until it
 * executes a program, and that may not be traced.
 */
static const struct {
	const char *system, *event, *pid, *comm;
} tellers[] = {
	{ "sched", "sched_switch", "prev_pid", "prev_comm" },
	{ "sched", "sched_switch", "next_pid", "next_comm" },
	{ "sched", "sched_waking", "pid", "comm" },
	{ "sched", "sched_wakeup", "pid", "comm" },
	{ "sched", "sched_process_exec", "pid", "filename" },
	{ "task", "task_rename", "pid", "newcomm" },
};

/* Find out which names events of @format contain. */
void event_comms_prepare(struct event_format *format)
{
	struct tep_event *event = format->event;

	format->nr_namings = 0;
	for (unsigned int i = 0; i < sizeof(tellers) / sizeof(tellers[0]); i++) {
		struct event_naming naming;

		if (strcmp(event->name, tellers[i].event) ||
		    strcmp(event->system, tellers[i].system))
			continue;
		naming.pid = tep_find_any_field(event, tellers[i].pid);
		naming.comm = tep_find_field(event, tellers[i].comm);
		naming.is_path = !strcmp(tellers[i].comm, "filename");
		if (naming.pid && naming.comm)
			format->namings[format->nr_namings++] = naming;
	}
}

/*
 * The name becomes that of the file. What the kernel makes of "/dev/fd/3", a program that was
 * executed only by its descriptor, depends on its version: then forget the name, so that the
 * decoder asks for it again.
 */
static void learn_path(struct tracemap_decoder *d, int pid, const char *path, size_t length)
{
	static const char by_fd[] = "/dev/fd/";
	size_t base;

	length = strnlen(path, length);
	for (base = length; base && path[base - 1] != '/'; base--)
		;
	if (base == sizeof(by_fd) - 1 && !memcmp(path, by_fd, base))
		*find_or_add(d, pid) = (struct event_comm){ .pid = pid };
	else
		event_comm_set(d, pid, path + base, length - base);
}

/* Before the event itself is printed, which belongs to the task switched from */
void event_comms_learn(struct tracemap_decoder *d, const struct event_format *format,
		       const struct tracemap_record *rec)
{
	for (unsigned int i = 0; i < format->nr_namings; i++) {
		struct event_bytes bytes = event_field_bytes(format->namings[i].comm, rec);
		uint64_t pid;

		if (bytes.length <= 0 || !event_number(format->namings[i].pid, rec, &pid))
			continue;
		if (format->namings[i].is_path)
			learn_path(d, pid, (const char *)bytes.data, bytes.length);
		else
			event_comm_set(d, pid, (const char *)bytes.data, bytes.length);
	}
}

void tracemap_decoder_learn(struct tracemap_decoder *d, const struct tracemap_record *rec)
{
	const struct event_format *format = event_format(d, tracemap_record_id(rec));

	if (format)
		event_comms_learn(d, format, rec);
}

int event_comms_init(struct tracemap_decoder *d)
{
	d->comms = calloc(NR_HASH * NR_PLACES, sizeof(*d->comms));
	if (!d->comms)
		return -1;
	tracemap_decoder_refresh(d);
	return 0;
}

void event_comms_free(struct tracemap_decoder *d)
{
	free(d->comms);
}

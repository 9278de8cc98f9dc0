// SPDX-License-Identifier: GPL-2.0
/*
 * Count stacks, and the time of function_graph's calls, by the chain of their functions.
 */
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>

#include "advice.h"
#include "event.h"
#include "fields.h"
#include "folded.h"

#define DEPTH_MAX	128	/* of calls: the kernel has no deeper ones */

/* A stack of the kernel, behind which that of the program may come, on the same line */
struct waiting {
	struct tracemap_record kernel;
	struct tracemap_line data;	/* its bytes */
};

/* A line that is printed */
struct stack {
	uint64_t count;
	char text[];
};

struct call {
	uint64_t func;		/* 0: it is not known */
	uint64_t ns;		/* in what it has called */
};

struct task {
	int key;		/* its id, or, as every CPU has an idle one, -1 - CPU */
	unsigned int depth;	/* how many calls it is in */
	uint64_t losses;	/* how many there were when it was seen last */
	struct call calls[DEPTH_MAX];
};

struct folded {
	struct tracemap_decoder *decoder;
	struct waiting *waiting;	/* by CPU */
	int nr_cpus;
	void *stacks, *tasks;		/* trees of tsearch(3) */
	uint64_t losses;
	struct task new;
	struct tracemap_line line;	/* a struct stack, whose text grows */
};

/* Returns what is in the tree, or a copy of the key that is there from now on; or NULL. */
static void *find_or_add(void **tree, const void *key, size_t size,
			 int (*compare)(const void *a, const void *b))
{
	void **found = tfind(key, tree, compare), *copy;

	if (found)
		return *found;
	copy = malloc(size);
	if (copy && tsearch(memcpy(copy, key, size), tree, compare))
		return copy;
	free(copy);
	return NULL;
}

/* ---- Lines ---- */

/* A semicolon ends the name of a process, and a newline the line. */
static void begin_line(struct folded *f, const struct tracemap_record *rec)
{
	static const struct stack none;
	int pid = tracemap_decoder_pid(f->decoder, rec);

	f->line.length = 0;
	tracemap_line_put(&f->line, &none, sizeof(none));
	tracemap_line_printf(&f->line, "%s", tracemap_decoder_comm(f->decoder, pid));
	for (size_t i = sizeof(none); !f->line.error && i < f->line.length; i++) {
		if (f->line.text[i] == ';' || f->line.text[i] == '\n')
			f->line.text[i] = '_';
	}
}

static void put_frame(struct folded *f, uint64_t address, bool user)
{
	struct tep_handle *tep = tracemap_decoder_tep(f->decoder);
	const char *name = user ? NULL : tep_find_function(tep, address);

	if (name)
		tracemap_line_printf(&f->line, ";%s", name);
	else
		tracemap_line_printf(&f->line, ";0x%" PRIx64, address);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct stack *)a)->text, ((const struct stack *)b)->text);
}

static int count(struct folded *f, uint64_t more)
{
	struct stack *stack;

	if (f->line.error)
		return f->line.error;
	stack = find_or_add(&f->stacks, f->line.text, f->line.length + 1, by_text);
	if (!stack)
		return -ENOMEM;
	stack->count += more;
	return 0;
}

/* The frames of a record begin with the innermost one, those of a line end with it. */
static void put_frames(struct folded *f, const struct tracemap_record *rec, bool user)
{
	struct tep_event *event = tracemap_decoder_event(f->decoder, tracemap_record_id(rec));
	unsigned int size = tep_get_long_size(tracemap_decoder_tep(f->decoder)) == 4 ? 4 : 8;
	uint64_t end = user ? 0 : event_cut(~0ULL, size, false);
	struct field_place place;
	struct field_value value;
	const unsigned char *data;
	unsigned int nr = 0;

	field_place_find(&place, event, "caller");
	if (!field_place_bytes(&place, rec, &value))
		return;
	data = (const unsigned char *)value.text;
	while ((nr + 1) * size <= value.length && event_load(data + nr * size, size) != end)
		nr++;
	while (nr--)
		put_frame(f, event_load(data + nr * size, size), user);
}

/* Count the stack of the kernel that waits on a CPU, and that of the program, which may be NULL. */
static int end_stack(struct folded *f, struct waiting *w, const struct tracemap_record *user)
{
	bool waits = w->data.length;

	if (w->data.error || (!waits && !user))
		return w->data.error;
	w->data.length = 0;
	begin_line(f, waits ? &w->kernel : user);
	if (user)
		put_frames(f, user, true);
	if (waits)
		put_frames(f, &w->kernel, false);
	return count(f, 1);
}

static void begin_stack(struct waiting *w, const struct tracemap_record *rec)
{
	tracemap_line_put(&w->data, rec->data, rec->size);
	w->kernel = *rec;
	w->kernel.data = w->data.text;
}

/* ---- Calls ---- */

static int by_key(const void *a, const void *b)
{
	const struct task *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

/* Where a process is after a loss is not known, as that may have been on any CPU. */
static struct task *task_of(struct folded *f, const struct tracemap_record *rec)
{
	int pid = tracemap_decoder_pid(f->decoder, rec);
	struct task *task;

	f->new.key = pid > 0 ? pid : -1 - rec->cpu;
	task = find_or_add(&f->tasks, &f->new, sizeof(f->new), by_key);
	if (task && task->losses != f->losses) {
		task->losses = f->losses;
		task->depth = 0;
	}
	return task;
}

static uint64_t number(struct tep_event *event, const char *name,
		       const struct tracemap_record *rec)
{
	uint64_t value = 0;

	event_number(tep_find_any_field(event, name), rec, &value);
	return value;
}

static void enter(struct task *task, unsigned int depth, uint64_t func)
{
	while (task->depth < depth)
		task->calls[task->depth++] = (struct call){ 0 };
	task->calls[depth] = (struct call){ .func = func };
	task->depth = depth + 1;
}

/* Count the time of the function without that of those it has called. */
static int leave(struct folded *f, struct task *task, unsigned int depth, uint64_t ns,
		 const struct tracemap_record *rec)
{
	uint64_t inner = task->calls[depth].ns;

	begin_line(f, rec);
	for (unsigned int i = 0; i <= depth; i++) {
		if (task->calls[i].func)
			put_frame(f, task->calls[i].func, false);
		else
			tracemap_line_printf(&f->line, ";[unknown]");
	}
	task->depth = depth;
	if (depth)
		task->calls[depth - 1].ns += ns;
	return count(f, ns > inner ? ns - inner : 0);
}

static int add_call(struct folded *f, const struct tracemap_record *rec, bool returns)
{
	struct tep_event *event = tracemap_decoder_event(f->decoder, tracemap_record_id(rec));
	uint64_t depth = number(event, "depth", rec), func = number(event, "func", rec);
	struct task *task;

	/* Beyond that, the record is damaged. */
	if (depth >= DEPTH_MAX)
		return 0;
	task = task_of(f, rec);
	if (!task)
		return -ENOMEM;
	/* The call of a return may be lost, or was before the trace. */
	if (!returns || depth >= task->depth || task->calls[depth].func != func)
		enter(task, depth, func);
	return returns ? leave(f, task, depth, number(event, "rettime", rec) -
			       number(event, "calltime", rec), rec) : 0;
}

/* ---- All of it ---- */

/* The name of an event of the system ftrace, or "" */
static const char *name_of(struct tracemap_decoder *decoder, const struct tracemap_record *rec)
{
	struct tep_event *event = NULL;

	if (rec->data && rec->size >= EVENT_COMMON_SIZE)
		event = tracemap_decoder_event(decoder, tracemap_record_id(rec));
	return event && !strcmp(event->system, "ftrace") ? event->name : "";
}

bool folded_is_stack(struct tracemap_decoder *decoder, const struct tracemap_record *rec)
{
	const char *name = name_of(decoder, rec);

	return !strcmp(name, "kernel_stack") || !strcmp(name, "user_stack");
}

int folded_add(struct folded *f, const struct tracemap_record *rec)
{
	struct waiting *w = &f->waiting[rec->cpu];
	const char *name = name_of(f->decoder, rec);
	bool user = !strcmp(name, "user_stack");
	int pid = tracemap_decoder_pid(f->decoder, rec), ret = 0;

	f->losses += rec->missed > 0;
	if (!user || rec->missed || pid != tracemap_decoder_pid(f->decoder, &w->kernel))
		ret = end_stack(f, w, NULL);
	if (ret)
		return ret;
	if (user)
		return end_stack(f, w, rec);
	if (!strcmp(name, "kernel_stack"))
		begin_stack(w, rec);
	if (!strcmp(name, "funcgraph_entry") || !strcmp(name, "funcgraph_exit"))
		return add_call(f, rec, !strcmp(name, "funcgraph_exit"));
	return 0;
}

static void print_stack(const void *node, VISIT visit, void *arg)
{
	const struct stack *stack = *(struct stack **)node;
	struct output *out = arg;

	if (visit != postorder && visit != leaf)
		return;
	output_begin_line(out);
	tracemap_line_printf(&out->line, "%s %" PRIu64 "\n", stack->text, stack->count);
	output_escape_line(out);
}

int folded_print(struct folded *f, struct output *out)
{
	int ret = 0;

	for (int cpu = 0; cpu < f->nr_cpus && !ret; cpu++)
		ret = end_stack(f, &f->waiting[cpu], NULL);
	if (!ret && !f->stacks)
		say("there is no stack, and no return from a function: record with -p function_graph, or an instance whose options/stacktrace is 1");
	twalk_r(f->stacks, print_stack, out);
	return ret ? ret : output_flush(out);
}

int folded_new(struct folded **to, struct tracemap_decoder *decoder, int nr_cpus)
{
	struct folded *f = calloc(1, sizeof(*f));

	*to = f;
	if (!f)
		return -ENOMEM;
	f->decoder = decoder;
	f->waiting = calloc(nr_cpus + 1, sizeof(*f->waiting));
	f->nr_cpus = f->waiting ? nr_cpus : 0;
	return f->waiting ? 0 : -ENOMEM;
}

void folded_free(struct folded *f)
{
	for (int cpu = 0; f && cpu < f->nr_cpus; cpu++)
		tracemap_line_free(&f->waiting[cpu].data);
	if (!f)
		return;
	tdestroy(f->stacks, free);
	tdestroy(f->tasks, free);
	tracemap_line_free(&f->line);
	free(f->waiting);
	free(f);
}

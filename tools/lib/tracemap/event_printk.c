// SPDX-License-Identifier: LGPL-2.1
/*
 * Records of trace_printk(), and other events that point to strings of the kernel. The kernel
 * tells these strings in the file printk_formats, which libtraceevent keeps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event_program.h"

#define NR_PRINTKS	256	/* that are remembered, a power of two */

struct event_printk {
	uint64_t address;
	struct event_program *program;	/* NULL: it was not compiled, or cannot be */
};

/*
 * libtraceevent has no function for this. But it prints a record of trace_puts(), which is made
 * here and thus sound, as an address, ": ", and the string, or the address of that.
 */
static bool ask(struct tracemap_decoder *d, struct tep_event *event, uint32_t offset,
		uint64_t address, char *text)
{
	uint64_t data[8] = { 0 };
	struct tep_record record = { .data = data, .size = sizeof(data) };
	const char *found;
	struct trace_seq seq;
	const uint16_t id = event->id;
	char unknown[32];

	memcpy(data, &id, sizeof(id));
	memcpy((char *)data + offset, &address, sizeof(address));
	trace_seq_init(&seq);
	tep_print_event(d->tep, &seq, &record, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&seq);
	snprintf(unknown, sizeof(unknown), "%llx", (unsigned long long)address);
	found = seq.buffer ? strstr(seq.buffer, ": ") : NULL;
	snprintf(text, EVENT_STRING_MAX, "%s", found ? found + 2 : unknown);
	trace_seq_destroy(&seq);
	return strcmp(strncmp(text, "0x", 2) ? text : text + 2, unknown);
}

bool event_string(struct tracemap_decoder *d, uint64_t address, char text[EVENT_STRING_MAX])
{
	struct tep_event *event = tep_find_event_by_name(d->tep, "ftrace", "bputs");
	struct tep_format_field *field = event ? tep_find_field(event, "str") : NULL;

	return address && field && field->size == 8 && field->offset >= EVENT_COMMON_SIZE &&
	       field->offset <= 56 && !(event->flags & TEP_EVENT_FL_FAILED) &&
	       ask(d, event, field->offset, address, text);
}

/* The program of a format; another one at its place is forgotten. */
static const struct event_program *program_of(struct tracemap_decoder *d, struct tep_event *event,
					      uint64_t address)
{
	struct event_printk *printk;
	char text[EVENT_STRING_MAX];

	if (!d->printks)
		d->printks = calloc(NR_PRINTKS, sizeof(*d->printks));
	if (!d->printks)
		return NULL;
	printk = &d->printks[(address ^ address >> 8) % NR_PRINTKS];
	if (printk->address == address)
		return printk->program;
	event_program_free(printk->program);
	*printk = (struct event_printk){ .address = address };
	if (event_string(d, address, text))
		printk->program = event_compile_printk(d, event, text);
	return printk->program;
}

const struct event_program *event_printk(struct tracemap_decoder *d,
					 const struct event_format *format,
					 const struct tracemap_record *rec)
{
	uint64_t address;

	if (!event_field_number(format->event, "fmt", rec, &address))
		return NULL;
	return program_of(d, format->event, address);
}

void event_printk_free(struct tracemap_decoder *d)
{
	for (unsigned int i = 0; d->printks && i < NR_PRINTKS; i++)
		event_program_free(d->printks[i].program);
	free(d->printks);
}

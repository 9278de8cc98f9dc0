// SPDX-License-Identifier: GPL-2.0
/* Makes numbered events, and checks those that come back. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracemap_bpf.h"

/* Prints what went wrong, and returns the error. */
int complain(int error, const char *format, ...)
{
	va_list args;

	fputs("tracemap_bpf: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(-error));
	return error;
}

/* The calling thread runs there and nowhere else. */
int go_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return complain(-errno, "running on CPU %d", cpu);
	return 0;
}

void make_event(unsigned int number)
{
	syscall(SYS_getpriority, NUMBERED, number);
}

int make_event_on(int cpu, unsigned int number)
{
	int ret = go_to_cpu(cpu);

	if (!ret)
		make_event(number);
	return ret;
}

/*
 * Copies the event out of its record: in place it may be aligned to 4 bytes
 * only. Then looks whether it is as the BPF program wrote it.
 */
int check_event(const struct tracemap_record *rec, bool own_stamp, struct numbered *event)
{
	size_t fixed = offsetof(struct numbered, word), size = rec->size;

	memset(event, 0, sizeof(*event));
	if (size > sizeof(*event))
		size = sizeof(*event);
	memcpy(event, rec->data, size);
	if (size < fixed || event->words != numbered_words(event->number) ||
	    size < fixed + event->words * sizeof(event->word[0]))
		return complain(-EBADMSG, "an event of %u bytes", rec->size);
	for (unsigned int i = 0; i < event->words; i++) {
		if (event->word[i] != event->number)
			return complain(-EBADMSG, "event %u has %u in it", event->number,
					event->word[i]);
	}
	if (event->cpu != (unsigned int)rec->cpu)
		return complain(-EBADMSG, "CPU %d's event says it is of %u", rec->cpu, event->cpu);
	if (own_stamp && event->ts != rec->ts)
		return complain(-EBADMSG, "event %u is stamped %llu", event->number, event->ts);
	return 0;
}

int account_event(struct account *account, const struct tracemap_record *rec,
		  const struct numbered *event)
{
	if (event->number != account->next + rec->missed)
		return complain(-EBADMSG, "CPU %d: event %u where %u should be, %llu told lost",
				rec->cpu, event->number, account->next,
				(unsigned long long)rec->missed);
	account->lost += rec->missed;
	account->seen++;
	account->next = event->number + 1;
	return 0;
}

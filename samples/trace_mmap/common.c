// SPDX-License-Identifier: GPL-2.0
/*
 * What the samples that decode events share.
 */
/* Let __u64 be a long long everywhere. */
#define __SANE_USERSPACE_TYPES__

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common.h"

/* What every event of the kernel starts with. */
#define COMMON_FIELDS	8

/* Stopping: signals count here, and make this descriptor readable. */
static int stop_signals;
int stop_fd = -1;

static void stop(int sig)
{
	__u64 one = 1;
	int saved = errno;

	(void)sig;
	__atomic_add_fetch(&stop_signals, 1, __ATOMIC_RELAXED);
	/* If that fails, it is readable already. */
	while (write(stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	errno = saved;
}

int signals_so_far(void)
{
	return __atomic_load_n(&stop_signals, __ATOMIC_RELAXED);
}

void stop_on_signals(unsigned int seconds)
{
	/* SA_RESTART: no line of output is cut off by a signal. */
	struct sigaction sa = { .sa_handler = stop, .sa_flags = SA_RESTART };

	stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (stop_fd < 0)
		err(1, "eventfd");
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	/* The output is read no more: settings are to be put back, as ever. */
	sigaction(SIGPIPE, &sa, NULL);
	sigaction(SIGALRM, &sa, NULL);
	alarm(seconds);
}

/* Buffers. */

const char *buffer_advice(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return "run as root";
	case ENOENT:
		return "there is no such CPU";
	case ENODEV:
		return "this kernel cannot map trace buffers: 6.10 can, or 6.1 with patches";
	case EBUSY:
		return "remove snapshot and histogram triggers; current_tracer must be nop";
	case EINVAL:
		return "it was not online since the instance was made";
	case ENOMEM:
		return "not enough memory, or address space (ulimit -v)";
	default:
		return "the buffer cannot be opened and mapped";
	}
}

bool has_buffer(struct tracefs_instance *instance, int cpu)
{
	char file[64];

	snprintf(file, sizeof(file), "per_cpu/cpu%d/trace_pipe_raw", cpu);
	return tracefs_file_exists(instance, file);
}

int open_buffer(struct tracefs_instance *instance, int cpu, const char *name)
{
	char file[64];

	snprintf(file, sizeof(file), "per_cpu/cpu%d/%s", cpu, name);
	return tracefs_instance_file_open(instance, file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

void read_format(struct subbuf_format *format)
{
	char *text = tracefs_instance_file_read(NULL, "events/header_page", NULL);

	if (!text || !subbuf_format_parse(format, text))
		errx(1, "events/header_page: not understood");
	free(text);
}

struct tracefs_instance *open_instance(const char *name)
{
	const char *dir = tracefs_tracing_dir();
	struct tracefs_instance *instance;

	if (!dir)
		errx(1, "there is no tracefs: mount -t tracefs nodev /sys/kernel/tracing, as root");
	if (access(dir, R_OK | X_OK) < 0)
		err(1, "%s: run as root", dir);
	if (!name)
		return NULL;
	if (!tracefs_instance_exists(name))
		errx(1, "there is no instance \"%s\": mkdir %s/instances/%s",
		     name, dir, name);
	instance = tracefs_instance_alloc(NULL, name);
	if (!instance)
		err(1, "instance %s", name);
	return instance;
}

/* Decoding. */

/* saved_cmdlines was read at the start: who came later is asked for here. */
static void name_process(struct tep_handle *tep, int pid)
{
	char path[32], comm[32] = "<...>";
	FILE *file;

	if (pid <= 0 || tep_is_pid_registered(tep, pid))
		return;
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "re");
	if (file) {
		if (fgets(comm, sizeof(comm), file))
			comm[strcspn(comm, "\n")] = '\0';
		fclose(file);
	}
	tep_register_comm(tep, comm, pid);
}

void print_event(struct decoder *d, int cpu, const struct subbuf_record *rec)
{
	struct tep_record record = {
		.ts = rec->ts,
		.cpu = cpu,
		.size = rec->size,
		.data = (void *)rec->data,
	};

	if (rec->size < COMMON_FIELDS) {
		printf("[%03d] an event of %u bytes\n", cpu, rec->size);
		return;
	}
	name_process(d->tep, tep_data_pid(d->tep, &record));
	trace_seq_reset(&d->line);
	tep_print_event(d->tep, &d->line, &record, "%16s-%-7d [%03d] ",
			TEP_PRINT_COMM, TEP_PRINT_PID, TEP_PRINT_CPU);
	tep_print_event(d->tep, &d->line, &record, d->time_format, TEP_PRINT_TIME);
	tep_print_event(d->tep, &d->line, &record, ": %s: %s\n",
			TEP_PRINT_NAME, TEP_PRINT_INFO);
	trace_seq_do_printf(&d->line);
}

/* Some clocks do not count nanoseconds. */
static const char *time_format(struct tracefs_instance *instance)
{
	char *clock = tracefs_get_clock(instance);
	bool counts = clock && (!strcmp(clock, "counter") ||
				!strcmp(clock, "uptime") ||
				!strcmp(clock, "x86-tsc"));

	free(clock);
	return counts ? "%12d" : "%6.1000d";
}

void open_decoder(struct decoder *d, struct tracefs_instance *instance)
{
	d->tep = tracefs_local_events(NULL);
	if (!d->tep)
		err(1, "the formats of the events cannot be read");
	/* They are of this machine, which is not taken for granted. */
	tep_set_file_bigendian(d->tep, tep_is_local_bigendian(d->tep) ? TEP_BIG_ENDIAN :
								       TEP_LITTLE_ENDIAN);
	trace_seq_init(&d->line);
	d->time_format = time_format(instance);
}

void close_decoder(struct decoder *d)
{
	if (!d->tep)
		return;
	trace_seq_destroy(&d->line);
	tep_free(d->tep);
}

__u64 parse_number(const char *text, __u64 max)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || value > max)
		errx(2, "\"%s\" is not a number from 0 to %llu", text, max);
	return value;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Say why the buffers of an instance, or the formats of its events, cannot be opened.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <tracemap-event.h>

#include "advice.h"
#include "buffers.h"

/* Has the CPU no buffer? Opening one to read takes no event. */
static bool has_none(const char *dir, int number)
{
	struct tracemap_options options = tracemap_default_options();
	struct tracemap_cpu *cpu;
	int ret;

	options.way = TRACEMAP_READ;
	ret = tracemap_cpu_open(&cpu, dir, number, &options);
	if (!ret)
		tracemap_cpu_close(cpu);
	return ret == -ENXIO;
}

int buffers_refused(int error, const char *what, const char *dir,
		    const struct tracemap_options *options)
{
	for (uint32_t i = 0; error == -ENXIO && i < options->nr_cpus; i++) {
		if (has_none(dir, options->cpus[i]))
			return complain(ABOUT_BUFFER, error, "%s, CPU %d", what, options->cpus[i]);
	}
	return complain(ABOUT_BUFFER, error, "%s", what);
}

int formats_refused(int error, const char *dir)
{
	char *top = NULL, path[512];
	int ret;

	if (!advice_refused(error) || tracemap_find_dir(&top, NULL))
		return complain(ABOUT_TRACEFS, error, "%s: formats of events", dir);
	snprintf(path, sizeof(path), "%s/events/header_page", top);
	/* It is the first that is read of those at the top level. */
	if (!access(path, R_OK))
		snprintf(path, sizeof(path), "%s/events/ftrace", top);
	ret = complain(ABOUT_INSTANCE, error, "the formats of events of %s need %s", dir, path);
	free(top);
	return ret;
}

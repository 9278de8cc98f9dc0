// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fault.h"
#include "tracefs.h"

#define DEBUGFS_DIR	"/sys/kernel/debug"

static int fail_nth = -1;

int faults_allow(void)
{
	static const struct {
		const char	*file;
		const char	*value;
	} settings[] = {
		{ DEBUGFS_DIR "/failslab/ignore-gfp-wait",		"N" },
		{ DEBUGFS_DIR "/failslab/cache-filter",			"N" },
		{ DEBUGFS_DIR "/failslab/verbose",			"0" },
		{ DEBUGFS_DIR "/fail_page_alloc/ignore-gfp-wait",	"N" },
		{ DEBUGFS_DIR "/fail_page_alloc/ignore-gfp-highmem",	"N" },
		{ DEBUGFS_DIR "/fail_page_alloc/min-order",		"0" },
		{ DEBUGFS_DIR "/fail_page_alloc/verbose",		"0" },
	};
	size_t i;
	int err;

	for (i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		err = write_file(settings[i].file, settings[i].value);
		if (err)
			return err;
	}
	/* Of the calling thread, whoever was forked meanwhile. */
	if (fail_nth >= 0)
		close(fail_nth);
	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR);
	return fail_nth < 0 ? -errno : 0;
}

int fault_begin(unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	return pwrite(fail_nth, text, len, 0) == len ? 0 : -errno;
}

int fault_end(void)
{
	char text[16] = "";

	if (pread(fail_nth, text, sizeof(text) - 1, 0) < 0 || fault_begin(0))
		return -errno;
	return !strtoul(text, NULL, 10);
}

unsigned int fault_sample(unsigned int nth)
{
	return nth < 50 ? nth + 1 : nth + nth / 8;
}

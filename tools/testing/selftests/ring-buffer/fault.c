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
#define FAIL_PAGES	DEBUGFS_DIR "/fail_page_alloc/"

static int fail_nth = -1;
static int make_it_fail = -1;

/* Open the file anew: after a fork, the descriptor is that of the parent's thread. */
static int reopen(int *fd, const char *path)
{
	if (*fd >= 0)
		close(*fd);
	*fd = open(path, O_RDWR);
	return *fd < 0 ? -errno : 0;
}

int faults_allow(void)
{
	static const struct {
		const char	*file;
		const char	*value;
	} settings[] = {
		{ DEBUGFS_DIR "/failslab/ignore-gfp-wait",		"N" },
		{ DEBUGFS_DIR "/failslab/cache-filter",			"N" },
		{ DEBUGFS_DIR "/failslab/verbose",			"0" },
		{ FAIL_PAGES "ignore-gfp-wait",				"N" },
		{ FAIL_PAGES "ignore-gfp-highmem",			"N" },
		{ FAIL_PAGES "min-order",				"0" },
		{ FAIL_PAGES "verbose",					"0" },
		{ FAIL_PAGES "task-filter",				"Y" },
		{ FAIL_PAGES "times",					"1000000000" },
	};
	size_t i;
	int err;

	for (i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		err = write_file(settings[i].file, settings[i].value);
		if (err)
			return err;
	}
	return reopen(&fail_nth, "/proc/thread-self/fail-nth") ?:
	       reopen(&make_it_fail, "/proc/thread-self/make-it-fail");
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

static int set_make_it_fail(const char *value)
{
	return pwrite(make_it_fail, value, 1, 0) == 1 ? 0 : -errno;
}

int memory_ends(unsigned int pages)
{
	char text[16];

	/* What would leave nothing of it fails, too */
	snprintf(text, sizeof(text), "%u", pages + 1);
	return write_file(FAIL_PAGES "space", text) ?:
	       write_file(FAIL_PAGES "probability", "100") ?:
	       set_make_it_fail("1");
}

int memory_returns(void)
{
	return set_make_it_fail("0") ?: write_file(FAIL_PAGES "probability", "0");
}

unsigned int fault_sample(unsigned int nth)
{
	return nth < 50 ? nth + 1 : nth + nth / 8;
}

/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Make a folder that looks like tracefs, for tests: a top level, and an instance with one CPU,
 * whose buffer is a pipe.
 */
#ifndef _TRACEMAP_TRACEFS_MAKE_H
#define _TRACEMAP_TRACEFS_MAKE_H

#include <fcntl.h>
#include <unistd.h>

#include "check.h"

/* What an instance has, and the top level as well. */
static inline void tracefs_make_folder(const char *folder)
{
	make_file(folder, "events/header_page",
		  "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		  "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n");
	make_file(folder, "events/header_event", "header event\n");
	make_file(folder, "set_event", "");
	make_file(folder, "current_tracer", "nop\n");
	make_file(folder, "trace_clock", "[local] global\n");
	make_file(folder, "per_cpu/cpu0/stats", "entries: 0\noverrun: 0\n");
	make_file(folder, "per_cpu/cpu0/buffer_size_kb", "8\n");
}

/*
 * Make the top level @top, and the instance @dir, which is @top/instances/one. Returns the end
 * of the pipe to write sub-buffers to, 128 at most that were not read.
 */
static inline int tracefs_make(const char *top, const char *dir)
{
	char raw[300];
	int to;

	CHECK(!mkdir(top, 0700));
	make_file(top, "instances/one/set_event", "");
	tracefs_make_folder(dir);
	make_file(top, "events/ftrace/print/format", "name: print\nID: 5\n");
	make_file(top, "saved_cmdlines", "77 of-the-top\n");
	make_file(top, "printk_formats", "");
	snprintf(raw, sizeof(raw), "%s/per_cpu/cpu0/trace_pipe_raw", dir);
	CHECK(!mkfifo(raw, 0600));
	to = open(raw, O_RDWR | O_CLOEXEC);
	CHECK(to >= 0 && fcntl(to, F_SETPIPE_SZ, 1 << 19) == 1 << 19);
	return to;
}

static inline void tracefs_remove(const char *top, int to)
{
	char command[300];

	close(to);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	CHECK(!system(command));
}

static inline int open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

#endif /* _TRACEMAP_TRACEFS_MAKE_H */

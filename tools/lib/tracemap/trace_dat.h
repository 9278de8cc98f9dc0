/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Record a trace.dat file, version 6. (libtracecmd 3.1 has functions that write such files,
 * but its header declares only those that read them.)
 *
 * The format has the data of each CPU in one piece, whose length is not known before the
 * end. Therefore the data of CPU N go to a file of their own during the recording,
 * FILE.cpuN, and FILE has only what comes before them. At the end the data are moved into
 * FILE. Where the file system can share blocks between files, this copies nothing.
 * Elsewhere it frees what was copied step by step.
 *
 * FILE can be read at any time. Its table says how much data of each CPU it has; FILE.cpuN
 * has the rest. If the recorder is killed, at any time, trace_dat_restore() moves the
 * rest. FILE also says for each CPU whether its FILE.cpuN is needed: all of these, even
 * those of CPUs that never have data, are made before FILE says so, and removed before
 * FILE says that it is whole.
 *
 * Before the data are moved, FILE is replaced by one whose head has more information,
 * which is written as FILE.new.
 */
#ifndef _TRACEMAP_TRACE_DAT_H
#define _TRACEMAP_TRACE_DAT_H

#include <stdbool.h>
#include <stdint.h>

#include "dat_page.h"
#include "trace_head.h"

struct trace_dat;

/**
 * struct trace_dat_watch - what to call while data are moved
 * @go_on: called at the beginning, and whenever the data moved since the last call are on
 *	the disk, at most 64 MiB; returns false to leave the rest where it is
 * @arg: the first argument of @go_on
 */
struct trace_dat_watch {
	bool (*go_on)(void *arg, uint64_t moved, uint64_t size);
	void *arg;
};

/**
 * trace_dat_create - begin a file
 * @dat: set to a new handle
 * @path: the name of the file; a file of that name is replaced
 * @head: what comes before the data; it must stay as long as the file is written
 * @nr_cpus: for how many CPUs there will be data
 * @page_size: bytes of a page
 * @in_the_way: set to the name of an existing @path.cpuN or @path.new, to be freed, or to
 *	NULL
 *
 * Return: 0; -EINVAL if @path is no regular file; -EBUSY if it is being recorded;
 * -EEXIST if there is a @path.cpuN or @path.new; -EMEDIUMTYPE if it is something other
 * than a trace.dat file; or another negative errno. In these four cases the file is as it
 * was. After another error it is gone; if it was there before, it is as it was, or empty.
 */
int trace_dat_create(struct trace_dat **dat, const char *path, const struct trace_head *head,
		     unsigned int nr_cpus, unsigned int page_size, char **in_the_way);

/**
 * trace_dat_write - write pages
 * @dat: the file
 * @cpu: the CPU of the pages
 * @at: where to write them in the data of that CPU; what was behind them is removed
 * @pages: the pages
 * @nr: how many pages
 *
 * Return: 0; -EFBIG if the file would be larger than it may be; or another negative errno,
 * such as -ENOSPC. After an error the file has what it had.
 */
int trace_dat_write(struct trace_dat *dat, unsigned int cpu, uint64_t at,
		    const struct dat_page *pages, int nr);

/**
 * trace_dat_write_last - write a page for which the disk may have no room any more
 * @dat: the file
 * @cpu: the CPU of the page, which comes behind its others
 * @page: the page
 *
 * It gives up the reserved space, and takes at most half of it.
 *
 * Return: 0 or a negative errno, and then the file has what it had
 */
int trace_dat_write_last(struct trace_dat *dat, unsigned int cpu, const struct dat_page *page);

uint64_t trace_dat_size(const struct trace_dat *dat);	/* bytes of data written */

/**
 * trace_dat_replace_head - replace the file by one that has the refreshed head
 * @dat: the file, which is not finished yet
 *
 * Return: 0; or a negative errno, and then the file has the head that it had
 */
int trace_dat_replace_head(struct trace_dat *dat);

/**
 * trace_dat_finish - move all data into the file
 * @dat: the file, to which nothing is written any more
 * @watch: what to call meanwhile, or NULL
 *
 * Return: 0; -EINTR if @go_on of @watch returned false; or another negative errno. After
 * an error @path.cpuN have what the file does not have
 */
int trace_dat_finish(struct trace_dat *dat, const struct trace_dat_watch *watch);
void trace_dat_close(struct trace_dat *dat);

/**
 * struct trace_dat_restored - what trace_dat_restore() has found
 * @size: bytes of data that the file has
 * @moved: how many of them came from @path.cpuN
 * @parts: how many of these files there were
 * @file: the name of a file that the error is about, to be freed; or NULL
 */
struct trace_dat_restored {
	uint64_t size;
	uint64_t moved;
	unsigned int parts;
	char *file;
};

/**
 * trace_dat_restore - finish a file whose recorder was killed
 * @path: the name of the file
 * @wait: whether to wait until it is not recorded any more
 * @watch: what to call meanwhile, or NULL
 * @restored: filled
 *
 * A file that is whole is not changed, and neither is any file beside it.
 *
 * Return: 0; -EBUSY if it is being recorded; -ENOTRECOVERABLE if the file was truncated,
 * and no @path.cpuN has the missing data any more; -EEXIST if it is whole, and there is a
 * @path.cpuN or @path.new that does not belong to it; -ENODATA if a @path.cpuN is missing;
 * -EINVAL if tracemap did not begin it, or if the @path.cpuN do not belong to it; or what
 * trace_dat_finish() returns. After all of these but the last all files are as they were
 */
int trace_dat_restore(const char *path, bool wait, const struct trace_dat_watch *watch,
		      struct trace_dat_restored *restored);

/**
 * trace_dat_front - make all of a whole file but its data
 * @front: filled; the data of each CPU come right behind it, in the order of the CPUs
 * @head: what comes before the data
 * @nr_cpus: for how many CPUs there are data
 * @page_size: bytes of a page
 * @sizes: bytes of data of each CPU
 *
 * Return: 0 or a negative errno; @front is to be freed in any case
 */
int trace_dat_front(struct bytes *front, const struct trace_head *head, unsigned int nr_cpus,
		    unsigned int page_size, const uint64_t *sizes);

/* The same for a file without a name, with its data */
int trace_dat_own_front(struct trace_dat *dat, struct bytes *front);

/**
 * trace_dat_create_unnamed - begin a file that trace_dat_send() writes when it is whole
 * @dat: set to a new handle
 * @head: what comes before the data; it must stay as long as the file is written
 * @nr_cpus: for how many CPUs there will be data
 * @page_size: bytes of a page
 *
 * Until it is sent, the data of each CPU are in a file without a name, see temp_file().
 * trace_dat_replace_head() and trace_dat_finish() are not for it.
 *
 * Return: 0 or a negative errno
 */
int trace_dat_create_unnamed(struct trace_dat **dat, const struct trace_head *head,
			     unsigned int nr_cpus, unsigned int page_size);

/**
 * trace_dat_replace - replace the file, instead of trace_dat_finish()
 * @dat: the file, to which nothing is written any more
 * @write: writes what is to be the file; returns 0 or a negative errno
 * @arg: the first argument of @write
 *
 * The new file gets its name when it is whole, and then @path.cpuN are removed.
 *
 * Return: 0; or a negative errno, and then all files are as they were
 */
int trace_dat_replace(struct trace_dat *dat, int (*write)(void *arg, int fd), void *arg);

/* For code that writes the file in another form: its head, and the data of a CPU */
const struct trace_head *trace_dat_head(const struct trace_dat *dat);
uint64_t trace_dat_cpu_size(const struct trace_dat *dat, unsigned int cpu);
int trace_dat_cpu_fd(const struct trace_dat *dat, unsigned int cpu);

/* Read @size bytes of the CPU's data, from @at on. Returns 0 or a negative errno. */
int trace_dat_read(const struct trace_dat *dat, unsigned int cpu, uint64_t at, void *to,
		   size_t size);

/* Write all of @data from @at on. Returns 0 or a negative errno. */
int trace_dat_write_at(int fd, const void *data, size_t size, uint64_t at);

/*
 * The file that has the data of a CPU until the recording @path has ended. Returns its path, to be
 * freed, or NULL if there is no memory.
 */
char *trace_dat_part_path(const char *path, unsigned int cpu);

/* Whether the file is one that trace_dat_restore() would have to finish. */
bool trace_dat_is_unfinished(const char *path);

#endif /* _TRACEMAP_TRACE_DAT_H */

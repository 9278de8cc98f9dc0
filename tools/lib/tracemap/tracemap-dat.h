/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * libtracemap-dat: record an instance into a trace.dat file, which trace-cmd and KernelShark
 * read.
 *
 *	struct tracemap_dat *dat;
 *
 *	ret = tracemap_open(&t, dir, NULL);
 *	ret = tracemap_dat_open(&dat, "trace.dat", t, dir, 0);
 *	do {
 *		ret = tracemap_dat_take(dat);
 *		if (!ret)
 *			ret = tracemap_wait(t, 1000);
 *	} while (ret > 0);
 *	ret = tracemap_dat_finish(dat);
 *	tracemap_dat_close(dat);
 *
 * The library writes whole sub-buffers from where they are to the file. It counts their
 * events, and looks at more of them only where some were lost. The file has every loss in its
 * place, but not the events that a full buffer drops without overwrite mode, which only stats
 * count.
 *
 * As in libtracemap, calls return a negative errno on failure, the library starts no thread
 * and prints nothing, and only one thread at a time may use a handle and its instance.
 */
#ifndef _TRACEMAP_DAT_H
#define _TRACEMAP_DAT_H

#include "tracemap.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tracemap_dat;

enum {
	/* Of tracemap_dat_open(). */
	TRACEMAP_DAT_COMPRESS	= 1 << 0, /* by zstd, when the file is finished */
};

/**
 * tracemap_dat_open - begin a file
 * @dat: set to a new handle; left alone on failure
 * @path: the name of the file; a trace.dat of that name is replaced
 * @t: the buffers; close them after the handle
 * @dir: the folder that they were opened in. What is to be traced is enabled already: the
 *	file has the formats of the events that are enabled at its beginning or its end, and
 *	of those that have come
 * @flags: 0; or TRACEMAP_DAT_COMPRESS: tracemap_dat_finish() compresses the file, which
 *	trace-cmd reads since version 3.1
 *
 * Until the file is finished, it lacks the data, which are in files of their own beside it:
 * @path.cpu0 and so on. If the program ends before that, tracemap-record(1) makes a
 * whole file of all of them by its --restore.
 *
 * Return: 0, or a negative errno, which may be one of open(2)
 * * -EINVAL - @path is no regular file, @dir has no buffers of CPUs that @t has, or there is
 *   no such flag.
 * * -EOPNOTSUPP - The library was built without libzstd: do not compress.
 * * -EBUSY - The file is being recorded: choose another name.
 * * -EEXIST - There is a @path.cpuN or @path.new: restore @path, or choose another name.
 * * -EMEDIUMTYPE - There is a file of that name that is no trace.dat: remove it, or choose
 *   another name.
 * * -ENOENT - The folder of @path does not exist: make it. Or @dir is not in tracefs.
 * * -EACCES - Only root may read the formats of events, or write there.
 * * -ENOSPC, -EDQUOT - There is no room, not even for what comes before the data.
 * * -EMFILE, -ENFILE - Too many files are open: raise the limit. A CPU needs one.
 * * -EPROTO - The kernel describes its buffers in a way that this library does not know.
 * * -ENOMEM - There is no memory.
 */
int tracemap_dat_open(struct tracemap_dat **dat, const char *path, struct tracemap *t,
		      const char *dir, uint32_t flags);

/**
 * tracemap_dat_take - write what all CPUs have
 * @dat: the handle
 *
 * It writes at most 64 sub-buffers of each CPU, so that the others do not wait. It includes
 * CPUs that tracemap_rescan() has opened, and goes on after damage in a sub-buffer. Records
 * that the caller has taken itself are not in the file.
 *
 * Where another program consumes, too, a mapped sub-buffer may be overwritten while it is
 * written to the file. The file then does not get it, and says before the next event that an
 * unknown number of events is missing.
 *
 * Return: 1 if there was something, 0 if there was nothing, -ENODATA if all CPUs are at the
 * end of tracemap_until_now(), or another negative errno: one of those of
 * tracemap_cpu_fetch(), or the first error of writing, which each further call returns as
 * well, and which is in @error of struct tracemap_dat_figures
 * * -EINVAL - @dir of tracemap_dat_open() has no CPU of the number of a new one.
 * * -ENOSPC, -EDQUOT - The disk is full: finish the file.
 * * -EFBIG - The file is as large as RLIMIT_FSIZE allows. SIGXFSZ ends the program unless it
 *   handles that signal.
 * * -EALREADY - The file is finished.
 * * -ENOMEM - There is no memory.
 */
int tracemap_dat_take(struct tracemap_dat *dat);

/**
 * struct tracemap_dat_figures - what a file holds by now
 * @events: events in the file
 * @lost: events that were overwritten or dropped since it was begun, and those of
 *	@unwritten
 * @unwritten: events that were taken out of the buffers and not written
 * @bytes: bytes of data, not compressed
 * @error: a negative errno, why the file takes no more; 0 if it still does
 * @at_least: whether more events than @lost may have been lost, as the number of a loss is not
 *	known, or not yet
 */
struct tracemap_dat_figures {
	uint64_t events;
	uint64_t lost;
	uint64_t unwritten;
	uint64_t bytes;
	int32_t error;
	bool at_least;

	/* private: room to grow, 0 */
	uint64_t reserved[4];
};

/**
 * tracemap_dat_figures - say what a file holds by now
 * @dat: the handle
 * @figures: filled
 *
 * Events that other programs consume do not count.
 */
void tracemap_dat_figures(struct tracemap_dat *dat, struct tracemap_dat_figures *figures);

/**
 * tracemap_dat_finish - make the file whole
 * @dat: the handle, whose file then takes nothing more
 *
 * First switch tracing off, and take what there is: the kernel's counters then include the
 * losses that no sub-buffer has reported, and the file gets their number.
 *
 * If the disk was full, or writing has failed, the file lacks events that were taken. It gets
 * the last of these of each CPU, and says before it how many are missing; space for that is
 * reserved. If even that fails, the file does not say it.
 *
 * The call reads again what became known during the recording, such as names of processes,
 * and names of functions if an event that came prints one.
 * Then it moves the data into the file: where the file system can share blocks between
 * files, it copies nothing. Elsewhere it frees what it has copied step by step, so that a
 * full disk has room.
 *
 * Return: 0, or a negative errno, which may be one of write(2). After an error, either the
 * file is whole, and only lacks what became known, or is not compressed; or
 * tracemap-record(1) makes it whole by its --restore when the reason is gone
 * * -ENOSPC, -EDQUOT - The disk is full.
 * * -EALREADY - The function was called before: it can be called once.
 * * -ENOMEM - There is no memory.
 */
int tracemap_dat_finish(struct tracemap_dat *dat);

/**
 * tracemap_dat_close - close the handle
 * @dat: the handle, or NULL
 *
 * A file that was not finished stays as it is, for tracemap-record(1) --restore.
 */
void tracemap_dat_close(struct tracemap_dat *dat);

#ifdef __cplusplus
}
#endif

#endif /* _TRACEMAP_DAT_H */

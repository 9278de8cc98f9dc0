/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Say why the buffers of an instance cannot be opened.
 */
#ifndef _TRACEMAP_BUFFERS_H
#define _TRACEMAP_BUFFERS_H

#include <tracemap.h>

/*
 * complain() that tracemap_open() has failed with @error, by these options; @what: what to call the
 * instance in the folder @dir. It names the CPU if it is one of those that @options ask for, which
 * was never online.
 */
int buffers_refused(int error, const char *what, const char *dir,
		    const struct tracemap_options *options);

#endif /* _TRACEMAP_BUFFERS_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Say why the buffers of an instance, or the formats of its events, cannot be opened.
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

/*
 * complain() that the formats of the events of the instance in the folder @dir cannot be read. It
 * names a file of the top level that may not be, as access to the instance alone is too little.
 */
int formats_refused(int error, const char *dir);

#endif /* _TRACEMAP_BUFFERS_H */

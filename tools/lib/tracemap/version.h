/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * The version of the library and of the command, which recordings contain, too.
 */
#ifndef _TRACEMAP_VERSION_H
#define _TRACEMAP_VERSION_H

#define TRACEMAP_VERSION	"0.2.0"

#endif /* _TRACEMAP_VERSION_H */

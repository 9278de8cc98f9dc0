/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Bytes to which more can be added. After memory has run out, @error stays set and nothing
 * more is added, so that it is enough to check @error at the end.
 */
#ifndef _TRACEMAP_BYTES_H
#define _TRACEMAP_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct bytes {
	char *data;
	size_t size;
	size_t room;
	int error;	/* 0 or -ENOMEM */
};

void bytes_add(struct bytes *b, const void *data, size_t size);
void bytes_add_string(struct bytes *b, const char *text);	/* with its 0 byte */
void bytes_add_u16(struct bytes *b, uint16_t value);
void bytes_add_u32(struct bytes *b, uint32_t value);
void bytes_add_u64(struct bytes *b, uint64_t value);
void bytes_free(struct bytes *b);

/* Add the contents of a file, whose size may be wrong. Returns 0 or a negative errno. */
int bytes_add_file(struct bytes *b, const char *path);

#endif /* _TRACEMAP_BYTES_H */

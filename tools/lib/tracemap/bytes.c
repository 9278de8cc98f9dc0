// SPDX-License-Identifier: LGPL-2.1
/*
 * A growing array of bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "read_file.h"

/* Room for @size more bytes, or NULL. */
static char *reserve(struct bytes *b, size_t size)
{
	size_t room = b->room ? b->room : 4096;
	char *data;

	if (b->error)
		return NULL;
	while (room - b->size < size)
		room *= 2;
	if (room != b->room) {
		data = realloc(b->data, room);
		if (!data) {
			b->error = -ENOMEM;
			return NULL;
		}
		b->data = data;
		b->room = room;
	}
	return b->data + b->size;
}

void bytes_add(struct bytes *b, const void *data, size_t size)
{
	char *to = reserve(b, size);

	if (to && size) {
		memcpy(to, data, size);
		b->size += size;
	}
}

void bytes_add_string(struct bytes *b, const char *text)
{
	bytes_add(b, text, strlen(text) + 1);
}

void bytes_add_u16(struct bytes *b, uint16_t value)
{
	bytes_add(b, &value, sizeof(value));
}

void bytes_add_u32(struct bytes *b, uint32_t value)
{
	bytes_add(b, &value, sizeof(value));
}

void bytes_add_u64(struct bytes *b, uint64_t value)
{
	bytes_add(b, &value, sizeof(value));
}

void bytes_free(struct bytes *b)
{
	free(b->data);
	*b = (struct bytes){ .error = 0 };
}

int bytes_add_file(struct bytes *b, const char *path)
{
	size_t size;
	char *text = read_file_whole(AT_FDCWD, path, &size);

	if (!text)
		return -errno;
	bytes_add(b, text, size);
	free(text);
	return b->error;
}

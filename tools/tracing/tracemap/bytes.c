// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes that grow at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"

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
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t ret;
	char *to;

	if (fd < 0)
		return -errno;
	do {
		to = reserve(b, 65536);
		if (!to) {
			close(fd);
			return b->error;
		}
		ret = read(fd, to, 65536);
		if (ret > 0)
			b->size += ret;
	} while (ret > 0 || (ret < 0 && errno == EINTR));
	ret = ret < 0 ? -errno : 0;
	close(fd);
	return ret;
}

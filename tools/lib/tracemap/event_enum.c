// SPDX-License-Identifier: LGPL-2.1
/*
 * Find the values of the kernel's enumerators in its BTF. Some print formats use their
 * names, and only the running kernel knows the values.
 *
 * BTF is a header, types, and strings. A type is three words, then a number of bytes that
 * depends on its kind. An enum says how many pairs of name and value follow it.
 */
#include <stdlib.h>
#include <string.h>

#include "event.h"

#define BTF_MAGIC	0xeb9f

struct btf_header {
	uint16_t magic;
	uint8_t version;
	uint8_t flags;
	uint32_t hdr_len;
	uint32_t type_off;	/* from the end of the header */
	uint32_t type_len;
	uint32_t str_off;
	uint32_t str_len;
};

enum {
	KIND_ENUM	= 6,
	KIND_ENUM64	= 19,
};

/* Bytes behind the three words, by kind: of the type, and of each of its members. */
static const struct {
	unsigned char type, member;
} sizes[] = {
	[1] = { 4, 0 }, [3] = { 12, 0 }, [4] = { 0, 12 }, [5] = { 0, 12 }, [KIND_ENUM] = { 0, 8 },
	[13] = { 0, 8 }, [14] = { 4, 0 }, [15] = { 0, 12 }, [17] = { 4, 0 },
	[KIND_ENUM64] = { 0, 12 },
};

#define NR_KINDS	(sizeof(sizes) / sizeof(sizes[0]))

struct search {
	const char *name;
	size_t size;		/* of the name, with the 0 behind it */
	const char *strings;
	uint32_t strings_size;
	int found;		/* values that differ */
	long long value;
};

static bool is_it(const struct search *s, uint32_t offset)
{
	return offset < s->strings_size && s->strings_size - offset >= s->size &&
		!memcmp(s->strings + offset, s->name, s->size);
}

static void look_at_enum(struct search *s, const unsigned char *member, unsigned int nr,
			 bool wide, bool is_signed)
{
	for (; nr--; member += wide ? 12 : 8) {
		uint32_t words[3];
		long long value;

		memcpy(words, member, wide ? 12 : 8);
		if (!is_it(s, words[0]))
			continue;
		if (wide)
			value = (uint64_t)words[2] << 32 | words[1];
		else
			value = is_signed ? (int32_t)words[1] : (long long)words[1];
		if (!s->found || value != s->value)
			s->found++;
		s->value = value;
	}
}

static void look_at_types(struct search *s, const unsigned char *type, size_t size)
{
	while (size >= 12) {
		uint32_t words[3], nr, kind;
		size_t length;

		memcpy(words, type, sizeof(words));
		nr = words[1] & 0xffff;
		kind = words[1] >> 24 & 0x1f;
		/* This kind is newer than this code, which does not know its length. */
		if (kind > NR_KINDS - 1)
			return;
		length = 12 + sizes[kind].type + (size_t)nr * sizes[kind].member;
		if (length > size)
			return;
		if (kind == KIND_ENUM || kind == KIND_ENUM64)
			look_at_enum(s, type + 12, nr, kind == KIND_ENUM64, words[1] >> 31);
		type += length;
		size -= length;
	}
}

bool event_enum_search(const void *btf, size_t size, const char *name, long long *value)
{
	struct search s = { .name = name, .size = strlen(name) + 1 };
	struct btf_header header;

	if (size < sizeof(header))
		return false;
	memcpy(&header, btf, sizeof(header));
	if (header.magic != BTF_MAGIC || header.hdr_len < sizeof(header) || header.hdr_len > size)
		return false;
	size -= header.hdr_len;
	if (header.type_off > size || header.type_len > size - header.type_off ||
	    header.str_off > size || header.str_len > size - header.str_off)
		return false;
	s.strings = (const char *)btf + header.hdr_len + header.str_off;
	s.strings_size = header.str_len;
	look_at_types(&s, (const unsigned char *)btf + header.hdr_len + header.type_off,
		      header.type_len);
	*value = s.value;
	return s.found == 1;
}

bool event_enum(struct tracemap_decoder *d, const char *name, long long *value)
{
	if (!d->looked_for_btf)
		d->btf = event_read_file("/sys/kernel/btf", "vmlinux", &d->btf_size);
	d->looked_for_btf = true;
	return d->btf && event_enum_search(d->btf, d->btf_size, name, value);
}

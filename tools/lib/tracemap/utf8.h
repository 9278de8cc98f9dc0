/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Check UTF-8, for the library and the command.
 */
#ifndef _TRACEMAP_UTF8_H
#define _TRACEMAP_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 sequence at @s, 0 if it is none. */
static inline size_t utf8_length(const unsigned char *s, size_t room)
{
	uint32_t code;
	size_t length, i;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		length = 2, code = s[0] & 0x1f;
	else if ((s[0] & 0xf0) == 0xe0)
		length = 3, code = s[0] & 0x0f;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		length = 4, code = s[0] & 0x07;
	else
		return 0;
	if (length > room)
		return 0;
	for (i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	/* Longer than needed, a surrogate, or beyond the last code point: not UTF-8. */
	if ((length == 3 && (code < 0x800 || (code >= 0xd800 && code <= 0xdfff))) ||
	    (length == 4 && (code < 0x10000 || code > 0x10ffff)))
		return 0;
	return length;
}

#endif /* _TRACEMAP_UTF8_H */

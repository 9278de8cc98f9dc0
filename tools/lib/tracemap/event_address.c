// SPDX-License-Identifier: LGPL-2.1
/*
 * Addresses of networks and devices, as the conversions %pI4, %pI6c, %pISpc, %pM and %pU of the
 * kernel print them.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "event_program.h"

static void put_ip4(struct tracemap_line *line, const unsigned char *data)
{
	tracemap_line_printf(line, "%u.%u.%u.%u", data[0], data[1], data[2], data[3]);
}

static unsigned int word(const unsigned char *data, int i)
{
	return data[2 * i] << 8 | data[2 * i + 1];
}

/* An address of IPv4 in one of IPv6, or one made of it by ISATAP */
static bool has_ip4(const unsigned char *data)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(data, mapped, sizeof(mapped)) ||
	       ((word(data, 4) & ~0x0200U) == 0 && word(data, 5) == 0x5efe);
}

/* Find the longest run of zeros among @nr words; *@length is 0 if none has two. */
static int longest_run(const unsigned char *data, int nr, int *length)
{
	int best = 0;

	*length = 0;
	for (int i = 0; i < nr; i++) {
		int n = 0;

		while (i + n < nr && !word(data, i + n))
			n++;
		if (n > 1 && n > *length) {
			*length = n;
			best = i;
		}
	}
	return best;
}

static void put_ip6_short(struct tracemap_line *line, const unsigned char *data)
{
	int nr = has_ip4(data) ? 6 : 8, length, run = longest_run(data, nr, &length);
	const char *colon = "";

	for (int i = 0; i < nr; i++) {
		if (length && i == run) {
			event_line_put(line, "::", 2);
			i += length - 1;
			colon = "";
			continue;
		}
		tracemap_line_printf(line, "%s%x", colon, word(data, i));
		colon = ":";
	}
	if (nr == 8)
		return;
	event_line_puts(line, colon);
	put_ip4(line, data + 12);
}

static void put_ip6(struct tracemap_line *line, const unsigned char *data)
{
	for (int i = 0; i < 8; i++)
		tracemap_line_printf(line, "%s%04x", i ? ":" : "", word(data, i));
}

/* A struct sockaddr: the family, the port, and the address behind other numbers */
static bool put_socket(struct tracemap_line *line, const char *letters, const unsigned char *data,
		       uint32_t size)
{
	bool port = strchr(letters, 'p'), brief = strchr(letters, 'c');
	unsigned int family = event_load(data, 2);

	if (family != AF_INET && family != AF_INET6) {
		event_line_puts(line, "(einval)");
		return true;
	}
	if (family == AF_INET && size >= 8) {
		put_ip4(line, data + 4);
	} else if (family == AF_INET6 && size >= 24) {
		event_line_puts(line, port ? "[" : "");
		(brief ? put_ip6_short : put_ip6)(line, data + 8);
		event_line_puts(line, port ? "]" : "");
	} else {
		return false;
	}
	if (port)
		tracemap_line_printf(line, ":%u", word(data, 1));
	return true;
}

static void put_device(struct tracemap_line *line, const char *letters, const unsigned char *data)
{
	const char *between = letters[0] == 'm' ? "" : letters[1] == 'F' ? "-" : ":";

	for (int i = 0; i < 6; i++)
		tracemap_line_printf(line, "%s%02x", i ? between : "",
				     data[letters[1] == 'R' ? 5 - i : i]);
}

static void put_uuid(struct tracemap_line *line, const char *letters, const unsigned char *data)
{
	static const unsigned char swapped[] = { 3, 2, 1, 0, 5, 4, 7, 6 };
	bool little = letters[1] == 'l' || letters[1] == 'L';
	bool upper = letters[1] == 'B' || letters[1] == 'L';

	for (int i = 0; i < 16; i++) {
		tracemap_line_printf(line, upper ? "%02X" : "%02x",
				     data[little && i < 8 ? swapped[i] : i]);
		if (i == 3 || i == 5 || i == 7 || i == 9)
			event_line_put(line, "-", 1);
	}
}

static const struct {
	const char *letters;
	uint32_t size;
} known[] = {
	{ "I4", 4 }, { "I6c", 16 }, { "I6", 16 }, { "ISpc", 2 }, { "ISp", 2 }, { "ISc", 2 },
	{ "IS", 2 }, { "MF", 6 }, { "MR", 6 }, { "M", 6 }, { "mR", 6 }, { "m", 6 },
	{ "Ub", 16 }, { "UB", 16 }, { "Ul", 16 }, { "UL", 16 }, { "U", 16 },
};

uint32_t event_address_size(const char *letters)
{
	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(letters, known[i].letters))
			return known[i].size;
	}
	return 0;
}

bool event_put_address(struct tracemap_line *line, const char *letters,
		       const unsigned char *data, uint32_t size)
{
	if (size < event_address_size(letters))
		return false;
	if (!strncmp(letters, "IS", 2))
		return put_socket(line, letters, data, size);
	if (!strcmp(letters, "I4"))
		put_ip4(line, data);
	else if (!strcmp(letters, "I6c"))
		put_ip6_short(line, data);
	else if (letters[0] == 'I')
		put_ip6(line, data);
	else if (letters[0] == 'U')
		put_uuid(line, letters, data);
	else
		put_device(line, letters, data);
	return true;
}

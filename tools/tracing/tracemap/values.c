// SPDX-License-Identifier: GPL-2.0
/*
 * Parse the values of options.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "session.h"
#include "values.h"

int value_wrong(const char *option, const char *value, const char *why)
{
	say("%s %s: %s", option, value, why);
	return -EINVAL;
}

/* How many bits a unit shifts by */
static int shift_of(char unit)
{
	switch (tolower((unsigned char)unit)) {
	case 'k':
		return 10;
	case 'm':
		return 20;
	case 'g':
		return 30;
	case 't':
		return 40;
	default:
		return 0;
	}
}

/* With @bytes, "8MB" and "8MiB" are the same as "8M". */
static int parse_number(const char *text, bool bytes, unsigned long long *number)
{
	int shift;
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	shift = shift_of(*end);
	end += shift > 0;
	if (shift && bytes && (!strcmp(end, "B") || !strcmp(end, "iB")))
		end += strlen(end);
	if (!isdigit((unsigned char)*text) || errno || *end || !*number || *number > ~0ULL >> shift)
		return -EINVAL;
	*number <<= shift;
	return 0;
}

int value_size(const char *option, const char *text, unsigned long long *size)
{
	if (!parse_number(text, true, size))
		return 0;
	return value_wrong(option, text, "a number of 1 or more is needed, such as 100, 64k, 8M, 2G or 1T");
}

int value_count(const char *option, const char *text, unsigned long long *count)
{
	if (!parse_number(text, false, count))
		return 0;
	return value_wrong(option, text, "a number of 1 or more is needed, such as 5 or 100");
}

int value_output(const char *name)
{
	return *name ? 0 : value_wrong("-o", "\"\"", "a file needs a name; - is standard output");
}

int value_instance(const char *name)
{
	if (!strcmp(name, SESSION_TOP))
		return 0;
	if (*name && *name != '.' && !strchr(name, '/'))
		return 0;
	say("-i \"%s\": the name of an instance is a folder's in instances/: neither empty nor with a \"/\", nor does it begin with \".\"; -i / is the top level",
	    name);
	return -EINVAL;
}

/*
 * The seconds of one number with its unit, such as "30s", and of a whole text without one. Sets
 * @end behind it, or to NULL if it is wrong, such as "1e3", "0x1" or " 1".
 */
static double take_seconds(const char *text, bool whole, const char **end)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {
		{ "us", 0.000001 }, { "ms", 0.001 }, { "s", 1 }, { "m", 60 }, { "h", 3600 },
	};
	char *unit;
	double value = strtod(text, &unit);

	*end = NULL;
	if (unit == text || unit != text + strspn(text, "0123456789."))
		return 0;
	for (unsigned int i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t length = strlen(units[i].name);

		if (strncmp(unit, units[i].name, length))
			continue;
		*end = unit + length;
		return value * units[i].seconds;
	}
	if (whole && !*unit)
		*end = unit;
	return value;
}

int value_seconds(const char *option, const char *text, double *seconds)
{
	const char *at = text;

	*seconds = 0;
	do {
		*seconds += take_seconds(at, at == text, &at);
	} while (at && *at);
	if (at && *seconds > 1e9)
		return value_wrong(option, text, "at most 1000000000 seconds are possible");
	if (at && *seconds > 0)
		return 0;
	return value_wrong(option, text,
			   "a time above 0 is needed, such as 0.5, 500ms, 10s, 1m30s or 1h");
}

int value_interval(const char *text, double least, double *interval)
{
	if (value_seconds("-d", text, interval))
		return -EINVAL;
	if (*interval >= least && *interval <= 86400)
		return 0;
	say("-d %s: an interval is from %gms to a day", text, least * 1000);
	return -EINVAL;
}

/* Parse digits, and set @end behind them; false if there are none or too many. */
static bool take_number(const char *text, char **end, uint64_t *number)
{
	errno = 0;
	*number = strtoull(text, end, 10);
	return isdigit((unsigned char)*text) && !errno;
}

/* Parse a fraction: ".5" is 500,000,000 ns. Digits below a nanosecond are ignored. */
static uint64_t take_fraction(const char *text, char **end, unsigned int *digits)
{
	uint64_t ns = 0, unit = 1000000000;

	for (*digits = 0; isdigit((unsigned char)*text); text++, ++*digits) {
		unit /= 10;
		ns += (*text - '0') * unit;
	}
	*end = (char *)text;
	return ns;
}

int value_time(const char *option, const char *text, bool counted, uint64_t *ts,
	       unsigned int *digits)
{
	const uint64_t most = UINT64_MAX / 1000000000 - 1;
	uint64_t ns = 0;
	char *end;

	*digits = 9;
	if (!take_number(text, &end, ts))
		end = "wrong";
	if (counted)
		return !*end ? 0 : value_wrong(option, text,
			"the clock of the file counts, and has no seconds: name a number such as 123456");
	if (*end == '.')
		ns = take_fraction(end + 1, &end, digits);
	else
		*digits = 0;
	if (*end || *ts > most)
		return value_wrong(option, text, "no time such as 81.5 or 12345.678901, in seconds");
	*ts = *ts * 1000000000 + ns;
	return 0;
}

int value_way(const char *text, enum tracemap_way *way)
{
	static const enum tracemap_way ways[] = {
		TRACEMAP_READ, TRACEMAP_MAP, TRACEMAP_OBSERVE,
	};

	for (unsigned int i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!strcmp(text, tracemap_way_name(ways[i]))) {
			*way = ways[i];
			return 0;
		}
	}
	return value_wrong("--way", text, "not one of read, map, observe");
}

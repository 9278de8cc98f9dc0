// SPDX-License-Identifier: GPL-2.0
/*
 * The module torture_event is told what to do, and asked what it did.
 */
#include "torture.h"

#define FOLDER	"/sys/kernel/debug/torture_event/"

int writers_start(void)
{
	char text[64];

	snprintf(text, sizeof(text), "start %u %u %u", seed + this_round.number,
		 this_round.words, this_round.discard);
	return write_file(FOLDER "run", text);
}

int writers_single(void)
{
	char text[64];

	snprintf(text, sizeof(text), "single %u %u", seed + this_round.number,
		 this_round.words);
	return write_file(FOLDER "run", text);
}

int writers_fire(unsigned int ctx)
{
	static int fd = -1;
	char text[16];
	int len = snprintf(text, sizeof(text), "fire %u", ctx);

	if (fd < 0)
		fd = open(FOLDER "run", O_WRONLY);
	return write(fd, text, len) == len ? 0 : -errno;
}

int writers_stop(void)
{
	return write_file(FOLDER "run", "stop");
}

int writers_snapshot(const char *instance)
{
	char text[64];

	snprintf(text, sizeof(text), "snapshot%s%s", *instance ? " " : "", instance);
	return write_file(FOLDER "run", text);
}

bool writers_counts(int cpu, uint32_t counts[NR_CONTEXTS])
{
	char text[1024], *line = text;
	int nr;

	if (read_file(FOLDER "counts", text, sizeof(text)) <= 0)
		return false;
	while (line && sscanf(line, "%d %u %u %u %u", &nr, counts, counts + 1, counts + 2,
			      counts + 3) == 5) {
		if (nr == cpu)
			return true;
		line = strchr(line, '\n');
		line += !!line;
	}
	return false;
}

long long committed(int cpu)
{
	const struct trace_instance *ti = &this_round.ti;

	return cpu_stat(ti, cpu, "entries") + cpu_stat(ti, cpu, "overrun") +
	       cpu_stat(ti, cpu, "read events");
}

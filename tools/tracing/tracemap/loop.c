// SPDX-License-Identifier: GPL-2.0
/*
 * Reading until it ends.
 */
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "clock.h"
#include "loop.h"
#include "read_file.h"
#include "stop.h"

#define NS_PER_MS	1000000

static char *read_online(void)
{
	return read_file_whole(AT_FDCWD, "/sys/devices/system/cpu/online", NULL);
}

void loop_begin(struct loop *loop)
{
	loop->online = read_online();
}

int loop_start(struct loop *loop, double seconds, const char *command)
{
	if (seconds)
		loop->deadline = now_ns() + (uint64_t)(seconds * 1e9);
	return child_start(&loop->child, command);
}

/* Whether other CPUs are online than before; looks only when it is time to. */
static bool others_online(struct loop *loop)
{
	char *before = loop->online;
	bool others;

	if (now_ns() < loop->look)
		return false;
	loop->look = now_ns() + LOOP_CPUS_MS * NS_PER_MS;
	loop->online = read_online();
	others = before && loop->online && strcmp(loop->online, before);
	if (loop->online)
		free(before);
	else
		loop->online = before;
	return others;
}

/* A CPU that was never online has no buffer; now it may have one. */
static bool add_cpus(struct tracemap *t, const struct loop_verb *verb, void *arg)
{
	int ret = tracemap_rescan(t);
	/* Those that could be opened are there, whatever became of the others. */
	int added = verb->add_cpus(arg);

	if (ret >= 0)
		ret = added;
	if (ret < 0)
		complain(ABOUT_BUFFER, ret, "a CPU that came online");
	return ret >= 0;
}

static bool is_over(struct loop *loop, const struct loop_verb *verb, void *arg)
{
	return verb->is_over(arg) || stop_signals() ||
	       (loop->child.pid && child_ended(&loop->child)) ||
	       (loop->deadline && now_ns() >= loop->deadline);
}

bool loop_run(struct loop *loop, struct tracemap *t, const struct loop_verb *verb, void *arg)
{
	bool all = true;
	int ret = 0;

	while (ret >= 0 && !is_over(loop, verb, arg)) {
		ret = verb->take(arg);
		if (ret >= 0 && others_online(loop))
			all &= add_cpus(t, verb, arg);
		if (!ret && !is_over(loop, verb, arg))
			ret = verb->sleep(arg);
	}
	return all;
}

int loop_timeout(const struct loop *loop, int ms)
{
	uint64_t now = now_ns(), left;

	if (!loop->deadline)
		return ms;
	left = now < loop->deadline ? (loop->deadline - now) / NS_PER_MS + 1 : 0;
	return left < (uint64_t)ms ? (int)left : ms;
}

void loop_end(struct loop *loop)
{
	child_stop(&loop->child);
	free(loop->online);
	loop->online = NULL;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Processes that follow a buffer by the live view: each sleeps until it is told
 * to look, looks at all there is, and says how many events that were.
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

/* What an observer answers: an error, or the events it knows of in all. */
static int64_t follow(struct reader *reader, struct tally *tally)
{
	int ret = reader->way->drain(reader, tally);

	return ret < 0 ? ret : (int64_t)(tally->events + tally->missed);
}

/* Until there is nobody who asks any more. */
static void observe(const struct trace *trace, int questions, int answers)
{
	struct tally tally = { 0 };
	struct reader reader;
	int64_t answer = reader_open(&reader, &way_live, trace, 0);
	char word;

	while (write(answers, &answer, sizeof(answer)) == sizeof(answer) &&
	       answer >= 0 && read(questions, &word, 1) == 1)
		answer = follow(&reader, &tally);
	_exit(0);
}

/* A child has the ends of those before it, too: let go of them. */
static void become(struct observers *observers, const struct trace *trace,
		   const int *questions, const int *answers)
{
	for (int i = 0; i < observers->nr; i++) {
		close(observers->ask[i]);
		close(observers->answer[i]);
	}
	close(questions[1]);
	close(answers[0]);
	observe(trace, questions[0], answers[1]);
}

static int start(struct observers *observers, const struct trace *trace)
{
	int questions[2], answers[2];
	pid_t pid;

	if (pipe(questions) < 0)
		return -errno;
	if (pipe(answers) < 0) {
		close(questions[0]);
		close(questions[1]);
		return -errno;
	}
	pid = fork();
	if (!pid)
		become(observers, trace, questions, answers);
	close(questions[0]);
	close(answers[1]);
	observers->ask[observers->nr] = questions[1];
	observers->answer[observers->nr++] = answers[0];
	return pid < 0 ? -EAGAIN : 0;
}

/* Have all of them answer that they know of so many events. */
static int expect(const struct observers *observers, int64_t events)
{
	for (int i = 0; i < observers->nr; i++) {
		int64_t answer;

		if (read(observers->answer[i], &answer, sizeof(answer)) != sizeof(answer))
			return -EPIPE;
		if (answer != events)
			return answer < 0 ? answer : -EBADMSG;
	}
	return 0;
}

int observers_start(struct observers *observers, const struct trace *trace, int nr)
{
	int ret = 0;

	observers->nr = 0;
	while (observers->nr < nr && ret >= 0)
		ret = start(observers, trace);
	return ret < 0 ? ret : expect(observers, 0);
}

/* All look. They know of all events since they were started, or it is an error. */
int observers_look(const struct observers *observers, int64_t events)
{
	for (int i = 0; i < observers->nr; i++) {
		if (write(observers->ask[i], "", 1) != 1)
			return -errno;
	}
	return expect(observers, events);
}

void observers_stop(struct observers *observers)
{
	for (int i = 0; i < observers->nr; i++) {
		close(observers->ask[i]);
		close(observers->answer[i]);
	}
	while (wait(NULL) > 0)
		;
}

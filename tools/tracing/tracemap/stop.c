// SPDX-License-Identifier: GPL-2.0
/*
 * Handle signals that ask the program to stop.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "advice.h"
#include "clock.h"
#include "stop.h"

int stop_fd = -1;
static int count, last;
static uint32_t first_ms;	/* when the first signal was counted; it wraps */

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGPIPE };

#define NR_SIGNALS	(sizeof(signals) / sizeof(signals[0]))

static struct sigaction before[NR_SIGNALS];

static uint32_t now_ms(void)
{
	return now_ns() / 1000000;
}

int stop_signals(void)
{
	return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

unsigned int stop_ms(void)
{
	return stop_signals() ? now_ms() - __atomic_load_n(&first_ms, __ATOMIC_RELAXED) : 0;
}

static void handle(int sig)
{
	uint64_t one = 1;
	int saved = errno;

	if (sig != SIGCHLD) {
		if (!stop_signals())
			__atomic_store_n(&first_ms, now_ms(), __ATOMIC_RELAXED);
		__atomic_store_n(&last, sig, __ATOMIC_RELAXED);
		__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	}
	/* If that fails, stop_fd is already readable. */
	while (write(stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	errno = saved;
}

int stop_on_signals(void)
{
	struct sigaction sa = { .sa_handler = handle };

	stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (stop_fd < 0) {
		int error = errno;

		say("eventfd: %s", strerror(error));
		return -error;
	}
	for (unsigned int i = 0; i < NR_SIGNALS; i++) {
		sigaction(signals[i], NULL, &before[i]);
		/* Under nohup the program is to go on without the terminal. */
		if (signals[i] == SIGHUP && before[i].sa_handler == SIG_IGN)
			continue;
		sa.sa_handler = signals[i] == SIGPIPE ? SIG_IGN : handle;
		sigaction(signals[i], &sa, NULL);
	}
	return 0;
}

int stop_last_signal(void)
{
	return __atomic_load_n(&last, __ATOMIC_RELAXED);
}

void stop_forget(void)
{
	__atomic_store_n(&count, 0, __ATOMIC_RELAXED);
	stop_clear_fd();
}

void stop_clear_fd(void)
{
	uint64_t value;

	while (read(stop_fd, &value, sizeof(value)) < 0 && errno == EINTR)
		;
}

int stop_wait(int fd, int ms)
{
	struct pollfd p[] = {
		{ .fd = stop_fd, .events = POLLIN },
		{ .fd = fd, .events = POLLIN },
	};
	int n = poll(p, 2, ms);

	if (n < 0)
		n = -errno;
	if (n == -EINTR || p[0].revents)
		stop_clear_fd();
	return n;
}

void stop_reset(void)
{
	for (unsigned int i = 0; i < NR_SIGNALS; i++)
		sigaction(signals[i], &before[i], NULL);
}

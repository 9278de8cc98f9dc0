// SPDX-License-Identifier: GPL-2.0
/*
 * torture SECONDS SEED [stock]: everything at once, on every CPU.
 *
 * The module torture_event writes in every context. Meanwhile four observers
 * follow each CPU, at different speeds, a consumer takes its events by all ways
 * there are, and a disturber resets, flips overwrite, maps, unmaps and takes CPUs
 * away. It ends after so many seconds, but not before all of that has happened.
 *
 * The same seed makes the same choices, not the same race: repeat it for longer.
 *
 * stock: the kernel is without the series. There is the same load, as far as it has
 * the means, and nothing is judged.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdarg.h>

#include "torture.h"

/* So many times the seconds are enough for all to happen. */
#define PATIENCE	6

const char *const contexts[] = { "task", "softirq", "hardirq", "NMI" };
const char *const speeds[] = { "greedy", "waiting", "copying", "slow" };
const char *const ways[] = { "GET_READER", "read", "splice", "trace_pipe" };

static const char *const faults[] = {
	[NOT_WHOLE]	= "every event is seen whole",
	[NOT_IN_ORDER]	= "every observer sees events once and in order",
	[NOT_EXACT]	= "what was seen and what was missed is what was committed",
	[NOT_ONCE]	= "every event consumed comes out once and in order",
	[WRONG_FIGURES]	= "the figures are right when all is quiet",
	[NOT_WOKEN]	= "whoever waits is woken by what it waits for",
	[NOT_REFUSED]	= "a snapshot that the kernel takes is refused while a buffer is mapped",
	[STUCK]		= "nobody is stuck or refused",
};

static const char *const deeds[] = {
	[EVENTS_MISSED]		= "events missed",
	[LOOKS_REFUSED]		= "looks refused",
	[RESETS_SEEN]		= "resets of running writers seen",
	[CALM_RESETS_SEEN]	= "resets of stopped writers seen",
	[OBSERVERS_ATTACHED]	= "observers attached",
	[OBSERVERS_SLEPT]	= "sleeps of observers",
	[FLIPS_OF_OVERWRITE]	= "flips of overwrite",
	[MAPPINGS_MADE]		= "mappings beside",
	[VISITS]		= "observers that came, waited and went",
	[CPUS_AWAY]		= "CPUs gone and come back",
	[EVENTS_DISCARDED]	= "acts with discarded events",
};

struct shared *shared;
struct round this_round;
unsigned int seed, nr_cpus;
bool stock;

static unsigned int rnd;
static pid_t main_pid;
static pid_t children[MAX_CPUS * (NR_SPEEDS + 1) + 1];
static int nr_children;

unsigned int below(unsigned int n)
{
	rnd ^= rnd << 13;
	rnd ^= rnd >> 17;
	rnd ^= rnd << 5;
	return (rnd >> 3) % n;
}

void fail(enum fault fault, const char *fmt, ...)
{
	va_list args;

	if (add(shared->faults[fault], 1) > 10)
		return;
	printf("# seed %u round %u act %d: ", seed, this_round.number, now(shared->begun));
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

static bool any_fault(void)
{
	int i;

	for (i = 0; i < NR_FAULTS; i++) {
		if (now(shared->faults[i]))
			return true;
	}
	return false;
}

static int judge(void);

/* Without those who do not come there is a verdict all the same. */
static void give_up(void)
{
	fail(STUCK, "waited long for others");
	if (getpid() != main_pid)
		exit(1);
	while (nr_children)
		kill_child(children[--nr_children]);
	writers_stop();
	exit(judge());
}

/* Some may have died of a fault: then it is not long waited for them. */
void wait_for(const int *count, int n)
{
	long long start = monotonic_ns();

	while (now(*count) < n) {
		sleep_ms(5);
		if (monotonic_ns() - start < (any_fault() ? 2 * WOKEN_MS : STUCK_MS) * 1000000LL)
			continue;
		give_up();
	}
}

/* ---- children ---- */

static bool spawn(unsigned int number)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		rnd = (seed + this_round.number * 1000 + number) * 2654435761u | 1;
		return true;
	}
	children[nr_children++] = pid;
	return false;
}

static void end_child(void)
{
	fflush(stdout);
	_exit(0);
}

/* Those that were spawned after the first so many. */
static void collect(const char *who, int from)
{
	int status;

	while (nr_children > from) {
		pid_t pid = children[--nr_children];

		status = child_status(pid, STUCK_MS);
		if (status)
			fail(STUCK, "one %s ended with %d", who, status);
		if (status == -EAGAIN)
			kill_child(pid);
	}
}

static void spawn_observers(void)
{
	unsigned int cpu;
	int speed;

	for (cpu = 0; cpu < nr_cpus; cpu++) {
		for (speed = 0; speed < NR_SPEEDS; speed++) {
			if (spawn(cpu * 10 + speed)) {
				observe(cpu, speed);
				end_child();
			}
		}
	}
}

static int nr_observers(void)
{
	return stock ? 0 : nr_cpus * NR_SPEEDS;
}

static pid_t waiter_of(unsigned int cpu)
{
	return children[cpu * NR_SPEEDS + WAITER];
}

/* ---- acts ---- */

/* No more is written: who sleeps has seen all, or will be woken. */
static void wake_waiters(void)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpus; cpu++) {
		long long start = monotonic_ns();

		while (now(shared->asleep[cpu]) &&
		       now(shared->at[cpu]) != (uint64_t)committed(cpu)) {
			sleep_ms(5);
			if (monotonic_ns() - start < WOKEN_MS * 1000000LL)
				continue;
			fail(NOT_WOKEN, "cpu %u: somebody sleeps behind event %llu of %lld", cpu,
			     (unsigned long long)now(shared->at[cpu]), committed(cpu));
			break;
		}
		kill(waiter_of(cpu), SIGUSR1);
	}
}

static void spawn_disturber(enum act act)
{
	unsigned int cpu;

	if (act != SINGLE) {
		if (spawn(act * 100 + 9)) {
			disturb(act);
			end_child();
		}
		return;
	}
	for (cpu = 0; cpu < nr_cpus; cpu++) {
		if (spawn(cpu * 10 + 8)) {
			fire_single(cpu, act);
			end_child();
		}
	}
}

static void spawn_consumers(enum act act)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpus; cpu++) {
		if (spawn(act * 100 + cpu * 10 + 7)) {
			consume(cpu, act);
			end_child();
		}
	}
}

/* The buffer is empty, and everybody knows where the numbers begin. */
static void begin(enum act act)
{
	unsigned int cpu;

	if (act)
		instance_write(&this_round.ti, "trace", "");
	for (cpu = 0; cpu < nr_cpus; cpu++)
		set(shared->at[cpu], 0);
	set(shared->live_resets, 0);
	if (act == SINGLE)
		instance_write_number(&this_round.ti, "options/overwrite", 1);
	if (act == SINGLE ? writers_single() : writers_start())
		fail(STUCK, "the writers do not start");
	if (this_round.discard)
		add(shared->deeds[EVENTS_DISCARDED], 1);
	set(shared->begun, act + 1);
}

static void end(enum act act, int disturbers, int observers)
{
	set(shared->disturbed, act + 1);
	collect("who disturbs", disturbers);
	if (writers_stop())
		fail(STUCK, "the writers do not stop");
	set(shared->quiet, act + 1);
	if (!stock)
		wake_waiters();
	collect("consumer", observers);
	set(shared->settled, act + 1);
	wait_for(&shared->accounted, nr_observers() * (act + 2));
}

static void play(enum act act, unsigned int ms)
{
	int observers = nr_children, disturbers;

	begin(act);
	if (act != SINGLE)
		spawn_consumers(act);
	disturbers = nr_children;
	spawn_disturber(act);
	sleep_ms(ms);
	end(act, disturbers, observers);
}

/* ---- rounds ---- */

static void apply(const char *file, const char *value)
{
	int err = instance_write(&this_round.ti, file, value);

	if (err)
		fail(STUCK, "%s: %s", file, strerror(-err));
}

static void apply_number(const char *file, unsigned int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	apply(file, text);
}

static void configure(void)
{
	static const char *const clocks[] = { "local", "global", "counter", "local" };
	int kb = below(3) ? 4 : 8 << below(2);

	if (!stock) {
		apply("buffer_size_kb", "8");
		apply_number("buffer_subbuf_size_kb", kb);
		this_round.format.subbuf_size = kb * 1024;
	}
	apply_number("buffer_size_kb", kb * (3 + below(1 + 40 / kb * 4)));
	apply("trace_clock", clocks[below(4)]);
	apply("options/overwrite", below(3) ? "1" : "0");
	this_round.words = below(3) ? 200 : 900;
	this_round.discard = this_round.number % 2 ? 1 + below(200) : 0;
	apply("events/torture/torture_event/filter", this_round.discard ? "keep == 1" : "0");
	apply("trace", "");
	apply("events/torture/torture_event/enable", "1");
}

static void play_round(void)
{
	set(shared->begun, 0);
	set(shared->disturbed, 0);
	set(shared->quiet, 0);
	set(shared->settled, 0);
	set(shared->accounted, 0);
	configure();
	if (!stock)
		spawn_observers();
	wait_for(&shared->accounted, nr_observers());
	play(CALM, 500 + below(1000));
	play(WILD, 500 + below(1000));
	if (!stock)
		play(SINGLE, 500 + below(500));
	collect("observer", 0);
	apply("events/torture/torture_event/enable", "0");
}

/* ---- the verdict ---- */

static bool happened(bool tell, uint64_t count, const char *what, const char *whose)
{
	if (tell)
		printf("# %s%s: %llu\n", what, whose, (unsigned long long)count);
	return count;
}

static bool everything_happened(bool tell)
{
	bool all = true;
	int i;

	for (i = 0; i < NR_SPEEDS; i++)
		all &= happened(tell, shared->seen[i], "events seen, observer ", speeds[i]);
	for (i = 0; i < NR_WAYS; i++)
		all &= happened(tell, shared->consumed[i], "events consumed by ", ways[i]);
	for (i = 0; i < NR_CONTEXTS; i++)
		all &= happened(tell, shared->from[i], "of these, from ", contexts[i]);
	for (i = 0; i < NR_CONTEXTS; i++)
		all &= happened(tell, shared->woken_by[i], "wake-ups by one event, from ",
				contexts[i]);
	for (i = 0; i < NR_DEEDS; i++)
		all &= happened(tell, shared->deeds[i], deeds[i], "");
	return all;
}

/* One for all rounds: to make and remove it takes longer than a round. */
static bool make_instance(void)
{
	cpu_set_t all;

	if (instance_open(&this_round.ti, false, 0))
		return false;
	/* It chose a CPU to write on, which is not done here. */
	memset(&all, 0xff, sizeof(all));
	return !sched_setaffinity(0, sizeof(all), &all);
}

static void run(unsigned int seconds)
{
	long long start = monotonic_ns(), passed;

	do {
		play_round();
		this_round.number++;
		passed = (monotonic_ns() - start) / 1000000000;
		if (any_fault())
			break;
		if (passed >= seconds && (stock || everything_happened(false)))
			break;
	} while (passed < PATIENCE * seconds);
	printf("# %u rounds in %lld s\n", this_round.number, passed);
}

static int judge(void)
{
	bool all = everything_happened(true), good, failed = !all;
	int i;

	for (i = 0; i < NR_FAULTS; i++) {
		good = !shared->faults[i];
		printf("%sok %d - %s\n", good ? "" : "not ", i + 1, faults[i]);
		failed |= !good;
	}
	printf("%sok %d - all there is to happen has happened\n", all ? "" : "not ", i + 1);
	return failed;
}

static void on_signal(int unused)
{
	(void)unused;
}

/* SIGUSR1 ends the sleep of who waits; elsewhere it is blocked. */
static void set_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t set;

	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

int main(int argc, char **argv)
{
	char text[4096];

	if (argc < 3)
		return 2;
	seed = strtoul(argv[2], NULL, 0);
	stock = argc > 3 && !strcmp(argv[3], "stock");
	rnd = seed * 2654435761u | 1;
	nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (nr_cpus > MAX_CPUS)
		nr_cpus = MAX_CPUS;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	main_pid = getpid();
	set_signals();
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!stock)
		printf("TAP version 13\n1..%d\n", NR_FAULTS + 1);
	printf("# seed %u, %u CPUs\n", seed, nr_cpus);
	if (read_file(TRACEFS_DIR "/events/header_page", text, sizeof(text)) <= 0 ||
	    !subbuf_format_parse(&this_round.format, text))
		return 1;
	if (!stock)
		check_snapshots();
	if (!make_instance())
		return 1;
	run(atoi(argv[1]));
	if (instance_close(&this_round.ti))
		fail(STUCK, "something is left of the instance");
	return stock ? 0 : judge();
}

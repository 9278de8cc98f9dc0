// SPDX-License-Identifier: GPL-2.0
/*
 * random SECONDS SEED [round=N] [rounds=N] [operations=N] [storm=MS] [piped=0]
 *	  [nodes=N] [wrong=N]
 *
 * Random operations on the mapped ring buffer, by several processes, and an
 * oracle that knows what each may answer: open, mmap, munmap, mremap, madvise,
 * fork, kill, ptrace, read, splice, resize, snapshots, tracers, instances, CPU
 * hotplug and so on, a file op_GROUP.c for each group.
 *
 * Snapshots are taken by every way there is but one: function probes (":snapshot" in
 * set_ftrace_filter) make the kernel patch its code, which a guest with more than
 * one emulation thread does not survive; ftrace_exclusion_test has them.
 *
 * The run goes in rounds. First some operations in lockstep: one worker is asked
 * while all others wait, so that a model of instances, open files and address
 * spaces (model.c, space.c) says what the answer has to be, what the address
 * space is afterwards, and which events come out of the buffer. What is done
 * follows from the seed and the round alone, and can be repeated by them. Then a
 * storm: all workers at once. There the oracle knows exactly what is a worker's
 * own, and for the rest which answers there may be. After both, all is quiet:
 * everything that was refused works again, nothing is left over, and new
 * memory is empty.
 *
 * round is the first, rounds is how many, operations how many of each in lockstep,
 * storm for how many milliseconds. piped=0 keeps no spliced page in a pipe until its
 * instance is gone: a kernel that frees it into the freed buffer would stop the run.
 *
 * nodes is how many the memory has to have, 1. With one only, nothing is asked to
 * move to another.
 *
 * What is wrong is told with the seed, the round and the last operations, and
 * ends the run. wrong=N makes the oracle lie in one point, to see that the run
 * fails: 1 that a mapped buffer is resized, 2 that part of a mapping is unmapped,
 * 3 that fork() inherits, 4 that another event was written; 6 is 2, in the storm.
 * Or the driver does wrong, for the oracle to see it: 5 splice() gives nothing,
 * 7 a mapping is left when all is quiet, 8 a new buffer is not empty.
 */
#include "random.h"

struct shared *shared;
unsigned int nr_cpus, nr_nodes;
bool storm;
int wrong;
unsigned int piped = 1;
struct subbuf_format format;
bool mainline;

/* So many times the seconds are enough for all to happen. */
#define PATIENCE	12ll

static uint64_t seed;
static unsigned int first_round, rounds = -1, operations = 400, storm_ms = 2500;
static unsigned int nodes_wanted = 1;
static unsigned long lockstep_ops;

enum test { ANSWERS, STORM, QUIET, ALL_DONE, NR_TESTS };

static const char *const tests[] = {
	[ANSWERS]	= "every answer in lockstep is what the contract says",
	[STORM]		= "every answer in a storm is one that the contract allows",
	[QUIET]		= "everything works and nothing is left when all is quiet",
	[ALL_DONE]	= "each operation has succeeded",
};

static bool failed[NR_TESTS];

/* ---- a round ---- */

static int any_worker(void)
{
	int w;

	do
		w = below(WORKERS);
	while (!workers[w].alive);
	return w;
}

static const char *ask(void)
{
	struct order o;
	struct answer a;
	const char *bad;

	choose_operation(&o, any_worker());
	bad = crew_ask(&o, &a);
	log_order(&o, &a);
	lockstep_ops++;
	return bad ?: judge(&o, &a);
}

static bool lockstep(unsigned int round)
{
	const char *bad;
	unsigned int i;

	prng_seed(seed, round * 100ull);
	log_begin(seed, round);
	operations_begin();
	bad = crew_begin();
	for (i = 0; i < operations && !bad; i++)
		bad = ask();
	if (bad) {
		log_show(bad);
		failed[ANSWERS] = true;
	}
	crew_end();
	return !bad;
}

static bool quiet(unsigned int round, const char *when, const char *bad)
{
	if (!bad)
		return true;
	printf("# seed %llu round %u, %s: %s\n", (unsigned long long)seed, round, when, bad);
	failed[QUIET] = true;
	return false;
}

static bool stormy(unsigned int round)
{
	const char *bad = storm_ms ? storm_play(seed, round, storm_ms) : NULL;

	if (bad)
		printf("# seed %llu round %u: %s\n", (unsigned long long)seed, round, bad);
	failed[STORM] = bad;
	return !bad;
}

/* The same instances whatever was before, for the round to be repeated. */
static bool make_instances(unsigned int round)
{
	int i, err;

	for (i = 1; i < INSTANCES; i++) {
		if (i == 1 + (int)(round % 3) || instances[i].exists)
			continue;
		err = make_instance(i);
		if (err)
			return quiet(round, "a new instance", strerror(-err));
	}
	i = 1 + round % 3;
	if (instances[i].exists && rmdir(dir_of(i)->dir))
		return quiet(round, "rmdir", strerror(errno));
	return quiet(round, "in the beginning", settle_all());
}

static bool play_round(unsigned int round)
{
	bool good;

	good = make_instances(round) && lockstep(round);
	if (good)
		printf("# round %u: %lu operations in lockstep, digest %016llx\n", round,
		       log_count(), (unsigned long long)log_digest());
	return good && quiet(round, "after the lockstep", check_quiet()) && stormy(round) &&
	       (!storm_ms || quiet(round, "after the storm", check_quiet()));
}

static void play(unsigned int seconds)
{
	long long start = monotonic_ns(), passed = 0;
	unsigned int round = first_round;

	while (round - first_round < rounds && play_round(round)) {
		round++;
		passed = (monotonic_ns() - start) / 1000000000;
		if (passed >= seconds && all_operations_done(false))
			break;
		if (passed >= PATIENCE * seconds)
			break;
	}
	printf("# seed %llu: %u rounds in %lld s, %lu operations in lockstep, %llu in storms\n",
	       (unsigned long long)seed, round - first_round, passed, lockstep_ops,
	       (unsigned long long)shared->storm_ops);
}

static int verdict(void)
{
	int i, bad = 0;

	failed[ALL_DONE] = !all_operations_done(true) && rounds == -1u;
	for (i = 0; i < NR_TESTS; i++) {
		printf("%sok %d - %s\n", failed[i] ? "not " : "", i + 1, tests[i]);
		bad |= failed[i];
	}
	return bad;
}

/* ---- the beginning ---- */

/* At a descriptor that a new program finds again. */
static bool share(bool make)
{
	int fd;

	if (make) {
		fd = memfd_create("random", 0);
		if (fd < 0 || ftruncate(fd, sizeof(*shared)) || dup2(fd, SHARED_FD) < 0)
			return false;
		close(fd);
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_FD, 0);
	return shared != MAP_FAILED;
}

static unsigned int count_nodes(void)
{
	char path[64];
	unsigned int n;

	for (n = 0; n < 64; n++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%u", n);
		if (access(path, F_OK))
			break;
	}
	return n;
}

static bool know_machine(void)
{
	char text[4096];

	nr_nodes = count_nodes();
	mainline = has_mainlines_mapping();
	return read_file(TRACEFS_DIR "/events/header_page", text, sizeof(text)) > 0 &&
	       subbuf_format_parse(&format, text);
}

/* After exec: the order was to become this. */
static int continue_as_worker(int worker)
{
	struct seat *seat;
	char c = worker;

	if (!share(false) || !know_machine())
		return 1;
	nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	seat = &shared->seats[worker];
	memset(&seat->answer, 0, sizeof(seat->answer));
	look_at_maps(seat);
	if (write(ANSWER_FD, &c, 1) != 1)
		return 1;
	work(worker);
}

static bool option(const char *arg, const char *name, unsigned int *value)
{
	size_t len = strlen(name);

	if (strncmp(arg, name, len) || arg[len] != '=')
		return false;
	*value = strtoul(arg + len + 1, NULL, 0);
	return true;
}

static bool options(int argc, char **argv)
{
	unsigned int lie = 0;

	for (; argc; argc--, argv++) {
		if (!option(*argv, "round", &first_round) && !option(*argv, "rounds", &rounds) &&
		    !option(*argv, "operations", &operations) &&
		    !option(*argv, "storm", &storm_ms) && !option(*argv, "piped", &piped) &&
		    !option(*argv, "nodes", &nodes_wanted) && !option(*argv, "wrong", &lie)) {
			fprintf(stderr, "random: %s: no such option, see the head of main.c\n", *argv);
			return false;
		}
	}
	wrong = lie;
	return true;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "nothing"))
		return 0;
	if (argc > 2 && !strcmp(argv[1], "worker"))
		return continue_as_worker(atoi(argv[2]));
	if (argc < 3 || !options(argc - 3, argv + 3))
		return 2;
	seed = strtoull(argv[2], NULL, 0);
	nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (nr_cpus > MAX_CPUS)
		nr_cpus = MAX_CPUS;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!share(true) || !know_machine())
		return 1;
	if (nodes_wanted > 1 && nr_nodes < nodes_wanted) {
		printf("Bail out! nodes of memory: %u, not %u\n", nr_nodes, nodes_wanted);
		return 1;
	}
	catch_signals();
	crew_make();
	printf("TAP version 13\n1..%d\n# seed %llu, %u CPUs, %u nodes\n", NR_TESTS,
	       (unsigned long long)seed, nr_cpus, nr_nodes);
	if (!quiet(first_round, "before all", settle_all()))
		return 1;
	play(atoi(argv[1]));
	return verdict();
}

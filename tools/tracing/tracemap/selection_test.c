// SPDX-License-Identifier: GPL-2.0
/*
 * Test selection.h, values.h and session.h with a folder of files in place of tracefs:
 * how options are understood, what is written to which file of an instance of the command's
 * own, and that nothing is written anywhere else.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "loop.h"
#include "check.h"
#include "selection.h"
#include "stop.h"
#include "text_file.h"
#include "tracemap-event.h"
#include "values.h"

#define SIZE(array)	(sizeof(array) / sizeof((array)[0]))

static char top[256];
static char own[320];		/* the instance that a session makes */
static unsigned int said;
static char last_said[512];

/* These are in the place of those of advice.c and of the library. */
void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(last_said, sizeof(last_said), format, args);
	va_end(args);
	said++;
}

int complain(enum advice_about about, int error, const char *format, ...)
{
	(void)about;
	(void)format;
	said++;
	return -abs(error);
}

int tracemap_find_dir(char **dir, const char *instance)
{
	if (!instance)
		*dir = strdup(top);
	else if (asprintf(dir, "%s/instances/%s", top, instance) < 0)
		*dir = NULL;
	return *dir ? 0 : -ENOMEM;
}

/* Take one option, of a letter, or "-" for --clock. Returns 1, or a negative errno. */
static int selection_option(struct selection *sel, int letter, const char *arg)
{
	static const struct verb_options verb = {
		.verb = "stream", .usage = "", .end = "",
		.groups = { { selection_options }, { selection_child_options } },
	};
	char option[] = { '-', letter, '\0' };
	char *argv[4] = { "tracemap", letter == '-' ? "--clock" : option, (char *)arg, NULL };
	int ret = options_parse(&verb, sel, arg ? 3 : 2, argv);

	return ret > 0 ? ret - 1 : ret;
}

/* ---- Values ---- */

static unsigned long long size_of(const char *text)
{
	unsigned long long size = 0;
	int ret = value_size("-b", text, &size);

	CHECK(!ret || ret == -EINVAL);
	return ret ? 0 : size;
}

static void test_sizes(void)
{
	static const char * const wrong[] = {
		"", "0", "0k", "-1", "+1", " 1", "k", "1x", "1kk", "1k ", "1B", "1kb", "1KiBs", "1iB",
		"17179869184G", "18446744073709551616",
	};

	CHECK(size_of("1") == 1 && size_of("64k") == 65536 && size_of("64K") == 65536);
	CHECK(size_of("8M") == 8 << 20 && size_of("3g") == 3ULL << 30);
	CHECK(size_of("2t") == 2ULL << 40);
	CHECK(size_of("8MB") == 8 << 20 && size_of("8MiB") == 8 << 20);
	CHECK(size_of("17179869183G") == 17179869183ULL << 30);
	CHECK(size_of("18446744073709551615") == ~0ULL && !said);
	for (unsigned int i = 0; i < SIZE(wrong); i++)
		CHECK(!size_of(wrong[i]) && said == i + 1);
}

static void test_counts(void)
{
	unsigned long long count;

	CHECK(!value_count("--keep", "5", &count) && count == 5);
	CHECK(!value_count("--keep", "2k", &count) && count == 2048);
	CHECK(value_count("--keep", "0", &count) == -EINVAL && !strchr(last_said, 'M'));
	CHECK(strstr(last_said, "--keep 0: a number of 1 or more is needed"));
	CHECK(value_count("--keep", "2kB", &count) == -EINVAL);
}

static double seconds_of(const char *text)
{
	double seconds = 0;
	int ret = value_seconds("-d", text, &seconds);

	CHECK(!ret || ret == -EINVAL);
	return ret ? 0 : seconds;
}

static void test_seconds(void)
{
	static const char * const wrong[] = {
		"", "0", "-1", "soon", "s", "5x", "5 s", "5ss", "1e10", "3min", "inf", "nan",
		"0x1", "1e0", "1e3s", " 1", "+1", "0.5.5", ".", ".s",
		"1m30", "30m-1s", "1m 30s", "0s0m", "5usx",
	};

	CHECK(seconds_of("2") == 2 && seconds_of("0.5s") == 0.5 && seconds_of("500ms") == 0.5);
	CHECK(seconds_of("2.") == 2 && seconds_of(".5") == 0.5);
	CHECK(seconds_of("3m") == 180 && seconds_of("2h") == 7200);
	CHECK(seconds_of("1m30s") == 90 && seconds_of("1h0.5m") == 3630);
	CHECK(seconds_of("500us") > 0.000499 && seconds_of("500us") < 0.000501);
	for (unsigned int i = 0; i < SIZE(wrong); i++)
		CHECK(!seconds_of(wrong[i]) && strstr(last_said, "a time above 0 is needed"));
	CHECK(!seconds_of("300000h") && strstr(last_said, "at most 1000000000 seconds"));
}

static uint64_t time_of(const char *text, bool counted)
{
	unsigned int digits;
	uint64_t ts;
	int ret = value_time("--from", text, counted, &ts, &digits);

	CHECK(!ret || ret == -EINVAL);
	return ret ? UINT64_MAX : ts;
}

static void test_times(void)
{
	static const char * const wrong[] = {
		"", ".", ".5", "-1", "+1", "1s", "1.2.3", "1e3", "18446744073", "nan",
	};

	CHECK(time_of("81.5", false) == 81500000000 && time_of("0", false) == 0);
	CHECK(time_of("81.", false) == 81000000000 && time_of("1.0000000019", false) == 1000000001);
	/* No double has these. */
	CHECK(time_of("1764034567.000000123", false) == 1764034567000000123);
	CHECK(time_of("9007199254740993", true) == 9007199254740993);
	CHECK(time_of("18446744073709551614", true) == UINT64_MAX - 1);
	for (unsigned int i = 0; i < SIZE(wrong); i++)
		CHECK(time_of(wrong[i], false) == UINT64_MAX);
	CHECK(time_of("1.5", true) == UINT64_MAX && strstr(last_said, "counts"));
	CHECK(time_of("18446744073709551616", true) == UINT64_MAX);
}

static void test_names(void)
{
	enum tracemap_way way;

	CHECK(!value_instance("/") && !value_instance("mine") && !value_instance("a.b"));
	CHECK(value_instance("") && value_instance(".") && value_instance("..") &&
	      value_instance(".hidden") && value_instance("a/b") && value_instance("/a"));
	CHECK(!value_way("read", &way) && way == TRACEMAP_READ);
	CHECK(!value_way("map", &way) && way == TRACEMAP_MAP);
	CHECK(!value_way("observe", &way) && way == TRACEMAP_OBSERVE);
	CHECK(value_way("consume", &way) && value_way("mapped", &way));
}

static void test_subbuf(void)
{
	const char *most = sysconf(_SC_PAGESIZE) == 4096 ? " 512k at most" : " 1024k at most";
	struct selection sel = { .instance = NULL };

	CHECK(!selection_subbuf(&sel, "64k") && sel.subbuf == 64 << 10);
	CHECK(selection_subbuf(&sel, "3M") == -EINVAL && strstr(last_said, "--subbuf 3M: "));
	CHECK(strstr(last_said, most));
	CHECK(selection_subbuf(&sel, "0") == -EINVAL);
}

/* ---- Options ---- */

struct all_kinds {
	bool flag, other;
	const char *text;
	double seconds;
	unsigned long long size, count;
	enum tracemap_way way;
};

#define AT(field)	offsetof(struct all_kinds, field)

/* Each kind of value is put where its row says, up to the first word that is none. */
static void test_options(void)
{
	static const struct verb_option rows[] = {
		{ .help = "a heading" },
		{ 'f', "flag", OPTION_FLAG, AT(flag), NULL, .help = "" },
		{ 0, "other", OPTION_FLAG, AT(other), NULL, .help = "" },
		{ 0, "text", OPTION_TEXT, AT(text), "TEXT", .help = "" },
		{ 's', "seconds", OPTION_SECONDS, AT(seconds), "TIME", .help = "" },
		{ 0, "size", OPTION_SIZE, AT(size), "SIZE", .help = "" },
		{ 'n', "count", OPTION_COUNT, AT(count), "N", .help = "" },
		{ 0, "way", OPTION_WAY, AT(way), "WAY", .help = "" },
		{ }
	};
	static const struct verb_options verb = {
		.verb = "test", .usage = "", .end = "", .command = true, .groups = { { rows } },
	};
	char *argv[13] = {
		"test", "-fs2", "--text", "-x", "--size=3k", "-n", "4", "--way", "map", "word", "-f",
		"--other", NULL,
	};
	static const struct verb_options one_word = {
		.verb = "test", .usage = "", .end = "", .words = 1, .groups = { { rows } },
	};
	char *wrong[4] = { "test", "--size", "x", NULL }, *words[4] = { "test", "a", "b", NULL };
	struct all_kinds all = { .flag = false };

	CHECK(options_parse(&verb, &all, SIZE(argv) - 1, argv) == 7 && optind == 9);
	CHECK(all.flag && !all.other && !strcmp(all.text, "-x") && all.seconds == 2);
	CHECK(all.size == 3072 && all.count == 4 && all.way == TRACEMAP_MAP);
	CHECK(options_parse(&verb, &all, SIZE(wrong) - 1, wrong) == -EINVAL);
	CHECK(strstr(last_said, "--size x: a number"));
	wrong[1] = "--nothing";
	CHECK(options_parse(&verb, &all, SIZE(wrong) - 1, wrong) == -EINVAL);
	CHECK(!strcmp(last_said, "see tracemap test --help"));
	CHECK(options_parse(&one_word, &all, 2, words) == 1 && optind == 1);
	CHECK(options_parse(&one_word, &all, 3, words) == -EINVAL);
	CHECK(!strcmp(last_said, "\"b\" is one word too many: see tracemap test --help"));
}

static bool cpus_are(const char *list, const char *wanted)
{
	struct selection sel = { .instance = NULL };
	char got[256] = "";
	int ret = selection_option(&sel, 'C', list);

	for (unsigned int i = 0; i < sel.nr_cpus; i++)
		sprintf(got + strlen(got), "%d ", sel.cpus[i]);
	selection_free(&sel);
	return ret == 1 && !strcmp(got, wanted);
}

static void test_cpus(void)
{
	static const char * const wrong[] = {
		"", ",", "1,", ",1", "1,,2", "-1", "1-", "3-2", "a", "1a", "1-2-3", " 1", "65536",
		"0-65536",
	};
	struct selection none = { .instance = NULL };

	CHECK(selection_option(&none, 'C', "3-2") == -EINVAL);
	CHECK(strstr(last_said, "-C 3-2: a list of CPUs is needed: numbers or ranges "));
	CHECK(cpus_are("0", "0 ") && cpus_are("0,2-4", "0 2 3 4 ") && cpus_are("3-3", "3 "));
	CHECK(cpus_are("1,1,0-2", "1 0 2 ") && cpus_are("65535", "65535 "));
	for (unsigned int i = 0; i < SIZE(wrong); i++) {
		struct selection sel = { .instance = NULL };

		CHECK(selection_option(&sel, 'C', wrong[i]) == -EINVAL);
		selection_free(&sel);
	}
}

static void test_filters(void)
{
	struct selection sel = { .instance = NULL };

	CHECK(selection_is_empty(&sel) && selection_option(&sel, 'f', "a > 1") == -EINVAL);
	CHECK(strstr(last_said, "behind an -e"));
	CHECK(selection_option(&sel, 'e', "x") == 1 && selection_option(&sel, 'f', "") == -EINVAL);
	CHECK(strstr(last_said, "-f '': an expression is needed") && !sel.events[0].filter);
	CHECK(selection_option(&sel, 'f', "a > 1") == 1);
	CHECK(selection_option(&sel, 'f', "a > 2") == -EINVAL);
	CHECK(strstr(last_said, "-e x has one: join them by &&, as in -f '(a > 1) && (a > 2)'"));
	CHECK(selection_option(&sel, 'e', "y") == 1 && sel.nr_events == 2);
	CHECK(!strcmp(sel.events[0].filter, "a > 1") && !sel.events[1].filter);
	CHECK(selection_option(&sel, 'e', "y,z") == -EINVAL && strstr(last_said, "repeat -e"));
	CHECK(selection_option(&sel, 'e', "[y,z]*") == 1 && sel.nr_events == 3);
	CHECK(selection_option(&sel, 'X', NULL) == -EINVAL && !selection_is_empty(&sel));
	selection_free(&sel);
}

/* It is said where a filter may be meant for several events. */
static void test_filter_of_one(void)
{
	char *argv[2] = { "stream" }, **command;
	struct selection sel = { .instance = NULL };

	optind = 1;
	CHECK(selection_option(&sel, 'e', "x.a") == 1 && !strcmp(sel.events[0].name, "x:a"));
	CHECK(selection_option(&sel, 'f', "b > 1") == 1);
	CHECK(selection_option(&sel, 'e', "y:[.]") == 1);
	CHECK(!strcmp(sel.events[1].name, "y:[.]"));
	last_said[0] = '\0';
	CHECK(!selection_command(&sel, 1, argv, &command) && !command && !*last_said);
	CHECK(selection_option(&sel, 'e', "z") == 1 && selection_option(&sel, 'f', "c > 1") == 1);
	CHECK(!selection_command(&sel, 1, argv, &command));
	CHECK(!strcmp(last_said, "-f 'c > 1' is the filter of -e z alone: -e y:[.] has none"));
	selection_free(&sel);
}

/* With -i goes what changes nothing. */
static void test_only_read(void)
{
	static const struct {
		int letter;
		const char *name, *arg;
	} settings[] = {
		{ 'e', "-e", "sched" }, { 'p', "-p", "function" }, { 'l', "-l", "vfs_*" },
		{ 'b', "-b", "1M" }, { '-', "--clock", "mono" }, { 'F', "-F", NULL },
		{ 'P', "-P", "1" },
	};
	char *argv[4] = { "stream", "--", "true" }, **command, wanted[64];
	struct selection sel = { .subbuf = 65536 };

	CHECK(selection_option(&sel, 'i', "t") == 1 && selection_option(&sel, 'C', "0") == 1);
	optind = 2;
	CHECK(selection_command(&sel, 3, argv, &command) == -EINVAL);
	CHECK(strstr(last_said, "instance t: one that was there is only read, and --subbuf would"));
	sel.subbuf = 0;
	CHECK(!selection_command(&sel, 3, argv, &command) && command == argv + 2);
	selection_free(&sel);
	for (unsigned int i = 0; i < SIZE(settings); i++) {
		sel = (struct selection){ .instance = "/" };
		CHECK(selection_option(&sel, settings[i].letter, settings[i].arg) == 1);
		optind = 2;
		CHECK(selection_command(&sel, 3, argv, &command) == -EINVAL);
		snprintf(wanted, sizeof(wanted), "only read, and %s would change it",
			 settings[i].name);
		CHECK(strstr(last_said, wanted));
		selection_free(&sel);
	}
}

/* ---- Settings ---- */

/* What the kernel's files say before. */
static const struct {
	const char *name, *before;
} files[] = {
	{ "tracing_on", "1\n" },
	{ "current_tracer", "nop\n" },
	{ "trace_clock", "local [global] mono\n" },
	{ "buffer_size_kb", "7 (expanded: 1408)\n" },
	{ "buffer_subbuf_size_kb", "4\n" },
	{ "tracing_cpumask", "f\n" },
	{ "set_ftrace_filter", "kfree:traceoff:unlimited\n" },
	{ "set_ftrace_pid", "" },
	{ "set_event_pid", "" },
	{ "set_event_notrace_pid", "" },
	{ "set_ftrace_notrace_pid", "" },
	{ "options/event-fork", "0\n" },
	{ "options/function-fork", "0\n" },
	{ "events/sched/sched_switch/filter", "none\n" },
	{ "events/sched/sched_switch/enable", "0*\n" },
	{ "events/sched/sched_waking/filter", "none\n" },
	{ "events/sched/sched_waking/enable", "0\n" },
	{ "per_cpu/cpu0/stats", "" },
	{ "per_cpu/cpu2/stats", "" },
	{ "per_cpu/cpu33/stats", "" },
};

static void fill(const char *dir)
{
	for (unsigned int i = 0; i < SIZE(files); i++)
		make_file(dir, files[i].name, files[i].before);
}

static void remove_all(const char *dir)
{
	char command[320];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(!system(command));
}

/* In tracefs a new folder has files, and one that is removed may have some. */
__typeof__(mkdirat) __real_mkdirat;
__typeof__(unlinkat) __real_unlinkat;

int __wrap_mkdirat(int at, const char *path, mode_t mode)
{
	char whole[320];
	int ret = __real_mkdirat(at, path, mode);

	snprintf(whole, sizeof(whole), "%s/%s", top, path);
	if (!ret) {
		fill(whole);
		make_file(whole, "available_tracers", "function nop\n");
	}
	return ret;
}

int __wrap_unlinkat(int at, const char *path, int flags)
{
	char whole[320];

	snprintf(whole, sizeof(whole), "%s/%s", top, path);
	remove_all(whole);
	return __real_mkdirat(at, path, 0700) ?: __real_unlinkat(at, path, flags);
}

static unsigned int looked_up;	/* events, by a file in their folders */
__typeof__(faccessat) __real_faccessat;

int __wrap_faccessat(int at, const char *path, int mode, int flags)
{
	looked_up += !!strstr(path, "/events/");
	if (!strcmp(path, "cpu0/trace_live")) {
		errno = EACCES;
		return -1;
	}
	return __real_faccessat(at, path, mode, flags);
}

static bool tracer_is_in_use, filter_is_refused, list_is_refused, takes_nothing;
static unsigned int set_while_on;	/* settings of its own instance, but tracing_on */
static unsigned int set_elsewhere;	/* files below the top level that are not in it */
__typeof__(write) __real_write;
static bool has(const char *dir, const char *name, const char *text);

static int refuse(const char *path)
{
	if (tracer_is_in_use && strstr(path, "/current_tracer"))
		return -EBUSY;
	if (list_is_refused && strstr(path, "_notrace_pid"))
		return -ENOMEM;
	return filter_is_refused && strstr(path, "/sched_waking/filter") ? -EINVAL : 0;
}

ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	char link[64], path[512] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) < 0 || takes_nothing)
		return takes_nothing ? 0 : -1;
	if (strncmp(path, top, strlen(top)))
		return __real_write(fd, data, size);
	errno = -refuse(path);
	if (errno)
		return -1;
	if (strncmp(path, own, strlen(own)))
		set_elsewhere++;
	else if (!strstr(path, "/tracing_on"))
		set_while_on += !has(own, "tracing_on", "0");
	return __real_write(fd, data, size);
}

static const char *text_in(const char *dir, const char *name)
{
	static char got[256];
	char path[512];
	int fd;

	memset(got, 0, sizeof(got));
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && read(fd, got, sizeof(got) - 1) >= 0 && !close(fd));
	return got;
}

static bool has(const char *dir, const char *name, const char *text)
{
	return !strcmp(text_in(dir, name), text);
}

/* Nothing was written at the top level, and an instance of its own is gone. */
static bool is_untouched(void)
{
	for (unsigned int i = 0; i < SIZE(files); i++)
		CHECK(has(top, files[i].name, files[i].before));
	return !set_elsewhere && access(own, F_OK);
}

/* Options, each a letter, "-" for --clock, and its argument, up to NULL. */
static void choose(struct selection *sel, const char *const *option)
{
	for (; *option; option++)
		CHECK(selection_option(sel, **option, **option == 'F' ? NULL : *option + 1) == 1);
}

/* By the options of test_settings(), with a command of this number. */
static void check_set(pid_t pid)
{
	char text[16];

	CHECK(has(own, "tracing_on", "0") && has(own, "trace_clock", "mono"));
	CHECK(has(own, "buffer_size_kb", "2") && has(own, "buffer_subbuf_size_kb", "9"));
	CHECK(has(own, "set_ftrace_filter", "kfree:traceoff:unlimited\nvfs_read\nb\n"));
	CHECK(has(own, "current_tracer", "function"));
	CHECK(has(own, "events/sched/sched_switch/enable", "1") &&
	      has(own, "events/sched/sched_switch/filter", "prev_prio < 100"));
	CHECK(has(own, "events/sched/sched_waking/enable", "0\n"));
	CHECK(has(own, "tracing_cpumask", "00000005"));
	snprintf(text, sizeof(text), "%d", pid);
	CHECK(has(own, "set_event_pid", text) && has(own, "set_ftrace_pid", text));
	CHECK(has(own, "options/event-fork", "1") && has(own, "options/function-fork", "1"));
	CHECK(!has(own, "set_event_notrace_pid", "") && !has(own, "set_ftrace_notrace_pid", ""));
}

/* Everything that can be set, while tracing is off */
static void test_settings(void)
{
	static const char * const options[] = {
		"esched:sched_switch", "fprev_prio < 100", "pfunction", "lvfs_read", "lb",
		"b1500", "C0,2", "F", NULL,
	};
	char *command[2] = { "true" };
	struct selection sel = { .clock = "mono", .subbuf = 9000 };
	struct child child = CHILD_NONE;
	struct session *session;

	set_while_on = 0;
	choose(&sel, options);
	CHECK(!selection_open(&sel, &session, &child, command) && child.pid);
	check_set(child.pid);
	CHECK(!session_trace(session, true) && has(own, "tracing_on", "1"));
	child_stop(&child);
	CHECK(!session_trace(session, false) && has(own, "tracing_on", "0"));
	CHECK(!session_close(session) && !set_while_on && is_untouched());
	selection_free(&sel);
}

/* The processes of -P and --cgroup are listed twice; what is none, or has none, is refused. */
static void test_followed(void)
{
	static const char * const wrong[] = { "", "0", "x", "1,", "1,,2", "-1", "4294967297" };
	static const char * const options[] = { "esched", "pfunction", NULL };
	struct selection sel = { .follow.cgroup = top };
	struct child child = CHILD_NONE;
	struct session *session;
	char pid[16], text[64];

	for (unsigned int i = 0; i < SIZE(wrong); i++)
		CHECK(follow_pids(&sel.follow, wrong[i]) == -EINVAL);
	snprintf(pid, sizeof(pid), "%d", getpid());
	CHECK(sel.follow.nr == 2 && sel.follow.pids[1] == 1);
	sel.follow.nr = 0;
	CHECK(!follow_pids(&sel.follow, pid));
	choose(&sel, options);
	CHECK(selection_open(&sel, &session, &child, NULL) == -ENOENT && !session_close(session));
	CHECK(strstr(last_said, "neither this nor /sys/fs/cgroup/"));
	make_file(top, "cgroup.procs", "");
	CHECK(selection_open(&sel, &session, &child, NULL) == -ESRCH && !session_close(session));
	CHECK(strstr(last_said, "no process is in it now"));
	make_file(top, "cgroup.procs", pid);
	CHECK(!selection_open(&sel, &session, &child, NULL));
	snprintf(text, sizeof(text), "%s %s%s %s", pid, pid, pid, pid);
	CHECK(has(own, "set_event_pid", text) && has(own, "set_ftrace_pid", text));
	CHECK(has(own, "options/event-fork", "1") && has(own, "options/function-fork", "1"));
	CHECK(!session_close(session) && is_untouched());
	sel.follow.pids[0] = INT_MAX;
	CHECK(selection_open(&sel, &session, &child, NULL) == -ESRCH && !session_close(session));
	CHECK(strstr(last_said, "-P 2147483647: there is no such process"));
	selection_free(&sel);
}

/* A signal that came while all this was set up: the command is not started. */
static void test_signal_before_start(void)
{
	static const char * const options[] = { "esched", NULL };
	char file[300], *command[3] = { "touch", file };
	struct selection sel = { .clock = NULL };
	struct child child = CHILD_NONE;
	struct session *session;

	snprintf(file, sizeof(file), "%s/started", top);
	choose(&sel, options);
	CHECK(!selection_open(&sel, &session, &child, command) && child.pid);
	CHECK(!raise(SIGINT));
	CHECK(child_start(&child, command[0]) == -EINTR && child_ended(&child));
	CHECK(child_not_started(-EINTR) == 130 && child_not_started(-ENOENT) == 127);
	CHECK(access(file, F_OK));
	stop_forget();
	child_stop(&child);
	CHECK(!session_close(session));
	selection_free(&sel);
}

/* More than the machine has: it is refused before any file is written. */
static void test_too_large(void)
{
	static const char * const options[] = { "esched", "b1T", NULL };
	struct selection sel = { .clock = NULL };
	struct child child = CHILD_NONE;
	struct session *session = NULL;

	choose(&sel, options);
	CHECK(selection_open(&sel, &session, &child, NULL) == -ENOMEM);
	CHECK(strstr(last_said, "-b: 1048576 MiB for each of ") && strstr(last_said, "M at most"));
	CHECK(has(own, "tracing_on", "1\n") && has(own, "buffer_size_kb", files[3].before));
	CHECK(!session_close(session) && is_untouched());
	selection_free(&sel);
}

/* Returns what was set, or -1 if it was refused. */
static int buffer_kb(unsigned long long size, unsigned long long total)
{
	struct selection sel = { .buffer_size = size, .buffer_total = total };
	struct child child = CHILD_NONE;
	struct session *session = NULL;
	char text[64];
	int ret = selection_open(&sel, &session, &child, NULL);

	if (!ret && text_file_read(own, "buffer_size_kb", text, sizeof(text)) < 0)
		ret = -1;
	CHECK(!session_close(session) && is_untouched());
	return ret ? -1 : atoi(text);
}

/* In all, where that is asked for; else enough for a while in which the command does not run. */
static void test_buffer_size(void)
{
	char *argv[2] = { "stream" };
	struct selection both = { .buffer_size = 4096, .buffer_total = 1 << 20 };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	char **command;

	CHECK(buffer_kb(0, 0) == 8192 && buffer_kb(70000, 0) == 69);
	CHECK(buffer_kb(0, cpus * 20480) == 20);
	CHECK(buffer_kb(0, cpus * 8192 - 1) == -1 && strstr(last_said, "needs 8k at least"));
	CHECK(buffer_kb(0, 1ULL << 40) == -1 && strstr(last_said, "--buffer-total: this is more"));
	optind = 1;
	CHECK(selection_command(&both, 1, argv, &command) == -EINVAL);
	CHECK(strstr(last_said, "give one of them"));
	both.buffer_size = 0;
	both.instance = "/";
	CHECK(selection_command(&both, 1, argv, &command) == -EINVAL);
	CHECK(strstr(last_said, "--buffer-total would change it"));
}

/* One that was there stays as it is, whatever runs in it, and whoever tries to set something. */
static void test_existing(bool records)
{
	static const char * const options[] = { "i/", "C0,2", NULL };
	struct selection sel = { .large_subbufs = true, .records = records };
	char *command[2] = { "true" };
	struct child child = CHILD_NONE;
	struct session *session;

	choose(&sel, options);
	CHECK(!selection_open(&sel, &session, &child, command) && !session_is_own(session));
	CHECK(session_quarter_of_buffer(session) == 1408 * 1024 / 4);
	CHECK(!session_trace(session, true) && !session_trace(session, false));
	CHECK(session_try(session, "tracing_on", "0") == -EPERM);
	CHECK(session_hide_from_functions(session) == -EPERM);
	child_stop(&child);
	CHECK(!session_close(session) && is_untouched());
	selection_free(&sel);
}

/* The CPUs' buffers have several sizes. */
static void test_sizes_of_cpus(void)
{
	struct session *session;

	make_file(top, "buffer_size_kb", "X\n");
	CHECK(!session_open(&session, "/", false) && session_quarter_of_buffer(session) == 0);
	CHECK(!session_close(session));
	fill(top);
}

/* In an instance of its own, which goes with all that is in it. */
static void test_own_instance(const char *size, const char *subbuf)
{
	const char * const options[] = { "esched:*", size, "C0,2,33", NULL };
	struct selection sel = { .large_subbufs = true };
	struct child child = CHILD_NONE;
	struct session *session;

	choose(&sel, options);
	CHECK(!selection_open(&sel, &session, &child, NULL) && session_is_own(session));
	CHECK(!strcmp(session_dir(session), own));
	CHECK(has(own, "buffer_subbuf_size_kb", subbuf));
	CHECK(has(own, "tracing_cpumask", "00000002,00000005"));
	CHECK(has(own, "events/sched/sched_switch/enable", "1") &&
	      has(own, "events/sched/sched_waking/enable", "1"));
	CHECK(!session_close(session) && is_untouched());
	selection_free(&sel);
}

/* A path into the folder of an event is costly: no other event than those meant is looked up. */
static void test_looked_up(const char *event, unsigned int nr)
{
	const char * const options[] = { event, NULL };
	struct selection sel = { .large_subbufs = false };
	struct child child = CHILD_NONE;
	struct session *session;

	choose(&sel, options);
	looked_up = 0;
	CHECK(!selection_open(&sel, &session, &child, NULL) && looked_up == nr);
	CHECK(has(session_dir(session), "events/sched/sched_switch/enable", "1"));
	CHECK(has(session_dir(session), "events/sched/sched_waking/enable", nr > 1 ? "1" : "0\n"));
	CHECK(!session_close(session));
	selection_free(&sel);
}

/* What is refused leaves nothing behind. */
static void test_refused(const char *const *options, const char *program, int error)
{
	char *command[2] = { (char *)program };
	struct selection sel = { .clock = "mono" };
	struct child child = CHILD_NONE;
	struct session *session = NULL;
	unsigned int before = said;

	choose(&sel, options);
	CHECK(selection_open(&sel, &session, &child, program ? command : NULL) == error);
	CHECK(said > before && !child.pid && child.refused == (program ? error : 0));
	CHECK(!session_close(session) && is_untouched());
	selection_free(&sel);
}

static void test_names_refused(void)
{
	static const char * const good[] = { "esched", "pfunction", "b64k", "C0", NULL };

	test_refused((const char * const []){ "inone", NULL }, NULL, -ENOENT);
	test_refused((const char * const []){ "i/", "C1", NULL }, NULL, -ENOENT);
	test_refused((const char * const []){ "esched", "enone", NULL }, NULL, -ENOENT);
	test_refused((const char * const []){ "eshed", NULL }, NULL, -ENOENT);
	CHECK(strstr(last_said, "no event \"shed\": see ") &&
	      strstr(last_said, "available_events"));
	test_refused((const char * const []){ "esched:sched_wakign", NULL }, NULL, -ENOENT);
	test_refused((const char * const []){ "esched", "C1", NULL }, NULL, -ENOENT);
	CHECK(strstr(last_said, "no CPU 1 here; those online are 0"));
	test_refused((const char * const []){ "pfunc", NULL }, NULL, -EINVAL);
	CHECK(strstr(last_said, "no tracer \"func\"; there are: function nop"));
	test_refused((const char * const []){ "p", NULL }, NULL, -EINVAL);
	test_refused((const char * const []){ "pfunction nop", NULL }, NULL, -EINVAL);
	test_refused((const char * const []){ "esched", "-mo", NULL }, NULL, -EINVAL);
	CHECK(strstr(last_said, "no clock \"mo\"; there are: local [global] mono"));
	test_refused(good, "no-such-command", -ENOENT);
	test_refused(good, "", -ENOENT);
	test_refused(good, "/etc/passwd", -EACCES);
	test_refused(good, "/etc", -EACCES);
}

/* Only the kernel can judge these. */
static void test_kernel_refuses(void)
{
	filter_is_refused = true;
	test_refused((const char * const []){ "esched:sched_switch", "fprev_prio < 100",
		     "esched:sched_waking", "fnone", NULL }, NULL, -EINVAL);
	/* The events of a system have different fields. */
	test_refused((const char * const []){ "esched", "fprev_prio < 100", NULL }, NULL, -EINVAL);
	CHECK(strstr(last_said, "the -e means 2 events: each of them has to take the filter"));
	filter_is_refused = false;
	list_is_refused = true;
	test_refused((const char * const []){ "esched", NULL }, NULL, -ENOMEM);
	list_is_refused = false;
}

/* What works in instances, and not now, is not said to be for the top level only. */
static void test_tracers(void)
{
	tracer_is_in_use = true;
	test_refused((const char * const []){ "pfunction", NULL }, NULL, -EBUSY);
	CHECK(strstr(last_said, "in use in another instance") && !strstr(last_said, "-i /"));
	tracer_is_in_use = false;
	test_refused((const char * const []){ "pwakeup", NULL }, NULL, -EINVAL);
	CHECK(strstr(last_said, "read that by -i /"));
}

/* New CPUs are looked for when the kernel tells of one, not only when a second is over. */
static void test_online(void)
{
	static const char device[] = "add@/devices/virtual/net/veth0";
	static const char cpu[] = "online@/devices/system/cpu/cpu3";
	struct online online = ONLINE_INIT;
	int ends[2];

	online_begin(&online);
	CHECK(online.cpus && !online_changed(&online));
	online_end(&online);
	CHECK(!socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends));
	online.told = ends[0];
	online.cpus = strdup("none");
	online.look = UINT64_MAX;
	CHECK(!online_changed(&online));
	CHECK(send(ends[1], device, sizeof(device), 0) > 0 && !online_changed(&online));
	CHECK(send(ends[1], cpu, sizeof(cpu), 0) > 0 && online_changed(&online));
	CHECK(!online_changed(&online) && strcmp(online.cpus, "none"));
	online_end(&online);
	CHECK(online.told < 0 && fcntl(ends[0], F_GETFD) < 0 && !close(ends[1]));
}

/* It would be written again for ever. */
static void test_takes_nothing(void)
{
	takes_nothing = true;
	alarm(60);
	CHECK(text_file_write(AT_FDCWD, "/dev/null", "1", false) == -EIO);
	alarm(0);
	takes_nothing = false;
}

/* CPU 0 has none, or one that may not be opened; see __wrap_faccessat(). */
static void test_live_index(void)
{
	char dir[300];

	snprintf(dir, sizeof(dir), "%s/live", top);
	CHECK(session_live_index(dir) == -EOPNOTSUPP);
	make_file(top, "live/per_cpu/cpu1/trace_pipe_raw", "");
	CHECK(session_live_index(dir) == -EOPNOTSUPP);
	make_file(top, "live/per_cpu/cpu0/trace_live", "");
	CHECK(session_live_index(dir) == -EACCES);
	make_file(top, "live/per_cpu/cpu1/trace_live", "");
	CHECK(!session_live_index(dir));
}

int main(int argc, char **argv)
{
	char path[320];

	CHECK(argc > 1 && realpath(argv[1], path));
	snprintf(top, sizeof(top), "%.200s/selection_test.%d", path, getpid());
	CHECK(!mkdir(top, 0700));
	snprintf(path, sizeof(path), "%s/instances", top);
	CHECK(!mkdir(path, 0700));
	test_sizes();
	test_seconds();
	test_times();
	test_names();
	test_counts();
	test_options();
	test_cpus();
	test_filters();
	test_filter_of_one();
	test_only_read();
	snprintf(own, sizeof(own), "%s/instances/tracemap-%d", top, getpid());
	fill(top);
	make_file(top, "available_tracers", "wakeup function nop\n");
	test_settings();
	test_followed();
	test_signal_before_start();
	test_sizes_of_cpus();
	test_existing(false);
	test_existing(true);
	test_too_large();
	test_buffer_size();
	test_names_refused();
	test_kernel_refuses();
	test_own_instance("b1M", "64");
	test_own_instance("b1023k", "4\n");
	test_looked_up("esched:sched_switch", 1);
	test_looked_up("esched_switch", 1);
	test_looked_up("e[[:alpha:]]ched:*tch", 1);
	test_looked_up("e*:sched_*", 2);
	test_subbuf();
	test_tracers();
	test_online();
	test_takes_nothing();
	test_live_index();
	remove_all(top);
	printf("ok - selection\n");
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What tracemap top counts, measures and shows: counts.h, fields.h, latency.h, spark.h, top.h,
 * and the filters of events, event_filter.h, against plain models and formats that the test
 * writes.
 */
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include <event-parse.h>

#include "check.h"
#include "event_filter.h"
#include "fields.h"
#include "spark.h"
#include "top.h"

static uint64_t seed = 88172645463325252;

/* Of what is refused the message, too, has to say what is wrong. */
static char said[256];

void say(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(said, sizeof(said), format, values);
	va_end(values);
}

static unsigned int chance(unsigned int n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % n;
}

/* ---- Counts ---- */

static void test_counts(void)
{
	static uint64_t numbers[5000], texts[5000];
	struct counts c = { 0 };
	char text[16];

	for (int i = 0; i < 200000; i++) {
		unsigned int key = chance(5000);

		if (chance(2)) {
			counts_number(&c, (uint64_t)key << 20)->fresh++;
			numbers[key]++;
		} else {
			snprintf(text, sizeof(text), "task %u", key % 5000);
			counts_text(&c, text, strlen(text))->fresh++;
			texts[key]++;
		}
		if (i == 100000)
			counts_tick(&c);
	}
	counts_tick(&c);
	CHECK(c.nr == 10000 && c.all.total == 200000 && c.all.last == 99999);
	for (unsigned int i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "task %u", i);
		CHECK(counts_number(&c, (uint64_t)i << 20)->total == numbers[i]);
		CHECK(counts_text(&c, text, strlen(text))->total == texts[i]);
	}
	CHECK(c.nr == 10000);
	counts_free(&c);
}

/* A number is no text with that hash, and a text no other one. */
static void test_keys(void)
{
	struct counts c = { 0 };

	counts_text(&c, "a", 1)->fresh++;
	counts_number(&c, counts_hash("a", 1))->fresh += 2;
	counts_text(&c, "ab", 2)->fresh += 3;
	counts_text(&c, "abc", 2)->fresh += 4;
	counts_number(&c, counts_hash("a", 1))->fresh += 5;
	CHECK(c.nr == 3 && counts_text(&c, "a", 1)->fresh == 1);
	CHECK(counts_number(&c, counts_hash("a", 1))->fresh == 7);
	CHECK(counts_text(&c, "ab", 2)->fresh == 7);
	counts_free(&c);
}

/* Behind the limit, more keys are counted together, and 0 is a key as any other. */
static void test_limit(void)
{
	struct counts c = { 0 };

	for (unsigned int i = 0; i < COUNTS_LIMIT; i++)
		counts_number(&c, i)->fresh++;
	CHECK(c.nr == COUNTS_LIMIT && !c.others.fresh);
	counts_number(&c, 1 << 30)->fresh++;
	counts_number(&c, 0)->fresh++;
	counts_number(&c, 1 << 29)->fresh++;
	counts_text(&c, "x", 1)->fresh++;
	counts_number(&c, 7)->fresh++;
	counts_tick(&c);
	CHECK(c.others.total == 3 && c.nr == COUNTS_LIMIT && counts_number(&c, 7)->total == 2);
	CHECK(counts_number(&c, 0)->total == 2 && c.all.total == COUNTS_LIMIT + 5);
	counts_free(&c);
}

static void add_named(struct counts *c, const char *name, unsigned int first, unsigned int second)
{
	struct count *count = counts_text(c, name, strlen(name));

	count->total = first;
	count->fresh = second;
	count->name = strdup(name);
}

static bool sorted(struct counts *c, enum counts_order order, const char *names)
{
	counts_sort(c, order);
	for (unsigned int i = 0; i < c->nr; i++) {
		if (*c->list[i]->name != names[i])
			return false;
	}
	return c->nr == strlen(names);
}

static void test_order(void)
{
	struct counts c = { 0 };

	add_named(&c, "c", 10, 2);
	add_named(&c, "a", 5, 3);
	add_named(&c, "d", 4, 3);
	add_named(&c, "b", 5, 3);
	counts_tick(&c);
	CHECK(sorted(&c, COUNTS_BY_NAME, "abcd"));
	CHECK(sorted(&c, COUNTS_BY_TOTAL, "cabd"));
	CHECK(sorted(&c, COUNTS_BY_RATE, "abdc"));
	CHECK(counts_text(&c, "d", 1)->total == 7 && counts_text(&c, "d", 1)->last == 3);
	counts_free(&c);
}

/* ---- Latencies ---- */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(uint64_t *)a, y = *(uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Never below the exact one, and at most a 64th above it. */
static void check_quantile(const struct histogram *h, const uint64_t *sorted, unsigned int nr,
			   unsigned int percent)
{
	uint64_t exact = sorted[(percent * nr + 99) / 100 - 1];
	uint64_t told = histogram_quantile(h, percent);

	CHECK(told >= exact && told <= exact + exact / 64);
}

static void test_histogram(void)
{
	static struct histogram h;
	static uint64_t values[30000];

	CHECK(!histogram_quantile(&h, 50));
	for (unsigned int i = 0; i < 30000; i++) {
		values[i] = (uint64_t)chance(1 << 20) << chance(40) >> chance(20);
		histogram_add(&h, values[i]);
	}
	qsort(values, 30000, sizeof(values[0]), by_value);
	for (unsigned int percent = 1; percent <= 100; percent++)
		check_quantile(&h, values, 30000, percent);
	CHECK(h.nr == 30000 && h.max == values[29999]);
	histogram_add(&h, UINT64_MAX);
	histogram_add(&h, 0);
	CHECK(h.max == UINT64_MAX && histogram_quantile(&h, 100) == UINT64_MAX);
}

static void test_few(void)
{
	static struct histogram h;

	histogram_add(&h, 100);
	CHECK(histogram_quantile(&h, 50) == 100 && histogram_quantile(&h, 99) == 100);
	histogram_add(&h, 20);
	CHECK(histogram_quantile(&h, 50) == 20 && histogram_quantile(&h, 90) == 100);
	histogram_add(&h, 5000);
	CHECK(histogram_quantile(&h, 50) == 100 && histogram_quantile(&h, 99) == 5000);
}

static void test_rows(void)
{
	CHECK(latency_row(0) == 0 && latency_row(1) == 0 && latency_row(2) == 1);
	CHECK(latency_row(4) == 1 && latency_row(5) == 2 && latency_row(1999) == 9);
	CHECK(latency_row(2000) == 10 && latency_row_begin(10) == 2000);
	CHECK(latency_row(UINT64_MAX) == LATENCY_ROWS - 1);
	CHECK(latency_row_begin(LATENCY_ROWS - 1) == 5000000000000);
}

#define NR_KEYS	3000

/* Starts and ends of many keys, against a plain table of them. */
static void test_matching(void)
{
	static uint64_t since[NR_KEYS], pairs, replaced, unstarted, max;
	struct latency *l = calloc(1, sizeof(*l));
	unsigned int waiting = 0;

	CHECK(l);
	for (uint64_t ts = 1; ts < 400000; ts++) {
		unsigned int key = chance(NR_KEYS);

		if (chance(2)) {
			latency_start(l, (uint64_t)key << 32, ts);
			replaced += !!since[key];
			since[key] = ts;
			continue;
		}
		latency_end(l, (uint64_t)key << 32, ts);
		unstarted += !since[key];
		if (since[key]) {
			pairs++;
			max = ts - since[key] > max ? ts - since[key] : max;
			since[key] = 0;
		}
		if (ts % 1000 == 0)
			latency_tick(l);
	}
	latency_tick(l);
	for (unsigned int i = 0; i < NR_KEYS; i++)
		waiting += !!since[i];
	CHECK(l->all.nr == pairs && l->all.max == max && l->replaced == replaced);
	CHECK(l->unstarted == unstarted && l->nr == waiting && !l->forgotten);
	latency_free(l);
	free(l);
}

static void test_forgetting(void)
{
	struct latency *l = calloc(1, sizeof(*l));

	CHECK(l);
	latency_end(l, 1, 5);
	latency_start(l, 1, 10);
	latency_start(l, 2, 10);
	latency_forget(l);
	latency_end(l, 1, 20);
	CHECK(l->forgotten == 2 && l->unstarted == 2 && !l->fresh.nr && !l->nr);
	latency_start(l, 1, 30);
	latency_end(l, 1, 29);	/* it came late, and is of another start */
	latency_end(l, 1, 42);
	CHECK(l->fresh.nr == 1 && l->fresh.max == 12 && l->unstarted == 3);
	for (unsigned int i = 0; i < LATENCY_PENDING + 5; i++)
		latency_start(l, i, 50);
	CHECK(l->nr == LATENCY_PENDING && l->forgotten == 2 + 5);
	/* The start of this key is the later one still, though there is no room for others. */
	latency_start(l, 3, 60);
	latency_end(l, 3, 100);
	CHECK(l->replaced == 1 && l->fresh.nr == 2 && l->fresh.max == 40);
	CHECK(l->nr == LATENCY_PENDING - 1 && l->forgotten == 2 + 5);
	latency_free(l);
	free(l);
}

/* ---- Fields ---- */

#define COMMON	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char print_format[] = "name: print\nID: 5\nformat:\n" COMMON
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n\n"
	"print fmt: \"%s\", REC->buf\n";

static const char some_format[] = "name: some\nID: 100\nformat:\n" COMMON
	"\tfield:signed char tiny;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield:unsigned short small;\toffset:10;\tsize:2;\tsigned:0;\n"
	"\tfield:int medium;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:void * large;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:char comm[8];\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:32;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc char[] other;\toffset:36;\tsize:4;\tsigned:0;\n"
	"\tfield:int list[2];\toffset:40;\tsize:8;\tsigned:1;\n\n"
	"print fmt: \"%d\", REC->medium\n";

struct event {
	uint16_t id;
	uint8_t flags, preempt;
	int32_t pid;
	int8_t tiny;
	uint16_t small;
	int32_t medium;
	uint64_t large;
	char comm[8];
	uint32_t name, other;
	int32_t list[2];
	char text[16];
};

static struct event sample(void)
{
	struct event e = {
		.id = 100, .pid = 42, .tiny = -3, .small = 65535, .medium = -70000,
		.large = 0xffffffff81000000, .comm = "bash", .list = { 1, 2 },
		.text = "eth0\0longer",
	};

	e.name = offsetof(struct event, text) | 5 << 16;
	e.other = (offsetof(struct event, text) + 5 - 40) | 7 << 16;
	return e;
}

static bool value_is(struct tracemap_decoder *d, const char *name, const struct event *e,
		     uint32_t size, struct field_value *value)
{
	struct fields f = { .name = name, .decoder = d };
	bool got = fields_get(&f, &(struct tracemap_record){ .data = e, .size = size }, value);

	fields_free(&f);
	return got;
}

static bool number_is(struct tracemap_decoder *d, const char *name, int64_t number)
{
	struct event e = sample();
	struct field_value value;

	return value_is(d, name, &e, sizeof(e), &value) && !value.text &&
		(int64_t)value.number == number;
}

static bool text_is(struct tracemap_decoder *d, const char *name, const char *text)
{
	struct event e = sample();
	struct field_value value;

	return value_is(d, name, &e, sizeof(e), &value) && value.text &&
		value.length == strlen(text) && !memcmp(value.text, text, value.length);
}

static void test_fields(struct tracemap_decoder *d)
{
	struct fields f = { .name = "medium", .decoder = d };

	CHECK(number_is(d, "common_pid", 42) && number_is(d, "tiny", -3));
	CHECK(number_is(d, "small", 65535) && number_is(d, "medium", -70000));
	CHECK(number_is(d, "large", (int64_t)0xffffffff81000000));
	CHECK(text_is(d, "comm", "bash") && text_is(d, "name", "eth0"));
	CHECK(text_is(d, "other", "longer"));
	CHECK(fields_has(&f, 100) && !fields_has(&f, 5) && !fields_has(&f, 101));
	CHECK(!fields_has(&f, -1) && !fields_has(&f, 1 << 20));
	fields_free(&f);
}

/* What is not whole is not there, and nothing behind the event is read. */
static void test_damaged(struct tracemap_decoder *d)
{
	struct field_value value;
	struct event e = sample(), *tight = malloc(36);

	CHECK(tight);
	CHECK(!value_is(d, "list", &e, sizeof(e), &value));
	CHECK(!value_is(d, "none", &e, sizeof(e), &value));
	memcpy(tight, &e, 36);
	CHECK(value_is(d, "comm", tight, 36, &value) && !value_is(d, "other", tight, 36, &value));
	CHECK(!value_is(d, "name", tight, 36, &value) && !value_is(d, "comm", tight, 30, &value));
	CHECK(!value_is(d, "tiny", tight, 8, &value) && !value_is(d, "tiny", tight, 1, &value));
	free(tight);
	e.name = (sizeof(e) - 2) | 3 << 16;
	CHECK(!value_is(d, "name", &e, sizeof(e), &value));
	e.name = 0xffff | 1 << 16;
	CHECK(!value_is(d, "name", &e, sizeof(e), &value));
	memset(e.comm, 'x', sizeof(e.comm));
	CHECK(value_is(d, "comm", &e, sizeof(e), &value) && value.length == 8);
	e.comm[7] = '\n';
	CHECK(value_is(d, "comm", &e, sizeof(e), &value) && value.length == 7);
}

static bool no_memory, no_memory_to_match;
__typeof__(strndup) __real_strndup;

char *__wrap_strndup(const char *text, size_t size)
{
	return no_memory ? NULL : __real_strndup(text, size);
}

/* Whether sample(), of @size bytes, from CPU 3 and @pid, matches; -1 if the filter is refused */
static int matches_of(struct tracemap_decoder *d, const char *text, uint32_t size, int pid)
{
	struct tep_event *event = tracemap_decoder_event(d, 100);
	struct event e = sample();
	struct tracemap_record rec = { .data = &e, .size = size, .cpu = 3 };
	struct event_filter *filter;
	int match, ret;

	e.comm[4] = '\n';
	e.pid = pid;
	ret = event_filter_new(&filter, d, event, "some:some", text);
	CHECK(!ret || (ret == -EINVAL && !filter));
	no_memory = no_memory_to_match;
	match = ret ? -1 : event_filter_match(filter, &rec);
	no_memory = false;
	event_filter_free(filter);
	return match;
}

static int matches(struct tracemap_decoder *d, const char *text, uint32_t size)
{
	return matches_of(d, text, size, 42);
}

static void test_filter(struct tracemap_decoder *d)
{
	static const char * const yes[] = {
		"tiny == -3", "tiny==-3", "tiny < 0", "tiny <= -3", "tiny > -4", "tiny >= -3",
		"tiny == 253", "tiny == 0xfd", "tiny != -1", "small == 65535", "small == -1",
		"small > 0", "medium < -69999", "medium > -70001", "large > 0x7fffffffffffffff",
		"large == 0xffffffff81000000", "small & 0x8000", "CPU == 3", "CPU > 2",
		"common_pid == 42", "comm == \"bash\"", "comm == 'bash'", "comm != \"bas\"",
		"comm ~ \"ba*\"", "comm ~ '*as*'", "comm ~ 'b?sh'", "comm ~ 'b[!x]sh'",
		"comm ~ 'bash'", "comm ~ '!x*'", "comm ~ '*[s]h'", "comm ~ '\\bash'", "CPU > -1",
		"cpu == 3", "COMM == 'task'", "COMM != 'bash'", "COMM ~ 't*k'", "COMM =~ '^t'",
		"comm =~ '^b.*h$'", "comm =~ 'x|as'", "comm !~ 'B'",
		"name == 'eth0'", "other ~ 'long*'", "!(tiny == 3)", "! ! tiny < 0",
		"tiny < 0 && small > 0", "tiny > 0 || small > 0 && medium < 0",
		"(tiny > 0 || small > 0) && medium < 0", "!tiny == 3", "  tiny\t< 0  ",
	};
	static const char * const no[] = {
		"tiny == -1", "tiny > -1", "tiny < -3", "tiny > -3", "tiny != -3", "small < 0",
		"small & 0 || small < 1", "large < 0x7fffffffffffffff", "CPU != 3",
		"comm == 'bas'", "comm ~ 'as'", "comm ~ 'b.*'", "comm ~ '!b*'", "comm ~ '*[?]*'",
		"comm ~ '[bash'", "CPU < 0", "comm ~ '(bash)'",
		"COMM == 'bash'", "COMM != 'task'", "COMM ~ 'bash*'", "COMM == 'swapper/3'",
		"comm =~ 'Bash'", "comm !~ 'as'", "name == 'eth'", "!(tiny < 0)",
		"tiny < 0 && small < 1", "(tiny < 0 || small > 0) && medium > 0",
	};
	static const char * const refused[] = {
		"", " ", "tiny", "tiny ==", "tiny == x", "tiny == 'x'", "tiny ~ 3", "tiny == 3x",
		"tiny == 1.5", "tiny == - 3", "tiny == 256", "tiny == -129", "tiny == -18446744073709551616",
		"tiny == -18446744073709551615", "large < -9223372036854775809", "small == 65536", "small & 0x10000",
		"large == 18446744073709551616", "nothing == 1", "list == 1", "comm == bash",
		"COMM < 'a'", "COMM == 3", "COMM = 'task'",
		"comm < 'a'", "comm & 3", "comm == 'bash", "comm =~ '('", "tiny = 3",
		"tiny < 0 &&", "tiny < 0 & small > 0", "&& tiny < 0", "(tiny < 0", "tiny < 0)",
		"tiny < 0 small > 0", "tiny < 0 || || small > 0", "3 == tiny", "!", "()",
	};
	char deep[300];

	for (unsigned int i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		CHECK(matches(d, yes[i], sizeof(struct event)) == 1);
	for (unsigned int i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		CHECK(!matches(d, no[i], sizeof(struct event)));
	for (unsigned int i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		strcpy(said, "");
		CHECK(matches(d, refused[i], sizeof(struct event)) < 0);
		CHECK(strstr(said, "some:some does not take the filter '"));
	}
	CHECK(matches(d, "nothing == 1", sizeof(struct event)) < 0);
	CHECK(strstr(said, "no field nothing"));
	CHECK(matches(d, "tiny = 3", sizeof(struct event)) < 0);
	CHECK(strstr(said, "from '= 3' on: use =="));
	CHECK(matches(d, "tiny =< 3", sizeof(struct event)) < 0);
	CHECK(strstr(said, "from '=< 3' on: use <="));
	CHECK(matches(d, "tiny => 3", sizeof(struct event)) < 0);
	CHECK(strstr(said, "from '=> 3' on: use >="));
	CHECK(matches_of(d, "COMM == 'swapper/3'", sizeof(struct event), 0) == 1);
	CHECK(matches_of(d, "COMM == '<...>'", sizeof(struct event), 43) == 1);
	CHECK(!matches(d, "COMM != 'x'", 4));
	CHECK(!matches(d, "comm != 'x'", 30) && !matches(d, "comm == 'bash'", 30));
	no_memory_to_match = true;
	CHECK(!matches(d, "comm ~ '!x*'", sizeof(struct event)));
	no_memory_to_match = false;
	snprintf(deep, sizeof(deep), "%0200dtiny < 0", 0);
	memset(deep, '!', 200);
	CHECK(matches(d, deep, sizeof(struct event)) < 0);
	CHECK(matches(d, deep + 160, sizeof(struct event)) == 1);
}

/* ---- What is printed ---- */

static char *printed;

static bool says(const char *text)
{
	if (printed && strstr(printed, text))
		return true;
	fprintf(stderr, "no \"%s\" in:\n%s", text, printed);
	return false;
}

static void print(const struct top_view *v, bool json)
{
	size_t size;
	FILE *to;

	free(printed);
	to = open_memstream(&printed, &size);
	CHECK(to);
	if (json)
		top_print_json(to, v);
	else
		top_print_rows(to, v, true);
	CHECK(!fclose(to));
}

static void test_event_lines(struct tracemap_decoder *d)
{
	struct top_view v = {
		.instance = "mine", .way = "observe", .key = "event", .decoder = d,
		.seconds = 2, .events = 40, .lost = 3, .limit = 2,
	};

	counts_number(&v.counts, 100)->fresh = 30;
	counts_number(&v.counts, 5)->fresh = 8;
	counts_number(&v.counts, 77)->fresh = 1;
	v.counts.others.fresh = 1;
	counts_tick(&v.counts);
	top_prepare(&v);
	print(&v, false);
	CHECK(says("       rate/s          count share%  event\n"));
	CHECK(says("         15.0             30  75.00  test:some\n"));
	CHECK(says("          4.0              8  20.00  ftrace:print\n"));
	CHECK(!strstr(printed, "unknown event 77") && says("20.0             40 100.00  (all)\n"));
	CHECK(says("  (of more than can be counted)"));
	v.limit = 1;
	print(&v, true);
	CHECK(says("\"instance\":\"mine\",\"way\":\"observe\",\"seconds\":2.000,\"events\":40,"
		   "\"lost\":3,\"lost_more\":false,\"by\":\"event\",\"rows\":[{\"id\":100,"
		   "\"system\":\"test\",\"event\":\"some\",\"rate\":15.0,\"count\":30,"
		   "\"share\":0.7500}],\"without\":0,\"uncounted\":1,"
		   "\"all\":{\"rate\":20.0,\"count\":40,\"share\":1.0000}}\n"));
	v.seconds = 0.025;
	print(&v, true);
	CHECK(says("\"rate\":1200.0,\"count\":30,") && says("\"all\":{\"rate\":1600.0,"));
	v.seconds = 0.0249;
	print(&v, true);
	CHECK(says("\"rate\":null,\"count\":30,") && says("\"all\":{\"rate\":null,"));
	print(&v, false);
	CHECK(says("            -             30  75.00  test:some\n"));
	counts_free(&v.counts);
}

static void test_field_lines(struct tracemap_decoder *d)
{
	struct top_view v = {
		.instance = "/", .way = "read", .by = TOP_BY_FIELD, .key = "comm", .decoder = d,
		.seconds = 1, .limit = 100,
	};
	struct count *minus = counts_number(&v.counts, (uint64_t)-5);

	minus->fresh = 1;
	minus->is_signed = true;
	counts_number(&v.counts, (uint64_t)-6)->fresh = 2;
	counts_text(&v.counts, "e\33[2J\"", 6)->fresh = 4;
	v.counts.keyless.fresh = 3;
	counts_tick(&v.counts);
	top_prepare(&v);
	print(&v, false);
	CHECK(says("  -5\n") && says("  18446744073709551610\n") && says("  e?[2J\"\n"));
	CHECK(says(" 3  30.00  (without it)\n"));
	print(&v, true);
	CHECK(says("{\"value\":-5,\"rate\":1.0") && says("{\"value\":18446744073709551610,"));
	CHECK(says("{\"value\":\"e\\u001b[2J\\\"\",") && says("\"without\":3"));
	counts_free(&v.counts);
}

static struct latency *some_latencies(void)
{
	struct latency *l = calloc(1, sizeof(*l));

	CHECK(l);
	for (unsigned int i = 1; i <= 100; i++) {
		latency_start(l, i, 1000000);
		latency_end(l, i, 1000000 + i);
	}
	latency_tick(l);
	latency_start(l, 1, 2000000);
	latency_end(l, 1, 2000000 + 2000000);
	latency_start(l, 2, 5);
	latency_tick(l);
	return l;
}

static void test_latency_lines(void)
{
	struct top_view v = {
		.instance = "mine", .way = "map", .key = "pid", .between = { "a:b", "c:d" },
		.latency = some_latencies(), .seconds = 1,
	};

	print(&v, false);
	CHECK(says("interval            1     2.00ms     2.00ms     2.00ms     2.00ms\n"));
	CHECK(says("all               101       51ns       91ns      100ns     2.00ms\n"));
	print(&v, true);
	CHECK(says("\"from\":\"a:b\",\"to\":\"c:d\",\"key\":\"pid\",\"interval\":{\"count\":1,"
		   "\"p50\":2000000,\"p90\":2000000,\"p99\":2000000,\"max\":2000000},"
		   "\"histogram\":[{\"from\":2000000,\"count\":1}],\"all\":{\"count\":101,"
		   "\"p50\":51,\"p90\":91,\"p99\":100,\"max\":2000000},\"replaced\":0,"
		   "\"unstarted\":0,\"forgotten\":0,\"waiting\":1}\n"));
	latency_tick(v.latency);
	print(&v, true);
	CHECK(says("\"interval\":{\"count\":0,\"p50\":null,") && says("\"histogram\":[]"));
	latency_free(v.latency);
	free(v.latency);
}

static bool spark_is(const char *wanted, unsigned int width, unsigned int nr, ...)
{
	struct spark s = { .nr = 0 };
	char *text = NULL;
	va_list values;
	size_t size;
	bool is;
	FILE *to = open_memstream(&text, &size);

	CHECK(to);
	va_start(values, nr);
	while (nr--)
		spark_add(&s, va_arg(values, int));
	va_end(values);
	spark_print(to, &s, width);
	CHECK(!fclose(to));
	is = !strcmp(text, wanted);
	free(text);
	return is;
}

static void test_sparks(void)
{
	CHECK(spark_is("    ", 4, 0) && spark_is("  _#", 4, 2, 1, 800));
	CHECK(spark_is(" #= ", 4, 4, 0, 8, 4, 0) && spark_is("#", 1, 3, 9, 9, 1));
	CHECK(spark_is("                ", 16, 17,
		       9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
	CHECK(!strcmp(spark_number(999).text, "999") && !strcmp(spark_number(12345).text, "12.3k"));
	CHECK(!strcmp(spark_number(-1).text, "-") && !strcmp(spark_number(1234567).text, "1.23M"));
	CHECK(!strcmp(top_time(999).text, "999ns") && !strcmp(top_time(12345).text, "12.3us"));
	CHECK(!strcmp(top_time(5000000000).text, "5.00s") && !strcmp(top_time(0).text, "0ns"));
}

/* ---- The screen ---- */

/* What top_draw() writes to standard output. */
static void draw(struct top_screen *ts, struct top_view *v)
{
	int file = memfd_create("screen", 0), before = dup(STDOUT_FILENO);
	ssize_t size;

	CHECK(file >= 0 && before >= 0 && dup2(file, STDOUT_FILENO) >= 0);
	CHECK(!top_draw(ts, v));
	CHECK(dup2(before, STDOUT_FILENO) >= 0);
	free(printed);
	printed = calloc(1, 65536);
	CHECK(printed);
	size = pread(file, printed, 65535, 0);
	CHECK(size > 0);
	close(file);
	close(before);
}

/* No line has more columns than the screen, whatever bytes a character has. */
static bool fits(int cols, int rows)
{
	int width = 0, lines = 1;

	for (const char *at = printed; *at; at++) {
		if (*at == '\033') {
			at += strcspn(at, "mHKJ");
		} else if (*at == '\n') {
			lines++;
			width = 0;
		} else if (*at != '\r' && (*at & 0xc0) != 0x80 && ++width > cols) {
			return false;
		}
	}
	return lines <= rows;
}

static void test_screen(struct tracemap_decoder *d)
{
	struct top_screen ts = { .screen = { .rows = 10, .cols = 80 } };
	struct top_view v = {
		.instance = "mine", .way = "observe", .by = TOP_BY_FIELD, .key = "medium",
		.decoder = d, .seconds = 1, .events = 210, .limit = 100,
	};

	for (unsigned int i = 1; i <= 20; i++)
		counts_number(&v.counts, 1000 + i)->fresh = i;
	counts_tick(&v.counts);
	top_prepare(&v);
	draw(&ts, &v);
	CHECK(says("mine, observe: 210 events") && says("#"));
	CHECK(says("1020") && !strstr(printed, "1001"));
	CHECK(fits(80, 10));
	CHECK(top_key(&ts, &v, KEY_END));
	draw(&ts, &v);
	CHECK(says("1001") && !strstr(printed, "1020"));
	v.limit = 2;
	draw(&ts, &v);
	CHECK(says("1020") && says("1019") && !strstr(printed, "1018") && !ts.from);
	v.limit = 100;
	CHECK(top_key(&ts, &v, 'n') && top_key(&ts, &v, KEY_HOME));
	draw(&ts, &v);
	CHECK(says("sorted by name") && says("1001") && !strstr(printed, "1020"));
	CHECK(!top_key(&ts, &v, 'q'));
	for (ts.screen.cols = 12; ts.screen.cols < 100; ts.screen.cols += 7) {
		draw(&ts, &v);
		CHECK(fits(ts.screen.cols, 10));
	}
	counts_number(&v.counts, UINT64_MAX)->fresh = 1;
	counts_tick(&v.counts);
	top_prepare(&v);
	CHECK(top_key(&ts, &v, 'r'));
	ts.screen.cols = 52;
	draw(&ts, &v);
	CHECK(says("# 18446744073709551615\033") && fits(52, 10));
	counts_free(&v.counts);
}

static void test_latency_screen(void)
{
	struct top_screen ts = { .screen = { .rows = 40, .cols = 60 } };
	struct top_view v = {
		.instance = "mine", .way = "map", .key = "pid", .between = { "a:b", "c:d" },
		.latency = some_latencies(), .seconds = 1,
	};

	draw(&ts, &v);
	CHECK(says("a:b to c:d by pid"));
	CHECK(says("interval        1   2.00ms") && says("1 waiting") && fits(60, 40));
	CHECK(top_key(&ts, &v, '?'));
	draw(&ts, &v);
	CHECK(says("this help") && says("Replaced are") && !strstr(printed, "waiting") &&
	      fits(60, 40));
	CHECK(top_key(&ts, &v, 'x') && !ts.help);
	latency_free(v.latency);
	free(v.latency);
}

int main(void)
{
	struct tep_handle *tep = tep_alloc();
	struct tracemap_decoder *d;

	CHECK(tep);
	CHECK(!tep_parse_event(tep, print_format, strlen(print_format), "ftrace"));
	CHECK(!tep_parse_event(tep, some_format, strlen(some_format), "test"));
	CHECK(!tep_register_comm(tep, "task", 42));
	CHECK(!tracemap_decoder_new_tep(&d, tep, NULL, NULL));
	test_counts();
	test_keys();
	test_limit();
	test_order();
	test_histogram();
	test_few();
	test_rows();
	test_matching();
	test_forgetting();
	test_fields(d);
	test_damaged(d);
	test_filter(d);
	test_event_lines(d);
	test_field_lines(d);
	test_latency_lines();
	test_sparks();
	test_screen(d);
	test_latency_screen();
	free(printed);
	tracemap_decoder_free(d);
	tep_free(tep);
	printf("ok - top\n");
	return 0;
}

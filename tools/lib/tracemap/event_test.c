// SPDX-License-Identifier: LGPL-2.1
/*
 * Decoding, on formats and events of its own, in a folder that looks like
 * tracefs: needs no kernel and no root. Built with sanitizers by "make check" of
 * tools/tracing/tracemap.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event.h"

static char top[32];
static int failed;

static void put_file(const char *dir, const char *file, const char *text)
{
	char path[256];
	FILE *f;

	for (const char *at = dir; *at; at++) {
		if (at[1] && at[1] != '/')
			continue;
		snprintf(path, sizeof(path), "%s/%.*s", top, (int)(at + 1 - dir), dir);
		mkdir(path, 0700);
	}
	snprintf(path, sizeof(path), "%s/%s/%s", top, dir, file);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f)) {
		perror(path);
		exit(1);
	}
}

#define COMMON \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static void make_tracefs(void)
{
	put_file("events", "header_page",
		 "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		 "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		 "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
		 "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n");
	put_file("events/ftrace/print", "format",
		 "name: print\nID: 5\nformat:\n" COMMON
		 "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
		 "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n"
		 "\nprint fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n");
	put_file("events/own/one", "format",
		 "name: one\nID: 300\nformat:\n" COMMON
		 "\tfield:int number;\toffset:8;\tsize:4;\tsigned:1;\n"
		 "\tfield:bool yes;\toffset:12;\tsize:1;\tsigned:0;\n"
		 "\tfield:u8 bytes[3];\toffset:13;\tsize:3;\tsigned:0;\n"
		 "\tfield:__data_loc char[] text;\toffset:16;\tsize:4;\tsigned:0;\n"
		 "\tfield:u64 large;\toffset:24;\tsize:8;\tsigned:0;\n"
		 "\tfield:void * pointer;\toffset:32;\tsize:8;\tsigned:0;\n"
		 "\nprint fmt: \"number=%d text=%s pointer=%p flags=%s\", REC->number, __get_str(text), REC->pointer,"
		 " __print_flags(REC->large & (0x1 | 0x2 | 0x4), \"|\", { 0x1, \"A\" }, { 0x2, \"B\" }, { 0x4, \"C\" })\n");
	put_file("events/own/one", "id", "300\n");
	put_file("", "saved_cmdlines", "7 some name\n");
	put_file("", "trace_clock", "[local] global\n");
}

static void expect(const char *what, struct tracemap_line *line, const char *wanted)
{
	if (line->text && !strcmp(line->text, wanted)) {
		printf("ok - %s\n", what);
	} else {
		printf("not ok - %s\n# %s# %s", what,
		       line->text ? line->text : "(nothing)\n", wanted);
		failed = 1;
	}
	line->length = 0;
}

struct one {
	uint16_t type;
	uint8_t flags, preempt;
	int32_t pid;
	int32_t number;
	uint8_t yes, bytes[3];
	uint32_t text;
	uint32_t hole;
	uint64_t large, pointer;
	char string[8];
};

static const struct one sample = {
	.type = 300, .flags = 0x1 | 0x4 | 0x10, .preempt = 0x12, .pid = 7,
	.number = -5, .yes = 1, .bytes = { 1, 0, 255 },
	.text = 5 << 16 | offsetof(struct one, string),
	.large = UINT64_MAX - 3, .pointer = 0xffff888000000010,
	.string = "a\"b\n",
};

static void test_events(struct tracemap_decoder *d, struct tracemap_line *line)
{
	struct one one = sample;
	struct tracemap_record rec = {
		.ts = 1999999500, .data = &one, .size = sizeof(one), .cpu = 3,
	};

	tracemap_text(d, &rec, line);
	expect("text", line, "       some name-7       [003] dns21     2.000000: one: number=-5 "
	       "text=a\"b\n pointer=ffff888000000010 flags=C\n");
	tracemap_json(d, &rec, line);
	expect("JSON", line, "{\"ts\":1999999500,\"cpu\":3,\"comm\":\"some name\",\"pid\":7,"
	       "\"flags\":\"dns21\",\"system\":\"own\",\"event\":\"one\",\"fields\":{\"number\":-5,"
	       "\"yes\":true,\"bytes\":[1,0,255],\"text\":\"a\\\"b\\n\",\"large\":18446744073709551612,"
	       "\"pointer\":\"0xffff888000000010\"}}\n");
	one.type = 999;
	rec.size = 12;
	rec.missed = 4;
	tracemap_text(d, &rec, line);
	expect("an event nobody knows, after a loss", line, "CPU:3 [LOST 4 EVENTS]\n"
	       "       some name-7       [003] dns21     2.000000: unknown_event: id=999 data=fb ff ff ff\n");
	rec.data = NULL;
	rec.missed = TRACEMAP_MISSED_UNKNOWN;
	rec.flags = TRACEMAP_RESET;
	tracemap_text(d, &rec, line);
	expect("a loss of nobody knows how many", line,
	       "# CPU:3 [BUFFER EMPTIED]\nCPU:3 [LOST EVENTS]\n");
	tracemap_json(d, &rec, line);
	expect("the same as JSON", line, "{\"ts\":1999999500,\"cpu\":3,\"reset\":true}\n"
	       "{\"ts\":1999999500,\"cpu\":3,\"lost\":null}\n");
}

static void test_strings(struct tracemap_line *line)
{
	static const char text[] = "\x01\xc3\xa4\xc3(\xff\xed\xa0\x80\xf0\x9d\x84\x9e\xe2\x82";

	tracemap_json_string(line, text, sizeof(text) - 1);
	tracemap_line_put(line, "\n", 1);
	expect("what is no UTF-8 is replaced", line, "\"\\u0001\xc3\xa4\xef\xbf\xbd(\xef\xbf\xbd"
	       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xf0\x9d\x84\x9e\xef\xbf\xbd\xef\xbf\xbd\"\n");
}

/* Records of any size and contents, on the heap, where a sanitizer watches their ends. */
static void test_damage(struct tracemap_decoder *d, struct tracemap_line *line)
{
	static const uint16_t types[] = { 300, 5, 999 };

	srand(1);
	for (int i = 0; i < 200000; i++) {
		uint32_t size = rand() % (sizeof(sample) + 9);
		unsigned char *data = malloc(size ? size : 1);
		struct tracemap_record rec = { .ts = rand(), .data = data, .size = size };

		if (!data)
			exit(1);
		memset(data, 'x', size);
		memcpy(data, &sample, size < sizeof(sample) ? size : sizeof(sample));
		if (size >= 2)
			memcpy(data, &types[rand() % 3], 2);
		for (int n = rand() % 4; n-- && size > 8; )
			data[8 + rand() % (size - 8)] = rand();
		tracemap_text(d, &rec, line);
		tracemap_json(d, &rec, line);
		free(data);
		line->length = 0;
	}
	printf("ok - damaged records are survived\n");
}

/* Numbers above all the kernel gives: /proc does not know them. */
#define FIRST_PID	(1 << 23)
#define NR_PIDS		100000

static void test_names(struct tracemap_decoder *d)
{
	int known = 0;

	for (int pid = FIRST_PID; pid < FIRST_PID + NR_PIDS; pid++) {
		event_comm_set(d, pid, "one of many", 11);
		/* This one is asked for again and again. */
		if (strcmp(tracemap_decoder_comm(d, 7), "some name"))
			known = NR_PIDS;
	}
	/* The last first: to ask for a forgotten one takes a place. */
	for (int pid = FIRST_PID + NR_PIDS; pid-- > FIRST_PID; )
		known += !strcmp(tracemap_decoder_comm(d, pid), "one of many");
	if (known < 1000 || known >= NR_PIDS / 2)
		failed = 1;
	printf("%s - names are kept of some processes, not of all there ever were\n",
	       known < 1000 || known >= NR_PIDS / 2 ? "not ok" : "ok");
}

int main(void)
{
	struct tracemap_line line = TRACEMAP_LINE_INIT;
	struct tracemap_decoder *d;
	char command[64];

	snprintf(top, sizeof(top), "/tmp/tracemap-event.XXXXXX");
	if (!mkdtemp(top))
		return 1;
	make_tracefs();
	printf("1..8\n");
	if (tracemap_decoder_new(&d, top)) {
		printf("not ok - a decoder\n");
		return 1;
	}
	test_events(d, &line);
	test_strings(&line);
	test_damage(d, &line);
	test_names(d);
	tracemap_decoder_free(d);
	tracemap_line_free(&line);
	snprintf(command, sizeof(command), "rm -r %s", top);
	return system(command) || failed;
}

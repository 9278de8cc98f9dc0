// SPDX-License-Identifier: LGPL-2.1
/*
 * Test decoding with formats and events that are made here, in a folder that looks like
 * tracefs, so that neither a kernel nor root is needed. "make check" of
 * tools/tracing/tracemap builds it with sanitizers.
 *
 *	event_test			these tests
 *	event_test DIR			and every event of the kernel whose tracefs DIR is
 */
#include <errno.h>
#include <limits.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event_program.h"

static char top[128];
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

#define ALL_FIELDS \
	"\tfield:char name[16];\toffset:8;\tsize:16;\tsigned:0;\n" \
	"\tfield:long large;\toffset:24;\tsize:8;\tsigned:1;\n" \
	"\tfield:int number;\toffset:32;\tsize:4;\tsigned:1;\n" \
	"\tfield:short half;\toffset:36;\tsize:2;\tsigned:1;\n" \
	"\tfield:u8 byte;\toffset:38;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned long array[2];\toffset:40;\tsize:16;\tsigned:0;\n" \
	"\tfield:__data_loc char[] text;\toffset:56;\tsize:4;\tsigned:0;\n" \
	"\tfield:__rel_loc char[] near;\toffset:60;\tsize:4;\tsigned:0;\n"

static void put_format(const char *system, const char *name, int id, const char *rest)
{
	char dir[64], text[2048], number[16];

	snprintf(dir, sizeof(dir), "events/%s/%s", system, name);
	snprintf(text, sizeof(text), "name: %s\nID: %d\nformat:\n" COMMON "%s", name, id, rest);
	snprintf(number, sizeof(number), "%d\n", id);
	put_file(dir, "format", text);
	put_file(dir, "id", number);
}

/* Those whose records are not as their formats say, or need all that C has */
static void make_odd_formats(void)
{
	put_format("ftrace", "kernel_stack", 4,
		   "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
		   "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n"
		   "\nprint fmt: \"\\t=> %ps\\n\", (void *)REC->caller[0]\n");
	put_format("ftrace", "user_stack", 13,
		   "\tfield:unsigned int tgid;\toffset:8;\tsize:4;\tsigned:0;\n"
		   "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n"
		   "\nprint fmt: \"\\t=> %ps\\n\", (void *)REC->caller[0]\n");
	put_format("ftrace", "bputs", 14,
		   "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
		   "\tfield:const char * str;\toffset:16;\tsize:8;\tsigned:0;\n"
		   "\nprint fmt: \"%ps: %s\", (void *)REC->ip, REC->str\n");
	put_format("ftrace", "bprint", 15,
		   "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
		   "\tfield:const char * fmt;\toffset:16;\tsize:8;\tsigned:0;\n"
		   "\tfield:u32 buf[];\toffset:24;\tsize:0;\tsigned:0;\n"
		   "\nprint fmt: \"%ps: %s\", (void *)REC->ip, REC->fmt\n");
	put_format("ftrace", "osnoise", 17,
		   "\tfield:u64 noise;\toffset:8;\tsize:8;\tsigned:0;\n"
		   "\tfield:u64 runtime;\toffset:16;\tsize:8;\tsigned:0;\n"
		   "\tfield:u64 max_sample;\toffset:24;\tsize:8;\tsigned:0;\n"
		   "\tfield:unsigned int hw_count;\toffset:32;\tsize:4;\tsigned:0;\n"
		   "\nprint fmt: \"noise:%llu\\n\", REC->noise\n");
	put_format("ftrace", "timerlat", 18,
		   "\tfield:unsigned int seqnum;\toffset:8;\tsize:4;\tsigned:0;\n"
		   "\tfield:int context;\toffset:12;\tsize:4;\tsigned:1;\n"
		   "\tfield:u64 timer_latency;\toffset:16;\tsize:8;\tsigned:0;\n"
		   "\nprint fmt: \"seq:%u\\tcontext:%d\\ttimer_latency:%llu\\n\", REC->seqnum, REC->context, REC->timer_latency\n");
	put_format("own", "divided", 320,
		   "\tfield:unsigned long busy;\toffset:8;\tsize:8;\tsigned:0;\n"
		   "\tfield:unsigned long total;\toffset:16;\tsize:8;\tsigned:0;\n"
		   "\tfield:int one;\toffset:24;\tsize:4;\tsigned:1;\n"
		   "\tfield:int other;\toffset:28;\tsize:4;\tsigned:1;\n"
		   "\nprint fmt: \"load=%lu ratio=%d rest=%d less=%d\", REC->total == 0 ? 0 : (100 * REC->busy) / REC->total,"
		   " REC->one / REC->other, REC->one % REC->other, REC->one < REC->other\n");
	put_format("own", "arrays", 321,
		   "\tfield:u32 len;\toffset:8;\tsize:4;\tsigned:0;\n"
		   "\tfield:__data_loc u8[] buf;\toffset:12;\tsize:4;\tsigned:0;\n"
		   "\tfield:__data_loc char[] text;\toffset:16;\tsize:4;\tsigned:0;\n"
		   "\tfield:u16 list[3];\toffset:20;\tsize:6;\tsigned:0;\n"
		   "\nprint fmt: \"hex=%s str=%s list=%s ph=%*phC text=%s %*d|\","
		   " __print_hex(__get_dynamic_array(buf), REC->len), __print_hex_str(__get_dynamic_array(buf), 2),"
		   " __print_array(REC->list, 3, sizeof(u16)), 4, REC->list, __get_str(text), 5, REC->len\n");
	put_format("own", "addresses", 322,
		   "\tfield:__u8 four[4];\toffset:8;\tsize:4;\tsigned:0;\n"
		   "\tfield:__u8 six[16];\toffset:12;\tsize:16;\tsigned:0;\n"
		   "\tfield:__u8 sock[28];\toffset:28;\tsize:28;\tsigned:0;\n"
		   "\tfield:unsigned long mask[2];\toffset:56;\tsize:16;\tsigned:0;\n"
		   "\nprint fmt: \"%pI4 %pI6c %pISpc %pM %pU %*pbl\", REC->four, REC->six, REC->sock, REC->six,"
		   " REC->six, 70, REC->mask\n");
	put_format("own", "calls", 323,
		   "\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n"
		   "\nprint fmt: \"ms=%u\", jiffies_to_msecs(REC->x)\n");
	put_format("kprobes", "read", 324,
		   "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
		   "\tfield:u64 a;\toffset:16;\tsize:8;\tsigned:0;\n"
		   "\tfield:__data_loc char[] u;\toffset:24;\tsize:4;\tsigned:1;\n"
		   "\nprint fmt: \"(%lx) a=0x%"
		   "Lx u=\\\"%s\\\" b=%d\", "
		   "REC->__probe_ip, REC->a, __get_str(u), 1\n");
	put_format("kprobes", "many", 326,
		   "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
		   "\tfield:__data_loc char[][2] s;\toffset:16;\tsize:8;\tsigned:1;\n"
		   "\nprint fmt: \"(%lx) s={\\\"%s\\\",\\\"%s\\\"}\", REC->__probe_ip, __get_str(s[0]), __get_str(s[1])\n");
	put_format("syscalls", "sys_enter_futex_wake", 325,
		   "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
		   "\tfield:int nr;\toffset:16;\tsize:8;\tsigned:0;\n"
		   "\nprint fmt: \"nr: 0x%08lx\", ((unsigned long)(REC->nr))\n");
	put_file("", "printk_formats", "0x7700 : \"number %d, %s at %lld\\n\"\n0x7800 : \"told\"\n");
}

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
	put_file("events/ftrace/funcgraph_entry", "format",
		 "name: funcgraph_entry\nID: 6\nformat:\n" COMMON
		 "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
		 "\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
		 "\nprint fmt: \"--> %ps (%d)\", (void *)REC->func, REC->depth\n");
	put_file("events/ftrace/funcgraph_exit", "format",
		 "name: funcgraph_exit\nID: 7\nformat:\n" COMMON
		 "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
		 "\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
		 "\tfield:unsigned int overrun;\toffset:20;\tsize:4;\tsigned:0;\n"
		 "\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;\n"
		 "\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;\n"
		 "\nprint fmt: \"<-- %ps (%d)\", (void *)REC->func, REC->depth\n");
	put_file("events/own/named", "format",
		 "name: named\nID: 301\nformat:\n" COMMON
		 "\tfield:int state;\toffset:8;\tsize:4;\tsigned:1;\n"
		 "\nprint fmt: \"state=%s\", __print_symbolic(REC->state, { STATE_NEW1, \"new\" },"
		 " { STATE_LARGE, \"large\" }, { HRTIMER_MODE_REL, \"relative\" })\n");
	put_file("events/own/named", "id", "301\n");
	put_file("events/sched/sched_waking", "format",
		 "name: sched_waking\nID: 310\nformat:\n" COMMON
		 "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		 "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		 "\nprint fmt: \"comm=%s pid=%d\", REC->comm, REC->pid\n");
	put_file("events/sched/sched_waking", "id", "310\n");
	put_file("events/sched/sched_wakeup_new", "format",
		 "name: sched_wakeup_new\nID: 311\nformat:\n" COMMON
		 "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		 "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		 "\nprint fmt: \"comm=%s pid=%d\", REC->comm, REC->pid\n");
	put_file("events/sched/sched_wakeup_new", "id", "311\n");
	put_file("events/sched/sched_process_exec", "format",
		 "name: sched_process_exec\nID: 312\nformat:\n" COMMON
		 "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
		 "\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n"
		 "\tfield:pid_t old_pid;\toffset:16;\tsize:4;\tsigned:1;\n"
		 "\nprint fmt: \"filename=%s pid=%d old_pid=%d\", __get_str(filename), REC->pid,"
		 " REC->old_pid\n");
	put_file("events/sched/sched_process_exec", "id", "312\n");
	put_file("events/syscalls/sys_enter_own", "format",
		 "name: sys_enter_own\nID: 302\nformat:\n" COMMON
		 "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
		 "\tfield:int a;\toffset:16;\tsize:8;\tsigned:0;\n"
		 "\tfield:int b;\toffset:24;\tsize:8;\tsigned:0;\n"
		 "\nprint fmt: \"a: 0x%08lx, b: 0x%08lx\", ((unsigned long)(REC->a)), ((unsigned long)(REC->b))\n");
	put_file("events/syscalls/sys_enter_own", "id", "302\n");
	put_file("events/own/widths", "format",
		 "name: widths\nID: 304\nformat:\n" COMMON ALL_FIELDS
		 "\nprint fmt: \"100%%\\t[%-20s|%9s|%.*s] %5d %-5d| %05d %#x %#010lx %X %o %hd %hhu %zu %03u\","
		 " REC->name, __get_str(text), REC->byte, __get_rel_str(near), REC->number, REC->number,"
		 " REC->number, REC->number, REC->large, REC->number, REC->large, REC->half, REC->number,"
		 " REC->large, REC->byte\n");
	put_file("events/own/widths", "id", "304\n");
	put_file("events/own/values", "format",
		 "name: values\nID: 305\nformat:\n" COMMON ALL_FIELDS
		 "\nprint fmt: \"%lx %d %u %u %s %s%s %pS|%ps %8s %-8s|\", REC->array[1],"
		 " ((unsigned int) ((REC->large) >> 20)), ((unsigned int) ((REC->large) & ((1U << 20) - 1))),"
		 " (REC->number < REC->half) ? (REC->number + 1) : (REC->half * 2),"
		 " __print_symbolic((((REC->byte) >> 1) & (4 - 1)), { 0, \"none\" }, { 0x1, \"one\" }),"
		 " REC->number ? __print_flags(REC->number, \"|\", { 0x1, \"A\" }, { 0x6, \"B\" }) : \"0\","
		 " REC->half ? \"+\" : \"\", (void *)REC->large, (void *)REC->large,"
		 " REC->byte ? \"yes\" : REC->name, __print_symbolic(REC->half, { 4, \"four\" }))\n");
	put_file("events/own/values", "id", "305\n");
	put_file("events/own/signs", "format",
		 "name: signs\nID: 306\nformat:\n" COMMON
		 "\tfield:int ret;\toffset:8;\tsize:4;\tsigned:1;\n"
		 "\tfield:short which;\toffset:12;\tsize:2;\tsigned:1;\n"
		 "\tfield:s8 shift;\toffset:14;\tsize:1;\tsigned:1;\n"
		 "\tfield:u8 mark;\toffset:15;\tsize:1;\tsigned:0;\n"
		 "\nprint fmt: \"length=%d error=%d half=%d which=%s shift=%d mark=%#x %c\","
		 " REC->ret > 0 ? REC->ret : 0, REC->ret < 0 ? REC->ret : 0, REC->ret / 2,"
		 " __print_symbolic(REC->which, { -1, \"none\" }, { 1, \"one\" }), REC->shift,"
		 " REC->mark, REC->mark ? 'y' : 'n'\n");
	put_file("events/own/signs", "id", "306\n");
	make_odd_formats();
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
	expect("JSON", line, "{\"version\":1,\"ts\":1999999500,\"cpu\":3,\"comm\":\"some name\",\"pid\":7,"
	       "\"flags\":\"dns21\",\"system\":\"own\",\"event\":\"one\",\"fields\":{\"number\":-5,"
	       "\"yes\":true,\"bytes\":[1,0,255],\"text\":\"a\\\"b\\n\",\"large\":\"0xfffffffffffffffc\","
	       "\"pointer\":\"0xffff888000000010\"},\"text\":\"number=-5 text=a\\\"b\\n "
	       "pointer=ffff888000000010 flags=C\"}\n");
	rec.flags = TRACEMAP_LATE;
	tracemap_text(d, &rec, line);
	expect("one that comes late", line, "# CPU:3 [LATE]\n"
	       "       some name-7       [003] dns21     2.000000: one: number=-5 "
	       "text=a\"b\n pointer=ffff888000000010 flags=C\n");
	rec.flags = 0;
	one.type = 999;
	rec.size = 12;
	rec.missed = 4;
	tracemap_text(d, &rec, line);
	expect("an event nobody knows, after a loss", line, "CPU:3 [LOST 4 EVENTS]\n"
	       "       some name-7       [003] dns21     2.000000: unknown_event: id=999 data=fb ff ff ff\n");
	rec.missed = 0;
	rec.size = 4;
	rec.flags = TRACEMAP_LATE;
	tracemap_json(d, &rec, line);
	expect("one that comes late, as JSON", line, "{\"ts\":1999999500,\"cpu\":3,\"late\":true,"
	       "\"id\":999,\"data\":\"e7031512\"}\n");
	rec.data = NULL;
	rec.missed = TRACEMAP_MISSED_UNKNOWN;
	rec.flags = TRACEMAP_RESET;
	tracemap_text(d, &rec, line);
	expect("a loss of nobody knows how many", line,
	       "# CPU:3 [BUFFER EMPTIED]\nCPU:3 [LOST EVENTS]\n");
	tracemap_json(d, &rec, line);
	expect("the same as JSON", line, "{\"ts\":1999999500,\"cpu\":3,\"reset\":true}\n"
	       "{\"ts\":1999999500,\"cpu\":3,\"lost\":null}\n");
	rec.ts = 0;
	rec.missed = 0;
	rec.flags = TRACEMAP_RESET | TRACEMAP_LATE;
	tracemap_text(d, &rec, line);
	expect("a reset without an event is not late", line, "# CPU:3 [BUFFER EMPTIED]\n");
	tracemap_json(d, &rec, line);
	expect("its time is not known, as JSON", line, "{\"cpu\":3,\"reset\":true}\n");
}

static void test_strings(struct tracemap_line *line)
{
	static const char text[] = "\x01\xc3\xa4\xc3(\xff\xed\xa0\x80\xf0\x9d\x84\x9e\xe2\x82";

	tracemap_json_string(line, text, sizeof(text) - 1);
	tracemap_line_put(line, "\n", 1);
	expect("what is no UTF-8 is replaced", line, "\"\\u0001\xc3\xa4\xef\xbf\xbd(\xef\xbf\xbd"
	       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xf0\x9d\x84\x9e\xef\xbf\xbd\xef\xbf\xbd\"\n");
	tracemap_json_string(line, "\"\\\b\f\n\r\t\x1f\x7f~", 10);
	tracemap_line_put(line, "\n", 1);
	expect("what JSON has a word for is escaped", line,
	       "\"\\\"\\\\\\b\\f\\n\\r\\t\\u001f\\u007f~\"\n");
}

/* An int, an enum, a 64-bit enum, and an enum that contradicts the first. */
static const struct {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t header, type_off, type_len, str_off, str_len;
	uint32_t types[26];
	char strings[48];
} btf = {
	.magic = 0xeb9f, .version = 1, .header = 24, .type_len = sizeof(btf.types),
	.str_off = sizeof(btf.types), .str_len = sizeof(btf.strings),
	.types = {
		0, 1 << 24, 4, 32,
		0, 6 << 24 | 3 | 1U << 31, 4, 1, -2, 11, 6, 38, 5,
		0, 19 << 24 | 1, 8, 22, 1, 1,
		0, 6 << 24 | 2, 4, 38, 7, 11, 6,
	},
	.strings = "\0STATE_OLD\0STATE_NEW1\0STATE_LARGE\0abc\0TWICE",
};

static bool value_is(const char *name, long long wanted)
{
	long long value;

	return event_enum_search(&btf, sizeof(btf), name, &value) && value == wanted;
}

static void test_enums(struct tracemap_decoder *d, struct tracemap_line *line)
{
	struct {
		uint16_t type;
		uint8_t flags, preempt;
		int32_t pid, state;
	} named = { .type = 301, .pid = 7, .state = 6 };
	struct tracemap_record rec = { .data = &named, .size = sizeof(named) };
	unsigned char damaged[sizeof(btf)];
	long long value;

	if (!value_is("STATE_OLD", -2) || !value_is("STATE_NEW1", 6) ||
	    !value_is("STATE_LARGE", 1LL << 32 | 1) ||
	    event_enum_search(&btf, sizeof(btf), "TWICE", &value) ||
	    event_enum_search(&btf, sizeof(btf), "STATE", &value))
		failed = 1;
	printf("%s - enumerators are found in BTF, if there is one value\n", failed ? "not ok" : "ok");
	srand(2);
	for (int i = 0; i < 100000; i++) {
		size_t size = rand() % (sizeof(btf) + 1);

		memcpy(damaged, &btf, sizeof(btf));
		for (int n = rand() % 4; n--; )
			damaged[rand() % sizeof(damaged)] = rand();
		event_enum_search(damaged, i % 2 ? size : sizeof(btf), "TWICE", &value);
	}
	printf("ok - damaged BTF is survived\n");

	d->btf = malloc(sizeof(btf));
	if (!d->btf)
		exit(1);
	memcpy(d->btf, &btf, sizeof(btf));
	d->btf_size = sizeof(btf);
	d->looked_for_btf = true;
	tracemap_text(d, &rec, line);
	expect("a print format names an enumerator", line,
	       "       some name-7       [000] .....     0.000000: named: state=new\n");
	named.state = 1;
	tracemap_text(d, &rec, line);
	expect("and one that BTF does not tell", line,
	       "       some name-7       [000] .....     0.000000: named: state=relative\n");
}

static void test_signs(struct tracemap_decoder *d, struct tracemap_line *line)
{
	struct {
		uint16_t type;
		uint8_t flags, preempt;
		int32_t pid, ret;
		int16_t which;
		int8_t shift;
		uint8_t mark;
	} signs = { .type = 306, .pid = 7, .ret = -11, .which = -1, .shift = -2 };
	struct tracemap_record rec = { .data = &signs, .size = sizeof(signs) };

	tracemap_text(d, &rec, line);
	expect("what is below 0 is compared, named and printed as such", line,
	       "       some name-7       [000] .....     0.000000: signs: length=0 error=-11 half=-5 which=none shift=-2 mark=0x0 n\n");
}

static void test_syscalls(struct tracemap_decoder *d, struct tracemap_line *line)
{
	struct {
		uint16_t type;
		uint8_t flags, preempt;
		int32_t pid, nr, hole;
		uint64_t a, b;
	} call = { .type = 302, .pid = 7, .a = 9, .b = 10 };
	struct tracemap_record rec = { .data = &call, .size = sizeof(call) };

	d->syscalls_prefixed = false;
	tracemap_text(d, &rec, line);
	expect("a system call, before 6.18", line,
	       "       some name-7       [000] .....     0.000000: sys_own(a: 9, b: a)\n");
	d->syscalls_prefixed = true;
	tracemap_text(d, &rec, line);
	expect("the same since", line,
	       "       some name-7       [000] .....     0.000000: sys_own(a: 9, b: 0xa)\n");
}

/* The text of a record, behind its time; it lies on the heap, where a sanitizer watches its end. */
static void expect_info(struct tracemap_decoder *d, struct tracemap_line *line, const char *what,
			uint16_t id, const void *data, size_t size, const char *wanted)
{
	static const char start[] = "       some name-7       [000] .....     0.000000: ";
	struct {
		uint16_t type;
		uint8_t flags, preempt;
		int32_t pid;
	} head = { .type = id, .pid = 7 };
	struct tracemap_record rec = { .size = sizeof(head) + size };
	unsigned char *copy = malloc(rec.size);
	char all[1024];

	if (!copy)
		exit(1);
	memcpy(copy, &head, sizeof(head));
	memcpy(copy + sizeof(head), data, size);
	rec.data = copy;
	snprintf(all, sizeof(all), "%s%s\n", start, wanted);
	tracemap_text(d, &rec, line);
	expect(what, line, all);
	free(copy);
}

static void test_stacks(struct tracemap_decoder *d, struct tracemap_line *line)
{
	struct { int32_t size, hole; uint64_t caller[10]; } stack = { .size = 10 };
	struct { uint64_t ip; char buf[6]; } mark = { 0x10, "hello" };

	for (int i = 0; i < 10; i++)
		stack.caller[i] = 0x10 + i;
	expect_info(d, line, "a stack shorter than its format says", 4, &stack, 8 + 2 * 8,
		    "<stack trace>\n => 0x00000010\n => 0x00000011");
	expect_info(d, line, "one that is longer", 4, &stack, sizeof(stack),
		    "<stack trace>\n => 0x00000010\n => 0x00000011\n => 0x00000012\n"
		    " => 0x00000013\n => 0x00000014\n => 0x00000015\n => 0x00000016\n"
		    " => 0x00000017\n => 0x00000018\n => 0x00000019");
	stack.caller[1] = 0;
	expect_info(d, line, "a stack of a program", 13, &stack, 8 + 8 * 8,
		    "<user stack trace>\n =>  <0000000000000010>");
	expect_info(d, line, "a mark", 5, &mark, sizeof(mark), "0x00000010: hello");
}

static void test_divisions(struct tracemap_decoder *d, struct tracemap_line *line)
{
	struct { uint64_t busy, total; int32_t one, other; } divided = { 1, 4, -7, 2 };

	expect_info(d, line, "numbers are divided as in C", 320, &divided, sizeof(divided),
		    "divided: load=25 ratio=-3 rest=-1 less=1");
	divided.total = 0;
	divided.one = INT32_MIN;
	divided.other = -1;
	expect_info(d, line, "what is not taken is not divided", 320, &divided, sizeof(divided),
		    "divided: load=0 ratio=-2147483648 rest=0 less=1");
	divided.other = 0;
	expect_info(d, line, "no division ends the process", 320, &divided, sizeof(divided),
		    "divided: load=0 ratio=0 rest=0 less=1 [DAMAGED]");
}

static void test_arrays(struct tracemap_decoder *d, struct tracemap_line *line)
{
	struct {
		uint32_t len, buf, text;
		uint16_t list[3], hole;
		char bytes[4], string[4];
	} arrays = { 4, 4 << 16 | 28, 4 << 16 | 32, { 1, 0x203, 4 }, 0, "abcd", "none" };

	expect_info(d, line, "a string without an end", 321, &arrays, sizeof(arrays),
		    "arrays: hex=61 62 63 64 str=6162 list={0x1,0x203,0x4} ph=01:00:03:02 text=none     4|");
	arrays.text = 0 << 16 | 32;
	arrays.len = 1000;
	expect_info(d, line, "one of no bytes, and a count beyond the array", 321, &arrays,
		    sizeof(arrays),
		    "arrays: hex=61 62 63 64 str=6162 list={0x1,0x203,0x4} ph=01:00:03:02 text=  1000| [DAMAGED]");
	arrays.buf = 0xffff001c;
	arrays.text = 8 << 16 | 0xfff0;
	expect_info(d, line, "arrays beyond the record", 321, &arrays, sizeof(arrays),
		    "arrays: hex=61 62 63 64 6e 6f 6e 65 str=6162 list={0x1,0x203,0x4} ph=01:00:03:02 text=  1000| [DAMAGED]");
	expect_info(d, line, "a record that is cut", 321, &arrays, 8,
		    "arrays: [DAMAGED] id=321 data=e8 03 00 00 1c 00 ff ff");
}

static void test_addresses(struct tracemap_decoder *d, struct tracemap_line *line)
{
	struct {
		uint8_t four[4], six[16];
		uint8_t sock[28];
		uint64_t mask[2];
	} addresses = {
		{ 127, 0, 0, 1 }, { 0xfe, 0x80, [9] = 1, [15] = 0xab },
		{ 2, 0, 0, 80, 10, 0, 0, 1 }, { 0xf | 1ULL << 63, 1 },
	};

	expect_info(d, line, "addresses and masks", 322, &addresses, sizeof(addresses),
		    "addresses: 127.0.0.1 fe80::1:0:0:ab 10.0.0.1:80 fe:80:00:00:00:00 "
		    "fe800000-0000-0000-0001-0000000000ab 0-3,63-64");
	memset(addresses.six, 0, 16);
	memset(addresses.six + 10, 0xff, 2);
	memset(addresses.sock, 0, 28);
	addresses.sock[0] = 10;
	addresses.sock[3] = 22;
	addresses.sock[23] = 1;
	memset(addresses.mask, 0, 16);
	expect_info(d, line, "those of IPv6", 322, &addresses, sizeof(addresses),
		    "addresses: 127.0.0.1 ::ffff:0.0.0.0 [::1]:22 00:00:00:00:00:00 "
		    "00000000-0000-0000-0000-ffff00000000 ");
}

static void test_others(struct tracemap_decoder *d, struct tracemap_line *line)
{
	struct { uint64_t ip, a; uint32_t u; char text[4]; } probe = { 0, 7, 0, "ok" };
	struct { uint64_t ip; uint32_t s[2]; char text[4]; } strings = {
		.s = { 3 << 16 | 24, 24 }, .text = "ok",
	};
	struct { int32_t number, hole; uint64_t nr; } call = { 202, 0, 9 };
	struct { uint64_t noise, runtime, max; uint32_t count; } noise = { 100, 1000000, 9, 3 };
	struct { uint32_t seq, context; uint64_t ns; } timer = { 1, 1, 2345 };
	struct { uint64_t ip, fmt; int32_t number; char string[4]; uint32_t large[2]; }
		print = { 0x10, 0x7700, -3, "abc", { 5, 1 } };
	const int32_t x = -8;

	expect_info(d, line, "a probe that could not read", 324, &probe, sizeof(probe),
		    "read: (0x0) a=0x7 u=(fault) b=1");
	probe.u = 3 << 16 | 28;
	expect_info(d, line, "and one that could", 324, &probe, sizeof(probe),
		    "read: (0x0) a=0x7 u=\"ok\" b=1");
	expect_info(d, line, "a probe's array of strings", 326, &strings, sizeof(strings),
		    "many: (0x0) s={\"ok\",(fault)}");
	expect_info(d, line, "an argument called nr", 325, &call, sizeof(call),
		    "sys_futex_wake(nr: 9)");
	expect_info(d, line, "the tracer osnoise", 17, &noise, 28,
		    "1000000        100  99.99000       9      3      0      0      0      0");
	expect_info(d, line, "the tracer timerlat", 18, &timer, sizeof(timer),
		    "#1     context thread timer_latency      2345 ns");
	expect_info(d, line, "a format that is not known here", 323, &x, sizeof(x), "calls: x=-8");
	expect_info(d, line, "trace_printk()", 15, &print, sizeof(print),
		    "0x00000010: number -3, abc at 4294967301");
	print.number = 4;
	expect_info(d, line, "one that is cut", 15, &print, 26,
		    "0x00000010: number 4, abc at 0 [DAMAGED]");
}

/* Numbers above all the kernel gives: /proc does not know them. */
#define FIRST_PID	(1 << 23)

struct call {
	uint16_t type;
	uint8_t flags, preempt;
	int32_t pid;
	uint64_t func;
	int32_t depth;
	uint32_t overrun;
	uint64_t calltime, rettime;
};

static void tell_call(struct tracemap_decoder *d, struct tracemap_line *line, int type, int pid,
		      uint64_t func, int depth, uint64_t ns)
{
	struct call call = {
		.type = type, .pid = pid, .func = func, .depth = depth, .rettime = ns,
	};
	struct tracemap_record rec = {
		.data = &call, .size = type == 6 ? offsetof(struct call, overrun) : sizeof(call),
	};

	tracemap_text(d, &rec, line);
}

static void test_tree(struct tracemap_line *line)
{
	struct tracemap_decoder *d;
	int width = snprintf(NULL, 0, "%ld", sysconf(_SC_NPROCESSORS_CONF) - 1);
	struct call call;
	struct tracemap_record rec = { .data = &call };
	char wanted[1024];

	put_file("", "current_tracer", "function_graph\n");
	if (tracemap_decoder_new(&d, top))
		exit(1);
	tell_call(d, line, 6, 7, 16, 0, 0);
	tell_call(d, line, 6, 7, 17, 1, 0);
	tell_call(d, line, 7, 7, 17, 1, 503);
	tell_call(d, line, 7, 7, 16, 0, 12345678);
	tell_call(d, line, 7, FIRST_PID, 18, 49, 1234567890123);
	tell_call(d, line, 6, FIRST_PID, 19, 0, 0);
	/* The same function, and another process: its call was lost. */
	tell_call(d, line, 7, 7, 19, 0, 1000);
	tracemap_text_end(d, line);
	snprintf(wanted, sizeof(wanted),
		 " %1$*2$d)               |  0x00000010() {\n"
		 " %1$*2$d)   0.503 us    |    0x00000011();\n"
		 " %1$*2$d) * 12345.67 us |  }\n"
		 " ------------------------------------------\n"
		 " %1$*2$d)   some na-7    => <...>-8388608%4$c\n"
		 " ------------------------------------------\n\n"
		 " %1$*2$d) $ 1234567890 us |  %3$98s} /* 0x00000012 */\n"
		 " %1$*2$d)               |  0x00000013() {\n"
		 " ------------------------------------------\n"
		 " %1$*2$d) <...>-8388608  =>   some na-7  %4$c\n"
		 " ------------------------------------------\n\n"
		 " %1$*2$d)   1.000 us    |  }\n",
		 0, width, "", ' ');
	expect("calls and returns become a tree", line, wanted);

	srand(3);
	for (int i = 0; i < 100000; i++) {
		memset(&call, rand(), sizeof(call));
		call.type = 6 + rand() % 3;
		call.depth = rand() % 2 ? rand() % 70 - 5 : rand();
		rec.size = rand() % (sizeof(call) + 1);
		rec.cpu = rand() % 50 ? rand() % 5 - 1 : rand() % 2 ? rand() : INT_MAX;
		rec.missed = rand() % 9 ? 0 : 1;
		tracemap_text(d, &rec, line);
		if (i % 100 == 0)
			tracemap_text_end(d, line);
		line->length = 0;
	}
	printf("ok - damaged calls are survived\n");
	tracemap_decoder_free(d);
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

/* A decoder that borrows the handle of another prints what that one prints. */
static void test_borrowed(struct tracemap_decoder *d, struct tracemap_line *line)
{
	struct tracemap_record rec = { .ts = 1500000000, .data = &sample, .size = sizeof(sample) };
	int pid = tracemap_decoder_pid(d, &rec);
	struct tracemap_decoder *borrower;
	char *wanted;

	tep_register_comm(d->tep, tracemap_decoder_comm(d, pid), pid);
	line->length = 0;
	tracemap_text(d, &rec, line);
	wanted = strdup(line->text);
	line->length = 0;
	if (!tracemap_decoder_new_tep(&borrower, d->tep, NULL, "local")) {
		tracemap_text(borrower, &rec, line);
		tracemap_decoder_free(borrower);
	}
	expect("a decoder with another's handle", line, wanted);
	free(wanted);
}

/* The last function of a module ends with its page: behind it may be a newer module. */
static void test_symbols(struct tracemap_decoder *d, struct tracemap_line *line)
{
	static const char list[] =
		"ffffffff81000000 T first\nffffffff81000f00 t second\n"
		"ffffffffc0000000 t third\t[one]\nffffffffc0000ff0 t fourth\t[one]\n"
		"ffffffffc0005000 t fifth\t[two]\nffffffffc0005010 t sixth\t[two]\n";
	static const uint64_t addresses[] = {
		0xffffffff81000eff, 0xffffffff81000f04, 0xffffffffc0000ff4, 0xffffffffc0001000,
		0xffffffffc0005010, 0xffffffffc0006000,
	};
	char *text = calloc(1, sizeof(list) + EVENT_PAD);

	if (!text)
		exit(1);
	memcpy(text, list, sizeof(list));
	event_symbols_take(d, text);
	line->length = 0;
	for (unsigned int i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		event_symbol_print(d, line, addresses[i], true);
		tracemap_line_put(line, " ", 1);
	}
	expect("the last function of a module", line,
	       "first+0xeff/0xf00 second+0x4/0x100 fourth+0x4/0x10 [one] 0xffffffffc0001000 "
	       "sixth+0x0/0xff0 [two] 0xffffffffc0006000 ");
	/* There is no /proc. */
	event_symbols_take(d, NULL);
	line->length = 0;
	event_symbol_print(d, line, addresses[0], true);
	expect("an address without a list", line, "0xffffffff81000eff");
	event_symbols_free(d);
}

static bool name_is(struct tracemap_decoder *d, int pid, const char *name)
{
	return !strcmp(tracemap_decoder_comm(d, pid), name);
}

/* A name without an end, and one that the kernel lists though it has forgotten it. */
static void test_odd_names(struct tracemap_decoder *d)
{
	char saved[64], own[16];
	bool good;

	snprintf(saved, sizeof(saved), "7 some name\n%d <...>\n", getpid());
	put_file("", "saved_cmdlines", saved);
	prctl(PR_GET_NAME, own);
	tracemap_decoder_refresh(d);
	event_comm_set(d, FIRST_PID, "sixteen bytes, and more", 16);
	good = name_is(d, FIRST_PID, "sixteen bytes, ") && name_is(d, getpid(), own);
	printf("%s - names without an end, and none at all\n", good ? "ok" : "not ok");
	failed |= !good;
}

struct waking {
	uint16_t type;
	uint8_t flags, preempt;
	int32_t common_pid;
	char comm[16];
	int32_t pid;
};

struct exec {
	uint16_t type;
	uint8_t flags, preempt;
	int32_t common_pid;
	uint32_t filename;
	int32_t pid, old_pid;
	char path[40];
};

static void learn_waking(struct tracemap_decoder *d, int type, int pid, const char *comm)
{
	struct waking waking = { .type = type, .common_pid = 7, .pid = pid };
	struct tracemap_record rec = { .data = &waking, .size = sizeof(waking) };

	strncpy(waking.comm, comm, sizeof(waking.comm) - 1);
	tracemap_decoder_learn(d, &rec);
}

static bool execs(struct tracemap_decoder *d, int pid, const char *path, const char *name)
{
	struct exec exec = {
		.type = 312, .common_pid = pid, .pid = pid, .old_pid = pid,
		.filename = (strlen(path) + 1) << 16 | offsetof(struct exec, path),
	};
	struct tracemap_record rec = { .data = &exec, .size = sizeof(exec) };

	strncpy(exec.path, path, sizeof(exec.path) - 1);
	tracemap_decoder_learn(d, &rec);
	return name_is(d, pid, name);
}

/* Names that events tell hold from then on; the one of a new process is that of its parent. */
static void test_learned_names(struct tracemap_decoder *d)
{
	const int pid = FIRST_PID - 1;
	bool good = name_is(d, pid, "<...>");

	learn_waking(d, 311, pid, "its parent");
	good &= name_is(d, pid, "<...>");
	learn_waking(d, 310, pid, "itself");
	good &= name_is(d, pid, "itself");
	good &= execs(d, pid, "/usr/bin/program", "program");
	good &= execs(d, pid, "relative", "relative");
	good &= execs(d, pid, "./a/name-of-more-than-15-bytes", "name-of-more-th");
	good &= execs(d, pid, "/dev/fd/3/other", "other");
	/* By the descriptor alone: the name before is the wrong one. */
	good &= execs(d, pid, "/dev/fd/3", "<...>");
	printf("%s - names that events tell\n", good ? "ok" : "not ok");
	failed |= !good;
}

static bool flags_are(struct tracemap_decoder *d, uint8_t flags, const char *wanted)
{
	struct one one = { .flags = flags };
	struct tracemap_record rec = { .data = &one, .size = sizeof(one) };
	char text[6];

	event_flags(d, &rec, text);
	return !strcmp(text, wanted);
}

/* As trace_print_lat_fmt() of the kernel has them. */
static void test_flags(struct tracemap_decoder *d)
{
	bool good;

	d->has_lazy = true;
	good = flags_are(d, 0x02, ".l...") && flags_are(d, 0x26, ".B...") &&
	       flags_are(d, 0x06, ".b...") && flags_are(d, 0x22, ".L...");
	d->has_lazy = false;
	good = good && flags_are(d, 0x00, ".....") && flags_are(d, 0x01, "d....") &&
		    flags_are(d, 0x02, "X....") && flags_are(d, 0x80, "b....") &&
		    flags_are(d, 0x81, "D....") && flags_are(d, 0x04, ".n...") &&
		    flags_are(d, 0x20, ".p...") && flags_are(d, 0x24, ".N...") &&
		    flags_are(d, 0x08, "..h..") && flags_are(d, 0x10, "..s..") &&
		    flags_are(d, 0x18, "..H..") && flags_are(d, 0x40, "..z..") &&
		    flags_are(d, 0x48, "..Z..") && flags_are(d, 0x50, "..z..");

	printf("%s - flags are those of the kernel\n", good ? "ok" : "not ok");
	failed |= !good;
}

/* ---- The head of a line ---- */

static bool head_is(struct tracemap_decoder *d, struct tracemap_line *line, int pid, int cpu,
		    uint64_t ts)
{
	struct one one = { .type = 999, .preempt = 0x21, .pid = pid };
	struct tracemap_record rec = { .ts = ts, .data = &one, .size = 8, .cpu = cpu };
	unsigned long long us = ts / 1000 + (ts % 1000 >= 500);
	char wanted[128];
	int length;

	length = snprintf(wanted, sizeof(wanted), "%16s-%-7d [%03d] ...12",
			  tracemap_decoder_comm(d, pid), pid, cpu);
	if (d->in_ns)
		snprintf(wanted + length, sizeof(wanted) - length, " %5llu.%06llu: ",
			 us / 1000000, us % 1000000);
	else
		snprintf(wanted + length, sizeof(wanted) - length, " %12llu: ",
			 (unsigned long long)ts);
	line->length = 0;
	tracemap_text(d, &rec, line);
	if (!strncmp(line->text, wanted, strlen(wanted)))
		return true;
	printf("# %s# %s\n", line->text, wanted);
	return false;
}

static void test_head(struct tracemap_decoder *d, struct tracemap_line *line)
{
	static const int pids[] = { 0, 7, -1, FIRST_PID, 12345678, INT32_MAX, INT32_MIN };
	static const int cpus[] = { 0, 9, 10, 123, 4567, -1, INT32_MAX };
	static const uint64_t times[] = {
		0, 1, 499, 500, 999999499, 999999500, 12345678901234, 99999999999500, UINT64_MAX,
	};
	bool good = true;

	event_comm_set(d, FIRST_PID, "of15characters.", 15);
	for (int i = 0; i < 7 * 7 * 9; i++) {
		for (int in_ns = 0; in_ns < 2; in_ns++) {
			d->in_ns = in_ns;
			good &= head_is(d, line, pids[i % 7], cpus[i / 7 % 7], times[i / 49]);
		}
	}
	printf("%s - the head of a line is as printf() has it\n", good ? "ok" : "not ok");
	failed |= !good;
	line->length = 0;
}

/*
 * What importers of this text look for in a line, as Perfetto's does: the process, maybe its
 * thread group, the CPU, up to five flags, the time, and the event.
 */
static const char importer[] = "-([0-9]+)[[:space:]]+\\(?[[:space:]]*([0-9]+|-+)?\\)?[[:space:]]?"
	"\\[([0-9]+)\\][[:space:]]*[a-zA-Z0-9.]{0,5}[[:space:]]+([0-9]+\\.[0-9]+):[[:space:]]+"
	"([^[:space:]]+):";

static bool is_match(const struct tracemap_line *line, const regmatch_t *m, const char *wanted)
{
	size_t size = m->rm_eo - m->rm_so;

	return strlen(wanted) == size && !strncmp(line->text + m->rm_so, wanted, size);
}

static bool is_imported(struct tracemap_decoder *d, struct tracemap_line *line,
			const regex_t *regex, const struct one *one, int cpu, uint64_t ts)
{
	struct tracemap_record rec = { .ts = ts, .data = one, .size = sizeof(*one), .cpu = cpu };
	char pid[16], on[16], at[32];
	regmatch_t m[6];

	snprintf(pid, sizeof(pid), "%d", one->pid);
	snprintf(on, sizeof(on), "%03d", cpu);
	snprintf(at, sizeof(at), "%llu.%06llu", (unsigned long long)ts / 1000000000,
		 (unsigned long long)ts / 1000 % 1000000);
	line->length = 0;
	tracemap_text(d, &rec, line);
	if (!regexec(regex, line->text, 6, m, 0) && is_match(line, &m[1], pid) &&
	    is_match(line, &m[3], on) && is_match(line, &m[4], at) && is_match(line, &m[5], "one"))
		return true;
	printf("# %s", line->text);
	return false;
}

/* With any flags and count, and whatever is in the name of the process. */
static void test_importers(struct tracemap_decoder *d, struct tracemap_line *line)
{
	static const char * const names[] = {
		"a", "-", "a-7", "[b] (c)", "d 1.5: e:", "fifteen chars..", "",
	};
	struct one one = sample;
	regex_t regex;
	bool good = !regcomp(&regex, importer, REG_EXTENDED);

	for (int i = 0; i < 1 << 16; i++) {
		one.flags = i;
		one.preempt = i >> 8;
		one.pid = i % 9 ? i * 64 : 0;
		event_comm_set(d, one.pid, names[i % 7], strlen(names[i % 7]));
		good &= is_imported(d, line, &regex, &one, i % 1025, i * 987654321000ULL);
	}
	line->length = 0;
	tracemap_text_header(d, "nop", line);
	good &= !strncmp(line->text, "# tracer: nop\n", 14);
	/* The columns, and no number: none is known. */
	good &= strstr(line->text, "TASK-PID     CPU#") && !strpbrk(line->text, "0123456789");
	regfree(&regex);
	printf("%s - a line has what importers look for\n", good ? "ok" : "not ok");
	failed |= !good;
	line->length = 0;
}

/* ---- Programs ---- */

#define LARGEST		4096

static const uint64_t numbers[] = {
	0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 16, 99, 100, 101, 255, 256, 1000, 65535, 100000, 1000000,
	INT32_MAX, 1ULL << 31, UINT32_MAX, 1ULL << 32, INT64_MAX, 1ULL << 63, UINT64_MAX,
};

/* Numbers at which something changes, single bits, addresses of functions, anything. */
static uint64_t any_number(uint64_t address)
{
	switch (rand() % 5) {
	case 0:
		return 1ULL << rand() % 64;
	case 1:
		return address + rand() % 3;
	case 2:
		return (uint64_t)rand() << 33 ^ rand();
	default:
		return numbers[rand() % (sizeof(numbers) / sizeof(numbers[0]))];
	}
}

/* Contents of a field that is there; of a dynamic one text, at *@end of the record. */
static void fill_field(unsigned char *data, const struct tep_format_field *field,
		       uint64_t address, uint32_t *end)
{
	uint64_t number = any_number(address);
	uint32_t length, base = 0, word;

	if (!(field->flags & TEP_FIELD_IS_DYNAMIC)) {
		for (int at = 0; at < field->size; at++)
			data[field->offset + at] = number >> 8 * (at % 8);
		for (int at = 0; field->size > 8 && at < field->size; at++) {
			if (rand() % 8)
				data[field->offset + at] = 'a' + rand() % 26;
		}
		return;
	}
	length = rand() % 20 + 1;
	for (uint32_t at = 0; at < length - 1; at++)
		data[*end + at] = rand() % 4 ? ' ' + rand() % 95 : rand();
	data[*end + length - 1] = '\0';
	if (field->flags & TEP_FIELD_IS_RELATIVE)
		base = field->offset + field->size;
	word = length << 16 | (*end - base);
	memcpy(data + field->offset, &word, sizeof(word));
	*end += length;
}

/* A record of @event, now and then damaged; returns its size. */
static uint32_t make_record(const struct tep_event *event, unsigned char *data, uint64_t address)
{
	const struct tep_format_field *field;
	/* Process 0: others' names are learned from records, and anew from time to time. */
	const struct one head = { .type = event->id, .preempt = rand(), .flags = rand() };
	uint32_t end = EVENT_COMMON_SIZE;

	for (field = event->format.fields; field; field = field->next) {
		if ((uint32_t)field->offset + field->size > end)
			end = field->offset + field->size;
	}
	memcpy(data, &head, EVENT_COMMON_SIZE);
	for (field = event->format.fields; field; field = field->next)
		fill_field(data, field, address, &end);
	if (rand() % 8 == 0)
		data[8 + rand() % (end - 7)] = rand();
	if (rand() % 8 == 0)
		end = 8 + rand() % (end - 7);
	else
		end += rand() % 4;
	return end;
}

struct share {
	unsigned int compiled, others;
};

/* Print every event that @d knows, @times: a record on the heap is as long as it says. */
static struct share print_all(struct tracemap_decoder *d, int times)
{
	static unsigned char data[LARGEST + 32 * 256];
	struct tracemap_line line = TRACEMAP_LINE_INIT;
	struct share share = { 0 };

	for (int id = 0; id < UINT16_MAX; id++) {
		struct event_format *format = NULL;

		if (tep_find_event(d->tep, id))
			format = event_format(d, id);
		if (!format)
			continue;
		if (!format->program)
			printf("# not compiled: %s:%s\n", format->event->system,
			       format->event->name);
		share.compiled += !!format->program;
		share.others += !format->program;
		for (int i = 0; i < times; i++) {
			uint32_t size = make_record(format->event, data, 0);
			struct tracemap_record rec = { .ts = any_number(0), .size = size };
			unsigned char *copy = malloc(size);

			if (!copy)
				exit(1);
			rec.data = memcpy(copy, data, size);
			line.length = 0;
			tracemap_text(d, &rec, &line);
			tracemap_json(d, &rec, &line);
			free(copy);
		}
	}
	tracemap_line_free(&line);
	return share;
}

/* @others: how many of a thousand formats need not be compiled */
static void test_programs(struct tracemap_decoder *d, const char *of, int times,
			  unsigned int others)
{
	struct share share = print_all(d, times);
	bool good = share.compiled && 1000 * share.others <= others * share.compiled;

	printf("%s - print formats of %s are compiled, but for %u of a thousand\n",
	       good ? "ok" : "not ok", of, others);
	printf("# %u are compiled, %u are not\n", share.compiled, share.others);
	failed |= !good;
}

/* ---- The events of a kernel ---- */

/* For the sanitizer: of some formats libtraceevent forgets what it has parsed. */
const char *__lsan_default_suppressions(void)
{
	return "leak:tep_parse_format\n";
}

const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}

static void link_file(const char *dir, const char *file)
{
	char from[256], to[256];

	snprintf(from, sizeof(from), "%s/%s", dir, file);
	snprintf(to, sizeof(to), "%s/kernel/%s", top, file);
	if (symlink(from, to)) {
		perror(to);
		exit(1);
	}
}

/* One that takes every event of the tracefs at @dir for switched on: it reads these. */
static struct tracemap_decoder *decode_kernel(const char *dir)
{
	char *events = event_read_file(dir, "available_events", NULL), path[160];
	struct tracemap_decoder *d;

	if (!events) {
		fprintf(stderr, "%s/available_events cannot be read: mount tracefs there, and be root\n",
			dir);
		exit(1);
	}
	put_file("kernel", "set_event", events);
	put_file("kernel", "saved_cmdlines", "7 some name\n");
	put_file("kernel", "trace_clock", "[local] global\n");
	free(events);
	link_file(dir, "events");
	link_file(dir, "printk_formats");
	snprintf(path, sizeof(path), "%s/kernel", top);
	if (tracemap_decoder_new(&d, path))
		exit(1);
	return d;
}

int main(int argc, char **argv)
{
	struct tracemap_line line = TRACEMAP_LINE_INIT;
	struct tracemap_decoder *d;
	const char *tmp = getenv("TMPDIR");
	char command[192];

	snprintf(top, sizeof(top), "%s/tracemap-event.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(top))
		return 1;
	make_tracefs();
	printf("1..%d\n", argc > 1 ? 54 : 53);
	if (tracemap_decoder_new(&d, top)) {
		printf("not ok - a decoder\n");
		return 1;
	}
	test_events(d, &line);
	test_enums(d, &line);
	test_signs(d, &line);
	test_syscalls(d, &line);
	test_stacks(d, &line);
	test_divisions(d, &line);
	test_arrays(d, &line);
	test_addresses(d, &line);
	test_others(d, &line);
	test_strings(&line);
	test_damage(d, &line);
	test_head(d, &line);
	test_importers(d, &line);
	test_borrowed(d, &line);
	test_names(d);
	test_odd_names(d);
	test_learned_names(d);
	test_flags(d);
	test_symbols(d, &line);
	tracemap_decoder_event(d, 304);
	tracemap_decoder_event(d, 305);
	test_programs(d, "these tests", 20000, 100);
	tracemap_decoder_free(d);
	test_tree(&line);
	tracemap_line_free(&line);
	if (argc > 1) {
		d = decode_kernel(argv[1]);
		test_programs(d, argv[1], 200, 8);
		tracemap_decoder_free(d);
	}
	snprintf(command, sizeof(command), "rm -r %s", top);
	return system(command) || failed;
}

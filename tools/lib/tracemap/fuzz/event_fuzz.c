// SPDX-License-Identifier: LGPL-2.1
/*
 * Any print format, and any record of it: the input says which operators, conversions and
 * arrays the format has, and what is behind that is the record, whose lengths and offsets may
 * lie. No record may be read beyond its end, and none may end the process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event_program.h"

static const uint8_t *input, *input_end;

static uint32_t take(void)
{
	return input < input_end ? *input++ : 0;
}

#define CHOOSE(list)	((list)[take() % (sizeof(list) / sizeof((list)[0]))])

static const char fields[] =
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:long large;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield:unsigned int word;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:short half;\toffset:20;\tsize:2;\tsigned:1;\n"
	"\tfield:u8 byte;\toffset:22;\tsize:1;\tsigned:0;\n"
	"\tfield:u16 list[3];\toffset:24;\tsize:6;\tsigned:0;\n"
	"\tfield:char name[5];\toffset:30;\tsize:5;\tsigned:0;\n"
	"\tfield:__data_loc char[] text;\toffset:36;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc u8[] near;\toffset:40;\tsize:4;\tsigned:0;\n";

static void put_number(struct tracemap_line *line, int depth)
{
	static const char * const ends[] = {
		"REC->large", "REC->word", "REC->half", "REC->byte", "0", "1", "-1", "7",
		"0x80000000", "4294967296UL", "__get_dynamic_array_len(near)", "REC->common_pid",
	};
	static const char * const operators[] = {
		"+", "-", "*", "/", "%", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&", "|",
		"^", "&&", "||",
	};
	static const char * const casts[] = {
		"(u8)", "(s16)", "(int)", "(unsigned int)", "(long)", "(u64)", "!", "~",
	};
	uint32_t what = depth ? take() % 8 : 0;

	if (what < 3) {
		tracemap_line_printf(line, "%s", CHOOSE(ends));
	} else if (what == 3) {
		tracemap_line_printf(line, "(%s", CHOOSE(casts));
		put_number(line, depth - 1);
		tracemap_line_printf(line, ")");
	} else if (what == 4) {
		tracemap_line_printf(line, "REC->list[");
		put_number(line, depth - 1);
		tracemap_line_printf(line, "]");
	} else {
		tracemap_line_printf(line, "((");
		put_number(line, depth - 1);
		tracemap_line_printf(line, ") %s (", what == 5 ? "?" : CHOOSE(operators));
		put_number(line, depth - 1);
		if (what == 5) {
			tracemap_line_printf(line, ") : (");
			put_number(line, depth - 1);
		}
		tracemap_line_printf(line, "))");
	}
}

static void put_string(struct tracemap_line *line)
{
	static const char * const strings[][2] = {
		{ "__print_hex(__get_dynamic_array(near), ", ")" },
		{ "__print_hex_str(REC->list, ", ")" },
		{ "__print_array(REC->list, ", ", 2)" },
		{ "__print_array(__get_dynamic_array(near), ", ", 8)" },
		{ "__print_symbolic(", ", { 1, \"one\" }, { -1, \"none\" })" },
		{ "__print_flags(", ", \"|\", { 1, \"A\" }, { 6, \"B\" }, { 0, \"C\" })" },
	};
	static const char * const others[] = {
		"REC->name", "__get_str(text)", "__get_bitmask(near)",
		"REC->byte ? \"yes\" : REC->name", "\"literal\"",
	};
	uint32_t what = take() % 2;

	if (what) {
		const char * const *string = CHOOSE(strings);

		tracemap_line_printf(line, "%s", string[0]);
		put_number(line, 2);
		tracemap_line_printf(line, "%s", string[1]);
	} else {
		tracemap_line_printf(line, "%s", CHOOSE(others));
	}
}

static void put_argument(struct tracemap_line *format, struct tracemap_line *arguments)
{
	static const char * const numbers[] = {
		"%d", "%lu", "%08llx", "%#x", "%-5hhd|", "%X", "%o", "%c", "%p", "%ps", "%.3d",
		"%20pS",
	};
	static const char * const texts[] = { "%s", "%-20s", "%.3s", "%9s", "%s\\n" };
	static const char * const arrays[] = { "%*ph", "%*pbl", "%*phN" };
	static const char * const places[] = { "REC->list", "__get_dynamic_array(near)" };
	static const char * const addresses[] = { "%pI4", "%pI6c", "%pISpc", "%pM", "%pU" };
	uint32_t what = take() % 8;

	tracemap_line_printf(arguments, ", ");
	if (what == 0) {
		tracemap_line_printf(format, "%s", CHOOSE(addresses));
		tracemap_line_printf(arguments, "%s", CHOOSE(places));
	} else if (what == 1) {
		tracemap_line_printf(format, "%s", CHOOSE(arrays));
		put_number(arguments, 2);
		tracemap_line_printf(arguments, ", %s", CHOOSE(places));
	} else if (what == 2) {
		tracemap_line_printf(format, "%%*.*lld");
		put_number(arguments, 1);
		tracemap_line_printf(arguments, ", ");
		put_number(arguments, 1);
		tracemap_line_printf(arguments, ", ");
		put_number(arguments, 3);
	} else if (what < 5) {
		tracemap_line_printf(format, "%s", CHOOSE(texts));
		put_string(arguments);
	} else {
		tracemap_line_printf(format, "%s", CHOOSE(numbers));
		put_number(arguments, 4);
	}
}

/* For the sanitizer: of some formats libtraceevent forgets what it has parsed. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libtraceevent\n";
}

static void print(struct tracemap_decoder *d, struct tep_event *event)
{
	struct tracemap_line line = TRACEMAP_LINE_INIT;
	struct event_program *program = event_compile(d, event);
	size_t size = input_end - input;
	unsigned char *copy = malloc(size + 1);	/* the sanitizer watches its end */
	struct tracemap_record rec = { .data = copy + 1, .size = size };

	memcpy(copy + 1, input, size);
	if (program)
		event_program_run(program, d, &rec, &line);
	event_program_free(program);
	tracemap_line_free(&line);
	free(copy);
}

const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tracemap_line format = TRACEMAP_LINE_INIT, arguments = TRACEMAP_LINE_INIT;
	struct tracemap_line fit = TRACEMAP_LINE_INIT;
	struct tracemap_decoder d = {
		.tep = tep_alloc(), .borrowed = true, .sizes = calloc(4096, 16),
	};
	struct tep_event *event = NULL;

	tep_set_loglevel(TEP_LOG_NONE);
	input = data;
	input_end = data + size;
	tracemap_line_printf(&format, "name: any\nID: 300\n%s\nprint fmt: \"", fields);
	for (int n = 1 + take() % 4; n--; )
		put_argument(&format, &arguments);
	tracemap_line_printf(&format, "\"%s\n", arguments.text);
	event_fit_format(&d, format.text, &fit);
	if (!tep_parse_format(d.tep, &event, fit.text, fit.length, "own") && event)
		print(&d, event);
	tep_free(d.tep);
	free(d.sizes);
	tracemap_line_free(&format);
	tracemap_line_free(&arguments);
	tracemap_line_free(&fit);
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1
/*
 * Find the names of kernel addresses in /proc/kallsyms. tracemap_decoder_prepare() reads
 * that file, or else the first need of a name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event.h"

/* How long to wait before reading again: a module may have been loaded since */
#define AGAIN_MS	1000

/* Of addresses asked for of late, a power of two. */
#define NR_RECENT	4096

struct recent {
	uint64_t address;
	const struct event_symbol *symbol;	/* NULL: of none yet */
};

struct event_symbols {
	struct recent recent[NR_RECENT];
	struct event_symbol *symbol;
	size_t nr;
	char *text;
	uint64_t read;		/* ms */
};

static bool is_code(char type)
{
	return strchr("tTwWvVuU", type);
}

/* "ffffffff81000000 T _text", "ffffffffc0000000 t f	[module]" */
static bool parse_line(char *line, struct event_symbol *symbol)
{
	char *at, *module;

	symbol->address = strtoull(line, &at, 16);
	if (at == line || at[0] != ' ' || !at[1] || at[2] != ' ' || !is_code(at[1]))
		return false;
	symbol->name = at + 3;
	symbol->module = NULL;
	module = strchr(at + 3, '\t');
	if (module) {
		*module++ = '\0';
		if (*module == '[' && strchr(module, ']')) {
			*strchr(module, ']') = '\0';
			symbol->module = module + 1;
		}
	}
	return symbol->address != 0;
}

static int by_address(const void *a, const void *b)
{
	const struct event_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	/* Of several aliases the kernel prints the first in its list. */
	return x->name < y->name ? -1 : x->name > y->name;
}

static bool same_module(const struct event_symbol *a, const struct event_symbol *b)
{
	if (!a->module || !b->module)
		return a->module == b->module;
	return !strcmp(a->module, b->module);
}

/*
 * Find where a symbol ends. The last one of the kernel or of a module ends with its page at
 * the latest. What is beyond belongs to another module, which may not be in the list yet.
 */
static uint64_t end_of(const struct event_symbols *s, size_t i, uint64_t page)
{
	const struct event_symbol *symbol = &s->symbol[i];
	uint64_t rest = (symbol->address | (page - 1)) + 1;

	/* Behind the code there are data, whose names are not in this list. */
	if (!symbol->module && (!strcmp(symbol->name, "_etext") ||
				!strcmp(symbol->name, "_einittext")))
		return symbol->address;
	if (i + 1 == s->nr)
		return rest;
	if (same_module(symbol, symbol + 1) || symbol[1].address < rest)
		return symbol[1].address;
	return rest;
}

static void find_sizes(struct event_symbols *s)
{
	uint64_t page = sysconf(_SC_PAGESIZE), end = 0;

	for (size_t i = s->nr; i-- > 0; ) {
		if (i + 1 == s->nr || s->symbol[i + 1].address != s->symbol[i].address)
			end = end_of(s, i, page);
		s->symbol[i].size = end - s->symbol[i].address;
	}
}

static void parse(struct event_symbols *s)
{
	char *rest = s->text, *line;
	size_t room = 0;

	while (rest && (line = strsep(&rest, "\n"))) {
		if (s->nr == room) {
			struct event_symbol *more;

			room = room ? 2 * room : 1 << 16;
			more = realloc(s->symbol, room * sizeof(*more));
			if (!more)
				break;
			s->symbol = more;
		}
		if (parse_line(line, &s->symbol[s->nr]))
			s->nr++;
	}
	if (s->nr)
		qsort(s->symbol, s->nr, sizeof(*s->symbol), by_address);
	find_sizes(s);
}

void event_symbols_free(struct tracemap_decoder *d)
{
	if (!d->symbols)
		return;
	free(d->symbols->symbol);
	free(d->symbols->text);
	free(d->symbols);
	d->symbols = NULL;
}

static char *read_padded(void)
{
	size_t size;
	char *text = event_read_file("/proc", "kallsyms", &size), *padded;

	padded = text ? realloc(text, size + 1 + EVENT_PAD) : NULL;
	if (text && !padded)
		free(text);
	return padded;
}

void event_symbols_take(struct tracemap_decoder *d, char *text)
{
	struct event_symbols *s = calloc(1, sizeof(*s));

	event_symbols_free(d);
	if (!s) {
		free(text);
		return;
	}
	s->text = text;
	s->read = event_now_ms();
	parse(s);
	d->symbols = s;
}

static void load(struct tracemap_decoder *d)
{
	event_symbols_free(d);
	event_symbols_take(d, read_padded());
}

static bool look(struct event_symbols *s, uint64_t address, struct event_symbol *symbol)
{
	struct recent *recent = &s->recent[(address ^ address >> 12) % NR_RECENT];
	size_t low = 0, high = s->nr;

	if (recent->symbol && recent->address == address) {
		*symbol = *recent->symbol;
		return true;
	}

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->symbol[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	low--;
	/* Take the first of those at that address. */
	while (low && s->symbol[low - 1].address == s->symbol[low].address)
		low--;
	if (address - s->symbol[low].address >= s->symbol[low].size)
		return false;
	s->symbol[low].length = strlen(s->symbol[low].name);
	recent->address = address;
	recent->symbol = &s->symbol[low];
	*symbol = s->symbol[low];
	return true;
}

bool event_symbol_find(struct tracemap_decoder *d, uint64_t address, struct event_symbol *symbol)
{
	if (d->borrowed)
		return event_tep_symbol(d, address, symbol);
	if (!d->symbols)
		load(d);
	if (!d->symbols)
		return false;
	if (look(d->symbols, address, symbol))
		return true;
	/* Kernel addresses are in the upper half. */
	if (!(address >> 63) || event_now_ms() - d->symbols->read < AGAIN_MS)
		return false;
	load(d);
	return d->symbols && look(d->symbols, address, symbol);
}

/* Returns 0 if there is none, or the kernel does not show it. */
uint64_t event_symbol_address(struct tracemap_decoder *d, const char *name)
{
	tracemap_decoder_prepare(d);
	for (size_t i = 0; d->symbols && i < d->symbols->nr; i++) {
		if (!strcmp(d->symbols->symbol[i].name, name))
			return d->symbols->symbol[i].address;
	}
	return 0;
}

void event_symbol_print(struct tracemap_decoder *d, struct tracemap_line *line,
			uint64_t address, bool with_offset)
{
	struct event_symbol symbol;

	if (!address) {
		tracemap_line_put(line, "0", 1);
		return;
	}
	if (!event_symbol_find(d, address, &symbol)) {
		tracemap_line_printf(line, with_offset ? "0x%llx" : "0x%08llx",
				     (unsigned long long)address);
		return;
	}
	event_line_put_padded(line, symbol.name, symbol.length);
	if (!with_offset)
		return;
	event_line_put(line, "+0x", 3);
	event_line_hex(line, address - symbol.address);
	event_line_put(line, "/0x", 3);
	event_line_hex(line, symbol.size);
	if (symbol.module)
		tracemap_line_printf(line, " [%s]", symbol.module);
}

void tracemap_decoder_prepare(struct tracemap_decoder *d)
{
	if (!d->symbols && !d->borrowed)
		load(d);
}

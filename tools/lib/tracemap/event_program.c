// SPDX-License-Identifier: LGPL-2.1
/*
 * Run the program of a print format, see event_program.h.
 */
#include <string.h>

#include "event_program.h"

struct run {
	struct tracemap_decoder *d;
	const unsigned char *data;
	uint32_t size;
	bool failed;		/* the record does not fit */
	struct tracemap_line *line;
};

/* ---- Numbers ---- */

static uint64_t evaluate_more(const struct event_value *v, struct run *run);

static inline uint64_t load(const struct event_value *v, const unsigned char *data)
{
	uint64_t number = event_load(data, v->size);
	unsigned int spare = 64 - 8 * v->size;

	return v->is_signed ? (uint64_t)((int64_t)(number << spare) >> spare) : number;
}

/* Most values are just fields. */
static inline uint64_t evaluate(const struct event_value *v, struct run *run)
{
	if (v->kind == VALUE_FIELD)
		return load(v, run->data + v->offset);
	return evaluate_more(v, run);
}

static uint64_t load_element(const struct event_value *v, struct run *run)
{
	uint64_t index = evaluate(v->left, run);

	if (index >= v->number) {
		run->failed = true;
		return 0;
	}
	return load(v, run->data + v->offset + index * v->size);
}

static uint64_t compute(const struct event_value *v, uint64_t left, uint64_t right)
{
	switch (v->kind) {
	case VALUE_BIT_AND:
		return left & right;
	case VALUE_BIT_OR:
		return left | right;
	case VALUE_SHIFT_LEFT:
		return left << (right & 63);
	case VALUE_SHIFT_RIGHT:
		return left >> (right & 63);
	case VALUE_EQUAL:
		return left == right;
	case VALUE_UNEQUAL:
		return left != right;
	case VALUE_LESS:
		return left < right;
	case VALUE_LESS_EQUAL:
		return left <= right;
	case VALUE_GREATER:
		return left > right;
	case VALUE_GREATER_EQUAL:
		return left >= right;
	case VALUE_ADD:
		return left + right;
	case VALUE_SUBTRACT:
		return left - right;
	case VALUE_MULTIPLY:
		return left * right;
	case VALUE_DIVIDE:
		return v->is_signed ? (uint64_t)((int64_t)left / (int64_t)right) : left / right;
	case VALUE_REMAINDER:
		return v->is_signed ? (uint64_t)((int64_t)left % (int64_t)right) : left % right;
	default:
		return 0;
	}
}

static uint64_t evaluate_more(const struct event_value *v, struct run *run)
{
	switch (v->kind) {
	case VALUE_CONSTANT:
		return v->number;
	case VALUE_FIELD:
		return load(v, run->data + v->offset);
	case VALUE_ELEMENT:
		return load_element(v, run);
	case VALUE_LENGTH:
		return event_load(run->data + v->offset, 4) >> 16;
	case VALUE_MASK:
		return evaluate(v->left, run) & v->number;
	case VALUE_CHOICE:
		return evaluate(evaluate(v->left, run) ? v->right : v->other, run);
	case VALUE_NOT:
		return !evaluate(v->right, run);
	case VALUE_INVERT:
		return ~evaluate(v->right, run);
	case VALUE_AND:
		return evaluate(v->left, run) && evaluate(v->right, run);
	case VALUE_OR:
		return evaluate(v->left, run) || evaluate(v->right, run);
	default:
		return compute(v, evaluate(v->left, run), evaluate(v->right, run));
	}
}

uint64_t event_value_constant(const struct event_value *v)
{
	struct run none = { .failed = false };

	return evaluate(v, &none);
}

static char *put_octal(char *end, uint64_t value)
{
	do {
		*--end = '0' + (value & 7);
		value >>= 3;
	} while (value);
	return end;
}

/* The lower bits of @value; *@negative: it is that much below 0. */
static uint64_t take_bits(const struct event_conversion *c, uint64_t value, bool *negative)
{
	unsigned int spare = 64 - c->bits;

	value <<= spare;
	*negative = c->is_signed && value >> 63;
	return *negative ? -(uint64_t)((int64_t)value >> spare) : value >> spare;
}

static void to_upper(char *text, const char *end)
{
	for (; text < end; text++) {
		if (*text >= 'a' && *text <= 'f')
			*text -= 'a' - 'A';
	}
}

static void put_number(const struct event_conversion *c, uint64_t value,
		       struct tracemap_line *line)
{
	char digits[EVENT_DIGITS], *end = digits + sizeof(digits), *start;
	uint32_t length, prefix = 0, spare;
	const char *before = "-";
	bool negative;

	value = take_bits(c, value, &negative);
	if (c->is_plain && !negative) {
		if (c->base == 10)
			event_line_decimal(line, value);
		else
			event_line_hex(line, value);
		return;
	}
	if (c->base == 10)
		start = event_decimal(end, value);
	else
		start = c->base == 16 ? event_hex(end, value) : put_octal(end, value);
	if (c->upper)
		to_upper(start, end);
	if (negative) {
		prefix = 1;
	} else if (c->prefixed && value) {
		before = c->upper ? "0X" : "0x";
		prefix = 2;
	}
	length = end - start + prefix;
	spare = length < c->width ? c->width - length : 0;
	if (!event_line_room(line, length + spare))
		return;
	if (!c->left && !c->zeros)
		event_line_fill(line, ' ', spare);
	event_line_add(line, before, prefix);
	if (!c->left && c->zeros)
		event_line_fill(line, '0', spare);
	event_line_add(line, start, end - start);
	if (c->left)
		event_line_fill(line, ' ', spare);
}

/* ---- Strings ---- */

static void put_string(const struct event_conversion *c, const void *text, size_t length,
		       struct run *run)
{
	uint32_t spare;

	if (c->is_plain) {
		event_line_put(run->line, text, length);
		return;
	}
	if (c->limited) {
		int32_t precision = evaluate(c->precision, run);

		/* libtraceevent takes what is below 0 for something else. */
		if (precision < 0)
			run->failed = true;
		else if ((uint32_t)precision < length)
			length = precision;
	}
	spare = length < c->width ? c->width - length : 0;
	if (!event_line_room(run->line, length + spare))
		return;
	if (!c->left)
		event_line_fill(run->line, ' ', spare);
	event_line_add(run->line, text, length);
	if (c->left)
		event_line_fill(run->line, ' ', spare);
}

static void put_char(const struct event_op *op, struct run *run)
{
	const char c = evaluate(op->value, run);

	put_string(&op->conversion, &c, 1, run);
}

static void put_array(const struct event_op *op, struct run *run)
{
	uint32_t length = op->length ? op->length : run->size - op->offset;
	const char *text = (const char *)run->data + op->offset;

	put_string(&op->conversion, text, strnlen(text, length), run);
}

static void put_dynamic(const struct event_op *op, struct run *run)
{
	uint32_t offset = op->base + (event_load(run->data + op->offset, 4) & 0xffff);
	const char *text = (const char *)run->data + offset, *end = NULL;

	if (offset < run->size)
		end = memchr(text, '\0', run->size - offset);
	if (end)
		put_string(&op->conversion, text, end - text, run);
	else
		run->failed = true;
}

static void put_unknown(uint64_t value, struct tracemap_line *line)
{
	event_line_put(line, "0x", 2);
	event_line_hex(line, value);
}

static void put_symbol(const struct event_op *op, struct run *run)
{
	uint64_t address = evaluate(op->value, run);
	struct event_symbol symbol;

	if (event_symbol_find(run->d, address, &symbol))
		event_symbol_print(run->d, run->line, address, op->whole);
	else
		put_unknown(address, run->line);
}

static void put_symbolic(const struct event_op *op, struct run *run)
{
	uint64_t value = evaluate(op->value, run);

	for (unsigned int i = 0; i < op->table->nr; i++) {
		const struct event_name *name = &op->table->names[i];

		if (name->value != value)
			continue;
		if (op->conversion.is_plain)
			event_line_put_padded(run->line, name->text, name->length);
		else
			put_string(&op->conversion, name->text, name->length, run);
		return;
	}
	put_unknown(value, run->line);
}

/* As in libtraceevent, a name without bits stands for 0 if its value is negative. */
static void put_flags(const struct event_op *op, struct run *run)
{
	uint64_t value = evaluate(op->value, run);
	bool between = false;

	for (unsigned int i = 0; i < op->table->nr; i++) {
		const struct event_name *name = &op->table->names[i];

		if (!value && name->value >> 63) {
			put_string(&op->conversion, name->text, name->length, run);
			break;
		}
		if (!name->value || name->value >> 63 || (value & name->value) != name->value)
			continue;
		if (between)
			event_line_put(run->line, op->text, op->length);
		put_string(&op->conversion, name->text, name->length, run);
		between = true;
		value &= ~name->value;
	}
	if (!value)
		return;
	if (between)
		event_line_put(run->line, op->text, op->length);
	put_unknown(value, run->line);
}

/* ---- Programs ---- */

/* Whether every field is where the format says, and text has an end. */
static bool fits(const struct event_program *p, const struct run *run)
{
	if (run->size < p->size)
		return false;
	for (unsigned int i = 0; i < p->nr_dynamics; i++) {
		const struct event_dynamic *dynamic = &p->dynamics[i];
		uint32_t word = event_load(run->data + dynamic->offset, 4);
		uint32_t offset = dynamic->base + (word & 0xffff), length = word >> 16;

		if (offset > run->size || length > run->size - offset)
			return false;
		if (dynamic->is_text && !memchr(run->data + offset, '\0', length))
			return false;
	}
	return true;
}

bool event_program_run(const struct event_program *p, struct tracemap_decoder *d,
		       const struct tracemap_record *rec, struct tracemap_line *line)
{
	struct run run = { .d = d, .data = rec->data, .size = rec->size, .line = line };
	const struct event_op *op = p->ops;

	if (!fits(p, &run))
		return false;
	while (op->kind != OP_END && !run.failed) {
		const struct event_op *next = op + 1;

		switch (op->kind) {
		case OP_TEXT:
			event_line_put_padded(line, op->text, op->length);
			break;
		case OP_STRING:
			put_string(&op->conversion, op->text, op->length, &run);
			break;
		case OP_NUMBER:
			put_number(&op->conversion, evaluate(op->value, &run), line);
			break;
		case OP_CHAR:
			put_char(op, &run);
			break;
		case OP_SYMBOL:
			put_symbol(op, &run);
			break;
		case OP_ARRAY:
			put_array(op, &run);
			break;
		case OP_DYNAMIC:
			put_dynamic(op, &run);
			break;
		case OP_SYMBOLIC:
			put_symbolic(op, &run);
			break;
		case OP_FLAGS:
			put_flags(op, &run);
			break;
		case OP_UNLESS:
			if (!evaluate(op->value, &run))
				next = p->ops + op->target;
			break;
		case OP_JUMP:
			next = p->ops + op->target;
			break;
		case OP_END:
			break;
		}
		op = next;
	}
	return !run.failed;
}

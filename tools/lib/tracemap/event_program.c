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
	struct event_bytes arguments;	/* of a printk(): those that were not taken yet */
	bool damaged;			/* the record says what it does not have */
	struct tracemap_line *line;
};

/* ---- Places ---- */

/* Find the bytes of an array. What is not in the record is cut off. */
static struct event_bytes find(const struct event_place *place, struct run *run)
{
	uint32_t offset = place->offset, length = place->size, left;

	if (place->dynamic) {
		uint32_t word = event_load(run->data + offset, 4);

		offset = place->base + (word & 0xffff);
		length = word >> 16;
	}
	left = offset < run->size ? run->size - offset : 0;
	if (!place->dynamic && !length)
		length = left;
	if (length > left || (length && offset > run->size)) {
		run->damaged = true;
		length = left;
	}
	return (struct event_bytes){ run->data + (left ? offset : 0), length };
}

/* The same of so many elements of @size bytes. */
static struct event_bytes find_some(const struct event_place *place, uint64_t nr, uint32_t size,
				    struct run *run)
{
	struct event_bytes bytes = find(place, run);

	if (nr > (uint32_t)bytes.length / size) {
		run->damaged = true;
		nr = (uint32_t)bytes.length / size;
	}
	bytes.length = nr * size;
	return bytes;
}

/* ---- Numbers ---- */

static uint64_t evaluate_more(const struct event_value *v, struct run *run);

/* Most values are just fields. */
static inline uint64_t evaluate(const struct event_value *v, struct run *run)
{
	if (v->kind == VALUE_FIELD)
		return event_cut(event_load(run->data + v->offset, v->size), v->size, v->is_signed);
	return evaluate_more(v, run);
}

static uint64_t load_element(const struct event_value *v, struct run *run)
{
	struct event_bytes bytes = find(&v->place, run);
	uint64_t index = evaluate(v->left, run);

	if (index >= (uint32_t)bytes.length / v->size) {
		run->damaged = true;
		return 0;
	}
	return event_cut(event_load(bytes.data + index * v->size, v->size), v->size, v->is_signed);
}

/* Each argument is aligned to its size, but to four bytes at most. */
static uint64_t load_next(const struct event_value *v, struct run *run)
{
	struct event_bytes *bytes = &run->arguments;
	uint32_t align = v->size < 4 ? v->size : 4, at = bytes->data - run->data;
	int hole = -at & (align - 1);
	uint64_t number;

	if (hole + (int)v->size > bytes->length) {
		run->damaged = true;
		bytes->length = 0;
		return 0;
	}
	number = event_load(bytes->data + hole, v->size);
	bytes->data += hole + v->size;
	bytes->length -= hole + v->size;
	return event_cut(number, v->size, v->is_signed);
}

/* As the kernel has no answer to such a division, a format asks for none in a sound record. */
static uint64_t divide(const struct event_value *v, uint64_t left, uint64_t right,
		       struct run *run)
{
	bool remainder = v->kind == VALUE_REMAINDER;

	if (!right) {
		run->damaged = true;
		return 0;
	}
	if (!v->operands.is_signed)
		return remainder ? left % right : left / right;
	/* The smallest number has no opposite. */
	if (right == UINT64_MAX)
		return remainder ? 0 : -left;
	return remainder ? (int64_t)left % (int64_t)right : (int64_t)left / (int64_t)right;
}

static uint64_t shift_right(const struct event_value *v, uint64_t left, unsigned int by)
{
	return v->operands.is_signed ? (uint64_t)((int64_t)left >> by) : left >> by;
}

/* Whether left < right */
static bool is_less(const struct event_value *v, uint64_t left, uint64_t right)
{
	return v->operands.is_signed ? (int64_t)left < (int64_t)right : left < right;
}

static uint64_t compute(const struct event_value *v, uint64_t left, uint64_t right,
			struct run *run)
{
	const unsigned int shift = right & (v->operands.wide ? 63 : 31);
	const uint32_t size = v->operands.wide ? 8 : 4;

	left = event_cut(left, size, v->operands.is_signed);
	right = event_cut(right, size, v->operands.is_signed);
	switch (v->kind) {
	case VALUE_BIT_AND:
		return left & right;
	case VALUE_BIT_OR:
		return left | right;
	case VALUE_BIT_XOR:
		return left ^ right;
	case VALUE_SHIFT_LEFT:
		return left << shift;
	case VALUE_SHIFT_RIGHT:
		return shift_right(v, left, shift);
	case VALUE_EQUAL:
		return left == right;
	case VALUE_UNEQUAL:
		return left != right;
	case VALUE_LESS:
		return is_less(v, left, right);
	case VALUE_LESS_EQUAL:
		return !is_less(v, right, left);
	case VALUE_GREATER:
		return is_less(v, right, left);
	case VALUE_GREATER_EQUAL:
		return !is_less(v, left, right);
	case VALUE_ADD:
		return left + right;
	case VALUE_SUBTRACT:
		return left - right;
	case VALUE_MULTIPLY:
		return left * right;
	default:
		return divide(v, left, right, run);
	}
}

static uint64_t evaluate_more(const struct event_value *v, struct run *run)
{
	uint64_t number;

	switch (v->kind) {
	case VALUE_CONSTANT:
		return v->number;
	case VALUE_FIELD:
		return evaluate(v, run);
	case VALUE_ELEMENT:
		return load_element(v, run);
	case VALUE_LENGTH:
		return find(&v->place, run).length;
	case VALUE_NEXT:
		return load_next(v, run);
	case VALUE_CAST:
		return event_cut(evaluate(v->left, run), v->size, v->is_signed);
	case VALUE_CHOICE:
		number = evaluate(evaluate(v->left, run) ? v->right : v->other, run);
		break;
	case VALUE_NOT:
		return !evaluate(v->right, run);
	case VALUE_INVERT:
		number = ~evaluate(v->right, run);
		break;
	case VALUE_AND:
		return evaluate(v->left, run) && evaluate(v->right, run);
	case VALUE_OR:
		return evaluate(v->left, run) || evaluate(v->right, run);
	default:
		number = evaluate(v->left, run);
		number = compute(v, number, evaluate(v->right, run), run);
	}
	return event_cut(number, v->type.wide ? 8 : 4, v->type.is_signed);
}

uint64_t event_value_constant(const struct event_value *v)
{
	struct run none = { .damaged = false };

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
	value = event_cut(value, c->bits / 8, c->is_signed);
	*negative = c->is_signed && value >> 63;
	return *negative ? -value : value;
}

static void to_upper(char *text, const char *end)
{
	for (; text < end; text++) {
		if (*text >= 'a' && *text <= 'f')
			*text -= 'a' - 'A';
	}
}

/* What the kernel would take for a width or precision, and no more than makes sense */
#define WIDTH_MAX	1000

static uint32_t width_of(const struct event_conversion *c, struct run *run, bool *left)
{
	int32_t width;

	*left = c->left;
	if (!c->asked)
		return c->width;
	width = evaluate(c->asked, run);
	*left |= width < 0;
	if (width < -WIDTH_MAX || width > WIDTH_MAX) {
		run->damaged = true;
		return 0;
	}
	return width < 0 ? -width : width;
}

/* Returns a negative number if there is none. */
static int32_t precision_of(const struct event_conversion *c, struct run *run)
{
	int32_t precision = c->precision ? (int32_t)evaluate(c->precision, run) : -1;

	return precision > WIDTH_MAX ? WIDTH_MAX : precision;
}

/* Append the @length digits of a number, with all that goes before and behind them. */
static void put_digits(const struct event_conversion *c, const char *prefix, const char *digits,
		       uint32_t length, struct run *run)
{
	uint32_t before = strlen(prefix), zeros = 0, spare, width;
	struct tracemap_line *line = run->line;
	bool left, by_zeros = c->zeros;
	int32_t precision;

	width = width_of(c, run, &left);
	precision = precision_of(c, run);
	if (precision >= 0)
		by_zeros = false;
	if (precision > (int32_t)length)
		zeros = precision - length;
	spare = width > length + before + zeros ? width - length - before - zeros : 0;
	if (!event_line_room(line, length + before + zeros + spare))
		return;
	if (!left && by_zeros) {
		zeros += spare;
		spare = 0;
	}
	if (!left)
		event_line_fill(line, ' ', spare);
	event_line_add(line, prefix, before);
	event_line_fill(line, '0', zeros);
	event_line_add(line, digits, length);
	if (left)
		event_line_fill(line, ' ', spare);
}

static void put_number(const struct event_conversion *c, uint64_t value, struct run *run)
{
	char digits[EVENT_DIGITS], *end = digits + sizeof(digits), *start;
	const char *prefix = "";
	bool negative;

	value = take_bits(c, value, &negative);
	if (c->is_plain && !negative) {
		if (c->base == 10)
			event_line_decimal(run->line, value);
		else
			event_line_hex(run->line, value);
		return;
	}
	if (c->base == 10)
		start = event_decimal(end, value);
	else
		start = c->base == 16 ? event_hex(end, value) : put_octal(end, value);
	if (c->upper)
		to_upper(start, end);
	/* The kernel prints it before a 0 as well. */
	if (c->prefixed)
		prefix = c->base == 16 ? c->upper ? "0X" : "0x" : c->base == 8 ? "0" : "";
	put_digits(c, negative ? "-" : prefix, start, end - start, run);
}

/* ---- Strings ---- */

/* A text was appended from @start on: fit it to the conversion. */
static void fit(const struct event_conversion *c, size_t start, struct run *run)
{
	struct tracemap_line *line = run->line;
	uint32_t width, spare, length;
	int32_t precision;
	bool left;

	if (c->is_plain || line->error)
		return;
	width = width_of(c, run, &left);
	precision = precision_of(c, run);
	if (precision >= 0 && line->length - start > (uint32_t)precision) {
		line->length = start + precision;
		line->text[line->length] = '\0';
	}
	length = line->length - start;
	spare = length < width ? width - length : 0;
	if (!spare || !event_line_room(line, spare))
		return;
	event_line_fill(line, ' ', spare);
	if (left)
		return;
	memmove(line->text + start + spare, line->text + start, length);
	memset(line->text + start, ' ', spare);
}

static void put_array(const struct event_op *op, struct run *run)
{
	struct event_bytes bytes = find(&op->place, run);

	if (!op->whole)
		return event_put_string(run->line, bytes);
	/* A probe could not read it. */
	if (!bytes.length)
		return event_line_put(run->line, "(fault)", 7);
	event_line_put(run->line, "\"", 1);
	event_put_string(run->line, bytes);
	event_line_put(run->line, "\"", 1);
}

static void put_next(struct run *run)
{
	struct event_bytes *bytes = &run->arguments;
	const unsigned char *end = memchr(bytes->data, '\0', bytes->length);

	event_put_string(run->line, *bytes);
	if (!end) {
		run->damaged = true;
		bytes->length = 0;
		return;
	}
	bytes->length -= end + 1 - bytes->data;
	bytes->data = end + 1;
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

	if (!event_symbol_find(run->d, address, &symbol))
		return put_unknown(address, run->line);
	event_symbol_print(run->d, run->line, address, op->whole);
	if (!op->whole && symbol.module)
		tracemap_line_printf(run->line, " [%s]", symbol.module);
}

static void put_pointed(const struct event_op *op, struct run *run)
{
	uint64_t address = evaluate(op->value, run);
	char text[EVENT_STRING_MAX];

	if (event_string(run->d, address, text))
		event_line_puts(run->line, text);
	else if (address)
		put_unknown(address, run->line);
	else
		event_line_put(run->line, "(null)", 6);
}

static void put_symbolic(const struct event_op *op, struct run *run)
{
	uint64_t value = evaluate(op->value, run);

	for (unsigned int i = 0; i < op->table->nr; i++) {
		const struct event_name *name = &op->table->names[i];

		if (name->value == value)
			return event_line_put_padded(run->line, name->text, name->length);
	}
	put_unknown(value, run->line);
}

static void put_flags(const struct event_op *op, struct run *run)
{
	uint64_t value = evaluate(op->value, run);
	bool between = false;

	for (unsigned int i = 0; i < op->table->nr && value; i++) {
		const struct event_name *name = &op->table->names[i];

		if ((value & name->value) != name->value)
			continue;
		if (between)
			event_line_put(run->line, op->text, op->length);
		event_line_put_padded(run->line, name->text, name->length);
		between = true;
		value &= ~name->value;
	}
	if (!value)
		return;
	if (between)
		event_line_put(run->line, op->text, op->length);
	put_unknown(value, run->line);
}

static void put_hex(const struct event_op *op, struct run *run)
{
	int64_t nr = evaluate(op->value, run);
	struct event_bytes bytes = find_some(&op->place, nr < 0 ? 0 : nr, 1, run);

	for (int i = 0; i < bytes.length; i++) {
		if (i)
			event_line_put(run->line, op->text, op->length);
		tracemap_line_printf(run->line, "%02x", bytes.data[i]);
	}
}

static void put_list(const struct event_op *op, struct run *run)
{
	int64_t nr = evaluate(op->value, run);
	struct event_bytes bytes = find_some(&op->place, nr < 0 ? 0 : nr, op->size, run);

	event_line_put(run->line, "{", 1);
	for (int at = 0; at < bytes.length; at += op->size) {
		if (at)
			event_line_put(run->line, ",", 1);
		put_unknown(event_load(bytes.data + at, op->size), run->line);
	}
	event_line_put(run->line, "}", 1);
}

/* The kernel's masks are arrays of longs, of which the first has the lowest bits. */
static uint32_t mask_word(struct event_bytes bytes, int i)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	i ^= sizeof(long) / 4 - 1;
#endif
	return event_load(bytes.data + 4 * i, 4);
}

static void put_mask(const struct event_op *op, struct run *run)
{
	struct event_bytes bytes = find(&op->place, run);

	bytes.length &= -(int)sizeof(long);
	for (int i = bytes.length / 4; i--; )
		tracemap_line_printf(run->line, "%08x%s", mask_word(bytes, i), i ? "," : "");
}

/* As "0-3,7" */
static void put_bits(const struct event_op *op, struct run *run)
{
	struct event_bytes bytes = find(&op->place, run);
	uint64_t nr = evaluate(op->value, run), last = UINT64_MAX, there;
	const char *between = "";

	there = 8 * (uint64_t)(bytes.length & -(int)sizeof(long));
	run->damaged |= nr > there;
	nr = nr < there ? nr : there;
	for (uint64_t i = 0; i <= nr; i++) {
		bool set = i < nr && mask_word(bytes, i / 32) >> i % 32 & 1;

		if (set && last == UINT64_MAX)
			last = i;
		if (set || last == UINT64_MAX)
			continue;
		tracemap_line_printf(run->line, "%s%u", between, (unsigned int)last);
		if (i - last > 1)
			tracemap_line_printf(run->line, "-%u", (unsigned int)i - 1);
		between = ",";
		last = UINT64_MAX;
	}
}

static void put_address(const struct event_op *op, struct run *run)
{
	struct event_bytes bytes = find(&op->place, run);

	if (!event_put_address(run->line, op->text, bytes.data, bytes.length))
		run->damaged = true;
}

static void put_char(const struct event_op *op, struct run *run)
{
	const char c = evaluate(op->value, run);

	event_line_put(run->line, &c, 1);
}

static void put_string(const struct event_op *op, struct run *run)
{
	size_t start = run->line->length;

	switch (op->kind) {
	case OP_STRING:
		event_line_put(run->line, op->text, op->length);
		break;
	case OP_CHAR:
		put_char(op, run);
		break;
	case OP_SYMBOL:
		put_symbol(op, run);
		break;
	case OP_POINTED:
		put_pointed(op, run);
		break;
	case OP_ARRAY:
		put_array(op, run);
		break;
	case OP_NEXT:
		put_next(run);
		break;
	case OP_SYMBOLIC:
		put_symbolic(op, run);
		break;
	case OP_FLAGS:
		put_flags(op, run);
		break;
	case OP_HEX:
		put_hex(op, run);
		break;
	case OP_LIST:
		put_list(op, run);
		break;
	case OP_MASK:
		put_mask(op, run);
		break;
	case OP_BITS:
		put_bits(op, run);
		break;
	default:
		put_address(op, run);
	}
	fit(&op->conversion, start, run);
}

/* ---- Programs ---- */

bool event_program_run(const struct event_program *p, struct tracemap_decoder *d,
		       const struct tracemap_record *rec, struct tracemap_line *line)
{
	struct run run = { .d = d, .data = rec->data, .size = rec->size, .line = line };
	const struct event_op *op = p->ops;

	if (run.size < p->size)
		return false;
	if (p->arguments.offset)
		run.arguments = find(&p->arguments, &run);
	while (op->kind != OP_END) {
		const struct event_op *next = op + 1;

		switch (op->kind) {
		case OP_TEXT:
			event_line_put_padded(line, op->text, op->length);
			break;
		case OP_NUMBER:
			put_number(&op->conversion, evaluate(op->value, &run), &run);
			break;
		case OP_UNLESS:
			if (!evaluate(op->value, &run))
				next = p->ops + op->target;
			break;
		case OP_JUMP:
			next = p->ops + op->target;
			break;
		default:
			put_string(op, &run);
		}
		op = next;
	}
	return !run.damaged;
}

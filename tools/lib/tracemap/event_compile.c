// SPDX-License-Identifier: LGPL-2.1
/*
 * Compile a print format that libtraceevent has parsed into a program, see event_program.h.
 * A format has no program if it contains anything that is not known here.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "event_program.h"

struct event_block {
	struct event_block *next;
	uint64_t data[];
};

struct compiler {
	struct tep_event *event;
	const char *format;	/* the string of its print format */
	struct event_program *program;
	unsigned int room;	/* for operations */
};

static void *allocate(struct compiler *c, size_t size)
{
	struct event_block *block = calloc(1, sizeof(*block) + size);

	if (!block)
		return NULL;
	block->next = c->program->blocks;
	c->program->blocks = block;
	return block->data;
}

/* ---- Numbers ---- */

static bool is_number_size(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Whether every record that the program runs for has the field, and all of it. */
static bool is_there(const struct compiler *c, const struct tep_format_field *field)
{
	int64_t end = (int64_t)field->offset + field->size;

	return field->offset >= 0 && field->size >= 0 &&
	       (end <= c->program->size || end <= EVENT_COMMON_SIZE);
}

static struct tep_format_field *find_field(struct compiler *c, struct tep_format_field *field,
					   const char *name)
{
	if (!field)
		field = tep_find_any_field(c->event, name);
	return field && is_there(c, field) ? field : NULL;
}

static struct event_value *compile_value(struct compiler *c, struct tep_print_arg *arg);

static struct event_value *new_value(struct compiler *c, enum event_value_kind kind)
{
	struct event_value *v = allocate(c, sizeof(*v));

	if (v)
		v->kind = kind;
	return v;
}

static struct event_value *compile_constant(struct compiler *c, const char *text)
{
	struct event_value *v = new_value(c, VALUE_CONSTANT);
	char *end;

	if (!v)
		return NULL;
	v->number = strtoull(text, &end, 0);
	if (end == text)	/* 'y' comes without its quotes */
		v->number = (unsigned char)*text;
	return end > text || strlen(text) == 1 ? v : NULL;
}

static struct event_value *compile_field(struct compiler *c, struct tep_print_arg *arg)
{
	struct tep_format_field *field = find_field(c, arg->field.field, arg->field.name);
	struct event_value *v;

	if (!field || !is_number_size(field->size))
		return NULL;
	v = new_value(c, VALUE_FIELD);
	if (!v)
		return NULL;
	v->is_signed = field->flags & TEP_FIELD_IS_SIGNED;
	v->offset = field->offset;
	v->size = field->size;
	return v;
}

/* An element of an array that is in the record itself */
static struct event_value *compile_element(struct compiler *c, struct tep_print_arg *array,
					   struct tep_print_arg *index)
{
	struct tep_format_field *field;
	struct event_value *v;
	uint32_t size;

	if (!array || array->type != TEP_PRINT_FIELD)
		return NULL;
	field = find_field(c, array->field.field, array->field.name);
	size = field ? event_element_size(field) : 0;
	if (!field || field->flags & TEP_FIELD_IS_DYNAMIC || !is_number_size(size))
		return NULL;
	v = new_value(c, VALUE_ELEMENT);
	if (!v)
		return NULL;
	v->offset = field->offset;
	v->size = size;
	v->is_signed = field->flags & TEP_FIELD_IS_SIGNED;
	v->number = field->size / size;
	v->left = compile_value(c, index);
	return v->left ? v : NULL;
}

/* What libtraceevent makes of a cast; ~0: nothing. */
static uint64_t mask_of(const char *type)
{
	static const struct {
		const char *type;
		uint64_t mask;
	} masks[] = {
		{ "u8", 0xff }, { "s8", 0xff }, { "char", 0xff },
		{ "u16", 0xffff }, { "s16", 0xffff }, { "short", 0xffff },
		{ "u32", 0xffffffff }, { "s32", 0xffffffff }, { "int", 0xffffffff },
	};

	if (!strncmp(type, "unsigned ", 9))
		type += 9;
	for (unsigned int i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		if (!strcmp(type, masks[i].type))
			return masks[i].mask;
	}
	return ~0ULL;
}

static struct event_value *compile_cast(struct compiler *c, struct tep_print_arg *arg)
{
	uint64_t mask = mask_of(arg->typecast.type);
	struct event_value *item = compile_value(c, arg->typecast.item), *v;

	if (!item || mask == ~0ULL)
		return item;
	v = new_value(c, VALUE_MASK);
	if (!v)
		return NULL;
	v->number = mask;
	v->left = item;
	return v;
}

static const struct {
	const char *name;
	enum event_value_kind kind;
} operators[] = {
	{ "!", VALUE_NOT }, { "~", VALUE_INVERT },
	{ "&&", VALUE_AND }, { "||", VALUE_OR },
	{ "&", VALUE_BIT_AND }, { "|", VALUE_BIT_OR },
	{ "<<", VALUE_SHIFT_LEFT }, { ">>", VALUE_SHIFT_RIGHT },
	{ "==", VALUE_EQUAL }, { "!=", VALUE_UNEQUAL },
	{ "<", VALUE_LESS }, { "<=", VALUE_LESS_EQUAL },
	{ ">", VALUE_GREATER }, { ">=", VALUE_GREATER_EQUAL },
	{ "+", VALUE_ADD }, { "-", VALUE_SUBTRACT }, { "*", VALUE_MULTIPLY },
	{ "/", VALUE_DIVIDE }, { "%", VALUE_REMAINDER },
};

#define NR_OPERATORS	(sizeof(operators) / sizeof(operators[0]))

static struct event_value *compile_choice(struct compiler *c, struct tep_print_arg *arg)
{
	struct event_value *v = new_value(c, VALUE_CHOICE);
	struct tep_print_arg *either = arg->op.right;

	if (!v || !either || either->type != TEP_PRINT_OP)
		return NULL;
	v->left = compile_value(c, arg->op.left);
	v->right = compile_value(c, either->op.left);
	v->other = compile_value(c, either->op.right);
	return v->left && v->right && v->other ? v : NULL;
}

/* Make a signed number one whose order is the same without a sign. */
static struct event_value *in_order(struct compiler *c, struct event_value *v)
{
	struct event_value *sum = new_value(c, VALUE_ADD), *most = new_value(c, VALUE_CONSTANT);

	if (!sum || !most)
		return NULL;
	most->number = 1ULL << 63;
	sum->left = v;
	sum->right = most;
	return sum;
}

/* "REC->ret < 0" */
static bool compares_signed(const struct event_value *v)
{
	const struct event_value *l = v->left, *r = v->right;

	return v->kind >= VALUE_LESS && v->kind <= VALUE_GREATER_EQUAL &&
	       (l->is_signed || r->is_signed) && (l->is_signed || l->kind == VALUE_CONSTANT) &&
	       (r->is_signed || r->kind == VALUE_CONSTANT);
}

static struct event_value *compile_operator(struct compiler *c, struct tep_print_arg *arg)
{
	struct event_value *v;
	unsigned int i = 0;

	if (!strcmp(arg->op.op, "["))
		return compile_element(c, arg->op.left, arg->op.right);
	if (!strcmp(arg->op.op, "?"))
		return compile_choice(c, arg);
	while (i < NR_OPERATORS && strcmp(arg->op.op, operators[i].name))
		i++;
	if (i == NR_OPERATORS)
		return NULL;
	v = new_value(c, operators[i].kind);
	if (!v)
		return NULL;
	v->left = compile_value(c, arg->op.left);
	v->right = compile_value(c, arg->op.right);
	if (!v->left || !v->right)
		return NULL;
	if (v->kind == VALUE_DIVIDE || v->kind == VALUE_REMAINDER) {
		if (v->right->kind != VALUE_CONSTANT || !v->right->number)
			return NULL;
		v->is_signed = v->left->is_signed && (int64_t)v->right->number > 0;
	}
	if (compares_signed(v)) {
		v->left = in_order(c, v->left);
		v->right = in_order(c, v->right);
		return v->left && v->right ? v : NULL;
	}
	/* The value is known now. */
	if (v->left->kind == VALUE_CONSTANT && v->right->kind == VALUE_CONSTANT) {
		v->number = event_value_constant(v);
		v->kind = VALUE_CONSTANT;
	}
	return v;
}

static struct event_value *compile_length(struct compiler *c, struct tep_format_field *field)
{
	struct event_value *v;

	if (!field || !is_there(c, field) || field->size != 4)
		return NULL;
	v = new_value(c, VALUE_LENGTH);
	if (v)
		v->offset = field->offset;
	return v;
}

static struct event_value *compile_value(struct compiler *c, struct tep_print_arg *arg)
{
	if (!arg)
		return NULL;
	switch (arg->type) {
	case TEP_PRINT_NULL:
		return new_value(c, VALUE_CONSTANT);
	case TEP_PRINT_ATOM:
		return compile_constant(c, arg->atom.atom);
	case TEP_PRINT_FIELD:
		return compile_field(c, arg);
	case TEP_PRINT_TYPE:
		return compile_cast(c, arg);
	case TEP_PRINT_OP:
		return compile_operator(c, arg);
	case TEP_PRINT_DYNAMIC_ARRAY_LEN:
		return compile_length(c, arg->dynarray.field);
	default:
		return NULL;
	}
}

/* ---- Operations ---- */

/* The operation is valid until the next one is added. */
static struct event_op *add_op(struct compiler *c, enum event_op_kind kind)
{
	struct event_program *p = c->program;
	struct event_op *ops = p->ops;

	if (p->nr_ops == c->room) {
		c->room = c->room ? 2 * c->room : 16;
		ops = realloc(ops, c->room * sizeof(*ops));
		if (!ops)
			return NULL;
		p->ops = ops;
	}
	ops += p->nr_ops++;
	*ops = (struct event_op){ .kind = kind };
	return ops;
}

/* Make a copy that event_line_put_padded() may read beyond the end of. */
static const char *pad(struct compiler *c, const char *text, size_t length)
{
	char *padded = allocate(c, length + EVENT_PAD);

	return padded ? memcpy(padded, text, length) : NULL;
}

static struct event_op *add_text(struct compiler *c, enum event_op_kind kind, const char *text,
				 size_t length)
{
	const char *padded = pad(c, text, length);
	struct event_op *op = padded ? add_op(c, kind) : NULL;

	if (!op)
		return NULL;
	op->text = padded;
	op->length = length;
	return op;
}

/* Of the format up to the next conversion, without escapes; *@whole: its symbol is to be. */
static const char *compile_text(struct compiler *c, const char *at, bool *whole)
{
	static const char mark[] = EVENT_MARK_WHOLE;
	size_t length = 0, mark_length = strlen(mark);
	char *text = allocate(c, strlen(at) + 1);

	*whole = false;
	if (!text)
		return NULL;
	while (*at && (*at != '%' || at[1] == '%')) {
		char ch = *at++;

		if (ch == '%') {
			at++;
		} else if (ch == '\\') {
			static const char from[] = "ntr", to[] = "\n\t\r";
			const char *found;

			if (!*at)
				return NULL;
			ch = *at++;
			found = strchr(from, ch);
			if (found)
				ch = to[found - from];
		}
		text[length++] = ch;
	}
	if (length >= mark_length && !memcmp(text + length - mark_length, mark, mark_length)) {
		*whole = true;
		length -= mark_length;
	}
	text[length] = '\0';
	if (strstr(text, mark))
		return NULL;
	return !length || add_text(c, OP_TEXT, text, length) ? at : NULL;
}

/* ---- Strings ---- */

/* What libtraceevent makes of the value of a flag or symbol. */
static bool table_value(const char *text, uint64_t *value)
{
	if (!strcmp(text, "-1")) {
		*value = ~0ULL;
		return true;
	}
	if (!isdigit((unsigned char)*text))
		return false;
	*value = strtoull(text, NULL, 0);
	return true;
}

static struct event_table *compile_table(struct compiler *c, struct tep_print_flag_sym *first)
{
	struct tep_print_flag_sym *sym;
	struct event_table *table;
	unsigned int nr = 0;

	for (sym = first; sym; sym = sym->next)
		nr++;
	table = allocate(c, sizeof(*table) + nr * sizeof(table->names[0]));
	if (!table)
		return NULL;
	table->nr = nr;
	nr = 0;
	for (sym = first; sym; sym = sym->next, nr++) {
		if (!table_value(sym->value, &table->names[nr].value))
			return NULL;
		table->names[nr].length = strlen(sym->str);
		table->names[nr].text = pad(c, sym->str, table->names[nr].length);
		if (!table->names[nr].text)
			return NULL;
	}
	return table;
}

static bool compile_names(struct compiler *c, enum event_op_kind kind,
			  const struct event_conversion *conversion, struct tep_print_arg *of,
			  struct tep_print_flag_sym *names, const char *between)
{
	struct event_value *value = compile_value(c, of);
	struct event_table *table = compile_table(c, names);
	struct event_op *op = value && table ? add_op(c, kind) : NULL;

	if (!op)
		return false;
	op->conversion = *conversion;
	op->value = value;
	op->table = table;
	op->text = between ? between : "";
	op->length = strlen(op->text);
	return true;
}

/* A number of the size of a long is the address of a string: libtraceevent may know it. */
static bool compile_array(struct compiler *c, const struct event_conversion *conversion,
			  struct tep_print_arg *arg)
{
	struct tep_format_field *field = find_field(c, arg->field.field, arg->field.name);
	struct event_op *op;

	if (!field || !(field->flags & TEP_FIELD_IS_ARRAY) || field->flags & TEP_FIELD_IS_DYNAMIC)
		return false;
	op = add_op(c, OP_ARRAY);
	if (!op)
		return false;
	op->conversion = *conversion;
	op->offset = field->offset;
	op->length = field->size;
	return true;
}

static uint32_t base_of(const struct tep_format_field *field)
{
	return field->flags & TEP_FIELD_IS_RELATIVE ? field->offset + field->size : 0;
}

static bool compile_dynamic(struct compiler *c, const struct event_conversion *conversion,
			    struct tep_print_arg *arg)
{
	struct tep_format_field *field = find_field(c, arg->string.field, arg->string.string);
	struct event_op *op;

	if (!field || field->size != 4)
		return false;
	op = add_op(c, OP_DYNAMIC);
	if (!op)
		return false;
	op->conversion = *conversion;
	op->offset = field->offset;
	op->base = base_of(field);
	return true;
}

static bool compile_literal(struct compiler *c, const struct event_conversion *conversion,
			    const char *text)
{
	struct event_op *op = add_text(c, conversion->is_plain ? OP_TEXT : OP_STRING,
				       text, strlen(text));

	if (op)
		op->conversion = *conversion;
	return op;
}

static bool compile_string(struct compiler *c, const struct event_conversion *conversion,
			   struct tep_print_arg *arg);

static bool compile_either(struct compiler *c, const struct event_conversion *conversion,
			   struct tep_print_arg *arg)
{
	struct tep_print_arg *either = arg->op.right;
	struct event_value *value;
	unsigned int unless, jump;
	struct event_op *op;

	if (strcmp(arg->op.op, "?") || !either || either->type != TEP_PRINT_OP)
		return false;
	value = compile_value(c, arg->op.left);
	unless = c->program->nr_ops;
	op = value ? add_op(c, OP_UNLESS) : NULL;
	if (!op)
		return false;
	op->value = value;
	if (!compile_string(c, conversion, either->op.left))
		return false;
	jump = c->program->nr_ops;
	if (!add_op(c, OP_JUMP))
		return false;
	c->program->ops[unless].target = c->program->nr_ops;
	if (!compile_string(c, conversion, either->op.right))
		return false;
	c->program->ops[jump].target = c->program->nr_ops;
	return true;
}

static bool compile_string(struct compiler *c, const struct event_conversion *conversion,
			   struct tep_print_arg *arg)
{
	if (!arg)
		return false;
	switch (arg->type) {
	case TEP_PRINT_ATOM:
		return compile_literal(c, conversion, arg->atom.atom);
	case TEP_PRINT_FIELD:
		return compile_array(c, conversion, arg);
	case TEP_PRINT_STRING:
		return compile_dynamic(c, conversion, arg);
	case TEP_PRINT_SYMBOL:
		return compile_names(c, OP_SYMBOLIC, conversion, arg->symbol.field,
				     arg->symbol.symbols, NULL);
	case TEP_PRINT_FLAGS:
		return compile_names(c, OP_FLAGS, conversion, arg->flags.field,
				     arg->flags.flags, arg->flags.delim);
	case TEP_PRINT_OP:
		return compile_either(c, conversion, arg);
	default:
		return false;
	}
}

/* ---- Conversions ---- */

static const char *parse_flags(const char *at, struct event_conversion *conversion)
{
	for (;; at++) {
		if (*at == '-')
			conversion->left = true;
		else if (*at == '0')
			conversion->zeros = true;
		else if (*at == '#')
			conversion->prefixed = true;
		else
			return at;
	}
}

static const char *parse_width(const char *at, struct event_conversion *conversion)
{
	for (; isdigit((unsigned char)*at); at++) {
		conversion->width = 10 * conversion->width + *at - '0';
		if (conversion->width > 1000)
			return NULL;
	}
	return at;
}

static const char *parse_bits(const char *at, struct event_conversion *conversion)
{
	conversion->bits = 32;
	if (at[0] == 'h') {
		conversion->bits = at[1] == 'h' ? 8 : 16;
		at += at[1] == 'h' ? 2 : 1;
	} else if (at[0] == 'z' || at[0] == 'Z') {
		conversion->bits = 64;
		at++;
	} else if (at[0] == 'l' || at[0] == 'L') {
		conversion->bits = 64;
		at += at[0] == 'l' && at[1] == 'l' ? 2 : 1;
	}
	return at;
}

static bool compile_number(struct compiler *c, struct event_conversion *conversion, char letter,
			   struct tep_print_arg *arg)
{
	struct event_value *value;
	struct event_op *op;

	conversion->base = letter == 'o' ? 8 : letter == 'x' || letter == 'X' ? 16 : 10;
	conversion->is_signed = letter == 'd' || letter == 'i';
	conversion->upper = letter == 'X';
	if (conversion->limited || (conversion->prefixed && conversion->base != 16))
		return false;
	value = compile_value(c, arg);
	op = value ? add_op(c, OP_NUMBER) : NULL;
	if (!op)
		return false;
	op->conversion = *conversion;
	op->value = value;
	return true;
}

/* libtraceevent 1.7 prints ">c<". */
static bool compile_char(struct compiler *c, const struct event_conversion *conversion,
			 struct tep_print_arg *arg)
{
	struct event_value *value = conversion->zeros || conversion->prefixed ||
				    conversion->limited ? NULL : compile_value(c, arg);
	struct event_op *op = value ? add_op(c, OP_CHAR) : NULL;

	if (!op)
		return false;
	op->conversion = *conversion;
	op->value = value;
	return true;
}

static bool compile_symbol(struct compiler *c, bool whole, struct tep_print_arg *arg)
{
	struct event_value *value = compile_value(c, arg);
	struct event_op *op = value ? add_op(c, OP_SYMBOL) : NULL;

	if (!op)
		return false;
	op->value = value;
	op->whole = whole;
	return true;
}

/*
 * Compile a conversion, at its %, with the arguments it takes from *@arg. Returns what
 * follows it, or NULL if the conversion is not known here.
 */
static const char *compile_conversion(struct compiler *c, const char *at, bool whole,
				      struct tep_print_arg **arg)
{
	struct event_conversion conversion = { 0 };
	bool is_symbol = at[1] == 'p' && at[2] == 's', done;

	at = parse_width(parse_flags(at + 1, &conversion), &conversion);
	if (!at || !*arg)
		return NULL;
	if (at[0] == '.' && at[1] == '*') {
		conversion.limited = true;
		conversion.precision = compile_value(c, *arg);
		*arg = (*arg)->next;
		if (!conversion.precision || !*arg)
			return NULL;
		at += 2;
	}
	if (*at != 's' && !is_symbol)
		at = parse_bits(at, &conversion);
	conversion.is_plain = !conversion.width && !conversion.left && !conversion.zeros &&
		!conversion.prefixed && !conversion.limited && *at != 'X' && *at != 'o';
	if (is_symbol) {
		at++;
		done = compile_symbol(c, whole, *arg);
	} else if (whole) {
		return NULL;
	} else if (*at == 's' && !conversion.bits) {
		done = !conversion.zeros && !conversion.prefixed &&
			compile_string(c, &conversion, *arg);
	} else if (*at == 'c') {
		done = compile_char(c, &conversion, *arg);
	} else {
		done = *at && strchr("diuxXo", *at) &&
			compile_number(c, &conversion, *at, *arg);
	}
	*arg = (*arg)->next;
	return done ? at + 1 : NULL;
}

static bool compile_format(struct compiler *c)
{
	struct tep_print_arg *arg = c->event->print_fmt.args;
	const char *at = c->format;
	bool whole;

	while (at && *at) {
		at = compile_text(c, at, &whole);
		if (at && *at)
			at = compile_conversion(c, at, whole, &arg);
	}
	return at && add_op(c, OP_END);
}

/* ---- Programs ---- */

/* What event_field_bytes() asks of a record, for all fields at once. */
static bool compile_fields(struct compiler *c)
{
	struct event_program *p = c->program;
	struct tep_format_field *field;
	unsigned int nr = 0;

	for (field = c->event->format.fields; field; field = field->next)
		nr++;
	p->dynamics = allocate(c, nr * sizeof(*p->dynamics));
	if (!p->dynamics)
		return false;
	for (field = c->event->format.fields; field; field = field->next) {
		uint32_t end = field->offset + field->size;

		if (field->offset < 0 || field->size < 0 || end > UINT16_MAX)
			return false;
		if (end > p->size)
			p->size = end;
		if (!(field->flags & TEP_FIELD_IS_DYNAMIC))
			continue;
		if (field->size != 4)
			return false;
		p->dynamics[p->nr_dynamics++] = (struct event_dynamic){
			.offset = field->offset,
			.base = base_of(field),
			.is_text = event_is_text(field),
		};
	}
	return true;
}

struct event_program *event_compile(struct tep_event *event, const char *format)
{
	struct compiler c = { .event = event, .format = format };

	/* Each record of a binary printk() has a format of its own. */
	if (event->flags & (TEP_EVENT_FL_FAILED | TEP_EVENT_FL_ISBPRINT) ||
	    !format)
		return NULL;
	c.program = calloc(1, sizeof(*c.program));
	if (!c.program)
		return NULL;
	if (compile_fields(&c) && compile_format(&c))
		return c.program;
	event_program_free(c.program);
	return NULL;
}

void event_program_free(struct event_program *p)
{
	struct event_block *block, *next;

	if (!p)
		return;
	for (block = p->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
	free(p->ops);
	free(p);
}

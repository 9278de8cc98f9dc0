// SPDX-License-Identifier: LGPL-2.1
/*
 * Compile a print format that libtraceevent has parsed into a program, see event_program.h.
 * A format has no program if it contains anything that is not known here.
 */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event_program.h"

struct event_block {
	struct event_block *next;
	uint64_t data[];
};

#define DEPTH_MAX	200	/* of an expression: the kernel's have a tenth of it */

struct compiler {
	struct tracemap_decoder *d;
	struct tep_event *event;
	struct event_program *program;
	unsigned int room;		/* for operations */
	unsigned int depth;
	bool printk;			/* the arguments are in the record, see VALUE_NEXT */
	bool probe;			/* a string that has no bytes could not be read */
	struct tep_print_arg *arg;	/* the next one that a conversion takes */
};

/* What stands for an argument of a printk(), of which a record has only the bytes */
static struct tep_print_arg in_record;

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

/* Where the bytes of a field are; false: not in every record */
static bool find_place(struct compiler *c, struct tep_format_field *field,
		       struct event_place *place)
{
	if (!field || !is_there(c, field))
		return false;
	*place = (struct event_place){ .offset = field->offset, .size = field->size };
	if (!(field->flags & TEP_FIELD_IS_DYNAMIC))
		return true;
	place->dynamic = true;
	place->base = field->flags & TEP_FIELD_IS_RELATIVE ? field->offset + field->size : 0;
	return field->size == 4;
}

static struct event_value *compile_value(struct compiler *c, struct tep_print_arg *arg);

static struct event_value *new_value(struct compiler *c, enum event_value_kind kind)
{
	struct event_value *v = allocate(c, sizeof(*v));

	if (v)
		v->kind = kind;
	return v;
}

/* What arithmetic makes of a number of @size bytes: anything shorter is an int. */
static struct event_type promote(uint32_t size, bool is_signed)
{
	return (struct event_type){ .wide = size > 4, .is_signed = is_signed || size < 4 };
}

/* What it makes of two. */
static struct event_type common(struct event_type a, struct event_type b)
{
	if (a.wide != b.wide)
		return a.wide ? a : b;
	a.is_signed &= b.is_signed;
	return a;
}

static const struct event_type int_type = { .is_signed = true };

/* As in C: decimal digits are of a type with a sign unless they say otherwise. */
static struct event_type type_of_constant(uint64_t number, const char *digits, const char *suffix)
{
	struct event_type type = { .is_signed = true };

	for (; *suffix && strchr("uUlL", *suffix); suffix++) {
		type.is_signed &= tolower((unsigned char)*suffix) != 'u';
		type.wide |= tolower((unsigned char)*suffix) == 'l';
	}
	if (number > INT64_MAX)
		return (struct event_type){ .wide = true };
	if (number > INT_MAX && number <= UINT_MAX && !type.wide && *digits == '0')
		type.is_signed = false;
	type.wide |= number > UINT_MAX || (type.is_signed && number > INT_MAX);
	return type;
}

static struct event_value *compile_constant(struct compiler *c, const char *text)
{
	struct event_value *v = new_value(c, VALUE_CONSTANT);
	long long number;
	char *end;

	if (!v)
		return NULL;
	v->number = strtoull(text, &end, 0);
	v->type = type_of_constant(v->number, text, end);
	if (end > text)
		return v;
	/* 'y' comes without its quotes. */
	if (strlen(text) == 1) {
		v->number = (unsigned char)*text;
		return v;
	}
	if (event_constant(c->d, text, &number)) {
		v->number = number;
		v->type.wide = number > INT_MAX || number < INT_MIN;
		return v;
	}
	/* Where the kernel begins; what is recorded counts from there. */
	v->number = strcmp(text, "_stext") ? 0 : event_symbol_address(c->d, text);
	v->type = promote(8, false);
	return v->number ? v : NULL;
}

static struct event_value *compile_field(struct compiler *c, struct tep_print_arg *arg)
{
	struct tep_format_field *field = find_field(c, arg->field.field, arg->field.name);
	struct event_value *v;

	if (!field || !event_is_number(field->size) || field->flags & TEP_FIELD_IS_DYNAMIC)
		return NULL;
	v = new_value(c, VALUE_FIELD);
	if (!v)
		return NULL;
	v->is_signed = field->flags & TEP_FIELD_IS_SIGNED;
	v->offset = field->offset;
	v->size = field->size;
	v->type = promote(v->size, v->is_signed);
	return v;
}

static struct event_value *compile_element(struct compiler *c, struct tep_format_field *field,
					   struct tep_print_arg *index)
{
	uint32_t size = field ? event_element_size(field) : 0;
	struct event_value *v;

	if (!event_is_number(size))
		return NULL;
	v = new_value(c, VALUE_ELEMENT);
	if (!v || !find_place(c, field, &v->place))
		return NULL;
	v->size = size;
	v->is_signed = field->flags & TEP_FIELD_IS_SIGNED;
	v->type = promote(size, v->is_signed);
	v->left = compile_value(c, index);
	return v->left ? v : NULL;
}

static bool has_sign(const char *type)
{
	return !strchr(type, '*') && strncmp(type, "unsigned", 8) && *type != 'u' &&
	       strcmp(type, "bool") && strcmp(type, "size_t");
}

uint32_t event_type_size(const char *type)
{
	static const struct {
		const char *type;
		uint32_t size;
	} sizes[] = {
		{ "8", 1 }, { "char", 1 }, { "16", 2 }, { "short", 2 }, { "32", 4 }, { "int", 4 },
		{ "64", 8 }, { "long", 8 }, { "long long", 8 }, { "bool", 1 }, { "size_t", 8 },
		{ "unsigned", 4 },
	};

	if (strchr(type, '*'))
		return 8;
	if (!strncmp(type, "unsigned ", 9))
		type += 9;
	else if (*type && strchr("us", *type) && isdigit((unsigned char)type[1]))
		type++;
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (!strcmp(type, sizes[i].type))
			return sizes[i].size;
	}
	return 0;
}

static struct event_value *compile_cast(struct compiler *c, struct tep_print_arg *arg)
{
	struct event_value *item = compile_value(c, arg->typecast.item), *v;
	uint32_t size = event_type_size(arg->typecast.type);
	bool is_signed = has_sign(arg->typecast.type);

	if (!item || !size)
		return item;
	v = new_value(c, VALUE_CAST);
	if (!v)
		return NULL;
	v->size = size;
	v->is_signed = is_signed;
	v->type = promote(size, is_signed);
	v->left = item;
	return v;
}

static const struct {
	const char *name;
	enum event_value_kind kind;
} operators[] = {
	{ "!", VALUE_NOT }, { "~", VALUE_INVERT },
	{ "&&", VALUE_AND }, { "||", VALUE_OR },
	{ "&", VALUE_BIT_AND }, { "|", VALUE_BIT_OR }, { "^", VALUE_BIT_XOR },
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
	if (!v->left || !v->right || !v->other)
		return NULL;
	v->type = common(v->right->type, v->other->type);
	return v;
}

static void find_types(struct event_value *v)
{
	if (v->kind == VALUE_SHIFT_LEFT || v->kind == VALUE_SHIFT_RIGHT)
		v->operands = v->left->type;
	else if (v->kind == VALUE_INVERT)
		v->operands = v->right->type;
	else
		v->operands = common(v->left->type, v->right->type);
	v->type = v->kind >= VALUE_NOT && v->kind <= VALUE_GREATER_EQUAL &&
		  v->kind != VALUE_INVERT ? int_type : v->operands;
}

/* The array of "REC->array[1]" and "__get_dynamic_array(array)[1]" */
static struct tep_format_field *array_of(struct compiler *c, struct tep_print_arg *arg)
{
	if (arg && arg->type == TEP_PRINT_FIELD)
		return find_field(c, arg->field.field, arg->field.name);
	return arg && arg->type == TEP_PRINT_DYNAMIC_ARRAY ? arg->dynarray.field : NULL;
}

static bool is_operator(const struct tep_print_arg *arg, const char *op)
{
	return arg && arg->type == TEP_PRINT_OP && !strcmp(arg->op.op, op);
}

/* libtraceevent takes "a ? b : c / d" for "(a ? b : c) / d", which the kernel does not have. */
static struct event_value *compile_last_arm(struct compiler *c, struct tep_print_arg *arg)
{
	struct tep_print_arg choice = *arg->op.left, arms, last = *arg;

	if (!is_operator(choice.op.right, ":"))
		return NULL;
	arms = *choice.op.right;
	last.op.left = arms.op.right;
	arms.op.right = &last;
	choice.op.right = &arms;
	return compile_choice(c, &choice);
}

static struct event_value *compile_operator(struct compiler *c, struct tep_print_arg *arg)
{
	struct event_value *v;
	unsigned int i = 0;

	if (!strcmp(arg->op.op, "["))
		return compile_element(c, array_of(c, arg->op.left), arg->op.right);
	if (!strcmp(arg->op.op, "?"))
		return compile_choice(c, arg);
	if (is_operator(arg->op.left, "?"))
		return compile_last_arm(c, arg);
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
	find_types(v);
	/* The value is known now. */
	if (v->left->kind == VALUE_CONSTANT && v->right->kind == VALUE_CONSTANT) {
		v->number = event_value_constant(v);
		v->kind = VALUE_CONSTANT;
	}
	return v;
}

static struct event_value *compile_length(struct compiler *c, struct tep_format_field *field)
{
	struct event_value *v = new_value(c, VALUE_LENGTH);

	if (!v || !find_place(c, field, &v->place) || !v->place.dynamic)
		return NULL;
	v->type = int_type;
	return v;
}

static struct event_value *compile_any(struct compiler *c, struct tep_print_arg *arg)
{
	struct event_value *v;

	switch (arg->type) {
	case TEP_PRINT_NULL:
		v = new_value(c, VALUE_CONSTANT);
		if (v)
			v->type = int_type;
		return v;
	case TEP_PRINT_ATOM:
		return compile_constant(c, arg->atom.atom);
	case TEP_PRINT_FIELD:
		return compile_field(c, arg);
	case TEP_PRINT_TYPE:
		return compile_cast(c, arg);
	case TEP_PRINT_OP:
		return compile_operator(c, arg);
	case TEP_PRINT_DYNAMIC_ARRAY:
		return arg->dynarray.index ?
			compile_element(c, arg->dynarray.field, arg->dynarray.index) : NULL;
	case TEP_PRINT_DYNAMIC_ARRAY_LEN:
		return compile_length(c, arg->dynarray.field);
	default:
		return NULL;
	}
}

static struct event_value *compile_value(struct compiler *c, struct tep_print_arg *arg)
{
	struct event_value *v;

	if (!arg || c->depth == DEPTH_MAX)
		return NULL;
	c->depth++;
	v = compile_any(c, arg);
	c->depth--;
	return v;
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

/* An operation that prints @value, which is NULL if it cannot be compiled */
static struct event_op *add_value(struct compiler *c, enum event_op_kind kind,
				  const struct event_conversion *conversion,
				  struct event_value *value)
{
	struct event_op *op = value ? add_op(c, kind) : NULL;

	if (!op)
		return NULL;
	op->conversion = *conversion;
	op->value = value;
	return op;
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

/* Of the format up to the next conversion, without escapes */
static const char *compile_text(struct compiler *c, const char *at)
{
	size_t length = 0;
	char *text = allocate(c, strlen(at) + 1);

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
	return !length || add_text(c, OP_TEXT, text, length) ? at : NULL;
}

/* ---- Strings ---- */

/* libtraceevent has computed it, if it knew how. */
static bool table_value(struct compiler *c, const char *text, uint64_t *value)
{
	long long number;
	char *end;

	*value = *text == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
	while (end > text && *end && strchr("uUlL", *end))
		end++;
	if (end > text && !*end)
		return true;
	if (!event_constant(c->d, text, &number))
		return false;
	*value = number;
	return true;
}

/* Leave out a name whose value the kernel does not tell: its number is printed. */
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
	for (sym = first; sym; sym = sym->next) {
		struct event_name *name = &table->names[table->nr];

		if (!table_value(c, sym->value, &name->value))
			continue;
		name->length = strlen(sym->str);
		name->text = pad(c, sym->str, name->length);
		if (!name->text)
			return NULL;
		table->nr++;
	}
	return table;
}

static bool compile_names(struct compiler *c, enum event_op_kind kind,
			  const struct event_conversion *conversion, struct tep_print_arg *of,
			  struct tep_print_flag_sym *names, const char *between)
{
	struct event_value *value = compile_value(c, of);
	struct event_table *table = compile_table(c, names);
	struct event_op *op = table ? add_value(c, kind, conversion, value) : NULL;

	if (!op)
		return false;
	op->table = table;
	op->text = between ? between : "";
	op->length = strlen(op->text);
	return true;
}

/* An operation that has the bytes of an array; @nr: how many, or NULL */
static struct event_op *add_place(struct compiler *c, enum event_op_kind kind,
				  const struct event_conversion *conversion,
				  struct tep_format_field *field, struct tep_print_arg *nr)
{
	struct event_value *value = nr ? compile_value(c, nr) : NULL;
	struct event_place place;
	struct event_op *op;

	if (!find_place(c, field, &place) || (nr && !value))
		return NULL;
	op = add_op(c, kind);
	if (!op)
		return NULL;
	op->conversion = *conversion;
	op->place = place;
	op->value = value;
	return op;
}

/* A number of the size of a long is the address of a string that the kernel may have told. */
static bool compile_array(struct compiler *c, const struct event_conversion *conversion,
			  struct tep_print_arg *arg)
{
	struct tep_format_field *field = find_field(c, arg->field.field, arg->field.name);

	if (!field)
		return false;
	if (field->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC) || !field->size)
		return add_place(c, OP_ARRAY, conversion, field, NULL);
	return field->size == tep_get_long_size(c->d->tep) &&
	       add_value(c, OP_POINTED, conversion, compile_field(c, arg));
}

/* A string. One of a probe puts the quotes itself: what the probe could not read has none. */
static bool add_string(struct compiler *c, const struct event_conversion *conversion,
		       struct tep_format_field *field)
{
	struct event_op *op = add_place(c, OP_ARRAY, conversion, field, NULL), *before;

	if (!op)
		return false;
	before = op - 1;
	if (!c->probe || op == c->program->ops || before->kind != OP_TEXT ||
	    before->text[before->length - 1] != '"')
		return true;
	before->length--;
	op->whole = true;
	return true;
}

static bool compile_dynamic(struct compiler *c, const struct event_conversion *conversion,
			    struct tep_print_arg *arg)
{
	return add_string(c, conversion, find_field(c, arg->string.field, arg->string.string));
}

/* One of an array of strings, whose words are in the record one behind the other */
static bool compile_one_of(struct compiler *c, const struct event_conversion *conversion,
			   struct tep_print_arg *arg)
{
	struct tep_format_field *field = array_of(c, arg->op.left);
	struct event_value *index = compile_value(c, arg->op.right);
	struct tep_format_field word;

	if (!field || !(field->flags & TEP_FIELD_IS_DYNAMIC) || !index ||
	    index->kind != VALUE_CONSTANT || index->number >= (uint32_t)field->size / 4)
		return false;
	word = *field;
	word.offset += 4 * index->number;
	word.size = 4;
	return add_string(c, conversion, &word);
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

static bool compile_hex(struct compiler *c, const struct event_conversion *conversion,
			struct tep_print_arg *arg, const char *between)
{
	struct event_op *op = add_place(c, OP_HEX, conversion, array_of(c, arg->hex.field),
					arg->hex.size);

	if (!op)
		return false;
	op->text = between;
	op->length = strlen(between);
	return true;
}

static bool compile_list(struct compiler *c, const struct event_conversion *conversion,
			 struct tep_print_arg *arg)
{
	struct event_value *size = compile_value(c, arg->int_array.el_size);
	struct event_op *op;

	if (!size || size->kind != VALUE_CONSTANT || !event_is_number(size->number))
		return false;
	op = add_place(c, OP_LIST, conversion, array_of(c, arg->int_array.field),
		       arg->int_array.count);
	if (op)
		op->size = size->number;
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

static bool compile_text_of(struct compiler *c, const struct event_conversion *conversion,
			    struct tep_print_arg *arg)
{
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
	case TEP_PRINT_HEX:
		return compile_hex(c, conversion, arg, " ");
	case TEP_PRINT_HEX_STR:
		return compile_hex(c, conversion, arg, "");
	case TEP_PRINT_INT_ARRAY:
		return compile_list(c, conversion, arg);
	case TEP_PRINT_BITMASK:
	case TEP_PRINT_CPUMASK:
		return add_place(c, OP_MASK, conversion,
				 find_field(c, arg->bitmask.field, arg->bitmask.bitmask), NULL);
	case TEP_PRINT_TYPE:
		return compile_string(c, conversion, arg->typecast.item);
	case TEP_PRINT_OP:
		return is_operator(arg, "[") ? compile_one_of(c, conversion, arg) :
					       compile_either(c, conversion, arg);
	default:
		return false;
	}
}

static bool compile_string(struct compiler *c, const struct event_conversion *conversion,
			   struct tep_print_arg *arg)
{
	bool done;

	if (arg == &in_record) {
		struct event_op *op = add_op(c, OP_NEXT);

		if (op)
			op->conversion = *conversion;
		return op;
	}
	if (!arg || c->depth == DEPTH_MAX)
		return false;
	c->depth++;
	done = compile_text_of(c, conversion, arg);
	c->depth--;
	return done;
}

/* ---- Conversions ---- */

/* The next argument; NULL: there is none left */
static struct tep_print_arg *take_arg(struct compiler *c)
{
	struct tep_print_arg *arg = c->arg;

	if (c->printk)
		return &in_record;
	if (arg)
		c->arg = arg->next;
	return arg;
}

/* Its value, which has @size bytes in the record of a printk() */
static struct event_value *take_value(struct compiler *c, uint32_t size, bool is_signed)
{
	struct tep_print_arg *arg = take_arg(c);
	struct event_value *v;

	if (arg != &in_record)
		return compile_value(c, arg);
	v = new_value(c, VALUE_NEXT);
	if (!v)
		return NULL;
	v->size = size;
	v->is_signed = is_signed;
	v->type = promote(size, is_signed);
	return v;
}

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

/* Read a width, or a precision; *@asked: it is an argument. NULL: it makes no sense. */
static const char *parse_width(struct compiler *c, const char *at, uint32_t *width,
			       struct event_value **asked)
{
	*width = 0;
	if (*at == '*') {
		*asked = take_value(c, 4, true);
		return *asked ? at + 1 : NULL;
	}
	for (; isdigit((unsigned char)*at); at++) {
		*width = 10 * *width + *at - '0';
		if (*width > 1000)
			return NULL;
	}
	return at;
}

static const char *parse_precision(struct compiler *c, const char *at,
				   struct event_conversion *conversion)
{
	uint32_t number;

	if (!at || *at != '.')
		return at;
	at = parse_width(c, at + 1, &number, &conversion->precision);
	if (!at || conversion->precision)
		return at;
	conversion->precision = new_value(c, VALUE_CONSTANT);
	if (!conversion->precision)
		return NULL;
	conversion->precision->number = number;
	return at;
}

static const char *parse_bits(const char *at, struct event_conversion *conversion)
{
	conversion->bits = 32;
	if (at[0] == 'h') {
		conversion->bits = at[1] == 'h' ? 8 : 16;
		at += at[1] == 'h' ? 2 : 1;
	} else if (*at && strchr("zZtjL", *at)) {
		conversion->bits = 64;
		at++;
	} else if (at[0] == 'l') {
		conversion->bits = 64;
		at += at[1] == 'l' ? 2 : 1;
	}
	return at;
}

static bool compile_number(struct compiler *c, struct event_conversion *conversion, char letter)
{
	conversion->base = letter == 'o' ? 8 : letter == 'x' || letter == 'X' ? 16 : 10;
	conversion->is_signed = letter == 'd' || letter == 'i';
	conversion->upper = letter == 'X';
	return add_value(c, OP_NUMBER, conversion,
			 take_value(c, conversion->bits / 8, conversion->is_signed));
}

static bool compile_char(struct compiler *c, const struct event_conversion *conversion)
{
	return add_value(c, OP_CHAR, conversion, take_value(c, 1, false));
}

static bool compile_symbol(struct compiler *c, const struct event_conversion *conversion,
			   bool whole)
{
	struct event_op *op = add_value(c, OP_SYMBOL, conversion, take_value(c, 8, false));

	if (op)
		op->whole = whole;
	return op;
}

/*
 * The kernel prints a hash, which only the kernel can compute. The library prints the address.
 * If the record does not have the address, the library prints what the kernel does as long as it
 * cannot compute hashes.
 */
static bool compile_pointer(struct compiler *c, struct event_conversion *conversion)
{
	struct event_value *value = take_value(c, 8, false);

	if (!value)
		return compile_literal(c, conversion, "(____ptrval____)");
	*conversion = (struct event_conversion){
		.width = 2 * tep_get_long_size(c->d->tep), .zeros = true, .base = 16, .bits = 64,
	};
	return add_value(c, OP_NUMBER, conversion, value);
}

/* "%*ph", "%*pbl": the width is how many bytes or bits there are. */
static bool compile_counted(struct compiler *c, struct event_conversion *conversion,
			    const char *letters)
{
	bool bits = !strcmp(letters, "bl");
	struct event_conversion plain = { .is_plain = true };
	struct event_op *op;

	op = add_place(c, bits ? OP_BITS : OP_HEX, &plain, array_of(c, take_arg(c)), NULL);
	if (!op)
		return false;
	op->value = conversion->asked;
	if (!op->value) {
		op->value = new_value(c, VALUE_CONSTANT);
		if (!op->value)
			return false;
		op->value->number = conversion->width;
	}
	op->text = letters[1] == 'C' ? ":" : letters[1] == 'D' ? "-" : letters[1] == 'N' ? "" : " ";
	op->length = strlen(op->text);
	return true;
}

static bool compile_address(struct compiler *c, const struct event_conversion *conversion,
			    const char *letters)
{
	struct event_op *op;

	if (!event_address_size(letters))
		return false;
	op = add_place(c, OP_ADDRESS, conversion, array_of(c, take_arg(c)), NULL);
	if (!op)
		return false;
	op->text = pad(c, letters, strlen(letters) + 1);
	return op->text;
}

/* What is behind "%p" */
static const char *compile_extended(struct compiler *c, struct event_conversion *conversion,
				    const char *at)
{
	char letters[8] = "";
	bool done;

	for (unsigned int i = 0; isalnum((unsigned char)*at); i++) {
		if (i + 1 >= sizeof(letters))
			return NULL;
		letters[i] = *at++;
	}
	if (!*letters || !strcmp(letters, "K") || !strcmp(letters, "x"))
		done = compile_pointer(c, conversion);
	else if (!strcmp(letters, "s") || !strcmp(letters, "S") ||
		 (!strcmp(letters, "B") && !c->printk))
		done = compile_symbol(c, conversion, *letters != 's');
	else if (c->printk)	/* It has recorded the text, but for the name of an error. */
		done = strcmp(letters, "e") && compile_string(c, conversion, take_arg(c));
	else if (*letters == 'h' || !strcmp(letters, "bl"))
		done = compile_counted(c, conversion, letters);
	else
		done = compile_address(c, conversion, letters);
	return done ? at : NULL;
}

/* Compile a conversion, at its %. Returns what follows it, or NULL if it is not known here. */
static const char *compile_conversion(struct compiler *c, const char *at)
{
	struct event_conversion conversion = { 0 };
	bool done;

	at = parse_flags(at + 1, &conversion);
	at = parse_width(c, at, &conversion.width, &conversion.asked);
	at = parse_precision(c, at, &conversion);
	if (!at)
		return NULL;
	at = parse_bits(at, &conversion);
	conversion.is_plain = !conversion.width && !conversion.left && !conversion.zeros &&
		!conversion.prefixed && !conversion.asked && !conversion.precision &&
		*at != 'X' && *at != 'o';
	if (*at == 'p')
		return compile_extended(c, &conversion, at + 1);
	if (*at == 's')
		done = compile_string(c, &conversion, take_arg(c));
	else if (*at == 'c')
		done = compile_char(c, &conversion);
	else
		done = *at && strchr("diuxXo", *at) && compile_number(c, &conversion, *at);
	return done ? at + 1 : NULL;
}

static const char *skip_quote(const struct compiler *c, const char *at)
{
	const struct event_program *p = c->program;
	const struct event_op *last = p->nr_ops ? &p->ops[p->nr_ops - 1] : NULL;

	return at && c->probe && last && last->kind == OP_ARRAY && last->whole &&
	       !strncmp(at, "\\\"", 2) ? at + 2 : at;
}

static bool compile_format(struct compiler *c, const char *at)
{
	while (at && *at) {
		at = compile_text(c, at);
		if (at && *at)
			at = skip_quote(c, compile_conversion(c, at));
	}
	return at && add_op(c, OP_END);
}

/* ---- Programs ---- */

/* How long every record is at least, if it is whole. */
static bool compile_size(struct compiler *c)
{
	struct tep_format_field *field;

	for (field = c->event->format.fields; field; field = field->next) {
		uint32_t end = field->offset + field->size;

		if (field->offset < 0 || field->size < 0 || end > UINT16_MAX)
			return false;
		if (end > c->program->size)
			c->program->size = end;
	}
	return true;
}

/* A printk carries its arguments behind the address of its format. */
static bool find_arguments(struct compiler *c)
{
	return !c->printk ||
	       find_place(c, tep_find_field(c->event, "buf"), &c->program->arguments);
}

static struct event_program *compile(struct compiler *c, const char *format)
{
	if (!format || c->event->flags & TEP_EVENT_FL_FAILED)
		return NULL;
	c->program = calloc(1, sizeof(*c->program));
	if (!c->program)
		return NULL;
	if (compile_size(c) && find_arguments(c) && compile_format(c, format))
		return c->program;
	event_program_free(c->program);
	return NULL;
}

struct event_program *event_compile(struct tracemap_decoder *d, struct tep_event *event)
{
	struct compiler c = {
		.d = d, .event = event, .arg = event->print_fmt.args,
		.probe = tep_find_field(event, "__probe_ip") ||
			 tep_find_field(event, "__probe_ret_ip"),
	};

	return compile(&c, event->print_fmt.format);
}

struct event_program *event_compile_printk(struct tracemap_decoder *d, struct tep_event *event,
					   const char *format)
{
	struct compiler c = { .d = d, .event = event, .printk = true };

	return compile(&c, format);
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

/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * A program is the compiled print format of an event: it writes the text of an event
 * without interpreting the format each time.
 *
 * It is a list of operations, each of which appends to the line. event_compile.c makes it
 * from what libtraceevent has parsed, and event_program.c runs it. The text is that of
 * libtraceevent, byte for byte, except where that forgets the sign of a field that is below
 * 0, or does not know %c. A format has no program if it contains anything that has no
 * operation here. libtraceevent also writes the text of a record that does not fit the
 * program of its event.
 *
 * Everything that a program points to belongs to it or to the tep_event of libtraceevent,
 * which lives as long as the decoder.
 */
#ifndef _TRACEMAP_EVENT_PROGRAM_H
#define _TRACEMAP_EVENT_PROGRAM_H

#include "event.h"

/* ---- Numbers of 64 bits; those of signed fields have their sign, as in C ---- */

enum event_value_kind {
	VALUE_CONSTANT,		/* number */
	VALUE_FIELD,		/* the size bytes at offset */
	VALUE_ELEMENT,		/* the element with index left of the array at offset */
	VALUE_LENGTH,		/* how many bytes the dynamic field at offset has */
	VALUE_MASK,		/* left & number: a cast */
	VALUE_CHOICE,		/* left ? right : other */
	VALUE_NOT,		/* this and the next take right */
	VALUE_INVERT,
	VALUE_AND,		/* this and all that follow take left and right */
	VALUE_OR,
	VALUE_BIT_AND,
	VALUE_BIT_OR,
	VALUE_SHIFT_LEFT,
	VALUE_SHIFT_RIGHT,
	VALUE_EQUAL,
	VALUE_UNEQUAL,
	VALUE_LESS,
	VALUE_LESS_EQUAL,
	VALUE_GREATER,
	VALUE_GREATER_EQUAL,
	VALUE_ADD,
	VALUE_SUBTRACT,
	VALUE_MULTIPLY,
	VALUE_DIVIDE,		/* this and the next are by a constant that is not 0 */
	VALUE_REMAINDER,
};

struct event_value {
	enum event_value_kind kind;
	uint32_t offset;
	uint32_t size;
	bool is_signed;		/* of a field, an element and their quotient by a constant */
	uint64_t number;	/* of VALUE_ELEMENT: how many elements the array has */
	struct event_value *left, *right, *other;
};

/* ---- Operations ---- */

enum event_op_kind {
	OP_END,
	OP_TEXT,		/* text, which has length bytes and is padded */
	OP_STRING,		/* text, by the conversion of a string */
	OP_NUMBER,		/* value, by the conversion of a number */
	OP_CHAR,		/* the character value, by the conversion of a string */
	OP_SYMBOL,		/* the symbol at the address value; if whole, offset and size */
	OP_ARRAY,		/* the string of up to length bytes at offset; 0: to the end */
	OP_DYNAMIC,		/* the string that the word at offset points to, from base on */
	OP_SYMBOLIC,		/* the name that value has in table */
	OP_FLAGS,		/* the names of the bits of value in table, with text between */
	OP_UNLESS,		/* go on at target if value is 0 */
	OP_JUMP,		/* go on at target */
};

/* A conversion of printf(); that of a string has a width, left and a precision only. */
struct event_conversion {
	bool is_plain;		/* only base, bits and is_signed matter */
	uint32_t width;
	bool left;		/* "-" */
	bool zeros;		/* "0" */
	bool prefixed;		/* "#" */
	bool is_signed;
	bool upper;
	bool limited;		/* it has a precision */
	unsigned char base;	/* 8, 10 or 16 */
	unsigned char bits;	/* bits of the argument: 8, 16, 32 or 64 */
	struct event_value *precision;	/* NULL: it has none */
};

struct event_name {
	uint64_t value;
	const char *text;	/* padded, see event_line_put_padded() */
	size_t length;
};

struct event_table {
	unsigned int nr;
	struct event_name names[];
};

struct event_op {
	enum event_op_kind kind;
	bool whole;
	struct event_conversion conversion;
	struct event_value *value;
	const char *text;
	uint32_t length;
	uint32_t offset;
	uint32_t base;
	unsigned int target;
	struct event_table *table;
};

/* A dynamic field, which must lie within the record. */
struct event_dynamic {
	uint32_t offset;
	uint32_t base;
	bool is_text;		/* it is a string, which must end within the field */
};

struct event_program {
	struct event_op *ops;
	unsigned int nr_ops;
	struct event_dynamic *dynamics;
	unsigned int nr_dynamics;
	uint32_t size;			/* bytes that a record must have at least */
	struct event_block *blocks;	/* memory of the values and tables */
};

/*
 * Compile @format, the string of the print format of @event. Returns NULL if it cannot be
 * compiled, or if there is no memory.
 */
struct event_program *event_compile(struct tep_event *event, const char *format);
void event_program_free(struct event_program *p);

/* Compute @v, which needs no record. */
uint64_t event_value_constant(const struct event_value *v);

/*
 * Append the text of @rec. Returns false if the record does not fit the program: the caller
 * then takes back what may have been appended.
 */
bool event_program_run(const struct event_program *p, struct tracemap_decoder *d,
		       const struct tracemap_record *rec, struct tracemap_line *line);

#endif /* _TRACEMAP_EVENT_PROGRAM_H */

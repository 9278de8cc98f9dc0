/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * A program: the print format of an event, compiled, so that its text is written
 * without looking anything up or interpreting a format again.
 *
 * It is a list of operations that each append to the line. event_compile.c makes it of
 * what libtraceevent has parsed, event_program.c runs it. The text is that of
 * libtraceevent, byte by byte. A format with anything else in it than what is here has
 * no program, and a record that does not fit its program is left to libtraceevent.
 *
 * What a program points to is its own, or belongs to libtraceevent's event and lives as
 * long as the decoder.
 */
#ifndef _TRACEMAP_EVENT_PROGRAM_H
#define _TRACEMAP_EVENT_PROGRAM_H

#include "event.h"

/* ---- Numbers, unsigned and of 64 bits, as libtraceevent computes them ---- */

enum event_value_kind {
	VALUE_CONSTANT,		/* number */
	VALUE_FIELD,		/* size bytes at offset */
	VALUE_ELEMENT,		/* the same, of the element number left of an array */
	VALUE_LENGTH,		/* bytes of the dynamic field at offset */
	VALUE_MASK,		/* left & number: a cast */
	VALUE_CHOICE,		/* left ? right : other */
	VALUE_NOT,		/* of right, as the next */
	VALUE_INVERT,
	VALUE_AND,		/* of left and right, as all that follow */
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
	VALUE_DIVIDE,		/* by a constant that is not 0, as the next */
	VALUE_REMAINDER,
};

struct event_value {
	enum event_value_kind kind;
	uint32_t offset;
	uint32_t size;
	uint64_t number;	/* of VALUE_ELEMENT: elements there are */
	struct event_value *left, *right, *other;
};

/* ---- Operations ---- */

enum event_op_kind {
	OP_END,
	OP_TEXT,		/* text, of length bytes, padded */
	OP_STRING,		/* the same as a string */
	OP_NUMBER,		/* value, by format */
	OP_SYMBOL,		/* name of the address value, whole: with offset and size */
	OP_ARRAY,		/* string of up to length bytes at offset; 0: to the end */
	OP_DYNAMIC,		/* string that the word at offset points to, from base on */
	OP_SYMBOLIC,		/* name of value in table */
	OP_FLAGS,		/* names of the bits of value in table, text between them */
	OP_UNLESS,		/* go on at target if value is 0 */
	OP_JUMP,		/* go on at target */
};

/* A conversion of printf(): of a number, or with width, left and precision of a string. */
struct event_conversion {
	bool is_plain;		/* nothing else of this but base, bits, is_signed */
	uint32_t width;
	bool left;		/* "-" */
	bool zeros;		/* "0" */
	bool prefixed;		/* "#" */
	bool is_signed;
	bool upper;
	bool limited;		/* precision */
	unsigned char base;	/* 8, 10, 16 */
	unsigned char bits;	/* of the argument: 8, 16, 32, 64 */
	struct event_value *precision;	/* NULL: none */
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

/* A dynamic field, that must be within the record. */
struct event_dynamic {
	uint32_t offset;
	uint32_t base;
	bool is_text;		/* and it must have an end */
};

struct event_program {
	struct event_op *ops;
	unsigned int nr_ops;
	struct event_dynamic *dynamics;
	unsigned int nr_dynamics;
	uint32_t size;			/* bytes a record has at least */
	struct event_block *blocks;	/* of values and tables */
};

/* NULL: it cannot be compiled, or there is no memory. */
struct event_program *event_compile(struct tep_event *event);
void event_program_free(struct event_program *p);

/* Of @v when it needs no record. */
uint64_t event_value_constant(const struct event_value *v);

/*
 * Append the text of @rec. False: it does not fit, and some of it may have been appended,
 * which the caller takes back.
 */
bool event_program_run(const struct event_program *p, struct tracemap_decoder *d,
		       const struct tracemap_record *rec, struct tracemap_line *line);

#endif /* _TRACEMAP_EVENT_PROGRAM_H */

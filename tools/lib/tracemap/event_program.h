/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * A program is the compiled print format of an event: it writes the text of an event
 * without interpreting the format each time.
 *
 * It is a list of operations, each of which appends to the line. event_compile.c makes it
 * from what libtraceevent has parsed, and event_program.c runs it. The text is what the kernel
 * prints: numbers have the types of C. A format has no program if it contains anything that
 * has no operation here: then the fields are printed as name=value.
 *
 * No record is believed. What a program reads lies within the record, whatever the record
 * says, and no division fails: such a record is damaged, and its text says so.
 *
 * Everything that a program points to belongs to it or to the tep_event of libtraceevent,
 * which lives as long as the decoder.
 */
#ifndef _TRACEMAP_EVENT_PROGRAM_H
#define _TRACEMAP_EVENT_PROGRAM_H

#include "event.h"

/* ---- Numbers ---- */

/* The types of C that arithmetic has: of 64 bits or 32, with a sign or without */
struct event_type {
	bool wide;
	bool is_signed;
};

enum event_value_kind {
	VALUE_CONSTANT,		/* number */
	VALUE_FIELD,		/* the size bytes at offset */
	VALUE_ELEMENT,		/* the element with index left of the array in bytes */
	VALUE_LENGTH,		/* how many bytes the dynamic field in bytes has */
	VALUE_NEXT,		/* the next size bytes of the arguments of a printk() */
	VALUE_CAST,		/* size bytes of left */
	VALUE_CHOICE,		/* left ? right : other */
	VALUE_NOT,		/* this and the next take right */
	VALUE_INVERT,
	VALUE_AND,		/* this and all that follow take left and right */
	VALUE_OR,
	VALUE_EQUAL,
	VALUE_UNEQUAL,
	VALUE_LESS,
	VALUE_LESS_EQUAL,
	VALUE_GREATER,
	VALUE_GREATER_EQUAL,
	VALUE_BIT_AND,
	VALUE_BIT_OR,
	VALUE_BIT_XOR,
	VALUE_SHIFT_LEFT,
	VALUE_SHIFT_RIGHT,
	VALUE_ADD,
	VALUE_SUBTRACT,
	VALUE_MULTIPLY,
	VALUE_DIVIDE,
	VALUE_REMAINDER,
};

/* Where an array is: in the record itself, or where a word of the record says */
struct event_place {
	uint32_t offset;	/* of the array, or of that word */
	uint32_t size;		/* 0: to the end of the record */
	bool dynamic;
	uint32_t base;		/* what the offset in the word counts from */
};

struct event_value {
	enum event_value_kind kind;
	struct event_type type;		/* of the result */
	struct event_type operands;	/* what left and right are converted to */
	uint32_t offset;
	uint32_t size;
	bool is_signed;			/* what is loaded or cast */
	uint64_t number;
	struct event_place place;
	struct event_value *left, *right, *other;
};

/* ---- Operations ---- */

enum event_op_kind {
	OP_END,
	OP_TEXT,		/* text, which has length bytes and is padded */
	OP_NUMBER,		/* value, by the conversion of a number */
	OP_UNLESS,		/* go on at target if value is 0 */
	OP_JUMP,		/* go on at target */
	/* All that follow are strings, and have the conversion of one. */
	OP_STRING,		/* text */
	OP_CHAR,		/* the character value */
	OP_SYMBOL,		/* the symbol at the address value; if whole, offset and size */
	OP_POINTED,		/* the string at the address value, which the kernel has told */
	OP_ARRAY,		/* the string in place; if whole, in quotes, or else a fault */
	OP_NEXT,		/* the next string of the arguments of a printk() */
	OP_SYMBOLIC,		/* the name that value has in table */
	OP_FLAGS,		/* the names of the bits of value in table, with text between */
	OP_HEX,			/* value bytes of place, with text between */
	OP_LIST,		/* value elements of place, which have size bytes */
	OP_MASK,		/* the bits of place, as words */
	OP_BITS,		/* the numbers of the bits that are set of value bits of place */
	OP_ADDRESS,		/* of a network or a device, by the letters text, in place */
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
	unsigned char base;	/* 8, 10 or 16 */
	unsigned char bits;	/* bits of the argument: 8, 16, 32 or 64 */
	struct event_value *asked;	/* the width of "*", or NULL */
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
	uint32_t size;
	struct event_place place;
	unsigned int target;
	struct event_table *table;
};

struct event_program {
	struct event_op *ops;
	unsigned int nr_ops;
	uint32_t size;			/* bytes that a record must have at least */
	struct event_place arguments;	/* of a printk(), see VALUE_NEXT */
	struct event_block *blocks;	/* memory of the values and tables */
};

/*
 * Compile the print format of @event. Returns NULL if it cannot be compiled, or if there is no
 * memory. The one for printk() compiles @format, whose arguments are in @event's field "buf".
 */
struct event_program *event_compile(struct tracemap_decoder *d, struct tep_event *event);
struct event_program *event_compile_printk(struct tracemap_decoder *d, struct tep_event *event,
					   const char *format);
void event_program_free(struct event_program *p);

/* Compute @v, which needs no record. */
uint64_t event_value_constant(const struct event_value *v);

/*
 * Append the text of @rec. Returns false if the record is damaged: then what there is of it was
 * appended, or nothing if it is too short.
 */
bool event_program_run(const struct event_program *p, struct tracemap_decoder *d,
		       const struct tracemap_record *rec, struct tracemap_line *line);

/* event_address.c: append the address that %p and @letters print of @data; false: it is short */
bool event_put_address(struct tracemap_line *line, const char *letters,
		       const unsigned char *data, uint32_t size);

/* Whether there is such an address, and how many bytes it has at least */
uint32_t event_address_size(const char *letters);

#endif /* _TRACEMAP_EVENT_PROGRAM_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read the value of a field, given by its name, from events of any kind.
 */
#ifndef _TRACEMAP_FIELDS_H
#define _TRACEMAP_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include <tracemap-event.h>

#define NR_IDS	65536		/* of events: the kernel has 16 bits for them */

struct tep_event;
struct tep_format_field;

enum field_kind {
	FIELD_NOT_LOOKED,
	FIELD_NONE,
	FIELD_NUMBER,
	FIELD_TEXT,
	FIELD_BYTES,		/* of another array, or a struct */
};

/* A field of the events of a kind */
struct field_place {
	const struct tep_format_field *field;	/* NULL: they have none such */
	enum field_kind kind;
	bool is_address;
};

/**
 * struct fields - where a field is in the events that have it
 * @name: its name
 * @decoder: what knows the formats of the events
 */
struct fields {
	const char *name;
	struct tracemap_decoder *decoder;

	/* private: */
	struct field_place *places;	/* by the id of the event */
	unsigned int nr;
};

/**
 * struct field_value - the value of a field
 * @text: the text, of @length bytes, within the event, without a newline at its end; NULL if it
 *	is a number
 * @length: bytes of @text
 * @number: the number; a signed one has all 64 bits
 * @is_signed: whether the number is signed
 * @is_address: whether the number is an address
 */
struct field_value {
	const char *text;
	uint32_t length;
	uint64_t number;
	bool is_signed, is_address;
};

/* Returns whether the field, which may be NULL, is a number or a text. */
bool field_place_set(struct field_place *place, const struct tep_format_field *field);

/* Returns whether @event has the field, and it is a number or a text. */
bool field_place_find(struct field_place *place, struct tep_event *event, const char *name);

/* Returns whether the event, which is of that kind, has the whole field. */
bool field_place_get(const struct field_place *place, const struct tracemap_record *rec,
		     struct field_value *value);

/*
 * Set @text and @length to all bytes of a field that is no number, be it a text, another array or
 * a struct. Returns whether the event has the whole field.
 */
bool field_place_bytes(const struct field_place *place, const struct tracemap_record *rec,
		       struct field_value *value);

/* What field_place_get() does, for an event of any kind */
bool fields_get(struct fields *f, const struct tracemap_record *rec, struct field_value *value);

/* Whether events with this id have the field, and it is a number or a text */
bool fields_has(struct fields *f, int id);
void fields_free(struct fields *f);

#endif /* _TRACEMAP_FIELDS_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Find a field in the formats of the events, and read it.
 */
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "fields.h"

enum field_kind {
	FIELD_NOT_LOOKED,
	FIELD_NONE,
	FIELD_NUMBER,
	FIELD_ARRAY,		/* of characters or other bytes */
	FIELD_DYNAMIC,		/* a word has length and offset of the bytes */
	FIELD_RELATIVE,		/* the same, with the offset from the end of the word */
};

/* Addresses of code are numbers in some formats, but have these names then. */
static bool is_address(const struct tep_format_field *field)
{
	return field->flags & TEP_FIELD_IS_POINTER || !strcmp(field->name, "ip") ||
		!strcmp(field->name, "parent_ip") || !strcmp(field->name, "func");
}

static bool is_number(const struct tep_format_field *field)
{
	return !(field->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) &&
		(field->size == 1 || field->size == 2 || field->size == 4 || field->size == 8);
}

static enum field_kind kind_of(const struct tep_format_field *field)
{
	if (!field)
		return FIELD_NONE;
	if (is_number(field))
		return FIELD_NUMBER;
	if (!(field->flags & TEP_FIELD_IS_DYNAMIC))
		return FIELD_ARRAY;
	return field->flags & TEP_FIELD_IS_RELATIVE ? FIELD_RELATIVE : FIELD_DYNAMIC;
}

static bool has_value(const struct field_place *place)
{
	return place->kind == FIELD_NUMBER || place->is_text;
}

bool field_place_set(struct field_place *place, const struct tep_format_field *field)
{
	*place = (struct field_place){ .kind = kind_of(field) };
	if (!field)
		return false;
	place->is_text = place->kind != FIELD_NUMBER && event_is_text(field);
	place->is_signed = field->flags & TEP_FIELD_IS_SIGNED;
	place->is_address = is_address(field);
	place->offset = field->offset;
	place->size = field->size;
	return has_value(place);
}

bool field_place_find(struct field_place *place, struct tep_event *event, const char *name)
{
	return field_place_set(place, tep_find_any_field(event, name));
}

bool field_place_is_text(const struct field_place *place)
{
	return place->is_text;
}

/* Look again for an event that is not known yet; the decoder limits how often. */
static void look(struct fields *f, int id, struct field_place *place)
{
	struct tep_event *event = tracemap_decoder_event(f->decoder, id);

	if (event)
		field_place_find(place, event, f->name);
}

static const struct field_place *place_of(struct fields *f, int id)
{
	if (id < 0 || id >= NR_IDS)
		return NULL;
	if (!f->places)
		f->places = calloc(NR_IDS, sizeof(*f->places));
	if (f->places && f->places[id].kind == FIELD_NOT_LOOKED)
		look(f, id, &f->places[id]);
	return f->places ? &f->places[id] : NULL;
}

bool fields_has(struct fields *f, int id)
{
	const struct field_place *place = place_of(f, id);

	return place && has_value(place);
}

static void load_number(const struct field_place *place, const unsigned char *at,
			struct field_value *value)
{
	uint32_t word;
	uint16_t half;

	switch (place->size) {
	case 1:
		value->number = place->is_signed ? (uint64_t)(int8_t)*at : *at;
		break;
	case 2:
		memcpy(&half, at, sizeof(half));
		value->number = place->is_signed ? (uint64_t)(int16_t)half : half;
		break;
	case 4:
		memcpy(&word, at, sizeof(word));
		value->number = place->is_signed ? (uint64_t)(int32_t)word : word;
		break;
	default:
		memcpy(&value->number, at, sizeof(value->number));
	}
}

/* The bytes of a dynamic field lie within the event, or it is damaged. */
static bool follow(const struct field_place *place, const unsigned char *data, uint32_t size,
		   struct field_value *value)
{
	uint32_t word, offset;

	if (place->size < sizeof(word))
		return false;
	memcpy(&word, data + place->offset, sizeof(word));
	offset = word & 0xffff;
	if (place->kind == FIELD_RELATIVE)
		offset += place->offset + sizeof(word);
	if (offset > size || word >> 16 > size - offset)
		return false;
	value->text = (const char *)data + offset;
	value->length = word >> 16;
	return true;
}

static bool is_whole(const struct field_place *place, uint32_t size)
{
	return (uint32_t)place->offset + place->size <= size;
}

bool field_place_bytes(const struct field_place *place, const void *data, uint32_t size,
		       struct field_value *value)
{
	if (place->kind < FIELD_ARRAY || !is_whole(place, size))
		return false;
	value->text = (const char *)data + place->offset;
	value->length = place->size;
	if (!place->size)	/* it goes up to the end of the event */
		value->length = size - place->offset;
	return place->kind == FIELD_ARRAY || follow(place, data, size, value);
}

static bool load_text(const struct field_place *place, const unsigned char *data, uint32_t size,
		      struct field_value *value)
{
	if (!field_place_bytes(place, data, size, value))
		return false;
	value->length = strnlen(value->text, value->length);
	if (value->length && value->text[value->length - 1] == '\n')
		value->length--;
	return true;
}

bool field_place_get(const struct field_place *place, const void *data, uint32_t size,
		     struct field_value *value)
{
	if (!has_value(place) || !is_whole(place, size))
		return false;
	value->text = NULL;
	value->is_signed = place->is_signed;
	value->is_address = place->is_address;
	if (place->is_text)
		return load_text(place, data, size, value);
	load_number(place, (const unsigned char *)data + place->offset, value);
	return true;
}

bool fields_get(struct fields *f, const void *data, uint32_t size, struct field_value *value)
{
	const struct field_place *place;
	uint16_t id;

	if (size < sizeof(id))
		return false;
	memcpy(&id, data, sizeof(id));
	place = place_of(f, id);
	return place && field_place_get(place, data, size, value);
}

void fields_free(struct fields *f)
{
	free(f->places);
	f->places = NULL;
}

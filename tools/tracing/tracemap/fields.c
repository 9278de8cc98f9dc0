// SPDX-License-Identifier: GPL-2.0
/*
 * Find a field in the formats of the events, and read it.
 */
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "fields.h"

/* Addresses of code are numbers in some formats, but have these names then. */
static bool is_address(const struct tep_format_field *field)
{
	return field->flags & TEP_FIELD_IS_POINTER || !strcmp(field->name, "ip") ||
		!strcmp(field->name, "parent_ip") || !strcmp(field->name, "func");
}

static enum field_kind kind_of(const struct tep_format_field *field)
{
	if (!field)
		return FIELD_NONE;
	if (!(field->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) &&
	    event_is_number(field->size))
		return FIELD_NUMBER;
	return event_is_text(field) ? FIELD_TEXT : FIELD_BYTES;
}

static bool has_value(const struct field_place *place)
{
	return place->kind == FIELD_NUMBER || place->kind == FIELD_TEXT;
}

bool field_place_set(struct field_place *place, const struct tep_format_field *field)
{
	*place = (struct field_place){
		.field = field, .kind = kind_of(field), .is_address = field && is_address(field),
	};
	return has_value(place);
}

bool field_place_find(struct field_place *place, struct tep_event *event, const char *name)
{
	return field_place_set(place, tep_find_any_field(event, name));
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

bool field_place_bytes(const struct field_place *place, const struct tracemap_record *rec,
		       struct field_value *value)
{
	struct event_bytes bytes;

	if (place->kind < FIELD_TEXT)
		return false;
	bytes = event_field_bytes(place->field, rec);
	value->text = (const char *)bytes.data;
	value->length = bytes.length;
	return bytes.length >= 0;
}

bool field_place_get(const struct field_place *place, const struct tracemap_record *rec,
		     struct field_value *value)
{
	if (!has_value(place))
		return false;
	value->text = NULL;
	value->is_signed = place->field->flags & TEP_FIELD_IS_SIGNED;
	value->is_address = place->is_address;
	if (place->kind == FIELD_NUMBER)
		return event_number(place->field, rec, &value->number);
	if (!field_place_bytes(place, rec, value))
		return false;
	value->length = strnlen(value->text, value->length);
	if (value->length && value->text[value->length - 1] == '\n')
		value->length--;
	return true;
}

bool fields_get(struct fields *f, const struct tracemap_record *rec, struct field_value *value)
{
	const struct field_place *place = place_of(f, tracemap_record_id(rec));

	return place && field_place_get(place, rec, value);
}

void fields_free(struct fields *f)
{
	free(f->places);
	f->places = NULL;
}

// SPDX-License-Identifier: LGPL-2.1
/*
 * A decoder for what another library has read from a file: formats, and the names of
 * processes and functions, come from the libtraceevent handle that the other library has
 * filled.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "event.h"

const char *event_tep_comm(const struct tracemap_decoder *d, int pid)
{
	const char *comm = tep_data_comm_from_pid(d->tep, pid);

	return comm && strcmp(comm, "<...>") ? comm : "";
}

#define NR_SIZES	4096		/* how many are remembered, a power of two */
#define PAGE		4096		/* of the machine that recorded; the file does not say */
#define SIZE_MAX_LOOKED	(1 << 24)	/* no function is larger */

struct event_size {
	uint64_t start, size;
};

/*
 * libtraceevent does not return the size: bisect for where another function begins. Of the
 * last function it knows only the first byte: take the rest of its page, see end_of() in
 * event_symbol.c.
 */
static uint64_t find_size(struct tep_handle *tep, uint64_t start)
{
	uint64_t low = 0, high = 1;

	if (!tep_find_function(tep, start + 1))
		return PAGE - start % PAGE;

	while (high <= SIZE_MAX_LOOKED && tep_find_function_address(tep, start + high) == start) {
		low = high;
		high *= 2;
	}
	if (high > SIZE_MAX_LOOKED)
		return 0;
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (tep_find_function_address(tep, start + middle) == start)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static uint64_t size_of(struct tracemap_decoder *d, uint64_t start)
{
	struct event_size *known = &d->sizes[(start >> 4 ^ start >> 16) % NR_SIZES];

	if (known->start != start)
		*known = (struct event_size){ start, find_size(d->tep, start) };
	return known->size;
}

/* The name is copied, so that there are bytes behind it. */
bool event_tep_symbol(struct tracemap_decoder *d, uint64_t address, struct event_symbol *symbol)
{
	const char *name = tep_find_function(d->tep, address);
	uint64_t start = tep_find_function_address(d->tep, address);

	if (!name)
		return false;
	*symbol = (struct event_symbol){
		.address = start,
		.size = size_of(d, start),
		.name = d->name,
		.length = strnlen(name, sizeof(d->name) - EVENT_PAD),
	};
	memcpy(d->name, name, symbol->length);
	d->name[symbol->length] = '\0';
	return true;
}

static int set_up(struct tracemap_decoder *d, struct tep_handle *tep, const char *tracer,
		  const char *clock)
{
	d->borrowed = true;
	d->tep = tep;
	if (tep_is_file_bigendian(tep) != tep_is_local_bigendian(tep))
		return -EINVAL;
	if (event_find_common(d))
		return -ENOENT;
	d->sizes = calloc(NR_SIZES, sizeof(*d->sizes));
	if (!d->sizes || event_comms_init(d))
		return -ENOMEM;
	d->in_ns = !clock || clock_counts_ns(clock);
	return event_graph_init(d, tracer ? tracer : "nop");
}

int tracemap_decoder_new_tep(struct tracemap_decoder **d, struct tep_handle *tep,
			     const char *tracer, const char *clock)
{
	int ret;

	*d = calloc(1, sizeof(**d));
	if (!*d)
		return -ENOMEM;
	ret = set_up(*d, tep, tracer, clock);
	if (ret) {
		tracemap_decoder_free(*d);
		*d = NULL;
	}
	return ret;
}

// SPDX-License-Identifier: GPL-2.0
/* The event of the module bench_event, and the sizes of records. */
#include <errno.h>

#include "bench.h"

enum {
	RECORD_WORD	= 4,	/* tells time and size */
	EVENT_FIELDS	= 12,	/* the common ones, and where the payload is */
	MARK_FIELDS	= 12,	/* the common ones, and room for the tag */
	SMALL		= 112,	/* up to here the first word tells the size */
};

int event_fire(unsigned int count, unsigned int payload)
{
	return file_write(EVENT_DIR "fire", "%u %u", count, payload);
}

static unsigned int record_data(unsigned int record)
{
	return record - RECORD_WORD * (record - RECORD_WORD <= SMALL ? 1 : 2);
}

/* The payload that makes a record of so many bytes. */
unsigned int event_payload(unsigned int record)
{
	return record_data(record) - EVENT_FIELDS;
}

/* The same for trace_marker_raw, from 32 bytes up. */
unsigned int mark_payload(unsigned int record)
{
	return record_data(record) - MARK_FIELDS;
}

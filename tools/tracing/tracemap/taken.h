/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The events that a snapshot has consumed, copied before the first is printed: no other reader
 * gets them any more, so the writers that go on and a signal must not lose them.
 */
#ifndef _TRACEMAP_TAKEN_H
#define _TRACEMAP_TAKEN_H

#include "bytes.h"
#include "snapshot.h"

/**
 * struct taken - what was taken of a CPU
 * @cpu: its number
 * @records: the head of a record and the bytes of the event, one behind the other
 * @at: where the next one is
 * @missed: the loss that the next record has to report
 */
struct taken {
	int cpu;
	struct bytes records;
	size_t at;
	uint64_t missed;
};

/*
 * Take what the CPU with this index had when the snapshot was asked for, or less if a signal
 * comes: s->stopped is set then. Returns 0, or a negative errno that was reported.
 */
int taken_fill(struct taken *taken, struct snapshot *s, unsigned int i);

/* For a struct tracemap_source: the next record, or -ENODATA. */
int taken_next(void *arg, struct tracemap_record *rec);
void taken_free(struct taken *taken);

#endif /* _TRACEMAP_TAKEN_H */

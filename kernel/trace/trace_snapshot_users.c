// SPDX-License-Identifier: GPL-2.0
/*
 * Who may swap the buffers of a trace array, and who needs them to stay.
 *
 * A snapshot swaps the live buffer with the spare one. A program that has
 * mapped the live buffer would go on reading the spare, so an instance has
 * either snapshot users or mappings, never both:
 *
 *   snapshot_users	what may take a snapshot without asking again: an event
 *			trigger, a function probe, a conditional snapshot, a
 *			latency tracer, and a write to the "snapshot" file for
 *			as long as it lasts
 *   mappings		every memory mapping of every CPU's buffer, the copies
 *			that fork() made included
 *
 * A snapshot that was taken earlier and is kept is no user: nothing is going
 * to swap.
 *
 * Locking
 *
 * Both counts are changed under tr->max_lock with interrupts off. The swap
 * (update_max_tr(), update_max_tr_single()) runs under the same lock and looks
 * at tr->mappings again before it swaps. That covers in-kernel callers of
 * tracing_snapshot(), who are not counted: they find either no mapping, and
 * then the mapping reads tr->array_buffer.buffer after the swap, or a mapping,
 * and then they do not swap. Nobody has to wait for a grace period.
 *
 * For the same reason a mapping must raise the count before it looks at
 * tr->array_buffer.buffer, and drop it after it has let go of the buffer.
 *
 * Context
 *
 *   trace_mapping_get/dup/put()	process, under mmap_lock: they do not
 *					sleep, and trace_types_lock is out of
 *					reach
 *   tracing_arm_snapshot()		process, takes trace_types_lock
 *   trace_snapshot_user_get/put(),	process, whatever lock is held
 *   tracing_disarm_snapshot()
 *   update_max_tr*()			interrupts off, anything but NMI
 *
 * Lock order: mmap_lock, then the mapping's lock, then buffer->mutex, then
 * reader_lock. tr->max_lock is a leaf for everybody here.
 *
 * The snapshot buffer is not part of this: tr->allocated_snapshot is guarded by
 * trace_types_lock alone. A user is counted before it is given the buffer, under
 * that lock: a caller that holds it and finds no user may free the buffer.
 */
#include "trace.h"

static unsigned long lock_counts(struct trace_array *tr)
{
	unsigned long flags;

	local_irq_save(flags);
	arch_spin_lock(&tr->max_lock);
	return flags;
}

static void unlock_counts(struct trace_array *tr, unsigned long flags)
{
	arch_spin_unlock(&tr->max_lock);
	local_irq_restore(flags);
}

/* Raise @count unless @excluded says that the other side is in. */
static int get_unless(struct trace_array *tr, unsigned int *count,
		      const unsigned int *excluded)
{
	unsigned long flags = lock_counts(tr);
	int ret = 0;

	if (*excluded)
		ret = -EBUSY;
	else if (*count == UINT_MAX)
		ret = -EOVERFLOW;
	else
		WRITE_ONCE(*count, *count + 1);

	unlock_counts(tr, flags);
	return ret;
}

static void put_count(struct trace_array *tr, unsigned int *count)
{
	unsigned long flags = lock_counts(tr);
	bool underflow = !*count;

	if (!underflow)
		WRITE_ONCE(*count, *count - 1);

	unlock_counts(tr, flags);

	/* The warning prints, which must not happen under max_lock */
	WARN_ON_ONCE(underflow);
}

/**
 * trace_snapshot_user_get - count a user that may take snapshots
 * @tr: The trace array it will take them of
 *
 * Only counts. Who also needs the snapshot buffer to be there calls
 * tracing_arm_snapshot().
 *
 * Return: 0, -EBUSY if a buffer of @tr is mapped, -EOVERFLOW.
 */
int trace_snapshot_user_get(struct trace_array *tr)
{
	return get_unless(tr, &tr->snapshot_users, &tr->mappings);
}

/**
 * trace_snapshot_user_put - the counterpart of trace_snapshot_user_get()
 * @tr: The trace array of the user
 */
void trace_snapshot_user_put(struct trace_array *tr)
{
	put_count(tr, &tr->snapshot_users);
}

/**
 * tracing_arm_snapshot_locked - count a snapshot user and give it a buffer
 * @tr: The trace array it will take snapshots of
 *
 * Return: 0, -EBUSY if a buffer of @tr is mapped, or why the snapshot buffer
 * could not be allocated. Nothing is counted on failure.
 */
int tracing_arm_snapshot_locked(struct trace_array *tr)
{
	int ret;

	lockdep_assert_held(&trace_types_lock);

	/* Count first: the answer to a mapped buffer costs no memory */
	ret = trace_snapshot_user_get(tr);
	if (ret)
		return ret;

	ret = tracing_alloc_snapshot_instance(tr);
	if (ret)
		trace_snapshot_user_put(tr);

	return ret;
}

/**
 * tracing_arm_snapshot - tracing_arm_snapshot_locked() for the rest of us
 * @tr: The trace array to take snapshots of
 *
 * Return: as tracing_arm_snapshot_locked().
 */
int tracing_arm_snapshot(struct trace_array *tr)
{
	int ret;

	mutex_lock(&trace_types_lock);
	ret = tracing_arm_snapshot_locked(tr);
	mutex_unlock(&trace_types_lock);

	return ret;
}

/**
 * tracing_disarm_snapshot - the counterpart of tracing_arm_snapshot*()
 * @tr: The trace array of the user
 *
 * Needs no lock. The snapshot buffer stays allocated.
 */
void tracing_disarm_snapshot(struct trace_array *tr)
{
	trace_snapshot_user_put(tr);
}

/**
 * trace_mapping_get - count a mapping of one of a trace array's buffers
 * @tr: The trace array
 *
 * Does not sleep. tr->array_buffer.buffer does not change from a successful
 * return on until the last trace_mapping_put(); it must not be read before.
 *
 * Return: 0, -EBUSY while @tr has a snapshot user, -EOVERFLOW.
 */
int trace_mapping_get(struct trace_array *tr)
{
	return get_unless(tr, &tr->mappings, &tr->snapshot_users);
}

/**
 * trace_mapping_dup - count a copy of a mapping that is already counted
 * @tr: The trace array
 *
 * For vm_operations_struct::open, which cannot refuse. The count cannot wrap:
 * every copy is a vm_area_struct that somebody has memory for.
 */
void trace_mapping_dup(struct trace_array *tr)
{
	unsigned long flags = lock_counts(tr);
	bool uncounted = !tr->mappings;

	WRITE_ONCE(tr->mappings, tr->mappings + 1);
	unlock_counts(tr, flags);

	WARN_ON_ONCE(uncounted);
}

/**
 * trace_mapping_put - the counterpart of trace_mapping_get() and _dup()
 * @tr: The trace array
 */
void trace_mapping_put(struct trace_array *tr)
{
	put_count(tr, &tr->mappings);
}

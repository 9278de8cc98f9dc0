// SPDX-License-Identifier: GPL-2.0
/*
 * The users that swap the buffers of a trace array, and those that need them to
 * stay in place.
 *
 * A snapshot swaps the live buffer with the spare one. A program that has
 * mapped the live buffer would go on reading the spare, so an instance has
 * either snapshot users or mappings, never both:
 *
 *   snapshot_users	what may take a snapshot without asking again: an event
 *			trigger, a function probe, a conditional snapshot, a
 *			latency tracer, and a write to the "snapshot" file for
 *			as long as it lasts
 *   mappings		each memory mapping of a CPU's trace_pipe_raw, its copies
 *			included, and each open trace_live
 *
 * A snapshot that was taken earlier and is kept is not a user, because it no longer
 * swaps the buffers.
 *
 * Locking
 *
 * Both counts are changed under tr->max_lock with interrupts off. The swap
 * (update_max_tr(), update_max_tr_single()) runs under the same lock and looks
 * at tr->mappings again before it swaps. That covers in-kernel callers of
 * tracing_snapshot(), which are not counted: if they find a mapping, they do
 * not swap; if they find none, a mapping that comes later loads
 * tr->array_buffer.buffer after the swap. Neither side waits for a grace period.
 *
 * For the same reason, code that maps a buffer must raise the count before it
 * loads tr->array_buffer.buffer, and must not drop the count before it is done
 * with the buffer.
 *
 * Context
 *
 *   trace_mapping_get/dup/put()	process, may be under mmap_lock: they do
 *					not sleep or take trace_types_lock
 *   tracing_arm_snapshot()		process, takes trace_types_lock
 *   trace_snapshot_user_get/put(),	process, with any locks held
 *   tracing_disarm_snapshot()
 *   update_max_tr*()			interrupts off, any context but NMI
 *
 * Lock order: mmap_lock, then the mapping's lock, then buffer->mutex, then
 * reader_lock. No function here takes another lock under tr->max_lock.
 *
 * These locks do not protect the snapshot buffer: trace_types_lock alone guards
 * tr->allocated_snapshot. A user is counted first and then given the buffer, both
 * under that lock, so a caller that holds it and finds no user may free the buffer.
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

/* Raise @count unless @excluded, the count of the other side, is above 0. */
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
 * This only counts. Callers that also need the snapshot buffer call
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
 * Return: 0, -EBUSY if a buffer of @tr is mapped, or the error of allocating the
 * snapshot buffer. Nothing is counted on failure.
 */
int tracing_arm_snapshot_locked(struct trace_array *tr)
{
	int ret;

	lockdep_assert_held(&trace_types_lock);

	/* Count first, so that no memory is allocated if the buffer is mapped */
	ret = trace_snapshot_user_get(tr);
	if (ret)
		return ret;

	ret = tracing_alloc_snapshot_instance(tr);
	if (ret)
		trace_snapshot_user_put(tr);

	return ret;
}

/**
 * tracing_arm_snapshot - take trace_types_lock and arm a snapshot
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
 * Does not sleep. After success, tr->array_buffer.buffer does not change until
 * the last trace_mapping_put(). It must not be read before.
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
 * For vm_operations_struct::open, which cannot refuse. The count cannot wrap,
 * because each copy takes memory for a vm_area_struct.
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

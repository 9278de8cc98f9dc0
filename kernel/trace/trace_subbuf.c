// SPDX-License-Identifier: GPL-2.0
/*
 * buffer_subbuf_size_kb: the size of the sub-buffers of a trace array.
 *
 * This file is included in trace.c.
 */

static ssize_t
buffer_subbuf_size_read(struct file *filp, char __user *ubuf,
			size_t cnt, loff_t *ppos)
{
	struct trace_array *tr = filp->private_data;
	char buf[64];
	int r;

	r = sprintf(buf, "%d\n",
		    ring_buffer_subbuf_size_get(tr->array_buffer.buffer) / 1024);

	return simple_read_from_buffer(ubuf, cnt, ppos, buf, r);
}

/*
 * Record the new start time and sizes of a buffer that was emptied and given another
 * size, as a reset and a resize do. A CPU that has not come up yet will get a buffer
 * like that of CPU 0.
 */
static void tracing_subbuf_restart(struct array_buffer *buf)
{
	unsigned long size;
	int cpu;

	buf->time_start = buffer_ftrace_now(buf, buf->cpu);

	for_each_tracing_cpu(cpu) {
		size = ring_buffer_size(buf->buffer, cpu);
		per_cpu_ptr(buf->data, cpu)->entries =
			size ?: ring_buffer_size(buf->buffer, 0);
	}
}

/*
 * Get the buffer of the trace and that of the snapshot, which has a minimum size
 * if no snapshot is allocated. A snapshot may swap them at any time, so max_lock
 * is held while both are loaded.
 */
static struct trace_buffer *
tracing_get_buffers(struct trace_array *tr, struct trace_buffer **snapshot)
{
	struct trace_buffer *buffer;

#ifdef CONFIG_TRACER_MAX_TRACE
	local_irq_disable();
	arch_spin_lock(&tr->max_lock);
	*snapshot = tr->max_buffer.buffer;
	buffer = tr->array_buffer.buffer;
	arch_spin_unlock(&tr->max_lock);
	local_irq_enable();
#else
	*snapshot = NULL;
	buffer = tr->array_buffer.buffer;
#endif

	return buffer;
}

static int tracing_set_subbuf_order(struct trace_array *tr, int order)
{
	struct trace_buffer *buffer, *snapshot;
	int ret;

	lockdep_assert_held(&trace_types_lock);

	buffer = tracing_get_buffers(tr, &snapshot);
	if (order == ring_buffer_subbuf_order_get(buffer))
		return 0;

	/* Consuming readers hold this lock while they use events in place */
	trace_access_lock(RING_BUFFER_ALL_CPUS);
	ret = ring_buffer_subbuf_order_set_both(buffer, snapshot, order);
	trace_access_unlock(RING_BUFFER_ALL_CPUS);
	if (ret)
		return ret;

	tracing_subbuf_restart(&tr->array_buffer);
#ifdef CONFIG_TRACER_MAX_TRACE
	tracing_subbuf_restart(&tr->max_buffer);
#endif

	return 0;
}

static ssize_t
buffer_subbuf_size_write(struct file *filp, const char __user *ubuf,
			 size_t cnt, loff_t *ppos)
{
	struct trace_array *tr = filp->private_data;
	unsigned long val;
	int ret;

	ret = kstrtoul_from_user(ubuf, cnt, 10, &val);
	if (ret)
		return ret;

	/* The conversion of larger numbers to bytes would overflow */
	if (!val || val > ULONG_MAX >> 10)
		return -EINVAL;

	mutex_lock(&trace_types_lock);
	ret = tracing_set_subbuf_order(tr, get_order(val << 10));
	mutex_unlock(&trace_types_lock);
	if (ret)
		return ret;

	*ppos += cnt;

	return cnt;
}

static const struct file_operations buffer_subbuf_size_fops = {
	.open		= tracing_open_generic_tr,
	.read		= buffer_subbuf_size_read,
	.write		= buffer_subbuf_size_write,
	.release	= tracing_release_generic_tr,
	.llseek		= default_llseek,
};

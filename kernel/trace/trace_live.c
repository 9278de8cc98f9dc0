// SPDX-License-Identifier: GPL-2.0
/*
 * per_cpu/cpuN/trace_live: watching a CPU's buffer live.
 *
 * This file is included in trace.c. An open file is an observer of the buffer,
 * see ring_buffer_live.c. Its mapping has the live index and all sub-buffers.
 * Each part of a mapping refers to the file, so the buffer is kept as it is until
 * the file is closed and the last part is unmapped.
 *
 * An open file is counted as one mapping in the trace array, where it excludes
 * snapshots, so that tr->array_buffer.buffer does not change.
 */

#ifdef CONFIG_RING_BUFFER_LIVE

#include <uapi/linux/trace_live.h>

#include "ring_buffer_observer.h"

static int tracing_live_open(struct inode *inode, struct file *filp)
{
	struct ring_buffer_observer *observer;
	struct trace_array *tr = inode->i_private;
	int ret;

	/* O_TRUNC asks for permission to write, too, but is no mode */
	if (filp->f_mode & FMODE_WRITE || filp->f_flags & O_TRUNC)
		return -EACCES;

	ret = tracing_check_open_get_tr(tr);
	if (ret)
		return ret;

	ret = trace_mapping_get(tr);
	if (ret)
		goto out_tr;

	observer = ring_buffer_observe(tr->array_buffer.buffer,
				       tracing_get_cpu(inode));
	if (IS_ERR(observer)) {
		ret = PTR_ERR(observer);
		goto out_mapping;
	}

	filp->private_data = observer;

	return nonseekable_open(inode, filp);

 out_mapping:
	trace_mapping_put(tr);
 out_tr:
	trace_array_put(tr);
	return ret;
}

static int tracing_live_release(struct inode *inode, struct file *filp)
{
	struct trace_array *tr = inode->i_private;

	ring_buffer_observer_free(filp->private_data);
	trace_mapping_put(tr);
	trace_array_put(tr);

	return 0;
}

static __poll_t tracing_live_poll(struct file *filp, poll_table *poll_table)
{
	return ring_buffer_observer_poll(filp->private_data, filp, poll_table);
}

static int tracing_live_mmap(struct file *filp, struct vm_area_struct *vma)
{
	int ret = trace_mmap_set_flags(vma);

	if (ret)
		return ret;

	if (vma->vm_pgoff ||
	    vma_pages(vma) > ring_buffer_observer_size(filp->private_data))
		return -EINVAL;

	return trace_mmap_insert_pages(vma, ring_buffer_observer_page,
				       filp->private_data);
}

/* The command's number says what it is, and the structure in it how large it is. */
static long tracing_live_ioctl(struct file *filp, unsigned int cmd,
			       unsigned long arg)
{
	struct trace_array *tr = file_inode(filp)->i_private;
	struct trace_live_position __user *user = (void __user *)arg;
	struct trace_live_position pos;
	u32 size;
	int ret;

	if (_IOC_TYPE(cmd) != _IOC_TYPE(TRACE_LIVE_IOCTL_SET_POSITION) ||
	    _IOC_NR(cmd) != _IOC_NR(TRACE_LIVE_IOCTL_SET_POSITION))
		return -ENOTTY;

	if (get_user(size, &user->size))
		return -EFAULT;
	/* No version of the structure is smaller than the first one */
	if (size < offsetofend(struct trace_live_position, bytes))
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;

	ret = copy_struct_from_user(&pos, sizeof(pos), user, size);
	if (ret)
		return ret;

	return ring_buffer_observer_seek(filp->private_data, &pos,
					 READ_ONCE(tr->buffer_percent));
}

static const struct file_operations tracing_live_fops = {
	.open		= tracing_live_open,
	.release	= tracing_live_release,
	.poll		= tracing_live_poll,
	.mmap		= tracing_live_mmap,
	.unlocked_ioctl	= tracing_live_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static void trace_live_create_file(struct trace_array *tr, struct dentry *d_cpu,
				   long cpu)
{
	if (ring_buffer_observable(tr->array_buffer.buffer))
		trace_create_cpu_file("trace_live", TRACE_MODE_READ, d_cpu, tr, cpu,
				      &tracing_live_fops);
}
#else
static inline void trace_live_create_file(struct trace_array *tr,
					  struct dentry *d_cpu, long cpu) { }
#endif /* CONFIG_RING_BUFFER_LIVE */

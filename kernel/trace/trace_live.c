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

#include <uapi/linux/trace_live.h>

#include "trace_base.h"

#ifdef CONFIG_MMU

static struct trace_array *trace_live_tr(struct file *filp)
{
	return file_inode(filp)->i_private;
}

/*
 * Expand the buffer from its boot-time minimum. Where a mapping, an observer or an
 * open "trace" keeps it at that for now, it is observed as it is.
 */
static int trace_live_expand(struct trace_array *tr)
{
	int ret = 0;

	if (tr->flags & TRACE_ARRAY_FL_GLOBAL)
		ret = trace_live_update_buffers(tr);

	return ret == -EBUSY ? 0 : ret;
}

static int tracing_live_open(struct inode *inode, struct file *filp)
{
	struct ring_buffer_observer *observer;
	struct trace_array *tr = inode->i_private;
	int ret;

	ret = tracing_check_open_get_tr(tr);
	if (ret)
		return ret;

	ret = trace_live_expand(tr);
	if (ret)
		goto out_tr;

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

static struct page *trace_live_page(void *observer, unsigned long pgoff)
{
	return ring_buffer_observer_page(observer, pgoff);
}

static int tracing_live_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct ring_buffer_observer *observer = filp->private_data;
	int ret;

	ret = trace_mmap_set_flags(vma);
	if (ret)
		return ret;

	if (vma->vm_pgoff || vma_pages(vma) > ring_buffer_observer_size(observer))
		return -EINVAL;

	return trace_mmap_insert_pages(vma, trace_live_page, observer);
}

/* TRACE_LIVE_IOCTL_SET_POSITION, see include/uapi/linux/trace_live.h */
static long trace_live_seek(struct file *filp,
			    const struct trace_live_position __user *arg)
{
	struct trace_live_position pos;
	u32 size;
	int ret;

	if (get_user(size, &arg->size))
		return -EFAULT;
	/* No version of the structure is smaller than the first one */
	if (size < offsetofend(struct trace_live_position, bytes))
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;

	ret = copy_struct_from_user(&pos, sizeof(pos), arg, size);
	if (ret)
		return ret;

	return ring_buffer_observer_seek(filp->private_data, &pos,
					 READ_ONCE(trace_live_tr(filp)->buffer_percent));
}

static long tracing_live_ioctl(struct file *filp, unsigned int cmd,
			       unsigned long arg)
{
	if (cmd != TRACE_LIVE_IOCTL_SET_POSITION)
		return -ENOTTY;

	return trace_live_seek(filp, (void __user *)arg);
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
	trace_create_cpu_file("trace_live", TRACE_MODE_READ, d_cpu, tr, cpu,
			      &tracing_live_fops);
}
#else
static void trace_live_create_file(struct trace_array *tr, struct dentry *d_cpu,
				   long cpu)
{
}
#endif /* CONFIG_MMU */

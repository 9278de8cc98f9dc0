// SPDX-License-Identifier: GPL-2.0
/*
 * Watching per_cpu/cpuN/trace_pipe_raw live.
 *
 * This file is included in trace.c. ring_buffer_live.c knows what the live
 * index is made of; here it is put into an address space, and poll() is made to
 * answer for who watches.
 *
 * A mapping of the index is counted as one of the buffer, see trace_mmap.c, and
 * once more among those of the index: it comes last and goes first.
 */

#include <uapi/linux/trace_live.h>

#ifdef CONFIG_MMU

#define TRACE_LIVE_PGOFF	((unsigned long)(TRACE_MMAP_LIVE_OFFSET >> PAGE_SHIFT))

/* Copied at fork() because of MADV_DOFORK, or about to move by mremap() */
static void trace_live_open(struct vm_area_struct *vma)
{
	struct trace_iterator *iter = vma->vm_private_data;

	trace_mmap_open(vma);
	ring_buffer_live_dup(trace_mmap_buffer(iter), iter->cpu_file);
}

static void trace_live_close(struct vm_area_struct *vma)
{
	struct trace_iterator *iter = vma->vm_private_data;

	ring_buffer_live_unmap(trace_mmap_buffer(iter), iter->cpu_file);
	trace_mmap_close(vma);
}

static vm_fault_t trace_live_fault(struct vm_fault *vmf)
{
	struct trace_iterator *iter = vmf->vma->vm_private_data;
	struct page *page;

	page = ring_buffer_live_page(trace_mmap_buffer(iter), iter->cpu_file,
				     vmf->pgoff - TRACE_LIVE_PGOFF);
	if (!page)
		return VM_FAULT_SIGBUS;

	get_page(page);
	vmf->page = page;

	return 0;
}

static const struct vm_operations_struct trace_live_vm_ops = {
	.open		= trace_live_open,
	.close		= trace_live_close,
	.may_split	= trace_mmap_may_split,
	.fault		= trace_live_fault,
};

/* There are few pages: 128 sub-buffers of whatever size to each */
static int trace_live_insert_pages(struct trace_iterator *iter,
				   struct vm_area_struct *vma)
{
	struct trace_buffer *buffer = trace_mmap_buffer(iter);
	unsigned long i;
	int ret;

	for (i = 0; i < vma_pages(vma); i++) {
		ret = vm_insert_page(vma, vma->vm_start + (i << PAGE_SHIFT),
				     ring_buffer_live_page(buffer,
							   iter->cpu_file, i));
		if (ret)
			return ret;
		cond_resched();
	}

	return 0;
}

static int trace_live_mmap(struct trace_iterator *iter,
			   struct vm_area_struct *vma)
{
	int ret;

	ret = trace_mmap_begin(iter, vma);
	if (ret)
		return ret;

	ret = ring_buffer_live_map(trace_mmap_buffer(iter), iter->cpu_file);
	if (ret)
		goto end;

	ret = -EINVAL;
	if (vma_pages(vma) > ring_buffer_live_size(trace_mmap_buffer(iter),
						   iter->cpu_file))
		goto unmap;

	ret = trace_live_insert_pages(iter, vma);
	if (ret)
		goto unmap;

	vma->vm_ops = &trace_live_vm_ops;
	vma->vm_private_data = iter;

	return 0;

 unmap:
	/* What was inserted already is removed by the caller */
	ring_buffer_live_unmap(trace_mmap_buffer(iter), iter->cpu_file);
 end:
	trace_mmap_end(iter);
	return ret;
}

static int tracing_buffers_mmap_live(struct file *filp,
				     struct vm_area_struct *vma)
{
	struct ftrace_buffer_info *info = filp->private_data;

	if (vma->vm_pgoff != TRACE_LIVE_PGOFF)
		return tracing_buffers_mmap(filp, vma);

	return trace_live_mmap(&info->iter, vma);
}

static int trace_live_set_position(struct trace_iterator *iter,
				   struct ftrace_buffer_info *info,
				   const struct trace_live_position *pos)
{
	int ret;

	spin_lock(&info->live_lock);
	info->live_pos = *pos;
	info->live_waits = true;
	spin_unlock(&info->live_lock);

	ret = ring_buffer_live_wait(iter->array_buffer->buffer,
				    iter->cpu_file, pos,
				    iter->tr->buffer_percent);
	/* The last mapping has just gone: there is no position any more */
	if (ret)
		WRITE_ONCE(info->live_waits, false);
	return ret;
}

/* TRACE_MMAP_IOCTL_LIVE_WAIT, see include/uapi/linux/trace_live.h */
static long tracing_buffers_live_wait(struct ftrace_buffer_info *info,
				      const void __user *arg)
{
	struct trace_iterator *iter = &info->iter;
	struct trace_live_position pos;
	int ret;

	if (!arg) {
		WRITE_ONCE(info->live_waits, false);
		/* Who waits asks again, and waits as a consumer */
		ring_buffer_live_wake(iter->array_buffer->buffer,
				      iter->cpu_file);
	}

	ret = ring_buffer_live_check(iter->array_buffer->buffer,
				     iter->cpu_file, NULL);
	if (ret || !arg)
		return ret;

	if (copy_from_user(&pos, arg, sizeof(pos)))
		return -EFAULT;

	ret = ring_buffer_live_check(iter->array_buffer->buffer,
				     iter->cpu_file, &pos);
	if (ret)
		return ret;

	return trace_live_set_position(iter, info, &pos);
}

static bool trace_live_position(struct ftrace_buffer_info *info,
				struct trace_live_position *pos)
{
	bool waits;

	if (!READ_ONCE(info->live_waits))
		return false;

	spin_lock(&info->live_lock);
	waits = info->live_waits;
	*pos = info->live_pos;
	spin_unlock(&info->live_lock);

	return waits;
}

/* Returns whether *ret is what poll() says. */
static bool trace_live_poll(struct ftrace_buffer_info *info, struct file *filp,
			    poll_table *poll_table, __poll_t *ret)
{
	struct trace_iterator *iter = &info->iter;
	struct trace_live_position pos;

	/* First: who gives the file a position now, wakes us to look again */
	ring_buffer_live_queue(iter->array_buffer->buffer, iter->cpu_file,
			       filp, poll_table);
	if (trace_live_position(info, &pos))
		*ret = ring_buffer_live_poll(iter->array_buffer->buffer,
					     iter->cpu_file, &pos,
					     iter->tr->buffer_percent);
	else
		/* A consumer waits on the same queue: once is enough for aio */
		*ret = trace_poll(iter, filp, NULL);
	return true;
}
#else
#define tracing_buffers_mmap_live	NULL

static long tracing_buffers_live_wait(struct ftrace_buffer_info *info,
				      const void __user *arg)
{
	return -ENOTTY;
}

static bool trace_live_poll(struct ftrace_buffer_info *info, struct file *filp,
			    poll_table *poll_table, __poll_t *ret)
{
	return false;
}
#endif /* CONFIG_MMU */

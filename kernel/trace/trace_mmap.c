// SPDX-License-Identifier: GPL-2.0
/*
 * Mapping per_cpu/cpuN/trace_pipe_raw into user space.
 *
 * This file is included in trace.c. ring_buffer_map.c provides the pages of a
 * mapping; this file puts them into an address space and keeps a mapping in one
 * piece.
 *
 * A mapping is counted twice, and so is every copy of it: in the trace array,
 * where it excludes snapshots (trace_snapshot_users.c), and in the buffer of
 * its CPU, where it holds the sub-buffers in place (ring_buffer_map.c). It is
 * counted in the trace array first, and uncounted there last, because
 * tr->array_buffer.buffer cannot change while that count is held.
 *
 * All pages are inserted at mmap(), and there is no fault handler: a program
 * that drops them with MADV_DONTNEED gets SIGBUS at its next access. The pages
 * have reference counts like any others, so a page that is pinned outlives the
 * mapping and the buffer.
 *
 * Locks: the functions of a mapping run under mmap_lock. They must not take
 * trace_types_lock, because other code accesses user memory while holding it.
 */

#include <uapi/linux/trace_mmap.h>

#include "trace_mmap_pages.c"

#ifdef CONFIG_MMU

static struct trace_buffer *trace_mmap_buffer(struct trace_iterator *iter)
{
	return iter->tr->array_buffer.buffer;
}

/* A mapping is shared and read-only, and mprotect() cannot change that. */
static int trace_mmap_set_flags(struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_MAYSHARE) ||
	    vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EPERM;

	vma->vm_flags &= ~(VM_MAYWRITE | VM_MAYEXEC);
	vma->vm_flags |= VM_MIXEDMAP | VM_DONTCOPY | VM_DONTDUMP |
			 VM_DONTEXPAND;

	return 0;
}

/* Count a mapping if it is allowed. trace_mmap_end() undoes this. */
static int trace_mmap_begin(struct trace_iterator *iter,
			    struct vm_area_struct *vma)
{
	int ret;

	ret = trace_mmap_set_flags(vma);
	if (ret)
		return ret;

	ret = trace_mapping_get(iter->tr);
	if (ret)
		return ret;

	ret = ring_buffer_map(trace_mmap_buffer(iter), iter->cpu_file);
	if (ret)
		trace_mapping_put(iter->tr);

	return ret;
}

static void trace_mmap_end(struct trace_iterator *iter)
{
	ring_buffer_unmap(trace_mmap_buffer(iter), iter->cpu_file);
	trace_mapping_put(iter->tr);
}

/* The mapping was copied at fork() after MADV_DOFORK, or mremap() is moving it */
static void trace_mmap_open(struct vm_area_struct *vma)
{
	struct trace_iterator *iter = vma->vm_private_data;

	trace_mapping_dup(iter->tr);
	ring_buffer_map_dup(trace_mmap_buffer(iter), iter->cpu_file);
}

static void trace_mmap_close(struct vm_area_struct *vma)
{
	trace_mmap_end(vma->vm_private_data);
}

/* A mapping stays in one piece: one count stands for the whole of it */
static int trace_mmap_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

static const struct vm_operations_struct trace_mmap_vm_ops = {
	.open		= trace_mmap_open,
	.close		= trace_mmap_close,
	.may_split	= trace_mmap_may_split,
};

/* Return whether the range begins at a sub-buffer and ends within the buffer. */
static bool trace_mmap_in_range(struct trace_iterator *iter,
				struct vm_area_struct *vma)
{
	unsigned int order;
	unsigned long size;

	size = ring_buffer_map_size(trace_mmap_buffer(iter), iter->cpu_file,
				    &order);

	return !(vma->vm_pgoff & ((1UL << order) - 1)) &&
	       vma->vm_pgoff < size && vma_pages(vma) <= size - vma->vm_pgoff;
}

static struct page *trace_mmap_page(void *data, unsigned long pgoff)
{
	struct trace_iterator *iter = data;

	return ring_buffer_map_page(trace_mmap_buffer(iter), iter->cpu_file,
				    pgoff);
}

static int tracing_buffers_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct ftrace_buffer_info *info = filp->private_data;
	struct trace_iterator *iter = &info->iter;
	int ret;

	ret = trace_mmap_begin(iter, vma);
	if (ret)
		return ret;

	ret = -EINVAL;
	if (!trace_mmap_in_range(iter, vma))
		goto end;

	ret = trace_mmap_insert_pages(vma, trace_mmap_page, iter);
	if (ret)
		goto end;

	vma->vm_ops = &trace_mmap_vm_ops;
	vma->vm_private_data = iter;

	return 0;

 end:
	/* The caller of mmap() removes the pages inserted so far */
	trace_mmap_end(iter);
	return ret;
}
#else
#define tracing_buffers_mmap	NULL
#endif /* CONFIG_MMU */

struct trace_reader_wait {
	struct trace_iterator	*iter;
	long			wait_index;
	unsigned int		off_count;
};

/* Return whether anything other than data ends the wait. The task is on the wait queue. */
static bool trace_reader_woken(void *data)
{
	struct trace_reader_wait *wait = data;
	struct trace_iterator *iter = wait->iter;

	/* ioctl(fd, 0) was called, or another task that shares the file closed it */
	if (wait->wait_index != READ_ONCE(iter->wait_index))
		return true;

	/* Tracing was turned off during the wait: there may be no more events */
	return wait->off_count != READ_ONCE(iter->tr->off_count);
}

/* Wait as splice() does, until there is enough data or the wait is ended */
static int trace_get_reader_wait(struct trace_iterator *iter)
{
	struct trace_reader_wait wait = {
		.iter		= iter,
		.wait_index	= READ_ONCE(iter->wait_index),
		.off_count	= READ_ONCE(iter->tr->off_count),
	};

	return ring_buffer_map_wait(iter->array_buffer->buffer, iter->cpu_file,
				    iter->tr->buffer_percent,
				    trace_reader_woken, &wait);
}

/*
 * TRACE_MMAP_IOCTL_GET_READER, see include/uapi/linux/trace_mmap.h
 *
 * Context: Sleeps until there is data unless the file is O_NONBLOCK. Takes
 * trace_access_lock(), under which trace_pipe uses events of the reader page.
 */
static long tracing_buffers_get_reader(struct file *filp,
				       struct trace_iterator *iter)
{
	struct trace_buffer *buffer = iter->array_buffer->buffer;
	int ret;

	if (!(filp->f_flags & O_NONBLOCK)) {
		if (!ring_buffer_mapped(buffer, iter->cpu_file))
			return -ENODEV;
		ret = trace_get_reader_wait(iter);
		if (ret)
			return ret;
	}

	trace_access_lock(iter->cpu_file);
	ret = ring_buffer_map_get_reader(buffer, iter->cpu_file);
	trace_access_unlock(iter->cpu_file);

	return ret;
}

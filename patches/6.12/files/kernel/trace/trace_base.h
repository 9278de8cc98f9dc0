/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of trace.c that trace_live.c uses and that differ between versions of
 * Linux.
 *
 * This file is included in trace.c.
 */
#ifndef _TRACE_BASE_H
#define _TRACE_BASE_H

#include "trace_mmap_pages.c"

#ifdef CONFIG_MMU

/* Count a user that needs the buffer to stay in place. Fails if there is a snapshot user. */
static inline int trace_mapping_get(struct trace_array *tr)
{
	return get_snapshot_map(tr);
}

static inline void trace_mapping_put(struct trace_array *tr)
{
	put_snapshot_map(tr);
}

/* A mapping is shared and read-only, and mprotect() cannot change that. */
static inline int trace_mmap_set_flags(struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_MAYSHARE) ||
	    vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EPERM;

	vm_flags_mod(vma, VM_MIXEDMAP | VM_DONTCOPY | VM_DONTDUMP | VM_DONTEXPAND,
		     VM_MAYWRITE | VM_MAYEXEC);

	return 0;
}

#endif /* CONFIG_MMU */
#endif /* _TRACE_BASE_H */

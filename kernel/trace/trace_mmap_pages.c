// SPDX-License-Identifier: GPL-2.0
/*
 * Inserting the pages of a trace buffer into an address space.
 *
 * This file is included in trace.c, where the buffer can be mapped.
 */

#ifdef CONFIG_MMU

/* How many pages are inserted at a time: a small array of them is on the stack */
#define MMAP_BATCH	32

/* Insert all pages of @vma, which @page finds by their offset. */
static int trace_mmap_insert_pages(struct vm_area_struct *vma,
				   struct page *(*page)(void *, unsigned long),
				   void *data)
{
	unsigned long pgoff = vma->vm_pgoff;
	unsigned long addr = vma->vm_start;
	struct page *pages[MMAP_BATCH];
	unsigned long nr, i;
	int ret;

	while (addr < vma->vm_end) {
		nr = min_t(unsigned long, MMAP_BATCH,
			   (vma->vm_end - addr) >> PAGE_SHIFT);
		for (i = 0; i < nr; i++)
			pages[i] = page(data, pgoff + i);

		addr += nr << PAGE_SHIFT;
		pgoff += nr;

		/* This decrements nr by the number of pages inserted */
		ret = vm_insert_pages(vma, addr - (nr << PAGE_SHIFT), pages,
				      &nr);
		/* It says -EFAULT if there is no memory for an upper page table */
		if (ret)
			return ret == -EFAULT ? -ENOMEM : ret;

		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}

	return 0;
}

#endif /* CONFIG_MMU */

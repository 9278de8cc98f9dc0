// SPDX-License-Identifier: GPL-2.0
/*
 * Inserting the pages of a trace buffer into an address space.
 *
 * This file is included in trace.c.
 */

#ifdef CONFIG_MMU

/* How many pages to insert at a time: their array is on the stack, so it must be small */
#define MMAP_BATCH	32

/* Insert all pages of @vma. @page finds the page at an offset. */
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
		/* It returns -EFAULT if there is no memory for an upper page table */
		if (ret)
			return ret == -EFAULT ? -ENOMEM : ret;

		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}

	return 0;
}

#endif /* CONFIG_MMU */

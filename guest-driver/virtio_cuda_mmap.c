// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * virtio-cuda: mappings of a session's RING and PINNED regions.
 *
 * An mmap offset selects one of the regions that belong to the open file, so a
 * process can't map another process's regions. A mapping keeps the region's
 * pages allocated, even after RELEASE or after the session has ended. Children
 * don't inherit mappings.
 */
#include <linux/fs.h>
#include <linux/slab.h>

#include "virtio_cuda.h"

/* Number of pages mapped at once: as many as a page can hold pointers to. */
#define VCUDA_MAP_BATCH (PAGE_SIZE / sizeof(struct page *))

/*
 * Counts the mappings of the ring in the process that owns the session. When
 * the last one is closed, the session ends.
 */
static void vcuda_vm_open(struct vm_area_struct *vma)
{
	struct vcuda_region *r = vma->vm_private_data;

	vcuda_region_get(r);
	if (r->kind == VIRTIO_CUDA_REGION_RING)
		atomic_inc(&r->session->ring_maps);
}

static void vcuda_vm_close(struct vm_area_struct *vma)
{
	struct vcuda_region *r = vma->vm_private_data;

	if (r->kind == VIRTIO_CUDA_REGION_RING &&
	    atomic_dec_and_test(&r->session->ring_maps))
		vcuda_session_end(r->session, 0);
	vcuda_region_put(r);
}

static struct page *vcuda_region_page(const struct vcuda_region *r,
				      unsigned long index)
{
	size_t i;

	for (i = 0; i < r->nr_runs; i++) {
		if (index < r->runs[i].nr)
			return pfn_to_page(r->runs[i].pfn + index);
		index -= r->runs[i].nr;
	}
	return NULL;
}

/* Faults occur only on pages that the process dropped with MADV_DONTNEED. */
static vm_fault_t vcuda_vm_fault(struct vm_fault *vmf)
{
	struct vcuda_region *r = vmf->vma->vm_private_data;
	unsigned long mask = (1UL << (VCUDA_MMAP_SHIFT - PAGE_SHIFT)) - 1;
	struct page *page = vcuda_region_page(r, vmf->pgoff & mask);

	if (!page)
		return VM_FAULT_SIGBUS;
	return vmf_insert_page(vmf->vma, vmf->address & PAGE_MASK, page);
}

static const struct vm_operations_struct vcuda_vm_ops = {
	.open = vcuda_vm_open,
	.close = vcuda_vm_close,
	.fault = vcuda_vm_fault,
};

/*
 * Maps all pages of @vma at once, because one fault per page would cost far
 * more.
 */
static int vcuda_map_pages(struct vm_area_struct *vma, struct vcuda_region *r,
			   unsigned long skip)
{
	unsigned long left = vma_pages(vma), addr = vma->vm_start;
	struct page **pages;
	int err = 0;
	size_t i;

	pages = kmalloc_array(VCUDA_MAP_BATCH, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	for (i = 0; i < r->nr_runs && left && !err; i++) {
		unsigned long pfn = r->runs[i].pfn, nr = r->runs[i].nr;

		if (skip >= nr) {
			skip -= nr;
			continue;
		}
		pfn += skip;
		nr = min(nr - skip, left);
		skip = 0;
		while (nr && !err) {
			unsigned long part = min(nr, VCUDA_MAP_BATCH), rest, k;

			for (k = 0; k < part; k++)
				pages[k] = pfn_to_page(pfn + k);
			rest = part;
			err = vm_insert_pages(vma, addr, pages, &rest);
			pfn += part;
			nr -= part;
			left -= part;
			addr += part << PAGE_SHIFT;
			cond_resched();
		}
	}
	kfree(pages);
	return err;
}

int vcuda_mmap(struct file *file, struct vm_area_struct *vma)
{
	unsigned int shift = VCUDA_MMAP_SHIFT - PAGE_SHIFT;
	unsigned long first = vma->vm_pgoff & ((1UL << shift) - 1);
	struct vcuda_session *s = file->private_data;
	struct vcuda_region *r;
	int err;

	if (vma->vm_mm != s->mm)
		return -EPERM;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;

	xa_lock(&s->regions);
	r = xa_load(&s->regions, vma->vm_pgoff >> shift);
	if (r && (!r->ready || r->kind == VIRTIO_CUDA_REGION_USER))
		r = NULL;
	if (r)
		vcuda_region_get(r);
	xa_unlock(&s->regions);
	if (!r)
		return -EINVAL;

	err = -EINVAL;
	if (first >= r->nr_pages || vma_pages(vma) > r->nr_pages - first)
		goto fail;
	vcuda_vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP |
			   VM_MIXEDMAP);
	err = vcuda_map_pages(vma, r, first);
	if (err)
		goto fail;
	vma->vm_private_data = r;
	vma->vm_ops = &vcuda_vm_ops;
	if (r->kind == VIRTIO_CUDA_REGION_RING)
		atomic_inc(&s->ring_maps);
	return 0;
fail:
	vcuda_region_put(r);
	return err;
}

// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * virtio-cuda: regions, which are sets of pages that a session shares with the
 * device.
 *
 * A region's pages are freed when the last reference to the region is dropped.
 * The session drops its reference only after the device has confirmed that it
 * no longer accesses the pages.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "virtio_cuda.h"

#define VCUDA_PINNED_DEFAULT ULONG_MAX

static ulong pinned_max = VCUDA_PINNED_DEFAULT;
module_param(pinned_max, ulong, 0644);
MODULE_PARM_DESC(pinned_max,
		 "Maximum MiB that all programs together may share with one device (0 for no limit; default: 7/8 of the memory)");

/* Number of pages pinned at once: as many as a page can hold pointers to. */
#define VCUDA_PIN_BATCH (PAGE_SIZE / sizeof(struct page *))

/* ---- Limits ------------------------------------------------------------ */

/*
 * Adds @bytes to @sum, unless the result would exceed @max. A @max of 0 means
 * no limit.
 */
static bool vcuda_charge_one(atomic64_t *sum, u64 bytes, u64 max)
{
	s64 old = atomic64_read(sum);
	u64 new;

	do {
		if (check_add_overflow((u64)old, bytes, &new) ||
		    new > (max ? max : S64_MAX))
			return false;
	} while (!atomic64_try_cmpxchg(sum, &old, new));
	return true;
}

static int vcuda_charge(struct vcuda_region *r, u64 bytes)
{
	struct vcuda_session *s = r->session;
	u64 max = (u64)min_t(ulong, READ_ONCE(pinned_max), ULONG_MAX >> 20)
		  << 20;

	if (!vcuda_charge_one(&s->pinned, bytes, s->dev->pinned_max))
		return -EDQUOT;
	if (!vcuda_charge_one(&s->user->pinned, bytes,
			      vcuda_user_pinned_max(max)))
		goto undo_session;
	if (!vcuda_charge_one(&s->dev->pinned, bytes, max))
		goto undo_user;
	/* The kernel reports pinned_vm as VmPin in /proc/PID/status. */
	atomic64_add(bytes >> PAGE_SHIFT, &s->mm->pinned_vm);
	r->charged = bytes;
	return 0;
undo_user:
	atomic64_sub(bytes, &s->user->pinned);
undo_session:
	atomic64_sub(bytes, &s->pinned);
	return -EDQUOT;
}

static void vcuda_uncharge(struct vcuda_region *r)
{
	struct vcuda_session *s = r->session;

	atomic64_sub(r->charged >> PAGE_SHIFT, &s->mm->pinned_vm);
	atomic64_sub(r->charged, &s->dev->pinned);
	atomic64_sub(r->charged, &s->user->pinned);
	atomic64_sub(r->charged, &s->pinned);
}

/*
 * Unless the administrator has set a limit, keeps programs from pinning more
 * than 7/8 of the memory. Any user may open the device, so without a limit, any
 * program could pin all of it. Each user may pin only a part of the limit
 * (user_share).
 */
void vcuda_region_init(void)
{
	ulong mib = totalram_pages() >> (20 - PAGE_SHIFT);

	if (pinned_max == VCUDA_PINNED_DEFAULT)
		pinned_max = max(mib / 8 * 7, 1UL);
}

/* ---- Regions ----------------------------------------------------------- */

static void vcuda_run_free(const struct vcuda_region *r,
			   const struct vcuda_run *run)
{
	unsigned long i;

	if (r->kind == VIRTIO_CUDA_REGION_USER) {
		/* The device may have written to any page. */
		unpin_user_page_range_dirty_lock(pfn_to_page(run->pfn),
						 run->nr, true);
		return;
	}
	for (i = 0; i < run->nr; i++) {
		__free_page(pfn_to_page(run->pfn + i));
		if (i % 1024 == 1023)
			cond_resched();
	}
}

static void vcuda_region_free(struct kref *kref)
{
	struct vcuda_region *r = container_of(kref, struct vcuda_region, kref);
	struct vcuda_session *s = r->session;
	size_t i;

	if (r->lost) {
		/*
		 * Leak the pages: the device could still access them after they
		 * had a new owner.
		 */
		dev_warn(&s->dev->vdev->dev,
			 "leaking %lu pages of session %u: the device did not confirm that it no longer uses them\n",
			 r->nr_pages, s->id);
	} else {
		for (i = 0; i < r->nr_runs; i++)
			vcuda_run_free(r, &r->runs[i]);
	}
	vcuda_uncharge(r);
	kvfree(r->runs);
	kfree(r);
	vcuda_session_put(s);
}

void vcuda_region_get(struct vcuda_region *r)
{
	kref_get(&r->kref);
}

void vcuda_region_put(struct vcuda_region *r)
{
	kref_put(&r->kref, vcuda_region_free);
}

static struct vcuda_region *vcuda_region_new(struct vcuda_session *s, u32 kind,
					     u64 vaddr, u64 len)
{
	struct vcuda_region *r;
	u64 end;
	int err;

	if (!len || !PAGE_ALIGNED(len) || !PAGE_ALIGNED(vaddr) ||
	    check_add_overflow(vaddr, len, &end) ||
	    len > 1ULL << VCUDA_MMAP_SHIFT)
		return ERR_PTR(-EINVAL);
	/*
	 * Fail early instead of using up all memory for a request that can't
	 * succeed.
	 */
	if (len >> PAGE_SHIFT > totalram_pages())
		return ERR_PTR(-ENOMEM);

	r = kzalloc_obj(*r, GFP_KERNEL_ACCOUNT);
	if (!r)
		return ERR_PTR(-ENOMEM);
	kref_init(&r->kref);
	kref_get(&s->kref);
	r->session = s;
	r->kind = kind;
	r->vaddr = vaddr;
	err = vcuda_charge(r, len);
	if (err) {
		vcuda_region_put(r);
		return ERR_PTR(err);
	}
	return r;
}

/* Adds @nr pages starting at @pfn; on failure, the caller still owns the pages. */
static int vcuda_region_add(struct vcuda_region *r, unsigned long pfn,
			    unsigned long nr)
{
	struct vcuda_run *last = r->nr_runs ? &r->runs[r->nr_runs - 1] : NULL;

	if (last && last->pfn + last->nr == pfn) {
		last->nr += nr;
		r->nr_pages += nr;
		return 0;
	}
	if (r->nr_runs == r->session->dev->max_segments)
		return -ENOMEM;
	if (r->nr_runs == r->room_runs) {
		size_t room = r->room_runs ? r->room_runs * 2 : 16;
		struct vcuda_run *runs;

		runs = kvmalloc_array(room, sizeof(*runs), GFP_KERNEL_ACCOUNT);
		if (!runs)
			return -ENOMEM;
		if (r->runs)
			memcpy(runs, r->runs, r->nr_runs * sizeof(*runs));
		kvfree(r->runs);
		r->runs = runs;
		r->room_runs = room;
	}
	r->runs[r->nr_runs].pfn = pfn;
	r->runs[r->nr_runs].nr = nr;
	r->nr_runs++;
	r->nr_pages += nr;
	return 0;
}

/**
 * vcuda_region_alloc() - create a region of new, zeroed pages
 * @s: the session
 * @kind: VIRTIO_CUDA_REGION_RING or _PINNED
 * @vaddr: the address at which the process will map the region
 * @len: size in bytes
 *
 * Allocates the largest contiguous pieces that are available. The device maps
 * each piece separately, and large pieces speed up the GPU's address
 * translation.
 */
struct vcuda_region *vcuda_region_alloc(struct vcuda_session *s, u32 kind,
					u64 vaddr, u64 len)
{
	unsigned int order = VCUDA_MAX_ORDER;
	struct vcuda_region *r;
	unsigned long left;
	struct page *page;
	int err;

	r = vcuda_region_new(s, kind, vaddr, len);
	if (IS_ERR(r))
		return r;
	for (left = len >> PAGE_SHIFT; left; left -= 1UL << order) {
		gfp_t gfp = GFP_HIGHUSER | __GFP_ZERO | __GFP_ACCOUNT;

		order = min_t(unsigned int, order, ilog2(left));
		for (;; order--) {
			page = alloc_pages(order ? gfp | __GFP_NOWARN |
					   __GFP_NORETRY : gfp, order);
			if (page || !order)
				break;
		}
		err = -ENOMEM;
		if (!page)
			goto fail;
		/*
		 * Split the allocation, so that each page can be mapped and
		 * freed separately.
		 */
		if (order)
			split_page(page, order);
		err = vcuda_region_add(r, page_to_pfn(page), 1UL << order);
		if (err) {
			struct vcuda_run run = {
				.pfn = page_to_pfn(page),
				.nr = 1UL << order,
			};

			vcuda_run_free(r, &run);
			goto fail;
		}
		err = -EINTR;
		if (fatal_signal_pending(current))
			goto fail;
		cond_resched();
	}
	return r;
fail:
	vcuda_region_put(r);
	return ERR_PTR(err);
}

/**
 * vcuda_region_pin() - create a region from the caller's pages
 * @s: the session
 * @vaddr: address of the pages
 * @len: size in bytes
 */
struct vcuda_region *vcuda_region_pin(struct vcuda_session *s, u64 vaddr,
				      u64 len)
{
	struct vcuda_region *r;
	struct page **pages;
	unsigned long left;
	long got, i;
	int err = 0;

	r = vcuda_region_new(s, VIRTIO_CUDA_REGION_USER, vaddr, len);
	if (IS_ERR(r))
		return r;
	pages = kmalloc_array(VCUDA_PIN_BATCH, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		err = -ENOMEM;
	for (left = len >> PAGE_SHIFT; left && !err; left -= got) {
		got = pin_user_pages_fast(vaddr,
					  min_t(unsigned long, left,
						VCUDA_PIN_BATCH),
					  FOLL_WRITE | FOLL_LONGTERM, pages);
		if (got <= 0) {
			err = got ? got : -EFAULT;
			break;
		}
		for (i = 0; i < got && !err; i++)
			err = vcuda_region_add(r, page_to_pfn(pages[i]), 1);
		/* Unpin the page that couldn't be added, and those after it. */
		if (err)
			unpin_user_pages(pages + i - 1, got - i + 1);
		else if (fatal_signal_pending(current))
			err = -EINTR;
		vaddr += (u64)got << PAGE_SHIFT;
		cond_resched();
	}
	kfree(pages);
	if (err) {
		vcuda_region_put(r);
		return ERR_PTR(err);
	}
	return r;
}

/* ---- Attach and detach ------------------------------------------------- */

static struct vcuda_chain *vcuda_attach_chain(const struct vcuda_region *r,
					      u32 ring_bytes)
{
	struct virtio_cuda_region_attach *req;
	struct virtio_cuda_segment *seg;
	struct vcuda_chain *chain;
	size_t i;

	chain = vcuda_chain_alloc(sizeof(*req) + r->nr_runs * sizeof(*seg),
				  sizeof(struct virtio_cuda_resp));
	if (!chain)
		return NULL;
	req = chain->out;
	req->hdr.type = cpu_to_le32(VIRTIO_CUDA_CTRL_REGION_ATTACH);
	req->hdr.session = cpu_to_le32(r->session->id);
	req->region = cpu_to_le32(r->id);
	req->kind = cpu_to_le32(r->kind);
	req->vaddr = cpu_to_le64(r->vaddr);
	req->len = cpu_to_le64((u64)r->nr_pages << PAGE_SHIFT);
	req->ring_bytes = cpu_to_le32(ring_bytes);
	req->nr_segments = cpu_to_le32(r->nr_runs);
	seg = (struct virtio_cuda_segment *)(req + 1);
	for (i = 0; i < r->nr_runs; i++, seg++) {
		seg->addr = cpu_to_le64(PFN_PHYS((u64)r->runs[i].pfn));
		seg->len = cpu_to_le64((u64)r->runs[i].nr << PAGE_SHIFT);
	}
	return chain;
}

/**
 * vcuda_region_attach() - assign an id to a region and attach it to the device
 * @r: the region
 * @ring_bytes: for a RING, the size of the ring; otherwise 0
 *
 * The caller holds vcuda_session.lock. If it isn't known whether the device has
 * mapped the pages, the region stays allocated until the session ends.
 */
int vcuda_region_attach(struct vcuda_region *r, u32 ring_bytes)
{
	struct vcuda_session *s = r->session;
	struct vcuda_chain *chain;
	int err;

	lockdep_assert_held(&s->lock);
	if (s->nr_regions >= s->dev->max_regions)
		return -EDQUOT;
	err = xa_alloc_cyclic(&s->regions, &r->id, r,
			      XA_LIMIT(1, VCUDA_REGION_ID_MAX),
			      &s->next_region, GFP_KERNEL);
	if (err < 0)
		return err;
	s->nr_regions++;
	vcuda_region_get(r);

	chain = vcuda_attach_chain(r, ring_bytes);
	if (chain) {
		err = vcuda_control(s->dev, chain);
		vcuda_chain_put(chain);
	} else {
		err = -ENOMEM;
	}
	if (!err) {
		xa_lock(&s->regions);
		r->ready = true;
		xa_unlock(&s->regions);
	} else if (err != -EINTR && err != -ENODEV && err != -EPROTO) {
		xa_erase(&s->regions, r->id);
		s->nr_regions--;
		vcuda_region_put(r);
	}
	return err;
}

/**
 * vcuda_region_detach() - detach a region from the device and drop it
 * @s: the session; the caller holds its lock
 * @id: the region's id
 */
int vcuda_region_detach(struct vcuda_session *s, u32 id)
{
	struct virtio_cuda_region_detach *req;
	struct vcuda_chain *chain;
	struct vcuda_region *r;
	int err;

	lockdep_assert_held(&s->lock);
	r = xa_load(&s->regions, id);
	if (!r || !r->ready || r->kind == VIRTIO_CUDA_REGION_RING)
		return -EINVAL;
	chain = vcuda_chain_alloc(sizeof(*req),
				  sizeof(struct virtio_cuda_resp));
	if (!chain)
		return -ENOMEM;
	req = chain->out;
	req->hdr.type = cpu_to_le32(VIRTIO_CUDA_CTRL_REGION_DETACH);
	req->hdr.session = cpu_to_le32(s->id);
	req->region = cpu_to_le32(id);
	err = vcuda_control(s->dev, chain);
	vcuda_chain_put(chain);
	if (err)
		return err;
	xa_erase(&s->regions, id);
	s->nr_regions--;
	vcuda_region_put(r);
	return 0;
}

/**
 * vcuda_regions_free() - drop all regions of a session that has ended
 * @s: the session; the caller holds its lock
 * @lost: whether the device may still access the pages, so that they must be
 *	leaked
 */
void vcuda_regions_free(struct vcuda_session *s, bool lost)
{
	struct vcuda_region *r;
	unsigned long id;

	lockdep_assert_held(&s->lock);
	xa_for_each(&s->regions, id, r) {
		xa_erase(&s->regions, id);
		s->nr_regions--;
		r->lost = lost;
		vcuda_region_put(r);
	}
}

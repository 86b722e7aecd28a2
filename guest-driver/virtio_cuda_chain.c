// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * virtio-cuda: buffer chains, each with a request and space for its response.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "virtio_cuda.h"

static void vcuda_chain_free(struct vcuda_chain *chain)
{
	kvfree(chain->out);
	kvfree(chain->in);
	kvfree(chain->sg);
	kfree(chain);
}

static void vcuda_chain_free_work(struct work_struct *work)
{
	vcuda_chain_free(container_of(work, struct vcuda_chain, free));
}

static void vcuda_chain_release(struct kref *kref)
{
	vcuda_chain_free(container_of(kref, struct vcuda_chain, kref));
}

/* Frees a chain in a work item, because vfree() may sleep. */
static void vcuda_chain_release_atomic(struct kref *kref)
{
	struct vcuda_chain *chain = container_of(kref, struct vcuda_chain, kref);

	queue_work(vcuda_workqueue, &chain->free);
}

void vcuda_chain_put(struct vcuda_chain *chain)
{
	kref_put(&chain->kref, vcuda_chain_release);
}

/*
 * Drops a reference in atomic context. This may be the last reference, if the
 * waiter was killed.
 */
void vcuda_chain_put_atomic(struct vcuda_chain *chain)
{
	kref_put(&chain->kref, vcuda_chain_release_atomic);
}

static size_t vcuda_sg_max(const void *buf, size_t len)
{
	return is_vmalloc_addr(buf) ?
		DIV_ROUND_UP(offset_in_page(buf) + len, PAGE_SIZE) : 1;
}

/* Fills @sg for @buf, merging adjacent pages; returns the number of entries. */
static unsigned int vcuda_sg_fill(struct scatterlist *sg, const void *buf,
				  size_t len)
{
	unsigned int nr = 0;

	if (!is_vmalloc_addr(buf)) {
		sg_set_buf(sg, buf, len);
		return 1;
	}
	while (len) {
		struct page *page = vmalloc_to_page(buf);
		unsigned int offset = offset_in_page(buf);
		size_t part = min_t(size_t, len, PAGE_SIZE - offset);

		if (nr && page_to_phys(page) + offset ==
		    sg_phys(&sg[nr - 1]) + sg[nr - 1].length)
			sg[nr - 1].length += part;
		else
			sg_set_page(&sg[nr++], page, part, offset);
		buf += part;
		len -= part;
	}
	return nr;
}

/**
 * vcuda_chain_alloc() - allocate a chain
 * @out_len: size of the request, which the device reads, in bytes
 * @in_len: size of the response, which the device writes, in bytes; at least
 *	the size of struct virtio_cuda_resp
 *
 * The request and the response are zeroed. Returns NULL if memory can't be
 * allocated.
 */
struct vcuda_chain *vcuda_chain_alloc(size_t out_len, size_t in_len)
{
	struct vcuda_chain *chain;
	size_t max;

	chain = kzalloc_obj(*chain, GFP_KERNEL);
	if (!chain)
		return NULL;
	kref_init(&chain->kref);
	init_completion(&chain->done);
	INIT_LIST_HEAD(&chain->node);
	INIT_WORK(&chain->free, vcuda_chain_free_work);
	chain->out = kvzalloc(out_len, GFP_KERNEL_ACCOUNT);
	chain->in = kvzalloc(in_len, GFP_KERNEL_ACCOUNT);
	if (!chain->out || !chain->in)
		goto fail;
	chain->out_len = out_len;
	chain->in_len = in_len;

	max = vcuda_sg_max(chain->out, out_len) +
	      vcuda_sg_max(chain->in, in_len);
	chain->sg = kvmalloc_array(max, sizeof(*chain->sg), GFP_KERNEL);
	if (!chain->sg)
		goto fail;
	sg_init_table(chain->sg, max);
	chain->nr_out = vcuda_sg_fill(chain->sg, chain->out, out_len);
	chain->nr_in = vcuda_sg_fill(chain->sg + chain->nr_out, chain->in,
				     in_len);
	/*
	 * The request and the response use separate scatterlists, so mark the
	 * end of each.
	 */
	sg_mark_end(&chain->sg[chain->nr_out - 1]);
	sg_mark_end(&chain->sg[chain->nr_out + chain->nr_in - 1]);
	return chain;
fail:
	vcuda_chain_free(chain);
	return NULL;
}

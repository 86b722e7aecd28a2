// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * virtio-cuda: ioctls. This file copies and checks the caller's structures;
 * the other files do the work.
 */
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "virtio_cuda.h"

static u64 vcuda_mmap_offset(u32 region)
{
	return (u64)region << VCUDA_MMAP_SHIFT;
}

static int vcuda_ioctl_info(struct vcuda_session *s, void __user *arg)
{
	struct virtio_cuda_ioc_info info;
	int err;

	/*
	 * Programs make this request first, so check here whether the device
	 * has been replaced.
	 */
	err = vcuda_monitor_check(s->dev, false);
	if (err)
		return err;
	info = (struct virtio_cuda_ioc_info){ .config = s->dev->config };
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

/* Checks the sizes of the ring and the arena; both may be 0. */
static bool vcuda_start_valid(const struct virtio_cuda_ioc_start *p)
{
	if (p->reserved || p->env_len > VIRTIO_CUDA_IOC_ENV_MAX)
		return false;
	if (!p->ring_bytes)
		return !p->arena_bytes;
	return is_power_of_2(p->ring_bytes) &&
	       p->ring_bytes >= VIRTIO_CUDA_RING_MIN_BYTES &&
	       p->ring_bytes <= VIRTIO_CUDA_RING_MAX_BYTES &&
	       p->arena_bytes < 1ULL << VCUDA_MMAP_SHIFT &&
	       PAGE_ALIGNED(VIRTIO_CUDA_RING_HEADER_BYTES + p->ring_bytes +
			    p->arena_bytes);
}

static int vcuda_ioctl_start(struct vcuda_session *s, void __user *arg)
{
	struct virtio_cuda_ioc_start p;
	void *env = NULL;
	u32 region = 0;
	int err;

	if (copy_from_user(&p, arg, sizeof(p)))
		return -EFAULT;
	if (!vcuda_start_valid(&p))
		return -EINVAL;
	if (p.env_len) {
		env = memdup_user(u64_to_user_ptr(p.env), p.env_len);
		if (IS_ERR(env))
			return PTR_ERR(env);
	}
	err = -EINTR;
	if (!mutex_lock_killable(&s->lock)) {
		err = vcuda_session_start(s, env, p.env_len, p.ring_bytes,
					  p.arena_bytes, &region);
		mutex_unlock(&s->lock);
	}
	kfree(env);
	if (err)
		return err;
	p.mmap_offset = vcuda_mmap_offset(region);
	p.session = s->id;
	if (copy_to_user(arg, &p, sizeof(p))) {
		vcuda_session_end(s, 0);
		return -EFAULT;
	}
	return 0;
}

/*
 * The session's lock protects its regions. Its holder must not access the
 * program's memory, because a page fault may wait until a program supplies the
 * page (userfaultfd, FUSE), and vcuda_session_end_work(), which ends a session
 * for any reason, waits for the lock.
 */
static int vcuda_attach(struct vcuda_session *s, struct vcuda_region *r)
{
	int err;

	if (mutex_lock_killable(&s->lock))
		return -EINTR;
	/*
	 * Check while holding the lock: once vcuda_session_end_work() has freed
	 * the regions, none may be added.
	 */
	err = vcuda_session_check(s);
	if (!err)
		err = vcuda_region_attach(r, 0);
	mutex_unlock(&s->lock);
	return err;
}

static int vcuda_detach(struct vcuda_session *s, u32 region)
{
	int err;

	if (mutex_lock_killable(&s->lock))
		return -EINTR;
	err = vcuda_session_check(s);
	if (!err)
		err = vcuda_region_detach(s, region);
	mutex_unlock(&s->lock);
	return err;
}

/*
 * Attaches the new region @r. If its id can't be copied to @arg, detaches it
 * again.
 */
static int vcuda_attach_new(struct vcuda_session *s, struct vcuda_region *r,
			    void __user *arg, void *p, size_t size, u32 *id,
			    u64 *offset)
{
	int err = vcuda_attach(s, r);

	if (!err) {
		*id = r->id;
		if (offset)
			*offset = vcuda_mmap_offset(r->id);
		if (copy_to_user(arg, p, size)) {
			vcuda_detach(s, r->id);
			err = -EFAULT;
		}
	}
	vcuda_region_put(r);
	return err;
}

static int vcuda_ioctl_alloc(struct vcuda_session *s, void __user *arg)
{
	struct virtio_cuda_ioc_alloc p;
	struct vcuda_region *r;

	if (copy_from_user(&p, arg, sizeof(p)))
		return -EFAULT;
	if (p.reserved)
		return -EINVAL;
	r = vcuda_region_alloc(s, VIRTIO_CUDA_REGION_PINNED, p.vaddr, p.len);
	if (IS_ERR(r))
		return PTR_ERR(r);
	return vcuda_attach_new(s, r, arg, &p, sizeof(p), &p.region,
				&p.mmap_offset);
}

static int vcuda_ioctl_pin(struct vcuda_session *s, void __user *arg)
{
	struct virtio_cuda_ioc_pin p;
	struct vcuda_region *r;

	if (copy_from_user(&p, arg, sizeof(p)))
		return -EFAULT;
	if (p.reserved)
		return -EINVAL;
	r = vcuda_region_pin(s, p.vaddr, p.len);
	if (IS_ERR(r))
		return PTR_ERR(r);
	return vcuda_attach_new(s, r, arg, &p, sizeof(p), &p.region, NULL);
}

static int vcuda_ioctl_release(struct vcuda_session *s, void __user *arg)
{
	struct virtio_cuda_ioc_release p;

	if (copy_from_user(&p, arg, sizeof(p)))
		return -EFAULT;
	if (p.reserved)
		return -EINVAL;
	return vcuda_detach(s, p.region);
}

/*
 * Returns true if WAIT must return: after a new wake, or when the session has
 * ended.
 */
static bool vcuda_woken(struct vcuda_session *s, u32 seen)
{
	return (s32)((u32)atomic_read(&s->wakes) - seen) > 0 ||
	       READ_ONCE(s->state) != VCUDA_LIVE;
}

static int vcuda_ioctl_wait(struct vcuda_session *s, void __user *arg)
{
	struct virtio_cuda_ioc_wait p;
	long left;

	if (copy_from_user(&p, arg, sizeof(p)))
		return -EFAULT;
	if (p.timeout_ms) {
		left = wait_event_interruptible_timeout(s->wait,
							vcuda_woken(s, p.seen),
							msecs_to_jiffies(p.timeout_ms));
		/* Don't restart the system call, because the timeout would start over. */
		if (left < 0)
			return -EINTR;
		if (!left)
			return -ETIMEDOUT;
	} else {
		left = wait_event_interruptible(s->wait,
						vcuda_woken(s, p.seen));
		if (left)
			return left;
	}
	if (READ_ONCE(s->state) != VCUDA_LIVE)
		return vcuda_session_check(s);
	p.seen = atomic_read(&s->wakes);
	return copy_to_user(arg, &p, sizeof(p)) ? -EFAULT : 0;
}

static int vcuda_ioctl_submit(struct vcuda_session *s, void __user *arg)
{
	struct virtio_cuda_resp *resp;
	struct virtio_cuda_ioc_submit p;
	struct virtio_cuda_hdr *hdr;
	struct vcuda_chain *chain;
	u32 len;
	int err;

	if (copy_from_user(&p, arg, sizeof(p)))
		return -EFAULT;
	/* Check only the lengths. The worker validates the command itself. */
	if (p.cmd_len < sizeof(struct virtio_cuda_cmd) || p.cmd_len % 8 ||
	    p.cmd_len > s->dev->max_plain ||
	    p.reply_len < sizeof(struct virtio_cuda_reply) ||
	    p.reply_len > s->dev->max_plain)
		return -EINVAL;

	chain = vcuda_chain_alloc(size_add(sizeof(*hdr), p.cmd_len),
				  size_add(sizeof(*resp), p.reply_len));
	if (!chain)
		return -ENOMEM;
	hdr = chain->out;
	hdr->type = cpu_to_le32(VIRTIO_CUDA_CMD_SUBMIT);
	hdr->session = cpu_to_le32(s->id);
	err = -EFAULT;
	if (copy_from_user(hdr + 1, u64_to_user_ptr(p.cmd), p.cmd_len))
		goto out;
	err = vcuda_submit(s, chain);
	if (err)
		goto out;

	resp = chain->in;
	len = min3(le32_to_cpu(resp->len),
		   (u32)(chain->used - sizeof(*resp)), p.reply_len);
	p.reply_len = len;
	if (copy_to_user(u64_to_user_ptr(p.reply), resp + 1, len) ||
	    copy_to_user(arg, &p, sizeof(p)))
		err = -EFAULT;
out:
	vcuda_chain_put(chain);
	return err;
}

/* Queries the device's GPUs; doesn't need a session. */
static int vcuda_ioctl_query(struct vcuda_session *s, void __user *arg)
{
	struct virtio_cuda_ioc_query p;
	struct virtio_cuda_query *req;
	struct virtio_cuda_resp *resp;
	struct vcuda_chain *chain;
	u32 len;
	int err;

	if (copy_from_user(&p, arg, sizeof(p)))
		return -EFAULT;
	if (p.reserved || p.answer_len < sizeof(struct virtio_cuda_facts) ||
	    p.answer_len > VIRTIO_CUDA_QUERY_MAX)
		return -EINVAL;
	/* Older devices, which lack this capability, don't know the request. */
	if (!(s->dev->capabilities & VIRTIO_CUDA_CAP_QUERY))
		return -EOPNOTSUPP;

	chain = vcuda_chain_alloc(sizeof(*req),
				  size_add(sizeof(*resp), p.answer_len));
	if (!chain)
		return -ENOMEM;
	req = chain->out;
	req->hdr.type = cpu_to_le32(VIRTIO_CUDA_CTRL_QUERY);
	/*
	 * Send one request at a time per file, so that one file can't fill the
	 * queue.
	 */
	err = -EINTR;
	if (mutex_lock_killable(&s->lock))
		goto out;
	err = vcuda_control(s->dev, chain);
	mutex_unlock(&s->lock);
	/* If the device has been replaced, the caller may try again. */
	if ((err == -EINVAL || err == -ENODEV) &&
	    !vcuda_monitor_check(s->dev, true))
		err = -EAGAIN;
	if (err)
		goto out;

	resp = chain->in;
	len = min3(le32_to_cpu(resp->len),
		   (u32)(chain->used - sizeof(*resp)), p.answer_len);
	p.answer_len = len;
	if (copy_to_user(u64_to_user_ptr(p.answer), resp + 1, len) ||
	    copy_to_user(arg, &p, sizeof(p)))
		err = -EFAULT;
out:
	vcuda_chain_put(chain);
	return err;
}

long vcuda_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct vcuda_session *s = file->private_data;
	void __user *p = (void __user *)arg;
	int err;

	/*
	 * Another process that has the file, such as a forked child, can't use
	 * the session.
	 */
	if (current->mm != s->mm)
		return -EPERM;
	switch (cmd) {
	case VIRTIO_CUDA_IOC_INFO:
		return vcuda_ioctl_info(s, p);
	case VIRTIO_CUDA_IOC_START:
		return vcuda_ioctl_start(s, p);
	case VIRTIO_CUDA_IOC_QUERY:
		return vcuda_ioctl_query(s, p);
	case VIRTIO_CUDA_IOC_ALLOC:
	case VIRTIO_CUDA_IOC_PIN:
	case VIRTIO_CUDA_IOC_RELEASE:
	case VIRTIO_CUDA_IOC_KICK:
	case VIRTIO_CUDA_IOC_WAIT:
	case VIRTIO_CUDA_IOC_SUBMIT:
		break;
	default:
		return -ENOTTY;
	}
	err = vcuda_session_check(s);
	if (err)
		return err;
	switch (cmd) {
	case VIRTIO_CUDA_IOC_ALLOC:
		return vcuda_ioctl_alloc(s, p);
	case VIRTIO_CUDA_IOC_PIN:
		return vcuda_ioctl_pin(s, p);
	case VIRTIO_CUDA_IOC_RELEASE:
		return vcuda_ioctl_release(s, p);
	case VIRTIO_CUDA_IOC_KICK:
		return vcuda_doorbell(s);
	case VIRTIO_CUDA_IOC_WAIT:
		return vcuda_ioctl_wait(s, p);
	default:
		return vcuda_ioctl_submit(s, p);
	}
}

// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * virtio-cuda: sending requests and doorbells, and handling the responses.
 */
#include <linux/random.h>
#include <linux/sched/signal.h>

#include "virtio_cuda.h"

/* ---- Control and command queue ----------------------------------------- */

static int vcuda_add(struct vcuda_queue *q, struct vcuda_chain *chain)
{
	struct scatterlist *sgs[2] = { chain->sg, chain->sg + chain->nr_out };

	lockdep_assert_held(&q->lock);
	if (virtqueue_is_broken(q->vq))
		return -ENODEV;
	return virtqueue_add_sgs(q->vq, sgs, 1, chain->nr_in ? 1 : 0, chain,
				 GFP_ATOMIC);
}

/*
 * Completes @chain, which the device has returned; if @error is set, the device
 * will never return it.
 */
void vcuda_chain_done(struct vcuda_queue *q, struct vcuda_chain *chain, u32 len,
		      int error)
{
	struct vcuda_session *s = chain->session;

	lockdep_assert_held(&q->lock);
	if (s) {
		if (s->bell_again) {
			s->bell_again = false;
			q->watchers--;
			/*
			 * There is space, because the chain's own descriptor
			 * has just become free.
			 */
			if (q->open && !vcuda_add(q, chain)) {
				virtqueue_kick(q->vq);
				return;
			}
		}
		s->bell_out = false;
		return;
	}
	/*
	 * If the chain was abandoned, its waiter may already be reading the
	 * result, so leave @used and @error alone.
	 */
	if (!completion_done(&chain->done)) {
		chain->used = min_t(size_t, len, chain->in_len);
		chain->error = error;
		complete_all(&chain->done);
	}
	list_del_init(&chain->node);
	q->watchers--;
	vcuda_chain_put_atomic(chain);
}

/*
 * Completes the chains that the device has used. If the driver waits for any
 * other chain, leaves the interrupt enabled.
 */
static void vcuda_reap(struct vcuda_queue *q)
{
	struct vcuda_chain *chain;
	bool any = false;
	u32 len;

	lockdep_assert_held(&q->lock);
	do {
		virtqueue_disable_cb(q->vq);
		while ((chain = virtqueue_get_buf(q->vq, &len))) {
			vcuda_chain_done(q, chain, len, 0);
			any = true;
		}
		if (!q->watchers)
			break;
	} while (!virtqueue_enable_cb(q->vq));
	if (any)
		wake_up(&q->space);
}

void vcuda_used(struct virtqueue *vq)
{
	struct vcuda_device *dev = vq->vdev->priv;
	struct vcuda_queue *q = &dev->queues[vq->index];
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	if (q->vq)
		vcuda_reap(q);
	spin_unlock_irqrestore(&q->lock, flags);
}

/*
 * Enables the interrupt until the device has used another chain, which frees
 * descriptors.
 */
static void vcuda_watch_space(struct vcuda_queue *q)
{
	lockdep_assert_held(&q->lock);
	q->watchers++;
	vcuda_reap(q);
	q->watchers--;
}

static bool vcuda_has_space(struct vcuda_queue *q)
{
	unsigned long flags;
	bool space;

	spin_lock_irqsave(&q->lock, flags);
	space = !q->vq || !q->open || q->vq->num_free;
	spin_unlock_irqrestore(&q->lock, flags);
	return space;
}

/*
 * The timeout is for -ENOMEM, because no event wakes the waiter when memory
 * becomes available.
 */
static int vcuda_wait_space(struct vcuda_queue *q)
{
	long left = wait_event_killable_timeout(q->space, vcuda_has_space(q),
						HZ / 10);

	return left < 0 ? -EINTR : 0;
}

/* If @force is set, sends the chain even if the queue is closed. */
static int vcuda_try_send(struct vcuda_queue *q, struct vcuda_chain *chain,
			  bool force)
{
	unsigned long flags;
	int err = -ENODEV;

	spin_lock_irqsave(&q->lock, flags);
	if (q->vq && (q->open || force)) {
		if (chain->nr_out + chain->nr_in >
		    virtqueue_get_vring_size(q->vq)) {
			err = -E2BIG;
		} else {
			vcuda_reap(q);
			err = vcuda_add(q, chain);
		}
		if (err == -ENOSPC)
			vcuda_watch_space(q);
		if (!err) {
			kref_get(&chain->kref);
			list_add_tail(&chain->node, &q->waiting);
			q->watchers++;
			virtqueue_kick(q->vq);
			vcuda_reap(q);
		}
	}
	spin_unlock_irqrestore(&q->lock, flags);
	return err;
}

static int vcuda_send(struct vcuda_queue *q, struct vcuda_chain *chain)
{
	int err;

	do {
		err = vcuda_try_send(q, chain, false);
		if (err != -ENOSPC && err != -ENOMEM)
			return err;
		if (err == -ENOMEM)
			schedule_timeout_killable(1);
		err = vcuda_wait_space(q);
	} while (!err);
	return err;
}

/**
 * vcuda_chain_send() - hand a chain to the device
 * @dev: the device
 * @index: the queue's index
 * @chain: the chain; the queue takes a reference to it
 *
 * Waits for free descriptors. Returns 0, -EINTR after a fatal signal (nothing
 * was sent), -ENODEV if the device is gone, or -E2BIG if the chain has more
 * entries than the queue.
 */
int vcuda_chain_send(struct vcuda_device *dev, unsigned int index,
		     struct vcuda_chain *chain)
{
	return vcuda_send(&dev->queues[index], chain);
}

/**
 * vcuda_status_errno() - translate the status of a response
 * @dev: the device
 * @chain: a completed chain
 *
 * Returns 0 or -errno. If the device responded, this is never -EINTR or -ENODEV.
 */
int vcuda_status_errno(struct vcuda_device *dev,
		       const struct vcuda_chain *chain)
{
	const struct virtio_cuda_resp *resp = chain->in;

	if (chain->error)
		return chain->error;
	if (chain->used < sizeof(*resp)) {
		dev_warn_ratelimited(&dev->vdev->dev,
				     "the device's response is too short: %u bytes\n",
				     chain->used);
		return -EPROTO;
	}
	switch (le32_to_cpu(resp->status)) {
	case VIRTIO_CUDA_OK:
		return 0;
	case VIRTIO_CUDA_ERR_INVALID:
		return -EINVAL;
	case VIRTIO_CUDA_ERR_NO_SESSION:
		return -EPIPE;
	case VIRTIO_CUDA_ERR_EXISTS:
		return -EEXIST;
	case VIRTIO_CUDA_ERR_LIMIT:
		return -EDQUOT;
	case VIRTIO_CUDA_ERR_NO_WORKER:
		return -EREMOTEIO;
	case VIRTIO_CUDA_ERR_UNSUPPORTED:
		return -EOPNOTSUPP;
	case VIRTIO_CUDA_ERR_MEMORY:
		return -ENOMEM;
	case VIRTIO_CUDA_ERR_BUSY:
		return -EAGAIN;
	default:
		return -EPROTO;
	}
}

/**
 * vcuda_control() - send a control request and wait for the response
 * @dev: the device
 * @chain: the request
 *
 * Returns 0, or the status of the response as -errno. After -EINTR or -ENODEV,
 * the device may or may not process the request.
 */
int vcuda_control(struct vcuda_device *dev, struct vcuda_chain *chain)
{
	long left;
	int err;

	vcuda_monitor_start(dev);
	err = vcuda_chain_send(dev, VIRTIO_CUDA_QUEUE_CONTROL, chain);
	if (err)
		return err;
	/* Not TASK_FREEZABLE, because the caller may hold the session's lock. */
	left = wait_for_completion_killable_timeout(&chain->done, VCUDA_SLOW);
	if (!left) {
		dev_warn_ratelimited(&dev->vdev->dev,
				     "%s[%d] has waited %d s for the host and continues to wait; the host's operator can check with vcudactl doctor whether vcudad is running\n",
				     current->comm, task_tgid_nr(current),
				     VCUDA_SLOW / HZ);
		left = wait_for_completion_killable(&chain->done);
	}
	if (left < 0)
		return -EINTR;
	return vcuda_status_errno(dev, chain);
}

/**
 * vcuda_submit() - send a command over the command queue and wait for the response
 * @s: the session
 * @chain: the command
 *
 * Returns the same values as vcuda_control().
 */
int vcuda_submit(struct vcuda_session *s, struct vcuda_chain *chain)
{
	/*
	 * Freezable, because a command may run for a long time, and a suspend
	 * must not wait for it.
	 */
	unsigned int state = TASK_KILLABLE | TASK_FREEZABLE;
	int err;

	/*
	 * Limit the number of commands per session, so that one session can't
	 * fill the queue.
	 */
	if (wait_event_state(s->wait,
			     atomic_dec_if_positive(&s->submits) >= 0, state))
		return -EINTR;
	err = vcuda_chain_send(s->dev, VIRTIO_CUDA_QUEUE_COMMAND, chain);
	if (!err)
		err = wait_for_completion_state(&chain->done, state) ?
			-EINTR : vcuda_status_errno(s->dev, chain);
	atomic_inc(&s->submits);
	wake_up(&s->wait);
	return err;
}

/**
 * vcuda_hello() - start a new epoch, which ends all earlier sessions
 * @dev: the device
 * @timeout: how long to wait for the response, in jiffies
 *
 * The queues are closed: HELLO is the driver's first request or its last one.
 * Returns 0 if the device has confirmed the new epoch.
 */
int vcuda_hello(struct vcuda_device *dev, unsigned long timeout)
{
	struct vcuda_queue *q = &dev->queues[VIRTIO_CUDA_QUEUE_CONTROL];
	unsigned long deadline = jiffies + timeout;
	struct virtio_cuda_hello *hello;
	struct vcuda_chain *chain;
	int err;

	chain = vcuda_chain_alloc(sizeof(*hello),
				  sizeof(struct virtio_cuda_resp));
	if (!chain)
		return -ENOMEM;
	hello = chain->out;
	hello->hdr.type = cpu_to_le32(VIRTIO_CUDA_CTRL_HELLO);
	hello->epoch = cpu_to_le64(get_random_u64());
	hello->version_major = cpu_to_le16(VIRTIO_CUDA_VERSION_MAJOR);
	hello->version_minor = cpu_to_le16(VIRTIO_CUDA_VERSION_MINOR);

	/* Poll for space, because no waiter is woken if the queue is closed. */
	while ((err = vcuda_try_send(q, chain, true)) == -ENOSPC &&
	       time_before(jiffies, deadline))
		schedule_timeout_uninterruptible(HZ / 100 + 1);
	if (!err)
		err = wait_for_completion_timeout(&chain->done, timeout) ?
			vcuda_status_errno(dev, chain) : -ETIMEDOUT;
	if (!err) {
		WRITE_ONCE(dev->era, dev->era + 1);
		wake_up_all(&dev->state_wait);
	}
	vcuda_chain_put(chain);
	return err;
}

/**
 * vcuda_ping_send() - send a ping, without waiting for space or the response
 * @dev: the device
 * @chain: the ping; the queue takes a reference to it
 * @leave_half: whether to leave half of the queue to other requests
 *
 * Returns 0 or -errno.
 */
int vcuda_ping_send(struct vcuda_device *dev, struct vcuda_chain *chain,
		    bool leave_half)
{
	struct vcuda_queue *q = &dev->queues[VIRTIO_CUDA_QUEUE_CONTROL];
	unsigned long flags;
	bool full;

	spin_lock_irqsave(&q->lock, flags);
	full = !q->vq || (leave_half && q->vq->num_free <=
			  virtqueue_get_vring_size(q->vq) / 2);
	spin_unlock_irqrestore(&q->lock, flags);
	return full ? -ENOSPC : vcuda_try_send(q, chain, true);
}

/* ---- Doorbells --------------------------------------------------------- */

void vcuda_doorbell_init(struct vcuda_session *s)
{
	s->bell_hdr.type = cpu_to_le32(VIRTIO_CUDA_CMD_DOORBELL);
	s->bell_hdr.session = cpu_to_le32(s->id);
	sg_init_one(&s->bell_sg, &s->bell_hdr, sizeof(s->bell_hdr));
	s->bell.session = s;
	s->bell.sg = &s->bell_sg;
	s->bell.nr_out = 1;
}

/*
 * If the device has the doorbell, it may have checked the ring already. Send
 * the doorbell again when the device returns it.
 */
static int vcuda_try_doorbell(struct vcuda_session *s)
{
	struct vcuda_queue *q = &s->dev->queues[VIRTIO_CUDA_QUEUE_COMMAND];
	unsigned long flags;
	int err = -ENODEV;

	spin_lock_irqsave(&q->lock, flags);
	if (s->bell_closed) {
		err = -EPIPE;
	} else if (q->vq && q->open) {
		vcuda_reap(q);
		if (!s->bell_out) {
			err = vcuda_add(q, &s->bell);
			if (!err) {
				s->bell_out = true;
				virtqueue_kick(q->vq);
			}
		} else {
			err = 0;
			if (!s->bell_again) {
				s->bell_again = true;
				q->watchers++;
				vcuda_reap(q);
			}
		}
	}
	if (err == -ENOSPC)
		vcuda_watch_space(q);
	spin_unlock_irqrestore(&q->lock, flags);
	return err;
}

/**
 * vcuda_doorbell() - notify the device that the session's ring contains work
 * @s: the session
 */
int vcuda_doorbell(struct vcuda_session *s)
{
	int err;

	while ((err = vcuda_try_doorbell(s)) == -ENOSPC) {
		if (READ_ONCE(s->state) == VCUDA_ENDED)
			return -EPIPE;
		err = vcuda_wait_space(&s->dev->queues[VIRTIO_CUDA_QUEUE_COMMAND]);
		if (err)
			break;
	}
	return err;
}

static bool vcuda_doorbell_quiet(struct vcuda_session *s)
{
	struct vcuda_queue *q = &s->dev->queues[VIRTIO_CUDA_QUEUE_COMMAND];
	unsigned long flags;
	bool quiet;

	spin_lock_irqsave(&q->lock, flags);
	quiet = !s->bell_out;
	spin_unlock_irqrestore(&q->lock, flags);
	return quiet;
}

/**
 * vcuda_doorbell_close() - stop sending doorbells, and wait for the last one
 * @s: the session, which contains the doorbell that the device may still read
 */
void vcuda_doorbell_close(struct vcuda_session *s)
{
	struct vcuda_queue *q = &s->dev->queues[VIRTIO_CUDA_QUEUE_COMMAND];
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	s->bell_closed = true;
	q->watchers++;
	if (q->vq)
		vcuda_reap(q);
	spin_unlock_irqrestore(&q->lock, flags);

	wait_event(q->space, vcuda_doorbell_quiet(s));

	spin_lock_irqsave(&q->lock, flags);
	q->watchers--;
	spin_unlock_irqrestore(&q->lock, flags);
}

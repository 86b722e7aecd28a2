// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * virtio-cuda: starting and stopping the device with its queues, and the
 * handler of its events.
 */
#include <linux/virtio_config.h>

#include "virtio_cuda.h"

/* ---- Event queue ------------------------------------------------------- */

static int vcuda_event_supply(struct virtqueue *vq, struct virtio_cuda_event *ev)
{
	struct scatterlist sg;

	sg_init_one(&sg, ev, sizeof(*ev));
	return virtqueue_add_inbuf(vq, &sg, 1, ev, GFP_ATOMIC);
}

static void vcuda_events_used(struct virtqueue *vq)
{
	struct vcuda_device *dev = vq->vdev->priv;
	struct vcuda_queue *q = &dev->queues[VIRTIO_CUDA_QUEUE_EVENT];
	struct virtio_cuda_event *ev, copy;
	unsigned long flags;
	u32 len;

	spin_lock_irqsave(&q->lock, flags);
	while (q->vq && (ev = virtqueue_get_buf(vq, &len))) {
		copy = *ev;
		/*
		 * Give the buffer back to the device before handling the event,
		 * so that the next event needn't wait.
		 */
		if (!vcuda_event_supply(vq, ev))
			virtqueue_kick(vq);
		spin_unlock_irqrestore(&q->lock, flags);
		if (len >= sizeof(copy))
			vcuda_event(dev, &copy);
		spin_lock_irqsave(&q->lock, flags);
	}
	spin_unlock_irqrestore(&q->lock, flags);
}

static void vcuda_events_fill(struct vcuda_device *dev)
{
	struct vcuda_queue *q = &dev->queues[VIRTIO_CUDA_QUEUE_EVENT];
	unsigned int i;

	spin_lock_irq(&q->lock);
	for (i = 0; i < VCUDA_EVENTS; i++)
		if (vcuda_event_supply(q->vq, &dev->events[i]))
			break;
	virtqueue_kick(q->vq);
	spin_unlock_irq(&q->lock);
}

/* ---- Starting and stopping the queues ---------------------------------- */

/**
 * vcuda_queues_start() - set up the queues, start the device, and send HELLO
 * @dev: the device, which has been reset
 * @timeout: how long to wait for the response to HELLO, in jiffies
 */
int vcuda_queues_start(struct vcuda_device *dev, unsigned long timeout)
{
	vq_callback_t *const callbacks[VIRTIO_CUDA_NUM_QUEUES] = {
		vcuda_used, vcuda_events_used, vcuda_used,
	};
	static const char *const names[VIRTIO_CUDA_NUM_QUEUES] = {
		"control", "event", "command",
	};
	struct virtqueue *vqs[VIRTIO_CUDA_NUM_QUEUES];
	unsigned int i;
	int err;

	err = vcuda_find_vqs(dev->vdev, VIRTIO_CUDA_NUM_QUEUES, vqs, callbacks,
			     names);
	if (err)
		return err;
	for (i = 0; i < VIRTIO_CUDA_NUM_QUEUES; i++) {
		struct vcuda_queue *q = &dev->queues[i];

		spin_lock_irq(&q->lock);
		q->vq = vqs[i];
		spin_unlock_irq(&q->lock);
	}
	virtio_device_ready(dev->vdev);
	vcuda_events_fill(dev);

	err = vcuda_hello(dev, timeout);
	if (err) {
		dev_err(&dev->vdev->dev, "the device did not accept HELLO: %d\n",
			err);
		vcuda_queues_stop(dev);
		return err;
	}
	for (i = 0; i < VIRTIO_CUDA_NUM_QUEUES; i++) {
		struct vcuda_queue *q = &dev->queues[i];

		spin_lock_irq(&q->lock);
		q->open = true;
		spin_unlock_irq(&q->lock);
	}
	WRITE_ONCE(dev->down, false);
	return 0;
}

/**
 * vcuda_queues_close() - stop accepting new chains, except the final HELLO
 * @dev: the device
 */
void vcuda_queues_close(struct vcuda_device *dev)
{
	unsigned int i;

	for (i = 0; i < VIRTIO_CUDA_NUM_QUEUES; i++) {
		struct vcuda_queue *q = &dev->queues[i];

		spin_lock_irq(&q->lock);
		q->open = false;
		spin_unlock_irq(&q->lock);
		wake_up_all(&q->space);
	}
}

/**
 * vcuda_queues_abandon() - stop waiting for a device that doesn't respond
 * @dev: the device
 *
 * Callers that are waiting for a response get -ENODEV. The device still has
 * their chains.
 */
void vcuda_queues_abandon(struct vcuda_device *dev)
{
	struct vcuda_chain *chain;
	unsigned int i;

	for (i = 0; i < VIRTIO_CUDA_NUM_QUEUES; i++) {
		struct vcuda_queue *q = &dev->queues[i];

		spin_lock_irq(&q->lock);
		list_for_each_entry(chain, &q->waiting, node) {
			if (completion_done(&chain->done))
				continue;
			chain->error = -ENODEV;
			complete_all(&chain->done);
		}
		spin_unlock_irq(&q->lock);
	}
}

/**
 * vcuda_queues_idle() - check whether the device has returned all chains
 * @dev: the device
 */
bool vcuda_queues_idle(struct vcuda_device *dev)
{
	bool idle = true;
	unsigned int i;

	for (i = 0; i < VIRTIO_CUDA_NUM_QUEUES; i++) {
		struct vcuda_queue *q = &dev->queues[i];

		spin_lock_irq(&q->lock);
		idle &= list_empty(&q->waiting);
		spin_unlock_irq(&q->lock);
	}
	return idle;
}

/**
 * vcuda_queues_broken() - check whether the device is known to be gone
 * @dev: the device
 */
bool vcuda_queues_broken(struct vcuda_device *dev)
{
	struct vcuda_queue *q = &dev->queues[VIRTIO_CUDA_QUEUE_CONTROL];
	bool broken;

	spin_lock_irq(&q->lock);
	broken = !q->vq || virtqueue_is_broken(q->vq);
	spin_unlock_irq(&q->lock);
	return broken;
}

/**
 * vcuda_queues_stop() - reset the device and delete the queues
 * @dev: the device
 *
 * Callers that are still waiting for a response then get -ENODEV.
 */
void vcuda_queues_stop(struct vcuda_device *dev)
{
	struct vcuda_chain *chain;
	unsigned int i;

	vcuda_queues_close(dev);
	virtio_reset_device(dev->vdev);
	if (!dev->queues[VIRTIO_CUDA_QUEUE_CONTROL].vq)
		return;
	for (i = 0; i < VIRTIO_CUDA_NUM_QUEUES; i++) {
		struct vcuda_queue *q = &dev->queues[i];

		spin_lock_irq(&q->lock);
		if (q->vq && i == VIRTIO_CUDA_QUEUE_EVENT) {
			while (virtqueue_detach_unused_buf(q->vq))
				;
		} else if (q->vq) {
			u32 len;

			while ((chain = virtqueue_get_buf(q->vq, &len)))
				vcuda_chain_done(q, chain, len, 0);
			while ((chain = virtqueue_detach_unused_buf(q->vq)))
				vcuda_chain_done(q, chain, 0, -ENODEV);
		}
		q->vq = NULL;
		spin_unlock_irq(&q->lock);
		wake_up_all(&q->space);
	}
	dev->vdev->config->del_vqs(dev->vdev);
}

/* ---- The device -------------------------------------------------------- */

/* Checks that this is a virtio-cuda device with a supported protocol version. */
int vcuda_read_config(struct virtio_device *vdev,
		      struct virtio_cuda_config *config)
{
	virtio_cread_bytes(vdev, 0, config, sizeof(*config));
	if (le32_to_cpu(config->magic) != VIRTIO_CUDA_MAGIC) {
		/*
		 * The device ids aren't officially assigned, so another kind of
		 * device may use them.
		 */
		dev_dbg(&vdev->dev, "not a virtio-cuda device: wrong magic number\n");
		return -ENODEV;
	}
	if (le16_to_cpu(config->version_major) != VIRTIO_CUDA_VERSION_MAJOR) {
		dev_err(&vdev->dev,
			"the device has protocol version %u.%u, but this driver has %u.%u: update the older one\n",
			le16_to_cpu(config->version_major),
			le16_to_cpu(config->version_minor),
			VIRTIO_CUDA_VERSION_MAJOR, VIRTIO_CUDA_VERSION_MINOR);
		return -ENODEV;
	}
	return 0;
}

int vcuda_configure(struct vcuda_device *dev)
{
	int err = vcuda_read_config(dev->vdev, &dev->config);

	if (err)
		return err;
	dev->capabilities = le32_to_cpu(dev->config.capabilities);
	dev->max_regions = le32_to_cpu(dev->config.max_regions);
	dev->max_segments = le32_to_cpu(dev->config.max_segments);
	dev->max_plain = le32_to_cpu(dev->config.max_plain);
	dev->pinned_max = le64_to_cpu(dev->config.pinned_max);
	return 0;
}

/**
 * vcuda_device_restart() - initialize a device that has replaced another one
 * @dev: the device, whose queues are stopped
 *
 * The new device has the features of the old one: the VMM would refuse any
 * other device. But it may have other limits.
 */
int vcuda_device_restart(struct vcuda_device *dev)
{
	struct virtio_device *vdev = dev->vdev;
	int err;

	/* vcuda_queues_stop() has reset the device. */
	virtio_add_status(vdev, VIRTIO_CONFIG_S_ACKNOWLEDGE);
	virtio_add_status(vdev, VIRTIO_CONFIG_S_DRIVER);
	err = vdev->config->finalize_features(vdev);
	if (err)
		return err;
	virtio_add_status(vdev, VIRTIO_CONFIG_S_FEATURES_OK);
	if (!(vdev->config->get_status(vdev) & VIRTIO_CONFIG_S_FEATURES_OK))
		return -ENODEV;
	err = vcuda_configure(dev);
	if (err)
		return err;
	return vcuda_queues_start(dev, VCUDA_REPLACED_TIMEOUT);
}

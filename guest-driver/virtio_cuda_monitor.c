// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * virtio-cuda: recognizing that the device is gone, or has been replaced.
 *
 * If the device process ends, a VMM may connect to the next one without
 * notifying the guest, and after a VM has been restored from a snapshot, the
 * device isn't the one that the driver knows. Such a device has never received
 * a HELLO, so it responds to every other request with ERR_INVALID. While the
 * driver waits for the device or sessions exist, a work item therefore sends
 * pings: requests to end a session that doesn't exist. A device that has
 * received a HELLO responds with ERR_NO_SESSION.
 *
 * The work item doesn't read the config space before the device has answered:
 * without a device process, cloud-hypervisor exits in a config access, and QEMU
 * may crash.
 *
 * Some requests that were sent in the meantime never get a response. To get
 * their descriptors and the event buffers back, the driver resets the device
 * and initializes it again.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>

#include "virtio_cuda.h"

enum vcuda_health {
	VCUDA_ALIVE,
	/* A ping hasn't been answered yet. */
	VCUDA_SILENT,
	VCUDA_REPLACED,
	/* The connection to the device process is known to have ended. */
	VCUDA_DEAD,
};

/* ---- User-mode Linux --------------------------------------------------- */

#if IS_ENABLED(CONFIG_UML)
/*
 * In user-mode Linux, the vhost-user front end is a driver in this kernel,
 * virtio_uml. It doesn't connect again by itself, but does so when it's bound
 * to its platform device again.
 */
struct vcuda_rebind {
	struct work_struct work;
	struct device *parent;
};

static bool vcuda_exiting;

/*
 * Delay before the front end is bound again. Until then, the host must have
 * ended the sessions' workers, which frees the sessions' pages. The host does
 * that as soon as the device process has ended.
 */
#define VCUDA_REBIND_DELAY_MS 200

static void vcuda_rebind_work(struct work_struct *work)
{
	struct vcuda_rebind *rebind = container_of(work, struct vcuda_rebind,
						   work);
	struct device *parent = rebind->parent;
	unsigned int delay = VCUDA_REBIND_DELAY_MS;
	int err;

	msleep(delay);
	err = device_reprobe(parent);
	while (!err && !READ_ONCE(vcuda_exiting) &&
	       device_is_registered(parent) && !READ_ONCE(parent->driver)) {
		/*
		 * The front end can't be bound because there is no device
		 * process yet.
		 */
		msleep(delay);
		delay = min(delay * 2, 1000U);
		err = min(device_attach(parent), 0);
	}
	put_device(parent);
	kfree(rebind);
}

static void vcuda_rebind(struct vcuda_device *dev)
{
	struct vcuda_rebind *rebind = kzalloc_obj(*rebind, GFP_KERNEL);

	if (!rebind)
		return;
	INIT_WORK(&rebind->work, vcuda_rebind_work);
	rebind->parent = get_device(dev->vdev->dev.parent);
	queue_work(vcuda_workqueue, &rebind->work);
}

/*
 * Reads the config space. If the connection to the device process has ended,
 * the read leaves the buffer unchanged.
 */
static bool vcuda_is_dead(struct vcuda_device *dev)
{
	__le32 magic = 0;

	dev->vdev->config->get(dev->vdev,
			       offsetof(struct virtio_cuda_config, magic),
			       &magic, sizeof(magic));
	return le32_to_cpu(magic) != VIRTIO_CUDA_MAGIC;
}

void vcuda_monitor_exit(void)
{
	WRITE_ONCE(vcuda_exiting, true);
}
#else
static void vcuda_rebind(struct vcuda_device *dev)
{
}

static bool vcuda_is_dead(struct vcuda_device *dev)
{
	return false;
}

void vcuda_monitor_exit(void)
{
}
#endif

/* ---- Pings ------------------------------------------------------------- */

static void vcuda_pings_drop(struct vcuda_device *dev)
{
	while (dev->nr_pings)
		vcuda_chain_put(dev->pings[--dev->nr_pings]);
}

/* Sends a ping, if there is room for it. */
static void vcuda_ping(struct vcuda_device *dev)
{
	struct virtio_cuda_session_destroy *req;
	struct vcuda_chain *chain;

	if (dev->nr_pings == VCUDA_PINGS)
		return;
	chain = vcuda_chain_alloc(sizeof(*req),
				  sizeof(struct virtio_cuda_resp));
	if (!chain)
		return;
	req = chain->out;
	req->hdr.type = cpu_to_le32(VIRTIO_CUDA_CTRL_SESSION_DESTROY);
	req->hdr.session = cpu_to_le32(VCUDA_PING_SESSION);
	/*
	 * If an earlier ping is unanswered, leave half of the queue to other
	 * requests.
	 */
	if (vcuda_ping_send(dev, chain, dev->nr_pings > 0)) {
		vcuda_chain_put(chain);
		return;
	}
	dev->pings[dev->nr_pings++] = chain;
	wait_for_completion_timeout(&chain->done, VCUDA_PING_WAIT);
}

/* Handles the pings that have been answered. */
static enum vcuda_health vcuda_pings_check(struct vcuda_device *dev)
{
	unsigned int i, left = 0, answers = 0;
	bool replaced = false;

	for (i = 0; i < dev->nr_pings; i++) {
		struct vcuda_chain *chain = dev->pings[i];

		if (!completion_done(&chain->done)) {
			dev->pings[left++] = chain;
			continue;
		}
		/*
		 * vcuda_queues_abandon() completes pings with an error, but
		 * without a response.
		 */
		if (!chain->error)
			answers++;
		if (vcuda_status_errno(dev, chain) == -EINVAL)
			replaced = true;
		vcuda_chain_put(chain);
	}
	dev->nr_pings = left;
	if (replaced)
		return VCUDA_REPLACED;
	return answers && !left ? VCUDA_ALIVE : VCUDA_SILENT;
}

/* ---- The monitor ------------------------------------------------------- */

/* Ends all sessions, and all waits for the device. */
static void vcuda_device_lose(struct vcuda_device *dev)
{
	if (dev->lost)
		return;
	vcuda_queues_close(dev);
	WRITE_ONCE(dev->lost, true);
	WRITE_ONCE(dev->losses, dev->losses + 1);
	/* Pairs with the cmpxchg() in vcuda_session_start(). */
	smp_mb();
	vcuda_queues_abandon(dev);
	vcuda_sessions_end(dev);
}

static bool vcuda_device_replace(struct vcuda_device *dev)
{
	int err;

	vcuda_device_lose(dev);
	vcuda_pings_drop(dev);
	vcuda_queues_stop(dev);
	err = vcuda_device_restart(dev);
	if (err) {
		dev_err(&dev->vdev->dev,
			"cannot initialize the device again: %d\n", err);
		return false;
	}
	WRITE_ONCE(dev->lost, false);
	dev_info_ratelimited(&dev->vdev->dev,
			     "the device was replaced: all earlier sessions have ended\n");
	return true;
}

static enum vcuda_health vcuda_device_health(struct vcuda_device *dev)
{
	enum vcuda_health health;

	if (!dev->queues[VIRTIO_CUDA_QUEUE_CONTROL].vq)
		/* The last attempt to initialize the device failed. */
		return VCUDA_REPLACED;
	vcuda_ping(dev);
	health = vcuda_pings_check(dev);
	if (health == VCUDA_SILENT && vcuda_is_dead(dev))
		return VCUDA_DEAD;
	/* The device has recovered, but its sessions have ended. */
	if (health == VCUDA_ALIVE && dev->lost)
		return VCUDA_REPLACED;
	return health;
}

static void vcuda_monitor_work(struct work_struct *work)
{
	struct vcuda_device *dev = container_of(to_delayed_work(work),
						struct vcuda_device, monitor);
	enum vcuda_health health = vcuda_device_health(dev);
	bool more;

	if (health == VCUDA_REPLACED && vcuda_device_replace(dev))
		health = VCUDA_ALIVE;
	switch (health) {
	case VCUDA_ALIVE:
		dev->misses = 0;
		WRITE_ONCE(dev->heard, jiffies);
		break;
	case VCUDA_DEAD:
		if (vcuda_queues_broken(dev))
			/* virtio_uml will be bound to its device again soon. */
			break;
		dev_warn(&dev->vdev->dev, "the device process has ended\n");
		virtio_break_device(dev->vdev);
		vcuda_device_lose(dev);
		vcuda_rebind(dev);
		break;
	default:
		if (dev->nr_pings && ++dev->misses == VCUDA_PINGS_LOST) {
			dev_warn(&dev->vdev->dev,
				 "the device does not respond: ending all sessions\n");
			vcuda_device_lose(dev);
		}
		break;
	}
	WRITE_ONCE(dev->checks, dev->checks + 1);
	wake_up_all(&dev->state_wait);

	/*
	 * vcuda_queues_idle() ignores doorbells, but each doorbell belongs to a
	 * session.
	 */
	more = dev->lost || !xa_empty(&dev->sessions) ||
	       !vcuda_queues_idle(dev);
	if (more && health != VCUDA_DEAD && dev->misses < VCUDA_PINGS)
		vcuda_monitor_queue(dev, dev->misses < VCUDA_PINGS_FAST ?
				    VCUDA_PING_FAST : VCUDA_PING_SLOW, false);
}

void vcuda_monitor_init(struct vcuda_device *dev)
{
	INIT_DELAYED_WORK(&dev->monitor, vcuda_monitor_work);
	spin_lock_init(&dev->monitor_lock);
}

void vcuda_monitor_enable(struct vcuda_device *dev)
{
	dev->misses = 0;
	dev->heard = jiffies;
	WRITE_ONCE(dev->lost, false);
	spin_lock(&dev->monitor_lock);
	dev->monitor_on = true;
	spin_unlock(&dev->monitor_lock);
}

/**
 * vcuda_monitor_disable() - stop the monitor, before the device is released
 * @dev: the device
 */
void vcuda_monitor_disable(struct vcuda_device *dev)
{
	spin_lock(&dev->monitor_lock);
	dev->monitor_on = false;
	spin_unlock(&dev->monitor_lock);
	cancel_delayed_work_sync(&dev->monitor);
	vcuda_pings_drop(dev);
}

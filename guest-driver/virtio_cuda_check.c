// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * virtio-cuda: requests to check the device, which the monitor carries out.
 */
#include "virtio_cuda.h"

/**
 * vcuda_monitor_queue() - queue the monitor
 * @dev: the device
 * @delay: when to run it, in jiffies
 * @sooner: if the monitor is already queued, whether to reschedule it
 */
void vcuda_monitor_queue(struct vcuda_device *dev, unsigned long delay,
			 bool sooner)
{
	spin_lock(&dev->monitor_lock);
	if (dev->monitor_on && sooner)
		mod_delayed_work(vcuda_workqueue, &dev->monitor, delay);
	else if (dev->monitor_on)
		queue_delayed_work(vcuda_workqueue, &dev->monitor, delay);
	spin_unlock(&dev->monitor_lock);
}

/**
 * vcuda_monitor_start() - make sure that the monitor checks the device soon
 * @dev: the device
 */
void vcuda_monitor_start(struct vcuda_device *dev)
{
	vcuda_monitor_queue(dev, VCUDA_PING_FAST, false);
}

/**
 * vcuda_monitor_check() - check the device now
 * @dev: the device
 * @doubt: whether there is a sign that the device has been replaced; otherwise,
 *	a recent check suffices
 *
 * If the device has been replaced, waits until the new one is ready. Returns 0,
 * -ENODEV if there is no device, or -EINTR.
 */
int vcuda_monitor_check(struct vcuda_device *dev, bool doubt)
{
	u32 checks = READ_ONCE(dev->checks);
	long left;

	if (!doubt && !READ_ONCE(dev->lost) && !READ_ONCE(dev->down) &&
	    time_before(jiffies, READ_ONCE(dev->heard) + VCUDA_PING_FAST))
		return 0;
	vcuda_monitor_queue(dev, 0, doubt);
	left = wait_event_killable_timeout(dev->state_wait,
					   READ_ONCE(dev->checks) != checks ||
					   !READ_ONCE(dev->monitor_on),
					   VCUDA_CHECK_WAIT);
	if (left < 0)
		return -EINTR;
	return READ_ONCE(dev->lost) || READ_ONCE(dev->down) ? -ENODEV : 0;
}

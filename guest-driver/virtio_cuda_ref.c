// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * virtio-cuda: references to devices and sessions.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "virtio_cuda.h"

struct workqueue_struct *vcuda_workqueue;

static void vcuda_device_free(struct kref *kref)
{
	struct vcuda_device *dev = container_of(kref, struct vcuda_device, kref);

	xa_destroy(&dev->sessions);
	put_device(&dev->vdev->dev);
	kfree(dev->events);
	kfree(dev);
}

void vcuda_device_get(struct vcuda_device *dev)
{
	kref_get(&dev->kref);
}

void vcuda_device_put(struct vcuda_device *dev)
{
	kref_put(&dev->kref, vcuda_device_free);
}

static void vcuda_session_free(struct kref *kref)
{
	struct vcuda_session *s = container_of(kref, struct vcuda_session, kref);

	xa_destroy(&s->regions);
	mutex_destroy(&s->lock);
	mmdrop(s->mm);
	vcuda_user_put(s->user);
	vcuda_device_put(s->dev);
	kfree(s);
}

void vcuda_session_put(struct vcuda_session *s)
{
	kref_put(&s->kref, vcuda_session_free);
}

// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * virtio-cuda: binding and unbinding devices.
 *
 * Before the driver releases a device, it sends a final HELLO. The response
 * confirms that the device no longer holds any guest pages. A reset alone
 * doesn't guarantee that, because some VMMs only stop the queues of a
 * vhost-user back end.
 */
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/reboot.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>

#include "virtio_cuda.h"

/*
 * Device ids under which VMMs offer virtio-cuda; vcuda_read_config() checks the
 * magic number.
 */
#define VCUDA_ID_QEMU 38
#define VCUDA_ID_OWN 63

/*
 * By default, every user can access the device, as with NVIDIA's device files.
 */
static ushort device_mode = 0666;
module_param(device_mode, ushort, 0444);
MODULE_PARM_DESC(device_mode,
		 "Mode of /dev/virtio-cuda* (default: 0666)");

/* Allocates the number N in /dev/virtio-cudaN. */
static DEFINE_IDA(vcuda_ida);

static const struct file_operations vcuda_fops = {
	.owner = THIS_MODULE,
	.open = vcuda_open,
	.release = vcuda_release,
	.unlocked_ioctl = vcuda_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = vcuda_mmap,
};

static struct vcuda_device *vcuda_device_new(struct virtio_device *vdev)
{
	struct vcuda_device *dev;
	unsigned int i;

	dev = kzalloc_obj(*dev, GFP_KERNEL);
	if (!dev)
		return NULL;
	dev->events = kcalloc(VCUDA_EVENTS, sizeof(*dev->events), GFP_KERNEL);
	if (!dev->events)
		goto fail;
	dev->index = ida_alloc(&vcuda_ida, GFP_KERNEL);
	if (dev->index < 0)
		goto fail;
	kref_init(&dev->kref);
	get_device(&vdev->dev);
	dev->vdev = vdev;
	for (i = 0; i < VIRTIO_CUDA_NUM_QUEUES; i++) {
		spin_lock_init(&dev->queues[i].lock);
		INIT_LIST_HEAD(&dev->queues[i].waiting);
		init_waitqueue_head(&dev->queues[i].space);
	}
	xa_init_flags(&dev->sessions, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	init_waitqueue_head(&dev->state_wait);
	vcuda_monitor_init(dev);
	atomic64_set(&dev->pinned, 0);
	INIT_LIST_HEAD(&dev->users);
	spin_lock_init(&dev->users_lock);
	dev->down = true;
	snprintf(dev->name, sizeof(dev->name), "virtio-cuda%d", dev->index);
	dev->misc.minor = MISC_DYNAMIC_MINOR;
	dev->misc.name = dev->name;
	dev->misc.fops = &vcuda_fops;
	dev->misc.parent = &vdev->dev;
	dev->misc.mode = device_mode & 0666;
	return dev;
fail:
	kfree(dev->events);
	kfree(dev);
	return NULL;
}

/*
 * The driver sends guest-physical page addresses to the device. The device
 * can't use these addresses behind an IOMMU or with encrypted memory.
 */
static int vcuda_check_dma(struct virtio_device *vdev)
{
	struct device *dma = vdev->dev.parent;
	struct page *page;
	dma_addr_t addr;
	int err = 0;

	if (!virtio_has_feature(vdev, VIRTIO_F_ACCESS_PLATFORM))
		return 0;
	page = alloc_page(GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	addr = dma_map_page(dma, page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dma, addr)) {
		err = -EOPNOTSUPP;
	} else {
		if (addr != page_to_phys(page))
			err = -EOPNOTSUPP;
		dma_unmap_page(dma, addr, PAGE_SIZE, DMA_BIDIRECTIONAL);
	}
	__free_page(page);
	if (err)
		dev_err(&vdev->dev,
			"the device is behind an IOMMU or cannot read guest memory directly: attach it without VIRTIO_F_ACCESS_PLATFORM\n");
	return err;
}

static int vcuda_validate(struct virtio_device *vdev)
{
	struct virtio_cuda_config config;
	int err;

	if (!vdev->config->get)
		return -EINVAL;
	err = vcuda_read_config(vdev, &config);
	if (err)
		return err;
	if (!virtio_has_feature(vdev, VIRTIO_F_VERSION_1)) {
		dev_err(&vdev->dev, "the device lacks VIRTIO_F_VERSION_1\n");
		return -ENODEV;
	}
	/* docs/device.md requires split virtqueues. */
	__virtio_clear_bit(vdev, VIRTIO_F_RING_PACKED);
	return vcuda_check_dma(vdev);
}

/*
 * Sends the final HELLO. The caller has disabled the monitor. If the device
 * hasn't responded to the monitor's checks for a second, it probably won't
 * respond, so the timeout is short.
 */
static int vcuda_goodbye(struct vcuda_device *dev)
{
	bool silent = dev->misses >= VCUDA_MISSES_SILENT;

	return vcuda_hello(dev, silent ? VCUDA_SILENT_TIMEOUT :
			   VCUDA_GOODBYE_TIMEOUT);
}

/* Ends all sessions, and makes the device release the guest's pages. */
static void vcuda_leave(struct vcuda_device *dev)
{
	bool broken;
	int err;

	vcuda_monitor_disable(dev);
	if (dev->down)
		return;
	vcuda_queues_close(dev);
	broken = vcuda_queues_broken(dev);
	err = broken ? -ENODEV : vcuda_goodbye(dev);
	vcuda_queues_stop(dev);
	if (broken)
		/* The device is gone, and so are its sessions. */
		WRITE_ONCE(dev->era, dev->era + 1);
	else if (err)
		dev_warn(&dev->vdev->dev,
			 "the device did not confirm that it no longer uses the guest's pages (%d): they stay allocated\n",
			 err);
	WRITE_ONCE(dev->down, true);
	wake_up_all(&dev->state_wait);
	vcuda_sessions_end(dev);
}

/* Sends the final HELLO, because another kernel may take over and reuse the pages. */
static int vcuda_reboot(struct notifier_block *nb, unsigned long action,
			void *data)
{
	struct vcuda_device *dev = container_of(nb, struct vcuda_device, reboot);

	vcuda_monitor_disable(dev);
	if (!READ_ONCE(dev->down) && !vcuda_queues_broken(dev)) {
		vcuda_queues_close(dev);
		vcuda_goodbye(dev);
	}
	return NOTIFY_DONE;
}

static int vcuda_probe(struct virtio_device *vdev)
{
	struct vcuda_device *dev;
	int err;

	dev = vcuda_device_new(vdev);
	if (!dev)
		return -ENOMEM;
	err = vcuda_configure(dev);
	if (err)
		goto put;
	vdev->priv = dev;

	err = vcuda_queues_start(dev, VCUDA_HELLO_TIMEOUT);
	if (err)
		goto put;
	vcuda_monitor_enable(dev);
	err = misc_register(&dev->misc);
	if (err)
		goto leave;
	dev->reboot.notifier_call = vcuda_reboot;
	register_reboot_notifier(&dev->reboot);
	dev_info(&vdev->dev, "/dev/%s: version %u.%u, capabilities %#x\n",
		 dev->name, le16_to_cpu(dev->config.version_major),
		 le16_to_cpu(dev->config.version_minor),
		 dev->capabilities);
	return 0;
leave:
	vcuda_leave(dev);
put:
	ida_free(&vcuda_ida, dev->index);
	vcuda_device_put(dev);
	return err;
}

static void vcuda_remove(struct virtio_device *vdev)
{
	struct vcuda_device *dev = vdev->priv;

	unregister_reboot_notifier(&dev->reboot);
	/*
	 * Sessions of open files keep a reference to dev; their ioctls now fail
	 * with -ENODEV.
	 */
	misc_deregister(&dev->misc);
	vcuda_leave(dev);
	/* The next device that is bound may reuse the index. */
	ida_free(&vcuda_ida, dev->index);
	vcuda_device_put(dev);
}

#ifdef CONFIG_PM_SLEEP
/* Sessions can't survive a suspend, because the GPU may lose its contents. */
static int vcuda_freeze(struct virtio_device *vdev)
{
	struct vcuda_device *dev = vdev->priv;

	vcuda_leave(dev);
	return 0;
}

static int vcuda_restore(struct virtio_device *vdev)
{
	struct vcuda_device *dev = vdev->priv;
	int err = vcuda_queues_start(dev, VCUDA_HELLO_TIMEOUT);

	if (!err)
		vcuda_monitor_enable(dev);
	return err;
}
#endif

static const struct virtio_device_id vcuda_ids[] = {
	{ VCUDA_ID_QEMU, VIRTIO_DEV_ANY_ID },
	{ VCUDA_ID_OWN, VIRTIO_DEV_ANY_ID },
	{ 0 },
};
MODULE_DEVICE_TABLE(virtio, vcuda_ids);

static struct virtio_driver vcuda_driver = {
	.driver.name = KBUILD_MODNAME,
	.driver.owner = THIS_MODULE,
	.id_table = vcuda_ids,
	.validate = vcuda_validate,
	.probe = vcuda_probe,
	.remove = vcuda_remove,
#ifdef CONFIG_PM_SLEEP
	.freeze = vcuda_freeze,
	.restore = vcuda_restore,
#endif
};

static int __init vcuda_init(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct virtio_cuda_config) != 64);
	BUILD_BUG_ON(sizeof(struct virtio_cuda_event) != 16);
	vcuda_region_init();
	vcuda_workqueue = alloc_workqueue("virtio-cuda", WQ_UNBOUND, 0);
	if (!vcuda_workqueue)
		return -ENOMEM;
	err = register_virtio_driver(&vcuda_driver);
	if (err)
		destroy_workqueue(vcuda_workqueue);
	return err;
}
module_init(vcuda_init);

static void __exit vcuda_exit(void)
{
	unregister_virtio_driver(&vcuda_driver);
	vcuda_monitor_exit();
	/* Waits for the work items that end sessions. */
	destroy_workqueue(vcuda_workqueue);
	ida_destroy(&vcuda_ida);
}
module_exit(vcuda_exit);

MODULE_DESCRIPTION("A paravirtual CUDA device");
MODULE_AUTHOR("The virtio-cuda authors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");

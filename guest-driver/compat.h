/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * virtio-cuda: differences between Linux 6.1 and 7.2. No other file checks the
 * kernel version.
 */
#ifndef _VIRTIO_CUDA_COMPAT_H
#define _VIRTIO_CUDA_COMPAT_H

#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "virtio-cuda needs Linux 6.1 or newer"
#endif

#if BITS_PER_LONG != 64
#error "virtio-cuda needs a 64-bit kernel, as CUDA does"
#endif

/*
 * User-mode Linux can't enable MMU_NOTIFIER. There, a session that has a ring
 * ends when the last mapping of the ring is closed.
 */
#define VCUDA_HAVE_MMU_NOTIFIER IS_ENABLED(CONFIG_MMU_NOTIFIER)

/* Up to 6.3, MAX_ORDER was the largest order plus one. It was renamed in 6.8. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
#define VCUDA_MAX_ORDER MAX_PAGE_ORDER
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#define VCUDA_MAX_ORDER MAX_ORDER
#else
#define VCUDA_MAX_ORDER (MAX_ORDER - 1)
#endif

/* kzalloc_obj() was added in 7.0. */
#ifndef kzalloc_obj
#define kzalloc_obj(obj, gfp) kzalloc(sizeof(obj), gfp)
#endif

/* Since 6.3, VMA flags must be changed through a function. */
static inline void vcuda_vm_flags_set(struct vm_area_struct *vma,
				      unsigned long flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

/* Since 6.11, virtio_find_vqs() takes an array of structures. */
static inline int vcuda_find_vqs(struct virtio_device *vdev, unsigned int nr,
				 struct virtqueue **vqs,
				 vq_callback_t *const callbacks[],
				 const char *const names[])
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
	struct virtqueue_info info[8] = {};
	unsigned int i;

	if (nr > ARRAY_SIZE(info))
		return -EINVAL;
	for (i = 0; i < nr; i++) {
		info[i].callback = callbacks[i];
		info[i].name = names[i];
	}
	return virtio_find_vqs(vdev, nr, vqs, info, NULL);
#else
	vq_callback_t *cbs[8];

	if (nr > ARRAY_SIZE(cbs))
		return -EINVAL;
	memcpy(cbs, callbacks, nr * sizeof(*cbs));
	return virtio_find_vqs(vdev, nr, vqs, cbs, names, NULL);
#endif
}

#endif /* _VIRTIO_CUDA_COMPAT_H */

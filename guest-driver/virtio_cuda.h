/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * virtio-cuda: what the files of the driver share.
 *
 * An open file is a session once START has succeeded. The driver knows
 * sessions, regions of pages and chains of buffers; the commands that travel
 * in them it carries without looking.
 *
 * Order of locks, outermost first:
 *   vcuda_session.lock, mmap_lock, vcuda_device.sessions (its xa_lock),
 *   vcuda_queue.lock.
 * The mmap and vm_operations handlers run under mmap_lock and therefore never
 * take vcuda_session.lock.
 */
#ifndef _VIRTIO_CUDA_H
#define _VIRTIO_CUDA_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/virtio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <uapi/virtio_cuda.h>

#include "compat.h"

/* Offsets of mmap are a region's id and, below this bit, a place in it. */
#define VCUDA_MMAP_SHIFT 40
/* So many regions have an offset that loff_t can hold. */
#define VCUDA_REGION_ID_MAX ((1U << (62 - VCUDA_MMAP_SHIFT)) - 1)

/* Buffers that wait in the event queue. */
#define VCUDA_EVENTS 64
/* Commands of one session that may be under way the plain way. */
#define VCUDA_SUBMITS 8

/* How long a device may take for an answer that nobody can interrupt. */
#define VCUDA_HELLO_TIMEOUT (30 * HZ)
#define VCUDA_GOODBYE_TIMEOUT (10 * HZ)
/* After so long a missing answer to SESSION_DESTROY is worth a message. */
#define VCUDA_DESTROY_WARN (30 * HZ)
/* So long close() waits for the session's end; the rest goes on without it. */
#define VCUDA_CLOSE_WAIT (1 * HZ)

struct vcuda_device;
struct vcuda_session;

/**
 * struct vcuda_chain - a chain of buffers: a request and room for its answer
 * @kref: one for who waits, one for the queue while the device has the chain;
 *	so the buffers outlive a waiter that was killed
 * @done: completed when the device has answered, or is gone
 * @free: frees a chain whose last reference went in atomic context
 * @session: whose doorbell this is; NULL for every other chain
 * @out: what the device reads; kvmalloc()ed, except a doorbell's
 * @in: what the device writes, a struct virtio_cuda_resp first
 * @sg: describes @out, then @in
 * @out_len: bytes of @out
 * @in_len: bytes of @in
 * @nr_out: entries of @sg that describe @out
 * @nr_in: entries of @sg that describe @in
 * @used: bytes that the device wrote, never more than @in_len
 * @error: 0, or -ENODEV when the device went away instead of answering
 */
struct vcuda_chain {
	struct kref kref;
	struct completion done;
	struct work_struct free;
	struct vcuda_session *session;
	void *out;
	void *in;
	struct scatterlist *sg;
	size_t out_len;
	size_t in_len;
	unsigned int nr_out;
	unsigned int nr_in;
	u32 used;
	int error;
};

/**
 * struct vcuda_queue - a virtqueue and what guards it
 * @vq: NULL while the queues are down
 * @lock: protects @vq, @open, @watchers and the doorbells' state; taken in
 *	interrupt context
 * @open: new chains are taken; false from the device's farewell on
 * @watchers: chains whose answer somebody waits for; with none the command
 *	queue's interrupt stays off
 * @space: woken when descriptors have become free, or the queue closes
 */
struct vcuda_queue {
	struct virtqueue *vq;
	/* Protects the queue, see above. */
	spinlock_t lock;
	bool open;
	unsigned int watchers;
	wait_queue_head_t space;
};

/**
 * struct vcuda_device - a virtio device that this driver is bound to
 * @kref: one for the binding, one for each open file and each region
 * @vdev: referenced; its driver data is this structure while bound
 * @misc: /dev/virtio-cudaN
 * @name: backs misc.name
 * @index: the N in the name
 * @config: the config space as the device wrote it, little-endian
 * @capabilities: config.capabilities in the CPU's byte order, as those below
 * @max_regions: see @capabilities
 * @max_segments: see @capabilities
 * @max_plain: see @capabilities
 * @pinned_max: see @capabilities
 * @queues: by VIRTIO_CUDA_QUEUE_*
 * @events: the buffers of the event queue
 * @sessions: sessions that the device may know, by id; its lock is taken in
 *	interrupt context
 * @next_session: where the search for a free id goes on; under @sessions' lock
 * @pinned: bytes of all regions
 * @era: counts the times that every earlier session was known to be gone from
 *	the device; a session that saw another era holds nothing there
 * @down: the queues are closed and no answer comes any more
 * @state_wait: woken when @era or @down changes
 * @reboot: says goodbye before another kernel takes over
 */
struct vcuda_device {
	struct kref kref;
	struct virtio_device *vdev;
	struct miscdevice misc;
	char name[24];
	int index;
	struct virtio_cuda_config config;
	u32 capabilities;
	u32 max_regions;
	u32 max_segments;
	u32 max_plain;
	u64 pinned_max;
	struct vcuda_queue queues[VIRTIO_CUDA_NUM_QUEUES];
	struct virtio_cuda_event *events;
	struct xarray sessions;
	u32 next_session;
	atomic64_t pinned;
	u32 era;
	bool down;
	wait_queue_head_t state_wait;
	struct notifier_block reboot;
};

/**
 * enum vcuda_state - where a session is in its life; it only moves forward
 * @VCUDA_NEW: opened; the device knows nothing of it
 * @VCUDA_LIVE: START has succeeded
 * @VCUDA_ENDED: nothing but closing the file is left
 */
enum vcuda_state {
	VCUDA_NEW,
	VCUDA_LIVE,
	VCUDA_ENDED,
};

/**
 * struct vcuda_session - an open file
 * @kref: one for the open file, one for each region, one for @end_work while
 *	it is queued
 * @dev: referenced
 * @mm: the process that opened the file; grabbed, so that the pointer can't
 *	come to mean another process
 * @notifier: tells of the end of @mm, where the kernel can
 * @notified: @notifier is registered
 * @id: the id that the device knows; 0 before START
 * @era: the device's era at START
 * @state: enum vcuda_state; written under @lock or by vcuda_session_end(),
 *	read without
 * @reason: VIRTIO_CUDA_ENDED_* that the device gave, or 0
 * @lock: serialises START, ALLOC, PIN, RELEASE and QUERY
 * @regions: by id; has a lock of its own
 * @next_region: where the search for a free id goes on; under @lock
 * @nr_regions: how many @regions there are; under @lock
 * @pinned: bytes of all regions, mapped ones that were released included
 * @ring_maps: mappings of the RING region; when the last one goes, so does the
 *	session
 * @wakes: wakes so far
 * @wait: sleepers of WAIT, and of SUBMIT for @submits
 * @submits: commands that may yet be under way the plain way
 * @bell: the doorbell's chain
 * @bell_hdr: what @bell sends
 * @bell_sg: describes @bell_hdr
 * @bell_out: the device has @bell; under the command queue's lock
 * @bell_again: send @bell again when it comes back; under the same
 * @bell_closed: @bell is not sent any more; under the same
 * @ending: bit 0 is set by the first who ends the session
 * @end_work: tells the device and gives back the regions
 * @ended: completed at the end of @end_work
 */
struct vcuda_session {
	struct kref kref;
	struct vcuda_device *dev;
	struct mm_struct *mm;
#if VCUDA_HAVE_MMU_NOTIFIER
	struct mmu_notifier notifier;
	bool notified;
#endif
	u32 id;
	u32 era;
	enum vcuda_state state;
	u32 reason;
	/* Serialises START, ALLOC, PIN, RELEASE and QUERY. */
	struct mutex lock;
	struct xarray regions;
	u32 next_region;
	u32 nr_regions;
	atomic64_t pinned;
	atomic_t ring_maps;
	atomic_t wakes;
	wait_queue_head_t wait;
	atomic_t submits;
	struct vcuda_chain bell;
	struct virtio_cuda_hdr bell_hdr;
	struct scatterlist bell_sg;
	bool bell_out;
	bool bell_again;
	bool bell_closed;
	unsigned long ending;
	struct work_struct end_work;
	struct completion ended;
};

/**
 * struct vcuda_run - pages that lie one after the other in physical memory
 * @pfn: the first
 * @nr: how many
 */
struct vcuda_run {
	unsigned long pfn;
	unsigned long nr;
};

/**
 * struct vcuda_region - pages that the device may read and write
 * @kref: one for the session, one for each mapping; the pages go with the last
 * @session: referenced
 * @id: the id that the device knows
 * @kind: VIRTIO_CUDA_REGION_*
 * @vaddr: the address in the process; 0 for a RING
 * @nr_pages: pages in all @runs
 * @runs: the pages, in order
 * @nr_runs: entries of @runs in use
 * @room_runs: entries that @runs has room for
 * @charged: bytes taken from the limits; given back with the pages
 * @ready: attached; may be mapped and released. Under the lock of the
 *	session's @regions
 * @lost: the device never said that it let go: the pages stay allocated
 */
struct vcuda_region {
	struct kref kref;
	struct vcuda_session *session;
	u32 id;
	u32 kind;
	u64 vaddr;
	unsigned long nr_pages;
	struct vcuda_run *runs;
	size_t nr_runs;
	size_t room_runs;
	u64 charged;
	bool ready;
	bool lost;
};

/* virtio_cuda_drv.c: binding to devices */
extern struct workqueue_struct *vcuda_workqueue;
void vcuda_device_get(struct vcuda_device *dev);
void vcuda_device_put(struct vcuda_device *dev);

/* virtio_cuda_chain.c: chains of buffers */
struct vcuda_chain *vcuda_chain_alloc(size_t out_len, size_t in_len);
void vcuda_chain_put(struct vcuda_chain *chain);
void vcuda_chain_put_atomic(struct vcuda_chain *chain);

/* virtio_cuda_vq.c: queues */
int vcuda_queues_start(struct vcuda_device *dev);
void vcuda_queues_close(struct vcuda_device *dev);
bool vcuda_queues_broken(struct vcuda_device *dev);
void vcuda_queues_stop(struct vcuda_device *dev);
int vcuda_hello(struct vcuda_device *dev, bool goodbye);
int vcuda_chain_send(struct vcuda_device *dev, unsigned int index,
		     struct vcuda_chain *chain);
int vcuda_control(struct vcuda_device *dev, struct vcuda_chain *chain);
int vcuda_submit(struct vcuda_session *s, struct vcuda_chain *chain);
int vcuda_status_errno(struct vcuda_device *dev,
		       const struct vcuda_chain *chain);
void vcuda_doorbell_init(struct vcuda_session *s);
int vcuda_doorbell(struct vcuda_session *s);
void vcuda_doorbell_close(struct vcuda_session *s);

/* virtio_cuda_session.c: sessions */
int vcuda_open(struct inode *inode, struct file *file);
int vcuda_release(struct inode *inode, struct file *file);
int vcuda_session_start(struct vcuda_session *s, const void *env, u32 env_len,
			u32 ring_bytes, u64 arena_bytes, u32 *region);
int vcuda_session_check(struct vcuda_session *s);
void vcuda_session_end(struct vcuda_session *s, u32 reason);
void vcuda_session_put(struct vcuda_session *s);
void vcuda_sessions_end(struct vcuda_device *dev);
void vcuda_event(struct vcuda_device *dev, const struct virtio_cuda_event *ev);

/* virtio_cuda_ioctl.c: what a program asks for */
long vcuda_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/* virtio_cuda_region.c: pages */
struct vcuda_region *vcuda_region_alloc(struct vcuda_session *s, u32 kind,
					u64 vaddr, u64 len);
struct vcuda_region *vcuda_region_pin(struct vcuda_session *s, u64 vaddr,
				      u64 len);
int vcuda_region_attach(struct vcuda_region *r, u32 ring_bytes);
int vcuda_region_detach(struct vcuda_session *s, u32 id);
void vcuda_region_get(struct vcuda_region *r);
void vcuda_region_put(struct vcuda_region *r);
void vcuda_regions_free(struct vcuda_session *s, bool lost);

/* virtio_cuda_mmap.c: mappings */
int vcuda_mmap(struct file *file, struct vm_area_struct *vma);

#endif /* _VIRTIO_CUDA_H */

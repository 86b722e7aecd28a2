/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * virtio-cuda: declarations shared by the driver's source files.
 *
 * An open file becomes a session when START succeeds. The driver manages
 * sessions, memory regions and buffer chains. It forwards commands without
 * reading them.
 *
 * The source files form layers: each one uses only those that are above it in
 * the list of functions at the end of this file. virtio_cuda_drv.c uses them
 * all. check.sh checks this.
 *
 * Lock order, outermost first:
 *   vcuda_session.lock, mmap_lock, vcuda_device.sessions (its xa_lock),
 *   vcuda_queue.lock.
 * vcuda_device.users_lock is taken last.
 * The mmap and vm_operations handlers run under mmap_lock, so they must not
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

/*
 * An mmap offset is the region's id << VCUDA_MMAP_SHIFT, plus an offset in the
 * region.
 */
#define VCUDA_MMAP_SHIFT 40
/* The largest region id whose mmap offset fits into loff_t. */
#define VCUDA_REGION_ID_MAX ((1U << (62 - VCUDA_MMAP_SHIFT)) - 1)

/* Number of buffers in the event queue. */
#define VCUDA_EVENTS 64
/* Maximum number of in-flight SUBMIT commands per session. */
#define VCUDA_SUBMITS 8

/*
 * Timeouts of HELLO requests, whose waits can't be interrupted: the first one,
 * the one to a device that has replaced another one, the final one, and the
 * final one to a device that doesn't respond.
 */
#define VCUDA_HELLO_TIMEOUT (30 * HZ)
#define VCUDA_REPLACED_TIMEOUT (5 * HZ)
#define VCUDA_GOODBYE_TIMEOUT (10 * HZ)
#define VCUDA_SILENT_TIMEOUT (1 * HZ)
/* Time without a response to SESSION_DESTROY after which a warning is logged. */
#define VCUDA_DESTROY_WARN (30 * HZ)
/* How long close() waits for the session to end; after that, a work item ends it. */
#define VCUDA_CLOSE_WAIT (1 * HZ)
/* How long to wait for a response before the kernel log says so. */
#define VCUDA_SLOW (3 * HZ)

/*
 * While pings are unanswered, the first ones are sent every VCUDA_PING_FAST,
 * and later ones every VCUDA_PING_SLOW. Together, they cover the minute in
 * which cloud-hypervisor tries to connect to a new device.
 */
#define VCUDA_PING_FAST (HZ / 4)
#define VCUDA_PING_SLOW (1 * HZ)
#define VCUDA_PINGS_FAST 16
#define VCUDA_PINGS 80
/* Unanswered pings after which the sessions end, which takes half a minute. */
#define VCUDA_PINGS_LOST 40
/* Checks without a response after which the final HELLO's timeout is short. */
#define VCUDA_MISSES_SILENT 4
/* How long the monitor waits for the response to a ping before it sleeps. */
#define VCUDA_PING_WAIT (HZ / 10)
/* How long a caller waits for the monitor's next check. */
#define VCUDA_CHECK_WAIT (3 * HZ / 2)
/* Session id in pings, which no session has. */
#define VCUDA_PING_SESSION U32_MAX

struct vcuda_device;
struct vcuda_session;

/**
 * struct vcuda_user - a user with open files of a device
 * @node: entry in vcuda_device.users
 * @dev: the device
 * @uid: the user
 * @refs: number of sessions of the user, including those that have not been
 *	started; protected by vcuda_device.users_lock
 * @sessions: number of sessions that exist on the device; protected by
 *	vcuda_device.users_lock
 * @pinned: total size in bytes of all regions of the user's sessions
 */
struct vcuda_user {
	struct list_head node;
	struct vcuda_device *dev;
	kuid_t uid;
	unsigned int refs;
	unsigned int sessions;
	atomic64_t pinned;
};

/**
 * struct vcuda_chain - a buffer chain: a request and space for its response
 * @kref: references, held by the waiter, and by the queue while the device has
 *	the chain; so the buffers outlive a waiter that was killed
 * @done: completed when the device has responded, or will never respond because
 *	it is gone
 * @free: work item that frees the chain if the last reference is dropped in
 *	atomic context
 * @session: for a doorbell's chain, the doorbell's session; otherwise NULL
 * @node: entry in vcuda_queue.waiting, except for a doorbell
 * @out: the request, which the device reads; allocated by kvmalloc(), except
 *	for a doorbell
 * @in: the response, which the device writes; begins with a struct
 *	virtio_cuda_resp
 * @sg: scatterlist entries for @out, followed by those for @in
 * @out_len: size of @out in bytes
 * @in_len: size of @in in bytes
 * @nr_out: number of entries in @sg for @out
 * @nr_in: number of entries in @sg for @in
 * @used: number of bytes that the device wrote, at most @in_len
 * @error: 0, or -ENODEV if the device is gone and didn't respond
 */
struct vcuda_chain {
	struct kref kref;
	struct completion done;
	struct work_struct free;
	struct vcuda_session *session;
	struct list_head node;
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
 * struct vcuda_queue - a virtqueue and its lock
 * @vq: the virtqueue, or NULL while the queues are stopped
 * @lock: protects @vq, @open, @watchers, @waiting and the doorbells' state;
 *	also taken in interrupt context
 * @open: whether new chains are accepted; false once the driver begins to
 *	release the device
 * @watchers: number of chains whose completion the driver waits for; while it
 *	is 0, the command queue's interrupt stays off
 * @waiting: the chains that the device has, except doorbells
 * @space: wait queue, woken when descriptors become free or the queue closes
 */
struct vcuda_queue {
	struct virtqueue *vq;
	/* Protects the members that the description of @lock lists. */
	spinlock_t lock;
	bool open;
	unsigned int watchers;
	struct list_head waiting;
	wait_queue_head_t space;
};

/**
 * struct vcuda_device - a virtio device to which this driver is bound
 * @kref: references, held by the binding and by each session
 * @vdev: the virtio device, to which this structure holds a reference; while
 *	the driver is bound, the virtio device's driver data points to this
 *	structure
 * @misc: the character device /dev/virtio-cudaN
 * @name: storage for the name in @misc
 * @index: the number N in @name
 * @config: the config space as read from the device, little-endian
 * @capabilities: from @config, in CPU byte order
 * @max_regions: from @config, in CPU byte order
 * @max_segments: from @config, in CPU byte order
 * @max_plain: from @config, in CPU byte order
 * @pinned_max: from @config, in CPU byte order
 * @queues: the virtqueues, indexed by VIRTIO_CUDA_QUEUE_*
 * @events: buffers for the event queue
 * @sessions: the sessions that may exist on the device, by id; the lock of this
 *	xarray is also taken in interrupt context
 * @next_session: the id at which the search for a free id starts; protected by
 *	the lock of @sessions
 * @pinned: total size in bytes of all regions of all sessions
 * @users: the users with open files
 * @users_lock: protects @users
 * @era: incremented when the device is known to have dropped all existing
 *	sessions; the device holds nothing for a session whose era is lower
 * @down: whether the queues are closed and no more responses will arrive
 * @lost: whether the device is gone or doesn't respond, so that its sessions
 *	have ended; the monitor may find a device again
 * @losses: number of times that @lost has become true
 * @state_wait: wait queue, woken when @era, @down or @checks changes
 * @monitor: work item that checks the device while the driver waits for it
 * @monitor_lock: protects @monitor_on
 * @monitor_on: whether @monitor may be queued
 * @pings: the unanswered pings, oldest first; used only by @monitor
 * @nr_pings: number of entries in @pings
 * @misses: number of checks since the device has answered a ping; used only by
 *	@monitor
 * @checks: number of checks by @monitor
 * @heard: time of the last check in which the device had answered all pings
 * @reboot: notifier that sends the final HELLO before another kernel takes over
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
	struct list_head users;
	/* Protects @users. */
	spinlock_t users_lock;
	u32 era;
	bool down;
	bool lost;
	u32 losses;
	wait_queue_head_t state_wait;
	struct delayed_work monitor;
	/* Protects @monitor_on. */
	spinlock_t monitor_lock;
	bool monitor_on;
	struct vcuda_chain *pings[VCUDA_PINGS];
	unsigned int nr_pings;
	unsigned int misses;
	u32 checks;
	unsigned long heard;
	struct notifier_block reboot;
};

/**
 * enum vcuda_state - the state of a session, which never moves backward
 * @VCUDA_NEW: opened, but not created on the device yet
 * @VCUDA_LIVE: START has succeeded
 * @VCUDA_ENDED: the session has ended, and the file can only be closed
 */
enum vcuda_state {
	VCUDA_NEW,
	VCUDA_LIVE,
	VCUDA_ENDED,
};

/**
 * struct vcuda_session - an open file
 * @kref: references, held by the open file, by each region, and by @end_work
 *	while it is queued
 * @dev: the device; the session holds a reference to it
 * @mm: the address space of the process that opened the file; the session
 *	holds a reference (mmgrab), so that the pointer can't be reused for
 *	another process
 * @user: the user that opened the file; the session holds a reference
 * @counted: whether @user's sessions include this one; protected by @lock
 * @notifier: MMU notifier that is called when @mm is torn down, if the kernel
 *	has MMU notifiers
 * @notified: whether @notifier is registered
 * @id: the session's id on the device; 0 before START
 * @era: the device's era at START
 * @state: enum vcuda_state; written under @lock or by vcuda_session_end(),
 *	read without a lock
 * @reason: VIRTIO_CUDA_ENDED_* from the device, or 0
 * @lock: serializes START, QUERY, and attaching and detaching regions; the
 *	holder must not access the program's memory, where a page fault may wait
 *	for the program
 * @regions: the session's regions, by id; has its own lock
 * @next_region: the id at which the search for a free id starts; protected by
 *	@lock
 * @nr_regions: number of entries in @regions; protected by @lock
 * @pinned: total size of all regions in bytes, including regions that have been
 *	released but are still mapped
 * @ring_maps: number of mappings of the RING region; when the last one is
 *	closed, the session ends
 * @wakes: number of WAKE events so far
 * @wait: wait queue on which WAIT sleeps, and SUBMIT while @submits is 0
 * @submits: number of SUBMIT commands that may be sent before one completes
 * @bell: the chain with which the doorbell is sent
 * @bell_hdr: the contents of @bell
 * @bell_sg: the scatterlist entry for @bell_hdr
 * @bell_out: whether the device has @bell; protected by the command queue's
 *	lock
 * @bell_again: whether to send @bell again when the device returns it;
 *	protected by the command queue's lock
 * @bell_closed: whether @bell must no longer be sent; protected by the command
 *	queue's lock
 * @ending: bit 0 is set by the first call of vcuda_session_end()
 * @end_work: work item that ends the session on the device and frees the
 *	regions
 * @ended: completed when @end_work has finished
 */
struct vcuda_session {
	struct kref kref;
	struct vcuda_device *dev;
	struct mm_struct *mm;
	struct vcuda_user *user;
	bool counted;
#if VCUDA_HAVE_MMU_NOTIFIER
	struct mmu_notifier notifier;
	bool notified;
#endif
	u32 id;
	u32 era;
	enum vcuda_state state;
	u32 reason;
	/* Serializes changes of the session; see the description of @lock. */
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
 * struct vcuda_run - physically contiguous pages
 * @pfn: page frame number of the first page
 * @nr: number of pages
 */
struct vcuda_run {
	unsigned long pfn;
	unsigned long nr;
};

/**
 * struct vcuda_region - pages that the device may read and write
 * @kref: references, held by the session and by each mapping; the pages are
 *	freed when the last reference is dropped
 * @session: the session; the region holds a reference to it
 * @id: the region's id on the device
 * @kind: VIRTIO_CUDA_REGION_*
 * @vaddr: the region's address in the process; 0 for a RING region
 * @nr_pages: total number of pages in @runs
 * @runs: the pages, in order
 * @nr_runs: number of used entries in @runs
 * @room_runs: number of allocated entries in @runs
 * @charged: number of bytes that count against the limits until the pages are
 *	freed
 * @ready: whether the region is attached, so that it may be mapped and
 *	released; protected by the lock of the session's xarray of regions
 * @lost: whether the device may still use the pages, so that they must never be
 *	freed
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

/* virtio_cuda_user.c: limits per user */
struct vcuda_user *vcuda_user_get(struct vcuda_device *dev);
void vcuda_user_put(struct vcuda_user *user);
int vcuda_user_enter(struct vcuda_session *s);
int vcuda_user_entry(struct vcuda_session *s, char *entry, size_t size);
void vcuda_user_leave(struct vcuda_session *s);
u64 vcuda_user_pinned_max(u64 max);

/* virtio_cuda_ref.c: references to devices and sessions */
extern struct workqueue_struct *vcuda_workqueue;
void vcuda_device_get(struct vcuda_device *dev);
void vcuda_device_put(struct vcuda_device *dev);
void vcuda_session_put(struct vcuda_session *s);

/* virtio_cuda_chain.c: buffer chains */
struct vcuda_chain *vcuda_chain_alloc(size_t out_len, size_t in_len);
void vcuda_chain_put(struct vcuda_chain *chain);
void vcuda_chain_put_atomic(struct vcuda_chain *chain);

/* virtio_cuda_check.c: requests to check the device */
void vcuda_monitor_queue(struct vcuda_device *dev, unsigned long delay,
			 bool sooner);
void vcuda_monitor_start(struct vcuda_device *dev);
int vcuda_monitor_check(struct vcuda_device *dev, bool doubt);

/* virtio_cuda_vq.c: requests, responses, and doorbells */
void vcuda_chain_done(struct vcuda_queue *q, struct vcuda_chain *chain, u32 len,
		      int error);
void vcuda_used(struct virtqueue *vq);
int vcuda_hello(struct vcuda_device *dev, unsigned long timeout);
int vcuda_ping_send(struct vcuda_device *dev, struct vcuda_chain *chain,
		    bool leave_half);
int vcuda_chain_send(struct vcuda_device *dev, unsigned int index,
		     struct vcuda_chain *chain);
int vcuda_control(struct vcuda_device *dev, struct vcuda_chain *chain);
int vcuda_submit(struct vcuda_session *s, struct vcuda_chain *chain);
int vcuda_status_errno(struct vcuda_device *dev,
		       const struct vcuda_chain *chain);
void vcuda_doorbell_init(struct vcuda_session *s);
int vcuda_doorbell(struct vcuda_session *s);
void vcuda_doorbell_close(struct vcuda_session *s);

/* virtio_cuda_region.c: pages */
void vcuda_region_init(void);
struct vcuda_region *vcuda_region_alloc(struct vcuda_session *s, u32 kind,
					u64 vaddr, u64 len);
struct vcuda_region *vcuda_region_pin(struct vcuda_session *s, u64 vaddr,
				      u64 len);
int vcuda_region_attach(struct vcuda_region *r, u32 ring_bytes);
int vcuda_region_detach(struct vcuda_session *s, u32 id);
void vcuda_region_get(struct vcuda_region *r);
void vcuda_region_put(struct vcuda_region *r);
void vcuda_regions_free(struct vcuda_session *s, bool lost);

/* virtio_cuda_session.c: sessions */
int vcuda_open(struct inode *inode, struct file *file);
int vcuda_release(struct inode *inode, struct file *file);
int vcuda_session_start(struct vcuda_session *s, const void *env, u32 env_len,
			u32 ring_bytes, u64 arena_bytes, u32 *region);
int vcuda_session_check(struct vcuda_session *s);
void vcuda_session_end(struct vcuda_session *s, u32 reason);
void vcuda_sessions_end(struct vcuda_device *dev);
void vcuda_event(struct vcuda_device *dev, const struct virtio_cuda_event *ev);

/* virtio_cuda_mmap.c: mappings */
int vcuda_mmap(struct file *file, struct vm_area_struct *vma);

/* virtio_cuda_ioctl.c: ioctls */
long vcuda_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/* virtio_cuda_queues.c: starting and stopping the device */
int vcuda_read_config(struct virtio_device *vdev,
		      struct virtio_cuda_config *config);
int vcuda_configure(struct vcuda_device *dev);
int vcuda_device_restart(struct vcuda_device *dev);
int vcuda_queues_start(struct vcuda_device *dev, unsigned long timeout);
void vcuda_queues_close(struct vcuda_device *dev);
void vcuda_queues_abandon(struct vcuda_device *dev);
bool vcuda_queues_idle(struct vcuda_device *dev);
bool vcuda_queues_broken(struct vcuda_device *dev);
void vcuda_queues_stop(struct vcuda_device *dev);

/* virtio_cuda_monitor.c: devices that are lost or replaced */
void vcuda_monitor_init(struct vcuda_device *dev);
void vcuda_monitor_enable(struct vcuda_device *dev);
void vcuda_monitor_disable(struct vcuda_device *dev);
void vcuda_monitor_exit(void);

#endif /* _VIRTIO_CUDA_H */

// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * virtio-cuda: session lifetime, from open() to the end.
 *
 * A session ends once, when the first of these happens: its file is closed, the
 * address space of its process is torn down (so a child that inherited the file
 * can't keep the session alive), the device ends the session, or the device
 * goes away. A work item then ends the session on the device and waits, without
 * a time limit, until the device no longer uses the session's pages.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "virtio_cuda.h"

/* ---- Ending a session -------------------------------------------------- */

/*
 * Ends the session on the device. Returns true only if the device is known to
 * have dropped all of the session's resources.
 */
static bool vcuda_session_destroy(struct vcuda_session *s)
{
	struct vcuda_device *dev = s->dev;
	struct virtio_cuda_session_destroy *req;
	struct vcuda_chain *chain;
	bool warned = false;
	int err;

	if (!s->id)
		return true;
again:
	chain = vcuda_chain_alloc(sizeof(*req),
				  sizeof(struct virtio_cuda_resp));
	if (!chain) {
		msleep(100);
		goto again;
	}
	req = chain->out;
	req->hdr.type = cpu_to_le32(VIRTIO_CUDA_CTRL_SESSION_DESTROY);
	req->hdr.session = cpu_to_le32(s->id);
	err = vcuda_chain_send(dev, VIRTIO_CUDA_QUEUE_CONTROL, chain);
	if (!err) {
		while (!wait_for_completion_timeout(&chain->done,
						    VCUDA_DESTROY_WARN)) {
			if (!warned)
				dev_warn(&dev->vdev->dev,
					 "the device has not confirmed the end of session %u yet; %lld bytes stay allocated until then\n",
					 s->id, atomic64_read(&s->pinned));
			warned = true;
		}
		err = vcuda_status_errno(dev, chain);
	}
	vcuda_chain_put(chain);

	switch (err) {
	case 0:
	case -EPIPE:
		return true;
	case -EAGAIN:
		msleep(100);
		goto again;
	case -ENODEV:
		/*
		 * The device is going away. Wait until the final HELLO has
		 * ended all sessions.
		 */
		wait_event(dev->state_wait, READ_ONCE(dev->era) != s->era ||
			   READ_ONCE(dev->down));
		break;
	default:
		dev_warn(&dev->vdev->dev,
			 "the device refused to end session %u: %d\n", s->id,
			 err);
		break;
	}
	return READ_ONCE(dev->era) != s->era;
}

static void vcuda_session_end_work(struct work_struct *work)
{
	struct vcuda_session *s = container_of(work, struct vcuda_session,
					       end_work);
	bool quiet = vcuda_session_destroy(s);

	vcuda_doorbell_close(s);
	/*
	 * After the lock has been taken, no region can be added, because the
	 * state is ENDED.
	 */
	mutex_lock(&s->lock);
	vcuda_regions_free(s, !quiet);
	if (s->id)
		xa_erase_irq(&s->dev->sessions, s->id);
	vcuda_user_leave(s);
	mutex_unlock(&s->lock);
	complete_all(&s->ended);
	vcuda_session_put(s);
}

/**
 * vcuda_session_end() - end a session; may be called repeatedly and in any context
 * @s: the session
 * @reason: VIRTIO_CUDA_ENDED_* from the device, or 0
 */
void vcuda_session_end(struct vcuda_session *s, u32 reason)
{
	if (test_and_set_bit(0, &s->ending))
		return;
	s->reason = reason;
	kref_get(&s->kref);
	xchg(&s->state, VCUDA_ENDED);
	wake_up_all(&s->wait);
	queue_work(vcuda_workqueue, &s->end_work);
}

/**
 * vcuda_sessions_end() - end all sessions on a device that is gone
 * @dev: the device
 *
 * Leaves sessions alone that are being started: START notices the loss, and may
 * try again.
 */
void vcuda_sessions_end(struct vcuda_device *dev)
{
	struct vcuda_session *s;
	unsigned long id;

	xa_lock_irq(&dev->sessions);
	xa_for_each(&dev->sessions, id, s)
		if (READ_ONCE(s->state) != VCUDA_NEW)
			vcuda_session_end(s, 0);
	xa_unlock_irq(&dev->sessions);
}

/**
 * vcuda_event() - handle an event from the device, in interrupt context
 * @dev: the device
 * @ev: a copy of the event
 */
void vcuda_event(struct vcuda_device *dev, const struct virtio_cuda_event *ev)
{
	u32 value = le32_to_cpu(ev->value);
	struct vcuda_session *s;
	unsigned long flags;

	xa_lock_irqsave(&dev->sessions, flags);
	s = xa_load(&dev->sessions, le32_to_cpu(ev->session));
	/* The session may have ended before the event arrived. */
	if (s) {
		switch (le32_to_cpu(ev->type)) {
		case VIRTIO_CUDA_EVENT_WAKE:
			atomic_inc(&s->wakes);
			wake_up_all(&s->wait);
			break;
		case VIRTIO_CUDA_EVENT_ENDED:
			if (value != VIRTIO_CUDA_ENDED_DESTROYED)
				dev_info_ratelimited(&dev->vdev->dev,
						     "the device ended session %u, reason %u\n",
						     s->id, value);
			vcuda_session_end(s, value);
			break;
		default:
			break;
		}
	}
	xa_unlock_irqrestore(&dev->sessions, flags);
}

#if VCUDA_HAVE_MMU_NOTIFIER
static void vcuda_mm_release(struct mmu_notifier *notifier,
			     struct mm_struct *mm)
{
	vcuda_session_end(container_of(notifier, struct vcuda_session,
				       notifier), 0);
}

static const struct mmu_notifier_ops vcuda_notifier_ops = {
	.release = vcuda_mm_release,
};

static int vcuda_session_watch(struct vcuda_session *s)
{
	int err;

	if (s->notified)
		return 0;
	s->notifier.ops = &vcuda_notifier_ops;
	err = mmu_notifier_register(&s->notifier, s->mm);
	s->notified = !err;
	return err;
}

static void vcuda_session_unwatch(struct vcuda_session *s)
{
	if (s->notified)
		mmu_notifier_unregister(&s->notifier, s->mm);
}
#else
/*
 * Without MMU notifiers, unmapping the ring ends the session; see
 * virtio_cuda_mmap.c.
 */
static int vcuda_session_watch(struct vcuda_session *s)
{
	return 0;
}

static void vcuda_session_unwatch(struct vcuda_session *s)
{
}
#endif

/* ---- Starting a session ------------------------------------------------ */

/**
 * vcuda_session_check() - check that the caller may use this session
 * @s: the session
 */
int vcuda_session_check(struct vcuda_session *s)
{
	if (current->mm != s->mm)
		return -EPERM;
	switch (READ_ONCE(s->state)) {
	case VCUDA_LIVE:
		return 0;
	case VCUDA_NEW:
		return -ENOTCONN;
	default:
		return READ_ONCE(s->dev->down) || READ_ONCE(s->dev->lost) ||
		       READ_ONCE(s->dev->era) != s->era ? -ENODEV : -EPIPE;
	}
}

static int vcuda_session_create(struct vcuda_session *s, const void *env,
				u32 env_len)
{
	char user[VIRTIO_CUDA_ENV_MAX - VIRTIO_CUDA_IOC_ENV_MAX];
	int user_len = vcuda_user_entry(s, user, sizeof(user));
	struct virtio_cuda_session_create *req;
	struct vcuda_chain *chain;
	int err;

	chain = vcuda_chain_alloc(sizeof(*req) + user_len + env_len,
				  sizeof(struct virtio_cuda_resp));
	if (!chain)
		return -ENOMEM;
	req = chain->out;
	req->hdr.type = cpu_to_le32(VIRTIO_CUDA_CTRL_SESSION_CREATE);
	req->hdr.session = cpu_to_le32(s->id);
	req->pid = cpu_to_le32(task_tgid_nr(current));
	req->env_len = cpu_to_le32(user_len + env_len);
	/*
	 * Put the user's entry before the program's entries, because the host
	 * uses the first one. So the program can't claim to be another user.
	 */
	memcpy(req + 1, user, user_len);
	memcpy((char *)(req + 1) + user_len, env, env_len);
	err = vcuda_control(s->dev, chain);
	vcuda_chain_put(chain);
	return err;
}

static int vcuda_session_ring(struct vcuda_session *s, u32 ring_bytes,
			      u64 arena_bytes, u32 *region)
{
	struct vcuda_region *r;
	int err;

	r = vcuda_region_alloc(s, VIRTIO_CUDA_REGION_RING, 0,
			       VIRTIO_CUDA_RING_HEADER_BYTES + ring_bytes +
			       arena_bytes);
	if (IS_ERR(r))
		return PTR_ERR(r);
	err = vcuda_region_attach(r, ring_bytes);
	*region = r->id;
	vcuda_region_put(r);
	return err;
}

/*
 * Logs why the device refused a session, because the program only gets an error
 * code. The host may have changed the limit since the driver read the config
 * space.
 */
static void vcuda_session_refused(struct vcuda_session *s)
{
	dev_warn_ratelimited(&s->dev->vdev->dev,
			     "%s[%d] can't open a session: the host allows this VM %u at a time (sessions.max), and limits how many start at once; the host's operator can raise sessions.max with vcudactl vm set\n",
			     current->comm, task_tgid_nr(current),
			     le32_to_cpu(s->dev->config.max_sessions));
}

/**
 * vcuda_session_start() - create the session on the device
 * @s: the session; the caller holds its lock
 * @env: environment variables, in kernel memory
 * @env_len: size of @env in bytes
 * @ring_bytes: size of the ring, or 0 for a session without a ring
 * @arena_bytes: size of the arena
 * @region: set to the id of the RING region, if the session has one
 *
 * Returns 0 or -errno. If the device refused to create a session, START may be
 * retried. After any later failure, or if there was no response, the session
 * has ended. If the device has been replaced, tries once more.
 */
int vcuda_session_start(struct vcuda_session *s, const void *env, u32 env_len,
			u32 ring_bytes, u64 arena_bytes, u32 *region)
{
	struct vcuda_device *dev = s->dev;
	bool again = true;
	u32 losses;
	int err;

	lockdep_assert_held(&s->lock);
	switch (READ_ONCE(s->state)) {
	case VCUDA_NEW:
		break;
	case VCUDA_LIVE:
		return -EBUSY;
	default:
		return vcuda_session_check(s);
	}
	err = vcuda_session_watch(s);
	if (err)
		return err;
	err = vcuda_user_enter(s);
	if (err)
		return err;

retry:
	losses = READ_ONCE(dev->losses);
	s->era = READ_ONCE(dev->era);
	err = xa_alloc_cyclic_irq(&dev->sessions, &s->id, s,
				  XA_LIMIT(1, VCUDA_PING_SESSION - 1),
				  &dev->next_session, GFP_KERNEL);
	if (err < 0) {
		vcuda_user_leave(s);
		return err;
	}
	vcuda_doorbell_init(s);
	err = vcuda_session_create(s, env, env_len);
	if ((err == -EINVAL || err == -ENODEV) && again) {
		again = false;
		if (!vcuda_monitor_check(dev, true) &&
		    READ_ONCE(dev->losses) != losses &&
		    READ_ONCE(dev->era) != s->era) {
			/*
			 * The device that got the request is gone. After the id
			 * has been removed, no event can end the session.
			 */
			xa_erase_irq(&dev->sessions, s->id);
			if (READ_ONCE(s->state) == VCUDA_NEW)
				goto retry;
			vcuda_user_leave(s);
			return vcuda_session_check(s);
		}
	}
	if (err == -EINTR || err == -ENODEV)
		goto end;
	if (err) {
		if (err == -EDQUOT)
			vcuda_session_refused(s);
		xa_erase_irq(&dev->sessions, s->id);
		s->id = 0;
		vcuda_user_leave(s);
		return err;
	}
	if (ring_bytes) {
		err = vcuda_session_ring(s, ring_bytes, arena_bytes, region);
		if (err)
			goto end;
	}
	/* Fail if the device has already ended the session. */
	if (cmpxchg(&s->state, VCUDA_NEW, VCUDA_LIVE) != VCUDA_NEW)
		return vcuda_session_check(s);
	/*
	 * Fail if the device has been lost: vcuda_sessions_end() doesn't end
	 * sessions that are being started.
	 */
	err = -ENODEV;
	if (READ_ONCE(dev->losses) != losses)
		goto end;
	return 0;
end:
	vcuda_session_end(s, 0);
	return err;
}

int vcuda_open(struct inode *inode, struct file *file)
{
	struct vcuda_device *dev = container_of(file->private_data,
						struct vcuda_device, misc);
	struct vcuda_session *s;

	if (!current->mm)
		return -EINVAL;
	s = kzalloc_obj(*s, GFP_KERNEL_ACCOUNT);
	if (!s)
		return -ENOMEM;
	s->user = vcuda_user_get(dev);
	if (!s->user) {
		kfree(s);
		return -ENOMEM;
	}
	kref_init(&s->kref);
	vcuda_device_get(dev);
	s->dev = dev;
	mmgrab(current->mm);
	s->mm = current->mm;
	mutex_init(&s->lock);
	xa_init_flags(&s->regions, XA_FLAGS_ALLOC1);
	atomic64_set(&s->pinned, 0);
	atomic_set(&s->ring_maps, 0);
	atomic_set(&s->wakes, 0);
	init_waitqueue_head(&s->wait);
	atomic_set(&s->submits, VCUDA_SUBMITS);
	INIT_WORK(&s->end_work, vcuda_session_end_work);
	init_completion(&s->ended);
	file->private_data = s;
	return nonseekable_open(inode, file);
}

int vcuda_release(struct inode *inode, struct file *file)
{
	struct vcuda_session *s = file->private_data;

	vcuda_session_end(s, 0);
	/*
	 * Usually, the device drops the session before close() returns, or
	 * before the parent of a killed process is notified. If it takes longer,
	 * the work item continues in the background.
	 */
	wait_for_completion_timeout(&s->ended, VCUDA_CLOSE_WAIT);
	vcuda_session_unwatch(s);
	vcuda_session_put(s);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * virtio-cuda: limits per user, so that no user can take all sessions or all
 * memory that programs may share with the device. The host limits what a user's
 * sessions export to one another.
 *
 * Privileged programs (CAP_SYS_RESOURCE) are limited only together with all
 * others.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "virtio_cuda.h"

static uint user_share = 75;
module_param(user_share, uint, 0644);
MODULE_PARM_DESC(user_share,
		 "Maximum part of a device's sessions and of pinned_max that one user may have, in percent (default: 75)");

static bool memlock;
module_param(memlock, bool, 0644);
MODULE_PARM_DESC(memlock,
		 "Whether RLIMIT_MEMLOCK also limits the memory that a user shares with a device (default: N)");

static bool vcuda_capable(int cap)
{
	/*
	 * noaudit: programs that lack the capability mustn't cause audit
	 * messages.
	 */
	return ns_capable_noaudit(&init_user_ns, cap);
}

/* Returns the part of @max that one user may take (user_share). */
static u64 vcuda_user_part(u64 max)
{
	uint share = clamp(READ_ONCE(user_share), 1U, 100U);

	return max - div_u64(max, 100) * (100 - share) -
	       div_u64((max % 100) * (100 - share), 100);
}

/**
 * vcuda_user_get() - find or create the entry of the current user
 * @dev: the device
 *
 * Returns a reference, or NULL if there is no memory.
 */
struct vcuda_user *vcuda_user_get(struct vcuda_device *dev)
{
	struct vcuda_user *new = kzalloc_obj(*new, GFP_KERNEL_ACCOUNT);
	kuid_t uid = current_uid();
	struct vcuda_user *user;

	spin_lock(&dev->users_lock);
	list_for_each_entry(user, &dev->users, node)
		if (uid_eq(user->uid, uid))
			goto found;
	user = new;
	if (!user)
		goto out;
	new = NULL;
	user->dev = dev;
	user->uid = uid;
	atomic64_set(&user->pinned, 0);
	list_add(&user->node, &dev->users);
found:
	user->refs++;
out:
	spin_unlock(&dev->users_lock);
	kfree(new);
	return user;
}

void vcuda_user_put(struct vcuda_user *user)
{
	struct vcuda_device *dev = user->dev;
	bool last;

	spin_lock(&dev->users_lock);
	last = !--user->refs;
	if (last)
		list_del(&user->node);
	spin_unlock(&dev->users_lock);
	if (last)
		kfree(user);
}

/**
 * vcuda_user_enter() - count a session for its user
 * @s: the session, which isn't counted; the caller holds its lock
 */
int vcuda_user_enter(struct vcuda_session *s)
{
	u32 max = le32_to_cpu(s->dev->config.max_sessions);
	bool limited = max && !vcuda_capable(CAP_SYS_RESOURCE);
	struct vcuda_user *user = s->user;
	int err = 0;

	max = vcuda_user_part(max);
	spin_lock(&s->dev->users_lock);
	if (limited && user->sessions >= max)
		err = -EDQUOT;
	else
		user->sessions++;
	spin_unlock(&s->dev->users_lock);
	s->counted = !err;
	if (err)
		dev_warn_ratelimited(&s->dev->vdev->dev,
				     "%s[%d] can't open a session: a user may have %u of this VM's sessions at a time (the parameter user_share)\n",
				     current->comm, task_tgid_nr(current), max);
	return err;
}

/**
 * vcuda_user_entry() - name the user in a session's environment
 * @s: the session
 * @entry: set to the entry, including its final zero
 * @size: size of @entry
 *
 * Returns the entry's length; 0 for privileged programs.
 */
int vcuda_user_entry(struct vcuda_session *s, char *entry, size_t size)
{
	if (vcuda_capable(CAP_SYS_RESOURCE))
		return 0;
	return scnprintf(entry, size, "VIRTIO_CUDA_USER=%u",
			 from_kuid(&init_user_ns, s->user->uid)) + 1;
}

void vcuda_user_leave(struct vcuda_session *s)
{
	if (!s->counted)
		return;
	s->counted = false;
	spin_lock(&s->dev->users_lock);
	s->user->sessions--;
	spin_unlock(&s->dev->users_lock);
}

/**
 * vcuda_user_pinned_max() - the memory that the caller's user may share
 * @max: the limit for all users together in bytes; 0 for no limit
 *
 * Returns a number of bytes; 0 for no limit.
 */
u64 vcuda_user_pinned_max(u64 max)
{
	unsigned long locked = rlimit(RLIMIT_MEMLOCK);

	max = max && !vcuda_capable(CAP_SYS_RESOURCE) ? vcuda_user_part(max) : 0;
	if (!READ_ONCE(memlock) || locked == RLIM_INFINITY ||
	    vcuda_capable(CAP_IPC_LOCK))
		return max;
	/*
	 * RLIMIT_MEMLOCK may be 0, but 0 would mean no limit. With a limit of
	 * one byte, no region fits either, because a region has at least one
	 * page.
	 */
	return clamp_t(u64, locked, 1, max ? max : U64_MAX);
}

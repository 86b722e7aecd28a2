//! Groups of VMs that use MPS on the same GPUs. The scheduler treats a group as one VM, whose share
//! is the sum of the members' shares. Within the group's windows, MPS divides the multiprocessors
//! between the members. (FaST-GShare, ICPP 2023, calls these two divisions temporal and spatial
//! sharing.)

use std::collections::BTreeMap;

use gpu_scheduler::{Class, Share, VmKey, WHOLE};
use memory_ledger::{GpuId, VmId};

/// This bit is set in a group's key. The keys of single VMs are small numbers, so they never
/// contain it.
const GROUP: u64 = 1 << 63;

/// All groups, and the keys that they have in the scheduler.
#[derive(Default)]
pub(crate) struct MpsGroups {
    /// The groups, by GPUs in the order of the guest's device ordinals. All VMs in a group use the
    /// same MPS daemon.
    groups: BTreeMap<Vec<GpuId>, Group>,
    /// The number in the key that was assigned last. Keys are never reused.
    last: u64,
}

struct Group {
    key: VmKey,
    members: BTreeMap<VmId, Share>,
}

/// A group's key, GPUs, and combined share, which are passed to the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupShare {
    pub(crate) key: VmKey,
    pub(crate) gpus: Vec<GpuId>,
    /// The combined share of the group's VMs. `None` if no VMs are left in the group.
    pub(crate) share: Option<Share>,
}

impl MpsGroups {
    /// Adds a VM to the group for its GPUs, or changes the VM's share. A VM's GPUs never change.
    pub(crate) fn set(&mut self, id: VmId, gpus: &[GpuId], share: Share) -> GroupShare {
        let last = &mut self.last;
        let group = self.groups.entry(gpus.to_vec()).or_insert_with(|| {
            *last += 1;
            Group { key: VmKey(GROUP | *last), members: BTreeMap::new() }
        });
        group.members.insert(id, share);
        GroupShare { key: group.key, gpus: gpus.to_vec(), share: combined(group.members.values()) }
    }

    /// Removes a VM from its group. Returns the changed group, or `None` if the VM wasn't in a
    /// group.
    pub(crate) fn remove(&mut self, id: VmId) -> Option<GroupShare> {
        let has = |(_, group): &(&Vec<GpuId>, &mut Group)| group.members.contains_key(&id);
        let (gpus, group) = self.groups.iter_mut().find(has)?;
        group.members.remove(&id);
        let removed = GroupShare {
            key: group.key,
            gpus: gpus.clone(),
            share: combined(group.members.values()),
        };
        if removed.share.is_none() {
            self.groups.remove(&removed.gpus);
        }
        Some(removed)
    }

    /// Returns the scheduler's key for a VM: the group's key if the VM is in a group, or the VM's
    /// own.
    pub(crate) fn key_of(&self, id: VmId) -> VmKey {
        let group = self.groups.values().find(|group| group.members.contains_key(&id));
        group.map_or(VmKey(id.0), |group| group.key)
    }

    /// Returns the combined share of a group.
    pub(crate) fn share_of(&self, key: VmKey) -> Option<Share> {
        let group = self.groups.values().find(|group| group.key == key)?;
        combined(group.members.values())
    }
}

/// Combines the shares of several VMs. A VM's cap limits its fraction of the multiprocessors, not
/// the group's time, so the combined share has no cap. The longest kernel_timeout applies, because
/// the scheduler can't tell which VM a kernel belongs to.
fn combined<'a>(shares: impl IntoIterator<Item = &'a Share>) -> Option<Share> {
    let uncapped = shares.into_iter().map(|share| Share { max: WHOLE, ..*share });
    let sum = uncapped.reduce(|a, b| Share {
        weight: a.weight.saturating_add(b.weight),
        min: a.min.saturating_add(b.min),
        class: if a.class == Class::Latency { a.class } else { b.class },
        kernel_timeout: a.kernel_timeout.zip(b.kernel_timeout).map(|(a, b)| a.max(b)),
        ..a
    });
    sum.map(Share::clamped)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: VmId = VmId(1);
    const B: VmId = VmId(2);
    const C: VmId = VmId(3);

    #[test]
    fn a_groups_share_is_the_sum_limited_to_the_maximum() {
        let one = Share { weight: 300, max: 4000, min: 3000, ..Share::default() };
        let two = Share { class: Class::Latency, kernel_timeout: Some(5), ..one };
        let both = combined(&[one, two]).unwrap();
        assert_eq!((both.weight, both.max, both.min), (600, WHOLE, 6000));
        assert_eq!((both.class, both.kernel_timeout), (Class::Latency, None));
        let timed = Share { kernel_timeout: Some(9), ..two };
        assert_eq!(combined(&[two, timed]).unwrap().kernel_timeout, Some(9));
        let many = combined(&[Share { weight: 9000, ..one }; 4]).unwrap();
        assert_eq!((many.weight, many.min), (10_000, WHOLE));
        assert_eq!(combined(&[]), None);
    }

    #[test]
    fn vms_on_the_same_gpus_are_one_group_until_the_last_is_gone() {
        let mut groups = MpsGroups::default();
        let (gpu, both) = ([GpuId(0)], [GpuId(0), GpuId(1)]);
        let first = groups.set(A, &gpu, Share::default());
        assert_eq!(first.share, Some(Share::default()));
        let second = groups.set(B, &gpu, Share { weight: 50, ..Share::default() });
        assert_eq!((second.key, second.share.unwrap().weight), (first.key, 150));
        assert_eq!((groups.key_of(A), groups.key_of(B)), (first.key, first.key));
        // A VM on other GPUs is in another group, and a VM without MPS has a key of its own.
        let other = groups.set(C, &both, Share::default());
        assert_ne!(other.key, first.key);
        assert_eq!(groups.key_of(VmId(7)), VmKey(7));

        // If a VM's weight changes, the group's weight changes, too.
        let changed = groups.set(A, &gpu, Share { weight: 1, ..Share::default() });
        assert_eq!(changed.share.unwrap().weight, 51);
        assert_eq!(groups.share_of(first.key), changed.share);
        assert_eq!(groups.share_of(VmKey(7)), None);
        let left = groups.remove(B).unwrap();
        assert_eq!((left.key, left.share.unwrap().weight), (first.key, 1));
        let none = groups.remove(A).unwrap();
        assert_eq!((none.key, none.share, &none.gpus[..]), (first.key, None, &gpu[..]));
        assert_eq!(groups.remove(A), None);
        assert_ne!(groups.set(A, &gpu, Share::default()).key, first.key);
    }
}

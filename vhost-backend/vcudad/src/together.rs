//! VMs under MPS on the same GPUs have their windows together: the scheduler sees one VM, with the
//! sum of what they were promised, and within its windows MPS divides the multiprocessors.
//! (FaST-GShare, ICPP 2023, calls the two the temporal and the spatial part of a share.)

use std::collections::BTreeMap;

use gpu_scheduler::{Class, Share, VmKey, WHOLE};
use memory_ledger::{GpuId, VmId};

/// Marks the keys of sets; those of single VMs count from 1.
const SET: u64 = 1 << 63;

/// The sets of VMs that have their windows together.
#[derive(Default)]
pub(super) struct Together {
    /// By GPUs, in the guest's order: such VMs have one MPS daemon.
    sets: BTreeMap<Vec<GpuId>, Set>,
    /// Keys are never used again.
    last: u64,
}

struct Set {
    key: VmKey,
    members: BTreeMap<VmId, Share>,
}

/// What the scheduler is to know of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Party {
    pub key: VmKey,
    pub gpus: Vec<GpuId>,
    /// What its VMs are promised together; `None`: it has none any more.
    pub share: Option<Share>,
}

impl Together {
    /// A VM under MPS, or what it is promised now. Its GPUs stay what they were.
    pub(super) fn set(&mut self, id: VmId, gpus: &[GpuId], share: Share) -> Party {
        let last = &mut self.last;
        let set = self.sets.entry(gpus.to_vec()).or_insert_with(|| {
            *last += 1;
            Set { key: VmKey(SET | *last), members: BTreeMap::new() }
        });
        set.members.insert(id, share);
        Party { key: set.key, gpus: gpus.to_vec(), share: joined(set.members.values()) }
    }

    /// Takes a VM out. `None`: it was in no set.
    pub(super) fn remove(&mut self, id: VmId) -> Option<Party> {
        let has = |(_, set): &(&Vec<GpuId>, &mut Set)| set.members.contains_key(&id);
        let (gpus, set) = self.sets.iter_mut().find(has)?;
        set.members.remove(&id);
        let party = Party { key: set.key, gpus: gpus.clone(), share: joined(set.members.values()) };
        if party.share.is_none() {
            self.sets.remove(&party.gpus);
        }
        Some(party)
    }

    /// What the scheduler calls a VM: by its set, if it is in one.
    pub(super) fn key_of(&self, id: VmId) -> VmKey {
        let set = self.sets.values().find(|set| set.members.contains_key(&id));
        set.map_or(VmKey(id.0), |set| set.key)
    }

    /// What a set is promised.
    pub(super) fn share_of(&self, key: VmKey) -> Option<Share> {
        let set = self.sets.values().find(|set| set.key == key)?;
        joined(set.members.values())
    }
}

/// What several VMs are promised together. A cap of one is kept in space, by the percentage of
/// threads, and so is none of the set's. A kernel may run as long as the VM lets it that allows
/// most, since the scheduler does not tell whose it is.
fn joined<'a>(shares: impl IntoIterator<Item = &'a Share>) -> Option<Share> {
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
    fn together_they_have_the_sum_and_no_more_than_all() {
        let one = Share { weight: 300, max: 4000, min: 3000, ..Share::default() };
        let two = Share { class: Class::Latency, kernel_timeout: Some(5), ..one };
        let both = joined(&[one, two]).unwrap();
        assert_eq!((both.weight, both.max, both.min), (600, WHOLE, 6000));
        assert_eq!((both.class, both.kernel_timeout), (Class::Latency, None));
        let timed = Share { kernel_timeout: Some(9), ..two };
        assert_eq!(joined(&[two, timed]).unwrap().kernel_timeout, Some(9));
        let many = joined(&[Share { weight: 9000, ..one }; 4]).unwrap();
        assert_eq!((many.weight, many.min), (10_000, WHOLE));
        assert_eq!(joined(&[]), None);
    }

    #[test]
    fn vms_on_the_same_gpus_are_one_party_until_the_last_is_gone() {
        let mut together = Together::default();
        let (gpu, both) = ([GpuId(0)], [GpuId(0), GpuId(1)]);
        let first = together.set(A, &gpu, Share::default());
        assert_eq!(first.share, Some(Share::default()));
        let second = together.set(B, &gpu, Share { weight: 50, ..Share::default() });
        assert_eq!((second.key, second.share.unwrap().weight), (first.key, 150));
        assert_eq!((together.key_of(A), together.key_of(B)), (first.key, first.key));
        // With other GPUs it has another daemon; without MPS a key of its own.
        let other = together.set(C, &both, Share::default());
        assert_ne!(other.key, first.key);
        assert_eq!(together.key_of(VmId(7)), VmKey(7));

        // A changed weight is the set's from now on.
        let changed = together.set(A, &gpu, Share { weight: 1, ..Share::default() });
        assert_eq!(changed.share.unwrap().weight, 51);
        assert_eq!(together.share_of(first.key), changed.share);
        assert_eq!(together.share_of(VmKey(7)), None);
        let left = together.remove(B).unwrap();
        assert_eq!((left.key, left.share.unwrap().weight), (first.key, 1));
        let none = together.remove(A).unwrap();
        assert_eq!((none.key, none.share, &none.gpus[..]), (first.key, None, &gpu[..]));
        assert_eq!(together.remove(A), None);
        assert_ne!(together.set(A, &gpu, Share::default()).key, first.key);
    }
}

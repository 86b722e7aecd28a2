//! The memory of one pool. Makes no driver calls.
//!
//! A pool consists of slabs, each of which is physical memory that the owner of the pool has mapped
//! at one address. Allocations are cut from slabs. When nothing in a slab is in use any more, the
//! pool keeps the slab for later allocations, unless the pool then has more memory than its release
//! threshold.

use std::collections::{BTreeMap, BTreeSet};

use super::extents::Extents;

/// The alignment of allocations, in bytes.
const ALIGN: u64 = 512;

struct Slab<M> {
    free: Extents,
    len: u64,
    mapping: M,
}

impl<M> Slab<M> {
    fn is_idle(&self, base: u64) -> bool {
        self.free.is_all(base, self.len)
    }
}

/// A number of bytes, and the largest value that it has had since its last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// The current number of bytes.
    pub current: u64,
    /// The largest number since the last reset.
    pub high: u64,
}

impl Amount {
    fn add(&mut self, bytes: u64) {
        self.current += bytes;
        self.high = self.high.max(self.current);
    }

    /// Sets the largest number to the current one.
    pub fn reset(&mut self) {
        self.high = self.current;
    }
}

/// The memory of one pool. `M` describes the physical memory of a slab.
pub struct Store<M> {
    granule: u64,
    limit: u64,
    slabs: BTreeMap<u64, Slab<M>>,
    /// The addresses of the slabs that aren't full.
    roomy: BTreeSet<u64>,
    closed: bool,
    /// The number of bytes up to which the pool keeps memory that isn't in use.
    pub threshold: u64,
    /// The bytes in all slabs.
    pub reserved: Amount,
    /// The bytes in use.
    pub used: Amount,
}

impl<M> Store<M> {
    /// Creates an empty pool. Its slabs are multiples of `granule` bytes, and have at most `limit`
    /// bytes altogether, rounded up to a whole granule. 0 means no limit.
    pub fn new(granule: u64, limit: u64) -> Self {
        let limit = match limit {
            0 => u64::MAX,
            limit => limit.checked_next_multiple_of(granule).unwrap_or(u64::MAX),
        };
        Self {
            granule,
            limit,
            slabs: BTreeMap::new(),
            roomy: BTreeSet::new(),
            closed: false,
            threshold: 0,
            reserved: Amount::default(),
            used: Amount::default(),
        }
    }

    /// Returns the number of bytes that an allocation of `len` bytes takes in a slab.
    pub fn rounded(len: u64) -> Option<u64> {
        len.max(1).checked_next_multiple_of(ALIGN)
    }

    /// Allocates `len` bytes in an existing slab. Returns `None` if none has room.
    pub fn take(&mut self, len: u64) -> Option<u64> {
        let len = Self::rounded(len)?;
        let (base, addr) = self.roomy.iter().find_map(|base| {
            let slab = self.slabs.get_mut(base)?;
            Some((*base, slab.free.take(len)?))
        })?;
        if self.slabs[&base].free.is_none() {
            self.roomy.remove(&base);
        }
        self.used.add(len);
        Some(addr)
    }

    /// Returns the length of the slab that the pool needs for an allocation of `len` bytes if no
    /// existing slab has room. Returns `None` if the pool can't become so large.
    pub fn slab_for(&self, len: u64) -> Option<u64> {
        let len = Self::rounded(len)?.checked_next_multiple_of(self.granule)?;
        let grown = self.reserved.current.checked_add(len)?;
        (!self.closed && grown <= self.limit).then_some(len)
    }

    /// Adds a slab of `len` bytes, none of which is in use.
    pub fn add(&mut self, base: u64, len: u64, mapping: M) {
        self.slabs.insert(base, Slab { free: Extents::new(base, len), len, mapping });
        self.roomy.insert(base);
        self.reserved.add(len);
    }

    fn base_of(&self, addr: u64) -> Option<u64> {
        let (base, slab) = self.slabs.range(..=addr).next_back()?;
        (addr - base < slab.len).then_some(*base)
    }

    /// Returns the mapping of the slab that contains an address.
    pub fn mapping_at(&mut self, addr: u64) -> Option<&mut M> {
        let base = self.base_of(addr)?;
        self.slabs.get_mut(&base).map(|slab| &mut slab.mapping)
    }

    /// Returns the mappings of all slabs.
    pub fn mappings(&self) -> impl Iterator<Item = &M> {
        self.slabs.values().map(|slab| &slab.mapping)
    }

    fn remove(&mut self, base: u64) -> Option<M> {
        let slab = self.slabs.remove(&base)?;
        self.roomy.remove(&base);
        self.reserved.current -= slab.len;
        Some(slab.mapping)
    }

    /// Frees an allocation of `len` bytes, which is no longer in use. Returns the mapping that the
    /// caller must unmap, if the pool doesn't keep the memory.
    pub fn give(&mut self, addr: u64, len: u64) -> Option<M> {
        let base = self.base_of(addr)?;
        let len = Self::rounded(len)?;
        let slab = self.slabs.get_mut(&base)?;
        slab.free.give(addr, len);
        self.used.current -= len;
        self.roomy.insert(base);
        let keep = !self.closed && self.reserved.current <= self.threshold;
        if keep || !self.slabs[&base].is_idle(base) { None } else { self.remove(base) }
    }

    /// Releases memory that isn't in use until the pool has at most `keep` bytes. Returns the
    /// mappings that the caller must unmap.
    pub fn trim(&mut self, keep: u64) -> Vec<M> {
        let mut gone = Vec::new();
        let idle: Vec<u64> =
            self.roomy.iter().copied().filter(|base| self.slabs[base].is_idle(*base)).collect();
        for base in idle {
            if self.reserved.current <= keep {
                break;
            }
            gone.extend(self.remove(base));
        }
        gone
    }

    /// Stops the pool from allocating and from keeping memory, because the program has destroyed
    /// it. Returns the mappings that the caller must unmap.
    pub fn close(&mut self) -> Vec<M> {
        self.closed = true;
        self.trim(0)
    }

    /// Returns whether the pool was closed and all its memory has been released.
    pub fn is_gone(&self) -> bool {
        self.closed && self.slabs.is_empty()
    }

    /// Returns whether the program has destroyed the pool.
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    fn allocate(store: &mut Store<u64>, next: &mut u64, len: u64) -> Option<u64> {
        if let Some(addr) = store.take(len) {
            return Some(addr);
        }
        let slab = store.slab_for(len)?;
        store.add(*next, slab, *next);
        *next += slab + 2 * MIB;
        store.take(len)
    }

    #[test]
    fn a_pool_keeps_unused_memory_up_to_its_threshold() {
        let (mut store, mut next) = (Store::new(2 * MIB, 0), 1 << 40);
        let a = allocate(&mut store, &mut next, 3 * MIB).unwrap();
        assert_eq!((store.reserved.current, store.used.current), (4 * MIB, 3 * MIB));
        assert_eq!(store.give(a, 3 * MIB), Some(a), "the default threshold is 0");
        assert_eq!((store.reserved.current, store.used.current), (0, 0));
        store.threshold = 4 * MIB;
        let a = allocate(&mut store, &mut next, 3 * MIB).unwrap();
        let b = allocate(&mut store, &mut next, MIB).unwrap();
        let c = allocate(&mut store, &mut next, 2 * MIB).unwrap();
        assert_eq!(b, a + 3 * MIB, "the rest of a slab is used");
        assert_eq!(store.give(c, 2 * MIB), Some(c), "more than the threshold is reserved");
        assert_eq!((store.give(a, 3 * MIB), store.give(b, MIB)), (None, None));
        assert_eq!(allocate(&mut store, &mut next, 4 * MIB), Some(a), "kept memory is reused");
        assert_eq!(store.give(a, 4 * MIB), None);
        assert_eq!((store.trim(4 * MIB), store.trim(MIB)), (vec![], vec![a]));
        assert_eq!(
            (store.reserved, store.used.high),
            (Amount { current: 0, high: 6 * MIB }, 6 * MIB)
        );
    }

    #[test]
    fn a_pool_never_exceeds_its_maximum_size() {
        let (mut store, mut next) = (Store::new(2 * MIB, 5 * MIB), 1 << 40);
        assert!(allocate(&mut store, &mut next, 7 * MIB).is_none());
        assert!(allocate(&mut store, &mut next, 4 * MIB).is_some());
        assert!(allocate(&mut store, &mut next, 2 * MIB).is_some());
        assert!(allocate(&mut store, &mut next, 1).is_none());
        assert!(store.slab_for(u64::MAX).is_none());
    }

    #[test]
    fn a_destroyed_pool_ends_with_its_last_allocation() {
        let (mut store, mut next) = (Store::new(2 * MIB, 0), 1 << 40);
        store.threshold = u64::MAX;
        let a = allocate(&mut store, &mut next, MIB).unwrap();
        let b = allocate(&mut store, &mut next, 2 * MIB).unwrap();
        assert_eq!(store.give(b, 2 * MIB), None);
        assert_eq!(store.close(), vec![b]);
        assert!(!store.is_gone() && store.slab_for(1).is_none());
        assert_eq!(store.give(a, MIB), Some(a));
        assert!(store.is_gone());
    }

    proptest! {
        #[test]
        fn allocations_never_overlap_and_all_memory_returns(
            steps in prop::collection::vec((1u64..5 * MIB, any::<bool>(), any::<prop::sample::Index>()), 1..150),
            threshold in 0u64..20 * MIB,
        ) {
            let (mut store, mut next) = (Store::new(2 * MIB, 0), 1 << 40);
            store.threshold = threshold;
            let mut live: Vec<(u64, u64)> = Vec::new();
            for (len, give, which) in steps {
                if give && !live.is_empty() {
                    let (addr, len) = live.swap_remove(which.index(live.len()));
                    store.give(addr, len);
                } else {
                    let addr = allocate(&mut store, &mut next, len).unwrap();
                    prop_assert!(live.iter().all(|(a, l)| addr + len <= *a || a + l <= addr));
                    live.push((addr, len));
                }
            }
            for (addr, len) in live {
                store.give(addr, len);
            }
            store.trim(0);
            prop_assert_eq!((store.reserved.current, store.used.current), (0, 0));
        }
    }
}

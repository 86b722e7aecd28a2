//! Keeps track of the allocations in the window for device memory. Makes no driver calls.
//!
//! Stream-ordered allocations come from memory pools; see [`super::pools`]. Other allocations work
//! as follows. A granule is the driver's unit for physical memory. Requests of up to half a granule
//! are cut from slabs that are one granule long. Larger requests get their own mapping. A slab
//! belongs to one context, and is unmapped as soon as nothing in it is in use.

use std::collections::BTreeMap;

use cuda_api::pool::extents::Extents;
use protocol::ids::{ContextId, PoolId};

use super::charged::Charged;
use super::kept::Kept;
use super::pools::Pools;
use super::spans::Spans;
use crate::driver::CuResult;

/// The address range for device memory, which is the same in the guest process.
pub(in crate::calls) use protocol::windows::DEVICE as WINDOW;
/// The alignment of allocations, in bytes. CUDA's own allocator uses the same alignment on all
/// tested devices.
const ALIGN: u64 = 512;
/// The maximum number of allocations in a session, because each one also takes some of the worker's
/// own memory.
const MAX_ALLOCATIONS: usize = 1 << 21;

/// Physical device memory that is mapped at an address in the device memory window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::calls) struct Mapping {
    pub addr: u64,
    /// The length in bytes, a multiple of the granule.
    pub len: u64,
    /// The CUmemGenericAllocationHandle of the memory.
    pub handle: u64,
    /// The ordinal of the GPU that holds the memory.
    pub device: i32,
    pub(super) charged: Charged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Own(Mapping),
    /// The allocation is a part of this mapping of another session's memory.
    Imported(Mapping),
    Piece {
        slab: u64,
        len: u64,
    },
    Pooled(PoolId),
}

/// An allocation that the guest has made and not yet freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::calls) struct Live {
    pub ctx: ContextId,
    place: Place,
}

/// An allocation that the guest has freed, but whose memory may still be in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(in crate::calls) struct Freeing {
    pub addr: u64,
    pub len: u64,
    live: Live,
}

impl Freeing {
    /// Returns the context in which the memory was allocated.
    pub(in crate::calls) fn ctx(&self) -> ContextId {
        self.live.ctx
    }

    /// Returns the pool from which the memory was allocated, if it was allocated from a pool.
    pub(in crate::calls) fn pool(&self) -> Option<PoolId> {
        match self.live.place {
            Place::Pooled(pool) => Some(pool),
            _ => None,
        }
    }
}

struct Slab {
    ctx: ContextId,
    free: Extents,
    mapping: Mapping,
}

/// The allocations in the device memory window, and its free addresses.
pub(in crate::calls) struct Plan {
    granule: u64,
    window: Extents,
    slabs: BTreeMap<u64, Slab>,
    live: Spans<Live>,
    /// The memory pools.
    pub(in crate::calls) pools: Pools<Mapping>,
    /// The mappings of freed memory that the worker keeps.
    pub(super) kept: Kept<Mapping>,
}

impl Plan {
    pub(in crate::calls) fn new(granule: u64) -> Self {
        Self {
            granule,
            window: Extents::new(WINDOW.start, WINDOW.end - WINDOW.start),
            slabs: BTreeMap::new(),
            live: Spans::default(),
            pools: Pools::new(granule),
            kept: Kept::default(),
        }
    }

    /// Returns whether a request for `len` bytes is cut from a slab.
    pub(in crate::calls) fn is_small(&self, len: u64) -> bool {
        len <= self.granule / 2
    }

    /// Returns the length of the mapping that a request for `len` bytes needs. For a small request,
    /// that is the length of a slab.
    pub(in crate::calls) fn physical(&self, len: u64) -> Option<u64> {
        if self.is_small(len) {
            Some(self.granule)
        } else {
            len.checked_next_multiple_of(self.granule)
        }
    }

    /// Cuts a small request from one of the context's existing slabs. Returns `None` if none of
    /// them has room.
    pub(in crate::calls) fn piece(&mut self, ctx: ContextId, len: u64) -> Option<u64> {
        let rounded = len.next_multiple_of(ALIGN);
        let mut slabs = self.slabs.iter_mut().filter(|(_, slab)| slab.ctx == ctx);
        let (slab, addr) =
            slabs.find_map(|(base, slab)| slab.free.take(rounded).map(|addr| (*base, addr)))?;
        self.live.insert(addr, len, Live { ctx, place: Place::Piece { slab, len: rounded } });
        Some(addr)
    }

    /// Returns whether another allocation fits under the maximum number of allocations.
    pub(in crate::calls) fn has_room(&self) -> bool {
        self.live.len() < MAX_ALLOCATIONS
    }

    /// Takes addresses from the device memory window for a mapping of `physical` bytes. The granule
    /// after the mapping stays unmapped, so that an access past its end faults.
    pub(in crate::calls) fn addresses(&mut self, physical: u64) -> Option<u64> {
        self.window.take(physical.checked_add(self.granule)?)
    }

    /// Makes addresses that `addresses` returned free again.
    pub(in crate::calls) fn give_addresses(&mut self, addr: u64, physical: u64) {
        self.window.give(addr, physical + self.granule);
    }

    /// Takes addresses from the device memory window for a reservation of the guest. Takes those at
    /// `hint` if they are free, or else any others.
    pub(super) fn reserve(&mut self, len: u64, alignment: u64, hint: u64) -> Option<u64> {
        let at_hint = match hint.is_multiple_of(alignment) {
            true => self.window.take_at(hint, len),
            false => None,
        };
        at_hint.or_else(|| self.window.take_aligned(len, alignment))
    }

    /// Makes the addresses of a reservation free again.
    pub(super) fn unreserve(&mut self, start: u64, len: u64) {
        self.window.give(start, len);
    }

    /// Adds a new mapping for a request of `len` bytes. For a small request, the mapping becomes a
    /// slab, and the request gets a piece of it.
    pub(in crate::calls) fn mapped(&mut self, ctx: ContextId, len: u64, mapping: Mapping) -> u64 {
        if self.is_small(len) {
            let free = Extents::new(mapping.addr, mapping.len);
            self.slabs.insert(mapping.addr, Slab { ctx, free, mapping });
            return self.piece(ctx, len).expect("a new slab has room for a small request");
        }
        self.live.insert(mapping.addr, len, Live { ctx, place: Place::Own(mapping) });
        mapping.addr
    }

    /// Makes a new allocation of `len` bytes from a kept mapping of `physical` bytes. Returns its
    /// address, or `None` if the worker keeps no mapping of this length in the context.
    pub(super) fn reuse_kept(&mut self, ctx: ContextId, len: u64, physical: u64) -> Option<u64> {
        let mapping = self.kept.take(ctx, |mapping| mapping.len == physical)?;
        Some(self.mapped(ctx, len, Mapping { charged: Charged::Alone, ..mapping }))
    }

    /// Adds the mapping of another session's memory. The session uses `len` bytes, `offset` bytes
    /// from the mapping's start. Returns the address of these bytes.
    pub(super) fn imported(
        &mut self,
        ctx: ContextId,
        (offset, len): (u64, u64),
        mapping: Mapping,
    ) -> u64 {
        let addr = mapping.addr + offset;
        self.live.insert(addr, len, Live { ctx, place: Place::Imported(mapping) });
        addr
    }

    /// Finds the allocation that contains an address. Returns its start, its length, and the
    /// mapping that contains it, or `None` if there is no such allocation or its memory is another
    /// session's, which this session can't export.
    pub(super) fn exportable(&mut self, addr: u64) -> Option<(u64, u64, &mut Mapping)> {
        let start = self.live.start_of(addr)?;
        let (len, live) = self.live.get_mut(start)?;
        let mapping = match &mut live.place {
            Place::Own(mapping) => mapping,
            Place::Piece { slab, .. } => &mut self.slabs.get_mut(slab)?.mapping,
            Place::Pooled(pool) => self.pools.get(*pool)?.store.mapping_at(start)?,
            Place::Imported(_) => return None,
        };
        Some((start, *len, mapping))
    }

    /// Allocates from the memory that a pool already has. Returns `None` if that memory has no
    /// room.
    pub(in crate::calls) fn pooled(
        &mut self,
        ctx: ContextId,
        pool: PoolId,
        len: u64,
    ) -> Option<u64> {
        let addr = self.pools.get(pool)?.store.take(len)?;
        self.live.insert(addr, len, Live { ctx, place: Place::Pooled(pool) });
        Some(addr)
    }

    /// Adds a new mapping to a pool, and allocates `len` bytes from it.
    pub(in crate::calls) fn mapped_for_pool(
        &mut self,
        ctx: ContextId,
        pool: PoolId,
        len: u64,
        mapping: Mapping,
    ) -> Option<u64> {
        self.pools.get(pool)?.store.add(mapping.addr, mapping.len, mapping);
        self.pooled(ctx, pool, len)
    }

    /// Returns the GPU of a pool, and the length of the mapping that the pool needs for an
    /// allocation of `len` bytes. The length is `None` if the pool would exceed its maximum size.
    pub(in crate::calls) fn pool_needs(
        &mut self,
        (pool, devices): (PoolId, i32),
        len: u64,
    ) -> CuResult<(i32, Option<u64>)> {
        let pool = self.pools.open(pool, devices)?;
        Ok((pool.device, pool.store.slab_for(len)))
    }

    /// Removes an allocation because the guest frees it. From now on, calls that use its addresses
    /// fail. The memory stays mapped until `ended` is called.
    pub(in crate::calls) fn take(&mut self, addr: u64) -> Option<Freeing> {
        let (len, live) = self.live.remove(addr)?;
        Some(Freeing { addr, len, live })
    }

    /// Turns freed memory into a new allocation in the same stream, while the free is still
    /// pending. Returns its address.
    pub(in crate::calls) fn untake(&mut self, freeing: Freeing) -> u64 {
        self.live.insert(freeing.addr, freeing.len, freeing.live);
        freeing.addr
    }

    /// Records that freed memory is no longer in use. If nothing else in its mapping is in use,
    /// returns the mapping, which the caller must unmap.
    pub(in crate::calls) fn ended(&mut self, freeing: Freeing) -> Option<Mapping> {
        match freeing.live.place {
            Place::Own(mapping) | Place::Imported(mapping) => Some(mapping),
            Place::Pooled(pool) => self.pools.give(pool, freeing.addr, freeing.len),
            Place::Piece { slab: base, len } => {
                let slab = self.slabs.get_mut(&base)?;
                slab.free.give(freeing.addr, len);
                if !slab.free.is_all(base, slab.mapping.len) {
                    return None;
                }
                self.slabs.remove(&base).map(|slab| slab.mapping)
            }
        }
    }

    /// Releases all memory that no allocation uses. Returns the mappings to unmap.
    pub(in crate::calls) fn trim_all(&mut self) -> Vec<Mapping> {
        let mut gone = self.pools.trim_all();
        gone.append(&mut self.kept.extract(|_, _| true));
        gone
    }

    /// Returns all mappings, except those that are being unmapped.
    pub(super) fn mappings(&self) -> Vec<Mapping> {
        let whole = self.live.values().filter_map(|live| match &live.place {
            Place::Own(mapping) | Place::Imported(mapping) => Some(mapping),
            Place::Piece { .. } | Place::Pooled(_) => None,
        });
        let slabs = self.slabs.values().map(|slab| &slab.mapping);
        let others = self.pools.mappings().chain(self.kept.mappings());
        whole.chain(slabs).chain(others).copied().collect()
    }

    /// Removes and returns all kept mappings.
    pub(super) fn take_kept(&mut self) -> Vec<Mapping> {
        self.kept.extract(|_, _| true)
    }

    /// Returns the mappings that only this session uses, so that the memory behind their addresses
    /// can be replaced. Must not be called while the GPU may still use freed memory.
    pub(super) fn movable(&self) -> Vec<Mapping> {
        let mut all = self.mappings();
        all.retain(|mapping| mapping.charged == Charged::Alone);
        all
    }

    /// Records the handle of the memory that now backs the mapping at an address.
    pub(super) fn set_handle(&mut self, addr: u64, handle: u64) {
        if let Some((_, Live { place: Place::Own(mapping), .. })) = self.live.get_mut(addr) {
            mapping.handle = handle;
        } else if let Some(slab) = self.slabs.get_mut(&addr) {
            slab.mapping.handle = handle;
        } else if let Some(mapping) = self.pools.mapping_at(addr) {
            mapping.handle = handle;
        }
    }

    /// Returns the addresses of all allocations that were made in a context.
    pub(in crate::calls) fn of_context(&self, ctx: ContextId) -> Vec<u64> {
        self.live.starts(|live| live.ctx == ctx)
    }

    /// Returns the context of the allocation that starts at `addr`.
    pub(in crate::calls) fn context_of(&self, addr: u64) -> Option<ContextId> {
        self.live.get(addr).map(|(_, live)| live.ctx)
    }

    /// Returns whether all `len` bytes at `addr` belong to allocations, so that a call may use
    /// them.
    pub(in crate::calls) fn covers(&self, addr: u64, len: u64) -> bool {
        self.live.covers(addr, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    /// Makes an allocation, as `allocate` does, but without calling a driver.
    fn alloc(plan: &mut Plan, len: u64, mapped: &mut u64) -> u64 {
        if plan.is_small(len)
            && let Some(addr) = plan.piece(ContextId(1), len)
        {
            return addr;
        }
        let physical = plan.physical(len).unwrap();
        let addr = plan.addresses(physical).unwrap();
        *mapped += physical;
        plan.mapped(
            ContextId(1),
            len,
            Mapping { addr, len: physical, handle: 0, device: 0, charged: Charged::Alone },
        )
    }

    fn free(plan: &mut Plan, addr: u64, mapped: &mut u64) {
        let freeing = plan.take(addr).unwrap();
        if let Some(mapping) = plan.ended(freeing) {
            plan.give_addresses(mapping.addr, mapping.len);
            *mapped -= mapping.len;
        }
    }

    #[test]
    fn small_requests_share_a_granule_and_large_ones_do_not() {
        let (mut plan, mut mapped) = (Plan::new(2 * MIB), 0);
        let a = alloc(&mut plan, 100, &mut mapped);
        let b = alloc(&mut plan, MIB, &mut mapped);
        assert_eq!((a % 512, b % 512, mapped), (0, 0, 2 * MIB));
        let c = alloc(&mut plan, 3 * MIB, &mut mapped);
        assert_eq!((c % (2 * MIB), mapped), (0, 6 * MIB));
        assert!(plan.covers(c, 3 * MIB) && !plan.covers(c, 3 * MIB + 1));
        free(&mut plan, c, &mut mapped);
        assert!(!plan.covers(c, 1));
        free(&mut plan, a, &mut mapped);
        assert_eq!(mapped, 2 * MIB);
        free(&mut plan, b, &mut mapped);
        assert_eq!(mapped, 0);
        assert_eq!(plan.take(b), None);
    }

    #[test]
    fn freed_bytes_are_not_reused_before_their_use_has_ended() {
        let (mut plan, mut mapped) = (Plan::new(2 * MIB), 0);
        let a = alloc(&mut plan, 512, &mut mapped);
        let freeing = plan.take(a).unwrap();
        assert_ne!(alloc(&mut plan, 512, &mut mapped), a);
        assert_eq!(plan.ended(freeing), None);
        assert_eq!(alloc(&mut plan, 512, &mut mapped), a);
    }

    #[test]
    fn contexts_do_not_share_slabs() {
        let mut plan = Plan::new(2 * MIB);
        let addr = plan.addresses(2 * MIB).unwrap();
        plan.mapped(
            ContextId(1),
            512,
            Mapping { addr, len: 2 * MIB, handle: 0, device: 0, charged: Charged::Alone },
        );
        assert_eq!(plan.piece(ContextId(2), 512), None);
        assert!(plan.piece(ContextId(1), 512).is_some());
    }

    proptest! {
        #[test]
        fn live_bytes_never_overlap_and_all_memory_returns(
            steps in prop::collection::vec((1u64..6 * MIB, any::<bool>(), any::<prop::sample::Index>()), 1..150),
        ) {
            let (mut plan, mut mapped) = (Plan::new(2 * MIB), 0);
            let mut live: Vec<(u64, u64)> = Vec::new();
            for (len, give, which) in steps {
                let len = if give { len / 4096 + 1 } else { len };
                if give && !live.is_empty() {
                    let (addr, _) = live.swap_remove(which.index(live.len()));
                    free(&mut plan, addr, &mut mapped);
                } else {
                    let addr = alloc(&mut plan, len, &mut mapped);
                    prop_assert!(WINDOW.contains(&addr) && WINDOW.contains(&(addr + len - 1)));
                    prop_assert!(live.iter().all(|(a, l)| addr + len <= *a || a + l <= addr));
                    live.push((addr, len));
                }
            }
            for (addr, _) in live {
                free(&mut plan, addr, &mut mapped);
            }
            prop_assert_eq!(mapped, 0);
            prop_assert!(plan.window.is_all(WINDOW.start, WINDOW.end - WINDOW.start));
        }
    }
}

//! The map of the program's CUDA memory, which determines the kind of memory at an address.

mod pinned;
mod place;
mod single_pages;
pub mod slabs;

pub use pinned::PinnedAddresses;
pub use place::{Place, Route};

use crate::error::{CuError, CuResult};
use crate::windows;
use cuda_api::managed::Managed;
use parking_lot::{Mutex, RwLock};
use single_pages::SinglePages;
use slabs::{Slab, Slabs};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The kind of memory, by the call that created it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Memory from `cuMemAlloc` and similar functions.
    Device,
    /// Memory of another process, from `cuIpcOpenMemHandle`.
    Imported,
    /// Memory from the memory pool with this handle.
    Pool(usize),
    /// Memory that a graph allocates.
    Graph,
    /// A global variable in a module.
    Global,
    /// Memory from `cuMemCreate` that was mapped with `cuMemMap`.
    Mapped,
    /// Memory from `cuMemHostAlloc` that has its own region.
    Pinned { region: u32 },
    /// Memory from `cuMemHostAlloc` that was cut from a slab.
    PinnedPiece,
    /// Memory from `cuMemAllocManaged`.
    Managed { region: u32 },
    /// A managed variable, of which the program has a copy.
    ManagedVariable,
    /// Memory that was registered with `cuMemHostRegister`. `page` is the address of the first
    /// page, and `pages` is the length of all its pages in bytes.
    Registered { region: u32, page: usize, pages: usize },
}

impl Kind {
    /// Returns whether this kind is device memory.
    pub fn is_device(self) -> bool {
        match self {
            Kind::Device | Kind::Imported | Kind::Pool(_) | Kind::Graph => true,
            Kind::Global | Kind::ManagedVariable | Kind::Mapped => true,
            Kind::Pinned { .. } | Kind::PinnedPiece => false,
            Kind::Managed { .. } | Kind::Registered { .. } => false,
        }
    }

    /// Returns whether this is memory from `cuMemHostAlloc`.
    pub fn is_pinned(self) -> bool {
        matches!(self, Kind::Pinned { .. } | Kind::PinnedPiece)
    }

    /// Returns whether this kind is managed memory.
    pub fn is_managed(self) -> bool {
        matches!(self, Kind::Managed { .. } | Kind::ManagedVariable)
    }

    /// Returns whether the program can access this kind of memory. A managed variable counts,
    /// because the program has a copy of it, which equals the GPU's after a call that waits for the
    /// GPU.
    fn is_on_host(self) -> bool {
        !self.is_device() || self == Kind::ManagedVariable
    }

    /// Returns whether this is device memory that the program allocated and can free.
    pub fn is_allocated(self) -> bool {
        matches!(self, Kind::Device | Kind::Pool(_))
    }
}

/// One allocated or registered piece of memory.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// The address that the program uses for the memory.
    pub base: u64,
    pub len: u64,
    pub kind: Kind,
    /// The address that the GPU uses for the memory.
    pub device_address: u64,
    /// The flags of `cuMemHostAlloc` or `cuMemHostRegister`.
    pub flags: u32,
    /// Handle of the context that the memory was allocated in.
    pub context: usize,
    /// Ordinal of the memory's device.
    pub device: i32,
    /// The attribute CU_POINTER_ATTRIBUTE_BUFFER_ID.
    pub id: u64,
    /// The attribute CU_POINTER_ATTRIBUTE_SYNC_MEMOPS. It has no effect, because copies always
    /// behave as it requires.
    pub sync_memops: bool,
}

/// All memory that was allocated or registered through this library.
#[derive(Default)]
pub struct Memory {
    map: RwLock<BTreeMap<u64, Allocation>>,
    /// The size of each range of addresses that the program has reserved, by its start.
    reserved: RwLock<BTreeMap<u64, u64>>,
    next_id: AtomicU64,
    /// Whether the GPU and the program have ever used different addresses for the same memory.
    aliases: AtomicBool,
    pub pinned: PinnedAddresses,
    /// Locked while a slab is being created, so that several threads don't each create one. Also
    /// locked while a piece is added to the map, so that its context isn't destroyed between taking
    /// the piece and adding it.
    pub slabs: Mutex<Slabs>,
    /// The number of commands that the session had sent when all its contexts were last idle.
    pub idle: AtomicU64,
    /// Locked while memory is being registered, so that no two threads register the same memory.
    /// This also ensures that a new region is registered with the GPU before another thread
    /// attaches a region at the same address.
    pub registering: Mutex<SinglePages>,
    /// The hints of each managed allocation, by its address.
    pub managed: Mutex<BTreeMap<u64, Managed>>,
}

impl Memory {
    /// Adds memory to the map.
    pub fn insert(&self, mut allocation: Allocation) {
        allocation.id = self.next_id.fetch_add(1, Ordering::Relaxed) + 1;
        if allocation.device_address != allocation.base {
            self.aliases.store(true, Ordering::Relaxed);
        }
        self.map.write().insert(allocation.base, allocation);
    }

    /// Returns the allocation that contains an address.
    pub fn find(&self, address: u64) -> Option<Allocation> {
        let map = self.map.read();
        let (_, allocation) = map.range(..=address).next_back()?;
        (address - allocation.base < allocation.len.max(1)).then_some(*allocation)
    }

    /// Adds a range of addresses that the program has reserved.
    pub fn add_reserved(&self, start: u64, size: u64) {
        self.reserved.write().insert(start, size);
    }

    /// Removes a range of reserved addresses, and returns its size.
    pub fn remove_reserved(&self, start: u64) -> Option<u64> {
        self.reserved.write().remove(&start)
    }

    /// Returns the start and the size of the range of reserved addresses that contains an address.
    pub fn reserved_at(&self, address: u64) -> Option<(u64, u64)> {
        let reserved = self.reserved.read();
        let (&start, &size) = reserved.range(..=address).next_back()?;
        (address - start < size).then_some((start, size))
    }

    /// Returns whether an address is in managed memory.
    pub fn is_managed(&self, address: u64) -> bool {
        self.find(address).is_some_and(|found| found.kind.is_managed())
    }

    /// Sets CU_POINTER_ATTRIBUTE_SYNC_MEMOPS of the allocation at this base.
    pub fn set_sync_memops(&self, base: u64, value: bool) {
        if let Some(allocation) = self.map.write().get_mut(&base) {
            allocation.sync_memops = value;
        }
    }

    /// Returns the allocation that contains an address that the GPU uses.
    pub fn find_device(&self, address: u64) -> Option<Allocation> {
        self.find(address).filter(|found| found.device_address == found.base).or_else(|| {
            if !self.aliases.load(Ordering::Relaxed) {
                return None;
            }
            let map = self.map.read();
            map.values()
                .find(|a| {
                    a.device_address != a.base
                        && address.wrapping_sub(a.device_address) < a.len.max(1)
                })
                .copied()
        })
    }

    /// Removes and returns the allocation that begins at an address, if `is_meant` returns true for
    /// it.
    pub fn remove(
        &self,
        base: u64,
        is_meant: impl FnOnce(&Allocation) -> bool,
    ) -> Option<Allocation> {
        let mut map = self.map.write();
        if !map.get(&base).is_some_and(is_meant) {
            return None;
        }
        map.remove(&base)
    }

    /// Removes the mappings of `cuMemMap` in a range from the map.
    pub fn remove_mapped(&self, base: u64, len: u64) {
        let mut map = self.map.write();
        let all = map.range(base..base.saturating_add(len));
        let bases = all.filter(|(_, a)| a.kind == Kind::Mapped).map(|(base, _)| *base);
        for base in bases.collect::<Vec<_>>() {
            map.remove(&base);
        }
    }

    /// Returns whether all of the `len` bytes from an address in `found` are allocated. A range can
    /// extend over several allocations only if they are adjacent mappings of `cuMemMap`.
    fn reaches(&self, found: &Allocation, address: u64, len: u64) -> bool {
        let Some(end) = address.checked_add(len) else { return false };
        let mut at = found.base + found.len;
        if found.kind == Kind::Mapped {
            let map = self.map.read();
            while at < end
                && let Some(next) = map.get(&at).filter(|next| next.kind == Kind::Mapped)
            {
                at += next.len;
            }
        }
        end <= at
    }

    /// Removes the memory of a destroyed context from the map. Returns the host memory and the
    /// slabs, of which the caller must release the regions.
    pub fn forget_context(&self, context: usize) -> (Vec<Allocation>, Vec<Slab>) {
        let mut slabs = self.slabs.lock();
        let mut map = self.map.write();
        // A managed variable isn't removed with a context, but with its library.
        let ends = |a: &Allocation| a.context == context && a.kind != Kind::ManagedVariable;
        let gone = map.extract_if(.., |_, allocation| ends(allocation));
        let gone = gone.map(|(_, allocation)| allocation).filter(|a| !a.kind.is_device());
        (gone.collect(), slabs.forget_context(context))
    }

    /// Fails if a range overlaps host memory that is registered already, or host memory from CUDA,
    /// which can't be registered.
    pub fn check_unregistered(&self, base: u64, len: u64) -> CuResult {
        let map = self.map.read();
        let last = map.range(..base.saturating_add(len)).next_back().map(|(_, last)| last);
        match last.filter(|last| last.base + last.len > base).map(|last| last.kind) {
            Some(Kind::Registered { .. }) => Err(CuError::HOST_MEMORY_ALREADY_REGISTERED),
            Some(kind) if !kind.is_device() => Err(CuError::INVALID_VALUE),
            _ => Ok(()),
        }
    }

    /// Returns how a copy of `len` bytes can reach the memory at an address.
    pub fn place(&self, address: u64, len: u64) -> CuResult<Place> {
        if let Some(found) = self.find(address) {
            if !self.reaches(&found, address, len) {
                return Err(CuError::INVALID_VALUE);
            }
            let host = found.kind.is_on_host().then_some(address);
            let address = found.device_address + (address - found.base);
            return Ok(Place::Visible { address, host });
        }
        if let Some(found) = self.find_device(address) {
            let offset = address - found.device_address;
            if len > found.len - offset {
                return Err(CuError::INVALID_VALUE);
            }
            return Ok(Place::Visible { address, host: Some(found.base + offset) });
        }
        let address = address as usize;
        if windows::DEVICE.contains(&address) || windows::is_pinned(address) {
            return Err(CuError::INVALID_VALUE);
        }
        Ok(Place::Pageable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocation(base: u64, len: u64, kind: Kind, device_address: u64) -> Allocation {
        Allocation {
            base,
            len,
            kind,
            device_address,
            flags: 0,
            context: 1,
            device: 0,
            id: 0,
            sync_memops: false,
        }
    }

    #[test]
    fn an_address_finds_the_memory_that_contains_it() {
        let memory = Memory::default();
        memory.insert(allocation(0x1000, 0x100, Kind::Device, 0x1000));
        assert!(memory.find(0xfff).is_none());
        assert_eq!(memory.find(0x10ff).unwrap().base, 0x1000);
        assert!(memory.find(0x1100).is_none());
        assert_eq!(memory.place(0x1080, 0x80), Ok(Place::Visible { address: 0x1080, host: None }));
        assert!(memory.place(0x1080, 0x81).is_err());
        assert_eq!(memory.place(0x9000, 1), Ok(Place::Pageable));
    }

    #[test]
    fn all_memory_of_a_context_ends_and_its_host_memory_is_returned() {
        let memory = Memory::default();
        let other = Allocation { context: 2, ..allocation(0x4000, 16, Kind::Device, 0x4000) };
        memory.insert(allocation(0x1000, 16, Kind::Device, 0x1000));
        memory.insert(allocation(0x2000, 16, Kind::Pinned { region: 1 }, 0x2000));
        memory.insert(allocation(0x3000, 16, Kind::Managed { region: 2 }, 0x3000));
        memory.insert(other);
        let (on_host, _) = memory.forget_context(1);
        assert_eq!(on_host.iter().map(|found| found.base).collect::<Vec<_>>(), [0x2000, 0x3000]);
        assert!([0x1000, 0x2000, 0x3000].iter().all(|at| memory.find(*at).is_none()));
        assert!(memory.find(0x4000).is_some());
    }

    #[test]
    fn copies_can_span_mappings_but_not_allocations() {
        let memory = Memory::default();
        for (base, kind) in [
            (0x1000, Kind::Mapped),
            (0x1100, Kind::Mapped),
            (0x1200, Kind::Device),
            (0x1300, Kind::Device),
        ] {
            memory.insert(allocation(base, 0x100, kind, base));
        }
        let place = Place::Visible { address: 0x1080, host: None };
        assert_eq!(memory.place(0x1080, 0x180), Ok(place));
        for (address, len) in [(0x1080, 0x181), (0x1280, 0x81), (0x1080, u64::MAX)] {
            assert_eq!(memory.place(address, len), Err(CuError::INVALID_VALUE), "{address:#x}");
        }
        memory.remove_mapped(0x1000, 0x300);
        assert!(memory.find(0x1000).is_none() && memory.find(0x1100).is_none());
        assert!(memory.find(0x1200).is_some());
    }

    #[test]
    fn registered_memory_with_an_alias_is_copied_through_the_alias() {
        let memory = Memory::default();
        let kind = Kind::Registered { region: 1, page: 0x5000, pages: 0x1000 };
        memory.insert(allocation(0x5010, 0x100, kind, 0x77_0010));
        let place = Place::Visible { address: 0x77_0020, host: Some(0x5020) };
        assert_eq!(memory.place(0x5020, 8), Ok(place));
        assert_eq!(memory.place(0x77_0020, 8), Ok(place));
        assert_eq!(memory.find_device(0x77_0020).unwrap().base, 0x5010);
        assert!(memory.find_device(0x5020).is_none());
        let overlap = memory.check_unregistered(0x5000, 0x11);
        assert_eq!(overlap, Err(CuError::HOST_MEMORY_ALREADY_REGISTERED));
        assert_eq!(memory.check_unregistered(0x5000, 0x10), Ok(()));
    }
}

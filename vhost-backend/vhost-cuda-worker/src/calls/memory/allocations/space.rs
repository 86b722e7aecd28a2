//! Keeps track of the addresses and the physical memory that the guest manages itself, with
//! `cuMemAddressReserve`, `cuMemCreate`, and `cuMemMap`. Makes no driver calls.
//!
//! The guest's reservations are parts of the window for device memory. The driver knows only the
//! worker's reservation of the whole window, so the worker must check the rules for the guest's
//! reservations itself. The worker holds one of the driver's references to each physical memory for
//! as long as the guest holds a reference, exports the memory, or has it mapped. The memory is
//! charged until the worker releases its reference.

use std::collections::{BTreeMap, HashMap};

use cuda_api::sys::{CUmemAccess_flags, CUmemAllocationHandleType};

use super::charged::{Charged, SharedMemory};
use super::spans::Spans;
use crate::driver::{CuError, CuResult};
use host_ipc::messages::Token;

/// The maximum number of reservations in a session, and also of mappings and of physical memories.
const MOST: usize = protocol::limits::HANDLES_MAX;

/// The CUmemAllocationHandleType of memory that can be exported.
const HANDLE_FILE: u32 = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.0;

/// The properties with which the guest created physical memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Properties {
    /// The ordinal of the GPU that holds the memory.
    pub device: i32,
    pub handle_types: u32,
    pub compression: u32,
}

/// Physical memory that the driver has created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Created {
    /// The CUmemGenericAllocationHandle that the driver has returned.
    pub real: u64,
    /// The length in bytes, a multiple of the granule.
    pub len: u64,
    pub properties: Properties,
    pub charged: Charged,
}

struct Physical {
    created: Created,
    /// Whether the guest exports the memory. An export keeps the memory from being released, as a
    /// reference does.
    exported: bool,
    /// The number of references that the guest holds. If it's 0, only mappings or an export keep
    /// the memory, and the guest can't use its handle.
    references: u64,
    mappings: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MappingState {
    /// The driver hasn't made the mapping yet.
    Beginning,
    Mapped,
    /// The worker is unmapping the memory.
    Ending,
}

/// The devices that may read and that may write a mapping, as bit sets indexed by ordinal.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Access {
    read: u64,
    write: u64,
}

const _: () = assert!(protocol::limits::DEVICES_MAX <= u64::BITS as usize);

impl Access {
    fn of(self, device: i32) -> CUmemAccess_flags {
        let bit = 1 << device;
        match (self.read & bit != 0, self.write & bit != 0) {
            (_, true) => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
            (true, false) => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ,
            (false, false) => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE,
        }
    }

    fn set(&mut self, device: i32, flags: CUmemAccess_flags) {
        let bit = 1 << device;
        let with = |set: u64, is_in: bool| if is_in { set | bit } else { set & !bit };
        let writes = flags == CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        let reads = writes || flags == CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ;
        (self.read, self.write) = (with(self.read, reads), with(self.write, writes));
    }
}

#[derive(Clone, Copy)]
struct Mapping {
    /// The guest's handle of the physical memory.
    handle: u64,
    access: Access,
    state: MappingState,
}

/// The reserved addresses, the mappings in them, and the physical memory of a session.
pub(in crate::calls) struct Space {
    granule: u64,
    /// The length of each reservation, by its start.
    reserved: BTreeMap<u64, u64>,
    mapped: Spans<Mapping>,
    physical: HashMap<u64, Physical>,
    /// The handle that was assigned last. The worker never assigns a handle twice.
    last: u64,
}

impl Space {
    pub(super) fn new(granule: u64) -> Self {
        Self {
            granule,
            reserved: BTreeMap::new(),
            mapped: Spans::default(),
            physical: HashMap::new(),
            last: 0,
        }
    }

    /// Returns the granule, of which all addresses and lengths are multiples, in bytes.
    pub(super) fn granule(&self) -> u64 {
        self.granule
    }

    /// Fails unless `len` is a valid length of a reservation, of physical memory, or of a mapping.
    pub(super) fn check_len(&self, len: u64) -> CuResult {
        if len == 0 || !len.is_multiple_of(self.granule) {
            return Err(CuError::INVALID_VALUE);
        }
        Ok(())
    }

    /// Returns the alignment to use for a reservation for which the guest requests the alignment
    /// `requested`. 0 requests the smallest one.
    pub(super) fn alignment(&self, requested: u64) -> CuResult<u64> {
        if requested != 0 && !requested.is_power_of_two() {
            return Err(CuError::INVALID_VALUE);
        }
        Ok(requested.max(self.granule))
    }

    pub(super) fn has_room_for_reservation(&self) -> bool {
        self.reserved.len() < MOST
    }

    /// Adds a reservation. The caller has taken its addresses from the device memory window.
    pub(super) fn reserve(&mut self, start: u64, len: u64) {
        self.reserved.insert(start, len);
    }

    /// Ends a reservation. The caller must make its addresses free again.
    pub(super) fn unreserve(&mut self, start: u64, len: u64) -> CuResult {
        let is_whole = self.reserved.get(&start) == Some(&len);
        if !is_whole || self.mapped.overlaps(start, len) {
            return Err(CuError::INVALID_VALUE);
        }
        self.reserved.remove(&start);
        Ok(())
    }

    /// Returns whether the session may create more physical memory.
    pub(super) fn has_room_for_physical(&self) -> bool {
        self.physical.len() < MOST
    }

    /// Adds new physical memory, and returns the guest's handle for it.
    pub(super) fn create(&mut self, created: Created) -> u64 {
        self.last += 1;
        self.physical
            .insert(self.last, Physical { created, exported: false, references: 1, mappings: 0 });
        self.last
    }

    fn physical(&mut self, handle: u64) -> CuResult<&mut Physical> {
        let found = self.physical.get_mut(&handle).filter(|physical| physical.references > 0);
        found.ok_or(CuError::INVALID_VALUE)
    }

    /// Returns the properties of the physical memory with this handle.
    pub(super) fn properties(&mut self, handle: u64) -> CuResult<Properties> {
        Ok(self.physical(handle)?.created.properties)
    }

    /// Returns the physical memory with this handle, if the guest may export it.
    pub(super) fn exportable(&mut self, handle: u64) -> CuResult<&mut Created> {
        let created = &mut self.physical(handle)?.created;
        if created.properties.handle_types != HANDLE_FILE {
            return Err(CuError::INVALID_VALUE);
        }
        Ok(created)
    }

    /// Records whether the guest exports the physical memory whose export has the name `token`. If
    /// nothing uses the memory any more, removes and returns it, so that the caller can release it.
    pub(super) fn set_exported(&mut self, token: Token, exported: bool) -> Option<Created> {
        let is_named = |charged: Charged| matches!(charged, Charged::Shared(SharedMemory { token: Some(name), .. }) if name == token);
        let mut all = self.physical.iter_mut();
        let (handle, physical) = all.find(|(_, p)| is_named(p.created.charged))?;
        physical.exported = exported;
        let handle = *handle;
        self.unused(handle)
    }

    /// Removes one of the guest's references. If nothing uses the memory any more, removes and
    /// returns it, so that the caller can release it.
    pub(super) fn release(&mut self, handle: u64) -> CuResult<Option<Created>> {
        self.physical(handle)?.references -= 1;
        Ok(self.unused(handle))
    }

    /// Removes and returns physical memory, if nothing uses it any more.
    fn unused(&mut self, handle: u64) -> Option<Created> {
        let physical = self.physical.get(&handle)?;
        if physical.references > 0 || physical.mappings > 0 || physical.exported {
            return None;
        }
        self.physical.remove(&handle).map(|physical| physical.created)
    }

    /// Adds a reference to the physical memory that is mapped at an address, and returns its
    /// handle.
    pub(super) fn retain(&mut self, at: u64) -> CuResult<u64> {
        let handle = self.mapping_at(at)?.handle;
        let physical = self.physical.get_mut(&handle).ok_or(CuError::INVALID_VALUE)?;
        physical.references += 1;
        Ok(handle)
    }

    /// Returns the mapping that contains an address.
    fn mapping_at(&self, at: u64) -> CuResult<&Mapping> {
        let found = self.mapped.at(at).filter(|mapping| mapping.state == MappingState::Mapped);
        found.ok_or(CuError::INVALID_VALUE)
    }

    /// Returns the access of a device to the mapping that contains an address.
    pub(super) fn access(&self, device: i32, at: u64) -> CuResult<CUmemAccess_flags> {
        Ok(self.mapping_at(at)?.access.of(device))
    }

    /// Begins a mapping. Until [`Space::map_ended`] is called, the mapping occupies its addresses,
    /// but the guest's calls can't use it. Returns the physical memory, which can't be released in
    /// the meantime.
    pub(super) fn begin_map(&mut self, start: u64, len: u64, handle: u64) -> CuResult<Created> {
        let created = self.physical(handle)?.created;
        // The worker supports only mappings of a whole physical memory, because the driver does.
        if len != created.len {
            return Err(CuError::NOT_SUPPORTED);
        }
        if !start.is_multiple_of(self.granule) || !self.reserves(start, len) {
            return Err(CuError::INVALID_VALUE);
        }
        if self.mapped.len() >= MOST {
            return Err(CuError::OUT_OF_MEMORY);
        }
        let mapping = Mapping { handle, access: Access::default(), state: MappingState::Beginning };
        if !self.mapped.insert(start, len, mapping) {
            return Err(CuError::INVALID_VALUE);
        }
        self.physical(handle)?.mappings += 1;
        Ok(created)
    }

    /// Records whether the driver has created a mapping. If it hasn't and nothing else uses the
    /// physical memory any more, removes and returns that memory, so that the caller can release
    /// it.
    pub(super) fn map_ended(&mut self, start: u64, made: bool) -> Option<Created> {
        if made {
            if let Some((_, mapping)) = self.mapped.get_mut(start) {
                mapping.state = MappingState::Mapped;
            }
            return None;
        }
        self.remove_mapping(start)
    }

    fn remove_mapping(&mut self, start: u64) -> Option<Created> {
        let (_, mapping) = self.mapped.remove(start)?;
        self.physical.get_mut(&mapping.handle)?.mappings -= 1;
        self.unused(mapping.handle)
    }

    /// Returns whether all addresses of a range are in one reservation.
    fn reserves(&self, start: u64, len: u64) -> bool {
        let found = self.reserved.range(..=start).next_back();
        found.is_some_and(|(s, l)| start.checked_add(len).is_some_and(|end| end <= s + l))
    }

    /// Returns the starts of the mappings that exactly cover a range. Fails if there are no such
    /// mappings.
    fn cover(&self, start: u64, len: u64) -> CuResult<Vec<u64>> {
        let covering = self.mapped.covering(start, len, |m| m.state == MappingState::Mapped);
        covering.ok_or(CuError::INVALID_VALUE)
    }

    /// Begins to unmap the mappings that exactly cover a range, and returns their starts. From now
    /// on, the guest's calls can't use them.
    pub(super) fn begin_unmap(&mut self, start: u64, len: u64) -> CuResult<Vec<u64>> {
        let starts = self.cover(start, len)?;
        self.set_states(&starts, MappingState::Ending);
        Ok(starts)
    }

    fn set_states(&mut self, starts: &[u64], state: MappingState) {
        for start in starts {
            if let Some((_, mapping)) = self.mapped.get_mut(*start) {
                mapping.state = state;
            }
        }
    }

    /// Records whether the driver has unmapped the mappings that `begin_unmap` returned. Removes
    /// and returns the physical memory that nothing uses any more, so that the caller can release
    /// it.
    pub(super) fn unmap_ended(&mut self, starts: &[u64], done: bool) -> Vec<Created> {
        if !done {
            self.set_states(starts, MappingState::Mapped);
            return Vec::new();
        }
        starts.iter().filter_map(|start| self.remove_mapping(*start)).collect()
    }

    /// Returns the starts of the mappings that exactly cover a range. Fails if one of `devices`
    /// can't access the memory of a mapping, according to `can_access`.
    pub(super) fn for_devices(
        &self,
        start: u64,
        len: u64,
        devices: &[(i32, CUmemAccess_flags)],
        can_access: impl Fn(i32, i32) -> bool,
    ) -> CuResult<Vec<u64>> {
        let starts = self.cover(start, len)?;
        let is_reachable = |start: &u64| {
            let owner = self.mapped.get(*start).and_then(|(_, m)| self.physical.get(&m.handle));
            let holder = owner.map(|physical| physical.created.properties.device);
            holder
                .is_some_and(|holder| devices.iter().all(|(device, _)| can_access(*device, holder)))
        };
        if !starts.iter().all(is_reachable) {
            return Err(CuError::INVALID_DEVICE);
        }
        Ok(starts)
    }

    /// Records the access to mappings, after the driver has set it.
    pub(super) fn set_access(&mut self, starts: &[u64], access: &[(i32, CUmemAccess_flags)]) {
        for start in starts {
            if let Some((_, mapping)) = self.mapped.get_mut(*start) {
                for (device, flags) in access {
                    mapping.access.set(*device, *flags);
                }
            }
        }
    }

    /// Returns whether the guest's calls may use all `len` bytes at `start`.
    pub(super) fn covers(&self, start: u64, len: u64) -> bool {
        let usable = |m: &Mapping| m.state == MappingState::Mapped && m.access != Access::default();
        self.mapped.covers_with(start, len, usable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const M: u64 = 2 << 20;
    const AT: u64 = 0x2000_0000_0000;
    const INVALID: CuError = CuError::INVALID_VALUE;
    const READ_WRITE: CUmemAccess_flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const READ: CUmemAccess_flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ;
    const NO_ACCESS: CUmemAccess_flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE;

    fn created(len: u64) -> Created {
        let properties = Properties { device: 0, handle_types: 0, compression: 0 };
        Created { real: 7, len, properties, charged: Charged::Alone }
    }

    /// Returns a space with a reservation of eight granules at `AT`, and with physical memory of
    /// two granules, and that memory's handle.
    fn space() -> (Space, u64) {
        let mut space = Space::new(M);
        space.reserve(AT, 8 * M);
        let handle = space.create(created(2 * M));
        (space, handle)
    }

    fn map(space: &mut Space, start: u64, len: u64, handle: u64) -> CuResult {
        space.begin_map(start, len, handle)?;
        assert_eq!(space.map_ended(start, true), None);
        Ok(())
    }

    fn unmap(space: &mut Space, start: u64, len: u64) -> CuResult<Vec<Created>> {
        let starts = space.begin_unmap(start, len)?;
        Ok(space.unmap_ended(&starts, true))
    }

    #[test]
    fn memory_lives_until_its_last_reference_and_its_last_mapping_are_gone() {
        let (mut space, handle) = space();
        map(&mut space, AT, 2 * M, handle).unwrap();
        map(&mut space, AT + 4 * M, 2 * M, handle).unwrap();
        assert_eq!(space.release(handle), Ok(None));
        assert_eq!(space.release(handle), Err(INVALID), "released twice");
        assert_eq!(space.begin_map(AT + 2 * M, 2 * M, handle), Err(INVALID));
        assert_eq!(unmap(&mut space, AT, 2 * M), Ok(vec![]));
        assert_eq!(space.retain(AT + 5 * M), Ok(handle), "the same handle again");
        assert_eq!(unmap(&mut space, AT + 4 * M, 2 * M), Ok(vec![]));
        assert_eq!(space.release(handle), Ok(Some(created(2 * M))));
        assert_eq!(space.release(handle), Err(INVALID));
        assert_eq!(space.unreserve(AT, 8 * M), Ok(()));
        assert_eq!(space.unreserve(AT, 8 * M), Err(INVALID));
    }

    #[test]
    fn mappings_lie_in_one_reservation_and_do_not_overlap() {
        let (mut space, handle) = space();
        space.reserve(AT + 8 * M, 2 * M);
        for start in [AT - M, AT + 7 * M, AT + M / 2, u64::MAX - M + 1] {
            assert_eq!(space.begin_map(start, 2 * M, handle), Err(INVALID), "{start:#x}");
        }
        for len in [0, M / 2, M, 4 * M, u64::MAX - M + 1] {
            assert_eq!(space.begin_map(AT, len, handle), Err(CuError::NOT_SUPPORTED), "{len:#x}");
        }
        assert_eq!(space.begin_map(AT, 2 * M, handle + 1), Err(INVALID), "a forged handle");
        map(&mut space, AT + M, 2 * M, handle).unwrap();
        for start in [AT, AT + M, AT + 2 * M] {
            assert_eq!(space.begin_map(start, 2 * M, handle), Err(INVALID));
        }
        assert_eq!(space.unreserve(AT, 8 * M), Err(INVALID), "something is mapped there");
        assert_eq!(space.unreserve(AT, 10 * M), Err(INVALID), "two reservations");
    }

    #[test]
    fn ranges_must_consist_of_whole_mappings() {
        let (mut space, handle) = space();
        map(&mut space, AT, 2 * M, handle).unwrap();
        let small = space.create(created(M));
        map(&mut space, AT + 2 * M, M, small).unwrap();
        for (start, len) in [(AT, M), (AT + M, M), (AT, 4 * M), (AT + 3 * M, M), (AT, 0)] {
            assert_eq!(space.begin_unmap(start, len), Err(INVALID), "{start:#x} {len:#x}");
            let found = space.for_devices(start, len, &[(0, READ_WRITE)], |_, _| true);
            assert_eq!(found, Err(INVALID), "{start:#x} {len:#x}");
        }
        let others = [(0, READ_WRITE), (1, READ_WRITE)];
        let found = space.for_devices(AT, 3 * M, &others, |device, holder| device == holder);
        assert_eq!(found, Err(CuError::INVALID_DEVICE));
        space.for_devices(AT, 3 * M, &others, |device, holder| (device, holder) != (0, 1)).unwrap();
        let starts = space.begin_unmap(AT, 3 * M).unwrap();
        assert_eq!(space.begin_unmap(AT, 3 * M), Err(INVALID), "is being unmapped");
        assert_eq!(space.retain(AT), Err(INVALID));
        assert_eq!(space.begin_map(AT + M, 2 * M, handle), Err(INVALID));
        // If the driver fails to unmap the memory, the memory stays mapped.
        assert_eq!(space.unmap_ended(&starts, false), vec![]);
        assert_eq!(unmap(&mut space, AT, 3 * M), Ok(vec![]));
    }

    #[test]
    fn calls_can_use_only_mappings_with_access() {
        let (mut space, handle) = space();
        map(&mut space, AT, 2 * M, handle).unwrap();
        map(&mut space, AT + 2 * M, 2 * M, handle).unwrap();
        assert!(!space.covers(AT, 1));
        let first = [(0, READ_WRITE)];
        let starts = space.for_devices(AT, 2 * M, &first, |_, _| true).unwrap();
        space.set_access(&starts, &first);
        assert!(space.covers(AT, 2 * M) && !space.covers(AT, 2 * M + 1));
        assert_eq!(space.access(0, AT + M), Ok(READ_WRITE));
        assert_eq!(space.access(1, AT + M), Ok(NO_ACCESS));
        assert_eq!(space.access(0, AT + 5 * M), Err(INVALID));
        // A call can use a mapping as long as any device has access to it.
        let starts = space.for_devices(AT, 4 * M, &first, |_, _| true).unwrap();
        space.set_access(&starts, &[(0, NO_ACCESS), (1, READ)]);
        assert_eq!([0, 1].map(|device| space.access(device, AT)), [Ok(NO_ACCESS), Ok(READ)]);
        assert!(space.covers(AT + M, 2 * M));
        space.set_access(&starts, &[(1, NO_ACCESS)]);
        assert!(!space.covers(AT + M, M));
        space.set_access(&starts, &first);
        space.begin_unmap(AT, 2 * M).unwrap();
        assert!(!space.covers(AT + M, 1) && space.covers(AT + 2 * M, 2 * M));
    }

    #[test]
    fn a_mapping_that_the_driver_refuses_leaves_nothing() {
        let (mut space, handle) = space();
        space.begin_map(AT, 2 * M, handle).unwrap();
        assert_eq!(space.retain(AT), Err(INVALID), "not mapped yet");
        assert_eq!(space.release(handle), Ok(None), "the mapping uses it");
        assert_eq!(space.map_ended(AT, false), Some(created(2 * M)));
        assert_eq!(space.unreserve(AT, 8 * M), Ok(()));
    }
}

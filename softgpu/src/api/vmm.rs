//! The virtual memory API, which manages addresses and memory separately.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_api::args::{In, Out};
use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::{
    CUdeviceptr, CUmemAccess_flags as Access, CUmemAccessDesc,
    CUmemAllocationGranularity_flags as Granularity, CUmemAllocationHandleType as Handles,
    CUmemAllocationProp, CUmemAllocationType, CUmemLocation, CUmemLocationType as Place,
};

use super::entry::entries;
use crate::exec::memory::Range;
use crate::state::context::current_if_any;
use crate::state::device::{RANGES, driver};
use crate::state::handles::{Kind, Table};
use crate::state::memory;
use crate::state::primary;

/// Granularity in bytes: all addresses and sizes must be multiples of it.
const GRANULARITY: u64 = 2 << 20;
const HANDLE_FILE: Handles = Handles::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// Physical memory, which can be mapped at any number of addresses.
struct Physical {
    file: OwnedFd,
    size: u64,
    ordinal: i32,
    properties: Properties,
    /// Number of references that the program holds to the handle.
    references: Mutex<u32>,
    charged: bool,
}

impl Drop for Physical {
    fn drop(&mut self) {
        if self.charged
            && let Ok(device) = driver().and_then(|d| d.device(self.ordinal))
        {
            device.memory.uncharge(self.size);
        }
    }
}

static PHYSICAL: Table<Physical> = Table::new(Kind::Allocation);

struct Mapping {
    size: u64,
    physical: Arc<Physical>,
    handle: usize,
    /// The access rights by device ordinal, for each device whose access the program has set.
    access: BTreeMap<c_int, Access>,
}

impl Mapping {
    /// Returns the strongest access right of any device. softgpu can't enforce access rights per
    /// device, so all devices get this one.
    fn most_access(&self) -> Access {
        let has = |access| self.access.values().any(|one| *one == access);
        let levels =
            [Access::CU_MEM_ACCESS_FLAGS_PROT_READWRITE, Access::CU_MEM_ACCESS_FLAGS_PROT_READ];
        let most = levels.into_iter().find(|access| has(*access));
        most.unwrap_or(Access::CU_MEM_ACCESS_FLAGS_PROT_NONE)
    }
}

#[derive(Default)]
struct Space {
    /// The size of each reserved address range, by start address.
    reserved: BTreeMap<u64, u64>,
    mapped: BTreeMap<u64, Mapping>,
}

static SPACE: Mutex<Space> =
    Mutex::new(Space { reserved: BTreeMap::new(), mapped: BTreeMap::new() });

fn lock() -> MutexGuard<'static, Space> {
    SPACE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Space {
    fn reserves(&self, start: u64, size: u64) -> bool {
        let found = self.reserved.range(..=start).next_back();
        found.is_some_and(|(s, n)| start.checked_add(size).is_some_and(|end| end <= s + n))
    }

    /// Returns the mapping that contains an address, and its start.
    fn mapping_at(&self, address: u64) -> Option<(u64, &Mapping)> {
        let (start, mapping) = self.mapped.range(..=address).next_back()?;
        (address < start + mapping.size).then_some((*start, mapping))
    }

    /// Returns the start addresses of the mappings that exactly cover an interval.
    fn cover(&self, start: u64, size: u64) -> Option<Vec<u64>> {
        let (mut at, mut starts) = (start, Vec::new());
        let end = start.checked_add(size).filter(|end| *end > start)?;
        while at < end {
            starts.push(at);
            at += self.mapped.get(&at)?.size;
        }
        (at == end).then_some(starts)
    }
}

/// Returns the start and the size of the reserved range that contains an address.
pub(crate) fn reservation(address: u64) -> Option<(u64, u64)> {
    let space = lock();
    let (&start, &size) = space.reserved.range(..=address).next_back()?;
    (address - start < size).then_some((start, size))
}

/// Returns whether the program has reserved an address.
pub(crate) fn is_reserved(address: u64) -> bool {
    lock().reserves(address, 1)
}

/// Reserves address space by mapping inaccessible memory. If `address` is 0, Linux chooses the
/// address. `fixed` is an mmap flag such as MAP_FIXED, or 0.
fn reserve(address: u64, size: u64, fixed: i32) -> CuResult<u64> {
    let len = usize::try_from(size).map_err(|_| CuError::OUT_OF_MEMORY)?;
    // SAFETY: with MAP_FIXED, the range is one of this module's mappings. Otherwise, mmap doesn't
    // replace existing mappings.
    let found = unsafe {
        libc::mmap(
            address as *mut c_void,
            len,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed,
            -1,
            0,
        )
    };
    if found == libc::MAP_FAILED {
        return Err(CuError::OUT_OF_MEMORY);
    }
    Ok(found as u64)
}

fn release_addresses(start: u64, size: u64) {
    // SAFETY: this module reserved the interval, and nothing is mapped in it anymore.
    unsafe { libc::munmap(start as *mut c_void, size as usize) };
}

fn aligned(value: u64) -> bool {
    value.is_multiple_of(GRANULARITY)
}

/// The allocation properties that the program passed.
#[derive(Clone, Copy)]
struct Properties(CUmemAllocationProp);

// SAFETY: the pointer in the properties is never dereferenced.
unsafe impl Send for Properties {}
// SAFETY: the pointer in the properties is never dereferenced.
unsafe impl Sync for Properties {}

/// Returns the ordinal of the device with this location. Host memory isn't supported.
fn device_at(location: CUmemLocation) -> CuResult<i32> {
    match location.type_ {
        Place::CU_MEM_LOCATION_TYPE_DEVICE => {
            driver()?.device(location.id)?;
            Ok(location.id)
        }
        Place::CU_MEM_LOCATION_TYPE_HOST
        | Place::CU_MEM_LOCATION_TYPE_HOST_NUMA
        | Place::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Err(CuError::NOT_SUPPORTED),
        _ => Err(CuError::INVALID_VALUE),
    }
}

/// Checks that memory with these properties can be created, and returns its device.
fn check_properties(properties: &CUmemAllocationProp) -> CuResult<i32> {
    if properties.type_ != CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED {
        return Err(CuError::INVALID_VALUE);
    }
    let ordinal = device_at(properties.location)?;
    if !matches!(properties.requestedHandleTypes, Handles::CU_MEM_HANDLE_TYPE_NONE | HANDLE_FILE) {
        return Err(CuError::NOT_SUPPORTED);
    }
    let flags = &properties.allocFlags;
    if flags.gpuDirectRDMACapable != 0 || flags.usage != 0 {
        return Err(CuError::NOT_SUPPORTED);
    }
    Ok(ordinal)
}

fn named(handle: c_ulonglong) -> CuResult<Arc<Physical>> {
    driver()?;
    PHYSICAL.get(handle as usize).ok_or(CuError::INVALID_VALUE)
}

/// Waits for running kernels, which may be using memory that is about to be unmapped.
pub(crate) fn wait_for_kernels() {
    if let Some(context) = current_if_any() {
        context.synchronize();
    }
    if let Ok(driver) = driver() {
        for device in &driver.devices {
            if let Ok(primary) = primary::of(device.ordinal) {
                primary.context.synchronize();
            }
        }
    }
}

entries! {
    fn cuMemGetAllocationGranularity(
        to: Out<usize>,
        properties: In<CUmemAllocationProp>,
        option: c_uint,
    ) {
        check_properties(&properties.get()?)?;
        if option > Granularity::CU_MEM_ALLOC_GRANULARITY_RECOMMENDED.0 {
            return Err(CuError::INVALID_VALUE);
        }
        to.set(GRANULARITY as usize)
    }

    fn cuMemAddressReserve(
        to: Out<CUdeviceptr>,
        size: usize,
        alignment: usize,
        address: CUdeviceptr,
        flags: c_ulonglong,
    ) {
        driver()?;
        let (size, alignment) = (size as u64, alignment as u64);
        let good = alignment == 0 || alignment.is_power_of_two();
        if size == 0 || !aligned(size) || flags != 0 || !good {
            return Err(CuError::INVALID_VALUE);
        }
        let alignment = alignment.max(GRANULARITY);
        let mut start = 0;
        if address != 0 && address.is_multiple_of(alignment) {
            start = reserve(address, size, libc::MAP_FIXED_NOREPLACE).unwrap_or(0);
            if start != 0 && start != address {
                release_addresses(start, size);
                start = 0;
            }
        }
        if start == 0 {
            // Reserve more than requested, and keep the aligned part.
            let room = size.checked_add(alignment).ok_or(CuError::OUT_OF_MEMORY)?;
            let wide = reserve(0, room, 0)?;
            start = wide.next_multiple_of(alignment);
            if start > wide {
                release_addresses(wide, start - wide);
            }
            release_addresses(start + size, wide + room - start - size);
        }
        lock().reserved.insert(start, size);
        to.set(start)
    }

    fn cuMemAddressFree(address: CUdeviceptr, size: usize) {
        driver()?;
        let mut space = lock();
        let size = size as u64;
        if space.reserved.get(&address) != Some(&size) {
            return Err(CuError::INVALID_VALUE);
        }
        if space.mapped.range(address..address + size).next().is_some() {
            return Err(CuError::INVALID_VALUE);
        }
        space.reserved.remove(&address);
        release_addresses(address, size);
        Ok(())
    }

    fn cuMemCreate(
        to: Out<c_ulonglong>,
        size: usize,
        properties: In<CUmemAllocationProp>,
        flags: c_ulonglong,
    ) {
        let properties = properties.get()?;
        let ordinal = check_properties(&properties)?;
        let size = size as u64;
        if size == 0 || !aligned(size) || flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let device = driver()?.device(ordinal)?;
        device.memory.charge(size)?;
        let make = || {
            // SAFETY: the name is null-terminated.
            let fd = unsafe { libc::memfd_create(c"softgpu".as_ptr(), libc::MFD_CLOEXEC) };
            if fd < 0 {
                return None;
            }
            // SAFETY: the descriptor was just created, so nothing else owns it.
            let file = unsafe { OwnedFd::from_raw_fd(fd) };
            // SAFETY: ftruncate accepts any descriptor, and this one is open.
            let sized = unsafe { libc::ftruncate(file.as_raw_fd(), size as libc::off_t) };
            (sized == 0).then_some(file)
        };
        let Some(file) = make() else {
            device.memory.uncharge(size);
            return Err(CuError::OUT_OF_MEMORY);
        };
        let references = Mutex::new(1);
        let properties = Properties(properties);
        let physical = Physical { file, size, ordinal, properties, references, charged: true };
        to.set(PHYSICAL.insert(physical) as c_ulonglong)
    }

    fn cuMemRelease(handle: c_ulonglong) {
        let physical = named(handle)?;
        let mut references = physical.references.lock().unwrap_or_else(PoisonError::into_inner);
        *references -= 1;
        if *references == 0 {
            // Existing mappings keep the physical memory alive until they are unmapped.
            PHYSICAL.remove(handle as usize);
        }
        Ok(())
    }

    fn cuMemMap(
        address: CUdeviceptr,
        size: usize,
        offset: usize,
        handle: c_ulonglong,
        flags: c_ulonglong,
    ) {
        let physical = named(handle)?;
        let (size, offset) = (size as u64, offset as u64);
        let mut space = lock();
        let free = space.mapped.range(..address.saturating_add(size)).next_back();
        let free = free.is_none_or(|(start, m)| start + m.size <= address);
        if offset != 0 || size != physical.size {
            return Err(CuError::NOT_SUPPORTED);
        }
        if !aligned(address) || flags != 0 || !space.reserves(address, size) || !free {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the interval is part of a range that the program has reserved through this
        // module, and the code above checked that nothing is mapped in it.
        let found = unsafe {
            libc::mmap(
                address as *mut c_void,
                size as usize,
                libc::PROT_NONE,
                libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_NORESERVE,
                physical.file.as_raw_fd(),
                0,
            )
        };
        if found == libc::MAP_FAILED {
            return Err(CuError::OUT_OF_MEMORY);
        }
        memory::add_mapped(physical.ordinal, address, size);
        let mapping = Mapping { size, physical, handle: handle as usize, access: BTreeMap::new() };
        space.mapped.insert(address, mapping);
        Ok(())
    }

    fn cuMemUnmap(address: CUdeviceptr, size: usize) {
        driver()?;
        wait_for_kernels();
        let mut space = lock();
        let starts = space.cover(address, size as u64);
        let starts = starts.ok_or(CuError::INVALID_VALUE)?;
        RANGES.remove(address, address + size as u64);
        for start in starts {
            if let Some(mapping) = space.mapped.remove(&start) {
                memory::forget(start);
                reserve(start, mapping.size, libc::MAP_FIXED)?;
            }
        }
        Ok(())
    }

    fn cuMemSetAccess(
        address: CUdeviceptr,
        size: usize,
        descriptions: In<CUmemAccessDesc>,
        count: usize,
    ) {
        driver()?;
        // SAFETY: the program passes an array of `count` elements.
        let descriptions = unsafe { descriptions.array(count) };
        let mut given = Vec::new();
        for index in 0..count {
            let CUmemAccessDesc { location, flags } = descriptions.get(index)?;
            if !matches!(
                flags,
                Access::CU_MEM_ACCESS_FLAGS_PROT_NONE
                    | Access::CU_MEM_ACCESS_FLAGS_PROT_READ
                    | Access::CU_MEM_ACCESS_FLAGS_PROT_READWRITE
            ) {
                return Err(CuError::INVALID_VALUE);
            }
            given.push((device_at(location)?, flags));
        }
        if given.is_empty() {
            return Err(CuError::INVALID_VALUE);
        }
        let mut space = lock();
        let starts = space.cover(address, size as u64);
        let starts = starts.ok_or(CuError::INVALID_VALUE)?;
        for start in starts {
            let Some(mapping) = space.mapped.get_mut(&start) else { continue };
            mapping.access.extend(given.iter().copied());
            let access = mapping.most_access();
            let protection = match access {
                Access::CU_MEM_ACCESS_FLAGS_PROT_NONE => libc::PROT_NONE,
                // For read-only access, `RANGES` makes kernels and copies fail if they write.
                _ => libc::PROT_READ | libc::PROT_WRITE,
            };
            // SAFETY: this module mapped the interval.
            let set =
                unsafe { libc::mprotect(start as *mut c_void, mapping.size as usize, protection) };
            if set != 0 {
                return Err(CuError::OUT_OF_MEMORY);
            }
            let end = start + mapping.size;
            RANGES.remove(start, end);
            if access != Access::CU_MEM_ACCESS_FLAGS_PROT_NONE {
                let writable = access == Access::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
                RANGES.insert(Range { start, end, writable });
            }
        }
        Ok(())
    }

    fn cuMemGetAccess(
        flags: Out<c_ulonglong>,
        location: In<CUmemLocation>,
        address: CUdeviceptr,
    ) {
        let ordinal = device_at(location.get()?)?;
        let space = lock();
        let (_, mapping) = space.mapping_at(address).ok_or(CuError::INVALID_VALUE)?;
        let access = mapping.access.get(&ordinal).copied();
        flags.set(access.unwrap_or(Access::CU_MEM_ACCESS_FLAGS_PROT_NONE).0.into())
    }

    fn cuMemRetainAllocationHandle(to: Out<c_ulonglong>, address: *mut c_void) {
        driver()?;
        let mut space = lock();
        let found = space.mapping_at(address as u64);
        let start = found.ok_or(CuError::INVALID_VALUE)?.0;
        let mapping = space.mapped.get_mut(&start).ok_or(CuError::INVALID_VALUE)?;
        let physical = mapping.physical.clone();
        if !PHYSICAL.find(mapping.handle).is_some_and(|p| Arc::ptr_eq(&p, &physical)) {
            // The program has released the handle, so create a new one for the same memory.
            mapping.handle = PHYSICAL.insert_shared(|_| physical.clone()).0;
        }
        *physical.references.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        to.set(mapping.handle as c_ulonglong)
    }

    fn cuMemGetAllocationPropertiesFromHandle(
        to: Out<CUmemAllocationProp>,
        handle: c_ulonglong,
    ) {
        to.set(named(handle)?.properties.0)
    }

    fn cuMemExportToShareableHandle(
        to: Out<c_void>,
        handle: c_ulonglong,
        kind: Handles,
        flags: c_ulonglong,
    ) {
        let physical = named(handle)?;
        if kind != HANDLE_FILE
            || flags != 0
            || physical.properties.0.requestedHandleTypes != HANDLE_FILE
        {
            return Err(CuError::INVALID_VALUE);
        }
        let copy = physical.file.try_clone().map_err(|_| CuError::OUT_OF_MEMORY)?;
        // SAFETY: the program passes a pointer to this handle type, a file descriptor.
        unsafe { to.cast::<c_int>() }.set(copy.into_raw_fd())
    }

    fn cuMemImportFromShareableHandle(
        to: Out<c_ulonglong>,
        handle: *mut c_void,
        kind: Handles,
    ) {
        driver()?;
        if kind != HANDLE_FILE {
            return Err(CuError::NOT_SUPPORTED);
        }
        // SAFETY: fcntl checks the descriptor number, and duplicating a descriptor has no
        // preconditions.
        let copy = unsafe { libc::fcntl(handle as usize as c_int, libc::F_DUPFD_CLOEXEC, 0) };
        if copy < 0 {
            return Err(CuError::UNKNOWN);
        }
        // SAFETY: fcntl just created the descriptor, so nothing else owns it.
        let file = unsafe { OwnedFd::from_raw_fd(copy) };
        let size = std::fs::File::from(file.try_clone().map_err(|_| CuError::OUT_OF_MEMORY)?)
            .metadata()
            .map_err(|_| CuError::INVALID_VALUE)?
            .len();
        if size == 0 || !aligned(size) {
            return Err(CuError::INVALID_VALUE);
        }
        let properties = Properties(CUmemAllocationProp {
            type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            // As with NVIDIA's driver, an importer can't export the memory.
            requestedHandleTypes: Handles::CU_MEM_HANDLE_TYPE_NONE,
            location: CUmemLocation { type_: Place::CU_MEM_LOCATION_TYPE_DEVICE, id: 0 },
            ..CUmemAllocationProp::default()
        });
        let references = Mutex::new(1);
        let physical =
            Physical { file, size, ordinal: 0, properties, references, charged: false };
        to.set(PHYSICAL.insert(physical) as c_ulonglong)
    }
}

//! Device memory, and host memory that kernels may access.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::context::Context;
use super::device::{RANGES, driver};
use super::handles::unique_id;
use super::hints;
use super::mapping::{map, unmap};
use super::pool::{self, POOLS};
use super::shared_file::{Contents, SharedFile};
use crate::exec::memory::Range;
use cuda_api::error::{CuError, CuResult};
use cuda_api::ipc::HandleBytes;
use cuda_api::sys::CU_MEMHOSTREGISTER_READ_ONLY;

/// Granularity of device memory accounting, in bytes.
const GRANULE: u64 = 4096;

/// How the memory in an address interval was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Allocated by `cuMemAlloc`.
    Device,
    /// Allocated by another process, and opened with `cuIpcOpenMemHandle`.
    Imported,
    /// Allocated from a memory pool.
    Pool {
        /// The id of the pool in [`POOLS`].
        id: usize,
        /// The handle by which the program knows the pool.
        handle: u64,
    },
    /// Allocated from another process's memory pool.
    ImportedPool {
        /// The start address of the mapping that contains the memory.
        base: u64,
        /// The handle by which the program knows the imported pool.
        handle: u64,
    },
    /// Allocated by `cuMemHostAlloc` with these flags.
    Host(u32),
    /// Allocated by `cuMemAllocManaged`.
    Managed,
    /// Holds the managed variables of a module or a library.
    ManagedVariables,
    /// Registered by `cuMemHostRegister` with these flags.
    Registered(u32),
    /// Mapped by `cuMemMap`.
    Mapped,
    /// Allocated by softgpu for a module's variables, or for the data of a graph or a launch. The
    /// memory is part of the context's [`Resources`](super::resources::Resources).
    Internal,
    /// Holds the elements of an array.
    Array,
}

/// A tracked address interval: allocated, registered or mapped memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allocation {
    pub(crate) start: u64,
    pub(crate) size: u64,
    /// Number of mapped bytes. For device memory and arrays, this is also the number of bytes that
    /// are counted as allocated on the device.
    pub(crate) mapped: u64,
    pub(crate) memory: Memory,
    pub(crate) context: u64,
    pub(crate) context_handle: usize,
    pub(crate) ordinal: i32,
    pub(crate) id: u64,
    /// The value of CU_POINTER_ATTRIBUTE_SYNC_MEMOPS. It has no effect, because softgpu's copies
    /// always behave as if it was set.
    pub(crate) sync_memops: bool,
}

impl Allocation {
    pub(crate) fn end(&self) -> u64 {
        self.start + self.size
    }

    /// Returns the end of the range that kernels may access. For device memory, this is rounded up
    /// to a multiple of 512 bytes, because GPUs allocate memory in units of that size.
    fn reach(&self) -> u64 {
        match self.memory {
            Memory::Device | Memory::Pool { .. } => self.start + self.size.next_multiple_of(512),
            _ => self.end(),
        }
    }

    pub(crate) fn on_host(&self) -> bool {
        self.managed() || matches!(self.memory, Memory::Host(_) | Memory::Registered(_))
    }

    pub(crate) fn managed(&self) -> bool {
        matches!(self.memory, Memory::Managed | Memory::ManagedVariables)
    }
}

/// The files that contain the memory of `cuMemAlloc` allocations which other processes may open, by
/// start address.
static EXPORTS: Mutex<BTreeMap<u64, SharedFile>> = Mutex::new(BTreeMap::new());

static ALLOCATIONS: Mutex<BTreeMap<u64, Allocation>> = Mutex::new(BTreeMap::new());

fn lock() -> MutexGuard<'static, BTreeMap<u64, Allocation>> {
    ALLOCATIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn take(context: &Context, size: u64, memory: Memory) -> CuResult<u64> {
    if size == 0 {
        return Err(CuError::INVALID_VALUE);
    }
    let mapped = size.checked_next_multiple_of(GRANULE).ok_or(CuError::OUT_OF_MEMORY)?;
    let device = context.device()?;
    let is_counted = matches!(memory, Memory::Device | Memory::Array);
    if is_counted {
        pool::charge(device, mapped)?;
    }
    let start = map(mapped).inspect_err(|_| {
        if is_counted {
            device.memory.uncharge(mapped);
        }
    })?;
    add(context, start, size, mapped, memory);
    Ok(start)
}

/// Tracks an address interval that `cuMemMap` has mapped. The interval doesn't belong to a context.
/// Kernels can access it only after `cuMemSetAccess`.
pub(crate) fn add_mapped(ordinal: i32, start: u64, size: u64) {
    let allocation = Allocation {
        start,
        size,
        mapped: 0,
        memory: Memory::Mapped,
        context: 0,
        context_handle: 0,
        ordinal,
        id: unique_id(),
        sync_memops: false,
    };
    lock().insert(start, allocation);
}

/// Tracks an existing address interval, and lets kernels access it.
pub(crate) fn add(context: &Context, start: u64, size: u64, mapped: u64, memory: Memory) {
    let allocation = Allocation {
        start,
        size,
        mapped,
        memory,
        context: context.id,
        context_handle: context.owner(),
        ordinal: context.ordinal,
        id: unique_id(),
        sync_memops: memory == Memory::Managed,
    };
    if allocation.managed() {
        hints::begin(start, size);
    }
    lock().insert(start, allocation);
    let read_only =
        matches!(memory, Memory::Registered(flags) if flags & CU_MEMHOSTREGISTER_READ_ONLY != 0);
    RANGES.insert(Range { start, end: allocation.reach(), writable: !read_only });
}

/// Allocates device memory, as `cuMemAlloc` does.
pub(crate) fn allocate(context: &Context, size: u64) -> CuResult<u64> {
    take(context, size, Memory::Device)
}

/// Makes memory from `cuMemAlloc` shareable, and returns the handle with which other processes can
/// open it. The caller guarantees that no work uses the memory during the call.
pub(crate) fn export(start: u64) -> CuResult<HandleBytes> {
    let mut exports = EXPORTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(file) = exports.get(&start) {
        return Ok(file.handle());
    }
    let allocations = lock();
    let is_device = |found: &&Allocation| found.memory == Memory::Device;
    let found = allocations.get(&start).filter(is_device).ok_or(CuError::INVALID_VALUE)?;
    let file = SharedFile::create(Contents::Memory, found.size, found.mapped)?;
    // SAFETY: address 0 lets Linux choose an unused address for the new mapping.
    let copy = unsafe { file.map(0, found.mapped)? };
    // SAFETY: both mappings have this length, and the locked table of allocations keeps the
    // allocation from being freed. The last call replaces the allocation by a mapping of the file,
    // which has the same contents.
    unsafe {
        let (to, from) = (copy as *mut u8, start as *const u8);
        std::ptr::copy_nonoverlapping(from, to, found.mapped as usize);
        unmap(copy, found.mapped);
        file.map(start, found.mapped)?;
    }
    let handle = file.handle();
    exports.insert(start, file);
    Ok(handle)
}

/// Maps another process's memory, for use in a context.
pub(crate) fn import(context: &Context, handle: &HandleBytes) -> CuResult<u64> {
    let file = SharedFile::open(Contents::Memory, handle)?;
    let len = file.len()?;
    let start = file.map_new(len)?;
    add(context, start, file.size, len, Memory::Imported);
    Ok(start)
}

/// Maps the memory of another process's pool, for use in a context. Gives the program the `size`
/// bytes that start at `offset`. `pool` is the handle of the imported pool.
pub(crate) fn import_pooled(
    context: &Context,
    slab: &HandleBytes,
    (offset, size): (u64, u64),
    pool: u64,
) -> CuResult<u64> {
    let file = SharedFile::open(Contents::Memory, slab)?;
    let len = file.len()?;
    if size == 0 || offset.checked_add(size).is_none_or(|end| end > len) {
        return Err(CuError::INVALID_VALUE);
    }
    let base = file.map_new(len)?;
    add(context, base + offset, size, len, Memory::ImportedPool { base, handle: pool });
    Ok(base + offset)
}

/// Allocates memory of the given kind. Device memory and arrays are counted as allocated on the
/// device.
pub(crate) fn allocate_as(context: &Context, size: u64, memory: Memory) -> CuResult<u64> {
    take(context, size, memory)
}

/// Allocates memory for managed variables. The memory doesn't belong to a context.
pub(crate) fn allocate_managed_variables(size: u64) -> CuResult<u64> {
    let mapped = size.checked_next_multiple_of(GRANULE).ok_or(CuError::OUT_OF_MEMORY)?;
    let start = map(mapped)?;
    let allocation = Allocation {
        start,
        size,
        mapped,
        memory: Memory::ManagedVariables,
        context: 0,
        context_handle: 0,
        ordinal: 0,
        id: unique_id(),
        sync_memops: true,
    };
    hints::begin(start, size);
    lock().insert(start, allocation);
    RANGES.insert(Range { start, end: allocation.reach(), writable: true });
    Ok(start)
}

/// Allocates memory from a pool, for use in a context.
pub(crate) fn allocate_from(context: &Context, size: u64, id: usize, handle: u64) -> CuResult<u64> {
    let pool = POOLS.get(id).ok_or(CuError::INVALID_VALUE)?;
    let start = pool.take(size)?;
    add(context, start, size, 0, Memory::Pool { id, handle });
    Ok(start)
}

/// Returns the allocation that contains an address.
pub(crate) fn find(address: u64) -> Option<Allocation> {
    let allocations = lock();
    let (_, allocation) =
        allocations.range((Bound::Unbounded, Bound::Included(address))).next_back()?;
    (address < allocation.end()).then_some(*allocation)
}

/// Sets CU_POINTER_ATTRIBUTE_SYNC_MEMOPS of the allocation that starts at an address.
pub(crate) fn set_sync_memops(start: u64, value: bool) {
    if let Some(allocation) = lock().get_mut(&start) {
        allocation.sync_memops = value;
    }
}

/// Returns the allocation that starts at an address.
pub(crate) fn at(address: u64) -> Option<Allocation> {
    lock().get(&address).copied()
}

/// If a tracked interval overlaps this one, returns how its memory was created.
pub(crate) fn overlapping(start: u64, size: u64) -> Option<Memory> {
    let end = start.saturating_add(size);
    let (_, last) = lock().range(..end).next_back().map(|(start, a)| (*start, *a))?;
    (last.end() > start).then_some(last.memory)
}

/// Stops tracking the allocation that starts at an address, and returns it. Frees the memory unless
/// the program registered or mapped it.
pub(crate) fn forget(start: u64) -> Option<Allocation> {
    let allocation = lock().remove(&start)?;
    RANGES.remove(allocation.start, allocation.reach());
    if allocation.managed() {
        hints::forget(start);
    }
    if allocation.memory == Memory::Device {
        // Other processes that have opened the memory can still use it, because they hold its file
        // open.
        EXPORTS.lock().unwrap_or_else(PoisonError::into_inner).remove(&start);
    }
    match allocation.memory {
        Memory::Device | Memory::Array => {
            // SAFETY: `take` mapped the memory, and it was removed from all tables.
            unsafe { unmap(allocation.start, allocation.mapped) };
            if let Ok(device) = driver().and_then(|d| d.device(allocation.ordinal)) {
                device.memory.uncharge(allocation.mapped);
            }
        }
        Memory::Pool { id, .. } => pool::give(id, allocation.start, allocation.size),
        Memory::Host(_)
        | Memory::Managed
        | Memory::ManagedVariables
        | Memory::Imported
        | Memory::Internal => {
            // SAFETY: softgpu mapped the memory when it allocated it, and the memory was removed
            // from all tables.
            unsafe { unmap(allocation.start, allocation.mapped) };
        }
        // SAFETY: `import_pooled` mapped the memory, and it was removed from all tables.
        Memory::ImportedPool { base, .. } => unsafe { unmap(base, allocation.mapped) },
        Memory::Registered(_) | Memory::Mapped => {}
    }
    Some(allocation)
}

/// Frees the memory allocated in a context.
pub(crate) fn free_context(context: u64) {
    let starts: Vec<u64> =
        lock().values().filter(|a| a.context == context).map(|a| a.start).collect();
    for start in starts {
        forget(start);
    }
}

/// Returns whether kernels may access the whole interval.
pub(crate) fn accessible(start: u64, size: u64) -> bool {
    RANGES.covers(start, size)
}

/// Returns whether kernels may write to the whole interval.
pub(crate) fn writable(start: u64, size: u64) -> bool {
    RANGES.view().allows(start, size, true)
}

/// Returns whether an interval is device memory, or host memory that asynchronous copies can use
/// directly. Returns true for an empty interval.
pub(crate) fn known(start: u64, size: u64) -> bool {
    size == 0 || accessible(start, size)
}

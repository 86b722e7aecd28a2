//! Memory: the device's, and the host's that kernels may use.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_api::sys::CUresult;

use super::context::Context;
use super::device::{RANGES, driver};
use super::stream::unique_id;
use crate::exec::memory::Range;

/// What device memory is counted in.
const GRANULE: u64 = 4096;

/// What an interval of addresses is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// `cuMemAlloc`.
    Device,
    /// `cuMemAllocAsync`, from that pool.
    Pool(u64),
    /// `cuMemHostAlloc`, with its flags.
    Host(u32),
    /// `cuMemHostRegister`, with its flags.
    Registered(u32),
    /// `cuMemMap`.
    Mapped,
    /// A module's variables.
    Module,
}

/// An interval of addresses that the API knows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allocation {
    pub(crate) start: u64,
    pub(crate) size: u64,
    /// Bytes that were mapped, and charged to the device if it is the device's.
    pub(crate) mapped: u64,
    pub(crate) memory: Memory,
    pub(crate) context: u64,
    pub(crate) context_handle: usize,
    pub(crate) ordinal: i32,
    pub(crate) id: u64,
}

impl Allocation {
    pub(crate) fn end(&self) -> u64 {
        self.start + self.size
    }

    /// Where kernels' accesses end: device memory is had in units of 512 bytes.
    fn reach(&self) -> u64 {
        match self.memory {
            Memory::Device | Memory::Pool(_) => self.start + self.size.next_multiple_of(512),
            _ => self.end(),
        }
    }

    pub(crate) fn on_host(&self) -> bool {
        matches!(self.memory, Memory::Host(_) | Memory::Registered(_))
    }
}

static ALLOCATIONS: Mutex<BTreeMap<u64, Allocation>> = Mutex::new(BTreeMap::new());

fn lock() -> MutexGuard<'static, BTreeMap<u64, Allocation>> {
    ALLOCATIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where memory is put if that is free: apart from where a process has its own, as a GPU's is.
const PLACE: u64 = 0x2c00_0000_0000;
const PLACE_END: u64 = 0x3000_0000_0000;

/// Maps zeroed memory.
fn map(bytes: u64) -> Result<u64, CUresult> {
    static NEXT: AtomicU64 = AtomicU64::new(PLACE);
    let len = usize::try_from(bytes).map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    let step = bytes.next_multiple_of(1 << 21);
    let mut place = NEXT.fetch_add(step, Ordering::Relaxed);
    if place.saturating_add(step) > PLACE_END {
        // Around again: a place that is taken is only a hint that the kernel does not follow.
        NEXT.store(PLACE, Ordering::Relaxed);
        place = PLACE;
    }
    // SAFETY: a fresh mapping touches nothing that exists.
    let address = unsafe {
        libc::mmap(
            place as *mut libc::c_void,
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if address == libc::MAP_FAILED {
        return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    }
    Ok(address as u64)
}

fn unmap(start: u64, bytes: u64) {
    // SAFETY: the interval was mapped by `map` and is in no table any more.
    unsafe { libc::munmap(start as *mut libc::c_void, bytes as usize) };
}

fn take(context: &Context, size: u64, memory: Memory) -> Result<u64, CUresult> {
    if size == 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let mapped =
        size.checked_next_multiple_of(GRANULE).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    let device = context.device()?;
    let on_host = matches!(memory, Memory::Host(_));
    if !on_host {
        device.charge(mapped)?;
    }
    let start = map(mapped).inspect_err(|_| {
        if !on_host {
            device.uncharge(mapped);
        }
    })?;
    add(context, start, size, mapped, memory);
    Ok(start)
}

/// Enters an interval that exists into the tables.
pub(crate) fn add(context: &Context, start: u64, size: u64, mapped: u64, memory: Memory) {
    let allocation = Allocation {
        start,
        size,
        mapped,
        memory,
        context: context.id,
        context_handle: context.handle,
        ordinal: context.ordinal,
        id: unique_id(),
    };
    lock().insert(start, allocation);
    RANGES.insert(Range { start, end: allocation.reach(), writable: true });
}

/// `cuMemAlloc`.
pub(crate) fn allocate(context: &Arc<Context>, size: u64) -> Result<u64, CUresult> {
    take(context, size, Memory::Device)
}

/// Memory of another kind.
pub(crate) fn allocate_as(context: &Context, size: u64, memory: Memory) -> Result<u64, CUresult> {
    take(context, size, memory)
}

/// The interval that an address lies in.
pub(crate) fn find(address: u64) -> Option<Allocation> {
    let allocations = lock();
    let (_, allocation) =
        allocations.range((Bound::Unbounded, Bound::Included(address))).next_back()?;
    (address < allocation.end()).then_some(*allocation)
}

/// The interval that starts at an address.
pub(crate) fn at(address: u64) -> Option<Allocation> {
    lock().get(&address).copied()
}

/// Whether an interval overlaps one that the API knows.
pub(crate) fn overlaps(start: u64, size: u64) -> bool {
    let end = start.saturating_add(size);
    let allocations = lock();
    let before = allocations.range(..end).next_back();
    before.is_some_and(|(_, a)| a.end() > start)
}

/// Takes an interval out of the tables, and gives what was mapped for it back.
pub(crate) fn forget(start: u64) -> Option<Allocation> {
    let allocation = lock().remove(&start)?;
    RANGES.remove(allocation.start, allocation.reach());
    match allocation.memory {
        Memory::Device | Memory::Module | Memory::Pool(_) => {
            unmap(allocation.start, allocation.mapped);
            if let Ok(device) = driver().and_then(|d| d.device(allocation.ordinal)) {
                device.uncharge(allocation.mapped);
            }
        }
        Memory::Host(_) => unmap(allocation.start, allocation.mapped),
        Memory::Registered(_) | Memory::Mapped => {}
    }
    Some(allocation)
}

/// Frees what a context had.
pub(crate) fn free_context(context: u64) {
    let starts: Vec<u64> = lock()
        .values()
        .filter(|a| a.context == context && a.memory != Memory::Mapped)
        .map(|a| a.start)
        .collect();
    for start in starts {
        forget(start);
    }
}

/// Whether all of an interval may be accessed by kernels.
pub(crate) fn accessible(start: u64, size: u64) -> bool {
    RANGES.covers(start, size)
}

/// Whether an interval starts in memory that the API knows, device memory or host memory that
/// copies can use without the caller's waiting.
pub(crate) fn known(start: u64, size: u64) -> bool {
    size == 0 || accessible(start, size)
}

/// Bytes that a pool has given out.
pub(crate) fn in_pool(pool: u64) -> u64 {
    lock().values().filter(|a| a.memory == Memory::Pool(pool)).map(|a| a.size).sum()
}

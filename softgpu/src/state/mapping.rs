//! Maps the memory that programs allocate.

use std::sync::atomic::{AtomicU64, Ordering};

use cuda_api::error::{CuError, CuResult};

/// Lowest address to request for device memory. Device memory should be far from the process's
/// other memory, as it is with a GPU.
const PLACE: u64 = 0x2c00_0000_0000;
const PLACE_END: u64 = 0x3000_0000_0000;

/// Maps zero-filled memory in the range for device memory, and returns its address.
pub(crate) fn map(bytes: u64) -> CuResult<u64> {
    static NEXT: AtomicU64 = AtomicU64::new(PLACE);
    let len = usize::try_from(bytes).map_err(|_| CuError::OUT_OF_MEMORY)?;
    let step = bytes.next_multiple_of(1 << 21);
    let mut place = NEXT.fetch_add(step, Ordering::Relaxed);
    if place.saturating_add(step) > PLACE_END {
        // Wrap around. The address is only a hint: if it is in use, Linux chooses another one.
        NEXT.store(PLACE, Ordering::Relaxed);
        place = PLACE;
    }
    // SAFETY: without MAP_FIXED, mmap doesn't replace existing mappings.
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
        return Err(CuError::OUT_OF_MEMORY);
    }
    Ok(address as u64)
}

/// Returns whether the program can write all pages of an interval. Returns `None` if the program
/// can't read all of them.
pub(crate) fn writable(start: u64, size: u64) -> Option<bool> {
    let end = start.checked_add(size)?;
    let (mut at, mut writable) = (start, true);
    for line in std::fs::read_to_string("/proc/self/maps").ok()?.lines() {
        // A line contains the start address, the end address, and the access rights, such as
        // `7f00-7f08 rw-p`.
        let (first, rest) = line.split_once('-')?;
        let (last, access) = rest.split_once(' ')?;
        let [first, last] = [first, last].map(|word| u64::from_str_radix(word, 16));
        let (first, last) = (first.ok()?, last.ok()?);
        if last <= at {
            continue;
        }
        if first > at || !access.starts_with('r') {
            return None;
        }
        writable &= access[1..].starts_with('w');
        at = last;
        if at >= end {
            return Some(writable);
        }
    }
    None
}

/// Returns whether an address is in the range that [`map`] uses. The program's own memory is never
/// in that range.
pub(crate) fn has_place(address: u64) -> bool {
    (PLACE..PLACE_END).contains(&address)
}

/// Unmaps memory.
///
/// # Safety
///
/// The interval must have been mapped by [`map`], and must not be used any more.
pub(crate) unsafe fn unmap(start: u64, bytes: u64) {
    // SAFETY: the caller guarantees that nothing uses the interval.
    unsafe { libc::munmap(start as *mut libc::c_void, bytes as usize) };
}

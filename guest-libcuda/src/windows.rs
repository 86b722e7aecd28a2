//! Address ranges that this process and its worker use for the same memory.
//!
//! Device memory lies in one address window and pinned host memory in another. (They have nothing
//! to do with the windows in which GPU time is divided.) This module reserves both in this process,
//! so that the program can't map anything there. The value of a pointer then determines the kind of
//! its memory.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

pub use guest_transport::{PINNED_WINDOW as PINNED, is_pinned};

/// The address window for device memory.
pub const DEVICE: Range<usize> =
    protocol::windows::DEVICE.start as usize..protocol::windows::DEVICE.end as usize;

/// Reserves a range of addresses, which becomes inaccessible and uses no memory.
pub fn reserve(range: Range<usize>) -> io::Result<()> {
    // SAFETY: because of NOREPLACE, the call fails instead of replacing a mapping that exists.
    let at = unsafe {
        libc::mmap(
            range.start as *mut libc::c_void,
            range.len(),
            libc::PROT_NONE,
            libc::MAP_PRIVATE
                | libc::MAP_ANONYMOUS
                | libc::MAP_NORESERVE
                | libc::MAP_FIXED_NOREPLACE,
            -1,
            0,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    if at as usize != range.start {
        // Kernels before 4.17 ignore NOREPLACE and treat the address only as a hint, so the mapping
        // may be elsewhere.
        // SAFETY: the mapping was just made, and nothing uses it.
        unsafe { libc::munmap(at, range.len()) };
        return Err(io::Error::from_raw_os_error(libc::EEXIST));
    }
    Ok(())
}

/// Releases a range that [`reserve`] has reserved.
pub fn release(range: Range<usize>) {
    // SAFETY: `reserve` has reserved the range, and nothing was mapped in it since.
    unsafe { libc::munmap(range.start as *mut libc::c_void, range.len()) };
}

/// The size of a page in bytes.
pub const PAGE: usize = protocol::windows::PAGE_BYTES as usize;

/// Ranges of GPU memory outside the address windows, by start address. They stay reserved, so that
/// the program's own memory is never mistaken for GPU memory.
static FOREIGN: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// Reserves the addresses of GPU memory that lies outside the address windows. Fails if the program
/// already has memory there.
pub fn keep(base: u64, len: usize) -> io::Result<()> {
    let start = base as usize & !(PAGE - 1);
    let end = (base as usize).saturating_add(len).next_multiple_of(PAGE);
    if DEVICE.contains(&start) || PINNED.contains(&start) {
        return Ok(());
    }
    let mut foreign = FOREIGN.lock();
    for gap in gaps(&foreign, start..end) {
        match reserve(gap.clone()) {
            Ok(()) => {}
            // No process here can map the address (a user-mode Linux guest has fewer addresses than
            // its host), so the program can't have memory there.
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => {}
            Err(error) => return Err(error),
        }
        foreign.insert(gap.start, gap.end);
    }
    Ok(())
}

/// Gives the program zero-filled memory at the addresses of GPU memory that lies outside the
/// address windows, for its copy of a managed variable. Fails if the program has memory there that
/// isn't such a copy.
pub fn provide(base: u64, len: usize) -> io::Result<()> {
    let start = base as usize & !(PAGE - 1);
    let end = (base as usize).saturating_add(len).next_multiple_of(PAGE);
    if [DEVICE, PINNED].iter().any(|window| start < window.end && window.start < end) {
        return Err(io::Error::from_raw_os_error(libc::EEXIST));
    }
    keep(base, len)?;
    // SAFETY: this module has reserved all of these pages, or provided them for another variable in
    // the same page. Changing the protection doesn't change the contents.
    let result = unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        libc::mprotect(start as *mut libc::c_void, end - start, access)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the parts of a range that don't overlap any of the ranges in `taken`.
fn gaps(taken: &BTreeMap<usize, usize>, range: Range<usize>) -> Vec<Range<usize>> {
    let mut gaps = Vec::new();
    let mut from = range.start;
    let before = taken.range(..range.start).next_back();
    for (&start, &end) in before.into_iter().chain(taken.range(range.clone())) {
        if start > from {
            gaps.push(from..start);
        }
        from = from.max(end);
    }
    if from < range.end {
        gaps.push(from..range.end);
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_the_parts_that_are_not_taken() {
        let taken = BTreeMap::from([(10, 20), (30, 40)]);
        let gaps = |range| -> Vec<(usize, usize)> {
            super::gaps(&taken, range).into_iter().map(|gap| (gap.start, gap.end)).collect()
        };
        assert_eq!(gaps(0..50), [(0, 10), (20, 30), (40, 50)]);
        assert_eq!(gaps(12..18), []);
        assert_eq!(gaps(15..35), [(20, 30)]);
        assert_eq!(gaps(20..30), [(20, 30)]);
        assert_eq!(gaps(40..41), [(40, 41)]);
    }

    #[test]
    fn the_program_gets_memory_at_the_addresses_of_a_variable() {
        let base = 0x3900_0000_0100_u64;
        provide(base, 2 * PAGE).unwrap();
        // SAFETY: the pages were provided for this range.
        unsafe { (base as *mut u64).write(7) };
        // Provide another variable in the same page. The contents of the first one must stay the
        // same.
        provide(base + 64, 8).unwrap();
        // SAFETY: the pages were provided for this variable.
        assert_eq!(unsafe { (base as *const u64).read() }, 7);
        let own = Box::new([0u8; 16]);
        assert!(provide(own.as_ptr() as u64, 16).is_err());
        assert!(provide(DEVICE.end as u64 - 8, 16).is_err());
        assert!(provide(0xffff_8000_0000_0000, 8).is_err());
    }

    #[test]
    fn addresses_of_the_program_cannot_be_reserved() {
        let own = Box::new([0u8; 16]);
        assert!(keep(own.as_ptr() as u64, 16).is_err());
        let free = 0x3800_0000_0000;
        keep(free + 100, 10).unwrap();
        keep(free, 2 * PAGE).unwrap();
        // No process can map this address, so the program has no memory there, and `keep` must
        // succeed.
        keep(0xffff_8000_0000_0000, PAGE).unwrap();
        assert!(reserve(free as usize..free as usize + PAGE).is_err());
    }
}

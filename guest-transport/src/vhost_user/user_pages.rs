//! Attaches the program's own memory as a USER region when there is no driver to pin the pages.
//!
//! The pages in the range are replaced by guest memory pages with the same contents. Other threads
//! don't notice, except that bytes they write during the copy may be lost. This works only for
//! anonymous private memory. A forked child doesn't inherit the range.

use crate::error::TransportError;
use crate::mapping::Mapping;

/// Returns whether a whole range is anonymous private memory that can be read and written and is
/// not a stack. `maps` is the text of /proc/self/maps.
fn is_anonymous(maps: &str, vaddr: usize, len: usize) -> bool {
    let end = vaddr + len;
    let mut reached = vaddr;
    for line in maps.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(range), Some(access), _, _, Some(inode)) =
            (fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return false;
        };
        let Some((from, to)) = range.split_once('-') else { return false };
        let (Ok(from), Ok(to)) = (usize::from_str_radix(from, 16), usize::from_str_radix(to, 16))
        else {
            return false;
        };
        if to <= reached {
            continue;
        }
        if from > reached {
            return false;
        }
        let stack = fields.next().is_some_and(|name| name.starts_with("[stack"));
        if !access.starts_with("rw") || !access.ends_with('p') || inode != "0" || stack {
            return false;
        }
        reached = to;
        if reached >= end {
            return true;
        }
    }
    false
}

/// Checks that a whole range is anonymous private memory that can be read and written.
pub fn check_anonymous(vaddr: usize, len: usize) -> Result<(), TransportError> {
    let maps = std::fs::read_to_string("/proc/self/maps")
        .map_err(|source| TransportError::System { what: "reading /proc/self/maps", source })?;
    if is_anonymous(&maps, vaddr, len) {
        Ok(())
    } else {
        Err(TransportError::NotAnonymous { vaddr, len })
    }
}

/// Moves a mapping of `len` bytes to `vaddr`, replacing any existing mapping there.
///
/// # Safety
/// The caller must own both ranges.
unsafe fn move_to(from: *mut u8, vaddr: usize, len: usize) -> Result<(), TransportError> {
    // SAFETY: the caller owns both ranges.
    let at = unsafe {
        libc::mremap(
            from.cast(),
            len,
            len,
            libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
            vaddr as *mut libc::c_void,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(TransportError::last("mremap"));
    }
    Ok(())
}

/// Replaces the pages in a range with pages from a file, keeping the contents.
///
/// # Safety
/// The range must be the program's anonymous private memory.
pub unsafe fn exchange_for(
    vaddr: usize,
    fd: i32,
    offset: u64,
    len: usize,
) -> Result<(), TransportError> {
    let pages = Mapping::shared(fd, offset, len)?;
    // SAFETY: both ranges have `len` bytes, and nothing else uses the new one.
    unsafe {
        std::ptr::copy_nonoverlapping(vaddr as *const u8, pages.as_ptr(), len);
        move_to(pages.as_ptr(), vaddr, len)?;
    }
    // The mapping has moved to `vaddr`, so it must not be unmapped at its old address.
    std::mem::forget(pages);
    Ok(())
}

/// Replaces the pages in a range with anonymous private memory that has the same contents.
///
/// # Safety
/// The range must hold pages that [`exchange_for`] put there.
pub unsafe fn restore_anonymous(vaddr: usize, len: usize) -> Result<(), TransportError> {
    // SAFETY: without MAP_FIXED, the new mapping can't overlap an existing one.
    let fresh = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if fresh == libc::MAP_FAILED {
        return Err(TransportError::last("mmap of anonymous memory"));
    }
    // SAFETY: both ranges have `len` bytes, and nothing else uses the new one.
    unsafe {
        std::ptr::copy_nonoverlapping(vaddr as *const u8, fresh.cast(), len);
        move_to(fresh.cast(), vaddr, len)
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::{GuestMemory, PAGE};
    use super::*;

    #[test]
    fn exchanged_pages_and_restored_pages_keep_their_contents() {
        let memory = GuestMemory::new(64 * PAGE as u64).unwrap();
        let mut area = vec![0u8; 6 * PAGE];
        let at = (area.as_ptr() as usize).next_multiple_of(PAGE);
        let skip = at - area.as_ptr() as usize;
        area[skip..skip + 2 * PAGE].fill(42);
        check_anonymous(at, 2 * PAGE).unwrap();
        let (offset, _) = memory.allocate(2 * PAGE).unwrap().keep();
        // SAFETY: the range is inside `area`.
        unsafe { exchange_for(at, memory.fd(), offset, 2 * PAGE).unwrap() };
        assert!(area[skip..skip + 2 * PAGE].iter().all(|&byte| byte == 42));
        assert!(check_anonymous(at, 2 * PAGE).is_err());
        area[skip] = 7;
        // SAFETY: `exchange_for` replaced this range above.
        unsafe { restore_anonymous(at, 2 * PAGE).unwrap() };
        assert_eq!((area[skip], area[skip + 1]), (7, 42));
        check_anonymous(at, 2 * PAGE).unwrap();
    }

    #[test]
    fn files_stacks_holes_and_read_only_pages_are_refused() {
        let maps = "1000-3000 rw-p 00000000 00:00 0 \n\
                    3000-4000 rw-p 00000000 00:00 0 [heap]\n\
                    5000-6000 rw-p 00000000 08:01 77 /lib/x.so\n\
                    6000-7000 r--p 00000000 00:00 0 \n\
                    7000-8000 rw-s 00000000 00:00 0 \n\
                    8000-9000 rw-p 00000000 00:00 0 [stack]\n";
        assert!(is_anonymous(maps, 0x1000, 0x3000));
        assert!(is_anonymous(maps, 0x2000, 0x1000));
        for at in [0x0, 0x4000, 0x5000, 0x6000, 0x7000, 0x8000, 0x9000] {
            assert!(!is_anonymous(maps, at, 0x1000), "{at:#x}");
        }
        assert!(!is_anonymous(maps, 0x3000, 0x2000));
    }
}

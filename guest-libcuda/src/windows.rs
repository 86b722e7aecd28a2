//! Address ranges that this process and its worker use alike.
//!
//! Device memory lies in one window, pinned host memory in another, at the same addresses on both
//! sides. Both are reserved here, so that no mapping of the program's can have such an address: a
//! pointer says by its value what it is.

use std::io;
use std::ops::Range;

/// Device memory.
pub const DEVICE: Range<usize> = 0x2000_0000_0000..0x2400_0000_0000;
/// Pinned host memory.
pub const PINNED: Range<usize> = 0x3000_0000_0000..0x3400_0000_0000;

/// Whether an address lies in the window for pinned memory.
pub fn is_pinned(address: usize) -> bool {
    PINNED.contains(&address)
}

/// Reserves a range, without access and without memory.
pub fn reserve(range: Range<usize>) -> io::Result<()> {
    // SAFETY: NOREPLACE makes the call fail where anything is mapped already.
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
        // A kernel before 4.17 takes the address as a hint.
        // SAFETY: the mapping just made, at an address that is of no use.
        unsafe { libc::munmap(at, range.len()) };
        return Err(io::Error::from_raw_os_error(libc::EEXIST));
    }
    Ok(())
}

/// Gives a reservation up.
pub fn release(range: Range<usize>) {
    // SAFETY: the range was reserved by `reserve`, and nothing was put into it.
    unsafe { libc::munmap(range.start as *mut libc::c_void, range.len()) };
}

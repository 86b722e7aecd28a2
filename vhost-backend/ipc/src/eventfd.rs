//! Eventfds, by which threads wake one another, and a worker the broker and its device process.
//!
//! Whoever holds one may take O_NONBLOCK away from it for all others. So of one that a worker holds
//! nobody else reads or writes: its readiness is watched for by its edges, which every write makes,
//! and its count grows. What wakes a worker is a [`super::doorbell`].

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A new one, which does not block.
pub fn eventfd() -> io::Result<OwnedFd> {
    // SAFETY: eventfd takes no pointers.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Adds one. A full counter needs no second wake, so errors are of no interest.
pub fn notify(fd: &impl AsRawFd) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: `one` is eight readable bytes.
    unsafe { libc::write(fd.as_raw_fd(), one.as_ptr().cast(), 8) };
}

/// Empties one, or reads how often a timer's descriptor has expired. What it held is of no interest.
pub fn drain(fd: &impl AsRawFd) {
    let mut count = [0u8; 8];
    // SAFETY: `count` has room for the eight bytes of the counter.
    unsafe { libc::read(fd.as_raw_fd(), count.as_mut_ptr().cast(), 8) };
}

//! Eventfds. Threads use them to wake one another, and workers use them to wake the broker and
//! device processes.
//!
//! Any holder of an eventfd can clear O_NONBLOCK for all other holders. So no other process reads
//! or writes an eventfd that a worker holds. Instead, the process watches it with edge-triggered
//! epoll, which reports every write, and never resets the counter. To wake a worker, use a
//! [`super::doorbell`].

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Creates a non-blocking eventfd.
pub fn eventfd() -> io::Result<OwnedFd> {
    // SAFETY: eventfd takes no pointers.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: eventfd just opened the descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Adds one to the counter. Errors can be ignored: if the counter is full, the eventfd is already
/// readable.
pub fn notify(fd: &impl AsRawFd) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: `one` is eight readable bytes.
    unsafe { libc::write(fd.as_raw_fd(), one.as_ptr().cast(), 8) };
}

/// Resets an eventfd's counter, or a timerfd's expiration count.
pub fn drain(fd: &impl AsRawFd) {
    let mut count = [0u8; 8];
    // SAFETY: `count` has room for the eight bytes of the counter.
    unsafe { libc::read(fd.as_raw_fd(), count.as_mut_ptr().cast(), 8) };
}

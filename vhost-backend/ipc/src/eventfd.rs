//! Eventfds. Threads use them to wake one another, and workers use them to wake the broker and
//! device processes.
//!
//! Any holder of an eventfd can clear O_NONBLOCK for all other holders. So no other process reads
//! or writes an eventfd that a worker holds. Instead, the broker and device processes watch it with
//! edge-triggered epoll, which reports every write, and never reset the counter. To wake a worker,
//! use a [`super::doorbell`].

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::EventfdFlags;

/// Creates a non-blocking eventfd.
pub fn eventfd() -> io::Result<OwnedFd> {
    Ok(rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

/// Adds one to the counter. Errors can be ignored: if the counter is full, the eventfd is already
/// readable.
pub fn notify(fd: &impl AsFd) {
    let _ = rustix::io::write(fd, &1u64.to_ne_bytes());
}

/// Resets an eventfd's counter, or a timerfd's expiration count.
pub fn drain(fd: &impl AsFd) {
    let _ = rustix::io::read(fd, &mut [0u8; 8]);
}

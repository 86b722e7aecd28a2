//! The interface of a transport, which gives access to a device and to one session on it.

use crate::error::TransportError;
use crate::mapping::Mapping;
use protocol::uapi::Config;
use std::ops::Range;
use std::time::Duration;

/// The address range for pinned host memory, which is the same in the program and in its worker.
pub const PINNED_WINDOW: Range<usize> =
    protocol::windows::PINNED.start as usize..protocol::windows::PINNED.end as usize;

/// Returns whether an address is in the pinned window.
pub fn is_pinned(address: usize) -> bool {
    PINNED_WINDOW.contains(&address)
}

/// The maximum number of retries of a request while the device is busy. Requests are retried once
/// per millisecond.
pub(crate) const BUSY_TRIES: u32 = 2000;

/// A started session with its mapped RING region.
pub struct Started {
    /// The mapping of the header page, the ring with `ring_bytes` bytes, and the arena.
    pub region: Mapping,
    /// The session's id on the device, for logs.
    pub session: u32,
}

/// Access to a device and, after [`start`](Self::start), to one session on it.
pub trait Transport: Send + Sync {
    /// Returns the device's config space.
    fn config(&self) -> Config;

    /// Creates the session and its RING region. May be called only once.
    fn start(
        &self,
        env: &[u8],
        ring_bytes: u32,
        arena_bytes: u64,
    ) -> Result<Started, TransportError>;

    /// Allocates pages, attaches them as a PINNED region, and maps them at `vaddr`, which the
    /// caller must have reserved. Returns the region's id.
    fn alloc_pinned(&self, vaddr: usize, len: usize) -> Result<u32, TransportError>;

    /// Attaches the caller's pages as a USER region. Returns the region's id.
    fn pin_user(&self, vaddr: usize, len: usize) -> Result<u32, TransportError>;

    /// Detaches a region. When this returns, the worker can no longer access the region's pages.
    /// The addresses of a PINNED region, at `vaddr`, become reserved and inaccessible again.
    fn release(&self, region: u32, vaddr: usize, len: usize) -> Result<(), TransportError>;

    /// Notifies the worker that the ring contains work.
    fn kick(&self) -> Result<(), TransportError>;

    /// Sleeps until the session has been woken more than `seen` times or `timeout` has passed, and
    /// returns the number of wakes so far.
    fn wait(&self, seen: u32, timeout: Option<Duration>) -> Result<u32, TransportError>;

    /// Sends one command over the command queue instead of the ring. Returns the length of the
    /// reply.
    fn submit(&self, command: &[u8], reply: &mut [u8]) -> Result<usize, TransportError>;

    /// Queries the VM's GPUs, which doesn't need a session. Fills `answer` with `uapi::Facts` and
    /// the structures that follow it, and returns their total length.
    fn query(&self, answer: &mut [u8]) -> Result<usize, TransportError>;

    /// Returns the maximum length of a reply to [`submit`](Self::submit), including its header.
    fn max_reply(&self) -> usize;

    /// Returns the file descriptors that a forked child must close. If it kept them open, the
    /// session wouldn't end when the parent exits.
    fn descriptors(&self) -> Vec<i32>;

    /// Prepares for a fork by the calling thread, so that the child gets its own copy of registered
    /// memory. Returns `None` if no preparation is necessary.
    fn before_fork(&self) -> Option<Box<dyn Fork + '_>> {
        None
    }
}

/// A fork for which a transport has prepared. One of these functions is called in each process
/// after the fork.
pub trait Fork {
    /// Ends the preparation in the parent, after the fork.
    fn end_in_parent(self: Box<Self>);

    /// Puts the child's copies of registered memory in place. Doesn't allocate or free memory.
    fn end_in_child(&mut self);
}

/// Checks that this is a virtio-cuda device with a supported protocol version.
pub(crate) fn check_config(
    path: &std::path::Path,
    config: Config,
) -> Result<Config, TransportError> {
    if config.magic != protocol::uapi::MAGIC
        || config.version_major != protocol::uapi::VERSION_MAJOR
    {
        return Err(TransportError::WrongDevice {
            path: path.into(),
            magic: config.magic,
            version: config.version_major,
        });
    }
    Ok(config)
}

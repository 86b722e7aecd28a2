//! The transport's interface: a device, a session on it, and their errors.

use crate::error::TransportError;
use crate::mapping::Mapping;
use protocol::uapi::Config;
use std::ops::Range;
use std::time::Duration;

/// The address range for pinned host memory, the same in the program and in its worker.
pub const PINNED_WINDOW: Range<usize> =
    protocol::windows::PINNED.start as usize..protocol::windows::PINNED.end as usize;

/// Whether an address is in the window for pinned memory.
pub fn is_pinned(address: usize) -> bool {
    PINNED_WINDOW.contains(&address)
}

/// How often to retry while the device is busy, a millisecond apart.
pub(crate) const BUSY_TRIES: u32 = 2000;

/// The mapped header page, ring and arena of a new session.
pub struct Started {
    /// Header page, then `ring_bytes` of ring, then the arena.
    pub region: Mapping,
    /// The session's id on the device, for logs.
    pub session: u32,
}

/// A device and, once started, one session on it.
pub trait Transport: Send + Sync {
    /// The device's config space.
    fn config(&self) -> Config;

    /// Creates the session and its RING region. Called once.
    fn start(
        &self,
        env: &[u8],
        ring_bytes: u32,
        arena_bytes: u64,
    ) -> Result<Started, TransportError>;

    /// Allocates pages, attaches them as a PINNED region and maps them at `vaddr`, which must be
    /// reserved by the caller.
    fn alloc_pinned(&self, vaddr: usize, len: usize) -> Result<u32, TransportError>;

    /// Attaches the caller's pages as a USER region.
    fn pin_user(&self, vaddr: usize, len: usize) -> Result<u32, TransportError>;

    /// Detaches a region; when this returns, the worker can no longer access its pages. The pages
    /// of a PINNED region are unmapped from `vaddr` and replaced by a reservation.
    fn release(&self, region: u32, vaddr: usize, len: usize) -> Result<(), TransportError>;

    /// Notifies the worker of work in the ring.
    fn kick(&self) -> Result<(), TransportError>;

    /// Sleeps until the session has been woken more than `seen` times or `timeout` has passed, and
    /// returns the number of wakes so far.
    fn wait(&self, seen: u32, timeout: Option<Duration>) -> Result<u32, TransportError>;

    /// Sends one command over the command queue instead of the ring; returns the answer's length.
    fn submit(&self, command: &[u8], reply: &mut [u8]) -> Result<usize, TransportError>;

    /// Queries the VM's GPUs: `answer` gets `uapi::Facts` and the data after it. Needs no session.
    /// Returns the answer's length.
    fn query(&self, answer: &mut [u8]) -> Result<usize, TransportError>;

    /// The maximum length of a [`submit`](Self::submit) answer, including its header.
    fn max_reply(&self) -> usize;

    /// Descriptors that a forked child must close, so that the session ends with its process.
    fn descriptors(&self) -> Vec<i32>;
}

/// Checks that the device is a virtio-cuda device of a supported version.
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

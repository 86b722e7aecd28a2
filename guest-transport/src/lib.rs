//! What the guest's libraries share: how they reach the device (through the kernel's driver, or as
//! a vhost-user front end), and how they say what is wrong.

mod kernel;
pub mod log;
mod mapping;
pub mod ranges;
mod vhost_user;

pub use mapping::Mapping;

use protocol::uapi::Config;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

/// The driver's device file.
const DEVICE: &str = "/dev/virtio-cuda0";
/// Names the socket of a device process, for use without a VM.
const SOCKET_VARIABLE: &str = "VIRTIO_CUDA_SOCKET";

/// Addresses of pinned host memory, in the program and in its worker.
pub const PINNED_WINDOW: Range<usize> =
    protocol::windows::PINNED.start as usize..protocol::windows::PINNED.end as usize;

/// Whether an address lies in the window for pinned memory.
pub fn is_pinned(address: usize) -> bool {
    PINNED_WINDOW.contains(&address)
}

/// How often a busy device is asked again, a millisecond apart.
const BUSY_TRIES: u32 = 2000;

/// Why a transport did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    #[error("cannot open {path}: {source}; is the virtio_cuda driver loaded, and may you use it?")]
    Open { path: PathBuf, source: io::Error },
    #[error("cannot connect to {path}: {source}; does the device process listen there?")]
    Connect { path: PathBuf, source: io::Error },
    #[error("vhost-user: {what}: {source}")]
    VhostUser { what: &'static str, source: vhost::Error },
    #[error("{path} is no virtio-cuda device of version 1: magic {magic:#x}, version {version}")]
    WrongDevice { path: PathBuf, magic: u32, version: u16 },
    #[error("the device cannot do this: {what}")]
    Unsupported { what: &'static str },
    #[error("the device refused {what}: status {status}")]
    Refused { what: &'static str, status: u32 },
    #[error("the session has ended: {why}")]
    Ended { why: &'static str },
    #[error("{what}: {source}")]
    System { what: &'static str, source: io::Error },
    #[error("out of guest memory: {bytes} bytes asked for")]
    OutOfMemory { bytes: usize },
    #[error("the pages at {vaddr:#x} are not anonymous private memory of {len} bytes")]
    NotAnonymous { vaddr: usize, len: usize },
}

impl TransportError {
    /// The last system call's error, with what it was about.
    fn last(what: &'static str) -> Self {
        TransportError::System { what, source: io::Error::last_os_error() }
    }
}

/// What a session starts with: header page, ring and arena, mapped.
pub struct Started {
    /// Header page, then `ring_bytes` of ring, then the arena.
    pub region: Mapping,
    /// The device's name for the session, for logs.
    pub session: u32,
}

/// One device and, once started, one session on it.
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

    /// Allocates pages, attaches them as a PINNED region and maps them at `vaddr`, where nothing
    /// but a reservation of the caller's is.
    fn alloc_pinned(&self, vaddr: usize, len: usize) -> Result<u32, TransportError>;

    /// Attaches the caller's own pages as a USER region.
    fn pin_user(&self, vaddr: usize, len: usize) -> Result<u32, TransportError>;

    /// Detaches a region; the worker can't reach its pages any more when this returns. The pages
    /// of a PINNED one are unmapped from `vaddr`, where a reservation takes their place.
    fn release(&self, region: u32, vaddr: usize, len: usize) -> Result<(), TransportError>;

    /// Tells the worker to look at the ring.
    fn kick(&self) -> Result<(), TransportError>;

    /// Sleeps until the session has been woken more than `seen` times, or until `timeout`, and
    /// gives the number of wakes so far.
    fn wait(&self, seen: u32, timeout: Option<Duration>) -> Result<u32, TransportError>;

    /// Sends one command the plain way; gives the answer's length in `reply`.
    fn submit(&self, command: &[u8], reply: &mut [u8]) -> Result<usize, TransportError>;

    /// Asks about the VM's GPUs: `uapi::Facts` and what follows it. Needs no session. Gives the
    /// answer's length in `answer`.
    fn query(&self, answer: &mut [u8]) -> Result<usize, TransportError>;

    /// The longest answer that [`submit`](Self::submit) can bring, its head included.
    fn max_reply(&self) -> usize;

    /// Descriptors that a child after fork must close, so that the session ends with its process.
    fn descriptors(&self) -> Vec<i32>;
}

/// Opens the device that the environment names, or the driver's.
pub fn open() -> Result<Box<dyn Transport>, TransportError> {
    match std::env::var_os(SOCKET_VARIABLE) {
        Some(path) if !path.is_empty() => {
            Ok(Box::new(vhost_user::VhostUser::connect(path.into())?))
        }
        _ => Ok(Box::new(kernel::Kernel::open(DEVICE.into())?)),
    }
}

/// Refuses what is no virtio-cuda device of this version.
fn check_config(path: &std::path::Path, config: Config) -> Result<Config, TransportError> {
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
